// Show the plausibility and the expected agreement of each number of clusters.

import { el, replace } from "../core/el.js";
import { get, set, subscribe } from "../core/store.js";
import { work } from "../core/jobs.js";
import { showError } from "../core/actions.js";
import { formatCount } from "../core/format.js";
import { chart } from "./chart.js";
import { empty, progressLine } from "./parts.js";
import { choices, storeChoices, settings } from "./choices.js";

export function numberPanel(host) {
  async function compare() {
    try {
      const number = await work("/number", settings());
      set({ session: { ...get("session"), number } });
    } catch (error) {
      showError(error);
    }
    draw();
  }

  function take(k) {
    choices.clusters = String(k);
    storeChoices();
  }

  function draw() {
    if (host.hidden) return; // A hidden panel has no width.
    const found = get("session")?.number;
    const working = progressLine("number");
    const button = el("button", { type: "button", class: found ? "" : "main", id: "compare-numbers", disabled: !get("session")?.source, onclick: compare }, found ? "Compare again" : "Compare numbers of clusters");
    if (!found) {
      replace(host, working || [empty("Partitions into many numbers of clusters are compared. The number of the partition with the largest expected agreement with the true clusters is suggested."), button]);
      return;
    }
    replace(host, working,
      el("p", { class: "lead" }, `Number of clusters: ${found.reasons}.`),
      el("div", { style: { maxWidth: "640px" } }, chart({
        lines: [{ x: found.n_clusters, y: found.expected_agreement, kind: "second" }, { x: found.n_clusters, y: found.plausibility, dots: true }],
        names: ["number of clusters", "plausibility"], width: Math.min(620, host.clientWidth - 32), height: 190, range: { y0: 0, y1: 1.02 }, whole: true,
        marks: [{ x: found.best, y: found.plausibility[found.n_clusters.indexOf(found.best)] }],
        onpick: (x) => { const k = Math.round(x); if (found.n_clusters.includes(k)) take(k); },
        label: `Plausibility of each number of clusters; the best is ${found.best}`,
      })),
      el("div", { class: "buttons" }, el("button", { type: "button", class: "main", onclick: () => take(found.best) }, `Use ${found.best}`), button,
        el("span", { class: "note" }, `Solid line: plausibility; dashed line: expected agreement with the true clusters. Computed from ${formatCount(found.n_objects, "object")}. Click a number to use it.`)));
  }

  subscribe(["session", "theme"], draw);
  subscribe(["jobs"], () => { if (get("jobs").number?.state === "running" || host.querySelector(".progress")) draw(); });
  draw();
  return { shown: draw };
}
