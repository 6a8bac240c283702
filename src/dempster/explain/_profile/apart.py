"""Which attributes tell two groups of objects apart, and where to draw the line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dempster.explain._profile.attributes import Attribute
from dempster.explain._profile.comparisons import Ranked, adjusted, mann_whitney, overall_test
from dempster.explain._profile.groups import Group
from dempster.explain._tree.columns import round_between, threshold_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["tell_apart"]

_COLUMNS = ["kind", "clustered", "separation", "delta", "rule", "threshold", "p", "p_adjusted"]


def tell_apart(attributes: list[Attribute], first: Group, second: Group, correction: str) -> pd.DataFrame:
    """A row for each attribute, the best first."""
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
    """Cliff's delta: P(a > b) - P(a < b)."""
    b = np.sort(b)
    below, above = np.searchsorted(b, a, side="left"), len(b) - np.searchsorted(b, a, side="right")
    return float((below.sum() - above.sum()) / (len(a) * len(b)))


def _best_threshold(a: np.ndarray, b: np.ndarray) -> tuple[float, float, bool]:
    """The largest difference of the shares up to a threshold (Youden's J, the distance of Kolmogorov and Smirnov), the
    threshold, and whether the first group is the lower one."""
    values = np.unique(np.concatenate([a, b]))
    if len(values) < 2:
        return 0.0, np.nan, True
    shares = [np.searchsorted(np.sort(x), values[:-1], side="right") / len(x) for x in (a, b)]
    apart = shares[0] - shares[1]
    best = int(np.abs(apart).argmax())
    threshold = round_between(float(values[best]), float(values[best + 1]))
    return float(abs(apart[best])), threshold, bool(apart[best] >= 0)
