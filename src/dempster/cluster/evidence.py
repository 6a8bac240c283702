"""What speaks for each cluster, for one object: how a model says why.

A model that can say it has a method ``evidence(values, itself)``, where it stands beside the formula that gives the
masses. The evidence for a cluster is a number, the larger the more the object belongs there, and it is a sum: over the
attributes where the model has centers or densities, or over the objects that the model compares with, each of whose
terms is then shared by the attributes in which the two differ (`dempster.dissimilarity.sources`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from dempster._types import TableLike
from dempster.dissimilarity.sources import References, attribute_shares
from dempster.optimize.blocks import block_map
from dempster.partition import CredalPartition


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
    coefficients : (r, c) array
        How much each of them counts for each cluster.
    costs : (r,) array
        How far each of them is, as the model measures it.
    log_strengths : (r, c) array or None
        Logarithms of how strongly each of them speaks for each cluster, where the evidence is that of their sum.
    views : (r,) array or None
        In which of several views each of them is compared with, where a model has several.
    """

    quantity: str
    total: np.ndarray
    parts: np.ndarray | None
    positions: np.ndarray
    coefficients: np.ndarray
    costs: np.ndarray
    log_strengths: np.ndarray | None = None
    views: np.ndarray | None = None

    @classmethod
    def of_attributes(cls, quantity: str, parts: np.ndarray, base: np.ndarray | float = 0.0) -> ClusterEvidence:
        """From what each attribute adds, and what is added besides; a missing attribute adds nothing."""
        known = np.nan_to_num(parts, nan=0.0)
        nobody = np.zeros(0, dtype=np.intp), np.zeros((0, known.shape[1])), np.zeros(0)
        return cls(quantity, known.sum(axis=0) + base, known, *nobody)

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
        return cls(quantity, total, None, compared.positions, coefficients.T, costs)._shared(compared, values)

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
        shares = strengths / np.where(there, sums, 1)
        with np.errstate(divide="ignore"):
            total = np.where(there, np.log(sums) + top, -np.inf)
        return cls(quantity, total, None, compared.positions, shares, energies, logs)._shared(compared, values)

    def _shared(self, compared: References, values: Any) -> ClusterEvidence:
        """With what the others add shared by the attributes, where there are any."""
        if compared.source is None:
            return self
        return replace(self, parts=self.shared_by(attribute_shares(compared.source, values, compared.source.objects)))

    def shared_by(self, shares: np.ndarray) -> np.ndarray:
        """(p, c) what attributes add, given their shares (r, p) in the differences to the objects compared with."""
        return -(shares * self.costs[:, None]).T @ self.coefficients

    @property
    def weights(self) -> np.ndarray:
        """(r, c) how much each of the objects counts for each cluster; columns add up to one, or to zero."""
        sums = self.coefficients.sum(axis=0)
        return self.coefficients / np.where(sums > 0, sums, 1)

    def by_objects(self, clusters: Sequence[int]) -> ClusterEvidence:
        """The same with the objects compared with in place of the attributes, for some clusters: those that are nearer
        than usual speak for their cluster, the others against it. Where the evidence is the logarithm of a sum, it is
        the share of each cluster in the sum."""
        few = self.coefficients[:, clusters]
        if self.log_strengths is None:
            usual = float(few.sum(axis=1) @ self.costs) / (float(few.sum()) or 1.0)
            parts = few * (usual - self.costs)[:, None]
            return replace(self, parts=parts, total=self.total[clusters], coefficients=few)
        logs = self.log_strengths[:, clusters]
        strengths = np.exp(logs - logs.max(initial=-np.inf))
        shares = strengths / strengths.sum()
        words = "share of all that speaks for these clusters"
        return replace(self, quantity=words, parts=shares, total=shares.sum(axis=0), coefficients=few)


class ExplainingModel(Protocol):
    """A model that says what speaks for each cluster."""

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """For one object, read as for ``masses``; ``itself`` is its position among those of the fit, or -1."""
        ...


class ComparingModel(Protocol):
    """A model that compares with objects of the fit, and can do without one of them."""

    def without(self, position: int) -> Any:
        """The same model, but that this object of the fit is not compared with."""
        ...


def quadratic_parts(gap: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """(..., d) parts of the attributes in the squared distances g' M g: a term that belongs to two attributes goes to
    both in equal parts. They add up to it; one of them may be negative. Missing attributes have none."""
    known = np.nan_to_num(gap, nan=0.0)
    return known * np.einsum("...de,...e->...d", matrix, known)


class ReadObject:
    """One object, as a fitted clusterer reads it.

    Parameters
    ----------
    estimator : fitted clusterer
    X : objects as the estimator reads them, or a table of attributes
    i : int or None
        Which of the objects; None: X is the single object, given by its attributes.
    """

    def __init__(self, estimator: Any, X: TableLike, i: int | None):
        self._estimator = estimator
        self._moved: tuple[int, Any] | None = None
        self._values = estimator._read_objects(X, None) if i is None else estimator._read(X, reset=False)[i : i + 1]

    def evidence(self, itself: int) -> ClusterEvidence | None:
        """What speaks for each cluster, None if the model does not say; ``itself`` is the position of the object among
        those of the fit, or -1."""
        if not hasattr(self._estimator._model, "evidence"):
            return None
        found: ClusterEvidence = self._estimator._model.evidence(self._values, itself)
        encoder = getattr(getattr(self._estimator, "_input", None), "encoder", None)
        if encoder is None or found.parts is None:
            return found
        # encoded tables have their numbers first
        places = np.argsort(np.argsort(encoder.is_categorical_, kind="stable"))
        return replace(found, parts=found.parts[places])

    def masses(self) -> CredalPartition:
        """Of the object."""
        return self._given(self._values)

    def dissimilarities(self) -> np.ndarray:
        """(n,) those of the object to the objects of the fit, of a model that joins several views."""
        return np.asarray(self._estimator._model.dissimilarities(self._values)[0])

    def placed(self, attributes: np.ndarray) -> np.ndarray:
        """Objects with these attributes as points whose distances are those of the model; where it does not say, the
        attributes themselves."""
        model = self._estimator._model
        return model.placed(attributes) if hasattr(model, "placed") else attributes

    def masses_with(self, attributes: TableLike) -> CredalPartition:
        """Of objects that are like this one but for the attributes given."""
        return self._given(self._estimator._read_objects(attributes, self._values))

    def masses_of_moved(self, attributes: TableLike, itself: int) -> CredalPartition | None:
        """The same, if this object is the one at ``itself`` in the fit and is no longer where it was; None if others
        are not compared with it."""
        if itself < 0 or not hasattr(self._estimator._model, "without"):
            return None
        if self._moved is None or self._moved[0] != itself:
            self._moved = itself, self._estimator._model.without(itself)
        return self._given(self._estimator._read_objects(attributes, self._values), self._moved[1])

    def _given(self, values: Any, model: Any = None) -> CredalPartition:
        with block_map(self._estimator.n_jobs) as apply:
            masses = (self._estimator._model if model is None else model).masses(values, apply)
        return CredalPartition.unchecked(masses, self._estimator.focal_sets_)


def read_object(estimator: Any, X: TableLike, i: int | None) -> ReadObject | None:
    """As in `ReadObject`; None if the estimator is none of ours."""
    return ReadObject(estimator, X, i) if hasattr(estimator, "_model") else None


def attributes_of(estimator: Any, X: TableLike) -> TableLike:
    """The attributes by which a fitted clusterer knows the objects of X: of pixels, the means of their surroundings."""
    return estimator._extract_attributes(X) if hasattr(estimator, "_model") else X
