"""The architecture: allowed imports between packages, private parts, and the cost of an import.

The tests read the source of the package, so that the rules also hold for imports that only type
checkers follow.
"""

import ast
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

import dempster

SOURCE = Path(dempster.__file__).parent
MODULES = {
    ".".join(
        ("dempster", *file.relative_to(SOURCE).with_suffix("").parts)
    ).removesuffix(".__init__"): file
    for file in sorted(SOURCE.rglob("*.py"))
}

# From the bottom up. A module imports from its own layer or from a lower one.
LAYERS = [
    {
        "_arrays",
        "_blas",
        "_errors",
        "_fitting",
        "_native",
        "_progress",
        "_random",
        "_site",
        "_text",
    }
    | {"_types", "_validation", "data", "optimize"},
    {"belief"},
    {"partition"},
    {"io", "datasets"},
    {"constraints", "dissimilarity"},
    {"metric", "mixture"},
    {"posterior"},
    {"cluster", "classify", "nn"},
    {"model_selection", "explain", "labels"},
    {"plot"},
    {"persistence", "onnx"},
    {"apps", "integrations"},
]
# Imports from a higher layer, inside functions, with their reasons.
UPWARD = {
    ("partition", "plot"): "CredalPartition.plot",
    ("partition", "explain"): "CredalPartition.review",
    ("partition", "labels"): "CredalPartition.with_doubt",
    ("cluster", "plot"): "NumberOfClusters.plot",
    ("cluster", "labels"): "update matches the clusters of a stream",
    ("model_selection", "plot"): "results plot themselves",
    ("explain", "plot"): "results plot themselves",
    ("labels", "plot"): "results plot themselves",
    ("partition", "io"): "LazyCredalPartition.to_parquet writes block by block",
}
# These packages read private parts of estimators, which they write to files and graphs.
READ_PRIVATE_PARTS = {"persistence", "onnx"}
# Several methods can start from its centers.
SHARED_ESTIMATORS = {"BeliefPeaks"}


# ---- parsing the package -------------------------------------------------------------------------


@cache
def tree(module):
    return ast.parse(MODULES[module].read_text(encoding="utf-8"))


@cache
def nodes_of(module):
    """Return all nodes of the tree of a module."""
    return list(ast.walk(tree(module)))


