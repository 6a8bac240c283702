// A scatter plot: points, axes, what is behind and above them, and what a hand does with it.
//
// It knows places, codes and masks, nothing of clusterings: the map and the delta-Bel graph are both of this kind.

import { el } from "../core/el.js";
import { get } from "../core/store.js";
import { css } from "../core/colors.js";
import { Grid } from "./grid.js";
import { insidePolygon } from "./shapes.js";
import { WebglPoints } from "./webgl_points.js";
import { CanvasPoints } from "./canvas_points.js";
import { drawAxes } from "./axes.js";

const MARGIN = { left: 58, right: 14, top: 12, bottom: 46 };
const PAD = 0.07;
const REACH = 14; // pixels within which a point is meant
const MOST_DRAWN = 200000;
const MOST_IF_SLOW = 30000; // where there is no graphics processor
const SLOW = 150; // milliseconds

export class Scatter {
  // on: {hover(i), click(i), brush(mask, how), view()}
  constructor(host, { label, on = {}, tool = () => get("tool"), faint = false }) {
    this.faint = faint; // many points that are no objects
    this.on = on;
    this.tool = tool;
    this.behind = el("canvas", { class: "layer" });
    this.front = el("canvas", { class: "layer", tabindex: "0", role: "application", "aria-label": label });
    this.middle = el("canvas", { class: "layer" });
    this.host = host;
    host.classList.add("scatter");
    host.append(this.behind, this.middle, this.front);
    this.points2 = this.renderer();
    this.view = { x: 0, y: 0, width: 1, height: 1 };
    this.names = ["", ""];
    this.shape = null;
    this.pointers = new Map();
    this.drawBehind = null; // (pen, toPixels) => void
    this.drawAbove = null;
    this.listen();
    new ResizeObserver(() => this.resize()).observe(host);
    this.resize();
  }

  renderer() {
    try {
      const made = WebglPoints.make(this.middle);
      if (made) {
        made.again = () => this.redraw();
        this.kind = "webgl";
        return made;
      }
    } catch (error) {
      console.warn("WebGL cannot be used:", error.message);
      const fresh = el("canvas", { class: "layer" });
      this.middle.replaceWith(fresh);
      this.middle = fresh;
    }
    this.kind = "canvas";
    return new CanvasPoints(this.middle);
  }

  // ---- what is shown ------------------------------------------------------------------------------------------------

