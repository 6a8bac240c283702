"""Bad, extreme and odd objects and parameters: every estimator refuses them with words, or gives a sensible result."""

import decimal
import fractions
import inspect
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_iris

from dempster import classify, metric
from dempster.constraints import Constraints, ContradictionError, ContradictionWarning
from dempster.mixture import ParsimoniousGaussianMixture
from tests.cluster.contract import SUBJECTS, answer, categories, prediction
from tests.hostile.limits import by_thirds, refused_or_sensible, third_of

pytestmark = pytest.mark.filterwarnings("ignore")

IRIS, Y = load_iris(return_X_y=True)
IRIS, Y = IRIS[::3], Y[::3]
rng = np.random.default_rng(0)


def cell(value, dtype=float):
    X = IRIS.astype(dtype)
    X[3, 2] = value
    return X


OBJECTS = {
    "NaN": cell(np.nan),
    "infinity": cell(np.inf),
    "minus infinity": cell(-np.inf),
    "code for missing": cell(1.7e308),
    "None": cell(None, object),
    "text in a cell": cell("oops", object),
    "a list in a cell": cell([1, 2], object),
    "huge": IRIS * 1e200,
    "tiny": IRIS * 1e-200,
    "denormal": IRIS * 1e-310,
    "large": IRIS * 1e50,
    "far from the origin": IRIS + 1e12,
    "huge in single precision": (IRIS * 1e20).astype(np.float32),
    "tiny in single precision": (IRIS * 1e-20).astype(np.float32),
    "half precision": IRIS.astype(np.float16),
    "long doubles": IRIS.astype(np.longdouble),
    "integers": (10 * IRIS).astype(int),
    "unsigned": (10 * IRIS).astype(np.uint8),
    "Boolean": IRIS > 3,
    "complex": IRIS.astype(complex),
    "text": IRIS.astype(str),
    "words": np.full((20, 2), "word"),
    "objects that are numbers": IRIS.astype(object),
    "dates": np.full((20, 2), np.datetime64("2020-01-01")),
    "empty": IRIS[:0],
    "no attributes": IRIS[:, :0],
    "one object": IRIS[:1],
    "two objects": IRIS[:2],
    "three objects": IRIS[[0, 20, 40]],
    "one attribute": IRIS[:, :1],
    "one dimension": IRIS[:, 0],
    "three dimensions": IRIS[None],
    "a number": 5.0,
    "nothing": None,
    "a string": "data",
    "a dictionary": {"a": [1, 2]},
    "ragged": [[1.0, 2.0], [3.0]],
    "nested lists": IRIS.tolist(),
    "sparse": sparse.csr_matrix(IRIS),
    "all equal": np.ones((20, 3)),
    "all zero": np.zeros((20, 3)),
    "a constant attribute": np.column_stack([IRIS, np.ones(len(IRIS))]),
    "the same attribute twice": np.column_stack([IRIS, IRIS]),
    "duplicates": np.repeat(IRIS[::10], 7, axis=0),
    "two places": np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0),
    "more attributes than objects": rng.normal(size=(12, 60)),
    "Fortran order": np.asfortranarray(IRIS),
    "strides": np.repeat(IRIS, 2, axis=0)[::2],
    "reversed": IRIS[::-1],
    "read-only": np.frombuffer(IRIS.tobytes()).reshape(IRIS.shape),
    "big-endian": IRIS.astype(">f8"),
    "masked": np.ma.masked_array(IRIS, IRIS > 7),
    "nothing masked": np.ma.masked_array(IRIS),
    "spans of time": (100 * IRIS).astype("m8[s]"),
    "a date in a cell": cell(np.datetime64("2020-01-01"), object),
    "a span of time in a cell": cell(np.timedelta64(3, "s"), object),
    "a complex cell": cell(np.complex128(5 + 2j), object),
    "a date in a cell of a table": pd.DataFrame(cell(np.datetime64("2020-01-01"), object)),
    "complex columns": pd.DataFrame(IRIS.astype(complex)),
    "dates in a table": pd.DataFrame({"a": pd.date_range("2020", periods=20), "b": range(20)}),
    "pandas NA": cell(pd.NA, object),
    "numbers of Python": np.vectorize(decimal.Decimal, otypes=[object])(IRIS),
    "records": np.zeros(20, dtype=[("a", float), ("b", int)]),
    "a generator": (row for row in IRIS),
    "a set": {1.0, 2.0},
    "a tensor": torch.tensor(IRIS),
    "sparse tensor": torch.tensor(IRIS).to_sparse(),
    "lazy": pl.LazyFrame({"a": [1.0, 2.0, 3.0, 4.0]}),
    "polars": pl.DataFrame(dict(zip("abcd", IRIS.T, strict=True))),
    "arrow": pd.DataFrame(IRIS).convert_dtypes(dtype_backend="pyarrow"),
    "two levels of names": pd.DataFrame(IRIS, index=pd.MultiIndex.from_product([range(10), list("vwxyz")])),
    "a matrix": np.asmatrix(IRIS),
    "a table": pd.DataFrame(IRIS, columns=list("abcd")),
    "a table with numbers as names": pd.DataFrame(IRIS, columns=range(4), index=range(5, 5 + len(IRIS))),
    "a table with mixed names": pd.DataFrame(IRIS, columns=["a", 1, "b", 2]),
    "a table with names twice": pd.DataFrame(IRIS, columns=list("aabb"), index=["x"] * len(IRIS)),
    "a table with categories": pd.DataFrame({"a": pd.Categorical(["u", "v"] * 10), "b": range(20)}),
    "a table with missing values": pd.DataFrame({"a": [1.0, None, 3.0] * 5, "b": range(15)}),
    "nullable integers": pd.DataFrame({"a": pd.array([1, 2, 3] * 5, dtype="Int64"), "b": range(15)}),
    "one far outlier": np.concatenate([IRIS, np.full((1, 4), 1e30)]),
    "ties": np.array(np.meshgrid(range(5), range(5))).reshape(2, -1).T.astype(float),
}

