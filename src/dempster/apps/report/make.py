"""From a model, a partition or a run to a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dempster import _validation as rule
from dempster._random import generator
from dempster._types import ArrayLike, Seed, TableLike
from dempster.apps.recipe import Recipe
from dempster.apps.report._facts.case import Case, case_of
from dempster.apps.report._facts.code import code_of
from dempster.apps.report._facts.facts import facts_of
from dempster.apps.report._facts.given import given_of
from dempster.apps.report._facts.naming import shortened
from dempster.apps.report.report import Report
from dempster.explain import Stability
from dempster.explain.words import numbered

__all__ = ["make_report"]

_RULES = {
    "title": rule.choice(None) | rule.kind(str, words="text"),
    "recipe": rule.choice(None) | rule.kind(Recipe, words="a Recipe"),
    "stability": rule.Rule("True, False or a Stability", lambda v: isinstance(v, Stability) or rule.flag.test(v)),
    "seconds": rule.real(0),
    "n_explained": rule.integer(0),
    "max_points": rule.integer(1),
    "fit_params": rule.choice(None) | rule.kind(Mapping, words="a mapping"),
}
_LONGEST_TITLE = 200


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
    subject : fitted clusterer or pipeline, CredalPartition, labels, `Outcome` of a recipe, or `TableModel`
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
    values = locals()
    for name, wanted in _RULES.items():
        rule.check(values[name], name, wanted)
    rng = generator(random_state)
    given = given_of(subject, table, attributes=attributes, y=y, recipe=recipe, learned=fit_params)
    case = case_of(given, names=names, metric=metric)
    facts = facts_of(
        case,
        y=given.y,
        stability=stability,
        seconds=float(seconds),
        n_explained=int(n_explained),
        max_points=int(max_points),
        rng=rng,
    )
    known = given.recipe
    return Report(
        facts,
        title=_title(title, given.source, case),
        notes=given.notes,
        command=None if known is None else known.to_command(),
        code=code_of(case) if known is None else known.to_code(),
        files=given.source,
    )


def _title(title: str | None, source: str, case: Case) -> str:
    if title is not None and title.strip():
        return shortened(title, _LONGEST_TITLE)
    what = shortened(source) if source else numbered(len(case.partition))
    return f"{numbered(case.partition.n_clusters, 'cluster')} of {what}"
