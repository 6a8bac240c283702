"""Results that are stored in `AnnData` objects, in parts of them, in files, and after a concatenation."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from dempster._errors import MissingExtraError
from dempster.cluster import ECM, EVCLUS, CredalClustering
from dempster.explain import doubt_scores
from dempster.integrations import anndata as cells

X = load_iris().data.astype(np.float32)
GENES = ["A1", "B2", "C3", "D4"]


def test_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setattr(cells, "anndata", None)
    functions = (cells.cluster, cells.get_partition, cells.doubt)
    for function in (*functions, cells.find_doublets, cells.select_resolution):
        with pytest.raises(MissingExtraError, match=r"dempster\[cells\]"):
            function(None)


@pytest.fixture(scope="module")
def anndata():
    return pytest.importorskip("anndata")


@pytest.fixture
def blank(anndata):
    names = [f"cell {i}" for i in range(150)]
    return anndata.AnnData(
        X.copy(), pd.DataFrame(index=names), pd.DataFrame(index=GENES)
    )


@pytest.fixture
def clustered(blank):
    model = cells.cluster(
        blank, n_clusters=3, key_added="ev", method=ECM, focal_sets="pairs", n_init=1
    )
    return blank, model


def test_stored_result(clustered):
    adata, model = clustered
    partition = model.credal_partition_
    assert list(adata.obs["ev"].astype(int)) == list(model.labels_)
    assert adata.obs["ev_set"].cat.ordered
    for name, chosen in zip(adata.obs["ev_set"], partition.assignment(), strict=True):
        assert name == ("|".join(map(str, np.flatnonzero(chosen))) or "outlier")
    assert len(partition.ambiguous)
    np.testing.assert_array_equal(adata.obs["ev_doubt"], doubt_scores(partition))
    np.testing.assert_array_equal(adata.obsm["ev_mass"], partition.masses)
    about = adata.uns["ev"]
    assert list(about["sets"]) == list(adata.obsm["ev_mass"].columns)
    assert (about["method"], about["use_rep"], about["parameters"]["random_state"]) == (
        "ECM",
        "X",
        0,
    )


def test_default_method_selects_the_number(blank):
    model = cells.cluster(blank, shape="compact")
    assert isinstance(model, CredalClustering)
    assert list(blank.obs["dempster"].cat.categories) == [
        str(k) for k in range(model.n_clusters_)
    ]


def test_partition_is_restored(clustered):
    adata, model = clustered
    partition = cells.get_partition(adata, "ev")
    np.testing.assert_allclose(
        partition.masses, model.credal_partition_.masses, atol=1e-6
    )
    assert partition.focal_sets == model.focal_sets_
    assert list(partition.index) == list(adata.obs_names)
    with pytest.raises(ValueError, match="key must be the key_added"):
        cells.get_partition(adata)


def test_file_parts_and_concatenation(clustered, anndata, tmp_path):
    adata, _ = clustered
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    pd.testing.assert_frame_equal(again.obs, adata.obs)
    assert again.uns["ev"]["parameters"] == adata.uns["ev"]["parameters"]
    order = np.random.default_rng(0).permutation(150)
    joined = anndata.concat([again[order[:60]].copy(), again[order[60:]].copy()])
    expected = cells.get_partition(adata, "ev")
    np.testing.assert_allclose(
        cells.get_partition(joined, "ev").masses, expected.masses[order], atol=1e-6
    )
    assert list(joined.obs["ev_set"]) == list(adata.obs["ev_set"].iloc[order])
    assert list(cells.get_partition(again[5:9], "ev").index) == list(
        adata.obs_names[5:9]
    )


def test_compressed_rows(anndata, tmp_path):
    """With many clusters, the masses are sparse, and the names of the sets are in uns."""
    values, _ = make_blobs(500, 3, centers=60, random_state=0)
    names = [f"cell {i}" for i in range(500)]
    adata = anndata.AnnData(values, pd.DataFrame(index=names))
    model = cells.cluster(adata, n_clusters=60, method=ECM, n_init=1)
    expected = model.credal_partition_
    adata.write_h5ad(tmp_path / "cells.h5ad")
    again = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert sparse.issparse(again.obsm["dempster_mass"])
    parts = [again[:100].copy(), again[300:].copy()]
    joined = anndata.concat(parts, uns_merge="same")
    found = cells.get_partition(joined)
    assert found.focal_sets == expected.focal_sets
    np.testing.assert_allclose(
        found.masses, expected.masses[np.r_[:100, 300:500]], atol=1e-6
    )
    other = anndata.AnnData(
        values + 1, pd.DataFrame(index=[f"{i}" for i in range(500)])
    )
    cells.cluster(other, n_clusters=60, method=ECM, n_init=1, random_state=1)
    joined = anndata.concat([again, other], join="outer", uns_merge="first")
    strangers = joined[joined.obs["dempster_fit"] == other.uns["dempster"]["fit"]]
    for one in (anndata.concat(parts), strangers):
        with pytest.raises(ValueError, match="uns_merge='same'"):
            cells.get_partition(one)


@pytest.mark.parametrize("n_clusters", [3, 4])
def test_clusterings_are_not_joined(clustered, anndata, n_clusters):
    adata, _ = clustered
    other = anndata.AnnData(X + 1, var=pd.DataFrame(index=GENES))
    cells.cluster(
        other, n_clusters=n_clusters, key_added="ev", method=ECM, focal_sets="pairs"
    )
    blank = anndata.AnnData(X[:5], var=pd.DataFrame(index=GENES))
    blank.obs_names = list("abcde")
    for parts in ([adata, other], [adata, blank]):
        joined = anndata.concat(parts, join="outer")
        with pytest.raises(
            ValueError, match="key must be the result of one call of cluster"
        ):
            cells.get_partition(joined, "ev")
    joined = anndata.concat([adata, other], join="outer")
    for part in (adata, other):
        one = joined[joined.obs["ev_fit"] == part.obs["ev_fit"].iloc[0]]
        found = cells.get_partition(one, "ev")  # The order of the sets may differ.
        expected = cells.get_partition(part, "ev")
        np.testing.assert_allclose(found.contour, expected.contour, atol=1e-6)


def test_representations(blank, anndata, tmp_path, monkeypatch):
    quick = {"n_clusters": 3, "method": ECM, "n_init": 1}
    on_x = cells.cluster(blank, **quick)
    blank.X = sparse.csr_matrix(blank.X)
    with pytest.raises(ValueError, match="scanpy.pp.pca"):
        cells.cluster(blank, **quick)
    with pytest.raises(ValueError, match="use_rep must be 'X' or a key of adata.obsm"):
        cells.cluster(blank, "X_umap", **quick)
    blank.obsm["counts"] = sparse.csr_matrix(X)
    with pytest.raises(
        ValueError, match=r"use_rep must be the key of a dense array, .* is sparse"
    ):
        cells.cluster(blank, "counts", **quick)
    blank.obsm["X_pca"] = X
    blank.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    monkeypatch.setattr(sparse.csr_matrix, "toarray", None)
    for adata in (blank, backed):
        np.testing.assert_array_equal(
            cells.cluster(adata, **quick).labels_, on_x.labels_
        )
        assert adata.uns["dempster"]["use_rep"] == "X_pca"
    with pytest.raises(ValueError, match="scanpy.pp.pca"):
        cells.cluster(backed, "X", **quick)
    wide = anndata.AnnData(np.zeros((5, 51), np.float32))
    with pytest.raises(ValueError, match="scanpy.pp.pca"):
        cells.cluster(wide, **quick)


@pytest.fixture
def graph(blank):
    """Two connected components: the first 50 irises and the others are far from each other."""
    blank.obsp["near"] = kneighbors_graph(X.astype(float), 10, mode="distance")
    blank.uns["neighbors"] = {"distances_key": "near"}
    return blank


def shortest_paths(graph):
    """Return the lengths of the shortest paths by the algorithm of Floyd and Warshall.

    Stored zeros are edges.
    """
    edges = graph.tocoo()
    D = np.full(graph.shape, np.inf)
    D[edges.row, edges.col] = edges.data
    D = np.minimum(D, D.T)
    np.fill_diagonal(D, 0)
    for k in range(len(D)):
        D = np.minimum(D, D[:, [k]] + D[k])
    return D


def test_path_lengths(graph):
    found, landmarks = cells._path_lengths(graph, "neighbors", 0)
    D = shortest_paths(graph.obsp["near"])
    apart = np.isinf(D)
    np.testing.assert_array_equal(
        apart, (np.arange(150) < 50)[:, None] != (np.arange(150) < 50)
    )
    np.testing.assert_array_equal(landmarks, np.arange(150))
    np.testing.assert_allclose(
        found, np.where(apart, 2 * D[~apart].max(), D), rtol=1e-6
    )


def test_graph_of_neighbors(graph, tmp_path, anndata):
    options = {
        "n_clusters": 3,
        "neighbors_key": "neighbors",
        "method": EVCLUS,
        "n_init": 1,
    }
    model = cells.cluster(graph, **options)
    D = cells._path_lengths(graph, "neighbors", 0)[0]
    expected = EVCLUS(3, metric="precomputed", n_init=1, random_state=0).fit(D)
    np.testing.assert_allclose(
        graph.obsm["dempster_mass"], expected.credal_partition_.masses, atol=1e-6
    )
    np.testing.assert_array_equal(graph.obs["dempster"].astype(int), model.labels_)
    assert graph.uns["dempster"]["neighbors_key"] == "neighbors"
    graph.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    cells.cluster(backed, **options)
    pd.testing.assert_frame_equal(backed.obs, graph.obs)


def test_graph_of_many_cells_uses_some_of_them(graph, monkeypatch):
    monkeypatch.setattr(cells, "_MAX_LANDMARKS", 60)
    D, landmarks = cells._path_lengths(graph, "neighbors", 0)
    assert (D.shape, len(set(landmarks))) == ((150, 60), 60)
    np.testing.assert_array_equal(np.diagonal(D[landmarks]), 0)
    model = cells.cluster(graph, n_clusters=2, neighbors_key="neighbors")
    assert (len(model.labels_), len(graph.obsm["dempster_mass"])) == (60, 150)
    assert adjusted_rand_score(np.arange(150) < 50, graph.obs["dempster"]) == 1


def test_wrong_graph(graph):
    with pytest.raises(
        ValueError,
        match="neighbors_key must describe a graph .*, got 'other'; call scanpy",
    ):
        cells.cluster(graph, neighbors_key="other")
    with pytest.raises(
        ValueError, match="method must be a class that accepts dissimilarities"
    ):
        cells.cluster(graph, neighbors_key="neighbors", method=ECM)


@pytest.mark.parametrize("distance", [-1e-9, np.nan, np.inf])
def test_invalid_distance_in_the_graph(graph, distance):
    graph.obsp["near"].data[7] = distance
    with pytest.raises(ValueError, match="neighbors_key must .*obsp.'near'.* negative"):
        cells.cluster(graph, neighbors_key="neighbors")


def test_graph_that_is_empty_or_absent(graph):
    graph.obsp["near"] = sparse.csr_matrix((150, 150))
    with pytest.raises(ValueError, match="neighbors_key must .* has none"):
        cells.cluster(graph, neighbors_key="neighbors")
    graph.uns["neighbors"]["distances_key"] = "far"
    with pytest.raises(ValueError, match="neighbors_key must describe a graph .*'far'"):
        cells.cluster(graph, neighbors_key="neighbors")


def test_wrong_arguments(blank):
    with pytest.raises(ValueError, match="adata"):
        cells.cluster(X)
    with pytest.raises(ValueError, match="method must be a class of dempster.cluster"):
        cells.cluster(blank, method="ECM")


def test_namespace_describes_by_genes(clustered):
    adata, _ = clustered
    adata.X = sparse.csr_matrix(adata.X)
    namespace = cells.AnnDataNamespace(adata)
    found = namespace.profile(GENES[2:], "ev")
    assert found.to_frame().index[0] == "cluster 0"
    assert (
        found.discriminating_features(0, 1)["rule"].iloc[0].split(" if ")[1][:2]
        in GENES
    )
    assert "cell 7" in str(namespace.explain_object("cell 7", GENES, "ev"))
    if hasattr(adata, "dempster"):  # anndata 0.12 or later
        assert len(adata.dempster.get_partition("ev")) == 150


# ---- clusters of another program -----------------------------------------------------------------


@pytest.fixture
def labeled(anndata):
    """Return two types of cells, a type between them, and cells without a type."""
    rng = np.random.default_rng(0)
    centers = np.array([[0, 0, 0], [8, 0, 0], [4, 0, 0]])
    kinds = np.repeat([0, 1, 2], [120, 80, 6])
    adata = anndata.AnnData(
        (centers[kinds] + rng.normal(size=(206, 3))).astype(np.float32)
    )
    names = np.array(["T cells", "B cells"])[(adata.X[:, 0] > 4).astype(int)]
    names = names.astype(object)
    names[:4] = None
    adata.obs["type"] = pd.Categorical(names)
    return adata


def test_doubt_about_clusters(labeled):
    partition = cells.doubt(labeled, "type", key_added="d")
    assert partition.frame == ("B cells", "T cells")
    assert list(labeled.obs["d"].cat.categories) == ["B cells", "T cells"]
    assert (labeled.obs["d"][:120] == "T cells").all()
    assert labeled.uns["d"]["labels"] == "type"
    part = labeled[labeled.obs["d_doubt"] < 2].copy()
    restored = cells.get_partition(part, "d")
    assert restored.frame == partition.frame
    np.testing.assert_allclose(restored.masses, partition.masses, atol=1e-6)
    assert set(map(str, restored.lower("B cells"))) == {
        str(i) for i in np.flatnonzero(labeled.obs["d_set"] == "B cells")
    }


def test_doublets(labeled):
    cells.doubt(labeled, "type", key_added="d")
    table = cells.find_doublets(labeled, "d")
    assert list(table.columns) == ["d_doublet", "d_pair"]
    first = table.head(3)
    assert set(first["d_pair"]) == {"B cells|T cells"}
    assert first["d_doublet"].is_monotonic_decreasing
    assert first.index.astype(int).min() >= 200


def test_resolutions(anndata):
    scanpy = pytest.importorskip("scanpy")
    pytest.importorskip("igraph")
    X, y = make_blobs(300, 5, centers=4, random_state=1)
    adata = anndata.AnnData(X)
    scanpy.pp.neighbors(adata, use_rep="X")
    table = cells.select_resolution(adata, (2.0, 0.05, 0.3))
    assert list(table.index) == [0.05, 0.3, 2.0]
    assert table["selected"].sum() == 1
    [best] = table.index[table["selected"]]
    assert table["expected_agreement"].max() == table["expected_agreement"][best]
    assert adjusted_rand_score(y, adata.obs["leiden"]) > 0.95
    assert table["n_clusters"][best] == adata.obs["leiden"].nunique()


def test_errors_of_clusters(labeled):
    with pytest.raises(ValueError, match="key must be a column of adata.obs"):
        cells.doubt(labeled, "leiden")
    labeled.obs["both"] = np.where(labeled.obs["type"] == "T cells", "CD4|CD8", "B")
    with pytest.raises(ValueError, match="name clusters without"):
        cells.doubt(labeled, "both")
    with pytest.raises(ValueError, match="resolutions"):
        cells.select_resolution(labeled, ())
