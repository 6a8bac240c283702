"""Compare groups of objects with the remaining objects, attribute by attribute.

Most statistics are products of a matrix, which contains the weights of the objects in each group,
and functions of a column. The tests are the Mann-Whitney, Kruskal-Wallis and chi-square tests, and
Fisher's exact test.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import scipy  # which imports scipy.stats when it is needed

from dempster._arrays import divide
from dempster._text import format_number, printable
from dempster.dissimilarity.columns import Column

# maximum sizes (smaller group, all objects) for exact p-values
MAX_EXACT_SMALLER = 8
MAX_EXACT_OBJECTS = 100
# with smaller expected counts, Fisher's exact test replaces the chi-square test
MIN_EXPECTED_COUNT = 5
MAX_CATEGORIES = 12  # the rarest categories of a column with more are merged


@dataclass(eq=False)
class Attribute:
    """A column of a table, encoded as numbers."""

    name: str
    kind: str  # "number", "date", "boolean" or "category"
    # for each object a number, days since 1970, or a position in categories; NaN if missing
    values: np.ndarray
    categories: list[str] = field(default_factory=list)
    # whether the column was used for clustering, None if unknown
    clustered: bool | None = None

    @property
    def is_number(self) -> bool:
        return self.kind in ("number", "date")

    @cached_property
    def present(self) -> np.ndarray:
        return ~np.isnan(self.values)

    def format(self, value: float) -> str:
        """Format a value or a mean of values; the mean of a categorical attribute is a share."""
        if np.isnan(value):
            return "-"
        if self.kind == "date":
            return str(self.to_date(value).astype("datetime64[D]"))
        if self.kind == "number":
            return format_number(value)
        return f"{value:.0%}"

    def to_date(self, value: float) -> np.datetime64:
        """Convert a number of days since 1970-01-01 to a date."""
        if np.isnan(value):
            return np.datetime64("NaT")
        return np.datetime64(0, "us") + np.timedelta64(round(value * 86_400e6), "us")


@dataclass(frozen=True, eq=False)
class Feature:
    """A numeric attribute, or the indicator of one category of an attribute."""

    attribute: Attribute
    category: int = -1

    @property
    def label(self) -> str:
        name = printable(self.attribute.name)
        if self.attribute.kind != "category":
            return name
        return f"{name} = {printable(self.attribute.categories[self.category])}"

    @property
    def values(self) -> np.ndarray:
        """Numbers, or indicators (0 or 1) of the category, one for each object.

        Missing values are NaN.
        """
        attribute = self.attribute
        if attribute.is_number:
            return attribute.values
        return np.where(attribute.present, attribute.values == self.category, np.nan)


def list_features(attributes: list[Attribute]) -> list[Feature]:
    """Return a feature for each numeric or Boolean attribute, and for each category of others."""
    features = []
    for attribute in attributes:
        if attribute.is_number:
            features.append(Feature(attribute))
        elif attribute.kind == "boolean":
            features.append(Feature(attribute, 1))
        else:
            numbers = range(len(attribute.categories))
            features += [Feature(attribute, k) for k in numbers]
    return features


def encode_column(column: Column) -> Attribute:
    """Encode a column as numbers.

    If it has more than ``MAX_CATEGORIES`` categories, merge the rarest into "other".
    """
    name = str(column.name)
    if column.is_empty:
        return Attribute(name, "number", np.full(len(column), np.nan))
    if column.is_date:
        return Attribute(name, "date", column.numbers())
    if column.is_numeric:
        return Attribute(name, "number", column.numbers())
    if column.is_boolean:
        values = _encode(column, np.array([False, True], object))
        return Attribute(name, "boolean", values, ["False", "True"])
    categories = column.categories()
    values = _encode(column, categories)
    names = [printable(category) for category in categories]
    if len(names) > MAX_CATEGORIES:
        present = ~np.isnan(values)
        codes = values[present].astype(int)
        counts = np.bincount(codes, minlength=len(names))
        n_kept = MAX_CATEGORIES - 1
        most_frequent = np.argsort(-counts, kind="stable")[:n_kept]
        kept = np.sort(most_frequent)
        position = np.full(len(names), n_kept)
        position[kept] = np.arange(n_kept)
        values[present] = position[codes]
        n_merged = len(names) - n_kept
        names = [names[k] for k in kept]
        names.append(f"other ({n_merged})")
    return Attribute(name, "category", values, names)


def _encode(column: Column, categories: np.ndarray) -> np.ndarray:
    codes = column.codes(categories, missing=-1, unseen=-1)
    return np.where(codes < 0, np.nan, codes)


class Ranked:
    """Sorted values of a column that are not missing, with their rows, ranks and ties."""

    def __init__(self, values: np.ndarray):
        present = np.flatnonzero(~np.isnan(values))
        order = np.argsort(values[present], kind="stable")
        self.rows = present[order]
        self.values = values[self.rows]
        self.ties = np.unique(self.values, return_counts=True)[1].astype(float)
        self.ranks = scipy.stats.rankdata(self.values)

    def __len__(self) -> int:
        return len(self.rows)

    def quartiles(self, codes: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the quartiles (Hazen's definition) of each group, shape (n_groups, 3)."""
        out = np.full((n_groups, 3), np.nan)
        own = codes[self.rows]
        sizes = np.bincount(own, minlength=n_groups)
        ends = np.cumsum(sizes)[:-1]
        order = np.argsort(own, kind="stable")
        groups = np.split(self.values[order], ends)
        for g, values in enumerate(groups):
            size = len(values)
            if size:
                places = (np.arange(size) + 0.5) / size
                out[g] = np.interp((0.25, 0.5, 0.75), places, values)
        return out


