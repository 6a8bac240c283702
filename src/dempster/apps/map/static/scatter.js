// Scatter plot of objects in the colors of their clusters. It is the map of the report, the studio and notebooks.
//
// The plot uses the CSS colors of its element: --ink, --soft, --line, --paper, --accent, --brush.

// ---- numbers and text -----------------------------------------------------------------------------------------------

const KINDS = { float32: Float32Array, int32: Int32Array, uint8: Uint8Array, uint16: Uint16Array };

// Read data that `dempster.apps.map.pack` wrote; the format consists of a JSON header and arrays.
export function unpack(buffer) {
  const length = Number(new DataView(buffer).getBigUint64(0, true));
  const about = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  for (const [name, field] of Object.entries(about.arrays)) {
    about[name] = new KINDS[field.kind](buffer, 8 + length + field.at, field.length);
  }
  delete about.arrays;
  return about;
}

export function number(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value !== "number") return String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return value.toExponential(Math.max(0, digits - 2)).replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}

export function cut(pen, text, width) {
  if (pen.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(`${text.slice(0, end)}…`).width > width) end -= Math.ceil(end / 12);
  return `${text.slice(0, Math.max(end, 1))}…`;
}

// ---- colors ---------------------------------------------------------------------------------------------------------

// The colors of dempster.plot, which are safe for color-blind readers (a test checks that they are equal).
const PALETTE = [
  "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#692D2D", "#3C2D96", "#87E1A5", "#A52D69",
  "#964B00", "#5A87F0", "#2DE1FF", "#A5B487", "#D2D24B", "#780F69", "#B44B4B", "#00D2C3", "#4B4BB4", "#A55A87",
];
const MIN_LUMINANCE = 0.16; // minimum luminance of colors on a dark page
let palette = PALETTE.map(toRgb);

export function css(name, element = document.documentElement) {
  return getComputedStyle(element).getPropertyValue(name).trim();
}

// Return the three channels of the color "#rrggbb" as numbers from 0 to 1.
export function toRgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255);
}

