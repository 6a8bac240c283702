"""HTML that is escaped unless it was made here."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from typing import Any

__all__ = ["Html", "tag", "joined", "sentence"]

# words written from right to left, which would turn the signs around them
_FROM_THE_RIGHT = re.compile(
    "([\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+(?:[ \u200c\u200d][\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]+)*)"
)
_VOID = {"input", "meta", "wbr"}


class Html(str):
    """Text that is HTML already; any other text is escaped when it is put into an element."""


def tag(element: str, *children: Any, **attributes: Any) -> Html:
    """``tag("td", name, class_="number", data_v=3)``: children and attributes are escaped; an attribute that is None or
    False is left out, one that is True has no value."""
    given = "".join(_attribute(name, value) for name, value in attributes.items())
    if element in _VOID:
        return Html(f"<{element}{given}>")
    return Html(f"<{element}{given}>{joined(children)}</{element}>")


def sentence(text: str) -> Html:
    """Text in which words written from right to left are kept apart from the rest."""
    return joined(tag("bdi", part) if k % 2 else part for k, part in enumerate(_FROM_THE_RIGHT.split(text)))


def joined(children: Iterable[Any], between: str = "") -> Html:
    """Elements and texts one after the other; what is None is left out."""
    return Html(between.join(_escaped(child) for child in children if child is not None))


def _escaped(child: Any) -> str:
    if isinstance(child, Html):
        return child
    if isinstance(child, list | tuple):
        return joined(child)
    return html.escape(str(child), quote=True)


def _attribute(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    written = name.rstrip("_").replace("_", "-")
    return f" {written}" if value is True else f' {written}="{html.escape(str(value), quote=True)}"'
