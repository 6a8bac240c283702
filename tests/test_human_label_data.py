"""Fetchers of datasets with soft labels: generated files in the published formats, and broken files."""

import hashlib
import io
import tarfile
import zipfile
from dataclasses import replace
from functools import cache
from http.client import IncompleteRead
from urllib.error import URLError

import numpy as np
import pytest
from reproduce import human_label_data

from dempster.classify import EKNNClassifier
from dempster.datasets import DatasetNotAvailableError

FETCHERS = {
    name: (
        human_label_data.fetch_credal_dog
        if "Dog" in name
        else human_label_data.fetch_credal_bird,
        int(name.split("-")[1]),
    )
    for name in human_label_data._CREDAL
}


class Server:
    """Web server with the given files; other addresses fail."""

    def __init__(self):
        self.files = {}
        self.requests = []

    def __call__(self, url, timeout):
        self.requests.append(url)
        content = self.files.get(url.rsplit("/", 1)[1], URLError("no route"))
        if isinstance(content, Exception):
            raise content
        if isinstance(content, bytes):
            return io.BytesIO(content)
        return content


@pytest.fixture
def server(monkeypatch):
    server = Server()
    monkeypatch.delenv("DEMPSTER_SHARED", raising=False)
    monkeypatch.setattr(human_label_data, "urlopen", server)
    return server


def write_csv(matrix, fmt="%.18e"):
    file = io.BytesIO()
    np.savetxt(file, matrix, fmt=fmt, delimiter=";")
    return file.getvalue()


@cache
def credal_files(name):
    """Return files with the numbers of rows, columns and bytes of the published ones."""
    record = human_label_data._CREDAL[name]
    rng = np.random.default_rng(0)
    n = record.n_samples
    d = record.n_features
    c = len(record.target_names)
    X = rng.uniform(0.1, 10, n * d)
    # A negative number has one more character.
    X[rng.permutation(n * d)[: record.data_bytes - 25 * n * d]] *= -1
    classes = np.arange(n) % c
    masses = np.zeros((n, 2**c))
    doubt = rng.integers(0, 7, n) / 7
    masses[np.arange(n), 1 << classes] = 1 - doubt
    masses[:, -1] = doubt
    return {
        "X.csv": write_csv(X.reshape(n, d)),
        "y.csv": write_csv(masses),
        "y_true.csv": write_csv(classes, "%d"),
    }


@pytest.mark.parametrize("name", FETCHERS)
def test_credal_datasets(server, tmp_path, name):
    fetch, n_classes = FETCHERS[name]
    record = human_label_data._CREDAL[name]
    server.files = dict(credal_files(name))
    found = fetch(n_classes, data_home=tmp_path)
    assert found.data.shape == (record.n_samples, record.n_features)
    np.testing.assert_array_equal(found.target, np.arange(record.n_samples) % n_classes)
    assert found.target_names.tolist() == list(record.target_names)
    assert found.DESCR.startswith(
        f"Credal {name.split('_')[1]}: {record.n_samples} objects"
    )
    # Each label has mass on the true class and on the frame.
    sets = found.masses.focal_sets
    assert set(sets) == {(k,) for k in range(n_classes)} | {tuple(range(n_classes))}
    np.testing.assert_allclose(
        found.masses.contour[np.arange(record.n_samples), found.target], 1
    )
    expected = np.loadtxt(io.BytesIO(server.files["y.csv"]), delimiter=";")[:, -1]
    np.testing.assert_allclose(
        found.masses.masses[:, sets.index(range(n_classes))], expected
    )
    # The second call reads the cache.
    server.files.clear()
    np.testing.assert_array_equal(fetch(n_classes, data_home=tmp_path).data, found.data)
    assert len(server.requests) == 3
    assert all(human_label_data._CREDAL_COMMIT in url for url in server.requests)


def test_columns_are_sets_of_classes(tmp_path):
    """Column i is the set of the classes k for which bit k of i is 1."""
    path = tmp_path / "y.csv"
    path.write_bytes(write_csv(np.eye(8)))
    masses = human_label_data._read_masses(path, 8, 3)
    assert list(masses.focal_sets) == [
        (),
        (0,),
        (1,),
        (0, 1),
        (2,),
        (0, 2),
        (1, 2),
        (0, 1, 2),
    ]
    np.testing.assert_array_equal(masses.masses, np.eye(8))


