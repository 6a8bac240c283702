"""Every failure of the program is one line on stderr and an exit code that says whose it is.

0: done; 1: the data or the files are at fault; 2: the command was used in a wrong way; 70: a fault of ours; 130:
interrupted; 143, 129: terminated by another program, or with its terminal. The traceback is shown only when the
environment variable DEMPSTER_DEBUG is set.
"""

from __future__ import annotations

import errno
import os
import re
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

from dempster._validation import printable

__all__ = [
    "DEBUG_VARIABLE",
    "Program",
    "UserError",
    "WrongUse",
    "heed_signals",
    "in_options",
    "readable_warnings",
    "user_errors",
]

DEBUG_VARIABLE = "DEMPSTER_DEBUG"
DATA, USE, INTERNAL, INTERRUPTED = 1, 2, 70, 130
_TERMINATED = 128  # and the number of the signal
_SIGNALS = ("SIGTERM", "SIGHUP")
_LONGEST = 2000  # characters of a line of failure


class UserError(Exception):
    """Something in the data or the files that the user can put right; the message is the line that is shown."""

    code = DATA


class WrongUse(UserError):
    """A command that cannot be meant so."""

    code = USE


class Interrupted(Exception):
    """Ctrl-C, under a name that click does not handle in its own way."""


class Terminated(SystemExit):
    """Another program ends this one, or its terminal is gone: files that are half-written are removed first."""


def heed_signals() -> None:
    """End in an orderly way when asked to by another program; signals that are ignored stay so."""
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _terminate)


def _terminate(number: int, _: Any) -> NoReturn:
    raise Terminated(_TERMINATED + number)


class Program(click.Group):
    """A group of commands, each imported when it is called, whose failures are one line each.

    Parameters
    ----------
    commands : dict
        What each command does, in a line; it is the function of the same name in the module of the same name.
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
        """The commands in the order in which one needs them, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl(list(self.lazy.items()))

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        import difflib

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
            # whoever read the output has seen enough, as in `dempster ... | head`
            code = DATA
        except (Exception, KeyboardInterrupt, Terminated) as error:
            code, line = in_one_line(error)
            with suppress(OSError):  # nobody can be told on a terminal that is gone or a disk that is full
                if os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0"):
                    traceback.print_exc()
                click.echo(f"dempster: {printable(line)}", err=True)
        _leave_output()
        sys.exit(code if isinstance(code, int) else 0)


def _leave_output() -> None:
    """What could not be written to an output that is closed or full is not tried again when Python ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def in_one_line(error: BaseException) -> tuple[int, str]:
    """Exit code and words for an exception."""
    if isinstance(error, Interrupted | click.Abort | KeyboardInterrupt):
        return INTERRUPTED, "interrupted"
    if isinstance(error, Terminated):
        return int(error.code or 0), "terminated"
    if isinstance(error, click.ClickException):
        code, words = USE, error.format_message().rstrip(".")
        words = words[:1].lower() + words[1:]
        context = getattr(error, "ctx", None)
        if context is not None:
            words += f" (see '{context.command_path} --help')"
    elif isinstance(error, UserError):
        code, words = error.code, str(error)
    elif isinstance(error, MemoryError):
        code, words = DATA, str(error) or "not enough memory"
    elif isinstance(error, OSError):
        code, words = DATA, _words_of_system_error(error)
    elif isinstance(error, ImportError) and _is_raised_by_us(error):
        code, words = DATA, str(error)
    else:
        words = f"internal error, {type(error).__name__}: {error} (set {DEBUG_VARIABLE}=1 to see where)"
        code = INTERNAL
    line = " ".join(words.split())
    return code, line if len(line) <= _LONGEST else f"{line[:_LONGEST]} ..."


def _words_of_system_error(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    if isinstance(error.filename, str | os.PathLike):
        return f"{os.fspath(error.filename)}: {reason}"
    if error.errno == errno.ENOENT:
        return "the folder in which this was started is not there any more"
    return f"the output cannot be written: {reason}" if error.errno in (errno.ENOSPC, errno.EFBIG) else reason


# ---- the words of the library as those of the shell -----------------------------------------------------------------

_OPTIONS = {"clusters": "-c", "n_clusters": "-c", "index_col": "--index", "random_state": "--seed", "files": "FILE"}
_OPTIONS |= {"kind": "--dissimilarities", "index": "--index", "header": "--header"}
_NAMES = "columns|exclude|categories|missing|method|clusters|index_col|delimiter|decimal|metric|kind|truth|labels|seed"
_NAMES += "|constraints|n_clusters|target"
_SETTING = re.compile(rf"\b({_NAMES})=(?:\[?'([^']*)'\]?|(\w+))")
_FLAG = re.compile(r"\b(header|scale|symmetrize)=(True|False)\b")
_SUBJECT = re.compile(r"^(\w+)(?= must (?:be|hold|have)\b|: |=\S+ is more than )")


def _option(name: str) -> str:
    return _OPTIONS.get(name, f"--{name.replace('_', '-')}")


def _is_option(name: str) -> bool:
    return name in _OPTIONS or re.fullmatch(_NAMES, name) is not None


def in_options(text: str, subjects: tuple[str, ...] = ()) -> str:
    """Advice such as ``missing='drop'`` as it is typed in a shell, ``--missing drop``."""

    def setting(found: re.Match[str]) -> str:
        value = found[2] if found[2] is not None else found[3]
        return f"{_option(found[1])} {shlex.quote(value)}"

    def flag(found: re.Match[str]) -> str:
        if found[1] == "symmetrize":
            return f"--symmetrize {found[2].lower()}"
        return f"--{'' if found[2] == 'True' else 'no-'}{found[1]}"

    text = _FLAG.sub(flag, _SETTING.sub(setting, text))
    subject = _SUBJECT.match(text)
    if subject and (subject[1] in subjects or _is_option(subject[1])):
        text = _option(subject[1]) + text[subject.end() :]
    return text


@contextmanager
def user_errors(*, wrong_use: bool = False, parameters: tuple[str, ...] = ()) -> Iterator[None]:
    """Where the library checks what the user gave: its words go to the user, with the names of options.

    Parameters
    ----------
    wrong_use : bool
        Whether all that is checked here was said on the command line.
    parameters : tuple of str
        Names of parameters that were: what is said of one of them is wrong use too.
    """
    try:
        yield
    except (ValueError, TypeError, ImportError) as error:
        if not isinstance(error, ImportError) and not _is_said_to_users(error):
            raise
        subject = _SUBJECT.match(str(error))
        mine = wrong_use or (subject is not None and (subject[1] in parameters or _is_option(subject[1])))
        raise (WrongUse if mine else UserError)(in_options(str(error), parameters)) from error


def _is_said_to_users(error: Exception) -> bool:
    """A ValueError is; a TypeError only where our own checks raise it, not the interpreter."""
    return isinstance(error, ValueError) or _is_raised_by_us(error)


def _is_raised_by_us(error: Exception) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and "raise " in (frames[-1].line or "")


@contextmanager
def readable_warnings() -> Iterator[None]:
    """Warnings of the library as one line each, and each only once."""
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
