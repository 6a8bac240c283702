"""Unusual objects, weights, parameters and constraints: an error names them, or the result is valid."""

import decimal
import fractions
import inspect
import re
import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from scipy import sparse

from dempster import metric
from dempster._errors import InvalidInputError
from dempster.cluster import (
    CCM,
    CECM,
    ECM,
    EGMM,
    EVCLUS,
    MECM,
    RECM,
    SECM,
    WMVEC,
    CatECM,
    CredalClustering,
    ECMdd,
)
from dempster.constraints import Constraints, ContradictionError, ContradictionWarning
from tests.cluster.contract import SUBJECTS, answer, categories, prediction
from tests.inputs import FORMS, HIDDEN, IRIS, OBJECTS, SHIFTED, quick, quick_make, table
from tests.limits import by_thirds, refused_or_sensible, third_of

pytestmark = pytest.mark.filterwarnings("ignore")

D = np.abs(SHIFTED[:, None] - SHIFTED).sum(axis=2)
TABLES = [s for s in SUBJECTS if s.takes_tables]  # others read images


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
        message = refused_or_sensible(
            lambda X=X: quick_make(subject).fit(X), valid_masses
        )
        if name == "three dimensions" and not subject.takes_tables:
            continue  # channels
        if name in (
            "NaN",
            "infinity",
            "code for missing",
            "empty",
            "nothing",
            "three dimensions",
            "ragged",
            *HIDDEN,
        ):
            assert message is not None or str(subject) == "CatECM", name
        if (
            message is not None
            and name not in OF_THE_METHOD
            and str(subject) != "CatECM"
        ):
            assert re.search(r"\bX\b|column|n_features|objects|n_clusters", message), (
                f"{name}: {message}"
            )


# refused by what the method needs, which says so
OF_THE_METHOD = ("all equal", "all zero")
DRESSES = ["Fortran order", "strides", "read-only", "big-endian", "long doubles", "objects that are numbers",
           "nested lists", "a table", "nothing masked", "numbers of Python", "a tensor", "polars", "arrow",
           "two levels of names"]  # fmt: skip


@by_thirds
@pytest.mark.parametrize(
    "subject", [s for s in SUBJECTS if str(s) != "CatECM"], ids=str
)
def test_containers_of_the_same_numbers(subject, third):
    """Every container gives the same result or an error that names X."""
    expected = answer(quick_make(subject).fit(IRIS))
    for name in third_of(DRESSES, SUBJECTS.index(subject), third):

        def same(model, name=name):
            np.testing.assert_allclose(answer(model), expected, atol=1e-9, err_msg=name)

        refused_or_sensible(
            lambda name=name: quick_make(subject).fit(OBJECTS[name]),
            same,
            "X|feature|column",
        )


def with_weight(value, dtype=object):
    def change(ones):
        weights = ones.astype(dtype)
        weights.flat[2] = value
        return weights

    return change


WRONG_WEIGHTS = {
    "masked": lambda ones: np.ma.masked_array(
        ones, ones.cumsum().reshape(ones.shape) == 7
    ),
    "dates": lambda ones: np.full(ones.shape, np.datetime64("2020-01-01")),
    "spans of time": lambda ones: np.full(ones.shape, np.timedelta64(3, "s")),
    "complex": lambda ones: ones.astype(complex),
    "a complex number": lambda ones: 1j,
    "a complex weight": with_weight(1j, complex),
    "words": lambda ones: np.full(ones.shape, "a").tolist(),
    "a word": with_weight("x"),
    "NA": with_weight(pd.NA),
    "NaN": lambda ones: np.nan * ones,
    "infinity": with_weight(np.inf),
    "negative": lambda ones: -ones,
    "zero": lambda ones: 0 * ones,
    "huge": with_weight(1e200),
    "tiny": with_weight(1e-200),
    "too few": lambda ones: ones[:-1],
    "a table": lambda ones: np.stack([ones, ones], axis=-1),
    "nothing like weights": lambda ones: object(),
    "sparse tensor": lambda ones: torch.tensor(ones).to_sparse(),
}


@pytest.mark.parametrize(
    "subject", [s for s in SUBJECTS if s.fit_takes("sample_weight")], ids=str
)
def test_weights(subject):
    ones = np.ones(subject.data.shape[: 1 if subject.takes_tables else 2])
    for name, wrong in WRONG_WEIGHTS.items():
        message = refused_or_sensible(
            lambda w=wrong: quick_make(subject).fit(
                subject.data, sample_weight=w(ones)
            ),
            valid_masses,
            "[Ww]eight",
        )
        assert message is not None, name
    if subject.takes_tables:
        # fewer objects than clusters are left
        with pytest.raises(ValueError, match="n_clusters|sample_weight"):
            quick_make(subject).fit(
                subject.data, sample_weight=np.where(np.arange(len(ones)) < 2, ones, 0)
            )


