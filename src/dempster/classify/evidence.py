"""Mass functions from the probabilities of a logistic regression or a neural network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
from scipy.special import expit, log_softmax, softmax
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, validate_data

from dempster import _validation as rule
from dempster._arrays import is_network
from dempster._errors import InvalidParameterError
from dempster._types import ArrayPair
from dempster.classify._base import (
    EvidentialClassifier,
    encode_classes,
    hard_targets,
)
from dempster.classify._weights import (
    WeightsOfEvidence,
    evidence_family,
    least_informative,
)

# Activation functions of scikit-learn's MLPClassifier.
_ACTIVATIONS = {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "logistic": expit,
    "identity": lambda x: x,
}
# tolerance for comparing probabilities, which networks compute in single precision
_TOLERANCE = 1e-4


class EvidenceFromClassifier(MetaEstimatorMixin, EvidentialClassifier):
    """Compute mass functions from the weights of evidence of a classifier with a linear last layer.

    Logistic regression and feed-forward networks compute a linear score of each class from J
    features, and convert the scores to probabilities. The contribution of a feature to the score of
    a class is interpreted as a weight of evidence for or against this class. Dempster's rule
    combines the evidence of all features into a mass function whose normalized plausibilities are
    exactly the probabilities of the classifier. In contrast to probabilities, the masses
    distinguish conflict between features from lack of evidence.

    Parameters
    ----------
    estimator : classifier or torch network, optional
        `LogisticRegression` (the default), another scikit-learn classifier whose probabilities are
        the softmax of linear scores given by ``coef_`` and ``intercept_``, `MLPClassifier`, a
        pipeline that ends with such a classifier, or a torch network that ends with a linear layer.
    prefit : bool, default=False
        Whether ``estimator`` is already fitted. If True, ``fit`` only computes the means of its
        features. A torch network requires ``prefit=True``.
    focal_sets : {"auto", "full", "simple"}, default="auto"
        Sets of classes that can receive mass. "full" uses all nonempty sets. "simple" uses the
        single classes and the frame, and adds the mass of all sets between them to the frame.
        "auto" is "full" for at most twelve classes and "simple" for more.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Names of the classes.
    estimator_ : classifier or torch network
        The fitted classifier.
    feature_means_ : array of shape (J,)
        Mean of each feature over the objects passed to ``fit``.
    slopes_, offsets_ : arrays of shape (J, n_classes)
        The weight of evidence of feature j for class k is slopes_[j, k] * feature_j + offsets_[j,
        k].
    focal_sets_ : FocalSets
        Focal sets of the predicted masses.

    Notes
    -----
    Many weights give the same probabilities. The least informative weights are used, which have the
    smallest sum of squares over the objects passed to ``fit``. Because scores are linear in the
    features, objects far from the training data have strong evidence, not weak evidence.

    References
    ----------
    T. Denoeux (2019). Logistic regression, neural networks and Dempster-Shafer theory: a new
    perspective. Knowledge-Based Systems 176.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from dempster.classify import EvidenceFromClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EvidenceFromClassifier(LogisticRegression(max_iter=1000)).fit(X[:, 2:], y)
    >>> masses = model.predict_mass([[4.9, 1.7]])
    >>> masses.plausibility_transform().round(3)
    array([[0.001, 0.464, 0.535]])
    >>> model.estimator_.predict_proba([[4.9, 1.7]]).round(3)
    array([[0.001, 0.464, 0.535]])
    >>> masses.mass([(1,), (2,), (1, 2)]).round(3)
    array([[0.432, 0.507, 0.06 ]])
    """

    estimator_: Any
    feature_means_: Annotated[np.ndarray, "J"]
    slopes_: Annotated[np.ndarray, "J n_classes"]
    offsets_: Annotated[np.ndarray, "J n_classes"]

    _rules: Mapping[str, rule.Rule] = {
        "estimator": rule.Rule(
            "a scikit-learn classifier (an instance), a torch network or None",
            lambda one: one is None or rule.is_estimator(one) or is_network(one),
        ),
        "prefit": rule.flag,
        "focal_sets": rule.choice("auto", "full", "simple"),
    }
    _probability = "plausibility"

    def __init__(
        self, estimator: Any = None, *, prefit: bool = False, focal_sets: str = "auto"
    ):
        self.estimator = estimator
        self.prefit = prefit
        self.focal_sets = focal_sets

    def _validate_objects(self, X: Any, *, reset: bool, **options: Any) -> Any:
        # A pipeline may select columns by name.
        if hasattr(self.estimator, "steps") and hasattr(X, "columns"):
            return validate_data(self, X, reset=reset, skip_check_array=True)
        # An object may be an array with several axes, such as an image.
        if is_network(self.estimator):
            options = {"allow_nd": True} | options
        return super()._validate_objects(X, reset=reset, **options)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the classifier (unless ``prefit``) and compute the means of its features.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects.
        y : array-like of shape (n_samples,)
            Classes. If ``prefit=True``, y is optional and only gives the class names of a torch
            network. Unlabelled objects have the label None, NaN or -1, and have no effect on the
            classifier. With a single other label, as in {-1, 1}, -1 is a class.

        Returns
        -------
        self
        """
        return super().fit(X, y)

    def _fit(self, X: Any, y: Any) -> None:
        from sklearn.linear_model import LogisticRegression

        if self.prefit:
            data = self._use_fitted(X, y)
        else:
            if is_network(self.estimator):
                raise InvalidParameterError(
                    "prefit",
                    "True for a torch network, which must be trained before fit",
                )
            data, targets = self._validate_training(X, y)
            model = (
                LogisticRegression()
                if self.estimator is None
                else clone(self.estimator)
            )
            self.estimator_ = model.fit(data, targets.names[targets.hard_codes])
        layer = self._layer
        n_classes = len(self.classes_)
        if layer.n_classes != n_classes:
            raise InvalidParameterError(
                "y", f"labels of {layer.n_classes} classes", n_classes
            )
        self.focal_sets_ = evidence_family(self.focal_sets, n_classes)
        features = layer.features(data)
        self.feature_means_ = features.mean(axis=0)
        self.slopes_, self.offsets_ = least_informative(
            layer.coefficients, layer.intercepts, self.feature_means_
        )
        self._check_outputs(data, features)

    @property
    def _layer(self) -> LinearLayer:
        return find_last_layer(self.estimator_)

    def _use_fitted(self, X: Any, y: Any) -> Any:
        """Validate X and y for a fitted estimator, set ``classes_``, and return X."""
        estimator = self.estimator
        if estimator is None:
            raise InvalidParameterError(
                "estimator", "a fitted classifier when prefit=True", None
            )
        data = self._validate_objects(X, reset=True)
        self.estimator_ = estimator
        if is_network(estimator):
            if y is None:
                self.classes_ = np.arange(find_last_layer(estimator).n_classes)
            else:
                self.classes_ = hard_targets(y).names
            return data
        check_is_fitted(estimator)
        if not hasattr(estimator, "steps"):  # Pipelines check the columns.
            validate_data(estimator, X, reset=False, skip_check_array=True)
        self.classes_ = np.asarray(estimator.classes_)
        if y is not None:
            names = hard_targets(y, self.classes_).names.tolist()
            expected = "classes of the fitted estimator"
            encode_classes(names, self.classes_.tolist(), expected)
        return data

    def _check_outputs(self, data: Any, features: np.ndarray) -> None:
        """Raise if the outputs are not the softmax of the scores.

        Outputs of a network may also be the scores or the logarithms of the softmax.
        """
        rows = np.arange(min(200, len(features)))
        layer = self._layer
        outputs = layer.outputs(_safe_indexing(data, rows))
        scores = features[rows] @ layer.coefficients + layer.intercepts
        forms = [softmax(scores, axis=1)]
        if is_network(self.estimator_):
            forms += [scores, log_softmax(scores, axis=1)]
        if outputs.shape[1] == 1:  # the log-odds or the probability of the second class
            log_odds = scores[:, 1:] - scores[:, :1]
            forms = [log_odds, expit(log_odds)]
        if not any(
            outputs.shape == form.shape
            and np.allclose(outputs, form, atol=_TOLERANCE, rtol=_TOLERANCE)
            for form in forms
        ):
            expected = (
                "a classifier whose probabilities are the softmax of its linear scores, or a "
                "network that returns the scores, their softmax or its logarithm"
            )
            raise InvalidParameterError("estimator", expected, type(self.estimator_))

    # ---- prediction ------------------------------------------------------------------------------

    def _features(self, X: Any) -> np.ndarray:
        X = self._validate_new(X)
        return self._layer.features(X)

    def _evidence(self, features: np.ndarray) -> WeightsOfEvidence:
        return WeightsOfEvidence.from_features(features, self.slopes_, self.offsets_)

    def _compute_masses(self, X: np.ndarray) -> np.ndarray:
        return self._evidence(self._layer.features(X)).masses(self.focal_sets_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict class probabilities, which equal those of ``estimator_``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects to classify.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities, with columns in the order of ``classes_``.
        """
        return self._evidence(self._features(X)).probabilities

    def conflict(self, X: Any) -> np.ndarray:
        """Return the degree of conflict between the features for each object.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects to classify.

        Returns
        -------
        array of shape (n_samples,)
        """
        return self._evidence(self._features(X)).conflict

    def weights_of_evidence(self, X: Any) -> np.ndarray:
        """Return the weights of evidence of the features for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects to classify.

        Returns
        -------
        array of shape (n_samples, J, n_classes)
            Weights of the J features. A positive weight is evidence for the class, a negative
            weight evidence against it.
        """
        return self._features(X)[:, :, None] * self.slopes_ + self.offsets_


# ---- last layer of a classifier ------------------------------------------------------------------


@dataclass(frozen=True)
class LinearLayer:
    """Last layer of a classifier: the softmax of M linear scores of J features."""

    coefficients: np.ndarray  # shape (J, M)
    intercepts: np.ndarray  # shape (M,)
    # computes the features of n objects, shape (n, J)
    features: Callable[[Any], np.ndarray]
    # computes the probabilities of n objects, shape (n, M), or the outputs of a network
    outputs: Callable[[Any], np.ndarray]

    @property
    def n_classes(self) -> int:
        return len(self.intercepts)


def find_last_layer(estimator: Any) -> LinearLayer:
    """Return the last layer of a scikit-learn classifier, of a pipeline, or of a torch network."""
    if is_network(estimator):
        return _layer_of_network(estimator)
    if hasattr(estimator, "steps"):
        inner = find_last_layer(estimator[-1])
        if len(estimator.steps) == 1:
            return inner
        transform = estimator[:-1].transform
        return replace(
            inner,
            features=lambda X: inner.features(transform(X)),
            outputs=lambda X: inner.outputs(transform(X)),
        )
    has_probabilities = hasattr(estimator, "predict_proba")
    if has_probabilities and hasattr(estimator, "coefs_"):
        return _layer_of_perceptron(estimator)
    if has_probabilities and hasattr(estimator, "coef_"):
        coefficients = np.asarray(estimator.coef_, float).T
        scores = _to_scores(coefficients, np.ravel(estimator.intercept_))
        return LinearLayer(*scores, _to_dense, estimator.predict_proba)
    examples = "LogisticRegression, MLPClassifier, pipeline or torch network"
    expected = f"a classifier with a linear last layer ({examples})"
    raise InvalidParameterError("estimator", expected, type(estimator))


def _to_scores(coefficients: np.ndarray, intercepts: np.ndarray) -> ArrayPair:
    """Return the coefficients and intercepts of the scores of all classes."""
    n_scores = coefficients.shape[1]
    intercepts = np.broadcast_to(np.asarray(intercepts, float), (n_scores,))
    if n_scores == 1:
        coefficients = np.hstack([-coefficients, coefficients]) / 2
        intercepts = np.append(-intercepts, intercepts) / 2
    return coefficients, intercepts


def _to_dense(X: Any) -> np.ndarray:
    from sklearn.utils import check_array

    array = check_array(X, accept_sparse=True, dtype=np.float64)
    if hasattr(array, "toarray"):
        return array.toarray()
    return array


def _layer_of_perceptron(estimator: Any) -> LinearLayer:
    def features(X: Any) -> np.ndarray:
        values = _to_dense(X)
        for weights, bias in zip(
            estimator.coefs_[:-1], estimator.intercepts_[:-1], strict=True
        ):
            values = _ACTIVATIONS[estimator.activation](values @ weights + bias)
        return values

    scores = _to_scores(
        np.asarray(estimator.coefs_[-1], float), estimator.intercepts_[-1]
    )
    return LinearLayer(*scores, features, estimator.predict_proba)


def run_network(network: Any, layer: Any, x: Any) -> tuple[Any, Any]:
    """Return the inputs of a layer of a torch network, and the outputs of the network."""
    inputs: list[Any] = []
    handle = layer.register_forward_pre_hook(
        lambda module, arguments: inputs.append(arguments[0])
    )
    try:
        outputs = network(x)
    finally:
        handle.remove()
    return inputs[-1], outputs


def _layer_of_network(network: Any) -> LinearLayer:
    import torch

    linear = [
        module for module in network.modules() if isinstance(module, torch.nn.Linear)
    ]
    if not linear:
        raise InvalidParameterError(
            "estimator", "a network that ends with a linear layer (torch.nn.Linear)"
        )
    last = linear[-1]

    def run(X: Any) -> ArrayPair:
        is_training = network.training
        try:
            network.eval()
            with torch.no_grad():
                values = torch.as_tensor(np.asarray(X)).to(last.weight)
                inputs, outputs = run_network(network, last, values)
        finally:
            network.train(is_training)
        features = inputs.double().cpu().numpy()
        if features.ndim != 2 or len(features) != len(values):
            raise InvalidParameterError(
                "estimator",
                "a network with one row of features per object",
                features.shape,
            )
        return features, outputs.double().cpu().numpy().reshape(len(values), -1)

    coefficients = last.weight.detach().double().cpu().numpy().T
    bias = np.zeros(1)
    if last.bias is not None:
        bias = last.bias.detach().double().cpu().numpy()
    scores = _to_scores(coefficients, bias)
    return LinearLayer(*scores, lambda X: run(X)[0], lambda X: run(X)[1])
