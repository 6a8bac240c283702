"""Readers and writers: unusual names, ambiguous headers, invalid paths, and files that would fill the memory."""

import gzip
import os

import numpy as np
import pandas as pd
import pytest

from dempster import CredalPartition, FocalSets
from dempster.apps.recipe import Recipe, read_image, read_labels
from dempster.constraints import Constraints, read_constraints, write_constraints
from dempster.io import (
    read_dissimilarities,
    read_partition,
    read_r,
    read_table,
    write_partition,
    write_r,
)
from dempster.persistence import describe, load, save
from tests.limits import limited, refused_or_sensible

NAMES = [
    ["a;b", "c;d"], ["a|b", "c|d"], ["a\tb", "c\td"], ["a\rb", "c\rd"], ["a\nb", "c"], ["a\r\nb", "c"],
    ["x" * 200_000, "y"],
    ["=1+1", "@x"], ["-5", "+3"], ["'quoted", "''=x"], ["\x1b[31m", "b"], ["", "b"], [" a", "b "], ['say "hi"', "b"],
    ["1", "2"], ["01", "2"], ["NA", "nan"], ["True", "None"], ["é", "日本"], ["{0}", "Ω"],
    ["a,b", "c"], ["\ufeffx", "y"],
    [1, 2], [-1, -2], [0.5, 1e-300], [3, 1],
]  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_partitions_with_unusual_names(kind, tmp_path):
    path = tmp_path / f"partition.{kind}"
    for names in NAMES:
        if not isinstance(names[0], str) or len(names[0]) > 100:
            frames = [(0, 1)]
        else:
            frames = [(0, 1), tuple(names)]
        frames += [("a\rb", "c")]
        for frame in frames:
            partition = CredalPartition(
                [[0, 1, 0, 0], [0, 0.25, 0.25, 0.5]],
                FocalSets.full(2),
                names,
                frame=frame,
            )
            write_partition(partition, path)
            again = read_partition(path)
            assert list(again.index) == names
            assert again.frame == frame
            np.testing.assert_array_equal(again.masses, partition.masses)


@pytest.mark.parametrize("kind", ["csv", "parquet", "rds"])
def test_names_that_cannot_be_encoded(kind, tmp_path):
    partition = CredalPartition([[0, 1, 0, 0]], FocalSets.full(2), ["\ud800"])
    with pytest.raises(ValueError, match=rf"p.{kind}: .*ud800"):
        (write_r if kind == "rds" else write_partition)(
            partition, tmp_path / f"p.{kind}"
        )
    assert list(tmp_path.iterdir()) == []


def test_clusters_with_equal_names_in_r(tmp_path):
    with pytest.raises(ValueError, match="^frame "):
        write_r(
            CredalPartition([[0, 1, 0, 0]], FocalSets.full(2), frame=("0", 0)),
            tmp_path / "p.rds",
        )


def test_formulas_are_escaped(tmp_path):
    names = ["=1+1", "+1", "-x", "@y", "\tz"]
    masses = np.eye(2)[[0, 1, 0, 1, 0]]
    frame = ("=cmd", "@other")
    partition = CredalPartition(
        masses, FocalSets.simple(2, empty=False, omega=False), names, frame=frame
    )
    write_partition(partition, tmp_path / "partition.csv")
    for row in (
        pd.read_csv(tmp_path / "partition.csv", dtype=str, header=None)
        .to_numpy()
        .ravel()
    ):
        assert str(row)[0] not in "=+-@\t\r"


OBJECTS = ["007", "NA", "=1+1", "1e5", "True", "x y"]


def test_names_of_objects_in_pairs_and_labels(tmp_path):
    pairs = Constraints([(0, 1), (2, 3)], [(0, 4)], n_objects=6)
    write_constraints(pairs, tmp_path / "pairs.csv", OBJECTS)
    assert "\n=" not in (tmp_path / "pairs.csv").read_text()
    again = read_constraints(tmp_path / "pairs.csv", OBJECTS)
    assert again.must_link.tolist() == [[0, 1], [2, 3]]
    table = pd.DataFrame({"a": range(6)}, index=OBJECTS)
    (tmp_path / "labels.csv").write_text("name,kind\n007,u\nNA,v\n1e5,w\nTrue,w\n")
    found = read_labels(tmp_path / "labels.csv", table)
    assert found[["007", "NA", "1e5", "True"]].tolist() == ["u", "v", "w", "w"]
    assert found.isna().sum() == 2


@pytest.mark.parametrize(
    "text", ["kind\nu\n\nv\nu\n", "\nkind\r\n1\r\n\r\n2\r\n1\r\n\r\n"]
)
def test_empty_lines_are_unknown_labels(text, tmp_path):
    (tmp_path / "labels.csv").write_bytes(text.encode())
    found = read_labels(tmp_path / "labels.csv", pd.DataFrame({"a": range(4)}))
    assert found.isna().tolist() == [False, True, False, False]
    assert found[0] == found[3]


def test_pairs_with_blanks(tmp_path):
    (tmp_path / "pairs.csv").write_text(" r , s , same \n")
    assert read_constraints(tmp_path / "pairs.csv", ["r", "s"]).must_link.tolist() == [
        [0, 1]
    ]