def compare(
    feature: Feature, codes: np.ndarray, n_groups: int, ranked: Ranked
) -> dict[str, np.ndarray]:
    """Return statistics that compare each group with the remaining objects.

    ``codes`` contains the number of the group of each object. For a category, the mean is a share,
    and delta is the difference of the shares.
    """
    values = feature.values
    is_number = feature.attribute.is_number
    present = ~np.isnan(values)
    # Without centering and scaling, the squares of large numbers would lose digits.
    center = 0.0
    if is_number and len(ranked):
        center = float(ranked.values.mean())
    scale = float(np.abs(ranked.values - center).max(initial=0.0)) or 1.0
    filled = np.where(present, values, 0)
    scaled = np.where(present, (filled - center) / scale, 0.0)
    parts = (present, scaled, scaled**2)
    group_sums = [np.bincount(codes, part, n_groups) for part in parts]
    sums = np.column_stack(group_sums)
    all_sums = np.array([part.sum() for part in parts])
    mean, variance = _moments(sums)
    rest, rest_variance = _moments(all_sums - sums)
    n_group = sums[:, 0]
    statistics = {
        "present": n_group,
        "missing": np.bincount(codes, minlength=n_groups) - n_group,
        "mean": mean * scale + center,
        "std": np.sqrt(variance) * scale,
        "rest": rest * scale + center,
        "rest_std": np.sqrt(rest_variance) * scale,
        "delta": mean - rest,
    }
    quartiles = np.full((n_groups, 3), np.nan)
    if is_number:
        statistics["delta"] = cliffs_delta(ranked, codes, n_groups)
        quartiles = ranked.quartiles(codes, n_groups)
    return statistics | dict(zip(("q25", "median", "q75"), quartiles.T, strict=True))


