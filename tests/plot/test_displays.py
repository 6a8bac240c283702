"""Displays of partitions, convergence and maps of partitions."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError

from dempster import CredalPartition, FocalSets
from dempster.cluster import ECM, EKNNClus
from dempster.datasets import load_butterfly, load_iris, make_fourclass
from dempster.partition import embed_partitions
from dempster.plot import (
    CredalPartitionDisplay,
    DendrogramDisplay,
    PartitionMapDisplay,
)
from dempster.plot._canvas import PALETTE, cluster_colors, mix_colors
from dempster.plot.credal_partition import rounded_hull, sector_angles


@pytest.fixture(scope="module")
def fourclass():
    X, _ = make_fourclass(200, random_state=1)
    return ECM(4, delta=3, n_init=2, random_state=0).fit(X), X


@pytest.fixture(scope="module")
def iris():
    table = load_iris(as_frame=True).data
    return ECM(3, n_init=2, random_state=0).fit(table), table


def rough(*sets, n_clusters=3):
    """Return a partition with the given set of clusters for each object."""
    upper = np.zeros((len(sets), n_clusters), dtype=bool)
    for row, clusters in zip(upper, sets, strict=True):
        row[list(clusters)] = True
    return CredalPartition.from_rough(upper)


def legend_texts(display):
    return [text.get_text() for text in display.legend_.get_texts()]


# ---- credal partition: data ----------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["max_mass", "interval_dominance"])
def test_data_match_the_partition(fourclass, rule):
    model, X = fourclass
    partition = model.credal_partition_
    display = CredalPartitionDisplay.from_partition(partition, X, rule=rule)
    assignment = partition.assignment(rule, keep_outliers=False)
    np.testing.assert_array_equal(display.points, X)
    np.testing.assert_array_equal(display.assignment, assignment)
    np.testing.assert_array_equal(display.outliers, partition.outliers)
    np.testing.assert_array_equal(
        display.ambiguous, np.flatnonzero(assignment.sum(axis=1) > 1)
    )
    if rule == "max_mass":
        np.testing.assert_array_equal(display.ambiguous, partition.ambiguous)
    assert len(display.outliers) > 0
    assert len(display.ambiguous) > 0
    for k in range(4):
        np.testing.assert_array_equal(
            display.lower[k],
            np.flatnonzero(assignment[:, k] & (assignment.sum(axis=1) == 1)),
        )
        np.testing.assert_array_equal(
            display.upper[k], np.flatnonzero(assignment[:, k])
        )


def test_hulls_contain_their_objects(fourclass):
    model, X = fourclass
    display = CredalPartitionDisplay.from_estimator(model, X)
    assert len(display.lower_patches_) == len(display.upper_patches_) == 4
    for k in range(4):
        for patch, members in (
            (display.lower_patches_[k], display.lower[k]),
            (display.upper_patches_[k], display.upper[k]),
        ):
            outline = patch.get_path()
            assert outline.contains_points(X[members]).all()
        # The rounding is small: other centers stay outside.
        assert (
            not display.lower_patches_[k]
            .get_path()
            .contains_points(model.cluster_centers_[[(k + 1) % 4]])
            .any()
        )


def test_each_object_is_drawn_once(fourclass):
    model, X = fourclass
    display = CredalPartitionDisplay.from_estimator(model, X)
    certain = np.concatenate(
        [artist.get_offsets() for artist in display.certain_artists_]
    )
    # An ambiguous object has one sector for each of its clusters and a rim.
    ambiguous = np.concatenate(
        [artist.get_offsets() for artist in display.ambiguous_artists_]
    )
    cardinality = display.assignment[display.ambiguous].sum(axis=1)
    outliers = display.outlier_artist_.get_offsets()
    assert len(ambiguous) == (cardinality + 1).sum()
    drawn = np.concatenate([certain, np.unique(ambiguous, axis=0), outliers])
    np.testing.assert_allclose(np.unique(drawn, axis=0), np.unique(X, axis=0))
    assert len(drawn) == len(X)


def test_sector_colors_of_ambiguous_objects():
    X = [[0, 0], [0, 1], [10, 0], [10, 1], [5, 0.5]]
    display = CredalPartitionDisplay.from_partition(
        rough([0], [0], [1], [1], [0, 1], n_clusters=2), X
    )
    (artist,) = display.ambiguous_artists_
    for path, color in zip(
        artist.get_paths()[:2], artist.get_facecolors()[:2, :3], strict=True
    ):
        cluster = int(np.flatnonzero((color == cluster_colors(2)).all(axis=1))[0])
        # Cluster 0 is on the left.
        assert np.sign(path.vertices[:, 0].mean()) == (-1, 1)[cluster]


def test_sector_angles():
    corners = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    order, start = sector_angles(corners)
    directions = start + np.pi / 2 * np.arange(4)
    expected = np.arctan2(corners[order, 1], corners[order, 0])
    np.testing.assert_allclose(
        np.exp(1j * directions), np.exp(1j * expected), atol=1e-12
    )


# ---- credal partition: edge cases ----------------------------------------------------------------


def test_clusters_of_few_objects():
    """Test clusters of no, one, two, collinear and coincident objects."""
    sets = [[1], [2], [2], [3], [3], [3], [4], [4], [4], [5], [5], [5], [5], [0, 1]]
    # fmt: off
    X = [[0, 0], [1, 0], [2, 0], [0, 1], [1, 2], [2, 3], [9, 9], [9, 9], [9, 9], [5, 5], [6, 5], [6, 6], [5, 6], [1, 7]]
    # fmt: on
    display = CredalPartitionDisplay.from_partition(rough(*sets, n_clusters=7), X)
    assert len(display.lower_patches_) == 5
    assert len(display.upper_patches_) == 6
    for patch in display.lower_patches_ + display.upper_patches_:
        assert np.ptp(patch.get_xy(), axis=0).min() > 0
    display.figure_.canvas.draw()


@pytest.mark.parametrize(
    ("labels", "X"),
    [
        ([0, 0, 1], np.ones((3, 2))),
        ([0], [[1.0]]),
        ([0], [[1.0, 2.0]]),
        ([0], [[1.0, 2.0, 3.0]]),
        ([0, 0, 1, 1], np.ones((4, 5))),
        ([0, 0, 1, 1], np.outer(np.arange(4.0), np.ones(5))),
    ],
)
def test_degenerate_data(labels, X):
    display = CredalPartitionDisplay.from_partition(labels, X)
    assert display.points.shape == (len(labels), 2)
    assert np.isfinite(display.points).all()
    assert len(display.lower_patches_) == max(labels) + 1
    display.figure_.canvas.draw()


def test_outliers():
    display = CredalPartitionDisplay.from_partition(
        [0, -1, -1], [[0, 0], [1, 1], [2, 0]]
    )
    np.testing.assert_array_equal(display.outliers, [1, 2])
    assert display.ambiguous_artists_ == []
    assert len(display.outlier_artist_.get_offsets()) == 2


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_one_attribute(shape):
    x = np.array([0.0, 1, 2, 10, 11, 12, 6, 40])
    partition = rough([0], [0], [0], [1], [1], [1], [0, 1], [], n_clusters=2)
    display = CredalPartitionDisplay.from_partition(
        partition, x.reshape(shape), cluster_centers=[[1], [11]]
    )
    assert display.is_strip
    np.testing.assert_array_equal(display.points[:, 0], x)
    assert len(np.unique(display.points[:, 1])) == len(x)
    for patch, (left, right) in zip(
        display.lower_patches_ + display.upper_patches_,
        [(0, 2), (10, 12), (0, 6), (6, 12)],
        strict=True,
    ):
        outline = patch.get_xy()
        np.testing.assert_allclose(outline[:, 0].min(), left, atol=1)
        np.testing.assert_allclose(outline[:, 0].max(), right, atol=1)
        assert np.ptp(outline[:, 1]) > 1
    np.testing.assert_array_equal(display.centers, [[1, 0], [11, 0]])
    assert display.ax_.get_yticks().size == 0


def test_name_of_a_series():
    pandas = pytest.importorskip("pandas")
    display = CredalPartitionDisplay.from_partition(
        [0, 0, 1], pandas.Series([1.0, 2.0, 9.0], name="height")
    )
    assert display.ax_.get_xlabel() == "height"


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_column_names(library):
    frame = pytest.importorskip(library).DataFrame(
        {"height": [1.0, 2.0, 9.0], "weight": [3.0, 4.0, 5.0]}
    )
    display = CredalPartitionDisplay.from_partition([0, 0, 1], frame)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("height", "weight")
    assert CredalPartitionDisplay.from_partition([0, 1], np.eye(2)).axis_names == (
        "attribute 1",
        "attribute 2",
    )


def test_principal_components(iris):
    model, table = iris
    display = CredalPartitionDisplay.from_estimator(model, table)
    X = table.to_numpy()
    centerd = X - X.mean(axis=0)
    variance, vectors = np.linalg.eigh(np.cov(X.T))
    ratio = variance[::-1][:2] / variance.sum()
    assert display.ax_.get_xlabel() == f"PC 1 ({100 * ratio[0]:.0f} % of variance)"
    np.testing.assert_allclose(
        np.abs(display.points), np.abs(centerd @ vectors[:, [-1, -2]]), atol=1e-9
    )
    np.testing.assert_allclose(
        np.abs(display.centers),
        np.abs((model.cluster_centers_ - X.mean(axis=0)) @ vectors[:, [-1, -2]]),
        atol=1e-9,
    )


def test_many_clusters_are_named_in_the_plot():
    labels = np.repeat(np.arange(15), 4)
    X = np.column_stack(
        [
            labels % 4 + 0.1 * np.arange(60) % 0.4,
            labels // 4 + 0.05 * (np.arange(60) % 3),
        ]
    )
    display = CredalPartitionDisplay.from_partition(labels, X)
    assert not any("cluster" in text for text in legend_texts(display))
    assert {text.get_text() for text in display.ax_.texts} == {
        str(k) for k in range(15)
    }
    assert display.upper_patches_ == []
    few = CredalPartitionDisplay.from_partition(labels % 3, X)
    assert legend_texts(few)[:3] == ["cluster 0", "cluster 1", "cluster 2"]
    assert len(few.ax_.texts) == 0


def test_objects_of_large_sets_are_grey():
    sets = [[0], [1], [2], [3], [4], [5], [0, 1], range(6)]
    X = np.column_stack([np.arange(8), np.arange(8) % 3])
    display = CredalPartitionDisplay.from_partition(rough(*sets, n_clusters=6), X)
    shown = [tuple(artist.get_facecolors()[0]) for artist in display.ambiguous_artists_]
    assert (0.5, 0.5, 0.5, 1.0) in shown
    assert sum("ambiguous" in text for text in legend_texts(display)) == 2


def test_large_data_have_few_artists():
    rng = np.random.default_rng(0)
    upper = rng.random((100_000, 12)) < 0.15  # Thousands of different sets.
    X = rng.standard_normal((100_000, 2))
    display = CredalPartitionDisplay(points=X, assignment=upper).plot()
    assert len(display.ambiguous_artists_) == 1
    assert len(display.ambiguous_artists_[0].get_offsets()) == len(display.ambiguous)
    assert (
        sum(len(a.get_offsets()) for a in display.certain_artists_)
        == (upper.sum(axis=1) == 1).sum()
    )
    assert len(display.ax_.collections) <= 12 + 2
    assert all(artist.get_rasterized() for artist in display.ax_.collections)
    j = int(display.ambiguous[0])
    if upper[j].sum() <= 4:
        expected = display.colors_[upper[j]].mean(axis=0)
    else:
        expected = [0.5] * 3
    np.testing.assert_allclose(
        display.ambiguous_artists_[0].get_facecolors()[0, :3], expected
    )


# ---- credal partition: options and errors --------------------------------------------------------


def test_legend_has_only_drawn_artists():
    X = np.array([[0.0, 0], [1, 0], [0, 1], [1, 1]])
    display = CredalPartitionDisplay.from_partition([0, 0, 1, 1], X)
    assert not any(
        "ambiguous" in t or "outlier" in t or "center" in t
        for t in legend_texts(display)
    )
    display = CredalPartitionDisplay.from_partition(
        rough([0], [1], [0, 1], [], n_clusters=2),
        X,
        cluster_names=["low", "high"],
        cluster_centers=X[:2],
    )
    texts = legend_texts(display)
    assert texts[:2] == ["low", "high"]
    assert texts[-3:] == [
        "ambiguous, in one of several (1)",
        "outliers, in no cluster (1)",
        "centers",
    ]


def test_options(fourclass):
    model, X = fourclass
    display = CredalPartitionDisplay.from_estimator(
        model, X, lower=False, upper=False, legend=False
    )
    assert (display.lower_patches_, display.upper_patches_) == ([], [])
    assert display.legend_ is None
    assert display.ax_.get_title() == ""
    display.plot(title="four", colors=["red", "green", "blue", "black", "white"])
    assert display.ax_.get_title() == "four"
    np.testing.assert_array_equal(display.colors_[0], [1, 0, 0])


def test_centers(fourclass):
    model, X = fourclass
    display = CredalPartitionDisplay.from_estimator(model, X)
    np.testing.assert_allclose(
        display.center_artist_.get_offsets(), model.cluster_centers_
    )
    # The centers lack the third attribute.
    wider = np.column_stack([X, X[:, 0] * X[:, 1]])
    assert CredalPartitionDisplay.from_estimator(model, wider).centers is None


def test_partition_plot():
    X = load_butterfly().data
    model = ECM(2, focal_sets="full", delta=5, random_state=0).fit(X)
    ax = plt.figure().add_subplot()
    display = model.credal_partition_.plot(X, ax=ax, title="butterfly")
    assert isinstance(display, CredalPartitionDisplay)
    assert display.ax_ is ax
    assert (display.ambiguous.tolist(), display.outliers.tolist()) == ([5], [11])


def test_invalid_input(fourclass):
    model, X = fourclass
    partition = model.credal_partition_
    before = plt.get_fignums()
    with pytest.raises(ValueError, match=r"\bX\b"):
        CredalPartitionDisplay.from_partition(partition, X[:-1])
    with pytest.raises(ValueError, match="columns 0, 1"):
        CredalPartitionDisplay.from_partition(partition, np.full((200, 2), np.nan))
    with pytest.raises(ValueError, match="rule must be"):
        CredalPartitionDisplay.from_partition(partition, X, rule="best")
    with pytest.raises(ValueError, match="^cluster_centers must"):
        CredalPartitionDisplay.from_partition(partition, X, cluster_centers=[[0, 0]])
    with pytest.raises(ValueError, match=r"\bcluster_names\b"):
        CredalPartitionDisplay.from_partition(partition, X, cluster_names=["a"])
    with pytest.raises(ValueError, match="colors must be"):
        CredalPartitionDisplay.from_partition(partition, X, colors=["red"])
    with pytest.raises(NotFittedError):
        CredalPartitionDisplay.from_estimator(ECM(2), X)
    with pytest.raises(TypeError, match="credal_partition_"):
        CredalPartitionDisplay.from_estimator(KMeans(2, n_init=1).fit(X), X)
    assert plt.get_fignums() == before


# ---- hulls and colors ----------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 1e-7, 1e9])
@pytest.mark.parametrize("n", [3, 300, 3000])
def test_hull_contains_all_points(scale, n):
    rng = np.random.default_rng(3)
    points = rng.standard_normal((n, 2)) * [scale, 1] + [1e3 * scale, -5]
    corners = rounded_hull(points, np.array([0.01 * scale, 0.01])) / [scale, 1]
    edge = np.roll(corners, -1, axis=0) - corners
    towards = (points / [scale, 1])[:, None, :] - corners
    cross = edge[:, 0] * towards[:, :, 1] - edge[:, 1] * towards[:, :, 0]
    assert cross.min() > 0  # Every point is to the left of every edge.
    np.testing.assert_allclose(
        corners.max(axis=0), points.max(axis=0) / [scale, 1] + 0.01, rtol=1e-6
    )


@pytest.mark.parametrize("angle", [0, 0.3, np.pi / 4, np.pi / 2, 2])
@pytest.mark.parametrize("repeats", [1, 1000])
def test_hull_of_collinear_points(angle, repeats):
    along = np.repeat([3.0, -1, 7, 2, 7, -1, 0.1], repeats)
    direction = np.array([np.cos(angle), np.sin(angle)])
    points = along[:, None] * direction + [100, -3]
    outline = rounded_hull(points, np.array([0.1, 0.1])) - [100, -3]
    assert np.abs(outline @ [-direction[1], direction[0]]).max() < 0.101
    position = outline @ direction
    np.testing.assert_allclose([position.min(), position.max()], [-1.1, 7.1], atol=0.01)


def test_rounded_hull_of_a_point_is_an_ellipse():
    outline = rounded_hull(np.array([[1.0, 2.0]]), np.array([0.5, 0.1]))
    np.testing.assert_allclose((((outline - [1, 2]) / [0.5, 0.1]) ** 2).sum(axis=1), 1)


def test_palette_for_color_blind_readers():
    """Test distances in Oklab for normal, protanope and deuteranope vision (Machado et al., 2009)."""
    from matplotlib.colors import to_rgb

    protanope = [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ]
    deuteranope = [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ]
    to_cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    to_lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    rgb = np.array([to_rgb(color) for color in (*PALETTE, "black", "white")])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    for eye in (np.eye(3), protanope, deuteranope):
        seen = np.clip(linear @ np.transpose(eye), 0, 1)
        lab = np.cbrt(seen @ np.transpose(to_cones)) @ np.transpose(to_lab)
        distance = np.linalg.norm(lab[:, None] - lab[None, :], axis=2) + np.eye(
            len(lab)
        )
        assert distance.min() > 0.06
        assert distance[:15, :15].min() > 0.07


def test_palette_repeats_and_mixes():
    assert len(cluster_colors(50)) == 50
    np.testing.assert_array_equal(
        cluster_colors(50)[len(PALETTE)], cluster_colors(1)[0]
    )
    colors = np.array([[1.0, 0, 0], [0, 0, 1.0]])
    np.testing.assert_array_equal(
        mix_colors(np.array([[True, True], [False, True]]), colors),
        [[0.5, 0, 0.5], [0, 0, 1]],
    )


# ---- map of partitions ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def partitions():
    rng = np.random.default_rng(0)
    base = np.repeat([0, 1, 2], 20)
    noisy = [
        np.where(rng.random(60) < share, rng.integers(0, 3, 60), base)
        for share in np.linspace(0, 1, 12)
    ]
    return [*noisy, base]  # The first and the last coincide.


def test_map(partitions):
    names = [f"partition {i}" for i in range(len(partitions))]
    expected = embed_partitions(partitions, names)
    display = PartitionMapDisplay.from_map(expected)
    np.testing.assert_array_equal(display.coordinates, expected.coordinates)
    np.testing.assert_array_equal(display.points_.get_offsets(), expected.coordinates)
    assert display.stress_text_.get_text() == f"stress {expected.stress:.3f}"
    assert [label.get_text() for label in display.labels_] == names
    assert display.ax_.get_aspect() == 1


def test_labels_of_a_map_do_not_overlap(partitions):
    names = [f"partition {i}" for i in range(len(partitions))]
    display = PartitionMapDisplay.from_map(embed_partitions(partitions, names))
    display.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in display.labels_]
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])
    dots = display.ax_.transData.transform(display.coordinates)
    frame = display.ax_.get_window_extent()
    for box in boxes:
        assert not any(box.contains(*dot) for dot in dots)
        assert frame.x0 <= box.x0
        assert box.x1 <= frame.x1
    assert not any(
        box.overlaps(display.stress_text_.get_window_extent()) for box in boxes
    )


# scikit-learn divides by the sum of distances, which is zero.
@pytest.mark.filterwarnings("ignore:invalid value")
def test_map_of_equal_partitions():
    same = embed_partitions([[0, 0, 1], [1, 1, 0], [0, 0, 1]], ["a", "b", "c"])
    display = PartitionMapDisplay.from_map(same, title="same")
    assert display.names == ["a", "b", "c"]
    np.testing.assert_allclose(display.coordinates, 0, atol=1e-12)
    display.figure_.canvas.draw()
    boxes = [label.get_window_extent() for label in display.labels_]
    assert not boxes[0].overlaps(boxes[1])


def test_network():
    networkx = pytest.importorskip("networkx")
    graph = networkx.planted_partition_graph(3, 10, 0.7, 0.02, seed=0)
    graph.add_edges_from([("between", 0), ("between", 1), ("between", 10)])
    graph.add_edge("between", 11)
    partition = EKNNClus(random_state=0).fit(graph).credal_partition_
    display = partition.plot(graph)
    assert len(display.edge_artist_.get_segments()) == graph.number_of_edges()
    assert display.ambiguous.tolist() == [30]
    assert len(display.ambiguous_artists_) == 1
    assert not display.upper_patches_
    assert not display.ax_.axison
    points = display.points
    y = np.repeat([0, 1, 2], 10)
    distances = np.linalg.norm(points[:30, None] - points[:30], axis=2)
    same = y[:, None] == y
    assert distances[same].mean() < 0.5 * distances[~same].mean()
    with pytest.raises(ValueError, match="31 objects of the partition, got 4"):
        partition.plot(networkx.path_graph(4))


def test_large_network(monkeypatch):
    networkx = pytest.importorskip("networkx")
    monkeypatch.setattr("dempster.plot.plane._MAX_FORCE_NODES", 20)
    graph = networkx.planted_partition_graph(3, 10, 0.7, 0.02, seed=0)
    graph.add_node("isolated")
    points = CredalPartitionDisplay.from_partition(
        np.repeat([0, 1, 2, 0], [10, 10, 10, 1]), graph
    ).points
    assert np.isfinite(points).all()
    centers = points[:30].reshape(3, 10, 2).mean(axis=1)
    spread = points[:30].reshape(3, 10, 2).std(axis=1).max()
    assert (
        min(np.linalg.norm(centers[[0, 0, 1]] - centers[[1, 2, 2]], axis=1))
        > 2 * spread
    )


# ---- dendrograms ---------------------------------------------------------------------------------


def test_brackets_of_a_dendrogram():
    """The heights are similarities, and no line crosses another."""
    sets = FocalSets.with_pairs(4, [(0, 2), (1, 3)], omega=False)
    masses = np.eye(len(sets))[[1, 2, 3, 4, 5, 5, 6]]
    partition = CredalPartition(masses, sets)
    display = DendrogramDisplay.from_partition(partition)
    assert {frozenset(display.order[:2]), frozenset(display.order[2:])} == {
        frozenset((0, 2)),
        frozenset((1, 3)),
    }
    np.testing.assert_allclose(display.brackets[:, 1, 1], [2 / 3, 1 / 2, 1e-6])
    np.testing.assert_array_equal(display.brackets[2, :, 0], [0.5, 0.5, 2.5, 2.5])
    assert display.ax_.get_ylim()[0] == 1


def test_dendrogram_of_a_chain_of_many_clusters():
    c = 3000
    steps = np.arange(c - 1)
    left = np.where(steps > 0, c + steps - 1, 0)
    tree = np.column_stack([left, steps + 1, steps / c, steps + 2])
    display = DendrogramDisplay(tree=tree, names=[""] * c)
    np.testing.assert_array_equal(np.sort(display.order), np.arange(c))
