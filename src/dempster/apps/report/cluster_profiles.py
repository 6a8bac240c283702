"""Compute profiles of the clusters, and find pairs of clusters that are hard to distinguish."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from dempster._text import one_line
from dempster.apps.report.report_input import ReportInput
from dempster.explain import Profile, profile
from dempster.explain.profiles import format_feature, strongest_features
from dempster.partition import CredalPartition

MAX_LISTED_PAIRS = 12
MAX_PROFILE_CELLS = 4_000_000
MAX_PROFILE_ROWS = 250_000
MIN_PROFILE_ROWS = 2_000
MIN_CLUSTER_ROWS = 20
MAX_PROFILE_COLUMNS = 1_000
_N_SEPARATING = 50  # number of attributes to compare for pairs of clusters
# objects that are ambiguous between more clusters are not counted for pairs
_MAX_SET_SIZE = 4


@dataclass(frozen=True)
class Pair:
    """Two clusters with ambiguous objects between them, and the rule that best separates them."""

    clusters: tuple[int, int]
    n_objects: int
    rule: str
    separation: float


@dataclass(frozen=True, eq=False)
class ClusterProfiles:
    """Profiles of the groups of a partition, computed from all objects or from a sample."""

    profile: Profile
    rows: np.ndarray  # positions of the profiled objects
    n_columns: int  # number of columns of the table; the profile may have fewer columns

    def typical(self, g: int) -> list[int]:
        """Return the positions of the typical objects of group ``g``."""
        return [int(self.rows[i]) for i in self.profile.groups[g].typical]

    def differences(self, g: int, limit: int) -> list[str]:
        """Describe the attributes in which group ``g`` differs most from the remaining objects."""
        return [
            format_feature(self.profile, g, q, with_p_value=False)
            for q in strongest_features(self.profile, g, limit)
        ]

    def strongest(self, limit: int) -> list[int]:
        """Return the features that differ most between the clusters, in the order of the table."""
        delta = self.profile.statistics["delta"][: self.profile.partition.n_clusters]
        size = np.abs(np.nan_to_num(delta)).max(axis=0, initial=0)
        return sorted(int(q) for q in np.argsort(-size, kind="stable")[:limit])

    def separate(self, first: int, second: int) -> tuple[str, float]:
        """Return the rule that best separates two clusters, and the separation from 0 to 1."""
        # The first groups are the clusters.
        groups = self.profile.groups
        if not len(groups[first]) or not len(groups[second]):
            return "one of them has no certain object", float("nan")
        features = [self.profile.features[q] for q in self.strongest(_N_SEPARATING)]
        # If columns were clustered, only these describe the boundary.
        clustered = [one for one in features if one.attribute.clustered]
        some = replace(self.profile, features=clustered or features)
        frame = self.profile.partition.frame
        best = some.discriminating_features(frame[first], frame[second]).iloc[0]
        rule = "no attribute separates them"
        if best["rule"]:
            rule = one_line(best["rule"])
        return rule, float(best["separation"])


def profile_clusters(
    data: ReportInput, rng: np.random.Generator
) -> ClusterProfiles | None:
    """Return the profiles of the clusters, or None if there are no attributes.

    The profiles of a large table describe a sample.
    """
    if data.frame is None:
        return None
    frame = data.frame
    partition = data.partition
    n_columns = min(frame.shape[1], MAX_PROFILE_COLUMNS)
    rows = _sample_rows(partition, n_columns, rng)
    if len(rows) < len(partition):
        frame = frame.iloc[rows].reset_index(drop=True)
        partition = partition[rows]
    if n_columns < frame.shape[1]:
        frame = frame[_select_columns(frame, partition)]
    clustered = data.clustered
    if clustered is not None:
        clustered = [name for name in frame.columns if name in set(clustered)]
    described = profile(partition, frame, clustered=clustered)
    return ClusterProfiles(described, rows, data.frame.shape[1])


def _sample_rows(
    partition: CredalPartition, n_columns: int, rng: np.random.Generator
) -> np.ndarray:
    """Return all rows or, for a large table, a sample that contains rows of every cluster."""
    n = len(partition)
    limit = min(MAX_PROFILE_ROWS, max(MAX_PROFILE_CELLS // n_columns, MIN_PROFILE_ROWS))
    if n <= limit:
        return np.arange(n)
    sample = rng.choice(n, limit, replace=False)
    labels = partition.labels
    few = np.bincount(labels[sample], minlength=partition.n_clusters) < MIN_CLUSTER_ROWS
    more = [np.flatnonzero(labels == k)[:MIN_CLUSTER_ROWS] for k in np.flatnonzero(few)]
    return np.unique(np.concatenate([sample, *more]))


def _select_columns(frame: pd.DataFrame, partition: CredalPartition) -> list[str]:
    """Return categorical columns and those whose means differ most between the clusters."""
    from sklearn.feature_selection import f_classif  # slow to import

    numbers = frame.select_dtypes("number").replace([np.inf, -np.inf], np.nan)
    values = numbers.fillna(numbers.mean()).fillna(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Columns may be constant.
        f_values, _ = f_classif(values, partition.labels)
    strength = pd.Series(np.inf, frame.columns)
    strength[numbers.columns] = np.nan_to_num(f_values)
    largest = np.argsort(-strength.to_numpy(), kind="stable")[:MAX_PROFILE_COLUMNS]
    return list(frame.columns[np.sort(largest)])


def find_pairs(data: ReportInput, profiles: ClusterProfiles | None) -> list[Pair]:
    """Return the pairs of clusters with the most ambiguous objects between them."""
    partition = data.partition
    counts = np.bincount(partition.best_set, minlength=len(partition.focal_sets))
    between: Counter[tuple[int, int]] = Counter()
    for clusters, number in zip(partition.focal_sets, counts, strict=True):
        if number and 2 <= len(clusters) <= _MAX_SET_SIZE:
            between.update({pair: int(number) for pair in combinations(clusters, 2)})
    pairs = []
    for pair in sorted(between, key=lambda pair: (-between[pair], pair))[
        :MAX_LISTED_PAIRS
    ]:
        rule = ""
        separation = float("nan")
        if profiles is not None:
            rule, separation = profiles.separate(*pair)
        pairs.append(Pair(pair, between[pair], rule, separation))
    return pairs
