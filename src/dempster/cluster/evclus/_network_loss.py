"""Loss of NN-EVCLUS as a function of the weights of a network.

The functions accept NumPy arrays and torch tensors. Equation and section numbers refer to Denoeux
(2021), "NN-EVCLUS: Neural network-based evidential clustering".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import clone

from dempster._arrays import Array, is_tensor, to_host, zeros
from dempster._errors import InvalidParameterError
from dempster._types import ArrayLike
from dempster._validation import as_floats, validating_labels
from dempster.belief import FocalSets
from dempster.cluster._base import FitRequest
from dempster.cluster.evclus._network import ValueAndGradient
from dempster.cluster.evclus._pairs import MAX_ALL_PAIRS_ROWS, WeightedPairs, link_form
from dempster.cluster.evclus.evclus import LINK_FACTORS
from dempster.constraints import Constraints
from dempster.dissimilarity.input import with_columns_like_rows
from dempster.dissimilarity.sources import (
    AttributeSource,
    DissimilaritySource,
    MatrixSource,
    check_square,
)
from dempster.dissimilarity.transform import (
    choose_landmarks,
    decay,
    random_pairs,
    to_conflict,
)

Arrays: TypeAlias = Any  # HostArrays or DeviceArrays
Network: TypeAlias = Any  # FeedForward or TorchNetwork

_VALIDATION_PAIRS = 20_000
_MAX_STEPS_PER_EPOCH = 50
_MAX_ROWS_PER_EPOCH = 25_600
# maximum number of constraints, and of labeled rows, that are added to a mini-batch
_MAX_EXTRA_ROWS = 256

# ---- terms of the loss ---------------------------------------------------------------------------


class Batch(NamedTuple):
    """Rows of a mini-batch, followed by rows with constraints and by rows with labels."""

    rows: Array
    delta: Array | None  # target conflicts; None if they are computed from the rows
    # positions of the pairs (i, j) with constraints
    i: Array
    j: Array
    signs: Array  # 1 for a must-link, and -1 for a cannot-link constraint
    labelled: Array  # positions of the labeled rows
    indicators: Array  # one-hot encoding of their labels


def all_pairs_error(
    masses: Array, delta: Array, conflict: Array, squares: Array
) -> ValueAndGradient:
    """Return the mean of (conflict - delta)^2 over all pairs (eq. 9), and its gradient.

    The gradient is with respect to the masses, as for all functions of this section. ``delta``
    contains the target conflicts, shape (n, n); it is symmetric with a zero diagonal. ``squares``
    is the sum of its squared entries. The square is expanded, so that no other (n, n) matrix is
    needed.
    """
    n_pairs = len(masses) * (len(masses) - 1)
    # Since delta is symmetric, the second product is delta @ masses; this form is faster.
    image = masses @ conflict
    product = (masses.T @ delta).T
    gram = image.T @ image
    own = (image * masses).sum(axis=1)
    quarter = masses @ gram - own[:, None] * image - product @ conflict
    total = (quarter * masses - image * product).sum()
    return (total + squares) / n_pairs, quarter * (4 / n_pairs)


def pairs_error(
    masses: Array, i: Array, j: Array, delta: Array, conflict: Array
) -> ValueAndGradient:
    """Return the mean of (conflict - delta)^2 over the pairs (i, j) (eq. 9), and its gradient."""
    conflicts, gradient = _bilinear_forms(masses, conflict, i, j)
    gap = conflicts - delta
    return _mean_square(gap), gradient(gap * (2 / len(gap)))


def links_error(masses: Array, links: Batch, form: Array) -> ValueAndGradient:
    """Return the mean violation of the constraints (eq. 15), and its gradient.

    The violation is m_i' Z m_j / 2 for a must-link and 1 - m_i' Z m_j / 2 for a cannot-link
    constraint, where Z is ``form`` (see `link_form`).
    """
    forms, gradient = _bilinear_forms(masses, form, links.i, links.j)
    share = 1 / (2 * len(forms))
    value = (1 + links.signs * (forms - 1)).sum() * share
    return value, gradient(links.signs * share)


def labels_error(masses: Array, labels: Batch, membership: Array) -> ValueAndGradient:
    """Return the mean squared error of plausibilities for labels (section 4), and its gradient."""
    gap = masses[labels.labelled] @ membership - labels.indicators
    gradient = (gap @ membership.T) * (2 / len(gap))
    return _mean_square(gap), _sum_by_row(labels.labelled, gradient, len(masses))


def weight_penalty(weights: Array, shares: Array) -> ValueAndGradient:
    """Return half the sum over layers of the mean squared weight (eq. 10), and its gradient.

    The gradient is with respect to the weights.
    """
    gradient = shares * weights
    return 0.5 * (gradient * weights).sum(), gradient


def _mean_square(gap: Array) -> Any:
    return (gap * gap).sum() / len(gap)


def _sum_of_squares(delta: Array) -> Any:
    values = delta.reshape(-1)
    return values @ values


def _bilinear_forms(
    masses: Array, form: Array, i: Array, j: Array
) -> tuple[Array, Callable[[Array], Array]]:
    """Return m_i' F m_j for the pairs (i, j), and a function for the gradient of a weighted sum."""
    n = len(masses)
    image = masses @ form

    def gradient(weights: Array) -> Array:
        w = weights[:, None]
        return _sum_by_row(i, w * image[j], n) + _sum_by_row(j, w * image[i], n)

    return (image[i] * masses[j]).sum(axis=1), gradient


