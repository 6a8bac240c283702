"""Subjects of the common tests: every public clusterer, with data that it accepts and fast settings."""

import inspect
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import ClusterMixin
from sklearn.datasets import make_blobs

from dempster import cluster

__all__ = [
    "EXCEPTIONS",
    "OTHER_DEFAULTS",
    "SUBJECTS",
    "Subject",
    "answer",
    "prediction",
]

POINTS = make_blobs(
    60, centers=[[0, 0], [6, 0], [0, 7]], cluster_std=1.2, random_state=0
)[0]
MANY = make_blobs(
    4200, centers=[[0, 0], [6, 0], [0, 7]], cluster_std=1.2, random_state=0
)[0]
IMAGE = np.kron([[0.0, 2.0], [5.0, 2.0]], np.ones((4, 5))) + np.random.default_rng(
    0
).normal(0, 0.5, (8, 10))
LARGE_IMAGE = np.kron(
    [[0.0, 2.0], [5.0, 2.0]], np.ones((35, 35))
) + np.random.default_rng(0).normal(0, 0.5, (70, 70))


def categories(X):
    """Return three attributes with four categories each."""
    return np.digitize(np.column_stack([X, X.sum(axis=1)]), [-1.0, 1.5, 4.0])


SETTINGS: dict[str, dict[str, Any]] = {
    "BootClus": {"n_bootstraps": 20, "mixture": "EII"},
    "NNEVCLUS": {"network": 5, "max_iter": 4, "tol": 0.0},
}
DATA = {
    "CatECM": (categories(POINTS), categories(MANY)),
    "SECM": (IMAGE, LARGE_IMAGE),
    # a step of the network takes long, and does not go by blocks of rows
    "NNEVCLUS": (POINTS, MANY[:300]),
    # every pair is looked at
    **dict.fromkeys(("ECMdd", "MECM", "RECM", "WECMdd"), (POINTS, MANY[:2100])),
}

# What a clusterer cannot do, by its name and the name of the test, with the reason. Each must still
# fail.
PERMUTED = "test_permuting_the_objects_permutes_the_result"
EXCEPTIONS: dict[tuple[str, str], str] = {
    (
        "CredalClustering",
        "test_prediction_is_continuous_at_the_training_objects",
    ): "a training object is recognized, because it is no evidence for itself",
    ("BootClus", PERMUTED): "bootstrap samples are drawn by the rows",
    (
        "EKNNClus",
        PERMUTED,
    ): "objects are visited in an order that is drawn for the rows",
    **{
        (name, "test_constant_columns_carry_nothing"): reason
        for name, reason in {
            "BootClus": "a column has parameters, which BIC and the variances count",
            "EGMM": "reg_covar is a share of the mean variance of the columns",
            "NNEVCLUS": "the first weights are drawn for all columns",
        }.items()
    },
    (
        "NNEVCLUS",
        "test_repeating_the_table_changes_nothing",
    ): "the pairs of a few training steps are drawn by the rows",
    ("SECM", PERMUTED): "pixels that are moved have other neighbours",
    (
        "ECMdd",
        "test_prediction_is_continuous_at_the_training_objects",
    ): "at a medoid, all pairs of its cluster with another are equally plausible",
}

# Defaults that differ from those of the other clusterers, with the reason.
OTHER_DEFAULTS: dict[tuple[str, str], Any] = {
    ("BeliefPeaks", "n_clusters"): None,  # it finds the number
    ("CredalClustering", "n_clusters"): "auto",
    ("BPEC", "n_clusters"): None,  # likewise
    ("BootClus", "n_neighbor_clusters"): 2,  # as in the paper
}


@dataclass(frozen=True, eq=False)
class Subject:
    """A clusterer with objects for it to cluster.

    Attributes
    ----------
    estimator : class
    data, many : objects as `fit` takes them, a few, and enough for several blocks of rows
    settings : parameters that make it quick
    """

    estimator: type
    data: np.ndarray = field(default_factory=lambda: POINTS.copy())
    many: np.ndarray = field(default_factory=lambda: MANY.copy())
    settings: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.estimator.__name__

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Parameters of the constructor, in their order."""
        return dict(inspect.signature(self.estimator).parameters)

    def fit_takes(self, name: str) -> bool:
        return name in inspect.signature(self.estimator.fit).parameters

    @property
    def takes_tables(self) -> bool:
        """Whether the objects are rows of a table, not pixels."""
        return self.data.ndim == 2 and str(self) != "SECM"

    @property
    def too_few(self) -> np.ndarray:
        """Return a single object."""
        if self.takes_tables:
            return self.data[:1]
        return self.data[:1, :1]

    def make(self, **changes: Any) -> Any:
        """Return an unfitted clusterer with fast settings and a seed."""
        quick = {"n_clusters": 3, "n_init": 2, "random_state": 0}
        chosen = {
            name: value for name, value in quick.items() if name in self.parameters
        }
        return self.estimator(**{**chosen, **self.settings, **changes})

    def exact(self) -> Any:
        """Return an unfitted clusterer that iterates until nothing changes."""
        if "tol" in self.parameters and "tol" not in self.settings:
            return self.make(tol=1e-12)
        return self.make()

    @cache  # noqa: B019
    def fitted(self) -> Any:
        """Fitted clusterer, which tests must not change."""
        return self.make().fit(self.data)

    def table(self) -> pd.DataFrame:
        """Return the objects as a table with names."""
        names = [f"attribute {k}" for k in range(self.data.shape[1])]
        return pd.DataFrame(
            self.data,
            columns=names,
            index=[f"object {i}" for i in range(len(self.data))],
        )


def answer(model: Any) -> np.ndarray:
    """Return the masses of a fitted clusterer, or its labels if it has no masses."""
    if hasattr(model, "credal_partition_"):
        return model.credal_partition_.masses
    return model.labels_


def prediction(model: Any, X: Any) -> np.ndarray:
    """Return the masses or labels of new objects."""
    if hasattr(model, "predict_mass"):
        return model.predict_mass(X).masses
    return model.predict(X)


def _subjects() -> list[Subject]:
    found = []
    for name in cluster.__all__:
        estimator = getattr(cluster, name)
        if inspect.isclass(estimator) and issubclass(estimator, ClusterMixin):
            few, many = DATA.get(name, (POINTS, MANY))
            found.append(Subject(estimator, few, many, SETTINGS.get(name, {})))
    return found


SUBJECTS = _subjects()
