"""Base class of the evidential classifiers: validation, soft labels, prediction and decisions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from dempster import _validation as validation
from dempster._errors import InvalidParameterError
from dempster._fitting import fit_transaction, warn_not_converged
from dempster._site import DocumentedEstimator
from dempster.belief import FocalSets, MassFunctions
from dempster.belief.decisions import DECISION_RULES, SET_RULES
from dempster.dissimilarity.input import order_columns_as_in_fit, order_columns_as_rows
from dempster.optimize.descent import Run

CAUTIOUS = "partial_assignment"


@dataclass(frozen=True)
class Targets:
    """Labels of n labelled objects for M classes: hard (classes) or soft (mass functions)."""

    names: np.ndarray  # names of the classes, shape (M,)
    # position of the class of each object in names, shape (n,); None for soft labels
    codes: np.ndarray | None
    soft: MassFunctions | None  # normalized mass functions; None for hard labels
    rows: np.ndarray | None = None  # labelled rows of X; None if all rows are labelled

    @property
    def hard_codes(self) -> np.ndarray:
        """Codes of hard labels; soft labels raise an error."""
        if self.codes is None:
            raise InvalidParameterError("y", must="contain classes, got soft labels")
        return self.codes

    @cached_property
    def indicators(self) -> np.ndarray:
        """Indicators of the classes, or pignistic probabilities for soft labels, shape (n, M)."""
        if self.soft is None:
            return np.eye(len(self.names))[self.codes]
        return self.soft.pignistic()

    @cached_property
    def contour(self) -> np.ndarray:
        """Plausibility of each class under each label, shape (n, M)."""
        if self.soft is None:
            return self.indicators
        return self.soft.contour


class EvidentialClassifier(ClassifierMixin, DocumentedEstimator, BaseEstimator):
    """Base class of the evidential classifiers.

    Subclasses implement ``_fit`` and ``_compute_masses``. ``_fit`` must call `_validate_training`,
    which sets ``classes_``, and must set ``focal_sets_``, the focal sets of the masses that
    ``_compute_masses`` returns. Most classifiers use the single classes and the whole frame.
    """

    _rules: Mapping[str, validation.Rule] = {}
    _any_scale = False  # whether values of any magnitude are allowed
    # how predict_proba converts masses to probabilities: "pignistic" or "plausibility"
    _probability = "pignistic"
    classes_: Annotated[np.ndarray, "n_classes:any"]
    focal_sets_: FocalSets
    max_iter: int  # max_iter and tol are parameters of the classifiers that are fitted iteratively
    tol: float

    # ---- implemented by subclasses ---------------------------------------------------------------

    def _fit(self, X: Any, y: Any) -> None:
        """Validate the training data and set the fitted attributes."""
        raise NotImplementedError

    def _compute_masses(self, X: np.ndarray) -> np.ndarray:
        """Return the masses of n validated objects on the f focal sets, shape (n, f)."""
        raise NotImplementedError

    # ---- training --------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training objects, or the distances between them if the metric is precomputed.
        y : array-like of shape (n_samples,), or MassFunctions
            Class of each object, or a mass function on the set of classes for each object.
            Unlabelled objects have the label None, NaN or -1, and carry no evidence. With a single
            other label, as in {-1, 1}, -1 is a class.

        Returns
        -------
        self
        """
        with fit_transaction(self) as draft:
            validation.check_parameters(draft, draft._rules)
            draft._fit(X, y)
        return self

    def _set_run(self, run: Run[np.ndarray]) -> None:
        """Set the attributes that describe the optimization, and warn if it did not converge."""
        self.objective_ = run.objective
        self.history_ = np.asarray(run.history)
        self.n_iter_ = len(run.history)
        self.converged_ = run.converged
        if not run.converged:
            warn_not_converged(self)

    # ---- validation ------------------------------------------------------------------------------

    def _validate_training(
        self, X: Any, y: Any, **options: Any
    ) -> tuple[np.ndarray, Targets]:
        """Validate X and y, set ``classes_``, and return the labelled rows and their labels."""
        data, targets = self._validate_labeled(X, y, **options)
        if len(targets.names) < 2:
            (name,) = targets.names.tolist()
            must = f"contain at least two classes, got one class: {name!r}"
            if targets.rows is not None:
                must += "; the other rows are unlabelled"
            raise InvalidParameterError("y", must=must)
        self.classes_ = targets.names
        return data, targets

    def _validate_labeled(
        self, X: Any, y: Any, classes: Iterable[Any] | None = None, **options: Any
    ) -> tuple[np.ndarray, Targets]:
        """Validate objects and their labels, and return the labelled rows and their labels.

        ``classes`` contains the classes if they are known before y is read.
        """
        if y is None:
            message = f"{type(self).__name__} requires y to be passed, but the target y is None"
            raise InvalidParameterError("y", message=message)
        data = self._validate_objects(X, reset=True, **options)
        names = validation.row_index(X)
        if is_soft(y):
            targets = _soft_targets(y, names)
            with validation.validating_labels(y, "y"):
                check_consistent_length(data, targets.indicators)
        else:
            y = validation.reorder_like(y, names)
            with validation.validating_labels(y, "y"):
                check_consistent_length(data, y)
            targets = hard_targets(y, classes)
        if targets.rows is not None:
            data = _safe_indexing(data, targets.rows)
            if get_tags(self).input_tags.pairwise:
                data = np.ascontiguousarray(data[:, targets.rows])
        return data, targets

    def _validate_objects(self, X: Any, *, reset: bool, **options: Any) -> np.ndarray:
        options = {"dtype": [np.float64, np.float32], "order": "C"} | options
        X = validation.to_supported_type(self, X)
        if get_tags(self).input_tags.pairwise:
            order_columns = order_columns_as_in_fit
            if reset:
                order_columns = order_columns_as_rows
            X = order_columns(self, X)
        with validation.validating(X, "X"):
            values = validate_data(self, X, reset=reset, **options)
        if (
            isinstance(values, np.ndarray)
            and values.dtype.kind == "f"
            and not self._any_scale
        ):
            check = validation.check_scale if reset else validation.check_size
            check(values, "X")
        return values

    def _validate_new(self, X: Any) -> np.ndarray:
        """Validate objects to classify; raise an error before `fit`."""
        check_is_fitted(self, "classes_")
        return self._validate_objects(X, reset=False)

    # ---- prediction ------------------------------------------------------------------------------

    def predict_mass(self, X: Any) -> MassFunctions:
        """Predict a mass function on the set of classes for each object.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects to classify.

        Returns
        -------
        MassFunctions
            One mass function for each row of X, whose frame is ``classes_``. If X is a pandas
            DataFrame, its index is kept.
        """
        masses = self._compute_masses(self._validate_new(X))
        index = validation.row_index(X)
        return MassFunctions.unchecked(
            validation.check_masses(masses),
            self.focal_sets_,
            index,
            self.classes_.tolist(),
        )

    def predict_proba(self, X: Any) -> np.ndarray:
        """Predict class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects to classify.

        Returns
        -------
        array of shape (n_samples, n_classes)
            Probabilities, with columns in the order of ``classes_``.
        """
        masses = self.predict_mass(X)
        if self._probability == "pignistic":
            return masses.pignistic()
        return masses.plausibility_transform()

    def predict(self, X: Any) -> np.ndarray:
        """Predict the most probable class of each object.

        In case of a tie, predict the first of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects to classify.

        Returns
        -------
        array of shape (n_samples,)
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def decide(
        self,
        X: Any,
        rule: str = "pignistic",
        *,
        reject: float | None = None,
        optimism: float = 0.5,
        tolerance: float = 0.8,
        reject_label: Hashable = -1,
    ) -> np.ndarray:
        """Decide on a class for each object.

        Depending on the parameters, the decision can also be a rejection (no class is selected) or
        a set of classes. For other acts than the classes, with any losses, use
        ``predict_mass(X).decide(losses=...)``.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects to classify.
        rule : str, default="pignistic"
            Decision rule. "pignistic" maximizes the expected utility under the pignistic
            probabilities, "maximax" the upper expected utility, "maximin" the lower expected
            utility, and "hurwicz" the mean of the upper and lower expected utilities, weighted by
            ``optimism``; the utility is 1 for the true class and 0 otherwise. Three rules may
            return several classes. "interval_dominance" and "maximality" return the classes that
            no other class dominates. "partial_assignment" returns
            the set of classes with the largest expected utility, where ``tolerance`` is the utility
            of a pair of classes.
        reject : float >= 0, optional
            Loss of a rejection; a wrong class has the loss 1 and the true class 0. By default no
            object is rejected.
        optimism : float in [0, 1], default=0.5
            Weight of the upper expected utility if ``rule="hurwicz"``.
        tolerance : float in [0.5, 1], default=0.8
            Utility of a pair of classes that contains the true class if
            ``rule="partial_assignment"``.
        reject_label : object, default=-1
            Label of the objects that are rejected.

        Returns
        -------
        decisions : ndarray
            Selected class or ``reject_label`` for each object, shape (n_samples,). For the three
            rules that may return several classes, a Boolean array of shape (n_samples, n_classes)
            that marks the selected classes.

        References
        ----------
        T. Denoeux (2019). Decision-making with belief functions: a review. Int. J. Approximate
        Reasoning 109. L. Ma and T. Denoeux (2021). Partial classification in the belief function
        framework. Knowledge-Based Systems.
        """
        validation.check_choice(rule, "rule", (*DECISION_RULES, CAUTIOUS))
        validation.check(tolerance, "tolerance", validation.real(0.5, 1))
        validation.check(reject_label, "reject_label", validation.hashable)
        check_is_fitted(self, "classes_")
        names = self.classes_.tolist()
        if reject is not None and reject_label in set(names):
            raise InvalidParameterError(
                "reject_label", "different from the names of the classes", reject_label
            )
        masses = self.predict_mass(X)
        if rule == CAUTIOUS:
            if reject is not None:
                raise InvalidParameterError("reject", f"None for rule={rule!r}", reject)
            return masses.decide_sets(tolerance)
        selected = masses.decide(rule, reject=reject, optimism=optimism)
        if rule in SET_RULES:
            return selected
        if reject is not None:
            names = [*names, reject_label]  # at position -1
        return _to_array(names)[selected]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of `predict`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Objects to classify.
        y : array-like of shape (n_samples,)
            True classes. Unlabelled objects, as in `fit`, are left out.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the objects.

        Returns
        -------
        float
        """
        check_is_fitted(self, "classes_")
        if is_soft(y):
            raise InvalidParameterError("y", must="contain classes, got MassFunctions")
        names = validation.row_index(X)
        y = validation.reorder_like(y, names)
        weights = validation.reorder_like(sample_weight, names)
        y, is_labelled = read_classes(y, self.classes_)
        if not is_labelled.all():
            check_consistent_length(X, is_labelled, weights)
            X = _safe_indexing(X, is_labelled)
            if weights is not None:
                weights = _safe_indexing(weights, is_labelled)
        return super().score(X, y, weights)


