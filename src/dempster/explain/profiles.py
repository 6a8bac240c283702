"""Describe clusters by their sizes, typical objects and distinguishing attributes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from dempster import _validation as rules
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import (
    format_count,
    format_group,
    format_number,
    printable,
)
from dempster._types import TableLike
from dempster.belief.focal_sets import unique_sets
from dempster.explain import comparisons
from dempster.explain.cautious_tree import exact_text, round_between
from dempster.explain.comparisons import Attribute, Feature, Ranked
from dempster.explain.inputs import join_attributes, read_attributes, resolve_input
from dempster.partition import CredalPartition

# Cliff's delta below which a difference is negligible (Romano et al., 2006)
MIN_DELTA = 0.147
# smallest relative decrease of the standard deviation that is reported
MIN_NARROWING = 0.5
MAX_SHOWN_GROUPS = 40
N_TYPICAL = 3
_DOUBLE_DIPPING = (
    "p-values of clustered attributes are too small: the "
    "clusters depend on them (double dipping)."
)
_UNKNOWN = (
    "p-values of clustered attributes are too small; "
    "it is not known which attributes were clustered."
)


@dataclass(eq=False)
class Group:
    """Objects that are assigned to the same set of clusters."""

    name: str
    # one cluster, several for ambiguous objects, or none for outliers
    clusters: tuple[int, ...]
    rows: np.ndarray  # positions of the objects
    # number of objects that may belong to the cluster; None if the group is no cluster
    n_possible: int | None = None
    # names or positions of typical objects
    typical: list[Any] = field(default_factory=list)

    @property
    def is_cluster(self) -> bool:
        return len(self.clusters) == 1

    def __len__(self) -> int:
        return len(self.rows)


def find_groups(partition: CredalPartition) -> list[Group]:
    """Return all clusters (even if empty), the ambiguous groups by size, and any outliers."""
    answers = partition.assignment(keep_outliers=False)
    sets, which = unique_sets(answers)
    ends = np.cumsum(np.bincount(which, minlength=len(sets)))[:-1]
    rows = np.split(np.argsort(which, kind="stable"), ends)
    members = {
        tuple(np.flatnonzero(row).tolist()): positions
        for row, positions in zip(sets, rows, strict=True)
    }
    ambiguous = sorted(
        (s for s in members if len(s) > 1), key=lambda s: (-len(members[s]), s)
    )
    ordered = [(k,) for k in range(partition.n_clusters)] + ambiguous
    if () in members:
        ordered.append(())
    possible = answers.sum(axis=0)
    groups = []
    counts: Counter[str] = Counter()
    for clusters in ordered:
        name = format_group(clusters, partition.frame)
        counts[name] += 1
        # The name of a large set is its size, which is not unique.
        if counts[name] > 1:
            name = f"{name} ({counts[name]})"
        group = Group(name, clusters, members.get(clusters, np.empty(0, np.intp)))
        if group.is_cluster:
            group.n_possible = int(possible[clusters[0]])
        groups.append(group)
    return groups


def add_typical(
    partition: CredalPartition,
    groups: list[Group],
    distance: np.ndarray,
    names: Any,
) -> None:
    """Set the typical objects of each group (see `profile`).

    ``distance`` decides between equal masses.
    """
    for group in groups:
        if not len(group):
            continue
        answer = np.zeros((1, partition.n_clusters), bool)
        answer[0, list(group.clusters)] = True
        mass = np.round(partition[group.rows].mass(answer)[:, 0], 9)
        best = group.rows[
            np.lexsort((group.rows, distance[group.rows], -mass))[:N_TYPICAL]
        ]
        group.typical = [int(i) if names is None else names[i] for i in best]


def _table_of_attributes(
    attributes: list[Attribute], rows: list[dict[str, Any]]
) -> pd.DataFrame:
    """Return the rows as a table, with p-values adjusted for the number of attributes."""
    names = [attribute.name for attribute in attributes]
    table = pd.DataFrame(rows, index=pd.Index(names, name="attribute"))
    table["p_adjusted"] = comparisons.adjust_p_values(table["p"].to_numpy(dtype=float))
    return table


def _compare_pair(attribute: Attribute, first: Group, second: Group) -> dict[str, Any]:
    a = attribute.values[first.rows]
    b = attribute.values[second.rows]
    a = a[~np.isnan(a)]
    b = b[~np.isnan(b)]
    row: dict[str, Any] = {
        "kind": attribute.kind,
        "clustered": attribute.clustered,
        "separation": np.nan,
        "delta": np.nan,
        "rule": "",
        "threshold": np.nan,
        "p": np.nan,
    }
    if not len(a) or not len(b):
        return row
    both = np.concatenate([a, b])
    codes = np.repeat([0, 1], [len(a), len(b)])
    if attribute.is_number:
        ranked = Ranked(both)
        row["p"] = comparisons.mann_whitney(ranked, codes, 2)[0]
        row["delta"] = float(comparisons.cliffs_delta(ranked, codes, 2)[0])
        row["separation"], row["threshold"], first_is_low = _best_threshold(a, b)
        if row["separation"] > 0:
            format_threshold = (
                exact_text if attribute.kind == "number" else attribute.format
            )
            condition = f"{attribute.name} <= {format_threshold(row['threshold'])}"
            low, high = (first, second) if first_is_low else (second, first)
            row["rule"] = f"{low.name} if {condition}, otherwise {high.name}"
        return row
    k = len(attribute.categories)
    shares = [np.bincount(x.astype(int), minlength=k) / len(x) for x in (a, b)]
    row["p"] = comparisons.compare_groups(
        Attribute(attribute.name, "category", both), codes
    )[1]
    row["separation"] = float(np.abs(shares[0] - shares[1]).sum() / 2)
    if attribute.kind == "boolean":
        row["delta"] = float(shares[0][1] - shares[1][1])
    if row["separation"] > 0:
        more_frequent = np.flatnonzero(shares[0] > shares[1])
        ours = " or ".join(attribute.categories[k] for k in more_frequent)
        row["rule"] = (
            f"{first.name} if {attribute.name} is {ours}, otherwise {second.name}"
        )
    return row


def _best_threshold(a: np.ndarray, b: np.ndarray) -> tuple[float, float, bool]:
    """Return Youden's J of two samples, its threshold, and whether ``a`` is mostly below it."""
    values = np.unique(np.concatenate([a, b]))
    if len(values) < 2:
        return 0.0, np.nan, True
    shares = [
        np.searchsorted(np.sort(x), values[:-1], "right") / len(x) for x in (a, b)
    ]
    differences = shares[0] - shares[1]
    best = int(np.abs(differences).argmax())
    threshold = round_between(float(values[best]), float(values[best + 1]))
    return float(abs(differences[best])), threshold, bool(differences[best] >= 0)


