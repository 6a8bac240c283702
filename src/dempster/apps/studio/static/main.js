// Entry point of the page.

import { el, replace, toast } from "./core/el.js";
import { get, set, subscribe } from "./core/store.js";
import { getJson, post, remove } from "./core/api.js";
import { openSession } from "./core/session.js";
import { follow } from "./core/jobs.js";
import { showError, refreshSession, showLastRun, showRun } from "./core/actions.js";
import { recall } from "./core/memory.js";
import { formatCount } from "./core/format.js";
import { theme } from "./views/theme.js";
import { banners } from "./views/banners.js";
import { Tabs } from "./views/tabs.js";
import { dataCard, listenToDrops } from "./views/data.js";
import { methodCard, runsCard } from "./views/method.js";
import { restoreChoices } from "./views/choices.js";
import { mapView } from "./views/map.js";
import { summaryPanel } from "./views/summary.js";
import { objectsPanel } from "./views/objects.js";
import { peaksPanel } from "./views/peaks.js";
import { numberPanel } from "./views/number.js";
import { groupsPanel } from "./views/groups.js";
import { convergencePanel, fitPanel } from "./views/fit.js";
import { whyPanel } from "./views/why.js";
import { selectionPanel } from "./views/selection.js";
import { boundaryPanel } from "./views/boundary.js";
import { teachPanel } from "./views/teach.js";
import { reviewPanel } from "./views/review.js";
import { comparePanel } from "./views/compare.js";
import { exportPanel } from "./views/export.js";
import { keys } from "./views/keys.js";
import { tour } from "./views/tour.js";

function page(name) {
  document.body.dataset.page = name;
  for (const button of document.querySelectorAll("#pages button")) {
    if (button.dataset.page === name) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
}

function pages() {
  for (const button of document.querySelectorAll("#pages button")) button.addEventListener("click", () => page(button.dataset.page));
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    page("map");
    document.getElementById("map-area").focus();
  });
  window.addEventListener("open-page", (event) => page(event.detail));
  page("setup");
}

function topLine() {
  const where = document.getElementById("where");
  const picker = document.getElementById("run-picker");
  const undo = document.getElementById("undo-button");
  undo.addEventListener("click", undoDeletion);
  const draw = () => {
    const session = get("session");
    const source = session && session.source;
    undo.hidden = !session || !session.deleted;
    undo.title = undo.hidden ? "" : `You ${session.deleted}`;
    replace(where, source ? [el("strong", { text: source.name }), ` ${formatCount(source.rows, "row")}`] : "");
    const runs = session ? session.runs : [];
    picker.hidden = runs.length === 0;
    const list = el("select", { "aria-label": "Current run", onchange: () => showRun(list.value).catch(showError) },
      runs.map((run) => el("option", { value: run.id, selected: run.id === get("runId") }, `${run.id}. ${run.name}`)));
    replace(picker, list);
  };
  subscribe(["session", "runId"], draw);
  draw();
}

async function forgetRun(id) {
  try {
    set({ session: await remove(`/runs/${id}`) });
    if (id === get("runId")) await showLastRun();
    toast(`You ${get("session").deleted}. The button Undo restores it.`);
  } catch (error) {
    showError(error);
  }
}

async function undoDeletion() {
  try {
    const before = get("session").source;
    const session = await post("/undo");
    const isOtherTable = session.source.digest !== before?.digest || session.source.index !== before?.index;
    set({ session });
    if (isOtherTable || !get("runId")) {
      set({ planeChoice: null, peaks: null });
      restoreChoices();
      await showLastRun();
    }
  } catch (error) {
    showError(error);
  }
}

async function start() {
  history.replaceState(null, "", location.pathname + location.hash); // Remove the token from the address; the cookie contains it.
  theme(document.getElementById("theme-button"));
  pages();
  topLine();
  banners(document.getElementById("banners"));
  const setup = document.getElementById("setup");
  dataCard(setup);
  methodCard(setup);
  runsCard(setup, { open: (id) => showRun(id).catch(showError), forgetRun });
  listenToDrops();
  const scatter = mapView(document.getElementById("map-area"));
  const drawer = new Tabs(document.getElementById("drawer"), "drawer", "Objects and diagnostics", [
    { name: "objects", title: "Objects", make: objectsPanel },
    { name: "groups", title: "Profiles", make: groupsPanel },
    { name: "peaks", title: "Belief peaks", make: peaksPanel },
    { name: "number", title: "Number", make: numberPanel },
    { name: "fit", title: "Candidates", make: fitPanel },
    { name: "convergence", title: "Convergence", make: convergencePanel },
    { name: "compare", title: "Compare", make: comparePanel },
  ]);
  const side = new Tabs(document.getElementById("side"), "side", "Results", [
    { name: "summary", title: "Summary", make: summaryPanel },
    { name: "why", title: "Why", make: whyPanel },
    { name: "review", title: "Review", make: reviewPanel },
    { name: "selection", title: "Selection", make: selectionPanel },
    { name: "boundary", title: "Boundary", make: boundaryPanel },
    { name: "teach", title: "Teach", make: teachPanel },
    { name: "export", title: "Export", make: exportPanel },
  ]);
  window.addEventListener("tab-opened", ({ detail }) => {
    if (detail.tabs === "side" && !["why", "teach"].includes(detail.name)) set({ marked: [] }); // Only these two panels use letters.
  });
  keys({ objects: () => drawer.panels.get("objects"), scatter, tab: () => side.current, openTab: (name) => { if (side.current !== name) side.open(name); } });
  try {
    const about = await getJson("/api/about");
    set({ methods: about.methods, examples: about.examples, tableSuffixes: about.table_suffixes, tableFormats: about.table_formats });
    await openSession();
    restoreChoices();
    const session = get("session");
    const last = recall("run");
    const run = session.runs.find((one) => one.id === last) || session.runs[session.runs.length - 1];
    for (const job of session.jobs) follow(job).then(() => refreshSession()).catch(showError);
    if (run) await showRun(run.id);
  } catch (error) {
    showError(error);
    if (!get("session")) toast(error.message, "error");
  }
  document.body.dataset.ready = "";
  tour({ firstTime: !get("session")?.runs.length });
}

start();
