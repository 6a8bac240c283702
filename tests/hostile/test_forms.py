"""The same numbers in unusual forms give the same answer everywhere; forms that hold no numbers are refused by name."""

import decimal
import fractions
import inspect

import dask.array as da
import dask.bag
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris

from dempster import classify, metric
from dempster.cluster import CCM, CECM, ECM, EVCLUS, MECM, NNEVCLUS, RECM, SECM, WMVEC, CatECM, ECMdd
from dempster.dissimilarity.gower import GowerEncoder, gower_matrix
from dempster.explain import CautiousTree, explain_object, profile, stability
from dempster.mixture import ParsimoniousGaussianMixture
from dempster.model_selection import n_clusters_curve
from dempster.partition import CredalPartition
from tests.cluster.contract import SUBJECTS, answer, categories, prediction
from tests.hostile.limits import by_thirds, third_of
from tests.hostile.test_estimators import CLASSIFIERS, LEARNERS, quick, quick_make

pytestmark = pytest.mark.filterwarnings("ignore")

IRIS, Y = load_iris(return_X_y=True)
IRIS, Y = IRIS[::3] - 2.0, Y[::3]  # no tie is broken by rounding, and some cells are zero
D = np.abs(IRIS[:, None] - IRIS).sum(axis=2)


def askew(X):
    """The same numbers, a byte beside the places where they should begin."""
    return np.frombuffer(b"x" + X.tobytes(), dtype=np.uint8)[1:].view(X.dtype).reshape(X.shape)


def table(X):
    return pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])


class Picture:
    """Numbers that NumPy reads, without a shape of their own, as pictures of PIL are."""

    def __init__(self, X):
        self.kept, self.__array_interface__ = X, X.__array_interface__


FORMS = {
    "askew in memory": askew,
    "numbers of a picture": lambda X: Picture(np.ascontiguousarray(X)),
    "sparse columns": lambda X: table(X).astype(pd.SparseDtype(float, 0.0)),
    "one sparse column": lambda X: table(X).astype({"c0": pd.SparseDtype(float, 0.0)}),
    "sparse columns, NaN left out": lambda X: table(X).astype(pd.SparseDtype(float, np.nan)),
    "bytes in another order": lambda X: table(X.astype(">f8")),
    "a tensor that is learnt": lambda X: torch.tensor(X, requires_grad=True),
    "a tensor of signs to be turned": lambda X: torch.tensor(X * -1j).conj().imag,
}

OTHERS = [*CLASSIFIERS, *LEARNERS, ParsimoniousGaussianMixture]


@by_thirds
@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_clusterers_read_every_form(subject, third):
    X = categories(IRIS[:, :2]).astype(float) if str(subject) == "CatECM" else IRIS
    model = quick_make(subject).fit(X)
    for name, form in third_of(FORMS.items(), SUBJECTS.index(subject), third):
        same = quick_make(subject).fit(form(X))
        np.testing.assert_allclose(answer(same), answer(model), atol=1e-9, err_msg=name)
        np.testing.assert_allclose(prediction(same, form(X)), prediction(model, X), atol=1e-9, err_msg=name)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", [EVCLUS, RECM, ECMdd, MECM])
def test_dissimilarities_are_read_in_every_form(method, form):
    settings = {"metric": "precomputed", "random_state": 0, "n_init": 1, "max_iter": 10}
    model, same = method(3, **settings).fit(D), method(3, **settings).fit(FORMS[form](D))
    np.testing.assert_allclose(answer(same), answer(model), atol=1e-9)
    np.testing.assert_allclose(prediction(same, FORMS[form](D[:5])), prediction(model, D[:5]), atol=1e-9)


@by_thirds
@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.__name__)
def test_other_estimators_read_every_form(kind, third):
    def said(X):
        model = quick(kind).set_params(**({"n_components": 2} if "n_components" in vars(quick(kind)) else {}))
        return (model.fit(X, Y).transform if hasattr(kind, "transform") else model.fit(X, Y).predict_proba)(X)

    expected = said(IRIS)
    for name, form in third_of(FORMS.items(), OTHERS.index(kind), third):
        np.testing.assert_allclose(said(form(IRIS)), expected, atol=1e-7, err_msg=name)


