"""The site: public names are listed, docstrings are complete, numbers come from reports, and the code of pages runs.

``make docs-quick``, a part of ``make test``, builds the site.
"""

import inspect
import re
import sys
import tomllib
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"

pytest.importorskip("sphinx", reason="the extra 'docs' is not installed")
sys.path.insert(0, str(DOCS / "_ext"))

import api  # noqa: E402
import blocks  # noqa: E402
import records  # noqa: E402

from dempster._site import site_address  # noqa: E402
from dempster.cluster import ECM  # noqa: E402

PUBLIC = api.public_names()
NAMES = dict(reversed(PUBLIC))
ESTIMATORS = [
    name
    for name, home in NAMES.items()
    if hasattr(getattr(import_module(home), name), "get_params")
]
assert {
    "ECM",
    "EVCLUS",
    "EKNNClassifier",
    "PCCA",
    "CautiousTree",
    "ParsimoniousGaussianMixture",
} <= set(ESTIMATORS)


def listed_names():
    """Return (package, name) for every name in the tables of the API pages."""
    found = []
    for page in sorted((DOCS / "api").glob("*.rst")):
        text = page.read_text(encoding="utf-8")
        package = re.search(r"currentmodule:: (\S+)", text)
        for table in re.findall(
            r"autosummary::\n(?:   :.*\n)+\n((?:   \S+\n?)+)", text
        ):
            found += [(package[1], name) for name in table.split()]
    return found


def test_links_from_sources_have_the_package_of_the_page():
    link = 'href="../api/generated/dempster.partition.PartitionSummary.html#%s"'
    context = {"body": link % "dempster.PartitionSummary.to_frame"}
    api.mend_anchors(None, "_modules/dempster/x", "", context, None)
    assert context["body"] == link % "dempster.partition.PartitionSummary.to_frame"


def test_every_public_name_is_listed_once():
    assert sorted(listed_names()) == sorted((home, name) for name, home in PUBLIC)


def test_every_api_page_is_listed():
    listed = set(
        re.findall(
            r"^   .* <(\w+)>$",
            (DOCS / "api" / "index.rst").read_text(),
            flags=re.MULTILINE,
        )
    )
    assert listed == {page.stem for page in (DOCS / "api").glob("*.rst")} - {"index"}


def numpydoc_errors(name, value):
    """Return the errors that numpydoc finds.

    Functions and methods must describe all parameters and the returned value. The docstring of a
    class may describe its fields as attributes instead.
    """
    from numpydoc.validate import validate

    found = validate(name)
    text = found["docstring"] or ""
    checks = {"GL06", "GL07", "GL08", "GL09", "PR02", "PR03", "RT01", "SS01", "YD01"}
    if not isinstance(value, type) or "Parameters\n---" in text:
        checks.add("PR01")
    errors = [f"{code} {words}" for code, words in found["errors"] if code in checks]
    # numpydoc does not see what class methods return.
    if inspect.ismethod(value) and not re.search(
        "^(Returns|Yields)\n---", text, flags=re.MULTILINE
    ):
        errors.append("no section Returns")
    return errors


