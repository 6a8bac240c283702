"""Iterations until convergence."""

import numpy as np
import pytest

from dempster.optimize.descent import descend


def halve(excess):
    """Return the objective 1 + x at x, and x / 2."""
    return 1 + excess, excess / 2


def test_convergence():
    run = descend(halve, 1.0, max_iter=100, tol=1e-3)
    assert run.converged
    assert run.history == [1 + 0.5**k for k in range(len(run.history))]
    assert run.objective - 1 <= 2e-3
    assert not descend(halve, 1.0, max_iter=3, tol=1e-3).converged


@pytest.mark.parametrize("least", [0.9, 0.99])
def test_gives_up_if_another_run_cannot_be_reached(least):
    run = descend(halve, 1.0, max_iter=20, tol=0.0, least=least)
    assert not run.converged
    changes = -np.diff(run.history)
    remaining = 20 - np.arange(2, len(run.history) + 1)
    at_this_rate = np.array(run.history[1:]) - remaining * changes
    assert (at_this_rate[:-1] <= least).all()
    assert at_this_rate[-1] > least


def test_does_not_give_up_what_can_be_reached():
    run = descend(halve, 1.0, max_iter=20, tol=0.0, least=1.001)
    assert len(run.history) == 20
    assert run.objective < 1.001
