"""Example 5: a disc inside a ring, clustered with pairs or labels and a learned metric."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score, pairwise_distances, roc_auc_score

from dempster import FocalSets
from dempster.cluster import NNEVCLUS
from dempster.constraints import Constraints
from dempster.datasets import make_circles
from dempster.metric import KFDA, KPCCA
from dempster.plot import MassContourDisplay
from reproduce.displays import (
    draw_constraints,
    draw_feature_boxplots,
    draw_pair_matrix,
)
from reproduce.nn_evclus.butterfly import PAPER
from reproduce.runner import Run, experiment, summary

GAMMA = 0.3  # inverse width of the Gaussian kernel


def fit_circles(
    X: np.ndarray, y: np.ndarray, knowledge: str, seed: int, xi: float = 0.1
) -> tuple[NNEVCLUS, Any, dict]:
    """Fit NN-EVCLUS to the original features with distances of a learned metric.

    Return model, metric and knowledge.
    """
    known: dict[str, Any] = {}
    metric: Any = "euclidean"
    if knowledge == "pairs":
        pairs = Constraints.from_labels(y, 50, random_state=seed)
        metric = KPCCA(1, gamma=GAMMA, random_state=seed)
        known = {"constraints": pairs}
    elif knowledge == "labels":
        labels = np.full(len(y), -1)
        drawn = np.random.default_rng(seed).choice(len(y), 50, replace=False)
        labels[drawn] = y[drawn]
        metric = KFDA(1, gamma=GAMMA)
        known = {"y": labels}
    model = NNEVCLUS(
        2,
        focal_sets="pairs",
        metric=metric,
        d0_quantile=0.9,
        xi=xi,
        regularization=0.01,
        convention="paper",
        network=30,
        random_state=seed,
        n_jobs=1,
    ).fit(X, **known)
    return model, metric, known


def circles(knowledge: str, seed: int, xi: float = 0.1) -> dict[str, Any]:
    """Fit NN-EVCLUS, then predict new objects."""
    X, y = make_circles(500, random_state=seed)
    new, classes = make_circles(500, random_state=1000 + seed)
    began = time.process_time()
    model, metric, known = fit_circles(X, y, knowledge, seed, xi)
    result = {
        "ari": float(adjusted_rand_score(y, model.labels_)),
        "new": float(adjusted_rand_score(classes, model.predict(new))),
        "must-links": len(Constraints.from_labels(y, 50, random_state=seed).must_link),
        "seconds": time.process_time() - began,
    }
    if knowledge != "nothing":
        area = roc_auc_score(y, metric.fit(X, **known).transform(X)[:, 0])
        result["separable"] = float(max(area, 1 - area))
    return result


@experiment(PAPER, "Example 5", "a disc inside a ring")
def example_5(run: Run) -> None:
    """500 vectors, two fifths of them in the disc.

    50 random pairs with KPCCA, or 50 random labels with KFDA (Gaussian
    kernel, σ = 0.3, one feature). NN-EVCLUS has 30 hidden units, λ = 0.01, and d0 at the 0.9
    quantile. The paper reports perfect separation for one sample; we draw new data and pairs for
    each seed. "Separable" is the area under the ROC curve of the feature (1: a threshold separates
    the clusters). "New" means 500 further vectors."""
    seeds = run.seeds(5)
    rows = [
        ("nothing", 0.1, None),
        ("pairs", 0.1, 1.0),
        ("pairs", 0.0, None),
        ("labels", 0.1, 1.0),
    ]
    rows = run.choose(rows, [rows[1], rows[3]])
    flat = run.each(
        circles,
        [{"knowledge": k, "seed": s, "xi": xi} for k, xi, _ in rows for s in seeds],
    )
    table = run.table("knowledge", "ξ", "separable", "ARI, new", form=".3f")
    for knowledge, xi, paper in rows:
        results = flat[: len(seeds)]
        flat = flat[len(seeds) :]
        if knowledge == "nothing":
            separable = "–"
        else:
            separable = format(summary(results, "separable"), ".3f")
        perfect = sum(result["ari"] > 0.999 for result in results)
        table.add(
            knowledge,
            "–" if knowledge != "pairs" else f"{xi:g}",
            separable,
            format(summary(results, "new"), ".3f"),
            paper=paper,
            ours=summary(results, "ari"),
            seconds=summary(results, "seconds").mean,
            why=f"{perfect} of {len(results)} samples are separated perfectly; the value is a mean over samples of "
            "data and pairs, while the paper shows one sample.",
        )
        if knowledge == "pairs" and xi:
            links = [result["must-links"] for result in results]
            run.text(
                f"The 50 pairs contain {min(links)} to {max(links)} must-links (22 in the paper)."
            )


@experiment(
    PAPER,
    "Figures 15 to 21",
    "a disc inside a ring: knowledge, learned feature and contours",
)
def figures_15_to_21(run: Run) -> None:
    """The models of Example 5 for the first seed.

    Objects of the same class are must-linked, objects of different
    classes cannot-linked."""
    import matplotlib.pyplot as plt

    X, y = make_circles(500, random_state=0)
    model, metric, known = fit_circles(X, y, "pairs", 0)
    metric.fit(X, **known)
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    pairs = known["constraints"]
    must_links = Constraints(pairs.must_link)
    cannot_links = Constraints(cannot_link=pairs.cannot_link)
    draw_constraints(axes[0], X, must_links, y, title="must-links")
    draw_constraints(axes[1], X, cannot_links, y, title="cannot-links")
    run.figure("pairs", figure, "Figure 15: must-links and cannot-links.")
    figure = draw_feature_boxplots(metric.transform(X), y)
    run.figure(
        "feature", figure, "Figure 16: the feature that KPCCA learns from the pairs."
    )
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    for ax, rows, title in (
        (axes[0], X, "original space"),
        (axes[1], metric.transform(X), "transformed space"),
    ):
        image = draw_pair_matrix(ax, pairwise_distances(rows), y, title=title)
        figure.colorbar(image, ax=ax, shrink=0.8)
    run.figure(
        "distances", figure, "Figure 17: distances before and after the transformation."
    )
    masses = MassContourDisplay.from_estimator(
        model, X, sets=FocalSets.full(2), n_columns=4
    )
    run.figure("masses", masses.figure_, "Figure 18: masses on the four sets.")
    plausible = MassContourDisplay.from_estimator(model, X, quantity="plausibility")
    run.figure(
        "plausibilities",
        plausible.figure_,
        "Figure 19: plausibilities, and the border where they are equal.",
    )

    model, metric, known = fit_circles(X, y, "labels", 0)
    figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
    draw_constraints(axes[0], X, Constraints(), known["y"], title="50 labels")
    draw_feature_boxplots(metric.fit(X, **known).transform(X), y, axes[1])
    axes[1].set_title("feature of KFDA")
    run.figure(
        "labels",
        figure,
        "Figure 20: labeled objects, and the feature that KFDA learns from them.",
    )
    plausible = MassContourDisplay.from_estimator(model, X, quantity="plausibility")
    run.figure(
        "plausibilities-labels",
        plausible.figure_,
        "Figure 21: plausibilities if labels are known.",
    )
