"""The number of clusters: nonspecificity of ECM, and estimation by EK-NNclus."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import ECM, EVCLUS, EKNNClus
from dempster.datasets import make_fourclass
from dempster.model_selection import NClustersCurve, n_clusters_curve
from dempster.plot import CredalPartitionDisplay
from reproduce.data import table as load
from reproduce.runner import Run, experiment, summary
from reproduce.workshop import PAPER

CANDIDATES = range(2, 7)
CLUSTERS = {"Fourclass": 4, "S2": 15}


def curve(family: str, alpha: float, delta: float) -> dict[str, Any]:
    """Return the nonspecificity of ECM on Fourclass for each number of clusters."""
    X, _ = load("Fourclass", standardise=False)
    estimator = ECM(
        focal_sets=family, alpha=alpha, beta=2.0, delta=delta, random_state=0, n_jobs=1
    )
    found = n_clusters_curve(estimator, X, CANDIDATES)
    return {"nonspecificity": found.nonspecificity.tolist(), "best": found.best}


@experiment(PAPER, "Four classes", "N* by ECM is smallest for four clusters")
def number_of_clusters(run: Run) -> None:
    """N* of ECM against the number of clusters, with the same type of focal sets throughout.

    The slides do not give the
    parameters. With all sets, a penalty on large sets (α = 2) and a moderate distance δ to the
    empty set, N* is smallest for four clusters, as on the slides. Other settings give other
    results: a large δ favors two clusters, and with pairs the curve is flat from four clusters
    on."""
    cases = [
        (family, alpha, delta)
        for family in ("full", "pairs")
        for alpha in (1, 2)
        for delta in (3.0, sqrt(20), 10.0)
    ]
    cases = run.choose(
        cases, [("full", 2, 3.0), ("full", 2, sqrt(20)), ("pairs", 1, 10.0)]
    )
    results = run.each(
        curve, [{"family": a, "alpha": b, "delta": c} for a, b, c in cases]
    )
    table = run.table(
        "sets",
        "α",
        "δ",
        "N* for 2, 3, ... clusters",
        quantity="clusters",
        short=None,
        form=".0f",
    )
    for (family, alpha, delta), result in zip(cases, results, strict=True):
        words = ", ".join(f"{value:.3f}" for value in result["nonspecificity"])
        table.add(
            family,
            alpha,
            f"{delta:.2f}",
            words,
            paper=4.0,
            ours=float(result["best"]),
            seconds=result["seconds"],
        )
    shown = results[cases.index(("full", 2, sqrt(20)))]["nonspecificity"]
    k = len(CANDIDATES)
    drawn = NClustersCurve(
        np.array(CANDIDATES), np.array(shown), np.zeros(k), np.ones(k, dtype=bool), []
    )
    run.figure(
        "curve",
        drawn.plot().figure_,
        "All sets, α = 2, δ² = 20: smallest N* for four clusters",
    )


@experiment(PAPER, "Four classes, pictures", "ECM, EVCLUS and EK-NNclus")
def four_classes(run: Run) -> None:
    """The slides show these partitions without numbers: ECM with the setting for which N* is smallest for four
    clusters, EVCLUS on 2,000 new objects from the same distribution, and EK-NNclus with three times
    √n neighbours."""
    import matplotlib.pyplot as plt

    X, _ = load("Fourclass", standardise=False)
    many, _ = make_fourclass(2000, random_state=0)
    shared: dict[str, Any] = {"random_state": 0, "n_jobs": 1}
    models = {
        "ECM": (
            ECM(4, focal_sets="full", alpha=2, beta=2.0, delta=sqrt(20), **shared),
            X,
        ),
        "EVCLUS, 2,000 objects": (
            EVCLUS(4, focal_sets="pairs", d0_quantile=0.9, **shared),
            many,
        ),
        "EK-NNclus": (EKNNClus(n_neighbors=int(3 * sqrt(len(X))), q=0.9, **shared), X),
    }
    figure, axes = plt.subplots(1, 3, figsize=(17, 5), layout="constrained")
    for ax, (title, (model, rows)) in zip(axes, models.items(), strict=True):
        CredalPartitionDisplay.from_estimator(model.fit(rows), rows, ax=ax, title=title)
    run.figure(
        "partitions",
        figure,
        "ECM and EVCLUS assign objects between the clusters to several of them.",
    )


def neighbours(name: str, per_root: float, q: float, seed: int) -> dict[str, Any]:
    """Fit EK-NNclus with a multiple of the square root of n neighbours."""
    X, y = load(name)
    model = EKNNClus(
        n_neighbors=int(per_root * sqrt(len(X))), q=q, random_state=seed, n_jobs=1
    ).fit(X)
    return {
        "clusters": int(model.n_clusters_),
        "ari": adjusted_rand_score(y, model.labels_),
    }


@experiment(PAPER, "EK-NNclus", "the number of clusters is found")
def eknnclus(run: Run) -> None:
    """Two to three times √n neighbours and q ≥ 0.5, as the slides recommend.

    The result depends on both: q = 0.9 gives
    15 clusters on S2, and 4 on Fourclass with the larger number of neighbours; q = 0.5 gives
    more."""
    seeds = run.seeds(5)
    table = run.table(
        "data",
        "neighbours / √n",
        "q",
        "ARI",
        quantity="clusters",
        short=None,
        form=".1f",
    )
    cases = [
        (name, per_root, q)
        for name in CLUSTERS
        for q in (0.9, 0.5)
        for per_root in (2, 3)
    ]
    results = run.each(
        neighbours,
        [
            {"name": a, "per_root": b, "q": c, "seed": s}
            for a, b, c in cases
            for s in seeds
        ],
    )
    for k, (name, per_root, q) in enumerate(cases):
        runs = results[k * len(seeds) : (k + 1) * len(seeds)]
        index = f"{summary(runs, 'ari'):.2f}"
        seconds = summary(runs, "seconds").mean
        table.add(
            name,
            per_root,
            q,
            index,
            paper=float(CLUSTERS[name]),
            ours=summary(runs, "clusters"),
            seconds=seconds,
        )
