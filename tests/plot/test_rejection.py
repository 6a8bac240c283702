"""Rejection curves and displays of classifiers."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from dempster.classify import EKNNClassifier, EvidenceFromClassifier
from dempster.plot import MassContourDisplay, RejectionCurve, RejectionCurveDisplay


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    return X[::2, 2:], names[::2], X[1::2, 2:], names[1::2]


def test_curve():
    # Objects of equal loss are rejected together.
    curve = RejectionCurve.from_losses([False, True, False, True], [0.1, 0.2, 0.2, 0.6])
    assert curve.rejection_rate.tolist() == [0, 0.25, 0.75]
    np.testing.assert_allclose(curve.error, [0.5, 1 / 3, 0])
    assert curve.threshold.tolist() == [0.6, 0.2, 0.1]
    assert curve.area == pytest.approx(0.25 * 0.5 + 0.5 / 3)
    assert [
        curve.error_at(rate) for rate in (0, 0.2, 0.25, 0.3, 0.9, 1)
    ] == pytest.approx([0.5, 1 / 3, 1 / 3, 0, 0, 0])


def test_curve_matches_the_decisions(iris):
    X, y, X_test, y_test = iris
    model = EKNNClassifier(9).fit(X, y)
    display = RejectionCurveDisplay.from_estimator(model, X_test, y_test)
    curve = display.curves["EKNNClassifier"]
    assert curve.error[0] == pytest.approx(1 - model.score(X_test, y_test))
    for threshold, rate, error in zip(
        curve.threshold, curve.rejection_rate, curve.error, strict=True
    ):
        decided = model.decide(X_test, "pignistic", reject=threshold + 5e-13)
        kept = decided != -1
        assert 1 - kept.mean() == pytest.approx(rate)
        assert (decided[kept] != y_test[kept]).mean() == pytest.approx(error)


def test_rejection_reduces_the_error(shared_data):
    X, y = shared_data("vehicles", standardise=True)
    model = EKNNClassifier(10).fit(X[:564], y[:564])
    curve = RejectionCurveDisplay.from_estimator(model, X[564:], y[564:]).curves[
        "EKNNClassifier"
    ]
    assert curve.error_at(0.3) < 0.7 * curve.error_at(0)
    assert curve.area < 0.6 * curve.error_at(0)


def test_several_classifiers(iris):
    X, y, X_test, y_test = iris
    models = {
        "EK-NN": EKNNClassifier(9).fit(X, y),
        "evidence": EvidenceFromClassifier().fit(X, y),
        "logistic": LogisticRegression().fit(X, y),
    }
    _, ax = plt.subplots()
    display = RejectionCurveDisplay.from_estimator(
        models, X_test, y_test, ax=ax, title="iris"
    )
    assert display.ax_ is ax
    assert list(display.areas) == list(models)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(models)
    assert ax.get_title() == "iris"
    for line, curve in zip(display.lines_, display.curves.values(), strict=True):
        np.testing.assert_array_equal(line.get_xdata()[:-1], curve.rejection_rate)
        np.testing.assert_array_equal(line.get_ydata()[:-1], curve.error)


def test_invalid_input(iris):
    X, y, X_test, y_test = iris
    model = EKNNClassifier().fit(X, y)
    with pytest.raises(ValueError, match=r"\by\b"):
        RejectionCurveDisplay.from_estimator(model, X_test, y_test[:3])
    for classifier in (model, LogisticRegression().fit(X, y)):
        with pytest.raises(
            ValueError, match="^y must contain only classes .* 'unseen'"
        ):
            RejectionCurveDisplay.from_estimator(
                classifier, X_test, np.append(y_test[:-1], "unseen")
            )
    with pytest.raises(TypeError, match=r"\bestimator\b"):
        RejectionCurveDisplay.from_estimator(LinearSVC().fit(X, y), X_test, y_test)
    with pytest.raises(ValueError, match="^wrong and expected_loss must"):
        RejectionCurve.from_losses([True], [0.1, 0.2])
    with pytest.raises(ValueError, match=r"\bexpected_loss\b"):
        RejectionCurve.from_losses([True], [np.nan])
    with pytest.raises(ValueError, match=r"\brejection_rate\b"):
        RejectionCurve.from_losses([True], [0.1]).error_at(2)


# ---- masses and plausibilities of classifiers over the plane -------------------------------------


@pytest.mark.parametrize(
    "model", [EKNNClassifier(9), EvidenceFromClassifier()], ids=["eknn", "evidence"]
)
@pytest.mark.parametrize("quantity", ["mass", "plausibility"])
def test_classifiers_over_the_plane(iris, model, quantity):
    X, y, *_ = iris
    model.fit(X, y)
    display = MassContourDisplay.from_estimator(
        model, X, quantity=quantity, grid_resolution=30
    )
    assert display.set_names[:3] == ["{setosa}", "{versicolor}", "{virginica}"]
    places = np.column_stack([display.xx.ravel(), display.yy.ravel()])
    masses = model.predict_mass(places)
    if quantity == "mass":
        theirs = masses.singleton_belief
    else:
        theirs = masses.contour
    np.testing.assert_allclose(display.values[:3].reshape(3, -1).T, theirs)
    # Except for ties.
    labels = display.plausibility.argmax(axis=0)
    assert (model.classes_[labels.ravel()] == model.predict(places)).mean() > 0.99
    chosen = MassContourDisplay.from_estimator(
        model,
        X,
        quantity=quantity,
        sets=[("setosa",), ("versicolor", "virginica")],
        grid_resolution=20,
    )
    assert chosen.set_names == ["{setosa}", "{versicolor,virginica}"]
