"use strict";
// Elements that need a script are hidden in the HTML, and this script shows them. Without scripts the page is static.
(() => {
  const root = document.documentElement;
  root.classList.add("script");
  for (const element of document.querySelectorAll(".live, .tools")) element.hidden = false;

  const button = document.getElementById("theme");
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  const stored = () => { try { return localStorage.getItem("dempster-theme"); } catch { return null; } };
  const store = (theme) => { try { localStorage.setItem("dempster-theme", theme); } catch { /* not available for local files */ } };
  const isDark = () => (root.dataset.theme ?? (preferred.matches ? "dark" : "light")) === "dark";
  const update = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Switch to light colors" : "Switch to dark colors");
    document.dispatchEvent(new Event("themechange"));
  };
  const theme = stored();
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    store(root.dataset.theme);
    update();
  });
  preferred.addEventListener("change", update);
  update();

  for (const copy of document.querySelectorAll("[data-copy]")) {
    const text = document.getElementById(copy.dataset.copy);
    copy.addEventListener("click", async () => {
      let done = true;
      try {
        await navigator.clipboard.writeText(text.textContent);
      } catch {
        const range = document.createRange();
        range.selectNodeContents(text);
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        done = document.execCommand("copy");
      }
      copy.textContent = done ? "Copied" : "Selected: press Ctrl+C";
      setTimeout(() => { copy.textContent = "Copy"; }, 2000);
    });
  }
})();
