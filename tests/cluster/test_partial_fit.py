"""Learning in blocks with `partial_fit`: ECM, CCM and EGMM."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from dempster import FocalSets
from dempster.cluster import CCM, ECM, EGMM

CENTERS = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 7.0]])
X = make_blobs(600, centers=CENTERS, cluster_std=1.2, random_state=0)[0]
START = CENTERS + [[0.5, -0.3], [-0.4, 0.2], [0.3, 0.6]]
EVERY = [ECM, CCM, EGMM]
FIXED = {ECM: {"delta": 9.0}, CCM: {"delta": 9.0}, EGMM: {}}


def made(method, **more):
    return method(3, random_state=0, **FIXED[method], **more)


def one_iteration(method, **more):
    """Return the model after the first iteration of a fit."""
    with pytest.warns(UserWarning, match="did not converge"):
        return made(method, init=START, max_iter=2, tol=0, **more).fit(X)


@pytest.mark.parametrize("focal_sets", ["auto", "simple", "pairs", "full"])
@pytest.mark.parametrize("method", [ECM, CCM])
def test_a_pass_over_all_blocks_is_one_iteration_of_fit(method, focal_sets):
    online = made(method, init=START, focal_sets=focal_sets)
    for start, stop in ((0, 250), (250, 251), (251, 600)):
        online.partial_fit(X[start:stop], update=stop == 600)
    expected = one_iteration(method, focal_sets=focal_sets)
    np.testing.assert_allclose(
        online.cluster_centers_, expected.cluster_centers_, atol=1e-12
    )
    assert online.focal_sets_ == expected.focal_sets_
    assert online.n_samples_seen_ == 600
    assert online.n_iter_ == 1


@pytest.mark.parametrize("method", EVERY)
def test_one_block_is_one_iteration_of_fit(method):
    online = made(method, init=START).partial_fit(X)
    expected = one_iteration(method)
    np.testing.assert_allclose(
        online.cluster_centers_, expected.cluster_centers_, atol=1e-11
    )
    np.testing.assert_allclose(
        online.predict_mass(X).masses, online.credal_partition_.masses
    )
    if method is EGMM:
        np.testing.assert_allclose(online.covariance_, expected.covariance_, atol=1e-11)
        np.testing.assert_allclose(online.weights_, expected.weights_, atol=1e-12)


def test_blocks_of_a_mixture_are_one_em_step():
    """Compute the components of the first model, then means, weights and covariance of all objects, by loops."""
    model = EGMM(
        3, init=START, focal_sets="pairs", reg_covar=0.0, random_state=0
    ).partial_fit(X[:200], update=False)
    before = (model.means_, model.covariance_, model.weights_)
    model.partial_fit(X[200:350], update=False).partial_fit(X[350:])
    means, covariance, weights = before
    members = model.focal_sets_.membership.astype(float)
    share = members / members.sum(axis=1, keepdims=True)
    inverse = np.linalg.inv(covariance)
    total = np.zeros(len(share))
    first = np.zeros((len(share), 2))
    posteriors = []
    for x in X:
        gaps = x - share @ means
        density = weights * np.exp([-g @ inverse @ g / 2 for g in gaps])
        density /= density.sum()
        posteriors.append(density)
        total += density
        first += density[:, None] * x
    new = np.linalg.solve((share.T * total) @ share, share.T @ first)
    scatter = sum(
        m * np.outer(x - place, x - place)
        for x, row in zip(X, posteriors, strict=True)
        for m, place in zip(row, share @ new, strict=True)
    )
    np.testing.assert_allclose(model.means_, new, atol=1e-10)
    np.testing.assert_allclose(model.weights_, total / len(X), atol=1e-12)
    np.testing.assert_allclose(model.covariance_, scatter / len(X), atol=1e-10)


@pytest.mark.parametrize("method", EVERY)
def test_stream_converges_to_the_result_of_fit(method):
    online = made(method)
    for _ in range(15):
        for block in np.array_split(X, 4):
            online.partial_fit(block, half_life=600)
    expected = made(method).fit(X).cluster_centers_
    nearest = np.linalg.norm(online.cluster_centers_[:, None] - expected, axis=2)
    assert nearest.min(axis=1).max() < 0.05
    assert online.n_samples_seen_ == 15 * 600


@pytest.mark.parametrize("method", EVERY)
def test_drift_is_followed_only_with_a_half_life(method):
    rng = np.random.default_rng(0)
    blocks = [
        CENTERS[rng.integers(3, size=150)] + rng.normal(size=(150, 2)) + [0.3 * t, 0]
        for t in range(40)
    ]
    true = CENTERS + [0.3 * 39, 0]
    lag = {}
    for half_life in (None, 200):
        model = made(method)
        for block in blocks:
            model.partial_fit(block, half_life=half_life)
        found = np.linalg.norm(model.cluster_centers_[:, None] - true, axis=2)
        lag[half_life] = found.min(axis=0).max()
    assert lag[200] < 1.5 < lag[None]


def test_half_life_weights_earlier_objects():
    """The center of a cluster is a mean in which objects have half their weight after a half-life."""
    family = FocalSets.simple(1, empty=False, omega=False)
    a = X[:100]
    b = X[100:150]
    model = (
        ECM(1, focal_sets=family, random_state=0)
        .partial_fit(a)
        .partial_fit(b, half_life=50.0)
    )
    expected = (0.5 * a.sum(axis=0) + b.sum(axis=0)) / (0.5 * 100 + 50)
    np.testing.assert_allclose(model.cluster_centers_[0], expected)


@pytest.mark.parametrize("method", EVERY)
def test_weights_equal_repetitions(method):
    weights = np.tile([1, 2, 0], 200)
    online = made(method, init=START).partial_fit(X, sample_weight=weights)
    repeated = made(method, init=START).partial_fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(
        online.cluster_centers_, repeated.cluster_centers_, atol=1e-9
    )


@pytest.mark.parametrize("method", EVERY)
def test_names_and_types_are_kept(method):
    table = pd.DataFrame(
        X.astype("f4"), columns=["a", "b"], index=[f"r{i}" for i in range(600)]
    )
    model = made(method).partial_fit(table[:300]).partial_fit(table[300:])
    assert model.credal_partition_.index[0] == "r300"
    assert model.cluster_centers_.dtype == np.float32
    assert len(model.labels_) == 300
    assert list(model.feature_names_in_) == ["a", "b"]


def test_adaptive_metric():
    model = made(ECM, metric="adaptive", init=START)
    for block in np.array_split(X + 1e4, 3):
        if hasattr(model, "n_samples_seen_"):
            made_of = model
        else:
            made_of = model.set_params(init=START + 1e4)
        made_of.partial_fit(block)
    np.testing.assert_allclose(np.linalg.det(model.metric_matrices_), 1)


@pytest.mark.parametrize("method", EVERY)
def test_failed_call_does_not_change_the_model(method):
    model = made(method).partial_fit(X[:300])
    centers = model.cluster_centers_.copy()
    for wrong in (X[:, :1], np.full((3, 2), np.nan), np.empty((0, 2)), "x"):
        with pytest.raises((ValueError, TypeError)):
            model.partial_fit(wrong)
    for half_life in (0, -1.0, "x", np.nan, True):
        with pytest.raises(ValueError, match="half_life must"):
            model.partial_fit(X, half_life=half_life)
    assert model.n_samples_seen_ == 300
    np.testing.assert_array_equal(model.cluster_centers_, centers)
    model.partial_fit(X[300:301])  # one object
    assert model.n_samples_seen_ == 301


def test_first_block_needs_enough_objects():
    with pytest.raises(ValueError, match="n_clusters=3"):
        ECM(3).partial_fit(X[:2])


@pytest.mark.parametrize("method", EVERY)
def test_fit_resets_the_stream(method):
    model = made(method).partial_fit(X[:300])
    model.fit(X)
    assert model.n_samples_seen_ == 600
    expected = made(method).fit(X).partial_fit(X[:100]).cluster_centers_
    np.testing.assert_array_equal(model.partial_fit(X[:100]).cluster_centers_, expected)
    assert not hasattr(model, "ebic_")


@pytest.mark.parametrize("method", [ECM, CCM])
def test_missing_values_as_in_fit(method):
    holes = X.copy()
    holes[::7, 1] = np.nan
    online = made(method, init=START, missing="partial").partial_fit(holes)
    with pytest.warns(UserWarning, match="did not converge"):
        expected = made(method, init=START, missing="partial", max_iter=2, tol=0).fit(
            holes
        )
    np.testing.assert_allclose(
        online.cluster_centers_, expected.cluster_centers_, atol=1e-11
    )
    assert np.isfinite(online.partial_fit(holes[:50]).credal_partition_.masses).all()


@pytest.mark.parametrize("method", EVERY)
def test_number_of_clusters_cannot_change(method):
    """Another number raises an error instead of being ignored."""
    model = made(method).partial_fit(X).set_params(n_clusters=2)
    with pytest.raises(ValueError, match="n_clusters must"):
        model.partial_fit(X)
    assert model.fit(X).n_clusters_ == 2
    new = made(method).set_params(n_clusters="auto")
    assert new.partial_fit(X).partial_fit(X).n_clusters_ == 3


@pytest.mark.parametrize("focal_sets", ["auto", "full"])
@pytest.mark.parametrize("method", EVERY)
def test_learning_continues_after_fit(method, focal_sets):
    """A few objects hardly move the clusters of many, and many objects do."""
    model = method(3, focal_sets=focal_sets, random_state=0).fit(X)
    fitted = model.cluster_centers_
    labels = model.labels_
    model.partial_fit(X[:10], update=False)
    np.testing.assert_allclose(model.cluster_centers_, fitted, atol=1e-12)
    assert (model.predict(X) == labels).mean() > 0.98  # pairs may be added
    model.partial_fit(X[:10] + 0.5)
    assert model.n_samples_seen_ == 620
    moved = np.linalg.norm(model.cluster_centers_ - fitted, axis=1)
    assert 0 < moved.max() < 0.05
    for _ in range(20):
        model.partial_fit(X + [1, 0])
    shift = (model.cluster_centers_ - fitted)[:, 0]
    assert (shift > 0.5).all()
    assert (shift < 1.5).all()


@pytest.mark.parametrize("method", EVERY)
def test_learning_continues_after_a_fit_of_many_rows(method):
    """The sums are estimated from a sample, also if the rows are weighted or in blocks."""
    rng = np.random.default_rng(0)
    many = CENTERS[rng.integers(3, size=30_000)] + rng.normal(size=(30_000, 2))
    weights = rng.integers(1, 4, 30_000)
    fits = [
        method(3, random_state=0, n_init=1).fit(many),
        method(3, random_state=0, n_init=1).fit(many, sample_weight=weights),
        method(3, random_state=0, n_init=1).fit([many[:20_000], many[20_000:]]),
    ]
    for model in fits:
        fitted = model.cluster_centers_
        model.partial_fit(many[:300] + [4, 0])
        assert model.n_samples_seen_ == 30_300
        assert 0 < np.abs(model.cluster_centers_ - fitted).max() < 0.1


@pytest.mark.parametrize("after_fit", [False, True])
@pytest.mark.parametrize("method", EVERY)
def test_warning_if_a_block_is_unlike_all_clusters(method, after_fit):
    rng = np.random.default_rng(1)
    regimes = 8 * np.eye(4)
    blocks = [center + rng.normal(size=(300, 4)) for center in regimes]
    model = method(4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = model.fit(blocks[0]) if after_fit else model.partial_fit(blocks[0])
        model.partial_fit(blocks[0])
    with pytest.warns(UserWarning, match="100% of the objects of the block are unlike"):
        model.partial_fit(blocks[1])
    mixed = rng.permutation(np.vstack(blocks))
    model = method(4, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for block in np.array_split(mixed, 6):
            model.partial_fit(block)


@pytest.mark.parametrize("method", EVERY)
def test_warning_of_units_as_in_fit(method):
    data = X * [1, 1e4]
    with pytest.warns(UserWarning, match=r"from .* \(column 0\) to .* \(column 1\)"):
        made(method).fit(data)
    model = made(method)
    with pytest.warns(UserWarning, match="range from .*; standardize X"):
        model.partial_fit(data[:300])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(data[300:])
