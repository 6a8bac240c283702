"""Draw the three pictures of the first page: a certain object, an ambiguous one, and an outlier."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import blank

from dempster.cluster import ECM

OFFSETS = {
    "A": (-2.6, 0),
    "B": (2.6, 0),
    "C": (0, 2.6),
}  # The letters are beside the points.
# distinguishable with color vision deficiency
COLORS = np.array(["#0072b2", "#d55e00", "#009e73"])

rng = np.random.default_rng(3)
X = np.vstack(
    [rng.normal(center, 0.75, (60, 2)) for center in ((0, 0), (3.4, 0), (1.7, 3.1))]
)
X = np.vstack([X, [[1.75, 0.05]], [[6.6, 3.6]]])
model = ECM(3, random_state=0).fit(X)
partition = model.credal_partition_
# left, right, top
order = np.argsort(
    model.cluster_centers_[:, 0] + 10 * (model.cluster_centers_[:, 1] > 2)
)
letters = dict(zip(order.tolist(), "ABC", strict=True))
colors = dict(zip(order.tolist(), COLORS, strict=True))
sets = [np.flatnonzero(row) for row in partition.focal_sets.membership]
names = [
    "∅ (none)" if not len(A) else " or ".join(sorted(letters[k] for k in A))
    for A in sets
]

certain = int(np.argmax(partition.masses[:, 1:4].max(axis=1)))
for title, i in (
    ("certain", certain),
    ("ambiguous", len(X) - 2),
    ("outlier", len(X) - 1),
):
    figure, (plane, bars) = plt.subplots(
        1, 2, figsize=(3.6, 2), width_ratios=(1.25, 1), layout="constrained"
    )
    plane.scatter(
        *X.T, s=9, c=[colors[k] for k in partition.labels], alpha=0.45, linewidths=0
    )
    for k, center in enumerate(model.cluster_centers_):
        plane.annotate(
            letters[k],
            center + OFFSETS[letters[k]],
            color="black",
            weight="bold",
            ha="center",
            va="center",
        )
    plane.plot(*X[i], "o", color="black", markersize=5)
    plane.plot(
        *X[i], "o", color="black", markersize=13, fillstyle="none", markeredgewidth=1.6
    )
    plane.set(aspect="equal", xlim=(-3.4, 7.6), ylim=(-2.6, 6.5))
    blank(plane)
    shown = sorted(
        (row for row in range(len(sets)) if len(sets[row]) < 3),
        key=lambda row: (len(sets[row]) or 9, names[row]),
    )
    shades = [
        colors[sets[row][0]]
        if len(sets[row]) == 1
        else "0.25"
        if not len(sets[row])
        else "0.6"
        for row in shown
    ]
    bars.barh([names[row] for row in shown], partition.masses[i, shown], color=shades)
    bars.set(xlim=(0, 1), xticks=[0, 0.5, 1], xlabel="mass")
    bars.invert_yaxis()
    for ax in (plane, bars):
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(f"index-{title}.png", dpi=200)
    plt.close(figure)
