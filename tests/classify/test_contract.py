"""Common tests of all classifiers."""

import inspect
import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import ClassifierMixin, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from dempster import FocalSets, MassFunctions, classify
from dempster._errors import InvalidInputError
from tests.docstrings import section

pytestmark = pytest.mark.filterwarnings("ignore")

X, CODES = load_iris(return_X_y=True)
X = X[::2, 1:].copy()
y = np.array(["setosa", "versicolor", "virginica"])[CODES[::2]]
NEW = X[::3] + 0.05

PUBLIC = [getattr(classify, name) for name in classify.__all__]
CLASSIFIERS = [
    kind
    for kind in PUBLIC
    if inspect.isclass(kind) and issubclass(kind, ClassifierMixin)
]
QUICK = {"n_init": 2, "random_state": 0}
FIRST = [
    "n_neighbors",
    "n_prototypes",
    "estimator",
    "prefit",
    "focal_sets",
    "metric",
]
LAST = ["init", "n_init", "max_iter", "tol", "random_state", "n_jobs"]


@pytest.fixture(params=CLASSIFIERS, ids=lambda kind: kind.__name__)
def kind(request):
    return request.param


def get_parameters(kind):
    return dict(inspect.signature(kind).parameters)


def make(kind, **changes):
    return kind(
        **{name: value for name, value in QUICK.items() if name in get_parameters(kind)}
        | changes
    )


@cache
def fitted(kind):
    return make(kind).fit(X, y)


def masses(model, objects=NEW):
    return model.predict_mass(objects).masses


# ---- results -------------------------------------------------------------------------------------


def test_masses_probabilities_and_classes_agree(kind):
    model = fitted(kind)
    found = model.predict_mass(NEW)
    assert isinstance(found, MassFunctions)
    assert list(found.frame) == model.classes_.tolist() == sorted(set(y))
    # The nested sets of a conformal classifier differ between objects.
    if hasattr(model, "focal_sets_"):
        assert found.focal_sets == model.focal_sets_
    probabilities = model.predict_proba(NEW)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(
        model.predict(NEW), model.classes_[probabilities.argmax(axis=1)]
    )
    accuracy = np.mean(model.predict(X) == y)
    assert accuracy > 0.85
    assert model.score(X, y) == accuracy
    np.testing.assert_array_equal(model.decide(NEW, reject=1.0), model.decide(NEW))


def test_history_and_objective_agree(kind):
    model = fitted(kind)
    if hasattr(model, "history_"):
        assert model.objective_ == model.history_[-1]
        assert model.n_iter_ == len(model.history_) >= 1
        assert (np.diff(model.history_) <= 0).all()
        assert isinstance(model.converged_, bool)


def test_certain_soft_labels_are_hard_labels(kind):
    certain = np.eye(3)[np.unique(y, return_inverse=True)[1]]
    labels = MassFunctions(
        certain, FocalSets.simple(3, empty=False, omega=False), frame=sorted(set(y))
    )
    np.testing.assert_array_equal(
        masses(make(kind).fit(X, labels)), masses(fitted(kind))
    )


def test_index_of_a_table(kind):
    table = pd.DataFrame(
        X, columns=list("abc"), index=[f"flower {i}" for i in range(len(X))]
    )
    model = make(kind).fit(table, y)
    assert list(model.predict_mass(table[:4]).index) == list(table.index[:4])
    assert masses(model, table).tobytes() == masses(fitted(kind), X).tobytes()


def test_single_precision(kind):
    model = make(kind).fit(X.astype(np.float32), y)
    assert (
        np.mean(model.predict(X.astype(np.float32)) == fitted(kind).predict(X)) > 0.95
    )


# ---- unlabelled objects ---------------------------------------------------------------------------

