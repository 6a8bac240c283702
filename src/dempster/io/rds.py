"""R's files of one object (``saveRDS``): vectors, matrices and lists, read and written without R.

The format is R's serialization in XDR, "R Internals", section 1.8: every item is a word of flags, with the type in its
lowest byte, then its content, then its attributes as a list of pairs. What is code (functions, expressions) is refused,
never run.
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

__all__ = ["RValue", "read_rds", "write_rds"]

# Types of items, by R's own names.
_SYM, _PAIRS, _CHAR, _LOGICAL, _INTEGER, _REAL, _COMPLEX, _STRING, _LIST, _RAW = 1, 2, 9, 10, 13, 14, 15, 16, 19, 24
_NULL, _REFERENCE, _ALTERNATIVE, _GLOBAL, _EMPTY_ENV, _BASE_ENV, _BASE_NAMESPACE = 254, 255, 238, 253, 242, 241, 250
_NAMESPACE, _ENVIRONMENT, _ATTRIBUTED_PAIRS = 249, 4, 239
_NOTHING = {_NULL, _GLOBAL, _EMPTY_ENV, _BASE_ENV, _BASE_NAMESPACE}
_NUMBERS = {_LOGICAL: ">i4", _INTEGER: ">i4", _REAL: ">f8", _COMPLEX: ">c16", _RAW: "u1"}
_IS_OBJECT, _HAS_ATTRIBUTES, _HAS_TAG = 1 << 8, 1 << 9, 1 << 10
_UTF8, _LATIN1, _ASCII = 1 << 3, 1 << 2, 1 << 6
_LARGE, _LARGEST_RATIO = 100 << 20, 200  # as of other compressed tables: more is a file made to fill the memory
_DEEPEST = 200


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


# ---- reading --------------------------------------------------------------------------------------------------------


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
    most = max(_LARGE, _LARGEST_RATIO * len(data))
    decompressor = make()
    try:
        out = decompressor.decompress(data, most)
    except (zlib.error, OSError, EOFError, lzma.LZMAError) as error:
        raise InvalidInputError("it is cut short or damaged: write it again") from error
    if not decompressor.eof:
        if len(out) >= most:
            raise InvalidInputError(
                f"it would take more than {most >> 20:,} MB from {len(data):,} bytes: do not trust it"
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
        if self._depth > _DEEPEST:
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
            if not 0 <= n <= len(self._data) * _LARGEST_RATIO:
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


# ---- writing --------------------------------------------------------------------------------------------------------


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
