"""Measures of all candidates of random data sets, with their agreement with the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dempster.cluster.choice.candidates import (
    list_numbers,
    make_candidates,
    rand_index,
    single_cluster,
)
from dempster.cluster.choice.decision import ROUNDS
from dempster.cluster.choice.measures import measure_candidates
from dempster.cluster.choice.rows import Rows
from dempster.dissimilarity.sources import AttributeSource


@dataclass(frozen=True)
class Table:
    """Candidates of one data set."""

    name: str
    measures: np.ndarray  # (candidates, measures)
    n_clusters: np.ndarray  # (candidates,)
    agreement: (
        np.ndarray
    )  # (candidates,), largest adjusted Rand index with a true partition
    true_numbers: tuple[int, ...]
    families: tuple[str, ...]


def make_table(
    name: str, X: np.ndarray, truths: list[np.ndarray], round_: int = 0
) -> Table:
    """Compare the candidates of a data set with the truths (-1: noise)."""
    size, largest = ROUNDS[round_]
    rng = np.random.RandomState(0)
    source = AttributeSource(np.ascontiguousarray(X, float), "euclidean")
    rows = Rows.draw(source, None, size, rng)
    numbers = list_numbers(len(rows), largest)
    candidates = [single_cluster(rows), *make_candidates(rows, numbers, 0, _apply)]
    measures = measure_candidates(rows, candidates, _apply)
    drawn = [truth[rows.which] for truth in truths]
    agreement = [
        max(_agreement(truth, one.labels) for truth in drawn) for one in candidates
    ]
    return Table(
        name,
        measures,
        np.array([one.n_clusters for one in candidates]),
        np.array(agreement),
        tuple(len(np.unique(truth[truth >= 0])) for truth in truths),
        tuple(one.family for one in candidates),
    )


def _apply(function: Any, arguments: Any) -> list[Any]:
    return [function(*one) for one in arguments]


def _agreement(truth: np.ndarray, labels: np.ndarray) -> float:
    """Return the adjusted Rand index over the rows that are not noise, at least 0.

    One cluster agrees only with one cluster.
    """
    inside = truth >= 0
    first = np.unique(truth[inside], return_inverse=True)[1]
    second = np.unique(labels[inside], return_inverse=True)[1]
    if len(first) == 0 or first.max() == 0 or second.max() == 0:
        return float(len(first) > 0 and first.max() == second.max())
    return max(rand_index(first, second), 0.0)
