"""Effects of units, scales, threads, interrupts and names on all clusterers."""

import os
import signal
import threading
import time
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dempster import CredalPartition
from tests.cluster.contract import SUBJECTS, answer, prediction

pytestmark = pytest.mark.filterwarnings("ignore")

# a network takes long for what others show
QUICK = [subject for subject in SUBJECTS if str(subject) != "NNEVCLUS"]
# categories have no scale
NUMERIC = [subject for subject in QUICK if subject.data.dtype.kind == "f"]
# logarithms of numbers in other units are rounded otherwise
ALIKE = {"BootClus": 1e-5, "EVCLUS": 1e-9}


def of_each(subjects):
    return pytest.mark.parametrize(
        "subject", [pytest.param(s, id=str(s)) for s in subjects]
    )


# ---- units and scales ----------------------------------------------------------------------------


@of_each(NUMERIC)
@pytest.mark.parametrize("exponent", [10, -10, 200, -200])
def test_units_have_no_effect(subject, exponent):
    """A power of two as unit gives identical results."""
    model = subject.make().fit(subject.data * 2.0**exponent)
    np.testing.assert_allclose(
        answer(model),
        answer(subject.fitted()),
        rtol=0,
        atol=ALIKE.get(str(subject), 0.0),
    )
    np.testing.assert_array_equal(model.labels_, subject.fitted().labels_)


@pytest.mark.long
@of_each(NUMERIC)
@pytest.mark.parametrize("exponent", [30, -30])
def test_units_have_no_effect_in_single_precision(subject, exponent):
    single = subject.data.astype(np.float32)
    one, other = (
        subject.make().fit(single * np.float32(factor))
        for factor in (1.0, 2.0**exponent)
    )
    np.testing.assert_allclose(answer(other), answer(one), atol=1e-6)


@of_each(NUMERIC)
@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_numbers_out_of_range(subject, kind):
    for factor, words in (
        (1e20 if kind == np.float32 else 1e160, "X must"),
        (1e-20 if kind == np.float32 else 1e-160, "differ by at least|at least 1e-75"),
    ):
        with pytest.raises(ValueError, match=words):
            subject.make().fit((subject.data * factor).astype(kind))
    coded = subject.data.copy()
    coded.flat[3] = 1.7e308  # a usual code for missing
    with pytest.raises(ValueError, match=r"X\[.*\] is 1.7e\+308"):
        subject.make().fit(coded)
    with pytest.raises(ValueError, match="X must"):
        subject.fitted().predict(np.full_like(subject.data, 1e300))


@of_each(QUICK)
def test_extreme_parameters(subject):
    """Masses sum to one, or an error names the parameter."""
    for name in subject.parameters:
        for value in (1e-300, 1e-74, 1e74, 1e300):
            rule = subject.estimator._rules[name]
            if not (rule.test(value) or rule.test(1.5)) or name == "tol":
                continue
            try:
                masses = answer(subject.make(**{name: value}).fit(subject.data))
            except ValueError as error:
                told = any(word in str(error) for word in (name, "scale", "parameters"))
                masses = None
            else:
                told = masses.ndim == 1 or np.abs(masses.sum(axis=1) - 1).max() < 1e-4
            assert told, f"{name}={value}: {masses}"


@of_each(
    [
        subject
        for subject in SUBJECTS
        if subject.fit_takes("sample_weight") and "init" in subject.parameters
    ]
)
def test_selected_pairs_depend_on_the_weights(subject):
    if "focal_sets" not in subject.parameters or not subject.takes_tables:
        pytest.skip("it has no focal_sets to select, or reads images")
    weights = np.random.default_rng(5).integers(1, 6, len(subject.data))
    rows = np.repeat(np.arange(len(subject.data)), weights)
    weighted = subject.make(focal_sets="selected").fit(
        subject.data, sample_weight=weights
    )
    repeated = subject.make(focal_sets="selected").fit(subject.data[rows])
    assert weighted.focal_sets_ == repeated.focal_sets_


# ---- names ---------------------------------------------------------------------------------------


def starts_from_partitions(subject):
    return (
        "init" in subject.parameters
        and "CredalPartition" in subject.estimator._rules["init"].words
    )


