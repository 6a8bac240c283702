"""What every evidential classifier shares: the frame of a fit, soft labels, masses of new objects, decisions."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import accuracy_score
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._fitting import fit_transaction
from dempster._site import DocumentedEstimator
from dempster._validation import (
    as_labels,
    as_reals,
    check,
    check_choice,
    check_scale,
    check_size,
    checked_masses,
    column_names,
    hashable,
    in_order_of,
    is_missing,
    listed,
    object_index,
    object_weights,
    order_of_names,
    ordered_like,
    plain_text,
    readable,
    reading,
    reading_labels,
    real,
)
from dempster.belief import FocalSets, MassFunctions
from dempster.belief.decisions import DECISION_RULES, SET_RULES
from dempster.dissimilarity.input import columns_of_fit, square_table
from dempster.optimize.descent import Run

CAUTIOUS = "partial_assignment"


@dataclass(frozen=True)
class Targets:
    """What is known about the classes of the training objects: one class each, or a mass function each."""

    names: np.ndarray  # (M,) classes
    codes: np.ndarray | None  # (n,) positions in names; None when labels are soft
    soft: MassFunctions | None  # normalised; None when every object has its class

    def __len__(self) -> int:
        return len(self.codes if self.codes is not None else self.soft)  # type: ignore[arg-type]

    @cached_property
    def indicators(self) -> np.ndarray:
        """(n, M) targets of a least-squares loss: 1 for the class, 0 for the others; soft labels: pignistic."""
        return np.eye(len(self.names))[self.codes] if self.soft is None else self.soft.pignistic()

    @cached_property
    def contour(self) -> np.ndarray:
        """(n, M) plausibilities of the classes, the targets of a likelihood."""
        return self.indicators if self.soft is None else self.soft.contour


class EvidentialClassifier(ClassifierMixin, DocumentedEstimator, BaseEstimator):
    """Base of the classifiers: a method learns in ``_learn`` and gives the masses of objects in ``_masses``.

    ``_learn`` calls `_checked_training`, which sets ``classes_``, and sets ``focal_sets_``, the family that the columns
    of ``_masses`` refer to (the single classes and the whole frame, for most methods).
    """

    _rules: Mapping[str, rule.Rule] = {}
    _any_scale = False  # whether it works in units of the data, so that numbers of any size will do
    _probability = "pignistic"  # or "plausibility": how masses become the probabilities of predict_proba
    classes_: np.ndarray
    focal_sets_: FocalSets
    max_iter: int  # these two are parameters of the methods that iterate
    tol: float

    # ---- what a method supplies -----------------------------------------------------------------------------------

    def _learn(self, X: Any, y: Any) -> None:
        """Validate the training objects and set the fitted attributes."""
        raise NotImplementedError

    def _masses(self, X: np.ndarray) -> np.ndarray:
        """Compute the (n, f) masses of validated objects under the fitted model."""
        raise NotImplementedError

    # ---- learning -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from labelled objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples) if the metric is precomputed
        y : array-like of shape (n_samples,), or MassFunctions
            Classes, or a mass function on the classes for each object.

        Returns
        -------
        self
        """
        with fit_transaction(self) as draft:
            draft._learn(X, y)
        return self

    def _set_run(self, run: Run[np.ndarray]) -> None:
        """Set the attributes that describe a descent, and warn if it did not converge."""
        self.objective_ = run.objective
        self.history_ = np.asarray(run.history)
        self.n_iter_ = len(run.history)
        self.converged_ = run.converged
        if not run.converged:
            warnings.warn(
                f"{type(self).__name__} did not reach tol={self.tol:g} in max_iter={self.max_iter} iterations; "
                "increase max_iter or tol",
                ConvergenceWarning,
                stacklevel=4,
            )

    # ---- checking -------------------------------------------------------------------------------------------------

    def _checked_training(self, X: Any, y: Any, **options: Any) -> tuple[np.ndarray, Targets]:
        """Validate parameters, objects (float32 is kept) and labels, and set ``classes_``.

        ``options`` go to scikit-learn's ``validate_data``.
        """
        rule.check_parameters(self, self._rules)
        if y is None:
            raise InvalidParameterError(
                "y",
                message=f"{type(self).__name__} requires y to be passed, but the target y is None: labels or "
                "MassFunctions",
            )
        data = self._checked_objects(X, reset=True, **options)
        names = object_index(X)
        targets = _soft_targets(_matched(y, names)) if is_soft(y) else hard_targets(ordered_like(y, names))
        with reading_labels(y, "y"):
            check_consistent_length(data, targets.codes if targets.soft is None else targets.soft.masses)
        if len(targets.names) < 2:
            raise InvalidParameterError(
                "y", message=f"y must hold at least two classes, got one class: {targets.names[0]!r}"
            )
        self.classes_ = targets.names
        return data, targets

    def _checked_objects(self, X: Any, *, reset: bool, **options: Any) -> np.ndarray:
        options = {"dtype": [np.float64, np.float32], "order": "C"} | options
        X = readable(self, X)
        if get_tags(self).input_tags.pairwise:
            X = (square_table if reset else columns_of_fit)(self, X)
        with reading(X, "X"):
            values = validate_data(self, X, reset=reset, **options)
        if isinstance(values, np.ndarray) and values.dtype.kind == "f" and not self._any_scale:
            (check_scale if reset else check_size)(values, "X")
        return values

    # ---- new objects ----------------------------------------------------------------------------------------------

    def predict_mass(self, X: Any) -> MassFunctions:
        """Mass functions on the classes for new objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        MassFunctions
            Its frame holds the names of the classes; the index of a pandas table is kept.
        """
        check_is_fitted(self, "classes_")
        masses = checked_masses(self._masses(self._checked_objects(X, reset=False)))
        return MassFunctions.unchecked(masses, self.focal_sets_, object_index(X), self.classes_.tolist())

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n, n_classes) probabilities of the classes, columns in the order of ``classes_``."""
        masses = self.predict_mass(X)
        return masses.pignistic() if self._probability == "pignistic" else masses.plausibility_transform()

    def predict(self, X: Any) -> np.ndarray:
        """Most probable class of each object, the first of ``classes_`` on ties."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def decide(
        self,
        X: Any,
        rule: str = "pignistic",
        *,
        reject: float | None = None,
        utilities: Any = None,
        optimism: float = 0.5,
        tolerance: float = 0.8,
        acts: Sequence[Hashable] | None = None,
        reject_label: Hashable = -1,
    ) -> np.ndarray:
        """Decide on each object: a class, an act, no decision, or a set of classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        rule : str, default="pignistic"
            What to maximise: the expected utility under pignistic probabilities ("pignistic"), the upper ("maximax")
            or lower ("maximin") expected utility, or ``optimism`` times the upper and the rest times the lower
            ("hurwicz"). Cautious rules return several classes where the evidence cannot tell: "interval_dominance"
            and "maximality" keep what nothing else surely beats; "partial_assignment" chooses the best set of classes
            when an imprecise but right answer is worth something (``tolerance``).
        reject : float >= 0, optional
            Loss of not deciding, where a wrong class loses 1 and the right one 0; with ``utilities``, not deciding
            has the utility 1 - reject.
        utilities : array-like of shape (n_classes, n_acts) or (n_classes + 1, n_acts), optional
            Utility of each act (column) when each class (row, in the order of ``classes_``) is true; by default 1 for
            the right class and 0 otherwise. A further row stands for a class not seen in training. Rows of a pandas
            table that are called as the classes are found by their names.
        optimism : float in [0, 1], default=0.5
        tolerance : float in [0.5, 1], default=0.8
            Utility of a pair of classes that holds the right one, for "partial_assignment".
        acts : sequence of n_acts names, optional
            Names of the acts; the classes if there are as many acts as classes, otherwise 0, 1, ...
        reject_label : object, default=-1
            Stands for "no decision".

        Returns
        -------
        decisions : ndarray
            (n_samples,) names of acts, or ``reject_label``. For the cautious rules (n_samples, n_acts) Boolean:
            which acts (classes) are kept.

        References
        ----------
        T. Denoeux (2019). Decision-making with belief functions: a review. Int. J. Approximate Reasoning 109.
        L. Ma and T. Denoeux (2021). Partial classification in the belief function framework. Knowledge-Based Systems.
        """
        check_choice(rule, "rule", (*DECISION_RULES, CAUTIOUS))
        check(optimism, "optimism", real(0, 1))
        check(tolerance, "tolerance", real(0.5, 1))
        check(reject_label, "reject_label", hashable)
        check_is_fitted(self, "classes_")
        losses = None if utilities is None else 1.0 - _checked_utilities(utilities, self.classes_, acts)
        names = _act_names(acts, self.classes_, losses)
        if reject is not None and reject_label in set(names):
            raise InvalidParameterError("reject_label", "no name of an act or class", reject_label)
        masses = self.predict_mass(X)
        if rule == CAUTIOUS:
            if utilities is not None or reject is not None:
                raise InvalidInputError("rule='partial_assignment' takes neither utilities nor reject, only tolerance")
            return masses.decide_sets(tolerance)
        chosen = masses.decide(rule, losses=losses, reject=reject, optimism=optimism)
        return chosen if rule in SET_RULES else _named(chosen, names, reject is not None, reject_label)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the objects whose class is found.

        A label that was not seen in training is an error: no classifier could be right about it.
        """
        check_is_fitted(self, "classes_")
        if is_soft(y):
            raise InvalidParameterError("y", message="y must hold the classes to compare with, got MassFunctions")
        names = object_index(X)
        y, sample_weight = ordered_like(y, names), ordered_like(sample_weight, names)
        with reading_labels(y, "y"):
            y = column_or_1d(plain_text(y))
        unseen = set(as_labels(y, "y").tolist()) - set(self.classes_.tolist())
        if unseen:
            unknown = ", ".join(sorted(map(repr, unseen))[:5])
            raise InvalidParameterError("y", message=f"y holds labels that were not seen in training: {unknown}")
        weights = object_weights(sample_weight, len(np.asarray(y)))
        found = self.predict(X)
        with reading_labels(y, "y"):
            return float(accuracy_score(y, found, sample_weight=weights))


def is_soft(y: Any) -> bool:
    return isinstance(y, MassFunctions) or (
        isinstance(y, list | tuple) and len(y) > 0 and all(isinstance(one, MassFunctions) for one in y)
    )


def _soft_targets(y: MassFunctions | Sequence[MassFunctions]) -> Targets:
    """Classes are the frame, in its order. A sequence of mass functions (what scikit-learn makes of some) is joined.

    Labels that are all certain, and leave no class out, are hard labels.
    """
    labels = y if isinstance(y, MassFunctions) else _joined(y)
    if labels.empty.max(initial=0.0) >= 1:
        row = int(labels.empty.argmax())
        raise InvalidParameterError(
            "y", message=f"y must not give all mass to the empty set, as row {row} does: it leaves no class possible"
        )
    known = labels.normalize("dempster")
    codes = known.singleton_belief.argmax(axis=1)
    certain = (known.singleton_belief.max(axis=1) >= 1).all() and len(np.unique(codes)) == known.n_clusters
    return Targets(_names(labels.frame), codes, None) if certain else Targets(_names(labels.frame), None, known)


def _matched(y: Any, index: Any) -> Any:
    """Soft labels in the order of the objects, if both have names."""
    order = order_of_names(y.index, index) if isinstance(y, MassFunctions) else None
    return y if order is None else y[order]


def _joined(parts: Sequence[MassFunctions]) -> MassFunctions:
    frames = {part.frame for part in parts}
    if len(frames) > 1:
        raise InvalidParameterError("y", message=f"y must hold mass functions on one frame, got {len(frames)}")
    family = parts[0].focal_sets
    for part in parts[1:]:
        family = family.union(part.focal_sets)
    return MassFunctions(np.vstack([part.to_family(family).masses for part in parts]), family, frame=parts[0].frame)


def _names(frame: Sequence[Hashable]) -> np.ndarray:
    """Classes as an array that gives them back unchanged."""
    names = np.empty(len(frame), dtype=object)
    for k, name in enumerate(frame):
        names[k] = name
    if len({type(name) for name in frame}) > 1 or isinstance(frame[0], tuple):
        return names
    return np.array(names.tolist())


def hard_targets(y: Any) -> Targets:
    with reading_labels(y, "y"):
        labels = column_or_1d(plain_text(y), warn=True)
    if labels.dtype.kind == "V":
        raise InvalidParameterError("y", "one label for each object", labels.dtype)
    if labels.dtype == object and any(map(is_missing, labels.tolist())):
        raise InvalidParameterError("y", "without missing values; leave out objects whose class is unknown")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise InvalidParameterError("y", "without NaN and infinity; leave out objects whose class is unknown")
    with reading_labels(y, "y"):
        check_classification_targets(labels)
        names, codes = np.unique(labels, return_inverse=True)
    return Targets(names, codes, None)


def _checked_utilities(utilities: Any, classes: np.ndarray, acts: Any) -> np.ndarray:
    """Rows in the order of the classes where they are called so, and columns too unless the acts have names."""
    n_classes, named = len(classes), in_order_of(utilities, classes)
    columns = column_names(named) if acts is None and hasattr(named, "iloc") else None
    if columns is not None and set(columns) == set(classes.tolist()):
        named = in_order_of(named.T, classes).T
    table = as_reals(named, "utilities").astype(float, copy=False)
    if table.ndim != 2 or table.shape[0] not in (n_classes, n_classes + 1) or table.shape[1] == 0:
        raise InvalidParameterError(
            "utilities", f"a table with {n_classes} rows, one for each class (or one more)", table.shape
        )
    if not np.isfinite(table).all():
        raise InvalidParameterError("utilities", "finite")
    return table


def _act_names(acts: Sequence[Hashable] | None, classes: np.ndarray, losses: np.ndarray | None) -> list[Hashable]:
    n_acts = len(classes) if losses is None else losses.shape[1]
    if acts is None:
        return classes.tolist() if n_acts == len(classes) else list(range(n_acts))
    names = listed(acts, "acts", f"{n_acts} different names")
    if len(names) != n_acts or not all(map(hashable.test, names)) or len(set(names)) != n_acts:
        raise InvalidParameterError("acts", f"{n_acts} different names", names)
    return names


def _named(chosen: np.ndarray, names: list[Hashable], may_reject: bool, reject_label: Hashable) -> np.ndarray:
    """Names of the chosen acts, -1 being rejection."""
    if not may_reject:
        return _names(names)[chosen]
    same_kind = all(type(name) is type(reject_label) for name in names)  # otherwise numpy would change the names
    table = _names([*names, reject_label])
    return (table if same_kind else table.astype(object))[chosen]
