"""Doubt of NN-EVCLUS: read off around the objects of a fit, and learnt by a network, which gives it to new ones.

As in `evclus._doubt_model` clusters are found first, with masses on single clusters; then plausibilities are read off
by how near an object is to the members of each. EVCLUS asks the references again for a new object; here the masses of
the objects of the fit become what a network is taught, and a forward pass is enough.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dempster.belief import FocalSets
from dempster.cluster._doubt import doubtful_masses
from dempster.cluster.evclus._doubt_model import Surroundings, neighboring_clusters
from dempster.cluster.evclus.network._mass_layer import MassLayer
from dempster.cluster.evclus.network._targets import SMALL
from dempster.dissimilarity.sampling import choose_landmarks
from dempster.dissimilarity.sources import DissimilaritySource
from dempster.optimize.blocks import row_blocks

__all__ = ["Lessons", "coefficients_at_fence", "lessons", "scores_of_sets"]

_REFERENCES_PER_CLUSTER = 30  # at least; of few objects all are references
_CELLS = 1_000_000  # dissimilarities held at once
_FENCE = 2.0  # interquartile ranges below the first quartile of the decision values
_LEAST_RANGE = 0.1  # of these values, which have the standard deviation 1
_STEEPNESS = 17.0  # half an interquartile range below the fence the share of the empty set is 0.9


class Lessons(NamedTuple):
    """What a network is taught: a family of sets, and masses of some objects."""

    family: FocalSets
    who: np.ndarray
    masses: np.ndarray


def lessons(
    source: DissimilaritySource,
    labels: np.ndarray,
    n_clusters: int,
    most: int,
    rng: np.random.Generator,
    *,
    outliers: bool,
) -> Lessons:
    """Masses on single clusters and pairs of neighbors, of all objects or, of many, some of them.

    Parameters
    ----------
    source : DissimilaritySource
    labels : (n,) array
        Clusters that were found.
    n_clusters : int
    most : int
        How many objects have masses, at most.
    rng : Generator
    outliers : bool
        Whether objects far from all others get mass on the empty set.
    """
    n = len(source)
    references = choose_landmarks(n, max(SMALL, _REFERENCES_PER_CLUSTER * n_clusters), rng)
    D = np.asarray(source.block(references, references), dtype=float)
    D = (D + D.T) / 2
    of_references = labels[references]
    family = neighboring_clusters(D, of_references, n_clusters)
    surroundings = Surroundings.of(D, None)
    who = choose_landmarks(n, most, rng)
    itself = np.full(n, -1)
    itself[references] = np.arange(len(references))
    masses = np.empty((len(who), len(family)))
    for start, stop in row_blocks(len(who), max(1, _CELLS // len(references)), most=None):
        some = who[start:stop]
        near = np.ascontiguousarray(source.block(some, references), dtype=float)
        contour, outlying = surroundings.contour(near, of_references, n_clusters, itself[some])
        masses[start:stop] = doubtful_masses(contour, family, outlying if outliers else None)
    return Lessons(family, who, masses)


def scores_of_sets(first: FocalSets, family: FocalSets) -> np.ndarray:
    """(f, g) matrix that makes scores of the sets of a family from those of the first: a pair has the mean of its two
    clusters, so that it comes before both where they are almost alike."""
    matrix = np.zeros((len(first), len(family)))
    for column, members in enumerate(family.membership):
        sources = first.singleton_index[members] if members.any() else first.find(members[None])
        matrix[sources, column] = 1 / len(sources)
    return matrix


def coefficients_at_fence(layer: MassLayer, decision: np.ndarray | None) -> np.ndarray:
    """(2,) coefficients of the outlier unit by which half of the mass goes to the empty set at the lower fence of a box
    plot of the decision values; none without a detector."""
    if decision is None:
        return np.empty(0)
    low, high = np.quantile(decision, [0.25, 0.75])
    width = max(float(high - low), _LEAST_RANGE)
    slope = _STEEPNESS / width * (-1 if layer.convention == "program" else 1)
    half = np.log(np.expm1(1))  # softplus is one there
    return np.array([half - slope * (low - _FENCE * width), slope])
