"""The losses that a network of NN-EVCLUS is trained with: of all objects, of mini-batches, of held-out pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from evidentia.belief import FocalSets
from evidentia.cluster.evclus._conflict_problems import link_form
from evidentia.cluster.evclus.network import _losses as losses
from evidentia.cluster.evclus.network._model import MassNetwork, weight_penalty
from evidentia.cluster.evclus.network._targets import HeldOutPairs, NetworkTargets
from evidentia.dissimilarity.transform import decay, to_conflict

__all__ = ["NetworkInputs", "NetworkObjective", "Penalties"]

_MOST_STEPS = 50  # of mini-batches in an epoch
_EXTRA = 256  # labelled objects and constraints added to a mini-batch


@dataclass(frozen=True)
class NetworkInputs:
    """What the network sees of the objects, as tensors of its precision on its device.

    Attributes
    ----------
    values : (n, ...) array
        The objects, standardised.
    decision : (n,) array or None
        Values of the outlier detector, where there is one.
    dtype : torch.dtype
    device : str
    """

    values: np.ndarray
    decision: np.ndarray | None
    dtype: torch.dtype
    device: str

    def objects(self, who: np.ndarray | None = None) -> Tensor:
        """Inputs of some objects; of all for None."""
        rows = self.values if who is None else self.values[who]
        return torch.as_tensor(rows, dtype=self.dtype).to(self.device)

    def decisions(self, who: np.ndarray | None = None) -> Tensor | None:
        """Decision values of some objects; of all for None."""
        if self.decision is None:
            return None
        rows = self.decision if who is None else self.decision[who]
        return torch.as_tensor(rows, dtype=self.dtype).to(self.device)

    def tensor(self, values: np.ndarray) -> Tensor:
        """Anything else, in the same precision and place."""
        return torch.tensor(values, dtype=self.dtype, device=self.device)

    def integers(self, values: np.ndarray) -> Tensor:
        return torch.tensor(values, dtype=torch.long, device=self.device)


@dataclass(frozen=True)
class Penalties:
    """Weights of the terms beside the dissimilarities: constraints, labels, size of the network's weights."""

    xi: float
    nu: float
    regularization: float


@dataclass(frozen=True)
class _Known:
    """Constraints and labels of objects, by their positions among those whose masses are at hand."""

    must: Tensor
    cannot: Tensor
    labelled: Tensor
    labels: Tensor