@pytest.mark.parametrize(("name", "package"), sorted(PUBLIC))
def test_docstrings_are_complete(name, package):
    pytest.importorskip("numpydoc")
    value = getattr(import_module(package), name)
    wrong = numpydoc_errors(f"{package}.{name}", value)
    for member in api.members_of(value) if isinstance(value, type) else ():
        errors = numpydoc_errors(f"{package}.{name}.{member}", getattr(value, member))
        wrong += [f"{member}: {error}" for error in errors]
    assert not wrong


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Double x.\n\n    Returns\n    -------\n    float\n    ", "PR01"),
        ("Double x.\n\n    Parameters\n    ----------\n    x : float\n    ", "RT01"),
    ],
)
def test_missing_section_is_found(tmp_path, monkeypatch, text, code):
    pytest.importorskip("numpydoc")
    (tmp_path / "documented.py").write_text(
        f'def double(x):\n    """{text}"""\n    return 2 * x\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "documented", raising=False)
    double = import_module("documented").double
    assert any(
        error.startswith(code) for error in numpydoc_errors("documented.double", double)
    )


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_link_to_their_page(name):
    cls = getattr(import_module(NAMES[name]), name)
    link = cls.__new__(cls)._get_doc_link()
    assert link == f"{site_address()}/api/generated/{NAMES[name]}.{name}.html"


def test_address_is_that_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert site_address() == project["urls"]["Documentation"]


def test_estimators_have_no_link_without_an_address(monkeypatch):
    monkeypatch.setattr("dempster._site.site_address", lambda: "")
    assert ECM()._get_doc_link() == ""
    assert ECM()._repr_html_()


def test_every_clusterer_and_classifier_has_a_page():
    pages = {page.stem for page in (DOCS / "methods").glob("*.md")}
    methods = {
        n.lower()
        for n in ESTIMATORS
        if NAMES[n] in ("dempster.cluster", "dempster.classify")
    }
    # It is described on the page on the calculus.
    elsewhere = {"contextualdiscounting"}
    # page on soft clustering
    elsewhere |= {
        "fuzzycmeans",
        "noiseclustering",
        "possibilisticcmeans",
        "roughkmeans",
    }
    # page on conformal sets
    elsewhere |= {
        "conformalclassifier",
        "conformalclustering",
        "conformalnoveltydetector",
    }
    assert not methods - pages - elsewhere


# ---- text of docstrings and reports --------------------------------------------------------------


def test_symbols_become_formulas():
    import docstrings

    lines = [
        "The cost d_ij of `x_i` and |A|:",
        "",
        ".. math::",
        "",
        "    |a_i|",
        "",
        "Here mu_A is ``m_A``.",
    ]
    docstrings.convert_docstring(None, "class", "name", None, None, lines)
    assert lines == [
        r"The cost \ :math:`d_{ij}`\  of `x_i` and \|A\|:",
        *["", ".. math::", "", "    |a_i|", ""],
        r"Here \ :math:`\mu_{A}`\  is ``m_A``.",
    ]


def test_report_is_split_by_paper(tmp_path, monkeypatch):
    import reproduction

    report = """# Reproduction
## Overview
[Table](#table-1-data) and [overview](#overview)
## First (A, 2020)
![x](figures/x.png)

![y](figures/y.png)

*The caption of y.*
## Second
### Table 1: data
"""
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "x.png").touch()
    monkeypatch.setattr(reproduction, "REPORT", tmp_path / "RESULTS.md")
    files = reproduction.split(report)
    assert (
        "[Table](/reproduction/second.md#table-1-data) and [overview](#overview)"
        in files["overview.txt"]
    )
    assert files["first-a-2020.md"].endswith(
        "# First (A, 2020)\n![x](../../reproduce/figures/x.png)\n\n*The caption of y.*\n"
    )
    assert files["second.md"].endswith("\n# Second\n## Table 1: data\n")


def test_items_of_the_documents_link_to_sections_and_public_names():
    import reproduction

    text = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    pages = reproduction.split(reproduction.REPORT.read_text(encoding="utf-8"))
    headings = {
        page: map(
            reproduction.slug, re.findall(r"^#+ (.*)$", pages[page], re.MULTILINE)
        )
        for page in pages
    }
    anchors = {(page, heading) for page in pages for heading in headings[page]}
    links = re.findall(r"\]\(/reproduction/([^)#]+)#([^)]+)\)", text)
    assert len(links) > 50
    assert not set(links) - anchors
    for name in re.findall(r"\{py:obj\}`[^<]*<([^>]+)>`", text):
        public = next(
            part
            for part in name.split(".")
            if name.startswith(f"{NAMES.get(part)}.{part}")
        )
        member = name.removeprefix(f"{NAMES[public]}.{public}")
        assert not member or member[1:] in api.members_of(
            getattr(import_module(NAMES[public]), public)
        ), name
    states = Counter(re.findall(r"\| (\w+) \| [^|]* \|$", text, re.MULTILINE))
    del states["state"]
    assert states.keys() == {"done", "partly", "missing"}
    counts = ", ".join(
        f"{states[state]} {state}" for state in ("done", "partly", "missing")
    )
    assert f"{states.total()} items: {counts}." in text


# ---- numbers from reports ------------------------------------------------------------------------

