import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from dempster import CredalPartition, FocalSets
from dempster.cluster import CECM, ECM, BeliefPeaks, cecm
from dempster.cluster._revision import improvement
from dempster.cluster.cecm import LinkCosts, LinkedObjects
from dempster.cluster.ecm import Statistics, _squared_distances
from dempster.constraints import Constraints
from tests.cluster.models import one_thread, prototypes

CASES = [
    "cecm_bananas_full_euclid",
    "cecm_bananas_full_maha",
    "cecm_iris_full_euclid",
    "cecm_iris_simple_maha",
]


def known_pairs(case):
    return Constraints(case["ML"], case["CL"])


def blobs(n=60, seed=3):
    return make_blobs(
        n, 2, centers=[[0, 0], [4, 0], [2, 4]], cluster_std=1.5, random_state=seed
    )


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_the_reference(reference, name):
    case = reference(name)
    p = case.parameters
    model = CECM(
        p["c"], focal_sets=FocalSets(case["F"]), metric="adaptive" if p["distance"] else "euclidean",
        alpha=p["alpha"], delta=p["delta"], xi=p["xi"], init=case["g0"],
        convention="program", tol=1e-12, max_iter=5000,
    ).fit(case["x"], constraints=known_pairs(case))  # fmt: skip
    case.assert_equal("mass", model.credal_partition_.masses)
    case.assert_equal("g", model.cluster_centers_)
    case.assert_equal("N", model.credal_partition_.nonspecificity_index())
    case.assert_equal("crit", model.objective_)
    # the published program stops early
    assert model.objective_ <= case["crit_runs"].min()
    case.assert_equal("y_pl", model.labels_, where=case["y_pl_tied"] == 0)


def statistics_of(X, masses):
    W = masses**2
    second = np.einsum("id,ie,ij->dej", X, X, W) * np.tri(X.shape[1])[:, :, None]
    return Statistics(0.0, W.sum(axis=0), X.T @ W, second)


@pytest.mark.parametrize("name", CASES)
def test_one_step_agrees_with_the_reference(reference, name):
    case = reference(name)
    p = case.parameters
    X = case["x"]
    family = FocalSets(case["F"])
    model = prototypes(family, case["g0"], p["alpha"], 2.0, p["delta"])
    statistics = statistics_of(X, case["mass"][:, 1:])
    if p["distance"]:
        start = replace(model, metrics=np.stack([np.eye(X.shape[1])] * p["c"]))
        model = start.update_metrics(statistics)
        sets = model.step.sets
        case.assert_equal(
            "step_S",
            np.einsum(
                "jk,kde->jde", sets / sets.sum(axis=1, keepdims=True), model.metrics
            ),
        )
    barycentres, metrics, *_ = model.kernel_arguments(np.dtype(float))
    found = np.empty((len(X), barycentres.shape[1]))
    _squared_distances(X, barycentres, metrics, found)
    case.assert_equal("step_D", found)
    case.assert_equal("step_g", model.update(statistics).centers)


@pytest.mark.parametrize("name", CASES)
def test_mass_step_agrees_with_the_reference(reference, name):
    """Test the quadratic program alone, from uniform masses, at the precision of an accurate solver."""
    case = reference(name)
    p = case.parameters
    X = case["x"]
    family = FocalSets(case["F"])
    known = known_pairs(case)
    n, f = case["qp_mass"].shape
    size = family.cardinality[1:]
    costs = (
        np.column_stack(
            [np.full(n, p["delta"] ** 2), size ** p["alpha"] * case["qp_D"]]
        )
        * (1 - p["xi"])
        / (n * f)
    )
    linked = LinkedObjects(X, known, 0.0)
    link_costs = LinkCosts.from_parameters(family, known, p["xi"], "program")
    weights = 1 / costs
    # right for those without constraints
    masses = weights / weights.sum(axis=1, keepdims=True)
    at = np.full((len(linked), f), 1 / f)
    for _ in range(100):
        at = linked.improve_masses(at, costs[linked.places], link_costs)
    masses[linked.places] = at
    case.assert_equal("qp_mass", masses)
    objective = (
        np.sum(costs * masses**2) / 2
        + (linked.constraint_cost(at, link_costs) - p["xi"]) / 2
    )
    assert objective <= case["qp_objective"] + 1e-5 * abs(case["qp_objective"])
    case.assert_equal("qp_objective", objective)


