"""Weights of evidence (`_weights`), as operators of ONNX. Exponents may be large, so all is in double precision."""

from __future__ import annotations

import numpy as np

from dempster.belief import FocalSets
from dempster.io.onnx.graph import Value, concatenated, maximum, where

__all__ = ["evidence_masses"]

_NEVER = -1e300  # logarithm of zero that survives a multiplication by zero


def evidence_masses(features: Value, slopes: np.ndarray, offsets: np.ndarray, family: FocalSets) -> Value:
    """(n, f) masses from (n, J) features: on all nonempty sets, or on the single classes and the frame, which takes
    what belongs to other sets."""
    J, n_classes = slopes.shape
    weights = features.double().reshape(0, J, 1) * slopes + offsets
    support, opposition = (part.relu().sum().reshape(0, n_classes) for part in (weights, -weights))
    masses = _log_masses(support, opposition, family).exp()
    if len(family) < 2**n_classes - 1:
        single = np.arange(len(family)) != family.omega_index
        masses = masses * single.astype(float)
        masses = masses + (1 - masses.sum()).relu() * (~single).astype(float)
    return (masses / masses.sum()).astype(features.dtype)


def _log_masses(support: Value, opposition: Value, family: FocalSets) -> Value:
    """Logarithms of masses: of prod_k b_k prod_{k in A} a_k prod_{k not in A} (1 - a_k), a singleton with that of its
    own support besides, after division by one minus the conflict."""
    inside = family.membership.astype(float)
    against = _log_complement(opposition)
    every = support.sum()
    logs = against @ (1 - inside).T - opposition @ inside.T - every
    single = _log_complement(support) - (every - support) - opposition
    agreement = _log_agreement(opposition, against, every, single)
    columns = np.zeros((inside.shape[1], len(family)))
    columns[np.arange(inside.shape[1]), family.singleton_index] = 1
    own = single @ columns + _NEVER * (1 - columns.sum(axis=0))
    top = maximum(logs, own)
    both = top + ((logs - top).exp() + (own - top).exp()).log()
    return maximum(both, _NEVER) - agreement


def _log_agreement(opposition: Value, against: Value, every: Value, single: Value) -> Value:
    """(n, 1) logarithm of one minus the conflict: 1 - prod_k (1 - a_k) is the sum of a_k prod_{l < k} (1 - a_l)."""
    before = against.cumsum(exclusive=True)
    logs = concatenated(before - opposition - every, single)
    top = logs.max()
    return top + (logs - top).exp().sum().log()


def _log_complement(weights: Value) -> Value:
    """log(1 - exp(-w)) for w >= 0, from the digits of w where it is small."""
    small = weights * (1 - weights * (0.5 - weights / 6.0))
    return maximum(where(weights < 1e-5, small, 1 - (-weights).exp()).log(), _NEVER)
