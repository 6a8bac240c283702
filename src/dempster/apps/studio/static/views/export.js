// Export the partition, the model, the report, and the code and the command that reproduce the run.

import { el, replace, toast } from "../core/el.js";
import { get, subscribe, currentRun } from "../core/store.js";
import { download, getJson } from "../core/api.js";
import { work } from "../core/jobs.js";
import { showError, sendSelection } from "../core/actions.js";
import { exportWeights } from "../core/decide.js";
import { empty, heading, progressLine } from "./parts.js";

function codeBlock(text, label) {
  const copy = el("button", { type: "button", "aria-label": `Copy ${label}`, onclick: async () => {
    try {
      await navigator.clipboard.writeText(text);
      toast("Copied.");
    } catch {
      toast("The browser does not allow copying. Select the text instead.", "error");
    }
  } }, "Copy");
  return el("div", { class: "code" }, el("pre", { id: `export-${label}`, tabindex: "0", "aria-label": label }, text), copy);
}

// The exports have the weights of the sliders of the summary.
function query() {
  return `?${new URLSearchParams(exportWeights(get("weights")))}`;
}

export function exportPanel(host) {
  const working = el("div");
  const body = el("div");
  host.append(body);

  async function report() {
    const run = get("runId");
    try {
      await work(`/runs/${run}/report`, exportWeights(get("weights")));
      await download(`/runs/${run}/report`, "report.html");
    } catch (error) {
      showError(error);
    }
  }

  async function load() {
    if (host.hidden) return;
    const run = currentRun();
    if (!run || !get("objects")) { replace(body, empty("After the first run, export its results here.")); return; }
    try {
      const found = await getJson(`/runs/${run.id}/recipe${query()}`);
      if (run.id === get("runId")) draw(run, found, query());
    } catch (error) {
      showError(error);
    }
  }

  function draw(run, found, weights) {
    const get1 = (words, path, name, id = run.id) => el("button", { type: "button", onclick: () => download(`/runs/${id}${path}${weights}`, name).catch(showError) }, words);
    const view = get("viewId");
    replace(body, heading("Export"),
      el("div", { class: "buttons" },
        get1("Partition (CSV)", "/partition.csv", "partition.csv", view),
        get("tableSuffixes").includes(".parquet") ? get1("Partition (Parquet)", "/partition.parquet", "partition.parquet", view) : null,
        get1("Model", "/model", "model.dempster"),
        el("button", { type: "button", id: "make-report", onclick: report }, "Report"),
        el("button", { type: "button", disabled: !get("selectedCount"), onclick: () => sendSelection().then(() => download(`/runs/${view}/selected${weights}`, "selection.csv")).catch(showError) }, "Selection"),
        get1("Data of this run", "/data", found.file),
        found.answers ? get1("Answers", "/answers", "answers.csv") : null),
      working,
      view === run.id ? null : el("p", { class: "note", id: "layered" }, "Partition and selection have the clusters of the layer on the map; model, report, command and code have those of the run."),
      get("weights").outliers || get("weights").ambiguity
        ? el("p", { class: "note", id: "weighted" }, "Partition, model, report, selection, command and code use the weights of the sliders in the summary.") : null,
      el("p", { class: "note", style: { marginTop: "10px" } }, `Code and command repeat the run exactly. They need ${found.file} in the same folder`,
        found.answers ? ", and answers.csv" : "", found.is_part ? ". This file contains the selected rows; download it with Data of this run." : "."),
      Object.keys(found.renamed).length ? el("p", { class: "note", id: "renamed" }, "The command numbers the clusters in its own order: ",
        Object.entries(found.renamed).map(([own, here]) => `its cluster ${own} is ${here} here`).join(", "), ".") : null,
      el("h3", {}, "Command"), codeBlock(found.command, "command"),
      el("h3", {}, "Python"), codeBlock(found.code, "code"),
      el("details", {}, el("summary", {}, "Settings for --config"), codeBlock(found.toml, "settings")));
  }

  subscribe(["objects", "selectedCount", "weights"], load);
  subscribe(["jobs"], () => replace(working, progressLine("report")));
  load();
  return { shown: load };
}
