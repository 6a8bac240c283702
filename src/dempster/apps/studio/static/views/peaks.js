// The delta-Bel graph. Cluster centers are at the top right. The user can select initial centers by a rectangle.

import { el, replace } from "../core/el.js";
import { get, set, subscribe } from "../core/store.js";
import { getPacked } from "../core/api.js";
import { work } from "../core/jobs.js";
import { explain, showError, findPositions, selectPositions, setHover } from "../core/actions.js";
import { formatCount } from "../core/format.js";
import { css } from "../map/scatter.js";
import { WebglScatter } from "../map/webgl.js";
import { empty, progressLine } from "./parts.js";
import { runNow } from "./method.js";
import { settings } from "./choices.js";

const MAX_CENTERS = 100;

export function peaksPanel(host) {
  host.classList.add("panel-full");
  const bar = el("div", { class: "grid-bar" });
  const plot = el("div", { class: "scatter", "data-tool": "rectangle" });
  const blank = el("div", { style: { padding: "6px 14px" } });
  host.append(bar, blank, plot);
  let chosen = []; // positions of the selected objects in the graph

  const scatter = new WebglScatter(plot, {
    label: "delta-Bel graph: a rectangle around the centers selects them",
    tool: () => "rectangle",
    on: {
      hover: (i) => setHover(i < 0 ? -1 : shownPosition(i)),
      click: (i) => { if (i >= 0) explain(shownPosition(i)); },
      brush: (mask, how) => {
        const found = [];
        mask.forEach((one, i) => { if (one) found.push(i); });
        chosen = how === "add" ? [...new Set([...chosen, ...found])] : found;
        if (get("objects")) selectPositions(findPositions(chosen.map((i) => get("peaks").rows[i])));
        draw();
      },
    },
  });
  scatter.drawAbove = (pen) => {
    const peaks = get("peaks");
    if (!peaks) return;
    for (const i of chosen.length <= MAX_CENTERS ? chosen : []) scatter.ring(pen, i, css("--accent"), "", 4);
    const hover = get("hover");
    if (hover >= 0 && get("objects")) scatter.ring(pen, peakPosition(hover), css("--ink"), "", 3);
  };

  // Return the position on the map of object i of the graph, or -1. The two may show different rows of the table.
  function shownPosition(i) {
    if (!get("objects")) return -1;
    return findPositions([get("peaks").rows[i]])[0] ?? -1;
  }

  function peakPosition(position) {
    const peaks = get("peaks");
    if (!peaks.byRow) {
      peaks.byRow = new Map();
      peaks.rows.forEach((row, i) => peaks.byRow.set(row, i));
    }
    return peaks.byRow.get(get("objects").rows[position]) ?? -1;
  }

  async function find() {
    try {
      await work("/peaks", settings());
      await load();
    } catch (error) {
      showError(error);
    }
    draw();
  }

  async function load() {
    const found = await getPacked("/peaks");
    chosen = found.chosen;
    set({ peaks: found });
  }

  function redrawPoints() {
    const peaks = get("peaks");
    plot.hidden = !peaks;
    if (!peaks) { draw(); return; }
    const places = new Float32Array(2 * peaks.n);
    for (let i = 0; i < peaks.n; i++) { places[2 * i] = peaks.belief[i]; places[2 * i + 1] = peaks.delta[i]; }
    scatter.setPoints(places, ["belief to be a center", "δ"]);
    recolor();
    draw();
  }

  // Use the colors of the map for the objects that the map shows.
  function recolor() {
    const [peaks, objects, codes] = [get("peaks"), get("objects"), get("codes")];
    if (!peaks || !scatter.unit) return;
    if (!objects) {
      scatter.setCodes(new Int32Array(peaks.n), [[0]]);
      scatter.setSelection(null);
      return;
    }
    const found = new Int32Array(peaks.n).fill(objects.sets.length);
    const mask = get("selection") ? new Uint8Array(peaks.n) : null;
    for (let position = 0; position < objects.n; position++) {
      const i = peakPosition(position);
      if (i < 0) continue;
      found[i] = codes[position];
      if (mask) mask[i] = get("selection")[position];
    }
    scatter.setCodes(found, [...objects.sets, [0, 1, 2, 3, 4]]);
    scatter.setSelection(mask);
  }

  function draw() {
    const peaks = get("peaks");
    const working = progressLine("peaks");
    blank.hidden = Boolean(peaks);
    bar.hidden = !peaks;
    if (!peaks) {
      replace(blank, working || [empty("Centers of clusters have a large belief and a large distance δ to all objects with a larger belief. Compute both, then draw a rectangle around the centers."),
        el("button", { type: "button", class: "main", id: "find-peaks", disabled: !get("session")?.source, onclick: find }, "Find belief peaks")]);
      return;
    }
    const start = (method) => el("button", {
      type: "button", class: method === "bpec" ? "main" : "", id: `start-${method}`, disabled: !chosen.length || chosen.length > MAX_CENTERS,
      onclick: () => runNow({ method, start: chosen, parameters: {}, learn: false }),
    }, `Start ${method.toUpperCase()} from the centers`);
    replace(bar, working, el("span", {}, chosen.length > MAX_CENTERS ? `${chosen.length} objects are too many centers` : `${formatCount(chosen.length, "center")} selected`),
      start("bpec"), start("ecm"),
      el("button", { type: "button", class: "link", onclick: () => { chosen = peaks.chosen; draw(); scatter.redraw(); } }, "suggested centers"),
      el("button", { type: "button", class: "link", onclick: find }, "compute again"),
      el("span", { class: "note" }, `${peaks.n_neighbors} neighbors`));
    scatter.redraw();
  }

  subscribe(["peaks"], redrawPoints);
  subscribe(["codes", "objects", "selection", "theme"], recolor);
  subscribe(["hover"], () => { if (get("peaks") && scatter.size) scatter.paintFront(); });
  subscribe(["jobs"], () => { if (get("jobs").peaks?.state === "running" || host.querySelector(".progress")) draw(); });
  subscribe(["session"], async () => {
    if (!get("peaks") && get("session")?.has_peaks && !get("jobs").peaks) await load().catch(showError);
    else if (!get("peaks")) draw();
  });
  plot.hidden = true;
  draw();
  return { shown: () => { scatter.resize(); } };
}
