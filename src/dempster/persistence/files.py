"""Estimators, partitions, mass functions, families of sets and constraints in files that hold no code."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

import numpy as np

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster.io.atomic import as_file, as_path, atomic_write
from dempster.persistence.codec import Decoder, Encoder
from dempster.persistence.container import FORMAT_VERSION, Reader, UnreadableFileError, open_container, write_container
from dempster.persistence.schema import schema_for

# Extensions by which other programs, or other functions of ours, know what a file is.
_OF_OTHERS = {
    ".csv": "a table; dempster.io.write_partition writes partitions as tables",
    ".tsv": "a table; dempster.io.write_partition writes partitions as tables",
    ".parquet": "a table; dempster.io.write_partition writes partitions as tables",
    ".npz": "an archive of arrays; dempster.io.write_partition writes partitions so",
    ".npy": "a single array",
    ".json": "a text",
    ".rds": "an object of R; dempster.io.write_r writes partitions for R",
    ".pkl": "a pickle",
    ".pickle": "a pickle",
    ".joblib": "a pickle",
    ".pt": "a pickle of torch",
    ".onnx": "a graph of ONNX; dempster.onnx.to_onnx writes estimators so",
}


def save(obj: Any, path: str | os.PathLike[str]) -> None:
    """Write an object of dempster to a file, whole or not at all; `load` gives it back.

    The file is an archive of JSON and NumPy's arrays (``docs/files.md`` describes it). It holds no code, and says which
    version wrote it. The same object gives the same bytes.

    Parameters
    ----------
    obj : estimator, CredalPartition, MassFunctions, FocalSets or Constraints
        Any estimator of dempster, fitted or not. What is code cannot be written: a metric that is a function, an
        estimator of another library (but `EvidenceFromClassifier` takes the usual ones of scikit-learn along). Of a
        torch network of your own the weights are written.
    path : path
        Usually ``.dempster``; not an extension that means something else.

    Raises
    ------
    TypeError
        It is, or holds, something that files do not hold; the message says where.

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
    other = _OF_OTHERS.get(path.suffix.lower())
    if other is not None:
        raise InvalidInputError(f"{path}: the extension {path.suffix} says that it is {other}; take .dempster")
    known = schema_for(obj)
    if known is None:
        raise InvalidInputError(
            "obj must be an estimator of dempster, a CredalPartition, MassFunctions, FocalSets or Constraints, got "
            f"{type(obj).__module__}.{type(obj).__qualname__}"
        )
    encoder = Encoder()
    encoder.encode(obj, type(obj).__name__)
    with atomic_write(path) as temporary:
        content = {"objects": encoder.objects}
        write_container(temporary, _header(known[0]), content, encoder.arrays, encoder.weights)


def load(path: str | os.PathLike[str], *, kind: type | None = None, network: Any = None) -> Any:
    """Read an object that `save` wrote. Nothing in the file is ever run.

    Parameters
    ----------
    path : path
    kind : class, optional
        What the file must hold, such as ``CredalPartition`` or ``ECM`` (or a base of it); anything by default.
    network : torch module, optional
        Built like the one that `NNEVCLUS` or `EvidenceFromClassifier` had, if that was your own: a copy of it gets the
        weights.

    Returns
    -------
    object
        With the same parameters, the same fitted attributes and the same predictions, to the bit.

    Raises
    ------
    OSError
        The file cannot be opened.
    ValueError
        It is not a file of `save`, a pickle for instance; it was cut short or altered; it asks for more memory than it
        is large; a newer version wrote it; it holds something else than ``kind``.
    """
    path = as_file(path)
    if kind is not None and not isinstance(kind, type):
        raise InvalidInputError(f"kind must be a class such as CredalPartition, got {type(kind).__name__}")
    if network is not None and (isinstance(network, type) or not hasattr(network, "load_state_dict")):
        raise InvalidInputError(f"network must be a torch module, got {rule.shown(network)}")
    with open_container(path) as reader:
        try:
            obj = Decoder(reader, network).decode_all(reader.content())
        except UnreadableFileError:
            raise
        except ValueError as error:
            raise _unfit(path, reader, " ".join(str(error).split())) from error
        except (TypeError, KeyError, IndexError, AttributeError, RecursionError, OverflowError) as error:
            # what Python says of it is for those who look for the cause
            raise _unfit(path, reader, "its content is not laid out as dempster.persistence.save does it") from error
    if kind is not None and not isinstance(obj, kind):
        raise InvalidInputError(f"{path} holds {_with_article(type(obj).__name__)}, not {_with_article(kind.__name__)}")
    return obj


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """What a file of `save` says of itself, without reading what it holds.

    Parameters
    ----------
    path : path

    Returns
    -------
    dict
        ``kind`` (the class), ``version`` (of the format), ``library`` (the version of dempster that wrote it), and
        versions of ``python``, ``numpy`` and ``scikit-learn`` at that time; ``bytes``, what it holds takes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dempster import FocalSets
    >>> from dempster.persistence import describe, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(FocalSets.pairs(3), Path(folder) / "pairs.dempster")
    ...     found = describe(Path(folder) / "pairs.dempster")
    >>> found["kind"], found["version"]
    ('FocalSets', 1)
    """
    with open_container(as_file(path)) as reader:
        header = reader.header
        told = {name: header.get(name) for name in ("version", "library", "python", "numpy", "scikit-learn")}
        size = sum(record["size"] for record in header["members"].values())
        return {"kind": str(header.get("kind")).rpartition(".")[2], **told, "bytes": size}


def _header(kind: str) -> dict[str, Any]:
    import sklearn

    return {
        "kind": kind,
        "library": _library_version(),
        "written_by": "dempster.persistence.save",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _library_version() -> str:
    from dempster import __version__

    return __version__


def _unfit(path: Path, reader: Reader, words: str) -> UnreadableFileError:
    """A whole file whose content this version cannot make an object of."""
    library = reader.header.get("library", "?")
    if library != _library_version():
        return UnreadableFileError(
            f"{path} cannot be read: {words}; dempster {library} wrote it in version {FORMAT_VERSION} of the format, "
            f"this is dempster {_library_version()}"
        )
    return UnreadableFileError(f"{path} cannot be read: {words}")


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
