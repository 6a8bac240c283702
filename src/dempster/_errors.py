"""Exceptions that dempster raises on purpose.

Every error about what a user gave derives from `InvalidInputError`, so a program can tell it from a defect. Where one
argument is at fault, `InvalidParameterError` names it: nothing has to read the text of a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NOT_GIVEN: Any = object()
MAX_VALUE_CHARACTERS = 80


class InvalidInputError(ValueError, TypeError):
    """Input that cannot be used. It is a ValueError and a TypeError, as scikit-learn's own is."""


class InvalidParameterError(InvalidInputError):
    """An argument or a parameter that does not have a permitted value.

    Parameters
    ----------
    name : str
        The argument.
    expected : str, optional
        What it must be, to stand after "must be".
    value : object, optional
        What it was.
    must : str, optional
        The same where "be" is not the verb, to stand after "must": "hold at least one name".
    message : str, optional
        The whole message, where "<name> must be <expected>, got <value>" does not say enough.
    settings : mapping, optional
        Parameters that would settle the matter, with the value to set or a tuple of alternatives. The message holds
        them as Python code, ``missing='drop'``; the program shows them as options.
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
                message += f", got {shorten(value)}"
        super().__init__(message)

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.args, vars(self))


class MissingExtraError(ImportError):
    """A package is needed that an extra of dempster installs.

    Parameters
    ----------
    what : str
        What needs it.
    package : str
    extra : str
    """

    def __init__(self, what: str, package: str, extra: str):
        self.package, self.extra = package, extra
        super().__init__(f"{what} needs {package}: pip install 'dempster[{extra}]'", name=package)

    def __reduce__(self) -> Any:
        return _rebuild, (type(self), self.args, vars(self))


def shorten(value: Any) -> str:
    """Return a representation of a value that fits into a message."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # an error message must not fail because an object cannot represent itself
        text = f"an object of the type {type(value).__name__}"
    return text if len(text) <= MAX_VALUE_CHARACTERS else f"{text[: MAX_VALUE_CHARACTERS - 3]}..."


def _rebuild(cls: type[Exception], args: tuple[Any, ...], attributes: dict[str, Any]) -> Exception:
    error = cls.__new__(cls)
    error.args = args
    vars(error).update(attributes)
    return error
