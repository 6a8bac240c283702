import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.constraints import Constraints
from dempster.metric import FDA, KFDA, KPCCA, LFDA, MMC, PCCA, DMLEig

CHECKED = [
    PCCA(max_pairs=300),
    KPCCA(max_pairs=300, n_init=1),
    FDA(),
    KFDA(),
    LFDA(),
    MMC(),
    DMLEig(),
]
VARIANTS = [
    PCCA(regularization=0.1, max_pairs=300),
]


@parametrize_with_checks(CHECKED)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.long
@parametrize_with_checks(VARIANTS)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_of_variants(estimator, check):
    check(estimator)


FROM_PAIRS = [
    PCCA(random_state=0),
    KPCCA(random_state=0),
    MMC(random_state=0),
    DMLEig(random_state=0),
]
FROM_LABELS = [FDA(), KFDA(), LFDA()]
LEARNERS = FROM_PAIRS + FROM_LABELS
LINEAR = [e for e in LEARNERS if not isinstance(e, KPCCA | KFDA)]


def named(estimators):
    return pytest.mark.parametrize(
        "learner", estimators, ids=lambda e: type(e).__name__
    )


@pytest.fixture(scope="module")
def iris():
    """Return standardized data, 60 of the labels, and all labels."""
    X, y = load_iris(return_X_y=True)
    known = np.full(len(y), -1)
    drawn = np.random.default_rng(0).choice(len(y), 60, replace=False)
    known[drawn] = y[drawn]
    return StandardScaler().fit_transform(X), known, y


@pytest.fixture(scope="module")
def pairs(iris):
    return Constraints.from_labels(iris[2], 60, random_state=0)


def fitted(learner, iris, pairs):
    X, known, _ = iris
    learner = clone(learner)
    if type(learner) in map(type, FROM_PAIRS):
        return learner.fit(X, constraints=pairs)
    return learner.fit(X, known)


# ---- results -------------------------------------------------------------------------------------


@named(LEARNERS)
def test_fit_transform_equals_transform(learner, iris, pairs):
    X, known, _ = iris
    if type(learner) in map(type, FROM_PAIRS):
        supervision = {"constraints": pairs}
    else:
        supervision = {"y": known}
    Z = clone(learner).fit_transform(X, **supervision)
    model = fitted(learner, iris, pairs)
    np.testing.assert_array_equal(Z, model.transform(X))
    np.testing.assert_allclose(model.transform(X[::-1])[::-1], Z, rtol=1e-9, atol=1e-9)
    assert Z.shape == (len(X), len(model.components_))


@named(LINEAR)
def test_linear_features_are_products_with_the_components(learner, iris, pairs):
    model = fitted(learner, iris, pairs)
    np.testing.assert_allclose(model.transform(iris[0]), iris[0] @ model.components_.T)


@named(LEARNERS)
def test_objective_and_history(learner, iris, pairs):
    model = fitted(learner, iris, pairs)
    if type(learner) in map(type, FROM_LABELS):
        assert model.objective_ == pytest.approx(model.eigenvalues_.sum())
        assert (np.diff(model.eigenvalues_) <= 0).all()
    else:
        assert model.objective_ == model.history_[-1]
        steps = np.diff(model.history_) * (1 if isinstance(model, MMC | DMLEig) else -1)
        assert (steps >= -1e-12 * abs(model.objective_)).all()
        assert model.n_iter_ == len(steps) > 1
        assert model.converged_


@named(LEARNERS)
def test_same_seed_same_result(learner, iris, pairs):
    first = fitted(learner, iris, pairs)
    second = fitted(learner, iris, pairs)
    np.testing.assert_array_equal(first.components_, second.components_)


@named(LEARNERS)
def test_classes_are_better_separated(learner, iris, pairs):
    X, _, y = iris

    def ratio(Z):
        distances = np.linalg.norm(Z[:, None] - Z[None], axis=2)
        same = y[:, None] == y[None]
        return distances[~same].mean() / distances[same].mean()

    assert ratio(fitted(learner, iris, pairs).transform(X)) > 1.2 * ratio(X)


# ---- invariances ---------------------------------------------------------------------------------


@named(FROM_PAIRS)
def test_order_and_direction_of_pairs_do_not_matter(learner, iris, pairs):
    rng = np.random.default_rng(1)
    shuffled = Constraints(
        rng.permutation(pairs.must_link)[:, ::-1],
        rng.permutation(pairs.cannot_link)[:, ::-1],
    )
    model = fitted(learner, iris, pairs)
    other = fitted(learner, iris, shuffled)
    np.testing.assert_array_equal(model.components_, other.components_)


