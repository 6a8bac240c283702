"""Shared by all displays: axes, colors, checked options and arguments, legends, and labels beside points."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import printable
from dempster._validation import as_reals, check, listed, real, shown
from dempster.plot.palette import PALETTE

__all__ = [
    "axes_to_draw_on",
    "equal_units",
    "panels_to_draw_on",
    "finish_axes",
    "INK",
    "GREY",
    "PALETTE",
    "cluster_colors",
    "mixed_colors",
    "finite_numbers",
    "numbers_of_clusters",
    "named",
    "number",
    "named_estimators",
    "checked_options",
    "wanted",
    "shown_names",
    "legend_of_lines",
    "legend_of_names",
    "place_labels",
]


INK = "#222222"
GREY = "#8A8A8A"


def axes_to_draw_on(ax: Any, figsize: tuple[float, float]) -> Any:
    """Return the given axes, or the axes of a new figure that makes room for a legend outside them.

    pyplot is imported only for a new figure: drawing on given axes leaves its state alone.
    """
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=figsize, layout="constrained")[1]


def panels_to_draw_on(axes: Any, number: int, columns: int, size: tuple[float, float]) -> list[Any]:
    """Return the given axes, or the panels of a new figure; ``size`` is that of a panel."""
    if axes is not None:
        given = list(np.ravel(np.asarray(axes, dtype=object)))
        if len(given) != number:
            raise InvalidInputError(f"axes must hold {number} Matplotlib axes, got {len(given)}")
        return given
    import matplotlib.pyplot as plt

    rows = -(-number // columns)
    figure, grid = plt.subplots(
        rows, columns, figsize=(size[0] * columns, size[1] * rows), layout="constrained", squeeze=False
    )
    for spare in grid.ravel()[number:]:
        figure.delaxes(spare)
    return list(grid.ravel()[:number])


def equal_units(ax: Any, adjustable: str) -> None:
    """Make units equally long on both axes by adapting ``"box"`` or ``"datalim"``.

    Axes that are shared with others allow only one of the two.
    """
    sharing = [set(group.get_siblings(ax)) - {ax} for group in (ax.get_shared_x_axes(), ax.get_shared_y_axes())]
    if any(other.get_position().bounds == ax.get_position().bounds for other in set.union(*sharing)):
        adjustable = "datalim"  # twins have one box
    elif all(sharing):
        adjustable = "box"
    ax.set_aspect("equal", adjustable=adjustable)


def finish_axes(
    ax: Any,
    xlabel: str | None = None,
    ylabel: str | None = None,
    title: str | None = None,
    *,
    grid: bool = False,
    whole_numbers: bool = False,
) -> None:
    """Label the axes and leave the ink to the data: no upper and right border, grey ticks.

    ``grid`` draws horizontal lines, ``whole_numbers`` puts the horizontal ticks at integers.
    """
    for side in ("top", "right"):
        if side in ax.spines:
            ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        if side in ax.spines:
            ax.spines[side].set_color(GREY)
    ax.tick_params(color=GREY, labelcolor="#444444", labelsize="small")
    if grid:
        ax.grid(axis="y", color="#E5E5E5", linewidth=0.7)
        ax.set_axisbelow(True)
    if whole_numbers:
        from matplotlib.ticker import MaxNLocator

        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    for text, write in ((xlabel, ax.set_xlabel), (ylabel, ax.set_ylabel), (title, ax.set_title)):
        if text is not None:
            write(text)


def cluster_colors(n_clusters: int, colors: Sequence[Any] | None = None) -> np.ndarray:
    """Return (c, 3) colors; the palette repeats after twenty clusters, which then need their names in the picture."""
    from matplotlib.colors import to_rgb

    if colors is None:
        colors = [PALETTE[k % len(PALETTE)] for k in range(n_clusters)]
    elif len(colors) < n_clusters:
        raise InvalidParameterError("colors", f"a sequence of at least {n_clusters} colours", colors)
    return np.array([to_rgb(color) for color in list(colors)[:n_clusters]]).reshape(n_clusters, 3)


def mixed_colors(sets: np.ndarray, colors: np.ndarray) -> np.ndarray:
    """Return the (s, 3) mean color of the clusters of each set, a row of a Boolean table (s, c)."""
    return (sets @ colors) / np.maximum(sets.sum(axis=1, keepdims=True), 1)


def finite_numbers(values: Any, name: str, length: int | None = None) -> np.ndarray:
    """Validate a nonempty sequence of finite numbers, ``length`` of them if given."""
    array = as_reals(values, name).astype(float, copy=False)
    if array.ndim != 1 or len(array) == 0 or not np.isfinite(array).all():
        raise InvalidInputError(f"{name} must be a nonempty sequence of finite numbers, got shape {array.shape}")
    if length is not None and len(array) != length:
        raise InvalidInputError(f"{name} must hold {length} numbers, one for each pair, got {len(array)}")
    return array


def numbers_of_clusters(n_clusters: Any) -> np.ndarray:
    """Validate an increasing sequence of integers."""
    array = as_reals(n_clusters, "n_clusters")
    if array.ndim != 1 or len(array) == 0 or (array % 1 != 0).any() or (np.diff(array) <= 0).any():
        raise InvalidParameterError("n_clusters", "a nonempty increasing sequence of integers", n_clusters)
    return array.astype(np.intp)


def named(values: Any, name: str) -> list[tuple[Any, Any]]:
    """Return the items of a mapping, none for None."""
    if values is None:
        return []
    if not isinstance(values, Mapping):
        raise InvalidInputError(f"{name} must be a mapping of names, got {type(values).__name__}")
    return list(values.items())


def number(value: Any, name: str) -> float:
    """Validate a finite number."""
    check(value, name, real())
    return float(value)


def named_estimators(estimator: Any, names: Sequence[str] | None) -> dict[str, Any]:
    """Return one estimator, a sequence or a mapping of them by name.

    Without names they are called by their classes, numbered where these repeat.
    """
    if isinstance(estimator, Mapping):
        if names is not None:
            raise InvalidInputError("names must be None when the estimators come with their names in a mapping")
        return {str(name): one for name, one in estimator.items()}
    several = list(estimator) if isinstance(estimator, list | tuple) else [estimator]
    if names is None:
        classes = [type(one).__name__ for one in several]
        names = [
            name if classes.count(name) == 1 else f"{name} {classes[:i].count(name) + 1}"
            for i, name in enumerate(classes)
        ]
    else:
        names = listed(names, "names", f"{len(several)} different names")
        if len(names) != len(several) or len(set(map(str, names))) != len(names):
            raise InvalidInputError(f"names must hold {len(several)} different names, got {shown(names)}")
    return dict(zip(map(str, names), several, strict=True))


Options = ParamSpec("Options")
Drawn = TypeVar("Drawn")

_MAX_TEXT = 1_000  # Matplotlib lays out longer ones for minutes
_MAX_BINS = 10_000  # bars that nobody could tell apart


def _is_axes(value: Any) -> bool:
    """Return whether these are rectilinear axes that lie in a figure (removed ones do not)."""
    from matplotlib.axes import Axes

    return isinstance(value, Axes) and value.figure is not None and value.name == "rectilinear"


def _are_axes(value: Any) -> bool:
    try:
        return all(map(_is_axes, np.ravel(np.asarray(value, dtype=object))))
    except ValueError:
        return False


def _is_color(value: Any) -> bool:
    from matplotlib.colors import is_color_like

    try:
        return bool(is_color_like(value)) and not np.ma.is_masked(value)
    except Exception:  # whatever comparing or reading an unknown object raises: it is no color
        return False


def _are_colors(value: Any) -> bool:
    if isinstance(value, str | bytes | Mapping | set | frozenset) or not hasattr(value, "__iter__"):
        return False
    try:
        return all(map(_is_color, value)) and len(value) >= 0
    except Exception:
        return False


def _is_colormap(value: Any) -> bool:
    from matplotlib import colormaps
    from matplotlib.colors import Colormap

    return isinstance(value, Colormap) or (isinstance(value, str) and value in colormaps)


def _is_drawable(value: Any) -> bool:
    """Return whether text can be encoded and its formulas between dollars, if any, can be parsed."""
    from matplotlib.cbook import is_math_text
    from matplotlib.mathtext import MathTextParser

    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        return False
    try:
        value.encode()
        if is_math_text(value):
            MathTextParser("path").parse(value)
    except ValueError:
        return False
    return True


_TEXT = rule.Rule(
    f"text of at most {_MAX_TEXT:,} characters that can be drawn (with \\$ where a dollar begins no formula)",
    _is_drawable,
)
_RULES = {
    "ax": rule.Rule("Matplotlib axes of a figure, with two straight axes", _is_axes),
    "axes": rule.Rule("Matplotlib axes of a figure, one for each panel", _are_axes),
    "bins": rule.Rule(f"an integer from 1 to {_MAX_BINS:,}", lambda v: rule.is_integer(v) and 1 <= int(v) <= _MAX_BINS),
    "boundary": rule.flag,
    "centers": rule.flag,
    "cmap": rule.Rule("a colormap of Matplotlib or the name of one", _is_colormap),
    "color": rule.Rule("a color of Matplotlib, as 'red', '#0072B2' or (0, 0.4, 0.7)", _is_color),
    "colorbar": rule.flag,
    "colors": rule.Rule("a sequence of colors of Matplotlib", _are_colors),
    "label": _TEXT,
    "labels": rule.flag,
    "legend": rule.flag,
    "levels": rule.array,
    "lower": rule.flag,
    "mark_best": rule.flag,
    "marker_size": rule.real(0, 1e6, open_low=True),
    "most": rule.integer(1),
    "n_columns": rule.integer(1),
    "n_features": rule.integer(1),
    "n_groups": rule.integer(1),
    "points": rule.flag,
    "sort": rule.flag,
    "thresholds": rule.flag,
    "title": _TEXT,
    "upper": rule.flag,
    "witnesses": rule.flag,
}


def checked_options(**words: tuple[str, ...]) -> Callable[[Callable[Options, Drawn]], Callable[Options, Drawn]]:
    """Decorate `plot`: an error names the first option that does not obey the rule of its name.

    An option whose default is None may be None, one whose default is "auto" may be that. ``words``: what an option of
    this picture alone may be, besides what its rule allows if it has one.
    """

    def around(plot: Callable[Options, Drawn]) -> Callable[Options, Drawn]:
        signature = inspect.signature(plot)
        options = [parameter for name, parameter in signature.parameters.items() if name != "self"]
        rules = {option.name: _rule_of(option, words.get(option.name, ())) for option in options}

        @wraps(plot)
        def drawn(*arguments: Options.args, **given: Options.kwargs) -> Drawn:
            for name, value in signature.bind(*arguments, **given).arguments.items():
                if name != "self":
                    rule.check(value, name, rules[name])
            return plot(*arguments, **given)

        return drawn

    return around


def _rule_of(option: inspect.Parameter, words: tuple[str, ...]) -> rule.Rule:
    """Return the rule of an option; one without a rule or words is an error when the display is defined."""
    parts = [_RULES[option.name]] if option.name in _RULES or not words else []
    if words:
        parts.append(rule.choice(*words))
    elif option.default == "auto":
        parts.append(rule.choice("auto"))
    if option.default is None:
        parts.insert(0, rule.choice(None))
    return rule.Rule(" or ".join(part.words for part in parts), lambda value: any(part.test(value) for part in parts))


def wanted(value: Any, automatic: bool) -> bool:
    """Return a flag as given, or what "auto" stands for."""
    return automatic if isinstance(value, str) else bool(value)


def shown_names(names: Any, argument: str, number: int) -> list[str]:
    """Validate a number of names and return them as text that can be drawn."""
    if isinstance(names, str):
        raise InvalidInputError(f"{argument} must be a sequence of {number} names, got the text {names!r}")
    given = [printable(name) for name in listed(names, argument, f"{number} names")]
    if len(given) != number:
        raise InvalidInputError(f"{argument} must hold {number} names, got {len(given)}")
    return given


def legend_of_lines(ax: Any, lines: Sequence[Any]) -> None:
    """Draw a legend of lines, and of other artists that have a name."""
    others = [handle for handle in ax.get_legend_handles_labels()[0] if handle not in lines]
    legend_of_names(ax, [*others, *lines], fontsize="small", frameon=False)


def legend_of_names(ax: Any, handles: Sequence[Any], **style: Any) -> Any:
    """Draw a legend in which a $ is a $, and a name may begin with an underscore."""
    drawn = ax.legend(handles, [printable(handle.get_label()) for handle in handles], **style)
    for text in drawn.get_texts():
        text.set_parse_math(False)
    return drawn


# Eight directions in the order of preference: right, above, below and left first, then the corners; then farther out.
_DIRECTIONS = np.array([(1, 0), (0, 1), (0, -1), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1)], dtype=float)
_RINGS = (5.0, 14.0, 26.0, 40.0)  # distance from the point to the nearest edge of its name, in points
_LEADER_FROM = 14.0  # names this far away are tied to their points by a line


def place_labels(
    ax: Any, points: np.ndarray, names: Sequence[str], *, avoid: Sequence[Any] = (), **style: Any
) -> list[Any]:
    """Annotate each point with its name and return the annotations.

    One after the other, each name takes the nearest place that covers no point, no earlier name, none of the artists
    to avoid and no border; where there is none, the place that covers least.
    """
    annotations = [
        ax.annotate(
            name, point, xytext=(0, 0), textcoords="offset points", ha="center", va="center", parse_math=False, **style
        )
        for name, point in zip(names, points, strict=True)
    ]
    dots_per_point = ax.figure.dpi / 72
    anchors = ax.transData.transform(points) / dots_per_point
    frame = np.array(ax.get_window_extent().extents) / dots_per_point
    extents = [text.get_window_extent() for text in annotations]
    sizes = np.array([(box.width, box.height) for box in extents]).reshape(-1, 2) / dots_per_point
    taken = [np.concatenate([anchor - 4, anchor + 4]) for anchor in anchors]
    taken += [np.array(artist.get_window_extent().extents) / dots_per_point for artist in avoid]
    for text, anchor, size in zip(annotations, anchors, sizes, strict=True):
        offsets, rings = _candidates(size)
        boxes = np.hstack([anchor + offsets - size / 2, anchor + offsets + size / 2])
        cost = _covered(boxes, np.array(taken)) + 3 * _outside(boxes, frame)
        best = int(np.argmin(cost))  # the first, that is the most liked, of the cheapest
        text.set_position(tuple(offsets[best]))
        taken.append(boxes[best])
        if rings[best] >= _LEADER_FROM:
            _tie(ax, text, style.get("zorder", 3))
    return annotations


def _candidates(size: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return offsets of the middle of a name from its point, and the ring of each."""
    rings = np.repeat(_RINGS, len(_DIRECTIONS))
    directions = np.tile(_DIRECTIONS, (len(_RINGS), 1))
    diagonal = np.abs(directions).sum(axis=1) == 2
    reach = np.where(diagonal, rings * np.sqrt(0.5), rings)[:, None]
    return directions * (size / 2 + reach), rings


def _covered(boxes: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """Return the area that each box shares with boxes already taken."""
    low = np.maximum(boxes[:, None, :2], taken[None, :, :2])
    high = np.minimum(boxes[:, None, 2:], taken[None, :, 2:])
    return np.clip(high - low, 0, None).prod(axis=2).sum(axis=1)


def _outside(boxes: np.ndarray, frame: np.ndarray) -> np.ndarray:
    """Return the area of each box outside the frame of the axes."""
    low, high = np.maximum(boxes[:, :2], frame[:2]), np.minimum(boxes[:, 2:], frame[2:])
    inside = np.clip(high - low, 0, None).prod(axis=1)
    return np.clip((boxes[:, 2:] - boxes[:, :2]).prod(axis=1) - inside, 0, None)


def _tie(ax: Any, text: Any, zorder: float) -> None:
    line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 3}
    ax.annotate(
        "",
        text.xy,
        xytext=text.get_position(),
        textcoords="offset points",
        arrowprops=line,
        zorder=zorder - 0.5,
    )
