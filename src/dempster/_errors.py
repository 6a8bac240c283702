"""Exceptions that dempster raises.

Every error about user input derives from `InvalidInputError`, which distinguishes it from a bug. If a single argument
is wrong, `InvalidParameterError` has its name, value and expected value as attributes, so that callers need not parse
the message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NOT_GIVEN: Any = object()
MAX_VALUE_CHARACTERS = 80


class InvalidInputError(ValueError, TypeError):
    """Invalid input. It is a ValueError and a TypeError, like scikit-learn's ``InvalidParameterError``."""


class InvalidParameterError(InvalidInputError):
    """Invalid value of an argument or a parameter.

    Parameters
    ----------
    name : str
        Name of the argument.
    expected : str, optional
        Permitted values, completing the sentence "<name> must be ...".
    value : object, optional
        Value that was passed.
    must : str, optional
        Requirement, completing the sentence "<name> must ...", e.g. "contain at least one name".
    message : str, optional
        Complete message, if "<name> must be <expected>, got <value>" is not sufficient.
    settings : mapping, optional
        Parameters that would solve the problem, with the value to set or a tuple of alternatives. Messages show them
        as Python code, ``missing='drop'``; the program shows them as options.
    """

    def __init__(
        self,
        name: str,
        expected: str | None = None,
        value: Any = _NOT_GIVEN,
        *,
        must: str | None = None,
        message: str | None = None,
        settings: Mapping[str, Any] | None = None,
    ):
        self.name, self.expected, self.settings = name, expected, dict(settings or {})
        self.value = None if value is _NOT_GIVEN else value
        if message is None:
            message = f"{name} must {must or f'be {expected}'}"
            if value is not _NOT_GIVEN:
                message += f", got {format_value(value)}"
        super().__init__(message)

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.args, vars(self))


class MissingExtraError(ImportError):
    """A required package is missing that an extra of dempster installs.

    Parameters
    ----------
    what : str
        Feature that needs the package.
    package : str
    extra : str
    """

    def __init__(self, what: str, package: str, extra: str):
        self.package, self.extra = package, extra
        super().__init__(f"{what} needs {package}: pip install 'dempster[{extra}]'", name=package)

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.args, vars(self))


def format_value(value: Any) -> str:
    """Return the representation of a value, shortened for a message."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # repr() may raise anything.
        text = f"an object of the type {type(value).__name__}"
    return text if len(text) <= MAX_VALUE_CHARACTERS else f"{text[: MAX_VALUE_CHARACTERS - 3]}..."


def _rebuild(cls: type[Exception], args: tuple[Any, ...], attributes: dict[str, Any]) -> Exception:
    error = cls.__new__(cls)
    error.args = args
    vars(error).update(attributes)
    return error
