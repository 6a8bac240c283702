"""Clusterers with `partial_fit`, which learn from one block of rows per call."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from dempster import _validation as rule
from dempster._arrays import Array, is_tensor, to_host
from dempster._errors import InvalidParameterError
from dempster._types import ArrayLike, MaybeUnset, TableLike
from dempster.cluster._base import EvidentialClusterer, FitRequest, Support
from dempster.cluster._incomplete import add_within_variances
from dempster.cluster._open_sample import align_init, move_results, read_sample
from dempster.cluster._search import FitResult, Sample, Search
from dempster.optimize.blocks import Apply, block_map
from dempster.optimize.descent import Run

_HALF_LIFE = rule.none | rule.positive


class OnlineClusterer(EvidentialClusterer):
    """Base class of clusterers whose model is determined by sums over the rows.

    The algorithm object of a subclass has a method `online`, which returns a model with the sums
    over all rows so far, such as `OnlinePrototypes`. `_fitted_attributes` accepts it as the
    argument ``method``.
    """

    _support = Support(blocks=True, block_weights=True, passes=True, tensors=True)
    _online: MaybeUnset[Any]
    n_samples_seen_: MaybeUnset[int]
    device: str
    init: Any

    def fit(
        self, X: TableLike, y: None = None, sample_weight: ArrayLike = None
    ) -> Self:
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
        learner = copy.copy(self)  # An error must not change the estimator.
        learner._learn(X, sample_weight, half_life, update=bool(update))
        self.__dict__ = learner.__dict__
        return self

    def _learn(
        self,
        X: TableLike,
        sample_weight: ArrayLike,
        half_life: float | None,
        *,
        update: bool,
    ) -> None:
        first = "_online" not in vars(self)
        if first:
            for name in [name for name in vars(self) if name.endswith("_")]:
                delattr(self, name)
            self.n_samples_seen_ = 0
            self.n_iter_ = 0
            self.history_ = np.empty(0)
        self._check_parameters()
        if first:
            sample = read_sample(self, X, sample_weight)
        else:
            sample = self._read_next(X, sample_weight)
        with block_map(self.n_jobs) as apply:
            learned = self._start_online(sample, apply) if first else self._online
            values = sample.values
            weights = sample.kernel_weights
            kept = 1.0
            if half_life is not None:
                amount = float(weights.sum()) if len(weights) else len(values)
                kept = 0.5 ** (amount / half_life)
            learned = learned.add_block(
                values, weights, kept, update=update, apply=apply
            )
            self._online = learned
            model = learned.to_model()
            self._model = model
            masses = self._compute_masses(values, apply)
            self.n_samples_seen_ += len(values)
            history = [*to_host(self.history_), float(learned.objective)]
            result = FitResult(Run(model, history), model, masses)
            self._set_result(result, sample, {}, apply, self.n_iter_ + update)
        self.__dict__.update(self._fitted_attributes(learned, model))
        if self._stays_on_device(X):
            move_results(self, X)

    def _read_next(self, X: TableLike, sample_weight: ArrayLike) -> Sample[np.ndarray]:
        """Validate a block that follows the first one."""
        if self._requested_clusters() not in (None, self.n_clusters_):
            must = f"be {self.n_clusters_}, its initial value, got {self.n_clusters}"
            raise InvalidParameterError(
                "n_clusters",
                must=f"{must}; call fit or use a new estimator to start again",
            )
        values = self._read(X, reset=False)
        weights = self._validate_weights(sample_weight, len(values))
        return Sample(values, weights, self._row_names(X))

    def _start_online(self, sample: Sample[np.ndarray], apply: Apply) -> Any:
        """Return the initial model, computed from ``init`` or fitted to the first block."""
        request = FitRequest(self._find_n_clusters(sample, apply), None, None, apply)
        families = self._resolve_families(request.n_clusters)
        if self.missing == "partial":
            sample = add_within_variances(sample, request.n_clusters)
        aligned = copy.copy(self)
        align_init(aligned, sample.index)
        method: Any = aligned._make_method(sample, request)
        if method.has_user_start and families.select is None:
            [model] = method.draw_starts(families.first)
        else:
            search = Search(self.tol, apply, self._open_progress, self.n_jobs)
            model = search.run(
                method, replace(families, neighbors=False), sample.weights
            ).model
        return method.online(model, neighbors=families.neighbors)