@dataclass(frozen=True, eq=False, repr=False)
class Profile:
    """Profiles of the groups of a partition; returned by `profile`.

    Attributes
    ----------
    groups : list of groups
        Clusters, ambiguous groups and outliers. Each group has the attributes ``name``,
        ``clusters``, ``rows`` (positions of the objects), ``n_possible`` (number of objects that
        may belong to the cluster) and ``typical``.
    features : list of features
        Numeric attributes and indicators of categories, with ``label`` and ``attribute``.
    statistics : dict of str to array of shape (n_groups, n_features)
        "mean" (or share), "std", "q25", "median", "q75", "rest" and "rest_std" (mean and standard
        deviation of the remaining objects), "delta", "present", "missing", "p", "p_adjusted".
    attributes : pandas.DataFrame
        Table with a row for each column of X. It contains the kind of the column, whether it was
        used for clustering, its number of missing values, and a test of the differences between all
        groups (test, effect, p, p_adjusted).
    partition : CredalPartition
        Partition whose groups are described.

    Examples
    --------
    >>> from dempster.explain import profile
    >>> ages = [[30.0], [40.0], [50.0], [60.0]]
    >>> people = profile(["city", "city", "land", "land"], ages, clustered=False)
    >>> people
    4 objects, 2 clusters, 1 attribute
    <BLANKLINE>
    city: 2 objects; typical: 0, 1
        attribute 1: 35 ± 7.1, rest 55 ± 7.1; lower in 100% of pairs (p = 0.333)
    <BLANKLINE>
    land: 2 objects; typical: 2, 3
        attribute 1: 55 ± 7.1, rest 35 ± 7.1; higher in 100% of pairs (p = 0.333)
    >>> people.to_frame("median")["attribute 1"].tolist()
    [35.0, 55.0]
    """

    partition: CredalPartition
    groups: list[Group]
    features: list[Feature]
    statistics: dict[str, np.ndarray]
    attributes: pd.DataFrame

    def to_frame(self, statistic: str = "mean") -> pd.DataFrame:
        """Return a table with the sizes and a statistic of every feature for each group.

        Parameters
        ----------
        statistic : str, default="mean"
            A key of `statistics`.

        Returns
        -------
        pandas.DataFrame
        """
        rules.check_choice(statistic, "statistic", self.statistics)
        index = pd.Index([group.name for group in self.groups], name="group")
        sizes: dict[str, Any] = {
            "objects": [len(group) for group in self.groups],
            "possible": pd.array(
                [group.n_possible for group in self.groups], dtype="Int64"
            ),
            "typical": [group.typical for group in self.groups],
        }
        is_location = statistic in ("mean", "q25", "median", "q75", "rest")
        values: dict[str, Any] = {}
        for feature, column in zip(
            self.features, self.statistics[statistic].T, strict=True
        ):
            if is_location and feature.attribute.kind == "date":
                values[feature.label] = [
                    feature.attribute.to_date(value) for value in column
                ]
            else:
                values[feature.label] = column
        return pd.concat(
            [pd.DataFrame(part, index=index) for part in (sizes, values)], axis=1
        )

    def discriminating_features(self, first: Any, second: Any) -> pd.DataFrame:
        """Return the attributes that separate two groups, sorted by decreasing separation.

        Parameters
        ----------
        first, second : name of a cluster, or of a group in the index of `to_frame`
            Only the certain objects of a cluster are used, independently of ``weights``.

        Returns
        -------
        pandas.DataFrame
            "rule" and "threshold" describe the best split, and "separation" is the difference
            between the shares of the two groups below the threshold (or in a set of categories). It
            is 1 for perfect separation. "delta" is Cliff's delta, which is positive if the first
            group has larger values. p-values are from the Mann-Whitney or chi-square test.
        """
        one = self._group(first, "first")
        other = self._group(second, "second")
        if one is other:
            raise InvalidParameterError(
                "second", "the name of another group than first", second
            )
        for group in (one, other):
            if not len(group):
                raise InvalidInputError(
                    f"{group.name!r} has no certain objects to compare"
                )
        attributes = list(dict.fromkeys(feature.attribute for feature in self.features))
        table = _table_of_attributes(
            attributes,
            [_compare_pair(attribute, one, other) for attribute in attributes],
        )
        strength = table["delta"].abs().fillna(0)
        separation = table["separation"].fillna(-1)
        return table.iloc[np.lexsort((-strength.to_numpy(), -separation.to_numpy()))]

    def to_text(self, n_features: int = 5) -> str:
        """Return a text with the attributes in which each group differs most.

        Parameters
        ----------
        n_features : int, default=5
            Number of attributes for each group.

        Returns
        -------
        str
        """
        rules.check(n_features, "n_features", rules.integer(0))
        counts = [
            format_count(len(self.partition)),
            format_count(self.partition.n_clusters, "cluster"),
            format_count(len(self.attributes), "attribute"),
        ]
        lines = [", ".join(counts)]
        for g, group in enumerate(self.groups[:MAX_SHOWN_GROUPS]):
            lines += ["", _format_heading(group)]
            if not self.statistics["present"][g].any():
                continue
            best = strongest_features(self, g, int(n_features))
            lines += [f"    {format_feature(self, g, q)}" for q in best] or [
                "    like the rest"
            ]
        if len(self.groups) > MAX_SHOWN_GROUPS:
            lines += [
                "",
                f"{len(self.groups) - MAX_SHOWN_GROUPS} smaller groups are not shown",
            ]
        if note := _note(self):
            lines += ["", note]
        return "\n".join(lines)

    def plot(self, *, ax: Any = None, title: str | None = None) -> Any:
        """Plot a heat map of the effect sizes of features (rows) in groups (columns).

        The effect size is Cliff's delta, or the difference of shares for categories. A cell is
        orange if the group has larger values than the other objects, and blue if it has smaller
        values. The 30 features with the largest effects, and at most 20 groups, are drawn.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            By default the axes of a new figure.
        title : str, optional

        Returns
        -------
        display
            Object with the attributes ``ax_``, ``figure_``, ``image_``, ``groups_`` and
            ``features_``.
        """
        # dempster.plot imports this package
        from dempster.plot.explanation import ProfileDisplay

        return ProfileDisplay(self).plot(ax=ax, title=title)

    def __len__(self) -> int:
        return len(self.groups)

    __repr__ = to_text

    def _group(self, name: Any, argument: str) -> Group:
        if rules.hashable.test(name) and not rules.is_missing(name):
            for group in self.groups:
                if group.is_cluster and rules.are_labels_equal(
                    self.partition.frame[group.clusters[0]], name
                ):
                    return group
            for group in self.groups:
                if group.name == name:
                    return group
        names = ", ".join(repr(group.name) for group in self.groups[:20])
        raise InvalidParameterError(
            argument, f"the name of a cluster or group ({names})", name
        )