TABLES = [s for s in SUBJECTS if s.takes_tables]  # others read images
HIDDEN = (
    *("masked", "dates", "dates in a table", "spans of time", "complex", "pandas NA", "sparse tensor", "lazy"),
    *("a date in a cell", "a span of time in a cell", "a complex cell", "a date in a cell of a table"),
    "complex columns",
)


def quick_make(subject, **changes):
    """A clusterer that ends soon, whatever it is given."""
    quick = {"n_init": 1, "max_iter": 10, "n_bootstraps": 10}
    if str(subject) == "NNEVCLUS":
        quick |= {"network": 3, "max_iter": 2}
    few = {name: value for name, value in quick.items() if name in subject.parameters}
    return subject.make(**{**few, **changes})


def valid_masses(model):
    labels = np.ravel(model.labels_)
    assert labels.dtype.kind in "iu"
    if hasattr(model, "credal_partition_"):
        masses = model.credal_partition_.masses
        assert np.isfinite(masses).all()
        np.testing.assert_allclose(masses.sum(axis=1), 1, atol=1e-4)
        assert np.isfinite(model.objective_)


@by_thirds
@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_clusterers(subject, third):
    for name, X in third_of(OBJECTS.items(), SUBJECTS.index(subject), third):
        message = refused_or_sensible(lambda X=X: quick_make(subject).fit(X), valid_masses)
        if name == "three dimensions" and not subject.takes_tables:
            continue  # channels
        if name in ("NaN", "infinity", "code for missing", "empty", "nothing", "three dimensions", "ragged", *HIDDEN):
            assert message is not None or str(subject) == "CatECM", name
        if message is not None and name not in OF_THE_METHOD and str(subject) != "CatECM":
            assert re.search(r"\bX\b|column|n_features|objects|n_clusters", message), f"{name}: {message}"


