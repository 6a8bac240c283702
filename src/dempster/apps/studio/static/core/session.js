// Open the session of this tab, whose id is in the address. A duplicated tab opens a new session.

import { getJson, post, useSession } from "./api.js";
import { follow } from "./jobs.js";
import { set } from "./store.js";
import { forget, recall, remember } from "./memory.js";

const MAX_ATTEMPTS = 8;
const PAUSE_MS = 120; // Repeated attempts are needed, because the page before a reload may still be closing.

// Lock a session while this page is open. The promise resolves to false if another page has locked the session.
async function hold(id) {
  if (!navigator.locks) return true;
  for (let k = 0; k < MAX_ATTEMPTS; k++) {
    const held = await new Promise((resolve) => {
      navigator.locks.request(`dempster-${id}`, { ifAvailable: true }, (lock) => {
        resolve(lock !== null);
        return lock ? new Promise(() => {}) : undefined;
      });
    });
    if (held) return true;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  return false;
}

export async function openSession() {
  const known = location.hash.slice(1) || recall("session");
  const again = known === recall("session");
  let opened = null;
  let problem = null;
  if (known && (await hold(known))) {
    try {
      opened = await post("/api/sessions", { open: known });
    } catch (error) {
      if (error.status !== 404) problem = error;
    }
  }
  if (!opened || !again) for (const name of ["run", "plane", "weights"]) forget(name);
  const isNew = !opened;
  if (isNew) opened = await post("/api/sessions");
  const { id } = opened.session;
  remember("session", id);
  history.replaceState(null, "", `${location.pathname}#${id}`);
  useSession(id);
  if (isNew) await hold(id);
  set({ session: opened.session, saved: (await getJson("/api/sessions")).sessions.filter((one) => one.id !== id) });
  if (opened.job) {
    await follow(opened.job);
    set({ session: await getJson("") });
  }
  if (problem) throw problem;
  return { again: again && !isNew };
}

// Open another session in this tab.
export function switchSession(id) {
  history.replaceState(null, "", `${location.pathname}#${id}`);
  location.reload();
}
