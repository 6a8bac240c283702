"""Pictures of the page on SECM."""

import numpy as np
from _panels import row

from evidentia.cluster import SECM

# An organ with two lesions, seen through noise, so that the truth is known.
rows, columns = np.mgrid[-1:1:70j, -1:1:90j]
truth = np.zeros(rows.shape, dtype=int)
truth[rows**2 / 0.7 + columns**2 / 0.8 < 1] = 1
truth[(rows + 0.15) ** 2 + (columns + 0.3) ** 2 < 0.1] = 2
truth[(np.abs(rows - 0.55) < 0.03) & (np.abs(columns) < 0.5)] = 2
scan = truth + np.random.default_rng(0).normal(scale=0.45, size=truth.shape)


def panel(picture, title, **options):
    def draw(ax):
        ax.imshow(picture, cmap="gray", **options)
        ax.set_title(title)
        ax.axis("off")

    return draw


def segments(word, **parameters):
    """The regions in their mean gray; pixels that are left open in orange."""
    model = SECM(3, random_state=0, n_init=3, **parameters).fit(scan)
    gray = np.argsort(np.argsort(model.cluster_centers_[:, 0])) / 2
    picture = np.repeat(gray[model.labels_][..., None], 3, axis=-1) * 0.85
    torn = model.credal_partition_.ambiguous
    picture.reshape(-1, 3)[torn] = (0.84, 0.37, 0.0)
    wrong = (np.argsort(np.argsort(model.cluster_centers_[:, 0]))[model.labels_] != truth).mean()
    name, value = next(iter(parameters.items()))
    return panel(picture, f"{word}: {name}={value}\n{wrong:.0%} wrong, {len(torn) / truth.size:.0%} left open")


words = ("too small", "about right", "too large")
row("secm-scan", panel(truth, "truth"), panel(scan, "what is seen"), width=3.4, height=2.9)
row("secm-smoothing", *(segments(w, smoothing=v) for w, v in zip(words, (0.0, 0.5, 0.95), strict=True)), height=3.2)
row("secm-radius", *(segments(w, radius=v) for w, v in zip(words, (1, 2, 8), strict=True)), height=3.2)
row(
    "secm-sets",
    *(
        segments(w, focal_sets=v)
        for w, v in zip(("few", "default", "all"), ("simple", "auto", "full"), strict=True)
    ),
    height=3.2,
)
