"""Options that several commands share, and how those of a method come from its class."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from dempster.apps.cli.shared.errors import UserError, WrongUse, user_errors
from dempster.apps.cli.shared.kinds import (
    NONE,
    PATH,
    ColumnNames,
    FileName,
    MethodName,
    NumberOrAuto,
    Value,
    WholeNumber,
)
from dempster.apps.recipe import methods

__all__ = ["RecipeCommand", "common", "parameters_from", "reading", "recipe_from", "recipe_options", "split_names"]

_OWN = ("n_clusters", "random_state", "missing", "verbose")  # have options of their own
_FIELDS = ("header", "delimiter", "decimal", "index", "scale", "missing", "method", "clusters", "seed")
_FILES = ("constraints", "labels", "truth")
_LISTS = ("columns", "exclude", "categories")
_NAME = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*(?:,|\Z)')  # one of several, which commas separate
_FALLBACK = {"cluster": "evclus", "classify": "eknn"}


# ---- groups of options ----------------------------------------------------------------------------------------------

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _all_of(*decorators: Decorator) -> Decorator:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


common = _all_of(
    click.option("--json", "as_json", is_flag=True, help="Show one JSON document instead, for programs."),
    click.option("-q", "--quiet", is_flag=True, help="Show nothing but warnings and errors."),
)

reading = _all_of(
    click.option("--index", type=ColumnNames(), metavar="COLUMN", help="The column that names the rows."),
    click.option("--header/--no-header", default=None, help="Whether a text file names its columns. [default: look]"),
    click.option("--delimiter", metavar="CHARACTER", help="What separates the columns of a text file. [default: look]"),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark of a text file. [default: look]"),
)

recipe_options = _all_of(
    click.argument("files", nargs=-1, type=FileName(), metavar="FILE..."),
    click.option(
        "-c",
        "--clusters",
        type=NumberOrAuto(1),
        default="auto",
        show_default=True,
        metavar="N",
        help="Number of clusters; auto finds it and says why.",
    ),
    click.option(
        "--method", type=MethodName("cluster"), default="evclus", show_default=True, help="How to cluster; see below."
    ),
    click.option("--columns", multiple=True, type=ColumnNames(), metavar="A,B,...", help="The columns to use."),
    click.option("--exclude", multiple=True, type=ColumnNames(), metavar="A,B,...", help="Columns not to use."),
    click.option(
        "--categories",
        multiple=True,
        type=ColumnNames(),
        metavar="A,B,...",
        help='Columns of words to use as well; "all" takes all of them.',
    ),
    click.option("--dissimilarities", is_flag=True, help="FILE is a square matrix of dissimilarities."),
    reading,
    click.option(
        "--missing",
        type=click.Choice(["refuse", "drop", "partial"]),
        default="refuse",
        show_default=True,
        help="Rows with empty cells: refuse the table, leave them out, or compare by what is there (more doubt).",
    ),
    click.option("--scale/--no-scale", default=True, show_default=True, help="Standardise the columns."),
    click.option(
        "--seed", type=WholeNumber(0, 2**31 - 1), default=0, show_default=True, help="Same seed, same result."
    ),
    click.option(
        "--constraints", type=FileName(), metavar="PATH", help="Pairs of rows known to be together or apart: a,b,same."
    ),
    click.option("--labels", metavar="COLUMN|PATH", help="Known labels of some rows, to learn from."),
    click.option("--truth", metavar="COLUMN|PATH", help="Classes to compare the result with; not used to cluster."),
    click.option("-p", "settings", multiple=True, metavar="NAME=VALUE", help="A parameter of the method, as delta=5."),
    click.option("--config", type=PATH, metavar="PATH", help="Take the run from a TOML file; other options override."),
    click.option("--save-config", type=PATH, metavar="PATH", help="Write the run to a TOML file, to repeat it."),
)


# ---- commands whose options come from a method ----------------------------------------------------------------------


class RecipeCommand(click.Command):
    """A command with the parameters of the method that is chosen as options."""

    package = "cluster"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["method"] = self._method_in(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise self._explained(error, ctx) from error

    def _method_in(self, args: Sequence[str]) -> str:
        """The method that is asked for, before anything else is known."""
        found, config = None, None
        for place, word in enumerate(args):
            name, equals, value = word.partition("=")
            if name in ("--method", "--config"):
                value = value if equals else next(iter(args[place + 1 : place + 2]), "")
                found, config = (value, config) if name == "--method" else (found, value)
        if found is None and config:
            found = _method_of_config(config)
        found = (found or "").lower()
        return found if found in methods.method_names(self.package) else _FALLBACK[self.package]

    def _explained(self, error: click.NoSuchOption, ctx: click.Context) -> click.UsageError:
        """Whether an unknown option is a parameter of another method."""
        name = error.option_name.lstrip("-").replace("-", "_")
        others = methods.methods_with(name, self.package)
        if not others or name in _OWN:
            return error
        return click.UsageError(
            f"method {ctx.meta['method']} has no option {error.option_name}; {', '.join(others)} "
            f"{'has' if len(others) == 1 else 'have'} it (choose by --method)",
            ctx,
        )

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        method = ctx.meta.get("method", _FALLBACK[self.package])
        return [*super().get_params(ctx), *self._method_options(method)]

    def _method_options(self, method: str) -> list[click.Parameter]:
        known = {name for parameter in self.params for name in parameter.opts}
        return [
            click.Option(
                [f"--{one.name.replace('_', '-')}", f"set_{one.name}"],
                type=Value(one.words or (("true", "false") if one.is_flag else ())),
                metavar=_metavar(one),
                help=_told(one),
            )
            for one in methods.method_parameters(method, self.package)
            if one.name not in _OWN and f"--{one.name.replace('_', '-')}" not in known
        ]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options of the command, then those of the method."""
        method = ctx.meta.get("method", _FALLBACK[self.package])
        own: list[tuple[str, str]] = []
        of_method: list[tuple[str, str]] = []
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if record is not None:
                (of_method if (parameter.name or "").startswith("set_") else own).append(record)
        with formatter.section("Options"):
            formatter.write_dl(own)
        with formatter.section(f"Parameters of --method {method}"):
            formatter.write_text(methods.method_summary(method, self.package).replace("`", ""))
            formatter.write_paragraph()
            formatter.write_dl(of_method)
        with formatter.section("Methods, each with parameters of its own (--method NAME --help)"):
            names = methods.method_names(self.package)
            formatter.write_dl([(name, _first_words(methods.method_summary(name, self.package))) for name in names])


