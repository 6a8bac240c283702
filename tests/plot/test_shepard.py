"""Shepard diagrams and curves of the nonspecificity."""

from collections import namedtuple
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm

from dempster.cluster import EVCLUS
from dempster.model_selection import NClustersCurve
from dempster.plot import NonspecificityDisplay, ShepardDisplay


def pairs(n, seed=0):
    """Dissimilarities, delta = phi(d) and conflicts near delta."""
    rng = np.random.default_rng(seed)
    dissimilarity = rng.gamma(4, 2, n)
    delta = 1 - np.exp(-0.02 * dissimilarity**2)
    return dissimilarity, delta, np.clip(delta + rng.normal(0, 0.1, n), 0, 1)


class Model:
    """Estimator that returns pairs in the given form."""

    Pairs = namedtuple("Pairs", "dissimilarity delta conflict")

    def __init__(self, form=tuple):
        self.form, self.asked = form, None

    def shepard(self, n_pairs, random_state):
        self.asked = n_pairs, random_state
        values = pairs(n_pairs, random_state)
        if self.form is SimpleNamespace:  # The order does not matter.
            return SimpleNamespace(conflict=values[2], delta=values[1], dissimilarity=values[0])
        return self.Pairs(*values) if self.form is namedtuple else values


# ---- Shepard diagram -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [tuple, namedtuple, SimpleNamespace])
def test_shepard_of_an_estimator(form):
    model = Model(form)
    display = ShepardDisplay.from_estimator(model, n_pairs=300, random_state=5)
    assert model.asked == (300, 5)
    dissimilarity, delta, conflict = pairs(300, 5)
    np.testing.assert_array_equal(display.dissimilarity, dissimilarity)
    np.testing.assert_array_equal(display.points_.get_offsets(), np.column_stack([delta, conflict]))
    np.testing.assert_array_equal(display.reference_.get_xydata(), [[0, 0], [1, 1]])
    assert display.ax_.get_xlabel() == "transformed dissimilarity δ"
    assert display.ax_.get_ylabel() == "degree of conflict"
    assert display.ax_.get_aspect() == 1
    assert display.root_mean_square == pytest.approx(np.sqrt(((conflict - delta) ** 2).mean()))
    assert f"{display.root_mean_square:.3f}" in display.text_.get_text()
    assert display.colorbar_ is None
    display.figure_.canvas.draw()


def test_shepard_of_all_pairs():
    X = np.random.default_rng(0).normal(size=(20, 2))
    display = ShepardDisplay.from_estimator(EVCLUS(2, n_init=1, random_state=0).fit(X), n_pairs=None)
    assert len(display.delta) == 20 * 19 / 2


def test_shepard_over_dissimilarities():
    dissimilarity, delta, conflict = pairs(1000)
    display = ShepardDisplay.from_arrays(delta, conflict, dissimilarity, x="dissimilarity")
    np.testing.assert_array_equal(display.points_.get_offsets(), np.column_stack([dissimilarity, conflict]))
    along, height = display.reference_.get_data()
    np.testing.assert_allclose(height, 1 - np.exp(-0.02 * along**2))
    assert (np.diff(along) >= 0).all()
    assert (along[0], along[-1]) == (dissimilarity.min(), dissimilarity.max())
    assert display.ax_.get_xlabel() == "dissimilarity"
    assert display.ax_.get_aspect() == "auto"


@pytest.mark.parametrize("x", ["delta", "dissimilarity"])
def test_many_pairs(x):
    dissimilarity, delta, conflict = pairs(5001)
    display = ShepardDisplay.from_arrays(delta, conflict, dissimilarity, x=x)
    assert isinstance(display.points_, PolyCollection)
    assert isinstance(display.points_.norm, LogNorm)
    assert display.points_.get_array().sum() == 5001
    assert display.points_.get_array().min() >= 1
    assert display.colorbar_ is not None
    display.figure_.canvas.draw()
    few = ShepardDisplay.from_arrays(delta[:5000], conflict[:5000])
    assert len(few.points_.get_offsets()) == 5000


def test_styles():
    _, delta, conflict = pairs(6000)
    points = ShepardDisplay.from_arrays(delta, conflict, style="points")
    assert len(points.points_.get_offsets()) == 6000
    dense = ShepardDisplay.from_arrays([0.1, 0.9], [0.2, 0.8], style="density")
    assert dense.points_.get_array().tolist() == [1, 1]
    dense.figure_.canvas.draw()
    same = ShepardDisplay.from_arrays([0.5] * 9, [0.5] * 9, [0.0] * 9, style="density", x="dissimilarity")
    assert same.points_.get_array().sum() == 9
    same.figure_.canvas.draw()


