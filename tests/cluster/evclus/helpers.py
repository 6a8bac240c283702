"""Small fits and data for the tests of EVCLUS."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs

from dempster.cluster import EVCLUS
from tests.conftest import find_shared_folder

SAMPLINGS = {"all": {}, "random": {"n_partners": 30}, "landmarks": {"n_landmarks": 60}}
sampled = pytest.mark.parametrize("sampling", SAMPLINGS)


def evclus(n_clusters, sampling="all", **keywords):
    keywords = {"random_state": 0, "n_init": 2, **SAMPLINGS[sampling], **keywords}
    return EVCLUS(n_clusters, sampling=sampling, **keywords)


def blobs(n=150, centers=((0, 0), (7, 0), (0, 7)), seed=0, **keywords):
    """Return three well separated clusters by default."""
    return make_blobs(n, centers=centers, random_state=seed, **keywords)


def iris():
    return load_iris(return_X_y=True)


def train(progress, solver, validation_error=lambda: None, patience=10):
    """Run the solver until the training is finished."""
    while not progress.is_finished:
        result = solver.run_round(len(progress.history))
        progress.end_round(result, validation_error(), patience)


def masses_of(model):
    return model.credal_partition_.masses


def ecoli():
    """Return the classes cp, im with imU, and pp, with five features (Denoeux, 2021)."""
    file = find_shared_folder() / "data" / "ecoli.npz"
    with np.load(file, allow_pickle=False) as data:
        names = [str(name) for name in data["names"]]
        y = data["y"].copy()
        X = data["X"][:, [0, 1, 4, 5, 6]]
    kept = np.isin(y, [names.index(name) for name in ("cp", "im", "pp", "imU")])
    y[y == names.index("imU")] = names.index("im")
    return (X[kept] - X[kept].mean(axis=0)) / X[kept].std(axis=0), y[kept]
