"""Passes over blocks of rows: logged as they begin, and kept in a file so that a killed fit resumes where it was.

Between two passes a fit does nothing that depends on more than its parameters and the results of the passes so far. So
a checkpoint holds these results: a new fit with the same parameters reads them in order, starts to read rows where the
file ends, and gives the same result to the last bit. The file is a line that identifies the format and the parameters,
and a record for each pass with its length and digest. An incomplete record is dropped. Nothing in the file is code.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.optimize.blocks import Apply

_MAGIC = b"dempster-passes-1\n"
_MARK = 64  # characters of a digest
_LENGTH = 8  # bytes


def peak_memory() -> int | None:
    """Return the peak memory of this process in bytes, or None where the system does not report it."""
    try:
        import resource
    except ImportError:
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most  # kilobytes on other systems


class PassRunner:
    """Runs passes: logs the start of each with the throughput of the previous one, and keeps results in a journal.

    Parameters
    ----------
    apply : Apply
    journal : Journal or None
    listeners : functions of a text
        Called when a pass begins.
    """

    def __init__(self, apply: Apply, journal: Journal | None, *listeners: Callable[[str], None]):
        self.apply, self._journal, self._listeners = apply, journal, listeners
        self._seconds: float | None = None  # of the previous pass
        self.n_rows: int | None = None  # rows of a pass; None before they have been counted

    def run(
        self, purpose: str, compute: Callable[[], Any], kind: type | None = None, *, is_fingerprint: bool = False
    ) -> Any:
        """Make one pass, or recall its result, of a type, from the journal; results without a type are not kept.

        A fingerprint is computed in any case, and compared with the journal.
        """
        if self._journal is None or kind is None:
            return self._measure(purpose, compute)
        if is_fingerprint:
            return self._journal.compare(lambda: self._measure(purpose, compute))
        return self._journal.recall(kind, lambda: self._measure(purpose, compute))

    def _measure(self, purpose: str, compute: Callable[[], Any]) -> Any:
        state = [purpose]
        if self._seconds is not None and self.n_rows is not None:
            state.append(f"{self.n_rows / max(self._seconds, 1e-9):,.0f} rows a second")
        memory = peak_memory()
        if memory is not None:
            state.append(f"{memory / 2**20:,.0f} MB at most")
        for listener in self._listeners:
            listener(", ".join(state))
        began = time.perf_counter()
        found = compute()
        self._seconds = time.perf_counter() - began
        return found


class Journal:
    """The results of passes in a file (a checkpoint).

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

    def recall(self, kind: type, compute: Callable[[], Any]) -> Any:
        """Return the result of the next pass: from the file if it is there, else computed and appended to it."""
        if self._next < len(self._records):
            self._next += 1
            return _unpacked(self._records[self._next - 1], kind)
        found = compute()
        self._append(_packed(found))
        return found

    def compare(self, compute: Callable[[], Any]) -> Any:
        """Compute the next pass in any case, and refuse a file that holds another result for it."""
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
