"""Compare strategies for selecting pairs: ``python -m benchmarks.questions``.

A simulated expert who knows the classes answers "same" or "different". After every ten answers
EVCLUS is fitted again with the constraints, and its labels are compared with the classes. All
strategies use the transitive closure of the answers. `suggest_pairs` and NPU use the last
partition; the other strategies do not. The script writes ``benchmarks/QUESTIONS.md``, takes some
minutes, and needs scikit-query (``make questions`` installs it).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import shared_folder
from dempster.cluster import EVCLUS
from dempster.constraints import Constraints, suggest_pairs
from dempster.datasets import load_iris, load_wine, make_bananas, make_fourclass

STEP = 10
STEPS = 5
SEEDS = 3
MOST = 120
PAGE = Path(__file__).with_name("QUESTIONS.md")
PUBLIC = ("seeds",)

Ask = Callable[..., Constraints]


def data_sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return standardized data sets; the public one if it is available."""
    sets = {
        "iris": load_iris(return_X_y=True),
        "wine": load_wine(return_X_y=True),
        "four clusters": make_fourclass(200, random_state=1),
        "two bananas": make_bananas(200, random_state=1),
    }
    folder = shared_folder()
    for name in PUBLIC if folder is not None else ():
        stored = np.load(folder / "data" / f"{name}.npz")
        sets[name] = stored["X"], stored["y"]
    return {
        name: (StandardScaler().fit_transform(X), np.unique(y, return_inverse=True)[1])
        for name, (X, y) in sets.items()
    }


def random_pairs(
    X: np.ndarray, y: np.ndarray, model: Any, known: Constraints, memory: dict[str, Any]
) -> Constraints:
    rng = memory.setdefault("rng", np.random.default_rng(memory["seed"]))
    pairs = np.array([rng.choice(len(X), 2, replace=False) for _ in range(STEP)])
    return known | Constraints.from_pairs(pairs, y)


def suggested(
    X: np.ndarray, y: np.ndarray, model: Any, known: Constraints, memory: dict[str, Any]
) -> Constraints:
    questions = suggest_pairs(
        model.credal_partition_, STEP, constraints=known, random_state=memory["seed"]
    )
    return known | Constraints.from_pairs(questions, y)


def of_scikit_query(name: str) -> Ask:
    """Strategy of scikit-query that continues from the known neighborhoods."""

    def ask(
        X: np.ndarray,
        y: np.ndarray,
        model: Any,
        known: Constraints,
        memory: dict[str, Any],
    ) -> Constraints:
        from skquery import pairwise
        from skquery.oracle import MLCLOracle

        if "strategy" not in memory:
            np.random.seed(memory["seed"])  # noqa: NPY002 - the strategies draw from there
            memory["strategy"] = getattr(pairwise, name)()
        found = memory["strategy"].fit(
            X, MLCLOracle(budget=STEP, truth=y), partition=model.labels_
        )
        pairs = np.array([*found["ml"], *found["cl"]], dtype=int).reshape(-1, 2)
        if len(pairs):
            return known | Constraints.from_pairs(
                np.unique(np.sort(pairs, axis=1), axis=0), y
            )
        return known

    return ask


def aipc(
    X: np.ndarray, y: np.ndarray, model: Any, known: Constraints, memory: dict[str, Any]
) -> Constraints:
    """Return new pairs of AIPC, which needs its whole budget at once and is called again with a larger one."""
    from skquery.oracle import MLCLOracle
    from skquery.pairwise import AIPC

    memory["asked"] = memory.get("asked", 0) + STEP
    np.random.seed(memory["seed"])  # noqa: NPY002 - the strategies draw from there
    # it takes the number of clusters
    found = AIPC().fit(X, MLCLOracle(budget=memory["asked"], truth=y), partition=y)
    pairs = np.array([*found["ml"], *found["cl"]], dtype=int).reshape(-1, 2)
    return Constraints.from_pairs(pairs, y)


STRATEGIES: dict[str, Ask] = {
    "suggest_pairs": suggested,
    "random pairs": random_pairs,
    "scikit-query FFQS": of_scikit_query("FFQS"),
    "scikit-query MinMax": of_scikit_query("MinMax"),
    "scikit-query NPU": of_scikit_query("NPU"),
    "scikit-query AIPC": aipc,
}


def curve(ask: Ask, X: np.ndarray, y: np.ndarray, seed: int) -> list[float]:
    """Return the adjusted Rand index before the first question and after every ten answers."""
    some = np.sort(np.random.default_rng(seed).permutation(len(X))[:MOST])
    X = X[some]
    y = y[some]
    known = Constraints()
    memory = {"seed": seed}
    scores = []
    for step in range(STEPS + 1):
        model = EVCLUS(len(np.unique(y)), random_state=seed).fit(
            X, constraints=known.closure()
        )
        scores.append(adjusted_rand_score(y, model.labels_))
        if step < STEPS:
            known = ask(X, y, model, known, memory)
    return scores


def main() -> None:
    lines = [
        "# Selection of pairs for an expert",
        "",
        "Written by `make questions`: adjusted Rand index of labels and classes by number of answers, for EVCLUS with default",
        f"parameters. Means over {SEEDS} random samples of at most {MOST} objects per data set. All answers are correct, and the",
        "transitive closure of the constraints is used. All strategies ask the same number of questions.",
    ]
    tables: dict[str, dict[str, np.ndarray]] = {}
    for name, (X, y) in data_sets().items():
        for strategy, ask in STRATEGIES.items():
            scores = []
            for seed in range(SEEDS):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        scores.append(curve(ask, X, y, seed))
                    except (
                        Exception
                    ) as error:  # A failure of another package is also a result.
                        print(
                            f"{name}, {strategy}, seed {seed}: {type(error).__name__}: {error}",
                            flush=True,
                        )
            if scores:
                tables.setdefault(name, {})[strategy] = np.mean(scores, axis=0)
                print(name, strategy, np.round(tables[name][strategy], 2), flush=True)
    complete = {s for s in STRATEGIES if all(s in table for table in tables.values())}
    mean = {
        s: np.mean([table[s] for table in tables.values()], axis=0)
        for s in STRATEGIES
        if s in complete
    }
    head = "| strategy | " + " | ".join(f"{STEP * k}" for k in range(STEPS + 1)) + " |"
    rule = "|:--|" + "--:|" * (STEPS + 1)
    for name, table in {"Mean over the data sets": mean, **tables}.items():
        lines += ["", f"## {name[0].upper()}{name[1:]}", "", head, rule]
        lines += [
            f"| {s} | " + " | ".join(f"{v:.2f}" for v in values) + " |"
            for s, values in table.items()
        ]
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
