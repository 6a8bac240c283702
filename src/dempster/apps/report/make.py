"""Make a report of a model, a partition or a run."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from dempster import _validation as rule
from dempster._random import generator
from dempster._text import format_count
from dempster._types import ArrayLike, Seed, TableLike
from dempster.apps.recipe import Recipe
from dempster.apps.report.facts import Facts, collect_facts
from dempster.apps.report.inputs import ReportInput, read_input, short_name
from dempster.apps.report.page import render_page
from dempster.explain import Stability
from dempster.io.atomic import as_path, atomic_write

MAX_TITLE_CHARACTERS = 200
_RULES = {
    "metric": rule.choice(None) | rule.choice("precomputed"),
    "recipe": rule.choice(None) | rule.kind(Recipe, words="a Recipe"),
    "title": rule.choice(None) | rule.kind(str, words="text"),
    "stability": rule.Rule("True, False or a Stability", lambda v: isinstance(v, Stability) or rule.flag.test(v)),
    "seconds": rule.real(0),
    "n_explained": rule.integer(0),
    "max_points": rule.integer(1),
    "fit_params": rule.choice(None) | rule.kind(Mapping, words="a mapping"),
}


def make_report(
    subject: Any,
    table: TableLike = None,
    *,
    y: ArrayLike = None,
    attributes: TableLike = None,
    metric: str | None = None,
    recipe: Recipe | None = None,
    title: str | None = None,
    names: Any = None,
    stability: bool | Stability = True,
    seconds: float = 8.0,
    n_explained: int = 12,
    max_points: int = 20_000,
    fit_params: Mapping[str, Any] | None = None,
    random_state: Seed = 0,
) -> Report:
    """One page on a partition, for a person who must act on it.

    What was done and found in two sentences; a map to hover and zoom; the clusters in words; which of them are hard to
    tell apart, the torn objects and the outliers, with reasons; how far to trust it all; how to get it again.

    Parameters
    ----------
    subject : fitted clusterer or pipeline, CredalPartition, labels, `RecipeResult` of a recipe, or `TableModel`
        What the report is about. Of a partition or labels alone only the partition is known.
    table : array-like, table, or list or dictionary of tables, optional
        The objects, as `fit` took them; dissimilarities where the method takes these. Without it there are neither
        profiles nor reasons.
    y : array-like of shape (n,), optional
        Known classes, to see what the doubt is worth. Nothing else in the report depends on them.
    attributes : table of n rows, optional
        Columns by which clusters are described and objects are drawn, if these are others than those of ``table``:
        attributes of objects that were clustered by dissimilarities, further columns, their own units.
    metric : {"precomputed"} or None
        For a partition or labels: ``table`` holds dissimilarities.
    recipe : Recipe, optional
        How it was made, for the command and the code that make it again; an outcome brings its own.
    title : str, optional
    names : sequence of c names or mapping, optional
        Names of the clusters: one for each, or those of some by a mapping from their names in the partition.
    stability : bool or Stability, default=True
        Whether to run the method again on parts of the objects, or the result of `dempster.explain.stability`.
    seconds : float, default=8
        How much processor time the runs for stability may take together. They use at most 500 objects (10 for each
        cluster if that is more). There are ten of them; where these would take longer, five; where these would too,
        stability is left out. The page says so.
    n_explained : int, default=12
        How many torn objects, and how many outliers, are explained.
    max_points : int, default=20,000
        Objects on the map; of more a sample is drawn, and the page says so.
    fit_params : mapping, optional
        What `fit` was given besides (``constraints``, ``y``, ``sample_weight``), for stability; an outcome brings its
        own.
    random_state : int, RandomState, Generator or None, default=0
        For all samples: the same report twice, unless a method is so slow that ``seconds`` decides.

    Returns
    -------
    Report
        With ``to_html()`` and ``save(path)``.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_iris
    >>> from dempster.apps.report import make_report
    >>> X = load_iris(as_frame=True).data
    >>> model = ECM(3, random_state=0).fit(X)
    >>> report = make_report(model, X, title="Irises", names=["first", "second", "third"], stability=False)
    >>> report
    Report('Irises', 150 objects, 3 clusters)
    >>> report.to_html().startswith("<!doctype html>")
    True
    """
    values = {
        "metric": metric,
        "recipe": recipe,
        "title": title,
        "stability": stability,
        "seconds": seconds,
        "n_explained": n_explained,
        "max_points": max_points,
        "fit_params": fit_params,
    }
    for name, value in values.items():
        rule.check(value, name, _RULES[name])
    rng = generator(random_state)
    data = read_input(
        subject,
        table,
        attributes=attributes,
        y=y,
        recipe=recipe,
        fit_params=fit_params,
        names=names,
        metric=metric,
    )
    facts = collect_facts(
        data,
        stability=stability,
        seconds=float(seconds),
        n_explained=int(n_explained),
        max_points=int(max_points),
        rng=rng,
    )
    return Report(facts, title if title is not None and title.strip() else _default_title(data))


def _default_title(data: ReportInput) -> str:
    what = short_name(data.file_names) if data.file_names else format_count(len(data.partition))
    return f"{format_count(data.partition.n_clusters, 'cluster')} of {what}"


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

    def __init__(self, facts: Facts, title: str):
        self._facts = facts
        self.title = short_name(title, MAX_TITLE_CHARACTERS)

    @property
    def n_objects(self) -> int:
        return self._facts.counts.n_objects

    @property
    def n_clusters(self) -> int:
        return self._facts.counts.n_clusters

    @cached_property
    def _html(self) -> str:
        return render_page(self._facts, self.title)

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