@pytest.mark.parametrize("form", FORMS)
def test_explanations_read_every_form(form):
    partition = CredalPartition.from_hard(Y)
    tree, same = CautiousTree().fit(IRIS, partition), CautiousTree().fit(FORMS[form](IRIS), partition)
    np.testing.assert_array_equal(same.predict(FORMS[form](IRIS)), tree.predict(IRIS))
    assert len(profile(partition, FORMS[form](IRIS)).to_frame()) == len(profile(partition, IRIS).to_frame())


NO_NUMBERS = {
    "nested": lambda X: torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
    "of small integers with a scale": lambda X: torch.quantize_per_tensor(torch.tensor(X).float(), 0.1, 0, torch.qint8),
    "without numbers": lambda X: torch.tensor(X, device="meta"),
    "sparse": lambda X: torch.tensor(X).to_sparse(),
}


@pytest.mark.parametrize("form", NO_NUMBERS)
@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_tensors_without_a_number_in_each_place(subject, form):
    with pytest.raises((TypeError, ValueError), match=r"\bX must (be a dense tensor|hold)"):
        quick_make(subject).fit(NO_NUMBERS[form](IRIS))
    if subject.fit_takes("sample_weight"):
        with pytest.raises((TypeError, ValueError), match=r"sample_weight must (be a dense tensor|hold)"):
            quick_make(subject).fit(subject.data, sample_weight=NO_NUMBERS[form](np.ones(subject.data.shape[0])))


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.__name__)
def test_tensors_without_numbers_in_other_estimators(kind):
    for make in NO_NUMBERS.values():
        with pytest.raises((TypeError, ValueError), match=r"\bX must (be a dense tensor|hold)"):
            quick(kind).fit(make(IRIS), Y)


MISSING = {
    "objects with None": lambda X: np.where(np.isnan(X), None, X),
    "objects of pandas": lambda X: np.where(np.isnan(X), pd.NA, X),
    "a table of objects of pandas": lambda X: pd.DataFrame(np.where(np.isnan(X), pd.NA, X)),
    "nullable numbers": lambda X: table(X).convert_dtypes(),
    "sparse columns": lambda X: table(X).astype(pd.SparseDtype(float, np.nan)),
}


@pytest.mark.parametrize("form", MISSING)
@pytest.mark.parametrize("method", [ECM, CCM, ECMdd, RECM, EVCLUS])
def test_missing_cells_are_missing_in_every_form(method, form):
    X = np.where(np.random.default_rng(0).random(IRIS.shape) < 0.1, np.nan, IRIS)
    X[:, 0] = IRIS[:, 0]
    settings = {"missing": "partial", "random_state": 0, "n_init": 1, "max_iter": 10}
    model, same = method(3, **settings).fit(X), method(3, **settings).fit(MISSING[form](X))
    np.testing.assert_allclose(answer(same), answer(model), atol=1e-9)
    with pytest.raises(ValueError, match="X has [0-9]+ missing values"):
        method(3).fit(MISSING[form](X))


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 1 has no text of any length")
def test_text_of_any_length_is_text():
    words = np.array(["ape", "bee", "cat", "dog"])[categories(IRIS[:, :2])]
    other = words.astype(np.dtypes.StringDType())
    for make in (lambda: CatECM(2, random_state=0), lambda: ECMdd(2, metric="gower", random_state=0)):
        np.testing.assert_array_equal(answer(make().fit(other)), answer(make().fit(words)))
    labels = np.array(["ape", "bee", "cat"])[Y]
    same = labels.astype(np.dtypes.StringDType())
    for kind in CLASSIFIERS:
        assert quick(kind).fit(IRIS, same).score(IRIS, same) == quick(kind).fit(IRIS, labels).score(IRIS, labels)
    assert len(profile(CredalPartition.from_hard(Y), other).to_frame()) > 0


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
def test_the_same_categories_in_every_form(form):
    words = WORDS[categories(IRIS[:, :2])]
    for make in (lambda: CatECM(2, random_state=0), lambda: MECM(2, metric="gower", random_state=0)):
        np.testing.assert_array_equal(answer(make().fit(CATEGORIES[form](words))), answer(make().fit(words)))


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("kind", [sparse.coo_array, sparse.coo_matrix])
def test_zeros_that_fill_up_a_sparse_format_are_no_dissimilarities(form, kind):
    known = np.triu(np.random.default_rng(0).random(D.shape) < 0.5, 1)
    some = np.where(known | known.T, D, 0)
    settings = {"metric": "precomputed", "random_state": 0}
    expected = answer(EVCLUS(3, **settings).fit(sparse.csr_array(some)))
    np.testing.assert_allclose(answer(EVCLUS(3, **settings).fit(kind(some).asformat(form))), expected, atol=1e-9)


