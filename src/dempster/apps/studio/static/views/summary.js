// Show the numbers of certain objects, ambiguous objects and outliers, and two sliders that change these numbers.

import { el, replace } from "../core/el.js";
import { get, subscribe, currentRun } from "../core/store.js";
import { getJson } from "../core/api.js";
import { showError, select, selectSet, setWeights } from "../core/actions.js";
import { countStates } from "../core/decide.js";
import { formatCount, number, seconds, share } from "../core/format.js";
import { setBackground } from "../map/scatter.js";
import { chart, valueAt } from "./chart.js";
import { chip, empty, heading } from "./parts.js";
import { nameClusters } from "./names.js";
import { choices, storeChoices } from "./choices.js";

export function summaryPanel(host) {
  const head = el("div");
  const numbers = el("div", { class: "counts" });
  const sliders = el("div");
  const curveBox = el("div");
  const bars = el("div", { class: "bars" });
  const notes = el("details", { style: { marginTop: "16px" } }, el("summary", {}, "Details"), el("div", { class: "fields" }));
  const whole = el("div", {}, head, numbers, sliders, curveBox, el("h3", { class: "panel-head" }, "Sets of clusters", el("button", { type: "button", class: "link", id: "name-clusters", onclick: nameClusters }, "Name the clusters")), bars, notes);
  const nothing = empty("After the first run, this panel counts certain objects, ambiguous objects and outliers.");
  host.append(nothing, whole);
  let curve = null;
  let asked = "";

  // ---- sliders ------------------------------------------------------------------------------------------------------

  function slider(name, title, ends, hintText) {
    const out = el("output");
    const input = el("input", {
      type: "range", min: -1, max: 1, step: 0.02, value: get("weights")[name], id: `slider-${name}`, "aria-label": title, title: hintText,
      oninput: () => {
        const value = Math.abs(Number(input.value)) < 0.03 ? 0 : Number(input.value);
        setWeights({ ...get("weights"), [name]: value });
      },
      onchange: storeChoices,
      ondblclick: () => { input.value = 0; setWeights({ ...get("weights"), [name]: 0 }); storeChoices(); },
    });
    return { input, out, node: el("label", { class: "slider" }, el("span", { class: "name" }, title, out), input, el("span", { class: "ends" }, ends.map((one) => el("span", {}, one)))) };
  }

  const outliers = slider("outliers", "Outliers", ["fewer", "more"], "Weight of the empty set; the middle is the result of the method");
  const ambiguity = slider("ambiguity", "Ambiguity", ["less", "more"], "Weight of sets of several clusters; the middle is the result of the method");
  const reset = el("button", { type: "button", class: "link", onclick: () => {
    setWeights({ outliers: 0, ambiguity: 0 }); outliers.input.value = 0; ambiguity.input.value = 0; storeChoices();
  } }, "Reset");
  sliders.append(outliers.node, ambiguity.node, reset);

  // ---- drawing ------------------------------------------------------------------------------------------------------

  function selectState(size) {
    const [objects, codes] = [get("objects"), get("codes")];
    const mask = new Uint8Array(codes.length);
    for (let i = 0; i < codes.length; i++) {
      const n = objects.sets[codes[i]].length;
      mask[i] = size === 2 ? n > 1 : n === size;
    }
    select(mask);
  }

  function drawCounts() {
    const [objects, counts] = [get("objects"), get("counts")];
    nothing.hidden = Boolean(objects);
    whole.hidden = !objects;
    if (!objects) return;
    const found = countStates(objects, counts);
    const button = (n, words, size) => el("button", { type: "button", title: "Select these objects", onclick: () => selectState(size) },
      el("strong", {}, n.toLocaleString("en")), el("span", {}, words));
    replace(numbers, button(found.certain, "certain", 1), button(found.ambiguous, "ambiguous", 2), button(found.outliers, found.outliers === 1 ? "outlier" : "outliers", 0));
    outliers.out.textContent = formatCount(found.outliers, "outlier");
    ambiguity.out.textContent = `${found.ambiguous.toLocaleString("en")} ambiguous`;
    outliers.input.value = get("weights").outliers;
    ambiguity.input.value = get("weights").ambiguity;
    reset.disabled = !get("weights").outliers && !get("weights").ambiguity;
    drawCurve(found);
    drawBars(objects, counts);
  }

  function drawBars(objects, counts) {
    const codes = objects.sets.map((_, code) => code).filter((code) => counts[code] > 0);
    codes.sort((a, b) => (objects.sets[a].length || 99) - (objects.sets[b].length || 99) || counts[b] - counts[a]);
    const most = Math.max(...codes.map((code) => counts[code]), 1);
    replace(bars, codes.slice(0, 30).map((code) => el("button", { type: "button", class: "row", title: "Select these objects", onclick: () => selectSet(code) },
      el("span", { class: "set-label" }, chip(objects.sets[code]), objects.set_names[code]),
      el("span", { class: "bar" }, el("i", { style: { width: `${Math.max(1.5, (100 * counts[code]) / most)}%`, background: objects.sets[code].length ? setBackground(objects.sets[code]) : "var(--muted)" } })),
      el("span", { class: "n" }, counts[code].toLocaleString("en")))));
  }

  function drawCurve(found) {
    if (!curve || !curve.share.length) { replace(curveBox); return; }
    const kept = found.certain / get("objects").n;
    const at = Math.max(curve.share[0], kept);
    const quality = valueAt(curve.share, curve.quality, at);
    replace(curveBox, el("h3", {}, "Quality of the retained objects"),
      chart({
        lines: [{ x: curve.share, y: curve.quality }], marks: [{ x: at, y: quality }, { x: at, kind: "guide" }],
        names: ["share of objects retained, least doubt first", "quality"], range: { x0: curve.share[0], x1: 1, y0: curve.low },
        label: `Quality against the share of objects retained; ${share(kept)} are certain, with quality ${number(quality, 3)}`,
      }),
      el("p", { class: "note" }, `${share(kept)} of the objects are certain. The quality of this share, with the least doubt, is ${number(quality, 3)} (${curve.measure}).`));
  }

  async function loadCurve() {
    const run = currentRun();
    const question = run ? `${get("viewId")} ${choices.classes}` : "";
    if (!run || question === asked) return;
    asked = question;
    curve = null;
    const there = run && choices.classes && get("session").source.columns.some((column) => column.name === choices.classes);
    try {
      const found = await getJson(`/runs/${get("viewId")}/curve${there ? `?classes=${encodeURIComponent(choices.classes)}` : ""}`);
      if (asked === question) { curve = found; drawCounts(); }
    } catch (error) {
      showError(error);
    }
  }

  function drawHead() {
    const run = currentRun();
    const objects = get("objects");
    if (!run || !objects) return;
    const leftOut = run.n_left_out ? ` (${formatCount(run.n_left_out, "row")} with missing values left out)` : "";
    const facts = [formatCount(objects.n_clusters, "cluster"), formatCount(run.n, "object") + leftOut, formatCount(run.columns.length, "attribute"), seconds(run.seconds)];
    replace(head, heading(run.name, run.converged === false ? el("span", { class: "tag warn" }, "not converged") : null),
      el("p", { class: "note" }, `${facts.join(" · ")} · nonspecificity ${number(objects.nonspecificity, 2)} (0 certain, 1 nothing known)`), el("div", { style: { height: "10px" } }));
    replace(notes.lastChild, [run.origin, ...run.notes].map((words) => el("p", { class: "note" }, words)));
  }

  subscribe(["counts", "objects", "theme"], drawCounts);
  subscribe(["objects", "session"], drawHead);
  subscribe(["objects", "choices"], loadCurve);
  drawCounts();
}
