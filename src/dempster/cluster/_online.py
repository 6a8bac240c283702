"""Clusterers that learn from a stream of blocks, one call a block."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from dempster import _validation as rule
from dempster._arrays import Array, copied, is_tensor, to_host
from dempster._errors import InvalidInputError
from dempster._types import ArrayLike, TableLike
from dempster._validation import checked_masses
from dempster.cluster._base import EvidentialClusterer, FitRequest, Support
from dempster.cluster._incomplete import prepared
from dempster.cluster._search import MassModel, Sample, Search
from dempster.optimize.blocks import Apply, block_map
from dempster.partition import CredalPartition

CHECKPOINT_RULE = rule.choice(None) | rule.kind(str, Path, words="a path")

DEVICE_RULE = rule.kind(str, words="the name of a device")
_HALF_LIFE = rule.choice(None) | rule.real(0, open_low=True)


class OnlineModel(Protocol):
    """A model with the sums over the objects that it was learned from."""

    @property
    def objective(self) -> float: ...

    def after(self, X: np.ndarray, weights: np.ndarray, kept: float, *, update: bool, apply: Apply) -> OnlineModel:
        """After one more block."""
        ...

    def fitted(self) -> MassModel[Any]:
        """The model for new objects."""
        ...


class OnlineClusterer(EvidentialClusterer):
    """Base of the clusterers whose model follows from sums over the objects.

    The method of such a clusterer has a function `online`, and `_fitted_attributes` takes what that returns as well.
    """

    _support = Support(blocks=True, block_weights=True, passes=True, tensors=True)
    _online: OnlineModel
    _model: Any
    n_samples_seen_: int
    device: str
    init: Any

    def _compute_masses(self, values: Array, apply: Apply) -> Array:
        if self.device == "cpu" or is_tensor(values):
            return super()._compute_masses(values, apply)
        return self._model.masses_on_device(values, self.device)

    def partial_fit(
        self,
        X: TableLike,
        y: None = None,
        sample_weight: ArrayLike = None,
        *,
        half_life: float | None = None,
        update: bool = True,
    ) -> Self:
        """Learn from one more block of objects.

        The first block chooses where to start, as `fit` does, so it should show all clusters; a start that is given by
        ``init`` is taken as it is. What follows from it stays: which pairs are fitted, ``beta_`` and ``delta_``. Every
        block adds its sums to those of the blocks before, and the model moves to where all of them want it.
        ``credal_partition_`` and ``labels_`` are those of the last block. A `fit` forgets everything.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            In memory.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object; an object of weight 2 counts as two.
        half_life : float > 0, optional
            What was learned from earlier objects counts half after so many more (the sum of their weights), so that a
            stream that drifts is followed. By default nothing is forgotten.
        update : bool, default=True
            False only adds the sums, and the model stays: all blocks but the last one with ``update=False`` make
            together one iteration of `fit`.

        Returns
        -------
        self
            With ``n_samples_seen_``, how many objects all blocks had.
        """
        rule.check(half_life, "half_life", _HALF_LIFE)
        rule.check_flags(update=update)
        learner = copy.copy(self)  # an error or an interrupt leaves the estimator as it was
        learner._learn(X, sample_weight, half_life, update=bool(update))
        self.__dict__ = learner.__dict__
        return self

    def _learn(self, X: TableLike, sample_weight: ArrayLike, half_life: float | None, *, update: bool) -> None:
        first = "_online" not in vars(self)
        if first:
            self.__dict__ = {name: value for name, value in vars(self).items() if not name.endswith("_")}
        self._check_parameters()
        if not first and self._requested_clusters() not in (None, self.n_clusters_):
            raise InvalidInputError(
                f"n_clusters must stay what it was for the first block, {self.n_clusters_}, got {self.n_clusters}: "
                "call fit, or take a new estimator, to begin anew"
            )
        sample = self._read_block(X, sample_weight, first=first)
        with block_map(self.n_jobs) as apply:
            learned = self._begun(sample, apply) if first else self._online
            amount = float(len(sample.values) if sample.weights is None else sample.weights.sum())
            kept = 1.0 if half_life is None else 0.5 ** (amount / half_life)
            learned = learned.after(sample.values, sample.kernel_weights, kept, update=update, apply=apply)
            self._online, self._model = learned, learned.fitted()
            masses = checked_masses(self._compute_masses(sample.values, apply))
        if not np.isfinite(learned.objective):
            raise InvalidInputError(f"the objective is {learned.objective}: scale X, or set less extreme parameters")
        self._set_learned(learned, first, len(sample.values), update)
        self.credal_partition_ = CredalPartition.unchecked(
            masses, self.focal_sets_, sample.index, metadata=self._metadata({})
        )
        self.labels_ = copied(self.credal_partition_.labels)
        self.__dict__.update(self._fitted_attributes(learned, self._model))
        if self._stays_on_device(X):
            self._move_to(X)

    def _read_block(self, X: TableLike, sample_weight: ArrayLike, *, first: bool) -> Sample[np.ndarray]:
        if first:
            return self._read_sample(X, sample_weight)
        values = self._read(X, reset=False)
        names = self._row_names(X)
        return Sample(values, self._validate_weights(sample_weight, len(values)), names)

    def _begun(self, sample: Sample[np.ndarray], apply: Apply) -> OnlineModel:
        """Where to start: what was given, or what the first block says."""
        request = FitRequest(self._find_n_clusters(sample, apply), None, None, apply)
        families = self._resolve_families(request.n_clusters)
        if self.missing == "partial":
            sample = prepared(sample, request.n_clusters)
        given = self.init
        if not isinstance(given, str):
            self.init = self._align_init(given, sample.index)
        method: Any = self._make_method(sample, request)
        if method.has_user_start and families.select is None:
            [model] = method.draw_starts(families.first)
        else:
            search = Search(self.tol, apply, self._open_progress, self.n_jobs)
            model = search.run(method, replace(families, neighbors=False), sample.weights).model
        self.init = given
        return method.online(model, neighbors=families.neighbors)

    def _set_learned(self, learned: OnlineModel, first: bool, n_objects: int, update: bool) -> None:
        self.focal_sets_ = self._model.family
        self.n_clusters_ = self.focal_sets_.n_clusters
        self.objective_ = float(learned.objective)
        before = (0, 0, np.empty(0)) if first else (self.n_samples_seen_, self.n_iter_, to_host(self.history_))
        self.n_samples_seen_ = before[0] + n_objects
        self.n_iter_ = before[1] + update
        self.history_ = np.append(before[2], self.objective_)
        self.converged_ = False
