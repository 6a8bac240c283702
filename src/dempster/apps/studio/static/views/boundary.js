// Show the objects between two clusters in their order, and the attributes that separate the clusters.

import { el, replace } from "../core/el.js";
import { get, subscribe } from "../core/store.js";
import { getJson } from "../core/api.js";
import { explain, showError, selectPositions, setHover } from "../core/actions.js";
import { clusterColor } from "../map/scatter.js";
import { formatCount, share } from "../core/format.js";
import { chip, empty, heading } from "./parts.js";

export function boundaryPanel(host) {
  let pairs = [];
  let chosen = null;
  let loadedFor = null;

  async function load() {
    const run = get("viewId");
    if (!get("objects")) { replace(host, empty("After the first run, this panel lists the objects between two clusters.")); loadedFor = null; return; }
    if (loadedFor === run || host.hidden) return;
    loadedFor = run;
    try {
      pairs = (await getJson(`/runs/${run}/boundaries`)).boundaries;
      chosen = pairs.length ? [pairs[0].a, pairs[0].b] : null;
      await show();
    } catch (error) {
      showError(error);
    }
  }

  async function show() {
    if (!chosen) { replace(host, heading("Boundaries"), empty("No object is close to the boundary of two clusters.")); return; }
    const run = get("viewId");
    const found = await getJson(`/runs/${run}/boundary?a=${chosen[0]}&b=${chosen[1]}`);
    if (run === get("viewId")) draw(found);
  }

  function draw(found) {
    const list = el("select", { "aria-label": "Boundary", onchange: () => { chosen = list.value.split(",").map(Number); show().catch(showError); } },
      pairs.map((pair) => el("option", { value: `${pair.a},${pair.b}`, selected: pair.a === found.a && pair.b === found.b },
        `${pair.names[0]} | ${pair.names[1]} (${pair.ambiguous} ambiguous)`)));
    const gradient = `linear-gradient(90deg, ${clusterColor(found.numbers[0], 0.75)}, ${clusterColor(found.numbers[1], 0.75)})`;
    replace(host, heading("Boundary"), list,
      el("p", { class: "note", style: { margin: "8px 0" } }, `${formatCount(found.n, "object")} whose two most plausible clusters are ${found.names[0]} and ${found.names[1]}, sorted from one to the other.`),
      found.objects.length ? el("div", { class: "boundary-list" }, found.objects.map((one) => el("button", {
        type: "button", "data-position": one.position, onclick: () => explain(one.position), onmouseenter: () => setHover(one.position), onmouseleave: () => setHover(-1),
      }, el("span", { class: "set-label" }, chip(get("objects").sets[one.set]), one.name),
      el("span", { class: "between", style: { background: gradient } }, el("i", { style: { left: `${100 * one.towards}%` } })),
      el("span", { class: "n" }, one.towards.toFixed(2))))) : null,
      el("div", { class: "buttons", style: { marginTop: "8px" } },
        el("button", { type: "button", onclick: () => selectPositions(found.objects.map((one) => one.position)) }, "Select these objects")),
      el("h3", {}, `Attributes that separate ${found.names[0]} and ${found.names[1]}`),
      found.apart.length ? el("table", { class: "plain" },
        el("thead", {}, el("tr", {}, el("th", {}, "rule"), el("th", { class: "right" }, "separation"))),
        el("tbody", {}, found.apart.map((row) => el("tr", {},
          el("td", {}, row.rule, row.clustered ? "" : el("span", { class: "tag" }, "not used for clustering")),
          el("td", { class: "right" }, share(row.separation))))))
        : empty("One of the two clusters has no certain objects, so they cannot be compared."));
  }

  subscribe(["objects", "theme"], (names) => { if (names.has("theme")) loadedFor = null; load(); });
  subscribe(["hover"], () => {
    for (const one of host.querySelectorAll("[data-position]")) one.toggleAttribute("data-hover", Number(one.dataset.position) === get("hover"));
  });
  load();
  return { shown: load };
}