OF_THE_METHOD = ("all equal", "all zero")  # refused by what the method needs, which says so
DRESSES = ["Fortran order", "strides", "read-only", "big-endian", "long doubles", "objects that are numbers",
           "nested lists", "a table", "nothing masked", "numbers of Python", "a tensor", "polars", "arrow",
           "two levels of names"]  # fmt: skip


@by_thirds
@pytest.mark.parametrize("subject", [s for s in SUBJECTS if str(s) != "CatECM"], ids=str)
def test_the_same_numbers_in_another_dress(subject, third):
    """Whatever the numbers come in, the answer is the same or an error that says X."""
    expected = answer(quick_make(subject).fit(IRIS))
    for name in third_of(DRESSES, SUBJECTS.index(subject), third):

        def same(model, name=name):
            np.testing.assert_allclose(answer(model), expected, atol=1e-9, err_msg=name)

        refused_or_sensible(lambda name=name: quick_make(subject).fit(OBJECTS[name]), same, "X|feature|column")


WEIGHTS = {
    "masked": np.ma.masked_array(np.ones(50), np.arange(50) == 7),
    "dates": np.full(50, np.datetime64("2020-01-01")),
    "spans of time": np.full(50, np.timedelta64(3, "s")),
    "complex": np.ones(50, dtype=complex),
    "a complex number": 1j,
    "words": ["a"] * 50,
    "pandas NA": [pd.NA] * 50,
    "NaN": [np.nan] * 50,
    "infinity": [np.inf] * 50,
    "negative": -np.ones(50),
    "zero": np.zeros(50),
    "too few": np.ones(49),
    "a table": np.ones((50, 2)),
    "nothing like weights": object(),
}


@pytest.mark.parametrize("subject", [s for s in SUBJECTS if s.fit_takes("sample_weight")], ids=str)
def test_weights(subject):
    X = categories(IRIS[:, :2]) if str(subject) == "CatECM" else IRIS
    for name, weights in WEIGHTS.items():
        message = refused_or_sensible(lambda w=weights: quick_make(subject).fit(X, sample_weight=w), valid_masses)
        assert message is not None, name
        assert "eight" in message, message


@pytest.mark.parametrize("subject", [s for s in TABLES if s.fit_takes("sample_weight")], ids=str)
def test_weights_are_matched_by_names(subject):
    names = [f"object {i}" for i in range(len(subject.data))]
    table = pd.DataFrame(subject.data, index=names, columns=list("abc")[: subject.data.shape[1]])
    weights = pd.Series(np.linspace(1, 5, len(names)), index=names)
    one, other, strange = (
        answer(quick_make(subject).fit(table, sample_weight=w))
        for w in (weights, weights[::-1], weights.rename(index=lambda name: name + "?"))
    )
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one, strange)  # other names: by positions


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_predictions_are_those_of_the_fit(subject):
    """Whatever is set afterwards, but for what says how objects are read and where the work is done."""
    model = quick_make(subject).fit(subject.data)
    before = prediction(model, subject.data)
    reading = ("metric", "n_jobs", "device", "channel_axis", "handle_unknown")
    model.set_params(**{name: object() for name in subject.parameters if name not in reading})
    np.testing.assert_array_equal(prediction(model, subject.data), before)


CLASSIFIERS = [
    kind
    for kind in (getattr(classify, name) for name in classify.__all__)
    if inspect.isclass(kind) and issubclass(kind, ClassifierMixin)
]
LEARNERS = [getattr(metric, name) for name in metric.__all__]


def quick(kind):
    wanted = {"n_init": 1, "max_iter": 50, "random_state": 0, "n_neighbors": 1}
    return kind(**{k: v for k, v in wanted.items() if k in inspect.signature(kind).parameters})


def labels_for(X):
    sized = hasattr(X, "__len__") and not sparse.issparse(X)
    n = len(X) if sized else (X.shape[0] if hasattr(X, "shape") and X.shape else 5)
    return np.arange(n) % 2


