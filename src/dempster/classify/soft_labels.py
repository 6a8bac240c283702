"""Classification with soft labels by any regressor for several outputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_regressor
from sklearn.utils import get_tags

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.belief import FocalSets, MassFunctions
from dempster.classify._base import EvidentialClassifier, Targets, is_soft

_N_NEIGHBORS = 5


class SoftLabelClassifier(MetaEstimatorMixin, EvidentialClassifier):
    r"""Classifier for soft labels, which fits their mass functions by a regressor.

    A label may be a mass function: an annotator chose several classes, or was not sure. Let M be
    the matrix of the masses of n labels on the focal sets, and :math:`J_{AB} = |A \cap B| / |A
    \cup B| = (V \operatorname{diag}(w) V^T)_{AB}`. The coordinates

    .. math::

        T = M V \operatorname{diag}(\sqrt{w})

    have Euclidean distances that are Jousselme's distances of the mass functions, up to the factor
    :math:`\sqrt{1/2}`. A regressor predicts T for new objects. The inverse map gives masses.
    Negative masses are set to zero, and the masses are normalized.

    The mean of T in the leaf of a regression tree is the mean of the mass functions, and the
    squared error of the tree is the squared Jousselme distance. A random forest of such trees is an
    evidential forest. The same holds for other regressors: nearest neighbors, linear models and
    networks.

    Parameters
    ----------
    estimator : regressor, optional
        Regressor of scikit-learn for several outputs, such as a `RandomForestRegressor`, or a
        pipeline that ends with one; `MultiOutputRegressor` extends other regressors. By default a
        `KNeighborsRegressor`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Names of the classes.
    estimator_ : regressor
        Fitted regressor, whose outputs are the coordinates T.
    focal_sets_ : FocalSets
        Focal sets of the labels.

    See Also
    --------
    EKNNClassifier : Nearest neighbors, whose masses show the distance from the training objects.
    EvidentialNeuralNetworkClassifier : Prototypes, also with soft labels.

    Notes
    -----
    y may contain classes, soft labels (`MassFunctions`) or, in an array of shape (n_samples,
    n_classes), the probabilities of the classes, for example the shares of the annotators who chose
    each class.

    The masses describe the doubt of the annotators about objects like the new one. They do not show
    whether the new object is unlike all training objects.

    References
    ----------
    A.-L. Jousselme, D. Grenier and É. Bossé (2001). A new distance between two bodies of evidence.
    Information Fusion 2.

    A. Hoarau, A. Martin, J.-C. Dubois and Y. Le Gall (2023). Evidential random forests. Expert
    Systems with Applications 230.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from dempster import MassFunctions
    >>> from dempster.classify import SoftLabelClassifier
    >>> X = [[0.0], [0.1], [0.2], [0.8], [0.9], [1.0]]
    >>> dog, wolf, either = {"dog": 1}, {"wolf": 1}, {("dog", "wolf"): 1}
    >>> labels = MassFunctions.from_dict([dog, dog, either, either, wolf, wolf], ["dog", "wolf"])
    >>> model = SoftLabelClassifier(RandomForestRegressor(random_state=0)).fit(X, labels)
    >>> model.predict([[0.05], [0.95]])
    array(['dog', 'wolf'], dtype='<U4')
    >>> print(model.predict_mass([[0.0], [0.5]]).masses.round(1))  # dog, wolf, either of them
    [[0.9 0.  0.1]
     [0.  0.  1. ]]
    """

    estimator_: Any
    _inverse_root: Annotated[np.ndarray, "f f"]  # maps the coordinates T to masses

    _rules: Mapping[str, rule.Rule] = {
        "estimator": rule.Rule(
            "a regressor (an instance) or None",
            lambda one: one is None or (rule.is_estimator(one) and is_regressor(one)),
        )
    }

    def __init__(self, estimator: Any = None):
        self.estimator = estimator

    def _validate_objects(self, X: Any, *, reset: bool, **options: Any) -> Any:
        if self.estimator is None:
            return super()._validate_objects(X, reset=reset, **options)
        return rule.validate_wrapped(self, X, self.estimator, reset=reset)

    def _fit(self, X: Any, y: Any) -> None:
        data, targets = self._validate_training(X, _as_labels(y))
        masses, self.focal_sets_ = _label_masses(targets)
        values, vectors = np.linalg.eigh(self.focal_sets_.jaccard)
        scales = np.sqrt(values)
        self._inverse_root = (vectors / scales).T
        if isinstance(data, np.ndarray):
            data = data.copy()  # A regressor may keep its training objects.
        if self.estimator is None:
            from sklearn.neighbors import KNeighborsRegressor  # slow to import

            regressor = KNeighborsRegressor(min(_N_NEIGHBORS, len(masses)))
        else:
            regressor = clone(self.estimator)
        try:
            self.estimator_ = regressor.fit(data, masses @ (vectors * scales))
        except ValueError as error:
            if get_tags(regressor).target_tags.multi_output:
                raise
            expected = "a regressor for several outputs, or MultiOutputRegressor of it"
            raise InvalidParameterError(
                "estimator", f"{expected} ({error})", regressor
            ) from error

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if rule.is_estimator(self.estimator):
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags

    def _compute_masses(self, X: Any) -> np.ndarray:
        predicted = np.asarray(self.estimator_.predict(X), float)
        coordinates = predicted.reshape(len(predicted), len(self.focal_sets_))
        masses = np.maximum(coordinates @ self._inverse_root, 0)
        total = masses.sum(axis=1, keepdims=True)
        # A regressor that extrapolates may predict coordinates without any positive mass.
        masses[total[:, 0] == 0] = 1
        return masses / masses.sum(axis=1, keepdims=True)


def _as_labels(y: Any) -> Any:
    """Convert an array of probabilities with a column for each class to mass functions."""
    if is_soft(y):
        return y
    with rule.validating_labels(y, "y"):
        shape = getattr(y, "shape", None) or np.asarray(y).shape
    if len(shape) != 2 or shape[1] < 2:
        return y
    probabilities = rule.as_reals(y, "y")
    classes = FocalSets.simple(shape[1], empty=False, omega=False)
    try:
        return MassFunctions(
            probabilities, classes, rule.row_index(y), frame=rule.column_names(y)
        )
    except InvalidInputError as error:
        raise InvalidParameterError(
            "y", f"classes, mass functions or probabilities of the classes: {error}"
        ) from error


def _label_masses(targets: Targets) -> tuple[np.ndarray, FocalSets]:
    """Return the masses of the labels on the sets that have positive mass in some label."""
    if targets.soft is None:
        n_classes = len(targets.names)
        return targets.indicators, FocalSets.simple(n_classes, empty=False, omega=False)
    masses = np.asarray(targets.soft.masses, float)
    is_used = masses.any(axis=0)
    return masses[:, is_used], FocalSets(targets.soft.focal_sets.membership[is_used])
