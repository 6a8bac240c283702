"""The program: what is said wrongly is refused by the name of its option, and leaves no file; names mean themselves."""

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

from dempster.apps.cli import program
from dempster.apps.cli.cluster import cluster
from dempster.apps.cli.shared.options import recipe_from
from dempster.apps.recipe import Recipe, read_labels
from dempster.cluster import ECM
from dempster.persistence import save

LONG = pytest.mark.long
X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [9, 0], [0, 9]], 20, axis=0)


def table(**columns):
    return pd.DataFrame(X, columns=["a", "b"]).assign(**columns)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A table, what was made of it, dissimilarities and an image."""
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
    return CliRunner().invoke(program, arguments, prog_name="dempster")


REFUSED = {
    # no name of a file at all
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
    "cluster t.csv --truth none": "--truth: there is no column 'none'; there are 'a', 'b', 'kind'",
    "cluster t.csv --labels none": "--labels: there is no column 'none'; there are 'a', 'b', 'kind'",
    "cluster t.csv --truth ''": "--truth: there is no column ''",
    "classify t.csv --target none": "--target: there is no column 'none'",
    "report p.csv t.csv --truth none": "--truth: there is no column 'none'",
    "explain m.dempster less.csv": "the table lacks column 'b', by which the model was made; it has 'a'",
    # what is said of a table where there is none
    "cluster d.npy --dissimilarities --columns a": "--columns: the files hold dissimilarities",
    "cluster d.npy --dissimilarities --exclude a": "--exclude: the files hold dissimilarities",
    "cluster d.npy --dissimilarities --metric cosine": "dissimilarities, so that metric must be left out",
    "cluster d.npy --dissimilarities --truth kind": "--truth: there is no column 'kind'; labels need a file",
    "cluster d.npy --dissimilarities --method ecm": "--dissimilarities: method ecm cannot work with dissimilarities",
    "cluster i.npy --method secm --dissimilarities": "--dissimilarities: method secm cannot work with dissimilarities",
    "cluster i.npy --method secm --truth t.csv": "--truth: the file is an image",
    "cluster i.npy --method secm --index a": "--index: the file is an image",
    "report p.csv --index a": "--index needs the TABLE as well",
    "report p.csv --delimiter ;": "--delimiter needs the TABLE as well",
    # numbers
    "classify t.csv --target kind --cv 1": "--cv must be 0 or at least 2, got 1",
    "classify t.csv --target kind --reject nan": "--reject must be a number of at least 0, got nan",
    "classify t.csv --target kind --reject -1": "--reject must be a number of at least 0, got -1.0",
    "classify t.csv --target kind --save-model m.pkl": "--save-model: the extension must be .dempster, got .pkl",
    "cluster t.parquet -o masses -c 3 --method ecm --beta 1": "--beta must be 'auto' or a number above 1",
}  # fmt: skip


@pytest.mark.parametrize("command", REFUSED)
def test_the_option_is_named(folder, command):
    before = sorted(os.listdir())
    result = run(*("" if word == "''" else word for word in command.split(" ")))
    assert result.exit_code in (1, 2), result.output
    assert REFUSED[command] in result.stderr
    assert "internal error" not in result.stderr
    assert sorted(os.listdir()) == before


def test_a_long_name_is_not_repeated_in_full(folder):
    result = run("cluster", "t.csv", "--columns", "x" * 100_000)
    assert result.exit_code == 2
    assert len(result.stderr) < 2100


@pytest.mark.parametrize("names", [("red", "blue", "red or blue"), ("undecided", "blue", "x"), ("-1", "0", "or")])
def test_names_of_classes_are_names(folder, names):
    """No class is taken for an answer of several classes, or of none."""
    table(kind=np.repeat(names, 20)).to_csv("named.csv", index=False)
    found = json.loads(run("classify", "named.csv", "--target", "kind", "--new", "t.csv", "--json").stdout)
    assert found["cross_validation"] == {"accuracy": 1.0}
    assert found["decisions"] == dict.fromkeys(sorted(names), 20)


@pytest.mark.parametrize(
    ("options", "name"), [(["--reject", "0.3"], "undecided"), (["--rule", "maximality"], "a or b")]
)
def test_names_of_classes_that_would_read_as_other_answers(folder, options, name):
    table(kind=np.repeat(["a", "b", name], 20)).to_csv("named.csv", index=False)
    result = run("classify", "named.csv", "--target", "kind", "--new", "t.csv", *options)
    assert result.exit_code == 1
    assert f"--target kind: the class '{name}' reads as another answer" in result.stderr


def test_whole_numbers_beside_empty_cells_stay_whole(folder):
    kinds = pd.Series(np.repeat([1.0, 2.0, 30.0], 20)).mask(np.arange(60) % 7 == 0)
    table(kind=kinds).to_csv("numbered.csv", index=False)
    found = json.loads(run("classify", "numbered.csv", "--target", "kind", "--json").stdout)
    assert found["classes"] == ["1", "2", "30"]
    assert read_labels("kind", table(kind=kinds)).dropna().map(type).unique().tolist() == [int]
    assert read_labels("kind", table(kind=kinds / 4)).dropna().iloc[0] == 0.25


def test_a_column_that_is_no_path(folder):
    """``k/`` is not ``k``."""
    right, wrong = np.repeat(["x", "y", "z"], 20), np.tile(["x", "y", "z"], 20)
    table(**{"k/": right, "k": wrong}).to_csv("k.csv", index=False)
    assert Recipe("k.csv", truth="k/").truth == "k/"
    found = json.loads(run("cluster", "k.csv", "-c", "3", "--truth", "k/", "--json").stdout)
    assert found["agreement"]["accuracy"] > 0.9


@pytest.mark.parametrize("command", ["predict m.dempster {}", "classify t.csv --target kind --new {}", "ask {} -c 3"])
def test_files_of_like_names_have_results_of_their_own(folder, command):
    for name in ("year.1.csv", "year.2.csv"):
        table().to_csv(name, index=False)
        result = run(*command.format(name).split(), "-q")
        assert result.exit_code == 0, result.stderr
    assert len([name for name in os.listdir() if name.startswith("year")]) == 4


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, *(pytest.param(n, marks=LONG) for n in (signal.SIGHUP, signal.SIGINT))]
)
def test_a_program_that_is_ended_leaves_nothing(tmp_path, number):
    """While files are written: one line, the code of the signal, no temporary file."""
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
    words = process.communicate(timeout=60)[1]
    assert process.returncode == 128 + number
    assert words == f"dempster: {'interrupted' if number == signal.SIGINT else 'terminated'}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["x.npy"]


def test_the_package_is_the_program():
    told = subprocess.run([sys.executable, "-m", "dempster", "--version"], capture_output=True, text=True, check=True)
    assert told.stdout.startswith("dempster ")


KEPT = {
    "t.partition.csv": "cluster t.csv -c 2",
    "t.predicted.csv": "predict m.dempster t.csv",
    "t.decisions.csv": "classify t.csv --target kind",
    "t.answers.csv": "ask t.csv -c 2",
    "m.html": "report m.dempster",
    "combined.csv": "combine m.dempster m.dempster",
}


@pytest.mark.parametrize("name", KEPT)
def test_files_that_the_program_did_not_write_are_kept(name, tmp_path, monkeypatch):
    """Names that nobody chose are taken if they are free, or were taken by the program before."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(30, 2)) + 5 * (np.arange(30) % 2)[:, None], columns=["a", "b"])
    table.assign(kind=[None, *("u", "v") * 14, "u"]).to_csv("t.csv", index=False)
    save(ECM(2, random_state=0).fit(table), "m.dempster")
    Path(name).write_text("mine\n1\n")
    run = CliRunner().invoke
    refused = run(program, KEPT[name].split())
    assert refused.exit_code == 1
    assert f"{name} is there already, and dempster did not write it" in refused.output
    assert Path(name).read_text() == "mine\n1\n"
    assert run(program, [*KEPT[name].split(), "-o", name]).exit_code == 0
    assert run(program, KEPT[name].split()).exit_code == 0  # which is its own


