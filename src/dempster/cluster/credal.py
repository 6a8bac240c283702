"""Clustering with automatic selection of the number and the shape of the clusters.

`CredalClustering` chooses a partition of a sample of the rows (`dempster.cluster.choice`),
estimates the probabilities of its clusters for all rows (`dempster.posterior`), and reports both.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._fitting import fit_transaction, warn_user
from dempster._random import as_random_state
from dempster._types import ArrayLike, MaybeUnset, Metric, Seed, TableLike
from dempster.cluster._base import (
    COMMON_RULES,
    MISSING_RULE,
    EvidentialClusterer,
    Support,
)
from dempster.cluster._incomplete import add_within_variances
from dempster.cluster._open_sample import in_blocks, open_sample, set_lazy_result
from dempster.cluster._revision import ConstrainedModel
from dempster.cluster._search import FitResult
from dempster.cluster.choice.candidates import Candidate, rand_index
from dempster.cluster.choice.decision import Choice, choose
from dempster.cluster.updates import Memory, Stream, UpdatableClusterer
from dempster.constraints import Constraints
from dempster.constraints.constraints import validate_constraints, warn_about_number
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.sources import AttributeSource, DissimilaritySource
from dempster.optimize.blocks import Apply, block_map
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition, LazyCredalPartition
from dempster.posterior import PosteriorModel

if TYPE_CHECKING:
    import pandas as pd

SHAPES = ("compact", "elongated", "connected")
_MAX_SHOWN = 6  # candidates that are kept
_SCALED = "The attributes were divided by their spreads, which differ clearly."


def _select_shown(choice: Choice) -> list[Candidate]:
    """Return the best candidate, the best of the other shapes, and the best of other numbers."""
    order = np.argsort(-choice.predicted, kind="stable")
    candidates = [choice.best, *(choice.candidates[place] for place in order)]
    shown: list[Candidate] = []
    kinds = set()
    for one in candidates:
        is_rival = one.n_clusters == choice.best.n_clusters
        kind = (one.n_clusters, one.shape if is_rival else None)
        if kind not in kinds and len(shown) < _MAX_SHOWN:
            kinds.add(kind)
            shown.append(one)
    return shown


class CredalClustering(UpdatableClusterer, EvidentialClusterer):
    """Clustering that selects the number and the shape of the clusters, and measures the doubt.

    Many partitions of a sample of the rows are compared (`dempster.cluster.choice`): those by
    k-means, hierarchical clustering, mixtures, density trees and spanning trees, for many numbers
    of clusters. The partition with the largest *expected agreement* with the true clusters is
    selected. The expectation depends only on measures of the partition, such as silhouettes,
    valleys of the density between clusters, and the agreement of several methods. It was learned
    from random data whose clusters are known; no real data were used.

    The masses are those of `dempster.posterior.PosteriorModel`: the probabilities of the clusters
    for each object given the others, and how well they are known. An object between two clusters
    gets mass on the pair, and an object far from all clusters gets mass on the empty set.

    Must-link and cannot-link constraints revise the masses of their objects (``docs/experts.md``).
    An object moves to another cluster only if a constraint requires it, and then to the most
    plausible cluster that satisfies the constraints. The clusters do not depend on constraints.

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters; "auto" selects it together with the shape.
    metric : {"euclidean", "gower", "precomputed"}, str or callable, default="euclidean"
        "gower" accepts numbers, categories and missing values; "precomputed": X contains
        dissimilarities. Others are as in `EVCLUS`.
    shape : {"auto", "compact", "elongated", "connected"}, default="auto"
        Shape of the clusters; "auto" compares them.
    scale : bool or "auto", default="auto"
        Whether to divide the attributes by their spreads (standard deviations, hardly changed by
        outliers). "auto" compares partitions of the scaled and the original attributes if the
        spreads differ clearly, as for attributes with different units. Dissimilarities and X in
        blocks are never scaled.
    missing : {"refuse", "partial"}, default="refuse"
        Treatment of missing values (NaN); "partial" compares objects by the attributes that they
        have.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
        Masses of the objects.
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest plausibility.
    selected_ : str
        Shape of the selected clusters.
    expected_agreement_ : float
        Adjusted Rand index with the true clusters that is expected of the selected partition.
    candidates_ : pandas.DataFrame
        Some of the partitions that were compared, the selected one first: shape, method, number of
        clusters, expected agreement with the true clusters, adjusted Rand index with the selected
        candidate, and whether it is selected.
    candidate_labels_ : ndarray of shape (n_candidates, n_rows)
        Clusters of the sampled rows for each of these candidates.
    candidate_points_ : ndarray of shape (n_rows, 2)
        Positions of the sampled rows in the plane: two attributes, two principal components or, for
        other dissimilarities than the Euclidean distance, two coordinates by classical scaling.
    number_ : NumberOfClusters
        Numbers of clusters and their plausibility, if ``n_clusters="auto"``.
    focal_sets_ : FocalSets
    objective_ : float
        One minus the expected agreement.
    history_ : ndarray
        Objective after every iteration, of which there is one.
    n_iter_ : int
        1; the selection is not iterative.
    converged_ : bool
        True.
    n_clusters_ : int
    n_features_in_ : int

    See Also
    --------
    EVCLUS : Compact clusters, and connected clusters with ``shape="connected"``.
    EGMM : Elongated clusters.

    References
    ----------
    J. H. Friedman (2001). Greedy function approximation: a gradient boosting machine. Annals of
    Statistics 29.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from dempster.cluster import CredalClustering
    >>> X, moon = make_moons(400, noise=0.08, random_state=3)
    >>> model = CredalClustering(random_state=0).fit(X)
    >>> model.selected_, model.n_clusters_
    ('connected', 2)
    """

    _model: PosteriorModel | ConstrainedModel
    _input: Annotated[DissimilarityInput, ".unit n_features"]
    _memory: MaybeUnset[Memory]
    _candidates: list[dict[str, Any]]
    candidate_labels_: MaybeUnset[Annotated[np.ndarray, "m n:int"]]
    candidate_points_: MaybeUnset[Annotated[np.ndarray, "n 2"]]

    _rules = {
        "n_clusters": COMMON_RULES["n_clusters"],
        "shape": rule.choice("auto", *SHAPES),
        "scale": rule.auto | rule.flag,
        "metric": METRIC_RULE,
        "missing": MISSING_RULE,
        **{name: COMMON_RULES[name] for name in ("random_state", "n_jobs", "verbose")},
    }
    _support = Support(blocks=True, block_weights=True)

    def __init__(
        self,
        n_clusters: int | str = "auto",
        *,
        metric: Metric = "euclidean",
        shape: str = "auto",
        scale: bool | str = "auto",
        missing: str = "refuse",
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.shape = shape
        self.scale = scale
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: TableLike,
        y: None = None,
        sample_weight: ArrayLike = None,
        *,
        constraints: Constraints | None = None,
    ) -> Self:
        """Select the shape and the number of clusters, and cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) dissimilarities
            X may come in blocks (``docs/blocks.md``).
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each object; an object of weight 2 counts as two.
        constraints : Constraints, optional
            Pairs of objects that are known to be in the same cluster or in different clusters. They
            change the masses of these objects, but neither the clusters nor other objects. X must
            be in memory.

        Returns
        -------
        self
        """
        with fit_transaction(self) as draft:
            found = draft._choose_and_fit(X, sample_weight, constraints)
        for message in found:
            warn_user(f"{type(self).__name__}: {message}")
        self._warn_empty_clusters()
        return self

    def partition_at(
        self, n_clusters: int, X: TableLike, sample_weight: ArrayLike = None
    ) -> CredalPartition | LazyCredalPartition:
        """Cluster objects into another number of clusters of the selected shape.

        Parameters
        ----------
        n_clusters : int
            For example another plausible number (``number_.plausibility``).
        X : array-like
            The training objects.
        sample_weight : array-like of shape (n_samples,), optional

        Returns
        -------
        CredalPartition
        """
        check_is_fitted(self, "selected_")
        other = clone(self).set_params(n_clusters=n_clusters, shape=self.selected_)
        return other.fit(X, sample_weight=sample_weight).credal_partition_

    def _choose_and_fit(
        self, X: TableLike, sample_weight: ArrayLike, constraints: Constraints | None
    ) -> list[str]:
        """Select and fit a partition, and return warnings about it."""
        self._check_parameters()
        self._forget_stream()
        self._input = DissimilarityInput(self.metric)
        per_row = {"constraints": constraints}
        with (
            block_map(self.n_jobs) as apply,
            open_sample(self, X, sample_weight, per_row, apply) as sample,
        ):
            constraints = validate_constraints(
                constraints, len(sample.values), sample.index
            )
            n_clusters = self._requested_clusters()
            choice = choose(
                self._open_comparison(sample),
                sample.weights,
                as_random_state(self.random_state),
                apply,
                n_clusters=n_clusters,
                shape=self.shape,
                scale=False if in_blocks(self, X) else self.scale,
            )
            if n_clusters is None:
                self.number_ = choice.number
            self._input.unit = choice.unit
            if choice.unit is not None:
                scaled = AttributeSource(
                    sample.values.objects / choice.unit, self.metric
                )
                sample = replace(sample, values=scaled)
            if self.missing == "partial":
                sample = add_within_variances(sample, choice.best.n_clusters)
            source = sample.values
            model = self._estimate(source, choice, apply)
            masses = None
            if sample.blocks is None:
                masses = model.training_masses(_values(source), apply)
            fitted: PosteriorModel | ConstrainedModel = model
            if len(constraints):
                warn_about_number(constraints, model.family.n_clusters, sample.index)
                fitted, masses = ConstrainedModel.revise(
                    model, masses, source, constraints
                )
            self._keep_candidates(choice, source)
            objective = 1 - self.expected_agreement_
            result = FitResult(
                Run(fitted, [objective], True),
                fitted,
                masses,
                is_separated=choice.best.n_clusters > 1 if n_clusters is None else None,
            )
            metadata = self._set_result(result, sample, self._explain(), apply)
            if sample.blocks is not None:
                set_lazy_result(self, sample.blocks, metadata)
            return self._category_warnings(source)

    def _estimate(
        self, source: DissimilaritySource, choice: Choice, apply: Apply
    ) -> PosteriorModel:
        """Estimate the probabilities of the clusters from the rows that were compared."""
        rows = choice.rows
        labels = np.full(len(source), -1)
        labels[rows.which] = choice.best.labels
        weights = np.zeros(len(source))
        weights[rows.which] = rows.weights
        rng = as_random_state(self.random_state)
        return PosteriorModel.fit(
            source, labels, weights, random_state=rng, apply=apply
        )

    def _keep_candidates(self, choice: Choice, source: DissimilaritySource) -> None:
        shown = _select_shown(choice)
        places = [choice.candidates.index(one) for one in shown]
        self.selected_ = choice.best.shape
        self.expected_agreement_ = float(choice.expected[places[0]])
        self._candidates = [
            {
                "shape": one.shape,
                "method": one.method,
                "n_clusters": one.n_clusters,
                "expected_agreement": float(choice.expected[place]),
                "with_selected": rand_index(choice.best.labels, one.labels),
                "selected": one is choice.best,
            }
            for one, place in zip(shown, places, strict=True)
        ]
        self.candidate_labels_ = np.array([one.labels for one in shown])
        points = choice.rows.X[:, :2]
        if source.is_euclidean and source.objects.shape[1] == 2:
            points = source.objects[choice.rows.which].astype(float)
        if points.shape[1] == 1:
            points = np.column_stack([points, np.zeros(len(points))])
        self.candidate_points_ = points

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        if reset:
            return self._input.training(self, X)
        references = getattr(self._model, "references", None)
        return self._input.new(
            self, X, or_width=None if references is None else len(references)
        )

    # ---- streams ---------------------------------------------------------------------------------

    def _read_update(self, X: TableLike) -> np.ndarray:
        model = self._model
        kinds = {"precomputed": "dissimilarities", "gower": "categories"}
        problem = kinds.get(self.metric if isinstance(self.metric, str) else "")
        if self.missing == "partial":
            problem = "missing values"
        if isinstance(model, ConstrainedModel):
            problem = "constraints"
        if problem is not None or isinstance(model, ConstrainedModel):
            message = f"update does not support a fit with {problem}"
            raise InvalidParameterError("X", message=message)
        return self._read(X, reset=False)

    def _learn_update(
        self,
        X: TableLike,
        values: np.ndarray,
        partition: CredalPartition,
        half_life: float | None,
        apply: Apply,
    ) -> None:
        """Estimate the probabilities again, if a tenth of the rows are new."""
        if "_memory" not in vars(self):
            assert isinstance(self._model, PosteriorModel)
            self._memory = Memory.start(self._model)
        memory = self._memory.add(values, partition, half_life)
        if memory.has_many_new_rows:
            self._set_model(memory, apply)
        else:
            self._memory = memory

    def _update_metric(self) -> Metric:
        return self.metric

    def _add_clusters(
        self, stream: Stream, groups: list[np.ndarray], apply: Apply
    ) -> None:
        """Estimate the probabilities with the new clusters."""
        self._set_model(self._memory.add_clusters(stream, groups), apply)

    def _set_model(self, memory: Memory, apply: Apply) -> None:
        self._model, self._memory = memory.estimate(
            self.metric, as_random_state(self.random_state), apply
        )
        self.focal_sets_ = self._model.family
        self.n_clusters_ = self._model.family.n_clusters

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric)

    @property
    def candidates_(self) -> pd.DataFrame:
        """Table of the candidates, the selected one first."""
        import pandas as pd

        check_is_fitted(self, "credal_partition_")
        return pd.DataFrame(self._candidates)

    def reason(self) -> str:
        """Explain why the partition was selected, and whether the attributes were scaled.

        Returns
        -------
        str
        """
        check_is_fitted(self, "selected_")
        return " ".join(f"{text}." for text in self._explain().values())

    def _explain(self) -> dict[str, str]:
        """Return the reasons for the number, the shape and the scale."""
        reasons = {}
        if "number_" in vars(self):
            reasons["n_clusters"] = self.number_.reasons()
        elif self.n_clusters == 1:
            reasons["n_clusters"] = "1, as requested"
        selected = self._candidates[0]
        rivals = [
            one
            for one in self._candidates[1:]
            if one["n_clusters"] == selected["n_clusters"]
        ]
        if selected["n_clusters"] > 1:
            text = (
                f"{self.selected_} clusters ({selected['method']}): expected agreement with the "
                f"true clusters {selected['expected_agreement']:.2f}"
            )
            if rivals:
                others = ", ".join(
                    f"{one['shape']} {one['expected_agreement']:.2f}" for one in rivals
                )
                text += f"; {others}"
            reasons["shape"] = text
        if self._input.unit is not None and self.scale == "auto":
            reasons["scale"] = _SCALED.removesuffix(".")
        return reasons


def _values(source: DissimilaritySource) -> Any:
    """Return the objects, or the dissimilarities if there are no objects."""
    return source.matrix if source.objects is None else source.objects
