"""Describe clusters: sizes, typical objects, and how their attributes differ from those of the rest."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster import _validation as rules
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import format_count, format_group, format_number, printable
from dempster._types import TableLike
from dempster._validation import is_missing, object_index, same_label, shown
from dempster.explain.cautious_tree import round_between, threshold_text
from dempster.explain.comparisons import (
    Attribute,
    Feature,
    Ranked,
    adjusted,
    attributes_of,
    category_test,
    compare,
    features_of,
    mann_whitney,
    overall_test,
)
from dempster.explain.inputs import join_attributes, read_attributes, resolve_input
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd


_COLUMNS = ["kind", "clustered", "separation", "delta", "rule", "threshold", "p", "p_adjusted"]
_STATISTICS = (
    *("mean", "std", "q25", "median", "q75", "rest", "rest_std", "difference", "delta"),
    *("present", "missing", "p", "p_adjusted"),
)
_RULES = {
    "rule": rules.choice("max_mass") | rules.choice("interval_dominance"),
    "weights": rules.choice("certain") | rules.choice("possible") | rules.choice("pignistic"),
    "correction": rules.choice("bh") | rules.choice("by"),
    "n_typical": rules.integer(0),
    "max_categories": rules.integer(2),
}
_SMALL = 0.147  # of Cliff's delta: below, a difference is negligible (Romano et al., 2006)
_NARROW = 0.5  # by how much smaller a spread than that of the rest is worth a word
_SHOWN_GROUPS = 40
_DOUBLE_DIPPING = (
    "p-values of clustered attributes are too small: the clusters were made so that these differ (double dipping)."
)
_UNKNOWN = "Which attributes were clustered is not known (see clustered=); p-values of those that were are too small."


@dataclass(eq=False)
class Group:
    """The objects of one answer.

    Attributes
    ----------
    name : str
    clusters : tuple of int
        The answer: one cluster, several for ambiguous objects, none for outliers.
    rows : array of int
        Positions of the objects.
    n_possible : int or None
        For a cluster, the objects that may belong to it; None for other groups.
    typical : list
        Names (or positions) of the objects that stand for it best.
    """

    name: str
    clusters: tuple[int, ...]
    rows: np.ndarray
    n_possible: int | None = None
    typical: list[Any] = field(default_factory=list)

    @property
    def is_cluster(self) -> bool:
        return len(self.clusters) == 1

    def __len__(self) -> int:
        return len(self.rows)


def groups_of(partition: CredalPartition, rule: str) -> list[Group]:
    """Return clusters in their order (empty ones too), ambiguous groups, the largest first, and outliers."""
    from dempster.belief.focal_sets import unique_sets

    answers = partition.assignment(rule, keep_outliers=False)
    sets, which = unique_sets(answers)
    rows = np.split(np.argsort(which, kind="stable"), np.cumsum(np.bincount(which, minlength=len(sets)))[:-1])
    members = {tuple(int(k) for k in np.flatnonzero(row)): places for row, places in zip(sets, rows, strict=True)}
    single = [(k,) for k in range(partition.n_clusters)]
    between = sorted((s for s in members if len(s) > 1), key=lambda s: (-len(members[s]), s))
    ordered = [*single, *between, *([()] if () in members else [])]
    possible = answers.sum(axis=0)
    nobody = np.empty(0, dtype=np.intp)
    groups = [
        Group(
            format_group(clusters, partition.frame),
            clusters,
            members.get(clusters, nobody),
            int(possible[clusters[0]]) if len(clusters) == 1 else None,
        )
        for clusters in ordered
    ]
    taken: dict[str, int] = {}
    for group in groups:  # large sets are called by their size
        taken[group.name] = taken.get(group.name, 0) + 1
        if taken[group.name] > 1:
            group.name = f"{group.name} ({taken[group.name]})"
    return groups


def group_weights(partition: CredalPartition, groups: list[Group], weights: str, rule: str) -> Any:
    """Return (g, n) sparse weights of the objects in each group.

    "certain": 1 in the group of its answer. "possible": 1 in every cluster it may belong to as well. "pignistic": its
    pignistic probability in the clusters. Ambiguous groups and outliers are always those of the answers.
    """
    from scipy.sparse import csr_array, vstack

    n = len(partition)
    share: Any = None
    if weights == "possible":
        share = partition.assignment(rule, keep_outliers=False)
    elif weights == "pignistic":
        share = partition.pignistic(normalized=False)
    rows = []
    for group in groups:
        if group.is_cluster and share is not None:
            rows.append(csr_array(np.asarray(share[:, group.clusters[0]], dtype=float)[None]))
        else:
            ends = np.array([0, len(group)])
            rows.append(csr_array((np.ones(len(group)), group.rows, ends), shape=(1, n)))
    return vstack(rows, format="csr")


def add_typical(partition: CredalPartition, groups: list[Group], distance: np.ndarray, number: int, names: Any) -> None:
    """Name the objects with the largest mass on the set of their group; of equal ones those nearest to its mean."""
    for group in groups:
        if not len(group):
            continue
        answer = np.zeros((1, partition.n_clusters), dtype=bool)
        answer[0, list(group.clusters)] = True
        where = int(partition.focal_sets.find(answer)[0])
        mass = np.round(partition.masses[group.rows, where], 9) if where >= 0 else np.zeros(len(group))
        best = group.rows[np.lexsort((group.rows, distance[group.rows], -mass))[:number]]
        group.typical = [int(i) if names is None else names[i] for i in best]


def tell_apart(attributes: list[Attribute], first: Group, second: Group, correction: str) -> pd.DataFrame:
    """Return a row for each attribute, the best first."""
    import pandas as pd

    rows = [_row(attribute, first, second) for attribute in attributes]
    table = pd.DataFrame(rows, index=pd.Index([attribute.name for attribute in attributes], name="attribute"))
    table["p_adjusted"] = adjusted(table["p"].to_numpy(dtype=float), correction)
    strength = table["delta"].abs().fillna(0)
    order = np.lexsort((-strength.to_numpy(), -table["separation"].fillna(-1).to_numpy()))
    return table.iloc[order][_COLUMNS]


def _row(attribute: Attribute, first: Group, second: Group) -> dict[str, Any]:
    a, b = (attribute.values[group.rows] for group in (first, second))
    a, b = a[~np.isnan(a)], b[~np.isnan(b)]
    row: dict[str, Any] = {"kind": attribute.kind, "clustered": attribute.clustered, "threshold": np.nan}
    row |= {"separation": np.nan, "delta": np.nan, "rule": "", "p": np.nan}
    if not len(a) or not len(b):
        return row
    both, codes = np.concatenate([a, b]), np.repeat([0, 1], [len(a), len(b)])
    if attribute.is_number:
        row["p"] = mann_whitney(Ranked(both), codes, 2)[0]
        row["delta"] = _delta(a, b)
        row["separation"], row["threshold"], first_is_low = _best_threshold(a, b)
        if row["separation"] > 0:
            low, high = (first, second) if first_is_low else (second, first)
            shown = threshold_text(row["threshold"]) if attribute.kind == "number" else attribute.text(row["threshold"])
            row["rule"] = f"{low.name} if {attribute.name} <= {shown}, otherwise {high.name}"
        return row
    k = len(attribute.categories)
    shares = [np.bincount(x.astype(int), minlength=k) / len(x) for x in (a, b)]
    row["p"] = overall_test(Attribute(attribute.name, "category", both), codes)[1]
    row["separation"] = float(np.abs(shares[0] - shares[1]).sum() / 2)
    if attribute.kind == "boolean":
        row["delta"] = float(shares[0][1] - shares[1][1])
    ours = [name for name, mine, other in zip(attribute.categories, *shares, strict=True) if mine > other]
    if row["separation"] > 0:
        row["rule"] = f"{first.name} if {attribute.name} is {' or '.join(ours)}, otherwise {second.name}"
    return row


def _delta(a: np.ndarray, b: np.ndarray) -> float:
    """Return Cliff's delta, P(a > b) - P(a < b)."""
    b = np.sort(b)
    below, above = np.searchsorted(b, a, side="left"), len(b) - np.searchsorted(b, a, side="right")
    return float((below.sum() - above.sum()) / (len(a) * len(b)))


