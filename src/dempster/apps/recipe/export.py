"""Export a recipe as a shell command, as Python code and as TOML."""

from __future__ import annotations

import json
import shlex
import tomllib
from collections.abc import Mapping
from typing import Any

from dempster._errors import InvalidInputError
from dempster._validation import check, kind
from dempster.apps.methods import METHODS, default_method

_MAX_LINE_CHARACTERS = 100


def to_command(recipe: Any) -> str:
    """Return the shell command for a recipe, with all options that differ from their defaults."""
    values = recipe.to_dict()
    del values["files"]
    files = [f"./{file}" if file.startswith("-") else file for file in recipe.files]
    command = "doubt" if recipe.keeps_labels else "cluster"
    words = ["dempster", command, *files]
    if values.pop("kind", "") == "dissimilarities":
        words.append("--dissimilarities")
    if recipe.clusters != "auto":
        words += ["-c", str(values.pop("clusters"))]
    del values["method"]
    constrained = bool(recipe.constraints or recipe.labels)
    if command == "cluster" and recipe.method != default_method(
        constrained=constrained
    ):
        words += ["--method", recipe.method]
    parameters = values.pop("parameters", {})
    for name, value in values.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        elif isinstance(value, list):
            words += [f"--{option}", ",".join(map(quote_name, value))]
        else:
            words += [f"--{option}", str(value)]
    for name, value in parameters.items():
        text = str(value)
        if isinstance(value, list | tuple):
            text = json.dumps(value)
        elif isinstance(value, bool) or value is None:
            text = text.lower()
        words += [f"--{name.replace('_', '-')}", text]
    return shlex.join(words)


def quote_name(name: str) -> str:
    """Quote the name of a column if it contains characters that separate names."""
    if set(name) & set(',"\n') or name != name.strip():
        return '"' + name.replace('"', '""') + '"'
    return name


# ---- Python code ---------------------------------------------------------------------------------


def to_code(recipe: Any, names: Mapping[int, Any] | None = None) -> str:
    """Return Python code for a recipe, which uses only public names of the library.

    ``names`` contains names of clusters by their numbers.
    """
    code = _Code()
    data = recipe.kind
    function = f"read_{data}"
    source: dict[str, Any] = {"": recipe.files[0]}
    if len(recipe.files) > 1:
        function = "read_views"
        source = {"": list(recipe.files)}
    module = "dempster.io"
    if function in ("read_image", "read_views"):
        module = "dempster.apps.recipe"
    code.call(data, module, function, source | recipe.reading_options())
    if data == "table":
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
    info = METHODS[recipe.method]
    class_name = code.use(f"dempster.{info.package}", info.class_name)
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
    if names:
        entries = [f"{k}: {_format_value(name)}" for k, name in names.items()]
        renamed = f"{{{', '.join(entries)}}}"
        code.lines.append(f"partition = partition.name_clusters({renamed})")
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
        data = "attributes.source"
        rows = "[attributes.rows]"
    arguments = []
    constraints = []
    if recipe.keeps_labels:
        read = code.use("dempster.apps.recipe", "read_labels")
        labels = f"{read}({_format_value(recipe.labels)}, {data})"
        code.lines.append(f"labels = {labels}.to_numpy(){rows}")
        arguments.append("labels")
    elif recipe.labels is not None:
        read = code.use("dempster.apps.recipe", "read_labels")
        encode = code.use("dempster.apps.recipe", "encode_labels")
        code.lines.append(
            f"y, names = {encode}({read}({_format_value(recipe.labels)}, {data}))"
        )
        if recipe.learns_labels:
            arguments.append(f"y{rows}")
        else:
            convert = code.use("dempster.apps.recipe", "constraints_from_labels")
            seed = ""
            if recipe.seed:
                seed = f", random_state={recipe.seed}"
            constraints.append(f"{convert}(y{rows}{seed})")
    if recipe.constraints is not None:
        read = code.use("dempster.constraints", "read_constraints")
        index = f"{data}.index"
        if recipe.kind != "table" and recipe.files[0].lower().endswith(
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
    """Return the fields of a recipe as TOML, with a table of the parameters at the end."""
    fields = dict(values)
    parameters = fields.pop("parameters", {})
    lines = [f"{name} = {_toml_value(value)}" for name, value in fields.items()]
    if parameters:
        lines += ["", "[parameters]"]
    lines += [f"{name} = {_toml_value(value)}" for name, value in parameters.items()]
    return "\n".join(lines) + "\n"


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML, and convert the text "none" in the table of parameters to None."""
    check(text, "text", kind(str, words="a text in TOML"))
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


def _toml_value(value: Any) -> str:
    if value is None:
        return '"none"'
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str | int):
        # JSON texts, numbers and booleans are valid TOML.
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml_value, value))}]"
    raise InvalidInputError(
        f"a recipe must contain numbers, texts and lists, got {value!r}"
    )
