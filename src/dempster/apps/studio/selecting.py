"""A selection: what it is made of, and as a rule that can be repeated. It is kept by rows, for all runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.apps.map import pack
from dempster.apps.studio.routing import Params, parse_integer, parse_json, route, run_route
from dempster.apps.studio.rules import Rule, fit_rule
from dempster.apps.studio.runs import Run
from dempster.apps.studio.sessions import Session
from dempster.apps.studio.viewing import profile_selection

MAX_RULES = 50


def _selected(session: Session, run: Run) -> np.ndarray:
    """Return which objects of a run are selected."""
    if session.selection is None:
        return np.zeros(len(run), dtype=bool)
    return session.selection[run.rows]


def _select(session: Session, params: Params) -> dict[str, Any]:
    """Take a selection, a byte for each object of a run; tell how it differs from the rest."""
    run = session.run(params["run"])
    mask = np.frombuffer(params.get("bytes", b""), dtype=np.uint8)
    if len(mask) != len(run):
        raise InvalidInputError(f"a selection must have a byte for each of the {len(run)} objects, got {len(mask)}")
    everyone = np.zeros(len(session.table().table), dtype=bool)
    everyone[run.rows] = mask > 0
    session.selection = everyone
    return {"n": int((mask > 0).sum()), "attributes": profile_selection(run, mask > 0)}


def _selection(session: Session, params: Params) -> bytes:
    return pack({"mask": _selected(session, session.run(params["run"])).astype(np.uint8)})


def _fit(rule: Rule, run: Run, chosen: np.ndarray) -> dict[str, Any]:
    """A rule and how well it tells the selection: how many it holds for, of these how many are selected."""
    holds = rule.holds(run.table)
    return rule.describe() | {
        "holds": int(holds.sum()),
        "hits": int((holds & chosen).sum()),
        "selected": int(chosen.sum()),
    }


def _make_rule(session: Session, params: Params) -> dict[str, Any]:
    """The rule that comes nearest to the selection, by the columns that were clustered."""
    run = session.run(params["run"])
    chosen = _selected(session, run)
    return _fit(fit_rule(run.attributes, chosen), run, chosen)


def _apply(run: Run, params: Params) -> bytes:
    """Return the objects for which a rule holds."""
    holds = Rule.read(parse_json(str(params.get("conditions")), "conditions")).holds(run.table)
    return pack({"mask": holds.astype(np.uint8)}, n=int(holds.sum()))


def _keep(session: Session, params: Params) -> dict[str, Any]:
    rule = Rule.read(params.get("conditions"))
    rule.holds(session.table().table.head(1))
    with session.lock:
        if rule not in session.rules:
            session.rules = [*session.rules, rule][-MAX_RULES:]
        return {"rules": [one.describe() for one in session.rules]}


def _drop(session: Session, params: Params) -> dict[str, Any]:
    k = parse_integer(params["rule"], "rule")
    with session.lock:
        if 0 <= k < len(session.rules):
            del session.rules[k]
        return {"rules": [one.describe() for one in session.rules]}


ROUTES = [
    route("/runs/{run}/selection", _select, "PUT"),
    route("/runs/{run}/selection", _selection),
    route("/runs/{run}/rule", _make_rule, "POST"),
    run_route("/rule/objects", _apply),
    route("/rules", _keep, "POST"),
    route("/rules/{rule}", _drop, "DELETE"),
]
