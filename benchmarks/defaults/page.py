"""Write the report: requirements and means first, then a table for each question, then each data set."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import wilcoxon

from benchmarks.defaults.advice import COMPARED, by_data, by_purpose
from benchmarks.defaults.data import PUBLIC, PUBLIC_NAMES
from benchmarks.defaults.evidence import Evidence
from benchmarks.defaults.methods import (
    FINDERS,
    FRONT,
    GIVEN_NUMBER,
    K_MEANS,
    MIXTURE,
    SINGLE,
)
from benchmarks.defaults.promises import promises

__all__ = ["write_page"]

_ABOUT = """# Quality of the defaults

Written by `make defaults`. Columns are standardized. The only parameter that is set is the number of clusters, which equals
the number of classes; in the comparison of numbers of clusters no parameter is set. At most 2,500 objects of a public data
set are used. Data sets with more than 100 columns, more than 31 classes, missing values or no classes are excluded.
`benchmarks/defaults/data.py` generates families of data sets, each with several seeds. ARI is the adjusted Rand index of
clusters and classes (without generated outliers). Classes of public data sets are not always clusters, so compare the
methods with each other, not with 1.
"""


def write_page(records: dict[str, Any], page: Path) -> None:
    """Write the page."""
    evidence = Evidence(records)
    parts = [_ABOUT, _circumstances(records, evidence)]
    parts += [
        "## Summary",
        _table(
            ("requirement", "measured", "met"), promises(evidence, records["protein"])
        ),
    ]
    if len(evidence.public()):
        parts += [
            "## Labels with a known number of clusters: public data sets",
            _labels(evidence),
        ]
        parts += ["## Tables with few and with many attributes", _widths(evidence)]
        parts += ["## Usefulness of the doubt: public data sets", _doubt(evidence)]
    parts += ["## Outliers", _outliers(evidence)]
    parts += ["## Number of clusters", _numbers(evidence)]
    parts += [
        "## Generated families with a known number of clusters",
        _families(evidence),
    ]
    parts += ["## Recommendations by type of data", _advice(evidence)]
    parts += ["## Results by data set", _each_set(evidence)]
    parts += ["## Exclusions and failures", _missing(evidence)]
    page.write_text(
        "\n\n".join(part.strip() for part in parts) + "\n", encoding="utf-8"
    )


# ---- sections ------------------------------------------------------------------------------------


def _circumstances(records: dict[str, Any], evidence: Evidence) -> str:
    public = evidence.sets[evidence.sets["family"] == PUBLIC]
    seconds = evidence.rows["seconds"].sum() / 60
    words = f"Fitting took {records['minutes']:.1f} minutes {records['where']}, {seconds:.0f} minutes of a processor."
    if not len(public):
        return (
            words
            + " **The public data sets are not available: everything about them is left out.**"
        )
    missing = [name for name in PUBLIC_NAMES if name not in public.index]
    if missing:
        words += f" **Public data sets that were not available: {', '.join(missing)}.**"
    chosen, others = (
        sorted(public.index[public["chosen"] == half]) for half in (True, False)
    )
    return (
        f"{words} Times below are processor times with one thread per fit.\n\n"
        f"The rules for the defaults were chosen on half of the public data sets: {', '.join(chosen)}. "
        f"They were confirmed on the other half: {', '.join(others)}. "
        "The rules of CredalClustering were developed on all of them."
    )


def _labels(evidence: Evidence) -> str:
    rows = evidence.public()
    lines = []
    for name in evidence.given(rows):
        gain = evidence.against(rows, name)
        if name != K_MEANS:
            worst = f"{gain.min():+.2f} {gain.idxmin()}"
        else:
            worst = ""
        halves = [
            _number(evidence.mean(evidence.public(half), name, "ari"))
            for half in (True, False)
        ]
        by_set = evidence.by_set(rows, name)
        lines.append(
            (
                _titled(name),
                len(by_set),
                _number(by_set.mean()),
                f"{gain.mean():+.3f}",
                *halves,
                worst,
                f"{by_set.min():.2f} {by_set.idxmin()}",
                _seconds(evidence.mean(rows, name, "seconds")),
            )
        )
    heads = (
        "method",
        "sets",
        "ARI",
        "against k-means",
        "chosen on",
        "confirmed on",
        "loses most",
        "worst",
        "time",
    )
    return _table(heads, lines) + (
        "\n\n“against k-means”: mean difference on the same data sets; use it to compare methods that did not run on all "
        "of them. “chosen on”, “confirmed on”: the two halves. “loses most”: the largest loss compared with k-means."
    )


def _widths(evidence: Evidence) -> str:
    """Return the means by the number of attributes, and a test of the differences from k-means and from the default."""
    rows = evidence.public()
    groups = rows[rows["p"] < 4], rows[rows["p"] >= 4]
    lines = []
    for name in evidence.given(rows, everywhere=True):
        means = [_number(evidence.mean(group, name, "ari")) for group in groups]
        tests = [
            _p_value(evidence.against(group, name, rival))
            for rival in (K_MEANS, FRONT)
            for group in groups
        ]
        lines.append((_titled(name), *means, *tests))
    heads = ("method", "ARI, 2 or 3 attributes", "ARI, 4 or more", "p against k-means, 2 or 3",
             "p against k-means, 4 or more", f"p against {FRONT}, 2 or 3", f"p against {FRONT}, 4 or more")  # fmt: skip
    counts = " and ".join(str(group["set"].nunique()) for group in groups)
    return (
        _table(heads, lines)
        + f"\n\n{counts} data sets. p: two-sided Wilcoxon signed-rank test of the differences."
    )


def _p_value(differences: pd.Series) -> str:
    if (differences != 0).any():
        return f"{wilcoxon(differences).pvalue:.3f}"
    return "-"


def _doubt(evidence: Evidence) -> str:
    rows = evidence.public()
    lines = []
    measures = (
        "ambiguous",
        "outliers",
        "certain",
        "held",
        "hard",
        "ari",
        "kept80",
        "kept60",
    )
    above: dict[str, list[str]] = {"above": [], "below": []}
    for name in _with_doubt(evidence, rows):
        values = [evidence.mean(rows, name, measure) for measure in measures]
        shown = [
            f"{v:.0%}"
            if m in ("ambiguous", "outliers", "held", "hard") and np.isfinite(v)
            else _number(v)
            for m, v in zip(measures, values, strict=True)
        ]
        gains = [
            evidence.against(rows, name, rival, "kept80").mean()
            for rival in (K_MEANS, MIXTURE)
        ]
        lines.append((_titled(name), *shown, *(f"{gain:+.3f}" for gain in gains)))
        if name not in (K_MEANS, MIXTURE):
            above["above" if min(gains) > 0 else "below"].append(name)
    heads = ("method", "ambiguous", "outliers", "ARI of the certain", "class in the set", "label right", "ARI",
             "80 % kept", "60 % kept", "80 %: over k-means", "over the mixture")  # fmt: skip
    best = evidence.best(rows, "kept80", slack=0.0)
    words = (
        "“class in the set”, “label right”: shares of the ambiguous objects whose set contains their class, and whose "
        "label is correct. “80 % kept”: ARI without the 20 % most doubtful objects (see `retention_curve`). The doubt of "
        "k-means is the ratio of the distances to the two nearest centers, that of the mixture one minus the largest "
        "posterior probability. The last two columns compare methods on the same data sets.\n\n"
        f"Better than k-means and the mixture at 80 % kept: {_names(above['above'])}. Not better than both: "
        f"{_names(above['below'])}; if the doubt is important, use {_names(best)} instead."
    )
    return f"{_table(heads, lines)}\n\n{words}\n\n{_rise(evidence, rows)}"


def _with_doubt(evidence: Evidence, rows: pd.DataFrame) -> list[str]:
    """Return the methods that order the objects by doubt; spectral clustering does not."""
    return [
        name
        for name in evidence.given(rows)
        if np.isfinite(evidence.mean(rows, name, "kept80"))
    ]


def _rise(evidence: Evidence, rows: pd.DataFrame) -> str:
    """Better labels raise a whole curve; the value of the doubt is the slope of the curve."""
    names = _with_doubt(evidence, rows)
    rise = {
        name: evidence.mean(rows, name, "kept80") - evidence.mean(rows, name, "ari")
        for name in names
    }
    shown = ", ".join(
        f"{name} {value:.3f}"
        for name, value in sorted(rise.items(), key=lambda item: -item[1])
    )
    return (
        "A curve may be high because of good labels or because of informative doubt. The contribution of the doubt alone "
        f"is the gain in ARI when the 20 % most doubtful objects are set aside: {shown}."
    )


def _outliers(evidence: Evidence) -> str:
    noisy = evidence.generated("noisy")
    clean = evidence.generated()
    clean = clean[clean["family"] != "noisy"]
    lines = []
    for name in evidence.given(noisy, everywhere=True):
        found = evidence.by_set(noisy, name, "planted").dropna()
        if found.empty:
            continue
        false = [
            evidence.mean(rows, name, "outliers")
            for rows in (evidence.public(), clean, noisy)
        ]
        lines.append(
            (
                name,
                f"{found.mean():.0%}",
                f"{found.min():.0%}",
                *(_percent(value) for value in false),
            )
        )
    heads = (
        "method",
        "planted ones found",
        "at worst",
        "false: public",
        "generated, without any",
        "among planted ones",
    )
    return (
        _table(heads, lines)
        + "\n\nShares of all objects. EGMM and BootClus have no mass on the empty set."
    )


def _numbers(evidence: Evidence) -> str:
    lines = []
    for name in evidence.finders(evidence.public()):
        own = evidence.public()[evidence.public()["method"] == name]
        off = (own["found"] - own["c"]).abs()
        halves = [
            _number(evidence.mean(evidence.public(half), name, "ari"))
            for half in (True, False)
        ]
        right = f"{(off == 0).sum()} of {len(own)}"
        seconds = _seconds(own["seconds"].mean())
        lines.append(
            (
                _titled(name),
                _number(own["ari"].mean()),
                *halves,
                right,
                (off <= 1).sum(),
                seconds,
            )
        )
    heads = (
        "method",
        "ARI",
        "chosen on",
        "confirmed on",
        "right number",
        "within one",
        "time",
    )
    by_family = []
    for family in evidence.families():
        rows = evidence.generated(family)
        cells = [family]
        for name in evidence.finders(rows):
            own = rows[rows["method"] == name]
            cells.append(
                f"{own['ari'].mean():.2f} ({(own['found'] == own['c']).sum()})"
            )
        by_family.append(tuple(cells))
    seeds = int(
        evidence.generated()["set"].nunique() / max(len(evidence.families()), 1)
    )
    if lines:
        public = f"Public sets:\n\n{_table(heads, lines)}\n\n"
    else:
        public = ""
    words = f"Generated families: ARI, and for how many of {seeds} seeds the number is right.\n\n"
    return (
        public
        + words
        + _table(("family", *evidence.finders(evidence.generated())), by_family)
    )


def _families(evidence: Evidence) -> str:
    lines = []
    names = evidence.given(evidence.generated())
    for name in [*names[:-2], SINGLE, *names[-2:]]:
        cells = ["ECM, single clusters only" if name == SINGLE else _titled(name)]
        for family in evidence.families():
            values = evidence.by_set(evidence.generated(family), name)
            cells.append(
                f"{values.mean():.2f} ({values.min():.2f})" if len(values) else ""
            )
        lines.append(
            (*cells, _seconds(evidence.mean(evidence.generated(), name, "seconds")))
        )
    return (
        _table(("method", *evidence.families(), "time"), lines)
        + "\n\nMean ARI, and ARI of the worst seed."
    )


def _advice(evidence: Evidence) -> str:
    data = _table(
        ("data", "sets", "take", "ARI", "80 % kept", *COMPARED), by_data(evidence)
    )
    purpose = _table(("you want", "take", "because"), by_purpose(evidence))
    return (
        "The evidential methods with the best mean ARI on such data sets. All methods within 0.01 of the best are listed, "
        "the fastest first; the numbers are those of the first. Only methods that ran on all of the data sets are "
        "included. If another method is better by more than 0.05, it is listed first.\n\n"
        + data
        + "\n\n"
        + purpose
    )


def _each_set(evidence: Evidence) -> str:
    """Return the ARI of every method, and the number of clusters that it found."""
    given = evidence.given(evidence.rows)
    finders = evidence.finders(evidence.rows)
    at = evidence.rows.set_index(["set", "method"])[["ari", "found"]].to_dict("index")
    lines = []
    for name, one in evidence.sets.iterrows():
        cells = [
            str(name) + (" *" if one["chosen"] else ""),
            f"{one['n']} × {one['p']}",
            str(one["c"]),
        ]
        for method in given:
            cells.append(
                f"{at[name, method]['ari']:.2f}" if (name, method) in at else ""
            )
        for method in finders:
            seen = at.get((name, method))
            cells.append(f"{seen['ari']:.2f} / {seen['found']:.0f}" if seen else "")
        lines.append(tuple(cells))
    words = "ARI with the known number of clusters; then ARI / selected number. * data sets on which the rules were chosen.\n\n"
    return words + _table(
        ("set", "objects × attributes", "classes", *given, *finders), lines
    )


def _missing(evidence: Evidence) -> str:
    limits = [
        f"{name}: {method.limits}"
        for name, method in GIVEN_NUMBER.items()
        if method.limits and name != SINGLE
    ]
    lines = [f"- To keep within 15 minutes: {'; '.join(limits)}."]
    lines.append("- SECM (images) and CatECM (categories) need other types of data.")
    lines += [
        f"- {row['method']} failed on {row['set']}: {row['error']}"
        for _, row in evidence.failed.iterrows()
    ]
    return "\n".join(lines)


# ---- cells ---------------------------------------------------------------------------------------


def _table(heads: Iterable[Any], lines: Iterable[tuple[Any, ...]]) -> str:
    heads = tuple(heads)
    align = "|:--" + "|--:" * (len(heads) - 1) + "|"
    body = [
        "| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |"
        for line in (heads, *lines)
    ]
    return "\n".join([body[0], align, *body[1:]])


def _titled(name: str) -> str:
    settings = (GIVEN_NUMBER | FINDERS)[name].settings
    if settings:
        return f"{name} ({settings})"
    return name


def _number(value: float) -> str:
    if np.isfinite(value):
        return f"{value:.3f}"
    return ""


def _percent(value: float) -> str:
    if np.isfinite(value):
        return f"{value:.1%}"
    return ""


def _seconds(value: float) -> str:
    if np.isfinite(value):
        return f"{value:.2f} s"
    return ""


def _names(names: list[str]) -> str:
    if names:
        return ", ".join(names)
    return "none"
