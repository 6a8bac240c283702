"""Invalid and unusual input of EVCLUS."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster import CredalPartition, FocalSets
from dempster.cluster import EVCLUS, CredalClustering
from dempster.constraints import Constraints
from dempster.dissimilarity.gower import predict_combinations

X = make_blobs(30, centers=3, random_state=0)[0]
D = pairwise_distances(X)


def changed(i, j, value):
    out = D.copy()
    out[i, j] = value
    return out


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (-D, "Negative values in data.*X"),
        (changed(2, 3, np.nan), "NaN"),
        (changed(2, 3, np.inf), "infinity"),
        (D[:, :5], r"square matrix.*precomputed.*\(30, 5\)"),
        (
            changed(0, 1, D[0, 1] + 2.5),
            r"X must be symmetric.*mean, \(X \+ X\.T\) / 2, or symmetrize=True",
        ),
        (changed(4, 4, 1.0), "zero diagonal.*up to 1"),
        (np.zeros((30, 30)), "all dissimilarities are zero"),
        (sparse.csr_matrix(-D), "Negative values in data"),
        (sparse.csr_matrix(D[:, :5]), r"square.*\(30, 5\)"),
        (sparse.block_diag([D, D]).tocsr(), "2 unconnected components"),
        (sparse.csr_matrix((30, 30)), "30 unconnected components"),
        (
            sparse.csr_matrix(changed(0, 1, 9.0)),
            r"X must be symmetric.*\(0, 1\).*symmetrize",
        ),
        (sparse.csr_matrix(D + np.eye(30)), "diagonal"),
    ],
)
def test_invalid_dissimilarities(data, words):
    with pytest.raises(ValueError, match=words):
        EVCLUS(metric="precomputed").fit(data)


def test_symmetrize():
    asymmetric = changed(0, 1, D[0, 1] + 1)
    mean = (asymmetric + asymmetric.T) / 2
    for make in (np.asarray, sparse.csr_matrix):
        keywords = {"metric": "precomputed", "n_init": 2, "random_state": 0}
        one = EVCLUS(3, symmetrize=True, **keywords).fit(make(asymmetric))
        other = EVCLUS(3, **keywords).fit(make(mean))
        np.testing.assert_array_equal(
            one.credal_partition_.masses, other.credal_partition_.masses
        )


@pytest.mark.parametrize("size", [1e-70, 1e70])
def test_dissimilarities_of_any_size(size):
    one, other = (
        EVCLUS(3, metric="precomputed", random_state=0).fit(scale * D)
        for scale in (1, size)
    )
    assert other.objective_ == pytest.approx(one.objective_, rel=1e-6)


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"d0": 0}, "d0 must be"),
        ({"d0": -1.0}, "d0 must be"),
        ({"d0": np.nan}, "d0 must be"),
        ({"d0_quantile": 0}, "d0_quantile must be"),
        ({"d0_quantile": 2}, "d0_quantile must be"),
        ({"n_clusters": 0}, "n_clusters must be"),
        ({"n_clusters": 31}, "n_samples=30 should be >= n_clusters=31"),
        ({"focal_sets": FocalSets.pairs(3)}, "focal_sets must"),
        ({"metric": "nonsense"}, "metric"),
        ({"metric": lambda a, b: -1.0}, "metric must"),
        ({"metric": lambda a, b: np.nan}, "metric must.*finite"),
        (
            {"sampling": "landmarks", "n_landmarks": 2, "n_clusters": 3},
            "n_landmarks must be at least n_clusters=3",
        ),
        ({"n_landmarks": 1.5}, "n_landmarks must be"),
        ({"n_partners": 0}, "n_partners must be"),
        ({"init": np.ones((30, 3)) / 3}, "init must"),
        (
            {"init": CredalPartition.from_hard([0, 1])},
            "init must be a partition of 30 objects into 2 clusters",
        ),
        (
            {"init": CredalPartition.from_hard([0, 1, 2] * 10)},
            "init must be a partition of 30 objects into 2",
        ),
        (
            {
                "init": CredalPartition(
                    np.tile([0, 0, 0, 1.0], (30, 1)), FocalSets.full(2)
                ),
                "focal_sets": FocalSets.simple(2, omega=False),
            },
            "init must have no mass",
        ),
        ({"xi": -1}, "xi must be"),
    ],
)
def test_invalid_parameters(keywords, words):
    with pytest.raises(ValueError, match=words):
        EVCLUS(**keywords).fit(X)


@pytest.mark.parametrize(
    ("constraints", "kind", "words"),
    [
        (Constraints(must_link=[(0, 30)]), ValueError, "30"),
        (
            Constraints(must_link=[(0, 1)], cannot_link=[(1, 0)]),
            ValueError,
            "contradict each other: 0 and 1",
        ),
        ([(0, 1)], TypeError, "constraints must be a Constraints, got"),
    ],
)
def test_invalid_constraints(constraints, kind, words):
    for xi in (0, 0.5):
        with pytest.raises(kind, match=words):
            EVCLUS(xi=xi).fit(X, constraints=constraints)


@pytest.mark.parametrize("n", [8, 13])
def test_different_objects_at_equal_dissimilarities(n):
    # Nothing separates any objects from the others: one cluster, as if the number were selected.
    D = np.ones((n, n)) - np.eye(n)
    two = EVCLUS(2, metric="precomputed", random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        two.fit(D)
    [warning] = caught  # A perfect fit has converged.
    assert "1 of 2 clusters contain no object" in str(warning.message)
    assert 0 <= two.objective_ < 1e-12
    auto = EVCLUS("auto", metric="precomputed", random_state=0).fit(D)
    for model in (two, auto):
        assert len(set(model.labels_)) == 1
        assert len(model.credal_partition_.ambiguous) == 0
        assert len(model.credal_partition_.outliers) == 0


def test_equal_objects():
    with pytest.raises(ValueError, match="more than the 1 different objects"):
        EVCLUS(2, d0=1.0).fit(np.ones((8, 2)))
    repeated = np.vstack([np.zeros((30, 2)), np.ones((1, 2))])
    with pytest.raises(ValueError, match="d0_quantile"):
        EVCLUS(2, metric="precomputed", d0_quantile=0.8).fit(
            pairwise_distances(repeated)
        )
    for data, metric in (
        (repeated, "euclidean"),
        (pairwise_distances(repeated), "precomputed"),
    ):
        found = (
            EVCLUS(2, metric=metric, focal_sets="full", d0_quantile=1.0, random_state=0)
            .fit(data)
            .credal_partition_
        )
        assert len(set(found.labels[:30])) == 1
        assert found[30].conflict(found[0])[0] == pytest.approx(0.95, abs=0.02)
        auto = EVCLUS(2, metric=metric, random_state=0).fit(data)
        assert auto.d0_ == pytest.approx(np.sqrt(2))
        assert len(set(auto.labels_[:30])) == 1


@pytest.mark.parametrize("n_clusters", [3, 5])
def test_as_many_clusters_as_values(n_clusters):
    X = np.random.default_rng(0).integers(0, n_clusters, (300, 1)).astype(float)
    for given in (n_clusters, "auto"):
        model = EVCLUS(given, random_state=0).fit(X)
        np.testing.assert_array_equal(model.labels_, X[:, 0])
        np.testing.assert_array_equal(model.predict(X[:9]), model.labels_[:9])


def test_few_objects():
    two = np.array([[0.0, 0.0], [1.0, 1.0]])
    for sampling in ("all", "random", "landmarks"):
        assert sorted(
            EVCLUS(2, sampling=sampling, random_state=0).fit_predict(two)
        ) == [0, 1]
    for n_clusters in (1, 2):
        with pytest.raises(ValueError, match="minimum of 2 is required"):
            EVCLUS(n_clusters).fit(two[:1])
    one = EVCLUS(1).fit(X)
    assert one.credal_partition_.masses.shape == (30, 2)
    assert set(one.labels_) == {0}
    with pytest.raises(ValueError, match="more than the 2 different objects"):
        EVCLUS(4, d0=1.0).fit(np.repeat(two, 10, axis=0))


def test_invalid_calls():
    with pytest.raises(NotFittedError):
        EVCLUS().predict(X)
    with pytest.raises(NotFittedError):
        EVCLUS().shepard()
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        EVCLUS().fit(sparse.csr_matrix(X))
    for sampling in ("all", "landmarks"):
        with pytest.raises(ValueError, match="sampling must be"):
            EVCLUS(metric="precomputed", sampling=sampling).fit(sparse.csr_matrix(D))
    model = EVCLUS(2).fit(X)
    with pytest.raises(ValueError, match="3 features.*expecting 2"):
        model.predict(np.ones((4, 3)))
    with pytest.raises(ValueError, match="NaN"):
        model.predict([[np.nan, 1]])
    given = EVCLUS(2, sampling="landmarks", metric="precomputed", n_landmarks=10).fit(D)
    with pytest.raises(ValueError, match=r"\bX\b"):
        given.predict(D[:, :7])
    with pytest.raises(ValueError, match="Negative"):
        given.predict(-D)
    with pytest.raises(ValueError, match="expecting 30 features"):
        given.predict(sparse.csr_matrix(D[:, :7]))
    with pytest.raises(ValueError, match="row 1 of X contains no dissimilarity"):
        given.predict(sparse.csr_matrix(np.vstack([D[0], np.zeros(30)])))


def test_cosine_of_rows_of_zeros():
    with pytest.raises(
        ValueError, match="rows of zeros if metric='cosine', got row 30"
    ):
        EVCLUS(2, metric="cosine").fit(np.vstack([X, np.zeros(2)]))
    model = EVCLUS(2, metric="cosine", n_init=1, random_state=0).fit(X)
    with pytest.raises(ValueError, match="got row 0"):
        model.predict(np.zeros((1, 2)))


def test_tags():
    plain, precomputed, gower = (
        EVCLUS(metric=metric).__sklearn_tags__().input_tags
        for metric in ("euclidean", "precomputed", "gower")
    )
    assert (plain.pairwise, plain.sparse, plain.allow_nan) == (False, False, False)
    assert (precomputed.pairwise, precomputed.sparse, precomputed.positive_only) == (
        True,
        True,
        True,
    )
    assert (gower.pairwise, gower.allow_nan, gower.categorical) == (False, True, True)


def many_columns(n_numbers, n_categories, seed):
    """Return a table of three clusters in numbers, and categories that are independent of them."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), 60)
    centers = 3 * rng.normal(size=(3, n_numbers))
    table = pd.DataFrame(centers[y] + rng.normal(size=(180, n_numbers)))
    table = table.rename(columns="number {}".format)
    for k, number in enumerate(n_categories):
        table[f"category {k}"] = rng.choice(list("abcdefgh")[:number], 180)
    return table.mask(rng.random(table.shape) < 0.03), y


