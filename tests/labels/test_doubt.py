"""Doubt about labels of other programs."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import DBSCAN, HDBSCAN, KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score

from dempster import CredalPartition, FocalSets, doubt
from dempster._errors import InvalidParameterError
from dempster.cluster import ECM, EGMM
from dempster.explain import explain_object
from dempster.labels.labeled_partition import _draw_weights
from dempster.labels.runs import align_run, pool_runs, select_reference
from dempster.persistence import load, save
from dempster.posterior.model import MAX_ROWS


def groups(seed, n=80, apart=4.0):
    """Return three normal groups, of which the first two are ``apart``, and their numbers."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), n)
    centers = np.array([[0, 0], [apart, 0], [0, 12]])
    return centers[y] + rng.normal(size=(3 * n, 2)), y


@pytest.fixture(scope="module")
def case():
    return groups(41)


# ---- labels --------------------------------------------------------------------------------------


def test_names_are_sorted_and_kept(case):
    X, y = case
    names = np.array(["oak", "elm", "ash"])
    partition = doubt(X, names[y], random_state=0)
    assert partition.frame == ("ash", "elm", "oak")
    assert np.mean(np.array(partition.frame)[partition.labels] == names[y]) > 0.95
    for name in names:
        assert name in str(partition.summary())


@pytest.mark.parametrize("missing", [-1, None, np.nan, "-1"])
def test_noise_is_decided_by_the_data(case, missing):
    X, y = case
    X = np.vstack([X, [[0.3, 0.1], [2, 0], [60, -40]]])
    labels = [["left", "right", "top"][k] for k in y] + [missing] * 3
    partition = doubt(X, labels, random_state=0)
    assert partition.frame == ("left", "right", "top")
    certain, between, far = partition[-3:].best_set
    family = list(partition.focal_sets)
    assert family[certain] == (0,)
    assert family[between] == (0, 1)
    assert family[far] == ()


def test_integers_with_missing_values_stay_integers(case):
    X, y = case
    labels = y + 4.0
    labels[7] = np.nan
    assert doubt(X, labels, random_state=0).frame == (4, 5, 6)


def test_wrong_labels_have_more_doubt(case):
    X, y = case
    rng = np.random.default_rng(8)
    labels = y.copy()
    wrong = rng.choice(len(y), 20, replace=False)
    labels[wrong] = (labels[wrong] + 1) % 3
    P = doubt(X, labels, random_state=0).pignistic()
    is_wrong = np.isin(np.arange(len(y)), wrong)
    assert roc_auc_score(is_wrong, 1 - P[np.arange(len(y)), labels]) > 0.95


def test_one_cluster_and_singletons(case):
    X, y = case
    one = doubt(X, np.full(len(X), "all"), random_state=0)
    assert one.frame == ("all",)
    assert len(one.ambiguous) == 0
    labels = y.copy()
    labels[5] = 9
    partition = doubt(X, labels, random_state=0)
    assert partition.frame == (0, 1, 2, 9)
    others = np.arange(len(y)) != 5
    assert np.mean(partition.labels[others] == y[others]) > 0.95
    every = doubt(X[:30], np.arange(30), random_state=0)
    assert every.n_clusters == 30


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({}, "exactly one of labels, runs and clusterer, got none"),
        ({"labels": [0], "runs": [[0]]}, "got labels and runs"),
        ({"labels": [0, 1]}, "labels must contain one label for each of the 240 rows"),
        ({"labels": np.full(240, -1)}, "labels must assign at least one object"),
        ({"labels": [None] * 240}, "labels must assign at least one object"),
        ({"labels": np.zeros((240, 2))}, "labels must be one label for each object"),
        ({"runs": []}, "runs must contain at least one labeling"),
        (
            {"runs": [np.zeros(240), [1, 2]]},
            "runs must contain one label for each of the 240",
        ),
        ({"clusterer": "kmeans"}, "clusterer must be an estimator"),
    ],
)
def test_errors_name_the_argument(case, arguments, text):
    with pytest.raises(InvalidParameterError, match=text):
        doubt(case[0], **arguments)


def test_too_many_clusters_are_refused():
    labels = np.arange(2500)
    with pytest.raises(InvalidParameterError, match="fewer than 2,000 clusters"):
        doubt(np.zeros((2500, 1)), labels)


# ---- X -------------------------------------------------------------------------------------------


