"""Formatting of names, numbers, lists and sets of clusters as text.

Summaries, explanations, plots, reports, the command-line program and the studio use these
functions, so that their output is consistent. This module imports only the standard library.

- names: `printable`, `one_line`, `shorten`, `shorten_all`, `unique_names`
- lists: `join_words` ("a, b and c"), `join_some` ("a, b and 3 more"), `quote_names` ("'a', 'b' and
  3 more")
- numbers: `format_number`, `format_count` ("12,345 objects"), `format_share` ("12%"), `format_cell`
- JSON: `to_plain`
- clusters: `format_cluster` ("cluster 2"), `format_clusters` ("clusters 1 and 2"), `format_group`
  ("between 1 and 2"), `format_answer` ("cluster 1 or 2")
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from numbers import Integral, Real
from typing import Any

MAX_NAME_CHARACTERS = 60
"""Maximum number of characters of the name of an object or column; longer names are shortened."""
MAX_NAMED_CLUSTERS = 4
"""Maximum number of clusters whose names are listed; larger sets are described by their size."""

# characters that are not printable, but needed in emoji and in some scripts
_JOINERS = "\u200c\u200d"


# ---- names ---------------------------------------------------------------------------------------


def printable(name: Any) -> str:
    """Return a name as text whose control characters are escaped, for output on a terminal."""
    text = str(name)
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in _JOINERS else repr(c)[1:-1] for c in text
    )


def one_line(name: Any) -> str:
    """Return a name as printable text without line breaks, or "(no name)" if it is empty."""
    return printable(" ".join(str(name).split())) or "(no name)"


def shorten(name: str, limit: int) -> str:
    """Shorten a name to at most ``limit`` characters by an ellipsis in the middle."""
    if len(name) <= limit:
        return name
    tail = (limit - 1) // 3
    return f"{name[: limit - 1 - tail].rstrip()}…{name[len(name) - tail :].lstrip()}"


def shorten_all(names: Sequence[str], limit: int) -> list[str]:
    """Shorten names to at most ``limit`` characters.

    Names that would become equal lose their common beginning.
    """
    short = [shorten(name, limit) for name in names]
    for text in [text for text, count in Counter(short).items() if count > 1]:
        alike = [k for k, other in enumerate(short) if other == text]
        if len({names[k] for k in alike}) == 1:
            continue
        letters = zip(*(names[k] for k in alike), strict=False)
        start = next((at for at, these in enumerate(letters) if len(set(these)) > 1), 0)
        head = names[alike[0]][: min(start, limit // 3)].rstrip()
        for k in alike:
            short[k] = f"{head}…{shorten(names[k][start:], limit - len(head) - 1)}"
    return short


def unique_names(names: Iterable[Any], limit: int) -> list[str]:
    """Shorten names to at most ``limit`` characters, and number names that become equal."""
    taken: dict[str, int] = {}
    unique = []
    for short in shorten_all(
        [one_line(str(name)[: 40 * limit]) for name in names], limit
    ):
        candidate = short
        while candidate in taken:
            taken[short] += 1
            candidate = f"{short} ({taken[short]})"
        taken.setdefault(candidate, 1)
        unique.append(candidate)
    return unique


# ---- lists ---------------------------------------------------------------------------------------


def join_words(words: Sequence[str], conjunction: str = "and") -> str:
    """Return the words as a list, such as ``a, b and c``."""
    if len(words) > 1:
        return f"{', '.join(words[:-1])} {conjunction} {words[-1]}"
    return "".join(words)


def join_some(words: Sequence[str], limit: int = 8, *, total: int | None = None) -> str:
    """Return the first words as a list, such as ``a, b and 3 more``.

    ``total`` is the number of all words.
    """
    if total is None:
        total = len(words)
    text = ", ".join(words[:limit])
    if total > limit:
        text += f" and {total - limit:,} more"
    return text


def quote_names(names: Iterable[Any], limit: int = 8) -> str:
    """Return the first ``limit`` names in quotes as a list, such as ``'a', 'b' and 3 more``."""
    return join_some([f"'{name}'" for name in names], limit)


# ---- numbers -------------------------------------------------------------------------------------


def format_number(value: Any, digits: int = 4) -> str:
    """Return a number with ``digits`` significant digits and commas, or "-" for NaN."""
    number = float(value)
    if math.isnan(number):
        return "-"
    if 10 ** (digits - 1) <= abs(number) < 1e9:
        return f"{number:,.0f}"
    return f"{number:.{digits}g}"


def format_count(count: int, thing: str = "object") -> str:
    """Return a number with a noun, such as ``1 object`` or ``12,345 objects``."""
    return f"{count:,} {thing}{'s' * (count != 1)}"


def format_share(part: int, whole: int) -> str:
    """Return part / whole as a percentage.

    Positive values below 1% become ``<1%``, and values above 99% ``>99%``.
    """
    percent = 100 * part / max(whole, 1)
    if 0 < percent < 1:
        return "<1%"
    if 99 < percent < 100:
        return ">99%"
    return f"{percent:.0f}%"


def format_cell(value: Any) -> str:
    """Return a value of a table as text, and missing values as "unknown"."""
    is_fraction = isinstance(value, Real) and not isinstance(value, Integral)
    if value is None or (is_fraction and math.isnan(value)):
        return "unknown"
    if is_fraction:
        return format_number(value)
    return printable(value)


# ---- clusters ------------------------------------------------------------------------------------


def format_cluster(name: Hashable) -> str:
    """Return ``cluster 2`` for the name 2, and names that are not numbers unchanged."""
    text = printable(name)
    if _is_number(text):
        return f"cluster {text}"
    return text


def format_clusters(names: Sequence[Hashable]) -> str:
    """Return ``clusters 1 and 2`` for the names 1 and 2, and ``a and b`` for other names."""
    texts = [printable(name) for name in names]
    if len(texts) > 1 and all(map(_is_number, texts)):
        return f"clusters {join_words(texts)}"
    return join_words([format_cluster(name) for name in names])


def format_group(clusters: Sequence[int], frame: Sequence[Hashable]) -> str:
    """Describe a set of clusters as ``cluster 2``, ``between 2 and 3`` or ``outliers``."""
    if not len(clusters):
        return "outliers"
    if len(clusters) == 1:
        return format_cluster(frame[clusters[0]])
    if len(clusters) > MAX_NAMED_CLUSTERS:
        return f"between {_count_clusters(clusters, frame)}"
    return f"between {join_words(_short_names(clusters, frame))}"


def format_answer(clusters: Sequence[int], frame: Sequence[Hashable]) -> str:
    """Describe a predicted set of clusters, such as ``cluster 2 or 3``."""
    if not len(clusters):
        return "no cluster (outlier)"
    if len(clusters) > MAX_NAMED_CLUSTERS:
        return f"any of {_count_clusters(clusters, frame)}"
    _, *others = _short_names(clusters, frame)
    return join_words([format_cluster(frame[clusters[0]]), *others], "or")


def _short_names(clusters: Sequence[int], frame: Sequence[Hashable]) -> list[str]:
    """Return the names of clusters, in which "cluster" is omitted if all names are numbers."""
    texts = [printable(frame[k]) for k in clusters]
    if all(map(_is_number, texts)):
        return texts
    return list(map(format_cluster, texts))


def _count_clusters(clusters: Sequence[int], frame: Sequence[Hashable]) -> str:
    return f"{'all ' * (len(clusters) == len(frame))}{len(clusters)} clusters"


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdigit()


# ---- JSON ----------------------------------------------------------------------------------------


def to_plain(value: Any) -> Any:
    """Convert a value to JSON types.

    Numbers that are not finite become None, and other types become text.
    """
    if isinstance(value, dict):
        return {str(key): to_plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [to_plain(one) for one in value]
    if hasattr(value, "tolist"):  # NumPy arrays and numbers, pandas columns
        return to_plain(value.tolist())
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return None
    if value is None or isinstance(value, str | bool | int):
        return value
    return str(value)
