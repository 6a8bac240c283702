from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from dempster._errors import InvalidInputError
from dempster.data.blocks import comes_in_blocks, compute_moments, sample_rows
from dempster.data.in_process import cut_tiles, open_blocks, pairwise_sum
from dempster.optimize.blocks import block_map

X = np.random.default_rng(0).normal(size=(1000, 3)) + [0, 1e6, -5]
FRAME = pd.DataFrame(X, columns=list("abc"))
CUTS = [0, 1, 1, 300, 301, 980, 1000]  # an empty block, blocks of one row


def pieces(table=X):
    return [table[a:b] for a, b in pairwise(CUTS)]


def sources(folder):
    """Return the same rows in every supported form, by name."""
    pa, ds, pq = (
        pytest.importorskip(f"pyarrow{part}") for part in ("", ".dataset", ".parquet")
    )
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
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
        "record batch": pa.RecordBatch.from_pandas(FRAME),
        "batches": lambda: pq.ParquetFile(folder / "one.parquet").iter_batches(
            batch_size=77
        ),
        "memory-mapped": [np.load(folder / "x.npy", mmap_mode="r")],
        "dask array": da.from_array(X, chunks=((1, 0, 299, 1, 679, 20), 2)),
        "dask frame": dd.from_pandas(FRAME, npartitions=4),
        "unknown chunks": unknown,
    }


def test_all_sources_give_the_same_rows_and_moments(tmp_path):
    rows = sample_rows(len(X), 50, 3)
    for name, source in sources(tmp_path).items():
        assert comes_in_blocks(source), name
        blocks = open_blocks(source)
        assert (blocks.width, blocks.dtype) == (3, float)
        np.testing.assert_array_equal(
            np.concatenate(list(blocks.blocks())), X, err_msg=name
        )
        np.testing.assert_array_equal(blocks.take(rows), X[rows], err_msg=name)
        assert blocks.count_rows() == blocks.n_rows == 1000
        with block_map(2) as apply:
            moments = compute_moments(blocks, apply, products=True)
        np.testing.assert_allclose(moments.mean, X.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(
            moments.scatter, np.cov(X.T) * 999, rtol=1e-9, atol=1e-6
        )
        np.testing.assert_array_equal(moments.low, X.min(axis=0))
        has_names = name not in (
            "list",
            "function",
            "iterable",
            "memory-mapped",
            "dask array",
            "unknown chunks",
        )
        assert blocks.names == (("a", "b", "c") if has_names else None), name


def test_lazy_results(tmp_path):
    every = sources(tmp_path)
    for name in ("function", "dask array", "dask frame", "unknown chunks"):
        blocks = open_blocks(every[name])
        large = blocks.map(_larger, 0.5, None, bool)
        np.testing.assert_array_equal(np.asarray(large.to_lazy()), X[:, 0] > 0.5)
        np.testing.assert_array_equal(
            large.positions().to_lazy().compute(), np.flatnonzero(X[:, 0] > 0.5)
        )
        assert "compute()" in repr(blocks)


def _larger(block, bound, apply):
    return block[:, 0] > bound


def test_dask_stays_lazy():
    da = pytest.importorskip("dask.array")
    touched = []
    lazy = da.map_blocks(
        lambda block: touched.append(1) or block,
        da.from_array(X, chunks=(100, 3)),
        dtype=float,
        meta=X,
    )
    made = open_blocks(lazy).map(_larger, 0.0, None, bool)
    assert made.to_lazy().shape == (1000,)
    assert made.positions().to_lazy().ndim == 1
    assert not touched


@pytest.mark.parametrize("size", [1, 2, 7, 300, 1000, 5000])
def test_tiles_do_not_depend_on_the_blocks(size):
    tiles = list(cut_tiles(pieces(), size))
    assert [len(tile) for tile in tiles[:-1]] == [size] * (len(tiles) - 1)
    assert 0 < len(tiles[-1]) <= size
    np.testing.assert_array_equal(np.concatenate(tiles), X)


def test_sums_do_not_depend_on_the_blocks():
    whole = open_blocks([X]).reduce(_sum, None, None)
    assert open_blocks(pieces()).reduce(_sum, None, None).tobytes() == whole.tobytes()


def _sum(block, shared, apply):
    return block.sum(axis=0)


def test_pairwise_sums():
    for n in range(20):
        assert pairwise_sum(range(n)) == (sum(range(n)) if n else None)
    total = pairwise_sum([0.1] * 100_000)
    assert abs(total - 10_000) < 1e-10  # a plain sum has an error of 2e-8


def test_sample_of_more_than_two_billion_rows():
    rows = sample_rows(2**40, 1000, 0)
    assert rows.dtype == np.int64
    assert rows.max() > 2**31
    assert (np.diff(rows) > 0).all()
    assert np.array_equal(rows, sample_rows(2**40, 1000, 0))
    assert not np.array_equal(rows, sample_rows(2**40, 1000, 1))
    assert np.array_equal(sample_rows(5, 10, 0), np.arange(5))


def test_dtypes():
    assert open_blocks([X.astype("f4")]).dtype == np.float32
    whole = pd.DataFrame(
        {"a": [1, 2], "b": [True, False], "c": pd.array([1, 2], dtype="Int64")}
    )
    np.testing.assert_array_equal(
        open_blocks([whole]).compute(), [[1, 1, 1], [2, 0, 2]]
    )
    with pytest.raises(InvalidInputError, match="block 1"):
        open_blocks([X.astype("f4"), X]).compute()


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda t: t.assign(b=np.nan), "row 0 of block 3 .* column b"),
        (lambda t: t.assign(c=-np.inf), "row 0 of block 3 .* column c"),
        (lambda t: t.assign(c=1e200), "block 3"),
        (lambda t: t.assign(c=pd.Categorical(["x"])), "column c of block 3"),
        (lambda t: t.assign(c="x"), "column c of block 3"),
        (lambda t: t[["b", "a", "c"]], "block 3 .* b, a, c"),
        (lambda t: t[["a", "b"]], "block 3"),
        (lambda t: t.to_numpy()[:, :2], "block 3"),
        (lambda t: t["a"], "block 3"),
        (lambda t: np.array([["x", "y", "z"]]), "block 3"),
        (lambda t: t.to_numpy() * 1j, "block 3"),
    ],
)
def test_errors_name_the_block(change, match):
    tables = [part.copy() for part in pieces(FRAME)]
    tables[3] = change(tables[3])
    with pytest.raises(InvalidInputError, match=match):
        open_blocks(lambda: iter(tables)).compute()


