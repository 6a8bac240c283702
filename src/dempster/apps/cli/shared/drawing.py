"""Draw plots with Matplotlib and save them to files, without opening a window."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster.apps.cli.shared.errors import UserError

if TYPE_CHECKING:
    from dempster.apps.recipe import Attributes, RecipeResult
    from dempster.partition import CredalPartition


def draw_partition(result: RecipeResult, path: Path, title: str) -> None:
    """Draw a partition by its columns, in an embedding of the dissimilarities, or as an image."""
    if result.attributes is not None:
        draw_attributes(result.estimator, result.attributes, path, title)
    elif result.recipe.kind == "image":
        _draw_image(result, path, title)
    else:
        _draw_dissimilarities(result, path, title)


def draw_attributes(
    estimator: Any, attributes: Attributes, path: Path, title: str
) -> None:
    """Draw a partition over one or two columns, or over the principal components of more."""
    numbers = attributes.preparation.numbers
    if not numbers:
        raise UserError(
            "--plot: the table has no numeric column to draw; remove --plot"
        )
    options: dict[str, Any] = {"title": title}
    shown = attributes.values[numbers]
    if len(numbers) <= 2:
        shown = attributes.table[numbers]
        centers = np.asarray(getattr(estimator, "cluster_centers_", ()))
        if (
            centers.ndim == 2
            and centers.shape[1] == shown.shape[1]
            and centers.dtype.kind == "f"
        ):
            options["cluster_centers"] = attributes.preparation.to_original_units(
                centers
            )
    points = shown.fillna(shown.mean())
    height = 2.6 if len(numbers) == 1 else 5.2
    _draw_points(estimator.credal_partition_, points, path, height, **options)


def _draw_dissimilarities(result: RecipeResult, path: Path, title: str) -> None:
    from scipy import sparse

    from dempster.dissimilarity import DissimilarityPCA

    D = result.prepared.X
    if sparse.issparse(D):
        raise UserError(
            "--plot needs the dissimilarities of all pairs, but the matrix is sparse; remove --plot"
        )
    projection = DissimilarityPCA(2, whiten=False, symmetrize=True, random_state=0)
    points = projection.fit_transform(np.asarray(D))
    _draw_points(result.partition, points, path, title=title)


def _draw_points(
    partition: CredalPartition,
    points: Any,
    path: Path,
    height: float = 5.2,
    **options: Any,
) -> None:
    from dempster.plot import CredalPartitionDisplay

    def draw(ax: Any) -> None:
        CredalPartitionDisplay.from_partition(
            partition, points, ax=ax, legend="outside", **options
        )

    draw_picture(draw, path, (8, height))


def _draw_image(result: RecipeResult, path: Path, title: str) -> None:
    """Draw an image with each pixel in the color of its cluster; uncertain pixels are paler."""
    from matplotlib import colormaps

    shape = result.prepared.X.shape[:-1]
    if len(shape) != 2:
        raise UserError(
            f"--plot needs an image of two dimensions, got {len(shape)}; remove --plot"
        )
    partition = result.partition
    palette = np.array(
        [colormaps["tab20"](k % 20)[:3] for k in range(partition.n_clusters)]
    )
    colors = palette[partition.labels]
    certainty = partition.singleton_belief.max(axis=1)[:, None]

    def draw(ax: Any) -> None:
        ax.imshow((certainty * colors + (1 - certainty)).reshape(*shape, 3))
        ax.set(title=title, xticks=[], yticks=[])

    draw_picture(draw, path, (6, 6 * shape[0] / shape[1]))


def draw_picture(
    draw: Callable[[Any], Any], path: Path, size: tuple[float, float] = (7, 4.5)
) -> None:
    """Call ``draw(ax)`` on new axes and save the figure in the format of the file's extension."""
    from matplotlib.figure import Figure  # pyplot would open windows.
    from matplotlib.text import Text

    figure = Figure(figsize=size, layout="constrained")
    draw(figure.add_subplot())
    for text in figure.findobj(Text):
        # A dollar sign in the name of a file or column must not start a formula.
        text.set_parse_math(False)
    # The figure is first written to memory, because Matplotlib raises different errors if the disk
    # is full.
    content = BytesIO()
    figure.savefig(content, dpi=150, format=path.suffix.lower().removeprefix("."))
    path.write_bytes(content.getvalue())
