"""Teach: the next question, answers, undo, contradictions, and files of answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from starlette.responses import Response

from dempster._errors import InvalidInputError
from dempster.apps.studio.answers.teaching import describe_question
from dempster.apps.studio.asked import lessons_among, write_lessons
from dempster.apps.studio.routes.asking import Given, as_file, route, run_of, whole
from dempster.apps.studio.sessions import Session
from dempster.constraints import read_constraints

__all__ = ["ROUTES"]


def _lessons(session: Session, given: Given) -> dict[str, Any]:
    run = session.runs.get(str(given.get("run")))
    return session.lessons.describe(run, session.table().names)


def _question(session: Session, given: Given) -> dict[str, Any]:
    return describe_question(run_of(session, given), session.lessons)


def _answer(session: Session, given: Given) -> dict[str, Any]:
    first, second = whole(given, "first"), whole(given, "second")
    n = len(session.table().table)
    if not (0 <= first < n and 0 <= second < n):
        raise InvalidInputError(f"objects must be rows from 0 to {n - 1}, got {first} and {second}")
    with session.lock:
        session.lessons.add(first, second, str(given.get("answer")))
    return _lessons(session, given)


def _undo(session: Session, given: Given) -> dict[str, Any]:
    with session.lock:
        session.lessons.undo()
    return _lessons(session, given)


def _remove(session: Session, given: Given) -> dict[str, Any]:
    with session.lock:
        session.lessons.remove(whole(given, "first"), whole(given, "second"))
    return _lessons(session, given)


def _save(session: Session, given: Given) -> Response:
    path = session.new_file("answers.csv")
    write_lessons(path, lessons_among(session), session.table().table.index)
    return as_file(path.read_bytes(), "answers.csv", "text/csv; charset=utf-8")


def _load(session: Session, given: Given) -> dict[str, Any]:
    """Answers from a file, added to those that are there."""
    path = session.new_file("answers.csv")
    path.write_bytes(given.get("bytes", b""))
    index = session.table().table.index
    if not index.is_unique:
        raise InvalidInputError("the names of the rows are not unique: answers in a file cannot be told apart")
    known = read_constraints(path, index)
    with session.lock:
        for pairs, said in ((known.must_link, "same"), (known.cannot_link, "different")):
            for first, second in np.asarray(pairs).tolist():
                session.lessons.add(first, second, said)
    return _lessons(session, given)


ROUTES = [
    route("/lessons", _lessons),
    route("/runs/{run}/question", _question),
    route("/answers", _answer, "POST"),
    route("/answers/undo", _undo, "POST"),
    route("/answers/remove", _remove, "POST"),
    route("/answers/file", _save),
    route("/answers/file", _load, "PUT"),
]
