"""The evidential K nearest neighbour rule on Ionosphere and Vehicles."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix
from sklearn.neighbors import KNeighborsClassifier

from dempster.classify import EKNNClassifier
from reproduce import data
from reproduce.lecture import PAPER
from reproduce.runner import Run, experiment

N_TRAINING = {"Ionosphere": 176, "Vehicles": 564}


def errors(name: str, k: int) -> dict[str, Any]:
    """Return the test errors of the evidential rule and of voting, with unscaled attributes."""
    X, y = data.table(name, standardise=False)
    n = N_TRAINING[name]
    model = EKNNClassifier(k, n_jobs=1).fit(X[:n], y[:n])
    voting = KNeighborsClassifier(k).fit(X[:n], y[:n])
    return {
        "evidential": 1 - model.score(X[n:], y[n:]),
        "voting": 1 - voting.score(X[n:], y[n:]),
        "confusion": confusion_matrix(y[n:], model.predict(X[n:])).tolist(),
    }


def _curve(run: Run, name: str, results: dict[int, dict[str, Any]]) -> None:
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
    for rule, style in (("evidential", "o-"), ("voting", "s--")):
        ax.plot(
            list(results),
            [r[rule] for r in results.values()],
            style,
            markersize=4,
            label=f"{rule} K-NN rule",
        )
    ax.set(xlabel="number of neighbours K", ylabel="test error", title=name)
    ax.legend(frameon=False)
    run.figure("curve", figure, f"{name}: test error against the number of neighbours.")


def _results(run: Run, name: str) -> dict[int, dict[str, Any]]:
    numbers = run.choose(list(range(1, 21)), [1, 5, 10, 15])
    found = run.each(errors, [{"name": name, "k": k} for k in numbers], alone=True)
    return dict(zip(numbers, found, strict=True))


@experiment(PAPER, "Ionosphere", "evidential K-NN")
def ionosphere(run: Run) -> None:
    """Objects 1 to 176 are training data (as in the program; the slide says 175), 177 to 351 test data; K = 10."""
    results = _results(run, "Ionosphere")
    ten = results[10]
    table = run.table("K = 10", quantity="value", short=None, form=".7f")
    table.add(
        "test error", paper=0.07428571, ours=ten["evidential"], seconds=ten["seconds"]
    )
    table.add(
        "confusion",
        paper="106, 6 / 7, 56",
        ours=" / ".join(", ".join(map(str, r)) for r in ten["confusion"]),
    )
    _curve(run, "Ionosphere", results)


@experiment(PAPER, "Vehicles", "evidential K-NN")
def vehicles(run: Run) -> None:
    """Objects 1 to 564 are training data, 565 to 846 test data.

    The slides show a curve without numbers; the second
    column has the errors of the R package evclass."""
    results = _results(run, "Vehicles")
    table = run.table(
        "K", "evclass", "voting", quantity="error", short=None, form=".3f"
    )
    for k, r_package in ((1, "–"), (5, 0.319), (10, 0.323), (15, 0.330)):
        found = results[k]
        table.add(
            k,
            r_package,
            f"{found['voting']:.3f}",
            paper="figure",
            ours=found["evidential"],
        )
    best = min(results, key=lambda k: results[k]["evidential"])
    gain = np.mean([r["voting"] - r["evidential"] for r in results.values()])
    run.text(
        f"Smallest error {results[best]['evidential']:.3f} with K = {best}; the error of voting minus that of the "
        f"evidential rule is {gain:+.3f} on average over K."
    )
    _curve(run, "Vehicles", results)


@experiment(PAPER, "Face data", "evidential K-NN")
def faces(run: Run) -> None:
    """216 images of facial expressions, 5 discriminant features: error 0.1528.

    The images are not available.
    """
