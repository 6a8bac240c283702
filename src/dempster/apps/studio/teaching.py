"""Teach: the next question, answers, undo, contradictions, and files of answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from starlette.responses import Response

from dempster._errors import InvalidInputError
from dempster.apps.map import to_plain
from dempster.apps.studio.recipe_from_request import write_answers
from dempster.apps.studio.routing import Params, as_file, parse_integer, route
from dempster.apps.studio.runs import Run
from dempster.apps.studio.sessions import PairAnswers, Session, to_constraints
from dempster.constraints import Constraints, read_constraints, suggest_pairs

MIN_GAIN_BITS = 0.05  # a question that settles less is hardly worth the time
_N_SPARE_PAIRS = 20  # suggested besides those that were answered


def _describe_answers(session: Session, params: Params) -> dict[str, Any]:
    run = session.runs.get(str(params.get("run")))
    return session.pair_answers.describe(run, session.table().names)


def _describe_question(session: Session, params: Params) -> dict[str, Any]:
    """Return the next question: both objects side by side, and whether it is still worth asking."""
    run = session.run(str(params["run"]))
    pair = _next_pair(run, session.pair_answers)
    if pair is None:
        return {"question": None, "words": "Every pair worth asking has been answered.", "enough": True}
    probability, gain, doubt = expected_gain(run, *pair)
    total = float(run.partition.nonspecificity().sum())
    share = gain / total if total > 0 else 0.0
    part = f"{share:.1%}" if share >= 0.001 else "less than 0.1%"
    words = (
        f"This answer is expected to settle {gain:.2f} of the {doubt:.2f} bits of doubt about {run.names[pair[0]]}, "
        f"{part} of all the doubt that is left."
    )
    is_enough = gain < MIN_GAIN_BITS
    if is_enough:
        words += " Little is left to learn: you can stop here."
    objects = [
        {
            "position": position,
            "row": int(run.rows[position]),
            "name": run.names[position],
            "said": run.set_names[run.partition.best_set[position]],
            "set": int(run.partition.best_set[position]),
            "values": run.cells(position),
        }
        for position in pair
    ]
    columns = [str(name) for name in run.attributes.columns]
    numbers = {"probability": probability, "gain": gain, "doubt": doubt, "total": total}
    question = {"objects": objects, "columns": columns, **numbers}
    return to_plain({"question": question, "words": words, "enough": is_enough})


def _next_pair(run: Run, answers: PairAnswers) -> tuple[int, int] | None:
    """Return the pair, not asked about yet, whose answer is expected to teach most; None if there is none."""
    constraints = to_constraints(answers.between(run.rows), len(run))
    asked = {frozenset((a, b)) for a, b, _ in answers.answers}
    if len(constraints.contradictions()):
        constraints = Constraints(n_objects=len(run))
    for i, j in suggest_pairs(run.partition, len(asked) + _N_SPARE_PAIRS, constraints=constraints).tolist():
        if frozenset((int(run.rows[i]), int(run.rows[j]))) not in asked:
            return i, j
    return None


def expected_gain(run: Run, i: int, j: int) -> tuple[float, float, float]:
    """Compute what asking about an uncertain object i and a certain one j, of cluster k, is expected to settle.

    "Same" says that i is of cluster k and settles all doubt of i. "Different" rules k out: what is left are the masses
    conditioned on the other clusters. With N the nonspecificity (in bits) and p the pignistic probability of k,

        gain = N(m_i) - (1 - p) N(m_i | not k).

    Returns
    -------
    p, gain, N(m_i)
    """
    own = run.partition[np.array([i])]
    k = int(run.partition.labels[j])
    probability = float(own.pignistic()[0, k])
    doubt = float(own.nonspecificity()[0])
    is_other = np.arange(own.n_clusters) != k
    masses, size = own.masses[0].astype(float), (own.focal_sets.membership & is_other).sum(axis=1)
    kept = float(masses[size > 0].sum())
    left = float(masses @ np.log2(np.maximum(size, 1))) / kept if kept > 0 else 0.0
    return probability, max(0.0, doubt - (1 - probability) * left), doubt


def _answer(session: Session, params: Params) -> dict[str, Any]:
    first, second = parse_integer(params.get("first"), "first"), parse_integer(params.get("second"), "second")
    n = len(session.table().table)
    if not (0 <= first < n and 0 <= second < n):
        raise InvalidInputError(f"objects must be rows from 0 to {n - 1}, got {first} and {second}")
    with session.lock:
        session.pair_answers.add(first, second, str(params.get("answer")))
    return _describe_answers(session, params)


def _undo(session: Session, params: Params) -> dict[str, Any]:
    with session.lock:
        session.pair_answers.undo()
    return _describe_answers(session, params)


def _remove(session: Session, params: Params) -> dict[str, Any]:
    with session.lock:
        session.pair_answers.remove(
            parse_integer(params.get("first"), "first"), parse_integer(params.get("second"), "second")
        )
    return _describe_answers(session, params)


def _save(session: Session, params: Params) -> Response:
    path, table = session.new_file("answers.csv"), session.table().table
    write_answers(path, session.pair_answers.between(np.arange(len(table))), table.index)
    return as_file(path.read_bytes(), "answers.csv", "text/csv; charset=utf-8")


def _load(session: Session, params: Params) -> dict[str, Any]:
    """Add the answers of a file to those that are there."""
    path = session.new_file("answers.csv")
    path.write_bytes(params.get("bytes", b""))
    index = session.table().table.index
    if not index.is_unique:
        raise InvalidInputError("the names of the rows are not unique: answers in a file cannot be told apart")
    constraints = read_constraints(path, index)
    with session.lock:
        for pairs, answer in ((constraints.must_link, "same"), (constraints.cannot_link, "different")):
            for first, second in np.asarray(pairs).tolist():
                session.pair_answers.add(first, second, answer)
    return _describe_answers(session, params)


ROUTES = [
    route("/lessons", _describe_answers),
    route("/runs/{run}/question", _describe_question),
    route("/answers", _answer, "POST"),
    route("/answers/undo", _undo, "POST"),
    route("/answers/remove", _remove, "POST"),
    route("/answers/file", _save),
    route("/answers/file", _load, "PUT"),
]
