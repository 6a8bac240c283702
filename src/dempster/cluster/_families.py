"""Which sets of clusters may carry mass: what ``focal_sets`` says, as families to fit one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from dempster._errors import InvalidInputError
from dempster.belief import FocalSets
from dempster.partition import CredalPartition, nearest_pairs

__all__ = ["NAMES", "Families", "families_of", "named_family", "require_singletons"]

NAMES = ("auto", "simple", "pairs", "full", "selected")


@dataclass(frozen=True)
class Families:
    """The family to fit, and what follows.

    Attributes
    ----------
    first : FocalSets
        The family to fit.
    select : function or None
        How to find, from the partition that the first family gave and the weights of its objects, a second one to go
        on with.
    neighbors : bool
        Whether pairs of neighboring clusters are read off at the end, without moving what was found.
    """

    first: FocalSets
    select: Callable[[CredalPartition, np.ndarray | None], FocalSets] | None = None
    neighbors: bool = False


def families_of(
    focal_sets: str | FocalSets, n_clusters: int, n_neighbor_clusters: int, *, empty: bool = True
) -> Families:
    """What the parameter of an estimator stands for; ``empty``: whether named families hold the empty set.

    With "auto" single clusters alone are fitted. The empty set would take small clusters for outliers; like the pairs,
    it is read off.
    """
    if isinstance(focal_sets, FocalSets):
        return Families(focal_sets)
    if focal_sets == "auto":
        return Families(FocalSets.simple(n_clusters, empty=False, omega=False), neighbors=True)
    first = named_family(focal_sets, n_clusters, empty=empty)
    if focal_sets != "selected":
        return Families(first)
    return Families(first, partial(_selected, n_clusters, n_neighbor_clusters, empty))


def named_family(name: str, n_clusters: int, *, empty: bool = True, omega: bool = True) -> FocalSets:
    """ "full": all sets; "pairs": single clusters and all pairs; else single clusters.

    ``omega``: whether a family of pairs holds the frame.
    """
    if name == "full":
        return FocalSets.full(n_clusters, empty=empty)
    if name == "pairs":
        return FocalSets.pairs(n_clusters, empty=empty, omega=omega)
    return FocalSets.simple(n_clusters, empty=empty)


def _selected(
    n_clusters: int, n_neighbors: int, empty: bool, partition: CredalPartition, weights: np.ndarray | None
) -> FocalSets:
    return FocalSets.with_pairs(n_clusters, nearest_pairs(partition, n_neighbors, weights), empty=empty)


def require_singletons(family: FocalSets, why: str = "each has a prototype of its own") -> None:
    """Refuse a family that lacks a single cluster."""
    if (family.singleton_index < 0).any():
        raise InvalidInputError(f"focal_sets must hold every single cluster: {why}")
