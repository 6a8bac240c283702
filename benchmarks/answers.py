"""Command ``python -m benchmarks.answers``: what answers about pairs change for other objects.

The command writes a table of OTHER.md: the adjusted Rand index of the objects without an answer,
after true answers about random pairs, as a mean of twenty draws. EVCLUS has its default parameters
and the true number of clusters. The program takes a few minutes and needs the folder of shared
data.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import shared_folder
from benchmarks.other import write_table
from dempster.cluster import EVCLUS
from dempster.constraints import Constraints

SETS = "iris", "wine", "seeds", "ecoli"
NUMBERS = 1, 2, 5, 10, 50
N_DRAWS = 20


def draw_answers(y: np.ndarray, n_answers: int, seed: int) -> Constraints:
    """Return true answers about random pairs of objects."""
    rng = np.random.default_rng([seed, n_answers])
    pairs = rng.permutation(len(y))[: 2 * n_answers].reshape(-1, 2)
    same = y[pairs[:, 0]] == y[pairs[:, 1]]
    return Constraints(
        must_link=pairs[same], cannot_link=pairs[~same], n_objects=len(y)
    )


def scores(name: str) -> list[float]:
    """Return the score without answers, and the scores with the numbers of answers.

    The score of a draw is that without answers, plus the change for the objects without an answer.
    """
    folder = shared_folder()
    assert folder is not None, "the folder of shared data is missing"
    stored = np.load(folder / "data" / f"{name}.npz")
    X = StandardScaler().fit_transform(stored["X"].astype(float))
    y = np.unique(stored["y"], return_inverse=True)[1]
    model = EVCLUS(int(y.max()) + 1, random_state=0)
    plain = model.fit(X).labels_
    start = adjusted_rand_score(y, plain)
    found = [start]
    for n_answers in NUMBERS:
        changes = []
        for seed in range(N_DRAWS):
            answers = draw_answers(y, n_answers, seed)
            labels = model.fit(X, constraints=answers).labels_
            pairs = np.concatenate([answers.must_link, answers.cannot_link])
            others = np.setdiff1d(np.arange(len(y)), pairs)
            before = adjusted_rand_score(y[others], plain[others])
            after = adjusted_rand_score(y[others], labels[others])
            changes.append(after - before)
        found.append(start + float(np.mean(changes)))
    return found


def main() -> None:
    rows = [[name, *(f"{score:.3f}" for score in scores(name))] for name in SETS]
    heads = ["data", "no answer", *(str(number) for number in NUMBERS)]
    write_table("Answers", heads, rows)


if __name__ == "__main__":
    main()
