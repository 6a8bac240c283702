"""Section 4.2, prediction: a network trained on half of a dissimilarity matrix, applied to the other half."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproduce.data import PRTOOLS, MissingDataError, dissimilarity_file
from reproduce.nn_evclus.butterfly import PAPER
from reproduce.nn_evclus.prediction_fits import METHODS, STAND_INS, deviation, half
from reproduce.runner import Run, experiment, summary


@experiment(PAPER, "Section 4.2, prediction", "dissimilarities of new objects")
def prediction(run: Run) -> None:
    """The paper trains NN-EVCLUS on a random half of Zongker and predicts the other half from its dissimilarities to
    the first, ten times: mean ARI 0.73 and 0.72. Zongker is not available here, so two matrices of
    digits are computed instead, 200 objects of each digit, and divided at random: dynamic time
    warping of pen strokes (Pendigits, eight points each), and chamfer distances of images (MNIST
    test part, ink where the gray level is at least 128). Inputs of the network are 20 principal
    components of the rows. "Paper": 50 hidden units, d0 at the 0.3 quantile, RMSprop on ten
    mini-batches from one random start; the paper does not give the number of epochs, ours is 500.
    "Ours": default parameters except the hidden units. For comparison, a new object gets the label
    of the nearest training object after EVCLUS, or of the nearest mean after k-means on the
    components. As in the paper, the network predicts new objects almost as well as it clusters the
    training objects. The paper does not compare with the two simple rules; on these data they
    predict about as well as the network."""
    per_class = run.choose(200, 50)
    seeds = run.seeds(5, 2)
    missing = [name for name in PRTOOLS if not _is_available(name)]
    names = [*STAND_INS, *(name for name in PRTOOLS if name not in missing)]
    for result, name in zip(
        run.each(deviation, [{"name": a, "per_class": per_class} for a in names]),
        names,
        strict=True,
    ):
        run.text(
            f"{name}: {result['n']:,} objects; {result['triangles']:.2%} of the triples violate the triangle "
            f"inequality; negative eigenvalues of the Gram matrix: {result['negative']:.0%} of the absolute sum."
        )
    cases = [(name, method) for name in names for method in METHODS]
    flat = run.each(
        half,
        [
            {"name": a, "method": b, "per_class": per_class, "seed": s}
            for a, b in cases
            for s in seeds
        ],
    )
    found = {
        case: flat[k * len(seeds) : (k + 1) * len(seeds)]
        for k, case in enumerate(cases)
    }
    table = run.table(
        "data",
        "method",
        "ARI of the training objects",
        quantity="ARI of the new objects",
    )
    for (name, method), results in found.items():
        if (name, method) == ("Zongker", "NN-EVCLUS, paper"):
            paper = 0.72
        else:
            paper = None
        train = f"{summary(results, 'train')}"
        seconds = summary(results, "seconds").mean
        table.add(
            name,
            method,
            train,
            paper=paper,
            ours=summary(results, "test"),
            seconds=seconds,
        )
    caption = f"ARI of the new objects against that of the training objects, for {len(seeds)} splits."
    run.figure("halves", _draw(found, names), caption)
    if missing:
        files = ", ".join(f"{name} (`{name.lower()}.mat`)" for name in missing)
        run.text(
            f"Left out, because the files are not in the folder of the data sets: {files}."
        )


def _is_available(name: str) -> bool:
    try:
        dissimilarity_file(name)
    except MissingDataError:
        return False
    return True


def _draw(found: Any, names: list[str]) -> Any:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1,
        len(names),
        figsize=(5 * len(names), 4.5),
        squeeze=False,
        layout="constrained",
    )
    for ax, name in zip(axes[0], names, strict=True):
        for method in METHODS:
            points = [(one["train"], one["test"]) for one in found[name, method]]
            ax.scatter(*np.transpose(points), s=25, label=method)
        ax.axline(2 * points[0][:1], slope=1, color="gray", linewidth=0.8)
        ax.set(
            title=name,
            xlabel="ARI of the training objects",
            ylabel="ARI of the new objects",
        )
    axes[0, 0].legend(fontsize="small")
    return figure
