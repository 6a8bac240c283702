import inspect

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV

from dempster import CredalPartition, FocalSets
from dempster.cluster import EVCLUS, NNEVCLUS, BeliefPeaks, Training
from dempster.cluster._base import FitRequest
from dempster.cluster.evclus import nnevclus
from dempster.cluster.evclus._network_targets import build_targets, draw_batches
from dempster.constraints import Constraints
from dempster.datasets import make_fourclass
from dempster.dissimilarity import to_conflict
from dempster.metric import PCCA

SOLVERS = ["lbfgs", "adaptive-steps", "mini-batch"]


def quick(c=2, *, solver="auto", training=None, **keywords):
    training = training or Training(solver, batch_size=32)
    return NNEVCLUS(
        c, training=training, **{"max_iter": 60, "random_state": 0, **keywords}
    )


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(90, 2, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)


# ---- clusters, starts ----------------------------------------------------------------------------


def test_finds_clusters_and_predicts(blobs):
    X, y = blobs
    for init in ("evclus", "random"):
        model = quick(
            3, init=init, n_init=1 if init == "evclus" else 3, max_iter=200
        ).fit(X)
        assert adjusted_rand_score(y, model.labels_) > 0.9, init
        assert (model.evclus_ is None) == (init == "random")
    np.testing.assert_allclose(model.credal_partition_.masses.sum(axis=1), 1)


def test_belief_peaks(blobs):
    """The metric of the network replaces the metric of a BeliefPeaks object."""
    X, y = blobs
    for init, metric in (
        ("belief-peaks", "cityblock"),
        (BeliefPeaks(n_neighbors=10), "euclidean"),
    ):
        model = quick(3, init=init, metric=metric, max_iter=200).fit(X)
        assert adjusted_rand_score(y, model.labels_) > 0.9
        peaks = BeliefPeaks(
            3, metric=metric, n_neighbors=10 if metric == "euclidean" else "auto"
        ).fit(X)
        assert model.labels_[peaks.peak_indices_].tolist() == [0, 1, 2]


def test_init_by_partition(blobs):
    X, y = blobs
    given = CredalPartition.from_hard((y + 1) % 3)
    for init in (given, EVCLUS(3, random_state=0).fit(X).credal_partition_):
        model = quick(3, init=init, max_iter=20).fit(X)
        # The numbers of the clusters are the same.
        assert (model.labels_ == init.labels).mean() > 0.95
        assert model.evclus_ is None
    simple = EVCLUS(3, focal_sets="simple", random_state=0).fit(X).credal_partition_
    selected = quick(3, init=simple, focal_sets="selected").fit(X)
    assert (
        len(FocalSets.simple(3)) < len(selected.focal_sets_) <= len(FocalSets.pairs(3))
    )
    with pytest.raises(ValueError, match="init must be"):
        quick(3, init=given[:5]).fit(X)
    with pytest.raises(ValueError, match="focal_sets"):
        quick(
            3, init=init, focal_sets=FocalSets.simple(3, empty=False, omega=False)
        ).fit(X)


def test_initial_sample(blobs, monkeypatch):
    """The sample contains the labeled rows, which define the numbers of the clusters."""
    monkeypatch.setattr(nnevclus, "_MAX_INITIAL_ROWS", 40)
    X, y = blobs
    labels = np.full(len(y), -1)
    known = [np.flatnonzero(y == k)[5] for k in range(3)]
    labels[known] = [2, 0, 1]
    model = quick(3).fit(X, labels)
    n = len(model.evclus_.labels_)
    assert 40 <= n <= 43
    assert (model.labels_ == np.array([2, 0, 1])[y]).mean() > 0.9
    bound = Constraints(must_link=[known[:2]])
    assert len(quick(3, xi=0.5).fit(X, constraints=bound).evclus_.labels_) == len(X)


def test_labels_define_numbers_of_clusters(blobs):
    X, y = blobs
    partial = np.full(len(y), -1)
    partial[[np.flatnonzero(y == k)[0] for k in range(3)]] = [2, 0, 1]
    expected = np.array([2, 0, 1])[y]
    for solver in ("lbfgs", "mini-batch"):
        model = quick(3, solver=solver).fit(X, partial)
        assert (model.labels_ == expected).mean() > 0.9


