"""EVCLUS: a sweep and a fit beside a NumPy loop with a general QP solver, and scaling with the number of objects.

The loop is a direct implementation of the papers: for each row it passes the quadratic program of
the pairs of an object to daqp, the fastest general solver for such small problems that we know. Our
compiled code computes its objective, which the stopping rule of the papers needs once in each
sweep; this is faster than plain NumPy.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import (
    Row,
    Task,
    Timing,
    apart,
    at_least,
    at_most,
    benchmark,
    memory,
    shared_folder,
    skipped,
    timings,
)

_CLUSTERS = 15
_PARTNERS = 100  # random partners of each object (k of k-EVCLUS)
_QUANTILE = 0.2  # quantile of the sampled distances for d0
_LANDMARKS = 1000  # number of candidate objects for medoids
_PAPERS_TOLERANCE = 1e-5
_NO_DATA = "data/{}.npz is not in the folder beside the checkout (DEMPSTER_SHARED)"
_NO_DAQP = "daqp is not installed"


def _missing(dataset: str) -> str:
    """Return why a benchmark cannot run, or an empty string."""
    folder = shared_folder()
    if folder is not None and (folder / "data" / f"{dataset}.npz").exists():
        return ""
    return _NO_DATA.format(dataset)


def _stored(dataset: str) -> dict[str, np.ndarray]:
    folder = shared_folder()
    assert folder is not None
    with np.load(folder / "data" / f"{dataset}.npz") as file:
        return dict(file)


@cache
def _s2(every: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Return standardised S2: 5,000 objects in 15 overlapping clusters, or every ``every``-th of them."""
    data = _stored("s2")
    X = data["X"]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.ascontiguousarray(X[::every]), data["y"][::every]


def _agreement(y: np.ndarray, labels: np.ndarray) -> float:
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(y, labels))


# ---- the other implementation --------------------------------------------------------------------


class _Descent(NamedTuple):
    masses: np.ndarray
    history: list[float]  # objective after every sweep
    converged: bool
    failures: int  # rows that daqp could not solve and that were not changed
    seconds: float

    @property
    def words(self) -> str:
        if self.converged:
            ending = "converged"
        else:
            ending = "not converged"
        if self.failures:
            left = f", {self.failures} rows not solved"
        else:
            left = ""
        return f"one start, {len(self.history)} sweeps, {ending}{left}"


def _loop(
    problem: Any,
    family: Any,
    masses: np.ndarray,
    order: np.ndarray,
    sweeps: int,
    tol: float,
    began: float,
) -> _Descent:
    """Run exact coordinate descent over the rows until the stopping rule of the papers holds.

    Row i minimises sum_j w_ij (m' C m_j - delta_ij)^2 over the simplex: H = 2 B' W B and g = -2 B'
    W delta with the rows of B = M C of its partners j.
    """
    import daqp

    C = np.array(family.conflict)
    f = len(family)
    A = np.ones((1, f))
    upper = np.r_[np.full(f, 1e30), 1.0]
    lower = np.r_[np.zeros(f), 1.0]
    # f bounds, then one equality constraint
    sense = np.r_[np.zeros(f), 5].astype(np.int32)
    M = masses.copy()
    history: list[float] = []
    failures = 0
    previous = problem.squares(M, family) / problem.total
    error = 1.0
    for _ in range(sweeps):
        for i in order:
            pairs = slice(problem.indptr[i], problem.indptr[i + 1])
            B = M[problem.indices[pairs]] @ C
            weighted = B.T * problem.weights[pairs]
            x, _, flag, _ = daqp.solve(
                2 * (weighted @ B),
                -2 * (weighted @ problem.delta[pairs]),
                A,
                upper,
                lower,
                sense,
            )
            if flag == 1:
                x = np.maximum(x, 0)
                M[i] = x / x.sum()
            else:
                failures += 1
        history.append(problem.squares(M, family) / problem.total)
        error = error / 2 + abs(history[-1] - previous) / previous / 2
        previous = history[-1]
        if error < tol:
            break
    return _Descent(M, history, error < tol, failures, time.perf_counter() - began)


# ---- problems and starts -------------------------------------------------------------------------


