"""Report every failure in one line on stderr, with an exit code that says whose fault it is.

0: done; 1: the data or the files are at fault; 2: the command was used in a wrong way; 70: a defect of dempster; 130:
interrupted; 143, 129: terminated by another program, or with its terminal. The type of an exception decides: input
errors of the library are 1, or 2 if they name an option that was given. The traceback is shown only when the
environment variable DEMPSTER_DEBUG is set.
"""

from __future__ import annotations

import difflib
import errno
import os
import shlex
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, NoReturn

import click
from click.core import ParameterSource

from dempster._errors import InvalidInputError, MissingExtraError
from dempster._text import printable

DEBUG_VARIABLE = "DEMPSTER_DEBUG"
EXIT_DATA, EXIT_USE, EXIT_INTERNAL, EXIT_INTERRUPTED = 1, 2, 70, 130
EXIT_SIGNAL = 128  # plus the number of the signal
MAX_LINE_CHARACTERS = 2000

# arguments of the library that the program has under other names
_ALIASES = {"n_clusters": "clusters", "index_col": "index", "random_state": "seed", "kind": "dissimilarities"}


class UserError(Exception):
    """An error in the data or the files; the message is the line that is shown."""

    code = EXIT_DATA


class WrongUse(UserError):
    """A command line that cannot be followed."""

    code = EXIT_USE


class Interrupted(Exception):
    """Ctrl-C, as a class that click does not handle in its own way."""


class Terminated(SystemExit):
    """Termination by another program or with the terminal; temporary files are removed first."""


def install_signal_handlers() -> None:
    """Exit in an orderly way on SIGTERM and SIGHUP; signals that are ignored stay ignored."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _terminate)


def _terminate(number: int, _: Any) -> NoReturn:
    raise Terminated(EXIT_SIGNAL + number)


class Program(click.Group):
    """A group of commands, each imported when it is called, whose failures are one line each.

    Parameters
    ----------
    lazy : dict
        A line about each command, which is the function of the same name in the module of the same name.
    """

    def __init__(self, *args: Any, lazy: dict[str, str] | None = None, **options: Any):
        super().__init__(*args, **options)
        self.lazy = lazy or {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.lazy)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.lazy:
            return None
        return getattr(import_module(f"dempster.apps.cli.{cmd_name}"), cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands in the order in which they are needed, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lazy.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = difflib.get_close_matches(args[0], self.lazy, 1)
            if not near:
                raise
            raise click.UsageError(f"no such command '{args[0]}': did you mean {near[0]}?", ctx) from error

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted from error

    def main(self, args: Any = None, prog_name: str | None = None, **extra: Any) -> NoReturn:  # type: ignore[override]
        """Run and exit."""
        extra["standalone_mode"] = False  # click would show errors in its own way
        try:
            code = super().main(args, prog_name, **extra)
            sys.stdout.flush()
        except BrokenPipeError:
            # the reader of the output has seen enough, as in `dempster ... | head`
            code = EXIT_DATA
        except (Exception, KeyboardInterrupt, Terminated) as error:
            code, line = describe_exception(error)
            with suppress(OSError):  # the terminal may be gone, the disk full
                if os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0"):
                    traceback.print_exc()
                click.echo(f"dempster: {printable(line)}", err=True)
        _discard_output()
        sys.exit(code if isinstance(code, int) else 0)


class Command(click.Command):
    """A command that shows warnings in a line each, and input errors in terms of its options."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with readable_warnings():
                return super().invoke(ctx)
        except InvalidInputError as error:
            raise translate_error(error, ctx, self.get_params(ctx)) from error
        except MissingExtraError as error:
            raise UserError(str(error)) from error


