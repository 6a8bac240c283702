"""Statements of docstrings in unusual settings: flat clusters, equal rows, few objects."""

import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dempster.cluster import (
    BPEC,
    CCM,
    CECM,
    ECM,
    EGMM,
    EVCLUS,
    MECM,
    RECM,
    SECM,
    WMVEC,
    BeliefPeaks,
    CatECM,
    ECMdd,
    WECMdd,
)
from dempster.explain import CautiousTree, explain_object, profile
from dempster.mixture import ParsimoniousGaussianMixture
from dempster.onnx import to_onnx

pytestmark = pytest.mark.filterwarnings("ignore")


def drawn(seed, n, p, *, clusters=3, spread=4.0):
    rng = np.random.default_rng(seed)
    return rng.normal(0, spread, (clusters, p))[
        rng.integers(0, clusters, n)
    ] + rng.normal(size=(n, p))


FLAT = {
    "a constant attribute": np.column_stack([drawn(0, 60, 3), np.full(60, 7.0)]),
    "more attributes than objects in a cluster": drawn(1, 40, 20),
    "a line": np.outer(drawn(2, 60, 1), np.arange(1, 9)),
}


@pytest.mark.parametrize("data", FLAT)
@pytest.mark.parametrize("method", [ECM, CECM, BPEC])
def test_objective_never_increases_for_flat_clusters(method, data):
    if method is BPEC:
        once = {}
    else:
        once = {"n_init": 1}
    settings = {
        "metric": "adaptive",
        "focal_sets": "simple",
        "tol": 1e-9,
        "max_iter": 60,
        "random_state": 0,
    }
    model = method(4, **settings, **once).fit(FLAT[data])
    assert (np.diff(model.history_) <= 1e-9 * model.history_[:-1]).all()
    np.testing.assert_allclose(
        np.linalg.slogdet(model.metric_matrices_)[1], 0, atol=1e-6
    )


@pytest.mark.parametrize("data", FLAT)
def test_adaptive_metrics_of_flat_clusters_in_single_precision(data):
    X = FLAT[data].astype(np.float32)
    settings = {
        "metric": "adaptive",
        "focal_sets": "simple",
        "tol": 1e-9,
        "n_init": 1,
        "random_state": 0,
    }
    single, double = (ECM(4, **settings).fit(values) for values in (X, X.astype(float)))
    assert single.credal_partition_.masses.dtype == np.float32
    np.testing.assert_allclose(
        single.credal_partition_.masses, double.credal_partition_.masses, atol=1e-4
    )
    np.testing.assert_allclose(
        single.predict_mass(X).masses, single.credal_partition_.masses, atol=1e-6
    )


def test_cluster_without_objects_keeps_its_metric():
    """Its scatter matrix contains only rounding errors, so its eigenvalues may not be computable."""
    X = drawn(5, 6, 3)
    X[:2] = X[4:]
    model = ECM(
        4,
        metric="adaptive",
        focal_sets="simple",
        alpha=0.0,
        delta=8.0,
        n_init=4,
        random_state=0,
    )
    model.fit(X, sample_weight=[1, 3, 2, 1, 2, 3])
    assert np.abs(model.metric_matrices_).max() < 1e8


def test_equal_objects_are_two_peaks_only_if_necessary():
    X = np.array([[0.0, 0], [5, 4], [4, -6], [-9, 3], [0, 0]])
    model = BeliefPeaks(3).fit(X)
    assert len(np.unique(model.cluster_centers_, axis=0)) == 3
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_order_of_mixture_components_does_not_depend_on_units():
    """Several starts reach the same maximum, so rounding must not decide which one is selected."""
    X = drawn(1, 120, 4)
    mixture = ParsimoniousGaussianMixture(
        3, model="EEI", init="k-means", n_init=6, random_state=1
    )
    expected = mixture.fit(X).predict_proba(X)
    for factor in (2.0, 512.0):
        np.testing.assert_allclose(
            mixture.fit(X * factor).predict_proba(X * factor), expected, atol=1e-7
        )