def _sampled_pairs(X: np.ndarray, d0: float | None = None) -> tuple[Any, float]:
    """Return the problem of k-EVCLUS and d0; pairs drawn twice have twice the weight."""
    from dempster.cluster.evclus._pairs import SomePairs
    from dempster.dissimilarity.transform import random_pairs, to_conflict

    pairs, weights = random_pairs(len(X), _PARTNERS, np.random.default_rng(0))
    distance = np.linalg.norm(X[pairs[:, 0]] - X[pairs[:, 1]], axis=1)
    if d0 is None:
        d0 = float(np.quantile(distance, _QUANTILE))
    return SomePairs(len(X), pairs, weights, to_conflict(distance, d0)), d0


def _random_start(X: np.ndarray, d0: float, family: Any, seed: int) -> np.ndarray:
    from dempster.cluster._medoid_starts import random_masses

    return random_masses(len(X), family, np.random.default_rng(seed))


def _medoid_start(X: np.ndarray, d0: float, family: Any, seed: int) -> np.ndarray:
    """Return the start of our fit: the best of several sets of medoids."""
    from scipy.spatial.distance import cdist

    from dempster.cluster._medoid_starts import masses_from_labels, medoid_starts
    from dempster.dissimilarity.transform import choose_landmarks, to_conflict

    rng = np.random.default_rng(seed)
    some = X[choose_landmarks(len(X), _LANDMARKS, rng)]
    medoids = medoid_starts(to_conflict(cdist(some, some), d0), _CLUSTERS, 5, rng)[0]
    return masses_from_labels(cdist(X, some[medoids]).argmin(axis=1), family)


_STARTS: dict[str, Callable[..., np.ndarray]] = {
    "random": _random_start,
    "medoids": _medoid_start,
}


@cache
def _sweep_problem(every: int) -> tuple[Any, Any, dict[str, np.ndarray], np.ndarray]:
    """Return problem, family, order of the rows and two starts: all masses positive, and sparse as in later sweeps."""
    from dempster import FocalSets

    X = _s2(every)[0]
    problem, d0 = _sampled_pairs(X)
    family = FocalSets.simple(_CLUSTERS)
    order = np.random.default_rng(2).permutation(len(X))
    first = _random_start(X, d0, family, 0)
    return (
        problem,
        family,
        {"first": first, "later": _descend(problem, family, first, order, 8)[0]},
        order,
    )


def _descend(
    problem: Any, family: Any, masses: np.ndarray, order: np.ndarray, sweeps: int
) -> Any:
    from dempster.cluster.evclus._pairs import Links

    return problem.descend(
        masses, family, order, sweeps, 0.0, Links.from_constraints(None, problem.n), 0.0
    )


# ---- one sweep -----------------------------------------------------------------------------------


def _our_sweeps(every: int, start: str, sweeps: int) -> Task:
    problem, family, starts, order = _sweep_problem(every)
    return Task(
        lambda: _descend(problem, family, starts[start], order, sweeps),
        lambda result: result[1].tolist(),
    )


def _loop_sweeps(every: int, start: str, sweeps: int) -> Task:
    problem, family, starts, order = _sweep_problem(every)
    return Task(
        lambda: _loop(
            problem, family, starts[start], order, sweeps, 0.0, time.perf_counter()
        ),
        lambda result: result.history,
    )


def _per_sweep(short: Timing, long: Timing, sweeps: int) -> list[float]:
    """Return the time of a sweep in each round.

    The difference of two lengths excludes the setup.
    """
    return [
        (after - before) / sweeps
        for before, after in zip(short.rounds, long.rounds, strict=True)
    ]


def _spread(over: list[float], under: list[float]) -> str:
    """Return the ratio in each round, which shows its variation."""
    ratios = [a / b for a, b in zip(over, under, strict=True)]
    return f"ratio of single rounds {min(ratios):.1f} to {max(ratios):.1f}"


