"""save and load: what comes back is what was written, to the bit, and nothing else is ever taken for a file."""

import hashlib
import io
import json
import pickle
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
from dempster.dissimilarity.point_tree import PointTree
from dempster.persistence import describe, load, save
from dempster.persistence.schema import schemas_by_name
from tests.cluster.contract import SUBJECTS
from tests.io.models import CLASSES, MODELS, TABLE, X, network_model, own_network

pytestmark = pytest.mark.filterwarnings("ignore")
EVERY_MODEL = {**{str(subject): (lambda s=subject: (s.fitted(), s.data)) for subject in SUBJECTS}, **MODELS}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "object.dempster"


def there_and_back(obj, path, **options):
    save(obj, path)
    return load(path, **options)


def same(a, b):
    """Whether two values are the same, down to the bits of their arrays, and of the same types."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        if a.dtype != b.dtype or a.shape != b.shape or a.flags.writeable != b.flags.writeable:
            return False
        return (
            list(map(same, a.ravel(), b.ravel())).count(False) == 0 if a.dtype == object else a.tobytes() == b.tobytes()
        )
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
        return same(a.points, b.points)  # what it has built, and room that it has not filled
    if type(a).__module__.startswith("dempster") and type(a) not in (Constraints, FocalSets):
        fields = {name for name in vars(a) if name in vars(b)}  # cached properties may be there on one side only
        return all(same(vars(a)[name], vars(b)[name]) for name in fields)
    if isinstance(a, np.random.RandomState):
        return same(a.get_state(), b.get_state())
    return type(a).__module__.startswith(("torch", "sklearn.neighbors", "sklearn._")) or repr(a) == repr(b)


def answers(model, objects):
    """All that a fitted estimator can be asked about objects."""
    found = []
    for question in ("predict", "predict_mass", "predict_proba", "decide", "transform"):
        if hasattr(model, question):
            answer = getattr(model, question)(objects)
            found.append(answer.masses if isinstance(answer, MassFunctions) else np.asarray(answer))
    return found


# ---- there and back -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY_MODEL)
def test_every_estimator_comes_back_to_the_bit(name, path):
    model, objects = EVERY_MODEL[name]()
    again = there_and_back(model, path)
    first = path.read_bytes()
    assert type(again) is type(model)
    assert set(vars(again)) == set(vars(model))
    for attribute, value in model.__getstate__().items():
        assert same(value, vars(again)[attribute]), attribute
    wanted, found = answers(model, objects), answers(again, objects)
    assert wanted
    for a, b in zip(wanted, found, strict=True):
        assert a.dtype == b.dtype
        assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
    save(load(path), path)
    assert path.read_bytes() == first
    assert same(clone(again), clone(model))


PARTIAL = [s for s in SUBJECTS if "missing" in s.parameters and s.parameters["missing"].default == "refuse"]


@pytest.mark.parametrize("subject", PARTIAL, ids=str)
@pytest.mark.parametrize("metric", ["euclidean", "gower"])
def test_what_missing_cells_count_for_comes_back(subject, metric, path):
    """Models of dissimilarities keep variances of the attributes for it."""
    if metric == "gower" and "symmetrize" not in subject.parameters:
        pytest.skip("it knows attributes that are numbers only")
    holes = X.copy()
    holes[3, 1] = holes[40, 0] = np.nan
    changes = {"metric": metric} if "metric" in subject.parameters else {}
    model = subject.make(missing="partial", **changes).fit(holes)
    again = there_and_back(model, path)
    assert again.predict_mass(holes).masses.tobytes() == model.predict_mass(holes).masses.tobytes()


@pytest.mark.parametrize("kind", [ECM, CCM, EGMM, EVCLUS, NNEVCLUS])
def test_a_model_of_blocks_comes_back_without_the_objects(kind, path):
    few = {"max_iter": 5} if kind is NNEVCLUS else {}
    model = kind(3, random_state=0, **few).fit([X[:30], X[30:]])
    save(model, path)
    loaded = load(path)
    assert not hasattr(loaded, "credal_partition_")
    np.testing.assert_array_equal(loaded.predict_mass(X).masses, model.predict_mass(X).masses)


def test_peaks_of_blocks_come_back_without_the_objects(path):
    model = BeliefPeaks(3).fit([X[:30], X[30:]])
    save(model, path)
    np.testing.assert_array_equal(load(path).predict(X), model.predict(X))


@pytest.mark.parametrize("kind", [ECM, CCM, EGMM])
def test_a_stream_goes_on_after_loading(kind, path):
    model = kind(3, random_state=0).partial_fit(X[::2])
    save(model, path)
    for streamed in (model, again := load(path)):
        streamed.partial_fit(X[1::2])
    assert again.n_samples_seen_ == len(X)
    np.testing.assert_array_equal(again.predict_mass(X).masses, model.predict_mass(X).masses)


def test_every_public_estimator_is_in_the_tables():
    from dempster import classify, cluster, metric, mixture

    for package in (classify, cluster, metric, mixture):
        name = package.__name__.split(".")[1]
        classes = {kind for kind in package.__all__ if isinstance(getattr(package, kind), type)}
        assert classes <= set(schemas_by_name(name))


def test_an_estimator_that_is_not_fitted(path):
    again = there_and_back(EVCLUS(4, metric="cosine", d0=0.8), path)
    assert again.get_params() == EVCLUS(4, metric="cosine", d0=0.8).get_params()
    assert not hasattr(again, "credal_partition_")


def test_names_of_attributes_and_objects_are_kept(path):
    again = there_and_back(ECM(2, n_init=1, random_state=0).fit(TABLE), path)
    assert again.feature_names_in_.tolist() == list(TABLE.columns)
    assert list(again.credal_partition_.index) == list(TABLE.index)
    assert list(again.predict_mass(TABLE[3:5]).index) == list(TABLE.index[3:5])
    with pytest.raises(ValueError, match="feature names"):
        again.predict(TABLE.rename(columns={"a": "z"}))


def test_what_is_shared_stays_shared_and_frozen(path):
    again = there_and_back(ECM(2, n_init=1, random_state=0).fit(X), path)
    assert again.focal_sets_ is again.credal_partition_.focal_sets is again._model.family
    with pytest.raises(ValueError, match="read-only"):
        again.credal_partition_.masses[0, 0] = 1


def test_values(path):
    family = FocalSets.neighbors([[0.0], [1.0], [3.0]])
    assert there_and_back(family, path) == family
    known = Constraints([(0, 4)], [(1, 2), (3, 4)], n_objects=7)
    assert there_and_back(known, path) == known
    said = MassFunctions.from_dict([{"a": 1}, {"ab": 0.5, "c": 0.5}], frame="abc", index=["x", "y"])
    again = there_and_back(said, path)
    assert again.frame == said.frame
    assert list(again.index) == ["x", "y"]
    assert again.masses.tobytes() == said.masses.tobytes()


INDICES = {
    "none": None,
    "list": list("uvw"),
    "mixed list": ["u", 1, 2.5],
    "array": np.array([5, 6, 7], dtype=np.int16),
    "positions": pd.RangeIndex(10, 40, 10, name="row"),
    "text": pd.Index(["u", "ü", "\ud800"], name="names", dtype=object),
    "gaps": pd.Index(["u", None, np.nan], dtype=object),
    "numbers": pd.Index([0.1, np.nan, -0.0]),
    "moments": pd.DatetimeIndex(["2024-01-01", None, "1960-05-05 12:00:00.123456"], name="when"),
    "moments elsewhere": pd.DatetimeIndex(["2024-07-01 10:00", "2024-01-01", "2024-03-31 03:30"], tz="Europe/Paris"),
    "durations": pd.TimedeltaIndex(["1 day", "2h", None]),
    "categories": pd.CategoricalIndex(["b", "a", "b"], categories=["b", "a"], ordered=True, name="kind"),
    "levels": pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)], names=["letter", None]),
    "stamps": [pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-01", tz="UTC"), pd.Timedelta("1h")],
}


@pytest.mark.parametrize("kind", INDICES)
def test_names_of_objects_of_every_kind(kind, path):
    partition = CredalPartition(
        np.eye(3), FocalSets.from_sets(3, [[0], [1], [2]]), INDICES[kind], frame=("a", 2, (3, 4))
    )
    again = there_and_back(partition, path)
    assert same(again.index, partition.index)
    assert getattr(again.index, "dtype", None) == getattr(partition.index, "dtype", None)
    assert again.frame == partition.frame


@pytest.mark.parametrize("n", [0, 1])
def test_partitions_of_few_objects(n, path):
    again = there_and_back(CredalPartition(np.ones((n, 1)), FocalSets.from_sets(1, [[0]])), path)
    assert (len(again), again.n_clusters) == (n, 1)


def test_metadata_of_a_partition(path):
    metadata = {"a": [1, (2, None)], 3: np.float32(0.1), "nan": float("inf"), "big": 10**40, "set": {1, 2}}
    again = there_and_back(CredalPartition(np.eye(2), FocalSets.from_sets(2, [[0], [1]]), metadata=metadata), path)
    assert again.metadata == metadata
    assert type(again.metadata[3]) is np.float32


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.PCG64, np.random.Philox, np.random.SFC64])
def test_generators_go_on_where_they_were(bits, path):
    rng = np.random.Generator(bits(5))
    rng.normal(size=3)
    rng.integers(5, dtype=np.int32)
    again = there_and_back(ECM(2, random_state=rng), path).random_state
    assert again.normal(size=4).tolist() == rng.normal(size=4).tolist()
    assert again.integers(1000, size=9, dtype=np.int32).tolist() == rng.integers(1000, size=9, dtype=np.int32).tolist()


def test_a_file_says_what_it_is(path):
    save(ECM(2), path)
    found = describe(path)
    assert (found["kind"], found["version"], found["library"]) == ("ECM", 1, dempster.__version__)
    assert found["numpy"] == np.__version__
    with zipfile.ZipFile(path) as archive:
        assert json.loads(archive.read("dempster.json"))["written_by"] == "dempster.persistence.save"


def test_pickle_and_joblib_keep_working(tmp_path):
    joblib = pytest.importorskip("joblib")
    for name in ("ECM", "EVCLUS", "EKNNClassifier", "NNEVCLUS", "EVCLUS, mixed", "PCCA"):
        model, objects = EVERY_MODEL[name]()
        joblib.dump(model, tmp_path / "model.joblib")
        for again in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
            for a, b in zip(answers(model, objects), answers(again, objects), strict=True):
                assert a.tobytes() == b.tobytes()


def test_files_of_earlier_versions_may_lack_what_has_a_default(path):
    """A parameter or a field that a later version adds."""
    save(ECM(2, delta=3.0, n_init=1, random_state=0).fit(X), path)

    def earlier(objects):
        pairs = objects[-1]["parts"]["parameters"]["dict"]
        pairs[:] = [pair for pair in pairs if pair[0] != "delta"]

    rewritten(path, content_changed(earlier))
    assert load(path).delta == ECM().delta


# ---- networks of torch ----------------------------------------------------------------------------------------------


def test_a_network_of_ones_own_is_given_again(path):
    pytest.importorskip("torch")
    model = network_model(own_network)
    save(model, path)
    with pytest.raises(ValueError, match=r"network of your own \(Sequential\).*load\(path, network="):
        load(path)
    again = load(path, network=own_network())
    assert again.predict_mass(X).masses.tobytes() == model.predict_mass(X).masses.tobytes()


def test_a_network_that_does_not_fit(path):
    torch = pytest.importorskip("torch")
    save(network_model(own_network), path)
    with pytest.raises(ValueError, match="network must be built like the Sequential"):
        load(path, network=torch.nn.Linear(4, 4))


# ---- what is refused when writing -----------------------------------------------------------------------------------


def no_metric(a, b):
    return float(np.abs(a - b).sum())


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (EVCLUS(2, metric=no_metric), r"EVCLUS\.metric .* function or class no_metric"),
        (
            EvidenceFromClassifier(RandomForestClassifier()),
            r"EvidenceFromClassifier\.estimator .*RandomForestClassifier",
        ),
        (NNEVCLUS(2, outlier_detector=object()), r"NNEVCLUS\.outlier_detector .* builtins\.object"),
        (ECM(np.ma.masked_array([1])), r"ECM\.n_clusters"),
        (ECM(np.zeros(1, dtype="i4,i4")), r"ECM\.n_clusters .* array of"),
        (RandomForestClassifier(), "obj must be an estimator of dempster"),
        ({"a": 1}, r"obj must be .* got builtins\.dict"),
        (ECM, "obj must be .* got builtins.type"),
    ],
)
def test_what_files_do_not_hold_is_refused_and_leaves_nothing(obj, words, path):
    with pytest.raises(TypeError, match=words) as caught:
        save(obj, path)
    assert "\n" not in str(caught.value)
    assert not list(path.parent.iterdir())


def test_what_holds_itself(path):
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="holds itself"):
        save(ECM(loop), path)


def test_a_class_of_the_users_is_not_ours(path):
    class Mine(ECM):
        pass

    with pytest.raises(TypeError, match="Mine"):
        save(Mine(2), path)


@pytest.mark.parametrize("suffix", [".csv", ".npz", ".pkl", ".RDS"])
def test_extensions_that_mean_something_else(suffix, tmp_path):
    with pytest.raises(ValueError, match=r"take \.dempster"):
        save(ECM(2), tmp_path / f"model{suffix}")


def test_a_file_is_replaced_as_a_whole(path):
    save(ECM(2), path)
    before = path.read_bytes()
    with pytest.raises(TypeError):
        save(EVCLUS(2, metric=no_metric), path)
    assert path.read_bytes() == before
    assert len(list(path.parent.iterdir())) == 1


# ---- what is refused when reading -----------------------------------------------------------------------------------


def refused(path, words, **options):
    """One line that names the file."""
    with pytest.raises(ValueError, match=words) as caught:
        load(path, **options)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


class Evil:
    def __reduce__(self):
        return (pytest.fail, ("the pickle was run",))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles_are_refused(protocol, path):
    path.write_bytes(pickle.dumps(Evil(), protocol=protocol))
    refused(path, "pickle" if protocol > 1 else "was not written by dempster.persistence.save")


def test_other_files_are_refused(path, tmp_path):
    path.write_bytes(b"")
    refused(path, "is empty")
    path.write_text("a,b\n1,2\n")
    refused(path, "read_table")
    np.savez(tmp_path / "a.npz", x=np.arange(3))
    (tmp_path / "a.npz").rename(path)
    refused(path, "archive, but was not written by")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps(Evil()))
    refused(path, "holds a pickle")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.dempster")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)


def test_a_file_cut_anywhere_is_refused(path):
    save(ECM(2, n_init=1, random_state=0).fit(X), path)
    whole = path.read_bytes()
    for length in [*range(1, 40), *range(40, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:length])
        refused(path, "cut short|was not written by")


def test_a_file_with_a_bit_changed_anywhere_is_refused_or_the_same(path):
    """Bits that say nothing (a date, who made the archive) may change; what comes back never does."""
    model = ECM(2, n_init=1, random_state=0).fit(X)
    save(model, path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    refusals = []
    for place in rng.choice(len(whole), 300, replace=False):
        changed = bytearray(whole)
        changed[place] ^= 1 << rng.integers(8)
        path.write_bytes(changed)
        try:
            again = load(path)
        except ValueError as error:
            refusals.append(str(error))
        else:
            assert again.predict_mass(X).masses.tobytes() == model.predict_mass(X).masses.tobytes()
    assert len(refusals) > 250
    assert all(str(path) in words for words in refusals)


def rewritten(path, change):
    """Write a file again with changed members, and with the digests that go with them: a forgery."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members.pop("dempster.json"))
    change(header, members)
    header["members"] = {k: {"size": len(v), "sha256": hashlib.sha256(v).hexdigest()} for k, v in members.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("dempster.json", json.dumps(header))


def content_changed(change):
    def changed(header, members):
        content = json.loads(members["content.json"])
        change(content["objects"])
        members["content.json"] = json.dumps(content).encode()

    return changed


def test_a_newer_version_is_refused(path):
    save(ECM(2), path)
    rewritten(path, lambda header, members: header.update(version=2, library="9.1.0"))
    refused(path, r"dempster 9\.1\.0 in version 2 .* reads versions up to 1: upgrade dempster")


def test_the_wrong_kind_is_refused(path):
    save(ECM(2), path)
    refused(path, "holds an ECM, not a CredalPartition", kind=CredalPartition)
    assert isinstance(load(path, kind=BaseEstimator), ECM)
    with pytest.raises(TypeError, match="kind must be a class"):
        load(path, kind="ECM")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda objects: objects[-1].update({"class": "os.system"}), "'os.system' is not known"),
        (lambda objects: objects[-1].update({"class": "cluster.os"}), "'cluster.os' is not known"),
        (lambda objects: objects[-1].update({"class": "sklearn.RandomForestClassifier"}), "is not known"),
        (lambda objects: objects[-1]["parts"].pop("fitted"), "lacks 'fitted'"),
        (lambda objects: objects[-1]["parts"].update(more=1), "'more' is not known"),
        (lambda objects: objects[-1]["parts"]["parameters"]["dict"].append(["zeta", 1]), "'zeta' is not known"),
        (lambda objects: objects[-1]["parts"]["fitted"]["dict"].append(["predict", 1]), "'predict' is no fitted"),
        (lambda objects: objects[-1]["parts"]["fitted"]["dict"].append(["__class__", 1]), "__class__"),
        (lambda objects: objects[-1]["parts"]["fitted"]["dict"].append(["x_", {"object": 99}]), "cannot be read"),
        (lambda objects: objects[-1]["parts"]["fitted"]["dict"].append(["x_", {"array": 99}]), "missing"),
        (
            lambda objects: objects[-1]["parts"]["fitted"]["dict"].append(["x_", {"eval": "1"}]),
            "kind that is not known",
        ),
        (lambda objects: objects[-1]["parts"]["fitted"]["dict"].append(["x_", {"dtype": "O"}]), "no kind of number"),
        (lambda objects: objects.clear(), "cannot be read"),
    ],
)
def test_forged_content_is_refused(change, words, path):
    save(ECM(2, n_init=1, random_state=0).fit(X), path)
    rewritten(path, content_changed(change))
    refused(path, words)


