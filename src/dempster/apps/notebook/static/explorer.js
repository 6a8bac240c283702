// Widget with the map of a partition. Its model has the values `selection` (rows), `focus` (a row or null) and
// `explanation` (text), which Python reads and sets.

import { adaptColors, luminance, Scatter, setBackground, unpack } from "../../map/static/scatter.js";
import { WebglScatter } from "../../map/static/webgl.js";
import { PartitionMap } from "../../map/static/partition_map.js";

const TOOLS = { lasso: "Lasso", rectangle: "Rectangle", pan: "Move" };
const MAX_WITHOUT_WEBGL = 20000; // A browser permits few WebGL plots on a page, so only large maps use it.
const MAX_LEGEND = 20;
const MIN_MASS = 0.005;

const format = (count) => count.toLocaleString("en");

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function render({ model, el }) {
  const packed = model.get("_data");
  const data = unpack(packed.buffer.slice(packed.byteOffset, packed.byteOffset + packed.byteLength));
  const { n, best, rows, sets, set_names: setNames, top_masses: topMasses, top_sets: topSets } = data;
  const position = new Map(Array.from(rows, (row, i) => [row, i]));
  const host = make("div", { className: "plot" });
  const tip = make("div", { className: "tip", hidden: true });
  const status = make("span", { className: "status" });
  const why = make("p", { className: "why" });
  why.setAttribute("role", "status");
  let tool = "lasso";

  // ---- map and selection --------------------------------------------------------------------------------------------

  const masses = (i) => {
    const count = topSets.length / n;
    const found = Array.from({ length: count }, (_, k) => [topMasses[i * count + k] / 65535, setNames[topSets[i * count + k]]]);
    return found.filter(([mass]) => mass >= MIN_MASS).map(([mass, name]) => `${mass.toFixed(2)} ${name}`);
  };
  const set = (values) => {
    for (const [name, value] of Object.entries(values)) model.set(name, value);
    model.save_changes();
  };
  const select = (chosen, how = "replace") => {
    const found = new Set(how === "add" ? model.get("selection") : []);
    for (let i = 0; i < n; i++) if (chosen(i)) found.add(rows[i]);
    set({ selection: [...found].sort((a, b) => a - b) });
  };
  const map = new PartitionMap(host, tip, data, {
    Plot: n > MAX_WITHOUT_WEBGL ? WebglScatter : Scatter,
    details: (i) => ["masses:", ...masses(i)],
    label: `Map of ${n} objects. Drag to select objects; click an object to explain it. Arrow keys move, plus and minus zoom.`,
    tool: () => tool,
    wheelNeedsCtrl: true,
    on: {
      sampled: () => showSelection(),
      brush: (mask, how) => select((i) => mask[i] > 0, how),
      click: (i) => {
        if (i < 0) set({ selection: [], focus: null });
        else if (rows[i] !== model.get("focus")) set({ explanation: "", focus: rows[i] });
      },
    },
  });
  const { scatter } = map;

  // ---- tools, axes, legend ------------------------------------------------------------------------------------------

  const button = (text, onclick, properties = {}) => make("button", { type: "button", textContent: text, onclick, ...properties });
  const tools = Object.entries(TOOLS).map(([name, text]) => button(text, () => { tool = name; showTool(); }, { value: name }));
  const showTool = () => {
    host.dataset.tool = tool;
    for (const one of tools) one.setAttribute("aria-pressed", String(one.value === tool));
  };
  const menus = ["Horizontal axis", "Vertical axis"].map((title, d) => {
    const options = data.axes.map(({ name }, a) => make("option", { value: a, textContent: name, selected: a === data.first[d] }));
    return make("select", { title, onchange: () => placeObjects() }, ...options);
  });
  const placeObjects = () => {
    map.shown = menus.map((menu) => Number(menu.value));
    map.place();
    showSelection();
  };
  const counts = new Int32Array(sets.length);
  for (const code of best) counts[code] += 1;
  // Clusters, then sets of clusters from large to small numbers of objects, then outliers.
  const kindOf = (code) => (sets[code].length > 1 ? 1 : sets[code].length === 1 ? 0 : 2);
  const order = (a, b) => kindOf(a) - kindOf(b) || (kindOf(a) ? counts[b] - counts[a] : a - b);
  const codes = [...counts.keys()].filter((code) => counts[code]).sort(order);
  const chips = codes.slice(0, MAX_LEGEND).map((code) => {
    const chip = make("i", { className: `chip ${sets[code].length > 4 ? "many" : ["certain", "ambiguous", "none"][kindOf(code)]}` });
    const choose = (event) => select((i) => best[i] === code, event.ctrlKey || event.metaKey ? "add" : "replace");
    return { code, chip, entry: make("button", { type: "button", title: "Select these objects", onclick: choose }, chip, `${setNames[code]} `, make("small", { textContent: format(counts[code]) })) };
  });
  const more = codes.length > MAX_LEGEND ? [`and ${codes.length - MAX_LEGEND} more sets`] : [];
  const root = make("div", { className: "dempster-explorer" },
    make("div", { className: "bar" }, make("span", { className: "tools" }, ...tools), button("Show all", () => scatter.reset()), ...menus, status),
    make("div", { className: "legend" }, ...chips.map(({ entry }) => entry), ...more),
    make("div", { className: "stage" }, host, tip),
    why);

  // ---- values of the model ------------------------------------------------------------------------------------------

  const showSelection = () => {
    const selected = model.get("selection");
    const mask = new Uint8Array(n);
    for (const row of selected) if (position.has(row)) mask[position.get(row)] = 1;
    scatter.setSelection(selected.length ? mask : null);
    const words = [];
    if (scatter.drawn < n) words.push(`${format(scatter.drawn)} of ${format(n)} drawn`);
    if (selected.length) words.push(`${format(selected.length)} selected`);
    status.textContent = words.join(", ");
  };
  const showFocus = () => {
    const row = model.get("focus");
    const i = position.get(row) ?? -1;
    map.focus = i;
    scatter.show(i);
    scatter.redraw();
    const lines = i < 0 ? [] : [`${map.nameOf(i)}: mass ${masses(i).join(", ")}`];
    why.textContent = row === null ? "Click an object to explain it." : [...lines, model.get("explanation")].join("\n");
  };
  const changes = { "change:selection": showSelection, "change:focus": showFocus, "change:explanation": showFocus };
  for (const [name, show] of Object.entries(changes)) model.on(name, show);

  // ---- theme --------------------------------------------------------------------------------------------------------

  // The color of the text around the widget tells whether the notebook is dark. The limit is between the luminances of this
  // color in Solarized Light (0.19) and in Abyss, a dark theme of VS Code (0.25).
  const showTheme = () => {
    const pen = make("canvas").getContext("2d", { willReadFrequently: true });
    pen.fillStyle = getComputedStyle(el).color;
    pen.fillRect(0, 0, 1, 1);
    const isDark = luminance([...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)].map((u) => u / 255)) > 0.22;
    if (root.dataset.theme === (isDark ? "dark" : "light")) return;
    root.dataset.theme = isDark ? "dark" : "light";
    adaptColors(root);
    for (const { code, chip } of chips) if (sets[code].length && sets[code].length <= 4) chip.style.background = setBackground(sets[code]);
    scatter.redraw();
  };
  const watched = new MutationObserver(showTheme);
  for (const element of [document.documentElement, document.body]) watched.observe(element, { attributes: true });
  const resized = new ResizeObserver(showTheme); // It also reports that the widget was added to the page.
  resized.observe(root);

  el.append(root);
  showTheme();
  showTool();
  placeObjects();
  showFocus();
  return () => {
    watched.disconnect();
    resized.disconnect();
    for (const [name, show] of Object.entries(changes)) model.off(name, show);
  };
}

export default { render };
