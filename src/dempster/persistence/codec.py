"""Encode objects as JSON and arrays, and decode them.

None, booleans, integers, finite floats, text and lists are encoded as JSON values. Any other value
is encoded as a JSON object whose key is the type. For example, ``{"array": 3}`` is array number 3
of the file, ``{"object": 5}`` is object number 5, and ``{"dict": [[key, value], ...]}`` is a
dictionary.

An object of dempster is encoded by its `Schema` as ``{"class": "cluster.ECM", "parts": {...}}``. An
object of another library, such as a pandas index, is encoded as ``{"value": ...}``. An object
refers only to earlier objects, so it cannot contain itself. An object that is used several times is
stored once. Only the types in this module and in the schemas are supported.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np

from dempster._arrays import is_network, is_tensor, to_host
from dempster._errors import InvalidInputError
from dempster.persistence.container import CELL_KINDS, Reader
from dempster.persistence.schema import schema_for, schema_named

_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
_SPARSE_CLASSES = ("csr_array", "csc_array", "csr_matrix", "csc_matrix")
_PANDAS_CLASSES = ("RangeIndex", "MultiIndex", "CategoricalIndex", "Index", "Series")
# Values of these types are written at each occurrence. Other values are written once, and then
# referenced.
_INLINE_TYPES = frozenset(("scalar", "dtype", "range", "path", "date", "Timestamp"))


class Encoder:
    """Convert an object to JSON records.

    They refer to earlier records, arrays and weights of networks by number.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.weights: list[bytes] = []
        self.objects: list[Any] = []
        self._encoded: dict[int, Any] = {}
        # Keeps objects alive, so that no two of them have the same id.
        self._alive: list[Any] = []

    def encode(self, value: Any, where: str) -> Any:
        """Return a value as JSON; ``where`` is its location for error messages."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            if np.isfinite(value):
                return value
            return {"float": str(value)}
        if type(value) is list:
            return [self.encode(part, f"{where}[{k}]") for k, part in enumerate(value)]
        if id(value) in self._encoded:
            return self._encoded[id(value)]
        encoded = self._encode_object(value, where)
        if encoded.keys() & {"array", "object", "network"}:
            self._encoded[id(value)] = encoded
            self._alive.append(value)
        return encoded

    def _encode_object(self, value: Any, where: str) -> dict[str, Any]:
        found = schema_for(value)
        if found is not None:
            name, schema = found
            parts = {
                part: self.encode(content, f"{where}.{part}")
                for part, content in schema.parts(value).items()
            }
            return self._append({"class": name, "parts": parts})
        kind = type(value)
        if kind is tuple:
            return {"tuple": self.encode(list(value), where)}
        if kind in (set, frozenset):
            return {kind.__name__: self.encode(sorted(value, key=repr), where)}
        if kind is dict:
            head, _, last = where.rpartition(".")
            pairs = []
            for key, part in value.items():
                # The location omits the internal keys "parameters" and "fitted".
                if last in ("parameters", "fitted"):
                    location = f"{head}.{key}"
                else:
                    location = f"{where}[{key!r}]"
                pairs.append([self.encode(key, where), self.encode(part, location)])
            return {"dict": pairs}
        if isinstance(value, np.ndarray):
            return self._encode_array(value, where)
        if is_tensor(value):
            return self._encode_array(to_host(value), where)
        if is_network(value):
            return self._encode_network(value)
        encoded = _encode_value(value)
        if encoded is None:
            raise InvalidInputError(f"{where} cannot be saved: {_explain_type(value)}")
        parts = {name: self.encode(part, where) for name, part in encoded.items()}
        if encoded.keys() & _INLINE_TYPES:
            return parts
        return self._append({"value": parts})

    def _append(self, record: dict[str, Any]) -> dict[str, Any]:
        self.objects.append(record)
        return {"object": len(self.objects) - 1}

    def _encode_array(self, value: np.ndarray, where: str) -> dict[str, Any]:
        if type(value) not in (np.ndarray, np.memmap):
            raise InvalidInputError(f"{where} cannot be saved: {_explain_type(value)}")
        if value.dtype == object:
            return {
                "cells": self.encode(value.ravel().tolist(), where),
                "shape": list(value.shape),
            }
        if value.dtype.kind not in CELL_KINDS:
            raise InvalidInputError(
                f"{where} cannot be saved: it is an array of {value.dtype}"
            )
        self.arrays.append(np.asarray(value))
        encoded: dict[str, Any] = {"array": len(self.arrays) - 1}
        if not value.flags.writeable:
            encoded["frozen"] = True
        return encoded

    def _encode_network(self, network: Any) -> dict[str, Any]:
        # This format contains only names and numbers.
        from safetensors.torch import save

        # safetensors does not support shared tensors, so each tensor is copied.
        weights = {
            name: tensor.detach().cpu().contiguous().clone()
            for name, tensor in network.state_dict().items()
        }
        self.weights.append(save(weights))
        return {
            "network": len(self.weights) - 1,
            "class": type(network).__name__,
            "layers": _name_layers(network),
        }


def _explain_type(value: Any) -> str:
    if callable(value) and hasattr(value, "__name__"):
        return (
            f"it is the function or class {value.__name__}, and model files contain no code; "
            "use a named metric or metric='precomputed', or pickle the object"
        )
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    return (
        f"model files contain values and estimators of dempster, not {kind}; "
        "pickle the object if you need it"
    )


class Decoder:
    """Convert the content of a file to objects.

    Weights of the user's own network are loaded into ``network``.
    """

    def __init__(self, reader: Reader, network: Any = None):
        self._reader = reader
        self._network = network
        self._objects: list[Any] = []
        self._arrays: dict[int, np.ndarray] = {}
        self._networks: dict[int, Any] = {}

    def decode_all(self, content: Any) -> Any:
        """Decode all records, and return the last object, which is the saved object."""
        for record in content["objects"]:
            if "value" in record:
                self._objects.append(self.decode(record["value"]))
                continue
            schema = schema_named(record["class"])
            parts = {name: self.decode(part) for name, part in record["parts"].items()}
            try:
                self._objects.append(schema.build(parts))
            except (
                TypeError,
                ValueError,
                AttributeError,
                KeyError,
                IndexError,
            ) as error:
                raise InvalidInputError(f"{record['class']}: {error}") from error
        return self._objects[-1]

    def decode(self, encoded: Any) -> Any:
        """Return the value that `Encoder.encode` encoded."""
        if isinstance(encoded, list):
            return [self.decode(part) for part in encoded]
        if not isinstance(encoded, dict):
            return encoded
        match encoded:
            case {"object": int(number)}:
                return self._objects[number]
            case {"array": int(number)}:
                if number not in self._arrays:
                    self._arrays[number] = self._reader.array(number)
                    self._arrays[number].flags.writeable = not encoded.get("frozen")
                return self._arrays[number]
            case {"float": str(name)}:
                return float(name)
            case {"tuple": list(parts)}:
                return tuple(self.decode(parts))
            case {"set": list(parts)}:
                return set(self.decode(parts))
            case {"frozenset": list(parts)}:
                return frozenset(self.decode(parts))
            case {"dict": list(pairs)}:
                return {self.decode(key): self.decode(value) for key, value in pairs}
            case {"cells": list(cells), "shape": list(shape)}:
                out = np.empty(len(cells), object)
                out[:] = self.decode(cells)
                return out.reshape(shape)
            case {"network": int(number), "class": str(kind), "layers": layers}:
                if number not in self._networks:
                    packed = self._reader.weights(number)
                    self._networks[number] = _restore_network(
                        self._network, packed, kind, layers
                    )
                return self._networks[number]
        return _decode_value(
            {name: self.decode(part) for name, part in encoded.items()}
        )


# ---- values of NumPy and the standard library ----------------------------------------------------


def _encode_value(value: Any) -> dict[str, Any] | None:
    """Return a dictionary from the type of a value to its content, or None if not supported."""
    kind = type(value)
    if isinstance(value, np.generic) and value.dtype.kind in CELL_KINDS:
        return {"scalar": np.array([value])}
    if isinstance(value, np.dtype) and value.kind in CELL_KINDS:
        return {"dtype": value.str}
    if kind is range:
        return {"range": [value.start, value.stop, value.step]}
    if isinstance(value, Path):
        return {"path": str(value)}
    if kind is datetime.date:
        return {"date": value.isoformat()}
    if kind is np.random.SeedSequence:
        names = ("entropy", "spawn_key", "pool_size", "n_children_spawned")
        return {"seed sequence": {name: getattr(value, name) for name in names}}
    if kind is np.random.RandomState:
        return {"random state": value.get_state(legacy=False)}
    if kind is np.random.Generator:
        state = value.bit_generator.state
        if state["bit_generator"] in _BIT_GENERATORS:
            return {"generator": state}
    if kind.__module__.split(".")[0] == "pandas":
        return _encode_pandas(value)
    return _encode_sparse(value)


def _decode_value(parts: dict[str, Any]) -> Any:
    import pandas as pd
    from scipy import sparse

    match parts:
        case {"pandas": str(kind), **arguments} if kind in _PANDAS_CLASSES:
            return getattr(pd, kind)(**arguments)
        case {"DataFrame": list(columns), "index": index, "columns": names}:
            data = {j: column.array for j, column in enumerate(columns)}
            return pd.DataFrame(data, index=index).set_axis(names, axis=1)
        case {"Timestamp": str(text), "unit": unit, "zone": zone}:
            return pd.Timestamp(text, tz=zone).as_unit(unit)
        case {"scalar": np.ndarray() as array}:
            return array[0]
        case {"dtype": str(name)}:
            dtype = np.dtype(name)
            if dtype.kind in CELL_KINDS:
                return dtype
        case {"range": [start, stop, step]}:
            return range(start, stop, step)
        case {"path": str(text)}:
            return Path(text)
        case {"date": str(text)}:
            return datetime.date.fromisoformat(text)
        case {"seed sequence": dict(settings)}:
            return np.random.SeedSequence(**settings)
        case {"generator": dict(state)} | {"random state": dict(state)}:
            return _decode_generator(state, is_legacy="random state" in parts)
        case {"sparse": str(kind), "content": content, "shape": shape} if (
            kind in _SPARSE_CLASSES
        ):
            matrix = getattr(sparse, kind)(content, shape=shape)
            # With wrong indices, SciPy would read beyond the arrays.
            matrix.check_format(full_check=True)
            return matrix
    raise InvalidInputError(f"unknown type of value: {', '.join(map(str, parts))}")


def _decode_generator(state: dict[str, Any], is_legacy: bool) -> Any:
    if state["bit_generator"] not in _BIT_GENERATORS:
        raise InvalidInputError(
            f"unknown random number generator {state['bit_generator']!r}"
        )
    bits = getattr(np.random, state["bit_generator"])()
    if is_legacy:
        generator = np.random.RandomState(bits)
        generator.set_state(state)
        return generator
    bits.state = state
    return np.random.Generator(bits)


# ---- SciPy and pandas ----------------------------------------------------------------------------


def _encode_sparse(value: Any) -> dict[str, Any] | None:
    kind = type(value).__name__
    if kind not in _SPARSE_CLASSES:
        return None
    content = (value.data, value.indices, value.indptr)
    return {"sparse": kind, "content": content, "shape": tuple(map(int, value.shape))}


def _encode_pandas(value: Any) -> dict[str, Any] | None:
    """Return the name of a class of pandas, and the arguments of its constructor."""
    import pandas as pd

    arguments: dict[str, Any]
    kind = type(value).__name__
    if isinstance(value, pd.Timestamp):
        zone = None if value.tz is None else str(value.tz)
        return {"Timestamp": value.isoformat(), "unit": value.unit, "zone": zone}
    if isinstance(value, pd.RangeIndex):
        arguments = {name: getattr(value, name) for name in ("start", "stop", "step")}
    elif isinstance(value, pd.MultiIndex):
        codes = [np.asarray(code) for code in value.codes]
        arguments = {"levels": list(value.levels), "codes": codes}
        return {"pandas": kind, **arguments, "names": tuple(value.names)}
    elif isinstance(value, pd.CategoricalIndex):
        arguments = {
            "data": list(value),
            "categories": value.categories,
            "ordered": bool(value.ordered),
        }
    elif isinstance(value, pd.DatetimeIndex):
        kind = "Index"
        arguments = {"data": value.asi8, "dtype": str(value.dtype)}  # times in UTC
    elif type(value) is pd.Index and (
        value.dtype.kind in "biufcO" or str(value.dtype) in ("str", "string")
    ):
        cells: Any = value.to_numpy()
        if cells.dtype == object:
            cells = [None if cell is pd.NA else cell for cell in value]
        arguments = {"data": cells, "dtype": str(value.dtype), "tupleize_cols": False}
    elif isinstance(value, pd.Series):
        arguments = {"data": value.to_numpy(), "index": value.index}
    elif type(value) is pd.DataFrame:
        columns = [pd.Index(value.iloc[:, j]) for j in range(value.shape[1])]
        return {"DataFrame": columns, "index": value.index, "columns": value.columns}
    else:
        return None
    return {"pandas": kind, **arguments, "name": value.name}


# ---- networks of torch ---------------------------------------------------------------------------


def _name_layers(module: Any) -> list[str] | None:
    """Return the types of the layers of a network of linear and ReLU layers, else None."""
    from torch import nn

    if type(module) is not nn.Sequential:
        return None
    if any(type(layer) not in (nn.Linear, nn.ReLU) for layer in module):
        return None
    return [type(layer).__name__ for layer in module]


def _restore_network(
    module: Any, packed: bytes, kind: str, layers: list[str] | None
) -> Any:
    """Return a network with weights from a file.

    It is built from ``layers`` or, if they are None, copied from ``module``.
    """
    import copy

    from safetensors.torch import load

    weights = load(packed)
    if layers is not None:
        network = _build_layers(layers, weights)
    elif module is None:
        raise InvalidInputError(
            f"it contains the weights of your own torch network ({kind}), but not its code; "
            "build the network again and pass it with load(path, network=...)"
        )
    else:
        network = copy.deepcopy(module)
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise InvalidInputError(
            f"network must have the layers of the saved {kind}: {error}"
        ) from error
    return network


def _build_layers(layers: list[str], weights: dict[str, Any]) -> Any:
    from torch import nn

    modules: list[nn.Module] = []
    for k, layer in enumerate(layers):
        if layer == "ReLU":
            modules.append(nn.ReLU())
            continue
        matrix = weights[f"{k}.weight"]
        has_bias = f"{k}.bias" in weights
        modules.append(nn.Linear(*matrix.T.shape, bias=has_bias, dtype=matrix.dtype))
    return nn.Sequential(*modules)
