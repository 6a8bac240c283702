"""Clusterers with `partial_fit`, which learn from one block of rows per call."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np

from dempster import _validation as rule
from dempster._arrays import Array, copy_array, is_tensor, to_host
from dempster._errors import InvalidParameterError
from dempster._types import ArrayLike, MaybeUnset, TableLike
from dempster._validation import check_masses
from dempster.cluster._base import EvidentialClusterer, FitRequest, Support
from dempster.cluster._incomplete import add_within_variances
from dempster.cluster._search import MassModel, Sample, Search
from dempster.optimize.blocks import Apply, block_map
from dempster.partition import CredalPartition

CHECKPOINT_RULE = rule.choice(None) | rule.kind(str, Path, words="a path")

DEVICE_RULE = rule.kind(str, words="the name of a device")
_HALF_LIFE = rule.choice(None) | rule.real(0, open_low=True)


class OnlineModel(Protocol):
    """A fitted model, and the sums over all rows so far, which determine it."""

    @property
    def objective(self) -> float: ...

    def add_block(
        self, X: np.ndarray, weights: np.ndarray, kept: float, *, update: bool, apply: Apply
    ) -> OnlineModel:
        """Return the model after one more block.

        The sums over earlier blocks are multiplied by ``kept``.
        """
        ...

    def to_model(self) -> MassModel[Any]:
        """Return the model that computes the masses of new rows."""
        ...


class OnlineClusterer(EvidentialClusterer):
    """Base class of clusterers whose model is determined by sums over the rows.

    The algorithm object of a subclass has a method `online`, which returns an `OnlineModel`.
    `_fitted_attributes` accepts an `OnlineModel` as the argument ``method``.
    """

    _support = Support(blocks=True, block_weights=True, passes=True, tensors=True)
    _online: MaybeUnset[OnlineModel]
    _model: Any
    n_samples_seen_: MaybeUnset[int]
    device: str
    init: Any

    def fit(self, X: TableLike, y: None = None, sample_weight: ArrayLike = None) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            float32 data are not converted. The partition keeps the index of a DataFrame. X may come
            in blocks (``docs/blocks.md``); every iteration is then a pass over the blocks, and
            results with one row per object are lazy. X may be a torch tensor (``docs/scale.md``);
            the fit then runs on its device, and the results are tensors on that device.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object in the objective; an object of weight 2 counts as two. May come in
            blocks if X does.

        Returns
        -------
        self
        """
        return self._fit(X, sample_weight=sample_weight)

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
        """Update the model with one block of objects.

        The first block is fitted by the algorithm of `fit`, so it should contain objects of all
        clusters. If ``init`` is an array or a partition, the initial model is computed from
        ``init`` instead. The first block determines the focal sets, ``beta_`` and ``delta_``, which
        do not change. The sums over each block are added to the earlier sums, and the model is
        updated from the total. ``credal_partition_`` and ``labels_`` describe the last block. `fit`
        resets the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Block of rows in memory.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object; an object of weight 2 counts as two.
        half_life : float > 0, optional
            Number of new objects (sum of their weights) after which the weight of earlier objects
            is halved. It is useful for streams whose clusters change slowly. By default, all
            objects keep their weight.
        update : bool, default=True
            If False, the sums over the block are added, but the model is not updated. A pass over
            all blocks, with ``update=False`` for all blocks except the last one, is one iteration
            of `fit`.

        Returns
        -------
        self
            ``n_samples_seen_`` is the number of objects in all blocks.
        """
        rule.check(half_life, "half_life", _HALF_LIFE)
        rule.check_flags(update=update)
        learner = copy.copy(self)  # An error or an interrupt must not change the estimator.
        learner._learn(X, sample_weight, half_life, update=bool(update))
        self.__dict__ = learner.__dict__
        return self

    def _learn(
        self, X: TableLike, sample_weight: ArrayLike, half_life: float | None, *, update: bool
    ) -> None:
        first = "_online" not in vars(self)
        if first:
            self.__dict__ = {
                name: value for name, value in vars(self).items() if not name.endswith("_")
            }
        self._check_parameters()
        if not first and self._requested_clusters() not in (None, self.n_clusters_):
            raise InvalidParameterError(
                "n_clusters",
                must=f"be {self.n_clusters_}, its initial value, got {self.n_clusters}; call fit or use a new "
                "estimator to start again",
            )
        sample = self._read_block(X, sample_weight, first=first)
        with block_map(self.n_jobs) as apply:
            if first:
                learned = self._start_online(sample, apply)
            else:
                learned = self._online
            amount = float(len(sample.values) if sample.weights is None else sample.weights.sum())
            if half_life is None:
                kept = 1.0
            else:
                kept = 0.5 ** (amount / half_life)
            learned = learned.add_block(
                sample.values, sample.kernel_weights, kept, update=update, apply=apply
            )
            self._online = learned
            self._model = learned.to_model()
            masses = check_masses(self._compute_masses(sample.values, apply))
        if not np.isfinite(learned.objective):
            message = (
                f"the objective is {learned.objective}: scale X or use less extreme parameters"
            )
            raise InvalidParameterError("X", message=message)
        self.focal_sets_ = self._model.family
        self.n_clusters_ = self.focal_sets_.n_clusters
        self.objective_ = float(learned.objective)
        if first:
            n_seen = 0
            n_iter = 0
            history = np.empty(0)
        else:
            n_seen = self.n_samples_seen_
            n_iter = self.n_iter_
            history = self.history_
        self.n_samples_seen_ = n_seen + len(sample.values)
        self.n_iter_ = n_iter + update
        self.history_ = np.append(to_host(history), self.objective_)
        self.converged_ = False
        self.credal_partition_ = CredalPartition.unchecked(
            masses, self.focal_sets_, sample.index, metadata=self._make_metadata({})
        )
        self.labels_ = copy_array(self.credal_partition_.labels)
        self.__dict__.update(self._fitted_attributes(learned, self._model))
        if self._stays_on_device(X):
            self._move_to(X)

    def _read_block(
        self, X: TableLike, sample_weight: ArrayLike, *, first: bool
    ) -> Sample[np.ndarray]:
        if first:
            return self._read_sample(X, sample_weight)
        values = self._read(X, reset=False)
        return Sample(
            values, self._validate_weights(sample_weight, len(values)), self._row_names(X)
        )

    def _start_online(self, sample: Sample[np.ndarray], apply: Apply) -> OnlineModel:
        """Return the initial model, which is computed from ``init`` or fitted to the first block."""
        request = FitRequest(self._find_n_clusters(sample, apply), None, None, apply)
        families = self._resolve_families(request.n_clusters)
        if self.missing == "partial":
            sample = add_within_variances(sample, request.n_clusters)
        init = self.init
        if not isinstance(init, str):
            self.init = self._align_init(init, sample.index)
        method: Any = self._make_method(sample, request)
        if method.has_user_start and families.select is None:
            [model] = method.draw_starts(families.first)
        else:
            search = Search(self.tol, apply, self._open_progress, self.n_jobs)
            model = search.run(method, replace(families, neighbors=False), sample.weights).model
        self.init = init
        return method.online(model, neighbors=families.neighbors)