class NetworkObjective:
    """How far the conflicts of a network are from the dissimilarities, and its masses from the other knowledge.

    The loss is (1 - nu) times the mean squared error of the conflicts, xi times the violation of the constraints, nu
    times that of the labels and a multiple of the size of the weights (Denoeux, 2021, eqs. 9, 10, 15 and section 4).
    """

    def __init__(
        self, targets: NetworkTargets, family: FocalSets, d0: float, inputs: NetworkInputs, penalties: Penalties
    ):
        self.targets, self.d0, self.inputs = targets, d0, inputs
        self.labelled = np.flatnonzero(targets.labels >= 0)
        self.xi, self.regularization = penalties.xi, penalties.regularization
        self.nu = penalties.nu if len(self.labelled) else 0.0
        none: np.ndarray = np.empty((0, 2), dtype=np.int64)
        given = targets.constraints
        self.must_link: np.ndarray = none if given is None else given.must_link
        self.cannot_link: np.ndarray = none if given is None else given.cannot_link
        self.conflict = inputs.tensor(np.array(family.conflict))
        self.link_form = inputs.tensor(link_form(family))
        self.membership = inputs.tensor(family.membership)

    def whole_loss(
        self, network: MassNetwork, pairs: tuple[np.ndarray, np.ndarray] | None = None
    ) -> Callable[[], Tensor]:
        """The loss on all objects, and on all pairs or those given, as a function of the network's parameters."""
        inputs = self.inputs
        x, h = inputs.objects(), inputs.decisions()
        known = _Known(
            must=inputs.integers(self.must_link),
            cannot=inputs.integers(self.cannot_link),
            labelled=inputs.integers(self.labelled),
            labels=inputs.integers(self.targets.labels[self.labelled]),
        )
        error = self._error_of_all() if pairs is None else self._error_of(*pairs)

        def loss() -> Tensor:
            m = network(x, h)
            return (1 - self.nu) * error(m) + self._penalty(network, m, known)

        return loss

    def _error_of_all(self) -> Callable[[Tensor], Tensor]:
        D = self.targets.all_dissimilarities().astype(float)
        np.fill_diagonal(D, 0)
        delta = self.inputs.tensor(to_conflict(D, self.d0))
        squares = delta.square().sum()
        return lambda m: losses.all_pairs_loss(m, delta, self.conflict, squares)

    def _error_of(self, i: np.ndarray, j: np.ndarray) -> Callable[[Tensor], Tensor]:
        delta = self.inputs.tensor(to_conflict(self.targets.source.pairs(i, j), self.d0))
        first, second = self.inputs.integers(i), self.inputs.integers(j)
        return lambda m: losses.pairs_loss(m, first, second, delta, self.conflict)

    def mini_batches(self, network: MassNetwork, batch_size: int, rng: np.random.Generator) -> Iterator[Tensor]:
        """Losses of the batches of an epoch: all pairs inside a batch, with some constraints and labelled objects."""
        n = len(self.targets)
        size = min(batch_size, n)
        steps = max(1, min(_MOST_STEPS, n // size))
        sees_few = steps * size < n // 2  # far more objects than an epoch sees
        order = rng.integers(0, n, steps * size) if sees_few else rng.permutation(n)
        for batch in np.array_split(order[: max(steps * size, size)], steps):
            who = np.unique(batch)
            if len(who) < 2:
                continue
            extra, known = self._some_knowledge(rng)
            both = np.concatenate([who, extra])
            m = network(self.inputs.objects(both), self.inputs.decisions(both))
            delta = self._conflicts_among(who)
            error = losses.all_pairs_loss(m[: len(who)], delta, self.conflict, delta.square().sum())
            yield (1 - self.nu) * error + self._penalty(network, m[len(who) :], known)

    def judge(self, network: MassNetwork, held_out: HeldOutPairs) -> Callable[[], float]:
        """The error of the network on some pairs, as a function of its parameters."""
        i, j, d = held_out
        inputs = self.inputs
        who, position = np.unique(np.concatenate([i, j]), return_inverse=True)
        first, second = inputs.integers(position[: len(i)]), inputs.integers(position[len(i) :])
        delta = inputs.tensor(to_conflict(d, self.d0))
        x, h = inputs.objects(who), inputs.decisions(who)

        def judge() -> float:
            with torch.no_grad():
                return float(losses.pairs_loss(network(x, h), first, second, delta, self.conflict))

        return judge

    def _penalty(self, network: MassNetwork, masses: Tensor, known: _Known) -> Tensor:
        """Constraints, labels and weights, for masses of the objects that the first two refer to."""
        total = masses.new_zeros(())
        if self.xi > 0 and len(known.must) + len(known.cannot):
            total = total + self.xi * losses.links_loss(masses, known.must, known.cannot, self.link_form)
        if self.nu and len(known.labelled):
            total = total + self.nu * losses.labels_loss(masses[known.labelled], self.membership, known.labels)
        if self.regularization > 0:
            total = total + self.regularization * weight_penalty(network.body)
        return total

    def _some_knowledge(self, rng: np.random.Generator) -> tuple[np.ndarray, _Known]:
        """Objects of some constraints and labels, and these in terms of positions among them."""
        must, cannot, labelled = self.must_link, self.cannot_link, self.labelled
        total = len(must) + len(cannot)
        if total:
            chosen = rng.choice(total, min(_EXTRA, total), replace=False)
            n_must = len(must)
            must, cannot = must[chosen[chosen < n_must]], cannot[chosen[chosen >= n_must] - n_must]
        if len(labelled):
            labelled = rng.choice(labelled, min(_EXTRA, len(labelled)), replace=False)
        extra = np.unique(np.concatenate([must.ravel(), cannot.ravel(), labelled]))
        return extra, _Known(
            must=self.inputs.integers(np.searchsorted(extra, must)),
            cannot=self.inputs.integers(np.searchsorted(extra, cannot)),
            labelled=self.inputs.integers(np.searchsorted(extra, labelled)),
            labels=self.inputs.integers(self.targets.labels[labelled]),
        )

    def _conflicts_among(self, who: np.ndarray) -> Tensor:
        source = self.targets.source
        if source.is_euclidean:
            points = torch.as_tensor(source.objects[who]).to(self.inputs.device)
            return losses.conflicts_wanted(points, decay(self.d0)).to(self.inputs.dtype)
        return self.inputs.tensor(to_conflict(source.block(who, who), self.d0))
