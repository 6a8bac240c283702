"""Figures of the page on EvidentialRBFClassifier."""

from _drawing import parameter_row
from _panels import map_of, mass_map, row
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression

from dempster.classify import EvidenceFromClassifier, EvidentialRBFClassifier

X, y = make_moons(240, noise=0.2, random_state=0)


def fit(**parameters):
    return EvidentialRBFClassifier(
        **{"n_prototypes": 10, "n_init": 2, "random_state": 0, **parameters}
    ).fit(X, y)


def panel(ax, model, data, title):
    mass_map(
        ax,
        model,
        data,
        y,
        f"{title}\nerror on its own data {1 - model.score(data, y):.2f}",
        margin=0.6,
    )
    ax.scatter(*model.prototypes_.T, s=36, marker="D", c="black", edgecolors="white")


name = "evidentialrbfclassifier"
parameter_row(f"{name}-prototypes", "n_prototypes", [2, 10, 80], fit, X, panel=panel)
parameter_row(
    f"{name}-regularization", "regularization", [1e-7, 1e-3, 0.3], fit, X, panel=panel
)
row(
    f"{name}-far",
    map_of(
        EvidenceFromClassifier(LogisticRegression()).fit(X, y),
        X,
        y,
        "logistic regression: sure far away",
        margin=1.5,
    ),
    map_of(fit(), X, y, "RBF network: white far away", margin=1.5),
    width=4.2,
)
