"""BootClus: attributes, prediction, parameters and warm starts."""

from types import SimpleNamespace

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score, roc_auc_score

from dempster import CredalPartition, FocalSets
from dempster._progress import report_progress_to
from dempster.cluster import BootClus, bootclus
from dempster.cluster import bootclus as bootstrap
from dempster.cluster.bootclus import PairIntervals, fit_mixtures
from dempster.datasets import make_gaussian_mixture
from dempster.explain import doubt_scores
from dempster.mixture import ParsimoniousGaussianMixture, em
from dempster.optimize.simplex_qp import solve_simplex_qp
from dempster.partition.relational import pair_forms

FOCAL_3 = FocalSets.pairs(3, empty=False, omega=False)


@pytest.fixture(scope="module")
def sample():
    return make_gaussian_mixture(1, 150, as_bunch=True, random_state=0)


@pytest.fixture(scope="module")
def fitted(sample):
    return BootClus(3, mixture="EII", n_bootstraps=60, random_state=0).fit(sample.data)


# ---- attributes ----------------------------------------------------------------------------------


def test_attributes(fitted, sample):
    n = len(sample.data)
    assert len(fitted.credal_partition_) == n
    assert fitted.focal_sets_ == FOCAL_3
    assert fitted.mixture_.model_ == "EII"
    assert fitted.n_clusters_ == 3
    assert fitted.converged_
    assert (np.diff(fitted.history_) <= 1e-9 * fitted.history_[0]).all()
    assert len(fitted.bootstraps_) == 60
    assert fitted.bootstraps_.means.shape == (60, 3, 2)
    np.testing.assert_array_equal(fitted.reference_indices_, np.arange(n))
    assert adjusted_rand_score(sample.target, fitted.labels_) > 0.6


def test_beliefs_match_the_intervals(fitted, sample):
    intervals = fitted.intervals_
    n = len(sample.data)
    assert len(intervals) == n * (n - 1) // 2
    np.testing.assert_array_equal(intervals.pairs[:2], [[0, 1], [0, 2]])
    np.testing.assert_array_equal(intervals.pairs[n - 1], [1, 2])
    assert (intervals.lower <= intervals.upper).all()
    assert (intervals.belief <= intervals.plausibility + 1e-12).all()
    relations = fitted.credal_partition_.relational([(0, 1), (1, 2)]).masses
    rows = [0, n - 1]
    np.testing.assert_allclose(intervals.belief[rows], relations[:, 1])
    np.testing.assert_allclose(intervals.plausibility[rows], 1 - relations[:, 2])
    squares = np.sum(
        (intervals.belief - intervals.lower) ** 2
        + (intervals.plausibility - intervals.upper) ** 2
    )
    assert fitted.objective_ == pytest.approx(squares, rel=1e-5)
    assert np.sqrt(squares / len(intervals) / 2) < 0.06
    assert np.corrcoef(intervals.belief, intervals.lower)[0, 1] > 0.98


def test_doubt_finds_the_objects_that_the_bootstrap_relabels(fitted, sample):
    fits = fitted.bootstraps_.posteriors(sample.data).argmax(axis=1)
    changes = (fits != fitted.labels_[:, None]).mean(axis=1)
    assert roc_auc_score(changes >= 0.1, doubt_scores(fitted)) > 0.97


def test_intervals_of_some_pairs(fitted, sample):
    pairs = [(3, 140), (0, 1), (77, 9)]
    fits = fitted.pair_probabilities(sample.data, pairs)
    assert fits.shape == (3, 60)
    bounds = fitted.pair_intervals(sample.data, pairs)
    np.testing.assert_allclose(
        bounds, np.quantile(fits, [0.05, 0.95], axis=1).T, atol=1e-6
    )
    assert bounds[1].tolist() == pytest.approx(
        [fitted.intervals_.lower[0], fitted.intervals_.upper[0]], abs=1e-6
    )
    with pytest.raises(ValueError, match="pairs .* 0 to 149"):
        fitted.pair_probabilities(sample.data, [(0, 150)])


