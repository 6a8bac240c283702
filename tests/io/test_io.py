"""Files of partitions, and atomic writes."""

import errno
import os
import stat
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dempster import CredalPartition, FocalSets, MassFunctions
from dempster.io import read_partition, read_table, write_partition
from dempster.io.atomic import atomic_write, atomic_writes
from dempster.io.partitions import (
    decode_headings,
    decode_name,
    encode_headings,
    encode_name,
)

GARBAGE = bytes(range(256)) * 20
FORMATS = ["csv", "tsv", "parquet"]


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


# ---- atomic writes -------------------------------------------------------------------------------


def test_file_appears_when_the_block_ends(tmp_path):
    target = tmp_path / "a.txt"
    with atomic_write(target) as temporary:
        temporary.write_text("new")
        assert not target.exists()
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".txt"
    assert target.read_text() == "new"
    assert names_in(tmp_path) == ["a.txt"]


@pytest.mark.parametrize(
    "failure",
    [ValueError, KeyboardInterrupt, SystemExit, OSError(errno.ENOSPC, "full")],
)
def test_failure_leaves_the_folder_unchanged(tmp_path, failure):
    (tmp_path / "a.txt").write_text("old")
    kinds = (ValueError, KeyboardInterrupt, SystemExit, OSError)
    with (  # noqa: PT012
        pytest.raises(kinds),
        atomic_writes([tmp_path / "a.txt", tmp_path / "b.txt"]) as (first, second),
    ):
        first.write_text("half")
        second.write_text("half")
        raise failure
    assert names_in(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_full_disk(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(OSError, match="No space"),
        atomic_write(tmp_path / "a.txt") as temporary,
    ):
        temporary.write_text("new")
    assert names_in(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_several_files_appear_together(tmp_path):
    (tmp_path / "b").write_text("old")
    with atomic_writes([tmp_path / "a", tmp_path / "b"]) as temporaries:
        for temporary in temporaries:
            temporary.write_text("new")
        assert (tmp_path / "b").read_text() == "old"
    assert names_in(tmp_path) == ["a", "b"]
    assert {(tmp_path / name).read_text() for name in "ab"} == {"new"}


def test_failed_rename_restores_the_former_files(tmp_path, monkeypatch):
    (tmp_path / "a").write_text("old")
    replace = os.replace

    def fail_for_c(source, target):
        if target.name == "c":
            raise PermissionError(errno.EACCES, "The file is open", str(target))
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail_for_c)
    paths = [tmp_path / name for name in "abc"]
    with pytest.raises(PermissionError), atomic_writes(paths):
        pass
    assert names_in(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text() == "old"


def test_permissions_and_links_are_kept(tmp_path):
    plain = tmp_path / "plain"
    private = tmp_path / "private"
    link = tmp_path / "link"
    private.touch(mode=0o600)
    link.symlink_to(private)
    mask = os.umask(0o022)
    try:
        for path in (plain, link):
            with atomic_write(path) as temporary:
                temporary.write_text("new")
    finally:
        os.umask(mask)
    assert stat.S_IMODE(plain.stat().st_mode) == 0o644
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert link.is_symlink()
    assert private.read_text() == "new"


def test_targets_that_cannot_be_replaced(tmp_path):
    with pytest.raises(IsADirectoryError), atomic_write(tmp_path):
        pass
    with pytest.raises(OSError, match="not a regular file"), atomic_write("/dev/null"):
        pass
    with (
        pytest.raises(FileNotFoundError, match=r"nowhere/a\.txt"),
        atomic_write(tmp_path / "nowhere" / "a.txt"),
    ):
        pass
    assert names_in(tmp_path) == []


def test_missing_package(tmp_path, monkeypatch):
    def fail(*args, **keywords):
        raise ImportError(
            "Unable to find a usable engine; tried using: 'pyarrow', 'fastparquet'."
        )

    path = tmp_path / "t.parquet"
    write_partition(random_partition(), path)
    monkeypatch.setattr(pd, "read_parquet", fail)
    monkeypatch.setattr(pd.DataFrame, "to_parquet", fail)
    for use in (
        read_table,
        read_partition,
        lambda path: write_partition(random_partition(), path),
    ):
        with pytest.raises(
            ImportError, match=r"t\.parquet needs pyarrow.*dempster\[parquet\]"
        ):
            use(path)


# ---- names of sets -------------------------------------------------------------------------------

NAMES = st.one_of(
    st.text(max_size=6),
    st.integers(),
    st.floats(allow_nan=False),
    st.booleans(),
    st.sampled_from("∅Ω{},"),
)


@given(NAMES)
def test_names_round_trip(name):
    text = encode_name(name)
    assert decode_name(text) == name
    assert type(decode_name(text)) is type(name)


@settings(max_examples=60)
@given(st.data())
def test_headings_round_trip(data):
    frame = data.draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    row = st.lists(st.booleans(), min_size=len(frame), max_size=len(frame)).map(tuple)
    family = FocalSets(
        np.array(data.draw(st.lists(row, min_size=1, max_size=6, unique=True)))
    )
    headings, further = encode_headings(family, frame)
    where, found, names = decode_headings(
        ["object", *headings, *([] if further is None else [further])]
    )
    assert where == list(range(1, len(family) + 1))
    assert found == family
    assert names == tuple(frame)


def test_usual_headings():
    family = FocalSets.pairs(3)
    assert encode_headings(family, ("a", "b", "c")) == (family.names("abc"), None)
    assert encode_headings(family, range(3)) == (family.names(), None)


@pytest.mark.parametrize(
    "headings",
    [["a", "b"], ["∅", "Ω"], ["{0}", "{}"], ["{0}", "{0}"], ["{a}", "frame={b,c}"]],
)
def test_invalid_headings(headings):
    with pytest.raises(ValueError):
        decode_headings(headings)


def test_names_that_cannot_be_written(tmp_path):
    partition = CredalPartition(
        [[1, 0]], FocalSets.simple(2, empty=False, omega=False), frame=[("a",), ("b",)]
    )
    with pytest.raises(TypeError, match="cluster names"):
        write_partition(partition, tmp_path / "p.csv")
    assert names_in(tmp_path) == []


# ---- partitions ----------------------------------------------------------------------------------


def random_partition(n=25, family=None, dtype=float, seed=0, **keywords):
    if family is None:
        family = FocalSets.pairs(3)
    masses = (
        np.random.default_rng(seed)
        .dirichlet(np.full(len(family), 0.3), n)
        .astype(dtype)
    )
    return CredalPartition(masses, family, **keywords)


def assert_same(read, partition):
    assert isinstance(read, CredalPartition)
    assert read.focal_sets == partition.focal_sets
    assert read.frame == partition.frame
    assert [type(name) for name in read.frame] == [
        type(name) for name in partition.frame
    ]
    assert read.masses.dtype == partition.masses.dtype
    np.testing.assert_array_equal(read.masses, partition.masses)
    if partition.index is None:
        assert read.index is None
    else:
        assert list(read.index) == list(partition.index)


FAMILIES = {
    "simple": FocalSets.simple(5),
    "full": FocalSets.full(3),
    "one cluster": FocalSets.simple(1),
    "own order": FocalSets.from_sets(3, [(0, 1, 2), (2,), (0,), (), (1, 2)]),
    "no singletons": FocalSets.from_sets(4, [(1, 3), (0, 1, 2, 3)]),
    "a cluster in no set": FocalSets.from_sets(3, [(0,), (0, 2)]),
}


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())
def test_round_trip_of_sets(tmp_path, suffix, family):
    partition = random_partition(40, family)
    write_partition(partition, tmp_path / f"p.{suffix}")
    assert_same(read_partition(tmp_path / f"p.{suffix}"), partition)
    assert names_in(tmp_path) == [f"p.{suffix}"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_conformal_sets(tmp_path, suffix):
    path = tmp_path / f"p.{suffix}"
    partition = CredalPartition(
        random_partition(3, FocalSets.full(3)),
        frame=["=a", "b", 3],
        index=pd.Index(list("xyz"), name="conformal_set"),
    )
    sets = np.array([[True, False, False], [True, False, True], [False, False, False]])
    write_partition(partition, path, sets=sets)
    assert_same(read_partition(path), partition)
    read = {
        "csv": pd.read_csv,
        "tsv": partial(pd.read_csv, sep="\t"),
        "parquet": pd.read_parquet,
    }[suffix]
    # A spreadsheet must not evaluate text.
    if suffix == "parquet":
        first = "=a"
    else:
        first = "'=a"
    assert read(path)["conformal_set"].tolist() == [first, f"{first}|3", "∅"]
    for wrong in (sets[:2], sets[:, :2], sets.astype(int), "0|3"):
        with pytest.raises(
            ValueError, match=r"^sets must be a Boolean array of shape \(3, 3\), got"
        ):
            write_partition(partition, path, sets=wrong)


INDICES = {
    "text": ["ann", "bob", "", 'été, "quoted"', "NA", "two\nlines"],
    "text that looks like numbers": ["1", "2", "3", "4", "5", "6"],
    "text with zeros": ["007", "1", "2", "3", "4", "5"],
    "integers": [5, 3, -1, 0, 10**15, 7],
    "floats": [0.1, 1.0, 1e300, -2.5, 3.0, 4.0],
    "positions": [0, 1, 2, 3, 4, 5],
    "pandas": pd.Index([10, 20, 30, 40, 50, 60], name="key"),
    "named like a column": pd.Index(list("abcdef"), name="label"),
    "named like a set": pd.Index(list("abcdef"), name="{0}"),
}


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES.keys())
def test_round_trip_of_the_index(tmp_path, suffix, index):
    partition = random_partition(6, index=index)
    write_partition(partition, tmp_path / f"p.{suffix}")
    read = read_partition(tmp_path / f"p.{suffix}")
    assert_same(read, partition)
    assert [isinstance(name, str) for name in read.index] == [
        isinstance(name, str) for name in index
    ]


@pytest.mark.parametrize("suffix", FORMATS)
def test_round_trip_of_the_name_of_the_index_and_of_dates(tmp_path, suffix):
    partition = random_partition(
        3, index=pd.date_range("2020-01-01", periods=3, name="day")
    )
    write_partition(partition, tmp_path / f"p.{suffix}")
    read = read_partition(tmp_path / f"p.{suffix}")
    assert read.index.name == "day"
    assert pd.to_datetime(read.index).equals(partition.index)


FRAMES = [
    ("a", "b", "c"),
    (3, 1, 2),
    ("1", "2", "3"),
    ("a,b", "{c}", 'd"'),
    ("∅", "Ω", ""),
    (0.5, True, "True"),
]


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("frame", FRAMES)
def test_round_trip_of_cluster_names(tmp_path, suffix, frame):
    partition = random_partition(
        12, frame=frame, index=[f"object {i}" for i in range(12)]
    )
    write_partition(partition, tmp_path / f"p.{suffix}")
    assert_same(read_partition(tmp_path / f"p.{suffix}"), partition)


@pytest.mark.parametrize("suffix", FORMATS)
def test_no_objects_and_one_object(tmp_path, suffix):
    partition = random_partition(5)
    for part in (partition[:0], partition[:1]):
        write_partition(part, tmp_path / f"p.{suffix}")
        assert_same(read_partition(tmp_path / f"p.{suffix}"), part)


@pytest.mark.parametrize("suffix", FORMATS)
def test_single_precision(tmp_path, suffix):
    partition = random_partition(30, dtype=np.float32)
    write_partition(partition, tmp_path / f"p.{suffix}")
    read = read_partition(tmp_path / f"p.{suffix}")
    if suffix == "parquet":
        assert_same(read, partition)
    else:  # Text files are read in double precision and normalized.
        np.testing.assert_allclose(read.masses, partition.masses, atol=1e-6)


def test_round_trip_of_metadata(tmp_path):
    metadata = {
        "method": "ECM",
        "objective": np.float64(1.5),
        "parameters": {"focal_sets": FocalSets.simple(2)},
    }
    write_partition(random_partition(metadata=metadata), tmp_path / "p.parquet")
    kept = read_partition(tmp_path / "p.parquet").metadata
    assert kept["method"] == "ECM"
    assert kept["objective"] == 1.5
    assert kept["parameters"]["focal_sets"].startswith("FocalSets(2 clusters")


@pytest.mark.parametrize("extension", FORMATS)
def test_names_and_descriptions_of_clusters(tmp_path, extension):
    partition = CredalPartition(np.eye(4), FocalSets.full(2)).name_clusters(
        ["setosa", 'a, "b"'], descriptions={'a, "b"': "long, wide\nleaves = 3"}
    )
    path = tmp_path / f"p.{extension}"
    write_partition(partition, path)
    again = read_partition(path)
    assert again.frame == partition.frame
    assert again.metadata["descriptions"] == partition.metadata["descriptions"]


def test_metadata_with_invalid_keys(tmp_path):
    partition = random_partition(metadata={(0, 1): "pair"})
    with pytest.raises(ValueError, match="partition must have metadata .* JSON; keys"):
        write_partition(partition, tmp_path / "p.parquet")


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_content_of_a_table(tmp_path, suffix):
    masses = [[0, 1, 0, 0], [0.1, 0, 0.2, 0.7], [0.8, 0, 0.2, 0]]
    partition = CredalPartition(masses, FocalSets.full(2), index=["x", "y", "z"])
    write_partition(partition, tmp_path / f"p.{suffix}")
    table = pd.read_csv(tmp_path / f"p.{suffix}", sep="\t" if suffix == "tsv" else ",")
    assert table.columns.tolist() == [
        "object", "label", "label_with_outliers", "assignment", "∅", "{0}", "{1}", "Ω"
    ]  # fmt: skip
    assert table["label"].tolist() == partition.labels.tolist()
    assert table["label_with_outliers"].tolist() == [0, 1, -1]
    assert table["assignment"].tolist() == ["{0}", "Ω", "∅"]
    np.testing.assert_array_equal(table.iloc[:, 4:], partition.masses)


def test_table_saved_by_a_spreadsheet(tmp_path):
    """Semicolons, decimal commas, a byte order mark, no quotation marks and another column."""
    partition = CredalPartition(
        [[0, 0.25, 0.75, 0], [0.5, 0, 0, 0.5]], FocalSets.full(2), index=["x", "y"]
    )
    write_partition(partition, tmp_path / "p.csv")
    table = pd.read_csv(tmp_path / "p.csv").assign(remark=["good", "bad"])
    table.to_csv(
        tmp_path / "q.csv",
        sep=";",
        decimal=",",
        index=False,
        encoding="utf-8-sig",
        lineterminator="\r\n",
    )
    assert_same(read_partition(tmp_path / "q.csv"), partition)


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("p.csv", b"a,b\n1,2\n", "column heading"),
        ("p.csv", b"row,{0},{1}\n0,0.5,0.4\n", "sum to one"),
        ("p.csv", b"row,{0},{1}\n0,1.5,-0.5\n", "negative"),
        ("p.csv", b"row,{0},{1}\n0,1,\n", "cannot read p.csv"),
        ("p.csv", b"row,{0},{1}\n0,much,little\n", "cannot read p.csv"),
        ("p.csv", b"", "empty"),
        ("p.csv", GARBAGE, "cannot read p.csv"),
        ("p.parquet", GARBAGE, "cannot read p.parquet"),
        ("p.npy", b"", "extension must be one of"),
    ],
)
def test_invalid_files(tmp_path, name, content, match):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=match) as caught:
        read_partition(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_invalid_arguments(tmp_path):
    partition = random_partition()
    with pytest.raises(ValueError, match=r"\bextension\b"):
        write_partition(partition, tmp_path / "p.pkl")
    with pytest.raises(ValueError, match="compressed"):
        write_partition(partition, tmp_path / "p.csv.gz")
    with pytest.raises(TypeError, match="CredalPartition"):
        write_partition(MassFunctions(partition), tmp_path / "p.csv")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    "failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()]
)
def test_partition_is_written_atomically(tmp_path, monkeypatch, suffix, failure):
    path = tmp_path / f"p.{suffix}"
    first = random_partition(seed=1)
    write_partition(first, path)

    def fail(*args, **keywords):
        raise failure

    for owner, name in (
        (pd.DataFrame, "to_csv"),
        (pd.DataFrame, "to_parquet"),
        (np, "savez_compressed"),
    ):
        monkeypatch.setattr(owner, name, fail)
    with pytest.raises(type(failure)):
        write_partition(random_partition(seed=2), path)
    assert names_in(tmp_path) == [path.name]
    assert_same(read_partition(path), first)
