// What is chosen for the next run: columns, method, parameters. Kept by the server, so that a page can be loaded again.

import { post } from "../core/api.js";
import { get, set } from "../core/store.js";
import { failed } from "../core/actions.js";

export const choices = {
  columns: new Set(),
  categories: new Set(),
  scale: true,
  missing: "drop",
  method: "evclus",
  clusters: "auto",
  seed: 0,
  parameters: {},
  classes: "",
  learn: true,
  turn: 0, // how often everything was chosen anew
};

let timer = 0;

// What the library would take for the table that is loaded.
export function resetChoices() {
  const source = get("session").source;
  Object.assign(choices, { columns: new Set(), categories: new Set(), parameters: {}, classes: "", clusters: "auto" });
  if (source) for (const column of source.columns) if (column.suggested) choices.columns.add(column.name);
  if (source && source.columns.every((column) => !column.suggested)) {
    for (const column of source.columns) if (column.kind === "category") choices.categories.add(column.name);
  }
  renewed();
}

export function restoreChoices() {
  const kept = get("session").settings;
  if (!kept || !kept.columns) {
    resetChoices();
    return;
  }
  Object.assign(choices, kept, { missing: kept.missing === "refuse" ? "drop" : kept.missing, columns: new Set(kept.columns), categories: new Set(kept.categories || []) });
  renewed();
}

function renewed() {
  choices.turn += 1;
  told();
}

function told() {
  set({ choices: {} }); // a new object each time: whoever shows choices draws again
}

export function keepChoices() {
  told();
  clearTimeout(timer);
  timer = setTimeout(() => post("/settings", settings()).catch(failed), 300);
}

export function settings() {
  const complete = !get("session")?.source?.missing;
  const { turn, ...chosen } = choices;
  return { ...chosen, columns: [...choices.columns], categories: [...choices.categories], missing: complete ? "refuse" : choices.missing };
}
