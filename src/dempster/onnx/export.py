"""Export of fitted estimators to ONNX."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from dempster._errors import InvalidParameterError, MissingExtraError
from dempster._validation import check_choice
from dempster.io.atomic import as_path, atomic_write
from dempster.onnx.graph import Graph, Value, center_rows


def to_onnx(
    estimator: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: str = "float32",
) -> Any:
    """Export a fitted estimator as an ONNX model, which runs without Python.

    The input of the model is ``X``, a table with any number of rows. The output ``masses`` is the
    result of `predict_mass`, with one column per focal set. The output ``labels`` contains the
    cluster or class that `predict` returns for each row, numbered from 0. The metadata of the model
    give the focal set of each column and the name of each cluster or class (``docs/files.md``).
    Requires ``dempster[onnx]``.

    Parameters
    ----------
    estimator : estimator, Pipeline or TableModel
        A fitted `ECM`, `FuzzyCMeans`, `NoiseClustering`, `CCM`, `CECM`, `BPEC`, `EGMM`, `EVCLUS`,
        `NNEVCLUS`, `EKNNClassifier`, `EvidentialNeuralNetworkClassifier`, `EvidentialRBFClassifier`
        or `EvidenceFromClassifier`. A scikit-learn pipeline of scalers or principal components and
        one of these estimators is also accepted, and so is a `TableModel` of one of these
        estimators, whose standardization is included.
    path : path, optional
        File to write, with the extension ``.onnx``. It is written atomically.
    dtype : {"float32", "float64"}, default="float32"
        Type of ``X`` and ``masses``.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    TypeError, ValueError
        If estimators of this class, or with these parameters, cannot be exported.
    ImportError
        If ``dempster[onnx]`` is not installed.

    Examples
    --------
    >>> from dempster.cluster import ECM
    >>> from dempster.datasets import load_iris
    >>> from dempster.onnx import to_onnx
    >>> model = to_onnx(ECM(3, random_state=0).fit(load_iris().data))
    >>> [output.name for output in model.graph.output]
    ['masses', 'labels']
    """
    check_choice(dtype, "dtype", ("float32", "float64"))
    try:
        import onnx  # noqa: F401
    except ImportError as error:
        raise MissingExtraError("to_onnx", "onnx", "onnx") from error
    target = None if path is None else as_path(path)
    if target is not None and target.suffix.lower() != ".onnx":
        raise InvalidParameterError(
            "path", "a file with the extension .onnx", str(target)
        )
    shape, names = _attributes(estimator)
    graph = Graph(shape, np.dtype(dtype))
    masses, final = _masses(estimator, graph.X)
    family = final.focal_sets_
    # The score of a label is the sum of masses times these shares.
    label_shares = family.membership.astype(float)
    if getattr(final, "_probability", "plausibility") != "plausibility":
        label_shares = label_shares / family.cardinality[:, None]
    labels = (masses @ label_shares).argmax()
    model = graph.model(
        {"masses": (masses, len(family)), "labels": (labels, None)},
        {"dempster": json.dumps(_metadata(final, names), ensure_ascii=False)},
        f"{type(final).__name__} of dempster: attributes to masses on {len(family)} sets",
    )
    if target is not None:
        with atomic_write(target) as temporary:
            temporary.write_bytes(model.SerializeToString(deterministic=True))
    return model


def _masses(model: Any, X: Value) -> tuple[Value, Any]:
    """Return the masses that a model computes, and its final estimator."""
    if type(model) is Pipeline:
        from dempster.onnx.layers import apply_steps

        return _masses(model[-1], apply_steps(model.steps[:-1], X))
    if _is_table_model(model):
        preparation = model.preparation
        if preparation is not None and preparation.categories:
            column = preparation.categories[0]
            raise InvalidParameterError(
                "estimator",
                must=f"have only numeric columns to be exported; {column!r} contains categories",
            )
        if preparation is not None and preparation.is_scaled:
            X = center_rows(X, preparation.center, preparation.scale)
        return _masses(model.estimator, X)
    return _exporter(model)(model, X), model


def _is_table_model(model: Any) -> bool:
    """Return whether a model is a `TableModel`, without importing its package."""
    return hasattr(model, "estimator") and hasattr(model, "preparation")


def _exporter(model: Any) -> Callable[[Any, Value], Value]:
    from dempster.onnx import _classify, _cluster

    exported = {**_cluster.EXPORTED, **_classify.EXPORTED}
    if type(model) not in exported:
        names = ", ".join(sorted(kind.__name__ for kind in exported))
        raise InvalidParameterError(
            "estimator",
            f"one of {names}, or a Pipeline or TableModel of one, got {type(model).__name__}",
        )
    check_is_fitted(model)
    return exported[type(model)]


def _attributes(model: Any) -> tuple[tuple[int, ...], list[str] | None]:
    """Return the shape of a row of X, and the names of the features or None."""
    if type(model) is Pipeline:
        steps = [step for _, step in model.steps if step not in (None, "passthrough")]
        if not steps:
            _exporter(model)
        check_is_fitted(steps[0])
        return _attributes(steps[0])
    if _is_table_model(model):
        if model.preparation is None:
            return _attributes(model.estimator)
        return (len(model.preparation.numbers),), list(model.preparation.numbers)
    if not hasattr(model, "n_features_in_"):
        _exporter(model)
    names = getattr(model, "feature_names_in_", None)
    # The rows of a network may be images.
    preparation = getattr(getattr(model, "_model", None), "preparation", None)
    shape = (
        (int(model.n_features_in_),) if preparation is None else preparation.mean.shape
    )
    return shape, None if names is None else list(map(str, names))


def _metadata(estimator: Any, names: list[str] | None) -> dict[str, Any]:
    from dempster import __version__

    family = estimator.focal_sets_
    frame: list[Any] = list(range(family.n_clusters))
    answers = {"clusters": frame}
    if hasattr(estimator, "classes_"):
        classes = estimator.classes_.tolist()
        frame = [
            name if isinstance(name, int | float | str) else str(name)
            for name in classes
        ]
        answers = {"classes": frame}
    return {
        "version": __version__,
        "estimator": type(estimator).__name__,
        "features": names,
        **answers,
        "sets": [list(map(int, members)) for members in family],
        "set_names": family.names(frame),
    }
