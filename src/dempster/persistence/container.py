"""The container of `dempster.persistence.save`: a ZIP archive of JSON texts and NPY arrays that says what it is.

==================  ================================================================================================
``dempster.json``  format and its version, what wrote the file, what it holds; size and SHA-256 of all other members
``content.json``    the object, as `dempster.persistence.codec` tells it
``arrays/0.npy``    its arrays, in NumPy's own format
``weights/0...``    weights of torch networks, as safetensors
==================  ================================================================================================

Nothing is compressed, so the members are never larger than the file: that an archive does not unpack to fill the
memory is seen before anything is read, arrays are written and read at the speed of the disk, and any program that knows
ZIP and NPY can look inside. The digests find damage. They are no signature: who forges a file can forge them too, and
then one gets wrong numbers, but no code is run.
"""

from __future__ import annotations

import hashlib
import json
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
_FORMAT = "dempster"
_HEADER = "dempster.json"
_MAX_HEADER = 64 << 20
_AT_ONCE = 1 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same object gives the same bytes
_KINDS = "biufcMmSU"  # of arrays: numbers, truth values, moments and text


class UnreadableFileError(InvalidInputError):
    """A file that cannot be read; the message names it."""


# ---- writing --------------------------------------------------------------------------------------------------------


class _Digesting:
    """A file to write to that keeps the digest and the size of what was written."""

    def __init__(self, file: IO[bytes]):
        self._file, self._digest, self.size = file, hashlib.sha256(), 0

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._digest.update(view)
        self.size += len(view)
        return self._file.write(view)

    def record(self) -> dict[str, Any]:
        return {"size": self.size, "sha256": self._digest.hexdigest()}


def write_container(
    path: Path, header: Mapping[str, Any], content: Any, arrays: list[np.ndarray], weights: list[bytes]
) -> None:
    """Write all members, the header last."""
    writers: dict[str, Callable[[Any], Any]] = {"content.json": lambda file: file.write(_as_json(content))}
    for k, array in enumerate(arrays):
        writers[f"arrays/{k}.npy"] = partial(np.lib.format.write_array, array=array, allow_pickle=False)
    for k, packed in enumerate(weights):
        writers[f"weights/{k}.safetensors"] = partial(_Digesting.write, data=packed)
    members = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, write in writers.items():
            with archive.open(zipfile.ZipInfo(name, _EPOCH), "w", force_zip64=True) as file:
                digesting = _Digesting(file)
                write(digesting)
            members[name] = digesting.record()
        head = {"format": _FORMAT, "version": FORMAT_VERSION, **header, "members": members}
        archive.writestr(zipfile.ZipInfo(_HEADER, _EPOCH), _as_json(head))


def _as_json(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")


# ---- reading --------------------------------------------------------------------------------------------------------


@contextmanager
def open_container(path: Path) -> Iterator[Reader]:
    """A reader of a file whose outside was checked; each member is checked when it is read.

    Raises a ValueError, of one line that names the file and what to do, for anything but a whole file of a version that
    is known.
    """
    with open(path, "rb") as file:
        start = file.read(4)
    if start[:2] != b"PK":
        raise UnreadableFileError(f"{path} {_what_it_is(start)}")
    try:
        with zipfile.ZipFile(path) as archive:
            yield Reader(path, archive)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, UnicodeDecodeError) as error:
        raise _damaged(path, str(error)) from error
    except OSError as error:
        if error.filename is not None:
            raise  # the file system failed, not the content
        raise _damaged(path, error.strerror or str(error)) from error


def _what_it_is(start: bytes) -> str:
    if not start:
        return "is empty: get the file again, or write it again with dempster.persistence.save"
    if start[0] == 0x80 or start[:2] in (b"\x1f\x8b", b"BZ", b"\xfd7") or start[0] == 0x78:
        return (
            "looks like a pickle or a compressed file, which dempster.persistence.load never opens, as a pickle can "
            "run any program; if you trust its origin, open it with joblib or pickle and write it with dempster's save"
        )
    return (
        "was not written by dempster.persistence.save: tables are read by dempster.io.read_table, partitions in tables "
        "by dempster.io.read_partition"
    )


def _damaged(path: Path, why: str) -> UnreadableFileError:
    words = " ".join(why.split()).rstrip(".")
    return UnreadableFileError(
        f"{path} is cut short, damaged or altered ({words}): get the file again, or write it again"
    )


