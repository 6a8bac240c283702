"""Tables of constraints, with two objects and "same" or "different" in each row."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import quote_names
from dempster._validation import as_list, check, kind
from dempster.constraints.constraints import Constraints
from dempster.io.atomic import as_file, as_path, atomic_write
from dempster.io.partitions import decode_cell, encode_cell
from dempster.io.tables import read_names, read_quietly

_YES = {"yes", "y", "1", "1.0", "true"}
_NO = {"no", "n", "0", "0.0", "-1", "-1.0", "false"}
SAME = {"same", "must", "must-link", "must_link", "ml", "together"} | _YES
DIFFERENT = {"different", "cannot", "cannot-link", "cannot_link", "cl"} | _NO
_SEPARATORS = {".csv": ",", ".tsv": "\t"}


def read_constraints(path: str | os.PathLike[str], index: Any = None) -> Constraints:
    r"""Read must-link and cannot-link constraints from a file.

    Parameters
    ----------
    path : path
        A table in any format of `dempster.io.read_table`, with or without a header. Its three
        columns contain two objects and ``same`` or ``different`` (or must-link and cannot-link, yes
        and no, 1 and 0). A file that `dempster.persistence.save` wrote from `Constraints` can be
        read, too.
    index : sequence, optional
        Names of the objects. By default the table contains indices, starting at 0.

    Returns
    -------
    Constraints

    Raises
    ------
    ValueError
        If an object is not in ``index``, or if the third column contains an unknown word.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster.constraints import read_constraints
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pairs.csv"
    ...     _ = path.write_text("object,other,answer\nann,bob,same\nann,eve,different\n")
    ...     constraints = read_constraints(path, index=["ann", "bob", "eve"])
    >>> constraints.must_link.tolist(), constraints.cannot_link.tolist()
    ([[0, 1]], [[0, 2]])
    """
    file = as_path(path)
    n_objects = None
    if index is not None:
        index = as_list(index, "index", "the names of the objects")
        n_objects = len(index)
    if file.suffix.lower() == ".dempster":
        # This package must not import persistence, a higher layer, directly.
        constraints = import_module("dempster.persistence").load(file, kind=Constraints)
        if n_objects is not None:
            constraints.check(n_objects)
        return constraints
    table = read_quietly(as_file(file), header=_has_header(file, index))
    if table.shape[1] != 3:
        raise InvalidInputError(
            f"{file.name} must have three columns, got {table.shape[1]}"
        )
    words = _read_answers(table)
    odd = words[~words.isin(SAME | DIFFERENT)]
    if len(odd):
        raise InvalidInputError(
            f"{file.name}: the third column must be 'same' or 'different', got {odd.iloc[0]!r}"
        )
    if index is None:
        positions = [_read_indices(table.iloc[:, j], file) for j in (0, 1)]
    else:
        columns = read_names(file, table, (0, 1))
        positions = [find_positions(names, index, file.name) for names in columns]
    pairs = np.column_stack(positions)
    same = words.isin(SAME).to_numpy()
    return Constraints(pairs[same], pairs[~same], n_objects=n_objects)


def _read_answers(table: Any) -> Any:
    return table.iloc[:, 2].map(lambda word: str(word).strip().lower())


def _has_header(file: Path, index: Sequence[Any] | None) -> bool | None:
    """Return whether the first row is a header, or None if the table reader should decide.

    The first row is not a header if it contains the name of an object. Otherwise it is a header if
    its third value is not an answer. The header ``a,b,same`` is recognized if all values below
    ``same`` are numbers, yes or no.
    """
    try:
        table = read_quietly(file, header=False)
    except ValueError:
        return None
    if table.shape[1] != 3 or not len(table):
        return None
    words = _read_answers(table)
    known = set(map(str, index or ()))
    for names in read_names(file, table, (0, 1)):
        name = names[0].strip()
        if (index is None and name.isdigit()) or known & {name, decode_cell(name)}:
            return False
    if words.iloc[0] not in SAME | DIFFERENT:
        return True
    is_answer = words.isin(_YES | _NO)
    return len(words) > 1 and bool(not is_answer.iloc[0] and is_answer[1:].all())


def write_constraints(
    constraints: Constraints, path: str | os.PathLike[str], index: Any = None
) -> None:
    """Write constraints to a table that `read_constraints` can read.

    The file is written atomically.

    Parameters
    ----------
    constraints : Constraints
        Must-links and cannot-links.
    path : path
        Name of a file that ends with ``.csv`` or ``.tsv``.
    index : sequence, optional
        Names of the objects. By default indices are written.
    """
    import pandas as pd

    file = as_path(path)
    check(constraints, "constraints", kind(Constraints))
    suffix = file.suffix.lower()
    if suffix not in _SEPARATORS:
        raise InvalidInputError(
            f"{file.name}: the extension must be .csv or .tsv, got {file.suffix or 'none'}"
        )
    pairs = np.concatenate([constraints.must_link, constraints.cannot_link])
    table = pd.DataFrame(pairs, columns=["object", "other"])
    if index is not None:
        names = as_list(index, "index", "the names of the objects")
        constraints.check(len(names))
        cells = [encode_cell(one) if isinstance(one, str) else one for one in names]
        table = table.map(cells.__getitem__)
    is_same = np.arange(len(pairs)) < len(constraints.must_link)
    table["answer"] = np.where(is_same, "same", "different")
    with atomic_write(file) as temporary:
        table.to_csv(temporary, index=False, sep=_SEPARATORS[suffix])


def _read_indices(cells: Any, file: Path) -> np.ndarray:
    if len(cells) and cells.dtype.kind not in "iu":
        raise InvalidInputError(
            f"{file.name}: objects must be integers from 0, got {cells.iloc[0]!r}"
        )
    return cells.to_numpy().astype(np.int64)


def find_positions(
    names: Sequence[str], index: Iterable[Any], source: str
) -> np.ndarray:
    """Return the position of each name in ``index``.

    Raise an error for an unknown or ambiguous name.
    """
    places: dict[str, list[int]] = {}
    for place, name in enumerate(map(str, index)):
        places.setdefault(name, []).append(place)
    found = []
    for name in names:
        where = (
            places.get(name)
            or places.get(decode_cell(name))
            or places.get(name.strip())
        )
        if where is None:
            known = quote_names(places, 5)
            raise InvalidInputError(
                f"{source}: unknown object {name!r}; the objects are {known}"
            )
        if len(where) > 1:
            raise InvalidInputError(
                f"{source}: several objects are named {name!r}; names must be unique"
            )
        found += where
    return np.array(found, np.int64)