@pytest.mark.parametrize("solver", ["lbfgs", "mini-batch"])
def test_constraints(solver):
    X, y = load_iris(return_X_y=True)
    constraints = Constraints.from_labels(y, 200, random_state=0)
    free = quick(3, training=Training(solver)).fit(X)
    bound = quick(3, xi=0.5, training=Training(solver)).fit(X, constraints=constraints)
    assert len(constraints.violations(bound.credal_partition_)) < len(
        constraints.violations(free.credal_partition_)
    )
    assert adjusted_rand_score(y, bound.labels_) > adjusted_rand_score(y, free.labels_)


def test_convention_of_constraints(blobs):
    X, y = blobs
    known = Constraints.from_labels(y, 30, random_state=0)
    program = quick(3, init="random", xi=0.1).fit(X, constraints=known)
    paper = quick(3, init="random", xi=0.4, convention="paper").fit(
        X, constraints=known
    )
    np.testing.assert_array_equal(program.history_, paper.history_)


def test_dissimilarities(blobs):
    X, y = blobs
    D = np.abs(y[:, None] - y[None, :]).astype(float)
    model = quick(3, d0=0.5).fit(X, dissimilarities=D)
    assert adjusted_rand_score(y, model.labels_) == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"shape \(90, 90\)"):
        quick(3).fit(X, dissimilarities=D[:5])


# ---- training ------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["lbfgs", "adaptive-steps"])
def test_full_batch_loss_decreases(blobs, solver):
    model = quick(3, solver=solver, init="random").fit(blobs[0])
    assert np.all(np.diff(model.history_) <= 0)
    assert model.objective_ == pytest.approx(model.loss_, rel=1e-6)  # no penalties
    if solver == "lbfgs":
        rounds = 6
    else:
        rounds = 60
    assert model.n_iter_ <= rounds
    assert len(model.validation_history_) == 0


@pytest.mark.parametrize("solver", SOLVERS)
def test_history_ends_with_best_round(blobs, solver):
    X = blobs[0]
    model = quick(
        3,
        training=Training(solver, batch_size=32, early_stopping=True, patience=2),
        init="random",
    ).fit(X)
    assert model.n_iter_ == len(model.history_) == len(model.validation_history_)
    assert model.objective_ == model.history_[-1]
    assert model.validation_history_.argmin() == model.n_iter_ - 1
    if solver != "mini-batch":
        assert model.objective_ == pytest.approx(model.loss_, rel=0.1)


def test_converged(blobs):
    for solver in ("lbfgs", "adaptive-steps"):
        with pytest.warns(UserWarning, match="increase max_iter"):
            model = quick(3, solver=solver, init="random", max_iter=10, tol=0.0).fit(
                blobs[0]
            )
        assert not model.converged_
        assert model.n_iter_ == (1 if solver == "lbfgs" else 10)
    assert quick(3, init="random", max_iter=1000).fit(blobs[0]).converged_
    assert quick(3, solver="mini-batch").fit(blobs[0]).converged_


def test_mini_batches():
    X, y = make_blobs(1500, 2, centers=5, random_state=1)
    model = NNEVCLUS(5, max_iter=100, random_state=0).fit(X.astype(np.float32))
    assert model.credal_partition_.masses.dtype == np.float32
    assert adjusted_rand_score(y, model.labels_) > 0.8
    assert len(model.validation_history_) == model.n_iter_


@pytest.mark.parametrize(("n", "shape"), [(7, (1, 7)), (1100, (2, 512))])
def test_batches_of_few_rows(n, shape):
    batches = draw_batches(n, 512, np.random.default_rng(0))
    assert batches.shape == shape
    assert len(np.unique(batches)) == batches.size


def test_batches_of_many_rows():
    n = 10_000_000
    batches = draw_batches(n, 512, np.random.default_rng(0))
    assert batches.shape == (50, 512)
    assert 0 <= batches.min() < 0.01 * n
    assert 0.99 * n < batches.max() < n


@pytest.mark.parametrize(("size", "n_batches"), [(1024, 25), (40_000, 1)])
def test_large_batches(size, n_batches):
    """An epoch has at most 25,600 rows."""
    batches = draw_batches(1_000_000, size, np.random.default_rng(0))
    assert batches.shape == (n_batches, size)


