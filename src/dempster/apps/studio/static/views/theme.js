// Light or dark theme, selected by the user or else by the system.

import { set } from "../core/store.js";
import { adaptColors } from "../map/scatter.js";

const KEY = "dempster.theme";

function chosen() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

export function theme(button) {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const now = chosen() || (system.matches ? "dark" : "light");
    document.documentElement.dataset.theme = now;
    button.textContent = now === "dark" ? "Light" : "Dark";
    button.title = `Change to ${now === "dark" ? "light" : "dark"} colors`;
    adaptColors();
    set({ theme: now });
  };
  button.addEventListener("click", () => {
    const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem(KEY, next);
    } catch { /* Without storage the theme is lost after a reload. */ }
    document.documentElement.dataset.theme = next;
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}
