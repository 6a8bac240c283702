"""Export to ONNX: onnxruntime computes the same masses as the library.

The tolerance is 1e-5 in single precision and 1e-6 in double precision.
"""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import OneClassSVM

import dempster
from dempster import FocalSets, MassFunctions
from dempster.apps.recipe import TableModel, choose_attributes
from dempster.classify import (
    EKNNClassifier,
    EvidenceFromClassifier,
    EvidentialNeuralNetworkClassifier,
    EvidentialRBFClassifier,
)
from dempster.cluster import (
    BPEC,
    CCM,
    CECM,
    ECM,
    EGMM,
    EVCLUS,
    MECM,
    NNEVCLUS,
    BeliefPeaks,
    CredalClustering,
    FuzzyCMeans,
    NoiseClustering,
)
from dempster.constraints import Constraints
from dempster.onnx import to_onnx
from dempster.persistence import load, save
from tests.apps.cli.test_commands import run

onnx = pytest.importorskip("onnx", reason="the extra 'onnx' is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")

TOLERANCE = {"float32": 1e-5, "float64": 1e-6}


def blobs(c, p=3, n=120):
    rng = np.random.default_rng(c)
    y = np.arange(n) % c
    return rng.normal(0, 6, (c, p))[y] + rng.normal(size=(n, p)), y


def run_onnx(model, X):
    """Return the masses and labels by onnxruntime."""
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    assert [output.name for output in session.get_outputs()] == ["masses", "labels"]
    return session.run(None, {"X": X})


def metadata(model):
    (found,) = (entry for entry in model.metadata_props if entry.key == "dempster")
    return json.loads(found.value)


def around(X):
    """Return training rows, rows between them, and distant rows."""
    return np.vstack(
        [
            X,
            X[::10].mean(axis=0),
            (X[:20] + X[20:40]) / 2,
            X[:15] * 3,
            X[:3] * 1e4,
            X[:1] * 0,
        ]
    )


def assert_same(estimator, objects, dtype="float32"):
    """Check masses, and labels except for ties."""
    model = to_onnx(estimator, dtype=dtype)
    X = objects.astype(dtype)
    masses, labels = run_onnx(model, X)
    wanted = estimator.predict_mass(
        X if isinstance(estimator, EVCLUS | CECM) else X.astype(float)
    )
    assert masses.dtype == dtype
    np.testing.assert_allclose(masses, wanted.masses, rtol=0, atol=TOLERANCE[dtype])
    is_classifier = hasattr(estimator, "classes_")
    if is_classifier:
        scores = estimator.predict_proba(X)
    else:
        scores = wanted.contour
    first, second = np.sort(scores, axis=1)[:, :-3:-1].T
    clear = first - second > 1e-4
    if is_classifier:
        found = estimator.classes_[labels]
    else:
        found = labels
    np.testing.assert_array_equal(found[clear], estimator.predict(X)[clear])
    assert clear.mean() >= 0.5
    assert run_onnx(model, X[:0])[0].shape == (0, masses.shape[1])
    np.testing.assert_allclose(run_onnx(model, X[:1])[0], masses[:1], atol=1e-6)
    return model


# ---- clusterers ----------------------------------------------------------------------------------