def test_forged_masses_are_refused(path):
    save(CredalPartition(np.eye(2), FocalSets.from_sets(2, [[0], [1]])), path)

    def more(header, members):
        for name in members:
            if name.endswith(".npy"):
                members[name] = members[name].replace(np.float64(1).tobytes(), np.float64(3).tobytes())

    rewritten(path, more)
    refused(path, "masses must be nonnegative and sum to one")


@pytest.mark.parametrize(
    ("part", "forged"),
    [
        ("frame", {"tuple": ["a"]}),
        ("frame", {"tuple": ["a", "a"]}),
        ("frame", 3),
        ("frame", [[], {}]),
        ("index", "ab"),
        ("index", ["a"]),
        ("index", 3),
        ("metadata", [1]),
        ("metadata", None),
    ],
)
def test_forged_names_are_refused(part, forged, path):
    save(CredalPartition(np.eye(2), FocalSets.from_sets(2, [[0], [1]]), ["x", "y"], frame=("a", "b")), path)
    rewritten(path, content_changed(lambda objects: objects[-1]["parts"].update({part: forged})))
    refused(path, "cannot be read")


@pytest.mark.parametrize(
    ("name", "forged", "words"),
    [
        ("n_neighbors_", "x", "n_neighbors_ must be int, got str"),
        ("focal_sets_", 3, "focal_sets_ must be FocalSets"),
        ("leave_one_out_masses_", [1], "leave_one_out_masses_ must be MassFunctions"),
        ("feature_names_in_", {"cells": ["a", "b", "c", 4], "shape": [4]}, "4 different texts"),
        ("feature_names_in_", [1, 2], "4 different texts"),
        ("_codes", {"array": 0}, "_codes must be the position"),
        ("_codes", -1, "_codes must be np.ndarray or None"),
        ("_reliability", "x", "_reliability must be float"),
        ("gamma", 1, "'gamma' is no fitted attribute"),
    ],
)
def test_forged_attributes_are_refused(name, forged, words, path):
    save(EKNNClassifier(3, optimize=False).fit(TABLE, CLASSES), path)

    def changed(objects):
        pairs = objects[-1]["parts"]["fitted"]["dict"]
        pairs[:] = [pair for pair in pairs if pair[0] != name] + [[name, forged]]

    rewritten(path, content_changed(changed))
    refused(path, words)


