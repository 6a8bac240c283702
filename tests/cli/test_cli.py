"""``dempster cluster`` and ``dempster demo``: output, files and errors."""

import errno
import json
import os
import pty
import signal
import subprocess
import sys
import termios
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import dempster
from dempster.apps.cli import COMMANDS, program
from dempster.apps.cli.shared.errors import describe_exception
from dempster.apps.recipe import choose_attributes
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
    return CliRunner().invoke(program, [str(a) for a in arguments], prog_name="dempster")


def cluster(*arguments):
    method = () if "--method" in arguments else ("--method", "ecm")
    return run("cluster", *arguments, *method, "--n-init", 2)


def assert_one_line(result, code, *words):
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("dempster: ")
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in lines[0]


def file_names(folder):
    return sorted(path.name for path in folder.iterdir())


# ---- the executable -------------------------------------------------------------------------------------------------


def test_version_and_help():
    version = subprocess.run([EXECUTABLE, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout.strip() == f"dempster {dempster.__version__}"
    text = run("--help").stdout
    assert "cluster" in text
    assert "demo" in text
    assert run().stdout == text
    for command, short_help in COMMANDS.items():
        result = run(command, "--help")
        assert result.exit_code == 0
        assert len(result.stdout.splitlines()) > 5
        assert program.get_command(None, command).short_help == short_help


def test_help_needs_no_heavy_imports():
    heavy = ["pandas", "sklearn", "scipy", "matplotlib", "torch", "pyarrow"]
    for command in ("--help", "cluster --help", "cluster --method ecm --help"):
        code = (
            f"import sys; from dempster.apps.cli import program; sys.argv[1:] = {command.split()}\n"
            f"try: program.main()\nexcept SystemExit: print([name for name in {heavy} if name in sys.modules])"
        )
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert found.stdout.splitlines()[-1] == "[]", command


def test_progress_on_a_terminal(data):
    master, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 100))
    command = [EXECUTABLE, "cluster", data.name, "-c", "3", "--n-init", "300"]  # long enough for progress to be shown
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=terminal, text=True, cwd=data.parent, check=True)
    os.close(terminal)
    shown = _read_terminal(master)
    assert "starts" in shown
    assert "objective" in shown
    lines = done.stdout.splitlines()
    assert lines[0].startswith("EVCLUS, 3 clusters: 60 objects, 3 attributes (standardised), stress ")
    assert ", best of 300 starts, " in lines[0]
    assert lines[0].endswith(" s")
    assert lines[1] == ""
    assert lines[2].split() == ["certain", "possible", "typical", "object"]
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
    command = [EXECUTABLE, "cluster", "large.npy", "-c", "8", "--n-init", "10000", "--focal-sets", "pairs"]
    command += ["--labels", "labels.csv", "--save-model", "m.dempster", "--plot", "p.png", "--save-config", "r.toml"]
    (tmp_path / "labels.csv").write_text("row,label\n0,a\n1,b\n2,a\n3,b\n")
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, preexec_fn=restore_interrupts
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


@pytest.mark.long
def test_demo_without_torch(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('torch is not installed')")
    code = "import sys; from dempster.apps.cli import main; sys.path.insert(0, '.'); sys.argv[1:] = ['demo']; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stderr == ""
    assert file_names(tmp_path / "demo") == ["convergence.png", "example.csv", "partition.csv", "partition.png"]
    table = pd.read_csv(tmp_path / "demo" / "example.csv")
    partition = read_partition(tmp_path / "demo" / "partition.csv")
    assert table.shape == (400, 2)
    assert len(partition) == 400
    assert partition.n_clusters == 4
    assert 0 < len(partition.outliers) < 20
    assert 0 < len(partition.ambiguous) < 200
    assert str(partition.summary()) in done.stdout
    for word in ("certain", "ambiguous", "outlier", "wrote demo/example.csv", "dempster cluster demo/example.csv"):
        assert word in done.stdout
    for name in ("partition.png", "convergence.png"):
        content = (tmp_path / "demo" / name).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) > 10_000


def test_commands_proposed_by_demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shown = run("demo", "--output", "deep/er").stdout
    proposed = [line.split("  ")[1].split() for line in shown.splitlines() if line.startswith("  dempster ")]
    assert len(proposed) == 4
    for command in proposed:
        if "--report" in command:
            pytest.importorskip("dempster.apps.report")
        assert run(*command[1:]).exit_code == 0, command