def test_errors_of_dask_name_the_block():
    da = pytest.importorskip("dask.array")
    wrong = X.copy()
    wrong[750, 1] = np.nan
    with pytest.raises(
        InvalidInputError, match="row 50 of block 7 has nan in column 1"
    ):
        compute_moments(open_blocks(da.from_array(wrong, chunks=(100, 3))), None)


@pytest.mark.parametrize(
    "X",
    [
        iter([X]),
        lambda: 3,
        [np.empty((0, 3))],
        lambda: iter([]),
        lambda: iter([3.0, 4.0]),
        lambda: iter([np.array(3.0)]),
    ],
)
def test_invalid_blocks(X):
    with pytest.raises(InvalidInputError, match="X must"):
        open_blocks(X)


def test_invalid_paths(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(FileNotFoundError, match="X is the path nowhere.parquet"):
        open_blocks("nowhere.parquet")
    (tmp_path / "a.parquet").write_text("no")
    for path in (tmp_path, tmp_path / "a.parquet"):
        with pytest.raises(InvalidInputError, match="Parquet"):
            open_blocks(path)


def test_rows_must_not_change_between_passes():
    pass_number = iter(range(9))
    rng = np.random.default_rng(0)
    for read in (
        lambda: [X[: 500 - next(pass_number)]],
        lambda: iter([rng.normal(size=(40, 2))]),
    ):
        blocks = open_blocks(read)
        list(blocks.blocks())
        with pytest.raises(InvalidInputError, match="the same rows at every pass"):
            list(blocks.blocks())


def test_tables_in_memory_do_not_come_in_blocks():
    for table in (
        X,
        X.tolist(),
        FRAME,
        FRAME["a"],
        {"a": [1]},
        range(3),
        b"x",
        None,
        3.5,
        [[1.0, 2.0]],
        [],
        [X[:, 0]],
    ):
        assert not comes_in_blocks(table)