SETTINGS = {
    "ECM": (ECM, {}),
    "ECM, all sets": (ECM, {"focal_sets": "full", "beta": 2.0}),
    "ECM, pairs": (ECM, {"focal_sets": "pairs", "beta": 4.0, "alpha": 2.0}),
    "ECM, no outliers": (ECM, {"focal_sets": None}),
    "ECM, adaptive": (ECM, {"metric": "adaptive"}),
    "ECM, adaptive pairs": (ECM, {"metric": "adaptive", "focal_sets": "pairs"}),
    "CCM": (CCM, {}),
    "CCM, all sets": (CCM, {"focal_sets": "full", "gamma": 3.0}),
    "CECM": (CECM, {}),
    "BPEC": (BPEC, {}),
    "FuzzyCMeans": (FuzzyCMeans, {}),
    "NoiseClustering": (NoiseClustering, {}),
    "EGMM": (EGMM, {}),
    "EGMM, pairs": (EGMM, {"focal_sets": "pairs"}),
    "EGMM, own": (EGMM, {"covariance": "own", "reg_covar": 1e-3}),
    "EGMM, t": (EGMM, {"distribution": "t"}),
    "EGMM, t, own": (EGMM, {"distribution": "t", "covariance": "own"}),
    "EGMM, t, pairs": (EGMM, {"distribution": "t", "focal_sets": "pairs"}),
    "EVCLUS": (EVCLUS, {}),
    "EVCLUS, landmarks": (EVCLUS, {"sampling": "landmarks", "n_landmarks": 40}),
    "NNEVCLUS": (NNEVCLUS, {"max_iter": 10, "tol": 0.0}),
    "NNEVCLUS, detector": (
        NNEVCLUS,
        {"max_iter": 10, "tol": 0.0, "outlier_detector": "one-class-svm"},
    ),
    "NNEVCLUS, layers": (
        NNEVCLUS,
        {"max_iter": 10, "tol": 0.0, "network": (6, 5), "focal_sets": "simple"},
    ),
}


def clusterer(name, c):
    kind, settings = SETTINGS[name]
    if settings.get("focal_sets", "") is None:
        settings = {"focal_sets": FocalSets.pairs(c, empty=False)}
    if kind is BPEC:
        few = {}
    else:
        few = {"n_init": 2}
    return kind(c, random_state=0, n_jobs=1, **few, **settings)