  // places: x and y of each point in the units of the data
  setPoints(places, names, { keepView = false } = {}) {
    const n = places.length / 2;
    let [x0, x1, y0, y1] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; i < n; i++) {
      const [x, y] = [places[2 * i], places[2 * i + 1]];
      if (x < x0) x0 = x;
      if (x > x1) x1 = x;
      if (y < y0) y0 = y;
      if (y > y1) y1 = y;
    }
    if (!(x1 > x0)) { x0 -= 0.5; x1 += 0.5; }
    if (!(y1 > y0)) { y0 -= 0.5; y1 += 0.5; }
    const [dx, dy] = [(x1 - x0) * PAD, (y1 - y0) * PAD];
    this.box = { x0: x0 - dx, x1: x1 + dx, y0: y0 - dy, y1: y1 + dy };
    this.unit = new Float32Array(2 * n);
    const [width, height] = [this.box.x1 - this.box.x0, this.box.y1 - this.box.y0];
    for (let i = 0; i < n; i++) {
      this.unit[2 * i] = (places[2 * i] - this.box.x0) / width;
      this.unit[2 * i + 1] = (places[2 * i + 1] - this.box.y0) / height;
    }
    this.n = n;
    this.names = names;
    this.grid = new Grid(this.unit);
    this.sample(Math.min(n, this.slow ? MOST_IF_SLOW : MOST_DRAWN));
    if (!keepView) this.view = { x: 0, y: 0, width: 1, height: 1 };
    this.redraw();
  }

  sample(k) {
    this.sampled = k < this.n ? sampleOf(this.n, k) : null;
    this.points2.setPoints(this.sampled ? pick(this.unit, this.sampled, 2) : this.unit, this.drawn);
  }

  // Draw fewer points if drawing all of them takes so long that a hand would feel it.
  relieve() {
    if (this.slow || this.drawn <= MOST_IF_SLOW || !this.points2.finish || !this.codes) return;
    const start = performance.now();
    this.points2.draw(this.view, this.pointSize * this.size.ratio, 1);
    this.points2.finish();
    if (performance.now() - start < SLOW) return;
    this.slow = true;
    this.sample(MOST_IF_SLOW);
    this.setCodes(this.codes, this.sets);
    this.setSelection(this.mask);
    if (this.on.sampled) this.on.sampled();
  }

  get drawn() {
    return this.sampled ? this.sampled.length : this.n;
  }

  setCodes(codes, sets) {
    this.codes = codes;
    this.sets = sets;
    this.points2.setSets(sets);
    this.points2.setCodes(this.sampled ? pick(codes, this.sampled, 1) : codes);
    this.redraw();
  }

  setSelection(mask) {
    this.mask = mask;
    this.points2.setSelection(mask && this.sampled ? pick(mask, this.sampled, 1) : mask);
    this.redraw();
  }

  // ---- places -------------------------------------------------------------------------------------------------------

  get frame() {
    const { width, height } = this.size;
    return { left: MARGIN.left, top: MARGIN.top, width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
  }

  toPixels(u, v) {
    const frame = this.frame;
    return [
      frame.left + ((u - this.view.x) / this.view.width) * frame.width,
      frame.top + (1 - (v - this.view.y) / this.view.height) * frame.height,
    ];
  }

  toUnit(px, py) {
    const frame = this.frame;
    return [
      this.view.x + ((px - frame.left) / frame.width) * this.view.width,
      this.view.y + (1 - (py - frame.top) / frame.height) * this.view.height,
    ];
  }

  toData(u, v) {
    const { x0, x1, y0, y1 } = this.box;
    return [x0 + u * (x1 - x0), y0 + v * (y1 - y0)];
  }

  // The part of the data that is seen: left, bottom, right, top.
  seen() {
    const [left, bottom] = this.toData(this.view.x, this.view.y);
    const [right, top] = this.toData(this.view.x + this.view.width, this.view.y + this.view.height);
    return [left, bottom, right, top];
  }

  // ---- drawing ------------------------------------------------------------------------------------------------------

  resize() {
    const { clientWidth: width, clientHeight: height } = this.host;
    if (!width || !height) return;
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.size = { width, height, ratio };
    for (const canvas of [this.behind, this.front]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const frame = this.frame;
    this.middle.width = Math.max(1, Math.round(frame.width * ratio));
    this.middle.height = Math.max(1, Math.round(frame.height * ratio));
    Object.assign(this.middle.style, {
      left: `${frame.left}px`, top: `${frame.top}px`, width: `${frame.width}px`, height: `${frame.height}px`,
    });
    this.redraw();
  }

  redraw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.paint();
    });
  }

  get pointSize() {
    const many = Math.max(10, Math.min(this.drawn || 10, MOST_DRAWN));
    const base = Math.max(2.2, Math.min(11, 15 - 2.35 * Math.log10(many)));
    if (this.faint) return 3.4;
    const closer = Math.min(2.2, (1 / this.view.width) ** 0.35);
    return base * Math.max(1, closer);
  }

  paint() {
    if (!this.size) return;
    const { width, height, ratio } = this.size;
    const back = this.behind.getContext("2d");
    back.setTransform(ratio, 0, 0, ratio, 0, 0);
    back.clearRect(0, 0, width, height);
    if (!this.unit) return;
    const frame = this.frame;
    const [x0, y0, x1, y1] = this.seen();
    if (!this.tried && this.codes && this.codes.length === this.n) { this.tried = true; this.relieve(); }
    if (this.drawBehind) this.clipped(back, () => this.drawBehind(back, (u, v) => this.toPixels(u, v)));
    drawAxes(back, frame, { x0, x1, y0, y1 }, this.names);
    const alpha = this.faint ? 0.35 : this.drawn > 20000 ? 0.7 : 0.92;
    this.points2.draw(this.view, this.pointSize * ratio, alpha);
    this.paintFront();
    if (this.on.view) this.on.view();
  }

  paintFront() {
    const { width, height, ratio } = this.size;
    const pen = this.front.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    if (!this.unit) return;
    this.clipped(pen, () => {
      if (this.drawAbove) this.drawAbove(pen, (u, v) => this.toPixels(u, v));
      if (this.shape) this.paintShape(pen);
    });
  }

  clipped(pen, draw) {
    const frame = this.frame;
    pen.save();
    pen.beginPath();
    pen.rect(frame.left, frame.top, frame.width, frame.height);
    pen.clip();
    draw();
    pen.restore();
  }

  paintShape(pen) {
    pen.beginPath();
    this.shape.forEach(([x, y], k) => (k ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.closePath();
    pen.fillStyle = css("--brush");
    pen.strokeStyle = css("--accent");
    pen.lineWidth = 1.5;
    pen.fill();
    pen.stroke();
  }

  // A ring around a point, with a letter if there is one.
  ring(pen, i, color, letter = "", grown = 5) {
    if (i < 0 || i >= this.n) return;
    const [x, y] = this.toPixels(this.unit[2 * i], this.unit[2 * i + 1]);
    const radius = this.pointSize / 2 + grown;
    pen.lineWidth = 4.5;
    pen.strokeStyle = css("--paper");
    pen.beginPath(); pen.arc(x, y, radius, 0, 2 * Math.PI); pen.stroke();
    pen.lineWidth = 2;
    pen.strokeStyle = color;
    pen.beginPath(); pen.arc(x, y, radius, 0, 2 * Math.PI); pen.stroke();
    if (letter) {
      pen.font = "600 12px system-ui, sans-serif";
      pen.textAlign = "left";
      pen.textBaseline = "bottom";
      pen.lineWidth = 4;
      pen.strokeStyle = css("--paper");
      pen.strokeText(letter, x + radius * 0.8, y - radius * 0.7);
      pen.fillStyle = color;
      pen.fillText(letter, x + radius * 0.8, y - radius * 0.7);
    }
  }

  // ---- the hand -----------------------------------------------------------------------------------------------------

  nearest(px, py) {
    if (!this.grid) return -1;
    const frame = this.frame;
    if (px < frame.left || py < frame.top || px > frame.left + frame.width || py > frame.top + frame.height) return -1;
    const [u, v] = this.toUnit(px, py);
    return this.grid.nearest(u, v, (REACH / frame.width) * this.view.width, (REACH / frame.height) * this.view.height);
  }

  zoom(px, py, factor) {
    const [u, v] = this.toUnit(px, py);
    const width = Math.min(4, Math.max(1e-5, this.view.width * factor));
    const ratio = width / this.view.width;
    this.view = {
      x: u - (u - this.view.x) * ratio,
      y: v - (v - this.view.y) * ratio,
      width,
      height: this.view.height * ratio,
    };
    this.redraw();
  }

  zoomBy(factor) {
    const frame = this.frame;
    this.zoom(frame.left + frame.width / 2, frame.top + frame.height / 2, factor);
  }

  pan(dx, dy) {
    const frame = this.frame;
    this.view = {
      ...this.view,
      x: this.view.x - (dx / frame.width) * this.view.width,
      y: this.view.y + (dy / frame.height) * this.view.height,
    };
    this.redraw();
  }

  reset() {
    this.view = { x: 0, y: 0, width: 1, height: 1 };
    this.redraw();
  }

  // Bring a point into view if it is out of it.
  show(i) {
    if (i < 0 || i >= this.n) return;
    const [u, v] = [this.unit[2 * i], this.unit[2 * i + 1]];
    const view = this.view;
    if (u < view.x || v < view.y || u > view.x + view.width || v > view.y + view.height) {
      this.view = { ...view, x: u - view.width / 2, y: v - view.height / 2 };
      this.redraw();
    }
  }

  place(event) {
    const box = this.front.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  listen() {
    const front = this.front;
    front.addEventListener("pointerdown", (event) => this.down(event));
    front.addEventListener("pointermove", (event) => this.move(event));
    front.addEventListener("pointerup", (event) => this.up(event));
    front.addEventListener("pointercancel", () => this.cancel());
    front.addEventListener("pointerleave", () => { if (!this.drag && this.on.hover) this.on.hover(-1); });
    front.addEventListener("dblclick", () => this.reset());
    front.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(...this.place(event), Math.exp(Math.max(-60, Math.min(60, event.deltaY)) * 0.004));
    }, { passive: false });
    front.addEventListener("keydown", (event) => this.key(event));
  }

  down(event) {
    if (!this.unit || event.button > 0) return;
    this.front.setPointerCapture(event.pointerId);
    const at = this.place(event);
    this.pointers.set(event.pointerId, at);
    const tool = event.shiftKey ? "rectangle" : event.altKey ? "lasso" : this.tool();
    this.drag = { tool, start: at, last: at, moved: false, how: event.ctrlKey || event.metaKey ? "add" : "replace" };
    if (tool === "lasso") this.shape = [at];
  }

  move(event) {
    const at = this.place(event);
    if (!this.drag) {
      if (this.on.hover) this.on.hover(this.nearest(...at));
      return;
    }
    const before = this.pointers.get(event.pointerId);
    this.pointers.set(event.pointerId, at);
    if (this.pointers.size === 2 && before) {
      this.pinch(before, at, event.pointerId);
      return;
    }
    const drag = this.drag;
    if (!drag.moved && Math.hypot(at[0] - drag.start[0], at[1] - drag.start[1]) < 4) return;
    drag.moved = true;
    if (drag.tool === "pan") this.pan(at[0] - drag.last[0], at[1] - drag.last[1]);
    else if (drag.tool === "lasso") { this.shape.push(at); this.paintFront(); }
    else { this.shape = corners(drag.start, at); this.paintFront(); }
    drag.last = at;
  }

  pinch(before, at, id) {
    const other = [...this.pointers.entries()].find(([key]) => key !== id)[1];
    const [was, now] = [before, at].map((p) => Math.hypot(p[0] - other[0], p[1] - other[1]));
    this.drag.moved = true;
    this.shape = null;
    this.drag.tool = "pan";
    if (was > 0 && now > 0) this.zoom((at[0] + other[0]) / 2, (at[1] + other[1]) / 2, was / now);
  }

  up(event) {
    this.pointers.delete(event.pointerId);
    const drag = this.drag;
    if (!drag || this.pointers.size) return;
    this.drag = null;
    const shape = this.shape;
    this.shape = null;
    if (!drag.moved) {
      const i = this.nearest(...drag.start);
      if (this.on.click) this.on.click(i);
    } else if (shape && shape.length > 2 && this.on.brush) {
      this.on.brush(insidePolygon(this.unit, shape.map(([x, y]) => this.toUnit(x, y))), drag.how);
    }
    this.paintFront();
  }

  cancel() {
    this.pointers.clear();
    this.drag = null;
    this.shape = null;
    this.paintFront();
  }

  key(event) {
    const step = 40;
    const moves = { ArrowLeft: [step, 0], ArrowRight: [-step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (moves[event.key]) this.pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") this.zoomBy(0.8);
    else if (event.key === "-") this.zoomBy(1.25);
    else if (event.key === "0") this.reset();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

function corners([x0, y0], [x1, y1]) {
  return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]];
}

// Some of n positions, spread over all of them by a fixed step through a shuffled order: always the same ones.
function sampleOf(n, k) {
  const found = new Int32Array(k);
  let seed = 12345;
  for (let i = 0; i < k; i++) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const low = Math.floor((i * n) / k);
    const high = Math.floor(((i + 1) * n) / k);
    found[i] = low + (seed % Math.max(1, high - low));
  }
  return found;
}

function pick(values, positions, components) {
  const found = new values.constructor(positions.length * components);
  for (let k = 0; k < positions.length; k++) {
    for (let c = 0; c < components; c++) found[k * components + c] = values[positions[k] * components + c];
  }
  return found;
}
