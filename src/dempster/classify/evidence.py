"""The mass functions hidden in a logistic regression or a neural network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster._fitting import fit_transaction
from dempster.classify._base import EvidentialClassifier, Targets, hard_targets, is_soft, singletons_and_frame
from dempster.classify._linear_layer import is_network, last_layer
from dempster.classify._weights import WeightsOfEvidence, least_informative, subsets_of_classes

__all__ = ["EvidenceFromClassifier"]

_MOST_CLASSES = 12  # whose sets are all listed
_CLOSE = 1e-4


def _is_estimator(given: Any) -> bool:
    if isinstance(given, type):  # the class itself has the methods too
        return False
    return given is None or is_network(given) or (hasattr(given, "fit") and hasattr(given, "get_params"))


class EvidenceFromClassifier(MetaEstimatorMixin, EvidentialClassifier):
    """Mass functions behind the probabilities of a classifier with a linear last layer.

    Logistic regression and feed-forward networks compute linear scores of some features and turn them into
    probabilities. Read as weights of evidence, each feature supports some classes and opposes others; Dempster's rule
    combines all this into a mass function whose plausibilities, divided by their sum, are exactly the probabilities of
    the classifier. The masses tell more: conflict between features, and lack of evidence.

    Parameters
    ----------
    estimator : classifier or torch network, optional
        `LogisticRegression` (the default) or another scikit-learn classifier whose probabilities are the softmax of
        ``coef_`` and ``intercept_``, `MLPClassifier`, a pipeline that ends with one of them, or a torch network that
        ends with a linear layer.
    prefit : bool, default=False
        Whether ``estimator`` is already fitted. ``fit`` then only takes the means of its features. A torch network
        must be.
    focal_sets : {"auto", "full", "simple"}, default="auto"
        "full": all sets of classes. "simple": the single classes and the whole frame, which takes the mass of the
        other sets. "auto": "full" up to twelve classes.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
    estimator_ : the fitted classifier
    feature_means_ : array of shape (J,)
    slopes_, offsets_ : arrays of shape (J, n_classes)
        The weight of evidence of feature j for class k is slopes_[j, k] * feature_j + offsets_[j, k].
    focal_sets_ : FocalSets

    Notes
    -----
    Many weights give the same probabilities. The ones used say least: they have the smallest sum of squares over the
    objects given to ``fit``. Far from the data linear features give strong, not weak, evidence.

    Soft labels (`MassFunctions` as y): each object counts for every class, with its pignistic probability as the
    weight, if the estimator takes ``sample_weight``.

    References
    ----------
    T. Denoeux (2019). Logistic regression, neural networks and Dempster-Shafer theory: a new perspective.
    Knowledge-Based Systems 176.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from dempster.classify import EvidenceFromClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EvidenceFromClassifier(LogisticRegression(max_iter=1000)).fit(X[:, 2:], y)
    >>> masses = model.predict_mass([[4.9, 1.7]])
    >>> masses.plausibility_transform().round(3), model.estimator_.predict_proba([[4.9, 1.7]]).round(3)
    (array([[0.001, 0.464, 0.535]]), array([[0.001, 0.464, 0.535]]))
    >>> masses.mass([(1,), (2,), (1, 2)]).round(3)
    array([[0.432, 0.507, 0.06 ]])
    """

    _rules: Mapping[str, rule.Rule] = {
        "estimator": rule.Rule("a scikit-learn classifier (an instance), a torch network or None", _is_estimator),
        "prefit": rule.flag,
        "focal_sets": rule.choice("auto", "full", "simple"),
    }
    _probability = "plausibility"

    def __init__(self, estimator: Any = None, *, prefit: bool = False, focal_sets: str = "auto"):
        self.estimator = estimator
        self.prefit = prefit
        self.focal_sets = focal_sets

    def _checked_objects(self, X: Any, *, reset: bool, **options: Any) -> Any:
        if hasattr(self.estimator, "steps") and hasattr(X, "columns"):  # a pipeline may want its columns by name
            return validate_data(self, X, reset=reset, skip_check_array=True)
        if is_network(self.estimator):  # images and the like
            options = {"allow_nd": True} | options
        return super()._checked_objects(X, reset=reset, **options)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the classifier (unless ``prefit``) and take the means of its features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,), or MassFunctions
            Classes. With ``prefit=True`` they only name the classes of a torch network (0, 1, ... without y).

        Returns
        -------
        self
        """
        with fit_transaction(self) as draft:
            draft._learn(X, y)
        return self

    def _learn(self, X: Any, y: Any) -> None:
        rule.check_parameters(self, self._rules)
        if self.prefit:
            data = self._prepared(X, y)
        else:
            if is_network(self.estimator):
                raise InvalidInputError("prefit must be True for a torch network: train it first")
            data, targets = self._checked_training(X, y)
            self.estimator_ = _fitted(self.estimator, data, targets)
        self._layer = last_layer(self.estimator_)
        if self._layer.n_classes != len(self.classes_):
            raise InvalidInputError(
                f"y holds {len(self.classes_)} classes, but the estimator has {self._layer.n_classes} outputs"
            )
        family = "full" if len(self.classes_) <= _MOST_CLASSES else "simple"
        family = family if self.focal_sets == "auto" else self.focal_sets
        if family == "full" and len(self.classes_) > _MOST_CLASSES:
            raise InvalidInputError(
                f"focal_sets='full' is for at most {_MOST_CLASSES} classes, got {len(self.classes_)}"
            )
        self.focal_sets_ = (subsets_of_classes if family == "full" else singletons_and_frame)(len(self.classes_))
        features = self._layer.features(data)
        self.feature_means_ = features.mean(axis=0)
        self.slopes_, self.offsets_ = least_informative(
            self._layer.coefficients, self._layer.intercepts, self.feature_means_
        )
        self._check_probabilities(data, features)

    def _prepared(self, X: Any, y: Any) -> Any:
        """Objects and classes for an estimator that is fitted already."""
        if self.estimator is None:
            raise InvalidInputError("estimator must be a fitted classifier when prefit=True, got None")
        data = self._checked_objects(X, reset=True)
        self.estimator_ = self.estimator
        if is_network(self.estimator):
            names = None if y is None else hard_targets(y).names
            self.classes_ = np.arange(last_layer(self.estimator).n_classes) if names is None else names
        else:
            check_is_fitted(self.estimator)
            self._check_attributes()
            self.classes_ = np.asarray(self.estimator.classes_)
            given = [] if y is None or is_soft(y) else hard_targets(y).names.tolist()
            unknown = set(given) - set(self.classes_.tolist())
            if unknown:
                shown = ", ".join(sorted(map(repr, unknown))[:5])
                raise InvalidInputError(f"y holds classes that the fitted estimator does not know: {shown}")
        return data

    def _check_attributes(self) -> None:
        """Refuse attributes of X that are not those which the fitted estimator has seen; pipelines do so themselves."""
        if hasattr(self.estimator, "steps"):
            return
        n = getattr(self.estimator, "n_features_in_", self.n_features_in_)
        if n != self.n_features_in_:
            raise InvalidInputError(
                f"X must have the {n} attributes of the fitted estimator, got {self.n_features_in_}"
            )
        seen, given = (list(getattr(one, "feature_names_in_", [])) for one in (self.estimator, self))
        if seen and given and seen != given:
            raise InvalidInputError(
                "X must have the columns that the estimator was fitted to, in their order, "
                f"{rule.shown(list(map(str, seen)))}, got {rule.shown(list(map(str, given)))}"
            )

    def _check_probabilities(self, data: Any, features: np.ndarray) -> None:
        """Refuse a classifier whose probabilities are no softmax of its scores (one-versus-rest, for instance)."""
        some = np.arange(min(200, len(features)))
        theirs = self._layer.probabilities(_safe_indexing(data, some))
        ours = self._evidence(features[some]).probabilities
        if np.abs(theirs - ours).max() > _CLOSE:
            raise InvalidInputError(
                f"the probabilities of {type(self.estimator_).__name__} are not the softmax of its linear scores, so "
                "its weights of evidence are not known"
            )

    # ---- new objects ----------------------------------------------------------------------------------------------

    def _evidence(self, features: np.ndarray) -> WeightsOfEvidence:
        return WeightsOfEvidence.from_features(features, self.slopes_, self.offsets_)

    def _evidence_of(self, X: Any) -> WeightsOfEvidence:
        check_is_fitted(self, "classes_")
        return self._evidence(self._layer.features(self._checked_objects(X, reset=False)))

    def _masses(self, X: np.ndarray) -> np.ndarray:
        return self._evidence(self._layer.features(X)).masses(self.focal_sets_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, n_classes) plausibilities divided by their sum, which are the probabilities of the classifier."""
        return self._evidence_of(X).probabilities

    def contour(self, X: Any) -> np.ndarray:
        """(n, n_classes) plausibilities of the classes, for any number of classes."""
        return self._evidence_of(X).contour

    def conflict(self, X: Any) -> np.ndarray:
        """(n,) degree of conflict between the features of each object."""
        return self._evidence_of(X).conflict

    def weights_of_evidence(self, X: Any) -> np.ndarray:
        """(n, J, n_classes) what each feature says for (positive) or against (negative) each class."""
        check_is_fitted(self, "classes_")
        features = self._layer.features(self._checked_objects(X, reset=False))
        return features[:, :, None] * self.slopes_ + self.offsets_

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_layer"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "estimator_"):
            self._layer = last_layer(self.estimator_)


def _fitted(estimator: Any, data: Any, targets: Targets) -> Any:
    """A fitted copy of a scikit-learn classifier (logistic regression when None).

    Soft labels: every object counts for every class, which is known to the copy by its number.
    """
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression() if estimator is None else clone(estimator)
    if targets.codes is not None:
        return model.fit(data, targets.names[targets.codes])
    final, prefix = (model[-1], f"{model.steps[-1][0]}__") if hasattr(model, "steps") else (model, "")
    if not has_fit_parameter(final, "sample_weight"):
        raise InvalidInputError(
            f"y may hold soft labels only if the estimator takes sample_weight; {type(final).__name__} does not"
        )
    n, n_classes = targets.indicators.shape
    weights = {f"{prefix}sample_weight": targets.indicators.ravel()}
    every = _safe_indexing(data, np.repeat(np.arange(n), n_classes))
    return model.fit(every, np.tile(np.arange(n_classes), n), **weights)
