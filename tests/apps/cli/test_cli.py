"""``dempster cluster``: output, files and errors."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dempster
from dempster.apps.cli import COMMANDS, program
from dempster.cluster import ECM
from dempster.io import read_partition

EXECUTABLE = Path(sys.executable).parent / "dempster"


def blobs(n=60, seed=0):
    """Return three groups in columns of different scales, with an ambiguous object and an outlier."""
    rng = np.random.default_rng(seed)
    centers = np.array([[0, 0, 0], [8, 0, 0], [0, 8, 0]])
    X = centers[np.arange(n) % 3] + rng.normal(size=(n, 3))
    X[-2:] = [[4, 0, 0], [40, 40, 0]]
    return pd.DataFrame(X * [1, 100, 1], columns=["length", "width", "depth"]).round(6)


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    blobs().to_csv(path, index=False)
    return path


def run(*arguments):
    return CliRunner().invoke(
        program, [str(a) for a in arguments], prog_name="dempster"
    )


def cluster(*arguments):
    if "--method" in arguments:
        method = ()
    else:
        method = ("--method", "ecm")
    return run("cluster", *arguments, *method, "--n-init", 2)


def file_names(folder):
    return sorted(path.name for path in folder.iterdir())


# ---- the executable ------------------------------------------------------------------------------


def test_version_and_help():
    version = subprocess.run(
        [EXECUTABLE, "--version"], capture_output=True, text=True, check=True
    )
    assert version.stdout.strip() == f"dempster {dempster.__version__}"
    text = run("--help").stdout
    assert "cluster" in text
    assert "dempster example flowers.csv" in text
    assert run().stdout == text
    for command in COMMANDS:
        result = run(command, "--help")
        assert result.exit_code == 0
        assert len(result.stdout.splitlines()) > 5


def test_help_needs_no_heavy_imports():
    heavy = ["pandas", "sklearn", "scipy", "matplotlib", "torch", "pyarrow"]
    for command in ("--help", "cluster --help", "cluster --method ecm --help"):
        code = (
            f"import sys; from dempster.apps.cli import program; sys.argv[1:] = {command.split()}\n"
            f"try: program.main()\nexcept SystemExit: print([name for name in {heavy} if name in sys.modules])"
        )
        found = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert found.stdout.splitlines()[-1] == "[]", command


def test_progress_on_a_terminal(data):
    pty, termios = (
        pytest.importorskip(name, reason="no terminals on Windows")
        for name in ("pty", "termios")
    )
    master, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 100))
    # This is long enough for progress to be shown.
    command = [
        EXECUTABLE,
        "cluster",
        data.name,
        "-c",
        "3",
        "--method",
        "evclus",
        "--n-init",
        "2000",
    ]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=terminal,
        text=True,
        cwd=data.parent,
        check=True,
    )
    os.close(terminal)
    shown = _read_terminal(master)
    assert "starts" in shown
    assert "objective" in shown
    lines = done.stdout.splitlines()
    assert lines[0].startswith(
        "EVCLUS, 3 clusters: 60 objects, 3 attributes (standardized), objective "
    )
    assert lines[0].endswith(" s")
    assert lines[1] == "columns: length, width, depth"
    assert lines[2] == ""
    assert lines[3].split() == ["certain", "possible", "typical", "object"]
    assert any(line.startswith("outliers") and "59" in line.split() for line in lines)
    assert lines[-1] == "wrote data.partition.csv"
    assert file_names(data.parent) == ["data.csv", "data.partition.csv"]
    assert len(read_partition(data.parent / "data.partition.csv")) == 60


def _read_terminal(master):
    chunks = []
    try:
        while chunk := os.read(master, 1 << 16):
            chunks.append(chunk)
    except OSError:  # raised by Linux at the end
        pass
    os.close(master)
    return b"".join(chunks).decode()


def restore_interrupts():
    # The tests may run where interrupts are ignored, and child processes inherit this.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_interrupt(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "large.npy", rng.normal(size=(20_000, 5)))
    command = [
        EXECUTABLE,
        "cluster",
        "large.npy",
        "-c",
        "8",
        "--n-init",
        "10000",
        "--focal-sets",
        "pairs",
    ]
    command += [
        "--labels",
        "labels.csv",
        "--save-model",
        "m.dempster",
        "--plot",
        "p.png",
        "--save-config",
        "r.toml",
    ]
    (tmp_path / "labels.csv").write_text("row,label\n0,a\n1,b\n2,a\n3,b\n")
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        preexec_fn=restore_interrupts,
    )
    try:
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, rest = process.communicate(timeout=60)
    finally:
        process.kill()
    assert first.startswith("note: 4 rows of 20,000 with a known label")
    assert rest == "dempster: interrupted\n"
    assert out == ""
    assert process.returncode == 130
    assert file_names(tmp_path) == ["labels.csv", "large.npy"]


# ---- results -------------------------------------------------------------------------------------


def test_partition_equals_that_of_the_estimator(data):
    result = cluster(
        data,
        "-c",
        3,
        "--seed",
        5,
        "--no-scale",
        "--delta",
        900,
        "--focal-sets",
        "full",
    )
    assert result.exit_code == 0, result.output
    expected = ECM(3, delta=900, n_init=2, random_state=5, focal_sets="full").fit(
        blobs()
    )
    read = read_partition(data.with_name("data.partition.csv"))
    np.testing.assert_array_equal(read.masses, expected.credal_partition_.masses)
    assert read.focal_sets == expected.focal_sets_
    assert str(expected.credal_partition_.summary()) in result.stdout
    assert "3 attributes, objective" in result.stdout


@pytest.mark.parametrize(
    "suffix", ["csv", "csv.gz", "tsv", "txt", "parquet", "feather", "npy"]
)
def test_input_formats(tmp_path, suffix):
    table = blobs()
    path = tmp_path / f"data.{suffix}"
    {
        "csv": lambda: table.to_csv(path, index=False),
        "csv.gz": lambda: table.to_csv(path, index=False),
        "tsv": lambda: table.to_csv(path, index=False, sep="\t"),
        "txt": lambda: table.to_csv(path, index=False, sep=" "),
        "parquet": lambda: table.to_parquet(path),
        "feather": lambda: table.to_feather(path),
        "npy": lambda: np.save(path, table.to_numpy()),
    }[suffix]()
    assert cluster(path, "-c", 3).exit_code == 0
    scaled = (table.to_numpy() - table.to_numpy().mean(axis=0)) / table.to_numpy().std(
        axis=0
    )
    expected = ECM(3, n_init=2, random_state=0).fit(scaled).credal_partition_.masses
    # Means of columns may be summed in another order.
    np.testing.assert_allclose(
        read_partition(tmp_path / "data.partition.csv").masses,
        expected,
        rtol=0,
        atol=1e-12,
    )


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_output_formats(data, suffix):
    output = data.with_name(f"out.{suffix}")
    result = cluster(data, "-c", 3, "-o", output)
    assert result.stdout.endswith(f"wrote {output}\n")
    assert cluster(data, "-c", 3).exit_code == 0
    expected = read_partition(data.with_name("data.partition.csv"))
    np.testing.assert_array_equal(read_partition(output).masses, expected.masses)


def test_same_seed_same_file(data):
    contents = []
    for seed, jobs in ((1, 1), (1, 2), (2, 1)):
        output = data.with_name("out.csv")
        assert (
            cluster(
                data, "-c", 5, "--seed", seed, "--n-jobs", jobs, "-o", output
            ).exit_code
            == 0
        )
        contents.append(output.read_bytes())
    assert contents[0] == contents[1]
    assert contents[0] != contents[2]


def test_index(tmp_path):
    table = blobs().set_axis([f"{i:03d}" for i in range(60)]).rename_axis("name")
    table.reset_index().to_csv(tmp_path / "data.csv", index=False)
    result = cluster(tmp_path / "data.csv", "-c", 3, "--index", "name")
    assert result.stderr == ""
    assert "059" in result.stdout  # the outlier
    index = read_partition(tmp_path / "data.partition.csv").index
    assert index.tolist() == table.index.tolist()
    assert index.name == "name"
    table.rename_axis(None).to_csv(tmp_path / "data.csv")
    assert "names of the rows" in cluster(tmp_path / "data.csv", "-c", 3).stderr
    assert (
        read_partition(tmp_path / "data.partition.csv").index.tolist()
        == table.index.tolist()
    )


def test_columns_and_exclude(data):
    assert "2 attributes" in cluster(data, "-c", 3, "--columns", "length,width").stdout
    assert (
        "2 attributes"
        in cluster(data, "-c", 3, "--columns", "length", "--columns", "width").stdout
    )
    first = read_partition(data.with_name("data.partition.csv"))
    assert "2 attributes" in cluster(data, "-c", 3, "--exclude", "depth").stdout
    np.testing.assert_array_equal(
        read_partition(data.with_name("data.partition.csv")).masses, first.masses
    )


def test_notes_on_ignored_columns(tmp_path):
    table = blobs().assign(species="rose", always=3.0, nothing=np.nan, flag=True)
    table["nearly"] = ["many", *map(str, range(1, 60))]
    table.to_csv(tmp_path / "data.csv", index=False)
    result = cluster(tmp_path / "data.csv", "-c", 3)
    assert "3 attributes" in result.stdout
    lines = result.stderr.splitlines()
    assert lines == [
        "note: left out the columns species (text, 1 different value), nothing (empty), flag (true or false), "
        "nearly (1 cell of 60 not a number, such as 'many')",
        "note: to use 'nearly', correct the cells that are not numbers, or delete them (--na-values many)",
        "note: left out constant columns: always",
    ]
    assert cluster(tmp_path / "data.csv", "-c", 3, "-q").output == ""
    assert (
        "4 attributes," in cluster(tmp_path / "data.csv", "-c", 3, "--no-scale").stdout
    )


def test_no_header(tmp_path):
    blobs().to_csv(tmp_path / "data.csv", index=False, header=False)
    result = cluster(tmp_path / "data.csv", "-c", 3)
    assert "60 objects" in result.stdout
    assert "no header line" in result.stderr
    assert "59 objects" in cluster(tmp_path / "data.csv", "-c", 3, "--header").stdout


@pytest.mark.parametrize("method", ["evclus", "ecm", "recm"])
def test_missing_values(tmp_path, method):
    table = blobs()
    table.loc[[3, 7], "length"] = np.nan
    table.iloc[9] = np.nan
    path = tmp_path / "data.csv"
    output = tmp_path / "data.partition.csv"
    table.to_csv(path, index=False)
    failed = cluster(path, "-c", 3, "--method", method)
    assert failed.exit_code == 1
    for text in (
        "3 rows of 60 with missing values (in 'length', 'width', 'depth')",
        "--missing partial",
        "--missing drop",
    ):
        assert text in failed.stderr
    partial = cluster(
        path,
        "-c",
        3,
        "--method",
        method,
        "--missing",
        "partial",
        "--plot",
        tmp_path / "data.png",
    )
    assert "left out 1 row of 60 without any value" in partial.stderr
    assert "2 rows of 59 compared by the values that are present" in partial.stderr
    assert read_partition(output).index.tolist() == [i for i in range(60) if i != 9]
    assert (
        "left out 3 rows of 60"
        in cluster(path, "-c", 3, "--method", method, "--missing", "drop").stderr
    )
    assert read_partition(output).index.tolist() == [
        i for i in range(60) if i not in (3, 7, 9)
    ]


def test_quiet_and_verbose(data):
    assert cluster(data, "-c", 3, "--quiet").output == ""
    assert "converged after" in cluster(data, "-c", 3, "--verbose").stderr


@pytest.mark.parametrize(
    ("suffix", "columns"),
    [
        ("png", "length"),
        ("png", "length,width"),
        ("png", "length,width,depth"),
        ("svg", "length"),
        ("pdf", "length"),
    ],
)
def test_plot(data, suffix, columns):
    result = cluster(
        data, "-c", 3, "--plot", data.with_name(f"p.{suffix}"), "--columns", columns
    )
    assert result.exit_code == 0, result.output
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert data.with_name(f"p.{suffix}").read_bytes().startswith(start)
    assert file_names(data.parent) == ["data.csv", "data.partition.csv", f"p.{suffix}"]


def test_warnings_are_one_line(data):
    result = cluster(data, "-c", 3, "--max-iter", 1)
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "dempster: warning: ECM did not converge in 1 iterations (increase --max-iter 1)"
    ]