@pytest.mark.parametrize(("size", "rate"), [(512, 0.005), (1024, 0.01)])
def test_default_learning_rate(size, rate):
    X, _ = make_blobs(1100, 2, centers=2, random_state=0)
    default, same, other = (
        NNEVCLUS(
            2,
            training=Training("mini-batch", size, **keywords),
            init="random",
            max_iter=20,
            random_state=0,
        ).fit(X)
        for keywords in ({}, {"learning_rate": rate}, {"learning_rate": 0.007})
    )
    np.testing.assert_array_equal(default.history_, same.history_)
    assert default.history_[-1] != other.history_[-1]


def test_rmsprop(blobs):
    """The loss decreases as with Adam, and the learning rate is constant."""
    training = Training(solver="rmsprop", batch_size=40, learning_rate=0.01)
    model = quick(3, training=training, init="random", max_iter=300).fit(blobs[0])
    assert model.converged_
    assert model.history_[-1] < 0.3 * model.history_[0]
    assert model.n_iter_ <= 30


def test_score_of_held_out_pairs(blobs):
    X = blobs[0]
    model = quick(3, focal_sets="simple", d0=5.0).fit(X[::2])
    new = X[1::2]
    masses = model.predict_mass(new).masses
    i, j = np.triu_indices(len(new), 1)
    conflicts = (masses @ model.focal_sets_.conflict @ masses.T)[i, j]
    delta = to_conflict(np.linalg.norm(new[i] - new[j], axis=1), 5.0)
    assert model.score(new) == pytest.approx(
        -np.mean((conflicts - delta) ** 2), rel=1e-5
    )
    assert model.score(X[::2]) == pytest.approx(-model.loss_, rel=1e-5)
    with pytest.raises(ValueError, match="metric must be the name of a metric"):
        model.set_params(metric=PCCA()).score(new)


def test_grid_search_of_the_penalty(blobs):
    """A huge penalty gives equal masses to all rows, which the score detects."""
    search = GridSearchCV(
        quick(3, focal_sets="simple", d0=5.0, network=5),
        {"regularization": [1e-5, 100.0]},
        cv=2,
    )
    assert search.fit(blobs[0]).best_params_ == {"regularization": 1e-5}


@pytest.mark.parametrize("solver", SOLVERS)
def test_same_seed(blobs, solver):
    a, b = (
        quick(3, solver=solver).fit(blobs[0]).credal_partition_.masses for _ in range(2)
    )
    np.testing.assert_array_equal(a, b)


