"""Files of the repository agree with each other: workflows, citation, placeholders, former names, published site."""

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

import dempster

ROOT = Path(__file__).resolve().parents[1]
if not (ROOT / ".github").is_dir():
    pytest.skip("the repository is not there", allow_module_level=True)
yaml = pytest.importorskip("yaml")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def steps_of(workflow):
    jobs = yaml.safe_load(workflow.read_text())["jobs"].values()
    return [step for job in jobs for step in job.get("steps", [])]


# ---- workflows -----------------------------------------------------------------------------------


def test_workflows_exist():
    assert [workflow.stem for workflow in WORKFLOWS] == [
        "docs",
        "release",
        "tests",
        "wheels",
    ]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda workflow: workflow.stem)
def test_workflows_name_existing_targets_and_files(workflow):
    content = yaml.safe_load(workflow.read_text())
    targets = re.findall(
        r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE
    )
    for step in steps_of(workflow):
        assert ("run" in step) != ("uses" in step)
        for target in re.findall(r"\bmake ([\w-]+)", step.get("run", "")):
            assert target in targets
        for file in re.findall(
            r"\b(?:tools|src)/[\w/]+\.py|\bCHANGELOG\.md", step.get("run", "")
        ):
            assert (ROOT / file).is_file()
        for extras in re.findall(r"\.\[([\w,]+)\]", step.get("run", "")):
            assert set(extras.split(",")) <= PROJECT["optional-dependencies"].keys()
    for job in content["jobs"].values():
        assert "permissions" in job or "permissions" in content
        needs = job.get("needs", [])
        assert (
            set([needs] if isinstance(needs, str) else needs) <= content["jobs"].keys()
        )
        if "uses" in job:
            called = yaml.safe_load((ROOT / job["uses"]).read_text())
            # YAML reads the key `on` as a Boolean value
            assert "workflow_call" in called[True]


def test_classifiers_are_tested():
    tests = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text())["jobs"][
        "linux"
    ]
    declared = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    assert set(declared) <= set(tests["strategy"]["matrix"]["python"])
    assert PROJECT["requires-python"] == f">={declared[0]}"


def test_lowest_versions_are_tested():
    """`make test-lowest` replaces >= by ==; the workflow runs it with the lowest version of Python."""
    content = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for requirement in [*content["build-system"]["requires"], *PROJECT["dependencies"]]:
        assert re.fullmatch(r"[\w-]+>=\d+(\.\d+)+", requirement)
    steps = steps_of(ROOT / ".github/workflows/tests.yml")
    place = next(k for k, step in enumerate(steps) if "test-lowest" in str(step))
    python = steps[place - 1]["with"]["python-version"]
    assert PROJECT["requires-python"] == f">={python}"


@pytest.mark.parametrize(
    "form",
    sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")),
    ids=lambda form: form.stem,
)
def test_issue_forms(form):
    content = yaml.safe_load(form.read_text())
    assert {"name", "description", "body"} <= content.keys()
    questions = [part for part in content["body"] if part["type"] != "markdown"]
    assert len({part["id"] for part in questions}) == len(questions) > 1


# ---- citation and placeholders -------------------------------------------------------------------


def test_citation_agrees_with_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == dempster.__version__
    assert (
        f"version = {{{dempster.__version__}}}" in (ROOT / "docs/citing.md").read_text()
    )
    assert citation["authors"] == PROJECT["authors"]
    assert citation["license"] == PROJECT["license"]
    assert citation["url"] == PROJECT["urls"]["Documentation"]
    assert citation["repository-code"] == PROJECT["urls"]["Repository"]
    heading = re.search(
        rf"^## {re.escape(dempster.__version__)} \((.+)\)$",
        (ROOT / "CHANGELOG.md").read_text(),
        re.M,
    )
    assert str(citation.get("date-released", "unreleased")) == heading[1]


def test_placeholders_are_listed():
    """The table in docs/releasing.md names all files that contain the name of the owner."""
    listed = re.search(
        r"^\| owner.*", (ROOT / "docs/releasing.md").read_text(), flags=re.MULTILINE
    )[0]
    texts = [
        *ROOT.glob("*.*"),
        *ROOT.glob(".github/**/*.*"),
        *ROOT.glob("paper/*"),
        *ROOT.glob("docs/*.*"),
    ]
    texts += ROOT.glob("src/dempster/*.py")
    found = {
        str(file.relative_to(ROOT))
        for file in texts
        if file.is_file() and b"OWNER" in file.read_bytes()
    }
    assert found - {"docs/releasing.md"} == set(re.findall(r"`([^`]+\.\w+)`", listed))


# ---- published site ------------------------------------------------------------------------------


def test_published_versions(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])
    from publish_docs import publish

    built = tmp_path / "html"
    site = tmp_path / "site"
    built.mkdir()
    site.mkdir()
    for version in ("dev", "0.9", "0.10", "0.9"):
        (built / "index.html").write_text(version)
        publish(built, site, version, "/dempster/")
    assert (site / "stable/index.html").read_text() == "0.10"
    assert json.loads((site / "switcher.json").read_text()) == [
        {
            "version": "0.10",
            "url": "/dempster/stable/",
            "name": "0.10 (stable)",
            "preferred": True,
        },
        {"version": "0.9", "url": "/dempster/0.9/"},
        {"version": "dev", "url": "/dempster/dev/"},
    ]
    assert "url=stable/" in (site / "index.html").read_text()
