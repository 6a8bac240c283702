"""Positions of objects in the plane of two attributes or principal components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from dempster._arrays import is_graph, rows_of_entries
from dempster._errors import InvalidParameterError
from dempster._types import ArrayFunction
from dempster._validation import check_missing, check_scale, validating
from dempster.dissimilarity.graphs import read_graph
from dempster.dissimilarity.partial import impute_missing

_GOLDEN_RATIO = (np.sqrt(5) - 1) / 2
_MAX_FORCE_NODES = 1_000  # Forces between all pairs of more nodes take too long.
_FORCE_STEPS = 100
_GRAVITY = 1.0


@dataclass(frozen=True)
class Plane:
    """Coordinates of the objects in the plane, and a function that projects new rows."""

    points: np.ndarray  # (n, 2)
    axis_names: tuple[str, str]
    n_attributes: int
    project: ArrayFunction
    edges: np.ndarray | None = None  # (m, 2), nodes of the edges of a graph


def project_to_plane(X: Any, n_objects: int | None = None) -> Plane:
    """Project objects to the plane (see `CredalPartitionDisplay.from_partition`)."""
    if is_graph(X) or sparse.issparse(X):
        adjacency = read_graph(X, symmetrize=True).adjacency
        _check_number(adjacency.shape[0], n_objects)
        upper = sparse.triu(adjacency).tocoo()
        edges = np.column_stack([upper.row, upper.col])
        return Plane(lay_out_graph(adjacency), ("", ""), 2, np.asarray, edges)
    names = getattr(X, "columns", None)
    if names is None and getattr(X, "name", None) is not None:
        names = [X.name]  # of a series
    with validating(X, "X"):
        data = check_array(
            X,
            dtype=np.float64,
            ensure_2d=False,
            input_name="X",
            ensure_all_finite="allow-nan",
        )
    check_scale(data, "X")
    if data.ndim == 1:
        data = data[:, None]
    check_missing(data, X, None, learning=True)
    data = impute_missing(data)
    n, p = data.shape
    _check_number(n, n_objects)
    if names is None:
        names = ("attribute 1", "attribute 2")
    if p == 1:
        points = place_on_strip(data[:, 0])
        return Plane(
            points, (str(names[0]), ""), 1, lambda rows: rows[:, :1] * [1.0, 0.0]
        )
    model = fit_components(data) if p > 2 else None
    if model is None:
        axis_names = str(names[0]), str(names[1])
        return Plane(data[:, :2], axis_names, p, lambda rows: rows[:, :2])
    first, second = (
        f"PC {k} ({100 * share:.0f} % of variance)"
        for k, share in enumerate(model.explained_variance_ratio_, start=1)
    )
    return Plane(model.transform(data), (first, second), p, model.transform)


def _check_number(n: int, expected: int | None) -> None:
    if expected not in (None, n):
        raise InvalidParameterError(
            "X",
            must=f"have a row for each of the {expected} objects of the partition, got {n}",
        )


def lay_out_graph(adjacency: sparse.csr_array) -> np.ndarray:
    """Return positions of the nodes of a graph, at which nodes with an edge are close.

    Forces move the nodes: edges attract, and all pairs of nodes repel each other (Fruchterman and
    Reingold, 1991). Large graphs are placed by two eigenvectors of the adjacency matrix instead.
    """
    n = adjacency.shape[0]
    if n > _MAX_FORCE_NODES:
        from scipy.sparse.linalg import eigsh  # slow to import

        roots = np.sqrt(np.maximum(adjacency.sum(axis=1), 1e-12))
        scaled = adjacency / roots[:, None] / roots
        start = np.random.default_rng(0).normal(size=n)
        return eigsh(scaled, 3, which="LA", v0=start)[1][:, :2] / roots[:, None]
    from sklearn.metrics import euclidean_distances  # slow to import

    points = np.random.default_rng(0).normal(size=(n, 2))
    pulls = sparse.csr_array(adjacency / adjacency.data.mean())
    weights = pulls.data.copy()
    rows = rows_of_entries(pulls.indptr)
    for step in np.linspace(1.0, 0.0, _FORCE_STEPS, endpoint=False):
        pushes = 1 / np.maximum(euclidean_distances(points, squared=True), 1e-4)
        lengths = np.linalg.norm(points[rows] - points[pulls.indices], axis=1)
        pulls.data[:] = weights * lengths
        forces = pushes.sum(axis=1, keepdims=True) * points - pushes @ points
        forces -= pulls.sum(axis=1)[:, None] * points - pulls @ points
        forces -= _GRAVITY * points  # This force keeps separate components together.
        size = np.maximum(np.linalg.norm(forces, axis=1, keepdims=True), 1e-12)
        points += forces * np.minimum(1.0, step / size)
    points -= points.mean(axis=0)
    return points @ np.linalg.svd(points, full_matrices=False)[2].T  # wide, not high


def place_on_strip(values: np.ndarray) -> np.ndarray:
    """Return points with the given first coordinates, spread over a strip of height 1."""
    # Multiples of the golden ratio modulo 1 give neighbors on the line very different heights,
    # reproducibly.
    rank = np.argsort(np.argsort(values, kind="stable"))
    height = (rank * _GOLDEN_RATIO + 0.5) % 1 - 0.5
    return np.column_stack([values, height])


def fit_components(data: np.ndarray) -> Any | None:
    """Fit two principal components, or return None if the data have no variance."""
    if len(data) < 2 or not np.ptp(data, axis=0).any():
        return None
    from sklearn.decomposition import PCA  # slow to import

    return PCA(2, random_state=0).fit(data)