# ---- results --------------------------------------------------------------------------------------------------------


def test_partition_equals_that_of_the_estimator(data):
    result = cluster(data, "-c", 3, "--seed", 5, "--no-scale", "-p", "delta=900", "--focal-sets", "full")
    assert result.exit_code == 0, result.output
    expected = ECM(3, delta=900, n_init=2, random_state=5, focal_sets="full").fit(blobs())
    read = read_partition(data.with_name("data.partition.csv"))
    np.testing.assert_array_equal(read.masses, expected.credal_partition_.masses)
    assert read.focal_sets == expected.focal_sets_
    assert str(expected.credal_partition_.summary()) in result.stdout
    assert "3 attributes, objective" in result.stdout


def test_columns_are_standardised(data):
    cluster(data, "-c", 3)
    X = blobs()
    expected = ECM(3, n_init=2, random_state=0).fit((X - X.mean()) / X.std(ddof=0)).credal_partition_
    np.testing.assert_allclose(read_partition(data.with_name("data.partition.csv")).masses, expected.masses, atol=1e-9)


@pytest.mark.parametrize("suffix", ["csv", "csv.gz", "tsv", "txt", "parquet", "feather", "npy"])
def test_input_formats(tmp_path, suffix):
    table, path = blobs(), tmp_path / f"data.{suffix}"
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
    scaled = (table.to_numpy() - table.to_numpy().mean(axis=0)) / table.to_numpy().std(axis=0)
    expected = ECM(3, n_init=2, random_state=0).fit(scaled).credal_partition_.masses
    # Means of columns may be summed in another order.
    np.testing.assert_allclose(read_partition(tmp_path / "data.partition.csv").masses, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "npz"])
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
        assert cluster(data, "-c", 5, "--seed", seed, "--n-jobs", jobs, "-o", output).exit_code == 0
        contents.append(output.read_bytes())
    assert contents[0] == contents[1]
    assert contents[0] != contents[2]


def test_index(tmp_path):
    table = blobs()
    table.insert(1, "name", [f"{i:03d}" for i in range(len(table))])
    table.to_csv(tmp_path / "data.csv", index=False)
    result = cluster(tmp_path / "data.csv", "-c", 3, "--index", "name")
    assert result.stderr == ""
    assert "059" in result.stdout  # the outlier
    index = read_partition(tmp_path / "data.partition.csv").index
    assert index.tolist() == table["name"].tolist()
    assert index.name == "name"


def test_first_column_without_heading_is_the_index(tmp_path):
    blobs().set_axis([f"r{i}" for i in range(60)]).to_csv(tmp_path / "data.csv")
    result = cluster(tmp_path / "data.csv", "-c", 3)
    assert "names of the rows" in result.stderr
    assert "3 attributes" in result.stdout
    assert read_partition(tmp_path / "data.partition.csv").index[0] == "r0"


def test_columns_and_exclude(data):
    assert "2 attributes" in cluster(data, "-c", 3, "--columns", "length,width").stdout
    assert "2 attributes" in cluster(data, "-c", 3, "--columns", "length", "--columns", "width").stdout
    first = read_partition(data.with_name("data.partition.csv"))
    assert "2 attributes" in cluster(data, "-c", 3, "--exclude", "depth").stdout
    np.testing.assert_array_equal(read_partition(data.with_name("data.partition.csv")).masses, first.masses)


def test_quoted_names(tmp_path):
    blobs().rename(columns={"depth": "depth, in m"}).to_csv(tmp_path / "data.csv", index=False)
    assert "2 attributes" in cluster(tmp_path / "data.csv", "-c", 2, "--exclude", '"depth, in m"').stdout


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
        "note: left out constant columns: always",
    ]
    assert cluster(tmp_path / "data.csv", "-c", 3, "-q").output == ""
    assert "4 attributes," in cluster(tmp_path / "data.csv", "-c", 3, "--no-scale").stdout


def test_no_header(tmp_path):
    blobs().to_csv(tmp_path / "data.csv", index=False, header=False)
    result = cluster(tmp_path / "data.csv", "-c", 3)
    assert "60 objects" in result.stdout
    assert "no header line" in result.stderr
    assert "59 objects" in cluster(tmp_path / "data.csv", "-c", 3, "--header").stdout


