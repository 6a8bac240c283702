"""Build the gallery: run every script of ``examples/`` and show its code, output and figures.

The examples are plain scripts that write files. Other gallery extensions need scripts in a special format.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import running
from sphinx.application import Sphinx
from sphinx.util import logging

from figures import render_image

FOLDER = running.DOCS / "gallery"
EXAMPLES = running.ROOT / "examples"
RESULTS = running.ROOT / "reproduce" / "RESULTS.md"
logger = logging.getLogger(__name__)


def title_of(script: Path) -> str:
    return script.stem.replace("_", " ").capitalize()


def lead_and_code(script: Path) -> tuple[str, str]:
    """Return the docstring of a script, without the line on how to run it, and the code below it."""
    text = script.read_text(encoding="utf-8")
    tree = ast.parse(text)
    words = re.sub(r"\n*^python examples/.*$", "", ast.get_docstring(tree) or "", flags=re.MULTILINE)
    return words.strip(), "\n".join(text.splitlines()[tree.body[0].end_lineno :]).strip()


def folder_of(script: Path) -> Path:
    return running.folder_of(f"example-{script.stem}", script.read_text(encoding="utf-8"))


def run_and_write(app: Sphinx, config: Any) -> None:
    """Run the examples (unless the build is quick) and write their pages."""
    FOLDER.mkdir(exist_ok=True)
    scripts = sorted(EXAMPLES.glob("*.py"))

    def work(script: Path) -> None:
        if not running.is_done(folder_of(script)):
            error = running.run_script(script, folder_of(script))
            if error:
                logger.warning(f"examples/{script.name} fails: {error}")

    if not int(config.quick):
        running.run_parallel(scripts, work, "running the examples")
    words = {script.stem: page(script) for script in scripts}
    write("index", index(scripts))
    write("papers", papers())
    for stem, text in words.items():
        write(stem, text)
    for file in FOLDER.glob("*.md"):
        if file.stem not in {"index", "papers", *words}:
            file.unlink()


def write(stem: str, text: str) -> None:
    file = FOLDER / f"{stem}.md"
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")


def pictures_of(script: Path) -> list[str]:
    """Return the paths of the figures of an example for Sphinx."""
    folder = folder_of(script)
    return (
        [f"/{p.relative_to(running.DOCS).as_posix()}" for p in sorted(folder.glob("*.png"))] if folder.exists() else []
    )


def page(script: Path) -> str:
    lead, code = lead_and_code(script)
    parts = [
        f"# {title_of(script)}",
        lead,
        f"```{{code-block}} python\n:caption: examples/{script.name}\n\n{code}\n```",
    ]
    folder = folder_of(script)
    if running.is_done(folder):
        printed = running.results_in(folder).rstrip()
        parts += ["Output", f":::{{container}} printed\n````text\n{printed}\n````\n:::"]
    for picture in pictures_of(script):
        words = f"Figure {Path(picture).stem} of this example. {' '.join(lead.split())}"
        parts.append(render_image(picture, words, running.DOCS / picture[1:]))
    return "\n\n".join(parts) + "\n"


def index(scripts: list[Path]) -> str:
    """Return the page with a tile for every example and a link to the figures of the papers."""
    tiles = []
    for script in scripts:
        lead = " ".join(lead_and_code(script)[0].split("\n\n")[0].split())
        picture = next(iter(pictures_of(script)), None)
        shown = ""
        if picture:
            words = f"Figure of the example {title_of(script)}"
            shown = f"```{{image}} {picture}\n:alt: {words}\n:target: {script.stem}.html\n```\n\n"
        tiles.append(f"::::{{container}} tile\n{shown}[{title_of(script)}]({script.stem}.md)\n\n{lead}\n::::")
    entries = "\n".join(script.stem for script in scripts)
    return (
        "# Gallery\n\nAll scripts are in the folder `examples/` and run in seconds.\n"
        "Their output was computed for this page.\n"
        "The recomputed figures of the papers are on [a separate page](papers.md).\n\n"
        "```{toctree}\n:hidden:\n\npapers\n" + entries + "\n```\n\n"
        ":::::{container} tiles\n" + "\n\n".join(tiles) + "\n:::::\n"
    )


def papers() -> str:
    """Return the page with the figures of the reproduction, grouped by their headings."""
    parts = [
        "# Figures of the papers",
        "Drawn by `make reproduce` from code, data and seeds. The numbers and findings are in "
        "[the reproduction](../reproduction.md).",
    ]
    paper = heading = ""
    shown = {"paper": "", "heading": ""}
    for line in RESULTS.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            paper = line[3:]
        elif line.startswith("### "):
            heading = line[4:]
        elif match := re.fullmatch(r"!\[(.*)\]\((figures/.*\.png)\)", line.strip()):
            if shown["paper"] != paper:
                parts.append(f"## {paper}")
            if shown["heading"] != heading:
                parts.append(f"### {heading}")
            shown = {"paper": paper, "heading": heading}
            words = match[1] if len(match[1].split()) > 2 else f"{heading}: {match[1]}"
            parts.append(f"![{words}](../../reproduce/{match[2]})")
    return "\n\n".join(parts) + "\n"


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", run_and_write)
    return {"parallel_read_safe": True}
