"""Describe a run of a clustering method by the input files, their preparation, and the method."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NoReturn

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.apps.methods import (
    METHODS,
    MethodInfo,
    default_method,
    method_names,
    methods_that,
)
from dempster.apps.recipe.attributes import MISSING, SCALE
from dempster.apps.recipe.export import parse_toml, to_code, to_command, to_toml
from dempster.apps.recipe.labels import is_file_name
from dempster.io.atomic import as_path
from dempster.io.tables import INDEX_COL

if TYPE_CHECKING:
    from dempster._progress import Listener
    from dempster.apps.recipe.model import RecipeResult


KINDS = ("table", "dissimilarities", "image")
_COLUMNS = ("columns", "exclude", "categories")
FORMAT = ("index", "header", "delimiter", "decimal", "sheet", "na_values")
_KNOWLEDGE = ("labels", "truth", "constraints")
_OTHER_KINDS = {
    "dissimilarities": "the files contain dissimilarities",
    "image": "the file is an image",
}
# Fields that have no meaning for files that are not tables.
_TABLE_FIELDS = {
    "dissimilarities": (*_COLUMNS, "sheet", "na_values", "confidence"),
    "image": (*_COLUMNS, *FORMAT, *_KNOWLEDGE, "confidence"),
}
# Fields that need one of several capabilities of the method, with what the other methods lack.
_NEEDED_CAPABILITIES = {
    "categories": ("needs numeric columns", "mixed", "categories"),
    "constraints": ("cannot use constraints", "constraints"),
    "labels": ("cannot use labels", "labels", "constraints"),
}
_TEXT = rule.none | rule.kind(str, words="text")
_RULES = {
    "index": INDEX_COL,
    "parameters": rule.kind(Mapping, words="a mapping of parameters"),
    **dict.fromkeys(("delimiter", "decimal", "sheet"), _TEXT),
    "header": rule.none | rule.flag,
    "kind": rule.choice(*KINDS),
    "missing": rule.choice(*MISSING),
    "method": rule.choice("auto", *method_names(), *method_names("labels")),
    "clusters": rule.auto | rule.positive_integer,
    "seed": rule.integer(0),
    "confidence": rule.none | rule.proper_share,
    "scale": SCALE,
    **dict.fromkeys(("outlier_weight", "ambiguity_weight"), rule.positive),
}
# Parameters of estimators that have a different name in a recipe.
_RESERVED = {
    "n_clusters": "clusters",
    "random_state": "seed",
    "missing": "missing",
    "scale": "scale",
    "verbose": "progress",
}


@dataclass(frozen=True)
class Recipe:
    """Description of a run of a clustering method, which can be run, saved and exported.

    It can be exported as a shell command, as Python code and as TOML.

    Parameters
    ----------
    files : str, path or sequence of str or path
        Input files. Several tables of the same objects are the views of the method "wmvec".
    kind : {"table", "dissimilarities", "image"}, default="table"
        Content of the files. It is always "image" if the method is "secm".
    header, delimiter, decimal, index, sheet, na_values : optional
        Format of a file (see `dempster.io.read_table`). ``index`` is the column with the names of
        the rows. By default, a column of short texts that differ in every row names them, if there
        is one (see `choose_attributes`); False: they have no names.
    columns, exclude, categories, scale, missing
        Selection of the columns and rows (see `choose_attributes`). The columns ``labels`` and
        ``truth`` are always excluded. The default ``scale="auto"`` is True if the method does not
        scale the columns itself, and False for the metric "cosine".
    method : str, default="auto"
        Name of the class in lowercase letters, such as "ecm" (``dempster cluster --help`` lists
        them). "auto" is "credal", or "evclus" with constraints or labels. "doubt" keeps the
        clusters in ``labels``, which another program found, and estimates the doubt about them.
    clusters : int or "auto", default="auto"
        Number of clusters.
    seed : int, default=0
        Seed of the random numbers. The same recipe and seed give exactly the same masses.
    parameters : mapping, optional
        Further parameters of the method, by name (see the class in `dempster.cluster`).
    constraints : str, optional
        File of pairs of objects in the same or in different clusters (see
        `dempster.constraints.read_constraints`).
    labels : str, optional
        Known labels of some rows, which the method uses. The value is the name of a column, or a
        file with the extension of a table, such as ``.csv`` (see `read_labels`).
    truth : str, optional
        True labels, with which the result is compared, as a column or file like ``labels``. The
        method does not use them.
    confidence : float in (0, 1), optional
        Confidence of the sets of clusters that `dempster.cluster.ConformalClustering` computes in
        addition to the masses. It fits the method thirteen times, to a table of numbers without
        missing values, constraints or labels.
    outlier_weight, ambiguity_weight : float, default=1
        Positive weights of the empty set and of sets of several clusters (see `reweight_sets`).
        Values below 1 give fewer outliers or fewer ambiguous objects.

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
    index: str | bool | None = None
    sheet: str | None = None
    na_values: Sequence[str] = ()
    columns: Sequence[str] = ()
    exclude: Sequence[str] = ()
    categories: Sequence[str] = ()
    scale: bool | str = "auto"
    missing: str = "refuse"
    method: str = "auto"
    clusters: int | str = "auto"
    seed: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict, hash=False)
    constraints: str | None = None
    labels: str | None = None
    truth: str | None = None
    confidence: float | None = None
    outlier_weight: float = 1.0
    ambiguity_weight: float = 1.0

    def __post_init__(self) -> None:
        files = self.files
        if isinstance(files, str | os.PathLike):
            files = [files]
        files = rule.as_list(files, "files", "paths")
        if not files:
            raise InvalidParameterError("files", must="name at least one file")
        self._set("files", tuple(os.fspath(as_path(file, "files")) for file in files))
        rule.check_parameters(self, _RULES)
        self._set("parameters", dict(self.parameters))
        for name in _COLUMNS:
            self._set(
                name, rule.as_names(getattr(self, name), name, "names of columns")
            )
        self._set("na_values", rule.as_names(self.na_values, "na_values", "texts"))
        for name in _KNOWLEDGE:
            source = getattr(self, name)
            if source is not None:
                as_path(source, name)
                # The text is not converted to a path, because this would change a column name such
                # as "km/" to "km".
                self._set(name, os.fspath(source))
        if self.method == "auto":
            constrained = bool(self.constraints or self.labels)
            self._set("method", default_method(constrained=constrained))
        self._check_parameters()
        self._check_method()
        self.settings()

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_parameters(self) -> None:
        """Raise an error for parameters that the method does not have or that a field sets."""
        for name in self.parameters:
            if self._info.parameter(name) is None:
                known = ", ".join(parameter.name for parameter in self._info.parameters)
                reason = f"method {self.method} has no such parameter; it has {known}"
                self._reject(str(name), reason)
            if name in _RESERVED:
                self._reject("parameters", f"{name} is set by {_RESERVED[name]}")

    def _check_method(self) -> None:
        """Raise an error if the method does not support the files or another field."""
        method = rule.format_value(self.method)
        if self._can("images") and self.kind != "dissimilarities":
            self._set("kind", "image")
        elif self.kind == "image":
            self._reject("kind", f"an image needs method='secm', got {method}")
        if len(self.files) > 1 and not self._can("views"):
            reason = (
                f"several tables of the same objects need method='wmvec', got {method}"
            )
            self._reject("files", reason)
        for name in _TABLE_FIELDS.get(self.kind, ()):
            if getattr(self, name) not in (None, ()):
                self._reject(
                    name, f"{_OTHER_KINDS[self.kind]}, so {name} cannot be set"
                )
        if self.kind == "dissimilarities":
            if self.parameters.get("metric", "precomputed") != "precomputed":
                self._reject(
                    "metric", f"{_OTHER_KINDS[self.kind]}, so metric cannot be set"
                )
            self._check_capability(
                "kind", "cannot use dissimilarities", "dissimilarities"
            )
        for name, (reason, *capabilities) in _NEEDED_CAPABILITIES.items():
            if getattr(self, name) not in (None, ()):
                self._check_capability(name, reason, *capabilities)
        if self.confidence is not None:
            self._check_confidence()
        if self.keeps_labels and self.labels is None:
            self._reject("labels", "method doubt needs labels, a column or a file")

    def _check_confidence(self) -> None:
        """Raise an error unless the method can be refitted to bootstrap samples of the rows."""
        if self._info.parameter("confidence"):
            reason = (
                f"method {self.method} has its own parameter confidence; "
                "set it among the parameters"
            )
        elif self.constraints is not None or self.labels is not None:
            reason = "sets of clusters cannot be computed with constraints or labels"
        elif self.categories or self._can("categories") or self.missing == "partial":
            reason = "sets of clusters need numeric columns without missing values"
        else:
            return
        self._reject("confidence", reason)

    def _check_capability(self, name: str, reason: str, *capabilities: str) -> None:
        """Raise an error about the field ``name`` unless the method has one of the capabilities."""
        if not any(map(self._can, capabilities)):
            others = [
                other
                for capability in capabilities
                for other in methods_that(capability)
            ]
            names = ", ".join(dict.fromkeys(others))
            self._reject(name, f"method {self.method} {reason}; use one of {names}")

    def _reject(self, name: str, reason: str) -> NoReturn:
        raise InvalidParameterError(name, message=f"{name}: {reason}")

    @property
    def _info(self) -> MethodInfo:
        return METHODS[self.method]

    def _can(self, capability: str) -> bool:
        return capability in self._info.capabilities

    @property
    def learns_labels(self) -> bool:
        """Whether the method uses labels directly.

        For other methods they are converted to constraints.
        """
        return self._can("labels")

    @property
    def keeps_labels(self) -> bool:
        """Whether the labels are clusters, about which the method estimates the doubt."""
        return self._info.package == "labels"

    def settings(self) -> dict[str, Any]:
        """Return the parameters that the recipe sets on the estimator.

        Returns
        -------
        dict
            Names and values of the parameters.
        """
        settings: dict[str, Any] = {}
        if self._info.parameter("n_clusters"):
            settings["n_clusters"] = self.clusters
        elif self.clusters != "auto":
            reason = f"method {self.method} selects the number of clusters itself"
            self._reject("clusters", f"{reason} (clusters='auto')")
        if self._info.parameter("random_state"):
            settings["random_state"] = self.seed
        if not self.scale and self._info.parameter("scale"):
            settings["scale"] = False
        if self.kind == "dissimilarities":
            settings["metric"] = "precomputed"
        elif self.categories and not self._can("categories"):
            settings["metric"] = "gower"
        if self.missing == "partial":
            missing = self._info.parameter("missing")
            if missing is not None:
                settings["missing"] = (
                    "partial" if "partial" in missing.words else "category"
                )
            elif settings.get("metric") != "gower":
                others = ", ".join(methods_that("missing"))
                reason = (
                    f"method {self.method} needs complete rows; leave out the others "
                    f"(missing='drop'), or use one of the methods {others}"
                )
                self._reject("missing", reason)
        return settings | dict(self.parameters)

    def estimator(self) -> Any:
        """Return the unfitted estimator.

        Returns
        -------
        estimator
        """
        return self._info.load()(**self.settings())

    def reading_options(self) -> dict[str, Any]:
        """Return the arguments of `dempster.io.read_table` that the recipe sets.

        Returns
        -------
        dict
            Names and values of the arguments.
        """
        values = {name: getattr(self, name) for name in FORMAT}
        values["index_col"] = values.pop("index")
        return {
            name: value for name, value in values.items() if value not in (None, ())
        }

    def choosing_options(self) -> dict[str, Any]:
        """Return the arguments of `choose_attributes` that differ from their defaults.

        Returns
        -------
        dict
            Names and values of the arguments.
        """
        labels = [
            name
            for name in (self.labels, self.truth)
            if name and not is_file_name(name)
        ]
        selection = {
            "columns": list(self.columns),
            "exclude": list(dict.fromkeys([*self.exclude, *labels])),
            "categories": list(self.categories),
        }
        options: dict[str, Any] = {
            name: value for name, value in selection.items() if value
        }
        if self._can("categories"):
            options["numbers"] = False
        # Standardization would move the origin, and change the angles.
        has_angles = self.parameters.get("metric") == "cosine"
        if self.scale is False or (self.scale == "auto" and has_angles):
            options["scale"] = False
        elif self.scale == "auto" and (
            self._info.parameter("scale") or self.keeps_labels
        ):
            options["scale"] = "auto"
        if self.missing != "refuse":
            options["missing"] = self.missing
        if self.index is False:
            options["index_col"] = False
        return options

    def run(
        self,
        progress: Listener | None = None,
        note: Callable[[str], None] | None = None,
    ) -> RecipeResult:
        """Read and prepare the data, and cluster them.

        Parameters
        ----------
        progress : function, optional
            Function that is called with the name of the task, the number of finished steps, the
            total number of steps (None if unknown), the word for a step (such as "iterations"), and
            a text about the current state.
        note : function, optional
            Function that is called with each note on the data, for example about columns that are
            left out. The result contains all notes.

        Returns
        -------
        RecipeResult
        """
        from dempster.apps.recipe.run import run

        return run(self, progress, note)

    def to_command(self) -> str:
        """Return the shell command that runs the recipe.

        Returns
        -------
        str
        """
        return to_command(self)

    def to_code(self) -> str:
        """Return Python code that runs the recipe.

        Returns
        -------
        str
        """
        return to_code(self)

    def to_toml(self) -> str:
        """Return the recipe as TOML, which `from_toml` can parse.

        Returns
        -------
        str
        """
        return to_toml(self.to_dict())

    @classmethod
    def from_toml(cls, text: str) -> Recipe:
        """Return the recipe in a TOML text; unknown keys raise an error.

        Parameters
        ----------
        text : str
            Fields of a recipe in TOML, such as the result of `to_toml`.

        Returns
        -------
        Recipe
        """
        return cls.from_dict(parse_toml(text))

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary of the fields that differ from their defaults.

        Returns
        -------
        dict
            Names and values of the fields.
        """
        values = {}
        for one in fields(self):
            value = getattr(self, one.name)
            default = {} if one.name == "parameters" else one.default
            if value != default:
                values[one.name] = list(value) if isinstance(value, tuple) else value
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Recipe:
        """Return a recipe from a dictionary of fields; unknown names raise an error.

        Parameters
        ----------
        values : mapping
            Names and values of fields. Omitted fields have their defaults.

        Returns
        -------
        Recipe
        """
        known = [one.name for one in fields(cls)]
        unknown = [name for name in values if name not in known]
        if unknown:
            message = f"a recipe has no field {unknown[0]!r}; it has {', '.join(known)}"
            raise InvalidInputError(message)
        return cls(**values)
