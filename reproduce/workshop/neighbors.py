"""EK-NNclus: the number of partitions, and the sweeps of the search on a toy example."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dempster.cluster import EKNNClus
from reproduce.runner import Run, experiment
from reproduce.workshop import PAPER

SETTINGS: dict[str, Any] = {"n_neighbors": 9, "q": 0.5, "n_jobs": 1}


def bell_numbers(n: int) -> list[int]:
    """Return the numbers of partitions of 1, ..., n objects, by the triangle of Aitken."""
    row = [1]
    numbers = [1]
    while len(numbers) < n:
        following = [row[-1]]
        for value in row:
            following.append(following[-1] + value)
        row = following
        numbers.append(row[-1])
    return numbers


@experiment(PAPER, "Number of partitions of n objects", "why the search is a heuristic")
def partitions(run: Run) -> None:
    """EK-NNclus searches the space of all partitions of n objects.

    Their number is the Bell number, which the slides
    show as a picture."""
    numbers = bell_numbers(100)
    table = run.table("objects", quantity="partitions", short=None)
    for n in (5, 10, 20, 50, 100):
        value = numbers[n - 1]
        table.add(
            n, paper="figure", ours=f"{value:,}" if value < 10**6 else f"{value:.2e}"
        )
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    ax.plot(range(1, 101), [math.log10(value) for value in numbers])
    ax.set(
        xlabel="number of objects",
        ylabel="log10 of the number of partitions",
        xlim=(0, 100),
        ylim=(0, None),
    )
    run.figure(
        "bell",
        figure,
        "The number of partitions of n objects grows faster than exponentially",
    )


def points() -> np.ndarray:
    """Return 24 points in three groups; the slides show their points only as a picture."""
    rng = np.random.default_rng(0)
    return np.vstack(
        [
            rng.normal(scale=0.6, size=(8, 2)) + center
            for center in ([0, 0], [4, 0], [2, 3])
        ]
    )


def sweeps(seed: int) -> dict[str, Any]:
    """Search from one cluster per object, one sweep at a time.

    Return the labels and the log-plausibility.
    """
    X = points()
    steps = [list(range(len(X)))]
    while len(steps) < 3 or steps[-1] != steps[-2]:
        model = EKNNClus(
            init=steps[-1], max_iter=1, random_state=seed + len(steps), **SETTINGS
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            steps.append(model.fit(X).labels_.tolist())
    values = [EKNNClus(**SETTINGS).log_plausibility(X, labels) for labels in steps]
    return {"labels": steps, "log_plausibility": values}


@experiment(PAPER, "EK-NNclus, toy example", "one sweep after the other")
def eknnclus_steps(run: Run) -> None:
    """Every object starts in its own cluster.

    In a sweep, each object in turn joins the cluster that its neighbors
    support most, and the log-plausibility of the partition never decreases. The slides show the
    sweeps as pictures, and do not give the points; ours are three groups of eight points."""
    (found,) = run.each(sweeps, [{"seed": 0}])
    table = run.table("sweep", "clusters", "log-plausibility")
    for sweep, (labels, value) in enumerate(
        zip(found["labels"], found["log_plausibility"], strict=True)
    ):
        table.add(sweep, len(set(labels)), f"{value:.2f}")
    run.figure(
        "sweeps",
        _drawn(found["labels"]),
        "Clusters after each sweep; lines join neighbors in the same cluster",
    )


def _drawn(steps: list[list[int]]) -> Any:
    import matplotlib.pyplot as plt
    from sklearn.neighbors import kneighbors_graph

    X = points()
    first, second = kneighbors_graph(X, SETTINGS["n_neighbors"]).nonzero()
    figure, panels = plt.subplots(
        1, len(steps), figsize=(3.2 * len(steps), 3.2), layout="constrained"
    )
    for sweep, (ax, labels) in enumerate(zip(panels, np.array(steps), strict=True)):
        for i, j in zip(first, second, strict=True):
            if labels[i] == labels[j]:
                ax.plot(*X[[i, j]].T, color="0.8", linewidth=0.8, zorder=0)
        ax.scatter(*X.T, c=labels, cmap="nipy_spectral", s=30)
        ax.set(title=f"sweep {sweep}" if sweep else "start", xticks=[], yticks=[])
    return figure
