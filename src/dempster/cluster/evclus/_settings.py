"""What a user may set of EVCLUS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dempster._types import ArrayLike
from dempster.partition import CredalPartition

__all__ = ["EvclusSettings", "link_factor"]


def link_factor(convention: str) -> float:
    """Weight of the constraints in units of the published formula: the published program gives them four times as
    much."""
    return 4.0 if convention == "program" else 1.0


@dataclass(frozen=True)
class EvclusSettings:
    """The parameters of one fit.

    Attributes
    ----------
    d0 : float or None
        None: the dissimilarity at ``d0_quantile``, or if that is None, too, to be found from the data.
    n_landmarks : int or None
        None: as many as the number of clusters asks for.
    xi, link_factor : float
        Weight of the constraints, and the units it is given in (`link_factor`).
    init : str, CredalPartition or array of masses
        The name of a way to draw starts, or where to start from.
    labels : array or None
        A hard partition to start from instead.
    """

    n_clusters: int
    d0: float | None
    d0_quantile: float | None
    sampling: str
    n_partners: int
    n_landmarks: int | None
    symmetrize: bool
    xi: float
    link_factor: float
    init: str | CredalPartition | ArrayLike
    labels: np.ndarray | None
    n_init: int
    max_iter: int
    tol: float
    device: str
