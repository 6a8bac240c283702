r"""Read and write credal partitions as tables (CSV, TSV or Parquet).

A table has a row for each object with its name, the most plausible cluster (``label``), the same
label with -1 for outliers (``label_with_outliers``), the set of clusters with the largest mass
(``assignment``), and a column of masses for each focal set. The heading of such a column is the
name of the set (``∅``, ``{0}``, ``{0,1}``, ``Ω``; see `FocalSets.names`). The files contain no
code.

A cluster name that is text but looks like a number, or contains one of the characters ``, { } "
\``, is written as a JSON string (``{"a,b",c}``). The frame is the list of cluster names in the
order in which they first occur in the headings. If the order in the frame is different, the table
has an additional empty column with the heading ``frame={a,b,c}``. If the columns of the data that
were clustered are known (``metadata["clustered"]``), another empty column has a heading with these
as JSON after ``clustered=``; descriptions of the clusters are stored in the same way.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dempster._arrays import Array, concatenate_rows, copy_array, is_sparse
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._types import FilePath
from dempster._validation import check, format_value, integer, kind
from dempster.belief import FocalSets
from dempster.belief.focal_sets import has_many_clusters
from dempster.io.atomic import as_file, as_path, wrap_read_errors, write_atomically
from dempster.io.dialect import Dialect, sniff
from dempster.io.tables import (
    detect_format,
    exact_float_options,
    parse_index,
    parse_scalar,
)
from dempster.io.text import open_text, split_cells
from dempster.partition import CredalPartition
from dempster.partition.lazy import family_with_frame, top_masses

if TYPE_CHECKING:
    import pandas as pd


PARTITION_FORMATS = {".csv": "text", ".tsv": "text", ".parquet": "parquet"}
_SETS = "conformal_set"  # heading of the column of sets that `write_partition` gets as an argument
_DERIVED = ("label", "label_with_outliers", "assignment", _SETS)
# headings of a first column with positions 0, 1, ... or with names
_POSITION = "row"
_OBJECT = "object"
_EMPTY = "∅"
_WHOLE = "Ω"
_FRAME = "frame="
_RECORDS = ("clustered", "descriptions")  # metadata that text files store as headings
_HEADS = (_FRAME, *(f"{name}=" for name in _RECORDS))
_NAME = re.compile(r'"(?:[^"\\]|\\.)*"|[^,{}"\\]+')
_SPECIAL = re.compile(r'[,{}"\\\x00-\x1f\x7f\u2028\u2029\ud800-\udfff]')
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
# metadata key of Parquet files with the sets and masses of each object as lists
_COMPRESSED_KEY = b"dempster-compressed"
_ROWS_PER_BLOCK = 4096  # number of rows of a text file that are converted together
# Masses are not normalized again if the sum is one within this error.
_MAX_ROUNDING_UNITS = 64


def write_partition(
    partition: CredalPartition, path: FilePath, *, sets: np.ndarray | None = None
) -> None:
    """Write a credal partition to a file, completely or not at all.

    Parameters
    ----------
    partition : CredalPartition
        Partition to write. The names of its clusters must be text or numbers.
    path : path
        File with the extension ``.csv``, ``.tsv`` or ``.parquet``. All formats store the masses
        exactly. Names of objects are read back as integers, floats or text. Text files convert
        names of other types (dates, tuples) to text. Only Parquet stores single precision and all
        ``metadata``; text files store ``metadata["clustered"]`` and ``metadata["descriptions"]``.
    sets : Boolean array of shape (n_objects, n_clusters), optional
        Sets of clusters, such as ``ConformalClustering.sets_``. The table gets a column
        ``conformal_set`` with values such as ``0|3`` (``∅`` for an empty set). `read_partition`
        ignores it.

    See Also
    --------
    read_partition

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.io import read_partition, write_partition
    >>> masses = [[0, 1, 0, 0], [0, 0.25, 0.25, 0.5]]
    >>> cp = CredalPartition(masses, FocalSets.full(2), index=["ann", "bob"])
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
            f"{path.name}: use .parquet to write a compressed partition"
        )
    if sets is not None:
        sets = np.asarray(sets)
        shape = (len(partition), partition.n_clusters)
        if sets.shape != shape or sets.dtype != bool:
            got = f"{sets.dtype} array of shape {sets.shape}"
            raise InvalidParameterError(
                "sets", must=f"be a Boolean array of shape {shape}, got {got}"
            )
    write = _write_text if kind == "text" else _write_parquet
    with write_atomically(path) as temporary:
        write(partition.to_numpy(), temporary, sets)


