"""Options of several commands, options for parameters of methods, and recipes from options."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from dempster._errors import InvalidInputError
from dempster.apps.cli.shared.errors import Command, UserError, WrongUse
from dempster.apps.cli.shared.output import STDOUT, Screen
from dempster.apps.methods import (
    METHODS,
    MethodInfo,
    MethodParameter,
    default_method,
    method_names,
    methods_with,
    parse_value,
)

if TYPE_CHECKING:
    from dempster.apps.recipe import Recipe


# Parameters of methods for which the program has an option with a different name.
_RESERVED = ("n_clusters", "random_state", "missing", "verbose")
# one name in a list separated by commas
_NAME = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*(?:,|\Z)')
MAX_SEED = 2**31 - 1

# ---- types of values -----------------------------------------------------------------------------


class _Path(click.Path):
    """Path that is not empty, because the empty path is the current folder."""

    def convert(self, value: Any, *context: Any) -> Any:
        if value == "":
            self.fail("must not be an empty name", *context)
        return super().convert(value, *context)


PATH = _Path(readable=False, path_type=Path)
# value of an option set to "none"; None means that the option is not set
NONE = object()


class NumberOrAuto(click.IntRange):
    """Integer or "auto"."""

    def convert(self, value: Any, *context: Any) -> Any:
        if value == "auto":
            return value
        return super().convert(value, *context)


def _parse_parameter(text: str) -> Any:
    """Return the value of a parameter of a method: a number, a boolean, a list or a text."""
    value = parse_value(text)
    if value is None:
        return NONE
    return value


def _split_names(
    ctx: click.Context, option: click.Parameter, values: Sequence[str]
) -> list[str]:
    """Split values of an option, such as ``a,b`` or ``"c,d",e``, into names.

    Quoted names may contain commas.
    """
    names = []
    for quoted, plain in _NAME.findall(",".join(values)):
        names.append(quoted.replace('""', '"') or plain.strip())
    names = [name for name in names if name]
    if values and not names:
        raise click.BadParameter("must contain at least one name or value")
    return names


# ---- options -------------------------------------------------------------------------------------

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def _combine(*decorators: Decorator) -> Decorator:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def _with_screen(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def run(*args: Any, quiet: bool, as_json: bool, **options: Any) -> Any:
        to_stderr = options.get("output") == STDOUT
        if to_stderr and as_json:
            raise WrongUse("--json and --output - would both write to stdout")
        screen = Screen(quiet=quiet, as_json=as_json, to_stderr=to_stderr)
        return function(*args, screen=screen, **options)

    return run


def output_option(help: str) -> Decorator:
    """Return the option ``--output``."""
    return click.option("-o", "--output", type=PATH, help=help)


def plot_option(help: str = "Write a plot: .png, .svg or .pdf.") -> Decorator:
    """Return the option ``--plot``."""
    return click.option("--plot", type=PATH, help=help)


def method_option(package: str, default: str, shown: str | bool = True) -> Decorator:
    """Return the option ``--method``."""
    return click.option(
        "--method",
        type=click.Choice(method_names(package), case_sensitive=False),
        metavar="METHOD",
        default=default,
        show_default=shown,
        help="Method; see below.",
    )


def names_option(name: str, help: str) -> Decorator:
    """Return an option with a list of names."""
    return click.option(
        name, multiple=True, metavar="A,B,...", callback=_split_names, help=help
    )


def confidence_option(help: str) -> Decorator:
    """Return the option ``--confidence``."""
    kind = click.FloatRange(0, 1, min_open=True, max_open=True)
    return click.option("--confidence", type=kind, metavar="SHARE", help=help)


# Options --json and --quiet, which the command receives as a `Screen` in the argument ``screen``.
screen_options = _combine(
    click.option(
        "--json",
        "as_json",
        is_flag=True,
        help="Print one JSON document instead of text.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="Print only warnings and errors."),
    _with_screen,
)

reading_options = _combine(
    click.option(
        "--index",
        metavar="COLUMN",
        help="Column with the names of the rows. [default: a column of short texts that differ in "
        "every row]",
    ),
    click.option(
        "--no-index", is_flag=True, help="Number the rows instead of naming them."
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether a text file has a header line. [default: detect]",
    ),
    click.option(
        "--delimiter",
        metavar="CHARACTER",
        help="Column separator of a text file. [default: detect]",
    ),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        help="Decimal mark of a text file. [default: detect]",
    ),
    click.option(
        "--sheet",
        metavar="NAME",
        help="Sheet of an Excel file. [default: the first visible sheet]",
    ),
    names_option(
        "--na-values",
        "Cells that mean a missing value, such as n.d. or -999, in addition to empty cells, "
        "NA and ?.",
    ),
)

column_options = _combine(
    names_option("--columns", "Columns to use. [default: all numeric columns]"),
    names_option("--exclude", "Columns to ignore."),
)

scale_option = click.option(
    "--scale/--no-scale", default=True, help="Standardize the columns."
)
seed_option = click.option(
    "--seed",
    type=click.IntRange(0, MAX_SEED),
    default=0,
    help="Seed of the random numbers.",
)
truth_option = click.option(
    "--truth",
    metavar="COLUMN|PATH",
    help="True classes to compare the result with; not used for clustering.",
)
save_model_option = click.option(
    "--save-model", type=PATH, help="Save the model for dempster predict: .dempster."
)

weight_options = _combine(
    click.option(
        "--outlier-weight",
        type=float,
        default=1.0,
        help="Weight of the mass of outliers; below 1 there are fewer outliers.",
    ),
    click.option(
        "--ambiguity-weight",
        type=float,
        default=1.0,
        help="Weight of the masses of sets of several clusters; below 1 fewer rows are ambiguous.",
    ),
)

table_options = _combine(
    click.argument("files", nargs=-1, metavar="FILE..."),
    column_options,
    names_option(
        "--categories",
        'Columns of text to use as categories; "all" selects every column of text.',
    ),
    click.option(
        "--dissimilarities",
        is_flag=True,
        help="FILE contains a square matrix of dissimilarities.",
    ),
    reading_options,
    click.option(
        "--missing",
        type=click.Choice(["refuse", "drop", "partial"]),
        default="refuse",
        help="Missing values: raise an error, drop the rows, or compare rows by the values that "
        "are present.",
    ),
    scale_option,
    seed_option,
    click.option(
        "--config",
        type=PATH,
        help="Read the options from a TOML file; other options override it.",
    ),
    click.option("--save-config", type=PATH, help="Write the options to a TOML file."),
)

recipe_options = _combine(
    table_options,
    method_option(
        "cluster", "credal", "credal; evclus with constraints, labels or answers"
    ),
    click.option(
        "-c",
        "--clusters",
        type=NumberOrAuto(1),
        default="auto",
        help="Number of clusters; auto selects it and prints the reason.",
    ),
    click.option(
        "--constraints",
        metavar="PATH",
        help="File of pairs of rows in the same or in different clusters: a,b,same.",
    ),
    click.option(
        "--labels",
        metavar="COLUMN|PATH",
        help="Known labels of some rows, used for clustering.",
    ),
)


# ---- commands whose options come from a method ---------------------------------------------------


class RecipeCommand(Command):
    """Command that has the parameters of the selected method as options."""

    package = "cluster"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["method"] = self._find_method(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name.lstrip("-").replace("-", "_")
            others = methods_with(name, self.package)
            if not others or name in _RESERVED:
                raise
            message = (
                f"method {ctx.meta['method']} has no option {error.option_name}; "
                f"methods with this option: {', '.join(others)}"
            )
            raise click.UsageError(message, ctx) from error

    def _find_method(self, args: Sequence[str]) -> str:
        """Return the method on the command line or in the configuration file."""
        values: dict[str, str] = {}
        for position, word in enumerate(args):
            name, equals, value = word.partition("=")
            if not equals:
                value = "".join(args[position + 1 : position + 2])
            values[name] = value
        method = values.get("--method")
        if method is None and values.get("--config"):
            # The command will read the file again and raise the error.
            with suppress(OSError, UserError):
                method = _read_config(Path(values["--config"])).get("method")
        method = str(method).lower()
        if method in method_names(self.package):
            return method
        if self.package == "classify":
            return "eknn"
        if "--graph" in values:
            return "eknnclus"
        constrained = (
            self.name == "ask" or "--constraints" in values or "--labels" in values
        )
        return default_method(constrained=constrained)

    def _info(self, ctx: click.Context) -> MethodInfo:
        return METHODS[ctx.meta.get("method") or self._find_method([])]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        parameters = super().get_params(ctx)
        names = {name for parameter in self.params for name in parameter.opts}
        for one in self._info(ctx).parameters:
            option = _method_option(one)
            if one.name not in _RESERVED and option.opts[0] not in names:
                parameters.append(option)
        return parameters

    def format_options(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the options of the command, the options of the method and the list of methods."""
        info = self._info(ctx)
        records: dict[bool, list[tuple[str, str]]] = {False: [], True: []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                is_of_method = (parameter.name or "").startswith("set_")
                records[is_of_method].append(record)
        with formatter.section("Options"):
            formatter.write_dl(records[False])
        with formatter.section(f"Parameters of --method {info.name}"):
            formatter.write_text(info.summary)
            formatter.write_paragraph()
            formatter.write_dl(records[True])
        with formatter.section("Methods (--method NAME --help shows the parameters)"):
            names = method_names(self.package)
            formatter.write_dl([(name, METHODS[name].summary) for name in names])


def _method_option(one: MethodParameter) -> click.Option:
    metavar = "|".join(one.choices)
    kind = ""
    if not one.choices:
        first_word = re.split("[, ]", one.kind)[0]
        metavar = {"int": "N", "float": "X"}.get(first_word, "VALUE")
        kind = f"{one.kind}. "
    default = one.default
    if isinstance(default, bool) or default is None:
        default = str(default).lower()
    return click.Option(
        [f"--{one.name.replace('_', '-')}", f"set_{one.name}"],
        type=_parse_parameter,
        metavar=metavar,
        help=f"{kind}{one.help} [default: {default}]",
    )


def _read_config(path: Path) -> dict[str, Any]:
    from dempster.apps.recipe.export import parse_toml
    from dempster.io.atomic import as_file

    try:
        return parse_toml(as_file(path).read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UserError(f"--config {path}: the file is not UTF-8 text") from error
    except InvalidInputError as error:
        raise UserError(f"--config {path}: {error}") from error


# ---- from options to a recipe --------------------------------------------------------------------


def parse_parameters(options: dict[str, Any], method: str) -> dict[str, Any]:
    """Return the parameters of the method that are set by options."""
    parameters = {}
    for parameter in METHODS[method].parameters:
        value = options.get(f"set_{parameter.name}")
        if value is not None:
            parameters[parameter.name] = None if value is NONE else value
    return parameters


def reject_options(
    recipe: Recipe, options: dict[str, Any], names: Sequence[str], where: str
) -> None:
    """Raise an error if an option, or the field of a recipe with its name, is set."""
    for name in names:
        if getattr(recipe, name, options.get(name)) not in (None, (), 1.0):
            option = name.replace("_", "-")
            raise WrongUse(f"--{option} cannot be used with {where}")


def build_recipe(
    ctx: click.Context, options: dict[str, Any], *, constrained: bool = False
) -> Recipe:
    """Return the recipe in the file of --config, updated with the options on the command line."""
    from dempster.apps.recipe import Recipe

    values: dict[str, Any] = {}
    if options["config"] is not None:
        try:
            values = Recipe.from_dict(_read_config(options["config"])).to_dict()
        except InvalidInputError as error:
            raise UserError(f"--config {options['config']}: {error}") from error

    def is_given(name: str) -> bool:
        return ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE

    for field in fields(Recipe):
        if options.get(field.name) != () and is_given(field.name):
            values[field.name] = options[field.name]
    if options["no_index"]:
        values["index"] = False
    if not values.get("files"):
        raise WrongUse(
            "FILE is missing; give a table, or a --config file with a table "
            "(dempster example flowers.csv writes an example table)"
        )
    if options["dissimilarities"]:
        values["kind"] = "dissimilarities"
    constrained |= bool(values.get("constraints") or values.get("labels"))
    default = default_method(constrained=constrained)
    if options.get("graph"):
        default = "eknnclus"
    method = values.setdefault("method", default)
    previous = {} if is_given("method") else values.get("parameters", {})
    parameters = previous | parse_parameters(options, method)
    if method == "bootclus" and "confidence" in values:
        parameters["confidence"] = values.pop("confidence")
    values["parameters"] = parameters
    return Recipe.from_dict(values)
