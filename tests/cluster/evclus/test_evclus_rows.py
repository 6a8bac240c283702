"""Invariance of EVCLUS to the order and the repetition of rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import pairwise_distances

from dempster.cluster import EVCLUS
from dempster.cluster._search import Sample
from dempster.cluster.evclus._fitted_pairs import distinct_objects
from dempster.constraints import Constraints
from dempster.data.sampling import order_along_line
from dempster.dissimilarity.sources import AttributeSource
from tests.cluster.evclus.helpers import blobs, evclus, masses_of, sampled

X, Y = blobs(cluster_std=1.8)
SHUFFLED = np.random.default_rng(1).permutation(len(X))
WEIGHTS = np.random.default_rng(0).integers(0, 4, len(X))
REPEATED = np.random.default_rng(2).permutation(np.repeat(np.arange(len(X)), WEIGHTS))


def table(data):
    """Return a table with missing values and categories."""
    town = pd.Series(
        np.array(["Lille", "Arras", "Lens", None], dtype=object)[
            np.arange(len(data)) * 7 % 4
        ]
    )
    frame = pd.DataFrame({"a": data[:, 0], "b": data[:, 1], "town": town})
    frame.loc[::9, "a"] = np.nan
    return frame


def assert_same(one, other, rows):
    """Check that two fits are equal up to a permutation of the rows."""
    assert other.d0_ == pytest.approx(one.d0_, rel=1e-12)
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-9)
    assert other.n_iter_ == one.n_iter_
    np.testing.assert_allclose(masses_of(other), masses_of(one)[rows], atol=1e-7)
    np.testing.assert_array_equal(other.labels_, one.labels_[rows])


# ---- order ---------------------------------------------------------------------------------------


@sampled
@pytest.mark.parametrize("start", ["medoids", "random", "given"])
def test_permutation(sampling, start):
    given = np.random.default_rng(3).dirichlet(np.ones(5), len(X))
    one = evclus(3, sampling, init=given if start == "given" else start).fit(X)
    two = evclus(3, sampling, init=given[SHUFFLED] if start == "given" else start).fit(
        X[SHUFFLED]
    )
    assert_same(one, two, SHUFFLED)
    assert two.stress_ == pytest.approx(one.stress_, rel=1e-9)
    np.testing.assert_array_equal(
        np.sort(SHUFFLED[two.landmark_indices_]), one.landmark_indices_
    )


@sampled
@pytest.mark.parametrize("metric", ["manhattan", "precomputed", "gower"])
def test_permutation_with_other_metrics(sampling, metric):
    data = {"manhattan": X, "precomputed": pairwise_distances(X), "gower": table(X)}[
        metric
    ]
    if metric == "gower":
        shuffled = data.iloc[SHUFFLED]
    else:
        if metric == "precomputed":
            shuffled = data[np.ix_(SHUFFLED, SHUFFLED)]
        else:
            shuffled = data[SHUFFLED]
    assert_same(
        *(evclus(3, sampling, metric=metric).fit(each) for each in (data, shuffled)),
        SHUFFLED,
    )


@sampled
def test_permutation_with_weights(sampling):
    one = evclus(3, sampling).fit(X, sample_weight=WEIGHTS)
    two = evclus(3, sampling).fit(X[SHUFFLED], sample_weight=WEIGHTS[SHUFFLED])
    assert_same(one, two, SHUFFLED)
    assert two.stress_ == pytest.approx(one.stress_, rel=1e-9)


@sampled
def test_permutation_with_constraints(sampling):
    known = Constraints.from_labels(Y, 40, random_state=1)
    place = np.argsort(SHUFFLED)
    moved = Constraints(
        must_link=place[known.must_link], cannot_link=place[known.cannot_link]
    )
    one = evclus(3, sampling).fit(X, constraints=known)
    assert_same(one, evclus(3, sampling).fit(X[SHUFFLED], constraints=moved), SHUFFLED)


def test_permutation_with_landmarks():
    many, _ = blobs(1500, cluster_std=1.8)
    shuffled = np.random.default_rng(1).permutation(1500)
    one, two = (
        EVCLUS(3, n_landmarks=80, n_init=1, random_state=0).fit(each)
        for each in (many, many[shuffled])
    )
    assert_same(one, two, shuffled)
    assert two.stress_ == pytest.approx(one.stress_, rel=1e-9)


# ---- repetition ----------------------------------------------------------------------------------


@sampled
@pytest.mark.parametrize("family", ["auto", "selected"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "gower"])
def test_weights_equal_repetitions(sampling, metric, family):
    """Gower's dissimilarity depends on the range of the columns, also of rows with weight zero."""
    if metric == "gower":
        kept = np.flatnonzero(WEIGHTS)
    else:
        kept = np.arange(len(X))
    data = X[kept]
    weights = WEIGHTS[kept]
    rows = np.random.default_rng(2).permutation(
        np.repeat(np.arange(len(data)), weights)
    )
    if metric == "gower":
        data = table(data)
    if metric == "gower":
        repeated = data.iloc[rows]
    else:
        repeated = data[rows]
    weighted = evclus(3, sampling, metric=metric, focal_sets=family).fit(
        data, sample_weight=weights
    )
    plain = evclus(3, sampling, metric=metric, focal_sets=family).fit(repeated)
    assert weighted.focal_sets_ == plain.focal_sets_
    assert_same(weighted, plain, rows)
    np.testing.assert_allclose(
        plain.predict_mass(data).masses, weighted.predict_mass(data).masses, atol=1e-7
    )
    first = [
        np.flatnonzero(position == rows)[0] for position in weighted.landmark_indices_
    ]
    np.testing.assert_array_equal(plain.landmark_indices_, np.sort(first))


