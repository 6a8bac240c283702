r"""Read and write credal partitions as tables (CSV, TSV, Parquet) or compact archives (NPZ).

A table has a row for each object with its name, the most plausible cluster (``label``), the same
label with -1 for outliers (``label_with_outliers``), the set of clusters with the largest mass
(``assignment``), and a column of masses for each focal set. The heading of such a column is the
name of the set (``∅``, ``{0}``, ``{0,1}``, ``Ω``; see `FocalSets.names`). An archive contains the
same data as arrays. Neither format contains code.

A cluster name that is text but looks like a number, or contains one of the characters ``, { } "
\``, is written as a JSON string (``{"a,b",c}``). The frame is the list of cluster names in the
order in which they first occur in the headings. If the order in the frame is different, the table
has an additional empty column with the heading ``frame={a,b,c}``.
"""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import check, check_memory, format_value, integer
from dempster.belief import FocalSets
from dempster.io.atomic import as_file, as_path, wrap_read_errors, write_atomically
from dempster.io.dialect import Dialect, sniff
from dempster.io.tables import detect_format, exact_float_options, parse_index, parse_scalar
from dempster.io.text import open_text, split_cells
from dempster.partition import CredalPartition
from dempster.partition.lazy import family_with_frame, top_masses

if TYPE_CHECKING:
    import pandas as pd


