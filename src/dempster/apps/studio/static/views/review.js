// Review the ambiguous objects and the outliers one at a time, those with the largest doubt first.

import { el, replace, announce } from "../core/el.js";
import { get, set, subscribe } from "../core/store.js";
import { download, getJson, post } from "../core/api.js";
import { showError, refreshSession } from "../core/actions.js";
import { exportWeights } from "../core/decide.js";
import { cell, formatCount, short } from "../core/format.js";
import { chip, drawMedia, empty, heading, setLabel } from "./parts.js";
import { runWithAnswers } from "./teach.js";

const MAX_LISTED = 200;

export function reviewPanel(host) {
  const top = el("div");
  const body = el("div");
  const below = el("div");
  host.append(top, body, below);
  let queue = [];
  let current = -1; // position of the shown object
  let shown = null; // its description
  let decisions = new Map(); // by row
  let turn = 0;
  const note = el("input", { type: "text", id: "review-note", placeholder: "Note", "aria-label": "Note on this object", maxlength: 2000, onchange: keepNote, onkeydown: (event) => { if (event.key === "Enter") note.blur(); } });

  // ---- queue ----------------------------------------------------------------------------------------------------------

  function makeQueue() {
    const [objects, codes] = [get("objects"), get("codes")];
    queue = [];
    for (let i = 0; i < codes.length; i++) if (objects.sets[codes[i]].length !== 1) queue.push(i);
    queue.sort((a, b) => objects.doubt[b] - objects.doubt[a] || a - b);
  }

  const rowOf = (i) => get("objects").rows[i];
  const isDone = (i) => decisions.has(rowOf(i));

  // Return the next object of the queue without a decision, starting after the given one, or -1.
  function nextOpen(after) {
    const at = queue.indexOf(after);
    const order = [...queue.slice(at + 1), ...queue.slice(0, at + 1)];
    return order.find((i) => !isDone(i)) ?? -1;
  }

  function keep(found) {
    decisions = new Map(found.decisions.map((one) => [one.row, one]));
  }

  async function load() {
    if (host.hidden) return;
    if (!get("objects")) { replace(top, empty("After the first run, this panel shows the ambiguous objects and the outliers one at a time.")); replace(body); replace(below); return; }
    try {
      keep(await getJson("/decisions"));
      makeQueue();
      const next = queue.includes(current) && !isDone(current) ? current : nextOpen(-1);
      await show(next >= 0 ? next : queue.includes(current) ? current : queue[0] ?? -1);
    } catch (error) {
      showError(error);
    }
  }

  // ---- the object -----------------------------------------------------------------------------------------------------

  async function show(i) {
    const mine = ++turn;
    current = i;
    drawTop();
    drawDecisions();
    if (i < 0) { shown = null; replace(body, empty(get("objects") ? "No object is ambiguous or an outlier. The sliders of the summary change this." : "")); return; }
    set({ focus: i, marked: [] });
    try {
      const found = await getJson(`/runs/${get("viewId")}/object?object=${i}`);
      if (mine !== turn) return;
      shown = found;
      draw();
    } catch (error) {
      showError(error);
    }
  }

  function drawTop() {
    const done = queue.filter(isDone).length;
    replace(top, heading("Review", el("span", { class: "tag", id: "review-done" }, `${done.toLocaleString("en")} of ${queue.length.toLocaleString("en")} done`)),
      el("div", { class: "gain", role: "img", "aria-label": `${done} of ${queue.length} done` }, el("i", { style: { width: `${queue.length ? (100 * done) / queue.length : 0}%` } })));
  }

  function draw() {
    const objects = get("objects");
    const decision = decisions.get(shown.row);
    note.value = decision?.note ?? "";
    const [best] = shown.clusters;
    const proposal = objects.sets[get("codes")[current]].length === 0 ? null : best.number;
    const button = (words, key, action, kind = "", on = false) => el("button", { type: "button", class: kind, "aria-pressed": on || null, onclick: () => action().catch(showError) }, words, el("kbd", {}, key));
    replace(body,
      el("div", { class: "object reviewed" },
        el("h3", { title: shown.name }, short(shown.name, 80), el("span", { class: "tag" }, shown.doubt > 1 ? "outlier" : `doubt ${shown.doubt.toFixed(2)}`)),
        el("span", { class: "note" }, setLabel(get("codes")[current])),
        el("div", { class: "media" }, drawMedia(shown.media, current))),
      el("div", { class: "decide" },
        button(proposal === null ? "Accept: outlier" : `Accept: ${nameOf(proposal)}`, "A", accept, "main"),
        el("div", { class: "assign", role: "group", "aria-label": "Assign to a cluster" }, shown.clusters.map(({ number }, k) =>
          button([chip([number]), " ", nameOf(number)], String(k + 1), () => decide("cluster", number), "", decision?.kind === "cluster" && decision.cluster === number)), otherClusters()),
        el("div", { class: "buttons" },
          button("Outlier", "O", () => decide("outlier"), "", decision?.kind === "outlier"),
          button("Skip", "X", () => decide("skip"), "", decision?.kind === "skip"),
          button("Back", "B", back)),
        note),
      el("div", { class: "object" }, el("dl", {}, shown.cells.map(([name, value]) => [el("dt", { text: name }), el("dd", { text: cell(value) })]))));
    host.parentElement.scrollTop = 0;
  }

  // A menu of the clusters that have no key.
  function otherClusters() {
    const keyed = new Set(shown.clusters.map(({ number }) => number));
    const others = get("objects").clusters.filter(([number]) => !keyed.has(number));
    if (!others.length) return null;
    const list = el("select", { "aria-label": "Another cluster", onchange: () => decide("cluster", Number(list.value)).catch(showError) },
      el("option", { value: "" }, `${others.length} others…`), others.map(([number]) => el("option", { value: number }, nameOf(number))));
    return list;
  }

  function nameOf(number) {
    const found = get("objects").clusters.find(([other]) => other === number);
    return found?.[1] || `cluster ${number}`;
  }

  // ---- decisions ------------------------------------------------------------------------------------------------------

  async function send(kind, cluster) {
    keep(await post(`/runs/${get("viewId")}/decisions`, { object: current, kind, cluster, note: note.value }));
    await refreshSession();
  }

  async function decide(kind, cluster = null) {
    if (!shown) return;
    const words = kind === "cluster" ? nameOf(cluster) : kind;
    announce(`${shown.name}: ${words}`);
    const before = current;
    await send(kind, cluster);
    const next = nextOpen(before);
    await show(next >= 0 ? next : before);
  }

  async function accept() {
    if (!shown) return;
    if (get("objects").sets[get("codes")[current]].length === 0) await decide("outlier");
    else await decide("cluster", shown.clusters[0].number);
  }

  // Show the object that was decided last, or the one before the shown object.
  async function back() {
    const rows = [...decisions.keys()];
    const positions = new Map(queue.map((i) => [rowOf(i), i]));
    const at = shown && decisions.has(shown.row) ? rows.indexOf(shown.row) : rows.length;
    for (const row of rows.slice(0, at).reverse()) if (positions.has(row)) return show(positions.get(row));
  }

  // A note is stored with the decision; an object with only a note is skipped.
  async function keepNote() {
    if (!shown) return;
    const decision = decisions.get(shown.row);
    if (!decision && !note.value) return;
    try {
      await send(decision?.kind ?? "skip", decision?.cluster);
      drawTop();
      drawDecisions();
    } catch (error) {
      showError(error);
    }
  }

  async function forget(row) {
    try {
      keep(await post("/decisions/remove", { row }));
      await refreshSession();
      await show(current);
    } catch (error) {
      showError(error);
    }
  }

  function drawDecisions() {
    if (!decisions.size) { replace(below, el("p", { class: "note", style: { marginTop: "12px" } }, "A accepts, a digit assigns, O marks an outlier, X skips. Decisions are saved at once, so that you can stop at any time.")); return; }
    const words = (one) => (one.kind === "cluster" ? nameOf(one.cluster) : one.kind === "skip" ? "skipped" : "outlier");
    const positions = new Map(queue.map((i) => [rowOf(i), i]));
    const listed = [...decisions.values()].reverse();
    replace(below, el("h3", {}, `Decisions (${decisions.size.toLocaleString("en")})`),
      el("ul", { class: "said-list" }, listed.slice(0, MAX_LISTED).map((one) => el("li", {},
        el("button", { type: "button", class: "link", disabled: !positions.has(one.row), onclick: () => show(positions.get(one.row)) }, short(one.name, 40)),
        el("span", { class: "note", title: one.note }, one.note ? `${words(one)} · ${short(one.note, 30)}` : words(one)),
        el("button", { type: "button", class: "quiet", "aria-label": `Remove the decision about ${one.name}`, onclick: () => forget(one.row) }, "✕")))),
      listed.length > MAX_LISTED ? el("p", { class: "note" }, `and ${formatCount(listed.length - MAX_LISTED, "earlier decision")}`) : null,
      el("div", { class: "buttons", style: { marginTop: "10px" } },
        el("button", { type: "button", id: "refit-decisions", disabled: !get("session").n_decisions, title: "Cluster with the decisions as constraints", onclick: () => runWithAnswers().catch(showError) }, "Cluster again"),
        el("button", { type: "button", id: "corrected", onclick: saveTable }, "Corrected table (CSV)")));
  }

  function saveTable() {
    const query = new URLSearchParams(exportWeights(get("weights")));
    download(`/runs/${get("viewId")}/corrected?${query}`, "corrected.csv").catch(showError);
  }

  window.addEventListener("review-key", ({ detail }) => {
    const action = {
      a: accept, o: () => decide("outlier"), x: () => decide("skip"), b: back,
    }[detail];
    const assign = async () => { const found = shown?.clusters[Number(detail) - 1]; if (found) await decide("cluster", found.number); };
    (action ?? assign)().catch(showError);
  });
  subscribe(["objects"], () => { current = -1; shown = null; load(); });
  subscribe(["session"], () => { if (get("session")?.decided.length !== decisions.size) load(); }); // A deletion was undone.
  subscribe(["codes"], () => { if (!host.hidden && get("objects") && get("codes")) { makeQueue(); drawTop(); } });
  load();
  return { shown: load };
}