@sampled
def test_repeating_all_rows(sampling):
    once = evclus(3, sampling).fit(X)
    thrice = evclus(3, sampling).fit(np.tile(X, (3, 1)))
    assert_same(once, thrice, np.tile(np.arange(len(X)), 3))
    assert thrice.objective_ == once.objective_


def test_stress_includes_equal_rows():
    model = evclus(3, focal_sets="pairs", d0_quantile=0.8).fit(X[REPEATED])
    masses = masses_of(model)
    delta = 1 - np.exp(
        np.log(0.05) * (pairwise_distances(X[REPEATED]) / model.d0_) ** 2
    )
    gap = masses @ model.focal_sets_.conflict @ masses.T - delta
    pair = np.triu_indices(len(REPEATED), 1)
    assert model.stress_ == pytest.approx(
        np.sum(gap[pair] ** 2) / np.sum(delta[pair] ** 2), rel=1e-9
    )
    differ = REPEATED[pair[0]] != REPEATED[pair[1]]
    squares = [np.sum(each[pair][differ] ** 2) for each in (gap, delta)]
    assert model.objective_ == pytest.approx(squares[0] / squares[1], rel=1e-9)


# ---- the order itself ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_order_along_line_with_ties(dtype):
    rng = np.random.default_rng(0)
    data = np.vstack(
        [
            rng.integers(0, 3, (300, 2)),
            np.full((20, 2), 1e300 if dtype == np.float64 else 1e30),
        ]
    )
    data[-10:, 0] += data[-10:, 0] / 4
    data = data.astype(dtype)
    shuffled = rng.permutation(len(data))
    np.testing.assert_array_equal(
        data[order_along_line(data)], data[shuffled][order_along_line(data[shuffled])]
    )


def test_order_along_line_of_nearly_equal_rows():
    rng = np.random.default_rng(1)
    data = np.repeat(rng.normal(size=(40, 1)), 3, axis=0) * (1 + 1e-15)
    data[::3] *= 1 - 1e-15
    data = np.concatenate([data, -data, np.zeros((2, 1)), -np.zeros((2, 1))])
    order = order_along_line(data)
    assert sorted(order) == list(range(len(data)))
    shuffled = rng.permutation(len(data))
    again = data[shuffled][order_along_line(data[shuffled])]
    np.testing.assert_array_equal(data[order], again)
    steps = np.diff(data[order, 0])
    assert not ((steps > 1e-9).any() and (steps < -1e-9).any())


def test_distinct_objects():
    data = np.array(
        [[1.0, 2.0], [0.0, -0.0], [1.0, 2.0], [-0.0, 0.0], [5.0, 5.0], [1.0, 2.0]]
    )
    weights = np.array([0.0, 1.0, 2.0, 1.0, 2.0, 1.0]) * 2.0**1020
    found = distinct_objects(Sample(AttributeSource(data), weights), merge=True)
    assert sorted(found.positions) == [1, 2, 4]
    assert found.first.tolist() == [0, 1, 2, 1, 4, 2]
    np.testing.assert_allclose(found.weights[[1, 2, 4]], [2 / 3, 1, 2 / 3])
    assert sorted(found.rows) == [1, 2, 3, 4, 5]
    apart = distinct_objects(Sample(AttributeSource(data)), merge=False)
    assert sorted(apart.positions) == list(range(6))
    assert apart.weights is None
    np.testing.assert_array_equal(apart.order, apart.positions)