@pytest.mark.parametrize(
    "c",
    [
        3,
        pytest.param(2, marks=pytest.mark.long),
        pytest.param(6, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("name", SETTINGS)
def test_clusterers(name, c):
    X, _ = blobs(c)
    estimator = clusterer(name, c).fit(X)
    model = assert_same(estimator, around(X))
    assert metadata(model)["clusters"] == list(range(c))
    if c == 3:
        assert_same(estimator, around(X), "float64")


@pytest.mark.parametrize(
    ("c", "focal_sets"),
    [(2, "simple"), (3, "simple"), (4, "selected"), (4, "full"), (6, "pairs")],
)
def test_quadratic_programs(c, focal_sets):
    """The graph uses double precision, the library the precision of X."""
    X, _ = blobs(c)
    estimator = EVCLUS(
        c, focal_sets=focal_sets, d0_quantile=0.6, n_init=1, random_state=0
    ).fit(X)
    objects = (around(X) + 1e-3).astype(np.float32)
    masses, _ = run_onnx(to_onnx(estimator), objects)
    wanted = estimator.predict_mass(objects.astype(float)).masses
    np.testing.assert_allclose(masses, wanted, rtol=0, atol=1e-5)
    assert_same(estimator, around(X), "float64")


def test_rows_equal_to_prototypes():
    X, _ = blobs(3)
    choices = [{}, {"focal_sets": "full", "beta": 2.0}]
    choices += [{"metric": "adaptive"}, {"metric": "cosine"}]
    for settings in choices:
        estimator = ECM(3, n_init=2, random_state=0, **settings).fit(X)
        centers = estimator.cluster_centers_
        masses, labels = run_onnx(to_onnx(estimator, dtype="float64"), centers)
        single = masses[np.arange(3), estimator.focal_sets_.singleton_index]
        np.testing.assert_allclose(single, 1, atol=1e-9)
        assert labels.tolist() == [0, 1, 2]
        assert_same(estimator, np.repeat(centers, 2, axis=0))
    # two almost equal prototypes
    twice = BPEC(
        3, init=[[0.0, 0.0], [1e-200, 0.0], [5.0, 5.0]], focal_sets="pairs"
    ).fit(X[:, :2])
    assert_same(twice, np.array([[0.0, 0.0], [5.0, 5.0], [1.0, 0.0], [5.0, 4.0]]))


def test_training_rows():
    X, _ = blobs(3)
    X = X.astype(np.float32)
    links = Constraints(
        must_link=[(0, 1)], cannot_link=[(0, 3), (2, 4)], n_objects=len(X)
    )
    estimators = (
        EVCLUS(3, n_init=2, random_state=0),
        EVCLUS(3, focal_sets="simple", n_init=2, random_state=0),
    )
    estimators += (CECM(3, n_init=2, random_state=0), NNEVCLUS(3, random_state=0))
    for estimator in estimators:
        estimator.fit(X, constraints=links)
        masses, _ = run_onnx(to_onnx(estimator), X)
        np.testing.assert_allclose(
            masses, estimator.credal_partition_.masses, atol=1e-5
        )
        near = X + np.float32(0.01)
        assert_same(estimator, near)
        assert_same(estimator, near, "float64")


@pytest.mark.parametrize("weights", ["whole", "any"])
def test_weighted_landmarks(weights):
    X, _ = blobs(3)
    rng = np.random.default_rng(0)
    if weights == "whole":
        w = rng.integers(1, 5, len(X))
    else:
        w = rng.uniform(0.3, 2, len(X))
    estimator = EVCLUS(3, n_init=2, random_state=0).fit(X, sample_weight=w)
    for dtype in TOLERANCE:
        assert_same(estimator, around(X), dtype)


def test_data_far_from_zero():
    X, y = blobs(3)
    objects = (around(X)[:-4] + 2000).astype(np.float32)
    clusterers = [ECM(3, n_init=2, random_state=0), EGMM(3, n_init=2, random_state=0)]
    for estimator in (
        *clusterers,
        EKNNClassifier(3),
        EvidentialNeuralNetworkClassifier(n_init=1, random_state=0),
    ):
        estimator.fit(X + 2000, y)
        masses, _ = run_onnx(to_onnx(estimator), objects)
        np.testing.assert_allclose(
            masses, estimator.predict_mass(objects.astype(float)).masses, atol=1e-5
        )


def test_many_features():
    X, y = blobs(3, p=50)
    for settings in ({}, {"metric": "adaptive"}):
        assert_same(ECM(3, n_init=2, random_state=0, **settings).fit(X), around(X))
    assert_same(EVCLUS(3, n_init=2, random_state=0).fit(X), around(X))
    assert_same(EvidentialRBFClassifier(n_init=1, random_state=0).fit(X, y), around(X))


def test_one_cluster_and_one_feature():
    X, _ = blobs(2, p=1)
    assert_same(ECM(2, n_init=2, random_state=0).fit(X), around(X))
    assert_same(EVCLUS(2, n_init=2, random_state=0).fit(X), around(X))
    for estimator in (ECM(1, random_state=0).fit(X), EGMM(1, random_state=0).fit(X)):
        masses, labels = run_onnx(to_onnx(estimator), X.astype(np.float32))
        np.testing.assert_allclose(masses, estimator.predict_mass(X).masses, atol=1e-5)
        assert not labels.any()


def test_partial_fit():
    X, _ = blobs(3)
    estimator = ECM(3, n_init=2, random_state=0)
    for block in np.array_split(X, 3):
        estimator.partial_fit(block)
    assert_same(estimator, around(X))


@pytest.mark.parametrize("convention", ["program", "paper"])
def test_outlier_detectors(convention):
    X, _ = blobs(3)
    detector = OneClassSVM(nu=0.1)
    settings = {
        "max_iter": 10,
        "tol": 0.0,
        "focal_sets": "simple",
        "outlier_detector": detector,
    }
    assert_same(
        NNEVCLUS(3, random_state=0, convention=convention, **settings).fit(X), around(X)
    )
    estimator = NNEVCLUS(
        3,
        random_state=0,
        **{**settings, "outlier_detector": IsolationForest(random_state=0)},
    ).fit(X)
    with pytest.raises(TypeError, match=r"\boutlier_detector\b"):
        to_onnx(estimator)


# ---- classifiers ---------------------------------------------------------------------------------

CLASSIFIERS = {
    "neighbors": lambda: EKNNClassifier(5),
    "neighbors, minkowski": lambda: EKNNClassifier(3, metric="minkowski"),
    "prototypes": lambda: EvidentialNeuralNetworkClassifier(
        n_init=1, max_iter=50, random_state=0
    ),
    "radial basis": lambda: EvidentialRBFClassifier(
        n_init=1, max_iter=50, random_state=0
    ),
    "radial basis, simple": lambda: EvidentialRBFClassifier(
        n_init=1, max_iter=50, focal_sets="simple", random_state=0
    ),
    "logistic": EvidenceFromClassifier,
    "logistic, simple": lambda: EvidenceFromClassifier(focal_sets="simple"),
    "discriminant": lambda: EvidenceFromClassifier(LinearDiscriminantAnalysis()),
    "perceptron": lambda: EvidenceFromClassifier(
        MLPClassifier((6, 5), max_iter=20, random_state=0)
    ),
    "perceptron, tanh": lambda: EvidenceFromClassifier(
        MLPClassifier(5, activation="tanh", max_iter=20, random_state=0)
    ),
    "perceptron, logistic": lambda: EvidenceFromClassifier(
        make_pipeline(
            StandardScaler(),
            MLPClassifier(5, activation="logistic", max_iter=20, random_state=0),
        )
    ),
    "pipeline": lambda: EvidenceFromClassifier(
        make_pipeline(
            MinMaxScaler(clip=True), PCA(2, whiten=True), LogisticRegression()
        )
    ),
}


@pytest.mark.parametrize("c", [2, 3, 6])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name, c):
    X, y = blobs(c)
    names = np.array([f"class {k}" for k in range(c)])
    estimator = CLASSIFIERS[name]().fit(X, names[y])
    model = assert_same(estimator, around(X))
    assert metadata(model)["classes"] == names.tolist()
    if c == 3:
        assert_same(estimator, around(X), "float64")


def test_soft_labels_and_precomputed_distances():
    X, y = blobs(3)
    masses = np.full((len(X), 3), 0.1)
    masses[np.arange(len(X)), y] = 0.5
    family = FocalSets.from_sets(3, [(0,), (1,), (2,), (0, 1), (0, 1, 2)])
    soft = MassFunctions(
        np.hstack([masses, np.full((len(X), 1), 0.2), np.full((len(X), 1), 0.1)]),
        family,
    )
    for dtype in TOLERANCE:
        assert_same(EKNNClassifier(4).fit(X, soft), around(X), dtype)
    D = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
    assert_same(EKNNClassifier(4, metric="precomputed").fit(D, y), D)


# ---- networks of torch ---------------------------------------------------------------------------


def own_networks(n_outputs):
    """Yield sequential networks, and a network that torch must export."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    nn = torch.nn

    class Residual(nn.Module):
        def __init__(self):
            super().__init__()
            self.inside = nn.Linear(3, 3)
            self.last = nn.Linear(3, n_outputs)

        def forward(self, x):
            return self.last(x + nn.functional.gelu(self.inside(x)))

    plain = [
        nn.Linear(3, 5),
        nn.ReLU(),
        nn.Dropout(),
        nn.Sequential(nn.Linear(5, 4), nn.Tanh()),
    ]
    normed = [nn.Linear(3, 5, bias=False), nn.BatchNorm1d(5), nn.Sigmoid()]
    yield nn.Sequential(*plain, nn.Linear(4, n_outputs))
    yield nn.Sequential(*normed, nn.Linear(5, n_outputs)).double()
    yield Residual()


def test_torch_networks():
    X, y = blobs(2)
    family = FocalSets.full(2)
    for network, detector in zip(
        own_networks(len(family)), (None, "one-class-svm", None), strict=True
    ):
        settings = {
            "focal_sets": family,
            "outlier_detector": detector,
            "max_iter": 2,
            "tol": 0.0,
            "random_state": 0,
        }
        assert_same(NNEVCLUS(2, network=network, **settings).fit(X), around(X))
    for network in [*own_networks(2)][-1:]:
        assert_same(
            EvidenceFromClassifier(network.eval(), prefit=True).fit(X, y),
            around(X)[:-4],
        )


@pytest.mark.long
def test_images():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    images = np.random.default_rng(0).normal(size=(40, 1, 4, 4)).astype(np.float32)
    images[:20, 0, :2] += 4
    layers = (
        torch.nn.Conv2d(1, 3, 2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(27, 4),
    )
    settings = {
        "max_iter": 5,
        "tol": 0.0,
        "random_state": 0,
        "outlier_detector": "one-class-svm",
    }
    estimator = NNEVCLUS(
        2,
        focal_sets=FocalSets.full(2),
        network=torch.nn.Sequential(*layers),
        **settings,
    )
    model = assert_same(estimator.fit(images), images)
    assert [d.dim_value for d in model.graph.input[0].type.tensor_type.shape.dim] == [
        0,
        1,
        4,
        4,
    ]


def test_networks_that_torch_cannot_export():
    torch = pytest.importorskip("torch")

    class Strange(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.last = torch.nn.Linear(3, 4)

        def forward(self, x):
            return self.last(torch.special.bessel_j0(x))

    X, _ = blobs(2)
    settings = {"max_iter": 2, "tol": 0.0, "random_state": 0}
    estimator = NNEVCLUS(
        2, focal_sets=FocalSets.full(2), network=Strange(), **settings
    ).fit(X)
    with pytest.raises(ValueError, match=r"\btorch\b"):
        to_onnx(estimator)


# ---- pipelines and tables ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False), PCA(2)],
        [RobustScaler(), MinMaxScaler((-1, 1))],
        [MaxAbsScaler(), "passthrough", make_pipeline(StandardScaler(with_std=False))],
    ],
    ids=["standard", "components", "robust", "nested"],
)
def test_pipelines(steps):
    X, y = blobs(3)
    for final in (ECM(3, n_init=2, random_state=0), EKNNClassifier(3)):
        pipeline = make_pipeline(*steps, final).fit(X, y)
        objects = around(X)[:-4].astype(np.float32)
        masses, _ = run_onnx(to_onnx(pipeline), objects)
        wanted = pipeline[-1].predict_mass(pipeline[:-1].transform(objects)).masses
        np.testing.assert_allclose(masses, wanted, atol=2e-5)


def test_table_model():
    X, _ = blobs(3)
    table = pd.DataFrame(
        X * [1, 100, 0.01] + [5, 0, 0], columns=["length", "width", "height"]
    ).assign(name="word")
    attributes = choose_attributes(table)
    model = TableModel(
        ECM(3, n_init=2, random_state=0).fit(attributes.values), attributes.preparation
    )
    found = to_onnx(model)
    assert metadata(found)["features"] == ["length", "width", "height"]
    masses, _ = run_onnx(found, table[metadata(found)["features"]].to_numpy(np.float32))
    np.testing.assert_allclose(masses, model.predict_mass(table).masses, atol=1e-5)
    mixed = choose_attributes(table.assign(name=list("ab") * 60), categories=["name"])
    estimator = EVCLUS(2, metric="gower", n_init=1, random_state=0).fit(mixed.values)
    with pytest.raises(
        ValueError, match="only numeric columns to be exported; .name. contains"
    ):
        to_onnx(TableModel(estimator, mixed.preparation))


# ---- the file ------------------------------------------------------------------------------------


def test_metadata_and_file(tmp_path):
    X, _ = blobs(3)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    estimator = ECM(3, n_init=2, random_state=0).fit(table)
    model = to_onnx(estimator, tmp_path / "model.onnx")
    assert metadata(model) == {
        "version": dempster.__version__,
        "estimator": "ECM",
        "features": ["a", "b", "c"],
        "clusters": [0, 1, 2],
        "sets": [list(members) for members in estimator.focal_sets_],
        "set_names": estimator.focal_sets_.names(),
    }
    assert (model.producer_name, model.producer_version) == (
        "dempster",
        dempster.__version__,
    )
    written = onnx.load(tmp_path / "model.onnx")
    onnx.checker.check_model(written, full_check=True)
    assert written == model
    shapes = [
        [d.dim_value or d.dim_param for d in o.type.tensor_type.shape.dim]
        for o in written.graph.output
    ]
    assert shapes == [["n", len(estimator.focal_sets_)], ["n"]]
    first = (tmp_path / "model.onnx").read_bytes()
    save(estimator, tmp_path / "model.dempster")
    to_onnx(load(tmp_path / "model.dempster"), tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == first
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "model.dempster",
        "model.onnx",
    ]


def test_model_of_the_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = blobs(3)
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
        kind=[f"kind {k}" for k in y]
    )
    table.to_csv("table.csv", index=False)
    run(
        "cluster",
        "table.csv",
        "-c",
        3,
        "--method",
        "ecm",
        "-o",
        "found.csv",
        "--save-model",
        "model.dempster",
        "-q",
    )
    model = load("model.dempster")
    masses, _ = run_onnx(to_onnx(model), X.astype(np.float32))
    np.testing.assert_allclose(masses, model.predict_mass(table).masses, atol=1e-5)


# ---- errors --------------------------------------------------------------------------------------


def test_errors(tmp_path):
    X, y = blobs(3)
    ecm = ECM(3, n_init=1, random_state=0).fit(X)
    with pytest.raises(
        TypeError,
        match="must be one of BPEC, .*, or a Pipeline or TableModel of one, got KMeans",
    ):
        to_onnx(KMeans(2, n_init=1).fit(X))
    for other in (
        MECM(2, n_init=1, random_state=0).fit(X),
        BeliefPeaks().fit(X),
        CredalClustering(2, random_state=0).fit(X),
        ecm.credal_partition_,
        None,
    ):
        with pytest.raises(
            TypeError,
            match=f"ECM, .*EvidentialRBFClassifier, .*, got {type(other).__name__}",
        ):
            to_onnx(other)
    for steps in ([], [("same", "passthrough")]):
        with pytest.raises(TypeError, match="^estimator must be one of"):
            to_onnx(Pipeline(steps))
    with pytest.raises(NotFittedError):
        to_onnx(ECM(2))
    with pytest.raises(NotFittedError):
        to_onnx(make_pipeline(StandardScaler(), ECM(2)))
    with pytest.raises(ValueError, match=r"\bdtype\b"):
        to_onnx(ecm, dtype="float16")
    with pytest.raises(
        ValueError,
        match=r"path must be a file with the extension \.onnx, got .*\.dempster",
    ):
        to_onnx(ecm, tmp_path / "model.dempster")
    with pytest.raises(ValueError, match=r"use \.dempster"):
        save(ecm, tmp_path / "model.onnx")
    with pytest.raises(
        ValueError, match="metric must be 'euclidean' to export EVCLUS, got 'cosine'"
    ):
        to_onnx(EVCLUS(2, metric="cosine", n_init=1, random_state=0).fit(X))
    with pytest.raises(
        ValueError, match="metric must be 'euclidean' .*, got 'precomputed'"
    ):
        to_onnx(
            EVCLUS(2, metric="precomputed", n_init=1, random_state=0).fit(
                np.abs(X[:, :1] - X[:, 0])
            )
        )
    with pytest.raises(ValueError, match="metric must be .*, got 'manhattan'"):
        to_onnx(EKNNClassifier(3, metric="manhattan").fit(X, y))
    with pytest.raises(ValueError, match="got <function"):
        to_onnx(
            EKNNClassifier(3, metric=lambda a, b: float(np.abs(a - b).sum())).fit(
                X[:30], y[:30]
            )
        )
    with pytest.raises(
        TypeError,
        match="the step 'polynomialfeatures' of the pipeline must be one of StandardScaler",
    ):
        to_onnx(
            make_pipeline(PolynomialFeatures(), ECM(2, n_init=1, random_state=0)).fit(X)
        )
    assert not list(tmp_path.iterdir())


def test_missing_values():
    X, _ = blobs(3)
    holes = X.copy()
    holes[::7, 1] = np.nan
    estimator = ECM(3, missing="partial", n_init=1, random_state=0).fit(holes)
    masses, _ = run_onnx(to_onnx(estimator), holes.astype(np.float32))
    complete = ~np.isnan(holes).any(axis=1)
    np.testing.assert_allclose(
        masses[complete], estimator.predict_mass(holes).masses[complete], atol=1e-5
    )
    assert np.isnan(masses[~complete]).all()
    with pytest.raises(ValueError, match=r"\blandmarks\b"):
        to_onnx(EVCLUS(3, missing="partial", n_init=1, random_state=0).fit(holes))


def test_without_the_extra(monkeypatch):
    X, _ = blobs(2)
    estimator = ECM(2, n_init=1, random_state=0).fit(X)
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(ImportError, match=r"\bto_onnx\b"):
        to_onnx(estimator)
