"""Export a recipe as a shell command, as Python code and as TOML."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Mapping
from typing import Any

from dempster._errors import InvalidInputError
from dempster.apps.methods import METHODS, default_method

_MAX_LINE_CHARACTERS = 100


def to_command(recipe: Any) -> str:
    """Return the shell command for a recipe, with all options that differ from their defaults."""
    files = [f"./{file}" if file.startswith("-") else file for file in recipe.files]
    words = ["dempster", "cluster", *files]
    if recipe.kind == "dissimilarities":
        words.append("--dissimilarities")
    if recipe.clusters != "auto":
        words += ["-c", str(recipe.clusters)]
    if recipe.method != default_method(
        constrained=bool(recipe.constraints or recipe.labels)
    ):
        words += ["--method", recipe.method]
    for name in ("columns", "exclude", "categories", "na_values"):
        names = getattr(recipe, name)
        if names:
            words += [f"--{name.replace('_', '-')}", ",".join(map(quote_name, names))]
    for name in (
        "index",
        "delimiter",
        "decimal",
        "sheet",
        "constraints",
        "labels",
        "truth",
        "confidence",
        "outlier_weight",
        "ambiguity_weight",
    ):
        if getattr(recipe, name) not in (None, 1):
            words += [f"--{name.replace('_', '-')}", str(getattr(recipe, name))]
    if recipe.header is not None:
        words.append("--header" if recipe.header else "--no-header")
    if recipe.scale != "auto":
        words.append("--scale" if recipe.scale else "--no-scale")
    if recipe.missing != "refuse":
        words += ["--missing", recipe.missing]
    if recipe.seed:
        words += ["--seed", str(recipe.seed)]
    for name, value in recipe.parameters.items():
        words += _parameter_words(name, value)
    return shlex.join(words)


def _parameter_words(name: str, value: Any) -> list[str]:
    """Return the option that sets a parameter of the method."""
    if isinstance(value, list | tuple):
        text = json.dumps(list(value))
    else:
        text = str(value)
    if isinstance(value, bool) or value is None:
        text = text.lower()
    option = f"--{name.replace('_', '-')}"
    if text.startswith("-"):  # A negative number after a space would be an option.
        return [f"{option}={text}"]
    return [option, text]


def quote_name(name: str) -> str:
    """Quote the name of a column if it contains characters that separate names."""
    if set(name) & set(',"\n') or name != name.strip():
        return '"' + name.replace('"', '""') + '"'
    return name


# ---- Python code ---------------------------------------------------------------------------------


def to_code(recipe: Any) -> str:
    """Return Python code for a recipe, which uses only public names of the library."""
    code = _Code()
    reading = recipe.reading_options()
    if recipe.kind == "image":
        code.call("image", "dempster.apps.recipe", "read_image", {"": recipe.files[0]})
        data = "image"
    elif recipe.kind == "dissimilarities":
        data = "dissimilarities"
        arguments = {"": recipe.files[0]} | reading
        code.call(data, "dempster.io", "read_dissimilarities", arguments)
    else:
        if len(recipe.files) > 1:
            code.call(
                "table",
                "dempster.apps.recipe",
                "read_views",
                {"": list(recipe.files)} | reading,
            )
        else:
            code.call(
                "table", "dempster.io", "read_table", {"": recipe.files[0]} | reading
            )
        options = {"": _Variable("table")} | recipe.choosing_options()
        code.call("attributes", "dempster.apps.recipe", "choose_attributes", options)
        data = "attributes.values"
    settings = dict(recipe.settings())
    if len(recipe.files) > 1:
        code.lines.append(
            'views = [table.attrs["views"][name] for name in attributes.columns]'
        )
        settings["views"] = _Variable("views")
    arguments = ", ".join([data, *_read_supervision(recipe, code)])
    class_name = METHODS[recipe.method].class_name
    code.use("dempster.cluster", class_name)
    if recipe.confidence is None:
        code.lines.append(
            _format_call(f"model = {class_name}", settings, f".fit({arguments})")
        )
    else:
        code.lines.append(_format_call(f"clusterer = {class_name}", settings))
        clusterer = _Variable("clusterer")
        options = {
            "": clusterer,
            "confidence": recipe.confidence,
            "random_state": recipe.seed,
        }
        wrapper = code.use("dempster.cluster", "ConformalClustering")
        code.lines.append(
            _format_call(f"conformal = {wrapper}", options, f".fit({arguments})")
        )
        code.lines += ["sets = conformal.sets_", "model = conformal.clusterer_"]
    code.lines.append("partition = model.credal_partition_")
    weights = {
        name: getattr(recipe, name)
        for name in ("outlier_weight", "ambiguity_weight")
        if getattr(recipe, name) != 1
    }
    if weights:
        options = {"": _Variable("partition")} | weights
        code.call("partition", "dempster.apps.recipe", "reweight_sets", options)
    code.lines.append("print(partition.summary())")
    return code.to_text()


class _Variable(str):
    """Name of a variable in the code; a plain str would be written as a quoted text."""


class _Code:
    """Lines of Python code, and the imports that they need."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._imports: dict[str, set[str]] = {}

    def use(self, module: str, name: str) -> str:
        """Add an import of a name, and return the name."""
        self._imports.setdefault(module, set()).add(name)
        return name

    def call(
        self, variable: str, module: str, name: str, arguments: dict[str, Any]
    ) -> None:
        """Append a line that assigns the result of an imported function to a variable."""
        self.lines.append(
            _format_call(f"{variable} = {self.use(module, name)}", arguments)
        )

    def to_text(self) -> str:
        imports = []
        for module, names in sorted(self._imports.items()):
            imports.append(
                f"from {module} import {', '.join(sorted(names, key=str.lower))}"
            )
        return "\n".join([*imports, "", *self.lines])