def is_soft(y: Any) -> bool:
    """Return whether y is MassFunctions, or a sequence of them, which scikit-learn may create."""
    if isinstance(y, list | tuple):
        return len(y) > 0 and all(isinstance(part, MassFunctions) for part in y)
    return isinstance(y, MassFunctions)


def _soft_targets(y: MassFunctions | Sequence[MassFunctions], index: Any) -> Targets:
    """Return targets in the row order of X for soft labels.

    ``index`` contains the names of the rows of X.

    The labels become hard targets if each label is certain and each class occurs.
    """
    labels = y if isinstance(y, MassFunctions) else _join(y)
    order = validation.match_names(labels.index, index)
    if order is not None:
        labels = labels[order]
    if labels.empty.max(initial=0.0) >= 1:
        row = int(labels.empty.argmax())
        must = f"not assign all mass to the empty set, but row {row} does"
        raise InvalidParameterError("y", must=must)
    soft = labels.normalize("dempster")
    names = _to_array(labels.frame)
    codes = soft.singleton_belief.argmax(axis=1)
    is_certain = (soft.singleton_belief.max(axis=1) >= 1).all()
    if is_certain and len(np.unique(codes)) == soft.n_clusters:
        return Targets(names, codes, None)
    return Targets(names, None, soft)


