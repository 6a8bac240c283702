"""What EVCLUS leaves behind: references with masses or clusters, which give masses to other objects.

`EvclusModel` gives an object the masses whose conflicts with those of the references match best. `DoubtModel` reads
off, once the clusters are found, how plausible each of them is for an object.

One scale cannot serve two purposes. A small ``d0`` finds the clusters and leaves no doubt between them, since half of
the mass on each of two clusters fits conflicts better than mass on the pair; a large one does the reverse. So clusters
are found first, with masses on single clusters only. Then cluster k is as plausible for object i as its n_k members j
are alike with i, by one minus the conflict that they should have at a scale of these two objects:

    S_ik = sum_{j in k} exp(-gamma_ij d_ij^2) / sqrt(n_k),   with conflict 0.95 at d_ij = a sqrt(s_i s_j),

where s is the distance within which the nearest sqrt(r) of the r references lie (as in self-tuning spectral clustering,
Zelnik-Manor and Perona, 2004), so that dense and thin clusters are treated alike. The sum alone would favor large
clusters and the mean small ones; the root between them did best on one half of many data sets, and on the other. An
object that is much farther from its nearest few references than is usual (by the fences of a box plot) belongs nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from dempster._arrays import Array, is_tensor, like, precision_of, to_device_of, to_host
from dempster._blas import one_blas_thread
from dempster._errors import InvalidInputError
from dempster._native import kernel
from dempster._random import generator
from dempster._types import Seed
from dempster._validation import check, choice, integer, mean_of_rows
from dempster.belief import FocalSets
from dempster.belief.focal_sets import gabriel_pairs
from dempster.cluster._mass_step import doubtful_masses
from dempster.cluster.evclus._pairs import WeightedPairs
from dempster.cluster.evidence import ClusterEvidence
from dempster.dissimilarity.sources import References, rounding
from dempster.dissimilarity.transform import conflicts_at, decay
from dempster.optimize import solve_simplex_qp
from dempster.optimize.blocks import Apply, row_blocks
from dempster.optimize.projection import Terms, euclidean_terms, linear_image, project, terms_of_conflicts
from dempster.optimize.row_fit import conflicts_of_pairs

# ---- surroundings ---------------------------------------------------------------------------------------------------

_reach = kernel("""reach(
    D: real[n, r], weights: real[r], itself: int64[n] below r or -1 or None, unit: float, near_amount: float,
    far_amount: float, near: real[n] out, far: real[n] out)""")
_affinity = kernel("""affinity(
    D: real[n, r], scales: real[r], weights: real[r], labels: int64[r] below c, itself: int64[n] below r or -1 or None,
    unit: float, rate: float, near_amount: float, far_amount: float, least: float, near: real[n] out,
    out: real[n, c] out)""")
_affinity_of_points = kernel("""affinity_of_points(
    A: real[n, d], B: real[r, d], scales: real[r], weights: real[r], labels: int64[r] below c, unit: float, rate: float,
    near_amount: float, far_amount: float, least: float, near: real[n] out, nearest: real[n] out,
    out: real[n, c] out)""")


@dataclass(frozen=True)
class Affinity:
    """How near objects are to clusters of references.

    For object i and cluster k, the sum over the references j of the cluster of exp(-rate d_ij^2 / (s_i s_j)), with the
    scales s of both, divided by the root of their weight. A cluster without references gets zero.

    Attributes
    ----------
    scales, weights : (r,) array
        Of the references.
    labels : (r,) array
        Clusters of the references.
    n_clusters : int
    rate : float
    near, far : float
        Weights of references: within the distance where references of weight ``far`` lie is the scale of an object (at
        least that of the smallest reference).
    """

    scales: np.ndarray
    weights: np.ndarray
    labels: np.ndarray
    n_clusters: int
    rate: float
    near: float
    far: float

    def by_distances(self, D: np.ndarray, itself: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(n, c) affinities of objects with these distances to the references, and (n,) distances within which
        references of weight ``near`` lie. ``itself`` is as in `reach`, but who is alone in a cluster counts itself."""
        near, out = np.empty(len(D), D.dtype), np.empty((len(D), self.n_clusters), D.dtype)
        scales, weights = self.scales.astype(D.dtype), self.weights.astype(D.dtype)
        how = float(self.weights.mean()), self.rate, self.near, self.far, float(self.scales.min())
        _affinity(D, scales, weights, self.labels, itself, *how, near, out)
        return out, near

    def by_points(self, A: np.ndarray, B: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the same for points A and references B at Euclidean distances, which are never all held.

        The last array holds the (n,) distances to the nearest reference, zero if they are equal.
        """
        near, nearest = np.empty(len(A), A.dtype), np.empty(len(A), A.dtype)
        out = np.empty((len(A), self.n_clusters), A.dtype)
        A, B = np.ascontiguousarray(A), np.ascontiguousarray(B)
        scales, weights = self.scales.astype(A.dtype), self.weights.astype(A.dtype)
        how = float(self.weights.mean()), self.rate, self.near, self.far, float(self.scales.min())
        _affinity_of_points(A, B, scales, weights, self.labels, *how, near, nearest, out)
        return out, near, nearest


def reach(
    D: np.ndarray, weights: np.ndarray, itself: np.ndarray | None, unit: float, near: float, far: float
) -> tuple[np.ndarray, np.ndarray]:
    """(n,) distances within which references of the weights ``near`` and ``far`` lie.

    Parameters
    ----------
    D : (n, r) array
        Dissimilarities of objects to references.
    weights : (r,) array
        Of the references.
    itself : (n,) array or None
        The reference that an object is, -1 if it is none: it does not count itself, but what that reference weighs
        beyond ``unit`` counts as others at its place.
    unit : float
        What one object weighs.
    near, far : float
        ``near`` is not above ``far``.
    """
    close, distant = np.empty(len(D), D.dtype), np.empty(len(D), D.dtype)
    _reach(D, weights, itself, unit, near, far, close, distant)
    return close, distant


_WIDTH = 1.5  # a: distance, in scales of the two objects, at which they should be in different clusters
_NEAR = 5  # references around an object, by whose distance an outlier is known
_FENCE = 2.0  # interquartile ranges above the third quartile
_LEAST_RANGE = 0.1  # of the logarithm of the distance: below, all distances are alike
_SOFTNESS = 1 / 8  # interquartile ranges within which the mass of an outlier grows from 0.27 to 0.73
_CELLS = 1_000_000  # dissimilarities held at once


@dataclass(frozen=True)
class Surroundings:
    """What is usual around the references.

    Attributes
    ----------
    weights : (r,) array
    scales : (r,) array
        Distance within which the nearest sqrt(r) references lie.
    usual : float
        Third quartile of the distances to the nearest few references.
    fence, softness : float
        Logarithm of that distance, in usual ones, beyond which an object is an outlier rather than not, and how fast
        its mass on the empty set grows there.
    """

    weights: np.ndarray
    scales: np.ndarray
    usual: float
    fence: float
    softness: float

    @classmethod
    def of(cls, D: np.ndarray, weights: np.ndarray | None) -> Surroundings:
        """From the (r, r) dissimilarities between the references, and how much each counts."""
        r = len(D)
        w = np.ones(r) if weights is None else weights.astype(float)
        near, far = reach(D, w, np.arange(r), w.mean(), *_amounts(w))
        scales, near = _positive(far, D), _positive(near, D)
        low, high = _weighted_quantile(near, w, 0.25), _weighted_quantile(near, w, 0.75)
        width = max(float(np.log(high / low)), _LEAST_RANGE)
        return cls(w, scales, high, _FENCE * width, _SOFTNESS * width)

    def affinity(self, labels: np.ndarray, n_clusters: int) -> Affinity:
        """How near objects are to the clusters of the references."""
        return Affinity(self.scales, self.weights, labels, n_clusters, decay(_WIDTH), *_amounts(self.weights))

    def outlying(self, near: np.ndarray) -> np.ndarray:
        """(n,) masses on the empty set, from the distances within which the nearest few references lie."""
        far = np.maximum(near / self.usual, np.exp(self.fence - 50 * self.softness))
        above = (np.log(far) - self.fence) / self.softness
        return 1 / (1 + np.exp(-np.minimum(above, 50)))


def _amounts(weights: np.ndarray) -> tuple[float, float]:
    """Weights of the references that are near, and of those by which the scale is measured."""
    r, unit = len(weights), float(weights.mean())
    most = max(r - 1, 1)
    return unit * min(_NEAR, most) * (1 - 1e-9), unit * min(max(round(np.sqrt(r)), 1), most) * (1 - 1e-9)


def _positive(distances: np.ndarray, D: np.ndarray) -> np.ndarray:
    """Distances of zero, between objects that do not differ, as small ones; where all are zero, as the least of D."""
    finite = distances[np.isfinite(distances) & (distances > 0)]
    if not len(finite):
        return np.full(len(distances), np.min(D, where=D > 0, initial=np.inf) if (D > 0).any() else 1.0)
    return np.clip(distances, 1e-6 * float(np.median(finite)), finite.max())


def _weighted_quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    """The smallest value that at least this share of the weights does not exceed: repeating does what a weight does."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    return float(values[order[np.searchsorted(below, share * below[-1] * (1 - 1e-12))]])


def neighboring_clusters(
    D: np.ndarray, labels: np.ndarray, n_clusters: int, weights: np.ndarray | None = None
) -> FocalSets:
    """Single clusters and pairs of neighbors among clusters known by the dissimilarities of their members."""
    w = np.ones(len(D)) if weights is None else weights
    share = np.zeros((n_clusters, len(D)))
    share[labels, np.arange(len(D))] = w
    total = share.sum(axis=1)
    with np.errstate(invalid="ignore"):
        pairs = _neighbors(share @ np.square(D, dtype=float) @ share.T / np.outer(total, total))
    return FocalSets.with_pairs(n_clusters, pairs, omega=False)


def neighbors_of_pairs(first: np.ndarray, second: np.ndarray, d: np.ndarray, n_clusters: int) -> FocalSets:
    """The same, and the frame, for some pairs of objects, whose clusters ``first`` and ``second`` and dissimilarities d
    are known."""
    squares, counts = np.zeros((2, n_clusters, n_clusters))
    np.add.at(squares, (first, second), np.square(d))
    np.add.at(counts, (first, second), 1)
    with np.errstate(invalid="ignore"):
        pairs = _neighbors((squares + squares.T) / (counts + counts.T))
    return FocalSets.with_pairs(n_clusters, pairs)


def _neighbors(mean: np.ndarray) -> list[tuple[int, int]]:
    """Pairs of neighbors, from the (c, c) mean squared dissimilarities between members of clusters, NaN where there are
    none.

    The squared distance of two clusters is that mean less half the means within each, which for Euclidean distances is
    that of their centers. A cluster without members has no neighbors.
    """
    there = np.flatnonzero(np.isfinite(np.diagonal(mean)))
    among = mean[np.ix_(there, there)]
    within = np.diagonal(among) / 2
    apart = np.maximum(np.nan_to_num(among - within - within[:, None], nan=np.inf), 0)
    pairs = []
    for k, m in gabriel_pairs(apart):
        if np.isfinite(apart[k, m]):
            pairs.append((int(there[k]), int(there[m])))
    return pairs


# ---- models ----------------------------------------------------------------------------------------------------------


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

    def masses(self, values: Any, apply: Apply) -> Array:
        """(n, f) masses of objects read by `DissimilarityInput.new`, or of the points of a tensor, where it is."""
        if sparse.issparse(values):
            return self.masses_of_stored(values, np.arange(values.shape[0]))
        return self.project(values, apply)

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: how well the conflicts d_ij with the references j would be matched if the
        object were certain to be there, whose plausibility is pl_j,

            -mean_j (d_ij - (1 - pl_j))^2,

        to which a reference adds -2 pl_j d_ij; the rest does not depend on the object, or is the same for all clusters.
        """
        which, d = self.stored(values)
        compared = self.references.some(which)
        delta, plausible = conflicts_at(d, self.d0), (self.reference_masses @ self.family.membership)[which]
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

    def project(self, values: Any, apply: Apply, *, coincide: bool = True) -> Array:
        """Every object compared with all references; ``coincide``: one that is a reference again gets its masses."""
        dtype = self.precision(values)
        references = self.references.astype(dtype)
        conflict = np.array(self.family.conflict)
        if self.works_on_device(values) and coincide and references.are_points(values):
            return self._projected_on_device(values, references, conflict)
        terms = wanted_terms(values, references, self.d0, self.reference_masses, conflict, self.counts)
        if not coincide:
            found, terms = terms, lambda start, stop: (found(start, stop)[0], np.full(stop - start, -1))
        arguments = terms, len(values), self.reference_masses, conflict, dtype, apply, self.counts
        if not _needs_products(values, references):
            return project(*arguments)
        with one_blas_thread():  # threads go over blocks, so the products inside must not start their own
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
            image, delta = self.reference_masses[where[columns]] @ conflict, conflicts_at(d, self.d0)
            if self.counts is not None:
                root = np.sqrt(self.counts[where[columns]])
                image, delta = root[:, None] * image, root * delta
            out[i] = solve_simplex_qp(2 * image.T @ image, -2 * image.T @ delta)
        return out


@dataclass(frozen=True)
class DoubtModel:
    """References with their clusters: an object gets masses by how near it is to the members of each.

    Attributes
    ----------
    family : FocalSets
        Single clusters, pairs of neighbors and the empty set.
    fit : EvclusModel
        What EVCLUS found, with masses on single clusters: its references serve here.
    labels : (r,) int64 array
        Clusters of the references.
    surroundings : Surroundings
    reference_masses : (r, f) array
        Masses of the references themselves.
    """

    family: FocalSets
    fit: EvclusModel
    labels: np.ndarray
    surroundings: Surroundings
    reference_masses: np.ndarray

    @classmethod
    def of(cls, fit: EvclusModel, D: np.ndarray, kept: np.ndarray) -> DoubtModel:
        """From a fit and the (r, r) dissimilarities between its references; those that are ``kept`` have masses of the
        fit."""
        c = fit.family.n_clusters
        labels = fit.reference_masses[:, fit.family.singleton_index].argmax(axis=1)
        family = neighboring_clusters(D, labels, c, fit.counts)
        surroundings = Surroundings.of(D, fit.counts)
        contour, near = surroundings.affinity(labels, c).by_distances(D, np.arange(len(D)))
        masses = doubtful_masses(contour, family, surroundings.outlying(near))
        model = cls(family, fit, labels, surroundings, masses)
        if len(kept):
            model.keep(masses, kept, fit.reference_masses[kept])
        return model

    def keep(self, masses: np.ndarray, which: np.ndarray, given: np.ndarray) -> None:
        """Write masses that the fit gave to some objects, without those on the frame, which says nothing of where they
        are; objects with nothing else stay as they are."""
        place = self.family.find(self.fit.family.membership)
        own = given[:, place >= 0]
        total = own.sum(axis=1)
        there = which[total > 0]
        masses[there] = 0
        masses[np.ix_(there, place[place >= 0])] = (own / np.where(total > 0, total, 1)[:, None])[total > 0]

    @property
    def references(self) -> References:
        return self.fit.references

    @property
    def d0(self) -> float:
        return self.fit.d0

    def masses(self, values: Any, apply: Apply) -> Array:
        """(n, f) masses of objects read by `DissimilarityInput.new`; one that is a reference again gets its masses.
        Those of the points of a tensor are found where it is.

        Sparse rows, of some dissimilarities only, get the masses whose conflicts with those of the references match.
        """
        if sparse.issparse(values):
            fit = replace(self.fit, family=self.family, reference_masses=self.reference_masses)
            return fit.masses(values, apply)
        dtype = self.fit.precision(values)
        references = self.fit.references.astype(dtype)
        if self.fit.works_on_device(values) and references.are_points(values):
            return self._masses_from_device(values, references)

        out = np.empty((len(values), len(self.family)), dtype=dtype)
        products = _needs_products(values, references)
        affinity = self.surroundings.affinity(self.labels, self.family.n_clusters)

        def write(start: int, stop: int) -> None:
            D = None
            if products:
                D = np.ascontiguousarray(references.dissimilarities(values, start, stop))
                (contour, near), nearest = affinity.by_distances(D), D.min(axis=1)
            else:
                assert references.source is not None
                contour, near, nearest = affinity.by_points(values[start:stop], references.source.objects)
            out[start:stop] = doubtful_masses(contour, self.family, self.surroundings.outlying(near))
            again, twin = self._twins(nearest, D, references, values, start, exact=not products)
            out[start + again] = self.reference_masses[twin]

        blocks = row_blocks(len(values), max(1, _CELLS // len(references)), most=None)
        if not products:
            apply(write, blocks)
            return out
        with one_blas_thread():  # threads go over blocks already
            apply(write, blocks)
        return out

    def evidence(self, values: Any, itself: int) -> ClusterEvidence:
        """What speaks for each cluster: the logarithm of S_ik, to which every member adds."""
        if sparse.issparse(values):
            fit = replace(self.fit, family=self.family, reference_masses=self.reference_masses)
            return fit.evidence(values, itself)
        around, references = self.surroundings, self.references.astype(np.dtype(float))
        D = np.ascontiguousarray(references.dissimilarities(values, exact=True), dtype=float)
        own = np.flatnonzero(references.positions == itself)
        w, unit = around.weights.copy(), float(around.weights.mean())
        _, far = reach(D, w, own if len(own) else np.array([-1]), unit, *_amounts(w))
        energies = decay(_WIDTH) * D[0] ** 2 / (np.maximum(far[0], around.scales.min()) * around.scales)
        if len(own) and w[self.labels == self.labels[own[0]]].sum() > unit:
            w[own] = max(w[own[0]] - unit, 0)  # an object does not speak for itself, unless it is alone
        logs = np.full((len(w), self.family.n_clusters), -np.inf)
        sizes = np.bincount(self.labels, w, minlength=self.family.n_clusters)[self.labels]
        with np.errstate(divide="ignore"):
            logs[np.arange(len(w)), self.labels] = np.log(w) - np.log(np.where(sizes > 0, sizes, 1)) / 2 - energies
        words = "logarithm of how alike it is with the members of the cluster"
        return ClusterEvidence.of_strengths(words, logs, energies, references, values)

    def without(self, position: int) -> DoubtModel:
        """The same, but that one object of the fit counts for nothing, unless it is alone in its cluster."""
        weights, own = self.surroundings.weights.copy(), self.references.positions == position
        weights[own] = np.maximum(weights[own] - weights.mean(), 0)
        alone = not all(weights[self.labels == k].any() for k in self.labels[own])
        return self if alone else replace(self, surroundings=replace(self.surroundings, weights=weights))

    def _masses_from_device(self, values: Array, references: References) -> Array:
        from dempster.cluster._device import reference_masses
        from dempster.data.device import room_for

        out = room_for(values, len(self.family))
        assert references.source is not None
        points, around = references.source.objects, self.surroundings
        affinity = around.affinity(self.labels, self.family.n_clusters)
        alike = reference_masses(values, points, around, affinity, self.family, self.fit.place(values), out)
        twin = references.equals(to_host(values[to_device_of(alike, values)]))
        out[to_device_of(alike[twin >= 0], out)] = like(self.reference_masses[twin[twin >= 0]], out)
        return out

    def _twins(
        self, nearest: np.ndarray, D: np.ndarray | None, references: References, values: Any, start: int, *, exact: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows of a block that are references again, and which: those with the same attributes, or, where there are
        none, at dissimilarity zero (up to rounding) and of masses that suit best. ``exact``: equal objects are at
        distance zero, to the last bit."""
        if references.source is None:
            assert D is not None
            again = np.flatnonzero(nearest / self.d0 <= rounding(D.dtype))
            return again, twins_at_zero(D[again], self.d0, self.fit.reference_masses, self.fit.family.conflict)
        # few rows can be equal to a reference: those at a dissimilarity that may be rounding
        block = values[start : start + len(nearest)]
        close = np.flatnonzero(nearest <= (0.0 if exact else self._rounded(references, block)))
        twin = references.equals(block[close])
        return close[twin >= 0], twin[twin >= 0]

    def _rounded(self, references: References, block: Any) -> np.ndarray | float:
        """Dissimilarities that may be no more than rounding: products of attributes lose half of the digits."""
        assert references.source is not None
        if not references.are_points(block):
            return 1e-6 * self.d0
        points = references.source.objects
        norm = np.sqrt(np.einsum("id,id->i", block, block, dtype=float) + float(np.square(points, dtype=float).max()))
        return np.sqrt(1000 * np.finfo(points.dtype).eps) * norm


# ---- comparison with references --------------------------------------------------------------------------------------

_FEW_ATTRIBUTES = 32  # beyond, a product of matrices is faster than differences, attribute by attribute


def wanted_terms(
    values: Any,
    references: References,
    d0: float,
    masses: np.ndarray,
    conflict: np.ndarray,
    counts: np.ndarray | None,
) -> Terms:
    """Linear terms of the quadratic programs of objects read by `DissimilarityInput.new`, compared with references of
    these masses and counts; computed as they are needed."""
    image = linear_image(masses, conflict, counts)
    if not _needs_products(values, references):
        assert references.source is not None
        rows = np.ascontiguousarray(values)
        return euclidean_terms(rows, references.source.objects.astype(rows.dtype), decay(d0), image)
    if references.are_points(values):
        return terms_of_conflicts(_euclidean_conflicts(values, references, decay(d0)), image)

    def conflicts(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        D = references.dissimilarities(values, start, stop)
        if references.source is None:
            return conflicts_at(D, d0), twins_at_zero(D, d0, masses, conflict)
        return conflicts_at(D, d0), references.equals(values, start, stop)

    return terms_of_conflicts(conflicts, image)


def _needs_products(values: Any, references: References) -> bool:
    """Whether products of matrices are taken: they are not for Euclidean distances between few attributes."""
    return not references.are_points(values) or values.shape[1] > _FEW_ATTRIBUTES


def _euclidean_conflicts(rows: np.ndarray, references: References, gamma: float) -> Terms:
    """Return the conflicts wanted with the references; Euclidean distances of a block take one matrix product."""
    assert references.source is not None
    points = references.source.objects
    center = mean_of_rows(points, dtype=None)  # small numbers lose fewer digits
    B = points - center
    columns = np.ascontiguousarray(2 * B.T)
    square = np.einsum("pd,pd->p", B, B)

    def conflicts(start: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        A = rows[start:stop] - center
        S = A @ columns
        S -= square
        own = np.einsum("bd,bd->b", A, A)
        S -= own[:, None]
        np.minimum(S, 0, out=S)  # minus the squared distances
        # few rows can be equal to a reference: those at a distance that may be rounding
        close = np.flatnonzero(S.max(axis=1) >= -1000 * np.finfo(S.dtype).eps * own)
        same = np.full(len(S), -1)
        same[close] = references.equals(rows[start:stop][close])
        S *= S.dtype.type(gamma)
        np.exp(S, out=S)  # twice as fast as expm1, whose digits near zero are not needed here
        np.subtract(1, S, out=S)
        return S, same

    return conflicts


def twins_at_zero(D: np.ndarray, d0: float, masses: np.ndarray, conflict: np.ndarray) -> np.ndarray:
    """For each row a reference at dissimilarity zero (up to rounding), -1 if there is none.

    Of several the one whose masses suit the row best: without metric axioms, zero does not make two objects the same.
    """
    zero = D / d0 <= rounding(D.dtype)
    twins = np.where(zero.any(axis=1), zero.argmax(axis=1), -1)
    for i in np.flatnonzero(zero.sum(axis=1) > 1):
        candidates = np.flatnonzero(zero[i])
        gap = masses[candidates] @ conflict @ masses.T - conflicts_at(D[i], d0)
        twins[i] = candidates[np.square(gap).sum(axis=1).argmin()]
    return twins


# ---- assessment ------------------------------------------------------------------------------------------------------

_SHOWN_PAIRS = 20_000


class ShepardData(NamedTuple):
    """Pairs of objects: their dissimilarity, the conflict wanted (delta) and the conflict found.

    Attributes
    ----------
    dissimilarity, delta, conflict : (k,) arrays
    """

    dissimilarity: np.ndarray
    delta: np.ndarray
    conflict: np.ndarray

    def sample(self, n_pairs: int | None, random_state: Seed) -> ShepardData:
        """Some of the pairs; all if there are no more, or for None."""
        check(n_pairs, "n_pairs", choice(None) | integer(1))
        if n_pairs is None or n_pairs >= len(self.delta):
            return self
        kept = generator(random_state).choice(len(self.delta), n_pairs, replace=False)
        return ShepardData(*(values[kept] for values in self))


class ShepardMixin:
    """For clusterers that match conflicts to dissimilarities."""

    _shepard: ShepardData

    def shepard(self, n_pairs: int | None = 5000, random_state: Seed = 0) -> ShepardData:
        """Dissimilarity, delta and conflict of pairs of objects of the fit, for a Shepard diagram.

        Parameters
        ----------
        n_pairs : int or None, default=5000
            At most so many, and at most 20,000, are drawn; None: 20,000.
        random_state : int, RandomState, Generator or None, default=0
        """
        check_is_fitted(self, "credal_partition_")
        return self._shepard.sample(n_pairs, random_state)


class Assessment(NamedTuple):
    """Weighted sum of (conflict - delta)^2, divided by that of delta^2 (stress) and by that of the weights (loss)."""

    stress: float
    loss: float
    shepard: ShepardData


def assess(
    masses: np.ndarray, family: FocalSets, pairs: WeightedPairs, d0: float, rng: np.random.Generator
) -> Assessment:
    """How well the conflicts of masses match some dissimilarities."""
    i, j, d, weight = pairs
    kappa = conflicts_of_pairs(masses, np.array(family.conflict), i, j)
    delta = conflicts_at(d, d0)
    squares = float(np.sum(weight * (kappa - delta) ** 2))
    kept = slice(None) if len(i) <= _SHOWN_PAIRS else rng.choice(len(i), _SHOWN_PAIRS, replace=False)
    shown = ShepardData(np.asarray(d, float)[kept], np.asarray(delta, float)[kept], kappa[kept])
    return Assessment(squares / float(np.sum(weight * delta**2)), squares / float(np.sum(weight)), shown)
