"""Figures of the page on BeliefPeaks."""

import numpy as np
from _drawing import TOO_SMALL_TO_LARGE, blank, parameter_row
from _panels import COLORS, clouds, row
from sklearn.datasets import make_moons

from dempster.cluster import BeliefPeaks
from dempster.datasets import make_fourclass
from dempster.plot import DeltaBelDisplay

X, _ = make_fourclass(400, random_state=0)


def peaks(model):
    if model.n_clusters_ == 1:
        return "1 peak"
    return f"{model.n_clusters_} peaks"


def peaks_panel(ax, model, X, title):
    """Draw objects by cluster, darker for a higher belief of being a center, and peaks as diamonds."""
    colors = COLORS[model.labels_ % len(COLORS)]
    ax.scatter(
        *X.T,
        s=5 + 40 * model.belief_ / model.belief_.max(),
        c=colors,
        alpha=0.45,
        linewidths=0,
    )
    ax.scatter(
        *X[model.peak_indices_].T,
        s=70,
        marker="D",
        c="black",
        edgecolors="white",
        linewidths=1,
    )
    ax.set_title(f"{title}\n{peaks(model)}")
    ax.spines[["top", "right"]].set_visible(False)
    blank(ax)


def panel_of(model, X, title):
    return lambda ax: peaks_panel(ax, model, X, title)


parameter_row(
    "beliefpeaks-neighbors",
    "n_neighbors",
    [4, 50, 250],
    lambda n_neighbors: BeliefPeaks(n_neighbors=n_neighbors).fit(X),
    X,
    panel=peaks_panel,
)


def plane(min_delta, word):
    def draw(ax):
        model = BeliefPeaks(n_neighbors=50, min_delta=min_delta).fit(X)
        DeltaBelDisplay.from_estimator(model, ax=ax, labels=False)
        ax.set(
            title=f"{word}: min_delta={min_delta}\n{peaks(model)}",
            xlabel="belief",
            ylabel="delta",
        )

    return draw


row(
    "beliefpeaks-plane",
    *(
        plane(value, word)
        for value, word in zip((0.42, 2.0, 4.2), TOO_SMALL_TO_LARGE, strict=True)
    ),
)

moons, _ = make_moons(300, noise=0.06, random_state=0)
line = clouds(((0, 0), (4, 0.4), 200), ((0, 3), (4, 0.4), 200))
shapeless = np.random.default_rng(3).uniform(-1, 1, (300, 2))
row(
    "beliefpeaks-fails",
    panel_of(BeliefPeaks().fit(line), line, "two long clusters"),
    panel_of(BeliefPeaks().fit(moons), moons, "two moons"),
    panel_of(BeliefPeaks().fit(shapeless), shapeless, "no clusters at all"),
)
