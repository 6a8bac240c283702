"""Convert plain-text docstrings to markup for the site.

Bars are escaped, symbols with an index (``kappa_ij``) become formulas, and names of pages
(``docs/missing.md``) become links.
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

CODE = re.compile(r"(``.*?``|:\w+:`[^`]*`|`[^`]*`)")
SIGNS = re.compile(r"\||(?<=\w)_(?!\w)")
PAGE = re.compile(r"``docs/(\w+)\.md``")
GREEK = "alpha|beta|gamma|delta|eta|kappa|mu|pi|rho|sigma"
SYMBOL = re.compile(
    rf"\b(?P<name>[A-Za-z]|(?P<greek>{GREEK})|Bel|Pl|pl)_(?P<index>[a-zA-Z0-9]{{1,2}})\b"
)


def convert_docstring(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    result: list[str] = []
    section = ""
    before = ""
    in_formula = False
    for number, line in enumerate(lines):
        if number + 1 < len(lines):
            following = lines[number + 1]
        else:
            following = ""
        if line and re.fullmatch(r"-{3,}", following):
            section = line
        if line.strip():
            if in_formula:
                in_formula = line.startswith("    ")
            else:
                in_formula = before == ".. math::"
            before = line.strip()
        is_literal = in_formula or section == "Examples" or line.startswith(">>>")
        is_entry = (
            section not in ("", "Notes") and bool(line) and not line.startswith(" ")
        )
        result.append(
            line
            if is_literal
            else escape_entry(line)
            if is_entry
            else escape_prose(line)
        )
    lines[:] = result


def escape_prose(line: str) -> str:
    """Escape bars and names that end in an underscore, write symbols as formulas, and link pages in a line."""
    line = PAGE.sub(
        lambda m: f":doc:`/{m[1]}`" if (running.DOCS / f"{m[1]}.md").exists() else m[0],
        line,
    )
    parts = CODE.split(line)
    parts[::2] = [
        SYMBOL.sub(write_symbol, SIGNS.sub(r"\\\g<0>", part)) for part in parts[::2]
    ]
    return "".join(parts)


def write_symbol(m: re.Match[str]) -> str:
    """Return a symbol such as ``kappa_ij`` as a formula."""
    if m["greek"]:
        letter = f"\\{m['greek']}"
    else:
        letter = m["name"]
    return rf"\ :math:`{letter}_{{{m['index']}}}`\ "


def escape_entry(line: str) -> str:
    """Escape the type in the first line of an entry; numpydoc processes the name."""
    name, colon, kind = line.partition(" : ")
    return name + colon + escape_prose(kind)


class TemplateCache(BytecodeCache):
    """Compile the template of numpydoc only once.

    Compiling it for every docstring takes a fifth of a quick build.
    """

    def __init__(self) -> None:
        self.compiled: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self.compiled:
            bucket.bytecode_from_string(self.compiled[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.compiled[bucket.key] = bucket.bytecode_to_string()


def setup(app: Sphinx) -> dict[str, Any]:
    docscrape_sphinx.SandboxedEnvironment = partial(
        SandboxedEnvironment, bytecode_cache=TemplateCache()
    )
    # before numpydoc
    app.connect("autodoc-process-docstring", convert_docstring, priority=400)
    return {"parallel_read_safe": True}
