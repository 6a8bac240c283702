"""Errors and special cases: one line for each error, no lost files, and names with any character."""

import errno
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dempster import CredalPartition
from dempster.apps.cli import program
from dempster.apps.cli.cluster import cluster
from dempster.apps.cli.shared.errors import describe_exception
from dempster.apps.cli.shared.options import build_recipe
from dempster.apps.recipe import Recipe, read_labels
from dempster.cluster import ECM
from dempster.io import write_partition
from dempster.persistence import save
from tests.limits import limited

LONG = pytest.mark.long
X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat(
    [[0, 0], [9, 0], [0, 9]], 20, axis=0
)
TABLES = {
    "empty.csv": b"",
    "header.csv": b"a,b\n",
    "garbage.csv": bytes(range(256)) * 9,
    "garbage.parquet": bytes(range(256)) * 9,
    "ragged.csv": b"a,b\n1,2\n3,4,5,6\n",
    "text.csv": b"a,b\nx,y\nz,u\n",
    "missing-values.csv": b"a,b\n1,\n2,3\n4,5\n",
    "no-complete-row.csv": b"a,b\n1,\n,2\n",
    "infinite.csv": b"a,b\n1,inf\n2,3\n4,5\n",
    "constant.csv": b"a,b\n1,2\n1,2\n1,2\n",
    "one-row.csv": b"a,b\n1,2\n",
    "huge.csv": b"a\n1e308\n-1e308\n1e308\n",
    "same.csv": b"a,b\n1,2\n1,2\n2,3\n",
    "edges.csv": b"from,to,weight\n1,2,3\n2,3,x\n",
    "asymmetric.csv": b"0,1,2\n1,0,3\n4,3,0\n",
    "table.xlsx": b"PK",
    "table.ods": b"PK",
    "control.csv": b"a\x1b[31m,b\nx,y\nz,u",
    "binary.toml": b"\xff\x00",
    "one-object.csv": b"object,other,answer\n1,1,different\n",
}


def table(**columns):
    return pd.DataFrame(X, columns=["a", "b"]).assign(**columns)


def run(*arguments):
    return CliRunner().invoke(
        program, [str(a) for a in arguments], prog_name="dempster"
    )


