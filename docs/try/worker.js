// Python in a web worker. tools/browser.py appends this file to the scripts of Pyodide, so that the worker needs no network:
// the page sends it the contents of all files.
//
// Messages to the worker are {id, task, ...}; it answers {id, result} or {id, error, ended}, where `ended` means that this
// Python can no longer be used. In between it sends {words} about its start and {job} about a running task.

let python = null;
let page = null; // the module dempster_page.py

// ---- start ----------------------------------------------------------------------------------------------------------

function unzipped(blob) {
  return new Response(blob.stream().pipeThrough(new DecompressionStream("gzip")));
}

// Yield the path and the content of each file of a tar archive.
function* filesOfTar(buffer) {
  const bytes = new Uint8Array(buffer);
  const text = (at, length) => new TextDecoder().decode(bytes.subarray(at, at + length)).replace(/\0.*$/s, "");
  for (let at = 0; bytes[at]; ) {
    const [name, folder, size] = [text(at, 100), text(at + 345, 155), parseInt(text(at + 124, 12), 8)];
    yield [folder ? `${folder}/${name}` : name, bytes.subarray(at + 512, at + 512 + size)];
    at += 512 + 512 * Math.ceil(size / 512);
  }
}

function unpack(buffer) {
  const { FS } = python;
  const known = new Set();
  for (const [path, content] of filesOfTar(buffer)) {
    const end = path.lastIndexOf("/");
    const folder = `/${path.slice(0, end)}`;
    if (!known.has(folder)) { FS.mkdirTree(folder); known.add(folder); }
    FS.createDataFile(folder, path.slice(end + 1), content, true, true, true); // The last argument avoids a copy.
  }
}

// `files` has the members wasm, stdlib and archives.
async function start({ files, lock }) {
  postMessage({ words: "starting Python" });
  const archives = Promise.all(files.archives.map((blob) => unzipped(blob).arrayBuffer()));
  const contents = {
    "pyodide.asm.wasm": async () => new Response(unzipped(files.wasm).body, { headers: { "content-type": "application/wasm" } }),
    "python_stdlib.zip": async () => new Response(files.stdlib),
  };
  self.fetch = (address) => contents[String(address).split("/").pop()]();
  python = await loadPyodide({ indexURL: "https://files.invalid/", lockFileContents: lock, packageBaseUrl: "https://files.invalid/" });
  postMessage({ words: "unpacking the libraries" });
  for (const buffer of await archives) unpack(buffer);
  python.runPython("import importlib; importlib.invalidate_caches()");
  postMessage({ words: "importing NumPy and SciPy" });
  page = python.pyimport("dempster_page");
}

// ---- tasks ----------------------------------------------------------------------------------------------------------

const toJs = (value) => value.toJs({ dict_converter: Object.fromEntries });

const tasks = {
  start,
  more: async ({ archives }) => {
    for (const blob of archives) unpack(await unzipped(blob).arrayBuffer());
    python.runPython("import importlib; importlib.invalidate_caches()");
  },
  studio: () => {
    postMessage({ words: "importing dempster" });
    page.start((job) => postMessage({ job: toJs(job) }));
  },
  request: async ({ method, path, headers, body }) => toJs(await page.answer(method, path, headers, body)),
  save: () => {
    const content = page.save();
    return content === undefined ? null : toJs(content);
  },
  restore: ({ content }) => page.restore(content),
  cell: ({ code }) => toJs(page.run_cell(code)),
};

async function run({ id, task, ...content }) {
  try {
    postMessage({ id, result: await tasks[task](content) });
  } catch (error) {
    // An error other than an exception of Python, such as exhausted memory, leaves Python in an unknown state.
    postMessage({ id, error: error.message, ended: error.name !== "PythonError" });
  }
}

let last = Promise.resolve();
self.onmessage = ({ data }) => { last = last.then(() => run(data)); };
