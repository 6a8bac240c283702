"""Draw the results of all clusterers of tables on eight shapes, with the processor times of the fits.

Labels are colors, ambiguous objects have rings, and outliers are crosses.
"""

import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from _drawing import blank
from PIL import Image
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.mixture import GaussianMixture

from dempster.cluster import (
    BPEC,
    CCM,
    ECM,
    EGMM,
    EVCLUS,
    MECM,
    NNEVCLUS,
    RECM,
    BootClus,
    CredalClustering,
    ECMdd,
    EKNNClus,
    FuzzyCMeans,
    NoiseClustering,
    PossibilisticCMeans,
    RoughKMeans,
    WECMdd,
)
from dempster.datasets import make_bananas, make_circles

COLORS = np.array(
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#f0e442", "0.5"]
)
rng = np.random.default_rng(7)


def clouds(*parts):
    """Generate Gaussian clusters with given centers, standard deviations and numbers of objects."""
    return np.vstack(
        [rng.normal(center, spread, (n, 2)) for center, spread, n in parts]
    )


def scattered(X, n):
    """Add n uniformly distributed objects."""
    return np.vstack([X, rng.uniform(X.min(axis=0) - 3, X.max(axis=0) + 3, (n, 2))])


SHAPES = {
    "blobs": (clouds(((0, 0), 1, 100), ((6, 1), 1, 100), ((2, 6), 1, 100)), 3),
    "a row of three": (
        clouds(((0, 0), 1, 100), ((3.6, 0), 1, 100), ((7.2, 0), 1, 100)),
        3,
    ),
    "unequal": (
        clouds(((0, 0), 2.2, 240), ((6.5, 0), 0.5, 30), ((5, 4.5), 0.5, 30)),
        3,
    ),
    "elongated": (clouds(((0, 0), (4, 0.5), 120), ((0, 3), (4, 0.5), 120)), 2),
    "bananas": (make_bananas(300, random_state=1)[0], 2),
    "rings": (make_circles(random_state=1)[0], 2),
    "noise": (
        scattered(
            clouds(((0, 0), 0.6, 90), ((5, 0), 0.6, 90), ((2.5, 4), 0.6, 90)), 60
        ),
        3,
    ),
    "mixed": (
        scattered(
            clouds(
                ((0, 0), (2.5, 0.4), 110), ((0, 3.5), 0.6, 90), ((4.5, 4), 1.3, 100)
            ),
            12,
        ),
        3,
    ),
}
METHODS = {
    "k-means": lambda c: KMeans(c, n_init=10, random_state=0),
    "Gaussian mixture": lambda c: GaussianMixture(c, n_init=5, random_state=0),
    "HDBSCAN": lambda c: HDBSCAN(min_cluster_size=15, copy=True),
    "CredalClustering": lambda c: CredalClustering(c, random_state=0),
    "EVCLUS": lambda c: EVCLUS(c, random_state=0),
    "EVCLUS, connected": lambda c: EVCLUS(c, shape="connected", random_state=0),
    "NNEVCLUS": lambda c: NNEVCLUS(c, random_state=0),
    "ECM": lambda c: ECM(c, random_state=0),
    "CCM": lambda c: CCM(c, random_state=0),
    "RECM": lambda c: RECM(c, random_state=0),
    "EGMM": lambda c: EGMM(c, n_init=4, random_state=0),
    "EGMM, t": lambda c: EGMM(c, distribution="t", n_init=4, random_state=0),
    "BootClus": lambda c: BootClus(c, n_bootstraps=30, random_state=0),
    "BPEC": lambda c: BPEC(c),
    "EKNNClus": lambda c: EKNNClus(random_state=0),
    "MECM": lambda c: MECM(c, random_state=0),
    "ECMdd": lambda c: ECMdd(c, random_state=0),
    "WECMdd": lambda c: WECMdd(c, random_state=0),
    "FuzzyCMeans": lambda c: FuzzyCMeans(c, random_state=0),
    "NoiseClustering": lambda c: NoiseClustering(c, random_state=0),
    "PossibilisticCMeans": lambda c: PossibilisticCMeans(c, random_state=0),
    "RoughKMeans": lambda c: RoughKMeans(c, random_state=0),
}


def draw(ax, X, model):
    """Draw the objects with the colors of their clusters."""
    partition = getattr(model, "credal_partition_", None)
    if hasattr(model, "predict") and partition is None:
        labels = model.predict(X)
    else:
        labels = model.labels_
    ambiguous = []
    out = np.flatnonzero(labels < 0)
    if partition is not None:
        ambiguous = partition.ambiguous
        out = partition.outliers
    inside = np.setdiff1d(np.arange(len(X)), out)
    found = np.unique(labels[inside])
    # Use the same colors in a column.
    place = np.argsort(
        np.argsort([X[labels == k].mean(axis=0) @ (1, 0.5) for k in found])
    )
    shade = COLORS[place[np.searchsorted(found, labels[inside])] % len(COLORS)]
    ax.scatter(*X[inside].T, s=2.5, c=shade, linewidths=0)
    ax.scatter(
        *X[ambiguous].T, s=6, facecolors="none", edgecolors="black", linewidths=0.3
    )
    ax.scatter(*X[out].T, s=6, marker="x", color="black", linewidths=0.5)


figure, axes = plt.subplots(
    len(METHODS),
    len(SHAPES),
    figsize=(1.3 * len(SHAPES), 1.15 * len(METHODS)),
    layout="constrained",
)
EVCLUS(2, random_state=0).fit(SHAPES["blobs"][0])  # The first fit imports modules.
for column, (shape, (X, c)) in zip(axes.T, SHAPES.items(), strict=True):
    X = (X - X.mean(axis=0)) / X.std()  # One scale for both axes keeps the shapes.
    column[0].set_title(shape, fontsize=10)
    for ax, (name, make) in zip(column, METHODS.items(), strict=True):
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # The figure shows where a method fails.
            model = make(c).fit(X)
        seconds = time.process_time() - start
        draw(ax, X, model)
        blank(ax)
        ax.text(
            0.98, 0.02, f"{seconds:.2f} s", transform=ax.transAxes, ha="right", size=7
        )
        ax.set(aspect="equal", adjustable="datalim")
        for spine in ax.spines.values():
            spine.set_color("0.8")
        if shape == "blobs":
            ax.set_ylabel(name, rotation=0, ha="right", va="center")
figure.savefig("comparison-shapes.png")
Image.open("comparison-shapes.png").quantize(128).save(
    "comparison-shapes.png", optimize=True
)
