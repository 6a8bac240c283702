import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from dempster import CredalPartition, FocalSets
from dempster.cluster import ECM, SECM
from dempster.cluster.secm import neighborhood, smooth


def phantom(shape=(50, 60)):
    """Return an image of an ellipse with two discs inside, which has four regions."""
    row, column = np.mgrid[: shape[0], : shape[1]]
    y = 2 * row / shape[0] - 1
    x = 2 * column / shape[1] - 1
    regions = np.zeros(shape, dtype=int)
    regions[x**2 / 0.8 + y**2 / 0.7 < 1] = 1
    regions[(x + 0.3) ** 2 + (y + 0.2) ** 2 < 0.1] = 2
    regions[(x - 0.3) ** 2 + (y - 0.2) ** 2 < 0.12] = 3
    return regions


def noisy(regions, sigma, seed=0):
    return regions + np.random.default_rng(seed).normal(scale=sigma, size=regions.shape)


def naive_costs(image, centers, family, smoothing, radius, weighting):
    """Return the mean squared distance of each pixel and its neighbors to the prototypes, by loops."""
    grid = image.shape[:-1]
    pixels = image.reshape(-1, image.shape[-1])
    places = np.array(list(np.ndindex(*grid)))
    P = np.zeros((len(pixels), len(pixels)))
    for i, here in enumerate(places):
        gap = np.abs(places - here)
        near = (gap.max(axis=1) <= radius) & (gap.max(axis=1) > 0)
        weight = np.where(
            near,
            np.exp(-np.hypot.reduce(gap.astype(float), axis=1))
            if weighting == "distance"
            else 1,
            0,
        )
        P[i] = smoothing * weight / weight.sum()
        P[i, i] = 1 - smoothing
    barycentres = np.array([centers[list(s)].mean(axis=0) for s in family if s])
    return P @ ((pixels[:, None] - barycentres[None]) ** 2).sum(axis=2)


@pytest.mark.parametrize("shape", [(6, 7, 2), (7, 5, 1), (4, 3, 5, 2)])
@pytest.mark.parametrize(
    ("radius", "weighting"), [(1, "uniform"), (2, "uniform"), (1, "distance")]
)
def test_costs_against_the_definition(shape, radius, weighting):
    rng = np.random.default_rng(0)
    image = 100 + rng.normal(size=shape)
    centers = 100 + rng.normal(size=(3, shape[-1]))
    family = FocalSets.full(3)
    weights = neighborhood(shape[:-1], radius, weighting, None)
    data = smooth(image.reshape(-1, shape[-1]), shape[:-1], weights, 0.4)
    barycentres = np.array([centers[list(s)].mean(axis=0) for s in family if s])
    costs = ((data[:, None, :-1] - barycentres[None]) ** 2).sum(axis=2) + data[
        :, -1:
    ] ** 2
    np.testing.assert_allclose(
        costs, naive_costs(image, centers, family, 0.4, radius, weighting), rtol=1e-9
    )


@pytest.mark.parametrize("shape", [(8, 9, 2), (4, 5, 6, 1)])
def test_objective_equals_its_definition(shape):
    rng = np.random.default_rng(1)
    image = rng.normal(size=shape) + 3 * (np.arange(shape[1]) >= 4).reshape(
        (1, -1) + (1,) * (len(shape) - 2)
    )
    model = SECM(2, focal_sets="pairs", beta=2.0, delta=3, random_state=0).fit(image)
    family = list(model.focal_sets_)
    costs = naive_costs(image, model.cluster_centers_, family, 0.5, 1, "uniform")
    masses = model.credal_partition_.masses
    size = np.array([len(s) for s in family if s])
    objective = (size * masses[:, 1:] ** 2 * costs).sum() + 9 * (
        masses[:, 0] ** 2
    ).sum()
    assert model.objective_ == pytest.approx(objective, rel=1e-9)


def correlated(seed=0):
    """Return two regions whose channels have the same noise, so that their difference shows the regions."""
    rng = np.random.default_rng(seed)
    regions = np.arange(24)[None] // 12 + np.zeros((20, 1), int)
    own = rng.normal(scale=0.3, size=(20, 24, 2))
    common = rng.normal(scale=3.0, size=(20, 24, 1))
    return regions, own + common + regions[..., None] * [1.0, -1.0]


