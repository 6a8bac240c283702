"""`load` rejects damaged and forged files."""

import io
import json
import pickle
import zipfile

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from dempster import CredalPartition, FocalSets
from dempster.classify import EKNNClassifier
from dempster.cluster import ECM, EVCLUS, NNEVCLUS
from dempster.explain import CautiousTree
from dempster.metric import KFDA
from dempster.persistence import load, save
from tests.cluster.contract import SUBJECTS, prediction
from tests.limits import limited, refused_or_sensible
from tests.persistence.models import CLASSES, MODELS, TABLE, X

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "object.dempster"


def assert_rejected(path, words, **options):
    with pytest.raises(ValueError, match=words) as caught:
        load(path, **options)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


class Evil:
    def __reduce__(self):
        return (pytest.fail, ("the pickle was executed",))


def forge(path, change):
    """Rewrite a file with changed members."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members.pop("dempster.json"))
    change(header, members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("dempster.json", json.dumps(header))


def change_content(change):
    def changed(header, members):
        content = json.loads(members["content.json"])
        change(content["objects"])
        members["content.json"] = json.dumps(content).encode()

    return changed


@pytest.mark.parametrize("name", ["LatentClassModel", "BootClus, categories"])
def test_categories_without_probabilities(name, path):
    """The numbers of categories are indices of the probabilities."""
    for part, value in (
        ("offsets", lambda encoder: encoder.offsets + 1),
        ("levels", lambda encoder: [*encoder.levels, encoder.levels[0]]),
        ("levels", lambda encoder: [level[:1] for level in encoder.levels]),
    ):
        model, _ = MODELS[name]()
        setattr(model._encoder, part, value(model._encoder))
        save(model, path)
        assert_rejected(path, part)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol, path):
    path.write_bytes(pickle.dumps(Evil(), protocol=protocol))
    assert_rejected(
        path,
        "pickle" if protocol > 1 else "was not written by dempster.persistence.save",
    )


def test_other_files(path, tmp_path):
    path.write_bytes(b"")
    assert_rejected(path, "was not written by")
    path.write_text("a,b\n1,2\n")
    assert_rejected(path, "read_table")
    np.savez(tmp_path / "a.npz", x=np.arange(3))
    (tmp_path / "a.npz").rename(path)
    assert_rejected(path, "archive, but was not written by")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.dempster")
    with pytest.raises(IsADirectoryError):
        load(tmp_path)


def test_truncated_files(path):
    save(ECM(2, n_init=1, random_state=0).fit(X), path)
    whole = path.read_bytes()
    for length in [*range(1, 40), *range(40, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:length])
        assert_rejected(path, "cut short|was not written by")


def test_changed_bits(path):
    """Each file is rejected or gives the same result (some bits, such as dates, have no effect)."""
    model = ECM(2, n_init=1, random_state=0).fit(X)
    save(model, path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    messages = []
    for place in rng.choice(len(whole), 300, replace=False):
        changed = bytearray(whole)
        changed[place] ^= 1 << rng.integers(8)
        path.write_bytes(changed)
        try:
            again = load(path)
        except ValueError as error:
            messages.append(str(error))
        else:
            assert (
                again.predict_mass(X).masses.tobytes()
                == model.predict_mass(X).masses.tobytes()
            )
    assert len(messages) > 250
    assert all(str(path) in words for words in messages)


# ---- forged content-------------------------------------------------------------------------------


def test_missing_parameter_gets_its_default(path):
    save(ECM(2, delta=3.0, n_init=1, random_state=0).fit(X), path)

    def earlier(objects):
        pairs = objects[-1]["parts"]["parameters"]["dict"]
        pairs[:] = [pair for pair in pairs if pair[0] != "delta"]

    forge(path, change_content(earlier))
    assert load(path).delta == ECM().delta


def test_newer_version(path):
    save(ECM(2), path)
    forge(path, lambda header, members: header.update(version=2, library="9.1.0"))
    assert_rejected(
        path,
        r"dempster 9\.1\.0 in version 2 .* reads versions up to 1; upgrade dempster",
    )


def test_wrong_kind(path):
    save(ECM(2), path)
    assert_rejected(path, "must contain CredalPartition, got ECM", kind=CredalPartition)
    assert isinstance(load(path, kind=BaseEstimator), ECM)
    with pytest.raises(TypeError, match=r"\bkind\b"):
        load(path, kind="ECM")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda objects: objects[-1].update({"class": "os.system"}),
            "'os.system' is not a class",
        ),
        (
            lambda objects: objects[-1].update({"class": "cluster.os"}),
            "'cluster.os' is not a class",
        ),
        (
            lambda objects: objects[-1].update({"class": "this.Zen"}),
            "'this.Zen' is not a class",
        ),
        (
            lambda objects: objects[-1].update(
                {"class": "sklearn.RandomForestClassifier"}
            ),
            "is not a class",
        ),
        (lambda objects: objects[-1]["parts"].pop("fitted"), "'fitted' is missing"),
        (lambda objects: objects[-1]["parts"].update(more=1), "'more' is unknown"),
        (
            lambda objects: objects[-1]["parts"]["parameters"]["dict"].append(
                ["zeta", 1]
            ),
            "'zeta' is unknown",
        ),
        (
            lambda objects: objects[-1]["parts"]["fitted"]["dict"].append(
                ["predict", 1]
            ),
            "'predict' is not a fitted",
        ),
        (
            lambda objects: objects[-1]["parts"]["fitted"]["dict"].append(
                ["__class__", 1]
            ),
            "__class__",
        ),
        (
            lambda objects: objects[-1]["parts"]["fitted"]["dict"].append(
                ["x_", {"object": 99}]
            ),
            "cannot be read",
        ),
        (
            lambda objects: objects[-1]["parts"]["fitted"]["dict"].append(
                ["x_", {"array": 99}]
            ),
            "layout",
        ),
        (
            lambda objects: objects[-1]["parts"]["fitted"]["dict"].append(
                ["x_", {"eval": "1"}]
            ),
            "unknown type",
        ),
        (
            lambda objects: objects[-1]["parts"]["fitted"]["dict"].append(
                ["x_", {"dtype": "O"}]
            ),
            "unknown type",
        ),
        (lambda objects: objects.clear(), "cannot be read"),
    ],
)
def test_forged_content(change, words, path):
    save(ECM(2, n_init=1, random_state=0).fit(X), path)
    forge(path, change_content(change))
    assert_rejected(path, words)


def test_forged_masses(path):
    save(CredalPartition(np.eye(2), FocalSets.from_sets(2, [[0], [1]])), path)

    def more(header, members):
        for name in members:
            if name.endswith(".npy"):
                members[name] = members[name].replace(
                    np.float64(1).tobytes(), np.float64(3).tobytes()
                )

    forge(path, more)
    assert_rejected(path, "masses must be nonnegative and sum to one")


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
def test_forged_names(part, forged, path):
    save(
        CredalPartition(
            np.eye(2), FocalSets.from_sets(2, [[0], [1]]), ["x", "y"], frame=("a", "b")
        ),
        path,
    )
    forge(
        path,
        change_content(lambda objects: objects[-1]["parts"].update({part: forged})),
    )
    assert_rejected(path, "cannot be read")


@pytest.mark.parametrize(
    ("name", "forged", "words"),
    [
        ("n_neighbors_", "x", "n_neighbors_ must be int, got str"),
        ("focal_sets_", 3, "focal_sets_ must be FocalSets"),
        ("leave_one_out_masses_", [1], "leave_one_out_masses_ must be MassFunctions"),
        (
            "feature_names_in_",
            {"cells": ["a", "b", "c", 4], "shape": [4]},
            "4 unique texts",
        ),
        ("feature_names_in_", [1, 2], "4 unique texts"),
        ("_codes", {"array": 0}, "_codes must be"),
        ("_codes", -1, "_codes must be ndarray or None"),
        ("_reliability", "x", "_reliability must be float"),
        ("gamma", 1, "'gamma' is not a fitted attribute"),
    ],
)
def test_forged_attributes(name, forged, words, path):
    save(EKNNClassifier(3, optimize=False).fit(TABLE, CLASSES), path)

    def changed(objects):
        pairs = objects[-1]["parts"]["fitted"]["dict"]
        pairs[:] = [pair for pair in pairs if pair[0] != name] + [[name, forged]]

    forge(path, change_content(changed))
    assert_rejected(path, words)


@pytest.mark.parametrize(
    "name", ["support_", "support_vectors_", "_n_support", "_dual_coef_", "_intercept_"]
)
def test_forged_support_vectors(name, path):
    """libsvm would read beyond the ends of the arrays."""
    model = NNEVCLUS(
        2,
        network=3,
        max_iter=2,
        n_init=1,
        random_state=0,
        outlier_detector="one-class-svm",
    ).fit(X)
    save(model, path)

    def changed(objects):
        detector = next(
            record for record in objects if record.get("class") == "sklearn.OneClassSVM"
        )
        pairs = detector["parts"]["fitted"]["dict"]
        other = next(
            value
            for key, value in pairs
            if key == ("_probA" if name == "support_vectors_" else "support_vectors_")
        )
        pairs[:] = [[key, other if key == name else value] for key, value in pairs]

    forge(path, change_content(changed))
    assert_rejected(path, f"{name} must be an array")


def test_forged_arrays(path):
    save(ECM(2, n_init=1, random_state=0).fit(X), path)
    before = path.read_bytes()

    def larger(header, members):
        buffer = io.BytesIO()
        head = {"descr": "<f8", "fortran_order": False, "shape": (10**15,)}
        np.lib.format.write_array_header_1_0(buffer, head)
        members["arrays/0.npy"] = buffer.getvalue()

    forge(path, larger)
    assert_rejected(path, "damaged")

    def no_head(header, members):
        members["arrays/0.npy"] = members["arrays/0.npy"].replace(b"}", b"(")

    path.write_bytes(before)
    forge(path, no_head)
    assert_rejected(path, "damaged")

    def objects(header, members):
        buffer = io.BytesIO()
        np.save(buffer, np.array([Evil()], dtype=object), allow_pickle=True)
        members["arrays/0.npy"] = buffer.getvalue()

    path.write_bytes(before)
    forge(path, objects)
    assert_rejected(path, "Object arrays cannot be loaded")


def test_compressed_and_duplicate_members(path):
    save(ECM(2), path)
    with (
        zipfile.ZipFile(path, "a") as archive,
        pytest.warns(UserWarning, match="Duplicate"),
    ):
        archive.writestr("content.json", b"{}")
    assert_rejected(path, "do not trust")
    save(ECM(2), path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("arrays/0.npy", bytes(1 << 24))
    assert path.stat().st_size < 1 << 16
    assert_rejected(path, "members are compressed")
    header = zipfile.ZipInfo("dempster.json")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(header, b"{}")
        archive.filelist[0].file_size = archive.filelist[0].compress_size = 1 << 40
        archive._didModify = True
    assert_rejected(path, "larger than the file|cut short")


def test_load_does_not_use_pickle(path, monkeypatch):
    save(ECM(2, n_init=1, random_state=0).fit(TABLE), path)
    monkeypatch.setattr(pickle, "loads", lambda *a, **k: pytest.fail("pickle"))
    monkeypatch.setattr(pickle, "load", lambda *a, **k: pytest.fail("pickle"))
    monkeypatch.setattr(pickle, "Unpickler", lambda *a, **k: pytest.fail("pickle"))
    assert load(path).predict(TABLE).shape == (len(TABLE),)


@pytest.mark.parametrize(
    "content",
    [
        b"3",
        b"null",
        b"[]",
        b"{}",
        b"[3]",
        b'{"kind": 3}',
        b'{"kind": {"a": 1}}',
        b"[" * 100_000,
    ],
    ids=len,
)
def test_other_layouts(content, path):
    save(CredalPartition([[0, 1, 0, 0]], FocalSets.full(2), frame=("a", "b")), path)
    forge(path, lambda header, members: members.update({"content.json": content}))
    with limited():
        assert_rejected(path, "cannot be read|damaged")


FORGERIES = {
    "text": lambda array: array.astype(str),
    "a row less": lambda array: array[:-1],
    "complex": lambda array: array.astype(complex),
    "dates": lambda array: array.astype(np.int64).astype("M8[s]"),
    "an axis more": lambda array: array[..., None],
    "nothing": lambda array: array[:0],
}


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
@pytest.mark.parametrize(
    "forgery",
    [*FORGERIES][:2]
    + [pytest.param(name, marks=pytest.mark.long) for name in [*FORGERIES][2:]],
)
def test_forged_arrays_of_every_clusterer(subject, forgery, path):

    def check_prediction(again):
        try:
            found = prediction(again, subject.data)
        except (ValueError, TypeError, IndexError):
            return
        assert np.isfinite(found).all()

    save(subject.fitted(), path)
    before = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        arrays = {
            name: np.load(archive.open(name))
            for name in archive.namelist()
            if name.endswith(".npy")
        }
    messages = []
    for name, array in arrays.items():
        if array.ndim == 0 or len(array) < 2:
            continue
        buffer = io.BytesIO()
        np.save(buffer, FORGERIES[forgery](array))
        forged = {name: buffer.getvalue()}
        path.write_bytes(before)
        forge(path, lambda header, members, forged=forged: members.update(forged))
        messages.append(
            refused_or_sensible(
                lambda: load(path), check_prediction, "dempster cannot be read"
            )
        )
    assert any(messages)
    assert not any("\n" in message for message in filter(None, messages))


def without(kind, name):
    """Remove a fitted attribute."""

    def change(objects):
        for record in objects:
            if record.get("class") == kind:
                fitted = record["parts"]["fitted"]["dict"]
                fitted[:] = [pair for pair in fitted if pair[0] != name]

    return change


def with_part(kind, part, value):
    def change(objects):
        for record in objects:
            if record.get("class") == kind:
                record["parts"][part] = value

    return change


INCOMPLETE = {
    "a kernel": (KFDA(), without("metric.KFDA", "gamma_"), "'gamma_' is missing"),
    "vectors": (
        KFDA(),
        without("metric.KFDA", "support_vectors_"),
        "'support_vectors_' is missing",
    ),
    "a private attribute": (
        EKNNClassifier(3),
        without("classify.EKNNClassifier", "_search"),
        "'_search' is missing",
    ),
    "a model": (ECM(2), without("cluster.ECM", "_model"), "'_model' is missing"),
    "a model of another class": (
        EVCLUS(2),
        with_part("cluster.DoubtModel", "fit", 3),
        "fit must be EvclusModel, got int",
    ),
    "an object": (
        EVCLUS(2),
        with_part("cluster.EvclusModel", "sampling", {"set": [1]}),
        "cannot be read",
    ),
    "children": (
        CautiousTree(3),
        with_part("explain.TreeNode", "children", {"tuple": [1, 70]}),
        "node 0",
    ),
}


@pytest.mark.parametrize("which", INCOMPLETE)
def test_incomplete_models(which, path):
    model, change, words = INCOMPLETE[which]
    objects = np.random.default_rng(0).random((12, 2))
    save(clone(model).fit(objects, np.arange(12) % 2), path)
    assert type(load(path)) is type(model)
    forge(path, change_content(change))
    assert_rejected(path, words)