@benchmark
def sweep(quick: bool) -> list[Row]:
    """Compare one compiled pass over all rows with NumPy and daqp."""
    if why := _missing("s2") or ("" if find_spec("daqp") else _NO_DAQP):
        return [skipped("EVCLUS sweep", why)]
    if quick:
        every = 5
    else:
        every = 1
    what = f"S2, {5000 // every:,} objects, c = {_CLUSTERS}, {_PARTNERS} random partners each"
    difference = {}
    # Our first three sweeps are plain exact descent, as in the loop.
    for start in ("first", "later"):
        (_, ours), (_, theirs) = (
            memory(_our_sweeps, every, start, 3),
            memory(_loop_sweeps, every, start, 3),
        )
        difference[start] = max(
            abs(a / b - 1) for a, b in zip(ours, theirs, strict=True)
        )
        if difference[start] > 1e-6:
            raise RuntimeError(f"our sweeps reach objectives {ours}, the loop {theirs}")
    entries = [
        (_our_sweeps, every, "later", 1),
        (_our_sweeps, every, "later", 3),
        (_loop_sweeps, every, "later", 1),
        (_loop_sweeps, every, "later", 3),
        (_our_sweeps, every, "later", 23),
        (_our_sweeps, every, "first", 0),
        (_our_sweeps, every, "first", 1),
        (_loop_sweeps, every, "first", 0),
        (_loop_sweeps, every, "first", 1),
    ]
    one, three, loop_one, loop_three, many, none, first, loop_none, loop_first = (
        timings(entries, 3 if quick else 7)
    )
    ours = _per_sweep(one, three, 2)
    theirs = _per_sweep(loop_one, loop_three, 2)
    fast = _per_sweep(three, many, 20)
    ours_first = _per_sweep(none, first, 1)
    theirs_first = _per_sweep(loop_none, loop_first, 1)
    same = f"objectives of three sweeps within {difference['later']:.0e} of each other; {_spread(theirs, ours)}"
    same_first = f"objectives within {difference['first']:.0e} of each other; {_spread(theirs_first, ours_first)}"
    loop = f"NumPy and daqp {version('daqp')}"
    ratio = median(theirs) / median(ours)
    return [
        Row(
            "EVCLUS sweep",
            f"{what}, after 8 sweeps; ratio: times faster than the loop below",
            seconds=median(ours),
            noise=three.noise,
            quality=same,
            ratio=ratio,
            **at_least(ratio, 15),
        ),
        Row(
            f"{loop}, sweep",
            f"{what}, same start",
            seconds=median(theirs),
            noise=loop_three.noise,
        ),
        Row(
            "EVCLUS over-relaxed sweep",
            "the next 20 sweeps, every fourth with a look ahead; ratio to the same loop",
            seconds=median(fast),
            noise=many.noise,
            quality=_spread(theirs, fast),
            ratio=median(theirs) / median(fast),
        ),
        Row(
            "EVCLUS first sweep",
            f"{what}, all masses positive; ratio: times faster than the loop below",
            seconds=median(ours_first),
            noise=first.noise,
            quality=same_first,
            ratio=median(theirs_first) / median(ours_first),
        ),
        Row(
            f"{loop}, first sweep",
            f"{what}, same start",
            seconds=median(theirs_first),
            noise=loop_first.noise,
        ),
    ]


# ---- a fit ---------------------------------------------------------------------------------------


def _stress_of_all_pairs(
    X: np.ndarray, masses: np.ndarray, family: Any, d0: float
) -> float:
    """Return the sum of (conflict - delta)^2 over all pairs, divided by the sum of delta^2, computed in blocks."""
    from scipy.spatial.distance import cdist

    from dempster.dissimilarity.transform import to_conflict

    images = np.asarray(masses, dtype=float) @ np.array(family.conflict)
    squares = total = 0.0
    for start in range(0, len(X), 500):
        rows = slice(start, min(start + 500, len(X)))
        delta = to_conflict(cdist(X[rows], X[rows.start :]), d0)
        gap = np.triu((images[rows] @ masses[rows.start :].T - delta) ** 2, 1)
        squares += float(gap.sum())
        total += float((np.triu(delta, 1) ** 2).sum())
    return squares / total


def _scale(every: int) -> float:
    return _sampled_pairs(_s2(every)[0])[1]