@pytest.mark.parametrize(
    "subject", [s for s in TABLES if s.fit_takes("sample_weight")], ids=str
)
def test_weights_are_matched_by_names(subject):
    names = [f"object {i}" for i in range(len(subject.data))]
    table = pd.DataFrame(
        subject.data, index=names, columns=list("abc")[: subject.data.shape[1]]
    )
    weights = pd.Series(np.linspace(1, 5, len(names)), index=names)
    one, other, strange = (
        answer(quick_make(subject).fit(table, sample_weight=w))
        for w in (weights, weights[::-1], weights.rename(index=lambda name: name + "?"))
    )
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one, strange)  # other names: by positions


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_later_parameters_do_not_change_predictions(subject):
    """Only parameters for reading rows and for the device are used after the fit."""
    model = quick_make(subject).fit(subject.data)
    before = prediction(model, subject.data)
    reading = ("metric", "n_jobs", "device", "channel_axis", "handle_unknown")
    model.set_params(
        **{name: object() for name in subject.parameters if name not in reading}
    )
    np.testing.assert_array_equal(prediction(model, subject.data), before)


VALUES = [
    None, True, False, 0, -1, 1, 2, 7, 10**9, 10**400, 0.0, 0.5, -0.5, 1.0, 1.5, 1e-300, 1e300, np.nan, np.inf, -np.inf,
    fractions.Fraction(1, 3), decimal.Decimal(2), pd.NA, np.ma.masked, -(2**70),
    1j, "x", "", "auto", b"x", [], [1], [0, 1], [[1.0, 2.0]], (), {}, object(), np.array(3), np.float32(2), np.int8(2),
    np.array([np.nan]), lambda a, b: 0.0, int, np.datetime64("2020-01-01"),
]  # fmt: skip


@by_thirds
@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_parameters_of_clusterers(subject, third, tmp_path, monkeypatch):
    """Every value of a parameter gives a ValueError that names it, or a valid fit."""
    monkeypatch.chdir(tmp_path)  # a word may be the name of a checkpoint
    slow = (
        "n_init",
        "max_iter",
        "n_bootstraps",
        "n_partners",
        "n_landmarks",
        "n_jobs",
        "verbose",
        "random_state",
    )
    for number, name in enumerate(subject.parameters):
        for value in third_of(VALUES, number, third):
            ordinary = (
                type(value) in (int, float, np.int8, np.float32) and 0 < value < 10
            ) or isinstance(value, bool)
            accepted = subject.estimator._rules[name].test(value)
            if accepted and (ordinary or name in slow):
                continue
            message = refused_or_sensible(
                lambda name=name, value=value: quick_make(subject, **{name: value}).fit(
                    subject.data[:24]
                ),
                valid_masses,
            )
            if (
                message is not None
                and value is not None
                and type(value) in (complex, bytes, dict)
            ):
                assert name in message


# Constraints, and whether they are refused.
CONSTRAINTS = {
    "a list": ([(0, 1)], True),
    "too large": (Constraints([(0, 999)]), True),
    "of other objects": (Constraints([(0, 1)], n_objects=5), True),
    "contradictory": (Constraints([(0, 1)], [(0, 1)]), True),
    "text": ("constraints", True),
    "contradictory in a chain": (Constraints([(0, 1), (1, 2)], [(0, 2)]), False),
    "none": (Constraints(), False),
    "all alike": (Constraints([(i, i + 1) for i in range(29)]), None),
    "all apart": (Constraints([], [(i, j) for i in range(30) for j in range(i)]), None),
}


# the other metrics learn from labels alone
TAKING_CONSTRAINTS = [s.make() for s in TABLES if s.fit_takes("constraints")] + [
    quick(kind) for kind in (metric.PCCA, metric.KPCCA, metric.MMC, metric.DMLEig)
]


@pytest.mark.parametrize(
    "estimator", TAKING_CONSTRAINTS, ids=lambda e: type(e).__name__
)
def test_contradictory_constraints(estimator):
    """A pair with both links raises an error.

    An inconsistent chain gives a warning that shows the chain.
    """
    X = IRIS[:30, :2]
    with pytest.raises(ContradictionError, match="4 - 9"):
        estimator.fit(X, constraints=Constraints([(4, 9)], [(9, 4), (0, 1)]))
    chain = Constraints([(0, 3), (3, 7), (7, 12)], [(0, 12), (1, 2)])
    with pytest.warns(ContradictionWarning, match="0 - 3 - 7 - 12"):
        estimator.fit(X, constraints=chain)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ContradictionWarning)
        estimator.fit(X, constraints=Constraints([(0, 3)], [(0, 12), (1, 2)]))
    assert not [w for w in said if issubclass(w.category, ContradictionWarning)]


