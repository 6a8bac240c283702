"""LatentClassModel: EM against a naive implementation, BIC, recovery, missing values, weights, prediction."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from dempster._errors import InvalidInputError
from dempster.mixture import LatentClassModel
from dempster.mixture.latent_class import (
    CodedRows,
    LatentClassParameters,
    log_joint,
    refit_em,
    run_em,
)
from dempster.persistence import load, save

CHECKED = [
    LatentClassModel(handle_unknown="ignore", n_init=2),
    LatentClassModel([1, 2], handle_unknown="ignore", smoothing=0.1),
]
PROPORTIONS = np.array([0.5, 0.3, 0.2])
THETA = np.full((3, 8, 3), 0.1)
THETA[
    np.arange(3)[:, None],
    np.arange(8),
    (np.arange(3)[:, None] * (1 + np.arange(8) % 2)) % 3,
] = 0.8
# categories of the attributes
NAMES = np.array([["red", "green", "blue"], ["a", "b", "c"]] * 4)


@parametrize_with_checks(CHECKED)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def draw(n, seed, missing=0.0):
    """Return a table of objects from the mixture above, and their components."""
    rng = np.random.default_rng(seed)
    components = rng.choice(3, n, p=PROPORTIONS)
    codes = (rng.random((n, 8, 1)) > THETA.cumsum(axis=2)[components]).sum(axis=2)
    table = pd.DataFrame(
        NAMES[np.arange(8), codes], columns=[f"question {j}" for j in range(8)]
    )
    return table.mask(rng.random(table.shape) < missing), components


@pytest.fixture(scope="module")
def table():
    return draw(400, 0)[0]


@pytest.fixture(scope="module")
def model(table):
    return LatentClassModel(3, random_state=0).fit(table)


# ---- EM ------------------------------------------------------------------------------------------

# two, two, three levels
SMALL = np.array(
    [[0, 2, 5], [0, 3, -1], [1, 2, 4], [1, -1, 6], [0, 2, 6], [-1, -1, -1]]
)
OFFSETS = np.array([0, 2, 4, 7])


def naive_joint(rows, proportions, theta):
    out = np.empty((len(rows), len(proportions)))
    for i, row in enumerate(rows):
        for k in range(len(proportions)):
            out[i, k] = proportions[k] * np.prod(
                [theta[k, code] for code in row if code >= 0]
            )
    return out


def naive_em(rows, weights, proportions, theta, smoothing, n_iter):
    """Update the parameters of one model object by object and category by category."""
    attribute = np.repeat(np.arange(len(OFFSETS) - 1), np.diff(OFFSETS))
    shares = np.array(
        [
            sum(w for w, row in zip(weights, rows, strict=True) if c in row) + 1
            for c in range(7)
        ]
    )
    shares = np.array(
        [shares[c] / shares[attribute == attribute[c]].sum() for c in range(7)]
    )
    for _ in range(n_iter):
        joint = naive_joint(rows, proportions, theta)
        z = weights[:, None] * joint / joint.sum(axis=1, keepdims=True)
        proportions = z.sum(axis=0) / weights.sum()
        new = np.empty_like(theta)
        for k, c in product(range(len(proportions)), range(7)):
            observed = rows[:, attribute[c]] >= 0
            has = (rows == c).any(axis=1)
            new[k, c] = (z[has, k].sum() + smoothing * shares[c]) / (
                z[observed, k].sum() + smoothing
            )
        theta = new
    joint = naive_joint(rows, proportions, theta)
    likelihood = weights @ np.log(joint.sum(axis=1))
    return (
        proportions,
        theta,
        likelihood,
        likelihood + smoothing * (shares * np.log(theta)).sum(),
    )


@pytest.mark.parametrize("n_iter", [1, 7])
def test_naive_em(n_iter):
    rng = np.random.default_rng(0)
    weights = np.array([[1.0, 2, 1, 1, 3, 1], [2.0, 0, 1, 4, 1, 0.5]])
    theta = np.concatenate(
        [rng.dirichlet(np.ones(m), (2, 2)) for m in (2, 2, 3)], axis=2
    )
    proportions = rng.dirichlet(np.ones(2), 2)
    settings = {"absolute": -np.inf, "relative": 0.0, "max_iter": n_iter}
    runs = run_em(
        CodedRows(SMALL, OFFSETS),
        weights,
        proportions,
        theta,
        smoothing=0.7,
        **settings,
    )
    for b in range(2):
        expected = naive_em(SMALL, weights[b], proportions[b], theta[b], 0.7, n_iter)
        np.testing.assert_allclose(runs.proportions[b], expected[0])
        np.testing.assert_allclose(runs.probabilities[b], expected[1])
        assert runs.log_likelihood[b] == pytest.approx(expected[2])
        assert runs.histories[b][-1] == pytest.approx(expected[3])
        assert len(runs.histories[b]) == n_iter
    assert not runs.converged.any()


def test_runs_of_a_batch_are_independent():
    """A run that stops earlier than others has the same result as alone."""
    data = CodedRows(SMALL, OFFSETS)
    weights = np.array(
        [[1.0, 2, 1, 1, 3, 1], [20.0, 0, 10, 4, 1, 5], [1.0, 1, 1, 1, 1, 1]]
    )
    theta = data.draw_classes(weights[0], 3, 2, np.random.RandomState(0))
    for j in range(3):
        np.testing.assert_allclose(
            theta[:, :, OFFSETS[j] : OFFSETS[j + 1]].sum(axis=2), 1
        )
    settings = {"smoothing": 0.1, "absolute": 1e-8, "relative": 0.0, "max_iter": 500}
    together = run_em(data, weights, np.full((3, 2), 0.5), theta, **settings)
    assert together.converged.all()
    assert len({len(history) for history in together.histories}) > 1
    for b in range(3):
        alone = run_em(
            data, weights[b : b + 1], np.full((1, 2), 0.5), theta[b : b + 1], **settings
        )
        np.testing.assert_allclose(
            together.probabilities[b], alone.probabilities[0], atol=1e-12
        )
        np.testing.assert_allclose(
            together.histories[b], alone.histories[0], atol=1e-10
        )


def test_objective_never_decreases(model):
    assert (np.diff(model.history_) >= -1e-9 * np.abs(model.history_[0])).all()
    assert model.converged_
    assert model.n_iter_ == len(model.history_)


def test_refits_of_samples(table, model):
    """A sample is fitted like a table with repeated rows."""
    codes = (
        np.column_stack([pd.Categorical(table[name]).codes for name in table])
        + model.parameters_.offsets[:-1]
    )
    weights = (
        np.random.default_rng(0)
        .multinomial(len(table), np.full(len(table), 1 / len(table)), 2)
        .astype(float)
    )
    posterior = model.predict_proba(table)
    refits = refit_em(
        codes, weights, model.parameters_, posterior, max_change=1e-9, max_iter=5000
    )
    for b in range(2):
        sample = table.loc[table.index.repeat(weights[b].astype(int))]
        expected = LatentClassModel(3, tol=1e-12, max_iter=5000, random_state=0).fit(
            sample
        )
        assert refits.log_likelihood[b] == pytest.approx(
            expected.log_likelihood_, abs=1e-4
        )
        fitted = LatentClassParameters(
            *(values[b] for values in refits.parameters), model.parameters_.offsets
        )
        joint = np.exp(log_joint(fitted, codes))
        z = joint / joint.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(
            refits.overlaps[b], (weights[b][:, None] * posterior).T @ z
        )
        assert (refits.overlaps[b].argmax(axis=1) == np.arange(3)).all()


# ---- estimation ----------------------------------------------------------------------------------


def test_one_component_has_the_shares_of_the_table(table):
    model = LatentClassModel(1, smoothing=2.0).fit(table)
    counts = table["question 0"].value_counts()
    n = len(table)
    expected = [
        (counts[c] + 2 * (counts[c] + 1) / (n + 3)) / (n + 2)
        for c in model.categories_[0]
    ]
    np.testing.assert_allclose(model.probabilities_[0], [expected])


def test_bic(table, model):
    codes = np.column_stack([pd.Categorical(table[name]).codes for name in table])
    density = np.zeros(len(table))
    for i, row in enumerate(codes):
        for k in range(3):
            density[i] += model.weights_[k] * np.prod(
                [model.probabilities_[j][k, row[j]] for j in range(8)]
            )
    np.testing.assert_allclose(model.score_samples(table), np.log(density))
    assert model.n_parameters_ == 2 + 3 * 8 * 2
    assert model.log_likelihood_ == pytest.approx(np.log(density).sum())
    assert model.bic_ == pytest.approx(2 * np.log(density).sum() - 50 * np.log(400))
    assert model.score(table) == pytest.approx(np.log(density).mean())
    assert model.bic(table) == pytest.approx(-model.bic_)
    assert model.aic(table) == pytest.approx(100 - 2 * np.log(density).sum())


def test_published_values():
    """Seven pathologists, 118 slides (Agresti, 2002, table 13.1), fitted by poLCA (Linzer and Lewis, 2011)."""
    counts = {
        "0000000": 34,
        "0000100": 2,
        "0100000": 6,
        "0100001": 1,
        "0100100": 4,
        "0100101": 5,
        "1000000": 2,
    }
    counts |= {
        "1010101": 1,
        "1100000": 2,
        "1100001": 1,
        "1100100": 2,
        "1100101": 7,
        "1100111": 1,
        "1101001": 1,
    }
    counts |= {
        "1101101": 2,
        "1101111": 3,
        "1110101": 13,
        "1110111": 5,
        "1111101": 10,
        "1111111": 16,
    }
    slides = np.array([list(pattern) for pattern in counts])
    weights = list(counts.values())
    settings = {
        "smoothing": 1e-7,
        "n_init": 20,
        "tol": 1e-11,
        "max_iter": 20_000,
        "random_state": 0,
    }
    model = LatentClassModel([2, 3, 4], **settings).fit(slides, sample_weight=weights)
    np.testing.assert_allclose(
        model.bic_table_["log_likelihood"], [-317.2568, -293.7050, -289.2858], atol=1e-4
    )
    np.testing.assert_allclose(
        model.bic_table_["bic"], [-706.0739, -697.1357, -726.4629], atol=1e-4
    )
    np.testing.assert_allclose(
        np.sort(model.weights_), [0.1817, 0.3736, 0.4447], atol=1e-4
    )


def test_known_classes_are_recovered():
    table, components = draw(3000, 1)
    model = LatentClassModel(random_state=0).fit(table)
    assert model.n_components_ == 3
    order = np.argsort(-model.weights_)
    np.testing.assert_allclose(model.weights_[order], PROPORTIONS, atol=0.04)
    for j in range(8):
        expected = pd.DataFrame(THETA[:, j], columns=NAMES[j])[
            list(model.categories_[j])
        ]
        np.testing.assert_allclose(model.probabilities_[j][order], expected, atol=0.06)
    codes = [pd.Categorical(table.iloc[:, j], NAMES[j]).codes for j in range(8)]
    truth = np.log(PROPORTIONS) + sum(np.log(THETA[:, j, codes[j]].T) for j in range(8))
    assert (
        adjusted_rand_score(components, model.labels_)
        > adjusted_rand_score(components, truth.argmax(axis=1)) - 0.02
    )
    assert model.bic_table_["bic"].idxmax() == (3, "latent class")


def test_weights_are_repetitions(table):
    weights = np.random.default_rng(0).integers(0, 3, len(table))
    weighted = LatentClassModel(2, random_state=0).fit(table, sample_weight=weights)
    repeated = LatentClassModel(2, random_state=0).fit(
        table.loc[table.index.repeat(weights)].iloc[::-1]
    )
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_)
    assert weighted.bic_ == pytest.approx(repeated.bic_)
    np.testing.assert_allclose(
        weighted.predict_proba(table), repeated.predict_proba(table), atol=1e-9
    )


def test_smoothing_prevents_zeros():
    table = [["a", "x"], ["a", "x"], ["b", "y"], ["b", "y"], ["b", "z"], ["c", "z"]]
    model = LatentClassModel(1).fit(table)
    assert min(p.min() for p in model.probabilities_) > 0
    small, large = (
        LatentClassModel(1, smoothing=s).fit(table).log_likelihood_
        for s in (1e-6, 10.0)
    )
    assert small > large


def test_models_that_cannot_be_identified():
    table = draw(200, 0)[0].iloc[:, :2]
    model = LatentClassModel(random_state=0).fit(table)
    problems = model.bic_table_["problem"]
    assert problems[1, "latent class"] == ""
    assert "combinations of categories" in problems[3, "latent class"]
    assert np.isneginf(model.bic_table_["bic"][3, "latent class"])
    with pytest.raises(
        InvalidInputError, match="3 components cannot be fitted.*9 combinations"
    ):
        LatentClassModel(3).fit(table)


def test_too_few_different_objects():
    table = [["a", "x"], ["b", "y"]] * 4
    with pytest.raises(ValueError, match="n_components must be at most 2"):
        LatentClassModel(3).fit(table)
    assert set(LatentClassModel().fit(table).bic_table_.index.get_level_values(0)) == {
        1,
        2,
    }


def test_convergence_warning(table):
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        LatentClassModel(3, max_iter=2, random_state=0).fit(table)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("smoothing", 0.0),
        ("n_components", 0),
        ("handle_unknown", "skip"),
        ("n_init", 0),
        ("tol", -1.0),
    ],
)
def test_invalid_parameters(table, parameter, value):
    with pytest.raises(ValueError, match=parameter):
        LatentClassModel().set_params(**{parameter: value}).fit(table)


# ---- missing values and new objects --------------------------------------------------------------


def test_missing_values_are_ignored(table, model):
    """The posterior probabilities are those of the observed attributes."""
    lacking = table.iloc[:5].copy()
    lacking.iloc[:, 3:] = None
    joint = np.log(model.weights_) + sum(
        np.log(model.probabilities_[j][:, list(model.categories_[j]).index(cell)])
        for j, cell in enumerate(lacking.iloc[0, :3])
    )
    expected = np.exp(joint) / np.exp(joint).sum()
    np.testing.assert_allclose(model.predict_proba(lacking)[0], expected)
    lacking.iloc[0] = None
    np.testing.assert_allclose(model.predict_proba(lacking)[0], model.weights_)


def test_missing_values_in_fit():
    table = draw(3000, 2, missing=0.25)[0]
    model = LatentClassModel(3, random_state=0).fit(table)
    order = np.argsort(-model.weights_)
    np.testing.assert_allclose(model.weights_[order], PROPORTIONS, atol=0.05)
    expected = pd.DataFrame(THETA[:, 4], columns=NAMES[4])[list(model.categories_[4])]
    np.testing.assert_allclose(model.probabilities_[4][order], expected, atol=0.08)
    for missing in (np.nan, None):
        other = table.astype(object).where(table.notna(), missing)
        np.testing.assert_array_equal(clone(model).fit(other).labels_, model.labels_)
    with pytest.raises(
        ValueError, match="all values of column 'question 0' are missing"
    ):
        LatentClassModel(2).fit(table.assign(**{"question 0": None}))


def test_unknown_categories(table, model):
    new = table.iloc[:3].copy()
    new.iloc[1, 0] = "purple"
    with pytest.raises(
        ValueError,
        match="'question 0' that was not in fit: 'purple' in row 1.*missing values",
    ):
        model.predict(new)
    ignoring = LatentClassModel(3, handle_unknown="ignore", random_state=0).fit(table)
    without = new.copy()
    without.iloc[1, 0] = None
    np.testing.assert_array_equal(
        ignoring.predict_proba(new), model.predict_proba(without)
    )


def test_forms_of_tables(table, model):
    forms = [table.astype("category"), table.to_numpy(), table.to_numpy().tolist()]
    for form in forms:
        same = clone(model).fit(form)
        np.testing.assert_allclose(same.predict_proba(form), model.predict_proba(table))
    np.testing.assert_array_equal(model.predict(table), model.labels_)
    np.testing.assert_array_equal(clone(model).fit_predict(table), model.labels_)


def test_samples_have_the_probabilities(model):
    X, components = model.sample(20_000, random_state=0)
    assert X.shape == (20_000, 8)
    shares = np.bincount(components) / 20_000
    np.testing.assert_allclose(shares, model.weights_, atol=0.02)
    assert (np.diff(components) >= 0).all()
    for k, j in product(range(3), range(8)):
        values = X[components == k, j]
        shares = [(values == category).mean() for category in model.categories_[j]]
        np.testing.assert_allclose(shares, model.probabilities_[j][k], atol=0.03)


def test_saving(table, model, tmp_path):
    save(model, tmp_path / "model.dempster")
    same = load(tmp_path / "model.dempster")
    np.testing.assert_array_equal(same.predict_proba(table), model.predict_proba(table))
    assert same.categories_[0].tolist() == model.categories_[0].tolist()
