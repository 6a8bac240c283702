"""Generated, bundled and fetched datasets."""

import inspect
import subprocess
import sys
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from scipy import stats
from sklearn.utils import Bunch

import dempster.datasets as ed
from dempster.datasets.catalogue import CATALOGUE
from dempster.datasets.generators import (
    FOURCLASS_CENTERS,
    GAUSSIAN_MIXTURES,
    bananas_from_draws,
)

GENERATORS = [
    ed.make_fourclass,
    ed.make_bananas,
    ed.make_circles,
    ed.make_gaussian_mixture,
]


# --- generators -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", GENERATORS)
def test_seeds(make):
    X, y = make(n_samples=101, random_state=3)
    again_X, again_y = make(n_samples=101, random_state=3)
    other_X, _ = make(n_samples=101, random_state=4)
    assert X.shape == (101, 2)
    assert y.shape == (101,)
    assert X.dtype == np.float64
    assert np.issubdtype(y.dtype, np.integer)
    assert X.tobytes() == again_X.tobytes()
    assert y.tobytes() == again_y.tobytes()
    assert not np.array_equal(X, other_X)


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize(
    ("n_samples", "error"),
    [(-1, ValueError), (0, ValueError), (2.5, TypeError), (True, TypeError)],
)
def test_invalid_n_samples(make, n_samples, error):
    with pytest.raises(error, match=r"\bn_samples\b"):
        make(n_samples=n_samples)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [({"radius": 0}, "radius"), ({"noise": -1}, "noise"), ({"noise": np.inf}, "noise")],
)
def test_invalid_parameters_of_bananas(arguments, name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        ed.make_bananas(**arguments)
    with pytest.raises(TypeError, match=f"{name} must be"):
        ed.make_bananas(**{name: "wide"})


@pytest.mark.parametrize("mixture", [0, 7, "1", None, True, 1.0])
def test_invalid_mixture(mixture):
    with pytest.raises(ValueError, match="mixture must be"):
        ed.make_gaussian_mixture(mixture)


def test_class_sizes():
    assert np.bincount(ed.make_fourclass(403, random_state=0)[1]).tolist() == [
        101,
        101,
        101,
        100,
    ]
    assert np.bincount(ed.make_bananas(11, random_state=0)[1]).tolist() == [6, 5]
    assert np.bincount(ed.make_circles(500, random_state=0)[1]).tolist() == [200, 300]
    assert len(ed.make_circles(1, random_state=0)[0]) == 1


def test_fourclass_distribution():
    X, y = ed.make_fourclass(40_000, random_state=0)
    gap = X - FOURCLASS_CENTERS[y]
    for k in range(4):
        assert np.abs(np.median(gap[y == k], axis=0)).max() < 0.06
    for direction in ([1, 0], [0, 1], [0.6, 0.8]):
        assert stats.kstest(gap @ direction, stats.t(5).cdf).pvalue > 1e-3
    # The squared norm over 2 is F(2, 5) only if both coordinates have the same denominator.
    assert stats.kstest((gap**2).sum(axis=1) / 2, stats.f(2, 5).cdf).pvalue > 1e-3


def test_bananas_reference(reference):
    case = reference("bananas_generator")
    X, y = bananas_from_draws(
        (case["u1"], case["u2"]),
        (case["e1"], case["e2"]),
        case.parameters["r"],
        case.parameters["s"],
    )
    case.assert_equal("x", X)
    np.testing.assert_array_equal(y, case["y"])


def test_bananas_without_noise():
    X, y = ed.make_bananas(1000, radius=2.0, noise=0.0, random_state=0)
    center = np.where(y[:, None] == 0, [0.0, 0.0], [-1.5, -1.5])
    np.testing.assert_allclose(np.linalg.norm(X - center, axis=1), 2.0)
    # The angles are (0.125 .. 1.375) pi and (-0.875 .. 0.375) pi.
    angle = np.arctan2(X[:, 0] - center[:, 0], X[:, 1] - center[:, 1]) / np.pi
    first = np.mod(angle[y == 0], 2)
    assert first.min() >= 0.125 - 1e-12
    assert first.max() <= 1.375 + 1e-12
    assert angle[y == 1].min() >= -0.875 - 1e-12
    assert angle[y == 1].max() <= 0.375 + 1e-12


def test_circles():
    X, y = ed.make_circles(50_000, random_state=0)
    disc = X[y == 0]
    ring = X[y == 1]
    np.testing.assert_allclose(np.cov(disc.T), 0.25 * np.eye(2), atol=0.01)
    radius = np.linalg.norm(ring, axis=1)
    assert stats.kstest(radius, stats.norm(3, 0.3).cdf).pvalue > 1e-3
    angle = np.arctan2(ring[:, 1], ring[:, 0])
    assert stats.kstest(angle, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 1e-3


@pytest.mark.parametrize("mixture", [1, 2, 3])
def test_mixture_moments_and_posterior(mixture):
    sample = ed.make_gaussian_mixture(mixture, 30_000, as_bunch=True, random_state=1)
    X = sample.data
    y = sample.target
    np.testing.assert_allclose(np.bincount(y) / len(y), sample.weights, atol=0.01)
    for k in range(3):
        np.testing.assert_allclose(X[y == k].mean(axis=0), sample.means[k], atol=0.06)
        np.testing.assert_allclose(
            np.cov(X[y == k].T), sample.covariances[k], atol=0.09
        )

    density = np.column_stack(
        [
            stats.multivariate_normal(m, S).pdf(X)
            for m, S in zip(sample.means, sample.covariances, strict=True)
        ]
    )
    expected = density * sample.weights / (density @ sample.weights)[:, None]
    np.testing.assert_allclose(sample.posterior, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sample.posterior.sum(axis=1), 1, rtol=1e-12)
    # The mean posterior of a component is its frequency.
    certain = sample.posterior[:, 0] > 0.8
    assert abs((y[certain] == 0).mean() - sample.posterior[certain, 0].mean()) < 0.02


def test_mixture_parameters_of_the_paper():
    correlated = [[1, 0.5], [0.5, 1]]
    for mixture, (means, covariances) in {
        1: ([[0, 0], [0, 3], [3, 0]], [np.eye(2)] * 3),
        2: ([[0, 0], [0, 2.5], [2.5, 0]], [correlated] * 3),
        3: (
            [[0, 0], [0, 3], [3, 0]],
            [correlated, [[1.5, -0.75], [-0.75, 1.5]], np.eye(2)],
        ),
    }.items():
        sample = ed.make_gaussian_mixture(mixture, 5, as_bunch=True, random_state=0)
        np.testing.assert_array_equal(sample.means, means)
        np.testing.assert_array_equal(sample.covariances, covariances)
        np.testing.assert_allclose(sample.weights, 1 / 3)


def test_mixture_bunch():
    X, y = ed.make_gaussian_mixture(2, 50, random_state=5)
    sample = ed.make_gaussian_mixture(2, 50, as_bunch=True, random_state=5)
    np.testing.assert_array_equal(sample.data, X)
    np.testing.assert_array_equal(sample.target, y)
    sample.means[:] = 99  # does not change the next draw
    assert GAUSSIAN_MIXTURES[2][0].max() == 2.5


# --- bundled --------------------------------------------------------------------------------------


def test_butterfly(reference):
    butterfly = ed.load_butterfly()
    case = reference("ecm_butterfly_full_a1_b2_d10")
    np.testing.assert_array_equal(butterfly.data, case["x"])
    assert butterfly.target is None
    assert butterfly.feature_names == ["x1", "x2"]
    X, y = ed.load_butterfly(return_X_y=True)
    assert X.shape == (12, 2)
    assert y is None
    butterfly.data[:] = 0
    assert ed.load_butterfly().data[0, 0] == -5


def test_example():
    example = ed.load_example(as_frame=True)
    assert isinstance(example.data, pd.DataFrame)
    assert example.frame.columns.tolist() == ["x1", "x2", "target"]
    assert example.frame.shape == (400, 3)
    np.testing.assert_array_equal(ed.load_example().data, example.data)
    centers = example.frame.groupby("target").median()
    np.testing.assert_allclose(centers, FOURCLASS_CENTERS, atol=0.6)
    nearest = np.linalg.norm(
        ed.load_example().data[:, None] - FOURCLASS_CENTERS, axis=2
    ).min(axis=1)
    assert (nearest > 4).any(), "the example should show an outlier"


@pytest.mark.parametrize(
    ("name", "shape"), [("iris", (150, 4)), ("wine", (178, 13)), ("digits", (1797, 64))]
)
def test_datasets_of_scikit_learn(name, shape):
    load = getattr(ed, f"load_{name}")
    original = getattr(sklearn.datasets, f"load_{name}")()
    assert load().data.shape == shape
    np.testing.assert_array_equal(load().data, original.data)
    X, y = load(return_X_y=True, as_frame=True)
    assert isinstance(X, pd.DataFrame)
    np.testing.assert_array_equal(y, original.target)


# --- the catalogue --------------------------------------------------------------------------------


def test_catalogue_is_consistent():
    assert len(CATALOGUE) == len(ed.dataset_names()) > 30
    for record in CATALOGUE.values():
        assert record.title
        assert record.citation.endswith(".")
        if record.class_names is not None:
            assert len(set(record.class_names)) == record.n_classes
        if record.openml_labels is not None:
            assert record.openml_id is not None
            assert len(set(record.openml_labels)) == record.n_classes
    ids = [record.openml_id for record in CATALOGUE.values() if record.openml_id]
    assert len(ids) == len(set(ids))


# --- local copies ---------------------------------------------------------------------------------


@pytest.fixture
def local(shared, monkeypatch):
    """Return the folder of local copies; downloads fail."""
    monkeypatch.setenv("DEMPSTER_SHARED", str(shared))
    monkeypatch.setattr(
        sklearn.datasets, "fetch_openml", lambda **_: pytest.fail("should not download")
    )
    return shared


@pytest.mark.parametrize("name", list(CATALOGUE))
def test_local_copies_agree_with_the_catalogue(local, name):
    record = CATALOGUE[name]
    found = ed.fetch_dataset(name)
    assert isinstance(found, Bunch)
    if record.dissimilarities:
        matrix = found.dissimilarities
    else:
        matrix = found.data
    assert len(matrix) == record.shape[0]
    assert found.DESCR.startswith(record.title)
    assert record.citation in found.DESCR
    assert found.source == str(local / "data" / record.file_name)
    if record.n_classes:
        assert np.array_equal(np.unique(found.target), np.arange(record.n_classes))
        assert len(found.target_names) == record.n_classes
        if record.class_names is not None:
            assert found.target_names.tolist() == list(record.class_names)
    else:
        assert found.target is None
    if not record.dissimilarities:
        assert found.data.shape == record.shape[:2]
        assert len(found.feature_names) == record.shape[1]


def test_known_properties(local):
    assert ed.fetch_dataset("s3").DESCR.startswith("S3:")
    assert ed.fetch_dataset("leaves_texture").data.shape == (1599, 64)
    assert ed.fetch_dataset("gvhd_control", return_X_y=True)[1] is None
    assert ed.fetch_dataset("gvhd_positive").data.shape == (9083, 4)
    assert ed.fetch_dataset("vowel").train.sum() == 528
    assert len(np.unique(ed.fetch_dataset("mice_protein").mouse)) == 72


def test_protein(local):
    protein = ed.fetch_dataset("protein")
    assert protein.data is None
    assert protein.dissimilarities.shape == (213, 213)
    np.testing.assert_array_equal(protein.dissimilarities, protein.dissimilarities.T)
    D, y = ed.fetch_dataset("protein", return_X_y=True)
    np.testing.assert_array_equal(D, protein.dissimilarities)
    assert np.bincount(y).tolist() == [72, 72, 39, 30]
    with pytest.raises(ValueError, match=r"\bas_frame\b"):
        ed.fetch_dataset("protein", as_frame=True)


def test_frames(local):
    heart = ed.fetch_dataset("heart", as_frame=True)
    assert heart.frame.shape == (270, 14)
    assert heart.data.columns[0] == "age"
    X, y = ed.fetch_dataset("heart", return_X_y=True, as_frame=True)
    assert isinstance(y, pd.Series)
    pd.testing.assert_frame_equal(X, heart.data)


# --- invalid arguments and files ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ed.fetch_dataset(3), "name must be"),
    ],
)
def test_invalid_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return an empty folder for local copies."""
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("DEMPSTER_SHARED", str(tmp_path))
    return tmp_path / "data"


def test_local_copy_of_another_size(folder):
    np.savez(folder / "seeds.npz", X=np.zeros((209, 7)), y=np.arange(209) % 3)
    with pytest.raises(
        ValueError, match=r"'seeds' from .*seeds.npz must have 210 objects.*, got 209"
    ):
        ed.fetch_dataset("seeds")
    np.savez(folder / "seeds.npz", X=np.zeros((210, 7)), y=np.arange(209) % 3)
    with pytest.raises(ValueError, match="210 objects and 209 labels"):
        ed.fetch_dataset("seeds")
    np.savez(folder / "protein.npz", D=np.zeros((213, 212)), y=np.arange(213) % 4)
    with pytest.raises(ValueError, match=r"'protein'.* must have 213 objects"):
        ed.fetch_dataset("protein")


def test_invalid_local_copy(folder):
    (folder / "seeds.npz").write_bytes(b"PK\x03\x04 not a zip")
    with pytest.raises(ValueError, match=r"seeds.npz must be a .npz file"):
        ed.fetch_dataset("seeds")
    np.savez(folder / "seeds.npz", X=np.array([{"pickled": "object"}], dtype=object))
    with pytest.raises(ValueError, match=r"seeds.npz must be a .npz file"):
        ed.fetch_dataset("seeds")
    np.savez(folder / "seeds.npz", y=np.zeros(210))
    with pytest.raises(ValueError, match=r"\bmust\b"):
        ed.fetch_dataset("seeds")


# --- OpenML ---------------------------------------------------------------------------------------


@pytest.fixture
def openml(monkeypatch):
    """Replace OpenML; set ``answer`` to a Bunch or an exception."""
    signature = inspect.signature(sklearn.datasets.fetch_openml)

    class Server:
        answer = None
        request = None

        def __call__(self, **arguments):
            signature.bind(**arguments)  # the arguments must be valid
            self.request = arguments
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

    server = Server()
    monkeypatch.delenv("DEMPSTER_SHARED", raising=False)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", server)
    return server


@pytest.mark.parametrize(
    "error", [URLError("no route"), TimeoutError("slow"), ValueError("withdrawn")]
)
def test_no_network(openml, error, monkeypatch, tmp_path):
    openml.answer = error
    with pytest.raises(OSError, match="'ecoli' is not available") as caught:
        ed.fetch_dataset("ecoli")
    assert isinstance(caught.value, ed.DatasetNotAvailableError)
    message = str(caught.value)
    for part in (
        "DEMPSTER_SHARED is not set",
        "OpenML (data_id 39)",
        str(error),
        "data/ecoli.npz",
    ):
        assert part in message
    monkeypatch.setenv("DEMPSTER_SHARED", str(tmp_path))
    with pytest.raises(
        ed.DatasetNotAvailableError, match=r"there is no file .*ecoli\.npz"
    ):
        ed.fetch_dataset("ecoli")


@pytest.mark.parametrize(
    "name", [name for name, record in CATALOGUE.items() if record.openml_id is None]
)
def test_sets_without_a_download(openml, name):
    openml.answer = AssertionError("should not download")
    with pytest.raises(
        ed.DatasetNotAvailableError,
        match=r"local copy only.*DEMPSTER_SHARED is not set",
    ) as caught:
        ed.fetch_dataset(name)
    assert f"data/{CATALOGUE[name].file_name}" in str(caught.value)


def _answer(labels, n_features, **columns):
    data = pd.DataFrame(
        np.arange(len(labels) * n_features, dtype=float).reshape(
            len(labels), n_features
        )
    )
    data.columns = [f"V{j + 1}" for j in range(n_features)]
    for name, values in columns.items():
        data[name] = values
    return Bunch(data=data, target=pd.Series(labels, name="class").astype("category"))


def test_classes_in_the_order_of_the_catalogue(openml):
    labels = np.repeat(["3", "1", "2"], 70)
    openml.answer = _answer(labels, 7)
    seeds = ed.fetch_dataset("seeds")
    assert openml.request["data_id"] == 1499
    assert seeds.data.shape == (210, 7)
    assert seeds.data.dtype == float
    assert (
        seeds.target_names[seeds.target].tolist()
        == ["Canadian"] * 70 + ["Kama"] * 70 + ["Rosa"] * 70
    )
    assert seeds.feature_names[0] == "V1"
    assert seeds.source == "OpenML (data_id 1499)"


def test_labels_and_columns_of_openml(openml):
    glass = CATALOGUE["glass"]
    labels = np.repeat(
        [f"'{label}'" for label in glass.openml_labels], [70, 76, 17, 13, 9, 29]
    )
    openml.answer = _answer(labels, 9)
    assert np.bincount(ed.fetch_dataset("glass").target).tolist() == [
        70,
        76,
        17,
        13,
        9,
        29,
    ]

    codes = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0, 7.0], [1533, 703, 1358, 626, 707, 1508])
    openml.answer = _answer(codes, 36)
    satellite = ed.fetch_dataset("satellite")
    assert np.bincount(satellite.target).tolist() == [703, 626, 1358, 1533, 707, 1508]
    assert satellite.target_names[satellite.target[0]] == "red soil"

    openml.answer = _answer(
        np.repeat(CATALOGUE["vowel"].class_names, 90),
        10,
        Sex=pd.Categorical(["Male"] * 990),
    )
    assert ed.fetch_dataset("vowel").data.shape == (990, 10)

    openml.answer = _answer(np.repeat([str(k) for k in range(1, 101)], 16), 64)
    assert ed.fetch_dataset("leaves_shape").target_names.tolist() == [
        str(k) for k in range(1, 101)
    ]


def test_invalid_data_of_openml(openml):
    openml.answer = _answer(np.repeat(["1", "2", "3"], 70), 6)
    with pytest.raises(
        ValueError,
        match=r"'seeds' from OpenML \(data_id 1499\) must have .*got .*6 attributes",
    ):
        ed.fetch_dataset("seeds")
    openml.answer = _answer(np.repeat(["1", "2", "x"], 70), 7)
    with pytest.raises(
        ValueError, match=r"'seeds' from OpenML .* unexpected classes \['x'\]"
    ):
        ed.fetch_dataset("seeds")


@pytest.mark.parametrize(
    ("name", "codes"),
    [
        (
            "satellite",
            {"red soil": 1533, "cotton crop": 703, "very damp grey soil": 1508},
        ),
        ("shuttle", {"Rad.Flow": 45586, "High": 8903, "Bypass": 3267}),
    ],
)
def test_order_of_local_classes(local, name, codes):
    found = ed.fetch_dataset(name)
    sizes = dict(
        zip(
            found.target_names.tolist(), np.bincount(found.target).tolist(), strict=True
        )
    )
    assert codes.items() <= sizes.items()


# --- import ---------------------------------------------------------------------------------------


def test_import_is_light():
    code = "import sys, dempster.datasets; print(sorted({'sklearn', 'pandas', 'matplotlib', 'torch'} & set(sys.modules)))"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == "[]"
