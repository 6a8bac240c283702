import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster import FocalSets
from dempster._errors import InvalidParameterError
from dempster.cluster import WECMdd
from dempster.cluster._mass_step import MassStep
from dempster.cluster.wecmdd import (
    PrototypeWeights,
    best_weights,
    descend_until_settled,
)
from dempster.datasets import load_butterfly


def naive(D, weights, family, *, alpha, beta, delta2, psi, concentration):
    """Return masses, objective and next weights by their definitions."""
    n = len(D)
    c = len(weights)
    costs = []
    for clusters in family:
        if not clusters:
            continue
        shared = np.min([weights[k] for k in clusters], axis=0)
        if len(clusters) > 1:
            shared = shared**concentration
        if shared.sum() > 0:
            costs.append((n / c) ** (psi - 1) * D @ (shared / shared.sum()) ** psi)
        else:
            costs.append(
                np.mean(
                    [(n / c) ** (psi - 1) * D @ weights[k] ** psi for k in clusters],
                    axis=0,
                )
            )
    size = np.array([len(s) for s in family if s])
    weighted = np.column_stack([np.full(n, delta2), size**alpha * np.array(costs).T])
    masses = np.zeros((n, len(family)))
    objective = 0.0
    for i in range(n):
        if weighted[i].min() <= 1e-12:
            masses[i, int(weighted[i].argmin())] = 1
            continue
        powers = weighted[i] ** (-1 / (beta - 1))
        masses[i] = powers / powers.sum()
        objective += float(weighted[i] @ masses[i] ** beta)
    following = np.array(
        [(masses[:, 1 + k] ** beta @ D) ** (-1 / (psi - 1)) for k in range(c)]
    )
    return masses, objective, following / following.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    "family", [FocalSets.simple(3), FocalSets.pairs(3), FocalSets.full(3)]
)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"psi": 2.0, "concentration": 1.0},
        {"alpha": 1.0, "beta": 1.5, "psi": 1.5, "concentration": 3.0},
    ],
)
def test_iterations_follow_the_definitions(family, parameters):
    X, _ = make_blobs(50, 2, centers=3, random_state=1)
    D = pairwise_distances(X)
    model = WECMdd(
        3,
        metric="precomputed",
        power=1,
        focal_sets=family,
        delta=2.0,
        init=[0, 1, 2],
        max_iter=6,
        tol=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(**parameters).fit(D)
    settings = {
        name: getattr(model, name) for name in ("alpha", "beta", "psi", "concentration")
    }
    weights = np.zeros((3, 50))
    weights[[0, 1, 2], [0, 1, 2]] = 1
    trace = []
    for _ in range(6):
        now = weights
        masses, objective, weights = naive(D, now, family, delta2=4.0, **settings)
        trace.append(objective)
    np.testing.assert_allclose(model.history_, trace, rtol=1e-9)
    np.testing.assert_allclose(model.prototype_weights_, now, atol=1e-9)
    np.testing.assert_allclose(model.credal_partition_.masses, masses, atol=1e-9)


@pytest.mark.parametrize("counts", [np.ones(20), np.arange(1.0, 21)])
def test_weights_are_a_minimum(counts):
    rng = np.random.default_rng(0)
    totals = rng.exponential(size=(3, 20))
    for psi in (1.2, 2.0, 3.0):
        weights = best_weights(totals, counts, psi)
        np.testing.assert_allclose(weights.sum(axis=1), 1)
        best = (counts * (weights / counts) ** psi * totals).sum()
        for _ in range(50):
            other = np.clip(weights * (1 + 0.05 * rng.normal(size=(3, 20))), 0, None)
            other /= other.sum(axis=1, keepdims=True)
            assert (counts * (other / counts) ** psi * totals).sum() >= best - 1e-12


def test_weights_are_concentrated_on_the_cluster():
    X, y = make_blobs(120, 2, centers=[[0, 0], [9, 1], [1, 10]], random_state=1)
    model = WECMdd(3, random_state=0).fit(X)
    np.testing.assert_allclose(model.prototype_weights_.sum(axis=1), 1)
    for k, weights in enumerate(model.prototype_weights_):
        own = model.labels_ == k
        assert weights[own].sum() > 0.95
        assert weights.argmax() == model.medoid_indices_[k]
    assert adjusted_rand_score(y, model.labels_) > 0.95


def test_candidates_are_drawn_with_the_seed():
    X, y = make_blobs(300, 2, centers=[[0, 0], [9, 1], [1, 10]], random_state=1)
    drawn = [WECMdd(3, n_candidates=60, random_state=seed).fit(X) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(
        drawn[0].candidate_indices_, drawn[1].candidate_indices_
    )
    assert not np.array_equal(drawn[0].candidate_indices_, drawn[2].candidate_indices_)
    for model in drawn:
        assert model.prototype_weights_.shape == (3, len(model.candidate_indices_))
        assert np.isin(model.medoid_indices_, model.candidate_indices_).all()
        assert adjusted_rand_score(y, model.labels_) > 0.95


def test_sample_weights_equal_repetitions():
    X, _ = make_blobs(50, 2, centers=3, random_state=1)
    counts = np.random.default_rng(0).integers(0, 4, 50)
    counts[:3] = 1
    given = {"init": [0, 1, 2], "max_iter": 8, "tol": 0, "psi": 1.5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a = WECMdd(3, **given).fit(X, sample_weight=counts)
        b = WECMdd(3, **given).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(a.history_, b.history_)
    np.testing.assert_array_equal(a.candidate_indices_, np.flatnonzero(counts))
    summed = np.add.reduceat(
        b.prototype_weights_, np.cumsum(counts[counts > 0]) - counts[counts > 0], axis=1
    )
    np.testing.assert_allclose(a.prototype_weights_, summed, atol=1e-9)


def test_delta_does_not_depend_on_the_number_of_objects():
    X, _ = make_blobs(100, 2, centers=3, random_state=1)
    small = WECMdd(3, delta=3.0, init=[0, 1, 2], tol=1e-12, max_iter=1000).fit(X)
    large = WECMdd(3, delta=3.0, init=[0, 3, 6], tol=1e-12, max_iter=1000).fit(
        np.repeat(X, 3, axis=0)
    )
    np.testing.assert_allclose(
        large.credal_partition_.masses[::3], small.credal_partition_.masses, atol=1e-4
    )


STEP = MassStep(FocalSets.simple(1), 1.0, 2.0, 1.0, 0.0)


def carousel(state):
    """Return weights that repeat: 0, 1, 2, 3, 1, 2, 3, ..."""
    now = int(state.weights[0, 0])
    return {0: 9.0, 1: 5.0, 2: 4.0, 3: 6.0}[now], PrototypeWeights(
        STEP, np.array([[now % 3 + 1.0]])
    )


@pytest.mark.parametrize(
    ("max_iter", "history", "converged"),
    [(4, [9, 5, 4, 6], False), (9, [9, 5, 4, 6, 5, 4], True)],
)
def test_iterations_stop_at_a_cycle_of_objectives(max_iter, history, converged):
    run = descend_until_settled(
        carousel, PrototypeWeights(STEP, np.array([[0.0]])), max_iter, tol=1e-6
    )
    assert run.history == history
    assert run.converged is converged
    if converged:  # at the best weights of the cycle
        assert run.model.weights.tolist() == [[2.0]]


def test_butterfly_has_a_cycle():
    model = WECMdd(2, random_state=0).fit(load_butterfly().data)
    assert model.converged_
    assert model.n_iter_ < 100
    assert model.objective_ <= model.history_[-4:].min() * (1 + 1e-6)


def test_warning_if_clusters_coincide():
    X = np.random.default_rng(0).normal(size=(100, 20))
    with pytest.warns(UserWarning, match="coincide.*psi"):
        WECMdd(3, psi=2.0, random_state=0).fit(X)


@pytest.mark.parametrize(
    ("name", "printed"), [("wine", 0.39), ("iris", 0.66), ("seeds", 0.69)]
)
def test_published_results(shared_data, name, printed):
    """Denoeux (2021), Table 3: alpha = beta = psi = 2, concentration = 5, the best of five runs."""
    X, y = shared_data(name, standardise=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = WECMdd(3, focal_sets="pairs", psi=2.0, n_init=5, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) == pytest.approx(printed, abs=0.05)


@pytest.mark.parametrize("invalid", [{"psi": 1}, {"concentration": 0}, {"power": -1}])
def test_invalid_parameters(invalid):
    with pytest.raises(InvalidParameterError, match=next(iter(invalid))):
        WECMdd(2, **invalid).fit(np.random.default_rng(0).normal(size=(20, 2)))


def test_objective_of_single_clusters_never_increases():
    rng = np.random.default_rng(3)
    for seed in range(8):
        X = rng.integers(0, 5, (40, 2)) if seed % 2 else rng.normal(size=(40, 2))
        model = WECMdd(3, n_init=1, random_state=seed).fit(X.astype(float))
        assert np.diff(model.history_).max(initial=0) <= 1e-9 * model.history_[0]
