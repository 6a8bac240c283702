"""Compare runs."""

from __future__ import annotations

from typing import Any

from dempster.apps.studio.answers.comparing import compare, run_map
from dempster.apps.studio.routes.asking import Given, route
from dempster.apps.studio.sessions import Session

__all__ = ["ROUTES"]


def _compare(session: Session, given: Given) -> dict[str, Any]:
    return compare(session.run(str(given.get("before"))), session.run(str(given.get("after"))))


def _map(session: Session, given: Given) -> dict[str, Any]:
    return run_map(list(session.runs.values()))


ROUTES = [route("/compare", _compare), route("/map", _map)]
