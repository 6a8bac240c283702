"""Evaluation of labels."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons

from dempster import evaluate
from dempster._errors import InvalidParameterError
from dempster.cluster import CredalClustering
from dempster.cluster.choice.decision import CLEAR_GAIN
from tests.labels.test_doubt import groups


@pytest.fixture(scope="module")
def case():
    return groups(77, apart=8.0)


@pytest.fixture(scope="module")
def right(case):
    X, y = case
    return evaluate(X, np.array(["a", "b", "c"])[y], random_state=0)


def test_right_labels(case, right):
    assert right.expected_agreement > 0.9
    assert right.low_agreement < right.expected_agreement
    assert not right.is_best_better
    assert right.best.n_clusters == 3
    assert right.best.with_labels > 0.95
    assert [one.name for one in right.clusters] == ["a", "b", "c"]
    assert all(one.not_separated_from is None for one in right.clusters)
    assert all(one.certain > 0.95 for one in right.clusters)


@pytest.mark.parametrize("seed", range(4))
def test_random_labels_are_not_flattered(seed):
    """Without the test of independence, the expectation is above 0.1 for some of them."""
    rng = np.random.default_rng([seed, 9])
    angles = rng.uniform(0, 3, 300)
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    X[::2] += [0.7, -0.3]
    X += 0.1 * rng.normal(size=X.shape)
    labels = rng.integers(0, 2, len(X))
    found = evaluate(X, labels, random_state=0)
    assert found.expected_agreement < 0.1
    assert found.low_agreement == 0


def test_divided_cluster_is_not_separated(case):
    X, y = case
    labels = np.where((y == 2) & (X[:, 0] > 0), 3, y)
    found = evaluate(X, labels, random_state=0)
    neighbors = [one.not_separated_from for one in found.clusters]
    assert neighbors == [None, None, 3, 2]


def test_better_partition_is_found():
    X, moon = make_moons(400, noise=0.06, random_state=11)
    labels = KMeans(2, n_init=3, random_state=0).fit_predict(X)
    found = evaluate(X, labels, random_state=0)
    assert found.is_best_better
    assert found.best.shape == "connected"
    assert evaluate(X, moon, random_state=0).expected_agreement > (
        found.expected_agreement + 2 * CLEAR_GAIN
    )
    model = CredalClustering(random_state=0).fit(X)
    assert found.best.n_clusters == model.n_clusters_
    assert found.best.expected_agreement == model.expected_agreement_


def test_doubtful_labels_are_listed(case):
    X, y = case
    names = [f"row {i}" for i in range(len(X))]
    labels = y.copy()
    labels[[4, 100]] = 2
    found = evaluate(pd.DataFrame(X, index=names), labels, random_state=0)
    assert {one.name for one in found.objects} == {"row 4", "row 100"}
    assert [one.label for one in found.objects] == [2, 2]
    assert sorted(one.rather for one in found.objects) == [0, 1]
    assert "row 100: doubt" in str(found)


def test_noise_counts_for_its_most_plausible_cluster(case):
    X, y = case
    labels = np.where(np.arange(len(y)) % 10, y, -1)
    found = evaluate(X, labels, random_state=0)
    assert found.n_unlabeled == 24
    assert [one.size for one in found.clusters] == [80, 80, 80]
    assert "24 without a label" in str(found)


def test_units_do_not_matter(case):
    X, y = case
    large = X * [1, 1000]
    first, second = (evaluate(Z, y, random_state=0) for Z in (X, large))
    assert abs(first.expected_agreement - second.expected_agreement) < 0.05


def test_one_cluster_and_dissimilarities(case):
    X, y = case
    assert evaluate(X, np.zeros(len(X)), random_state=0).expected_agreement < 0.2
    D = cdist(X, X)
    found = evaluate(D, y, metric="precomputed", random_state=0)
    assert found.expected_agreement > 0.9


def test_few_different_rows():
    X = np.repeat([[0.0], [1.0], [5.0]], 20, axis=0)
    found = evaluate(X, np.repeat(list("abc"), 20), random_state=0)
    assert found.expected_agreement > 0.1
    with pytest.raises(InvalidParameterError, match="X must contain different rows"):
        evaluate(X[:20], np.arange(20) % 2)


def test_text_frame_and_plot(right):
    lines = str(right).splitlines()
    assert len(lines) < 25
    assert max(map(len, lines)) <= 90
    table = right.to_frame()
    assert table.index.tolist() == ["a", "b", "c"]
    shares = table[["certain", "ambiguous", "outliers", "other"]].sum(axis=1)
    np.testing.assert_allclose(shares, 1)
    display = right.plot()
    assert "expected agreement" in display.ax_.get_title()
    assert sum(bars[0].get_width() for bars in display.bars_) == pytest.approx(1)
    plt.close(display.figure_)


def test_many_clusters_fit_one_screen():
    rng = np.random.default_rng(23)
    y = np.repeat(np.arange(25), 15)
    X = 40 * rng.normal(size=(25, 3))[y] + rng.normal(size=(len(y), 3))
    found = evaluate(X, y, random_state=0)
    assert found.expected_agreement > 0.7
    assert len(str(found).splitlines()) < 32
    assert "10 more certain clusters" in str(found)
