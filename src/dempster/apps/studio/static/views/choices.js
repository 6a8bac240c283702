// Settings of the next run (columns, method and parameters). The server stores them with the weights of the sliders.

import { post } from "../core/api.js";
import { get, set } from "../core/store.js";
import { showError } from "../core/actions.js";

export const choices = {
  columns: new Set(),
  categories: new Set(),
  scale: "auto",
  missing: "refuse",
  method: "auto", // The server selects the method.
  clusters: "auto",
  seed: 0,
  parameters: {},
  classes: "",
  given: "", // the column with clusters of another program
  learn: true,
  turn: 0, // number of times that all settings were replaced
};

let timer = 0;

// Use the columns that the library suggests for the table.
export function resetChoices() {
  const source = get("session").source;
  Object.assign(choices, { columns: new Set(), categories: new Set(), parameters: {}, classes: "", given: "", clusters: "auto" });
  if (source) for (const column of source.columns) if (column.suggested) choices.columns.add(column.name);
  if (source && source.columns.every((column) => !column.suggested)) {
    for (const column of source.columns) if (column.kind === "category") choices.categories.add(column.name);
  }
  notifyAll();
}

export function restoreChoices() {
  const { weights, ...kept } = get("session").settings;
  set({ weights: weights || { outliers: 0, ambiguity: 0 } });
  if (!kept.columns) {
    resetChoices();
    return;
  }
  Object.assign(choices, kept, { columns: new Set(kept.columns), categories: new Set(kept.categories || []) });
  notifyAll();
}

function notifyAll() {
  choices.turn += 1;
  notify();
}

function notify() {
  set({ choices: {} }); // A new object notifies all listeners.
}

export function storeChoices() {
  notify();
  clearTimeout(timer);
  timer = setTimeout(() => storeSettings().catch(showError), 300);
}

export function storeSettings() {
  return post("/settings", settings());
}

export function settings() {
  const { turn, ...chosen } = choices;
  return { ...chosen, weights: get("weights"), columns: [...choices.columns], categories: [...choices.categories] };
}