def test_masses_to_start_from_in_any_order_of_memory():
    masses = np.random.default_rng(0).dirichlet(np.ones(8), len(IRIS))
    settings = {"focal_sets": "pairs", "n_init": 1, "random_state": 0}
    starts = masses, np.asfortranarray(masses), table(masses)
    first, *others = (answer(EVCLUS(3, init=start, **settings).fit(IRIS)) for start in starts)
    for other in others:
        np.testing.assert_array_equal(other, first)


def test_columns_of_dissimilarities_may_be_called_by_the_text_of_a_number():
    """As a file gives them back, whose first column became the names of the rows."""
    read = pd.DataFrame(D, index=pd.Index(np.arange(50)), columns=[str(k) for k in range(50)])
    settings = {"metric": "precomputed", "random_state": 0}
    expected = answer(ECMdd(3, **settings).fit(D))
    for given in (read, read.iloc[:, ::-1]):
        np.testing.assert_array_equal(answer(ECMdd(3, **settings).fit(given)), expected)
    with pytest.raises(ValueError, match="X must have the same names in its columns"):
        ECMdd(3, **settings).fit(read.rename(columns={"7": "seven"}))


def test_names_that_are_missing_are_the_same_in_several_tables():
    views = [pd.DataFrame(IRIS[:, k : k + 2], index=[np.nan] * 50, columns=["a", "b"]) for k in (0, 2)]
    expected = answer(WMVEC(3, random_state=0, n_init=1).fit([view.to_numpy() for view in views]))
    np.testing.assert_array_equal(answer(WMVEC(3, random_state=0, n_init=1).fit(views)), expected)


NUMBERS = {
    "objects": lambda v: v.astype(object),
    "decimals": lambda v: v.map(lambda x: None if np.isnan(x) else decimal.Decimal(x)),
    "fractions": lambda v: v.map(lambda x: None if np.isnan(x) else fractions.Fraction(x)).astype(object),
    "beside None": lambda v: v.astype(object).where(v.notna(), None),
}


@pytest.mark.parametrize("form", NUMBERS)
def test_columns_of_objects_that_are_numbers_are_numeric(form):
    mixed = pd.DataFrame({"a": [1.5, 2.0, np.nan, 4.0, 8.0], "b": list("xyxyx"), "c": [True, False, None, True, None]})
    same = mixed.assign(a=NUMBERS[form](mixed["a"]))
    assert same["a"].dtype == object
    np.testing.assert_allclose(gower_matrix(same), gower_matrix(mixed))
    partition = CredalPartition.from_hard([0, 0, 1, 1, 1])
    assert profile(partition, same[["a"]]).to_text() == profile(partition, mixed[["a"]]).to_text()


def test_categories_of_large_numbers_stay_apart():
    """Objects are measured as numbers, but told apart as they are."""
    names = pd.DataFrame({"id": np.array([2**60, 2**60 + 1, None], dtype=object)})
    assert list(GowerEncoder(categorical=["id"]).fit(names).categories_[0]) == [2**60, 2**60 + 1]


