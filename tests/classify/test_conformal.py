"""ConformalClassifier: p-values, sets, masses, invalid input."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from dempster._errors import InvalidInputError
from dempster.classify import ConformalClassifier, EKNNClassifier
from dempster.plot import RejectionCurveDisplay

CENTERS = [[0, 0], [2, 0], [0, 2]]
X, y = make_blobs(360, centers=CENTERS, random_state=0)
NAMES = np.array(["a", "b", "c"])[y]
NEW, TRUTH = make_blobs(40, centers=CENTERS, random_state=1)


def first_attribute(X):
    return np.exp(np.asarray(X)[:, 0])


@parametrize_with_checks(
    [ConformalClassifier(), ConformalClassifier(GaussianNB(), method="cross")]
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# ---- p-values ------------------------------------------------------------------------------------


def naive_scores(model, rows, score):
    p = model.predict_proba(rows)
    if score == "lac":
        return 1 - p
    if score == "plausibility":
        return 1 - p / p.max(axis=1, keepdims=True)
    return np.array(
        [[sum(q for q in row if q > own) or -own for own in row] for row in p]
    )


@pytest.mark.parametrize("score", ["lac", "aps", "plausibility"])
@pytest.mark.parametrize("method", ["split", "cross"])
@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("ratio", [None, first_attribute])
def test_p_values_equal_a_naive_computation(score, method, by_class, ratio):
    options = {
        "conformity": score,
        "method": method,
        "by_class": by_class,
        "likelihood_ratio": ratio,
        "n_folds": 3,
    }
    model = ConformalClassifier(GaussianNB(), random_state=0, **options).fit(X, y)
    weight = ratio or (lambda rows: np.ones(len(rows)))
    tails = np.zeros((len(NEW), 3))
    totals = np.zeros((len(NEW), 3))
    for one, rows in zip(
        model.estimators_, model._divide(y, np.random.RandomState(0)), strict=True
    ):
        own = naive_scores(one, X, score)[np.arange(len(X)), y]
        new = naive_scores(one, NEW, score)
        for i in range(len(NEW)):
            for k in range(3):
                group = [j for j in rows if not by_class or y[j] == k]
                weights = weight(X[group])
                tails[i, k] += sum(
                    w
                    for w, j in zip(weights, group, strict=True)
                    if own[j] >= new[i, k] - 1e-12
                )
                totals[i, k] += weights.sum()
    expected = (tails + weight(NEW)[:, None]) / (totals + weight(NEW)[:, None])
    np.testing.assert_allclose(model.p_values(NEW), expected, rtol=1e-9)


def test_sets_of_aps_are_the_most_probable_classes_up_to_a_total():
    """The sets are those of Romano, Sesia and Candès, including the class at which the total exceeds the quantile."""
    inner = GaussianNB().fit(X[:200], y[:200])
    model = ConformalClassifier(
        FrozenEstimator(inner), conformity="aps", confidence=0.95
    ).fit(X[200:], y[200:])
    quantile = np.sort(model.calibration_scores_)[int(np.ceil(161 * 0.95)) - 1]
    # Fewer than 95 % of the objects belong to their most probable class.
    assert quantile > 0
    for row, probabilities in zip(
        model.select_classes(model.p_values(NEW)),
        inner.predict_proba(NEW),
        strict=True,
    ):
        order = np.argsort(-probabilities)
        n_classes = 1 + np.sum(probabilities[order].cumsum() <= quantile)
        assert sorted(order[:n_classes]) == np.flatnonzero(row).tolist()


def test_parts_do_not_overlap():
    model = ConformalClassifier(EKNNClassifier(3), random_state=0).fit(X, y)
    assert len(model.calibration_scores_) == 108
    assert len(model.estimators_[0].leave_one_out_masses_) == 252
    model = ConformalClassifier(
        EKNNClassifier(3), method="cross", n_folds=4, random_state=0
    ).fit(X, y)
    assert len(model.calibration_scores_) == 360
    assert [len(one.leave_one_out_masses_) for one in model.estimators_] == [270] * 4


def test_plausibility_of_an_evidential_classifier():
    inner = EKNNClassifier(5).fit(X[:200], y[:200])
    model = ConformalClassifier(FrozenEstimator(inner), conformity="plausibility").fit(
        X[200:], y[200:]
    )
    contour = inner.predict_mass(X[200:]).contour
    np.testing.assert_array_equal(
        model.calibration_scores_, 1 - contour[np.arange(160), y[200:]]
    )
    scaled = make_pipeline(StandardScaler(), EKNNClassifier(5)).fit(X[:200], y[:200])
    model = ConformalClassifier(FrozenEstimator(scaled), conformity="plausibility").fit(
        X[200:], y[200:]
    )
    contour = scaled[-1].predict_mass(scaled[0].transform(X[200:])).contour
    np.testing.assert_array_equal(
        model.calibration_scores_, 1 - contour[np.arange(160), y[200:]]
    )


# ---- sets, masses and decisions ------------------------------------------------------------------


def test_sets_and_masses_agree():
    model = ConformalClassifier(GaussianNB(), confidence=0.8, random_state=0).fit(
        X, NAMES
    )
    p = model.p_values(NEW)
    masses = model.predict_mass(NEW)
    assert list(masses.frame) == ["a", "b", "c"]
    is_novel = masses.empty > 1e-12
    assert (masses.contour[~is_novel] >= p[~is_novel]).all()
    np.testing.assert_allclose(masses.contour[~is_novel].max(axis=1), 1)
    np.testing.assert_array_equal(
        model.predict_set(NEW), masses.contour > 0.2 * (1 + 1e-9)
    )
    np.testing.assert_array_equal(model.predict(NEW), model.estimators_[0].predict(NEW))


def draw_two_classes(n, seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, n)
    return 6 * truth[:, None] + rng.normal(size=(n, 1)), truth


FAR_AND_BETWEEN = {3.0: [1, 1], -50.0: [0, 0], 0.0: [1, 0], 6.5: [0, 1], 70.0: [0, 0]}


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95])
@pytest.mark.parametrize(
    "options",
    [{}, {"conformity": "aps"}, {"by_class": True}, {"method": "cross"}],
    ids=str,
)
def test_objects_between_classes_get_both_and_objects_far_from_all_get_none(
    confidence, options
):
    rows, truth = draw_two_classes(400, 0)
    new = np.array(list(FAR_AND_BETWEEN))[:, None]
    model = ConformalClassifier(
        LogisticRegression(), confidence=confidence, random_state=0, **options
    ).fit(rows, truth)
    np.testing.assert_array_equal(
        model.predict_set(new), np.array(list(FAR_AND_BETWEEN.values()), dtype=bool)
    )
    masses = model.predict_mass(new)
    assert (masses.empty[[1, 4]] > 0.9).all()
    assert (masses.empty[[0, 2, 3]] == 0).all()


def test_frozen_classifier_finds_far_objects():
    rows, truth = draw_two_classes(400, 1)
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    inner.fit(rows[:200], truth[:200])
    model = ConformalClassifier(FrozenEstimator(inner), random_state=0)
    model.fit(rows[200:], truth[200:])
    np.testing.assert_array_equal(
        model.predict_set([[3.0], [-50.0]]), [[True, True], [False, False]]
    )


def test_object_between_two_of_three_classes():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    rows = 6 * truth[:, None] + rng.normal(size=(300, 1))
    model = ConformalClassifier(random_state=0).fit(rows, truth)
    np.testing.assert_array_equal(model.predict_set([[9.0]]), [[False, True, True]])


def test_share_of_empty_sets():
    """The expected share is 1 / (m + 1), because this is more than a tenth of 1 - confidence."""
    shares = []
    for seed in range(40):
        rows, truth = make_blobs(500, centers=CENTERS, random_state=seed)
        model = ConformalClassifier(GaussianNB(), random_state=seed)
        sets = model.fit(rows[:300], truth[:300]).predict_set(rows[300:])
        shares.append(np.mean(~sets.any(axis=1)))
    assert 0.005 < np.mean(shares) < 1 / 91 + 0.01


def test_few_calibration_objects_exclude_no_class():
    model = ConformalClassifier(confidence=0.999, random_state=0)
    with pytest.warns(UserWarning, match="needs at least 999 .* got 108; .* excluded"):
        model.fit(X, y)
    assert model.predict_set(NEW).all()
    model = ConformalClassifier(confidence=0.98, by_class=True, random_state=0)
    with pytest.warns(UserWarning, match="at least 49 .* of each class, got 36"):
        model.fit(X, y)


def test_attributes_that_are_not_numbers_are_ignored():
    table = pd.DataFrame({"group": NAMES})
    model = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    conformal = ConformalClassifier(model, random_state=0).fit(table, y)
    np.testing.assert_array_equal(
        conformal.predict_set(table[:5]), np.eye(3, dtype=bool)[y[:5]]
    )
    assert (conformal.predict_mass(pd.DataFrame({"group": ["z"]})).empty == 0).all()


def test_the_smallest_p_value_excludes_a_class():
    model = ConformalClassifier(
        GaussianNB(), calibration_size=9 / 360, random_state=0
    ).fit(X, y)
    assert len(model.calibration_scores_) == 9
    assert model.p_values([[9.0, 0.0]])[0, 2] == 0.1
    assert not model.predict_set([[9.0, 0.0]])[0, 2]


def test_decisions_and_rejection():
    model = ConformalClassifier(GaussianNB(), random_state=0).fit(X, NAMES)
    assert set(model.decide(NEW, reject=0.3, reject_label="none")) > {"a", "b"}
    assert model.decide(NEW, "interval_dominance").shape == (40, 3)
    curve = RejectionCurveDisplay.from_estimator(
        model, NEW, np.array(["a", "b", "c"])[TRUTH]
    ).curves
    assert curve["ConformalClassifier"].error_at(0.5) < curve[
        "ConformalClassifier"
    ].error_at(0.0)


@pytest.mark.parametrize("score", ["lac", "aps", "plausibility"])
@pytest.mark.parametrize(
    "options", [{}, {"by_class": True}, {"method": "cross"}], ids=str
)
def test_coverage(score, options):
    """The mean coverage over 15 draws has a standard deviation of 0.008 (0.02 at 0.5, or for the smallest class)."""
    rng = np.random.default_rng(1)
    hits = []
    plausibilities = []
    for i in range(15):
        truth = rng.choice(3, 600, p=[0.5, 0.3, 0.2])
        rows = np.array([[0, 0], [2, 0], [0, 2]])[truth] + rng.normal(size=(600, 2))
        model = ConformalClassifier(
            GaussianNB(), conformity=score, random_state=i, **options
        ).fit(rows[:300], truth[:300])
        contour = model.predict_mass(rows[300:]).contour
        p = contour[np.arange(300), truth[300:]]
        if "by_class" in options:
            groups = range(3)
        else:
            groups = [None]
        hits.append(
            [np.mean(p[(truth[300:] == k) | (k is None)] > 0.1) for k in groups]
        )
        plausibilities.append(p)
    assert np.all(
        np.mean(hits, axis=0) > 0.9 - (0.06 if "by_class" in options else 0.03)
    )
    assert np.mean(hits) < 0.9 + (0.06 if "by_class" in options else 0.03)
    for level in (0.05, 0.2, 0.5):
        assert np.mean(np.concatenate(plausibilities) <= level) < level + 0.05


def test_weights_restore_coverage_under_covariate_shift():
    """One class is difficult, and frequent among the new objects only.

    Weights compensate for this.
    """
    rng = np.random.default_rng(0)
    plain = []
    weighted = []
    for i in range(20):
        rows = rng.normal(size=(1200, 1))
        truth = (
            rng.random(1200)
            < 1 / (1 + np.exp(-np.where(rows[:, 0] > 0, 0.3, 8 * rows[:, 0])))
        ).astype(int)
        new = rng.normal(1.0, 1.0, size=(500, 1))
        answers = (
            rng.random(500)
            < 1 / (1 + np.exp(-np.where(new[:, 0] > 0, 0.3, 8 * new[:, 0])))
        ).astype(int)
        # density ratio exp(x - 1/2)
        for found, ratio in ((plain, None), (weighted, first_attribute)):
            model = ConformalClassifier(
                GaussianNB(), likelihood_ratio=ratio, confidence=0.75, random_state=i
            )
            found.append(
                model.fit(rows, truth).predict_set(new)[np.arange(500), answers].mean()
            )
    assert np.mean(plain) < 0.72
    assert 0.73 < np.mean(weighted) < 0.8


# ---- estimators ----------------------------------------------------------------------------------


def test_frozen_estimators():
    inner = GaussianNB().fit(X[:100], NAMES[:100])
    before = clone(inner).fit(X[:100], NAMES[:100])
    fitted = ConformalClassifier(FrozenEstimator(inner)).fit(X[100:], NAMES[100:])
    np.testing.assert_array_equal(inner.theta_, before.theta_)
    assert len(fitted.calibration_scores_) == 260
    # half of the calibration objects are the reference objects of the distances
    assert np.isnan(fitted.calibration_distances_).sum() == 130
    only = NAMES[100:] != "c"  # A class without calibration objects keeps its p-values.
    fitted = ConformalClassifier(FrozenEstimator(inner)).fit(
        X[100:][only], NAMES[100:][only]
    )
    assert fitted.predict_set(NEW).shape == (40, 3)


def test_classifiers_without_probabilities():
    model = ConformalClassifier(RidgeClassifier(), random_state=0).fit(X, NAMES)
    assert model.predict_set(NEW)[np.arange(40), TRUTH].mean() > 0.75
    two = ConformalClassifier(RidgeClassifier(), random_state=0).fit(X, NAMES == "a")
    np.testing.assert_allclose(two.predict_proba(NEW).sum(axis=1), 1)
    np.testing.assert_array_equal(two.predict(NEW), two.estimators_[0].predict(NEW))


def test_class_that_is_absent_from_the_training_part():
    rare = np.where(np.arange(360) == 7, "z", NAMES)
    for seed in range(20):
        model = ConformalClassifier(GaussianNB(), random_state=seed).fit(X, rare)
        if len(model.estimators_[0].classes_) == 3:
            break
    assert len(model.estimators_[0].classes_) == 3
    assert model.predict_set(NEW).shape == (40, 4)
    assert not model.predict_set(NEW)[:, 3].any()


def test_tables_and_missing_values():
    iris = load_iris(as_frame=True)
    model = ConformalClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()), random_state=0
    )
    model.fit(iris.data, iris.target)
    assert list(model.predict_mass(iris.data[5:9]).index) == [5, 6, 7, 8]
    assert list(model.feature_names_in_) == list(iris.data.columns)
    labels = iris.target.sample(frac=1, random_state=0)  # matched by name
    again = clone(model).fit(
        iris.data.set_axis(range(1, 151)), labels.set_axis(labels.index + 1)
    )
    np.testing.assert_array_equal(again.p_values(iris.data), model.p_values(iris.data))
    gaps = X.copy()
    gaps[::7, 0] = np.nan
    assert (
        ConformalClassifier(HistGradientBoostingClassifier(max_iter=5))
        .fit(gaps, y)
        .predict_set(gaps)
        .any()
    )


def test_score_is_the_accuracy():
    model = ConformalClassifier(random_state=0)
    assert cross_val_score(model, X, NAMES).mean() > 0.7
    model.fit(X, NAMES)
    assert model.score(X, NAMES) == np.mean(model.predict(X) == NAMES)


# ---- invalid input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "labels", "message"),
    [
        (
            ConformalClassifier(by_class=True),
            np.where(np.arange(360) == 7, "z", NAMES),
            "^y cannot be divided for calibration",
        ),
        (ConformalClassifier(LogisticRegression), y, "^estimator must be"),
        (
            ConformalClassifier(likelihood_ratio=lambda X: [1.0]),
            y,
            "^likelihood_ratio must return",
        ),
        (
            ConformalClassifier(likelihood_ratio=lambda X: -np.ones(len(X))),
            y,
            "^likelihood_ratio must contain finite",
        ),
    ],
)
def test_invalid_input(model, labels, message):
    with pytest.raises(InvalidInputError, match=message):
        model.fit(X, labels)


def test_invalid_calibration_data():
    inner = GaussianNB().fit(X[:100], NAMES[:100])
    with pytest.raises(
        InvalidInputError, match="^y must be classes of the fitted estimator, got 'z'"
    ):
        ConformalClassifier(FrozenEstimator(inner)).fit(
            X, np.where(np.arange(360) == 7, "z", NAMES)
        )
    with pytest.raises(InvalidInputError, match="^y must"):
        ConformalClassifier(FrozenEstimator(inner)).fit(X, NAMES[:-1])
    with pytest.raises(NotFittedError):
        ConformalClassifier(FrozenEstimator(GaussianNB())).fit(X, NAMES)
    with pytest.raises(InvalidInputError, match="soft labels"):
        ConformalClassifier().fit(X, EKNNClassifier().fit(X, y).predict_mass(X))


def test_index_of_masses():
    table = pd.DataFrame(NEW, index=[f"object {i}" for i in range(40)])
    model = ConformalClassifier(random_state=0).fit(pd.DataFrame(X), NAMES)
    assert list(model.predict_mass(table).index) == list(table.index)


# ---- coverage of rare classes --------------------------------------------------------------------


def draw_rare(rng, n, shares, centers):
    y = rng.choice(len(shares), size=n, p=shares)
    return rng.normal(size=(n, 2)) + np.array(centers)[y], y


@pytest.mark.parametrize("method", ["split", "cross"])
@pytest.mark.parametrize(
    ("shares", "centers"),
    [
        ([0.9, 0.08, 0.02], [[0, 0], [2, 0], [0, 2]]),
        ([0.06, 0.44, 0.5], [[1.5, 1], [0, 0], [5, 0]]),
    ],
)
def test_summary_names_classes_with_low_coverage(method, shares, centers):
    rng = np.random.default_rng(1)
    X, y = draw_rare(rng, 4000, shares, centers)
    new, y_new = draw_rare(rng, 8000, shares, centers)
    model = ConformalClassifier(LogisticRegression(), method=method, random_state=0)
    model.fit(X, y)
    hits = model.predict_set(new)[np.arange(len(new)), y_new]
    true = np.array([hits[y_new == k].mean() for k in range(3)])
    np.testing.assert_allclose(model.class_coverage_, true, atol=0.15)
    text = model.summary()
    assert text.startswith("On average over all objects")
    assert "by_class=True" in text
    for k in range(3):
        named = f"{k} {model.class_coverage_[k]:.2f}"
        assert (named in text) == (true[k] < 0.75)
    each = clone(model).set_params(by_class=True).fit(X, y)
    assert "Low coverage" not in each.summary()
    assert each.summary().startswith("For the objects of each class separately")
    assert each.class_coverage_.min() >= 0.85


def test_coverage_of_rare_classes():
    """The mean of the smallest class over the draws has a standard deviation of 0.02."""
    rng = np.random.default_rng(104)
    shares = [0.9, 0.08, 0.02]
    centers = [[0, 0], [2, 0], [0, 2]]
    coverage = {False: [], True: []}
    for seed in range(5):
        X, y = draw_rare(rng, 4000, shares, centers)
        new, y_new = draw_rare(rng, 8000, shares, centers)
        for by_class, found in coverage.items():
            model = ConformalClassifier(
                LogisticRegression(), by_class=by_class, random_state=seed
            ).fit(X, y)
            hits = model.predict_set(new)[np.arange(len(new)), y_new]
            found.append([hits[y_new == k].mean() for k in range(3)])
    assert np.mean(coverage[False], axis=0).min() < 0.4
    assert np.mean(coverage[True], axis=0).min() >= 0.87


class ReadsProbabilities(ClassifierMixin, BaseEstimator):
    """Classifier whose probability of class 1 is the attribute."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.column_stack([1 - X[:, 0], X[:, 0]])


@pytest.mark.parametrize(("n", "n_low", "is_named"), [(16, 5, True), (31, 7, False)])
def test_chance_does_not_explain_a_low_coverage(n, n_low, is_named):
    """The chance of so many uncovered objects is .017 or .031, and the limit .05 by 2 classes."""
    model = ConformalClassifier(ReadsProbabilities(), random_state=0)
    model.fit(np.linspace(0, 1, 100)[:, None], np.arange(100) % 2)
    model.calibration_classes_ = np.repeat([0, 1], [80, n])
    model.class_coverage_ = np.array([0.95, 1 - n_low / n])
    assert ("Low coverage" in model.summary()) == is_named
