// Long work: started, watched and stopped without the page waiting for it.

import { getJson, post, remove, Refused } from "./api.js";
import { get, set } from "./store.js";

const FIRST_PAUSE = 15; // milliseconds between two questions: short work is shown at once,
const LAST_PAUSE = 180; // and long work is asked about five times a second

function note(job) {
  set({ jobs: { ...get("jobs"), [job.kind]: job } });
}

// Start work and wait for its answer, which comes as a promise; the state shows how far it is.
export async function work(path, body) {
  return follow((await post(path, body)).job);
}

export async function follow(job) {
  note(job);
  let latest = job;
  let misses = 0;
  let pause = FIRST_PAUSE;
  while (latest.state === "running") {
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(2 * pause, LAST_PAUSE);
    try {
      latest = await getJson(`/jobs/${job.id}`);
      misses = 0;
    } catch (error) {
      misses += 1;
      if (error.status || misses > 20) throw error;
      continue;
    }
    note(latest);
  }
  if (latest.state === "done") return latest.answer;
  const refused = new Refused(latest.state === "stopped" ? "stopped" : latest.error);
  refused.stopped = latest.state === "stopped";
  throw refused;
}

export function running(kind) {
  const job = get("jobs")[kind];
  return job && job.state === "running" ? job : null;
}

export async function stop(kind) {
  const job = running(kind);
  if (job) note(await remove(`/jobs/${job.id}`));
}
