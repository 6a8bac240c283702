"""BootClus with latent class models, for tables of categories."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from dempster import FocalSets
from dempster.cluster import BootClus
from dempster.explain import explain_object
from dempster.mixture import LatentClassModel
from dempster.persistence import load, save

PROPORTIONS = np.array([0.4, 0.35, 0.25])
THETA = np.full((3, 8, 3), 0.12)
THETA[
    np.arange(3)[:, None],
    np.arange(8),
    (np.arange(3)[:, None] * (1 + np.arange(8) % 2)) % 3,
] = 0.76
NAMES = np.array(["never", "rarely", "often"])


def draw(n, seed, missing=0.0):
    """Return a table, its classes and their true probabilities."""
    rng = np.random.default_rng(seed)
    classes = rng.choice(3, n, p=PROPORTIONS)
    codes = (
        (rng.random((n, 8, 1)) > THETA.cumsum(axis=2)[classes]).sum(axis=2).clip(max=2)
    )
    lost = rng.random(codes.shape) < missing
    logs = np.where(lost, 0.0, np.log(THETA[:, np.arange(8), codes])).sum(axis=2)
    posterior = PROPORTIONS[:, None] * np.exp(logs)
    table = pd.DataFrame(
        NAMES[codes], columns=list("abcdefgh"), index=[f"person {i}" for i in range(n)]
    ).mask(lost)
    return table, classes, (posterior / posterior.sum(axis=0)).T


def make(**parameters):
    settings = {
        "n_bootstraps": 40,
        "mixture": LatentClassModel(n_init=3),
        "random_state": 0,
        **parameters,
    }
    return BootClus(3, **settings)


@pytest.fixture(scope="module")
def sample():
    return draw(150, 0, missing=0.1)


@pytest.fixture(scope="module")
def fitted(sample):
    return make().fit(sample[0])


def test_attributes(fitted, sample):
    table, classes, _ = sample
    assert adjusted_rand_score(classes, fitted.labels_) > 0.6
    assert fitted.focal_sets_ == FocalSets.pairs(3, empty=False, omega=False)
    assert list(fitted.credal_partition_.index) == list(table.index)
    assert list(fitted.feature_names_in_) == list(table.columns)
    assert fitted.bootstraps_.probabilities.shape == (40, 3, 24)
    assert (np.diff(fitted.history_) <= 1e-9 * fitted.history_[0]).all()
    np.testing.assert_array_equal(
        fitted.mixture_.predict(table.to_numpy()), fitted.mixture_.labels_
    )
    # Component k of every refit is component k of the mixture.
    gaps = np.abs(
        fitted.bootstraps_.probabilities[:, :, None]
        - fitted.mixture_.parameters_.probabilities
    ).sum(axis=3)
    assert (gaps.argmin(axis=2) == np.arange(3)).all()


def test_pair_probabilities(fitted, sample):
    """The probabilities are computed object by object from the parameters of each refit."""
    table = sample[0]
    categories = fitted.mixture_.categories_
    pairs = [(0, 1), (7, 90), (33, 149)]

    def posterior(row, b):
        joint = fitted.bootstraps_.proportions[b].copy()
        for j, cell in enumerate(row):
            if isinstance(cell, str):
                joint *= fitted.bootstraps_.probabilities[b][
                    :, 3 * j + list(categories[j]).index(cell)
                ]
        return joint / joint.sum()

    expected = [
        [posterior(table.iloc[i], b) @ posterior(table.iloc[j], b) for b in range(40)]
        for i, j in pairs
    ]
    np.testing.assert_allclose(
        fitted.pair_probabilities(table, pairs), expected, atol=1e-5
    )
    bounds = fitted.pair_intervals(table, pairs)
    np.testing.assert_allclose(
        bounds, np.quantile(expected, [0.05, 0.95], axis=1).T, atol=1e-5
    )
    where = [fitted.intervals_.pairs.tolist().index(list(pair)) for pair in pairs]
    found = np.column_stack([fitted.intervals_.lower, fitted.intervals_.upper])[where]
    np.testing.assert_allclose(found, bounds, atol=1e-5)


def test_coverage():
    """On average over some tables, the intervals contain most true probabilities (benchmarks/OTHER.md has more)."""
    found = []
    for seed in range(4):
        table, _, posterior = draw(200, 10 + seed)
        found.append(make().fit(table).intervals_.coverage(posterior))
    assert 0.75 < np.mean([each.confidence for each in found]) < 1
    assert 0.75 < np.mean([each.belief for each in found]) < 1


def test_new_objects(fitted, sample):
    table = sample[0]
    np.testing.assert_allclose(
        fitted.predict_mass(table).masses, fitted.credal_partition_.masses, atol=1e-9
    )
    new, classes, _ = draw(100, 5, missing=0.1)
    assert adjusted_rand_score(classes, fitted.predict(new)) > 0.55
    unknown = new.copy()
    unknown.iloc[2, 3] = "always"
    with pytest.raises(ValueError, match="'d' that was not in fit: 'always' in row 2"):
        fitted.predict(unknown)
    ignoring = make(mixture=LatentClassModel(n_init=3, handle_unknown="ignore")).fit(
        table
    )
    np.testing.assert_array_equal(
        ignoring.predict_mass(unknown).masses,
        fitted.predict_mass(unknown.replace("always", None)).masses,
    )


def test_number_of_clusters(sample):
    table = sample[0]
    by_bic = (
        make(n_bootstraps=10, mixture=LatentClassModel([1, 2, 3, 4], n_init=3))
        .set_params(n_clusters=None)
        .fit(table)
    )
    assert by_bic.n_clusters_ == by_bic.mixture_.n_components_ == 3
    assert (
        make(n_bootstraps=10).set_params(n_clusters="auto").fit(table).n_clusters_ >= 2
    )
    many = make(n_bootstraps=10).set_params(n_clusters=5).fit(table)
    assert 5 < len(many.focal_sets_) <= 15


def test_partners(sample):
    table = sample[0]
    every = make().fit(table)
    some = make(n_partners=60).fit(table)
    assert len(some.reference_indices_) < 150
    a, b = (
        model.credal_partition_.relational([(0, 149), (3, 77)]).masses
        for model in (every, some)
    )
    np.testing.assert_allclose(a, b, atol=0.1)


def test_warm_start_and_other_mixtures(sample):
    table = sample[0]
    model = make(warm_start=True).fit(table)
    first = model.bootstraps_
    assert model.set_params(confidence=0.5).fit(table).bootstraps_ is first
    assert (
        model.set_params(mixture=LatentClassModel(n_init=3, smoothing=5.0))
        .fit(table)
        .bootstraps_
        is not first
    )
    numbers = (
        np.random.default_rng(0).normal(size=(60, 2)) + 5 * (np.arange(60) % 3)[:, None]
    )
    assert model.set_params(mixture="EII").fit(numbers).bootstraps_.means.shape == (
        40,
        3,
        2,
    )
    assert model.predict(numbers).shape == (60,)


def test_threads_give_the_same_result(fitted, sample):
    other = make(n_jobs=1).fit(sample[0])
    np.testing.assert_array_equal(
        other.credal_partition_.masses, fitted.credal_partition_.masses
    )


def test_explanation(fitted, sample):
    """The evidence is the mean logarithm of proportion times probability.

    Missing values contribute nothing.
    """
    table = sample[0]
    i = int(np.flatnonzero(table.isna().any(axis=1))[0])
    why = explain_object(fitted, table, i, changes=False)
    logs = np.log(fitted.bootstraps_.probabilities).mean(axis=0)
    for j, cell in enumerate(table.iloc[i]):
        values = list(fitted.mixture_.categories_[j])
        if isinstance(cell, str):
            expected = logs[:, 3 * j + values.index(cell)]
        else:
            expected = np.zeros(3)
        pairwise = expected[list(why.clusters)]
        np.testing.assert_allclose(
            why.contributions[j] - why.contributions[j].mean(),
            pairwise - pairwise.mean(),
            atol=1e-9,
        )


def test_saving(fitted, tmp_path):
    save(fitted, tmp_path / "model.dempster")
    same = load(tmp_path / "model.dempster")
    new = draw(20, 8)[0]
    np.testing.assert_array_equal(
        same.predict_mass(new).masses, fitted.predict_mass(new).masses
    )
    np.testing.assert_array_equal(same.mixture_.weights_, fitted.mixture_.weights_)


def test_blocks_are_not_supported(sample):
    with pytest.raises(ValueError, match="in memory for BootClus"):
        make().fit(iter([np.zeros((5, 2)), np.ones((5, 2))]))
