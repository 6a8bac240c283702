"""Pictures as files, drawn without a window."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evidentia.cli.errors import UserError

if TYPE_CHECKING:
    from evidentia.cli.attributes import Attributes

__all__ = ["PICTURE_KINDS", "check_picture", "draw_partition", "draw_convergence"]

PICTURE_KINDS = (".png", ".svg", ".pdf")


def check_picture(path: Path) -> None:
    """Refuse kinds of pictures that cannot be written."""
    if path.suffix.lower() not in PICTURE_KINDS:
        raise UserError(f"--plot: the extension must be one of {', '.join(PICTURE_KINDS)}, got {path.suffix or 'none'}")


def draw_partition(estimator: Any, attributes: Attributes, path: Path, title: str) -> None:
    """The partition over its attributes; one or two in the units of the file, more by principal components."""
    from evidentia.plot import CredalPartitionDisplay

    ax = _new_axes((8, 2.6) if attributes.table.shape[1] == 1 else (8, 5.2))
    options: dict[str, Any] = {"legend": "outside", "title": title}
    shown = attributes.standardised
    if attributes.table.shape[1] <= 2:
        shown = attributes.table
        centers = np.asarray(getattr(estimator, "cluster_centers_", ()))
        if centers.ndim == 2 and centers.shape[1] == shown.shape[1]:
            options["cluster_centers"] = attributes.in_units(centers)
    CredalPartitionDisplay.from_estimator(estimator, shown, ax=ax, **options)
    _save(ax, path)


def draw_convergence(estimator: Any, path: Path, title: str) -> None:
    """The objective after every iteration."""
    from evidentia.plot import ConvergenceDisplay

    ax = _new_axes((6.4, 4))
    ConvergenceDisplay.from_estimator(estimator, ax=ax, title=title)
    _save(ax, path)


def _new_axes(size: tuple[float, float]) -> Any:
    from matplotlib.figure import Figure  # not pyplot: no window, no state to clean up

    return Figure(figsize=size, layout="constrained").add_subplot()


def _save(ax: Any, path: Path) -> None:
    from matplotlib.text import Text

    for text in ax.figure.findobj(Text):  # names of files and columns, in which a $ is a $
        text.set_parse_math(False)
    ax.figure.savefig(path, dpi=150)
