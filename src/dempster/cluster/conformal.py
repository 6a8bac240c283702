"""Conformal sets of clusters, and detection of new kinds of objects."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, OutlierMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _num_samples, check_is_fitted

from dempster import _validation as rule
from dempster._errors import InvalidParameterError
from dempster._fitting import fit_transaction
from dempster._random import as_integer_seed, as_random_state
from dempster._site import DocumentedEstimator
from dempster._types import Seed, TableLike
from dempster.belief.p_values import conformal_p_values
from dempster.classify.conformal import (
    ConformalClassifier,
    count_needed_objects,
    describe_coverage,
)
from dempster.cluster.egmm import EGMM
from dempster.partition import CredalPartition
from dempster.partition.credal_partition import Deferred

_ESTIMATOR_RULE = rule.Rule("an estimator (an instance)", rule.is_estimator)
# Below this stability, soft labels are cautious, and the coverage of sets is doubtful.
MIN_STABILITY = 0.9
_N_FOLDS = 5  # folds of the cross-fitting for the objects of the fit
# Smaller clusters may be absent from the training part of a classifier.
_MIN_MEMBERS = 10


class ConformalClustering(MetaEstimatorMixin, DocumentedEstimator, BaseEstimator):
    """Sets of clusters with a calibrated coverage, and mass functions, for any soft clustering.

    **The coverage is a mean over all objects.** The objects of a small cluster may be covered much
    less often, unless ``by_class=True``. The method `summary` names the clusters with a low
    coverage.

    `fit` computes probabilities of the clusters for each object (*soft labels*), draws a label for
    each object from them, and fits a `ConformalClassifier` to these labels: a classifier is fitted
    to one part of the objects and calibrated on the other. The masses and sets for the objects of
    the fit are computed by cross-fitting: an object is neither in the training nor in the
    calibration part of the classifier that is applied to it.

    The sets contain *labels drawn from the soft labels* with a probability of at least
    ``confidence``, without any assumption except exchangeable objects. They contain *true clusters*
    with this probability only if the soft labels are their true probabilities, and this cannot be
    guaranteed:

    - The soft labels must be consistent: the model of the clusterer must be right. If the true
      components are Gaussian, the probabilities of a Gaussian mixture are consistent, and those of
      c-means are not.
    - The clustering must be stable. The coverage decreases by at most the mean total variation
      distance between soft labels and true probabilities. ``1 - stability_`` is a bootstrap
      estimate of the part of this distance that is due to the sample.

    Because soft labels of a single fit ignore the error of their own estimation, they are too
    certain. The clusterer is therefore refitted to ``n_refits`` bootstrap samples. The soft label
    of an object is the mean of its probabilities over the fit and the refits, which approximates
    the probability of each cluster if the parameters of the model are unknown. If ``stability_`` is
    below 0.9, sets from the mean covered too little in simulations. The largest probability over
    the fit and the refits, divided by the sum over the clusters, is then used instead. The coverage
    may still be below ``confidence`` if components overlap (``docs/conformal.md`` shows
    measurements).

    A set that contains all clusters always covers. It is the result, with a warning, if there are
    too few objects to exclude a cluster, or fewer than two clusters with at least ten objects.

    Parameters
    ----------
    clusterer : clusterer, optional
        Clusterer of this package, whose probabilities are the normalized plausibilities, another
        clusterer with ``predict_proba``, such as scikit-learn's `GaussianMixture`, or a pipeline.
        By default `EGMM`, a Gaussian mixture, which selects the number of clusters.
    classifier : classifier, optional
        Classifier for labels drawn from the soft labels; `LogisticRegression` by default.
    confidence : float in (0, 1), default=0.9
        Probability that a set contains the cluster, under the conditions above.
    n_refits : int, default=12
        Number of refits to bootstrap samples of the objects. With 0, the soft labels are those of a
        single fit, as in the published method, and the stability is unknown.
    by_class : bool, default=False
        Whether the coverage holds for the objects of each cluster separately, as in
        `ConformalClassifier`.
    random_state : int, RandomState, Generator or None, default=None
        Seed for the labels, refits and divisions of the objects, and of the default clusterer.
        Another clusterer has its own seed.

    Attributes
    ----------
    clusterer_ : clusterer
        The fitted clusterer.
    classifier_ : ConformalClassifier
        Classifier for new objects, calibrated on drawn labels; None if no cluster can be excluded.
    soft_labels_ : array of shape (n_samples, n_clusters)
        Probabilities from which the labels were drawn.
    stability_ : float
        Mean agreement (1 minus the total variation distance) of the soft labels of the fit with
        those of the refits, in [0, 1]; NaN if ``n_refits=0``.
    credal_partition_ : CredalPartition
        Consonant masses of the objects of the fit, see `ConformalClassifier.predict_mass`.
    sets_ : Boolean array of shape (n_samples, n_clusters)
        Sets of clusters of the objects of the fit.
    labels_ : array of shape (n_samples,)
        Most probable cluster of each object of the fit.
    n_clusters_ : int
        Number of clusters.

    References
    ----------
    Nath, Allen and Hur (2026). arXiv:2604.03488.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.mixture import GaussianMixture
    >>> from dempster.cluster import ConformalClustering
    >>> X, _ = make_blobs(300, centers=[[0, 0], [2, 0]], random_state=0)
    >>> mixture = GaussianMixture(2, random_state=0)
    >>> model = ConformalClustering(mixture, confidence=0.95, random_state=0).fit(X)
    >>> model.predict_set([[-1.0, 0.0], [1.0, 0.0]]).sum(axis=1)  # number of clusters in each set
    array([1, 2])
    >>> model.stability_ > 0.9
    True
    """

    clusterer_: Any
    classifier_: ConformalClassifier | None
    soft_labels_: Annotated[np.ndarray, "n_samples n_clusters"]
    sets_: Annotated[np.ndarray, "n_samples n_clusters:bool"]
    stability_: float

    _rules = {
        "clusterer": rule.none | _ESTIMATOR_RULE,
        "classifier": rule.none | _ESTIMATOR_RULE,
        "confidence": rule.proper_share,
        "n_refits": rule.repetitions(0),
        "by_class": rule.flag,
        "random_state": rule.seed,
    }

    def __init__(
        self,
        clusterer: Any = None,
        classifier: Any = None,
        *,
        confidence: float = 0.9,
        n_refits: int = 12,
        by_class: bool = False,
        random_state: Seed = None,
    ):
        self.clusterer = clusterer
        self.classifier = classifier
        self.confidence = confidence
        self.n_refits = n_refits
        self.by_class = by_class
        self.random_state = random_state

    def fit(self, X: TableLike, y: Any = None) -> Self:
        """Cluster the objects, and calibrate sets of clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        with fit_transaction(self) as draft:
            draft._fit(X)
        return self

    def _fit(self, X: TableLike) -> None:
        rule.check_parameters(self, self._rules)
        rng = as_random_state(self.random_state)
        clusterer = self.clusterer
        if clusterer is None:
            clusterer = EGMM("auto", random_state=as_integer_seed(rng))
        rule.validate_wrapped(self, X, clusterer, reset=True)
        self.clusterer_ = clone(clusterer).fit(X)
        single = _predict_soft_labels(self.clusterer_, X)
        self.labels_ = single.argmax(axis=1)
        self.n_clusters_ = single.shape[1]
        if self.n_clusters_ < 2:
            must = f"find at least two clusters, got {self.n_clusters_}"
            raise InvalidParameterError("clusterer", must=must)
        self.soft_labels_ = self._refit(clusterer, X, single, rng)
        uniform = rng.random_sample((len(single), 1))
        drawn = (self.soft_labels_.cumsum(axis=1) > uniform).argmax(axis=1)
        for k in np.setdiff1d(np.arange(self.n_clusters_), drawn):  # a tiny cluster
            drawn[self.soft_labels_[:, k].argmax()] = k
        self.classifier_ = None
        p = np.ones_like(single)
        if problem := self._find_problem(drawn, rng):
            message = f"{problem}; all sets contain all clusters"
            warnings.warn(message, UserWarning, stacklevel=3)
        else:
            self.classifier_ = self._make_classifier(rng).fit(X, drawn)
            p = self._cross_fit(X, drawn, rng)
        metadata = {}
        if hasattr(self.clusterer_, "credal_partition_"):
            metadata["separated"] = Deferred(partial(_read_separation, self.clusterer_))
        self.credal_partition_ = CredalPartition.from_contour(
            p, index=rule.row_index(X), metadata=metadata
        )
        self.sets_ = p > 0
        if self.classifier_ is not None:
            self.sets_ = self.classifier_.select_classes(p)

    def _find_problem(self, drawn: np.ndarray, rng: np.random.RandomState) -> str:
        """Return why no cluster can be excluded; an empty text if clusters can be."""
        share = self._make_classifier(rng).calibration_size * (1 - 1 / _N_FOLDS)
        needed = int(
            np.ceil(count_needed_objects(self.confidence) / share * (1 - 1e-9))
        )
        if len(drawn) < needed:
            return (
                f"confidence={self.confidence:g} needs at least {needed:,} objects, "
                f"got {len(drawn):,}"
            )
        sizes = np.bincount(drawn)
        if (sizes >= _MIN_MEMBERS).sum() < 2:
            return (
                f"two clusters need at least {_MIN_MEMBERS} objects, "
                f"got sizes {sizes.tolist()}"
            )
        if self.by_class and sizes.min() < _MIN_MEMBERS:
            return (
                f"by_class=True needs at least {_MIN_MEMBERS} objects in every cluster, "
                f"got sizes {sizes.tolist()}"
            )
        return ""

    def _cross_fit(
        self, X: TableLike, drawn: np.ndarray, rng: np.random.RandomState
    ) -> np.ndarray:
        """Return the p-values of the clusters for the objects of the fit."""
        n = len(drawn)
        p = np.empty((n, self.n_clusters_))
        for part in np.array_split(rng.permutation(n), _N_FOLDS):
            others = np.setdiff1d(np.arange(n), part)
            model = self._make_classifier(rng).fit(
                _safe_indexing(X, others), drawn[others]
            )
            # plausibility of a cluster without labels in this fold
            p[part] = 1 / (1 + len(model.calibration_scores_))
            masses = model.predict_mass(_safe_indexing(X, part))
            p[np.ix_(part, model.classes_)] = masses.contour
        return p

    def _make_classifier(self, rng: np.random.RandomState) -> ConformalClassifier:
        from sklearn.linear_model import LogisticRegression

        classifier = self.classifier
        if classifier is None:
            classifier = LogisticRegression(max_iter=1000)
        return ConformalClassifier(
            classifier,
            confidence=self.confidence,
            by_class=self.by_class,
            random_state=rng,
        )

    def _refit(
        self,
        clusterer: Any,
        X: TableLike,
        single: np.ndarray,
        rng: np.random.RandomState,
    ) -> np.ndarray:
        """Set ``stability_`` and return the soft labels, from those of the fit to all objects."""
        from scipy.optimize import linear_sum_assignment  # slow to import

        total = single.copy()
        largest = single.copy()
        agreements = []
        for _ in range(self.n_refits):
            rows = np.sort(rng.choice(len(single), len(single)))  # a bootstrap sample
            model = clone(clusterer).fit(_safe_indexing(X, rows))
            found = _predict_soft_labels(model, X)
            overlap = np.array(
                [np.minimum(single, column[:, None]).sum(axis=0) for column in found.T]
            )
            ours, theirs = linear_sum_assignment(-overlap.T)
            agreements.append(overlap[theirs, ours].sum() / len(single))
            total[:, ours] += found[:, theirs]
            largest[:, ours] = np.maximum(largest[:, ours], found[:, theirs])
        self.stability_ = float(np.mean(agreements)) if agreements else float("nan")
        chosen = total
        if self.stability_ < MIN_STABILITY:
            chosen = largest
        return chosen / chosen.sum(axis=1, keepdims=True)

    def summary(self) -> str:
        """Describe the coverage, and name the clusters whose own coverage is low.

        The coverage is that of labels drawn from ``soft_labels_``; see
        `ConformalClassifier.summary`.

        Returns
        -------
        str
        """
        check_is_fitted(self, "classifier_")
        if self.classifier_ is None:
            return "All sets contain all clusters, because no cluster can be excluded."
        names = [str(name) for name in self.classifier_.classes_.tolist()]
        sets = "sets (with clusters drawn from the estimated probabilities)"
        return describe_coverage(self.classifier_, names, "cluster", sets)

    def predict_set(self, X: TableLike) -> np.ndarray:
        """Predict the set of clusters of each new object.

        The set is empty if the object is far from all clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New objects.

        Returns
        -------
        Boolean array of shape (n_samples, n_clusters)
            Whether each cluster is in the set of each object.
        """
        check_is_fitted(self, "classifier_")
        if self.classifier_ is None:
            return _predict_soft_labels(self.clusterer_, X) >= 0
        return self.classifier_.predict_set(X)

    def predict_mass(self, X: TableLike) -> CredalPartition:
        """Predict consonant masses for new objects, see `ConformalClassifier.predict_mass`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New objects.

        Returns
        -------
        CredalPartition
        """
        check_is_fitted(self, "classifier_")
        if self.classifier_ is None:
            contour = np.ones_like(_predict_soft_labels(self.clusterer_, X))
        else:
            contour = self.classifier_.predict_mass(X).contour
        return CredalPartition.from_contour(contour, index=rule.row_index(X))

    def predict(self, X: TableLike) -> np.ndarray:
        """Predict the most probable cluster of each new object.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New objects.

        Returns
        -------
        array of shape (n_samples,)
        """
        check_is_fitted(self, "classifier_")
        if self.classifier_ is None:
            return _predict_soft_labels(self.clusterer_, X).argmax(axis=1)
        return self.classifier_.predict(X)


