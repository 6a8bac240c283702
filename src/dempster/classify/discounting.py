"""How far to believe a source about each class, learnt from objects whose classes are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dempster._errors import InvalidParameterError
from dempster._fitting import fit_transaction
from dempster._site import DocumentedEstimator
from dempster._types import ArrayLike
from dempster._validation import as_labels, listed, object_index, object_weights, order_of_names, ordered_like
from dempster.belief import MassFunctions


class ContextualDiscounting(  # type: ignore[call-arg]
    TransformerMixin, DocumentedEstimator, BaseEstimator, auto_wrap_output_keys=None
):
    """Contextual discounting: mass functions of a source, weakened where it was found to be wrong.

    `fit` finds the rates with which the plausibilities of the classes come nearest to the truth,

        minimise over rates in [0, 1]   sum_i w_i sum_k (pl'_i(k) - [y_i = k])^2,
        pl'_i(k) = 1 - (1 - pl_i(k)) (1 - rate(A)),   A the context that holds class k,

    a least-squares problem of one number for each context, solved exactly: 1 - rate(A) is the sum of w_i q_ik over the
    objects and classes k in A with y_i != k, over that of w_i q_ik^2 over all objects and k in A, at most 1, where
    q_ik = 1 - pl_i(k). `transform` discounts mass functions with these rates (`MassFunctions.discount`).

    Parameters
    ----------
    contexts : "classes", "frame" or list of sets of classes, default="classes"
        A rate for each class; one for all of them, which is plain discounting; or one for each of several sets of
        classes, no two of which share a class. Classes in none of them are believed as they are.

    Attributes
    ----------
    classes_ : (c,) array
        The frame of the mass functions.
    contexts_ : list of tuples of classes
    rates_ : (l,) array
        Rate of each context.
    objective_ : float
        Mean over the objects of the squared error after discounting.
    n_features_in_ : int
        Number of focal sets of the mass functions of `fit`.

    References
    ----------
    D. Mercier, B. Quost and T. Denoeux (2008). Refined modeling of sensor reliability in the belief function framework
    using contextual discounting. Information Fusion 9.

    Z. Elouedi, K. Mellouli and P. Smets (2004). Assessing sensor reliability for multisensor data fusion within the
    transferable belief model. IEEE Trans. SMC B 34.

    Examples
    --------
    >>> from dempster import MassFunctions
    >>> from dempster.classify import ContextualDiscounting
    >>> said = ["plane", "plane", "plane", "rocket"]
    >>> radar = MassFunctions.from_dict([{name: 1} for name in said], frame=["plane", "rocket"])
    >>> model = ContextualDiscounting().fit(radar, ["plane", "plane", "rocket", "rocket"])  # it mistook a rocket
    >>> model.rates_.round(2)  # when it says "plane", rockets stay possible
    array([0.  , 0.33])
    >>> model.transform(radar)[0]
    MassFunctions(1 mass function on {plane,rocket})
    {plane}: 0.667  Ω: 0.333
    """

    def __init__(self, contexts: str | Sequence[Any] = "classes"):
        self.contexts = contexts

    def fit(self, masses: MassFunctions, y: ArrayLike, sample_weight: ArrayLike = None) -> Self:
        """Learn the rates.

        Parameters
        ----------
        masses : MassFunctions
            What the source said of n objects; its frame holds the names of the classes.
        y : array-like of shape (n,)
            Their classes. A pandas Series with names is matched with the names of the mass functions.
        sample_weight : array-like of shape (n,), optional
        """
        with fit_transaction(self) as draft:
            draft._learn(_checked(masses), y, sample_weight)
        return self

    def _learn(self, masses: MassFunctions, y: ArrayLike, sample_weight: ArrayLike) -> None:
        rows = self._context_rows(masses)
        truth = _classes(y, masses)
        weights = object_weights(ordered_like(sample_weight, masses.index), len(masses))
        weights = np.ones(len(masses)) if weights is None else weights
        doubted = 1 - np.asarray(masses.contour, dtype=float)  # q: what speaks against each class
        wrong = np.ones_like(doubted)
        wrong[np.arange(len(truth)), truth] = 0
        for_reliability = rows @ (weights @ (doubted * wrong))
        in_all = rows @ (weights @ doubted**2)
        # a source that never speaks against a class cannot be wrong about it
        reliable = np.divide(for_reliability, in_all, out=np.ones(len(rows)), where=in_all > 0)
        self.rates_ = 1 - np.clip(reliable, 0, 1)
        left = np.ones(masses.n_clusters) - self.rates_ @ rows
        error = ((doubted * left - wrong) ** 2).sum(axis=1)
        self.objective_ = float(weights @ error / weights.sum())
        self.classes_ = np.array(list(masses.frame))
        self.contexts_ = [tuple(masses.frame[k] for k in np.flatnonzero(row)) for row in rows]
        self.n_features_in_ = len(masses.focal_sets)
        self._frame = masses.frame

    def transform(self, masses: MassFunctions) -> MassFunctions:
        """The mass functions of the same source about any objects, discounted with the learnt rates."""
        check_is_fitted(self, "rates_")
        masses = _checked(masses)
        if masses.frame != self._frame:
            raise InvalidParameterError("masses", f"about the classes of fit, {self._frame}", masses.frame)
        return masses.discount(self.rates_, contexts=list(self.contexts_))

    def _context_rows(self, masses: MassFunctions) -> np.ndarray:
        """Return the (l, c) membership of the contexts."""
        c = masses.n_clusters
        if isinstance(self.contexts, str):
            if self.contexts not in ("classes", "frame"):
                raise InvalidParameterError("contexts", "'classes', 'frame' or a list of sets", self.contexts)
            return np.eye(c, dtype=bool) if self.contexts == "classes" else np.ones((1, c), dtype=bool)
        contexts = listed(self.contexts, "contexts", "sets of classes")
        try:
            rows = masses.membership_rows(contexts)[0]
        except ValueError as error:
            raise InvalidParameterError("contexts", f"sets of classes: {error}") from error
        if len(rows) == 0 or not rows.any(axis=1).all() or (rows.sum(axis=0) > 1).any():
            raise InvalidParameterError(
                "contexts", "nonempty sets of classes, no two of which share a class", self.contexts
            )
        return rows

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.no_validation = True
        return tags


def _checked(masses: Any) -> MassFunctions:
    if not isinstance(masses, MassFunctions):
        raise InvalidParameterError("masses", "MassFunctions", type(masses))
    if len(masses) == 0:
        raise InvalidParameterError("masses", "at least one mass function")
    return masses


def _classes(y: ArrayLike, masses: MassFunctions) -> np.ndarray:
    """Return the (n,) positions of the classes in the frame."""
    names = as_labels(y, "y").astype(object)
    if names.shape != (len(masses),):
        raise InvalidParameterError("y", f"the classes of {len(masses)} objects", names.shape)
    order = order_of_names(object_index(y), masses.index)
    names = names if order is None else names[order]
    where = {name: k for k, name in enumerate(masses.frame)}
    unknown = [name for name in names.tolist() if name not in where]
    if unknown:
        raise InvalidParameterError("y", f"classes of the frame {masses.frame}", unknown[0])
    return np.array([where[name] for name in names.tolist()], dtype=np.intp)