@pytest.mark.parametrize(
    "method",
    [ECM, CCM, CECM, EGMM, WMVEC, CatECM, RECM, MECM, ECMdd, WECMdd, EVCLUS],
    ids=lambda m: m.__name__,
)
def test_objects_of_weight_zero_have_no_effect(method):
    """Such an object must not cause a second descent from the best start."""
    X = drawn(3, 50, 3)
    if method is CatECM:
        X = np.round(X / 3)
    weights = np.r_[0.0, 0.0, np.ones(48)]
    model = method(3, focal_sets="pairs", n_init=2, max_iter=30, random_state=0).fit(
        X, sample_weight=weights
    )
    alone = method(3, focal_sets="pairs", n_init=2, max_iter=30, random_state=0).fit(
        X[2:]
    )
    np.testing.assert_allclose(model.history_, alone.history_, rtol=1e-9)
    np.testing.assert_allclose(
        model.credal_partition_.masses[2:], alone.credal_partition_.masses, atol=1e-9
    )
    np.testing.assert_allclose(
        model.credal_partition_.masses[:2], alone.predict_mass(X[:2]).masses, atol=1e-9
    )


def test_proposed_changes_stay_within_the_range():
    """The rounded value must not exceed the range of the data."""
    X = np.round(np.random.default_rng(0).uniform(-2.99, 2.99, (32, 3)), 3)
    model = ECM(4, focal_sets="pairs", n_init=1, random_state=0).fit(X)
    for i in (11, 13):
        single = [
            change
            for change in explain_object(model, X, i).changes
            if change.towards is None
        ]
        assert single
        for change in single:
            values = X[:, int(change.attributes[0].split()[-1]) - 1]
            assert values.min() <= change.after[0] <= values.max()


def test_names_of_the_columns_of_an_array():
    """`explain_object`, `profile` and the plots use the same names."""
    X = drawn(0, 40, 2)
    model = ECM(2, n_init=1, random_state=0).fit(X)
    names = ["attribute 1", "attribute 2"]
    assert list(explain_object(model, X, 0, changes=False).attributes) == names
    assert [feature.label for feature in profile(model, X).features] == names
    assert (
        "attribute 0"
        not in CautiousTree().fit(X, model.credal_partition_).export_text()
    )
    assert (
        WMVEC(2, views="attributes", n_init=1, random_state=0).fit(X).view_names_
        == names
    )
    views = [X[:, :1], X[:, 1:]]
    joined = ["view 0: attribute 1", "view 1: attribute 1"]
    found = WMVEC(2, n_init=1, random_state=0).fit(views)
    assert list(explain_object(found, views, 0, changes=False).attributes) == joined
    assert [feature.label for feature in profile(found, views).features] == joined


def test_peaks_are_sorted_by_prominence():
    """Peaks of low belief are not moved to the end."""
    for seed in range(10):
        X = np.random.default_rng(seed).integers(0, 6, (9, 2)).astype(float)
        peaks = BeliefPeaks(7, n_neighbors=5).fit(X)
        assert (np.diff(peaks.prominence_[peaks.peak_indices_]) <= 0).all()


@pytest.mark.parametrize("n", [3, 6, 12, 16, 20, 30])
def test_graphs_of_fits_to_few_objects(n):
    """With 6 to 20 objects, more objects are near than determine the scale."""
    onnxruntime = pytest.importorskip("onnxruntime")
    X = drawn(0, n, 2)
    model = EVCLUS(2, random_state=0).fit(X)
    graph = to_onnx(model, dtype="float64").SerializeToString()
    session = onnxruntime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    for objects in (X, X + 0.3):
        masses, _ = session.run(None, {"X": objects})
        np.testing.assert_allclose(
            masses, model.predict_mass(objects).masses, atol=1e-6
        )


@pytest.mark.parametrize("method", [ECM, CCM, CECM], ids=lambda m: m.__name__)
def test_attribute_missing_in_a_whole_cluster(method):
    """The center must not move to zero in this attribute."""
    X = np.random.default_rng(0).normal(size=(3, 22)) + 1024
    X[0, :3] = X[1, 2:6] = X[2, 5:8] = np.nan
    model = method(
        3, focal_sets="simple", delta=16.0, missing="partial", random_state=0
    ).fit(X)
    assert model.converged_
    assert np.abs(model.cluster_centers_ - 1024).max() < 10


