// Start, watch and stop jobs of the server without blocking the page.

import { getJson, post, remove, RequestError } from "./api.js";
import { get, set } from "./store.js";

// The page first polls at short intervals, so that results of short jobs appear at once, and then every 180 ms.
const MIN_PAUSE_MS = 15;
const MAX_PAUSE_MS = 180;

function updateJob(job) {
  set({ jobs: { ...get("jobs"), [job.kind]: job } });
}

// Start a job and update its progress in the state of the page. The promise resolves to the answer of the job.
export async function work(path, body) {
  return follow((await post(path, body)).job);
}

// Show the progress of a request that starts a job of the given kind, which takes long for a large file, and of this job.
export async function workOn(kind, words, request) {
  updateJob({ id: null, kind, state: "running", words, share: null, seconds: 0 });
  try {
    return await follow((await request).job);
  } finally {
    if (running(kind)?.id === null) updateJob({ kind, state: "failed" });
  }
}

export async function follow(job) {
  updateJob(job);
  let latest = job;
  let misses = 0;
  let pause = MIN_PAUSE_MS;
  while (latest.state === "running") {
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(2 * pause, MAX_PAUSE_MS);
    try {
      latest = await getJson(`/jobs/${job.id}`);
      misses = 0;
    } catch (error) {
      misses += 1;
      if (error.status || misses > 20) throw error;
      continue;
    }
    updateJob(latest);
  }
  if (latest.state === "done") return latest.answer;
  const refused = new RequestError(latest.state === "stopped" ? "stopped" : latest.error);
  refused.stopped = latest.state === "stopped";
  throw refused;
}

export function running(kind) {
  const job = get("jobs")[kind];
  return job && job.state === "running" ? job : null;
}

export async function stop(kind) {
  const job = running(kind);
  if (job) updateJob(await remove(`/jobs/${job.id}`));
}