def profile(
    partition: Any,
    X: TableLike,
    *,
    clustered: Any = None,
) -> Profile:
    """Describe the clusters, the groups of ambiguous objects and the outliers by attributes.

    Parameters
    ----------
    partition : CredalPartition, fitted estimator or pipeline, MassFunctions, or labels
        Objects are matched with the rows of X by name if both have names.
    X : array-like or table of n rows
        Attributes, which may differ from the attributes used for clustering. Columns may contain
        numbers, dates, Booleans or categories, and missing values. A list or dictionary of tables
        is joined to one table with columns "view: column". If a column has more than 12 categories,
        the rarest are merged.
    clustered : bool or sequence of names of columns, optional
        Columns that were used for clustering. The default is the columns to which the estimator was
        fitted. They are unknown if ``partition`` is not an estimator.

    Returns
    -------
    Profile

    Notes
    -----
    A cluster is described by its certain objects. Up to three typical objects of a group have the
    largest mass on its set of clusters; among equal masses, they are nearest to the mean of the
    group. A group is compared with the rest, that is, all other objects. The effect size is Cliff's
    delta in [-1, 1], the probability that an object of the group has a larger value than an object
    of the rest, minus the probability that it has a smaller value. For a category, delta is the
    difference of its shares. p-values are adjusted for multiple tests by the method of Benjamini
    and Hochberg.

    **p-values of clustered attributes are not valid.** Clusters are chosen to differ in these
    attributes, so a test on the same objects is double dipping: p-values are small even if there
    are no clusters. Use them only to rank attributes. p-values of columns that are independent of
    the clustered ones are valid.

    Examples
    --------
    >>> from dempster.cluster import EVCLUS
    >>> from dempster.datasets import load_iris
    >>> from dempster.explain import profile
    >>> X = load_iris(as_frame=True).data
    >>> model = EVCLUS(3, random_state=0).fit(X)
    >>> flowers = profile(model, X)
    >>> flowers.to_frame().index.tolist()
    ['cluster 0', 'cluster 1', 'cluster 2', 'between 0 and 2', 'outliers']
    >>> flowers.discriminating_features(0, 1)["rule"].iloc[0]
    'cluster 1 if petal length (cm) <= 2.5, otherwise cluster 0'
    """
    resolved = resolve_input(partition)
    resolved.reject_dissimilarities(X)
    X = join_attributes(X)
    columns = read_attributes(X, dates=True)
    credal = resolved.align_partition(X, len(columns[0]))
    attributes = [comparisons.encode_column(column) for column in columns]
    flags = _are_clustered(partition, clustered, attributes)
    for attribute, is_clustered in zip(attributes, flags, strict=True):
        attribute.clustered = is_clustered
    groups = find_groups(credal)
    codes = np.empty(len(credal), np.intp)
    for g, group in enumerate(groups):
        codes[group.rows] = g
    features = comparisons.list_features(attributes)
    statistics, distance, tests = _statistics(features, codes, len(groups))
    statistics["p_adjusted"] = comparisons.adjust_p_values(statistics["p"])
    names = rules.row_index(X) if credal.index is None else credal.index
    add_typical(credal, groups, distance, names)
    table = _attribute_table(attributes, tests)
    return Profile(credal, groups, features, statistics, table)


