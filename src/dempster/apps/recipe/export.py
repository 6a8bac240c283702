"""Export a recipe as a line of the shell, as Python code and as TOML."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Mapping
from typing import Any

from dempster._errors import InvalidInputError
from dempster.registry import find_method

_WIDTH = 100


def as_command(recipe: Any) -> str:
    """The command, with the options that are not left at their defaults."""
    words = ["dempster", "cluster", *(f"./{file}" if file.startswith("-") else file for file in recipe.files)]
    if recipe.kind == "dissimilarities":
        words.append("--dissimilarities")
    if recipe.clusters != "auto":
        words += ["-c", str(recipe.clusters)]
    if recipe.method != "evclus":
        words += ["--method", recipe.method]
    for name in ("columns", "exclude", "categories"):
        if getattr(recipe, name):
            words += [f"--{name}", ",".join(map(_cell, getattr(recipe, name)))]
    for name in ("index", "delimiter", "decimal", "constraints", "labels", "truth"):
        if getattr(recipe, name) is not None:
            words += [f"--{name}", getattr(recipe, name)]
    if recipe.header is not None:
        words.append("--header" if recipe.header else "--no-header")
    if not recipe.scale:
        words.append("--no-scale")
    if recipe.missing != "refuse":
        words += ["--missing", recipe.missing]
    if recipe.seed:
        words += ["--seed", str(recipe.seed)]
    for name, value in recipe.parameters.items():
        words += _as_option(name, value)
    return shlex.join(words)


def _as_option(name: str, value: Any) -> list[str]:
    """A parameter as the words of an option; a negative number needs the sign that it is a value."""
    if isinstance(value, bool) or value is None:
        text = str(value).lower()
    else:
        text = json.dumps(list(value)) if isinstance(value, list | tuple) else str(value)
    option = f"--{name.replace('_', '-')}"
    return [f"{option}={text}"] if text.startswith("-") else [option, text]


def _cell(name: str) -> str:
    """A name of a column among others: quotation marks protect commas."""
    return '"' + name.replace('"', '""') + '"' if set(name) & set(',"\n') or name != name.strip() else name


def as_code(recipe: Any) -> str:
    """Python code with public names of the library."""
    kind = find_method(recipe.method).class_name
    imports = {"dempster.cluster": {kind}}

    def use(module: str, name: str) -> str:
        imports.setdefault(module, set()).add(name)
        return name

    lines: list[str] = []
    data, index = _reading(recipe, lines, use)
    settings = dict(recipe.settings())
    if len(recipe.files) > 1 and recipe.kind == "table":
        lines.append('views = [table.attrs["views"][name] for name in attributes.columns]')
        settings["views"] = _Name("views")
    learned = _known(recipe, lines, use, index)
    lines.append(_call(f"model = {kind}", settings, tail=f".fit({', '.join([data, *learned])})"))
    lines += ["partition = model.credal_partition_", "print(partition.summary())"]
    head = [
        f"from {module} import {', '.join(sorted(names, key=str.lower))}" for module, names in sorted(imports.items())
    ]
    return "\n".join([*head, "", *lines])


class _Name:
    """A variable of the code."""

    def __init__(self, name: str):
        self.name = name


def _reading(recipe: Any, lines: list[str], use: Any) -> tuple[str, str]:
    """Lines that read and prepare; what is fitted, and where the names of the objects are."""
    if recipe.kind == "image":
        lines.append(_call(f"image = {use('dempster.apps.recipe', 'read_image')}", {"": recipe.files[0]}))
        return "image", ""
    if recipe.kind == "dissimilarities":
        read = use("dempster.io", "read_dissimilarities")
        calls = [_call(read, {"": file} | recipe.reading_options()) for file in recipe.files]
        if len(calls) > 1:
            lines.append("dissimilarities = [\n" + "".join(f"    {call},\n" for call in calls) + "]")
        else:
            lines.append(f"dissimilarities = {calls[0]}")
        # a sparse matrix bears no names: what is known is told by positions
        named = not recipe.files[0].lower().endswith((".mtx", ".npz"))
        return "dissimilarities", "dissimilarities.index" if named else "None"
    if len(recipe.files) > 1:
        read = use("dempster.apps.recipe", "read_views")
        lines.append(_call(f"table = {read}", {"": list(recipe.files)} | recipe.reading_options()))
    else:
        read = use("dempster.io", "read_table")
        lines.append(_call(f"table = {read}", {"": recipe.files[0]} | recipe.reading_options()))
    choose = use("dempster.apps.recipe", "choose_attributes")
    lines.append(_call(f"attributes = {choose}", {"": _Name("table")} | recipe.choosing_options()))
    return "attributes.values", "table.index"


def _known(recipe: Any, lines: list[str], use: Any, index: str) -> list[str]:
    """Lines that read what is known, and the arguments of `fit` that hand it over."""
    rows = "[attributes.rows]" if recipe.kind == "table" else ""
    found = []
    if recipe.labels is not None:
        read, codes = use("dempster.apps.recipe", "read_labels"), use("dempster.apps.recipe", "encode_labels")
        table = "table" if recipe.kind == "table" else "dissimilarities"
        lines.append(f"y, names = {codes}({read}({_shown(recipe.labels)}, {table}))")
        if recipe.learns_labels:
            found.append(f"y{rows}")
        else:
            turned = use("dempster.apps.recipe", "constraints_from_labels")
            seed = f", random_state={recipe.seed}" if recipe.seed else ""
            lines.append(f"constraints = {turned}(y{rows}{seed})")
    if recipe.constraints is not None:
        read = use("dempster.constraints", "read_constraints")
        also = "constraints | " if recipe.labels is not None and not recipe.learns_labels else ""
        lines.append(f"constraints = {also}{read}({_shown(recipe.constraints)}, {index}){rows}")
    if any(line.startswith("constraints =") for line in lines):
        found.append("constraints=constraints")
    return found


def _shown(value: Any) -> str:
    if isinstance(value, _Name):
        return value.name
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False) if value.isprintable() else repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)


def _call(name: str, arguments: dict[str, Any], tail: str = "") -> str:
    """A call in one line or, if that were too long, with a line for each argument."""
    parts = [_shown(value) if not key else f"{key}={_shown(value)}" for key, value in arguments.items()]
    line = f"{name}({', '.join(parts)}){tail}"
    if len(line) <= _WIDTH:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){tail}"


def as_toml(values: Mapping[str, Any]) -> str:
    """Write plain values as TOML: a line for each; mappings become tables, after the rest."""
    lines = [f"{_key(name)} = {_value(value)}" for name, value in values.items() if not isinstance(value, Mapping)]
    for name, value in values.items():
        if isinstance(value, Mapping):
            lines += ["", f"[{_key(name)}]", *(f"{_key(key)} = {_value(inner)}" for key, inner in value.items())]
    return "\n".join(lines) + "\n"


def parse_toml(text: str) -> dict[str, Any]:
    """Read the values of a text; "none" among parameters is None, for which TOML has no word."""
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
