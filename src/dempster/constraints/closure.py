"""What follows from constraints, and where they contradict each other.

Must-links make the objects of a connected component one cluster; a cannot-link between two objects then holds between
their two components, and contradicts the must-links if both are in the same component.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from dempster._validation import check_memory

__all__ = [
    "Contradiction",
    "ContradictionError",
    "ContradictionWarning",
    "closed",
    "find_contradictions",
    "must_link_components",
    "pairs_between",
]


@dataclass(frozen=True, repr=False)
class Contradiction:
    """A cannot-link between two objects that a chain of must-links connects.

    Attributes
    ----------
    cannot_link : (int, int)
    chain : tuple of int
        Objects from the first of the pair to the second; each must link with the next. No chain is shorter.

    Examples
    --------
    >>> from dempster.constraints import Contradiction
    >>> Contradiction((0, 5), (0, 3, 5))
    0 and 5 must not link, but 0 - 3 - 5 are must-linked
    """

    cannot_link: tuple[int, int]
    chain: tuple[int, ...]

    def __repr__(self) -> str:
        i, j = self.cannot_link
        return f"{i} and {j} must not link, but {' - '.join(map(str, self.chain))} are must-linked"


class ContradictionError(ValueError):
    """Constraints that contradict each other have no closure, and a pair that must and must not link fits no method."""


class ContradictionWarning(UserWarning):
    """Constraints that contradict each other through a chain: a method weighs them, and cannot meet them all."""


class _Graph:
    """The must-links as a graph of the constrained objects, renumbered from 0."""

    def __init__(self, must_link: np.ndarray, cannot_link: np.ndarray):
        self.objects, numbers = np.unique(np.concatenate([must_link, cannot_link]), return_inverse=True)
        numbers = numbers.reshape(-1, 2)
        self.must_link, self.cannot_link = numbers[: len(must_link)], numbers[len(must_link) :]
        self.component = must_link_components(self.must_link, len(self.objects))
        self.broken = self.component[self.cannot_link[:, 0]] == self.component[self.cannot_link[:, 1]]

    def contradictions(self, which: np.ndarray) -> list[Contradiction]:
        """The chains of the given broken cannot-links, by a breadth-first search from each first object."""
        adjacency = _adjacency(self.must_link, len(self.objects))
        pairs = self.cannot_link[which]
        found: list[Contradiction | None] = [None] * len(pairs)
        for source in np.unique(pairs[:, 0]):
            before = breadth_first_order(adjacency, source, return_predecessors=True)[1]
            for place in np.flatnonzero(pairs[:, 0] == source):
                walk = [pairs[place, 1]]
                while walk[-1] != source:
                    walk.append(before[walk[-1]])
                chain = tuple(self.objects[walk[::-1]].tolist())
                found[place] = Contradiction((chain[0], chain[-1]), chain)
        return [contradiction for contradiction in found if contradiction is not None]


def must_link_components(must_link: np.ndarray, n: int) -> np.ndarray:
    """(n,) number of the connected component of every object."""
    return connected_components(_adjacency(must_link, n), directed=False)[1].astype(np.int64)


def find_contradictions(must_link: np.ndarray, cannot_link: np.ndarray) -> list[Contradiction]:
    """All cannot-links inside a component, in their order."""
    graph = _Graph(must_link, cannot_link)
    return graph.contradictions(np.flatnonzero(graph.broken))


def closed(must_link: np.ndarray, cannot_link: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The given pairs, then all implied ones (the given among them), must-links and cannot-links."""
    if len(must_link) == 0:
        return must_link, cannot_link
    graph = _Graph(must_link, cannot_link)
    if graph.broken.any():
        broken = np.flatnonzero(graph.broken)
        more = "" if len(broken) == 1 else f" ({len(broken)} contradictions in all, see .contradictions())"
        raise ContradictionError(f"constraints contradict each other: {graph.contradictions(broken[:1])[0]}{more}")
    apart = np.unique(np.sort(graph.component[graph.cannot_link], axis=1), axis=0)
    sizes = np.bincount(graph.component).astype(object)  # products of Python's integers do not overflow
    pairs = sum(sizes * (sizes - 1)) // 2 + sum(sizes[apart[:, 0]] * sizes[apart[:, 1]])
    check_memory(8 * 16 * int(pairs), f"the closure, {int(pairs):,} pairs,", "use the constraints as they are")
    within = graph.objects[_pairs_within(graph.component)]
    between = graph.objects[pairs_between(graph.component, apart)]
    return np.concatenate([must_link, within]), np.concatenate([cannot_link, between])


def _adjacency(pairs: np.ndarray, n: int) -> csr_array:
    """Symmetric adjacency, neighbours in increasing order so that searches find the same chain every time."""
    rows, columns = np.concatenate([pairs, pairs[:, ::-1]]).T
    graph = csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape=(n, n))
    graph.sort_indices()
    return graph


def _by_component(component: np.ndarray, n_components: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Objects ordered by component, and where each component starts and how many it has."""
    sizes = np.bincount(component, minlength=n_components)
    return np.argsort(component, kind="stable"), np.cumsum(sizes) - sizes, sizes


def _runs(lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For runs of the given lengths laid end to end: the run of every place and its position in the run."""
    run = np.repeat(np.arange(len(lengths)), lengths)
    return run, np.arange(len(run)) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _pairs_within(component: np.ndarray) -> np.ndarray:
    """(p, 2) all pairs of objects of the same component."""
    members, start, size = _by_component(component)
    place = np.arange(len(members))
    first, step = _runs((start + size)[component[members]] - place - 1)  # each with those that follow it
    return np.column_stack([members[first], members[first + 1 + step]])


def pairs_between(component: np.ndarray, components: np.ndarray, n_components: int = 0) -> np.ndarray:
    """(p, 2) all pairs of an object of the first and one of the second of two components, for (q, 2) of these."""
    members, start, size = _by_component(component, n_components)
    left, right = components.T
    run, step = _runs(size[left] * size[right])
    i = members[start[left][run] + step // size[right][run]]
    j = members[start[right][run] + step % size[right][run]]
    return np.column_stack([i, j])