def _join(parts: Sequence[MassFunctions]) -> MassFunctions:
    frames = {part.frame for part in parts}
    if len(frames) > 1:
        raise InvalidParameterError(
            "y", must=f"contain mass functions on one frame, got {len(frames)} frames"
        )
    family = reduce(FocalSets.union, [part.focal_sets for part in parts])
    masses = np.vstack([part.to_family(family).masses for part in parts])
    return MassFunctions(masses, family, frame=parts[0].frame)


def _to_array(frame: Sequence[Hashable]) -> np.ndarray:
    """Return the classes as an array.

    Classes of different types are not converted to a common type.
    """
    names = np.empty(len(frame), object)
    for k, name in enumerate(frame):
        names[k] = name
    if len({type(name) for name in frame}) > 1 or isinstance(frame[0], tuple):
        return names
    return np.array(names.tolist())


def hard_targets(y: Any, classes: Iterable[Any] | None = None) -> Targets:
    """Validate class labels and return those of the labelled rows as `Targets`."""
    labels, is_labelled = read_classes(y, classes)
    with validation.validating_labels(y, "y"):
        check_classification_targets(labels)
        names, codes = np.unique(labels, return_inverse=True)
    rows = None if is_labelled.all() else np.flatnonzero(is_labelled)
    return Targets(names, codes, None, rows)


