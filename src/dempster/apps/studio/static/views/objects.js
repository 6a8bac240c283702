// Table of the objects, or of the selected objects, sorted by doubt. Only the visible rows are in the page.

import { el, replace } from "../core/el.js";
import { get, subscribe, currentRun } from "../core/store.js";
import { getJson, getPacked, post } from "../core/api.js";
import { explain, openObject, showError, select, setHover } from "../core/actions.js";
import { cell, formatCount } from "../core/format.js";
import { empty, setLabel } from "./parts.js";

const HEIGHT = 28;
const SPARE = 12;
const MAX_COLUMNS = 40;

export function objectsPanel(host) {
  host.classList.add("panel-full");
  const words = el("span");
  const find = el("input", { type: "search", placeholder: "Find by name", "aria-label": "Find an object by its name", oninput: () => search() });
  const only = el("button", { type: "button", class: "link", onclick: () => select(null) }, "show all");
  const bar = el("div", { class: "grid-bar" }, words, only, el("span", { style: { flex: 1 } }), find);
  const head = el("div", { class: "grid-head", role: "row" });
  const space = el("div", { role: "rowgroup", style: { position: "relative" } });
  const grid = el("div", { class: "grid", role: "table", "aria-label": "Objects", tabindex: "0" }, head, space);
  const nothing = empty("After the first run, this table lists the objects, those with the largest doubt first.");
  host.append(nothing, bar, grid);

  let sort = { by: "doubt", down: true };
  let order = new Int32Array(0);
  let shown = order;
  const cells = new Map();
  let columns = [];
  let wanted = null;
  let turn = 0;
  let decided = new Set(); // rows with a decision of the review

  function template() {
    return `110px 170px 120px ${columns.map(() => "minmax(104px, 1fr)").join(" ")}`;
  }

  function rowWidth() {
    return `${400 + 104 * columns.length}px`;
  }

  function drawHead() {
    const titles = [["name", "object"], ["set", "assigned to"], ["doubt", "doubt"], ...columns.map((name, k) => [`column:${k}`, name])];
    Object.assign(head.style, { gridTemplateColumns: template(), minWidth: rowWidth() });
    const focused = [...head.children].findIndex((one) => one.contains(document.activeElement));
    replace(head, titles.map(([by, title], k) => el("span", {
      role: "columnheader", "aria-sort": sort.by === by ? (sort.down ? "descending" : "ascending") : "none",
    }, el("button", {
      type: "button", class: k > 2 ? "right" : "", "data-sorted": sort.by === by, title: `Sort by ${title}`,
      onclick: () => { sort = { by, down: sort.by === by ? !sort.down : by === "doubt" }; load(); },
    }, title, sort.by === by ? (sort.down ? " ↓" : " ↑") : ""))));
    head.children[focused]?.firstChild.focus();
  }

  async function load() {
    const run = currentRun();
    const mine = ++turn;
    if (!run) return;
    try {
      const found = await getPacked(`/runs/${get("viewId")}/order?by=${encodeURIComponent(sort.by)}&down=${sort.down ? 1 : 0}`);
      if (mine !== turn) return;
      order = found.order;
      filter();
      grid.scrollTop = 0;
    } catch (error) {
      showError(error);
    }
  }

  function filter() {
    const mask = get("selection");
    if (order.length !== get("objects")?.n) order = new Int32Array(0); // This order belongs to the previous run.
    shown = mask && mask.length === order.length ? order.filter((i) => mask[i]) : order;
    const n = get("objects")?.n || 0;
    words.textContent = mask ? `${shown.length.toLocaleString("en")} selected of ${formatCount(n, "object")}` : formatCount(n, "object");
    only.hidden = !mask;
    space.style.height = `${Math.min(shown.length * HEIGHT, 8e6)}px`;
    drawHead();
    draw();
  }

  // Browsers limit the height of an element. If the table would be higher, the scroll position is scaled.
  function firstSeen() {
    const full = shown.length * HEIGHT;
    const scale = full > 8e6 ? full / 8e6 : 1;
    return Math.max(0, Math.floor((grid.scrollTop * scale) / HEIGHT) - SPARE);
  }

  function draw() {
    const n = get("objects")?.n;
    if (n === undefined || order.length !== n || get("codes")?.length !== n) return; // A new run is loading.
    const first = firstSeen();
    const last = Math.min(shown.length, first + Math.ceil(grid.clientHeight / HEIGHT) + 2 * SPARE);
    const full = shown.length * HEIGHT;
    const offset = full > 8e6 ? grid.scrollTop - firstSeen() * HEIGHT - SPARE * HEIGHT : 0;
    const rows = [];
    const missing = [];
    for (let k = first; k < last; k++) {
      const i = shown[k];
      if (!cells.has(i)) missing.push(i);
      rows.push(row(i, k * HEIGHT + offset));
    }
    replace(space, rows);
    if (missing.length) fetchCells(missing);
  }

  function row(i, top) {
    const objects = get("objects");
    const known = cells.get(i);
    const doubt = objects.doubt[i];
    return el("div", {
      class: "grid-row", role: "row", "data-position": i, "data-hover": get("hover") === i, "data-focus": get("focus") === i,
      style: { top: `${top}px`, gridTemplateColumns: template(), minWidth: rowWidth() },
      onclick: () => openObject(i), onmouseenter: () => setHover(i), onmouseleave: () => setHover(-1),
    },
    el("span", { role: "cell", title: known ? known.name : "" }, decided.has(objects.rows[i]) ? el("span", { title: "reviewed" }, "✓ ") : null, known ? known.name : "…"),
    el("span", { role: "cell" }, setLabel(get("codes")[i])),
    el("span", { class: "doubt", role: "cell" }, el("i", { style: { width: `${Math.max(1, 52 * Math.min(1, doubt))}px`, background: doubt > 1 ? "var(--ink)" : "var(--accent)" } }), doubt > 1 ? "outlier" : doubt.toFixed(2)),
    known ? known.cells.slice(0, columns.length).map((value) => el("span", { class: "right", role: "cell", title: cell(value) }, cell(value))) : null);
  }

  async function fetchCells(positions) {
    const run = get("runId");
    if (wanted && wanted.run === run && positions.every((i) => wanted.set.has(i))) return;
    wanted = { run, set: new Set(positions) };
    try {
      const found = await post(`/runs/${run}/rows`, { positions });
      if (get("runId") !== run) return;
      positions.forEach((i, k) => cells.set(i, { name: found.names[k], cells: found.cells[k] }));
      wanted = null;
      draw();
    } catch (error) {
      showError(error);
    }
  }

  let searchTimer = 0;
  function search() {
    clearTimeout(searchTimer);
    searchTimer = setTimeout(async () => {
      const text = find.value.trim();
      if (!text || !currentRun()) return;
      try {
        const { position } = await getJson(`/runs/${get("runId")}/find?text=${encodeURIComponent(text)}`);
        if (position !== null) {
          const at = shown.indexOf(position);
          if (at >= 0) grid.scrollTop = Math.max(0, at * HEIGHT - 40);
          explain(position);
        } else words.textContent = `no object is named ${text}`;
      } catch (error) {
        showError(error);
      }
    }, 250);
  }

  function start() {
    const run = currentRun();
    const there = Boolean(run && get("objects"));
    nothing.hidden = there;
    bar.hidden = !there;
    grid.hidden = !there;
    if (!there) return;
    columns = get("session").source.columns.map((column) => column.name).slice(0, MAX_COLUMNS);
    decided = new Set(get("session").decided);
    cells.clear();
    wanted = null;
    load();
  }

  function mark(name, i) {
    for (const one of space.children) one.toggleAttribute(`data-${name}`, Number(one.dataset.position) === i);
  }

  grid.addEventListener("scroll", () => requestAnimationFrame(draw));
  grid.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target === grid) openObject(get("focus"));
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || event.target !== grid) return;
    event.preventDefault();
    const at = Math.max(0, Math.min(shown.length - 1, shown.indexOf(get("focus")) + step));
    const top = at * HEIGHT;
    if (top < grid.scrollTop || top > grid.scrollTop + grid.clientHeight - 3 * HEIGHT) grid.scrollTop = Math.max(0, top - 60);
    explain(shown[at]);
  });
  new ResizeObserver(() => { if (!grid.hidden) draw(); }).observe(grid);
  subscribe(["objects"], start);
  subscribe(["selection"], filter);
  subscribe(["session"], () => { decided = new Set(get("session")?.decided); draw(); });
  subscribe(["codes", "theme"], () => { if (order.length && order.length === get("codes")?.length) draw(); });
  subscribe(["hover"], () => mark("hover", get("hover")));
  subscribe(["focus"], () => mark("focus", get("focus")));
  start();
  return { shown: () => { if (!grid.hidden) draw(); }, next: (step) => next(step) };

  // Explain the object that is `step` rows after the explained object in the table.
  function next(step) {
    if (!shown.length) return;
    const at = shown.indexOf(get("focus"));
    explain(shown[Math.max(0, Math.min(shown.length - 1, at + step))]);
  }
}
