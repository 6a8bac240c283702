"""The site: every public name is listed, docstrings are complete, and the code of pages runs.

``make docs-quick``, a part of ``make test``, builds the site.
"""

import re
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"

pytest.importorskip("sphinx", reason="the extra 'docs' is not installed")
sys.path.insert(0, str(DOCS / "_ext"))

import api  # noqa: E402
import blocks  # noqa: E402

from dempster._site import ADDRESS  # noqa: E402

NAMES = api.public_names()
ESTIMATORS = [name for name, home in NAMES.items() if hasattr(getattr(import_module(home), name), "get_params")]
assert {"ECM", "EVCLUS", "EKNNClassifier", "PCCA", "CautiousTree", "ParsimoniousGaussianMixture"} <= set(ESTIMATORS)


def listed_names():
    """Return (package, name) for every name in the tables of the API pages."""
    found = []
    for page in sorted((DOCS / "api").glob("*.rst")):
        text = page.read_text(encoding="utf-8")
        package = re.search(r"currentmodule:: (\S+)", text)
        for table in re.findall(r"autosummary::\n(?:   :.*\n)+\n((?:   \S+\n?)+)", text):
            found += [(package[1], name) for name in table.split()]
    return found


def test_every_public_name_is_listed_once():
    assert sorted(listed_names()) == sorted((home, name) for name, home in NAMES.items())


def test_every_api_page_is_listed():
    listed = set(re.findall(r"^   (\w+)$", (DOCS / "api" / "index.rst").read_text(), flags=re.MULTILINE))
    assert listed == {page.stem for page in (DOCS / "api").glob("*.rst")} - {"index"}


def numpydoc_errors(name, is_function=False):
    """Return the errors that numpydoc finds.

    A function must describe every parameter. A method may describe them in a sentence, but a section must be complete.
    """
    from numpydoc.validate import validate

    found = validate(name)
    checks = {"GL06", "GL07", "GL08", "GL09", "PR02", "PR03", "SS01"}
    if is_function or "Parameters\n---" in (found["docstring"] or ""):
        checks.add("PR01")
    return [f"{code} {words}" for code, words in found["errors"] if code in checks]


@pytest.mark.parametrize("name", sorted(NAMES))
def test_docstrings_are_complete(name):
    pytest.importorskip("numpydoc")
    value = getattr(import_module(NAMES[name]), name)
    wrong = numpydoc_errors(f"{NAMES[name]}.{name}", is_function=not isinstance(value, type))
    for member in api.members_of(value) if isinstance(value, type) else ():
        wrong += [f"{member}: {error}" for error in numpydoc_errors(f"{NAMES[name]}.{name}.{member}")]
    assert not wrong


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_link_to_their_page(name):
    cls = getattr(import_module(NAMES[name]), name)
    link = cls.__new__(cls)._get_doc_link()
    assert link == f"{ADDRESS}/api/generated/{NAMES[name]}.{name}.html"


def test_address_agrees_with_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["urls"]["Documentation"] == ADDRESS


def test_every_clusterer_and_classifier_has_a_page():
    pages = {page.stem for page in (DOCS / "methods").glob("*.md")}
    methods = {n.lower() for n in ESTIMATORS if NAMES[n] in ("dempster.cluster", "dempster.classify")}
    elsewhere = {"contextualdiscounting"}  # It is described on the page on the calculus.
    elsewhere |= {"fuzzycmeans", "noiseclustering", "possibilisticcmeans", "roughkmeans"}  # page on soft clustering
    elsewhere |= {"conformalclassifier", "conformalclustering", "conformalnoveltydetector"}  # page on conformal sets
    assert not methods - pages - elsewhere


# ---- numbers from reports -------------------------------------------------------------------------------------------

