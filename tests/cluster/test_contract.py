"""Common tests of all clusterers. Exceptions are listed with their reasons."""

import copy
import inspect
import pickle
import re
import warnings

import numpy as np
import pytest
from joblib import parallel_config
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import ECM
from tests.cluster.contract import (
    EXCEPTIONS,
    OTHER_DEFAULTS,
    SUBJECTS,
    answer,
    prediction,
)
from tests.docstrings import section

pytestmark = pytest.mark.filterwarnings("ignore")


def pytest_generate_tests(metafunc):
    """Run every test for every clusterer."""
    cases = []
    for subject in SUBJECTS:
        reason = EXCEPTIONS.get((str(subject), metafunc.function.__name__))
        if reason is None:
            marks = []
        else:
            marks = [pytest.mark.xfail(reason=reason, strict=True)]
        cases.append(pytest.param(subject, marks=marks, id=str(subject)))
    metafunc.parametrize("subject", cases)


def same_bits(a, b):
    """Return whether two fits are identical."""
    assert answer(a).tobytes() == answer(b).tobytes()
    assert getattr(a, "objective_", 0) == getattr(b, "objective_", 0)
    np.testing.assert_array_equal(getattr(a, "history_", 0), getattr(b, "history_", 0))


# ---- results -------------------------------------------------------------------------------------


def test_fit_returns_a_partition_of_the_objects(subject):
    model = subject.fitted()
    assert subject.make().fit_predict(subject.data).shape == model.labels_.shape
    assert (
        model.n_clusters_ == len(np.unique(model.labels_))
        or subject.parameters["n_clusters"].default is not None
    )
    if hasattr(model, "credal_partition_"):
        partition = model.credal_partition_
        assert len(partition) == model.labels_.size
        assert partition.n_clusters == model.n_clusters_ == model.focal_sets_.n_clusters
        np.testing.assert_array_equal(model.labels_.ravel(), partition.labels)
        np.testing.assert_allclose(partition.masses.sum(axis=1), 1)
        assert partition.masses.min() >= 0
        assert partition.metadata["method"] == str(subject)


def test_predict_agrees_with_fit(subject):
    model = subject.fitted()
    np.testing.assert_allclose(
        prediction(model, subject.data), answer(model), atol=1e-7
    )
    np.testing.assert_array_equal(
        np.ravel(model.predict(subject.data)), np.ravel(model.labels_)
    )


def test_prediction_is_continuous_at_the_training_objects(subject):
    """A table may be written with fewer digits; masses and explanations must not jump."""
    if subject.data.dtype != np.float64:
        pytest.skip("it reads categories")
    rng = np.random.default_rng(4)
    ties = np.round(subject.data)
    for data in (subject.data, ties):
        model = subject.make().fit(data)
        noise = 1e-9 * rng.normal(size=data.shape)
        np.testing.assert_allclose(
            prediction(model, data + noise), prediction(model, data), atol=1e-4
        )


def test_history_and_objective_agree(subject):
    model = subject.fitted()
    if not hasattr(model, "objective_"):
        assert not hasattr(model, "history_")
        pytest.skip("it has no objective")
    assert isinstance(model.history_, np.ndarray)
    assert model.objective_ == model.history_[-1]
    assert model.n_iter_ == len(model.history_) >= 1
    assert isinstance(model.converged_, bool)
    steps = np.diff(model.history_)
    assert (steps <= 1e-9 * np.abs(model.history_[:-1])).all()  # it is minimised


def test_number_of_starts_is_reported(subject):
    if "n_init" not in subject.parameters:
        pytest.skip("it has one start")
    assert subject.fitted().n_starts_ >= 1
    if "max_iter" in subject.parameters and subject.takes_tables:
        assert subject.make(n_init=1).fit(subject.data).n_starts_ <= (
            subject.fitted().n_starts_
        )


