"""The evidential neural network (``neural_network.c``), as operators of ONNX."""

from __future__ import annotations

import numpy as np

from dempster.io.onnx.formulas import squares_of
from dempster.io.onnx.graph import Value, concatenated

__all__ = ["network_masses", "responses"]


def responses(rows: Value, prototypes: np.ndarray, gamma: np.ndarray) -> Value:
    """(n, r) exp(-gamma_i^2 d^2 / 2) of the prototypes; both are in the unit of the training objects."""
    return (squares_of(rows, prototypes) * (-0.5 * np.square(gamma))).exp()


def network_masses(rows: Value, prototypes: np.ndarray, gamma: np.ndarray, alpha: np.ndarray, u: np.ndarray) -> Value:
    """(n, M + 1) masses of the classes and the frame. With s_i what prototype i lends, m({k}) is proportional to
    A_k - B and m(frame) to B, A_k the product of 1 - s_i (1 - u_ik) and B that of 1 - s_i."""
    r, n_classes = u.shape
    lent = responses(rows, prototypes, gamma) * alpha
    logs_of_A = (1 - lent.reshape(0, r, 1) * (1 - u)).log().sum().reshape(0, n_classes)
    log_of_B = (1 - lent).log().sum()
    top = logs_of_A.max()  # only ratios matter
    A, B = (logs_of_A - top).exp(), (log_of_B - top).exp()
    return concatenated((A - B).relu(), B) / (A.sum() - (n_classes - 1) * B)
