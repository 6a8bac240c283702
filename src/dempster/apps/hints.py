"""Rewrite messages of the library for people who do not see the arguments of its functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

# Return how a user sets an argument to a value, or names it if the value is None. The result is
# None if the user cannot set it.
Render = Callable[[str, Any], str | None]

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_VALUE = rf"\[(?:{_QUOTED}|, )*\]|{_QUOTED}|[\w.+-]*\w"
# a quoted name, which is not changed, an argument and its value, or an argument with an underscore
_ARGUMENT = re.compile(
    rf"{_QUOTED}|\b(?P<name>[a-z_]+)=(?P<value>{_VALUE})|\b(?P<bare>[a-z]+(?:_[a-z]+)+)\b"
)
_PARENTHESES = re.compile(rf" \((?:{_QUOTED}|[^()'\"])*\)")
# Not everybody can follow the advice of a convergence warning, so it is put in parentheses.
_ADVICE = re.compile(r"max_iter=(\d+) iterations; .*")


def rewrite_message(text: str, render: Render) -> str:
    """Replace the arguments in a message of the library.

    Parameters
    ----------
    text : str
        Message, such as "left out 2 rows (missing='drop')".
    render : function
        Function of the name and the value of an argument, which returns the replacement. If it
        returns None, parentheses with this argument and its value are removed.

    Returns
    -------
    str
    """

    def replace(match: re.Match[str]) -> str:
        name = match["name"] or match["bare"]
        words = None
        if name:
            words = render(name, _parse(match["value"]))
        return words or match[0]

    def remove_useless(match: re.Match[str]) -> str:
        for one in _ARGUMENT.finditer(match[0]):
            if one["name"] and render(one["name"], _parse(one["value"])) is None:
                return ""
        return match[0]

    text = _ADVICE.sub(r"\1 iterations (increase max_iter=\1)", text)
    return _ARGUMENT.sub(replace, _PARENTHESES.sub(remove_useless, text))


def _parse(value: str | None) -> Any:
    if value is None:
        return None
    try:
        return ast.literal_eval(value)
    except (SyntaxError, ValueError):
        return value
