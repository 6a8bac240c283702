"""Shared parts of the figures of the site: style, axes without ticks, and a row of panels for a parameter."""

from collections.abc import Callable, Sequence
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt

from dempster.explain import doubt_scores
from dempster.plot import CredalPartitionDisplay

mpl.use("Agg")
plt.rcParams.update(
    {
        "figure.dpi": 110,
        "savefig.bbox": "tight",
        "font.size": 10,
        "axes.titlesize": 10.5,
    }
)

TOO_SMALL_TO_LARGE = ("too small", "about right", "too large")


def save(figure: Any, name: str) -> None:
    figure.savefig(f"{name}.png")
    plt.close(figure)


def blank(ax: Any) -> None:
    """Remove ticks and labels."""
    ax.set(xticks=[], yticks=[], xlabel="", ylabel="")


def partition_panel(
    ax: Any, model: Any, X: Any, title: str, marker_size: float = 14
) -> None:
    """Draw a fitted model over its data, with the numbers of ambiguous objects and outliers in the title."""
    CredalPartitionDisplay.from_estimator(model, X).plot(
        ax=ax, marker_size=marker_size, legend=False
    )
    found = model.credal_partition_
    ax.set_title(
        f"{title}\n{len(found.ambiguous)} ambiguous, {len(found.outliers)} outliers"
    )
    blank(ax)


def doubt_panel(
    ax: Any, model: Any, X: Any, title: str, marker_size: float = 14
) -> None:
    """Draw the objects with their doubt from light (certain) to dark (ignorance)."""
    doubt = doubt_scores(model.credal_partition_)
    ax.scatter(
        *X.T,
        s=marker_size,
        c=doubt,
        cmap="cividis_r",
        vmin=0,
        vmax=1,
        edgecolors="0.4",
        linewidths=0.3,
    )
    ax.set_title(f"{title}\nmean doubt {doubt.mean():.2f}")
    ax.spines[["top", "right"]].set_visible(False)
    blank(ax)


def parameter_row(
    name: str,
    parameter: str,
    values: Sequence[Any],
    fit: Callable[..., Any],
    X: Any,
    words: Sequence[str] = TOO_SMALL_TO_LARGE,
    show: Callable[[Any, Any], str] = lambda value, model: f"{value}",
    panel: Callable[[Any, Any, Any, str], None] = partition_panel,
) -> None:
    """Draw the same data with each value of a parameter, one panel for each value."""
    figure, axes = plt.subplots(
        1, len(values), figsize=(3.7 * len(values), 3.6), layout="constrained"
    )
    for ax, value, word in zip(axes, values, words, strict=True):
        model = fit(**{parameter: value})
        panel(ax, model, X, f"{word}: {parameter}={show(value, model)}")
    save(figure, name)
