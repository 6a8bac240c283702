// Ask whether two objects belong to the same cluster. The pair with the largest expected gain is asked first.

import { el, replace, announce } from "../core/el.js";
import { get, set, subscribe } from "../core/store.js";
import { download, getJson, post, putBytes } from "../core/api.js";
import { showError, findPositions, refreshSession } from "../core/actions.js";
import { cell, formatCount, share, short } from "../core/format.js";
import { chip, drawMedia, empty, heading } from "./parts.js";
import { currentMethod, runNow } from "./method.js";
import { choices, storeChoices } from "./choices.js";
import { drawComparison } from "./compare.js";

export function teachPanel(host) {
  const top = el("div");
  const changed = el("div");
  const below = el("div");
  host.append(top, changed, below);
  let question = null;
  let turn = 0;

  async function load() {
    if (host.hidden) return;
    const mine = ++turn;
    if (!get("objects")) { replace(top, empty("After the first run, this panel asks about pairs of objects with the largest expected gain.")); replace(below); return; }
    try {
      const [asked, given] = await Promise.all([getJson(`/runs/${get("viewId")}/question`), getJson(`/answers?run=${get("runId")}`)]);
      if (mine !== turn) return;
      question = asked.question;
      drawQuestion(asked);
      drawAnswers(given);
      set({ marked: question ? question.objects.map((one, k) => ({ position: one.position, letter: "AB"[k] })) : [] });
    } catch (error) {
      showError(error);
    }
  }

  function object(one, other, letter) {
    const spread = question.columns.map((name, k) => apart(one.values[k], other.values[k]));
    const most = Math.max(...spread.filter((v) => Number.isFinite(v)), 0);
    return el("div", { class: "object" },
      el("h3", { title: one.name }, el("span", { class: "letter" }, letter), short(one.name, 80)),
      el("span", { class: "set-label note" }, chip(get("objects").sets[one.set]), one.said),
      el("div", { class: "media" }, drawMedia(one.media, one.position)),
      el("dl", {}, question.columns.slice(0, 60).map((name, k) => [el("dt", { text: name }), el("dd", { "data-apart": spread[k] > 0 && spread[k] >= 0.6 * most, text: cell(one.values[k]) })])));
  }

  function drawQuestion(asked) {
    const button = (answer, words, key) => el("button", { type: "button", id: `answer-${answer}`, onclick: () => give(answer) }, words, el("kbd", {}, key));
    if (!question) { replace(top, heading("Teach"), empty(asked.words)); return; }
    replace(top, heading("Are A and B in the same cluster?"),
      el("div", { class: "question" }, object(question.objects[0], question.objects[1], "A"), object(question.objects[1], question.objects[0], "B")),
      el("div", { class: "answers" }, button("same", "Same", "S"), button("different", "Different", "D"), button("unknown", "Don't know", "K")),
      el("div", { class: "gain", role: "img", "aria-label": asked.words }, el("i", { style: { width: `${Math.max(1, 100 * Math.min(1, question.doubt ? question.gain / Math.max(question.doubt, 1) : 0))}%` } })),
      el("p", { class: asked.enough ? "note warn" : "note" }, asked.words));
  }

  function drawAnswers(given) {
    const automatic = get("methods").find((method) => method.name === "auto");
    const replaced = choices.method === "auto" || !currentMethod().learns;
    const file = el("input", { type: "file", accept: ".csv", hidden: true, onchange: async () => {
      try {
        drawAnswers(await putBytes(`/answers/file?run=${get("runId")}`, file.files[0]));
        await refreshSession();
        load();
      } catch (error) { showError(error); }
      file.value = "";
    } });
    replace(below,
      given.contradictions.map((one) => el("div", { class: "contradiction" },
        el("strong", {}, "These answers contradict each other: "), `${one.chain[0]} and ${one.chain[one.chain.length - 1]} are different, but ${one.chain.join(" – ")} are each the same as the next. Remove one of them.`)),
      el("h3", {}, given.answers.length ? `Answers (${given.n} used)` : "Answers"),
      given.answers.length ? el("ul", { class: "said-list" }, [...given.answers].reverse().map((one) => el("li", {},
        el("span", {}, `${one.names[0]} and ${one.names[1]}: ${one.answer === "unknown" ? "don't know" : one.answer}`),
        one.broken ? el("span", { class: "tag warn", title: "The current run violates this answer" }, "violated") : null,
        el("button", { type: "button", class: "quiet", "aria-label": `Remove: ${one.names[0]} and ${one.names[1]}`, onclick: () => change("/answers/remove", one) }, "✕"))))
        : el("p", { class: "note" }, "Press S, D or K, or click a button. The answers apply to all runs of this table."),
      el("div", { class: "buttons", style: { marginTop: "10px" } },
        el("button", { type: "button", class: "main", id: "refit", disabled: !(given.n || get("session").n_decisions) || given.contradictions.length > 0, onclick: refit }, replaced ? `Cluster again with ${automatic.learner}` : "Cluster again"),
        el("button", { type: "button", id: "undo", disabled: !given.answers.length, onclick: () => change("/answers/undo", {}) }, "Undo ", el("kbd", {}, "U")),
        el("button", { type: "button", disabled: !given.n, onclick: () => download("/answers/file", "answers.csv").catch(showError) }, "Save"),
        file, el("button", { type: "button", onclick: () => file.click() }, "Load")));
  }

  async function change(path, body) {
    try {
      await post(path, { ...body, run: get("runId") });
      await refreshSession();
      await load();
    } catch (error) {
      showError(error);
    }
  }

  async function give(answer) {
    if (!question) return;
    const [a, b] = question.objects;
    announce(`${a.name} and ${b.name}: ${answer}`);
    question = null;
    await change("/answers", { first: a.row, second: b.row, answer });
  }

  async function refit() {
    const before = get("runId");
    const run = await runWithAnswers();
    if (!run) return;
    window.dispatchEvent(new CustomEvent("open-tab", { detail: "teach" }));
    try {
      const found = await getJson(`/compare?before=${before}&after=${run.id}`);
      replace(changed, el("h3", {}, "What changed"),
        el("p", { class: "lead" }, found.moved ? `${formatCount(found.moved, "object")} of ${found.n.toLocaleString("en")} (${share(found.moved / found.n)}) moved to another set; agreement ${found.index.toFixed(3)}.` : "No object moved to another set."),
        drawComparison(found));
    } catch (error) {
      showError(error);
    }
  }

  window.addEventListener("teach-key", (event) => {
    if (host.hidden) return;
    if (event.detail === "undo") change("/answers/undo", {});
    else give(event.detail);
  });
  subscribe(["objects"], load);
  load();
  return { shown: load };
}

// Cluster again with the answers and decisions as constraints, into the same number of clusters.
export async function runWithAnswers() {
  const before = get("runId");
  if (!currentMethod().learns) Object.assign(choices, { method: "auto", parameters: {} });
  choices.learn = true;
  storeChoices();
  return runNow({ learn: true, clusters: get("session").runs.find((one) => one.id === before).n_clusters });
}

function apart(a, b) {
  if (typeof a === "number" && typeof b === "number") return Math.abs(a - b) / (Math.abs(a) + Math.abs(b) || 1);
  return a === b ? 0 : 1;
}
