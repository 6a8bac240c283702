"""Outcomes that depend on the constants of the choice, on generated data.

Each test names the constants on which it depends. It fails if one of them is much smaller or larger.
"""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from dempster.cluster.choice.candidates import Candidate, make_candidates
from dempster.cluster.choice.decision import choose, defer_separation
from dempster.cluster.choice.measures import NAMES, measure_candidates
from dempster.cluster.choice.rows import Rows
from dempster.cluster.choice.trees import genie
from dempster.dissimilarity.sources import AttributeSource
from dempster.optimize.blocks import block_map


def source_of(X):
    return AttributeSource(np.ascontiguousarray(X, float), "euclidean")


def draw(X):
    return Rows.draw(source_of(X), None, 1000, np.random.RandomState(0), scale=False)


def choice_of(X):
    with block_map(1) as apply:
        return choose(source_of(X), None, np.random.RandomState(0), apply, scale=False)


def clusters(seed, sizes, centers, spreads=1.0):
    """Draw normal clusters; ``spreads`` are standard deviations of the clusters and columns."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    centers = np.array(centers, float)
    spreads = np.broadcast_to(spreads, centers.shape)
    noise = np.random.default_rng(seed).normal(size=(len(y), centers.shape[1]))
    return centers[y] + spreads[y] * noise, y


def grid(seed, n_clusters, size, gap=9, spread=1.0):
    """Draw clusters of equal sizes whose centers are a square grid."""
    places = np.arange(n_clusters)
    side = int(np.ceil(np.sqrt(n_clusters)))
    centers = gap * np.column_stack([places % side, places // side])
    return clusters(seed, [size] * n_clusters, centers, spread)


# ---- isolated rows -------------------------------------------------------------------------------

LATTICE = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), -1).reshape(-1, 2)
DENSITIES = [[0.01, 0.01], [1, 1]]


def with_rows(X, *rows):
    return np.vstack([X, *rows])


@pytest.mark.parametrize(
    ("X", "n_left_out"),
    [
        # rows._CORE_NEIGHBOR: four far rows are isolated, and seven are a cluster.
        (clusters(1, [200, 4], [[0, 0], [1000, 0]], [[1, 1], [0.1, 0.1]])[0], 4),
        (clusters(1, [200, 7], [[0, 0], [1000, 0]], [[1, 1], [0.1, 0.1]])[0], 0),
        # rows._FENCE: far from the nearest rows, but not compared with the clusters
        (with_rows(clusters(2, [150, 150], [[0, 0], [1000, 0]])[0], [60, 0]), 1),
        (with_rows(clusters(2, [150, 150], [[0, 0], [1000, 0]])[0], [8, 0]), 0),
        # rows._LARGE_DISTANCE: far from clusters whose densities are very different
        (
            with_rows(clusters(3, [100, 100], [[0, 0], [0, 0]], DENSITIES)[0], [20, 0]),
            1,
        ),
        # rows._MAX_ISOLATED: one row in fifteen is far.
        (clusters(5, [100, 100, 14], np.zeros((3, 2)), [*DENSITIES, [25, 25]])[0], 14),
        # rows._MIN_RANGE: distances in a lattice hardly vary; its corners are not isolated.
        (LATTICE, 0),
        (with_rows(LATTICE, [16, 5]), 1),
        # rows._MIN_ROWS
        (with_rows(clusters(6, [9], [[0, 0]])[0], [500, 0]), 0),
        (with_rows(clusters(6, [13], [[0, 0]])[0], [500, 0]), 1),
    ],
)
def test_rows_that_are_left_out(X, n_left_out):
    assert len(X) - len(draw(X)) == n_left_out


# ---- measures ------------------------------------------------------------------------------------

FAR = [[0, 0], [20, 0]]


@pytest.mark.parametrize(
    ("measure", "data", "least", "most"),
    [
        # rows._N_NEAR: the nearest row of another cluster is not among the nearest hundred.
        ("separation_median", clusters(11, [130, 130], FAR), 2.5, 4),
        # measures._MAX_LOG: very large separations are equal.
        ("separation_median", clusters(11, [130, 130], [[0, 0], [1e5, 0]]), 2.5, 4),
        # rows._N_PARTS: the prominences of 35 clusters are known.
        ("cut_min", grid(12, 35, 12, gap=20), 1, 6),
        # measures.N_NEIGHBORS: a cluster needs more than ten rows to have only own neighbors.
        ("neighbors_min", clusters(13, [8, 100], [[10, 0], [0, 0]]), 0.6, 0.8),
        # measures._N_ADJACENT: each cluster overlaps with the second nearest.
        (
            "valley_min",
            clusters(14, [80] * 4, [[0, 0], [0, 4], [11, 0], [11, 4]], [5, 0.4]),
            0,
            0.3,
        ),
    ],
)
def test_measures(measure, data, least, most):
    X, y = data
    rows = draw(X)
    with block_map(1) as apply:
        found = measure_candidates(rows, [Candidate("ward", y[rows.which])], apply)
    assert least <= found[0, NAMES.index(measure)] <= most


@pytest.mark.parametrize("seed", range(15, 18))
def test_silhouette_of_many_rows(seed):
    """Test rows._MAX_SILHOUETTES: a sample of the rows has nearly the silhouette of all."""
    X, y = clusters(seed, [600, 600], [[0, 0], [3, 0]])
    with block_map(1) as apply:
        few, many = (
            measure_candidates(rows, [Candidate("ward", y[rows.which])], apply)
            for rows in (
                Rows.draw(source_of(X), None, size, np.random.RandomState(0))
                for size in (900, 1200)
            )
        )
    assert few[0, 0] == pytest.approx(many[0, 0], abs=0.015)


# ---- candidates ----------------------------------------------------------------------------------


def best_agreement(X, y):
    """Return the agreement of the best mixture; NaN if other candidates are the same."""
    rows = draw(X)
    with block_map(1) as apply:
        candidates = make_candidates(rows, [int(y.max()) + 1], 0, apply)
    agreement = (
        adjusted_rand_score(y[rows.which], one.labels)
        for one in candidates
        if one.family in ("tied", "t")
    )
    return max(agreement, default=np.nan)


def with_tails(seed):
    """Draw elongated clusters with heavy tails."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], 150)
    Z = rng.normal(size=(300, 2)) / np.sqrt(rng.chisquare(2.5, (300, 1)) / 2.5)
    return Z * [4, 0.6] + np.column_stack([np.zeros(300), 3 * y]), y