def naive_objective(model, X, known, xi, delta, weights=None):
    """Return the published criterion, computed by loops. Sample weights affect the part of ECM."""
    cp = model.credal_partition_
    family = list(model.focal_sets_)
    matrices = getattr(model, "metric_matrices_", None)
    if weights is None:
        weights = np.ones(len(X))
    total = 0.0
    for i, x in enumerate(X):
        for clusters, mass in zip(family, cp.masses[i], strict=True):
            if not clusters:
                total += weights[i] * delta**2 * mass**2
                continue
            gap = x - model.cluster_centers_[list(clusters)].mean(axis=0)
            if matrices is None:
                metric = np.eye(len(x))
            else:
                metric = matrices[list(clusters)].mean(axis=0)
            total += (
                weights[i]
                * len(clusters) ** model.alpha
                * mass**2
                * (gap @ metric @ gap)
            )
    total *= (1 - xi) / (weights.sum() * len(family))
    pairs = 0.0
    for kind, links in (("must", known.must_link), ("cannot", known.cannot_link)):
        for i, j in links:
            for a, A in enumerate(family):
                for b, B in enumerate(family):
                    if not A or not B:
                        continue
                    # plausible that they are in the same cluster
                    together = bool(set(A) & set(B))
                    apart = not (A == B and len(A) == 1)  # plausible that they are not
                    if apart if kind == "must" else together:
                        pairs += cp.masses[i, a] * cp.masses[j, b]
    return total + xi * pairs / max(len(known), 1)