def _read_separation(clusterer: Any) -> bool | None:
    return clusterer.credal_partition_.metadata.get("separated")


def _predict_soft_labels(model: Any, X: TableLike) -> np.ndarray:
    """Return the probabilities of the clusters, shape (n, c)."""
    if hasattr(model, "steps") and len(model.steps) > 1:
        return _predict_soft_labels(model[-1], model[:-1].transform(X))
    if hasattr(model, "predict_mass"):
        return np.asarray(model.predict_mass(X).plausibility_transform(), float)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), float)
    expected = "a clusterer with predict_proba or predict_mass"
    raise InvalidParameterError("clusterer", expected, type(model))


class ConformalNoveltyDetector(
    OutlierMixin, MetaEstimatorMixin, DocumentedEstimator, BaseEstimator
):
    """Detection of objects of no known cluster, with a guaranteed rate of false alarms.

    The objects in `fit` are divided into a training part, to which the detector is fitted, and a
    calibration part. The conformal p-value of a new object is the share of calibration objects with
    an outlier score that is at least as large, where the new object is counted too. If the object
    comes from the same distribution as those in `fit`, its p-value is at most a with a probability
    of at most a, for every a. The p-value is the plausibility that the object belongs to one of the
    clusters, so 1 minus the p-value is a calibrated mass on the empty set.

    Parameters
    ----------
    detector : outlier detector or clusterer
        Detector of scikit-learn with ``score_samples``, whose values are small for outliers, or
        clusterer of this package, whose outlier score is the mass on the empty set. A
        `sklearn.frozen.FrozenEstimator` is considered fitted, and all objects in `fit` are then
        calibration objects.
    false_alarm_rate : float in (0, 1), default=0.05
        Upper bound of the probability that `predict` reports an object of a known cluster as new.
    calibration_size : float in (0, 1), default=0.5
        Share of calibration objects.
    random_state : int, RandomState, Generator or None, default=None
        Seed for the division of the objects.

    Attributes
    ----------
    detector_ : outlier detector or clusterer
        The fitted detector.
    calibration_scores_ : array of shape (n_calibration,)
        Outlier scores of the calibration objects.
    offset_ : float
        Smallest result of `score_samples` for which `predict` does not report an object. It is
        minus infinity if there are too few calibration objects for any report.

    See Also
    --------
    dempster.belief.benjamini_hochberg : Select new objects in a batch with a guaranteed false
        discovery rate.

    References
    ----------
    S. Bates, E. Candès, L. Lei, Y. Romano and M. Sesia (2023). Testing for outliers with conformal
    p-values. Annals of Statistics 51.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.neighbors import LocalOutlierFactor
    >>> from dempster.belief import benjamini_hochberg
    >>> from dempster.cluster import ConformalNoveltyDetector
    >>> X, _ = make_blobs(400, centers=[[0, 0], [9, 0]], random_state=0)
    >>> model = ConformalNoveltyDetector(LocalOutlierFactor(novelty=True), random_state=0).fit(X)
    >>> model.predict([[0.2, 0.1], [4.5, 0.0]])  # -1 for a new kind of object
    array([ 1, -1])
    >>> benjamini_hochberg(model.p_values([[0.2, 0.1], [4.5, 0.0], [4.5, 5.0]]), level=0.1)
    array([False,  True,  True])
    """

    detector_: Any
    calibration_scores_: Annotated[np.ndarray, "m"]
    offset_: float

    _rules = {
        "detector": _ESTIMATOR_RULE,
        "false_alarm_rate": rule.proper_share,
        "calibration_size": rule.proper_share,
        "random_state": rule.seed,
    }

    def __init__(
        self,
        detector: Any,
        *,
        false_alarm_rate: float = 0.05,
        calibration_size: float = 0.5,
        random_state: Seed = None,
    ):
        self.detector = detector
        self.false_alarm_rate = false_alarm_rate
        self.calibration_size = calibration_size
        self.random_state = random_state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if rule.is_estimator(self.detector):
            accepted = get_tags(self.detector).input_tags
            tags.input_tags.sparse = accepted.sparse
            tags.input_tags.allow_nan = accepted.allow_nan
        return tags

    def fit(self, X: TableLike, y: Any = None) -> Self:
        """Fit the detector to one part of the objects, and compute the scores of the other part.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects of the known clusters.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        with fit_transaction(self) as draft:
            draft._fit(X)
        return self

    def _fit(self, X: TableLike) -> None:
        rule.check_parameters(self, self._rules)
        data = rule.validate_wrapped(self, X, self.detector, reset=True)
        is_fitted = isinstance(self.detector, FrozenEstimator)
        n = _num_samples(data)
        order = as_random_state(self.random_state).permutation(n)
        n_calibration = n if is_fitted else max(1, round(self.calibration_size * n))
        if n_calibration == n and not is_fitted:
            must = (
                f"contain objects for training and for calibration, got {n} sample(s)"
            )
            raise InvalidParameterError("X", must=must)
        self.detector_ = self.detector
        if not is_fitted:
            training = _safe_indexing(data, np.sort(order[n_calibration:]))
            self.detector_ = clone(self.detector).fit(training)
        calibration = _safe_indexing(data, np.sort(order[:n_calibration]))
        self.calibration_scores_ = -self._compute_scores(calibration)
        n_reported = int((n_calibration + 1) * self.false_alarm_rate * (1 + 1e-9))
        if n_reported == 0:
            needed = count_needed_objects(1 - self.false_alarm_rate)
            message = (
                f"false_alarm_rate={self.false_alarm_rate:g} needs at least {needed} calibration "
                f"objects, got {n_calibration}; with fewer, no object is reported"
            )
            warnings.warn(message, UserWarning, stacklevel=3)
            self.offset_ = -np.inf
        else:
            self.offset_ = -float(np.sort(self.calibration_scores_)[-n_reported])

    def _compute_scores(self, data: Any) -> np.ndarray:
        """Return scores that are small for outliers."""
        detector = self.detector_
        if hasattr(detector, "score_samples"):
            scores = np.asarray(detector.score_samples(data), float)
        elif hasattr(detector, "predict_mass"):
            scores = -np.asarray(detector.predict_mass(data).empty, float)
        else:
            expected = "a detector with score_samples or predict_mass"
            raise InvalidParameterError("detector", expected, type(detector))
        if not np.isfinite(scores).all():
            must = f"return finite scores, got {scores[~np.isfinite(scores)][0]}"
            raise InvalidParameterError("detector", must=must)
        return scores

    def score_samples(self, X: TableLike) -> np.ndarray:
        """Compute the scores of the detector, which are small for outliers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New objects.

        Returns
        -------
        array of shape (n_samples,)
            Result of ``score_samples`` of the detector, or minus the mass on the empty set.
        """
        check_is_fitted(self, "detector_")
        data = rule.validate_wrapped(self, X, self.detector, reset=False)
        return self._compute_scores(data)

    def decision_function(self, X: TableLike) -> np.ndarray:
        """Compute the difference between the scores and ``offset_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New objects.

        Returns
        -------
        array of shape (n_samples,)
            Negative values for objects that `predict` reports.
        """
        return self.score_samples(X) - self.offset_

    def p_values(self, X: TableLike) -> np.ndarray:
        """Compute the p-value of each object, the plausibility that it belongs to a cluster.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New objects.

        Returns
        -------
        array of shape (n_samples,)
        """
        return conformal_p_values(-self.score_samples(X), self.calibration_scores_)

    def predict(self, X: TableLike) -> np.ndarray:
        """Return -1 for objects whose p-value is at most ``false_alarm_rate``, and 1 for others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New objects.

        Returns
        -------
        array of shape (n_samples,)
        """
        return np.where(self.decision_function(X) < 0, -1, 1)