@pytest.mark.parametrize("method", [EVCLUS, CredalClustering])
def test_categories_do_not_outweigh_numbers(method):
    table, y = many_columns(5, (3, 4), seed=1)
    for n_clusters in ("auto", 3):
        model = method(n_clusters, metric="gower", missing="partial", random_state=0)
        assert adjusted_rand_score(y, model.fit(table).labels_) > 0.9


def mixed_table(n_categories, seed=63):
    """Return a table of three clusters in two numbers, and a category that is independent of them."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), 60)
    numbers = np.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])[y]
    table = pd.DataFrame(numbers + rng.normal(size=(180, 2)), columns=["age", "income"])
    table["region"] = rng.choice(list("abcdefgh")[:n_categories], 180)
    return table


@pytest.mark.parametrize("method", [EVCLUS, CredalClustering])
def test_warning_if_categories_determine_the_number_of_clusters(method):
    table = mixed_table(2)
    table.loc[::18, "region"] = None
    model = method("auto", metric="gower", missing="partial", random_state=0)
    with pytest.warns(UserWarning, match="clusters have the same categories"):
        model.fit(table)
    assert model.n_clusters_ > 3


def test_a_selected_number_leaves_no_cluster_empty():
    table = mixed_table(4)
    model = EVCLUS("auto", metric="gower", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(table)
    assert model.n_clusters_ < model.number_.best
    assert len(set(model.labels_)) == model.n_clusters_
    said = f"{model.number_.best}; .*EVCLUS used {model.n_clusters_} of them"
    assert re.match(said, model.credal_partition_.metadata["choices"]["n_clusters"])


def test_no_warning_if_the_number_is_given_or_categories_do_not_decide():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        EVCLUS(3, metric="gower", random_state=0).fit(mixed_table(8))
        table = mixed_table(1)
        table.loc[0, "region"] = "b"
        EVCLUS("auto", metric="gower", random_state=0).fit(table)


def test_prediction_of_combinations():
    codes = np.array([[0, 0], [0, 1], [0, 1], [1, 0], [1, 0], [-1, 0]], np.int32)
    assert predict_combinations(codes, np.zeros(6, int)) == 0
    assert predict_combinations(codes, np.array([0, 1, 1, 2, 2, 0])) == 1
    assert predict_combinations(codes, np.array([0, 0, 0, 1, 1, 0])) == 2 / 3
    assert predict_combinations(np.zeros((6, 1), np.int32), np.arange(6)) == 0