@pytest.mark.parametrize(
    "subject", [s for s in TABLES if s.fit_takes("constraints")], ids=str
)
@pytest.mark.parametrize("which", CONSTRAINTS)
def test_constraints(subject, which):
    constraints, is_refused = CONSTRAINTS[which]
    message = refused_or_sensible(
        lambda: subject.make().fit(subject.data[:30], constraints=constraints),
        valid_masses,
        "onstraint|link|object",
    )
    assert is_refused is None or (message is not None) == is_refused


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_unused_seeds_are_validated(subject):
    with pytest.raises(ValueError, match="random_state"):
        quick_make(subject, random_state=-1).fit(subject.data)


# ---- the same numbers, categories and missing cells in other forms -------------------------------


@by_thirds
@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_forms_of_tables(subject, third):
    if str(subject) == "CatECM":
        X = categories(SHIFTED[:, :2]).astype(float)
    else:
        X = SHIFTED
    model = quick_make(subject).fit(X)
    for name, form in third_of(FORMS.items(), SUBJECTS.index(subject), third):
        same = quick_make(subject).fit(form(X))
        np.testing.assert_allclose(answer(same), answer(model), atol=1e-9, err_msg=name)
        np.testing.assert_allclose(
            prediction(same, form(X)), prediction(model, X), atol=1e-9, err_msg=name
        )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", [EVCLUS, RECM, ECMdd, MECM])
def test_forms_of_dissimilarities(method, form):
    settings = {"metric": "precomputed", "random_state": 0, "n_init": 1, "max_iter": 10}
    model = method(3, **settings).fit(D)
    same = method(3, **settings).fit(FORMS[form](D))
    np.testing.assert_allclose(answer(same), answer(model), atol=1e-9)
    np.testing.assert_allclose(
        prediction(same, FORMS[form](D[:5])), prediction(model, D[:5]), atol=1e-9
    )


MISSING = {
    "objects with None": lambda X: np.where(np.isnan(X), None, X),
    "objects of pandas": lambda X: np.where(np.isnan(X), pd.NA, X),
    "a table of objects of pandas": lambda X: pd.DataFrame(
        np.where(np.isnan(X), pd.NA, X)
    ),
    "nullable numbers": lambda X: table(X).convert_dtypes(),
    "sparse columns": lambda X: table(X).astype(pd.SparseDtype(float, np.nan)),
}


@pytest.mark.parametrize("form", MISSING)
@pytest.mark.parametrize("method", [ECM, CCM, ECMdd, RECM, EVCLUS])
def test_forms_of_missing_values(method, form):
    X = np.where(np.random.default_rng(0).random(SHIFTED.shape) < 0.1, np.nan, SHIFTED)
    X[:, 0] = SHIFTED[:, 0]
    settings = {"missing": "partial", "random_state": 0, "n_init": 1, "max_iter": 10}
    model = method(3, **settings).fit(X)
    same = method(3, **settings).fit(MISSING[form](X))
    np.testing.assert_allclose(answer(same), answer(model), atol=1e-9)
    with pytest.raises(ValueError, match=r"\bX\b.*missing"):
        method(3).fit(MISSING[form](X))


WORDS = np.array(["ape", "bee", "cat", "dog"])


CATEGORIES = {
    "objects": lambda words: words.astype(object),
    "categories": lambda words: pd.DataFrame(words).astype("category"),
    "more categories, in another order": lambda words: pd.DataFrame(words).astype(
        pd.CategoricalDtype(["zebra", *WORDS[::-1]], ordered=True)
    ),
    "text of pandas": lambda words: pd.DataFrame(words).astype("string"),
    "text of Arrow": lambda words: pd.DataFrame(words).astype("string[pyarrow]"),
    "polars": lambda words: pl.DataFrame(words).cast(pl.Categorical),
}


@pytest.mark.parametrize("form", CATEGORIES)
def test_forms_of_categories(form):
    words = WORDS[categories(SHIFTED[:, :2])]
    for make in (
        lambda: CatECM(2, random_state=0),
        lambda: MECM(2, metric="gower", random_state=0),
    ):
        np.testing.assert_array_equal(
            answer(make().fit(CATEGORIES[form](words))), answer(make().fit(words))
        )


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia"])
@pytest.mark.parametrize("kind", [sparse.coo_array, sparse.coo_matrix])
def test_padding_of_sparse_formats_is_ignored(form, kind):
    known = np.triu(np.random.default_rng(0).random(D.shape) < 0.5, 1)
    some = np.where(known | known.T, D, 0)
    settings = {"metric": "precomputed", "random_state": 0}
    expected = answer(EVCLUS(3, **settings).fit(sparse.csr_array(some)))
    np.testing.assert_allclose(
        answer(EVCLUS(3, **settings).fit(kind(some).asformat(form))),
        expected,
        atol=1e-9,
    )