def test_tables_keep_their_index(case):
    X, y = case
    names = [f"tree {i}" for i in range(len(X))]
    table = pd.DataFrame(X, index=names, columns=["height", "width"])
    labels = pd.Series(y, index=names).sample(frac=1, random_state=3)
    partition = doubt(table, labels, random_state=0)
    assert list(partition.index) == names
    expected = doubt(X, y, random_state=0)
    np.testing.assert_array_equal(partition.masses, expected.masses)
    new = partition.predict_mass(table[:4] + 0.1)
    assert list(new.index) == names[:4]


def test_dissimilarities(case):
    X, y = case
    D = cdist(X, X)
    partition = doubt(D, y, metric="precomputed", random_state=0)
    assert np.mean(partition.labels == y) > 0.95
    again = partition.predict_mass(D[:20])
    np.testing.assert_allclose(again.masses, partition.masses[:20], atol=1e-12)


def test_new_objects(case, tmp_path):
    X, y = case
    partition = doubt(X, y, random_state=0)
    again = partition.predict_mass(X[::9])
    np.testing.assert_allclose(again.masses, partition.masses[::9], atol=1e-12)
    new, between = np.array([[0.2, 12.1]]), np.array([[2.0, 0.0]])
    assert partition.predict_mass(new).labels.tolist() == [2]
    assert partition.predict_mass(between).ambiguous.tolist() == [0]
    save(partition, tmp_path / "p.dempster")
    part = partition[10:20]
    for other in (load(tmp_path / "p.dempster"), pickle.loads(pickle.dumps(part))):
        assert isinstance(other, CredalPartition)
        np.testing.assert_array_equal(
            other.predict_mass(between).masses, partition.predict_mass(between).masses
        )
    with pytest.raises(InvalidParameterError, match="features"):
        partition.predict_mass(np.zeros((1, 5)))


def test_explanation(case):
    X, y = case
    partition = doubt(X, np.array(["a", "b", "c"])[y], random_state=0)
    assert "in a" in str(explain_object(partition, X, 3))


def test_small_clusters_remain_in_a_draw():
    """With more objects than are drawn, each cluster keeps objects, and its total weight."""
    rng = np.random.RandomState(12)
    codes = rng.permutation(np.repeat([-1, 0, 1, 2], [500, 20_000, 30, 1]))
    weights = _draw_weights(codes, rng)
    drawn = weights > 0
    assert drawn.sum() <= MAX_ROWS
    assert np.bincount(codes[drawn] + 1)[2:].tolist() == [30, 1]
    total = np.bincount(codes + 1, weights)
    shares = np.bincount(codes + 1) / len(codes)
    np.testing.assert_allclose(total / total.sum(), shares)
    assert np.isclose(weights[drawn].mean(), 1)
    assert _draw_weights(codes[:MAX_ROWS], rng) is None


def test_small_cluster_of_many_objects():
    rng = np.random.default_rng(6)
    y = np.repeat([0, 1], [12_000, 25])
    X = rng.normal(size=(len(y), 2)) + 15 * y[:, None]
    partition = doubt(X, y, random_state=0)
    np.testing.assert_array_equal(partition.labels, y)


def test_result_does_not_depend_on_threads(case):
    X, y = case
    first = doubt(X, y, random_state=5, n_jobs=1).masses
    np.testing.assert_array_equal(first, doubt(X, y, random_state=5, n_jobs=2).masses)


# ---- runs and clusterers -------------------------------------------------------------------------


def test_runs_are_aligned(case):
    X, y = case
    rng = np.random.default_rng(2)
    runs = [rng.permutation(3)[y] for _ in range(4)]
    partition = doubt(X, runs=runs, random_state=0)
    labels = doubt(X, y, random_state=0)
    order = [partition.labels[y == k][0] for k in range(3)]
    assert np.mean(partition.labels == np.array(order)[y]) > 0.95
    # The same memberships give the same masses, up to the order of the clusters.
    np.testing.assert_allclose(
        partition.pignistic()[:, order], labels.pignistic(), atol=1e-3
    )


def test_reference_has_the_most_frequent_number():
    right = np.repeat([0, 1, 2], 20)
    swapped = np.where(np.arange(60) % 7, right, (right + 1) % 3)
    merged = np.minimum(right, 1)
    assert select_reference([swapped, merged, right, right]) == 2


def test_divided_and_merged_clusters_do_not_contradict():
    reference = np.repeat([0, 1, 2], [6, 5, 5])
    divided = np.array([0] * 4 + [3] * 2 + [1] * 5 + [2] * 5)
    np.testing.assert_array_equal(align_run(divided, reference), reference)
    merged = np.array([1] * 6 + [0] * 10)
    np.testing.assert_array_equal(align_run(merged, reference), reference)
    # An object of the first cluster that the run puts into the merged one is a vote against it.
    merged[0] = 0
    votes = align_run(merged, reference)
    assert votes[0] in (1, 2)
    np.testing.assert_array_equal(votes[1:], reference[1:])


