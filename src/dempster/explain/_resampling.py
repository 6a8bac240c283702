"""The same method on samples of the same objects: what is drawn, what comes with it, and the fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _num_samples

from dempster._errors import InvalidInputError
from dempster._validation import is_estimator, object_index, order_of_names, ordered_like, reading_table, shown
from dempster.constraints import Constraints
from dempster.dissimilarity.views import Views, square_part
from dempster.explain._subject import partition_of
from dempster.optimize.blocks import fits_in_threads, n_threads
from dempster.partition import CredalPartition

__all__ = ["Resampling", "Refit"]


@dataclass(frozen=True, eq=False)
class Refit:
    """One fit to some of the objects: their positions, each once, and their partition."""

    objects: np.ndarray
    partition: CredalPartition


@dataclass(frozen=True, eq=False)
class Resampling:
    """A method, its objects, and what goes with them to a fit."""

    estimator: Any
    X: Any
    fit_params: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not is_estimator(self.estimator):
            raise InvalidInputError(f"estimator must be a clusterer, got {shown(self.estimator)}")
        if isinstance(self.X, memoryview) or (hasattr(self.X, "__array__") and not hasattr(self.X, "__getitem__")):
            with reading_table(self.X, "X"):
                object.__setattr__(self, "X", np.asarray(self.X))

    @property
    def n_objects(self) -> int:
        with reading_table(self.X, "X"):
            return int(_num_samples(self.X)) if self._views is None else len(self._views)

    @cached_property
    def _views(self) -> Views | None:
        """The views of X, for a method that takes several tables."""
        takes = any(name.split("__")[-1] == "views" for name in self.estimator.get_params(deep=True))
        return Views.of(self.X) if takes or isinstance(self.X, dict) else None

    @property
    def is_pairwise(self) -> bool:
        """Whether X holds dissimilarities, so that objects are its rows and its columns."""
        return bool(get_tags(self.estimator).input_tags.pairwise)

    def reference(self, seed: int) -> CredalPartition:
        """The partition of all objects, by the method as it is; a part of it without a seed gets one."""
        model = _quiet(clone(self.estimator), {})
        _set_seeds(model, np.random.default_rng(seed), all_parts=False)
        partition = partition_of(model.fit(self.X, **self.fit_params), "estimator")
        if len(partition) != self.n_objects:
            raise InvalidInputError(
                f"X must hold one object in each row, but {type(self.estimator).__name__} found {len(partition):,} "
                f"objects in {self.n_objects:,} rows"
            )
        return partition

    def refits(self, n_resamples: int, size: int, bootstrap: bool, seed: int, n_jobs: int | None) -> Iterator[Refit]:
        """Fits to samples of ``size`` objects, in order and as they come; each has a seed of its own."""
        threads = min(n_threads(n_jobs), n_resamples)
        # nested pools of threads would compete for the same processors, and nested bars for the same line
        inside = {"n_jobs": 1} if threads > 1 else {}
        return fits_in_threads(self._refit, (([seed, b], size, bootstrap, inside) for b in range(n_resamples)), threads)

    def _refit(self, entropy: list[int], size: int, bootstrap: bool, inside: dict[str, Any]) -> Refit:
        rng = np.random.default_rng(np.random.SeedSequence(entropy))
        n = self.n_objects
        rows = np.sort(rng.integers(n, size=size) if bootstrap else rng.choice(n, size, replace=False))
        model = _quiet(clone(self.estimator), inside)
        _set_seeds(model, rng)  # samples differ in their starts too
        init = model.get_params(deep=False).get("init")
        if isinstance(init, CredalPartition) and len(init) == n:
            order = order_of_names(init.index, object_index(self.X))
            model.set_params(init=init[rows if order is None else order[rows]])
        try:
            partition = partition_of(model.fit(self._rows_of_X(rows), **self._params(rows)), "estimator")
        except Exception as error:
            error.add_note(f"in resample {entropy[1]}: {size:,} of {n:,} objects{' with repetitions' * bootstrap}")
            raise
        objects, first = np.unique(rows, return_index=True)
        return Refit(objects, partition[first])

    def _rows_of_X(self, rows: np.ndarray) -> Any:
        if self._views is not None:
            return self._views.square_parts(rows) if self.is_pairwise else self._views.rows(rows)
        return square_part(self.X, rows) if self.is_pairwise else _safe_indexing(self.X, rows)

    def _params(self, rows: np.ndarray) -> dict[str, Any]:
        """What belongs to objects is cut along with them: weights, labels, constraints, dissimilarities."""
        return {name: self._cut(value, rows) for name, value in self.fit_params.items()}

    def _cut(self, value: Any, rows: np.ndarray) -> Any:
        n = self.n_objects
        if isinstance(value, Constraints):
            known = Constraints(value.must_link, value.cannot_link, n_objects=n) if value.n_objects is None else value
            return known[rows]
        if isinstance(value, str) or not (hasattr(value, "shape") or isinstance(value, list | tuple)):
            return value
        value = ordered_like(value, object_index(self.X))
        shape = np.shape(value)
        if shape == (n, n) and n > 1:
            return square_part(value, rows)
        return _safe_indexing(value, rows) if shape[:1] == (n,) else value


def _quiet(model: Any, inside: dict[str, Any]) -> Any:
    """The model, all its parts without progress bars and with the given settings where they have them."""
    wanted = {"verbose": False, **inside}
    found = {name: name.split("__")[-1] for name in model.get_params(deep=True)}
    return model.set_params(**{name: wanted[last] for name, last in found.items() if last in wanted})


def _set_seeds(model: Any, rng: np.random.Generator, *, all_parts: bool = True) -> None:
    """Seeds for the parts of a model that draw, or for those only that have none."""
    parameters = model.get_params(deep=True)
    names = sorted(name for name in parameters if name.split("__")[-1] == "random_state")
    seeds = {name: int(rng.integers(np.iinfo(np.int32).max)) for name in names}
    model.set_params(**{name: seed for name, seed in seeds.items() if all_parts or parameters[name] is None})
