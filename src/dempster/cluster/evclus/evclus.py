"""EVCLUS and its relatives: k-EVCLUS, CEVCLUS, k-CEVCLUS, and EVCLUS by landmarks."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import sparse

from dempster import _parameters as rule
from dempster._errors import InvalidInputError
from dempster._input import tensor_attributes
from dempster._random import generator
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster.belief import FocalSets
from dempster.cluster._base import COMMON_RULES, MISSING_RULE, EvidentialClusterer, Task
from dempster.cluster._families import Families
from dempster.cluster._mass_step import carried_partition
from dempster.cluster._search import Sample
from dempster.cluster.evclus._doubt_model import DoubtModel
from dempster.cluster.evclus._method import EvclusMethod
from dempster.cluster.evclus._model import EvclusModel
from dempster.cluster.evclus._settings import EvclusSettings, link_factor
from dempster.cluster.evclus.shepard import ShepardMixin
from dempster.cluster.neighbors.belief_peaks import BeliefPeaks
from dempster.cluster.neighbors.starts import PEAKS_RULE, peaks_of_source
from dempster.constraints import Constraints
from dempster.dissimilarity.input import METRIC_RULE, DissimilarityInput, mark_tags
from dempster.dissimilarity.sources import DissimilaritySource, SparseSource, TensorSource
from dempster.partition import CredalPartition

__all__ = ["EVCLUS"]

_MOST_SETS = 256  # of which 40 objects take a minute


class EVCLUS(ShepardMixin, EvidentialClusterer):
    """Evidential clustering of dissimilarities: the more two objects differ, the more their masses conflict.

    Finds masses m_1, ..., m_n over sets of clusters whose degrees of conflict kappa_ij (one minus the plausibility
    that i and j are in the same cluster) match the dissimilarities:

        minimise  sum_{i<j} (kappa_ij - delta_ij)^2 / sum_{i<j} delta_ij^2,   delta = 1 - exp(-gamma d^2),

    with gamma such that delta = 0.95 at the dissimilarity ``d0``. No metric axioms are needed. With must-link and
    cannot-link ``constraints`` a penalty is added (CEVCLUS).

    Given the masses of the others, those of an object are a convex quadratic program, which is solved exactly for one
    object after the other. From the fourth sweep on they move beyond their optimum, up to 1.75 times as far
    (over-relaxation): less than twice as far, a convex quadratic is not above where it started, so the objective still
    never rises. After every fourth sweep all masses are carried on along the last sweeps while the objective falls.

    With ``focal_sets="auto"`` this finds the clusters; how plausible each is for an object is then read off at a scale
    of the objects themselves, by how near it is to the members of the clusters. An object nearly as near to a second
    cluster, a neighbor of the first, gets mass on the two; one far from everybody gets mass on the empty set.

    Which pairs are looked at is up to ``sampling``: all of them (EVCLUS), ``n_partners`` random partners of each object
    (k-EVCLUS), or all pairs of a few landmark objects, to which all others are then compared, at a cost linear in the
    number of objects and with little memory.

    Objects with equal attributes are one object, which counts as much as they do together, and what is drawn at random
    is drawn along an order of the objects that does not depend on the rows (along a line through the attributes, or by
    the sums of the dissimilarities): permuting the rows permutes the result, and repeating a row does what a weight
    does. In a matrix, which says nothing about attributes, an object at dissimilarity zero from others gets in the end
    the masses among theirs that suit it best. The same rules give new objects that are old ones the masses of these,
    so that `predict_mass` agrees with the fit. It jumps there: an object just beside is judged by what it is compared
    with, in which the old one had a say of its own. Constraints may tell equal objects apart, so with them every
    object keeps its own. A sparse matrix is taken as it is.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        "auto": the number for which most speaks (see `dempster.model_selection.number_of_clusters`); ``number_`` then
        holds the candidates and the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": single clusters are found first; then the empty set and the pairs
        of neighboring clusters (with no third one between them) are read off, and what was found does not move.
        "simple", "pairs" and "full" are fitted as a whole. "selected": single clusters first, then the pairs of
        mutually nearest clusters are added.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``pairwise_distances``, a function of two rows, "gower" (tables with numbers,
        categories and missing cells) or "precomputed": X is then a square matrix of dissimilarities, or a SciPy
        sparse matrix that holds sampled pairs only (stored zeros count as dissimilarities of zero).
    symmetrize : bool, default=False
        Replace an asymmetric matrix by the mean of itself and its transpose, instead of refusing it.
    d0 : float > 0 or "auto", default="auto"
        Dissimilarity at which two objects are almost surely in different clusters. "auto": clusters are found at
        several scales, and the one is taken whose clusters explain the data best, as round Gaussians (``scale_`` says
        what was tried). Starts are then shared among the scales; where landmarks stand for many objects, the scale is
        found on half of them first.
    d0_quantile : float in (0, 1], optional
        Quantile of the dissimilarities to take instead.
    xi : float >= 0, default=0.5
        Weight of the constraints. They enter in three stages, 0, 0.05 and ``xi``, each starting from the one before.
    convention : {"program", "paper"}, default="program"
        The published formula divides ``xi`` by twice the number of constraints; the published program, and with it
        the published results, gives the constraints four times that weight. "program" reproduces the results.
    sampling : {"auto", "all", "random", "landmarks"}, default="auto"
        "auto": all pairs up to 1,000 objects, landmarks beyond.
    n_partners : int, default=100
        Random partners of each object for ``sampling="random"``.
    n_landmarks : int or "auto", default="auto"
        "auto": 600, or 30 per cluster if that is more.
    missing : {"refuse", "partial"}, default="refuse"
        What to do with missing values (NaN) under "euclidean", "sqeuclidean" or "gower". "partial": objects are
        compared by the attributes that both have, and one that is missing adds its usual difference within clusters:
        the less is known of an object, the more it is in doubt. An object without any value is refused. (Gower's
        dissimilarity takes missing cells in any case; without "partial" it is the mean over those that are there.)
        ``docs/missing.md`` tells when to impute instead.
    init : {"medoids", "random", "belief-peaks"}, BeliefPeaks, CredalPartition or array of masses, default="medoids"
        "medoids": from objects far from each other. "belief-peaks": from the clusters found by `BeliefPeaks`, which
        knows no weights, or by one with parameters of its own. A start without chance is used once, whatever
        ``n_init``.
    n_init : int, default=5
        Starts; the smallest objective is kept. Medoids that make the same partition but for a few objects count as
        one start.
    max_iter : int, default=1000
        Sweeps over the objects.
    tol : float, default=1e-7
        The descent ends when e_t = (e_{t-1} + relative change of the objective) / 2 falls below it. The papers use
        1e-5; starts compete at that precision and the best one goes on to ``tol`` (with landmarks: 1e-3, then 1e-5).
    n_neighbor_clusters : int, default=1
        For ``focal_sets="selected"``: pairs of clusters, each among this many nearest ones of the other.
    device : str, default="cpu"
        Where objects are compared with landmarks; "cuda" is a GPU (needs torch and ``metric="euclidean"``).
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``.
    n_jobs : int or None, default=-1
        Threads: -1 uses all processors, None one unless `joblib.parallel_config` says otherwise.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest plausibility.
    landmark_indices_ : ndarray
        Positions of the objects that new ones are compared with, in increasing order; of equal objects the first.
    sampling_ : str
        What "auto" chose.
    d0_ : float
    scale_ : Scale or None
        Which scales were tried for ``d0="auto"``, with the log-likelihood of their clusters, and the best.
    stress_, loss_ : float
        Sum of squares of conflict minus delta over all pairs, divided by the sum of delta^2, and by the number of
        pairs; beyond 1,000 objects estimated from 50,000 random pairs. Two rows with equal attributes are a pair, too,
        at dissimilarity zero: its conflict is that of their masses with themselves. With ``focal_sets="auto"``, of the
        clusters before doubt was read off.
    focal_sets_ : FocalSets
    objective_ : float
        What the descent minimised: stress plus penalty over the pairs that were fitted. These are pairs of different
        objects, each counted as often as the product of their weights or repetitions; with landmarks those of the
        landmarks, before they are refined with the help of other objects.
    history_ : ndarray
        Objective after every sweep; with constraints, of their last stage. The last value is that of the final masses:
        where objects at dissimilarity zero in a matrix have been given equal ones, it may be above the one before.
    n_iter_ : int
    converged_ : bool
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Which objects were drawn, if X came in blocks.

    References
    ----------
    T. Denoeux and M.-H. Masson (2004). EVCLUS: evidential clustering of proximity data. IEEE Trans. SMC B 34.
    T. Denoeux, S. Sriboonchitta and O. Kanjanatarakul (2016). Evidential clustering of large dissimilarity data.
    Knowledge-Based Systems 106. F. Li, S. Li and T. Denoeux (2018). k-CEVCLUS: constrained evidential clustering of
    large dissimilarity data. Knowledge-Based Systems 142.

    Examples
    --------
    >>> from dempster.cluster import EVCLUS
    >>> from dempster.datasets import load_butterfly
    >>> model = EVCLUS(2, focal_sets="full", d0=11, random_state=0).fit(load_butterfly().data)
    >>> model.credal_partition_.ambiguous, model.credal_partition_.outliers
    (array([5]), array([11]))
    >>> round(model.stress_, 5)
    0.00478
    """

    _rules = {
        **COMMON_RULES,
        "metric": METRIC_RULE,
        "symmetrize": rule.flag,
        "d0": rule.choice("auto") | rule.real(0, open_low=True),
        "d0_quantile": rule.choice(None) | rule.real(0, 1, open_low=True),
        "xi": rule.real(0),
        "convention": rule.choice("program", "paper"),
        "sampling": rule.choice("auto", "all", "random", "landmarks"),
        "n_partners": rule.integer(1),
        "n_landmarks": rule.choice("auto") | rule.integer(2),
        "init": rule.choice("medoids", "random") | PEAKS_RULE | rule.kind(CredalPartition) | rule.array,
        "device": rule.kind(str, words="the name of a device"),
        "missing": MISSING_RULE,
    }

    _model: EvclusModel | DoubtModel
    _takes_blocks = True
    _weighs_blocks = True
    _attributes_in_rows = ("landmark_indices_",)

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Metric = "euclidean",
        symmetrize: bool = False,
        d0: float | str = "auto",
        d0_quantile: float | None = None,
        xi: float = 0.5,
        convention: str = "program",
        sampling: str = "auto",
        n_partners: int = 100,
        n_landmarks: int | str = "auto",
        missing: str = "refuse",
        init: str | BeliefPeaks | CredalPartition | ArrayLike = "medoids",
        n_init: int = 5,
        max_iter: int = 1000,
        tol: float = 1e-7,
        n_neighbor_clusters: int = 1,
        device: str = "cpu",
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.metric = metric
        self.symmetrize = symmetrize
        self.d0 = d0
        self.d0_quantile = d0_quantile
        self.xi = xi
        self.convention = convention
        self.sampling = sampling
        self.n_partners = n_partners
        self.n_landmarks = n_landmarks
        self.missing = missing
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbor_clusters = n_neighbor_clusters
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: TableLike,
        y: None = None,
        sample_weight: ArrayLike = None,
        *,
        constraints: Constraints | None = None,
    ) -> Self:
        """Cluster the objects.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or dissimilarities if ``metric="precomputed"``
            float32 is kept. A pandas table keeps its index. It may come in blocks (``docs/blocks.md``): landmarks are
            then drawn over all of them, and the masses of all objects are lazy. It may be a tensor of torch
            (``docs/scale.md``), with ``metric="euclidean"``: objects are then compared where it is.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            A pair of objects counts as much as the product of their weights; an object of weight zero is left out and
            gets masses as new objects do. Landmarks are drawn in proportion to the weights. Weights act as
            repetitions of the row.
        constraints : Constraints, optional
            Pairs of objects known to be in the same cluster, or in different ones.
        """
        return self._fit(X, sample_weight=sample_weight, constraints=constraints)

    def _fewest_drawn(self) -> int:
        return 0 if isinstance(self.n_landmarks, str) else int(self.n_landmarks)

    @property
    def _takes_tensors(self) -> bool:  # type: ignore[override]
        return isinstance(self.metric, str) and self.metric == "euclidean"

    def _read(self, X: TableLike, *, reset: bool) -> Any:
        if reset:
            self._input = DissimilarityInput(self.metric, symmetrize=self.symmetrize, sparse=True, fewest=2)
        if self._follows(X):
            values = tensor_attributes(self, X, reset=reset, fewest=2 if reset else 1)
            return TensorSource(values) if reset else values
        if reset:
            return self._input.training(self, X)
        few = None if sparse.issparse(X) else len(self._model.references)
        return self._input.new(self, X, or_width=few)

    def _compared(self, values: DissimilaritySource | SparseSource) -> DissimilaritySource:
        if isinstance(values, SparseSource):
            raise InvalidInputError("n_clusters='auto' needs all dissimilarities, but X is a sparse matrix of some")
        return values.in_memory() if isinstance(values, TensorSource) else values

    def _method(self, sample: Sample[DissimilaritySource | SparseSource], task: Task) -> EvclusMethod:
        self._check_device()
        if sample.everyone is not None and not sample.everyone.are_drawn and self.sampling in ("all", "random"):
            raise InvalidInputError(
                f"sampling must be 'auto' or 'landmarks' for {len(sample.everyone):,} objects in blocks, got "
                f"{self.sampling!r}"
            )
        c = task.n_clusters
        peaks = peaks_of_source(self.init, sample.values, c, self.random_state, self.n_jobs)
        settings = EvclusSettings(
            n_clusters=c,
            d0=None if isinstance(self.d0, str) else float(self.d0),
            d0_quantile=None if self.d0_quantile is None else float(self.d0_quantile),
            sampling=self.sampling,
            n_partners=self.n_partners,
            n_landmarks=None if self.n_landmarks == "auto" else int(self.n_landmarks),
            symmetrize=bool(self.symmetrize),
            xi=self.xi,
            link_factor=link_factor(self.convention),
            init=self._given_start(c),
            labels=None if peaks is None else peaks.labels_,
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            device=self.device,
        )
        return EvclusMethod(settings, sample, task.constraints, generator(self.random_state), task.apply)

    def _given_start(self, n_clusters: int) -> str | CredalPartition | ArrayLike:
        """``init``; with "auto", which finds single clusters first, doubt in a partition counts for its clusters."""
        init = self.init
        if self.focal_sets != "auto" or not isinstance(init, CredalPartition) or init.n_clusters != n_clusters:
            return init
        return carried_partition(init, self._families(n_clusters).first)

    def _families(self, n_clusters: int) -> Families:
        """With "auto" the frame is there too: at a large scale objects between clusters would draw these together."""
        if self.focal_sets == "auto":
            return Families(FocalSets.simple(n_clusters), neighbors=True)
        families = super()._families(n_clusters)
        if len(families.first) > _MOST_SETS:
            raise InvalidInputError(
                f"focal_sets must hold at most {_MOST_SETS} sets, got {len(families.first):,}: every sweep solves a "
                "quadratic program of as many unknowns for each object; take 'simple', 'pairs' or 'selected'"
            )
        return families

    def _check_device(self) -> None:
        if self.device == "cpu":
            return
        from dempster.optimize.projection_torch import torch_on

        if self.metric != "euclidean":
            raise InvalidInputError(f"device={self.device!r} works with metric='euclidean' only")
        torch_on(self.device)

    def _choices(self, method: EvclusMethod) -> dict[str, str]:
        chosen = super()._choices(method)
        return chosen if method.scale is None else {**chosen, "d0": method.scale.reasons()}

    def _attributes(self, method: EvclusMethod, model: EvclusModel | DoubtModel) -> dict[str, Any]:
        found = method.assess(model, self.credal_partition_.masses)
        return {
            "d0_": model.d0,
            "scale_": method.scale,
            "sampling_": method.pairs.sampling,
            "landmark_indices_": np.sort(model.references.positions),
            "stress_": found.stress,
            "loss_": found.loss,
            "_shepard": found.shepard,
        }

    def __sklearn_tags__(self) -> Any:
        return mark_tags(super().__sklearn_tags__(), self.metric, sparse=True)
