"""Results that are stored in `AnnData` objects, in parts of them, in files, and after a concatenation."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_iris

from dempster._errors import MissingExtraError
from dempster.cluster import ECM, CredalClustering
from dempster.explain import doubt_scores
from dempster.integrations import anndata as cells

X = load_iris().data.astype(np.float32)
GENES = ["A1", "B2", "C3", "D4"]


def test_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setattr(cells, "anndata", None)
    for function in (cells.cluster, cells.get_partition):
        with pytest.raises(MissingExtraError, match=r"dempster\[cells\]"):
            function(None)


@pytest.fixture(scope="module")
def anndata():
    return pytest.importorskip("anndata")


@pytest.fixture
def blank(anndata):
    names = [f"cell {i}" for i in range(150)]
    return anndata.AnnData(X.copy(), pd.DataFrame(index=names), pd.DataFrame(index=GENES))


@pytest.fixture
def clustered(blank):
    model = cells.cluster(blank, n_clusters=3, key_added="ev", method=ECM, focal_sets="pairs", n_init=1)
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
    assert (about["method"], about["use_rep"], about["parameters"]["random_state"]) == ("ECM", "X", 0)


def test_default_method_selects_the_number(blank):
    model = cells.cluster(blank, shape="compact")
    assert isinstance(model, CredalClustering)
    assert list(blank.obs["dempster"].cat.categories) == [str(k) for k in range(model.n_clusters_)]


def test_partition_is_restored(clustered):
    adata, model = clustered
    partition = cells.get_partition(adata, "ev")
    np.testing.assert_allclose(partition.masses, model.credal_partition_.masses, atol=1e-6)
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
    np.testing.assert_allclose(cells.get_partition(joined, "ev").masses, expected.masses[order], atol=1e-6)
    assert list(joined.obs["ev_set"]) == list(adata.obs["ev_set"].iloc[order])
    assert list(cells.get_partition(again[5:9], "ev").index) == list(adata.obs_names[5:9])


def test_representations(blank, anndata, tmp_path, monkeypatch):
    quick = {"n_clusters": 3, "method": ECM, "n_init": 1}
    on_x = cells.cluster(blank, **quick)
    blank.X = sparse.csr_matrix(blank.X)
    with pytest.raises(ValueError, match="scanpy.pp.pca"):
        cells.cluster(blank, **quick)
    with pytest.raises(ValueError, match="use_rep must be 'X' or a key of adata.obsm"):
        cells.cluster(blank, "X_umap", **quick)
    blank.obsm["X_pca"] = X
    blank.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    monkeypatch.setattr(sparse.csr_matrix, "toarray", None)
    for adata in (blank, backed):
        np.testing.assert_array_equal(cells.cluster(adata, **quick).labels_, on_x.labels_)
        assert adata.uns["dempster"]["use_rep"] == "X_pca"
    with pytest.raises(ValueError, match="scanpy.pp.pca"):
        cells.cluster(backed, "X", **quick)
    wide = anndata.AnnData(np.zeros((5, 51), np.float32))
    with pytest.raises(ValueError, match="scanpy.pp.pca"):
        cells.cluster(wide, **quick)


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
    assert found.discriminating_features(0, 1)["rule"].iloc[0].split(" if ")[1][:2] in GENES
    assert "cell 7" in str(namespace.explain_object("cell 7", GENES, "ev"))
    if hasattr(adata, "dempster"):  # anndata 0.12 or later
        assert len(adata.dempster.get_partition("ev")) == 150
