"""Run the code of the pages and insert its output and figures, and numbers of the reports.

If a package that a page needs is not installed, the page is built without results and with a note.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import records
import running
from blocks import NEEDS, Block, blocks_of, missing_packages
from figures import render_image
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def folder_of(page: Path) -> Path:
    """Return the folder for the results of a page."""
    name = "-".join(page.relative_to(running.DOCS).with_suffix("").parts)
    code = json.dumps(
        [block[:3] for block in blocks_of(page.read_text(encoding="utf-8"))]
    )
    return running.folder_of(f"page-{name}", code)


def run_all(app: Sphinx) -> None:
    """Run pages whose code, or the library, has changed, in a few processes, because imports take most of the time."""
    app.env.find_files(app.config, app.builder)
    pages = [Path(app.srcdir, f"{name}.md") for name in sorted(app.env.found_docs)]
    pending = [page for page in pages if page.exists() and needs_run(page)]

    def work(some: list[Path]) -> None:
        done = running.python(
            str(running.HERE / "blocks.py"),
            *(str(path) for page in some for path in (page, folder_of(page))),
        )
        if done.returncode:
            logger.warning(f"the code of a page fails: {done.stderr[-4000:]}")

    shares = [
        pending[start :: running.MAX_PROCESSES]
        for start in range(running.MAX_PROCESSES)
    ]
    running.run_parallel(
        [share for share in shares if share],
        work,
        f"running the code of {len(pending)} pages",
    )


def needs_run(page: Path) -> bool:
    """Return whether a page has code that can be run and has not been run."""
    text = page.read_text(encoding="utf-8")
    return (
        bool(blocks_of(text))
        and not missing_packages(text)
        and not running.is_done(folder_of(page))
    )


def add_results(app: Sphinx, name: str, source: list[str]) -> None:
    """Insert the results below their blocks."""
    page = Path(app.srcdir, f"{name}.md")
    if page.exists():
        blocks = blocks_of(source[0])
    else:
        blocks = []
    if not blocks:
        return
    # Read the page again after a run.
    app.env.note_dependency(str(folder_of(page) / "results.json"), docname=name)
    if not running.is_done(folder_of(page)):
        source[0] = add_missing_note(source[0])
        return  # A package is missing, or the code failed and a warning was logged.
    text = ""
    at = 0
    for block, result in zip(blocks, running.results_in(folder_of(page)), strict=True):
        text += source[0][at : block.end] + render_result(
            block, result, folder_of(page), name
        )
        at = block.end
    source[0] = text + source[0][at:]


def insert_records(app: Sphinx, name: str, source: list[str]) -> None:
    """Replace ``{{bench: ...}}`` and ``{{table: ...}}`` by numbers and tables of the reports."""
    for report in records.reports_in(source[0]):
        app.env.note_dependency(str(records.report_file(report)), docname=name)
    try:
        source[0] = records.insert(source[0])
    except records.RecordError as error:
        logger.warning(str(error), location=name)


def add_missing_note(text: str) -> str:
    """Replace ``<!-- needs: ... -->`` by a note if a package is missing."""
    names = missing_packages(text)
    if not names:
        return text
    note = (
        f":::{{note}}\nThis page was built without {' and '.join(names)}, so its code is shown but was not run. "
        '`pip install ".[workflows]"` in a checkout installs the required packages.\n:::'
    )
    return NEEDS.sub(lambda m: note, text, count=1)


def resolve_optional_pages(app: Sphinx, name: str, source: list[str]) -> None:
    """Replace ``program?`` in a list of pages by ``program`` if the page exists, otherwise remove it."""

    def page(m: re.Match[str]) -> str:
        file = Path(app.srcdir, name).with_name(f"{m[1]}.md")
        # Read the list again when the page is added.
        app.env.note_dependency(str(file), docname=name)
        if file.exists():
            return m[1]
        return ""

    source[0] = re.sub(r"^(\w+)\?$", page, source[0], flags=re.MULTILINE)


def render_result(block: Block, result: dict[str, Any], folder: Path, name: str) -> str:
    """Return the output and figures of a block in Markdown."""
    text = ""
    # Times depend on the machine.
    printed = re.sub(r"\d+\.\d+(?= seconds\b)", "…", result["printed"].rstrip())
    if printed:
        text += f"\n\n:::{{container}} printed\n````text\n{printed}\n````\n:::\n"
    if result["pictures"] and not block.alt:
        logger.warning(
            f"line {block.line}: a figure without <!-- picture: description -->",
            location=name,
        )
    for picture in result["pictures"]:
        path = f"/{(folder / picture).relative_to(running.DOCS).as_posix()}"
        text += f"\n\n{render_image(path, block.alt or '', folder / picture)}\n"
    return text


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("quick", False, "env", types=(bool, int, str))
    app.connect("builder-inited", run_all)
    app.connect("source-read", resolve_optional_pages)
    app.connect("source-read", insert_records)
    app.connect("source-read", add_results)
    return {"parallel_read_safe": True}
