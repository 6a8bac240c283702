"""Contextual discounting with rates learned from labeled objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from dempster._arrays import divide
from dempster._errors import InvalidParameterError
from dempster._fitting import fit_transaction
from dempster._site import DocumentedEstimator
from dempster._types import ArrayLike
from dempster._validation import (
    as_list,
    check_weights,
    match_names,
    reorder_like,
    row_index,
    validate_weights,
)
from dempster.belief import MassFunctions
from dempster.classify._base import encode_classes, read_classes


class ContextualDiscounting(  # type: ignore[call-arg]
    TransformerMixin, DocumentedEstimator, BaseEstimator, auto_wrap_output_keys=None
):
    r"""Contextual discounting of mass functions, with discount rates learned from labeled objects.

    A source of mass functions (a sensor, an expert or a classifier) may be more reliable for some
    classes than for others. Each context, which is a set of classes, has a discount rate in [0, 1].
    `fit` computes the rates that minimize

    .. math::

        \sum_i w_i \sum_k (pl'_i(k) - [y_i = k])^2, \qquad
        pl'_i(k) = 1 - (1 - pl_i(k)) (1 - \mathrm{rate}(A)),

    where y_i is the class of object i, w_i its weight, pl_i(k) the plausibility of class k before
    discounting, and A the context that contains class k. The solution is

    .. math::

        1 - \mathrm{rate}(A) = \min\Bigl(1,
        \frac{\sum_{k \in A, y_i \neq k} w_i q_{ik}}{\sum_{k \in A} w_i q_{ik}^2}\Bigr), \qquad
        q_{ik} = 1 - pl_i(k).

    `transform` discounts mass functions by the learned rates with `MassFunctions.discount`.

    Parameters
    ----------
    contexts : "classes", "frame" or list of sets of classes, default="classes"
        "classes" learns one rate for each class, "frame" one rate for all classes (classical
        discounting), and a list of disjoint sets one rate for each set. Classes that are in none of
        the sets are not discounted.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Classes, which form the frame of the mass functions.
    contexts_ : list of tuples of classes
        Classes of each context.
    rates_ : array of shape (n_contexts,)
        Discount rate of each context.
    objective_ : float
        Weighted mean of the squared error after discounting.
    n_features_in_ : int
        Number of focal sets of the mass functions in `fit`.

    References
    ----------
    D. Mercier, B. Quost and T. Denoeux (2008). Refined modeling of sensor reliability in the belief
    function framework using contextual discounting. Information Fusion 9.

    Z. Elouedi, K. Mellouli and P. Smets (2004). Assessing sensor reliability for multisensor data
    fusion within the transferable belief model. IEEE Trans. SMC B 34.

    Examples
    --------
    >>> from dempster import MassFunctions
    >>> from dempster.classify import ContextualDiscounting
    >>> reports = ["plane", "plane", "plane", "rocket"]
    >>> radar = MassFunctions.from_dict([{name: 1} for name in reports], frame=["plane", "rocket"])
    >>> truth = ["plane", "plane", "rocket", "rocket"]  # one error
    >>> model = ContextualDiscounting().fit(radar, truth)
    >>> model.rates_.round(2)  # after the report "plane", a rocket remains plausible
    array([0.  , 0.33])
    >>> model.transform(radar)[0]
    MassFunctions(1 mass function on {plane,rocket})
    {plane}: 0.667  Ω: 0.333
    """

    classes_: Annotated[np.ndarray, "c:any"]
    rates_: Annotated[np.ndarray, "l"]
    contexts_: list[Any]

    def __init__(self, contexts: str | Sequence[Any] = "classes"):
        self.contexts = contexts

    def fit(
        self, masses: MassFunctions, y: ArrayLike, sample_weight: ArrayLike = None
    ) -> Self:
        """Compute the discount rates.

        Parameters
        ----------
        masses : MassFunctions
            Mass functions for n objects; the frame must contain all classes.
        y : array-like of shape (n,)
            True class of each object. A pandas Series is aligned with the index of the mass
            functions. Unlabelled objects are left out: their label is None, NaN, or -1 if this is
            no class of the frame.
        sample_weight : array-like of shape (n,), optional
            Weights of the objects in the squared error.

        Returns
        -------
        self
        """
        with fit_transaction(self) as draft:
            draft._fit(_validate(masses), y, sample_weight)
        return self

    def _fit(
        self, masses: MassFunctions, y: ArrayLike, sample_weight: ArrayLike
    ) -> None:
        contexts = self._context_rows(masses)
        given = validate_weights(reorder_like(sample_weight, masses.index), len(masses))
        labelled, truth = _find_classes(y, masses)
        masses = masses[labelled]
        weights = np.ones(len(masses))
        if given is not None:
            weights = check_weights(given[labelled], len(masses))
            if not weights.any():
                must = "contain a non-zero weight of a labelled object"
                raise InvalidParameterError("sample_weight", must=must)
        opposition = 1 - np.asarray(masses.contour, float)  # q
        is_wrong = 1 - np.eye(masses.n_clusters)[truth]
        numerator = contexts @ (weights @ (opposition * is_wrong))
        denominator = contexts @ (weights @ opposition**2)
        # The denominator is zero if the source never opposes a class of the context.
        reliability = divide(numerator, denominator, 1)
        self.rates_ = 1 - np.clip(reliability, 0, 1)
        factor = np.ones(masses.n_clusters) - self.rates_ @ contexts
        error = ((opposition * factor - is_wrong) ** 2).sum(axis=1)
        self.objective_ = float(weights @ error / weights.sum())
        self.classes_ = np.array(list(masses.frame))
        self.contexts_ = [
            tuple(masses.frame[k] for k in np.flatnonzero(row)) for row in contexts
        ]
        self.n_features_in_ = len(masses.focal_sets)
        self._frame = masses.frame

    def transform(self, masses: MassFunctions) -> MassFunctions:
        """Discount mass functions by the learned rates.

        Parameters
        ----------
        masses : MassFunctions
            Mass functions on the classes of `fit`.

        Returns
        -------
        MassFunctions
        """
        check_is_fitted(self, "rates_")
        masses = _validate(masses)
        if masses.frame != self._frame:
            raise InvalidParameterError(
                "masses",
                f"mass functions on the classes of fit, {self._frame}",
                masses.frame,
            )
        return masses.discount(dict(zip(self.contexts_, self.rates_, strict=True)))

    def _context_rows(self, masses: MassFunctions) -> np.ndarray:
        """Return the classes of each context as rows of a Boolean array."""
        c = masses.n_clusters
        if isinstance(self.contexts, str):
            if self.contexts not in ("classes", "frame"):
                raise InvalidParameterError(
                    "contexts", "'classes', 'frame' or a list of sets", self.contexts
                )
            if self.contexts == "classes":
                return np.eye(c, dtype=bool)
            return np.ones((1, c), bool)
        contexts = as_list(self.contexts, "contexts", "sets of classes")
        rows = masses.membership_rows(contexts, "contexts")[0]
        if len(rows) == 0 or not rows.any(axis=1).all() or (rows.sum(axis=0) > 1).any():
            raise InvalidParameterError(
                "contexts", "nonempty disjoint sets of classes", self.contexts
            )
        return rows

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.no_validation = True
        return tags


def _validate(masses: Any) -> MassFunctions:
    if not isinstance(masses, MassFunctions):
        raise InvalidParameterError("masses", "MassFunctions", type(masses))
    if len(masses) == 0:
        raise InvalidParameterError("masses", "at least one mass function")
    return masses


def _find_classes(y: ArrayLike, masses: MassFunctions) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the labelled objects, and the positions of their classes in the frame."""
    labels, is_labelled = read_classes(y, masses.frame)
    n = len(masses)
    if len(is_labelled) != n:
        must = f"the classes of {n} objects"
        raise InvalidParameterError("y", must, is_labelled.shape)
    codes = np.full(n, -1)
    codes[is_labelled] = encode_classes(
        labels.tolist(), masses.frame, f"classes of the frame {masses.frame}"
    )
    order = match_names(row_index(y), masses.index)
    if order is not None:
        codes = codes[order]
    rows = np.flatnonzero(codes >= 0)
    return rows, codes[rows]
