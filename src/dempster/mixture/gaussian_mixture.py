"""Gaussian mixtures with parsimonious covariance models."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from dempster import _validation as rule
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._fitting import fit_transaction
from dempster._progress import progress_bar
from dempster._random import as_random_state
from dempster._site import DocumentedEstimator
from dempster._validation import (
    as_labels,
    as_reals,
    check_memory,
    check_scale,
    check_size,
    mean_of_rows,
    object_index,
    object_weights,
    ordered_like,
    readable,
    reading,
    reading_labels,
)
from dempster.belief import MassFunctions
from dempster.mixture.em import (
    DIAGONAL_MODELS,
    MODELS,
    EMResult,
    GaussianParameters,
    fit_em,
    log_densities,
    model_name,
    n_parameters,
)
from dempster.mixture.hierarchical import MergeTree, merge_tree
from dempster.optimize.blocks import block_map
from dempster.optimize.descent import as_likely
from dempster.optimize.k_means import k_means

_TREE_LIMIT = 2000  # objects in a tree of merges, which is quadratic, as in mclust
_TREE_SAMPLE = 1000  # objects that stand for more than that
_PARTITIONS = 5  # of k-means, the best of which competes with the tree of a sample
_FIRST_ITERATIONS = 10  # over which starts compete
_TREE_MODEL = {"hierarchical": "VVV", "ward": "EII"}
_AUTO_COMPONENTS = range(1, 10)
_TIE = 1e-9  # criteria that differ by less, relatively, are equal up to rounding: the simpler model wins


def _several(test: Any) -> Any:
    def several(v: Any) -> bool:
        try:
            found = [] if isinstance(v, str | Iterator) else list(v)
        except Exception:  # of what cannot be gone through
            return False
        return len(found) > 0 and all(map(test, found))

    return several


class ParsimoniousGaussianMixture(DensityMixin, DocumentedEstimator, BaseEstimator):
    """Mixture of Gaussian distributions whose covariances share volume, shape or orientation, chosen by BIC.

    The density is sum_k pi_k N(x; mu_k, Sigma_k) with Sigma_k = lambda_k D_k A_k D_k': a volume lambda_k, a shape A_k
    (diagonal, of determinant one) and an orientation D_k (orthogonal). Three letters say of each whether it is Equal
    for all components, Varies among them, or is the Identity: "EII" are spheres of one size, "VEV" ellipsoids of one
    shape that differ in size and direction, "VVV" has no constraint. The likelihood is maximised by EM, from a
    partition of the objects; number of components and model may be given or chosen by the Bayesian information
    criterion, BIC = 2 log-likelihood - (number of parameters) log n. **Larger is better** (the sign of mclust;
    scikit-learn's criterion has the opposite one).

    Where the components overlap or are few, prefer a general model; where objects are few, a simple one.

    Parameters
    ----------
    n_components : int, iterable of int or "auto", default="auto"
        Several: the one with the largest BIC. "auto": 1 to 9 (as far as there are different objects).
    model : str, iterable of str or "auto", default="auto"
        EII, VII, EEI, VEI, EVI, VVI, EEE, VEE, EVE, VVE, EEV, VEV, EVV or VVV; several: the one with the largest BIC.
        "auto": all 14 (with one attribute EII and VII, which may then be called E and V; the others coincide with
        them).
    init : {"hierarchical", "ward", "k-means"}, array or GaussianParameters, default="hierarchical"
        The start of EM. "hierarchical": model-based hierarchical clustering (criterion VVV on sphered data), as in
        mclust; "ward": the same with criterion EII. Both build one tree for all numbers of components; above 2,000
        objects that of a sample of 1,000, or k-means of all, whichever leads to the larger likelihood. "k-means":
        ``n_init`` runs of it on standardised data, the best likelihood is kept. An array holds
        labels (n_samples,) or responsibilities (n_samples, n_components). `GaussianParameters` (``parameters_`` of a
        fitted mixture) are a warm start.
    n_init : int, default=10
        Starts from k-means; the others are not random.
    tol : float, default=1e-5
        EM ends when the log-likelihood L changes by no more than ``tol * (1 + |L|)``.
    max_iter : int, default=1000
    reg_covar : float >= 0, default=0
        This share of the variance of each attribute (the mean variance, for a constant one) is added to the variance
        within the components, before the constraints of the model are applied. It keeps a component from collapsing
        onto a point or a plane. With 0 the estimates are those of maximum likelihood, and a collapse is reported.
    convention : {"scaled", "mclust"}, default="scaled"
        For ``tol``, L is that of attributes in units of their standard deviations ("scaled"), or in the units of X, as
        in mclust ("mclust"): then EM ends earlier where L is large because of the units.
    random_state : int, RandomState, Generator or None
        For k-means and for samples.
    n_jobs : int or None, default=-1
        Threads: -1 uses all processors, None one unless `joblib.parallel_config` says otherwise.

    Attributes
    ----------
    n_components_ : int
    model_ : str
    weights_ : ndarray of shape (n_components_,)
        Proportions.
    means_ : ndarray of shape (n_components_, n_features)
    covariances_ : ndarray of shape (n_components_, n_features, n_features)
    parameters_ : GaussianParameters
        The same, for a warm start.
    labels_ : ndarray of shape (n_samples,)
        Most probable component.
    log_likelihood_, bic_ : float
        Of the (weighted) training objects.
    n_parameters_ : int
    bic_table_ : pandas.DataFrame
        One row for each (n_components, model): ``bic``, ``log_likelihood``, ``n_parameters``, ``n_iter``,
        ``converged`` and ``problem``, which says why a model could not be fitted (its criteria are -inf then), and is
        empty otherwise. ``bic_table_["bic"].unstack()`` is the table of mclust.
    history_ : ndarray
        Log-likelihood after every iteration; it never falls (with ``reg_covar=0``).
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    Notes
    -----
    A component collapses when a variance (of an attribute, given those before it) falls below 1e-10 of that of the
    data, or when it has no objects left. Such a model is marked in ``bic_table_``; if no model is left, `fit` raises a
    ValueError with the reason. A constant attribute leaves only the spherical models EII and VII.

    Estimates agree with those of mclust from the same start but for the model VVE, whose orientation mclust 6.0.0
    computes without regard to the volumes, so that its likelihood is a little below the maximum.

    References
    ----------
    G. Celeux and G. Govaert (1995). Gaussian parsimonious clustering models. Pattern Recognition 28. C. Fraley and
    A. E. Raftery (2002). Model-based clustering, discriminant analysis, and density estimation. Journal of the American
    Statistical Association 97. L. Scrucca, M. Fop, T. B. Murphy and A. E. Raftery (2016). mclust 5: clustering,
    classification and density estimation using Gaussian finite mixture models. The R Journal 8.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dempster.mixture import ParsimoniousGaussianMixture
    >>> X = load_iris().data
    >>> mixture = ParsimoniousGaussianMixture(3).fit(X)
    >>> mixture.model_, round(mixture.bic_, 1)
    ('VEV', -562.6)
    >>> mixture.bic_table_["bic"].nlargest(2).round(1).to_dict()
    {(3, 'VEV'): -562.6, (3, 'VVV'): -580.8}
    """

    _rules: Mapping[str, rule.Rule] = {
        "n_components": rule.choice("auto")
        | rule.integer(1)
        | rule.Rule("several of these", _several(rule.integer(1).test)),
        "model": rule.Rule("a name or 'auto'", lambda v: isinstance(v, str))
        | rule.Rule("several names", _several(lambda v: isinstance(v, str))),
        "init": rule.choice("hierarchical", "ward", "k-means") | rule.kind(GaussianParameters) | rule.array,
        "n_init": rule.repetitions(),
        "max_iter": rule.iterations(),
        "tol": rule.real(0),
        "reg_covar": rule.real(0),
        "convention": rule.choice("scaled", "mclust"),
        "random_state": rule.seed,
        "n_jobs": rule.n_jobs,
    }

    def __init__(
        self,
        n_components: Any = "auto",
        *,
        model: Any = "auto",
        init: Any = "hierarchical",
        n_init: int = 10,
        tol: float = 1e-5,
        max_iter: int = 1000,
        reg_covar: float = 0.0,
        convention: str = "scaled",
        random_state: Any = None,
        n_jobs: int | None = -1,
    ):
        self.n_components = n_components
        self.model = model
        self.init = init
        self.n_init = n_init
        self.tol = tol
        self.max_iter = max_iter
        self.reg_covar = reg_covar
        self.convention = convention
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ---- fitting --------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Estimate the mixture, and choose number of components and model where several are allowed.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            An object of weight 2 counts as two, one of weight 0 not at all (a bootstrap sample is a vector of
            weights).
        """
        with fit_transaction(self) as draft:
            draft._estimate(X, sample_weight)
        return self

    def _estimate(self, X: Any, sample_weight: Any) -> None:
        rule.check_parameters(self, self._rules)
        X = readable(self, X)
        with reading(X, "X"):
            data = validate_data(self, X, dtype=np.float64, order="C", ensure_min_samples=2)
        check_scale(data, "X")
        weights = object_weights(ordered_like(sample_weight, object_index(X)), len(data))
        used = data if weights is None else data[weights > 0]
        varying = (used != used[0]).any(axis=0)
        if not varying.any():
            which = "all its rows" if len(used) == len(data) else "all of them whose sample_weight is not zero"
            raise InvalidParameterError(
                "X", message=f"X must hold at least two different objects, but {which} are equal"
            )
        init = ordered_like(self.init, object_index(X))
        starts = Starts(data, weights, init, self.n_init, as_random_state(self.random_state))
        candidates, different = self._candidates(starts.given_components(), used)
        short = len(used) <= data.shape[1]
        why = {c: self._obstacle(*c, different, ~varying, short) for c in candidates}
        results = {c: EMResult(None, -np.inf, 0, False, None, why[c], np.empty(0)) for c in candidates if why[c]}
        results.update(self._fit_all(starts, [c for c in candidates if c not in results]))
        results = {c: results[c] for c in candidates}
        total = float(len(data) if weights is None else weights.sum())
        self._choose(results, total, len(used))

    def _candidates(self, given: int | None, used: np.ndarray) -> tuple[list[tuple[int, str]], int]:
        """List all pairs of a number of components and a model, the simplest first, and count different objects."""
        d = used.shape[1]
        if isinstance(self.n_components, str):
            numbers = list(_AUTO_COMPONENTS) if given is None else [given]
            different = _count_different(used, numbers[-1])
            numbers = numbers if given is not None else [g for g in numbers if g <= different]
        else:
            one = isinstance(self.n_components, Integral)
            numbers = [int(self.n_components)] if one else sorted({int(g) for g in self.n_components})
            different = _count_different(used, numbers[-1])
            if numbers[0] > different:
                raise InvalidParameterError(
                    "n_components", f"at most the number of different objects in X, {different}", numbers[0]
                )
        if given is not None and numbers != [given]:
            raise InvalidParameterError("n_components", f"{given}, as in init", self.n_components)
        if isinstance(self.model, str) and self.model == "auto":
            models = list(MODELS if d > 1 else MODELS[:2])
        else:
            names = [self.model] if isinstance(self.model, str) else list(self.model)
            chosen = {model_name(name, d) for name in names}
            models = [name for name in MODELS if name in chosen]
        return [(g, name) for g in numbers for name in models], different

    def _obstacle(self, n_components: int, model: str, different: int, constant: np.ndarray, short: bool) -> str | None:
        """Say why a model need not be tried; ``short``: whether the objects are too few to vary in all directions."""
        if n_components > different:
            return f"more components than the {different} different objects in X"
        if constant.any() and model not in ("EII", "VII") and self.reg_covar == 0:
            return f"attribute {constant.argmax() + 1} is constant, which leaves the spherical models EII and VII"
        if short and model not in DIAGONAL_MODELS and self.reg_covar == 0:
            return "every covariance matrix is singular: there must be more objects than attributes"
        return None

    def _fit_all(self, starts: Starts, candidates) -> dict[tuple[int, str], EMResult]:
        """Run EM for every candidate, from its best start."""
        settings = {"tol": self.tol, "max_iter": self.max_iter, "regularization": self.reg_covar}
        settings["scaled"] = self.convention == "scaled"
        shared = {g: starts.of(g) for g in sorted({g for g, _ in candidates})}

        def best(g: int, model: str) -> EMResult:
            run = starts.best_run(shared[g], model, **settings)
            advance(f"{g} components, {model}")
            return run

        bar = progress_bar(type(self).__name__, len(candidates), "models", shown=False)
        with bar as advance, block_map(self.n_jobs) as apply:
            return dict(zip(candidates, apply(best, candidates), strict=True))

    def _choose(self, results: dict[tuple[int, str], EMResult], total: float, n_used: int) -> None:
        import pandas as pd

        d = self.n_features_in_
        rows, chosen = [], None
        for (g, model), run in results.items():
            count = n_parameters(model, g, d)
            bic = 2 * run.log_likelihood - count * np.log(total)
            problem = run.problem or ""
            rows.append((g, model, bic, run.log_likelihood, count, run.n_iter, run.converged, problem))
            if run.problem is None and (chosen is None or bic > chosen[0] + _TIE * abs(chosen[0])):
                chosen = bic, (g, model)
        names = ["n_components", "model", "bic", "log_likelihood", "n_parameters", "n_iter", "converged", "problem"]
        table = pd.DataFrame(rows, columns=names).set_index(names[:2])
        if chosen is None:
            raise InvalidInputError(_why_not(table, n_used, d))
        bic, (g, model) = chosen
        run = results[g, model]
        assert run.parameters is not None
        assert run.responsibilities is not None
        self.bic_table_ = table
        self.n_components_, self.model_, self.bic_ = g, model, float(bic)
        self.parameters_, self.log_likelihood_ = run.parameters, run.log_likelihood
        self.weights_ = run.parameters.proportions
        self.means_ = run.parameters.means
        self.covariances_ = run.parameters.covariances
        self.labels_ = run.responsibilities.argmax(axis=1)
        self.n_parameters_ = n_parameters(model, g, d)
        self.history_, self.n_iter_, self.converged_ = run.history, run.n_iter, run.converged
        if not run.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in max_iter={self.max_iter} iterations; "
                "increase max_iter or tol",
                ConvergenceWarning,
                stacklevel=4,
            )

    # ---- use ------------------------------------------------------------------------------------------------------

    def _log_joint(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "parameters_")
        X = readable(self, X)
        with reading(X, "X"):
            data = validate_data(self, X, reset=False, dtype=np.float64, order="C")
        check_size(data, "X")
        return log_densities(self.parameters_, data)

    def predict(self, X: Any) -> np.ndarray:
        """Most probable component of each object."""
        return self._log_joint(X).argmax(axis=1)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """`fit`, then the most probable component of each training object."""
        return self.fit(X, y, sample_weight=sample_weight).labels_

    def predict_proba(self, X: Any) -> np.ndarray:
        """(n_samples, n_components_) probabilities of the components given the objects."""
        joint = self._log_joint(X)
        joint = np.exp(joint - joint.max(axis=1, keepdims=True))
        return joint / joint.sum(axis=1, keepdims=True)

    def score_samples(self, X: Any) -> np.ndarray:
        """(n_samples,) logarithm of the density at each object."""
        joint = self._log_joint(X)
        top = joint.max(axis=1)
        return top + np.log(np.exp(joint - top[:, None]).sum(axis=1))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log-density of the objects."""
        return float(self.score_samples(X).mean())

    def bic(self, X: Any) -> float:
        """2 log-likelihood - (number of parameters) log n: larger is better, as ``bic_`` and ``bic_table_``."""
        density = self.score_samples(X)
        return float(2 * density.sum() - self.n_parameters_ * np.log(len(density)))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Draw objects from the mixture.

        Parameters
        ----------
        n_samples : int, default=1
        random_state : int, RandomState, Generator or None
            None: that of the mixture.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
        components : ndarray of shape (n_samples,)
        """
        check_is_fitted(self, "parameters_")
        rule.check(n_samples, "n_samples", rule.integer(1))
        check_memory(8 * n_samples * (2 * self.n_features_in_ + 2), f"n_samples={n_samples:,}", "draw fewer at once")
        rng = as_random_state(self.random_state if random_state is None else random_state)
        components = np.sort(rng.choice(self.n_components_, n_samples, p=self.weights_ / self.weights_.sum()))
        factors = np.linalg.cholesky(self.covariances_)
        noise = rng.standard_normal((n_samples, self.n_features_in_))
        return self.means_[components] + np.einsum("nij,nj->ni", factors[components], noise), components


