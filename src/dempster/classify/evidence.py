"""The mass functions hidden in a logistic regression or a neural network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._fitting import fit_transaction
from dempster.classify._base import EvidentialClassifier, Targets, hard_targets, is_soft
from dempster.classify._weights import WeightsOfEvidence, evidence_family, least_informative, two_class_scores

_CLOSE = 1e-4  # of probabilities; networks compute in single precision


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
                raise InvalidParameterError("prefit", "True for a torch network: train it first")
            data, targets = self._checked_training(X, y)
            self.estimator_ = _fitted(self.estimator, data, targets)
        self._layer = last_layer(self.estimator_)
        if self._layer.n_classes != len(self.classes_):
            raise InvalidInputError(
                f"y holds {len(self.classes_)} classes, but the estimator has {self._layer.n_classes} outputs"
            )
        self.focal_sets_ = evidence_family(self.focal_sets, len(self.classes_))
        features = self._layer.features(data)
        self.feature_means_ = features.mean(axis=0)
        self.slopes_, self.offsets_ = least_informative(
            self._layer.coefficients, self._layer.intercepts, self.feature_means_
        )
        self._check_probabilities(data, features)

    def _prepared(self, X: Any, y: Any) -> Any:
        """Objects and classes for an estimator that is fitted already."""
        if self.estimator is None:
            raise InvalidParameterError("estimator", "a fitted classifier when prefit=True", None)
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
                raise InvalidParameterError(
                    "y", message=f"y holds classes that the fitted estimator does not know: {shown}"
                )
        return data

    def _check_attributes(self) -> None:
        """Refuse attributes of X that are not those which the fitted estimator has seen; pipelines do so themselves."""
        if hasattr(self.estimator, "steps"):
            return
        n = getattr(self.estimator, "n_features_in_", self.n_features_in_)
        if n != self.n_features_in_:
            raise InvalidParameterError(
                "X", f"a table with the {n} attributes of the fitted estimator", self.n_features_in_
            )
        seen, given = (list(getattr(one, "feature_names_in_", [])) for one in (self.estimator, self))
        if seen and given and seen != given:
            columns = rule.shown(list(map(str, seen)))
            raise InvalidParameterError(
                "X",
                f"a table with the columns of the fitted estimator, in their order, {columns}",
                list(map(str, given)),
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


# ---- the last layer of a classifier: features and linear scores -----------------------------------------------------


@dataclass(frozen=True)
class LinearLayer:
    """Scores of M classes that are linear in J features: the probabilities are their softmax."""

    coefficients: np.ndarray  # (J, M)
    intercepts: np.ndarray  # (M,)
    features: Callable[[Any], np.ndarray]  # objects to (n, J)
    probabilities: Callable[[Any], np.ndarray]  # objects to (n, M), as the classifier itself computes them

    @property
    def n_classes(self) -> int:
        return len(self.intercepts)


def last_layer(estimator: Any) -> LinearLayer:
    """The last layer of a fitted scikit-learn classifier (or pipeline that ends with one) or a torch network."""
    if is_network(estimator):
        return _of_network(estimator)
    if hasattr(estimator, "steps"):
        before, final = estimator[:-1], estimator[-1]
        inner = last_layer(final)

        def through(function: Callable[[Any], np.ndarray]) -> Callable[[Any], np.ndarray]:
            return lambda X: function(before.transform(X) if len(estimator.steps) > 1 else X)

        return LinearLayer(inner.coefficients, inner.intercepts, through(inner.features), through(inner.probabilities))
    if hasattr(estimator, "coefs_") and hasattr(estimator, "intercepts_"):
        return _of_perceptron(estimator)
    if hasattr(estimator, "coef_") and hasattr(estimator, "intercept_") and hasattr(estimator, "predict_proba"):
        scores = _scores(np.asarray(estimator.coef_, dtype=float).T, np.ravel(estimator.intercept_))
        return LinearLayer(*scores, _dense, estimator.predict_proba)
    raise InvalidParameterError(
        "estimator",
        "a classifier with a linear last layer and a softmax or logistic output (LogisticRegression, MLPClassifier, a "
        "pipeline that ends with one, a torch network)",
        type(estimator),
    )


def is_network(estimator: Any) -> bool:
    """Whether it is a torch module, without importing torch for those who have none."""
    return any(kind.__module__.startswith("torch.nn") and kind.__name__ == "Module" for kind in type(estimator).__mro__)


def _scores(coefficients: np.ndarray, intercepts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores of all classes; a single one is the log-odds of the second of two classes."""
    if coefficients.shape[1] == 1:
        return two_class_scores(coefficients, float(np.broadcast_to(intercepts, (1,))[0]))
    return coefficients, np.broadcast_to(np.asarray(intercepts, dtype=float), (coefficients.shape[1],))


