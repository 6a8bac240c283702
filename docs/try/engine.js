// Load Python and its libraries, and run them in a web worker.

const CACHE = "dempster-runtime";
const loadFromNetwork = window.fetch.bind(window);
const megabytes = (bytes) => (bytes / 1e6).toFixed(0);

export class Stopped extends Error {}

export class Engine {
  // `home` is the address of the folder of this script. `on.words(words, share)` is called while Python is loaded and
  // started, `on.job(job)` when a task of the studio makes progress, and `on.loaded()` when all files are there.
  constructor(home, on = {}) {
    Object.assign(this, { home, on, worker: null, files: null, ready: null, waiting: new Map(), count: 0 });
  }

  // ---- files --------------------------------------------------------------------------------------------------------

  async manifest() {
    this.contents ??= await readManifest(new URL("manifest.json", this.home));
    return this.contents;
  }

  // Return the contents of files of the manifest, by name.
  async load(names) {
    const { files } = await this.manifest();
    const total = names.reduce((sum, name) => sum + files[name].bytes, 0);
    let loaded = 0;
    const count = (bytes) => {
      loaded += bytes;
      this.on.words?.(`loading Python: ${megabytes(loaded)} of ${megabytes(total)} MB`, loaded / total);
    };
    const blobs = await Promise.all(names.map((name) => readFile(new URL(files[name].path, this.home), files[name].bytes, count)));
    return Object.fromEntries(names.map((name, k) => [name, blobs[k]]));
  }

  // ---- worker -------------------------------------------------------------------------------------------------------

  // Start Python once; the promise resolves when it can run tasks.
  start(more = []) {
    this.ready ??= this.startOnce(more);
    this.ready.catch(() => { this.ready = null; });
    return this.ready;
  }

  async startOnce(more) {
    const archives = ["packages", "dempster", ...more];
    this.files ??= await this.load(["worker", "wasm", "stdlib", ...archives]);
    await this.on.loaded?.();
    const { worker, wasm, stdlib } = this.files;
    const address = URL.createObjectURL(new Blob([worker], { type: "text/javascript" }));
    this.worker = new Worker(address);
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = (event) => this.end(new Error(event.message || "Python could not be started"));
    const files = { wasm, stdlib, archives: archives.map((name) => this.files[name]) };
    await this.send({ task: "start", files, lock: (await this.manifest()).lock });
  }

  // Run a task of the worker, which must have been started.
  send(message, transfer = []) {
    const id = (this.count += 1);
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, ...message }, transfer);
    });
  }

  receive({ id, result, error, ended, words, job }) {
    if (words) { this.on.words?.(words, null); return; }
    if (job) { this.on.job?.(job); return; }
    if (ended) { this.end(new Error(`Python in this tab ended, perhaps because memory was short (${error}). The program can use all memory of the machine.`)); return; }
    const { resolve, reject } = this.waiting.get(id);
    this.waiting.delete(id);
    if (error === undefined) resolve(result);
    else reject(new Error(error));
  }

  // End the worker at once. All tasks fail with the error.
  end(error = new Stopped("stopped")) {
    this.worker?.terminate();
    this.worker = this.ready = null;
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }
}

async function readManifest(address) {
  const cache = await openCache();
  try {
    const response = await loadFromNetwork(address, { cache: "no-cache" });
    if (!response.ok) throw new Error(`${address} cannot be loaded (${response.status})`);
    await cache?.put(address, response.clone());
    const manifest = await response.json();
    await forgetOthers(cache, [address.href, ...Object.values(manifest.files).map((file) => new URL(file.path, address).href)]);
    return manifest;
  } catch (error) {
    const kept = await cache?.match(address);
    if (!kept) throw error;
    return kept.json();
  }
}

// Remove the files of earlier versions of this page.
async function forgetOthers(cache, used) {
  const folder = used[0].slice(0, used[0].lastIndexOf("/") + 1);
  for (const { url } of (await cache?.keys()) || []) if (url.startsWith(folder) && !used.includes(url)) await cache.delete(url);
}

async function openCache() {
  try {
    return await caches.open(CACHE);
  } catch {
    return null; // Without a cache, for example in a private window, the files are loaded every time.
  }
}

// Return a file, from the cache if it is there; call `count` with the number of bytes of each part.
async function readFile(address, size, count) {
  const cache = await openCache();
  const kept = await cache?.match(address);
  if (kept) {
    count(size);
    return kept.blob();
  }
  const response = await loadFromNetwork(address);
  if (!response.ok) throw new Error(`${address} cannot be loaded (${response.status})`);
  const parts = [];
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    parts.push(value);
    count(value.length);
  }
  const content = new Blob(parts);
  await cache?.put(address, new Response(content)).catch(() => {}); // The storage may be full.
  return content;
}
