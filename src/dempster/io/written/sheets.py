"""Spreadsheets: which sheet is read, and formulas whose values nobody has computed."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dempster._errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["cells_as_text", "first_sheet", "refuse_formulas"]


def cells_as_text(cells: pd.Series) -> list[str]:
    """Cells of a sheet as text, nothing where they are empty."""
    return ["" if empty else str(cell) for cell, empty in zip(cells, cells.isna(), strict=True)]


def first_sheet(path: Path) -> str:
    """The name of the first sheet with cells that is not hidden."""
    import openpyxl

    book = openpyxl.load_workbook(path, read_only=True)
    try:
        seen = [sheet.title for sheet in book.worksheets if sheet.sheet_state == "visible"]
    finally:
        book.close()
    if not seen:
        raise InvalidInputError("it has no sheet with cells that can be seen")
    return str(seen[0])


def refuse_formulas(path: Path, sheet: str, empty: np.ndarray) -> None:
    """Refuse formulas that were written without their values, as programs do: they would be read as empty cells.

    ``empty`` tells which cells were found to be so. Formulas whose value is no text are of the kind n, as numbers are.
    """
    import openpyxl

    if not empty.any() or not _has_formulas(path):
        return
    written, found = (openpyxl.load_workbook(path, data_only=only)[sheet] for only in (False, True))
    for row, column in np.argwhere(empty) + 1:
        place = {"row": int(row), "column": int(column)}
        cell = written.cell(**place)
        if cell.data_type == "f" and found.cell(**place).data_type == "n":
            raise InvalidInputError(
                f"its cell {cell.coordinate} holds a formula, {str(cell.value)[:40]}, without its value: open it in a "
                "spreadsheet and save it again"
            )


def _has_formulas(path: Path) -> bool:
    with zipfile.ZipFile(path) as archive:
        sheets = [name for name in archive.namelist() if name.startswith("xl/worksheets/") and name.endswith(".xml")]
        return any(b"<f>" in data or b"<f " in data for data in map(archive.read, sheets))