@pytest.mark.parametrize("metric", ["euclidean", "adaptive"])
@pytest.mark.parametrize("family", ["simple", "full"])
def test_objective_equals_its_definition(metric, family):
    X, y = blobs()
    known = Constraints.from_labels(y, 25, random_state=0)
    paper = {"convention": "paper", "xi": 0.3, "delta": 3, "random_state": 0}
    model = CECM(3, focal_sets=family, metric=metric, **paper).fit(X, constraints=known)
    assert model.objective_ == pytest.approx(
        naive_objective(model, X, known, 0.3, 3), rel=1e-9
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_result_is_a_local_minimum(weighted):
    X, y = blobs()
    known = Constraints.from_labels(y, 25, random_state=0)
    rng = np.random.default_rng(0)
    if weighted:
        weights = rng.uniform(0.1, 3, len(X))
    else:
        weights = np.ones(len(X))
    exactly = {"tol": 1e-14, "max_iter": 5000, "random_state": 0}
    model = CECM(3, focal_sets="pairs", xi=0.4, convention="paper", **exactly)
    model.fit(X, sample_weight=weights if weighted else None, constraints=known)
    best = naive_objective(model, X, known, 0.4, model.delta_, weights)
    assert model.objective_ == pytest.approx(best, rel=1e-9)
    masses = model.credal_partition_.masses
    centers = model.cluster_centers_
    for _ in range(20):
        model.cluster_centers_ = centers + 1e-3 * rng.normal(size=centers.shape)
        assert (
            naive_objective(model, X, known, 0.4, model.delta_, weights) >= best - 1e-10
        )
    model.cluster_centers_ = centers
    for _ in range(30):
        # one object at a time: jointly the objective is not convex
        i = rng.integers(len(X))
        moved = masses.copy()
        moved[i] = np.clip(moved[i] + 1e-3 * rng.normal(size=moved.shape[1]), 0, None)
        moved[i] /= moved[i].sum()
        model.credal_partition_ = CredalPartition(moved, model.focal_sets_)
        assert (
            naive_objective(model, X, known, 0.4, model.delta_, weights) >= best - 1e-10
        )


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["simple", "pairs", "full", "selected"]),
    st.sampled_from(["euclidean", "adaptive"]),
    st.sampled_from([0.0, 0.1, 0.5, 0.9]),
    st.sampled_from(["scaled", "paper", "program"]),
    st.sampled_from([0.0, 1.0]),
)
def test_objective_never_increases_and_masses_are_valid(
    seed, family, metric, xi, convention, penalty
):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 40)
    X = rng.normal(size=(40, 2)) + 3 * y[:, None]
    wrong = np.where(rng.random(40) < 0.2, rng.integers(0, 3, 40), y)
    known = Constraints.from_labels(wrong, int(rng.integers(0, 200)), random_state=seed)
    model = CECM(
        3, focal_sets=family, metric=metric, xi=xi, convention=convention, empty_penalty=penalty, n_init=1,
        max_iter=30, tol=0, random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, constraints=known)
    assert np.all(np.diff(model.history_) <= 1e-9 * np.abs(model.history_[:-1]) + 1e-15)
    masses = model.credal_partition_.masses
    assert masses.min() >= 0
    assert masses.max() <= 1
    np.testing.assert_allclose(masses.sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("metric", ["euclidean", "adaptive"])
@pytest.mark.parametrize(
    ("family", "n_fitted"),
    [("auto", 3), ("simple", 5), pytest.param("pairs", 8, marks=pytest.mark.long)],
)
def test_equals_ecm_without_constraints(family, n_fitted, metric):
    X, y = blobs()
    ecm = ECM(3, focal_sets=family, metric=metric, beta=2.0, random_state=0).fit(X)
    for known, xi in (
        (None, 0.5),
        (Constraints(), 0.5),
        (Constraints.from_labels(y, 30, random_state=0), 0.0),
    ):
        cecm = CECM(3, focal_sets=family, metric=metric, xi=xi, random_state=0).fit(
            X, constraints=known
        )
        np.testing.assert_allclose(
            cecm.credal_partition_.masses, ecm.credal_partition_.masses, atol=1e-10
        )
        share = 60 * n_fitted * X.var(axis=0).mean() / 4
        assert cecm.objective_ == pytest.approx((1 - xi) * ecm.objective_ / share)


def test_units_have_no_effect():
    """The published conventions depend on units and agree with ours if the mean variance is four."""
    X, y = blobs()
    X *= 2 / np.sqrt(X.var(axis=0).mean())
    known = Constraints.from_labels(y, 60, random_state=0)
    as_given = CECM(3, random_state=0).fit(X, constraints=known)
    for factor in (1e-3, 10.0, 1e6):
        other = CECM(3, random_state=0).fit(factor * X, constraints=known)
        np.testing.assert_allclose(
            other.credal_partition_.masses, as_given.credal_partition_.masses, atol=1e-8
        )
    as_given = CECM(3, focal_sets="pairs", random_state=0).fit(X, constraints=known)
    program = CECM(3, focal_sets="pairs", convention="program", random_state=0)
    np.testing.assert_allclose(
        program.fit(X, constraints=known).credal_partition_.masses,
        as_given.credal_partition_.masses,
        atol=1e-8,
    )
    program.fit(1000 * X, constraints=known)
    assert (
        np.abs(
            program.credal_partition_.masses - as_given.credal_partition_.masses
        ).max()
        > 0.1
    )


@pytest.mark.parametrize("convention", ["scaled", "program", "paper"])
def test_sample_weights(convention):
    """A weight equals a number of repetitions for objects without constraints."""
    X, y = blobs()
    known = Constraints.from_labels(y, 15, random_state=0)
    linked = np.unique(np.concatenate([known.must_link, known.cannot_link]))
    weights = np.random.default_rng(0).integers(1, 4, len(X))
    weights[linked] = 1
    exactly = {
        "convention": convention,
        "delta": 3,
        "init": X[[0, 1, 5]],
        "tol": 1e-13,
        "max_iter": 5000,
    }
    a = CECM(3, **exactly).fit(X, sample_weight=weights, constraints=known)
    twins = np.repeat(X, weights - 1, axis=0)
    known = Constraints(known.must_link, known.cannot_link)
    b = CECM(3, **exactly).fit(np.concatenate([X, twins]), constraints=known)
    assert a.objective_ == pytest.approx(b.objective_)
    np.testing.assert_allclose(
        a.credal_partition_.masses, b.credal_partition_.masses[:60], atol=1e-5
    )
    kept = np.arange(60) != linked[0]
    c = CECM(3, **exactly).fit(X, sample_weight=kept, constraints=known)
    pairs = [
        links[(links != linked[0]).all(axis=1)]
        for links in (known.must_link, known.cannot_link)
    ]
    moved = [links - (links > linked[0]) for links in pairs]
    d = CECM(3, **exactly).fit(X[kept], constraints=Constraints(*moved))
    assert c.objective_ == pytest.approx(d.objective_)
    np.testing.assert_allclose(
        c.credal_partition_.masses[kept], d.credal_partition_.masses, atol=1e-5
    )


def test_start_from_belief_peaks():
    X, y = make_blobs(200, 2, centers=[[0, 0], [9, 1], [1, 10]], random_state=1)
    known = Constraints.from_labels(y, 20, random_state=0)
    for init in ("belief-peaks", BeliefPeaks(n_neighbors=40)):
        assert (
            adjusted_rand_score(y, CECM(3, init=init).fit(X, constraints=known).labels_)
            > 0.9
        )


def test_constraints_improve_the_labels():
    X, y = load_iris(return_X_y=True)
    for metric in ("euclidean", "adaptive"):
        chosen = {"focal_sets": "pairs", "metric": metric, "random_state": 0}
        without = adjusted_rand_score(y, ECM(3, beta=2.0, **chosen).fit(X).labels_)
        for seed in range(3):
            known = Constraints.from_labels(y, 100, random_state=seed)
            model = CECM(3, **chosen).fit(X, constraints=known)
            assert adjusted_rand_score(y, model.labels_) > without + 0.1


@pytest.mark.parametrize("seed", range(3))
def test_few_constraints_do_not_change_other_objects(seed):
    """Clusters of very different sizes, where a constraint would select another start."""
    X, y = make_blobs(
        [90, 60, 12, 6, 4], 3, centers=None, cluster_std=1.8, random_state=seed
    )
    free = CECM(5, random_state=0).fit(X)
    for n in (1, 3):
        rng = np.random.default_rng(seed)
        pairs = rng.permutation(len(y))[: 2 * n].reshape(-1, 2)
        is_same = y[pairs[:, 0]] == y[pairs[:, 1]]
        known = Constraints(pairs[is_same], pairs[~is_same])
        model = CECM(5, random_state=0).fit(X, constraints=known)
        rest = np.setdiff1d(np.arange(len(y)), pairs)
        assert adjusted_rand_score(free.labels_[rest], model.labels_[rest]) > 0.9
        assert len(known.violations(model.credal_partition_)) == 0


def test_constraints_that_contradict_the_clusters_move_the_prototypes():
    """Two clusters along the longer axis, and constraints along the other one."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 100)
    X = np.column_stack([rng.normal(size=200) * 4, rng.normal(size=200) + 4 * y])
    assert adjusted_rand_score(y, CECM(2, random_state=0).fit_predict(X)) < 0.2
    known = Constraints.from_labels(y, 300, random_state=0)
    model = CECM(2, random_state=0).fit(X, constraints=known)
    assert adjusted_rand_score(y, model.labels_) > 0.8
    new = np.column_stack([rng.normal(size=200) * 4, rng.normal(size=200) + 4 * y])
    assert adjusted_rand_score(y, model.predict(new)) > 0.4


def test_improvement_that_moves_the_prototypes():
    """Three more constraints may hold by chance, with a probability of 1/8; five with 1/32."""
    before = np.zeros(5, bool)
    assert improvement(before, np.arange(5) < 3) <= cecm._CONFIRMING
    assert improvement(before, ~before) > cecm._CONFIRMING


def test_all_objects_linked():
    X, y = blobs(30)
    known = Constraints.from_partial_labels(y)
    for metric in ("euclidean", "adaptive"):
        model = CECM(3, metric=metric, xi=0.9, random_state=0).fit(X, constraints=known)
        assert adjusted_rand_score(y, model.labels_) == 1


def test_linked_objects_on_the_empty_set():
    """The published objective assigns linked objects to the empty set.

    A penalty or the other convention does not.
    """
    X, y = blobs(100)
    known = Constraints.from_labels(y, 80, random_state=0)
    linked = np.unique(np.concatenate([known.must_link, known.cannot_link]))
    empty = {}
    for name, convention, penalty in (
        ("paper", "paper", 0.0),
        ("penalty", "paper", 1.0),
        ("program", "program", 0.0),
    ):
        model = CECM(
            3, convention=convention, empty_penalty=penalty, random_state=0
        ).fit(X, constraints=known)
        empty[name] = model.credal_partition_.empty[linked].mean()
    assert empty["penalty"] < 1e-6
    assert empty["program"] < empty["paper"]


def test_predict():
    X, y = blobs()
    known = Constraints.from_labels(y, 40, random_state=0)
    linked = np.unique(np.concatenate([known.must_link, known.cannot_link]))
    for metric in ("euclidean", "adaptive"):
        model = CECM(3, metric=metric, random_state=0).fit(X, constraints=known)
        np.testing.assert_array_equal(
            model.predict_mass(X).masses, model.credal_partition_.masses
        )
        np.testing.assert_array_equal(model.predict(X), model.labels_)
        np.testing.assert_allclose(
            model.predict_mass(X + 1e-9).masses,
            model.credal_partition_.masses,
            atol=1e-6,
        )
        # new objects have no constraints
        new = np.delete(X, linked, axis=0) + 1e-9
        matrices = getattr(model, "metric_matrices_", None)
        plain = prototypes(
            model.focal_sets_,
            model.cluster_centers_,
            model.alpha,
            2.0,
            model.delta_,
            matrices,
        )
        np.testing.assert_allclose(
            model.predict_mass(new).masses, plain.masses(new, one_thread), atol=1e-6
        )
    # linked objects are known again in another precision
    single = model.predict_mass(X.astype(np.float32)).masses
    np.testing.assert_allclose(
        single[linked], model.credal_partition_.masses[linked], atol=1e-6
    )
    assert model.predict_mass(X.mean(axis=0) + 1e4 * np.eye(2)).outliers.tolist() == [
        0,
        1,
    ]


def test_permuting_the_objects_permutes_the_result():
    X, y = blobs(100)
    known = Constraints.from_labels(y, 60, random_state=0)
    order = np.random.default_rng(0).permutation(100)
    place = np.argsort(order)
    moved = Constraints(place[known.must_link], place[known.cannot_link])
    for metric in ("euclidean", "adaptive"):
        a = (
            CECM(3, metric=metric, random_state=0)
            .fit(X, constraints=known)
            .credal_partition_
        )
        b = (
            CECM(3, metric=metric, random_state=0)
            .fit(X[order], constraints=moved)
            .credal_partition_
        )
        np.testing.assert_allclose(b.masses, a.masses[order], atol=1e-6)


@pytest.mark.parametrize(
    "family",
    ["auto", "simple", "pairs", "full", "selected", FocalSets.full(3, empty=False)],
)
def test_all_families(family):
    X, y = blobs()
    known = Constraints.from_labels(y, 60, random_state=0)
    model = CECM(3, focal_sets=family, random_state=0).fit(X, constraints=known)
    assert adjusted_rand_score(y, model.labels_) > 0.8
    if isinstance(family, FocalSets):
        assert model.focal_sets_ == family


def test_contradictory_constraints():
    X, _ = blobs(30)
    with pytest.raises(ValueError, match=r"must_link must"):
        CECM(3).fit(X, constraints=Constraints(must_link=[(3, 30)]))
    with pytest.raises(ValueError, match="constraints must"):
        CECM(3).fit(X, constraints=Constraints([(0, 1)], n_objects=31))
    with pytest.raises(ValueError, match="constraints contradict each other"):
        CECM(3).fit(X, constraints=Constraints([(0, 1)], [(1, 0)]))
    with pytest.raises(TypeError, match="constraints must"):
        CECM(3).fit(X, constraints=[(0, 1)])
    with pytest.warns(UserWarning, match="contradict"):
        CECM(3, random_state=0).fit(
            X, constraints=Constraints([(0, 1), (1, 2)], [(0, 2)])
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"xi": -0.1}, "xi must"),
        ({"xi": 1}, "xi must"),
        ({"convention": "mine"}, "convention must"),
        ({"empty_penalty": -1}, "empty_penalty must"),
        ({"metric": "cosine"}, "metric must"),
        ({"delta": -1}, "delta must"),
        ({"init": np.zeros((3, 2))}, r"init must"),
        ({"focal_sets": FocalSets([[0, 0], [1, 0], [1, 1]])}, "focal_sets"),
        ({"n_clusters": 31}, "n_samples=30 should be >= n_clusters=31"),
    ],
)
def test_invalid_parameters(change, message):
    X, _ = blobs(30)
    with pytest.raises(ValueError, match=message):
        CECM(**{"n_clusters": 2, **change}).fit(X, constraints=Constraints([(0, 1)]))


def test_invalid_data():
    X, _ = blobs(30)
    broken = X.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        CECM(2).fit(broken)
    with pytest.raises(
        ValueError, match="n_clusters=2 is more than the 1 different objects"
    ):
        CECM(2).fit(np.ones((10, 2)), constraints=Constraints([(0, 1)]))
