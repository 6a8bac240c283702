"""The code of the pages is run, and what it prints and draws stands below it.

A page that needs a package which is not there is built without its results, and says so.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import running
from blocks import NEEDS, Block, blocks_of, missing_packages
from sphinx.application import Sphinx
from sphinx.util import logging

from figures import image

logger = logging.getLogger(__name__)


def folder_of(page: Path) -> Path:
    """Where the results of a page are kept."""
    name = "-".join(page.relative_to(running.DOCS).with_suffix("").parts)
    code = json.dumps([block[:3] for block in blocks_of(page.read_text(encoding="utf-8"))])
    return running.folder_of(f"page-{name}", code)


def run_all(app: Sphinx) -> None:
    """Run the pages whose code or whose library has changed, in a few processes: most of the time goes into imports."""
    app.env.find_files(app.config, app.builder)
    pages = [Path(app.srcdir, f"{name}.md") for name in sorted(app.env.found_docs)]
    waiting = [page for page in pages if page.exists() and is_waiting(page)]

    def work(some: list[Path]) -> None:
        done = running.python(
            str(running.HERE / "blocks.py"), *(str(path) for page in some for path in (page, folder_of(page)))
        )
        if done.returncode:
            logger.warning(f"the code of a page fails: {done.stderr[-4000:]}")

    shares = [waiting[start :: running.AT_ONCE] for start in range(running.AT_ONCE)]
    running.all_of([share for share in shares if share], work, f"running the code of {len(waiting)} pages")


def is_waiting(page: Path) -> bool:
    """Whether a page has code that can be run and has not been."""
    text = page.read_text(encoding="utf-8")
    return bool(blocks_of(text)) and not missing_packages(text) and not running.is_done(folder_of(page))


def with_results(app: Sphinx, name: str, source: list[str]) -> None:
    """Put results below their blocks."""
    page = Path(app.srcdir, f"{name}.md")
    blocks = blocks_of(source[0]) if page.exists() else []
    if not blocks:
        return
    app.env.note_dependency(str(folder_of(page) / "results.json"), docname=name)  # read anew when it is run anew
    if not running.is_done(folder_of(page)):
        source[0] = saying_what_is_missing(source[0])
        return  # it needs what is not there, or it failed, and that was said
    text, at = "", 0
    for block, result in zip(blocks, running.results_in(folder_of(page)), strict=True):
        text += source[0][at : block.end] + shown(block, result, folder_of(page), name)
        at = block.end
    source[0] = text + source[0][at:]


def saying_what_is_missing(text: str) -> str:
    """The page with a note in place of ``<!-- needs: ... -->`` if a package is missing."""
    names = missing_packages(text)
    if not names:
        return text
    absent = f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'}"
    note = (
        f":::{{note}}\nThis page was built where {absent} not installed: "
        'its code is shown but was not run. `pip install "dempster[workflows]"` brings what it needs.\n:::'
    )
    return NEEDS.sub(lambda m: note, text, count=1)


def listed(app: Sphinx, name: str, source: list[str]) -> None:
    """``program?`` in a list of pages: only if there is such a page."""

    def page(m: re.Match[str]) -> str:
        file = Path(app.srcdir, name).with_name(f"{m[1]}.md")
        app.env.note_dependency(str(file), docname=name)  # the list is read anew when the page comes
        return m[1] if file.exists() else ""

    source[0] = re.sub(r"^(\w+)\?$", page, source[0], flags=re.MULTILINE)


def shown(block: Block, result: dict[str, Any], folder: Path, name: str) -> str:
    """What a block printed and drew, in Markdown."""
    text = ""
    if result["printed"].strip():
        text += f"\n\n:::{{container}} printed\n````text\n{result['printed'].rstrip()}\n````\n:::\n"
    if result["pictures"] and not block.alt:
        logger.warning(f"line {block.line}: a picture without <!-- picture: what it shows -->", location=name)
    for picture in result["pictures"]:
        path = f"/{(folder / picture).relative_to(running.DOCS).as_posix()}"
        text += f"\n\n{image(path, block.alt or '', folder / picture)}\n"
    return text


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_config_value("quick", False, "env", types=(bool, int, str))
    app.connect("builder-inited", run_all)
    app.connect("source-read", listed)
    app.connect("source-read", with_results)
    return {"parallel_read_safe": True}
