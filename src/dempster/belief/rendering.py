"""Mass functions as text and as a table in a notebook."""

from __future__ import annotations

import html

import numpy as np

from dempster._arrays import to_host
from dempster._text import format_count, printable
from dempster.belief.mass_table import MassTable

__all__ = ["text", "html_table"]

_SHOWN_LINES = 5
_SHOWN_ROWS = 20
_SHOWN_SETS = 6
_NAMED_ANSWERS = 8


def text(m: MassTable) -> str:
    """How many there are, and the largest masses of the first."""
    names = ",".join(map(printable, m.frame)) if m.n_clusters <= _NAMED_ANSWERS else f"{m.n_clusters} answers"
    head = f"{type(m).__name__}({format_count(len(m), 'mass function')} on {{{names}}})"
    lines = [_row_text(m, i) for i in range(min(len(m), _SHOWN_LINES))]
    if len(m) > _SHOWN_LINES:
        lines.append(f"... {len(m) - _SHOWN_LINES} more")
    return "\n".join([head, *lines])


def _row_text(m: MassTable, i: int) -> str:
    """The largest masses of a row, ``{a}: 0.6  {a,b}: 0.4``."""
    sets = m.focal_sets.names([printable(name) for name in m.frame])
    row = to_host(m.masses[i])
    largest = [j for j in np.argsort(-row, kind="stable")[:_SHOWN_SETS] if row[j] >= 5e-4]
    text = "  ".join(f"{sets[j]}: {float(row[j]):.3g}" for j in sorted(largest))
    return text if m.index is None else f"{printable(m.index[i])}: {text}"


def html_table(m: MassTable, title: str) -> str:
    """The first rows as HTML; names are escaped."""
    sets = m.focal_sets.names(m.frame)
    shown = min(len(m), _SHOWN_ROWS)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in ["", *sets])
    names = range(shown) if m.index is None else m.index[:shown]
    body = "".join(
        f"<tr><th>{html.escape(str(name))}</th>" + "".join(_cell(float(v)) for v in row) + "</tr>"
        for name, row in zip(names, m.masses[:shown], strict=True)
    )
    more = f"<p>{len(m) - shown} more rows</p>" if len(m) > shown else ""
    heading = f"<p>{html.escape(title)}</p>"
    return f"<div>{heading}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}</div>"


def _cell(value: float) -> str:
    # darker for larger masses, so that a table reads like a picture
    shade = f' style="background: rgba(31, 119, 180, {0.6 * value:.2f})"' if value >= 5e-3 else ""
    return f"<td{shade}>{value:.3f}</td>" if value >= 5e-4 else "<td></td>"