@by_thirds
@pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)
def test_classifiers(kind, third):
    def valid(model):
        assert np.isfinite(model.predict_mass(model.seen_).masses).all()

    def fit(X):
        model = quick(kind).fit(X, labels_for(X))
        model.seen_ = X
        return model

    for name, X in third_of(OBJECTS.items(), CLASSIFIERS.index(kind), third):
        message = refused_or_sensible(lambda X=X: fit(X), valid)
        assert message is None or re.search(r"\b[Xy]\b|n_neighbors|n_prototypes", message), f"{name}: {message}"
        assert message is not None or name not in HIDDEN, name


WRONG_LABELS = {
    "too few": Y[:-1],
    "too many": [*Y, 0],
    "text and numbers": np.array(["a", 1, 2.5], dtype=object)[Y],
    "measurements": Y + 0.5,
    "beyond 64 bits": Y.astype(object) + 2**70,
    "objects": [object()] * len(Y),
    "empty": [],
    "a word": "label",
}


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *LEARNERS], ids=lambda kind: kind.__name__)
def test_labels_that_are_none_are_named(kind):
    for name, y in WRONG_LABELS.items():
        message = refused_or_sensible(lambda y=y: quick(kind).fit(IRIS, y), lambda _: None, r"\by\b")
        assert message is not None, name


DECISIONS = {
    "rule": ["magic", None, 3, [], IRIS],
    "tolerance": ["x", 1j, None, {}, -1, 2.0, np.nan, object(), pd.NA],
    "optimism": ["x", 1j, None, {}, -1, 2.0, np.nan, object(), pd.NA],
    "acts": [3, 0.5, "abc", [[], [], []], ["a"], object()],
    "reject_label": [[], {}, IRIS],
}


@pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)
def test_decisions_check_what_they_do_not_need(kind):
    """An argument of another rule is checked all the same."""
    model = quick(kind).fit(IRIS, Y)
    for argument, values in DECISIONS.items():
        for value in values:
            with pytest.raises((ValueError, TypeError), match=argument):
                model.decide(IRIS, **{argument: value})


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *LEARNERS], ids=lambda kind: kind.__name__)
def test_labels_are_matched_by_names(kind):
    table = pd.DataFrame(IRIS, index=[f"flower {i}" for i in range(len(IRIS))], columns=list("abcd"))
    y = pd.Series(Y, index=table.index)

    def said(labels):
        model = quick(kind).fit(table, labels)
        return model.transform(table) if hasattr(model, "transform") else model.predict_proba(table)

    np.testing.assert_array_equal(said(y), said(y[::-1]))


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *LEARNERS], ids=lambda kind: kind.__name__)
def test_labels(kind):
    missing = Y.astype(object)
    missing[4] = pd.NA
    nothing = Y.astype(object)
    nothing[4] = None
    for y in (np.ma.masked_array(Y, Y == 1), missing, nothing, [[1], [2, 3]], Y[:-1], Y.astype(complex), object(), "y"):
        message = refused_or_sensible(lambda y=y: quick(kind).fit(IRIS, y), lambda model: 1 / 0)
        assert message is not None


@by_thirds
@pytest.mark.parametrize("kind", LEARNERS, ids=lambda kind: kind.__name__)
def test_metric_learners(kind, third):
    def valid(model):
        assert np.isfinite(model.components_).all()

    for X in third_of(OBJECTS.values(), LEARNERS.index(kind), third):
        refused_or_sensible(lambda X=X: quick(kind).fit(X, labels_for(X)), valid)


def test_mixtures():
    def valid(model):
        assert np.isfinite(model.log_likelihood_)

    for X in OBJECTS.values():
        refused_or_sensible(lambda X=X: ParsimoniousGaussianMixture(2, model="EII").fit(X), valid)


