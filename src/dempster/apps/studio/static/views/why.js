// Explain an object by a text, the contributions of its attributes, and the nearest certain objects.

import { el, replace } from "../core/el.js";
import { get, set, subscribe } from "../core/store.js";
import { getJson } from "../core/api.js";
import { explain, showError, setHover } from "../core/actions.js";
import { cell, number, short } from "../core/format.js";
import { clusterColor, setBackground } from "../map/scatter.js";
import { chip, empty, heading } from "./parts.js";

export function whyPanel(host) {
  let turn = 0;
  const blank = () => replace(host, empty("Click an object on the map or in the table to explain it."));

  async function load() {
    const mine = ++turn;
    const i = get("focus");
    if (i < 0 || !get("objects")) { blank(); return; }
    try {
      const found = await getJson(`/runs/${get("viewId")}/why?object=${i}`);
      if (mine !== turn) return;
      set({ marked: found.exemplars.map((one) => ({ position: one.position, letter: String(one.cluster) })) });
      draw(found);
    } catch (error) {
      if (mine === turn) { blank(); showError(error); }
    }
  }

  function draw(found) {
    const objects = get("objects");
    replace(host,
      heading(`Object ${short(found.name, 80)}`, el("span", { class: "tag" }, found.doubt > 1 ? "outlier" : `doubt ${found.doubt.toFixed(2)}`)),
      found.sentences.map((words, k) => el("p", { class: k === 0 ? "lead" : "lead note" }, words)),
      el("h3", {}, "Masses"),
      el("div", { class: "masses" }, found.masses.map(({ set: code, name, mass }) => el("div", { class: "row" },
        el("span", { class: "set-label" }, chip(objects.sets[code]), name),
        el("span", { class: "bar" }, el("i", { style: { width: `${100 * mass}%`, background: objects.sets[code].length ? setBackground(objects.sets[code]) : "var(--muted)" } })),
        el("span", { class: "n" }, mass.toFixed(2))))),
      pulls(found),
      beside(found));
  }

  load();
  subscribe(["focus", "viewId", "theme"], load);
  return {};
}

// Return the contribution of each attribute to the comparison of the two most plausible clusters.
function pulls(found) {
  if (found.clusters.length < 2 || !found.attributes.length) return null;
  const [a, b] = found.clusters;
  const values = found.attributes.map((attribute) => attribute.pull[1] - attribute.pull[0]);
  const most = Math.max(...values.map(Math.abs), 1e-12);
  const rows = found.attributes.slice(0, 15).map((attribute, k) => {
    const size = (50 * Math.abs(values[k])) / most;
    const towardsB = values[k] > 0;
    const usual = attribute.usual ? `typical: ${attribute.usual.slice(0, 2).map((value) => (typeof value === "number" ? number(value, 4) : cell(value).slice(0, 12))).join(" | ")}` : "";
    return el("div", { class: "pull" },
      el("div", { class: "what" }, attribute.name, attribute.value !== null && attribute.value !== undefined ? ` ${cell(attribute.value)}` : "", usual ? el("small", {}, usual) : null),
      el("div", { class: "axis", role: "img", "aria-label": `supports ${found.cluster_names[towardsB ? 1 : 0]}` },
        el("i", { style: { left: towardsB ? "50%" : `${50 - size}%`, width: `${size}%`, background: clusterColor(towardsB ? b : a) } })));
  });
  const by = found.by === "attributes" ? "Contributions of the attributes" : "Contributions of the objects";
  return [el("h3", {}, by),
    el("div", { class: "pull-ends" }, el("span", { class: "set-label" }, chip([a]), found.cluster_names[0]), el("span", { class: "set-label" }, found.cluster_names[1], chip([b]))),
    el("div", { class: "pulls" }, rows),
    el("p", { class: "note" }, `Measured by: ${found.quantity}.`)];
}

// Compare the object with the nearest certain objects of its most plausible clusters.
function beside(found) {
  if (!found.exemplars.length) return null;
  const shown = found.exemplars.slice(0, 3);
  const rows = found.columns.slice(0, 40).map((name, k) => el("tr", {}, el("td", { text: name }), el("td", { class: "right" }, el("strong", {}, cell(found.values[k]))),
    shown.map((one) => el("td", { class: "right", text: cell(one.values[k]) }))));
  return [el("h3", {}, "Nearest certain objects"),
    el("div", { class: "beside", role: "region", tabindex: "0", "aria-label": "Nearest certain objects" }, el("table", { class: "plain" },
      el("thead", {}, el("tr", {}, el("th", {}, "attribute"), el("th", { class: "right" }, found.name), shown.map((one) => el("th", { class: "right" },
        el("button", { type: "button", class: "link", onclick: () => explain(one.position), onmouseenter: () => setHover(one.position), onmouseleave: () => setHover(-1) },
          el("span", { class: "set-label" }, chip([one.cluster]), one.name)))))),
      el("tbody", {}, rows)))];
}
