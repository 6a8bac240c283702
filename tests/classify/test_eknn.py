"""EKNNClassifier: reference results, properties, soft labels, invalid input."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import confusion_matrix, pairwise_distances
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dempster import FocalSets, MassFunctions
from dempster._errors import InvalidInputError
from dempster.classify import EKNNClassifier
from dempster.classify.eknn import combine_neighbors, cost_and_gradient
from dempster.persistence import load, save

CASES = ["eknn_ionosphere_k5", "eknn_iris_k9", "eknn_vehicles_k7"]


@parametrize_with_checks(
    [
        EKNNClassifier(),
        EKNNClassifier([1, 4], optimize=False),
        EKNNClassifier(metric="precomputed"),
    ]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ---- reference results ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_agrees_with_the_reference(reference, name):
    case = reference(name)
    options = {
        "n_neighbors": case.parameters["K"],
        "reliability": case.parameters["alpha"],
        "mixing": case.parameters["lambda"],
    }
    untrained = EKNNClassifier(gamma=case["gamma0"], **options).fit(
        case["x"], case["y"]
    )
    case.assert_equal("cost0", untrained.objective_)
    case.assert_equal("mass_test_init", untrained.predict_mass(case["xtest"]).masses)
    learned = EKNNClassifier(**options).fit(case["x"], case["y"])
    assert learned.objective_ <= case["cost_trace"].min() + 1e-10
    model = EKNNClassifier(gamma=case["gamma"], **options).fit(case["x"], case["y"])
    case.assert_equal("mass_train", model.leave_one_out_masses_.masses)
    case.assert_equal("mass_test", model.predict_mass(case["xtest"]).masses)
    sure = case["ypred_tied"] == 0
    assert (
        model.predict(case["xtest"])[sure].tolist() == case["ypred_test"][sure].tolist()
    )
    case.assert_equal("err_train", model.leave_one_out_error_)
    case.assert_equal("err_test", 1 - model.score(case["xtest"], case["ytest"]))


@pytest.mark.parametrize("name", CASES)
def test_gradient_agrees_with_the_reference_and_with_differences(reference, name):
    case = reference(name)
    squared = case["nn_dist"] ** 2
    classes = case["y"][case["nn_index"]]
    targets = np.eye(case["y"].max() + 1)[case["y"]]

    def cost(gamma):
        return cost_and_gradient(
            gamma,
            squared,
            classes,
            targets,
            case.parameters["alpha"],
            case.parameters["lambda"],
        )

    case.assert_equal("grad0", cost(case["gamma0"])[1])
    assert (
        check_grad(
            lambda g: cost(g)[0],
            lambda g: cost(g)[1],
            case["gamma0"] * 0.8,
            epsilon=1e-7,
        )
        < 1e-6
    )


def test_ionosphere(shared_data):
    X, y = shared_data("ionosphere")
    model = EKNNClassifier(10).fit(X[:176], y[:176])
    assert confusion_matrix(y[176:], model.predict(X[176:])).tolist() == [
        [106, 6],
        [7, 56],
    ]
    assert model.score(X[176:], y[176:]) == pytest.approx(1 - 13 / 175)
    np.testing.assert_allclose(model.gamma_, [0.684818, 0.231883], atol=1e-5)
    assert model.objective_ == pytest.approx(0.0819918, abs=1e-7)
    assert model.leave_one_out_error_ == pytest.approx(0.1023, abs=1e-4)


@pytest.mark.parametrize(("k", "error"), [(5, 0.1143), (8, 0.0914)])
def test_ionosphere_with_other_numbers_of_neighbors(shared_data, k, error):
    X, y = shared_data("ionosphere")
    model = EKNNClassifier(k).fit(X[:176], y[:176])
    assert 1 - model.score(X[176:], y[176:]) == pytest.approx(error, abs=1e-4)


def test_vehicles_error_against_the_number_of_neighbors(shared_data):
    X, y = shared_data("vehicles")
    errors = {
        k: 1 - EKNNClassifier(k).fit(X[:564], y[:564]).score(X[564:], y[564:])
        for k in (1, 5, 10, 15)
    }
    np.testing.assert_allclose(
        [errors[k] for k in (5, 10, 15)], [0.319, 0.323, 0.330], atol=0.005
    )
    assert errors[1] > errors[5]


# ---- properties ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    # no ties between neighbors
    return X + np.random.default_rng(0).normal(scale=1e-3, size=X.shape), y


def simple_mass(support, k, n_classes):
    family = FocalSets.simple(n_classes, empty=False)
    masses = np.zeros((1, n_classes + 1))
    masses[0, [k, n_classes]] = support, 1 - support
    return MassFunctions(masses, family)


def test_closed_form_equals_sequential_combination():
    rng = np.random.default_rng(0)
    squared = rng.exponential(size=(20, 6))
    classes = rng.integers(0, 4, (20, 6))
    gamma = rng.uniform(0.3, 1.5, 4)
    ours = combine_neighbors(squared, classes, gamma, 0.9, 4)
    for i in range(20):
        parts = [
            simple_mass(0.9 * np.exp(-(gamma[k] ** 2) * d), k, 4)
            for d, k in zip(squared[i], classes[i], strict=True)
        ]
        combined = (
            parts[0].combine(*parts[1:]).to_family(FocalSets.simple(4, empty=False))
        )
        np.testing.assert_allclose(ours[i], combined.masses[0], atol=1e-14)


def test_many_close_neighbors_do_not_overflow():
    masses = combine_neighbors(
        np.zeros((1, 2000)), np.zeros((1, 2000), dtype=int), np.ones(3), 0.999, 3
    )
    assert np.isfinite(masses).all()
    assert masses[0, 0] == pytest.approx(1)
    conflicting = combine_neighbors(
        np.zeros((1, 2000)), np.arange(2000)[None] % 2, np.ones(2), 0.999, 2
    )
    np.testing.assert_allclose(conflicting, [[0.5, 0.5, 0]], atol=1e-12)


def test_masses_are_vacuous_far_from_the_data(iris):
    X, y = iris
    model = EKNNClassifier(15).fit(X[:, 2:], y)
    assert model.gamma_.min() > 0
    masses = model.predict_mass(np.vstack([X[:, 2:], [[1e3, 1e3]], [[-1e3, 1e3]]]))
    np.testing.assert_allclose(masses.masses.sum(axis=1), 1)
    np.testing.assert_allclose(masses.masses[-2:, -1], 1)
    np.testing.assert_allclose(model.predict_proba([[1e3, 1e3]]), 1 / 3)


def test_one_neighbor_is_the_nearest_neighbor_rule(shared_data):
    X, y = shared_data("vehicles", standardise=True)
    train = slice(0, 400)
    test = slice(400, None)
    ours = EKNNClassifier(1).fit(X[train], y[train]).predict(X[test])
    assert (
        ours.tolist()
        == KNeighborsClassifier(1).fit(X[train], y[train]).predict(X[test]).tolist()
    )


def test_permuting_the_classes_permutes_the_columns(iris):
    X, y = iris
    order = np.array([2, 0, 1])
    a = EKNNClassifier().fit(X, y)
    b = EKNNClassifier().fit(X, order[y])
    np.testing.assert_allclose(a.gamma_, b.gamma_[order], rtol=1e-5)
    np.testing.assert_allclose(
        a.predict_proba(X), b.predict_proba(X)[:, order], atol=1e-6
    )


def test_units_have_no_effect(iris):
    X, y = iris
    a = EKNNClassifier().fit(X, y)
    b = EKNNClassifier().fit(X * 1000, y)
    np.testing.assert_allclose(a.gamma_, b.gamma_ * 1000, rtol=1e-5)


def test_cost_never_rises_and_learning_helps(iris):
    X, y = iris
    start = EKNNClassifier(9, optimize=False).fit(X, y)
    model = EKNNClassifier(9).fit(X, y)
    assert (np.diff(model.history_) <= 0).all()
    assert model.objective_ < start.objective_
    assert model.converged_


def test_leave_one_out_masses_are_those_of_a_model_without_the_object(iris):
    X, y = iris
    model = EKNNClassifier(7).fit(X, y)
    for i in (0, 60, 118):
        others = np.arange(len(X)) != i
        without = EKNNClassifier(7, gamma=model.gamma_).fit(X[others], y[others])
        np.testing.assert_allclose(
            without.predict_mass(X[[i]]).masses[0],
            model.leave_one_out_masses_.masses[i],
        )


def test_number_of_neighbors_by_leave_one_out(shared_data):
    X, y = shared_data("ionosphere")
    auto = EKNNClassifier("auto").fit(X[:176], y[:176])
    assert sorted(auto.leave_one_out_errors_) == list(range(1, 16))
    assert auto.leave_one_out_error_ == min(auto.leave_one_out_errors_.values())
    assert auto.n_neighbors_ == min(
        k
        for k, e in auto.leave_one_out_errors_.items()
        if e == auto.leave_one_out_error_
    )
    same = EKNNClassifier(auto.n_neighbors_).fit(X[:176], y[:176])
    np.testing.assert_array_equal(same.gamma_, auto.gamma_)
    chosen = EKNNClassifier([10, 5]).fit(X[:176], y[:176])
    assert chosen.leave_one_out_errors_[10] == pytest.approx(0.1023, abs=1e-4)
    assert sorted(chosen.leave_one_out_errors_) == [5, 10]


def test_metrics(iris):
    X, y = iris
    for metric in ("manhattan", "chebyshev"):
        direct = EKNNClassifier(metric=metric).fit(X[::2], y[::2])
        known = EKNNClassifier(metric="precomputed").fit(
            pairwise_distances(X[::2], metric=metric), y[::2]
        )
        given = known.predict_mass(pairwise_distances(X[1::2], X[::2], metric=metric))
        np.testing.assert_allclose(
            given.masses, direct.predict_mass(X[1::2]).masses, atol=1e-9
        )

    def euclidean(a, b):
        return np.sqrt(((a - b) ** 2).sum())

    ours = EKNNClassifier(metric=euclidean).fit(X[::4], y[::4])
    np.testing.assert_allclose(
        ours.gamma_, EKNNClassifier().fit(X[::4], y[::4]).gamma_, rtol=1e-4
    )


def test_fixed_scales(iris):
    X, y = iris
    model = EKNNClassifier(gamma=[1.0, 2.0, 3.0]).fit(X, y)
    assert model.gamma_.tolist() == [1, 2, 3]
    assert EKNNClassifier(gamma=0.5).fit(X, y).gamma_.tolist() == [0.5] * 3


# ---- soft labels ---------------------------------------------------------------------------------


def test_certain_soft_labels_give_the_hard_rule(iris):
    X, y = iris
    nearly = np.eye(3, 4)[y]
    nearly[0] = [0, 0, 0, 1]
    model = EKNNClassifier(gamma=1.0).fit(
        X, MassFunctions(nearly, FocalSets.simple(3, empty=False))
    )
    far = ~(
        NearestNeighbors(n_neighbors=5).fit(X).kneighbors(X, return_distance=False) == 0
    ).any(axis=1)
    reference = EKNNClassifier(gamma=1.0).fit(X, y)
    np.testing.assert_allclose(
        model.predict_mass(X[far]).masses,
        reference.predict_mass(X[far]).masses,
        atol=1e-9,
    )


def test_vacuous_labels_have_no_effect():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    family = FocalSets.simple(2, empty=False)
    labels = MassFunctions(
        [[1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]], family, frame="ab"
    )
    some = EKNNClassifier(3, gamma=0.7).fit(X, labels)
    masses = some.predict_mass([[0.5]]).masses[0]
    s = 0.95 * np.exp(-(0.7**2) * np.array([0.25, 2.25]))
    expected = simple_mass(s[0], 0, 2).combine(simple_mass(s[1], 1, 2)).masses[0]
    np.testing.assert_allclose(masses, expected)
    nothing = EKNNClassifier(3).fit(
        X, MassFunctions(np.ones((4, 1)), FocalSets.from_sets(2, [(0, 1)]), frame="ab")
    )
    np.testing.assert_allclose(nothing.predict_proba(X), 0.5)


def test_soft_masses_equal_combination_of_discounted_labels():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    new = rng.normal(size=(10, 2))
    family = FocalSets.from_sets(4, [(0,), (0, 1), (1, 2), (2, 3), (0, 1, 2, 3)])
    labels = MassFunctions(rng.dirichlet(np.ones(len(family)), 30), family)
    model = EKNNClassifier(6, gamma=0.8).fit(X, labels)
    masses = model.predict_mass(new)
    distances, positions = NearestNeighbors(n_neighbors=6).fit(X).kneighbors(new)
    for i in range(len(new)):
        share = 0.95 * np.exp(-(0.8**2) * distances[i] ** 2)
        parts = [
            labels[int(j)].discount(1 - phi)
            for j, phi in zip(positions[i], share, strict=True)
        ]
        combined = parts[0].combine(*parts[1:])
        np.testing.assert_allclose(
            masses[i].to_dense(), combined.to_dense(), atol=1e-13
        )


def test_learning_from_soft_labels():
    X, y = make_blobs(200, centers=[(0, 0), (4, 0), (0, 4)], random_state=0)
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.3, 0.9, 200)
    masses = np.eye(3, 4)[y] * sure[:, None]
    masses[:, 3] = 1 - sure
    names = ("left", "right", "up")
    labels = MassFunctions(masses, FocalSets.simple(3, empty=False), frame=names)
    model = EKNNClassifier("auto").fit(X, labels)
    assert model.classes_.tolist() == list(names)
    assert np.ptp(model.gamma_) == 0
    assert (np.diff(model.history_) <= 0).all()
    assert (model.predict(X) == np.array(names)[y]).mean() > 0.95
    for factor in (0.7, 1.4):
        other = EKNNClassifier(
            model.n_neighbors_, gamma=float(model.gamma_[0] * factor)
        ).fit(X, labels)
        assert other.objective_ >= model.objective_ - 1e-9


# ---- scikit-learn --------------------------------------------------------------------------------


def test_pipelines_searches_and_cross_validation(iris):
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), EKNNClassifier())
    assert cross_val_score(pipeline, X, y).mean() > 0.93
    search = GridSearchCV(
        pipeline,
        {
            "eknnclassifier__n_neighbors": [1, 9],
            "eknnclassifier__reliability": [0.5, 0.95],
        },
    )
    assert search.fit(X, y).best_score_ > 0.93


# ---- invalid input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 30}, r"^n_neighbors\b"),
        ({"n_neighbors": [3, 99]}, r"^n_neighbors\b"),
        ({"n_neighbors": 0}, r"^n_neighbors\b"),
        ({"n_neighbors": []}, "n_neighbors"),
        ({"n_neighbors": [2.5]}, r"^n_neighbors\b"),
        ({"reliability": 1.0}, r"^reliability\b"),
        ({"gamma": [1.0]}, r"^gamma\b"),
        ({"gamma": -1.0}, r"^gamma\b"),
        ({"mixing": 2}, r"^mixing\b"),
        ({"metric": "nonsense"}, "metric"),
    ],
)
def test_invalid_parameters(options, message):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match=message):
        EKNNClassifier(**options).fit(X, np.arange(30) % 2)


def test_a_class_of_one_object_uses_the_overall_mean_distance():
    X = np.array([[0.0], [1.0], [2.0], [3.0], [10.0]])
    y = ["a", "a", "a", "a", "b"]
    model = EKNNClassifier(2, optimize=False).fit(X, y)
    assert model.gamma_[1] == pytest.approx(
        1 / pairwise_distances(X)[np.triu_indices(5, 1)].mean()
    )
    assert EKNNClassifier(2).fit(X, y).predict([[9.9]]).tolist() == ["b"]


def test_identical_objects():
    X = np.zeros((10, 2))
    model = EKNNClassifier(3).fit(X, np.arange(10) % 2)
    assert np.isfinite(model.gamma_).all()
    assert np.isfinite(model.predict_proba(X)).all()


def test_invalid_distances(iris):
    X, y = iris
    D = pairwise_distances(X)
    for wrong, match in (
        (X, r"^X\b"),
        (-D, "Negative values"),
        (1 / (1 + D), r"^X\b"),
        (D + np.triu(D), "symmetric"),
    ):
        with pytest.raises(InvalidInputError, match=match):
            EKNNClassifier(metric="precomputed").fit(wrong, y)
    with pytest.raises(InvalidInputError, match=r"^metric\b"):
        EKNNClassifier(
            metric=lambda a, b: np.abs(a - b).sum() + max(0, a[0] - b[0])
        ).fit(X, y)
    with pytest.raises(InvalidInputError, match=r"^metric\b"):
        EKNNClassifier(metric=lambda a, b: np.nan).fit(X, y)
    with pytest.raises(InvalidInputError, match="^metric must give finite"):
        EKNNClassifier(metric=lambda a, b: ((a - b) ** 8).sum() ** (1 / 8)).fit(
            1e40 * X, y
        )


def test_too_many_intersections_of_soft_labels():
    sets = [tuple(k for k in range(13) if k != left_out) for left_out in range(13)]
    labels = MassFunctions(np.full((20, 13), 1 / 13), FocalSets.from_sets(13, sets))
    with pytest.raises(InvalidInputError, match=r"^y\b"):
        EKNNClassifier().fit(np.random.default_rng(0).normal(size=(20, 2)), labels)


def test_soft_labels_have_one_scale(iris):
    X, y = iris
    labels = MassFunctions(
        0.5 * np.eye(3, 4)[y] + [0, 0, 0, 0.5], FocalSets.simple(3, empty=False)
    )
    with pytest.raises(InvalidInputError, match=r"^gamma\b"):
        EKNNClassifier(gamma=[1.0, 2.0, 3.0]).fit(X, labels)


def test_convergence_warning(iris):
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        EKNNClassifier(max_iter=1).fit(*iris)


# ---- fusion --------------------------------------------------------------------------------------


def test_fused_sensors_degrade_gracefully(monkeypatch, tmp_path):
    script = Path(__file__).resolve().parents[2] / "examples" / "sensor_fusion.py"
    monkeypatch.chdir(tmp_path)
    example = runpy.run_path(str(script))
    errors = example["errors"]
    ignorance = example["ignorance"]
    fused = errors["fusion by Dempster's rule"]
    second = errors["second source"]
    clean = 0
    assert fused[clean] < min(errors["first source"][clean], second[clean]) - 0.005
    assert (fused < second + 0.025).all()
    assert abs(fused[-1] - second[-1]) < 0.01
    assert errors["first source"][-1] > 0.4
    assert (np.diff(ignorance) > 0).all()
    assert ignorance[-1] > 0.9
    for name in ("logistic regression of both", "quadratic discriminant of both"):
        assert errors[name][-1] > fused[-1] + 0.15


def test_threads_do_not_change_mahalanobis_distances():
    """scikit-learn's trees give wrong results for this metric in several threads, so one thread is used."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3)) @ rng.normal(size=(3, 3))
    y = rng.integers(2, size=len(X))
    alone, together = (
        EKNNClassifier(
            n_neighbors=5,
            metric="mahalanobis",
            n_jobs=jobs,
        )
        .fit(X, y)
        .predict_mass(X)
        for jobs in (1, 4)
    )
    np.testing.assert_array_equal(np.asarray(alone), np.asarray(together))


