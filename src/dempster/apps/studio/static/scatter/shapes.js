// Shapes in the plane: which points are inside a polygon, and the hull around points.

// 1 for each point (x, y, x, y, ...) inside the polygon ([x, y], ...).
export function insidePolygon(points, polygon) {
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

// Of many points in the unit square those that may be corners of their hull: in each of many narrow strips the lowest,
// the highest, and the outermost. What is lost is narrower than a strip, and nobody sees it.
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

// Corners of the convex hull of some points, in order around it.
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