# (page, quoted text, report, pattern in the report): a changed report shows which pages must be updated.
QUOTED = [
    (
        "experts.md",
        "0.69 | 0.82 | 0.85 | 0.92 | 0.94 |",
        "QUESTIONS",
        r"suggest_pairs \| 0\.63 \| 0\.69 \| 0\.82 \| 0\.85 ",
    ),
    (
        "how_many.md",
        '| `EVCLUS("auto")`, `ECM("auto")` | 14 of 32 | 20 |',
        "DEFAULTS",
        r'EVCLUS\("auto"\).*14 of 32 \| 20 ',
    ),
    (
        "how_many.md",
        "| k-means with the largest silhouette | 12 of 32 | 18 |",
        "DEFAULTS",
        r"silhouette.*12 of 32 \| 18 ",
    ),
    ("how_many.md", "| `BeliefPeaks` | 15 of 32 | 21 |", "DEFAULTS", r"BeliefPeaks.*15 of 32 \| 21 "),
    ("methods/ecm.md", "0.552", "DEFAULTS", r"\| ECM \| 32 \| 0\.552 "),
    (
        "coming_from_mixtures.md",
        "0.577 for `EGMM` and 0.597 for `EVCLUS`",
        "DEFAULTS",
        r"Gaussian mixture \| 32 \| 0\.540 ",
    ),
    (
        "coming_from_hdbscan.md",
        'HDBSCAN has 0.38 and `EVCLUS("auto")` 0.55',
        "DEFAULTS",
        r'EVCLUS\("auto"\) \| 0\.551 ',
    ),
    ("../paper/paper.md", "0.597 for EVCLUS", "DEFAULTS", r"\| EVCLUS \| 32 \| 0\.597 "),
    (
        "../paper/paper.md",
        "0.674, 0.633 and 0.596",
        "DEFAULTS",
        r"EVCLUS 0\.674, k-means 0\.633, Gaussian mixture 0\.596",
    ),
    ("../paper/paper.md", "82 of its 83", "RESULTS", r"82 of 83 targets met"),
    ("../paper/paper.md", "1,229 times faster", "RESULTS", r"ECM fit \|.*1,229 "),
    ("scale.md", "| `EVCLUS`, plane | 1,000,000 | 15 | 1.5 s | 295 MB |", "RESULTS", r"1,000,000 x 2.*1\.53 s.*295 MB"),
    (
        "scale.md",
        "| `EVCLUS`, plane | 10,000,000 | 15 | 13 s | 2.7 GB |",
        "RESULTS",
        r"10,000,000 x 2.*12\.92 s.*2,742 MB",
    ),
]


@pytest.mark.parametrize(("page", "words", "report", "pattern"), QUOTED)
def test_numbers_agree_with_reports(page, words, report, pattern):
    assert words in " ".join((DOCS / page).read_text(encoding="utf-8").split())
    text = (ROOT / "benchmarks" / f"{report}.md").read_text(encoding="utf-8")
    assert re.search(pattern, text), f"benchmarks/{report}.md does not have {words!r} of docs/{page}"


# ---- code of the pages ----------------------------------------------------------------------------------------------

PAGE = """# Page

<!-- picture: a line -->
```python
import matplotlib.pyplot as plt

plt.plot([1, 2])
print("drawn")
```

```text
not_code()
```

```python
print(1 / {})
```
"""


def test_blocks_have_lines_and_descriptions():
    first, second = blocks.blocks_of(PAGE.format(1))
    assert (first.alt, first.line, second.alt, second.line) == ("a line", 5, None, 16)


def test_blocks_share_a_namespace_and_save_figures(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE.format("len('ab')"))
    results = blocks.run_page(page, tmp_path)
    assert [result["printed"] for result in results] == ["drawn\n", "0.5\n"]
    assert (tmp_path / results[0]["pictures"][0]).stat().st_size > 1000
    assert not results[1]["pictures"]


def test_failing_block_is_reported(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE.format(0))
    with pytest.raises(blocks.PageError, match=r"block 2, line 16:(.|\n)*ZeroDivisionError"):
        blocks.run_page(page, tmp_path)


# ---- optional packages ----------------------------------------------------------------------------------------------


def test_missing_package_note():
    import pages

    text = "# Page\n\n<!-- needs: numpy, no_such_package -->\n\n```python\n1 / 0\n```\n"
    assert blocks.missing_packages(text) == ["no_such_package"]
    note = pages.add_missing_note(text)
    assert "without no_such_package" in note
    assert "needs:" not in note
    there = text.replace(", no_such_package", "")
    assert pages.add_missing_note(there) == there


@pytest.mark.long
def test_page_with_missing_package_is_not_run(tmp_path, monkeypatch):
    import pages
    import running

    monkeypatch.setattr(running, "DOCS", tmp_path)
    monkeypatch.setattr(running, "CACHE", tmp_path / "kept")
    page = tmp_path / "page.md"
    page.write_text("<!-- needs: no_such_package -->\n\n```python\nprint(1)\n```\n")
    assert not pages.needs_run(page)
    page.write_text("<!-- needs: numpy -->\n\n```python\nprint(1)\n```\n")
    assert pages.needs_run(page)


def test_extra_has_packages_of_pages():
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["workflows"]
    installed = {re.match(r"[\w-]+", requirement)[0] for requirement in extra}
    texts = [page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md") if "_build" not in page.parts]
    needed = {name.strip() for text in texts for m in blocks.NEEDS.finditer(text) for name in m["packages"].split(",")}
    assert {"scanpy", "nilearn", "palmerpenguins"} <= needed <= installed


@pytest.mark.parametrize("name", ["cells", "tissue", "monitoring", "penguins"])
def test_workflow_figures_have_descriptions(name):
    text = (DOCS / "workflows" / f"{name}.md").read_text(encoding="utf-8")
    found = blocks.blocks_of(text)
    assert 2 <= sum(block.alt is not None for block in found) <= 4
    for block in found:
        compile(block.code, name, "exec")
        assert block.alt or "plt.subplots" not in block.code, f"line {block.line}: a figure without description"
