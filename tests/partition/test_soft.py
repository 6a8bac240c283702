"""Credal partitions from memberships."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture

from dempster import CredalPartition

U = np.random.default_rng(0).dirichlet(np.full(5, 0.4), size=60)


def by_definition(u):
    """Return the masses of one row by set, from a loop over the nested sets."""
    c = len(u)
    order = np.argsort(-u, kind="stable")
    out = {}
    level = [*u[order], 0.0]
    for k in range(1, c + 1):
        mass = (level[k - 1] - level[k]) / level[0]
        if k <= 2:
            clusters = frozenset(order[:k].tolist())
        else:
            clusters = frozenset(range(c))
        out[clusters] = out.get(clusters, 0) + mass
    return out


def test_nested_masses_by_definition():
    cp = CredalPartition.from_soft(U)
    for i, u in enumerate(U):
        for clusters, mass in by_definition(u).items():
            assert cp[i].mass(tuple(clusters))[0] == pytest.approx(mass)
    np.testing.assert_array_equal(cp.labels, U.argmax(axis=1))
    assert set(cp.focal_sets.cardinality) <= {1, 2, 5}


def test_remainder():
    u = [[0.3, 0.1], [0.0, 0.0], [0.5, 0.5]]
    out = CredalPartition.from_soft(u)
    np.testing.assert_allclose(out.empty, [0.6, 1, 0])
    assert (out.outliers.tolist(), out.ambiguous.tolist()) == ([0, 1], [2])


def test_gaussian_mixture():
    X, _ = make_blobs(300, centers=[[0, 0], [4, 0], [0, 9]], random_state=0)
    mixture = GaussianMixture(3, random_state=0).fit(X)
    cp = CredalPartition.from_soft(mixture.predict_proba(X))
    np.testing.assert_array_equal(cp.labels, mixture.predict(X))
    top = np.sort(mixture.predict_proba(X), axis=1)[:, ::-1]
    assert set(cp.ambiguous) == set(np.flatnonzero(top[:, 1] > top[:, 0] / 2))


def test_names_of_tables():
    table = pd.DataFrame(
        [[0.9, 0.1], [0.4, 0.6]], index=["x", "y"], columns=["old", "young"]
    )
    cp = CredalPartition.from_soft(table)
    assert (list(cp.index), cp.frame) == (["x", "y"], ("old", "young"))
    assert CredalPartition.from_soft(pl.DataFrame({"a": [0.9], "b": [0.1]})).frame == (
        "a",
        "b",
    )
    assert CredalPartition.from_soft(table, frame="ab", index=[1, 2]).frame == (
        "a",
        "b",
    )
    assert CredalPartition.from_soft([[0.9, 0.1]]).index is None
    single_cluster = CredalPartition.from_soft([[1.0], [0.4]])
    assert single_cluster.outliers.tolist() == [1]


def test_number_of_sets():
    u = np.random.default_rng(0).dirichlet(np.full(15, 0.2), size=5000)
    assert len(CredalPartition.from_soft(u).focal_sets) <= 15 + 105 + 1


@pytest.mark.parametrize(
    ("u", "words"),
    [
        ([[0.5, np.nan]], "memberships must contain finite"),
        ([[0.5, 0.2], [0.8, 0.4]], "memberships .* row 1 sums to 1.2"),
        ([[0.5, -0.2]], "memberships .* of at least"),
        ([0.5, 0.5], "memberships"),
        ([["a", "b"]], "memberships"),
    ],
)
def test_invalid_arguments(u, words):
    with pytest.raises(ValueError, match=words):
        CredalPartition.from_soft(u)