def test_warning_if_not_converged(subject):
    if "max_iter" not in subject.parameters or "tol" not in subject.parameters:
        pytest.skip("it has no iterations to end early")
    with pytest.warns(match=f"{subject} did not converge"):
        model = subject.make(max_iter=1, tol=0.0).fit(subject.data)
    assert not model.converged_


def test_float32_is_kept(subject):
    if subject.data.dtype != np.float64:
        pytest.skip("it reads categories")
    model = subject.make().fit(subject.data.astype(np.float32))
    if hasattr(model, "credal_partition_"):
        assert model.credal_partition_.masses.dtype == np.float32
        assert (
            model.predict_mass(subject.data.astype(np.float32)).masses.dtype
            == np.float32
        )
        agree = np.mean(np.ravel(model.labels_) == np.ravel(subject.fitted().labels_))
        assert agree > 0.9


def test_index_of_a_table_is_kept(subject):
    if not subject.takes_tables:
        pytest.skip("it reads images")
    table = subject.table()
    model = subject.make().fit(table)
    assert model.n_features_in_ == table.shape[1]
    assert answer(model).tobytes() == answer(subject.fitted()).tobytes()
    if hasattr(model, "credal_partition_"):
        assert list(model.credal_partition_.index) == list(table.index)
        assert list(model.predict_mass(table[3:8]).index) == list(table.index[3:8])
        assert subject.fitted().credal_partition_.index is None


# ---- seeds, threads, order, weights --------------------------------------------------------------


def test_same_seed_and_any_number_of_threads(subject):
    few = {
        name: value
        for name, value in {"n_init": 2, "max_iter": 2}.items()
        if name in subject.parameters
    }
    one, two = (
        subject.make(n_jobs=n_jobs, **few).fit(subject.many) for n_jobs in (1, 2)
    )
    same_bits(one, two)
    assert (
        prediction(one, subject.many).tobytes()
        == prediction(two, subject.many).tobytes()
    )
    for n_jobs in (1, None):
        same_bits(subject.fitted(), subject.make(n_jobs=n_jobs).fit(subject.data))
    with parallel_config(n_jobs=2):
        same_bits(subject.fitted(), subject.make(n_jobs=None).fit(subject.data))


def test_permuting_the_objects_permutes_the_result(subject):
    order = np.random.default_rng(4).permutation(len(subject.data))
    as_given = subject.exact().fit(subject.data)
    moved = subject.exact().fit(subject.data[order])
    np.testing.assert_allclose(answer(moved), answer(as_given)[order], atol=1e-5)


def test_weights_equal_repetitions(subject):
    if not subject.fit_takes("sample_weight") or not subject.takes_tables:
        pytest.skip("it takes no weights, or reads images")
    weights = np.random.default_rng(2).integers(1, 4, len(subject.data))
    rows = np.repeat(np.arange(len(subject.data)), weights)
    weighted = subject.exact().fit(subject.data, sample_weight=weights)
    repeated = subject.exact().fit(subject.data[rows])
    np.testing.assert_allclose(answer(weighted)[rows], answer(repeated), atol=1e-5)
    assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)


def test_repeating_the_table_changes_nothing(subject):
    """A table with all rows two or three times has the clusters of the table."""
    if not subject.takes_tables:
        pytest.skip("it reads images")
    rng = np.random.default_rng(7)
    overlapping = rng.normal(size=(60, 2)) + np.repeat([[0, 0], [4, 0], [0, 4]], 20, 0)
    tables = [subject.data, overlapping, overlapping.round(0)]
    if subject.data.dtype != np.float64:
        tables = [subject.data]
    for data in tables:
        once = subject.make().fit(data)
        for times in (2, 3):
            repeated = subject.make().fit(np.tile(data, (times, 1)))
            assert repeated.n_clusters_ == once.n_clusters_
            labels = np.tile(once.labels_, times)
            assert adjusted_rand_score(labels, repeated.labels_) == 1


