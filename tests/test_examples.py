"""The examples, the code of the README and the examples in docstrings run."""

import doctest
import importlib
import os
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import dempster

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(dempster.__file__).parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
# Examples that take some seconds; the site runs them as well.
LONG = {
    *(
        "resume_a_fit",
        "write_a_report",
        "calibrated_clustering",
        "measure_quality",
        "custom_network",
    ),
    *("segment_an_image", "sensor_fusion", "describe_clusters"),
}


@pytest.fixture
def run(monkeypatch, tmp_path, capsys):
    """Return the output of a script that runs in an empty folder in this process."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)

    def printed(script):
        with warnings.catch_warnings():
            runpy.run_path(str(script), run_name="__main__")
        return capsys.readouterr().out

    yield printed
    pyplot.close("all")


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(path, id=path.stem, marks=[pytest.mark.long] * (path.stem in LONG))
        for path in EXAMPLES
    ],
)
def test_example_runs(script, run):
    assert run(script).strip()


def test_readme_code_runs(run, tmp_path):
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL
    )
    assert blocks
    script = tmp_path / "readme.py"
    script.write_text("\n".join(blocks))
    assert run(script).strip()


def test_example_runs_in_new_process(tmp_path):
    """As a newcomer runs it."""
    script = ROOT / "examples" / "quickstart.py"
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, str(script)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


def test_every_example_is_listed():
    text = (ROOT / "docs" / "README.md").read_text()
    named = set(re.findall(r"/examples/(\w+\.py)\)", text))
    assert named == {script.name for script in EXAMPLES}


DOCTESTS = [
    ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    )
    for file in sorted(SOURCE.rglob("*.py"))
    if ">>> " in file.read_text(encoding="utf-8")
]


@pytest.mark.parametrize("name", DOCTESTS)
def test_docstring_examples(name):
    if name.startswith("dempster.integrations."):
        pytest.importorskip(name.rsplit(".", 1)[1])
    failed, attempted = doctest.testmod(importlib.import_module(name))
    assert attempted
    assert not failed
