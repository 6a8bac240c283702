"""Checkpoint files of the training of a network, which are written atomically and read without executing code."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.cluster.evclus._network import TrainingProgress

_MAGIC = b"dempster-checkpoint-2\n"
# key that stands for an array in the JSON text, and name of this text in the npz file
_ARRAY = "array"
_TEXT = "text"
_ROWS_PER_BLOCK = 65_536


def fingerprint(settings: Mapping[str, str], arrays: Iterable[np.ndarray]) -> str:
    """Return a hash of the parameters and the data of a fit, which identifies its checkpoint."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for array in arrays:
        digest.update(repr((array.shape, str(array.dtype))).encode())
        if array.ndim == 0:
            rows = array.reshape(1)
        else:
            rows = array
        for start in range(0, len(rows), _ROWS_PER_BLOCK):
            digest.update(
                np.ascontiguousarray(rows[start : start + _ROWS_PER_BLOCK]).view(np.uint8).data
            )
    return digest.hexdigest()


class Checkpoint:
    """States of the finished trainings and of the current one, saved to a file with the fingerprint of the fit."""

    def __init__(self, path: str | Path | None, mark: str):
        if path is None:
            self.path = None
        else:
            self.path = Path(path)
        self.mark = mark
        saved = self._load() or {"done": [], "current": None}
        self._done: list[dict[str, Any]] = saved["done"]
        self._current: dict[str, Any] | None = saved["current"]

    def get_state(self, number: int) -> dict[str, Any] | None:
        """Return the saved state of the training with this number, or None if the training has not started."""
        if number < len(self._done):
            return self._done[number]
        if number == len(self._done):
            return self._current
        return None

    def save(self, progress: TrainingProgress) -> None:
        if self.path is None:
            return
        from dempster.io.atomic import atomic_write

        body = _encode({"done": self._done, "current": progress.get_state()})
        digest = hashlib.sha256(body).hexdigest()
        with atomic_write(self.path) as temporary:
            Path(temporary).write_bytes(_MAGIC + self.mark.encode() + digest.encode() + body)

    def close(self, number: int, progress: TrainingProgress) -> None:
        """Mark the training with this number as finished."""
        if self.path is not None and number == len(self._done):
            self._done.append(progress.get_state())
            self._current = None

    def _load(self) -> dict[str, Any] | None:
        if self.path is None or not self.path.exists():
            return None
        if self.path.is_dir():
            raise InvalidParameterError(
                "checkpoint", must=f"be the path of a file; {str(self.path)!r} is a folder"
            )
        data = self.path.read_bytes()
        head = len(_MAGIC) + 64 + 64
        if not data.startswith(_MAGIC) or len(data) < head:
            raise InvalidInputError(
                f"checkpoint {self.path} is not a checkpoint of dempster, or it is truncated"
            )
        mark = data[len(_MAGIC) : len(_MAGIC) + 64].decode()
        digest = data[len(_MAGIC) + 64 : head].decode()
        if hashlib.sha256(data[head:]).hexdigest() != digest:
            raise InvalidInputError(
                f"checkpoint {self.path} is damaged or truncated; remove it to start again"
            )
        if mark != self.mark:
            raise InvalidInputError(
                f"checkpoint {self.path} belongs to another model, other data or other parameters; "
                "use another path, or remove the file to start again"
            )
        return _decode(data[head:])


def _encode(state: Any) -> bytes:
    """Return the bytes of an npz file with the arrays of a state, and all other values of the state as JSON text."""
    arrays: list[np.ndarray] = []

    def encode(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            arrays.append(value)
            return {_ARRAY: len(arrays) - 1}
        if isinstance(value, dict):
            return {name: encode(part) for name, part in value.items()}
        if isinstance(value, list):
            return [encode(part) for part in value]
        return value

    text = json.dumps(encode(state)).encode()
    named: dict[str, Any] = {str(k): array for k, array in enumerate(arrays)}
    buffer = io.BytesIO()
    np.savez(buffer, **{_TEXT: np.frombuffer(text, dtype=np.uint8), **named})
    return buffer.getvalue()


def _decode(body: bytes) -> Any:
    with np.load(io.BytesIO(body), allow_pickle=False) as file:
        arrays = dict(file)

    def decode(value: Any) -> Any:
        if isinstance(value, dict):
            if _ARRAY in value:
                return arrays[str(value[_ARRAY])]
            return {n: decode(part) for n, part in value.items()}
        if isinstance(value, list):
            return [decode(part) for part in value]
        return value

    return decode(json.loads(arrays[_TEXT].tobytes()))
