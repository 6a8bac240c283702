"""Command ``python -m benchmarks.relabeled``: which objects change their cluster.

The command writes two tables of OTHER.md. For the first, BootClus and EGMM are refitted to bootstrap
samples of the rows. An object is relabeled if its cluster changes in some refit, or in a tenth of
the fits that BootClus itself makes. The area under the ROC curve (AUC) tells how well the doubt
finds these objects. The second table has the numbers of wrong and ambiguous objects. The program
takes a minute.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.preprocessing import scale

from benchmarks.defaults.measures import match_clusters
from benchmarks.harness import shared_folder
from benchmarks.other import write_table
from dempster.cluster import EGMM, BootClus
from dempster.explain import doubt_scores

N_REFITS = 8


def data_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return public data sets, and overlapping normal clusters."""
    folder = shared_folder()
    if folder is None:
        raise SystemExit(
            "the folder of public data sets is missing: set DEMPSTER_SHARED"
        )
    seeds = np.load(folder / "data" / "seeds.npz")
    triangle = np.array([[0, 0], [3, 0], [1.5, 2.6]])
    many = np.pad(1.3 * triangle, [(0, 0), (0, 11)])
    return {
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "seeds": (seeds["X"], np.unique(seeds["y"], return_inverse=True)[1]),
        "three clusters": make_blobs(300, centers=triangle, random_state=3),
        "four clusters": make_blobs(
            300, 5, centers=4, cluster_std=3.5, random_state=11
        ),
        "many attributes": make_blobs(178, centers=many, random_state=0),
    }


def is_changed(labels: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return whether the cluster of each object differs, after matching the clusters one to one."""
    return match_clusters(labels, others)[labels] != others


def refit(model: Any, X: np.ndarray) -> tuple[np.ndarray, float]:
    """Return whether each object is relabeled, and the median ARI of the refits."""
    rng = np.random.default_rng(7)
    samples = [rng.integers(len(X), size=len(X)) for _ in range(N_REFITS)]
    refits = [clone(model).fit(X[rows]).predict(X) for rows in samples]
    agreement = [adjusted_rand_score(model.labels_, each) for each in refits]
    changed = [is_changed(model.labels_, each) for each in refits]
    return np.any(changed, axis=0), float(np.median(agreement))


def count_and_auc(relabeled: np.ndarray, doubt: np.ndarray) -> list[str]:
    """Return the number of relabeled objects, and the AUC of the doubt, which is undefined if it is all of them."""
    auc = "-" if relabeled.all() else f"{roc_auc_score(relabeled, doubt):.2f}"
    return [str(relabeled.sum()), auc]


def main() -> None:
    """Write the tables."""
    warnings.simplefilter("ignore")
    relabeled_rows = []
    wrong_rows = []
    for name, (X, y) in data_sets().items():
        X = scale(X)
        c = int(y.max()) + 1
        models = {
            "BootClus": BootClus(c, n_bootstraps=100, random_state=0).fit(X),
            "EGMM": EGMM(c, random_state=0).fit(X),
        }
        doubt = {key: doubt_scores(model) for key, model in models.items()}
        row = [name]
        for key, model in models.items():
            relabeled, agreement = refit(model, X)
            row += [f"{agreement:.2f}", *count_and_auc(relabeled, doubt[key])]
            if key == "BootClus":
                row.append(count_and_auc(relabeled, doubt["EGMM"])[1])
                fits = model.bootstraps_.posteriors(X).argmax(axis=1)
                own = (fits != model.labels_[:, None]).mean(axis=1) >= 0.1
                row += count_and_auc(own, doubt[key])
        relabeled_rows.append(row)
        egmm = models["EGMM"]
        # The probability of the most probable cluster of two is 1 / (1 + doubt).
        expected = (1 - 1 / (1 + doubt["EGMM"])).sum()
        known = LinearDiscriminantAnalysis().fit(X, y).predict_proba(X)
        bootclus = models["BootClus"]
        numbers = [
            is_changed(y, egmm.labels_).sum(),
            f"{expected:.1f}",
            len(egmm.credal_partition_.ambiguous),
            (known.max(axis=1) < 2 / 3).sum(),
            is_changed(y, bootclus.labels_).sum(),
            is_changed(y, bootclus.mixture_.predict(X)).sum(),
        ]
        wrong_rows.append([name, *map(str, (*X.shape, *numbers))])
    heads = ["BootClus: ARI of refits", "relabeled", "AUC", "AUC of EGMM's doubt"]
    heads += ["relabeled by its own fits", "AUC, own fits"]
    heads += ["EGMM: ARI of refits", "relabeled by EGMM", "AUC, EGMM"]
    write_table("Relabeled objects", ["data", *heads], relabeled_rows)
    heads = ["objects", "attributes", "wrong, EGMM", "expected", "ambiguous"]
    heads += ["ambiguous if the classes are known"]
    heads += ["wrong, BootClus", "wrong, `BootClus.mixture_`"]
    write_table("Wrong and ambiguous objects", ["data", *heads], wrong_rows)


if __name__ == "__main__":
    main()