def outside_functions(nodes):
    """Yield nodes that are executed, or read by a type checker, when a file is imported."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        yield node
        yield from outside_functions(ast.iter_child_nodes(node))


@cache
def imported_names(module, inside_functions=True):
    """Return pairs (module, name) that a module imports from the package.

    The name is empty for a module itself.
    """
    if inside_functions:
        nodes = nodes_of(module)
    else:
        nodes = outside_functions(tree(module).body)
    found = set()
    for node in nodes:
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").split(".")[0] == "dempster"
        ):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(
                    (inner, "") if inner in MODULES else (node.module, alias.name)
                )
        elif isinstance(node, ast.Import):
            found |= {
                (alias.name, "")
                for alias in node.names
                if alias.name.split(".")[0] == "dempster"
            }
    return frozenset(found)


def defining_module(module, name):
    """Return the module that defines a name which a package re-exports in its ``__init__``."""
    if name and MODULES[module].name == "__init__.py":
        for source, reexported in imported_names(module):
            if reexported == name and source != module:
                return defining_module(source, name)
    return module


def imported_files(module, inside_functions):
    """Return the modules that a module imports, including those of re-exported names, without packages."""
    found = {
        defining_module(*target) for target in imported_names(module, inside_functions)
    }
    return {
        target for target in found - {module} if MODULES[target].name != "__init__.py"
    }


def package_of(module):
    """Return the top-level package or module of a module."""
    return (module.split(".") + [""])[1]


def is_private(module):
    return any(part.startswith("_") for part in module.split(".")[1:])


def public_names(package):
    for node in tree(f"dempster.{package}").body:
        if (
            isinstance(node, ast.Assign)
            and getattr(node.targets[0], "id", "") == "__all__"
        ):
            return ast.literal_eval(node.value)
    return []


@cache
def estimators():
    """Return the public classes with a method `fit`."""
    nodes = [node for module in MODULES for node in nodes_of(module)]
    classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}

    def fits(name):
        node = classes.get(name)
        if node is None:
            return False
        own = any(
            isinstance(part, ast.FunctionDef) and part.name == "fit"
            for part in node.body
        )
        return own or any(fits(getattr(base, "id", "")) for base in node.bases)

    packages = ("cluster", "classify", "metric", "mixture", "dissimilarity")
    return {
        name for package in packages for name in public_names(package) if fits(name)
    }


# ---- allowed imports -----------------------------------------------------------------------------


def layer_of(package):
    return next(i for i, layer in enumerate(LAYERS) if package in layer)


def test_every_package_has_a_layer():
    packages = {package_of(module) for module in MODULES} - {"", "__main__"}
    assert packages == set().union(*LAYERS)
    assert len(packages) == sum(map(len, LAYERS))


def upward_imports(inside_functions):
    """Return pairs of packages, the second in a higher layer, with the imports."""
    found = {}
    for module in set(MODULES) - {"dempster", "dempster.__main__"}:
        here = package_of(module)
        for target, name in imported_names(module, inside_functions):
            there = package_of(target)
            if there and layer_of(there) > layer_of(here):
                found.setdefault((here, there), []).append(
                    f"{module} imports {target} {name}"
                )
    return found


def test_imports_only_point_down():
    assert not upward_imports(inside_functions=False)
    found = upward_imports(inside_functions=True)
    assert not {pair: imports for pair, imports in found.items() if pair not in UPWARD}
    assert not UPWARD.keys() - found.keys(), (
        "an entry of UPWARD for an import that does not exist"
    )


def test_no_circular_imports():
    """Circles are not allowed for typing either, and among the clusterers not inside functions."""
    imports_of = {
        m: imported_files(m, inside_functions=m.startswith("dempster.cluster"))
        for m in MODULES
    }

    def shortest_circle(module):
        paths = [[module]]
        seen = set()
        for path in paths:
            for target in sorted(imports_of[path[-1]] - seen):
                if target == module:
                    return " -> ".join([*path, target])
                seen.add(target)
                paths.append([*path, target])
        return None

    assert not [circle for module in MODULES if (circle := shortest_circle(module))]


def test_private_modules_import_no_estimators():
    """Code that several methods share must not depend on one of them."""
    wrong = []
    for module in MODULES:
        if is_private(module) and package_of(module) not in READ_PRIVATE_PARTS:
            wrong += [
                f"{module} imports {name}"
                for _, name in imported_names(module)
                if name in estimators() - SHARED_ESTIMATORS
            ]
    assert not wrong


# ---- private parts -------------------------------------------------------------------------------


def test_no_private_imports_between_packages():
    """No package imports a private module or a private name of another one."""
    wrong = []
    for module in MODULES:
        for target, name in imported_names(module):
            _, package, *inside = [*target.split("."), ""]
            private = [
                part
                for part in (*inside, name)
                if part.startswith("_") and not part.endswith("__")
            ]
            if (
                package != package_of(module)
                and private
                and package_of(module) not in READ_PRIVATE_PARTS
            ):
                wrong.append(f"{module} imports {target} {name}")
    assert not wrong


def defined_names(module):
    """Yield functions, classes, and names or attributes that are assigned."""
    for node in nodes_of(module):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(
            node.ctx, ast.Store
        ):
            yield node.id if isinstance(node, ast.Name) else node.attr


def test_private_attributes_stay_in_their_package():
    """``something._name`` is read only in the package that defines the name."""
    of_named_tuples = {"_replace", "_asdict", "_fields", "_field_defaults", "_make"}
    defined: dict[str, set[str]] = {}
    for module in MODULES:
        defined.setdefault(package_of(module), set()).update(defined_names(module))
    wrong = []
    for module in MODULES:
        if package_of(module) in READ_PRIVATE_PARTS:
            continue
        for node in nodes_of(module):
            if (
                not isinstance(node, ast.Attribute)
                or not node.attr.startswith("_")
                or node.attr.endswith("__")
            ):
                continue
            own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
            if (
                not own
                and node.attr not in defined[package_of(module)] | of_named_tuples
            ):
                wrong.append(f"{module}:{node.lineno} reads {ast.unparse(node)}")
    assert not wrong


# ---- cost of imports -----------------------------------------------------------------------------


def fresh(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout


def test_import_is_light():
    heavy = [
        "torch",
        "dask",
        "dash",
        "plotly",
        "pandas",
        "matplotlib",
        "sklearn",
        "scipy",
        "tqdm",
        "rich",
    ]
    for module, others in (
        ("dempster", heavy),
        ("dempster.apps.methods", [*heavy, "numpy"]),
    ):
        loaded = fresh(
            f"import sys, {module}; print([m for m in {others!r} if m in sys.modules])"
        )
        assert loaded.strip() == "[]"


SLOW = [
    *("matplotlib", "pyarrow", "polars", "torch", "dask", "joblib", "tqdm", "rich"),
    *("click", "lzma", "multiprocessing", "uvicorn", "scipy.stats", "scipy.optimize"),
    *("scipy.integrate", "scipy.interpolate", "scipy.cluster", "scipy.ndimage"),
    *("scipy.signal", "scipy.io", "scipy.sparse.linalg", "sklearn.metrics"),
    *("sklearn.neighbors", "sklearn.cluster", "sklearn.decomposition"),
    *("sklearn.linear_model", "sklearn.mixture", "sklearn.model_selection"),
    *("sklearn.preprocessing", "sklearn.feature_selection", "sklearn.datasets"),
]


@pytest.mark.parametrize(
    ("module", "slow"),
    [
        ("dempster.cluster", [*SLOW, "pandas", "narwhals"]),
        ("dempster.apps.report", SLOW),
        ("dempster.apps.studio.worker", SLOW),
    ],
)
def test_imports_are_light(module, slow):
    """A module needs no slow modules beyond those of scikit-learn's base class.

    A module that is None in ``sys.modules`` cannot be imported.
    """
    code = f"""
