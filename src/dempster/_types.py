"""Names for what the signatures of the package take, so that they say more than "anything"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

TableLike: TypeAlias = Any
"""Objects in rows: an array, a pandas or polars table, a sparse matrix; what it may be is checked where it is read."""

ArrayLike: TypeAlias = Any
"""Anything `numpy.asarray` reads."""

Index: TypeAlias = Any
"""Names of objects: a pandas Index or a sequence, or None."""

Seed: TypeAlias = int | np.random.RandomState | np.random.Generator | None
"""What every ``random_state`` takes."""

Metric: TypeAlias = str | Callable[[np.ndarray, np.ndarray], float]
"""The name of a metric, or a function of two rows."""

Advance: TypeAlias = Callable[[str], None]
"""Tells a progress bar that one unit is done, with a word on the state."""
