// A short tour of the page.

import { el, replace } from "../core/el.js";
import { get } from "../core/store.js";
import { loadExample } from "./data.js";

const KEY = "dempster.toured";

const STEPS = [
  { at: "#setup", page: "setup", title: "Start here", words: "Open a table, select its columns and a method, and press Cluster. By default the library selects the number of clusters and all parameters, and lists them in the summary." },
  { at: "#map-area", page: "map", title: "The map", words: "One color: certain of a cluster. Two colors in one point: ambiguous between two clusters. A cross: an outlier. The badge shows how much the plane distorts the data. Drag, zoom, or draw a lasso." },
  { at: "#drawer", page: "drawer", title: "Objects and diagnostics", words: "The table starts with the objects of largest doubt. The other tabs show profiles of the groups, belief peaks, the number of clusters, and diagnostics of the fit." },
  { at: "#side", page: "side", title: "Results", words: "Summary has two sliders that change which objects are certain, ambiguous or outliers. Why explains the object that you click. Boundary lists the objects between two clusters." },
  { at: "#side", page: "side", title: "Teach, compare, export", words: "Answer questions about pairs of objects and cluster again with the answers as constraints. Compare runs. Export contains code and a command that repeat the run." },
];

function wasShown() {
  try {
    const before = localStorage.getItem(KEY);
    localStorage.setItem(KEY, "1");
    return before !== null;
  } catch {
    return true;
  }
}

export function tour({ firstTime }) {
  let card = null;
  let marked = null;

  function end() {
    card?.remove();
    marked?.classList.remove("toured");
    card = null;
  }

  function show(k) {
    const step = STEPS[k];
    window.dispatchEvent(new CustomEvent("open-page", { detail: step.page }));
    marked?.classList.remove("toured");
    marked = document.querySelector(step.at);
    marked.classList.add("toured");
    const last = k === STEPS.length - 1;
    const offer = last && !get("session")?.source;
    replace(card, el("h2", {}, step.title), el("p", {}, step.words),
      el("div", { class: "buttons" }, el("span", { class: "note" }, `${k + 1} of ${STEPS.length}`),
        el("span", { class: "buttons" },
          el("button", { type: "button", class: "quiet", onclick: end }, last ? "Close" : "Skip"),
          k ? el("button", { type: "button", onclick: () => show(k - 1) }, "Back") : null,
          last ? (offer ? el("button", { type: "button", class: "main", onclick: () => { end(); loadExample("iris"); window.dispatchEvent(new CustomEvent("open-page", { detail: "setup" })); } }, "Try it with iris") : null)
            : el("button", { type: "button", class: "main", onclick: () => show(k + 1) }, "Next"))));
    place();
    (card.querySelector("button.main") || card.querySelector("button")).focus();
  }

  function place() {
    const box = marked.getBoundingClientRect();
    const size = card.getBoundingClientRect();
    const room = { right: innerWidth - box.right, left: box.left };
    let left = Math.max(12, Math.min(box.left + 24, innerWidth - size.width - 12));
    let top = Math.max(12, Math.min(box.top + 60, innerHeight - size.height - 12));
    if (room.right > size.width + 24) left = box.right + 14;
    else if (room.left > size.width + 24) left = box.left - size.width - 14;
    if (innerWidth < 980) { top = innerHeight - size.height - 70; left = (innerWidth - size.width) / 2; }
    Object.assign(card.style, { left: `${left}px`, top: `${top}px` });
  }

  function start() {
    end();
    card = el("div", { class: "tour-card", role: "dialog", "aria-label": "Tour", onkeydown: (event) => { if (event.key === "Escape") end(); } });
    document.body.append(card);
    show(0);
  }

  document.getElementById("tour-button").addEventListener("click", start);
  if (firstTime && !wasShown() && !navigator.webdriver) start();
}
