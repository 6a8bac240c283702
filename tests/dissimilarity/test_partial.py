"""Rows with missing cells, against plain loops."""

import numpy as np
import pytest

from evidentia.dissimilarity.partial import filled, pair_squares, partial_squares, point_squares, same_rows
from evidentia.dissimilarity.sources import AttributeSource


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
    """By loops, as the module says it."""
    if all(x == y or (np.isnan(x) and np.isnan(y)) for x, y in zip(a, b, strict=True)):
        return 0.0
    gaps = [(x - y) ** 2 for x, y in zip(a, b, strict=True)]
    return sum(2 * s if np.isnan(gap) else gap for gap, s in zip(gaps, within, strict=True))


def test_distances_between_rows(rows):
    expected = np.array([[squared_distance(a, b, WITHIN) for b in rows[:20]] for a in rows])
    found = partial_squares(rows, rows[:20], WITHIN)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert found[7, 3] == found[3, 3] == 0
    np.testing.assert_allclose(pair_squares(rows[:20], rows[20:], WITHIN), [
        squared_distance(a, b, WITHIN) for a, b in zip(rows[:20], rows[20:], strict=True)
    ])  # fmt: skip


def test_distances_to_points(rows):
    points = np.random.default_rng(1).normal(size=(4, 3)) + 100
    expected = [[np.nansum((x - v) ** 2) for v in points] for x in rows]
    np.testing.assert_allclose(point_squares(rows, points), expected, atol=1e-10)


def test_a_source_of_rows_with_holes(rows):
    source = AttributeSource(rows).with_within(WITHIN)
    assert source.lacks_cells
    assert not source.is_euclidean
    D = source.block(slice(None), slice(None))
    np.testing.assert_allclose(D, D.T, atol=1e-7)
    i, j = np.triu_indices(40, 1)
    np.testing.assert_allclose(source.pairs(i, j), D[i, j], atol=1e-7)
    np.testing.assert_allclose(source.subset(i[:9]).block(slice(None), slice(None)), D[np.ix_(i[:9], i[:9])], atol=1e-7)
    whole = AttributeSource(np.nan_to_num(rows, nan=100.0)).with_within(WITHIN)
    assert whole.is_euclidean
    mixed = whole.between(rows, whole.objects)
    complete = ~np.isnan(rows).any(axis=1)
    np.testing.assert_array_equal(mixed[complete], whole.between(rows[complete], whole.objects))


def test_equal_rows(rows):
    assert same_rows(rows, rows).all()
    assert same_rows(rows[[3]], rows[[7]]).all()
    assert not same_rows(rows[[3]], rows[[4]]).any()


def test_stand_ins(rows):
    points = filled(rows)
    present = ~np.isnan(rows)
    assert np.isfinite(points).all()
    np.testing.assert_array_equal(points[present], rows[present])
    assert (points >= np.nanmin(rows, axis=0)).all()
    assert (points <= np.nanmax(rows, axis=0)).all()
    complete = np.ones((3, 2))
    assert filled(complete) is complete


def test_stand_ins_depend_on_neither_order_nor_repetitions(rows):
    order = np.random.default_rng(2).permutation(len(rows))
    np.testing.assert_allclose(filled(rows[order]), filled(rows)[order])
    np.testing.assert_allclose(filled(np.repeat(rows, 3, axis=0)), np.repeat(filled(rows), 3, axis=0))


def test_stand_ins_come_from_like_rows():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (50, 3)), rng.normal(20, 1, (50, 3))])
    holes = X.copy()
    holes[::5, 1] = np.nan
    assert np.abs(filled(holes) - X).max() < 5


def test_rows_with_nothing_in_common():
    nan = np.nan
    np.testing.assert_allclose(filled(np.array([[1.0, nan], [nan, 2.0]])), [[1, 2], [1, 2]])
    np.testing.assert_allclose(filled(np.array([[1.0, nan], [3.0, nan]])), [[1, 0], [3, 0]])
