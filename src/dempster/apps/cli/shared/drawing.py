"""Draw plots with Matplotlib and save them to files, without opening a window."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dempster.apps.cli.shared.errors import UserError

if TYPE_CHECKING:
    from dempster.apps.recipe import PreparedTable, Recipe
    from dempster.partition import CredalPartition


def draw_partition(
    recipe: Recipe,
    prepared: PreparedTable,
    partition: CredalPartition,
    path: Path,
    title: str,
) -> None:
    """Draw an image, or one or two columns, principal components or an embedding of the rows."""
    from scipy import sparse

    from dempster.dissimilarity import DissimilarityPCA
    from dempster.plot import CredalPartitionDisplay

    if recipe.kind == "image":
        _draw_image(prepared, partition, path, title)
        return
    height = 5.2
    points: Any
    attributes = prepared.attributes
    if attributes is None:
        D = prepared.X
        if sparse.issparse(D):
            raise UserError(
                "--plot needs the dissimilarities of all pairs, but the matrix is sparse; "
                "remove --plot"
            )
        projection = DissimilarityPCA(2, whiten=False, symmetrize=True, random_state=0)
        points = projection.fit_transform(D)
    else:
        numbers = attributes.preparation.numbers
        if not numbers:
            raise UserError(
                "--plot: the table has no numeric column to draw; remove --plot"
            )
        table = attributes.values
        if len(numbers) <= 2:
            table = attributes.table
        if len(numbers) == 1:
            height = 2.6
        points = table[numbers].fillna(table[numbers].mean())

    def draw(ax: Any) -> None:
        CredalPartitionDisplay.from_partition(
            partition, points, ax=ax, legend="outside", title=title
        )

    draw_picture(draw, path, (8, height))


def _draw_image(
    prepared: PreparedTable, partition: CredalPartition, path: Path, title: str
) -> None:
    """Draw an image with each pixel in the color of its cluster; uncertain pixels are paler."""
    from matplotlib import colormaps

    shape = prepared.X.shape[:-1]
    if len(shape) != 2:
        raise UserError(
            f"--plot needs an image of two dimensions, got {len(shape)}; remove --plot"
        )
    colors = colormaps["tab20"](partition.labels % 20)[:, :3]
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
