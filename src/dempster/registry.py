"""The methods of dempster: names, parameters and capabilities, declared once.

The program, recipes and the studio read this table, so that listing methods imports none of them.
``tests/test_registry.py`` compares it with the classes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from dempster._errors import InvalidParameterError

CAPABILITIES = {
    "auto": 'n_clusters="auto" chooses the number of clusters',
    "weights": "fit takes sample_weight",
    "constraints": "fit takes constraints",
    "labels": "fit takes labels of some objects, y",
    "missing": "the parameter missing keeps incomplete rows",
    "dissimilarities": 'metric="precomputed" takes dissimilarities',
    "mixed": 'metric="gower" takes tables of numbers and categories',
    "categories": "X is a table of categories",
    "images": "X is an image",
    "views": "X may be several tables or matrices of the same objects",
    "blocks": "X may come in blocks",
    "device": "the parameter device chooses where the fit runs",
}


@dataclass(frozen=True)
class Parameter:
    """A parameter of a method.

    Attributes
    ----------
    name : str
    default : object
    type : str
        What it may be besides one of the words, such as ``float > 0``; empty if it must be one of them.
    words : tuple of str
        The words it may be, such as ``("auto",)``.
    help : str
        What it means, in a sentence or two; the docstring of the class says more.

    Examples
    --------
    >>> from dempster.apps.recipe import method_parameters
    >>> metric = next(one for one in method_parameters("ecm") if one.name == "metric")
    >>> metric.default, metric.choices
    ('euclidean', ('euclidean', 'adaptive'))
    """

    name: str
    default: Any
    type: str
    words: tuple[str, ...]
    help: str

    @property
    def kind(self) -> str:
        """What it may be, such as ``float > 0 or "auto"``."""
        quoted = ", ".join(f'"{word}"' for word in self.words)
        quoted = f"{{{quoted}}}" if len(self.words) > 1 or not self.type else quoted
        if not self.words or not self.type:
            return self.type or quoted
        return f"{quoted}, {self.type}" if " or " in self.type else f"{self.type} or {quoted}"

    @property
    def choices(self) -> tuple[str, ...]:
        """The words it may be; empty where it may be something else too."""
        return () if self.type else self.words

    @property
    def is_flag(self) -> bool:
        """Whether it is true or false."""
        return self.type == "bool" and not self.words


@dataclass(frozen=True)
class MethodInfo:
    """A method as the applications offer it.

    Attributes
    ----------
    name : str
        As it is typed: ``ecm``.
    package : {"cluster", "classify"}
    class_name : str
    summary : str
    capabilities : tuple of str
        Keys of `CAPABILITIES`.
    parameters : tuple of Parameter
        In the order of the constructor.
    """

    name: str
    package: str
    class_name: str
    summary: str
    capabilities: tuple[str, ...]
    parameters: tuple[Parameter, ...]

    def load(self) -> Any:
        """Import the class."""
        return getattr(import_module(f"dempster.{self.package}"), self.class_name)

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of this name, or None."""
        return next((one for one in self.parameters if one.name == name), None)


def method_names(package: str = "cluster") -> list[str]:
    """Names of the methods of ``dempster.cluster`` (or "classify") as they are typed: ``ecm`` for the class `ECM`.

    Parameters
    ----------
    package : {"cluster", "classify"}, default="cluster"

    Examples
    --------
    >>> from dempster.apps.recipe import method_names
    >>> method_names()[:4]
    ['bootclus', 'bpec', 'catecm', 'ccm']
    """
    return list(_methods(package))


def method_summary(name: str, package: str = "cluster") -> str:
    """What a method does, in a sentence.

    Parameters
    ----------
    name : str
        One of `method_names`.
    package : {"cluster", "classify"}, default="cluster"

    Examples
    --------
    >>> from dempster.apps.recipe import method_summary
    >>> method_summary("catecm")
    'Categorical evidential c-means: ECM for tables of categories.'
    """
    return find_method(name, package).summary


def method_parameters(name: str, package: str = "cluster") -> tuple[Parameter, ...]:
    """The parameters of a method, in the order of its constructor.

    Parameters
    ----------
    name : str
        One of `method_names`.
    package : {"cluster", "classify"}, default="cluster"

    Examples
    --------
    >>> from dempster.apps.recipe import method_parameters
    >>> alpha = {parameter.name: parameter for parameter in method_parameters("ecm")}["alpha"]
    >>> alpha.default, alpha.kind
    (1.0, 'float >= 0')
    >>> alpha.help
    'Penalty of large sets: larger values give smaller sets.'
    """
    return find_method(name, package).parameters


