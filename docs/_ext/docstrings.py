"""Convert plain-text docstrings to markup for the site.

Indented formulas become literal blocks, bars are escaped, and names of pages (``docs/missing.md``) become links.
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


def convert_docstring(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    result: list[str] = []
    section, formula = "", False
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if line and re.fullmatch(r"-{3,}", following):
            section = line
        is_prose = section in ("", "Notes")
        before = next((text for text in reversed(result) if text.strip()), "")
        is_indented = is_prose and line.startswith("    ") and (not result or not result[-1].strip())
        if is_indented and not formula and not before.rstrip().endswith("::"):
            result += [".. code-block:: text", ""]
            formula = True
        elif formula and line.strip() and not line.startswith("    "):
            formula = False
        is_literal = formula or section == "Examples" or line.startswith(">>>")
        is_entry = not is_prose and bool(line) and not line.startswith(" ")
        result.append(line if is_literal else escape_entry(line) if is_entry else escape_prose(line))
    lines[:] = result


def escape_prose(line: str) -> str:
    """Escape bars and names that end in an underscore, and link pages, in a line of prose."""
    line = PAGE.sub(lambda m: f":doc:`/{m[1]}`" if (running.DOCS / f"{m[1]}.md").exists() else m[0], line)
    return "".join(part if part.startswith("`") else SIGNS.sub(r"\\\g<0>", part) for part in CODE.split(line))


def escape_entry(line: str) -> str:
    """Escape the type in the first line of an entry; numpydoc processes the name."""
    name, colon, kind = line.partition(" : ")
    return name + colon + escape_prose(kind)


class TemplateCache(BytecodeCache):
    """Compile the template of numpydoc only once; compiling it for every docstring takes a fifth of a quick build."""

    def __init__(self) -> None:
        self.compiled: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self.compiled:
            bucket.bytecode_from_string(self.compiled[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.compiled[bucket.key] = bucket.bytecode_to_string()


def setup(app: Sphinx) -> dict[str, Any]:
    docscrape_sphinx.SandboxedEnvironment = partial(SandboxedEnvironment, bytecode_cache=TemplateCache())
    app.connect("autodoc-process-docstring", convert_docstring, priority=400)  # before numpydoc
    return {"parallel_read_safe": True}
