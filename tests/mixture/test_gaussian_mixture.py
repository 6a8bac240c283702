"""ParsimoniousGaussianMixture: selection, starts, weights, prediction, invalid input."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.utils.estimator_checks import parametrize_with_checks

from dempster._errors import InvalidInputError
from dempster.mixture import GaussianParameters, ParsimoniousGaussianMixture
from dempster.mixture.em import DIAGONAL_MODELS, MODELS
from dempster.mixture.gaussian_mixture import merge_tree

CHECKED = [
    ParsimoniousGaussianMixture(),
    ParsimoniousGaussianMixture(2, model=["EII", "VVI"], init="k-means", n_init=2),
    ParsimoniousGaussianMixture(2, model="VVV", reg_covar=1e-4, init="ward"),
]


@parametrize_with_checks(CHECKED)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def mixture(iris):
    return ParsimoniousGaussianMixture(3, model="VEV").fit(iris[0])


# ---- selection -----------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["iris", "diabetes"])
def test_bic_of_mclust(reference, data):
    """All 126 values except those of VVE, which mclust does not maximise."""
    case = reference(f"mclust_bic_{data}")
    model = ParsimoniousGaussianMixture(range(1, 10), convention="mclust").fit(
        case["x"]
    )
    assert (model.model_, model.n_components_) == (
        case.parameters["selected_model"],
        case.parameters["selected_G"],
    )
    table = model.bic_table_["bic"].unstack()[case.parameters["models"]].to_numpy()
    others = [k for k, name in enumerate(MODELS) if name != "VVE"]
    ours = table[:, others]
    theirs = case["BIC"][:, others]
    np.testing.assert_array_equal(np.isneginf(ours), np.isnan(theirs))
    fitted = np.isfinite(ours)
    np.testing.assert_allclose(ours[fitted], theirs[fitted], rtol=1e-4)
    assert model.bic_ == pytest.approx(case.parameters["bic"], abs=1e-6)
    assert model.log_likelihood_ == pytest.approx(case["loglik"])
    match = np.array(
        [np.abs(case["mean"] - m).sum(axis=1).argmin() for m in model.means_]
    )
    case.assert_equal("mean", model.means_[np.argsort(match)])
    case.assert_equal("cov", model.covariances_[np.argsort(match)])
    case.assert_equal("pro", model.weights_[np.argsort(match)])
    case.assert_equal("z", model.predict_proba(case["x"])[:, np.argsort(match)])
    assert adjusted_rand_score(case["y"], model.labels_) == pytest.approx(
        float(case["ari"])
    )


def test_selection_on_faithful(reference):
    """Sixteen rows are repeated.

    Mclust orders their merges as a tree of slightly shifted rows does.
    """
    case = reference("mclust_bic_faithful")
    X = case["x"]
    selected = ParsimoniousGaussianMixture(range(1, 10)).fit(X)
    assert (selected.model_, selected.n_components_) == ("EEE", 3)
    assert selected.bic_ == pytest.approx(case.parameters["bic"], abs=0.1)
    n = len(X)
    shift = 1e-10 * np.outer(np.arange(n)[::-1], [1, 0.3])
    repeated = np.setdiff1d(np.arange(n), np.unique(X, axis=0, return_index=True)[1])
    shift[repeated, 0] += 1e-7 * (n - repeated)
    tree = merge_tree(X + shift)
    settings = {"model": case.parameters["models"], "convention": "mclust"}
    tables = [
        ParsimoniousGaussianMixture(g, init=tree.labels(g), **settings)
        .fit(X)
        .bic_table_["bic"]
        for g in range(1, 10)
    ]
    ours = pd.concat(tables).unstack()[case.parameters["models"]].to_numpy()
    theirs = case["BIC"]
    others = [k for k, name in enumerate(MODELS) if name != "VVE"]
    np.testing.assert_allclose(ours[:, others], theirs[:, others], rtol=1e-6)
    np.testing.assert_allclose(ours, theirs, rtol=2e-3)


def test_iris_with_three_components(iris, mixture):
    """Fraley and Raftery (2007): five versicolor among the virginica."""
    assert mixture.bic_ == pytest.approx(-562.55, abs=0.01)
    assert adjusted_rand_score(iris[1], mixture.labels_) == pytest.approx(
        0.9039, abs=1e-4
    )


def test_problems_in_the_table(iris):
    table = (
        ParsimoniousGaussianMixture([5, 1], model=["EVV", "VEE", "EII"])
        .fit(iris[0])
        .bic_table_
    )
    assert list(table.index) == [(g, m) for g in (1, 5) for m in ("EII", "VEE", "EVV")]
    assert list(table.columns) == [
        "bic",
        "log_likelihood",
        "n_parameters",
        "n_iter",
        "converged",
        "problem",
    ]
    assert not table.isna().any().any()
    failed = table[table["problem"] != ""]
    assert list(failed.index) == [(5, "VEE"), (5, "EVV")]
    assert (
        failed["problem"]
        .str.contains("collapsed: its covariance matrix became singular")
        .all()
    )
    assert np.isneginf(failed["bic"]).all()


def test_simplest_of_equal_models():
    X = np.random.default_rng(0).normal(size=(100, 3)) * [1, 2, 5]
    model = ParsimoniousGaussianMixture([1]).fit(X)
    assert model.model_ == "EEI"  # with one component also VEI, EVI and VVI


def test_number_of_components():
    rng = np.random.default_rng(0)
    X = (
        rng.normal(size=(300, 2))
        + np.array([[0, 0], [0, 8], [8, 0], [8, 8]])[rng.integers(0, 4, 300)]
    )
    for init in ("hierarchical", "ward", "k-means"):
        model = ParsimoniousGaussianMixture(
            range(1, 7), init=init, n_init=2, random_state=0
        ).fit(X)
        assert (model.n_components_, model.model_) == (4, "EII")


def test_one_attribute():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, 100), rng.normal(10, 3, 100)])[:, None]
    model = ParsimoniousGaussianMixture().fit(x)
    assert (model.n_components_, model.model_) == (2, "VII")
    assert set(model.bic_table_.index.get_level_values("model")) == {"EII", "VII"}
    same = ParsimoniousGaussianMixture(2, model="V").fit(x)
    assert same.bic_ == model.bic_
    assert ParsimoniousGaussianMixture(2, model="VVV").fit(x).bic_ == pytest.approx(
        model.bic_
    )
    assert ParsimoniousGaussianMixture(2, model="E").fit(x).covariances_.std() == 0


# ---- starts --------------------------------------------------------------------------------------


def test_labels_responsibilities_and_parameters_as_a_start(iris, mixture):
    X, y = iris
    by_name = ParsimoniousGaussianMixture(
        model="VEV", init=np.array(["a", "b", "c"])[y]
    ).fit(X)
    by_number = ParsimoniousGaussianMixture(3, model="VEV", init=y).fit(X)
    soft = ParsimoniousGaussianMixture(3, model="VEV", init=np.eye(3)[y]).fit(X)
    assert by_name.bic_ == by_number.bic_ == soft.bic_
    warm = ParsimoniousGaussianMixture(3, model="VEV", init=mixture.parameters_).fit(X)
    assert warm.n_iter_ <= 3
    assert warm.log_likelihood_ >= mixture.log_likelihood_
    general = ParsimoniousGaussianMixture(3, model="VVV", init=mixture.parameters_).fit(
        X
    )
    assert general.log_likelihood_ > mixture.log_likelihood_


def test_tree_of_a_sample():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 6000)
    X = rng.normal(size=(6000, 2)) * [1, 3] + np.array([[0, 0], [6, 0], [12, 5]])[y]
    model = ParsimoniousGaussianMixture(3, model=["EEI", "VVV"], random_state=0).fit(X)
    assert model.model_ == "EEI"
    assert adjusted_rand_score(y, model.labels_) > 0.95
    again = ParsimoniousGaussianMixture(
        3, model=["EEI", "VVV"], random_state=0, n_jobs=1
    ).fit(X)
    np.testing.assert_array_equal(model.means_, again.means_)


def test_better_of_tree_and_k_means():
    """The tree of a sample is bad for clusters of very different sizes."""
    rng = np.random.default_rng(0)
    X = np.concatenate(
        [rng.normal(3 * i, 0.2, (n, 2)) for i, n in enumerate([2000, 2000, 40, 40, 40])]
    )
    model = ParsimoniousGaussianMixture(5, model="VVV", random_state=0).fit(X)
    truth = np.repeat(np.arange(5), [2000, 2000, 40, 40, 40])
    true = ParsimoniousGaussianMixture(5, model="VVV", init=truth).fit(X)
    assert model.log_likelihood_ == pytest.approx(true.log_likelihood_, rel=1e-4)
    assert len(model.history_) == model.n_iter_
    assert (np.diff(model.history_) > -1e-6 * abs(model.log_likelihood_)).all()
    assert (
        ParsimoniousGaussianMixture(5, model="VVV", random_state=0, max_iter=3, tol=1)
        .fit(X)
        .n_iter_
        <= 3
    )


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (np.zeros((150, 3)), r"^init\b"),
        (np.full((150, 3), np.nan), r"^init\b"),
        (np.zeros(20), "150"),
        (np.ones((150, 2)) / 2, r"^n_components\b"),
        ("random", r"^init\b"),
        (
            GaussianParameters(
                np.ones(3) / 3, np.zeros((3, 2)), np.zeros((3, 2, 2)), "VVV"
            ),
            r"^init\b",
        ),
    ],
)
def test_invalid_starts(iris, init, message):
    with pytest.raises(InvalidInputError, match=message):
        ParsimoniousGaussianMixture(3, init=init).fit(iris[0])


# ---- weights, order, seeds -----------------------------------------------------------------------


@pytest.mark.parametrize("init", ["hierarchical", "ward", "k-means"])
def test_weights_are_repetitions(init):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 2)) + 5 * rng.integers(0, 2, (80, 1))
    weights = rng.integers(0, 4, 80)
    rows = np.repeat(np.arange(80), weights)
    model = ParsimoniousGaussianMixture(
        range(1, 4), init=init, n_init=3, random_state=0
    )
    weighted = clone(model).fit(X, sample_weight=weights)
    repeated = clone(model).fit(X[rows])
    assert (weighted.model_, weighted.n_components_) == (
        repeated.model_,
        repeated.n_components_,
    )
    np.testing.assert_allclose(
        weighted.bic_table_["bic"].to_numpy(),
        repeated.bic_table_["bic"].to_numpy(),
        rtol=1e-6,
        atol=1e-6,
    )
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))
    assert len(weighted.labels_) == 80


def test_permutation_of_objects(iris):
    X, _ = iris
    order = np.random.default_rng(0).permutation(len(X))
    first = ParsimoniousGaussianMixture(3).fit(X)
    second = ParsimoniousGaussianMixture(3).fit(X[order])
    np.testing.assert_array_equal(second.labels_, first.labels_[order])
    np.testing.assert_allclose(
        second.bic_table_["bic"], first.bic_table_["bic"], rtol=1e-6
    )


def test_result_does_not_depend_on_threads(iris):
    model = ParsimoniousGaussianMixture(
        [2, 5], init="k-means", n_init=3, random_state=3
    )
    runs = [clone(model).set_params(n_jobs=j).fit(iris[0]) for j in (1, 2, None)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run.means_, runs[0].means_)
        pd.testing.assert_frame_equal(run.bic_table_, runs[0].bic_table_)


# ---- prediction ----------------------------------------------------------------------------------


def test_predictions_agree_with_each_other(iris, mixture):
    X, _ = iris
    probabilities = mixture.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(mixture.predict(X), probabilities.argmax(axis=1))
    np.testing.assert_array_equal(mixture.predict(X), mixture.labels_)
    np.testing.assert_array_equal(clone(mixture).fit_predict(X), mixture.labels_)
    assert mixture.score_samples(X).sum() == pytest.approx(mixture.log_likelihood_)
    assert mixture.score(X) == pytest.approx(mixture.score_samples(X).mean())
    assert mixture.history_[-1] == mixture.log_likelihood_
    assert np.isfinite(mixture.score_samples(1e6 * np.ones((1, 4))))
    assert mixture.predict_proba(1e6 * np.ones((1, 4))).sum() == pytest.approx(1)


@pytest.mark.parametrize("data", [load_iris, load_wine])
def test_criteria_of_scikit_learn(data):
    X = data().data[:, :4]
    ours = ParsimoniousGaussianMixture(3, model="VVV").fit(X)
    theirs = GaussianMixture(
        3,
        weights_init=ours.weights_,
        means_init=ours.means_,
        precisions_init=np.linalg.inv(ours.covariances_),
        reg_covar=0,
        tol=1e-8,
        max_iter=1000,
    ).fit(X)
    ours = ParsimoniousGaussianMixture(
        3, model="VVV", init=theirs.predict_proba(X), tol=0.0, max_iter=1
    )
    with pytest.warns(ConvergenceWarning):
        ours.fit(X)
    new = X[::2] + 0.1
    for rows in (X, new):
        assert ours.bic(rows) == pytest.approx(theirs.bic(rows), rel=1e-6)
        assert ours.aic(rows) == pytest.approx(theirs.aic(rows), rel=1e-6)
    assert ours.bic(X) == pytest.approx(-ours.bic_)


def test_bic_selects_the_same_model_as_the_table(iris):
    X, _ = iris
    selected = ParsimoniousGaussianMixture([2, 3], model=["EII", "VEV"]).fit(X)
    fits = [
        ParsimoniousGaussianMixture(g, model=model).fit(X)
        for g in (2, 3)
        for model in ("EII", "VEV")
    ]
    best = min(fits, key=lambda fit: fit.bic(X))
    assert (best.n_components_, best.model_) == (
        selected.n_components_,
        selected.model_,
    )


@pytest.mark.parametrize("model", ["EII", "VVI", "EVE", "VVV"])
def test_sample_has_the_moments_of_the_mixture(iris, model):
    mixture = ParsimoniousGaussianMixture(3, model=model, random_state=0).fit(iris[0])
    X, components = mixture.sample(60_000)
    assert (np.diff(components) >= 0).all()
    for k in range(3):
        mine = X[components == k]
        assert len(mine) / len(X) == pytest.approx(mixture.weights_[k], abs=0.01)
        np.testing.assert_allclose(mine.mean(axis=0), mixture.means_[k], atol=0.02)
        np.testing.assert_allclose(np.cov(mine.T), mixture.covariances_[k], atol=0.02)


def test_seeds_of_samples(mixture):
    first = mixture.sample(5, random_state=1)[0]
    np.testing.assert_array_equal(first, mixture.sample(5, random_state=1)[0])
    assert not np.array_equal(first, mixture.sample(5, random_state=2)[0])
    assert mixture.sample()[0].shape == (1, 4)
    with pytest.raises(InvalidInputError, match=r"^n_samples\b"):
        mixture.sample(0)
    with pytest.raises(NotFittedError):
        ParsimoniousGaussianMixture(2).sample()


def test_tables_and_single_precision(iris, mixture):
    X, _ = iris
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = ParsimoniousGaussianMixture(3, model="VEV").fit(frame)
    assert list(model.feature_names_in_) == list("abcd")
    assert model.bic_ == mixture.bic_
    single = ParsimoniousGaussianMixture(3, model="VEV").fit(X.astype(np.float32))
    assert single.means_.dtype == np.float64
    assert single.bic_ == pytest.approx(mixture.bic_, abs=0.01)


# ---- invalid input--------------------------------------------------------------------------------


def test_identical_rows():
    with pytest.raises(InvalidInputError, match=r"^X\b"):
        ParsimoniousGaussianMixture().fit(np.ones((20, 3)))
    with pytest.raises(InvalidInputError, match=r"^X\b"):
        ParsimoniousGaussianMixture().fit(
            np.arange(12.0).reshape(6, 2), sample_weight=[0, 3, 0, 0, 0, 0]
        )


def test_more_components_than_different_objects():
    X = np.repeat(np.eye(3), 10, axis=0)
    with pytest.raises(InvalidInputError, match=r"^n_components\b"):
        ParsimoniousGaussianMixture(4).fit(X)
    table = ParsimoniousGaussianMixture([1, 9]).fit(X).bic_table_
    assert (
        table.loc[9, "problem"]
        .str.contains("more components than the 3 different objects")
        .all()
    )
    assert (
        ParsimoniousGaussianMixture().fit(X).bic_table_.index.get_level_values(0).max()
        == 3
    )


def test_constant_column(iris):
    X = np.column_stack([iris[0], np.ones(150)])
    model = ParsimoniousGaussianMixture([1, 3]).fit(X)
    assert model.model_ in ("EII", "VII")
    problems = model.bic_table_["problem"]
    assert (problems.loc[:, ["EII", "VII"]] == "").all()
    assert (
        problems.loc[:, [m for m in MODELS if m not in ("EII", "VII")]]
        .str.contains("attribute 5 is constant")
        .all()
    )
    with pytest.raises(InvalidInputError, match=r"^model\b"):
        ParsimoniousGaussianMixture(3, model="VVV").fit(X)
    regular = ParsimoniousGaussianMixture(3, model="VVV", reg_covar=1e-6).fit(X)
    np.testing.assert_allclose(regular.means_[:, 4], 1)


def test_fewer_objects_than_parameters():
    X = np.random.default_rng(0).normal(size=(8, 6))
    with pytest.raises(InvalidInputError, match=r"^model\b"):
        ParsimoniousGaussianMixture(2, model="VVV").fit(X)
    model = ParsimoniousGaussianMixture(range(1, 4)).fit(X)  # simple models
    assert np.isfinite(model.bic_)
    assert np.isfinite(model.covariances_).all()
    assert np.isfinite(
        ParsimoniousGaussianMixture(2, model="VVV", reg_covar=1e-3).fit(X).covariances_
    ).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_components": 0}, r"^n_components\b"),
        ({"n_components": "many"}, r"^n_components\b"),
        ({"n_components": []}, r"^n_components\b"),
        ({"n_components": 2.0}, r"^n_components\b"),
        ({"model": "full"}, r"^model\b"),
        ({"model": "E"}, r"^model\b"),
        ({"model": []}, r"^model\b"),
        ({"model": 3}, r"^model\b"),
        ({"tol": -1}, r"^tol\b"),
        ({"max_iter": 0}, r"^max_iter\b"),
        ({"reg_covar": -1e-6}, r"^reg_covar\b"),
        ({"n_init": 0}, r"^n_init\b"),
        ({"n_jobs": 0}, r"^n_jobs\b"),
    ],
)
def test_invalid_parameters(iris, settings, message):
    with pytest.raises(InvalidInputError, match=message):
        ParsimoniousGaussianMixture(**settings).fit(iris[0])


@pytest.mark.parametrize(
    "weights", [np.zeros(150), -np.ones(150), np.ones(3), np.full(150, np.nan)]
)
def test_invalid_weights(iris, weights):
    with pytest.raises(ValueError, match="weight|NaN"):
        ParsimoniousGaussianMixture(2).fit(iris[0], sample_weight=weights)


def test_convergence_warning(iris):
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        ParsimoniousGaussianMixture(3, model="VVV", max_iter=2).fit(iris[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ParsimoniousGaussianMixture(3, model="VVV").fit(iris[0])


def test_fewer_rows_than_columns():
    """Every full covariance matrix is singular, so such models are not fitted."""
    X = np.repeat(np.eye(2, 120) * 20, 6, axis=0) + np.random.default_rng(0).normal(
        size=(12, 120)
    )
    problems = (
        ParsimoniousGaussianMixture(2, random_state=0)
        .fit(X)
        .bic_table_["problem"]
        .droplevel(0)
    )
    assert all(
        "more objects than attributes" in problems[model]
        for model in MODELS
        if model not in DIAGONAL_MODELS
    )
    assert problems["EII"] == ""
    assert (
        ParsimoniousGaussianMixture(2, model="EEE", reg_covar=0.1)
        .fit(X[:, :20])
        .converged_
    )


def test_clusters_of_fewer_rows_than_columns():
    rng = np.random.default_rng(14)
    y = np.repeat(np.arange(4), 15)
    X = 3 * rng.normal(size=(4, 180))[y] + rng.normal(size=(60, 180))
    mixture = ParsimoniousGaussianMixture(4).fit(X)
    assert adjusted_rand_score(y, mixture.labels_) == 1
