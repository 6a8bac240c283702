"""``dempster cluster`` on Parquet files that are read in blocks."""

import errno

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.preprocessing import StandardScaler

from dempster.apps.cli import cluster_blocks
from dempster.apps.cli.cluster import cluster
from dempster.apps.cli.shared.errors import UserError
from dempster.cluster import ECM
from dempster.io import read_partition
from dempster.persistence import load

pytest.importorskip("pyarrow")

CENTERS = np.array([[0.0, 0.0], [900.0, 0.0], [300.0, 5.0]])
NUMBERS = CENTERS[np.arange(600) % 3] + np.random.default_rng(0).normal(
    size=(600, 2)
) * [60, 0.5]
TABLE = pd.DataFrame(NUMBERS, columns=["a", "b"]).assign(
    name="x", same=7, n=np.arange(600)
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    for k, part in enumerate(np.array_split(np.arange(600), 4)):
        TABLE.iloc[part].to_parquet(tmp_path / "in" / f"{k}.parquet")
    TABLE.to_parquet(tmp_path / "one.parquet")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(
        cluster, [str(a) for a in (*arguments, "-c", 3, "--method", "ecm")]
    )


@pytest.mark.parametrize("name", ["in", "one.parquet"])
def test_folder_of_masses(folder, name):
    done = run(folder / name, "-o", folder / "out", "--exclude", "n", "-v")
    assert done.exit_code == 0, done.output
    assert "ECM, 3 clusters: 600 objects, 2 attributes (standardized)" in done.output
    assert "left out columns that are not numeric: name" in done.output
    assert "left out constant columns: same" in done.output
    (path,) = (folder / "out").iterdir()
    found = read_partition(path)
    expected = (
        ECM(3, random_state=0)
        .fit(StandardScaler().fit_transform(NUMBERS))
        .credal_partition_
    )
    np.testing.assert_allclose(found.masses, expected.masses, atol=1e-6)


def test_save_model_and_config(folder):
    outputs = "--save-model", folder / "m.dempster", "--save-config", folder / "r.toml"
    done = run(folder / "in", "-o", folder / "out", "--exclude", "n", *outputs)
    assert done.exit_code == 0, done.output
    model = load(folder / "m.dempster")
    written = read_partition(next((folder / "out").iterdir()))
    np.testing.assert_array_equal(model.predict_mass(TABLE).masses, written.masses)
    again = CliRunner().invoke(
        cluster, ["--config", str(folder / "r.toml"), "-o", str(folder / "again")]
    )
    assert again.exit_code == 0, again.output
    np.testing.assert_array_equal(
        read_partition(next((folder / "again").iterdir())).masses, written.masses
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--plot", "a.png"],
            "--plot cannot be used with a table that is read in blocks",
        ),
        (
            ["--confidence", "0.9"],
            "--confidence cannot be used with a table that is read in blocks",
        ),
        (["--save-model", "m.txt"], "--save-model: the extension must be .dempster"),
        (["--columns", "z"], "no column 'z'"),
        (["--columns", "name"], "--columns: column 'name' is not numeric"),
        (["--columns", "same"], "all columns are constant"),
        (["--columns", "a", "--exclude", "a"], "no numeric column"),
    ],
)
def test_errors_leave_no_folder(folder, arguments, words):
    done = run(folder / "in", "-o", folder / "out", *arguments)
    assert isinstance(done.exception, UserError)
    assert words in str(done.exception)
    assert not (folder / "out").exists()


def test_full_disk_leaves_no_folder(folder, monkeypatch):
    def full(model, path):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(cluster_blocks, "save", full)
    done = run(
        folder / "in", "-o", folder / "out", "--save-model", folder / "m.dempster"
    )
    assert "no file was changed" in str(done.exception)
    assert {path.name for path in folder.iterdir()} == {"in", "one.parquet"}


def test_folder_with_files_or_missing_values(folder):
    assert "must be new or empty" in str(
        run(folder / "one.parquet", "-o", folder / "in").exception
    )
    TABLE.assign(a=np.nan).to_parquet(folder / "in" / "2.parquet")
    done = run(folder / "in", "-o", folder / "out", "--exclude", "n")
    assert "in column a" in str(done.exception)
    assert not list(folder.glob(".out*"))


def test_dask(folder, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(cluster_blocks, "DASK_TIMEOUT", 1)
    expected = run(folder / "in", "-o", folder / "here", "--exclude", "n")
    with distributed.LocalCluster(
        n_workers=1, processes=False, dashboard_address=None
    ) as cluster:
        done = run(
            folder / "in",
            "-o",
            folder / "there",
            "--exclude",
            "n",
            "--dask",
            cluster.scheduler_address,
        )
    assert done.exit_code == 0, done.output
    tables = [
        np.concatenate(
            [read_partition(f).masses for f in sorted((folder / n).iterdir())]
        )
        for n in ("here", "there")
    ]
    np.testing.assert_allclose(*tables, atol=1e-8)
    assert expected.exit_code == 0
    failed = run(folder / "in", "-o", folder / "nowhere", "--dask", "tcp://127.0.0.1:1")
    assert "cannot connect to a Dask cluster at tcp://127.0.0.1:1" in str(
        failed.exception
    )
    one = run(folder / "one.parquet", "-o", folder / "a.csv", "--dask")
    assert "--dask needs a Parquet FILE" in str(one.exception)
