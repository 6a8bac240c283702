"""Questions to an expert: which pair next, what the answer is worth, what was said so far, and where it contradicts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._validation import shown
from dempster.apps.studio.answers.objects import cells
from dempster.apps.studio.packing import plain
from dempster.apps.studio.runs import Run
from dempster.constraints import Constraints, suggest_pairs

__all__ = ["Lessons", "Question", "describe_question", "expected_gain", "next_question"]

SAME, DIFFERENT, UNKNOWN = "same", "different", "unknown"
_LITTLE = 0.05  # bits; a question that settles less is hardly worth the time


@dataclass
class Lessons:
    """What a person said of pairs, by the rows of the table, so that it holds for every run of a session.

    Attributes
    ----------
    answers : list of (row, row, answer)
        In the order in which they were given; the answer is "same", "different" or "unknown".
    """

    answers: list[tuple[int, int, str]] = field(default_factory=list)

    def add(self, first: int, second: int, answer: str) -> None:
        """Note an answer; an earlier one about the same pair is replaced."""
        if answer not in (SAME, DIFFERENT, UNKNOWN):
            raise InvalidInputError(f"answer must be 'same', 'different' or 'unknown', got {shown(answer)}")
        if first == second:
            raise InvalidInputError("a question is about two different objects")
        self.answers = [one for one in self.answers if {one[0], one[1]} != {first, second}]
        self.answers.append((first, second, answer))

    def undo(self) -> tuple[int, int, str] | None:
        """Take the last answer back."""
        return self.answers.pop() if self.answers else None

    def remove(self, first: int, second: int) -> None:
        """Take back what was said of a pair."""
        self.answers = [one for one in self.answers if {one[0], one[1]} != {first, second}]

    def __len__(self) -> int:
        return sum(answer != UNKNOWN for _, _, answer in self.answers)

    def among(self, rows: np.ndarray) -> Constraints:
        """The constraints between objects of a run, given by their sorted rows in the table."""
        pairs: dict[str, list[tuple[int, int]]] = {SAME: [], DIFFERENT: [], UNKNOWN: []}
        for first, second, answer in self.answers:
            i, j = (int(np.searchsorted(rows, row)) for row in (first, second))
            if i < len(rows) and j < len(rows) and rows[i] == first and rows[j] == second:
                pairs[answer].append((i, j))
        return Constraints(pairs[SAME], pairs[DIFFERENT], n_objects=len(rows))

    def describe(self, run: Run | None, names: list[str]) -> dict[str, Any]:
        """The answers and the contradictions among them, in words; which of them a run does not follow."""
        answers = [
            {"first": a, "second": b, "names": [names[a], names[b]], "answer": answer, "broken": False}
            for a, b, answer in self.answers
        ]
        must = [(a, b) for a, b, answer in self.answers if answer == SAME]
        cannot = [(a, b) for a, b, answer in self.answers if answer == DIFFERENT]
        contradictions = [
            {"pair": list(one.cannot_link), "chain": [names[k] for k in one.chain], "rows": list(one.chain)}
            for one in Constraints(must, cannot, n_objects=len(names)).contradictions()
        ]
        if run is not None:
            labels = dict(zip(run.rows.tolist(), run.partition.labels.tolist(), strict=True))
            for one in answers:
                a, b = labels.get(one["first"]), labels.get(one["second"])
                if a is not None and b is not None and one["answer"] != UNKNOWN:
                    one["broken"] = (a == b) != (one["answer"] == SAME)
        return plain({"answers": answers, "contradictions": contradictions, "n": len(self)})


@dataclass(frozen=True)
class Question:
    """Two objects, by their positions in a run, and what the answer is expected to settle."""

    first: int
    second: int
    probability: float
    gain: float
    doubt: float


def next_question(run: Run, lessons: Lessons) -> Question | None:
    """The pair whose answer teaches most, without those that were asked already; None if there is nothing to ask."""
    known = lessons.among(run.rows)
    asked = {frozenset((a, b)) for a, b, _ in lessons.answers}
    if len(known.contradictions()):
        known = Constraints(n_objects=len(run))
    for i, j in suggest_pairs(run.partition, len(asked) + 20, constraints=known).tolist():
        if frozenset((int(run.rows[i]), int(run.rows[j]))) not in asked:
            probability, gain, doubt = expected_gain(run, i, j)
            return Question(i, j, probability, gain, doubt)
    return None


def expected_gain(run: Run, i: int, j: int) -> tuple[float, float, float]:
    """What asking about an uncertain object i and a certain one j, of cluster k, is expected to settle.

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
    others = np.ones(own.n_clusters, dtype=bool)
    others[k] = False
    left = _conditioned_nonspecificity(own.masses[0].astype(float), own.focal_sets.membership & others)
    return probability, max(0.0, doubt - (1 - probability) * left), doubt


def _conditioned_nonspecificity(masses: np.ndarray, sets: np.ndarray) -> float:
    """Nonspecificity of masses that moved to smaller sets, those that became empty put aside."""
    size = sets.sum(axis=1)
    kept = float(masses[size > 0].sum())
    return float(masses @ np.log2(np.maximum(size, 1))) / kept if kept > 0 else 0.0


def describe_question(run: Run, lessons: Lessons) -> dict[str, Any]:
    """The next question for the page: both objects side by side, and whether it is still worth asking."""
    asked = next_question(run, lessons)
    total = float(run.partition.nonspecificity().sum())
    if asked is None:
        return {"question": None, "words": "Every pair worth asking has been answered.", "enough": True}
    enough = asked.gain < _LITTLE
    share = asked.gain / total if total > 0 else 0.0
    told = f"{share:.1%}" if share >= 0.001 else "less than 0.1%"
    words = (
        f"This answer is expected to settle {asked.gain:.2f} of the {asked.doubt:.2f} bits of doubt about "
        f"{run.names[asked.first]}, {told} of all the doubt that is left."
    )
    if enough:
        words += " Little is left to learn: you can stop here."
    objects = [
        {
            "position": position,
            "row": int(run.rows[position]),
            "name": run.names[position],
            "said": run.set_names[run.partition.best_set[position]],
            "set": int(run.partition.best_set[position]),
            "values": cells(run, position),
        }
        for position in (asked.first, asked.second)
    ]
    question = {
        "objects": objects,
        "columns": [str(name) for name in run.attributes.columns],
        "probability": asked.probability,
        "gain": asked.gain,
        "doubt": asked.doubt,
        "total": total,
    }
    return plain({"question": question, "words": words, "enough": enough})
