"""NN-EVCLUS: a network that maps attributes to masses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dempster import _parameters as rule
from dempster._arrays import Array, to_host
from dempster._errors import InvalidInputError
from dempster._progress import progress_bar
from dempster._random import generator
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster.belief import FocalSets
from dempster.cluster._base import COMMON_RULES, EvidentialClusterer, Task
from dempster.cluster._families import Families
from dempster.cluster._mass_step import carried_partition
from dempster.cluster._search import Method, Sample, Search
from dempster.cluster._starts import check_partition
from dempster.cluster.evclus._settings import link_factor
from dempster.cluster.evclus.evclus import EVCLUS
from dempster.cluster.evclus.network._method import FirstMasses, NetworkMethod
from dempster.cluster.evclus.network._model import NetworkModel
from dempster.cluster.evclus.network._objective import Penalties
from dempster.cluster.evclus.network._settings import NetworkSettings, are_sizes, is_module, training_device
from dempster.cluster.evclus.network._targets import NetworkTargets, network_quantile, targets_of
from dempster.cluster.evclus.shepard import ShepardMixin
from dempster.cluster.evclus.training import Training
from dempster.cluster.neighbors.belief_peaks import BeliefPeaks
from dempster.cluster.neighbors.starts import PEAKS_RULE, peaks_of_source
from dempster.constraints import Constraints
from dempster.optimize.descent import Run
from dempster.optimize.projection_torch import torch_on
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    from torch import nn

__all__ = ["NNEVCLUS"]


class NNEVCLUS(ShepardMixin, EvidentialClusterer):
    """Neural-network evidential clustering: EVCLUS whose masses are the outputs of a network.

    A network with a softmax over the focal sets is trained so that the conflicts kappa_ij of the masses of pairs match
    their dissimilarities delta_ij = 1 - exp(-gamma d_ij^2):

        (1 - nu) mean over pairs of (kappa_ij - delta_ij)^2  +  nu mean over labelled objects of |pl_i - y_i|^2
            +  penalties for constraints and large weights,

    with pl_i the plausibilities of the clusters and y_i the indicator of the label (nu = 0 without labels).

    By default it is trained with single clusters; then doubt is read off as in `EVCLUS`, and the network, with outputs
    for the pairs of neighboring clusters, learns it. New objects get masses by a forward pass. With an
    ``outlier_detector`` a share of the mass that grows outside the region of the data goes to the empty set, so that
    the network recognises what it has never seen.

    Layers of the sizes in ``network`` are computed with NumPy. A network of your own, or another ``device`` than the
    processor, needs torch (``pip install dempster[nn]``).

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        "auto": the number for which most speaks (see `dempster.model_selection.number_of_clusters`); ``number_`` then
        holds the candidates and the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Which sets of clusters may carry mass. "auto": single clusters are found first; then the pairs of neighboring
        clusters (with no third one between them) and outliers are read off around 1,000 objects or more, by how near
        the members of each cluster are, and learnt by the network that found the clusters. Objects with labels or
        constraints keep what these led to. The others are outputs of the network from the start. "selected": single
        clusters, and the pairs of mutually nearest clusters of the partition that the network starts from.
    metric : str, callable, or transformer, default="euclidean"
        Dissimilarities of the rows of X: a metric of scikit-learn, or a transformer (such as
        `dempster.metric.PCCA`) that is fitted to ``constraints`` or ``y`` and in whose space distances are Euclidean.
    d0 : float, optional
        Dissimilarity at which two objects are almost surely in different clusters.
    d0_quantile : float in (0, 1] or "auto", default="auto"
        If ``d0`` is not given: quantile of the dissimilarities. "auto": what `EVCLUS` finds from the data, with
        ``focal_sets="auto"`` and ``init="evclus"``; else the quantile that it had in the papers, but 0.62 for three or
        four clusters, as a network smooths the borders between clusters and leaves enough objects ambiguous.
    xi : float >= 0, default=0.5
        Weight of the constraints.
    nu : float in [0, 1], default=0.5
        Weight of the labels. The published program divides their term by the number of clusters c, so that its nu
        corresponds to nu / (nu + c (1 - nu)) here, where the formula of the paper is followed.
    regularization : float >= 0, default=0
        Weight of the squared network weights.
    convention : {"program", "paper"}, default="program"
        What ``xi`` and the outlier detector mean. The paper's formula divides ``xi`` by twice the number of
        constraints; "program" gives them four times that weight, the one they have in `EVCLUS`. How a decision value
        becomes mass on the empty set differs between the two as well; "program" leaves objects inside the region of
        the data alone.
    network : "auto", int, sequence of int or torch.nn.Module, default="auto"
        Sizes of rectified linear hidden layers; "auto": one of 3 units for each focal set (at least 20). Or a network
        of your own, with one output for each focal set (before the softmax); X may then have any shape
        (n_samples, ...), such as images. With ``focal_sets="auto"`` the sets are those of the training: the empty set,
        the clusters and the frame; those of the pairs are linear in its outputs.
    outlier_detector : None, "one-class-svm" or an object with ``decision_function``, default=None
        "one-class-svm": scikit-learn's, nu=0.2, Gaussian kernel with gamma=0.2 on standardised attributes. An
        estimator of scikit-learn that is not fitted is fitted to the standardised attributes; anything else is used
        as it is, on these. With ``focal_sets="auto"`` half of the mass goes to the empty set at the lower fence of a
        box plot of the decision values (two interquartile ranges); else where the training puts it.
    n_partners : int, optional
        Random partners of each object for training on whole batches; all pairs by default.
    training : Training, optional
        How the network is trained; see `Training` for what None stands for.
    init : {"evclus", "belief-peaks", "random"}, BeliefPeaks or CredalPartition, default="evclus"
        "evclus": the network first learns the masses of an `EVCLUS` fit. A `CredalPartition`: it first learns these
        masses. "belief-peaks": the peaks found by `BeliefPeaks`, or by one with parameters of its own, are labelled
        objects, with weight ``nu`` (the "-bp" variant of the paper).
    n_init : int, default=1
        Trainings from different weights; the smallest loss is kept (with held-out pairs, the smallest error on them).
    max_iter : int, default=1000
        Iterations of the whole-batch solvers; a tenth of it, epochs of mini-batches.
    tol : float, default=1e-4
        Relative gain of the loss, in ten iterations of L-BFGS or in the running mean of the adaptive steps, that ends
        the whole-batch solvers.
    n_neighbor_clusters : int, default=1
        For ``focal_sets="selected"``: pairs of clusters, each among this many nearest ones of the other.
    checkpoint : path, optional
        A file that is rewritten, atomically, after every round; a fit that was killed goes on from it, to the same
        result. It is refused if data, parameters or the starting weights of a network of your own are others.
    device : str, default="cpu"
        Where the network lives; the data stay in the memory of the host and are sent batch by batch.
    random_state : int, RandomState, Generator or None
        The same seed gives the same result bit for bit, whatever ``n_jobs``.
    n_jobs : int or None, default=-1
        Threads: -1 uses all processors, None one unless `joblib.parallel_config` says otherwise. A network of torch has
        those of torch.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster of largest plausibility.
    network_ : FeedForward or torch.nn.Module
        It gives masses to standardised objects. `FeedForward.matrices` are the weights and biases of each layer; where
        torch is needed, it is a module of torch.
    evclus_ : EVCLUS or None
        The fit that the network started from, with ``init="evclus"``.
    outlier_detector_ : object or None
        The detector, fitted.
    d0_ : float
    stress_, loss_ : float
        Sum of squares of conflict minus delta over all pairs, divided by the sum of delta^2, and by the number of
        pairs; beyond 1,000 objects estimated from 200,000 random pairs. Of the masses before doubt is read off.
    focal_sets_ : FocalSets
    objective_ : float
        Loss with all penalties that the training ended with.
    history_ : ndarray
        Objective after every round: ten iterations of L-BFGS, one adaptive step, or one epoch of mini-batches (the mean
        over its batches). Where pairs are held out, it ends with the round that was the best on them, whose weights
        are kept.
    validation_history_ : ndarray
        Error on the held-out pairs after the same rounds, where there are any.
    n_iter_ : int
        Rounds.
    converged_ : bool
        Whether the loss settled, the held-out pairs got no better (with early stopping), or the rate of the
        mini-batches fell to zero.
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Which objects were drawn to start from, if X came in blocks.

    References
    ----------
    T. Denoeux (2021). NN-EVCLUS: Neural network-based evidential clustering. Information Sciences 572.

    Examples
    --------
    >>> from dempster.cluster import NNEVCLUS
    >>> from dempster.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NNEVCLUS(3, random_state=0).fit(X)
    >>> model.predict_mass(X[:2]).labels
    array([1, 1])
    """

    _rules = {
        **COMMON_RULES,
        "metric": rule.Rule(
            "the name of a metric, a callable or a transformer",
            lambda v: isinstance(v, str) or callable(v) or (hasattr(v, "transform") and hasattr(v, "get_params")),
        ),
        "d0": rule.choice(None) | rule.real(0, open_low=True),
        "d0_quantile": rule.choice("auto") | rule.real(0, 1, open_low=True),
        "xi": rule.real(0),
        "nu": rule.real(0, 1),
        "regularization": rule.real(0),
        "convention": rule.choice("program", "paper"),
        "network": rule.choice("auto")
        | rule.Rule(
            "an integer of at least 1, several of them or a torch.nn.Module", lambda v: are_sizes(v) or is_module(v)
        ),
        "outlier_detector": rule.choice(None)
        | rule.choice("one-class-svm")
        | rule.Rule("an object with decision_function", lambda v: hasattr(v, "decision_function")),
        "n_partners": rule.choice(None) | rule.integer(1),
        "training": rule.choice(None) | rule.kind(Training),
        "init": rule.choice("evclus", "random") | PEAKS_RULE | rule.kind(CredalPartition),
        "checkpoint": rule.choice(None) | rule.kind(str, Path, words="a path"),
        "device": rule.kind(str, words="the name of a device"),
    }
    _fewest_objects = 2
    _takes_blocks = True
    _model: NetworkModel

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Metric | Any = "euclidean",
        d0: float | None = None,
        d0_quantile: float | str = "auto",
        xi: float = 0.5,
        nu: float = 0.5,
        regularization: float = 0.0,
        convention: str = "program",
        network: str | int | Sequence[int] | nn.Module = "auto",
        outlier_detector: Any = None,
        n_partners: int | None = None,
        training: Training | None = None,
        init: str | BeliefPeaks | CredalPartition = "evclus",
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-4,
        n_neighbor_clusters: int = 1,
        checkpoint: str | Path | None = None,
        device: str = "cpu",
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.metric = metric
        self.d0 = d0
        self.d0_quantile = d0_quantile
        self.xi = xi
        self.nu = nu
        self.regularization = regularization
        self.convention = convention
        self.network = network
        self.outlier_detector = outlier_detector
        self.n_partners = n_partners
        self.training = training
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.n_neighbor_clusters = n_neighbor_clusters
        self.checkpoint = checkpoint
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self,
        X: TableLike,
        y: ArrayLike = None,
        *,
        constraints: Constraints | None = None,
        dissimilarities: ArrayLike = None,
    ) -> Self:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, ...) with a network of your own
            float32 is kept. A pandas table keeps its index. It may come in blocks (``docs/blocks.md``): the network
            starts from a sample of 20,000 objects, its mini-batches are drawn from all, and their masses are lazy. A
            tensor of torch (``docs/scale.md``) is copied to memory for the training; results are where it is.
        y : array-like of shape (n_samples,), optional
            Clusters 0..n_clusters-1 of labelled objects, -1 for the others. A target without any -1 that is not made
            of these numbers is ignored, with a warning, as clusterers in pipelines do.
        constraints : Constraints, optional
            Pairs of objects known to be in the same cluster, or in different ones.
        dissimilarities : array-like of shape (n_samples, n_samples), optional
            Dissimilarities to match instead of distances between the rows of X.
        """
        return self._fit(X, y, constraints=constraints, dissimilarities=dissimilarities)

    @property
    def _takes_tensors(self) -> bool:  # type: ignore[override]
        return self.outlier_detector is None  # which works on the processor

    def _read(self, X: TableLike, *, reset: bool) -> Array:
        values = self._checked_attributes(X, reset=reset, allow_nd=is_module(self.network))
        return to_host(values) if reset else values  # a training draws its batches from memory

    def _families(self, n_clusters: int) -> Families:
        """With "auto" the frame and the empty set are there too, as in EVCLUS, and for the outlier detector."""
        if self.focal_sets != "auto":
            return super()._families(n_clusters)
        return Families(FocalSets.simple(n_clusters), neighbors=True)

    def _searched(self, search: Search, sample: Sample[Any], task: Task) -> tuple[Method[Any, Any], Run[Any]]:
        """The family is that of the first masses; a training shows its rounds, so the starts are not counted."""
        method = self._method(sample, task)
        quiet = replace(search, progress=partial(progress_bar, type(self).__name__, shown=False))
        return method, quiet.run(method, Families(method.family, neighbors=self.focal_sets == "auto"))

    def _method(self, sample: Sample[np.ndarray], task: Task) -> NetworkMethod:
        settings = NetworkSettings(
            network=self.network,
            penalties=Penalties(link_factor(self.convention) * self.xi, self.nu, self.regularization),
            convention=self.convention,
            n_partners=self.n_partners,
            outlier_detector=self.outlier_detector,
            training=self.training or Training(),
            n_init=self.n_init,
            max_iter=self.max_iter,
            tol=self.tol,
            device=training_device(self.device, sample, self.network),
            checkpoint=self.checkpoint,
            seed=int(self.random_state) if isinstance(self.random_state, Integral) else None,
        )
        if settings.uses_torch:
            torch_on(settings.device, "a network of your own" if settings.module is not None else None)
        rng = generator(self.random_state)
        targets = targets_of(
            sample.values, self.metric, task.n_clusters, task.labels, task.constraints, task.dissimilarities
        )
        targets, first = self._start(targets, task, rng, settings.device)
        return NetworkMethod(settings, sample, targets, first, rng, self._progress, task.apply)

    # ---- where a training starts ----------------------------------------------------------------------------------

    def _start(
        self, targets: NetworkTargets, task: Task, rng: np.random.Generator, device: str
    ) -> tuple[NetworkTargets, FirstMasses]:
        """What the network learns first, and what it is to match: belief peaks count as labelled objects."""
        c = task.n_clusters
        quantile = network_quantile(c) if isinstance(self.d0_quantile, str) else float(self.d0_quantile)
        init = self.init if isinstance(self.init, str) else type(self.init).__name__
        origin = f"{init}, d0={self.d0}, quantile={quantile}"
        self._evclus = None
        if init == "evclus":
            found = self.focal_sets == "auto" and self.d0_quantile == "auto"  # by EVCLUS, from the data
            seed = int(rng.integers(2**31))
            self._evclus = model = self._fitted_evclus(targets, c, None if found else quantile, seed, device)
            return targets, FirstMasses(model.focal_sets_, model.d0_, model.credal_partition_.masses, origin)
        families = self._families(c)
        family, masses = families.first, None
        if isinstance(self.init, CredalPartition):
            check_partition(self.init, len(targets), c)
            family = family if families.select is None else families.select(self.init, None)
            given = carried_partition(self.init, family) if families.neighbors else self.init.on(family)
            masses = given.to_numpy().masses
        elif families.select is not None:
            raise InvalidInputError(
                "focal_sets='selected' takes its pairs from a partition: use init='evclus', or give one"
            )
        d0 = targets.scale(quantile, rng) if self.d0 is None else float(self.d0)
        peaks = peaks_of_source(self.init, targets.source, c, self.random_state, self.n_jobs)
        if peaks is not None:
            labels = targets.labels.copy()
            labels[peaks.peak_indices_] = np.arange(c)
            targets = replace(targets, labels=labels)
        return targets, FirstMasses(family, d0, masses, origin, given=masses is not None)

    def _fitted_evclus(self, targets: NetworkTargets, c: int, quantile: float | None, seed: int, device: str) -> EVCLUS:
        source = targets.source
        metric, table = (source.metric, source.objects) if source.matrix is None else ("precomputed", source.matrix)
        return EVCLUS(
            c,
            focal_sets="simple" if self.focal_sets == "auto" else self.focal_sets,
            metric=metric,
            d0="auto" if self.d0 is None else self.d0,
            d0_quantile=quantile,
            n_neighbor_clusters=self.n_neighbor_clusters,
            device=device if source.is_euclidean else "cpu",
            random_state=seed,
            n_jobs=self.n_jobs,
        ).fit(table, constraints=targets.constraints)

    def _choices(self, method: NetworkMethod) -> dict[str, str]:
        scale = None if self._evclus is None else self._evclus.scale_
        return super()._choices(method) | ({} if scale is None else {"d0": scale.reasons()})

    def _attributes(self, method: NetworkMethod, model: NetworkModel) -> dict[str, Any]:
        found = method.assess(self.credal_partition_.masses)
        return {
            "network_": model.network,
            "evclus_": self._evclus,
            "outlier_detector_": model.preparation.detector,
            "d0_": method.d0,
            "stress_": found.stress,
            "loss_": found.loss,
            "validation_history_": np.asarray(model.validation),
            "_shepard": found.shepard,
        }