def test_color_bar_on_given_axes():
    _, delta, conflict = pairs(6000)
    figure, axes = plt.subplots(1, 2)
    display = ShepardDisplay.from_estimator(Model(), ax=axes[0], n_pairs=6000, title="fit")
    assert display.ax_ is axes[0]
    assert display.figure_ is figure
    assert figure.axes == list(axes)  # There is no color bar.
    assert axes[0].get_title() == "fit"
    assert plt.get_fignums() == [figure.number]
    assert ShepardDisplay.from_arrays(delta, conflict, ax=axes[1], colorbar=True).colorbar_ in [
        getattr(ax, "_colorbar", None) for ax in figure.axes
    ]


def test_invalid_pairs():
    with pytest.raises(TypeError, match="method shepard, got int"):
        ShepardDisplay.from_estimator(3)
    for wrong, name in (
        (([0, 0.5, 1], [0, 1]), "conflict"),
        (([0, 0.5], [0, 1], [1.0]), "dissimilarity"),
        (([0, np.nan], [0, 1]), "delta"),
        (([], []), "delta"),
    ):
        with pytest.raises(ValueError, match=f"^{name} must"):
            ShepardDisplay.from_arrays(*wrong)
    with pytest.raises(ValueError, match="^x='dissimilarity' needs"):
        ShepardDisplay.from_arrays([0.5], [0.5], x="dissimilarity")
    assert plt.get_fignums() == []


# ---- nonspecificity --------------------------------------------------------------------------------------------------


def curve(values, converged=None):
    k = len(values)
    return NClustersCurve(
        n_clusters=np.arange(2, k + 2),
        nonspecificity=np.array(values),
        objective=np.zeros(k),
        converged=np.ones(k, dtype=bool) if converged is None else np.array(converged),
        partitions=[],
    )


def test_nonspecificity_of_a_curve():
    values = [0.3, 0.08, 0.2, 0.25]
    display = NonspecificityDisplay.from_curve(curve(values))
    np.testing.assert_array_equal(display.line_.get_xydata(), np.column_stack([[2, 3, 4, 5], values]))
    assert display.best == 3
    np.testing.assert_array_equal(display.best_artist_.get_xydata(), [[3, 0.08]])
    assert display.best_text_.get_text() == "3 clusters"
    assert display.open_artist_ is None
    assert display.ax_.get_ylim()[0] == 0
    assert [tick for tick in display.ax_.get_xticks() if tick % 1] == []
    assert display.ax_.get_xlabel() == "number of clusters"
    display.figure_.canvas.draw()


def test_open_circles_if_not_converged():
    display = NonspecificityDisplay.from_curve(curve([0.3, 0.1, 0.2], [True, False, True]))
    np.testing.assert_array_equal(display.open_artist_.get_xydata(), [[3, 0.1]])
    assert display.open_artist_.get_markerfacecolor() == "white"


def test_two_curves_on_one_axes():
    figure, ax = plt.subplots()
    first = curve([0.3, 0.1, 0.2]).plot(ax=ax, label="simple")
    second = curve([0.2, 0.1, 0.1]).plot(ax=ax, label="pairs", color="red", mark_best=False)
    assert first.ax_ is second.ax_ is ax
    assert second.best == 3  # The smallest number on ties.
    assert second.best_text_ is None
    assert ax.get_legend_handles_labels()[1] == ["simple", "pairs"]
    assert plt.get_fignums() == [figure.number]
    figure.canvas.draw()


def test_precise_partitions_and_a_single_candidate():
    display = NonspecificityDisplay.from_curve(curve([0.0, 0.0]))
    assert display.best == 2
    display.figure_.canvas.draw()
    NonspecificityDisplay.from_curve(curve([0.1])).figure_.canvas.draw()


def test_invalid_curves():
    with pytest.raises(TypeError, match="curve must come from n_clusters_curve, got list"):
        NonspecificityDisplay.from_curve([1, 2])
    good = {"n_clusters": [2, 3], "nonspecificity": [0.1, 0.2], "converged": [True, True]}
    for name, wrong in (
        ("n_clusters", [3, 2]),
        ("nonspecificity", [0.1]),
        ("nonspecificity", [0.1, np.nan]),
        ("converged", [True]),
    ):
        with pytest.raises(ValueError, match=f"^{name} must"):
            NonspecificityDisplay(**{**good, name: wrong})
    assert plt.get_fignums() == []
