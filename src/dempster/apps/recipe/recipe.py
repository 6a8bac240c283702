"""One run of a clustering method, described: what is read, how it is prepared, by which method it is clustered."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NoReturn

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.apps.recipe.attributes import MISSING
from dempster.apps.recipe.export import as_code, as_command, as_toml, parse_toml
from dempster.apps.recipe.labels import is_file_name
from dempster.io.atomic import as_path
from dempster.registry import MethodInfo, find_method, method_names, methods_that, methods_with

if TYPE_CHECKING:
    from dempster._progress import Listener
    from dempster.apps.recipe.model import RecipeResult


KINDS = ("table", "dissimilarities", "image")
_COLUMNS = ("columns", "exclude", "categories")
_NOT_FOR: dict[str, tuple[str, ...]] = {
    "table": (),
    "dissimilarities": _COLUMNS,
    "image": ("index", "header", "delimiter", "decimal", *_COLUMNS, "labels", "truth", "constraints"),
}
_NO_TABLE = {"dissimilarities": "the files hold dissimilarities", "image": "the file is an image"}
# parameters of estimators that a recipe has under names of its own
OWN_NAMES = {"n_clusters": "clusters", "random_state": "seed", "missing": "missing", "verbose": "progress"}


@dataclass(frozen=True)
class Recipe:
    """One run of a clustering method: it can be run, written to a file, and told as a command or as code.

    Parameters
    ----------
    files : str, path or sequence of them
        What is read. Several tables or matrices of the same objects are views, for the method "wmvec".
    kind : {"table", "dissimilarities", "image"}, default="table"
        What the files hold; an image if the method is "secm".
    header, delimiter, decimal, index : optional
        How a text file is read, as in `dempster.io.read_table` (``index`` is the column that names the rows).
    columns, exclude, categories, scale, missing
        Which attributes are clustered, as in `choose_attributes`. Labels and truth are never among them.
    method : str, default="evclus"
        One of `method_names`.
    clusters : int or "auto", default="auto"
        How many clusters.
    seed : int, default=0
        The same recipe and seed give the same masses, bit for bit.
    parameters : mapping, optional
        Further parameters of the method, by name (see `method_parameters`).
    constraints : str, optional
        A file of pairs that are known (see `dempster.constraints.read_constraints`).
    labels : str, optional
        Known labels of some rows, from which the method learns: a column of the table or, if the name ends as that of
        a table does (``.csv``), a file (see `read_labels`).
    truth : str, optional
        Labels with which the result is to be compared, given alike. The method does not see them.

    Examples
    --------
    >>> from dempster.apps.recipe import Recipe
    >>> recipe = Recipe("flowers.csv", method="ecm", clusters=3, parameters={"delta": 5})
    >>> print(recipe.to_command())
    dempster cluster flowers.csv -c 3 --method ecm --delta 5
    >>> print(recipe.to_code())
    from dempster.apps.recipe import choose_attributes
    from dempster.cluster import ECM
    from dempster.io import read_table
    <BLANKLINE>
    table = read_table("flowers.csv")
    attributes = choose_attributes(table)
    model = ECM(n_clusters=3, random_state=0, delta=5).fit(attributes.values)
    partition = model.credal_partition_
    print(partition.summary())
    >>> Recipe.from_toml(recipe.to_toml()) == recipe
    True
    """

    files: Sequence[str] = ()
    kind: str = "table"
    header: bool | None = None
    delimiter: str | None = None
    decimal: str | None = None
    index: str | None = None
    columns: Sequence[str] = ()
    exclude: Sequence[str] = ()
    categories: Sequence[str] = ()
    scale: bool = True
    missing: str = "refuse"
    method: str = "evclus"
    clusters: int | str = "auto"
    seed: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    constraints: str | None = None
    labels: str | None = None
    truth: str | None = None

    def __post_init__(self) -> None:
        given = [self.files] if isinstance(self.files, str | os.PathLike) else rule.listed(self.files, "files", "paths")
        files = tuple(os.fspath(as_path(file, "files")) for file in given)
        if not files:
            raise InvalidParameterError("files", message="files must name what is to be read, got none")
        rule.check(self.parameters, "parameters", rule.kind(Mapping, words="values by the names of parameters"))
        self._set(files=files, parameters=dict(self.parameters))
        for name in ("columns", "exclude", "categories"):
            self._set(**{name: rule.names(getattr(self, name), name, "names of columns")})
        for name in ("constraints", "labels", "truth"):
            if getattr(self, name) is not None:
                as_path(getattr(self, name), name)
                self._set(**{name: os.fspath(getattr(self, name))})  # a column may be called "km/", which no path is
        for name in ("delimiter", "decimal", "index"):
            rule.check(getattr(self, name), name, rule.choice(None) | rule.kind(str, words="text"))
        rule.check(self.header, "header", rule.choice(None) | rule.flag)
        rule.check_choice(self.kind, "kind", KINDS)
        rule.check_choice(self.missing, "missing", MISSING)
        rule.check(self.clusters, "clusters", rule.choice("auto") | rule.integer(1))
        rule.check(self.seed, "seed", rule.integer(0))
        rule.check_flags(scale=self.scale)
        self._check_method()

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _check_method(self) -> None:
        rule.check_choice(self.method, "method", method_names())
        for name in self.parameters:
            self._check_parameter(name)
        if self._can("images") and self.kind != "dissimilarities":
            self._set(kind="image")
        elif self.kind == "image":
            self._refuse("kind", f"an image needs method='secm', got {rule.shown(self.method)}", method="secm")
        if len(self.files) > 1 and not self._can("views"):
            text = f"several tables of the same objects need method='wmvec', got {rule.shown(self.method)}"
            self._refuse("files", text, method="wmvec")
        self._check_kind()
        if self.kind == "dissimilarities" and not self._can("dissimilarities"):
            others = ", ".join(methods_that("dissimilarities"))
            self._refuse("kind", f"method {self.method} cannot work with dissimilarities; take {others}")
        if self.categories and not self._can("mixed") and not self._can("categories"):
            others = ", ".join([*methods_that("mixed"), *methods_that("categories")])
            self._refuse("categories", f"method {self.method} works with numbers only; take {others}")
        if self.constraints is not None and not self._can("constraints"):
            others = ", ".join(methods_that("constraints"))
            self._refuse("constraints", f"method {self.method} does not learn from them; take {others}")
        if self.labels is not None and not self.learns_labels and not self._can("constraints"):
            others = ", ".join(dict.fromkeys([*methods_that("labels"), *methods_that("constraints")]))
            self._refuse("labels", f"method {self.method} does not learn from them; take {others}")
        self.settings()

    def _check_parameter(self, name: str) -> None:
        if self._info.parameter(name) is None:
            others = methods_with(name)
            elsewhere = f" ({', '.join(others)} do)" if others else ""
            known = ", ".join(one.name for one in self._info.parameters)
            self._refuse(str(name), f"method {self.method} has no such parameter{elsewhere}; it has {known}")
        if name in OWN_NAMES:
            self._refuse("parameters", f"{name} is set by {OWN_NAMES[name]}")

    def _check_kind(self) -> None:
        """Refuse options that concern a table if there is none, instead of ignoring them."""
        for name in _NOT_FOR[self.kind]:
            if getattr(self, name) not in (None, ()):
                self._refuse(name, f"{_NO_TABLE[self.kind]}, so that {name} cannot be chosen")
        if self.kind == "dissimilarities" and self.parameters.get("metric", "precomputed") != "precomputed":
            self._refuse("metric", f"{_NO_TABLE[self.kind]}, so that metric must be left out")

    def _refuse(self, name: str, reason: str, **settings: Any) -> NoReturn:
        raise InvalidParameterError(name, message=f"{name}: {reason}", settings=settings)

    @property
    def _info(self) -> MethodInfo:
        return find_method(self.method)

    def _can(self, capability: str) -> bool:
        return capability in self._info.capabilities

    # ---- what follows from it ---------------------------------------------------------------------------------------

    @property
    def learns_labels(self) -> bool:
        """Whether the method takes labels as such; others take them as constraints."""
        return self._can("labels")

    def settings(self) -> dict[str, Any]:
        """The parameters of the estimator that are not left at their defaults, by name."""
        found: dict[str, Any] = {}
        if self._info.parameter("n_clusters"):
            found["n_clusters"] = self.clusters
        elif self.clusters != "auto":
            reason = f"method {self.method} finds the number of clusters itself, take clusters='auto'"
            self._refuse("clusters", reason, clusters="auto")
        if self._info.parameter("random_state"):
            found["random_state"] = self.seed
        if self.kind == "dissimilarities":
            found["metric"] = "precomputed"
        elif self.categories and not self._can("categories"):
            found["metric"] = "gower"
        if self.missing == "partial":
            missing = self._info.parameter("missing")
            if missing is not None:
                found["missing"] = "partial" if "partial" in missing.words else "category"
            elif found.get("metric") != "gower":
                others = ", ".join(methods_that("missing"))
                reason = f"method {self.method} needs all values; take missing='drop', or one of the methods {others}"
                self._refuse("missing", reason, missing="drop")
        return found | dict(self.parameters)

    def estimator(self) -> Any:
        """The estimator, not fitted."""
        return self._info.load()(**self.settings())

    def reading_options(self) -> dict[str, Any]:
        """Arguments of `dempster.io.read_table` that are set."""
        given = {"index_col": self.index, "header": self.header, "delimiter": self.delimiter, "decimal": self.decimal}
        return {name: value for name, value in given.items() if value is not None}

    def choosing_options(self) -> dict[str, Any]:
        """Arguments of `choose_attributes` that are not left at their defaults."""
        told = [name for name in (self.labels, self.truth) if name is not None and not is_file_name(name)]
        given: dict[str, Any] = {
            "columns": list(self.columns),
            "exclude": [*self.exclude, *(name for name in dict.fromkeys(told) if name not in self.exclude)],
            "categories": list(self.categories),
        }
        given = {name: value for name, value in given.items() if value}
        if self._can("categories"):
            given["numbers"] = False
        if not self.scale:
            given["scale"] = False
        return given | ({} if self.missing == "refuse" else {"missing": self.missing})

    # ---- what is done with it ---------------------------------------------------------------------------------------

    def run(self, progress: bool | Listener = False, note: Callable[[str], None] | None = None) -> RecipeResult:
        """Read, prepare and cluster.

        Parameters
        ----------
        progress : bool or function, default=False
            True shows progress bars. A function is called with the name of the work, how many units are done, how many
            there are (None if nobody knows), what a unit is, and a word on the state.
        note : function, optional
            Is told in plain words, at once, what is found and done on the way; the outcome keeps all of it.

        Returns
        -------
        RecipeResult
        """
        from dempster.apps.recipe.run import run

        return run(self, progress, note)

    def to_command(self) -> str:
        """The line to type in a shell that does exactly this."""
        return as_command(self)

    def to_code(self) -> str:
        """Python code that does exactly this."""
        return as_code(self)

    def to_toml(self) -> str:
        """The recipe as text for a file; `from_toml` reads it."""
        return as_toml(self.to_dict())

    @classmethod
    def from_toml(cls, text: str) -> Recipe:
        """Read a recipe from the text of a file; keys that are not known are refused."""
        return cls.from_dict(parse_toml(text))

    def to_dict(self) -> dict[str, Any]:
        """Everything that is not left at its default, as plain values."""
        found = {}
        for one in fields(self):
            value = getattr(self, one.name)
            default = {} if one.name == "parameters" else one.default
            if value != default:
                found[one.name] = list(value) if isinstance(value, tuple) else value
        return found

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Recipe:
        """A recipe of plain values; names that are not known are refused."""
        known = [one.name for one in fields(cls)]
        strange = [name for name in values if name not in known]
        if strange:
            raise InvalidInputError(f"a recipe has no {strange[0]!r}; it has {', '.join(known)}")
        if not isinstance(values.get("parameters", {}), Mapping):
            message = f"parameters must be given by name, got {values['parameters']!r}"
            raise InvalidParameterError("parameters", message=message)
        return cls(**values)
