"""What a descent of EVCLUS starts from, and what it has found so far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dempster.belief import FocalSets

__all__ = ["EvclusStart", "ObjectMasses"]


@dataclass(frozen=True)
class ObjectMasses:
    """Masses of the objects that are fitted.

    Attributes
    ----------
    family : FocalSets
    masses : (m, f) array
        As the descent left them.
    equalized : (m, f) array or None
        The same at the very end, where objects at dissimilarity zero in a matrix have got equal ones.
    doubtful : bool
        Whether doubt between neighboring clusters is to be read off.
    scale : int
        Which of the scales that compete they were found at.
    """

    family: FocalSets
    masses: np.ndarray
    equalized: np.ndarray | None = None
    doubtful: bool = False
    scale: int = 0


class EvclusStart(NamedTuple):
    """Masses of the objects that are fitted, what the order of the sweeps is drawn from, and at which of the scales."""

    masses: np.ndarray
    family: FocalSets
    rng: np.random.Generator
    scale: int = 0