def test_local_copy_with_other_line_ends(server, tmp_path, monkeypatch):
    folder = tmp_path / "data" / "credal-datasets" / "Credal_Bird-2" / "data"
    folder.mkdir(parents=True)
    for name, content in credal_files("Credal_Bird-2").items():
        (folder / name).write_bytes(content.replace(b"\n", b"\r\n"))
    monkeypatch.setenv("DEMPSTER_SHARED", str(tmp_path))
    birds = human_label_data.fetch_credal_bird(2, data_home=tmp_path / "cache")
    assert not server.requests
    assert EKNNClassifier(3).fit(birds.data, birds.masses).predict(
        birds.data
    ).shape == (40,)


@cache
def broken_files():
    files = credal_files("Credal_Bird-10")
    doubled = np.loadtxt(io.BytesIO(files["y.csv"]), delimiter=";")
    doubled[3, -1] += 0.5
    negative = doubled.copy()
    negative[3, [0, -1]] = -0.5, doubled[3, -1]
    return {
        "web page": (
            "X.csv",
            b"<html><body>Sign in to the network</body></html>",
            "must have 153,113 bytes, got 48",
        ),
        "web page of unknown size": (
            "y.csv",
            b"<html><body>Sign in</body></html>",
            "not a valid file",
        ),
        "end missing": (
            "X.csv",
            files["X.csv"][:-1],
            "must have 153,113 bytes, got 153,112",
        ),
        "row missing": (
            "y.csv",
            files["y.csv"][: -25 * 1024],
            r"200 rows and 1024 columns, got \(199, 1024\)",
        ),
        "sum of masses": ("y.csv", write_csv(doubled), "not a valid file"),
        "negative mass": ("y.csv", write_csv(negative), "not a valid file"),
        "class": ("y_true.csv", b"0\n" * 200, "must contain the classes 0 to 9"),
        "empty": ("y_true.csv", b"", "must have 400 bytes, got 0"),
    }


@pytest.mark.parametrize("case", broken_files())
def test_broken_downloads_are_not_kept(server, tmp_path, case):
    name, content, message = broken_files()[case]
    server.files = credal_files("Credal_Bird-10") | {name: content}
    with pytest.raises(
        ValueError, match=rf"raw.githubusercontent.com/.*{name} .*{message}"
    ):
        human_label_data.fetch_credal_bird(data_home=tmp_path)
    kept = [path.name for path in tmp_path.rglob("*") if path.is_file()]
    assert name not in kept
    assert set(kept) < {"X.csv", "y.csv", "y_true.csv"}
    server.files = credal_files("Credal_Bird-10")  # A second attempt succeeds.
    assert human_label_data.fetch_credal_bird(data_home=tmp_path).data.shape == (
        200,
        30,
    )


def test_broken_local_copy(server, tmp_path):
    server.files = credal_files("Credal_Bird-2")
    human_label_data.fetch_credal_bird(2, data_home=tmp_path)
    (path,) = tmp_path.rglob("X.csv")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(
        ValueError, match=r"Credal_Bird-2/data/X.csv must have 17,370 bytes, got 17,369"
    ):
        human_label_data.fetch_credal_bird(2, data_home=tmp_path)


