"""Write a page for every public name, like ``api/generated/dempster.cluster.ECM.rst``, at every build.

The names are read from the packages. The pages in ``api/`` group them; `tests/test_site.py` checks
that each name is listed exactly once.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

import running
from sphinx.application import Sphinx

FOLDER = running.DOCS / "api" / "generated"
# a link to the page of a name, up to this name in the anchor
BACK_LINK = re.compile(
    r"(?P<page>/(?P<full>[\w.]+\.(?P<name>\w+))\.html)#[\w.]+?\.(?P=name)\b"
)


def public_names() -> list[tuple[str, str]]:
    """Return every public name with the package that documents it: the first that exports it, ``dempster`` first.

    Two packages may define different objects of the same name.
    """
    packages = sorted(
        ".".join(file.parent.relative_to(running.ROOT / "src").parts)
        for pattern in ("*/__init__.py", "apps/*/__init__.py")
        for file in (running.ROOT / "src" / "dempster").glob(pattern)
        if not file.parent.name.startswith("_")
        and file.parent.name not in ("cli", "data", "map")
    )
    packages += ["dempster.integrations.anndata", "dempster.integrations.bertopic"]
    homes: list[tuple[str, str]] = []
    for package in ["dempster", *packages]:
        for name in getattr(import_module(package), "__all__", ()):
            value = getattr(import_module(package), name)
            if not name.startswith("__") and not inspect.ismodule(value):
                if any(
                    getattr(import_module(home), known) is value
                    for known, home in homes
                    if known == name
                ):
                    continue
                homes.append((name, package))
    return homes


def members_of(cls: type) -> list[str]:
    """Return the public methods and properties of our classes in the order of their definition."""
    own: dict[str, None] = {}
    for base in reversed(cls.__mro__):
        if base.__module__.startswith("dempster"):
            for name, value in vars(base).items():
                has_doc = (
                    callable(value) or hasattr(value, "__get__")
                ) and inspect.getdoc(value)
                from_sklearn = re.fullmatch("set_[a-z_]+_request", name)
                if (
                    not name.startswith("_")
                    and not from_sklearn
                    and has_doc
                    and not _is_field(base, name, value)
                ):
                    own[name] = None
    return [name for name in own if getattr(cls, name, None) is not None]


def _is_field(cls: type, name: str, value: Any) -> bool:
    """Return whether it is a field of a named tuple or dataclass, which the docstring of the class describes."""
    fields = {*getattr(cls, "_fields", ()), *getattr(cls, "__dataclass_fields__", ())}
    return name in fields or inspect.isclass(value)


def page(name: str, package: str) -> str:
    """Return the page of a name in reStructuredText."""
    value = getattr(import_module(package), name)
    lines = [name, "=" * len(name), "", f".. currentmodule:: {package}", ""]
    if (running.DOCS / "methods" / f"{name.lower()}.md").exists():
        lines += [
            f"For the idea, figures of the parameters and cases of failure, see :doc:`/methods/{name.lower()}`.",
            "",
        ]
    if inspect.isclass(value):
        members = members_of(value)
        lines += [f".. autoclass:: {name}"]
        if members:
            lines += [
                f"   :members: {', '.join(members)}",
                "   :member-order: bysource",
            ]
        lines += [""]
        if hasattr(value, "get_params"):
            lines += [
                "It also has the methods of every scikit-learn estimator, such as ``get_params`` and ``set_params``.",
                "",
            ]
    else:
        lines += [f".. autofunction:: {name}", ""]
    lines += [
        f".. minigallery:: {package}.{name}",
        "   :add-heading: Examples that use it",
        "",
    ]
    return "\n".join(lines)


def write_all(app: Sphinx, config: Any) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    written = set()
    for name, package in public_names():
        file = FOLDER / f"{package}.{name}.rst"
        text = page(name, package)
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            file.write_text(text, encoding="utf-8")
        written.add(file)
    for file in set(FOLDER.glob("*.rst")) - written:
        file.unlink()


def mend_anchors(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Mend links from source files back to the names: viewcode assumes one package per file."""
    if page.startswith("_modules/"):
        context["body"] = BACK_LINK.sub(r"\g<page>#\g<full>", context["body"])


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("config-inited", write_all)
    app.connect("html-page-context", mend_anchors)
    return {"parallel_read_safe": True}