VALUES = [
    None, True, False, 0, -1, 1, 2, 7, 10**9, 10**400, 0.0, 0.5, -0.5, 1.0, 1.5, 1e-300, 1e300, np.nan, np.inf, -np.inf,
    fractions.Fraction(1, 3), decimal.Decimal(2), np.longdouble(1.5), np.timedelta64(3), pd.NA, np.ma.masked, -(2**70),
    1j, "x", "", "auto", b"x", [], [1], [0, 1], [[1.0, 2.0]], (), {}, object(), np.array(3), np.float32(2), np.int8(2),
    np.array([np.nan]), lambda a, b: 0.0, int, np.datetime64("2020-01-01"),
]  # fmt: skip


@by_thirds
@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_parameters_of_clusterers(subject, third, tmp_path, monkeypatch):
    """Whatever a parameter is set to: a ValueError that names it, or a valid fit."""
    monkeypatch.chdir(tmp_path)  # a word may be the name of a checkpoint
    slow = ("n_init", "max_iter", "n_bootstraps", "n_partners", "n_landmarks", "n_jobs", "verbose", "random_state")
    for number, name in enumerate(subject.parameters):
        for value in third_of(VALUES, number, third):
            ordinary = (type(value) in (int, float, np.int8, np.float32) and 0 < value < 10) or isinstance(value, bool)
            accepted = subject.estimator._rules[name].test(value)
            if accepted and (ordinary or name in slow):
                continue
            message = refused_or_sensible(
                lambda name=name, value=value: quick_make(subject, **{name: value}).fit(subject.data[:24]), valid_masses
            )
            if message is not None and value is not None and type(value) in (complex, bytes, dict):
                assert name in message


CONSTRAINTS = {
    "a list": [(0, 1)],
    "too large": Constraints([(0, 999)]),
    "of other objects": Constraints([(0, 1)], n_objects=5),
    "contradictory": Constraints([(0, 1)], [(0, 1)]),
    "contradictory in a chain": Constraints([(0, 1), (1, 2)], [(0, 2)]),
    "none": Constraints(),
    "all alike": Constraints([(i, i + 1) for i in range(29)]),
    "all apart": Constraints([], [(i, j) for i in range(30) for j in range(i)]),
    "text": "constraints",
}


TAKING_CONSTRAINTS = [s.make() for s in TABLES if s.fit_takes("constraints")] + [
    quick(kind) for kind in (metric.PCCA, metric.KPCCA, metric.MMC, metric.DMLEig)
]  # the others learn from labels alone


@pytest.mark.parametrize("estimator", TAKING_CONSTRAINTS, ids=lambda e: type(e).__name__)
def test_contradictions_have_one_rule(estimator):
    """A pair that must and must not link is refused; a chain that says so is told, with the chain, and weighed."""
    X = IRIS[:30, :2]
    with pytest.raises(ContradictionError, match="4 and 9 must not link, but 4 - 9 are must-linked"):
        estimator.fit(X, constraints=Constraints([(4, 9)], [(9, 4), (0, 1)]))
    chain = Constraints([(0, 3), (3, 7), (7, 12)], [(0, 12), (1, 2)])
    with pytest.warns(ContradictionWarning, match="1 places.*0 and 12 must not link, but 0 - 3 - 7 - 12 are must"):
        estimator.fit(X, constraints=chain)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ContradictionWarning)
        estimator.fit(X, constraints=Constraints([(0, 3)], [(0, 12), (1, 2)]))
    assert not [w for w in said if issubclass(w.category, ContradictionWarning)]


@pytest.mark.parametrize("subject", [s for s in TABLES if s.fit_takes("constraints")], ids=str)
@pytest.mark.parametrize("which", CONSTRAINTS)
def test_constraints(subject, which):
    refused_or_sensible(
        lambda: subject.make().fit(subject.data[:30], constraints=CONSTRAINTS[which]),
        valid_masses,
        "onstraint|link|object",
    )


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_a_seed_is_checked_where_it_is_not_needed(subject):
    with pytest.raises(ValueError, match="random_state must be .* at least 0.*, got -1"):
        quick_make(subject, random_state=-1).fit(subject.data)