def _moments(sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and variances of groups, given their numbers, sums and squares.

    NaN for empty groups.
    """
    number, total, squares = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        number = np.where(number > 0, number, np.nan)
        mean = total / number
        spread = np.maximum(squares / number - mean**2, 0)
        spread[spread < 1e-14] = 0  # Smaller values are rounding errors.
        freedom = np.where(number > 1, number - 1, np.nan)
        return mean, spread * number / freedom


def cliffs_delta(ranked: Ranked, codes: np.ndarray, n_groups: int) -> np.ndarray:
    """Compute Cliff's delta of each group, P(group > rest) - P(group < rest) (Cliff, 1993).

    The sum of the midranks minus 1/2 over a group counts the pairs in which an object of the group
    has a larger value than another object. By symmetry, the pairs within a group of n objects
    contribute n^2 / 2.
    """
    own = codes[ranked.rows]
    n_group = np.bincount(own, minlength=n_groups)
    pairs = n_group * (len(ranked) - n_group)
    rank_sums = np.bincount(own, ranked.ranks - 0.5, n_groups)
    below = rank_sums - n_group**2 / 2
    return divide(2 * below, pairs, np.nan) - 1


# ---- tests ---------------------------------------------------------------------------------------


def mann_whitney(ranked: Ranked, codes: np.ndarray, n_groups: int) -> np.ndarray:
    """Return the p-value of the Mann-Whitney test of each group against all other objects.

    ``codes`` contains the number of the group of each object. The results are equal to
    `scipy.stats.mannwhitneyu`, but ranks are computed once for all groups. p-values are exact for
    few objects without ties. Otherwise the normal approximation is used, with corrections for ties
    and continuity.
    """
    codes = codes[ranked.rows]
    n = len(ranked)
    sizes = np.bincount(codes, minlength=n_groups).astype(float)
    out = np.full(n_groups, np.nan)
    if n < 2:
        return out
    sums = np.bincount(codes, ranked.ranks, n_groups)
    others = n - sizes
    ties = ranked.ties
    deviation = np.abs(sums - sizes * (sizes + 1) / 2 - sizes * others / 2)
    correction = (ties**3 - ties).sum() / (n * (n - 1))
    variance = sizes * others / 12 * (n + 1 - correction)
    possible = (sizes > 0) & (others > 0)
    spread = np.sqrt(np.where(possible, np.maximum(variance, 0), 0))
    z = divide(np.maximum(deviation - 0.5, 0), spread, 0)
    out[possible] = np.minimum(2 * scipy.stats.norm.sf(z[possible]), 1)
    if len(ties) == n <= MAX_EXACT_OBJECTS:
        is_small = np.minimum(sizes, others) <= MAX_EXACT_SMALLER
        for g in np.flatnonzero(possible & is_small):
            inside = ranked.values[codes == g]
            outside = ranked.values[codes != g]
            out[g] = scipy.stats.mannwhitneyu(inside, outside, method="exact").pvalue
    return out


def compare_shares(values: np.ndarray, codes: np.ndarray, n_groups: int) -> np.ndarray:
    """Test whether the share of ones in each group differs from that in all other groups.

    Return the p-values.
    """
    present = ~np.isnan(values)
    ones = values[present] > 0.5
    codes = codes[present]
    sizes = np.bincount(codes, minlength=n_groups)
    hits = np.bincount(codes, ones, n_groups)
    n = len(ones)
    total = int(ones.sum())
    out = np.full(n_groups, np.nan)
    for g in np.flatnonzero((sizes > 0) & (sizes < n)):
        if total in (0, n):
            out[g] = 1.0
            continue
        ones_inside = int(hits[g])
        ones_outside = total - ones_inside
        size = int(sizes[g])
        inside = ones_inside, size - ones_inside
        outside = ones_outside, n - size - ones_outside
        table = np.array([inside, outside])
        test = scipy.stats.chi2_contingency(table, correction=False)
        if test.expected_freq.min() < MIN_EXPECTED_COUNT:
            test = scipy.stats.fisher_exact(table)
        out[g] = test.pvalue
    return out


def compare_groups(
    attribute: Attribute, codes: np.ndarray, ranked: Ranked | None = None
) -> tuple[str, float, float]:
    """Test whether an attribute differs between groups.

    Return the name and p-value of the test, and an effect size.

    The effect size is in [0, 1]. For numbers, use the Kruskal-Wallis test with the statistic H and
    the effect size sqrt(H / (n - 1)) for n objects. For categories, use the chi-square test and
    Cramer's V.
    """
    if attribute.is_number:
        if ranked is None:
            ranked = Ranked(attribute.values)
        return "Kruskal-Wallis", *_kruskal_wallis(ranked, codes[ranked.rows])
    present = attribute.present
    values = attribute.values[present]
    codes = codes[present]
    name = "chi-square"
    if len(np.unique(codes)) < 2:
        return name, np.nan, np.nan
    if len(np.unique(values)) < 2:
        return name, np.nan, 0.0
    table = scipy.stats.contingency.crosstab(codes, values).count
    test = scipy.stats.chi2_contingency(table, correction=False)
    largest = len(values) * (min(table.shape) - 1)
    effect = np.sqrt(min(test.statistic / largest, 1))
    return name, float(test.pvalue), float(effect)


def _kruskal_wallis(ranked: Ranked, codes: np.ndarray) -> tuple[float, float]:
    """Return the p-value and the effect size (see `compare_groups`) of the Kruskal-Wallis test."""
    n = len(ranked)
    sizes = np.bincount(codes)
    groups = np.flatnonzero(sizes)
    k = len(groups)
    if k < 2:
        return np.nan, np.nan
    if len(ranked.ties) < 2:
        return np.nan, 0.0
    centered = ranked.ranks - (n + 1) / 2
    sums = np.bincount(codes, centered)[groups]
    between = (sums**2 / sizes[groups]).sum()
    share = float(between / (centered**2).sum())
    p_value = scipy.stats.chi2.sf(share * (n - 1), k - 1)
    return float(p_value), float(np.sqrt(min(share, 1)))


def adjust_p_values(p: np.ndarray) -> np.ndarray:
    """Adjust p-values for multiple tests (false discovery rate); NaN values remain NaN."""
    out = np.array(p, float)
    is_tested = ~np.isnan(out)
    if is_tested.any():
        out[is_tested] = scipy.stats.false_discovery_control(out[is_tested])
    return out