@pytest.mark.parametrize(
    "error", [URLError("no route"), TimeoutError("slow"), ConnectionResetError("reset")]
)
def test_no_network(server, tmp_path, error):
    server.files = {"X.csv": error}
    with pytest.raises(
        DatasetNotAvailableError,
        match=f"there is no file .*X.csv, and the download .*{error}",
    ):
        human_label_data.fetch_credal_dog(data_home=tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_download_that_breaks_off(server, tmp_path):
    class Response(io.BytesIO):
        def read(self):
            raise IncompleteRead(b"1.0;")

    server.files = {"X.csv": Response()}
    with pytest.raises(DatasetNotAvailableError, match="IncompleteRead"):
        human_label_data.fetch_credal_dog(data_home=tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("n_classes", [3, 0, "7", 7.0, True, None])
def test_invalid_number_of_classes(n_classes):
    with pytest.raises(ValueError, match=r"n_classes must be 7 or 4 or 2, got"):
        human_label_data.fetch_credal_dog(n_classes)


# ---- CIFAR-10H -----------------------------------------------------------------------------------

HEADER = (
    "annotator_id,trial_index,is_attn_check,true_category,chosen_category,true_label,chosen_label,correct_guess,"
    "cifar10_test_test_idx,image_filename,subcategory,reaction_time,time_elapsed\n"
)
COUNTS = np.random.default_rng(0).integers(0, 4, (12, 10)) + np.eye(12, 10, dtype=int)
PIXELS = np.random.default_rng(1).integers(0, 256, (12, 27)).astype(np.uint8)


def answers_archive(counts=COUNTS):
    rows = [
        f"0,0,0,ship,cat,8,{k},0,{i},a_s_1.png,a,9,9\n"
        for i, k in np.ndindex(counts.shape)
        for _ in range(counts[i, k])
    ]
    rows.append("0,1,1,ship,ship,8,8,1,-99999,b_s_2.png,b,9,9\n")  # an attention check
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("cifar10h-raw.csv", HEADER + "".join(rows))
    return file.getvalue()


def images_archive(pixels=PIXELS, name="cifar-10-batches-bin/test_batch.bin"):
    content = np.column_stack(
        [np.arange(len(pixels), dtype=np.uint8) % 10, pixels]
    ).tobytes()
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


@pytest.fixture
def cifar(server, monkeypatch):
    """Return a function that serves two archives, with or without the matching sizes and digests."""
    monkeypatch.setattr(human_label_data, "_CIFAR_SHAPE", (12, 27, 10))

    def serve(answers, images, expected=True):
        server.files = {"cifar10h-raw.zip": answers, "cifar-10-binary.tar.gz": images}
        for name, content in (("_CIFAR_ANSWERS", answers), ("_CIFAR_IMAGES", images)):
            if expected:
                known = {
                    "n_bytes": len(content),
                    "sha256": hashlib.sha256(content).hexdigest(),
                }
                monkeypatch.setattr(
                    human_label_data,
                    name,
                    replace(getattr(human_label_data, name), **known),
                )

    return serve


def test_cifar10h(cifar, server, tmp_path):
    cifar(answers_archive(), images_archive())
    found = human_label_data.fetch_cifar10h(data_home=tmp_path)
    np.testing.assert_array_equal(found.data, PIXELS)
    np.testing.assert_array_equal(found.target, np.arange(12) % 10)
    np.testing.assert_array_equal(found.counts, COUNTS)
    np.testing.assert_allclose(
        found.masses.masses, COUNTS / COUNTS.sum(axis=1, keepdims=True)
    )
    assert found.target_names[found.target[9]] == "truck"
    server.files.clear()
    np.testing.assert_array_equal(
        human_label_data.fetch_cifar10h(data_home=tmp_path).counts, COUNTS
    )


def test_digests_of_cifar10h(cifar, tmp_path):
    good = answers_archive()
    cifar(good, images_archive())
    changed = bytearray(good)
    changed[50] ^= 1
    cifar(bytes(changed), images_archive(), expected=False)
    with pytest.raises(
        ValueError,
        match=r"cifar10h-raw.zip must have the SHA-256 digest [0-9a-f]{64}, got [0-9a-f]{64}",
    ):
        human_label_data.fetch_cifar10h(data_home=tmp_path)
    cifar(b"<html>Not found</html>", images_archive(), expected=False)
    with pytest.raises(
        ValueError, match=r"cifar10h-raw.zip must have [\d,]+ bytes, got 22"
    ):
        human_label_data.fetch_cifar10h(data_home=tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize(
    ("answers", "images"),
    [
        (answers_archive(np.zeros((12, 10), int)), images_archive()),
        (answers_archive(COUNTS[:11]), images_archive()),
        (b"PK\x03\x04 not a zip", images_archive()),
        (answers_archive(), images_archive(PIXELS[:11])),
        (answers_archive(), images_archive(name="other.bin")),
        (answers_archive(), b"not a tar"),
    ],
)
def test_other_contents_of_cifar10h(cifar, tmp_path, answers, images):
    cifar(answers, images)
    with pytest.raises(ValueError, match="is not a valid file of this dataset"):
        human_label_data.fetch_cifar10h(data_home=tmp_path)