def different(seed):
    """Draw a long and a round cluster, whose mixture is estimated slowly."""
    return clusters(seed, [220, 60], [[0, 0], [3.2, 0]], [[1, 4], [0.6, 0.6]])


def touching(seed):
    centers = [[0, 0], [4, 2], [-3, 2.5]]
    spreads = [[3, 0.5], [0.5, 2], [0.4, 0.4]]
    return clusters(seed, [200, 60, 60], centers, spreads)


def correlated(seed):
    """Draw five clusters in ten dimensions that are long in the same direction."""
    X, y = clusters(seed, [40] * 5, 6 * np.eye(5, 10))
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=10)
    direction /= np.linalg.norm(direction)
    return X + 6 * rng.normal(size=(len(X), 1)) * direction, y


@pytest.mark.parametrize(
    ("generate", "seeds", "least"),
    [
        (with_tails, range(20, 22), 0.6),  # candidates._FREEDOM and _N_FIRST
        (different, range(20, 25), 0.9),  # candidates._N_ITER
        (touching, range(20, 25), 0.8),  # candidates._REGULARIZATION
        (correlated, range(20, 25), 0.95),  # rows._MAX_COORDINATES
    ],
)
def test_candidates(generate, seeds, least):
    agreement = [best_agreement(*generate(seed)) for seed in seeds]
    assert np.nanmedian(agreement) > least


@pytest.mark.parametrize(
    ("sizes", "gap"),
    [([160, 40], 9), ([100, 100], 4.5)],
    ids=["unequal sizes", "touching"],
)
def test_unequal_and_touching_clusters_of_genie(sizes, gap):
    """Test trees._MAX_GINI."""
    agreement = []
    for seed in range(30, 35):
        X, y = clusters(seed, sizes, [[0, 0], [gap, 0]])
        rows = draw(X)
        [labels] = genie(rows.spanning_tree, [2])
        agreement.append(adjusted_rand_score(y[rows.which], labels))
    assert np.median(agreement) > 0.8


