// Instructions that replace the map before the first run.

import { el, replace } from "../core/el.js";
import { formatCount, formatTime } from "../core/format.js";
import { switchSession } from "../core/session.js";
import { get, set } from "../core/store.js";
import { remove } from "../core/api.js";
import { showError } from "../core/actions.js";
import { running } from "../core/jobs.js";
import { filePicker, loadExample } from "./data.js";
import { progressLine } from "./parts.js";

let shown = "";

// Saved sessions, the latest first.
function savedSessions() {
  if (!get("saved").length) return null;
  return [el("p", { class: "note" }, "Or continue a session, which is saved on this machine:"),
    el("div", { class: "saved" }, get("saved").map((one) => {
      const words = `${one.name}, ${formatCount(one.runs, "run")}, ${formatCount(one.answers, "answer")}, ${formatCount(one.decisions, "decision")}, ${formatTime(one.time)}`;
      return el("span", {},
        el("button", { type: "button", onclick: () => switchSession(one.id) }, words),
        el("button", { type: "button", class: "quiet", title: "Delete this session", "aria-label": `Delete ${words}`, onclick: () => deleteSession(one, words).catch(showError) }, "✕"));
    }))];
}

async function deleteSession(one, words) {
  if (!window.confirm(`Delete the session ${words}? This cannot be undone.`)) return;
  await remove(`/api/sessions/${one.id}`);
  set({ saved: get("saved").filter((other) => other !== one) });
}

export function welcome(host) {
  const session = get("session");
  const state = !session ? "closed" : running("run") ? "running" : session.source ? "ready" : running("load") ? "loading" : "empty";
  const drawn = `${state} ${session?.source?.name} ${get("saved").length}`;
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
      el("div", { class: "drop-zone" }, el("p", {}, "Drop a table here, or"), filePicker("Open a table", "main"), el("p", { class: "note" }, `${get("tableFormats")}. The table stays on this machine.`)),
      savedSessions(),
      el("p", { class: "note" }, "Or try an example:"),
      el("div", { class: "examples" }, get("examples").map(([name, words]) =>
        el("button", { type: "button", title: words, onclick: () => loadExample(name) }, name)))));
  }
}
