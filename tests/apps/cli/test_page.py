"""The examples on the page on the program run in order and print what the page shows."""

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from dempster.apps.cli import COMMANDS, program

PAGE = Path(__file__).resolve().parents[3] / "docs" / "program.md"


def examples():
    """Return the commands with the output that the page shows."""
    found = []
    for block in re.findall(
        r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL
    ):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((shlex.split(line.split(" > ")[0])[2:], []))
            else:
                found[-1][1].append(line)
    return found


def words(line):
    """Return a line without numbers, because run times differ."""
    return re.sub(r"[-\d.,]+", "#", " ".join(line.split()))


def test_examples(tmp_path, monkeypatch):
    if not PAGE.exists():
        pytest.skip("the pages are not installed")
    pytest.importorskip("dempster.apps.report")
    monkeypatch.chdir(tmp_path)
    for arguments, shown in examples():
        result = CliRunner().invoke(program, arguments, prog_name="dempster")
        assert result.exit_code == 0, (arguments, result.output)
        found = {words(line) for line in result.output.splitlines()}
        assert [line for line in shown if words(line) not in found] == [], arguments


def test_page_describes_every_command():
    text = PAGE.read_text(encoding="utf-8")
    for name in COMMANDS:
        assert f"dempster {name}" in text, name
    for code in (0, 1, 2, 70, 130):
        assert f"| {code} |" in text
