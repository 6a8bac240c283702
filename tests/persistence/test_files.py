"""`load` returns exactly the object that `save` wrote; other objects cannot be saved."""

import datetime
import json
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier

import dempster
from dempster import CredalPartition, FocalSets, MassFunctions
from dempster.classify import EKNNClassifier, EvidenceFromClassifier
from dempster.cluster import CCM, ECM, EGMM, EVCLUS, NNEVCLUS, BeliefPeaks
from dempster.constraints import Constraints
from dempster.dissimilarity.neighbors import PointTree
from dempster.metric import KFDA, KPCCA
from dempster.persistence import describe, load, save
from dempster.persistence.schema import schemas_by_name
from tests.cluster.contract import SUBJECTS
from tests.persistence.models import MODELS, TABLE, X, network_model, own_network

pytestmark = pytest.mark.filterwarnings("ignore")
EVERY_MODEL = {
    **{str(subject): (lambda s=subject: (s.fitted(), s.data)) for subject in SUBJECTS},
    **MODELS,
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "object.dempster"


def save_and_load(obj, path, **options):
    save(obj, path)
    return load(path, **options)


def same(a, b):
    """Return whether two values have the same types and exactly the same content."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if (
            a.dtype != b.dtype
            or a.shape != b.shape
            or a.flags.writeable != b.flags.writeable
        ):
            return False
        if a.dtype == object:
            return list(map(same, a.ravel(), b.ravel())).count(False) == 0
        return a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, pd.Index | pd.DataFrame | pd.Series):
        return a.equals(b) and getattr(a, "name", None) == getattr(b, "name", None)
    if isinstance(a, float):
        return a == b or (a != a and b != b)
    if isinstance(a, BaseEstimator):
        return same(a.__getstate__(), b.__getstate__())
    if isinstance(a, PointTree):
        return same(a.points, b.points)  # the tree is built again
    if type(a).__module__.startswith("dempster") and type(a) not in (
        Constraints,
        FocalSets,
    ):
        # cached properties may exist on one side only
        fields = {name for name in vars(a) if name in vars(b)}
        return all(same(vars(a)[name], vars(b)[name]) for name in fields)
    if isinstance(a, np.random.RandomState):
        return same(a.get_state(), b.get_state())
    return type(a).__module__.startswith(
        ("torch", "sklearn.neighbors", "sklearn._")
    ) or repr(a) == repr(b)


def predictions(model, objects):
    results = []
    for method in (
        "predict",
        "predict_mass",
        "predict_set",
        "predict_proba",
        "decide",
        "transform",
    ):
        if hasattr(model, method):
            result = getattr(model, method)(objects)
            results.append(
                result.masses
                if isinstance(result, MassFunctions)
                else np.asarray(result)
            )
    return results


# ---- save and load -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY_MODEL)
def test_every_estimator(name, path):
    model, objects = EVERY_MODEL[name]()
    again = save_and_load(model, path)
    first = path.read_bytes()
    assert type(again) is type(model)
    assert set(vars(again)) == set(vars(model))
    for attribute, value in model.__getstate__().items():
        assert same(value, vars(again)[attribute]), attribute
    expected = predictions(model, objects)
    assert expected
    for a, b in zip(expected, predictions(again, objects), strict=True):
        assert a.dtype == b.dtype
        assert (
            a.tolist() == b.tolist()
            if a.dtype == object
            else a.tobytes() == b.tobytes()
        )
    save(load(path), path)
    assert path.read_bytes() == first
    assert same(clone(again), clone(model))


PARTIAL = [
    s
    for s in SUBJECTS
    if "missing" in s.parameters and s.parameters["missing"].default == "refuse"
]


@pytest.mark.parametrize("subject", PARTIAL, ids=str)
@pytest.mark.parametrize("metric", ["euclidean", "gower"])
def test_models_with_missing_values(subject, metric, path):
    if metric == "gower" and "symmetrize" not in subject.parameters:
        pytest.skip("the estimator needs numeric attributes")
    holes = X.copy()
    holes[3, 1] = holes[40, 0] = np.nan
    if "metric" in subject.parameters:
        changes = {"metric": metric}
    else:
        changes = {}
    model = subject.make(missing="partial", **changes).fit(holes)
    again = save_and_load(model, path)
    assert (
        again.predict_mass(holes).masses.tobytes()
        == model.predict_mass(holes).masses.tobytes()
    )


MODELS_OF_BLOCKS = [
    *(kind(3, random_state=0) for kind in (ECM, CCM, EGMM, EVCLUS)),
    NNEVCLUS(3, random_state=0, max_iter=5),
    BeliefPeaks(3),
]


@pytest.mark.parametrize(
    "model", MODELS_OF_BLOCKS, ids=lambda model: type(model).__name__
)
def test_models_of_blocks_are_saved_without_partition(model, path):
    again = save_and_load(clone(model).fit([X[:30], X[30:]]), path)
    assert not hasattr(again, "credal_partition_")
    expected = clone(model).fit([X[:30], X[30:]])
    for a, b in zip(predictions(again, X), predictions(expected, X), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize(
    ("kind", "more"), [(ECM, {}), (CCM, {}), (EGMM, {}), (EGMM, {"covariance": "own"})]
)
def test_partial_fit_after_loading(kind, more, path):
    model = kind(3, random_state=0, **more).partial_fit(X[::2])
    save(model, path)
    for streamed in (model, again := load(path)):
        streamed.partial_fit(X[1::2])
    assert again.n_samples_seen_ == len(X)
    np.testing.assert_array_equal(
        again.predict_mass(X).masses, model.predict_mass(X).masses
    )


def test_every_public_estimator_has_a_schema():
    from dempster import classify, cluster, metric, mixture

    for package in (classify, cluster, metric, mixture):
        name = package.__name__.split(".")[1]
        classes = {
            kind for kind in package.__all__ if isinstance(getattr(package, kind), type)
        }
        assert classes <= set(schemas_by_name(name))


def test_unfitted_estimator(path):
    again = save_and_load(EVCLUS(4, metric="cosine", d0=0.8), path)
    assert again.get_params() == EVCLUS(4, metric="cosine", d0=0.8).get_params()
    assert not hasattr(again, "credal_partition_")


def test_names_of_features_and_samples(path):
    again = save_and_load(ECM(2, n_init=1, random_state=0).fit(TABLE), path)
    assert again.feature_names_in_.tolist() == list(TABLE.columns)
    assert list(again.credal_partition_.index) == list(TABLE.index)
    assert list(again.predict_mass(TABLE[3:5]).index) == list(TABLE.index[3:5])
    with pytest.raises(ValueError, match="feature names"):
        again.predict(TABLE.rename(columns={"a": "z"}))


def test_shared_and_read_only_arrays(path):
    again = save_and_load(ECM(2, n_init=1, random_state=0).fit(X), path)
    assert (
        again.focal_sets_ is again.credal_partition_.focal_sets is again._model.family
    )
    with pytest.raises(ValueError, match="read-only"):
        again.credal_partition_.masses[0, 0] = 1


def test_values(path):
    family = FocalSets.with_pairs(3, [(0, 1), (1, 2)], omega=False)
    assert save_and_load(family, path) == family
    constraints = Constraints([(0, 4)], [(1, 2), (3, 4)], n_objects=7)
    assert save_and_load(constraints, path) == constraints
    masses = MassFunctions.from_dict(
        [{"a": 1}, {"ab": 0.5, "c": 0.5}], frame="abc", index=["x", "y"]
    )
    again = save_and_load(masses, path)
    assert again.frame == masses.frame
    assert list(again.index) == ["x", "y"]
    assert again.masses.tobytes() == masses.masses.tobytes()


INDICES = {
    "none": None,
    "list": list("uvw"),
    "mixed list": ["u", 1, 2.5],
    "array": np.array([5, 6, 7], dtype=np.int16),
    "positions": pd.RangeIndex(10, 40, 10, name="row"),
    "text": pd.Index(["u", "ü", "\ud800"], name="names", dtype=object),
    "gaps": pd.Index(["u", None, np.nan], dtype=object),
    "numbers": pd.Index([0.1, np.nan, -0.0]),
    "moments": pd.DatetimeIndex(
        ["2024-01-01", None, "1960-05-05 12:00:00.123456"], name="when"
    ),
    "moments elsewhere": pd.DatetimeIndex(
        ["2024-07-01 10:00", "2024-01-01", "2024-03-31 03:30"], tz="Europe/Paris"
    ),
    "objects": pd.date_range("2024-03-30", periods=3, tz="Europe/Paris").astype(object),
    "timestamps": [
        pd.Timestamp("2024-01-01").as_unit(unit) for unit in ("s", "ms", "ns")
    ],
    "categories of moments": pd.CategoricalIndex(pd.date_range("2024", periods=3)),
    "days": [datetime.date(2024, 1, k) for k in (1, 2, 3)],
    "categories": pd.CategoricalIndex(
        ["b", "a", "b"], categories=["b", "a"], ordered=True, name="kind"
    ),
    "levels": pd.MultiIndex.from_tuples(
        [("a", 1), ("a", 2), ("b", 1)], names=["letter", None]
    ),
}


@pytest.mark.parametrize("kind", INDICES)
def test_indices(kind, path):
    partition = CredalPartition(
        np.eye(3),
        FocalSets.from_sets(3, [[0], [1], [2]]),
        INDICES[kind],
        frame=("a", 2, (3, 4)),
    )
    again = save_and_load(partition, path)
    assert same(again.index, partition.index)
    assert getattr(again.index, "dtype", None) == getattr(
        partition.index, "dtype", None
    )
    assert again.frame == partition.frame


def test_range_as_parameter(path):
    model = EKNNClassifier(range(5, 16))
    assert save_and_load(model, path).n_neighbors == range(5, 16)


@pytest.mark.parametrize("n", [0, 1])
def test_partitions_of_few_objects(n, path):
    again = save_and_load(
        CredalPartition(np.ones((n, 1)), FocalSets.from_sets(1, [[0]])), path
    )
    assert (len(again), again.n_clusters) == (n, 1)


def test_metadata_of_a_partition(path):
    metadata = {
        "a": [1, (2, None)],
        3: np.float32(0.1),
        "nan": float("inf"),
        "big": 10**40,
        "set": {1, 2},
    }
    again = save_and_load(
        CredalPartition(
            np.eye(2), FocalSets.from_sets(2, [[0], [1]]), metadata=metadata
        ),
        path,
    )
    assert again.metadata == metadata
    assert type(again.metadata[3]) is np.float32


@pytest.mark.parametrize(
    "bits", [np.random.MT19937, np.random.PCG64, np.random.Philox, np.random.SFC64]
)
def test_random_generators(bits, path):
    rng = np.random.Generator(bits(5))
    rng.normal(size=3)
    rng.integers(5, dtype=np.int32)
    again = save_and_load(ECM(2, random_state=rng), path).random_state
    assert again.normal(size=4).tolist() == rng.normal(size=4).tolist()
    assert (
        again.integers(1000, size=9, dtype=np.int32).tolist()
        == rng.integers(1000, size=9, dtype=np.int32).tolist()
    )


def test_describe(path):
    save(ECM(2), path)
    found = describe(path)
    assert (found["kind"], found["version"], found["library"]) == (
        "ECM",
        1,
        dempster.__version__,
    )
    assert found["numpy"] == np.__version__
    with zipfile.ZipFile(path) as archive:
        assert (
            json.loads(archive.read("dempster.json"))["written_by"]
            == "dempster.persistence.save"
        )


def test_optimized_python(path):
    """``python -OO`` has neither docstrings nor assertions."""
    code = """
import sys
import numpy as np
from dempster.classify import EKNNClassifier
from dempster.cluster import ECM, EVCLUS
from dempster.persistence import load, save
X = np.random.default_rng(0).normal(size=(40, 2)); X[20:] += 5
for model in (ECM(2, n_init=1, random_state=0), EVCLUS(2, n_init=1, random_state=0), EKNNClassifier(3)):
    model.fit(X, np.arange(40) // 20)
    save(model, sys.argv[1])
    assert_same = load(sys.argv[1]).predict_mass(X).masses.tobytes() == model.predict_mass(X).masses.tobytes()
    print(type(model).__name__, assert_same)
model = ECM(2, n_init=1, random_state=0).fit(X)
object.__setattr__(model._model, "centers", model._model.centers[:, :1])
object.__setattr__(model._model, "metrics", np.ones((2, 2, 2)))
save(model, sys.argv[1])
try:
    load(sys.argv[1])
except ValueError as error:
    print("metrics must be" in str(error))
"""
    found = [
        subprocess.run(
            [sys.executable, *flags, "-c", code, path],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for flags in ([], ["-OO"])
    ]
    assert found == ["ECM True\nEVCLUS True\nEKNNClassifier True\nTrue\n"] * 2


def test_pickle_and_joblib(tmp_path):
    joblib = pytest.importorskip("joblib")
    for name in (
        "ECM",
        "EVCLUS",
        "EKNNClassifier",
        "NNEVCLUS",
        "EVCLUS, mixed",
        "PCCA",
    ):
        model, objects = EVERY_MODEL[name]()
        joblib.dump(model, tmp_path / "model.joblib")
        for again in (
            pickle.loads(pickle.dumps(model)),
            joblib.load(tmp_path / "model.joblib"),
        ):
            for a, b in zip(
                predictions(model, objects), predictions(again, objects), strict=True
            ):
                assert a.tobytes() == b.tobytes()


# ---- networks of torch ---------------------------------------------------------------------------


def test_own_torch_network(path):
    torch = pytest.importorskip("torch")
    model = network_model(own_network)
    save(model, path)
    with pytest.raises(
        ValueError, match=r"your own torch network \(Sequential\).*load\(path, network="
    ):
        load(path)
    again = load(path, network=own_network())
    assert (
        again.predict_mass(X).masses.tobytes() == model.predict_mass(X).masses.tobytes()
    )
    with pytest.raises(ValueError, match=r"\bnetwork\b"):
        load(path, network=torch.nn.Linear(4, 4))


# ---- objects that cannot be saved ----------------------------------------------------------------


class Subclass(ECM):
    pass


def own_metric(a, b):
    return float(np.abs(a - b).sum())


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (
            EVCLUS(2, metric=own_metric),
            r"EVCLUS\.metric .* function or class own_metric",
        ),
        (
            EvidenceFromClassifier(RandomForestClassifier()),
            r"EvidenceFromClassifier\.estimator .*RandomForestClas",
        ),
        (
            NNEVCLUS(2, outlier_detector=object()),
            r"NNEVCLUS\.outlier_detector .* builtins\.object",
        ),
        (ECM(np.ma.masked_array([1])), r"ECM\.n_clusters"),
        (ECM(np.zeros(1, dtype="i4,i4")), r"ECM\.n_clusters .* array of"),
        (RandomForestClassifier(), "obj must be an estimator of dempster"),
        ({"a": 1}, r"obj must be .* got builtins\.dict"),
        (ECM, "obj must be .* got builtins.type"),
        (Subclass(2), "Subclass"),
    ],
)
def test_unsupported_objects(obj, words, path):
    with pytest.raises(TypeError, match=words) as caught:
        save(obj, path)
    assert "\n" not in str(caught.value)
    assert not list(path.parent.iterdir())


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".pkl", ".RDS"])
def test_extensions_of_other_formats(suffix, tmp_path):
    with pytest.raises(ValueError, match=r"use \.dempster"):
        save(ECM(2), tmp_path / f"model{suffix}")


def test_failed_save_keeps_the_former_file(path):
    save(ECM(2), path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        save(EVCLUS(2, metric=own_metric), path)
    assert path.read_bytes() == before
    assert len(list(path.parent.iterdir())) == 1


@pytest.mark.parametrize("learner", [KFDA, KPCCA])
def test_kernel_metric_learners(tmp_path, learner):
    X = np.random.default_rng(0).normal(size=(30, 3))
    model = learner().fit(X, np.arange(30) % 2)
    save(model, tmp_path / "model.dempster")
    loaded = load(tmp_path / "model.dempster")
    assert same(model.transform(X), loaded.transform(X))