def _count_different(X: np.ndarray, enough: int) -> int:
    """Count different rows, in the first thousand if there are enough of them, otherwise overall."""
    first = len(np.unique(X[:1000], axis=0))
    return first if first >= enough or len(X) <= 1000 else len(np.unique(X, axis=0))


def _why_not(table: Any, n_used: int, d: int) -> str:
    """Compose the message when no model could be fitted."""
    first = table.iloc[0]
    g, model = table.index[0]
    components = "1 component" if g == 1 else f"{g} components"
    what = f"model {model} with {components} cannot be fitted to {n_used} objects with {d} attributes"
    others = f" (and {len(table) - 1} more that failed)" if len(table) > 1 else ""
    return (
        f"{what}{others}: {first['problem']}; use fewer components, a simpler model (it has {first['n_parameters']} "
        "parameters) or reg_covar > 0"
    )


# ---- where EM begins: merge trees, k-means, or what the user gave ---------------------------------------------------


@dataclass(frozen=True, eq=False)
class Start:
    """Responsibilities of all objects, or of a sample of them (``data``), or parameters."""

    state: np.ndarray | GaussianParameters
    data: np.ndarray | None = None

    def fit(self, data: np.ndarray, weights: np.ndarray | None, model: str, **settings: Any) -> EMResult:
        state = self.state
        if self.data is not None and isinstance(state, np.ndarray):
            first = fit_em(self.data, None, state, model, **{**settings, "max_iter": 1})
            if first.parameters is None:
                return first
            state = first.parameters
        return fit_em(data, weights, state, model, **settings)


