"""All measures as one table, with queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.defaults.data import FAMILIES, PUBLIC
from benchmarks.defaults.measures import SHARES
from benchmarks.defaults.methods import FINDERS, GIVEN_NUMBER, K_MEANS, RIVALS, SINGLE

__all__ = ["Evidence"]

Group = Callable[[pd.DataFrame], pd.Series]


class Evidence:
    """Rows of measures, one for each method and data set without error, and the errors.

    Attributes
    ----------
    rows : DataFrame
        ``method``, ``set``, ``family``, ``n``, ``p``, ``c``, ``chosen`` and the measures;
        ``kept80`` and ``kept60`` are the quality if 80 % or 60 % of the objects are kept, ``kept``
        the whole curve.
    failed : DataFrame
    sets : DataFrame
        By name.
    """

    def __init__(self, records: dict[str, Any]):
        sets = pd.DataFrame.from_dict(records["sets"], orient="index")
        sets["n"], sets["p"] = zip(*sets.pop("shape"), strict=True)
        self.sets = sets.rename(columns={"n_classes": "c"})
        every = pd.DataFrame(records["rows"]).join(self.sets, on="set")
        if "error" not in every:
            every["error"] = np.nan
        self.failed = every[every["error"].notna()]
        self.rows = every[every["error"].isna()].copy()
        for percent in (80, 60):
            at = SHARES.index(percent / 100)
            curves = self.rows["kept"]
            self.rows[f"kept{percent}"] = [
                c[at] if isinstance(c, list) else np.nan for c in curves
            ]

    def public(self, chosen: bool | None = None) -> pd.DataFrame:
        """Return rows of the public data sets, of those used to select the rules, or of the others."""
        rows = self.rows[self.rows["family"] == PUBLIC]
        if chosen is None:
            return rows
        return rows[rows["chosen"] == chosen]

    def generated(self, family: str | None = None) -> pd.DataFrame:
        if family is not None:
            return self.rows[self.rows["family"] == family]
        return self.rows[self.rows["family"] != PUBLIC]

    @staticmethod
    def mean(rows: pd.DataFrame, method: str, measure: str) -> float:
        """Return the mean over the data sets on which the method has the measure.

        NaN if there are none.
        """
        if measure not in rows:
            return float("nan")
        return float(rows.loc[rows["method"] == method, measure].mean())

    @staticmethod
    def by_set(rows: pd.DataFrame, method: str, measure: str = "ari") -> pd.Series:
        return rows[rows["method"] == method].set_index("set")[measure].dropna()

    def against(
        self,
        rows: pd.DataFrame,
        method: str,
        rival: str = K_MEANS,
        measure: str = "ari",
    ) -> pd.Series:
        """Return by data set how much better the method is than the other, where both have the measure."""
        ours = self.by_set(rows, method, measure)
        theirs = self.by_set(rows, rival, measure)
        both = ours.index.intersection(theirs.index)
        return ours[both] - theirs[both]

    def given(self, rows: pd.DataFrame, *, everywhere: bool = False) -> list[str]:
        """Return methods with a given number of clusters and rows here, or only those with all data sets."""
        counts = rows["method"].value_counts()
        names = [
            name for name in GIVEN_NUMBER if name in counts.index and name != SINGLE
        ]
        if everywhere:
            return [name for name in names if counts[name] == rows["set"].nunique()]
        return names

    def finders(self, rows: pd.DataFrame) -> list[str]:
        return [name for name in FINDERS if name in set(rows["method"])]

    def best(
        self, rows: pd.DataFrame, measure: str = "ari", slack: float = 0.01
    ) -> list[str]:
        """Return evidential methods within ``slack`` of the best mean that have all data sets, the fastest first."""
        names = [
            name for name in self.given(rows, everywhere=True) if name not in RIVALS
        ]
        means = {name: self.mean(rows, name, measure) for name in names}
        near = [name for name in names if means[name] >= max(means.values()) - slack]
        return sorted(near, key=lambda name: self.mean(rows, name, "seconds"))

    def families(self) -> list[str]:
        return [family for family in FAMILIES if family in set(self.sets["family"])]
