"""Clusterers with `partial_fit`, which learn from one block of rows per call."""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np

from dempster import _validation as rule
from dempster._arrays import Array, is_tensor, to_device_of, to_host
from dempster._blas import one_blas_thread
from dempster._errors import InvalidParameterError
from dempster._types import ArrayLike, MaybeUnset, TableLike
from dempster.cluster._base import (
    EvidentialClusterer,
    FitRequest,
    Support,
    outlier_warnings,
)
from dempster.cluster._incomplete import add_within_variances
from dempster.cluster._open_sample import (
    align_init,
    move_results,
    read_sample,
    warn_about_table,
)
from dempster.cluster._search import FitResult, Sample, Search
from dempster.cluster._starts import outlier_distance
from dempster.cluster.updates import Stream, UpdatableClusterer
from dempster.data.sampling import SAMPLE_SIZE, draw_indices
from dempster.dissimilarity.partial import squared_distances_to_points
from dempster.optimize.blocks import Apply, block_map
from dempster.optimize.descent import Run

# attributes of a fit that no longer hold after `partial_fit`
_ONLY_AFTER_FIT = ("ebic_", "sample_indices_")
_MAX_COMPARED = 1000  # number of rows whose distances to the centers are computed
_HALF_LIFE = rule.none | rule.positive


