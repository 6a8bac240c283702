"""Checks that all displays must pass: signatures, axes, names."""

import inspect

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

from dempster import CredalPartition, FocalSets, plot
from dempster.cluster import ECM, EVCLUS, BeliefPeaks, BootClus
from dempster.explain import (
    CautiousTree,
    credal_silhouette,
    explain_object,
    profile,
    retention_curve,
    stability,
)
from dempster.model_selection import n_clusters_curve, number_of_clusters
from dempster.plot.quality import RetentionCurveDisplay

pytestmark = pytest.mark.filterwarnings("ignore")

X = np.repeat([[0.0, 0.0], [6.0, 0.0], [0.0, 7.0]], 8, axis=0) + np.random.default_rng(
    0
).normal(size=(24, 2))
Y = np.repeat([0, 1, 2], 8)
MODEL = ECM(3, n_init=1, random_state=0).fit(X)
PARTITION = MODEL.credal_partition_
BOUNDS = np.linspace(0, 0.5, 9)


def make_displays():
    """Yield one display of each class."""
    boot = BootClus(3, n_bootstraps=5, mixture="EII", random_state=0).fit(X)
    curve = plot.RejectionCurve.from_losses([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4])
    yield plot.CredalPartitionDisplay(points=X, assignment=PARTITION.assignment())
    yield plot.ShepardDisplay.from_estimator(EVCLUS(3, n_init=1, random_state=0).fit(X))
    yield plot.MassContourDisplay.from_estimator(MODEL, X, grid_resolution=8)
    yield plot.DeltaBelDisplay.from_estimator(BeliefPeaks(3).fit(X))
    yield number_of_clusters(X, candidates=[2, 3], random_state=0).plot()
    yield n_clusters_curve(ECM(n_init=1, random_state=0), X, [2, 3]).plot()
    yield retention_curve(PARTITION, Y).plot()
    yield credal_silhouette(PARTITION, X).plot()
    yield stability(MODEL, X, 2, random_state=0).plot()
    yield explain_object(MODEL, X, 0).plot()
    yield profile(PARTITION, X).plot()
    yield CautiousTree(3).fit(X, PARTITION).plot()
    yield plot.PartitionMapDisplay(coordinates=X[:3], names=["a", "b", "c"])
    yield plot.RejectionCurveDisplay(curves={"a": curve})
    yield plot.CalibrationDisplay(
        lower=BOUNDS, upper=BOUNDS + 0.3, belief=BOUNDS, plausibility=BOUNDS + 0.2
    )
    yield plot.CalibrationDisplay.from_partition(PARTITION, Y)
    yield plot.CoverageDisplay(
        confidence=[0.5, 0.9], coverage={"all": [0.6, 0.9]}, size={"all": [1.0, 1.5]}
    )
    yield plot.PairProbabilityDisplay.from_estimator(boot, X, [[0, 1], [2, 3]])
    yield plot.DendrogramDisplay(
        tree=[[0, 1, 0.2, 2], [2, 3, 0.9, 3]], names=["a", "b", "c"]
    )
    yield plot.CandidatesDisplay(
        points=X, labels=[Y, Y], names=["a", "b"], selected=[True, False]
    )
    plt.close("all")


DISPLAYS = {type(display).__name__: display for display in make_displays()}
SINGLE_AXES = [
    name
    for name, display in DISPLAYS.items()
    if "ax" in inspect.signature(display.plot).parameters
]


def test_all_displays_are_here():
    assert set(DISPLAYS) >= {name for name in plot.__all__ if name.endswith("Display")}


@pytest.mark.parametrize("display", DISPLAYS.values(), ids=DISPLAYS)
def test_signatures(display):
    """Keywords only, the axes first and the title last.

    The other methods pass their options to plot.
    """
    methods = [display.plot]
    if type(display).__name__ in plot.__all__:
        methods.append(type(display))
    for method in methods:
        parameters = inspect.signature(method).parameters.values()
        assert all(p.kind is p.KEYWORD_ONLY for p in parameters)
    names = list(inspect.signature(display.plot).parameters)
    assert names[0] in ("ax", "axes")
    assert names[-1] == "title"
    for name, method in inspect.getmembers(display, callable):
        if name.startswith("from_"):
            assert list(inspect.signature(method).parameters)[-1] == "options"


def test_invalid_colors():
    display = DISPLAYS["CredalPartitionDisplay"]
    with pytest.raises(ValueError, match="^colors must"):
        display.plot(colors=["red"])
    with pytest.raises(ValueError, match="Invalid RGBA argument: 'no color'"):
        display.plot(colors=["no color"] * 3)


@pytest.mark.parametrize("which", DISPLAYS)
def test_only_the_given_axes_change(which):
    display = DISPLAYS[which]
    names = inspect.signature(display.plot).parameters
    if "ax" in names:
        n_axes = 1
    else:
        n_axes = len(display.plot().axes_)
    plt.close("all")
    figure, axes = plt.subplots(1, n_axes + 1)
    other = plt.figure()  # This is the current figure.
    settings = dict(matplotlib.rcParams)
    display.plot(**({"ax": axes[0]} if "ax" in names else {"axes": axes[:-1]}))
    figure.canvas.draw()
    assert display.figure_ is figure
    assert getattr(display, "ax_", axes[0]) is axes[0]
    assert not axes[-1].has_data()
    assert plt.get_fignums() == [figure.number, other.number]
    assert plt.gcf() is other
    new = display.plot()
    assert new is display
    assert new.figure_ is plt.gcf()
    assert len(plt.get_fignums()) == 3
    assert dict(matplotlib.rcParams) == settings


@pytest.mark.parametrize("which", SINGLE_AXES)
def test_shared_axes(which):
    figure, axes = plt.subplots(1, 2, sharex=True, sharey=True)
    DISPLAYS[which].plot(ax=axes[0])
    figure.canvas.draw()


@pytest.mark.long
@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
@pytest.mark.parametrize("which", DISPLAYS)
def test_file_formats(which, ending, tmp_path):
    path = tmp_path / f"plot.{ending}"
    DISPLAYS[which].plot().figure_.savefig(path)
    assert path.stat().st_size > 1000


def test_names_that_fonts_cannot_draw():
    names = ["\ud800", "\x1b[2J", "$\\frac"]
    family = FocalSets.simple(3, empty=False, omega=False)
    partition = CredalPartition(np.eye(3)[Y], family, frame=names)
    plot.CredalPartitionDisplay.from_partition(partition, X).figure_.canvas.draw()
    credal_silhouette(partition, X).plot().figure_.canvas.draw()
    profile(partition, X).plot().figure_.canvas.draw()


def test_cluster_names_are_not_formulas():
    partition = CredalPartition(
        PARTITION.masses, PARTITION.focal_sets, frame=["$$", "$\\bad{$", "_"]
    )
    display = plot.CredalPartitionDisplay.from_partition(partition, X)
    display.figure_.canvas.draw()
    assert {"$$", "$\\bad{$", "_"} <= {
        text.get_text() for text in display.legend_.get_texts()
    }


def test_curve_names_are_not_formulas():
    names = ["$$", "$\\bad{$", "_first", "\ud800"]
    rate = plot.RejectionCurve.from_losses([0, 1], [0.1, 0.2])
    for display in (
        RetentionCurveDisplay(
            curves=dict.fromkeys(names, retention_curve(PARTITION, Y))
        ),
        plot.RejectionCurveDisplay(curves=dict.fromkeys(names, rate)),
    ):
        display.plot().figure_.canvas.draw()
        texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
        assert texts == [*names[:3], "\\ud800"]