def test_answers_are_not_asked_away(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"a": range(12), "b": [0] * 6 + [9] * 6}).to_csv("t.csv", index=False)
    Path("t.answers.csv").write_text("object,other,answer\n0,1,same\n")
    told = CliRunner().invoke(program, ["ask", "t.csv", "-c", "2"])
    assert told.exit_code == 1
    assert "t.answers.csv holds answers, which would be lost: give them by --answers" in told.output
    assert CliRunner().invoke(program, ["ask", "t.csv", "-c", "2", "--answers", "t.answers.csv"]).exit_code == 0


@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", *(pytest.param(c, marks=LONG) for c in (">&-", ">&- 2>&-", "<&-"))])
def test_streams_that_are_closed_lead_nowhere(folder, closed):
    """Nobody listens, which is no fault, and no file takes the place of a stream."""
    command = f"{sys.executable} -m dempster ask t.csv -c 3 --method evclus -q {closed}"
    told = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=120)
    assert (told.returncode, told.stdout, told.stderr) == (0, "", "")
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


def test_a_command_is_the_recipe_that_it_tells():
    """Names with commas, blanks and quotation marks, and parameters that are None."""
    recipes = [Recipe("t.csv", columns=[name, *NAMES[:2]], exclude=[name], truth=name, index=name) for name in NAMES]
    recipes.append(Recipe("t.csv", method="ecm", clusters=3, parameters={"n_jobs": None, "delta": 5}))
    for recipe in recipes:
        context = cluster.make_context("cluster", shlex.split(recipe.to_command())[2:])
        assert recipe_from(context, context.params) == recipe