def _sum_by_row(rows: Array, values: Array, n: int) -> Array:
    """Return an (n, f) array whose row r is the sum of all ``values[k]`` with ``rows[k] == r``."""
    if is_tensor(values):
        return values.new_zeros((n, values.shape[1])).index_add_(0, rows, values)
    m = len(rows)
    cells = np.ones(m, values.dtype), rows, np.arange(m + 1)
    return sparse.csc_matrix(cells, shape=(n, m)) @ values


# ---- targets -------------------------------------------------------------------------------------


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


# ---- the loss as a function of the weights -------------------------------------------------------


@dataclass(frozen=True)
class NetworkInputs:
    """Inputs of the network for all training rows, in main memory or on a device."""

    values: Array  # standardized rows
    decision: Array | None  # decision values of the outlier detector, if there is one

    def take(self, rows: Array | slice) -> tuple[Array, Array | None]:
        """Return the values and the decision values of the given rows."""
        if self.decision is None:
            return self.values[rows], None
        return self.values[rows], self.decision[rows]


class NetworkObjective:
    """Loss of a network, which is a function of its weights.

    The loss is the sum of (1 - nu) times the mean squared error of the conflicts, xi times the
    violation of the constraints, nu times the error on the labels, and ``regularization`` times a
    penalty on large weights (eqs. 9, 10, 15 and section 4).
    """

    def __init__(
        self,
        targets: NetworkTargets,
        family: FocalSets,
        d0: float,
        inputs: NetworkInputs,
        arrays: Arrays,
        params: Any,
    ):
        self.targets = targets
        self.d0 = d0
        self.inputs = inputs
        self.arrays = arrays
        self.xi = 0.0
        self.regularization = params.regularization
        self.labelled = np.flatnonzero(targets.labels >= 0)
        self.nu = params.nu if len(self.labelled) else 0.0
        self.linked = np.empty((0, 2), np.int64)
        self.signs = np.empty(0)
        if targets.constraints is not None:
            self.xi = LINK_FACTORS[params.convention] * params.xi
            must = targets.constraints.must_link
            cannot = targets.constraints.cannot_link
            self.linked = np.concatenate([must, cannot])
            self.signs = np.repeat([1.0, -1.0], [len(must), len(cannot)])
        # conflicts among rows if the metric is Euclidean
        self.conflicts_among: Any = None
        if targets.source.is_euclidean:
            objects = targets.source.objects
            self.conflicts_among = arrays.conflict_function(objects, decay(d0))
        self.conflict = arrays.array(np.array(family.conflict))
        self.link_form = arrays.array(link_form(family))
        self.membership = arrays.array(family.membership)

    def full_batch_loss(
        self, network: Network, pairs: tuple[np.ndarray, np.ndarray] | None = None
    ) -> Callable[[], ValueAndGradient]:
        """Return a function that computes the loss over ``pairs`` and its gradient.

        None means all pairs of rows.
        """
        source = self.targets.source
        integers = self.arrays.integers
        i, j = map(integers, self.linked.T)
        batch = Batch(
            slice(None),
            None,
            i,
            j,
            self.arrays.array(self.signs),
            integers(self.labelled),
            self._indicators(self.labelled),
        )
        conflict = self.conflict
        if pairs is None:
            rows = np.arange(len(source))
            delta = self._conflicts_at(source.block(rows, rows))
            squares = _sum_of_squares(delta)
            error = partial(
                all_pairs_error, delta=delta, conflict=conflict, squares=squares
            )
        else:
            i, j = map(integers, pairs)
            delta = self.arrays.array(to_conflict(source.pairs(*pairs), self.d0))
            error = partial(pairs_error, i=i, j=j, delta=delta, conflict=conflict)
        return lambda: self._loss(network, self.inputs, error, batch)

    def draw_mini_batches(
        self, batch_size: int, rng: np.random.Generator
    ) -> Iterator[Batch]:
        """Yield the batches of an epoch, with random constraints and labels."""
        source = self.targets.source
        rows = draw_batches(len(source), batch_size, rng)
        steps, n = rows.shape
        links = _draw_some(len(self.linked), steps, rng)
        labelled = self.labelled[_draw_some(len(self.labelled), steps, rng)]
        first, second = np.moveaxis(self.linked[links], -1, 0)
        arrays = self.arrays
        all_rows = arrays.integers(np.hstack([rows, first, second, labelled]))
        k = links.shape[1]
        positions = arrays.integers(np.arange(n, all_rows.shape[1]))
        i = positions[:k]
        j = positions[k : 2 * k]
        labelled_positions = positions[2 * k :]
        signs = arrays.array(self.signs[links])
        indicators = self._indicators(labelled)
        for step in range(steps):
            delta = None
            if self.conflicts_among is None:
                delta = self._conflicts_at(source.block(rows[step], rows[step]))
            yield Batch(
                all_rows[step],
                delta,
                i,
                j,
                signs[step],
                labelled_positions,
                indicators[step],
            )

    def mini_batch_loss(self, network: Network, batch: Batch) -> ValueAndGradient:
        """Return the loss of a batch and its gradient."""
        delta = batch.delta
        if delta is None:
            n = len(batch.rows) - 2 * len(batch.i) - len(batch.labelled)
            delta = self.conflicts_among(batch.rows[:n])
        error = partial(self._batch_error, delta)
        return self._loss(network, self.inputs, error, batch)

    def streamed_loss(
        self, network: Network, batch: tuple[np.ndarray, NetworkInputs]
    ) -> ValueAndGradient:
        """Return the loss of a batch that was read from blocks, without constraints and labels."""
        rows, inputs = batch
        source = self.targets.source
        if source.is_euclidean:
            delta = self.arrays.conflict_function(rows, decay(self.d0))(slice(None))
        else:
            delta = self._conflicts_at(source.between(rows, rows))
        return self._loss(network, inputs, partial(self._batch_error, delta))

    def validation_error(
        self, network: Network, pairs: WeightedPairs
    ) -> Callable[[], float]:
        """Return a function that computes the mean squared error of the conflicts of pairs."""
        arrays = self.arrays
        rows, position = np.unique(
            np.concatenate([pairs.i, pairs.j]), return_inverse=True
        )
        i, j = map(arrays.integers, np.split(position, 2))
        delta = arrays.array(to_conflict(pairs.dissimilarity.astype(float), self.d0))
        x, h = self.inputs.take(arrays.integers(rows))

        def error() -> float:
            masses, _ = network.forward_backward(x, h)
            conflicts, _ = _bilinear_forms(masses, self.conflict, i, j)
            return float(_mean_square(conflicts - delta))

        return error

    def _batch_error(self, delta: Array, masses: Array) -> ValueAndGradient:
        """Return the error of the first rows of a batch, whose target conflicts are ``delta``."""
        n = len(delta)
        squares = _sum_of_squares(delta)
        value, of_pairs = all_pairs_error(masses[:n], delta, self.conflict, squares)
        if n == len(masses):
            return value, of_pairs
        gradient = zeros(tuple(masses.shape), masses)
        gradient[:n] = of_pairs
        return value, gradient

    def _loss(
        self,
        network: Network,
        inputs: NetworkInputs,
        error: Callable[[Array], ValueAndGradient],
        batch: Batch | None = None,
    ) -> ValueAndGradient:
        """Return the loss and its gradient, given the error of the conflicts between masses.

        Without a batch, all inputs are used, without constraints and labels.
        """
        rows = slice(None) if batch is None else batch.rows
        masses, backward = network.forward_backward(*inputs.take(rows))
        value, of_masses = error(masses)
        nu = self.nu
        if nu and batch is not None:
            misfit, of_misfit = labels_error(masses, batch, self.membership)
            value = (1 - nu) * value + nu * misfit
            of_masses = (1 - nu) * of_masses + nu * of_misfit
        if self.xi > 0 and batch is not None and len(batch.i):
            violation, of_violation = links_error(masses, batch, self.link_form)
            value = value + self.xi * violation
            of_masses = of_masses + self.xi * of_violation
        gradient = backward(of_masses)
        if self.regularization:
            penalty, of_penalty = weight_penalty(network.weights, network.shares)
            value = value + self.regularization * penalty
            gradient = gradient + self.regularization * of_penalty
        return value, gradient

    def _conflicts_at(self, dissimilarities: np.ndarray) -> Array:
        D = np.array(dissimilarities, float)
        np.fill_diagonal(D, 0)
        return self.arrays.array(to_conflict(D, self.d0))

    def _indicators(self, rows: np.ndarray) -> Array:
        """Return the one-hot encoding of the labels of rows."""
        return self.arrays.array(
            np.eye(self.membership.shape[1])[self.targets.labels[rows]]
        )


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


def _draw_some(n: int, steps: int, rng: np.random.Generator) -> np.ndarray:
    """Draw some of n constraints or labeled rows for each batch, shape (steps, number)."""
    return np.stack([rng.permutation(n)[:_MAX_EXTRA_ROWS] for _ in range(steps)])