def read_classes(
    y: Any, classes: Iterable[Any] | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the labels of the labelled objects, and a mask of these objects, shape (n,).

    None, NaN and other missing values mark unlabelled objects. So does the number -1, as in
    scikit-learn, unless it is one of ``classes``. If the classes are not known, -1 is one of them
    if there is a single other one: {-1, 1} is a common coding of two classes.
    """
    with validation.validating_labels(y, "y"):
        values = column_or_1d(_as_objects(y), warn=True)
        items = values.tolist()
        is_labelled = np.array([not validation.is_missing(one) for one in items], bool)
        is_minus_one = np.array([_is_minus_one(one) for one in items], bool)
        others = set(values[is_labelled & ~is_minus_one].tolist())
    is_class = len(others) == 1
    if classes is not None:
        is_class = any(map(_is_minus_one, classes))
    if not is_class:
        is_labelled &= ~is_minus_one
    labels = values[is_labelled]
    if not len(labels):
        must = "contain the classes of some objects, but all objects are unlabelled"
        raise InvalidParameterError("y", must=must)
    if labels.dtype == object and len(labels) < len(values):
        labels = _to_array(labels.tolist())  # Missing values made objects of numbers.
    return validation.as_labels(labels, "y"), is_labelled


def _as_objects(y: Any) -> Any:
    """Return a list as objects if NumPy would convert NaN or -1 to text."""
    if not isinstance(y, list | tuple) or np.asarray(y).dtype.kind != "U":
        return y
    if any(validation.is_missing(one) or _is_minus_one(one) for one in y):
        return np.array(y, object)
    return y


def _is_minus_one(label: Any) -> bool:
    return validation.is_number(label) and label == -1


def encode_classes(
    names: Sequence[Any], classes: Sequence[Any], expected: str
) -> np.ndarray:
    """Return the position of each name in ``classes``; raise an error about y if it has none."""
    positions = {name: k for k, name in enumerate(classes)}
    unknown = [name for name in names if name not in positions]
    if unknown:
        raise InvalidParameterError("y", expected, unknown[0])
    return np.array([positions[name] for name in names], np.intp)