def test_adaptive_metrics_against_the_definition():
    """Compare costs and objective with loops, and the metrics with others of determinant one."""
    image = correlated()[1][:8, 8:16]
    model = SECM(
        2,
        metric="adaptive",
        focal_sets="pairs",
        beta=2.0,
        delta=3,
        random_state=0,
        tol=1e-13,
    ).fit(image)
    family = list(model.focal_sets_)
    S = model.metric_matrices_
    np.testing.assert_allclose(np.linalg.det(S), 1)

    def objective(metrics):
        total = 9 * (masses[:, 0] ** 2).sum()
        for column, clusters in enumerate(family[1:], 1):
            root = np.linalg.cholesky(metrics[list(clusters)].mean(axis=0))
            center = model.cluster_centers_[list(clusters)].mean(axis=0) @ root
            costs = naive_costs(image @ root, center[None], [(0,)], 0.5, 1, "uniform")[
                :, 0
            ]
            total += len(clusters) * (masses[:, column] ** 2 * costs).sum()
        return total

    masses = model.credal_partition_.masses
    assert model.objective_ == pytest.approx(objective(S), rel=1e-9)
    assert (np.diff(model.history_) <= 1e-9 * model.history_[0]).all()
    for angle in (0.1, -0.1):
        turn = np.array(
            [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        )
        assert objective(turn @ S @ turn.T) > model.objective_
    for stretch in (np.diag([1.1, 1 / 1.1]), np.diag([1 / 1.1, 1.1])):
        assert objective(stretch @ S @ stretch) > model.objective_
    np.testing.assert_allclose(model.predict_mass(image).masses, masses, atol=1e-9)


def test_adaptive_metrics_of_correlated_channels():
    regions, image = correlated(1)
    scores = []
    for metric in ("euclidean", "adaptive"):
        model = SECM(2, metric=metric, random_state=0).fit(image.astype(np.float32))
        assert model.labels_.shape == regions.shape
        scores.append(adjusted_rand_score(regions.ravel(), model.labels_.ravel()))
    assert scores[1] > 0.9 > 0.5 > scores[0]


def test_adaptive_metrics_without_neighbors_equal_those_of_ecm():
    image = correlated()[1]
    pixels = image.reshape(-1, 2)
    settings = {
        "metric": "adaptive",
        "focal_sets": "simple",
        "delta": 5.0,
        "init": pixels[[0, 20]],
    }
    ours = SECM(2, smoothing=0.0, **settings).fit(image)
    theirs = ECM(2, **settings).fit(pixels)
    np.testing.assert_allclose(
        ours.credal_partition_.masses, theirs.credal_partition_.masses, atol=1e-6
    )
    start = CredalPartition.from_hard(np.arange(len(pixels)) % 24 // 12)
    given = SECM(2, metric="adaptive", init=start, focal_sets="selected").fit(image)
    assert given.metric_matrices_.shape == (2, 2, 2)


@pytest.mark.parametrize(
    "family", ["simple", pytest.param("pairs", marks=pytest.mark.long)]
)
@pytest.mark.parametrize("sigma", [0.3, pytest.param(0.5, marks=pytest.mark.long)])
def test_better_than_ecm_on_a_noisy_phantom(sigma, family):
    regions = phantom()
    for seed in range(2):
        image = noisy(regions, sigma, seed)
        with_neighbours = (
            SECM(4, focal_sets=family, n_init=2, random_state=0).fit(image).labels_
        )
        without = (
            ECM(4, focal_sets=family, n_init=2, random_state=0)
            .fit(image.reshape(-1, 1))
            .labels_
        )
        gain = adjusted_rand_score(regions.ravel(), with_neighbours.ravel())
        gain -= adjusted_rand_score(regions.ravel(), without)
        assert gain > 0.1


@pytest.mark.long
def test_better_than_ecm_on_a_volume_and_on_channels():
    regions = np.zeros((16, 16, 16), dtype=int)
    regions[:, :, 8:] = 1
    volume = noisy(regions, 0.5)
    model = SECM(2, channel_axis=None, random_state=0).fit(volume)
    assert model.labels_.shape == volume.shape
    without = ECM(2, random_state=0).fit(volume.reshape(-1, 1)).labels_
    assert adjusted_rand_score(regions.ravel(), model.labels_.ravel()) > 0.8
    assert adjusted_rand_score(regions.ravel(), without) < 0.6
    same = SECM(2, random_state=0).fit(volume[..., None])
    np.testing.assert_array_equal(same.labels_, model.labels_)
    regions = phantom((40, 40))
    image = noisy(np.stack([regions == k for k in range(4)], axis=-1), 0.7)
    model = SECM(4, random_state=0).fit(image)
    without = ECM(4, random_state=0).fit(image.reshape(-1, 4)).labels_
    assert adjusted_rand_score(
        regions.ravel(), model.labels_.ravel()
    ) > 0.1 + adjusted_rand_score(regions.ravel(), without)


def test_equals_ecm_without_neighbors():
    image = noisy(phantom(), 0.3)
    a = SECM(4, smoothing=0, delta=2, init=[[0.0], [1], [2], [3]], tol=1e-12).fit(image)
    b = ECM(4, delta=2, init=[[0.0], [1], [2], [3]], tol=1e-12).fit(
        image.reshape(-1, 1)
    )
    np.testing.assert_allclose(
        a.credal_partition_.masses, b.credal_partition_.masses, atol=1e-6
    )


def test_pixels_between_two_regions_are_ambiguous():
    image = np.zeros((20, 30))
    image[:, 15:] = 1
    published = {"focal_sets": "pairs", "beta": 2.0, "delta": 0.3}
    model = SECM(2, smoothing=0.8, radius=2, random_state=0, **published)
    model.fit(image + 0.01 * noisy(np.zeros((20, 30)), 1))
    border = np.zeros((20, 30), dtype=bool)
    border[:, 14:16] = True
    pair = model.credal_partition_.masses[:, model.focal_sets_.index({0, 1})].reshape(
        20, 30
    )
    assert pair[border].mean() > 5 * pair[~border].mean()


@settings(deadline=None, max_examples=20)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["simple", "pairs", "full", "selected"]),
    st.sampled_from([1.2, 2.0, 3.0]),
    st.sampled_from([0.0, 0.5, 0.9]),
    st.sampled_from([(8, 9), (8, 9, 2), (1, 30, 1), (4, 5, 4, 2)]),
)
def test_objective_never_increases_and_masses_are_valid(
    seed, family, beta, smoothing, shape
):
    image = np.random.default_rng(seed).normal(size=shape)
    model = SECM(
        3,
        focal_sets=family,
        beta=beta,
        smoothing=smoothing,
        n_init=1,
        max_iter=30,
        tol=0,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(image)
    assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[:-1])
    masses = model.credal_partition_.masses
    assert masses.min() >= 0
    assert masses.max() <= 1
    np.testing.assert_allclose(masses.sum(axis=1), 1, atol=1e-12)


