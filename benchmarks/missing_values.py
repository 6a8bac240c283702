"""Command ``python -m benchmarks.missing_values``: compare ``missing="partial"`` with imputation.

The command writes a table of OTHER.md. Cells of standardised data sets with classes are removed at
random. The table has the adjusted Rand index, and the proportion of objects with missing values
that are wrong and certain: their cluster differs from the cluster in the complete data, and their
doubt is below one half. The program takes a few minutes.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import make_blobs
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.metrics import adjusted_rand_score, confusion_matrix

from benchmarks.harness import shared_folder
from benchmarks.other import write_table
from dempster.cluster import ECM, EVCLUS
from dempster.explain import doubt_scores

SHARES = 0.05, 0.1, 0.2, 0.3
PATTERNS = 3
PUBLIC = "iris", "wine", "seeds", "ecoli"
TREATMENTS: dict[str, Any] = {
    '`missing="partial"`': None,
    "mean of the column": SimpleImputer(),
    "`KNNImputer`": KNNImputer(),
    "`IterativeImputer`": IterativeImputer(random_state=0, max_iter=5),
}


def data_sets() -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the public data sets, if available, and five overlapping Gaussian clusters."""
    sets = [
        make_blobs(
            400, 6, centers=5, center_box=(-3, 3), cluster_std=1.2, random_state=1
        )
    ]
    folder = shared_folder()
    for name in PUBLIC if folder is not None else ():
        stored = np.load(folder / "data" / f"{name}.npz")
        X = stored["X"].astype(float)
        sets.append(
            (
                (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1),
                stored["y"],
            )
        )
    return sets


def hidden(X: np.ndarray, share: float, seed: int) -> np.ndarray:
    """Return X with random missing cells; every row keeps at least one value."""
    lost = np.random.default_rng(seed).random(X.shape) < share
    lost[lost.all(axis=1), 0] = False
    return np.where(lost, np.nan, X)


def wrong_and_certain(model: Any, complete: np.ndarray, lacking: np.ndarray) -> float:
    """Return the proportion among objects with missing values.

    Clusters are matched with those of the complete data.
    """
    c = model.n_clusters_
    mine, theirs = linear_sum_assignment(
        -confusion_matrix(complete, model.labels_, labels=range(c))
    )
    same = np.empty(c, dtype=int)
    same[theirs] = mine
    wrong = (same[model.labels_] != complete) & (
        doubt_scores(model.credal_partition_) < 0.5
    )
    return float(wrong[lacking].mean())


def main() -> None:
    """Write the table."""
    warnings.simplefilter("ignore")
    sets = data_sets()
    if len(sets) <= len(PUBLIC):
        raise SystemExit(
            "the folder of public data sets is missing: set DEMPSTER_SHARED"
        )
    rows = []
    for method in (ECM, EVCLUS):
        fits = [
            method(len(np.unique(y)), random_state=0).fit(X).labels_ for X, y in sets
        ]
        whole = np.mean(
            [
                adjusted_rand_score(y, labels)
                for (_, y), labels in zip(sets, fits, strict=True)
            ]
        )
        for share in SHARES:
            found: dict[str, list[tuple[float, float]]] = {
                name: [] for name in TREATMENTS
            }
            for (X, y), labels in zip(sets, fits, strict=True):
                for seed in range(PATTERNS):
                    holes = hidden(X, share, seed)
                    for name, imputer in TREATMENTS.items():
                        if imputer is None:
                            table = holes
                        else:
                            table = imputer.fit_transform(holes)
                        model = method(
                            len(np.unique(y)), missing="partial", random_state=0
                        ).fit(table)
                        wrong = wrong_and_certain(
                            model, labels, np.isnan(holes).any(axis=1)
                        )
                        found[name].append(
                            (adjusted_rand_score(y, model.labels_), wrong)
                        )
            cells = [
                f"{np.mean(values, axis=0)[0]:.2f}, {np.mean(values, axis=0)[1]:.1%}"
                for values in found.values()
            ]
            rows.append([method.__name__, f"{share:.0%}", f"{whole:.2f}", *cells])
            print(*rows[-1], flush=True)
    write_table("Missing values", ["method", "missing", "complete", *TREATMENTS], rows)


if __name__ == "__main__":
    main()
