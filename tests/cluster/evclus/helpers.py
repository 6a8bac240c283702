"""What the tests of EVCLUS share: small fits of every kind of sampling, and clusters to find."""

import pytest
from sklearn.datasets import load_iris, make_blobs

from dempster.cluster import EVCLUS

SAMPLINGS = {"all": {}, "random": {"n_partners": 30}, "landmarks": {"n_landmarks": 60}}
sampled = pytest.mark.parametrize("sampling", SAMPLINGS)


def evclus(n_clusters, sampling="all", **keywords):
    keywords = {"random_state": 0, "n_init": 2, **SAMPLINGS[sampling], **keywords}
    return EVCLUS(n_clusters, sampling=sampling, **keywords)


def blobs(n=150, centers=((0, 0), (7, 0), (0, 7)), seed=0, **keywords):
    """Three clusters that anybody can tell apart, unless told otherwise."""
    return make_blobs(n, centers=centers, random_state=seed, **keywords)


def iris():
    return load_iris(return_X_y=True)


def masses_of(model):
    return model.credal_partition_.masses
