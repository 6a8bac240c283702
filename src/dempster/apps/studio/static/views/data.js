// Load a table and select the columns to cluster by.

import { el, replace, toast } from "../core/el.js";
import { get, set, subscribe } from "../core/store.js";
import { download, post, putBytes } from "../core/api.js";
import { running, workOn } from "../core/jobs.js";
import { clearRun, reloadView, showError, refreshSession } from "../core/actions.js";
import { formatCount, number } from "../core/format.js";
import { forget } from "../core/memory.js";
import { switchSession } from "../core/session.js";
import { progressLine } from "./parts.js";
import { choices, resetChoices, storeChoices } from "./choices.js";

// Read the table again with other names of the rows; the results remain.
async function nameRows(column) {
  try {
    await workOn("load", "reading the names", post("/names", { index_col: column }));
    await refreshSession();
    choices.columns.delete(column);
    choices.categories.delete(column);
    choices.turn += 1; // Draw the columns again.
    storeChoices();
    await reloadView();
  } catch (error) {
    showError(error);
    await refreshSession();
  }
}

async function watchLoading(promise) {
  try {
    await workOn("load", "sending the table", promise);
    for (const name of ["run", "plane"]) forget(name);
    const before = get("session").deleted;
    clearRun();
    set({ planeChoice: null, peaks: null, weights: { outliers: 0, ambiguity: 0 } });
    await refreshSession();
    resetChoices();
    const { deleted } = get("session");
    if (deleted && deleted !== before) toast(`You ${deleted}. The button Undo restores them.`);
  } catch (error) {
    showError(error);
  }
}

export function loadFile(file) {
  if (!file) return;
  if (file.name.endsWith(".zip")) putBytes("/api/session-file", file).then(({ id }) => switchSession(id)).catch(showError);
  else watchLoading(putBytes(`/file?name=${encodeURIComponent(file.name)}`, file));
}

export function loadExample(name) {
  watchLoading(post("/example", { name }));
}

// Load the file of the table again, which has changed.
export function loadChangedTable() {
  return watchLoading(post("/table/changed"));
}

export function filePicker(words, kind = "") {
  const input = el("input", { type: "file", hidden: true, onchange: () => { loadFile(input.files[0]); input.value = ""; } });
  const open = () => {
    input.accept = [...get("tableSuffixes"), ".zip"].join();
    input.click();
  };
  return el("span", {}, input, el("button", { type: "button", class: kind, onclick: open }, words));
}

// Accept a table that is dropped anywhere on the page.
export function listenToDrops() {
  const drop = document.getElementById("drop");
  const holdsFile = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
  window.addEventListener("dragover", (event) => { if (holdsFile(event)) { event.preventDefault(); drop.hidden = false; } });
  window.addEventListener("dragleave", (event) => { if (!event.relatedTarget) drop.hidden = true; });
  window.addEventListener("drop", (event) => {
    if (!holdsFile(event)) return;
    event.preventDefault();
    drop.hidden = true;
    loadFile(event.dataTransfer.files[0]);
  });
}

function columnKind(column) {
  if (column.kind === "number") {
    if (column.low === null) return "empty";
    return column.low === column.high ? `constant ${number(column.low, 3)}` : `${number(column.low, 3)} to ${number(column.high, 3)}`;
  }
  if (column.kind === "category") return formatCount(column.different, "value");
  return { truth: "true/false", date: "date", text: "text" }[column.kind] || column.kind;
}

function columnRow(column) {
  const category = column.kind === "category" || column.kind === "truth";
  const usable = column.kind === "number" || category;
  const chosen = choices.columns.has(column.name) || choices.categories.has(column.name);
  const box = el("input", {
    type: "checkbox", checked: chosen, disabled: !usable, "data-column": column.name,
    onchange: () => {
      const list = category ? choices.categories : choices.columns;
      if (box.checked) list.add(column.name);
      else list.delete(column.name);
      storeChoices();
    },
  });
  return el("label", { class: "check", title: usable ? column.name : `${column.name}: cannot be clustered` },
    box, el("span", { text: column.name }),
    el("span", { class: "kind" }, columnKind(column), column.missing ? ` · ${column.missing.toLocaleString("en")} missing` : ""));
}

function fileCard(source) {
  return [
    el("p", {}, el("strong", { text: source.name }), ` – ${formatCount(source.rows, "row")}, ${formatCount(source.columns.length, "column")}`),
    el("div", { class: "buttons" }, filePicker("Another table"),
      el("button", { type: "button", id: "save-session", title: "Save the table, runs and answers to a file, which can be opened like a table", onclick: () => download("/saved", "session.studio.zip").catch(showError) }, "Save session")),
  ];
}