def test_predict():
    image = noisy(phantom(), 0.3)
    model = SECM(4, random_state=0).fit(image)
    np.testing.assert_array_equal(
        model.predict_mass(image).masses, model.credal_partition_.masses
    )
    np.testing.assert_array_equal(model.predict(image), model.labels_)
    part = model.predict(image[:20, :30])
    assert part.shape == (20, 30)
    # the last pixels have other neighbours
    np.testing.assert_array_equal(part[:19, :29], model.labels_[:19, :29])
    with pytest.raises(ValueError, match="X must"):
        model.predict(np.zeros((5, 5, 3)))


def test_rotated_image():
    image = noisy(phantom(), 0.3)
    start = [[0.0], [1], [2], [3]]
    labels = SECM(4, init=start).fit(image).labels_
    for turn in (np.rot90, np.transpose, np.flipud):
        np.testing.assert_array_equal(
            SECM(4, init=start).fit(turn(image)).labels_, turn(labels)
        )
    upright, turned = (
        SECM(4, random_state=0).fit(each).labels_ for each in (image, image.T)
    )
    assert np.mean(upright == turned.T) > 0.99


def test_axes_types_and_threads():
    image = np.clip(40 * (1 + noisy(phantom(), 0.2)), 0, 255).astype(np.uint8)
    rgb = np.stack([image] * 3, axis=-1)
    last = SECM(4, random_state=0).fit(rgb)
    first = SECM(4, channel_axis=0, random_state=0, n_jobs=2).fit(
        np.moveaxis(rgb, -1, 0)
    )
    np.testing.assert_array_equal(last.labels_, first.labels_)
    assert last.cluster_centers_.shape == (4, 3)
    assert last.n_features_in_ == 3
    assert last.credal_partition_.masses.dtype == np.float64
    single = SECM(4, random_state=0).fit(rgb.astype(np.float32))
    assert single.credal_partition_.masses.dtype == np.float32
    assert adjusted_rand_score(single.labels_.ravel(), last.labels_.ravel()) > 0.98
    np.testing.assert_array_equal(
        SECM(4, random_state=0).fit(image.tolist()).labels_.shape, image.shape
    )
    for spacing in ((1, 1), (1e-3, 1e-3), (1, 4)):
        SECM(4, weighting="distance", spacing=spacing, random_state=0).fit(image)