def test_unit_of_the_weights_has_no_effect(subject):
    if not subject.fit_takes("sample_weight") or not subject.takes_tables:
        pytest.skip("it takes no weights, or reads images")
    weights = np.random.default_rng(2).integers(1, 4, len(subject.data))
    one = subject.make().fit(subject.data, sample_weight=weights)
    for unit in (1e-3, 1e3):
        other = subject.make().fit(subject.data, sample_weight=unit * weights)
        np.testing.assert_allclose(answer(other), answer(one), atol=1e-5)


def test_objects_of_weight_zero_have_no_effect(subject):
    if not subject.fit_takes("sample_weight") or not subject.takes_tables:
        pytest.skip("it takes no weights, or reads images")
    kept = np.random.default_rng(3).random(len(subject.data)) < 0.7
    some = subject.exact().fit(subject.data, sample_weight=kept.astype(float))
    without = subject.exact().fit(subject.data[kept])
    np.testing.assert_allclose(answer(some)[kept], answer(without), atol=1e-5)
    np.testing.assert_allclose(
        answer(some)[~kept], prediction(without, subject.data[~kept]), atol=1e-5
    )


# ---- scikit-learn's manners ----------------------------------------------------------------------


def test_not_fitted(subject):
    for method in ("predict", "predict_mass", "predict_proba", "transform"):
        if hasattr(subject.estimator, method):
            with pytest.raises(NotFittedError):
                getattr(subject.make(), method)(subject.data)


def test_masses_are_features_of_a_pipeline(subject):
    if not hasattr(subject.estimator, "transform"):
        pytest.skip("it has no masses")
    model = copy.copy(subject.fitted()).set_output(transform="pandas")
    if subject.takes_tables:
        X = subject.table()[3:30]
    else:
        X = subject.data
    expected = subject.fitted().predict_mass(X)
    masses = model.transform(X)
    names = model.get_feature_names_out()
    assert list(masses.columns) == [
        f"mass {name}".replace(",", ", ") for name in expected.focal_sets.names()
    ]
    assert list(masses.columns) == list(names)
    assert list(masses.index) == list(
        range(len(masses)) if expected.index is None else expected.index
    )
    np.testing.assert_array_equal(masses, expected.masses)
    subject.fitted().transform(X)[0] = 0  # Later steps of a pipeline may work in place.
    np.testing.assert_array_equal(model.predict_proba(X), expected.pignistic())


def test_clone_and_parameters(subject):
    model = subject.make()
    given = model.get_params(deep=False)
    assert set(given) == set(subject.parameters)
    copied = clone(subject.fitted())
    assert {k: repr(v) for k, v in copied.get_params(deep=False).items()} == {
        k: repr(v) for k, v in given.items()
    }
    assert not [
        name for name in vars(copied) if name.endswith("_") and not name.startswith("_")
    ]
    marker = object()
    for name in (
        subject.parameters
    ):  # the constructor stores what it is given, and nothing else
        assert getattr(subject.estimator(**{name: marker}), name) is marker
    assert set(vars(subject.estimator())) == set(subject.parameters)


def test_pickle(subject):
    model = subject.fitted()
    again = pickle.loads(pickle.dumps(model))
    same_bits(model, again)
    assert (
        prediction(again, subject.data).tobytes()
        == prediction(model, subject.data).tobytes()
    )


def test_failed_fit_does_not_change_the_model(subject):
    model = subject.make().fit(subject.data)
    before = dict(vars(model))
    known = prediction(model, subject.data)
    garbage = [
        np.full(subject.data.shape, np.nan),
        subject.too_few,
        np.array("garbage"),
    ]
    for wrong in garbage:
        with pytest.raises((ValueError, TypeError)):
            model.fit(wrong)
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[name] is before[name] for name in before)
    model.set_params(n_jobs=0)
    with pytest.raises(ValueError, match="n_jobs"):
        model.fit(subject.data)
    model.set_params(n_jobs=1)
    assert prediction(model, subject.data).tobytes() == known.tobytes()
    fresh = subject.make()
    with pytest.raises((ValueError, TypeError)):
        fresh.fit(garbage[0])
    assert set(vars(fresh)) == set(subject.parameters)


