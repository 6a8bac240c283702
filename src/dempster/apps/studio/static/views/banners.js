// Banners at the top of the page: changes that are not saved, and a table whose file has changed.

import { el, replace } from "../core/el.js";
import { get, set, subscribe } from "../core/store.js";
import { download, post } from "../core/api.js";
import { refreshSession, showError } from "../core/actions.js";
import { storeSettings } from "./choices.js";
import { loadChangedTable } from "./data.js";

function button(words, action) {
  return el("button", { type: "button", onclick: () => Promise.resolve(action()).catch(showError) }, words);
}

function banner(kind, title, words, ...buttons) {
  return el("div", { class: "banner", role: "alert", "data-kind": kind }, el("p", {}, el("strong", {}, title), " ", words), el("span", { class: "buttons" }, buttons));
}

function saveElsewhere() {
  return download("/saved", "session.studio.zip");
}

function elsewhere() {
  return banner("error", "Opened elsewhere.", "This session was opened in another tab or in another studio. Nothing that you change here is saved.",
    button("Continue here", () => location.reload()), button("Save a copy", saveElsewhere));
}

async function tryAgain() {
  await storeSettings();
  await refreshSession();
}

function unsaved(session) {
  return banner("error", "Not saved:", `${session.unsaved.join(", ")}. It is lost when the studio ends. Save the session to a file on another disk, or make room and try again.`,
    button("Save session elsewhere", saveElsewhere), button("Try again", tryAgain));
}

async function keepCopy() {
  set({ session: await post("/table/copy") });
}

function otherFile(session) {
  const { name } = session.source;
  const { state, has_copy: hasCopy } = session.file;
  if (state === "missing") {
    return banner("note", `${name} was moved or deleted.`, hasCopy ? "This session uses its copy of the table." : "This session has no copy of the table, so that it cannot start new runs.",
      hasCopy ? button("Keep the copy", keepCopy) : null);
  }
  return banner("warn", `${name} has changed since it was loaded.`,
    hasCopy ? "This session shows its copy of the former table, to which the runs and answers belong." : "The runs and answers of this session belong to the former table.",
    button("Cluster the new table", loadChangedTable), hasCopy ? button("Keep the copy", keepCopy) : null);
}

export function banners(host) {
  const draw = () => {
    const session = get("session");
    replace(host, get("elsewhere") ? elsewhere() : null, session?.unsaved.length ? unsaved(session) : null, session?.file ? otherFile(session) : null);
  };
  subscribe(["session", "elsewhere"], draw);
  draw();
}
