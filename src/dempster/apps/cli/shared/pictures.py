"""Pictures as files, drawn without a window."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster.apps.cli.shared.errors import UserError, WrongUse

if TYPE_CHECKING:
    from dempster.apps.recipe import Attributes, Outcome

__all__ = ["PICTURE_KINDS", "check_picture", "draw_attributes", "draw_convergence", "draw_display", "draw_partition"]

PICTURE_KINDS = (".png", ".svg", ".pdf")


def check_picture(path: Path) -> None:
    """Refuse kinds of pictures that cannot be written."""
    if path.suffix.lower() not in PICTURE_KINDS:
        raise WrongUse(f"--plot: the extension must be one of {', '.join(PICTURE_KINDS)}, got {path.suffix or 'none'}")


def draw_partition(outcome: Outcome, path: Path, title: str) -> None:
    """The partition over its attributes, over coordinates made of dissimilarities, or as an image."""
    if outcome.attributes is not None:
        draw_attributes(outcome.estimator, outcome.attributes, path, title)
    elif outcome.recipe.kind == "image":
        _draw_image(outcome, path, title)
    else:
        _draw_dissimilarities(outcome, path, title)


def draw_attributes(estimator: Any, attributes: Attributes, path: Path, title: str) -> None:
    """One or two attributes in the units of the file, more by principal components."""
    from dempster.plot import CredalPartitionDisplay

    numbers = attributes.preparation.numbers
    if not numbers:
        raise UserError("--plot: there is no numeric column to draw; leave out --plot")
    ax = _new_axes((8, 2.6) if len(numbers) == 1 else (8, 5.2))
    options: dict[str, Any] = {"legend": "outside", "title": title}
    shown = attributes.values[numbers]
    if len(numbers) <= 2:
        shown = attributes.table[numbers]
        centers = np.asarray(getattr(estimator, "cluster_centers_", ()))
        if centers.ndim == 2 and centers.shape[1] == shown.shape[1] and centers.dtype.kind == "f":
            options["cluster_centers"] = attributes.preparation.in_units(centers)
    CredalPartitionDisplay.from_partition(estimator.credal_partition_, shown.fillna(shown.mean()), ax=ax, **options)
    _save(ax, path)


def _draw_dissimilarities(outcome: Outcome, path: Path, title: str) -> None:
    from scipy import sparse

    from dempster.dissimilarity import DissimilarityPCA
    from dempster.plot import CredalPartitionDisplay

    D = outcome.prepared.X[0] if isinstance(outcome.prepared.X, list) else outcome.prepared.X
    if sparse.issparse(D):
        raise UserError("--plot: only some pairs are given, which makes no picture; leave out --plot")
    points = DissimilarityPCA(2, whiten=False, symmetrize=True, random_state=0).fit_transform(np.asarray(D))
    ax = _new_axes((8, 5.2))
    CredalPartitionDisplay.from_partition(outcome.partition, points, ax=ax, legend="outside", title=title)
    _save(ax, path)


def _draw_image(outcome: Outcome, path: Path, title: str) -> None:
    """Cluster of each pixel, the paler the less certain."""
    shape = outcome.prepared.X.shape[:-1]
    if len(shape) != 2:
        raise UserError("--plot: only images of two dimensions can be drawn; leave out --plot")
    ax = _new_axes((6, 6 * shape[0] / shape[1]))
    partition = outcome.partition
    colors = np.array([_color(k) for k in range(partition.n_clusters)])[partition.labels]
    sure = partition.singleton_belief.max(axis=1)[:, None]
    ax.imshow((sure * colors + (1 - sure)).reshape(*shape, 3))
    ax.set(title=title, xticks=[], yticks=[])
    _save(ax, path)


def _color(k: int) -> tuple[float, float, float]:
    from matplotlib import colormaps

    return tuple(colormaps["tab20"](k % 20)[:3])  # type: ignore[return-value]


def draw_convergence(estimator: Any, path: Path, title: str) -> None:
    """The objective after every iteration."""
    from dempster.plot import ConvergenceDisplay

    ax = _new_axes((6.4, 4))
    ConvergenceDisplay.from_estimator(estimator, ax=ax, title=title)
    _save(ax, path)


def draw_display(draw: Any, path: Path, size: tuple[float, float] = (7, 4.5)) -> None:
    """Whatever draws itself on axes: a function of ``ax``."""
    ax = _new_axes(size)
    draw(ax)
    _save(ax, path)


def _new_axes(size: tuple[float, float]) -> Any:
    from matplotlib.figure import Figure  # not pyplot: no window, no state to clean up

    return Figure(figsize=size, layout="constrained").add_subplot()


def _save(ax: Any, path: Path) -> None:
    from matplotlib.text import Text

    for text in ax.figure.findobj(Text):  # names of files and columns, in which a $ is a $
        text.set_parse_math(False)
    drawn = BytesIO()  # a writer of pictures that fails half-way says what it failed of in words of its own
    ax.figure.savefig(drawn, dpi=150, format=path.suffix.lower().removeprefix("."))
    path.write_bytes(drawn.getvalue())
