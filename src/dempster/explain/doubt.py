"""How much in doubt each object is."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster.explain._subject import partition_of
from dempster.partition import CredalPartition

__all__ = ["doubt_of"]


def doubt_of(partition: CredalPartition | Any) -> np.ndarray:
    """(n,) doubt of the objects of a partition, from 0 (certain) to 1 (torn), beyond 1 for outliers.

    With pl_1 >= pl_2 the two largest plausibilities of an object, its doubt is one minus their relative margin,

        1 - (pl_1 - pl_2) / pl_1 = pl_2 / pl_1,

    whatever its mass on the empty set. An outlier, an object whose largest mass m is on the empty set, belongs nowhere
    and comes before all others, with doubt 1 + m.

    Parameters
    ----------
    partition : CredalPartition, fitted estimator (or pipeline) that has one, or array-like of n labels

    Examples
    --------
    >>> from dempster import CredalPartition, FocalSets
    >>> from dempster.explain import doubt_of
    >>> sure, torn, outlier = [0, 1, 0, 0], [0, 0.2, 0, 0.8], [0.9, 0.1, 0, 0]
    >>> doubt_of(CredalPartition([sure, torn, outlier], FocalSets.full(2)))
    array([0. , 0.8, 1.9])
    """
    credal = partition_of(partition)
    plausible = np.sort(np.asarray(credal.contour, dtype=float), axis=1)
    first = plausible[:, -1]
    second = plausible[:, -2] if credal.n_clusters > 1 else np.zeros(len(credal))
    doubt = np.where(first > 0, second / np.where(first > 0, first, 1), 1)
    outliers = credal.outliers
    if len(outliers):
        doubt[outliers] = 1 + credal.masses[outliers, credal.focal_sets.empty_index]
    return doubt
