// Elements that several views use.

import { el } from "../core/el.js";
import { get } from "../core/store.js";
import { getBlob } from "../core/api.js";
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

// Return the pictures and texts of the object at a position of the shown run.
export function drawMedia(media, position) {
  return media.map(({ column, kind, text }) => {
    if (kind === "text") return el("p", { class: "review-text", tabindex: "0", "aria-label": column }, text);
    const image = el("img", { alt: column });
    const query = new URLSearchParams({ object: position, column });
    getBlob(`/runs/${get("viewId")}/picture?${query}`).then((blob) => {
      image.src = URL.createObjectURL(blob);
      image.onload = () => URL.revokeObjectURL(image.src);
    }).catch((error) => image.replaceWith(el("p", { class: "note" }, error.message)));
    return image;
  });
}
