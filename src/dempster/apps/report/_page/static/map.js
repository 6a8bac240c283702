// The map: points on a canvas, with menus for the axes, a legend that filters, hover, zoom and pan.
(() => {
  const canvas = document.getElementById("map");
  if (!canvas) return;
  const data = JSON.parse(document.getElementById("data").textContent);
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const values = new Uint16Array(bytes(data.values).buffer);
  const which = new Uint16Array(bytes(data.which).buffer);
  const rows = new Uint32Array(bytes(data.rows).buffer);
  const doubt = bytes(data.doubt);
  const n = which.length;
  const UNKNOWN = 65535, LEVELS = 65534, MOST_SECTORS = 6;
  const place = new Map(Array.from(rows, (row, i) => [row, i]));
  const tip = document.getElementById("tip"), outside = document.getElementById("outside");
  const menus = [document.getElementById("axis-x"), document.getElementById("axis-y")];
  const boxes = [...document.querySelectorAll("[data-show]")];
  const context = canvas.getContext("2d");
  const margin = { left: 58, right: 14, top: 14, bottom: 46 };
  const setMargins = () => {  // components have no ticks, which leaves more room on a phone
    margin.left = axis(1).kind === "component" ? 30 : 58;
    margin.bottom = axis(0).kind === "component" ? 30 : 46;
  };
  const view = { zoom: 1, x: 0, y: 0 };
  const shown = new Set();
  let colors = {}, size = { width: 0, height: 0 }, points = new Float32Array(2 * n), selected = -1, hovered = -1, waiting = false;

  const axis = (d) => data.axes[Number(menus[d].value)];
  const isVisible = (i) => {
    const set = data.sets[which[i]];
    if (set.length === 0) return shown.has("none");
    return set.some((k) => shown.has(String(k))) && (set.length === 1 || shown.has("torn"));
  };
  const nameOf = (i) => (data.names === null ? String(rows[i]) : data.names[i]);
  const setWords = (i) => {
    const names = data.sets[which[i]].map((k) => data.clusters[k]);
    if (names.length === 0) return "outlier, in none of the clusters";
    if (names.length === 1) return names[0];
    return names.length > 4 ? `between ${names.length} clusters` : `between ${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
  };

  // ---- from values to the screen ------------------------------------------------------------------------------

  const plot = () => ({ width: size.width - margin.left - margin.right, height: size.height - margin.top - margin.bottom });
  // components have one unit: an inch to the right is worth an inch upwards
  const stretch = () => {
    const [a, b] = [axis(0), axis(1)], area = plot();
    if (a.kind !== "component" || b.kind !== "component") return [area.width, area.height];
    const [across, up] = [a.inner[1] - a.inner[0] || 1, b.inner[1] - b.inner[0] || 1];
    const unit = Math.min(area.width / across, area.height / up);
    return [across * unit, up * unit];
  };
  const toScreen = (u, v) => {
    const area = plot(), [width, height] = stretch();
    return [
      margin.left + area.width / 2 + ((u - 0.5) * width * 0.96) * view.zoom + view.x,
      margin.top + area.height / 2 - ((v - 0.5) * height * 0.96) * view.zoom + view.y,
    ];
  };
  const fromScreen = (x, y) => {
    const area = plot(), [width, height] = stretch();
    return [
      (x - view.x - margin.left - area.width / 2) / (width * 0.96 * view.zoom) + 0.5,
      -(y - view.y - margin.top - area.height / 2) / (height * 0.96 * view.zoom) + 0.5,
    ];
  };
  // objects of one category lie side by side, always in the same way
  const jitter = (i, d) => {
    const x = Math.sin(12.9898 * (i + 1) + 78.233 * (d + 1)) * 43758.5453;
    return x - Math.floor(x) - 0.5;
  };
  const valueOf = (i, d) => {
    const one = axis(d), level = values[Number(menus[d].value) * n + i];
    return level === UNKNOWN ? NaN : one.low + (level / LEVELS) * (one.high - one.low);
  };
  // 0 to 1 within what the picture opens with; objects far from all others lie beyond
  const coordinate = (i, d) => {
    const [low, high] = axis(d).inner, value = valueOf(i, d);
    const u = high > low ? (value - low) / (high - low) : Number.isNaN(value) ? NaN : 0.5;
    return axis(d).kind === "category" ? u + (0.6 * jitter(i, d)) / Math.max(high - low + 1, 1) : u;
  };
  const written = (one, value) => {
    if (Number.isNaN(value)) return "unknown";
    if (one.kind === "category") return one.categories[Math.round(value)] ?? "";
    if (one.kind === "date") return new Date(value * 864e5).toISOString().slice(0, 10);
    const large = Math.abs(value) >= 1e6 || (value !== 0 && Math.abs(value) < 1e-4);
    return large ? value.toExponential(2) : String(Number(value.toPrecision(4)));
  };
  const placeAll = () => {
    for (let i = 0; i < n; i++) {
      const [x, y] = toScreen(coordinate(i, 0), coordinate(i, 1));
      points[2 * i] = x;
      points[2 * i + 1] = y;
    }
  };
  const tellOutside = () => {
    let number = 0;
    for (let i = 0; i < n; i++) {
      const x = points[2 * i], y = points[2 * i + 1];
      const isInside = x >= margin.left && x <= size.width - margin.right && y >= margin.top && y <= size.height - margin.bottom;
      if (isVisible(i) && !isInside) number++;
    }
    outside.textContent = number ? ` ${number.toLocaleString("en")} ${number === 1 ? "object is" : "objects are"} out of view.` : "";
  };

  // ---- drawing ------------------------------------------------------------------------------------------------

  const radius = () => (n < 400 ? 4.2 : n < 2000 ? 3.2 : n < 8000 ? 2.4 : 1.8) * Math.min(1 + Math.log2(Math.max(view.zoom, 1)) / 4, 2);
  const ticks = (low, high, number) => {
    if (!(high > low)) return [];
    const rough = (high - low) / number, power = 10 ** Math.floor(Math.log10(rough));
    const step = power * ([1, 2, 5, 10].find((m) => m * power >= rough) ?? 10);
    const out = [];
    for (let k = Math.ceil(low / step); k * step <= high && out.length < 30; k++) out.push(k * step);
    return out;
  };
  const cut = (text, width) => {
    if (context.measureText(text).width <= width) return text;
    let end = text.length;
    while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > width) end -= Math.ceil(end / 12);
    return `${text.slice(0, Math.max(end, 1))}…`;
  };

  const drawAxis = (d) => {
    const one = axis(d), area = plot(), isAcross = d === 0;
    const ends = isAcross
      ? [fromScreen(margin.left, 0)[0], fromScreen(size.width - margin.right, 0)[0]]
      : [fromScreen(0, size.height - margin.bottom)[1], fromScreen(0, margin.top)[1]];
    const span = one.inner[1] - one.inner[0];
    context.fillStyle = colors.quiet;
    context.strokeStyle = colors.line;
    context.lineWidth = 1;
    let marks = [];
    if (one.kind === "category") marks = one.categories.map((_, k) => k).filter((k) => k >= one.low && k <= one.high);
    else if (one.kind !== "component" && span > 0) marks = ticks(one.inner[0] + ends[0] * span, one.inner[0] + ends[1] * span, isAcross ? Math.max(area.width / 110, 2) : 5);
    const room = isAcross ? area.width / Math.max(marks.length, 1) - 6 : margin.left - 14;
    for (const value of marks) {
      const u = span > 0 ? (value - one.inner[0]) / span : 0.5;
      const [x, y] = toScreen(isAcross ? u : 0, isAcross ? 0 : u);
      const at = Math.round(isAcross ? x : y) + 0.5;
      if (isAcross ? at < margin.left || at > size.width - margin.right : at < margin.top || at > size.height - margin.bottom) continue;
      context.beginPath();
      if (isAcross) { context.moveTo(at, margin.top); context.lineTo(at, size.height - margin.bottom); }
      else { context.moveTo(margin.left, at); context.lineTo(size.width - margin.right, at); }
      context.stroke();
      context.textAlign = isAcross ? "center" : "right";
      context.textBaseline = isAcross ? "top" : "middle";
      const text = cut(written(one, value), room);
      if (isAcross) context.fillText(text, at, size.height - margin.bottom + 7);
      else context.fillText(text, margin.left - 8, at);
    }
    context.textBaseline = "alphabetic";
    context.textAlign = "center";
    context.save();
    if (isAcross) context.translate(margin.left + area.width / 2, size.height - 10);
    else { context.translate(14, margin.top + area.height / 2); context.rotate(-Math.PI / 2); }
    context.fillText(cut(one.name, (isAcross ? area.width : area.height) - 10), 0, 0);
    context.restore();
  };

  const drawPoints = () => {
    const r = radius(), certain = data.clusters.map(() => []), torn = [], crosses = [];
    for (let i = 0; i < n; i++) {
      const x = points[2 * i], y = points[2 * i + 1];
      if (!isVisible(i) || !(x > -20 && x < size.width + 20 && y > -20 && y < size.height + 20)) continue;
      const set = data.sets[which[i]];
      (set.length === 1 ? certain[set[0]] : set.length ? torn : crosses).push(i);
    }
    context.globalAlpha = colors.isDark ? 0.95 : 0.75;
    certain.forEach((some, k) => {
      context.fillStyle = data.colors[k];
      context.beginPath();
      for (const i of some) { context.moveTo(points[2 * i] + r, points[2 * i + 1]); context.arc(points[2 * i], points[2 * i + 1], r, 0, 2 * Math.PI); }
      context.fill();
      if (colors.isDark && n < 5000) { context.strokeStyle = "rgba(255,255,255,.35)"; context.lineWidth = 0.6; context.stroke(); }
    });
    context.globalAlpha = 1;
    for (const i of torn) {
      const set = data.sets[which[i]].slice(0, MOST_SECTORS), x = points[2 * i], y = points[2 * i + 1];
      set.forEach((k, j) => {
        context.fillStyle = data.colors[k];
        context.beginPath();
        context.moveTo(x, y);
        context.arc(x, y, r + 1.2, (2 * Math.PI * j) / set.length + Math.PI / 2, (2 * Math.PI * (j + 1)) / set.length + Math.PI / 2);
        context.fill();
      });
      context.strokeStyle = colors.ink;
      context.lineWidth = 0.7;
      context.beginPath();
      context.arc(x, y, r + 1.2, 0, 2 * Math.PI);
      context.stroke();
    }
    context.strokeStyle = colors.ink;
    context.lineWidth = 1.6;
    context.beginPath();
    for (const i of crosses) {
      const x = points[2 * i], y = points[2 * i + 1], a = r + 1.5;
      context.moveTo(x - a, y - a); context.lineTo(x + a, y + a);
      context.moveTo(x - a, y + a); context.lineTo(x + a, y - a);
    }
    context.stroke();
    return certain;
  };

  const middle = (numbers) => numbers.sort((a, b) => a - b)[numbers.length >> 1];
  const drawNames = (certain) => {
    context.font = `600 13px ${colors.font}`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.lineJoin = "round";
    // the largest clusters first; a name that would cover another one is left out until there is room
    const taken = [], order = certain.map((some, k) => k).sort((a, b) => certain[b].length - certain[a].length);
    for (const k of order) {
      const there = certain[k].filter((i) => !Number.isNaN(points[2 * i]) && !Number.isNaN(points[2 * i + 1]));
      if (!there.length) continue;
      let x = middle(there.map((i) => points[2 * i])), y = middle(there.map((i) => points[2 * i + 1]));
      const text = cut(data.clusters.length > 12 ? data.labels[k] : data.clusters[k], 150);
      const half = context.measureText(text).width / 2 + 3;
      const [left, right] = [margin.left + half, size.width - margin.right - half];
      x = Math.min(Math.max(x, left), right);
      y = Math.min(Math.max(y, margin.top + 9), size.height - margin.bottom - 9);
      if (taken.some((box) => Math.abs(box.x - x) < box.half + half && Math.abs(box.y - y) < 17)) continue;
      taken.push({ x, y, half });
      context.strokeStyle = colors.halo;
      context.lineWidth = 4;
      context.strokeText(text, x, y);
      context.fillStyle = colors.ink;
      context.fillText(text, x, y);
    }
    context.font = `12px ${colors.font}`;
  };

  const ring = (i, width) => {
    if (i < 0) return;
    context.strokeStyle = colors.accent;
    context.lineWidth = width;
    context.beginPath();
    context.arc(points[2 * i], points[2 * i + 1], radius() + 5, 0, 2 * Math.PI);
    context.stroke();
  };

  const draw = () => {
    waiting = false;
    const ratio = devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    context.font = `12px ${colors.font}`;
    setMargins();
    placeAll();
    drawAxis(0);
    drawAxis(1);
    context.save();
    context.beginPath();
    context.rect(margin.left, margin.top, plot().width, plot().height);
    context.clip();
    const certain = drawPoints();
    drawNames(certain);
    ring(selected, 3);
    ring(hovered, 2);
    context.restore();
    tellOutside();
  };
  const redraw = () => { if (!waiting) { waiting = true; requestAnimationFrame(draw); } };

  // ---- hover, zoom, pan ---------------------------------------------------------------------------------------

  const nearest = (x, y) => {
    let best = -1, least = 16 * 16;
    for (let i = 0; i < n; i++) {
      const dx = points[2 * i] - x, dy = points[2 * i + 1] - y, d = dx * dx + dy * dy;
      if (d < least && isVisible(i)) { best = i; least = d; }
    }
    return best;
  };
  const tell = (i) => {
    if (i < 0) { tip.hidden = true; return; }
    const d = doubt[i] / 127;
    const lines = [nameOf(i), setWords(i)];
    if (data.sets[which[i]].length) lines.push(`doubt ${d.toFixed(2)}`);
    for (const k of [0, 1]) if (axis(k).kind !== "component" && axis(k).name !== "doubt") lines.push(`${axis(k).name}: ${written(axis(k), valueOf(i, k))}`);
    tip.textContent = lines.join("\n");
    tip.hidden = false;
    const x = points[2 * i], y = points[2 * i + 1];
    tip.style.left = `${Math.max(4, Math.min(x + 14, size.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${y + 14 + tip.offsetHeight > size.height ? Math.max(4, y - tip.offsetHeight - 14) : y + 14}px`;
  };
  const zoomAt = (factor, x, y) => {
    const zoom = Math.min(Math.max(view.zoom * factor, 0.01), 400), f = zoom / view.zoom, area = plot();
    const [cx, cy] = [x - margin.left - area.width / 2, y - margin.top - area.height / 2];
    view.x = cx - (cx - view.x) * f;
    view.y = cy - (cy - view.y) * f;
    view.zoom = zoom;
    hovered = -1;
    tip.hidden = true;
    redraw();
  };
  const reset = () => { Object.assign(view, { zoom: 1, x: 0, y: 0 }); hovered = -1; tip.hidden = true; redraw(); };
  const zoomMiddle = (factor) => zoomAt(factor, margin.left + plot().width / 2, margin.top + plot().height / 2);
  const where = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };

  const held = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    held.set(event.pointerId, where(event));
    canvas.setPointerCapture(event.pointerId);
    canvas.classList.add("grabbed");
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, (event) => {
      held.delete(event.pointerId);
      if (!held.size) canvas.classList.remove("grabbed");
      if (name === "pointerup" && event.pointerType === "touch") { hovered = nearest(...where(event)); tell(hovered); redraw(); }
    });
  }
  canvas.addEventListener("pointermove", (event) => {
    const now = where(event);
    if (!held.has(event.pointerId)) {
      const found = nearest(...now);
      if (found !== hovered) { hovered = found; tell(found); redraw(); }
      return;
    }
    const before = held.get(event.pointerId);
    if (held.size === 1) {
      view.x += now[0] - before[0];
      view.y += now[1] - before[1];
      tip.hidden = true;
    } else {
      const other = [...held.entries()].find(([id]) => id !== event.pointerId)[1];
      const length = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
      zoomAt(length(now) / Math.max(length(before), 1), (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    }
    held.set(event.pointerId, now);
    redraw();
  });
  canvas.addEventListener("pointerleave", () => { hovered = -1; tip.hidden = true; redraw(); });
  canvas.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey) return;  // a plain wheel scrolls the page
    event.preventDefault();
    zoomAt(Math.exp(-event.deltaY / 300), ...where(event));
  }, { passive: false });
  canvas.addEventListener("dblclick", (event) => zoomAt(2, ...where(event)));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[event.key];
    if (step) { view.x += step[0]; view.y += step[1]; redraw(); }
    else if (event.key === "+" || event.key === "=") zoomMiddle(1.5);
    else if (event.key === "-") zoomMiddle(1 / 1.5);
    else if (event.key === "0") reset();
    else return;
    event.preventDefault();
  });
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => {
      if (button.dataset.zoom === "reset") reset();
      else zoomMiddle(button.dataset.zoom === "in" ? 1.5 : 1 / 1.5);
    });
  }

  // ---- menus, legend, links to objects ------------------------------------------------------------------------

  for (const menu of menus) menu.addEventListener("change", reset);
  const readBoxes = () => {
    shown.clear();
    for (const box of boxes) if (box.checked) shown.add(box.dataset.show);
    redraw();
  };
  for (const box of boxes) box.addEventListener("change", readBoxes);
  for (const button of document.querySelectorAll("[data-all]")) {
    button.addEventListener("click", () => { for (const box of boxes) box.checked = button.dataset.all === "1"; readBoxes(); });
  }
  const show = (i) => {
    selected = i;
    for (const box of boxes) box.checked = true;
    readBoxes();
    reset();
    const [u, v] = [coordinate(i, 0), coordinate(i, 1)], reach = Math.max(Math.abs(u - 0.5), Math.abs(v - 0.5));
    if (reach > 0.5) view.zoom = 0.48 / reach;  // far from all others: the map is seen from farther away
    canvas.scrollIntoView({ block: "center" });
    canvas.focus({ preventScroll: true });
    draw();
    tell(i);
  };
  for (const link of document.querySelectorAll("[data-object]")) {
    const i = place.get(Number(link.dataset.object));
    if (i === undefined) continue;
    link.setAttribute("role", "button");
    link.tabIndex = 0;
    link.title = "Show on the map";
    link.addEventListener("click", () => show(i));
    link.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); show(i); } });
  }

  // ---- size and colors ----------------------------------------------------------------------------------------

  const recolor = () => {
    const style = getComputedStyle(document.documentElement), get = (name) => style.getPropertyValue(name).trim();
    colors = {
      ink: get("--ink"), quiet: get("--quiet"), line: get("--line"), accent: get("--accent"), halo: get("--halo"),
      font: get("--sans"), isDark: get("--edge") !== "transparent",
    };
    redraw();
  };
  new ResizeObserver(() => {
    const box = canvas.getBoundingClientRect(), ratio = devicePixelRatio || 1;
    size = { width: box.width, height: box.height };
    canvas.width = Math.round(box.width * ratio);
    canvas.height = Math.round(box.height * ratio);
    redraw();
  }).observe(canvas);
  document.addEventListener("themechange", recolor);
  recolor();
  readBoxes();
})();
