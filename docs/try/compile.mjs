// Compile Python files to bytecode with the Python of Pyodide, and write the list of fonts of matplotlib. Run by tools/browser.py:
//
//     node compile.mjs PYODIDE FOLDER...
//
// Each file x.py in the folders is replaced by x.pyc, which Python imports without the source.
import { pathToFileURL } from "node:url";

const [pyodide, ...folders] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
const python = await loadPyodide({ indexURL: pyodide });
folders.forEach((root, k) => {
  python.FS.mkdir(`/${k}`);
  python.FS.mount(python.FS.filesystems.NODEFS, { root }, `/${k}`);
});
python.runPython(`
import py_compile
from pathlib import Path

for k in range(${folders.length}):
    root = Path(f"/{k}")
    for file in sorted(root.rglob("*.py")):
        py_compile.compile(
            file, f"{file}c", str(file.relative_to(root)), doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        file.unlink()
`);
