"""Docstrings are plain text for people who read code; here they become markup.

Formulas that are set off become literal text, bars are bars, and a page that is named (``docs/missing.md``) is a link.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import running
from jinja2.bccache import Bucket, BytecodeCache
from jinja2.sandbox import SandboxedEnvironment
from numpydoc import docscrape_sphinx
from sphinx.application import Sphinx

CODE = re.compile(r"(``.*?``|`[^`]*`)")
SIGNS = re.compile(r"\||(?<=\w)_(?!\w)")
PAGE = re.compile(r"``docs/(\w+)\.md``")


def in_markup(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    result: list[str] = []
    section, formula = "", False
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line and re.fullmatch(r"-{3,}", following):
            section = line
        free = section in ("", "Notes")
        before = next((text for text in reversed(result) if text.strip()), "")
        set_off = free and line.startswith("    ") and (not result or not result[-1].strip())
        if set_off and not formula and not before.rstrip().endswith("::"):
            result += [".. code-block:: text", ""]
            formula = True
        elif formula and line.strip() and not line.startswith("    "):
            formula = False
        as_is = formula or section == "Examples" or line.startswith(">>>")
        heads_entry = not free and bool(line) and not line.startswith(" ")
        result.append(line if as_is else entry(line) if heads_entry else words(line))
    lines[:] = result


def words(line: str) -> str:
    """A line of prose: bars are no substitutions, names that end in _ are no references, pages are links."""
    line = PAGE.sub(lambda m: f":doc:`/{m[1]}`" if (running.DOCS / f"{m[1]}.md").exists() else m[0], line)
    return "".join(part if part.startswith("`") else SIGNS.sub(r"\\\g<0>", part) for part in CODE.split(line))


def entry(line: str) -> str:
    """The head of an entry: numpydoc takes care of the name, what follows is prose."""
    name, colon, kind = line.partition(" : ")
    return name + colon + words(kind)


class KeptTemplate(BytecodeCache):
    """numpydoc compiles its template for every docstring, a fifth of a quick build; here it is compiled once."""

    def __init__(self) -> None:
        self.compiled: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self.compiled:
            bucket.bytecode_from_string(self.compiled[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.compiled[bucket.key] = bucket.bytecode_to_string()


def setup(app: Sphinx) -> dict[str, Any]:
    docscrape_sphinx.SandboxedEnvironment = partial(SandboxedEnvironment, bytecode_cache=KeptTemplate())
    app.connect("autodoc-process-docstring", in_markup, priority=400)  # before numpydoc
    return {"parallel_read_safe": True}
