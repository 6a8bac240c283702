"""All methods on generated data, beside other packages for the same purpose.

Each of our methods runs with its default parameters, followed by the implementations of other
packages. Each of these runs with its own number of starts (mostly one). Its row compares it with
our method on the same objects, with the same number of starts and the same distance to the empty
set. Each implementation uses its own stopping rule, and all use one BLAS thread. The ratio is the
time of the other implementation divided by ours: above 1 ours is faster.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import shutil
import subprocess
import tempfile
import warnings
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import (
    Measurement,
    MeasurementError,
    Row,
    Task,
    benchmark,
    measured,
    skipped,
)

_CLUSTERS = 15
_CATEGORIES = 5  # clusters of the categorical data
_GREY_LEVELS = 4  # regions of the image
# distance to the empty set and between neighbouring centres; the standard deviation is 0.2
_DELTA = 1.0
_D0 = 1.0  # distance from which on two objects are certainly in different clusters
_LIMIT = 60.0  # seconds allowed for another package, including its imports
_R_LIMIT = 30.0
_IMPORTS = (
    "sklearn.metrics",
    "dempster.cluster",
    "dempster.constraints",
    "evclust.utils",
)
_DISTRIBUTIONS = {
    "evclust": "evclust",
    "sklearn": "scikit-learn",
    "skfuzzy": "scikit-fuzzy",
}

Parameters = dict[str, Any]


@dataclass(frozen=True)
class Method:
    """One of our methods: path in dempster, parameters, type of data, sizes (quick, full), other implementations."""

    place: str
    parameters: Parameters
    kind: str
    sizes: tuple[int, int]
    rivals: tuple[Rival, ...] = ()

    @property
    def path(self) -> str:
        return f"dempster.{self.place}"

    @property
    def name(self) -> str:
        return self.place.partition(".")[2]


@dataclass(frozen=True)
class Rival:
    """Implementation of another package: path, parameters, and changes to our method so that it does the same work."""

    path: str
    parameters: Parameters
    ours: Parameters = field(default_factory=dict)
    sizes: tuple[int, int] | None = None  # None: the sizes of our method

    @property
    def package(self) -> str:
        return _DISTRIBUTIONS[self.path.partition(".")[0]]

    @property
    def name(self) -> str:
        # There is an R package of the same name.
        if self.package == "evclust":
            origin = "PyPI "
        else:
            origin = ""
        return f"{origin}{self.package} {self.path.rpartition('.')[2]}"

    @property
    def installed(self) -> bool:
        return find_spec(self.path.partition(".")[0]) is not None


# ---- data ----------------------------------------------------------------------------------------


@cache
def _plane(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Generate fifteen slightly overlapping Gaussian clusters in the plane, and the cluster of each object."""
    rng = np.random.default_rng(0)
    row, column = np.divmod(np.arange(_CLUSTERS), 4)
    centres = np.column_stack([column + 0.5 * (row % 2), row]) + rng.uniform(
        -0.15, 0.15, (_CLUSTERS, 2)
    )
    y = rng.integers(_CLUSTERS, size=n)
    return centres[y] + rng.normal(0, 0.2, (n, 2)), y