LABELLED = np.arange(len(X)) % 3 == 0
NO_LABELS = {
    "integers, -1": np.where(LABELLED, CODES[::2], -1),
    "numbers, NaN": np.where(LABELLED, CODES[::2], np.nan),
    "text, None": np.where(LABELLED, y, None),
    "list of text, NaN": [a if b else np.nan for a, b in zip(y, LABELLED, strict=True)],
    "list of text, -1": [a if b else -1 for a, b in zip(y, LABELLED, strict=True)],
    "nullable": pd.Series(CODES[::2]).where(LABELLED).astype("Int64"),
    "category": pd.Series(y).where(LABELLED).astype("category"),
}


@pytest.mark.parametrize("labels", NO_LABELS.values(), ids=NO_LABELS)
def test_unlabelled_objects_carry_no_evidence(kind, labels):
    known = np.asarray(labels, object)[LABELLED]
    alone = make(kind).fit(X[LABELLED], np.array(known.tolist()))
    model = make(kind).fit(X, labels)
    assert model.classes_.tolist() == alone.classes_.tolist()
    np.testing.assert_array_equal(masses(model), masses(alone))
    assert model.score(X, labels) == alone.score(X[LABELLED], known.tolist())


def test_unlabelled_objects_with_weights_in_score(kind):
    labels = NO_LABELS["integers, -1"]
    model = make(kind).fit(X, labels)
    weights = np.arange(1, len(X) + 1)
    expected = model.score(X[LABELLED], labels[LABELLED], weights[LABELLED])
    assert model.score(X, labels, weights) == expected


def test_minus_one_is_a_class_if_there_is_one_other(kind):
    signs = np.where(CODES[::2] == 0, -1, 1)
    model = make(kind).fit(X, signs)
    assert model.classes_.tolist() == [-1, 1]
    assert model.score(X, signs) == np.mean(model.predict(X) == signs)


# ---- seeds, threads, order -----------------------------------------------------------------------


def test_results_do_not_depend_on_threads(kind):
    if "n_jobs" not in get_parameters(kind):
        pytest.skip("the classifier has no n_jobs")
    for n_jobs in (1, 2, -1, None):
        assert (
            masses(make(kind, n_jobs=n_jobs).fit(X, y)).tobytes()
            == masses(fitted(kind)).tobytes()
        )
    with parallel_config(n_jobs=2):
        assert (
            masses(make(kind, n_jobs=None).fit(X, y)).tobytes()
            == masses(fitted(kind)).tobytes()
        )


def test_order_of_new_objects(kind):
    order = np.random.default_rng(0).permutation(len(NEW))
    np.testing.assert_allclose(
        masses(fitted(kind), NEW[order]), masses(fitted(kind))[order], atol=1e-12
    )


# ---- scikit-learn conventions --------------------------------------------------------------------


def test_not_fitted(kind):
    for method in ("predict", "predict_mass", "predict_proba", "decide"):
        with pytest.raises(NotFittedError):
            getattr(make(kind), method)(X)


def test_clone_and_parameters(kind):
    copied = clone(fitted(kind))
    assert copied.get_params(deep=False) == make(kind).get_params(deep=False)
    assert set(vars(copied)) == set(get_parameters(kind))
    marker = object()
    for name in get_parameters(kind):  # The constructor stores its arguments unchanged.
        assert getattr(kind(**{name: marker}), name) is marker


def test_pickle(kind):
    assert (
        masses(pickle.loads(pickle.dumps(fitted(kind)))).tobytes()
        == masses(fitted(kind)).tobytes()
    )


def test_failed_fit_does_not_change_the_model(kind):
    model = make(kind).fit(X, y)
    before = dict(vars(model))
    known = masses(model)
    one_class = np.full(len(y), "a")
    for wrong in (
        (np.full_like(X, np.nan), y),
        (X[:, :2], y[:-1]),
        (X[:, :2], one_class),
        ("no", y),
    ):
        with pytest.raises((ValueError, TypeError)):
            model.fit(*wrong)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is before[name] for name in before)
    assert masses(model).tobytes() == known.tobytes()
    fresh = make(kind)
    with pytest.raises(ValueError, match="NaN"):
        fresh.fit(np.full_like(X, np.nan), y)
    assert set(vars(fresh)) == set(get_parameters(kind))


