// The map shows the objects in the colors of their sets, hulls, contours of masses, and the distortion of the plane.

import { el, replace } from "../core/el.js";
import { get, set, subscribe, currentRun } from "../core/store.js";
import { getPacked, post } from "../core/api.js";
import { choosePlane, openObject, showError, showLayer, describeObject, select, selectSet, setHover } from "../core/actions.js";
import { cell, formatCount } from "../core/format.js";
import { recall, remember } from "../core/memory.js";
import { clusterColor, css, hull } from "../map/scatter.js";
import { WebglScatter } from "../map/webgl.js";
import { chip } from "./parts.js";
import { welcome } from "./welcome.js";

const PLANES = { attributes: "2 attributes", pca: "PCA" };
const PLANE_TITLES = { attributes: "Two attributes, in the units of the table", pca: "Principal components" };
const TOOLS = [["pan", "Move", "V"], ["rectangle", "Rectangle", "R"], ["lasso", "Lasso", "L"]];

export function mapView(host) {
  const bar = el("div", { class: "map-bar" });
  const body = el("div", { class: "map-body" });
  const plot = el("div", { class: "map-plot scatter" });
  const legend = el("div", { class: "legend", role: "group", "aria-label": "Sets of clusters: click to select" });
  const foot = el("div", { class: "map-foot" });
  const hint = el("div", { class: "hint", hidden: true });
  const blank = el("div", { class: "map-empty" });
  body.append(plot, foot, hint, blank);
  const trust = el("div");
  const legendRow = el("div", { class: "legend-row" }, legend, trust);
  host.append(bar, legendRow, body);

  const look = { hulls: recall("hulls") ?? true, masses: null };
  const scatter = new WebglScatter(plot, {
    label: "Map of the objects. Arrow keys move, plus and minus zoom, N goes to the next doubtful object, Enter explains it.",
    tool: () => get("tool"),
    on: {
      hover: setHover,
      click: (i) => (i >= 0 ? openObject(i) : select(null)),
      brush: (mask, how) => select(mask, how),
      sampled: () => { updateHulls(); drawFoot(); },
    },
  });
  let hulls = [];
  let shades = null;

  // ---- behind and above the points ----------------------------------------------------------------------------------

  scatter.drawBehind = (pen, toPixels) => {
    if (shades) drawShades(pen, toPixels);
    if (look.hulls) for (const { cluster, lower, upper } of hulls) {
      outline(pen, upper, toPixels, cluster, true);
      outline(pen, lower, toPixels, cluster, false);
    }
  };

  function outline(pen, corners, toPixels, cluster, dashed) {
    if (corners.length < 2) return;
    pen.beginPath();
    corners.forEach(([u, v], k) => (k ? pen.lineTo(...toPixels(u, v)) : pen.moveTo(...toPixels(u, v))));
    pen.closePath();
    pen.lineJoin = "round";
    if (!dashed) { pen.fillStyle = clusterColor(cluster, 0.09); pen.fill(); }
    pen.setLineDash(dashed ? [5, 5] : []);
    pen.lineWidth = 1.2;
    pen.strokeStyle = clusterColor(cluster, dashed ? 0.55 : 0.8);
    pen.stroke();
    pen.setLineDash([]);
  }

  function drawShades(pen, toPixels) {
    const { box, image } = shades;
    const [left, top] = toPixels(...toUnit(box[0], box[3]));
    const [right, bottom] = toPixels(...toUnit(box[2], box[1]));
    pen.imageSmoothingEnabled = true;
    pen.drawImage(image, left, top, right - left, bottom - top);
  }

  function toUnit(x, y) {
    const b = scatter.box;
    return [(x - b.x0) / (b.x1 - b.x0), (y - b.y0) / (b.y1 - b.y0)];
  }

  scatter.drawAbove = (pen) => {
    for (const { position, letter } of get("marked")) scatter.ring(pen, position, css("--accent"), letter);
    scatter.ring(pen, get("focus"), css("--ink"), "", 6);
    if (get("hover") !== get("focus")) scatter.ring(pen, get("hover"), css("--ink"), "", 4);
  };

  function updateHulls() {
    hulls = [];
    const [objects, codes] = [get("objects"), get("codes")];
    if (!objects || !scatter.unit || scatter.n !== codes.length) return;
    const lower = new Map();
    const upper = new Map();
    for (let at = 0; at < scatter.drawn; at++) {
      const i = scatter.sampled ? scatter.sampled[at] : at;
      const set = objects.sets[codes[i]];
      for (const k of set) push(upper, k, i);
      if (set.length === 1) push(lower, set[0], i);
    }
    for (const [cluster, members] of upper) {
      hulls.push({ cluster, upper: hull(scatter.unit, members), lower: hull(scatter.unit, lower.get(cluster) || []) });
    }
  }

  // ---- contours of masses -------------------------------------------------------------------------------------------

  async function loadMasses() {
    const plane = get("plane");
    const run = currentRun();
    shades = null;
    if (!look.masses || !plane || !plane.straight || !run || run.id !== get("viewId")) { scatter.redraw(); return; }
    const box = scatter.seen();
    const query = new URLSearchParams({ kind: plane.kind, x: plane.x, y: plane.y, box: box.join(",") });
    try {
      const found = await getPacked(`/runs/${run.id}/contours?${query}`);
      if (get("plane") === plane && look.masses) shades = { box, image: shadeImage(found) };
    } catch (error) {
      look.masses = false;
      showError(error);
      drawBar();
    }
    scatter.redraw();
  }

  function shadeImage({ width, height, sets, shades: values }) {
    const image = el("canvas", { width, height });
    const pen = image.getContext("2d");
    const data = pen.createImageData(width, height);
    const objects = get("objects");
    const dark = get("theme") === "dark";
    const colors = sets.map((code) => mixed(objects.sets[code]));
    for (let row = 0; row < height; row++) {
      for (let column = 0; column < width; column++) {
        const at = row * width + column;
        let best = 0;
        for (let k = 1; k < sets.length; k++) if (values[k * width * height + at] > values[best * width * height + at]) best = k;
        const strength = values[best * width * height + at] / 255;
        const pixel = 4 * ((height - 1 - row) * width + column);
        data.data.set(colors[best], pixel);
        const step = Math.floor(strength * 10) / 10; // ten levels
        data.data[pixel + 3] = Math.round(255 * (dark ? 0.5 : 0.42) * step);
      }
    }
    pen.putImageData(data, 0, 0);
    return image;
  }

  function mixed(set) {
    if (!set.length) return [128, 128, 128];
    const parts = set.map((k) => /rgba\((\d+), (\d+), (\d+)/.exec(clusterColor(k)).slice(1).map(Number));
    return [0, 1, 2].map((c) => parts.reduce((sum, part) => sum + part[c], 0) / parts.length);
  }

  // ---- toolbar ------------------------------------------------------------------------------------------------------

  function planeSelect(run) {
    const numbers = run.columns.filter((name) => !run.categories.includes(name));
    const choice = get("planeChoice");
    const kinds = Object.keys(PLANES).filter((kind) => kind !== "attributes" || numbers.length);
    const choose = (change) => choosePlane({ ...get("planeChoice"), ...change });
    const kind = el("select", { "aria-label": "Plane", id: "plane", title: PLANE_TITLES[choice.kind], onchange: () => choose({ kind: kind.value }) },
      kinds.map((one) => el("option", { value: one, selected: one === choice.kind }, PLANES[one])));
    if (choice.kind !== "attributes") return [kind];
    const axis = (name, label) => {
      const list = el("select", { "aria-label": label, onchange: () => choose({ [name]: Number(list.value) }) },
        numbers.map((one, k) => el("option", { value: k, selected: k === choice[name] }, one)));
      return list;
    };
    return [kind, axis("x", "Across"), axis("y", "Up")];
  }

  function layerSelect(run) {
    if (!run.layers.length) return null;
    const layers = [[run.id, run.n_clusters], ...run.layers.map((n) => [`${run.id}@${n}`, n])];
    const list = el("select", {
      "aria-label": "Layer", id: "layer", title: "Merge clusters with many objects between them", onchange: () => showLayer(list.value).catch(showError),
    }, layers.map(([id, n]) => el("option", { value: id, selected: id === get("viewId") }, formatCount(n, "cluster"))));
    return list;
  }

  function toggle(words, on, change, title) {
    return el("button", { type: "button", "aria-pressed": on, title, onclick: change }, words);
  }

  function drawBar() {
    const run = currentRun();
    bar.hidden = !run;
    legendRow.hidden = !run;
    if (!run || !get("planeChoice")) return;
    const plane = get("plane");
    const badge = plane && plane.distortion
      ? el("button", { type: "button", class: "badge", "data-grade": plane.distortion.grade, title: plane.distortion.words,
        onclick: () => showWords(plane.distortion.words) },
      `${plane.distortion.grade} · ${Math.round(10 * plane.distortion.kept)}/10 neighbors`)
      : null;
    replace(bar,
      el("div", { class: "group" }, planeSelect(run), layerSelect(run)),
      el("div", { class: "group", role: "group", "aria-label": "Action of dragging" }, TOOLS.map(([name, words, key]) =>
        toggle(words, get("tool") === name, () => set({ tool: name }), `${words} (${key})`))),
      el("div", { class: "group" },
        toggle("Hulls", look.hulls, () => { look.hulls = !look.hulls; remember("hulls", look.hulls); drawBar(); scatter.redraw(); }, "Solid: certain objects (lower approximation). Dashed: possible objects (upper approximation)."),
        plane && plane.straight && run.can_predict && !run.categories.length && run.id === get("viewId")
          ? toggle("Masses", Boolean(look.masses), () => { look.masses = !look.masses; drawBar(); loadMasses(); }, "Masses that the model predicts over the plane; the other attributes are held at their medians.")
          : null,
        el("button", { type: "button", title: "Show everything (0)", onclick: () => scatter.reset() }, "Fit")));
    replace(trust, badge);
  }

  function showWords(words) {
    replace(hint, el("span", { text: words }));
    hint.hidden = false;
    Object.assign(hint.style, { right: "16px", left: "auto", top: "8px" });
    setTimeout(() => { hint.hidden = true; }, 6000);
  }

  // ---- legend, hint, foot -------------------------------------------------------------------------------------------

  function drawLegend() {
    const [objects, counts] = [get("objects"), get("counts")];
    legend.hidden = !objects;
    if (!objects) return;
    const codes = objects.sets.map((_, code) => code).filter((code) => counts[code] > 0 || objects.sets[code].length === 1);
    const rank = (code) => (objects.sets[code].length === 0 ? 1e9 : objects.sets[code].length * 1e6 - (objects.sets[code].length > 1 ? counts[code] : -objects.sets[code][0]));
    codes.sort((a, b) => rank(a) - rank(b));
    const shown = codes.slice(0, 40);
    replace(legend, shown.map((code) => el("button", {
      type: "button", title: "Select these objects", onclick: (event) => selectSet(code, event.ctrlKey || event.metaKey ? "add" : "replace"),
    }, chip(objects.sets[code]), el("span", { text: objects.set_names[code] }), el("span", { class: "n" }, counts[code].toLocaleString("en")))),
    codes.length > shown.length ? el("span", { class: "note" }, `and ${codes.length - shown.length} more`) : null);
  }

  function drawFoot() {
    replace(foot,
      scatter.sampled ? el("span", { class: "tag" }, `${scatter.drawn.toLocaleString("en")} of ${scatter.n.toLocaleString("en")} objects are drawn; counts and selections use all`) : null,
      scatter.kind === "canvas" && get("objects") ? el("span", { class: "tag" }, "drawn without WebGL") : null,
      get("selectedCount") ? el("span", { class: "tag" }, `${formatCount(get("selectedCount"), "object")} selected (Esc clears)`) : null);
  }

  let hintTimer = 0;
  function drawHint() {
    clearTimeout(hintTimer);
    const i = get("hover");
    if (i < 0 || !scatter.unit || i >= scatter.n || !plot.matches(":hover")) { hint.hidden = true; return; }
    const [x, y] = scatter.toPixels(scatter.unit[2 * i], scatter.unit[2 * i + 1]);
    replace(hint, el("span", { text: describeObject(i) }));
    hint.hidden = false;
    const right = x < scatter.size.width - 290;
    Object.assign(hint.style, { left: right ? `${x + 16}px` : "auto", right: right ? "auto" : `${scatter.size.width - x + 16}px`, top: `${Math.max(4, Math.min(y - 12, scatter.size.height - 130))}px` });
    hintTimer = setTimeout(async () => {
      try {
        const found = await post(`/runs/${get("runId")}/rows`, { positions: [i] });
        if (get("hover") !== i) return;
        const cells = found.columns.slice(0, 6).map((name, k) => [name, found.cells[0][k]]);
        replace(hint, el("strong", { text: found.names[0] }), el("span", { text: describeObject(i) }),
          el("dl", {}, cells.map(([name, value]) => [el("dt", { text: name }), el("dd", { text: cell(value) })])));
      } catch { /* The hint remains visible without the attribute values. */ }
    }, 90);
  }

  // ---- subscriptions ------------------------------------------------------------------------------------------------

  let hullTimer = 0;
  function recolor() {
    const [objects, codes] = [get("objects"), get("codes")];
    if (!objects || !scatter.unit || scatter.n !== codes.length) return;
    scatter.setCodes(codes, objects.sets);
    clearTimeout(hullTimer);
    hullTimer = setTimeout(() => { updateHulls(); scatter.redraw(); }, codes.length > 50000 ? 120 : 0);
  }

  function replacePoints(changed) {
    const plane = get("plane");
    plot.hidden = !plane;
    blank.hidden = Boolean(get("objects"));
    if (!plane || !get("objects")) return;
    scatter.setPoints(plane.points, plane.axes, { keepView: !changed.has("plane") });
    recolor();
    scatter.setSelection(get("selection"));
    drawFoot();
    loadMasses();
  }

  subscribe(["plane", "objects"], replacePoints);
  subscribe(["codes"], recolor);
  subscribe(["counts", "objects", "theme"], drawLegend);
  subscribe(["selection", "selectedCount"], () => { if (scatter.unit) scatter.setSelection(get("selection")); drawFoot(); });
  subscribe(["hover"], () => { scatter.paintFront(); drawHint(); });
  subscribe(["focus", "marked"], () => { scatter.show(get("focus")); scatter.redraw(); });
  subscribe(["plane", "planeChoice", "viewId", "tool", "session"], drawBar);
  subscribe(["tool"], () => { plot.dataset.tool = get("tool"); });
  subscribe(["theme"], () => { scatter.redraw(); if (shades) loadMasses(); });
  subscribe(["session", "examples", "saved", "jobs"], () => { if (!get("objects")) welcome(blank); });
  plot.dataset.tool = get("tool");
  bar.hidden = true;
  plot.hidden = true;
  legendRow.hidden = true;
  welcome(blank);
  return scatter;
}

function push(map, key, value) {
  if (!map.has(key)) map.set(key, []);
  map.get(key).push(value);
}
