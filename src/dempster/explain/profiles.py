"""What each cluster is: sizes, typical objects, and how its attributes differ from those of the rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster import _validation as rules
from dempster._errors import InvalidInputError
from dempster._types import TableLike
from dempster._validation import is_missing, object_index, same_label, shown
from dempster.explain._profile import text as wording
from dempster.explain._profile.apart import tell_apart
from dempster.explain._profile.attributes import Attribute, Feature, attributes_of, features_of
from dempster.explain._profile.comparisons import Ranked, adjusted, category_test, compare, mann_whitney, overall_test
from dempster.explain._profile.groups import Group, add_typical, group_weights, groups_of
from dempster.explain._subject import joined_attributes, matched_partition, read_attributes
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Profile", "profile"]

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

    def tells_apart(self, first: Any, second: Any) -> pd.DataFrame:
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
        if not rules.integer(0).test(n_features):
            raise InvalidInputError(f"n_features must be an integer of at least 0, got {shown(n_features)}")
        return wording.text(self, int(n_features))

    def to_html(self) -> str:
        """A table with a row for each group, shaded where a mean differs from that of the rest. Names are escaped."""
        return wording.html_table(self)

    def plot(self, kind: str = "heat", *, axes: Any = None, **options: Any) -> Any:
        """Draw (see `dempster.plot.ProfileDisplay`): ``"heat"``, a map of effect sizes; ``"dots"``, medians and
        quartiles of each group in the units of each attribute."""
        from dempster.plot import ProfileDisplay  # a view of this value, imported when looked at

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
        raise InvalidInputError(f"{argument} must be the name of a cluster or group ({known}), got {shown(name)}")


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
    >>> flowers.tells_apart(0, 1)["rule"].iloc[0]
    'cluster 1 if petal length (cm) <= 2.5, otherwise cluster 0'
    """
    _check(rule=rule, weights=weights, correction=correction, n_typical=n_typical, max_categories=max_categories)
    X = joined_attributes(X, partition)
    columns = read_attributes(X, dates=True)
    credal = matched_partition(partition, X, len(columns[0]))
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
    """(g, q) statistics; how far each object is from the mean of its group, in standard deviations, squared; and
    whether each attribute differs between the groups at all."""
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


# ---- arguments ------------------------------------------------------------------------------------------------------


def _check(**given: Any) -> None:
    for name, value in given.items():
        if not _RULES[name].test(value):
            raise InvalidInputError(f"{name} must be {_RULES[name].words}, got {shown(value)}")


def _clustered(partition: Any, clustered: Any, attributes: list[Attribute]) -> list[bool | None]:
    """Whether each column was clustered: as given, or as the estimator tells; None where nobody knows."""
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