def test_coverage(fitted, sample):
    intervals = fitted.intervals_
    coverage = intervals.coverage(sample.posterior)
    truth = (sample.posterior @ sample.posterior.T)[np.triu_indices(150, 1)]
    np.testing.assert_allclose(intervals.probabilities(sample.posterior), truth)
    assert coverage.belief == np.mean(
        (intervals.belief <= truth) & (truth <= intervals.plausibility)
    )
    assert coverage.confidence == np.mean(
        (intervals.lower <= truth) & (truth <= intervals.upper)
    )
    assert coverage.confidence_length == pytest.approx(
        np.mean(intervals.upper - intervals.lower)
    )
    order = [2, 0, 1]  # The numbering of the clusters does not matter.
    assert intervals.coverage(sample.posterior[:, order]) == pytest.approx(coverage)
    with pytest.raises(ValueError, match="posterior must be"):
        intervals.coverage(sample.posterior[:5])


def test_coverage_of_certain_pairs():
    """The bounds have single precision, in which a probability of nearly 1 is 1."""
    partition = CredalPartition.from_rough([[True, False], [True, False]])
    one = np.ones(1, dtype=np.float32)
    intervals = PairIntervals(partition, np.arange(2), one, one, 0.9)
    assert intervals.coverage(np.full((2, 2), [1 - 1e-12, 1e-12])).confidence == 1


def test_higher_confidence_gives_wider_intervals(sample):
    narrow, wide = (
        BootClus(
            3, mixture="EII", n_bootstraps=40, confidence=level, random_state=0
        ).fit(sample.data)
        for level in (0.5, 0.95)
    )
    assert (wide.intervals_.lower <= narrow.intervals_.lower + 1e-7).all()
    assert (wide.intervals_.upper >= narrow.intervals_.upper - 1e-7).all()
    index = [model.credal_partition_.nonspecificity_index() for model in (narrow, wide)]
    assert index[0] < index[1]


@pytest.mark.long
def test_joblib_processes(sample):
    model = BootClus(3, mixture="EII", n_bootstraps=25, random_state=7).fit(sample.data)
    with parallel_config("loky", n_jobs=2):
        other = clone(model).fit(sample.data)
    np.testing.assert_array_equal(other.bootstraps_.means, model.bootstraps_.means)
    np.testing.assert_array_equal(
        other.credal_partition_.masses, model.credal_partition_.masses
    )


@pytest.mark.filterwarnings("ignore")
def test_joblib_dask(sample):
    distributed = pytest.importorskip("distributed")
    model = BootClus(3, mixture="EII", n_bootstraps=25, random_state=7).fit(sample.data)
    with (
        distributed.Client(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
        ),
        parallel_config("dask"),
    ):
        other = clone(model).fit(sample.data)
    np.testing.assert_array_equal(
        other.credal_partition_.masses, model.credal_partition_.masses
    )


def test_fits_are_aligned(fitted):
    gap = np.linalg.norm(
        fitted.bootstraps_.means[:, :, None] - fitted.mixture_.means_[None, None],
        axis=3,
    )
    assert (gap.argmin(axis=2) == np.arange(3)).all()
    swapped = np.array([[0.1, 0.9, 0], [0.9, 0.1, 0], [0, 0, 1.0]])
    assert bootstrap._match_components(swapped).tolist() == [1, 0, 2]
    # two components most similar to the same one
    both_first = np.array([[0.9, 0.1, 0], [0.8, 0.2, 0], [0, 0, 1.0]])
    assert bootstrap._match_components(both_first).tolist() == [0, 1, 2]


# ---- new objects ---------------------------------------------------------------------------------


def test_new_objects_match_the_intervals(fitted, sample):
    new = make_gaussian_mixture(1, 20, random_state=9)[0]
    masses = fitted.predict_mass(new).masses
    S, C = pair_forms(FOCAL_3)[1:3]
    M = fitted.credal_partition_.masses
    both = np.vstack([new, sample.data])
    for i in (0, 7, 19):
        pairs = [(i, 20 + j) for j in range(150)]
        lower, upper = fitted.pair_intervals(both, pairs).T
        A = np.vstack([M @ S, M @ C])
        expected = solve_simplex_qp(
            2 * A.T @ A, -2 * A.T @ np.concatenate([lower, 1 - upper])
        )
        np.testing.assert_allclose(masses[i], expected, atol=1e-5)


# ---- some pairs ----------------------------------------------------------------------------------


