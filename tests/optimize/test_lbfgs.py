"""L-BFGS: minima, number of evaluations, end criteria."""

import numpy as np
import pytest
from scipy.optimize import minimize, rosen, rosen_der

from dempster.optimize.lbfgs import minimize_lbfgs


def rosenbrock(x):
    return rosen(x), rosen_der(x)


@pytest.mark.parametrize("n", [2, 10, 101])
def test_rosenbrock(n):
    run = minimize_lbfgs(
        rosenbrock, np.resize([-1.2, 1.0], n), max_iter=2000, tol=0, gradient_tol=1e-9
    )
    assert run.converged
    assert np.abs(rosen_der(run.model)).max() <= 1e-9
    assert rosen(run.model) == run.objective
    assert (np.diff(run.history) < 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_as_few_evaluations_as_scipy(seed):
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(30, 30)) * np.geomspace(1, 5, 30)
    calls = []

    def quartic(x):
        calls.append(1)
        return float(
            ((factor @ x) ** 2).sum() + (x**4).sum() - x.sum()
        ), 2 * factor.T @ factor @ x + 4 * x**3 - 1

    start = rng.normal(size=30)
    run = minimize_lbfgs(quartic, start, max_iter=500, tol=1e-14, gradient_tol=1e-7)
    ours = len(calls)
    calls.clear()
    options = {"maxcor": 20, "ftol": 1e-14, "gtol": 1e-7, "maxiter": 500}
    found = minimize(quartic, start, jac=True, method="L-BFGS-B", options=options)
    assert run.objective <= found.fun + 1e-9 * abs(found.fun)
    assert ours <= 1.2 * len(calls)


def test_end_criteria():
    start = np.array([-1.2, 1.0])
    short = minimize_lbfgs(rosenbrock, start, max_iter=3, tol=0)
    assert not short.converged
    assert len(short.history) == 4
    early = minimize_lbfgs(rosenbrock, start, max_iter=100, tol=1e-2)
    assert early.converged
    assert (
        0 <= early.history[-2] - early.history[-1] <= 1e-2 * max(early.history[-2], 1)
    )
    at_once = minimize_lbfgs(rosenbrock, np.ones(2), max_iter=100, tol=0)
    assert at_once.converged
    assert at_once.history == [0.0]


def test_end_by_rounding():
    rng = np.random.default_rng(0)
    factor = rng.normal(size=(20, 20))

    def shifted(x):
        return 1e6 + float(((factor @ x) ** 2).sum()), 2 * factor.T @ (factor @ x)

    run = minimize_lbfgs(shifted, rng.normal(size=20), max_iter=5000, tol=-1)
    assert run.converged
    assert run.objective - 1e6 < 1e-6


def test_overflow():
    def steep(x):
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.exp(x * x).sum() - x.sum()), 2 * x * np.exp(x * x) - 1

    run = minimize_lbfgs(steep, np.full(3, 5.0), max_iter=300, tol=0, gradient_tol=1e-8)
    assert run.converged
    np.testing.assert_allclose(2 * run.model * np.exp(run.model**2), 1, atol=1e-7)


def test_variable_with_zero_derivative():
    def first_only(x):
        return float((x[0] - 3) ** 2), np.array([2 * (x[0] - 3), 0.0])

    assert minimize_lbfgs(
        first_only, np.array([0.0, 7.0]), max_iter=50, tol=0
    ).model.tolist() == [
        3.0,
        7.0,
    ]