def test_missing_partial(tmp_path):
    table = blobs()
    table.loc[[3, 7], "length"] = np.nan
    table.iloc[9] = np.nan
    table.to_csv(tmp_path / "data.csv", index=False)
    assert_one_line(cluster(tmp_path / "data.csv", "-c", 3), 1, "3 rows of 60 with missing", "--missing partial")
    for method in ("evclus", "ecm", "recm"):
        options = "-c", 3, "--method", method, "--missing", "partial", "--plot", tmp_path / "data.png"
        result = cluster(tmp_path / "data.csv", *options)
        assert "59 objects" in result.stdout
        assert "left out 1 row of 60 without any value" in result.stderr
        assert "2 rows of 59 compared by the values that are present" in result.stderr
    read = read_partition(tmp_path / "data.partition.csv")
    assert read.index.tolist() == [i for i in range(60) if i != 9]
    assert_one_line(cluster(tmp_path / "data.csv", "-p", "missing=partial"), 2, "use the option --missing")


def test_standardisation_ignores_missing_values():
    table = pd.DataFrame({"a": [1.0, 2.0, np.nan, 6.0], "b": [0.0, np.nan, 4.0, 8.0]})
    chosen = choose_attributes(table, missing="partial").values
    np.testing.assert_allclose(chosen.mean(), 0, atol=1e-12)
    np.testing.assert_allclose(chosen.std(ddof=0), 1)
    np.testing.assert_array_equal(chosen.isna(), table.isna())


def test_missing_drop(tmp_path):
    table = blobs()
    table.loc[[3, 7], "length"] = np.nan
    table.loc[7, "depth"] = np.nan
    table.to_csv(tmp_path / "data.csv", index=False)
    failed = cluster(tmp_path / "data.csv", "-c", 3)
    assert_one_line(
        failed, 1, "2 rows of 60 with missing values (in 'length', 'depth')", "--missing drop", "--exclude length,depth"
    )
    result = cluster(tmp_path / "data.csv", "-c", 3, "--missing", "drop")
    assert "58 objects" in result.stdout
    assert "left out 2 rows of 60" in result.stderr
    read = read_partition(tmp_path / "data.partition.csv")
    assert read.index.tolist() == [i for i in range(60) if i not in (3, 7)]


def test_quiet_and_verbose(data):
    assert cluster(data, "-c", 3, "--quiet").output == ""
    shown = cluster(data, "-c", 3, "--verbose").stderr
    assert "clustered by length, width, depth" in shown
    assert "converged after" in shown


@pytest.mark.parametrize(
    ("suffix", "columns"),
    [("png", "length"), ("png", "length,width"), ("png", "length,width,depth"), ("svg", "length"), ("pdf", "length")],
)
def test_plot(data, suffix, columns):
    result = cluster(data, "-c", 3, "--plot", data.with_name(f"p.{suffix}"), "--columns", columns)
    assert result.exit_code == 0, result.output
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    assert data.with_name(f"p.{suffix}").read_bytes().startswith(start)
    assert file_names(data.parent) == ["data.csv", "data.partition.csv", f"p.{suffix}"]


def test_warnings_are_one_line(data):
    result = cluster(data, "-c", 3, "--max-iter", 1)
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [
        "dempster: warning: ECM did not converge in max_iter=1 iterations; increase max_iter or tol"
    ]


def test_parameters_reach_the_method(data):
    output = data.with_name("out.npz")
    assert cluster(data, "-c", 3, "-p", "metric=adaptive", "-p", "alpha=2", "-o", output).exit_code == 0
    parameters = read_partition(output).metadata["parameters"]
    assert parameters["metric"] == "adaptive"
    assert parameters["alpha"] == 2
    assert json.dumps(parameters)


