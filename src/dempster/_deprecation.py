"""Former names of parameters and functions, which give a warning until they are removed (docs/versions.md)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import Any


def rename_parameter(old: str, new: str, *, removed_in: str) -> Callable[[Callable], Callable]:
    """Decorate a function or ``__init__`` so that it still accepts the former name of a parameter."""

    def decorate(function: Callable) -> Callable:
        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            if old not in kwargs:
                return function(*args, **kwargs)
            _warn(f"the parameter {old!r}", new, removed_in)
            return function(*args, **{new: kwargs.pop(old)}, **kwargs)

        return call

    return decorate


def rename_function(old: str, function: Callable, *, removed_in: str) -> Callable:
    """Return a function with its former name."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        _warn(repr(old), function.__name__, removed_in)
        return function(*args, **kwargs)

    return call


def _warn(old: str, new: str, removed_in: str) -> None:
    warnings.warn(
        f"{old} is now {new!r}; the former name will be removed in {removed_in}",
        FutureWarning,
        stacklevel=3,
    )
