"""Examples 3 and 4: NN-EVCLUS and EVCLUS on the fourclass data, and predictions for new vectors."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster import CredalPartition, FocalSets
from dempster.cluster import EVCLUS, NNEVCLUS, BeliefPeaks, Training
from dempster.datasets import make_fourclass
from dempster.dissimilarity import to_conflict
from dempster.partition import nearest_pairs
from dempster.plot import (
    CredalPartitionDisplay,
    DeltaBelDisplay,
    MassContourDisplay,
    ShepardDisplay,
)
from reproduce.data import table as data_of
from reproduce.displays import draw_history, draw_outlier_contours
from reproduce.nn_evclus.butterfly import PAPER
from reproduce.runner import Run, experiment, summary

CENTRES = np.array([[0, 0], [0, 4], [4, 0], [4, 4]])
UNITS = [5, 10, 20, 30, 45, 60]
PRINTED = {"EVCLUS": 0.00475, "NN-EVCLUS": 0.00564}
LAMBDAS = [0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2]


def fourclass() -> tuple[np.ndarray, np.ndarray]:
    """Return the 400 vectors of the paper and their classes."""
    return data_of("fourclass", standardise=False)


def loss_of(partition: CredalPartition, X: np.ndarray, d0: float) -> float:
    """Return the mean squared difference of conflict and transformed distance over all pairs."""
    masses = partition.masses
    kappa = masses @ partition.focal_sets.conflict @ masses.T
    pairs = np.triu_indices(len(X), 1)
    return float(
        np.mean((kappa[pairs] - to_conflict(pairwise_distances(X), d0)[pairs]) ** 2)
    )


def fit(method: str, **keywords: Any) -> dict[str, Any]:
    """Fit one of the two methods and return its results and CPU seconds."""
    began = time.process_time()
    if method == "EVCLUS":
        result = evclus(**keywords)
    else:
        result = network(**keywords)
    return {**result, "seconds": time.process_time() - began}


def make_evclus(settings: str, seed: int, starts: int) -> EVCLUS:
    """Return EVCLUS with the settings of Example 3, or with all pairs and medoid starts."""
    paper: dict[str, Any] = (
        {"sampling": "random", "n_partners": 100, "init": "random", "n_init": starts}
        if settings == "paper"
        else {}
    )
    return EVCLUS(
        4, focal_sets="pairs", d0_quantile=0.9, random_state=seed, n_jobs=1, **paper
    )


def evclus(settings: str, seed: int, starts: int) -> dict[str, Any]:
    """Fit EVCLUS and return its results."""
    X, y = fourclass()
    model = make_evclus(settings, seed, starts).fit(X)
    return {
        "loss": loss_of(model.credal_partition_, X, model.d0_),
        "ari": float(adjusted_rand_score(y, model.labels_)),
        "masses": model.credal_partition_.masses.round(5).tolist() if seed == 0 else [],
    }


def make_network(
    settings: str,
    seed: int,
    units: int = 20,
    weight: float = 0.0,
    starts: int = 5,
    svm: bool = True,
) -> NNEVCLUS:
    """Return NN-EVCLUS with the settings of Example 4, or starting from the EVCLUS solution."""
    own: dict[str, dict[str, Any]] = {
        "paper": {
            "init": "random",
            "training": Training("adaptive-steps"),
            "n_partners": 100,
            "n_init": starts,
        },
        "trained to the end": {
            "init": "random",
            "training": Training("lbfgs"),
            "tol": 1e-5,
            "n_init": starts,
        },
        "ours": {},
    }
    return NNEVCLUS(
        4,
        focal_sets="pairs",
        d0_quantile=0.9,
        network=units,
        regularization=weight,
        outlier_detector="one-class-svm" if svm else None,
        random_state=seed,
        n_jobs=1,
        **own[settings],
    )


def network(
    settings: str, seed: int, units: int = 20, **options: Any
) -> dict[str, Any]:
    """Fit NN-EVCLUS and predict a thousand new vectors."""
    X, y = fourclass()
    new, classes = make_fourclass(1000, random_state=1)
    model = make_network(settings, seed, units, **options).fit(X)
    predicted = model.predict_mass(new)
    outlier = np.isin(np.arange(len(new)), predicted.outliers)
    far = pairwise_distances(new, CENTRES).min(axis=1)
    return {
        "loss": loss_of(model.credal_partition_, X, model.d0_),
        "test loss": loss_of(predicted, new, model.d0_),
        "ari": float(adjusted_rand_score(y, model.labels_)),
        "test ari": float(adjusted_rand_score(classes, predicted.labels)),
        "outliers": int(outlier.sum()),
        "far": float(far[outlier].mean()) if outlier.any() else 0.0,
        "near": float(far[~outlier].mean()),
        "masses": model.credal_partition_.masses.round(5).tolist()
        if seed == 0 and units == 20
        else [],
        "test masses": predicted.masses.round(5).tolist()
        if seed == 0 and units == 20
        else [],
    }


def peaks() -> BeliefPeaks:
    """Fit the belief peaks of Figure 7 with K = 50 neighbours, q = 0.9 and an unknown number of clusters."""
    return BeliefPeaks(n_neighbors=50, q=0.9, n_jobs=1).fit(fourclass()[0])


@experiment(
    PAPER, "Examples 3 and 4", "fourclass: loss on the training data and on new vectors"
)
def examples_3_and_4(run: Run) -> None:
    """Single clusters, pairs, frame and empty set; d0 at the 0.9 quantile of the distances.

    "Paper": 100 random
    partners for each object, random starts, the best of five; the network has 20 hidden units, no
    penalty on weights, and the one-class SVM (nu = 0.2, sigma = 0.2). "Ours": all pairs; EVCLUS
    starts from medoids, and the network from the EVCLUS solution. Our losses are means over all
    pairs, so that they can be compared with each other; the paper's losses are means over the
    fitted pairs, which are fitted slightly better than the others. Smaller is better."""
    seeds = run.seeds(5)
    starts = run.choose(5, 1)
    rows = [(method, settings) for method in PRINTED for settings in ("paper", "ours")]
    flat = run.each(
        fit,
        [
            {"method": m, "settings": w, "seed": s, "starts": starts}
            for m, w in rows
            for s in seeds
        ],
    )
    groups = {
        row: flat[k * len(seeds) : (k + 1) * len(seeds)] for k, row in enumerate(rows)
    }
    table = run.table("method", "settings", quantity="loss", short=None, form=".5f")
    for (method, settings), results in groups.items():
        seconds = summary(results, "seconds").mean
        table.add(
            method,
            settings,
            paper=PRINTED[method],
            ours=summary(results, "loss"),
            seconds=seconds,
        )
    found = peaks()
    _claims(run, found, groups["NN-EVCLUS", "paper"])
    _pictures(run, found, groups["NN-EVCLUS", "paper"][0])


def _claims(run: Run, found: BeliefPeaks, networks: list[dict[str, Any]]) -> None:
    table = run.table("claim", "on", quantity="value", short=None, form=".3f")
    classes = len(np.unique(fourclass()[1][found.peak_indices_]))
    objects = ", ".join(map(str, np.sort(found.peak_indices_ + 1)))
    ours = f"{len(found.peak_indices_)}, in {classes} classes (objects {objects})"
    table.add("peaks of belief", "fourclass", paper="4", ours=ours)
    table.add("ARI", "fourclass", ours=summary(networks, "ari"))
    new = "1000 new vectors"
    correct = "“correctly identified”"
    table.add(
        "ARI of the masses predicted",
        new,
        paper=correct,
        ours=summary(networks, "test ari"),
    )
    table.add("loss", new, ours=summary(networks, "test loss"))
    table.add(
        "outliers",
        new,
        paper=correct,
        ours=format(summary(networks, "outliers"), ".0f"),
    )
    table.add(
        "mean distance of the outliers to the nearest centre",
        new,
        ours=summary(networks, "far"),
    )
    table.add(
        "mean distance of the others to the nearest centre",
        new,
        ours=summary(networks, "near"),
    )


def _pictures(run: Run, found: BeliefPeaks, result: dict[str, Any]) -> None:
    import matplotlib.pyplot as plt

    family = FocalSets.pairs(4)
    figure, axes = plt.subplots(1, 3, figsize=(16, 5))
    DeltaBelDisplay.from_estimator(found, ax=axes[0])
    for ax, X, masses in (
        (axes[1], fourclass()[0], result["masses"]),
        (axes[2], make_fourclass(1000, random_state=1)[0], result["test masses"]),
    ):
        masses = np.array(masses)
        partition = CredalPartition(masses / masses.sum(axis=1, keepdims=True), family)
        CredalPartitionDisplay.from_partition(partition, X, ax=ax)
    for ax, title in zip(
        axes, ("δ-Bel graph", "training data", "1000 new vectors"), strict=True
    ):
        ax.set_title(title)
    run.figure(
        "partitions",
        figure,
        "Figures 7, 10 and 11. Four objects stand out in the graph of belief and δ. The network finds four clusters; "
        "it assigns vectors between them to sets of clusters and distant vectors to the outliers, also for new "
        "vectors.",
    )


@experiment(
    PAPER,
    "Figures 2, 3, 8, 9, 12 and 13",
    "fourclass: fits, outliers, masses and plausibilities",
)
def figures_2_to_13(run: Run) -> None:
    """The models of Examples 3 and 4 with the settings of the paper, for the first seed."""
    import matplotlib.pyplot as plt

    X, _ = fourclass()
    starts = run.choose(5, 1)
    first = make_evclus("paper", 0, starts).fit(X)
    second = make_network("paper", 0, starts=starts).fit(X)
    figure, axes = plt.subplots(1, 3, figsize=(16, 4.6), layout="constrained")
    CredalPartitionDisplay.from_estimator(first, X, ax=axes[0], title="partition")
    draw_history(axes[1], first.history_, title="objective")
    ShepardDisplay.from_estimator(first, ax=axes[2], title="Shepard diagram")
    run.figure(
        "evclus",
        figure,
        f"Figures 2 and 3: EVCLUS converges after {first.n_iter_} iterations.",
    )
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
    draw_outlier_contours(second, X, axes[0], title="output of the one-class SVM")
    MassContourDisplay.from_estimator(
        second, X, sets=[()], ax=axes[1], title="mass on the empty set"
    )
    run.figure(
        "outliers",
        figure,
        "Figure 8: the mass on the empty set is large far from the data.",
    )
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
    draw_history(axes[0], second.history_, title="loss", reference=first.loss_)
    ShepardDisplay.from_estimator(second, ax=axes[1], title="Shepard diagram")
    run.figure(
        "network",
        figure,
        "Figure 9: the loss of the network approaches the loss of EVCLUS (dotted).",
    )
    sets = [(k,) for k in range(4)] + nearest_pairs(second.credal_partition_, 2)
    masses = MassContourDisplay.from_estimator(
        second, X, sets=sets, grid_resolution=80, n_columns=4
    )
    run.figure(
        "masses",
        masses.figure_,
        "Figure 12: masses on single clusters and on pairs of neighboring clusters.",
    )
    plausible = MassContourDisplay.from_estimator(
        second, X, quantity="plausibility", grid_resolution=80, n_columns=4
    )
    run.figure(
        "plausibilities",
        plausible.figure_,
        "Figure 13: plausibilities of the four clusters.",
    )


@experiment(PAPER, "Figure 14", "fourclass: loss against hidden units and penalty")
def figure_14(run: Run) -> None:
    """Loss of the network of Example 4, without the SVM, on the training data and on a thousand new vectors: (a) for
    different numbers of hidden units without penalty, (b) for different weights λ of the squared
    network weights with 50 units. Each value is a mean over seeds; each training has one random
    start and uses L-BFGS on all pairs until the loss no longer decreases. The paper finds that the
    test loss stops decreasing at about 45 units and is smallest at λ = 1e-5."""
    import matplotlib.pyplot as plt

    seeds = run.seeds(3, 1)
    units = run.choose(UNITS, [5, 45])
    lambdas = run.choose(LAMBDAS, [1e-3])
    one = {
        "method": "NN-EVCLUS",
        "settings": "trained to the end",
        "starts": 1,
        "svm": False,
    }
    grids = (
        (
            "hidden units",
            units,
            [{**one, "seed": s, "units": u} for u in units for s in seeds],
        ),
        (
            "λ",
            lambdas,
            [
                {**one, "seed": s, "units": 50, "weight": w}
                for w in lambdas
                for s in seeds
            ],
        ),
    )
    flat = run.each(fit, [cell for _, _, cells in grids for cell in cells])
    table = run.table(
        "varied", "value", "training loss", quantity="test loss", short=None, form=".5f"
    )
    figure, axes = plt.subplots(1, 2, figsize=(11, 4))
    for ax, (name, values, cells) in zip(axes, grids, strict=True):
        results = flat[: len(cells)]
        flat = flat[len(cells) :]
        groups = [
            results[k * len(seeds) : (k + 1) * len(seeds)] for k in range(len(values))
        ]
        lines = {
            key: [summary(group, key) for group in groups]
            for key in ("loss", "test loss")
        }
        for value, train, test in zip(
            values, lines["loss"], lines["test loss"], strict=True
        ):
            table.add(name, f"{value:g}", format(train, ".5f"), ours=test)
        at = list(range(len(values)))
        ax.plot(at, [s.mean for s in lines["loss"]], "-o", label="training")
        ax.plot(at, [s.mean for s in lines["test loss"]], "--s", label="new vectors")
        ax.set_xticks(at, [f"{value:g}" for value in values])
        ax.set(xlabel=name if name != "λ" else "λ, with 50 hidden units", ylabel="loss")
        ax.legend()
        best = values[int(np.argmin([s.mean for s in lines["test loss"]]))]
        run.text(f"Smallest test loss: {name} {best:g}.")
    run.figure("curves", figure, "Training and test loss, means over seeds.")
