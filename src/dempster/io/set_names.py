"""Names of focal sets as column headings, and back.

A heading is what `FocalSets.names` shows: ``∅``, ``{0}``, ``{0,1}``, ``Ω``. To be read back without doubt, a cluster
name that is text but looks like a number, or holds one of the characters ``, { } " \\``, is written as a JSON string
(``{"a,b",c}``). The frame is the names in the order in which they first occur; when that is not the frame (a cluster
that occurs in no set but the whole, an unusual order), one more column without content is headed ``frame={a,b,c}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import shown
from dempster.belief import FocalSets

__all__ = [
    "encode_name",
    "decode_name",
    "encode_cell",
    "decode_cell",
    "encode_headings",
    "decode_headings",
    "is_set_heading",
    "plain_value",
]

EMPTY, WHOLE, FRAME = "∅", "Ω", "frame="
_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|[^,{}"\\]+')
_SPECIAL = re.compile(r'[,{}"\\\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]')
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")


def plain_value(text: str) -> Any:
    """An integer or a float if the text is exactly how Python writes one, else the text itself."""
    if _INTEGER.fullmatch(text):
        return int(text)
    try:
        number = float(text)
    except ValueError:
        return text
    return number if repr(number) == text else text


def encode_name(name: Hashable) -> str:
    """A cluster name as text that `decode_name` turns into the same name."""
    value = name.item() if isinstance(name, np.generic) else name
    if isinstance(value, bool | int | float):
        return repr(value)
    if not isinstance(value, str):
        raise InvalidInputError(f"cluster names must be text or numbers to be written to a file, got {shown(name)}")
    plain = value and value == value.strip() and not _SPECIAL.search(value) and decode_name(value) == value
    return value if plain else json.dumps(value)


def decode_name(text: str) -> Any:
    """The cluster name that was written as ``text``."""
    if text in ("True", "False"):
        return text == "True"
    return json.loads(text) if text.startswith('"') else plain_value(text)


def encode_cell(text: str) -> str:
    """A name as a cell of a text file: spreadsheets take some first characters for those of a formula, unless there is
    an apostrophe before."""
    return f"'{text}" if _FORMULA.match(text) else text


def decode_cell(text: str) -> str:
    """The name that was written as a cell."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text[1:]) else text


def encode_headings(focal_sets: FocalSets, frame: Sequence[Hashable]) -> tuple[list[str], str | None]:
    """Headings of the columns of masses and, where they do not tell the frame, that of the further column."""
    names = [encode_name(name) for name in frame]
    headings = focal_sets.names(names)
    told = _names_in_order([_members(heading) for heading in headings])
    return headings, None if told == names else f"{FRAME}{{{','.join(names)}}}"


def is_set_heading(text: str) -> bool:
    """Whether a column heading names a set of clusters."""
    return text in (EMPTY, WHOLE) or (text.startswith("{") and text.endswith("}"))


def decode_headings(headings: Sequence[str]) -> tuple[list[int], FocalSets, tuple[Hashable, ...]]:
    """Positions of the columns of masses, their sets, and the names of the clusters."""
    where = [i for i, heading in enumerate(headings) if is_set_heading(heading)]
    if not where:
        raise InvalidInputError("no column is named after a set of clusters, such as {0} or {0,1}")
    sets = [_members(headings[i]) for i in where]
    told = next((h.removeprefix(FRAME) for h in headings if h.startswith(FRAME)), None)
    frame = _names_in_order(sets) if told is None else _members(told) or []
    position = {name: k for k, name in enumerate(frame)}
    if not frame or len(position) < len(frame):
        raise InvalidInputError("the headings of the columns do not tell the names of the clusters")
    rows = np.zeros((len(where), len(frame)), dtype=bool)
    for row, members in zip(rows, sets, strict=True):
        unknown = [name for name in members or [] if name not in position]
        if unknown:
            raise InvalidInputError(f"cluster {unknown[0]} is not in the frame {{{','.join(frame)}}}")
        row[[position[name] for name in frame if members is None or name in members]] = True
    return where, FocalSets(rows), tuple(decode_name(name) for name in frame)


def _members(heading: str) -> list[str] | None:
    """Written names of the clusters of a set, None for the whole frame."""
    if heading == WHOLE:
        return None
    if heading == EMPTY:
        return []
    inside = heading[1:-1]
    names = _NAME.findall(inside)
    if not heading.startswith("{") or not names or ",".join(names) != inside:
        raise InvalidInputError(f"{heading!r} is not a set of clusters such as {{0,1}}")
    return names


def _names_in_order(sets: Sequence[list[str] | None]) -> list[str]:
    return list(dict.fromkeys(name for members in sets for name in members or []))
