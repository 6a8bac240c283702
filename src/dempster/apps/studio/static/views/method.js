// Select a method and its parameters, and start, watch and stop a run.

import { el, replace, announce } from "../core/el.js";
import { get, subscribe } from "../core/store.js";
import { running } from "../core/jobs.js";
import { showError, startRun } from "../core/actions.js";
import { formatCount } from "../core/format.js";
import { chip, progressLine } from "./parts.js";
import { choices, storeChoices, settings } from "./choices.js";

const GROUPS = [
  ["Start with", ["auto", "doubt", "credal", "evclus", "ecm", "bpec"]],
  ["Use answers about pairs", ["cecm", "nnevclus"]],
  ["Medoids and relations", ["ecmdd", "wecmdd", "mecm", "recm"]],
  ["Mixtures, neighbors, categories", ["bootclus", "egmm", "eknnclus", "ccm", "catecm"]],
  ["Soft clustering", ["fuzzycmeans", "noiseclustering", "possibilisticcmeans", "roughkmeans"]],
];

export function currentMethod() {
  return get("methods").find((method) => method.name === choices.method) || get("methods")[0];
}

function methodSelect() {
  const methods = new Map(get("methods").map((method) => [method.name, method]));
  const listed = new Set(GROUPS.flatMap(([, names]) => names));
  const others = [...methods.keys()].filter((name) => !listed.has(name));
  const groups = others.length ? [...GROUPS, ["Others", others]] : GROUPS;
  return el("select", {
    "aria-label": "Method", id: "method",
    onchange: (event) => { choices.method = event.target.value; choices.parameters = {}; storeChoices(); },
  }, groups.map(([title, names]) => el("optgroup", { label: title },
    names.filter((name) => methods.has(name)).map((name) =>
      el("option", { value: name, selected: name === choices.method }, methods.get(name).title)))));
}

// Select the column with clusters that another program found.
function labelsField() {
  const { columns } = get("session").source;
  const select = el("select", {
    id: "labels", "aria-label": "Column with your clusters",
    onchange: () => { choices.given = select.value; storeChoices(); },
  }, el("option", { value: "" }, "select a column"),
  columns.filter((column) => column.different > 0)
    .map((column) => el("option", { value: column.name, selected: choices.given === column.name }, column.name)));
  return el("label", { class: "field-row", title: "An empty cell or -1 means that a row has no cluster" }, el("span", {}, "Your clusters"), select);
}

function clustersField(method) {
  if (method.takes_labels) return labelsField();
  if (!method.takes_number) return el("p", { class: "note" }, "This method determines the number of clusters.");
  const input = el("input", {
    type: "text", id: "clusters", value: choices.clusters, inputmode: "numeric", "aria-label": "Number of clusters",
    onchange: () => { choices.clusters = input.value.trim() || "auto"; storeChoices(); },
  });
  return el("label", { class: "field-row" }, el("span", {}, "Clusters (or auto)"), input);
}

function parameterField(parameter) {
  const value = choices.parameters[parameter.name];
  const name = parameter.name.replaceAll("_", " ");
  const change = (given) => {
    if (given === "" || given === undefined) delete choices.parameters[parameter.name];
    else choices.parameters[parameter.name] = given;
    storeChoices();
  };
  let input;
  if (parameter.choices.length) {
    input = el("select", { onchange: () => change(input.value) },
      el("option", { value: "" }, `${String(parameter.default)} (default)`),
      parameter.choices.filter((one) => one !== String(parameter.default)).map((one) => el("option", { value: one, selected: value === one }, one)));
  } else {
    input = el("input", { type: "text", value: value ?? "", placeholder: String(parameter.default), onchange: () => change(input.value.trim()) });
  }
  input.setAttribute("aria-label", name);
  return el("label", { class: "field-row", title: `${parameter.kind}. ${parameter.help}` }, el("span", { text: name }), input);
}

function seedField() {
  const input = el("input", { type: "text", value: choices.seed, inputmode: "numeric", onchange: () => { choices.seed = input.value.trim() || 0; storeChoices(); } });
  return el("label", { class: "field-row", title: "The same seed gives the same result." }, el("span", {}, "seed"), input);
}

