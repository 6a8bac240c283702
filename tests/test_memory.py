"""Fits and predictions do not leak memory."""

import gc

import numpy as np
import pytest

from dempster.classify import EKNNClassifier, EvidentialNeuralNetworkClassifier
from dempster.cluster import ECM, EVCLUS, BeliefPeaks, CatECM

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]

X = np.random.default_rng(0).normal(size=(200, 3)) + 4 * (np.arange(200) % 3)[:, None]
Y = np.arange(200) % 3
CALLS = {
    "ECM": lambda: (
        ECM(3, n_init=1, max_iter=5, random_state=0).fit(X).predict_mass(X).decide()
    ),
    "EVCLUS": lambda: EVCLUS(3, n_init=1, max_iter=3, random_state=0).fit(X).predict(X),
    "BeliefPeaks": lambda: BeliefPeaks(3).fit(X).predict(X),
    "CatECM": lambda: (
        CatECM(3, n_init=1, max_iter=5, random_state=0)
        .fit(X.astype(int))
        .predict(X.astype(int))
    ),
    "EKNNClassifier": lambda: EKNNClassifier(max_iter=5).fit(X, Y).decide(X, "hurwicz"),
    "networks": lambda: (
        EvidentialNeuralNetworkClassifier(6, n_init=1, max_iter=5, random_state=0)
        .fit(X, Y)
        .predict(X)
    ),
}


def used_bytes():
    import resource  # does not exist on Windows

    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("which", CALLS)
def test_memory_does_not_grow(which):
    for _ in range(700):  # The allocator keeps some memory.
        CALLS[which]()
    before = used_bytes()
    for _ in range(1000):
        CALLS[which]()
    assert used_bytes() - before < 4 << 20
