"""The methods, and the parameters of each, as their classes declare them.

One source: signature and docstring of the class. Both are read from the text of its module, so that asking costs
milliseconds and imports nothing; `load_method` imports the class itself when it is to be used.
"""

from __future__ import annotations

import ast
import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from dempster._errors import InvalidInputError
from dempster._validation import check_choice

__all__ = [
    "Parameter",
    "method_names",
    "method_summary",
    "method_parameters",
    "method_takes",
    "methods_with",
    "load_method",
    "parse_value",
    "checked_parameters",
]

_PACKAGE = Path(__file__).parents[2]
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
REQUIRED = "(required)"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a method.

    Attributes
    ----------
    name : str
    default : object
        `REQUIRED` if there is none.
    kind : str
        What it may be, in the words of the docstring, such as ``float > 0 or "auto"``.
    help : str
        What it means, in the words of the docstring.

    Examples
    --------
    >>> from dempster.apps.recipe import method_parameters
    >>> metric = next(one for one in method_parameters("ecm") if one.name == "metric")
    >>> metric.default, metric.choices
    ('euclidean', ('euclidean', 'adaptive'))
    """

    name: str
    default: Any
    kind: str
    help: str

    @property
    def choices(self) -> tuple[str, ...]:
        """The words it may be, of ``{"euclidean", "adaptive"}``; empty where it may be something else too."""
        found = re.fullmatch(r"\{([^{}]*)\}", self.kind)
        return tuple(re.findall(r'"([^"]*)"', found[1])) if found else ()

    @property
    def words(self) -> tuple[str, ...]:
        """All words of its kind, for completion."""
        return tuple(dict.fromkeys(re.findall(r'"([^"]*)"', self.kind)))

    @property
    def is_flag(self) -> bool:
        return self.kind == "bool"


# ---- which methods there are ----------------------------------------------------------------------------------------


def method_names(package: str = "cluster") -> list[str]:
    """Names of the methods of ``dempster.cluster`` (or "classify") as they are typed: ``ecm`` for the class `ECM`.

    Parameters
    ----------
    package : {"cluster", "classify"}, default="cluster"

    Examples
    --------
    >>> from dempster.apps.recipe import method_names
    >>> method_names()[:4]
    ['bootclus', 'bpec', 'catecm', 'ccm']
    """
    return sorted(_known(package))


def load_method(name: str, package: str = "cluster") -> Any:
    """The class of a method, imported."""
    return getattr(import_module(f"dempster.{package}"), _record(name, package).class_name)


def method_summary(name: str, package: str = "cluster") -> str:
    """The first sentence of the docstring of a method.

    Parameters
    ----------
    name : str
        One of `method_names`.
    package : {"cluster", "classify"}, default="cluster"

    Examples
    --------
    >>> from dempster.apps.recipe import method_summary
    >>> method_summary("catecm")
    'Categorical evidential c-means: `ECM` for tables of categories.'
    """
    text = _record(name, package).docstring
    return " ".join(text.strip().split("\n\n")[0].split())


def method_parameters(name: str, package: str = "cluster") -> tuple[Parameter, ...]:
    """The parameters of a method, in the order of its constructor.

    Parameters
    ----------
    name : str
        One of `method_names`.
    package : {"cluster", "classify"}, default="cluster"

    Examples
    --------
    >>> from dempster.apps.recipe import method_parameters
    >>> alpha = {parameter.name: parameter for parameter in method_parameters("ecm")}["alpha"]
    >>> alpha.default, alpha.kind
    (1.0, 'float >= 0')
    >>> alpha.help
    'Penalty of large sets: larger values give smaller sets.'
    """
    _record(name, package)
    return _parameters(name, package)


def method_takes(name: str, argument: str, package: str = "cluster") -> bool:
    """Whether the constructor has this parameter or, for ``constraints``, ``y`` and the like, whether `fit` learns
    from it."""
    record = _record(name, package)
    return argument in record.defaults or argument in record.fit


def methods_with(argument: str, package: str = "cluster") -> list[str]:
    """Names of the methods that take an argument (see `method_takes`)."""
    return [name for name in method_names(package) if method_takes(name, argument, package)]


# ---- values that were typed -----------------------------------------------------------------------------------------


def parse_value(text: str) -> Any:
    """``5``, ``0.5``, ``true``, ``none``, ``[10, 10]`` or any other text, as it was typed."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if text.startswith("["):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return text
    return text


def checked_parameters(name: str, parameters: Mapping[str, Any], package: str = "cluster") -> dict[str, Any]:
    """Refuse parameters that the method does not have, in words that say which it has."""
    known = [parameter.name for parameter in method_parameters(name, package)]
    for key in parameters:
        if key not in known:
            others = methods_with(key, package) if str(key).isidentifier() else []
            elsewhere = f" ({', '.join(others)} do)" if others else ""
            raise InvalidInputError(f"{key}: method {name} has no such parameter{elsewhere}; it has {', '.join(known)}")
    return dict(parameters)


# ---- reading the source ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Record:
    class_name: str
    docstring: str
    defaults: Mapping[str, Any]
    fit: tuple[str, ...]  # arguments of `fit` that carry something


@cache
def _classes(package: str) -> dict[str, _Record]:
    found = {}
    for node in _tree(f"dempster.{package}").body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                record = _read_class(node.module, alias.name)
                if record is not None and _is_method(record, package):
                    # a clusterer is known by its published name, a classifier by that of its file
                    short = alias.name.lower() if package == "cluster" else node.module.rpartition(".")[2]
                    found[short.replace("_", "-")] = record
    return found


def _is_method(record: _Record, package: str) -> bool:
    """A clusterer says that it makes credal partitions; a classifier is called one, and needs no other estimator."""
    if package == "cluster":
        return re.search(r"^credal_partition_\b", _sections(record.docstring).get("Attributes", ""), re.M) is not None
    return record.class_name.endswith("Classifier") and "estimator" not in record.defaults


def _known(package: str) -> dict[str, _Record]:
    check_choice(package, "package", ("cluster", "classify"))
    return _classes(package)


def _record(name: str, package: str) -> _Record:
    known = _known(package)
    check_choice(name, "name", sorted(known))
    return known[name]


@cache
def _tree(module: str) -> ast.Module:
    path = _PACKAGE.parent.joinpath(*module.split("."))
    path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return ast.parse(path.read_text(encoding="utf-8"))


def _read_class(module: str, name: str) -> _Record | None:
    node = _class_node(module, name)
    init, fit = _function(module, name, "__init__"), _function(module, name, "fit")
    if node is None or init is None or fit is None:
        return None
    learned = [a.arg for a in (*fit.args.args[1:], *fit.args.kwonlyargs) if not _is_none(a.annotation)]  # no self
    return _Record(name, ast.get_docstring(node) or "", _defaults(init.args), tuple(learned))


def _class_node(module: str, name: str) -> ast.ClassDef | None:
    return next((n for n in _tree(module).body if isinstance(n, ast.ClassDef) and n.name == name), None)


def _function(module: str, name: str, function: str) -> ast.FunctionDef | None:
    """A method of a class, or of the nearest of its bases in this package that has it."""
    node = _class_node(module, name)
    if node is None:
        source = next(
            (
                n.module
                for n in _tree(module).body
                if isinstance(n, ast.ImportFrom) and any(alias.name == name for alias in n.names)
            ),
            None,
        )
        return _function(source, name, function) if source and source.startswith("dempster") else None
    own = next((part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == function), None)
    if own is not None:
        return own
    bases = (ast.unparse(base.value if isinstance(base, ast.Subscript) else base) for base in node.bases)
    return next((found for base in bases if (found := _function(module, base, function)) is not None), None)


def _is_none(annotation: ast.expr | None) -> bool:
    """An argument that is there for scikit-learn only: ``y: None = None``."""
    return isinstance(annotation, ast.Constant) and annotation.value is None


def _defaults(arguments: ast.arguments) -> dict[str, Any]:
    positional = arguments.args[1:]  # without self
    given: Sequence[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    pairs = [*zip(positional, given, strict=True), *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]
    return {a.arg: REQUIRED if value is None else ast.literal_eval(value) for a, value in pairs}


@cache
def _parameters(name: str, package: str) -> tuple[Parameter, ...]:
    record = _record(name, package)
    told = _told(_sections(record.docstring).get("Parameters", ""))
    return tuple(Parameter(key, default, *told.get(key, ("", ""))) for key, default in record.defaults.items())


def _sections(docstring: str) -> dict[str, str]:
    """The sections of a docstring, by their titles."""
    parts = _SECTION.split(docstring)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _told(section: str) -> dict[str, tuple[str, str]]:
    """Kind and meaning of each parameter; ``a, b : float`` tells of two."""
    found = {}
    for entry in re.split(r"\n(?=\S)", section.strip("\n")):
        head, _, body = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        kind = re.sub(r",?\s*(default\b.*|optional)$", "", kind.strip())
        text = " ".join(textwrap.dedent(body).split()).replace("``", "")
        for name in names.split(","):
            found[name.strip()] = (kind, text)
    return found
