"""Gower's dissimilarity: the compiled functions agree with the definition on any table."""

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dempster.dissimilarity.gower import GowerEncoder, gower_block, gower_pairs
from tests.inputs import fitted_encoder, gower_matrix


def mixed_table(n, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "height": rng.normal(170, 10, n),
            "town": rng.choice(["Lens", "Arras", "Lille"], n),
            "children": rng.integers(0, 5, n).astype(float),
            "smokes": pd.array(rng.random(n) < 0.3, dtype="boolean"),
            "blood": pd.Categorical(rng.choice(["A", "B", "O"], n)),
            "code": pd.Series(rng.choice(list("xyz"), n), dtype=object),
        }
    )
    if missing:
        return table.mask(rng.random(table.shape) < missing)
    return table


def naive_weight(columns):
    """Return the mean difference, in units of the range, of two different values of a column."""
    means = []
    for column in columns:
        distinct = sorted(set(column.dropna()))
        if len(distinct) > 1:
            pairs = itertools.combinations(distinct, 2)
            width = distinct[-1] - distinct[0]
            means.append(np.mean([(y - x) / width for x, y in pairs]))
    return np.mean(means) if means else 1.0


def naive(rows, columns, fitted):
    """Return the dissimilarity by definition.

    Ranges, categories and the weight of categories are those of the fitted table.
    """
    names = list(fitted.columns)
    numeric = [
        pd.api.types.is_numeric_dtype(t) and not pd.api.types.is_bool_dtype(t)
        for t in fitted.dtypes
    ]
    weight = naive_weight(
        fitted[name]
        for name, is_number in zip(names, numeric, strict=True)
        if is_number
    )
    out = np.full((len(rows), len(columns)), np.nan)
    for i in range(len(rows)):
        for j in range(len(columns)):
            total = present = 0.0
            for name, is_number in zip(names, numeric, strict=True):
                x = rows[name].iloc[i]
                y = columns[name].iloc[j]
                if pd.isna(x) or pd.isna(y):
                    continue
                if is_number:
                    width = fitted[name].max() - fitted[name].min()
                    total += min(abs(x - y) / width, 1.0) if width > 0 else 0.0
                    present += 1
                else:
                    known = x in set(fitted[name].dropna())
                    total += weight * (x != y or not known)
                    present += weight
            if present > 0:
                out[i, j] = total / present
    return out


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_blocks_and_pairs_against_the_definition(missing):
    table = mixed_table(20, missing)
    new = mixed_table(12, missing, seed=1)
    encoder = fitted_encoder(table)
    a = encoder.transform(new)
    b = encoder.transform(table)
    expected = naive(new, table, table)
    block = gower_block(a, b, incomparable="nan")
    np.testing.assert_allclose(block, expected, rtol=1e-12, atol=1e-14)
    block = gower_block(b, b, incomparable="nan")
    i, j = (index.ravel() for index in np.indices(block.shape))
    pairs = gower_pairs(b, i, j, incomparable="nan")
    np.testing.assert_array_equal(pairs.reshape(block.shape), block)


def test_matrix_is_symmetric_to_the_last_bit_and_within_bounds():
    table = mixed_table(60, 0.2)
    matrix = gower_matrix(table, incomparable="nan")
    np.testing.assert_array_equal(matrix, matrix.T)
    np.testing.assert_array_equal(np.diag(matrix), 0)
    known = matrix[~np.isnan(matrix)]
    assert known.min() == 0
    assert 0.9 < known.max() <= 1


