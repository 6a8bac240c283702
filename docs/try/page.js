// Run the studio without a server: answer its requests in a web worker.
//
// This module is executed before the scripts of the studio, and replaces `window.fetch`. When all files are loaded, a
// content security policy forbids every connection of the page and of its workers.

import { Engine, Stopped } from "./engine.js";
import { get, set, subscribe } from "./studio/core/store.js";
import { getJson } from "./studio/core/api.js";
import { clearRun, showError, showLastRun } from "./studio/core/actions.js";
import { restoreChoices } from "./studio/views/choices.js";
import { runNow } from "./studio/views/method.js";

const MAX_COMFORTABLE_ROWS = 20000;
const SEALED = "default-src 'none'; script-src 'wasm-unsafe-eval'; worker-src blob:; style-src 'self'; img-src data: blob:; form-action 'none'; base-uri 'none'";
// Requests that start a task. They may take long and can be stopped.
const TASKS = { "/runs": "run", "/peaks": "peaks", "/number": "number", "/file": "load", "/reload": "load" };
const PREFIX = `/api/sessions/${crypto.randomUUID()}`; // unique, because a session is open in one tab only
const note = document.getElementById("page-note");
const json = (content, status = 200) => new Response(JSON.stringify(content), { status, headers: { "content-type": "application/json" } });

const engine = new Engine(new URL(".", import.meta.url), {
  words: (words, share) => { if (pending) showJob({ id: null, words, share }); else note.textContent = words; },
  job: showJob,
  loaded: seal,
});

// ---- progress -------------------------------------------------------------------------------------------------------

let pending = null; // the running task: {kind, start, stop}

function showJob(job) {
  if (!pending) return;
  const seconds = (performance.now() - pending.start) / 1000;
  const shown = { ...get("jobs")[pending.kind], ...job, kind: pending.kind, state: "running", seconds };
  shown.share ??= null; // Python's None arrives as undefined.
  set({ jobs: { ...get("jobs"), [pending.kind]: shown } });
}

setInterval(() => { if (pending) showJob({}); }, 200);

// ---- policy ---------------------------------------------------------------------------------------------------------

let isSealed = false;

// Forbid all connections from now on. A page can add a policy, but never remove one.
function seal() {
  if (isSealed) return;
  isSealed = true;
  const policy = document.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = SEALED;
  document.head.append(policy);
  showNote();
}

// ---- requests -------------------------------------------------------------------------------------------------------

let started = null; // whether the studio in the worker has the current session
let saved = null; // the session before the running task

// Start Python and the studio, and restore the session after the worker was ended.
function start() {
  started ??= (async () => {
    await engine.start();
    await engine.send({ task: "studio" });
    if (saved) await engine.send({ task: "restore", content: saved });
    showNote();
  })();
  started.catch(() => { started = null; });
  return started;
}

async function ask(path, { method = "GET", headers = {}, body } = {}) {
  await start();
  const content = typeof body === "string" ? new TextEncoder().encode(body) : body instanceof Blob ? new Uint8Array(await body.arrayBuffer()) : body;
  const [status, sent, answered] = await engine.send({ task: "request", method, path: path.replace(PREFIX, "/api/sessions/page"), headers, body: content });
  return new Response(answered, { status, headers: sent });
}

// Run a task, which the button Stop ends together with the worker.
async function runTask(kind, path, options) {
  const stopped = new Promise((_, reject) => { pending = { kind, start: performance.now(), stop: reject }; });
  stopped.catch(() => {});
  const steps = async () => {
    await start();
    saved = await engine.send({ task: "save" });
    return ask(path, options);
  };
  try {
    showJob({ id: null, words: "starting", share: null });
    return await Promise.race([steps(), stopped]);
  } catch (error) {
    engine.end();
    started = null;
    if (isSealed) start(); // The next request does not wait so long.
    const state = error instanceof Stopped ? "stopped" : "failed";
    return json({ job: { id: "0", kind, state, words: "", share: null, error: error.message, answer: null, seconds: 0 } });
  } finally {
    pending = null;
  }
}

// Answer what does not need Python.
async function answerWithoutPython(path, { method = "GET", body } = {}) {
  const { about, session } = (await engine.manifest()).page;
  session.id = PREFIX.split("/").pop();
  if (path === "/api/about") return json(about);
  if (path === "/api/sessions" && method === "GET") return json({ sessions: [] });
  if (path === "/api/sessions") return JSON.parse(body || "{}").open ? json({ error: "" }, 404) : json({ session, page: "" });
  if (method === "DELETE" && path.startsWith(`${PREFIX}/jobs/`)) {
    pending?.stop(new Stopped("stopped"));
    return json({ id: "0", kind: pending?.kind, state: "stopped", words: "", share: null, error: null, answer: null, seconds: 0 });
  }
  if (!started && path === PREFIX) return json(session);
  return null;
}

async function answer(path, options = {}) {
  const known = await answerWithoutPython(path, options);
  if (known) return known;
  const name = path.replace(PREFIX, "").replace("/api", "").replace(/\?.*/, "");
  const kind = options.method === "GET" || !options.method ? null : name.endsWith("/report") ? "report" : TASKS[name];
  if (name === "/example") return loadExample(JSON.parse(options.body).name);
  return kind ? runTask(kind, path, options) : ask(path, options);
}

// The page has the tables of the examples, because those of scikit-learn take a second to import.
async function loadExample(name) {
  example = true;
  const { examples } = (await engine.manifest()).page;
  return runTask("load", `${PREFIX}/file?name=${name}.csv`, { method: "PUT", body: examples[name] });
}

window.fetch = (path, options) => answer(String(path), options);

// ---- additions to the studio ----------------------------------------------------------------------------------------

let example = false; // whether to cluster the next table at once

async function clusterExample() {
  if (!example || !get("session")?.source) return;
  example = false;
  setTimeout(runNow);
}

function showNote() {
  const rows = get("session")?.source?.rows ?? 0;
  note.textContent = rows > MAX_COMFORTABLE_ROWS
    ? `A table of ${rows.toLocaleString("en")} rows takes long in a browser. The program, dempster cluster, is faster and uses all processors.`
    : isSealed ? "Everything is loaded. This page can no longer connect to anything: your table stays in this tab." : note.dataset.before;
}

subscribe(["session"], () => { clusterExample(); showNote(); });

// Open a session file in this page.
window.addEventListener("switch-session", async (event) => {
  event.preventDefault();
  try {
    clearRun();
    set({ session: await getJson("") });
    restoreChoices();
    await showLastRun();
  } catch (error) {
    showError(error);
  }
});

if ("serviceWorker" in navigator) navigator.serviceWorker.register("service_worker.js", { scope: "./try" }).catch(() => {});