def _image(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Generate a noisy image of four stripes with about n pixels."""
    side = round(n**0.5)
    truth = np.add.outer(np.arange(side), np.arange(side)) * _GREY_LEVELS // (2 * side)
    return truth + np.random.default_rng(0).normal(
        scale=0.3, size=truth.shape
    ), truth.ravel()


def _categorical(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Generate fifteen attributes of six categories each.

    Half of the values are typical of the cluster.
    """
    rng = np.random.default_rng(0)
    typical = rng.integers(0, 6, (_CATEGORIES, 15))
    y = rng.integers(0, _CATEGORIES, n)
    return np.where(
        rng.random((n, 15)) < 0.5, typical[y], rng.integers(0, 6, (n, 15))
    ), y


def _data(kind: str, n: int) -> tuple[Any, np.ndarray, dict[str, Any]]:
    """Return the data, the true clusters and further arguments of ``fit``."""
    if kind == "image":
        return (*_image(n), {})
    if kind == "categories":
        return (*_categorical(n), {})
    X, y = _plane(n)
    if kind == "links":
        from dempster.constraints import Constraints

        return (
            X,
            y,
            {"constraints": Constraints.from_labels(y, n // 10, random_state=0)},
        )
    if kind in ("distances", "squares"):
        from sklearn.metrics import pairwise_distances

        return (
            pairwise_distances(
                X, metric="euclidean" if kind == "distances" else "sqeuclidean"
            ),
            y,
            {},
        )
    return X, y, {}


def _words(kind: str, n: int, parameters: Parameters) -> str:
    """Describe the data and the parameters that differ from the defaults."""
    data = {
        "plane": f"{n:,} x 2",
        "links": f"{n:,} x 2, {n // 10} constraints",
        "distances": f"{n:,} x {n:,} distances",
        "squares": f"{n:,} x {n:,} squared distances",
        "image": f"image of {round(n**0.5)} x {round(n**0.5)} pixels",
        "categories": f"{n:,} x 15 categories",
        "classes": f"fit to {n:,} x 2, masses or probabilities of {n:,} new",
    }[kind]
    silent = {"random_state", "seed", "metric", "maxiter", "copy"}
    return ", ".join(
        [
            data,
            *(
                f"{name}={value}"
                for name, value in parameters.items()
                if name not in silent
            ),
        ]
    )


# ---- clustering: ours, scikit-learn, evclust, scikit-fuzzy ---------------------------------------


def _named(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _quietly(function: Any, *arguments: Any, **keywords: Any) -> Any:
    """Suppress the warnings and printed progress of other packages."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return function(*arguments, **keywords)


def _worth(y: np.ndarray, labels: np.ndarray, masses: np.ndarray | None = None) -> str:
    """Describe the agreement with the true clusters and any errors of the masses."""
    from sklearn.metrics import adjusted_rand_score

    labels = np.asarray(labels).ravel()
    words = [f"ARI {adjusted_rand_score(y, labels):.3f}"]
    found = len(np.unique(labels[labels >= 0]))
    true = len(np.unique(y))
    if found != true:
        words.append(f"{found} clusters instead of {true}")
    if (noise := float((labels < 0).mean())) > 0:
        words.append(f"{noise:.0%} called noise")
    if masses is not None:
        low = float(np.min(masses))
        high = float(np.max(masses))
        if not (low > -1e-6 and high < 1 + 1e-6):
            words.append(f"WRONG: “masses” from {low:.2g} to {high:.2g}")
        elif high < 0.5:
            words.append(f"WRONG: no mass above {high:.2g}")
    return ", ".join(words)


def _clusterer(path: str, parameters: Parameters, kind: str, n: int) -> Task:
    """Prepare an estimator of ours or of scikit-learn."""
    from sklearn.base import clone

    X, y, further = _data(kind, n)
    model = _named(path)(**parameters)
    brief = {"max_iter": 2, "n_init": 1, "n_bootstraps": 10}
    few = {name: value for name, value in brief.items() if name in model.get_params()}
    _quietly(clone(model).set_params(**few).fit, X, **further)  # compile

    def judge(fitted: Any) -> str:
        if hasattr(fitted, "labels_"):
            labels = fitted.labels_
        else:
            labels = fitted.predict(X)
        partition = getattr(fitted, "credal_partition_", None)
        return _worth(y, labels, None if partition is None else partition.masses)

    return Task(lambda: _quietly(model.fit, X, **further), judge)


def _of_evclust(path: str, parameters: Parameters, kind: str, n: int) -> Task:
    """Prepare a function of PyPI's evclust, which takes data and number of clusters and returns a dictionary."""
    X, y, _ = _data(kind, n)
    function = _named(path)
    name = path.rpartition(".")[2]
    arguments: dict[str, Any] = {"disp": False, **parameters}
    first: tuple[Any, ...] = (X, _CATEGORIES if kind == "categories" else _CLUSTERS)
    if name == "kevclus":
        first = (X,)
        arguments["c"] = _CLUSTERS
    # Its prototypes are selected with a mouse; we pass the means of the true clusters.
    elif name == "bpec":
        first = (X, np.array([X[y == k].mean(axis=0) for k in range(_CLUSTERS)]))

    def work() -> dict[str, Any]:
        np.random.seed(0)  # noqa: NPY002 - it has no seed of its own
        return _quietly(function, *first, **arguments)

    if kind in ("distances", "squares"):
        few = X[:40, :40]
    else:
        few = X[:40]
    with contextlib.suppress(Exception):  # Failures are reported below.
        _quietly(
            function,
            few,
            *first[1:],
            **{**arguments, **({"k": 20} if name == "kevclus" else {})},
        )
    return Task(
        work, lambda result: _worth(y, result["y_pl"], np.asarray(result["mass"]))
    )


def _fuzzy(path: str, parameters: Parameters, kind: str, n: int) -> Task:
    """Prepare fuzzy c-means of scikit-fuzzy, which needs objects in columns."""
    X, y, _ = _data(kind, n)
    function = _named(path)
    columns = np.ascontiguousarray(X.T)
    function(columns[:, :40], **{**parameters, "maxiter": 2})
    return Task(
        lambda: function(columns, **parameters),
        lambda result: _worth(y, result[1].argmax(axis=0)),
    )


def _classifier(path: str, parameters: Parameters, kind: str, n: int) -> Task:
    """Prepare a classifier of ours or of scikit-learn: training, then prediction for an equal number of new objects."""
    from sklearn.base import clone

    X, y = _plane(2 * n)
    known = slice(0, n)
    new = slice(n, 2 * n)
    model = _named(path)(**parameters)
    if hasattr(model, "predict_mass"):
        answer = "predict_mass"
    else:
        answer = "predict_proba"

    def work() -> Any:
        fitted = _quietly(clone(model).fit, X[known], y[known])
        getattr(fitted, answer)(X[new])
        return fitted

    if "max_iter" in model.get_params():
        few = {"max_iter": 2}
    else:
        few = {}
    brief = _quietly(clone(model).set_params(**few).fit, X[known], y[known])  # compile
    getattr(brief, answer)(X[:100])
    return Task(
        work, lambda fitted: f"error {(fitted.predict(X[new]) != y[new]).mean():.3f}"
    )


def _prepare(path: str, parameters: Parameters, kind: str, n: int) -> Task:
    """Fit with one BLAS thread, because products of such small matrices are slower with several."""
    from threadpoolctl import threadpool_limits

    adapters = {
        "dempster": _clusterer,
        "sklearn": _clusterer,
        "evclust": _of_evclust,
        "skfuzzy": _fuzzy,
    }
    if kind == "classes":
        adapter = _classifier
    else:
        adapter = adapters[path.partition(".")[0]]
    threadpool_limits(1, user_api="blas")
    return adapter(path, parameters, kind, n)


# ---- the rows of a method and its rivals ---------------------------------------------------------

_made: dict[str, Measurement] = {}


def _measure(
    path: str, parameters: Parameters, kind: str, n: int, limit: float | None = None
) -> Measurement:
    """Measure, unless this has already been measured."""
    key = repr((path, parameters, kind, n))
    if key not in _made:
        _made[key] = measured(
            _prepare, path, parameters, kind, n, limit=limit, imports=_IMPORTS
        )
    return _made[key]


def _row(name: str, what: str, result: Measurement, **further: Any) -> Row:
    if len(result.timing.rounds) > 1:
        noise = result.timing.noise
    else:
        noise = None
    return Row(
        name,
        what,
        result.timing.best,
        noise,
        result.peak_bytes,
        result.verdict,
        **further,
    )


def _rows(methods: list[Method], quick: bool) -> list[Row]:
    rows = []
    for method in methods:
        n = method.sizes[not quick]
        try:
            result = _measure(method.path, method.parameters, method.kind, n)
        except MeasurementError as error:
            rows.append(skipped(method.name, str(error)))
            continue
        rows.append(
            _row(method.name, _words(method.kind, n, method.parameters), result)
        )
        rows += [_rival_row(method, rival, quick) for rival in method.rivals]
    return rows


def _rival_row(method: Method, rival: Rival, quick: bool) -> Row:
    if not rival.installed:
        return skipped(rival.name, f"the package {rival.package} is not installed")
    n = (rival.sizes or method.sizes)[not quick]
    what = _words(method.kind, n, rival.parameters)
    try:
        theirs = _measure(rival.path, rival.parameters, method.kind, n, _LIMIT)
    except MeasurementError as error:
        return Row(rival.name, what, note=str(error))
    try:
        ours = _measure(
            method.path, {**method.parameters, **rival.ours}, method.kind, n
        )
    except MeasurementError as error:
        return _row(
            rival.name, what, theirs, note=f"{method.name} on the same: {error}"
        )
    what += f"; ratio to {method.name}"
    if rival.ours or n != method.sizes[not quick]:
        changes = ", ".join(f"{name}={value}" for name, value in rival.ours.items())
        what += (
            f"({changes}) on the same objects: {ours.timing.best:.2g} s, {ours.verdict}"
        )
    return _row(rival.name, what, theirs, ratio=theirs.timing.best / ours.timing.best)


# ---- the benchmarks ------------------------------------------------------------------------------

_MANY = (500, 5_000)  # objects: quick, in full
_FEW = (150, 1_000)  # evclust loops over objects and sets in Python.
_ONE = {"n_init": 1, "focal_sets": "simple"}
# parameters of the compared c-means methods
_SAME = {"focal_sets": "simple", "beta": 2.0, "delta": _DELTA}


def _evclust(
    name: str,
    *,
    ours: Parameters | None = None,
    sizes: tuple[int, int] | None = _FEW,
    **more: Any,
) -> Rival:
    return Rival(
        f"evclust.{name}.{name}",
        {"type": "simple", **more},
        _ONE if ours is None else ours,
        sizes,
    )


@benchmark
def attributes(quick: bool) -> list[Row]:
    """Compare methods for tables of attributes on fifteen overlapping Gaussian clusters in the plane."""
    seeded = {"n_clusters": _CLUSTERS, "random_state": 0}
    delta = {"n_init": 1, **_SAME}
    starts = {"n_init": 10, "random_state": 0}  # the same number as ours
    kmeans = Rival("sklearn.cluster.KMeans", {"n_clusters": _CLUSTERS, **starts})
    mixture = Rival(
        "sklearn.mixture.GaussianMixture", {"n_components": _CLUSTERS, **starts}
    )
    once = Rival(mixture.path, {**mixture.parameters, "n_init": 1}, {"model": "VVV"})
    fuzzy = {"c": _CLUSTERS, "m": 2, "error": 1e-6, "maxiter": 500, "seed": 0}
    cmeans = Rival("skfuzzy.cluster.cmeans", fuzzy, delta)
    density = Rival("sklearn.cluster.HDBSCAN", {"copy": True})
    ecm = _evclust("ecm", delta=_DELTA, ours=delta)
    ccm = _evclust("ccm", delta=_DELTA, ours=delta)
    kevclus = _evclust("kevclus", k=100, d0=_D0, ours={**_ONE, "d0": _D0})
    bpec = _evclust("bpec", delta=_DELTA, ours=_SAME)
    egmm = _evclust("egmm", sizes=None)
    methods = [
        Method("cluster.ECM", seeded, "plane", _MANY, (kmeans, cmeans, ecm)),
        Method("cluster.CCM", seeded, "plane", _MANY, (ccm,)),
        Method("cluster.CECM", seeded, "links", _MANY),
        Method("cluster.BPEC", {}, "plane", _MANY, (bpec,)),
        Method("cluster.EGMM", seeded, "plane", _MANY, (mixture, egmm)),
        Method("cluster.EVCLUS", seeded, "plane", _MANY, (kevclus,)),
        Method("cluster.NNEVCLUS", seeded, "plane", (100, _MANY[1])),
        Method("cluster.EKNNClus", {"random_state": 0}, "plane", _MANY, (density,)),
        Method("cluster.BootClus", seeded, "plane", (250, 1_000)),
        Method(
            "mixture.ParsimoniousGaussianMixture",
            {"n_components": _CLUSTERS},
            "plane",
            _MANY,
            (once,),
        ),
    ]
    return _rows(methods, quick)


@benchmark
def dissimilarities(quick: bool) -> list[Row]:
    """Compare methods for matrices of dissimilarities on the distances of the same clusters."""
    seeded = {"n_clusters": _CLUSTERS, "metric": "precomputed", "random_state": 0}
    sizes = (250, 2_000)
    few: Parameters = {
        "delta": _DELTA,
        "ours": {"n_init": 1, **_SAME},
        "sizes": (50, 200),
    }
    methods = [
        Method(
            "cluster.RECM",
            seeded,
            "squares",
            sizes,
            (_evclust("recm", sizes=(50, 150)),),
        ),
        Method("cluster.MECM", seeded, "distances", sizes, (_evclust("mecm", **few),)),
        Method(
            "cluster.ECMdd", seeded, "distances", sizes, (_evclust("ecmdd", **few),)
        ),
        Method("cluster.WECMdd", seeded, "distances", sizes),
    ]
    return _rows(methods, quick)


@benchmark
def images_and_categories(quick: bool) -> list[Row]:
    """Compare methods for images and for categories."""
    same = {
        "alpha": -0.25,
        "beta": 1.2,
        "delta": 3.0,
    }  # The first two are our defaults.
    catecm = _evclust("catecm", sizes=(100, 300), ours={**_ONE, "delta": 3.0}, **same)
    methods = [
        Method(
            "cluster.SECM",
            {"n_clusters": _GREY_LEVELS, "random_state": 0},
            "image",
            (2_500, 40_000),
        ),
        Method(
            "cluster.CatECM",
            {"n_clusters": _CATEGORIES, "random_state": 0},
            "categories",
            _MANY,
            (catecm,),
        ),
    ]
    return _rows(methods, quick)


@benchmark
def classification(quick: bool) -> list[Row]:
    """Compare classifiers on the same clusters as classes."""
    from sklearn.linear_model import LogisticRegression

    neighbours = Rival("sklearn.neighbors.KNeighborsClassifier", {"n_neighbors": 10})
    layers = {"hidden_layer_sizes": (30,), "max_iter": 500, "random_state": 0}
    network = Rival("sklearn.neural_network.MLPClassifier", layers)
    logistic = Rival("sklearn.linear_model.LogisticRegression", {})
    prototypes = {"n_prototypes": _CLUSTERS, "n_init": 1, "random_state": 0}
    methods = [
        Method(
            "classify.EKNNClassifier",
            {"n_neighbors": 10},
            "classes",
            _MANY,
            (neighbours,),
        ),
        Method(
            "classify.EvidentialNeuralNetworkClassifier",
            prototypes,
            "classes",
            _MANY,
            (network,),
        ),
        Method(
            "classify.EvidentialRBFClassifier", prototypes, "classes", _MANY, (network,)
        ),
        Method(
            "classify.EvidenceFromClassifier",
            {"estimator": LogisticRegression()},
            "classes",
            _MANY,
            (logistic,),
        ),
    ]
    return _rows(methods, quick)


# ---- R's evclust ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class RCall:
    """Call of R's evclust and our method with equivalent parameters."""

    call: str
    ours: str
    parameters: Parameters
    kind: str = "plane"


_R_SEEDED: Parameters = {
    "n_clusters": _CLUSTERS,
    "focal_sets": "simple",
    "random_state": 0,
    "n_init": 1,
}
_R_SAME = f"c={_CLUSTERS}, type='simple'"
_R_CALLS = (
    RCall(
        f"ecm(X, {_R_SAME}, delta={_DELTA}, disp=FALSE)", "ECM", {**_R_SEEDED, **_SAME}
    ),
    RCall(
        f"cecm(X, {_R_SAME}, ML=ML, CL=CL, delta={_DELTA}, disp=FALSE)",
        "CECM",
        {**_R_SEEDED, "delta": _DELTA},
        "links",
    ),
    RCall(
        f"bpec(X, g, type='simple', delta={_DELTA}, distance=0, disp=FALSE)",
        "BPEC",
        {"n_clusters": _CLUSTERS, **_SAME},
    ),
    RCall(
        f"recm(D^2, {_R_SAME}, disp=FALSE)",
        "RECM",
        {**_R_SEEDED, "metric": "precomputed"},
        "squares",
    ),
    RCall(
        f"kevclus(X, k=100, {_R_SAME}, d0={_D0}, disp=FALSE)",
        "EVCLUS",
        {**_R_SEEDED, "d0": _D0},
    ),
    RCall(
        f"nnevclus(X, k=100, {_R_SAME}, n_H=30, d0={_D0})",
        "NNEVCLUS",
        {**_R_SEEDED, "d0": _D0},
    ),
    RCall(
        "EkNNclus(X, K=20, y0=seq_len(nrow(X)), q=0.9, b=2, disp=FALSE)",
        "EKNNClus",
        {"n_neighbors": 20, "n_init": 1, "random_state": 0},
    ),
    RCall(
        f"bootclus(X, B=100, param=list(G={_CLUSTERS}), type='simple', Omega=TRUE)$Clus",
        "BootClus",
        {
            "n_clusters": _CLUSTERS,
            "focal_sets": "selected",
            "n_bootstraps": 100,
            "random_state": 0,
        },
    ),
)

# Prints seconds and megabytes (the peak since the garbage collector was reset), and writes the
# labels.
_R_SCRIPT = """
suppressPackageStartupMessages(library(evclust))
read <- function(name) {
  if (file.size(name) == 0) matrix(0, 0, 2) else unname(as.matrix(read.csv(name, header = FALSE)))
}
X <- read("X.csv"); g <- read("g.csv"); ML <- read("ML.csv"); CL <- read("CL.csv")
D <- as.matrix(dist(X))
set.seed(0)
used <- gc(reset = TRUE)
capture.output(seconds <- system.time(result <- CALL)[["elapsed"]]) -> printed
highest <- gc()
writeLines(as.character(result$y.pl), "labels.txt")
cat("\\nmeasured", seconds, sum(highest[, ncol(highest)]) - sum(used[, 2]), "\\n")
"""


def _r_missing(rscript: str | None) -> str:
    """Return why R's evclust cannot be used, or an empty string."""
    if rscript is None:
        return "Rscript is not found"
    probe = [
        rscript,
        "-e",
        "quit(status = !requireNamespace('evclust', quietly = TRUE))",
    ]
    if subprocess.run(probe, capture_output=True).returncode == 0:
        return ""
    return "R's package evclust is not installed"


def _r_run(rscript: str, call: RCall, n: int) -> tuple[float, int, str]:
    """Return seconds, bytes and quality of one call in an R process."""
    from dempster.cluster import BPEC
    from dempster.constraints import Constraints

    X, y = _plane(n)
    known = Constraints.from_labels(y, n // 10, random_state=0)
    # In R they are selected with a mouse.
    peaks = BPEC(_CLUSTERS).fit(X).cluster_centers_
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, values in (
            ("X", X),
            ("g", peaks),
            ("ML", known.must_link + 1),
            ("CL", known.cannot_link + 1),
        ):
            np.savetxt(folder / f"{file}.csv", values, delimiter=",", fmt="%.17g")
        (folder / "run.R").write_text(_R_SCRIPT.replace("CALL", call.call))
        try:
            run = subprocess.run(
                [rscript, "run.R"],
                cwd=folder,
                capture_output=True,
                encoding="utf-8",
                timeout=_R_LIMIT,
            )
        except subprocess.TimeoutExpired:
            raise MeasurementError(f"did not end within {_R_LIMIT:g} s") from None
        if run.returncode != 0 or not (folder / "labels.txt").exists():
            raise MeasurementError(f"fails: {' '.join(run.stderr.split())[-200:]}")
        labels = np.loadtxt(folder / "labels.txt", dtype=int)
        _, seconds, megabytes = run.stdout.split()[-3:]
    return float(seconds), round(float(megabytes) * 2**20), _worth(y, labels)


@benchmark
def beside_r(quick: bool) -> list[Row]:
    """Compare R's evclust, timed in R, with our methods on the same objects."""
    rscript = shutil.which("Rscript")
    missing = _r_missing(rscript)
    if missing or rscript is None:
        return [
            skipped(
                "R's evclust: ecm, cecm, bpec, recm, kevclus, nnevclus, EkNNclus, bootclus",
                missing,
            )
        ]
    if quick:
        n = 150
    else:
        n = 500
    rows = []
    for call in _R_CALLS:
        try:
            ours = _measure(
                f"dempster.cluster.{call.ours}", call.parameters, call.kind, n
            )
        except MeasurementError as error:
            rows.append(skipped(call.ours, str(error)))
            continue
        rows.append(_row(call.ours, _words(call.kind, n, call.parameters), ours))
        name = f"R's evclust {call.call.partition('(')[0]}"
        try:
            seconds, peak, quality = _r_run(rscript, call, n)
        except MeasurementError as error:
            rows.append(Row(name, call.call, note=str(error)))
            continue
        ratio = seconds / ours.timing.best
        rows.append(
            Row(
                name,
                f"{call.call}; ratio to the row above",
                seconds,
                None,
                peak,
                quality,
                ratio,
            )
        )
    return rows
