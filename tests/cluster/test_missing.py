"""Missing values: methods that accept them, their effect on clusters and doubt, and errors."""

import inspect
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

from dempster import cluster
from dempster.cluster import (
    BPEC,
    CCM,
    CECM,
    ECM,
    EGMM,
    EVCLUS,
    MECM,
    RECM,
    BeliefPeaks,
    ECMdd,
    EKNNClus,
    WECMdd,
)
from dempster.cluster._incomplete import estimate_within_variances
from dempster.cluster.ecm import append_zeros
from dempster.constraints import Constraints
from dempster.explain import doubt_scores

pytestmark = pytest.mark.filterwarnings("ignore")

TAKERS = [
    kind
    for kind in (getattr(cluster, name) for name in cluster.__all__)
    if inspect.isclass(kind)
    and getattr(inspect.signature(kind).parameters.get("missing"), "default", "")
    == "refuse"
    if kind.__name__ != "CredalClustering"  # It uses EVCLUS for missing values.
]
DESCENDING = [ECM, CCM, CECM]
IRIS = load_iris()
POINTS = make_blobs(
    90,
    4,
    centers=[[0, 0, 0, 0], [4, 0, 4, 0], [0, 4, 0, 4]],
    cluster_std=1.3,
    random_state=0,
)[0]


def with_holes(X, share, seed=0):
    """Return the table with values removed at random; every row keeps one."""
    hidden = np.random.default_rng(seed).random(X.shape) < share
    hidden[hidden.all(axis=1), 0] = False
    return np.where(hidden, np.nan, X)


HOLES = with_holes(POINTS, 0.15)


def of_each(takers):
    return pytest.mark.parametrize("kind", takers, ids=lambda kind: kind.__name__)


def made(kind, **settings):
    """Return an estimator with few starts, which is fast."""
    if "n_init" in inspect.signature(kind).parameters:
        starts = {"n_init": 3}
    else:
        starts = {}
    return kind(
        **{
            "n_clusters": 3,
            "missing": "partial",
            "random_state": 0,
            **starts,
            **settings,
        }
    )


def masses(model):
    return np.asarray(model.credal_partition_.masses)


def test_methods_that_accept_missing_values():
    names = {kind.__name__ for kind in TAKERS}
    relatives = {"FuzzyCMeans", "NoiseClustering"}
    assert (
        names
        == {"ECM", "CECM", "CCM", "BPEC", "ECMdd", "WECMdd", "MECM", "RECM", "EVCLUS"}
        | relatives
    )


# ---- results -------------------------------------------------------------------------------------


@of_each(TAKERS)
def test_complete_data_give_identical_results(kind):
    partial = made(kind).fit(POINTS)
    plain = made(kind).set_params(missing="refuse").fit(POINTS)
    assert masses(plain).tobytes() == masses(partial).tobytes()
    assert plain.objective_ == partial.objective_
    assert (
        plain.predict_mass(POINTS).masses.tobytes()
        == partial.predict_mass(POINTS).masses.tobytes()
    )


@of_each(TAKERS)
def test_predict_agrees_with_fit(kind):
    model = made(kind).fit(HOLES)
    np.testing.assert_allclose(
        model.predict_mass(HOLES).masses, masses(model), atol=1e-7
    )
    one_by_one = np.vstack([model.predict_mass(row[None]).masses for row in HOLES[:9]])
    np.testing.assert_allclose(one_by_one, masses(model)[:9], atol=1e-7)


@of_each(TAKERS)
def test_order_of_rows_has_no_effect(kind):
    order = np.random.default_rng(3).permutation(len(HOLES))
    # of two medoids of a pair, where no object lies between them, either may stand for it
    if kind is ECMdd:
        settings = {"focal_sets": "simple"}
    else:
        settings = {}
    one, other = (made(kind, **settings).fit(X) for X in (HOLES, HOLES[order]))
    np.testing.assert_allclose(masses(other), masses(one)[order], atol=1e-6)


