"""Shepard diagrams, displays of calibration and of pair probabilities."""

from collections import namedtuple

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm
from sklearn.base import BaseEstimator

from dempster import CredalPartition, FocalSets
from dempster.cluster import ECM, EVCLUS
from dempster.cluster.bootclus import PairIntervals
from dempster.plot import CalibrationDisplay, PairProbabilityDisplay, ShepardDisplay


def pairs(n, seed=0):
    """Dissimilarities, delta = phi(d) and conflicts near delta."""
    rng = np.random.default_rng(seed)
    dissimilarity = rng.gamma(4, 2, n)
    delta = 1 - np.exp(-0.02 * dissimilarity**2)
    return dissimilarity, delta, np.clip(delta + rng.normal(0, 0.1, n), 0, 1)


class ShepardModel(BaseEstimator):
    """Estimator that returns pairs in the given form."""

    Pairs = namedtuple("Pairs", "dissimilarity delta conflict")

    def __init__(self, form=tuple, p=300):
        self.form = form
        self.p = p
        self.pairs_ = pairs(p, 5)

    def fit(self, X):
        return self

    def shepard(self, n_pairs, random_state):
        assert self.p <= n_pairs
        values = self.pairs_
        if self.form is namedtuple:
            return self.Pairs(*values)
        return values


# ---- Shepard diagram -----------------------------------------------------------------------------


@pytest.mark.parametrize("form", [tuple, namedtuple])
def test_shepard_of_an_estimator(form):
    model = ShepardModel(form)
    display = ShepardDisplay.from_estimator(model)
    _, delta, conflict = pairs(300, 5)
    np.testing.assert_array_equal(
        display.points_.get_offsets(), np.column_stack([delta, conflict])
    )
    np.testing.assert_array_equal(display.reference_.get_xydata(), [[0, 0], [1, 1]])
    assert display.ax_.get_xlabel() == "transformed dissimilarity δ"
    assert display.ax_.get_ylabel() == "degree of conflict"
    assert display.ax_.get_aspect() == 1
    assert display.root_mean_square == pytest.approx(
        np.sqrt(((conflict - delta) ** 2).mean())
    )
    assert f"{display.root_mean_square:.3f}" in display.text_.get_text()
    assert display.colorbar_ is None
    display.figure_.canvas.draw()


def test_shepard_of_all_pairs():
    X = np.random.default_rng(0).normal(size=(20, 2))
    display = ShepardDisplay.from_estimator(EVCLUS(2, n_init=1, random_state=0).fit(X))
    assert len(display.delta) == 20 * 19 / 2


def test_shepard_of_many_pairs():
    _, delta, conflict = pairs(5001)
    display = ShepardDisplay(delta=delta, conflict=conflict).plot()
    assert isinstance(display.points_, PolyCollection)
    assert isinstance(display.points_.norm, LogNorm)
    assert display.points_.get_array().sum() == 5001
    assert display.points_.get_array().min() >= 1
    assert display.colorbar_ is not None
    display.figure_.canvas.draw()
    few = ShepardDisplay(delta=delta[:5000], conflict=conflict[:5000]).plot()
    assert len(few.points_.get_offsets()) == 5000


def test_given_axes_have_no_color_bar():
    figure, axes = plt.subplots(1, 2)
    display = ShepardDisplay.from_estimator(
        ShepardModel(p=6000), ax=axes[0], title="fit"
    )
    assert display.ax_ is axes[0]
    assert display.figure_ is figure
    assert figure.axes == list(axes)  # There is no color bar.
    assert axes[0].get_title() == "fit"
    assert plt.get_fignums() == [figure.number]


def test_invalid_shepard():
    with pytest.raises(TypeError, match="have shepard, got ECM"):
        ShepardDisplay.from_estimator(fitted_estimator())


def fitted_estimator(**attributes):
    """Return a fitted estimator with further attributes."""
    model = ECM(2, n_init=1, random_state=0).fit(np.arange(8.0).reshape(4, 2))
    vars(model).update(attributes)
    return model


def arrays(p, seed=0):
    """Return intervals, beliefs and plausibilities near their bounds, and random true probabilities."""
    rng = np.random.default_rng(seed)
    lower, upper = np.sort(rng.random((2, p)), axis=0)
    belief = np.clip(lower + rng.normal(0, 0.02, p), 0, 1)
    plausibility = np.clip(upper + rng.normal(0, 0.02, p), belief, 1)
    return lower, upper, belief, plausibility, rng.random(p)


