"""The clusters and the pairs that are hard to tell apart, by the attributes of the objects."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from dempster.apps.report._facts.case import Case
from dempster.apps.report._facts.naming import shown
from dempster.explain import Profile, profile
from dempster.explain.words import cluster_name, short_number

__all__ = ["Described", "Particular", "Pair", "described", "pairs_between", "called"]

_MOST_CELLS, _MOST_ROWS, _FEWEST_ROWS = 4_000_000, 250_000, 2_000
_FEWEST_OF_CLUSTER = 20
_MOST_COLUMNS = 1_000
_SMALL, _MEDIUM, _LARGE = 0.147, 0.33, 0.474  # of Cliff's delta (Romano et al., 2006)
_NARROW = 0.5  # by how much smaller a spread than that of the rest is worth a word
_SIDES = 20  # attributes that are asked about for each pair
_LARGEST_SET = 4  # of clusters whose pairs are counted: larger ones tell nothing about two of them


@dataclass(frozen=True)
class Particular:
    """What sets a group apart, in an attribute: ``words`` such as "clearly lower", its value and that of the rest."""

    label: str
    words: str
    value: str
    rest: str
    delta: float


@dataclass(frozen=True)
class Pair:
    """Two clusters between which objects lie, how many, and what tells the certain objects of the two apart."""

    clusters: tuple[int, int]
    n_objects: int
    rule: str
    separation: float


@dataclass(frozen=True, eq=False)
class Described:
    """The groups of a partition by the attributes of their objects.

    Attributes
    ----------
    profile : Profile
    n_rows : int
        How many objects it was made of.
    n_columns : int
        How many columns there are, of which the profile may have fewer.
    rows : array of int
        Their positions.
    """

    profile: Profile
    rows: np.ndarray
    n_columns: int

    @property
    def n_rows(self) -> int:
        return len(self.rows)

    def typical(self, g: int) -> list[int]:
        """Positions of the typical objects of a group."""
        return [int(self.rows[i]) for i in self.profile.groups[g].typical]

    def particular(self, g: int, most: int) -> list[Particular]:
        """What differs most from the rest, the strongest first."""
        statistics = {name: values[g] for name, values in self.profile.statistics.items()}
        if not statistics["present"].any():
            return []
        with np.errstate(invalid="ignore", divide="ignore"):
            narrow = 1 - statistics["std"] / statistics["rest_std"]
        delta = np.nan_to_num(statistics["delta"])
        numbers = np.array([feature.attribute.is_number for feature in self.profile.features])
        narrow = np.where(numbers & (narrow >= _NARROW), np.nan_to_num(narrow), 0)
        strength = np.maximum(np.abs(delta), narrow)
        order = [int(q) for q in np.argsort(-strength, kind="stable")[:most] if strength[q] >= _SMALL]
        return [self._particular(g, q, float(delta[q])) for q in order]

    def _particular(self, g: int, q: int, delta: float) -> Particular:
        feature, at = self.profile.features[q], self.profile.statistics
        attribute = feature.attribute
        value, rest = (attribute.text(float(at[name][g, q])) for name in ("mean", "rest"))
        if not attribute.is_number:
            words = "more often" if delta > 0 else "less often"
        elif abs(delta) < _LARGE and at["std"][g, q] <= (1 - _NARROW) * at["rest_std"][g, q]:
            words = "in a narrow range"
            value += f" ± {short_number(at['std'][g, q], 2)}"
            rest += f" ± {short_number(at['rest_std'][g, q], 2)}"
        else:
            how = "clearly " if abs(delta) >= _LARGE else "" if abs(delta) >= _MEDIUM else "slightly "
            date = attribute.kind == "date"
            words = how + (("later" if date else "higher") if delta > 0 else ("earlier" if date else "lower"))
        return Particular(feature.label, words, value, rest, delta)

    def strongest(self, most: int) -> list[int]:
        """Features that differ most between the clusters, in the order of the table."""
        clusters = [g for g, group in enumerate(self.profile.groups) if group.is_cluster]
        size = np.abs(np.nan_to_num(self.profile.statistics["delta"][clusters])).max(axis=0, initial=0)
        return sorted(int(q) for q in np.argsort(-size, kind="stable")[:most])

    def tells_apart(self, first: int, second: int) -> tuple[str, float]:
        """The rule that tells two clusters apart best, and how well: 0 not at all, 1 perfectly."""
        groups = {group.clusters: g for g, group in enumerate(self.profile.groups)}
        a, b = groups[(first,)], groups[(second,)]
        if not len(self.profile.groups[a]) or not len(self.profile.groups[b]):
            return "one of the two has no certain object", float("nan")
        at = self.profile.statistics
        spread = np.where(at["rest_std"][a] > 0, at["rest_std"][a], 1)
        apart = np.abs(np.nan_to_num((at["mean"][a] - at["mean"][b]) / spread))
        chosen = np.argsort(-apart, kind="stable")[:_SIDES]
        some = replace(self.profile, features=[self.profile.features[q] for q in chosen])
        frame = self.profile.partition.frame
        best = some.tells_apart(frame[first], frame[second]).iloc[0]
        return (shown(best["rule"]) if best["rule"] else "no attribute does"), float(best["separation"])


def described(case: Case, rng: np.random.Generator) -> Described | None:
    """The profile of all objects, or of a sample where cells are very many; None without attributes."""
    if case.frame is None:
        return None
    frame, partition = case.frame, case.partition
    columns = _columns_that_differ(case) if frame.shape[1] > _MOST_COLUMNS else np.arange(frame.shape[1])
    rows = _rows(case, len(columns), rng)
    some = frame.iloc[:, columns]
    if len(rows) < len(partition):
        some, partition = some.iloc[rows].reset_index(drop=True), partition[rows]
    clustered: Any = None if case.clustered is None else [name for name in some.columns if name in set(case.clustered)]
    if clustered is not None and len(clustered) in (0, len(some.columns)):
        clustered = bool(clustered)
    return Described(profile(partition, some, clustered=clustered), rows, frame.shape[1])


def _rows(case: Case, n_columns: int, rng: np.random.Generator) -> np.ndarray:
    """All rows, or a sample in which no cluster is lost."""
    n = len(case.partition)
    most = min(_MOST_ROWS, max(_MOST_CELLS // n_columns, _FEWEST_ROWS))
    if n <= most:
        return np.arange(n)
    chosen = rng.choice(n, most, replace=False)
    labels = case.partition.labels
    few = np.bincount(labels[chosen], minlength=case.partition.n_clusters) < _FEWEST_OF_CLUSTER
    more = [np.flatnonzero(labels == k)[:_FEWEST_OF_CLUSTER] for k in np.flatnonzero(few)]
    return np.unique(np.concatenate([chosen, *more]))


def _columns_that_differ(case: Case) -> np.ndarray:
    """Of very many columns those whose means differ most between the clusters, in their order; categories are kept."""
    frame, labels = case.frame, case.partition.labels
    assert frame is not None
    found = np.full(frame.shape[1], np.inf)
    counts = np.bincount(labels, minlength=case.partition.n_clusters)
    for j in range(frame.shape[1]):
        column = frame.iloc[:, j]
        if column.dtype.kind not in "iuf":
            continue
        values = column.to_numpy(dtype=float)
        values = np.nan_to_num(values - np.nanmean(values)) if np.isfinite(values).any() else np.zeros(len(values))
        means = np.bincount(labels, values, minlength=len(counts)) / np.maximum(counts, 1)
        spread = float(values.var())
        found[j] = float(counts @ means**2) / (len(values) * spread) if spread > 0 else 0.0
    return np.sort(np.argsort(-found, kind="stable")[:_MOST_COLUMNS])


def pairs_between(case: Case, found: Described | None, most: int) -> list[Pair]:
    """Pairs of clusters by the number of objects that may belong to either, most first."""
    partition = case.partition
    counts = np.bincount(partition.best_set, minlength=len(partition.focal_sets))
    between: Counter[tuple[int, int]] = Counter()
    for clusters, number in zip(partition.focal_sets, counts, strict=True):
        if number and 2 <= len(clusters) <= _LARGEST_SET:
            between.update({pair: int(number) for pair in combinations(clusters, 2)})
    ordered = sorted(between, key=lambda pair: (-between[pair], pair))[:most]
    out = []
    for pair in ordered:
        rule, separation = ("", float("nan")) if found is None else found.tells_apart(*pair)
        out.append(Pair(pair, between[pair], rule, separation))
    return out


def called(case: Case, cluster: int) -> str:
    """``cluster 2``, or its name."""
    return cluster_name(case.partition.frame[cluster])