@of_each(TAKERS)
def test_units_have_no_effect(kind):
    other = made(kind).fit(HOLES * 2.0**-10)
    np.testing.assert_allclose(masses(other), masses(made(kind).fit(HOLES)), atol=1e-9)


@pytest.mark.long
@of_each(TAKERS)
def test_far_from_the_origin(kind):
    np.testing.assert_allclose(
        masses(made(kind).fit(HOLES + 1e6)), masses(made(kind).fit(HOLES)), atol=1e-4
    )


# BPEC has no weights; the shift that makes partial distances Euclidean, of RECM, depends on the
# matrix
@of_each([kind for kind in TAKERS if kind.__name__ not in ("BPEC", "RECM")])
def test_weights_equal_repetitions(kind):
    times = np.random.default_rng(0).integers(1, 3, len(HOLES))
    weighted = made(kind).fit(HOLES, sample_weight=times)
    repeated = made(kind).fit(np.repeat(HOLES, times, axis=0))
    np.testing.assert_allclose(
        np.repeat(masses(weighted), times, axis=0), masses(repeated), atol=2e-3
    )


@pytest.mark.long
@of_each(TAKERS)
def test_single_precision_is_kept(kind):
    single = made(kind).fit(HOLES.astype(np.float32))
    assert (
        masses(single).dtype
        == single.predict_mass(HOLES.astype(np.float32)).masses.dtype
        == np.float32
    )
    assert np.mean(single.labels_ == made(kind).fit(HOLES).labels_) > 0.95


@pytest.mark.long
@of_each(
    [kind for kind in TAKERS if "focal_sets" in inspect.signature(kind).parameters]
)
@pytest.mark.parametrize("family", ["full", "selected"])
def test_other_families(kind, family):
    model = made(kind, focal_sets=family).fit(HOLES)
    assert masses(model).shape == (90, len(model.focal_sets_))
    np.testing.assert_allclose(masses(model).sum(axis=1), 1)


def test_number_of_belief_peaks():
    assert BPEC(missing="partial").fit(HOLES).n_clusters_ > 1


@of_each([ECM, CCM, ECMdd, EVCLUS])
def test_number_of_clusters(kind):
    X = make_blobs(150, 4, centers=4, random_state=0)[0]
    assert made(kind, n_clusters="auto").fit(with_holes(X, 0.1)).n_clusters_ == 4


@of_each(TAKERS)
def test_start_from_belief_peaks(kind):
    model = made(kind, init="belief-peaks").fit(HOLES)
    assert np.isfinite(masses(model)).all()


# ---- clusters and doubt --------------------------------------------------------------------------


@of_each(TAKERS)
def test_clusters_are_found_with_a_tenth_missing(kind):
    whole = adjusted_rand_score(IRIS.target, made(kind).fit(IRIS.data).labels_)
    tables = [with_holes(IRIS.data, 0.1, seed) for seed in range(2)]
    found = [
        adjusted_rand_score(IRIS.target, made(kind).fit(table).labels_)
        for table in tables
    ]
    assert np.mean(found) > whole - 0.12


@of_each(TAKERS)
def test_missing_values_increase_the_doubt(kind):
    """Under the same model, objects with half of their values have more doubt and less specific masses."""
    X = make_blobs(
        200, 4, centers=3, center_box=(-2.5, 2.5), cluster_std=1.2, random_state=4
    )[0]
    model = made(kind).fit(X)
    quarter, half = (model.predict_mass(with_holes(X, share)) for share in (0.25, 0.5))
    doubts = [
        np.minimum(doubt_scores(p), 1).mean()
        for p in (model.credal_partition_, quarter, half)
    ]
    assert doubts[0] + 0.02 < doubts[1] < doubts[2]
    has_pairs = (model.focal_sets_.cardinality > 1).any()
    if (
        has_pairs and kind is not WECMdd
    ):  # the penalties of its pairs outweigh what is not known
        assert (
            half.nonspecificity().mean()
            > model.credal_partition_.nonspecificity().mean()
        )


