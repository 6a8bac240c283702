"""Save the results of every method before a change and compare them to the last bit after it.

    python -m benchmarks.snapshot save FOLDER              fit all cases, write one file for each
    python -m benchmarks.snapshot compare FOLDER [NAME ...] fit again and print the differences

A case is a fit with one setting. Saved for a clusterer: masses, objective, history, labels, and the
masses of new objects. Saved for a classifier, a metric learner or a mixture: all fitted attributes
that are numbers or arrays, and the results of its methods for new objects. A name that ends in a
star selects all names with this prefix.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np


def _data() -> dict[str, Any]:
    from dempster.constraints import Constraints
    from dempster.datasets import (
        load_butterfly,
        load_iris,
        load_wine,
        make_bananas,
        make_fourclass,
    )

    iris, y = load_iris(return_X_y=True)
    wine, _ = load_wine(return_X_y=True)
    rng = np.random.default_rng(7)
    centers = rng.uniform(-10, 10, (15, 2))
    large = np.concatenate([c + rng.normal(scale=0.6, size=(200, 2)) for c in centers])
    huge = np.concatenate([c + rng.normal(scale=0.6, size=(1700, 2)) for c in centers])
    image = np.add.outer(np.linspace(0, 3, 24), np.sin(np.arange(30))) + rng.normal(
        scale=0.2, size=(24, 30)
    )
    return {
        "butterfly": load_butterfly().data,
        "iris": iris,
        "wine": (wine - wine.mean(0)) / wine.std(0),
        "fourclass": make_fourclass(400, random_state=0)[0],
        "bananas": make_bananas(200, random_state=0)[0],
        "large": large,
        "huge": huge,
        "image": image,
        "weights": rng.integers(0, 4, len(iris)).astype(float),
        "known": Constraints.from_labels(y, 40, random_state=1),
        "labels": np.where(rng.random(len(y)) < 0.1, y, -1),
        "D": np.abs(iris[:, None] - iris[None]).sum(axis=2),
    }


def cases() -> Iterator[tuple[str, Callable[[], Any], Any, dict[str, Any], Any]]:
    """Name, estimator, data, further arguments of the fit, new objects."""
    from dempster import FocalSets
    from dempster import cluster as c

    d = _data()
    iris = d["iris"]
    four = d["fourclass"]
    large = d["large"]
    huge = d["huge"]
    D = d["D"]
    single = iris.astype(np.float32)
    weighted = {"sample_weight": d["weights"]}
    known = {"constraints": d["known"]}
    categories = np.round(iris).astype(int).astype(str).astype(object)
    seed = {"random_state": 3}
    pairs = {"focal_sets": "pairs", **seed}
    many = {"focal_sets": "simple", **seed}
    fuzzy = {"beta": 2.0, **pairs}
    many_fuzzy = {"beta": 2.0, **many}
    scaled = {"d0_quantile": 0.8, **pairs}
    many_scaled = {"d0_quantile": 2.5 / 15, **many}
    family = FocalSets.with_pairs(3, [(0, 1)])

    yield "ecm", lambda: c.ECM(3, **fuzzy), iris, {}, iris[::7] + 0.1
    yield "ecm-float32", lambda: c.ECM(3, **fuzzy), single, {}, single[::7]
    yield "ecm-weights", lambda: c.ECM(3, **fuzzy), iris, weighted, iris[::7]
    yield (
        "ecm-adaptive",
        lambda: c.ECM(3, metric="adaptive", **fuzzy),
        iris,
        {},
        iris[::7],
    )
    yield (
        "ecm-adaptive-weights32",
        lambda: c.ECM(3, metric="adaptive", **fuzzy),
        single,
        weighted,
        single[::7],
    )
    yield (
        "ecm-selected",
        lambda: c.ECM(15, focal_sets="selected", beta=2.0, **seed),
        large,
        {},
        large[::97],
    )
    yield (
        "ecm-full-beta",
        lambda: c.ECM(4, focal_sets="full", beta=1.5, delta=3.0, **seed),
        four,
        {},
        four[::9],
    )
    yield (
        "ecm-random-start",
        lambda: c.ECM(4, init="random", **fuzzy),
        four,
        {},
        four[::9],
    )
    yield (
        "ecm-given-centers",
        lambda: c.ECM(3, init=iris[[0, 60, 120]], **fuzzy),
        iris,
        {},
        iris[::7],
    )
    yield (
        "ecm-from-partition",
        lambda: c.ECM(3, init=c.ECM(3, **fuzzy).fit(iris).credal_partition_, **fuzzy),
        iris,
        {},
        iris[::7],
    )
    yield (
        "ecm-family",
        lambda: c.ECM(3, focal_sets=family, beta=2.0, **seed),
        iris,
        {},
        iris[::7],
    )
    yield "ecm-huge", lambda: c.ECM(15, n_init=2, **many_fuzzy), huge, {}, huge[::997]
    yield (
        "ecm-butterfly",
        lambda: c.ECM(2, delta=5, **fuzzy),
        d["butterfly"],
        {},
        d["butterfly"],
    )
    yield "ccm", lambda: c.CCM(3, **fuzzy), iris, {}, iris[::7]
    yield (
        "ccm-float32-weights",
        lambda: c.CCM(3, gamma=2.0, **fuzzy),
        single,
        weighted,
        single[::7],
    )
    yield (
        "ccm-peaks",
        lambda: c.CCM(4, init="belief-peaks", **fuzzy),
        four,
        {},
        four[::9],
    )
    yield (
        "ccm-selected",
        lambda: c.CCM(15, focal_sets="selected", beta=2.0, **seed),
        large,
        {},
        large[::97],
    )
    paper = {"convention": "paper", **pairs}
    yield "cecm", lambda: c.CECM(3, **paper), iris, known, iris[::7]
    yield "cecm-program", lambda: c.CECM(3, **pairs), iris, known, iris[::7]
    yield (
        "cecm-adaptive",
        lambda: c.CECM(3, metric="adaptive", **paper),
        iris,
        known,
        iris[::7],
    )
    yield (
        "cecm-float32",
        lambda: c.CECM(3, empty_penalty=0.1, **paper),
        single,
        known,
        single[::7],
    )
    yield "cecm-free", lambda: c.CECM(3, **pairs), iris, {}, iris[::7]
    yield (
        "secm",
        lambda: c.SECM(3, focal_sets="simple", beta=2.0, **seed),
        d["image"],
        {},
        d["image"][:12],
    )
    yield (
        "secm-distance32",
        lambda: c.SECM(2, weighting="distance", radius=2, **fuzzy),
        d["image"].astype("f4"),
        {},
        None,
    )
    yield "bpec", lambda: c.BPEC(4, **fuzzy), four, {}, four[::9]
    yield (
        "bpec-adaptive",
        lambda: c.BPEC(3, metric="adaptive", **fuzzy),
        iris,
        {},
        iris[::7],
    )
    yield (
        "bpec-selected32",
        lambda: c.BPEC(4, focal_sets="selected", beta=2.0, **seed),
        four.astype("f4"),
        {},
        None,
    )
    yield "catecm", lambda: c.CatECM(3, **pairs), categories, {}, categories[::7]
    yield (
        "catecm-weights",
        lambda: c.CatECM(3, init="random", **pairs),
        categories,
        weighted,
        categories[::7],
    )
    yield (
        "catecm-selected",
        lambda: c.CatECM(3, focal_sets="selected", **seed),
        categories,
        {},
        None,
    )
    yield "recm", lambda: c.RECM(3, **pairs), iris, {}, iris[::7]
    yield (
        "recm-precomputed",
        lambda: c.RECM(3, metric="precomputed", **pairs),
        D,
        {},
        D[::7],
    )
    yield (
        "recm-precomputed32",
        lambda: c.RECM(3, metric="precomputed", **pairs),
        D.astype("f4"),
        {},
        D[::7].astype("f4"),
    )
    yield "recm-weights", lambda: c.RECM(3, **pairs), iris, weighted, iris[::7]
    yield (
        "recm-clip-random",
        lambda: c.RECM(
            3, metric="precomputed", correction="clip", init="random", **pairs
        ),
        D,
        {},
        D,
    )
    yield (
        "recm-shift",
        lambda: c.RECM(3, metric="precomputed", correction="shift", **pairs),
        D,
        {},
        D[::7],
    )
    yield "recm-gower", lambda: c.RECM(3, metric="gower", **pairs), iris, {}, iris[::7]
    yield (
        "recm-selected-large",
        lambda: c.RECM(15, focal_sets="selected", n_init=2, **seed),
        large,
        {},
        large[::97],
    )
    for method in ("MECM", "ECMdd", "WECMdd"):
        name = method.lower()
        yield name, lambda m=method: getattr(c, m)(3, **pairs), iris, {}, iris[::7]
        yield (
            f"{name}-float32",
            lambda m=method: getattr(c, m)(3, **pairs),
            single,
            {},
            single[::7],
        )
        yield (
            f"{name}-precomputed",
            lambda m=method: getattr(c, m)(3, metric="precomputed", **pairs),
            D,
            {},
            D[::7],
        )
        yield (
            f"{name}-selected",
            lambda m=method: getattr(c, m)(4, focal_sets="selected", **seed),
            four,
            {},
            four[::9],
        )
        yield (
            f"{name}-manhattan",
            lambda m=method: getattr(c, m)(3, metric="manhattan", **pairs),
            iris,
            {},
            iris[::7],
        )
        yield (
            f"{name}-peaks",
            lambda m=method: getattr(c, m)(4, init="belief-peaks", **pairs),
            four,
            {},
            four[::9],
        )
        yield (
            f"{name}-large",
            lambda m=method: getattr(c, m)(15, n_init=2, **many),
            large,
            {},
            large[::97],
        )
    yield (
        "ecmdd-many",
        lambda: c.ECMdd(15, n_init=1, n_candidates=50, max_iter=3, **many),
        huge[::4],
        {},
        huge[1::997],
    )
    yield "evclus", lambda: c.EVCLUS(3, **scaled), iris, {}, iris[::7] + 0.1
    yield "evclus-float32", lambda: c.EVCLUS(3, **scaled), single, {}, single[::7]
    yield (
        "evclus-full",
        lambda: c.EVCLUS(2, focal_sets="full", d0=11, **seed),
        d["butterfly"],
        {},
        d["butterfly"],
    )
    yield (
        "evclus-precomputed",
        lambda: c.EVCLUS(3, metric="precomputed", **scaled),
        D,
        {},
        D[::7],
    )
    yield (
        "evclus-manhattan",
        lambda: c.EVCLUS(3, metric="manhattan", **scaled),
        iris,
        {},
        iris[::7],
    )
    yield (
        "evclus-gower",
        lambda: c.EVCLUS(3, metric="gower", **scaled),
        iris,
        {},
        iris[::7],
    )
    yield "evclus-constraints", lambda: c.EVCLUS(3, **scaled), iris, known, iris[::7]
    yield (
        "evclus-paper",
        lambda: c.EVCLUS(3, convention="paper", **scaled),
        iris,
        known,
        iris[::7],
    )
    yield (
        "evclus-random-pairs",
        lambda: c.EVCLUS(4, sampling="random", n_partners=30, **scaled),
        four,
        {},
        four[::9],
    )
    yield (
        "evclus-random-start",
        lambda: c.EVCLUS(4, init="random", **scaled),
        four,
        {},
        four[::9],
    )
    yield (
        "evclus-selected",
        lambda: c.EVCLUS(4, focal_sets="selected", d0_quantile=0.8, **seed),
        four,
        {},
        four[::9],
    )
    yield (
        "evclus-landmarks",
        lambda: c.EVCLUS(15, **many_scaled),
        large,
        {},
        large[::97] + 0.01,
    )
    yield (
        "evclus-landmarks32",
        lambda: c.EVCLUS(15, **many_scaled),
        large.astype("f4"),
        {},
        large[::97].astype("f4"),
    )
    yield (
        "evclus-landmarks-known",
        lambda: c.EVCLUS(3, sampling="landmarks", n_landmarks=60, **scaled),
        iris,
        known,
        None,
    )
    yield (
        "evclus-sparse",
        lambda: c.EVCLUS(3, metric="precomputed", **scaled),
        _sparse(D),
        {},
        None,
    )
    yield "nnevclus", lambda: c.NNEVCLUS(3, max_iter=60, **seed), iris, {}, iris[::7]
    yield (
        "nnevclus-known",
        lambda: c.NNEVCLUS(3, max_iter=30, init="random", **seed),
        iris,
        known,
        iris[::7],
    )
    yield (
        "nnevclus-labels",
        lambda: c.NNEVCLUS(3, max_iter=30, **seed),
        iris,
        {"y": d["labels"]},
        iris[::7],
    )
    yield (
        "nnevclus-batches",
        lambda: c.NNEVCLUS(4, training=c.Training("mini-batch"), max_iter=50, **seed),
        four.astype("f4"),
        {},
        None,
    )
    yield (
        "nnevclus-steps",
        lambda: c.NNEVCLUS(
            3, training=c.Training("adaptive-steps"), max_iter=40, init="random", **seed
        ),
        iris,
        {},
        None,
    )
    yield (
        "nnevclus-svm",
        lambda: c.NNEVCLUS(4, outlier_detector="one-class-svm", max_iter=40, **seed),
        four,
        {},
        four[::9],
    )
    yield "eknnclus", lambda: c.EKNNClus(**seed), four, {}, four[::9] + 0.01
    yield (
        "eknnclus-precomputed",
        lambda: c.EKNNClus(metric="precomputed", n_neighbors=20, **seed),
        D,
        {},
        D[::7],
    )
    yield (
        "eknnclus-mean",
        lambda: c.EKNNClus(neighbor_graph="mean", n_neighbors=30, **seed),
        iris,
        {},
        iris[::7],
    )
    yield (
        "eknnclus-directed",
        lambda: c.EKNNClus(neighbor_graph="directed", n_neighbors=30, q=0.5, **seed),
        iris,
        {},
        iris[::7],
    )
    yield (
        "eknnclus-sample",
        lambda: c.EKNNClus(init="sample", n_neighbors=30, **seed),
        huge,
        {},
        huge[::997],
    )
    yield "peaks", lambda: c.BeliefPeaks(), four, {}, four[::9]
    yield (
        "peaks-precomputed",
        lambda: c.BeliefPeaks(3, metric="precomputed"),
        D,
        {},
        D[::7],
    )
    yield "egmm", lambda: c.EGMM(3, **pairs), iris, {}, iris[::7]
    yield (
        "egmm-float32-weights",
        lambda: c.EGMM(3, **pairs),
        single,
        weighted,
        single[::7],
    )
    yield (
        "egmm-selected",
        lambda: c.EGMM(15, focal_sets="selected", n_init=3, **seed),
        large,
        {},
        large[::97],
    )
    yield (
        "bootclus",
        lambda: c.BootClus(3, n_bootstraps=50, **pairs),
        iris,
        {},
        iris[::7] + 0.1,
    )
    yield (
        "bootclus-partners",
        lambda: c.BootClus(4, n_bootstraps=40, n_partners=60, mixture="VVV", **pairs),
        four,
        {},
        None,
    )
    yield (
        "bootclus-selected",
        lambda: c.BootClus(None, n_bootstraps=30, focal_sets="selected", **seed),
        iris,
        {},
        None,
    )
    # Estimate all parameters from the data.
    for method in (
        "ECM",
        "CCM",
        "BPEC",
        "CECM",
        "RECM",
        "MECM",
        "ECMdd",
        "WECMdd",
        "EVCLUS",
        "EGMM",
    ):
        yield (
            f"{method.lower()}-auto",
            lambda m=method: getattr(c, m)("auto", **seed),
            iris,
            {},
            iris[::7],
        )
    yield "secm-auto", lambda: c.SECM("auto", **seed), d["image"], {}, d["image"][:12]
    yield "catecm-auto", lambda: c.CatECM(3, **seed), categories, {}, None
    yield (
        "bootclus-auto",
        lambda: c.BootClus("auto", n_bootstraps=30, **seed),
        iris,
        {},
        None,
    )
    yield (
        "evclus-auto-landmarks",
        lambda: c.EVCLUS(15, **seed),
        large,
        {},
        large[::97] + 0.01,
    )
    yield "evclus-auto-known", lambda: c.EVCLUS(3, **seed), iris, known, iris[::7]
    yield (
        "evclus-auto-precomputed",
        lambda: c.EVCLUS(3, metric="precomputed", **seed),
        D,
        weighted,
        D[::7],
    )
    yield (
        "evclus-auto-sparse",
        lambda: c.EVCLUS(3, metric="precomputed", **seed),
        _sparse(D),
        {},
        None,
    )

    yield from supervised_cases(d)


def supervised_cases(
    d: dict[str, Any],
) -> Iterator[tuple[str, Callable[[], Any], Any, dict[str, Any], Any]]:
    """Return the cases of the classifiers, the metric learners and the mixture."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    from dempster import FocalSets, MassFunctions
    from dempster import classify as c
    from dempster import metric as m
    from dempster.datasets import load_iris
    from dempster.mixture import ParsimoniousGaussianMixture as Mixture

    iris, y = load_iris(return_X_y=True)
    two = y > 1
    D = d["D"]
    single = iris.astype(np.float32)
    new = iris[::7] + 0.1
    seed = {"random_state": 3}
    labels = {"y": y}
    rng = np.random.default_rng(11)
    soft = {
        "y": MassFunctions(
            rng.dirichlet(np.ones(7), len(iris)), FocalSets.full(3, empty=False)
        )
    }
    simple = {
        "y": MassFunctions(
            0.8 * np.eye(3, 4)[y] + 0.2 * np.eye(4)[3], FocalSets.simple(3, empty=False)
        )
    }
    short = {"n_init": 2, "max_iter": 60, **seed}

    yield "eknn", lambda: c.EKNNClassifier(), iris, labels, new
    yield "eknn-float32", lambda: c.EKNNClassifier(9), single, labels, single[::7]
    yield "eknn-auto", lambda: c.EKNNClassifier("auto", mixing=1.0), iris, labels, new
    yield (
        "eknn-numbers",
        lambda: c.EKNNClassifier([3, 8]),
        iris,
        labels,
        new,
    )
    yield (
        "eknn-manhattan",
        lambda: c.EKNNClassifier(7, metric="manhattan"),
        iris,
        labels,
        new,
    )
    yield (
        "eknn-precomputed",
        lambda: c.EKNNClassifier(7, metric="precomputed"),
        D,
        labels,
        D[::7],
    )
    yield (
        "eknn-given-gamma",
        lambda: c.EKNNClassifier(7, gamma=[0.5, 1.0, 2.0]),
        iris,
        labels,
        new,
    )
    yield "eknn-soft", lambda: c.EKNNClassifier([5, 9]), iris, soft, new
    yield (
        "eknn-soft-simple",
        lambda: c.EKNNClassifier(5, optimize=False),
        iris,
        simple,
        new,
    )
    for name, network in (
        ("network", c.EvidentialNeuralNetworkClassifier),
        ("rbf", c.EvidentialRBFClassifier),
    ):
        yield name, lambda n=network: n(**short), iris, labels, new
        yield (
            f"{name}-float32",
            lambda n=network: n(6, **short),
            single,
            labels,
            single[::7],
        )
        yield (
            f"{name}-cv",
            lambda n=network: n(6, regularization="cv", cv=3, **short),
            iris,
            labels,
            new,
        )
        yield (
            f"{name}-grid",
            lambda n=network: n(4, regularization=[0, 0.1], cv=3, **short),
            iris,
            {"y": two},
            new,
        )
        yield f"{name}-soft", lambda n=network: n(5, **short), iris, soft, new
    yield (
        "network-all",
        lambda: c.EvidentialNeuralNetworkClassifier(
            4, init="all", mixing=None, **short
        ),
        iris,
        labels,
        new,
    )
    yield (
        "rbf-simple",
        lambda: c.EvidentialRBFClassifier(6, focal_sets="simple", **short),
        iris,
        labels,
        new,
    )
    yield (
        "evidence",
        lambda: c.EvidenceFromClassifier(LogisticRegression(max_iter=200)),
        iris,
        labels,
        new,
    )
    yield (
        "evidence-two",
        lambda: c.EvidenceFromClassifier(focal_sets="simple"),
        iris,
        {"y": two},
        new,
    )
    perceptron = {"hidden_layer_sizes": (4,), "max_iter": 40, "random_state": 0}
    yield (
        "evidence-mlp",
        lambda: c.EvidenceFromClassifier(MLPClassifier(**perceptron)),
        iris,
        labels,
        new,
    )
    source = c.EKNNClassifier(5).fit(iris[::2], y[::2]).predict_mass(iris)
    said = {"y": rng.permutation(y)}
    weighted = {**said, "sample_weight": d["weights"]}
    yield "discounting", lambda: c.ContextualDiscounting(), source, said, source[::7]
    yield (
        "discounting-weights",
        lambda: c.ContextualDiscounting("frame"),
        source,
        weighted,
        source[::7],
    )
    yield (
        "discounting-sets",
        lambda: c.ContextualDiscounting([(0,), (1, 2)]),
        source,
        said,
        source[::7],
    )

    known = {"constraints": d["known"]}
    some = {"y": np.where(np.arange(len(y)) % 3, -1, y)}
    for name in ("PCCA", "KPCCA", "MMC", "DMLEig"):
        yield name.lower(), lambda n=name: getattr(m, n)(2, **seed), iris, known, new
        yield (
            f"{name.lower()}-labels",
            lambda n=name: getattr(m, n)(2, max_pairs=300, **seed),
            iris,
            labels,
            new,
        )
        yield (
            f"{name.lower()}-float32",
            lambda n=name: getattr(m, n)(1, **seed),
            single,
            some,
            single[::7],
        )
        yield (
            f"{name.lower()}-wide",
            lambda n=name: getattr(m, n)(2, **seed),
            np.tile(iris[:, :3], 50) + D,
            known,
            None,
        )
    further = {"n_init": 2, "regularization": 0.01, "beta": 2.0}
    for name in ("PCCA", "KPCCA"):
        yield (
            f"{name.lower()}-regularized",
            lambda n=name: getattr(m, n)(2, **further, **seed),
            iris,
            known,
            new,
        )
    for name in ("FDA", "KFDA", "LFDA"):
        yield name.lower(), lambda n=name: getattr(m, n)(), iris, labels, new
        yield (
            f"{name.lower()}-some",
            lambda n=name: getattr(m, n)(1, regularization=0.1),
            iris,
            some,
            new,
        )
        yield (
            f"{name.lower()}-float32",
            lambda n=name: getattr(m, n)(),
            single,
            labels,
            single[::7],
        )
    yield "lfda-two", lambda: m.LFDA(2, n_neighbors=3), iris, labels, new

    given = Mixture(3, model="VVE").fit(iris).parameters_
    weights = {"sample_weight": d["weights"]}
    yield "mixture", lambda: Mixture([2, 3]), iris, {}, new
    yield (
        "mixture-auto-weights",
        lambda: Mixture(model=["EII", "VEV", "EVE"], **seed),
        iris,
        weights,
        new,
    )
    yield (
        "mixture-float32",
        lambda: Mixture(3, model="VVV", reg_covar=0.01),
        single,
        {},
        single[::7],
    )
    yield (
        "mixture-k-means",
        lambda: Mixture(3, init="k-means", n_init=3, **seed),
        iris,
        weights,
        new,
    )
    yield (
        "mixture-ward",
        lambda: Mixture(3, model="EEE", init="ward", convention="mclust"),
        iris,
        {},
        new,
    )
    yield (
        "mixture-large",
        lambda: Mixture(15, model=["VII", "VVV"], **seed),
        d["large"],
        {},
        d["large"][::97],
    )
    yield "mixture-labels", lambda: Mixture(init=y, model="EVE"), iris, {}, new
    yield (
        "mixture-warm",
        lambda: Mixture(3, init=given, model=["VVE", "EVE", "VVV"]),
        iris,
        weights,
        new,
    )