def _best_threshold(a: np.ndarray, b: np.ndarray) -> tuple[float, float, bool]:
    """Return the largest difference of the shares up to a threshold, the threshold, and whether ``a`` is lower.

    The difference is Youden's J, the distance of Kolmogorov and Smirnov.
    """
    values = np.unique(np.concatenate([a, b]))
    if len(values) < 2:
        return 0.0, np.nan, True
    shares = [np.searchsorted(np.sort(x), values[:-1], side="right") / len(x) for x in (a, b)]
    apart = shares[0] - shares[1]
    best = int(np.abs(apart).argmax())
    threshold = round_between(float(values[best]), float(values[best + 1]))
    return float(abs(apart[best])), threshold, bool(apart[best] >= 0)


@dataclass(frozen=True, eq=False, repr=False)
class Profile:
    """What the groups of a partition are; made by `profile`.

    Attributes
    ----------
    groups : list of groups
        Clusters, ambiguous groups and outliers, with ``name``, ``clusters``, ``rows`` (positions of the objects whose
        answer it is), ``n_possible`` and ``typical``.
    features : list of features
        Numbers, and categories one by one, with ``label`` and ``attribute``.
    statistics : dict of str to (groups, features) array
        "mean" (or share), "std", "q25", "median", "q75", "rest" and "rest_std" (mean and standard deviation of
        the rest), "difference" (standardized), "delta", "present", "missing", "p", "p_adjusted".
    attributes : pandas.DataFrame
        A row for each column of X: its kind, whether it was clustered, missing cells, and whether it differs between
        the groups at all (test, effect, p, p_adjusted).
    partition : CredalPartition

    Examples
    --------
    >>> from dempster.explain import profile
    >>> people = profile(["city", "city", "land", "land"], [[30.0], [40.0], [50.0], [60.0]], clustered=False)
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
    weights: str
    correction: str

    @cached_property
    def comparisons(self) -> pd.DataFrame:
        """All statistics, a row for each group and feature: a tidy table to sort, filter and draw."""
        import pandas as pd

        names = [(g.name, f.attribute.name, _category(f)) for g in self.groups for f in self.features]
        table = pd.DataFrame(names, columns=["group", "attribute", "category"])
        for name in _STATISTICS:
            table[name] = self.statistics[name].ravel()
        return table

    def to_frame(self, statistic: str = "mean") -> pd.DataFrame:
        """A row for each group: objects, possible objects, typical ones, and a statistic of every feature.

        Parameters
        ----------
        statistic : str, default="mean"
            Any of `statistics`.
        """
        import pandas as pd

        rules.check_choice(statistic, "statistic", _STATISTICS)
        table: dict[str, Any] = {
            "objects": [len(group) for group in self.groups],
            "possible": pd.array([group.n_possible for group in self.groups], dtype="Int64"),
            "typical": [group.typical for group in self.groups],
        }
        frame = pd.DataFrame(table, index=pd.Index([group.name for group in self.groups], name="group"))
        values = {
            f.label: _as_dates(f, column, statistic)
            for f, column in zip(self.features, self.statistics[statistic].T, strict=True)
        }
        return pd.concat([frame, pd.DataFrame(values, index=frame.index)], axis=1)

    def discriminating_features(self, first: Any, second: Any) -> pd.DataFrame:
        """Which attributes tell two groups apart, the best first.

        Parameters
        ----------
        first, second : name of a cluster, or of a group as in `to_frame`
            Their objects are those that are certain, whatever ``weights``.

        Returns
        -------
        pandas.DataFrame
            "separation", the largest difference of the shares of the two groups that a threshold (or a set of
            categories) makes: 0 for none, 1 where it separates them; the "rule" that does it, and its "threshold";
            "delta" (Cliff's), positive where the first is larger; p-values by Mann and Whitney or chi-square.
        """
        one, other = self._group(first, "first"), self._group(second, "second")
        if one is other:
            raise InvalidInputError(f"first and second must be different groups, got {shown(one.name)} twice")
        for group in (one, other):
            if not len(group):
                raise InvalidInputError(f"{group.name!r} has no certain objects, so nothing tells it apart")
        return tell_apart(list(dict.fromkeys(f.attribute for f in self.features)), one, other, self.correction)

    def to_text(self, n_features: int = 5) -> str:
        """What is particular about each group, in words.

        Parameters
        ----------
        n_features : int, default=5
            How many of the attributes that differ most are told, for each group.
        """
        rules.check(n_features, "n_features", rules.integer(0))
        return _format_profile(self, int(n_features))

    def to_html(self) -> str:
        """A table with a row for each group, shaded where a mean differs from that of the rest. Names are escaped."""
        return _format_html(self)

    def plot(self, kind: str = "heat", *, axes: Any = None, **options: Any) -> Any:
        """Draw (see `dempster.plot.ProfileDisplay`): ``"heat"``, a map of effect sizes; ``"dots"``, medians and
        quartiles of each group in the units of each attribute."""
        from dempster.plot.explanation import ProfileDisplay  # a view of this value, imported when looked at

        return ProfileDisplay(profile=self).plot(axes=axes, kind=kind, **options)

    def __len__(self) -> int:
        return len(self.groups)

    def __repr__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        return self.to_html()

    def _group(self, name: Any, argument: str) -> Group:
        for group in self.groups:
            if group.is_cluster and _same(self.partition.frame[group.clusters[0]], name):
                return group
        for group in self.groups:
            if _same(group.name, name):
                return group
        known = ", ".join(repr(group.name) for group in self.groups[:20])
        raise InvalidParameterError(argument, f"the name of a cluster or group ({known})", name)


def profile(
    partition: Any,
    X: TableLike,
    *,
    rule: str = "max_mass",
    weights: str = "certain",
    clustered: Any = None,
    n_typical: int = 3,
    max_categories: int = 12,
    correction: str = "bh",
) -> Profile:
    """Describe each cluster, each group of ambiguous objects, and the outliers, by any attributes of the objects.

    Parameters
    ----------
    partition : CredalPartition, fitted estimator (or pipeline) that has one, MassFunctions, or labels
        Objects with names are matched with the rows of X by their names.
    X : array-like or table of n rows
        Any attributes, those that were clustered or others: numbers, dates, Booleans, categories, with cells missing.
        Several tables, a list or a dictionary, are taken side by side, their columns called "view: column".
    rule : {"max_mass", "interval_dominance"}, default="max_mass"
        Which answer each object gives, as in `CredalPartition.assignment`.
    weights : {"certain", "possible", "pignistic"}, default="certain"
        What a cluster is described by: its certain objects; all that may belong to it; or all objects, each by its
        pignistic probability. Ambiguous groups and outliers are described by their objects.
    clustered : bool or sequence of names of columns, optional
        Which columns the clusters were made of. By default those of the estimator; with a partition alone this is not
        known.
    n_typical : int, default=3
        Typical objects of each group: those of largest mass on it, of equal ones the nearest to its mean.
    max_categories : int, default=12
        Of a column of more categories the rarest are put together.
    correction : {"bh", "by"}, default="bh"
        How p-values are corrected for their number: Benjamini and Hochberg, or Benjamini and Yekutieli for any
        dependence (`scipy.stats.false_discovery_control`).

    Returns
    -------
    Profile

    Notes
    -----
    A group is compared with the rest, all other objects. Effect sizes are the standardized difference of the means
    (Cohen's d) and Cliff's delta, the probability that an object of the group has the larger value less that it has
    the smaller one, in [-1, 1]; for a category it is the difference of its shares, so that one scale serves all. They
    follow ``weights``; tests compare objects by their answers, each in one group.

    **p-values of attributes that were clustered mean little.** The clusters were made so that these attributes differ:
    testing them on the same objects is double dipping, and p-values are small even where there are no clusters at all.
    Take them as a ranking. Those of columns that were not clustered, and have nothing to do with those that were, are
    what they say.

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
    given: dict[str, Any] = {"rule": rule, "weights": weights, "correction": correction}
    given |= {"n_typical": n_typical, "max_categories": max_categories}
    for name, value in given.items():
        rules.check(value, name, _RULES[name])
    found = resolve_input(partition)
    found.reject_dissimilarities(X)
    X = join_attributes(X)
    columns = read_attributes(X, dates=True)
    credal = found.align_partition(X, len(columns[0]))
    attributes = attributes_of(columns, max_categories)
    for attribute, used in zip(attributes, _clustered(partition, clustered, attributes), strict=True):
        attribute.clustered = used
    groups = groups_of(credal, rule)
    codes = np.empty(len(credal), dtype=np.intp)
    for g, group in enumerate(groups):
        codes[group.rows] = g
    shares = group_weights(credal, groups, weights, rule)
    features = features_of(attributes)
    statistics, distance, tests = _statistics(features, shares, codes, len(groups))
    statistics["p_adjusted"] = adjusted(statistics["p"], correction)
    names = credal.index if credal.index is not None else object_index(X)
    add_typical(credal, groups, distance, int(n_typical), names)
    table = _attribute_table(attributes, tests, correction)
    return Profile(credal, groups, features, statistics, table, weights, correction)


def _statistics(
    features: list[Feature], weights: Any, codes: np.ndarray, n_groups: int
) -> tuple[dict[str, np.ndarray], np.ndarray, dict[Attribute, tuple[str, float, float]]]:
    """Return (g, q) statistics, squared standardized distances of objects to the mean of their group, and tests.

    The tests tell whether each attribute differs between the groups at all.
    """
    columns, distance = [], np.zeros(len(codes))
    tests: dict[Attribute, tuple[str, float, float]] = {}
    for feature in features:
        attribute, values = feature.attribute, feature.values
        ranked = Ranked(values)
        found = compare(feature, weights, ranked)
        if attribute not in tests:
            tests[attribute] = overall_test(attribute, codes, ranked)
        if attribute.is_number:
            found["p"] = mann_whitney(ranked, codes, n_groups)
            size = float(np.abs(ranked.values).max(initial=0)) or 1.0
            spread = size * float((ranked.values / size).std()) if len(ranked) else 0.0
            if spread > 0:
                distance += np.nan_to_num((values - found["mean"][codes]) / spread) ** 2
        else:
            found["p"] = category_test(values, codes, n_groups)
        columns.append(found)
    names = [name for name in _STATISTICS if name != "p_adjusted"]
    return {name: np.column_stack([column[name] for column in columns]) for name in names}, distance, tests


def _attribute_table(
    attributes: list[Attribute], tests: dict[Attribute, tuple[str, float, float]], correction: str
) -> pd.DataFrame:
    import pandas as pd

    results = [tests[attribute] for attribute in attributes]
    p = np.array([p for _, p, _ in results], dtype=float)
    table = {
        "kind": [attribute.kind for attribute in attributes],
        "clustered": [attribute.clustered for attribute in attributes],
        "missing": [attribute.n_missing for attribute in attributes],
        "test": [name for name, _, _ in results],
        "effect": [effect for _, _, effect in results],
        "p": p,
        "p_adjusted": adjusted(p, correction),
    }
    return pd.DataFrame(table, index=pd.Index([attribute.name for attribute in attributes], name="attribute"))


def _clustered(partition: Any, clustered: Any, attributes: list[Attribute]) -> list[bool | None]:
    """Return whether each column was clustered, as given or from the estimator; None where it is not known."""
    names = [attribute.name for attribute in attributes]
    if isinstance(clustered, bool | np.bool_):
        return [bool(clustered)] * len(names)
    if clustered is None:
        known = getattr(partition, "feature_names_in_", None)
        if known is not None:
            return [name in set(map(str, known)) for name in names]
        same = getattr(partition, "n_features_in_", None) == len(names)
        return [True if same else None] * len(names)
    what = "names of columns of X, or be True or False"
    chosen = [clustered] if isinstance(clustered, str) else list(map(str, rules.listed(clustered, "clustered", what)))
    if unknown := [name for name in chosen if name not in names]:
        raise InvalidInputError(
            f"clustered must hold names of columns of X ({', '.join(names[:20])}), got {unknown[0]!r}"
        )
    return [name in chosen for name in names]


def _same(ours: Any, given: Any) -> bool:
    return rules.hashable.test(given) and not is_missing(given) and same_label(ours, given)


def _category(feature: Feature) -> str | None:
    return None if feature.attribute.is_number else feature.attribute.categories[feature.category]


def _as_dates(feature: Feature, column: np.ndarray, statistic: str) -> Any:
    if feature.attribute.kind != "date" or statistic not in ("mean", "q25", "median", "q75", "rest"):
        return column
    return np.array([feature.attribute.moment(value) for value in column])


def _format_profile(profile: Profile, n_features: int) -> str:
    """Format a paragraph for each group: its name, its size, and what differs most from the rest."""
    lines = [
        f"{format_count(len(profile.partition))}, {format_count(profile.partition.n_clusters, 'cluster')}, "
        f"{format_count(len(profile.attributes), 'attribute')}"
    ]
    for g, group in enumerate(profile.groups[:_SHOWN_GROUPS]):
        lines += ["", _head(group)]
        if not profile.statistics["present"][g].any():
            continue
        strength = _strength(profile, g)
        best = [
            int(q) for q in np.argsort(-strength, kind="stable")[: max(int(n_features), 0)] if strength[q] >= _SMALL
        ]
        lines += [f"    {_sentence(profile, g, q)}" for q in best] or ["    like the rest"]
    if len(profile.groups) > _SHOWN_GROUPS:
        lines += ["", f"{len(profile.groups) - _SHOWN_GROUPS} smaller groups are not shown"]
    if note := _note(profile):
        lines += ["", note]
    return "\n".join(lines)


def _head(group: Any) -> str:
    name = printable(group.name)
    if not len(group):
        return f"{name}: no certain object{_possible(group)}"
    typical = ", ".join(printable(i) for i in group.typical)
    size = f"{format_count(len(group))}{_possible(group)}"
    return f"{name}: {size}{f'; typical: {typical}' if typical else ''}"


def _possible(group: Any) -> str:
    more = 0 if group.n_possible is None else group.n_possible - len(group)
    return f", {more:,} more possible" if more else ""


def _strength(profile: Profile, g: int) -> np.ndarray:
    """Rank features: the group lies elsewhere than the rest, or in a part of its range."""
    at = {name: profile.statistics[name][g] for name in ("delta", "std", "rest_std")}
    with np.errstate(invalid="ignore", divide="ignore"):
        narrow = 1 - at["std"] / at["rest_std"]
    is_number = np.array([feature.attribute.is_number for feature in profile.features])
    narrow = np.where(is_number & (narrow >= _NARROW), narrow, 0)
    return np.maximum(np.abs(np.nan_to_num(at["delta"])), narrow)


def _sentence(profile: Profile, g: int, q: int) -> str:
    """Format ``petal length: 1.46 ± 0.17, rest 4.9 ± 0.82; lower in 100 % of pairs``."""
    feature = profile.features[q]
    names = ("mean", "std", "rest", "rest_std", "delta", "p_adjusted")
    at = {name: float(profile.statistics[name][g, q]) for name in names}
    mean, rest = _mean(feature, at["mean"], at["std"]), _mean(feature, at["rest"], at["rest_std"])
    words, p = f"{feature.label}: {mean}, rest {rest}", f"({_p(at['p_adjusted'])})"
    if not feature.attribute.is_number:
        return f"{words} {p}"
    if abs(at["delta"]) < _NARROW and at["std"] <= (1 - _NARROW) * at["rest_std"]:
        return f"{words}; a part of its range"  # which no test of more or less is about
    return f"{words}; {'higher' if at['delta'] > 0 else 'lower'} in {(1 + abs(at['delta'])) / 2:.0%} of pairs {p}"


def _mean(feature: Feature, mean: float, std: float) -> str:
    """Format a mean with its standard deviation, or a share."""
    attribute = feature.attribute
    words = attribute.text(mean)
    if not attribute.is_number or np.isnan(std):
        return words
    return f"{words} ± {format_number(std, 2)}{' days' * (attribute.kind == 'date')}"


def _p(p: float) -> str:
    if np.isnan(p):
        return "not tested"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _note(profile: Profile) -> str:
    flags = set(profile.attributes["clustered"])
    if True in flags:
        return _DOUBLE_DIPPING
    return _UNKNOWN if None in flags else ""


def _format_html(profile: Profile) -> str:
    """Format the table as HTML; the stronger the shade, the more a group differs from the rest."""
    names = ["group", "objects", "possible", "typical", *(feature.label for feature in profile.features)]
    marks = [""] * 4 + ["*" if feature.attribute.clustered else "" for feature in profile.features]
    head = "".join(f"<th>{html.escape(name)}{mark}</th>" for name, mark in zip(names, marks, strict=True))
    body = "".join(_html_row(profile, g) for g in range(min(len(profile.groups), _SHOWN_GROUPS)))
    notes = [f"{len(profile.groups) - _SHOWN_GROUPS} smaller groups are not shown"] * (
        len(profile.groups) > _SHOWN_GROUPS
    )
    notes.append("Orange: higher than the rest; blue: lower (Cliff's delta, or the difference of shares).")
    if note := _note(profile):
        notes.append(f"* clustered. {note}" if any(marks) else note)
    below = "".join(f"<p>{html.escape(words)}</p>" for words in notes)
    return (
        f'<div style="overflow-x: auto"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>'
    )


def _html_row(profile: Profile, g: int) -> str:
    group = profile.groups[g]
    typical = ", ".join(printable(i) for i in group.typical)
    possible = "" if group.n_possible is None else f"{group.n_possible:,}"
    cells = [f"<td>{len(group):,}</td>", f"<td>{possible}</td>", f"<td>{html.escape(typical)}</td>"]
    for q, feature in enumerate(profile.features):
        mean, std, delta, p = (float(profile.statistics[n][g, q]) for n in ("mean", "std", "delta", "p_adjusted"))
        shown = feature.attribute.text(mean)
        if feature.attribute.kind == "number" and not np.isnan(std):
            shown += f" ± {format_number(std, 2)}"
        cells.append(
            f"<td{_shade(delta)} title={chr(34)}delta {delta:+.2f}, {html.escape(_p(p))}{chr(34)}>{shown}</td>"
        )
    return f"<tr><th>{html.escape(printable(group.name))}</th>{''.join(cells)}</tr>"


def _shade(delta: float) -> str:
    if np.isnan(delta) or abs(delta) < _SMALL:
        return ""
    color = "213, 94, 0" if delta > 0 else "0, 114, 178"
    return f' style="background: rgba({color}, {0.5 * abs(delta):.2f})"'
