"""Python code that makes a model again, where no recipe tells it."""

from __future__ import annotations

from typing import Any

from dempster.apps.report._facts.case import Case

__all__ = ["code_of"]


def code_of(case: Case) -> str | None:
    """Imports, the model with what differs from its defaults, and the report; None for a partition alone."""
    if case.whole is None:
        return None
    imports: dict[str, set[str]] = {"dempster.apps.report": {"make_report"}}
    for part in _parts(case.whole):
        imports.setdefault(_module(part), set()).add(type(part).__name__)
    head = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items())]
    more = "".join(f", {name}={name}" for name in case.learned)
    return "\n".join(
        [
            *head,
            "",
            f"model = {case.whole!r}",
            f"model.fit(X{more})  # X: the same {'dissimilarities' if case.is_pairwise else 'table'}",
            'make_report(model, X).save("report.html")',
        ]
    )


def _parts(estimator: Any) -> list[Any]:
    """The estimator, and those it consists of."""
    steps = [step for _, step in getattr(estimator, "steps", []) if step not in ("passthrough", None)]
    return [estimator, *(part for step in steps for part in _parts(step))]


def _module(part: Any) -> str:
    """Where people import it from: the package, not the file."""
    names = type(part).__module__.split(".")
    public = [name for name in names[:2] if not name.startswith("_")]
    return ".".join(public) if names[0] in ("dempster", "sklearn") else type(part).__module__
