"""Container format of `dempster.persistence.save`, a ZIP archive of JSON texts and NPY arrays.

====================  ============================================================================
``dempster.json``     format and versions, size and SHA-256 digest of all other members
``content.json``      the object, encoded by `dempster.persistence.codec`
``arrays/0.npy``      arrays, in NumPy's format
``weights/0...``      weights of torch networks, in the safetensors format
====================  ============================================================================

Members are not compressed. Their sizes can therefore be checked before anything is read, so a small
file cannot fill the memory. Any program that reads ZIP and NPY files can open them. The digests
detect damage, but not forgery. A forged file may contain wrong numbers, but it cannot execute code.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import check_memory

FORMAT_VERSION = 1
CELL_KINDS = "biufcMmSU"  # kinds of NumPy arrays: numbers, booleans, dates and text
_FORMAT = "dempster"
_HEADER = "dempster.json"
_MAX_HEADER_BYTES = 64 << 20
_BLOCK_BYTES = 1 << 20
_DATE = (1980, 1, 1, 0, 0, 0)  # constant, so that equal objects give equal files


class UnreadableFileError(InvalidInputError):
    """Raised if a model file cannot be read; the message contains the name of the file."""


# ---- writing -------------------------------------------------------------------------------------


class _DigestWriter:
    """File object that computes the size and the digest of its content."""

    def __init__(self, file: IO[bytes]):
        self._file = file
        self._digest = hashlib.sha256()
        self._size = 0

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._digest.update(view)
        self._size += len(view)
        return self._file.write(view)

    def record(self) -> dict[str, Any]:
        return {"size": self._size, "sha256": self._digest.hexdigest()}


def write_container(
    path: Path,
    header: Mapping[str, Any],
    content: Any,
    arrays: list[np.ndarray],
    weights: list[bytes],
) -> None:
    """Write all members of a model file; the header is the last member."""
    writers: dict[str, Callable[[Any], Any]] = {
        "content.json": lambda file: file.write(_encode_json(content))
    }
    for k, array in enumerate(arrays):
        writers[f"arrays/{k}.npy"] = partial(
            np.lib.format.write_array, array=array, allow_pickle=False
        )
    for k, packed in enumerate(weights):
        writers[f"weights/{k}.safetensors"] = partial(_DigestWriter.write, data=packed)
    members = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, write in writers.items():
            with archive.open(
                zipfile.ZipInfo(name, _DATE), "w", force_zip64=True
            ) as file:
                writer = _DigestWriter(file)
                write(writer)
            members[name] = writer.record()
        head = {
            "format": _FORMAT,
            "version": FORMAT_VERSION,
            **header,
            "members": members,
        }
        archive.writestr(zipfile.ZipInfo(_HEADER, _DATE), _encode_json(head))


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
    if not start:
        return "is empty; copy or save the file again"
    if (
        start[0] == 0x80
        or start[:2] in (b"\x1f\x8b", b"BZ", b"\xfd7")
        or start[0] == 0x78
    ):
        return (
            "looks like a pickle or a compressed file, which dempster.persistence.load does not "
            "open because a pickle can execute code; if you trust its origin, open it with joblib "
            "or pickle"
        )
    return (
        "was not written by dempster.persistence.save; read tables with dempster.io.read_table "
        "and partitions in tables with dempster.io.read_partition"
    )


def _describe_archive(names: set[str]) -> str:
    if any(name.endswith((".pkl", ".pickle")) for name in names):
        return (
            "contains a pickle, which dempster.persistence.load does not open because it can "
            "execute code; if you trust its origin, open it with the library that wrote it"
        )
    if "membership.npy" in names:
        return "is a partition in an archive of arrays; read it with dempster.io.read_partition"
    return "is an archive, but was not written by dempster.persistence.save"


def _damaged(path: Path, reason: str) -> UnreadableFileError:
    text = " ".join(reason.split()).rstrip(".")
    return UnreadableFileError(
        f"{path} is cut short, damaged or altered ({text}); copy or save the file again"
    )


class Reader:
    """Reader of the members of a model file."""

    def __init__(self, path: Path, archive: zipfile.ZipFile):
        self.path = path
        self._archive = archive
        entries = archive.infolist()
        self._sizes = {entry.filename: entry.file_size for entry in entries}
        if _HEADER not in self._sizes:
            raise UnreadableFileError(f"{path} {_describe_archive(set(self._sizes))}")
        for entry in entries:
            is_plain = (
                entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & 0x1
            )
            if not is_plain or entry.file_size != entry.compress_size:
                raise self._suspicious("its members are compressed or encrypted")
        total = sum(self._sizes.values())
        if total > os.stat(path).st_size or len(self._sizes) < len(entries):
            raise self._suspicious("its members are larger than the file")
        self.header = self._read_header()
        check_memory(total, f"{path}: its content", "save the object in parts")

    def _suspicious(self, reason: str) -> UnreadableFileError:
        return UnreadableFileError(
            f"{self.path}: {reason}, unlike files of dempster.persistence.save; do not trust it"
        )

    def _read_header(self) -> dict[str, Any]:
        if self._sizes[_HEADER] > _MAX_HEADER_BYTES:
            raise self._suspicious(f"its header has {self._sizes[_HEADER]:,} bytes")
        header = self._parse_json(self._archive.read(_HEADER), _HEADER)
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
        members = header.get("members")
        if not isinstance(members, dict) or not all(map(_is_record, members.values())):
            raise _damaged(self.path, "its header does not list its members")
        sizes = {name: size for name, size in self._sizes.items() if name != _HEADER}
        if sizes != {name: record["size"] for name, record in members.items()}:
            raise _damaged(self.path, "its members differ from those in its header")
        return header

    def content(self) -> Any:
        self._check_digest("content.json")
        return self._parse_json(self._archive.read("content.json"), "content.json")

    def weights(self, number: int) -> bytes:
        """Return the weights of a network, given its number, in the safetensors format."""
        name = f"weights/{number}.safetensors"
        self._check_digest(name)
        return self._archive.read(name)

    def array(self, number: int) -> np.ndarray:
        """Return an array, given its number."""
        name = f"arrays/{number}.npy"
        self._check_digest(name)
        with self._archive.open(name) as file:
            self._check_array_size(file, name)
        with self._archive.open(name) as file:
            return np.lib.format.read_array(file, allow_pickle=False)

    def _check_array_size(self, file: IO[bytes], name: str) -> None:
        """Raise an error if an array is larger than the member, before NumPy allocates memory."""
        try:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_2_0
            if version == (1, 0):
                read = np.lib.format.read_array_header_1_0
            shape, _, dtype = read(file)
        except (
            Exception
        ) as error:  # NumPy does not document the exceptions for invalid headers.
            raise _damaged(self.path, f"{name}: {error}") from error
        n_bytes = math.prod(map(int, shape)) * dtype.itemsize
        if dtype.kind not in CELL_KINDS or file.tell() + n_bytes != self._sizes[name]:
            raise _damaged(
                self.path,
                f"{name} is not an array of numbers or text of the size in its header",
            )

    def _check_digest(self, name: str) -> None:
        if name not in self.header["members"]:
            raise _damaged(self.path, f"{name} is missing")
        digest = hashlib.sha256()
        with self._archive.open(name) as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
        if digest.hexdigest() != self.header["members"][name]["sha256"]:
            raise _damaged(self.path, f"the digest of {name} is wrong")

    def _parse_json(self, data: bytes, name: str) -> Any:
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise _damaged(self.path, f"{name} cannot be read") from error


def _is_record(record: Any) -> bool:
    return (
        isinstance(record, dict)
        and isinstance(record.get("size"), int)
        and isinstance(record.get("sha256"), str)
    )
