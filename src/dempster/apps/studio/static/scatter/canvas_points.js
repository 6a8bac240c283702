// Points drawn without a graphics processor: the same looks, fewer of them.

import { clusterColor, css } from "../core/colors.js";

const MOST = 30000;

export class CanvasPoints {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.sets = [];
    this.mask = null;
    this.n = 0;
  }

  setPoints(points, n) {
    this.points = points;
    this.n = Math.min(n, MOST);
  }

  setCodes(codes) { this.codes = codes; }

  setSelection(mask) { this.mask = mask; }

  setSets(sets) { this.sets = sets; }

  draw(view, size, alpha) {
    const { context: pen, canvas } = this;
    pen.clearRect(0, 0, canvas.width, canvas.height);
    const [ink, radius] = [css("--ink"), size / 2];
    for (const pass of this.mask ? [0, 1] : [1]) {
      for (let i = 0; i < this.n; i++) {
        const mine = !this.mask || this.mask[i] > 0;
        if ((pass === 1) !== mine) continue;
        const x = ((this.points[2 * i] - view.x) / view.width) * canvas.width;
        const y = (1 - (this.points[2 * i + 1] - view.y) / view.height) * canvas.height;
        if (x < -size || y < -size || x > canvas.width + size || y > canvas.height + size) continue;
        pen.globalAlpha = mine ? alpha : 0.13 * alpha;
        this.point(x, y, radius, this.sets[this.codes[i]] || [], ink);
      }
    }
    pen.globalAlpha = 1;
  }

  point(x, y, radius, set, ink) {
    const pen = this.context;
    if (set.length === 0 || set.length > 4) {
      pen.strokeStyle = ink;
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
      pen.fillStyle = clusterColor(cluster);
      pen.beginPath();
      pen.moveTo(x, y);
      pen.arc(x, y, reach, Math.PI / 2 + k * step, Math.PI / 2 + (k + 1) * step);
      pen.fill();
    });
    if (set.length > 1) {
      pen.strokeStyle = ink;
      pen.lineWidth = Math.max(1, 0.2 * radius);
      pen.beginPath();
      pen.arc(x, y, reach, 0, 2 * Math.PI);
      pen.stroke();
    }
  }
}
