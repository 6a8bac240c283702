"""Objects as JSON and arrays, and back.

None, truth values, whole numbers, finite floats, text and lists are JSON as they are. All else is an object whose key
says what it is: ``{"array": 3}`` is the fourth array of the file, ``{"object": 5}`` the sixth of its objects,
``{"tuple": [...]}``, ``{"dict": [[key, value], ...]}``, ... (`foreign` has the values of other libraries).
An object of a class of ours is ``{"class": "cluster.ECM", "parts": {...}}`` as its `Schema` says, one of another
library, such as an index of pandas, ``{"value": ...}``. It refers to earlier ones only, so that what is shared stays
shared and nothing can refer to itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._arrays import is_tensor, to_host
from dempster._errors import InvalidInputError
from dempster.persistence import foreign
from dempster.persistence.container import Reader
from dempster.persistence.schema import schema_for, schema_named

__all__ = ["Encoder", "Decoder"]

_FLOATS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
_ARRAYS = "biufcMmSU"
_DEEPEST = 100


class Encoder:
    """Takes an object apart.

    Attributes
    ----------
    arrays : list of arrays
    weights : list of bytes
        Weights of torch networks.
    objects : list
        Records of the objects, each after those it is made of.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.weights: list[bytes] = []
        self.objects: list[Any] = []
        self._known: dict[int, Any] = {}
        self._alive: list[Any] = []  # the identity of an object means something as long as it lives

    def encode(self, value: Any, where: str, depth: int = 0) -> Any:
        """A value as JSON; ``where`` it was found is told if it cannot be written."""
        if depth > _DEEPEST:
            raise InvalidInputError(f"{where} cannot be written to a file: it is nested too deeply, or holds itself")
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if np.isfinite(value) else {"float": str(value)}
        if type(value) is list:
            return [self.encode(part, f"{where}[{k}]", depth + 1) for k, part in enumerate(value)]
        if id(value) in self._known:
            return self._known[id(value)]
        told = self._told(value, where, depth + 1)
        if told.keys() & {"array", "object", "network"}:
            self._known[id(value)] = told
            self._alive.append(value)
        return told

    def _told(self, value: Any, where: str, depth: int) -> dict[str, Any]:
        known = schema_for(value)
        if known is not None:
            name, schema = known
            inside = type(value).__name__ if depth == 1 else where
            parts = {k: self.encode(v, f"{inside}.{k}", depth) for k, v in schema.parts(value).items()}
            self.objects.append({"class": name, "parts": parts})
            return {"object": len(self.objects) - 1}
        if type(value) is tuple:
            return {"tuple": self.encode(list(value), where, depth)}
        if type(value) in (set, frozenset):
            return {type(value).__name__: self.encode(sorted(value, key=repr), where, depth)}
        if type(value) is dict:
            pairs = value.items()
            return {"dict": [[self.encode(k, where, depth), self.encode(v, _at(where, k), depth)] for k, v in pairs]}
        if type(value) is bytes:
            return {"bytes": value.hex()}
        if isinstance(value, np.ndarray):
            return self._array(value, where, depth)
        if is_tensor(value):  # a file knows no device
            return self._array(to_host(value), where, depth)
        if foreign.is_torch_module(value):
            self.weights.append(foreign.packed_weights(value))
            layers = foreign.plain_layers(value)
            return {"network": len(self.weights) - 1, "class": type(value).__name__, "layers": layers}
        told = foreign.told(value)
        if told is None:
            raise InvalidInputError(f"{where} cannot be written to a file: {_why_not(value)}")
        parts = {name: self.encode(part, where, depth) for name, part in told.items()}
        if told.keys() & foreign.SMALL:
            return parts
        self.objects.append({"value": parts})
        return {"object": len(self.objects) - 1}

    def _array(self, value: np.ndarray, where: str, depth: int) -> dict[str, Any]:
        if type(value) not in (np.ndarray, np.memmap):
            raise InvalidInputError(f"{where} cannot be written to a file: {_why_not(value)}")
        if value.dtype == object:
            cells = self.encode(value.ravel().tolist(), where, depth)
            return {"cells": cells, "shape": list(value.shape)}
        if value.dtype.kind not in _ARRAYS:
            raise InvalidInputError(f"{where} cannot be written to a file: it is an array of {value.dtype}")
        self.arrays.append(np.asarray(value))
        told: dict[str, Any] = {"array": len(self.arrays) - 1}
        return told if value.flags.writeable else {**told, "frozen": True}


def _at(where: str, key: Any) -> str:
    """Attributes and parameters of estimators by their names alone."""
    head, _, last = where.rpartition(".")
    return f"{head}.{key}" if last in ("parameters", "fitted") else f"{where}[{key!r}]"


def _why_not(value: Any) -> str:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if callable(value) and hasattr(value, "__name__"):
        return (
            f"it is the function or class {value.__name__}, and files hold no code; use a named metric or "
            "metric='precomputed', or pickle the object"
        )
    return f"files hold values and estimators of dempster, not {kind}; pickle the object if you need it"


class Decoder:
    """Puts an object together again.

    Parameters
    ----------
    reader : Reader
    network : torch module or None
        For weights of a network that was the user's own.
    """

    def __init__(self, reader: Reader, network: Any = None):
        self._reader, self._network = reader, network
        self._objects: list[Any] = []
        self._arrays: dict[int, np.ndarray] = {}
        self._networks: dict[int, Any] = {}

    def decode_all(self, content: Any) -> Any:
        """The object that was written: the last of the records."""
        for record in content["objects"]:
            if "value" in record:
                self._objects.append(self.decode(record["value"]))
                continue
            schema = schema_named(record["class"])
            parts = {name: self.decode(part) for name, part in record["parts"].items()}
            try:
                self._objects.append(schema.build(parts))
            except (TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
                raise InvalidInputError(f"{record['class']}: {error}") from error
        return self._objects[-1]

    def decode(self, told: Any) -> Any:
        """The value that `Encoder.encode` told in these words."""
        if isinstance(told, list):
            return [self.decode(part) for part in told]
        if not isinstance(told, dict):
            return told
        match told:
            case {"object": int(number)}:
                return self._objects[number]
            case {"array": int(number)}:
                return self._array(number, bool(told.get("frozen")))
            case {"float": str(name)}:
                return _FLOATS[name]
            case {"tuple": list(parts)}:
                return tuple(self.decode(parts))
            case {"set": list(parts)}:
                return set(self.decode(parts))
            case {"frozenset": list(parts)}:
                return frozenset(self.decode(parts))
            case {"dict": list(pairs)} if all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
                return {self.decode(key): self.decode(value) for key, value in pairs}
            case {"bytes": str(digits)}:
                return bytes.fromhex(digits)
            case {"cells": list(cells), "shape": list(shape)}:
                out = np.empty(len(cells), dtype=object)
                out[:] = self.decode(cells)
                return out.reshape(shape)
            case {"network": int(number), "class": str(kind), "layers": layers}:
                if number not in self._networks:
                    weights = self._reader.weights(number)
                    self._networks[number] = foreign.with_weights(self._network, weights, kind, layers)
                return self._networks[number]
        return foreign.meant({name: self.decode(part) for name, part in told.items()})

    def _array(self, number: int, frozen: bool) -> np.ndarray:
        if number not in self._arrays:
            array = self._reader.array(number)
            array.flags.writeable = not frozen
            self._arrays[number] = array
        return self._arrays[number]