def test_data_are_neither_changed_nor_shared(subject):
    mine = subject.data.copy()
    mine.flags.writeable = False
    model = subject.make().fit(mine)
    known = prediction(model, mine)
    np.testing.assert_array_equal(mine, subject.data)
    mine.flags.writeable = True
    mine[...] = mine[::-1].copy()
    assert prediction(model, subject.data).tobytes() == known.tobytes()


# ---- clear errors --------------------------------------------------------------------------------


def damaged(X, value):
    """Return the objects with one value replaced."""
    out = X.astype(object if isinstance(value, str) else float)
    out[(2,) + (0,) * (X.ndim - 1)] = value
    return out


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda s: damaged(s.data, np.nan), "NaN|missing"),
        (lambda s: damaged(s.data, np.inf), "infinity|infinite|finite|NaN"),
        (
            lambda s: damaged(s.data, "nonsense"),
            "could not convert|numbers|numeric|float",
        ),
        (lambda s: s.data.ravel(), "2D|dimension|shape|axes"),
        (lambda s: s.data[:0], "sample|empty|object|pixel"),
        (lambda s: s.too_few, r"n_clusters|sample|object|neighbo|different|pixel"),
    ],
    ids=["NaN", "infinity", "text", "one dimension", "empty", "too few"],
)
def test_invalid_data(subject, damage, words):
    wrong = damage(subject)
    if wrong.dtype == object and str(subject) == "CatECM":
        pytest.skip("text is what it reads")
    with pytest.raises((ValueError, TypeError), match=words):
        subject.make().fit(wrong)


def test_sparse_tables(subject):
    """The error names a reduction, because a dense copy of TF-IDF may not fit into memory."""
    if not subject.takes_tables or subject.data.dtype != np.float64:
        pytest.skip("it reads images or categories")
    if str(subject) == "EKNNClus":
        pytest.skip("a sparse matrix is a graph")
    counts = sparse.csr_array(np.abs(subject.data))
    with pytest.raises(ValueError, match="X must be a dense array.*TruncatedSVD"):
        subject.make().fit(counts)
    with pytest.raises(ValueError, match="X must be a dense array.*TruncatedSVD"):
        prediction(subject.fitted(), counts)


@pytest.mark.parametrize("value", [0.0, 7.0])
def test_constant_columns_carry_nothing(subject, value):
    """A constant column changes neither the clusters nor, up to the default of beta, the masses."""
    if not subject.takes_tables or subject.data.dtype != np.float64:
        pytest.skip("it reads images or categories")
    beta = {"beta": 1.5} if "beta" in subject.parameters else {}
    column = np.full((len(subject.data), 1), value)
    for data in (subject.data, np.random.default_rng(5).normal(size=(60, 2))):
        plain = subject.make(**beta).fit(data)
        wider = subject.make(**beta).fit(np.hstack([data, column]))
        np.testing.assert_array_equal(wider.labels_, plain.labels_)
        np.testing.assert_allclose(answer(wider), answer(plain), atol=1e-6)


@pytest.mark.parametrize("value", [0.0, 2.5])
def test_equal_objects_are_one_cluster(subject, value):
    data = np.full_like(subject.data, value)
    numbers = [{}]
    if "n_clusters" in subject.parameters:
        automatic = subject.parameters["n_clusters"].default
        if automatic is not None:
            automatic = "auto"
        numbers = [{"n_clusters": 1}, {"n_clusters": automatic}]
    for number in numbers:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            model = subject.make(**number).fit(data)
        assert model.n_clusters_ == 1
        assert (model.labels_ == 0).all()


def test_number_of_features(subject):
    wider = np.concatenate([subject.data, subject.data], axis=-1)
    if not subject.takes_tables:
        wider = subject.data[..., None].repeat(2, axis=-1)
    with pytest.raises(ValueError, match="feature|channel"):
        prediction(subject.fitted(), wider)


