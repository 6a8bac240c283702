"""The Python code of a page: its blocks, and a program that runs them one after the other in one namespace.

``python blocks.py page.md`` writes ``results.json`` into the current folder: for every block what it printed and the
pictures that it left open.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import traceback
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(r"(?:^<!-- picture: (?P<alt>.*?) -->\n+)?^```python\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """A fenced block of Python: its code, its first line in the page, what its picture shows, its place in the text."""

    code: str
    line: int
    alt: str | None
    start: int
    end: int


def blocks_of(text: str) -> list[Block]:
    """The blocks of a page, in order. ``<!-- picture: ... -->`` before a block says what its picture shows."""
    return [
        Block(m["code"], text.count("\n", 0, m.start("code")) + 1, m["alt"] and " ".join(m["alt"].split()), *m.span())
        for m in FENCE.finditer(text)
    ]


def run_page(path: Path) -> list[dict[str, object]]:
    """Run the blocks of a page; the first that fails ends it with the line of the page."""
    import matplotlib.pyplot as plt

    plt.rcParams.update({"figure.dpi": 110, "savefig.bbox": "tight"})
    module = type(sys)("page")  # pickles and dataclasses look their module up
    sys.modules["page"] = module
    results = []
    for number, block in enumerate(blocks_of(path.read_text(encoding="utf-8")), 1):
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed):
                exec(compile("\n" * (block.line - 1) + block.code, str(path), "exec"), vars(module))
        except Exception:
            sys.exit(f"block {number}, line {block.line}:\n{traceback.format_exc(limit=-1)}")
        pictures = []
        for figure in map(plt.figure, plt.get_fignums()):
            pictures.append(f"{path.stem}-{number}-{len(pictures) + 1}.png")
            figure.savefig(pictures[-1])
        plt.close("all")
        results.append({"printed": printed.getvalue(), "pictures": pictures})
    return results


if __name__ == "__main__":
    Path("results.json").write_text(json.dumps(run_page(Path(sys.argv[1]))), encoding="utf-8")
