// The map of the report. It has menus for the axes, a legend with filters, and links to objects.
(() => {
  const host = document.getElementById("plot");
  if (!host) return;
  const bytes = Uint8Array.from(atob(document.getElementById("data").textContent), (c) => c.charCodeAt(0));
  const data = unpack(bytes.buffer);
  const { n, best, rows, sets } = data;
  const position = new Map(Array.from(rows, (row, i) => [row, i]));
  const outside = document.getElementById("outside");
  const menus = [document.getElementById("axis-x"), document.getElementById("axis-y")];
  const boxes = [...document.querySelectorAll("[data-show]")];
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
    const set = sets[best[i]];
    if (set.length === 0) return checked.has("none");
    return set.some((k) => checked.has(String(k))) && (set.length === 1 || checked.has("ambiguous"));
  };
  const place = (keepView) => {
    map.shown = menus.map((menu) => Number(menu.value));
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
  for (const box of boxes) box.addEventListener("change", () => readBoxes());
  for (const button of document.querySelectorAll("[data-all]")) button.addEventListener("click", () => checkAll(button.dataset.all === "1"));
  const show = (i) => {
    map.focus = i;
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
  readBoxes(false);
})();