# ---- unlabelled objects --------------------------------------------------------------------------


@pytest.fixture
def some_labels():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    is_labelled = np.random.default_rng(4).random(len(y)) < 0.1
    return X, y, np.where(is_labelled, y, -1)


def test_unlabelled_objects_are_no_neighbors(some_labels):
    X, y, labels = some_labels
    is_labelled = labels >= 0
    model = EKNNClassifier().fit(X, labels)
    alone = EKNNClassifier().fit(X[is_labelled], y[is_labelled])
    assert model.score(X, y) == alone.score(X, y) > 0.9
    found = model.leave_one_out_masses_.masses
    np.testing.assert_array_equal(
        found[is_labelled], alone.leave_one_out_masses_.masses
    )
    np.testing.assert_array_equal(
        found[~is_labelled], alone.predict_mass(X[~is_labelled]).masses
    )


def test_unlabelled_objects_with_precomputed_distances(some_labels, tmp_path):
    X, _, labels = some_labels
    distances = cdist(X, X)
    model = EKNNClassifier(metric="precomputed").fit(distances, labels)
    expected = EKNNClassifier().fit(X, labels)
    np.testing.assert_allclose(
        model.predict_mass(distances[:20]).masses,
        expected.predict_mass(X[:20]).masses,
        atol=1e-12,
    )
    save(model, tmp_path / "model.dempster")
    restored = load(tmp_path / "model.dempster")
    np.testing.assert_array_equal(
        restored.predict_mass(distances).masses, model.predict_mass(distances).masses
    )


def test_number_of_neighbors_and_of_labelled_objects(some_labels):
    X, y, _ = some_labels
    labels = np.where(np.arange(len(y)) % 40 == 0, y, -1)
    with pytest.raises(InvalidInputError, match="labelled objects, 5, got 5"):
        EKNNClassifier().fit(X, labels)
