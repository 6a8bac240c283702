// Line chart.

import { svg } from "../core/el.js";
import { number } from "../core/format.js";
import { ticks } from "../map/scatter.js";

// `lines` is [{x, y, kind?}], `marks` is [{x, y, kind}], and `names` is [horizontal axis, vertical axis].
export function chart({ lines, marks = [], names, width = 330, height = 170, range = {}, log = false, whole = false, onpick = null, label = "" }) {
  const margin = { left: 54, right: 12, top: 10, bottom: 36 };
  const to = log ? (v) => Math.log10(Math.max(v, 1e-300)) : (v) => v;
  const xs = lines.flatMap((line) => line.x);
  const ys = lines.flatMap((line) => line.y).filter((v) => v !== null && Number.isFinite(v)).map(to);
  if (!xs.length || !ys.length) return svg("svg", { class: "chart", viewBox: `0 0 ${width} 20`, role: "img", "aria-label": "no data" });
  const x0 = range.x0 ?? Math.min(...xs);
  const x1 = range.x1 ?? Math.max(...xs, x0 + 1e-9);
  let y0 = range.y0 ?? Math.min(...ys);
  let y1 = range.y1 ?? Math.max(...ys);
  if (!(y1 > y0)) { y0 -= 0.5; y1 += 0.5; }
  const pad = range.y1 === undefined ? 0.06 * (y1 - y0) : 0;
  y0 -= range.y0 === undefined ? pad : 0;
  y1 += pad;
  const px = (x) => margin.left + ((x - x0) / (x1 - x0 || 1)) * (width - margin.left - margin.right);
  const py = (y) => margin.top + (1 - (to(y) - y0) / (y1 - y0)) * (height - margin.top - margin.bottom);
  const root = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label || `${names[1]} against ${names[0]}` });
  const floor = height - margin.bottom;
  for (const tick of ticks(x0, x1, (width - margin.left) / 60)) {
    if (whole && tick % 1) continue;
    root.append(svg("text", { x: px(tick), y: floor + 14, "text-anchor": "middle" }, number(tick)));
  }
  for (const tick of ticks(y0, y1, (height - margin.top) / 36)) {
    const y = margin.top + (1 - (tick - y0) / (y1 - y0)) * (floor - margin.top);
    root.append(svg("line", { class: "axis", x1: margin.left, x2: width - margin.right, y1: y, y2: y }));
    root.append(svg("text", { x: margin.left - 6, y: y + 4, "text-anchor": "end" }, number(log ? 10 ** tick : tick, 3)));
  }
  root.append(svg("text", { class: "title", x: (margin.left + width - margin.right) / 2, y: height - 4, "text-anchor": "middle" }, names[0]));
  const title = svg("text", { class: "title", transform: `translate(11 ${(margin.top + floor) / 2}) rotate(-90)`, "text-anchor": "middle" }, names[1]);
  root.append(title);
  for (const line of lines) {
    const path = line.x.map((x, k) => [x, line.y[k]]).filter(([, y]) => y !== null && Number.isFinite(y))
      .map(([x, y], k) => `${k ? "L" : "M"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join("");
    root.append(svg("path", { class: `line ${line.kind || ""}`, d: path }));
    if (line.dots) line.x.forEach((x, k) => { if (line.y[k] !== null) root.append(svg("circle", { class: "dot", cx: px(x), cy: py(line.y[k]), r: 3 })); });
  }
  for (const mark of marks) {
    if (mark.kind === "guide") root.append(svg("line", { class: "guide", x1: px(mark.x), x2: px(mark.x), y1: margin.top, y2: floor }));
    else root.append(svg("circle", { class: "now", cx: px(mark.x), cy: py(mark.y), r: 5 }));
  }
  if (onpick) {
    root.classList.add("pickable");
    root.addEventListener("click", (event) => {
      const box = root.getBoundingClientRect();
      const x = x0 + (((event.clientX - box.left) / box.width) * width - margin.left) / (width - margin.left - margin.right) * (x1 - x0);
      onpick(x);
    });
  }
  return root;
}

// Return the value of a line at x by interpolation.
export function valueAt(xs, ys, x) {
  for (let k = 1; k < xs.length; k++) {
    if (x <= xs[k]) {
      const t = Math.max(0, Math.min(1, (x - xs[k - 1]) / (xs[k] - xs[k - 1] || 1)));
      return ys[k - 1] + t * (ys[k] - ys[k - 1]);
    }
  }
  return ys[ys.length - 1];
}