@of_each([s for s in QUICK if starts_from_partitions(s) and s.takes_tables])
def test_initial_partition_is_matched_by_name(subject):
    table = subject.table()
    if "focal_sets" not in subject.parameters:
        simple = {}
    else:
        simple = {"focal_sets": "simple"}
    start = subject.make(**simple).fit(subject.data).credal_partition_
    start = CredalPartition(start.masses, start.focal_sets, list(table.index))
    order = np.random.default_rng(0).permutation(len(table))
    moved = start[order]
    one = subject.make(init=start, **simple).fit(table)
    other = subject.make(init=moved, **simple)
    other.fit(table)
    assert answer(one).tobytes() == answer(other).tobytes()
    assert other.init is moved  # the parameter stays what it was
    stranger = CredalPartition(
        start.masses, start.focal_sets, [f"other {name}" for name in table.index]
    )
    with pytest.raises(ValueError, match="names of the objects differ"):
        subject.make(init=stranger, **simple).fit(table)


@of_each(
    [s for s in SUBJECTS if "metric" in s.parameters and "symmetrize" in s.parameters]
)
def test_rows_and_columns_of_dissimilarities_are_matched_by_name(subject):
    from scipy.spatial.distance import cdist

    names = [f"object {i}" for i in range(len(subject.data))]
    D = pd.DataFrame(cdist(subject.data, subject.data), index=names, columns=names)
    order = np.random.default_rng(0).permutation(len(D))
    one, other = (
        subject.make(metric="precomputed").fit(X) for X in (D, D.iloc[:, order])
    )
    assert answer(one).tobytes() == answer(other).tobytes()
    assert (
        prediction(one, D.iloc[:5]).tobytes()
        == prediction(one, D.iloc[:5, order]).tobytes()
    )
    with pytest.raises(ValueError, match="names of the objects differ"):
        subject.make(metric="precomputed").fit(
            D.rename(columns={"object 3": "another"})
        )


# ---- threads, global state, interrupts -----------------------------------------------------------


@of_each(QUICK)
def test_global_state_is_not_changed(subject):
    np.random.seed(3)  # noqa: NPY002
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    filters = list(warnings.filters)
    floats = np.geterr()
    if "random_state" in subject.make().get_params():
        chance = {"random_state": None}
    else:
        chance = {}
    for model in (subject.make(), subject.make().set_params(**chance)):
        model.fit(subject.data).predict(subject.data)
    np.testing.assert_array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    assert warnings.filters == filters
    assert np.geterr() == floats


@of_each(QUICK)
def test_concurrent_fits(subject):
    found = [None] * 4

    def fit(place):
        found[place] = answer(subject.make().fit(subject.data)).tobytes()

    threads = [
        threading.Thread(target=fit, args=(place,)) for place in range(len(found))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {answer(subject.fitted()).tobytes()}


@of_each(SUBJECTS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt(subject, n_jobs, tmp_path, monkeypatch, default_interrupts):
    """A signal during a long fit ends it; the clusterer does not change."""
    slow = {
        "n_init": 200,
        "max_iter": 100_000,
        "tol": 0.0,
        "n_bootstraps": 20_000,
        "n_jobs": n_jobs,
    }
    many = {"EKNNClus": 20, "BPEC": 10, "BeliefPeaks": 10}.get(str(subject), 1)
    X = subject.many
    if many > 1:
        X = np.concatenate([X + 1e-3 * k for k in range(many)])
    monkeypatch.chdir(tmp_path)
    model = clone(subject.fitted()).set_params(
        **{k: v for k, v in slow.items() if k in subject.parameters}
    )
    before = dict(vars(model))
    sent = []

    def interrupt():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.15, interrupt)
    timer.start()
    try:
        model.fit(X)
        timer.cancel()
    except (KeyboardInterrupt, TypeError) as error:
        # NumPy turns an interrupt inside a comparison of records into a TypeError, with the
        # interrupt as its cause.
        if not isinstance(error.__cause__ or error, KeyboardInterrupt):
            raise
        assert time.perf_counter() - sent[0] < 10
        assert vars(model) == before
        assert list(tmp_path.iterdir()) == []
    finally:
        try:
            timer.join()
            time.sleep(0.02)
        except KeyboardInterrupt:
            pass
