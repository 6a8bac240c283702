"""Clusters of the cells of an `AnnData` object (scanpy), and the doubt about them."""

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
from dempster.labels import LabeledPartition, compare_labels
from dempster.labels import doubt as estimate_doubt

try:
    import anndata
except ImportError:  # The functions then raise an error that names the extra.
    anndata = None

__all__ = ["cluster", "doubt", "find_doublets", "select_resolution", "get_partition"]
__all__ += ["AnnDataNamespace"]

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
        values = _read_representation(adata, use_rep)
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
    used = model.credal_partition_.metadata["parameters"]
    about = {"method": method.__name__, **origin}
    _store(adata, partition, key_added, about, used)
    return model


def doubt(
    adata: anndata.AnnData,
    key: str = "leiden",
    use_rep: str = "X_pca",
    key_added: str = "dempster",
    *,
    random_state: Seed = 0,
) -> LabeledPartition:
    """Estimate the doubt about the clusters of the cells, and store the result in ``adata``.

    The same entries as by `cluster` are added. The names of the clusters are the labels, such as
    those of `scanpy.tl.leiden`; see `dempster.doubt`.

    Parameters
    ----------
    adata : AnnData
        Cells, with their clusters in a column of ``obs``.
    key : str, default="leiden"
        Column of ``obs`` with the clusters; missing values and -1 mean that a cell has no cluster.
    use_rep : str, default="X_pca"
        Key of ``obsm``, or "X", as in `cluster`.
    key_added : str, default="dempster"
        Name of the result.
    random_state : int, RandomState, Generator or None, default=0
        Seed, as in `dempster.doubt`.

    Returns
    -------
    LabeledPartition

    Examples
    --------
    >>> from anndata import AnnData
    >>> from dempster.datasets import load_iris
    >>> from dempster.integrations.anndata import doubt
    >>> X, species = load_iris(return_X_y=True)
    >>> adata = AnnData(X)
    >>> adata.obs["species"] = species.astype(str)
    >>> _ = doubt(adata, "species")
    >>> adata.obs["dempster_set"].cat.categories.tolist()
    ['0', '1', '2', '1|2']
    """
    labels = _read_clusters(adata, key)
    use_rep = _resolve_representation(adata, use_rep)
    partition = estimate_doubt(
        _read_representation(adata, use_rep), labels, random_state=random_state
    )
    assert isinstance(partition, LabeledPartition)
    about = {"method": "doubt", "use_rep": use_rep, "labels": key}
    _store(adata, partition, key_added, about, partition.metadata["parameters"])
    return partition


def find_doublets(adata: anndata.AnnData, key: str = "dempster") -> pd.DataFrame:
    """Find cells that may be doublets of two types, after `doubt` or `cluster`.

    A droplet with two cells of different types lies between their clusters. Two columns are added:
    ``obs[key + "_doublet"]``, the sum of the masses on pairs of clusters, and
    ``obs[key + "_pair"]``, the pair with the largest mass, such as "0|3", or missing if no pair has
    mass. Cells in an intermediate state also lie between clusters; doublets of two cells of the
    same type do not.

    Parameters
    ----------
    adata : AnnData
        Cells with a result of `doubt` or `cluster`.
    key : str, default="dempster"
        Name of the result.

    Returns
    -------
    pandas.DataFrame
        The two columns, the cells with the largest mass on pairs first.

    Examples
    --------
    >>> from anndata import AnnData
    >>> from dempster.datasets import load_iris
    >>> from dempster.integrations.anndata import doubt, find_doublets
    >>> X, species = load_iris(return_X_y=True)
    >>> adata = AnnData(X)
    >>> adata.obs["species"] = species.astype(str)
    >>> _ = doubt(adata, "species")
    >>> find_doublets(adata)["dempster_pair"].iloc[0]
    '1|2'
    """
    partition = get_partition(adata, key)
    sets = partition.focal_sets
    pairs = np.flatnonzero(sets.cardinality == 2)
    masses = partition.stored_masses[:, pairs]
    if sparse.issparse(masses):
        masses = masses.toarray()
    names = [_name_set(one, partition.frame) for one in sets]
    found = np.full(adata.n_obs, None, object)
    if len(pairs):
        has_pair = masses.any(axis=1)
        found[has_pair] = np.array(names, object)[pairs][
            masses.argmax(axis=1)[has_pair]
        ]
    columns = {f"{key}_doublet": masses.sum(axis=1), f"{key}_pair": found}
    for name, values in columns.items():
        adata.obs[name] = values
    table = adata.obs[list(columns)]
    return table.sort_values(f"{key}_doublet", ascending=False, kind="stable")


