"""Unusual inputs and labels: estimators raise an error that names the argument, or give a valid result."""

import decimal
import fractions
import inspect
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from dempster import CredalPartition, metric
from dempster.classify import ConformalClassifier
from dempster.explain import CautiousTree, profile
from dempster.mixture import LatentClassModel, ParsimoniousGaussianMixture
from tests.inputs import (
    CLASSIFIERS,
    FORMS,
    HIDDEN,
    IRIS,
    LEARNERS,
    OBJECTS,
    SHIFTED,
    Y,
    fitted_encoder,
    gower_matrix,
    quick,
)
from tests.limits import by_thirds, refused_or_sensible, third_of

pytestmark = pytest.mark.filterwarnings("ignore")

OTHERS = [*CLASSIFIERS, *LEARNERS, ParsimoniousGaussianMixture, LatentClassModel]


UNREADABLE = (
    "NaN",
    "infinity",
    "text in a cell",
    "one dimension",
    "empty",
    "nothing",
    "ragged",
)


def labels_for(X):
    sized = hasattr(X, "__len__") and not sparse.issparse(X)
    if sized:
        n = len(X)
    elif hasattr(X, "shape") and X.shape:
        n = X.shape[0]
    else:
        n = 5
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
        assert message is None or re.search(
            r"\b[Xy]\b|n_neighbors|n_prototypes", message
        ), f"{name}: {message}"
        assert message is not None or name not in (*HIDDEN, *UNREADABLE), name


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
        refused_or_sensible(
            lambda X=X: ParsimoniousGaussianMixture(2, model="EII").fit(X), valid
        )
        refused_or_sensible(lambda X=X: LatentClassModel([1, 2]).fit(X), valid)


def with_label(label):
    y = Y.astype(object)
    y[4] = label
    return y


WRONG_LABELS = {
    "masked": np.ma.masked_array(Y, Y == 1),
    "NA": with_label(pd.NA),
    "None": with_label(None),
    "ragged": [[1], [2, 3]],
    "complex": Y.astype(complex),
    "an object": object(),
    "one class": np.zeros(len(Y), dtype=int),
    "too few": Y[:-1],
    "too many": [*Y, 0],
    "text and numbers": np.array(["a", 1, 2.5], dtype=object)[Y],
    "measurements": Y + 0.5,
    "beyond 64 bits": Y.astype(object) + 2**70,
    "objects": [object()] * len(Y),
    "empty": [],
    "a word": "label",
}


@pytest.mark.parametrize(
    "kind", [*CLASSIFIERS, *LEARNERS], ids=lambda kind: kind.__name__
)
def test_invalid_labels(kind):
    for name, y in WRONG_LABELS.items():
        if kind in CLASSIFIERS and name in ("NA", "None"):
            continue  # unlabelled objects
        message = refused_or_sensible(
            lambda y=y: quick(kind).fit(IRIS, y), lambda _: None, r"\by\b"
        )
        assert message is not None, name


@pytest.mark.parametrize(
    "kind", [*CLASSIFIERS, *LEARNERS], ids=lambda kind: kind.__name__
)
def test_labels_are_matched_by_index(kind):
    table = pd.DataFrame(
        IRIS, index=[f"flower {i}" for i in range(len(IRIS))], columns=list("abcd")
    )
    y = pd.Series(Y, index=table.index)

    def result_of(labels):
        model = quick(kind).fit(table, labels)
        if hasattr(model, "transform"):
            return model.transform(table)
        return model.predict_proba(table)

    np.testing.assert_array_equal(result_of(y), result_of(y[::-1]))


DECISIONS = {
    "rule": ["magic", None, 3, [], IRIS],
    "optimism": ["x", 1j, None, {}, -1, 2.0, np.nan, object(), pd.NA],
    "reject_label": [[], {}, IRIS],
}


@pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)
def test_decisions_validate_unused_arguments(kind):
    """Arguments that the rule does not use are also validated."""
    model = quick(kind).fit(IRIS, Y)
    for argument, values in DECISIONS.items():
        for value in values:
            with pytest.raises((ValueError, TypeError), match=argument):
                model.decide(IRIS, **{argument: value})


@by_thirds
@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.__name__)
def test_estimators_accept_every_representation(kind, third):
    def result_of(X):
        model = quick(kind).set_params(
            **({"n_components": 2} if "n_components" in vars(quick(kind)) else {})
        )
        return (
            model.fit(X, Y).transform
            if hasattr(kind, "transform")
            else model.fit(X, Y).predict_proba
        )(X)

    expected = result_of(SHIFTED)
    forms = FORMS.items()
    # It divides tables by rows, which pandas refuses for this representation.
    if kind is ConformalClassifier:
        forms = [
            (name, form) for name, form in forms if name != "bytes in another order"
        ]
    for name, form in third_of(forms, OTHERS.index(kind), third):
        np.testing.assert_allclose(
            result_of(form(SHIFTED)), expected, atol=1e-7, err_msg=name
        )


@pytest.mark.parametrize("form", FORMS)
def test_explanations_accept_every_representation(form):
    partition = CredalPartition.from_hard(Y)
    tree = CautiousTree().fit(SHIFTED, partition)
    same = CautiousTree().fit(FORMS[form](SHIFTED), partition)
    np.testing.assert_array_equal(
        same.predict(FORMS[form](SHIFTED)), tree.predict(SHIFTED)
    )
    assert len(profile(partition, FORMS[form](SHIFTED)).to_frame()) == len(
        profile(partition, SHIFTED).to_frame()
    )


NUMBERS = {
    "objects": lambda v: v.astype(object),
    "decimals": lambda v: v.map(lambda x: None if np.isnan(x) else decimal.Decimal(x)),
    "fractions": lambda v: v.map(
        lambda x: None if np.isnan(x) else fractions.Fraction(x)
    ).astype(object),
    "beside None": lambda v: v.astype(object).where(v.notna(), None),
}


@pytest.mark.parametrize("form", NUMBERS)
def test_object_columns_of_numbers_are_numeric(form):
    mixed = pd.DataFrame(
        {
            "a": [1.5, 2.0, np.nan, 4.0, 8.0],
            "b": list("xyxyx"),
            "c": [True, False, None, True, None],
        }
    )
    same = mixed.assign(a=NUMBERS[form](mixed["a"]))
    assert same["a"].dtype == object
    np.testing.assert_allclose(gower_matrix(same), gower_matrix(mixed))
    partition = CredalPartition.from_hard([0, 0, 1, 1, 1])
    assert (
        profile(partition, same[["a"]]).to_text()
        == profile(partition, mixed[["a"]]).to_text()
    )


def test_categories_of_large_numbers_are_distinct():
    """Objects are measured as numbers, but compared as they are."""
    names = pd.DataFrame({"id": np.array([2**60, 2**60 + 1, None], dtype=object)})
    assert list(fitted_encoder(names, all_categorical=True).categories_[0]) == [
        2**60,
        2**60 + 1,
    ]


@pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)
def test_score_accepts_a_column_of_labels(kind):
    if not callable(quick(kind).score):
        pytest.skip("a parameter of the classifier has the name score")
    model = quick(kind).fit(SHIFTED, Y[:, None])
    column = pd.DataFrame({"class": Y})
    assert (
        model.score(SHIFTED, column)
        == model.score(SHIFTED, Y[:, None])
        == model.score(SHIFTED, Y)
    )


@pytest.mark.parametrize("kind", [metric.FDA, metric.LFDA, metric.MMC, metric.DMLEig])
def test_too_many_attributes_for_a_square_matrix(kind):
    wide = np.random.default_rng(0).random((6, 40_000))
    assert "n_components" in inspect.signature(kind).parameters
    with pytest.raises(ValueError, match="40,000.*memory"):
        kind().fit(wide, [0, 1, 0, 1, 0, 1])
