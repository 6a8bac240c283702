"""Where a display draws: the axes given, or those of a new figure."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._errors import InvalidInputError

__all__ = ["axes_to_draw_on", "equal_units", "panels_to_draw_on", "quiet_frame", "INK", "GREY"]

INK = "#222222"
GREY = "#8A8A8A"


def axes_to_draw_on(ax: Any, figsize: tuple[float, float]) -> Any:
    """The axes given, or the axes of a new figure that makes room for a legend outside them.

    pyplot is imported only for a new figure: drawing on given axes leaves its state alone.
    """
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=figsize, layout="constrained")[1]


def panels_to_draw_on(axes: Any, number: int, columns: int, size: tuple[float, float]) -> list[Any]:
    """The axes given, as many as asked for, or those of a new figure; ``size`` is that of a panel."""
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
    """Units of the same length along both axes, by their ``"box"`` or ``"datalim"``; by the other one where axes that
    are shared with others allow only that."""
    sharing = [set(group.get_siblings(ax)) - {ax} for group in (ax.get_shared_x_axes(), ax.get_shared_y_axes())]
    if any(other.get_position().bounds == ax.get_position().bounds for other in set.union(*sharing)):
        adjustable = "datalim"  # twins have one box
    elif all(sharing):
        adjustable = "box"
    ax.set_aspect("equal", adjustable=adjustable)


def quiet_frame(ax: Any) -> None:
    """Leave the ink to the data: no upper and right border, grey ticks."""
    for side in ("top", "right"):
        if side in ax.spines:
            ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        if side in ax.spines:
            ax.spines[side].set_color(GREY)
    ax.tick_params(color=GREY, labelcolor="#444444", labelsize="small")
