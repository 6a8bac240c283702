"""Schemas of classes that are not described by the annotations of their attributes.

There is one function for each package, which imports the package.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import numpy as np
import pandas as pd
from scipy import sparse

from dempster import _validation as rule
from dempster._errors import InvalidInputError
from dempster.belief import FocalSets, MassFunctions
from dempster.partition import CredalPartition
from dempster.persistence.schema import Schema, check_array, check_names, check_parts

_MASS_TOLERANCE = 1e-3  # tolerance for the sum of masses in single or double precision


# ---- values --------------------------------------------------------------------------------------


def _mass_schema(kind: Any, **more: Any) -> Schema:
    names = ("masses", "focal_sets", "index", "frame", *more)

    def build(parts: dict[str, Any]) -> Any:
        """Build the object with exactly the saved masses, without normalization."""
        check_names(parts, names)
        check_parts(parts, {"focal_sets": FocalSets, **more})
        masses = parts["masses"]
        family = parts["focal_sets"]
        index = parts["index"]
        n = 0
        if hasattr(masses, "shape"):
            n = masses.shape[0]
        values = masses
        if isinstance(masses, sparse.csr_array) and masses.shape[1] == len(family):
            values = masses.data
        else:
            check_array("masses", masses, ["n n_sets"], {"n_sets": len(family)})
        is_nonnegative = values.dtype.kind == "f" and (values >= 0).all()
        if (
            not is_nonnegative
            or np.abs(masses.sum(axis=1) - 1).max(initial=0) > _MASS_TOLERANCE
        ):
            raise InvalidInputError("masses must be nonnegative and sum to one")
        if index is not None and (isinstance(index, str) or len(index) != n):
            raise InvalidInputError(
                f"index must contain one name for each of the {n} rows"
            )
        frame = kind(np.empty((0, len(family))), family, frame=parts["frame"]).frame
        metadata = {name: parts[name] for name in more}
        check_parts(metadata.get("metadata", {}), {"choices": dict})
        return kind.unchecked(masses, family, index, frame, **metadata)

    def parts_of(obj: Any) -> dict[str, Any]:
        saved = {name: getattr(obj, name) for name in names if name != "masses"}
        return {"masses": obj.stored_masses, **saved}

    return Schema(kind, parts_of, build)


def _constraints() -> tuple[Schema, ...]:
    from dempster.constraints.constraints import Constraints

    return (Schema.from_arguments(Constraints),)


def _dissimilarity() -> tuple[Schema, ...]:
    from dempster.dissimilarity.categories import CategoryEncoder
    from dempster.dissimilarity.gower import GowerData, GowerEncoder
    from dempster.dissimilarity.graphs import GraphInput
    from dempster.dissimilarity.input import DissimilarityInput
    from dempster.dissimilarity.neighbors import PointTree
    from dempster.dissimilarity.pca import DissimilarityPCA
    from dempster.dissimilarity.sources import (
        AttributeSource,
        GowerSource,
        MatrixSource,
        References,
        SparseSource,
    )

    classes = (
        CategoryEncoder,
        DissimilarityInput,
        GowerData,
        GowerEncoder,
        GraphInput,
        References,
    )
    return (
        *map(Schema.from_class, classes),
        Schema.from_estimator(DissimilarityPCA),
        Schema.from_arguments(AttributeSource, X="objects"),
        Schema.from_arguments(GowerSource),
        Schema.from_arguments(MatrixSource, D="matrix"),
        Schema.from_arguments(SparseSource, D="stored"),
        # The tree is rebuilt from its points, because a file may contain invalid indices.
        Schema.from_arguments(PointTree, X="points"),
    )


def _posterior() -> tuple[Schema, ...]:
    from dempster.posterior.axes import Axes
    from dempster.posterior.densities import FoldMixture
    from dempster.posterior.model import PosteriorModel
    from dempster.posterior.neighbors import NeighborShares
    from dempster.posterior.scaling import Scaling

    classes = (PosteriorModel, Axes, FoldMixture, NeighborShares, Scaling)
    return tuple(map(Schema.from_class, classes))


def _labels() -> tuple[Schema, ...]:
    from dempster.labels.connection import Connection
    from dempster.labels.graphs import GraphModel
    from dempster.labels.labeled_clustering import LabeledClustering
    from dempster.labels.labeled_partition import LabeledPartition, LabelModel
    from dempster.labels.rows import InputValidator

    return (
        _mass_schema(LabeledPartition, metadata=dict, model=LabelModel | GraphModel),
        Schema.from_class(GraphModel),
        Schema.from_class(LabelModel),
        Schema.from_class(Connection),
        Schema.from_estimator(LabeledClustering),
        Schema.from_estimator(InputValidator),
    )


# ---- torch and scikit-learn ----------------------------------------------------------------------


def _networks() -> tuple[Schema, ...]:
    """Return the schema of the network of `NNEVCLUS`."""
    import torch

    from dempster.nn import MassNetwork

    names = ("body", "head", "empty", "outlier_unit", "coefficients")

    def parts(network: MassNetwork) -> dict[str, Any]:
        head = None
        if network.head is not None:
            # the biases in the last row
            head = torch.vstack([network.head.weight.T, network.head.bias])
        return {**{name: getattr(network, name) for name in names}, "head": head}

    def build(parts: dict[str, Any]) -> MassNetwork:
        """Build the network on the CPU."""
        check_names(parts, names)
        check_parts(
            parts,
            {
                "head": Annotated[np.ndarray, "* f"] | None,
                "coefficients": Annotated[np.ndarray, "2"] | None,
            },
        )
        head = None
        if parts["head"] is not None:
            matrix = torch.as_tensor(parts["head"])
            n_inputs, n_outputs = matrix.shape[0] - 1, matrix.shape[1]
            head = torch.nn.utils.skip_init(
                torch.nn.Linear, n_inputs, n_outputs, dtype=matrix.dtype
            )
            head.load_state_dict({"weight": matrix[:-1].T, "bias": matrix[-1]})
        network = MassNetwork(
            parts["body"], parts["empty"], parts["outlier_unit"], head
        )
        if (network.coefficients is None) != (parts["coefficients"] is None):
            raise InvalidInputError(
                "the coefficients of the outlier unit do not match outlier_unit"
            )
        if network.coefficients is not None:
            with torch.no_grad():
                network.coefficients.copy_(torch.as_tensor(parts["coefficients"]))
        return network.eval()

    return (Schema(MassNetwork, parts, build),)


def _sklearn() -> tuple[Schema, ...]:
    """Return the schemas of scikit-learn estimators that estimators of dempster may contain."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.linear_model import LogisticRegression
    from sklearn.mixture import GaussianMixture
    from sklearn.neighbors import KNeighborsRegressor, NearestNeighbors
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
    from sklearn.svm import OneClassSVM

    def search_schema(kind: Any) -> Schema:
        """Return the schema of a neighbor search.

        It is fitted again when it is loaded, because a file may contain invalid indices.
        """
        names = ("parameters", "points", "targets", "columns")

        def parts(search: Any) -> dict[str, Any]:
            state = vars(search)
            stored = ("_fit_X", "_y", "feature_names_in_")
            values = (search.get_params(deep=False), *map(state.get, stored))
            return dict(zip(names, values, strict=True))

        def build(parts: dict[str, Any]) -> Any:
            check_names(parts, names, names[:2])
            points = parts["points"]
            if parts.get("columns") is not None:
                points = pd.DataFrame(points, columns=parts["columns"])
            return kind(**parts["parameters"]).fit(points, parts.get("targets"))

        return Schema(kind, parts, build)

    scalers = (StandardScaler, MinMaxScaler, RobustScaler)
    plain = (LogisticRegression, LinearDiscriminantAnalysis, GaussianMixture, *scalers)
    return (
        *map(Schema.from_estimator, plain),
        Schema.from_estimator(OneClassSVM, _check_vectors),
        search_schema(NearestNeighbors),
        search_schema(KNeighborsRegressor),
        Schema.from_arguments(Pipeline),
    )


