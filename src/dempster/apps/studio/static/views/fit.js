// Show the Shepard diagram and the convergence of the objective.

import { el, replace } from "../core/el.js";
import { get, subscribe, currentRun } from "../core/store.js";
import { getJson, getPacked } from "../core/api.js";
import { showError } from "../core/actions.js";
import { formatCount, number } from "../core/format.js";
import { css } from "../map/scatter.js";
import { WebglScatter } from "../map/webgl.js";
import { chart } from "./chart.js";
import { empty } from "./parts.js";

export function shepardPanel(host) {
  host.classList.add("panel-full");
  const words = el("div", { class: "grid-bar" });
  const plot = el("div", { class: "scatter", "data-tool": "pan" });
  const blank = el("div", { style: { padding: "6px 14px" } });
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

  function nothing(text) {
    plot.hidden = true;
    words.hidden = true;
    blank.hidden = false;
    replace(blank, empty(text));
  }

  async function load() {
    const run = currentRun();
    if (!run || !get("objects")) { nothing("After a run of EVCLUS, this panel compares conflicts with dissimilarities."); loadedFor = null; return; }
    if (!run.can_shepard) { nothing(`${run.method} has no Shepard diagram. EVCLUS has one.`); loadedFor = null; return; }
    if (host.hidden || loadedFor === run.id) return;
    loadedFor = run.id;
    try {
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
      nothing("There is no Shepard diagram for this run.");
      showError(error);
    }
  }

  subscribe(["objects"], load);
  subscribe(["theme"], () => scatter.redraw());
  load();
  return { shown: () => { load(); scatter.resize(); } };
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
      const ended = found.converged === false ? "The method did not converge. Increase max_iter." : `The method converged after ${formatCount(found.iterations ?? steps.length, "iteration")}.`;
      replace(host, el("p", { class: found.converged === false ? "lead bad" : "lead" }, ended),
        steps.length > 1 ? el("div", { style: { maxWidth: "640px" } }, chart({
          lines: [{ x: steps, y: found.history }, ...(found.validation.length ? [{ x: found.validation.map((_, k) => k + 1), y: found.validation, kind: "second" }] : [])],
          names: ["iteration", log ? "objective (logarithmic)" : "objective"], width: 620, height: 200, log, whole: true,
        })) : el("p", { class: "note" }, `Objective ${number(run.objective)}`));
    } catch (error) {
      showError(error);
    }
  }
  subscribe(["objects"], load);
  load();
  return { shown: load };
}
