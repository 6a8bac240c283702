// Open the session of this tab. A reload keeps the session, and a duplicated tab opens a new session.

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
  const known = recall("session");
  if (known && (await hold(known))) {
    useSession(known);
    try {
      const session = await getJson("");
      set({ session });
      return { session, again: true };
    } catch (error) {
      if (error.status !== 404) throw error;
    }
  }
  for (const name of ["run", "plane", "weights"]) forget(name);
  const opened = await post("/api/sessions");
  remember("session", opened.session.id);
  useSession(opened.session.id);
  await hold(opened.session.id);
  set({ session: opened.session });
  if (opened.job) {
    await follow(opened.job);
    set({ session: await getJson("") });
  }
  return { session: opened.session, again: false };
}
