"""Checkpoints of a training: written whole or not at all, read without running code, refused if they do not fit."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

__all__ = ["Checkpoint", "fingerprint"]

_MAGIC = b"evidentia-checkpoint-1\n"


def fingerprint(settings: dict[str, Any], arrays: list[np.ndarray]) -> str:
    """A digest of what a training depends on: it tells whether a checkpoint belongs to it."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=repr).encode())
    for array in arrays:
        digest.update(repr((array.shape, str(array.dtype))).encode())
        # ends and a sprinkle in between: large data are not read twice
        flat = np.ascontiguousarray(array).reshape(-1)
        digest.update(flat[:: max(1, len(flat) // 100_000)].tobytes())
    return digest.hexdigest()


class Checkpoint:
    """The file of one training."""

    def __init__(self, path: Any, mark: str):
        self.path, self.mark = Path(path), mark

    def load(self) -> dict[str, Any] | None:
        """The last state written, None if there is no file; ValueError for another model or a damaged file."""
        if not self.path.exists():
            return None
        data = self.path.read_bytes()
        head = len(_MAGIC) + 64 + 64
        if not data.startswith(_MAGIC) or len(data) < head:
            raise ValueError(f"checkpoint {self.path} is not a checkpoint of evidentia, or it is cut short")
        mark, digest = data[len(_MAGIC) : len(_MAGIC) + 64].decode(), data[len(_MAGIC) + 64 : head].decode()
        if hashlib.sha256(data[head:]).hexdigest() != digest:
            raise ValueError(f"checkpoint {self.path} is damaged or cut short; remove it to start again")
        if mark != self.mark:
            raise ValueError(
                f"checkpoint {self.path} belongs to another model, other data or other parameters; "
                "give another path, or remove it to start again"
            )
        return torch.load(io.BytesIO(data[head:]), weights_only=True)

    def save(self, state: dict[str, Any]) -> None:
        from evidentia.io import atomic_write

        buffer = io.BytesIO()
        torch.save(state, buffer)
        body = buffer.getvalue()
        digest = hashlib.sha256(body).hexdigest()
        with atomic_write(self.path) as temporary:
            Path(temporary).write_bytes(_MAGIC + self.mark.encode() + digest.encode() + body)
