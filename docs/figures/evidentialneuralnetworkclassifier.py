"""Figures of the page on EvidentialNeuralNetworkClassifier."""

from _drawing import parameter_row
from _panels import map_of, mass_map, row
from sklearn.datasets import make_moons

from dempster.classify import EvidentialNeuralNetworkClassifier

X, y = make_moons(240, noise=0.2, random_state=0)


def fit(**parameters):
    settings = {"n_prototypes": 12, "n_init": 3, "random_state": 0, **parameters}
    return EvidentialNeuralNetworkClassifier(**settings).fit(X, y)


def panel(ax, model, data, title):
    mass_map(
        ax,
        model,
        data,
        y,
        f"{title}\nerror on its own data {1 - model.score(data, y):.2f}",
        margin=0.6,
    )
    ax.scatter(
        *model.prototypes_.T,
        s=40 * model.reliabilities_ + 3,
        marker="D",
        c="black",
        edgecolors="white",
    )


name = "evidentialneuralnetworkclassifier"
parameter_row(f"{name}-prototypes", "n_prototypes", [2, 12, 100], fit, X, panel=panel)
parameter_row(
    f"{name}-regularization",
    "regularization",
    [0.0, 0.002, 0.05],
    fit,
    X,
    panel=panel,
    words=("none", "some", "too large"),
)

units = X * (1.0, 40.0)
row(
    f"{name}-fails",
    map_of(
        EvidentialNeuralNetworkClassifier(4, n_init=3, random_state=0).fit(units, y),
        units,
        y,
        "one attribute in other units",
    ),
    map_of(
        EvidentialNeuralNetworkClassifier(4, n_init=3, random_state=0).fit(X, y),
        X,
        y,
        "the same, standardized",
    ),
    width=4.2,
)
