"""Tables and partitions as files, and files that are written whole or not at all."""

import errno
import gzip
import os
import stat

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dempster import CredalPartition, FocalSets, MassFunctions
from dempster.io import atomic_write, atomic_writes, read_partition, read_table, write_partition
from dempster.io.partitions import decode_headings, decode_name, encode_headings, encode_name

FORMATS = ["csv", "tsv", "parquet", "npz"]


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


# ---- atomic writes --------------------------------------------------------------------------------------------------


def test_the_file_appears_when_the_block_ends(tmp_path):
    target = tmp_path / "a.txt"
    with atomic_write(target) as temporary:
        temporary.write_text("new")
        assert not target.exists()
        assert temporary.parent == tmp_path
        assert temporary.suffix == ".txt"
    assert target.read_text() == "new"
    assert names_in(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt, SystemExit, OSError(errno.ENOSPC, "full")])
def test_a_failure_leaves_the_folder_as_it_was(tmp_path, failure):
    (tmp_path / "a.txt").write_text("old")
    kinds = (ValueError, KeyboardInterrupt, SystemExit, OSError)
    with pytest.raises(kinds), atomic_writes([tmp_path / "a.txt", tmp_path / "b.txt"]) as (first, second):  # noqa: PT012
        first.write_text("half")
        second.write_text("half")
        raise failure
    assert names_in(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_a_full_disk_found_at_the_last_moment(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"), atomic_write(tmp_path / "a.txt") as temporary:
        temporary.write_text("new")
    assert names_in(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


@pytest.mark.parametrize("failure", [OSError(errno.EIO, "failed"), KeyboardInterrupt()])
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("links", [False, True])
def test_a_failing_rename_takes_back_the_others(tmp_path, monkeypatch, failure, after, links):
    """The second of three renames fails (before or just after it took place): old files return, new ones vanish."""
    (tmp_path / "a").write_text("old a")
    (tmp_path / "b").write_text("old b")
    replace, targets = os.replace, [tmp_path / name for name in "abc"]

    def failing(source, target):
        if target == targets[1] and not failed:
            failed.append(target)
            if after:
                replace(source, target)
            raise failure
        replace(source, target)

    def no_links(source, target):
        raise OSError(errno.EPERM, "no hard links here")

    failed = []
    monkeypatch.setattr(os, "replace", failing)
    if not links:
        monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(type(failure)), atomic_writes(targets) as temporaries:  # noqa: PT012
        for temporary in temporaries:
            temporary.write_text("new")
    assert failed
    assert names_in(tmp_path) == ["a", "b"]
    assert (tmp_path / "a").read_text() == "old a"
    assert (tmp_path / "b").read_text() == "old b"


def test_several_files_appear_together(tmp_path):
    (tmp_path / "b").write_text("old")
    with atomic_writes([tmp_path / "a", tmp_path / "b"]) as temporaries:
        for temporary in temporaries:
            temporary.write_text("new")
        assert (tmp_path / "b").read_text() == "old"
    assert names_in(tmp_path) == ["a", "b"]
    assert {(tmp_path / name).read_text() for name in "ab"} == {"new"}


def test_permissions_and_links_are_kept(tmp_path):
    plain, private, link = tmp_path / "plain", tmp_path / "private", tmp_path / "link"
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


def test_what_cannot_be_replaced_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError), atomic_write(tmp_path):
        pass
    with pytest.raises(OSError, match="not a regular file"), atomic_write("/dev/null"):
        pass
    with pytest.raises(FileNotFoundError, match=r"nowhere/a\.txt"), atomic_write(tmp_path / "nowhere" / "a.txt"):
        pass
    with pytest.raises(ValueError, match="different files"), atomic_writes([tmp_path / "a", tmp_path / "." / "a"]):
        pass
    assert names_in(tmp_path) == []


# ---- tables ---------------------------------------------------------------------------------------------------------

TEXTS = {
    "comma": "name,a,b\nx,1.5,2\ny,3.25,4\n",
    "spaces after commas": "name, a, b\nx, 1.5, 2\ny, 3.25, 4\n",
    "semicolon": "name;a;b\nx;1.5;2\ny;3.25;4\n",
    "semicolon, decimal comma": "name;a;b\nx;1,5;2\ny;3,25;4\n",
    "tab": "name\ta\tb\nx\t1.5\t2\ny\t3.25\t4\n",
    "tab, decimal comma": "name\ta\tb\nx\t1,5\t2\ny\t3,25\t4\n",
    "bar": "name|a|b\nx|1.5|2\ny|3.25|4\n",
    "blanks": "name   a    b\nx     1.5    2\ny    3.25    4\n",
    "quoted": '"name","a","b"\n"x","1.5","2"\n"y","3.25","4"\n',
    "Windows line ends": "name,a,b\r\nx,1.5,2\r\ny,3.25,4\r\n",
    "byte order mark": "\ufeffname,a,b\nx,1.5,2\ny,3.25,4\n",
    "blank lines": "name,a,b\n\nx,1.5,2\ny,3.25,4\n\n",
    "no last line end": "name,a,b\nx,1.5,2\ny,3.25,4",
    "trailing delimiter": "name,a,b\nx,1.5,2,\ny,3.25,4,\n",
}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt", ".csv.gz"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_text_tables_however_they_are_separated(tmp_path, text, suffix):
    path = tmp_path / f"table{suffix}"
    content = text.encode()
    path.write_bytes(gzip.compress(content, mtime=0) if suffix.endswith("gz") else content)
    table = read_table(path)
    assert table.columns.tolist() == ["name", "a", "b"]
    assert table["name"].tolist() == ["x", "y"]
    assert table["a"].tolist() == [1.5, 3.25]
    assert table["b"].tolist() == [2, 4]


def test_row_names_without_a_heading(tmp_path):
    """R's write.table gives the header one cell less than the other lines."""
    path = tmp_path / "r.txt"
    path.write_text('"a" "b"\n"x" 1.5 2\n"y" 3.25 4\n')
    table = read_table(path)
    assert table.index.tolist() == ["x", "y"]
    assert table["a"].tolist() == [1.5, 3.25]


def test_commas_in_quoted_text_do_not_separate(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('name,a\n"Smith, Ann",1\n"Jones; Bob",2\n')
    assert read_table(path)["name"].tolist() == ["Smith, Ann", "Jones; Bob"]


def test_one_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("value\n1\n2\n3\n")
    assert read_table(path).to_dict("list") == {"value": [1, 2, 3]}


@pytest.mark.parametrize(("text", "rows"), [("1,2\n3,4\n", [[1, 2], [3, 4]]), ("1,5;2\n3;4,5\n", [[1.5, 2], [3, 4.5]])])
def test_a_table_without_header_loses_no_row(tmp_path, text, rows):
    path = tmp_path / "t.csv"
    path.write_text(text)
    table = read_table(path)
    assert table.columns.tolist() == ["x1", "x2"]
    assert table.to_numpy().tolist() == rows
    assert table.attrs["header"] is False
    assert len(read_table(path, header=True)) == len(rows) - 1


def test_all_formats_hold_the_same_table(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(30, 3)) * 10.0 ** rng.integers(-200, 200, (30, 3))
    table = pd.DataFrame(values, columns=["x1", "x2", "x3"])
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    table.to_csv(tmp_path / "t.csv.gz", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    table.to_feather(tmp_path / "t.feather")
    np.save(tmp_path / "t.npy", values)
    for name in ("t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.feather", "t.npy"):
        pd.testing.assert_frame_equal(read_table(tmp_path / name), table, check_exact=True, obj=name)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_columns_and_index(tmp_path, suffix):
    table = pd.DataFrame({"id": ["007", "NA", "x"], "a": [1, 2, 3], "b": [4.0, 5.0, 6.0]})
    path = tmp_path / f"t.{suffix}"
    table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path, index=False)
    read = read_table(path, columns=["b", "a"], index_col="id")
    assert read.columns.tolist() == ["b", "a"]
    assert read.index.tolist() == ["007", "NA", "x"]
    assert read.index.name == "id"
    with pytest.raises(ValueError, match=r"columns: t\.\w+ has no column 'c'; it has a, b"):
        read_table(path, columns=["a", "c"], index_col="id")
    with pytest.raises(ValueError, match="index_col: .* has no column 'key'"):
        read_table(path, index_col="key")


def test_an_index_of_whole_numbers_is_one(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,a\n12,1\n-3,2\n")
    assert read_table(path, index_col="id").index.dtype == np.int64


GARBAGE = bytes(range(256)) * 20


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", b"", "empty"),
        ("t.csv", b"\n\n", "empty"),
        ("t.csv", GARBAGE, "cannot read t.csv"),
        ("t.csv", b"a,b\n1,\xff\x81\n", "not UTF-8 text; save it as UTF-8"),
        ("t.csv", "a,b\n1,2\n".encode("utf-16")[:-1], "cannot read t.csv"),
        ("t.csv", b"a,b\n1,2\n1,2,3,4\n", "line 3"),
        ("t.csv.gz", b"a,b\n1,2\n", "cannot read t.csv.gz"),
        ("t.csv.gz", gzip.compress(GARBAGE, mtime=0)[:50], "cannot read t.csv.gz"),
        ("t.parquet", GARBAGE, "cannot read t.parquet"),
        ("t.parquet", b"", "cannot read t.parquet"),
        ("t.feather", GARBAGE, "cannot read t.feather"),
        ("t.npy", GARBAGE, "cannot read t.npy"),
        ("t.npy", b"", "cannot read t.npy"),
        ("t.xlsx", b"PK", "cannot read t.xlsx"),
        ("t.ods", b"PK", "extension must be one of .csv"),
        ("table", b"a,b\n1,2\n", "got none"),
        ("t.npy.gz", b"", "extension must be"),
    ],
)
def test_files_that_are_no_tables(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=words) as caught:
        read_table(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "array", [np.arange(3.0), np.zeros((2, 2, 2)), np.array([["a", "b"]]), np.array([[1j]]), np.array([[True]])]
)
def test_arrays_that_are_no_tables(tmp_path, array):
    np.save(tmp_path / "t.npy", array)
    with pytest.raises(ValueError, match="numeric with two dimensions"):
        read_table(tmp_path / "t.npy")


def test_objects_in_arrays_are_never_loaded(tmp_path):
    np.save(tmp_path / "t.npy", np.array([[{}, 1]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="cannot read t.npy"):
        read_table(tmp_path / "t.npy")
    np.savez(tmp_path / "p.npz", masses=np.array([{}], dtype=object), membership=[[True]], frame=["0"])
    with pytest.raises(ValueError, match="cannot read p.npz"):
        read_partition(tmp_path / "p.npz")


def test_files_that_are_not_there(tmp_path):
    for read in (read_table, read_partition):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "nothing.csv")
        with pytest.raises(IsADirectoryError):
            read(tmp_path)


def test_what_to_install_is_told(tmp_path, monkeypatch):
    def fail(*args, **keywords):
        raise ImportError("Unable to find a usable engine; tried using: 'pyarrow', 'fastparquet'.")

    path = tmp_path / "t.parquet"
    write_partition(random_partition(), path)
    monkeypatch.setattr(pd, "read_parquet", fail)
    monkeypatch.setattr(pd.DataFrame, "to_parquet", fail)
    for use in (read_table, read_partition, lambda path: write_partition(random_partition(), path)):
        with pytest.raises(ImportError, match=r"t\.parquet needs pyarrow.*dempster\[parquet\]"):
            use(path)


# ---- names of sets --------------------------------------------------------------------------------------------------

NAMES = st.one_of(
    st.text(max_size=6), st.integers(), st.floats(allow_nan=False), st.booleans(), st.sampled_from("∅Ω{},")
)


@given(NAMES)
def test_a_name_returns_with_its_type(name):
    text = encode_name(name)
    assert decode_name(text) == name
    assert type(decode_name(text)) is type(name)


@settings(max_examples=60)
@given(st.data())
def test_headings_tell_the_sets_and_the_frame(data):
    frame = data.draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    row = st.lists(st.booleans(), min_size=len(frame), max_size=len(frame)).map(tuple)
    family = FocalSets(np.array(data.draw(st.lists(row, min_size=1, max_size=6, unique=True))))
    headings, further = encode_headings(family, frame)
    where, found, names = decode_headings(["object", *headings, *([] if further is None else [further])])
    assert where == list(range(1, len(family) + 1))
    assert found == family
    assert names == tuple(frame)


def test_ordinary_headings_are_the_names_of_the_sets():
    family = FocalSets.pairs(3)
    assert encode_headings(family, ("a", "b", "c")) == (family.names("abc"), None)
    assert encode_headings(family, range(3)) == (family.names(), None)


@pytest.mark.parametrize("headings", [["a", "b"], ["∅", "Ω"], ["{0}", "{}"], ["{0}", "{0}"], ["{a}", "frame={b,c}"]])
def test_headings_that_tell_no_sets(headings):
    with pytest.raises(ValueError):
        decode_headings(headings)


def test_names_that_no_file_can_hold(tmp_path):
    partition = CredalPartition([[1, 0]], FocalSets.simple(2, empty=False, omega=False), frame=[("a",), ("b",)])
    with pytest.raises(TypeError, match="cluster names must be text or numbers"):
        write_partition(partition, tmp_path / "p.csv")
    assert names_in(tmp_path) == []


# ---- partitions -----------------------------------------------------------------------------------------------------


def random_partition(n=25, family=None, dtype=float, seed=0, **keywords):
    family = FocalSets.pairs(3) if family is None else family
    masses = np.random.default_rng(seed).dirichlet(np.full(len(family), 0.3), n).astype(dtype)
    return CredalPartition(masses, family, **keywords)


def assert_same(read, partition):
    assert isinstance(read, CredalPartition)
    assert read.focal_sets == partition.focal_sets
    assert read.frame == partition.frame
    assert [type(name) for name in read.frame] == [type(name) for name in partition.frame]
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
def test_round_trip_of_sets_to_the_last_digit(tmp_path, suffix, family):
    partition = random_partition(40, family)
    write_partition(partition, tmp_path / f"p.{suffix}")
    assert_same(read_partition(tmp_path / f"p.{suffix}"), partition)
    assert names_in(tmp_path) == [f"p.{suffix}"]


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
    assert [isinstance(name, str) for name in read.index] == [isinstance(name, str) for name in index]


@pytest.mark.parametrize("suffix", FORMATS)
def test_round_trip_of_the_name_of_the_index_and_of_dates(tmp_path, suffix):
    partition = random_partition(3, index=pd.date_range("2020-01-01", periods=3, name="day"))
    write_partition(partition, tmp_path / f"p.{suffix}")
    read = read_partition(tmp_path / f"p.{suffix}")
    assert read.index.name == "day"
    assert pd.to_datetime(read.index).equals(partition.index)


FRAMES = [("a", "b", "c"), (3, 1, 2), ("1", "2", "3"), ("a,b", "{c}", 'd"'), ("∅", "Ω", ""), (0.5, True, "True")]


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("frame", FRAMES)
def test_round_trip_of_cluster_names(tmp_path, suffix, frame):
    partition = random_partition(12, frame=frame, index=[f"object {i}" for i in range(12)])
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
    if suffix in ("parquet", "npz"):
        assert_same(read, partition)
    else:  # text has no types: every digit was written, the rows were made to sum to one in double precision
        np.testing.assert_allclose(read.masses, partition.masses, atol=1e-6)


@pytest.mark.parametrize("suffix", ["parquet", "npz"])
def test_metadata_are_kept_where_there_is_room(tmp_path, suffix):
    metadata = {"method": "ECM", "objective": np.float64(1.5), "parameters": {"focal_sets": FocalSets.simple(2)}}
    write_partition(random_partition(metadata=metadata), tmp_path / f"p.{suffix}")
    kept = read_partition(tmp_path / f"p.{suffix}").metadata
    assert kept["method"] == "ECM"
    assert kept["objective"] == 1.5
    assert kept["parameters"]["focal_sets"].startswith("FocalSets(2 clusters")


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_the_table_people_read(tmp_path, suffix):
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


def test_a_table_saved_by_a_spreadsheet(tmp_path):
    """Semicolons, decimal commas, a byte order mark, lost quotation marks and a further column."""
    partition = CredalPartition([[0, 0.25, 0.75, 0], [0.5, 0, 0, 0.5]], FocalSets.full(2), index=["x", "y"])
    write_partition(partition, tmp_path / "p.csv")
    table = pd.read_csv(tmp_path / "p.csv").assign(remark=["good", "bad"])
    table.to_csv(tmp_path / "q.csv", sep=";", decimal=",", index=False, encoding="utf-8-sig", lineterminator="\r\n")
    assert_same(read_partition(tmp_path / "q.csv"), partition)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("p.csv", b"a,b\n1,2\n", "named after a set"),
        ("p.csv", b"row,{0},{1}\n0,0.5,0.4\n", "sum to one"),
        ("p.csv", b"row,{0},{1}\n0,1.5,-0.5\n", "negative"),
        ("p.csv", b"row,{0},{1}\n0,1,\n", "cannot read p.csv"),
        ("p.csv", b"row,{0},{1}\n0,much,little\n", "cannot read p.csv"),
        ("p.csv", b"", "empty"),
        ("p.csv", GARBAGE, "cannot read p.csv"),
        ("p.parquet", GARBAGE, "cannot read p.parquet"),
        ("p.npz", GARBAGE, "cannot read p.npz"),
        ("p.npz", b"", "cannot read p.npz"),
        ("p.npy", b"", "extension must be one of"),
    ],
)
def test_files_that_hold_no_partition(tmp_path, name, content, words):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=words) as caught:
        read_partition(tmp_path / name)
    assert "\n" not in str(caught.value)


