"""Plain values as TOML: text, numbers, truth values, lists of them, and one table of parameters."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from dempster._errors import InvalidInputError

__all__ = ["read", "written"]


def written(values: Mapping[str, Any]) -> str:
    """A line for each value; mappings become tables, after the rest."""
    lines = [f"{_key(name)} = {_value(value)}" for name, value in values.items() if not isinstance(value, Mapping)]
    for name, value in values.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{_key(name)}]", *(f"{_key(key)} = {_value(inner)}" for key, inner in value.items())]
    return "\n".join(lines) + "\n"


def read(text: str) -> dict[str, Any]:
    """The values of a text; "none" among parameters is None, which TOML cannot say."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"this is not TOML: {error}") from error
    except RecursionError as error:
        raise InvalidInputError("this is not TOML of ours: its values are nested too deeply") from error
    parameters = found.get("parameters")
    if isinstance(parameters, dict):
        found["parameters"] = {name: None if value == "none" else value for name, value in parameters.items()}
    return found


def _key(name: str) -> str:
    plain = name and all(c.isascii() and (c.isalnum() or c in "-_") for c in name)
    return name if plain else _text(name)


def _value(value: Any) -> str:
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)  # inf and nan are written so in TOML too
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    raise InvalidInputError(f"a recipe cannot hold {value!r}")


def _text(text: str) -> str:
    """JSON's strings are TOML's but for one character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