def select_resolution(
    adata: anndata.AnnData,
    resolutions: Sequence[float] = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0),
    use_rep: str = "X_pca",
    key_added: str = "leiden",
    *,
    random_state: Seed = 0,
    **options: Any,
) -> pd.DataFrame:
    """Select the resolution of the Leiden algorithm with the largest expected agreement.

    The partition of each resolution is compared by its expected agreement with the true clusters
    (`dempster.labels.compare_labels`). ``obs[key_added]`` contains the best one. Of equally good
    ones, the lowest resolution is selected.

    Parameters
    ----------
    adata : AnnData
        Cells, with the graph of `scanpy.pp.neighbors`.
    resolutions : sequence of float, default=(0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0)
        Resolutions to compare.
    use_rep : str, default="X_pca"
        Key of ``obsm``, or "X", as in `cluster`: the representation of the graph.
    key_added : str, default="leiden"
        Column of ``obs`` for the clusters.
    random_state : int, RandomState, Generator or None, default=0
        Seed for comparing the partitions.
    **options
        Further arguments of `scanpy.tl.leiden`, such as ``neighbors_key`` or ``random_state``.

    Returns
    -------
    pandas.DataFrame
        A row for each resolution, with the number of clusters, the expected agreement, the
        agreement that nine of ten such partitions exceed, and whether it was selected.
    """
    _check_anndata(adata)
    values = rule.as_list(resolutions, "resolutions", "numbers")
    if not values:
        raise InvalidParameterError("resolutions", must="contain at least one number")
    for value in values:
        rule.check(value, "resolutions", rule.positive)
    use_rep = _resolve_representation(adata, use_rep)
    try:
        from scanpy.tl import leiden
    except ImportError as error:
        raise MissingExtraError("select_resolution", "scanpy", "cells") from error
    options = {"flavor": "igraph", "n_iterations": 2, "directed": False} | options
    labelings = {}
    for value in sorted(values):
        leiden(adata, resolution=value, key_added=key_added, **options)
        labelings[value] = adata.obs[key_added].copy()
    table = compare_labels(
        _read_representation(adata, use_rep), labelings, random_state=random_state
    )
    table.index.name = "resolution"
    best = table["expected_agreement"].idxmax()
    table["selected"] = table.index == best
    adata.obs[key_added] = labelings[best]
    return table


def _read_clusters(adata: anndata.AnnData, key: str) -> np.ndarray:
    """Return the clusters of the cells in a column of ``obs``."""
    _check_anndata(adata)
    if key not in adata.obs:
        expected = f"a column of adata.obs ({', '.join(map(str, adata.obs))})"
        raise InvalidParameterError("key", expected, key)
    labels = adata.obs[key].to_numpy(object)
    names = [name for name in map(str, pd.unique(labels)) if "|" in name]
    if names:
        must = f"name clusters without '|', which separates the clusters of a set, got {names[0]!r}"
        raise InvalidParameterError("key", must=must)
    return labels


def _read_representation(adata: anndata.AnnData, use_rep: str) -> Any:
    return adata.X if use_rep == "X" else adata.obsm[use_rep]


def _name_set(clusters: Sequence[int], frame: Sequence[Any]) -> str:
    return "|".join(str(frame[k]) for k in clusters) or _OUTLIER


def _store(
    adata: anndata.AnnData,
    partition: CredalPartition,
    key_added: str,
    about: dict[str, Any],
    parameters: dict[str, Any],
) -> None:
    """Add the entries that `cluster` describes."""
    sets = [_name_set(one, partition.frame) for one in partition.focal_sets]
    best = pd.Categorical.from_codes(partition.best_set, pd.Index(sets), ordered=True)
    adata.obs[key_added] = pd.Categorical.from_codes(
        partition.labels, pd.Index(list(map(str, partition.frame)))
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
    adata.uns[key_added] = {
        "sets": np.array(sets, object),
        "fit": identifier,
        **about,
        "parameters": {
            name: value for name, value in parameters.items() if value is not None
        },
        "version": __version__,
    }


def get_partition(adata: anndata.AnnData, key: str = "dempster") -> CredalPartition:
    """Return the credal partition that `cluster` or `doubt` stored in ``adata``.

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
    sets = [() if name == _OUTLIER else tuple(name.split("|")) for name in names]
    frame = list(dict.fromkeys(cluster for one in sets for cluster in one))
    codes = {name: k for k, name in enumerate(frame)}
    if sorted(frame) == sorted(map(str, range(len(frame)))):
        codes = {name: int(name) for name in frame}  # numbers of clusters
        frame = sorted(codes.values())
    family = FocalSets.from_sets(
        len(frame), [tuple(codes[cluster] for cluster in one) for one in sets]
    )
    masses = masses if sparse.issparse(masses) else masses.to_numpy()
    return CredalPartition(masses, family, index=list(adata.obs_names), frame=frame)


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
