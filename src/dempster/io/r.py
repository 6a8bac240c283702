"""Read and write partitions of the R package evclust in files of ``saveRDS``, without R.

The format is R's serialization in XDR ("R Internals", section 1.8). Every item consists of a word
of flags with the type in its lowest byte, the content, and the attributes as a list of pairs. Code
(functions, expressions) is rejected. The package rdata is not used because it is five times slower,
takes a second to import, and accepts damaged files (it returns truncated vectors and allocates
sequences of any length).
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._types import FilePath
from dempster.belief import FocalSets
from dempster.io.atomic import as_file, as_path, wrap_read_errors, write_atomically
from dempster.io.partitions import check_partition
from dempster.partition import CredalPartition

# Codes of the item types in R's serialization format.
_SYM = 1
_PAIRS = 2
_CHAR = 9
_LOGICAL = 10
_INTEGER = 13
_REAL = 14
_COMPLEX = 15
_STRING = 16
_LIST = 19
_RAW = 24
_NULL = 254
_REFERENCE = 255
_ALTERNATIVE = 238
_GLOBAL = 253
_EMPTY_ENV = 242
_BASE_ENV = 241
_BASE_NAMESPACE = 250
_NAMESPACE = 249
_ATTRIBUTED_PAIRS = 239
_NOTHING = {_NULL, _GLOBAL, _EMPTY_ENV, _BASE_ENV, _BASE_NAMESPACE}
_NUMBERS = {
    _LOGICAL: ">i4",
    _INTEGER: ">i4",
    _REAL: ">f8",
    _COMPLEX: ">c16",
    _RAW: "u1",
}
_IS_OBJECT = 1 << 8
_HAS_ATTRIBUTES = 1 << 9
_HAS_TAG = 1 << 10
_UTF8 = 1 << 3
_LATIN1 = 1 << 2
_ASCII = 1 << 6
# Larger files with a higher compression ratio are rejected.
_MAX_SAFE_BYTES = 100 << 20
_MAX_RATIO = 200
MAX_DEPTH = 200
_DAMAGE_ERRORS = (TypeError, AttributeError, LookupError, ArithmeticError, MemoryError)
_DAMAGED = "the file is truncated or damaged; write it again"


@dataclass
class RValue:
    """Vector or list in R."""

    # array of numbers, list of text (None if missing), or list of RValue and None (R's NULL)
    values: Any
    # attributes in R (names, dim, class), each an RValue
    attributes: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    def texts(self, attribute: str) -> list[str]:
        """Return the values of a text attribute, or an empty list if it does not exist."""
        value = self.attributes.get(attribute)
        if isinstance(value, RValue):
            return [str(text) for text in value.values]
        return []

    def get(self, name: str) -> RValue | None:
        """Return the element of a list with the given name, or None if it does not exist."""
        if not isinstance(self.values, list):
            return None
        value = dict(zip(self.texts("names"), self.values, strict=True)).get(name)
        if isinstance(value, RValue):
            return value
        return None

    def matrix(self) -> np.ndarray:
        """Return the values as a 2-D array; a vector becomes one column."""
        values = np.asarray(self.values)
        dim = self.attributes.get("dim")
        if dim is None:
            return values[:, None]
        return values.reshape([int(n) for n in dim.values], order="F")


def read_r(path: FilePath) -> CredalPartition:
    """Read a credal partition written in R by ``saveRDS(clus, "clus.rds")``.

    Code in the file is not executed.

    Parameters
    ----------
    path : path
        File written by ``saveRDS`` (compressed or not). It contains a ``credpart`` of the package
        evclust, or any list with the matrices ``mass`` of shape (n, f) and ``F`` of shape (f, c),
        for n objects, f focal sets and c clusters.

    Returns
    -------
    CredalPartition
        The names of the columns of ``F`` become the names of the clusters. Without names, R's first
        cluster becomes cluster 0. The names of the rows of ``mass`` become the index. ``metadata``
        contains the method and its criterion.

    Raises
    ------
    ValueError
        The file contains no credal partition.
    """
    path = as_file(path)
    with wrap_read_errors(path):
        try:
            return _to_partition(read_rds(path))
        except InvalidInputError:
            raise
        except _DAMAGE_ERRORS as error:
            raise InvalidInputError(
                "the content is damaged, or is not a credal partition"
            ) from error


def write_r(partition: CredalPartition, path: FilePath) -> None:
    """Write a credal partition to a file for ``readRDS`` in R.

    The R object is a ``credpart`` of the package evclust. It has the components that
    ``extractMass`` computes, so that ``plot``, ``summary`` and ``pairwise_mass`` work. Objects and
    clusters are numbered from 1.

    Parameters
    ----------
    partition : CredalPartition
        Partition to write. The empty set becomes the first focal set and is added if necessary.
        Names of objects become row names of ``mass``. Names of clusters other than 0, 1, ... become
        column names of ``F``.
    path : path
        File to write, usually with the extension ``.rds``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.io import read_r, write_r
    >>> masses = [[0, 1, 0, 0], [0, 0.25, 0.25, 0.5]]
    >>> cp = CredalPartition(masses, FocalSets.full(2), index=["ann", "bob"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_r(cp, Path(folder) / "people.rds")
    ...     read_r(Path(folder) / "people.rds")
    CredalPartition(2 objects, 2 clusters)
    ann: {0}: 1
    bob: {0}: 0.25  {1}: 0.25  Ω: 0.5
    """
    check_partition(partition)
    with write_atomically(as_path(path)) as temporary:
        write_rds(_to_r(partition.to_numpy()), temporary)


# ---- from R --------------------------------------------------------------------------------------


def _to_partition(value: RValue | None) -> CredalPartition:
    mass = value and value.get("mass")
    sets = value and value.get("F")
    if value is None or mass is None or sets is None:
        raise InvalidInputError(
            "the file must contain a credal partition, a list with the matrices mass and F"
        )
    masses = mass.matrix()
    membership = sets.matrix()
    if (
        masses.dtype.kind != "f"
        or membership.dtype.kind not in "if"
        or not np.isin(membership, (0, 1)).all()
    ):
        raise InvalidInputError("mass must contain numbers, and F zeros and ones")
    if masses.shape[1] != len(membership):
        raise InvalidInputError(
            f"mass has {masses.shape[1]} columns, but F has {len(membership)} rows"
        )
    clusters = _dimension_names(sets)[1]
    names = _dimension_names(mass)[0]
    metadata = {
        "method": _to_scalar(value.get("method")),
        "objective": _to_scalar(value.get("crit")),
    }
    return CredalPartition(
        masses,
        FocalSets(membership == 1),
        names or None,
        frame=clusters or None,
        metadata={name: entry for name, entry in metadata.items() if entry is not None},
    )


def _dimension_names(matrix: RValue) -> list[list[str]]:
    """Return the row names and the column names of a matrix, as empty lists if there are none."""
    names = matrix.attributes.get("dimnames")
    if not isinstance(names, RValue):
        return [[], []]
    return [
        [str(text) for text in part.values] if part else [] for part in names.values
    ]


def _to_scalar(value: RValue | None) -> Any:
    """Return the number or text in a vector of length 1, or None for other vectors."""
    if value is None or len(value) != 1:
        return None
    only = value.values[0]
    if isinstance(only, np.generic):
        return only.item()
    if isinstance(only, str):
        return only
    return None


# ---- to R ----------------------------------------------------------------------------------------


def _to_r(partition: CredalPartition) -> RValue:
    """Return a partition as a ``credpart`` in R, with the components documented by evclust."""
    partition = _with_empty_set_first(partition)
    membership = partition.focal_sets.membership
    cardinality = partition.focal_sets.cardinality
    c = partition.n_clusters
    masses = np.asarray(partition.masses, dtype=float)
    contour = np.asarray(partition.contour, dtype=float)
    belief = masses @ (membership & (cardinality == 1)[:, None]).astype(float)
    pignistic = masses @ (membership / np.maximum(cardinality, 1)[:, None])
    conflict = masses[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        # infinite for certain outliers, which have no normalized masses
        scale = (1 / (1 - conflict))[:, None]
        share = contour / contour.sum(axis=1, keepdims=True)
        normalized = {
            "mass.n": scale * masses[:, 1:],
            "pl.n": scale * contour,
            "bel.n": scale * belief,
            "betp.n": scale * pignistic,
        }
    largest = membership[masses.argmax(axis=1)]
    undominated = contour >= belief.max(axis=1, keepdims=True)
    specific = 0.0
    if c > 1 and len(masses):
        logarithms = np.log(np.where(cardinality > 0, cardinality, c))
        specific = float((masses @ logarithms).mean() / np.log(c))
    names = None
    if partition.index is not None:
        names = [str(name) for name in partition.index]
    fields: dict[str, RValue | None] = {
        "conf": RValue(conflict),
        "F": _matrix(membership.astype(float), columns=_cluster_names(partition)),
        "mass": _matrix(masses, rows=names),
        **{name: _matrix(values) for name, values in normalized.items()},
        "pl": _matrix(contour),
        "bel": _matrix(belief),
        "p": _matrix(share),
        "betp": _matrix(pignistic),
        "y.pl": RValue(partition.labels.astype(np.int32) + 1),
        "y.bel": RValue(belief.argmax(axis=1).astype(np.int32) + 1),
        "Y": _matrix(largest.astype(float)),
        "Ynd": _matrix(undominated.astype(float)),
        "outlier": _positions(~largest.any(axis=1)),
        **_approximations(largest, ""),
        **_approximations(undominated, ".nd"),
        "N": RValue(np.array([specific])),
        "method": RValue([str(partition.metadata.get("method", "dempster"))]),
    }
    return RValue(
        list(fields.values()),
        {"names": RValue(list(fields)), "class": RValue(["credpart"])},
    )


def _with_empty_set_first(partition: CredalPartition) -> CredalPartition:
    """Return the partition with the empty set as first focal set, which evclust requires."""
    family = partition.focal_sets
    masses = partition.masses
    empty = family.empty_index
    others = [k for k in range(len(family)) if k != empty]
    if empty is None:
        first = np.zeros(len(masses))
    else:
        first = masses[:, empty]
    rows = np.vstack(
        [np.zeros((1, family.n_clusters), dtype=bool), family.membership[others]]
    )
    return CredalPartition.unchecked(
        np.column_stack([first, masses[:, others]]),
        FocalSets(rows),
        partition.index,
        partition.frame,
        metadata=partition.metadata,
    )


def _cluster_names(partition: CredalPartition) -> list[str] | None:
    names = list(partition.frame)
    if names == list(range(partition.n_clusters)):
        return None
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        raise InvalidInputError(
            f"frame must contain names that differ as text, got {names}; convert all"
        )
    return texts


def _matrix(
    values: np.ndarray, rows: list[str] | None = None, columns: list[str] | None = None
) -> RValue:
    attributes: dict[str, Any] = {"dim": RValue(np.array(values.shape, dtype=np.int32))}
    if rows or columns:
        named = [RValue(names) if names else None for names in (rows, columns)]
        attributes["dimnames"] = RValue(named)
    # R stores matrices by column.
    return RValue(np.ascontiguousarray(values.T).ravel(), attributes)


def _positions(mask: np.ndarray) -> RValue:
    return RValue(np.flatnonzero(mask).astype(np.int32) + 1)


def _approximations(sets: np.ndarray, suffix: str) -> dict[str, RValue]:
    """Return the positions of the objects in the lower and upper approximations of the clusters."""
    is_single = sets.sum(axis=1) == 1
    return {
        f"lower.approx{suffix}": RValue(
            [_positions(column & is_single) for column in sets.T]
        ),
        f"upper.approx{suffix}": RValue([_positions(column) for column in sets.T]),
    }


# ---- R's format: reading -------------------------------------------------------------------------


def read_rds(path: Path) -> RValue | None:
    """Return the R object in a file written by ``saveRDS``.

    Raise ValueError if it is invalid or contains code.
    """
    data = _decompress(path.read_bytes())
    if data[:4] in (b"RDX2", b"RDX3", b"RDA2", b"RDA3"):
        raise InvalidInputError(
            "the file is a workspace of R's save; write the partition with saveRDS"
        )
    if data[:2] in (b"A\n", b"B\n"):
        raise InvalidInputError(
            "the file is in R's text or native binary format; write it with saveRDS(x, file)"
        )
    if data[:2] != b"X\n":
        raise InvalidInputError("the file was not written by R's saveRDS")
    reader = _Reader(data)
    try:
        reader.skip_header()
        value = reader.read_item()
    except (struct.error, IndexError) as error:
        raise InvalidInputError(_DAMAGED) from error
    if isinstance(value, RValue) or value is None:
        return value
    return RValue(value)


def _decompress(data: bytes) -> bytes:
    kinds = {
        b"\x1f\x8b": lambda: zlib.decompressobj(wbits=31),
        b"BZ": bz2.BZ2Decompressor,
        b"\xfd7": lzma.LZMADecompressor,
    }
    make: Any = kinds.get(data[:2])
    if make is None:
        return data
    max_bytes = max(_MAX_SAFE_BYTES, _MAX_RATIO * len(data))
    decompressor = make()
    try:
        out = decompressor.decompress(data, max_bytes)
    except (zlib.error, OSError, EOFError, lzma.LZMAError) as error:
        raise InvalidInputError(_DAMAGED) from error
    if not decompressor.eof:
        if len(out) >= max_bytes:
            raise InvalidInputError(
                f"over {max_bytes >> 20:,} MB are implausible for a file of {len(data):,} bytes"
            )
        raise InvalidInputError(_DAMAGED)
    return out


class _Reader:
    """Reader of R's serialization format."""

    def __init__(self, data: bytes):
        self._data = data
        self._at = 2
        self._depth = 0
        self._references: list[Any] = []

    def skip_header(self) -> None:
        version = self._read_integer()
        self._read_integer()  # version of R
        self._read_integer()  # oldest version of R that reads the file
        if version not in (2, 3):
            raise InvalidInputError(
                f"unsupported version {version} of R's format; use saveRDS(x, file, version=3)"
            )
        if version == 3:
            # Skip the native encoding, because each text has an encoding flag.
            self._read_bytes(self._read_integer())

    def _read_integer(self) -> int:
        (value,) = struct.unpack_from(">i", self._data, self._at)
        self._at += 4
        return int(value)

    def _read_bytes(self, n: int) -> bytes:
        if n < 0 or self._at + n > len(self._data):
            raise IndexError
        self._at += n
        return self._data[self._at - n : self._at]

    def _read_length(self) -> int:
        n = self._read_integer()
        if n != -1:
            return n
        return (self._read_integer() << 32) + (self._read_integer() & 0xFFFFFFFF)

    def read_item(self) -> Any:
        """Return the next item, which is an RValue, a list of pairs, a text or None."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise InvalidInputError(f"lists must be nested at most {MAX_DEPTH} times")
        flags = self._read_integer()
        item = self._read_kind(flags & 0xFF, flags)
        self._depth -= 1
        return item

    def _read_kind(self, kind: int, flags: int) -> Any:
        if kind in _NOTHING:
            return None
        if kind == _CHAR:
            return self._read_text(flags)
        if kind in (_SYM, _NAMESPACE, _REFERENCE):
            return self._read_reference(kind, flags)
        if kind in (_PAIRS, _ATTRIBUTED_PAIRS):
            return self._read_pairs(flags, kind == _ATTRIBUTED_PAIRS)
        if kind == _ALTERNATIVE:
            return self._read_alternative()
        if kind in _NUMBERS:
            dtype = np.dtype(_NUMBERS[kind])
            n = self._read_length()
            content = self._read_bytes(n * dtype.itemsize)
            values: Any = np.frombuffer(content, dtype).astype(dtype.newbyteorder("="))
        elif kind in (_STRING, _LIST):
            n = self._read_length()
            if n > len(
                self._data
            ):  # A damaged file may contain a length larger than the file.
                raise IndexError
            values = [self.read_item() for _ in range(n)]
        else:
            raise InvalidInputError(
                "the file contains functions, environments or other objects that cannot be read; "
                "use in R: saveRDS(clus[c('mass', 'F', 'method')], file)"
            )
        return RValue(values, self._read_attributes(flags))

    def _read_attributes(self, flags: int) -> dict[str, Any]:
        if not flags & _HAS_ATTRIBUTES:
            return {}
        return dict(self.read_item() or ())

    def _read_text(self, flags: int) -> str | None:
        n = self._read_integer()
        if n == -1:
            return None
        encoding = "latin-1" if (flags >> 12) & _LATIN1 else "utf-8"
        return self._read_bytes(n).decode(encoding, errors="replace")

    def _read_reference(self, kind: int, flags: int) -> Any:
        """Return the next symbol or namespace, or an earlier one if the item is its number."""
        if kind == _REFERENCE:
            number = flags >> 8 or self._read_integer()
            return self._references[number - 1]
        if kind == _SYM:
            self._references.append(self.read_item())
        else:
            self._read_integer()
            self._references.append(
                [self.read_item() for _ in range(self._read_integer())]
            )
        return self._references[-1]

    def _read_pairs(self, flags: int, attributed: bool) -> list[tuple[str, Any]]:
        """Read a list of (name, value) pairs, such as the attributes of an object."""
        pairs = []
        while True:
            if flags & _HAS_ATTRIBUTES or attributed:
                self.read_item()
            name = str(self.read_item()) if flags & _HAS_TAG else ""
            pairs.append((name, self.read_item()))
            flags = self._read_integer()
            attributed = flags & 0xFF == _ATTRIBUTED_PAIRS
            if flags & 0xFF not in (_PAIRS, _ATTRIBUTED_PAIRS):
                rest = self._read_kind(flags & 0xFF, flags)
                if rest is None:
                    return pairs
                return [*pairs, ("", rest)]

    def _read_alternative(self) -> RValue:
        """Read a compact vector (ALTREP).

        It is a sequence, numbers to convert to text, or a wrapped vector.
        """
        info = self.read_item()
        state = self.read_item()
        attributes = dict(self.read_item() or ())
        kind = str(info[0][1])
        if kind in ("compact_intseq", "compact_realseq"):
            n, first, step = (float(x) for x in state.values)
            if not 0 <= n <= len(self._data) * _MAX_RATIO:
                raise InvalidInputError("the file contains a sequence that is too long")
            dtype = np.int32 if kind == "compact_intseq" else float
            return RValue((first + step * np.arange(int(n))).astype(dtype), attributes)
        if kind == "deferred_string":
            numbers = state[0][1].values
            return RValue([f"{number:.15g}" for number in numbers], attributes)
        if kind.startswith("wrap_"):
            inner = state.values[0] if isinstance(state, RValue) else state[0][1]
            return RValue(inner.values, attributes or inner.attributes)
        raise InvalidInputError(
            f"the file contains a vector of the type {kind}, which is not supported"
        )


# ---- R's format: writing -------------------------------------------------------------------------


def write_rds(value: RValue, path: Path) -> None:
    """Write an R object like ``saveRDS(x, file, version = 2)``, for R 1.4 and later versions."""
    # format version 2, written by R 4.0.0
    parts = [b"X\n", struct.pack(">iii", 2, 0x00040000, 0x00020300)]
    _write_item(value, parts)
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        for part in parts:
            packed.write(part)


def _write_item(value: RValue | None, parts: list[bytes]) -> None:
    if value is None:
        parts.append(struct.pack(">i", _NULL))
        return
    flags = 0
    if value.attributes:
        flags |= _HAS_ATTRIBUTES
    if "class" in value.attributes:
        flags |= _IS_OBJECT
    values = value.values
    if isinstance(values, np.ndarray):
        kind = {"b": _LOGICAL, "i": _INTEGER, "u": _INTEGER, "f": _REAL}[
            values.dtype.kind
        ]
        parts += [
            struct.pack(">ii", kind | flags, len(values)),
            values.astype(_NUMBERS[kind]).tobytes(),
        ]
    elif values and isinstance(values[0], str):
        parts.append(struct.pack(">ii", _STRING | flags, len(values)))
        for text in values:
            _write_text(text, parts)
    else:
        parts.append(struct.pack(">ii", _LIST | flags, len(values)))
        for part in values:
            _write_item(part, parts)
    if value.attributes:
        for name, attribute in value.attributes.items():
            parts.append(struct.pack(">ii", _PAIRS | _HAS_TAG, _SYM))
            _write_text(name, parts)
            _write_item(attribute, parts)
        parts.append(struct.pack(">i", _NULL))


def _write_text(text: str, parts: list[bytes]) -> None:
    encoded = text.encode("utf-8")
    encoding = _ASCII if text.isascii() else _UTF8
    parts += [struct.pack(">ii", _CHAR | encoding << 12, len(encoded)), encoded]
