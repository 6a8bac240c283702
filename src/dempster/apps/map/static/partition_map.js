// Map of a partition with any two of several axes, names of the clusters and a tooltip. The report and notebooks use it.

import { css, cut, formatValue, Scatter, writeOutlined } from "./scatter.js";

const UNKNOWN = 65535;
const LEVELS = 65534;
const MAX_NAMING = 20000; // maximum number of objects that determine the positions of the names
const MAX_LONG_NAMES = 12; // With more clusters, their short names are drawn.
const TAIL = 0.05; // share of the objects of a cluster above its name
const NAME_HEIGHT = 17;

export class PartitionMap {
  // `data` is the unpacked result of `dempster.apps.report.coordinates.pack_coordinates`, `tip` is the element of the
  // tooltip, and `details(i)` returns further lines for it. The other options are those of the class `Plot`.
  constructor(host, tip, data, { Plot = Scatter, details = () => [], on = {}, ...options }) {
    Object.assign(this, { data, tip, details, shown: [0, 1], focus: -1, hovered: -1, nameTags: [], view: null });
    this.isVisible = () => true;
    this.showLayer(null);
    const view = () => {
      if (this.view !== this.scatter.view) { this.view = this.scatter.view; this.describe(-1); }
      this.placeNames();
      if (on.view) on.view();
    };
    this.scatter = new Plot(host, { ...options, on: { ...on, hover: (i) => this.describe(i), view } });
    this.scatter.drawAbove = (pen, toPixels) => this.drawAbove(pen, toPixels);
  }

  // ---- coordinates --------------------------------------------------------------------------------------------------

  axis(d) {
    return this.data.axes[this.shown[d]];
  }

  valueOf(i, d) {
    const level = this.data.levels[this.shown[d] * this.data.n + i];
    const { low, high } = this.axis(d);
    return level === UNKNOWN ? NaN : low + (level / LEVELS) * (high - low);
  }

  // Return a fixed pseudorandom offset, which separates objects of the same category.
  jitter(i, d) {
    if (this.axis(d).kind !== "category") return 0;
    const x = Math.sin(12.9898 * (i + 1) + 78.233 * (d + 1)) * 43758.5453;
    return 0.6 * (x - Math.floor(x) - 0.5);
  }

  // Show the groups of a layer ({groups, names}), or the clusters if it is null.
  showLayer(layer) {
    const { sets, clusters, labels } = this.data;
    this.sets = layer ? sets.map((set) => [...new Set(set.map((k) => layer.groups[k]))].sort((a, b) => a - b)) : sets;
    this.clusters = layer ? layer.names : clusters.length > MAX_LONG_NAMES ? labels : clusters;
  }

  // Place the visible objects on the axes `shown`.
  place(keepView = false) {
    const { n, best } = this.data;
    const places = new Float64Array(2 * n).fill(NaN);
    for (let i = 0; i < n; i++) if (this.isVisible(i)) for (const d of [0, 1]) places[2 * i + d] = this.valueOf(i, d) + this.jitter(i, d);
    const axes = [this.axis(0), this.axis(1)];
    const range = axes.flatMap(({ kind, inner }) => (kind === "category" ? [inner[0] - 0.3, inner[1] + 0.3] : inner));
    this.scatter.setPoints(places, axes, { keepView, range, equal: axes.every(({ kind }) => kind === "component") });
    this.scatter.setCodes(best, this.sets);
  }

  // ---- names of the clusters, rings, and the tooltip ----------------------------------------------------------------

  placeNames() {
    const { n, best } = this.data;
    const { scatter, sets } = this;
    const members = this.clusters.map(() => []);
    const step = Math.ceil(n / MAX_NAMING);
    for (let i = 0; i < n; i += step) if (sets[best[i]].length === 1 && scatter.isSeen(i)) members[sets[best[i]][0]].push(i);
    const quantile = (some, d, share) => {
      const numbers = some.map((i) => scatter.unit[2 * i + d]).sort((a, b) => a - b);
      return numbers[Math.floor(share * (numbers.length - 1))];
    };
    this.nameTags = members.flatMap((some, k) => (some.length ? [{
      text: this.clusters[k], size: some.length, u: quantile(some, 0, 0.5),
      v: [1 - TAIL, 0.5, TAIL].map((share) => quantile(some, 1, share)),
    }] : [])).sort((a, b) => b.size - a.size);
  }

  drawAbove(pen, toPixels) {
    pen.font = "600 13px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const { left, top, width, height } = this.scatter.frame, taken = [];
    // Names of large clusters are drawn first, above or below the objects, or else among them. A name that would cover
    // another name is not drawn.
    for (const tag of this.nameTags) {
      const text = cut(pen, tag.text, 150), half = pen.measureText(text).width / 2 + 3;
      const [high, middle, low] = tag.v.map((v) => toPixels(tag.u, v));
      const x = Math.min(Math.max(middle[0], left + half), left + width - half);
      const isFree = (y) => y > top + 9 && y < top + height - 9 && !taken.some((box) => Math.abs(box.x - x) < box.half + half && Math.abs(box.y - y) < NAME_HEIGHT);
      const y = [high[1] - NAME_HEIGHT, low[1] + NAME_HEIGHT, middle[1]].find(isFree);
      if (y === undefined) continue;
      taken.push({ x, y, half });
      writeOutlined(pen, text, x, y, css("--ink", pen.canvas));
    }
    this.scatter.ring(pen, this.focus, css("--accent", pen.canvas), "", 5);
    if (this.hovered !== this.focus) this.scatter.ring(pen, this.hovered, css("--accent", pen.canvas), "", 4);
  }

  nameOf(i) {
    return this.data.names === null ? String(this.data.rows[i]) : this.data.names[i];
  }

  // Show the tooltip of object i, or hide it if i is -1.
  describe(i) {
    const { scatter, tip } = this;
    if (i === this.hovered && tip.hidden === i < 0) return;
    this.hovered = i;
    tip.hidden = i < 0;
    if (i >= 0) {
      const { best, doubt, sets, set_names: setNames } = this.data;
      const lines = [this.nameOf(i), setNames[best[i]]];
      if (sets[best[i]].length) lines.push(`doubt ${doubt[i].toFixed(2)}`);
      for (const d of [0, 1]) if (this.axis(d).kind !== "component" && this.axis(d).name !== "doubt") lines.push(`${this.axis(d).name}: ${formatValue(this.axis(d), this.valueOf(i, d))}`);
      tip.textContent = [...lines, ...this.details(i)].join("\n");
      const [x, y] = scatter.toPixels(scatter.unit[2 * i], scatter.unit[2 * i + 1]), { width, height } = scatter.size;
      tip.style.left = `${Math.max(4, Math.min(x + 14, width - tip.offsetWidth - 4))}px`;
      tip.style.top = `${y + 14 + tip.offsetHeight > height ? Math.max(4, y - tip.offsetHeight - 14) : y + 14}px`;
    }
    scatter.paintFront();
  }
}
