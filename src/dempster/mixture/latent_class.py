"""Latent class models: mixtures for tables of categories."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._progress import progress_bar
from dempster._random import as_random_state
from dempster.dissimilarity.categories import (
    ABSENT,
    CategoryEncoder,
    find_distinct_rows,
)
from dempster.mixture._base import MIXTURE_RULES, Mixture
from dempster.mixture.em import EMResult, Refits, normalize
from dempster.optimize.descent import find_likeliest

MODEL = "latent class"  # Name of the model in ``bic_table_``.
_FIRST_ITERATIONS = 50  # Number of iterations after which starts of EM are compared.
_SMALLEST = 1e-300  # Smallest proportion of a component, whose logarithm is finite.


@dataclass(frozen=True, eq=False)
class LatentClassParameters:
    """Parameters of a latent class model of g components for p attributes with C categories."""

    proportions: Annotated[np.ndarray, "g"]
    # probabilities of the categories; those of an attribute sum to one
    probabilities: Annotated[np.ndarray, "g C"]
    # number of the first category of each attribute, and C
    offsets: Annotated[np.ndarray, "p+1:int"]
    model: str = MODEL


class LatentClassModel(Mixture):
    r"""Mixture for tables of categories (latent class model).

    The attributes are independent within a component. The probability of an object x with p
    attributes is

    .. math::

        \sum_k \pi_k \prod_{j=1}^p \theta_{kj}(x_j),

    where pi_k is the proportion of component k, and theta_kj(a) the probability of category a of
    attribute j in component k. The product is over the observed attributes, which is exact if
    values are missing at random.

    EM maximizes the likelihood times the density of a Dirichlet prior, which has the effect of
    adding ``smoothing`` objects to each component. The attributes of these objects have the
    distribution of the whole table, so that no probability is zero. The number of components can be
    selected by the Bayesian information criterion, BIC = 2 log-likelihood - (number of parameters)
    log n. **Larger is better**. The methods `bic` and `aic` have the opposite sign, like in
    scikit-learn: for the training objects, ``bic(X)`` is equal to ``-bic_``.

    Parameters
    ----------
    n_components : int, iterable of int or "auto", default="auto"
        Number of components. If it contains several numbers, the number with the largest BIC is
        selected. "auto" stands for 1 to 9, but at most the number of different objects.
    smoothing : float > 0, default=1.0
        Number of objects that the prior adds to each component.
    handle_unknown : {"error", "ignore"}, default="error"
        Whether categories that occur in new objects but not in `fit` raise an error or are treated
        as missing values.
    n_init : int, default=10
        Number of starts of EM from randomly drawn objects. After 50 iterations, EM continues with
        the largest objective.
    tol : float, default=1e-7
        EM stops when the objective L, the logarithm of likelihood times prior density, changes by
        at most ``tol * (1 + |L|)``.
    max_iter : int, default=2000
        Maximum number of iterations of EM.
    random_state : int, RandomState, Generator or None
        Seed for drawing objects.

    Attributes
    ----------
    n_components_ : int
        Number of components.
    weights_ : ndarray of shape (n_components_,)
        Proportions of the components.
    probabilities_ : list of arrays
        Probabilities of the categories of each attribute, shape (n_components_, number of
        categories).
    categories_ : list of arrays
        Categories of each attribute.
    parameters_ : LatentClassParameters
        Proportions and probabilities as one object.
    labels_ : ndarray of shape (n_samples,)
        Most probable component of each training object.
    log_likelihood_, bic_ : float
        Log-likelihood and BIC (larger is better) of the (weighted) training objects.
    n_parameters_ : int
        Number of free parameters.
    bic_table_ : pandas.DataFrame
        Table with a row for each number of components, like in `ParsimoniousGaussianMixture`; the
        only model is "latent class".
    model_ : str
        "latent class".
    history_ : ndarray
        Logarithm of likelihood times prior density (up to a constant) after every iteration; it
        never decreases.
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    Notes
    -----
    A model with more parameters than there are combinations of categories cannot be identified and
    is not fitted; ``bic_table_`` contains the reason.

    With ``smoothing`` near zero, the estimates are the maximum likelihood estimates. On the example
    of Linzer and Lewis (2011), likelihoods and BIC agree with those of their R package poLCA.

    References
    ----------
    L. A. Goodman (1974). Exploratory latent structure analysis using both identifiable and
    unidentifiable models. Biometrika 61. D. A. Linzer and J. B. Lewis (2011). poLCA: an R package
    for polytomous variable latent class analysis. Journal of Statistical Software 42.

    Examples
    --------
    >>> import pandas as pd
    >>> from dempster.mixture import LatentClassModel
    >>> table = pd.DataFrame({
    ...     "color": ["red", "red", "red", "blue", "blue", "blue"] * 10,
    ...     "shape": ["round", "round", "oval", "square", "square", "square"] * 10,
    ...     "size": ["s", "s", "s", "l", "l", "m"] * 10,
    ... })
    >>> model = LatentClassModel(random_state=0).fit(table)
    >>> model.n_components_
    2
    >>> new = {"color": ["red", "blue"], "shape": ["round", None], "size": [None, None]}
    >>> model.predict(pd.DataFrame(new)).tolist() == model.labels_[[0, 3]].tolist()
    True
    """

    parameters_: LatentClassParameters
    probabilities_: list[np.ndarray]
    categories_: list[np.ndarray]

    _encoder: CategoryEncoder
    _advice = "use fewer components"
    _rules = {
        **MIXTURE_RULES,
        "smoothing": rule.positive,
        "handle_unknown": rule.choice("error", "ignore"),
    }

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        smoothing: float = 1.0,
        handle_unknown: str = "error",
        n_init: int = 10,
        tol: float = 1e-7,
        max_iter: int = 2000,
        random_state: Any = None,
    ):
        self.n_components = n_components
        self.smoothing = smoothing
        self.handle_unknown = handle_unknown
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    # ---- fitting ---------------------------------------------------------------------------------

    def _estimate(self, X: Any, sample_weight: Any) -> None:
        rule.check_parameters(self, self._rules)
        self._encoder = CategoryEncoder(missing="ignore")
        codes = self._encoder.read(self, X, reset=True)
        weights = rule.validate_weights(
            rule.reorder_like(sample_weight, rule.row_index(X)), len(codes)
        )
        offsets = self._encoder.offsets
        sizes = np.diff(offsets)
        if not sizes.all():
            name = self._encoder.names[int((sizes == 0).argmax())]
            must = "contain a value in every column"
            got = f"but all values of column {name!r} are missing"
            raise InvalidParameterError("X", must=f"{must}, {got}")
        # The distinct rows are the same for any order and any repetition of the rows.
        rows, inverse = find_distinct_rows(codes, offsets)
        counts = np.bincount(inverse, weights, len(rows)).astype(float)
        rows = rows[counts > 0]
        counts = counts[counts > 0]
        numbers = self._possible_numbers(self._requested_numbers(), len(rows))

        def count_parameters(g: int, model: str = MODEL) -> int:
            return int(g - 1 + g * (sizes - 1).sum())

        def find_problem(g: int) -> str | None:
            if g > len(rows):
                return f"more components than the {len(rows)} different objects in X"
            if np.log(count_parameters(g) + 1) > np.log(sizes).sum() + 1e-9:
                combinations = f"{int(sizes.prod())} combinations of categories"
                return f"more parameters than the {combinations} have probabilities"
            return None

        results = {}
        rng = as_random_state(self.random_state)
        with progress_bar(
            type(self).__name__, len(numbers), "models", shown=False
        ) as advance:
            for g in numbers:
                result = EMResult(problem=find_problem(g))
                if result.problem is None:
                    result = self._fit_best(rows, counts, offsets, g, rng)
                results[g, MODEL] = result
                advance(f"{g} components")
        run = self._select_model(results, float(counts.sum()), count_parameters)
        self.labels_ = log_joint(run.parameters, codes).argmax(axis=1)
        self.probabilities_ = [
            run.parameters.probabilities[:, a:b] for a, b in pairwise(offsets)
        ]
        self.categories_ = self._encoder.levels

    def _fit_best(
        self,
        rows: np.ndarray,
        counts: np.ndarray,
        offsets: np.ndarray,
        g: int,
        rng: Any,
    ) -> EMResult:
        """Run EM from ``n_init`` starts, and continue the best run after some iterations."""
        data = CodedRows(rows, offsets)
        n_init = self.n_init
        proportions = np.full((n_init, g), 1 / g)
        probabilities = data.draw_classes(counts, n_init, g, rng)
        weights = np.broadcast_to(counts, (n_init, len(counts)))
        rule.check_memory(
            16 * n_init * g * len(rows),
            f"n_init={self.n_init}",
            "take fewer starts",
        )
        settings = {
            "smoothing": self.smoothing,
            "absolute": self.tol,
            "relative": self.tol,
        }
        first = min(_FIRST_ITERATIONS, self.max_iter)
        runs = run_em(
            data, weights, proportions, probabilities, max_iter=first, **settings
        )
        # Objectives are often equal up to rounding errors, which must not determine the numbering
        # of components.
        best = find_likeliest(
            [history[-1] for history in runs.histories], counts.sum()
        )[0]
        history = runs.histories[best]
        if not runs.converged[best] and self.max_iter > first:
            pi = runs.proportions[[best]]
            theta = runs.probabilities[[best]]
            runs = run_em(
                data, weights[:1], pi, theta, max_iter=self.max_iter - first, **settings
            )
            best = 0
            history = np.concatenate([history, runs.histories[0]])
        parameters = LatentClassParameters(
            runs.proportions[best], runs.probabilities[best], offsets
        )
        likelihood = float(runs.log_likelihood[best])
        converged = bool(runs.converged[best])
        return EMResult(parameters, likelihood, converged, history=history)

    # ---- prediction ------------------------------------------------------------------------------

    def _log_joint(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "parameters_")
        codes = self._encoder.read(self, X, reset=False, unknown=self.handle_unknown)
        return log_joint(self.parameters_, codes)

    def _draw(self, components: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        codes = np.empty((len(components), self.n_features_in_), dtype=np.int64)
        for j, probabilities in enumerate(self.probabilities_):
            reach = np.cumsum(probabilities, axis=1)[components, :-1]
            uniform = rng.random_sample((len(components), 1))
            codes[:, j] = self._encoder.offsets[j] + (uniform > reach).sum(axis=1)
        return self._encoder.decode(codes)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = tags.input_tags.string = (
            tags.input_tags.allow_nan
        ) = True
        return tags

    def _check_loaded(self) -> None:
        if not np.array_equal(self.parameters_.offsets, self._encoder.offsets):
            raise InvalidInputError(
                "parameters_.offsets must be equal to _encoder.offsets"
            )
        n_categories = self.parameters_.probabilities.shape[1]
        self._encoder.check_categories(self.n_features_in_, n_categories)


# ---- EM ------------------------------------------------------------------------------------------


def category_indicators(codes: np.ndarray, n_categories: int) -> sparse.csr_array:
    """Return a sparse (n, n_categories) matrix with ones for the observed categories."""
    observed = codes != ABSENT
    ends = np.concatenate([[0], np.cumsum(observed.sum(axis=1))])
    columns = codes[observed].astype(np.int64)
    ones = np.ones(len(columns))
    return sparse.csr_array((ones, columns, ends), shape=(len(codes), n_categories))


class CodedRows:
    """Rows of category numbers as a sparse matrix that indicates the observed categories."""

    def __init__(self, codes: np.ndarray, offsets: np.ndarray):
        self.offsets = offsets
        self.sizes = np.diff(offsets)
        self.matrix = category_indicators(codes, int(offsets[-1]))
        self.transposed = self.matrix.T.tocsr()

    def sum_categories(self, counts: np.ndarray) -> np.ndarray:
        """Return the sum of the counts of its attribute for each category, along the first axis."""
        return np.repeat(
            np.add.reduceat(counts, self.offsets[:-1], axis=0), self.sizes, axis=0
        )

    def category_shares(self, weights: np.ndarray) -> np.ndarray:
        """Return the weighted shares of the categories, shape (C, B); each has one more object."""
        counts = self.transposed @ weights.T + 1
        return counts / self.sum_categories(counts)

    def draw_classes(
        self, weights: np.ndarray, n_draws: int, g: int, rng: Any
    ) -> np.ndarray:
        """Return means of the shares and of randomly drawn rows, shape (n_draws, g, C)."""
        shares = self.category_shares(weights[None])[:, 0]
        p = weights / weights.sum()
        drawn = np.stack(
            [rng.choice(len(weights), g, replace=False, p=p) for _ in range(n_draws)]
        )
        rows = self.matrix[drawn.ravel()].toarray().T
        observed = self.sum_categories(rows)
        return ((rows + (2 - observed) * shares[:, None]) / 2).T.reshape(n_draws, g, -1)


@dataclass(frozen=True, eq=False)
class EMRuns:
    """Results of B runs of EM."""

    proportions: np.ndarray  # (B, g)
    probabilities: np.ndarray  # (B, g, C)
    log_likelihood: np.ndarray  # (B,)
    converged: np.ndarray  # (B,)
    histories: list[np.ndarray]  # values of the objective after every iteration


def run_em(
    data: CodedRows,
    weights: np.ndarray,
    proportions: np.ndarray,
    probabilities: np.ndarray,
    *,
    smoothing: float,
    absolute: float,
    relative: float,
    max_iter: int,
) -> EMRuns:
    """Run EM for B latent class models of the same n rows.

    ``weights`` has the shape (B, n), and ``probabilities`` the shape (B, g, C). ``smoothing``
    objects with the shares of the categories in the weighted rows are added to each component. A
    run stops when the objective L changes by at most ``absolute + relative * |L|``.
    """
    B, g = proportions.shape
    proportions = proportions.copy()
    probabilities = probabilities.copy()
    log_likelihood = np.empty(B)
    converged = np.zeros(B, bool)
    histories: list[list[float]] = [[] for _ in range(B)]
    # The arrays of the b runs that continue: w (n, b), prior (C, b), pi (b, g) and theta (C, b, g)
    left = np.arange(B)
    w = weights.T
    prior = smoothing * data.category_shares(weights)
    pi = proportions
    theta = np.moveaxis(probabilities, 2, 0)
    before = np.full(B, -np.inf)
    for iteration in range(max_iter + 1):
        logs = np.log(theta)
        joint = (data.matrix @ logs.reshape(len(logs), -1)).reshape(-1, len(left), g)
        joint += np.log(np.maximum(pi, _SMALLEST))
        top = joint.max(axis=2)
        Z = np.exp(joint - top[:, :, None])
        total = Z.sum(axis=2)
        likelihood = (w * (np.log(total) + top)).sum(axis=0)
        objective = likelihood + (prior[:, :, None] * logs).sum(axis=(0, 2))
        stops = np.full(len(left), iteration == max_iter)
        if iteration > 0:
            for run, value in zip(left, objective, strict=True):
                histories[run].append(float(value))
            limit = absolute + relative * np.abs(objective)
            converged[left] = objective - before <= limit
            stops |= converged[left]
        Z *= (w / total)[:, :, None]
        if stops.any():
            done = left[stops]
            proportions[done] = pi[stops]
            probabilities[done] = np.moveaxis(theta[:, stops], 0, 2)
            log_likelihood[done] = likelihood[stops]
            goes_on = ~stops
            left = left[goes_on]
            w = w[:, goes_on]
            prior = prior[:, goes_on]
            objective = objective[goes_on]
            Z = Z[:, goes_on]
            if len(left) == 0:
                break
        before = objective
        pi = Z.sum(axis=0) / w.sum(axis=0)[:, None]
        counts = (data.transposed @ Z.reshape(len(Z), -1)).reshape(-1, len(left), g)
        theta = (counts + prior[:, :, None]) / (data.sum_categories(counts) + smoothing)
    return EMRuns(
        proportions,
        probabilities,
        log_likelihood,
        converged,
        list(map(np.array, histories)),
    )


def log_joint(parameters: LatentClassParameters, codes: np.ndarray) -> np.ndarray:
    """Return log(proportion * probability) of each component for each row, shape (n, g)."""
    indicators = category_indicators(codes, parameters.probabilities.shape[1])
    logs = indicators @ np.log(parameters.probabilities).T
    return logs + np.log(np.maximum(parameters.proportions, _SMALLEST))


def refit_em(
    data: np.ndarray,
    weights: np.ndarray,
    start: LatentClassParameters,
    posterior: np.ndarray,
    *,
    max_change: float,
    max_iter: int = 2000,
    regularization: float = 1.0,
) -> Refits:
    """Fit a latent class model to B samples of the rows by EM (see `dempster.mixture.em.refit_em`).

    ``regularization`` is the parameter ``smoothing`` of `LatentClassModel`.
    """
    rows, inverse = find_distinct_rows(data.astype(np.int64), start.offsets)
    weights = np.stack([np.bincount(inverse, w, len(rows)) for w in weights])
    n_resamples = len(weights)
    runs = run_em(
        CodedRows(rows, start.offsets),
        weights,
        np.repeat(start.proportions[None], n_resamples, axis=0),
        np.repeat(start.probabilities[None], n_resamples, axis=0),
        smoothing=regularization,
        absolute=max_change,
        relative=0.0,
        max_iter=max_iter,
    )
    expected = np.empty((len(rows), len(start.proportions)))
    expected[inverse] = posterior  # Equal rows have equal probabilities.
    parameters = (runs.proportions, runs.probabilities)
    overlaps = []
    for w, pi, theta in zip(weights, *parameters, strict=True):
        fitted = LatentClassParameters(pi, theta, start.offsets)
        overlaps.append((w[:, None] * expected).T @ normalize(log_joint(fitted, rows)))
    # Components do not collapse.
    problems: list[str | None] = [None] * n_resamples
    return Refits(parameters, runs.log_likelihood, np.stack(overlaps), problems)
