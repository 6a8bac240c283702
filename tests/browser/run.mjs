// Run a Python script in Pyodide with the libraries of the page:
//
//     node run.mjs PYODIDE RUNTIME SCRIPT [ARGUMENT...]
//
// RUNTIME is the folder of the files of the page. The root folder of the file system is /host for the script.
import { readFileSync, readdirSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [pyodide, runtime, script, ...parameters] = process.argv.slice(2);
const named = Object.fromEntries(readdirSync(runtime).map((file) => [file.split("-")[0], `${runtime}/${file}`]));
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: pyodide, stdLibURL: named.stdlib, args: process.env.IMPORT_TIMES ? ["-X", "importtime"] : [] });
for (const name of ["packages", "dempster"]) {
  python.FS.writeFile("/archive.tar.gz", readFileSync(named[name]));
  python.runPython("import tarfile; tarfile.open('/archive.tar.gz').extractall('/', filter='data')");
}
python.FS.unlink("/archive.tar.gz");
python.FS.mkdir("/host");
python.FS.mount(python.FS.filesystems.NODEFS, { root: "/" }, "/host");
python.runPython("import importlib; importlib.invalidate_caches()");
python.globals.set("parameters", python.toPy(parameters));
try {
  await python.runPythonAsync(readFileSync(script, "utf8"), { filename: script });
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
