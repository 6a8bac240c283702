"""Read what a recipe names: a table, several tables of the same objects, dissimilarities, an image."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import listed
from dempster.io import read_table
from dempster.io.atomic import as_file, as_path

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_views", "read_image", "notes_of_reading", "IMAGE_KINDS"]

IMAGE_KINDS = (".png", ".jpg", ".jpeg", ".tif", ".tiff", ".bmp", ".npy")


def read_views(files: Sequence[str | os.PathLike[str]], **options: Any) -> pd.DataFrame:
    """Several tables that describe the same objects, side by side.

    Parameters
    ----------
    files : sequence of paths
        Tables with the same rows, by their names if they have some, else in the same order.
    **options
        Of `dempster.io.read_table`.

    Returns
    -------
    DataFrame
        Columns are called ``file:column``; ``attrs["views"]`` tells the file of each.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster.apps.recipe import read_views
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("shape", "color"):
    ...         _ = Path(folder, f"{name}.csv").write_text("a,b\\n1,2\\n3,4\\n")
    ...     read_views([Path(folder) / "shape.csv", Path(folder) / "color.csv"]).columns.tolist()
    ['shape:a', 'shape:b', 'color:a', 'color:b']
    """
    import pandas as pd

    tables: list[pd.DataFrame] = []
    views: dict[str, str] = {}
    paths = [as_path(file, "files") for file in listed(files, "files", "paths of tables")]
    if not paths:
        raise InvalidInputError("files must hold at least one path, got none")
    for file in paths:
        table = read_table(file, **options)
        name = file.name.split(".")[0]
        if name in views.values():
            raise InvalidInputError(
                f"two files are called {name!r}: rename one, as views are known by the names of their files"
            )
        table.columns = [f"{name}:{column}" for column in table.columns]
        views |= dict.fromkeys(table.columns, name)
        tables.append(table)
    first = tables[0]
    for path, table in zip(paths, tables, strict=True):
        if len(table) != len(first) or set(table.index) != set(first.index):
            raise InvalidInputError(f"{path.name} must have the same rows as {paths[0].name}")
        if list(table.index) != list(first.index) and not table.index.is_unique:
            raise InvalidInputError(f"{path.name} has rows of the same name, which cannot be found in {paths[0].name}")
    ordered = [table.reindex(first.index) if table.index.is_unique else table for table in tables]
    joined = pd.concat(ordered, axis=1)
    joined.attrs = {"views": views}
    return joined


def read_image(path: str | os.PathLike[str]) -> np.ndarray:
    """An image as (height, width, channels) floats: a picture, or an array in a ``.npy`` file.

    Parameters
    ----------
    path : str or path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from dempster.apps.recipe import read_image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(Path(folder) / "gray.npy", np.zeros((4, 5)))
    ...     read_image(Path(folder) / "gray.npy").shape
    (4, 5, 1)
    """
    path = as_file(path)
    if path.suffix.lower() not in IMAGE_KINDS:
        raise InvalidInputError(
            f"{path.name}: an image must be one of {', '.join(IMAGE_KINDS)}, got {path.suffix or 'none'}"
        )
    try:
        image = np.load(path, allow_pickle=False) if path.suffix.lower() == ".npy" else _picture(path)
    except (ValueError, EOFError, OSError, SyntaxError) as error:
        raise InvalidInputError(f"cannot read {path.name} as an image: {' '.join(str(error).split())}") from error
    if not isinstance(image, np.ndarray) or image.ndim not in (2, 3, 4) or image.dtype.kind not in "iufb":
        raise InvalidInputError(f"{path.name} must hold an array of numbers with two to four dimensions")
    return (image[..., None] if image.ndim == 2 else image).astype(float)


def _picture(path: Path) -> np.ndarray:
    from matplotlib.image import imread

    return np.asarray(imread(path))


def notes_of_reading(table: pd.DataFrame, *, header: bool | None = None) -> list[str]:
    """What the reader of a table found out by itself, in words."""
    notes = []
    if table.attrs.get("header") is False and header is None:
        notes.append(f"the file has no header line: its columns are called {table.columns[0]}, ...")
    if "encoding" in table.attrs:
        notes.append(f"the file is not UTF-8: it was read as {table.attrs['encoding']}")
    if table.attrs.get("unnamed_index"):
        notes.append("the first column has no heading: it is taken as the names of the rows")
    for name, what in table.attrs.get("converted", {}).items():
        notes.append(f"read '{name}' as numbers: {what}")
    return notes
