"""Every failure of the program is one line on stderr and a non-zero exit.

2: something the user can put right (a file, an option, the data); 130: interrupted; 1: a fault of ours. The traceback
is shown only when the environment variable EVIDENTIA_DEBUG is set.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from evidentia._tables import printable

__all__ = ["Program", "UserError", "DEBUG_VARIABLE", "user_errors", "readable_warnings"]

DEBUG_VARIABLE = "EVIDENTIA_DEBUG"
USER, INTERRUPTED, INTERNAL = 2, 130, 1


class UserError(Exception):
    """Something the user can put right; the message is the line that is shown."""


class Interrupted(Exception):
    """Ctrl-C, under a name that click does not handle in its own way."""


class Program(click.Group):
    """A group of commands whose failures are one line each."""

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
        except Exception as error:
            code, line = in_one_line(error)
            if os.environ.get(DEBUG_VARIABLE, "0") not in ("", "0"):
                traceback.print_exc()
            click.echo(f"evidentia: {printable(line)}", err=True)
        sys.exit(code if isinstance(code, int) else 0)


def in_one_line(error: Exception) -> tuple[int, str]:
    """Exit code and words for an exception."""
    if isinstance(error, Interrupted | click.Abort):
        return INTERRUPTED, "interrupted"
    if isinstance(error, click.ClickException):
        code, words = USER, error.format_message().rstrip(".")
        words = words[:1].lower() + words[1:]
        context = getattr(error, "ctx", None)
        if context is not None:
            words += f" (see '{context.command_path} --help')"
    elif isinstance(error, UserError):
        code, words = USER, str(error)
    elif isinstance(error, MemoryError):
        code, words = USER, "not enough memory"
    elif isinstance(error, OSError):
        code, words = USER, _words_of_system_error(error)
    else:
        words = f"internal error, {type(error).__name__}: {error} (set {DEBUG_VARIABLE}=1 to see where)"
        code = INTERNAL
    return code, " ".join(words.split())


def _words_of_system_error(error: OSError) -> str:
    reason = error.strerror or str(error) or type(error).__name__
    return f"{os.fspath(error.filename)}: {reason}" if isinstance(error.filename, str | os.PathLike) else reason


@contextmanager
def user_errors() -> Iterator[None]:
    """Where the library checks what the user gave: its words go to the user as they are."""
    try:
        yield
    except (ValueError, ImportError) as error:
        raise UserError(str(error)) from error


@contextmanager
def readable_warnings() -> Iterator[None]:
    """Warnings of the library as one line each, and each only once."""
    seen: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        line = " ".join(str(message).split())
        if line not in seen:
            seen.add(line)
            click.echo(f"evidentia: warning: {printable(line)}", err=True)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # remarks for programmers
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