def test_some_pairs_agree_with_all_pairs():
    sample = make_gaussian_mixture(1, 600, as_bunch=True, random_state=2)
    options = {"mixture": "EII", "n_bootstraps": 60, "random_state": 0}
    every = BootClus(3, n_partners="all", **options).fit(sample.data)
    some = BootClus(3, n_partners=100, **options).fit(sample.data)
    assert 100 <= len(some.reference_indices_) <= 160
    assert (
        len(some.intervals_)
        == len(some.reference_indices_) * (len(some.reference_indices_) - 1) // 2
    )
    held_out = np.random.default_rng(0).integers(0, 600, (20_000, 2))
    held_out = held_out[held_out[:, 0] != held_out[:, 1]]
    a, b = (m.credal_partition_.relational(held_out).masses for m in (every, some))
    assert np.abs(a[:, 1] - b[:, 1]).mean() < 0.02  # belief
    assert np.abs(a[:, 2] - b[:, 2]).mean() < 0.02  # one minus plausibility
    np.testing.assert_allclose(
        some.predict_mass(sample.data).masses, some.credal_partition_.masses, atol=1e-9
    )


def test_many_objects_use_references():
    X = make_gaussian_mixture(1, 2100, random_state=0)[0]
    model = BootClus(3, mixture="EII", n_bootstraps=10, random_state=0).fit(X)
    assert len(model.reference_indices_) < 600
    assert len(model.labels_) == 2100


# ---- focal sets ----------------------------------------------------------------------------------


def test_families(sample):
    def family(c=3, **options):
        return (
            BootClus(c, mixture="EII", n_bootstraps=10, random_state=0, **options)
            .fit(sample.data)
            .focal_sets_
        )

    assert family(focal_sets="full") == FocalSets.full(3, empty=False)
    assert family(focal_sets="simple") == FocalSets.simple(3, empty=False)
    assert family(c=1) == FocalSets.from_sets(1, [(0,)])
    assert len(family(c=2)) == 3
    selected = family(focal_sets="selected", n_neighbor_clusters=1)
    assert FOCAL_3.cardinality.sum() > selected.cardinality.sum() > 3
    five = family(c=5)
    assert 5 < len(five) < 15  # single clusters and the pairs that overlap


@pytest.mark.parametrize("focal_sets", ["full", FocalSets.full(9)])
def test_too_many_sets_are_refused_before_the_bootstrap(monkeypatch, focal_sets):
    monkeypatch.setattr(bootclus, "fit_mixtures", None)
    X = np.random.default_rng(0).normal(size=(42, 3))
    with pytest.raises(ValueError, match="focal_sets must contain at most 256 sets"):
        BootClus(9, focal_sets=focal_sets).fit(X)


def test_selected_pairs_are_those_of_similar_clusters():
    rng = np.random.default_rng(0)
    centers = np.array([0.0, 3.0, 20.0, 23.0, 40.0])
    X = (np.repeat(centers, 80) + rng.normal(size=400))[:, None]
    model = BootClus(
        5,
        mixture="E",
        n_bootstraps=10,
        focal_sets="selected",
        n_neighbor_clusters=1,
        random_state=0,
    ).fit(X)
    order = np.argsort(np.argsort(model.mixture_.means_.ravel()))
    found = {
        frozenset(order[list(s)].tolist()) for s in model.focal_sets_ if len(s) == 2
    }
    assert {frozenset({0, 1}), frozenset({2, 3})} <= found
    assert frozenset({0, 4}) not in found


def test_the_empty_set_gets_no_mass(sample, fitted):
    family = FocalSets.from_sets(3, [(), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2)])
    model = BootClus(
        3, mixture="EII", n_bootstraps=60, focal_sets=family, random_state=0
    ).fit(sample.data)
    assert model.focal_sets_ == family
    assert not model.credal_partition_.empty.any()
    np.testing.assert_allclose(
        model.credal_partition_.masses[:, 1:], fitted.credal_partition_.masses
    )


# ---- mixtures ------------------------------------------------------------------------------------


def test_mixture_parameter(sample):
    own = ParsimoniousGaussianMixture(2, model="VVI", random_state=5)
    model = BootClus(3, mixture=own, n_bootstraps=5, random_state=0).fit(sample.data)
    assert model.mixture_.model_ == "VVI"
    assert model.n_clusters_ == 3
    assert own.n_components == 2  # not changed
    assert not hasattr(own, "means_")


