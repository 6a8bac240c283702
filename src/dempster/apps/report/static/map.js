// The map of the report. It has menus for the axes, a legend with filters, and links to objects.
(() => {
  const host = document.getElementById("plot");
  if (!host) return;
  const bytes = Uint8Array.from(atob(document.getElementById("data").textContent), (c) => c.charCodeAt(0));
  const data = unpack(bytes.buffer);
  const { n, best, rows } = data;
  const position = new Map(Array.from(rows, (row, i) => [row, i]));
  const outside = document.getElementById("outside");
  const menus = [document.getElementById("axis-x"), document.getElementById("axis-y")];
  const layerMenu = document.getElementById("layer");
  const legends = [...document.querySelectorAll("[data-layer]")];
  const find = document.getElementById("find-cluster");
  let boxes = []; // of the shown legend
  let layer = 0; // 0 for the clusters, or the number of a layer
  let wanted = -1; // the only cluster that is shown, or -1
  const checked = new Set();

  const countOutside = () => {
    let count = 0;
    for (let i = 0; i < n; i++) if (map.isVisible(i) && !scatter.isSeen(i)) count++;
    outside.textContent = count ? ` ${count.toLocaleString("en")} ${count === 1 ? "object is" : "objects are"} out of view.` : "";
  };
  const map = new PartitionMap(host, document.getElementById("tip"), data, {
    label: host.getAttribute("aria-label"),
    wheelNeedsCtrl: true,
    on: { click: (i) => map.describe(i), view: countOutside },
  });
  const { scatter } = map;
  scatter.front.id = "map";
  map.isVisible = (i) => {
    const set = map.sets[best[i]];
    if (set.length === 0) return checked.has("none") && wanted < 0;
    if (set.length > 1 && !checked.has("ambiguous")) return false;
    const isSearched = legends[layer].contains(find);
    return isSearched ? wanted < 0 || set.includes(wanted) : set.some((k) => checked.has(String(k)));
  };
  // Maps with the same unit on both axes are as high as the objects need.
  const fit = () => {
    const [x, y] = map.shown.map((a) => data.axes[a]);
    const isEqual = x.kind === "component" && y.kind === "component";
    const ratio = (y.inner[1] - y.inner[0]) / (x.inner[1] - x.inner[0] || 1);
    host.style.height = isEqual ? `clamp(18rem, ${Math.round(ratio * host.clientWidth + 60)}px, min(34rem, 100vw))` : "";
  };
  const place = (keepView) => {
    map.shown = menus.map((menu) => Number(menu.value));
    if (!keepView) fit();
    map.place(keepView);
  };

  // ---- buttons, menus, legend, links to objects ---------------------------------------------------------------------

  for (const button of document.querySelectorAll("[data-zoom]")) {
    const factor = { in: 1 / 1.5, out: 1.5 }[button.dataset.zoom];
    button.addEventListener("click", () => (factor ? scatter.zoomBy(factor) : scatter.reset()));
  }
  for (const menu of menus) menu.addEventListener("change", () => place(false));
  const readBoxes = (keepView = true) => {
    checked.clear();
    for (const box of boxes) if (box.checked) checked.add(box.dataset.show);
    place(keepView);
  };
  const checkAll = (isChecked) => { for (const box of boxes) box.checked = isChecked; readBoxes(); };
  for (const box of document.querySelectorAll("[data-show]")) box.addEventListener("change", () => readBoxes());
  for (const button of document.querySelectorAll("[data-all]")) button.addEventListener("click", () => checkAll(button.dataset.all === "1"));
  find?.addEventListener("input", () => {
    const text = find.value.trim().toLowerCase();
    const names = data.clusters.map((name) => name.toLowerCase());
    wanted = text ? names.indexOf(text) : -1;
    place(false);
  });
  const showLayer = () => {
    layer = layerMenu ? Number(layerMenu.value) : 0;
    for (const [k, legend] of legends.entries()) legend.hidden = k !== layer;
    boxes = [...legends[layer].querySelectorAll("[data-show]")];
    if (find) find.value = "";
    wanted = -1;
    map.showLayer(layer ? data.layers[layer - 1] : null);
    readBoxes();
  };
  layerMenu?.addEventListener("change", showLayer);
  const show = (i) => {
    map.focus = i;
    if (find) find.value = "";
    wanted = -1;
    checkAll(true);
    scatter.showAmongAll(i);
    host.scrollIntoView({ block: "center" });
    scatter.front.focus({ preventScroll: true });
    scatter.paint();
    map.describe(i);
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
  map.shown = menus.map((menu) => Number(menu.value));
  fit();
  showLayer();
  place(false);
})();
