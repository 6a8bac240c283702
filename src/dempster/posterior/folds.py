"""Folds of the training rows.

Row i is left out of the estimates of fold f_i. A row that is alone in its cluster has the number
f_i + N_FOLDS; it is described by fold f_i, but never left out.
"""

from __future__ import annotations

import numpy as np

N_FOLDS = 5


def draw_folds(members: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
    """Return the numbers of the folds of n rows with the memberships (n, c)."""
    n = len(members)
    folds = np.empty(n, np.intp)
    folds[rng.permutation(n)] = np.arange(n) % N_FOLDS
    belongs = members > 0
    is_alone = belongs @ (belongs.sum(axis=0) == 1)
    return folds + N_FOLDS * is_alone