def _read_supervision(recipe: Any, code: _Code) -> list[str]:
    """Append lines that read labels and constraints, and return the arguments of `fit`."""
    data = "dissimilarities"
    rows = ""
    if recipe.kind == "table":
        data = "table"
        rows = "[attributes.rows]"
    arguments = []
    constraints = []
    if recipe.labels is not None:
        read = code.use("dempster.apps.recipe", "read_labels")
        encode = code.use("dempster.apps.recipe", "encode_labels")
        code.lines.append(
            f"y, names = {encode}({read}({_format_value(recipe.labels)}, {data}))"
        )
        if recipe.learns_labels:
            arguments.append(f"y{rows}")
        else:
            convert = code.use("dempster.apps.recipe", "constraints_from_labels")
            seed = f", random_state={recipe.seed}" if recipe.seed else ""
            constraints.append(f"{convert}(y{rows}{seed})")
    if recipe.constraints is not None:
        read = code.use("dempster.constraints", "read_constraints")
        index = f"{data}.index"
        if data != "table" and recipe.files[0].lower().endswith(
            (".mtx", ".npz", ".mat")
        ):
            index = "None"  # Objects of these matrices have no names.
        constraints.append(
            f"{read}({_format_value(recipe.constraints)}, {index}){rows}"
        )
    if constraints:
        code.lines.append(f"constraints = {' | '.join(constraints)}")
        arguments.append("constraints=constraints")
    return arguments


def _format_value(value: Any) -> str:
    if isinstance(value, _Variable):
        return str(value)
    if isinstance(value, str) and value.isprintable():
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_format_value, value))}]"
    return repr(value)


def _format_call(name: str, arguments: dict[str, Any], tail: str = "") -> str:
    """Return the code of a function call on one line, or with one line for each argument."""
    parts = []
    for key, value in arguments.items():
        prefix = f"{key}=" if key else ""
        parts.append(f"{prefix}{_format_value(value)}")
    line = f"{name}({', '.join(parts)}){tail}"
    if len(line) <= _MAX_LINE_CHARACTERS:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){tail}"


# ---- TOML ----------------------------------------------------------------------------------------


def to_toml(values: Mapping[str, Any]) -> str:
    """Return plain values as TOML with one line for each value.

    Mappings become tables at the end.
    """
    lines = []
    tables = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            tables += ["", f"[{_toml_key(name)}]"]
            tables += [
                f"{_toml_key(key)} = {_toml_value(cell)}" for key, cell in value.items()
            ]
        else:
            lines.append(f"{_toml_key(name)} = {_toml_value(value)}")
    return "\n".join(lines + tables) + "\n"


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML, and convert the text "none" in the table of parameters to None."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInputError(f"invalid TOML: {error}") from error
    parameters = values.get("parameters")
    if isinstance(parameters, dict):
        values["parameters"] = {
            name: None if value == "none" else value
            for name, value in parameters.items()
        }
    return values


def _toml_key(name: str) -> str:
    return name if re.fullmatch("[A-Za-z0-9_-]+", name) else _toml_value(name)


def _toml_value(value: Any) -> str:
    if value is None:
        return '"none"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)  # JSON strings are valid TOML.
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    raise InvalidInputError(
        f"a recipe must contain numbers, texts and lists, got {value!r}"
    )