@pytest.mark.parametrize("name", ["support_", "support_vectors_", "_n_support", "_dual_coef_", "_intercept_"])
def test_forged_vectors_of_a_detector_are_refused(name, path):
    """They would be read beyond their ends."""
    model = NNEVCLUS(2, network=3, max_iter=2, n_init=1, random_state=0, outlier_detector="one-class-svm").fit(X)
    save(model, path)

    def changed(objects):
        detector = next(record for record in objects if record.get("class") == "sklearn.OneClassSVM")
        pairs = detector["parts"]["fitted"]["dict"]
        other = next(
            value for key, value in pairs if key == ("_probA" if name == "support_vectors_" else "support_vectors_")
        )
        pairs[:] = [[key, other if key == name else value] for key, value in pairs]

    rewritten(path, content_changed(changed))
    refused(path, f"{name} must be an array")


def test_forged_arrays_are_refused(path):
    save(ECM(2, n_init=1, random_state=0).fit(X), path)
    before = path.read_bytes()

    def larger(header, members):
        buffer = io.BytesIO()
        head = {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
        np.lib.format.write_array_header_1_0(buffer, head)
        members["arrays/0.npy"] = buffer.getvalue()

    rewritten(path, larger)
    refused(path, "not of the size it says")

    def no_head(header, members):
        members["arrays/0.npy"] = members["arrays/0.npy"].replace(b"}", b"(")

    path.write_bytes(before)
    rewritten(path, no_head)
    refused(path, "damaged")

    def objects(header, members):
        buffer = io.BytesIO()
        np.save(buffer, np.array([Evil()], dtype=object), allow_pickle=True)
        members["arrays/0.npy"] = buffer.getvalue()

    path.write_bytes(before)
    rewritten(path, objects)
    refused(path, "no array of numbers or text")


def test_bombs_are_refused_before_they_are_unpacked(path):
    save(ECM(2), path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("arrays/0.npy", bytes(1 << 24))
    assert path.stat().st_size < 1 << 16
    refused(path, "members are compressed")
    header = zipfile.ZipInfo("dempster.json")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(header, b"{}")
        archive.filelist[0].file_size = archive.filelist[0].compress_size = 1 << 40
        archive._didModify = True
    refused(path, "larger than the file|cut short")


def test_two_members_of_one_name_are_refused(path):
    save(ECM(2), path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("content.json", b"{}")
    refused(path, "never does")


def test_texts_nested_to_exhaust_the_stack_are_refused(path):
    save(ECM(2), path)

    def deep(header, members):
        members["content.json"] = b"[" * 100_000 + b"]" * 100_000

    rewritten(path, deep)
    refused(path, "cannot be read")


def test_files_are_read_without_pickle_or_import_of_what_they_name(path, monkeypatch):
    save(ECM(2, n_init=1, random_state=0).fit(TABLE), path)
    monkeypatch.setattr(pickle, "loads", lambda *a, **k: pytest.fail("pickle"))
    monkeypatch.setattr(pickle, "load", lambda *a, **k: pytest.fail("pickle"))
    monkeypatch.setattr(pickle, "Unpickler", lambda *a, **k: pytest.fail("pickle"))
    assert load(path).predict(TABLE).shape == (len(TABLE),)


def test_classes_are_imported_from_the_tables_only(path):
    save(FocalSets.full(2), path)
    rewritten(path, content_changed(lambda objects: objects[-1].update({"class": "this.Zen"})))
    refused(path, "'this.Zen' is not known")