def _statistics(
    features: list[Feature], codes: np.ndarray, n_groups: int
) -> tuple[
    dict[str, np.ndarray], np.ndarray, dict[Attribute, tuple[str, float, float]]
]:
    """Return the statistics, the distances of the objects to their group means, and the tests.

    The statistics are arrays of shape (n_groups, n_features), in a dictionary by name. The
    distances are squared and standardized, with shape (n_objects,). A test of each attribute
    compares all groups.
    """
    columns = []
    distance = np.zeros(len(codes))
    tests: dict[Attribute, tuple[str, float, float]] = {}
    for feature in features:
        attribute = feature.attribute
        values = feature.values
        ranked = Ranked(values)
        statistics = comparisons.compare(feature, codes, n_groups, ranked)
        if attribute not in tests:
            tests[attribute] = comparisons.compare_groups(attribute, codes, ranked)
        if attribute.is_number:
            statistics["p"] = comparisons.mann_whitney(ranked, codes, n_groups)
            size = float(np.abs(ranked.values).max(initial=0)) or 1.0
            spread = 0.0
            if len(ranked):
                spread = size * float((ranked.values / size).std())
            if spread > 0:
                distance += (
                    np.nan_to_num((values - statistics["mean"][codes]) / spread) ** 2
                )
        else:
            statistics["p"] = comparisons.compare_shares(values, codes, n_groups)
        columns.append(statistics)
    table = {
        name: np.column_stack([column[name] for column in columns])
        for name in columns[0]
    }
    return table, distance, tests