@named(LEARNERS)
def test_names_of_the_classes_do_not_matter(learner, iris):
    X, known, _ = iris
    renamed = np.array([5, 2, 9, -1])[known]
    spelt = np.array(["versicolor", "virginica", "setosa", "-1"])[known]
    mixed = np.array(["versicolor", "virginica", "setosa", -1], dtype=object)[known]
    Z = clone(learner).fit_transform(X, known)
    for y in (renamed, spelt, mixed):
        np.testing.assert_allclose(
            clone(learner).fit_transform(X, y), Z, rtol=1e-6, atol=1e-8
        )


@named(LEARNERS)
def test_unlabeled_objects_do_not_matter(learner, iris):
    X, known, _ = iris
    learner = clone(learner)
    if "gamma" in learner.get_params():
        learner.set_params(gamma=0.2)  # the automatic width depends on all objects
    labelled = known >= 0
    with_all = clone(learner).fit(X, known)
    without = clone(learner).fit(X[labelled], known[labelled])
    if isinstance(learner, PCCA):  # random starts are combinations of all objects
        assert with_all.objective_ == pytest.approx(without.objective_, rel=1e-3)
    else:
        np.testing.assert_allclose(
            with_all.transform(X), without.transform(X), rtol=1e-8, atol=1e-10
        )


@named(LEARNERS)
def test_units_do_not_matter(learner, iris, pairs):
    X, known, y = iris
    model = fitted(learner, iris, pairs)
    scaled = fitted(learner, (1e-4 * X, known, y), pairs)
    np.testing.assert_allclose(
        scaled.transform(1e-4 * X), model.transform(X), rtol=1e-3, atol=1e-3
    )


@named(FROM_PAIRS)
def test_labels_imply_pairs(learner, iris):
    X, known, _ = iris
    implied = clone(learner).fit(X, constraints=Constraints.from_partial_labels(known))
    np.testing.assert_array_equal(
        clone(learner).fit(X, known).components_, implied.components_
    )


@named(FROM_PAIRS)
def test_pairs_are_drawn_beyond_max_pairs(learner, iris, monkeypatch):
    X, known, _ = iris
    drawn = []
    original = Constraints.from_labels

    def counting(y, n_constraints, random_state=None):
        drawn.append(n_constraints)
        return original(y, n_constraints, random_state)

    monkeypatch.setattr(Constraints, "from_labels", counting)
    learner = clone(learner).set_params(max_pairs=100)
    first = learner.fit(X, known).components_
    assert drawn == [100]
    assert not np.array_equal(
        first, learner.set_params(random_state=1).fit(X, known).components_
    )


# ---- tables and precision ------------------------------------------------------------------------


@named(LEARNERS)
def test_tables(learner, iris, pairs):
    X, known, _ = iris
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"], index=np.arange(len(X))[::-1])
    model = clone(learner).fit(table, pd.Series(known, index=table.index))
    np.testing.assert_array_equal(
        model.transform(table), clone(learner).fit(X, known).transform(X)
    )
    name = type(learner).__name__.lower()
    names = model.get_feature_names_out()
    assert names.tolist() == [f"{name}{k}" for k in range(len(model.components_))]
    out = model.set_output(transform="pandas").transform(table)
    assert out.columns.tolist() == names.tolist()
    assert out.index.equals(table.index)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(table.rename(columns={"a": "z"}))


@named(LEARNERS)
def test_single_precision_is_kept(learner, iris, pairs):
    X, known, y = iris
    double = fitted(learner, iris, pairs).transform(X)
    single = fitted(learner, (X.astype(np.float32), known, y), pairs).transform(
        X.astype(np.float32)
    )
    assert single.dtype == np.float32
    # Features are determined up to a rotation, and a flat minimum only approximately.
    np.testing.assert_allclose(
        distances(single), distances(double), atol=0.02 * distances(double).max()
    )


def distances(Z):
    return np.linalg.norm(Z[::5, None] - Z[None, ::5], axis=2)


def test_in_a_pipeline(iris):
    X, known, _ = iris
    Z = make_pipeline(StandardScaler(), FDA()).fit_transform(X, known)
    assert Z.shape == (150, 2)


# ---- invalid input -------------------------------------------------------------------------------

X4 = np.array([[0.0, 0.0], [0.1, 1.0], [1.0, 0.2], [1.1, 0.9]])
Y4 = np.array([0, 0, 1, 1])


@named(LEARNERS)
def test_no_supervision(learner):
    with pytest.raises(InvalidInputError, match="requires y to be passed"):
        clone(learner).fit(X4)