def find_method(name: str, package: str = "cluster") -> MethodInfo:
    """Return what is declared of a method."""
    known = _methods(package)
    if not isinstance(name, str) or name not in known:
        raise InvalidParameterError("name", f"one of {', '.join(map(repr, known))}", name)
    return known[name]


def methods_that(capability: str) -> list[str]:
    """Names of the clustering methods with a capability."""
    return [one.name for one in _CLUSTER if capability in one.capabilities]


def methods_with(parameter: str, package: str = "cluster") -> list[str]:
    """Names of the methods that have a parameter."""
    return [one.name for one in _methods(package).values() if one.parameter(parameter)]


def parse_value(text: str) -> Any:
    """Convert the text of a parameter: ``5``, ``0.5``, ``true``, ``none``, ``[10, 10]``, or any other text as it is."""
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
        except (ValueError, RecursionError):
            return text
    return text


def _methods(package: str) -> dict[str, MethodInfo]:
    if not isinstance(package, str) or package not in _PACKAGES:
        raise InvalidParameterError("package", "'cluster' or 'classify'", package)
    return _PACKAGES[package]


# ---- the table ------------------------------------------------------------------------------------------------------

# type, words and meaning of parameters that several methods share
# fmt: off
_SHARED: dict[str, tuple[str, tuple[str, ...], str]] = {
    "alpha": ("float >= 0", (), "Penalty of large sets: larger values give smaller sets."),
    "beta": ("float > 1", ("auto",),
        'Fuzziness: towards 1 the masses become certain. "auto" depends on the number of attributes.'),
    "checkpoint": ("path", (), "For X in blocks: a file from which a fit that was killed goes on, to the same result."),
    "cv": ("int", (), "Parts of the cross-validation."),
    "delta": ("float > 0", ("auto",),
        'Distance to the empty set: smaller values give more outliers. "auto" finds it from the data.'),
    "device": ("str", (), 'Where sums over all objects are taken; "cuda" is a GPU.'),
    "focal_sets": ("FocalSets", ("auto", "simple", "pairs", "full", "selected"),
        "Which sets of clusters may carry mass."),
    "init": ("BeliefPeaks, array of centers or CredalPartition", ("k-means++", "random", "belief-peaks"),
        "How to start; a start without chance is used once."),
    "max_iter": ("int", (), "Most iterations."),
    "metric": ("a metric of scikit-learn or a function of two rows", ("euclidean", "gower", "precomputed"),
        '"gower" compares numbers, categories and missing cells; "precomputed": X holds dissimilarities.'),
    "missing": ("", ("refuse", "partial"), '"partial" compares objects by the attributes that are there.'),
    "mixing": ("float in [0, 1] or None", (),
        "Share of the mass of the whole frame in the outputs: 1 compares plausibilities with the labels, 0 beliefs."),
    "n_candidates": ("int or None", ("auto",), "How many objects may represent a cluster; None: all."),
    "n_clusters": ("int", ("auto",), '"auto" chooses the number for which most speaks.'),
    "n_init": ("int", (), "Starts; the best objective is kept."),
    "n_jobs": ("int or None", (), "Threads; -1 uses all processors."),
    "n_neighbor_clusters": ("int", (),
        'For focal_sets="selected": pairs of clusters, each among this many nearest ones of the other.'),
    "n_prototypes": ("int", ("auto",), 'Prototypes in all; "auto": five for each class.'),
    "optimize_prototypes": ("bool", (), "Whether the prototypes move, or stay where k-means put them."),
    "random_state": ("int or None", (), "The same seed gives the same result, bit for bit."),
    "regularization": ("float >= 0, sequence of float", ("cv",),
        'Strength of the regularization; a sequence or "cv": chosen by cross-validation.'),
    "symmetrize": ("bool", (),
        "Replace an asymmetric matrix by the mean of itself and its transpose, instead of refusing it."),
    "tol": ("float", (), "Relative change of the objective that ends the iterations."),
    "verbose": ("int", (), "1 shows a progress bar."),
    "xi": ("float >= 0", (), "Weight of the constraints."),
}
# fmt: on


def _shared(**defaults: Any) -> list[Parameter]:
    return [Parameter(name, default, *_SHARED[name]) for name, default in defaults.items()]