def _dense(X: Any) -> np.ndarray:
    from sklearn.utils import check_array

    array = check_array(X, accept_sparse=True, dtype=np.float64)
    return array.toarray() if hasattr(array, "toarray") else array


def _of_perceptron(estimator: Any) -> LinearLayer:
    if estimator.out_activation_ not in ("softmax", "logistic") or np.ndim(estimator.classes_[0]) > 0:
        raise InvalidParameterError(
            "estimator", "a classifier with one output for each class", estimator.out_activation_
        )
    if estimator.out_activation_ == "logistic" and estimator.n_outputs_ > 1:
        raise InvalidParameterError("estimator", "a classifier that gives each object one class, not several labels")

    def features(X: Any) -> np.ndarray:
        values = _dense(X)
        for weights, bias in zip(estimator.coefs_[:-1], estimator.intercepts_[:-1], strict=True):
            values = _activation(estimator.activation, values @ weights + bias)
        return values

    scores = _scores(np.asarray(estimator.coefs_[-1], dtype=float), np.asarray(estimator.intercepts_[-1], dtype=float))
    return LinearLayer(*scores, features, estimator.predict_proba)


def _activation(name: str, values: np.ndarray) -> np.ndarray:
    if name == "relu":
        return np.maximum(values, 0)
    if name == "tanh":
        return np.tanh(values)
    if name == "logistic":
        from scipy.special import expit

        return expit(values)
    if name == "identity":
        return values
    raise InvalidParameterError("estimator", "a perceptron with a known activation", name)


def _of_network(network: Any) -> LinearLayer:
    import torch

    linear = [module for module in network.modules() if isinstance(module, torch.nn.Linear)]
    if not linear:
        raise InvalidParameterError("estimator", "a network that ends with a linear layer (torch.nn.Linear)")
    last = linear[-1]

    def run(X: Any) -> tuple[np.ndarray, np.ndarray]:
        seen: list[Any] = []
        handle = last.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].detach()))
        training = network.training
        try:
            network.eval()
            with torch.no_grad():
                values = torch.as_tensor(np.asarray(X), dtype=last.weight.dtype, device=last.weight.device)
                outputs = network(values)
        finally:
            handle.remove()
            network.train(training)
        features = seen[-1].double().cpu().numpy()
        if features.ndim != 2 or len(features) != len(values):
            raise InvalidParameterError(
                "estimator", "a network whose last linear layer sees one row for each object", features.shape
            )
        return features, outputs.double().cpu().numpy().reshape(len(values), -1)

    coefficients = last.weight.detach().double().cpu().numpy().T
    bias = np.zeros(coefficients.shape[1]) if last.bias is None else last.bias.detach().double().cpu().numpy()
    scores = _scores(coefficients, bias)
    return LinearLayer(*scores, lambda X: run(X)[0], lambda X: _softmax_of_outputs(*run(X), coefficients, bias))


def _softmax_of_outputs(
    features: np.ndarray, outputs: np.ndarray, coefficients: np.ndarray, bias: np.ndarray
) -> np.ndarray:
    """Probabilities that a network means by its outputs: scores, or their (logarithmic) softmax or logistic."""
    from scipy.special import expit, log_softmax, softmax

    scores = features @ coefficients + bias
    single = scores.shape[1] == 1
    positive = expit(scores)
    forms = [scores, positive] if single else [scores, softmax(scores, axis=1), log_softmax(scores, axis=1)]
    if not any(outputs.shape == form.shape and np.allclose(outputs, form, atol=_CLOSE, rtol=_CLOSE) for form in forms):
        raise InvalidParameterError(
            "estimator",
            "a network whose outputs are those of its last linear layer (or their softmax, log-softmax or sigmoid)",
        )
    return np.hstack([1 - positive, positive]) if single else softmax(scores, axis=1)