@of_each(TAKERS)
def test_incomplete_objects_are_not_outliers(kind):
    """A missing attribute contributes its average, so distances keep their scale."""
    X = make_blobs(300, 5, centers=3, cluster_std=1.0, random_state=0)[0]
    model = made(kind).fit(X)
    hidden = with_holes(X, 0.5)
    assert (
        len(model.predict_mass(hidden).outliers)
        <= len(model.credal_partition_.outliers) + 6
    )


def test_empty_rows_have_equal_costs():
    """In the limit, all sets have the same cost."""
    model = made(ECM, focal_sets="full").fit(POINTS)._model
    costs = (
        model.squared_distances(np.array([[np.nan] * 4]))
        * model.step.kernel_arguments()[0]
    )
    np.testing.assert_allclose(costs, costs[0, 0])


# ---- the objective -------------------------------------------------------------------------------


@of_each(DESCENDING)
@pytest.mark.parametrize("family", ["auto", "full"])
def test_objective_never_increases(kind, family):
    model = made(kind, focal_sets=family, tol=0.0, max_iter=60).fit(
        with_holes(POINTS, 0.3)
    )
    assert len(model.history_) > 5
    assert np.diff(model.history_).max() <= 1e-9 * model.history_[0]


def test_objective_never_increases_with_constraints():
    known = Constraints(must_link=[(0, 1), (2, 3)], cannot_link=[(0, 2), (5, 9)])
    model = made(CECM, tol=0.0, max_iter=60).fit(
        with_holes(POINTS, 0.3), constraints=known
    )
    assert np.diff(model.history_).max() <= 1e-9 * model.history_[0]
    np.testing.assert_allclose(
        model.predict_mass(with_holes(POINTS, 0.3)).masses, masses(model), atol=1e-7
    )


def test_objective_of_ecm_against_loops():
    model = made(
        ECM, focal_sets="full", alpha=1.5, beta=1.7, delta=3.0, tol=1e-12, max_iter=5000
    ).fit(HOLES)
    within = estimate_within_variances(HOLES, None, 3)
    value = 0.0
    sets = [np.flatnonzero(row) for row in model.focal_sets_.membership]
    for x, m in zip(HOLES, masses(model), strict=True):
        for members, mass in zip(sets, m, strict=True):
            if len(members) == 0:
                value += mass**1.7 * 3.0**2
                continue
            center = model.cluster_centers_[members].mean(axis=0)
            for d in range(4):
                missing = np.isnan(x[d])
                value += mass**1.7 * (
                    within[d]
                    if missing
                    else len(members) ** 1.5 * (x[d] - center[d]) ** 2
                )
    assert abs(value - model.objective_) < 1e-8 * value


def test_objective_of_ccm_against_loops():
    model = made(
        CCM, focal_sets="full", gamma=0.7, beta=1.7, delta=3.0, tol=1e-12, max_iter=5000
    ).fit(HOLES)
    within = estimate_within_variances(append_zeros(HOLES, 1), None, 3)
    value = 0.0
    sets = [np.flatnonzero(row) for row in model.focal_sets_.membership]
    for x, m in zip(HOLES, masses(model), strict=True):
        for members, mass in zip(sets, m, strict=True):
            if len(members) == 0:
                value += mass**1.7 * 3.0**2
                continue
            centers = model.cluster_centers_[members]
            for d in range(4):
                if np.isnan(x[d]):
                    value += mass**1.7 * within[d]
                elif len(members) == 1:
                    value += mass**1.7 * (x[d] - centers[0, d]) ** 2
                else:
                    own = ((x[d] - centers[:, d]) ** 2).sum() + 0.7 * (
                        x[d] - centers[:, d].mean()
                    ) ** 2
                    value += mass**1.7 * own / (len(members) + 0.7)
    assert abs(value - model.objective_) < 1e-8 * value


