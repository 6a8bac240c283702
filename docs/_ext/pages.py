"""The code of the pages is run, and what it prints and draws stands below it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import running
from blocks import Block, blocks_of
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def code_of(path: Path) -> str:
    return json.dumps([block[:3] for block in blocks_of(path.read_text(encoding="utf-8"))])


def results_of(app: Sphinx, name: str) -> tuple[Path, list[dict[str, Any]]]:
    path = Path(app.srcdir, f"{name}.md")
    folder = running.folder_of(name.replace("/", "-"), code_of(path))
    return folder, json.loads((folder / "results.json").read_text(encoding="utf-8"))


def run_all(app: Sphinx) -> None:
    """Run the pages whose code or whose library has changed."""
    app.env.find_files(app.config, app.builder)
    pages = [name for name in sorted(app.env.found_docs) if Path(app.srcdir, f"{name}.md").exists()]

    def folder(name: str) -> Path:
        return running.folder_of(name.replace("/", "-"), code_of(Path(app.srcdir, f"{name}.md")))

    def work(name: str) -> None:
        result = running.run([str(running.HERE / "blocks.py"), str(Path(app.srcdir, f"{name}.md"))], folder(name))
        if result["failed"]:
            logger.warning(f"code of the page fails: {result['error']}", location=name)

    waiting = [name for name in pages if code_of(Path(app.srcdir, f"{name}.md")) != "[]" and not running.is_done(folder(name))]
    running.all_of(waiting, work, "running the code of the pages")


def with_results(app: Sphinx, name: str, source: list[str]) -> None:
    """Put results below their blocks."""
    path = Path(app.srcdir, f"{name}.md")
    blocks = blocks_of(source[0]) if path.exists() else []
    if not blocks:
        return
    folder = running.folder_of(name.replace("/", "-"), code_of(path))
    if not running.is_done(folder):
        return  # it failed, and that was said
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    text, at = "", 0
    for block, result in zip(blocks, results, strict=True):
        text += source[0][at : block.end] + shown(block, result, folder, name)
        at = block.end
    source[0] = text + source[0][at:]


def shown(block: Block, result: dict[str, Any], folder: Path, name: str) -> str:
    """What a block printed and drew, in Markdown."""
    text = ""
    if result["printed"].strip():
        text += f"\n\n:::{{container}} printed\n````text\n{result['printed'].rstrip()}\n````\n:::\n"
    if result["pictures"] and not block.alt:
        logger.warning(f"line {block.line}: a picture without <!-- picture: what it shows -->", location=name)
    for picture in result["pictures"]:
        text += f"\n\n```{{image}} /{(folder / picture).relative_to(running.DOCS).as_posix()}\n:alt: {block.alt}\n```\n"
    return text


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("quick", False, "env", types=(bool, int, str))
    app.connect("builder-inited", run_all)
    app.connect("source-read", with_results)
    return {"parallel_read_safe": True}
