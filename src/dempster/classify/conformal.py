"""Conformal prediction: sets of classes and mass functions with a guaranteed coverage."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Annotated, Any

import numpy as np
from scipy.special import bdtr, softmax
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._arrays import divide
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._random import as_random_state
from dempster._text import printable
from dempster._types import MaybeUnset, Seed
from dempster.belief import MassFunctions
from dempster.belief.p_values import upper_weights
from dempster.classify._base import EvidentialClassifier, encode_classes
from dempster.classify._class_hulls import ClassHulls, numeric_attributes
from dempster.classify.eknn import EKNNClassifier

_NOVELTY_SHARE = 0.1  # part of 1 - confidence for objects that are far from all classes
_ROUNDING = 1e-9  # relative error of 1 - confidence, so that a p-value of 0.1 is not above 1 - 0.9


# Probability with which a summary names a class although its coverage is not too low, for all
# classes together.
_FALSE_WARNING = 0.05


def describe_coverage(
    model: ConformalClassifier, names: Sequence[str], kind: str, sets: str
) -> str:
    """Return what the sets guarantee, for which objects, and the coverage of low classes.

    ``kind`` is "class" or "cluster", and ``names`` are their names.
    """
    share = f"at least {model.confidence:.4g} of the {sets} contain the {kind}"
    if model.method == "cross":
        least = max(2 * model.confidence - 1, 0)
        share = (
            f"about {model.confidence:.4g} of the {sets} contain the {kind} "
            f"(guaranteed: {least:.4g})"
        )
    if model.by_class:
        return f"For the objects of each {kind} separately, {share}."
    text = (
        f"On average over all objects, {share}. Those of a rare {kind} may get less; "
        f"by_class=True guarantees it for each {kind}."
    )
    n = np.bincount(model.calibration_classes_, minlength=len(names))
    n_covered = np.rint(np.nan_to_num(model.class_coverage_, nan=1.0) * n)
    chance = bdtr(n_covered, n, model.confidence)  # of at most so many covered objects
    low = np.flatnonzero(chance < _FALSE_WARNING / len(names)).tolist()
    if low:
        found = ", ".join(
            f"{names[k]} {model.class_coverage_[k]:.2f} (of {n[k]} objects)"
            for k in low
        )
        text += f" Low coverage of calibration objects: {found}."
    return text


class ConformalClassifier(MetaEstimatorMixin, EvidentialClassifier):
    """Sets of classes that contain the true class with a guaranteed probability.

    **The probability is a mean over all objects.** The objects of a rare class may be covered much
    less often, unless ``by_class=True``, which gives the guarantee to the objects of each class.
    The method `summary` names the classes with a low coverage.

    A part of the training objects, the calibration objects, is withheld from the classifier. A
    score measures how badly a class fits an object. The *conformal p-value* of a class for a new
    object is the share of calibration objects whose true class fits at least as badly, where the
    new object is counted too. Classes with a small p-value are excluded. An object between two
    classes gets both, and an object that is far from all classes gets none. The set contains the
    true class with a probability of at least ``confidence``. This holds for any classifier and any
    distribution, if calibration objects and new objects are drawn independently from the same
    distribution (or are exchangeable). The probability refers to the random draw of the calibration
    objects and of the new object.

    The plausibilities of the classes are the contour of a consonant mass function. The plausibility
    of the true class is at most a with a probability of at most a, for every a in [0, 1] (Cella and
    Martin, 2022). The mass on the empty set is positive only for objects far from all classes. See
    the notes.

    Parameters
    ----------
    estimator : classifier, optional
        Any classifier of scikit-learn or of this package with ``predict_proba`` or
        ``decision_function``; `EKNNClassifier` by default. A `sklearn.frozen.FrozenEstimator`
        contains a fitted classifier. All objects passed to ``fit`` are then calibration objects,
        and must not be training objects of the classifier.
    confidence : float in (0, 1), default=0.9
        Probability that a predicted set contains the true class.
    conformity : {"lac", "aps", "plausibility"}, default="lac"
        Score that measures how badly a class fits. "lac" is 1 - probability, which gives the
        smallest sets on average. "aps" (adaptive prediction sets) is the total probability of the
        more probable classes. It is zero for the most probable class of every object; these ties
        are broken by 1 - probability, not at random. "plausibility" is 1 - plausibility for
        classifiers with ``predict_mass``, and 1 - p / max(p) for probabilities p.
    method : {"split", "cross"}, default="split"
        "split" divides the objects into a training and a calibration part. "cross" uses each object
        for both purposes: it fits ``n_folds`` classifiers, each without the objects of one fold,
        which it then calibrates. Its sets are usually smaller and its coverage is close to
        ``confidence``, but only 2 ``confidence`` - 1 is guaranteed.
    by_class : bool, default=False
        Whether the guarantee holds for the objects of each class separately. The p-value of a class
        then uses the calibration objects of this class only.
    calibration_size : float in (0, 1), default=0.3
        Share of calibration objects if ``method="split"``.
    n_folds : int, default=5
        Number of folds if ``method="cross"``.
    likelihood_ratio : function, optional
        For new objects with another distribution than those in ``fit`` (covariate shift, where the
        probabilities of the classes given X do not change). The function returns the density of
        each row of X among the new objects divided by its density among those in ``fit``, shape
        (n,), up to a constant factor. Calibration objects have this weight in the p-values.
    random_state : int, RandomState, Generator or None, default=None
        Seed for the division of the objects.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Names of the classes.
    estimators_ : list of classifiers
        The fitted classifier, or one for each fold.
    calibration_scores_ : array of shape (n_calibration,)
        Score of the true class of each calibration object.
    calibration_classes_ : array of shape (n_calibration,)
        Position of the true class of each calibration object in ``classes_``.
    calibration_folds_ : array of shape (n_calibration,)
        Position in ``estimators_`` of the classifier that computed the score.
    calibration_weights_ : array of shape (n_calibration,)
        Weights of the calibration objects, which are 1 unless ``likelihood_ratio`` is given.
    calibration_distances_ : array of shape (n_calibration,)
        Distance of each calibration object from all classes. It is NaN for the reference objects if
        the estimator is frozen.
    hulls_ : list
        Reference objects for these distances, one collection for each classifier.
    class_coverage_ : array of shape (n_classes,)
        Share of the calibration objects of each class whose set contains the class, if the object
        itself is left out of the calibration; NaN for a class without calibration objects, and with
        a ``likelihood_ratio``.

    Notes
    -----
    **Plausibilities.** The set of an object contains the classes whose plausibility is above alpha
    = 1 - ``confidence``. Let p be the p-values of the classes. A second p-value q tests whether the
    object is *novel*. It is computed in the same way from the distance to the convex hull of the
    local means of the classes, where a local mean is the mean of the five nearest training objects
    of a class. The attributes are those after the first steps of a pipeline. They are divided by
    their ranges, and attributes that are not numbers are ignored.

    - If q is at most e, the object is novel, and the plausibility of all classes is q.
    - Otherwise the plausibility of a class is p + e, and 1 for the class with the largest p.
    - If p + e is at most alpha for all classes, the set would be empty although the object is not
      novel. This happens if the classifier is more accurate than ``confidence``. The plausibility
      of a class is then at least 1 minus the total share of the classes with larger shares, so that
      the set contains the first classes up to a total share of ``confidence``. The share of a class
      is the mean of its probability and of the weight of its local mean in the hull.

    The level e is alpha / 10, rounded down to a multiple of 1 / (m + 1) for m calibration objects,
    but at least 1 / (m + 1). If it is above alpha / 2, no object is novel (e = 0).

    **Proof of coverage.** The p-values p of the true class and q are valid: each is at most a with
    a probability of at most a. The plausibility of the true class is at most a >= e only if q <= e
    or p <= a - e, which has a probability of at most e + (a - e) = a. It is at most a < e only if
    q <= a. This also holds within a class if ``by_class=True``, because p, q and e then depend on
    the calibration objects of the class only, and an object is novel if q <= e for all classes.

    **Empty sets.** Objects of the known classes get the empty set with a probability of at most e.
    Without the third rule, the coverage is at most e + 1 / (m + 1) above ``confidence`` unless
    scores are equal. This rule only adds classes to sets that would be empty, so that it increases
    the coverage by at most their share.

    The division into parts is not stratified unless ``by_class=True``, because the calibration
    objects must be a random sample. If the estimator is frozen, half of the calibration objects are
    the reference objects of the distance, and q uses the other half. Equal scores are never counted
    in favor of excluding a class.

    ``predict`` and ``predict_proba`` return the classes and probabilities of the classifier (means
    over the folds). ``decide`` uses the mass functions.

    References
    ----------
    V. Vovk, A. Gammerman and G. Shafer (2005). Algorithmic Learning in a Random World. Springer.

    L. Cella and R. Martin (2022). Validity, consonant plausibility measures, and conformal
    prediction. Int. J. Approximate Reasoning 141.

    M. Sadinle, J. Lei and L. Wasserman (2019). Least ambiguous set-valued classifiers with bounded
    error levels. J. American Statistical Association 114.

    Y. Romano, M. Sesia and E. Candès (2020). Classification with valid and adaptive coverage.
    NeurIPS 33.

    R. Tibshirani, R. Barber, E. Candès and A. Ramdas (2019). Conformal prediction under covariate
    shift. NeurIPS 32.

    R. Barber, E. Candès, A. Ramdas and R. Tibshirani (2021). Predictive inference with the
    jackknife+. Annals of Statistics 49.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from dempster.classify import ConformalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ConformalClassifier(LogisticRegression(), confidence=0.95, random_state=0)
    >>> model.fit(X[:, :2], y)
    ConformalClassifier(confidence=0.95, estimator=LogisticRegression(),
                        random_state=0)
    >>> model.predict_set([[5.0, 3.5], [6.1, 2.8]])
    array([[ True, False, False],
           [False,  True,  True]])
    >>> model.predict_mass([[6.1, 2.8]]).contour.round(2)
    array([[0.04, 1.  , 0.24]])
    """

    focal_sets_: MaybeUnset[Any]
    estimators_: list[Any]
    calibration_scores_: Annotated[np.ndarray, "m"]
    calibration_classes_: Annotated[np.ndarray, "m:int"]
    calibration_folds_: Annotated[np.ndarray, "m:int"]
    calibration_weights_: Annotated[np.ndarray, "m"]
    calibration_distances_: Annotated[np.ndarray, "m"]
    hulls_: list[ClassHulls]
    class_coverage_: Annotated[np.ndarray, "n_classes"]

    _rules: Mapping[str, rule.Rule] = {
        "estimator": rule.none
        | rule.Rule("a classifier (an instance)", rule.is_estimator),
        "confidence": rule.proper_share,
        "conformity": rule.choice("lac", "aps", "plausibility"),
        "method": rule.choice("split", "cross"),
        "by_class": rule.flag,
        "calibration_size": rule.proper_share,
        "n_folds": rule.integer(2),
        "likelihood_ratio": rule.none | rule.Rule("a function of X", callable),
        "random_state": rule.seed,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        confidence: float = 0.9,
        conformity: str = "lac",
        method: str = "split",
        by_class: bool = False,
        calibration_size: float = 0.3,
        n_folds: int = 5,
        likelihood_ratio: Callable[[Any], Any] | None = None,
        random_state: Seed = None,
    ):
        self.estimator = estimator
        self.confidence = confidence
        self.conformity = conformity
        self.method = method
        self.by_class = by_class
        self.calibration_size = calibration_size
        self.n_folds = n_folds
        self.likelihood_ratio = likelihood_ratio
        self.random_state = random_state

    # ---- training and calibration ----------------------------------------------------------------

    def _validate_objects(self, X: Any, *, reset: bool, **options: Any) -> Any:
        return rule.validate_wrapped(self, X, self._classifier, reset=reset)

    @property
    def _classifier(self) -> Any:
        if self.estimator is None:
            return EKNNClassifier()
        return self.estimator

    def _fit(self, X: Any, y: Any) -> None:
        rng = as_random_state(self.random_state)
        is_frozen = isinstance(self.estimator, FrozenEstimator)
        if is_frozen:
            check_is_fitted(self.estimator)
            self.classes_ = np.asarray(self.estimator.classes_)
            data, targets = self._validate_labeled(X, y, self.classes_)
        else:
            data, targets = self._validate_training(X, y)
        codes = targets.hard_codes
        if is_frozen:
            expected = "classes of the fitted estimator"
            names = targets.names.tolist()
            codes = encode_classes(names, self.classes_.tolist(), expected)[codes]
            parts = [np.arange(len(codes))]
            reference = rng.permutation(len(codes))[: max(1, len(codes) // 2)]
            references = [np.sort(reference)]
            self.estimators_ = [self.estimator]
        else:
            parts = self._divide(codes, rng)
            references = [np.setdiff1d(np.arange(len(codes)), part) for part in parts]
            labels = targets.names[codes]
            self.estimators_ = [
                clone(self._classifier).fit(_safe_indexing(data, rows), labels[rows])
                for rows in references
            ]
        self.calibration_folds_ = np.repeat(
            np.arange(len(parts)), [len(part) for part in parts]
        )
        self.calibration_classes_ = np.concatenate([codes[part] for part in parts])
        self._warn_few_objects()
        self.hulls_ = []
        scores = []
        weights = []
        distances = []
        shares = []
        all_scores = []
        for part, reference, model in zip(
            parts, references, self.estimators_, strict=True
        ):
            rows = _safe_indexing(data, part)
            own = (np.arange(len(part)), codes[part])
            all_scores.append(self._compute_scores(model, rows))
            scores.append(all_scores[-1][own])
            weights.append(self._compute_weights(rows))
            values = numeric_attributes(model, _safe_indexing(data, reference))
            hulls = ClassHulls.from_objects(values, codes[reference])
            self.hulls_.append(hulls)
            attributes = numeric_attributes(model, rows)
            distance, positions = hulls.project(attributes, len(self.classes_))
            share = self._compute_probabilities(model, rows) + positions
            shares.append(share / share.sum(axis=1, keepdims=True))
            distance[np.isin(part, reference)] = np.nan
            distances.append(distance)
        self.calibration_scores_ = np.concatenate(scores)
        self.calibration_weights_ = np.concatenate(weights)
        self.calibration_distances_ = np.concatenate(distances)
        is_covered = self._cover_calibration(all_scores, shares)
        members = self.calibration_classes_ == np.arange(len(self.classes_))[:, None]
        self.class_coverage_ = divide(
            (members & is_covered).sum(axis=1), members.sum(axis=1), np.nan
        )
        if self.likelihood_ratio is not None:
            self.class_coverage_[:] = np.nan

    def _cover_calibration(
        self, scores: Sequence[np.ndarray], shares: Sequence[np.ndarray]
    ) -> np.ndarray:
        """Return whether the sets of the calibration objects contain their class.

        The set of an object is calibrated on the other objects of its fold.
        """
        level = self._novelty_level()
        out = []
        for fold, (values, share) in enumerate(zip(scores, shares, strict=True)):
            rows = self.calibration_folds_ == fold
            codes = self.calibration_classes_[rows]
            p = self._left_out_p_values(values, self.calibration_scores_[rows], codes)
            distances = self.calibration_distances_[rows]
            known = ~np.isnan(distances)
            q = np.ones_like(p)
            q[known] = self._left_out_p_values(
                np.repeat(distances[known, None], p.shape[1], axis=1),
                distances[known],
                codes[known],
            )
            contour = self._combine(p, q, level, share)
            out.append(self.select_classes(contour)[np.arange(len(codes)), codes])
        return np.concatenate(out)

    def _left_out_p_values(
        self, values: np.ndarray, calibration: np.ndarray, codes: np.ndarray
    ) -> np.ndarray:
        """Return the p-values of calibration objects, calibrated on the other ones.

        ``values`` contains the score of each class, shape (m, n_classes), and ``calibration`` the
        score of the true class.
        """
        p = np.empty_like(values)
        for k in range(values.shape[1]):
            is_used = np.full(len(codes), True)
            if self.by_class:
                is_used = codes == k
            others = calibration[is_used]
            tails = upper_weights(values[:, [k]], others, np.ones(len(others)))[:, 0]
            # The object itself is among the others; the p-value counts it once.
            counts_itself = is_used & (calibration >= values[:, k])
            tails += ~counts_itself
            p[:, k] = tails / (len(others) + ~is_used)
        return p

    def summary(self) -> str:
        """Describe the guarantee, and name the classes whose own coverage is low.

        A class is named if the number of its covered calibration objects would be so small with a
        probability of at most 5% (divided by the number of classes) for a coverage of
        ``confidence``.

        Returns
        -------
        str
        """
        check_is_fitted(self, "class_coverage_")
        names = [printable(name) for name in self.classes_.tolist()]
        return describe_coverage(self, names, "class", "sets of new objects")

    def _divide(
        self, codes: np.ndarray, rng: np.random.RandomState
    ) -> list[np.ndarray]:
        """Return the calibration objects of each classifier."""
        from sklearn import model_selection as selection

        prefix = "Stratified" if self.by_class else ""
        splitter: Any
        if self.method == "cross":
            kind = getattr(selection, f"{prefix}KFold")
            splitter = kind(self.n_folds, shuffle=True, random_state=rng)
        else:
            kind = getattr(selection, f"{prefix}ShuffleSplit")
            splitter = kind(1, test_size=self.calibration_size, random_state=rng)
        try:
            return [part for _, part in splitter.split(codes, codes)]
        except ValueError as error:
            raise InvalidParameterError(
                "y", message=f"y cannot be divided for calibration: {error}"
            ) from error

    def _warn_few_objects(self) -> None:
        """Warn if there are too few calibration objects to exclude a class."""
        needed = count_needed_objects(self.confidence)
        n_few = int(self._count_calibration().min())
        if n_few < needed:
            of_class = " of each class" if self.by_class else ""
            message = (
                f"confidence={self.confidence:g} needs at least {needed} calibration objects"
                f"{of_class}, got {n_few}; with fewer, no class is excluded"
            )
            warnings.warn(message, UserWarning, stacklevel=4)

    def _count_calibration(self, rows: Any = slice(None)) -> np.ndarray:
        """Return the number of calibration objects in ``rows`` that are used for each class."""
        codes = self.calibration_classes_[rows]
        if self.by_class:
            return np.bincount(codes, minlength=len(self.classes_))
        return np.full(len(self.classes_), len(codes))

    # ---- scores ----------------------------------------------------------------------------------

    def _compute_probabilities(self, model: Any, X: Any) -> np.ndarray:
        """Return the probabilities of all classes, 0 for a class without training objects."""
        if hasattr(model, "predict_proba"):
            found = np.asarray(model.predict_proba(X), float)
        elif hasattr(model, "decision_function"):
            values = np.asarray(model.decision_function(X), float)
            if values.ndim == 1:
                values = np.column_stack([-values, values])
            found = softmax(values, axis=1)
        else:
            expected = "a classifier with predict_proba or decision_function"
            raise InvalidParameterError("estimator", expected, type(model))
        return self._insert_classes(model, found)

    def _insert_classes(self, model: Any, values: np.ndarray) -> np.ndarray:
        """Insert zeros for the classes that a classifier does not know, shape (n, n_classes)."""
        columns = {name: k for k, name in enumerate(self.classes_.tolist())}
        out = np.zeros((len(values), len(columns)))
        out[:, [columns[name] for name in np.asarray(model.classes_).tolist()]] = values
        return out

    def _compute_scores(self, model: Any, X: Any) -> np.ndarray:
        """Return scores, shape (n, n_classes), that are large if the class does not fit."""
        if self.conformity == "plausibility":
            masses = _predict_masses(model, X)
            if masses is not None:
                return 1 - self._insert_classes(
                    model, np.asarray(masses.contour, float)
                )
        probabilities = self._compute_probabilities(model, X)
        if self.conformity == "lac":
            return 1 - probabilities
        if self.conformity == "plausibility":
            return 1 - probabilities / probabilities.max(axis=1, keepdims=True)
        totals = _more_probable(probabilities)
        # first the most probable classes, by probability
        return np.where(totals == 0, -probabilities, totals)

    def _compute_weights(self, X: Any) -> np.ndarray:
        """Return the likelihood ratio of each object."""
        n = X.shape[0]
        if self.likelihood_ratio is None:
            return np.ones(n)
        weights = rule.as_numbers(self.likelihood_ratio(X), "likelihood_ratio", 0)
        if weights.shape != (n,):
            raise InvalidParameterError(
                "likelihood_ratio", must=f"return {n} numbers, got {weights.shape}"
            )
        return weights

    # ---- prediction ------------------------------------------------------------------------------

    def p_values(self, X: Any) -> np.ndarray:
        """Compute the conformal p-values of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects to classify.

        Returns
        -------
        array of shape (n_samples, n_classes)
            The p-values, with columns in the order of ``classes_``.
        """
        return self._class_p_values(self._validate_new(X))

    def _class_p_values(self, data: Any) -> np.ndarray:
        scores = [self._compute_scores(model, data) for model in self.estimators_]
        return self._compare(data, scores, self.calibration_scores_)

    def _compare(
        self, data: Any, scores: Sequence[np.ndarray], calibration_scores: np.ndarray
    ) -> np.ndarray:
        """Return the p-values of the scores of each fold, shape (n, n_classes).

        Calibration objects whose score is NaN are left out.
        """
        own = self._compute_weights(data)[:, None]
        tails = np.zeros((len(own), len(self.classes_)))
        totals = np.zeros(len(self.classes_))
        is_known = ~np.isnan(calibration_scores)
        groups: list[tuple[Any, np.ndarray]] = [(slice(None), is_known)]
        if self.by_class:
            groups = [
                ([k], is_known & (self.calibration_classes_ == k))
                for k in range(len(self.classes_))
            ]
        for fold, values in enumerate(scores):
            for columns, is_member in groups:
                rows = is_member & (self.calibration_folds_ == fold)
                weights = self.calibration_weights_[rows]
                tails[:, columns] += upper_weights(
                    values[:, columns], calibration_scores[rows], weights
                )
                totals[columns] += weights.sum()
        # If all weights are zero, nothing is known about the object.
        return divide(tails + own, totals + own, 1)

    def _compute_contour(self, X: Any) -> np.ndarray:
        """Return the plausibilities of the classes, shape (n, n_classes), see the notes."""
        data = self._validate_new(X)
        p = self._class_p_values(data)
        level = self._novelty_level()
        projections = [
            hulls.project(numeric_attributes(model, data), len(self.classes_))
            for model, hulls in zip(self.estimators_, self.hulls_, strict=True)
        ]
        weights = np.mean([weights for _, weights in projections], axis=0)
        shares = self._mean_probabilities(data) + weights
        shares /= shares.sum(axis=1, keepdims=True)
        distances = [
            np.broadcast_to(distance[:, None], p.shape) for distance, _ in projections
        ]
        q = self._compare(data, distances, self.calibration_distances_)
        return self._combine(p, q, level, shares)

    def _combine(
        self, p: np.ndarray, q: np.ndarray, level: np.ndarray, shares: np.ndarray
    ) -> np.ndarray:
        """Return the plausibilities for p-values of the classes and of novelty (see the notes)."""
        contour = np.minimum(p + level, 1)
        largest = contour.max(axis=1, keepdims=True)
        contour = np.where(
            self.select_classes(largest),
            np.where(contour == largest, 1, contour),
            np.maximum(contour, 1 - _more_probable(shares)),
        )
        is_novel = (q <= level * (1 + _ROUNDING)).all(axis=1, keepdims=True)
        return np.where(is_novel, q, contour)

    def _novelty_level(self) -> np.ndarray:
        """Return the level of the test of novelty, which is a part of 1 - confidence, by class."""
        alpha = 1 - self.confidence
        n = self._count_calibration(~np.isnan(self.calibration_distances_)) + 1
        level = np.maximum(_NOVELTY_SHARE * alpha * n * (1 + _ROUNDING) // 1, 1) / n
        return np.where(level <= alpha / 2 * (1 + _ROUNDING), level, 0.0)

    def predict_set(self, X: Any) -> np.ndarray:
        """Predict the set of classes whose plausibility is above 1 - ``confidence``.

        The set is empty if the object is far from all classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects to classify.

        Returns
        -------
        Boolean array of shape (n_samples, n_classes)
            Whether each class is in the set of each object, with columns in the order of
            ``classes_``.
        """
        return self.select_classes(self._compute_contour(X))

    def select_classes(self, p_values: np.ndarray) -> np.ndarray:
        """Return whether p-values are above 1 - ``confidence``, with a tolerance for rounding.

        Parameters
        ----------
        p_values : array
            Result of `p_values`, or the contour of the masses.

        Returns
        -------
        Boolean array of the same shape
        """
        return p_values > (1 - self.confidence) * (1 + _ROUNDING)

    def predict_mass(self, X: Any) -> MassFunctions:
        """Predict consonant mass functions, whose contours contain the sets of `predict_set`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects to classify.

        Returns
        -------
        MassFunctions
            One mass function for each row of X, whose frame is ``classes_``. The mass of the empty
            set is 0 unless the object is far from all classes. If X is a pandas DataFrame, its
            index is kept.
        """
        return MassFunctions.from_contour(
            self._compute_contour(X),
            index=rule.row_index(X),
            frame=self.classes_.tolist(),
        )

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict the probabilities of the classifier (means over the folds).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects to classify.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities, with columns in the order of ``classes_``.
        """
        return self._mean_probabilities(self._validate_new(X))

    def _mean_probabilities(self, data: Any) -> np.ndarray:
        return np.mean(
            [self._compute_probabilities(model, data) for model in self.estimators_],
            axis=0,
        )

    def _check_loaded(self) -> None:
        """Raise an error unless each calibration sample has a class and a classifier."""
        for name, n in (
            ("calibration_classes_", len(self.classes_)),
            ("calibration_folds_", min(len(self.estimators_), len(self.hulls_))),
        ):
            if not np.isin(getattr(self, name), np.arange(n)).all():
                raise InvalidInputError(
                    f"{name} must contain integers from 0 to {n - 1}"
                )


def _more_probable(probabilities: np.ndarray) -> np.ndarray:
    """Return the total probability of the classes that precede each class, by probability."""
    order = np.argsort(-probabilities, kind="stable")
    totals = np.take_along_axis(probabilities, order, axis=1).cumsum(axis=1)
    first = np.zeros((len(totals), 1))
    out = np.empty_like(probabilities)
    np.put_along_axis(out, order, np.hstack([first, totals[:, :-1]]), axis=1)
    return out


def count_needed_objects(confidence: float) -> int:
    """Return the smallest number of calibration objects with which a class can be excluded."""
    return ceil((1 / (1 - confidence) - 1) * (1 - _ROUNDING))


def _predict_masses(model: Any, X: Any) -> MassFunctions | None:
    """Return the masses that an evidential classifier, or a pipeline that ends with one, predicts.

    Otherwise None.
    """
    if hasattr(model, "steps") and len(model.steps) > 1:
        return _predict_masses(model[-1], model[:-1].transform(X))
    if hasattr(model, "predict_mass"):
        return model.predict_mass(X)
    return None
