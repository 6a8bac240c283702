"""Container format of `dempster.persistence.save`, a ZIP archive of JSON texts and NPY arrays.

====================  ============================================================================
``dempster.json``     format and versions
``content.json``      the object, encoded by `dempster.persistence.codec`
``arrays/0.npy``      arrays, in NumPy's format
``weights/0...``      weights of torch networks, in the safetensors format
====================  ============================================================================

Members are not compressed. Their sizes can therefore be checked before anything is read, so a small
file cannot fill the memory. Any program that reads ZIP and NPY files can open them. The checksums
of ZIP detect damage, but not forgery. A forged file may contain wrong numbers, but it cannot
execute code.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import check_memory

FORMAT_VERSION = 1
CELL_KINDS = "biufcMmSU"  # kinds of NumPy arrays: numbers, booleans, dates and text
_FORMAT = "dempster"
_HEADER = "dempster.json"
_CONTENT = "content.json"
# first bytes of pickles and of files compressed by gzip, bz2, xz and zlib
_PICKLE_STARTS = (b"\x80", b"\x1f\x8b", b"BZ", b"\xfd7", b"\x78")
_DATE = (1980, 1, 1, 0, 0, 0)  # constant, so that equal objects give equal files


class UnreadableFileError(InvalidInputError):
    """Raised if a model file cannot be read; the message contains the name of the file."""


# ---- writing -------------------------------------------------------------------------------------


def write_container(
    file: Path | BinaryIO,
    header: Mapping[str, Any],
    content: Any,
    arrays: list[np.ndarray],
    weights: list[bytes],
) -> None:
    """Write all members of a model file to a path or an open file."""
    head = {"format": _FORMAT, "version": FORMAT_VERSION, **header}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER, _DATE), _encode_json(head))
        archive.writestr(zipfile.ZipInfo(_CONTENT, _DATE), _encode_json(content))
        for k, array in enumerate(arrays):
            member = zipfile.ZipInfo(f"arrays/{k}.npy", _DATE)
            with archive.open(member, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)
        for k, packed in enumerate(weights):
            archive.writestr(zipfile.ZipInfo(_weights_name(k), _DATE), packed)


def _weights_name(number: int) -> str:
    return f"weights/{number}.safetensors"


def _encode_json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


# ---- reading -------------------------------------------------------------------------------------


@contextmanager
def open_container(path: Path) -> Iterator[Reader]:
    """Open a model file and validate its header; the reader validates each member."""
    with open(path, "rb") as file:
        start = file.read(4)
    if start[:2] != b"PK":
        raise UnreadableFileError(f"{path} {_describe_start(start)}")
    try:
        with zipfile.ZipFile(path) as archive:
            yield Reader(path, archive)
    except (
        zipfile.BadZipFile,
        EOFError,
        NotImplementedError,
        UnicodeDecodeError,
    ) as error:
        raise _damaged(path, str(error)) from error
    except OSError as error:
        if error.filename is not None:
            raise  # The error comes from the file system, not from the content of the file.
        raise _damaged(path, str(error)) from error


def _describe_start(start: bytes) -> str:
    if start.startswith(_PICKLE_STARTS):
        return (
            "looks like a pickle or a compressed file, which dempster.persistence.load does not "
            "open because a pickle can execute code; if you trust its origin, open it with joblib "
            "or pickle"
        )
    return (
        "was not written by dempster.persistence.save; read tables with dempster.io.read_table "
        "and partitions in tables with dempster.io.read_partition"
    )


def _damaged(path: Path, reason: str) -> UnreadableFileError:
    text = " ".join(reason.split()).rstrip(".")
    return UnreadableFileError(
        f"{path} is cut short, damaged or altered ({text}); copy or save the file again, and "
        "do not trust it if you do not know its origin"
    )


class Reader:
    """Reader of the members of a model file."""

    def __init__(self, path: Path, archive: zipfile.ZipFile):
        self.path = path
        self._archive = archive
        entries = archive.infolist()
        self._sizes = {entry.filename: entry.file_size for entry in entries}
        if _HEADER not in self._sizes:
            raise UnreadableFileError(
                f"{path} is an archive, but was not written by dempster.persistence.save"
            )
        for entry in entries:
            is_plain = (
                entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & 0x1
            )
            if not is_plain or entry.file_size != entry.compress_size:
                raise _damaged(path, "its members are compressed or encrypted")
        total = sum(self._sizes.values())
        if total > os.stat(path).st_size or len(self._sizes) < len(entries):
            raise _damaged(path, "its members are larger than the file")
        self.header = self._read_header()
        check_memory(total, f"{path}: its content", "save the object in parts")

    def _read_header(self) -> dict[str, Any]:
        header = self._read_json(_HEADER)
        if (
            not isinstance(header, dict)
            or header.get("format") != _FORMAT
            or type(header.get("version")) is not int
        ):
            raise _damaged(self.path, "its header has no format and version")
        if header["version"] > FORMAT_VERSION:
            raise UnreadableFileError(
                f"{self.path} was written by dempster {header.get('library', '?')} in version "
                f"{header['version']} of the format, but this dempster reads versions up to "
                f"{FORMAT_VERSION}; upgrade dempster"
            )
        return header

    @property
    def size(self) -> int:
        """Number of bytes of all members except the header."""
        return sum(self._sizes.values()) - self._sizes[_HEADER]

    def content(self) -> Any:
        return self._read_json(_CONTENT)

    def weights(self, number: int) -> bytes:
        """Return the weights of a network, given its number, in the safetensors format."""
        return self._archive.read(_weights_name(number))

    def array(self, number: int) -> np.ndarray:
        """Return an array, given its number."""
        name = f"arrays/{number}.npy"
        with self._archive.open(name) as file:
            try:
                array = np.lib.format.read_array(file, allow_pickle=False)
            except Exception as error:  # NumPy does not document them.
                raise _damaged(self.path, f"{name}: {error}") from error
            if file.read(1) or array.dtype.kind not in CELL_KINDS:
                raise _damaged(
                    self.path,
                    f"{name} is not an array of numbers or text of the size in its header",
                )
        return array

    def _read_json(self, name: str) -> Any:
        try:
            return json.loads(self._archive.read(name))
        except (ValueError, RecursionError) as error:
            raise _damaged(self.path, f"{name} cannot be read") from error
