"""What every method returns, to the last bit: taken before a change and compared after it.

    python -m benchmarks.snapshot save FOLDER              fit all cases, write one file a case
    python -m benchmarks.snapshot compare FOLDER [NAME ...] fit them again and say which differ, and by how much

A case is a fit with one setting: masses, objective, history, labels, and the masses of new objects. A name with a
star at its end stands for all that begin so.
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
    from dempster.datasets import load_butterfly, load_iris, load_wine, make_bananas, make_fourclass

    iris, y = load_iris(return_X_y=True)
    wine, _ = load_wine(return_X_y=True)
    rng = np.random.default_rng(7)
    centers = rng.uniform(-10, 10, (15, 2))
    large = np.concatenate([c + rng.normal(scale=0.6, size=(200, 2)) for c in centers])
    huge = np.concatenate([c + rng.normal(scale=0.6, size=(1700, 2)) for c in centers])
    image = np.add.outer(np.linspace(0, 3, 24), np.sin(np.arange(30))) + rng.normal(scale=0.2, size=(24, 30))
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
    """Name, estimator, what it is fitted to, further arguments of the fit, new objects."""
    from dempster import FocalSets
    from dempster import cluster as c

    d = _data()
    iris, four, large, huge, D = d["iris"], d["fourclass"], d["large"], d["huge"], d["D"]
    single = iris.astype(np.float32)
    weighted, known = {"sample_weight": d["weights"]}, {"constraints": d["known"]}
    categories = np.round(iris).astype(int).astype(str).astype(object)
    seed = {"random_state": 3}
    pairs, many = {"focal_sets": "pairs", **seed}, {"focal_sets": "simple", **seed}
    fuzzy, many_fuzzy = {"beta": 2.0, **pairs}, {"beta": 2.0, **many}
    scaled, many_scaled = {"d0_quantile": 0.8, **pairs}, {"d0_quantile": 2.5 / 15, **many}
    family = FocalSets.with_pairs(3, [(0, 1)])

    yield "ecm", lambda: c.ECM(3, **fuzzy), iris, {}, iris[::7] + 0.1
    yield "ecm-float32", lambda: c.ECM(3, **fuzzy), single, {}, single[::7]
    yield "ecm-weights", lambda: c.ECM(3, **fuzzy), iris, weighted, iris[::7]
    yield "ecm-adaptive", lambda: c.ECM(3, metric="adaptive", **fuzzy), iris, {}, iris[::7]
    yield "ecm-adaptive-weights32", lambda: c.ECM(3, metric="adaptive", **fuzzy), single, weighted, single[::7]
    yield "ecm-selected", lambda: c.ECM(15, focal_sets="selected", beta=2.0, **seed), large, {}, large[::97]
    yield "ecm-full-beta", lambda: c.ECM(4, focal_sets="full", beta=1.5, delta=3.0, **seed), four, {}, four[::9]
    yield "ecm-random-start", lambda: c.ECM(4, init="random", **fuzzy), four, {}, four[::9]
    yield "ecm-given-centers", lambda: c.ECM(3, init=iris[[0, 60, 120]], **fuzzy), iris, {}, iris[::7]
    yield (
        "ecm-from-partition",
        lambda: c.ECM(3, init=c.ECM(3, **fuzzy).fit(iris).credal_partition_, **fuzzy),
        iris,
        {},
        iris[::7],
    )
    yield "ecm-family", lambda: c.ECM(3, focal_sets=family, beta=2.0, **seed), iris, {}, iris[::7]
    yield "ecm-huge", lambda: c.ECM(15, n_init=2, **many_fuzzy), huge, {}, huge[::997]
    yield "ecm-butterfly", lambda: c.ECM(2, delta=5, **fuzzy), d["butterfly"], {}, d["butterfly"]
    yield "ccm", lambda: c.CCM(3, **fuzzy), iris, {}, iris[::7]
    yield "ccm-float32-weights", lambda: c.CCM(3, gamma=2.0, **fuzzy), single, weighted, single[::7]
    yield "ccm-peaks", lambda: c.CCM(4, init="belief-peaks", **fuzzy), four, {}, four[::9]
    yield "ccm-selected", lambda: c.CCM(15, focal_sets="selected", beta=2.0, **seed), large, {}, large[::97]
    paper = {"convention": "paper", **pairs}
    yield "cecm", lambda: c.CECM(3, **paper), iris, known, iris[::7]
    yield "cecm-program", lambda: c.CECM(3, **pairs), iris, known, iris[::7]
    yield "cecm-adaptive", lambda: c.CECM(3, metric="adaptive", **paper), iris, known, iris[::7]
    yield "cecm-float32", lambda: c.CECM(3, empty_penalty=0.1, **paper), single, known, single[::7]
    yield "cecm-free", lambda: c.CECM(3, **pairs), iris, {}, iris[::7]
    yield "secm", lambda: c.SECM(3, focal_sets="simple", beta=2.0, **seed), d["image"], {}, d["image"][:12]
    yield (
        "secm-distance32",
        lambda: c.SECM(2, weighting="distance", radius=2, **fuzzy),
        d["image"].astype("f4"),
        {},
        None,
    )
    yield "bpec", lambda: c.BPEC(4, **fuzzy), four, {}, four[::9]
    yield "bpec-adaptive", lambda: c.BPEC(3, metric="adaptive", **fuzzy), iris, {}, iris[::7]
    yield "bpec-selected32", lambda: c.BPEC(4, focal_sets="selected", beta=2.0, **seed), four.astype("f4"), {}, None
    yield "catecm", lambda: c.CatECM(3, **pairs), categories, {}, categories[::7]
    yield "catecm-weights", lambda: c.CatECM(3, init="random", **pairs), categories, weighted, categories[::7]
    yield "catecm-selected", lambda: c.CatECM(3, focal_sets="selected", **seed), categories, {}, None
    yield "recm", lambda: c.RECM(3, **pairs), iris, {}, iris[::7]
    yield "recm-precomputed", lambda: c.RECM(3, metric="precomputed", **pairs), D, {}, D[::7]
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
        lambda: c.RECM(3, metric="precomputed", correction="clip", init="random", **pairs),
        D,
        {},
        D,
    )
    yield "recm-shift", lambda: c.RECM(3, metric="precomputed", correction="shift", **pairs), D, {}, D[::7]
    yield "recm-gower", lambda: c.RECM(3, metric="gower", **pairs), iris, {}, iris[::7]
    yield "recm-selected-large", lambda: c.RECM(15, focal_sets="selected", n_init=2, **seed), large, {}, large[::97]
    for method in ("MECM", "ECMdd", "WECMdd"):
        name = method.lower()
        yield name, lambda m=method: getattr(c, m)(3, **pairs), iris, {}, iris[::7]
        yield f"{name}-float32", lambda m=method: getattr(c, m)(3, **pairs), single, {}, single[::7]
        yield f"{name}-precomputed", lambda m=method: getattr(c, m)(3, metric="precomputed", **pairs), D, {}, D[::7]
        yield f"{name}-selected", lambda m=method: getattr(c, m)(4, focal_sets="selected", **seed), four, {}, four[::9]
        yield (
            f"{name}-manhattan",
            lambda m=method: getattr(c, m)(3, metric="manhattan", init="random", **pairs),
            iris,
            {},
            iris[::7],
        )
        yield f"{name}-peaks", lambda m=method: getattr(c, m)(4, init="belief-peaks", **pairs), four, {}, four[::9]
        yield f"{name}-large", lambda m=method: getattr(c, m)(15, n_init=2, **many), large, {}, large[::97]
    yield "ecmdd-many", lambda: c.ECMdd(15, n_init=1, n_candidates=50, max_iter=3, **many), huge[::4], {}, huge[1::997]
    yield "evclus", lambda: c.EVCLUS(3, **scaled), iris, {}, iris[::7] + 0.1
    yield "evclus-float32", lambda: c.EVCLUS(3, **scaled), single, {}, single[::7]
    yield "evclus-full", lambda: c.EVCLUS(2, focal_sets="full", d0=11, **seed), d["butterfly"], {}, d["butterfly"]
    yield "evclus-precomputed", lambda: c.EVCLUS(3, metric="precomputed", **scaled), D, {}, D[::7]
    yield "evclus-manhattan", lambda: c.EVCLUS(3, metric="manhattan", **scaled), iris, {}, iris[::7]
    yield "evclus-gower", lambda: c.EVCLUS(3, metric="gower", **scaled), iris, {}, iris[::7]
    yield "evclus-constraints", lambda: c.EVCLUS(3, **scaled), iris, known, iris[::7]
    yield "evclus-paper", lambda: c.EVCLUS(3, convention="paper", **scaled), iris, known, iris[::7]
    yield "evclus-random-pairs", lambda: c.EVCLUS(4, sampling="random", n_partners=30, **scaled), four, {}, four[::9]
    yield "evclus-random-start", lambda: c.EVCLUS(4, init="random", **scaled), four, {}, four[::9]
    yield "evclus-selected", lambda: c.EVCLUS(4, focal_sets="selected", d0_quantile=0.8, **seed), four, {}, four[::9]
    yield "evclus-landmarks", lambda: c.EVCLUS(15, **many_scaled), large, {}, large[::97] + 0.01
    yield "evclus-landmarks32", lambda: c.EVCLUS(15, **many_scaled), large.astype("f4"), {}, large[::97].astype("f4")
    yield (
        "evclus-landmarks-known",
        lambda: c.EVCLUS(3, sampling="landmarks", n_landmarks=60, **scaled),
        iris,
        known,
        None,
    )
    yield "evclus-sparse", lambda: c.EVCLUS(3, metric="precomputed", **scaled), _sparse(D), {}, None
    yield "nnevclus", lambda: c.NNEVCLUS(3, max_iter=60, **seed), iris, {}, iris[::7]
    yield "nnevclus-known", lambda: c.NNEVCLUS(3, max_iter=30, init="random", **seed), iris, known, iris[::7]
    yield "nnevclus-labels", lambda: c.NNEVCLUS(3, max_iter=30, **seed), iris, {"y": d["labels"]}, iris[::7]
    yield (
        "nnevclus-batches",
        lambda: c.NNEVCLUS(4, training=c.Training("mini-batch"), max_iter=50, **seed),
        four.astype("f4"),
        {},
        None,
    )
    yield (
        "nnevclus-steps",
        lambda: c.NNEVCLUS(3, training=c.Training("adaptive-steps"), max_iter=40, init="random", **seed),
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
    yield "eknnclus-precomputed", lambda: c.EKNNClus(metric="precomputed", n_neighbors=20, **seed), D, {}, D[::7]
    yield "eknnclus-mean", lambda: c.EKNNClus(graph="mean", n_neighbors=30, **seed), iris, {}, iris[::7]
    yield "eknnclus-directed", lambda: c.EKNNClus(graph="directed", n_neighbors=30, q=0.5, **seed), iris, {}, iris[::7]
    yield "eknnclus-sample", lambda: c.EKNNClus(init="sample", n_neighbors=30, **seed), huge, {}, huge[::997]
    yield "peaks", lambda: c.BeliefPeaks(), four, {}, four[::9]
    yield "peaks-precomputed", lambda: c.BeliefPeaks(3, metric="precomputed"), D, {}, D[::7]
    yield "egmm", lambda: c.EGMM(3, **pairs), iris, {}, iris[::7]
    yield "egmm-float32-weights", lambda: c.EGMM(3, **pairs), single, weighted, single[::7]
    yield "egmm-selected", lambda: c.EGMM(15, focal_sets="selected", n_init=3, **seed), large, {}, large[::97]
    yield "bootclus", lambda: c.BootClus(3, n_bootstraps=50, **pairs), iris, {}, iris[::7] + 0.1
    yield (
        "bootclus-partners",
        lambda: c.BootClus(4, n_bootstraps=40, n_partners=60, mixture="VVV", **pairs),
        four,
        {},
        None,
    )
    yield "bootclus-selected", lambda: c.BootClus(None, n_bootstraps=30, focal_sets="selected", **seed), iris, {}, None
    # everything that may be found from the data
    for method in ("ECM", "CCM", "BPEC", "CECM", "RECM", "MECM", "ECMdd", "WECMdd", "EVCLUS", "EGMM"):
        yield f"{method.lower()}-auto", lambda m=method: getattr(c, m)("auto", **seed), iris, {}, iris[::7]
    yield "secm-auto", lambda: c.SECM("auto", **seed), d["image"], {}, d["image"][:12]
    yield "catecm-auto", lambda: c.CatECM(3, **seed), categories, {}, None
    yield "bootclus-auto", lambda: c.BootClus("auto", n_bootstraps=30, **seed), iris, {}, None
    yield "evclus-auto-landmarks", lambda: c.EVCLUS(15, **seed), large, {}, large[::97] + 0.01
    yield "evclus-auto-known", lambda: c.EVCLUS(3, **seed), iris, known, iris[::7]
    yield "evclus-auto-precomputed", lambda: c.EVCLUS(3, metric="precomputed", **seed), D, weighted, D[::7]
    yield "evclus-auto-sparse", lambda: c.EVCLUS(3, metric="precomputed", **seed), _sparse(D), {}, None


def _sparse(D: np.ndarray) -> Any:
    from scipy import sparse

    kept = np.triu(np.random.default_rng(5).random(D.shape) < 0.3, 1)
    i, j = np.nonzero(kept)
    return sparse.csr_matrix((D[i, j], (i, j)), D.shape)


def taken(make: Callable[[], Any], X: Any, arguments: dict[str, Any], new: Any) -> dict[str, np.ndarray]:
    """One fit, as arrays."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().fit(X, **arguments)
        found = {"labels": np.asarray(model.labels_)}
        if hasattr(model, "credal_partition_"):
            found["masses"] = np.asarray(model.credal_partition_.masses)
            found["objective"], found["history"] = np.asarray(model.objective_), np.asarray(model.history_)
            if new is not None:
                found["new"] = np.asarray(model.predict_mass(new).masses)
        elif new is not None:
            found["new"] = model.predict(new)
    return found


def _difference(a: dict[str, Any], b: dict[str, Any]) -> str:
    """What is not the same to the bit, and by how much; empty if all is."""
    said = []
    for key in sorted(a.keys() | b.keys()):
        if key not in a or key not in b:
            said.append(f"{key} only in one")
        elif a[key].shape != b[key].shape or a[key].dtype != b[key].dtype:
            said.append(f"{key} {a[key].dtype}{a[key].shape} became {b[key].dtype}{b[key].shape}")
        elif not np.array_equal(a[key], b[key], equal_nan=True):
            said.append(f"{key} by {np.abs(a[key].astype(float) - b[key].astype(float)).max():.1e}")
    return ", ".join(said)


def main(arguments: list[str]) -> int:
    if len(arguments) < 2 or arguments[0] not in ("save", "compare"):
        print(__doc__)
        return 2
    folder, wanted = Path(arguments[1]), arguments[2:]
    folder.mkdir(parents=True, exist_ok=True)
    different = count = 0
    for name, make, X, further, new in cases():
        if wanted and not any(name == w or (w.endswith("*") and name.startswith(w[:-1])) for w in wanted):
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
    print(f"{count} cases" + ("" if arguments[0] == "save" else f", {different} differ"))
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
