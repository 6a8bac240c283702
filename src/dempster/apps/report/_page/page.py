"""The page: one HTML file with its style, its script and its data, and nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

import dempster
from dempster.apps.report._facts.facts import Facts
from dempster.apps.report._page.clusters import clusters_section
from dempster.apps.report._page.doubt import doubt_section
from dempster.apps.report._page.html import Html, tag
from dempster.apps.report._page.map import data_block, map_section
from dempster.apps.report._page.repeat import repeat_section
from dempster.apps.report._page.summary import summary_section
from dempster.apps.report._page.trust import trust_section
from dempster.apps.report._page.words import caveats
from dempster.plot.palette import PALETTE

__all__ = ["page"]

_SCRIPTS = ("page.js", "tables.js", "map.js")
_SHADES = 10
_COMPLETE = "This file is complete: it loads nothing from elsewhere."


def page(
    facts: Facts,
    *,
    title: str,
    notes: list[str],
    command: str | None,
    code: str | None,
    more: dict[str, str],
) -> str:
    """The whole report."""
    mind = caveats(facts, notes)
    map_ = map_section(facts)
    sections = [
        map_,
        clusters_section(facts),
        doubt_section(facts),
        trust_section(facts, mind),
        repeat_section(facts, command, code, more),
    ]
    script, style = _script(), _style()
    body = tag(
        "body",
        _navigation(has_map=map_ is not None),
        tag(
            "main",
            summary_section(facts, title, len(mind)),
            sections,
            tag("footer", f"Made with dempster {dempster.__version__}. {_COMPLETE}"),
        ),
        data_block(facts),
        Html(f"<script>{script}</script>"),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(script, style)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="generator", content="dempster"),
        tag("title", title),
        Html(f"<style>{style}</style>"),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _navigation(*, has_map: bool) -> Html:
    places = [("#map-section", "Map")] * has_map
    places += [("#clusters", "Clusters"), ("#doubt", "The doubtful"), ("#trust", "Trust"), ("#repeat", "Do it again")]
    links = [tag("a", words, href=place) for place, words in places]
    theme = tag("button", "Dark", type="button", class_="plain live", id="theme", hidden=True)
    return tag("nav", tag("div", tag("div", links, class_="links"), theme), aria_label="Sections")


def _policy(script: str, style: str) -> str:
    """Only this script and this style may act, and nothing may be loaded or sent."""
    return (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


@cache
def _script() -> str:
    return "\n".join(_static(name) for name in _SCRIPTS)


@cache
def _style() -> str:
    """The style sheet, with the shades of the heat map in the two first colors of the palette."""
    low, high = (", ".join(str(int(color[k : k + 2], 16)) for k in (1, 3, 5)) for color in PALETTE[:2])
    shades = [
        f".{name}-{k} {{ background: rgba({color}, {0.05 * k:.2f}); }}"
        for name, color in (("low", low), ("high", high))
        for k in range(1, _SHADES + 1)
    ]
    return "\n".join([_static("page.css"), *shades])


def _static(name: str) -> str:
    return files("dempster.apps.report._page").joinpath("static", name).read_text(encoding="utf-8")
