"""Create a report on a model, a partition or the result of a recipe."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dempster import _validation as rule
from dempster._random import as_generator
from dempster._text import format_count
from dempster._types import ArrayLike, FilePath, Seed, TableLike
from dempster.apps.recipe import Recipe
from dempster.apps.report.facts import Facts
from dempster.apps.report.page import render_page
from dempster.apps.report.report_input import resolve_report_input, short_name
from dempster.explain import Stability
from dempster.io.atomic import as_path, atomic_write

MAX_TITLE_CHARACTERS = 200
_STABILITY = rule.flag | rule.kind(Stability, words="a Stability")


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
    fit_params: Mapping[str, Any] | None = None,
    random_state: Seed = 0,
) -> Report:
    """Create a report on a partition as a self-contained HTML page.

    The page has a summary, an interactive map, profiles of the clusters, layers of ten or more
    clusters, explanations of ambiguous objects and outliers, measures of reliability, and the code
    to reproduce the result.

    Parameters
    ----------
    subject : clusterer, pipeline, CredalPartition, labels, `RecipeResult` or `TableModel`
        The result to report. The report on a fitted `ConformalClustering` describes its clusterer
        and its sets.
    table : array-like, table, or list or dictionary of tables, optional
        Training data of the subject, which are attributes or dissimilarities of the objects.
        Without a table, the report contains no profiles and no explanations.
        A `RecipeResult` contains its table.
    y : array-like of shape (n,), optional
        Known classes. They are compared with the clusters and do not change other parts of the
        report.
    attributes : table of n rows, optional
        Columns that describe the objects, if they differ from ``table``. Examples are attributes of
        objects that were clustered by dissimilarities, columns that were not clustered, and columns
        before scaling.
    metric : {"precomputed"} or None
        "precomputed" if ``subject`` is a partition or labels, and ``table`` contains
        dissimilarities.
    recipe : Recipe, optional
        Recipe of the result, which is needed for the command that reproduces the result. A
        `RecipeResult` contains its recipe.
    title : str, optional
        Title of the report.
    names : sequence or mapping, optional
        Names of all clusters, or a mapping from names in the partition to new names.
    stability : bool or Stability, default=True
        Whether to measure stability by five refits to samples of at most 200 objects (or 10 per
        cluster, if this is more), or the result of `dempster.explain.stability`.
    fit_params : mapping, optional
        Further arguments of `fit` (``constraints``, ``y``, ``sample_weight``), which the refits
        need. A `RecipeResult` already contains these arguments.
    random_state : int, RandomState, Generator or None, default=0
        Seed of all samples.

    Returns
    -------
    Report

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_iris
    >>> from dempster.apps.report import make_report
    >>> X = load_iris(as_frame=True).data
    >>> model = ECM(3, random_state=0).fit(X)
    >>> names = ["first", "second", "third"]
    >>> report = make_report(model, X, title="Irises", names=names, stability=False)
    >>> report
    Report('Irises', 150 objects, 3 clusters)
    >>> report.to_html().startswith("<!doctype html>")
    True
    """
    none = rule.none
    rule.check(metric, "metric", none | rule.choice("precomputed"))
    rule.check(recipe, "recipe", none | rule.kind(Recipe, words="a Recipe"))
    rule.check(title, "title", none | rule.kind(str, words="text"))
    rule.check(stability, "stability", _STABILITY)
    rule.check(fit_params, "fit_params", none | rule.kind(Mapping, words="a mapping"))
    rng = as_generator(random_state)
    data = resolve_report_input(
        subject,
        table,
        attributes=attributes,
        y=y,
        recipe=recipe,
        fit_params=fit_params,
        names=names,
        metric=metric,
    )
    facts = Facts(data, stability, rng)
    if title is None or not title.strip():
        objects = short_name(data.file_names or format_count(len(data.partition)))
        title = f"{format_count(data.partition.n_clusters, 'cluster')} of {objects}"
    return Report(facts, title)


class Report:
    """A report on a partition; returned by `make_report`.

    Attributes
    ----------
    title : str
        Title of the report.
    n_objects, n_clusters : int
        Numbers of objects and clusters.

    Examples
    --------
    >>> from dempster.apps.report import make_report
    >>> X = [[1.0], [1.2], [5.0], [5.1], [90.0]]
    >>> report = make_report([0, 0, 1, 1, -1], X, title="Five stones")
    >>> report
    Report('Five stones', 5 objects, 2 clusters)
    >>> "1 (20%) is an outlier" in report.to_html()
    True
    """

    def __init__(self, facts: Facts, title: str):
        self._facts = facts
        self.title = short_name(title, MAX_TITLE_CHARACTERS)
        self.n_objects = facts.counts.n_objects
        self.n_clusters = facts.counts.n_clusters

    def to_html(self) -> str:
        """Return the page as HTML, which contains its style, script and data.

        Returns
        -------
        str
        """
        return render_page(self._facts, self.title)

    def save(self, path: FilePath) -> Path:
        """Write the page to a file; if writing fails, an existing file remains unchanged.

        Parameters
        ----------
        path : path
            The file to create or replace, for example ``report.html``.

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
        frame = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe srcdoc="{frame}" sandbox="allow-scripts allow-downloads" '
            'width="100%" height="720"></iframe>'
        )
