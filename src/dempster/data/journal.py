"""What the passes of a fit gave, written down one by one, so that a fit that was killed goes on where it was.

Between two passes a fit does nothing that depends on more than its settings and what the passes before gave. So that is
all that is kept: a new fit with the same settings reads the results of the passes that are in the file, in order, and
begins to read the objects where the file ends. It ends with the same bits.

The file is a line that says what it is and which settings it belongs to, and a record for each pass, its length and
digest before it. A record that was not written whole is dropped, and its pass done again. Nothing in it is code.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError

__all__ = ["Journal", "NoJournal"]

_MAGIC = b"dempster-passes-1\n"
_MARK = 64  # characters of a digest
_LENGTH = 8  # bytes


class NoJournal:
    """Nothing is kept."""

    def recalled(self, kind: type, compute: Callable[[], Any]) -> Any:
        """The result of the next pass: from the file if it is there, else computed, and kept."""
        return compute()

    def compared(self, kind: type, compute: Callable[[], Any]) -> Any:
        """The result of the next pass, which is computed in any case and must be that of the file if it is there."""
        return compute()


class Journal(NoJournal):
    """The results of passes in a file.

    Parameters
    ----------
    path : path
    settings : mapping of names to text
        All that the results depend on besides the objects; a file of other settings is refused.
    """

    def __init__(self, path: str | os.PathLike[str], settings: Mapping[str, str]):
        self.path = Path(path)
        self._mark = hashlib.sha256(json.dumps(dict(settings), sort_keys=True).encode()).hexdigest().encode()
        if self.path.is_dir():
            raise InvalidInputError(f"checkpoint must be the path of a file, but {path} is a folder")
        if not self.path.absolute().parent.is_dir():
            raise InvalidInputError(f"checkpoint must be in a folder that exists, but there is no {self.path.parent}")
        self._records, self._end = self._read()
        self._next = 0

    def recalled(self, kind: type, compute: Callable[[], Any]) -> Any:
        if self._next < len(self._records):
            self._next += 1
            return _unpacked(self._records[self._next - 1], kind)
        found = compute()
        self._append(_packed(found))
        return found

    def compared(self, kind: type, compute: Callable[[], Any]) -> Any:
        found = compute()
        body = _packed(found)
        if self._next == len(self._records):
            self._append(body)
        elif not _are_equal(_arrays(self._records[self._next]), _arrays(body)):
            raise InvalidInputError(
                f"checkpoint {self.path} belongs to other objects, or to the same ones cut into other blocks; give "
                "another path, or remove it to start again"
            )
        else:
            self._next += 1
        return found

    def _read(self) -> tuple[list[bytes], int]:
        """The records that were written whole, and where they end."""
        head = len(_MAGIC) + _MARK
        data = self.path.read_bytes() if self.path.exists() else b""
        if not data or (len(data) < head and (_MAGIC + self._mark).startswith(data)):
            return [], 0
        if not data.startswith(_MAGIC) or len(data) < head:
            raise InvalidInputError(f"checkpoint {self.path} is not a checkpoint of a fit by passes of dempster")
        if data[len(_MAGIC) : head] != self._mark:
            raise InvalidInputError(
                f"checkpoint {self.path} belongs to another model or to other parameters; give another path, or remove "
                "it to start again"
            )
        records, at = [], head
        while at + _LENGTH + _MARK <= len(data):
            size = int.from_bytes(data[at : at + _LENGTH], "little")
            start = at + _LENGTH + _MARK
            body = data[start : start + size]
            if len(body) < size or _digest(body) != data[at + _LENGTH : start]:
                break
            records.append(body)
            at = start + size
        return records, at

    def _append(self, body: bytes) -> None:
        """One more record, on the disk before the next pass begins."""
        head = b"" if self._end else _MAGIC + self._mark
        record = head + len(body).to_bytes(_LENGTH, "little") + _digest(body) + body
        with open(self.path, "r+b" if self.path.exists() else "xb") as file:
            file.truncate(self._end)
            file.seek(self._end)
            file.write(record)
            file.flush()
            os.fsync(file.fileno())
        self._end += len(record)
        self._records.append(b"")
        self._next += 1


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _packed(result: Any) -> bytes:
    """Numbers, arrays, tuples of these, and dataclasses of them, as an archive of arrays."""
    if is_dataclass(result) and not isinstance(result, type):
        parts = asdict(result)
    elif isinstance(result, tuple):
        parts = {str(k): part for k, part in enumerate(result)}
    else:
        parts = {"value": result}
    buffer = io.BytesIO()
    arrays: dict[str, Any] = {name: np.asarray(part) for name, part in parts.items()}
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _arrays(body: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(body), allow_pickle=False) as file:
        return dict(file)


def _are_equal(some: dict[str, np.ndarray], others: dict[str, np.ndarray]) -> bool:
    return some.keys() == others.keys() and all(
        some[name].shape == others[name].shape and some[name].tobytes() == others[name].tobytes() for name in some
    )


def _unpacked(body: bytes, kind: type) -> Any:
    parts = {name: part if part.ndim else part.item() for name, part in _arrays(body).items()}
    if kind is tuple:
        return tuple(parts[str(k)] for k in range(len(parts)))
    return kind(**parts) if is_dataclass(kind) else parts["value"]
