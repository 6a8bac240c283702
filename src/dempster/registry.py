"""Registry of the clustering and classification methods, with their names, parameters and capabilities.

The command-line program, recipes and the studio can list the methods without importing their
classes. A test compares the registry with the classes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from dempster._errors import InvalidParameterError

CAPABILITIES = {
    "auto": 'n_clusters="auto" selects the number of clusters',
    "weights": "fit accepts sample_weight",
    "constraints": "fit accepts constraints",
    "labels": "fit accepts labels of some objects, y",
    "missing": "the parameter missing keeps incomplete rows",
    "dissimilarities": 'metric="precomputed" accepts dissimilarities',
    "mixed": 'metric="gower" accepts tables of numbers and categories',
    "categories": "X is a table of categories",
    "images": "X is an image",
    "views": "X may be several tables or matrices of the same objects",
    "blocks": "X may be read in blocks",
    "device": "the parameter device selects the CPU or a GPU",
}


@dataclass(frozen=True)
class Parameter:
    """Parameter of a clustering or classification method."""

    name: str
    default: Any
    # type of the value, such as "float > 0"; empty if only the strings in ``words`` are permitted
    type: str
    words: tuple[str, ...]  # permitted strings, such as ("auto",)
    help: str  # short description; the docstring of the class contains a longer one

    @property
    def kind(self) -> str:
        """Description of the permitted values, such as ``float > 0 or "auto"``."""
        quoted = ", ".join(f'"{word}"' for word in self.words)
        if len(self.words) > 1 or not self.type:
            quoted = f"{{{quoted}}}"
        if not self.words or not self.type:
            return self.type or quoted
        if " or " in self.type:
            return f"{quoted}, {self.type}"
        return f"{self.type} or {quoted}"

    @property
    def choices(self) -> tuple[str, ...]:
        """Permitted strings if no other values are permitted; otherwise empty."""
        if self.type:
            return ()
        return self.words

    @property
    def is_flag(self) -> bool:
        """Whether only True and False are permitted."""
        return self.type == "bool" and not self.words


@dataclass(frozen=True)
class MethodInfo:
    """Entry of the registry for a clustering or classification method."""

    name: str  # name in the command-line program, such as "ecm"
    package: str  # "cluster" or "classify"
    class_name: str
    summary: str
    capabilities: tuple[str, ...]  # keys of CAPABILITIES
    parameters: tuple[Parameter, ...]  # in the order of the constructor

    def load(self) -> Any:
        """Import and return the class."""
        return getattr(import_module(f"dempster.{self.package}"), self.class_name)

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter with the given name, or None if the method does not have it."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


def method_names(package: str = "cluster") -> list[str]:
    """Return the names of all clustering or classification methods, such as ``ecm`` for the class `ECM`.

    Parameters
    ----------
    package : {"cluster", "classify"}, default="cluster"
        Package that contains the methods.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from dempster.apps.recipe import method_names
    >>> method_names()[:4]
    ['bootclus', 'bpec', 'catecm', 'ccm']
    """
    return list(_methods(package))


def default_method(*, constrained: bool) -> str:
    """Return the method that is used if none is given.

    Not all methods can use constraints or labels.
    """
    if constrained:
        return "evclus"
    return "credal"


def find_method(name: str, package: str = "cluster") -> MethodInfo:
    """Return the entry of a method in the registry."""
    methods = _methods(package)
    if not isinstance(name, str) or name not in methods:
        raise InvalidParameterError("name", f"one of {', '.join(map(repr, methods))}", name)
    return methods[name]


def methods_that(capability: str) -> list[str]:
    """Return the names of the clustering methods that have a capability (a key of `CAPABILITIES`)."""
    return [method.name for method in _CLUSTER if capability in method.capabilities]


def methods_with(parameter: str, package: str = "cluster") -> list[str]:
    """Return the names of the methods that have a parameter."""
    return [method.name for method in _methods(package).values() if method.parameter(parameter)]


def parse_value(text: str) -> Any:
    """Parse text such as ``5``, ``0.5``, ``true``, ``none`` or ``[10, 10]``, and return other text unchanged."""
    for convert in (int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    if text.startswith("["):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _methods(package: str) -> dict[str, MethodInfo]:
    if not isinstance(package, str) or package not in _PACKAGES:
        raise InvalidParameterError("package", "'cluster' or 'classify'", package)
    return _PACKAGES[package]


# ---- the table -----------------------------------------------------------------------------------

# Type, permitted strings and help of the parameters that several methods have in common.
_SHARED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "alpha": ("float >= 0", (), "Penalty of large sets: larger values give smaller sets."),
    "beta": (
        "float > 1",
        ("auto",),
        'Fuzziness; masses become crisp near 1. "auto" depends on the number of attributes.',
    ),
    "checkpoint": (
        "path",
        (),
        "For X in blocks: file from which an interrupted fit is resumed, with the same result.",
    ),
    "cv": ("int", (), "Number of folds of the cross-validation."),
    "delta": (
        "float > 0",
        ("auto",),
        'Distance to the empty set: smaller values give more outliers. "auto" estimates it.',
    ),
    "device": ("str", (), 'Device that computes sums over all objects; "cuda" is a GPU.'),
    "focal_sets": (
        "FocalSets",
        ("auto", "simple", "pairs", "full", "selected"),
        "Sets of clusters that may have mass.",
    ),
    "init": (
        "BeliefPeaks, array of centers or CredalPartition",
        ("k-means++", "random", "belief-peaks"),
        "Initialization; one without random numbers is run once.",
    ),
    "max_iter": ("int", (), "Maximum number of iterations."),
    "metric": (
        "a metric of scikit-learn or a function of two rows",
        ("euclidean", "gower", "precomputed"),
        '"gower" accepts numbers, categories and missing values; "precomputed": X contains dissimilarities.',
    ),
    "missing": (
        "",
        ("refuse", "partial"),
        '"partial" compares objects by the attributes that are present.',
    ),
    "mixing": (
        "float in [0, 1] or None",
        (),
        "Share of the mass of the whole frame in the outputs: 1 gives plausibilities, 0 gives beliefs.",
    ),
    "n_candidates": (
        "int or None",
        ("auto",),
        "Number of objects that may represent a cluster; None: all.",
    ),
    "n_clusters": ("int", ("auto",), 'Number of clusters; "auto" selects it by several criteria.'),
    "n_init": ("int", (), "Number of starts; the result with the best objective is kept."),
    "n_jobs": ("int or None", (), "Number of threads; -1 uses all processors."),
    "n_neighbor_clusters": (
        "int",
        (),
        'For focal_sets="selected": number of nearest clusters with which a cluster forms pairs.',
    ),
    "n_prototypes": ("int", ("auto",), 'Total number of prototypes; "auto": five for each class.'),
    "optimize_prototypes": ("bool", (), "Optimize the prototypes, or keep those of k-means."),
    "random_state": ("int or None", (), "Seed; the same seed gives exactly the same result."),
    "regularization": (
        "float >= 0, sequence of float",
        ("cv",),
        'Strength of the regularization; a sequence or "cv": selected by cross-validation.',
    ),
    "symmetrize": (
        "bool",
        (),
        "Replace an asymmetric matrix by the mean of itself and its transpose, instead of raising an error.",
    ),
    "tol": ("float", (), "Relative change of the objective at which the iterations stop."),
    "verbose": ("int", (), "1 shows a progress bar."),
    "xi": ("float >= 0", (), "Weight of the constraints."),
}


def _shared(**defaults: Any) -> list[Parameter]:
    return [Parameter(name, default, *_SHARED[name]) for name, default in defaults.items()]


def _fuzziness(default: float) -> Parameter:
    return Parameter("beta", default, "float > 1", (), "Fuzziness; masses become crisp near 1.")


_ADAPTIVE_METRIC = Parameter(
    "metric",
    "euclidean",
    "",
    ("euclidean", "adaptive"),
    '"adaptive" learns a metric for each cluster.',
)


def _init(default: str, type: str, *others: str) -> Parameter:
    return Parameter("init", default, type, (default, *others), _SHARED["init"][2])


_INIT_MEDOIDS = _init(
    "medoids", "BeliefPeaks, array of positions or CredalPartition", "random", "belief-peaks"
)


def _clusterer(
    name: str, class_name: str, summary: str, capabilities: tuple[str, ...], *parameters: Parameter
) -> MethodInfo:
    return MethodInfo(name, "cluster", class_name, summary, capabilities, parameters)


def _classifier(name: str, class_name: str, summary: str, *parameters: Parameter) -> MethodInfo:
    return MethodInfo(name, "classify", class_name, summary, (), parameters)


_CLUSTER = (
    _clusterer(
        "bootclus",
        "BootClus",
        "Calibrated evidential clustering: bootstrap confidence intervals of a mixture.",
        ("auto", "blocks"),
        Parameter("n_clusters", 2, "int or None", ("auto",), _SHARED["n_clusters"][2]),
        *_shared(focal_sets="auto"),
        Parameter(
            "mixture",
            None,
            "None, a name such as VEV, ParsimoniousGaussianMixture or LatentClassModel",
            (),
            "Covariance model; None weighs fourteen models.",
        ),
        Parameter("confidence", 0.9, "float in (0, 1)", (), "Confidence level of the intervals."),
        Parameter("n_bootstraps", 500, "int", (), "Number of bootstrap samples."),
        Parameter(
            "n_partners",
            "auto",
            "int",
            ("all", "auto"),
            'Number of objects with which each object is compared, or "all"; "auto": all up to 2,000 objects.',
        ),
        *_shared(max_iter=1000),
        Parameter(
            "tol",
            1e-06,
            "float",
            (),
            "Smoothed relative change of the objective at which the sweeps stop.",
        ),
        *_shared(n_neighbor_clusters=2),
        Parameter(
            "warm_start",
            False,
            "bool",
            (),
            "Reuse the mixtures of the previous fit to the same data.",
        ),
        *_shared(random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer(
        "bpec",
        "BPEC",
        "Belief-peak evidential clustering: ECM with the fixed centers of BeliefPeaks.",
        ("auto", "missing", "blocks"),
        Parameter(
            "n_clusters",
            None,
            "int or None",
            ("auto",),
            "Number of clusters; None: number of peaks.",
        ),
        *_shared(focal_sets="auto"),
        _ADAPTIVE_METRIC,
        *_shared(alpha=1.0, beta="auto", delta="auto", missing="refuse"),
        Parameter(
            "init",
            "belief-peaks",
            "BeliefPeaks or array of centers",
            ("belief-peaks",),
            "Centers: from BeliefPeaks with default or given parameters, or an array.",
        ),
        Parameter(
            "max_iter", 500, "int", (), "Maximum number of iterations with the adaptive metric."
        ),
        *_shared(tol=1e-06, n_neighbor_clusters=1, random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer(
        "catecm",
        "CatECM",
        "Categorical evidential c-means: ECM for tables of categories.",
        ("auto", "weights", "missing", "categories"),
        *_shared(n_clusters=2, focal_sets="auto"),
        Parameter(
            "alpha", -0.25, "float", (), "Penalty of large sets: larger values give smaller sets."
        ),
        _fuzziness(1.2),
        *_shared(delta="auto"),
        Parameter(
            "missing",
            "error",
            "",
            ("error", "category"),
            "Missing values: raise an error, or treat them as a category.",
        ),
        Parameter(
            "handle_unknown",
            "error",
            "",
            ("error", "ignore"),
            "Unknown categories of new objects: raise an error, or differ from all prototypes.",
        ),
        _init("k-modes++", "table of n_clusters rows or CredalPartition", "random"),
        *_shared(
            n_init=10,
            max_iter=500,
            tol=1e-06,
            n_neighbor_clusters=1,
            random_state=None,
            n_jobs=-1,
            verbose=0,
        ),
    ),
    _clusterer(
        "ccm",
        "CCM",
        "Credal c-means: an object belongs to a set of clusters if it is close to all their prototypes.",
        ("auto", "weights", "missing", "blocks", "device"),
        *_shared(n_clusters=2, focal_sets="auto"),
        Parameter(
            "gamma",
            1.0,
            "float >= 0",
            (),
            "Weight of the distance to the barycenter, relative to the distances to the prototypes.",
        ),
        *_shared(
            beta="auto",
            delta="auto",
            missing="refuse",
            init="k-means++",
            n_init=10,
            max_iter=500,
            tol=1e-06,
        ),
        *_shared(
            n_neighbor_clusters=1,
            checkpoint=None,
            device="cpu",
            random_state=None,
            n_jobs=-1,
            verbose=0,
        ),
    ),
    _clusterer(
        "cecm",
        "CECM",
        "Constrained evidential c-means: ECM with must-links and cannot-links.",
        ("auto", "weights", "constraints", "missing"),
        *_shared(n_clusters=2, focal_sets="auto"),
        _ADAPTIVE_METRIC,
        Parameter("xi", 0.5, "float in [0, 1)", (), "Weight of the constraints."),
        Parameter(
            "convention",
            "scaled",
            "",
            ("scaled", "program", "paper"),
            'Weighting of constraints: "scaled" does not depend on the units of X, the others are as published.',
        ),
        Parameter(
            "empty_penalty",
            0.0,
            "float >= 0",
            (),
            "Cost of a unit of mass on the empty set for each linked object, added to the objective.",
        ),
        *_shared(
            alpha=1.0,
            delta="auto",
            missing="refuse",
            init="k-means++",
            n_init=10,
            max_iter=500,
            tol=1e-06,
        ),
        *_shared(n_neighbor_clusters=1, random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer(
        "credal",
        "CredalClustering",
        "Selection of the shape and the number of clusters: compact, elongated or connected clusters.",
        ("auto", "weights", "missing", "dissimilarities", "mixed", "blocks"),
        *_shared(n_clusters="auto", metric="euclidean"),
        Parameter(
            "shape",
            "auto",
            "",
            ("auto", "compact", "elongated", "connected"),
            'Shape of the clusters; "auto" compares them.',
        ),
        *_shared(missing="refuse", random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer(
        "ecm",
        "ECM",
        "Evidential c-means: the prototype of a set of clusters is the barycenter of its clusters.",
        ("auto", "weights", "missing", "blocks", "device"),
        *_shared(n_clusters=2, focal_sets="auto"),
        _ADAPTIVE_METRIC,
        *_shared(
            alpha=1.0,
            beta="auto",
            delta="auto",
            missing="refuse",
            init="k-means++",
            n_init=10,
            max_iter=500,
        ),
        *_shared(
            tol=1e-06,
            n_neighbor_clusters=1,
            checkpoint=None,
            device="cpu",
            random_state=None,
            n_jobs=-1,
        ),
        *_shared(verbose=0),
    ),
    _clusterer(
        "ecmdd",
        "ECMdd",
        "Evidential c-medoids (sECMdd): the clusters, and the sets of clusters, are represented by objects.",
        ("auto", "weights", "missing", "dissimilarities", "mixed"),
        *_shared(n_clusters=2, focal_sets="auto", metric="euclidean", symmetrize=False),
        Parameter(
            "power",
            1.0,
            "float in (0, 50]",
            (),
            "Power of the dissimilarities; 2 gives costs like those of ECM.",
        ),
        *_shared(alpha=2.0),
        _fuzziness(2.0),
        *_shared(delta="auto"),
        Parameter(
            "gamma",
            1.0,
            "float >= 0",
            (),
            "Weight of the medoids of clusters, relative to that of the set.",
        ),
        Parameter(
            "eta",
            1.0,
            "float >= 0",
            (),
            "For medoids of sets: weight of small dissimilarities, relative to equal ones.",
        ),
        *_shared(n_candidates="auto", missing="refuse"),
        _INIT_MEDOIDS,
        *_shared(n_init=10, max_iter=50),
        Parameter(
            "tol",
            1e-06,
            "float",
            (),
            "Relative difference of objectives below which the first of two starts is kept.",
        ),
        *_shared(n_neighbor_clusters=1, random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer(
        "egmm",
        "EGMM",
        "Evidential Gaussian mixture: objects between two Gaussian clusters get mass on the pair.",
        ("auto", "weights", "blocks", "device"),
        *_shared(n_clusters=2, focal_sets="auto"),
        Parameter(
            "covariance",
            "tied",
            "",
            ("tied", "own"),
            'One covariance matrix for all components ("tied"), or one for each cluster ("own").',
        ),
        Parameter(
            "reg_covar",
            1e-06,
            "float >= 0",
            (),
            "Factor of the mean variance that is added to the diagonal of the covariance matrix.",
        ),
        *_shared(init="k-means++"),
        Parameter(
            "n_init",
            10,
            "int",
            (),
            "Number of starts; the result with the largest likelihood is kept.",
        ),
        *_shared(max_iter=500),
        Parameter(
            "tol",
            1e-07,
            "float",
            (),
            "Relative change of the likelihood at which the iterations stop.",
        ),
        *_shared(
            n_neighbor_clusters=1,
            checkpoint=None,
            device="cpu",
            random_state=None,
            n_jobs=-1,
            verbose=0,
        ),
    ),
    _clusterer(
        "eknnclus",
        "EKNNClus",
        "Clustering by the evidential k-nearest-neighbor rule, which selects the number of clusters.",
        ("dissimilarities", "mixed", "blocks"),
        *_shared(metric="euclidean", symmetrize=False),
        Parameter(
            "n_neighbors",
            "auto",
            "int",
            ("auto",),
            'Number of neighbors; "auto": 2.5 times the square root of the number of objects, at most 400.',
        ),
        Parameter(
            "q",
            0.9,
            "float in (0, 1]",
            (),
            "Quantile of the dissimilarities to neighbors used as scale; larger values give fewer clusters.",
        ),
        Parameter(
            "power", 2.0, "float > 0", (), "Power of the dissimilarities: 1 or 2 in the papers."
        ),
        Parameter(
            "graph",
            "union",
            "",
            ("union", "mean", "directed"),
            'Neighbor graph: "union" of both directions, "mean" of both, or "directed".',
        ),
        Parameter(
            "neighbors",
            "auto",
            "",
            ("auto", "exact", "approximate"),
            'Neighbor search; "approximate": nearest-neighbor descent (needs dempster[neighbors]).',
        ),
        Parameter(
            "init",
            "auto",
            "int, array of labels or CredalPartition",
            ("auto", "distinct", "sample"),
            'Initial labels; "distinct": one cluster for each object; an integer: number of random clusters.',
        ),
        Parameter(
            "n_init", 10, "int", (), "Number of searches with different random labels and orders."
        ),
        *_shared(max_iter=100, random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer(
        "evclus",
        "EVCLUS",
        "Evidential clustering of dissimilarities: the more two objects differ, the more their masses conflict.",
        (
            "auto",
            "weights",
            "constraints",
            "missing",
            "dissimilarities",
            "mixed",
            "blocks",
            "device",
        ),
        *_shared(n_clusters=2, focal_sets="auto", metric="euclidean"),
        Parameter(
            "shape",
            "compact",
            "",
            ("compact", "connected"),
            '"connected" finds clusters of any shape, such as rings, by distances along paths.',
        ),
        *_shared(symmetrize=False),
        Parameter(
            "target_conflict",
            "exponential",
            "",
            ("exponential", "linear", "affine", "ordinal"),
            'Target conflict as a function of the dissimilarity; "ordinal" uses only the order of dissimilarities.',
        ),
        Parameter(
            "d0",
            "auto",
            "float > 0",
            ("auto",),
            "Dissimilarity above which two objects are almost surely in different clusters.",
        ),
        Parameter(
            "d0_quantile",
            None,
            "float in (0, 1] or None",
            (),
            "Quantile of the dissimilarities to use as d0.",
        ),
        *_shared(xi=0.5),
        Parameter(
            "convention",
            "program",
            "",
            ("program", "paper"),
            "Weight of the constraints as in the published program, or a quarter of it as in the paper.",
        ),
        Parameter(
            "sampling",
            "auto",
            "",
            ("auto", "all", "random", "landmarks"),
            'Pairs to compare; "auto": all pairs up to 1,000 objects, landmarks for more.',
        ),
        Parameter(
            "n_partners",
            100,
            "int",
            (),
            'Number of random partners of each object for sampling="random".',
        ),
        Parameter(
            "n_landmarks",
            "auto",
            "int",
            ("auto",),
            'Number of landmarks; "auto": 600, or 30 per cluster if that is more.',
        ),
        *_shared(missing="refuse"),
        _init(
            "medoids", "BeliefPeaks, CredalPartition or array of masses", "random", "belief-peaks"
        ),
        *_shared(n_init=5, max_iter=1000),
        Parameter(
            "tol",
            1e-07,
            "float",
            (),
            "Smoothed relative change of the objective at which the descent stops.",
        ),
        *_shared(n_neighbor_clusters=1),
        Parameter(
            "device",
            "cpu",
            "str",
            (),
            'Device that compares objects with landmarks; "cuda" is a GPU.',
        ),
        *_shared(random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer(
        "fuzzycmeans",
        "FuzzyCMeans",
        "Fuzzy c-means: ECM with masses on single clusters only.",
        ("auto", "weights", "missing", "blocks"),
        *_shared(n_clusters=2),
        _fuzziness(2.0),
        *_shared(missing="refuse", init="k-means++", n_init=10, max_iter=500, tol=1e-06),
        *_shared(random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer(
        "mecm",
        "MECM",
        "Median evidential c-means: prototypes are objects, and dissimilarities may be arbitrary.",
        ("auto", "weights", "missing", "dissimilarities", "mixed"),
        *_shared(n_clusters=2, focal_sets="auto", metric="euclidean", symmetrize=False, alpha=1.0),
        _fuzziness(2.0),
        *_shared(delta="auto"),
        Parameter("gamma", 0.5, "float >= 0", (), "Weight of the mean over the medoids of a set."),
        Parameter(
            "eta",
            1.0,
            "float > 0",
            (),
            "Larger values reduce the cost of sets for objects with unequal dissimilarities.",
        ),
        *_shared(n_candidates="auto", missing="refuse"),
        _INIT_MEDOIDS,
        *_shared(
            n_init=10,
            max_iter=100,
            tol=1e-06,
            n_neighbor_clusters=1,
            random_state=None,
            n_jobs=-1,
            verbose=0,
        ),
    ),
    _clusterer(
        "nnevclus",
        "NNEVCLUS",
        "Neural-network evidential clustering: a neural network computes the masses of EVCLUS.",
        ("auto", "labels", "constraints", "blocks", "device"),
        *_shared(n_clusters=2, focal_sets="auto"),
        Parameter(
            "metric",
            "euclidean",
            "a metric of scikit-learn, a function or a transformer",
            ("euclidean",),
            "Metric of the rows of X; a transformer is fitted to the constraints or labels.",
        ),
        Parameter(
            "d0",
            None,
            "float > 0 or None",
            (),
            "Dissimilarity above which two objects are almost surely in different clusters.",
        ),
        Parameter(
            "d0_quantile",
            "auto",
            "float in (0, 1]",
            ("auto",),
            "Quantile of the dissimilarities to use as d0 if d0 is None.",
        ),
        *_shared(xi=0.5),
        Parameter("nu", 0.5, "float in [0, 1]", (), "Weight of the labels."),
        Parameter(
            "regularization", 0.0, "float >= 0", (), "Weight of the squared network weights."
        ),
        Parameter(
            "convention",
            "program",
            "",
            ("program", "paper"),
            "Meaning of xi and the outlier detector: as in the published program or in the paper.",
        ),
        Parameter(
            "network",
            "auto",
            "int, sequence of int or torch.nn.Module",
            ("auto",),
            'Sizes of hidden layers (ReLU); "auto": one layer of 3 units for each focal set (at least 20).',
        ),
        Parameter(
            "outlier_detector",
            None,
            "None or an object with decision_function",
            ("one-class-svm",),
            "Detector that gives mass on the empty set to objects far from the data.",
        ),
        Parameter(
            "n_partners",
            None,
            "int or None",
            (),
            "Number of random partners of each object for full-batch training; None: all pairs.",
        ),
        Parameter("training", None, "Training or None", (), "Settings of the training."),
        Parameter(
            "init",
            "evclus",
            "BeliefPeaks or CredalPartition",
            ("evclus", "belief-peaks", "random"),
            "Initial target of the network: masses of EVCLUS, labels of belief peaks, or a given partition.",
        ),
        Parameter(
            "n_init",
            1,
            "int",
            (),
            "Number of trainings; the result with the smallest loss is kept.",
        ),
        Parameter(
            "max_iter",
            1000,
            "int",
            (),
            "Maximum number of iterations of full-batch solvers; a tenth of it is the number of epochs.",
        ),
        Parameter(
            "tol",
            0.0001,
            "float",
            (),
            "Relative decrease of the loss at which full-batch solvers stop.",
        ),
        *_shared(n_neighbor_clusters=1),
        Parameter(
            "checkpoint",
            None,
            "path",
            (),
            "File from which an interrupted fit is resumed, with the same result.",
        ),
        Parameter("device", "cpu", "str", (), 'Device of the network; "cuda" is a GPU.'),
        *_shared(random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer(
        "noiseclustering",
        "NoiseClustering",
        "Noise clustering: fuzzy c-means with a noise cluster for outliers.",
        ("auto", "weights", "missing", "blocks"),
        *_shared(n_clusters=2),
        _fuzziness(2.0),
        *_shared(
            delta="auto", missing="refuse", init="k-means++", n_init=10, max_iter=500, tol=1e-06
        ),
        *_shared(random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer(
        "possibilisticcmeans",
        "PossibilisticCMeans",
        "Possibilistic c-means: the typicality of an object for a cluster does not depend on other clusters.",
        ("auto", "weights", "blocks"),
        *_shared(n_clusters=2),
        _fuzziness(2.0),
        *_shared(init="k-means++", n_init=10, max_iter=500, tol=1e-06),
        *_shared(random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer(
        "recm",
        "RECM",
        "Relational evidential c-means: ECM for dissimilarity data.",
        ("auto", "weights", "missing", "dissimilarities", "mixed"),
        *_shared(n_clusters=2, focal_sets="auto", metric="euclidean", symmetrize=False),
        Parameter("square", "auto", "bool", ("auto",), "Whether to square the dissimilarities."),
        *_shared(alpha=1.0, beta="auto", delta="auto"),
        Parameter(
            "correction",
            "auto",
            "",
            ("auto", "shift", "clip"),
            "Correction of dissimilarities that are not Euclidean.",
        ),
        *_shared(missing="refuse"),
        _init("k-means++", "BeliefPeaks, array or CredalPartition", "random", "belief-peaks"),
        *_shared(
            n_init=10,
            max_iter=500,
            tol=1e-06,
            n_neighbor_clusters=1,
            random_state=None,
            n_jobs=-1,
            verbose=0,
        ),
    ),
    _clusterer(
        "roughkmeans",
        "RoughKMeans",
        "Rough k-means: a cluster has a lower and an upper approximation.",
        ("auto", "weights", "blocks"),
        *_shared(n_clusters=2),
        Parameter(
            "rule", "peters", "", ("lingras", "peters", "pi"), "Rule for the means of the clusters."
        ),
        Parameter(
            "threshold",
            1.5,
            "float >= 1",
            (),
            "Larger values give larger boundaries; 1 gives k-means.",
        ),
        Parameter(
            "lower_weight",
            0.7,
            "float in [0, 1]",
            (),
            "Weight of the lower approximation in the means.",
        ),
        *_shared(init="k-means++", n_init=10, max_iter=500, tol=1e-06),
        *_shared(random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer(
        "secm",
        "SECM",
        "Spatial evidential c-means: ECM for images, with smoothing over neighboring pixels.",
        ("auto", "weights", "images"),
        *_shared(n_clusters=2, focal_sets="auto"),
        _ADAPTIVE_METRIC,
        Parameter(
            "smoothing",
            0.5,
            "float in [0, 1)",
            (),
            "Weight of the neighbors in the cost of a pixel; 0 gives ECM.",
        ),
        Parameter(
            "radius",
            1,
            "int",
            (),
            "Radius of the neighborhood in pixels along every axis; 1 gives 8 neighbors in an image.",
        ),
        Parameter(
            "weighting",
            "uniform",
            "",
            ("uniform", "distance"),
            'Weights of neighbors; "distance": exponential decay with the distance.',
        ),
        Parameter(
            "spacing",
            None,
            "sequence of floats or None",
            (),
            'Distance of neighboring pixels along each axis, for weighting="distance".',
        ),
        Parameter(
            "channel_axis",
            -1,
            "int or None",
            (),
            "Axis of the channels; None for an image without channels.",
        ),
        *_shared(alpha=1.0, beta="auto", delta="auto"),
        _init("k-means++", "array of centers or CredalPartition", "random"),
        *_shared(
            n_init=10,
            max_iter=500,
            tol=1e-06,
            n_neighbor_clusters=1,
            random_state=None,
            n_jobs=-1,
            verbose=0,
        ),
    ),
    _clusterer(
        "wecmdd",
        "WECMdd",
        "Evidential c-medoids with weighted medoids (wECMdd): every object represents every cluster with a weight.",
        ("auto", "weights", "missing", "dissimilarities", "mixed"),
        *_shared(n_clusters=2, focal_sets="auto", metric="euclidean", symmetrize=False),
        Parameter("power", 2.0, "float in (0, 50]", (), "Power of the dissimilarities."),
        *_shared(alpha=2.0),
        _fuzziness(2.0),
        *_shared(delta="auto"),
        Parameter(
            "psi",
            1.2,
            "float in (1, 50]",
            (),
            "Larger values distribute the weights of a cluster over more objects; values near 1 give one medoid.",
        ),
        Parameter(
            "concentration",
            5.0,
            "float > 0",
            (),
            "Larger values concentrate the weights of a set on the objects that its clusters share.",
        ),
        *_shared(n_candidates="auto", missing="refuse"),
        _INIT_MEDOIDS,
        *_shared(
            n_init=10,
            max_iter=200,
            tol=1e-06,
            n_neighbor_clusters=1,
            random_state=None,
            n_jobs=-1,
            verbose=0,
        ),
    ),
    _clusterer(
        "wmvec",
        "WMVEC",
        "Weighted multi-view evidential clustering: ECM for several tables or matrices of the same objects.",
        ("auto", "weights", "dissimilarities", "views"),
        *_shared(n_clusters=2, focal_sets="auto"),
        Parameter(
            "metric",
            "euclidean",
            "",
            ("euclidean", "precomputed"),
            '"precomputed": each view is a square matrix of dissimilarities.',
        ),
        *_shared(symmetrize=False),
        Parameter(
            "views",
            None,
            "None or array-like of shape (n_features,)",
            ("attributes",),
            'Views of the columns of one table: an array of one view per column; "attributes": each column is one.',
        ),
        Parameter(
            "view_weights",
            "auto",
            "array-like of shape (n_views,)",
            ("auto", "equal"),
            'Weights of the views; "auto" learns them. Given weights are divided by their sum.',
        ),
        Parameter(
            "evenness",
            0.4,
            "float from 0.01 to 1000",
            (),
            "Larger values make the weights more equal; small values give all weight to one view.",
        ),
        *_shared(alpha=1.0, beta="auto", delta="auto"),
        _init(
            "k-means++",
            "BeliefPeaks, prototypes, positions or CredalPartition",
            "random",
            "belief-peaks",
        ),
        *_shared(
            n_init=10,
            max_iter=500,
            tol=1e-06,
            n_neighbor_clusters=1,
            random_state=None,
            n_jobs=-1,
            verbose=0,
        ),
    ),
)
_CLASSIFY = (
    _classifier(
        "eknn",
        "EKNNClassifier",
        "Evidential K nearest neighbor rule: each neighbor is a piece of evidence that decreases with distance.",
        Parameter(
            "n_neighbors",
            5,
            "int or sequence of int",
            ("auto",),
            'Number of neighbors; "auto" or a sequence: selected by the leave-one-out error.',
        ),
        Parameter(
            "metric",
            "euclidean",
            "a metric of scikit-learn or a function of two rows",
            ("euclidean", "precomputed"),
            '"precomputed": X contains distances to the training objects.',
        ),
        Parameter("metric_params", None, "dict or None", (), "Parameters of the metric."),
        Parameter(
            "reliability",
            0.95,
            "float in (0, 1)",
            (),
            "Mass on the class of a neighbor at distance 0.",
        ),
        Parameter(
            "gamma",
            None,
            "float, array of shape (n_classes,) or None",
            (),
            "Scales; None: learned.",
        ),
        *_shared(mixing=None),
        Parameter(
            "optimize", True, "bool", (), "Whether to learn gamma or to keep the initial scales."
        ),
        Parameter(
            "solver",
            "lbfgs",
            "",
            ("lbfgs", "adaptive-steps"),
            '"adaptive-steps": the slower method of the paper.',
        ),
        Parameter(
            "algorithm",
            "auto",
            "",
            ("auto", "ball_tree", "kd_tree", "brute"),
            "Algorithm of the neighbor search.",
        ),
        Parameter(
            "init",
            "mean-distance",
            "",
            ("mean-distance", "evclass"),
            "Initial scales: by the mean distance within a class, or as in the R package evclass.",
        ),
        *_shared(max_iter=300),
        Parameter(
            "tol", 1e-06, "float", (), "Decrease of the cost at which the optimization stops."
        ),
        *_shared(n_jobs=-1),
    ),
    _classifier(
        "neural-network",
        "EvidentialNeuralNetworkClassifier",
        "Evidential neural network: each prototype is a piece of evidence that decreases with distance.",
        *_shared(
            n_prototypes="auto", regularization=0.0, mixing=1.0, optimize_prototypes=True, cv=5
        ),
        Parameter(
            "init",
            "auto",
            "",
            ("auto", "classes", "all"),
            "Initial prototypes: k-means within each class, or on all objects.",
        ),
        *_shared(n_init=10, max_iter=1000),
        Parameter(
            "tol", 1e-06, "float", (), "Decrease of the cost at which the optimization stops."
        ),
        *_shared(random_state=None, n_jobs=-1),
    ),
    _classifier(
        "rbf",
        "EvidentialRBFClassifier",
        "Radial basis function network whose softmax outputs are interpreted as weights of evidence.",
        *_shared(n_prototypes="auto"),
        Parameter(
            "focal_sets",
            "auto",
            "",
            ("auto", "full", "simple"),
            'Sets of classes: all, or the single classes and the whole frame. "auto": "full" up to twelve classes.',
        ),
        *_shared(regularization=0.001, optimize_prototypes=True, cv=5, n_init=5, max_iter=1000),
        Parameter(
            "tol", 1e-05, "float", (), "Decrease of the loss at which the optimization stops."
        ),
        *_shared(random_state=None, n_jobs=-1),
    ),
)

_PACKAGES = {
    "cluster": {method.name: method for method in _CLUSTER},
    "classify": {method.name: method for method in _CLASSIFY},
}