def test_samples_of_each_model(sample):
    """The number of samples of a model is proportional to its Akaike weight if there are few objects."""
    mixture = ParsimoniousGaussianMixture(3, random_state=0).fit(sample.data)
    fits = bootstrap._weigh_models(mixture, sample.data, 1000)
    table = mixture.bic_table_.loc[3]
    weights = np.exp(
        table["log_likelihood"] - table["n_parameters"] - table["log_likelihood"].max()
    )
    expected = 1000 * weights / weights.sum()
    counts = {fitted.model: count for fitted, count in fits}
    assert len(counts) > 3
    assert sum(counts.values()) == 1000
    np.testing.assert_allclose(
        [counts.get(name, 0) for name in table.index], expected, atol=1
    )
    gap = np.linalg.norm([fitted.means - mixture.means_ for fitted, _ in fits], axis=2)
    # Component k of every fit is component k of the selected mixture.
    assert gap.max() < 1
    # ten objects for each of the 17 parameters of VVV
    many = make_gaussian_mixture(1, 170, random_state=0)[0]
    assert [
        (fitted.model, count)
        for fitted, count in bootstrap._weigh_models(mixture.fit(many), many, 20)
    ] == [("VVV", 20)]
    mixture.set_params(model="EEE").fit(sample.data)
    assert [
        (fitted.model, count)
        for fitted, count in bootstrap._weigh_models(mixture, sample.data, 20)
    ] == [("EEE", 20)]


def test_many_objects_are_fitted_as_closely_as_few():
    """The spread of the means times sqrt(n) must not decrease with n, as with a fixed relative tolerance of EM."""
    spread = []
    for n in (300, 6000):
        X = make_gaussian_mixture(1, n, random_state=3)[0]
        fits = (
            BootClus(3, mixture="EII", n_bootstraps=60, n_partners=50, random_state=0)
            .fit(X)
            .bootstraps_
        )
        spread.append(np.sqrt(n) * fits.means.std(axis=0).mean())
    assert spread[1] == pytest.approx(2.05, abs=0.25)  # 2.1 if EM converges completely
    assert spread[1] > 0.8 * spread[0]


def test_number_of_clusters(sample):
    model = BootClus(None, mixture="EII", n_bootstraps=5, random_state=0).fit(
        sample.data
    )
    assert model.n_clusters_ == model.credal_partition_.n_clusters == 3
    given = BootClus(
        None,
        focal_sets=FocalSets.pairs(2),
        mixture="EII",
        n_bootstraps=5,
        random_state=0,
    )
    assert given.fit(sample.data).n_clusters_ == 2


# ---- parameters and data -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"confidence": 1}, "confidence must be .* got 1"),
        ({"n_bootstraps": 1}, "n_bootstraps must be"),
        ({"n_partners": "some"}, "n_partners must be .* got 'some'"),
        ({"mixture": "XXX"}, "mixture must be .* got 'XXX'"),
        ({"n_clusters": 0}, "n_clusters must be"),
        ({"focal_sets": FocalSets.pairs(4)}, "focal_sets must"),
        (
            {"focal_sets": FocalSets.from_sets(3, [(0,), (1,), (0, 1, 2)])},
            "focal_sets must .* every single cluster",
        ),
    ],
)
def test_invalid_parameters(sample, parameters, message):
    with pytest.raises(ValueError, match=message):
        BootClus(**{"n_clusters": 3, "n_bootstraps": 5, **parameters}).fit(sample.data)


def test_identical_rows():
    with pytest.raises(ValueError, match="n_clusters=2"):
        BootClus(2, n_bootstraps=5).fit(np.ones((30, 2)))
    model = BootClus(None, n_bootstraps=5).fit(np.ones((30, 2)))
    assert model.n_clusters_ == 1
    with pytest.raises(ValueError, match="n_clusters=3"):
        BootClus(3, n_bootstraps=5).fit(np.repeat([[0.0, 1.0], [2.0, 3.0]], 20, axis=0))
    X = make_gaussian_mixture(1, 80, random_state=0)[0]
    X = np.vstack([X, X[:40], X[:40]])
    model = BootClus(3, mixture="EII", n_bootstraps=20, random_state=0).fit(X)
    np.testing.assert_array_equal(
        model.credal_partition_.masses[80:120], model.credal_partition_.masses[:40]
    )
    np.testing.assert_array_equal(
        model.predict_mass(X).masses, model.credal_partition_.masses
    )


def test_constant_column():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=60) + np.repeat([0, 6], 30), np.ones(60)])
    model = BootClus(2, n_bootstraps=20, random_state=0).fit(X)
    assert model.mixture_.model_ in ("EII", "VII")
    assert adjusted_rand_score(np.repeat([0, 1], 30), model.labels_) > 0.9
    with pytest.raises(ValueError, match="attribute 2 is constant"):
        BootClus(2, n_bootstraps=20, mixture="VVV").fit(X)


