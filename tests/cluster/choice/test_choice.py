"""The law of choice: trees, measures, the judge, and the decision."""

from importlib.resources import files
from io import BytesIO

import numpy as np
import pytest
from scipy.sparse.csgraph import minimum_spanning_tree as scipy_tree
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score

from dempster.cluster.choice.candidates import Candidate, rand_index
from dempster.cluster.choice.decision import choose
from dempster.cluster.choice.judge import Judge, Trees, load_judge
from dempster.cluster.choice.measures import NAMES, OF_PARTITION, measure_candidates
from dempster.cluster.choice.rows import Rows
from dempster.cluster.choice.trees import genie, minimum_spanning_tree
from dempster.dissimilarity.sources import AttributeSource
from dempster.optimize.blocks import block_map

CENTERS = np.array([[0.0, 0], [7, 0], [0, 7]])


def blobs(n=120, seed=0):
    return make_blobs(n, centers=CENTERS, random_state=seed)


def draw(X, weights=None):
    source = AttributeSource(np.ascontiguousarray(X, float), "euclidean")
    return Rows.draw(source, weights, 1000, np.random.RandomState(0))


def measures_of(rows, *partitions, families=("k-means", "genie", "ward")):
    candidates = [
        Candidate(family, labels)
        for family, labels in zip(families, partitions, strict=False)
    ]
    with block_map(1) as apply:
        return measure_candidates(rows, candidates, apply)


def choice_of(X, **options):
    source = AttributeSource(np.ascontiguousarray(X, float), "euclidean")
    with block_map(1) as apply:
        return choose(source, None, np.random.RandomState(0), apply, **options)


def partitions_by_place(rows, X):
    """Return two partitions of the drawn rows, which depend only on their places."""
    drawn = X[rows.which]
    nearest = cdist(drawn, CENTERS).argmin(axis=1)
    return nearest, (nearest > 0).astype(int)


# ---- trees ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 50])
def test_minimum_spanning_tree_of_scipy(n):
    D = cdist(*[np.random.default_rng(n).normal(size=(n, 3))] * 2)
    edges = minimum_spanning_tree(D)
    lengths = D[tuple(edges.T)]
    assert (np.diff(lengths) >= 0).all()
    expected = scipy_tree(D)
    np.testing.assert_allclose(lengths, np.sort(expected.data))
    found = {tuple(sorted(edge)) for edge in edges.tolist()}
    assert found == {tuple(sorted(edge)) for edge in np.argwhere(expected.toarray())}


def is_unequal(sizes):
    """Return whether the normalized Gini index exceeds 0.3, with the rounding of `genie`."""
    pairs = sum(abs(a - b) for i, a in enumerate(sizes) for b in sizes[:i])
    return pairs > 0.3 * (len(sizes) - 1) * sum(sizes)


def naive_genie(edges, n_clusters):
    clusters = [{i} for i in range(len(edges) + 1)]
    edges = [tuple(edge) for edge in edges.tolist()]

    def cluster_of(row):
        return next(one for one in clusters if row in one)

    while len(clusters) > n_clusters:
        sizes = [len(one) for one in clusters]
        place = 0
        if is_unequal(sizes):
            place = next(
                i
                for i, edge in enumerate(edges)
                if min(len(cluster_of(row)) for row in edge) == min(sizes)
            )
        first, second = map(cluster_of, edges.pop(place))
        clusters.remove(first)
        clusters.remove(second)
        clusters.append(first | second)
    labels = np.empty(sum(map(len, clusters)), int)
    for k, one in enumerate(clusters):
        labels[list(one)] = k
    return labels


@pytest.mark.parametrize("seed", range(3))
def test_genie_against_a_naive_implementation(seed):
    X = np.random.default_rng(seed).exponential(size=(40, 2)) ** 2
    edges = minimum_spanning_tree(cdist(X, X))
    numbers = [2, 3, 5, 9, 20]
    partitions = genie(edges, numbers)
    # Partitions are in decreasing order of the numbers.
    for k, labels in zip(reversed(numbers), partitions, strict=True):
        assert len(np.unique(labels)) == k
        assert adjusted_rand_score(naive_genie(edges, k), labels) == 1


# ---- measures ------------------------------------------------------------------------------------


def test_rand_index_of_scikit_learn():
    rng = np.random.default_rng(0)
    for k in (1, 2, 5, 30):
        first, second = rng.integers(0, k, (2, 60))
        expected = adjusted_rand_score(first, second)
        assert rand_index(first, second) == pytest.approx(expected)
    assert rand_index(np.array([0]), np.array([0])) == 1


@pytest.mark.parametrize("seed", range(3))
def test_silhouette_of_scikit_learn(seed):
    X, _ = blobs(seed=seed)
    rows = draw(X)
    place = OF_PARTITION.index("silhouette")
    partitions = partitions_by_place(rows, X)
    found = measures_of(rows, *partitions)[:, place]
    expected = [silhouette_score(X[rows.which], labels) for labels in partitions]
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize(
    "change",
    ["units", "order", "repetition", "weights"],
)
def test_measures_are_invariant(change):
    X, _ = blobs()
    rows = draw(X)
    expected = measures_of(rows, *partitions_by_place(rows, X))
    weights = None
    factor = 1.0
    if change == "units":
        factor = 1024.0  # the same digits
    elif change == "order":
        X = X[np.random.default_rng(0).permutation(len(X))]
    elif change == "repetition":
        X = np.vstack([X, X])
    else:
        weights = np.full(len(X), 1000.0)
    rows = draw(factor * X, weights)
    found = measures_of(rows, *partitions_by_place(rows, X))
    np.testing.assert_allclose(found, expected, atol=1e-8)