def intervals(n=40, seed=0):
    """Return pair intervals of random masses."""
    rng = np.random.default_rng(seed)
    family = FocalSets.pairs(3, empty=False, omega=False)
    partition = CredalPartition(rng.dirichlet(np.ones(6), n), family)
    lower, upper = np.sort(rng.random((2, n * (n - 1) // 2)).astype(np.float32), axis=0)
    return PairIntervals(partition, np.arange(n), lower, upper, 0.8)


# ---- calibration ---------------------------------------------------------------------------------


def test_calibration_by_bounds():
    lower, upper, belief, plausibility, _ = arrays(200)
    display = CalibrationDisplay(
        lower=lower, upper=upper, belief=belief, plausibility=plausibility
    ).plot(title="fit")
    left, right = display.points_
    np.testing.assert_array_equal(left.get_offsets(), np.column_stack([lower, belief]))
    np.testing.assert_array_equal(
        right.get_offsets(), np.column_stack([upper, plausibility])
    )
    assert display.root_mean_square[0] == pytest.approx(
        np.sqrt(((belief - lower) ** 2).mean())
    )
    assert f"{display.root_mean_square[1]:.3f}" in display.texts_[1].get_text()
    assert [ax.get_aspect() for ax in display.axes_] == [1, 1]
    assert display.coverage is None
    assert display.figure_.get_suptitle() == "fit"
    display.figure_.canvas.draw()


def test_calibration_by_true_probabilities():
    lower, upper, belief, plausibility, truth = arrays(300)
    display = CalibrationDisplay(
        lower=lower,
        upper=upper,
        belief=belief,
        plausibility=plausibility,
        probability=truth,
        confidence=0.9,
    ).plot()
    inside = np.mean(
        [b <= t <= p for b, t, p in zip(belief, truth, plausibility, strict=True)]
    )
    assert display.coverage == pytest.approx(inside)
    np.testing.assert_array_equal(
        display.points_[1].get_offsets(), np.column_stack([truth, plausibility])
    )
    assert f"coverage {inside:.1%} (confidence 90%)" in display.texts_[1].get_text()
    assert f"{np.mean(belief > truth):.1%}" in display.texts_[0].get_text()
    assert display.axes_[0].get_xlabel() == "true probability"


def test_calibration_of_an_estimator(monkeypatch):
    given = intervals()
    model = fitted_estimator(intervals_=given)
    display = CalibrationDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.belief, given.belief)
    assert display.confidence == 0.8
    monkeypatch.setattr("dempster.plot.pairs.N_PAIRS", 100)
    some = CalibrationDisplay.from_estimator(model)
    kept = np.random.default_rng(0).choice(len(given), 100, replace=False)
    np.testing.assert_array_equal(some.upper, given.upper[kept])
    monkeypatch.undo()
    posterior = np.random.default_rng(1).dirichlet(np.ones(3), 40)
    true = CalibrationDisplay.from_estimator(model, posterior=posterior)
    assert true.axes_[0].get_xlabel() == "true probability"
    assert true.coverage == pytest.approx(given.coverage(posterior).belief)


def test_calibration_of_many_pairs():
    names = ("lower", "upper", "belief", "plausibility")
    display = CalibrationDisplay(**dict(zip(names, arrays(5001), strict=False))).plot()
    for points in display.points_:
        assert isinstance(points, PolyCollection)
        assert points.get_array().sum() == 5001
    display.figure_.canvas.draw()


def test_invalid_calibration():
    with pytest.raises(TypeError, match="have intervals_, got ECM"):
        CalibrationDisplay.from_estimator(fitted_estimator())
    with pytest.raises(ValueError, match=r"\baxes\b"):
        CalibrationDisplay.from_estimator(
            fitted_estimator(intervals_=intervals()), axes=[plt.figure().gca()]
        )


# ---- histograms of some pairs --------------------------------------------------------------------


class PairModel(BaseEstimator):
    """Estimator whose predictions do not depend on the objects."""

    def __init__(self, n=6, n_fits=40):
        rng = np.random.default_rng(0)
        self.partition = CredalPartition(
            rng.dirichlet(np.ones(3), n), FocalSets.simple(2, empty=False)
        )
        self.fits = rng.random((n, n, n_fits))
        self.n = n
        self.n_fits = n_fits
        self.fitted_ = True

    def fit(self, X):
        return self

    def predict_mass(self, X):
        return self.partition

    def pair_probabilities(self, X, pairs):
        return np.stack([self.fits[i, j] for i, j in pairs])

    def pair_intervals(self, X, pairs):
        return np.quantile(self.pair_probabilities(X, pairs), [0.05, 0.95], axis=1).T


def test_histograms():
    model = PairModel()
    pairs = [(0, 1), (2, 5), (3, 4)]
    display = PairProbabilityDisplay.from_estimator(model, None, pairs)
    assert len(display.axes_) == 3
    for (i, j), ax, lines in zip(pairs, display.axes_, display.lines_, strict=True):
        heights = [bar.get_height() for bar in ax.patches]
        np.testing.assert_array_equal(
            heights, np.histogram(model.fits[i, j], 25, (0, 1))[0]
        )
        low, high = np.quantile(model.fits[i, j], [0.05, 0.95])
        assert lines["lower"].get_xdata()[0] == pytest.approx(low)
        assert lines["upper"].get_xdata()[0] == pytest.approx(high)
        relation = model.partition.relational([(i, j)]).masses[0]
        assert lines["belief"].get_xdata()[0] == pytest.approx(relation[1])
        assert lines["plausibility"].get_xdata()[0] == pytest.approx(1 - relation[2])
        assert "probability" not in lines
        assert ax.get_title() == f"objects {i} and {j}"
    display.figure_.canvas.draw()


def test_histograms_without_beliefs():
    values = np.random.default_rng(0).random((4, 30))
    figure, axes = plt.subplots(2, 2)
    display = PairProbabilityDisplay(
        values=values,
        pairs=[(0, k) for k in range(1, 5)],
        intervals=[[0.1, 0.9]] * 4,
        probability=[0.2, 0.4, 0.6, 0.8],
    )
    display.plot(axes=axes)
    assert set(display.lines_[0]) == {"lower", "upper", "probability"}
    assert display.lines_[1]["probability"].get_xdata()[0] == 0.4
    assert figure.axes == list(axes.ravel())
    new = display.plot(title="pairs")
    assert len(new.figure_.axes) == 4
    new.figure_.canvas.draw()


def test_invalid_histograms():
    with pytest.raises(TypeError, match="pair_probabilities, got ECM"):
        PairProbabilityDisplay.from_estimator(fitted_estimator(), None, [(0, 1)])
