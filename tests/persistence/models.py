"""Fitted estimators of all kinds, with objects to predict, for the tests of model files."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from dempster import FocalSets, MassFunctions, classify, metric
from dempster.classify import (
    ContextualDiscounting,
    EKNNClassifier,
    EvidenceFromClassifier,
)
from dempster.cluster import (
    CECM,
    ECM,
    EVCLUS,
    NNEVCLUS,
    RECM,
    SECM,
    WMVEC,
    BeliefPeaks,
    BootClus,
    CatECM,
    ConformalClustering,
    ConformalNoveltyDetector,
    CredalClustering,
    EKNNClus,
)
from dempster.constraints import Constraints
from dempster.dissimilarity import DissimilarityPCA
from dempster.explain import CautiousTree
from dempster.mixture import LatentClassModel, ParsimoniousGaussianMixture

__all__ = [
    "CLASSES",
    "MIXED",
    "MODELS",
    "TABLE",
    "X",
    "network_model",
    "own_network",
    "plain_network",
]

IRIS = load_iris()
X = IRIS.data[::3].copy()
CLASSES = IRIS.target_names[IRIS.target[::3]]
TABLE = pd.DataFrame(
    X, columns=["a", "b", "c", "d"], index=[f"object {i}" for i in range(len(X))]
)
MIXED = TABLE.assign(
    kind=pd.Categorical(np.where(X[:, 0] > 5.5, "large", "small")), seen=X[:, 1] > 3
)
MIXED.iloc[3, 0] = np.nan
CATEGORIES = pd.DataFrame(
    {"a": np.where(X[:, 0] > 5.8, "x", "y"), "b": np.digitize(X[:, 2], [2, 4, 5])}
)
ANSWERS = CATEGORIES.assign(
    c=np.digitize(X[:, 3], [0.5, 1.5]), d=np.where(X[:, 1] > 3, None, "low")
)
DISTANCES = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
SOME = sparse.csr_matrix(
    np.where(np.random.default_rng(0).random(DISTANCES.shape) < 0.6, DISTANCES, 0)
)
SOME = (SOME + SOME.T) / 2
LINKS = Constraints(must_link=[(0, 1)], cannot_link=[(0, 40)], n_objects=len(X))
FAST_SETTINGS = {
    "NNEVCLUS": {"network": 4, "max_iter": 3, "tol": 0.0},
    "BootClus": {"n_bootstraps": 10, "mixture": "EII"},
}


def soft_labels() -> MassFunctions:
    masses = np.full((len(X), 3), 0.2)
    masses[np.arange(len(X)), IRIS.target[::3]] = 0.6
    return MassFunctions(
        np.column_stack([0.8 * masses, np.full(len(X), 0.2)]),
        FocalSets.simple(3, empty=False),
    )


def own_network() -> Any:
    """Return a network whose layers cannot be saved."""
    import torch

    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 4)
    ).double()


def plain_network() -> Any:
    """Return a network of linear and ReLU layers, which can be saved."""
    import torch

    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 4)
    )


def network_model(network: Callable[[], Any]) -> NNEVCLUS:
    family = FocalSets.full(2)
    return NNEVCLUS(
        2,
        focal_sets=family,
        network=network(),
        max_iter=3,
        tol=0.0,
        n_init=1,
        random_state=0,
    ).fit(X)


def _clusterer(
    kind: Any, data: Any = TABLE, **settings: Any
) -> Callable[[], tuple[Any, Any]]:
    quick = {
        "n_clusters": 2,
        "random_state": 0,
        "n_init": 2,
        **FAST_SETTINGS.get(kind.__name__, {}),
    }
    known = inspect.signature(kind).parameters
    chosen = {name: value for name, value in quick.items() if name in known} | settings
    return lambda: (kind(**chosen).fit(data), data)


def _fitted(model: Any, *arguments: Any, **more: Any) -> Callable[[], tuple[Any, Any]]:
    return lambda: (model.fit(*arguments, **more), arguments[0])


MODELS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "ECM, adaptive": _clusterer(
        ECM, n_clusters=3, metric="adaptive", focal_sets="pairs"
    ),
    "ECM, cosine": _clusterer(ECM, n_clusters=3, metric="cosine"),
    "ECM, number found": _clusterer(ECM, n_clusters="auto"),
    "ECM, single precision": _clusterer(ECM, TABLE.astype(np.float32), n_clusters=2),
    "ECM, own sets": _clusterer(ECM, n_clusters=3, focal_sets=FocalSets.full(3)),
    "ECM, generators": _clusterer(
        ECM, n_clusters=2, random_state=np.random.RandomState(3)
    ),
    "ECM, missing values": _clusterer(ECM, MIXED[["a", "b", "c"]], missing="partial"),
    "SECM, adaptive": _clusterer(SECM, X.reshape(5, 10, 4), metric="adaptive"),
    "WMVEC, several tables": _clusterer(
        WMVEC, {"one": TABLE[["a", "b"]], "two": TABLE[["c", "d"]]}
    ),
    "CECM, constrained": _fitted(
        CECM(2, n_init=2, random_state=0), X, constraints=LINKS
    ),
    "RECM, matrix": _clusterer(RECM, DISTANCES, metric="precomputed"),
    "RECM, mixed": _clusterer(RECM, MIXED, metric="gower", symmetrize=True),
    "EVCLUS, mixed": _clusterer(EVCLUS, MIXED, metric="gower"),
    "EVCLUS, matrix": _clusterer(EVCLUS, DISTANCES, metric="precomputed"),
    "EVCLUS, ordinal": _clusterer(
        EVCLUS, DISTANCES, metric="precomputed", target_conflict="ordinal"
    ),
    "EVCLUS, linear": _clusterer(
        EVCLUS, DISTANCES, metric="precomputed", target_conflict="linear"
    ),
    "EVCLUS, sparse": _clusterer(EVCLUS, SOME, metric="precomputed"),
    "EVCLUS, cosine": _clusterer(EVCLUS, metric="cosine"),
    "EVCLUS, mahalanobis": _clusterer(EVCLUS, metric="mahalanobis"),
    "EVCLUS, constrained": _fitted(
        EVCLUS(2, n_init=2, random_state=0), X, constraints=LINKS
    ),
    "CredalClustering, constrained": _fitted(
        CredalClustering(2, random_state=0), X, constraints=LINKS
    ),
    "CredalClustering, constrained matrix": _fitted(
        CredalClustering(2, metric="precomputed", random_state=0),
        DISTANCES,
        constraints=LINKS,
    ),
    "NNEVCLUS, constrained": _fitted(
        NNEVCLUS(2, max_iter=50, random_state=0), X, constraints=LINKS
    ),
    "EKNNClus, mixed": _clusterer(EKNNClus, MIXED, metric="gower"),
    "BeliefPeaks, matrix": _clusterer(BeliefPeaks, DISTANCES, metric="precomputed"),
    "CatECM, table": _clusterer(CatECM, CATEGORIES),
    "NNEVCLUS, detector": _clusterer(NNEVCLUS, outlier_detector="one-class-svm"),
    "NNEVCLUS, given detector": _clusterer(
        NNEVCLUS, outlier_detector=OneClassSVM(nu=0.1)
    ),
    "NNEVCLUS, layers of torch": lambda: (network_model(plain_network), X),
    "BootClus, mixture given": _clusterer(
        BootClus, n_clusters=2, mixture=ParsimoniousGaussianMixture(2, model="VII")
    ),
    "BootClus, categories": _clusterer(
        BootClus, ANSWERS, mixture=LatentClassModel(n_init=2)
    ),
    "LatentClassModel": _fitted(LatentClassModel(2, random_state=0), ANSWERS),
    "ConformalClustering": _fitted(
        ConformalClustering(GaussianMixture(2), n_refits=2, random_state=0), TABLE
    ),
    "ConformalClustering, evidential": _fitted(
        ConformalClustering(
            ECM(3, random_state=0), EKNNClassifier(5), n_refits=0, random_state=0
        ),
        TABLE,
    ),
    "ConformalNoveltyDetector": _fitted(
        ConformalNoveltyDetector(OneClassSVM(), random_state=0), TABLE
    ),
    "ParsimoniousGaussianMixture": _fitted(
        ParsimoniousGaussianMixture(random_state=0), TABLE
    ),
    "EKNNClassifier, cosine": _fitted(
        EKNNClassifier(3, metric="cosine"), TABLE, CLASSES
    ),
    "EKNNClassifier, soft": _fitted(EKNNClassifier(3), X, soft_labels()),
    "EKNNClassifier, matrix": _fitted(
        EKNNClassifier(3, metric="precomputed"), DISTANCES, CLASSES
    ),
    "EvidenceFromClassifier, pipeline": _fitted(
        EvidenceFromClassifier(make_pipeline(StandardScaler(), LogisticRegression())),
        TABLE,
        CLASSES,
    ),
    "ContextualDiscounting": _fitted(
        ContextualDiscounting(), soft_labels(), IRIS.target[::3]
    ),
    "CautiousTree": _fitted(CautiousTree(4), MIXED, CLASSES),
    "DissimilarityPCA": _fitted(DissimilarityPCA(2), DISTANCES),
}
MODELS |= {
    name: _fitted(getattr(classify, name)(), TABLE, CLASSES)
    for name in classify.__all__
    if "Cl" in name
}
MODELS |= {
    name: _fitted(getattr(metric, name)(), TABLE, CLASSES) for name in metric.__all__
}
