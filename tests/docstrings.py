"""Parse sections of docstrings."""

import inspect
import re


def section(text, name):
    """Return the entries of a section of a docstring as {name: (type, text)}, one for each name."""
    found = {}
    part = re.search(
        rf"^{name}\n-+\n(.*?)(?=^\S[^\n]*\n-+\n|\Z)",
        inspect.cleandoc(text),
        re.DOTALL | re.MULTILINE,
    )
    for entry in re.split(r"\n(?=\S)", part.group(1).strip()) if part else []:
        head, _, words = entry.replace("\\\n", "").partition("\n")
        names, _, kind = head.partition(" : ")
        for one in names.split(", "):
            found[one] = kind, " ".join(words.split())
    return found
