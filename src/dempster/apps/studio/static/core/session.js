// Open the session of this tab, whose id is in the address. The tab that opened a session last may change it.

import { getJson, post, useSession } from "./api.js";
import { follow } from "./jobs.js";
import { set } from "./store.js";
import { forget, recall, remember } from "./memory.js";

// Tell the other tabs of this browser that this tab has opened a session, and listen to them.
function announceOpening(id) {
  const channel = new BroadcastChannel("dempster-opened");
  channel.postMessage(id);
  channel.addEventListener("message", ({ data }) => { if (data === id) set({ elsewhere: true }); });
}

export async function openSession() {
  const known = location.hash.slice(1) || recall("session");
  let opened = null;
  let problem = null;
  if (known) {
    try {
      opened = await post("/api/sessions", { open: known });
    } catch (error) {
      if (error.status !== 404) problem = error;
    }
  }
  if (!opened || known !== recall("session")) for (const name of ["run", "plane"]) forget(name);
  if (!opened) opened = await post("/api/sessions");
  const { id } = opened.session;
  remember("session", id);
  history.replaceState(null, "", `${location.pathname}#${id}`);
  useSession(id, opened.page);
  announceOpening(id);
  set({ session: opened.session, saved: (await getJson("/api/sessions")).sessions.filter((one) => one.id !== id) });
  if (opened.job) {
    await follow(opened.job);
    set({ session: await getJson("") });
  }
  if (problem) throw problem;
}

// Open another session in this tab. A page that must not be loaded again prevents the default action of the event.
export function switchSession(id) {
  const event = new CustomEvent("switch-session", { detail: id, cancelable: true });
  if (!window.dispatchEvent(event)) return;
  history.replaceState(null, "", `${location.pathname}#${id}`);
  location.reload();
}
