"""Largest masses of each object, with the rest on the frame."""

import numpy as np
import pandas as pd
import pytest

from dempster import CredalPartition, FocalSets
from dempster.cluster import ECM
from dempster.io import read_partition, write_top_masses
from dempster.partition.lazy import family_with_frame, top_masses

FAMILY = FocalSets.pairs(6, omega=False)
MASSES = np.random.default_rng(0).dirichlet(np.full(len(FAMILY), 0.2), 50)


@pytest.mark.parametrize("family", [FAMILY, FocalSets.pairs(6)])
@pytest.mark.parametrize("top", [1, 3, 1000])
def test_outer_approximation(family, top):
    masses = np.random.default_rng(0).dirichlet(np.full(len(family), 0.2), 50)
    largest = top_masses(masses, family, top).toarray()
    wider = family_with_frame(family)
    np.testing.assert_allclose(largest.sum(axis=1), 1, rtol=1e-12)
    assert (np.count_nonzero(largest, axis=1) <= top + 1).all()
    before = CredalPartition(masses, family)
    after = CredalPartition(largest, wider)
    assert (after.contour >= before.contour - 1e-12).all()
    assert (after.singleton_belief <= before.singleton_belief + 1e-12).all()
    if top == 1000:
        np.testing.assert_allclose(largest[:, : len(family)], masses, atol=1e-15)


def test_ties():
    masses = top_masses(np.full((1, 4), 0.25), FocalSets.simple(2), 2).toarray()
    np.testing.assert_array_equal(masses, [[0.25, 0.25, 0, 0.5]])


def test_files_of_the_largest_masses(tmp_path):
    pytest.importorskip("pyarrow")
    centers = 20 * np.array([[k % 6, k // 6] for k in range(36)], dtype=float)
    X = (
        centers[np.arange(720) % 36]
        + np.random.default_rng(0).normal(size=(720, 2)) * 3
    )
    lazy = (
        ECM(36, init=centers, random_state=0).fit([X[:100], X[100:]]).credal_partition_
    )
    whole = lazy.compute()
    (path,) = lazy.to_parquet(tmp_path / "top", top=4)
    found = read_partition(path)
    assert found.focal_sets == family_with_frame(whole.focal_sets)
    np.testing.assert_array_equal(
        found.masses, top_masses(whole.masses, whole.focal_sets, 4).toarray()
    )
    assert (found.labels == whole.labels).mean() > 0.99  # ambiguous objects may change
    # from all masses
    np.testing.assert_array_equal(pd.read_parquet(path)["label"], whole.labels)
    assert found.metadata["method"] == "ECM"
    (large,) = lazy.to_parquet(tmp_path / "all")
    assert path.stat().st_size < 0.5 * large.stat().st_size
    with pytest.raises(ValueError, match="top must be"):
        lazy.to_parquet(tmp_path / "none", top=0)
    assert not (tmp_path / "none").exists()


def test_names(tmp_path):
    path = tmp_path / "a.parquet"
    partition = CredalPartition(MASSES, FAMILY, list("xy" * 25), frame=list("abcdef"))
    write_top_masses(partition, path, 2)
    again = read_partition(path)
    assert again.frame == partition.frame
    assert list(again.index) == partition.index
    with pytest.raises(ValueError, match="parquet"):
        write_top_masses(partition, tmp_path / "a.csv", 2)
    assert list(tmp_path.iterdir()) == [path]
