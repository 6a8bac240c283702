// Tabs that show one panel at a time. The user selects a tab by mouse or arrow keys.

import { el } from "../core/el.js";
import { recall, remember } from "../core/memory.js";

export class Tabs {
  // panels: [{name, title, make(host) -> {shown?()}}]
  constructor(host, name, label, panels) {
    this.name = name;
    this.buttons = new Map();
    this.panels = new Map();
    this.list = el("div", { class: "tabs", role: "tablist", "aria-label": label });
    this.bodies = el("div", { class: "tab-bodies" });
    for (const panel of panels) this.add(panel);
    host.append(this.list, this.bodies);
    this.list.addEventListener("keydown", (event) => this.key(event));
    window.addEventListener("open-tab", (event) => { if (this.panels.has(event.detail)) this.open(event.detail); });
    const last = recall(`tab.${name}`);
    this.open(this.panels.has(last) ? last : panels[0].name, false);
  }

  add({ name, title, make }) {
    const body = el("section", { class: `panel panel-${name}`, id: `panel-${name}`, role: "tabpanel", tabindex: "-1", "aria-labelledby": `tab-${name}`, hidden: true });
    const button = el("button", {
      type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => this.open(name),
    }, title);
    this.buttons.set(name, button);
    this.list.append(button);
    this.bodies.append(body);
    this.panels.set(name, { body, ...(make(body) || {}) });
  }

  open(name, shownToPerson = true) {
    this.current = name;
    for (const [key, button] of this.buttons) {
      const on = key === name;
      button.setAttribute("aria-selected", on);
      button.tabIndex = on ? 0 : -1;
      this.panels.get(key).body.hidden = !on;
    }
    remember(`tab.${this.name}`, name);
    const panel = this.panels.get(name);
    if (panel.shown) panel.shown();
    if (shownToPerson) this.buttons.get(name).scrollIntoView({ block: "nearest", inline: "nearest" });
    window.dispatchEvent(new CustomEvent("tab-opened", { detail: { tabs: this.name, name } }));
  }

  key(event) {
    const names = [...this.buttons.keys()];
    const at = names.indexOf(this.current);
    const step = { ArrowRight: 1, ArrowLeft: -1, Home: -at, End: names.length - 1 - at }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = names[(at + step + names.length) % names.length];
    this.open(next);
    this.buttons.get(next).focus();
  }
}
