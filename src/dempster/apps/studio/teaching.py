"""Suggest questions about pairs of objects, and add, remove, read and write answers."""

from __future__ import annotations

import numpy as np
from starlette.responses import Response

from dempster._errors import InvalidInputError
from dempster.apps.studio.clustering import format_answers
from dempster.apps.studio.jobs import Json
from dempster.apps.studio.reviewing import list_media
from dempster.apps.studio.routing import CSV, download, parse_integer, route
from dempster.apps.studio.sessions import PairAnswers, Run, Session, to_constraints
from dempster.constraints import Constraints, read_constraints, suggest_pairs

MIN_GAIN_BITS = 0.05  # If the expected gain is smaller, further answers change little.
N_SPARE_PAIRS = 20  # number of suggested pairs in addition to the answered pairs


def _describe_answers(session: Session, params: Json) -> Json:
    run = session.runs.get(str(params.get("run")))
    names = session.get_source().names
    return session.pair_answers.describe(run, names, session.all_pairs())


def _describe_question(session: Session, params: Json) -> Json:
    """Return the next question, its expected gain, and whether further answers are useful."""
    run = session.get_run(str(params["run"]))
    pair = _next_pair(run, session.all_pairs())
    if pair is None:
        return {
            "question": None,
            "words": "All useful pairs have been answered.",
            "enough": True,
        }
    _, gain, doubt = expected_gain(run, *pair)
    message = (
        f"The answer is expected to remove {gain:.2f} of the {doubt:.2f} bits of nonspecificity of "
        f"{run.names[pair[0]]}."
    )
    is_enough = gain < MIN_GAIN_BITS
    if is_enough:
        message += " Further answers change little."
    objects = [
        {
            "position": position,
            "row": run.rows[position],
            "name": run.names[position],
            "said": run.set_names[run.partition.best_set[position]],
            "set": run.partition.best_set[position],
            "values": run.cells(position),
            "media": list_media(session, run, position),
        }
        for position in pair
    ]
    columns = [str(name) for name in run.attributes.columns]
    question = {"objects": objects, "columns": columns, "gain": gain, "doubt": doubt}
    return {"question": question, "words": message, "enough": is_enough}


def _next_pair(run: Run, answers: PairAnswers) -> tuple[int, int] | None:
    """Return the unanswered pair with the largest expected gain, or None if none is left."""
    constraints = to_constraints(answers.select(run.rows), len(run))
    if len(constraints.contradictions()):
        constraints = Constraints(n_objects=len(run))
    answered = {frozenset((a, b)) for a, b, _ in answers.answers}
    n_pairs = len(answered) + N_SPARE_PAIRS
    for i, j in suggest_pairs(run.partition, n_pairs, constraints=constraints).tolist():
        if frozenset((run.rows[i], run.rows[j])) not in answered:
            return i, j
    return None


def expected_gain(run: Run, i: int, j: int) -> tuple[float, float, float]:
    """Return p, gain and N(m_i) of a question about objects i and j.

    Object i is uncertain, and j certainly belongs to cluster k.
    N(m_i) is the nonspecificity of the masses m_i of object i in bits, and p is the pignistic
    probability that i belongs to k. The answer "same" assigns i to cluster k and removes its
    nonspecificity. The answer "different" excludes k, so that m_i is conditioned on the other
    clusters. The expected gain is N(m_i) - (1 - p) N(m_i | not k).
    """
    own = run.partition[np.array([i])]
    k = int(run.partition.labels[j])
    probability = float(own.pignistic()[0, k])
    doubt = float(own.nonspecificity()[0])
    is_other = np.arange(own.n_clusters) != k
    masses = own.masses[0].astype(float)
    size = (own.focal_sets.membership & is_other).sum(axis=1)
    total = float(masses[size > 0].sum())
    remaining = 0.0
    if total > 0:
        remaining = float(masses @ np.log2(np.maximum(size, 1))) / total
    return probability, max(0.0, doubt - (1 - probability) * remaining), doubt


def _parse_pair(session: Session, params: Json) -> tuple[int, int]:
    bounds = (0, len(session.get_source().table))
    return parse_integer(params, "first", bounds), parse_integer(
        params, "second", bounds
    )


def _add_answer(session: Session, params: Json) -> Json:
    with session.lock:
        session.pair_answers.add(
            *_parse_pair(session, params), str(params.get("answer"))
        )
    return _describe_answers(session, params)


def _undo_answer(session: Session, params: Json) -> Json:
    with session.lock:
        last = session.pair_answers.answers[-1:]
        _delete_answers(session, "deleted the last answer", last)
    return _describe_answers(session, params)


def _remove_answer(session: Session, params: Json) -> Json:
    with session.lock:
        pair = {*_parse_pair(session, params)}
        answers = [one for one in session.pair_answers.answers if {*one[:2]} == pair]
        _delete_answers(session, "deleted an answer", answers)
    return _describe_answers(session, params)


def _delete_answers(
    session: Session, words: str, answers: list[tuple[int, int, str]]
) -> None:
    for first, second, _ in answers:
        session.pair_answers.remove(first, second)
    if answers:
        session.remember(words, {"pair_answers": PairAnswers(answers)})


def _save_answers(session: Session, params: Json) -> Response:
    names = session.get_source().table.index
    answers = session.pair_answers.select(np.arange(len(names)))
    text = format_answers(answers, names)
    return download(text, "answers.csv", CSV)


def _load_answers(session: Session, params: Json) -> Json:
    """Add the answers in an uploaded file."""
    path = session.new_file("answers.csv")
    path.write_bytes(params.get("bytes", b""))
    index = session.get_source().table.index
    if not index.is_unique:
        raise InvalidInputError(
            "answers cannot be read from a file, because the names of the rows are not unique"
        )
    constraints = read_constraints(path, index)
    pairs = {"same": constraints.must_link, "different": constraints.cannot_link}
    with session.lock:
        for answer, answered in pairs.items():
            for first, second in np.asarray(answered).tolist():
                session.pair_answers.add(first, second, answer)
    return _describe_answers(session, params)


ROUTES = [
    route("/answers", _describe_answers),
    route("/runs/{run}/question", _describe_question),
    route("/answers", _add_answer, "POST"),
    route("/answers/undo", _undo_answer, "POST"),
    route("/answers/remove", _remove_answer, "POST"),
    route("/answers/file", _save_answers),
    route("/answers/file", _load_answers, "PUT"),
]
