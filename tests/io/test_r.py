"""Files of the R package evclust: reading, writing, and damaged files."""

import bz2
import gzip
import lzma
import sys

import numpy as np
import pytest

from dempster import CredalPartition, FocalSets
from dempster._errors import InvalidInputError
from dempster.io import read_r, write_r
from dempster.io.r import write_rds
from tests.conftest import REFERENCE

rdata = pytest.importorskip("rdata")

# saveRDS(list(mass = matrix(c(0, 0.5, 1, 0.5), 2, dimnames = list(c("a", "\u00e9"), NULL)), F =
# matrix(c(0L, 1L), 2, dimnames = list(NULL, "x"))), file, compress = FALSE)
R_FILE = b"".join(
    [
        b"X\n",
        bytes.fromhex("00000003 00040202 00030500 00000005") + b"UTF-8",
        bytes.fromhex("00000213 00000002"),  # a list of two with attributes
        bytes.fromhex("0000020e 00000004")
        + np.array([0, 0.5, 1, 0.5], ">f8").tobytes(),
        bytes.fromhex("00000402 00000001 00040009 00000003")
        + b"dim"
        + bytes.fromhex("0000000d 00000002 00000002 00000002"),
        bytes.fromhex("00000402 00000001 00040009 00000008")
        + b"dimnames"
        + bytes.fromhex("00000013 00000002"),
        bytes.fromhex("00000010 00000002 00040009 00000001") + b"a",
        bytes.fromhex("00008009 00000002") + "é".encode(),
        bytes.fromhex("000000fe 000000fe"),  # no column names; end of the attributes
        bytes.fromhex("0000020d 00000002 00000000 00000001"),
        # reference to "dim"
        bytes.fromhex("00000402 000001ff 0000000d 00000002 00000002 00000001"),
        bytes.fromhex(
            "00000402 000002ff 00000013 00000002 000000fe 00000010 00000001 00040009 00000001"
        )
        + b"x",
        bytes.fromhex("000000fe"),
        bytes.fromhex("00000402 00000001 00040009 00000005") + b"names",
        bytes.fromhex("00000010 00000002 00040009 00000004")
        + b"mass"
        + bytes.fromhex("00040009 00000001")
        + b"F",
        bytes.fromhex("000000fe"),
    ]
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "clus.rds"


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_read_a_file_of_r(pack, path):
    path.write_bytes(pack(R_FILE))
    partition = read_r(path)
    assert partition.masses.tolist() == [[0, 1], [0.5, 0.5]]
    assert list(partition.index) == ["a", "é"]
    assert partition.frame == ("x",)
    assert partition.focal_sets.membership.tolist() == [[False], [True]]


@pytest.mark.parametrize(
    "partition",
    [
        CredalPartition([[0, 1, 0, 0], [0.1, 0.2, 0.3, 0.4]], FocalSets.full(2)),
        CredalPartition(
            [[0.5, 0.5], [1, 0]], FocalSets.full(1), ["u", "ö"], frame=["only"]
        ),
        CredalPartition(np.empty((0, 4)), FocalSets.full(2)),
        CredalPartition([[1, 0, 0, 0]], FocalSets.full(2)),
    ],
)
def test_round_trip(partition, path):
    write_r(partition, path)
    again = read_r(path)
    assert again.masses.tolist() == partition.masses.tolist()
    assert again.focal_sets == partition.focal_sets
    assert again.frame == partition.frame
    assert again.index is partition.index or list(again.index) == list(partition.index)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_decompression_bombs(pack, path):
    path.write_bytes(pack(R_FILE + bytes(101 << 20)))
    with pytest.raises(InvalidInputError, match="implausible"):
        read_r(path)


def test_empty_set_is_first(path):
    family = FocalSets.from_sets(2, [[0], [1], [0, 1]])
    write_r(CredalPartition([[0.2, 0.3, 0.5]], family), path)
    assert read_r(path).masses.tolist() == [[0, 0.2, 0.3, 0.5]]
    write_r(
        CredalPartition([[0.2, 0.3, 0.5]], FocalSets.from_sets(2, [[0], [], [1]])), path
    )
    assert read_r(path).masses.tolist() == [[0.3, 0.2, 0.5]]


def test_components_equal_those_of_evclust(path):
    files = sorted(REFERENCE.glob("extractmass_*.npz"))
    assert len(files) == 3
    for file in files:
        with np.load(file) as wanted:
            write_r(CredalPartition(wanted["mass"], FocalSets(wanted["F"] == 1)), path)
            with pytest.warns(UserWarning, match="credpart"):
                found = rdata.read_rds(path)
            for name in (
                "conf",
                "mass.n",
                "pl",
                "pl.n",
                "bel",
                "bel.n",
                "p",
                "betp",
                "betp.n",
                "N",
            ):
                value = np.asarray(found[name]).reshape(
                    wanted[name.replace(".", "_")].shape
                )
                np.testing.assert_allclose(
                    value, wanted[name.replace(".", "_")], rtol=1e-9, atol=1e-12
                )
            clear = {
                name: wanted[f"{name}_tied"] == 0 for name in ("y_pl", "y_bel", "Y")
            }
            for name, untied in (("y.pl", clear["y_pl"]), ("y.bel", clear["y_bel"])):
                assert (found[name][untied] - 1).tolist() == wanted[
                    name.replace(".", "_")
                ][untied].tolist()
            assert found["Y"][clear["Y"]].tolist() == wanted["Y"][clear["Y"]].tolist()
            assert (
                found["Ynd"][clear["y_bel"]].tolist()
                == wanted["Ynd"][clear["y_bel"]].tolist()
            )
            for k, members in enumerate(found["upper.approx"]):
                expected = np.flatnonzero(wanted["upper_approx"][:, k])
                assert set(members - 1) ^ set(expected) <= set(
                    np.flatnonzero(~clear["Y"])
                )


def assert_rejected(path):
    with pytest.raises(ValueError, match=path.name) as caught:
        read_r(path)
    assert "\n" not in str(caught.value)


def test_files_without_a_partition(path):
    write_rds(np.arange(3.0), path)
    assert_rejected(path)
    write_rds({"mass": np.ones(2), "F": np.ones(3)}, path)
    assert_rejected(path)
    write_rds({"mass": np.ones(2), "F": np.full(1, 2.0)}, path)
    assert_rejected(path)
    for data in (b"", b"A\n2\n", b"RDX3\nX\n"):
        path.write_bytes(data)
        assert_rejected(path)
    path.write_bytes(b"X\n" + bytes.fromhex("00000002 00040202 00030500 00000003"))
    assert_rejected(path)
    with pytest.raises(TypeError, match="partition must be"):
        write_r([[1, 0]], path)


def test_truncated_files(path):
    for pack in (bytes, gzip.compress):
        whole = pack(R_FILE)
        for length in range(0, len(whole), 5):
            path.write_bytes(whole[:length])
            assert_rejected(path)


def test_corrupted_files(path):
    rng = np.random.default_rng(0)
    for _ in range(300):
        changed = bytearray(R_FILE)
        for place in rng.integers(len(changed), size=2):
            changed[place] = rng.integers(256)
        path.write_bytes(changed)
        try:
            read_r(path)
        except ValueError:
            continue


def test_length_of_a_damaged_vector(path):
    path.write_bytes(
        b"X\n" + bytes.fromhex("00000002 00040202 00030500 0000000e 7fffffff")
    )
    assert_rejected(path)


def test_without_rdata(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdata", None)
    path.write_bytes(R_FILE)
    with pytest.raises(ImportError, match=r"read_r needs rdata.*dempster\[r\]"):
        read_r(path)
    with pytest.raises(ImportError, match=r"write_r needs rdata"):
        write_r(CredalPartition([[0, 1]], FocalSets.full(1)), path)