# ---- choice --------------------------------------------------------------------------------------


def small(seed):
    return grid(seed, 7, 6, gap=12, spread=0.4)


def of_four(seed):
    spreads = [[1, 1], [1, 1], [0.4, 0.4]]
    return clusters(seed, [80, 80, 4], [[0, 0], [12, 0], [6, 12]], spreads)


def long(seed):
    return clusters(seed, [120, 120], [[0, 0], [0, 2]], [3, 0.3])


def wide(seed):
    return clusters(seed, [12] * 4, 6 * np.eye(4, 30))


def many(seed):
    return grid(seed, 33, 10)


@pytest.mark.parametrize(
    ("generate", "seeds", "least"),
    [
        (small, range(40, 45), 0.8),  # candidates._MIN_ROWS
        (of_four, [46], 0.97),  # candidates._MIN_SIZE
        (long, range(43, 46), 0.9),  # rows._EXPLAINED
        (many, [50], 0.9),  # decision.ROUNDS: largest number
    ],
)
def test_choice(generate, seeds, least):
    agreement = []
    for seed in seeds:
        X, y = generate(seed)
        choice = choice_of(X)
        found = choice.best.labels
        agreement.append(adjusted_rand_score(y[choice.rows.which], found))
    assert np.median(agreement) > least


def test_few_rows_with_many_columns():
    """Test rows._ROWS_PER_COORDINATE."""
    numbers = [choice_of(wide(seed)[0]).number.best for seed in range(52, 58)]
    assert numbers == [4] * 6


def test_three_rows_are_no_cluster():
    """Test candidates._MIN_SIZE."""
    X, _ = of_four(58)
    assert choice_of(X[:-1]).number.best == 2


def test_more_rows_for_many_clusters():
    """Test decision._MIN_ROWS_PER_CLUSTER, and the second of ROUNDS."""
    X, y = grid(59, 42, 25)
    choice = choice_of(X)
    assert adjusted_rand_score(y[choice.rows.which], choice.best.labels) > 0.97


@pytest.mark.long
@pytest.mark.parametrize("seed", range(62, 64))
def test_many_overlapping_clusters_are_not_one(seed):
    """A thousand rows show one cluster; more rows show many."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(120, 10))
    gaps = np.linalg.norm(centers[:, None] - centers, axis=2)
    np.fill_diagonal(gaps, np.inf)
    centers *= 4 / np.median(gaps.min(axis=1))
    X, _ = clusters(seed, [80] * 120, centers)
    assert 80 <= choice_of(X).number.best <= 180


def test_cluster_of_one_percent():
    """Test the number of rows in the first of decision.ROUNDS, and _MIN_ROWS_PER_CLUSTER."""
    X, y = clusters(51, [1488, 1488, 24], [[0, 0], [9, 0], [4.5, 11]])
    choice = choice_of(X)
    assert adjusted_rand_score(y[choice.rows.which], choice.best.labels) > 0.995
    assert choice.number.n_objects <= 1000


def test_some_rows_show_separation():
    """Test decision.SOME_ROWS."""
    X, _ = clusters(61, [1900, 100], [[0, 0], [8, 0]])
    assert defer_separation(source_of(X), None).value


# ---- reported numbers ----------------------------------------------------------------------------


def test_plausible_numbers():
    """Test number._MIN_PLAUSIBILITY: four clusters that overlap may be two or three."""
    is_plausible = []
    lengths = []
    for seed in (72, 75, 78, 81, 84):
        number = choice_of(clusters(seed, [30] * 4, 2.2 * np.eye(4, 3))[0]).number
        is_plausible.append(4 in number.plausible)
        lengths.append(len(number.plausible))
    assert np.mean(is_plausible) >= 0.8
    assert np.median(lengths) <= 5


def test_number_is_determined():
    """Test number._MAX_MENTIONED."""
    assert choice_of(grid(85, 4, 30, gap=8)[0]).number.is_determined
    assert not choice_of(grid(86, 16, 12, gap=6)[0]).number.is_determined
