// Choose a method and its parameters; run it, watch it, stop it.

import { el, replace, say } from "../core/el.js";
import { get, subscribe } from "../core/store.js";
import { running } from "../core/jobs.js";
import { failed, startRun } from "../core/actions.js";
import { chip, progressLine } from "./parts.js";
import { choices, keepChoices, settings } from "./choices.js";

const GROUPS = [
  ["Start with", ["evclus", "ecm", "bpec"]],
  ["Learn from answers", ["cecm", "nnevclus"]],
  ["Medoids and relations", ["ecmdd", "wecmdd", "mecm", "recm"]],
  ["Mixtures, neighbors, categories", ["bootclus", "egmm", "eknnclus", "ccm", "catecm"]],
];

function current() {
  return get("methods").find((method) => method.name === choices.method) || get("methods")[0];
}

function methodSelect() {
  const methods = new Map(get("methods").map((method) => [method.name, method]));
  const listed = new Set(GROUPS.flatMap(([, names]) => names));
  const others = [...methods.keys()].filter((name) => !listed.has(name));
  const groups = others.length ? [...GROUPS, ["Others", others]] : GROUPS;
  return el("select", {
    "aria-label": "Method", id: "method",
    onchange: (event) => { choices.method = event.target.value; choices.parameters = {}; keepChoices(); },
  }, groups.map(([title, names]) => el("optgroup", { label: title },
    names.filter((name) => methods.has(name)).map((name) =>
      el("option", { value: name, selected: name === choices.method }, methods.get(name).title)))));
}

function clustersField(method) {
  if (!method.takes_number) return el("p", { class: "note" }, "This method finds the number of clusters itself.");
  const input = el("input", {
    type: "text", id: "clusters", value: choices.clusters, inputmode: "numeric", "aria-label": "Number of clusters",
    onchange: () => { choices.clusters = input.value.trim() || "auto"; keepChoices(); },
  });
  return el("label", { class: "field-row" }, el("span", {}, "Clusters (or auto)"), input);
}

function parameterField(parameter) {
  const value = choices.parameters[parameter.name];
  const name = parameter.name.replaceAll("_", " ");
  const change = (given) => {
    if (given === "" || given === undefined) delete choices.parameters[parameter.name];
    else choices.parameters[parameter.name] = given;
    keepChoices();
  };
  let input;
  const options = parameter.choices.length ? parameter.choices : parameter.flag ? ["true", "false"] : null;
  if (options) {
    input = el("select", { onchange: () => change(input.value) },
      el("option", { value: "" }, `${String(parameter.default)} (default)`),
      options.filter((one) => one !== String(parameter.default)).map((one) => el("option", { value: one, selected: value === one }, one)));
  } else {
    input = el("input", { type: "text", value: value ?? "", placeholder: String(parameter.default), onchange: () => change(input.value.trim()) });
  }
  input.setAttribute("aria-label", name);
  return el("label", { class: "field-row", title: `${parameter.kind}. ${parameter.help}` }, el("span", { text: name }), input);
}

function seedField() {
  const input = el("input", { type: "text", value: choices.seed, inputmode: "numeric", onchange: () => { choices.seed = input.value.trim() || 0; keepChoices(); } });
  return el("label", { class: "field-row", title: "The same seed gives the same result." }, el("span", {}, "seed"), input);
}

function learnField(method) {
  const lessons = get("session").lessons;
  if (!lessons) return null;
  const box = el("input", { type: "checkbox", checked: choices.learn && method.learns, disabled: !method.learns, onchange: () => { choices.learn = box.checked; keepChoices(); } });
  const words = method.learns ? `Use what was taught (${lessons})` : "This method does not learn from answers; EVCLUS and CECM do";
  return el("label", { class: "check" }, box, el("span", {}, words));
}

// Everything that the next run needs.
export function runSettings(more = {}) {
  const method = current();
  return { ...settings(), learn: Boolean(choices.learn && method.learns), ...more };
}

export async function runNow(more = {}) {
  try {
    const run = await startRun(runSettings(more));
    say(`${run.name}: ${run.certain} certain, ${run.ambiguous} ambiguous, ${run.outliers} outliers`);
    if (window.matchMedia("(max-width: 980px)").matches) window.dispatchEvent(new CustomEvent("open-page", { detail: "map" }));
    return run;
  } catch (error) {
    failed(error);
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
    const method = current();
    // built anew only when something else is to be chosen: whatever has the focus keeps it
    const subject = JSON.stringify([method.name, session.source.name, session.lessons, choices.turn]);
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
    const job = running("run");
    replace(progress, progressLine("run"));
    button.disabled = Boolean(job);
    button.textContent = job ? "Clustering…" : "Cluster";
  };
  subscribe(["session", "methods", "choices"], draw);
  subscribe(["jobs"], drawProgress);
  draw();
}

// The runs so far.
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
        el("small", {}, `${run.origin} · ${run.ambiguous} ambiguous · ${run.outliers} out`)),
      el("button", { type: "button", class: "quiet", "aria-label": `Forget ${run.name}`, title: "Forget this run", onclick: () => forgetRun(run.id) }, "✕"))));
  };
  subscribe(["session", "runId"], draw);
  draw();
}
