"""Settings, versions, seed, and the command and code that give the same result."""

from __future__ import annotations

import inspect
import platform
from typing import Any

import numpy as np

import dempster
from dempster.apps.report._facts.facts import Facts
from dempster.apps.report._facts.naming import shortened
from dempster.apps.report._page.html import Html, tag
from dempster.apps.report._page.pictures import line_chart

__all__ = ["repeat_section"]

_LONGEST = 120  # characters of a setting


def repeat_section(facts: Facts, command: str | None, code: str | None, more: dict[str, str]) -> Html:
    """How to get the same again."""
    parts = [_code("Command", command, "command"), _code("Python", code, "code")]
    return tag(
        "section",
        tag("h2", "Do it again"),
        *parts,
        tag("div", _settings(facts), _list("Run", _run(facts) | more, "run"), class_="lists"),
        _convergence(facts),
        id="repeat",
        aria_label="Do it again",
    )


def _code(heading: str, text: str | None, name: str) -> Html | None:
    if not text:
        return None
    return tag(
        "div",
        tag(
            "div",
            tag("h3", heading),
            tag("button", "Copy", type="button", class_="plain live", data_copy=name, hidden=True),
            class_="code-head",
        ),
        tag("pre", tag("code", text, id=name), tabindex=0, role="region", aria_label=heading),
    )


def _list(heading: str, entries: dict[str, str], name: str) -> Html | None:
    if not entries:
        return None
    return tag("div", tag("h3", heading), _entries(entries), id=name)


def _entries(entries: dict[str, str]) -> Html:
    rows = [tag("div", tag("dt", key), tag("dd", tag("bdi", value))) for key, value in entries.items()]
    return tag("dl", rows, class_="entries")


def _settings(facts: Facts) -> Html | None:
    """Parameters of the method: those that were set or chosen, and those left at their defaults."""
    model, metadata = facts.case.model, facts.case.metadata
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else metadata.get("parameters", {})
    defaults = _defaults(model)
    choices = metadata.get("choices", {})
    own: dict[str, str] = {}
    usual: dict[str, str] = {}
    for name, value in parameters.items():
        words = _shown(value)
        if name in choices:
            own[name] = f"{words}: {shortened(choices[name], 300)}"
        elif name in defaults and type(value) is type(defaults[name]) and repr(value) == repr(defaults[name]):
            usual[name] = words
        else:
            own[name] = words
    if not own and not usual:
        return None
    rest = tag("details", tag("summary", f"{len(usual)} at their defaults"), _entries(usual)) if usual else None
    return tag("div", tag("h3", "Settings"), _entries(own), rest, id="settings")


def _defaults(model: Any) -> dict[str, Any]:
    if model is None:
        return {}
    return {name: parameter.default for name, parameter in inspect.signature(type(model)).parameters.items()}


def _run(facts: Facts) -> dict[str, str]:
    """What the run was, and what it was made with."""
    import scipy
    import sklearn

    metadata = facts.case.metadata
    out = {}
    if (method := metadata.get("method")) is not None:
        out["method"] = str(method)
    if (objective := metadata.get("objective")) is not None:
        out["objective"] = f"{float(objective):.6g}"
    if (n_iter := metadata.get("n_iter")) is not None:
        ended = (
            "" if metadata.get("converged") is None else ", converged" if metadata["converged"] else ", not converged"
        )
        out["iterations"] = f"{int(n_iter):,}{ended}"
    if "random_state" in metadata:
        out["seed"] = _shown(metadata["random_state"])
    out["nonspecificity"] = f"{facts.case.partition.nonspecificity_index():.3f} (0 certain, 1 nothing known)"
    out |= {"dempster": dempster.__version__, "Python": platform.python_version(), "NumPy": np.__version__}
    return out | {"SciPy": scipy.__version__, "scikit-learn": sklearn.__version__}


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return f"a {type(value).__name__}, whose state is not known"
    return shortened(value if isinstance(value, str) else repr(value), _LONGEST)


def _convergence(facts: Facts) -> Html | None:
    history = facts.history
    if len(history) < 3:
        return None
    some = np.unique(np.linspace(0, len(history) - 1, 200).astype(int))
    words = f"Objective after each of {len(history):,} iterations, {history[0]:.4g} to {history[-1]:.4g}"
    chart = line_chart(some + 1, history[some], across="iteration", upwards="objective", words=words)
    return tag(
        "details", tag("summary", "How the method converged"), tag("figure", chart, tag("figcaption", f"{words}."))
    )
