"""Checkpoint files of the training of a network.

They are written atomically and read without executing code.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidParameterError
from dempster.cluster.evclus._training import TrainingProgress
from dempster.io.atomic import atomic_write


class Checkpoint:
    """States of the trainings of a fit, with the fingerprint of the fit, in an npz file.

    Without a path, nothing is saved.
    """

    def __init__(self, path: str | Path | None, fingerprint: str):
        self.path = None if path is None else Path(path)
        self.fingerprint = fingerprint
        self._states: dict[str, Any] = {}
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def get_state(self, number: int) -> dict[str, Any] | None:
        """Return the saved state of a training, or None if it has not started."""
        return self._states.get(str(number))

    def save(self, number: int, progress: TrainingProgress) -> None:
        """Save the state of a training, with the states of the previous trainings."""
        if self.path is None:
            return
        self._states[str(number)] = progress.get_state()
        with atomic_write(self.path) as temporary, temporary.open("wb") as file:
            np.savez(file, fingerprint=self.fingerprint, **_flatten(self._states))

    def _read(self, path: Path) -> None:
        with self.restoring(), np.load(path, allow_pickle=False) as file:
            self._states = _nest(file)
            fingerprint = self._states.pop("fingerprint")
        if fingerprint != self.fingerprint:
            message = (
                f"checkpoint {path} belongs to another model, other data or other parameters; use "
                "another path, or remove the file to start again"
            )
            raise InvalidParameterError("checkpoint", message=message)

    @contextmanager
    def restoring(self) -> Iterator[None]:
        """Raise an error that names the file if its contents are not the state of a training."""
        try:
            yield
        except Exception as error:  # NumPy and torch raise errors of many types.
            message = (
                f"checkpoint {self.path} does not contain the state of this training; use another "
                "path, or remove the file to start again"
            )
            raise InvalidParameterError("checkpoint", message=message) from error


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
