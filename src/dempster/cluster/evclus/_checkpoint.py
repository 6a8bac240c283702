"""Checkpoints of a training: written whole or not at all, read without running code, refused if they do not fit."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.cluster.evclus._network import TrainingProgress

_MAGIC = b"dempster-checkpoint-2\n"
_ARRAY, _TEXT = "array", "text"  # what stands for an array in the text, and the name of the text in the file
_ROWS = 65_536  # of an array that is not contiguous, copied at once


def fingerprint(settings: Mapping[str, str], arrays: Iterable[np.ndarray]) -> str:
    """A digest of all that a training depends on: it tells whether a checkpoint belongs to it."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for array in arrays:
        digest.update(repr((array.shape, str(array.dtype))).encode())
        rows = array.reshape(1) if array.ndim == 0 else array
        for start in range(0, len(rows), _ROWS):
            digest.update(np.ascontiguousarray(rows[start : start + _ROWS]).view(np.uint8).data)
    return digest.hexdigest()


class Checkpoint:
    """The file of one training."""

    def __init__(self, path: str | Path, mark: str):
        self.path, self.mark = Path(path), mark

    def load(self) -> dict[str, Any] | None:
        """The last state written, None if there is no file; ValueError for another model or a damaged file."""
        if not self.path.exists():
            return None
        if self.path.is_dir():
            raise InvalidInputError(f"checkpoint must be the path of a file, got {str(self.path)!r}, which is a folder")
        data = self.path.read_bytes()
        head = len(_MAGIC) + 64 + 64
        if not data.startswith(_MAGIC) or len(data) < head:
            raise InvalidInputError(f"checkpoint {self.path} is not a checkpoint of dempster, or it is cut short")
        mark, digest = data[len(_MAGIC) : len(_MAGIC) + 64].decode(), data[len(_MAGIC) + 64 : head].decode()
        if hashlib.sha256(data[head:]).hexdigest() != digest:
            raise InvalidInputError(f"checkpoint {self.path} is damaged or cut short; remove it to start again")
        if mark != self.mark:
            raise InvalidInputError(
                f"checkpoint {self.path} belongs to another model, other data or other parameters; "
                "give another path, or remove it to start again"
            )
        return _unpacked(data[head:])

    def save(self, state: dict[str, Any]) -> None:
        from dempster.io.atomic import atomic_write

        body = _packed(state)
        digest = hashlib.sha256(body).hexdigest()
        with atomic_write(self.path) as temporary:
            Path(temporary).write_bytes(_MAGIC + self.mark.encode() + digest.encode() + body)


def _packed(state: Any) -> bytes:
    """Arrays, numbers, and lists and dictionaries of them: the arrays in an npz file, the rest as its text."""
    arrays: list[np.ndarray] = []

    def told(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            arrays.append(value)
            return {_ARRAY: len(arrays) - 1}
        if isinstance(value, dict):
            return {name: told(part) for name, part in value.items()}
        return [told(part) for part in value] if isinstance(value, list) else value

    text = json.dumps(told(state)).encode()
    named: dict[str, Any] = {str(k): array for k, array in enumerate(arrays)}
    buffer = io.BytesIO()
    np.savez(buffer, **{_TEXT: np.frombuffer(text, dtype=np.uint8), **named})
    return buffer.getvalue()


def _unpacked(body: bytes) -> Any:
    with np.load(io.BytesIO(body), allow_pickle=False) as file:
        arrays = dict(file)

    def meant(value: Any) -> Any:
        if isinstance(value, dict):
            return arrays[str(value[_ARRAY])] if _ARRAY in value else {n: meant(part) for n, part in value.items()}
        return [meant(part) for part in value] if isinstance(value, list) else value

    return meant(json.loads(arrays[_TEXT].tobytes()))


class TrainingRecord:
    """The trainings of one fit, those that are over and the one that is going on; kept in a file if there is one."""

    def __init__(self, checkpoint: Checkpoint | None):
        self.checkpoint = checkpoint
        saved = checkpoint.load() if checkpoint else None
        self._done: list[dict[str, Any]] = saved["done"] if saved else []
        self._current: dict[str, Any] | None = saved["current"] if saved else None

    def state_of(self, number: int) -> dict[str, Any] | None:
        """Where a training was when the file was written; None if it had not begun."""
        if number < len(self._done):
            return self._done[number]
        return self._current if number == len(self._done) else None

    def save(self, progress: TrainingProgress) -> None:
        """Write down a training that is going on."""
        if self.checkpoint:
            self.checkpoint.save({"done": self._done, "current": progress.state()})

    def close(self, number: int, progress: TrainingProgress) -> None:
        """A training is over."""
        if self.checkpoint and number == len(self._done):
            self._done.append(progress.state())
            self._current = None
