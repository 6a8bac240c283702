// Keyboard shortcuts.

import { el } from "../core/el.js";
import { get, set } from "../core/store.js";
import { explain, select } from "../core/actions.js";

const LIST = [
  ["V R L", "move, rectangle, lasso"],
  ["N P", "next, previous object in the table"],
  ["Enter", "explain the object under the pointer"],
  ["Esc", "clear the selection and the focus"],
  ["+ − 0", "zoom in, zoom out, show everything (arrow keys move the map)"],
  ["A 1–9 O X B", "review: accept, assign to a cluster, outlier, skip, back"],
  ["S D K", "teach: same, different, don't know"],
  ["U", "teach: undo the last answer"],
  ["C", "cluster"],
  ["Shift + drag", "rectangle with any tool; Alt: lasso; Ctrl adds to the selection"],
  ["?", "this list"],
];

const REVIEW_KEYS = [..."aoxb123456789"];

export function keys({ objects, scatter, tab, openTab }) {
  const dialog = el("dialog", { "aria-label": "Keyboard shortcuts" }, el("h2", {}, "Keyboard shortcuts"),
    el("dl", { class: "key-list" }, LIST.map(([key, words]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, words)])),
    el("form", { method: "dialog" }, el("button", { class: "main", onclick: () => dialog.close(), type: "button" }, "Close")));
  document.body.append(dialog);
  document.getElementById("keys-button").addEventListener("click", () => dialog.showModal());

  const teach = (answer) => {
    openTab("teach");
    window.dispatchEvent(new CustomEvent("teach-key", { detail: answer }));
  };
  const actions = {
    v: () => set({ tool: "pan" }), r: () => set({ tool: "rectangle" }), l: () => set({ tool: "lasso" }),
    n: () => objects().next(1), p: () => objects().next(-1),
    s: () => teach("same"), d: () => teach("different"), k: () => teach("unknown"), u: () => teach("undo"),
    c: () => document.getElementById("run").click(),
    "+": () => scatter.zoomBy(0.8), "=": () => scatter.zoomBy(0.8), "-": () => scatter.zoomBy(1.25), 0: () => scatter.reset(),
    "?": () => dialog.showModal(),
    Escape: () => { select(null); set({ focus: -1, marked: [] }); },
    Enter: () => { if (get("hover") >= 0) explain(get("hover")); },
  };
  window.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open], .tour-card")) return;
    const tag = event.target.tagName;
    if (["INPUT", "SELECT", "TEXTAREA"].includes(tag)) return;
    if (event.key === "Enter" && (["A", "BUTTON", "SUMMARY"].includes(tag) || event.target.getAttribute("role") === "button")) return;
    if (tab() === "review" && REVIEW_KEYS.includes(event.key.toLowerCase())) {
      event.preventDefault();
      window.dispatchEvent(new CustomEvent("review-key", { detail: event.key.toLowerCase() }));
      return;
    }
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || (!get("objects") && !["?", "c", "v", "r", "l"].includes(event.key.toLowerCase()))) return;
    event.preventDefault();
    action();
  });
}
