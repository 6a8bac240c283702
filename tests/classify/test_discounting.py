"""Contextual discounting."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import lsq_linear, minimize_scalar
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from dempster import FocalSets, MassFunctions
from dempster._errors import InvalidInputError
from dempster.classify import ContextualDiscounting, EKNNClassifier
from tests.strategies import random_masses


@pytest.fixture(scope="module")
def source():
    """Return mass functions on three classes that confuse half of the objects of b with c."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 200)
    predicted = np.where((y == 1) & (rng.random(200) < 0.5), 2, y)
    family = FocalSets.full(3, empty=False)
    masses = 0.3 * random_masses(rng, 200, len(family))
    masses[np.arange(200), family.singleton_index[predicted]] += 0.7
    return MassFunctions(masses, family, frame="abc"), np.array(list("abc"))[y]


@pytest.mark.parametrize(
    "contexts", ["classes", "frame", ["a", ("b", "c")], [("a", "c")]]
)
def test_rates_solve_bounded_least_squares(source, contexts):
    m, y = source
    weights = np.random.default_rng(1).random(200)
    model = ContextualDiscounting(contexts).fit(m, y, weights)
    truth = (y[:, None] == np.array(list("abc"))).astype(float)
    root = np.sqrt(weights)[:, None]
    for context, rate in zip(model.contexts_, model.rates_, strict=True):
        k = ["abc".index(name) for name in context]
        A = ((1 - m.contour[:, k]) * root).ravel()[:, None]
        expected = lsq_linear(A, ((1 - truth[:, k]) * root).ravel(), bounds=(0, 1)).x[0]
        assert rate == pytest.approx(1 - expected, abs=1e-6)
    error = ((model.transform(m).contour - truth) ** 2).sum(axis=1)
    assert model.objective_ == pytest.approx(weights @ error / weights.sum())


def test_one_rate_is_classical_discounting(source):
    m, y = source
    truth = (y[:, None] == np.array(list("abc"))).astype(float)
    best = minimize_scalar(
        lambda r: ((m.discount(r).contour - truth) ** 2).sum(),
        bounds=(0, 1),
        method="bounded",
    )
    model = ContextualDiscounting("frame").fit(m, y)
    assert model.rates_ == pytest.approx([best.x], abs=1e-4)


def test_rates(source):
    m, y = source
    by_class = ContextualDiscounting().fit(m, y)
    plain = ContextualDiscounting("frame").fit(m, y)
    assert by_class.rates_.argmax() == 1
    assert by_class.objective_ < plain.objective_
    assert by_class.contexts_ == [("a",), ("b",), ("c",)]
    assert by_class.classes_.tolist() == ["a", "b", "c"]
    sure = MassFunctions.from_dict([{"a": 1}, {"b": 1}], frame="ab")
    assert ContextualDiscounting().fit(sure, ["a", "b"]).rates_.tolist() == [0, 0]
    nothing = MassFunctions.from_dict([{("a", "b"): 1}] * 2, frame="ab")
    assert ContextualDiscounting().fit(nothing, ["a", "b"]).rates_.tolist() == [0, 0]


def test_with_a_classifier():
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    source = EKNNClassifier(5).fit(X[::2, :1], y[::2])
    model = ContextualDiscounting().fit(source.predict_mass(X[1::2, :1]), y[1::2])
    assert (model.rates_ > 0).any()
    assert clone(model).get_params() == {"contexts": "classes"}
    assert model.fit_transform(source.predict_mass(X[:, :1]), y).frame == (0, 1, 2)


def test_labels_are_aligned_by_name():
    m = MassFunctions.from_dict([{"a": 1}, {"b": 1}], frame="ab", index=["x", "y"])
    y = pd.Series(["b", "a"], index=["y", "x"])
    assert ContextualDiscounting().fit(m, y).rates_.tolist() == [0, 0]
    assert ContextualDiscounting().fit(m, ["b", "a"]).rates_.tolist() == [1, 1]


def test_invalid_input(source):
    m, y = source
    with pytest.raises(NotFittedError):
        ContextualDiscounting().transform(m)
    model = ContextualDiscounting().fit(m, y)
    for build, match in [
        (lambda: model.fit(m.masses, y), r"^masses\b"),
        (lambda: model.fit(m, y[:-1]), r"^y\b"),
        (lambda: model.fit(m, np.where(y == "a", "z", y)), r"^y\b"),
        (lambda: ContextualDiscounting("all").fit(m, y), r"^contexts\b"),
        (lambda: ContextualDiscounting([("a", "b"), "b"]).fit(m, y), r"^contexts\b"),
        (lambda: ContextualDiscounting([]).fit(m, y), r"^contexts\b"),
        (
            lambda: model.transform(MassFunctions.from_dict({"a": 1}, frame="ab")),
            r"^masses\b",
        ),
        (lambda: model.fit(m, y, sample_weight=np.zeros(200)), r"^sample_weight\b"),
    ]:
        with pytest.raises((ValueError, TypeError), match=match):
            build()
    assert model.rates_.shape == (3,)


@pytest.mark.parametrize("mark", [None, np.nan, -1])
def test_unlabelled_objects_are_left_out(mark):
    frame = ["plane", "rocket"]
    reports = [{"plane": 1}, {"plane": 1}, {"plane": 1}, {"rocket": 1}, {"rocket": 1}]
    radar = MassFunctions.from_dict(reports, frame=frame)
    truth = ["plane", "plane", "rocket", "rocket", mark]
    weights = [1, 2, 3, 4, 5]
    model = ContextualDiscounting().fit(radar, truth, weights)
    alone = ContextualDiscounting().fit(radar[:4], truth[:4], weights[:4])
    np.testing.assert_array_equal(model.rates_, alone.rates_)
    assert model.objective_ == alone.objective_
    with pytest.raises(InvalidInputError, match="non-zero weight of a labelled object"):
        ContextualDiscounting().fit(radar, truth, [0, 0, 0, 0, 5])


def test_minus_one_is_a_class_of_the_frame():
    masses = MassFunctions.from_dict([{-1: 1}, {1: 1}, {1: 1}], frame=[-1, 0, 1])
    rates = ContextualDiscounting("frame").fit(masses, [-1, 0, 1]).rates_
    assert rates > 0