def read_partition(path: FilePath) -> CredalPartition:
    """Read a credal partition written by `write_partition`, without executing code from the file.

    Parameters
    ----------
    path : path
        File with the extension ``.csv`` or ``.tsv`` (also ``.gz``), or ``.parquet``. Additional
        columns of a table are ignored.

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
    read = _read_text if kind == "text" else _read_parquet
    with wrap_read_errors(path):
        return read(path)


def check_partition(partition: CredalPartition) -> None:
    """Raise InvalidParameterError if the argument is not a credal partition."""
    check(partition, "partition", kind(CredalPartition))


# ---- names of clusters, sets and objects ---------------------------------------------------------


def encode_name(name: Hashable) -> str:
    """Encode the name of a cluster as text that `decode_name` converts back."""
    value = _to_python(name)
    if isinstance(value, bool | int | float):
        return repr(value)
    if not isinstance(value, str):
        raise InvalidInputError(
            f"cluster names must be text or numbers, got {format_value(name)}"
        )
    is_plain = value != "" and value == value.strip() and not _SPECIAL.search(value)
    if is_plain and decode_name(value) == value:
        return value
    return json.dumps(value)


def _to_python(value: Any) -> Any:
    """Convert a number of NumPy to a number of Python."""
    if isinstance(value, np.generic):
        return value.item()
    return value


def decode_name(text: str) -> Any:
    """Return the name of a cluster that `encode_name` encoded."""
    if text in ("True", "False"):
        return text == "True"
    if text.startswith('"'):
        return json.loads(text)
    return parse_scalar(text)


def encode_cell(text: str) -> str:
    """Encode a name as a cell, with an apostrophe if a spreadsheet would read it as a formula."""
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
    """Return the headings of the masses, and of the frame column (None if it is not needed)."""
    names = [encode_name(name) for name in frame]
    headings = focal_sets.names(names)
    if _names_in_order([_members(heading) for heading in headings]) == names:
        return headings, None
    return headings, f"{_FRAME}{{{','.join(names)}}}"


def is_set_heading(text: str) -> bool:
    """Return whether a column heading denotes a set of clusters."""
    return text in (_EMPTY, _WHOLE) or (text.startswith("{") and text.endswith("}"))


def decode_headings(
    headings: Sequence[str],
) -> tuple[list[int], FocalSets, tuple[Hashable, ...]]:
    """Return the positions of the columns of masses, their sets, and the names of the clusters."""
    positions = [i for i, heading in enumerate(headings) if is_set_heading(heading)]
    if not positions:
        raise InvalidInputError(
            "no column heading is a set of clusters, such as {0} or {0,1}"
        )
    sets = [_members(headings[i]) for i in positions]
    frame = _names_in_order(sets)
    for heading in headings:
        if heading.startswith(_FRAME):
            frame = _members(heading.removeprefix(_FRAME)) or []
    order = {name: k for k, name in enumerate(frame)}
    if not frame or len(order) < len(frame):
        raise InvalidInputError(
            "the column headings do not contain unique names of the clusters"
        )
    rows = np.zeros((len(positions), len(frame)), bool)
    for row, members in zip(rows, sets, strict=True):
        if members is None:
            row[:] = True
            continue
        for name in members:
            if name not in order:
                raise InvalidInputError(
                    f"cluster {name} is not in the frame {{{','.join(frame)}}}"
                )
            row[order[name]] = True
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


def _derived_columns(
    partition: CredalPartition, sets: np.ndarray | None
) -> dict[str, Any]:
    """Return the columns before the masses: names, labels and sets of clusters."""
    heading, names = _object_names(partition)
    frame = [_to_python(name) for name in partition.frame]
    # The last entry is for label -1 (outliers).
    if all(type(name) is int for name in frame):
        clusters = np.array([*frame, -1])
    else:
        clusters = np.array([*map(str, partition.frame), "-1"])
    first = {
        heading: names,
        "label": clusters[partition.labels],
        "label_with_outliers": clusters[partition.labels_with_outliers],
        "assignment": np.array(partition.focal_sets.names(partition.frame))[
            partition.best_set
        ],
    }
    if sets is not None:
        distinct, which = np.unique(sets, axis=0, return_inverse=True)
        encoded = np.array([encode_name(name) for name in frame])
        texts = ["|".join(encoded[members]) or _EMPTY for members in distinct]
        first[_SETS] = np.array(texts, object)[which.ravel()]
    return first


def _mass_columns(partition: CredalPartition, dtype: Any = None) -> pd.DataFrame:
    import pandas as pd

    headings, frame_heading = encode_headings(partition.focal_sets, partition.frame)
    table = pd.DataFrame(np.asarray(partition.masses, dtype), columns=headings)
    if frame_heading is not None:
        table[frame_heading] = ""
    return table


def _object_names(partition: CredalPartition) -> tuple[str, Any]:
    """Return the heading and the cells of the column with the names of the objects."""
    if partition.index is None:
        return _POSITION, np.arange(len(partition))
    name = getattr(partition.index, "name", None)
    heading = " ".join(str(name).split())
    is_reserved = heading in ("None", "", _POSITION, *_DERIVED)
    is_reserved |= heading.startswith(_HEADS)
    if is_reserved or is_set_heading(heading):
        heading = _OBJECT
    values = np.asarray(partition.index)
    if values.ndim != 1 or values.dtype.kind not in "iufMm":
        values = np.array([str(_to_python(name)) for name in partition.index], object)
        if len(set(values)) < len(
            {(type(name), str(name)) for name in partition.index}
        ):
            raise InvalidInputError(
                "index contains different names with the same text, such as 1 and '1'; convert all"
            )
    return heading, values


def _write_text(
    partition: CredalPartition, path: Path, sets: np.ndarray | None
) -> None:
    import pandas as pd

    table = pd.DataFrame(_derived_columns(partition, sets))
    names = table.iloc[:, 0]
    # Some programs treat a carriage return as the end of a line, unless the cell is quoted.
    needs_quotes = any("\r" in str(name) for name in partition.frame)
    if names.dtype.kind in "Mm":
        table.isetitem(0, names.astype(str).tolist())
    elif names.dtype.kind not in "iuf":
        cells = [encode_cell(name) for name in names]
        table.isetitem(0, np.array(cells, object))
        # Quotation marks distinguish text from numbers, and protect carriage returns.
        needs_quotes |= any("\r" in cell for cell in cells) or cells != [*names]
        needs_quotes |= not isinstance(parse_index(cells), list)
    for name in ("label", "label_with_outliers", _SETS):
        if name in table and table[name].dtype.kind not in "iuf":
            table[name] = [encode_cell(str(cell)) for cell in table[name]]
    table = table.rename(columns={table.columns[0]: encode_cell(str(table.columns[0]))})
    metadata = partition.metadata
    records = _plain_metadata({k: metadata[k] for k in _RECORDS if k in metadata})
    last = {
        f"{name}={json.dumps(record, ensure_ascii=False)}": ""
        for name, record in records.items()
    }
    with open(path, "w", encoding="utf-8", newline="") as file:
        for start in range(0, max(len(partition), 1), _ROWS_PER_BLOCK):
            rows = slice(start, start + _ROWS_PER_BLOCK)
            masses = _mass_columns(partition[rows], float)
            first = table[rows].reset_index(drop=True)
            pd.concat([first, masses.assign(**last)], axis=1).to_csv(
                file,
                sep=_default_delimiter(path),
                header=start == 0,
                index=False,
                quoting=csv.QUOTE_NONNUMERIC if needs_quotes else csv.QUOTE_MINIMAL,
                lineterminator="\n",
            )


def _default_delimiter(path: Path) -> str:
    if ".tsv" in [suffix.lower() for suffix in path.suffixes]:
        return "\t"
    return ","


def _partition_dialect(path: Path) -> Dialect:
    """Return the layout of a text file with a partition.

    The delimiter is selected such that at least one heading is a set of clusters, because another
    program may have saved the file with semicolons and decimal commas.
    """
    with open_text(path) as file:
        line = file.readline()
    for delimiter in (_default_delimiter(path), ",", ";", "\t", "|"):
        cells = split_cells([line], delimiter)
        if cells and any(is_set_heading(cell.strip()) for cell in cells[0]):
            decimal = "." if delimiter == "," else None
            return sniff(path, header=True, delimiter=delimiter, decimal=decimal)
    return sniff(path, header=True)


def _read_text(path: Path) -> CredalPartition:
    import pandas as pd

    dialect = _partition_dialect(path)
    headings = [decode_cell(heading) for heading in dialect.first_line]
    positions, family, frame = decode_headings(headings)
    has_names = _has_names(headings, positions)
    dtypes: dict[int, type] = dict.fromkeys(positions, float)
    if has_names:
        dtypes[0] = str
    names: list[str] = []
    parts: list[Any] = [np.empty((0, len(positions)))]
    with open_text(path) as file:
        file.readline()
        second_line = file.readline()
    if second_line.strip():
        with open_text(path) as file:
            blocks = pd.read_csv(
                file,
                sep=dialect.delimiter,
                decimal=dialect.decimal,
                header=0,
                names=list(range(len(headings))),
                usecols=list(dtypes),
                dtype=dtypes,
                keep_default_na=False,
                na_values=[],
                chunksize=_ROWS_PER_BLOCK,
                **exact_float_options(),
            )
            for block in blocks:
                names += block[0].tolist() if has_names else []
                parts.append(_store_masses(block[positions].to_numpy(), family))
    index = None
    if has_names:
        if second_line.startswith('"'):
            names = [decode_cell(name) for name in names]
        else:
            names = parse_index(names)
        index = _to_index(names, headings[0])
    masses = concatenate_rows(parts[1:] or parts)
    metadata = {}
    for heading in headings:
        name, _, record = heading.partition("=")
        if name in _RECORDS and record:
            metadata[name] = json.loads(record)
    return _make_partition(masses, family, index, frame, metadata)


def _has_names(headings: list[str], positions: list[int]) -> bool:
    return (
        0 not in positions
        and headings[0] not in _DERIVED
        and not headings[0].startswith(_HEADS)
    )


def _write_parquet(
    partition: CredalPartition, path: Path, sets: np.ndarray | None
) -> None:
    import pandas as pd

    first = _derived_columns(partition, sets)
    if is_sparse(partition.stored_masses):
        _write_compressed(partition, path, first)
        return
    table = pd.concat([pd.DataFrame(first), _mass_columns(partition)], axis=1)
    table.attrs = {"dempster": _plain_metadata(partition.metadata)}
    table.to_parquet(path, index=False)


def _read_parquet(path: Path) -> CredalPartition:
    import pandas as pd
    import pyarrow.parquet as pq

    if _COMPRESSED_KEY in (pq.read_schema(path).metadata or {}):
        return _read_compressed(path)
    table = pd.read_parquet(path)
    headings = [str(name) for name in table.columns]
    positions, family, frame = decode_headings(headings)
    index = None
    if _has_names(headings, positions):
        index = _to_index(table.iloc[:, 0].to_numpy(), headings[0])
    masses = _store_masses(table.iloc[:, positions].to_numpy(), family)
    return _make_partition(masses, family, index, frame, table.attrs.get("dempster"))


def _to_index(names: Any, heading: str) -> Any:
    """Return the index of the objects, or None if their names are the positions 0, 1, ..."""
    import pandas as pd

    if heading == _POSITION and np.array_equal(names, np.arange(len(names))):
        return None
    if np.asarray(names).dtype.kind not in "iufMm":
        names = list(names)
    if heading in (_OBJECT, _POSITION):
        return pd.Index(names)
    return pd.Index(names, name=heading)


# ---- largest masses ------------------------------------------------------------------------------


def write_top_masses(partition: CredalPartition, path: FilePath, top: int) -> None:
    """Write the largest masses of each object, and assign its remaining mass to the frame.

    Use this for partitions into very many clusters. Beliefs do not increase and plausibilities do
    not decrease. The columns ``label`` and ``assignment`` are computed from all masses.
    `read_partition` reads the file.

    Parameters
    ----------
    partition : CredalPartition
        Partition to write.
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
    >>> sets = FocalSets.from_sets(3, [[0], [1], [2], [0, 1], [0, 1, 2]])
    >>> cp = CredalPartition([[0.7, 0.2, 0.06, 0.04, 0]], sets)
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
    detect_format(path, {".parquet": "parquet"})
    largest = CredalPartition.unchecked(
        top_masses(partition.stored_masses, partition.focal_sets, top),
        family_with_frame(partition.focal_sets),
        partition.index,
        partition.frame,
        metadata=partition.metadata,
    )
    with write_atomically(path) as temporary:
        _write_compressed(largest, temporary, _derived_columns(partition, None))


