"""How far to trust it: verdicts in plain words, the curves behind them, and what to bear in mind."""

from __future__ import annotations

from collections.abc import Sequence

from dempster.apps.report._facts.facts import Facts
from dempster.apps.report._page.html import Html, tag
from dempster.apps.report._page.pictures import line_chart
from dempster.apps.report._page.words import verdicts

__all__ = ["trust_section"]


def trust_section(facts: Facts, caveats: Sequence[str]) -> Html:
    """Verdicts, charts and caveats."""
    found = [tag("article", tag("h3", heading), tag("p", words), class_="card") for heading, words in verdicts(facts)]
    charts = [chart for chart in (_number(facts), _kept(facts)) if chart is not None]
    listed = [tag("li", words) for words in caveats]
    return tag(
        "section",
        tag("h2", "How far to trust it"),
        tag("div", found, class_="verdicts") if found else tag("p", "Nothing could be measured here; see below why."),
        tag("div", charts, class_="charts") if charts else None,
        tag("div", tag("h3", "To bear in mind"), tag("ul", listed, class_="caveats"), id="caveats") if listed else None,
        id="trust",
        aria_label="How far to trust it",
    )


def _number(facts: Facts) -> Html | None:
    number = facts.number
    if number is None or len(number) < 2:
        return None
    best = int(number.support.argmax())
    words = f"Support for each number of clusters, largest for {number.best}"
    chart = line_chart(
        number.n_clusters, number.support, across="number of clusters", upwards="support", words=words, marked=best,
        low=0, high=1,
    )  # fmt: skip
    return tag("figure", tag("h3", "How many clusters"), chart, tag("figcaption", f"{words}."))


def _kept(facts: Facts) -> Html | None:
    kept = facts.trust.kept
    if kept is None:
        return None
    words = "Agreement with the known classes when only the surest objects are kept"
    chart = line_chart(
        kept.share, kept.quality, across="share of the objects kept", upwards="adjusted Rand index", words=words,
        percent=True, low=min(0.0, float(kept.quality.min())), high=1,
    )  # fmt: skip
    return tag("figure", tag("h3", "What the doubt is worth"), chart, tag("figcaption", f"{words}."))
