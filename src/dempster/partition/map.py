"""Several partitions of the same objects as points in the plane: near when they say nearly the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._random import seed_number
from dempster._validation import check_choice, listed, texts
from dempster.partition.compare import credal_rand_index
from dempster.partition.credal_partition import as_credal_partition

__all__ = ["PartitionMap", "map_of_partitions"]


@dataclass(frozen=True)
class PartitionMap:
    """Where each partition lies.

    Attributes
    ----------
    coordinates : (N, 2) array
    dissimilarity : (N, N) array
        One minus the credal Rand index.
    stress : float
        Normalised stress (Kruskal's stress-1) of the picture, 0 for a faithful one.
    names : list of str
    """

    coordinates: np.ndarray
    dissimilarity: np.ndarray
    stress: float
    names: list[str]


def map_of_partitions(
    partitions: Sequence[Any],
    names: Sequence[str] | None = None,
    *,
    rule: str = "smacof",
    distance: str = "jousselme",
    n_pairs: int | str | None = "auto",
    random_state: Any = 0,
) -> PartitionMap:
    """Embed partitions in the plane by multidimensional scaling of one minus their credal Rand indices.

    Parameters
    ----------
    partitions : sequence of CredalPartition or hard labels
        Of the same objects.
    names : sequence of str, optional
    rule : {"smacof", "classical"}
        "smacof" starts from the classical solution and lowers its stress.
    distance, n_pairs, random_state
        As in `credal_rand_index`; the same sampled pairs serve all comparisons.

    Examples
    --------
    >>> from dempster.partition import map_of_partitions
    >>> m = map_of_partitions([[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]], names=["a", "b", "c"])
    >>> m.dissimilarity.round(2)
    array([[0.  , 0.  , 0.67],
           [0.  , 0.  , 0.67],
           [0.67, 0.67, 0.  ]])
    """
    partitions = [as_credal_partition(p, "partitions") for p in listed(partitions, "partitions", "partitions")]
    if len(partitions) < 2:
        raise InvalidInputError(f"partitions must hold at least two partitions, got {len(partitions)}")
    check_choice(rule, "rule", ("smacof", "classical"))
    labels = texts(range(len(partitions)) if names is None else names, "names", "names")
    if len(labels) != len(partitions):
        raise InvalidInputError(f"names must hold {len(partitions)} names, got {len(labels)}")
    seed = seed_number(random_state)
    d = np.zeros((len(partitions), len(partitions)))
    for i in range(len(partitions)):
        for j in range(i):
            index = credal_rand_index(
                partitions[i], partitions[j], distance=distance, n_pairs=n_pairs, random_state=seed
            )
            d[i, j] = d[j, i] = max(0.0, 1 - index)
    xy = _classical_scaling(d)
    if rule == "smacof" and len(d) > 2 and d.any():
        from sklearn.manifold import smacof

        # metric scaling from the classical picture: one deterministic start
        xy = smacof(d, n_components=2, init=xy, n_init=1, metric=True, normalized_stress=False)[0]
    shown = np.linalg.norm(xy[:, None] - xy[None, :], axis=2)
    total = np.sum(d**2)
    stress = float(np.sqrt(np.sum((shown - d) ** 2) / total)) if total > 0 else 0.0
    return PartitionMap(xy, d, stress, labels)


def _classical_scaling(d: np.ndarray) -> np.ndarray:
    """Two leading coordinates of Torgerson scaling; the sign of each is fixed by its largest entry."""
    centre = np.eye(len(d)) - 1 / len(d)
    values, vectors = np.linalg.eigh(-centre @ d**2 @ centre / 2)
    xy = np.zeros((len(d), 2))
    for k in range(min(2, len(d))):
        axis = vectors[:, -1 - k] * np.sqrt(max(values[-1 - k], 0))
        xy[:, k] = axis * (np.sign(axis[np.abs(axis).argmax()]) or 1)
    return xy
