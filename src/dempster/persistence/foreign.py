"""Values of NumPy, SciPy, pandas, torch and the standard library in files: closed lists of what is known."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError

__all__ = ["SMALL", "told", "meant", "is_torch_module", "plain_layers", "packed_weights", "with_weights"]

# What is told in place, wherever it occurs; all else once, however often it occurs.
SMALL = frozenset(
    (
        "scalar",
        "dtype",
        "scalar type",
        "range",
        "slice",
        "path",
        "date",
        "datetime",
        "missing",
        "Timestamp",
        "Timedelta",
    )
)
_BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
_SCALARS = "biufcMmSU"
_SPARSE = ("csr", "csc", "coo")


def told(value: Any) -> dict[str, Any] | None:
    """A value as parts that are simpler, None if it is of no known kind."""
    kind = type(value)
    if isinstance(value, np.generic) and value.dtype.kind in _SCALARS:
        return {"scalar": np.array([value])}
    if isinstance(value, np.dtype) and value.kind in _SCALARS:
        return {"dtype": value.str}
    if isinstance(value, type) and issubclass(value, np.number | np.bool_):
        return {"scalar type": np.dtype(value).str}
    if kind is range:
        return {"range": [value.start, value.stop, value.step]}
    if kind is slice:
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, Path):
        return {"path": str(value)}
    if kind in (datetime.date, datetime.datetime):
        return {kind.__name__: value.isoformat()}
    return _of_random(value) or _of_pandas(value) or _of_scipy(value)


def meant(parts: dict[str, Any]) -> Any:
    """The value that `told` took apart."""
    match parts:
        case {"scalar": np.ndarray() as array}:
            return array[0]
        case {"dtype": str(name)}:
            return _plain_dtype(name)
        case {"scalar type": str(name)}:
            return _plain_dtype(name).type
        case {"range": [start, stop, step]}:
            return range(start, stop, step)
        case {"slice": [start, stop, step]}:
            return slice(start, stop, step)
        case {"path": str(text)}:
            return Path(text)
        case {"date": str(text)}:
            return datetime.date.fromisoformat(text)
        case {"datetime": str(text)}:
            return datetime.datetime.fromisoformat(text)
        case {"generator": _} | {"random state": _} | {"seed sequence": _}:
            return _random(parts)
        case {"sparse": str(form), "shape": tuple(shape)} if form in _SPARSE:
            return _sparse(form, shape, parts)
    return _pandas(parts)


def _plain_dtype(name: str) -> np.dtype:
    dtype = np.dtype(name)
    if dtype.kind not in _SCALARS:
        raise InvalidInputError(f"{name!r} is no kind of number or text")
    return dtype


# ---- random numbers -------------------------------------------------------------------------------------------------


def _of_random(value: Any) -> dict[str, Any] | None:
    if type(value) is np.random.SeedSequence:
        names = ("entropy", "spawn_key", "pool_size", "n_children_spawned")
        return {"seed sequence": {name: getattr(value, name) for name in names}}
    if type(value) is np.random.RandomState:
        return {"random state": value.get_state(legacy=False)}
    if type(value) is np.random.Generator and type(value.bit_generator).__name__ in _BIT_GENERATORS:
        return {"generator": value.bit_generator.state}
    return None


def _random(parts: dict[str, Any]) -> Any:
    if "seed sequence" in parts:
        return np.random.SeedSequence(**parts["seed sequence"])
    state = parts.get("random state") or parts["generator"]
    if state["bit_generator"] not in _BIT_GENERATORS:
        raise InvalidInputError(f"{state['bit_generator']!r} is no known generator of random numbers")
    bits = getattr(np.random, state["bit_generator"])()
    if "generator" in parts:
        bits.state = state
        return np.random.Generator(bits)
    drawn = np.random.RandomState(bits)
    drawn.set_state(state)
    return drawn


# ---- sparse matrices ------------------------------------------------------------------------------------------------


def _of_scipy(value: Any) -> dict[str, Any] | None:
    from scipy import sparse

    if not sparse.issparse(value) or value.format not in _SPARSE:
        return None
    names = ("row", "col", "data") if value.format == "coo" else ("indptr", "indices", "data")
    is_array = isinstance(value, sparse.sparray)
    return {
        "sparse": value.format,
        "shape": tuple(int(n) for n in value.shape),
        "is_array": is_array,
        **{name: getattr(value, name) for name in names},
    }


def _sparse(form: str, shape: tuple[int, ...], parts: dict[str, Any]) -> Any:
    from scipy import sparse

    kind = getattr(sparse, f"{form}_{'array' if parts['is_array'] else 'matrix'}")
    if form == "coo":
        return kind((parts["data"], (parts["row"], parts["col"])), shape=shape)
    found = kind((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
    found.check_format(full_check=True)  # numbers of rows and columns that are out of bounds would be read from memory
    return found


# ---- pandas ---------------------------------------------------------------------------------------------------------


def _of_pandas(value: Any) -> dict[str, Any] | None:
    if type(value).__module__.split(".")[0] != "pandas":
        return None
    import pandas as pd

    if value is pd.NA or value is pd.NaT:
        return {"missing": "NA" if value is pd.NA else "NaT"}
    if isinstance(value, pd.Timestamp | pd.Timedelta):
        return {type(value).__name__: value.isoformat(), "unit": value.unit, "zone": _zone(value)}
    if isinstance(value, pd.RangeIndex):
        return {"RangeIndex": range(value.start, value.stop, value.step), "name": value.name}
    if isinstance(value, pd.MultiIndex):
        codes = [np.asarray(code) for code in value.codes]
        return {"MultiIndex": list(value.levels), "codes": codes, "name": tuple(value.names)}
    if isinstance(value, pd.CategoricalIndex):
        data = {"CategoricalIndex": np.array(value.codes), "categories": value.categories}
        return {**data, "ordered": bool(value.ordered), "name": value.name}
    if isinstance(value, pd.DatetimeIndex | pd.TimedeltaIndex):
        return {type(value).__name__: value.to_numpy(_moments(value)), "zone": _zone(value), "name": value.name}
    if type(value) is pd.Index and (value.dtype.kind in "biufcO" or str(value.dtype) in ("str", "string")):
        plain = isinstance(value.dtype, np.dtype) and value.dtype.kind != "O"
        cells = value.to_numpy() if plain else [None if cell is pd.NA else cell for cell in value]
        return {"Index": cells, "cells as": str(value.dtype), "name": value.name}
    if isinstance(value, pd.Series):
        return {"Series": pd.Index(value.to_numpy()), "index": value.index, "name": value.name}
    if type(value) is pd.DataFrame:
        columns = [pd.Index(value.iloc[:, j]) for j in range(value.shape[1])]
        return {"DataFrame": columns, "index": value.index, "columns": value.columns}
    return None


def _zone(value: Any) -> str | None:
    return None if getattr(value, "tz", None) is None else str(value.tz)


def _moments(value: Any) -> str:
    return f"{'M' if type(value).__name__ == 'DatetimeIndex' else 'm'}8[{value.unit}]"


def _pandas(parts: dict[str, Any]) -> Any:
    import pandas as pd

    match parts:
        case {"missing": "NA"}:
            return pd.NA
        case {"missing": "NaT"}:
            return pd.NaT
        case {"Timestamp": str(text), "unit": unit, "zone": zone}:
            moment = pd.Timestamp(text)
            return (moment if zone is None else moment.tz_convert(zone)).as_unit(unit)
        case {"Timedelta": str(text), "unit": unit}:
            return pd.Timedelta(text).as_unit(unit)
        case {"RangeIndex": range() as places, "name": name}:
            return pd.RangeIndex(places, name=name)
        case {"MultiIndex": list(levels), "codes": list(codes), "name": tuple(names)}:
            return pd.MultiIndex(levels=levels, codes=codes, names=names)
        case {"CategoricalIndex": codes, "categories": categories, "ordered": ordered, "name": name}:
            return pd.CategoricalIndex(pd.Categorical.from_codes(codes, categories, ordered=ordered), name=name)
        case {"DatetimeIndex": values, "zone": zone, "name": name}:
            index = pd.DatetimeIndex(values, name=name)
            return index if zone is None else index.tz_localize("UTC").tz_convert(zone)
        case {"TimedeltaIndex": values, "name": name}:
            return pd.TimedeltaIndex(values, name=name)
        case {"Index": values, "cells as": str(dtype), "name": name}:
            return pd.Index(values, dtype=dtype, name=name)
        case {"Series": values, "index": index, "name": name}:
            return pd.Series(values.to_numpy(), index=index, name=name)
        case {"DataFrame": list(columns), "index": index, "columns": names}:
            data = {j: column.array for j, column in enumerate(columns)}
            return pd.DataFrame(data, index=index).set_axis(names, axis=1)
    raise InvalidInputError(f"a value of a kind that is not known: {', '.join(map(str, parts))}")


# ---- networks -------------------------------------------------------------------------------------------------------


def is_torch_module(value: Any) -> bool:
    """Whether it is a torch network, without importing torch for those who have none."""
    return any(kind.__module__.startswith("torch.nn") and kind.__name__ == "Module" for kind in type(value).__mro__)


def packed_weights(module: Any) -> bytes:
    """The weights of a network in the format of safetensors, which has names, numbers and nothing else."""
    from safetensors.torch import save

    # tensors that several layers share are written once for each
    return save({name: tensor.detach().cpu().contiguous().clone() for name, tensor in module.state_dict().items()})


def plain_layers(module: Any) -> list[Any] | None:
    """The layers of a stack of linear and rectified ones, which can be built again; None for any other network."""
    from torch import nn

    if type(module) is not nn.Sequential:
        return None
    layers: list[Any] = []
    for layer in module:
        if type(layer) is nn.Linear:
            layers.append([layer.in_features, layer.out_features, layer.bias is not None])
        elif type(layer) is nn.ReLU and not layer.inplace:
            layers.append("ReLU")
        else:
            return None
    return layers


def with_weights(module: Any, packed: bytes, kind: str, layers: list[Any] | None) -> Any:
    """A network with weights from a file: a stack of plain layers, or else a copy of one that is given."""
    import copy

    from safetensors.torch import load

    weights = load(packed)
    if layers is not None:
        filled = _built(layers, weights)
    elif module is None:
        raise InvalidInputError(
            f"it holds the weights of a torch network of your own ({kind}), whose code is not in the file: build it "
            "again and give it, load(path, network=...)"
        )
    else:
        filled = copy.deepcopy(module)
    try:
        filled.load_state_dict(weights)
    except RuntimeError as error:
        words = " ".join(str(error).split())
        raise InvalidInputError(f"network must be built like the {kind} that was written: {words}") from error
    return filled


def _built(layers: list[Any], weights: dict[str, Any]) -> Any:
    from torch import nn

    most = max((tensor.numel() for tensor in weights.values()), default=0)
    dtype = next((tensor.dtype for tensor in weights.values()), None)
    made: list[nn.Module] = []
    for layer in layers:
        if layer == "ReLU":
            made.append(nn.ReLU())
            continue
        inputs, outputs, bias = layer
        if inputs * outputs > most:  # before memory is taken for it
            raise InvalidInputError(f"a layer of {inputs} by {outputs} does not go with its weights")
        made.append(nn.Linear(inputs, outputs, bias=bool(bias), dtype=dtype))
    return nn.Sequential(*made)