def test_names_of_columns_with_blanks(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(" n , a ,b\nr,1,2\ns,3,4\nt,5,9\n")
    assert read_table(path, index_col=" n ")[["a"]].to_dict() == {
        "a": {"r": 1, "s": 3, "t": 5}
    }
    found = Recipe(path, method="ecm", clusters=2, index=" n ").run()
    assert list(found.partition.index) == ["r", "s", "t"]


@pytest.mark.parametrize("header", ["", "object,other,answer\n"])
def test_pairs_and_labels_without_header(header, tmp_path):
    for objects, pairs in (
        (OBJECTS, "007,NA,same\nTrue,x y,different\n"),
        (None, "0,1,1\n4,5,0\n"),
    ):
        (tmp_path / "pairs.csv").write_text(header + pairs)
        found = read_constraints(tmp_path / "pairs.csv", objects)
        assert (found.must_link.tolist(), found.cannot_link.tolist()) == (
            [[0, 1]],
            [[4, 5]],
        )
    table = pd.DataFrame({"a": range(3)}, index=["r", "s", "t"])
    for text in ("r,u\ns,v\nt,u\n", "u\nv\nu\n"):
        (tmp_path / "labels.csv").write_text(text)
        assert read_labels(tmp_path / "labels.csv", table).tolist() == ["u", "v", "u"]
    (tmp_path / "labels.csv").write_text("kind\nu\nv\n")
    with pytest.raises(ValueError, match="one label for each of the 3 rows, got 2"):
        read_labels(tmp_path / "labels.csv", table)


@pytest.mark.parametrize(
    ("objects", "first"), [(["a", "b", "c"], "a,b"), (None, "0,1")]
)
@pytest.mark.parametrize("word", ["sane", ""])
def test_first_pair_is_not_a_header(objects, first, word, tmp_path):
    (tmp_path / "pairs.csv").write_text(f"{first},{word}\n{first},same\n")
    with pytest.raises(ValueError, match="third column"):
        read_constraints(tmp_path / "pairs.csv", objects)


def test_header_with_the_word_same(tmp_path):
    (tmp_path / "pairs.csv").write_text("x,y,same\na,b,1\na,c,0\n")
    found = read_constraints(tmp_path / "pairs.csv", ["a", "b", "c"])
    assert (found.must_link.tolist(), found.cannot_link.tolist()) == (
        [[0, 1]],
        [[0, 2]],
    )
    (tmp_path / "pairs.csv").write_text("x,y,same\na,b,same\na,c,different\n")
    with pytest.raises(ValueError, match="object 'x'"):
        read_constraints(tmp_path / "pairs.csv", ["a", "b", "c"])


def test_names_must_be_unique(tmp_path):
    (tmp_path / "pairs.csv").write_text("object,other,answer\na,b,same\n")
    with pytest.raises(ValueError, match=r"pairs.csv: .*'a'"):
        read_constraints(tmp_path / "pairs.csv", ["a", "b", "a"])
    (tmp_path / "labels.csv").write_text("name,kind\na,u\na,v\n")
    with pytest.raises(ValueError, match=r"labels.csv must name each row once"):
        read_labels(
            tmp_path / "labels.csv", pd.DataFrame({"x": [1, 2]}, index=["a", "b"])
        )


PATHS = ["", None, 3, 0.5, b"x", True, ["a"], object(), int]


@pytest.mark.parametrize(
    "read",
    [load, describe, read_r, read_partition, read_table],
    ids=lambda f: f.__name__,
)
def test_invalid_paths_to_read(read):
    for path in PATHS:
        with pytest.raises((TypeError, ValueError), match="^path must"):
            read(path)


@pytest.mark.parametrize(
    "write", [save, write_r, write_partition], ids=lambda f: f.__name__
)
def test_invalid_paths_to_write(write):
    for path in PATHS:
        with pytest.raises((TypeError, ValueError), match="^path must"):
            write(CredalPartition([[0, 1, 0, 0]], FocalSets.full(2)), path)


def test_damaged_r_files(tmp_path):
    pytest.importorskip("rdata")
    path = tmp_path / "partition.rds"
    write_r(
        CredalPartition(
            [[0, 1, 0, 0], [0, 0.5, 0.5, 0]], FocalSets.full(2), ["a", "b"]
        ),
        path,
    )
    raw = gzip.decompress(path.read_bytes())
    rng = np.random.default_rng(0)
    for _ in range(200):
        data = bytearray(raw)
        for place in rng.integers(0, len(data), 3):
            data[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(gzip.compress(bytes(data), 1))
        refused_or_sensible(
            lambda: read_r(path).masses,
            lambda masses: np.testing.assert_allclose(masses.sum(axis=1), 1),
            "partition.rds",
        )


def test_control_characters_are_escaped():
    partition = CredalPartition(
        [[0, 1, 0, 0]],
        FocalSets.full(2),
        ["\x1b[31mred\x07"],
        frame=("\x1b]0;x\x07", "b"),
    )
    for text in (repr(partition), str(partition.summary())):
        assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("text", [",x\n007,1\nNA,2\n1e5,3", "x\n007,1\nNA,2\n1e5,3"])
def test_names_of_rows_are_text(text, tmp_path):
    (tmp_path / "table.csv").write_text(text)
    assert list(read_table(tmp_path / "table.csv").index) == ["007", "NA", "1e5"]


@pytest.mark.parametrize(
    "read",
    [
        load,
        describe,
        read_r,
        read_partition,
        read_table,
        read_dissimilarities,
        read_image,
        read_constraints,
    ],
)
def test_pipes_and_devices_are_not_opened(read, tmp_path):
    suffix = {
        "load": "dempster",
        "describe": "dempster",
        "read_r": "rds",
        "read_image": "npy",
    }.get(read.__name__, "csv")
    for name, make in (
        ("pipe", os.mkfifo),
        ("device", lambda path: os.symlink("/dev/zero", path)),
    ):
        path = tmp_path / f"{name}.{suffix}"
        make(path)
        with limited(), pytest.raises(OSError, match=f"not a regular file.*{name}"):
            read(path)
