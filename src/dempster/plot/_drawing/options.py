"""The door of every picture: what `plot` is given is checked before anything is drawn.

Matplotlib takes nearly everything and complains later, in words of its own and over a half-drawn figure. An option of
a picture means the same in all of them, so its rule goes by its name; words that only one picture knows are given to
`checked_options`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from dempster import _validation as rule

__all__ = ["checked_options", "wanted"]

Options = ParamSpec("Options")
Drawn = TypeVar("Drawn")

_LONGEST_TEXT = 1_000  # Matplotlib lays out longer ones for minutes
_MOST_BINS = 10_000  # bars that nobody could tell apart


def _is_axes(value: Any) -> bool:
    """Axes that lie in a figure (those that were removed do not) and have two straight axes."""
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
    """Text that fonts have letters for, and whose formulas between dollars, if it has some, can be read."""
    from matplotlib.cbook import is_math_text
    from matplotlib.mathtext import MathTextParser

    if not isinstance(value, str) or len(value) > _LONGEST_TEXT:
        return False
    try:
        value.encode()
        if is_math_text(value):
            MathTextParser("path").parse(value)
    except ValueError:
        return False
    return True


_TEXT = rule.Rule(
    f"text of at most {_LONGEST_TEXT:,} characters that can be drawn (with \\$ where a dollar begins no formula)",
    _is_drawable,
)
_RULES = {
    "ax": rule.Rule("Matplotlib axes of a figure, with two straight axes", _is_axes),
    "axes": rule.Rule("Matplotlib axes of a figure, one for each panel", _are_axes),
    "bins": rule.Rule(
        f"an integer from 1 to {_MOST_BINS:,}", lambda v: rule.is_integer(v) and 1 <= int(v) <= _MOST_BINS
    ),
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
    """Around a `plot`: a ValueError names the first option that does not obey the rule of its name.

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
    """A picture with an option that has neither a rule nor words is refused when it is defined."""
    parts = [_RULES[option.name]] if option.name in _RULES or not words else []
    if words:
        parts.append(rule.choice(*words))
    elif option.default == "auto":
        parts.append(rule.choice("auto"))
    if option.default is None:
        parts.insert(0, rule.choice(None))
    return rule.Rule(" or ".join(part.words for part in parts), lambda value: any(part.test(value) for part in parts))


def wanted(value: Any, automatic: bool) -> bool:
    """True or False as given, or what "auto" stands for."""
    return automatic if isinstance(value, str) else bool(value)
