"""The page on the program: its examples run, one after the other, and show what it says."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from dempster.apps.cli import COMMANDS, program
from dempster.datasets import load_iris

PAGE = Path(__file__).resolve().parents[2] / "docs" / "program.md"


def examples():
    """Commands with the lines that are shown below them."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((shlex.split(line.split(" > ")[0])[2:], []))
            else:
                found[-1][1].append(line)
    return found


def words(line):
    """A line without its numbers, which differ between machines where they are times."""
    return re.sub(r"[-\d.,]+", "#", " ".join(line.split()))


def write_tables(folder):
    iris = load_iris(as_frame=True)
    table = iris.data.rename(columns=lambda name: name.removesuffix(" (cm)"))
    table.insert(0, "flower", [f"iris {i + 1}" for i in range(150)])
    table["species"] = np.asarray(iris.target_names)[iris.target]
    table.to_csv(folder / "flowers.csv", index=False)
    table.iloc[::10].drop(columns="species").to_csv(folder / "new-flowers.csv", index=False)


def test_the_examples_run(tmp_path, monkeypatch):
    if not PAGE.exists():
        pytest.skip("installed without its pages")
    pytest.importorskip("dempster.apps.report")
    monkeypatch.chdir(tmp_path)
    write_tables(tmp_path)
    for arguments, shown in examples():
        result = CliRunner().invoke(program, arguments, prog_name="dempster")
        assert result.exit_code == 0, (arguments, result.output)
        found = {words(line) for line in result.output.splitlines()}
        assert [line for line in shown if words(line) not in found] == [], arguments


def test_every_command_has_an_example_or_a_word():
    text = PAGE.read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"dempster {name}" in text, name
    for code in (0, 1, 2, 70, 130):
        assert f"| {code} |" in text
