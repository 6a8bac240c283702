"""The doubtful: clusters that are hard to tell apart, torn objects, outliers, each with its reasons."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dempster.apps.report._facts.described import called
from dempster.apps.report._facts.facts import Facts
from dempster.apps.report._facts.told import Told
from dempster.apps.report._page.clusters import object_link
from dempster.apps.report._page.html import Html, sentence, tag
from dempster.apps.report._page.pictures import swatch
from dempster.apps.report._page.tables import Column, table
from dempster.apps.report._page.words import separation_words
from dempster.explain.words import numbered

__all__ = ["doubt_section"]


def doubt_section(facts: Facts) -> Html:
    """Pairs, torn objects and outliers."""
    counts = facts.counts
    if not counts.n_torn and not counts.n_outliers:
        body: list[Html | None] = [tag("p", "No object is torn between clusters, and none is an outlier.")]
    else:
        body = [_pairs(facts), _torn(facts), _outliers(facts)]
    return tag("section", tag("h2", "The doubtful"), *body, id="doubt", aria_label="The doubtful")


def _pairs(facts: Facts) -> Html | None:
    if not facts.pairs:
        return None
    explained = facts.described is not None
    columns = [Column("Hard to tell apart"), Column("Objects between", is_number=True)]
    columns += [Column("What tells them apart", is_wide=True, sorts=False)] if explained else []
    rows = []
    for pair in facts.pairs:
        names = [called(facts.case, k) for k in pair.clusters]
        both = tag("span", swatch(pair.clusters), tag("bdi", names[0]), " and ", tag("bdi", names[1]), class_="cluster")
        rule = [sentence(pair.rule), tag("small", separation_words(pair.separation))]
        rows.append([(both, pair.clusters[0]), (f"{pair.n_objects:,}", pair.n_objects), *([rule] if explained else [])])
    return tag(
        "div",
        tag("h3", "Clusters that are hard to tell apart"),
        table("pair-table", "Pairs of clusters", columns, rows),
    )


def _torn(facts: Facts) -> Html | None:
    number = facts.counts.n_torn
    if not number:
        return None
    return tag(
        "div",
        tag("h3", f"{numbered(number, 'torn object')}"),
        tag("p", _shown(facts.torn, number, "the most doubtful"), class_="quiet"),
        _objects(facts, facts.torn, "torn-table", "Torn objects, the most doubtful first", between=True),
    )


def _outliers(facts: Facts) -> Html | None:
    number = facts.counts.n_outliers
    if not number:
        return None
    return tag(
        "div",
        tag("h3", f"{numbered(number, 'outlier')}"),
        tag("p", _shown(facts.outliers, number, "the clearest"), class_="quiet"),
        _objects(facts, facts.outliers, "outlier-table", "Outliers, the clearest first", between=False),
    )


def _shown(told: Sequence[Told], number: int, which: str) -> str:
    explained = sum(1 for one in told if one.why)
    words = f"The table has {which} {len(told):,}" if len(told) < number else "The table has all of them"
    if explained and explained < len(told):
        return f"{words}, the first {explained} with their reasons."
    return f"{words}."


def _objects(facts: Facts, told: Sequence[Told], name: str, caption: str, *, between: bool) -> Html:
    explained = any(one.why for one in told)
    columns = [
        Column("Object"),
        Column("Torn between" if between else "Nearest cluster"),
        Column("Doubt" if between else "Mass", is_number=True),
    ]
    columns += [Column("Why", is_wide=True, sorts=False)] if explained else []
    rows = []
    for one in told:
        best = facts.case.partition.focal_sets.membership[facts.case.partition.best_set[one.position]]
        clusters = np.flatnonzero(best)
        answer = one.answer if between else one.label
        measure = one.doubt if between else one.mass
        cell = tag("span", swatch([int(k) for k in clusters]), tag("bdi", answer), class_="cluster")
        why = [tag("p", sentence(words)) for words in one.why] or "–"
        row = [object_link(facts, one.position), cell, (f"{measure:.2f}", round(measure, 6))]
        rows.append([*row, *([why] if explained else [])])
    return table(name, caption, columns, rows)
