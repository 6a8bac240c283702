"""The report OTHER.md, in which some benchmarks write a section each."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).with_name("OTHER.md")


def write_table(title: str, heads: list[str], rows: list[list[str]]) -> None:
    """Replace the first table in a section of the report."""
    lines = [heads, [":--", *["--:"] * (len(heads) - 1)], *rows]
    table = "".join("| " + " | ".join(line) + " |\n" for line in lines)
    table = table.replace("| :-- |", "|:--|").replace(" --: |", "--:|")
    before, head, after = PAGE.read_text(encoding="utf-8").partition(f"\n## {title}\n")
    section = re.sub(r"(?m)(^\|.*\n)+", lambda _: table, after, count=1)
    PAGE.write_text(before + head + section, encoding="utf-8")