def test_variances_within_clusters():
    X = make_blobs(
        3000,
        3,
        centers=[[0, 0, 0], [20, 0, 9], [0, 30, 9]],
        cluster_std=1.0,
        random_state=0,
    )[0]
    X = X * [1.0, 2.0, 0.5]
    found = estimate_within_variances(with_holes(X, 0.2), None, 3)
    np.testing.assert_allclose(found, [1.0, 4.0, 0.25], rtol=0.15)
    np.testing.assert_allclose(
        estimate_within_variances(X, np.ones(len(X)), 1), X.var(axis=0), rtol=0.1
    )


# ---- refusals ------------------------------------------------------------------------------------


@of_each(TAKERS)
def test_error_by_default(kind):
    with pytest.raises(ValueError, match=r"\bX\b"):
        kind(3).fit(HOLES)
    model = kind(3, random_state=0).fit(POINTS)
    with pytest.raises(ValueError, match="set missing='partial'"):
        model.predict_mass(HOLES)


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"]
)
def test_error_names_the_columns(frame):
    table = frame(
        {
            "height": POINTS[:, 0],
            "weight": [None, *POINTS[1:, 1]],
            "age": [np.nan, None, *POINTS[2:, 2]],
        }
    )
    with pytest.raises(ValueError, match=r"\bX\b"):
        ECM(3).fit(table)
    with pytest.raises(ValueError, match=r"\bX\b"):
        EGMM(3).fit(table)
    assert len(made(ECM).fit(table).credal_partition_) == 90


@pytest.mark.parametrize(
    "kind", [EGMM, EKNNClus, BeliefPeaks], ids=lambda kind: kind.__name__
)
def test_methods_that_do_not_accept_missing_values(kind):
    with pytest.raises(ValueError, match=r"\bX\b"):
        kind().fit(HOLES)


@of_each(TAKERS)
def test_rows_and_columns_without_values(kind):
    nothing = HOLES.copy()
    column = HOLES.copy()
    nothing[7] = np.nan
    column[:, 2] = np.nan
    with pytest.raises(ValueError, match=r"row 7"):
        made(kind).fit(nothing)
    with pytest.raises(ValueError, match=r"column 2"):
        made(kind).fit(column)
    with pytest.raises(ValueError, match="row 'b'"):
        made(kind).fit(
            pd.DataFrame(nothing, index=[*"cdefghi", "b", *map(str, range(82))])
        )
    model = made(kind).fit(HOLES)
    with pytest.raises(ValueError, match="row 7"):
        model.predict_mass(nothing)
    # what new objects all lack is missing, and no more
    assert len(model.predict_mass(column)) == 90


@of_each(TAKERS)
def test_infinite_values(kind):
    with pytest.raises(ValueError, match="infinity"):
        made(kind).fit(np.where(np.isnan(HOLES), np.inf, HOLES))
    coded = HOLES.copy()
    coded[0, 0] = 1e160
    with pytest.raises(ValueError, match="X must"):
        made(kind).fit(coded)


def test_metrics_that_need_complete_rows():
    with pytest.raises(ValueError, match="metric='adaptive'"):
        made(ECM, metric="adaptive").fit(HOLES)
    with pytest.raises(ValueError, match="metric='manhattan'"):
        made(EVCLUS, metric="manhattan").fit(HOLES)
    with pytest.raises(ValueError, match="X has .*missing values"):
        made(RECM, metric="precomputed").fit(np.where(np.eye(9), 0, np.nan))
    with pytest.raises(ValueError, match="missing must"):
        ECM(missing="ignore").fit(POINTS)


def test_squared_distances_between_incomplete_rows():
    ways = (2.0, "euclidean"), (1.0, "sqeuclidean")
    plain, squared = (
        made(ECMdd, focal_sets="full", power=power, metric=metric).fit(HOLES)
        for power, metric in ways
    )
    np.testing.assert_allclose(masses(plain), masses(squared), atol=1e-9)


