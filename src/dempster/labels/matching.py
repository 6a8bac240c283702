"""Matching of the clusters of two labelings of the same objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._errors import InvalidParameterError
from dempster._text import join_words
from dempster.explain.scores import count_pairs, match_one_to_one
from dempster.labels.encoding import read_labels
from dempster.partition import CredalPartition


class ClusterMatching(dict):
    """New cluster of each old cluster, or None if the old cluster has no partner.

    Attributes
    ----------
    splits : dict
        New clusters that were parts of an old cluster, its partner first, for each old cluster
        that was divided.
    merges : dict
        Old clusters that became parts of a new cluster, its partner first, for each new cluster
        that merges several.
    births : list
        New clusters without a partner, most of whose objects were in no old cluster or in several.
    deaths : list
        Old clusters without a partner, most of whose objects are in no new cluster or in several.
    """

    splits: dict[Any, list[Any]]
    merges: dict[Any, list[Any]]
    births: list[Any]
    deaths: list[Any]

    def __str__(self) -> str:
        lines = [f"{old} -> {'-' if new is None else new}" for old, new in self.items()]
        lines += [
            f"{old} was divided into {_join(new)}" for old, new in self.splits.items()
        ]
        lines += [
            f"{_join(old)} were merged into {new}" for new, old in self.merges.items()
        ]
        lines += [f"{new} is new" for new in self.births]
        lines += [f"{old} disappeared" for old in self.deaths]
        return "\n".join(lines)


def match_clusters(old: Any, new: Any) -> ClusterMatching:
    """Match the clusters of two labelings one to one, so that as many objects as possible agree.

    A cluster without a partner is a part of a split or of a merge if more than half of its objects
    are in one cluster of the other labeling; otherwise it was born or it died.

    Parameters
    ----------
    old, new : array-like of shape (n,), or CredalPartition
        Clusters of the same objects: names or numbers; -1, None or NaN for noise. The clusters of a
        partition are its most plausible ones, and its outliers are noise.

    Returns
    -------
    ClusterMatching
        Dictionary with the new cluster of each old one, and the attributes ``splits``, ``merges``,
        ``births`` and ``deaths``.

    Examples
    --------
    >>> from dempster import match_clusters
    >>> order = match_clusters(["a", "a", "b", "b", "b"], [1, 1, 0, 0, 2])
    >>> order, order.splits
    ({'a': 1, 'b': 0}, {'b': [0, 2]})
    """
    old_names, a = _read(old, "old", None)
    new_names, b = _read(new, "new", len(a))
    counts = count_pairs(a, b, len(old_names), len(new_names))
    partner = match_one_to_one(counts)
    shared = counts[np.arange(len(counts)), partner]
    partner = np.where(shared > 0, partner, -1)
    matching = ClusterMatching(
        (name, None if k < 0 else new_names[k])
        for name, k in zip(old_names, partner, strict=True)
    )
    matching.splits, matching.births = _group(
        old_names, partner, counts, np.bincount(b[b >= 0]), new_names
    )
    old_partner = np.full(len(new_names), -1)
    old_partner[partner[partner >= 0]] = np.flatnonzero(partner >= 0)
    matching.merges, matching.deaths = _group(
        new_names, old_partner, counts.T, np.bincount(a[a >= 0]), old_names
    )
    return matching


def _read(labels: Any, name: str, n_objects: int | None) -> tuple[list, np.ndarray]:
    if isinstance(labels, CredalPartition):
        names, codes = list(labels.frame), labels.to_numpy().labels_with_outliers
    else:
        names, codes = read_labels(labels, name)
    if n_objects not in (None, len(codes)):
        must = f"contain one label for each of the {n_objects:,} objects of old, got {len(codes):,}"
        raise InvalidParameterError(name, must=must)
    return names, codes


def _group(
    wholes: list[Any],
    partner: np.ndarray,
    counts: np.ndarray,
    sizes: np.ndarray,
    parts: list[Any],
) -> tuple[dict[Any, list[Any]], list[Any]]:
    """Return the wholes with several parts, and the parts that belong to no whole.

    ``counts`` has a row for each whole and a column for each part, ``partner`` is the part that is
    matched with each whole, and ``sizes`` are the numbers of objects of the parts.
    """
    groups: dict[Any, list[Any]] = {}
    others = []
    for k in np.setdiff1d(np.arange(len(parts)), partner):
        whole = counts[:, k].argmax()
        if 2 * counts[whole, k] <= sizes[k]:
            others.append(parts[k])
            continue
        first = [] if partner[whole] < 0 else [parts[partner[whole]]]
        groups.setdefault(wholes[whole], first).append(parts[k])
    return groups, others


def _join(names: list[Any]) -> str:
    return join_words([str(name) for name in names])