class Starts:
    """Starts for every number of components: what can be shared between them is computed once."""

    def __init__(self, data: np.ndarray, weights: np.ndarray | None, init: Any, n_init: int, rng: Any):
        self.data, self.weights, self.n_init, self.rng = data, weights, n_init, rng
        if isinstance(init, GaussianParameters):
            init = _checked_parameters(init, data.shape[1])
        elif not isinstance(init, str):
            init = _responsibilities(init, len(data))
        self.init: str | np.ndarray | GaussianParameters = init
        self._tree: tuple[MergeTree, np.ndarray | None] | None = None
        self._ordered: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None

    def given_components(self) -> int | None:
        """Return the number of components of a given start."""
        if isinstance(self.init, str):
            return None
        return len(self.init.proportions) if isinstance(self.init, GaussianParameters) else self.init.shape[1]

    def of(self, n_components: int) -> Sequence[Start]:
        """Return one start, or ``n_init`` of them from k-means, or the tree of a sample and k-means of all objects."""
        if not isinstance(self.init, str):
            return [Start(self.init)]
        if n_components == 1:
            return [Start(np.ones((len(self.data), 1)))]
        if self.init == "k-means":
            return [self._partition(n_components, 1) for _ in range(self.n_init)]
        tree, sample = self._merge_tree(_TREE_MODEL[self.init])
        merged = Start(one_hot(tree.labels(n_components), n_components), sample)
        return [merged] if sample is None else [merged, self._partition(n_components, _PARTITIONS)]

    def best_run(self, starts: Sequence[Start], model: str, **settings: Any) -> EMResult:
        """Run EM from the best of these starts: by the likelihood at the end of runs from k-means, by that after a few
        iterations of a tree and k-means, then from the next if a component collapses."""
        if len(starts) == 1 or self.init == "k-means":
            runs = [start.fit(self.data, self.weights, model, **settings) for start in starts]
            # starts often end at the same place up to rounding, which must not decide how components are numbered
            best = as_likely([run.log_likelihood for run in runs], float(self._in_order()[2].sum()))
            return runs[best[0]]
        few = {**settings, "max_iter": min(_FIRST_ITERATIONS, settings["max_iter"])}
        begun = [start.fit(self.data, self.weights, model, **few) for start in starts]
        begun.sort(key=lambda run: -run.log_likelihood)
        ended = (_continue(run, self.data, self.weights, model, **settings) for run in begun)
        return next((run for run in ended if run.problem is None), begun[0])

    def _merge_tree(self, model: str) -> tuple[MergeTree, np.ndarray | None]:
        if self._tree is None:
            rows = self._sampled_rows()
            if rows is None:
                self._tree = merge_tree(self.data, model=model, sample_weight=self.weights), None
            else:
                sample = self.data[rows]
                self._tree = merge_tree(sample, model=model), sample
        return self._tree

    def _sampled_rows(self) -> np.ndarray | None:
        """Draw rows spread evenly along a projection, in proportion to the weights; None stands for all rows."""
        order, _, w = self._in_order()
        if len(order) <= _TREE_LIMIT:
            return None
        reach = np.cumsum(w)
        at = (np.arange(_TREE_SAMPLE) + self.rng.random_sample(_TREE_SAMPLE)) / _TREE_SAMPLE * reach[-1]
        return order[np.searchsorted(reach, at, side="right").clip(max=len(order) - 1)]

    def _in_order(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rows of positive weight in the order of a projection, standardised data and weights in that order.

        Random choices are made along it, so that permuting the rows, or repeating them instead of giving them a
        weight, leads to the same start.
        """
        if self._ordered is None:
            w = np.ones(len(self.data)) if self.weights is None else self.weights
            mean = mean_of_rows(self.data, w)
            deviation = np.sqrt(np.average((self.data - mean) ** 2, axis=0, weights=w))
            scaled = (self.data - mean) / np.where(deviation > 0, deviation, 1.0)
            order = np.argsort(scaled @ np.random.RandomState(0).normal(size=scaled.shape[1]), kind="stable")
            order = order[w[order] > 0]
            self._ordered = order, scaled[order], w[order]
        return self._ordered

    def _partition(self, n_components: int, runs: int) -> Start:
        """Return the best of some runs of k-means."""
        order, scaled, w = self._in_order()
        found = [k_means(scaled, n_components, self.rng, w) for _ in range(runs)]
        _, best = min(found, key=lambda each: np.dot(w, np.square(scaled - each[0][each[1]]).sum(axis=1)))
        labels = np.full(len(self.data), -1)
        labels[order] = best
        return Start(one_hot(labels, n_components))


def _continue(begun: EMResult, data: np.ndarray, weights: np.ndarray | None, model: str, **settings: Any) -> EMResult:
    """Continue a run to its end."""
    left = settings["max_iter"] - begun.n_iter
    if begun.parameters is None or begun.converged or left == 0:
        return begun
    rest = fit_em(data, weights, begun.parameters, model, **{**settings, "max_iter": left})
    history = np.concatenate([begun.history, rest.history])
    return replace(rest, n_iter=begun.n_iter + rest.n_iter, history=history)


def one_hot(labels: np.ndarray, n_components: int) -> np.ndarray:
    """Return the (n, g) responsibilities of a partition; none for objects whose label is -1."""
    return (labels[:, None] == np.arange(n_components)).astype(np.float64)


def _responsibilities(init: Any, n: int) -> np.ndarray:
    """Read a given start, labels or an (n, g) array, as responsibilities."""
    if isinstance(init, MassFunctions):
        raise InvalidParameterError(
            "init",
            message=f"init must hold labels or responsibilities, got a {type(init).__name__}, whose columns are sets: "
            "give its pignistic(), or its labels",
        )
    with reading_labels(init, "init"):
        array = np.asarray(init)
    if array.ndim not in (1, 2) or len(array) != n:
        raise InvalidParameterError(
            "init", f"labels of shape ({n},) or responsibilities of shape ({n}, n_components)", array.shape
        )
    if array.ndim == 1:
        with reading_labels(init, "init"):
            different, labels = np.unique(as_labels(init, "init"), return_inverse=True)
        return one_hot(labels, len(different))
    array = as_reals(init, "init").astype(np.float64)
    if not np.isfinite(array).all() or (array < 0).any() or not np.allclose(array.sum(axis=1), 1, atol=1e-6):
        raise InvalidParameterError("init", "responsibilities that are nonnegative and sum to one in every row")
    return array


def _checked_parameters(init: GaussianParameters, d: int) -> GaussianParameters:
    g = len(init.proportions)
    shapes = np.shape(init.means), np.shape(init.covariances)
    if shapes != ((g, d), (g, d, d)):
        raise InvalidParameterError("init", f"means of shape {(g, d)} and covariances of shape {(g, d, d)}", shapes)
    return init
