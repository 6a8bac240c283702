"""The first result in a new process, and fits with default parameters on well-known data."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks.harness import (
    Row,
    Task,
    Timing,
    at_most,
    benchmark,
    measured,
    shared_folder,
    skipped,
    timings,
)

_IMPORTS = {"dempster": 0.3, "dempster.cluster": 2.5}  # seconds allowed
_FIRST_FITS = {"ECM": 4.0, "EVCLUS": 5.0, "BootClus": 8.0}
_OTHERS = ("CCM", "BPEC", "EGMM", "NNEVCLUS", "EKNNClus", "CECM")
_MOST = 6.0  # seconds allowed for the others
_TIMED = (
    "import time; began = time.perf_counter()\n{}\nprint(time.perf_counter() - began)"
)
_FIT = (
    "from sklearn.datasets import load_iris\nX = load_iris().data\n"
    "from dempster.cluster import {0}\n{0}({1}random_state=0).fit(X)"
)


def _in_a_new_process(code: str, rounds: int) -> Timing:
    """Return the seconds of statements in fresh processes, without the start of the interpreter."""
    seconds = []
    for _ in range(rounds):
        run = subprocess.run(
            [sys.executable, "-c", _TIMED.format(code)],
            env=dict(os.environ),
            capture_output=True,
            text=True,
            check=True,
        )
        seconds.append(float(run.stdout.split()[-1]))
    return Timing(seconds)


@benchmark
def first_answer(quick: bool) -> list[Row]:
    """Measure imports and the first fit of Iris in fresh processes."""
    if quick:
        rounds = 1
    else:
        rounds = 3
    rows = []
    for name, most in _IMPORTS.items():
        timing = _in_a_new_process(f"import {name}", rounds)
        rows.append(
            Row(
                f"import {name}",
                "fresh process",
                timing.best,
                timing.noise,
                **at_most(timing.best, most, " s"),
            )
        )
    for name in (*_FIRST_FITS, *_OTHERS):
        timing = _in_a_new_process(
            _FIT.format(name, "" if name == "EKNNClus" else "3, "), rounds
        )
        target = at_most(timing.best, _FIRST_FITS.get(name, _MOST), " s")
        rows.append(
            Row(
                name,
                "imports and first fit of Iris, fresh process",
                timing.best,
                timing.noise,
                **target,
            )
        )
    return rows


# ---- defaults on well-known data -----------------------------------------------------------------


def _stored(name: str) -> tuple[np.ndarray, np.ndarray]:
    folder = shared_folder()
    assert folder is not None
    with np.load(folder / "data" / f"{name}.npz") as data:
        return data["X"].astype(float), data["y"]


def _standardized(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = _stored(name)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def _network(name: str) -> Task:
    from sklearn.metrics import adjusted_rand_score

    from dempster.cluster import NNEVCLUS

    X, y = _standardized(name)
    return Task(
        lambda: NNEVCLUS(len(np.unique(y)), random_state=0).fit(X),
        lambda model: (
            f"ARI {adjusted_rand_score(y, model.labels_):.3f}, loss {model.loss_:.5f}"
        ),
    )


def _prototypes() -> Task:
    from dempster.classify import EvidentialNeuralNetworkClassifier

    X, y = _stored("glass_evclass")
    model = EvidentialNeuralNetworkClassifier(n_prototypes=7, n_init=1, random_state=0)
    return Task(
        lambda: model.fit(X[:89], y[:89]),
        lambda fitted: f"error {1 - fitted.score(X[89:], y[89:]):.3f}",
    )


def _neighbors() -> Task:
    from dempster.classify import EKNNClassifier

    X, y = _stored("ionosphere")

    def work() -> float:
        return float(
            1
            - EKNNClassifier(n_neighbors=10)
            .fit(X[:176], y[:176])
            .score(X[176:], y[176:])
        )

    return Task(work, lambda error: f"error {error:.3f}")


@benchmark
def well_known_data(quick: bool) -> list[Row]:
    """Measure NN-EVCLUS and the classifiers on the data sets of R's evclass."""
    folder = shared_folder()
    needed = ("fourclass", "s2", "glass_evclass", "ionosphere")
    if folder is None or not all(
        (folder / "data" / f"{name}.npz").exists() for name in needed
    ):
        return [
            skipped(
                "NN-EVCLUS, evidential network, EK-NN",
                "the datasets beside the checkout are missing",
            )
        ]
    work: list[tuple[str, str, Any, tuple[Any, ...], float | None]] = [
        ("NNEVCLUS", "Fourclass, defaults", _network, ("fourclass",), 1.2),
        ("NNEVCLUS", "S2, defaults", _network, ("s2",), 4.5),
        (
            "EvidentialNeuralNetworkClassifier",
            "Glass: fit of 89 objects, 7 prototypes",
            _prototypes,
            (),
            None,
        ),
        (
            "EKNNClassifier",
            "Ionosphere: fit of 176 objects, error on the others",
            _neighbors,
            (),
            None,
        ),
    ]
    rows = []
    for name, what, prepare, arguments, most in work[: 1 if quick else None]:
        found = measured(prepare, *arguments)
        if most is None:
            target = {}
        else:
            target = at_most(found.timing.best, most, " s")
        rows.append(
            Row(
                name,
                what,
                found.timing.best,
                found.timing.noise,
                found.peak_bytes,
                str(found.verdict),
                **target,
            )
        )
    return rows


# ---- one model of a mixture ----------------------------------------------------------------------


def _blobs() -> np.ndarray:
    from sklearn.datasets import make_blobs

    return np.asarray(
        make_blobs(5_000, 2, centers=15, cluster_std=0.6, random_state=1)[0]
    )


def _our_mixture() -> Task:
    from dempster.mixture import ParsimoniousGaussianMixture

    X = _blobs()
    return Task(
        lambda: ParsimoniousGaussianMixture(15, model="VVV").fit(X),
        lambda model: {"likelihood": float(model.log_likelihood_) / len(X)},
    )


def _their_mixture() -> Task:
    from sklearn.mixture import GaussianMixture

    X = _blobs()
    return Task(
        lambda: GaussianMixture(15, random_state=0).fit(X),
        lambda model: {"likelihood": float(model.score(X))},
    )


@benchmark
def one_mixture(quick: bool) -> list[Row]:
    """Compare one model of a mixture, including initialization, with scikit-learn's."""
    if quick:
        return []
    ours, theirs = timings([(_our_mixture,), (_their_mixture,)], rounds=3)
    likelihood = {
        name: measured(task).verdict["likelihood"]
        for name, task in (("ours", _our_mixture), ("theirs", _their_mixture))
    }
    ratio = ours.best / theirs.best
    what = "5,000 x 2, 15 components, full covariances"
    return [
        Row(
            "ParsimoniousGaussianMixture",
            f"{what}; ratio to scikit-learn",
            ours.best,
            ours.noise,
            quality=f"log-likelihood per object {likelihood['ours']:.4f}",
            ratio=ratio,
            **at_most(ratio, 3),
        ),
        Row(
            "scikit-learn GaussianMixture",
            what,
            theirs.best,
            theirs.noise,
            quality=f"log-likelihood per object {likelihood['theirs']:.4f}",
        ),
    ]
