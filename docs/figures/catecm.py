"""Figures of the page on CatECM: results for increasing values of a parameter."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import save
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import CatECM

rng = np.random.default_rng(0)


def answers(n, columns, faithful):
    """Generate three groups of people who give the typical answer of their group or one of five at random."""
    kind = rng.integers(3, size=n)
    usual = rng.permuted(np.tile(np.arange(5), (columns, 1)), axis=1)[:, :3]
    table = np.where(
        rng.random((n, columns)) < faithful,
        usual[:, kind].T,
        rng.integers(5, size=(n, columns)),
    )
    return table.astype(str), kind


table, kind = answers(400, 10, 0.55)
# Answers that do not occur elsewhere.
strangers = rng.integers(5, 9, size=(12, 10)).astype(str)
table = np.vstack([table, strangers])
kind = np.append(kind, np.full(12, 3))


def curves(name, title, values, **settings):
    """Draw proportions of certain objects, ambiguous objects and outliers, and the ARI, against a parameter."""
    shares = []
    agreement = []
    for value in values:
        model = CatECM(3, random_state=0, n_init=4, **{name: value, **settings}).fit(
            table
        )
        found = model.credal_partition_
        ambiguous = len(found.ambiguous) / len(table)
        out = len(found.outliers) / len(table)
        shares.append([1 - ambiguous - out, ambiguous, out])
        agreement.append(adjusted_rand_score(kind[:400], model.labels_[:400]))
    figure, ax = plt.subplots(figsize=(6.4, 3.1), layout="constrained")
    ax.stackplot(
        values,
        np.transpose(shares),
        labels=("certain", "ambiguous", "outliers"),
        colors=("#9ecae1", "#d55e00", "0.35"),
    )
    ax.plot(
        values, agreement, color="black", marker="o", label="agreement with the kinds"
    )
    ax.set(
        xlim=(values[0], values[-1]),
        ylim=(0, 1),
        xlabel=name,
        ylabel="proportion of the objects",
        title=title,
    )
    ax.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    save(figure, f"catecm-{name}")


curves(
    "alpha",
    "too small: all ambiguous; too large: none ambiguous",
    [-1.0, -0.75, -0.5, -0.25, -0.1, 0.25, 0.5],
)
curves(
    "delta",
    "too small: all outliers; too large: no outliers",
    [1.0, 1.5, 2.0, 2.5, 3.0, 3.5],
)
