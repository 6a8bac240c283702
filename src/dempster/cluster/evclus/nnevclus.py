"""NN-EVCLUS: evidential clustering by a neural network that maps features to masses.

`NetworkMethod` contains the algorithm, which requires torch and is imported by a fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from dempster import _validation as rule
from dempster._arrays import Array, is_network, to_host
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._progress import progress_bar
from dempster._types import ArrayLike, Metric, Seed, TableLike
from dempster.belief import FocalSets
from dempster.cluster._base import (
    COMMON_RULES,
    EvidentialClusterer,
    FitRequest,
    Support,
)
from dempster.cluster._mass_step import project_partition
from dempster.cluster._search import Families, Method, Sample, Search
from dempster.cluster._starts import check_partition
from dempster.cluster.belief_peaks import PEAKS_RULE, BeliefPeaks
from dempster.cluster.evclus._model import ShepardMixin
from dempster.cluster.evclus._network_model import (
    ConstrainedNetwork,
    NetworkModel,
    assess_rows,
)
from dempster.cluster.evclus._network_targets import InitialMasses, NetworkTargets
from dempster.cluster.evclus._pairs import WeightedPairs
from dempster.cluster.evclus.evclus import EVCLUS
from dempster.constraints import Constraints
from dempster.data.device import import_torch
from dempster.dissimilarity.sources import AttributeSource
from dempster.dissimilarity.transform import default_quantile, scale_at
from dempster.optimize.blocks import Apply
from dempster.optimize.descent import Run
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    from torch import nn

MAX_LAYER_UNITS = 1_000_000
# With 20,000 rows, the initial partition is sometimes poor.
_MAX_INITIAL_ROWS = 100_000
# quantile of the dissimilarities used as d0 for three or four clusters
_QUANTILE_FOR_FEW = 0.62
_SCALE_PAIRS = 100_000
_RULES = {
    "solver": rule.choice("auto", "lbfgs", "adaptive-steps", "mini-batch", "rmsprop"),
    "batch_size": rule.auto | rule.integer(2),
    "learning_rate": rule.auto | rule.positive,
    "early_stopping": rule.flag,
    "patience": rule.integer(1),
}


@dataclass(frozen=True)
class Training:
    """Training parameters of `NNEVCLUS`.

    Parameters
    ----------
    solver : {"auto", "lbfgs", "adaptive-steps", "mini-batch", "rmsprop"}, default="auto"
        Optimization algorithm. "lbfgs" is L-BFGS on all pairs. "adaptive-steps" is gradient descent
        on all pairs with one step size per weight, which the papers use. "mini-batch" is Adam on
        the pairs inside random batches, with a learning rate that decreases to zero. "rmsprop" is
        RMSprop on random batches with a constant learning rate, which is 0.001 in the paper. "auto"
        selects L-BFGS up to 1,000 rows, and "mini-batch" for more rows.
    batch_size : int or "auto", default="auto"
        Number of rows in a mini-batch. "auto" is 512, or 1024 on a GPU unless the network is a
        torch module. An epoch consists of at most 50 mini-batches and 25,600 rows.
    learning_rate : float > 0 or "auto", default="auto"
        Initial learning rate of the mini-batch solver, or learning rate of RMSprop. "auto" is
        0.005, or 0.01 for at least 1024 rows in a mini-batch.
    early_stopping : bool, default=False
        Stop when the error on validation pairs does not decrease. A tenth of all pairs is held out
        of the training as validation pairs. (Even without early stopping, the mini-batch solver
        keeps the weights of the epoch with the smallest error on validation pairs.)
    patience : int, default=20
        Number of rounds without a decrease of the validation error before early stopping. A round
        is ten iterations of L-BFGS, one adaptive step, or one epoch.

    Examples
    --------
    >>> from dempster.cluster import Training
    >>> Training(solver="mini-batch", batch_size=128)  # doctest: +NORMALIZE_WHITESPACE
    Training(solver='mini-batch', batch_size=128, learning_rate='auto', early_stopping=False,
    patience=20)
    """

    solver: str = "auto"
    batch_size: int | str = "auto"
    learning_rate: float | str = "auto"
    early_stopping: bool = False
    patience: int = 20

    def __post_init__(self) -> None:
        rule.check_parameters(self, _RULES)


def _are_layer_sizes(network: Any) -> bool:
    is_vector = isinstance(network, np.ndarray) and network.ndim == 1
    sizes = network if is_vector or isinstance(network, list | tuple) else [network]
    return all(map(rule.integer(1, MAX_LAYER_UNITS).test, sizes))


class NNEVCLUS(ShepardMixin, EvidentialClusterer):
    r"""Neural-network evidential clustering: a neural network computes the masses of `EVCLUS`.

    The network has a softmax output for each focal set. The training minimizes the loss

    .. math::

        (1 - \nu) \operatorname*{mean}_{\text{pairs}} (\kappa_{ij} - \delta_{ij})^2
        + \nu \operatorname*{mean}_{\text{labeled rows}} \|pl_i - y_i\|^2 + \text{penalties},

    where kappa_ij is the degree of conflict between the masses of rows i and j,
    :math:`\delta_{ij} = 1 - \exp(-\gamma d_{ij}^2)` is computed from their dissimilarity d_ij, pl_i
    contains the plausibilities of the clusters, and y_i is the one-hot encoding of the label
    (nu = 0 without labels). The penalties are for violated constraints and for large weights.

    By default, the network is first trained with masses on single clusters. Then masses on pairs of
    neighboring clusters and on the empty set are computed by the method of `EVCLUS`, and the
    network is trained on these masses. The masses of new rows are outputs of the network. With an
    ``outlier_detector``, the mass on the empty set increases outside the region of the data.

    Training and prediction require torch (``pip install dempster[nn]``).

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        Number of clusters. "auto" selects it from the data (see
        `dempster.model_selection.number_of_clusters`); ``number_`` then contains the candidates and
        the reasons.
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        Sets of clusters that may carry mass. "auto" first trains the network with masses on single
        clusters. Then masses on pairs of neighboring clusters (with objects between them)
        and on the empty set are computed from the distances to the members of the clusters, and the
        network is trained on these masses. Rows with labels or constraints keep the masses of the
        first training. "simple", "pairs" and "full" train the whole family. "selected" uses single
        clusters and the pairs of mutually nearest clusters of the initial partition.
    metric : str, callable or transformer, default="euclidean"
        Metric of the rows of X; a transformer is fitted to ``constraints`` or ``y``. A name is a
        metric of scikit-learn; a transformer is, for example, `dempster.metric.PCCA`. With a
        transformer, d is the Euclidean distance between transformed rows.
    d0 : float > 0 or "auto", default="auto"
        Dissimilarity at which two rows are almost certainly in different clusters. "auto" is the
        value that `EVCLUS` selects if ``focal_sets="auto"``, ``init="evclus"`` and ``d0_quantile``
        is None. Otherwise, it is the quantile ``d0_quantile``.
    d0_quantile : float in (0, 1] or None, default=None
        Quantile of the dissimilarities that is used as ``d0="auto"``. None is 0.62 for three or
        four clusters, because networks smooth the borders between clusters, and the value of the
        papers for other numbers.
    xi : float >= 0 or "auto", default="auto"
        Weight of the constraints in the loss, for example 0.5. With "auto", the network is trained
        without constraints, which then revise the masses of their objects only: they move to the
        most plausible clusters that satisfy the constraints, as in `EVCLUS`. In the loss, the
        weight of a few constraints is that of all pairs, so that they may change all clusters.
    nu : float in [0, 1], default=0.5
        Weight of the labels. The published program divides the term by the number of clusters c, so
        its nu corresponds to nu / (nu + c (1 - nu)) here.
    regularization : float >= 0, default=0
        Weight of the penalty on squared network weights.
    convention : {"program", "paper"}, default="program"
        Meaning of ``xi`` and of the outlier unit, as in the published program or in the paper. With
        "paper", ``xi`` is divided by twice the number of constraints; with "program", the
        constraints have four times this weight, as in `EVCLUS`. The conventions also differ in the
        mass on the empty set for a decision value; "program" gives little mass inside the region of
        the data. The function nnevclus of the R package evclust has the outlier unit of "program",
        but the constraints have the weight of "paper"; divide its ``xi`` by 4 and use "program".
    network : "auto", int, sequence of int or torch.nn.Module, default="auto"
        Sizes of the ReLU hidden layers; "auto": one layer with 3 units per focal set (at least 20).
        A torch module must have one output (before the softmax) per focal set, and X may have any
        shape (n_samples, ...), such as images. With ``focal_sets="auto"``, the outputs of the
        module are scores of the empty set, the clusters and the frame; the scores of pairs are
        linear functions of these outputs.
    outlier_detector : None, "one-class-svm" or an object with ``decision_function``, default=None
        Detector that gives mass on the empty set to objects far from the data. "one-class-svm" is
        scikit-learn's `OneClassSVM` with nu=0.2 and gamma=0.2 on standardized features. An unfitted
        estimator of scikit-learn is fitted to the standardized features. Fitted estimators and
        other objects are used without a fit, on the same features. With ``focal_sets="auto"``, half
        of the mass is on the empty set at the lower fence of a box plot of the decision values (two
        interquartile ranges below the first quartile, or the quantile 0.01 if it is larger). If the
        detector is fitted here, these values are cross-validated: a detector gives new rows smaller
        values than the rows that it was fitted to. Otherwise, the training determines the mass on
        the empty set.
    n_partners : int or None, default=None
        Number of random partners of each row for the full-batch solvers; None: all pairs.
    training : Training or None, default=None
        Parameters of the solver. None means ``Training()``.
    init : {"evclus", "belief-peaks", "random"}, BeliefPeaks or CredalPartition
        Initial target of the network. "evclus" pretrains the network on the masses of a fitted
        `EVCLUS`, and a `CredalPartition` on its masses. "belief-peaks" or a `BeliefPeaks` uses the
        density peaks as labeled rows, with weight ``nu`` (the "-bp" variant of the paper). "random"
        uses no pretraining.
    n_init : int, default=1
        Number of trainings with different initial weights; the result with the smallest loss is
        kept. With validation data, it is the result with the smallest validation error.
    max_iter : int, default=1000
        Maximum number of iterations of the full-batch solvers; the mini-batch solver runs
        ``max_iter / 10`` epochs.
    tol : float, default=1e-4
        Relative decrease of the loss at which the full-batch solvers stop. It is the decrease in
        ten iterations of L-BFGS, or the running mean of the adaptive steps.
    checkpoint : path or None, default=None
        File from which an interrupted fit resumes, with the same result. It is replaced after every
        round. A file written for different data, parameters or initial weights of a torch module
        raises an error.
    device : str, default="cpu"
        Device of the network; "cuda" is a GPU. The data are copied to the device several times; if
        they do not fit into its memory, pass X in blocks.
    random_state : int, RandomState, Generator or None
        The same seed gives identical results for any ``n_jobs``.
    n_jobs : int or None, default=-1
        Number of threads; -1 uses all processors. None uses one unless `joblib.parallel_config`
        sets another number. The training of a network given by layer sizes uses one thread, and
        the training of a torch module and predictions use the threads of torch.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
        Cluster with the largest plausibility.
    network_ : dempster.nn.MassNetwork
        Network that maps standardized rows to masses, in main memory. Its attribute ``body`` is a
        `torch.nn.Sequential` of linear layers and ReLU, or a copy of the torch module.
    evclus_ : EVCLUS or None
        Fitted `EVCLUS` on whose masses the network was pretrained, with ``init="evclus"``. Without
        constraints, it is fitted to a random sample if there are more than 100,000 rows.
    outlier_detector_ : object or None
        Fitted outlier detector.
    d0_ : float
        Value of ``d0`` that was used.
    stress_, loss_ : float
        Sum of (conflict - delta)^2 over all pairs, divided by the sum of delta^2 (stress) or by the
        number of pairs (loss). For more than 1,000 rows, they are estimated from 200,000 random
        pairs. With ``focal_sets="auto"``, they describe the masses on single clusters, before
        masses on pairs of clusters are added.
    focal_sets_ : FocalSets
    objective_ : float
        Final loss including all penalties.
    history_ : ndarray
        Objective after every round (ten iterations of L-BFGS, one adaptive step, or one epoch). For
        an epoch, it is the mean over the batches. With validation pairs, the last entry belongs to
        the round with the smallest validation error, whose weights are kept.
    validation_history_ : ndarray
        Error on the validation pairs after the same rounds; empty without validation pairs.
    n_iter_ : int
        Number of rounds.
    n_starts_ : int
        Number of starts that were run, which may differ from ``n_init``.
    converged_ : bool
        Whether the loss was stable, early stopping ended the training, or all epochs were
        completed.
    n_clusters_ : int
    n_features_in_ : int
    sample_indices_ : ndarray
        Indices of the rows in the random sample on which the network was initialized, if X is given
        in blocks.

    References
    ----------
    T. Denoeux (2021). NN-EVCLUS: Neural network-based evidential clustering. Information Sciences
    572.

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
            lambda v: (
                isinstance(v, str)
                or callable(v)
                or (hasattr(v, "transform") and hasattr(v, "get_params"))
            ),
        ),
        "d0": rule.auto | rule.real(0, open_low=True),
        "d0_quantile": rule.none | rule.real(0, 1, open_low=True),
        "xi": rule.auto | rule.real(0),
        "nu": rule.real(0, 1),
        "regularization": rule.real(0),
        "convention": rule.choice("program", "paper"),
        "network": rule.choice("auto")
        | rule.Rule(
            "an integer of at least 1, a sequence of such integers or a torch.nn.Module",
            lambda v: _are_layer_sizes(v) or is_network(v),
        ),
        "outlier_detector": rule.choice(None)
        | rule.choice("one-class-svm")
        | rule.Rule(
            "an object with decision_function",
            lambda v: hasattr(v, "decision_function"),
        ),
        "n_partners": rule.choice(None) | rule.integer(1),
        "training": rule.choice(None) | rule.kind(Training),
        "init": rule.choice("evclus", "random")
        | PEAKS_RULE
        | rule.kind(CredalPartition),
    }
    _min_rows = 2
    _support = Support(blocks=True, tensors=True)
    training: Training | None
    _model: NetworkModel | ConstrainedNetwork
    evclus_: EVCLUS | None

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        metric: Metric | Any = "euclidean",
        d0: float | str = "auto",
        d0_quantile: float | None = None,
        xi: float | str = "auto",
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
        checkpoint: str | Path | None = None,
        device: str = "cpu",
        random_state: Seed = None,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ):
        super().__init__(
            n_clusters, focal_sets, n_init, max_iter, tol, random_state, n_jobs, verbose
        )
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
        self.checkpoint = checkpoint
        self.device = device

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
        X : array-like of shape (n_samples, n_features), or (n_samples, ...) with a torch module
            Data of type float32 keep their precision, and the results keep the index of a
            DataFrame. If X is given in blocks (``docs/blocks.md``), the network is initialized on a
            sample of 20,000 rows, the mini-batches are drawn from all rows, and the masses are
            computed lazily. With a torch tensor (``docs/scale.md``), the network is trained on its
            device, and the results are tensors on this device; pairs of rows that are compared
            before and after the training are selected from a copy in main memory.
        y : array-like of shape (n_samples,), optional
            Clusters 0..n_clusters-1 of the labeled rows, and -1 for unlabeled rows. If y contains
            no -1 and values outside 0..n_clusters-1, it is ignored with a warning, because
            pipelines pass the target to every step.
        constraints : Constraints, optional
            Pairs of rows that are known to be in the same cluster or in different clusters.
        dissimilarities : array-like of shape (n_samples, n_samples), optional
            Dissimilarities that replace the distances between the rows of X.

        Returns
        -------
        self
        """
        return self._fit(
            X, y=y, constraints=constraints, dissimilarities=dissimilarities
        )

    def score(self, X: TableLike, y: None = None) -> float:
        """Return minus the mean of (conflict - delta)^2 over pairs of rows of X.

        X may contain rows that were held out of the fit. The targets delta are computed with
        ``metric`` and ``d0_``. The pairs are all pairs up to 1,000 rows, and 200,000 random pairs
        for more rows. With this score, `sklearn.model_selection.GridSearchCV` can select
        ``regularization`` or ``network``. Use a fixed ``d0``, so that all fits are compared with
        the same targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            At least two rows.
        y : ignored

        Returns
        -------
        float
        """
        check_is_fitted(self, "focal_sets_")
        if hasattr(self.metric, "transform"):
            expected = "the name of a metric or a function for score"
            raise InvalidParameterError("metric", expected, self.metric)
        rows = to_host(self._read(X, reset=False))
        masses = to_host(self.predict_mass(X).masses)
        source = AttributeSource(rows.reshape(len(rows), -1), self.metric)
        rng = np.random.default_rng(0)
        predict = masses.__getitem__
        return -assess_rows(source, predict, self.focal_sets_, self.d0_, rng).loss

    @available_if(lambda self: self.outlier_detector is not None)
    def decision_function(self, X: TableLike) -> np.ndarray:
        """Return the decision values of the outlier detector.

        They are positive inside the region of the data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Decision values, divided by their standard deviation on the training objects.
        """
        check_is_fitted(self, "focal_sets_")
        preparation = self._model.preparation
        values = preparation.decision_values(
            preparation.standardize(self._read(X, reset=False))
        )
        assert values is not None
        return values

    def _compute_masses(self, values: Array, apply: Apply) -> Array:
        return self._model.masses(values, apply, self.device)

    def _accepts_tensors(self) -> bool:
        # Detectors run on the CPU.
        return super()._accepts_tensors() and self.outlier_detector is None

    def _read(self, X: TableLike, *, reset: bool) -> Array:
        return self._validate_attributes(
            X, reset=reset, allow_nd=is_network(self.network)
        )

    def _resolve_families(self, n_clusters: int) -> Families:
        """Return the families of focal sets.

        For "auto", the first family includes the frame and the empty set.
        """
        if self.focal_sets != "auto":
            return super()._resolve_families(n_clusters)
        return Families(FocalSets.simple(n_clusters), neighbors=True)

    def _run_search(
        self, search: Search, sample: Sample[Any], request: FitRequest
    ) -> tuple[Method[Any, Any], Run[Any]]:
        """Run the trainings with the focal sets of the initial masses.

        The progress bar counts rounds, not starts.
        """
        import_torch("cpu", "NNEVCLUS")
        from dempster.cluster.evclus._network_method import NetworkMethod

        training = self.training or Training()
        method = NetworkMethod(self, training, sample, request)
        families = Families(method.family, neighbors=self.focal_sets == "auto")
        quiet = replace(
            search, progress=partial(progress_bar, type(self).__name__, shown=False)
        )
        return method, quiet.run(method, families)

    def _initialize(
        self, targets: NetworkTargets, c: int, rng: np.random.Generator
    ) -> InitialMasses:
        """Return the initial masses, with their focal sets and d0."""
        quantile = default_quantile(c)
        if self.d0_quantile is not None:
            quantile = float(self.d0_quantile)
        elif c in (3, 4):
            quantile = _QUANTILE_FOR_FEW
        init = self.init
        if isinstance(init, str) and init == "evclus":
            return self._fit_evclus(targets, c, quantile, rng)
        families = self._resolve_families(c)
        family = families.first
        masses = None
        if isinstance(init, CredalPartition):
            check_partition(init, len(targets), c)
            if families.select is not None:
                family = families.select(init, None)
            if families.neighbors:
                masses = project_partition(init, family).masses
            else:
                masses = init.to_family(family).to_numpy().masses
        elif families.select is not None:
            expected = "'evclus' or a CredalPartition if focal_sets='selected'"
            raise InvalidParameterError("init", expected, init)
        d0 = self.d0
        if isinstance(d0, str):
            rows = np.arange(len(targets))
            pairs = WeightedPairs.from_source(targets.source, rows, _SCALE_PAIRS, rng)
            d0 = scale_at(pairs.dissimilarity, quantile)
        return InitialMasses(family, float(d0), masses)

    def _fit_evclus(
        self,
        targets: NetworkTargets,
        c: int,
        quantile: float | None,
        rng: np.random.Generator,
    ) -> InitialMasses:
        """Return the masses of EVCLUS, which selects d0 if the focal sets and d0 are automatic."""
        focal_sets = self.focal_sets
        if focal_sets == "auto":
            focal_sets = "simple"
            if self.d0_quantile is None:
                quantile = None
        source = targets.source
        table = targets.table
        rows: Any = ...
        if source.matrix is None and targets.constraints is None:
            rows = targets.draw_rows(_MAX_INITIAL_ROWS, rng)
            table = table[rows]
        model = EVCLUS(
            c,
            focal_sets=focal_sets,
            metric=source.metric,
            d0=self.d0,
            d0_quantile=quantile,
            random_state=int(rng.integers(2**31)),
            n_jobs=self.n_jobs,
        ).fit(table, constraints=targets.constraints)
        masses = model.credal_partition_.masses
        return InitialMasses(model.focal_sets_, model.d0_, masses, rows, model)

    def _auto_params(self, method: Any) -> dict[str, str]:
        evclus = method.first.evclus
        if evclus is None or evclus.scale_ is None:
            return {}
        return {"d0": evclus.scale_.reasons()}

    def _fitted_attributes(
        self, method: Any, model: NetworkModel | ConstrainedNetwork
    ) -> dict[str, Any]:
        assessment = method.assess()
        return {
            "network_": model.network,
            "evclus_": method.first.evclus,
            "outlier_detector_": model.preparation.detector,
            "d0_": method.first.d0,
            "stress_": assessment.stress,
            "loss_": assessment.loss,
            "validation_history_": np.asarray(model.validation),
            "_shepard": assessment.shepard,
        }

    def _check_loaded(self) -> None:
        """Raise an error if the network does not map rows of the table to masses."""
        torch = import_torch("cpu", "NNEVCLUS")
        network = self._model.network
        preparation = self._model.preparation
        shape = preparation.mean.shape
        if preparation.scale.shape != shape:
            raise InvalidInputError(
                f"scale must have the shape of mean, {shape}, got {preparation.scale.shape}"
            )
        x = torch.zeros((2, *shape), dtype=next(network.parameters()).dtype)
        try:
            with torch.no_grad():
                output = network(x, x.new_zeros(2)).shape
        except RuntimeError as error:
            raise InvalidInputError(f"network must accept rows: {error}") from error
        is_table = len(shape) == 1
        if output != (2, len(self._model.family)) or (
            is_table and shape != (self.n_features_in_,)
        ):
            raise InvalidInputError(
                "the layers of network must match n_features_in_, mean, scale and family"
            )
