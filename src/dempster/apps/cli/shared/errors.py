"""Print every error as one line on stderr and exit with a code for its cause.

Exit codes are 0 for success, 1 for invalid data or files, 2 for a wrong command line, 70 for a
defect of dempster, 130 for an interrupt, 143 for termination by another program, and 129 for a
closed terminal. The type of the exception determines the code. An input error raised by the library
gives code 1, or code 2 if it concerns an option on the command line. The traceback is printed only
if the environment variable DEMPSTER_DEBUG is set.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

import click
from click.core import ParameterSource

from dempster._errors import InvalidInputError, MissingExtraError
from dempster._text import printable
from dempster.apps.hints import rewrite_message
from dempster.apps.methods import methods_with

DEBUG_VARIABLE = "DEMPSTER_DEBUG"
EXIT_DATA = 1
EXIT_USE = 2
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130
EXIT_SIGNAL = 128  # The number of the signal is added.
MAX_LINE_CHARACTERS = 2000

# Arguments of the library that have different names on the command line.
_ALIASES = {
    "n_clusters": "clusters",
    "index_col": "index",
    "random_state": "seed",
    "kind": "dissimilarities",
}


class UserError(Exception):
    """Raised for invalid data or files; the message is printed without changes."""

    code = EXIT_DATA


class WrongUse(UserError):
    """Raised for an invalid command line."""

    code = EXIT_USE


class Terminated(SystemExit):
    """Raised for a termination signal, so that temporary files are removed at the end."""


def install_signal_handlers() -> None:
    """Raise `Terminated` on SIGTERM and SIGHUP, unless the signal was ignored at the start."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _terminate)


def _terminate(number: int, _: Any) -> NoReturn:
    raise Terminated(EXIT_SIGNAL + number)


