"""The outer loop of every descent over masses that minimises over one row at a time.

The rows of masses M (n, f) lie on the simplex, and with the other rows fixed each is a small quadratic program
(`dempster.optimize.simplex_qp`). A sweep solves them one after the other, which never raises the objective; later
sweeps go beyond each minimum, and every few sweeps the direction they took together is followed as long as the
objective falls. ``row_descent.c`` has the loop, ``row_descent.h`` what a problem must offer to it: the fits of
conflicts (`dempster.optimize.conflict_fit`) and of intervals (`dempster.optimize.interval_fit`) do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._native import Kernel, interruptible

__all__ = ["descend_rows"]


def descend_rows(kernel: Kernel, *problem: Any, max_iter: int) -> tuple[np.ndarray, bool]:
    """Run a descent to its end, in compiled code without the GIL, so that several starts can run in threads.

    Parameters
    ----------
    kernel : takes the problem, then ``history`` (max_iter,) and ``ending`` (2,), which it fills
    problem : masses, which are overwritten, and what they are fitted to
    max_iter : largest number of sweeps

    Returns
    -------
    history : objective after every sweep
    converged : whether the stopping rule was met
    """
    history, ending = np.empty(max_iter), np.zeros(2, dtype=np.int64)
    interruptible(kernel, *problem, history, ending)
    n_sweeps, converged = ending
    return history[:n_sweeps], bool(converged)
