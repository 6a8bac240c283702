"""Draw figures that no block of a page draws: the script ``figures/ecm.py`` writes ``ecm-alpha.png`` and others.

A page shows them with ``![description](figures/ecm-alpha.png)``. They are drawn when the site is
built.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import imagesize
import running
from sphinx.application import Sphinx
from sphinx.util import logging

FOLDER = running.DOCS / "figures"
LINK = re.compile(
    r"!\[(?P<alt>[^\]]*)\]\((?P<path>[./]*figures/(?P<name>[\w-]+)\.png)\)"
)
MAX_PLAIN_WIDTH = 900  # pixels; wider figures can be scrolled
logger = logging.getLogger(__name__)


def draw_all(app: Sphinx) -> None:
    if int(app.config.quick):
        return

    def folder(script: Path) -> Path:
        shared = "".join(
            file.read_text(encoding="utf-8") for file in sorted(FOLDER.glob("_*.py"))
        )
        return running.folder_of(
            f"figure-{script.stem}", script.read_text(encoding="utf-8") + shared
        )

    def work(script: Path) -> None:
        if not running.is_done(folder(script)):
            error = running.run_script(script, folder(script))
            if error:
                logger.warning(f"figures/{script.name} fails: {error}")
        for picture in folder(script).glob("*.png"):
            (FOLDER / picture.name).write_bytes(picture.read_bytes())

    running.run_parallel(sorted(FOLDER.glob("[!_]*.py")), work, "drawing")


def replace_figures(app: Sphinx, name: str, source: list[str]) -> None:
    """Check that every figure has a script and a description.

    A quick build shows only the description.
    """

    def picture(m: re.Match[str]) -> str:
        if not (FOLDER / f"{m['name'].split('-')[0]}.py").exists():
            logger.warning(
                f"no script in docs/figures draws {m['name']}.png", location=name
            )
        if not m["alt"].strip():
            logger.warning(f"{m['name']}.png has no description", location=name)
        if int(app.config.quick):
            return f"*(picture: {m['alt']})*"
        return render_image(m["path"], m["alt"], FOLDER / f"{m['name']}.png")

    source[0] = LINK.sub(picture, source[0])


def render_image(path: str, alt: str, file: Path) -> str:
    """Return a figure in Markdown; wide figures can be scrolled on narrow screens."""
    image = f"```{{image}} {path}\n:alt: {alt}\n```"
    if imagesize.get(file)[0] > MAX_PLAIN_WIDTH:
        return f"````{{container}} wide\n{image}\n````"
    return image


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("builder-inited", draw_all)
    app.connect("source-read", replace_figures)
    return {"parallel_read_safe": True}
