"""Displays of masses over the plane."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import RegularGridInterpolator
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from dempster import FocalSets, MassFunctions
from dempster.cluster import ECM, EVCLUS
from dempster.datasets import load_iris, make_fourclass
from dempster.plot import MassContourDisplay
from dempster.plot._canvas import cluster_colors


@pytest.fixture(scope="module")
def fourclass():
    X, _ = make_fourclass(120, random_state=1)
    return ECM(4, focal_sets="pairs", beta=2.0, delta=3, random_state=0).fit(X), X


class FunctionClassifier(BaseEstimator):
    """Classifier whose masses are a function of the attributes."""

    def __init__(self, function, family, frame=None):
        self.function = function
        self.family = family
        self.frame = frame
        self.fitted_ = True

    def fit(self, X, y=None):
        return self

    def predict_mass(self, X):
        return MassFunctions(
            self.function(np.asarray(X, dtype=float)), self.family, frame=self.frame
        )


def halves(X):
    """Return masses of "a" that increase to the right, of "b" to the left, and 0.1 on the empty set."""
    right = 1 / (1 + np.exp(-X[:, 0]))
    return np.column_stack(
        [np.full(len(X), 0.1), 0.9 * right, 0.9 * (1 - right), np.zeros(len(X))]
    )


@pytest.fixture
def classifier():
    return FunctionClassifier(halves, FocalSets.full(2), frame=("a", "b"))


SQUARE = np.array([[-2.0, -1.0], [2.0, -1.0], [2.0, 3.0], [-2.0, 3.0]])


def small(model, X, **options):
    return MassContourDisplay.from_estimator(model, X, grid_resolution=30, **options)


def vertices(contours):
    return np.concatenate(
        [path.vertices for contour in contours for path in contour.get_paths()]
    )


# ---- data ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("quantity", ["mass", "plausibility", "belief"])
@pytest.mark.parametrize("method", [ECM, EVCLUS])
def test_values_match_the_model(quantity, method):
    X, _ = make_fourclass(60, random_state=1)
    model = method(3, random_state=0).fit(X)
    sets = [(0,), (1, 2), (0, 1, 2)]
    display = small(model, X, sets=sets, quantity=quantity)
    assert display.values.shape == (3, 30, 30)
    assert list(display.sets) == sets
    there = model.predict_mass(
        np.column_stack([display.xx.ravel(), display.yy.ravel()])
    )
    expected = getattr(there, quantity)(sets)
    np.testing.assert_allclose(display.values.reshape(3, -1).T, expected, atol=1e-12)
    np.testing.assert_array_equal(
        display.plausibility.argmax(axis=0).ravel(), there.labels
    )
    np.testing.assert_array_equal(display.points, X)
    np.testing.assert_array_equal(
        display.point_labels, model.predict_mass(X).labels_with_outliers
    )


def test_grid_includes_the_margin(fourclass):
    model, X = fourclass
    display = small(model, X, sets=(0,))
    low = X.min(axis=0)
    width = np.ptp(X, axis=0)
    np.testing.assert_allclose([display.xx.min(), display.yy.min()], low - 0.15 * width)
    np.testing.assert_allclose([display.xx.max(), display.yy.max()], low + 1.15 * width)
    assert display.ax_.get_xlim() == (display.xx.min(), display.xx.max())
    assert display.ax_.get_ylim() == (display.yy.min(), display.yy.max())


def test_default_panels(fourclass):
    model, X = fourclass
    display = small(model, X)
    masses = model.predict_mass(
        np.column_stack([display.xx.ravel(), display.yy.ravel()])
    )
    large = [
        s for s in model.focal_sets_ if len(s) > 1 and masses.mass(s).max() >= 0.25
    ]
    assert large
    assert set(display.sets) == {(), (0,), (1,), (2,), (3,), *large}
    assert display.sets == display.sets.sorted()
    for quantity in ("plausibility", "belief"):
        assert list(small(model, X, quantity=quantity, layout="together").sets) == [
            (0,),
            (1,),
            (2,),
            (3,),
        ]


def test_number_of_default_panels():
    def many(c):
        family = FocalSets.pairs(c)
        pair = np.flatnonzero(family.cardinality == 2)

        def masses(X):
            out = np.zeros((len(X), len(family)))
            # Each pair has mass at some grid point.
            out[np.arange(len(X)), pair[np.arange(len(X)) % len(pair)]] = 1
            return out

        return FunctionClassifier(masses, family)

    assert len(small(many(6), SQUARE).sets) == 12
    assert list(small(many(13), SQUARE, layout="together").sets) == [
        (),
        *((k,) for k in range(13)),
    ]


def test_family_without_empty_set():
    family = FocalSets.simple(2, empty=False, omega=False)
    assert list(
        small(
            FunctionClassifier(lambda X: np.full((len(X), 2), 0.5), family), SQUARE
        ).sets
    ) == [(0,), (1,)]


def test_boundary(fourclass):
    model, X = fourclass
    display = small(model, X, sets=(0,))
    (boundary,) = display.boundaries_
    assert len(boundary) == 3
    line = vertices(boundary)
    # On the boundary the two most plausible clusters are equally plausible, up to interpolation.
    share = np.moveaxis(display.plausibility / display.plausibility.sum(axis=0), 0, -1)
    there = RegularGridInterpolator((display.yy[:, 0], display.xx[0]), share)(
        line[:, ::-1]
    )
    best_two = np.sort(there, axis=1)[:, -2:]
    assert np.abs(np.diff(best_two, axis=1)).max() < 0.02
    # It separates all neighboring grid points with different labels.
    on_rows = {(round(x, 9), round(y, 9)) for x, y in line}
    labels = display.plausibility.argmax(axis=0)
    rows, columns = np.nonzero(labels[:, 1:] != labels[:, :-1])
    assert len(rows) >= 20
    for i, j in zip(rows, columns, strict=True):
        low = display.xx[i, j]
        high = display.xx[i, j + 1]
        y = round(display.yy[i, j], 9)
        assert any(low - 1e-9 <= x <= high + 1e-9 for x, at in on_rows if at == y)


def test_boundary_of_tiny_plausibilities(classifier):
    def faint(X):
        return np.column_stack(
            [
                np.full(len(X), 1 - 1e-12),
                1e-12 * halves(X)[:, 1:3] / 0.9,
                np.zeros(len(X)),
            ]
        )

    for model in (classifier, FunctionClassifier(faint, FocalSets.full(2))):
        line = vertices(small(model, SQUARE, sets=()).boundaries_[0])
        np.testing.assert_allclose(line[:, 0], 0, atol=1e-3)
        assert np.ptp(line[:, 1]) == pytest.approx(1.3 * 4)


def test_no_boundary_between_outliers_in_one_axes():
    def masses(X):  # Objects above y = 0 are outliers.
        outlier = np.where(X[:, 1] > 0, 0.9, 0.0)
        left = X[:, 0] < 0
        return np.column_stack(
            [outlier, (1 - outlier) * left, (1 - outlier) * ~left, np.zeros(len(X))]
        )

    model = FunctionClassifier(masses, FocalSets.full(2))
    for layout, reached in (("together", False), ("panels", True)):
        line = vertices(small(model, SQUARE, layout=layout).boundaries_[0])
        assert (line[:, 1] > 0.2).any() == reached


def test_all_sets_in_one_axes(fourclass):
    model, X = fourclass
    display = small(model, X, layout="together")
    assert (display.values > 0.5).sum(axis=0).max() == 1
    reached = [
        name
        for name, value in zip(display.set_names, display.values, strict=True)
        if value.max() >= 0.5
    ]
    assert sorted(text.get_text() for text in display.texts_) == sorted(reached)
    boxes = [text.get_window_extent() for text in display.texts_]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
    assert len(display.axes_) == 1
    assert display.colorbar_ is None


def test_class_names(classifier):
    display = small(classifier, SQUARE, sets=[(), ("a",), ("a", "b")])
    assert display.set_names == ["∅", "{a}", "Ω"]
    assert [ax.get_title() for ax in display.axes_] == ["m(∅)", "m({a})", "m(Ω)"]
    np.testing.assert_allclose(display.values[0], 0.1)
    np.testing.assert_array_equal(display.point_labels, [1, 0, 0, 1])
    named = small(
        classifier,
        SQUARE,
        sets="a",
        quantity="plausibility",
        cluster_names=["left", "right"],
    )
    assert named.ax_.get_title() == "pl({left})"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_tables(library):
    X, _ = make_fourclass(40, random_state=0)
    table = pytest.importorskip(library).DataFrame(
        {"length": X[:, 0], "width": X[:, 1]}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # scikit-learn warns about missing column names.
        model = ECM(2, random_state=0).fit(table)
        display = small(model, table, sets=(0,))
        display.figure_.canvas.draw()
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("length", "width")
    np.testing.assert_allclose(
        display.values, small(ECM(2, random_state=0).fit(X), X, sets=(0,)).values
    )


def test_outliers_of_a_network():
    from dempster.cluster import NNEVCLUS

    X, _ = make_fourclass(80, random_state=0)
    model = NNEVCLUS(
        2,
        outlier_detector="one-class-svm",
        init="random",
        max_iter=30,
        tol=0.1,
        random_state=0,
    ).fit(X)
    display = small(model, X, layout="together")
    empty = display.values[display.sets.index(())]
    corners = empty[[0, 0, -1, -1], [0, -1, 0, -1]]
    assert corners.min() > 0.8
    assert empty.min() < 0.2
    outliers = model.credal_partition_.outliers
    assert len(outliers)
    inside, crosses = display.point_artists_[0]
    np.testing.assert_allclose(crosses.get_offsets(), X[outliers])
    assert len(inside.get_offsets()) == len(X) - len(outliers)


# ---- drawing -------------------------------------------------------------------------------------


def test_panels_of_a_new_figure(fourclass):
    model, X = fourclass
    display = small(model, X, quantity="plausibility", title="all")
    assert [ax.get_title() for ax in display.axes_] == [
        f"pl({{{k}}})" for k in range(4)
    ]
    assert display.colorbar_.ax.get_ylabel() == "plausibility"
    assert len(display.figure_.axes) == 5
    assert display.figure_.get_suptitle() == "all"
    assert [ax.get_xlabel() for ax in display.axes_] == ["", "", *["attribute 1"] * 2]
    assert [ax.get_ylabel() for ax in display.axes_] == ["attribute 2", ""] * 2
    for fill in display.fills_:
        assert fill.get_clim() == (0, 1)
        np.testing.assert_allclose(fill.levels, np.linspace(0, 1, 11))
    columns = {
        round(ax.get_subplotspec().colspan.start)
        for ax in display.plot(n_columns=1).axes_
    }
    assert columns == {0}


def test_layout_follows_the_axes(fourclass):
    model, X = fourclass
    figure, axes = plt.subplots(2, 2)
    together = small(model, X, quantity="plausibility", ax=axes[0, 0])
    assert list(together.axes_) == [axes[0, 0]]
    assert len(together.fills_) == 4
    single = small(model, X, sets=(), ax=axes[0, 1])
    assert single.ax_.get_title() == "m(∅)"
    assert single.colorbar_.ax.get_ylabel() == "mass"
    assert plt.get_fignums() == [figure.number]
    figure.canvas.draw()


def test_mixed_colors(fourclass):
    display = small(*fourclass, sets=(0, 1), layout="together")
    np.testing.assert_allclose(
        display.fills_[0].get_facecolor()[0][:3], cluster_colors(4)[:2].mean(axis=0)
    )
    assert display.texts_[0].get_text() == "{0,1}"


@pytest.mark.parametrize("layout", ["panels", "together"])
@pytest.mark.parametrize("row", [[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]])
def test_constant_masses(layout, row):
    model = FunctionClassifier(
        lambda X: np.tile(np.array(row, dtype=float), (len(X), 1)), FocalSets.full(2)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # A single object has no range.
        display = small(model, SQUARE[:1], layout=layout)
        display.figure_.canvas.draw()
    assert display.boundaries_[0] == []
    assert all(line is None for line in display.lines_)
    assert display.xx.min() < SQUARE[0, 0] < display.xx.max()


def test_one_cluster():
    X, _ = make_fourclass(20, random_state=0)
    display = small(ECM(1, random_state=0).fit(X), X)
    assert list(display.sets) == [(), (0,)]
    assert display.boundaries_ == [[], []]


def test_arrays_without_a_model():
    xx, yy = np.meshgrid(np.linspace(0, 1, 5), np.linspace(0, 1, 4))
    both = np.stack([xx, 1 - xx])
    display = MassContourDisplay(
        xx=xx,
        yy=yy,
        values=both,
        sets=FocalSets.from_sets(2, [(0,), (1,)]),
        plausibility=both,
        points=[[0.2, 0.5]],
        point_labels=[1],
    ).plot()
    np.testing.assert_allclose(vertices(display.boundaries_[0])[:, 0], 0.5)


# ---- errors --------------------------------------------------------------------------------------


def test_invalid_models_and_data(fourclass):
    model, X = fourclass
    iris = load_iris().data
    with pytest.raises(NotFittedError):
        small(ECM(2), X)
    with pytest.raises(TypeError, match="predict_mass, got KMeans"):
        small(KMeans(2, n_init=1).fit(X), X)
    with pytest.raises(ValueError, match=r"\bestimator\b"):
        small(ECM(3, random_state=0).fit(iris), iris)
    with pytest.raises(ValueError, match=r"\bX\b"):
        small(model, iris)
    with pytest.raises(ValueError, match=r"\bX\b"):
        small(model, np.zeros((5, 1, 8, 8)))
    with pytest.raises(ValueError, match=r"\bX\b"):
        small(model, pd.DataFrame(X).iloc[:0])
    assert plt.get_fignums() == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantity": "commonality"}, "quantity must"),
        ({"grid_resolution": 1}, "grid_resolution must"),
        ({"grid_resolution": 100_000}, "grid_resolution must"),
        ({"sets": []}, "sets must"),
        ({"sets": [(0,), (0,)]}, "sets must"),
        ({"sets": [(0, 7)]}, "7"),
        ({"layout": "both"}, "layout must"),
    ],
)
def test_invalid_arguments(fourclass, options, message):
    with pytest.raises(ValueError, match=message):
        MassContourDisplay.from_estimator(
            *fourclass, **{"grid_resolution": 5, **options}
        )
    assert plt.get_fignums() == []
