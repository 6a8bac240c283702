"""Figures of the page on ParsimoniousGaussianMixture."""

import numpy as np
from _drawing import blank, parameter_row
from _panels import COLORS, clouds, row
from matplotlib.patches import Ellipse
from sklearn.datasets import make_moons

from dempster.mixture import ParsimoniousGaussianMixture

rng = np.random.default_rng(1)
X = np.vstack(
    [
        rng.multivariate_normal((0, 0), [[2.0, 1.6], [1.6, 2.0]], 120),
        rng.multivariate_normal((4.5, 0), [[0.9, -0.7], [-0.7, 0.9]], 120),
        rng.multivariate_normal((2.5, 4.5), [[0.35, 0.0], [0.0, 0.35]], 60),
    ]
)


def ellipse_panel(ax, model, X, title):
    """Draw the objects by component, with ellipses that contain 90 % of each component."""
    ax.scatter(*X.T, s=9, c=COLORS[model.labels_ % len(COLORS)], linewidths=0)
    for k, (mean, covariance) in enumerate(
        zip(model.means_, model.covariances_, strict=True)
    ):
        values, vectors = np.linalg.eigh(covariance)
        width, height = 2 * np.sqrt(4.6 * values)
        angle = np.degrees(np.arctan2(vectors[1, 0], vectors[0, 0]))
        ax.add_patch(
            Ellipse(
                mean,
                width,
                height,
                angle=angle,
                fill=False,
                edgecolor=COLORS[k % len(COLORS)],
                linewidth=1.5,
            )
        )
    ax.set_title(f"{title}\nBIC {model.bic_:.0f}")
    ax.set_aspect("equal", adjustable="datalim")
    ax.spines[["top", "right"]].set_visible(False)
    blank(ax)


def fit(**parameters):
    return ParsimoniousGaussianMixture(**{"n_components": 3, **parameters}).fit(X)


name = "parsimoniousgaussianmixture"
parameter_row(
    f"{name}-model",
    "model",
    ["EII", "auto", "VVV"],
    fit,
    X,
    words=("too simple", "chosen", "most general"),
    show=lambda value, model: (
        f'"auto" ({model.model_})' if value == "auto" else f'"{value}"'
    ),
    panel=ellipse_panel,
)
parameter_row(
    f"{name}-components", "n_components", [2, 3, 6], fit, X, panel=ellipse_panel
)

moons, _ = make_moons(300, noise=0.06, random_state=0)
small = clouds(((0, 0), 1, 12), ((4, 0), 1, 12))
row(
    f"{name}-fails",
    lambda ax: ellipse_panel(
        ax, ParsimoniousGaussianMixture().fit(moons), moons, "two moons, number by BIC"
    ),
    lambda ax: ellipse_panel(
        ax,
        ParsimoniousGaussianMixture(4, model="VVI").fit(small),
        small,
        "24 objects, four components",
    ),
    width=4.2,
)
