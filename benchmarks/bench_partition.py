"""Indices of credal partitions of many objects, computed without enumerating all pairs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from benchmarks.harness import Row, Task, benchmark, memory, timings
from dempster import CredalPartition, FocalSets
from dempster.partition import (
    consistency_index,
    credal_rand_index,
    pairwise_nonspecificity,
)
from dempster.partition.relational import sample_pairs

_CLUSTERS = 5
_CONTROL_PAIRS = 1_000_000
_CONTROL_OBJECTS = 4_000


@cache
def _partitions(n: int) -> tuple[CredalPartition, CredalPartition]:
    """Generate two noisy versions of the same clusters, with half of the mass on the cluster of the object."""
    rng = np.random.default_rng(0)
    family = FocalSets.pairs(_CLUSTERS)
    y = rng.integers(0, _CLUSTERS, n)
    both = []
    for _ in range(2):
        seen = np.where(rng.random(n) < 0.1, rng.integers(0, _CLUSTERS, n), y)
        masses = rng.dirichlet(np.ones(len(family)), n) / 2
        masses[np.arange(n), family.singleton_index[seen]] += 0.5
        both.append(CredalPartition(masses, family))
    return both[0], both[1]


def _sampled_beside(exact: float, values: np.ndarray) -> str:
    """Compare an exact mean over all pairs with a mean over sampled pairs."""
    error = values.std() / np.sqrt(len(values))
    away = abs(exact - values.mean()) / error
    return f"{exact:.6f} exact; {len(values):,} sampled pairs: {away:.1f} standard errors away"


def _pair_masses(n: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = sample_pairs(n, _CONTROL_PAIRS, 1)
    a, b = _partitions(n)
    return a.relational(pairs).masses, b.relational(pairs).masses


def _judge_consistency(n: int, value: float) -> str:
    a, b = _pair_masses(n)
    conflict = (
        a[:, 0] + b[:, 0] - a[:, 0] * b[:, 0] + a[:, 1] * b[:, 2] + a[:, 2] * b[:, 1]
    )
    return _sampled_beside(value, 1 - conflict)


def _judge_nonspecificity(n: int, value: float) -> str:
    a, _ = _pair_masses(n)
    return _sampled_beside(value, a[:, 0] + a[:, 3])


def _judge_rand(n: int, value: Any) -> str:
    """Check the reported standard error against an exact computation on fewer objects."""
    a, b = _partitions(_CONTROL_OBJECTS)
    exact = credal_rand_index(a, b, n_pairs=None)
    sampled = credal_rand_index(a, b, n_pairs=200_000, random_state=0)
    away = abs(exact - sampled) / sampled.standard_error
    return (
        f"{float(value):.6f} ± {value.standard_error:.0e} ({value.n_pairs:,} pairs); "
        f"with {_CONTROL_OBJECTS:,} objects {away:.1f} standard errors from exact"
    )


_INDICES = {
    "consistency_index": (lambda a, b: consistency_index(a, b), _judge_consistency),
    "pairwise_nonspecificity": (
        lambda a, b: pairwise_nonspecificity(a),
        _judge_nonspecificity,
    ),
    "credal_rand_index": (
        lambda a, b: credal_rand_index(a, b, random_state=0),
        _judge_rand,
    ),
}


def _index(n: int, name: str) -> Task:
    compute, judge = _INDICES[name]
    compute(*_partitions(1000))
    a, b = _partitions(n)
    return Task(lambda: compute(a, b), lambda value: judge(n, value))


@benchmark
def indices(quick: bool) -> list[Row]:
    """Compute the three indices of pairs: two exactly, the credal Rand index on sampled pairs."""
    if quick:
        n = 30_000
    else:
        n = 100_000
    measured = {name: memory(_index, n, name) for name in _INDICES}
    times = timings([(_index, n, name) for name in _INDICES], rounds=3 if quick else 5)
    what = f"{n:,} objects ({n * (n - 1) // 2:,} pairs), {len(FocalSets.pairs(_CLUSTERS))} focal sets"
    return [
        Row(
            name,
            what,
            seconds=timing.best,
            noise=timing.noise,
            peak_bytes=peak,
            quality=quality,
        )
        for (name, (peak, quality)), timing in zip(measured.items(), times, strict=True)
    ]
