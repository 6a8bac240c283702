"""The masses of the default focal sets follow the formulas on the pages of EVCLUS and EGMM."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import multivariate_normal

from dempster.cluster import EGMM, EVCLUS

rng = np.random.default_rng(3)
CENTERS = np.array([[0, 0], [4, 0], [8, 0.5], [3, 5]])
X = np.concatenate(
    [
        center + rng.normal(size=(n, 2))
        for center, n in zip(CENTERS, (40, 25, 30, 20), strict=True)
    ]
)
X = np.concatenate([X, [[20.0, 20.0], [-12.0, 9.0]]])
NEW = rng.uniform(-4, 12, (30, 2))


def neighbors_by_objects(costs):
    """Return the pairs of clusters that are the nearest two of 1 % of the smaller cluster."""
    first, second = np.argsort(costs, axis=1)[:, :2].T
    sizes = np.bincount(first)
    pairs = []
    for k, m in np.ndindex(len(sizes), len(sizes)):
        between = (first == k) & (second == m) | (first == m) & (second == k)
        if k != m and between.sum() >= max(0.01 * min(sizes[k], sizes[m]), 1):
            pairs.append((k, m))
    return pairs


def consonant_masses(plausibility, neighbors, empty):
    """Return the mass of each set for one object."""
    k = int(np.argmax(plausibility))
    near = [m for m in range(len(plausibility)) if (k, m) in neighbors]
    m = max(near, key=lambda one: plausibility[one])
    ratio = plausibility[m] / plausibility[k]
    return {
        (): empty,
        (k,): (1 - empty) * (1 - ratio),
        tuple(sorted((k, m))): (1 - empty) * ratio,
    }


def to_table(partition, expected):
    table = np.zeros_like(partition.masses)
    sets = [
        tuple(np.flatnonzero(row).tolist()) for row in partition.focal_sets.membership
    ]
    for row, masses in zip(table, expected, strict=True):
        for members, mass in masses.items():
            if mass > 0 or members in sets:
                row[sets.index(members)] += mass
    return table


def assert_masses(partition, expected):
    np.testing.assert_allclose(
        partition.masses, to_table(partition, expected), atol=1e-9
    )


def exponent(between, labels, scales):
    """Return 1 + h^2 / v of the clusters, with the unbiased distance variance."""
    above = below = 0
    for k in range(labels.max() + 1):
        mine = np.flatnonzero(labels == k)
        n = len(mine)
        D = between[np.ix_(mine, mine)] ** 2
        sums = D.sum(axis=1)
        centered = D - (sums[:, None] + sums) / (n - 2)
        centered += D.sum() / ((n - 1) * (n - 2))
        np.fill_diagonal(centered, 0)
        trace = D.sum() / (n * (n - 1)) / 2
        trace_of_square = np.square(centered).sum() / (n * (n - 3)) / 4
        bandwidth = scales[mine].mean() ** 2 / (2 * np.log(20) / 1.5**2)
        above += n * trace / bandwidth
        below += n * trace_of_square / bandwidth**2
    return 1 + above / below


def evclus_masses(objects, references, labels, c, is_training):
    """Return the masses by the formula of docs/methods/evclus.md.

    An object is not compared with itself.
    """
    D = cdist(objects, references)
    r = len(references)
    between = cdist(references, references)
    q = round(np.sqrt(r))
    own = np.sort(between, axis=1)  # The first entry is the distance to itself.
    scales = own[:, q]
    usual = own[:, 5]
    first, third = np.quantile(usual, [0.25, 0.75], method="inverted_cdf")
    width = max(np.log(third / first), 0.1)
    square = np.array(
        [
            [np.mean(between[np.ix_(labels == k, labels == m)] ** 2) for m in range(c)]
            for k in range(c)
        ]
    )
    means = [np.mean(between[:, labels == k] ** 2, axis=1) for k in range(c)]
    neighbors = neighbors_by_objects(np.transpose(means) - np.diag(square) / 2)
    power = exponent(between, labels, scales)
    mutual = np.exp(-np.log(20) / 1.5**2 * between**2 / (scales[:, None] * scales)) * (
        1 - np.eye(r)
    )
    within = []
    for k in range(c):
        mine = np.flatnonzero(labels == k)
        n = len(mine)
        within.append(mutual[np.ix_(mine, mine)].sum() / (n * (n - 1)))
    for i, d in enumerate(D):
        if is_training:
            compared = np.arange(r) != i
        else:
            compared = np.full(r, True)
        nearest = np.sort(d[compared])
        scale = max(nearest[q - 1], scales.min())
        alike = np.exp(-np.log(20) / 1.5**2 * d**2 / (scale * scales))
        members = [compared & (labels == k) for k in range(c)]
        affinity = np.array([alike[who].mean() for who in members])
        plausibility = (affinity / np.sqrt(within)) ** power
        above = (np.log(nearest[4] / third) - 2 * width) / (width / 8)
        yield consonant_masses(
            plausibility, neighbors, 1 / (1 + np.exp(-np.clip(above, -50, 50)))
        )


def test_evclus():
    model = EVCLUS(4, random_state=0).fit(X)
    labels = np.empty(len(X), dtype=int)
    labels[model._model.references.positions] = model._model.labels
    assert_masses(model.credal_partition_, evclus_masses(X, X, labels, 4, True))
    found = model.predict_mass(NEW)
    expected = to_table(found, evclus_masses(NEW, X, labels, 4, False))
    # Near a training object, the masses tend to its own.
    distances = cdist(NEW, X)
    nearest = distances.argmin(axis=1)
    radii = np.sort(cdist(X, X), axis=1)[:, 1] / 4
    shares = np.maximum(1 - distances.min(axis=1) / radii[nearest], 0)[:, None]
    assert (shares > 0).any()
    fitted = model.credal_partition_.masses[nearest]
    expected = (1 - shares) * expected + shares * fitted
    np.testing.assert_allclose(found.masses, expected, atol=1e-9)
    assert len(model.credal_partition_.ambiguous) > 3
    assert len(model.credal_partition_.outliers) >= 2


@pytest.mark.parametrize("covariance", ["tied", "own"])
def test_egmm(covariance):
    model = EGMM(4, covariance=covariance, n_init=2, random_state=0, n_jobs=1).fit(
        X[:-2]
    )
    own = np.broadcast_to(model.covariance_, (4, 2, 2))
    single = model.weights_[model.focal_sets_.singleton_index]

    def densities(objects):
        return [
            single[k] * multivariate_normal(model.means_[k], own[k]).pdf(objects)
            for k in range(4)
        ]

    neighbors = neighbors_by_objects(-np.transpose(densities(X[:-2])))
    assert_masses(
        model.predict_mass(NEW),
        [consonant_masses(p, neighbors, 0.0) for p in np.transpose(densities(NEW))],
    )
