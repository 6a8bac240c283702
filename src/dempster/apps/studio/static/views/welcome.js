// Instructions that replace the map before the first run.

import { el, replace } from "../core/el.js";
import { formatCount } from "../core/format.js";
import { switchSession } from "../core/session.js";
import { get } from "../core/store.js";
import { running } from "../core/jobs.js";
import { filePicker, loadExample } from "./data.js";
import { progressLine } from "./parts.js";

let shown = "";

// Saved sessions, the latest first.
function savedSessions() {
  if (!get("saved").length) return null;
  return [el("p", { class: "note" }, "Or continue a session, which is saved on this machine:"),
    el("div", { class: "saved" }, get("saved").slice(0, 8).map((one) =>
      el("button", { type: "button", title: new Date(1000 * one.time).toLocaleString("en"), onclick: () => switchSession(one.id) },
        `${one.name}, ${formatCount(one.runs, "run")}, ${new Date(1000 * one.time).toLocaleDateString("en")}`)))];
}

export function welcome(host) {
  const session = get("session");
  const state = !session ? "closed" : running("run") ? "running" : session.source ? "ready" : running("load") ? "loading" : "empty";
  const drawn = `${state} ${session?.source?.name}`;
  if (drawn === shown && state !== "loading" && !(state === "empty" && !host.querySelector(".examples button"))) return;
  shown = drawn;
  if (state === "closed") replace(host, el("p", { class: "nothing" }, "Opening…"));
  else if (state === "loading") replace(host, el("div", { class: "welcome" }, el("h2", {}, "Reading the table"), progressLine("load")));
  else if (state === "running") replace(host, el("div", { class: "welcome" }, el("h2", {}, "Clustering…"), el("p", {}, "You can change settings in the meantime, or stop the run on the left.")));
  else if (state === "ready") {
    replace(host, el("div", { class: "welcome" }, el("h2", {}, session.source.name),
      el("p", {}, "Select the columns and a method on the left, then press Cluster. By default the library selects the number of clusters and all parameters."), savedSessions()));
  } else {
    replace(host, el("div", { class: "welcome" },
      el("h2", {}, "Evidential clustering"),
      el("p", {}, "Each object belongs to a cluster, is ambiguous between several, or is an outlier. Examine and explain the result, and improve it with constraints."),
      el("div", { class: "drop-zone" }, el("p", {}, "Drop a table here, or"), filePicker("Open a table", "main"), el("p", { class: "note" }, "CSV, TSV, Excel, Parquet, Feather or NPY. The table stays on this machine.")),
      savedSessions(),
      el("p", { class: "note" }, "Or try an example:"),
      el("div", { class: "examples" }, get("examples").map(([name, words]) =>
        el("button", { type: "button", title: words, onclick: () => loadExample(name) }, name)))));
  }
}
