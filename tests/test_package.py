"""The house: what importing costs, which floor may import which, what is public."""

import ast
import subprocess
import sys
from pathlib import Path

import evidentia

SOURCE = Path(evidentia.__file__).parent

# From the ground up. A module imports from its own floor or a lower one. The numerical kernels of `optimize` know
# nothing of the rest, so they lie below everything that needs them.
FLOORS = [
    {"_native", "_parameters", "_random", "_tables", "optimize"},
    {"belief"},
    {"partition"},
    {"io", "datasets"},
    {"constraints", "dissimilarity"},
    {"metric", "mixture"},
    {"cluster", "classify"},
    {"model_selection"},
    {"plot"},
    {"report"},
    {"cli", "studio"},
]
# Values draw themselves: the one look upwards, taken when it is asked for.
LOOKS_UP = {("partition", "plot"), ("model_selection", "plot")}


def floor_of(part):
    return next(i for i, floor in enumerate(FLOORS) if part in floor)


def test_imports_only_point_down():
    wrong = []
    for file in SOURCE.rglob("*.py"):
        parts = file.relative_to(SOURCE).with_suffix("").parts
        if parts == ("__init__",) or parts == ("__main__",):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("evidentia"):
                names = [node.module]
                if node.module == "evidentia":
                    names = [f"evidentia.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                names = [alias.name for alias in node.names if alias.name.startswith("evidentia")]
            for name in names:
                target = (name.split(".") + [""])[1]
                if target in ("", "__version__", "FocalSets", "MassFunctions", "CredalPartition"):
                    continue
                if floor_of(target) > floor_of(parts[0]) and (parts[0], target) not in LOOKS_UP:
                    wrong.append(f"{'/'.join(parts)} imports {name}")
    assert not wrong


def test_packages_keep_their_private_parts():
    """No package imports a private module of another one, or a private name."""
    wrong = []
    for file in SOURCE.rglob("*.py"):
        parts = file.relative_to(SOURCE).with_suffix("").parts
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            paths = []
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("evidentia."):
                paths = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Import):
                paths = [alias.name for alias in node.names if alias.name.startswith("evidentia.")]
            for path in paths:
                _, package, *inside = path.split(".")
                if package != parts[0] and any(name.startswith("_") for name in inside):
                    wrong.append(f"{'/'.join(parts)} imports {path}")
    assert not wrong


def fresh(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_is_light():
    heavy = ["torch", "dask", "dash", "plotly", "numba", "pandas", "matplotlib", "sklearn", "scipy", "tqdm", "rich"]
    loaded = fresh(f"import sys, evidentia; print([m for m in {heavy!r} if m in sys.modules])")
    assert loaded.strip() == "[]"


def test_import_is_quick():
    """Under half a second in a fresh process; the best of five tries, as other programs may be running."""
    code = "import time; t = time.perf_counter(); import evidentia; print(time.perf_counter() - t)"
    assert min(float(fresh(code)) for _ in range(5)) < 0.5


def test_version_is_that_of_the_package():
    from importlib.metadata import version

    assert evidentia.__version__ == version("evidentia")


def test_clusterers_do_not_need_torch():
    loaded = fresh("import sys, evidentia.cluster, evidentia.datasets; print('torch' in sys.modules)")
    assert loaded.strip() == "False"
