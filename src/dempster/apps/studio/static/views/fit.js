// Show the Shepard diagram or the candidates of a run, and the convergence of the objective.

import { el, replace } from "../core/el.js";
import { get, subscribe, currentRun } from "../core/store.js";
import { getJson, getPacked } from "../core/api.js";
import { showError } from "../core/actions.js";
import { formatCount, number } from "../core/format.js";
import { clusterColor, css } from "../map/scatter.js";
import { WebglScatter } from "../map/webgl.js";
import { chart } from "./chart.js";
import { empty } from "./parts.js";

export function fitPanel(host) {
  host.classList.add("panel-full");
  const words = el("div", { class: "grid-bar" });
  const plot = el("div", { class: "scatter", "data-tool": "pan" });
  const blank = el("div", { class: "panel" });
  host.append(words, blank, plot);
  const scatter = new WebglScatter(plot, { label: "Shepard diagram: conflict against dissimilarity", faint: true });
  let loadedFor = null;

  scatter.drawBehind = (pen, toPixels) => {
    const b = scatter.box;
    const at = (v) => toPixels((v - b.x0) / (b.x1 - b.x0), (v - b.y0) / (b.y1 - b.y0));
    pen.strokeStyle = css("--muted");
    pen.setLineDash([5, 4]);
    pen.beginPath(); pen.moveTo(...at(0)); pen.lineTo(...at(1)); pen.stroke();
    pen.setLineDash([]);
  };

  function show(...content) {
    plot.hidden = true;
    words.hidden = true;
    blank.hidden = false;
    replace(blank, ...content);
  }

  async function load() {
    const run = currentRun();
    if (!run || !get("objects")) { show(empty("After a run, this panel shows the candidates that were compared, or the Shepard diagram of EVCLUS.")); loadedFor = null; return; }
    document.getElementById("tab-fit").textContent = run.has_candidates ? "Candidates" : "Shepard";
    if (!run.can_shepard && !run.has_candidates) { show(empty(`${run.method} has no Shepard diagram. EVCLUS has one.`)); loadedFor = null; return; }
    if (host.hidden || loadedFor === run.id) return;
    loadedFor = run.id;
    try {
      if (run.has_candidates) {
        const found = await getPacked(`/runs/${run.id}/candidates`);
        if (run.id === get("runId")) show(...drawCandidates(found));
        return;
      }
      const found = await getPacked(`/runs/${run.id}/shepard`);
      if (run.id !== get("runId")) return;
      blank.hidden = true;
      plot.hidden = false;
      words.hidden = false;
      const places = new Float32Array(2 * found.n);
      for (let i = 0; i < found.n; i++) { places[2 * i] = found.delta[i]; places[2 * i + 1] = found.conflict[i]; }
      scatter.setPoints(places, ["transformed dissimilarity δ", "degree of conflict"]);
      scatter.setCodes(new Int32Array(found.n), [[0]]);
      scatter.setSelection(null);
      replace(words, `${formatCount(found.n, "pair")} of objects. In a good fit the points lie along the dashed line; root mean square difference ${number(found.error, 3)}.`);
    } catch (error) {
      show(empty("There is no diagram for this run."));
      showError(error);
    }
  }

  subscribe(["objects"], load);
  subscribe(["theme"], () => { scatter.redraw(); loadedFor = null; load(); });
  load();
  return { shown: () => { load(); scatter.resize(); } };
}

// Return the reasons of the selection, the pictures of the candidates, and their table.
function drawCandidates(found) {
  const two = (value) => (value === null ? "–" : value.toFixed(2));
  const columns = [["expected agreement", "expected_agreement"], ["with the selected", "with_selected"]];
  return [
    el("p", { class: "lead" }, found.reasons.shape),
    found.reasons.n_clusters ? el("p", { class: "lead" }, `Number of clusters: ${found.reasons.n_clusters}.`) : null,
    el("div", { class: "candidates" }, found.shown.map((candidate, k) => drawCandidate(found, found.candidates[candidate], k))),
    found.candidates.length ? el("div", { class: "beside", role: "region", tabindex: "0", "aria-label": "Candidates" }, el("table", { class: "plain" },
      el("thead", {}, el("tr", {}, el("th", {}, "candidate"), el("th", { class: "right" }, "clusters"), columns.map(([title]) => el("th", { class: "right" }, title)))),
      el("tbody", {}, found.candidates.map((one) => el("tr", { "data-selected": one.selected },
        el("td", {}, `${one.method} (${one.shape})`, one.selected ? el("span", { class: "tag" }, "selected") : null),
        el("td", { class: "right" }, one.n_clusters), columns.map(([, name]) => el("td", { class: "right" }, two(one[name])))))))) : null,
    found.candidates.length ? el("p", { class: "note" }, "Expected agreement: adjusted Rand index with the true clusters that is expected of the candidate. With the selected: adjusted Rand index with the selected candidate.") : null,
  ];
}

function drawCandidate(found, candidate, k) {
  const [width, height, margin] = [440, 300, 12];
  const canvas = el("canvas", { width, height, role: "img", "aria-label": `Clusters of ${candidate.method}` });
  const pen = canvas.getContext("2d");
  const n = found.points.length / 2;
  const scale = [0, 1].map((axis) => {
    let [low, high] = [Infinity, -Infinity];
    for (let i = 0; i < n; i++) { low = Math.min(low, found.points[2 * i + axis]); high = Math.max(high, found.points[2 * i + axis]); }
    return (i) => (found.points[2 * i + axis] - low) / (high - low || 1);
  });
  for (let i = 0; i < n; i++) {
    pen.fillStyle = clusterColor(found.labels[k * n + i], 0.75);
    pen.beginPath();
    pen.arc(margin + scale[0](i) * (width - 2 * margin), height - margin - scale[1](i) * (height - 2 * margin), 4.5, 0, 2 * Math.PI);
    pen.fill();
  }
  return el("figure", { "data-selected": candidate.selected }, canvas, el("figcaption", {}, candidate.method));
}

export function convergencePanel(host) {
  let loadedFor = null;
  async function load() {
    const run = currentRun();
    if (!run || !get("objects")) { replace(host, empty("After a run, this panel shows its objective function.")); loadedFor = null; return; }
    if (host.hidden || loadedFor === run.id) return;
    loadedFor = run.id;
    try {
      const found = await getJson(`/runs/${run.id}/history`);
      if (run.id !== get("runId")) return;
      const steps = found.history.map((_, k) => k + 1);
      const finite = found.history.filter((v) => v > 0);
      const log = finite.length === found.history.length && Math.max(...finite) > 20 * Math.min(...finite);
      const subject = run.has_candidates ? "The selected candidate" : "The method";
      const ended = found.converged === false ? `${subject} did not converge.${run.has_candidates ? "" : " Increase max iter (All parameters)."}` : `${subject} converged after ${formatCount(found.iterations ?? steps.length, "iteration")}.`;
      replace(host, el("p", { class: found.converged === false ? "lead bad" : "lead" }, ended),
        steps.length > 1 ? el("div", { style: { maxWidth: "640px" } }, chart({
          lines: [{ x: steps, y: found.history }, ...(found.validation.length ? [{ x: found.validation.map((_, k) => k + 1), y: found.validation, kind: "second" }] : [])],
          names: ["iteration", log ? "objective (logarithmic)" : "objective"], width: Math.min(620, host.clientWidth - 32), height: 200, log, whole: true,
        })) : el("p", { class: "note" }, `Objective ${number(run.objective)}`));
    } catch (error) {
      showError(error);
    }
  }
  subscribe(["objects"], load);
  load();
  return { shown: load };
}
