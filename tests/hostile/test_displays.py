"""Pictures: whatever an option or an argument is, it is refused by its name before anything is drawn."""

import inspect

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from dempster import CredalPartition, FocalSets, plot
from dempster.cluster import ECM, EVCLUS, BeliefPeaks, BootClus
from dempster.explain import CautiousTree, credal_silhouette, explain_object, profile, retention_curve, stability
from dempster.model_selection import n_clusters_curve, number_of_clusters
from tests.limits import limited, refused_or_sensible

pytestmark = pytest.mark.filterwarnings("ignore")

X = np.repeat([[0.0, 0.0], [6.0, 0.0], [0.0, 7.0]], 8, axis=0) + np.random.default_rng(0).normal(size=(24, 2))
Y = np.repeat([0, 1, 2], 8)
MODEL = ECM(3, n_init=1, random_state=0).fit(X)
PARTITION = MODEL.credal_partition_
BOUNDS = np.linspace(0, 0.5, 9)


def displays():
    """One of each, not drawn."""
    boot = BootClus(3, n_bootstraps=5, mixture="EII", random_state=0).fit(X)
    curve = plot.RejectionCurve.from_losses([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4])
    yield plot.CredalPartitionDisplay(points=X, assignment=PARTITION.assignment())
    yield plot.ShepardDisplay.from_estimator(EVCLUS(3, n_init=1, random_state=0).fit(X))
    yield plot.MassContourDisplay.from_estimator(MODEL, X, grid_resolution=8)
    yield plot.DeltaBelDisplay.from_estimator(BeliefPeaks(3).fit(X))
    yield plot.ConvergenceDisplay(histories={"a": [3.0, 2.0, 1.0]})
    yield plot.NumberOfClustersDisplay.from_numbers(number_of_clusters(X, candidates=[2, 3], random_state=0))
    yield plot.NonspecificityDisplay.from_curve(n_clusters_curve(ECM(n_init=1, random_state=0), X, [2, 3]))
    yield plot.RetentionCurveDisplay(curves={"a": retention_curve(PARTITION, Y)})
    yield plot.SilhouetteDisplay(silhouette=credal_silhouette(PARTITION, X))
    yield plot.StabilityDisplay(stability=stability(MODEL, X, 2, random_state=0))
    yield plot.ObjectExplanationDisplay(explanation=explain_object(MODEL, X, 0))
    yield plot.ProfileDisplay(profile=profile(PARTITION, X))
    yield plot.CautiousTreeDisplay(tree=CautiousTree(3).fit(X, PARTITION))
    yield plot.PartitionMapDisplay(coordinates=X[:3], names=["a", "b", "c"])
    yield plot.RejectionCurveDisplay(curves={"a": curve})
    yield plot.CalibrationDisplay(lower=BOUNDS, upper=BOUNDS + 0.3, belief=BOUNDS, plausibility=BOUNDS + 0.2)
    yield plot.PairProbabilityDisplay.from_estimator(boot, X, [[0, 1], [2, 3]])
    plt.close("all")


DISPLAYS = {type(display).__name__: display for display in displays()}


def test_all_displays_are_here():
    assert sorted(DISPLAYS) == sorted(name for name in plot.__all__ if name.endswith("Display"))


class Unsayable:
    def __repr__(self):
        raise RuntimeError("nothing to show")


# nonsense for every option: none of these is a flag, a word, a size, a color, a title or a place to draw
NONSENSE = [
    object(), Unsayable(), 1j, -1, -0.5, np.nan, np.inf, b"x", [], {}, {"a": 1}, {1, 2}, [None] * 30, [[1, 2], [3]],
    pd.DataFrame(), pd.Series([0.5]), np.ma.masked, int, slice(None), lambda: 0,
]  # fmt: skip
OTHERS = {
    "ax": ["axes", 1.0, "figure", "three dimensions", "polar", "mollweide", "removed", "two"],
    "axes": ["axes", 1.0, "figure", "three dimensions", "removed"],
    "color": ["no color", (2.0, 0.0, 0.0), ["red"], 3],
    "colors": ["red", ["no color"] * 30, [1, 2, 3], (c for c in "rgb")],
    "marker_size": ["large", True, 1e70, 0, [12.0], 10**400],
    "title": [3, ["title"], True, "\ud800", "$$", "$\\frac{$"],
    "label": [3, True, "\ud800", "$\\nosuch$"],
    "legend": ["left", "", 2],
    "labels": ["yes", 2],
    "levels": ["high", [0.9, 0.1], [0.5, 2.0], [np.nan, 1.0], 0.5],
    "cmap": ["no map", 3],
    "n_columns": [0, 1.5, "two", True, 2**40],
    "bins": [0, 1.5, 10**9, "auto", True],
    "most": [0, 1.5, True],
    "n_groups": [0, 1.5, True],
    "n_features": [0, 1.5, True],
}


def placed(value):
    """What words of the table stand for: places where a picture cannot be drawn."""
    if not isinstance(value, str):
        return value
    if value == "figure":
        return plt.figure()
    if value in ("three dimensions", "polar", "mollweide"):
        return plt.figure().add_subplot(projection="3d" if value == "three dimensions" else value)
    if value == "two":
        return plt.subplots(1, 2)[1]
    if value == "removed":
        ax = plt.subplots()[1]
        ax.remove()
        return ax
    return value


