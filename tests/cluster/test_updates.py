"""Clusters that follow a stream with `update`: births, deaths, drift, and no false births."""

import numpy as np
import pytest

from dempster._errors import InvalidParameterError
from dempster.cluster import CCM, ECM, EGMM, CredalClustering
from dempster.cluster.updates import ClusterChanges, Stream

CENTERS = np.array([[0.0, 0.0], [9.0, 0.0], [4.0, 9.0]])
METHODS = [
    ECM(2, focal_sets="pairs", random_state=0),
    CCM(2, random_state=0),
    EGMM(2, random_state=0),
    CredalClustering(2, random_state=0),
]


def draw(n, seed, clusters=(0, 1), shift=0.0, freedom=None):
    rng = np.random.default_rng(seed)
    y = rng.choice(clusters, n)
    noise = rng.normal(size=(n, 2))
    if freedom is not None:
        noise = rng.standard_t(freedom, size=(n, 2))
    return CENTERS[y] + noise + [shift, 0], y


def fitted(model):
    X, _ = draw(300, 0)
    return model.__class__(**model.get_params()).fit(X)


@pytest.mark.parametrize("model", METHODS, ids=lambda one: type(one).__name__)
def test_a_birth_is_found_and_other_clusters_keep_their_numbers(model):
    model = fitted(model)
    known, _ = draw(100, 1)
    before = model.predict(known)
    born = []
    for seed in range(2, 6):
        X, y = draw(100, seed, clusters=(0, 1, 2))
        partition = model.update(X)
        born += model.changes_.born
        if born:
            break
    assert born == [2]
    assert str(model.changes_) == "cluster 2 was born"
    assert model.n_clusters_ == partition.n_clusters == 3
    assert (partition.labels[y == 2] == 2).mean() > 0.95
    assert (partition.labels[y != 2] == 2).mean() < 0.05
    np.testing.assert_array_equal(model.predict(known), before)
    np.testing.assert_array_equal(model.labels_, partition.labels)
    model.update(draw(100, 7, clusters=(0, 1, 2))[0])
    assert not model.changes_


@pytest.mark.parametrize(
    ("model", "freedom"), [(METHODS[0], None), (METHODS[0], 4), (METHODS[-1], None)]
)
def test_no_birth_in_a_stationary_stream(model, freedom):
    X, _ = draw(500, 0, freedom=freedom)
    model = model.__class__(**model.get_params()).fit(X)
    for seed in range(1, 5):
        model.update(draw(200, seed, freedom=freedom)[0])
        assert not model.changes_.born
    assert model.n_clusters_ == 2


def test_isolated_rows_of_the_fit_are_left_out():
    X, _ = draw(200, 0)
    model = CredalClustering(2, random_state=0).fit(np.vstack([[[500, 500]], X]))
    new, y = draw(100, 1)
    partition = model.update(new)
    assert len({*zip(partition.labels.tolist(), y.tolist(), strict=True)}) == 2
    assert not model.changes_


def test_a_death_is_reported_once_and_the_cluster_may_return():
    model = fitted(METHODS[0])
    reports = []
    for seed in range(1, 4):
        model.update(draw(60, seed, clusters=(1,))[0])
        reports += model.changes_.died
    assert reports == [0] or reports == [1]
    [dead] = reports
    X, _ = draw(60, 9)
    assert (model.update(X).labels == dead).any()
    assert model.n_clusters_ == 2


def test_a_drift_is_reported():
    model = fitted(METHODS[0])
    drifted = {}
    for step in range(8):
        model.update(draw(100, step, shift=0.2 * step)[0], half_life=200)
        assert not model.changes_.born
        drifted |= model.changes_.drifted
    assert drifted.keys() == {0, 1}
    assert "drifted by" in str(ClusterChanges(drifted=drifted))


def test_an_error_changes_nothing():
    model = fitted(METHODS[0])
    centers = model.cluster_centers_.copy()
    with pytest.raises(ValueError, match="2 features"):
        model.update(np.zeros((5, 3)))
    with pytest.raises(InvalidParameterError, match="half_life"):
        model.update(CENTERS, half_life=0)
    np.testing.assert_array_equal(model.cluster_centers_, centers)
    assert not hasattr(model, "changes_")


def test_dissimilarities_cannot_be_updated():
    X, _ = draw(40, 0)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    model = CredalClustering(2, metric="precomputed", random_state=0).fit(D)
    with pytest.raises(ValueError, match="does not support a fit with dissimilarities"):
        model.update(D)


def test_a_fit_forgets_the_stream():
    model = fitted(METHODS[0])
    model.update(draw(50, 1)[0])
    model.fit(draw(300, 0)[0])
    assert "_stream" not in vars(model)


def test_the_window_keeps_the_latest_rows():
    model = fitted(METHODS[0])
    stream = Stream.start(model.credal_partition_, 2, 0.0)
    rows = np.arange(4000.0).reshape(2000, 2)
    stream = stream.append(rows, np.zeros((2000, 2), int))
    np.testing.assert_array_equal(stream.rows, rows[-1000:])
    assert stream.unseen.tolist() == [0, 2000]
