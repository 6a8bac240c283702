"""Save and load estimators, partitions, mass functions, families of sets and constraints."""

from __future__ import annotations

import io
import os
import platform
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.io.atomic import as_file, as_path, atomic_write
from dempster.persistence.codec import Decoder, Encoder
from dempster.persistence.container import (
    UnreadableFileError,
    open_container,
    write_container,
)
from dempster.persistence.schema import schema_for

_OTHER_EXTENSIONS = {
    ".csv",
    ".tsv",
    ".parquet",
    ".npz",
    ".npy",
    ".json",
    ".rds",
    ".pkl",
    ".pickle",
    ".joblib",
    ".pt",
    ".onnx",
}


def save(obj: Any, path: str | os.PathLike[str]) -> None:
    """Write an object of dempster to a file that `load` reads.

    The file is an archive of JSON and NumPy arrays (see ``docs/files.md``). It contains the version
    of dempster that wrote it, and no code. Equal objects give equal files. If writing fails, no
    file is written or changed.

    Parameters
    ----------
    obj : estimator, CredalPartition, MassFunctions, FocalSets or Constraints
        Object to save. An estimator may be fitted or not. Code cannot be saved, such as a function
        used as metric or an estimator of another library, except for common estimators of
        scikit-learn in `EvidenceFromClassifier`, `SoftLabelClassifier`, `ConformalClassifier` and
        `ConformalClustering`.
        Of your own torch networks only the weights are saved.
    path : path
        File to write, usually with the extension ``.dempster``. Extensions of other file formats
        raise an error.

    Raises
    ------
    TypeError
        If the object or a part of it cannot be saved. The message contains the location of the
        part.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_butterfly
    >>> from dempster.persistence import load, save
    >>> X = load_butterfly().data
    >>> model = ECM(2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "butterfly.dempster")
    ...     again = load(Path(folder) / "butterfly.dempster")
    >>> again
    ECM(random_state=0)
    >>> (again.predict_mass(X).masses == model.predict_mass(X).masses).all()
    np.True_
    """
    path = as_path(path)
    if path.suffix.lower() in _OTHER_EXTENSIONS:
        raise InvalidInputError(
            f"{path}: the extension {path.suffix} stands for another format; use .dempster, "
            "dempster.io.write_partition, dempster.io.write_r or dempster.onnx.to_onnx"
        )
    content = _encode(obj)
    with atomic_write(path) as temporary:
        write_container(temporary, *content)


def to_bytes(obj: Any) -> bytes:
    """Return the content of the file that `save` writes."""
    file = io.BytesIO()
    write_container(file, *_encode(obj))
    return file.getvalue()


def _encode(
    obj: Any,
) -> tuple[dict[str, Any], dict[str, Any], list[np.ndarray], list[bytes]]:
    """Return the header, the content, the arrays and the weights of a model file."""
    import sklearn

    from dempster import __version__

    schema = schema_for(obj)
    if schema is None:
        raise InvalidParameterError(
            "obj",
            "an estimator of dempster, a CredalPartition, MassFunctions, FocalSets or Constraints, "
            f"got {type(obj).__module__}.{type(obj).__qualname__}",
        )
    header = {
        "kind": schema[0],
        "library": __version__,
        "written_by": "dempster.persistence.save",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }
    encoder = Encoder()
    encoder.encode(obj, type(obj).__name__)
    return header, {"objects": encoder.objects}, encoder.arrays, encoder.weights


def load(
    path: str | os.PathLike[str], *, kind: type | None = None, network: Any = None
) -> Any:
    """Load an object from a file written by `save`, without executing code from the file.

    Parameters
    ----------
    path : path
        File to read.
    kind : class, optional
        Expected class of the object, or one of its base classes, such as ``CredalPartition``. By
        default any class is accepted.
    network : torch module, optional
        Your own network for `NNEVCLUS` or `EvidenceFromClassifier`, with the same layers as the
        saved network. The weights are loaded into a copy of this network.

    Returns
    -------
    object
        Object with exactly the same parameters, fitted attributes and predictions as the saved
        object.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ValueError
        If the file was not written by `save` (for example, if it is a pickle), is damaged, contains
        arrays larger than the file, was written by a newer version, or contains an object of
        another class than ``kind``.
    """
    from dempster import __version__

    path = as_file(path)
    if kind is not None and not isinstance(kind, type):
        raise InvalidParameterError("kind", "a class such as CredalPartition", kind)
    if network is not None and (
        isinstance(network, type) or not hasattr(network, "load_state_dict")
    ):
        raise InvalidParameterError("network", "a torch module", network)
    with open_container(path) as reader:
        try:
            obj = Decoder(reader, network).decode_all(reader.content())
        except UnreadableFileError:
            raise
        except (
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            RecursionError,
            OverflowError,
        ) as error:
            reason = "its content does not have the layout of dempster.persistence.save"
            if isinstance(error, ValueError):
                reason = " ".join(str(error).split())
            library = reader.header.get("library", "?")
            if library != __version__:
                reason += (
                    f"; it was written by dempster {library}, but this is {__version__}"
                )
            raise UnreadableFileError(f"{path} cannot be read: {reason}") from error
    if kind is not None and not isinstance(obj, kind):
        raise InvalidInputError(
            f"{path} must contain {kind.__name__}, got {type(obj).__name__}"
        )
    return obj


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the header of a file written by `save`, without loading the object.

    Parameters
    ----------
    path : path
        File to read.

    Returns
    -------
    dict
        ``kind`` (name of the class), ``version`` (version of the format), ``library`` (version of
        dempster that wrote the file), the versions of ``python``, ``numpy`` and ``scikit-learn``,
        and ``bytes`` (size of the content).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster import FocalSets
    >>> from dempster.persistence import describe, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(FocalSets.pairs(3), Path(folder) / "pairs.dempster")
    ...     header = describe(Path(folder) / "pairs.dempster")
    >>> header["kind"], header["version"]
    ('FocalSets', 1)
    """
    with open_container(as_file(path)) as reader:
        names = ("kind", "version", "library", "python", "numpy", "scikit-learn")
        found = {name: reader.header.get(name) for name in names}
        found["kind"] = str(found["kind"]).rpartition(".")[2]
        return {**found, "bytes": reader.size}
