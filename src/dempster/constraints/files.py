"""Constraints as tables that people write: two objects and a word in each line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import listed
from dempster.constraints.constraints import Constraints
from dempster.io import atomic_write
from dempster.io.atomic import as_file, as_path
from dempster.io.partitions import decode_cell, encode_cell
from dempster.io.tables import read_names, read_quietly

SAME = {"same", "must", "must-link", "must_link", "ml", "yes", "y", "1", "1.0", "true", "together"}
DIFFERENT = {"different", "cannot", "cannot-link", "cannot_link", "cl", "no", "n", "0", "0.0", "-1", "-1.0", "false"}
_TICKS = {"yes", "y", "no", "n", "1", "1.0", "0", "0.0", "-1", "-1.0", "true", "false"}


def read_constraints(path: str | os.PathLike[str], index: Any = None, *, n_objects: int | None = None) -> Constraints:
    """Read what is known of pairs of objects.

    Parameters
    ----------
    path : path
        A table of three columns (any kind that `dempster.io.read_table` reads), with or without names of columns: two
        objects and a word, ``same`` or ``different`` (also must-link and cannot-link, yes and no, 1 and 0); or a file
        of `dempster.persistence.save` that holds `Constraints`.
    index : sequence, optional
        Names of the objects, in their order. Without it the table holds positions from 0.
    n_objects : int, optional
        How many objects there are; that of ``index`` if this is given.

    Returns
    -------
    Constraints

    Raises
    ------
    ValueError
        An object is not known, or a word says neither of the two.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster.constraints import read_constraints
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pairs.csv"
    ...     _ = path.write_text("object,other,answer\\nann,bob,same\\nann,eve,different\\n")
    ...     known = read_constraints(path, index=["ann", "bob", "eve"])
    >>> known.must_link.tolist(), known.cannot_link.tolist()
    ([[0, 1]], [[0, 2]])
    """
    file = as_path(path)
    index = None if index is None else listed(index, "index", "the names of the objects")
    n = n_objects if index is None else len(index)
    if file.suffix.lower() == ".dempster":
        # model files belong to the layer above, which knows what a file may hold, constraints among it
        known = import_module("dempster.persistence").load(file, kind=Constraints)
        if n is not None:
            known.check(n)
        return known
    table = read_quietly(as_file(file), header=_has_header(file, index))
    if table.shape[1] != 3:
        raise InvalidInputError(f"{file.name} must have three columns, two objects and a word, got {table.shape[1]}")
    words = table.iloc[:, 2].map(lambda word: str(word).strip().lower())
    odd = words[~words.isin(SAME | DIFFERENT)]
    if len(odd):
        raise InvalidInputError(f"{file.name}: the third column must say 'same' or 'different', got {odd.iloc[0]!r}")
    if index is None:
        pairs = np.column_stack([_numbered(table.iloc[:, j], file) for j in (0, 1)])
    else:
        pairs = np.column_stack([positions_of(names, index, file.name) for names in read_names(file, table, (0, 1))])
    same = words.isin(SAME).to_numpy()
    return Constraints(pairs[same], pairs[~same], n_objects=n)


def _has_header(file: Path, index: Sequence[Any] | None) -> bool | None:
    """Whether the first of three cells are names of columns: not if one is an object, or the third says what is known
    of a pair; but if it says so in words, ``a,b,same``, and all below do by 1 and 0, or yes and no."""
    try:
        table = read_quietly(file, header=False)
    except ValueError:
        return None  # the reader will say what is wrong with it
    if table.shape[1] != 3 or not len(table):
        return None
    words = table.iloc[:, 2].map(lambda word: str(word).strip().lower())
    first = [names[0].strip() for names in read_names(file, table, (0, 1))]
    known = set() if index is None else set(map(str, index))
    objects = [name.isdigit() if index is None else bool({name, decode_cell(name)} & known) for name in first]
    if words.iloc[0] not in SAME | DIFFERENT:
        return not any(objects)
    return not any(objects) and words.iloc[0] not in _TICKS and len(words) > 1 and bool(words[1:].isin(_TICKS).all())


def write_constraints(constraints: Constraints, path: str | os.PathLike[str], index: Any = None) -> None:
    """Write constraints as a table that `read_constraints` reads, whole or not at all.

    Parameters
    ----------
    constraints : Constraints
    path : path
        ``.csv`` or ``.tsv``.
    index : sequence, optional
        Names of the objects; positions from 0 without it.
    """
    import pandas as pd

    file = as_path(path)
    if not isinstance(constraints, Constraints):
        raise InvalidParameterError("constraints", "Constraints", constraints)
    if file.suffix.lower() not in (".csv", ".tsv"):
        raise InvalidInputError(f"{file.name}: the extension must be .csv or .tsv, got {file.suffix or 'none'}")
    pairs = np.concatenate([constraints.must_link, constraints.cannot_link])
    names = pairs if index is None else _named(index, pairs)
    answers = ["same"] * len(constraints.must_link) + ["different"] * len(constraints.cannot_link)
    table = pd.DataFrame({"object": names[:, 0], "other": names[:, 1], "answer": answers})
    with atomic_write(file) as temporary:
        table.to_csv(temporary, index=False, sep="\t" if file.suffix.lower() == ".tsv" else ",")


def _named(index: Any, pairs: np.ndarray) -> np.ndarray:
    listing = listed(index, "index", "the names of the objects")
    if len(listing) <= pairs.max(initial=-1):
        raise InvalidParameterError(
            "index", must=f"name every object, got {len(listing):,} names and the object {pairs.max():,}"
        )
    names = np.empty(len(listing), dtype=object)
    names[:] = [encode_cell(name) if isinstance(name, str) else name for name in listing]
    return names[pairs]


def _numbered(cells: Any, file: Path) -> np.ndarray:
    """Positions of objects that are told by their numbers."""
    if len(cells) and cells.dtype.kind not in "iu":
        raise InvalidInputError(f"{file.name}: objects must be numbered from 0, got {cells.iloc[0]!r}")
    return cells.to_numpy().astype(np.int64)


def positions_of(names: Sequence[str], index: Iterable[Any], source: str) -> np.ndarray:
    """Positions of objects that are told by their names; a name that is not known, or not one object's, is refused."""
    places: dict[str, list[int]] = {}
    for place, name in enumerate(map(str, index)):
        places.setdefault(name, []).append(place)
    found = []
    for name in names:
        where = places.get(name) or places.get(decode_cell(name)) or places.get(name.strip())
        if where is None:
            raise InvalidInputError(f"{source}: there is no object {name!r}")
        if len(where) > 1:
            raise InvalidInputError(f"{source}: there are several objects called {name!r}; give them different names")
        found += where
    return np.array(found, dtype=np.int64)
