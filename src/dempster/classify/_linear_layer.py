"""The last layer of a classifier: features and the linear scores of the classes that it makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import shown
from dempster.classify._weights import two_class_scores

__all__ = ["LinearLayer", "last_layer", "is_network"]

_CLOSE = 1e-4  # of probabilities; networks compute in single precision


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


def is_network(estimator: Any) -> bool:
    """Whether it is a torch module, without importing torch for those who have none."""
    return any(kind.__module__.startswith("torch.nn") and kind.__name__ == "Module" for kind in type(estimator).__mro__)


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
    raise InvalidInputError(
        "estimator must be a classifier with a linear last layer and a softmax or logistic output (LogisticRegression, "
        f"MLPClassifier, a pipeline that ends with one, a torch network), got {type(estimator).__name__}"
    )


def _scores(coefficients: np.ndarray, intercepts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores of all classes; a single one is the log-odds of the second of two classes."""
    if coefficients.shape[1] == 1:
        return two_class_scores(coefficients, float(np.broadcast_to(intercepts, (1,))[0]))
    return coefficients, np.broadcast_to(np.asarray(intercepts, dtype=float), (coefficients.shape[1],))


def _dense(X: Any) -> np.ndarray:
    from sklearn.utils import check_array

    array = check_array(X, accept_sparse=True, dtype=np.float64)
    return array.toarray() if hasattr(array, "toarray") else array


# ---- multilayer perceptrons of scikit-learn -------------------------------------------------------------------------


def _of_perceptron(estimator: Any) -> LinearLayer:
    if estimator.out_activation_ not in ("softmax", "logistic") or np.ndim(estimator.classes_[0]) > 0:
        raise InvalidInputError(
            f"estimator must have one output for each class, got {shown(estimator.out_activation_)} outputs"
        )
    if estimator.out_activation_ == "logistic" and estimator.n_outputs_ > 1:
        raise InvalidInputError(
            "estimator must give each object one class, got a classifier with several labels per object"
        )

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
    raise InvalidInputError(f"estimator has an unknown activation, {name!r}")


# ---- networks of torch ----------------------------------------------------------------------------------------------


def _of_network(network: Any) -> LinearLayer:
    import torch

    linear = [module for module in network.modules() if isinstance(module, torch.nn.Linear)]
    if not linear:
        raise InvalidInputError("estimator must end with a linear layer (torch.nn.Linear), the network has none")
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
            raise InvalidInputError(
                f"the last linear layer must see one row for each object, got shape {features.shape}"
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
        raise InvalidInputError(
            "the outputs of the network must be those of its last linear layer (or their softmax, log-softmax or "
            "sigmoid); they are something else"
        )
    return np.hstack([1 - positive, positive]) if single else softmax(scores, axis=1)
