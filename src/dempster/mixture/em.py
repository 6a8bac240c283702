"""Expectation-maximization (EM) for Gaussian mixtures with one of 14 covariance models.

`fit_em` runs compiled code without the interpreter lock, so that many fits (a bootstrap, a grid of
models) can run in parallel threads. If a component collapses, its result contains a message; no
error is raised.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np

from dempster._errors import InvalidParameterError
from dempster._native import interruptible, kernel
from dempster._validation import check_choice, convert_fields

# The three letters of a model describe the volume, the shape and the orientation of the
# covariances. Each of them is Equal for all components, Varying, or the Identity (Celeux and
# Govaert, 1995).
MODELS = (
    "EII",
    "VII",
    "EEI",
    "VEI",
    "EVI",
    "VVI",
    "EEE",
    "VEE",
    "EVE",
    "VVE",
    "EEV",
    "VEV",
    "EVV",
    "VVV",
)
DIAGONAL_MODELS = MODELS[:6]
_ONE_DIMENSIONAL = {"E": "EII", "V": "VII"}
# Codes of run_em; code 1 means that a component is empty.
_NO_PROBLEM = 0
_SINGULAR = 2
# Write log(proportion * density) or, if normalized is true, the responsibilities to `out`. Return
# the first component whose covariance matrix is not positive definite, or -1 if all are. X is
# transposed.
_densities = kernel("""mixture_densities(
    X: float64[d, n], proportions: float64[g], means: float64[g, d], covariances: float64[g, d, d],
    diagonal: bool, normalized: bool, out: float64[g, n] out) -> int""")
# Run EM with the initial responsibilities Z or, if given_parameters is true, with the initial
# parameters. Both are overwritten. EM stops when the log-likelihood L changes by at most absolute +
# relative |L - reference|. `regularization` times the variances of the data is added to the
# variances within components. Variances below `share` times the variances of the data are
# considered zero. `outcome` contains the number of iterations, whether EM converged, the code of
# the problem, and the component with the problem.
_run_em = kernel("""run_em(
    X: float64[d, n], weights: float64[n], Z: float64[g, n] out, given_parameters: bool,
    proportions: float64[g] out, means: float64[g, d] out, covariances: float64[g, d, d] out,
    axes: float64[d, d] out, model: int, absolute: float, relative: float, reference: float,
    max_iter: int, regularization: float, share: float, history: float64[max_iter] out,
    outcome: int64[4] out)""")
# Run EM on samples of the rows, from the initial parameters of each sample, which are overwritten.
# `overlaps` contains the sum over the rows of weight times `posterior` times responsibility, for
# each pair of components.
_refit_em = kernel("""refit_em(
    X: float64[d, n], weights: float64[samples, n], posterior: float64[g, n],
    proportions: float64[samples, g] out, means: float64[samples, g, d] out,
    covariances: float64[samples, g, d, d] out, axes: float64[samples, d, d] out, model: int,
    absolute: float, max_iter: int, regularization: float, share: float,
    overlaps: float64[samples, g, g] out, log_likelihood: float64[samples] out,
    outcomes: int64[samples, 4] out)""")
# A covariance matrix is singular if the variance of a column, given the previous columns, is below
# this share of the variance of the column in the data.
SINGULAR_SHARE = 1e-10


@dataclass(frozen=True, eq=False)
class GaussianParameters:
    """Parameters of a Gaussian mixture of g components in d dimensions.

    Parameters
    ----------
    proportions : ndarray of shape (g,)
        Proportions of the components, which sum to one.
    means : ndarray of shape (g, d)
        Means of the components.
    covariances : ndarray of shape (g, d, d)
        Covariance matrices of the components.
    model : str
        Covariance model, one of `dempster.mixture.em.MODELS`.
    orientation : ndarray of shape (d, d), optional
        Common axes (rows) of the covariances in the models EVE and VVE, used as initial values in a
        new fit.
    """

    proportions: Annotated[np.ndarray, "g"]
    means: Annotated[np.ndarray, "g d"]
    covariances: Annotated[np.ndarray, "g d d"]
    model: str
    orientation: Annotated[np.ndarray, "d d"] | None = None

    def __post_init__(self) -> None:
        check_choice(self.model, "model", MODELS)
        axes = {"proportions": "g", "means": "gd", "covariances": "gdd"}
        if self.orientation is not None:
            axes["orientation"] = "dd"
        convert_fields(self, **axes)


@dataclass(frozen=True, eq=False)
class EMResult:
    """Result of EM; there are no parameters if EM could not be run or a component collapsed."""

    parameters: Any = None  # GaussianParameters or LatentClassParameters
    # Weighted log-likelihood; -inf if there are no parameters.
    log_likelihood: float = -np.inf
    converged: bool = False
    # Shape (n, g), including the rows of weight zero.
    responsibilities: np.ndarray | None = None
    problem: str | None = None  # Reason why there are no parameters, else None.
    # Log-likelihood after every iteration.
    history: np.ndarray = field(default_factory=lambda: np.empty(0))


def fit_em(
    data: np.ndarray,
    weights: np.ndarray | None,
    start: GaussianParameters | np.ndarray,
    model: str,
    *,
    tol: float = 1e-5,
    max_iter: int = 1000,
    regularization: float = 0.0,
    scaled: bool = True,
) -> EMResult:
    """Maximize the likelihood of a Gaussian mixture by EM (Celeux and Govaert, 1995).

    ``start`` contains initial parameters or responsibilities. A row of weight 0 is ignored. EM
    stops when the log-likelihood L changes by at most ``tol * (1 + |L - L0|)``, where L0 is
    `unit_log_likelihood`, or zero if ``scaled`` is False. The share ``regularization`` of the
    variance of each column is added to its variance within every component, before the constraints
    of the covariance model are applied. The result contains a message if a component collapsed. The
    data are divided by `binary_unit`, so that a power of two does not change the responsibilities.
    """
    n, d = data.shape
    w = np.ones(n)
    if weights is not None:
        w = np.ascontiguousarray(weights, np.float64)
    used = slice(None) if w.all() else np.flatnonzero(w)
    w = w[used]
    unit = binary_unit(data.var(axis=0).mean())
    X = np.ascontiguousarray(data[used].T / unit, np.float64)
    if isinstance(start, GaussianParameters):
        proportions, means, covariances = _in_units(start, unit)
        Z = np.empty((len(proportions), X.shape[1]))
        axes = _common_axes(start, model)
    else:
        Z = np.array(start[used].T, np.float64, order="C")
        g = len(Z)
        proportions = np.empty(g)
        means = np.empty((g, d))
        covariances = np.empty((g, d, d))
        axes = np.empty((d, d))
    history = np.empty(max_iter)
    outcome = np.empty(4, np.int64)
    if scaled:
        reference = unit_log_likelihood(X.T, w)
    else:
        reference = w.sum() * d * np.log(unit)
    interruptible(
        _run_em,
        X,
        w,
        Z,
        isinstance(start, GaussianParameters),
        proportions,
        means,
        covariances,
        axes,
        MODELS.index(model),
        tol,
        tol,
        reference,
        max_iter,
        regularization,
        SINGULAR_SHARE,
        history,
        outcome,
    )
    n_iter, converged, code, component = outcome.tolist()
    history = history[:n_iter] - w.sum() * d * np.log(unit)
    problem = _describe_problem(n_iter, code, component)
    if problem is not None:
        return EMResult(problem=problem, history=history)
    orientation = axes if model in ("EVE", "VVE") else None
    parameters = GaussianParameters(
        proportions, means * unit, covariances * unit**2, model, orientation
    )
    responsibilities = Z.T
    if len(w) < n:
        responsibilities = _evaluate_components(parameters, data, normalized=True)
    likelihood = float(history[-1])
    return EMResult(
        parameters,
        likelihood,
        bool(converged),
        responsibilities,
        history=history,
    )


class Refits(NamedTuple):
    """Result of `refit_em` for B samples.

    The parameters are not meaningful if there is a problem.
    """

    # proportions (B, g), means (B, g, d) and covariances (B, g, d, d); or proportions and
    # probabilities (B, g, C) of a latent class model
    parameters: tuple[np.ndarray, ...]
    log_likelihood: np.ndarray  # (B,), -inf if a component collapsed
    # (B, g, g), shared weight of each component in `posterior` and each fitted component
    overlaps: np.ndarray
    problems: list[str | None]  # messages about components that collapsed


def refit_em(
    data: np.ndarray,
    weights: np.ndarray,
    start: GaussianParameters,
    posterior: np.ndarray,
    *,
    max_change: float,
    max_iter: int = 1000,
    regularization: float = 0.0,
) -> Refits:
    """Fit a Gaussian mixture to B samples of the rows, faster than B calls of `fit_em`.

    ``weights``, shape (B, n), contains the weights of the rows in each sample. EM stops when the
    log-likelihood changes by at most ``max_change``. The fitted components are compared with
    ``posterior``, the probabilities for each row.
    """
    B = len(weights)
    g, d = start.means.shape
    unit = binary_unit(data.var(axis=0).mean())
    initial = (*_in_units(start, unit), _common_axes(start, start.model))
    proportions, means, covariances, axes = (
        np.repeat(a[None], B, axis=0) for a in initial
    )
    overlaps = np.empty((B, g, g))
    log_likelihood = np.empty(B)
    outcomes = np.empty((B, 4), np.int64)
    columns, posterior = (
        np.ascontiguousarray(a.T, np.float64) for a in (data / unit, posterior)
    )
    interruptible(
        _refit_em,
        columns,
        weights,
        posterior,
        proportions,
        means,
        covariances,
        axes,
        MODELS.index(start.model),
        max_change,
        max_iter,
        regularization,
        SINGULAR_SHARE,
        overlaps,
        log_likelihood,
        outcomes,
    )
    problems = [
        _describe_problem(n_iter, code, component)
        for n_iter, _, code, component in outcomes.tolist()
    ]
    log_likelihood -= weights.sum(axis=1) * d * np.log(unit)
    parameters = proportions, means * unit, covariances * unit**2
    return Refits(parameters, log_likelihood, overlaps, problems)


def _describe_problem(n_iter: int, code: int, component: int) -> str | None:
    if code == _NO_PROBLEM:
        return None
    what = "it lost all its objects"
    if code == _SINGULAR:
        what = "its covariance matrix became singular"
    return f"component {component} collapsed: {what} (iteration {n_iter + 1})"


def _in_units(parameters: GaussianParameters, unit: float) -> list[np.ndarray]:
    """Return copies of proportions, means and covariances for data divided by ``unit``."""
    scaled = (
        parameters.proportions,
        parameters.means / unit,
        parameters.covariances / unit**2,
    )
    return [np.array(a, np.float64, order="C") for a in scaled]


def binary_unit(variance: float) -> float:
    """Return the smallest power of two above the square root of a variance.

    Division by this power is exact.
    """
    if variance > 0:
        return float(2.0 ** np.frexp(np.sqrt(variance))[1])
    return 1.0


def unit_log_likelihood(X: np.ndarray, weights: np.ndarray) -> float:
    """Return the log-likelihood of a constant density in a box with standard deviations as sides.

    If a column is multiplied by s, log(s) per row is subtracted both from this value and from the
    log-likelihood of a mixture, so that their difference does not depend on the units.
    """
    gap = X - X[0]
    gap = gap - np.average(gap, axis=0, weights=weights)
    variances = np.average(gap * gap, axis=0, weights=weights)
    return float(-weights.sum() / 2 * np.log(variances[variances > 0]).sum() + 0.0)


def log_densities(parameters: GaussianParameters, X: np.ndarray) -> np.ndarray:
    """Return log(proportion * density) of each component for each row of X, shape (n, g)."""
    return _evaluate_components(parameters, X, normalized=False)


def normalize(joint: np.ndarray) -> np.ndarray:
    """Return the probabilities along the last axis, given their logarithms up to a constant."""
    Z = np.exp(joint - joint.max(axis=-1, keepdims=True))
    return Z / Z.sum(axis=-1, keepdims=True)


def _evaluate_components(
    parameters: GaussianParameters, X: np.ndarray, normalized: bool
) -> np.ndarray:
    """Return log(proportion * density), or the responsibilities if ``normalized``, shape (n, g)."""
    unit = binary_unit(np.diagonal(parameters.covariances, axis1=1, axis2=2).mean())
    columns = np.ascontiguousarray(np.asarray(X, np.float64).T / unit)
    out = np.empty((len(parameters.proportions), columns.shape[1]))
    is_diagonal = parameters.model in DIAGONAL_MODELS
    singular = _densities(
        columns, *_in_units(parameters, unit), is_diagonal, normalized, out
    )
    if singular >= 0:
        message = (
            "covariances must be positive definite, but the "
            f"matrix of component {singular} is not"
        )
        raise InvalidParameterError("covariances", message=message)
    if normalized:
        return out.T
    return out.T - len(columns) * np.log(unit)


def _common_axes(start: GaussianParameters, model: str) -> np.ndarray:
    """Return the initial common axes of the models EVE and VVE."""
    if model not in ("EVE", "VVE"):
        return np.empty_like(start.covariances[0])
    if start.orientation is not None:
        return np.array(start.orientation, np.float64, order="C")
    pooled: Any = np.tensordot(start.proportions, start.covariances, axes=1)
    return np.ascontiguousarray(np.linalg.eigh(pooled)[1].T[::-1])


# ---- covariance models ---------------------------------------------------------------------------


def resolve_model(name: str, n_features: int) -> str:
    """Return the name of a covariance model in `MODELS`.

    With one column, "E" and "V" are valid names, too.
    """
    if name in MODELS:
        return name
    if n_features == 1 and name in _ONE_DIMENSIONAL:
        return _ONE_DIMENSIONAL[name]
    expected = f"one of {', '.join(MODELS)}, or E or V for one attribute"
    raise InvalidParameterError("model", expected, name)


def count_parameters(model: str, n_components: int, n_features: int) -> int:
    """Return the number of free parameters of a mixture (Celeux and Govaert, 1995, table 1)."""
    g = n_components
    d = n_features
    volume, shape, orientation = ({"I": 0, "E": 1, "V": g}[letter] for letter in model)
    covariances = volume + shape * (d - 1) + orientation * (d * (d - 1) // 2)
    return (g - 1) + g * d + covariances
