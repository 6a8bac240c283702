"""Rejection of uncertain objects: error against the rejection rate."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from dempster.classify import (
    EKNNClassifier,
    EvidenceFromClassifier,
    EvidentialNeuralNetworkClassifier,
)
from dempster.plot import RejectionCurve, RejectionCurveDisplay
from reproduce import data
from reproduce.lecture import PAPER
from reproduce.runner import Run, experiment

N_TRAINING = {"Ionosphere": 176, "Vehicles": 564}
RATES = (0.0, 0.1, 0.2, 0.3)
METHODS = (
    "evidential K-NN",
    "evidential network",
    "logistic regression, as evidence",
    "voting K-NN",
)


def _classifier(name: str) -> Any:
    return {
        "evidential K-NN": EKNNClassifier(range(3, 16), n_jobs=1),
        "evidential network": EvidentialNeuralNetworkClassifier(
            20, regularization=1e-3, n_init=3, random_state=0, n_jobs=1
        ),
        "logistic regression, as evidence": EvidenceFromClassifier(
            LogisticRegression(max_iter=1000)
        ),
        "voting K-NN": KNeighborsClassifier(9),
    }[name]


def rejected(dataset: str, name: str) -> dict[str, Any]:
    """Return the rejection curve of one classifier on standardised attributes."""
    X, y = data.table(dataset)
    n = N_TRAINING[dataset]
    model = _classifier(name).fit(X[:n], y[:n])
    display = RejectionCurveDisplay.from_estimator({name: model}, X[n:], y[n:])
    curve = display.curves[name]
    return {
        "rate": curve.rejection_rate.tolist(),
        "error": curve.error.tolist(),
        "threshold": curve.threshold.tolist(),
    }


@experiment(PAPER, "Decisions", "error against the rate of rejection")
def rejection(run: Run) -> None:
    """Objects with the largest expected loss (pignistic) are rejected first.

    The lecture has no numbers for this
    experiment; standardised attributes, training and test sets as above."""
    arguments = [
        {"dataset": dataset, "name": name} for dataset in N_TRAINING for name in METHODS
    ]
    results = run.each(rejected, arguments, alone=True)
    shares = [f"{rate:.0%} rejected" for rate in RATES[1:]]
    table = run.table(
        "data",
        "classifier",
        *shares,
        quantity="error, none rejected",
        short=None,
        form=".3f",
    )
    curves: dict[str, dict[str, RejectionCurve]] = {}
    for a, r in zip(arguments, results, strict=True):
        curve = RejectionCurve(
            *(np.array(r[key]) for key in ("rate", "error", "threshold"))
        )
        curves.setdefault(a["dataset"], {})[a["name"]] = curve
        errors = [curve.error_at(rate) for rate in RATES]
        table.add(
            a["dataset"],
            a["name"],
            *(f"{e:.3f}" for e in errors[1:]),
            ours=errors[0],
            seconds=r["seconds"],
        )
    for dataset, drawn in curves.items():
        display = RejectionCurveDisplay(curves=drawn).plot(title=dataset)
        caption = f"{dataset}: error rate of the accepted objects against the proportion of rejected objects."
        run.figure(dataset.lower(), display.figure_, caption)
