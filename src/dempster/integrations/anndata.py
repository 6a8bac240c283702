"""Cluster the cells of an `AnnData` object (scanpy), and store the result in this object."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse import csgraph

from dempster import CredalPartition, FocalSets, __version__, explain
from dempster import _validation as rule
from dempster._errors import InvalidParameterError, MissingExtraError
from dempster._random import as_generator
from dempster._text import quote_names
from dempster._types import ArrayPair, Seed
from dempster.apps.methods import METHODS, methods_that
from dempster.cluster import CredalClustering

try:
    import anndata
except ImportError:  # The functions then raise an error that names the extra.
    anndata = None

__all__ = ["cluster", "get_partition", "AnnDataNamespace"]

# X is used without a representation up to this number of columns, as in scanpy.
_MAX_COLUMNS = 50
_OUTLIER = "outlier"  # name of the empty set
_MAX_LANDMARKS = 1000  # cells to which the distances along a graph are computed
_PATHS_AT_ONCE = 50  # landmarks from which paths are searched at the same time


def cluster(
    adata: anndata.AnnData,
    use_rep: str = "X_pca",
    n_clusters: int | str = "auto",
    key_added: str = "dempster",
    *,
    neighbors_key: str | None = None,
    method: type = CredalClustering,
    random_state: Seed = 0,
    **parameters: Any,
) -> Any:
    """Cluster the cells and store the result in ``adata``.

    The following entries are added. The masses and the identifier are sufficient to restore the
    partition (see `get_partition`), so the entries remain valid for subsets of the cells, for
    concatenations of these subsets, and in files.

    - ``obs[key_added]``: most plausible cluster of each cell, "0", "1", ...
    - ``obs[key_added + "_set"]``: set of clusters with the largest mass, such as "0", "0|3" for a
      cell between the clusters 0 and 3, or "outlier".
    - ``obs[key_added + "_doubt"]``: doubt of each cell; see `dempster.explain.doubt_scores`.
    - ``obs[key_added + "_fit"]``: identifier of the clustering, computed from the masses. It shows
      from which clustering a cell comes after a concatenation.
    - ``obsm[key_added + "_mass"]``: table of masses with one column for each set. With more than 50
      clusters, the masses are a sparse matrix, and the names of its columns are in ``uns``, so that
      a concatenation needs ``uns_merge="same"``.
    - ``uns[key_added]``: names of the sets, identifier, method, parameters, representation or
      graph, and version of dempster.

    With ``neighbors_key``, the dissimilarity of two cells is the length of the shortest path
    between them in the graph of nearest neighbors that `scanpy.pp.neighbors` stored. The clusterer
    is fitted to at most 1,000 random cells, and the masses of all cells are computed from the
    lengths of their paths to these cells, so that the memory grows linearly with the number of
    cells. Cells that no path connects are twice as dissimilar as the most distant connected cells.

    Parameters
    ----------
    adata : AnnData
        Cells to cluster. It may be backed by a file.
    use_rep : str, default="X_pca"
        Key of ``obsm``, or "X". If there are no principal components, X is used if it is dense and
        has at most 50 columns. Sparse and backed matrices are never converted to dense arrays, and
        are refused with an error.
    n_clusters : int or "auto", default="auto"
        Number of clusters.
    key_added : str, default="dempster"
        Name of the result.
    neighbors_key : str, optional
        Key of ``uns`` under which `scanpy.pp.neighbors` described the graph in ``obsp``, by default
        "neighbors" there. The cells are then clustered by distances along this graph instead of
        ``use_rep``.
    method : class of a clusterer, default=CredalClustering
        Clusterer from `dempster.cluster`. For a graph, it must accept dissimilarities.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the clusterer.
    **parameters
        Further parameters of the clusterer.

    Returns
    -------
    estimator
        The fitted clusterer. For a graph of more than 1,000 cells, its own results are those of the
        sampled cells.

    Examples
    --------
    >>> from anndata import AnnData
    >>> from dempster.datasets import load_iris
    >>> from dempster.integrations.anndata import cluster
    >>> adata = AnnData(load_iris().data)
    >>> model = cluster(adata, n_clusters=3)
    >>> list(adata.obs)
    ['dempster', 'dempster_set', 'dempster_doubt', 'dempster_fit']
    """
    _check_anndata(adata)
    if not (isinstance(method, type) and hasattr(method, "predict_mass")):
        raise InvalidParameterError(
            "method", "a class of dempster.cluster, such as EVCLUS", method
        )
    if neighbors_key is None:
        use_rep = _resolve_representation(adata, use_rep)
        values = adata.X if use_rep == "X" else adata.obsm[use_rep]
        model = method(n_clusters, random_state=random_state, **parameters).fit(values)
        partition = model.credal_partition_
        origin = {"use_rep": use_rep}
    else:
        able = [METHODS[name].class_name for name in methods_that("dissimilarities")]
        if method.__name__ not in able:
            expected = f"a class that accepts dissimilarities ({', '.join(able)})"
            raise InvalidParameterError("method", expected, method.__name__)
        D, landmarks = _path_lengths(adata, neighbors_key, random_state)
        model = method(
            n_clusters, metric="precomputed", random_state=random_state, **parameters
        ).fit(D[landmarks])
        partition = model.predict_mass(D)
        origin = {"neighbors_key": neighbors_key}
    sets = ["|".join(map(str, one)) or _OUTLIER for one in partition.focal_sets]
    best = pd.Categorical.from_codes(partition.best_set, pd.Index(sets), ordered=True)
    adata.obs[key_added] = pd.Categorical.from_codes(
        partition.labels, pd.RangeIndex(model.n_clusters_).astype(str)
    )
    adata.obs[f"{key_added}_set"] = best.remove_unused_categories()
    adata.obs[f"{key_added}_doubt"] = explain.doubt_scores(partition)
    identifier = _digest(adata.obs_names, partition)
    adata.obs[f"{key_added}_fit"] = pd.Categorical.from_codes(
        np.zeros(adata.n_obs, int), pd.Index([identifier])
    )
    masses = partition.stored_masses
    if not sparse.issparse(masses):
        masses = pd.DataFrame(masses, index=adata.obs_names, columns=sets)
    adata.obsm[f"{key_added}_mass"] = masses
    used = model.credal_partition_.metadata["parameters"]
    adata.uns[key_added] = {
        "sets": np.array(sets, object),
        "fit": identifier,
        "method": method.__name__,
        **origin,
        "parameters": {
            name: value for name, value in used.items() if value is not None
        },
        "version": __version__,
    }
    return model


def get_partition(adata: anndata.AnnData, key: str = "dempster") -> CredalPartition:
    """Return the credal partition that `cluster` stored in ``adata``.

    Parameters
    ----------
    adata : AnnData
        Object that was passed to `cluster`, or a part of it. If it is a concatenation of several
        clusterings, select the cells of one of them by ``adata.obs[key + "_fit"]``.
    key : str, default="dempster"
        Name of the result, the argument ``key_added`` of `cluster`.

    Returns
    -------
    CredalPartition
        Its index contains the names of the cells.
    """
    _check_anndata(adata)
    if f"{key}_mass" not in adata.obsm or f"{key}_fit" not in adata.obs:
        raise InvalidParameterError(
            "key", must=f"be the key_added of an earlier call of cluster, got {key!r}"
        )
    fits = adata.obs[f"{key}_fit"].unique()
    if len(fits) > 1:
        raise InvalidParameterError(
            "key",
            must="be the result of one call of cluster, but the clusters of different calls, "
            f"which are unrelated, were concatenated: adata.obs['{key}_fit'] contains "
            f"{quote_names(fits)}; select the cells of one of them, or cluster all cells together",
        )
    masses = adata.obsm[f"{key}_mass"]
    if sparse.issparse(masses):
        if adata.uns.get(key, {}).get("fit") != fits[0]:
            raise InvalidParameterError(
                "key",
                must=f"have the names of the sets of this clustering in adata.uns[{key!r}]; "
                "concatenate cells by anndata.concat(..., uns_merge='same')",
            )
        names = adata.uns[key]["sets"]
    else:
        # A concatenation with join="outer" adds the sets of the other clusterings.
        masses = masses.dropna(axis="columns", how="all")
        names = masses.columns
    sets = [
        () if name == _OUTLIER else tuple(map(int, name.split("|"))) for name in names
    ]
    family = FocalSets.from_sets(
        1 + max(max(clusters, default=0) for clusters in sets), sets
    )
    masses = masses if sparse.issparse(masses) else masses.to_numpy()
    return CredalPartition(masses, family, index=list(adata.obs_names))


class AnnDataNamespace:
    """Methods of ``adata.dempster``.

    ``import dempster.integrations.anndata`` adds them to `AnnData` objects. With versions of
    anndata before 0.12, use ``AnnDataNamespace(adata)`` instead.

    Parameters
    ----------
    adata : AnnData
        Cells.
    """

    def __init__(self, adata: anndata.AnnData):
        self._adata = adata

    def cluster(self, *arguments: Any, **parameters: Any) -> Any:
        """Cluster the cells and store the result (see `cluster`).

        Parameters
        ----------
        *arguments, **parameters
            Arguments of the function `cluster` after ``adata``.

        Returns
        -------
        estimator
            The fitted clusterer.
        """
        return cluster(self._adata, *arguments, **parameters)

    def get_partition(self, key: str = "dempster") -> CredalPartition:
        """Return the credal partition that was stored as ``key``.

        Parameters
        ----------
        key : str, default="dempster"
            Name of the result, ``key_added`` of `cluster`.

        Returns
        -------
        CredalPartition
        """
        return get_partition(self._adata, key)

    def profile(
        self, genes: Sequence[str], key: str = "dempster", **options: Any
    ) -> explain.Profile:
        """Describe clusters, groups of ambiguous cells and outliers by these genes.

        See `dempster.explain.profile`.

        Parameters
        ----------
        genes : sequence of str
            Names of the variables that describe the cells.
        key : str, default="dempster"
            Name of the result, ``key_added`` of `cluster`.
        **options
            Further arguments of `dempster.explain.profile`.

        Returns
        -------
        Profile
        """
        return explain.profile(
            self.get_partition(key), self._adata[:, list(genes)].to_df(), **options
        )

    def explain_object(
        self, cell: Any, genes: Sequence[str], key: str = "dempster", **options: Any
    ) -> Any:
        """Explain the masses of a cell by these genes; see `dempster.explain.explain_object`.

        Parameters
        ----------
        cell : str or int
            Name or position of the cell.
        genes : sequence of str
            Names of the variables that describe the cells.
        key : str, default="dempster"
            Name of the result, ``key_added`` of `cluster`.
        **options
            Further arguments of `dempster.explain.explain_object`.

        Returns
        -------
        ObjectExplanation
        """
        return explain.explain_object(
            self.get_partition(key),
            self._adata[:, list(genes)].to_df(),
            cell,
            **options,
        )


def _check_anndata(adata: Any) -> None:
    if anndata is None:
        raise MissingExtraError("dempster.integrations.anndata", "anndata", "cells")
    rule.check(adata, "adata", rule.kind(anndata.AnnData))


def _digest(names: pd.Index, partition: CredalPartition) -> str:
    """Return an identifier of a clustering, which is the same if the clustering is repeated."""
    content = hashlib.blake2b(digest_size=6)
    masses = partition.stored_masses
    parts = [masses]
    if sparse.issparse(masses):
        parts = [masses.data, masses.indices, masses.indptr]
    for part in parts:
        content.update(part.tobytes())
    content.update("\n".join(names).encode())
    return content.hexdigest()


def _resolve_representation(adata: anndata.AnnData, use_rep: str) -> str:
    """Return "X" or the key of ``obsm`` to cluster; X only if it is a dense array in memory."""
    if use_rep in adata.obsm:
        if sparse.issparse(adata.obsm[use_rep]):
            raise InvalidParameterError(
                "use_rep",
                must=f"be the key of a dense array, but adata.obsm[{use_rep!r}] is sparse; "
                "reduce it by TruncatedSVD",
            )
        return use_rep
    if use_rep not in ("X", "X_pca"):
        raise InvalidParameterError(
            "use_rep", f"'X' or a key of adata.obsm ({', '.join(adata.obsm)})", use_rep
        )
    is_dense = not adata.isbacked and isinstance(adata.X, np.ndarray)
    if is_dense and (use_rep == "X" or adata.n_vars <= _MAX_COLUMNS):
        return "X"
    raise InvalidParameterError(
        "use_rep",
        must=f"be a key of adata.obsm, got {use_rep!r}, and X is large, sparse or backed; "
        "call scanpy.pp.pca(adata) first",
    )


def _path_lengths(
    adata: anndata.AnnData, neighbors_key: str, random_state: Seed
) -> ArrayPair:
    """Return the lengths of the shortest paths to some cells, and the positions of these cells.

    The lengths have the shape (n_cells, n_landmarks), and the positions the shape (n_landmarks,).
    """
    # no key before scanpy 1.6
    description = adata.uns.get(neighbors_key, {})
    distances_key = description.get("distances_key", "distances")
    if neighbors_key not in adata.uns or distances_key not in adata.obsp:
        raise InvalidParameterError(
            "neighbors_key",
            must=f"describe a graph in adata.obsp[{distances_key!r}], got {neighbors_key!r}; "
            "call scanpy.pp.neighbors(adata) first",
        )
    graph = sparse.csr_array(adata.obsp[distances_key])
    # Dijkstra's algorithm does not end if a distance is negative.
    if not (graph.nnz and np.isfinite(graph.data).all() and graph.data.min() >= 0):
        raise InvalidParameterError(
            "neighbors_key",
            must=f"describe a graph with edges, but adata.obsp[{distances_key!r}] has none, or "
            "has distances that are negative or not finite",
        )
    landmarks = np.arange(adata.n_obs)
    if adata.n_obs > _MAX_LANDMARKS:
        landmarks = np.sort(
            as_generator(random_state).choice(
                adata.n_obs, _MAX_LANDMARKS, replace=False
            )
        )
    D = np.empty((adata.n_obs, len(landmarks)), np.float32)
    for start in range(0, len(landmarks), _PATHS_AT_ONCE):
        some = slice(start, start + _PATHS_AT_ONCE)
        D[:, some] = csgraph.dijkstra(graph, directed=False, indices=landmarks[some]).T
    D[np.isinf(D)] = 2 * D[np.isfinite(D)].max()
    return D, landmarks


if hasattr(anndata, "register_anndata_namespace"):
    anndata.register_anndata_namespace("dempster")(AnnDataNamespace)
