// Functions for the actions of the user. Views change the state of the page only by these functions.

import { getJson, getPacked, putBytes } from "./api.js";
import { get, set } from "./store.js";
import { decide } from "./decide.js";
import { work } from "./jobs.js";
import { toast } from "./el.js";
import { remember, recall } from "./memory.js";

let runTurn = 0;
let planeTurn = 0;
let selectionTimer = 0;

export function showError(error) {
  if (error.name === "AbortError" || error.stopped || get("elsewhere")) return; // A banner shows that the session is open elsewhere.
  toast(error.message, "error");
}

export async function refreshSession() {
  set({ session: await getJson("") });
}

// Show no run, for example before the first run of a table.
export function clearRun() {
  set({ runId: null, viewId: null, objects: null, codes: null, counts: null, plane: null, selection: null, selectedCount: 0, focus: -1, hover: -1, marked: [] });
}

// Show the last run, or none, after runs were deleted or restored.
export async function showLastRun() {
  const runs = get("session").runs;
  if (runs.length) await showRun(runs[runs.length - 1].id);
  else clearRun();
}

// ---- runs -----------------------------------------------------------------------------------------------------------

export async function showRun(id) {
  const turn = ++runTurn;
  const shown = await loadView(id);
  if (turn !== runTurn) return;
  remember("run", id);
  const saved = await getPacked(`/runs/${id}/selection`);
  if (turn !== runTurn) return;
  const selectedCount = saved.mask.reduce((sum, one) => sum + one, 0);
  set({
    ...shown, runId: id, hover: -1, focus: -1, marked: [], plane: null,
    selection: selectedCount ? saved.mask : null, selectedCount,
  });
  await choosePlane(initialPlane(id));
}

// Show a layer of the current run, or the run itself. The objects keep their positions on the map.
export async function showLayer(id) {
  const turn = ++runTurn;
  const shown = await loadView(id);
  if (turn === runTurn) set({ ...shown, marked: [] });
}

// Load the shown partition again after names of rows or clusters have changed.
export async function reloadView() {
  const id = get("viewId");
  if (!id) return;
  const shown = await loadView(id);
  if (id === get("viewId")) set({ ...shown, focus: -1, marked: [] });
}

async function loadView(viewId) {
  const objects = await getPacked(`/runs/${viewId}/objects`);
  const codes = new Int32Array(objects.n);
  const counts = decide(objects, get("weights"), codes);
  return { viewId, objects, codes, counts };
}

// Return the last plane that was shown, if this run has it.
function initialPlane(id) {
  const run = get("session").runs.find((one) => one.id === id);
  const numbers = run.columns.filter((name) => !run.categories.includes(name));
  const last = get("planeChoice") || recall("plane");
  const fits = last && (last.kind !== "attributes" || (last.x < numbers.length && last.y < numbers.length));
  if (fits) return last;
  return numbers.length === 2 || (numbers.length > 0 && run.columns.length === 1)
    ? { kind: "attributes", x: 0, y: numbers.length - 1 }
    : { kind: "pca", x: 0, y: Math.min(1, Math.max(0, numbers.length - 1)) };
}

export async function choosePlane(choice) {
  const turn = ++planeTurn;
  const id = get("runId");
  set({ planeChoice: choice });
  try {
    const query = new URLSearchParams({ kind: choice.kind, x: choice.x, y: choice.y });
    const plane = await getPacked(`/runs/${id}/plane?${query}`);
    if (turn !== planeTurn) return;
    remember("plane", choice);
    set({ plane: { ...plane, kind: choice.kind, x: choice.x, y: choice.y } });
  } catch (error) {
    if (turn === planeTurn) showError(error);
  }
}

// Start a run with the settings of the page. The promise resolves to the run.
export async function startRun(settings) {
  const run = await work("/runs", settings);
  await refreshSession();
  await showRun(run.id);
  return run;
}

// ---- sliders --------------------------------------------------------------------------------------------------------

let deciding = 0;

// Compute the sets at most once per frame, because a slider may move faster than the sets can be computed.
export function setWeights(weights) {
  set({ weights });
  if (deciding || !get("objects")) return;
  deciding = requestAnimationFrame(() => {
    deciding = 0;
    const objects = get("objects");
    if (!objects) return;
    const codes = new Int32Array(objects.n);
    const counts = decide(objects, get("weights"), codes);
    set({ codes, counts });
  });
}

// ---- selection ------------------------------------------------------------------------------------------------------

// `how` is "replace", "add" or "remove".
export function select(mask, how = "replace") {
  const before = get("selection");
  let chosen = mask;
  if (mask && before && how !== "replace") {
    chosen = before.slice();
    for (let i = 0; i < mask.length; i++) if (mask[i]) chosen[i] = how === "add" ? 1 : 0;
  }
  let count = 0;
  if (chosen) for (let i = 0; i < chosen.length; i++) count += chosen[i];
  set({ selection: count ? chosen : null, selectedCount: count });
  clearTimeout(selectionTimer);
  selectionTimer = setTimeout(() => sendSelection().catch(showError), 150);
}

// Send the selection to the server. The promise resolves to its differences from the other objects.
export async function sendSelection() {
  clearTimeout(selectionTimer);
  const objects = get("objects");
  if (!objects) return null;
  return putBytes(`/runs/${get("runId")}/selection`, get("selection") || new Uint8Array(objects.n));
}

export function selectSet(code, how = "replace") {
  const codes = get("codes");
  const mask = new Uint8Array(codes.length);
  for (let i = 0; i < codes.length; i++) mask[i] = codes[i] === code ? 1 : 0;
  select(mask, how);
}

export function selectPositions(positions, how = "replace") {
  const mask = new Uint8Array(get("objects").n);
  for (const i of positions) mask[i] = 1;
  select(mask, how);
}

// Return the positions of the objects of the current run that are in the given rows of the table.
export function findPositions(rows) {
  const objects = get("objects");
  if (!objects.byRow) {
    objects.byRow = new Map();
    objects.rows.forEach((row, i) => objects.byRow.set(row, i));
  }
  return rows.map((row) => objects.byRow.get(row)).filter((i) => i !== undefined);
}

// ---- objects --------------------------------------------------------------------------------------------------------

export function setHover(i) {
  set({ hover: i });
}

export function explain(i) {
  if (i < 0) return;
  set({ focus: i, marked: [] });
  window.dispatchEvent(new CustomEvent("open-tab", { detail: "why" }));
}

// Explain an object, and show its explanation on a narrow window, which has room for one page only.
export function openObject(i) {
  explain(i);
  if (i >= 0) window.dispatchEvent(new CustomEvent("open-page", { detail: "side" }));
}

// Return the set and the mass of an object as text.
export function describeObject(i) {
  const objects = get("objects");
  const code = get("codes")[i];
  const set = objects.sets[code];
  const mass = set.length === 0 ? objects.empty[i] : set.length === 1 ? objects.single[i] : objects.several[i];
  const name = objects.set_names[code];
  const start = set.length === 0 ? "outlier" : set.length === 1 ? `in ${name}` : `ambiguous: ${name}`;
  return `${start} (mass ${mass.toFixed(2)})`;
}