def _attribute_table(
    attributes: list[Attribute], tests: dict[Attribute, tuple[str, float, float]]
) -> pd.DataFrame:
    rows = []
    for attribute in attributes:
        test, p, effect = tests[attribute]
        rows.append(
            {
                "kind": attribute.kind,
                "clustered": attribute.clustered,
                "missing": int((~attribute.present).sum()),
                "test": test,
                "effect": effect,
                "p": p,
            }
        )
    return _table_of_attributes(attributes, rows)


def _are_clustered(
    partition: Any, clustered: Any, attributes: list[Attribute]
) -> list[bool | None]:
    """Return for each column whether it was used for clustering; None if unknown."""
    names = [attribute.name for attribute in attributes]
    n = len(names)
    if isinstance(clustered, bool | np.bool_):
        return [bool(clustered)] * n
    if clustered is None:
        features = getattr(partition, "feature_names_in_", None)
        if features is None:
            is_same_table = getattr(partition, "n_features_in_", None) == n
            return [is_same_table or None] * n
        return [name in list(map(str, features)) for name in names]
    if isinstance(clustered, str):
        clustered = [clustered]
    what = "names of columns of X, or be True or False"
    selected = list(map(str, rules.as_list(clustered, "clustered", what)))
    if unknown := [name for name in selected if name not in names]:
        expected = f"names of columns of X ({', '.join(names[:20])})"
        raise InvalidParameterError("clustered", expected, unknown[0])
    return [name in selected for name in names]


def _format_heading(group: Group) -> str:
    size = "no certain object"
    n = len(group)
    if n:
        size = format_count(n)
    heading = f"{printable(group.name)}: {size}"
    more = (group.n_possible or n) - n
    if more:
        heading += f", {more:,} more possible"
    if group.typical:
        heading += f"; typical: {', '.join(map(printable, group.typical))}"
    return heading


def strongest_features(profile: Profile, g: int, limit: int) -> list[int]:
    """Return the positions of the features in which a group differs most in location or spread."""
    delta, std, rest_std = (
        profile.statistics[name][g] for name in ("delta", "std", "rest_std")
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        narrow = 1 - std / rest_std
    is_number = np.array([feature.attribute.is_number for feature in profile.features])
    narrow = np.where(is_number & (narrow >= MIN_NARROWING), narrow, 0)
    strength = np.maximum(np.abs(np.nan_to_num(delta)), narrow)
    order = np.argsort(-strength, kind="stable")[:limit]
    return order[strength[order] >= MIN_DELTA].tolist()


def format_feature(
    profile: Profile, g: int, q: int, *, with_p_value: bool = True
) -> str:
    """Format a feature of a group.

    An example is ``petal length: 1.46 ± 0.17, rest 4.9 ± 0.82; lower in 100% of pairs``.
    """
    feature = profile.features[q]
    names = ("mean", "std", "rest", "rest_std", "delta", "p_adjusted")
    mean, std, rest, rest_std, delta, p = (
        float(profile.statistics[n][g, q]) for n in names
    )
    text = f"{feature.label}: {_format_mean(feature, mean, std)}"
    text += f", rest {_format_mean(feature, rest, rest_std)}"
    if feature.attribute.is_number:
        if abs(delta) < MIN_NARROWING and std <= (1 - MIN_NARROWING) * rest_std:
            # The p-value is omitted, because the test compares only the location.
            return f"{text}; narrower range"
        direction = "higher" if delta > 0 else "lower"
        text += f"; {direction} in {(1 + abs(delta)) / 2:.0%} of pairs"
    if with_p_value:
        text += f" ({_format_p(p)})"
    return text


def _format_mean(feature: Feature, mean: float, std: float) -> str:
    attribute = feature.attribute
    text = attribute.format(mean)
    if not attribute.is_number or np.isnan(std):
        return text
    return f"{text} ± {format_number(std, 2)}{' days' * (attribute.kind == 'date')}"


def _format_p(p: float) -> str:
    if np.isnan(p):
        return "not tested"
    if p < 0.001:
        return "p < 0.001"
    return f"p = {p:.3f}"


def _note(profile: Profile) -> str:
    flags = set(profile.attributes["clustered"])
    if True in flags:
        return _DOUBLE_DIPPING
    if None in flags:
        return _UNKNOWN
    return ""
