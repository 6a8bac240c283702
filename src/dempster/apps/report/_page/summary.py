"""The head of the report: what was done, what was found, how many objects are certain, torn and outlying."""

from __future__ import annotations

from dempster.apps.report._facts.facts import Facts
from dempster.apps.report._page.html import Html, tag
from dempster.apps.report._page.pictures import answer_bar
from dempster.apps.report._page.words import share, what_was_done, what_was_found

__all__ = ["summary_section"]


def summary_section(facts: Facts, title: str, n_caveats: int) -> Html:
    """Title, two sentences, three numbers."""
    counts = facts.counts
    n = counts.n_objects
    numbers = [
        ("certain", "Certain", counts.n_certain, "clearly in one cluster"),
        ("torn", "Torn", counts.n_torn, "between clusters; the data cannot say"),
        ("outlying", "Outliers", counts.n_outliers, "like none of the clusters"),
    ]
    cards = [
        tag(
            "div",
            tag("dt", tag("span", "", class_=f"key bar-{kind}"), name),
            tag("dd", tag("strong", f"{number:,}"), tag("span", share(number, n), class_="share"), tag("small", words)),
        )
        for kind, name, number, words in numbers
    ]
    mind = "thing" if n_caveats == 1 else "things"
    return tag(
        "header",
        tag("p", "Evidential clustering report", class_="overline"),
        tag("h1", title),
        tag("p", f"{what_was_done(facts)} {what_was_found(facts)}", class_="lede"),
        tag("dl", cards, class_="numbers"),
        answer_bar(counts.n_certain, counts.n_torn, counts.n_outliers),
        tag("p", tag("a", f"{n_caveats} {mind} to bear in mind", href="#caveats"), " before you act.", class_="mind")
        if n_caveats
        else None,
        id="top",
    )
