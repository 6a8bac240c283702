"""Where public data come from: a local folder first, OpenML second, and a clear error when neither answers."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._random import as_random_state
from dempster.datasets.records import ClassGroup, DatasetRecord, Preparation, size_in_words

FOLDER_VARIABLE = "DEMPSTER_SHARED"
PER_OBJECT_EXTRAS = ("train", "speaker", "mouse")


class DatasetNotAvailableError(OSError):
    """No source holds the dataset, or none can be reached."""


@dataclass(frozen=True)
class RawData:
    """A dataset as its source holds it: attributes or dissimilarities, codes of classes, names, per-object extras."""

    matrix: np.ndarray
    target: np.ndarray | None
    target_names: list[str] | None
    feature_names: list[str] | None
    source: str
    extras: dict[str, np.ndarray] = field(default_factory=dict)


def read_dataset(record: DatasetRecord, data_home: str | os.PathLike[str] | None = None) -> RawData:
    """The original version of a dataset from the first source that has it, its size checked."""
    folder = os.environ.get(FOLDER_VARIABLE)
    path = Path(folder) / "data" / record.file_name if folder else None
    if path is not None and path.is_file():
        raw = _read_local(record, path)
    elif record.openml is None:
        raise DatasetNotAvailableError(_no_download(record, path))
    else:
        raw = _read_openml(record, path, data_home)
    check_size(raw, record.shape, record.name)
    return raw


def check_size(raw: RawData, expected: tuple[int, int, int], name: str) -> None:
    """Refuse data whose numbers of objects, attributes or classes are not those in the catalogue."""
    if raw.matrix.ndim != 2:
        raise InvalidInputError(
            f"dataset {name!r} from {raw.source} must be a matrix, it has {raw.matrix.ndim} dimensions"
        )
    n_rows, n_columns = raw.matrix.shape
    if raw.target is not None and len(raw.target) != n_rows:
        raise InvalidInputError(f"dataset {name!r} from {raw.source} has {n_rows} objects and {len(raw.target)} labels")
    n_classes = 0 if raw.target is None else len(np.unique(raw.target))
    # A square matrix where the catalogue has no attributes is one of dissimilarities.
    is_dissimilarity = expected[1] == 0 and n_rows == n_columns
    found = (n_rows, 0 if is_dissimilarity else n_columns, n_classes)
    if found != expected:
        raise InvalidInputError(
            f"dataset {name!r} from {raw.source} is not the expected one: it has {size_in_words(found)}, "
            f"and should have {size_in_words(expected)}"
        )


def prepare(raw: RawData, preparation: Preparation, random_state: Any) -> RawData:
    """Apply the steps of a preparation to the original version of a dataset."""
    if preparation.classes is not None:
        raw = _regroup_classes(raw, preparation.classes)
    if preparation.max_missing is not None:
        raw = _drop_missing(raw, preparation.max_missing)
    if preparation.columns is not None:
        raw = _take_columns(raw, np.asarray(preparation.columns))
    if preparation.per_class is not None:
        raw = _take_rows(raw, _sample_per_class(raw, preparation.per_class, random_state))
    return raw


def _regroup_classes(raw: RawData, groups: tuple[ClassGroup, ...]) -> RawData:
    assert raw.target is not None
    assert raw.target_names is not None
    new_code = {original: code for code, (_, originals) in enumerate(groups) for original in originals}
    codes = np.array([new_code.get(name, -1) for name in raw.target_names])[raw.target]
    regrouped = replace(raw, target=codes, target_names=[name for name, _ in groups])
    return _take_rows(regrouped, np.flatnonzero(codes >= 0))


def _drop_missing(raw: RawData, max_missing: int) -> RawData:
    kept = _take_rows(raw, np.flatnonzero(np.isnan(raw.matrix).sum(axis=1) <= max_missing))
    return _take_columns(kept, np.flatnonzero(~np.isnan(kept.matrix).any(axis=0)))


def _sample_per_class(raw: RawData, per_class: int, random_state: Any) -> np.ndarray:
    assert raw.target is not None
    rng = as_random_state(random_state)
    drawn = [rng.permutation(np.flatnonzero(raw.target == code))[:per_class] for code in np.unique(raw.target)]
    return np.sort(np.concatenate(drawn))


def _take_rows(raw: RawData, rows: np.ndarray) -> RawData:
    return replace(
        raw,
        matrix=raw.matrix[rows],
        target=None if raw.target is None else raw.target[rows],
        extras={name: values[rows] for name, values in raw.extras.items()},
    )


def _take_columns(raw: RawData, columns: np.ndarray) -> RawData:
    names = None if raw.feature_names is None else [raw.feature_names[j] for j in columns]
    return replace(raw, matrix=raw.matrix[:, columns], feature_names=names)


def _read_local(record: DatasetRecord, path: Path) -> RawData:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            held = {key: arrays[key] for key in arrays.files}
    except (ValueError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise InvalidInputError(f"dataset {record.name!r}: {path} is not a readable .npz file ({error})") from error
    matrix = "D" if record.dissimilarities else "X"
    if matrix not in held or (record.n_classes and "y" not in held):
        raise InvalidInputError(f"dataset {record.name!r}: {path} must hold arrays {matrix} and, with classes, y")
    return RawData(
        matrix=held[matrix].astype(float),
        target=held["y"].astype(int) if record.n_classes else None,
        target_names=_local_class_names(record, held),
        feature_names=[str(name) for name in held["columns"]] if "columns" in held else None,
        source=str(path),
        extras={key: held[key] for key in PER_OBJECT_EXTRAS if key in held},
    )


def _local_class_names(record: DatasetRecord, held: dict[str, np.ndarray]) -> list[str] | None:
    if not record.n_classes:
        return None
    if "names" in held:
        return [str(name) for name in held["names"]]
    return list(record.class_names or (str(code + 1) for code in range(record.n_classes)))


def _read_openml(record: DatasetRecord, path: Path | None, data_home: str | os.PathLike[str] | None) -> RawData:
    from sklearn.datasets import fetch_openml

    assert record.openml is not None
    data_id = record.openml.data_id
    try:
        found = fetch_openml(data_id=data_id, as_frame=True, data_home=data_home, n_retries=1, parser="auto")
    # A ValueError with these arguments is OpenML refusing (withdrawn data) or a damaged download.
    except (OSError, HTTPException, ValueError) as error:
        raise DatasetNotAvailableError(_no_answer(record, path, error)) from error
    numeric = found.data.select_dtypes("number")  # vowel also has nominal columns that are no attributes
    target, names = _encode_labels(record, found.target)
    return RawData(
        matrix=numeric.to_numpy(dtype=float),
        target=target,
        target_names=names,
        feature_names=[str(name) for name in numeric.columns],
        source=f"OpenML (data_id {data_id})",
    )


def _encode_labels(record: DatasetRecord, labels: Any) -> tuple[np.ndarray, list[str]]:
    """Codes in the order of the catalogue, so that a class has the same code whatever the source."""
    assert record.openml is not None
    cleaned = [_clean_label(label) for label in labels]
    known = record.openml.labels or record.class_names
    if known is None:
        known = tuple(sorted(set(cleaned), key=lambda label: (len(label), label)))
    code = {label: k for k, label in enumerate(known)}
    unknown = sorted(set(cleaned) - set(code))
    if unknown:
        raise InvalidInputError(
            f"dataset {record.name!r} from OpenML (data_id {record.openml.data_id}) has unexpected classes {unknown}"
        )
    return np.array([code[label] for label in cleaned]), list(record.class_names or known)


def _clean_label(label: Any) -> str:
    """Labels as text: without the quotes some ARFF files keep, whole numbers without decimals."""
    text = str(label).strip().strip("'\"")
    try:
        number = float(text)
    except ValueError:
        return text
    return str(int(number)) if number.is_integer() else text


def _looked_in(path: Path | None) -> str:
    if path is None:
        return f"the environment variable {FOLDER_VARIABLE} is not set"
    return f"there is no file {path}"


def _how_to(record: DatasetRecord) -> str:
    place = f" (source: {record.homepage})" if record.homepage else ""
    return f"set {FOLDER_VARIABLE} to a folder that holds data/{record.file_name}{place}."


def _no_download(record: DatasetRecord, path: Path | None) -> str:
    return (
        f"dataset {record.name!r} is read from a local copy only, no download is known: {_looked_in(path)}; "
        f"{_how_to(record)}"
    )


def _no_answer(record: DatasetRecord, path: Path | None, error: Exception) -> str:
    assert record.openml is not None
    return (
        f"dataset {record.name!r} is not available: {_looked_in(path)}, and OpenML (data_id {record.openml.data_id}) "
        f"did not give it ({type(error).__name__}: {error}). Try again with a network, or without: {_how_to(record)}"
    )
