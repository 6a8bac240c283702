// Dialog for names and descriptions of the clusters.

import { el, replace } from "../core/el.js";
import { get, set } from "../core/store.js";
import { post } from "../core/api.js";
import { reloadView, showError } from "../core/actions.js";
import { chip } from "./parts.js";

const MAX_NAME_CHARACTERS = 60;

export function nameClusters() {
  const run = get("runId");
  // A layer shows merged clusters; the names are those of the clusters of the run.
  if (get("viewId") !== run) return showError(new Error("Show the clusters of the run, not a layer, to name them."));
  const { clusters, codes } = { clusters: get("objects").clusters, codes: get("objects").sets.map((set) => set.join()) };
  const dialog = el("dialog", { class: "names", "aria-label": "Names of the clusters" });
  const problem = el("p", { class: "note bad", role: "alert" });
  const rows = clusters.map(([number, name, text]) => ({
    number,
    name: el("input", { type: "text", value: name, maxlength: MAX_NAME_CHARACTERS, placeholder: `cluster ${number}`, "aria-label": `Name of cluster ${number}` }),
    text: el("input", { type: "text", value: text, maxlength: 1000, placeholder: "description", "aria-label": `Description of cluster ${number}` }),
    count: get("counts")[codes.indexOf(String(number))] ?? 0,
  }));

  async function save() {
    const labels = rows.map(({ number, name, text }) => ({ number, name: name.value, text: text.value }));
    try {
      set({ session: await post(`/runs/${run}/names`, { labels }) });
      dialog.close();
      await reloadView();
    } catch (error) {
      replace(problem, error.message);
    }
  }

  dialog.append(el("h2", {}, "Names of the clusters"),
    el("form", { onsubmit: (event) => { event.preventDefault(); save(); } },
      el("div", { class: "name-list" }, rows.map(({ number, name, text, count }) => el("div", { class: "name-row" },
        el("span", { class: "set-label" }, chip([number]), `${number}`), name, text, el("span", { class: "n" }, count.toLocaleString("en"))))),
      problem,
      el("p", { class: "note" }, "Exports, reports and later runs with the same clusters use the names."),
      el("div", { class: "buttons" }, el("button", { type: "submit", class: "main" }, "Save the names"),
        el("button", { type: "button", onclick: () => dialog.close() }, "Cancel"))));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