def test_measures_do_not_depend_on_the_families():
    X, _ = blobs()
    rows = draw(X)
    partitions = partitions_by_place(rows, X)
    one = measures_of(rows, *partitions)
    other = measures_of(rows, *partitions, families=("tree", "average"))
    np.testing.assert_array_equal(one, other)
    assert one.shape == (2, len(NAMES))


# ---- judge ---------------------------------------------------------------------------------------


def test_file_of_the_judge():
    content = files("dempster.cluster.choice").joinpath("judge.npz").read_bytes()
    assert len(content) <= 300_000
    with np.load(BytesIO(content), allow_pickle=False) as arrays:
        judge = Judge.from_arrays(dict(arrays))
        assert set(judge.arrays) == set(arrays)
    for trees in (judge.agreement, judge.right_number):
        assert trees.measure.max() < len(NAMES)
        inside = trees.measure >= 0
        assert (trees.child[inside] + 1 < len(trees.measure)).all()
    assert (np.diff(judge.knots) > 0).all()
    assert (np.diff(judge.means) >= 0).all()
    assert (np.diff(judge.lows) >= 0).all()
    assert (judge.lows <= judge.means).all()


def naive_prediction(trees, row):
    total = trees.base
    for node in trees.roots.tolist():
        while trees.measure[node] >= 0:
            is_larger = row[trees.measure[node]] > trees.threshold[node]
            node = int(trees.child[node]) + int(is_larger)
        total += float(trees.threshold[node])
    return total


def test_sum_of_trees():
    tree = Trees(
        1.0,
        np.array([0]),
        np.array([1, -1, -1]),
        np.array([0.5, 10.0, 20.0]),
        np.array([1, 0, 0]),
    )
    assert tree.predict(np.array([[9.0, 0.5], [0, 0.6]])).tolist() == [11, 21]
    measures = np.random.default_rng(0).normal(size=(20, len(NAMES)))
    for trees in (load_judge().agreement, load_judge().right_number):
        expected = [naive_prediction(trees, row) for row in measures]
        np.testing.assert_allclose(trees.predict(measures), expected, atol=1e-4)


def test_random_labels_and_the_truth():
    X, y = blobs(240)
    rows = draw(X)
    truth = y[rows.which]
    random = np.random.default_rng(0).permutation(truth)
    measures = measures_of(rows, truth, random)
    judge = load_judge()
    good, bad = judge.expect(judge.agreement.predict(measures))
    assert good > 0.8
    assert bad < 0.1


# ---- decision ------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["repetition", "weights", "order", "units"])
def test_choice_is_invariant(change):
    X, _ = blobs()
    expected = choice_of(X)
    weights = np.full(len(X), 1e3) if change == "weights" else None
    if change == "repetition":
        X = np.vstack([X, X])
    elif change == "order":
        X = X[::-1]
    elif change == "units":
        X = 1024 * X
    source = AttributeSource(np.ascontiguousarray(X), "euclidean")
    with block_map(1) as apply:
        found = choose(source, weights, np.random.RandomState(0), apply)
    assert found.best.n_clusters == expected.best.n_clusters == 3
    np.testing.assert_allclose(
        found.number.expected_agreement, expected.number.expected_agreement, atol=1e-6
    )


@pytest.mark.parametrize("kind", ["standard_normal", "uniform", "standard_t"])
def test_noise_is_one_cluster(kind):
    rng = np.random.default_rng(1)
    options = {"df": 4} if kind == "standard_t" else {}
    number = choice_of(getattr(rng, kind)(size=(200, 3), **options)).number
    assert number.best == 1
    assert number.next_best is not None
    assert f"the best number above one is {number.next_best}" in number.reasons()


@pytest.mark.parametrize("c", [2, 4])
def test_clear_clusters_are_not_one(c):
    centers = 12 * np.eye(c, 4)
    X, y = make_blobs(50 * c, centers=centers, random_state=0)
    choice = choice_of(X)
    assert choice.best.n_clusters == c
    assert adjusted_rand_score(y[choice.rows.which], choice.best.labels) > 0.99


@pytest.mark.parametrize(
    ("points", "n_repetitions", "best"),
    [(1, 8, 1), (2, 1, 1), (3, 20, 3), (5, 3, 5), (5, 2, 1)],
)
def test_few_distinct_rows(points, n_repetitions, best):
    """Test the constants _MAX_REPEATED and _MIN_REPETITIONS."""
    X = np.random.default_rng(0).normal(size=(points, 2))
    choice = choice_of(np.repeat(X, n_repetitions, axis=0))
    assert choice.best.n_clusters == best
    assert choice.expected.shape == (len(choice.candidates),)