def test_weights_that_leave_too_few_objects_are_said():
    alone = np.zeros(len(IRIS))
    alone[7] = 1
    for method in (ECM, CCM, ECMdd, MECM, RECM, WMVEC):
        with pytest.raises(ValueError, match="1 different objects of X whose sample_weight is not zero"):
            method(3, n_init=1).fit(IRIS, sample_weight=alone)
    with pytest.raises(ValueError, match="sample_weight"):
        ParsimoniousGaussianMixture(2, model="EII").fit(IRIS, sample_weight=alone)
    with pytest.raises(ValueError, match="sample_weight"):
        SECM(2).fit(IRIS, sample_weight=[[1]] * 49 + [[1, 2]])


@pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)
def test_a_column_of_labels_is_scored_as_it_is_learnt(kind):
    model, column = quick(kind).fit(IRIS, Y[:, None]), pd.DataFrame({"class": Y})
    assert model.score(IRIS, column) == model.score(IRIS, Y[:, None]) == model.score(IRIS, Y)


REFUSED = {
    "a function of an argument": (
        lambda: ECM(3).fit(lambda rows: IRIS),
        r"X is a function that must be called without",
    ),
    "a Dask column": (
        lambda: ECM(3).fit(dd.from_pandas(pd.Series(IRIS[:, 0]), npartitions=2)),
        "X must be an array or",
    ),
    "a Dask bag": (lambda: ECM(3).fit(dask.bag.from_sequence([1, 2])), "X must be an array or a DataFrame"),
    "a table of Arrow, by a method that needs all objects": (
        lambda: CECM(3).fit(pa.table({"a": IRIS[:, 0]})),
        "CECM needs all objects in memory, but X comes in blocks .Table.: give an array",
    ),
    "a Dask column elsewhere": (lambda: metric.FDA().fit(da.zeros(9), Y[:9]), r"\bX\b"),
    "a Dask table of text": (
        lambda: classify.EKNNClassifier(1).fit(dd.from_pandas(pd.DataFrame({"a": list("uvw")}), npartitions=1), Y[:3]),
        "X must hold real numbers",
    ),
    "one axis for Gower": (lambda: ECMdd(3, metric="gower").fit(IRIS[:, 0]), r"\bX must be a table"),
    "no rows for Gower": (
        lambda: ECMdd(3, metric="gower", n_init=1).fit(IRIS).predict(table(IRIS).iloc[:0]),
        r"X has 0 sample",
    ),
    "a table as a metric": (lambda: NNEVCLUS(3, metric=table(IRIS)).fit(IRIS), "metric must be"),
    "a class to refit": (lambda: stability(KMeans, IRIS), "estimator must be a clusterer"),
    "a class for a curve": (lambda: n_clusters_curve(ECM, IRIS), "estimator must be a clusterer"),
    "a class to explain": (lambda: explain_object(ECM, IRIS, 0), "estimator must be a fitted clusterer"),
    "names twice among categories": (
        lambda: CatECM(2).fit(pd.DataFrame(categories(IRIS[:, :2]), columns=list("aab"))),
        r"\bX\b|column",
    ),
    "complex classes": (
        lambda: classify.ContextualDiscounting().fit(CredalPartition.from_hard(Y), Y.astype(complex)),
        r"\by must",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_in_words(case):
    call, words = REFUSED[case]
    with pytest.raises((TypeError, ValueError), match=words):
        call()


@pytest.mark.parametrize("kind", [metric.FDA, metric.LFDA, metric.MMC, metric.DMLEig])
def test_attributes_times_themselves_must_fit_in_memory(kind):
    wide = np.random.default_rng(0).random((6, 40_000))
    assert "n_components" in inspect.signature(kind).parameters
    with pytest.raises(ValueError, match="40,000 attributes times themselves would take .* GB of memory; take fewer"):
        kind().fit(wide, [0, 1, 0, 1, 0, 1])