function learnField(method) {
  const { n_answers: answers, n_decisions: decisions } = get("session");
  if (!answers && !decisions) return null;
  const given = [answers && formatCount(answers, "answer"), decisions && formatCount(decisions, "decision")].filter(Boolean).join(" and ");
  const box = el("input", { type: "checkbox", checked: choices.learn && method.learns, disabled: !method.learns, onchange: () => { choices.learn = box.checked; storeChoices(); } });
  const words = method.learns ? `Use your ${given}` : "This method does not use answers and decisions; EVCLUS and CECM do";
  return el("label", { class: "check" }, box, el("span", {}, words));
}

// Return all settings of the next run.
export function runSettings(more = {}) {
  const method = currentMethod();
  return { ...settings(), learn: Boolean(choices.learn && method.learns), ...more };
}

export async function runNow(more = {}) {
  try {
    const run = await startRun(runSettings(more));
    announce(`${run.name}: ${run.certain} certain, ${run.ambiguous} ambiguous, ${run.outliers} outliers`);
    if (window.matchMedia("(max-width: 980px)").matches) window.dispatchEvent(new CustomEvent("open-page", { detail: "map" }));
    return run;
  } catch (error) {
    showError(error);
    return null;
  }
}

export function methodCard(host) {
  const card = el("section", { class: "card", "aria-label": "Method" });
  const body = el("div", { class: "fields" });
  const progress = el("div", {});
  const button = el("button", { type: "button", class: "main wide", id: "run", onclick: () => runNow() }, "Cluster");
  card.append(el("h2", {}, el("span", { class: "step" }, "2"), "Method"), body, progress, button);
  host.append(card);
  let drawn = "";
  const draw = () => {
    const session = get("session");
    card.hidden = !(session && session.source) || !get("methods").length;
    if (card.hidden) return;
    const method = currentMethod();
    // Rebuild the form only if its fields change, so that the focus is not lost.
    const subject = JSON.stringify([method.name, session.source.name, session.n_answers, session.n_decisions, choices.turn]);
    const field = body.querySelector("#clusters");
    if (field && field !== document.activeElement) field.value = choices.clusters;
    if (subject === drawn) return;
    drawn = subject;
    const first = method.parameters.filter((parameter) => parameter.first);
    const rest = method.parameters.filter((parameter) => !parameter.first);
    const open = body.querySelector("details")?.open;
    const active = body.contains(document.activeElement) ? document.activeElement.id : "";
    replace(body, methodSelect(), el("p", { class: "note" }, method.summary.replaceAll("*", "")), clustersField(method), first.map(parameterField), learnField(method),
      el("details", {}, el("summary", {}, `All parameters (${rest.length + 1})`), el("div", { class: "fields" }, rest.map(parameterField), seedField())));
    if (open) body.querySelector("details").open = true;
    if (active) document.getElementById(active)?.focus();
  };
  const drawProgress = () => {
    replace(progress, progressLine("run"));
    button.disabled = Boolean(running("load") || running("run"));
    button.textContent = running("load") ? "Reading the table…" : running("run") ? "Clustering…" : "Cluster";
  };
  subscribe(["session", "methods", "choices"], draw);
  subscribe(["jobs"], drawProgress);
  draw();
}

// List of the runs.
export function runsCard(host, { open, forgetRun }) {
  const card = el("section", { class: "card", "aria-label": "Runs" });
  const list = el("ul", { class: "run-list" });
  card.append(el("h2", {}, el("span", { class: "step" }, "3"), "Runs"), list);
  host.append(card);
  const draw = () => {
    const session = get("session");
    const runs = session ? [...session.runs].reverse() : [];
    card.hidden = runs.length === 0;
    replace(list, runs.map((run) => el("li", { "data-on": run.id === get("runId") },
      el("button", { type: "button", class: "open", "aria-current": run.id === get("runId") ? "true" : null, onclick: () => open(run.id) },
        el("span", { class: "set-label" }, chip([Number(run.id) - 1]), run.name),
        el("small", {}, `${run.origin} · ${run.ambiguous} ambiguous · ${run.outliers} outliers`)),
      el("button", { type: "button", class: "quiet", "aria-label": `Delete ${run.name}`, title: "Delete this run", onclick: () => forgetRun(run.id) }, "✕"))));
  };
  subscribe(["session", "runId"], draw);
  draw();
}
