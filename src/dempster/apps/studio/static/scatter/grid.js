// Points in the plane by cells of a grid: which one is nearest to a place, without looking at all of them.

export class Grid {
  // `points` holds x and y of each point, scaled to the unit square
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
    return Math.min(this.side - 1, Math.max(0, Math.floor(u * this.side)));
  }

  cell(x, y) {
    return this.column(y) * this.side + this.column(x);
  }

  // The nearest point within the given reach across and up, or -1.
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
