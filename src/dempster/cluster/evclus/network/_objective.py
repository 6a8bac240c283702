"""The losses that a network of NN-EVCLUS is trained with: of all objects, of mini-batches, of held-out pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from dempster.belief import FocalSets
from dempster.cluster.evclus._conflict_problems import link_form
from dempster.cluster.evclus.network import _losses as losses
from dempster.cluster.evclus.network._losses import Array, Labels, Links, ValueAndGradient
from dempster.cluster.evclus.network._mass_layer import MassLayer
from dempster.cluster.evclus.network._targets import HeldOutPairs, NetworkTargets
from dempster.dissimilarity.transform import decay, to_conflict
from dempster.optimize.blocks import Apply

__all__ = ["Arrays", "GivenBatch", "Network", "NetworkInputs", "NetworkObjective", "Penalties", "batches_of_epoch"]

_MOST_STEPS = 50  # of mini-batches in an epoch
_EXTRA = 256  # labelled objects and constraints added to a mini-batch


class Arrays(Protocol):
    """Where a training computes: NumPy's arrays, or torch's on a device; all of one precision."""

    def array(self, values: np.ndarray) -> Array: ...

    def integers(self, values: np.ndarray) -> Array: ...

    def to_host(self, array: Array) -> np.ndarray: ...

    def conflicts_among(self, points: np.ndarray, gamma: float) -> Array:
        """As `dempster.dissimilarity.transform.conflicts_among`."""
        ...

    def session(self, seed: int) -> AbstractContextManager[Any]:
        """In which a training runs."""
        ...


class Network(Protocol):
    """What is trained: `FeedForward` in NumPy, or `TorchNetwork`."""

    weights: Any  # a vector

    @property
    def shares(self) -> Array:
        """One over the number of weights of the same layer, for each weight; zero for the outlier unit."""
        ...

    def traced(self, x: Array, h: Array | None) -> tuple[Array, Callable[[Array], Array]]:
        """Masses, and the function that turns a gradient with respect to them into one with respect to the weights."""
        ...

    def taught(self, x: Array, wanted: Array) -> ValueAndGradient:
        """Cross-entropy with masses wanted, and its gradient with respect to the weights."""
        ...

    def masses(self, inputs: Array, decision: np.ndarray | None, apply: Apply) -> Array:
        """Masses of objects by a forward pass, where they are: from and to arrays of the host, or tensors."""
        ...

    def widened(self, matrix: np.ndarray, layer: MassLayer, coefficients: np.ndarray) -> Network:
        """A network whose scores are those of this one times a matrix, with another layer of masses and coefficients of
        its outlier unit."""
        ...

    def train(self) -> Any: ...

    def eval(self) -> Any: ...

    def state(self) -> dict[str, np.ndarray]: ...

    def restore(self, state: dict[str, np.ndarray]) -> None: ...


@dataclass(frozen=True)
class NetworkInputs:
    """What the network sees of the objects.

    Attributes
    ----------
    values : (n, ...) array
        The objects, standardised.
    decision : (n,) array or None
        Values of the outlier detector, where there is one.
    arrays : Arrays
        Where they are sent to.
    """

    values: np.ndarray
    decision: np.ndarray | None
    arrays: Arrays

    def objects(self, who: np.ndarray | None = None) -> Array:
        """Inputs of some objects; of all for None."""
        return self.arrays.array(self.values if who is None else self.values[who])

    def decisions(self, who: np.ndarray | None = None) -> Array | None:
        """Decision values of some objects; of all for None."""
        if self.decision is None:
            return None
        return self.arrays.array(self.decision if who is None else self.decision[who])


@dataclass(frozen=True)
class Penalties:
    """Weights of the terms beside the dissimilarities: constraints, labels, size of the network's weights."""

    xi: float
    nu: float
    regularization: float


class GivenBatch(NamedTuple):
    """Objects of a mini-batch: as they were given, as the network sees them, and their decision values, if any."""

    objects: np.ndarray
    inputs: np.ndarray
    decision: np.ndarray | None


class _Known(NamedTuple):
    """Constraints and labels of objects, by their positions among those whose masses are at hand."""

    links: Links
    labels: Labels


