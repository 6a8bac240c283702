// Compare two runs. Show their agreement, and the objects that changed their set.

import { el, replace } from "../core/el.js";
import { get, subscribe } from "../core/store.js";
import { getJson } from "../core/api.js";
import { explain, findPositions, selectPositions } from "../core/actions.js";
import { formatCount } from "../core/format.js";
import { empty, heading } from "./parts.js";

// Draw the flows of objects between the sets of both runs, and the objects that changed their set.
export function drawComparison(found) {
  return el("div", {},
    found.flows.length ? [el("h3", {}, "Moves between sets"), el("div", {}, found.flows.slice(0, 10).map((flow) => el("button", {
      type: "button", class: "flow", title: "Select these objects",
      onclick: () => selectPositions(found.objects.filter((one) => one.from === flow.from && one.to === flow.to).map((one) => findPositions([one.row])[0]).filter((i) => i !== undefined)),
    }, el("span", { text: flow.from_name }), "→", el("span", { text: flow.to_name }), el("span", { class: "n" }, flow.n.toLocaleString("en")))))] : null,
    found.objects.length ? [el("h3", {}, "Objects that moved"), el("div", { class: "boundary-list" }, found.objects.slice(0, 100).map((one) => el("button", {
      type: "button", class: "moved", onclick: () => { const [i] = findPositions([one.row]); if (i !== undefined) explain(i); },
    }, el("span", { text: one.name }), el("span", { class: "note" }, `${one.from_name} → ${one.to_name}`))))] : null);
}

export function comparePanel(host) {
  let pair = [null, null];

  function options(chosen, change, label) {
    const list = el("select", { "aria-label": label, onchange: () => change(list.value) },
      get("session").runs.map((run) => el("option", { value: run.id, selected: run.id === chosen }, `${run.id}. ${run.name}`)));
    return list;
  }

  async function load() {
    if (host.hidden) return;
    const runs = get("session")?.runs || [];
    if (runs.length < 2) { replace(host, empty("After two runs, this panel compares them.")); return; }
    if (!runs.some((run) => run.id === pair[1])) pair[1] = get("runId") || runs[runs.length - 1].id;
    if (!runs.some((run) => run.id === pair[0]) || pair[0] === pair[1]) pair[0] = [...runs].reverse().find((run) => run.id !== pair[1]).id;
    const mine = pair.join();
    try {
      const found = await getJson(`/compare?before=${pair[0]}&after=${pair[1]}`);
      if (mine === pair.join()) draw(found);
    } catch (error) {
      replace(host, heading("Compare"), pickers(), el("p", { class: "note" }, error.message));
    }
  }

  function pickers() {
    return el("div", { class: "fields" },
      el("label", { class: "field" }, el("span", {}, "before"), options(pair[0], (id) => { pair = [id, pair[1]]; load(); }, "Run before")),
      el("label", { class: "field" }, el("span", {}, "after"), options(pair[1], (id) => { pair = [pair[0], id]; load(); }, "Run after")));
  }

  function draw(found) {
    replace(host, el("div", { class: "two" }, el("div", {}, pickers(),
      el("p", { class: "lead", style: { marginTop: "10px" } }, `Agreement ${found.index.toFixed(3)}`, found.error ? ` ± ${found.error.toFixed(3)}` : "", el("span", { class: "note" }, " (credal Rand index; 1 means equal)")),
      el("p", { class: "note" }, `${formatCount(found.moved, "object")} of ${found.n.toLocaleString("en")} moved to another set. The same clusters have the same number in all runs.`)),
    drawComparison(found)));
  }

  subscribe(["session", "runId", "objects", "theme"], (names) => { if (names.has("runId")) pair[1] = null; load(); });
  load();
  return { shown: load };
}