PARTITION_FORMATS = {".csv": "text", ".tsv": "text", ".parquet": "parquet", ".npz": "npz"}
_SETS = "conformal_set"  # heading of the column of sets that `write_partition` gets as an argument
_DERIVED = ("label", "label_with_outliers", "assignment", _SETS)
# headings of a first column with positions 0, 1, ... or with names
_POSITION = "row"
_OBJECT = "object"
# arrays of an archive
_ARRAYS = ("masses", "membership", "frame", "metadata", "index", "index_name")
_EMPTY = "∅"
_WHOLE = "Ω"
_FRAME = "frame="
_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|[^,{}"\\]+')
_SPECIAL = re.compile(r'[,{}"\\\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]')
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_SPARSE_KEY = b"dempster-sparse"  # metadata key of the Parquet files of `write_top_masses`
_MAX_ROUNDING_UNITS = 64  # Masses are not normalized again if the sum is one within this error.


def write_partition(
    partition: CredalPartition, path: str | os.PathLike[str], *, sets: np.ndarray | None = None
) -> None:
    """Write a credal partition to a file, completely or not at all.

    Parameters
    ----------
    partition : CredalPartition
        Partition to write. The names of its clusters must be text or numbers.
    path : path
        File with the extension ``.csv``, ``.tsv``, ``.parquet`` or ``.npz``. All formats store the
        masses exactly. Names of objects are read back as integers, floats or text. Text files
        convert names of other types (dates, tuples) to text. Only Parquet and ``.npz`` store
        ``metadata`` and single precision.
    sets : Boolean array of shape (n_objects, n_clusters), optional
        Sets of clusters, such as ``ConformalClustering.sets_``. A table gets a column
        ``conformal_set`` with values such as ``0|3`` (``∅`` for an empty set), and an archive an
        array ``sets``. `read_partition` ignores them.

    See Also
    --------
    read_partition

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.io import read_partition, write_partition
    >>> cp = CredalPartition([[0, 1, 0, 0], [0, 0.25, 0.25, 0.5]], FocalSets.full(2), index=["ann", "bob"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     write_partition(cp, path)
    ...     print(path.read_text().strip())
    ...     read_partition(path)
    object,label,label_with_outliers,assignment,∅,{0},{1},Ω
    ann,0,0,{0},0.0,1.0,0.0,0.0
    bob,0,0,Ω,0.0,0.25,0.25,0.5
    CredalPartition(2 objects, 2 clusters)
    ann: {0}: 1
    bob: {0}: 0.25  {1}: 0.25  Ω: 0.5
    """
    check_partition(partition)
    path = as_path(path)
    kind = detect_format(path, PARTITION_FORMATS)
    if path.suffix.lower() == ".gz":
        raise InvalidInputError(
            f"{path.name}: use .parquet or .npz to write a compressed partition"
        )
    if sets is not None:
        sets = np.asarray(sets)
        shape = (len(partition), partition.n_clusters)
        if sets.shape != shape or sets.dtype != bool:
            got = f"{sets.dtype} array of shape {sets.shape}"
            raise InvalidParameterError(
                "sets", must=f"be a Boolean array of shape {shape}, got {got}"
            )
    write = {"text": _write_text, "parquet": _write_parquet, "npz": _write_npz}[kind]
    with write_atomically(path) as temporary:
        write(partition.to_numpy(), temporary, sets)


def read_partition(path: str | os.PathLike[str]) -> CredalPartition:
    """Read a credal partition written by `write_partition`, without executing code from the file.

    Parameters
    ----------
    path : path
        File with the extension ``.csv`` or ``.tsv`` (also ``.gz``), ``.parquet`` or ``.npz``.
        Additional columns of a table are ignored.

    Returns
    -------
    CredalPartition

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        The file contains no partition, or masses are negative or do not sum to one.
    """
    path = as_file(path)
    kind = detect_format(path, PARTITION_FORMATS)
    with wrap_read_errors(path):
        return {"text": _read_text, "parquet": _read_parquet, "npz": _read_npz}[kind](path)


def check_partition(partition: CredalPartition) -> None:
    """Raise InvalidParameterError if the argument is not a credal partition."""
    if not isinstance(partition, CredalPartition):
        raise InvalidParameterError("partition", "a CredalPartition", partition)


# ---- names of clusters, sets and objects ---------------------------------------------------------


def encode_name(name: Hashable) -> str:
    """Encode the name of a cluster as text that `decode_name` converts back."""
    if isinstance(name, np.generic):
        value = name.item()
    else:
        value = name
    if isinstance(value, bool | int | float):
        return repr(value)
    if not isinstance(value, str):
        raise InvalidInputError(f"cluster names must be text or numbers, got {format_value(name)}")
    plain = (
        value
        and value == value.strip()
        and not _SPECIAL.search(value)
        and decode_name(value) == value
    )
    if plain:
        return value
    return json.dumps(value)


def decode_name(text: str) -> Any:
    """Return the name of a cluster that `encode_name` encoded."""
    if text in ("True", "False"):
        return text == "True"
    if text.startswith('"'):
        return json.loads(text)
    return parse_scalar(text)


def encode_cell(text: str) -> str:
    """Encode a name as a cell, with an apostrophe in front if a spreadsheet would read the name as a formula."""
    if _FORMULA.match(text):
        return f"'{text}"
    return text


def decode_cell(text: str) -> str:
    """Return a name that `encode_cell` encoded."""
    if text.startswith("'") and _FORMULA.match(text[1:]):
        return text[1:]
    return text


def encode_headings(
    focal_sets: FocalSets, frame: Sequence[Hashable]
) -> tuple[list[str], str | None]:
    """Return the headings of the columns of masses, and the heading of the frame column (None if not needed)."""
    names = [encode_name(name) for name in frame]
    headings = focal_sets.names(names)
    implied = _names_in_order([_members(heading) for heading in headings])
    return headings, None if implied == names else f"{_FRAME}{{{','.join(names)}}}"


def is_set_heading(text: str) -> bool:
    """Return whether a column heading denotes a set of clusters."""
    return text in (_EMPTY, _WHOLE) or (text.startswith("{") and text.endswith("}"))


def decode_headings(headings: Sequence[str]) -> tuple[list[int], FocalSets, tuple[Hashable, ...]]:
    """Return the positions of the columns of masses, their focal sets, and the names of the clusters."""
    positions = [i for i, heading in enumerate(headings) if is_set_heading(heading)]
    if not positions:
        raise InvalidInputError("no column heading is a set of clusters, such as {0} or {0,1}")
    sets = [_members(headings[i]) for i in positions]
    written = next((h.removeprefix(_FRAME) for h in headings if h.startswith(_FRAME)), None)
    if written is None:
        frame = _names_in_order(sets)
    else:
        frame = _members(written) or []
    order = {name: k for k, name in enumerate(frame)}
    if not frame or len(order) < len(frame):
        raise InvalidInputError("the column headings do not contain unique names of the clusters")
    rows = np.zeros((len(positions), len(frame)), dtype=bool)
    for row, members in zip(rows, sets, strict=True):
        unknown = [name for name in members or [] if name not in order]
        if unknown:
            raise InvalidInputError(
                f"cluster {unknown[0]} is not in the frame {{{','.join(frame)}}}"
            )
        row[[order[name] for name in frame if members is None or name in members]] = True
    return positions, FocalSets(rows), tuple(decode_name(name) for name in frame)


def _members(heading: str) -> list[str] | None:
    """Return the encoded names of the clusters in a set, given its heading.

    Return None for the whole frame.
    """
    if heading == _WHOLE:
        return None
    if heading == _EMPTY:
        return []
    inside = heading[1:-1]
    names = _NAME.findall(inside)
    if not heading.startswith("{") or not names or ",".join(names) != inside:
        raise InvalidInputError(f"{heading!r} is not a set of clusters such as {{0,1}}")
    return names


def _names_in_order(sets: Sequence[list[str] | None]) -> list[str]:
    return list(dict.fromkeys(name for members in sets for name in members or []))


# ---- tables --------------------------------------------------------------------------------------


def _to_table(partition: CredalPartition, sets: np.ndarray | None) -> pd.DataFrame:
    import pandas as pd

    headings, frame_heading = encode_headings(partition.focal_sets, partition.frame)
    heading, names = _object_names(partition)
    # The last entry is for label -1 (outliers).
    clusters = np.array([*map(str, partition.frame), "-1"])
    if all(
        isinstance(name, int | np.integer) and not isinstance(name, bool)
        for name in partition.frame
    ):
        clusters = np.array([*map(int, partition.frame), -1])
    first = {
        heading: names,
        "label": clusters[partition.labels],
        "label_with_outliers": clusters[partition.labels_with_outliers],
        "assignment": np.array(partition.focal_sets.names(partition.frame))[partition.best_set],
    }
    if sets is not None:
        distinct, which = np.unique(sets, axis=0, return_inverse=True)
        names = [encode_name(name) for name in partition.frame]
        texts = ["|".join(np.array(names)[members]) or _EMPTY for members in distinct]
        first[_SETS] = np.array(texts, dtype=object)[which.ravel()]
    masses = pd.DataFrame(partition.masses, columns=headings)
    table = pd.concat([pd.DataFrame(first), masses], axis=1)
    if frame_heading is not None:
        table[frame_heading] = ""
    return table


def _object_names(partition: CredalPartition) -> tuple[str, Any]:
    """Return the heading and the cells of the column with the names of the objects."""
    if partition.index is None:
        return _POSITION, np.arange(len(partition))
    name = getattr(partition.index, "name", None)
    if name is None:
        heading = _OBJECT
    else:
        heading = " ".join(str(name).split())
    if (
        heading in ("", _POSITION, *_DERIVED)
        or is_set_heading(heading)
        or heading.startswith(_FRAME)
    ):
        heading = _OBJECT
    values = np.asarray(partition.index)
    if values.ndim != 1 or values.dtype.kind not in "iufMm":
        values = np.array([_to_text(value) for value in partition.index], dtype=object)
        if len(set(values)) < len({(type(name), str(name)) for name in partition.index}):
            raise InvalidInputError(
                "index contains different names with the same text, such as 1 and '1'; convert all"
            )
    return heading, values


def _to_text(value: Any) -> str:
    if isinstance(value, np.generic):
        plain = value.item()
    else:
        plain = value
    if isinstance(plain, float):
        return repr(plain)
    return str(plain)


def _write_text(partition: CredalPartition, path: Path, sets: np.ndarray | None) -> None:
    table = _to_table(partition, sets)
    names = table.iloc[:, 0]
    # Some programs treat a carriage return as the end of a line, unless the cell is quoted.
    has_returns = any("\r" in str(name) for name in partition.frame)
    quoting: Any = csv.QUOTE_NONNUMERIC if has_returns else csv.QUOTE_MINIMAL
    if names.dtype.kind in "Mm":
        table.isetitem(0, names.astype(str).tolist())
    elif names.dtype.kind not in "iuf":
        cells = [encode_cell(name) for name in names]
        table.isetitem(0, np.array(cells, dtype=object))
        # Quotation marks distinguish text from numbers, and protect carriage returns.
        if (
            not isinstance(parse_index(cells), list)
            or any("\r" in name for name in cells)
            or cells != [*names]
        ):
            quoting = csv.QUOTE_NONNUMERIC
    for j in (1, 2) if sets is None else (1, 2, 4):  # labels and conformal sets
        if table.iloc[:, j].dtype.kind not in "iuf":
            table.isetitem(j, [encode_cell(str(name)) for name in table.iloc[:, j]])
    table = table.rename(columns={table.columns[0]: encode_cell(str(table.columns[0]))})
    table = table.astype(dict.fromkeys(table.columns[table.dtypes == np.float32], float))
    if path.suffix.lower() == ".tsv":
        separator = "\t"
    else:
        separator = ","
    with open(path, "w", encoding="utf-8", newline="") as file:
        table.to_csv(file, sep=separator, index=False, quoting=quoting, lineterminator="\n")


def _partition_dialect(path: Path) -> Dialect:
    """Return the layout of a text file with a partition.

    The delimiter is selected such that at least one heading is a set of clusters, because another
    program may have saved the file with semicolons and decimal commas.
    """
    if ".tsv" in path.suffixes:
        default = "\t"
    else:
        default = ","
    with open_text(path) as file:
        line = file.readline()
    for delimiter in dict.fromkeys((default, ",", ";", "\t", "|")):
        cells = split_cells([line], delimiter)
        if cells and any(is_set_heading(cell.strip()) for cell in cells[0]):
            return sniff(
                path, header=True, delimiter=delimiter, decimal="." if delimiter == "," else None
            )
    return sniff(path, header=True)


def _read_text(path: Path) -> CredalPartition:
    import pandas as pd

    dialect = _partition_dialect(path)
    headings = [decode_cell(heading) for heading in dialect.first_line]
    positions, family, frame = decode_headings(headings)
    has_names = _has_names(headings, positions)
    with open_text(path) as file:
        _ = file.readline()
        line = file.readline()
    if not line.strip():
        if has_names:
            index = _to_index([], headings[0])
        else:
            index = None
        return _make_partition(np.empty((0, len(family))), family, index, frame)
    with open_text(path) as file:
        table = pd.read_csv(
            file,
            sep=dialect.delimiter,
            decimal=dialect.decimal,
            header=0,
            names=list(range(len(headings))),
            usecols=[0, *positions] if has_names else positions,
            dtype={j: str if j == 0 and has_names else float for j in [0, *positions]},
            keep_default_na=False,
            na_values=[],
            **exact_float_options(),
        )
    index = None
    if has_names:
        names = table[0].tolist()
        index = _to_index(
            [*map(decode_cell, names)] if line.startswith('"') else parse_index(names), headings[0]
        )
    return _make_partition(table[positions].to_numpy(), family, index, frame)


def _has_names(headings: list[str], positions: list[int]) -> bool:
    return 0 not in positions and headings[0] not in _DERIVED and not headings[0].startswith(_FRAME)


def _write_parquet(partition: CredalPartition, path: Path, sets: np.ndarray | None) -> None:
    table = _to_table(partition, sets)
    table.attrs = {"dempster": _plain_metadata(partition)}
    table.to_parquet(path, index=False)


def _read_parquet(path: Path) -> CredalPartition:
    import pandas as pd
    import pyarrow.parquet as pq

    if _SPARSE_KEY in (pq.read_schema(path).metadata or {}):
        return _read_sparse(path)
    table = pd.read_parquet(path)
    headings = [str(name) for name in table.columns]
    positions, family, frame = decode_headings(headings)
    index = None
    if _has_names(headings, positions):
        names = table.iloc[:, 0]
        index = _to_index(
            names.to_numpy() if names.dtype.kind in "iufMm" else names.tolist(), headings[0]
        )
    masses = table.iloc[:, positions].to_numpy()
    return _make_partition(masses, family, index, frame, table.attrs.get("dempster"))


def _to_index(names: Any, heading: str) -> Any:
    """Return the index of the objects, or None if their names are the positions 0, 1, ..."""
    import pandas as pd

    if heading == _POSITION and np.array_equal(np.asarray(names), np.arange(len(names))):
        return None
    return pd.Index(names, name=None if heading in (_OBJECT, _POSITION) else heading)


# ---- largest masses ------------------------------------------------------------------------------


def write_top_masses(partition: CredalPartition, path: str | os.PathLike[str], top: int) -> None:
    """Write the largest masses of each object, and assign its remaining mass to the frame.

    Use this for partitions into very many clusters. Beliefs do not increase and plausibilities do
    not decrease. The columns ``label`` and ``assignment`` are computed from all masses.
    `read_partition` reads the file.

    Parameters
    ----------
    partition : CredalPartition
        Partition to write. Its clusters must be numbered, and its objects must have integer names
        or no names.
    path : path
        File with the extension ``.parquet``.
    top : int
        Number of masses to write for each object.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.io import read_partition, write_top_masses
    >>> cp = CredalPartition([[0.7, 0.2, 0.06, 0.04, 0]], FocalSets.from_sets(3, [[0], [1], [2], [0, 1], [0, 1, 2]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_top_masses(cp, Path(folder) / "large.parquet", 2)
    ...     read_partition(Path(folder) / "large.parquet")
    CredalPartition(1 objects, 3 clusters)
    {0}: 0.7  {1}: 0.2  Ω: 0.1
    """
    check_partition(partition)
    check(top, "top", integer(1))
    partition = partition.to_numpy()
    path = as_path(path)
    if path.suffix.lower() != ".parquet":
        raise InvalidParameterError(
            "path", message=f"path must end in .parquet, got {format_value(path.name)}"
        )
    if partition.frame != tuple(range(partition.n_clusters)):
        raise InvalidInputError(
            "partition must have numbered clusters; names of clusters cannot be written"
        )
    if partition.index is None:
        names = np.arange(len(partition))
    else:
        names = np.asarray(partition.index)
    if names.dtype.kind not in "iu":
        raise InvalidInputError(
            "partition must have objects with integer names or none; other names cannot be written"
        )
    family = family_with_frame(partition.focal_sets)
    masses = top_masses(partition.masses, partition.focal_sets, top)
    sets = [list(map(int, members)) for members in family]
    content = {"n_clusters": family.n_clusters, "focal_sets": sets, **partition.metadata}
    with write_atomically(path) as temporary:
        import pyarrow as pa
        import pyarrow.parquet as pq

        ends = pa.array(masses.indptr.astype(np.int32))
        columns = {
            _POSITION: pa.array(names),
            "label": pa.array(partition.labels),
            "label_with_outliers": pa.array(partition.labels_with_outliers),
            "assignment": pa.array(np.array(partition.focal_sets.names())[partition.best_set]),
            "sets": pa.ListArray.from_arrays(ends, pa.array(masses.indices.astype(np.int32))),
            "masses": pa.ListArray.from_arrays(ends, pa.array(masses.data)),
        }
        table = pa.table(columns).replace_schema_metadata(
            {_SPARSE_KEY: json.dumps(content, default=repr).encode()}
        )
        pq.write_table(table, temporary)


def _read_sparse(path: Path) -> CredalPartition:
    import pyarrow.parquet as pq
    from scipy import sparse

    table = pq.read_table(path).combine_chunks()
    metadata = json.loads(table.schema.metadata[_SPARSE_KEY])
    family = FocalSets.from_sets(int(metadata.pop("n_clusters")), metadata.pop("focal_sets"))
    sets, values = (table.column(name).combine_chunks() for name in ("sets", "masses"))
    columns = sets.flatten().to_numpy()
    ends = np.append(0, np.cumsum(sets.value_lengths().to_numpy()))
    data = values.flatten().to_numpy()
    if len(data) != len(columns) or (
        len(columns) and (columns.min() < 0 or columns.max() >= len(family))
    ):
        raise InvalidInputError("the file is damaged: its masses do not match its sets")
    n_bytes = data.dtype.itemsize * len(sets) * len(family)
    check_memory(n_bytes, "the masses of the file", "write the partition in smaller parts")
    masses = sparse.csr_array((data, columns, ends), shape=(len(sets), len(family))).toarray()
    index = _to_index(table.column(0).to_numpy(), _POSITION)
    return _make_partition(masses, family, index, tuple(range(family.n_clusters)), metadata)


# ---- archives ------------------------------------------------------------------------------------


def _write_npz(partition: CredalPartition, path: Path, sets: np.ndarray | None) -> None:
    arrays: dict[str, Any] = {
        "masses": partition.masses,
        "membership": partition.focal_sets.membership,
        "frame": np.array([encode_name(name) for name in partition.frame]),
        "metadata": np.array(json.dumps(_plain_metadata(partition))),
    }
    if partition.index is not None:
        heading, names = _object_names(partition)
        if names.dtype == object:
            arrays["index"] = names.astype(str)
        else:
            arrays["index"] = names
        arrays["index_name"] = np.array(heading)
    if sets is not None:
        arrays["sets"] = sets
    with open(path, "wb") as file:
        np.savez_compressed(file, **arrays)


def _check_sizes(archive: Any) -> None:
    """Raise an error if the arrays of an archive are too large or inconsistent, before they are read into memory."""
    sizes = {
        entry.filename.removesuffix(".npy"): entry.file_size for entry in archive.zip.infolist()
    }
    total = sum(sizes.get(key, 0) for key in _ARRAYS)
    check_memory(total, "the arrays of the archive", "write the partition in parts")
    shapes = {}
    for key in ("masses", "membership"):
        with archive.zip.open(f"{key}.npy") as file:
            version = np.lib.format.read_magic(file)
            if version == (1, 0):
                read = np.lib.format.read_array_header_1_0
            else:
                read = np.lib.format.read_array_header_2_0
            shapes[key] = read(file)[0]
    masses = shapes["masses"]
    membership = shapes["membership"]
    if len(masses) != 2 or len(membership) != 2 or masses[1] != membership[0]:
        raise InvalidInputError(
            f"the archive contains no partition: masses {masses} do not match sets {membership}"
        )


def _read_npz(path: Path) -> CredalPartition:
    with open(path, "rb") as file, np.load(file, allow_pickle=False) as archive:
        missing = [key for key in ("masses", "membership", "frame") if key not in archive]
        if missing:
            raise InvalidInputError(
                f"the archive contains no partition; it lacks {', '.join(missing)}"
            )
        _check_sizes(archive)
        arrays = {key: archive[key] for key in _ARRAYS if key in archive}
    index = None
    if "index" in arrays:
        names = arrays["index"]
        index = _to_index(
            names.tolist() if names.dtype.kind == "U" else names,
            str(arrays.get("index_name", _OBJECT)),
        )
    frame = tuple(decode_name(str(name)) for name in arrays["frame"])
    if "metadata" in arrays:
        metadata = json.loads(str(arrays["metadata"]))
    else:
        metadata = None
    return _make_partition(
        arrays["masses"], FocalSets(arrays["membership"]), index, frame, metadata
    )


# ---- all formats ---------------------------------------------------------------------------------


def _make_partition(
    masses: np.ndarray, family: FocalSets, index: Any, frame: tuple, metadata: dict | None = None
) -> CredalPartition:
    """Return the partition with validated masses, which are not normalized if they sum to one up to rounding."""
    checked = CredalPartition(masses, family, index, frame=frame, metadata=metadata)
    if masses.dtype != checked.masses.dtype or masses.size == 0:
        return checked
    if (
        masses.min() >= 0
        and np.abs(masses - checked.masses).max()
        <= _MAX_ROUNDING_UNITS * np.finfo(masses.dtype).eps
    ):
        return CredalPartition.unchecked(np.array(masses), family, index, frame, metadata=metadata)
    return checked


def _plain_metadata(partition: CredalPartition) -> dict[str, Any]:
    """Return the metadata with JSON types only.

    Values of other types are replaced by their ``repr``.
    """

    def plain(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        return repr(value)

    return json.loads(json.dumps(partition.metadata, default=plain))