class Reader:
    """The members of a file.

    Attributes
    ----------
    header : dict
        What ``dempster.json`` says.
    """

    def __init__(self, path: Path, archive: zipfile.ZipFile):
        self.path, self._archive = path, archive
        entries = archive.infolist()
        self._sizes = {entry.filename: entry.file_size for entry in entries}
        if _HEADER not in self._sizes:
            raise UnreadableFileError(f"{path} {_other_archive(set(self._sizes))}")
        packed = next((e for e in entries if e.compress_type != zipfile.ZIP_STORED or e.flag_bits & 0x1), None)
        if packed is not None or any(entry.file_size != entry.compress_size for entry in entries):
            raise self._too_large("its members are compressed or encrypted")
        if sum(self._sizes.values()) > os.stat(path).st_size or len(self._sizes) < len(entries):
            raise self._too_large("its members are larger than the file")
        self.header = self._checked_header()
        total = sum(self._sizes.values())
        check_memory(total, f"{path}: its content", "save the object in parts")

    def _too_large(self, why: str) -> UnreadableFileError:
        return UnreadableFileError(
            f"{self.path}: {why}, which dempster.persistence.save never does; do not trust this file"
        )

    def _checked_header(self) -> dict[str, Any]:
        if self._sizes[_HEADER] > _MAX_HEADER:
            raise self._too_large(f"its header takes {self._sizes[_HEADER]:,} bytes")
        header = self._parsed(self._archive.read(_HEADER), _HEADER)
        if not isinstance(header, dict) or header.get("format") != _FORMAT or type(header.get("version")) is not int:
            raise _damaged(self.path, "its header does not say what it is")
        if header["version"] > FORMAT_VERSION:
            raise UnreadableFileError(
                f"{self.path} was written by dempster {header.get('library', '?')} in version {header['version']} of "
                f"the format, but this dempster reads versions up to {FORMAT_VERSION}: upgrade dempster"
            )
        members = header.get("members")
        if not isinstance(members, dict) or not all(_is_record(record) for record in members.values()):
            raise _damaged(self.path, "its header does not list its members")
        found = {name: size for name, size in self._sizes.items() if name != _HEADER}
        if found != {name: record["size"] for name, record in members.items()}:
            raise _damaged(self.path, "its members are not those that its header lists")
        return header

    def content(self) -> Any:
        """What ``content.json`` says."""
        return self._parsed(self._checked_bytes("content.json"), "content.json")

    def weights(self, number: int) -> bytes:
        """Weights of a network, in the format of safetensors."""
        return self._checked_bytes(f"weights/{number}.safetensors")

    def array(self, number: int) -> np.ndarray:
        """One of the arrays."""
        name = f"arrays/{number}.npy"
        self._check_digest(name)
        with self._archive.open(name) as file:
            self._check_array_size(file, name)
        with self._archive.open(name) as file:
            return np.lib.format.read_array(file, allow_pickle=False)

    def _check_array_size(self, file: IO[bytes], name: str) -> None:
        """NumPy takes the memory that the head of an array asks for before it looks for its values."""
        try:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(file)
        except Exception as error:  # NumPy does not say what it raises on heads that are none
            raise _damaged(self.path, f"{name}: {error}") from error
        count = 1
        for length in shape:
            count *= int(length)
        if dtype.kind not in _KINDS or file.tell() + count * dtype.itemsize != self._sizes[name]:
            raise _damaged(self.path, f"{name} is no array of numbers or text, or not of the size it says")

    def _checked_bytes(self, name: str) -> bytes:
        self._check_digest(name)
        return self._archive.read(name)

    def _check_digest(self, name: str) -> None:
        if name not in self.header["members"]:
            raise _damaged(self.path, f"{name} is missing")
        digest = hashlib.sha256()
        with self._archive.open(name) as file:
            while block := file.read(_AT_ONCE):
                digest.update(block)
        if digest.hexdigest() != self.header["members"][name]["sha256"]:
            raise _damaged(self.path, f"{name} is not what was written")

    def _parsed(self, data: bytes, name: str) -> Any:
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            raise _damaged(self.path, f"{name} cannot be read") from error


def _is_record(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("size"), int) and isinstance(record.get("sha256"), str)


def _other_archive(names: set[str]) -> str:
    if any(name.endswith((".pkl", ".pickle")) for name in names):
        return (
            "holds a pickle, which dempster.persistence.load never opens, as it can run any program; if you trust its "
            "origin, open it with the library that wrote it"
        )
    if "membership.npy" in names:
        return "is a partition in an archive of arrays: dempster.io.read_partition reads it"
    return "is an archive, but was not written by dempster.persistence.save"
