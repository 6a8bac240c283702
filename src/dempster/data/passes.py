"""Passes over blocks of rows, with progress messages and a checkpoint file.

An interrupted fit can resume from the checkpoint file.
Between two passes, the state of a fit depends only on its parameters and on the results of the
completed passes. The checkpoint file stores these results. A new fit with the same parameters reads
them in order, continues with the first pass that is not in the file, and gives an identical result.
The file is a NumPy archive with these parameters and the arrays of all passes. It is replaced
atomically after each pass, and contains no code.
"""

from __future__ import annotations

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
        # number of rows; None before they have been counted
        self.n_rows: int | None = None

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
        self._settings = json.dumps(dict(settings), sort_keys=True)
        if self.path.is_dir() or not self.path.absolute().parent.is_dir():
            expected = f"the path of a file in an existing folder, got {path}"
            raise InvalidParameterError("checkpoint", expected)
        self._passes = self._read()
        self._next = 0

    def recall(self, kind: type, compute: Callable[[], Any]) -> Any:
        """Return the result of the next pass from the file, or compute and append it."""
        if self._next < len(self._passes):
            self._next += 1
            return _join(self._passes[self._next - 1], kind)
        result = compute()
        self._append(_split(result))
        return result

    def compare(self, compute: Callable[[], Any]) -> Any:
        """Compute the result of the next pass, and raise an error if the file has another."""
        result = compute()
        arrays = _split(result)
        if self._next == len(self._passes):
            self._append(arrays)
            return result
        for name, array in self._passes[self._next].items():
            if not np.array_equal(array, arrays[name], equal_nan=True):
                raise self._invalid(
                    "belongs to different rows, or to the same rows in different blocks"
                )
        self._next += 1
        return result

    def _invalid(self, reason: str) -> InvalidParameterError:
        message = (
            f"checkpoint {self.path} {reason}; use another "
            "path, or remove the file to start again"
        )
        return InvalidParameterError("checkpoint", message=message)

    def _read(self) -> list[dict[str, np.ndarray]]:
        """Return the arrays of each pass in the file."""
        if not self.path.exists():
            return []
        try:
            with np.load(self.path, allow_pickle=False) as file:
                content = dict(file)
            settings = str(content.pop("settings"))
        except Exception as error:  # NumPy raises errors of many types.
            raise self._invalid("is not a checkpoint of dempster") from error
        if settings != self._settings:
            raise self._invalid("belongs to another model or to different parameters")
        passes: dict[str, dict[str, np.ndarray]] = {}
        for key, array in content.items():
            number, _, name = key.partition(" ")
            passes.setdefault(number, {})[name] = array
        return list(passes.values())

    def _append(self, arrays: dict[str, np.ndarray]) -> None:
        """Add the arrays of a pass to the file before the next pass starts."""
        self._passes.append(arrays)
        self._next += 1
        content: dict[str, Any] = {
            f"{number} {name}": array
            for number, found in enumerate(self._passes)
            for name, array in found.items()
        }
        temporary = self.path.with_name(f"{self.path.name}.new")
        with open(temporary, "wb") as file:
            np.savez(file, settings=np.array(self._settings), **content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self.path)


def _split(result: Any) -> dict[str, np.ndarray]:
    """Return numbers and arrays (one, a tuple or a dataclass) as arrays with names."""
    if is_dataclass(result) and not isinstance(result, type):
        parts = asdict(result)
    elif isinstance(result, tuple):
        parts = {str(k): part for k, part in enumerate(result)}
    else:
        parts = {"value": result}
    return {name: np.asarray(part) for name, part in parts.items()}


def _join(arrays: dict[str, np.ndarray], kind: type) -> Any:
    parts = {
        name: array if array.ndim else array.item() for name, array in arrays.items()
    }
    if kind is tuple:
        return tuple(parts.values())
    if is_dataclass(kind):
        return kind(**parts)
    return parts["value"]
