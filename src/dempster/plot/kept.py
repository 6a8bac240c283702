"""Quality of partitions against the share of objects kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

from dempster._errors import InvalidInputError
from dempster.explain import KeptCurve, kept_curve
from dempster.plot._drawing.canvas import axes_to_draw_on, quiet_frame
from dempster.plot._drawing.colors import cluster_colors
from dempster.plot._drawing.legend import legend_of_lines
from dempster.plot._drawing.options import checked_options, wanted

__all__ = ["KeptCurveDisplay"]

_WORDS = {"ari": "adjusted Rand index of those kept", "accuracy": "accuracy of those kept"}


class KeptCurveDisplay:
    """Quality of one or several partitions when the most doubtful objects are put aside.

    Doubt that is worth something lifts the curve to the left: the surer objects are clustered better.

    Make one with `from_partition`; the constructor takes curves that are already computed.

    Parameters
    ----------
    curves : mapping of str to KeptCurve
        Name of each partition, and its curve; all of one quality.

    Attributes
    ----------
    curves
        As given.
    areas : dict of str to float
        Mean quality over the shares of each curve.
    ax_, figure_ : Matplotlib axes and figure
    lines_ : list of lines

    Examples
    --------
    >>> from dempster.cluster import ECM, EVCLUS
    >>> from dempster.datasets import load_iris
    >>> from dempster.plot import KeptCurveDisplay
    >>> iris = load_iris()
    >>> models = {"EVCLUS": EVCLUS(3, random_state=0), "ECM": ECM(3, random_state=0)}
    >>> partitions = {name: model.fit(iris.data).credal_partition_ for name, model in models.items()}
    >>> display = KeptCurveDisplay.from_partition(partitions, iris.target)
    >>> list(display.areas)
    ['EVCLUS', 'ECM']
    """

    def __init__(self, *, curves: Mapping[str, KeptCurve]):
        if not curves or not all(isinstance(curve, KeptCurve) for curve in curves.values()):
            raise InvalidInputError("curves must map at least one name to a KeptCurve")
        self.curves = {str(name): curve for name, curve in curves.items()}
        measures = {curve.measure for curve in self.curves.values()}
        if len(measures) > 1:
            raise InvalidInputError(f"curves must be of one quality, got {', '.join(sorted(measures))}")
        self.areas = {name: curve.area for name, curve in self.curves.items()}

    @classmethod
    def from_partition(
        cls,
        partition: Any,
        y: Any,
        *,
        shares: Any = None,
        doubt: Any = None,
        quality: str = "ari",
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw the curve of a partition of objects whose classes are known, or of several partitions of them.

        Parameters
        ----------
        partition : CredalPartition or labels, or mapping of names to them
        y : array-like of shape (n,)
            True classes.
        shares : array-like, optional
            As in `dempster.explain.kept_curve`.
        doubt : array-like of shape (n,), or mapping of names to them, optional
            Another ranking of the objects; with several partitions, for those that are named.
        quality : {"ari", "accuracy"}, default="ari"
            As in `dempster.explain.kept_curve`.
        ax : Matplotlib axes, optional
        **options
            Passed to `plot`.

        Returns
        -------
        KeptCurveDisplay
        """
        several = isinstance(partition, Mapping)
        named = dict(partition) if several else {"partition": partition}
        if several and doubt is not None and not isinstance(doubt, Mapping):
            raise InvalidInputError("doubt must be a mapping of names to arrays, as partition is")
        rankings = dict(doubt or {}) if several else {"partition": doubt}
        if unknown := [name for name in rankings if name not in named]:
            raise InvalidInputError(
                f"doubt must have names of partitions ({', '.join(map(str, named))}), got {unknown}"
            )
        curves = {
            name: kept_curve(one, y, shares=shares, doubt=rankings.get(name), quality=quality)
            for name, one in named.items()
        }
        return cls(curves=curves).plot(ax=ax, **options)

    @checked_options()
    def plot(
        self,
        *,
        ax: Any = None,
        colors: Sequence[Any] | None = None,
        legend: bool | str = "auto",
        title: str | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Matplotlib axes, optional
            On a new figure by default.
        colors : sequence of colours, optional
        legend : bool or "auto"
            "auto": when there are several curves.
        title : str, optional

        Returns
        -------
        KeptCurveDisplay
        """
        from matplotlib.ticker import PercentFormatter

        palette = cluster_colors(len(self.curves), colors)
        self.ax_ = axes_to_draw_on(ax, (6.4, 4))
        self.figure_ = self.ax_.figure
        self.lines_ = [
            self.ax_.plot(curve.share, curve.quality, color=color, linewidth=1.6, marker="o", markersize=3, label=name)[
                0
            ]
            for (name, curve), color in zip(self.curves.items(), palette, strict=True)
        ]
        quiet_frame(self.ax_)
        self.ax_.grid(axis="y", color="#E5E5E5", linewidth=0.7)
        self.ax_.set_axisbelow(True)
        self.ax_.xaxis.set_major_formatter(PercentFormatter(1, decimals=0))
        self.ax_.set_xlabel("share of objects kept")
        measure = next(iter(self.curves.values())).measure
        self.ax_.set_ylabel(_WORDS.get(measure, measure))
        if wanted(legend, len(self.curves) > 1):
            legend_of_lines(self.ax_, self.lines_)
        if title is not None:
            self.ax_.set_title(title)
        return self