import sys
import sklearn.base, sklearn.utils.multiclass, sklearn.utils.validation
for name in {slow!r}:
    package, _, module = name.rpartition('.')
    vars(sys.modules.get(package, sys)).pop(module, None)
    sys.modules[name] = None
try:
    import {module}
except ImportError as error:
    print(error)
"""
    assert fresh(code) == ""


def test_lazy_attributes():
    code = """
import sys, dempster
print([m for m in sys.modules if m.startswith('dempster.')])
print(dempster.FocalSets.__name__, 'cluster' in dir(dempster))
print(dempster.cluster.ECM.__name__, dempster.plot.ShepardDisplay.__name__, dempster.datasets.load_iris.__name__)
print([m for m in ('torch', 'matplotlib') if m in sys.modules])
"""
    assert fresh(code).splitlines() == [
        "[]",
        "FocalSets True",
        "ECM ShepardDisplay load_iris",
        "[]",
    ]
    packages = {file.parent.name for file in SOURCE.glob("*/__init__.py")} - {
        "_native",
        "optimize",
        "data",
        "posterior",
    }
    assert set(dempster._PACKAGES) == packages
    with pytest.raises(AttributeError, match="no attribute 'clusters'"):
        dempster.clusters  # noqa: B018


def test_version():
    from importlib.metadata import version

    assert dempster.__version__ == version("dempster")


def test_every_extra_is_used():
    """Some module imports each requirement of an extra, except scanpy, which only its page needs."""
    project = SOURCE.parents[1] / "pyproject.toml"
    if not project.exists():
        pytest.skip("installed without its project file")
    extras = tomllib.loads(project.read_text())["project"]["optional-dependencies"]
    text = "".join(file.read_text() for file in MODULES.values())
    for extra in extras.keys() - {"all", "test", "docs", "workflows"}:
        for requirement in extras[extra]:
            name = requirement.split(">")[0]
            if name == "scanpy":
                continue
            assert f"import {name}" in text or f"from {name}" in text, (
                f"{extra}: no module imports {name}"
            )
