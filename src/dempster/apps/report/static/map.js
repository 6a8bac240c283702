// The map of the report. It has menus for the axes, a legend with filters, links to objects, and names of the clusters.
(() => {
  const host = document.getElementById("plot");
  if (!host) return;
  const bytes = Uint8Array.from(atob(document.getElementById("data").textContent), (c) => c.charCodeAt(0));
  const { n, axes, best, clusters, doubt, labels, levels, names, rows, sets, set_names: setNames } = unpack(bytes.buffer);
  const UNKNOWN = 65535, LEVELS = 65534;
  const position = new Map(Array.from(rows, (row, i) => [row, i]));
  const tip = document.getElementById("tip"), outside = document.getElementById("outside");
  const menus = [document.getElementById("axis-x"), document.getElementById("axis-y")];
  const boxes = [...document.querySelectorAll("[data-show]")];
  const shown = new Set();
  let selected = -1, hovered = -1, view = null, nameTags = [];

  const scatter = new Scatter(host, {
    label: host.getAttribute("aria-label"),
    wheelNeedsCtrl: true,
    on: { hover: (i) => describe(i), click: (i) => describe(i), view: () => { if (view !== scatter.view) { view = scatter.view; describe(-1); } countOutside(); placeNames(); } },
  });
  scatter.front.id = "map";

  // ---- coordinates -------------------------------------------------------------------------------------------------------

  const axis = (d) => axes[Number(menus[d].value)];
  const valueOf = (i, d) => {
    const level = levels[Number(menus[d].value) * n + i];
    return level === UNKNOWN ? NaN : axis(d).low + (level / LEVELS) * (axis(d).high - axis(d).low);
  };
  // A fixed pseudorandom offset separates objects of the same category.
  const jitter = (i, d) => {
    if (axis(d).kind !== "category") return 0;
    const x = Math.sin(12.9898 * (i + 1) + 78.233 * (d + 1)) * 43758.5453;
    return 0.6 * (x - Math.floor(x) - 0.5);
  };
  const isVisible = (i) => {
    const set = sets[best[i]];
    if (set.length === 0) return shown.has("none");
    return set.some((k) => shown.has(String(k))) && (set.length === 1 || shown.has("ambiguous"));
  };
  const placeAll = (keepView) => {
    const places = new Float64Array(2 * n).fill(NaN);
    for (let i = 0; i < n; i++) if (isVisible(i)) for (const d of [0, 1]) places[2 * i + d] = valueOf(i, d) + jitter(i, d);
    const range = [0, 1].flatMap((d) => (axis(d).kind === "category" ? [axis(d).inner[0] - 0.3, axis(d).inner[1] + 0.3] : axis(d).inner));
    scatter.setPoints(places, [axis(0), axis(1)], { keepView, range, equal: axis(0).kind === "component" && axis(1).kind === "component" });
    scatter.setCodes(best, sets);
  };
  const countOutside = () => {
    let count = 0;
    for (let i = 0; i < n; i++) if (isVisible(i) && !scatter.isSeen(i)) count++;
    outside.textContent = count ? ` ${count.toLocaleString("en")} ${count === 1 ? "object is" : "objects are"} out of view.` : "";
  };

  // ---- names of the clusters, rings, and the tooltip ----------------------------------------------------------------

  const median = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];
  const placeNames = () => {
    const members = clusters.map(() => []);
    for (let i = 0; i < n; i++) if (sets[best[i]].length === 1 && scatter.isSeen(i)) members[sets[best[i]][0]].push(i);
    nameTags = members.flatMap((some, k) => (some.length ? [{
      text: clusters.length > 12 ? labels[k] : clusters[k], size: some.length,
      u: median(some.map((i) => scatter.unit[2 * i])), v: median(some.map((i) => scatter.unit[2 * i + 1])),
    }] : [])).sort((a, b) => b.size - a.size);
  };
  scatter.drawAbove = (pen, toPixels) => {
    pen.font = "600 13px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    const { left, top, width, height } = scatter.frame, taken = [];
    // Names of large clusters are drawn first. A name that would cover another name is not drawn.
    for (const tag of nameTags) {
      const text = cut(pen, tag.text, 150), half = pen.measureText(text).width / 2 + 3;
      let [x, y] = toPixels(tag.u, tag.v);
      x = Math.min(Math.max(x, left + half), left + width - half);
      y = Math.min(Math.max(y, top + 9), top + height - 9);
      if (taken.some((box) => Math.abs(box.x - x) < box.half + half && Math.abs(box.y - y) < 17)) continue;
      taken.push({ x, y, half });
      writeOutlined(pen, text, x, y, css("--ink"));
    }
    scatter.ring(pen, selected, css("--accent"), "", 5);
    if (hovered !== selected) scatter.ring(pen, hovered, css("--accent"), "", 4);
  };
  const describe = (i) => {
    if (i === hovered && tip.hidden === i < 0) return;
    hovered = i;
    tip.hidden = i < 0;
    if (i >= 0) {
      const lines = [names === null ? String(rows[i]) : names[i], setNames[best[i]]];
      if (sets[best[i]].length) lines.push(`doubt ${doubt[i].toFixed(2)}`);
      for (const d of [0, 1]) if (axis(d).kind !== "component" && axis(d).name !== "doubt") lines.push(`${axis(d).name}: ${formatValue(axis(d), valueOf(i, d))}`);
      tip.textContent = lines.join("\n");
      const [x, y] = scatter.toPixels(scatter.unit[2 * i], scatter.unit[2 * i + 1]), { width, height } = scatter.size;
      tip.style.left = `${Math.max(4, Math.min(x + 14, width - tip.offsetWidth - 4))}px`;
      tip.style.top = `${y + 14 + tip.offsetHeight > height ? Math.max(4, y - tip.offsetHeight - 14) : y + 14}px`;
    }
    scatter.paintFront();
  };

  // ---- buttons, menus, legend, links to objects ---------------------------------------------------------------------

  for (const button of document.querySelectorAll("[data-zoom]")) {
    const factor = { in: 1 / 1.5, out: 1.5 }[button.dataset.zoom];
    button.addEventListener("click", () => (factor ? scatter.zoomBy(factor) : scatter.reset()));
  }
  for (const menu of menus) menu.addEventListener("change", () => placeAll(false));
  const readBoxes = (keepView = true) => {
    shown.clear();
    for (const box of boxes) if (box.checked) shown.add(box.dataset.show);
    placeAll(keepView);
  };
  const checkAll = (isChecked) => { for (const box of boxes) box.checked = isChecked; readBoxes(); };
  for (const box of boxes) box.addEventListener("change", () => readBoxes());
  for (const button of document.querySelectorAll("[data-all]")) button.addEventListener("click", () => checkAll(button.dataset.all === "1"));
  const show = (i) => {
    selected = i;
    checkAll(true);
    scatter.showAmongAll(i);
    host.scrollIntoView({ block: "center" });
    scatter.front.focus({ preventScroll: true });
    scatter.paint();
    describe(i);
  };
  for (const link of document.querySelectorAll("[data-object]")) {
    const i = position.get(Number(link.dataset.object));
    if (i === undefined) continue;
    link.setAttribute("role", "button");
    link.tabIndex = 0;
    link.title = "Show on the map";
    link.addEventListener("click", () => show(i));
    link.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); show(i); } });
  }
  document.addEventListener("themechange", () => { adaptColors(); scatter.redraw(); });
  adaptColors();
  readBoxes(false);
})();
