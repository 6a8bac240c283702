"""Shepard diagrams and curves of the nonspecificity: what they draw is what they were given."""

from collections import namedtuple
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm

from dempster.model_selection import NClustersCurve
from dempster.plot import NonspecificityDisplay, ShepardDisplay


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def pairs(n, seed=0):
    """Dissimilarities, delta = phi(d) and conflicts near delta."""
    rng = np.random.default_rng(seed)
    dissimilarity = rng.gamma(4, 2, n)
    delta = 1 - np.exp(-0.02 * dissimilarity**2)
    return dissimilarity, delta, np.clip(delta + rng.normal(0, 0.1, n), 0, 1)


class Model:
    """An estimator that offers pairs, in the form asked for."""

    Pairs = namedtuple("Pairs", "dissimilarity delta conflict")

    def __init__(self, form=tuple):
        self.form, self.asked = form, None

    def shepard(self, n_pairs, random_state):
        self.asked = n_pairs, random_state
        values = pairs(n_pairs, random_state)
        if self.form is SimpleNamespace:  # order must not matter where there are names
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


def test_all_pairs_that_an_estimator_has():
    class Few(Model):
        def shepard(self, n_pairs, random_state):
            return super().shepard(min(n_pairs, 40), random_state)

    assert len(ShepardDisplay.from_estimator(Few(), n_pairs=None).delta) == 40


def test_shepard_over_the_measured_dissimilarities():
    dissimilarity, delta, conflict = pairs(1000)
    display = ShepardDisplay.from_arrays(delta, conflict, dissimilarity, x="dissimilarity")
    np.testing.assert_array_equal(display.points_.get_offsets(), np.column_stack([dissimilarity, conflict]))
    along, height = display.reference_.get_data()  # where a perfect fit would lie
    np.testing.assert_allclose(height, 1 - np.exp(-0.02 * along**2))
    assert (np.diff(along) >= 0).all()
    assert (along[0], along[-1]) == (dissimilarity.min(), dissimilarity.max())
    assert display.ax_.get_xlabel() == "dissimilarity"
    assert display.ax_.get_aspect() == "auto"


@pytest.mark.parametrize("x", ["delta", "dissimilarity"])
def test_many_pairs_are_counted_in_hexagons(x):
    dissimilarity, delta, conflict = pairs(5001)
    display = ShepardDisplay.from_arrays(delta, conflict, dissimilarity, x=x)
    assert isinstance(display.points_, PolyCollection)
    assert isinstance(display.points_.norm, LogNorm)
    assert display.points_.get_array().sum() == 5001  # none is left out
    assert display.points_.get_array().min() >= 1
    assert display.colorbar_ is not None
    display.figure_.canvas.draw()
    few = ShepardDisplay.from_arrays(delta[:5000], conflict[:5000])
    assert len(few.points_.get_offsets()) == 5000


def test_kind_can_be_chosen():
    _, delta, conflict = pairs(6000)
    points = ShepardDisplay.from_arrays(delta, conflict, style="points")
    assert len(points.points_.get_offsets()) == 6000
    dense = ShepardDisplay.from_arrays([0.1, 0.9], [0.2, 0.8], style="density")
    assert dense.points_.get_array().tolist() == [1, 1]
    dense.figure_.canvas.draw()
    same = ShepardDisplay.from_arrays([0.5] * 9, [0.5] * 9, [0.0] * 9, style="density", x="dissimilarity")
    assert same.points_.get_array().sum() == 9
    same.figure_.canvas.draw()


def test_shepard_on_given_axes_leaves_the_figure_alone():
    _, delta, conflict = pairs(6000)
    figure, axes = plt.subplots(1, 2)
    display = ShepardDisplay.from_estimator(Model(), ax=axes[0], n_pairs=6000, title="fit")
    assert display.ax_ is axes[0]
    assert display.figure_ is figure
    assert figure.axes == list(axes)  # a colour bar would be a third
    assert axes[0].get_title() == "fit"
    assert plt.get_fignums() == [figure.number]
    assert ShepardDisplay.from_arrays(delta, conflict, ax=axes[1], colorbar=True).colorbar_ in [
        getattr(ax, "_colorbar", None) for ax in figure.axes
    ]


def test_shepard_errors():
    with pytest.raises(TypeError, match="method shepard, got int"):
        ShepardDisplay.from_estimator(3)
    with pytest.raises(ValueError, match="conflict must hold 3 numbers, one for each pair, got 2"):
        ShepardDisplay.from_arrays([0, 0.5, 1], [0, 1])
    with pytest.raises(ValueError, match="dissimilarity must hold 2"):
        ShepardDisplay.from_arrays([0, 0.5], [0, 1], [1.0])
    with pytest.raises(ValueError, match="delta must be a nonempty sequence of finite numbers"):
        ShepardDisplay.from_arrays([0, np.nan], [0, 1])
    with pytest.raises(ValueError, match="delta must be a nonempty"):
        ShepardDisplay.from_arrays([], [])
    with pytest.raises(ValueError, match="x='dissimilarity' needs the dissimilarities"):
        ShepardDisplay.from_arrays([0.5], [0.5], x="dissimilarity")
    with pytest.raises(ValueError, match="x must be 'delta' or 'dissimilarity', got 'd'"):
        ShepardDisplay.from_arrays([0.5], [0.5], x="d")
    with pytest.raises(ValueError, match="style must be"):
        ShepardDisplay.from_arrays([0.5], [0.5], style="hexagons")
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


def test_fits_that_did_not_converge_are_open():
    display = NonspecificityDisplay.from_curve(curve([0.3, 0.1, 0.2], [True, False, True]))
    np.testing.assert_array_equal(display.open_artist_.get_xydata(), [[3, 0.1]])
    assert display.open_artist_.get_markerfacecolor() == "white"


def test_curve_plots_itself_on_given_axes():
    figure, ax = plt.subplots()
    first = curve([0.3, 0.1, 0.2]).plot(ax=ax, label="simple")
    second = curve([0.2, 0.1, 0.1]).plot(ax=ax, label="pairs", color="red", mark_best=False)
    assert first.ax_ is second.ax_ is ax
    assert second.best == 3  # the smaller number on ties
    assert second.best_text_ is None
    assert ax.get_legend_handles_labels()[1] == ["simple", "pairs"]
    assert plt.get_fignums() == [figure.number]
    figure.canvas.draw()


def test_precise_partitions_and_a_single_candidate_can_be_drawn():
    display = NonspecificityDisplay.from_curve(curve([0.0, 0.0]))
    assert display.best == 2
    display.figure_.canvas.draw()
    NonspecificityDisplay.from_curve(curve([0.1])).figure_.canvas.draw()


def test_nonspecificity_errors():
    with pytest.raises(TypeError, match="curve must come from n_clusters_curve, got list"):
        NonspecificityDisplay.from_curve([1, 2])
    with pytest.raises(ValueError, match="nonempty increasing"):
        NonspecificityDisplay(n_clusters=[3, 2], nonspecificity=[0.1, 0.2])
    with pytest.raises(ValueError, match="nonspecificity must hold 2 finite numbers"):
        NonspecificityDisplay(n_clusters=[2, 3], nonspecificity=[0.1])
    with pytest.raises(ValueError, match="nonspecificity must hold 2 finite numbers"):
        NonspecificityDisplay(n_clusters=[2, 3], nonspecificity=[0.1, np.nan])
    with pytest.raises(ValueError, match="converged must hold 2"):
        NonspecificityDisplay(n_clusters=[2, 3], nonspecificity=[0.1, 0.2], converged=[True])
    assert plt.get_fignums() == []
