"""Rows of the tables and figures that differ from the paper, and the computations that explain them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import RECM
from reproduce.data import table as data_of
from reproduce.nn_evclus.attribute_fits import estimator
from reproduce.nn_evclus.butterfly import PAPER
from reproduce.nn_evclus.fourclass import fit
from reproduce.runner import Run, experiment, summary

BETAS = ["auto", 1.1, 1.3, 1.5, 2.0]
# Training losses of the networks with 20 units or more are either below 0.0053 or above 0.0085.
STUCK = 0.007


def protein(beta: float | str) -> dict[str, Any]:
    """Fit RECM to Protein with default parameters except ``beta``."""
    D, y = data_of("Protein")
    model = RECM(4, metric="precomputed", beta=beta, random_state=0, n_jobs=1).fit(D)
    used = int((np.bincount(model.labels_, minlength=4) > 0).sum())
    return {
        "ari": float(adjusted_rand_score(y, model.labels_)),
        "beta": model.beta_,
        "clusters": used,
    }


def beans(scaled_first: bool, labels: str, seed: int) -> dict[str, Any]:
    """Fit NN-EVCLUS-bp to DryBean with belief peaks, or with the central object of each species, as labels."""
    if scaled_first:
        name = "DryBean scaled first"
    else:
        name = "DryBean"
    X, y = data_of(name, standardise=not scaled_first)
    c = int(y.max()) + 1
    model = estimator("NN-EVCLUS-bp", name, X, c, seed)
    if labels == "belief peaks":
        return {"ari": float(adjusted_rand_score(y, model.fit(X).labels_))}
    known = np.full(len(X), -1)
    for k in range(c):
        members = np.flatnonzero(y == k)
        known[
            members[
                np.square(X[members] - X[members].mean(axis=0)).sum(axis=1).argmin()
            ]
        ] = k
    return {
        "ari": float(
            adjusted_rand_score(
                y, model.set_params(init="random").fit(X, known).labels_
            )
        )
    }


@experiment(
    PAPER, "Explanations", "RECM on Protein, Figure 14, NN-EVCLUS-bp on DryBean"
)
def explanations(run: Run) -> None:
    """RECM: with β = 1.5 and single clusters, two of the four clusters are empty.

    The dissimilarities have 25
    effective dimensions, and the default now selects β by this number. Figure 14: one or two of
    five random starts end in a minimum with almost twice the loss, and the means depend on the
    number of such starts. Without them, the test losses of 20, 45 and 60 units differ by less than
    their spread. The test loss is still smallest at λ = 1e-3, although our penalty is that of the
    paper; the difference from λ = 1e-5 is smaller than the spread at λ = 1e-5. DryBean: the belief
    peaks miss one species. The central object of every species as label gives 0.60 and 0.64 instead
    of 0.58, not the paper's 0.75. The peaks are therefore not the main reason, and the difference
    remains unexplained."""
    table = run.table("data", "β", "clusters in use")
    for beta, result in zip(
        BETAS, run.each(protein, [{"beta": b} for b in BETAS]), strict=True
    ):
        shown = f"auto ({result['beta']:.2f})" if beta == "auto" else beta
        table.add("Protein", shown, result["clusters"], ours=result["ari"])
    seeds = run.seeds(5)
    one = {
        "method": "NN-EVCLUS",
        "settings": "trained to the end",
        "starts": 1,
        "svm": False,
    }
    cases: list[tuple[str, dict[str, Any]]] = [
        ("hidden units", {"units": u}) for u in (20, 45, 60)
    ]
    cases += [("λ", {"units": 50, "weight": w}) for w in (0, 1e-5, 1e-3)]
    flat = run.each(
        fit, [{**one, **case, "seed": s} for _, case in cases for s in seeds]
    )
    table = run.table("varied", "value", "starts with a high loss", "all starts", quantity="test loss of the others",
        short=None, form=".5f")  # fmt: skip
    for k, (name, case) in enumerate(cases):
        group = flat[k * len(seeds) : (k + 1) * len(seeds)]
        good = [result for result in group if result["loss"] < STUCK]
        value = case.get("weight", case["units"])
        high = f"{len(group) - len(good)} of {len(group)}"
        every = format(summary(group, "test loss"), ".5f")
        table.add(
            name,
            f"{value:g}",
            high,
            every,
            ours=summary(good, "test loss") if good else None,
        )
    seeds = run.seeds(3)
    rows = [
        (first, labels)
        for first in (False, True)
        for labels in ("belief peaks", "one object of each species")
    ]
    flat = run.each(
        beans,
        [{"scaled_first": a, "labels": b, "seed": s} for a, b in rows for s in seeds],
    )
    table = run.table("data", "labels", short=None)
    for k, (first, labels) in enumerate(rows):
        if first:
            name = "DryBean, scaled before the draw"
        else:
            name = "DryBean"
        table.add(
            name,
            labels,
            paper=0.75,
            ours=summary(flat[k * len(seeds) : (k + 1) * len(seeds)], "ari"),
        )