def test_memory_order_of_initial_masses():
    masses = np.random.default_rng(0).dirichlet(np.ones(8), len(SHIFTED))
    settings = {"focal_sets": "pairs", "n_init": 1, "random_state": 0}
    starts = masses, np.asfortranarray(masses), table(masses)
    first, *others = (
        answer(EVCLUS(3, init=start, **settings).fit(SHIFTED)) for start in starts
    )
    for other in others:
        np.testing.assert_array_equal(other, first)


def test_column_names_that_are_numbers_as_text():
    """A file whose first column contains the names of the rows has such column names."""
    read = pd.DataFrame(
        D, index=pd.Index(np.arange(50)), columns=[str(k) for k in range(50)]
    )
    settings = {"metric": "precomputed", "random_state": 0}
    expected = answer(ECMdd(3, **settings).fit(D))
    for given in (read, read.iloc[:, ::-1]):
        np.testing.assert_array_equal(answer(ECMdd(3, **settings).fit(given)), expected)
    with pytest.raises(ValueError, match=r"\bX\b.*names"):
        ECMdd(3, **settings).fit(read.rename(columns={"7": "seven"}))


def test_missing_names_are_equal_in_several_tables():
    views = [
        pd.DataFrame(SHIFTED[:, k : k + 2], index=[np.nan] * 50, columns=["a", "b"])
        for k in (0, 2)
    ]
    expected = answer(
        WMVEC(3, random_state=0, n_init=1).fit([view.to_numpy() for view in views])
    )
    np.testing.assert_array_equal(
        answer(WMVEC(3, random_state=0, n_init=1).fit(views)), expected
    )


def test_weights_of_pixels():
    with pytest.raises(ValueError, match="sample_weight"):
        SECM(2).fit(SHIFTED, sample_weight=[[1]] * 49 + [[1, 2]])


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("method", [ECM, EVCLUS, EGMM])
def test_a_column_that_decides_alone_is_reported_once(method):
    X = np.random.default_rng(0).normal(size=(60, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        method(2, random_state=0).fit(X * [1, 5, 20])
    with pytest.warns(
        UserWarning, match=r"to .* \(column 2\), .* standardize X"
    ) as found:
        method(2, random_state=0).fit(X * [1, 5, 20_000])
    assert len(found) == 1


# ---- tables of other libraries, other arguments, impossible constraints --------------------------


def foreign(module, name):
    """Return an object that pretends to be of another library."""
    return type(name, (), {"__module__": module, "shape": (3, 2)})()


@pytest.mark.parametrize(
    ("module", "name", "advice"),
    [
        ("xarray.core.dataset", "Dataset", "X.to_dataframe()"),
        ("_duckdb", "DuckDBPyRelation", "X.df()"),
        ("anndata._core.anndata", "AnnData", "dempster.integrations.anndata.cluster"),
    ],
)
@pytest.mark.parametrize("kind", [ECM, EVCLUS, CredalClustering])
def test_tables_of_other_libraries(kind, module, name, advice):
    with pytest.raises(InvalidInputError, match=re.escape(advice)):
        kind(2).fit(foreign(module, name))


def test_text_files(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(
        InvalidInputError, match=r"read_table or pandas \(pd.read_csv\)"
    ):
        ECM(2).fit(tmp_path / "x.csv")


@pytest.mark.parametrize("kind", [ECM, ECMdd])
def test_unknown_arguments_of_fit(kind):
    X = np.eye(4)
    for fit in (kind(2).fit, kind(2).fit_predict):
        with pytest.raises(TypeError, match=rf"{kind.__name__}\.fit.*EVCLUS.*CECM"):
            fit(X, constraints=None)
    with pytest.raises(TypeError, match=rf"{kind.__name__}\.fit.*'weight'"):
        kind(2).fit(X, weight=None)
    assert list(inspect.signature(kind.fit).parameters)[:3] == ["self", "X", "y"]


@pytest.mark.parametrize("kind", [EVCLUS, CECM])
def test_more_objects_apart_than_clusters(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 2)), index=[f"r{i}" for i in range(40)])
    apart = Constraints(cannot_link=[*combinations([3, 9, 20, 31], 2), (0, 1), (1, 2)])
    with pytest.warns(
        ContradictionWarning, match="'r3', 'r9', 'r20', 'r31'.*n_clusters=3"
    ):
        kind(3, random_state=0).fit(X, constraints=apart)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ContradictionWarning)
        kind(4, random_state=0).fit(X, constraints=apart)
        cycle = Constraints(cannot_link=[(i, (i + 1) % 8) for i in range(8)])
        kind(3, random_state=0).fit(X, constraints=cycle)