def test_data_are_neither_changed_nor_shared(kind):
    mine = X.copy()
    labels = y.copy()
    mine.flags.writeable = labels.flags.writeable = False
    model = make(kind).fit(mine, labels)
    known = masses(model)
    np.testing.assert_array_equal(mine, X)
    mine.flags.writeable = labels.flags.writeable = True
    mine[:] = mine[::-1].copy()
    labels[:] = labels[::-1].copy()
    assert masses(model).tobytes() == known.tobytes()


# ---- invalid input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("objects", "labels", "match"),
    [
        (np.where(np.arange(X.size).reshape(X.shape) == 5, np.nan, X), y, "NaN"),
        (np.where(np.arange(X.size).reshape(X.shape) == 5, np.inf, X), y, "infinity"),
        (X.astype(str).astype(object) + "x", y, r"^X\b"),
        (X[:, 0], y, r"^X\b"),
        (X[:0], y[:0], "sample"),
        (X, y[:-1], r"^y\b"),
        (X, None, r"\by\b"),
        (X, np.full(len(y), "a"), "class"),
        (X, np.linspace(0, 1, len(y)), "continuous|classes"),
        (X, np.where(np.arange(len(y)) == 3, np.nan, 1.0), "two classes.*unlabelled"),
        (X, np.full(len(y), -1), "unlabelled"),
        (X, np.full(len(y), None), "unlabelled"),
    ],
    ids=[
        "NaN",
        "infinity",
        "text",
        "1-d",
        "empty",
        "lengths",
        "no labels",
        "one class",
        "numbers",
        "one class and NaN",
        "only -1",
        "only None",
    ],
)
def test_invalid_data(kind, objects, labels, match):
    with pytest.raises(ValueError, match=match):
        make(kind).fit(objects, labels)


def test_sparse_tables(kind):
    """The error names a reduction, because a dense copy of TF-IDF may not fit into memory."""
    with pytest.raises(ValueError, match="X must be a dense array.*TruncatedSVD"):
        make(kind).fit(sparse.csr_array(np.abs(X)), y)
    with pytest.raises(ValueError, match="X must be a dense array.*TruncatedSVD"):
        make(kind).fit(X, y).predict(sparse.csr_array(np.abs(X)))


def test_number_of_features(kind):
    with pytest.raises(ValueError, match=r"^X\b"):
        fitted(kind).predict_mass(X[:, :2])


# ---- parameters ----------------------------------------------------------------------------------


def test_order_and_defaults_of_parameters(kind):
    parameters = get_parameters(kind)
    own = [name for name in parameters if name not in FIRST + LAST]
    wanted = (
        [name for name in FIRST if name in parameters]
        + own
        + [name for name in LAST if name in parameters]
    )
    assert list(parameters) == wanted
    for position, (name, parameter) in enumerate(parameters.items()):
        assert parameter.kind is (
            parameter.KEYWORD_ONLY if position else parameter.POSITIONAL_OR_KEYWORD
        ), name
    defaults = {name: parameter.default for name, parameter in parameters.items()}
    assert defaults.get("n_jobs", -1) == -1
    assert defaults.get("random_state") is None
    assert defaults.get("metric", "euclidean") == "euclidean"
    assert defaults.get("focal_sets", "auto") == "auto"


def test_every_parameter_is_validated(kind):
    assert set(get_parameters(kind)) == set(kind._rules)
    for name in get_parameters(kind):
        with pytest.raises(InvalidInputError, match=f"^{name} "):
            make(kind, **{name: object()}).fit(X, y)


def test_docstring_lists_parameters_and_attributes(kind):
    parameters = section(kind.__doc__, "Parameters")
    attributes = section(kind.__doc__, "Attributes")
    assert list(parameters) == list(get_parameters(kind))
    found = {
        name
        for name in vars(fitted(kind))
        if name.endswith("_") and not name.startswith("_")
    }
    assert found - set(attributes) <= {"n_features_in_"}