def _our_fit(every: int, d0: float) -> Task:
    from dempster.cluster import EVCLUS

    X, y = _s2(every)
    model = EVCLUS(_CLUSTERS, focal_sets="simple", d0=d0, random_state=0)
    model.fit(X)  # compile
    return Task(
        lambda: model.fit(X),
        lambda fitted: {
            "stress": _stress_of_all_pairs(
                X, fitted.credal_partition_.masses, fitted.focal_sets_, d0
            ),
            "ari": _agreement(y, fitted.labels_),
            "how": f"{fitted.sampling_}, best of up to {fitted.n_init} starts, {fitted.n_iter_} sweeps",
        },
    )


def _loop_fit(every: int, d0: float, start: str, seed: int, sweeps: int) -> Task:
    """Fit from the table to the masses, as ours.

    It measures its own time because it is too slow to run twice.
    """
    from dempster import CredalPartition, FocalSets

    X, y = _s2(every)
    family = FocalSets.simple(_CLUSTERS)
    # compile
    _descend(
        _sampled_pairs(X)[0],
        family,
        _STARTS[start](X, d0, family, seed),
        np.arange(len(X)),
        1,
    )

    def fit() -> _Descent:
        began = time.perf_counter()
        problem, _ = _sampled_pairs(X, d0)
        order = np.random.default_rng(2).permutation(len(X))
        return _loop(
            problem,
            family,
            _STARTS[start](X, d0, family, seed),
            order,
            sweeps,
            _PAPERS_TOLERANCE,
            began,
        )

    def judge(result: _Descent) -> dict[str, Any]:
        return {
            "stress": _stress_of_all_pairs(X, result.masses, family, d0),
            "ari": _agreement(y, CredalPartition(result.masses, family).labels),
            "how": result.words,
            "seconds": result.seconds,
        }

    return Task(fit, judge)


def _worth(verdict: dict[str, Any]) -> str:
    return f"stress of all pairs {verdict['stress']:.6f}, ARI {verdict['ari']:.3f} ({verdict['how']})"


@benchmark
def fit(quick: bool) -> list[Row]:
    """Compare the default fit with the loop from a random start (as in the papers) and from our start."""
    if why := _missing("s2"):
        return [skipped("EVCLUS fit", why)]
    if quick:
        every = 2
        sweeps = 10
    else:
        every = 1
        sweeps = 100
    d0 = apart(_scale, every)
    what = f"S2, {5000 // every:,} objects, c = {_CLUSTERS}, d0 = {d0:.4f}"
    peak, ours = memory(_our_fit, every, d0)
    rounds = timings([(_our_fit, every, d0)], 3)[0].rounds
    if not find_spec("daqp"):
        timing = Timing(rounds)
        return [
            Row("EVCLUS fit", what, timing.best, timing.noise, peak, _worth(ours)),
            skipped("NumPy and daqp, fit", _NO_DAQP),
        ]
    seeds = range(2 if quick else 5)
    loops = [memory(_loop_fit, every, d0, "random", seed, sweeps) for seed in seeds]
    loop_peak, medoids = memory(_loop_fit, every, d0, "medoids", 0, sweeps)
    # Measure before and after the loops.
    timing = Timing(rounds + timings([(_our_fit, every, d0)], 3)[0].rounds)
    times = Timing([verdict["seconds"] for _, verdict in loops])
    best = min((verdict for _, verdict in loops), key=lambda verdict: verdict["stress"])
    worst = max(
        (verdict for _, verdict in loops), key=lambda verdict: verdict["stress"]
    )
    faster = median(times.rounds) / timing.best
    worse = ours["stress"] / best["stress"]
    name = f"NumPy and daqp {version('daqp')}, fit"
    partners = f"{_PARTNERS} random partners each"
    return [
        Row(
            "EVCLUS fit",
            f"{what}; ratio: times faster than the loop from one random start",
            timing.best,
            timing.noise,
            peak,
            _worth(ours),
            faster,
            **at_least(faster, 50),
        ),
        Row(
            "EVCLUS stress",
            f"{what}, all pairs; ratio to the best of the loop's {len(loops)} random starts",
            ratio=worse,
            **at_most(worse, 1.02),
        ),
        Row(
            name,
            f"{partners}, one random start (median time of {len(loops)})",
            median(times.rounds),
            times.noise,
            loops[0][0],
            f"best: {_worth(best)}; worst: {_worth(worst)}",
        ),
        Row(
            name,
            f"{partners}, {len(loops)} random starts; ratio: times EVCLUS is faster",
            sum(times.rounds),
            ratio=sum(times.rounds) / timing.best,
            quality=_worth(best),
        ),
        Row(
            name,
            f"{partners}, from medoids as EVCLUS; ratio: times EVCLUS is faster",
            medoids["seconds"],
            peak_bytes=loop_peak,
            quality=f"{_worth(medoids)}; stress of EVCLUS {ours['stress'] / medoids['stress']:.4f} of it",
            ratio=medoids["seconds"] / timing.best,
        ),
    ]