def test_more_columns_than_a_tile():
    rng = np.random.default_rng(0)
    X = rng.random((2500, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 0] = rng.random(2500)
    data = GowerEncoder().fit_transform(X)
    block = gower_block(data[:3], data)
    width = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
    expected = np.nanmean(np.abs(X[:3, None] - X) / width, axis=2)
    np.testing.assert_allclose(block, expected, rtol=1e-12, atol=1e-14)


def test_scale_and_shift_have_no_effect():
    X = np.random.default_rng(0).random((30, 4))
    moved = X * [1e-3, 1, 50, 1e6] + [5, -1e3, 0, 1e6]
    np.testing.assert_allclose(gower_matrix(moved), gower_matrix(X), rtol=1e-7)


def test_binary_column_as_number_or_category():
    flags = np.array([0, 1, 1, 0])
    expected = (flags[:, None] != flags).astype(float)
    for column in (flags, flags.astype(bool), flags.astype(str), flags.astype(object)):
        np.testing.assert_array_equal(
            gower_matrix(pd.DataFrame({"x": column})), expected
        )
    np.testing.assert_array_equal(gower_matrix(flags[:, None].astype(bool)), expected)


def test_numbers_as_categories():
    X = np.array([[1, 10], [2, 10], [9, 20.0]])
    np.testing.assert_allclose(gower_matrix(X)[0], [0, 1 / 16, 1])
    same = gower_matrix(X, all_categorical=True)
    np.testing.assert_allclose(same[0], [0, 0.5, 1])


def test_two_categories_count_as_two_numbers_on_average():
    table = pd.DataFrame({"x": [0.0, 3, 4, 4], "y": list("aabb")})
    weight = (3 / 4 + 4 / 4 + 1 / 4) / 3
    assert fitted_encoder(table).weight_ == pytest.approx(weight)
    first = [0, 3 / 4, 1 + weight, 1 + weight]
    np.testing.assert_allclose(gower_matrix(table)[0], np.array(first) / (1 + weight))
    for other in (table.assign(x=5.0), table[["x"]], table[["y"]]):
        assert fitted_encoder(other).weight_ == 1


def test_repeated_rows_do_not_change_the_weight():
    table = mixed_table(40, 0.1)
    repeated = table.iloc[np.repeat(np.arange(40), np.arange(40) % 3 + 1)]
    assert fitted_encoder(repeated).weight_ == fitted_encoder(table).weight_


# ---- special columns and cells -------------------------------------------------------------------


def test_constant_columns_count_as_agreement():
    table = pd.DataFrame({"same": [3.0, 3, 3, None], "x": [0.0, 1, 2, 2]})
    expected = [
        [0, 0.25, 0.5, 1],
        [0.25, 0, 0.25, 0.5],
        [0.5, 0.25, 0, 0],
        [1, 0.5, 0, 0],
    ]
    np.testing.assert_allclose(gower_matrix(table), expected)
    encoder = fitted_encoder(table)
    assert encoder.range_.tolist() == [0, 2]
    # no range to measure 7 - 3 with
    new = encoder.transform(pd.DataFrame({"same": [7.0], "x": [0.0]}))
    np.testing.assert_allclose(gower_block(new, encoder.transform(table)), expected[:1])


def test_column_without_values():
    table = pd.DataFrame({"x": [0.0, 1, 3], "town": ["a", "b", "b"]})
    expected = gower_matrix(table)
    np.testing.assert_array_equal(gower_matrix(table.assign(none=None)), expected)
    np.testing.assert_array_equal(gower_matrix(table.assign(none=np.nan)), expected)
    np.testing.assert_array_equal(
        gower_matrix(pl.DataFrame(table).with_columns(none=None)), expected
    )


def test_new_objects_beyond_the_range_stay_within_one():
    encoder = fitted_encoder(np.array([[0.0], [10.0]]))
    new = encoder.transform(np.array([[35.0], [38.0], [-100.0]]))
    old = encoder.transform(np.array([[0.0], [10.0]]))
    np.testing.assert_allclose(gower_block(new, old), 1)
    np.testing.assert_allclose(gower_pairs(new, [0, 0], [1, 2]), [0.3, 1])


def test_unseen_categories_differ_from_everything():
    fitted = pd.DataFrame({"town": ["Lens", "Lille"], "x": [0.0, 1]})
    encoder = fitted_encoder(fitted)
    new = encoder.transform(
        pd.DataFrame({"town": ["Nice", "Nice", None, "Lens"], "x": [0.0, 0, 0, 0]})
    )
    assert new.codes.ravel().tolist() == [-2, -2, -1, 0]
    np.testing.assert_array_equal(
        gower_block(new, encoder.transform(fitted))[:, 0], [0.5, 0.5, 0, 0]
    )
    expected = [[0.5, 0.5, 0, 0.5], [0.5, 0.5, 0, 0.5], [0, 0, 0, 0], [0.5, 0.5, 0, 0]]
    np.testing.assert_array_equal(gower_block(new, new), expected)


def test_objects_without_a_common_column():
    table = pd.DataFrame({"x": [0.0, 1, None, 2], "town": ["a", None, "b", "b"]})
    data = GowerEncoder().fit_transform(table)
    with pytest.raises(ValueError, match="rows 1 and 2"):
        gower_block(data, data)
    with pytest.raises(
        ValueError, match="rows 1 and 2"
    ):  # the rows of the table, not of the block
        gower_block(data[1:2], data[[0, 2]])
    with pytest.raises(ValueError, match="rows 2 and 1"):
        gower_pairs(data, [0, 2, 1], [1, 1, 2])
    with pytest.raises(ValueError, match="rows 1 and 2"):
        gower_matrix(table)
    block = gower_block(data, data, incomparable="nan")
    assert np.argwhere(np.isnan(block)).tolist() == [[1, 2], [2, 1]]
    assert math.isnan(gower_pairs(data, [1], [2], incomparable="nan")[0])


def test_error_names_the_first_objects_without_a_common_column():
    """The error does not depend on the tiles in which a long block is computed."""
    table = pd.DataFrame({"x": np.zeros(2000), "y": np.zeros(2000)})
    table.loc[[0, 3], "x"] = np.nan
    table.loc[[1, 1500], "y"] = np.nan
    data = GowerEncoder().fit_transform(table)
    with pytest.raises(ValueError, match="rows 0 and 1500"):
        gower_block(data[[0, 1]], data[2:])
    apart = np.isnan(gower_block(data[[0, 1]], data[2:], incomparable="nan"))
    assert np.argwhere(apart).tolist() == [[0, 1498], [1, 1]]


# ---- kinds of tables -----------------------------------------------------------------------------


def test_polars_pandas_and_lists_agree():
    table = mixed_table(30, 0.2)
    expected = gower_matrix(table, incomparable="nan")
    frame = pl.from_pandas(table).with_columns(
        pl.col("children").cast(pl.Int16), pl.col("blood").cast(pl.Categorical)
    )
    assert frame.null_count().sum_horizontal()[0] > 10
    np.testing.assert_array_equal(gower_matrix(frame, incomparable="nan"), expected)
    np.testing.assert_array_equal(
        gower_matrix(frame.to_arrow(), incomparable="nan"), expected
    )
    rows = [list(row) for row in frame.iter_rows()]  # numbers beside text and None
    lists = gower_matrix(rows, incomparable="nan")
    np.testing.assert_array_equal(lists, expected)
    encoder = fitted_encoder(table)  # fitted on one kind, used on another
    a = encoder.transform(frame)
    b = encoder.transform(table)
    np.testing.assert_array_equal(gower_block(a, b, incomparable="nan"), expected)


def test_nullable_and_arrow_types():
    plain = pd.DataFrame({"x": [1.0, np.nan, 4], "s": ["a", "b", None]})
    nullable = plain.astype({"x": "Int64", "s": "string"})
    np.testing.assert_array_equal(
        gower_matrix(nullable, incomparable="nan"),
        gower_matrix(plain, incomparable="nan"),
    )


def test_columns_are_matched_by_name():
    table = mixed_table(12)
    encoder = fitted_encoder(table)
    shuffled = encoder.transform(table[table.columns[::-1]])
    np.testing.assert_array_equal(shuffled.numeric, encoder.transform(table).numeric)
    np.testing.assert_array_equal(shuffled.codes, encoder.transform(table).codes)
    with pytest.raises(ValueError, match="table must"):
        encoder.transform(table.rename(columns={"town": "city"}))
    with pytest.raises(ValueError, match="table must"):
        encoder.transform(table.drop(columns="town"))
    with pytest.raises(ValueError, match="column 'height' must"):
        encoder.transform(table.assign(height="tall"))


def test_attributes_and_parameters():
    table = mixed_table(50)
    encoder = fitted_encoder(table)
    assert encoder.is_categorical_.tolist() == [False, True, False, True, True, True]
    assert encoder.column_names_ == list(table.columns)
    np.testing.assert_array_equal(
        encoder.minimum_, [table.height.min(), table.children.min()]
    )
    assert sorted(encoder.categories_[0]) == ["Arras", "Lens", "Lille"]
    data = encoder.transform(table)
    assert (data.numeric.shape, data.codes.shape, data.codes.dtype) == (
        (50, 2),
        (50, 4),
        np.int32,
    )
    assert data.numeric.min(axis=0).tolist() == [0, 0]
    assert data.numeric.max(axis=0).tolist() == [1, 1]
    assert len(data[10:20]) == 10


def test_read_only_and_empty_selections():
    data = GowerEncoder().fit_transform(mixed_table(20))
    for part in (data.numeric, data.codes):
        part.setflags(write=False)
    assert gower_block(data[:0], data).shape == (0, 20)
    assert gower_block(data, data[:0]).shape == (20, 0)
    assert gower_pairs(data, [], []).shape == (0,)


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "error", "words"),
    [
        (pd.DataFrame({"x": [1.0, np.inf]}), ValueError, "column 'x'"),
        (
            pd.DataFrame({"day": pd.to_datetime(["2020-01-01"])}),
            TypeError,
            "column 'day'",
        ),
        (pl.DataFrame({"l": [[1], [2]]}), TypeError, "column 'l'"),
        (pd.DataFrame({"l": [[1], [2]]}), TypeError, "column 'l'"),
        (np.arange(3.0), ValueError, "two dimensions, got shape \\(3,\\)"),
        (np.empty((0, 2)), ValueError, "at least one row"),
        (pd.DataFrame(index=[1, 2]), ValueError, "one column"),
        (np.array([[-1e308], [1.7e308]]), ValueError, "the range of column 0"),
        (np.array([[1j], [2j]]), TypeError, "column 0"),
    ],
)
def test_invalid_tables(table, error, words):
    with pytest.raises(error, match=words):
        fitted_encoder(table)


def test_invalid_arguments():
    X = np.random.default_rng(0).random((5, 2))
    data = GowerEncoder().fit_transform(X)
    with pytest.raises(ValueError, match="second"):
        gower_pairs(data, [0, 1], [0, 5])
    with pytest.raises(TypeError, match="slice or an array"):
        data[3]