def _fuzziness(default: float) -> Parameter:
    return Parameter("beta", default, "float > 1", (), "Fuzziness: towards 1 the masses become certain.")


_ADAPTIVE_METRIC = Parameter(
    "metric", "euclidean", "", ("euclidean", "adaptive"), '"adaptive": clusters may be elongated, each in its own way.'
)
_INIT_MEDOIDS = Parameter(
    "init",
    "medoids",
    "BeliefPeaks, array of positions or CredalPartition",
    ("medoids", "random", "belief-peaks"),
    _SHARED["init"][2],
)


def _clusterer(
    name: str, class_name: str, summary: str, capabilities: tuple[str, ...], *parameters: Parameter
) -> MethodInfo:
    return MethodInfo(name, "cluster", class_name, summary, capabilities, parameters)


def _classifier(name: str, class_name: str, summary: str, *parameters: Parameter) -> MethodInfo:
    return MethodInfo(name, "classify", class_name, summary, (), parameters)


# fmt: off
_CLUSTER = (
    _clusterer("bootclus", "BootClus",
        "Calibrated evidential clustering: how sure a Gaussian mixture is that two objects belong together.",
        ("auto", "blocks"),
        Parameter("n_clusters", 2, "int or None", ("auto",), '"auto" chooses the number for which most speaks.'),
        *_shared(focal_sets="auto"),
        Parameter("mixture", None, "None, a name such as VEV, or ParsimoniousGaussianMixture", (),
            "Covariance model; None chooses among all fourteen by BIC."),
        Parameter("confidence", 0.9, "float in (0, 1)", (), "Level of the intervals."),
        Parameter("n_bootstraps", 500, "int", (), "Samples drawn with replacement."),
        Parameter("n_partners", "auto", "int", ("all", "auto"),
            'Reference objects with which each object is compared, or "all"; "auto": all up to 2,000 objects.'),
        *_shared(max_iter=1000),
        Parameter("tol", 1e-06, "float", (), "Smoothed relative change of the objective that ends the sweeps."),
        *_shared(n_neighbor_clusters=2),
        Parameter("warm_start", False, "bool", (), "Fit again to the same data with the mixtures of the call before."),
        *_shared(random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer("bpec", "BPEC",
        "Belief-peak evidential clustering: BeliefPeaks finds the centers, and they stay where they are.",
        ("auto", "missing", "blocks"),
        Parameter("n_clusters", None, "int or None", ("auto",), '"auto" or None: as many as there are peaks.'),
        *_shared(focal_sets="auto"),
        _ADAPTIVE_METRIC,
        *_shared(alpha=1.0, beta="auto", delta="auto", missing="refuse"),
        Parameter("init", "belief-peaks", "BeliefPeaks or array of centers", ("belief-peaks",),
            "The centers: found by BeliefPeaks with default parameters or with its own, or given."),
        Parameter("max_iter", 500, "int", (), "For the adaptive metric."),
        *_shared(tol=1e-06, n_neighbor_clusters=1, random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer("catecm", "CatECM", "Categorical evidential c-means: ECM for tables of categories.",
        ("auto", "weights", "missing", "categories"),
        *_shared(n_clusters=2, focal_sets="auto"),
        Parameter("alpha", -0.25, "float", (), "Penalty of large sets: larger values give smaller sets."),
        _fuzziness(1.2),
        *_shared(delta="auto"),
        Parameter("missing", "error", "", ("error", "category"),
            "Whether missing cells are refused, or are a category of their own."),
        Parameter("handle_unknown", "error", "", ("error", "ignore"),
            "Whether categories of new objects that fit has not seen are refused, or differ from all prototypes."),
        Parameter("init", "k-modes++", "table of n_clusters rows or CredalPartition", ("k-modes++", "random"),
            "How to start; a start without chance is used once."),
        *_shared(n_init=10, max_iter=500, tol=1e-06, n_neighbor_clusters=1, random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer("ccm", "CCM",
        "Credal c-means: an object belongs to a set of clusters when it is near all their prototypes.",
        ("auto", "weights", "missing", "blocks", "device"),
        *_shared(n_clusters=2, focal_sets="auto"),
        Parameter("gamma", 1.0, "float >= 0", (),
            "Weight of the distance to the barycentre beside those to the prototypes."),
        *_shared(beta="auto", delta="auto", missing="refuse", init="k-means++", n_init=10, max_iter=500, tol=1e-06),
        *_shared(n_neighbor_clusters=1, checkpoint=None, device="cpu", random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer("cecm", "CECM", "Constrained evidential c-means: ECM with must-links and cannot-links.",
        ("auto", "weights", "constraints", "missing"),
        *_shared(n_clusters=2, focal_sets="auto"),
        _ADAPTIVE_METRIC,
        Parameter("xi", 0.5, "float in [0, 1)", (), "Weight of the constraints."),
        Parameter("convention", "scaled", "", ("scaled", "program", "paper"),
            'How constraints are weighed: "scaled" does not depend on the units of X, the others are as published.'),
        Parameter("empty_penalty", 0.0, "float >= 0", (),
            "Cost of a unit of mass on the empty set for each linked object, added to the objective."),
        *_shared(alpha=1.0, delta="auto", missing="refuse", init="k-means++", n_init=10, max_iter=500, tol=1e-06),
        *_shared(n_neighbor_clusters=1, random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer("ecm", "ECM",
        "Evidential c-means: every set of clusters has a prototype, the barycenter of those of its clusters.",
        ("auto", "weights", "missing", "blocks", "device"),
        *_shared(n_clusters=2, focal_sets="auto"),
        _ADAPTIVE_METRIC,
        *_shared(alpha=1.0, beta="auto", delta="auto", missing="refuse", init="k-means++", n_init=10, max_iter=500),
        *_shared(tol=1e-06, n_neighbor_clusters=1, checkpoint=None, device="cpu", random_state=None, n_jobs=-1),
        *_shared(verbose=0),
    ),
    _clusterer("ecmdd", "ECMdd",
        "Evidential c-medoids (sECMdd): the clusters, and the sets of clusters, are represented by objects.",
        ("auto", "weights", "missing", "dissimilarities", "mixed"),
        *_shared(n_clusters=2, focal_sets="auto", metric="euclidean", symmetrize=False),
        Parameter("power", 1.0, "float in (0, 50]", (),
            "Dissimilarities are raised to this power first; 2 for costs like those of ECM."),
        *_shared(alpha=2.0),
        _fuzziness(2.0),
        *_shared(delta="auto"),
        Parameter("gamma", 1.0, "float >= 0", (), "Weight of the medoids of the clusters beside that of the set."),
        Parameter("eta", 1.0, "float >= 0", (),
            "For the medoids of sets: how much being near counts beside being at the same dissimilarity."),
        *_shared(n_candidates="auto", missing="refuse"),
        _INIT_MEDOIDS,
        *_shared(n_init=10, max_iter=50),
        Parameter("tol", 1e-06, "float", (),
            "Starts whose objectives differ by less, relatively, are tied: the first wins."),
        *_shared(n_neighbor_clusters=1, random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer("egmm", "EGMM",
        "Evidential Gaussian mixture: a component for every set of clusters, at the barycenter of their means.",
        ("auto", "weights", "blocks", "device"),
        *_shared(n_clusters=2, focal_sets="auto"),
        Parameter("reg_covar", 1e-06, "float >= 0", (),
            "Times the mean variance of the attributes, added to the diagonal of the covariance matrix."),
        *_shared(init="k-means++"),
        Parameter("n_init", 10, "int", (), "Starts; the largest likelihood is kept."),
        *_shared(max_iter=500),
        Parameter("tol", 1e-07, "float", (), "Relative change of the likelihood that ends the iterations."),
        *_shared(n_neighbor_clusters=1, checkpoint=None, device="cpu", random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer("eknnclus", "EKNNClus",
        "Clustering by the evidential k-nearest-neighbor rule, which finds the number of clusters.",
        ("dissimilarities", "mixed", "blocks"),
        *_shared(metric="euclidean", symmetrize=False),
        Parameter("n_neighbors", "auto", "int", ("auto",),
            '"auto": 2.5 times the square root of the number of objects, at most 400.'),
        Parameter("q", 0.9, "float in (0, 1]", (),
            "Quantile of the dissimilarities to neighbors that sets the scale; larger values give fewer clusters."),
        Parameter("power", 2.0, "float > 0", (), "Power of the dissimilarities: 1 or 2 in the papers."),
        Parameter("graph", "union", "", ("union", "mean", "directed"),
            'Whose evidence counts: "union" of neighbors either way, "mean" half if one way, "directed" of its own.'),
        Parameter("neighbors", "auto", "", ("auto", "exact", "approximate"),
            '"approximate": nearest-neighbor descent (needs dempster[neighbors]).'),
        Parameter("init", "auto", "int, array of labels or CredalPartition", ("auto", "distinct", "sample"),
            '"distinct": a cluster for each object. An integer: so many clusters at random.'),
        Parameter("n_init", 10, "int", (), "Searches with other random labels and orders of visits."),
        *_shared(max_iter=100, random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer("evclus", "EVCLUS",
        "Evidential clustering of dissimilarities: the more two objects differ, the more their masses conflict.",
        ("auto", "weights", "constraints", "missing", "dissimilarities", "mixed", "blocks", "device"),
        *_shared(n_clusters=2, focal_sets="auto", metric="euclidean", symmetrize=False),
        Parameter("d0", "auto", "float > 0", ("auto",),
            "Dissimilarity at which two objects are almost surely in different clusters."),
        Parameter("d0_quantile", None, "float in (0, 1] or None", (),
            "Quantile of the dissimilarities to take instead of d0."),
        *_shared(xi=0.5),
        Parameter("convention", "program", "", ("program", "paper"),
            "Weight of the constraints as in the published program or, a quarter of it, as in the paper."),
        Parameter("sampling", "auto", "", ("auto", "all", "random", "landmarks"),
            '"auto": all pairs up to 1,000 objects, landmarks beyond.'),
        Parameter("n_partners", 100, "int", (), 'Random partners of each object for sampling="random".'),
        Parameter("n_landmarks", "auto", "int", ("auto",), '"auto": 600, or 30 per cluster if that is more.'),
        *_shared(missing="refuse"),
        Parameter("init", "medoids", "BeliefPeaks, CredalPartition or array of masses",
            ("medoids", "random", "belief-peaks"), "How to start; a start without chance is used once."),
        *_shared(n_init=5, max_iter=1000),
        Parameter("tol", 1e-07, "float", (), "Smoothed relative change of the objective that ends the descent."),
        *_shared(n_neighbor_clusters=1),
        Parameter("device", "cpu", "str", (), 'Where objects are compared with landmarks; "cuda" is a GPU.'),
        *_shared(random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer("mecm", "MECM", "Median evidential c-means: prototypes are objects, and any dissimilarities d will do.",
        ("auto", "weights", "missing", "dissimilarities", "mixed"),
        *_shared(n_clusters=2, focal_sets="auto", metric="euclidean", symmetrize=False, alpha=1.0),
        _fuzziness(2.0),
        *_shared(delta="auto"),
        Parameter("gamma", 0.5, "float >= 0", (), "Weight of the mean over the medoids of a set."),
        Parameter("eta", 1.0, "float > 0", (), "Larger values make sets cheaper for objects that are not halfway."),
        *_shared(n_candidates="auto", missing="refuse"),
        _INIT_MEDOIDS,
        *_shared(n_init=10, max_iter=100, tol=1e-06, n_neighbor_clusters=1, random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer("nnevclus", "NNEVCLUS",
        "Neural-network evidential clustering: EVCLUS whose masses are the outputs of a network.",
        ("auto", "labels", "constraints", "blocks", "device"),
        *_shared(n_clusters=2, focal_sets="auto"),
        Parameter("metric", "euclidean", "a metric of scikit-learn, a function or a transformer", ("euclidean",),
            "Dissimilarities of the rows of X; a transformer is fitted to the constraints or labels."),
        Parameter("d0", None, "float > 0 or None", (),
            "Dissimilarity at which two objects are almost surely in different clusters."),
        Parameter("d0_quantile", "auto", "float in (0, 1]", ("auto",),
            "If d0 is not given: quantile of the dissimilarities."),
        *_shared(xi=0.5),
        Parameter("nu", 0.5, "float in [0, 1]", (), "Weight of the labels."),
        Parameter("regularization", 0.0, "float >= 0", (), "Weight of the squared network weights."),
        Parameter("convention", "program", "", ("program", "paper"),
            "What xi and the outlier detector mean, in the published program or in the paper."),
        Parameter("network", "auto", "int, sequence of int or torch.nn.Module", ("auto",),
            'Sizes of rectified linear hidden layers; "auto": one of 3 units for each focal set (at least 20).'),
        Parameter("outlier_detector", None, "None or an object with decision_function", ("one-class-svm",),
            "Gives mass to the empty set for objects outside the region of the data."),
        Parameter("n_partners", None, "int or None", (),
            "Random partners of each object for training on whole batches; all pairs by default."),
        Parameter("training", None, "Training or None", (), "How the network is trained."),
        Parameter("init", "evclus", "BeliefPeaks or CredalPartition", ("evclus", "belief-peaks", "random"),
            "The network first learns the masses of EVCLUS, the labels of belief peaks, or a given partition."),
        Parameter("n_init", 1, "int", (), "Trainings from different weights; the smallest loss is kept."),
        Parameter("max_iter", 1000, "int", (),
            "Iterations of the whole-batch solvers; a tenth of it, epochs of mini-batches."),
        Parameter("tol", 0.0001, "float", (), "Relative gain of the loss that ends the whole-batch solvers."),
        *_shared(n_neighbor_clusters=1),
        Parameter("checkpoint", None, "path", (),
            "A file from which a fit that was killed goes on, to the same result."),
        Parameter("device", "cpu", "str", (), 'Where the network lives; "cuda" is a GPU.'),
        *_shared(random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer("recm", "RECM", "Relational evidential c-means: ECM for objects known by their dissimilarities only.",
        ("auto", "weights", "missing", "dissimilarities", "mixed"),
        *_shared(n_clusters=2, focal_sets="auto", metric="euclidean", symmetrize=False),
        Parameter("square", "auto", "bool", ("auto",), "Whether to square the dissimilarities first."),
        *_shared(alpha=1.0),
        _fuzziness(1.5),
        *_shared(delta="auto"),
        Parameter("correction", "auto", "", ("auto", "shift", "clip"),
            "What to do if the dissimilarities are not Euclidean."),
        *_shared(missing="refuse"),
        Parameter("init", "k-means++", "BeliefPeaks, array or CredalPartition", ("k-means++", "random", "belief-peaks"),
            "How to start; a start without chance is used once."),
        *_shared(n_init=10, max_iter=500, tol=1e-06, n_neighbor_clusters=1, random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer("secm", "SECM",
        "Spatial evidential c-means: ECM for the pixels of an image, which heed their neighbors.",
        ("auto", "weights", "images"),
        *_shared(n_clusters=2, focal_sets="auto"),
        Parameter("smoothing", 0.5, "float in [0, 1)", (),
            "Share of the neighbors in the cost of a pixel. With 0 the method is ECM."),
        Parameter("radius", 1, "int", (),
            "Neighbors are the pixels up to so many steps away along every axis: 8 in an image for 1."),
        Parameter("weighting", "uniform", "", ("uniform", "distance"),
            '"distance": the weight of a neighbor decays exponentially with its distance.'),
        Parameter("spacing", None, "sequence of floats or None", (),
            'Distance of neighboring pixels along each axis, for weighting="distance" (voxels need not be cubes).'),
        Parameter("channel_axis", -1, "int or None", (),
            "Axis of the channels. None: all axes are axes of the image, which has one channel."),
        *_shared(alpha=1.0, beta="auto", delta="auto"),
        Parameter("init", "k-means++", "array of centers or CredalPartition", ("k-means++", "random"),
            "How to start; a start without chance is used once."),
        *_shared(n_init=10, max_iter=500, tol=1e-06, n_neighbor_clusters=1, random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer("wecmdd", "WECMdd",
        "Evidential c-medoids with weighted medoids (wECMdd): every object represents every cluster, more or less.",
        ("auto", "weights", "missing", "dissimilarities", "mixed"),
        *_shared(n_clusters=2, focal_sets="auto", metric="euclidean", symmetrize=False),
        Parameter("power", 2.0, "float in (0, 50]", (), "Dissimilarities are raised to this power first."),
        *_shared(alpha=2.0),
        _fuzziness(2.0),
        *_shared(delta="auto"),
        Parameter("psi", 1.2, "float in (1, 50]", (),
            "Larger values spread the weights of a cluster over more objects, values near 1 give one medoid."),
        Parameter("concentration", 5.0, "float > 0", (),
            "Larger values concentrate the weights of a set on the objects that its clusters share."),
        *_shared(n_candidates="auto", missing="refuse"),
        _INIT_MEDOIDS,
        *_shared(n_init=10, max_iter=200, tol=1e-06, n_neighbor_clusters=1, random_state=None, n_jobs=-1, verbose=0),
    ),
    _clusterer("wmvec", "WMVEC",
        "Weighted multi-view evidential clustering: ECM for objects that several tables, or matrices, describe.",
        ("auto", "weights", "dissimilarities", "views"),
        *_shared(n_clusters=2, focal_sets="auto"),
        Parameter("metric", "euclidean", "", ("euclidean", "precomputed"),
            '"precomputed": every view is a square matrix of dissimilarities.'),
        *_shared(symmetrize=False),
        Parameter("views", None, "None or array-like of shape (n_features,)", ("attributes",),
            'How the columns of one table make views: an array names the view of each, "attributes": each is one.'),
        Parameter("view_weights", "auto", "array-like of shape (n_views,)", ("auto", "equal"),
            '"auto": learned. Given weights stay; they are divided by their sum.'),
        Parameter("evenness", 0.4, "float from 0.01 to 1000", (),
            "Larger values draw the weights together, smaller ones give all weight to one view."),
        *_shared(alpha=1.0, beta="auto", delta="auto"),
        Parameter("init", "k-means++", "BeliefPeaks, prototypes, positions or CredalPartition",
            ("k-means++", "random", "belief-peaks"), "How to start; a start without chance is used once."),
        *_shared(n_init=10, max_iter=500, tol=1e-06, n_neighbor_clusters=1, random_state=None, n_jobs=-1, verbose=0),
    ),
)
_CLASSIFY = (
    _classifier("eknn", "EKNNClassifier",
        "Evidential K nearest neighbor rule: each neighbor is a piece of evidence that fades with distance.",
        Parameter("n_neighbors", 5, "int or sequence of int", ("auto",),
            '"auto" or a sequence: the number with the smallest leave-one-out error.'),
        Parameter("metric", "euclidean", "a metric of scikit-learn or a function of two rows",
            ("euclidean", "precomputed"), '"precomputed": X holds distances to the training objects.'),
        Parameter("metric_params", None, "dict or None", (), "Parameters of the metric."),
        Parameter("reliability", 0.95, "float in (0, 1)", (), "Mass that a neighbor at distance 0 gives to its class."),
        Parameter("gamma", None, "float, array of shape (n_classes,) or None", (),
            "Scales, if they are not to be learned."),
        *_shared(mixing=None),
        Parameter("optimize", True, "bool", (), "Whether to learn gamma or to stay with the first ones."),
        Parameter("solver", "lbfgs", "", ("lbfgs", "adaptive-steps"),
            '"adaptive-steps": the method of the paper, slower.'),
        Parameter("algorithm", "auto", "", ("auto", "ball_tree", "kd_tree", "brute"),
            "How neighbors are searched for."),
        Parameter("init", "mean-distance", "", ("mean-distance", "evclass"),
            "First scales: by the mean distance within a class, or as in the R package evclass."),
        *_shared(max_iter=300),
        Parameter("tol", 1e-06, "float", (), "Gain in cost that ends the learning."),
        *_shared(n_jobs=-1),
    ),
    _classifier("neural-network", "EvidentialNeuralNetworkClassifier",
        "Evidential neural network: a few prototypes, each a piece of evidence that fades with distance.",
        *_shared(n_prototypes="auto", regularization=0.0, mixing=1.0, optimize_prototypes=True, cv=5),
        Parameter("init", "auto", "", ("auto", "classes", "all"),
            "First prototypes: k-means within each class, or of all objects."),
        *_shared(n_init=10, max_iter=1000),
        Parameter("tol", 1e-06, "float", (), "Decrease of the cost that ends them."),
        *_shared(random_state=None, n_jobs=-1),
    ),
    _classifier("rbf", "EvidentialRBFClassifier",
        "Radial basis function network with a softmax output, read as weights of evidence.",
        *_shared(n_prototypes="auto"),
        Parameter("focal_sets", "auto", "", ("auto", "full", "simple"),
            'Sets of classes: all, or the single classes and the whole frame. "auto": "full" up to twelve classes.'),
        *_shared(regularization=0.001, optimize_prototypes=True, cv=5, n_init=5, max_iter=1000),
        Parameter("tol", 1e-05, "float", (), "Gain that ends them."),
        *_shared(random_state=None, n_jobs=-1),
    ),
)
# fmt: on

_PACKAGES = {
    "cluster": {one.name: one for one in _CLUSTER},
    "classify": {one.name: one for one in _CLASSIFY},
}
