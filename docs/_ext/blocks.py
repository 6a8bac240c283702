"""Extract the Python blocks of the pages and run the blocks of a page one after the other.

``python blocks.py page.md folder [page.md folder ...]`` writes ``results.json`` into each folder,
with the output and the figures of every block. If a page fails, the error message gives the block
and its line.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import tempfile
import traceback
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

NEEDS = re.compile(r"^<!-- needs: (?P<packages>.*?) -->$", re.MULTILINE)
FENCE = re.compile(
    r"(?:^<!-- picture: (?P<alt>.*?) -->\n+)?^```python\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


class Block(NamedTuple):
    """Fenced Python block: code, first line in the page, alternative text of its figure, position in the text."""

    code: str
    line: int
    alt: str | None
    start: int
    end: int


class PageError(Exception):
    """Raised if the code of a page fails."""


def blocks_of(text: str) -> list[Block]:
    """Return the blocks of a page.

    The comment ``<!-- picture: ... -->`` before a block describes its figure.
    """
    return [
        Block(
            m["code"],
            text.count("\n", 0, m.start("code")) + 1,
            m["alt"] and " ".join(m["alt"].split()),
            *m.span(),
        )
        for m in FENCE.finditer(text)
    ]


def missing_packages(text: str) -> list[str]:
    """Return the packages that ``<!-- needs: scanpy, nilearn -->`` lists and that are not installed."""
    named = [
        name.strip() for m in NEEDS.finditer(text) for name in m["packages"].split(",")
    ]
    return [name for name in named if find_spec(name) is None]


def run_page(page: Path, folder: Path) -> list[dict[str, Any]]:
    """Run the blocks of a page in an empty folder and save their figures in ``folder``."""
    import matplotlib.pyplot as plt

    plt.rcdefaults()
    plt.rcParams.update({"figure.dpi": 110, "savefig.bbox": "tight"})
    module = type(sys)("page")
    sys.modules["page"] = module  # Pickles and dataclasses look up their module.
    results = []
    with tempfile.TemporaryDirectory() as work, contextlib.chdir(work):
        for number, block in enumerate(blocks_of(page.read_text(encoding="utf-8")), 1):
            printed = io.StringIO()
            try:
                with contextlib.redirect_stdout(printed):
                    exec(
                        compile(
                            "\n" * (block.line - 1) + block.code, str(page), "exec"
                        ),
                        vars(module),
                    )
            except Exception as error:
                raise PageError(
                    f"block {number}, line {block.line}:\n{traceback.format_exc(limit=-2)}"
                ) from error
            pictures = []
            for figure in map(plt.figure, plt.get_fignums()):
                pictures.append(f"{page.stem}-{number}-{len(pictures) + 1}.png")
                figure.savefig(folder / pictures[-1])
            plt.close("all")
            results.append({"printed": printed.getvalue(), "pictures": pictures})
    return results


def main(*arguments: str) -> None:
    os.environ["MPLBACKEND"] = "Agg"
    failed = False
    for page, folder in zip(
        map(Path, arguments[::2]), map(Path, arguments[1::2]), strict=True
    ):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            results = run_page(page.resolve(), folder.resolve())
        except PageError as error:
            failed = True
            print(f"{page}: {error}", file=sys.stderr)
        else:
            (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    sys.exit(failed)


if __name__ == "__main__":
    main(*sys.argv[1:])
