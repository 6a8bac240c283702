"""What speaks for each cluster, for one object: how a model says why.

A model that can say it has a method ``evidence(values, itself)``, where it stands beside the formula that gives the
masses. The evidence for a cluster is a number, the larger the more the object belongs there, and it is a sum: over the
attributes where the model has centers or densities, or over the objects that the model compares with, each of whose
terms is then shared by the attributes in which the two differ (`evidentia.dissimilarity.shares`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from evidentia._types import TableLike
from evidentia.dissimilarity.references import References
from evidentia.dissimilarity.shares import attribute_shares

__all__ = ["ClusterEvidence", "ExplainingModel", "evidence_of", "quadratic_parts"]


@dataclass(frozen=True)
class ClusterEvidence:
    """Evidence for each of c clusters, and what it is made of.

    Attributes
    ----------
    quantity : str
        What the evidence is, in words.
    total : (c,) array
        The evidence; -inf for a cluster that has nothing to compare with.
    parts : (p, c) array or None
        What each attribute adds; None if there are no attributes.
    positions : (r,) array
        Objects of the fit that this one is compared with; none where the model has centers.
    weights : (r, c) array
        How much each of them counts for each cluster; columns add up to one, or to zero.
    amounts : (r, c) array
        What each of them adds.
    """

    quantity: str
    total: np.ndarray
    parts: np.ndarray | None
    positions: np.ndarray
    weights: np.ndarray
    amounts: np.ndarray

    @classmethod
    def of_attributes(cls, quantity: str, parts: np.ndarray, base: np.ndarray | float = 0.0) -> ClusterEvidence:
        """From what each attribute adds, and what is added besides; a missing attribute adds nothing."""
        known = np.nan_to_num(parts, nan=0.0)
        c = known.shape[1]
        nobody = np.zeros((0, c))
        return cls(quantity, known.sum(axis=0) + base, known, np.zeros(0, dtype=np.intp), nobody, nobody)

    @classmethod
    def of_costs(
        cls,
        quantity: str,
        costs: np.ndarray,
        coefficients: np.ndarray,
        total: np.ndarray,
        compared: References,
        values: Any,
    ) -> ClusterEvidence:
        """From the costs (r,) of being compared with others, of which a cluster pays its coefficients (c, r)."""
        amounts = -(coefficients * costs).T
        sums = coefficients.sum(axis=1)
        weights = (coefficients / np.where(sums > 0, sums, 1)[:, None]).T
        return cls(quantity, total, None, compared.positions, weights, amounts)._shared(compared, values)

    @classmethod
    def of_strengths(
        cls, quantity: str, logs: np.ndarray, energies: np.ndarray, compared: References, values: Any
    ) -> ClusterEvidence:
        """From how strongly others speak for each cluster: the logarithm of the sum of their strengths.

        With shares p_j of the strengths in their sum S, and energies e_j by which distance weakens them,

            log S = -sum_j p_j e_j + (what is left),

        where what is left says how many they are and how loud: each of them adds -p_j e_j.

        Parameters
        ----------
        logs : (r, c) logarithms of the strengths, -inf for those that do not speak for a cluster
        energies : (r,) array
        """
        top = logs.max(axis=0, initial=-np.inf)
        there = np.isfinite(top)
        strengths = np.exp(logs - np.where(there, top, 0))
        sums = strengths.sum(axis=0)
        weights = strengths / np.where(there, sums, 1)
        with np.errstate(divide="ignore"):
            total = np.where(there, np.log(sums) + top, -np.inf)
        found = cls(quantity, total, None, compared.positions, weights, -weights * energies[:, None])
        return found._shared(compared, values)

    def _shared(self, compared: References, values: Any) -> ClusterEvidence:
        """With the amounts shared by the attributes, where there are any."""
        if compared.source is None:
            return self
        shares = attribute_shares(compared.source, values, compared.source.objects)
        return replace(self, parts=shares.T @ self.amounts)


class ExplainingModel(Protocol):
    """A model that says what speaks for each cluster."""

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """For one object, read as for ``masses``; ``itself`` is its position among those of the fit, or -1."""
        ...


def quadratic_parts(gap: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """(..., d) parts of the attributes in the squared distances g' M g: a term that belongs to two attributes goes to
    both in equal parts. They add up to it; one of them may be negative. Missing attributes have none."""
    known = np.nan_to_num(gap, nan=0.0)
    return known * np.einsum("...de,...e->...d", matrix, known)


def evidence_of(estimator: Any, X: TableLike, i: int | None, itself: int) -> ClusterEvidence | None:
    """What speaks for each cluster; None if the model of the estimator does not say.

    Parameters
    ----------
    estimator : fitted clusterer
    X : objects as the estimator reads them
    i : int or None
        Which of them; None: X is a single object given by its attributes.
    itself : int
        Its position among the objects of the fit, -1 if it is none of them.
    """
    model = getattr(estimator, "_model", None)
    if not hasattr(model, "evidence"):
        return None
    values = estimator._read_object(X) if i is None else estimator._read(X, reset=False)[i : i + 1]
    found: ClusterEvidence = model.evidence(values, itself)
    encoder = getattr(getattr(estimator, "_input", None), "encoder", None)
    if encoder is None or found.parts is None:
        return found
    # encoded tables have their numbers first
    places = np.argsort(np.argsort(encoder.is_categorical_, kind="stable"))
    return replace(found, parts=found.parts[places])
