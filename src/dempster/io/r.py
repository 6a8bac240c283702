"""Partitions of the R package evclust: its class ``credpart`` in files of ``saveRDS``, read and written without R.

The format is R's serialization in XDR, "R Internals", section 1.8: every item is a word of flags, with the type in its
lowest byte, then its content, then its attributes as a list of pairs. Code (functions, expressions) is refused, never
run. The reader is our own because the package rdata parses such files five times more slowly, takes a second to import,
and accepts damaged files: it returns what is left of vectors that are cut short and allocates what sequences claim.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.belief import FocalSets
from dempster.io.atomic import as_file, as_path, reading_file, writing_file
from dempster.io.partitions import check_partition
from dempster.partition import CredalPartition

# Types of items, by R's own names.
_SYM, _PAIRS, _CHAR, _LOGICAL, _INTEGER, _REAL, _COMPLEX, _STRING, _LIST, _RAW = 1, 2, 9, 10, 13, 14, 15, 16, 19, 24
_NULL, _REFERENCE, _ALTERNATIVE, _GLOBAL, _EMPTY_ENV, _BASE_ENV, _BASE_NAMESPACE = 254, 255, 238, 253, 242, 241, 250
_NAMESPACE, _ENVIRONMENT, _ATTRIBUTED_PAIRS = 249, 4, 239
_NOTHING = {_NULL, _GLOBAL, _EMPTY_ENV, _BASE_ENV, _BASE_NAMESPACE}
_NUMBERS = {_LOGICAL: ">i4", _INTEGER: ">i4", _REAL: ">f8", _COMPLEX: ">c16", _RAW: "u1"}
_IS_OBJECT, _HAS_ATTRIBUTES, _HAS_TAG = 1 << 8, 1 << 9, 1 << 10
_UTF8, _LATIN1, _ASCII = 1 << 3, 1 << 2, 1 << 6
_MAX_SAFE_BYTES, _MAX_RATIO = 100 << 20, 200  # compression never shrinks a partition more than this
MAX_DEPTH = 200


@dataclass
class RValue:
    """A vector or list of R.

    Attributes
    ----------
    values : array of numbers, list of text (None where it is missing), or list of RValue and None (R's NULL)
    attributes : dict
        ``names``, ``dim``, ``class``, ..., each an RValue.
    """

    values: Any
    attributes: dict[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.values)

    def texts(self, attribute: str) -> list[str]:
        """An attribute that is text; empty if there is none."""
        found = self.attributes.get(attribute)
        return [str(text) for text in found.values] if isinstance(found, RValue) else []

    def get(self, name: str) -> RValue | None:
        """An element of a list by its name; None if there is none."""
        names = self.texts("names")
        found = self.values[names.index(name)] if isinstance(self.values, list) and name in names else None
        return found if isinstance(found, RValue) else None

    def matrix(self) -> np.ndarray:
        """The numbers of a matrix; a vector is one column."""
        values = np.asarray(self.values)
        dim = self.attributes.get("dim")
        shape = (len(values), 1) if dim is None else tuple(int(n) for n in dim.values)
        return values.reshape(shape, order="F")


def read_r(path: str | os.PathLike[str]) -> CredalPartition:
    """Read a credal partition that R has written: ``saveRDS(clus, "clus.rds")``. Nothing in the file is run.

    Parameters
    ----------
    path : path
        A file of ``saveRDS`` (compressed or not) with a ``credpart`` of the package evclust, or any list with the
        matrices ``mass`` (n, f) and ``F`` (f, c).

    Returns
    -------
    CredalPartition
        Clusters are named by the columns of ``F`` if these have names, else 0, 1, ...: the first cluster of R is
        cluster 0. Objects are named by the rows of ``mass``. ``metadata`` has the method and its criterion.

    Raises
    ------
    ValueError
        It is no such file, or the masses are none.
    """
    path = as_file(path)
    with reading_file(path):
        try:
            return _from_r(read_rds(path))
        except InvalidInputError:
            raise
        except (TypeError, AttributeError, LookupError, ArithmeticError, MemoryError, RecursionError) as error:
            raise InvalidInputError("its content is damaged, or none of a credal partition") from error


def write_r(partition: CredalPartition, path: str | os.PathLike[str]) -> None:
    """Write a credal partition for R: ``clus <- readRDS("clus.rds")`` is a ``credpart`` of the package evclust.

    It has what ``extractMass`` of that package makes of masses, so that ``plot``, ``summary``, ``pairwise_mass``, ...
    take it. Objects and clusters are counted from 1 there.

    Parameters
    ----------
    partition : CredalPartition
        The empty set is put first, and added without mass if it is not a focal set. Names of objects become names of
        the rows of ``mass``, names of clusters (other than 0, 1, ...) those of the columns of ``F``.
    path : path
        Usually ``.rds``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.io import read_r, write_r
    >>> cp = CredalPartition([[0, 1, 0, 0], [0, 0.25, 0.25, 0.5]], FocalSets.full(2), index=["ann", "bob"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_r(cp, Path(folder) / "people.rds")
    ...     read_r(Path(folder) / "people.rds")
    CredalPartition(2 objects, 2 clusters)
    ann: {0}: 1
    bob: {0}: 0.25  {1}: 0.25  Ω: 0.5
    """
    check_partition(partition)
    with writing_file(as_path(path)) as temporary:
        write_rds(_to_r(partition.to_numpy()), temporary)


# ---- from R ---------------------------------------------------------------------------------------------------------


def _from_r(found: RValue | None) -> CredalPartition:
    mass, sets = (None, None) if found is None else (found.get("mass"), found.get("F"))
    if found is None or mass is None or sets is None:
        raise InvalidInputError("it holds no credal partition, a list with the matrices mass and F")
    masses, membership = mass.matrix(), sets.matrix()
    if masses.dtype.kind != "f" or membership.dtype.kind not in "if" or not np.isin(membership, (0, 1)).all():
        raise InvalidInputError("mass must hold numbers and F zeros and ones")
    if masses.shape[1] != len(membership):
        raise InvalidInputError(f"mass has {masses.shape[1]} columns, but F {len(membership)} rows")
    clusters = _dimension_names(sets)[1]
    names = _dimension_names(mass)[0]
    told = {"method": _first(found.get("method")), "objective": _first(found.get("crit"))}
    return CredalPartition(
        masses,
        FocalSets(membership == 1),
        names or None,
        frame=clusters or None,
        metadata={name: value for name, value in told.items() if value is not None},
    )


def _dimension_names(matrix: RValue) -> tuple[list[str], list[str]]:
    """Names of rows and columns, empty where there are none."""
    given = matrix.attributes.get("dimnames")
    parts = given.values if isinstance(given, RValue) else [None, None]
    rows, columns = ([] if part is None else [str(text) for text in part.values] for part in parts)
    return rows, columns


def _first(value: RValue | None) -> Any:
    """A number or text alone."""
    if value is None or len(value) != 1:
        return None
    only = value.values[0]
    return only.item() if isinstance(only, np.generic) else only if isinstance(only, str) else None


# ---- to R -----------------------------------------------------------------------------------------------------------


def _to_r(partition: CredalPartition) -> RValue:
    """What the manual of evclust says of a ``credpart``, under the names it has there."""
    partition = _with_empty_set_first(partition)
    membership, c = partition.focal_sets.membership, partition.n_clusters
    masses = np.asarray(partition.masses, dtype=float)
    conflict = masses[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = (1 / (1 - conflict))[:, None]  # an object that is an outlier for certain has no normalised masses
        contour = np.asarray(partition.contour, dtype=float)
        belief = masses @ (membership & (partition.focal_sets.cardinality == 1)[:, None]).astype(float)
        sizes = np.maximum(partition.focal_sets.cardinality, 1)[:, None]
        pignistic = masses @ (membership / sizes)
        share = contour / contour.sum(axis=1, keepdims=True)
        normalized = {"mass.n": scale * masses[:, 1:], "pl.n": scale * contour, "bel.n": scale * belief}
        normalized["betp.n"] = scale * pignistic
    largest = membership[masses.argmax(axis=1)]
    undominated = contour >= belief.max(axis=1, keepdims=True)
    logarithms = np.log(np.where(partition.focal_sets.cardinality > 0, partition.focal_sets.cardinality, c))
    specific = float((masses @ logarithms).mean() / np.log(c)) if c > 1 and len(masses) else 0.0
    fields: dict[str, RValue | None] = {
        "conf": RValue(conflict),
        "F": _matrix(membership.astype(float), columns=_cluster_names(partition)),
        "mass": _matrix(masses, rows=None if partition.index is None else [str(name) for name in partition.index]),
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
    return RValue(list(fields.values()), {"names": RValue(list(fields)), "class": RValue(["credpart"])})


def _with_empty_set_first(partition: CredalPartition) -> CredalPartition:
    """The order that evclust asks for; other sets stay where they are."""
    family, masses = partition.focal_sets, partition.masses
    empty = family.empty_index
    others = [k for k in range(len(family)) if k != empty]
    first = np.zeros(len(masses)) if empty is None else masses[:, empty]
    rows = np.vstack([np.zeros((1, family.n_clusters), dtype=bool), family.membership[others]])
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
    written = [str(name) for name in names]
    if len(set(written)) < len(written):
        raise InvalidInputError(
            f"frame holds different names that are written alike, as 1 and '1': {names}; make all text"
        )
    return written


def _matrix(values: np.ndarray, rows: list[str] | None = None, columns: list[str] | None = None) -> RValue:
    attributes: dict[str, Any] = {"dim": RValue(np.array(values.shape, dtype=np.int32))}
    if rows or columns:
        named = [RValue(names) if names else None for names in (rows, columns)]
        attributes["dimnames"] = RValue(named)
    return RValue(np.ascontiguousarray(values.T).ravel(), attributes)  # column after column


def _positions(chosen: np.ndarray) -> RValue:
    return RValue(np.flatnonzero(chosen).astype(np.int32) + 1)


def _approximations(sets: np.ndarray, suffix: str) -> dict[str, RValue]:
    """Objects in the lower and upper approximation of each cluster."""
    alone = sets.sum(axis=1) == 1
    return {
        f"lower.approx{suffix}": RValue([_positions(column & alone) for column in sets.T]),
        f"upper.approx{suffix}": RValue([_positions(column) for column in sets.T]),
    }


# ---- R's format: reading --------------------------------------------------------------------------------------------


def read_rds(path: Path) -> RValue | None:
    """The object in a file of ``saveRDS``; ValueError if it is none, or holds code."""
    data = _unpacked(path.read_bytes())
    if data[:4] in (b"RDX2", b"RDX3", b"RDA2", b"RDA3"):
        raise InvalidInputError("this is a workspace (save); write the partition alone with saveRDS")
    if data[:2] in (b"A\n", b"B\n"):
        raise InvalidInputError("it is written as text or in the order of one machine; write it with saveRDS(x, file)")
    if data[:2] != b"X\n":
        raise InvalidInputError("this is not a file of R's saveRDS")
    reader = _Reader(data)
    try:
        reader.skip_head()
        found = reader.item()
    except (struct.error, IndexError) as error:
        raise InvalidInputError("it is cut short or damaged: write it again") from error
    return found if isinstance(found, RValue) or found is None else RValue(found)


def _unpacked(data: bytes) -> bytes:
    """Files are compressed by gzip unless R was told otherwise."""
    kinds = {
        b"\x1f\x8b": lambda: zlib.decompressobj(wbits=31),
        b"BZ": bz2.BZ2Decompressor,
        b"\xfd7": lzma.LZMADecompressor,
    }
    make: Any = kinds.get(data[:2])
    if make is None:
        return data
    most = max(_MAX_SAFE_BYTES, _MAX_RATIO * len(data))
    decompressor = make()
    try:
        out = decompressor.decompress(data, most)
    except (zlib.error, OSError, EOFError, lzma.LZMAError) as error:
        raise InvalidInputError("it is cut short or damaged: write it again") from error
    if not decompressor.eof:
        if len(out) >= most:
            raise InvalidInputError(
                f"its {len(data):,} bytes decompress to more than {most >> 20:,} MB; refusing to read the file"
            )
        raise InvalidInputError("it is cut short or damaged: write it again")
    return out


class _Reader:
    def __init__(self, data: bytes):
        self._data, self._at, self._depth = data, 2, 0
        self._known: list[Any] = []

    def skip_head(self) -> None:
        version, _, _ = self._integer(), self._integer(), self._integer()
        if version not in (2, 3):
            raise InvalidInputError(
                f"version {version} of R's format is not known; write it with saveRDS(x, file, version=3)"
            )
        if version == 3:
            self._bytes(self._integer())  # the encoding of the machine; every text says its own

    def _integer(self) -> int:
        (value,) = struct.unpack_from(">i", self._data, self._at)
        self._at += 4
        return int(value)

    def _bytes(self, n: int) -> bytes:
        if n < 0 or self._at + n > len(self._data):
            raise IndexError
        self._at += n
        return self._data[self._at - n : self._at]

    def _length(self) -> int:
        n = self._integer()
        return n if n != -1 else (self._integer() << 32) + (self._integer() & 0xFFFFFFFF)

    def item(self) -> Any:
        """The next item: an RValue, a text, or None."""
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise InvalidInputError("its lists are nested too deeply")
        flags = self._integer()
        found = self._of_kind(flags & 0xFF, flags)
        self._depth -= 1
        return found

    def _of_kind(self, kind: int, flags: int) -> Any:
        if kind in _NOTHING:
            return None
        if kind == _CHAR:
            return self._text(flags)
        if kind in (_SYM, _NAMESPACE, _REFERENCE):
            return self._named(kind, flags)
        if kind in (_PAIRS, _ATTRIBUTED_PAIRS):
            return self._pairs(flags, kind == _ATTRIBUTED_PAIRS)
        if kind == _ALTERNATIVE:
            return self._alternative()
        if kind in _NUMBERS:
            dtype = np.dtype(_NUMBERS[kind])
            n = self._length()
            values: Any = np.frombuffer(self._bytes(n * dtype.itemsize), dtype).astype(dtype.newbyteorder("="))
        elif kind in (_STRING, _LIST):
            n = self._length()
            if n > len(self._data):  # every element takes a word at least
                raise IndexError
            values = [self.item() for _ in range(n)]
        else:
            raise InvalidInputError(
                "it holds functions, environments or objects of other systems, which are not read; in R: "
                "saveRDS(clus[c('mass', 'F', 'method')], file)"
            )
        return RValue(values, self._attributes(flags))

    def _attributes(self, flags: int) -> dict[str, Any]:
        if not flags & _HAS_ATTRIBUTES:
            return {}
        found = self.item()
        return dict(found) if isinstance(found, list) else {}

    def _text(self, flags: int) -> str | None:
        n = self._integer()
        if n == -1:
            return None
        encoding = "latin-1" if (flags >> 12) & _LATIN1 else "utf-8"
        return self._bytes(n).decode(encoding, errors="replace")

    def _named(self, kind: int, flags: int) -> Any:
        """Symbols and namespaces are kept by their number, to be referred to."""
        if kind == _REFERENCE:
            number = flags >> 8 or self._integer()
            return self._known[number - 1]
        if kind == _SYM:
            self._known.append(self.item())
        else:
            self._integer()
            self._known.append([self.item() for _ in range(self._integer())])
        return self._known[-1]

    def _pairs(self, flags: int, attributed: bool) -> list[tuple[str, Any]]:
        """A list of pairs, such as attributes: names and values."""
        found = []
        while True:
            if flags & _HAS_ATTRIBUTES or attributed:
                self.item()
            name = self.item() if flags & _HAS_TAG else ""
            found.append((str(name), self.item()))
            flags = self._integer()
            attributed = flags & 0xFF == _ATTRIBUTED_PAIRS
            if flags & 0xFF not in (_PAIRS, _ATTRIBUTED_PAIRS):
                rest = self._of_kind(flags & 0xFF, flags)  # nothing, or the second of two
                return found if rest is None else [*found, ("", rest)]

    def _alternative(self) -> RValue:
        """Vectors in a compact form: sequences, numbers to be shown as text, vectors with what is known of them."""
        info, state, attributes = self.item(), self.item(), self.item()
        kind = str(info[0][1])
        more = dict(attributes) if isinstance(attributes, list) else {}
        if kind in ("compact_intseq", "compact_realseq"):
            n, first, step = (float(x) for x in state.values)
            if not 0 <= n <= len(self._data) * _MAX_RATIO:
                raise InvalidInputError("it holds a sequence that is too long")
            dtype = np.int32 if kind == "compact_intseq" else float
            return RValue((first + step * np.arange(int(n))).astype(dtype), more)
        if kind == "deferred_string":
            values = state[0][1].values
            return RValue([f"{value:.15g}" for value in values], more)
        if kind.startswith("wrap_"):
            inner = state.values[0] if isinstance(state, RValue) else state[0][1]
            return RValue(inner.values, more or inner.attributes)
        raise InvalidInputError(f"it holds a vector of the kind {kind}, which is not known")


# ---- R's format: writing --------------------------------------------------------------------------------------------


def write_rds(value: RValue, path: Path) -> None:
    """Write an object as ``saveRDS(x, file, version = 2)`` does, which R reads since 1.4."""
    parts = [b"X\n", struct.pack(">iii", 2, 0x00040000, 0x00020300)]  # the format, R 4.0.0 and the oldest reader, 2.3.0
    _write_item(value, parts)
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        for part in parts:
            packed.write(part)


def _write_item(value: RValue | None, parts: list[bytes]) -> None:
    if value is None:
        parts.append(struct.pack(">i", _NULL))
        return
    flags = (_HAS_ATTRIBUTES if value.attributes else 0) | (_IS_OBJECT if "class" in value.attributes else 0)
    values = value.values
    if isinstance(values, np.ndarray):
        kind = {"b": _LOGICAL, "i": _INTEGER, "u": _INTEGER, "f": _REAL}[values.dtype.kind]
        parts += [struct.pack(">ii", kind | flags, len(values)), values.astype(_NUMBERS[kind]).tobytes()]
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
