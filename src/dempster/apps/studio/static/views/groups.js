// Table of the profiles of clusters and ambiguous groups. Cells are shaded if the group differs from the other objects.

import { el, replace } from "../core/el.js";
import { get, subscribe } from "../core/store.js";
import { getJson } from "../core/api.js";
import { showError, select } from "../core/actions.js";
import { number } from "../core/format.js";
import { chip, empty } from "./parts.js";

export function groupsPanel(host) {
  let loadedFor = null;

  async function load() {
    const run = get("viewId");
    if (!get("objects")) { replace(host, empty("After the first run, this panel shows the attributes of each cluster.")); loadedFor = null; return; }
    if (loadedFor === run || host.hidden) return;
    loadedFor = run;
    replace(host, empty("Computing profiles…"));
    try {
      const found = await getJson(`/runs/${run}/profiles`);
      if (run === get("viewId")) draw(found);
    } catch (error) {
      showError(error);
    }
  }

  function selectGroup(clusters) {
    const [objects, codes] = [get("objects"), get("codes")];
    const wanted = clusters.join(",");
    const mask = new Uint8Array(codes.length);
    for (let i = 0; i < codes.length; i++) mask[i] = objects.sets[codes[i]].join(",") === wanted ? 1 : 0;
    select(mask);
  }

  function shade(delta) {
    if (delta === null) return "none";
    const strength = Math.round(55 * Math.min(1, Math.abs(delta)));
    return `color-mix(in srgb, ${delta > 0 ? "#D55E00" : "#0072B2"} ${strength}%, transparent)`;
  }

  function draw(found) {
    replace(host,
      el("p", { class: "note", style: { marginBottom: "8px" } }, "Mean of the certain objects of each group. Orange: higher than the other objects, blue: lower; the shade shows the effect size (Cliff's delta). ",
        found.n_profiled < get("objects").n ? `Computed from a sample of ${found.n_profiled.toLocaleString("en")} objects.` : ""),
      el("div", { class: "heat" }, el("table", {},
        el("thead", {}, el("tr", {}, el("th", {}, "attribute"), found.groups.map((group) => el("th", {},
          el("button", { type: "button", title: `Select; typical: ${group.typical.join(", ")}`, onclick: () => selectGroup(group.clusters) },
            el("span", { class: "set-label" }, chip(group.clusters), group.name)), el("div", { class: "note" }, group.n.toLocaleString("en")))))),
        el("tbody", {}, found.features.map((name, f) => el("tr", {}, el("th", { text: name, scope: "row" }),
          found.groups.map((group) => el("td", {
            style: { background: shade(group.delta[f]) }, title: `${group.name}: ${number(group.mean[f])} ± ${number(group.std[f], 3)}`,
          }, number(group.mean[f], 3)))))))),
      found.more_groups ? el("p", { class: "note" }, `and ${found.more_groups} smaller groups`) : null);
  }

  subscribe(["objects"], load);
  load();
  return { shown: load };
}
