// Describe the selected objects by their sets, their attributes and a rule, and start a run with these objects.

import { el, replace } from "../core/el.js";
import { get, set, subscribe } from "../core/store.js";
import { download, getPacked, post, remove } from "../core/api.js";
import { showError, select, sendSelection } from "../core/actions.js";
import { formatCount, number, share } from "../core/format.js";
import { chip, empty, heading } from "./parts.js";
import { runNow } from "./method.js";

export function selectionPanel(host) {
  const made = el("div");
  const kept = el("div");
  const body = el("div");
  host.append(body, kept);
  let turn = 0;
  let rule = null;

  function composition() {
    const [objects, codes, mask] = [get("objects"), get("codes"), get("selection")];
    const counts = new Map();
    for (let i = 0; i < codes.length; i++) if (mask[i]) counts.set(codes[i], (counts.get(codes[i]) || 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1]).slice(0, 12).map(([code, n]) => el("div", { class: "row progress-line" },
      el("span", { class: "set-label progress-words" }, chip(objects.sets[code]), objects.set_names[code]),
      el("span", {}, `${n.toLocaleString("en")} · ${share(n / get("selectedCount"))}`)));
  }

  async function load() {
    const mine = ++turn;
    drawRules();
    if (host.hidden) return;
    const n = get("selectedCount");
    if (!n || !get("objects")) {
      replace(body, heading("Selection"), empty("Nothing is selected. Draw a rectangle or a lasso on the map, or click a set, a group or a count."));
      return;
    }
    replace(body, heading(`${formatCount(n, "object")} selected`, el("button", { type: "button", class: "quiet", onclick: () => select(null) }, "Clear")),
      el("div", { class: "fields" }, composition()), made);
    try {
      const about = await sendSelection();
      if (mine !== turn || !about) return;
      rule = null;
      drawAbout(about);
    } catch (error) {
      showError(error);
    }
  }

  function drawAbout(about) {
    replace(made,
      about.attributes.length ? [el("h3", {}, "Compared with the other objects"),
        el("table", { class: "plain" }, el("thead", {}, el("tr", {}, ["attribute", "mean", "others", "range"].map((name, k) => el("th", { class: k ? "right" : "" }, name)))),
          el("tbody", {}, about.attributes.map((row) => el("tr", {}, el("td", { text: row.name }), el("td", { class: "right" }, number(row.mean, 3)),
            el("td", { class: "right" }, number(row.rest, 3)), el("td", { class: "right" }, `${number(row.low, 3)} to ${number(row.high, 3)}`)))))] : null,
      el("h3", {}, "Actions"),
      el("div", { class: "buttons" },
        el("button", { type: "button", onclick: makeRule }, "Find a rule"),
        el("button", { type: "button", onclick: () => sendSelection().then(() => runNow({ only: "selection" })).catch(showError) }, "Cluster only these"),
        el("button", { type: "button", onclick: () => sendSelection().then(() => download(`/runs/${get("viewId")}/selected`, "selection.csv")).catch(showError) }, "Save as CSV"),
        el("button", { type: "button", onclick: invert }, "Select the others")),
      rule ? ruleEditor() : null);
  }

  function invert() {
    select(get("selection").map((one) => 1 - one));
  }

  async function makeRule() {
    try {
      await sendSelection();
      rule = await post(`/runs/${get("runId")}/rule`);
      made.querySelector(".rule")?.remove();
      made.append(ruleEditor());
    } catch (error) {
      showError(error);
    }
  }

  function ruleEditor() {
    const editor = el("div", { class: "rule" });
    const drawEditor = () => replace(editor, el("h3", {}, "Rule"),
      el("p", { class: "lead rule-text" }, rule.text),
      el("p", { class: "note" }, `The rule holds for ${formatCount(rule.holds, "object")}, including ${rule.hits.toLocaleString("en")} of the ${rule.selected.toLocaleString("en")} selected objects.`),
      rule.conditions.map((condition, k) => {
        const end = (name) => el("input", { type: "text", value: condition[name], "aria-label": `${condition.column}, ${name === "low" ? "from" : "to"}`, onchange: (event) => { const v = Number(event.target.value); if (Number.isFinite(v)) condition[name] = v; } });
        return el("div", { class: "condition" }, el("span", { text: condition.column }), end("low"), "to", end("high"),
          el("button", { type: "button", class: "quiet", "aria-label": `Remove ${condition.column}`, onclick: () => { rule.conditions.splice(k, 1); drawEditor(); } }, "✕"));
      }),
      el("div", { class: "buttons" },
        el("button", { type: "button", class: "main", disabled: !rule.conditions.length, onclick: keep }, "Save the rule"),
        el("button", { type: "button", disabled: !rule.conditions.length, onclick: () => apply(rule.conditions) }, "Select by the rule")));
    drawEditor();
    return editor;
  }

  async function keep() {
    try {
      const { rules } = await post("/rules", { conditions: rule.conditions });
      set({ session: { ...get("session"), rules } });
    } catch (error) {
      showError(error);
    }
  }

  async function apply(conditions) {
    try {
      const found = await getPacked(`/runs/${get("runId")}/rule/objects?conditions=${encodeURIComponent(JSON.stringify(conditions))}`);
      select(found.mask);
    } catch (error) {
      showError(error);
    }
  }

  function drawRules() {
    const rules = get("session")?.rules || [];
    replace(kept, rules.length ? [el("h3", {}, "Saved rules"), el("ul", { class: "rule-list" }, rules.map((one, k) => el("li", {},
      el("button", { type: "button", class: "link", title: "Select the objects for which the rule holds", onclick: () => apply(one.conditions) }, one.text),
      el("button", { type: "button", class: "quiet", "aria-label": `Delete the rule ${one.text}`, onclick: async () => {
        try {
          const { rules: left } = await remove(`/rules/${k}`);
          set({ session: { ...get("session"), rules: left } });
        } catch (error) { showError(error); }
      } }, "✕"))))] : null);
  }

  subscribe(["selection", "codes", "objects"], load);
  subscribe(["session"], drawRules);
  load();
  return { shown: load };
}
