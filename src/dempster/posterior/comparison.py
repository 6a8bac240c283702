r"""Comparison of mixtures: which coordinates, tails, covariances and numbers of components.

The *score* of a mixture is the mean over the rows of

.. math:: \log p(x_i) + \log \frac{P(l_i | x_i)}{\max_k P(k | x_i)},

by the parameters that are estimated without the fold of the row. The last term is the logarithm of
the plausibility of the cluster :math:`l_i` that was found for row i. A mixture that contradicts the
clusters must therefore fit the rows better, by more than it contradicts.

**Coordinates.** If there are discriminant axes (`dempster.posterior.axes`), the best mixture in
them is compared with one in all attributes, in which clusters with different covariances differ in
every direction. The attributes are used if their score is larger.

**Several components.** A cluster that is not convex, such as a ring, needs several components. Each
component is divided into 2 or 8 parts by k-means if this increases BIC, repeatedly, and EM
continues with all parts. Each part belongs to its cluster.

**Background.** If the coordinates are the attributes, the best mixture is also fitted with a
background, which is used if the evidence of the densities for it, less the price of the sides of
the box by BIC, is very strong, and if its rows are as far from each other as scattered rows would
be: rows on a curve or in a cluster are nearer.

**Weights of the mixtures.** Mixtures with one component per cluster are averaged with the mixture
of several components. Let :math:`\Delta` be the gain of several components over the best mixture of
single ones, in mean log-density. The clusters are no evidence here: several components can follow
wrong boundaries better than single ones. The *trust* in single components is
:math:`\tau = \exp(-5 \Delta)`, the ratio of the likelihoods of five typical rows. It depends on how
wrong single components are, and not on how many rows show it. The mixture of several components has
the weight :math:`1 - \tau`, and the others share :math:`\tau`.

If :math:`S_v` is the score of mixture v, Bayes' rule gives it a weight proportional to
:math:`\exp(n S_v)`, which is right if one of the mixtures is. About :math:`1 / \Delta` rows are
enough to reject them, so that the weights are proportional to :math:`\exp(n' S_v)` with
:math:`n' = \min(n, 1 / \Delta)`, a coarsened posterior (Miller and Dunson, 2019).

References
----------
L. F. Kozachenko and N. N. Leonenko (1987). Sample estimate of the entropy of a random vector.
Problems of Information Transmission 23.

R. E. Kass and A. E. Raftery (1995). Bayes factors. Journal of the American Statistical Association
90.

J. W. Miller and D. B. Dunson (2019). Robust Bayesian inference via coarsening. Journal of the
American Statistical Association 114.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import digamma, gammaln

from dempster.optimize.k_means import k_means
from dempster.posterior.axes import Axes
from dempster.posterior.densities import (
    Family,
    Fit,
    FoldMixture,
    Points,
    normalize_logs,
    residual_dimension,
    run_em,
    sum_owned,
)
from dempster.posterior.folds import N_FOLDS

FREEDOMS = (np.inf, 10.0, 5.0, 3.0, 2.0, 1.0)  # degrees of freedom that are compared
# With at most this number of attributes, they are compared with the discriminant axes.
_MAX_ATTRIBUTES = 100
_PARTS = (2, 8)  # numbers of parts of a component that are tried
_N_ROUNDS = 3  # rounds of divisions
_N_LONGER = 20  # further steps to compare mixtures with and without background
_MIN_WEIGHT = 0.01  # smallest weight of a mixture of single components
_N_TYPICAL = 5  # rows whose likelihoods are compared
# logarithm of the Bayes factor 150, from which evidence is very strong (Kass and Raftery, 1995)
_STRONG_EVIDENCE = 5.0
_BACKGROUND = 0.1  # share of the background at the start
_N_NEAR = 5  # rows of the background by which its density is estimated
# largest share of the background, and excess of its log-density over that of scattered rows
_LARGEST_BACKGROUND = 0.75
_LARGEST_EXCESS = 0.25
_TINY = np.finfo(float).tiny


@dataclass(frozen=True)
class Training:
    """Training rows in some coordinates, with their memberships, weights and folds."""

    axes: Axes
    points: Points
    dimension: float  # of the residual
    members: np.ndarray  # (n, c)
    weights: np.ndarray  # (n,)
    fold: np.ndarray  # (n,)

    @classmethod
    def in_axes(
        cls,
        axes: Axes,
        X: np.ndarray,
        members: np.ndarray,
        weights: np.ndarray,
        fold: np.ndarray,
    ) -> Training:
        points = axes.project_folds(X, fold)
        largest = X.shape[1] - points.coordinates.shape[1]
        dimension = residual_dimension(points.residuals, members, weights, largest)
        return cls(axes, points, dimension, members, weights, fold)

    @property
    def n_clusters(self) -> int:
        return self.members.shape[1]

    @property
    def used_weights(self) -> np.ndarray:
        """Weights of the rows that have a cluster, zero for the others."""
        return np.where(self.members.sum(axis=1) > 0, self.weights, 0)

    def run(self, family: Family, start: np.ndarray, n_steps: int | None = None) -> Fit:
        """Fit a mixture of one component for each cluster."""
        owners = np.arange(self.n_clusters)
        return run_em(family, self.points, start, self.weights, owners, n_steps)

    def divide(
        self, family: Family, start: np.ndarray, rng: np.random.RandomState
    ) -> Fit:
        """Fit a mixture in which each cluster has as many components as BIC selects."""
        P = start[:, : self.n_clusters]
        owners = np.arange(self.n_clusters)
        for _ in range(_N_ROUNDS):
            parts = [
                _divide(family, self.points, column, self.weights, rng)
                for column in P.T
            ]
            counts = [part.shape[1] for part in parts]
            P = np.hstack(parts)
            owners = np.repeat(owners, counts)
            if max(counts) == 1:
                break
        P = np.hstack([P, start[:, self.n_clusters :]])
        return run_em(family, self.points, P, self.weights, owners)

    def score(self, fit: Fit) -> float:
        """Return the score of the module docstring, as a density in the attributes."""
        P, logs = self._leave_out(fit)
        clusters = sum_owned(P, fit.owners, self.n_clusters)
        largest = np.maximum(clusters.max(axis=1), _TINY)
        # An object with several memberships is compared by their mean.
        found = np.einsum("ic,ic->i", self.members, clusters)
        found /= np.maximum(self.members.max(axis=1), _TINY)
        if fit.family.log_background is not None:
            # Background does not contradict any cluster.
            found += P[:, -1]
            largest += P[:, -1]
        contradiction = np.minimum(np.log(np.maximum(found, _TINY) / largest), 0)
        volumes = self.axes.log_volumes(
            self.points.residuals, self.dimension, self.fold
        )
        total = self.used_weights @ (logs + contradiction + volumes)
        return float(total / self.used_weights.sum())

    def log_density(self, fit: Fit) -> float:
        """Return the mean log-density by the estimates without the fold of a row."""
        _, logs = self._leave_out(fit)
        return float(self.used_weights @ logs / self.used_weights.sum())

    def _leave_out(self, fit: Fit) -> tuple[np.ndarray, np.ndarray]:
        """Return probabilities and log-densities by the estimates without the fold of a row."""
        P = np.zeros_like(fit.P)
        logs = np.zeros(len(P))
        for k in range(N_FOLDS):
            rest = self.fold != k
            rows = self.fold % N_FOLDS == k
            components = fit.family.estimate(
                self.points.select(rest),
                fit.P[rest],
                fit.tails[rest],
                self.weights[rest],
            )
            joint, _ = fit.family.log_joint(self.points.select(rows), components)
            P[rows], logs[rows] = normalize_logs(joint)
        return P, logs


def _divide(
    family: Family,
    points: Points,
    column: np.ndarray,
    weights: np.ndarray,
    rng: np.random.RandomState,
) -> np.ndarray:
    """Divide a component with the probabilities ``column``, shape (n,), if this increases BIC."""
    family = replace(family, log_background=None)
    rows = np.flatnonzero(column > 1e-3)
    some = points.select(rows)
    inner = column[rows] * weights[rows]
    total = inner.sum()
    q = some.coordinates.shape[1]
    whole = column[:, None]
    if total < 4 * (q + 2) or len(rows) < 4 * (q + 2) or q == 0:
        return whole
    owner = np.zeros(1, int)
    ones = np.ones((len(rows), 1))
    before = run_em(family, some, ones, inner, owner)
    best = whole
    largest = 0.0
    for n_parts in _PARTS:
        if total < 2 * n_parts * (q + 2):
            continue
        _, nearest = k_means(some.coordinates, n_parts, rng, inner)
        start = (nearest[:, None] == np.arange(n_parts)).astype(float)
        after = run_em(family, some, start, inner, np.zeros(n_parts, int))
        price = family.n_parameters(n_parts - 1, q) / 2 * np.log(total)
        gain = float(inner @ (after.logs - before.logs)) - price
        if gain > largest:
            largest = gain
            best = np.zeros((len(column), n_parts))
            best[rows] = column[rows, None] * after.P
    return best


@dataclass(frozen=True)
class Comparison:
    """Mixtures with one component for each cluster, and one with several components."""

    training: Training
    singles: list[Fit]
    single_scores: np.ndarray
    divided: Fit
    gain: float  # of the divided mixture over the best single one, in mean log-density

    @property
    def best_single(self) -> Fit:
        return self.singles[int(self.single_scores.argmax())]

    @property
    def score(self) -> float:
        return max(self.single_scores.max(), self.training.score(self.divided))

    @property
    def trust(self) -> float:
        """Trust in single components: their likelihood ratio for a few typical rows."""
        return float(max(np.exp(-_N_TYPICAL * self.gain), _TINY))

    def mixtures(self) -> tuple[FoldMixture, ...]:
        """Return the mixtures of large weight, estimated without each fold."""
        one = self.training
        n = 1 / max(self.gain, 1 / one.used_weights.sum())
        shares = np.exp(n * (self.single_scores - self.single_scores.max()))
        shares /= shares.sum()
        shares[shares < _MIN_WEIGHT] = 0
        shares = np.append(self.trust * shares / shares.sum(), 1 - self.trust)
        fits = [*self.singles, self.divided]
        kept = np.flatnonzero(shares)
        return tuple(
            FoldMixture.from_fit(
                fits[v], float(shares[v]), one.points, one.weights, one.fold
            )
            for v in kept
        )


def compare(
    X: np.ndarray,
    members: np.ndarray,
    weights: np.ndarray,
    fold: np.ndarray,
    rng: np.random.RandomState,
) -> Comparison:
    """Compare mixtures in the discriminant axes and in the attributes; return the best ones."""
    axes = Axes.fit(X, members, weights, fold)
    training = Training.in_axes(axes, X, members, weights, fold)
    first = _compare_mixtures(training, (False, True), rng)
    n_rows = np.count_nonzero(training.used_weights) / training.n_clusters
    p = len(axes.columns)
    if axes.maps is None or p > min(_MAX_ATTRIBUTES, n_rows):
        return first
    wide = Training.in_axes(axes.of_attributes(), X, members, weights, fold)
    fit = wide.run(Family(first.best_single.family.freedom), members)
    if wide.score(fit) <= first.score:
        return first
    return _compare_mixtures(wide, (False,), rng)


def _compare_mixtures(
    training: Training, are_common: tuple[bool, ...], rng: np.random.RandomState
) -> Comparison:
    families = [
        Family(freedom, training.dimension, is_common)
        for is_common in are_common
        for freedom in FREEDOMS
    ]
    singles = [training.run(one, training.members) for one in families]
    scores = np.array([training.score(fit) for fit in singles])
    best = singles[int(scores.argmax())]
    plain = _with_division(training, singles, scores, training.members, rng)
    log_background = _log_background(training)
    if log_background is None:
        return plain
    start = _add_background(best, log_background)
    # A background takes the place of heavy tails.
    family = replace(best.family, freedom=np.inf, log_background=log_background)
    longer = training.run(family, start, _N_LONGER)
    rivals = [best, plain.divided, training.run(best.family, best.P, _N_LONGER)]
    evidence = training.log_density(longer) - max(map(training.log_density, rivals))
    # The share and the sides of the box are parameters.
    n_parameters = 1 + 2 * training.points.coordinates.shape[1]
    total = training.used_weights.sum()
    price = n_parameters / 2 * np.log(total)
    is_strong = evidence * total - price > _STRONG_EVIDENCE
    if not (is_strong and _is_scattered(longer, training)):
        return plain
    singles = [
        training.run(replace(one, log_background=log_background), longer.P)
        for one in families
    ]
    scores = np.array([training.score(fit) for fit in singles])
    return _with_division(training, singles, scores, longer.P, rng)


def _with_division(
    training: Training,
    singles: list[Fit],
    scores: np.ndarray,
    start: np.ndarray,
    rng: np.random.RandomState,
) -> Comparison:
    best = singles[int(scores.argmax())]
    divided = training.divide(replace(best.family, is_common=False), start, rng)
    gain = 0.0
    if len(divided.owners) > training.n_clusters:
        before = max(map(training.log_density, singles))
        gain = max(training.log_density(divided) - before, 0.0)
    return Comparison(training, singles, scores, divided, gain)


# ---- background ----------------------------------------------------------------------------------


def _log_background(training: Training) -> float | None:
    """Return the log-density of the uniform distribution on the box around the rows."""
    rows = training.points.coordinates[training.used_weights > 0]
    widths = rows.max(axis=0) - rows.min(axis=0)
    if training.dimension > 0 or widths.min(initial=1) == 0:
        return None
    return -float(np.log(widths).sum())


def _add_background(fit: Fit, log_background: float) -> np.ndarray:
    """Return the probabilities of the components and of a background."""
    scattered = _BACKGROUND * np.exp(np.minimum(log_background - fit.logs, 700))
    share = (scattered / (1 - _BACKGROUND + scattered))[:, None]
    used = fit.P.sum(axis=1, keepdims=True)
    return np.hstack([fit.P * (1 - share), share * used])


def _is_scattered(fit: Fit, training: Training) -> bool:
    """Return whether the background leaves clusters, and is about as dense as if it filled the box.

    The mean logarithm of its density is estimated from the distances to the nearest of its rows
    (Kozachenko and Leonenko, 1987).
    """
    share = fit.P[:, -1]
    weights = training.used_weights
    if weights @ share > _LARGEST_BACKGROUND * weights.sum():
        return False
    rows = training.points.coordinates[share > 0.5]
    n, q = rows.shape
    if n <= _N_NEAR:
        return True
    distances, _ = cKDTree(rows).query(rows, _N_NEAR + 1)
    log_volume = q / 2 * np.log(np.pi) - gammaln(q / 2 + 1)
    log_volume += q * np.log(np.maximum(distances[:, -1], _TINY)).mean()
    density = digamma(_N_NEAR) - np.log(n) - log_volume
    return bool(density - fit.family.log_background <= _LARGEST_EXCESS)