@pytest.mark.parametrize("which", DISPLAYS)
def test_options_of_pictures(which):
    display = DISPLAYS[which]
    for option in list(inspect.signature(display.plot).parameters):
        for value in [*NONSENSE, *map(placed, OTHERS.get(option, ["nonsense", 1.5]))]:
            figures = plt.get_fignums()
            with limited(), pytest.raises(ValueError, match=rf"^{option} must"):
                display.plot(**{option: value})
            assert plt.get_fignums() == figures  # nothing was begun
        plt.close("all")


CONSTRUCTORS = {
    "CredalPartitionDisplay": {"points": X, "assignment": PARTITION.assignment(), "centers": X[:3],
                               "cluster_names": ["a", "b", "c"], "axis_names": ("u", "v")},
    "ShepardDisplay": {"delta": BOUNDS, "conflict": BOUNDS, "dissimilarity": BOUNDS},
    "DeltaBelDisplay": {"belief": BOUNDS, "delta": BOUNDS, "peaks": [0, 1], "min_belief": 0.5},
    "ConvergenceDisplay": {"histories": {"a": [3.0, 2.0]}, "converged": {"a": True}, "references": {"r": 1.0}},
    "NumberOfClustersDisplay": {"n_clusters": [2, 3], "support": [0.2, 0.8], "witnesses": {"a": [0.1, 0.2]}},
    "NonspecificityDisplay": {"n_clusters": [2, 3], "nonspecificity": [0.1, 0.2], "converged": [True, True]},
    "PartitionMapDisplay": {"coordinates": X[:3], "names": ["a", "b", "c"], "stress": 0.1},
    "CalibrationDisplay": {"lower": BOUNDS, "upper": BOUNDS + 0.3, "belief": BOUNDS, "plausibility": BOUNDS + 0.2},
    "PairProbabilityDisplay": {"values": np.ones((1, 5)), "pairs": [[0, 1]], "intervals": [[0.1, 0.9]]},
    "MassContourDisplay": {name: getattr(DISPLAYS["MassContourDisplay"], name)
                           for name in ("xx", "yy", "values", "sets", "plausibility", "points", "point_labels")},
}  # fmt: skip


class HugeLength:
    def __len__(self):
        return 2**62

    def __getitem__(self, i):
        return 1.0


def hostile(value):
    """The same in ways that no picture can be drawn from."""
    yield from (object(), 1j, 3.5, "text", b"x", {"a": object()}, HugeLength(), np.ma.masked_all(3), lambda: 0, int)
    if isinstance(value, np.ndarray) and value.dtype == float:
        for wrong in (np.nan, np.inf, 1j, "word", None):
            changed = value.astype(object if isinstance(wrong, str | None) else type(wrong))
            changed.flat[0] = wrong
            yield changed


@pytest.mark.parametrize("which", CONSTRUCTORS)
def test_arguments_of_displays(which):
    right = CONSTRUCTORS[which]
    DISPLAYS[which].__class__(**right).plot()
    for name, value in right.items():
        for wrong in hostile(value):
            message = refused_or_sensible(
                lambda name=name, wrong=wrong: getattr(plot, which)(**{**right, name: wrong}).plot(), lambda _: None
            )
            assert message is None or name.rstrip("s") in message or "history" in message, (name, wrong, message)
    plt.close("all")


def test_names_that_no_font_can_draw():
    names = ["\ud800", "\x1b[2J", "$\\frac"]
    family = FocalSets.simple(3, empty=False, omega=False)
    partition = CredalPartition(np.eye(3)[Y], family, frame=names)
    plot.CredalPartitionDisplay.from_partition(partition, X).figure_.canvas.draw()
    plot.SilhouetteDisplay.from_partition(partition, X).figure_.canvas.draw()
    plot.ProfileDisplay(profile=profile(partition, X)).plot().figure_.canvas.draw()
    plt.close("all")


@pytest.mark.parametrize("labels", [True, False])
def test_names_of_clusters_are_no_formulas(labels):
    partition = CredalPartition(PARTITION.masses, PARTITION.focal_sets, frame=["$$", "$\\bad{$", "_"])
    display = plot.CredalPartitionDisplay.from_partition(partition, X).plot(labels=labels, legend=True)
    display.figure_.canvas.draw()
    assert {"$$", "$\\bad{$", "_"} <= {text.get_text() for text in display.legend_.get_texts()}
    plt.close("all")


@pytest.mark.parametrize(
    "which", [name for name, display in DISPLAYS.items() if "ax" in inspect.signature(display.plot).parameters]
)
def test_axes_that_are_shared(which):
    figure, axes = plt.subplots(1, 2, sharex=True, sharey=True)
    DISPLAYS[which].plot(ax=axes[0])
    DISPLAYS[which].plot(ax=axes[1].twinx())
    figure.canvas.draw()
    plt.close("all")


def test_names_of_curves_are_no_formulas():
    names, rate = ["$$", "$\\bad{$", "_first", "\ud800"], plot.RejectionCurve.from_losses([0, 1], [0.1, 0.2])
    for display in (
        plot.ConvergenceDisplay(histories={name: [2.0, 1.0] for name in names}),
        plot.RetentionCurveDisplay(curves=dict.fromkeys(names, retention_curve(PARTITION, Y))),
        plot.RejectionCurveDisplay(curves=dict.fromkeys(names, rate)),
    ):
        drawn = display.plot(legend=True)
        drawn.figure_.canvas.draw()
        texts = [text.get_text() for text in drawn.ax_.get_legend().get_texts()]
        assert texts == [*names[:3], "\\ud800"]
    plt.close("all")
