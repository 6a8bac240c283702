"""The last layer of the networks of NN-EVCLUS: scores in, masses out, with an optional unit that recognises outliers.

Notation of Denoeux (2021), "NN-EVCLUS: Neural network-based evidential clustering", Information Sciences 572. The
arrays are NumPy's or torch's, as in `_losses`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dempster._arrays import library_of
from dempster._errors import InvalidInputError
from dempster.cluster.evclus.network._losses import Array, ValueAndGradient

__all__ = ["MassLayer", "cross_entropy"]

_NOTHING = 1e-30
Back = Callable[[Array], tuple[Array, Array | None]]


@dataclass(frozen=True)
class MassLayer:
    """Masses m* = (1 - g) m + g e_empty: softmax of the scores, of which a share g goes to the empty set.

    Attributes
    ----------
    empty : int or None
        Position of the empty set, None if the family lacks it.
    detector : bool
        Whether there is an outlier unit; h, the values of the detector, is then given with the scores, positive
        inside the region of the data.
    convention : {"program", "paper"}
        g = eta / (1 + eta) with eta = softplus(b0 + b1 h), starting from (0, -1), as in the published program and
        appendices; or 1 - g = eta / (1 + eta), starting from (0, 1), as in equations 12 and 13.
    """

    empty: int | None
    detector: bool = False
    convention: str = "program"

    @property
    def first_coefficients(self) -> list[float]:
        """b0 and b1 before the training; none without a detector."""
        if not self.detector:
            return []
        return [0.0, -1.0 if self.convention == "program" else 1.0]

    def forward(self, scores: Array, h: Array | None, coefficients: Array | None) -> tuple[Array, Back]:
        """(n, f) masses, and the function that turns a gradient with respect to them into those with respect to the
        scores and the coefficients."""
        m = _softmax(scores)
        if not self.detector:
            return m, lambda gradient: (_through_softmax(m, gradient), None)
        if h is None or coefficients is None:
            raise InvalidInputError("a network with an outlier unit needs the decision values of the detector")
        eta = self._eta(h, coefficients)
        g = self._share(eta)
        masses = (1 - g)[:, None] * m
        masses[:, self.empty] += g

        def back(gradient: Array) -> tuple[Array, Array]:
            of_share = gradient[:, self.empty] - (gradient * m).sum(axis=1)
            of_share = of_share if self.convention == "program" else -of_share
            slope = -library_of(eta).expm1(-eta)  # of softplus: the logistic function
            of_sum = of_share * slope / (1 + eta) ** 2
            of_coefficients = library_of(eta).stack([of_sum.sum(), (of_sum * h).sum()])
            return _through_softmax(m, (1 - g)[:, None] * gradient), of_coefficients

        return masses, back

    def mass_to_empty(self, h: Array, coefficients: Array) -> Array:
        """g, the share of mass that goes to the empty set."""
        return self._share(self._eta(h, coefficients))

    def _eta(self, h: Array, coefficients: Array) -> Array:
        total = coefficients[0] + coefficients[1] * h
        return library_of(total).logaddexp(total, library_of(total).zeros_like(total))

    def _share(self, eta: Array) -> Array:
        return eta / (1 + eta) if self.convention == "program" else 1 / (1 + eta)


def cross_entropy(scores: Array, wanted: Array) -> ValueAndGradient:
    """Mean over objects of the cross-entropy of the softmax of their scores with masses wanted, and its gradient with
    respect to the scores."""
    library = library_of(scores)
    shifted = scores - library.amax(scores, axis=1, keepdims=True)
    logarithms = shifted - library.log(library.exp(shifted).sum(axis=1, keepdims=True))
    return -(wanted * logarithms).sum() / len(scores), (_powers(logarithms) - wanted) / len(scores)


def _softmax(scores: Array) -> Array:
    library = library_of(scores)
    powers = _powers(scores - library.amax(scores, axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def _powers(logarithms: Array) -> Array:
    """Exponentials, zero where single precision is about to run out of digits: processors take many times as long for
    numbers beyond that."""
    powers = library_of(logarithms).exp(logarithms)
    return powers * (powers > _NOTHING)


def _through_softmax(m: Array, gradient: Array) -> Array:
    return m * (gradient - (gradient * m).sum(axis=1, keepdims=True))
