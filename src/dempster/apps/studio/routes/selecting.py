"""A selection: what it is made of, and as a rule that can be repeated. It is kept by rows, for all runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.apps.studio.answers.groups import selection_profile
from dempster.apps.studio.answers.rules import Rule, rule_of
from dempster.apps.studio.packing import packed
from dempster.apps.studio.routes.asking import Given, from_json, route, run_of, whole
from dempster.apps.studio.runs import Run
from dempster.apps.studio.sessions import Session

__all__ = ["ROUTES"]

_MOST_RULES = 50


def _chosen(session: Session, run: Run) -> np.ndarray:
    """(n,) which objects of a run are selected."""
    if session.selection is None:
        return np.zeros(len(run), dtype=bool)
    return session.selection[run.rows]


def _select(session: Session, given: Given) -> dict[str, Any]:
    """Take a selection, a byte for each object of a run; tell how it differs from the rest."""
    run = run_of(session, given)
    mask = np.frombuffer(given.get("bytes", b""), dtype=np.uint8)
    if len(mask) != len(run):
        raise InvalidInputError(f"a selection must have a byte for each of the {len(run)} objects, got {len(mask)}")
    everyone = np.zeros(len(session.table().table), dtype=bool)
    everyone[run.rows] = mask > 0
    session.selection = everyone
    return {"n": int((mask > 0).sum()), "attributes": selection_profile(run, mask > 0)}


def _selection(session: Session, given: Given) -> bytes:
    return packed({"mask": _chosen(session, run_of(session, given)).astype(np.uint8)})


def _fit(rule: Rule, run: Run, chosen: np.ndarray) -> dict[str, Any]:
    """A rule and how well it tells the selection: how many it holds for, of these how many are selected."""
    holds = rule.holds(run.table)
    return rule.describe() | {
        "holds": int(holds.sum()),
        "hits": int((holds & chosen).sum()),
        "selected": int(chosen.sum()),
    }


def _make_rule(session: Session, given: Given) -> dict[str, Any]:
    """The rule that comes nearest to the selection, by the columns that were clustered."""
    run = run_of(session, given)
    chosen = _chosen(session, run)
    return _fit(rule_of(run.attributes, chosen), run, chosen)


def _apply(session: Session, given: Given) -> bytes:
    """The objects for which a rule holds."""
    run = run_of(session, given)
    holds = Rule.read(from_json(str(given.get("conditions")), "conditions")).holds(run.table)
    return packed({"mask": holds.astype(np.uint8)}, n=int(holds.sum()))


def _keep(session: Session, given: Given) -> dict[str, Any]:
    rule = Rule.read(given.get("conditions"))
    rule.holds(session.table().table.head(1))
    with session.lock:
        if rule not in session.rules:
            session.rules = [*session.rules, rule][-_MOST_RULES:]
        return {"rules": [one.describe() for one in session.rules]}


def _drop(session: Session, given: Given) -> dict[str, Any]:
    k = whole(given, "rule")
    with session.lock:
        if 0 <= k < len(session.rules):
            del session.rules[k]
        return {"rules": [one.describe() for one in session.rules]}


ROUTES = [
    route("/runs/{run}/selection", _select, "PUT"),
    route("/runs/{run}/selection", _selection),
    route("/runs/{run}/rule", _make_rule, "POST"),
    route("/runs/{run}/rule/objects", _apply),
    route("/rules", _keep, "POST"),
    route("/rules/{rule}", _drop, "DELETE"),
]