def test_an_archive_of_something_else(tmp_path):
    np.savez(tmp_path / "p.npz", masses=np.ones((2, 2)))
    with pytest.raises(ValueError, match="lacks membership, frame"):
        read_partition(tmp_path / "p.npz")


def test_what_cannot_be_written_is_refused(tmp_path):
    partition = random_partition()
    with pytest.raises(ValueError, match="extension must be one of .csv, .tsv, .parquet, .npz"):
        write_partition(partition, tmp_path / "p.pkl")
    with pytest.raises(ValueError, match="compressed"):
        write_partition(partition, tmp_path / "p.csv.gz")
    with pytest.raises(TypeError, match="CredalPartition"):
        write_partition(MassFunctions(partition), tmp_path / "p.csv")
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_partition_is_written_whole_or_not_at_all(tmp_path, monkeypatch, suffix, failure):
    path = tmp_path / f"p.{suffix}"
    first = random_partition(seed=1)
    write_partition(first, path)

    def fail(*args, **keywords):
        raise failure

    for owner, name in ((pd.DataFrame, "to_csv"), (pd.DataFrame, "to_parquet"), (np, "savez_compressed")):
        monkeypatch.setattr(owner, name, fail)
    with pytest.raises(type(failure)):
        write_partition(random_partition(seed=2), path)
    assert names_in(tmp_path) == [path.name]
    assert_same(read_partition(path), first)
