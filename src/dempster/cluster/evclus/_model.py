"""What EVCLUS leaves behind: objects with masses, with which others are compared."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from dempster._arrays import Array, is_tensor, precision_of
from dempster._blas import one_blas_thread
from dempster._errors import InvalidInputError
from dempster.belief import FocalSets
from dempster.cluster.evclus._wanted_conflicts import needs_products, wanted_terms
from dempster.cluster.evidence import ClusterEvidence
from dempster.dissimilarity.references import References
from dempster.dissimilarity.transform import decay, to_conflict
from dempster.optimize import solve_simplex_qp
from dempster.optimize.blocks import Apply
from dempster.optimize.projection import project

__all__ = ["EvclusModel"]


@dataclass(frozen=True)
class EvclusModel:
    """References with their masses: an object gets the masses whose conflicts with theirs match best.

    Attributes
    ----------
    family : FocalSets
    references : References
    reference_masses : (r, f) array
    counts : (r,) array or None
        How much each reference counts; None if all count alike.
    d0 : float
    device : str
        Where many objects are compared; anything but "cpu" needs torch.
    dtype : numpy.dtype
        Of the masses of objects that come without a precision of their own.
    """

    family: FocalSets
    references: References
    reference_masses: np.ndarray
    counts: np.ndarray | None
    d0: float
    device: str
    dtype: np.dtype

    @property
    def reference_labels(self) -> np.ndarray:
        """(r,) single cluster of largest mass of each reference."""
        return self.reference_masses[:, self.family.singleton_index].argmax(axis=1)

    def masses(self, values: Any, apply: Apply) -> Array:
        """(n, f) masses of objects read by `DissimilarityInput.new`, or of the points of a tensor, where it is."""
        if sparse.issparse(values):
            return self.masses_of_stored(values, np.arange(values.shape[0]))
        return self.projected(values, apply)

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: how well the conflicts d_ij with the references j would be matched if the
        object were certain to be there, whose plausibility is pl_j,

            -mean_j (d_ij - (1 - pl_j))^2,

        to which a reference adds -2 pl_j d_ij; the rest does not depend on the object, or is the same for all clusters.
        """
        which, d = self.stored(values)
        compared = self.references.some(which)
        delta, plausible = to_conflict(d, self.d0), (self.reference_masses @ self.family.membership)[which]
        counts = np.ones(len(d)) if self.counts is None else self.counts[which].astype(float)
        counts[compared.positions == itself] = 0
        counts /= counts.sum() or 1
        total = -counts @ (delta[:, None] - (1 - plausible)) ** 2
        words = "minus the mean squared misfit of conflicts, were it certain of the cluster"
        return ClusterEvidence.of_costs(words, delta, 2 * (counts[:, None] * plausible).T, total, compared, values)

    def without(self, position: int) -> EvclusModel:
        """The same, but that one object of the fit counts for nothing."""
        counts = np.ones(len(self.references)) if self.counts is None else self.counts.copy()
        counts[self.references.positions == position] = 0
        return self if not counts.any() else replace(self, counts=counts)

    def stored(self, values: Any) -> tuple[np.ndarray, np.ndarray]:
        """References that the dissimilarities of one object are known to, and these."""
        if not sparse.issparse(values):
            return np.arange(len(self.references)), self.references.dissimilarities(values)[0].astype(float)
        where = np.full(self.references.n_training, -1)
        where[self.references.positions] = np.arange(len(self.references))
        known = where[values.indices] >= 0
        return where[values.indices[known]], values.data[known].astype(float)

    def projected(self, values: Any, apply: Apply, *, coincide: bool = True) -> Array:
        """Every object compared with all references; ``coincide``: one that is a reference again gets its masses."""
        dtype = self.precision(values)
        references = self.references.astype(dtype)
        conflict = np.array(self.family.conflict)
        if self.works_on_device(values) and coincide and references.are_points(values):
            return self._projected_on_device(values, references, conflict)
        terms = wanted_terms(values, references, self.d0, self.reference_masses, conflict, self.counts)

        def terms_of_others(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
            linear, same = terms(start, stop)
            return linear, np.full(len(same), -1)

        wanted = terms if coincide else terms_of_others
        arguments = wanted, len(values), self.reference_masses, conflict, dtype, apply, self.counts
        if not needs_products(values, references):
            return project(*arguments)

        # threads go over blocks, so the matrix products inside must not start their own
        with one_blas_thread():
            return project(*arguments)

    def precision(self, values: Any) -> np.dtype:
        """That of the masses of objects."""
        return precision_of(values) if isinstance(values, np.ndarray) or is_tensor(values) else self.dtype

    def works_on_device(self, values: Any) -> bool:
        """Whether points are compared with torch, where they are or on the device."""
        return self.device != "cpu" or is_tensor(values)

    def place(self, values: Any) -> Any:
        """Where points are compared."""
        return values.device if is_tensor(values) else self.device

    def _projected_on_device(self, rows: Array, references: References, conflict: np.ndarray) -> Array:
        from dempster.optimize.projection_torch import project_euclidean

        assert references.source is not None
        points, gamma = references.source.objects, decay(self.d0)
        known, place = self.reference_masses, self.place(rows)
        return project_euclidean(rows, points, known, conflict, gamma, place, weights=self.counts)

    def masses_of_stored(self, D: sparse.csr_matrix, itself: np.ndarray) -> np.ndarray:
        """Rows that hold some dissimilarities to the objects of the fit: a problem of its own each.

        Row i is the object ``itself[i]`` of the fit again if it says so by a stored zero.
        """
        where = np.full(self.references.n_training, -1)
        where[self.references.positions] = np.arange(len(self.references))
        conflict = np.array(self.family.conflict)
        out = np.empty((D.shape[0], len(self.family)), dtype=self.dtype)
        for i in range(D.shape[0]):
            columns, d = D.indices[D.indptr[i] : D.indptr[i + 1]], D.data[D.indptr[i] : D.indptr[i + 1]].astype(float)
            columns, d = columns[where[columns] >= 0], d[where[columns] >= 0]
            if len(d) == 0:
                raise InvalidInputError(f"row {i} of X holds no dissimilarity to any of landmark_indices_")
            if np.any((columns == itself[i]) & (d == 0)):
                out[i] = self.reference_masses[where[itself[i]]]
                continue
            image, delta = self.reference_masses[where[columns]] @ conflict, to_conflict(d, self.d0)
            if self.counts is not None:
                root = np.sqrt(self.counts[where[columns]])
                image, delta = root[:, None] * image, root * delta
            out[i] = solve_simplex_qp(2 * image.T @ image, -2 * image.T @ delta)
        return out
