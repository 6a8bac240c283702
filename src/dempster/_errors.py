"""Exceptions that dempster raises.

All errors that are caused by user input derive from `InvalidInputError`; other errors indicate a
bug. If a single argument is invalid, an `InvalidParameterError` is raised. Its attributes contain
the name and the value of the argument and a description of the permitted values, so that callers
need not parse the message.
"""

from __future__ import annotations

import copyreg
from typing import Any

_NOT_GIVEN: Any = object()
MAX_VALUE_CHARACTERS = 80


def _reduce_error(error: Any) -> Any:
    """Return how to copy or unpickle an error without calling its constructor."""
    create = copyreg.__newobj__  # type: ignore[attr-defined]
    return create, (type(error), *error.args), vars(error)


class InvalidInputError(ValueError, TypeError):
    """Error for invalid input, which is both a ValueError and a TypeError as in scikit-learn."""


class InvalidParameterError(InvalidInputError):
    """Error for an invalid value of an argument or a parameter.

    Parameters
    ----------
    name : str
        Name of the argument.
    expected : str, optional
        Description of the permitted values, which completes the sentence "<name> must be ...".
    value : object, optional
        Value that the user passed.
    must : str, optional
        Requirement, which completes the sentence "<name> must ...", e.g. "contain at least one
        name".
    message : str, optional
        Complete message, used instead of "<name> must be <expected>, got <value>".
    """

    def __init__(
        self,
        name: str,
        expected: str | None = None,
        value: Any = _NOT_GIVEN,
        *,
        must: str | None = None,
        message: str | None = None,
    ):
        self.name = name
        self.expected = expected
        self.value = None if value is _NOT_GIVEN else value
        if message is None:
            message = f"{name} must {must or f'be {expected}'}"
            if value is not _NOT_GIVEN:
                message += f", got {format_value(value)}"
        super().__init__(message)

    __reduce__ = _reduce_error


class MissingExtraError(ImportError):
    """Error for a missing package that one of the extras of dempster installs."""

    def __init__(self, what: str, package: str, extra: str):
        self.package = package
        self.extra = extra
        super().__init__(
            f"{what} needs {package}: pip install 'dempster[{extra}]'", name=package
        )

    __reduce__ = _reduce_error


def format_value(value: Any) -> str:
    """Return the representation of a value, shortened to 80 characters for an error message."""
    text = " ".join(repr(value).split())
    if len(text) <= MAX_VALUE_CHARACTERS:
        return text
    return f"{text[: MAX_VALUE_CHARACTERS - 3]}..."