def _check_vectors(detector: Any) -> None:
    """Raise an error if arrays have wrong lengths, because libsvm would read beyond their ends."""
    state = vars(detector)
    if "support_" not in state:  # The constructor sets other attributes.
        return
    shapes = {
        "support_": "n:int32",
        "support_vectors_": "n p:float64",
        "_n_support": "2:int32",
        "_dual_coef_": "1 n:float64",
        "_intercept_": "1:float64",
        "_probA": "0:float64",
        "_probB": "0:float64",
        "offset_": "1:float64",
    }
    check_names(state, state, shapes)
    lengths = {"p": state["n_features_in_"]}
    for name, shape in shapes.items():
        check_array(name, state[name], [shape], lengths)
    n = len(state["support_"])
    counts = state["_n_support"]
    if counts.min() < 0 or counts.max() > n or state["_sparse"] is not False:
        raise InvalidInputError(
            f"_n_support must contain counts of at most {n} dense support vectors"
        )
    rule.check_choice(state["kernel"], "kernel", ("linear", "poly", "rbf", "sigmoid"))


TABLES: Mapping[str, Callable[[], tuple[Schema, ...]]] = {
    "belief": lambda: (Schema.from_arguments(FocalSets), _mass_schema(MassFunctions)),
    "partition": lambda: (_mass_schema(CredalPartition, metadata=dict),),
    "constraints": _constraints,
    "dissimilarity": _dissimilarity,
    "posterior": _posterior,
    "labels": _labels,
    "nn": _networks,
    "sklearn": _sklearn,
}