export function luminance(rgb) {
  const [r, g, b] = rgb.map((u) => (u <= 0.04045 ? u / 12.92 : ((u + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// Lighten dark colors if the page is dark. Call this when the color scheme changes.
export function adaptColors(element = document.documentElement) {
  const isDark = luminance(toRgb(css("--paper", element))) < 0.2;
  palette = PALETTE.map(toRgb).map((rgb) => {
    for (let step = 0; isDark && step < 10 && luminance(rgb) < MIN_LUMINANCE; step++) rgb = rgb.map((u) => u + 0.12 * (1 - u));
    return rgb;
  });
}

// Return the palette as a list of colors with channels from 0 to 1.
export function paletteRgb() {
  return palette;
}

export function clusterColor(cluster, alpha = 1) {
  const [r, g, b] = palette[cluster % palette.length].map((u) => Math.round(255 * u));
  return `rgba(${r}, ${g}, ${b}, ${alpha})`;
}

// Return the CSS background of a set of clusters, which is divided into one slice for each cluster.
export function setBackground(clusters) {
  if (clusters.length === 0) return "none";
  if (clusters.length === 1) return clusterColor(clusters[0]);
  const shownOnes = clusters.slice(0, 4);
  const step = 100 / shownOnes.length;
  const slices = shownOnes.map((k, i) => `${clusterColor(k)} ${i * step}% ${(i + 1) * step}%`);
  return shownOnes.length === 2
    ? `linear-gradient(90deg, ${slices.join(", ")})`
    : `conic-gradient(${slices.join(", ")})`;
}

// ---- axes -----------------------------------------------------------------------------------------------------------

// Return round numbers between low and high.
export function ticks(low, high, most) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const raw = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((k) => k >= raw * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high + 1e-9 * span && found.length < 50; k++) found.push(Number((k * step).toPrecision(12)));
  return found;
}

// An axis is {name, kind, categories}. The kind is "number" (default), "component" (without ticks), "date" (values are
// days since 1970) or "category" (values are positions in the categories).
const hasTicks = (axis) => Boolean(axis.name) && axis.kind !== "component";

function marks(axis, low, high, most) {
  if (!hasTicks(axis)) return [];
  if (axis.kind === "category") return axis.categories.map((_, k) => k).filter((k) => k >= low && k <= high);
  return ticks(low, high, most);
}

export function formatValue(axis, value) {
  if (Number.isNaN(value)) return "unknown";
  if (axis.kind === "category") return axis.categories[Math.round(value)] ?? "";
  if (axis.kind === "date") return new Date(value * 864e5).toISOString().slice(0, 10);
  return number(value);
}

// The frame is {left, top, width, height} in pixels, and the range is {x0, x1, y0, y1} in data units.
function drawAxes(pen, frame, { x0, x1, y0, y1 }, [across, up]) {
  pen.font = "11px system-ui, sans-serif";
  pen.lineWidth = 1;
  pen.fillStyle = css("--soft", pen.canvas);
  pen.strokeStyle = css("--line", pen.canvas);
  const line = (...ends) => {
    pen.globalAlpha = 0.5;
    pen.beginPath(); pen.moveTo(ends[0], ends[1]); pen.lineTo(ends[2], ends[3]); pen.stroke();
    pen.globalAlpha = 1;
  };
  pen.textAlign = "center";
  pen.textBaseline = "top";
  const columns = marks(across, x0, x1, frame.width / 90);
  for (const mark of columns) {
    const x = Math.round(frame.left + ((mark - x0) / (x1 - x0)) * frame.width) + 0.5;
    line(x, frame.top, x, frame.top + frame.height);
    pen.fillText(cut(pen, formatValue(across, mark), frame.width / columns.length - 6), x, frame.top + frame.height + 5);
  }
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  for (const mark of marks(up, y0, y1, frame.height / 60)) {
    const y = Math.round(frame.top + (1 - (mark - y0) / (y1 - y0)) * frame.height) + 0.5;
    line(frame.left, y, frame.left + frame.width, y);
    pen.fillText(cut(pen, formatValue(up, mark), frame.left - 14), frame.left - 6, y);
  }
  pen.textAlign = "center";
  pen.font = "12px system-ui, sans-serif";
  pen.fillText(cut(pen, across.name, frame.width - 10), frame.left + frame.width / 2, frame.top + frame.height + (hasTicks(across) ? 29 : 14));
  pen.save();
  pen.translate(frame.left - (hasTicks(up) ? 42 : 14), frame.top + frame.height / 2);
  pen.rotate(-Math.PI / 2);
  pen.fillText(cut(pen, up.name, frame.height - 10), 0, 0);
  pen.restore();
}

// ---- geometry -------------------------------------------------------------------------------------------------------

// A grid of cells for finding the nearest point without examining all points.
class Grid {
  // `points` is the array x, y, x, y, ... of coordinates in the unit square.
  constructor(points) {
    this.points = points;
    const n = points.length / 2;
    this.side = Math.max(1, Math.min(1024, Math.ceil(Math.sqrt(n / 3))));
    const starts = new Int32Array(this.side * this.side + 1);
    const cells = new Int32Array(n);
    for (let i = 0; i < n; i++) {
      const cell = this.cell(points[2 * i], points[2 * i + 1]);
      cells[i] = cell;
      starts[cell + 1] += 1;
    }
    for (let cell = 0; cell < starts.length - 1; cell++) starts[cell + 1] += starts[cell];
    const next = starts.slice();
    this.members = new Int32Array(n);
    for (let i = 0; i < n; i++) this.members[next[cells[i]]++] = i;
    this.starts = starts;
  }

  column(u) {
    return Math.min(this.side - 1, Math.max(0, Math.floor(u * this.side))) || 0; // NaN becomes 0
  }

  cell(x, y) {
    return this.column(y) * this.side + this.column(x);
  }

  // Return the nearest point in the ellipse around (x, y) with the radii reachX and reachY, or -1.
  nearest(x, y, reachX, reachY) {
    let best = -1;
    let least = 1;
    const [left, right] = [this.column(x - reachX), this.column(x + reachX)];
    const [low, high] = [this.column(y - reachY), this.column(y + reachY)];
    for (let row = low; row <= high; row++) {
      const begin = this.starts[row * this.side + left];
      const end = this.starts[row * this.side + right + 1];
      for (let at = begin; at < end; at++) {
        const i = this.members[at];
        const u = (this.points[2 * i] - x) / reachX;
        const v = (this.points[2 * i + 1] - y) / reachY;
        const distance = u * u + v * v;
        if (distance < least) {
          least = distance;
          best = i;
        }
      }
    }
    return best;
  }
}

// Return a mask of the points (an array x, y, x, y, ...) inside the polygon (an array of corners [x, y]).
function insidePolygon(points, polygon) {
  const n = points.length / 2;
  const mask = new Uint8Array(n);
  let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const [x, y] of polygon) {
    left = Math.min(left, x); right = Math.max(right, x);
    low = Math.min(low, y); high = Math.max(high, y);
  }
  for (let i = 0; i < n; i++) {
    const x = points[2 * i];
    const y = points[2 * i + 1];
    if (x < left || x > right || y < low || y > high) continue;
    let inside = false;
    for (let a = 0, b = polygon.length - 1; a < polygon.length; b = a++) {
      const [ax, ay] = polygon[a];
      const [bx, by] = polygon[b];
      if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
    }
    if (inside) mask[i] = 1;
  }
  return mask;
}

const MANY = 3000;
const STRIPS = 1024;

// Return candidates for the corners of the convex hull of many points. The candidates are the extreme points in each of
// many narrow strips, so that the error is smaller than the width of a strip.
function candidates(points, members) {
  if (members.length <= MANY) return members;
  const found = new Int32Array(4 * STRIPS).fill(-1);
  const keep = (at, i, better) => { if (found[at] < 0 || better(i, found[at])) found[at] = i; };
  for (const i of members) {
    const strip = 4 * Math.min(STRIPS - 1, Math.max(0, Math.floor(points[2 * i] * STRIPS)));
    keep(strip, i, (a, b) => points[2 * a + 1] < points[2 * b + 1]);
    keep(strip + 1, i, (a, b) => points[2 * a + 1] > points[2 * b + 1]);
    keep(strip + 2, i, (a, b) => points[2 * a] < points[2 * b]);
    keep(strip + 3, i, (a, b) => points[2 * a] > points[2 * b]);
  }
  return found.filter((i) => i >= 0);
}

// Return the corners of the convex hull of the points with the indices `members`, in counterclockwise order.
export function hull(points, members) {
  const sorted = Array.from(candidates(points, members), (i) => [points[2 * i], points[2 * i + 1]]);
  sorted.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  if (sorted.length < 3) return sorted;
  const turn = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const half = (line) => {
    const kept = [];
    for (const point of line) {
      while (kept.length > 1 && turn(kept[kept.length - 2], kept[kept.length - 1], point) <= 0) kept.pop();
      kept.push(point);
    }
    kept.pop();
    return kept;
  };
  return [...half(sorted), ...half(sorted.reverse())];
}

// Divide n positions into k equal parts, and return a pseudorandom position of each part. Repeated calls agree.
function samplePositions(n, k) {
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

// ---- points ---------------------------------------------------------------------------------------------------------

// Draw points on a 2D canvas. A point is a disc in the color of its cluster, a disc with a sector for each of several
// clusters, a ring for more than four clusters, or a cross for an outlier.
class CanvasPoints {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.sets = [];
    this.mask = null;
    this.n = 0;
  }

  setPoints(points, n) { this.points = points; this.n = n; }

  setCodes(codes) { this.codes = codes; }

  setSelection(mask) { this.mask = mask; }

  setSets(sets) { this.sets = sets; }

  draw(view, size, alpha) {
    const { context: pen, canvas } = this;
    pen.clearRect(0, 0, canvas.width, canvas.height);
    this.ink = css("--ink", canvas);
    this.colors = palette.map((_, k) => clusterColor(k));
    for (const pass of this.mask ? [0, 1] : [1]) {
      for (let i = 0; i < this.n; i++) {
        const isChosen = !this.mask || this.mask[i] > 0;
        if ((pass === 1) !== isChosen) continue;
        const x = ((this.points[2 * i] - view.x) / view.width) * canvas.width;
        const y = (1 - (this.points[2 * i + 1] - view.y) / view.height) * canvas.height;
        if (!(x >= -size && y >= -size && x <= canvas.width + size && y <= canvas.height + size)) continue;
        pen.globalAlpha = isChosen ? alpha : 0.13 * alpha;
        this.point(x, y, size / 2, this.sets[this.codes[i]] || []);
      }
    }
    pen.globalAlpha = 1;
  }

  point(x, y, radius, set) {
    const pen = this.context;
    if (set.length === 0 || set.length > 4) {
      pen.strokeStyle = this.ink;
      pen.lineWidth = Math.max(1.2, 0.3 * radius);
      pen.beginPath();
      if (set.length) pen.arc(x, y, 0.8 * radius, 0, 2 * Math.PI);
      else {
        pen.moveTo(x - radius, y - radius); pen.lineTo(x + radius, y + radius);
        pen.moveTo(x - radius, y + radius); pen.lineTo(x + radius, y - radius);
      }
      pen.stroke();
      return;
    }
    const reach = set.length > 1 ? 1.3 * radius : radius;
    const step = (2 * Math.PI) / set.length;
    set.forEach((cluster, k) => {
      pen.fillStyle = this.colors[cluster % this.colors.length];
      pen.beginPath();
      pen.moveTo(x, y);
      pen.arc(x, y, reach, Math.PI / 2 + k * step, Math.PI / 2 + (k + 1) * step);
      pen.fill();
    });
    if (set.length > 1) {
      pen.strokeStyle = this.ink;
      pen.lineWidth = Math.max(1, 0.2 * radius);
      pen.beginPath();
      pen.arc(x, y, reach, 0, 2 * Math.PI);
      pen.stroke();
    }
  }
}

// ---- the plot -------------------------------------------------------------------------------------------------------

const MARGIN = { left: 58, right: 14, top: 12, bottom: 46, withoutTicks: 30 };
const PAD = 0.07;
const REACH = 14; // maximum distance in pixels between the pointer and a point that it selects
const MAX_DRAWN = 200000;
const MAX_DRAWN_WITHOUT_GPU = 30000;
const MAX_VIEW = 100; // maximum width of the view, relative to the width of the whole plot

export class Scatter {
  // `on` contains the callbacks {hover(i), click(i), brush(mask, how), view(), sampled()}.
  constructor(host, { label, on = {}, tool = () => "pan", faint = false, wheelNeedsCtrl = false }) {
    this.faint = faint; // whether points are small and transparent
    this.on = on;
    this.tool = tool;
    this.wheelNeedsCtrl = wheelNeedsCtrl;
    [this.behind, this.middle, this.front] = ["behind", "middle", "front"].map(() => document.createElement("canvas"));
    for (const canvas of [this.behind, this.middle, this.front]) canvas.className = "layer";
    this.front.tabIndex = 0;
    this.front.setAttribute("role", "application");
    this.front.setAttribute("aria-label", label);
    this.host = host;
    host.classList.add("scatter");
    host.append(this.behind, this.middle, this.front);
    this.points = this.makePoints();
    this.view = { x: 0, y: 0, width: 1, height: 1 };
    this.axes = [{ name: "" }, { name: "" }];
    this.shape = null;
    this.pointers = new Map();
    this.drawBehind = null; // (pen, toPixels) => void
    this.drawAbove = null;
    this.listen();
    new ResizeObserver(() => this.resize()).observe(host);
    this.resize();
  }

  makePoints() {
    this.kind = "canvas";
    return new CanvasPoints(this.middle);
  }

  get maxDrawn() {
    return this.kind === "canvas" ? MAX_DRAWN_WITHOUT_GPU : MAX_DRAWN;
  }

  // ---- data ---------------------------------------------------------------------------------------------------------

  // `places` is the array x, y, x, y, ... of coordinates in data units, NaN for hidden points. `range` is the range
  // [x0, x1, y0, y1] of the whole plot; by default it includes all points. `equal` gives both axes the same unit.
  setPoints(places, axes, { keepView = false, range = null, equal = false } = {}) {
    const n = places.length / 2;
    let [x0, x1, y0, y1] = range || [Infinity, -Infinity, Infinity, -Infinity];
    for (let i = 0; !range && i < n; i++) {
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
    this.axes = axes.map((axis) => (typeof axis === "string" ? { name: axis } : axis));
    this.equal = equal;
    this.grid = new Grid(this.unit);
    this.sample(Math.min(n, this.maxDrawn));
    this.resize();
    if (!keepView) this.reset();
  }

  sample(k) {
    this.sampled = k < this.n ? samplePositions(this.n, k) : null;
    this.points.setPoints(this.sampled ? pick(this.unit, this.sampled, 2) : this.unit, this.drawn);
  }

  get drawn() {
    return this.sampled ? this.sampled.length : this.n;
  }

  setCodes(codes, sets) {
    this.codes = codes;
    this.sets = sets;
    this.points.setSets(sets);
    this.points.setCodes(this.sampled ? pick(codes, this.sampled, 1) : codes);
    this.redraw();
  }

  setSelection(mask) {
    this.mask = mask;
    this.points.setSelection(mask && this.sampled ? pick(mask, this.sampled, 1) : mask);
    this.redraw();
  }

  // ---- coordinates --------------------------------------------------------------------------------------------------

  get frame() {
    const { width, height } = this.size;
    const left = hasTicks(this.axes[1]) ? MARGIN.left : MARGIN.withoutTicks;
    const bottom = hasTicks(this.axes[0]) ? MARGIN.bottom : MARGIN.withoutTicks;
    return { left, top: MARGIN.top, width: Math.max(1, width - left - MARGIN.right), height: Math.max(1, height - MARGIN.top - bottom) };
  }

  // Return the view of the whole plot. If both axes have the same unit, it has margins on two sides.
  get whole() {
    if (!this.equal || !this.size) return { x: 0, y: 0, width: 1, height: 1 };
    const [across, up] = this.unitsPerPixel({ width: 1, height: 1 });
    const [width, height] = [Math.max(1, up / across), Math.max(1, across / up)];
    return { x: 0.5 - width / 2, y: 0.5 - height / 2, width, height };
  }

  unitsPerPixel(view) {
    const { x0, x1, y0, y1 } = this.box;
    return [(view.width * (x1 - x0)) / this.frame.width, (view.height * (y1 - y0)) / this.frame.height];
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

  // Return the visible range in data units as [left, bottom, right, top].
  seen() {
    return [...this.toData(this.view.x, this.view.y), ...this.toData(this.view.x + this.view.width, this.view.y + this.view.height)];
  }

  isSeen(i) {
    const [u, v] = [this.unit[2 * i] - this.view.x, this.unit[2 * i + 1] - this.view.y];
    return u >= 0 && v >= 0 && u <= this.view.width && v <= this.view.height;
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
    if (this.equal && this.isWhole) this.view = this.whole;
    else if (this.equal) {
      const [across, up] = this.unitsPerPixel(this.view);
      const grown = (this.view.height * across) / up;
      this.view = { ...this.view, y: this.view.y - (grown - this.view.height) / 2, height: grown };
    }
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
    const many = Math.max(10, Math.min(this.drawn || 10, MAX_DRAWN));
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
    const [x0, y0, x1, y1] = this.seen();
    if (this.drawBehind) this.clipped(back, () => this.drawBehind(back, (u, v) => this.toPixels(u, v)));
    drawAxes(back, this.frame, { x0, x1, y0, y1 }, this.axes);
    if (this.codes) this.points.draw(this.view, this.pointSize * ratio, this.faint ? 0.35 : this.drawn > 20000 ? 0.7 : 0.92);
    if (this.on.view) this.on.view();
    this.paintFront();
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
    pen.fillStyle = css("--brush", pen.canvas);
    pen.strokeStyle = css("--accent", pen.canvas);
    pen.lineWidth = 1.5;
    pen.fill();
    pen.stroke();
  }

  // Draw a ring around a point, with an optional letter.
  ring(pen, i, color, letter = "", grown = 5) {
    if (i < 0 || i >= this.n) return;
    const [x, y] = this.toPixels(this.unit[2 * i], this.unit[2 * i + 1]);
    const radius = this.pointSize / 2 + grown;
    pen.lineWidth = 4.5;
    pen.strokeStyle = css("--paper", pen.canvas);
    pen.beginPath(); pen.arc(x, y, radius, 0, 2 * Math.PI); pen.stroke();
    pen.lineWidth = 2;
    pen.strokeStyle = color;
    pen.beginPath(); pen.arc(x, y, radius, 0, 2 * Math.PI); pen.stroke();
    if (letter) {
      pen.font = "600 12px system-ui, sans-serif";
      pen.textAlign = "left";
      pen.textBaseline = "bottom";
      writeOutlined(pen, letter, x + radius * 0.8, y - radius * 0.7, color);
    }
  }

  // ---- interaction --------------------------------------------------------------------------------------------------

  nearest(px, py) {
    if (!this.grid) return -1;
    const frame = this.frame;
    if (px < frame.left || py < frame.top || px > frame.left + frame.width || py > frame.top + frame.height) return -1;
    const [u, v] = this.toUnit(px, py);
    return this.grid.nearest(u, v, (REACH / frame.width) * this.view.width, (REACH / frame.height) * this.view.height);
  }

  zoom(px, py, factor) {
    const [u, v] = this.toUnit(px, py);
    const width = Math.min(MAX_VIEW, Math.max(1e-5, this.view.width * factor));
    const ratio = width / this.view.width;
    this.isWhole = false;
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
    this.isWhole = false;
    this.view = {
      ...this.view,
      x: this.view.x - (dx / frame.width) * this.view.width,
      y: this.view.y + (dy / frame.height) * this.view.height,
    };
    this.redraw();
  }

  reset() {
    this.view = this.whole;
    this.isWhole = true;
    this.redraw();
  }

  // If point i is outside the view, move the view so that the point is in its center.
  show(i) {
    if (i < 0 || i >= this.n) return;
    if (this.isSeen(i)) return;
    const { width, height } = this.view;
    this.isWhole = false;
    this.view = { x: this.unit[2 * i] - width / 2, y: this.unit[2 * i + 1] - height / 2, width, height };
    this.redraw();
  }

  // Show the whole plot; if point i is outside it, enlarge the view to include the point.
  showAmongAll(i) {
    this.reset();
    const { width, height } = this.view;
    const reach = Math.max(Math.abs(this.unit[2 * i] - 0.5) / width, Math.abs(this.unit[2 * i + 1] - 0.5) / height);
    if (reach > 0.5) this.zoomBy(reach / 0.48);
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
      if (this.wheelNeedsCtrl && !event.ctrlKey && !event.metaKey) return; // Without Ctrl, the wheel scrolls the page.
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
    const tool = !this.on.brush ? "pan" : event.shiftKey ? "rectangle" : event.altKey ? "lasso" : this.tool();
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

export function writeOutlined(pen, text, x, y, color) {
  pen.lineWidth = 4;
  pen.lineJoin = "round";
  pen.strokeStyle = css("--paper", pen.canvas);
  pen.strokeText(text, x, y);
  pen.fillStyle = color;
  pen.fillText(text, x, y);
}
