"""Command ``python -m benchmarks.soft_labels``: accuracy of forests that learn from the labels of annotators.

The annotators are simulated. Each of three annotators is a nearest neighbor classifier, which chooses
the classes of an object whose vote is at least half of the largest one. The label is the mean of the
three sets as mass functions. Annotators of limited knowledge know few objects and half of the
attributes, and make the same errors for similar objects. Annotators with a blurred view know many
objects, but see each object with noise, and make independent errors. The command writes a table of
OTHER.md in about four minutes.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import scale

from benchmarks.harness import shared_folder
from benchmarks.other import write_table
from dempster import FocalSets, MassFunctions
from dempster.classify import EKNNClassifier, SoftLabelClassifier

N_SEEDS = 5
N_ANNOTATORS = 3
MAX_OBJECTS = 1000
LIMITED_KNOWLEDGE = 6  # objects of each class that an annotator knows
BLUR = 1.0  # standard deviation of the noise, in standard deviations of the attributes
KINDS = ("limited knowledge", "blurred view")
COLUMNS = (
    "wrong labels",
    "most probable class",
    "weighted classes",
    "`SoftLabelClassifier`",
    "EK-NN",
    "true classes",
)


def data_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    folder = shared_folder()
    if folder is None:
        raise SystemExit(
            "the folder of public data sets is missing: set DEMPSTER_SHARED"
        )
    found = {
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "digits": load_digits(return_X_y=True),
    }
    for name in ("segment", "vehicles", "satellite", "pendigits", "seeds"):
        stored = np.load(folder / "data" / f"{name}.npz")
        found[name] = stored["X"], np.unique(stored["y"], return_inverse=True)[1]
    return found


def annotate(
    X: np.ndarray, y: np.ndarray, kind: str, rng: np.random.Generator
) -> MassFunctions:
    """Return the mean of the sets that the annotators choose."""
    c = int(y.max()) + 1
    p = X.shape[1]
    chosen = []
    for _ in range(N_ANNOTATORS):
        if kind == "limited knowledge":
            columns = rng.permutation(p)[: -(-p // 2)]
            known = np.concatenate(
                [
                    rng.choice(np.flatnonzero(y == k), LIMITED_KNOWLEDGE)
                    for k in range(c)
                ]
            )
            seen = X
        else:
            columns = np.arange(p)
            known = rng.permutation(len(X))[: len(X) // 2]
            seen = X + BLUR * rng.normal(size=X.shape)
        annotator = KNeighborsClassifier(7, weights="distance")
        annotator.fit(X[np.ix_(known, columns)], y[known])
        votes = annotator.predict_proba(seen[:, columns])
        chosen.append(votes >= votes.max(axis=1, keepdims=True) / 2)
    sets, position = np.unique(np.vstack(chosen), axis=0, return_inverse=True)
    position = position.reshape(N_ANNOTATORS, len(X))
    masses = np.eye(len(sets))[position].mean(axis=0)
    return MassFunctions(masses, FocalSets(sets))


def accuracies(X: np.ndarray, y: np.ndarray, kind: str, seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(X))[:MAX_OBJECTS]
    X = scale(X[rows])
    y = y[rows]
    train, test = train_test_split(
        np.arange(len(X)), train_size=0.5, stratify=y, random_state=seed
    )
    soft = annotate(X, y, kind, rng)[train]
    shares = soft.pignistic()
    crisp = shares.argmax(axis=1)
    objects, classes = np.nonzero(shares)
    regressor = RandomForestRegressor(max_features="sqrt", random_state=seed)
    forest = RandomForestClassifier(random_state=seed)
    models = [
        forest.fit(X[train], crisp).score(X[test], y[test]),
        forest.fit(X[train][objects], classes, shares[objects, classes]).score(
            X[test], y[test]
        ),
        SoftLabelClassifier(regressor).fit(X[train], soft).score(X[test], y[test]),
        EKNNClassifier(7, n_jobs=1).fit(X[train], soft).score(X[test], y[test]),
        forest.fit(X[train], y[train]).score(X[test], y[test]),
    ]
    return [float(np.mean(crisp != y[train])), *models]


def format_row(values: np.ndarray) -> list[str]:
    return [f"{value:.2f}" for value in values]


def main() -> None:
    """Write the table."""
    rows = []
    for kind in KINDS:
        results = []
        for name, (X, y) in data_sets().items():
            found = [accuracies(X, y, kind, seed) for seed in range(N_SEEDS)]
            results.append(np.mean(found, axis=0))
            rows.append([f"{name}, {kind}", *format_row(results[-1])])
        rows.append([f"mean, {kind}", *format_row(np.mean(results, axis=0))])
    write_table("Soft labels", ["data", *COLUMNS], rows)


if __name__ == "__main__":
    main()
