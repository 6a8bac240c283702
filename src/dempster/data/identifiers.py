"""Recognize columns that are no measurements, such as zip codes, and dissimilarities as rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from dempster._arrays import is_tensor
from dempster._fitting import warn_user
from dempster._types import TableLike
from dempster._validation import column_names

# last words of the names of columns that identify rows or contain codes
_WORDS = {
    *("id", "ids", "uuid", "guid", "key", "index", "row", "rowname", "rownames"),
    *("nr", "no", "number", "code", "zip", "zipcode", "postcode", "plz"),
}
_YEARS = 1000, 2999
# largest share of the rows that repeat the value of another row, and of the integers of the range
# that are absent; about 37 % are repeated and absent if n integers are drawn from a range of n
_MAX_SHARE = 0.1
# n integers that are drawn from a range of n are all different with a probability of n! / n^n,
# which is below one in a million from this number on
_MIN_ROWS = 17
# If this number of repeated values is expected, the probability of none is below one in a thousand.
_MIN_REPEATED = 7
_ROUNDING = 1e-6  # relative difference of a dissimilarity from its transpose


@dataclass(frozen=True)
class Identifier:
    """Evidence that a column identifies the rows or contains codes."""

    reason: str
    is_strong: bool  # whether the column should be left out of a clustering


def find_identifier(
    name: object, values: np.ndarray, *, is_first: bool = False
) -> Identifier | None:
    """Return the evidence that a column of a table is no measurement, or None.

    There is strong evidence for integers that number the rows, for integers that are nearly all
    different if the name of the column denotes an identifier or a code, and for nearly every
    integer of a range that occurs once. Weak evidence are such a name, the name "year", and
    integers that are all different although measured ones would be repeated.

    Parameters
    ----------
    name : object
        Name of the column.
    values : array of shape (n,)
        Cells of the column; missing values are NaN.
    is_first : bool, default=False
        Whether this is the first column of the table.
    """
    if values.dtype.kind not in "iuf":
        return None
    values = values[np.isfinite(values)]
    n = len(values)
    if n < 2 or not (values == np.floor(values)).all():
        return None
    low = values.min().item()
    high = values.max().item()
    n_range = high - low + 1
    word = _last_word(name)
    is_named = word in _WORDS
    if word == "year" and _YEARS[0] <= low < high <= _YEARS[1]:
        weak = Identifier("years by its name", is_strong=False)
    elif is_named and n_range > 2:
        weak = Identifier("a code by its name", is_strong=False)
    else:
        weak = None
    n_different = len(np.unique(values))
    if n_different < (1 - _MAX_SHARE) * n:
        return weak
    is_unique = n_different == n
    if is_unique and n > 3 and (is_first or is_named) and (np.diff(values) == 1).all():
        return Identifier("it numbers the rows and may be the index", is_strong=True)
    if is_named and is_unique:
        return Identifier("it identifies the rows and may be the index", is_strong=True)
    if is_named:
        share = f"{n_different / n:.0%} of its values are different"
        return Identifier(f"an identifier or a code: {share}", is_strong=True)
    if n >= _MIN_ROWS and n_different >= (1 - _MAX_SHARE) * n_range:
        bounds = f"from {low:.0f} to {high:.0f}"
        reason = f"nearly every integer {bounds} occurs once, as in an identifier"
        return Identifier(reason, is_strong=True)
    if is_unique and n * (n - 1) / 2 >= _MIN_REPEATED * n_range:
        return Identifier("different integers in all rows", is_strong=False)
    return weak


def find_identifiers(X: Any) -> list[tuple[str, str]]:
    """Return the names of the identifiers among the columns of a table, and the reasons.

    Only strong evidence counts. The result is empty if X is no table with names of columns.
    """
    names = column_names(X)
    if names is None or len(set(names)) < len(names):
        return []
    found = []
    for name in names:
        identifier = find_identifier(name, np.asarray(X[name]))
        if identifier is not None and identifier.is_strong:
            found.append((str(name), identifier.reason))
    return found


def warn_about_rows(name: str, X: TableLike, advice: str) -> None:
    """Warn if a table or an array looks like a matrix of dissimilarities or has identifiers.

    Parameters
    ----------
    name : str
        Name of the estimator or function, with which the messages begin.
    X : table or array
        Validated rows of attributes.
    advice : str
        What to do with dissimilarities.
    """
    if _is_like_dissimilarities(X):
        problem = "X is square and symmetric with a diagonal of zeros"
        warn_user(f"{name}: {problem}; if it contains dissimilarities, {advice}")
    for column, reason in find_identifiers(X):
        problem = f"column {column!r} looks like an identifier ({reason})"
        warn_user(f"{name}: {problem}; leave it out of X unless it is a measurement")


def _is_like_dissimilarities(X: TableLike) -> bool:
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] < 3 or is_tensor(X):
        return False
    values = np.asarray(X)
    if values.dtype.kind not in "iuf" or np.diagonal(values).any() or not values.any():
        return False
    # Rounding may differ between the two halves of a matrix.
    return np.allclose(values, values.T, atol=_ROUNDING * float(abs(values).max()))


def _last_word(name: object) -> str:
    """Return the last word of a name in lower case: "id" for customer_id and customerId."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name))
    words = re.findall(r"[^\W_]+", text)
    return words[-1].lower() if words else ""