# ---- parameters and words ------------------------------------------------------------------------

FIRST = ["n_clusters", "focal_sets", "metric", "shape", "symmetrize"]
LAST = [
    "init",
    "n_init",
    "max_iter",
    "tol",
    "n_neighbor_clusters",
    "warm_start",
    "checkpoint",
    "device",
]
LAST += ["random_state", "n_jobs", "verbose"]
DEFAULTS = {
    "n_clusters": 2,
    "focal_sets": "auto",
    "metric": "euclidean",
    "symmetrize": False,
    "n_neighbor_clusters": 1,
    "warm_start": False,
    "checkpoint": None,
    "device": "cpu",
    "random_state": None,
    "n_jobs": -1,
    "verbose": 0,
}
# What is said of these is the same everywhere, in the words of ECM; more may follow.
SAME_WORDS = ["random_state", "n_jobs", "verbose"]
SAME_ATTRIBUTES = ["focal_sets_", "objective_", "n_iter_", "converged_", "n_clusters_"]


def test_order_and_defaults_of_parameters(subject):
    parameters = list(subject.parameters)
    own = [name for name in parameters if name not in FIRST + LAST]
    wanted = (
        [name for name in FIRST if name in parameters]
        + own
        + [name for name in LAST if name in parameters]
    )
    assert parameters == wanted
    for name, parameter in subject.parameters.items():
        assert parameter.kind is (
            parameter.POSITIONAL_OR_KEYWORD
            if name == "n_clusters"
            else parameter.KEYWORD_ONLY
        )
        if name in DEFAULTS:
            assert parameter.default == OTHER_DEFAULTS.get(
                (str(subject), name), DEFAULTS[name]
            ), name
    assert {"random_state", "n_jobs"} <= set(parameters)


def test_order_of_the_arguments_of_fit(subject):
    found = [
        str(p) for p in inspect.signature(subject.estimator.fit).parameters.values()
    ]
    names = [part.split(":")[0].split("=")[0].strip() for part in found]
    order = ["self", "X", "y", "sample_weight", "constraints", "dissimilarities"]
    assert names == [name for name in order if name in names]
    for name, p in inspect.signature(subject.estimator.fit).parameters.items():
        positional = name in ("self", "X", "y", "sample_weight")
        assert p.kind is (p.POSITIONAL_OR_KEYWORD if positional else p.KEYWORD_ONLY)


def test_every_parameter_is_validated(subject):
    assert set(subject.parameters) <= set(subject.estimator._rules)
    for name in subject.parameters:
        with pytest.raises(ValueError, match=f"^{name} must be .*, got <object"):
            subject.make(**{name: object()}).fit(subject.data)


def test_docstring_lists_parameters_and_attributes(subject):
    """All parameters are listed in their order, and all fitted attributes.

    Common ones have a common description.
    """
    text = subject.estimator.__doc__
    parameters = section(text, "Parameters")
    attributes = section(text, "Attributes")
    assert list(parameters) == list(subject.parameters)
    fitted = {
        name
        for name in vars(subject.fitted())
        if name.endswith("_") and not name.startswith("_")
    }
    assert fitted - set(attributes) <= {"feature_names_in_"}
    ours = section(ECM.__doc__, "Parameters")
    reference = section(ECM.__doc__, "Attributes")
    common = [(parameters, ours, name) for name in SAME_WORDS] + [
        (attributes, reference, name) for name in SAME_ATTRIBUTES
    ]
    for found, wanted, name in common:
        if name in found:
            (kind, words), (usual_kind, usual_words) = found[name], wanted[name]
            assert kind.split(", default")[0] == usual_kind.split(", default")[0]
            assert words.startswith(usual_words)
    if "history_" in attributes:
        assert attributes["history_"][1].startswith("Objective after every ")
    for part in ("References", "Examples"):
        assert re.search(rf"^{part}\n-+\n", inspect.cleandoc(text), re.MULTILINE)