def translate_error(error: InvalidInputError, ctx: click.Context, parameters: list[click.Parameter]) -> UserError:
    """Return an error of the library as one about the options of a command.

    It is wrong use if the error names an option that was given, or FILE; otherwise the data are at fault. Messages
    begin with the name of the argument, and hold settings as Python writes them (``missing='drop'``): both are shown
    as they are typed.
    """
    known = {
        (one.name or "").removeprefix("set_"): one
        for one in parameters
        if isinstance(one, click.Option) or one.name == "files"
    }
    known |= {alias: known[name] for alias, name in _ALIASES.items() if name in known}
    text, name = str(error), getattr(error, "name", "")
    at_fault = known.get(name)
    is_wrong_use = at_fault is not None and _is_given(at_fault, name, ctx)
    if at_fault is not None:
        rest = text.removeprefix(name)
        if rest != text and rest[:1] in (" ", ":", "="):
            text = _option(at_fault) + rest.replace("=", " ", 1 if rest[0] == "=" else 0)
        elif is_wrong_use:
            text = f"{_option(at_fault)}: {text}"
    for setting, values in getattr(error, "settings", {}).items():
        for value in values if isinstance(values, tuple) else (values,):
            if setting in known:
                text = text.replace(f"{setting}={value!r}", _type_setting(known[setting], value))
    return (WrongUse if is_wrong_use else UserError)(text)


def _is_given(parameter: click.Parameter, name: str, ctx: click.Context) -> bool:
    """Whether a parameter is on the command line, as an option or by -p."""
    by_name = [one.partition("=")[0].strip().replace("-", "_") for one in ctx.params.get("settings", ())]
    return name in by_name or ctx.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE


def _option(parameter: click.Parameter) -> str:
    if not isinstance(parameter, click.Option):
        return "FILE"
    return "-c" if parameter.name == "clusters" else next(one for one in parameter.opts if one.startswith("--"))


def _type_setting(parameter: click.Parameter, value: Any) -> str:
    """A setting as it is typed: ``--missing drop``, ``--no-header``."""
    if isinstance(parameter, click.Option) and parameter.secondary_opts:
        return (parameter.opts if value else parameter.secondary_opts)[0]
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"{_option(parameter)} {shlex.quote(text.lower() if isinstance(value, bool) else text)}"


def _discard_output() -> None:
    """Keep Python from writing again, at its end, to an output that is closed or full."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def describe_exception(error: BaseException) -> tuple[int, str]:
    """Return the exit code and the line for an exception."""
    match error:
        case Interrupted() | click.Abort() | KeyboardInterrupt():
            return EXIT_INTERRUPTED, "interrupted"
        case Terminated():
            return int(error.code or 0), "terminated"
        case click.ClickException():
            code, text = EXIT_USE, error.format_message().rstrip(".")
            text = text[:1].lower() + text[1:]
            context = getattr(error, "ctx", None)
            if context is not None:
                text += f" (see '{context.command_path} --help')"
        case UserError():
            code, text = error.code, str(error)
        case InvalidInputError() | MissingExtraError():
            code, text = EXIT_DATA, str(error)
        case MemoryError():
            code, text = EXIT_DATA, str(error) or "not enough memory"
        case OSError():
            code, text = EXIT_DATA, _describe_system_error(error)
        case _:
            text = f"internal error, {type(error).__name__}: {error} (set {DEBUG_VARIABLE}=1 to see where)"
            code = EXIT_INTERNAL
    line = " ".join(text.split())
    return code, line if len(line) <= MAX_LINE_CHARACTERS else f"{line[:MAX_LINE_CHARACTERS]} ..."


def _describe_system_error(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    if isinstance(error.filename, str | os.PathLike):
        return f"{os.fspath(error.filename)}: {reason}"
    if error.errno == errno.ENOENT:
        return "the folder in which this was started is not there any more"
    return f"the output cannot be written: {reason}" if error.errno in (errno.ENOSPC, errno.EFBIG) else reason


@contextmanager
def readable_warnings() -> Iterator[None]:
    """Show warnings of the library as one line each, and each only once."""
    seen: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        line = " ".join(str(message).split())
        if line not in seen:
            seen.add(line)
            click.echo(f"dempster: warning: {printable(line)}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks for programmers
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
