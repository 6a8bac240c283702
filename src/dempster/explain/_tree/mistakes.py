"""How wrong it is to answer one set of clusters where another was meant."""

from __future__ import annotations

import numpy as np

__all__ = ["mistakes", "overlaps"]


def mistakes(answers: np.ndarray, meant: np.ndarray, caution: float) -> np.ndarray:
    """(a, b) mistake of each answer A where the set B was meant, both given as rows of clusters,

        caution |B \\ A| / |B|  +  (1 - caution) |A \\ B| / |A|:

    what the answer leaves out, and what it adds. It is 0 where A = B and 1 where they have nothing in common; the
    empty set is like itself alone. In the manner of the utilities of partial answers of Lopes de Souza et al. (2025).
    """
    kept, exact = _shares(answers, meant)
    return 1 - (caution * kept + (1 - caution) * exact)


def overlaps(answers: np.ndarray, meant: np.ndarray) -> np.ndarray:
    """(n,) how much the sets of two tables agree, row by row: the mean of |A n B| / |A| and |A n B| / |B|."""
    common = (answers & meant).sum(axis=1)
    sizes, others = answers.sum(axis=1), meant.sum(axis=1)
    both = common / np.maximum(sizes, 1) + common / np.maximum(others, 1)
    return np.where((sizes == 0) & (others == 0), 1.0, both / 2)


def _shares(answers: np.ndarray, meant: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(a, b) share of B that A keeps, and share of A that is in B."""
    common = answers.astype(float) @ meant.T.astype(float)
    sizes, others = answers.sum(axis=1)[:, None], meant.sum(axis=1)[None, :]
    neither = (sizes == 0) & (others == 0)
    return np.where(neither, 1.0, common / np.maximum(others, 1)), np.where(neither, 1.0, common / np.maximum(sizes, 1))
