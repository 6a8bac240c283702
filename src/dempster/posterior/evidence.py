"""Evidence that one row belongs to each cluster, which is the basis of explanations.

Fitted models that support explanations have a method ``evidence(values, itself)``, where ``itself``
is the index of the row in the training data, or -1 for a new row. The evidence for a cluster is a
number that is larger if the row belongs to the cluster more clearly. In models with centers or
densities, the evidence is a sum over the attributes. In models that compare the row with training
rows, it is a sum over these training rows, and each term is split among the attributes in which the
two rows differ (`dempster.dissimilarity.sources`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dempster.dissimilarity.sources import References, attribute_shares


@dataclass(frozen=True)
class ClusterEvidence:
    """Evidence that one row belongs to each of c clusters.

    It is split into the terms of p attributes and r compared rows. The compared rows are the
    training rows that the model compares the row with. If the evidence is the logarithm of a sum
    over them, ``log_strengths`` contains the logarithms of the terms.
    """

    quantity: str  # name of the quantity used as evidence
    total: np.ndarray  # (c,), the evidence; -inf for a cluster without compared rows
    parts: (
        np.ndarray | None
    )  # (p, c), term of each attribute; None if there are no attributes
    positions: (
        np.ndarray
    )  # (r,), indices of the compared rows; empty if the model has centers
    coefficients: np.ndarray  # (r, c), weight of each compared row for each cluster
    costs: (
        np.ndarray
    )  # (r,), cost that the model assigns to the distance to each compared row
    log_strengths: np.ndarray | None = None  # (r, c)

    @classmethod
    def from_attributes(
        cls, quantity: str, parts: np.ndarray, base: np.ndarray | float = 0.0
    ) -> ClusterEvidence:
        """Create the evidence ``base`` plus the sum of ``parts``, the terms of p attributes.

        NaN counts as zero.
        """
        parts = np.nan_to_num(parts, nan=0.0)
        no_rows = np.zeros(0, np.intp), np.zeros((0, parts.shape[1])), np.zeros(0)
        return cls(quantity, parts.sum(axis=0) + base, parts, *no_rows)

    @classmethod
    def from_costs(
        cls,
        quantity: str,
        costs: np.ndarray,
        coefficients: np.ndarray,
        total: np.ndarray,
        compared: References,
        values: Any,
    ) -> ClusterEvidence:
        """Create the evidence ``total`` from the costs and weights of r compared rows."""
        return cls(
            quantity, total, None, compared.positions, coefficients.T, costs
        )._with_parts(compared, values)

    @classmethod
    def from_strengths(
        cls,
        quantity: str,
        logs: np.ndarray,
        energies: np.ndarray,
        compared: References,
        values: Any,
    ) -> ClusterEvidence:
        """Create the evidence log S for each cluster, where S is a sum over the compared rows.

        ``logs`` contains the logarithms of the terms, shape (r, c); it is -inf if a row is no
        evidence for a cluster. ``energies`` contains, for each row j, a number e_j that increases
        with its distance; the term of row j decreases with e_j. If p_j is the share of term j in S,
        then

            log S = -sum_j p_j e_j + a remainder that depends on the number and size of the terms,

        so the contribution of row j is -p_j e_j.
        """
        top = logs.max(axis=0, initial=-np.inf)
        has_terms = np.isfinite(top)
        strengths = np.exp(logs - np.where(has_terms, top, 0))
        sums = strengths.sum(axis=0)
        shares = strengths / np.where(has_terms, sums, 1)
        with np.errstate(divide="ignore"):
            total = np.where(has_terms, np.log(sums) + top, -np.inf)
        return cls(
            quantity, total, None, compared.positions, shares, energies, logs
        )._with_parts(compared, values)

    def _with_parts(self, compared: References, values: Any) -> ClusterEvidence:
        """Split the terms of the compared rows among the attributes, if there are any."""
        if compared.source is None:
            return self
        shares = attribute_shares(compared.source, values, compared.source.objects)
        return replace(self, parts=self.split_costs(shares))

    def split_costs(self, shares: np.ndarray) -> np.ndarray:
        """Return the terms of the p attributes for the c clusters, shape (p, c)."""
        return -(shares * self.costs[:, None]).T @ self.coefficients

    def by_rows(self, clusters: Sequence[int]) -> ClusterEvidence:
        """Return the evidence for some clusters, with one term per compared row.

        Compared rows that are nearer than average are evidence for their cluster, and the remaining
        ones are evidence against it. If the evidence is the logarithm of a sum, the result is the
        share of each cluster in the sum.
        """
        few = self.coefficients[:, clusters]
        if self.log_strengths is None:
            average = float(few.sum(axis=1) @ self.costs) / (float(few.sum()) or 1.0)
            parts = few * (average - self.costs)[:, None]
            return replace(self, parts=parts, total=self.total[clusters])
        logs = self.log_strengths[:, clusters]
        strengths = np.exp(logs - logs.max(initial=-np.inf))
        shares = strengths / strengths.sum()
        quantity = "share of the evidence for these clusters"
        return replace(self, quantity=quantity, parts=shares, total=shares.sum(axis=0))


def quadratic_parts(gap: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Split the squared distances g' M g of difference vectors g, shape (..., d), by attribute.

    A product of two attributes is divided equally between them. The parts sum to the squared
    distance, and a part may be negative. The part of a missing attribute is zero.
    """
    gap = np.nan_to_num(gap, nan=0.0)
    return gap * np.einsum("...de,...e->...d", matrix, gap)
