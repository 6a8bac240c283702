"""Add the page "Try it in the browser" to the site, and let readers run the examples of some pages.

`tools/browser.py` builds the page. It is not built in quick builds, and if the distribution of
Pyodide cannot be downloaded.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import running
from sphinx.application import Sphinx
from sphinx.util import logging

sys.path.insert(0, str(running.ROOT))

from tools.browser import UnavailableError, build_page

LIVE_PAGES = ("index", "start", "partition")
MISSING = (
    "<!doctype html><title>Not built</title><p>The page was not built: {reason}.</p>\n"
)

logger = logging.getLogger(__name__)


def add_page(app: Sphinx) -> None:
    """Write the page into the folder of the site."""
    app.has_live_cells = False  # type: ignore[attr-defined]
    if app.builder.format != "html" or int(app.config.quick):
        return
    try:
        build_page(Path(app.outdir))
        app.has_live_cells = True  # type: ignore[attr-defined]
    except UnavailableError as error:
        logger.info(f"try.html was not built: {error}")
        page = Path(app.outdir, "try.html")
        page.write_text(MISSING.format(reason=error), encoding="utf-8")


def add_cells(
    app: Sphinx, name: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Add the script of the live cells to pages whose examples can be run."""
    if name in LIVE_PAGES and app.has_live_cells:  # type: ignore[attr-defined]
        app.add_css_file("../try/cells.css")
        app.add_js_file("../try/cells.js", type="module")


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", add_page)
    app.connect("html-page-context", add_cells)
    return {"parallel_read_safe": True}
