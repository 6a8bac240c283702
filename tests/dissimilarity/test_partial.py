"""Rows with missing values, compared with loops."""

import numpy as np
import pandas as pd
import pytest

from dempster.dissimilarity.gower import (
    GowerEncoder,
    gower_block,
    partial_gower_block,
    partial_gower_pairs,
)
from dempster.dissimilarity.partial import (
    are_rows_equal,
    impute_missing,
    pair_squares,
    partial_squares,
    squared_distances_to_points,
)
from dempster.dissimilarity.sources import AttributeSource


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) + 100
    X[rng.random(X.shape) < 0.3] = np.nan
    X[np.isnan(X).all(axis=1), 0] = 100.0
    X[7] = X[3]  # twins
    return X


WITHIN = np.array([0.5, 2.0, 0.1])


def squared_distance(a, b, within):
    """Return the squared distance by loops, as the module defines it."""
    if all(x == y or (np.isnan(x) and np.isnan(y)) for x, y in zip(a, b, strict=True)):
        return 0.0
    gaps = [(x - y) ** 2 for x, y in zip(a, b, strict=True)]
    return sum(
        2 * s if np.isnan(gap) else gap for gap, s in zip(gaps, within, strict=True)
    )


def test_distances_between_rows(rows):
    expected = np.array(
        [[squared_distance(a, b, WITHIN) for b in rows[:20]] for a in rows]
    )
    found = partial_squares(rows, rows[:20], WITHIN)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert found[7, 3] == found[3, 3] == 0
    np.testing.assert_allclose(pair_squares(rows[:20], rows[20:], WITHIN), [
        squared_distance(a, b, WITHIN) for a, b in zip(rows[:20], rows[20:], strict=True)
    ])  # fmt: skip


def test_distances_to_points(rows):
    points = np.random.default_rng(1).normal(size=(4, 3)) + 100
    expected = [[np.nansum((x - v) ** 2) for v in points] for x in rows]
    np.testing.assert_allclose(
        squared_distances_to_points(rows, points), expected, atol=1e-10
    )


def test_source_of_incomplete_rows(rows):
    source = AttributeSource(rows, within=WITHIN)
    assert source.lacks_cells
    assert not source.is_euclidean
    D = source.block(slice(None), slice(None))
    np.testing.assert_allclose(D, D.T, atol=1e-7)
    i, j = np.triu_indices(40, 1)
    np.testing.assert_allclose(source.pairs(i, j), D[i, j], atol=1e-7)
    np.testing.assert_allclose(
        source.subset(i[:9]).block(slice(None), slice(None)),
        D[np.ix_(i[:9], i[:9])],
        atol=1e-7,
    )
    whole = AttributeSource(np.nan_to_num(rows, nan=100.0), within=WITHIN)
    assert whole.is_euclidean
    mixed = whole.between(rows, whole.objects)
    complete = ~np.isnan(rows).any(axis=1)
    np.testing.assert_array_equal(
        mixed[complete], whole.between(rows[complete], whole.objects)
    )


def test_equal_rows(rows):
    assert are_rows_equal(rows, rows).all()
    assert are_rows_equal(rows[[3]], rows[[7]]).all()
    assert not are_rows_equal(rows[[3]], rows[[4]]).any()


def test_imputed_rows(rows):
    points = impute_missing(rows)
    present = ~np.isnan(rows)
    assert np.isfinite(points).all()
    np.testing.assert_array_equal(points[present], rows[present])
    assert (points >= np.nanmin(rows, axis=0)).all()
    assert (points <= np.nanmax(rows, axis=0)).all()
    complete = np.ones((3, 2))
    assert impute_missing(complete) is complete


def test_imputation_depends_on_neither_order_nor_repetitions(rows):
    order = np.random.default_rng(2).permutation(len(rows))
    np.testing.assert_allclose(impute_missing(rows[order]), impute_missing(rows)[order])
    np.testing.assert_allclose(
        impute_missing(np.repeat(rows, 3, axis=0)),
        np.repeat(impute_missing(rows), 3, axis=0),
    )


def test_imputation_from_similar_rows():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (50, 3)), rng.normal(20, 1, (50, 3))])
    holes = X.copy()
    holes[::5, 1] = np.nan
    assert np.abs(impute_missing(holes) - X).max() < 5


def test_rows_without_a_common_value():
    nan = np.nan
    np.testing.assert_allclose(
        impute_missing(np.array([[1.0, nan], [nan, 2.0]])), [[1, 2], [1, 2]]
    )
    np.testing.assert_allclose(
        impute_missing(np.array([[1.0, nan], [3.0, nan]])), [[1, 0], [3, 0]]
    )


# ---- tables with categories ----------------------------------------------------------------------


def test_mixed_rows_against_loops():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "a": rng.normal(size=20),
            "b": rng.normal(size=20),
            "town": rng.choice(["x", "y", "z"], 20),
        }
    )
    table = table.mask(rng.random(table.shape) < 0.3)
    table.iloc[5] = table.iloc[2]  # twins
    data = GowerEncoder().fit_transform(table)
    usual = np.array([0.1, 0.2, 0.3])
    weight = data.weight
    assert 0 < weight < 1
    spans = (table[["a", "b"]].max() - table[["a", "b"]].min()).to_numpy()
    D = partial_gower_block(data, data, usual)
    for i in range(20):
        for j in range(20):
            x = table.iloc[i]
            y = table.iloc[j]
            if all(
                p == q or (pd.isna(p) and pd.isna(q)) for p, q in zip(x, y, strict=True)
            ):
                assert D[i, j] == 0
                continue
            total = 0.0
            for k in range(3):
                if pd.isna(x.iloc[k]) or pd.isna(y.iloc[k]):
                    total += usual[k]
                else:
                    total += (
                        abs(x.iloc[k] - y.iloc[k]) / spans[k]
                        if k < 2
                        else weight * (x.iloc[k] != y.iloc[k])
                    )
            assert abs(D[i, j] - total / (2 + weight)) < 1e-12
    i, j = np.triu_indices(20, 1)
    np.testing.assert_allclose(
        partial_gower_pairs(data, i, j, usual), D[i, j], atol=1e-12
    )


def test_complete_mixed_rows_equal_gower():
    data = GowerEncoder().fit_transform(np.random.default_rng(0).normal(size=(9, 3)))
    np.testing.assert_array_equal(
        partial_gower_block(data, data, np.ones(3)), gower_block(data, data)
    )
