// Elements that several views use.

import { el } from "../core/el.js";
import { get } from "../core/store.js";
import { setBackground } from "../map/scatter.js";
import { running, stop } from "../core/jobs.js";
import { seconds } from "../core/format.js";

// Return a chip with the colors of a set of clusters, or a cross for outliers.
export function chip(clusters) {
  if (clusters.length === 0) return el("span", { class: "chip cross", "aria-hidden": "true" }, "✕");
  if (clusters.length > 4) return el("span", { class: "chip many", "aria-hidden": "true" });
  const kind = clusters.length > 1 ? "chip ambiguous" : "chip";
  return el("span", { class: kind, "aria-hidden": "true", style: { background: setBackground(clusters) } });
}

export function setLabel(code) {
  const objects = get("objects");
  return el("span", { class: "set-label" }, chip(objects.sets[code]), objects.set_names[code]);
}

export function empty(words) {
  return el("p", { class: "nothing" }, words);
}

export function heading(text, ...more) {
  return el("div", { class: "panel-head" }, el("h2", { text }), ...more);
}

// Return a progress bar with a stop button while a job of the given kind runs, otherwise null.
export function progressLine(kind) {
  const job = running(kind);
  if (!job) return null;
  const bar = el("progress", job.share === null ? {} : { value: job.share, max: 1 });
  if (job.share !== null) bar.value = job.share;
  return el("div", { class: "progress", role: "status" },
    bar,
    el("div", { class: "progress-line" },
      el("span", { class: "progress-words" }, job.words || "working"),
      el("span", { class: "progress-time" }, seconds(job.seconds)),
      job.id === null ? null : el("button", { type: "button", class: "stop", onclick: () => stop(kind) }, "Stop")));
}
