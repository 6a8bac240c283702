"""One protocol for everything that comes block by block."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from dempster.data.blocks import comes_in_blocks, moments_of, sample_rows
from dempster.data.in_process import PairwiseSum, cut, open_blocks
from dempster.optimize.blocks import block_map

X = np.random.default_rng(0).normal(size=(1000, 3)) + [0, 1e6, -5]
FRAME = pd.DataFrame(X, columns=list("abc"))
CUTS = [0, 1, 1, 300, 301, 980, 1000]  # an empty block, blocks of one row


def pieces(table=X):
    return [table[a:b] for a, b in pairwise(CUTS)]


def kinds(folder):
    """The same rows in every form, by name."""
    pa, ds, pq = (pytest.importorskip(f"pyarrow{part}") for part in ("", ".dataset", ".parquet"))
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    pl = pytest.importorskip("polars")
    (folder / "parts").mkdir()
    for k, part in enumerate(pieces(FRAME)):
        part.to_parquet(folder / "parts" / f"{k}.parquet")
    FRAME.to_parquet(folder / "one.parquet")
    np.save(folder / "x.npy", X)
    unknown = dd.from_pandas(FRAME, npartitions=4).to_dask_array()
    return {
        "list": pieces(),
        "tables": pieces(FRAME),
        "polars": pieces(pl.from_pandas(FRAME)),
        "function": lambda: iter(pieces()),
        "iterable": type("Shelf", (), {"__iter__": lambda self: iter(pieces())})(),
        "path": str(folder / "one.parquet"),
        "folder": folder / "parts",
        "dataset": ds.dataset(folder / "parts"),
        "arrow": pa.Table.from_pandas(FRAME),
        "batches": lambda: pq.ParquetFile(folder / "one.parquet").iter_batches(batch_size=77),
        "memory-mapped": [np.load(folder / "x.npy", mmap_mode="r")],
        "dask array": da.from_array(X, chunks=((1, 0, 299, 1, 679, 20), 2)),
        "dask frame": dd.from_pandas(FRAME, npartitions=4),
        "unknown chunks": unknown,
    }


def test_every_kind_gives_the_same_rows_moments_and_sample(tmp_path):
    rows = sample_rows(len(X), 50, 3)
    for name, kind in kinds(tmp_path).items():
        assert comes_in_blocks(kind), name
        blocks = open_blocks(kind)
        assert (blocks.width, blocks.dtype) == (3, float)
        np.testing.assert_array_equal(np.concatenate(list(blocks.blocks())), X, err_msg=name)
        np.testing.assert_array_equal(blocks.take(rows), X[rows], err_msg=name)
        assert blocks.counted() == blocks.n_rows == 1000
        with block_map(2) as apply:
            found = moments_of(blocks, apply, products=True)
        np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(found.scatter, np.cov(X.T) * 999, rtol=1e-9, atol=1e-6)
        np.testing.assert_array_equal(found.low, X.min(axis=0))
        assert abs(found.mean_squared_deviation - X.var(axis=0).sum()) < 1e-9


def test_names_come_with_tables(tmp_path):
    for name, kind in kinds(tmp_path).items():
        named = name not in ("list", "function", "iterable", "memory-mapped", "dask array", "unknown chunks")
        assert open_blocks(kind).names == (("a", "b", "c") if named else None), name


def test_what_is_made_of_blocks(tmp_path):
    every = kinds(tmp_path)
    for name in ("function", "dask array", "dask frame", "unknown chunks"):
        blocks = open_blocks(every[name])
        large = blocks.map(_larger, 0.5, None, bool)
        np.testing.assert_array_equal(np.asarray(large.lazy()), X[:, 0] > 0.5)
        np.testing.assert_array_equal(large.positions().lazy().compute(), np.flatnonzero(X[:, 0] > 0.5))
        assert "compute()" in repr(blocks)


def _larger(block, bound, apply):
    return block[:, 0] > bound


def test_dask_stays_lazy():
    da = pytest.importorskip("dask.array")
    touched = []
    lazy = da.map_blocks(
        lambda block: touched.append(1) or block, da.from_array(X, chunks=(100, 3)), dtype=float, meta=X
    )
    made = open_blocks(lazy).map(_larger, 0.0, None, bool)
    assert made.lazy().shape == (1000,)
    assert made.positions().lazy().ndim == 1
    assert not touched


@pytest.mark.parametrize("size", [1, 2, 7, 300, 1000, 5000])
def test_tiles_do_not_depend_on_the_blocks(size):
    tiles = list(cut(pieces(), size))
    assert [len(tile) for tile in tiles[:-1]] == [size] * (len(tiles) - 1)
    assert 0 < len(tiles[-1]) <= size
    np.testing.assert_array_equal(np.concatenate(tiles), X)


def test_sums_have_the_same_bits_however_rows_come():
    whole = open_blocks([X]).reduce(_sum, None, None)
    assert open_blocks(pieces()).reduce(_sum, None, None).tobytes() == whole.tobytes()


def _sum(block, shared, apply):
    return block.sum(axis=0)


def test_pairwise_sums():
    for n in range(20):
        total = PairwiseSum()
        for k in range(n):
            total.add(k)
        assert total.result() == (sum(range(n)) if n else None)
    total = PairwiseSum()
    for _ in range(100_000):
        total.add(0.1)
    assert abs(total.result() - 10_000) < 1e-10  # added one by one it is off by 2e-8


def test_rows_beyond_the_range_of_small_integers():
    rows = sample_rows(2**40, 1000, 0)
    assert rows.dtype == np.int64
    assert rows.max() > 2**31
    assert (np.diff(rows) > 0).all()
    assert np.array_equal(rows, sample_rows(2**40, 1000, 0))
    assert not np.array_equal(rows, sample_rows(2**40, 1000, 1))
    assert np.array_equal(sample_rows(5, 10, 0), np.arange(5))


def test_types_of_numbers():
    assert open_blocks([X.astype("f4")]).dtype == np.float32
    whole = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": pd.array([1, 2], dtype="Int64")})
    np.testing.assert_array_equal(open_blocks([whole]).compute(), [[1, 1, 1], [2, 0, 2]])
    with pytest.raises(ValueError, match="block 1 is float64"):
        open_blocks([X.astype("f4"), X]).compute()


def wrong_in(block):
    changed = [part.copy() for part in pieces(FRAME)]
    changed[3] = block(changed[3])
    return changed


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (lambda t: t.assign(b=np.nan), "row 0 of block 3 has nan in column b"),
        (lambda t: t.assign(c=-np.inf), "row 0 of block 3 has -inf in column c"),
        (lambda t: t.assign(c=1e200), "block 3 of X"),
        (lambda t: t.assign(c=pd.Categorical(["x"])), "column c of block 3 is category"),
        (lambda t: t.assign(c="x"), "column c of block 3"),
        (lambda t: t[["b", "a", "c"]], "same columns in the same order, but block 3 has b, a, c"),
        (lambda t: t[["a", "b"]], "block 3 has a, b"),
        (lambda t: t.to_numpy()[:, :2], "block 3 has 2 where others have 3"),
        (lambda t: t["a"], "block 3 of X must be a table"),
        (lambda t: np.array([["x", "y", "z"]]), "block 3 of X must hold real numbers"),
        (lambda t: t.to_numpy() * 1j, "real numbers"),
    ],
)
def test_errors_name_the_block(bad, words):
    changed = wrong_in(bad)
    with pytest.raises(ValueError, match=words):
        open_blocks(lambda: iter(changed)).compute()


def test_errors_of_dask_name_the_block():
    da = pytest.importorskip("dask.array")
    wrong = X.copy()
    wrong[750, 1] = np.nan
    with pytest.raises(ValueError, match="row 50 of block 7 has nan in column 1"):
        moments_of(open_blocks(da.from_array(wrong, chunks=(100, 3))), None)


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (iter([X]), "can be read only once"),
        (lambda: 3, "must return blocks"),
        ([np.empty((0, 3))], "no objects"),
        (lambda: iter([]), "no objects"),
        (lambda: iter([3.0, 4.0]), "block 0 of X must have two dimensions"),
        (lambda: iter([np.array(3.0)]), "block 0 of X must have two dimensions"),
        ([X[:, 0]], None),
        ("nowhere.parquet", "no such file"),
    ],
)
def test_what_cannot_be_read(X, words):
    if words is None:
        assert not comes_in_blocks(X)
    else:
        with pytest.raises((ValueError, FileNotFoundError), match=words):
            open_blocks(X)


def test_a_path_that_is_no_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match="without Parquet files"):
        open_blocks(tmp_path)
    (tmp_path / "a.parquet").write_text("no")
    with pytest.raises(ValueError, match="must be a Parquet file"):
        open_blocks(tmp_path / "a.parquet")


def test_rows_that_change_between_passes():
    pass_number = iter(range(9))
    blocks = open_blocks(lambda: [X[: 500 - next(pass_number)]])
    blocks.compute()
    with pytest.raises(ValueError, match="the same rows at every pass"):
        blocks.compute()


def test_other_values_at_each_pass_are_refused():
    draw = np.random.default_rng(0)
    blocks = open_blocks(lambda: iter([draw.normal(size=(40, 2))]))
    assert sum(map(len, blocks.blocks())) == 40
    with pytest.raises(ValueError, match="the same rows at every pass, but gave others"):
        list(blocks.blocks())


def test_tables_in_memory_do_not_come_in_blocks():
    for table in (X, X.tolist(), FRAME, FRAME["a"], {"a": [1]}, range(3), b"x", None, 3.5, [[1.0, 2.0]], []):
        assert not comes_in_blocks(table)
