"""Fitted estimators as ONNX models."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import check_choice
from dempster.io.atomic import as_path, atomic_write
from dempster.onnx.graph import Graph, Value
from dempster.onnx.tables import exporter_of, is_pipeline, known_names, label_shares, object_shape, preparation_of

__all__ = ["to_onnx"]


def to_onnx(estimator: Any, path: str | os.PathLike[str] | None = None, *, dtype: str = "float32") -> Any:
    """A fitted estimator as an ONNX model, which other programs and languages run without Python.

    The model takes ``X``, a table of any number of rows, and gives ``masses``, those of `predict_mass` with a column
    for each focal set, and ``labels``, the cluster or class of each row as `predict` finds it, numbered from 0. Its
    metadata say what the columns and numbers stand for (``docs/files.md``). Needs ``dempster[onnx]``.

    Parameters
    ----------
    estimator : estimator, Pipeline or TableModel
        A fitted `ECM`, `CCM`, `CECM`, `BPEC`, `EGMM`, `EVCLUS`, `NNEVCLUS`, `EKNNClassifier`,
        `EvidentialNeuralNetworkClassifier`, `EvidentialRBFClassifier` or `EvidenceFromClassifier`; a pipeline of
        scikit-learn that ends with one, after scalers or principal components; or a
        `TableModel` of one, whose standardisation is part of the model.
    path : path, optional
        A file to write, whole or not at all, with the extension ``.onnx``.
    dtype : {"float32", "float64"}, default="float32"
        Of ``X`` and ``masses``.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    TypeError, ValueError
        It is of a class, or has settings, that cannot be exported; the message says what can.
    ImportError
        The extra ``dempster[onnx]`` is not installed.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_iris
    >>> from dempster.onnx import to_onnx
    >>> model = to_onnx(ECM(3, random_state=0).fit(load_iris().data))
    >>> [(output.name, output.type.tensor_type.shape.dim[0].dim_param) for output in model.graph.output]
    [('masses', 'n'), ('labels', 'n')]
    """
    check_choice(dtype, "dtype", ("float32", "float64"))
    _check_installed()
    target = None if path is None else as_path(path)
    if target is not None and target.suffix.lower() != ".onnx":
        raise InvalidInputError(f"{target}: the extension must be .onnx, got {target.suffix or 'none'}")
    shape, names = _attributes(estimator)
    graph = Graph(shape, np.dtype(dtype))
    masses, final = _masses(estimator, graph.X)
    labels = (masses @ label_shares(final)).argmax()
    family = final.focal_sets_
    model = graph.model(
        {"masses": (masses, len(family)), "labels": (labels, None)},
        {"dempster": json.dumps(_told(final, names), ensure_ascii=False)},
        f"{type(final).__name__} of dempster: attributes to masses on {len(family)} sets of {family.n_clusters} "
        f"{'classes' if hasattr(final, 'classes_') else 'clusters'}",
    )
    if target is not None:
        with atomic_write(target) as temporary:
            temporary.write_bytes(model.SerializeToString(deterministic=True))
    return model


def _check_installed() -> None:
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise ImportError("to_onnx needs onnx: pip install 'dempster[onnx]'") from error


def _check_fitted(estimator: Any) -> None:
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)


def _masses(model: Any, X: Value) -> tuple[Value, Any]:
    """Masses, and the estimator that they come from, after what a pipeline or a preparation does first."""
    if is_pipeline(model):
        from dempster.onnx.scikit_learn import transformed

        return _masses(model[-1], transformed(model.steps[:-1], X))
    prepared = preparation_of(model)
    if prepared is not None:
        return _masses(model.estimator, prepared(model, X))
    exporter = _known_exporter(model)
    return exporter(model, X), model


def _known_exporter(model: Any) -> Any:
    exporter = exporter_of(model)
    if exporter is None:
        raise InvalidInputError(
            f"estimator must be one of {', '.join(known_names())}, or a Pipeline or TableModel of one, got "
            f"{type(model).__name__}"
        )
    _check_fitted(model)
    return exporter


def _attributes(model: Any) -> tuple[tuple[int, ...], list[str] | None]:
    """The shape of an object that a model takes, and the names of its attributes if they have some."""
    if is_pipeline(model):
        if len(model.steps) == 0:
            raise InvalidInputError("estimator must be a pipeline with at least one step, got one without")
        first = next(step for _, step in model.steps if step is not None and step != "passthrough")
        _check_fitted(first)
        return _attributes(first)
    if preparation_of(model) is not None:
        if model.preparation is None:
            return _attributes(model.estimator)
        return (len(model.preparation.numbers),), list(model.preparation.numbers)
    if not hasattr(model, "n_features_in_"):
        _known_exporter(model)
    names = getattr(model, "feature_names_in_", None)
    return object_shape(model), None if names is None else [str(name) for name in names]


def _told(estimator: Any, names: list[str] | None) -> dict[str, Any]:
    """What the columns and numbers of a model stand for."""
    from dempster import __version__

    family = estimator.focal_sets_
    is_classifier = hasattr(estimator, "classes_")
    frame = estimator.classes_.tolist() if is_classifier else list(range(family.n_clusters))
    frame = [name if isinstance(name, bool | int | float | str) else str(name) for name in frame]
    return {
        "version": __version__,
        "estimator": type(estimator).__name__,
        "features": names,
        "classes" if is_classifier else "clusters": frame,
        "sets": [[int(k) for k in members] for members in family],
        "set_names": family.names(frame),
    }
