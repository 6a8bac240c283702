"""Figures of the page on SECM."""

import numpy as np
from _drawing import TOO_SMALL_TO_LARGE
from _panels import row

from dempster.cluster import SECM

# Simulated image of an organ with a lesion and a thin vessel, with noise.
rows, columns = np.mgrid[-1:1:70j, -1:1:90j]
truth = np.zeros(rows.shape, dtype=int)
truth[rows**2 / 0.7 + columns**2 / 0.8 < 1] = 1
truth[(rows + 0.15) ** 2 + (columns + 0.3) ** 2 < 0.1] = 2
line = (np.abs(rows - 0.55) < 0.03) & (np.abs(columns) < 0.5)
truth[line] = 2
scan = truth + np.random.default_rng(0).normal(scale=0.3, size=truth.shape)


def panel(picture, title, **options):
    def draw(ax):
        ax.imshow(picture, cmap="gray", **options)
        ax.set_title(title)
        ax.axis("off")

    return draw


def segments(word, name, value, **more):
    """Draw the regions with their mean gray value and ambiguous pixels in orange."""
    model = SECM(3, random_state=0, n_init=3, **{name: value, **more}).fit(scan)
    found = np.argsort(np.argsort(model.cluster_centers_[:, 0]))[model.labels_]
    picture = np.repeat(found[..., None], 3, axis=-1) * 0.42
    ambiguous = model.credal_partition_.ambiguous
    picture.reshape(-1, 3)[ambiguous] = (0.84, 0.37, 0.0)
    if isinstance(value, str):
        shown = f'"{value}"'
    else:
        shown = value
    wrong = (found != truth).mean()
    lost = (found != truth)[line].mean()
    ambiguous = len(ambiguous) / truth.size
    return panel(
        picture,
        f"{word}: {name}={shown}\n{wrong:.1%} wrong, {lost:.0%} of the vessel; {ambiguous:.1%} open",
    )


row(
    "secm-scan",
    panel(truth, "truth"),
    panel(scan, "what is seen"),
    width=3.4,
    height=2.9,
)
panels = [
    segments(*one, radius=2)
    for one in zip(TOO_SMALL_TO_LARGE, ["smoothing"] * 3, (0.0, 0.5, 0.95), strict=True)
]
row("secm-smoothing", *panels, height=3.2)
words = ("default", "wider", "too large")
panels = [
    segments(*one, smoothing=0.8)
    for one in zip(words, ["radius"] * 3, (1, 2, 6), strict=True)
]
row("secm-radius", *panels, height=3.2)
panels = [
    segments(word, "focal_sets", value)
    for word, value in zip(
        ("few", "default", "all"), ("simple", "auto", "full"), strict=True
    )
]
row("secm-sets", *panels, height=3.2)
