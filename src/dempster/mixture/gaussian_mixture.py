"""Gaussian mixtures with parsimonious covariance models, initialized by hierarchical clustering."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._arrays import row_mean
from dempster._errors import InvalidParameterError
from dempster._native import interruptible, kernel
from dempster._progress import progress_bar
from dempster._random import as_random_state
from dempster.belief import MassFunctions
from dempster.data.sampling import systematic_draw
from dempster.mixture import em
from dempster.mixture._base import MIXTURE_RULES, Mixture, several
from dempster.mixture.em import EMResult, GaussianParameters
from dempster.optimize.blocks import block_map
from dempster.optimize.descent import find_likeliest
from dempster.optimize.k_means import k_means

_MODELS = ("EII", "VII", "VVV")  # In the order of the constants in agglomeration.c.
_agglomerate = kernel("""agglomerate(
    points: float64[steps + 1, d], sizes: float64[steps + 1], model: int, alpha: float,
    merges: int64[steps, 2] out)""")
_cut = kernel("""cut_merges(
    merges: int64[steps, 2] up to steps, n_merges: int up to steps,
    labels: int64[steps + 1] out)""")


@dataclass(frozen=True, eq=False)
class MergeTree:
    """Merges of an agglomerative clustering of the distinct rows (points) of a table."""

    # Clusters merged at each step, shape (n_points - 1, 2), given by their first points.
    merges: np.ndarray
    # Index of the point of each row, shape (n_samples,); -1 for a row of weight zero.
    point_of: np.ndarray

    def labels(self, n_clusters: int) -> np.ndarray:
        """Return the cluster of each row, numbered in the order of the sorted points.

        -1 for rows of weight zero.
        """
        n_points = len(self.merges) + 1
        labels = np.empty(n_points, np.int64)
        _cut(self.merges, n_points - n_clusters, labels)
        return np.append(labels, -1)[self.point_of]


def merge_tree(
    X: np.ndarray,
    *,
    model: str = "VVV",
    sample_weight: np.ndarray | None = None,
    sphere: bool = True,
) -> MergeTree:
    """Compute a hierarchy of clusters by a Gaussian classification likelihood (Fraley, 1998).

    Each step merges the two clusters whose union decreases the likelihood least. Time and memory
    are quadratic in the number of different rows. The covariance ``model`` is unconstrained
    ("VVV"), spherical ("VII"), or spherical with equal volumes ("EII", Ward's method). If
    ``sphere`` is True, the data are standardized, rotated to their principal axes and divided by
    the square roots of the singular values (Scrucca and Raftery, 2015).
    """
    weights = np.ones(len(X)) if sample_weight is None else sample_weight
    used = np.flatnonzero(weights > 0)
    # The points are sorted and distinct, so that the result does not depend on the order of the
    # rows.
    points, inverse = np.unique(X[used], axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    sizes = np.bincount(inverse, weights[used], len(points))
    if sphere:
        points = _sphere(points, sizes)
    gaps = points - np.average(points, axis=0, weights=sizes)
    alpha = float(sizes @ (gaps * gaps).sum(axis=1)) / (
        sizes.sum() * max(points.shape[1], 1)
    )
    merges = np.empty((len(points) - 1, 2), np.int64)
    alpha = max(alpha, np.finfo(float).tiny)
    interruptible(
        _agglomerate,
        np.ascontiguousarray(points),
        sizes,
        _MODELS.index(model),
        alpha,
        merges,
    )
    point_of = np.full(len(X), -1)
    point_of[used] = inverse
    return MergeTree(merges, point_of)


def _sphere(points: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Return the sphered points; see `merge_tree`."""
    total = sizes.sum()
    gaps = points - np.average(points, axis=0, weights=sizes)
    deviation = np.sqrt(sizes @ (gaps * gaps) / max(total - 1, 1.0))
    varying = (points != points[0]).any(axis=0)
    gaps = gaps[:, varying] / deviation[varying]
    _, singular, axes = np.linalg.svd(
        np.sqrt(sizes)[:, None] * gaps, full_matrices=False
    )
    used = singular > 1e-10 * singular.max(initial=0.0)
    return gaps @ axes[used].T / np.sqrt(singular[used])


# Maximum number of rows for the merge tree, which has quadratic cost (the limit of mclust).
_TREE_LIMIT = 2000
# Number of rows that are drawn for the merge tree if there are more.
_TREE_SAMPLE = 1000
# Number of runs of k-means, the best of which is compared with the merge tree of the drawn rows.
_PARTITIONS = 5
_FIRST_ITERATIONS = 10  # Number of iterations after which runs of EM are compared.
_TREE_MODEL = {"hierarchical": "VVV", "ward": "EII"}


class ParsimoniousGaussianMixture(Mixture):
    """Mixture of Gaussian distributions whose covariances share volume, shape or orientation.

    The density is sum_k pi_k N(x; mu_k, Sigma_k) with Sigma_k = lambda_k D_k A_k D_k', where
    lambda_k is the volume, A_k the shape (diagonal, with determinant one) and D_k the orientation
    (orthogonal) of component k. The three letters of a covariance model describe whether volume,
    shape and orientation are Equal for all components, Varying, or the Identity. For example, the
    components are spheres of the same size with "EII", ellipsoids of the same shape but with
    different sizes and directions with "VEV", and unconstrained with "VVV".

    EM maximizes the likelihood, starting from a partition of the objects. The number of components
    and the model can be selected by the Bayesian information criterion, BIC = 2 log-likelihood -
    (number of parameters) log n. **Larger is better**, like in mclust. Scikit-learn's criterion has
    the opposite sign, and so have the methods `bic` and `aic`: for the training objects, ``bic(X)``
    is equal to ``-bic_``.

    Prefer a general model if the components overlap or are few, and a simple model if there are few
    objects.

    Parameters
    ----------
    n_components : int, iterable of int or "auto", default="auto"
        Number of components. If it contains several numbers, the number with the largest BIC is
        selected. "auto" stands for 1 to 9, but at most the number of different objects.
    model : str, iterable of str or "auto", default="auto"
        Covariance model, EII, VII, EEI, VEI, EVI, VVI, EEE, VEE, EVE, VVE, EEV, VEV, EVV or VVV. If
        there are several names, the model with the largest BIC is selected. "auto" stands for all
        models. For one attribute all models are equal to EII or VII, which are then also called E
        and V.
    init : {"hierarchical", "ward", "k-means"}, array or GaussianParameters, default="hierarchical"
        Initialization of EM. "hierarchical" uses model-based hierarchical clustering of sphered
        data with the criterion VVV, like mclust, and "ward" with the criterion EII, which is also
        used if there are not more objects than attributes. Above 2,000 objects, hierarchical
        clustering of 1,000 randomly drawn objects is compared with k-means of all objects, and EM
        continues with the larger likelihood. "k-means" runs EM from ``n_init`` partitions of the
        standardized data and keeps the largest likelihood. An array contains labels, shape
        (n_samples,), or responsibilities, shape (n_samples, n_components). `GaussianParameters` are
        initial parameters, such as ``parameters_`` of a fitted mixture.
    n_init : int, default=10
        Number of partitions for ``init="k-means"``; the other initializations are used once.
    tol : float, default=1e-5
        EM stops when the log-likelihood L changes by at most ``tol * (1 + |L|)``.
    max_iter : int, default=1000
        Maximum number of iterations of EM.
    reg_covar : float >= 0, default=0
        This share of the variance of each attribute (of the mean variance if the attribute is
        constant) is added to its variance within the components, before the constraints of the
        model are applied. It prevents components from collapsing to a point or a plane. With 0, the
        result is the maximum likelihood estimate, and a collapse is reported.
    convention : {"scaled", "mclust"}, default="scaled"
        Units of the attributes for L in ``tol``. With "scaled", they are the standard deviations of
        the attributes. With "mclust", they are the units of X, like in mclust, so that EM stops
        earlier if L is large because of the units.
    random_state : int, RandomState, Generator or None
        Seed for k-means and for drawing objects.
    n_jobs : int or None, default=-1
        Number of threads. -1 uses all processors; None uses one unless `joblib.parallel_config`
        sets another number.

    Attributes
    ----------
    n_components_ : int
        Number of components.
    model_ : str
        Covariance model.
    weights_ : ndarray of shape (n_components_,)
        Proportions of the components.
    means_ : ndarray of shape (n_components_, n_features)
        Means of the components.
    covariances_ : ndarray of shape (n_components_, n_features, n_features)
        Covariance matrices of the components.
    parameters_ : GaussianParameters
        Proportions, means and covariances as one object, which can be used as ``init``.
    labels_ : ndarray of shape (n_samples,)
        Most probable component of each training object.
    log_likelihood_, bic_ : float
        Log-likelihood and BIC (larger is better) of the (weighted) training objects.
    n_parameters_ : int
        Number of free parameters.
    bic_table_ : pandas.DataFrame
        Table with a row for each number of components and each model, and the columns ``bic``,
        ``log_likelihood``, ``n_parameters``, ``n_iter``, ``converged`` and ``problem``. If a model
        could not be fitted, ``problem`` contains the reason, and ``bic`` is -inf.
        ``bic_table_["bic"].unstack()`` has the format of mclust.
    history_ : ndarray
        Log-likelihood after every iteration; it never decreases (with ``reg_covar=0``).
    n_iter_ : int
    converged_ : bool
    n_features_in_ : int

    Notes
    -----
    A component collapses if it has no objects left, or if the conditional variance of an attribute
    given the previous attributes falls below 1e-10 times the variance of the attribute in the data.
    ``bic_table_`` contains the reason. If all models collapse, `fit` raises a ValueError. With a
    constant attribute, only the spherical models EII and VII can be fitted.

    From the same initialization, the estimates agree with those of mclust, except for the model
    VVE. mclust 6.0.0 computes its orientation without the volumes, so that the likelihood is
    slightly below the maximum.

    References
    ----------
    G. Celeux and G. Govaert (1995). Gaussian parsimonious clustering models. Pattern Recognition
    28. C. Fraley and A. E. Raftery (2002). Model-based clustering, discriminant analysis, and
    density estimation. Journal of the American Statistical Association 97. L. Scrucca, M. Fop, T.
    B. Murphy and A. E. Raftery (2016). mclust 5: clustering, classification and density estimation
    using Gaussian finite mixture models. The R Journal 8.

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

    parameters_: GaussianParameters
    means_: Annotated[np.ndarray, "g n_features"]
    covariances_: Annotated[np.ndarray, "g n_features n_features"]

    _advice = "use fewer components, a simpler model or reg_covar > 0"
    _rules = {
        **MIXTURE_RULES,
        "model": rule.kind(str, words="a name or 'auto'")
        | rule.Rule("several names", several(rule.kind(str).test)),
        "init": rule.choice("hierarchical", "ward", "k-means")
        | rule.kind(GaussianParameters)
        | rule.array,
        "reg_covar": rule.nonnegative,
        "convention": rule.choice("scaled", "mclust"),
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

    # ---- fitting ---------------------------------------------------------------------------------

    def _estimate(self, X: Any, sample_weight: Any) -> None:
        rule.check_parameters(self, self._rules)
        data = rule.validate_features(self, X, reset=True, min_rows=2)
        data = data.astype(np.float64, copy=False)
        weights = rule.validate_weights(
            rule.reorder_like(sample_weight, rule.row_index(X)), len(data)
        )
        used = data if weights is None else data[weights > 0]
        varying = (used != used[0]).any(axis=0)
        if not varying.any():
            must = "contain at least two different objects of positive sample_weight"
            raise InvalidParameterError("X", must=must)
        init = rule.reorder_like(self.init, rule.row_index(X))
        settings = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "regularization": self.reg_covar,
            "scaled": self.convention == "scaled",
        }
        rng = as_random_state(self.random_state)
        starts = EMStarts(data, weights, init, self.n_init, rng, settings)
        candidates, n_different = self._candidates(starts.n_components(), used)
        is_short = len(used) <= data.shape[1]
        results = {
            c: EMResult(problem=self._find_problem(*c, n_different, ~varying, is_short))
            for c in candidates
        }
        possible = [c for c in candidates if results[c].problem is None]
        results.update(self._fit_all(starts, possible))
        total = float(len(data) if weights is None else weights.sum())
        run = self._select_model(
            results,
            total,
            lambda g, model: em.count_parameters(model, g, data.shape[1]),
        )
        assert run.responsibilities is not None
        self.labels_ = run.responsibilities.argmax(axis=1)
        self.means_ = run.parameters.means
        self.covariances_ = run.parameters.covariances

    def _candidates(
        self, n_start: int | None, used: np.ndarray
    ) -> tuple[list[tuple[int, str]], int]:
        """Return all pairs (number of components, model) and the number of different rows.

        The simplest pairs are first.
        """
        d = used.shape[1]
        numbers = self._requested_numbers()
        if n_start is not None:
            if not isinstance(self.n_components, str) and numbers != [n_start]:
                raise InvalidParameterError(
                    "n_components", f"{n_start}, the number in init", self.n_components
                )
            numbers = [n_start]
        n_different = _count_different(used, numbers[-1])
        if n_start is None:
            numbers = self._possible_numbers(numbers, n_different)
        names = [self.model] if isinstance(self.model, str) else list(self.model)
        if names == ["auto"]:
            names = list(em.MODELS if d > 1 else em.MODELS[:2])
        requested = {em.resolve_model(name, d) for name in names}
        models = [name for name in em.MODELS if name in requested]
        return [(g, name) for g in numbers for name in models], n_different

    def _find_problem(
        self,
        n_components: int,
        model: str,
        n_different: int,
        constant: np.ndarray,
        is_short: bool,
    ) -> str | None:
        """Return the reason why a model cannot be fitted, or None.

        ``is_short`` means that n_samples <= n_features.
        """
        if n_components > n_different:
            return f"more components than the {n_different} different objects in X"
        if self.reg_covar > 0:
            return None
        if constant.any() and model not in ("EII", "VII"):
            column = f"attribute {constant.argmax() + 1} is constant"
            return f"{column}, which only the spherical models EII and VII allow"
        if is_short and model not in em.DIAGONAL_MODELS:
            reason = "there are not more objects than attributes"
            return f"every covariance matrix is singular, because {reason}"
        return None

    def _fit_all(self, starts: EMStarts, candidates) -> dict[tuple[int, str], EMResult]:
        shared = {g: starts.create(g) for g in sorted({g for g, _ in candidates})}

        def fit_best(g: int, model: str) -> EMResult:
            run = starts.fit_best(shared[g], model)
            advance(f"{g} components, {model}")
            return run

        bar = progress_bar(type(self).__name__, len(candidates), "models", shown=False)
        with bar as advance, block_map(self.n_jobs) as apply:
            return dict(zip(candidates, apply(fit_best, candidates), strict=True))

    # ---- prediction ------------------------------------------------------------------------------

    def _log_joint(self, X: Any) -> np.ndarray:
        check_is_fitted(self, "parameters_")
        data = rule.validate_features(self, X, reset=False)
        return em.log_densities(self.parameters_, data)

    def _draw(self, components: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        out = np.empty((len(components), self.n_features_in_))
        for k, factor in enumerate(np.linalg.cholesky(self.covariances_)):
            members = components == k
            noise = rng.standard_normal((int(members.sum()), self.n_features_in_))
            out[members] = self.means_[k] + noise @ factor.T
        return out


def _count_different(X: np.ndarray, enough: int) -> int:
    """Count the distinct rows.

    If the first 1,000 rows include ``enough`` distinct rows, count only these.
    """
    first = len(np.unique(X[:1000], axis=0))
    if first >= enough or len(X) <= 1000:
        return first
    return len(np.unique(X, axis=0))


# ---- starts of EM --------------------------------------------------------------------------------


class EMStart(NamedTuple):
    """Initial parameters or responsibilities of EM."""

    state: np.ndarray | GaussianParameters
    sample: np.ndarray | None = None  # rows of the responsibilities (None: all)


class EMStarts:
    """Initial values of EM for every number of components, computed from the same merge tree."""

    def __init__(
        self,
        data: np.ndarray,
        weights: np.ndarray | None,
        init: Any,
        n_init: int,
        rng: Any,
        settings: dict[str, Any],
    ):
        self.data = data
        self.weights = weights
        self.n_init = n_init
        self.rng = rng
        self.settings = settings  # keyword arguments of `em.fit_em`
        if isinstance(init, GaussianParameters):
            if init.means.shape[1] != data.shape[1]:
                raise InvalidParameterError(
                    "init", f"means with {data.shape[1]} attributes", init.means.shape
                )
        elif not isinstance(init, str):
            init = _read_responsibilities(init, len(data))
        self.init = init

    def n_components(self) -> int | None:
        """Return the number of components of ``init``, or None if it is a name."""
        if isinstance(self.init, str):
            return None
        if isinstance(self.init, GaussianParameters):
            return len(self.init.proportions)
        return self.init.shape[1]

    def create(self, n_components: int) -> Sequence[EMStart]:
        """Return the initial values for a number of components.

        There are ``n_init`` initial values for k-means, two for hierarchical clustering of a subset
        of the rows (the second is from k-means of all rows), and one otherwise.
        """
        if not isinstance(self.init, str):
            return [EMStart(self.init)]
        if n_components == 1:
            return [EMStart(np.ones((len(self.data), 1)))]
        if self.init == "k-means":
            return [self._run_k_means(n_components, 1) for _ in range(self.n_init)]
        tree, sample = self._tree
        starts = [EMStart(one_hot(tree.labels(n_components), n_components), sample)]
        if sample is not None:
            starts.append(self._run_k_means(n_components, _PARTITIONS))
        return starts

    def fit_best(self, starts: Sequence[EMStart], model: str) -> EMResult:
        """Run EM from several initial values and return the result with the largest likelihood.

        With ``init="k-means"``, complete runs are compared. Otherwise the runs from the merge tree
        and from k-means are compared after a few iterations. If a component of the better run
        collapses later, the other run is used.
        """
        if len(starts) == 1 or self.init == "k-means":
            runs = [self._fit(start, model) for start in starts]
            # Likelihoods are often equal up to rounding errors, which must not determine the
            # numbering of components.
            likelihoods = [run.log_likelihood for run in runs]
            total = float(self._in_order[2].sum())
            return runs[find_likeliest(likelihoods, total)[0]]
        max_iter = self.settings["max_iter"]
        few = min(_FIRST_ITERATIONS, max_iter)
        runs = [self._fit(start, model, max_iter=few) for start in starts]
        runs.sort(key=lambda run: -run.log_likelihood)
        for run in runs:
            if run.problem is not None:
                continue
            n_left = max_iter - len(run.history)
            if run.converged or n_left == 0:
                return run
            rest = self._fit(EMStart(run.parameters), model, max_iter=n_left)
            if rest.problem is None:
                history = np.concatenate([run.history, rest.history])
                return replace(rest, history=history)
        return runs[0]

    def _fit(self, start: EMStart, model: str, **changes: Any) -> EMResult:
        """Run EM with the settings, except for the changes."""
        settings = {**self.settings, **changes}
        state = start.state
        if start.sample is not None:
            one_step = {**settings, "max_iter": 1}
            first = em.fit_em(start.sample, None, state, model, **one_step)
            if first.parameters is None:
                return first
            state = first.parameters
        return em.fit_em(self.data, self.weights, state, model, **settings)

    @cached_property
    def _tree(self) -> tuple[MergeTree, np.ndarray | None]:
        """Merge tree, and the rows from which it was built (None: all rows)."""
        model = _TREE_MODEL[self.init]
        order, _, w = self._in_order
        if len(order) <= self.data.shape[1]:
            # Sphering makes all distances between so few rows equal.
            model = _TREE_MODEL["ward"]
        if len(order) <= _TREE_LIMIT:
            tree = merge_tree(self.data, model=model, sample_weight=self.weights)
            return tree, None
        sample = self.data[order[systematic_draw(w, _TREE_SAMPLE, self.rng)]]
        return merge_tree(sample, model=model), sample

    @cached_property
    def _in_order(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Indices of the rows of positive weight, sorted along a line, their data and weights.

        The data are standardized. Random choices use this order, so that the initial values do not
        depend on the order of the rows, and rows can be repeated instead of weighted.
        """
        data = self.data
        w = np.ones(len(data)) if self.weights is None else self.weights
        mean = row_mean(data, w)
        deviation = np.sqrt(np.average((data - mean) ** 2, axis=0, weights=w))
        scaled = (data - mean) / np.where(deviation > 0, deviation, 1.0)
        direction = np.random.RandomState(0).normal(size=scaled.shape[1])
        order = np.argsort(scaled @ direction, kind="stable")
        order = order[w[order] > 0]
        return order, scaled[order], w[order]

    def _run_k_means(self, n_components: int, n_runs: int) -> EMStart:
        order, scaled, w = self._in_order
        labels = np.full(len(self.data), -1)
        labels[order] = k_means(scaled, n_components, self.rng, w, n_runs)[1]
        return EMStart(one_hot(labels, n_components))


def one_hot(labels: np.ndarray, n_components: int) -> np.ndarray:
    """Return the responsibilities of a hard partition, shape (n, g).

    Rows with the label -1 contain zeros.
    """
    return (labels[:, None] == np.arange(n_components)).astype(np.float64)


def _read_responsibilities(init: Any, n: int) -> np.ndarray:
    """Validate ``init``, labels or responsibilities of n objects.

    Return responsibilities of shape (n, g).
    """
    if isinstance(init, MassFunctions):
        kind = type(init).__name__
        must = f"contain labels or responsibilities, got a {kind}; use its pignistic()"
        raise InvalidParameterError("init", must=must)
    with rule.validating_labels(init, "init"):
        array = np.asarray(init)
    if array.ndim not in (1, 2) or len(array) != n:
        expected = (
            f"labels of shape ({n},) or responsibilities of shape ({n}, n_components)"
        )
        raise InvalidParameterError("init", expected, array.shape)
    if array.ndim == 1:
        with rule.validating_labels(init, "init"):
            different, labels = np.unique(
                rule.as_labels(init, "init"), return_inverse=True
            )
        return one_hot(labels, len(different))
    array = rule.as_numbers(init, "init", 0)
    if not np.allclose(array.sum(axis=1), 1, atol=1e-6):
        raise InvalidParameterError(
            "init", "responsibilities that sum to one in every row"
        )
    return array