def test_n_partners(blobs):
    targets = build_targets(
        blobs[0], "euclidean", FitRequest(3, None, None, apply=None)
    )
    one, same, other = (
        targets.draw_training_pairs(5, None, np.random.default_rng(seed))
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert len(one[0]) == 5 * 90
    assert not np.array_equal(one, other)
    fits = [
        quick(3, init="random", n_partners=5, random_state=seed).fit(blobs[0])
        for seed in (0, 0, 1)
    ]
    np.testing.assert_array_equal(fits[0].history_, fits[1].history_)
    assert not np.array_equal(fits[0].history_, fits[2].history_)


def test_training_parameters(blobs):
    training = Training("mini-batch", learning_rate=0.01)
    assert training == Training(solver="mini-batch", learning_rate=0.01)
    assert training != Training()
    model = clone(NNEVCLUS(training=training))
    assert model.get_params()["training"] == training
    for wrong, words in (
        ({"solver": "adam"}, "solver must be"),
        ({"batch_size": 1}, "batch_size must be"),
        ({"learning_rate": 0}, "learning_rate must be"),
        ({"early_stopping": "yes"}, "early_stopping must be"),
        ({"patience": 0}, "patience must be"),
    ):
        with pytest.raises(ValueError, match=words):
            Training(**wrong)
    with pytest.raises(ValueError, match="training must be"):
        NNEVCLUS(training="mini-batch").fit(blobs[0])


# ---- outlier detectors ---------------------------------------------------------------------------


def test_outlier_detector():
    X, _ = make_fourclass(200, random_state=0)
    model = quick(4, outlier_detector="one-class-svm", max_iter=200).fit(X)
    far = model.predict_mass(np.array([[30.0, 30], [-25, 40], [60, -60]]))
    assert far.empty.min() > 0.9
    assert far.outliers.tolist() == [0, 1, 2]
    inside = model.predict_mass(np.array([[0.0, 0], [4, 4], [0, 4], [4, 0]]))
    assert inside.empty.max() < 0.2
    assert len(set(inside.labels)) == 4


def test_fitted_and_unfitted_detectors():
    from sklearn.ensemble import IsolationForest
    from sklearn.preprocessing import scale

    X, _ = make_fourclass(120, random_state=0)
    fitted = IsolationForest(random_state=0).fit(scale(X))
    for detector in (fitted, IsolationForest(random_state=0)):
        model = quick(4, outlier_detector=detector).fit(X)
        assert (
            model.predict_mass([[50.0, 50.0]]).empty[0]
            > model.predict_mass([[0.0, 0.0]]).empty[0]
        )
    with pytest.raises(ValueError, match="focal_sets must contain the empty set"):
        quick(
            4, outlier_detector=detector, focal_sets=FocalSets.simple(4, empty=False)
        ).fit(X)


class Ring:
    """Detector that is not an estimator."""

    def decision_function(self, X):
        return 5 - np.linalg.norm(X, axis=1)


def test_custom_detector():
    X, _ = make_fourclass(120, random_state=0)
    model = quick(4, outlier_detector=Ring()).fit(X)
    assert isinstance(model.outlier_detector_, Ring)
    assert (
        model.predict_mass([[50.0, 50.0]]).empty[0]
        > model.predict_mass([[0.0, 0.0]]).empty[0]
    )


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"network": "many"}, "network must be"),
        ({"network": [0]}, "network must be"),
        ({"network": [10, 2.5]}, "network must be"),
        # a class with the methods of a torch module
        ({"network": type("Net", (), {"state_dict": None})}, "network must be"),
        ({"nu": 2}, "nu must be"),
        ({"init": "medoids"}, "init must be"),
        ({"focal_sets": "selected", "init": "random"}, "init must be 'evclus' or"),
        ({"outlier_detector": "svm"}, "outlier_detector must be"),
        ({"d0_quantile": 0}, "d0_quantile must be"),
        ({"convention": "ours"}, "convention must be"),
        ({"regularization": -1}, "regularization must be"),
        ({"n_partners": 0}, "n_partners must be"),
        ({"checkpoint": 3}, "checkpoint must be None or a path"),
    ],
)
def test_invalid_parameters(blobs, change, message):
    with pytest.raises(ValueError, match=message):
        quick(3, **change).fit(blobs[0])


def test_invalid_labels_and_constraints(blobs):
    X, y = blobs
    for bad in (
        np.where(y == 0, -1, 5),
        np.where(y == 0, -1, -2),
        np.where(y == 0, -1, 0.5),
        y[:5],
    ):
        with pytest.raises(ValueError, match="y must"):
            quick(3).fit(X, bad)
    for target in (np.arange(90), np.full(90, "a")):
        with pytest.warns(UserWarning, match="y is ignored"):
            quick(3).fit(X, target)
    with pytest.raises(ValueError):
        quick(3).fit(X, constraints=Constraints(must_link=[(0, 500)]))
    with pytest.raises(TypeError, match="must be a Constraints"):
        quick(3).fit(X, constraints=[(0, 1)])


def test_parameters_of_the_scale_are_those_of_evclus():
    names = "d0", "d0_quantile"
    defaults = [
        [inspect.signature(method).parameters[name].default for name in names]
        for method in (EVCLUS, NNEVCLUS)
    ]
    assert defaults == [["auto", None]] * 2
    X = np.vstack([np.zeros((20, 2)), np.full((20, 2), 9.0)])
    X += np.random.default_rng(0).normal(size=X.shape)
    settings = {"network": 3, "max_iter": 3, "random_state": 0}
    assert NNEVCLUS(2, d0=7.0, **settings).fit(X).d0_ == 7
    half = NNEVCLUS(2, d0_quantile=0.5, **settings).fit(X)
    assert half.d0_ == pytest.approx(np.median(pdist(X)), rel=0.05)
    with pytest.raises(ValueError, match="d0 must be 'auto' or"):
        NNEVCLUS(2, d0=None).fit(X)
