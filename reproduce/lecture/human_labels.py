"""Learning from labels given by people: three classifiers on data with real soft labels."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from dempster import MassFunctions
from dempster.classify import EKNNClassifier, EvidentialNeuralNetworkClassifier
from dempster.datasets import DatasetNotAvailableError
from reproduce.human_label_data import (
    fetch_cifar10h,
    fetch_credal_bird,
    fetch_credal_dog,
)
from reproduce.lecture import PAPER
from reproduce.runner import Run, experiment, summary

SETS: dict[str, Callable[[], Any]] = {
    "Credal Dog-7": lambda: fetch_credal_dog(7),
    "Credal Dog-4": lambda: fetch_credal_dog(4),
    "Credal Dog-2": lambda: fetch_credal_dog(2),
    "Credal Bird-10": lambda: fetch_credal_bird(10),
    "Credal Bird-2": lambda: fetch_credal_bird(2),
    "CIFAR-10H": fetch_cifar10h,
}
N_NEIGHBORS = 7
N_COMPONENTS = 50  # of the pixels of CIFAR-10H
CLASSIFIERS = ("EK-NN", "ENN", "random forest")


def errors(data: str, seed: int) -> dict[str, Any]:
    """Return the errors on the true classes of one half, after training with the labels of the other half."""
    found = SETS[data]()
    rows = np.arange(len(found.data))
    train, test = train_test_split(
        rows, train_size=0.5, stratify=found.target, random_state=seed
    )
    X = found.data.astype(float)
    if data == "CIFAR-10H":
        X = PCA(N_COMPONENTS, random_state=seed).fit(X[train]).transform(X)
    soft: MassFunctions = found.masses[train]
    shares = soft.pignistic()
    crisp = shares.argmax(axis=1)
    # A forest needs one class for each row: an object becomes a row for each class, weighted by its
    # probability.
    objects, classes = np.nonzero(shares)
    expanded = X[train][objects], classes, shares[objects, classes]
    models: dict[str, tuple[Any, Any]] = {
        "EK-NN": (EKNNClassifier(N_NEIGHBORS, n_jobs=1), (X[train], soft)),
        "ENN": (
            EvidentialNeuralNetworkClassifier(random_state=seed, n_jobs=1),
            (X[train], soft),
        ),
        "random forest": (
            RandomForestClassifier(random_state=seed, n_jobs=1),
            expanded,
        ),
    }
    result = {"wrong labels": float(np.mean(crisp != found.target[train]))}
    for name, (model, soft_training) in models.items():
        for labels, training in (("crisp", (X[train], crisp)), ("soft", soft_training)):
            result[f"{name}, {labels}"] = float(
                np.mean(model.fit(*training).predict(X[test]) != found.target[test])
            )
    return result


@experiment(PAPER, "Labels by people", "soft labels, on real data")
def human_labels(run: Run) -> None:
    """The slides use labels that are not available.

    These data sets have labels by people and are public. Credal Dog
    and Credal Bird: people chose sets of breeds or species and stated how certain they were; a
    label is a mass function. CIFAR-10H: about fifty people chose one class for each test image of
    CIFAR-10; a label is the proportions of the classes, and the attributes are the first 50
    principal components of the pixels. Training with the labels of one half, errors on the true
    classes of the other half (stratified random halves, ten seeds; CIFAR-10H three). The crisp
    label is the class with the largest pignistic probability. EK-NN with K = 7, ENN and the random
    forest of scikit-learn with their defaults. For soft labels, the forest counts an object for
    each class with its pignistic probability."""
    results = {}
    missing = []
    for data, fetch in SETS.items():
        try:
            fetch()
        except DatasetNotAvailableError:
            missing.append(data)
            continue
        seeds = run.seeds(3 if data == "CIFAR-10H" else 10, 2)
        results[data] = run.each(
            errors, [{"data": data, "seed": seed} for seed in seeds]
        )
    if results:
        table = run.table(
            "data",
            "wrong labels",
            "classifier",
            "labels",
            quantity="error",
            short=None,
            form=".3f",
        )
        for data, found in results.items():
            wrong = f"{summary(found, 'wrong labels').mean:.0%}"
            for classifier, labels in product(CLASSIFIERS, ("crisp", "soft")):
                table.add(
                    data,
                    wrong,
                    classifier,
                    labels,
                    ours=summary(found, f"{classifier}, {labels}"),
                )
    if missing:
        run.text(
            f"Not included, because the files could not be fetched when this page was made: {', '.join(missing)}."
        )
