"""What a network of NN-EVCLUS learns: conflicts of pairs, labels, constraints, and final masses.

Equation and section numbers refer to Denoeux (2021), "NN-EVCLUS: Neural network-based evidential
clustering".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from dempster._arrays import to_host
from dempster._errors import InvalidParameterError
from dempster._types import ArrayLike
from dempster._validation import as_floats, validating_labels
from dempster.belief import FocalSets
from dempster.cluster._base import FitRequest
from dempster.cluster._mass_step import masses_from_plausibilities
from dempster.cluster.evclus._model import Surroundings, neighboring_clusters
from dempster.cluster.evclus._pairs import MAX_ALL_PAIRS_ROWS, WeightedPairs
from dempster.constraints import Constraints
from dempster.data.rows import BlockRows
from dempster.dissimilarity.input import with_columns_like_rows
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    MatrixSource,
    check_square,
)
from dempster.dissimilarity.transform import choose_landmarks, random_pairs
from dempster.optimize.blocks import row_blocks

_VALIDATION_PAIRS = 20_000
_MAX_STEPS_PER_EPOCH = 50
_MAX_ROWS_PER_EPOCH = 25_600
_MAX_CACHED_CELLS = 1 << 24
# final masses
_MIN_REFERENCES_PER_CLUSTER = 30
_MAX_DISSIMILARITIES = 1_000_000  # maximum number of dissimilarities in memory at once

# ---- the targets of a fit ------------------------------------------------------------------------


@dataclass(frozen=True)
class NetworkTargets:
    """Targets of the training for n rows: dissimilarities, labels and constraints."""

    source: DissimilaritySource
    labels: np.ndarray  # clusters of the labeled rows, -1 for unlabeled rows
    constraints: Constraints | None
    warnings: tuple[str, ...] = ()  # warnings about the labels

    def __len__(self) -> int:
        return len(self.source)

    @property
    def table(self) -> np.ndarray:
        """Features of the rows, or their dissimilarities if the user passed them."""
        if self.source.matrix is not None:
            return self.source.matrix
        return self.source.objects

    def draw_rows(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return the indices of random rows, which include random labeled rows."""
        labelled = np.flatnonzero(self.labels >= 0)
        some = labelled[choose_landmarks(len(labelled), size, rng)]
        return np.union1d(choose_landmarks(len(self), size, rng), some)

    def draw_validation_pairs(self, rng: np.random.Generator) -> WeightedPairs:
        """Return random pairs of rows to validate a training.

        With few rows, a tenth of all pairs.
        """
        n = len(self)
        if n > MAX_ALL_PAIRS_ROWS:
            return WeightedPairs.sample(
                self.source, np.arange(n), _VALIDATION_PAIRS, rng
            )
        ends = np.column_stack(np.triu_indices(n, 1))
        size = max(1, min(_VALIDATION_PAIRS, len(ends) // 10))
        i, j = ends[rng.choice(len(ends), size, replace=False)].T
        return WeightedPairs(i, j, self.source.pairs(i, j), np.ones(size))

    def draw_training_pairs(
        self,
        n_partners: int | None,
        held_out: WeightedPairs | None,
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows i and j of the training pairs that are not held out.

        They are all pairs, or ``n_partners`` pairs per row.
        """
        n = len(self)
        pairs, times = random_pairs(n, n_partners or n - 1, rng)
        if n_partners is not None:
            pairs = np.repeat(pairs, times.astype(int), axis=0)
        if held_out is not None:
            low = np.minimum(held_out.i, held_out.j)
            high = np.maximum(held_out.i, held_out.j)
            pairs = pairs[~np.isin(pairs[:, 0] * n + pairs[:, 1], low * n + high)]
        return pairs[:, 0], pairs[:, 1]


def build_targets(X: np.ndarray, metric: Any, request: FitRequest) -> NetworkTargets:
    """Validate labels and dissimilarities, and return the targets.

    The metric is used if there are no dissimilarities.
    """
    n = len(X)
    labels, warnings = _validate_labels(request.labels, n, request.n_clusters)
    constraints = request.constraints
    if constraints is not None and not len(constraints):
        constraints = None
    source: DissimilaritySource
    if request.dissimilarities is not None:
        D = as_floats(
            with_columns_like_rows(request.dissimilarities), "dissimilarities"
        )
        if D.shape != (n, n):
            must = f"have shape ({n}, {n}), got {D.shape}"
            raise InvalidParameterError("dissimilarities", must=must)
        source = MatrixSource(check_square(D, symmetrize=False))
        return NetworkTargets(source, labels, constraints, warnings)
    rows = X.reshape(n, -1)
    if hasattr(metric, "transform"):
        learner = clone(metric)
        if constraints is not None:
            learner.fit(rows, constraints=constraints)
        elif (labels >= 0).any():
            learner.fit(rows, labels)
        else:
            message = "metric is a transformer, which requires constraints or labels y to be fitted"
            raise InvalidParameterError("metric", message=message)
        rows = np.ascontiguousarray(learner.transform(rows))
        metric = "euclidean"
    return NetworkTargets(AttributeSource(rows, metric), labels, constraints, warnings)


def _validate_labels(
    y: ArrayLike, n: int, c: int
) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return the clusters of the n rows, -1 for unlabeled rows, and warnings."""
    if y is None:
        return np.full(n, -1), ()
    with validating_labels(y, "y"):
        labels = np.asarray(to_host(y))
        if labels.shape != (n,):
            must = f"have shape ({n},), one label per row of X, got {labels.shape}"
            raise InvalidParameterError("y", must=must)
        clusters = set(range(-1, c))
        wrong = [label for label in labels.tolist() if label not in clusters]
    if not wrong:
        return labels.astype(np.int64), ()
    if (labels == -1).any():
        must = f"contain integers from 0 to {c - 1}, the clusters of rows, or -1"
        raise InvalidParameterError("y", must=f"{must}, got {wrong[0]!r}")
    # Pipelines pass the target of a supervised task to every step, and clusterers must ignore it.
    reason = f"it contains no -1 and its values are not the clusters 0 to {c - 1}"
    return np.full(n, -1), (f"y is ignored: {reason}",)


@dataclass(frozen=True)
class InitialMasses:
    """Family of focal sets, value of d0 and initial masses of a training."""

    family: FocalSets
    d0: float
    # masses on which the network is pretrained; None if there is no pretraining
    masses: np.ndarray | None
    rows: Any = ...  # indices of the rows with these masses, by default all
    evclus: Any = None  # EVCLUS if it computed the masses


# ---- mini-batches --------------------------------------------------------------------------------


def draw_batches(n: int, batch_size: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the rows of each batch of an epoch, shape (number of batches, size of a batch).

    An epoch contains almost every row once, or a sample with replacement of many rows.
    """
    size = min(batch_size, n)
    steps = max(1, min(n, _MAX_ROWS_PER_EPOCH) // size)
    steps = min(_MAX_STEPS_PER_EPOCH, steps)
    if steps * size < n // 2:
        return rng.integers(0, n, (steps, size))
    return rng.permutation(n)[: steps * size].reshape(steps, size)


def read_epochs(
    blocks: BlockRows, batch_size: int, seed: int, epochs: range
) -> Iterator[list[np.ndarray]]:
    """Yield the mini-batches of each epoch; one pass over the blocks reads several epochs."""
    width = blocks.values.shape[1]
    while epochs:
        indices: list[np.ndarray] = []  # row indices of the epochs of this pass
        n_cells = 0
        for epoch in epochs:
            rng = np.random.default_rng([seed, epoch])
            batches = draw_batches(len(blocks), batch_size, rng)
            n_cells += width * batches.size
            if indices and n_cells > _MAX_CACHED_CELLS:
                break
            indices.append(batches)
        needed = np.unique(np.stack(indices))
        last = epochs[0] + len(indices)
        values = blocks.take(needed, f"the objects of epochs {epochs[0] + 1} to {last}")
        for batches in indices:
            yield [values[np.searchsorted(needed, rows)] for rows in batches]
        epochs = epochs[len(indices) :]


# ---- final masses, with pairs of clusters --------------------------------------------------------


def compute_doubt_targets(
    source: DissimilaritySource,
    predict: Callable[[np.ndarray], np.ndarray],
    n_clusters: int,
    max_rows: int,
    rng: np.random.Generator,
    *,
    outliers: bool,
) -> tuple[FocalSets, np.ndarray, np.ndarray]:
    """Compute masses with pairs of neighboring clusters, by the method of EVCLUS.

    Return the family of the empty set, single clusters and pairs of neighboring clusters, the
    indices of at most ``max_rows`` rows, and the masses of these rows. ``predict`` returns the
    clusters of the given rows. If ``outliers`` is True, isolated rows get mass on the empty set.
    """
    n = len(source)
    n_references = max(MAX_ALL_PAIRS_ROWS, _MIN_REFERENCES_PER_CLUSTER * n_clusters)
    references = choose_landmarks(n, n_references, rng)
    D = np.asarray(source.block(references, references), float)
    D = (D + D.T) / 2
    reference_labels = predict(references)

    def blocks() -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        return [(np.arange(len(D)), np.arange(len(D)), D)]

    family = neighboring_clusters(blocks, reference_labels, n_clusters)
    surroundings = Surroundings.from_dissimilarities(blocks, len(D), None, n_clusters)
    compared = surroundings.compare(blocks, reference_labels, n_clusters)
    affinity = surroundings.affinity(reference_labels, compared.contrast)
    rows = choose_landmarks(n, max_rows, rng)
    own_reference = np.full(n, -1)
    own_reference[references] = np.arange(len(references))
    masses = np.empty((len(rows), len(family)))
    size = max(1, _MAX_DISSIMILARITIES // len(references))
    for start, stop in row_blocks(len(rows), size, most=None):
        block = rows[start:stop]
        distances = np.ascontiguousarray(source.block(block, references), float)
        affinities, near = affinity.by_distances(distances, own_reference[block])
        contour = compared.contrast.plausibilities(affinities)
        outlying = None
        if outliers:
            outlying = surroundings.outlying(near)
        masses[start:stop] = masses_from_plausibilities(contour, family, outlying)
    return family, rows, masses


def score_matrix(first: FocalSets, family: FocalSets) -> np.ndarray:
    """Return the matrix that maps scores of the sets in ``first`` to scores of those in ``family``.

    The score of a pair is the mean of the scores of its two clusters, so that a row with almost
    equal scores for both clusters can get mass on the pair.
    """
    matrix = np.zeros((len(first), len(family)))
    for column, members in enumerate(family.membership):
        if members.any():
            sources = first.singleton_index[members]
        else:
            sources = first.find(members[None])
        matrix[sources, column] = 1 / len(sources)
    return matrix