@named(FROM_PAIRS)
def test_invalid_constraints(learner):
    learner = clone(learner)
    pairs = Constraints([(0, 1)], [(1, 2)])
    for invalid in (
        Constraints(),
        [(0, 1)],
        Constraints([(0, 7)], [(1, 2)]),
        Constraints([(0, 1)], [(1, 2)], n_objects=5),
        Constraints([(0, 1)], [(0, 1), (0, 2)]),
    ):
        with pytest.raises(InvalidInputError, match="constraints|must_link"):
            learner.fit(X4, constraints=invalid)
    for arguments in ({"y": pairs}, {"y": Y4, "constraints": pairs}):
        with pytest.raises(InvalidInputError, match=r"^y\b"):
            learner.fit(X4, **arguments)
    with pytest.warns(UserWarning, match="contradict"):
        learner.fit(X4, constraints=Constraints([(0, 1), (1, 3)], [(0, 3), (0, 2)]))


@named(FROM_LABELS)
def test_constraints_instead_of_labels(learner):
    pairs = Constraints([(0, 1)], [(1, 2)])
    for arguments in ({"constraints": pairs}, {"y": Y4, "constraints": pairs}):
        with pytest.raises(InvalidParameterError) as error:
            clone(learner).fit(X4, **arguments)
        assert error.value.name == "constraints"
    with pytest.raises(InvalidInputError, match=r"^y\b"):
        clone(learner).fit(X4, pairs)


@named(LEARNERS)
@pytest.mark.parametrize(
    "y",
    [
        [0, 0, 0, 0],
        [0, -1, -1, 0],
        [-1, -1, -1, -1],
        [0.1, 0.2, 0.5, 1.7],
        [0, 1, np.nan, 1],
        np.array(["a", "b", None, "a"], dtype=object),
        [0, 1, 1],
    ],
    ids=str,
)
def test_invalid_labels(learner, y):
    with pytest.raises(InvalidInputError, match=r"^y\b"):
        clone(learner).fit(X4, y)


@named(LEARNERS)
def test_missing_and_infinite_values(learner):
    for bad in (np.nan, np.inf):
        X = X4.copy()
        X[1, 1] = bad
        with pytest.raises(ValueError, match="NaN|infinity"):
            clone(learner).fit(X, Y4)
        with pytest.raises(ValueError, match="NaN|infinity"):
            clone(learner).fit(X4, Y4).transform(X)


@named(LEARNERS)
def test_too_many_components(learner):
    with pytest.raises(InvalidInputError, match=r"^n_components\b"):
        clone(learner).set_params(n_components=5).fit(X4, Y4)


@named(LEARNERS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_constant_column_has_no_weight(learner):
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.normal(size=(40, 2)) + np.repeat([[0, 0], [4, 0]], 20, axis=0),
            np.full(40, 3.0),
        ]
    )
    y = np.repeat([0, 1], 20)
    model = clone(learner).fit(X, y)
    if isinstance(learner, KPCCA | KFDA):
        plain = clone(learner).fit(X[:, :2], y)
        np.testing.assert_allclose(
            model.transform(X), plain.transform(X[:, :2]), rtol=1e-5, atol=1e-6
        )
    else:
        np.testing.assert_allclose(model.components_[:, 2], 0, atol=1e-9)


@named(LEARNERS)
def test_equal_objects(learner):
    with pytest.raises(ValueError, match="X must|zero|differ"):
        clone(learner).fit(np.ones((4, 2)), Y4)


@named(LEARNERS)
def test_not_fitted(learner):
    with pytest.raises(NotFittedError):
        clone(learner).transform(X4)


@pytest.mark.parametrize(
    ("learner", "parameter", "value"),
    [
        (PCCA, "n_components", 0),
        (PCCA, "beta", 0),
        (PCCA, "max_pairs", 0),
        (PCCA, "tol", -1.0),
        (PCCA, "random_state", "a"),
        (KPCCA, "gamma", "median"),
        (KPCCA, "regularization", -0.1),
        (FDA, "regularization", -1),
        (KFDA, "gamma", 0),
        (LFDA, "n_neighbors", 0),
        (MMC, "regularization", 0),
        (MMC, "max_iter", 0),
    ],
)
def test_invalid_parameters(learner, parameter, value):
    with pytest.raises(InvalidParameterError) as error:
        learner(**{parameter: value}).fit(X4, Y4)
    assert error.value.name == parameter


@named(FROM_PAIRS)
def test_convergence_warning(learner, iris, pairs):
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        model = fitted(clone(learner).set_params(max_iter=1), iris, pairs)
    assert not model.converged_
