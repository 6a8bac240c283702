"""
Calibrated intervals for pairs of objects
=========================================

Compute calibrated intervals for the probability that two objects belong to the same cluster.
"""

import numpy as np

from dempster.cluster import BootClus
from dempster.datasets import load_iris, make_gaussian_mixture
from dempster.plot import CalibrationDisplay, PairProbabilityDisplay

# %%
# Five samples of three overlapping spherical clusters are simulated, so that the true probabilities
# are known. The covariance model of the simulation, `EII`, is given. If it is selected from the
# data, the coverage can be lower.
samples = [
    make_gaussian_mixture(1, as_bunch=True, random_state=seed) for seed in range(5)
]
print("coverage of the intervals [belief, plausibility] of pairs:")
for confidence in (0.5, 0.9):
    found = []
    for sample in samples:
        model = BootClus(
            3, mixture="EII", n_bootstraps=80, confidence=confidence, random_state=0
        ).fit(sample.data)
        found.append(model.intervals_.coverage(sample.posterior))
    coverage, length = np.mean([(c.belief, c.belief_length) for c in found], axis=0)
    print(
        f"  confidence {confidence:.2f}: {coverage:.2f} of the pairs, mean length {length:.2f}"
    )

# %%
# The belief (left) and the plausibility (right) of "same cluster" against its true probability, for
# all pairs of the last sample. Nearly all beliefs are below the diagonal, and nearly all
# plausibilities above it.
display = CalibrationDisplay.from_estimator(model, posterior=sample.posterior)
display.figure_.savefig("calibration.png", dpi=120)

# %%
# For real data the true model is unknown, and `BootClus` selects it.
iris = load_iris()
model = BootClus(3, n_bootstraps=200, random_state=0).fit(iris.data)
partition = model.credal_partition_
print(f"\nIris, covariance model {model.mixture_.model_}:")
print(partition.summary())

# %%
# Some versicolor are labeled as virginica by the mixture. Many of them are ambiguous in the credal
# partition.
ambiguous = partition.ambiguous
wrong = (
    np.flatnonzero(
        model.mixture_.predict(iris.data)[50:100]
        != np.bincount(model.labels_[50:100]).argmax()
    )
    + 50
)
print(f"\nversicolor that the mixture labels as virginica: {wrong.tolist()}")
print(
    f"ambiguous in the credal partition:              {np.intersect1d(wrong, ambiguous).tolist()}"
)

# %%
# Four histograms of the bootstrap probabilities that flower 60 and an ambiguous flower belong to
# the same cluster, with lines at belief and plausibility.
display = PairProbabilityDisplay.from_estimator(
    model, iris.data, [(60, int(i)) for i in ambiguous[:4]]
)
display.figure_.savefig("pairs.png", dpi=120)
print("\nwrote calibration.png and pairs.png")