class Program(click.Group):
    """Group of commands.

    Each is a function in the module of the same name, which is imported when it is called.
    """

    def __init__(self, *args: Any, lazy: dict[str, str], **options: Any):
        super().__init__(*args, **options)
        self.lazy = lazy  # descriptions of the commands by name

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.lazy:
            return None
        command = getattr(import_module(f"dempster.apps.cli.{cmd_name}"), cmd_name)
        command.short_help = self.lazy[cmd_name]
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0]
        if name not in self.lazy:
            for similar in get_close_matches(name, self.lazy, 1):
                ctx.fail(f"no such command '{name}'; did you mean {similar}?")
        return super().resolve_command(ctx, args)

    def format_commands(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        """Write the list of commands without importing their modules."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lazy.items()))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise click.Abort from error  # For KeyboardInterrupt, click would print an empty line.

    def main(  # type: ignore[override]
        self, args: Any = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run a command and exit with its exit code."""
        extra["standalone_mode"] = False  # click must not print errors.
        try:
            code = super().main(args, prog_name, **extra)
            sys.stdout.flush()
        except BrokenPipeError:
            code = EXIT_DATA  # The reading program closed the pipe (`dempster ... | head`).
        except (Exception, KeyboardInterrupt, Terminated) as error:
            code, line = describe_exception(error)
            # The terminal may be closed, or the disk may be full.
            with suppress(OSError):
                if os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0"):
                    traceback.print_exc()
                click.echo(f"dempster: {printable(line)}", err=True)
                if "--json" in (sys.argv[1:] if args is None else args):
                    click.echo(json.dumps({"error": line, "exit_code": code}))
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            # Otherwise Python would fail when it flushes the stream at exit.
            except OSError:
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.exit(code if isinstance(code, int) else 0)


class Command(click.Command):
    """Command that prints warnings as one line, and rewrites input errors for its options."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **options: Any):
        super().__init__(*args, **options)
        self.examples = examples  # command lines for the help

    def format_help_text(
        self, ctx: click.Context, formatter: click.HelpFormatter
    ) -> None:
        super().format_help_text(ctx, formatter)
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}{line}\n")

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with print_warnings(ctx):
                return super().invoke(ctx)
        except InvalidInputError as error:
            raise translate_error(error, ctx) from error


def translate_error(error: InvalidInputError, ctx: click.Context) -> UserError:
    """Rewrite an input error of the library in terms of the options of a command.

    The result is `WrongUse` if ``error.name`` is FILE or an option on the command line, otherwise
    `UserError`. In the message, the names and values of arguments are replaced by options
    (``missing='drop'`` becomes ``--missing drop``).
    """
    options = _options_by_argument(ctx)
    text = str(error)
    name = getattr(error, "name", "")
    at_fault = options.get(name)
    is_wrong_use = False
    if at_fault is not None:
        source = ctx.get_parameter_source(at_fault.name or "")
        is_wrong_use = source is ParameterSource.COMMANDLINE
        rest = text.removeprefix(name)
        if rest != text and rest[:1] in (" ", ":", "="):
            text = _option_name(at_fault) + rest.replace(
                "=", " ", 1 if rest[0] == "=" else 0
            )
        elif is_wrong_use:
            text = f"{_option_name(at_fault)}: {text}"
    return (WrongUse if is_wrong_use else UserError)(name_options(text, ctx))


def name_options(text: str, ctx: click.Context) -> str:
    """Replace the arguments in a message of the library by the options of a command."""
    options = _options_by_argument(ctx)

    def render(name: str, value: Any) -> str | None:
        option = options.get(name)
        if option is None and "method" in options and methods_with(name):
            option = click.Option([f"--{name.replace('_', '-')}"])  # of other methods
        if not isinstance(option, click.Option):
            return None
        if value is None:
            return _option_name(option)
        return _type_setting(option, value)

    return rewrite_message(text, render)


def _options_by_argument(ctx: click.Context) -> dict[str, click.Parameter]:
    """Return the options of a command, and FILE, by the names of arguments of the library."""
    options: dict[str, click.Parameter] = {}
    for parameter in ctx.command.get_params(ctx):
        if isinstance(parameter, click.Option) or parameter.name == "files":
            options[(parameter.name or "").removeprefix("set_")] = parameter
    aliases = {
        alias: options[name] for alias, name in _ALIASES.items() if name in options
    }
    return options | aliases


def _option_name(parameter: click.Parameter) -> str:
    if not isinstance(parameter, click.Option):
        return "FILE"
    if parameter.name == "clusters":
        return "-c"
    return next(name for name in parameter.opts if name.startswith("--"))


def _type_setting(parameter: click.Option, value: Any) -> str:
    """Return a setting as on the command line, such as ``--missing drop`` or ``--no-header``."""
    if parameter.secondary_opts:
        return (parameter.opts if value else parameter.secondary_opts)[0]
    from dempster.apps.recipe.export import quote_name

    text = str(value)
    if isinstance(value, bool):
        text = text.lower()
    elif isinstance(value, list):
        text = ",".join(map(quote_name, value))
    return f"{_option_name(parameter)} {shlex.quote(text)}"


def describe_exception(error: BaseException) -> tuple[int, str]:
    """Return the exit code and the message for an exception."""
    code = EXIT_DATA
    match error:
        case click.Abort() | KeyboardInterrupt():
            return EXIT_INTERRUPTED, "interrupted"
        case Terminated():
            return int(error.code or 0), "terminated"
        case click.ClickException():
            code = EXIT_USE
            text = error.format_message().rstrip(".")
            text = text[:1].lower() + text[1:]
            context = getattr(error, "ctx", None)
            if context is not None:
                text += f" (see '{context.command_path} --help')"
        case UserError():
            code = error.code
            text = str(error)
        case InvalidInputError() | MissingExtraError():
            text = str(error)
        case MemoryError():
            text = str(error) or "not enough memory"
        case OSError():
            text = error.strerror or str(error) or type(error).__name__
            if isinstance(error.filename, str | os.PathLike):
                text = f"{os.fspath(error.filename)}: {text}"
        case _:
            code = EXIT_INTERNAL
            advice = f"set {DEBUG_VARIABLE}=1 for the traceback"
            text = f"internal error, {type(error).__name__}: {error} ({advice})"
    line = " ".join(text.split())
    if len(line) > MAX_LINE_CHARACTERS:
        line = f"{line[:MAX_LINE_CHARACTERS]} ..."
    return code, line


@contextmanager
def print_warnings(ctx: click.Context) -> Iterator[None]:
    """Print each distinct warning of the library once, as one line."""
    seen: set[str] = set()

    def show(
        message: Warning | str, category: type[Warning], *where: Any, **more: Any
    ) -> None:
        line = name_options(" ".join(str(message).split()), ctx)
        if line not in seen:
            seen.add(line)
            click.echo(f"dempster: warning: {printable(line)}", err=True)

    with warnings.catch_warnings():
        # Other categories, such as DeprecationWarning, are for programmers.
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
