r"""Masses for given probabilities of the clusters.

Let :math:`p_1 \geq p_2 \geq \dots` be the probabilities of the clusters for an object, and
:math:`q = 1 - p_1` its doubt. The mass T outside of the most probable cluster is divided between
the pairs of this cluster and each other cluster, in proportion to the probabilities of the others.
(If two clusters are not neighbors, the pair is replaced by the other cluster, with the mass
:math:`p_k`.) T is the largest of three numbers:

- :math:`2 q`. The pignistic probabilities are then the probabilities. These are the least committed
  masses with this property.
- The mass that makes the assignment to the set with the largest mass a reasonable decision. If an
  ambiguous assignment costs a tenth of an error, the object is assigned to a pair if its doubt
  exceeds .1. A pair with the share s of T and the cluster itself have equal masses if
  :math:`T = 1 / (1 + s)`. T rises with :math:`q^2` to this value at q = .1, and then slowly.
- The upper bound of the doubt. The belief in the cluster is then at most the lower bound of its
  probability. This number is less than :math:`1 / (1 + s)`, so that ambiguous objects are those
  between clusters, and not those whose probabilities are imprecise.

The masses are multiplied by one minus the mass of the empty set.
"""

from __future__ import annotations

import numpy as np

from dempster.belief import FocalSets

_TOLERANCE = 0.1  # cost of an ambiguous assignment, relative to that of an error
# relative to the mass at which a pair is the largest set
_LARGEST_IGNORANCE = 0.99
_N_NEAREST = 6  # Smaller probabilities are neglected.


def mass_on_pairs(
    doubt: np.ndarray, share: np.ndarray, bound: np.ndarray
) -> np.ndarray:
    """Return the mass that is not on the most probable cluster.

    ``doubt`` is the probability of the other clusters, of which the most probable one has the given
    ``share``. ``bound`` is the upper bound of the doubt.
    """
    tied = 1 / (1 + share)
    inside = np.square(np.minimum(doubt / _TOLERANCE, 1)) * tied
    beyond = np.maximum(doubt - _TOLERANCE, 0) / 2
    ignorance = np.minimum(bound, _LARGEST_IGNORANCE * tied)
    return np.minimum(np.maximum.reduce([2 * doubt, inside + beyond, ignorance]), 1)


def to_masses(
    P: np.ndarray, upper: np.ndarray, outlying: np.ndarray, family: FocalSets
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sets, shape (m, t), and their masses, for the probabilities P, shape (m, c).

    ``upper`` (m,) contains upper bounds of one minus the largest probability.
    """
    n, c = P.shape
    t = min(c, _N_NEAREST)
    near = np.argpartition(-P, t - 1, axis=1)[:, :t]
    p = np.take_along_axis(P, near, axis=1)
    order = np.argsort(-p, axis=1, kind="stable")
    near = np.take_along_axis(near, order, axis=1)
    p = np.take_along_axis(p, order, axis=1)
    p = p / p.sum(axis=1, keepdims=True)
    own = family.singleton_index[near]
    if t == 1:
        sets = own
        masses = np.ones((n, 1))
    else:
        pairs = family.pair_index[near[:, :1], near[:, 1:]]
        is_pair = pairs >= 0
        rest = p[:, 1:]
        alone = np.where(is_pair, 0, rest)
        rest = np.where(is_pair, rest, 0)
        doubt = rest.sum(axis=1)
        safe = np.where(doubt > 0, doubt, 1)
        share = rest.max(axis=1) / safe
        total = mass_on_pairs(doubt, share, upper) * (1 - alone.sum(axis=1))
        shared = np.where(doubt[:, None] > 0, rest / safe[:, None], 0) * total[:, None]
        shared += alone
        sets = np.column_stack([own[:, 0], np.where(is_pair, pairs, own[:, 1:])])
        masses = np.column_stack([1 - shared.sum(axis=1), shared])
    masses = masses * (1 - outlying)[:, None]
    sets = np.column_stack([np.full(n, family.empty_index), sets])
    masses = np.column_stack([outlying, masses])
    return sets, np.maximum(masses, 0)
