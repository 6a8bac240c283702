"""Weights of objects that come in blocks: beside the rows, however these are cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import LARGEST, SMALLEST
from dempster.data.blocks import is_dask

__all__ = ["WeightsInOrder", "checked_weights", "weight_blocks"]


def weight_blocks(column: Any) -> Callable[[], Iterable[Any]]:
    """A function that begins to give blocks of weights whenever it is called."""
    if is_dask(column):
        raise InvalidInputError(
            "sample_weight is a Dask collection, but X is not: compute it, or give X to Dask as well"
        )
    if hasattr(column, "__next__"):
        raise InvalidInputError(
            f"sample_weight is a {type(column).__name__}, which can be read only once, but a fit reads it many times: "
            "give an array, a list of blocks, or a function that returns it"
        )
    if callable(column):
        return column
    if isinstance(column, list | tuple) and column and all(len(getattr(part, "shape", ())) == 1 for part in column):
        return partial(iter, column)
    return partial(iter, [np.asarray(column)])


def checked_weights(weights: Any, n: int, where: str) -> np.ndarray:
    """(n,) finite weights of zero or more; ``where`` they belong to, for the errors."""
    values = np.asarray(weights)
    if values.shape != (n,):
        raise InvalidInputError(
            f"sample_weight must hold one weight for each of the {n} rows of {where}, got {values.shape}"
        )
    if values.dtype.kind not in "biuf":
        raise InvalidInputError(f"sample_weight must hold numbers, got {values.dtype} in {where}")
    values = values.astype(float)
    fits = (values == 0) | ((values >= SMALLEST) & (values <= LARGEST))
    if not fits.all():
        raise InvalidInputError(
            f"sample_weight must hold zeros or finite weights of at least {SMALLEST:g}, got {values[fits.argmin()]} in "
            f"{where}"
        )
    return values


class WeightsInOrder:
    """Hands out weights one after the other, in other pieces than they come in."""

    def __init__(self, blocks: Iterable[Any]):
        self._blocks, self._left = iter(blocks), np.empty(0)

    def next(self, n: int, seen: int) -> np.ndarray:
        """The next n weights, after ``seen`` ones."""
        pieces = [self._left]
        while sum(map(len, pieces)) < n:
            block = next(self._blocks, None)
            if block is None:
                got = seen + sum(map(len, pieces))
                raise InvalidInputError(
                    f"sample_weight must hold a weight for each object, but there are only {got:,} of them"
                )
            pieces.append(checked_weights(block, len(np.ravel(block)), f"the weights after the first {seen:,}"))
        joined = np.concatenate(pieces)
        self._left = joined[n:]
        return joined[:n]

    def check_end(self, n: int) -> None:
        """After the last of n objects there is no weight left."""
        if len(self._left) or any(len(np.ravel(block)) for block in self._blocks):
            raise InvalidInputError(
                f"sample_weight must hold a weight for each of the {n:,} objects, but there are more"
            )