def assert_error(result, code, *texts):
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("dempster: ")
    assert "Traceback" not in line
    assert "\x1b" not in line
    for text in texts:
        assert text in line


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with tables, partitions, a model, dissimilarities and an image."""
    path = tmp_path_factory.mktemp("files")
    kinds = np.repeat(["x", "y", "z"], 20)
    table(kind=kinds).to_csv(path / "t.csv", index=False)
    table(kind=kinds).to_parquet(path / "t.parquet")
    table()[["a"]].to_csv(path / "less.csv", index=False)
    table(name=[f"z{k}" for k in range(60)]).to_csv(path / "other.csv", index=False)
    pd.DataFrame({"kind": kinds}).to_csv(path / "labels.csv", index=False)
    np.save(path / "d.npy", np.sqrt(((X[:, None] - X) ** 2).sum(axis=2)))
    np.save(path / "i.npy", np.arange(60.0).reshape(6, 5, 2))
    partition = ECM(3, n_init=1, random_state=0).fit(table()).credal_partition_
    names = ["a", "a", *map(str, range(58))]
    write_partition(partition, path / "p.csv")
    for name, index in (("twins", names), ("mirrored", names[::-1])):
        twins = CredalPartition(partition.masses, partition.focal_sets, index)
        write_partition(twins, path / f"{name}.csv")
    save(ECM(3, n_init=1, random_state=0).fit(table()), path / "array.dempster")
    outputs = "--save-model", path / "m.dempster", "-o", path / "q.csv"
    assert (
        run("cluster", path / "t.csv", "-c", 3, "--method", "ecm", *outputs).exit_code
        == 0
    )
    for name, content in TABLES.items():
        (path / name).write_bytes(content)
    (path / "folder.csv").mkdir()
    return path


@pytest.fixture
def folder(files, tmp_path, monkeypatch):
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    os.mkfifo(tmp_path / "pipe.toml")
    monkeypatch.chdir(tmp_path)
    return tmp_path


# The exit code is 2 for a wrong command line and 1 for invalid data or files.
WRONG_USE = {
    "clutser": "no such command 'clutser'; did you mean cluster? (see 'dempster --help')",
    "x": "no such command 'x' (see 'dempster --help')",
    "--nonsense": "no such option",
    "cluster t.csv --unknown": "no such option",
    # empty paths, which would be the current folder
    "cluster ''": "FILE must not be an empty name",
    "predict m.dempster ''": "must not be an empty name",
    "report ''": "must not be an empty name",
    "classify t.csv --target kind --new ''": "'--new': must not be an empty name",
    "cluster t.csv --append ''": "'--append': must not be an empty name",
    # numbers
    "cluster t.csv -c 0": "0 is not in the range x>=1",
    "cluster t.csv -c x": "'x' is not a valid integer range",
    "cluster t.csv -c 61": "-c must be at most the number of rows, 60, got 61",
    "cluster t.csv --seed -1": "-1 is not in the range 0<=x<=",
    "cluster t.csv -c 3 --n-jobs 0": "nonzero",
    "cluster t.csv -c 3 --method evclus --n-init 0": "at least 1",
    "cluster t.csv -c 3 --method ecm --beta 1": "a number above 1 and at most 50",
    "cluster t.csv -c 3 --method ecm --delta 1e200": "delta",
    "cluster t.parquet -o masses -c 3 --method ecm --beta 1": "--beta must be 'auto' or a number above 1",
    "classify t.csv --target kind --cv 1": "--cv must be 0 or at least 2, got 1",
    "classify t.csv --target kind --reject nan": "--reject must be None or a number of at least 0, got nan",
    "classify t.csv --target kind --reject -1": "--reject must be None or a number of at least 0, got -1.0",
    "cluster same.csv -c 3 --method ecm": "different objects",
    # methods and their parameters
    "cluster t.csv --method magic": "'magic' is not one of 'bootclus'",
    "cluster t.csv -c 3 --method evclus --focal-sets some": "--focal-sets must be 'auto'",
    "cluster t.csv -c 3 --delta 3": "method credal has no option --delta; methods with this option: bpec",
    "cluster t.csv -c 3 --method eknnclus": "-c: method eknnclus selects the number of clusters itself (-c auto)",
    "cluster t.csv --method ecm --constraints p.csv": "--constraints: method ecm cannot use constraints",
    "cluster t.csv --confidence 1": "'--confidence': 1.0 is not in the range 0<x<1",
    "cluster t.csv --confidence 0.8 --labels kind": "--confidence: sets of clusters cannot be computed with",
    "cluster d.npy --dissimilarities --confidence 0.8": "--confidence: the files contain dissimilarities",
    "cluster t.csv --method ecm --gamma 1": "method ecm has no option --gamma",
    # columns
    "cluster t.csv --columns a,height": "--columns: the table has no column 'height'; it has 'a'",
    "cluster t.csv --columns a\nb": "--columns: the table has no column 'a b'",
    "cluster t.csv --columns a,kind": "--columns: column 'kind' is not numeric",
    "cluster t.csv --exclude height": "--exclude: the table has no column 'height'",
    "cluster t.csv --index name": "--index: t.csv has no column 'name'",
    "cluster t.csv --truth none": "--truth: the table has no column 'none'; it has 'a', 'b', 'kind'",
    "cluster t.csv --truth ''": "--truth must not be an empty name",
    "classify t.csv --target none": "--target: the table has no column 'none'",
    "report p.csv t.csv --truth none": "--truth: the table has no column 'none'",
    # options of a table without a table
    "cluster d.npy --dissimilarities --columns a": "--columns: the files contain dissimilarities",
    "cluster d.npy --dissimilarities --metric cosine": "the files contain dissimilarities, so metric cannot be set",
    "cluster d.npy --dissimilarities --truth kind": "--truth: the table has no column 'kind'; it has none",
    "cluster d.npy --dissimilarities --method ecm": "--dissimilarities: method ecm cannot use dissimilarities",
    "cluster i.npy --method secm --dissimilarities": "--dissimilarities: method secm cannot use dissimilarities",
    "cluster i.npy --method secm --truth t.csv": "--truth: the file is an image",
    "cluster i.npy --method secm --index a": "--index: the file is an image",
    "report p.csv --index a": "--index needs the argument TABLE",
    # outputs
    "cluster t.csv --save-model m.pkl": "--save-model: the extension must be .dempster, got .pkl",
    "cluster t.csv -o out.xlsx": "--output: the extension must be .csv, .tsv or .parquet",
    "cluster t.csv --plot p.doc": "--plot: the extension must be .png, .svg or .pdf",
    "ask t.csv -c 2 --partition new.doc": "--partition: the extension",
    "ask t.csv -c 2 --save-config run.doc": "--save-config: the extension",
    "cluster t.csv -o t.csv": "would overwrite the input",
    "cluster t.csv -o ./folder.csv/../t.csv": "would overwrite the input",
    "cluster t.csv --labels labels.csv -o labels.csv": "would overwrite the input",
    "cluster t.csv --truth labels.csv -o labels.csv": "would overwrite the input",
    "cluster t.csv --constraints labels.csv -o labels.csv": "would overwrite the input",
    "ask t.csv -c 2 --answers labels.csv --partition labels.csv": "would overwrite the input",
    "classify t.csv --target labels.csv -o labels.csv": "would overwrite the input",
    "cluster t.csv -c 3 --labels a": "--labels: 60 of 60 known labels are different; use",
    "classify t.csv --target a": "--target: 60 of 60 known labels are different; use",
    "explain p.csv t.csv --pair 1,1": "--pair must name two different clusters, got '1,1'",
}
INVALID_FILES = {
    "cluster missing.csv": "missing.csv: No such file or directory",
    "cluster .": "folder",
    "cluster t.csv -c 3 -o nowhere/out.csv": "there is no folder nowhere",
    "cluster t.csv -c 3 -o t.csv/out.csv": "there is no folder t.csv",
    "cluster t.csv -c 3 -o folder.csv": "it is a folder",
    "cluster t.csv -c 3 --config x.toml": "x.toml: No such file",
    "cluster t.csv -c 3 --config binary.toml": "--config binary.toml",
    "cluster t.csv -c 3 --config pipe.toml": "pipe.toml: is not a regular file",
    "cluster t.csv --exclude a,b": "no numeric column",
    "cluster empty.csv -c 3": "empty",
    "cluster header.csv -c 3": "no rows",
    "cluster garbage.csv -c 3": "cannot read garbage.csv",
    "cluster garbage.parquet -c 3": "cannot read garbage.parquet",
    "cluster ragged.csv -c 3": "cannot read ragged.csv",
    "cluster text.csv -c 3": "no numeric column to cluster; left out: a, b (text",
    "cluster missing-values.csv -c 3": "1 row of 3 with missing values (in 'b')",
    "cluster no-complete-row.csv -c 1 --missing drop": "no row is complete",
    "cluster infinite.csv -c 3": "1 row of 3 with infinite values (in 'b')",
    "cluster constant.csv -c 3": "constant",
    "cluster one-row.csv": "at least two rows, got 1",
    "cluster huge.csv -c 3": "column 'a' cannot be standardized",
    "cluster table.xlsx -c 3": "cannot read table.xlsx",
    "cluster table.ods -c 3": "extension must be one of",
    "cluster control.csv -c 2": "no numeric column",
    "predict m.dempster /": "must be a file",
    "cluster edges.csv --graph": "must contain weights (numbers), got 'x' in row 2",
    "cluster asymmetric.csv --dissimilarities --method evclus": "--symmetrize",
    "cluster asymmetric.csv --dissimilarities": "--symmetrize true of EVCLUS",
    "predict t.csv t.csv": "t.csv is neither a model nor a partition",
    "compare p.csv t.parquet": "t.parquet is neither a model nor a partition",
    "predict m.dempster m.dempster": "m.dempster is a saved model or partition, but must be",
    "report p.csv m.dempster": "m.dempster is a saved model or partition, but must be",
    "predict array.dempster less.csv": "no column 'b'",
    "explain m.dempster less.csv": "the table has no column 'b'; it has 'a'",
    "explain twins.csv t.csv --object a": "several objects are named 'a'",
    "explain twins.csv other.csv --index name": "no row 'a'",
    "explain p.csv t.csv --object ²": "--object: unknown object '²'; the objects are '0', '1'",
    "compare twins.csv mirrored.csv": "twins.csv",
    "ask t.csv -c 2 --answers one-object.csv": "two different objects",
}


@pytest.mark.parametrize(
    ("command", "text"),
    [*WRONG_USE.items(), *INVALID_FILES.items()],
    ids=lambda case: case[:60],
)
def test_errors(folder, command, text):
    before = {path.name: path.stat().st_size for path in folder.iterdir()}
    with limited():
        result = run(*("" if word == "''" else word for word in command.split(" ")))
    result.stderr_bytes = b"\n".join(
        line
        for line in result.stderr_bytes.splitlines()
        if not line.startswith(b"note: ")
    )
    if command.startswith("ask"):
        result.stdout_bytes = b""
    assert_error(result, 2 if command in WRONG_USE else 1, text)
    assert {path.name: path.stat().st_size for path in folder.iterdir()} == before


def test_long_names_are_shortened(folder):
    result = run("cluster", "t.csv", "--columns", "x" * 100_000)
    assert result.exit_code == 2
    assert len(result.stderr) < 2100


@pytest.mark.parametrize(
    "names",
    [("red", "blue", "red or blue"), ("undecided", "blue", "x"), ("-1", "0", "or")],
)
def test_names_of_classes(folder, names):
    table(kind=np.repeat(names, 20)).to_csv("named.csv", index=False)
    found = json.loads(
        run(
            "classify", "named.csv", "--target", "kind", "--new", "t.csv", "--json"
        ).stdout
    )
    assert found["cross_validation"] == {"accuracy": 1.0}
    assert found["decisions"] == dict.fromkeys(sorted(names), 20)
    rule = {"undecided": ("--reject", 0.3), "red or blue": ("--rule", "maximality")}
    for name in set(names) & set(rule):
        result = run(
            "classify", "named.csv", "--target", "kind", "--new", "t.csv", *rule[name]
        )
        assert_error(result, 1, f"--target kind: rename the class '{name}'")


def test_folder_is_not_writable(folder, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert_error(run("cluster", "t.csv", "-c", 3), 1, "not writable")


def test_file_is_not_readable(folder, monkeypatch):
    def deny(path, *args, **keywords):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    if os.geteuid() == 0:  # root can read every file
        monkeypatch.setattr("dempster.io.atomic.open", deny, raising=False)
    else:
        Path("t.csv").chmod(0)
    assert_error(run("cluster", "t.csv", "-c", 3), 1, "t.csv: Permission denied")


def test_parquet_output_without_pyarrow(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert_error(
        run("cluster", "t.csv", "-c", 3, "-o", "new.parquet"), 1, "dempster[parquet]"
    )


def test_traceback_on_request(folder, monkeypatch):
    monkeypatch.setenv("DEMPSTER_DEBUG", "1")
    result = run("cluster", "missing.csv", "-c", 3)
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("dempster: ")


def test_exit_codes_of_exceptions():
    assert describe_exception(MemoryError()) == (1, "not enough memory")
    assert describe_exception(OSError("odd")) == (1, "odd")
    assert describe_exception(ZeroDivisionError("x"))[0] == 70


# ---- failures while files are written ------------------------------------------------------------


def cluster_with_plot():
    return run(
        "cluster",
        "t.csv",
        "-c",
        3,
        "--method",
        "ecm",
        "--n-init",
        1,
        "-o",
        "p.csv",
        "--plot",
        "new.png",
    )


@pytest.mark.parametrize("which", ["fsync", "replace"])
def test_full_disk_changes_no_file(folder, monkeypatch, which):
    def fail(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    before = sorted(os.listdir())
    content = Path("p.csv").read_bytes()
    monkeypatch.setattr(os, which, fail)
    result = cluster_with_plot()
    result.stderr_bytes = result.stderr_bytes.splitlines()[-1]
    assert_error(result, 1, "cannot write", "No space left on device")
    assert sorted(os.listdir()) == before
    assert Path("p.csv").read_bytes() == content


@pytest.mark.parametrize(
    "name",
    [
        "cluster.ECM.fit",
        "io.write_partition",
        "plot.CredalPartitionDisplay.from_partition",
        "os.fsync",
    ],
)
@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt, RuntimeError("text\nin two lines")],
    ids=["interrupt", "defect"],
)
def test_failure_changes_no_file(folder, monkeypatch, name, error):
    def fail(*args, **keywords):
        raise error

    before = sorted(os.listdir())
    content = Path("p.csv").read_bytes()
    monkeypatch.setattr(name if name == "os.fsync" else f"dempster.{name}", fail)
    result = cluster_with_plot()
    result.stderr_bytes = result.stderr_bytes.splitlines()[-1]
    if error is KeyboardInterrupt:
        assert_error(result, 130, "dempster: interrupted")
    else:
        assert_error(
            result,
            70,
            "internal error, RuntimeError: text in two lines",
            "DEMPSTER_DEBUG=1",
        )
    assert sorted(os.listdir()) == before
    assert Path("p.csv").read_bytes() == content


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        *(pytest.param(n, marks=LONG) for n in (signal.SIGHUP, signal.SIGINT)),
    ],
)
def test_signals_leave_no_file(tmp_path, number):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(3000, 4)))
    command = "from dempster.__main__ import main; main()"
    options = [
        "cluster",
        "x.npy",
        "-c",
        "3",
        "--method",
        "ecm",
        "--report",
        "r.html",
        "-q",
    ]
    process = subprocess.Popen(
        [sys.executable, "-c", command, *options],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: [
            signal.signal(one, signal.SIG_DFL) for one in (number, signal.SIGINT)
        ],
    )
    end = time.monotonic() + 60
    while (
        not list(tmp_path.glob(".dempster-*"))
        and process.poll() is None
        and time.monotonic() < end
    ):
        time.sleep(0.002)
    process.send_signal(number)
    message = process.communicate(timeout=60)[1]
    assert process.returncode == 128 + number
    assert (
        message
        == f"dempster: {'interrupted' if number == signal.SIGINT else 'terminated'}\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


@pytest.mark.parametrize(
    "closed",
    [
        "<&- >&- 2>&-",
        *(pytest.param(c, marks=LONG) for c in (">&-", ">&- 2>&-", "<&-")),
    ],
)
def test_closed_streams(folder, closed):
    command = f"{sys.executable} -m dempster ask t.csv -c 3 --method evclus -q {closed}"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "t.answers.csv" in os.listdir()


# ---- files of the user ---------------------------------------------------------------------------

DEFAULT_OUTPUTS = {
    "t.partition.csv": "cluster t.csv -c 2 --method ecm",
    "t.predicted.csv": "predict m.dempster t.csv",
    "less.decisions.csv": "classify t.csv --target kind --columns a --new less.csv --cv 0",
    "t.answers.csv": "ask t.csv -c 2 --n-init 1",
    "m.html": "report m.dempster",
}


@pytest.mark.parametrize("name", DEFAULT_OUTPUTS)
def test_files_of_the_user_are_not_overwritten(folder, name):
    command = DEFAULT_OUTPUTS[name].split()
    Path(name).write_text("mine\n1\n")
    assert_error(run(*command), 1, f"{name} exists and was not created by dempster")
    assert Path(name).read_text() == "mine\n1\n"
    assert run(*command, "-o", name).exit_code == 0
    again = run(*command)
    if name == "m.html":  # A report that dempster created may be richer.
        assert_error(again, 1, name)
    else:
        assert again.exit_code == 0  # dempster created it


def test_answers_are_not_overwritten(folder):
    Path("t.answers.csv").write_text("object,other,answer\n0,1,same\n")
    assert_error(
        run("ask", "t.csv", "-c", 2),
        1,
        "t.answers.csv contains answers that would be lost",
    )
    assert (
        run(
            "ask", "t.csv", "-c", 2, "--n-init", 1, "--answers", "t.answers.csv"
        ).exit_code
        == 0
    )


@pytest.mark.parametrize(
    "command",
    ["predict m.dempster {}", "classify t.csv --target kind --new {}", "ask {} -c 3"],
)
def test_default_outputs_of_similar_names_differ(folder, command):
    for name in ("year.1.csv", "year.2.csv"):
        table().to_csv(name, index=False)
        assert run(*command.format(name).split(), "-q").exit_code == 0
    assert len([name for name in os.listdir() if name.startswith("year")]) == 4


# ---- names and labels ----------------------------------------------------------------------------

NAMES = [
    "a",
    "b c",
    "a,b",
    '"q"',
    'a"b',
    " lead",
    "trail ",
    "-x",
    "--y",
    "a\nb",
    "all ",
    "k/",
    "a//b",
    "\u2028",
]


def test_to_command_can_be_parsed():
    recipes = [
        Recipe(
            "t.csv", columns=[name, *NAMES[:2]], exclude=[name], truth=name, index=name
        )
        for name in NAMES
    ]
    recipes.append(
        Recipe(
            "t.csv", method="ecm", clusters=3, parameters={"n_jobs": None, "delta": 5}
        )
    )
    recipes.append(Recipe("t.csv", confidence=0.9))
    recipes.append(Recipe("t.csv", method="bootclus", parameters={"confidence": 0.8}))
    for recipe in recipes:
        context = cluster.make_context("cluster", shlex.split(recipe.to_command())[2:])
        assert build_recipe(context, context.params) == recipe


def test_integer_labels_with_missing_values(folder):
    kinds = pd.Series(np.repeat([1.0, 2.0, 30.0], 20)).mask(np.arange(60) % 7 == 0)
    table(kind=kinds).to_csv("numbered.csv", index=False)
    found = json.loads(
        run("classify", "numbered.csv", "--target", "kind", "--json").stdout
    )
    assert found["classes"] == ["1", "2", "30"]
    assert read_labels("kind", table(kind=kinds)).dropna().map(
        type
    ).unique().tolist() == [int]
    assert read_labels("kind", table(kind=kinds / 4)).dropna().iloc[0] == 0.25


def test_special_characters_in_names_of_columns(folder):
    right = np.repeat(["x", "y", "z"], 20)
    wrong = np.tile(["x", "y", "z"], 20)
    renamed = table(**{"k/": right, "k": wrong}).rename(
        columns={"a": "price in $ and $$x^$", "b": "b$_"}
    )
    renamed.to_csv("names.csv", index=False)
    result = run(
        "cluster",
        "names.csv",
        "-c",
        3,
        "--method",
        "ecm",
        "--truth",
        "k/",
        "--plot",
        "p.png",
        "--json",
    )
    assert json.loads(result.stdout)["agreement"]["accuracy"] > 0.9


def test_notes_on_text_that_looks_like_numbers(folder):
    table(price=[f"CHF {k % 4}.50" for k in range(60)]).to_csv(
        "prices.csv", index=False
    )
    note = "price (text that looks like numbers, such as 'CHF 0.50')"
    assert note in run("cluster", "prices.csv", "-c", 2, "--method", "ecm").stderr
    assert (
        f"used as categories: {note}"
        in run("cluster", "prices.csv", "-c", 2, "--categories", "price").stderr
    )


def test_formulas_are_escaped(folder):
    names = [f"=r{k}" for k in range(60)]
    kinds = ["@b" if k % 2 else "+a" for k in range(60)]
    table(name=names, kind=kinds).to_csv("f.csv", index=False)
    assert run("ask", "f.csv", "-c", 2, "--index", "name").exit_code == 0
    answers = Path("f.answers.csv").read_text().splitlines()
    Path("f.answers.csv").write_text(
        "\n".join([answers[0], *(line + "same" for line in answers[1:2])])
    )
    assert (
        run(
            "ask", "f.csv", "-c", 2, "--index", "name", "--answers", "f.answers.csv"
        ).exit_code
        == 0
    )
    target = "--index", "name", "--target", "kind", "--new", "f.csv", "-o", "d.csv"
    assert run("classify", "f.csv", *target).exit_code == 0
    for name in ("f.answers.csv", "d.csv"):
        cells = pd.read_csv(name, dtype=str, header=None).fillna("").to_numpy().ravel()
        assert not [cell for cell in cells if cell[:1] in "=+@" and cell]


# ---- hints ---------------------------------------------------------------------------------------

HINTS = {
    "cluster missing-values.csv -c 1 --method ecm": 2,
    "cluster text.csv -c 1": 1,
    "cluster t.csv -c 3 --columns a,kind": 1,
    "cluster t.csv -c 3 --method eknnclus": 1,
    "cluster t.csv -c 3 --method ecm --max-iter 1": 1,
    "cluster t.csv -c 3 --method egmm --missing partial": 1,
    "cluster years.csv -c 1": 2,
    "cluster thousands.csv -c 1": 2,
    "cluster codes.csv -c 2 --method ecm --missing drop": 1,
    "cluster nearly.csv -c 2 --method ecm --missing drop": 1,
    "cluster mostly-text.csv -c 2": 1,
    "predict m.dempster missing-values.csv": 1,
}


@pytest.mark.parametrize("command", HINTS)
def test_hints_can_be_followed(folder, command):
    Path("years.csv").write_text("a,2019\n1,2\n3,4\n5,7\n")
    Path("thousands.csv").write_text("a;b\n1.234;5\n2.345;6\n5;7\n9;8\n")
    n = range(40)
    numbers = table().head(40)
    numbers.assign(c=[-999 if k % 9 == 0 else k % 7 for k in n]).to_csv(
        "codes.csv", index=False
    )
    numbers.assign(c=["bad, worse" if k == 5 else k % 7 for k in n]).to_csv(
        "nearly.csv", index=False
    )
    texts = {f"t{j}": ["xyz"[k % 3] * j for k in n] for j in (1, 2, 3)}
    numbers.assign(**texts).to_csv("mostly-text.csv", index=False)
    message = run(*command.split()).stderr
    hints = re.findall(r"\((?:increase )?(--?[^()]*)\)", message)
    assert len(hints) == HINTS[command], message
    for hint in hints:
        words = [*command.split(), *shlex.split(hint)]
        if hint.startswith("--max-iter"):
            words[-1] = "1000"
        again = run(*words, "-o", "new.csv")
        assert again.exit_code == 0, again.output
        assert hint not in again.stderr
    for word in ("=", "_"):  # no names of Python arguments
        assert word not in message.replace("missing_values", "")
