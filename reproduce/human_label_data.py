"""Fetch datasets whose soft labels were given by people.

A file is read from the folder ``data`` in the folder given by the environment variable
``DEMPSTER_SHARED``, or from scikit-learn's cache (``data_home``). If it is in neither of them, it
is downloaded to the cache. A file is moved to the cache only after all checks.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
from sklearn.datasets import get_data_home

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import is_integer
from dempster.belief import FocalSets, MassFunctions
from dempster.datasets import DatasetNotAvailableError
from dempster.datasets.bundled import to_bunch
from dempster.datasets.catalogue import describe_shape
from dempster.datasets.fetchers import FOLDER_VARIABLE
from dempster.io.atomic import as_path, atomic_write

DataHome = str | os.PathLike[str] | None

TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class RemoteFile:
    """File of a public dataset.

    The size does not count carriage returns, which Git may add to text files.
    """

    path: str  # below the folder of local copies and below the cache
    url: str
    n_bytes: int | None = None  # None if the size is not known
    sha256: str | None = None  # None if the digest is not known


def read_remote(
    file: RemoteFile, read: Callable[[Path], Any], data_home: DataHome
) -> Any:
    """Return ``read(path)`` for a local copy of the file, or for a download that is kept if ``read`` succeeds."""
    cache = Path(
        get_data_home(None if data_home is None else as_path(data_home, "data_home"))
    )
    shared = os.environ.get(FOLDER_VARIABLE)
    if shared:
        folders = [Path(shared) / "data", cache]
    else:
        folders = [cache]
    for folder in folders:
        if (folder / file.path).is_file():
            return _read_checked(
                file, folder / file.path, read, str(folder / file.path)
            )
    try:
        with urlopen(file.url, timeout=TIMEOUT_SECONDS) as response:
            content = response.read()
    except (OSError, HTTPException) as error:
        places = " or ".join(str(folder / file.path) for folder in folders)
        raise DatasetNotAvailableError(
            f"there is no file {places}, and the download of {file.url} failed ({type(error).__name__}: {error}). "
            "Try again with a network connection, or put the file there."
        ) from error
    target = cache / file.path
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(target) as temporary:
        temporary.write_bytes(content)
        return _read_checked(file, temporary, read, file.url)


def _read_checked(
    file: RemoteFile, path: Path, read: Callable[[Path], Any], source: str
) -> Any:
    content = path.read_bytes()
    if path.suffix == ".csv":
        content = content.replace(b"\r\n", b"\n")
    if file.n_bytes is not None and len(content) != file.n_bytes:
        raise InvalidInputError(
            f"{source} must have {file.n_bytes:,} bytes, got {len(content):,}"
        )
    digest = hashlib.sha256(content).hexdigest()
    if file.sha256 is not None and digest != file.sha256:
        raise InvalidInputError(
            f"{source} must have the SHA-256 digest {file.sha256}, got {digest}"
        )
    try:
        return read(path)
    except (ValueError, KeyError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise InvalidInputError(
            f"{source} is not a valid file of this dataset: {error}"
        ) from error


# ---- Credal Dog and Credal Bird ------------------------------------------------------------------

_CREDAL_HOMEPAGE = "https://github.com/ArthurHoa/credal-datasets"
_CREDAL_COMMIT = "e5dd8dad8e591ea5e8d108bd5e322c5f2e024783"
_CREDAL_CITATION = (
    "C. Thierry, A. Hoarau, A. Martin, J.-C. Dubois, Y. Le Gall. Real bird dataset with imprecise and uncertain "
    "values. Belief Functions, 2022."
)


@dataclass(frozen=True)
class _CredalRecord:
    n_samples: int
    n_features: int
    target_names: tuple[str, ...]
    data_bytes: int  # size of X.csv
    label_bytes: int | None  # size of y.csv


_CREDAL = {
    "Credal_Dog-7": _CredalRecord(
        700,
        43,
        (
            "Welsh Corgi",
            "Beagle",
            "Collie",
            "Basset",
            "Brittany",
            "Foxhound",
            "Shetland Sheepdog",
        ),
        767_825,
        2_240_000,
    ),
    "Credal_Dog-4": _CredalRecord(
        400, 47, ("Basset", "Beagle", "Brittany", "Foxhound"), 479_655, 160_000
    ),
    "Credal_Dog-2": _CredalRecord(200, 42, ("Brittany", "Beagle"), 214_213, 20_000),
    "Credal_Bird-10": _CredalRecord(
        200,
        30,
        (
            "European Robin",
            "Rook",
            "Coal Tit",
            "Common Raven",
            "Marsh Tit",
            "Western Jackdaw",
            "Common Wood Pigeon",
            "Rock Dove",
            "Carrion Crow",
            "Great Tit",
        ),
        153_113,
        None,
    ),
    "Credal_Bird-2": _CredalRecord(40, 17, ("Western Jackdaw", "Rook"), 17_370, 4_000),
}


def fetch_credal_dog(n_classes: int = 7, *, data_home: DataHome = None) -> Any:
    """Fetch pictures of dogs with mass functions as labels (Credal Dog-7, Dog-4 and Dog-2).

    People chose one or more breeds for each picture and stated how certain they were. The label of
    a picture is a mass function on the breeds. There are 700 pictures with 43 attributes of 7
    breeds, 400 with 47 of 4, or 200 with 42 of 2 breeds. The sizes of the files, the numbers of
    rows and columns and the sums of the masses are checked. No digests are published; the address
    contains the hash of a commit.

    Parameters
    ----------
    n_classes : {7, 4, 2}, default=7
        Number of breeds.
    data_home : path, optional
        Folder to which the files are downloaded; scikit-learn's folder by default. A copy of the
        repository in it, or in the folder ``data`` of ``DEMPSTER_SHARED``, is used instead.

    Returns
    -------
    Bunch
        ``data``, ``target`` (the true classes 0, 1, ...), ``masses`` (the labels, `MassFunctions`),
        ``target_names``, ``feature_names`` and ``DESCR``.

    Raises
    ------
    DatasetNotAvailableError
        If there is no local copy and the download fails. It is an OSError.

    References
    ----------
    A. Hoarau. credal-datasets. https://github.com/ArthurHoa/credal-datasets

    Examples
    --------
    >>> from dempster.classify import EKNNClassifier
    >>> from reproduce.human_label_data import fetch_credal_dog
    >>> dogs = fetch_credal_dog(4)  # doctest: +SKIP
    >>> EKNNClassifier(7).fit(dogs.data, dogs.masses)  # doctest: +SKIP
    """
    return _fetch_credal("Dog", n_classes, (7, 4, 2), data_home)


def fetch_credal_bird(n_classes: int = 10, *, data_home: DataHome = None) -> Any:
    """Fetch pictures of birds with mass functions as labels (Credal Bird-10 and Bird-2).

    People chose one or more species for each picture and stated how certain they were. The label of
    a picture is a mass function on the species. There are 200 pictures with 30 attributes of 10
    species, or 40 with 17 of 2. The same checks are made as in :func:`fetch_credal_dog`; the size
    of the labels of Bird-10 is not known.

    Parameters
    ----------
    n_classes : {10, 2}, default=10
        Number of species.
    data_home : path, optional
        See :func:`fetch_credal_dog`.

    Returns
    -------
    Bunch
        See :func:`fetch_credal_dog`.

    References
    ----------
    C. Thierry, A. Hoarau, A. Martin, J.-C. Dubois, Y. Le Gall. Real bird dataset with imprecise and
    uncertain values. Belief Functions, 2022.

    Examples
    --------
    >>> from reproduce.human_label_data import fetch_credal_bird
    >>> fetch_credal_bird(2).data.shape  # doctest: +SKIP
    (40, 17)
    """
    return _fetch_credal("Bird", n_classes, (10, 2), data_home)


def _fetch_credal(
    animal: str, n_classes: int, choices: tuple[int, ...], data_home: DataHome
) -> Any:
    if not is_integer(n_classes) or n_classes not in choices:
        raise InvalidParameterError(
            "n_classes", " or ".join(map(str, choices)), n_classes
        )
    name = f"Credal_{animal}-{int(n_classes)}"
    record = _CREDAL[name]
    n = record.n_samples
    d = record.n_features
    c = len(record.target_names)

    def fetch(file: str, n_bytes: int | None, read: Callable[[Path], Any]) -> Any:
        path = f"{name}/data/{file}"
        url = f"https://raw.githubusercontent.com/ArthurHoa/credal-datasets/{_CREDAL_COMMIT}/{path}"
        return read_remote(
            RemoteFile(f"credal-datasets/{path}", url, n_bytes), read, data_home
        )

    title = f"{name.replace('_', ' ')}: {describe_shape((n, d, c))}"
    return to_bunch(
        fetch("X.csv", record.data_bytes, lambda path: _read_matrix(path, (n, d))),
        fetch("y_true.csv", 2 * n, lambda path: _read_classes(path, n, c)),
        description=f"{title}.\nReference: {_CREDAL_CITATION}\nSource: {_CREDAL_HOMEPAGE}",
        target_names=record.target_names,
        masses=fetch(
            "y.csv", record.label_bytes, lambda path: _read_masses(path, n, c)
        ),
    )


def _read_matrix(path: Path, shape: tuple[int, int]) -> np.ndarray:
    matrix = np.loadtxt(path, delimiter=";", ndmin=2)
    if matrix.shape != shape:
        raise ValueError(
            f"it must have {shape[0]} rows and {shape[1]} columns, got {matrix.shape}"
        )
    return matrix


def _read_classes(path: Path, n_samples: int, n_classes: int) -> np.ndarray:
    classes = _read_matrix(path, (n_samples, 1))[:, 0]
    if not np.array_equal(np.unique(classes), np.arange(n_classes)):
        raise ValueError(
            f"it must contain the classes 0 to {n_classes - 1}, got {np.unique(classes)}"
        )
    return classes.astype(int)


def _read_masses(path: Path, n_samples: int, n_classes: int) -> MassFunctions:
    """Read a matrix with a column for each set.

    Column i is the set of the classes k for which bit k of i is 1.
    """
    masses = _read_matrix(path, (n_samples, 2**n_classes))
    used = np.flatnonzero(masses.any(axis=0))
    return MassFunctions(
        masses[:, used], FocalSets((used[:, None] >> np.arange(n_classes)) % 2 == 1)
    )


# ---- CIFAR-10H -----------------------------------------------------------------------------------

_CIFAR_CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
_CIFAR_IMAGES = RemoteFile(
    "cifar-10h/cifar-10-binary.tar.gz",
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    170_052_171,
    "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)
_CIFAR_ANSWERS = RemoteFile(
    "cifar-10h/cifar10h-raw.zip",
    "https://github.com/jcpeterson/cifar-10h/raw/389f22d9d300ec71a4c44735d46f550c94b957ab/data/cifar10h-raw.zip",
    11_272_560,
    "4b0283f9b2ae72a616eeb4a2a38474cc2a238eb041bfb8df5ead3a8a47f35aa3",
)
_CIFAR_SHAPE = (10_000, 32 * 32 * 3, 10)
_CIFAR_CITATION = (
    "J. C. Peterson, R. M. Battleday, T. L. Griffiths, O. Russakovsky. Human uncertainty makes classification more "
    "robust. ICCV, 2019."
)


def fetch_cifar10h(*, data_home: DataHome = None) -> Any:
    """Fetch CIFAR-10H, the 10,000 test images of CIFAR-10 with the classes that about 50 people chose for each.

    The download has 181 MB. The sizes and the SHA-256 digests of the two archives are checked; they
    are those in TensorFlow Datasets. The answers have the license CC BY-NC-SA 4.0.

    Parameters
    ----------
    data_home : path, optional
        Folder to which the archives are downloaded; scikit-learn's folder by default. Archives in
        its folder ``cifar-10h``, or in the folder ``data/cifar-10h`` of ``DEMPSTER_SHARED``, are
        used instead.

    Returns
    -------
    Bunch
        ``data`` (pixels 0 to 255 of shape (10000, 3072): 32 x 32 red, then green, then blue
        values), ``target`` (the classes of CIFAR-10), ``counts`` (number of people who chose each
        class, shape (10000, 10)), ``masses`` (their proportions, `MassFunctions`),
        ``target_names``, ``feature_names`` and ``DESCR``.

    Raises
    ------
    DatasetNotAvailableError
        If there is no local copy and the download fails. It is an OSError.

    References
    ----------
    J. C. Peterson, R. M. Battleday, T. L. Griffiths, O. Russakovsky. Human uncertainty makes
    classification more robust. ICCV, 2019.

    Examples
    --------
    >>> from reproduce.human_label_data import fetch_cifar10h
    >>> fetch_cifar10h().counts.sum()  # doctest: +SKIP
    514200
    """
    counts = read_remote(_CIFAR_ANSWERS, _read_answers, data_home)
    images = read_remote(_CIFAR_IMAGES, _read_images, data_home)
    return to_bunch(
        images[:, 1:],
        images[:, 0].astype(int),
        description=f"CIFAR-10H: {describe_shape(_CIFAR_SHAPE)}.\nReference: {_CIFAR_CITATION}\n"
        "Source: https://github.com/jcpeterson/cifar-10h",
        target_names=_CIFAR_CLASSES,
        counts=counts,
        masses=MassFunctions(
            counts / counts.sum(axis=1, keepdims=True),
            FocalSets.simple(_CIFAR_SHAPE[2], empty=False, omega=False),
        ),
    )


def _read_answers(path: Path) -> np.ndarray:
    """Return the number of people who chose each class for each image.

    Attention checks have a negative index.
    """
    n, _, c = _CIFAR_SHAPE
    with zipfile.ZipFile(path) as archive, archive.open("cifar10h-raw.csv") as file:
        rows = csv.DictReader(io.TextIOWrapper(file, encoding="utf-8"))
        answers = np.array(
            [
                (int(row["cifar10_test_test_idx"]), int(row["chosen_label"]))
                for row in rows
            ]
        )
    image, label = answers[answers[:, 0] >= 0].T
    counts = np.bincount(image * c + label, minlength=n * c).reshape(n, c)
    if not counts.any(axis=1).all():
        raise ValueError("there are images without answers")
    return counts


def _read_images(path: Path) -> np.ndarray:
    """Return the classes (first column) and pixels of the test images."""
    n, d, _ = _CIFAR_SHAPE
    with tarfile.open(path) as archive:
        file = archive.extractfile("cifar-10-batches-bin/test_batch.bin")
        assert file is not None
        return np.frombuffer(file.read(), dtype=np.uint8).reshape(n, d + 1)
