"""Figures of the page on WMVEC."""

import warnings

import numpy as np
from _drawing import TOO_SMALL_TO_LARGE
from _panels import row
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import WMVEC

# Four classes. One view separates the first two from the last two, another the odd from the even,
# two are noise.
rng = np.random.default_rng(0)
kind = np.arange(300) % 4
views = {
    "size": np.column_stack([4.0 * (kind // 2), 2.0 * (kind // 2)])
    + rng.normal(size=(300, 2)),
    "color": np.outer(kind % 2, [2.0, -2.0, 1.5, 1.0])
    + 0.8 * rng.normal(size=(300, 4)),
    "noise": rng.normal(size=(300, 3)),
    "more noise": rng.normal(size=(300, 2)),
}


def weights_panel(evenness, word):
    def draw(ax):
        with warnings.catch_warnings():
            # The figure shows that one view has all the weight.
            warnings.simplefilter("ignore")
            model = WMVEC(4, evenness=evenness, random_state=0).fit(views)
        ax.barh(
            model.view_names_,
            model.view_weights_,
            color=["#0072b2", "#d55e00", "0.6", "0.6"],
            height=0.6,
        )
        ax.invert_yaxis()
        ax.set(xlim=(0, 1), xlabel="weight")
        agreement = adjusted_rand_score(kind, model.labels_)
        ax.set_title(
            f"{word}: evenness={evenness}\nagreement with the kinds {agreement:.2f}"
        )
        ax.spines[["top", "right"]].set_visible(False)

    return draw


row(
    "wmvec-evenness",
    *(
        weights_panel(value, word)
        for value, word in zip((0.02, 0.4, 50), TOO_SMALL_TO_LARGE, strict=True)
    ),
    height=2.4,
)

shown = np.column_stack([views["size"][:, 0], views["color"][:, 0]])


def delta_panel(delta, word):
    def draw(ax):
        model = WMVEC(4, delta=delta, random_state=0).fit(views)
        found = model.credal_partition_
        found.plot(shown, ax=ax, marker_size=14, legend=False)
        if delta == "auto":
            name = f'"auto" ({model.delta_:.2f})'
        else:
            name = f"{delta}"
        ax.set_title(
            f"{word}: delta={name}\n{len(found.ambiguous)} ambiguous, {len(found.outliers)} outliers"
        )
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")

    return draw


row(
    "wmvec-delta",
    *(
        delta_panel(value, word)
        for value, word in zip((0.5, "auto", 4), TOO_SMALL_TO_LARGE, strict=True)
    ),
)

# A view with clear clusters that are unrelated to the other views.
day = rng.integers(2, size=300)
misled = {
    "size": views["size"],
    "color": views["color"],
    "day": 6.0 * np.column_stack([day, day, day]) + rng.normal(size=(300, 3)),
}


def misled_panel(ax):
    model = WMVEC(4, random_state=0).fit(misled)
    ax.barh(
        model.view_names_,
        model.view_weights_,
        color=["#0072b2", "#d55e00", "0.6"],
        height=0.6,
    )
    ax.invert_yaxis()
    ax.set(xlim=(0, 1), xlabel="weight")
    ax.set_title(
        f"a view with clusters of its own\nagreement with the kinds {adjusted_rand_score(kind, model.labels_):.2f}"
    )
    ax.spines[["top", "right"]].set_visible(False)


row("wmvec-fails", misled_panel, width=4.6, height=2.4)
