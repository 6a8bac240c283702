"""Fetch the public datasets of the papers.

A local copy is a file ``data/<name>.npz`` in the folder given by the environment variable
``DEMPSTER_SHARED``. It contains the attributes ``X`` of shape (n, d) or the dissimilarities ``D``
of shape (n, n). It may also contain the classes ``y`` (0, 1, ...), the ``names`` of the classes and
the names of the attributes (``columns``). If there is no local copy, scikit-learn downloads the
data from OpenML and stores them in its cache.
"""

from __future__ import annotations

import os
import zipfile
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._validation import check_choice, check_flags
from dempster.datasets.bundled import to_bunch
from dempster.datasets.catalogue import (
    CATALOGUE,
    DatasetRecord,
    describe_shape,
)

FOLDER_VARIABLE = "DEMPSTER_SHARED"
_PER_OBJECT_EXTRAS = ("train", "speaker", "mouse")


class DatasetNotAvailableError(OSError):
    """Error for a dataset that has no local copy and cannot be downloaded from OpenML."""


def fetch_dataset(
    name: str,
    *,
    return_X_y: bool = False,
    as_frame: bool = False,
) -> Any:
    """Fetch a public dataset by name from a local copy or, if there is none, from OpenML.

    Parameters
    ----------
    name : str
        One of the names that :func:`dataset_names` returns.
    return_X_y : bool, default=False
        Return ``(X, y)`` instead of a Bunch. ``y`` is None if there are no labels. For
        dissimilarity data, ``X`` is the matrix of dissimilarities.
    as_frame : bool, default=False
        Return a pandas DataFrame and Series instead of arrays.

    Returns
    -------
    Bunch
        ``data``, ``target``, ``target_names``, ``feature_names``, ``DESCR``, ``source`` and, for
        some datasets, the additional arrays ``train``, ``speaker`` or ``mouse``. For dissimilarity
        data, ``dissimilarities`` is a matrix and ``data`` is None.

    Raises
    ------
    DatasetNotAvailableError
        If there is no local copy, and OpenML cannot be reached or does not have the dataset. It is
        an OSError.

    Examples
    --------
    >>> from dempster.datasets import fetch_dataset
    >>> X, y = fetch_dataset("r15", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (600, 2)
    """
    check_choice(name, "name", CATALOGUE)
    record = CATALOGUE[name]
    check_flags(return_X_y=return_X_y, as_frame=as_frame)
    if as_frame and record.dissimilarities:
        raise InvalidParameterError(
            "as_frame", f"False for dataset {name!r}, a matrix of dissimilarities", True
        )
    path = None
    if folder := os.environ.get(FOLDER_VARIABLE):
        path = Path(folder) / "data" / record.file_name
    if path is not None and path.is_file():
        found = _read_local(record, path)
    else:
        found = _read_openml(record, path)
    _check_shape(record, found["data"], found["target"], found["source"])
    if record.dissimilarities and not return_X_y:
        found["dissimilarities"] = found["data"]
        found["data"] = None
    return to_bunch(
        **found,
        description=_describe(record),
        return_X_y=return_X_y,
        as_frame=as_frame,
    )


def _describe(record: DatasetRecord) -> str:
    lines = [f"{record.title}: {describe_shape(record.shape)}."]
    if record.note:
        lines.append(record.note)
    return "\n".join(
        [*lines, f"Reference: {record.citation}", f"Source: {record.homepage}"]
    )


# ---- sources -------------------------------------------------------------------------------------


def _check_shape(
    record: DatasetRecord, data: np.ndarray, target: np.ndarray | None, source: str
) -> None:
    """Raise an error if the numbers of objects, attributes or classes are not as expected."""
    dataset = f"dataset {record.name!r} from {source}"
    n_rows, n_columns = data.shape
    n_classes = 0
    if target is not None:
        n_classes = len(np.unique(target))
        if len(target) != n_rows:
            raise InvalidInputError(
                f"{dataset} has {n_rows} objects and {len(target)} labels"
            )
    if record.dissimilarities and n_rows == n_columns:
        n_columns = 0
    shape = (n_rows, n_columns, n_classes)
    if shape != record.shape:
        raise InvalidInputError(
            f"{dataset} must have {describe_shape(record.shape)}, got {describe_shape(shape)}"
        )


