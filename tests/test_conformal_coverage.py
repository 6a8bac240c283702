"""Coverage of conformal sets on mixtures and on public data sets, by score, by class and for clusters."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dempster.classify import ConformalClassifier
from dempster.cluster import ConformalClustering

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore")]

N_DRAWS = 200
LEVELS = np.array([0.9, 0.95])
SCORES = ["lac", "aps", "plausibility"]
MIXTURES = {
    "two": [[0, 0], [2, 0]],
    "three": [[0, 0], [2, 0], [0, 2]],
    "close": [[0, 0], [1, 0], [0, 1]],
    "four in three dimensions": [[0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 2]],
    "six": [[0, 0], [2, 0], [4, 0], [0, 2], [2, 2], [4, 2]],
}
PUBLIC = [
    "iris",
    "wine",
    "seeds",
    "glass",
    "ecoli",
    "ionosphere",
    "vehicles",
    "heart",
    "diabetes",
    "vowel",
]


def draw(name, n, rng):
    centers = np.array(MIXTURES[name], dtype=float)
    y = rng.integers(0, len(centers), n)
    return centers[y] + rng.normal(size=(n, centers.shape[1])), y


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("name", MIXTURES)
@pytest.mark.parametrize("by_class", [False, True])
def test_mixtures(name, score, by_class):
    """The mean over the draws has a standard deviation of 0.002, or 0.004 for a class."""
    rng = np.random.default_rng(0)
    n_classes = len(MIXTURES[name])
    if by_class:
        n = 1500
    else:
        n = 800
    hits = []
    for seed in range(N_DRAWS):
        X, y = draw(name, n + 500, rng)
        model = ConformalClassifier(
            LinearDiscriminantAnalysis(),
            conformity=score,
            by_class=by_class,
            random_state=seed,
        )
        model.set_params(confidence=0.95).fit(X[:n], y[:n])
        own = model.p_values(X[n:])[np.arange(500), y[n:]]
        is_covered = own[:, None] > 1 - LEVELS + 1e-9
        if by_class:
            groups = [y[n:] == k for k in range(n_classes)]
        else:
            groups = [slice(None)]
        hits.append([is_covered[rows].mean(axis=0) for rows in groups])
    coverage = np.mean(hits, axis=0)
    n_calibration = 0.3 * n / (n_classes if by_class else 1)
    assert (coverage > LEVELS - 0.01).all()
    # The p-values are multiples of 1 / (n + 1).
    assert (coverage < LEVELS + 0.01 + 1 / n_calibration).all()


@pytest.mark.parametrize("score", ["lac", "aps"])
@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95])
@pytest.mark.parametrize("load", [load_breast_cancer, load_wine, load_digits])
def test_sets_and_empty_sets(load, confidence, by_class, score):
    """The sets cover the true class, and about a tenth of the errors may be empty sets.

    The standard deviations of the means over the divisions are below 0.01.
    """
    X, y = load(return_X_y=True)
    n_classes = y.max() + 1
    hits = []
    empty = []
    levels = []
    for seed in range(60):
        order = np.random.default_rng(seed).permutation(len(X))[:900]
        known, new = np.split(order, [2 * len(order) // 3])
        model = ConformalClassifier(
            make_pipeline(StandardScaler(), LogisticRegression()),
            confidence=confidence,
            conformity=score,
            by_class=by_class,
            random_state=seed,
        ).fit(X[known], y[known])
        sets = model.predict_set(X[new])
        covered = sets[np.arange(len(new)), y[new]]
        groups = range(n_classes) if by_class else [y[new]]
        hits.append([covered[y[new] == group].mean() for group in groups])
        empty.append(np.mean(~sets.any(axis=1)))
        levels.append(model._novelty_level().max())
    assert np.mean(hits, axis=0).min() > confidence - 0.03
    assert np.mean(empty) < np.mean(levels) + 0.015


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("name", PUBLIC)
def test_public_data(shared_data, name, score):
    """New objects are drawn repeatedly from a finite set, so the bound allows for three binomial errors."""
    X, y = shared_data(name)
    y = np.unique(y, return_inverse=True)[1]
    counts = np.bincount(y)
    X = X[counts[y] >= 20]
    y = y[counts[y] >= 20]
    own = []
    for seed in range(40):
        order = np.random.default_rng(seed).permutation(len(X))
        known = order[len(X) // 3 :]
        new = order[: len(X) // 3]
        model = ConformalClassifier(
            LinearDiscriminantAnalysis(),
            confidence=0.95,
            conformity=score,
            calibration_size=0.5,
            random_state=seed,
        ).fit(X[known], y[known])
        codes = np.searchsorted(model.classes_, y[new])
        own.append(model.p_values(X[new])[np.arange(len(new)), codes])
    for level in LEVELS:
        error = np.sqrt(level * (1 - level) / len(X))
        coverage = np.mean(np.concatenate(own) > 1 - level + 1e-9)
        # a third of the objects is for calibration
        assert -3 * error < coverage - level < 3 * error + 3 / len(X)


CLUSTERS = {
    "separated": [[0, 0], [4, 0], [0, 4]],
    "three": [[0, 0], [3, 0], [0, 3]],
    "overlapping": [[0, 0], [2.5, 0], [0, 2.5]],
    "two": [[0, 0], [2, 0]],
    "five in three dimensions": [[0, 0, 0], [3, 0, 0], [0, 3, 0], [0, 0, 3], [3, 3, 3]],
}


@pytest.mark.parametrize("name", CLUSTERS)
def test_clusters_of_a_mixture(name):
    """Sets of clusters cover the true component of a correctly specified mixture.

    The mean over the draws has a standard deviation of 0.004.
    """
    centers = np.array(CLUSTERS[name], dtype=float)
    own = []
    n_clusters = len(centers)
    for seed in range(50):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, n_clusters, 2000)
        X = centers[truth] + rng.normal(size=(2000, centers.shape[1]))
        mixture = GaussianMixture(n_clusters, n_init=2, random_state=0)
        model = ConformalClustering(mixture, confidence=0.95, random_state=seed).fit(
            X[:1000]
        )
        counts = np.zeros((n_clusters, n_clusters))
        np.add.at(counts, (truth[1000:], model.predict(X[1000:])), 1)
        clusters = linear_sum_assignment(-counts)[1]
        own.append(
            model.predict_mass(X[1000:]).contour[
                np.arange(1000), clusters[truth[1000:]]
            ]
        )
    coverage = np.mean(np.array(own)[..., None] > 1 - LEVELS + 1e-9, axis=(0, 1))
    np.testing.assert_allclose(coverage, LEVELS, atol=0.02)