function columnsField(source) {
  const shown = source.columns.slice(0, 400);
  return el("div", { class: "field" },
    el("span", { class: "progress-line" }, el("span", { class: "progress-words" }, "Cluster by"),
      el("button", { type: "button", class: "link", onclick: () => allColumns(source, true) }, "all numeric"),
      el("button", { type: "button", class: "link", onclick: () => allColumns(source, false) }, "none")),
    el("div", { class: "columns", role: "group", "aria-label": "Columns to cluster by" }, shown.map(columnRow)),
    shown.length < source.columns.length ? el("p", { class: "note" }, `The first ${shown.length} of ${source.columns.length} columns.`) : null);
}

function allColumns(source, on) {
  choices.columns.clear();
  choices.categories.clear();
  if (on) for (const column of source.columns) if (column.kind === "number" && column.low !== null) choices.columns.add(column.name);
  storeChoices();
}

function scaling() {
  const options = [["auto", "automatic"], ["true", "yes"], ["false", "no"]];
  return el("label", { class: "field" }, el("span", {}, "Standardize the columns"),
    el("select", { onchange: (event) => { choices.scale = { auto: "auto", true: true, false: false }[event.target.value]; storeChoices(); } },
      options.map(([value, words]) => el("option", { value, selected: String(choices.scale) === value }, words))));
}

function missing(source) {
  if (!source.missing) return null;
  const options = [["refuse", "stop with an error"], ["drop", "leave the rows out"], ["partial", "use the values that are present"]];
  return el("label", { class: "field" }, el("span", {}, "Rows with missing values"),
    el("select", { onchange: (event) => { choices.missing = event.target.value; storeChoices(); } },
      options.map(([value, words]) => el("option", { value, selected: choices.missing === value }, words))));
}

function reading(source) {
  const index = el("select", {
    "aria-label": "Column with the names of the rows",
    onchange: () => nameRows(index.value),
  }, el("option", { value: "" }, "row numbers"),
  (source.index ? [source.index] : []).concat(source.columns.map((column) => column.name)).slice(0, 400)
    .map((name) => el("option", { value: name, selected: name === source.index }, name)));
  const notes = source.notes.map((words) => el("p", { class: "note" }, words));
  const classes = el("select", {
    onchange: () => { choices.classes = classes.value; storeChoices(); },
  }, el("option", { value: "" }, "none"),
  source.columns.filter((column) => column.different > 1 && column.different <= 50)
    .map((column) => el("option", { value: column.name, selected: choices.classes === column.name }, column.name)));
  return el("details", {}, el("summary", {}, "Row names, known classes, notes"),
    el("div", { class: "fields" },
      el("label", { class: "field" }, el("span", {}, "Names of the rows"), index),
      el("label", { class: "field" }, el("span", {}, "Known classes (for evaluation only)"), classes), notes));
}

export function dataCard(host) {
  const card = el("section", { class: "card", "aria-label": "Data" });
  const body = el("div", { class: "fields" });
  card.append(el("h2", {}, el("span", { class: "step" }, "1"), "Data"), body);
  host.append(card);
  let drawn = null;
  const draw = () => {
    const session = get("session");
    const source = session && session.source;
    if (source && drawn === `${source.name} ${choices.turn}` && !running("load") && !body.querySelector(".progress")) {
      for (const box of body.querySelectorAll("[data-column]")) {
        box.checked = choices.columns.has(box.dataset.column) || choices.categories.has(box.dataset.column);
      }
      return;
    }
    drawn = source ? `${source.name} ${choices.turn}` : null;
    const working = running("load") ? progressLine("load") : null;
    if (!source) {
      const examples = get("examples") || [];
      replace(body, working, el("p", { class: "note" }, `${get("tableFormats")}. The table stays on this machine.`),
        el("div", { class: "buttons" }, filePicker("Open a table", "main")),
        examples.length ? el("div", { class: "only-narrow" }, el("div", { class: "fields" }, el("p", { class: "note" }, "Or try an example:"), el("div", { class: "buttons" },
          examples.map(([name, words]) => el("button", { type: "button", title: words, onclick: () => loadExample(name) }, name))))) : null);
      return;
    }
    const open = body.querySelector("details")?.open;
    const top = body.querySelector(".columns")?.scrollTop || 0;
    replace(body, working, fileCard(source), columnsField(source), scaling(), missing(source), reading(source));
    if (open) body.querySelector("details").open = true;
    body.querySelector(".columns").scrollTop = top;
  };
  subscribe(["session", "choices", "examples"], draw);
  subscribe(["jobs"], () => { if (running("load") || body.querySelector(".progress")) draw(); });
  draw();
}