def _metavar(one: methods.Parameter) -> str:
    if one.choices:
        return "|".join(one.choices)
    if one.is_flag:
        return "true|false"
    kind = one.kind.split()[0] if one.kind else ""
    return {"int": "N", "float": "X"}.get(kind.rstrip(","), "VALUE")


def _told(one: methods.Parameter) -> str:
    kind = "" if one.choices or one.is_flag else f"{one.kind}. "
    kind = kind.replace("RandomState, Generator or ", "")
    return f"{kind}{one.help}".replace("`", "").strip() + f" [default: {_default(one.default)}]"


def _default(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else f"{value}"


def _first_words(summary: str) -> str:
    text = summary.replace("`", "").replace("*", "")
    return text if len(text) <= 100 else text[:97].rsplit(" ", 1)[0] + " ..."


def _method_of_config(path: str) -> str | None:
    try:
        found = _config(Path(path)).get("method")
    except (OSError, ValueError, UserError):
        return None  # told when the file is read in earnest
    return found if isinstance(found, str) else None


def _config(path: Path) -> dict[str, Any]:
    """The values of a file of settings."""
    from dempster.apps.recipe import toml
    from dempster.io.atomic import as_file

    file = as_file(path)
    try:
        return toml.read(file.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UserError(f"--config {path}: this is not UTF-8 text") from error
    except ValueError as error:
        raise UserError(f"--config {path}: {error}") from error


# ---- from options to a recipe ---------------------------------------------------------------------------------------


def split_names(values: Sequence[str], option: str) -> list[str]:
    """Names from options such as ``--columns a,b --columns '"c,d"'``: quotation marks protect commas and blanks."""
    parts = [part for value in values for part in _NAME.finditer(value)]
    names = [part[2].strip() if part[1] is None else part[1].replace('""', '"') for part in parts]
    found = [name for name in names if name]
    if values and not found:
        raise WrongUse(f"--{option} needs the name of a column, got none")
    return found


def parameters_from(options: dict[str, Any], package: str = "cluster", method: str = "") -> dict[str, Any]:
    """Parameters of the method, given as options or by -p."""
    found: dict[str, Any] = {}
    for setting in options["settings"]:
        name, equals, value = setting.partition("=")
        key = name.strip().replace("-", "_")
        if not equals or not key:
            raise WrongUse(f"-p must look like name=value, got '{setting}'")
        if key in found:
            raise WrongUse(f"-p {key} is given twice")
        if key in _OWN:
            own = {"n_clusters": "-c", "random_state": "--seed", "missing": "--missing", "verbose": "--quiet"}[key]
            raise WrongUse(f"-p {key}: use the option {own}")
        known = [one.name for one in methods.method_parameters(method, package)]
        if key not in known:
            raise WrongUse(f"-p {key}: method {method} has no such parameter; it has {', '.join(known)}")
        found[key] = methods.parse_value(value.strip())
    for name, value in options.items():
        if name.startswith("set_") and value is not None:
            key = name.removeprefix("set_")
            if key in found:
                raise WrongUse(f"{key} is given twice, by -p and by --{key.replace('_', '-')}")
            found[key] = None if value is NONE else value
    # in the order of the signature, so that the same run is told in the same words
    order = [one.name for one in methods.method_parameters(method, package)]
    return {key: found[key] for key in sorted(found, key=lambda key: order.index(key) if key in order else -1)}


def recipe_from(ctx: click.Context, options: dict[str, Any]) -> Any:
    """The recipe that the options tell, over that of --config."""
    from dempster.apps.recipe import Recipe

    values: dict[str, Any] = {}
    if options["config"] is not None:
        with user_errors():
            found = _config(options["config"])
        try:
            values = Recipe.from_dict(found).to_dict()
        except (ValueError, TypeError) as error:
            raise UserError(f"--config {options['config']}: {error}") from error

    def is_given(name: str) -> bool:
        return ctx.get_parameter_source(name) is not ParameterSource.DEFAULT

    if options["files"]:
        values["files"] = list(options["files"])
    elif not values.get("files"):
        raise WrongUse("name the FILE to cluster, or a --config that does; dempster demo needs none")
    values |= {name: options[name] for name in (*_FIELDS, *_FILES) if is_given(name)}
    values |= {name: split_names(options[name], name) for name in _LISTS if is_given(name)}
    if options["dissimilarities"]:
        values["kind"] = "dissimilarities"
    method = values.get("method", _FALLBACK["cluster"])
    before = values.get("parameters", {}) if not is_given("method") else {}
    values["parameters"] = {**before, **parameters_from(options, "cluster", method)}
    with user_errors(wrong_use=True):
        return Recipe.from_dict(values)