def _write_compressed(
    partition: CredalPartition, path: Path, first: dict[str, Any]
) -> None:
    """Write the sets and masses of each object as two lists, after some other columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    masses = partition.stored_masses
    content = {
        "frame": [encode_name(name) for name in partition.frame],
        "focal_sets": [list(map(int, members)) for members in partition.focal_sets],
        **_plain_metadata(partition.metadata),
    }
    ends = pa.array(masses.indptr.astype(np.int32))
    sets = pa.array(masses.indices.astype(np.int32))
    columns = {name: pa.array(values) for name, values in first.items()}
    columns["sets"] = pa.ListArray.from_arrays(ends, sets)
    columns["masses"] = pa.ListArray.from_arrays(ends, pa.array(masses.data))
    table = pa.table(columns).replace_schema_metadata(
        {_COMPRESSED_KEY: json.dumps(content).encode()}
    )
    pq.write_table(table, path)


def _read_compressed(path: Path) -> CredalPartition:
    import pyarrow.parquet as pq
    from scipy import sparse

    table = pq.read_table(path).combine_chunks()
    metadata = json.loads(table.schema.metadata[_COMPRESSED_KEY])
    frame = tuple(map(decode_name, metadata.pop("frame")))
    family = FocalSets.from_sets(len(frame), metadata.pop("focal_sets"))
    sets, values = (table.column(name).combine_chunks() for name in ("sets", "masses"))
    ends = np.append(0, np.cumsum(sets.value_lengths().to_numpy()))
    content = values.flatten().to_numpy(), sets.flatten().to_numpy(), ends
    masses = sparse.csr_array(content, shape=(len(ends) - 1, len(family)))
    masses.check_format()
    index = _to_index(table.column(0).to_numpy(), table.column_names[0])
    return _make_partition(masses, family, index, frame, metadata)


def _store_masses(masses: np.ndarray, family: FocalSets) -> Array:
    """Return masses of all sets as compressed rows if there are many clusters."""
    if not has_many_clusters(family):
        return masses
    from scipy import sparse

    return sparse.csr_array(masses)


# ---- other tables --------------------------------------------------------------------------------


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV or TSV for a spreadsheet, with the names of the rows if they have any.

    Names that a spreadsheet would evaluate as formulas are escaped.
    """

    def encode(cell: Any) -> Any:
        if isinstance(cell, str):
            return encode_cell(cell)
        return cell

    encoded = table.rename(columns=encode, index=encode)
    for position, dtype in enumerate(encoded.dtypes):
        if dtype.kind not in "biuf":
            encoded.isetitem(position, list(map(encode, encoded.iloc[:, position])))
    encoded.to_csv(
        path,
        index=table.index.name is not None,
        sep="\t" if path.suffix.lower() == ".tsv" else ",",
        encoding="utf-8-sig",
    )


# ---- all formats ---------------------------------------------------------------------------------


def _make_partition(
    masses: Array,
    family: FocalSets,
    index: Any,
    frame: tuple,
    metadata: dict | None = None,
) -> CredalPartition:
    """Return the partition with validated masses.

    Masses that sum to one up to rounding errors are not normalized.
    """
    checked = CredalPartition(masses, family, index, frame=frame, metadata=metadata)
    if masses.dtype != checked.dtype or masses.size == 0 or masses.min() < 0:
        return checked
    error = abs(masses - checked.stored_masses).max()
    if error > _MAX_ROUNDING_UNITS * np.finfo(masses.dtype).eps:
        return checked
    return CredalPartition.unchecked(
        copy_array(masses), family, index, frame, metadata=metadata
    )


def _plain_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return metadata with JSON types only.

    Values of other types are replaced by their ``repr``.
    """

    def to_plain(value: Any) -> Any:
        if isinstance(value, np.generic):
            return value.item()
        return repr(value)

    try:
        return json.loads(json.dumps(metadata, default=to_plain))
    except (TypeError, ValueError) as error:  # keys that are tuples, or a cycle
        raise InvalidParameterError(
            "partition", must=f"have metadata that can be written as JSON; {error}"
        ) from error
