// What the map shows before there is one: how to begin.

import { el, replace } from "../core/el.js";
import { get } from "../core/store.js";
import { running } from "../core/jobs.js";
import { filePicker, loadExample } from "./data.js";
import { progressLine } from "./parts.js";

let shown = "";

export function welcome(host) {
  const session = get("session");
  const state = !session ? "closed" : running("run") ? "running" : session.source ? "ready" : running("load") ? "loading" : "empty";
  if (state === shown && state !== "loading" && !(state === "empty" && !host.querySelector(".examples button"))) return;
  shown = state;
  if (state === "closed") replace(host, el("p", { class: "nothing" }, "Opening…"));
  else if (state === "loading") replace(host, el("div", { class: "welcome" }, el("h2", {}, "Reading the table"), progressLine("load")));
  else if (state === "running") replace(host, el("div", { class: "welcome" }, el("h2", {}, "Clustering…"), el("p", {}, "The page stays yours: change what you like, or stop it on the left.")));
  else if (state === "ready") {
    replace(host, el("div", { class: "welcome" }, el("h2", {}, session.source.name),
      el("p", {}, "Choose the columns and a method on the left, then press Cluster. Left as it is, the library chooses the number of clusters and all parameters.")));
  } else {
    replace(host, el("div", { class: "welcome" },
      el("h2", {}, "Look, ask, decide"),
      el("p", {}, "Each object is in a cluster, torn between some, or in none. See which, ask why, and teach what you know."),
      el("div", { class: "drop-zone" }, el("p", {}, "Drop a table here, or"), filePicker("Open a table", "main"), el("p", { class: "note" }, "CSV, TSV, Parquet, Feather, NPY. It does not leave this machine.")),
      el("p", { class: "note" }, "Or try an example:"),
      el("div", { class: "examples" }, get("examples").map(({ name, words }) =>
        el("button", { type: "button", title: words, onclick: () => loadExample(name) }, name)))));
  }
}
