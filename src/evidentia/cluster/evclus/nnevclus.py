"""NN-EVCLUS: a network that maps attributes to masses."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from evidentia import _parameters as rule
from evidentia._tables import object_index
from evidentia.belief import FocalSets
from evidentia.cluster._base import COMMON_RULES, EvidentialClusterer
from evidentia.cluster.evclus.evclus import ShepardData
from evidentia.constraints import Constraints
from evidentia.partition import CredalPartition

__all__ = ["NNEVCLUS"]


class NNEVCLUS(EvidentialClusterer):
    """Neural-network evidential clustering: EVCLUS whose masses are the outputs of a network.

    A network with a softmax over the focal sets is trained so that the conflicts kappa_ij of the masses of pairs match
    their dissimilarities delta_ij = 1 - exp(-gamma d_ij^2):

        mean over pairs of (kappa_ij - delta_ij)^2  +  penalties for constraints, labels and large weights.

    New objects get masses by a forward pass. With an ``outlier_detector`` a share of the mass that grows outside the
    region of the data goes to the empty set, so that the network recognises what it has never seen.

    Needs torch (``pip install evidentia[nn]``).

    Parameters
    ----------
    n_clusters : int, default=2
    focal_sets : {"auto", "simple", "pairs", "full", "selected"} or FocalSets, default="auto"
        As in `EVCLUS`.
    hidden_layer_sizes : "auto", int or sequence of int, default="auto"
        Rectified linear hidden layers. "auto": one of 3 units for each focal set (at least 20).
    module : torch.nn.Module, optional
        A network of your own instead, with one output for each focal set (before the softmax); X may then have any
        shape (n_samples, ...), such as images.
    metric : str, callable, or transformer, default="euclidean"
        Dissimilarities of the rows of X: a metric of scikit-learn, or a transformer (such as
        `evidentia.metric.PCCA`) that is fitted to ``constraints`` or ``y`` and in whose space distances are Euclidean.
    d0 : float > 0, optional
        As in `EVCLUS`.
    d0_quantile : float in (0, 1] or "auto", default="auto"
        If ``d0`` is not given: quantile of the dissimilarities. "auto": as in `EVCLUS`, but 0.62 for three or
        four clusters, as a network smooths the borders between clusters and leaves enough objects ambiguous.
    n_pairs : int, optional
        Pairs per object for training on whole batches; all by default.
    outlier_detector : None, "one-class-svm" or an object with ``decision_function``, default=None
        "one-class-svm": scikit-learn's, nu=0.2, Gaussian kernel with gamma=0.2 on standardised attributes. A detector
        that is not fitted is fitted to the standardised attributes.
    outlier_convention : {"program", "paper"}, default="program"
        How the decision value becomes mass on the empty set; the two published versions differ. "program" leaves
        objects inside the region alone.
    xi : float >= 0, default=2
        Weight of the constraints. It multiplies the formula of the paper (which takes 0.5); 2 gives them the weight
        they have in `EVCLUS` by default.
    nu : float in [0, 1], default=0.5
        Weight of the labels.
    alpha : float >= 0, default=0
        Weight of the squared network weights.
    init : {"evclus", "belief-peaks", "random"}, default="evclus"
        "evclus": the network first learns the masses of an `EVCLUS` fit. "belief-peaks": the peaks of `BeliefPeaks`
        are labelled objects, with weight ``nu`` (the "-bp" variant of the paper).
    solver : {"auto", "lbfgs", "adaptive-steps", "mini-batch"}, default="auto"
        "auto": L-BFGS on all pairs up to 1,000 objects, mini-batches beyond. "adaptive-steps": the papers' method.
    batch_size : int, default=512
    learning_rate : float, default=0.005
    max_iter : int, default=1000
        Iterations of the whole-batch solvers; a tenth of it, epochs of mini-batches.
    tol : float, default=2e-4
        Relative gain of the loss, in ten iterations of L-BFGS or in the running mean of the adaptive steps, that ends
        the whole-batch solvers.
    early_stopping : bool, default=False
        Stop when held-out pairs get no better: a tenth of all pairs, which the training does not see. (Mini-batches
        keep the best of their epochs on such pairs even if they are not stopped.)
    patience : int, default=20
        Epochs (or rounds) without improvement before stopping early.
    n_init : int, default=1
        Trainings from different weights; the smallest loss is kept.
    device : str, default="cpu"
        Where the network lives; the data stay in the memory of the host and are sent batch by batch.
    checkpoint : path, optional
        A file that is rewritten, atomically, after every round; a fit that was killed goes on from it, to the same
        result.
    n_neighbors, random_state, n_jobs, verbose
        As in `EVCLUS`.

    Attributes
    ----------
    credal_partition_ : CredalPartition
    labels_ : ndarray of shape (n_samples,)
    focal_sets_ : FocalSets
    network_ : torch.nn.Module
    loss_ : float
        Mean squared difference of conflict and delta over all pairs (a sample of them for large data).
    objective_ : float
        Loss with all penalties that the training ended with.
    history_ : ndarray
        Objective after every iteration, round or epoch.
    validation_history_ : ndarray
        The same on held-out pairs, where there are any.
    evclus_ : EVCLUS
        The fit that the network started from, with ``init="evclus"``.
    d0_ : float
    outlier_detector_ : object
    n_iter_, converged_, n_features_in_

    References
    ----------
    T. Denoeux (2021). NN-EVCLUS: Neural network-based evidential clustering. Information Sciences 572.

    Examples
    --------
    >>> from evidentia.cluster import NNEVCLUS
    >>> from evidentia.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = NNEVCLUS(3, random_state=0).fit(X)
    >>> model.predict_mass(X[:2]).labels
    array([1, 1])
    """

    _rules = {
        **COMMON_RULES,
        "metric": rule.Rule(
            "the name of a metric, a callable or a transformer",
            lambda v: isinstance(v, str) or callable(v) or hasattr(v, "transform"),
        ),
        "d0": rule.choice(None) | rule.real(0, open_low=True),
        "d0_quantile": rule.choice("auto") | rule.real(0, 1, open_low=True),
        "n_pairs": rule.choice(None) | rule.integer(1),
        "outlier_detector": rule.choice(None)
        | rule.choice("one-class-svm")
        | rule.Rule("an object with decision_function", lambda v: hasattr(v, "decision_function")),
        "outlier_convention": rule.choice("program", "paper"),
        "xi": rule.real(0),
        "nu": rule.real(0, 1),
        "alpha": rule.real(0),
        "init": rule.choice("evclus", "belief-peaks", "random"),
        "solver": rule.choice("auto", "lbfgs", "adaptive-steps", "mini-batch"),
        "batch_size": rule.integer(2),
        "learning_rate": rule.real(0, open_low=True),
        "early_stopping": rule.flag,
        "patience": rule.integer(1),
        "device": rule.kind(str, words="the name of a device"),
    }

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        focal_sets: str | FocalSets = "auto",
        hidden_layer_sizes: Any = "auto",
        module: Any = None,
        metric: Any = "euclidean",
        d0: float | None = None,
        d0_quantile: float | str = "auto",
        n_pairs: int | None = None,
        outlier_detector: Any = None,
        outlier_convention: str = "program",
        xi: float = 2.0,
        nu: float = 0.5,
        alpha: float = 0.0,
        init: str = "evclus",
        solver: str = "auto",
        batch_size: int = 512,
        learning_rate: float = 5e-3,
        max_iter: int = 1000,
        tol: float = 2e-4,
        early_stopping: bool = False,
        patience: int = 20,
        n_init: int = 1,
        n_neighbors: int = 1,
        device: str = "cpu",
        checkpoint: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.focal_sets = focal_sets
        self.hidden_layer_sizes = hidden_layer_sizes
        self.module = module
        self.metric = metric
        self.d0 = d0
        self.d0_quantile = d0_quantile
        self.n_pairs = n_pairs
        self.outlier_detector = outlier_detector
        self.outlier_convention = outlier_convention
        self.xi = xi
        self.nu = nu
        self.alpha = alpha
        self.init = init
        self.solver = solver
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.tol = tol
        self.early_stopping = early_stopping
        self.patience = patience
        self.n_init = n_init
        self.n_neighbors = n_neighbors
        self.device = device
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, *, constraints: Constraints | None = None, dissimilarities: Any = None
    ) -> NNEVCLUS:
        """Train the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, ...) with a module of your own
        y : array-like of shape (n_samples,), optional
            Clusters 0..n_clusters-1 of labelled objects, -1 for the others. A target without any -1 that is not made
            of these numbers is ignored, with a warning, as clusterers in pipelines do.
        constraints : Constraints, optional
        dissimilarities : array-like of shape (n_samples, n_samples), optional
            Dissimilarities to match instead of distances between the rows of X.
        """
        self._check_parameters()
        try:
            from evidentia.cluster.evclus.network.fit import Fit
        except ImportError as error:
            raise ImportError("NNEVCLUS needs torch: pip install 'evidentia[nn]'") from error
        if X is not None and self.module is None:
            X_checked = validate_data(self, X, reset=True, dtype=[np.float64, np.float32])
        else:
            X_checked = validate_data(self, X, reset=True, dtype=[np.float64, np.float32], allow_nd=True)
        if len(X_checked) < max(self.n_clusters, 2):
            raise ValueError(f"n_samples={len(X_checked)} should be >= n_clusters={self.n_clusters}, and at least 2")
        fit = Fit(self, X_checked, y, constraints, dissimilarities)
        run, masses = fit.run()
        self.network_, self._preparation = fit.network, fit.preparation
        self.d0_ = fit.d0
        self.evclus_ = fit.evclus
        self.outlier_detector_ = fit.preparation.detector
        self.loss_ = fit.loss
        self.validation_history_ = np.asarray(fit.validation)
        self._shepard = ShepardData(*fit.shepard)
        self._set_result(run, masses, fit.family, object_index(X))
        return self

    def predict_mass(self, X: Any) -> CredalPartition:
        """Credal partition of new objects: a forward pass, with the outlier detector where there is one."""
        check_is_fitted(self, "credal_partition_")
        allow_nd = self.module is not None
        data = validate_data(self, X, reset=False, dtype=[np.float64, np.float32], allow_nd=allow_nd)
        masses = self._preparation.masses(self.network_, data, self.device)
        return CredalPartition.unchecked(masses, self.focal_sets_, object_index(X))

    def shepard(self, n_pairs: int = 5000, random_state: Any = 0) -> ShepardData:
        """Dissimilarity, delta and conflict of up to ``n_pairs`` pairs, for a Shepard diagram."""
        check_is_fitted(self, "credal_partition_")
        return self._shepard.sample(n_pairs, random_state)
