"""Passes over blocks of rows, with progress messages and a checkpoint file.

An interrupted fit can resume from the checkpoint file.
Between two passes, the state of a fit depends only on its parameters and on the results of the
completed passes. The checkpoint file stores these results. A new fit with the same parameters reads
them in order, continues with the first pass that is not in the file, and gives an identical result.
The file starts with a header that identifies the format and the parameters. One record per pass
follows, with its length and a hash. An incomplete record is ignored. The file contains no code.
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
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidParameterError
from dempster.optimize.blocks import Apply

_MAGIC = b"dempster-passes-1\n"
_DIGEST_BYTES = 32
_LENGTH_BYTES = 8


def peak_memory() -> int | None:
    """Return the peak memory use of this process in bytes, or None if it is not known."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # The unit is bytes on macOS and kilobytes elsewhere.
    if sys.platform == "darwin":
        return peak
    return 1024 * peak


class PassRunner:
    """Run passes over the data, report their progress, and store their results in a journal."""

    def __init__(
        self, apply: Apply, journal: Journal | None, *listeners: Callable[[str], None]
    ):
        self.apply = apply
        self._journal = journal
        self._listeners = listeners
        self._seconds: float | None = None  # duration of the previous pass
        self.n_rows: int | None = (
            None  # number of rows; None before they have been counted
        )

    def run(
        self,
        purpose: str,
        compute: Callable[[], Any],
        kind: type | None = None,
        *,
        is_fingerprint: bool = False,
    ) -> Any:
        """Return the result of one pass, from the journal or by calling ``compute``.

        ``kind`` is the type of the result; if it is None, the result is not stored. A fingerprint
        of the data is always computed and compared with the journal.
        """
        measure = partial(self._measure, purpose, compute)
        if self._journal is None or kind is None:
            return measure()
        if is_fingerprint:
            return self._journal.compare(measure)
        return self._journal.recall(kind, measure)

    def _measure(self, purpose: str, compute: Callable[[], Any]) -> Any:
        status = [purpose]
        if self._seconds is not None and self.n_rows is not None:
            status.append(
                f"{self.n_rows / max(self._seconds, 1e-9):,.0f} rows per second"
            )
        memory = peak_memory()
        if memory is not None:
            status.append(f"peak memory {memory / 2**20:,.0f} MB")
        for listener in self._listeners:
            listener(", ".join(status))
        start = time.perf_counter()
        result = compute()
        self._seconds = time.perf_counter() - start
        return result


class Journal:
    """Checkpoint file with the results of passes.

    A file with other ``settings`` raises an error.
    """

    def __init__(self, path: str | os.PathLike[str], settings: Mapping[str, str]):
        self.path = Path(path)
        self._head = _MAGIC + _digest(
            json.dumps(dict(settings), sort_keys=True).encode()
        )
        if self.path.is_dir():
            raise InvalidParameterError(
                "checkpoint", f"the path of a file, but {path} is a folder"
            )
        if not self.path.absolute().parent.is_dir():
            raise InvalidParameterError(
                "checkpoint",
                f"in an existing folder, but {self.path.parent} does not exist",
            )
        self._records, self._end = self._read()
        self._next = 0

    def recall(self, kind: type, compute: Callable[[], Any]) -> Any:
        """Return the result of the next pass from the file, or compute and append it."""
        if self._next < len(self._records):
            self._next += 1
            return _unpack(self._records[self._next - 1], kind)
        result = compute()
        self._append(_pack(result))
        return result

    def compare(self, compute: Callable[[], Any]) -> Any:
        """Compute the result of the next pass, and raise an error if the file has another."""
        result = compute()
        body = _pack(result)
        if self._next == len(self._records):
            self._append(body)
        elif _contents(self._records[self._next]) != _contents(body):
            raise self._invalid(
                "belongs to different rows, or to the same rows in different blocks"
            )
        else:
            self._next += 1
        return result

    def _invalid(self, reason: str) -> InvalidParameterError:
        message = (
            f"checkpoint {self.path} {reason}; use another "
            "path, or remove the file to start again"
        )
        return InvalidParameterError("checkpoint", message=message)

    def _read(self) -> tuple[list[bytes], int]:
        """Return the complete records of the file, and the position at which they end."""
        if not self.path.exists():
            return [], 0
        data = self.path.read_bytes()
        if len(data) < len(self._head) and self._head.startswith(data):
            return [], 0
        if not data.startswith(_MAGIC) or len(data) < len(self._head):
            raise self._invalid("is not a checkpoint of dempster")
        if not data.startswith(self._head):
            raise self._invalid("belongs to another model or to different parameters")
        records = []
        at = len(self._head)
        while at + _LENGTH_BYTES + _DIGEST_BYTES <= len(data):
            size = int.from_bytes(data[at : at + _LENGTH_BYTES], "little")
            start = at + _LENGTH_BYTES + _DIGEST_BYTES
            body = data[start : start + size]
            if len(body) < size or _digest(body) != data[at + _LENGTH_BYTES : start]:
                break
            records.append(body)
            at = start + size
        return records, at

    def _append(self, body: bytes) -> None:
        """Append a record and write it to the disk before the next pass starts."""
        head = b"" if self._end else self._head
        record = (
            head + len(body).to_bytes(_LENGTH_BYTES, "little") + _digest(body) + body
        )
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
    return hashlib.sha256(body).digest()


def _pack(result: Any) -> bytes:
    """Return numbers and arrays (one, a tuple or a dataclass) as a NumPy archive."""
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


def _load_arrays(body: bytes) -> dict[str, np.ndarray]:
    with np.load(io.BytesIO(body), allow_pickle=False) as file:
        return dict(file)


def _contents(body: bytes) -> dict[str, Any]:
    arrays = _load_arrays(body).items()
    return {name: (array.shape, array.tobytes()) for name, array in arrays}


def _unpack(body: bytes, kind: type) -> Any:
    parts = {
        name: part if part.ndim else part.item()
        for name, part in _load_arrays(body).items()
    }
    if kind is tuple:
        return tuple(parts[str(k)] for k in range(len(parts)))
    if is_dataclass(kind):
        return kind(**parts)
    return parts["value"]