# ---- many objects --------------------------------------------------------------------------------


@cache
def _resampled(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw n rows of S2 at random with a little noise, in single precision."""
    X, y = _s2()
    rng = np.random.default_rng(0)
    which = rng.integers(0, len(X), n)
    rows = X.astype(np.float32)[which]
    for begin in range(
        0, n, 1_000_000
    ):  # Normal random numbers are generated in double precision.
        some = rows[begin : begin + 1_000_000]
        some += rng.normal(scale=0.02, size=some.shape).astype(np.float32)
    return rows, y[which].astype(np.int16)


def _fit_many(n: int, warm: bool) -> Task:
    """Fit with default parameters and measure the time."""
    from dempster.cluster import EVCLUS

    X, y = _resampled(n)
    if warm:
        EVCLUS(_CLUSTERS, random_state=0).fit(X[:20_000])

    def work() -> tuple[float, float, Any]:
        began = time.perf_counter()
        busy = time.process_time()
        model = EVCLUS(_CLUSTERS, random_state=0).fit(X)
        return time.perf_counter() - began, time.process_time() - busy, model

    def judge(result: tuple[float, float, Any]) -> dict[str, Any]:
        seconds, processor_seconds, model = result
        return {
            "seconds": seconds,
            "processor_seconds": processor_seconds,
            "masses": model.credal_partition_.masses.nbytes,
            "input": X.nbytes,
            "quality": f"ARI {_agreement(y, model.labels_):.3f}, stress {model.stress_:.5f} ({model.sampling_})",
        }

    return Task(work, judge)


@benchmark
def million(quick: bool) -> list[Row]:
    """Measure time and memory of a default fit of a million objects."""
    if why := _missing("s2"):
        return [skipped("EVCLUS fit", why)]
    if quick:
        n = 100_000
    else:
        n = 1_000_000
    what = f"{n:,} x 2, float32, c = {_CLUSTERS}"
    peak, cold = memory(_fit_many, n, False)
    (timing,) = timings([(_fit_many, n, True)], 1 if quick else 3)
    rows = [
        Row(
            "EVCLUS fit",
            what,
            timing.best,
            timing.noise,
            quality=f"{cold['quality']}; {cold['seconds']:.1f} s as the first fit of a process",
            **at_most(timing.best, 2.5, " s"),
        )
    ]
    if peak is not None:
        allowed = cold["masses"] + 500e6
        rows.append(
            Row(
                "EVCLUS memory",
                f"{what}; above imports and input, first fit of a process; masses {cold['masses'] / 1e6:.0f} MB",
                peak_bytes=peak,
                target=f"≤ {allowed / 1e6:.0f} MB",
                met=peak + cold["input"] <= allowed,
            )
        )
    return rows


@benchmark
def linear(quick: bool) -> list[Row]:
    """Measure ten times and a hundred times the number of objects."""
    if why := _missing("s2"):
        return [skipped("EVCLUS fit", why)]
    if quick:
        sizes = [100_000, 1_000_000]
    else:
        sizes = [100_000, 1_000_000, 10_000_000]
    runs: dict[int, list[tuple[int | None, dict[str, Any]]]] = {n: [] for n in sizes}
    for n in sizes + sizes[-2::-1]:  # Repeat the smaller sizes after the largest.
        runs[n].append(memory(_fit_many, n, True))
    rows: list[Row] = []
    before = None
    for n, some in runs.items():
        peak, verdict = some[0]
        timing = Timing([run["seconds"] for _, run in some])
        busy = min(run["processor_seconds"] for _, run in some)
        row = Row(
            "EVCLUS fit",
            f"{n:,} objects, 2 attributes, float32, c = {_CLUSTERS}",
            timing.best,
            timing.noise if len(some) > 1 else None,
            peak,
            f"{verdict['quality']}; {busy:.1f} s of processor time",
        )
        if before is not None:
            row.ratio = timing.best / before[1]
            row.measured += f"; ratio to {before[0]:,}"
            row.quality += f", {busy / before[2]:.1f} times as much"
            if n == 10_000_000:
                row.target, row.met = at_most(timing.best, 25, " s").values()
        rows.append(row)
        before = n, timing.best, busy
    return rows


# ---- a matrix of dissimilarities -----------------------------------------------------------------


def _protein_fit(family: str) -> Task:
    from dempster.cluster import EVCLUS

    data = _stored("protein")
    D = data["D"]
    y = data["y"]
    model = EVCLUS(
        4,
        metric="precomputed",
        focal_sets=family,
        d0_quantile=1.0,
        n_init=1,
        random_state=0,
    )
    model.fit(D)  # compile
    return Task(
        lambda: model.fit(D),
        lambda fitted: (
            f"stress {fitted.stress_:.5f}, ARI {_agreement(y, fitted.labels_):.3f}, "
            f"{len(fitted.focal_sets_)} sets, {fitted.n_iter_} sweeps"
        ),
    )


def _protein_loop() -> Task:
    from dempster import CredalPartition, FocalSets
    from dempster.cluster._medoid_starts import random_masses
    from dempster.cluster.evclus._pairs import SomePairs
    from dempster.dissimilarity.transform import to_conflict

    data = _stored("protein")
    D = data["D"]
    y = data["y"]
    D = (D + D.T) / 2
    n = len(D)
    family = FocalSets.simple(4)
    pairs = np.column_stack(np.triu_indices(n, 1))
    start = random_masses(n, family, np.random.default_rng(1))
    order = np.arange(n)

    def run(sweeps: int) -> _Descent:
        began = time.perf_counter()
        problem = SomePairs(
            n,
            pairs,
            np.ones(len(pairs)),
            to_conflict(D[pairs[:, 0], pairs[:, 1]], D.max()),
        )
        return _loop(problem, family, start, order, sweeps, _PAPERS_TOLERANCE, began)

    run(1)  # compile
    return Task(
        lambda: run(1000),
        lambda result: (
            f"stress {result.history[-1]:.5f}, "
            f"ARI {_agreement(y, CredalPartition(result.masses, family).labels):.3f}, {len(family)} sets, "
            f"{result.words}"
        ),
    )


@benchmark
def protein(quick: bool) -> list[Row]:
    """Fit a small matrix of dissimilarities with all pairs and one start."""
    if why := _missing("protein"):
        return [skipped("EVCLUS fit", why)]
    what = "Protein, 213 objects, c = 4, all pairs, d0 = maximum, n_init = 1"
    families = {
        "simple": "single clusters and the whole",
        "auto": "the default sets: all pairs of clusters",
    }
    entries: list[tuple[Any, ...]] = [(_protein_fit, family) for family in families]
    names = [f"{what}, {words}" for words in families.values()]
    if find_spec("daqp"):
        entries.append((_protein_loop,))
        names.append("same pairs, single clusters and the whole; a random start")
    verdicts = [memory(*entry) for entry in entries]
    times = timings(entries, 3 if quick else 9)
    rows = []
    for name, (peak, quality), timing in zip(names, verdicts, times, strict=False):
        rows.append(Row("EVCLUS fit", name, timing.best, timing.noise, peak, quality))
    if len(rows) == 3:
        rows[0].ratio = times[2].best / times[0].best
        rows[0].measured += "; ratio: times faster than the loop below"
        rows[2].name = f"NumPy and daqp {version('daqp')}, fit"
    else:
        rows.append(skipped("NumPy and daqp, fit", _NO_DAQP))
    return rows