def test_spacing():
    even = neighborhood((9, 9), 1, "distance", None)
    np.testing.assert_allclose(even, neighborhood((9, 9), 1, "distance", (5, 5)))
    far_apart = neighborhood((9, 9), 1, "distance", (1, 4))
    assert far_apart[0, 1] > 10 * far_apart[1, 0]
    assert neighborhood((9, 9, 9), 1, "uniform", None).sum() == 26
    assert neighborhood((9, 9), 2, "uniform", None).sum() == 24


def test_starts():
    image = noisy(phantom(), 0.2)
    truth = CredalPartition.from_hard(phantom().ravel())
    warm = SECM(4, init=truth).fit(image)
    assert adjusted_rand_score(phantom().ravel(), warm.labels_.ravel()) > 0.6
    for method in ("random", "k-means++"):
        assert SECM(4, init=method, random_state=0).fit(image).converged_


def test_weights_of_pixels():
    image = noisy(phantom((24, 30)), 0.3)
    weights = np.random.default_rng(0).integers(0, 4, image.shape).astype(float)
    fixed = {
        "n_clusters": 4,
        "focal_sets": "pairs",
        "beta": 2.0,
        "delta": 2,
        "tol": 1e-14,
        "max_iter": 5000,
    }
    fixed["init"] = [[0.0], [1], [2], [3]]
    model = SECM(**fixed).fit(image, sample_weight=weights)
    flat = SECM(**fixed).fit(image, sample_weight=weights.ravel())
    np.testing.assert_array_equal(
        model.credal_partition_.masses, flat.credal_partition_.masses
    )
    family = list(model.focal_sets_)
    masses = model.credal_partition_.masses
    size = np.array([len(s) for s in family if s])

    def objective(centers):
        costs = naive_costs(image[..., None], centers, family, 0.5, 1, "uniform")
        each = (size * masses[:, 1:] ** 2 * costs).sum(axis=1) + 4 * masses[:, 0] ** 2
        return each @ weights.ravel()

    assert model.objective_ == pytest.approx(
        objective(model.cluster_centers_), rel=1e-9
    )
    for k in range(4):
        for move in (-1e-3, 1e-3):
            moved = model.cluster_centers_.copy()
            moved[k] += move
            assert objective(moved) > model.objective_
    with pytest.raises(ValueError, match="sample_weight has shape"):
        SECM(**fixed).fit(image, sample_weight=weights.T)


def test_image_as_a_table():
    pandas = pytest.importorskip("pandas")
    image = noisy(phantom((10, 12)), 0.2)
    table = pandas.DataFrame(image, index=list("abcdefghij"))
    model = SECM(2, random_state=0).fit(table)
    assert model.credal_partition_.index is None
    assert model.predict_mass(table).index is None
    np.testing.assert_array_equal(
        model.predict(table), SECM(2, random_state=0).fit(image).labels_
    )


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.zeros(5), r"X must"),
        (np.zeros((2, 2, 2, 2, 2)), "X must"),
        (np.zeros((0, 4)), "at least one pixel"),
        (np.zeros((4, 4, 0)), "at least one pixel"),
        (np.full((4, 4), np.nan), "NaN or infinity"),
        (np.full((4, 4), np.inf), "NaN or infinity"),
        (np.full((4, 4), "a"), "X must"),
        (np.zeros((4, 4), dtype=complex), "X must"),
        (np.zeros((1, 1)), "n_clusters=2 is more than the 1 different objects"),
        (np.full((9, 9), 0.1), "n_clusters=2 is more than the 1 different objects"),
    ],
)
def test_invalid_images(image, message):
    with pytest.raises(ValueError, match=message):
        SECM(2).fit(image)


def test_large_neighborhoods():
    """The smoothing would take hours, or more memory than there is."""
    with pytest.raises(ValueError, match="radius must be smaller"):
        neighborhood((2000, 2000), 2000, "distance", None)
    assert neighborhood((3, 3), 10**9, "uniform", None).shape == (5, 5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"smoothing": 1}, "smoothing must"),
        ({"radius": 0}, "radius must"),
        ({"weighting": "gauss"}, "weighting must"),
        ({"spacing": (1, 2, 3)}, "spacing must"),
        ({"spacing": (1, -2)}, "spacing must"),
        ({"channel_axis": "last"}, "channel_axis must"),
        ({"init": np.zeros((2, 3))}, r"init must"),
        ({"init": CredalPartition.from_hard([0, 1])}, "init must"),
        ({"beta": 1}, "beta must"),
    ],
)
def test_invalid_parameters(change, message):
    with pytest.raises(ValueError, match=message):
        SECM(**{"n_clusters": 2, **change}).fit(np.arange(36.0).reshape(6, 6))
    with pytest.raises(ValueError, match="channel_axis must"):
        SECM(2, channel_axis=5).fit(np.zeros((3, 3, 3)))
