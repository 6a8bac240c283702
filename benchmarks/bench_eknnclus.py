"""EK-NNclus: scaling of a fit with the number of objects, and one sweep beside the neighbor search."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from benchmarks.harness import Row, Task, at_most, benchmark, memory, timings

_CLUSTERS = 15


@cache
def _blobs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Generate n objects in fifteen round clusters in the plane, some of which touch."""
    from sklearn.datasets import make_blobs

    return make_blobs(n, 2, centers=_CLUSTERS, cluster_std=0.25, random_state=1)


def _judged(model: Any, y: np.ndarray) -> dict[str, Any]:
    from sklearn.metrics import adjusted_rand_score

    ari = float(adjusted_rand_score(y, model.labels_))
    return {
        "ari": ari,
        "quality": f"{model.n_clusters_} clusters, ARI {ari:.3f}, {model.n_iter_} sweeps",
        "falls": bool((np.diff(model.history_) <= 0).all()),
    }


def _fit(n: int) -> Task:
    from dempster.cluster import EKNNClus

    X, y = _blobs(n)
    EKNNClus(random_state=0, n_neighbors=10, n_init=1).fit(X[:500])  # compile
    return Task(
        lambda: EKNNClus(random_state=0).fit(X), lambda model: _judged(model, y)
    )


def _neighbors(n: int) -> Task:
    from sklearn.neighbors import NearestNeighbors

    X, _ = _blobs(n)

    def find() -> Any:
        return NearestNeighbors(n_neighbors=50, n_jobs=-1).fit(X).kneighbors()

    return Task(find)


@benchmark
def growth(quick: bool) -> list[Row]:
    """Compare a full fit with the search of 50 neighbours for ten times the objects, and measure peak memory."""
    if quick:
        small = 30_000
        large = 60_000
    else:
        small = 100_000
        large = 1_000_000
    if quick:
        rounds = 1
    else:
        rounds = 2
    rows = []
    found = {}
    for n in (small, large):
        peak, verdict = memory(_fit, n)
        fit, search = timings([(_fit, n), (_neighbors, n)], rounds)
        found[n] = fit.best, peak
        rows += [
            Row(
                "EKNNClus fit",
                f"{n:,} x 2; ratio to finding the neighbours",
                seconds=fit.best,
                noise=fit.noise,
                peak_bytes=peak,
                quality=verdict["quality"]
                + ("" if verdict["falls"] else ", the objective rose"),
                ratio=fit.best / search.best,
                **at_most(fit.best, 15, " s"),
            ),
            Row(
                "scikit-learn NearestNeighbors",
                f"{n:,} x 2, 50 neighbours",
                search.best,
                search.noise,
            ),
        ]
    times = large / small
    slower = found[large][0] / found[small][0]
    rows.append(
        Row(
            "EKNNClus growth",
            f"time, {times:g} times the objects",
            ratio=slower,
            **at_most(slower, 1.5 * times),
        )
    )
    if found[small][1] and found[large][1]:
        more = found[large][1] / found[small][1]
        rows.append(
            Row(
                "EKNNClus growth",
                f"memory, {times:g} times the objects",
                ratio=more,
                **at_most(more, 1.5 * times),
            )
        )
    return rows


def _search(n: int, kind: str) -> Task:
    """Sweep from random labels on a given graph until no label changes."""
    from dempster.cluster._neighbor_graph import NeighborGraph
    from dempster.cluster.eknnclus import Evidence, neighbor_distances
    from dempster.dissimilarity.neighbors import make_finder
    from dempster.dissimilarity.sources import AttributeSource
    from dempster.optimize.blocks import block_map

    X = _blobs(n)[0]
    neighbors = neighbor_distances(
        make_finder(AttributeSource(X), "exact", 0, -1), n, 100
    )
    with block_map(-1) as apply:
        weights = Evidence.from_neighbors(neighbors, 0.9, 2).weight_graph(
            neighbors, apply
        )
        graph = NeighborGraph.from_weights(weights, "union", apply)
    if kind == "watchful":  # Visit every object in every sweep.
        graph = replace(graph, symmetric=False)

    def run() -> Any:
        rng = np.random.default_rng(0)
        return graph.search(rng.integers(n // 10, size=n), rng, 100)

    run()  # compile
    return Task(
        run,
        lambda end: (
            f"{int(end[0].max()) + 1} clusters, {len(end[1])} sweeps, agreement {end[1][-1]:.6g}"
        ),
    )


@benchmark
def search(quick: bool) -> list[Row]:
    """Compare a search that skips objects with unchanged neighbours with a search that visits all."""
    if quick:
        n = 5_000
    else:
        n = 20_000
    what = f"{n:,} objects, 100 neighbours"
    _, quality = memory(_search, n, "sleepy")
    _, same = memory(_search, n, "watchful")
    ours, plain = timings(
        [(_search, n, "sleepy"), (_search, n, "watchful")], 2 if quick else 3
    )
    return [
        Row(
            "EKNNClus search",
            f"{what}; ratio: times faster than visiting all",
            seconds=ours.best,
            noise=ours.noise,
            quality=quality,
            ratio=plain.best / ours.best,
        ),
        Row(
            "EKNNClus search, all visited", what, plain.best, plain.noise, quality=same
        ),
    ]