def _sparse(D: np.ndarray) -> Any:
    from scipy import sparse

    kept = np.triu(np.random.default_rng(5).random(D.shape) < 0.3, 1)
    i, j = np.nonzero(kept)
    return sparse.csr_matrix((D[i, j], (i, j)), D.shape)


def taken(
    make: Callable[[], Any], X: Any, arguments: dict[str, Any], new: Any
) -> dict[str, np.ndarray]:
    """Fit once and return the results as arrays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().fit(X, **arguments)
        if not hasattr(model, "credal_partition_") and not type(
            model
        ).__module__.startswith("dempster.cluster."):
            return _fitted_numbers(model) | (
                {} if new is None else _answers(model, new)
            )
        found = {"labels": np.asarray(model.labels_)}
        if hasattr(model, "credal_partition_"):
            found["masses"] = np.asarray(model.credal_partition_.masses)
            found["objective"] = np.asarray(model.objective_)
            found["history"] = np.asarray(model.history_)
            if new is not None:
                found["new"] = np.asarray(model.predict_mass(new).masses)
        elif new is not None:
            found["new"] = model.predict(new)
    return found


def _fitted_numbers(model: Any) -> dict[str, np.ndarray]:
    """Return the fitted attributes that are numbers or arrays, also those inside mass functions and parameters."""
    found = {}
    for name, value in vars(model).items():
        if name.endswith("_") and not name.startswith("_"):
            if isinstance(value, dict):
                value = np.array(list(value.items()))
            elif hasattr(value, "to_records"):
                value = value.select_dtypes(["number", "bool"]).to_numpy(float)
            value = getattr(value, "masses", value)
            if isinstance(value, np.ndarray | float | int | str):
                found[name] = np.asarray(value)
    return found


def _answers(model: Any, new: Any) -> dict[str, np.ndarray]:
    """Return the results of the public methods for new objects."""
    found = {}
    for method in (
        "predict_mass",
        "predict_proba",
        "predict",
        "transform",
        "score_samples",
        "conflict",
    ):
        if hasattr(model, method):
            value = getattr(model, method)(new)
            found[f"{method}()"] = np.asarray(getattr(value, "masses", value))
    return found


def _difference(a: dict[str, Any], b: dict[str, Any]) -> str:
    """Return the differences and their sizes; empty if all results are identical."""
    said = []
    for key in sorted(a.keys() | b.keys()):
        if key not in a or key not in b:
            said.append(f"{key} only in one")
        elif a[key].shape != b[key].shape or a[key].dtype != b[key].dtype:
            said.append(
                f"{key} {a[key].dtype}{a[key].shape} became {b[key].dtype}{b[key].shape}"
            )
        elif a[key].dtype.kind == "U":
            said += (
                []
                if np.array_equal(a[key], b[key])
                else [f"{key} {a[key]} became {b[key]}"]
            )
        elif not np.array_equal(a[key], b[key], equal_nan=True):
            said.append(
                f"{key} by {np.abs(a[key].astype(float) - b[key].astype(float)).max():.1e}"
            )
    return ", ".join(said)


def main(arguments: list[str]) -> int:
    if len(arguments) < 2 or arguments[0] not in ("save", "compare"):
        print(__doc__)
        return 2
    folder = Path(arguments[1])
    wanted = arguments[2:]
    folder.mkdir(parents=True, exist_ok=True)
    different = count = 0
    for name, make, X, further, new in cases():
        if wanted and not any(
            name == w or (w.endswith("*") and name.startswith(w[:-1])) for w in wanted
        ):
            continue
        found = taken(make, X, further, new)
        count += 1
        if arguments[0] == "save":
            np.savez(folder / f"{name}.npz", **found)
            continue
        with np.load(folder / f"{name}.npz") as before:
            said = _difference(dict(before), found)
        different += bool(said)
        print(f"{name}: {said or 'same'}", flush=True)
    print(
        f"{count} cases" + ("" if arguments[0] == "save" else f", {different} differ")
    )
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