PAGES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if not {"_build", "api", "reproduction"} & set(page.parts)
]
PAGES = [
    page
    for page in PAGES
    if page.name not in ("README.md", "releasing.md", "template.md")
]
NOT_PROSE = re.compile(
    r"^(`{3,}).*?^\1$|<!--.*?-->|!\[.*?\]\(.*?\)|\$\$.*?\$\$|\$[^$\n]+\$|`[^`\n]+`|\{\{.*?\}\}",
    re.DOTALL | re.MULTILINE,
)
TYPED = re.compile(
    r"(?<![\w.])\d[\d,.]* (?:ms|s|µs|minutes?|seconds?|hours?|[MG]B)\b"  # times and memory
    r"|\b(?:one|two|three|four|five|ten|few) seconds\b"
    r"|(?<![\d.,])[01]\.\d{2,3}(?![\d.])"  # scores
)
# Text that may contain such a number, by page, with the reason.
ALLOWED = {
    "anndata.md": ["anndata 0.12 or later"],  # a version
    "coming_from_mixtures.md": ["a probability of 0.99"],  # an example
    "conformal.md": [
        "a probability of 0.95 may",  # an example
        # follows from the beta distribution of the coverage
        "deviation of 0.03 at 90%; with 1,000 objects, of 0.01",
        "are about 0.003, which",  # follows from the number of calibration objects
    ],
    "methods/bootclus.md": ["a confidence of 0.999"],  # a parameter
    "methods/catecm.md": ["With the default, -0.25"],  # a parameter
    "methods/eknnclassifier.md": ["the published error is 0.074"],  # a paper
    "methods/evclus.md": ["| 0.95 (hence"],  # a constant
    "methods/evidentialneuralnetworkclassifier.md": [
        "so 0.01 is large",
        "the published error is 0.333",
    ],  # parameter, paper
    "report.md": ["is smaller than 5 MB"],  # tested in tests/apps/report
    "studio.md": [
        "limited to 1 GB",
        "an upload (1 GB)",
        "4 MB",
    ],  # limits, size of another package
}
# Numbers in texts that are not built with the site: cells of the reports, and others.
EVCLUS_FIT = "{{bench: RESULTS / evclus / EVCLUS fit, %s objects / time}}"
QUOTED = {
    "README.md": [
        f"{{{{bench: CHOICE / Benchmark suite / {rule} / ARI}}}}"
        for rule in (
            "CredalClustering",
            "CredalClustering, true number given",
            "HDBSCAN",
            "k-means",
        )
    ],
    "paper/paper.md": [
        *(EVCLUS_FIT % n for n in ("1,000,000", "10,000,000")),
        *(
            f"{{{{bench: DEFAULTS / {section} / {method} / {column}}}}}"
            for method in ("EVCLUS", "k-means", "Gaussian mixture")
            for section, column in (
                ("Labels", "ARI"),
                ("Labels", "confirmed on"),
                ("Usefulness", "80 % kept"),
            )
        ),
        "{{bench: DEFAULTS / Labels / CredalClustering / ARI}}",
        "{{bench: DEFAULTS / Generated families / EVCLUS / rings / #}}",
        "{{bench: DEFAULTS / Generated families / CredalClustering / rings / #}}",
        "{{bench: DEFAULTS / Number of clusters / rings / HDBSCAN / #}}",
        "0.72",  # a negative mass in RESULTS.md
        "0.03",  # the differences that the reproduction counts
    ],
}


def prose_of(page):
    """Return the text of a page without code, formulas, figures, records, and numbers that are allowed."""
    text = NOT_PROSE.sub("", page.read_text(encoding="utf-8"))
    for words in ALLOWED.get(page.relative_to(DOCS).as_posix(), []):
        assert words in " ".join(text.split()), (
            f"{page.name} does not contain {words!r}"
        )
        text = " ".join(text.split()).replace(words, "")
    return text


@pytest.mark.parametrize(
    "page", PAGES, ids=lambda page: page.relative_to(DOCS).as_posix()
)
def test_numbers_come_from_reports(page):
    records.insert(page.read_text(encoding="utf-8"))  # All numbers exist.
    assert not TYPED.findall(prose_of(page)), (
        "insert times and scores by {{bench: ...}}, see docs/_ext/records.py"
    )


@pytest.mark.parametrize("name", sorted(QUOTED))
def test_numbers_agree_with_reports(name):
    text = NOT_PROSE.sub("", (ROOT / name).read_text(encoding="utf-8"))
    assert set(TYPED.findall(text)) <= {
        records.insert(number) for number in QUOTED[name]
    }


def test_counts_of_the_paper_agree_with_the_reproduction():
    page = (ROOT / "reproduce" / "RESULTS.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| all \|.*$", page, flags=re.MULTILINE)
    scores, within, above, below = row.split("|")[4:8]
    expected = (
        f"Of {scores.strip()} scores that can be compared, {within.strip()} are within 0.03 of the "
        f"printed ones, {above.strip()} are above and {below.strip()} below"
    )
    paper = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
    assert expected in " ".join(paper.split())


