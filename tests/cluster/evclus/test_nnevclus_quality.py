"""Results of NN-EVCLUS on the data of the paper."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import EVCLUS, NNEVCLUS
from dempster.constraints import Constraints
from dempster.datasets import load_digits, make_circles, make_fourclass
from dempster.dissimilarity import DissimilarityPCA
from dempster.metric import KFDA, KPCCA, PCCA
from tests.cluster.evclus.helpers import ecoli


def test_example_4(shared_data):
    """The loss is not larger than in the paper, and outliers among new objects are detected."""
    X, _y = shared_data("fourclass")
    model = NNEVCLUS(
        4,
        focal_sets="pairs",
        d0_quantile=0.9,
        network=20,
        outlier_detector="one-class-svm",
        random_state=0,
    ).fit(X)
    assert model.loss_ <= 5.6e-3
    fresh, classes = make_fourclass(1000, random_state=7)
    partition = model.predict_mass(fresh)
    centers = np.array([[0, 0], [0, 4], [4, 0], [4, 4]])
    near = cdist(fresh, centers).min(axis=1) < 1.5
    # four clusters
    assert adjusted_rand_score(classes[near], partition.labels[near]) > 0.9
    far = cdist(fresh, X).min(axis=1) > 1.5
    assert far.sum() >= 3
    assert set(np.flatnonzero(far)) <= set(partition.outliers)
    assert len(partition.outliers) < 80


@pytest.mark.parametrize("seed", [0, 1])
def test_example_5_with_constraints(seed):
    X, y = make_circles(500, random_state=seed)
    pairs = Constraints.from_labels(y, 50, random_state=seed)
    metric = KPCCA(1, gamma=0.3, random_state=0)
    model = NNEVCLUS(
        2,
        focal_sets="pairs",
        network=30,
        regularization=0.01,
        xi=0.1,
        convention="paper",
        metric=metric,
        random_state=0,
    )
    assert adjusted_rand_score(y, model.fit(X, constraints=pairs).labels_) >= 0.98


@pytest.mark.parametrize("seed", [0, 1])
def test_example_5_with_labels(seed):
    X, y = make_circles(500, random_state=seed)
    known = np.random.default_rng(seed).choice(500, 50, replace=False)
    labels = np.full(500, -1)
    labels[known] = y[known]
    model = NNEVCLUS(
        2,
        focal_sets="pairs",
        network=30,
        regularization=0.01,
        nu=0.1,
        metric=KFDA(1),
        random_state=0,
    ).fit(X, labels)
    assert adjusted_rand_score(y, model.labels_) >= 0.98


def shifted_distance(images):
    """Return the smallest Euclidean distance over shifts by one pixel, which is not a metric."""
    n = len(images)
    frame = np.pad(images, ((0, 0), (1, 1), (1, 1)))
    best = np.full((n, n), np.inf)
    flat = images.reshape(n, -1)
    for down in range(3):
        for right in range(3):
            best = np.minimum(
                best,
                cdist(
                    flat, frame[:, down : down + 8, right : right + 8].reshape(n, -1)
                ),
            )
    best = np.minimum(best, best.T)
    np.fill_diagonal(best, 0)
    return best


@pytest.mark.long
def test_prediction_from_dissimilarities():
    X, y = load_digits(return_X_y=True)
    D = shifted_distance(np.asarray(X).reshape(-1, 8, 8) / 16)
    found = []
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(D))
        seen = order[: len(D) // 2]
        unseen = order[len(D) // 2 :]
        pca = DissimilarityPCA(20)
        scores = pca.fit_transform(D[np.ix_(seen, seen)])
        model = NNEVCLUS(10, random_state=seed).fit(
            scores, dissimilarities=D[np.ix_(seen, seen)]
        )
        new = model.predict(pca.transform(D[np.ix_(unseen, seen)]))
        found.append(
            [
                adjusted_rand_score(y[seen], model.labels_),
                adjusted_rand_score(y[unseen], new),
            ]
        )
    train, test = np.mean(found, axis=0)
    assert train > 0.75
    assert test >= train - 0.04


def drybean(shared_data, seed):
    X, y = shared_data("drybean")
    rng = np.random.default_rng(seed)
    who = np.concatenate(
        [rng.choice(np.flatnonzero(y == k), 200, replace=False) for k in np.unique(y)]
    )
    return (X[who] - X[who].mean(axis=0)) / X[who].std(axis=0), y[who]


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "c", "bar"),
    [
        ("s2", 15, 0.92),
        ("s4", 15, 0.62),
        ("d31", 31, 0.92),
        ("wine", 3, 0.89),
        ("iris", 3, 0.75),
        ("ecoli", 3, 0.79),
        ("heart", 2, 0.38),
        ("seeds", 3, 0.77),
        ("drybean", 7, 0.60),
    ],
)
def test_mean_agreement_over_five_seeds(shared_data, name, c, bar):
    scores = []
    for seed in range(5):
        if name == "drybean":
            X, y = drybean(shared_data, seed)
        elif name == "ecoli":
            X, y = ecoli()
        else:
            X, y = shared_data(name, standardise=name != "iris")
        scores.append(
            adjusted_rand_score(y, NNEVCLUS(c, random_state=seed).fit(X).labels_)
        )
    assert np.mean(scores) >= bar, scores


@pytest.mark.long
def test_protein(shared_data):
    """Use the largest dissimilarity as d0 and three principal components as inputs."""
    D, y = shared_data("protein")
    D = (D + D.T) / 2
    scores = []
    for seed in range(5):
        inputs = DissimilarityPCA(3).fit_transform(D)
        model = NNEVCLUS(
            4, focal_sets="simple", d0_quantile=1.0, random_state=seed
        ).fit(inputs, dissimilarities=D)
        scores.append(adjusted_rand_score(y, model.labels_))
    assert np.mean(scores) >= 0.98, scores


@pytest.mark.long
@pytest.mark.parametrize(("name", "features"), [("glass", 5), ("iris", 3)])
def test_constraints_with_learnt_metric(shared_data, name, features):
    """Figures 27 and 28: networks use constraints better than EVCLUS, and a learnt metric helps if there are many."""
    X, y = shared_data(name, standardise=name != "iris")
    y = np.unique(y, return_inverse=True)[1]
    c = y.max() + 1
    plain = []
    adapted = []
    free = []
    for n in (50, 100, 150, 200):
        for seed in range(5):
            pairs = Constraints.from_labels(y, n, random_state=seed)
            settings = {"d0_quantile": 0.9, "random_state": seed}
            network = NNEVCLUS(c, xi=0.5, **settings).fit(X, constraints=pairs)
            masses = EVCLUS(c, **settings).fit(X, constraints=pairs)
            plain.append(adjusted_rand_score(y, network.labels_))
            free.append(adjusted_rand_score(y, masses.labels_))
            if n == 200:
                in_space = NNEVCLUS(
                    c, xi=0.5, metric=PCCA(features, random_state=0), **settings
                ).fit(X, constraints=pairs)
                adapted.append(adjusted_rand_score(y, in_space.labels_))
    assert np.mean(plain) > np.mean(free)
    assert np.mean(adapted) > np.mean(plain[-5:])