# ---- failures -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-c", "0"], "must be an integer of at least 1, got 0"),
        (["-c", "x"], "must be an integer of at least 1, got 'x'"),
        (["-c", "2.5"], "integer"),
        (["-c", "61"], "-c must be at most the number of rows, 60, got 61"),
        (["-c", "3", "--columns", "length,height"], "--columns: there is no column 'height'; the columns are 'length'"),
        (["-c", "3", "--exclude", "height"], "--exclude: there is no column 'height'"),
        (["-c", "3", "--exclude", "length,width,depth"], "no numeric column"),
        (["-c", "3", "--index", "name"], "--index: data.csv has no column 'name'"),
        (["-c", "3", "--seed", "-1"], "integer of at least 0"),
        (["-c", "3", "--n-jobs", "0"], "nonzero"),
        (["-c", "3", "--n-init", "0"], "at least 1"),
        (["-c", "3", "--method", "magic"], "must be one of bootclus"),
        (["-c", "3", "--focal-sets", "some"], "--focal-sets must be 'auto'"),
        (["-c", "3", "--delta", "3"], "method evclus has no option --delta; bpec"),
        (["-c", "3", "--method", "eknnclus"], "-c: method eknnclus selects the number of clusters itself; use -c auto"),
        (["-c", "3", "--method", "ecm", "--constraints", "p.csv"], "--constraints: method ecm cannot use constraints"),
        (["-c", "3", "--save-model", "m.pkl"], "--save-model: the extension must be .dempster"),
        (["-c", "3", "--config", "x.toml"], "x.toml: No such file"),
        (["-c", "3", "-p", "delta"], "-p must have the form name=value"),
        (["-c", "3", "--method", "ecm", "-p", "gamma=1"], "no such parameter; it has n_clusters, focal_sets"),
        (["-c", "3", "-p", "random_state=1"], "use the option --seed"),
        (["-c", "3", "-p", "n_init=1", "--n-init", "2"], "n_init is given twice"),
        (["-c", "3", "--method", "ecm", "-p", "beta=1"], "a number above 1 and at most 50"),
        (["-c", "3", "-o", "out.xlsx"], "--output: the extension must be one of .csv, .tsv, .parquet, .npz"),
        (["-c", "3", "-o", "nowhere/out.csv"], "there is no folder nowhere"),
        (["-c", "3", "-o", "data.csv/out.csv"], "there is no folder data.csv"),
        (["-c", "3", "-o", "folder.csv"], "it is a folder"),
        (["-c", "3", "-o", "data.csv"], "would overwrite the input"),
        (["-c", "3", "-o", "./folder.csv/../data.csv"], "would overwrite the input"),
        (["-c", "3", "--plot", "p.doc"], "--plot: the extension must be one of"),
        (["-c", "3", "--plot", "nowhere/p.png"], "there is no folder"),
        (["-c", "3", "--unknown"], "no such option"),
    ],
)
def test_invalid_options(data, monkeypatch, arguments, words):
    monkeypatch.chdir(data.parent)
    Path("folder.csv").mkdir()
    result = run("cluster", "data.csv", *arguments)
    is_about_files = any(text in words for text in ("no folder", "is a folder", "No such file", "no numeric"))
    assert_one_line(result, 1 if is_about_files else 2, words)
    assert file_names(data.parent) == ["data.csv", "folder.csv"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("missing.csv", None, "missing.csv: No such file or directory"),
        ("empty.csv", b"", "empty"),
        ("header.csv", b"a,b\n", "no rows"),
        ("garbage.csv", bytes(range(256)) * 9, "cannot read garbage.csv"),
        ("garbage.parquet", bytes(range(256)) * 9, "cannot read garbage.parquet"),
        ("garbage.npy", bytes(range(256)) * 9, "cannot read garbage.npy"),
        ("ragged.csv", b"a,b\n1,2\n3,4,5,6\n", "cannot read ragged.csv"),
        ("text.csv", b"a,b\nx,y\nz,u\n", "no numeric column to cluster; left out: a (text"),
        ("missing-values.csv", b"a,b\n1,\n2,3\n4,5\n", "1 row of 3 with missing values (in 'b')"),
        ("infinite.csv", b"a,b\n1,inf\n2,3\n4,5\n", "1 row of 3 with infinite values (in 'b')"),
        ("constant.csv", b"a,b\n1,2\n1,2\n1,2\n", "constant"),
        ("huge.csv", b"a\n1e308\n-1e308\n1e308\n", "column 'a' cannot be standardised"),
        ("same.csv", b"a,b\n1,2\n1,2\n2,3\n", "different objects"),
        ("table.xlsx", b"PK", "cannot read table.xlsx"),
        ("table.ods", b"PK", "extension must be one of"),
    ],
)
def test_invalid_tables(tmp_path, name, content, words):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    before = file_names(tmp_path)
    assert_one_line(cluster(tmp_path / name, "-c", 3), 2 if "different objects" in words else 1, words)
    assert file_names(tmp_path) == before


