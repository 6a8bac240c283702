import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster import FocalSets
from dempster._errors import InvalidParameterError
from dempster.cluster import ECMdd
from dempster.cluster._mass_step import MassStep
from dempster.cluster._medoids import Medoids
from dempster.cluster.ecmdd import descend_until_cycle


def naive(D, medoids, family, *, alpha, beta, delta2, eta, gamma):
    """Return masses, medoids of the sets, objective and next medoids by their definitions."""
    n = len(D)
    costs = []
    set_medoids = []
    for clusters in family:
        if not clusters:
            continue
        own = [medoids[k] for k in clusters]
        mean = D[:, own].mean(axis=1)
        if len(own) == 1:
            set_medoids.append(own[0])
            costs.append(mean)
            continue
        spread = [np.mean((D[o, own] - mean[o]) ** 2) + eta * mean[o] for o in range(n)]
        set_medoids.append(int(np.argmin(spread)))
        costs.append((D[:, set_medoids[-1]] + gamma * mean) / (1 + gamma))
    size = np.array([len(s) for s in family if s])
    weighted = size**alpha * np.array(costs).T
    masses = np.zeros((n, len(family)))
    objective = 0.0
    for i in range(n):
        if weighted[i].min() <= 1e-12:
            masses[i, 1 + int(weighted[i].argmin())] = 1
            continue
        powers = np.append(delta2, weighted[i]) ** (-1 / (beta - 1))
        masses[i] = powers / powers.sum()
        objective += float(np.append(delta2, weighted[i]) @ masses[i] ** beta)
    following = [
        int(np.argmin(masses[:, 1 + k] ** beta @ D)) for k in range(len(medoids))
    ]
    return masses, set_medoids, objective, following


@pytest.mark.parametrize(
    "family", [FocalSets.simple(3), FocalSets.pairs(3), FocalSets.full(3)]
)
@pytest.mark.parametrize(
    "parameters", [{}, {"alpha": 1.0, "beta": 1.5, "eta": 0.3, "gamma": 0.2}]
)
def test_iterations_follow_the_definitions(family, parameters):
    X, _ = make_blobs(50, 2, centers=3, random_state=1)
    D = pairwise_distances(X)
    model = ECMdd(
        3,
        metric="precomputed",
        focal_sets=family,
        delta=2.0,
        random_state=0,
        **parameters,
    ).fit(D)
    settings = {
        name: getattr(model, name) for name in ("alpha", "beta", "eta", "gamma")
    }
    settings["eta"] *= D.mean()
    masses, set_medoids, objective, following = naive(
        D, model.medoid_indices_, family, delta2=4.0, **settings
    )
    np.testing.assert_allclose(model.credal_partition_.masses, masses, atol=1e-9)
    assert model.set_medoid_indices_.tolist() == set_medoids
    assert model.objective_ == pytest.approx(objective)
    assert following == model.medoid_indices_.tolist()
    medoids = [0, 1, 2]
    longer = ECMdd(
        3,
        metric="precomputed",
        focal_sets=family,
        delta=2.0,
        init=medoids,
        **parameters,
    ).fit(D)
    trace = []
    for _ in range(longer.n_iter_):
        _, _, objective, medoids = naive(D, medoids, family, delta2=4.0, **settings)
        trace.append(objective)
    np.testing.assert_allclose(longer.history_, trace, rtol=1e-9)


def test_power_of_the_dissimilarities():
    X, _ = make_blobs(60, 2, centers=3, random_state=1)
    D = pairwise_distances(X)
    settings = {"delta": 5.0, "random_state": 0}
    a = ECMdd(3, metric="precomputed", **settings).fit(D**2)
    b = ECMdd(3, metric="precomputed", power=2, **settings).fit(D)
    c = ECMdd(3, power=2, **settings).fit(X)
    np.testing.assert_allclose(
        a.credal_partition_.masses, b.credal_partition_.masses, atol=1e-9
    )
    np.testing.assert_allclose(
        a.credal_partition_.masses, c.credal_partition_.masses, atol=1e-9
    )
    np.testing.assert_allclose(
        c.predict_mass(X).masses, a.predict_mass(D**2).masses, atol=1e-9
    )


STEP = MassStep(FocalSets.simple(1), 1.0, 2.0, 1.0, 0.0)


def carousel(medoids):
    """Return medoids that repeat: 0, 1, 2, 3, 1, 2, 3, ..."""
    now = int(medoids.positions[0])
    return {0: 9.0, 1: 5.0, 2: 4.0, 3: 6.0}[now], Medoids(STEP, np.array([now % 3 + 1]))


@pytest.mark.parametrize(
    ("max_iter", "history", "converged"),
    [(3, [9, 5, 4], False), (50, [9, 5, 4, 6, 5, 4], True)],
)
def test_iterations_stop_at_a_cycle_of_medoids(max_iter, history, converged):
    run = descend_until_cycle(carousel, Medoids(STEP, np.array([0])), max_iter)
    assert run.history == history
    assert run.converged is converged
    if converged:  # at the best medoids of the cycle
        assert run.model.positions.tolist() == [2]


@pytest.mark.parametrize(
    ("name", "printed"), [("iris", 0.54), ("seeds", 0.45), ("wine", 0.24)]
)
def test_at_least_the_published_results(shared_data, name, printed):
    """Denoeux (2021), Table 3: alpha = beta = 2, eta = gamma = 1, the best of five runs."""
    X, y = shared_data(name, standardise=True)
    model = ECMdd(3, focal_sets="pairs", n_init=5, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) >= printed - 0.05


def test_proteins(shared_data):
    D, y = shared_data("protein")
    model = ECMdd(4, metric="precomputed", random_state=0).fit(D)
    # Denoeux (2021), Table 6: 0.402
    assert adjusted_rand_score(y, model.labels_) >= 0.4


@pytest.mark.parametrize("invalid", [{"eta": -1}, {"gamma": -1}, {"power": 0}])
def test_invalid_parameters(invalid):
    with pytest.raises(InvalidParameterError, match=next(iter(invalid))):
        ECMdd(2, **invalid).fit(np.random.default_rng(0).normal(size=(20, 2)))
