"""BootClus on the simulated and real data of Denoeux (2020)."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, confusion_matrix

from dempster.cluster import BootClus
from dempster.datasets import load_iris, make_gaussian_mixture
from dempster.mixture import ParsimoniousGaussianMixture


@pytest.fixture(scope="module")
def iris():
    bunch = load_iris()
    return np.asarray(bunch.data, float), np.asarray(bunch.target)


# ---- calibration ---------------------------------------------------------------------------------


def coverages(
    mixture, models, n_datasets, n_bootstraps, levels, first_seed=0, focal_sets="pairs"
):
    """Return the mean coverage of both intervals over simulated datasets of 300 objects."""
    found = {}
    for seed in range(first_seed, first_seed + n_datasets):
        sample = make_gaussian_mixture(mixture, as_bunch=True, random_state=seed)
        for model in models:
            for level in levels:
                e = BootClus(
                    3,
                    focal_sets=focal_sets,
                    mixture=ParsimoniousGaussianMixture(3).fit(sample.data).model_
                    if model == "Auto"
                    else model,
                    n_bootstraps=n_bootstraps,
                    confidence=level,
                    random_state=seed,
                ).fit(sample.data)
                found.setdefault((model, level), []).append(
                    e.intervals_.coverage(sample.posterior)
                )
    return {key: np.mean(values, axis=0) for key, values in found.items()}


# Coverage of [Bel, Pl] in Tables 2 to 4 of Denoeux (2020), at levels 0.90 and 0.95.
TABLES = {
    1: {
        "EII": (0.90, 0.94),
        "EEE": (0.90, 0.94),
        "VVV": (0.91, 0.94),
        "Auto": (0.89, 0.93),
    },
    2: {
        "EII": (0.50, 0.56),
        "EEE": (0.91, 0.95),
        "VVV": (0.89, 0.92),
        "Auto": (0.90, 0.94),
    },
    3: {
        "EII": (0.58, 0.65),
        "EEE": (0.64, 0.73),
        "VVV": (0.89, 0.93),
        "Auto": (0.70, 0.78),
    },
}


@pytest.mark.long
@pytest.mark.parametrize("model", ["EII", "EEE", "VVV", "Auto"])
@pytest.mark.parametrize("mixture", [1, 2, 3])
def test_calibration_of_the_paper(mixture, model):
    """100 datasets of 300 objects, 200 samples each (the paper: 100 and 1,000)."""
    found = coverages(mixture, [model], 100, 200, [0.9, 0.95], first_seed=1000)
    for level, expected in zip((0.9, 0.95), TABLES[mixture][model], strict=True):
        assert found[model, level][1] == pytest.approx(expected, abs=0.04)


@pytest.mark.long
@pytest.mark.parametrize("mixture", [1, 2, 3])
def test_calibration_with_default_parameters(mixture):
    """200 datasets of 300 objects, 200 samples each, with other seeds than those on which the rule was chosen."""
    levels = [0.5, 0.9, 0.95]
    found = coverages(
        mixture, [None], 200, 200, levels, first_seed=3000, focal_sets="auto"
    )
    for level in levels:
        confidence, belief = found[None, level][:2]
        assert confidence == pytest.approx(level, abs=0.03)
        # For pairs that are nearly certain, [Bel, Pl] is longer than the short interval of a low
        # level.
        assert -0.05 < belief - level < (0.2 if level == 0.5 else 0.06)


# ---- the real data of the paper ------------------------------------------------------------------


def by_species(partition, y, classes):
    """Return the focal sets and the best sets, with each cluster named after its most frequent class."""
    names = [
        int(np.bincount(y[partition.labels == k], minlength=len(classes)).argmax())
        for k in range(len(classes))
    ]
    sets = [frozenset(names[k] for k in s) for s in partition.focal_sets]
    return sets, [sets[s] for s in partition.masses.argmax(axis=1)]


def test_iris(iris):
    """Section 4.2, tables 5 and 6: of five misclassified versicolor, four are ambiguous."""
    X, y = iris
    selected = ParsimoniousGaussianMixture(3).fit(X).model_
    assert selected == "VEV"
    model = BootClus(
        3, focal_sets="pairs", mixture=selected, n_bootstraps=500, random_state=0
    ).fit(X)
    hard = model.mixture_.predict(X)
    assert adjusted_rand_score(y, hard) == pytest.approx(0.90, abs=0.005)
    assert adjusted_rand_score(y, model.labels_) > 0.88
    sets, best = by_species(model.credal_partition_, y, range(3))
    doubt = frozenset({1, 2})
    virginica = frozenset({2})
    masses = model.credal_partition_.masses
    published = {69: 0.991, 71: 0.918, 73: 0.795, 78: 0.897}
    for number, mass in published.items():
        assert masses[number - 1, sets.index(doubt)] == pytest.approx(mass, abs=0.1)
        assert best[number - 1] == doubt
    assert masses[84 - 1, sets.index(virginica)] == pytest.approx(0.882, abs=0.1)
    columns = [frozenset({0}), frozenset({1}), virginica, doubt]
    table = [
        [sum(best[i] == s for i in np.flatnonzero(y == k)) for s in columns]
        for k in range(3)
    ]
    np.testing.assert_allclose(
        table, [[50, 0, 0, 0], [0, 38, 1, 11], [0, 0, 47, 3]], atol=4
    )


def test_diabetes(shared_data):
    """Tables 9 and 10. Rows: chemical, normal, overt."""
    X, y = shared_data("diabetes")
    model = BootClus(None, focal_sets="pairs", n_bootstraps=300, random_state=0).fit(X)
    assert model.mixture_.model_ == "VVV"
    assert model.n_clusters_ == 3
    hard = model.mixture_.predict(X)
    assert adjusted_rand_score(y, hard) == pytest.approx(0.66, abs=0.005)
    names = [int(np.bincount(y[hard == k], minlength=3).argmax()) for k in range(3)]
    np.testing.assert_array_equal(
        confusion_matrix(y, np.array(names)[hard]), [[26, 9, 1], [4, 72, 0], [6, 0, 27]]
    )
    _, best = by_species(model.credal_partition_, y, range(3))
    columns = [frozenset(s) for s in [(0,), (1,), (2,), (0, 1)]]
    table = np.array(
        [
            [sum(best[i] == s for i in np.flatnonzero(y == k)) for s in columns]
            for k in range(3)
        ]
    )
    np.testing.assert_allclose(
        table, [[18, 6, 0, 8], [2, 68, 0, 6], [2, 0, 25, 0]], atol=5
    )
    # on pairs of overt with another class
    rest = [np.sum(y == k) - table[k].sum() for k in range(3)]
    np.testing.assert_allclose(rest, [4, 0, 6], atol=5)


@pytest.mark.long
def test_gvhd(shared_data):
    """Pairs of mutually most similar clusters (K = 2): five in the paper, three to six in other draws of cells."""
    X, _ = shared_data("gvhd_pos")
    X = X[np.random.default_rng(11).choice(len(X), 1000, replace=False)]
    model = BootClus(
        7, focal_sets="selected", mixture="VVV", n_bootstraps=30, random_state=0
    ).fit(X)
    posterior = model.mixture_.predict_proba(X)
    similarity = np.array(
        [
            [np.sum(posterior[:, k] * posterior[:, m]) for m in range(7)]
            for k in range(7)
        ]
    )
    nearest = [
        set(sorted(set(range(7)) - {k}, key=lambda m, k=k: -similarity[k, m])[:2])
        for k in range(7)
    ]
    mutual = {
        (k, m)
        for k in range(7)
        for m in range(k)
        if k in nearest[m] and m in nearest[k]
    }
    assert {
        tuple(sorted(s, reverse=True)) for s in model.focal_sets_ if len(s) == 2
    } == mutual
    assert 3 <= len(mutual) <= 6
    assert len(model.focal_sets_) == 7 + len(mutual)
    assert len(model.credal_partition_.ambiguous) > 0
    singles = BootClus(
        7, mixture="VVV", n_bootstraps=30, focal_sets="simple", random_state=0
    ).fit(X)
    assert model.objective_ < singles.objective_


def test_ambiguous_objects_between_three_close_clusters():
    """Examples 3 and 4: some objects have their largest mass on a pair."""
    rng = np.random.default_rng(5)
    X = np.array([[0, 1], [1, 0], [1, 1]])[np.arange(30) % 3] + np.sqrt(
        0.1
    ) * rng.normal(size=(30, 2))
    model = BootClus(
        3, focal_sets="pairs", mixture="EII", n_bootstraps=300, random_state=0
    ).fit(X)
    sizes = model.focal_sets_.cardinality[model.credal_partition_.masses.argmax(axis=1)]
    assert 1 <= np.sum(sizes == 2) <= 12