def _read_local(record: DatasetRecord, path: Path) -> dict[str, Any]:
    """Return the arguments of `to_bunch`."""
    target = None
    target_names = None
    feature_names = None
    try:
        with np.load(path, allow_pickle=False) as arrays:
            data = dict(arrays)
        matrix = data["D" if record.dissimilarities else "X"].astype(float)
        if record.n_classes:
            target = data["y"].astype(int)
    except (ValueError, EOFError, zipfile.BadZipFile, KeyError, TypeError) as error:
        raise InvalidInputError(
            f"dataset {record.name!r}: {path} must be a .npz file with the array X or D and, with "
            f"classes, y ({error})"
        ) from error
    if record.n_classes:
        default = record.class_names or range(1, record.n_classes + 1)
        target_names = [str(name) for name in data.get("names", default)]
    if "columns" in data:
        feature_names = [str(name) for name in data["columns"]]
    return {
        "data": matrix,
        "target": target,
        "target_names": target_names,
        "feature_names": feature_names,
        "source": str(path),
        **{key: data[key] for key in _PER_OBJECT_EXTRAS if key in data},
    }


def _read_openml(record: DatasetRecord, path: Path | None) -> dict[str, Any]:
    """Return the arguments of `to_bunch`."""
    if record.openml_id is None:
        raise DatasetNotAvailableError(_not_available_message(record, path))
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(
            data_id=record.openml_id,
            as_frame=True,
            n_retries=1,
            parser="auto",
        )
    # fetch_openml raises a ValueError for withdrawn datasets and for damaged downloads.
    except (OSError, HTTPException, ValueError) as error:
        raise DatasetNotAvailableError(
            _not_available_message(record, path, error)
        ) from error
    # The dataset vowel also has nominal columns.
    numeric = bunch.data.select_dtypes("number")
    target, names = _encode_labels(record, bunch.target)
    return {
        "data": numeric.to_numpy(dtype=float),
        "target": target,
        "target_names": names,
        "feature_names": [str(name) for name in numeric.columns],
        "source": f"OpenML (data_id {record.openml_id})",
    }


def _encode_labels(record: DatasetRecord, labels: Any) -> tuple[np.ndarray, list[str]]:
    """Return the codes of the labels and the names of the classes, in the order of the record."""
    cleaned = [_clean_label(label) for label in labels]
    classes = record.openml_labels or record.class_names
    if classes is None:
        classes = sorted(set(cleaned), key=lambda label: (len(label), label))
    code = {label: k for k, label in enumerate(classes)}
    unknown = sorted(set(cleaned) - set(code))
    if unknown:
        raise InvalidInputError(
            f"dataset {record.name!r} from OpenML (id {record.openml_id}) has unexpected classes "
            f"{unknown}"
        )
    return np.array([code[label] for label in cleaned]), list(
        record.class_names or classes
    )


def _clean_label(label: Any) -> str:
    """Return a label as text, without the quotes of ARFF files and the decimals of integers."""
    text = str(label).strip().strip("'\"")
    try:
        number = float(text)
    except ValueError:
        return text
    if number.is_integer():
        return str(int(number))
    return text


def _not_available_message(
    record: DatasetRecord, path: Path | None, error: Exception | None = None
) -> str:
    if path is None:
        where = f"the environment variable {FOLDER_VARIABLE} is not set"
    else:
        where = f"there is no file {path}"
    remedy = (
        f"set {FOLDER_VARIABLE} to a folder with the file data/{record.file_name} "
        f"(source: {record.homepage})."
    )
    if error is None:
        return f"dataset {record.name!r} is available from a local copy only: {where}; {remedy}"
    return (
        f"dataset {record.name!r} is not available: {where}, and OpenML (data_id "
        f"{record.openml_id}) failed ({type(error).__name__}: {error}). "
        f"Try again with a network connection, or {remedy}"
    )