@pytest.mark.parametrize(
    "page", ["README.md", "docs/README.md", "CONTRIBUTING.md", "SUPPORT.md"]
)
def test_links_work_in_a_clone(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    text = text.partition("## How to write a page")[0]  # with links of other pages
    links = set(re.findall(r"\]\((?!https:|#)([^)#]+)", re.sub("`[^`\n]+`", "", text)))
    assert links
    folder = (ROOT / page).parent
    assert [link for link in links if not (folder / link).exists()] == []


def test_links_of_the_readme_are_absolute_on_a_package_index(monkeypatch):
    pytest.importorskip("hatchling")
    monkeypatch.syspath_prepend(ROOT)
    absolute_links = import_module("hatch_build").absolute_links
    text = "![a](x/y.png) [c](d.md#e), [f](https://g.org), [h](#i)"
    assert absolute_links(text, "https://host/me/it") == (
        "![a](https://host/me/it/raw/main/x/y.png) "
        "[c](https://host/me/it/blob/main/d.md#e), [f](https://g.org), [h](#i)"
    )
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    described = absolute_links(readme, "https://host/me/it")
    assert not re.findall(r"\]\((?!https:|#)", described)
    assert described.count("https://host/me/it/raw/main/docs/images/") == 2


def test_records_are_found_by_the_beginning_of_names():
    cell = "RESULTS / all / EVCLUS"
    assert records.insert(
        f"{{{{bench: {cell} / quality}}}}"
    ) == "ARI " + records.insert(f"{{{{bench: {cell} / quality / ARI}}}}")
    assert records.insert("{{table: QUESTIONS / Mean}}").startswith(
        "| strategy | 0 | 10 |"
    )
    for wrong in (
        "NONE / a / b / c",
        f"{cell} fit / time",
        "RESULTS / evclus / EVCLUS fit / time",
        f"{cell} / none",
    ):
        with pytest.raises(records.RecordError):
            records.insert(f"{{{{bench: {wrong}}}}}")


def test_new_report_on_defaults_has_the_numbers_of_the_pages(tmp_path, monkeypatch):
    """The pages need not change when `make defaults` writes the report again."""
    from benchmarks.defaults.page import write_page

    from tests.test_defaults import records as random_measures

    write_page(random_measures(6), tmp_path / "DEFAULTS.md")
    monkeypatch.setattr(records, "report_file", lambda name: tmp_path / f"{name}.md")
    # without the cache
    monkeypatch.setattr(records, "sections", records.sections.__wrapped__)
    marks = {
        mark[0]
        for page in PAGES
        for mark in records.MARK.finditer(page.read_text(encoding="utf-8"))
    }
    numbers = [
        records.insert(mark) for mark in marks if mark.startswith("{{bench: DEFAULTS")
    ]
    assert len(numbers) > 50


@pytest.mark.parametrize(
    "text",
    [
        "takes 0.3 s.",
        "in 12 minutes",
        "2.7 GB",
        "is 0.597",
        "| 1.00 |",
        "in two seconds",
    ],
)
def test_typed_numbers_are_noticed(text):
    assert TYPED.search(text)
    assert not TYPED.search(NOT_PROSE.sub("", f"`{text}` ![{text}](figure.png)"))


# ---- code of the pages ---------------------------------------------------------------------------

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
    with pytest.raises(
        blocks.PageError, match=r"block 2, line 16:(.|\n)*ZeroDivisionError"
    ):
        blocks.run_page(page, tmp_path)


# ---- optional packages ---------------------------------------------------------------------------


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
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]["workflows"]
    installed = {re.match(r"[\w-]+", requirement)[0] for requirement in extra}
    texts = [
        page.read_text(encoding="utf-8")
        for page in DOCS.rglob("*.md")
        if "_build" not in page.parts
    ]
    needed = {
        name.strip()
        for text in texts
        for m in blocks.NEEDS.finditer(text)
        for name in m["packages"].split(",")
    }
    assert {"scanpy", "nilearn", "palmerpenguins"} <= needed <= installed


@pytest.mark.parametrize("name", ["cells", "tissue", "monitoring", "penguins", "texts"])
def test_workflow_figures_have_descriptions(name):
    text = (DOCS / "workflows" / f"{name}.md").read_text(encoding="utf-8")
    found = blocks.blocks_of(text)
    assert 2 <= sum(block.alt is not None for block in found) <= 4
    for block in found:
        compile(block.code, name, "exec")
        assert block.alt or "plt.subplots" not in block.code, (
            f"line {block.line}: a figure without description"
        )