@pytest.mark.parametrize("axis", [3, -4])
def test_invalid_channel_axis(axis):
    with pytest.raises(ValueError, match="channel_axis must"):
        SECM(2, channel_axis=axis).fit(np.zeros((6, 6)))


def with_holes(X, seed=0):
    X = np.column_stack([X, np.full(len(X), 7.3)])
    X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
    return X


UNITS = {
    "a metric of each cluster": (
        lambda: ECM(3, metric="adaptive", n_init=2, random_state=0),
        drawn(0, 60, 4),
    ),
    "a metric of flat clusters": (
        lambda: ECM(3, metric="adaptive", n_init=2, random_state=0),
        FLAT["a line"],
    ),
    "BPEC": (lambda: BPEC(3, metric="adaptive"), drawn(1, 60, 4)),
    **{
        f"{method.__name__}, a constant attribute with holes": (
            lambda method=method: method(
                3, missing="partial", n_init=2, random_state=0
            ),
            with_holes(drawn(2, 60, 4)),
        )
        for method in (ECM, CCM, EVCLUS, RECM)
    },
}


@pytest.mark.parametrize("which", UNITS)
def test_powers_of_two_as_units_give_identical_results(which):
    make, X = UNITS[which]
    expected = make().fit(X).credal_partition_.masses
    for power in (-10, 5):
        np.testing.assert_array_equal(
            make().fit(X * 2.0**power).credal_partition_.masses, expected
        )


@pytest.mark.parametrize(
    ("metric", "seed"), [("canberra", 5), ("manhattan", 4), ("euclidean", 2)]
)
def test_medoids_of_sets_do_not_depend_on_the_order_of_rows(metric, seed):
    X = drawn(seed, 22, 6)
    order = np.random.default_rng(0).permutation(22)
    start = np.array([14, 2])
    given = {
        "n_clusters": 2,
        "focal_sets": "full",
        "metric": metric,
        "eta": 2.0,
        "gamma": 2.0,
    }
    as_it_is = ECMdd(init=start, **given).fit(X)
    moved = ECMdd(init=np.argsort(order)[start], **given).fit(X[order])
    np.testing.assert_allclose(
        moved.credal_partition_.masses,
        as_it_is.credal_partition_.masses[order],
        atol=1e-9,
    )


def test_units_have_no_effect_on_repeated_rows():
    """Rounding does not decide between equally good starts."""
    places = np.random.default_rng(5).integers(0, 6, 85)
    D = np.abs(places[:, None] - places).astype(float)
    for settings in ({"sampling": "landmarks"}, {"sampling": "all"}):
        model = EVCLUS(6, metric="precomputed", random_state=0, **settings)
        expected = model.fit(D).credal_partition_.masses
        for power in (-3, 1, 2):
            np.testing.assert_array_equal(
                model.fit(D * 2.0**power).credal_partition_.masses, expected
            )


@pytest.mark.parametrize("kind", [Decimal, Fraction])
def test_explanations_with_decimals_and_fractions(kind):
    X = drawn(6, 30, 3).round(2)
    partition = ECM(3, n_init=1, random_state=0).fit(X).credal_partition_
    table = pd.DataFrame(X, columns=list("abc"))
    given = table.map(lambda value: kind(str(value)))
    assert str(explain_object(partition, given, 4)) == str(
        explain_object(partition, table, 4)
    )
    assert str(profile(partition, given)) == str(profile(partition, table))


@pytest.mark.parametrize(("delta", "warns"), [(0.01, True), (0.3, False)])
def test_warning_if_most_objects_are_outliers(delta, warns):
    X = np.random.default_rng(0).normal(size=(60, 2)) / 10
    X[30:] += 9
    model = ECM(2, delta=delta, focal_sets="full", random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    share = len(model.credal_partition_.outliers) / 60
    assert (share > 0.5) == warns
    beginning = f"ECM: {share:.0%} of the objects are outliers"
    assert [str(w.message).startswith(beginning) for w in caught] == [True] * warns