def test_noise_does_not_vote():
    reference = np.array([0, 0, 1, 1, -1])
    other = np.array([1, -1, 0, 1, -1])
    memberships = pool_runs([reference, other], reference)
    expected = [[1, 0], [1, 0], [0, 1], [0.5, 0.5], [0, 0]]
    np.testing.assert_allclose(memberships, expected)


def test_objects_on_which_runs_disagree_are_less_certain():
    rng = np.random.default_rng(31)
    X = rng.uniform(-1, 1, size=(400, 2))  # no clusters: the cuts are arbitrary
    runs = [(X[:, 0] > cut).astype(int) for cut in (-0.4, 0.0, 0.4)]
    P = doubt(X, runs=runs, random_state=0).pignistic().max(axis=1)
    disagree = np.abs(X[:, 0]) < 0.4
    assert P[disagree].mean() < P[~disagree].mean() - 0.1


def test_clusterer_is_copied_and_fitted(case):
    X, _ = case
    clusterer = KMeans(3, n_init=3, random_state=0)
    partition = doubt(X, clusterer=clusterer, random_state=0)
    assert not hasattr(clusterer, "labels_")
    labels = clusterer.fit_predict(X)
    np.testing.assert_array_equal(
        partition.masses, doubt(X, labels, random_state=0).masses
    )
    noisy = doubt(X, clusterer=HDBSCAN(min_cluster_size=10, copy=True), random_state=0)
    assert len(noisy) == len(X)
    with pytest.raises(InvalidParameterError, match="clusterer must assign at least"):
        doubt(X, clusterer=DBSCAN(eps=1e-3))
    with pytest.raises(InvalidParameterError, match="labels_ after fit, but PCA"):
        doubt(X, clusterer=PCA())


# ---- clusters of a partition ---------------------------------------------------------------------


@pytest.mark.parametrize("d", [2, 50])
def test_with_doubt_gives_any_partition_the_same_meaning(d):
    """ECM and EGMM call hardly any of these objects ambiguous in 50 dimensions."""
    rng = np.random.default_rng(d)
    X = rng.normal(size=(600, d))
    X[:300, 0] += 3
    overlap = np.abs(X[:, 0] - 1.5) < np.log(9) / 3
    for method in (ECM, EGMM):
        before = method(2, random_state=0).fit(X).credal_partition_
        partition = before.with_doubt(X, random_state=0)
        is_ambiguous = np.isin(np.arange(600), partition.ambiguous)
        assert 0.14 < is_ambiguous.mean() < 0.27  # true share .21
        assert is_ambiguous[overlap].mean() > 0.5
        assert is_ambiguous[~overlap].mean() < 0.15


def test_with_doubt_keeps_names_of_clusters_and_objects(case):
    X, y = case
    rows = pd.DataFrame(X).set_axis([f"row {i}" for i in range(len(X))])
    before = CredalPartition.from_hard(y).name_clusters({0: "low", 1: "mid", 2: "top"})
    partition = before.with_doubt(rows, random_state=0)
    assert partition.frame == ("low", "mid", "top")
    assert list(partition.index) == list(rows.index)
    plain = doubt(X, y, random_state=0)
    np.testing.assert_array_equal(partition.masses, plain.masses)
    turned = partition.with_doubt(rows[::-1], random_state=0)
    assert list(turned.index) == list(rows.index[::-1])
    assert np.mean(turned.labels[::-1] == partition.labels) > 0.99


def test_with_doubt_decides_again_about_outliers(case):
    X, y = case
    X = np.vstack([X, [[0.3, 0.1], [60, -40]]])
    masses = np.vstack([np.eye(4)[1 + y], [[1, 0, 0, 0], [1, 0, 0, 0]]])
    before = CredalPartition(masses, FocalSets.simple(3, omega=False))
    partition = before.with_doubt(X, random_state=0)
    assert partition.outliers.tolist() == [len(X) - 1]
    assert partition.labels[-2] == 0


def test_with_doubt_refuses_other_objects(case):
    X, y = case
    partition = CredalPartition.from_hard(y)
    with pytest.raises(InvalidParameterError, match="240 objects .* got 10"):
        partition.with_doubt(X[:10])
    with pytest.raises(InvalidParameterError, match="not in blocks"):
        partition.with_doubt(lambda: iter([X]))
    empty = CredalPartition([[1, 0]] * 5, FocalSets.simple(1, omega=False))
    with pytest.raises(InvalidParameterError, match="not outliers"):
        empty.with_doubt(X[:5])
