"""Checkpoint files of the training of a network.

They are written atomically and read without executing code.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidParameterError
from dempster.cluster.evclus._training import TrainingProgress
from dempster.io.atomic import atomic_write

_MAGIC = "dempster-checkpoint-3"


class Checkpoint:
    """States of the trainings of a fit, with the fingerprint of the fit.

    The first line of the file contains the fingerprint and a hash of the remaining bytes, which are
    an npz file. Without a path, nothing is saved.
    """

    def __init__(self, path: str | Path | None, fingerprint: str):
        self.path = None if path is None else Path(path)
        self.fingerprint = fingerprint
        self._states: dict[str, Any] = {}
        if self.path is not None and self.path.exists():
            self._states = self._read(self.path)

    def get_state(self, number: int) -> dict[str, Any] | None:
        """Return the saved state of a training, or None if it has not started."""
        return self._states.get(str(number))

    def save(self, number: int, progress: TrainingProgress) -> None:
        """Save the state of a training, with the states of the previous trainings."""
        if self.path is None:
            return
        self._states[str(number)] = progress.get_state()
        buffer = io.BytesIO()
        np.savez(buffer, **_flatten(self._states))
        body = buffer.getvalue()
        head = f"{_MAGIC} {self.fingerprint} {hashlib.sha256(body).hexdigest()}\n"
        with atomic_write(self.path) as temporary:
            Path(temporary).write_bytes(head.encode() + body)

    def _read(self, path: Path) -> dict[str, Any]:
        if path.is_dir():
            must = f"be the path of a file; {str(path)!r} is a folder"
            raise InvalidParameterError("checkpoint", must=must)
        head, _, body = path.read_bytes().partition(b"\n")
        fields = head.decode(errors="replace").split()
        if len(fields) != 3 or fields[0] != _MAGIC:
            reason = "is not a checkpoint of dempster, or it is truncated"
        elif fields[2] != hashlib.sha256(body).hexdigest():
            reason = "is damaged or truncated; remove it to start again"
        elif fields[1] != self.fingerprint:
            reason = (
                "belongs to another model, other data or other parameters; use another path, or "
                "remove the file to start again"
            )
        else:
            with (
                self.restoring(),
                np.load(io.BytesIO(body), allow_pickle=False) as file,
            ):
                return _nest(file)
        raise InvalidParameterError("checkpoint", message=f"checkpoint {path} {reason}")

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Raise an error that names the file if its contents are not the state of a training."""
        try:
            yield
        except Exception as error:  # NumPy and torch raise errors of many types.
            raise InvalidParameterError(
                "checkpoint",
                message=f"checkpoint {self.path} does not contain the state of this training; "
                "remove it to start again",
            ) from error


def _flatten(state: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested dictionaries of arrays and numbers as one dictionary whose keys are paths."""
    arrays: dict[str, Any] = {}
    for name, value in state.items():
        if isinstance(value, dict):
            arrays |= _flatten(value, f"{prefix}{name}/")
        else:
            arrays[prefix + name] = value
    return arrays


def _nest(arrays: Any) -> dict[str, Any]:
    """Return the nested dictionaries of `_flatten`, with arrays and numbers."""
    state: dict[str, Any] = {}
    for path, value in arrays.items():
        *folders, name = path.split("/")
        part = state
        for folder in folders:
            part = part.setdefault(folder, {})
        part[name] = value if value.ndim else value.item()
    return state