class NetworkObjective:
    """How far the conflicts of a network are from the dissimilarities, and its masses from the other knowledge.

    The loss is (1 - nu) times the mean squared error of the conflicts, xi times the violation of the constraints, nu
    times that of the labels and a multiple of the size of the weights (Denoeux, 2021, eqs. 9, 10, 15 and section 4).
    """

    def __init__(
        self, targets: NetworkTargets, family: FocalSets, d0: float, inputs: NetworkInputs, penalties: Penalties
    ):
        self.targets, self.d0, self.inputs, self.arrays = targets, d0, inputs, inputs.arrays
        self.labelled = np.flatnonzero(targets.labels >= 0)
        self.xi, self.regularization = penalties.xi, penalties.regularization
        self.nu = penalties.nu if len(self.labelled) else 0.0
        none: np.ndarray = np.empty((0, 2), dtype=np.int64)
        given = targets.constraints
        self.must_link: np.ndarray = none if given is None else given.must_link
        self.cannot_link: np.ndarray = none if given is None else given.cannot_link
        self.indicators = np.eye(family.n_clusters)
        self.conflict = self.arrays.array(np.array(family.conflict))
        self.link_form = self.arrays.array(link_form(family))
        self.membership = self.arrays.array(family.membership)
        self.nothing_known = self._known(none, none, none[:, 0])

    def whole_loss(
        self, network: Network, pairs: tuple[np.ndarray, np.ndarray] | None = None
    ) -> Callable[[], ValueAndGradient]:
        """The loss on all objects, and on all pairs or those given, with its gradient with respect to the weights."""
        x, h = self.inputs.objects(), self.inputs.decisions()
        known = self._known(self.must_link, self.cannot_link, self.labelled)
        error = self._error_of_all() if pairs is None else self._error_of(*pairs)

        def loss() -> ValueAndGradient:
            masses, back = network.traced(x, h)
            value, gradient = self._with_knowledge(masses, known, *error(masses))
            return self._with_size(network, value, back(gradient))

        return loss

    def mini_batches(self, network: Network, batch_size: int, rng: np.random.Generator) -> Iterator[ValueAndGradient]:
        """The same for the batches of an epoch: all pairs inside a batch, some constraints and labelled objects."""
        for who in batches_of_epoch(len(self.targets), batch_size, rng):
            extra, known = self._some_knowledge(len(who), rng)
            both = np.concatenate([who, extra])
            masses, back = network.traced(self.inputs.objects(both), self.inputs.decisions(both))
            delta = self._conflicts_among(who)
            value, of_batch = losses.all_pairs_error(masses[: len(who)], delta, self.conflict, _squares(delta))
            gradient = self.arrays.array(np.zeros(tuple(masses.shape)))
            gradient[: len(who)] = of_batch
            value, gradient = self._with_knowledge(masses, known, value, gradient)
            yield self._with_size(network, value, back(gradient))

    def given_batches(self, network: Network, batches: Iterable[GivenBatch]) -> Iterator[ValueAndGradient]:
        """The same for objects that are not among those at hand; nothing else is known of them."""
        for batch in batches:
            h = None if batch.decision is None else self.arrays.array(batch.decision)
            masses, back = network.traced(self.arrays.array(batch.inputs), h)
            delta = self._conflicts_of(batch.objects)
            error = losses.all_pairs_error(masses, delta, self.conflict, _squares(delta))
            value, gradient = self._with_knowledge(masses, self.nothing_known, *error)
            yield self._with_size(network, value, back(gradient))

    def judge(self, network: Network, held_out: HeldOutPairs) -> Callable[[], float]:
        """The error of the network on some pairs, as a function of its weights."""
        i, j, d = held_out
        who, position = np.unique(np.concatenate([i, j]), return_inverse=True)
        first, second = self.arrays.integers(position[: len(i)]), self.arrays.integers(position[len(i) :])
        delta = self.arrays.array(to_conflict(d, self.d0))
        x, h = self.inputs.objects(who), self.inputs.decisions(who)
        return lambda: float(losses.pairs_value(network.traced(x, h)[0], first, second, delta, self.conflict))

    # ---- the terms ------------------------------------------------------------------------------------------------

    def _error_of_all(self) -> Callable[[Array], ValueAndGradient]:
        D = self.targets.all_dissimilarities().astype(float)
        np.fill_diagonal(D, 0)
        delta = self.arrays.array(to_conflict(D, self.d0))
        squares = _squares(delta)
        return lambda masses: losses.all_pairs_error(masses, delta, self.conflict, squares)

    def _error_of(self, i: np.ndarray, j: np.ndarray) -> Callable[[Array], ValueAndGradient]:
        delta = self.arrays.array(to_conflict(self.targets.source.pairs(i, j), self.d0))
        first, second = self.arrays.integers(i), self.arrays.integers(j)
        return lambda masses: losses.pairs_error(masses, first, second, delta, self.conflict)

    def _conflicts_among(self, who: np.ndarray) -> Array:
        source = self.targets.source
        if source.matrix is None:
            return self._conflicts_of(source.objects[who])
        return self._conflicts_at(source.block(who, who))

    def _conflicts_of(self, objects: np.ndarray) -> Array:
        """Conflicts that objects should have among each other."""
        source = self.targets.source
        if source.is_euclidean:
            return self.arrays.conflicts_among(objects, decay(self.d0))
        return self._conflicts_at(source.between(objects, objects))

    def _conflicts_at(self, dissimilarities: np.ndarray) -> Array:
        D = np.array(dissimilarities, dtype=float)
        np.fill_diagonal(D, 0)
        return self.arrays.array(to_conflict(D, self.d0))

    def _with_knowledge(self, masses: Array, known: _Known, value: Any, gradient: Array) -> ValueAndGradient:
        """The error of the conflicts with its weight, and those of constraints and labels."""
        terms = [(1 - self.nu, (value, gradient))]
        if self.xi > 0 and len(known.links.i):
            terms.append((self.xi, losses.links_error(masses, known.links, self.link_form)))
        if self.nu and len(known.labels.who):
            terms.append((self.nu, losses.labels_error(masses, known.labels, self.membership)))
        return sum(w * term[0] for w, term in terms), sum(w * term[1] for w, term in terms)

    def _with_size(self, network: Network, value: Any, gradient: Array) -> ValueAndGradient:
        """The loss as a function of the weights, whose own size counts too."""
        if not self.regularization:
            return value, gradient
        size, of_size = losses.size_of_weights(network.weights, network.shares)
        return value + self.regularization * size, gradient + self.regularization * of_size

    # ---- constraints and labels -----------------------------------------------------------------------------------

    def _some_knowledge(self, offset: int, rng: np.random.Generator) -> tuple[np.ndarray, _Known]:
        """Objects of some constraints and labels; these by positions among them, counted from the offset."""
        must, cannot, labelled = self.must_link, self.cannot_link, self.labelled
        total = len(must) + len(cannot)
        if total + len(labelled) == 0:
            return labelled, self.nothing_known
        if total:
            chosen = rng.choice(total, min(_EXTRA, total), replace=False)
            n_must = len(must)
            must, cannot = must[chosen[chosen < n_must]], cannot[chosen[chosen >= n_must] - n_must]
        if len(labelled):
            labelled = rng.choice(labelled, min(_EXTRA, len(labelled)), replace=False)
        extra = np.unique(np.concatenate([must.ravel(), cannot.ravel(), labelled]))
        return extra, self._known(must, cannot, labelled, lambda who: offset + np.searchsorted(extra, who))

    def _known(
        self,
        must: np.ndarray,
        cannot: np.ndarray,
        labelled: np.ndarray,
        position: Callable[[np.ndarray], np.ndarray] = lambda who: who,
    ) -> _Known:
        """Some constraints and labels, with the positions of their objects."""
        pairs = position(np.concatenate([must, cannot]))
        signs = np.repeat([1.0, -1.0], [len(must), len(cannot)])
        arrays = self.arrays
        return _Known(
            Links(arrays.integers(pairs[:, 0]), arrays.integers(pairs[:, 1]), arrays.array(signs), len(cannot)),
            Labels(arrays.integers(position(labelled)), arrays.array(self.indicators[self.targets.labels[labelled]])),
        )


def batches_of_epoch(n: int, batch_size: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Numbers of the objects of each batch: all objects once, or some of very many."""
    size = min(batch_size, n)
    steps = max(1, min(_MOST_STEPS, n // size))
    sees_few = steps * size < n // 2  # far more objects than an epoch sees
    order = rng.integers(0, n, steps * size) if sees_few else rng.permutation(n)
    for batch in np.array_split(order[: max(steps * size, size)], steps):
        who = np.unique(batch) if sees_few else batch
        if len(who) >= 2:
            yield who


def _squares(delta: Array) -> Any:
    """The sum of delta^2."""
    values = delta.reshape(-1)
    return values @ values
