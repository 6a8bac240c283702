"""Build the gallery: a page, a notebook and a tile for every script of ``examples/``.

A comment at the beginning of a line, after a blank line, becomes text; `pages` runs the block of
code below it. The paragraph ``# Picture: ...`` of such a comment describes the figure that the
block draws.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import running
from pages import folder_of
from sphinx.application import Sphinx
from sphinx.util import logging

FOLDER = running.DOCS / "gallery"
EXAMPLES = running.ROOT / "examples"
SECTIONS = {
    "First steps": {
        "quickstart": "Cluster a table and read the result",
        "missing_values": "Cluster a table with missing values",
        "detect_novelty": "Detect novel objects and anomalies",
        "evidential_classification": "Classify with rejection and soft labels",
        "conformal_sets": "Sets of classes with guaranteed coverage",
    },
    "Understand a result": {
        "explain_an_object": "Why is this object ambiguous?",
        "describe_clusters": "Describe clusters by their columns",
        "describe_by_rules": "Describe a partition by a few rules",
        "measure_quality": "Measure the quality of a partition",
        "calibrated_clustering": "Calibrated intervals for pairs of objects",
    },
    "Experts and several sources": {
        "expert_in_the_loop": "Ask an expert about informative pairs",
        "compare_and_combine": "Compare and combine partitions",
        "combine_evidence": "Combine labels, votes and memberships",
        "sensor_fusion": "Fuse two sensors, one of them noisy",
        "several_views": "Cluster several views of the same objects",
    },
    "Images": {
        "segment_an_image": "Segment images and mark ambiguous boundaries",
        "custom_network": "Cluster images with a custom network",
    },
    "Scale": {
        "larger_than_memory": "Cluster data larger than memory",
        "follow_a_stream": "Follow a stream with moving clusters",
        "resume_a_fit": "Resume an interrupted fit",
    },
    "Files and reports": {
        "models_in_files": "Save and load models",
        "run_a_recipe": "Describe a whole run as a recipe",
        "write_a_report": "Write an HTML report",
    },
}
TITLES = {stem: title for entries in SECTIONS.values() for stem, title in entries.items()}
logger = logging.getLogger(__name__)


class Cell(NamedTuple):
    """Text, description of the figure, and code of a step of an example."""

    text: str
    alt: str
    code: str


def cells_of(script: Path) -> list[Cell]:
    """Return the steps of a script.

    The first contains the docstring, without the line on how to run it.
    """
    source = script.read_text(encoding="utf-8")
    tree = ast.parse(source)
    lead = re.sub(
        r"\n*^ *python examples/.*$", "", ast.get_docstring(tree) or "", flags=re.MULTILINE
    )
    code = "\n".join(source.splitlines()[tree.body[0].end_lineno :])
    cells = [Cell(lead.strip(), "", "")]
    for part in re.split(r"\n\n+(?=# )", code):
        comment = re.match(r"(?:#.*(?:\n|$))*", part.lstrip("\n"))[0]
        text, _, alt = re.sub(r"^# ?", "", comment, flags=re.MULTILINE).partition("Picture: ")
        cells.append(
            Cell(text.strip(), " ".join(alt.split()), part.lstrip("\n")[len(comment) :].strip("\n"))
        )
    return cells


def write_pages(app: Sphinx, config: Any) -> None:
    """Write the pages and notebooks of the examples, which are run together with the other pages."""
    FOLDER.mkdir(exist_ok=True)
    for stem in TITLES:
        write(f"{stem}.md", page(stem))
        write(f"{stem}.ipynb", json.dumps(notebook(stem), indent=1) + "\n")
    for file in FOLDER.glob("*.*"):
        if file.stem not in {"index", *TITLES}:
            file.unlink()


def write_index(app: Sphinx) -> None:
    write("index.md", index())


def write(name: str, text: str) -> None:
    file = FOLDER / name
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def page(stem: str) -> str:
    first, *cells = cells_of(EXAMPLES / f"{stem}.py")
    files = (
        f"{{download}}`script <../../examples/{stem}.py>` or {{download}}`notebook <{stem}.ipynb>`"
    )
    parts = [f"# {TITLES[stem]}", first.text, f"Download this example as a {files}."]
    for cell in cells:
        if cell.alt:
            picture = f"<!-- picture: {cell.alt} -->\n"
        else:
            picture = ""
        parts += [cell.text, f"{picture}```python\n{cell.code}\n```"]
    return "\n\n".join(part for part in parts if part) + "\n"


def notebook(stem: str) -> dict[str, Any]:
    """Return an example as a Jupyter notebook in the format 4.4."""
    cells: list[dict[str, Any]] = []
    for cell in cells_of(EXAMPLES / f"{stem}.py"):
        if cells:
            text = cell.text
        else:
            text = f"# {TITLES[stem]}\n\n{cell.text}"
        if text:
            cells.append({"cell_type": "markdown", "metadata": {}, "source": text})
        if cell.code:
            code = {"execution_count": None, "metadata": {}, "outputs": [], "source": cell.code}
            cells.append({"cell_type": "code", **code})
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 4}


def tile(stem: str) -> str:
    """Return the tile of an example: its first figure, its title and its first paragraph."""
    cells = cells_of(EXAMPLES / f"{stem}.py")
    folder = folder_of(FOLDER / f"{stem}.md")
    pictures = []
    if running.is_done(folder):
        pictures = [name for result in running.results_in(folder) for name in result["pictures"]]
    shown = ""
    if pictures:
        path = f"/{(folder / pictures[0]).relative_to(running.DOCS).as_posix()}"
        alt = next(cell.alt for cell in cells if cell.alt)
        shown = f"```{{image}} {path}\n:alt: {alt}\n:target: {stem}.html\n```\n\n"
    lead = " ".join(cells[0].text.split("\n\n")[0].split())
    return f"::::{{container}} tile\n{shown}[{TITLES[stem]}]({stem}.md)\n\n{lead}\n::::"


def index() -> str:
    """Return the page with a tile for every example."""
    parts = [
        "# Gallery",
        "Every example runs in seconds, and can be downloaded as a script or as a notebook. The output on the pages "
        "was computed by these scripts.",
        "```{toctree}\n:hidden:\n\n" + "\n".join(TITLES) + "\n```",
    ]
    for section, entries in SECTIONS.items():
        tiles = "\n\n".join(tile(stem) for stem in entries)
        parts += [f"## {section}", f":::::{{container}} tiles\n{tiles}\n:::::"]
    return "\n\n".join(parts) + "\n"


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", write_pages)
    app.connect("builder-inited", write_index, priority=600)  # after `pages` has run the examples
    return {"parallel_read_safe": True}