def test_samples_that_lose_a_cluster_are_drawn_again(monkeypatch):
    n_samples = []

    def refit_em(data, weights, *arguments, **options):
        n_samples.append(len(weights))
        return em.refit_em(data, weights, *arguments, **options)

    monkeypatch.setattr(bootstrap.Bootstraps, "refit_em", staticmethod(refit_em))
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(60, 2)), 20 + rng.normal(size=(4, 2))])
    model = BootClus(2, mixture="VVV", n_bootstraps=60, random_state=0).fit(X)
    n_drawn = sum(n_samples)
    assert n_drawn > 60
    assert len(model.bootstraps_) == 60
    assert np.isfinite(model.bootstraps_.covariances).all()
    n_samples.clear()
    other = clone(model).set_params(n_jobs=2).fit(X)
    assert sum(n_samples) == n_drawn
    np.testing.assert_array_equal(
        other.bootstraps_.covariances, model.bootstraps_.covariances
    )


def test_error_if_every_sample_loses_a_cluster(sample, monkeypatch):
    lost = SimpleNamespace(problems=5 * ["component 1 collapsed"])
    monkeypatch.setattr(bootstrap.Bootstraps, "refit_em", lambda *a, **k: lost)
    with pytest.raises(
        ValueError, match="101 bootstrap samples .*component 1 collapsed"
    ):
        BootClus(3, mixture="EII", n_bootstraps=5, n_jobs=1).fit(sample.data)


@pytest.fixture
def fits(monkeypatch):
    """Return a list with one entry for each fit of mixtures."""
    calls = []
    monkeypatch.setattr(
        bootclus,
        "fit_mixtures",
        lambda *arguments: calls.append(1) or fit_mixtures(*arguments),
    )
    return calls


def test_warm_start(fits):
    X = make_gaussian_mixture(2, 60, random_state=0)[0]
    settings = {
        "n_clusters": 3,
        "n_bootstraps": 20,
        "mixture": "EEE",
        "random_state": 1,
    }
    warm = BootClus(**settings).fit(X)
    warm.set_params(warm_start=True, confidence=0.95, focal_sets="simple").fit(X)
    assert len(fits) == 1
    cold = BootClus(**settings, confidence=0.95, focal_sets="simple").fit(X)
    np.testing.assert_array_equal(
        warm.credal_partition_.masses, cold.credal_partition_.masses
    )
    np.testing.assert_array_equal(warm.intervals_.lower, cold.intervals_.lower)
    fits.clear()
    for change in (
        {"random_state": 2},
        {"n_bootstraps": 10},
        {"mixture": "EII"},
        {"n_clusters": 2},
    ):
        warm.set_params(**change).fit(X)
    warm.fit(X + 1)
    assert len(fits) == 5
    warm.set_params(confidence=0.8).fit(X + 1)
    assert len(fits) == 5
    warm.set_params(warm_start=False).fit(X + 1)
    assert len(fits) == 6


@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_warm_start_depends_on_the_random_state(fits, kind):
    X = make_gaussian_mixture(2, 60, random_state=0)[0]
    state = kind(3)
    warm = BootClus(
        3, n_bootstraps=5, mixture="EEE", warm_start=True, random_state=state
    ).fit(X)
    warm.set_params(confidence=0.5).fit(X)  # unchanged state
    assert len(fits) == 1
    state.normal()
    warm.fit(X)
    assert len(fits) == 2
    warm.set_params(random_state=kind(4)).fit(X)
    assert len(fits) == 3
    warm.set_params(
        mixture=ParsimoniousGaussianMixture(model="EEE", init=np.repeat([0, 1, 2], 20))
    ).fit(X)
    warm.set_params(
        mixture=ParsimoniousGaussianMixture(model="EEE", init=np.arange(60) % 3)
    ).fit(X)
    assert len(fits) == 5


def test_progress_of_models_and_samples():
    notes = []
    with report_progress_to(
        lambda name, done, total, unit, note: notes.append((unit, note))
    ):
        BootClus(2, n_bootstraps=10, mixture="EII", random_state=0).fit(
            make_gaussian_mixture(1, 60, random_state=0)[0]
        )
    assert notes[0] == ("models", "2 components, EII")
    assert ("samples", "") in notes
