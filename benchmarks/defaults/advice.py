"""Recommendations derived from the measures."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from benchmarks.defaults.evidence import Evidence
from benchmarks.defaults.methods import HDBSCAN_NAME, K_MEANS, MIXTURE, RIVALS

__all__ = ["COMPARED", "by_data", "by_purpose"]

COMPARED = (K_MEANS, MIXTURE, HDBSCAN_NAME)
_CLEARLY = 0.05  # difference that counts as clearly better
_RELATIONAL = ("EVCLUS", "RECM", "MECM", "ECMdd", "WECMdd")


def _groups(evidence: Evidence) -> Iterator[tuple[str, pd.DataFrame]]:
    public = evidence.public()
    if len(public):
        yield "public, up to 3 attributes", public[public["p"] <= 3]
        yield "public, 4 to 15 attributes", public[public["p"].between(4, 15)]
        yield "public, more than 15 attributes", public[public["p"] > 15]
        yield "public, under 500 objects", public[public["n"] < 500]
        yield "public, ten classes or more", public[public["c"] >= 10]
    for family in evidence.families():
        yield f"generated, {family}", evidence.generated(family)


def by_data(evidence: Evidence) -> list[tuple[str, ...]]:
    """Return lines (data, number of sets, method, its ARI, its ARI at 80 % kept, ARI of the compared methods)."""
    lines = []
    for words, rows in _groups(evidence):
        best = evidence.best(rows)
        rivals = {name: evidence.mean(rows, name, "ari") for name in COMPARED}
        strongest = max(rivals, key=lambda name: rivals[name])
        ari, kept = (
            evidence.mean(rows, best[0], measure) for measure in ("ari", "kept80")
        )
        take = ", ".join(best)
        if rivals[strongest] > ari + _CLEARLY:
            take = f"{strongest}; of ours {take}"
        values = (f"{value:.2f}" for value in (ari, kept, *rivals.values()))
        lines.append((words, str(rows["set"].nunique()), take, *values))
    return lines


def by_purpose(evidence: Evidence) -> list[tuple[str, str, str]]:
    """Return lines (purpose, method, reason)."""
    if len(evidence.public()):
        rows = evidence.public()
    else:
        rows = evidence.generated()
    return [
        _labels(evidence, rows),
        _speed(evidence, rows),
        _doubt(evidence, rows),
        _outliers(evidence),
        _number(evidence, rows),
        *_dissimilarities(evidence),
        (
            "intervals that are confidence intervals",
            "BootClus",
            "only it calibrates its beliefs and plausibilities",
        ),
        (
            "what you know about pairs of objects to count",
            "EVCLUS, CECM",
            "they take constraints",
        ),
    ]


def _labels(evidence: Evidence, rows: pd.DataFrame) -> tuple[str, str, str]:
    best = evidence.best(rows, slack=0.0)[0]
    gain = evidence.against(rows, best)
    words = f"ARI {evidence.mean(rows, best, 'ari'):.3f}, {gain.mean():+.3f} against k-means, at worst {gain.min():+.2f}"
    return (
        "good labels and doubt, no knowledge about the data: the default",
        best,
        words,
    )


def _speed(evidence: Evidence, rows: pd.DataFrame) -> tuple[str, str, str]:
    """Return the fastest method that loses at most 0.01 to k-means."""
    names = [
        name for name in evidence.given(rows, everywhere=True) if name not in RIVALS
    ]
    enough = [
        name for name in names if evidence.against(rows, name).mean() >= -0.01
    ] or names
    quickest = min(enough, key=lambda name: evidence.mean(rows, name, "seconds"))
    ari, seconds = (
        evidence.mean(rows, quickest, measure) for measure in ("ari", "seconds")
    )
    return (
        "a fast result",
        quickest,
        f"the fastest method with labels as good as those of k-means: {seconds:.2f} s, ARI {ari:.3f}",
    )


def _doubt(evidence: Evidence, rows: pd.DataFrame) -> tuple[str, str, str]:
    best = evidence.best(rows, "kept80", slack=0.0)[0]
    ours, k_means, mixture = (
        evidence.mean(rows, name, "kept80") for name in (best, K_MEANS, MIXTURE)
    )
    return (
        "to set doubtful objects aside",
        best,
        f"ARI {ours:.3f} with 80 % kept; k-means by its distance ratio {k_means:.3f}, mixture by its posteriors {mixture:.3f}",
    )


def _outliers(evidence: Evidence) -> tuple[str, str, str]:
    """Return the method with most planted outliers and fewest false ones."""
    rows = evidence.generated("noisy")
    names = [
        name for name in evidence.given(rows, everywhere=True) if name not in RIVALS
    ]
    score = {
        name: evidence.mean(rows, name, "planted")
        - evidence.mean(rows, name, "outliers")
        for name in names
    }
    near = [name for name in names if score[name] >= max(score.values()) - 0.02]
    found = evidence.mean(rows, near[0], "planted")
    return (
        "to detect outliers",
        ", ".join(near),
        f"{found:.0%} of the generated outliers detected",
    )


def _number(evidence: Evidence, rows: pd.DataFrame) -> tuple[str, str, str]:
    names = [name for name in evidence.finders(rows) if name not in RIVALS]
    best = max(names, key=lambda name: evidence.mean(rows, name, "ari"))
    own = rows[rows["method"] == best]
    right = int((own["found"] == own["c"]).sum())
    words = f"ARI {own['ari'].mean():.3f}, number correct for {right} of {len(own)}"
    return "unknown number of clusters", best, words


def _dissimilarities(evidence: Evidence) -> list[tuple[str, str, str]]:
    """Compare on the data sets that all relational methods ran on."""
    rows = evidence.public()
    rows = rows[rows["method"].isin(_RELATIONAL)]
    counts = rows.groupby("set")["method"].nunique()
    rows = rows[rows["set"].isin(counts.index[counts == rows["method"].nunique()])]
    if not len(rows):
        return []
    means = {name: evidence.mean(rows, name, "ari") for name in _RELATIONAL}
    means = dict(
        sorted(((n, v) for n, v in means.items() if v == v), key=lambda item: -item[1])
    )
    words = "ARI on the same sets: " + ", ".join(
        f"{name} {value:.3f}" for name, value in means.items()
    )
    return [
        ("to cluster dissimilarities, without attributes", next(iter(means)), words)
    ]