def test_invalid_folder_rows_and_columns(tmp_path):
    assert_one_line(run("cluster", tmp_path, "-c", 3), 1, "is a folder")
    (tmp_path / "data.csv").write_text("a,b\n1,\n,2\n")
    assert_one_line(run("cluster", tmp_path / "data.csv", "-c", 1, "--missing", "drop"), 1, "would leave no row")
    blobs().assign(species="rose").to_csv(tmp_path / "data.csv", index=False)
    result = run("cluster", tmp_path / "data.csv", "-c", 2, "--columns", "length,species")
    assert_one_line(result, 2, "--columns: column 'species' is not numeric")


def test_folder_is_not_writable(data, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert_one_line(cluster(data, "-c", 3), 1, "not writable")


def test_file_is_not_readable(data, monkeypatch):
    if os.geteuid() == 0:  # root can read every file
        monkeypatch.setattr("dempster.io.atomic.open", _deny, raising=False)
    else:
        data.chmod(0)
    assert_one_line(cluster(data, "-c", 3), 1, "data.csv: Permission denied")


def _deny(path, *args, **keywords):
    raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


@pytest.mark.parametrize("which", ["fsync", "replace"])
@pytest.mark.parametrize("command", ["cluster", "demo"])
def test_full_disk_leaves_no_file(data, monkeypatch, which, command):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    data.with_name("out.csv").write_text("former")
    monkeypatch.setattr(os, which, full)
    if command == "cluster":
        output = data.with_name("out.csv")
        result = cluster(data, "-c", 3, "-o", output, "--plot", data.with_name("p.png"))
    else:
        result = run("demo", "--output", data.with_name("demo") / "deep")
    assert_one_line(result, 1, "cannot write", "No space left on device")
    assert file_names(data.parent) == ["data.csv", "out.csv"]
    assert data.with_name("out.csv").read_text() == "former"


@pytest.mark.parametrize("where", ["fit", "write", "draw", "rename"])
def test_interrupt_leaves_no_file(data, monkeypatch, where):
    def interrupt(*args, **keywords):
        raise KeyboardInterrupt

    name = {
        "fit": "dempster.cluster.ECM.fit",
        "write": "dempster.io.write_partition",
        "draw": "dempster.plot.CredalPartitionDisplay.from_partition",
        "rename": "os.fsync",
    }[where]
    monkeypatch.setattr(name, interrupt)
    assert_one_line(cluster(data, "-c", 3, "--plot", data.with_name("p.png")), 130, "dempster: interrupted")
    assert file_names(data.parent) == ["data.csv"]


def test_no_file_is_written_if_the_plot_fails(data, monkeypatch):
    def fail(*args, **keywords):
        raise RuntimeError("no picture\nin two lines")

    monkeypatch.setattr("dempster.plot.CredalPartitionDisplay.from_partition", fail)
    result = cluster(data, "-c", 3, "--plot", data.with_name("p.png"))
    assert_one_line(result, 70, "internal error, RuntimeError: no picture in two lines", "DEMPSTER_DEBUG=1")
    assert file_names(data.parent) == ["data.csv"]


def test_traceback_on_request(data, monkeypatch):
    monkeypatch.setenv("DEMPSTER_DEBUG", "1")
    result = run("cluster", data.with_name("missing.csv"), "-c", 3)
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("dempster: ")


def test_unknown_command_and_option():
    assert_one_line(run("clutser"), 2, "no such command 'clutser'", "--help")
    assert_one_line(run("--nonsense"), 2, "no such option")


def test_demo_folder_is_a_file(data):
    assert_one_line(run("demo", "--output", data), 1, "is a file, it must be a folder")
    assert file_names(data.parent) == ["data.csv"]


def test_parquet_output_without_pyarrow(data, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert_one_line(cluster(data, "-c", 3, "-o", data.with_name("p.parquet")), 1, "dempster[parquet]")


def test_exit_codes_of_exceptions():
    assert describe_exception(MemoryError()) == (1, "not enough memory")
    assert describe_exception(OSError("odd")) == (1, "odd")
    assert describe_exception(ZeroDivisionError("x"))[0] == 70
