"""A report: one page that can be read, printed and sent."""

from __future__ import annotations

import html
import os
from functools import cached_property
from pathlib import Path

from dempster.apps.report._facts.facts import Facts
from dempster.apps.report._page.page import page
from dempster.io.atomic import as_path, atomic_write

__all__ = ["Report"]


class Report:
    """A report on a partition; made by `make_report`.

    Attributes
    ----------
    title : str
    n_objects, n_clusters : int

    Examples
    --------
    >>> from dempster.apps.report import make_report
    >>> report = make_report([0, 0, 1, 1, -1], [[1.0], [1.2], [5.0], [5.1], [90.0]], title="Five stones")
    >>> report
    Report('Five stones', 5 objects, 2 clusters)
    >>> "1 fits into none" in report.to_html()
    True
    """

    def __init__(
        self, facts: Facts, *, title: str, notes: list[str], command: str | None, code: str | None, files: str = ""
    ):
        self._facts = facts
        self._notes, self._command, self._code, self._files = notes, command, code, files
        self.title = title

    @property
    def n_objects(self) -> int:
        return self._facts.counts.n_objects

    @property
    def n_clusters(self) -> int:
        return self._facts.counts.n_clusters

    @cached_property
    def _html(self) -> str:
        more = {"read from": self._files} if self._files else {}
        return page(self._facts, title=self.title, notes=self._notes, command=self._command, code=self._code, more=more)

    def to_html(self) -> str:
        """The page, complete in itself: it loads nothing from elsewhere, and the same report gives the same text."""
        return self._html

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, whole or not at all.

        Parameters
        ----------
        path : path
            The file to make or to replace, as ``report.html``.

        Returns
        -------
        pathlib.Path
        """
        target = as_path(path)
        text = self.to_html()
        with atomic_write(target) as temporary:
            temporary.write_text(text, encoding="utf-8")
        return target

    def __repr__(self) -> str:
        return f"Report({self.title!r}, {self.n_objects:,} objects, {self.n_clusters:,} clusters)"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, for notebooks."""
        frame = html.escape(self.to_html(), quote=True)
        return f'<iframe srcdoc="{frame}" sandbox="allow-scripts" width="100%" height="720"></iframe>'