class OnlineClusterer(UpdatableClusterer, EvidentialClusterer):
    """Base class of clusterers whose model is determined by sums over the rows.

    The algorithm object of a subclass has a method `online`, which returns a model with the sums
    over all rows so far, such as `OnlinePrototypes`. `_fitted_attributes` accepts it as the
    argument ``method``.
    """

    _support = Support(blocks=True, block_weights=True, passes=True, tensors=True)
    _online: MaybeUnset[Any]
    # distance from the centers to the objects of the first block, beyond which there are hardly any
    _reach: MaybeUnset[float]
    cluster_centers_: Any
    n_samples_seen_: MaybeUnset[int]
    device: str
    init: Any
    _n_born: int = 0  # number of clusters that `update` has added

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

    def _run_search(
        self, search: Search, sample: Sample[Any], request: FitRequest
    ) -> tuple[Any, Run[Any]]:
        """Run the algorithm, and keep the sums from which `partial_fit` continues."""
        method: Any
        method, run = super()._run_search(search, sample, request)
        families = self._resolve_families(request.n_clusters)
        values = sample.values
        weights = sample.kernel_weights
        n_rows = len(values) if sample.blocks is None else len(sample.blocks)
        some = draw_indices(len(values), SAMPLE_SIZE)
        if len(some) < n_rows:
            values = values[to_device_of(some, values)]
            weights = weights[some] if len(weights) else np.ones(len(some))
            weights = weights * (method.rows.total_weight / weights.sum())
        weights = np.ascontiguousarray(weights)
        learned = method.online(run.model, neighbors=families.neighbors)
        self._online = learned.add_block(
            values, weights, 1.0, update=False, apply=request.apply
        )
        self.n_samples_seen_ = n_rows
        self._drawn = values
        return method, run

    def _fit_draft(
        self,
        X: TableLike,
        sample_weight: ArrayLike,
        per_row: dict[str, Any],
        *,
        warn: bool = True,
    ) -> FitResult:
        # The threads of the fit already work on different blocks of rows. Those of BLAS would wait
        # between many small products and use a processor while they wait.
        with one_blas_thread():
            result = super()._fit_draft(X, sample_weight, per_row, warn=warn)
        self._set_reach(self.__dict__.pop("_drawn"))
        return result

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
        updated from the total. ``credal_partition_`` and ``labels_`` describe the last block.
        After `fit`, learning continues from the fitted model. With more than 20,000 objects, the
        sums over the objects of `fit` are estimated from a sample of that size.

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

        Warns
        -----
        UserWarning
            If most objects of a block are unlike all clusters so far, as in a stream whose first
            block lacks some clusters.
        """
        rule.check(half_life, "half_life", _HALF_LIFE)
        rule.check_flags(update=update)
        learner = copy.copy(self)  # An error must not change the estimator.
        found = learner._learn(X, sample_weight, half_life, update=bool(update))
        self.__dict__ = learner.__dict__
        for message in found:
            warnings.warn(
                f"{type(self).__name__}: {message}", UserWarning, stacklevel=2
            )
        return self

    def _learn(
        self,
        X: TableLike,
        sample_weight: ArrayLike,
        half_life: float | None,
        *,
        update: bool,
    ) -> list[str]:
        """Learn from a block, and return warnings about it."""
        first = "_online" not in vars(self)
        if first:
            for name in [name for name in vars(self) if name.endswith("_")]:
                delattr(self, name)
            self.n_samples_seen_ = 0
            self.n_iter_ = 0
            self.history_ = np.empty(0)
        for name in _ONLY_AFTER_FIT:
            self.__dict__.pop(name, None)
        self._check_parameters()
        if first:
            sample = read_sample(self, X, sample_weight)
            warn_about_table(self, X)
        else:
            sample = self._read_next(X, sample_weight)
        with block_map(self.n_jobs) as apply:
            values = sample.values
            if first:
                found = self._unit_warnings(values)
                learned = self._start_online(sample, apply)
            else:
                found = self._block_warnings(values)
                learned = self._online
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
        if first:
            found += outlier_warnings(result)
        self.__dict__.update(self._fitted_attributes(learned, model))
        if first:
            self._set_reach(values)
        if self._stays_on_device(X):
            move_results(self, X)
        return found

    def _center_distances(self, values: Array) -> np.ndarray:
        """Return the distances from rows to their nearest centers."""
        some = to_host(values)
        centers = to_host(self.cluster_centers_).astype(float)
        width = centers.shape[1]
        squares = squared_distances_to_points(some[:, :width].astype(float), centers)
        return np.sqrt(squares.min(axis=1))

    def _set_reach(self, values: Array) -> None:
        """Set the distance from the centers beyond which there are hardly any rows."""
        distances = self._center_distances(_some(values))
        self._reach = outlier_distance(distances, np.ones(len(distances)))
        if self.focal_sets_.empty_index is None:
            self._unlike_share = float((distances > self._reach).mean())

    def _block_warnings(self, values: Array) -> list[str]:
        """Return a warning if most rows of a block are far from all clusters."""
        distances = self._center_distances(_some(values))
        share = float((distances > self._reach).mean())
        if share <= 0.5:
            return []
        return [
            f"{share:.0%} of the objects of the block are unlike all clusters; the first block "
            "should contain objects of all clusters (use half_life if the clusters move)"
        ]

    def _read_next(self, X: TableLike, sample_weight: ArrayLike) -> Sample[np.ndarray]:
        """Validate a block that follows the first one."""
        n_first = self.n_clusters_ - self._n_born
        if self._requested_clusters() not in (None, n_first):
            must = f"be {n_first}, its initial value, got {self.n_clusters}"
            raise InvalidParameterError(
                "n_clusters",
                must=f"{must}; call fit or use a new estimator to start again",
            )
        values = self._read(X, reset=False)
        weights = self._validate_weights(sample_weight, len(values))
        return Sample(values, weights, self._row_names(X))

    # ---- streams ---------------------------------------------------------------------------------

    def _read_update(self, X: TableLike) -> Any:
        if "_online" not in vars(self):
            must = "be fitted to data in memory before update"
            raise InvalidParameterError(
                "X", message=f"{type(self).__name__} must {must}"
            )
        return self._read_next(X, None).values

    def _learn_update(
        self,
        X: TableLike,
        values: np.ndarray,
        partition: Any,
        half_life: float | None,
        apply: Apply,
    ) -> None:
        """Learn from the rows that are not unlike all clusters."""
        sets = self._find_sets(values, partition)
        weights = (sets >= 0).any(axis=1).astype(float)
        if weights.any():
            self._learn(X, weights, half_life, update=True)

    def _find_sets(self, values: Array, partition: Any) -> np.ndarray:
        """Return the sets of rows; without an empty set, rows beyond the reach have none."""
        sets = super()._find_sets(values, partition)
        if self.focal_sets_.empty_index is None:
            sets[self._center_distances(values) > self._reach] = -1
        return sets

    def _update_metric(self) -> str:
        metric = getattr(self, "metric", "euclidean")
        return metric if metric == "cosine" else "euclidean"

    def _add_clusters(
        self, stream: Stream, groups: list[np.ndarray], apply: Apply
    ) -> None:
        """Add a prototype for each group of rows of the window."""
        p = self.n_features_in_
        means = [np.nanmean(stream.rows[which, :p], axis=0) for which in groups]
        centers = to_host(self.cluster_centers_)[:, :p]
        larger = copy.copy(self)
        larger.init = np.vstack([centers, means])
        for name in {"beta", "delta"} & self.get_params().keys():
            setattr(larger, name, getattr(self, f"{name}_"))
        rows = stream.rows.astype(centers.dtype)
        sample = Sample(rows, None, None)
        learned = larger._start_online(sample, apply, len(larger.init))
        learned = learned.add_block(
            rows, sample.kernel_weights, 1.0, update=True, apply=apply
        )
        self._online = learned
        self._model = learned.to_model()
        self.focal_sets_ = self._model.family
        self.n_clusters_ = self._model.family.n_clusters
        self._n_born += len(groups)
        self.__dict__.update(self._fitted_attributes(learned, self._model))
        self._set_reach(rows)

    # ---- models ----------------------------------------------------------------------------------

    def _start_online(
        self, sample: Sample[np.ndarray], apply: Apply, n_clusters: int | None = None
    ) -> Any:
        """Return the initial model, computed from ``init`` or fitted to the first block."""
        if n_clusters is None:
            n_clusters = self._find_n_clusters(sample, apply)
        request = FitRequest(n_clusters, None, None, apply)
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


def _some(values: Array) -> Array:
    """Return at most about 1,000 rows."""
    return values[:: max(len(values) // _MAX_COMPARED, 1)]
