"""Split the report of ``make reproduce`` into an overview and a page for each paper.

The repository contains the report without its figures. The site shows those that a run of ``make
reproduce`` has left, and the captions of the others.
"""

from __future__ import annotations

import re
from typing import Any

import running
from sphinx.application import Sphinx

FOLDER = running.DOCS / "reproduction"
REPORT = running.ROOT / "reproduce" / "RESULTS.md"
# for wide tables, as WIDE_PAGES in conf.py
WIDE = "---\nhtml_theme.sidebar_secondary.remove: true\n---\n\n"
FIGURE = re.compile(r"^!\[(?P<caption>.*)\]\((?P<path>figures/.*)\)\n\n", re.MULTILINE)


def slug(heading: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\s-]", "", heading.lower()).replace(" ", "-")


def locate_figure(figure: re.Match[str]) -> str:
    """Return the Markdown of a figure, which is empty if the figure has not been drawn."""
    if not (REPORT.parent / figure["path"]).exists():
        return ""
    return f"![{figure['caption']}](../../reproduce/{figure['path']})\n\n"


def split(report: str) -> dict[str, str]:
    """Return the text of each file.

    Links to headings become links to the page that contains the heading.
    """
    sections = re.split(r"^(?=## )", report, flags=re.MULTILINE)
    n_general = 1 + next(
        i for i, text in enumerate(sections) if text.startswith("## Overview")
    )
    papers = {slug(text.partition("\n")[0][3:]): text for text in sections[n_general:]}
    pages = {
        slug(heading): name
        for name, text in papers.items()
        for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    }

    def link(text: str) -> str:
        return re.sub(
            r"(?<=\]\()#([^)]*)",
            lambda m: (
                f"/reproduction/{pages[m[1]]}.md{m[0]}" if m[1] in pages else m[0]
            ),
            text,
        )

    toctree = (
        "```{toctree}\n:hidden:\n\n"
        + "".join(f"reproduction/{name}\n" for name in papers)
        + "```\n"
    )
    files = {"overview.txt": link("".join(sections[:n_general])) + toctree}
    for name, text in papers.items():
        text = re.sub(r"^#(#+ )", r"\1", text, flags=re.MULTILINE)
        files[f"{name}.md"] = WIDE + FIGURE.sub(locate_figure, link(text))
    return files


def write_all(app: Sphinx, config: Any) -> None:
    FOLDER.mkdir(exist_ok=True)
    files = split(REPORT.read_text(encoding="utf-8"))
    for name, text in files.items():
        file = FOLDER / name
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
    for file in FOLDER.iterdir():
        if file.name not in files:
            file.unlink()


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", write_all)
    return {"parallel_read_safe": True}
