"""Draw how often the clusters of CredalClustering are right, against their pignistic probabilities."""

import matplotlib.pyplot as plt
import numpy as np
from _drawing import save
from scipy.spatial.distance import pdist

from dempster.cluster import CredalClustering
from dempster.explain.scores import count_pairs, match_one_to_one

N_DRAWS = {100: 12, 2000: 2}  # by the number of objects
N_BINS = 10
MIN_OBJECTS = 10  # Bins of fewer objects are not drawn.
STYLES = {
    100: {"color": "#d55e00", "linestyle": "--", "marker": "s"},
    2000: {"color": "#0072b2", "marker": "o"},
}
rng = np.random.default_rng(0)


def centers(n_clusters, d):
    """Draw centers; the smallest distance is three standard deviations."""
    found = rng.normal(size=(n_clusters, d))
    return found * 3 / pdist(found).min()


def normal(n, d, shares=(1 / 3, 1 / 3, 1 / 3)):
    y = rng.choice(len(shares), n, p=shares)
    return centers(len(shares), d)[y] + rng.normal(size=(n, d)), y


def tails(n):
    y = rng.integers(0, 3, n)
    noise = rng.normal(size=(n, 10)) / np.sqrt(rng.chisquare(4, (n, 1)) / 4)
    return centers(3, 10)[y] + noise, y


def elongated(n):
    """Draw clusters with a standard deviation of 4 in a direction of their own."""
    X, y = normal(n, 20)
    directions = rng.normal(size=(3, 20))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    return X + np.sqrt(15) * rng.normal(size=(n, 1)) * directions[y], y


FAMILIES = {
    "2 dimensions": lambda n: normal(n, 2),
    "10 dimensions": lambda n: normal(n, 10),
    "50 dimensions": lambda n: normal(n, 50),
    "sizes 6 : 1 : 1": lambda n: normal(n, 10, (0.75, 0.125, 0.125)),
    "t tails": tails,
    "elongated, 20 dimensions": elongated,
    "12 clusters": lambda n: normal(n, 10, (1 / 12,) * 12),
}


def assign(X, y):
    """Return the probabilities of the assigned clusters, and whether they are right."""
    n_clusters = y.max() + 1
    model = CredalClustering(n_clusters, random_state=0).fit(X)
    probability = np.asarray(model.credal_partition_.pignistic())
    labels = probability.argmax(axis=1)
    counts = count_pairs(labels, y, probability.shape[1], n_clusters)
    return probability.max(axis=1), match_one_to_one(counts)[labels] == y


def bins(probability, is_right):
    """Return the mean probability and the frequency of each large bin, and the mean error."""
    place = np.minimum((probability * N_BINS).astype(int), N_BINS - 1)
    counts = np.bincount(place, minlength=N_BINS)
    mean, frequency = (
        np.bincount(place, values, N_BINS) / np.maximum(counts, 1)
        for values in (probability, is_right)
    )
    error = np.average(np.abs(mean - frequency), weights=counts)
    drawn = counts >= MIN_OBJECTS
    return mean[drawn], frequency[drawn], error


figure, axes = plt.subplots(
    2, 4, figsize=(10.5, 5.6), layout="constrained", sharex=True, sharey=True
)
errors = {n: [] for n in N_DRAWS}
for ax, (name, draw) in zip(axes.flat, FAMILIES.items(), strict=False):
    ax.plot([0, 1], [0, 1], color="0.6", linewidth=1)
    for n, n_draws in N_DRAWS.items():
        found = [np.stack(assign(*draw(n))) for _ in range(n_draws)]
        mean, frequency, error = bins(*np.hstack(found))
        errors[n].append(error)
        label = f"{n:,} objects: {error:.3f}"
        ax.plot(mean, frequency, markersize=4, label=label, **STYLES[n])
    ax.legend(frameon=False, fontsize="small", loc="lower right", title="mean error")
    ax.set(title=name, xlim=(0.3, 1.02), ylim=(0, 1.02))
    ax.spines[["top", "right"]].set_visible(False)
axes[-1, -1].axis("off")
figure.supxlabel("pignistic probability of the assigned cluster")
figure.supylabel("share of right assignments")
for n, values in errors.items():
    print(f"{n:,} objects: mean error {np.mean(values):.3f}")
save(figure, "reliability-families")
