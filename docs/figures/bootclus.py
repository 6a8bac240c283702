"""Figures of the page on BootClus."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import parameter_row, save
from _panels import partition_of, row
from sklearn.datasets import make_moons

from dempster.cluster import BootClus
from dempster.datasets import make_gaussian_mixture

sample = make_gaussian_mixture(1, 200, as_bunch=True, random_state=1)
X = sample.data


def fit(**parameters):
    settings = {"mixture": "EII", "n_bootstraps": 100, "random_state": 0, **parameters}
    return BootClus(3, **settings).fit(X)


parameter_row(
    "bootclus-confidence",
    "confidence",
    [0.5, 0.9, 0.999],
    fit,
    X,
    words=("shorter", "default", "longer intervals"),
)

# Coverage of the known true probabilities against the number of bootstrap samples, as mean over
# four data sets, because a single one varies too much.
sets_of_data = [
    make_gaussian_mixture(1, as_bunch=True, random_state=seed) for seed in range(4)
]
numbers = [5, 20, 100]
levels = {0.5: ("#0072b2", "o"), 0.9: ("#d55e00", "s")}
coverage = np.zeros((len(levels), len(numbers), 2))
for column, number in enumerate(numbers):
    for one in sets_of_data:
        model = BootClus(
            3,
            mixture="EII",
            n_bootstraps=number,
            n_partners=100,
            warm_start=True,
            random_state=0,
        )
        for line, confidence in enumerate(levels):
            found = (
                model.set_params(confidence=confidence)
                .fit(one.data)
                .intervals_.coverage(one.posterior)
            )
            coverage[line, column] += np.array(
                [found.belief, found.belief_length]
            ) / len(sets_of_data)
figure, (held, length) = plt.subplots(1, 2, figsize=(8.4, 3.2), layout="constrained")
for (confidence, (color, marker)), lines in zip(levels.items(), coverage, strict=True):
    held.plot(
        numbers,
        lines[:, 0],
        marker=marker,
        color=color,
        label=f"confidence={confidence}",
    )
    held.axhline(confidence, color=color, linewidth=0.8, linestyle=":")
    length.plot(numbers, lines[:, 1], marker=marker, color=color)
held.set(title="coverage of the true probabilities", ylim=(0, 1))
length.set(title="mean length of the intervals", ylim=(0, None))
held.legend(frameon=False, loc="lower right")
for ax in (held, length):
    ax.set(xscale="log", xlabel="n_bootstraps")
    ax.set_xticks(numbers, labels=[str(number) for number in numbers])
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
save(figure, "bootclus-bootstraps")

# If the covariance model is too simple (round instead of elongated clusters), the result is wrong
# but certain.
elongated = X * (3.0, 1.0)
parameter_row(
    "bootclus-mixture",
    "mixture",
    ["EII", "EEI", None],
    lambda mixture: BootClus(3, mixture=mixture, n_bootstraps=60, random_state=0).fit(
        elongated
    ),
    elongated,
    words=("too simple", "right", "default"),
    show=lambda value, model: f'"{value}"' if value else "None",
)

# Cases in which the coverage does not hold.
moons, _ = make_moons(300, noise=0.06, random_state=0)
row(
    "bootclus-fails",
    partition_of(
        BootClus(2, n_bootstraps=60, random_state=0).fit(moons), moons, "two moons"
    ),
    partition_of(
        BootClus(3, mixture="EII", n_bootstraps=60, random_state=0).fit(X[::10]),
        X[::10],
        "twenty objects, three clusters",
    ),
    width=4.2,
)
