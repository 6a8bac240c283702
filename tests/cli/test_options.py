"""Errors name the option and leave no file; files of the user are not overwritten; names may contain any character."""

import json
import os
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

from dempster import CredalPartition, FocalSets
from dempster.apps.cli import program
from dempster.apps.cli.cluster import cluster
from dempster.apps.cli.shared.options import build_recipe
from dempster.apps.recipe import Recipe, read_labels
from dempster.cluster import ECM
from dempster.io import write_partition
from dempster.persistence import save
from tests.limits import limited

LONG = pytest.mark.long
X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 20, axis=0)


def table(**columns):
    return pd.DataFrame(X, columns=["a", "b"]).assign(**columns)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with a table, its model and partition, dissimilarities and an image."""
    made = tmp_path_factory.mktemp("files")
    kinds = np.repeat(["x", "y", "z"], 20)
    table(kind=kinds).to_csv(made / "t.csv", index=False)
    table(kind=kinds).to_parquet(made / "t.parquet")
    table()[["a"]].to_csv(made / "less.csv", index=False)
    np.save(made / "d.npy", np.sqrt(((X[:, None] - X) ** 2).sum(axis=2)))
    np.save(made / "i.npy", np.arange(60.0).reshape(6, 5, 2))
    outputs = "--save-model", str(made / "m.dempster"), "-o", str(made / "p.csv")
    run("cluster", str(made / "t.csv"), "-c", "3", "--method", "ecm", *outputs)
    return made


@pytest.fixture
def folder(files, tmp_path, monkeypatch):
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def run(*arguments):
    return CliRunner().invoke(program, [str(a) for a in arguments], prog_name="dempster")


INVALID = {
    # empty names of files
    "cluster ''": "'FILE...': must be the name of a file, got ''",
    "ask ''": "'FILE...': must be the name of a file, got ''",
    "predict m.dempster ''": "'FILE': must be the name of a file, got ''",
    "predict m.dempster /": "/ is a folder, it must be a file",
    "predict m.dempster ..": ".. is a folder, it must be a file",
    "report ''": "'SUBJECT': must be the name of a file, got ''",
    "classify t.csv --target kind --new ''": "'--new': must be the name of a file, got ''",
    "demo --output ''": "'--output': must be the name of a file, got ''",
    # columns
    "cluster t.csv --columns a\nb": "--columns: there is no column 'a b'",
    "cluster t.csv --truth none": "--truth: there is no column 'none'; the columns are 'a', 'b', 'kind'",
    "cluster t.csv --labels none": "--labels: there is no column 'none'; the columns are 'a', 'b', 'kind'",
    "cluster t.csv --truth ''": "--truth: there is no column ''",
    "classify t.csv --target none": "--target: there is no column 'none'",
    "report p.csv t.csv --truth none": "--truth: there is no column 'none'",
    "explain m.dempster less.csv": "the table lacks the column 'b' of the training run; it has 'a'",
    # options of a table without a table
    "cluster d.npy --dissimilarities --columns a": "--columns: the files contain dissimilarities",
    "cluster d.npy --dissimilarities --exclude a": "--exclude: the files contain dissimilarities",
    "cluster d.npy --dissimilarities --metric cosine": "the files contain dissimilarities, so metric cannot be set",
    "cluster d.npy --dissimilarities --truth kind": "--truth: there is no column 'kind'; use a file of labels",
    "cluster d.npy --dissimilarities --method ecm": "--dissimilarities: method ecm cannot use dissimilarities",
    "cluster i.npy --method secm --dissimilarities": "--dissimilarities: method secm cannot use dissimilarities",
    "cluster i.npy --method secm --truth t.csv": "--truth: the file is an image",
    "cluster i.npy --method secm --index a": "--index: the file is an image",
    "report p.csv --index a": "--index needs the argument TABLE",
    "report p.csv --delimiter ;": "--delimiter needs the argument TABLE",
    # numbers
    "classify t.csv --target kind --cv 1": "--cv must be 0 or at least 2, got 1",
    "classify t.csv --target kind --reject nan": "--reject must be a number of at least 0, got nan",
    "classify t.csv --target kind --reject -1": "--reject must be a number of at least 0, got -1.0",
    "classify t.csv --target kind --save-model m.pkl": "--save-model: the extension must be .dempster, got .pkl",
    "cluster t.parquet -o masses -c 3 --method ecm --beta 1": "--beta must be 'auto' or a number above 1",
}  # fmt: skip


@pytest.mark.parametrize("command", INVALID)
def test_errors_name_the_option(folder, command):
    before = sorted(os.listdir())
    result = run(*("" if word == "''" else word for word in command.split(" ")))
    assert result.exit_code in (1, 2), result.output
    assert INVALID[command] in result.stderr
    assert "internal error" not in result.stderr
    assert sorted(os.listdir()) == before


def test_long_names_are_shortened(folder):
    result = run("cluster", "t.csv", "--columns", "x" * 100_000)
    assert result.exit_code == 2
    assert len(result.stderr) < 2100


@pytest.mark.parametrize("names", [("red", "blue", "red or blue"), ("undecided", "blue", "x"), ("-1", "0", "or")])
def test_names_of_classes(folder, names):
    table(kind=np.repeat(names, 20)).to_csv("named.csv", index=False)
    found = json.loads(run("classify", "named.csv", "--target", "kind", "--new", "t.csv", "--json").stdout)
    assert found["cross_validation"] == {"accuracy": 1.0}
    assert found["decisions"] == dict.fromkeys(sorted(names), 20)


@pytest.mark.parametrize(
    ("options", "name"), [(["--reject", "0.3"], "undecided"), (["--rule", "maximality"], "a or b")]
)
def test_ambiguous_names_of_classes(folder, options, name):
    table(kind=np.repeat(["a", "b", name], 20)).to_csv("named.csv", index=False)
    result = run("classify", "named.csv", "--target", "kind", "--new", "t.csv", *options)
    assert result.exit_code == 1
    assert f"--target kind: rename the class '{name}'" in result.stderr


def test_integer_labels_with_missing_values(folder):
    kinds = pd.Series(np.repeat([1.0, 2.0, 30.0], 20)).mask(np.arange(60) % 7 == 0)
    table(kind=kinds).to_csv("numbered.csv", index=False)
    found = json.loads(run("classify", "numbered.csv", "--target", "kind", "--json").stdout)
    assert found["classes"] == ["1", "2", "30"]
    assert read_labels("kind", table(kind=kinds)).dropna().map(type).unique().tolist() == [int]
    assert read_labels("kind", table(kind=kinds / 4)).dropna().iloc[0] == 0.25


def test_column_name_ends_with_slash(folder):
    right, wrong = np.repeat(["x", "y", "z"], 20), np.tile(["x", "y", "z"], 20)
    table(**{"k/": right, "k": wrong}).to_csv("k.csv", index=False)
    assert Recipe("k.csv", truth="k/").truth == "k/"
    found = json.loads(run("cluster", "k.csv", "-c", "3", "--truth", "k/", "--json").stdout)
    assert found["agreement"]["accuracy"] > 0.9


@pytest.mark.parametrize("command", ["predict m.dempster {}", "classify t.csv --target kind --new {}", "ask {} -c 3"])
def test_default_outputs_of_similar_names_differ(folder, command):
    for name in ("year.1.csv", "year.2.csv"):
        table().to_csv(name, index=False)
        result = run(*command.format(name).split(), "-q")
        assert result.exit_code == 0, result.stderr
    assert len([name for name in os.listdir() if name.startswith("year")]) == 4


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, *(pytest.param(n, marks=LONG) for n in (signal.SIGHUP, signal.SIGINT))]
)
def test_signals_leave_no_file(tmp_path, number):
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(3000, 4)))
    command = "from dempster.__main__ import main; main()"
    options = ["cluster", "x.npy", "-c", "3", "--method", "ecm", "--report", "r.html", "-q"]
    process = subprocess.Popen(
        [sys.executable, "-c", command, *options],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: [signal.signal(one, signal.SIG_DFL) for one in (number, signal.SIGINT)],
    )
    end = time.monotonic() + 60
    while not list(tmp_path.glob(".dempster-*")) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)
    process.send_signal(number)
    message = process.communicate(timeout=60)[1]
    assert process.returncode == 128 + number
    assert message == f"dempster: {'interrupted' if number == signal.SIGINT else 'terminated'}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_python_m_dempster():
    command = [sys.executable, "-m", "dempster", "--version"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.startswith("dempster ")


DEFAULT_OUTPUTS = {
    "t.partition.csv": "cluster t.csv -c 2",
    "t.predicted.csv": "predict m.dempster t.csv",
    "t.decisions.csv": "classify t.csv --target kind",
    "t.answers.csv": "ask t.csv -c 2",
    "m.html": "report m.dempster",
    "combined.csv": "combine m.dempster m.dempster",
}


@pytest.mark.parametrize("name", DEFAULT_OUTPUTS)
def test_files_of_the_user_are_not_overwritten(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(30, 2)) + 5 * (np.arange(30) % 2)[:, None], columns=["a", "b"])
    table.assign(kind=[None, *("u", "v") * 14, "u"]).to_csv("t.csv", index=False)
    save(ECM(2, random_state=0).fit(table), "m.dempster")
    Path(name).write_text("mine\n1\n")
    result = run(*DEFAULT_OUTPUTS[name].split())
    assert result.exit_code == 1
    assert f"{name} exists and was not created by dempster" in result.stderr
    assert Path(name).read_text() == "mine\n1\n"
    assert run(*DEFAULT_OUTPUTS[name].split(), "-o", name).exit_code == 0
    assert run(*DEFAULT_OUTPUTS[name].split()).exit_code == 0  # dempster created it


def test_answers_are_not_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": range(12), "b": [0] * 6 + [9] * 6}).to_csv("t.csv", index=False)
    Path("t.answers.csv").write_text("object,other,answer\n0,1,same\n")
    result = run("ask", "t.csv", "-c", "2")
    assert result.exit_code == 1
    assert "t.answers.csv contains answers that would be lost" in result.stderr
    assert run("ask", "t.csv", "-c", "2", "--answers", "t.answers.csv").exit_code == 0


@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", *(pytest.param(c, marks=LONG) for c in (">&-", ">&- 2>&-", "<&-"))])
def test_closed_streams(folder, closed):
    command = f"{sys.executable} -m dempster ask t.csv -c 3 --method evclus -q {closed}"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert "t.answers.csv" in os.listdir()


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
    "'",
    "[1]",
]


def test_to_command_can_be_parsed():
    recipes = [Recipe("t.csv", columns=[name, *NAMES[:2]], exclude=[name], truth=name, index=name) for name in NAMES]
    recipes.append(Recipe("t.csv", method="ecm", clusters=3, parameters={"n_jobs": None, "delta": 5}))
    for recipe in recipes:
        context = cluster.make_context("cluster", shlex.split(recipe.to_command())[2:])
        assert build_recipe(context, context.params) == recipe


ROWS = "\n".join(f"{i % 3 * 5 + i * 0.1},{i % 2 + i * 0.01}" for i in range(20))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cluster", "."], "folder"),
        (["cluster", "missing.csv", "-c", "2"], "missing.csv"),
        (["cluster", "table.csv", "-c", "2", "--method", "ecm", "-p", "delta=1e200"], "delta"),
        (["cluster", "table.csv", "-c", "2", "-p", "nonsense=1"], "nonsense"),
        (["cluster", "table.csv", "-c", "0"], "-c|clusters"),
        (["cluster", "table.csv", "-c", "99"], "at most the number of rows"),
        (["cluster", "table.csv", "-c", "2", "--output", "table.csv"], "overwrite"),
        (["cluster", "codes.csv", "-c", "2"], "dempster"),
        (["cluster", "table.csv", "-c", "2", "--labels", "labels.csv", "-o", "labels.csv"], "overwrite the input"),
        (["cluster", "table.csv", "-c", "2", "--truth", "labels.csv", "-o", "labels.csv"], "overwrite the input"),
        (["cluster", "table.csv", "-c", "2", "--constraints", "labels.csv", "-o", "labels.csv"], "overwrite the input"),
        (
            ["ask", "table.csv", "-c", "2", "--answers", "labels.csv", "--partition", "labels.csv"],
            "overwrite the input",
        ),
        (["classify", "table.csv", "--target", "labels.csv", "-o", "labels.csv"], "overwrite the input"),
        (["ask", "table.csv", "-c", "2", "--answers", "same.csv"], "two different objects"),
        (["ask", "table.csv", "-c", "2", "--partition", "taught.doc"], "--partition: the extension"),
        (["ask", "table.csv", "-c", "2", "--save-config", "run.doc"], "--save-config: the extension"),
        (["combine", "table.csv", "table.csv", "-o", "both.doc"], "--output: the extension"),
        (["cluster", "table.csv", "-c", "2", "--config", "deep.toml"], "--config deep.toml"),
        (["cluster", "table.csv", "-c", "2", "--config", "codes.bin"], "--config codes.bin"),
        (["cluster", "table.csv", "-c", "2", "--config", "pipe.toml"], "pipe.toml: is not a regular file"),
        (["cluster", "table.csv", "-c", "2", "--method", "ecm", "-p", "delta=" + "[" * 9000], "delta"),
        (["select", "table.csv", "--to", "1000000000"], "--to"),
        (["explain", "twins.csv", "table.csv", "--object", "a"], "2 objects are named 'a'"),
        (["explain", "twins.csv", "other.csv", "--index", "name"], "no row 'a'"),
        (["explain", "partition.csv", "table.csv", "--object", "²"], "no object '²'"),
        (["compare", "twins.csv", "mirrored.csv"], "do not tell which is which"),
    ],
)
def test_errors_with_files(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("a,b\n" + ROWS)
    (tmp_path / "codes.csv").write_text("a\x1b[31m,b\nx,y\nz,u")
    (tmp_path / "codes.bin").write_bytes(b"\xff\x00")
    (tmp_path / "deep.toml").write_text("a = " + "[" * 9000)
    (tmp_path / "same.csv").write_text("object,other,answer\n1,1,different\n")
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "labels.csv").write_text("kind\n" + "x\n" * 20)
    names = ["a", "a", *map(str, range(18))]
    (tmp_path / "other.csv").write_text("name,a,b\n" + "\n".join(f"z{row},{row},{row * row}" for row in range(20)))
    masses, family = np.eye(4)[np.arange(20) % 2 + 1], FocalSets.full(2)
    write_partition(CredalPartition(masses, family), tmp_path / "partition.csv")
    write_partition(CredalPartition(masses, family, names), tmp_path / "twins.csv")
    write_partition(CredalPartition(masses, family, names[::-1]), tmp_path / "mirrored.csv")
    before = {path: path.stat().st_size for path in tmp_path.iterdir()}
    clusters = ("-c", "2") if arguments[0] == "cluster" and "-c" not in arguments else ()
    with limited():
        result = run(*arguments, *clusters)
    assert result.exit_code in (1, 2)
    assert "internal" not in result.output
    assert "\x1b" not in result.output
    assert any(word in result.output for word in words.split("|"))
    assert {path: path.stat().st_size for path in tmp_path.iterdir()} == before


def test_notes_on_text_that_looks_like_numbers(tmp_path):
    rows = "".join(f"CHF {i % 4}.50,{i % 3 * 5 + i * 0.1},{'u' if i % 2 else 'v'}\n" for i in range(20))
    (tmp_path / "table.csv").write_text("price,b,kind\n" + rows)
    result = run("cluster", tmp_path / "table.csv", "-c", "2", "--method", "ecm")
    assert "price (text that looks like numbers, such as 'CHF 0.50')" in result.output
    options = ("--categories", "price,kind", "--method", "evclus")
    result = run("cluster", tmp_path / "table.csv", "-c", "2", *options)
    assert "used as categories: price (text that looks like numbers, such as 'CHF 0.50')" in result.output


def test_dollars_in_names_of_columns(tmp_path):
    (tmp_path / "prices.csv").write_text("price in $ and $$x^$,b$_\n" + ROWS)
    result = run("cluster", tmp_path / "prices.csv", "-c", "2", "--method", "ecm", "--plot", tmp_path / "picture.png")
    assert result.exit_code == 0, result.output


def test_demo_overwrites_nothing(tmp_path):
    mine = tmp_path / "partition.csv"
    mine.write_text("mine")
    result = run("demo", "--output", tmp_path)
    assert result.exit_code == 1
    assert "overwrites no files" in result.output
    assert mine.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [mine]


def test_formulas_are_escaped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"=r{i},{i % 2 * 9 + i * 0.1},{i % 3},{'@b' if i % 2 else '+a'}" for i in range(20)]
    (tmp_path / "table.csv").write_text("\n".join(["name,a,b,kind", *rows]))
    assert run("ask", "table.csv", "-c", "2", "--index", "name").exit_code == 0
    answers = (tmp_path / "table.answers.csv").read_text().splitlines()
    (tmp_path / "table.answers.csv").write_text("\n".join([answers[0], *(line + "same" for line in answers[1:2])]))
    answered = run("ask", "table.csv", "-c", "2", "--index", "name", "--answers", "table.answers.csv")
    assert answered.exit_code == 0, answered.output
    classified = ("classify", "table.csv", "--index", "name", "--target", "kind", "--new", "table.csv", "-o", "d.csv")
    assert run(*classified).exit_code == 0
    for name in ("table.answers.csv", "d.csv"):
        cells = pd.read_csv(tmp_path / name, dtype=str, header=None).fillna("").to_numpy().ravel()
        assert not [cell for cell in cells if cell[:1] in "=+@" and cell]