# ---- other ways in -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [ECMdd, WECMdd, MECM, RECM, EVCLUS], ids=lambda kind: kind.__name__
)
def test_gower_with_categories_and_missing_values(kind):
    rng = np.random.default_rng(0)
    town = np.array(["Lens", "Arras", "Douai"])[np.repeat([0, 1, 2], 30)].astype(object)
    town[rng.random(90) < 0.15] = None
    table = pd.DataFrame(
        {"a": HOLES[:, 0], "b": HOLES[:, 1], "town": town, "whole": POINTS[:, 2]}
    )
    table = table.iloc[rng.permutation(90)]
    for missing in ("refuse", "partial"):
        model = kind(3, metric="gower", missing=missing, random_state=0).fit(table)
        assert np.isfinite(masses(model)).all()
        np.testing.assert_allclose(
            model.predict_mass(table).masses, masses(model), atol=1e-7
        )
        assert list(model.credal_partition_.index) == list(table.index)


def test_gower_of_rows_without_a_common_value():
    table = pd.DataFrame(
        {
            "a": [1.0, None, 1.1, 9.0, None, 9.1] * 5,
            "b": ["x", "x", None, None, "y", "y"] * 5,
        }
    )
    table["a"] += np.arange(30) % 7 / 100
    with pytest.raises(ValueError, match=r"rows \d+ and \d+ have no common") as error:
        EVCLUS(2, metric="gower").fit(table)
    i, j = map(int, re.findall(r"\d+", str(error.value)))
    assert not (table.loc[i].notna() & table.loc[j].notna()).any()
    assert made(EVCLUS, n_clusters="auto", metric="gower").fit(table).n_clusters_ > 1
    model = made(EVCLUS, n_clusters=2, metric="gower").fit(table)
    assert adjusted_rand_score([0, 0, 0, 1, 1, 1] * 5, model.labels_) == 1
    with pytest.raises(ValueError, match="Row 0 of X"):
        model.predict_mass(pd.DataFrame({"a": [np.nan], "b": [None]}))


def test_gower_missing_values_increase_the_doubt():
    X = make_blobs(
        200, 4, centers=3, center_box=(-2.5, 2.5), cluster_std=1.2, random_state=4
    )[0]
    model = made(EVCLUS, metric="gower").fit(X)
    half = model.predict_mass(with_holes(X, 0.5))
    assert (
        np.minimum(doubt_scores(half), 1).mean()
        > np.minimum(doubt_scores(model.credal_partition_), 1).mean() + 0.1
    )
    plain = made(EVCLUS, metric="gower", missing="refuse").fit(X)
    assert masses(plain).tobytes() == masses(model).tobytes()


@pytest.mark.long
@pytest.mark.parametrize("sampling", ["random", "landmarks"])
def test_evclus_with_few_of_the_pairs(sampling):
    X, y = make_blobs(1200, 3, centers=3, random_state=1)
    model = made(EVCLUS, n_partners=20, sampling=sampling).fit(with_holes(X, 0.1))
    assert adjusted_rand_score(y, model.labels_) > 0.8
    np.testing.assert_allclose(
        model.predict_mass(with_holes(X, 0.1)).masses, masses(model), atol=1e-6
    )


@pytest.mark.long
def test_many_objects_start_on_a_sample():
    X, y = make_blobs(25_000, 3, centers=3, random_state=1)
    model = made(ECM, n_init=2).fit(with_holes(X, 0.1))
    assert adjusted_rand_score(y, model.labels_) > 0.85


def test_few_objects():
    nan = np.nan
    for X in ([[1.0, nan], [nan, 2.0]], [[1.0, nan], [1.0, nan], [5.0, 2.0]]):
        model = ECM(1, missing="partial", random_state=0).fit(X)
        np.testing.assert_allclose(masses(model).sum(axis=1), 1)
    model = ECM(2, missing="partial", random_state=0).fit(
        [[1.0, nan], [1.1, 2.0], [5.0, nan], [5.1, 8.0]]
    )
    assert model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3]
    # a constant column
    model = made(ECM).fit(np.column_stack([HOLES, np.full(90, 3.0)]))
    np.testing.assert_allclose(masses(model).sum(axis=1), 1)
