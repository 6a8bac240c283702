"""SoftLabelClassifier: Jousselme's distance, forests of mass functions, and kinds of labels."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from dempster import FocalSets, MassFunctions
from dempster.classify import EKNNClassifier, SoftLabelClassifier

X, Y = load_iris(return_X_y=True)


@parametrize_with_checks(
    [
        SoftLabelClassifier(),
        SoftLabelClassifier(RandomForestRegressor(10, random_state=0)),
    ],
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def random_labels(n=60, family=None, seed=0):
    rng = np.random.default_rng(seed)
    family = family or FocalSets.full(3, empty=False)
    return MassFunctions(rng.dirichlet(np.full(len(family), 0.3), n), family)


class Record(LinearRegression):
    """Regressor that keeps its targets."""

    def fit(self, X, y):
        self.targets_ = y
        return super().fit(X, y)


@pytest.mark.parametrize(
    "family",
    [
        FocalSets.full(3, empty=False),
        FocalSets.full(6, empty=False),
        FocalSets.pairs(4, empty=False),
    ],
)
def test_targets_have_the_distances_of_jousselme(family):
    labels = random_labels(family=family)
    model = SoftLabelClassifier(Record()).fit(X[:60], labels)
    targets = model.estimator_.targets_
    distances = np.linalg.norm(targets[:30] - targets[30:], axis=1) / np.sqrt(2)
    expected = labels[np.arange(30)].distance(labels[np.arange(30, 60)])
    np.testing.assert_allclose(distances, expected, atol=1e-10)


def naive_split(x, labels):
    """Return the threshold with the smallest sum of squared Jousselme distances from the means."""
    best = (np.inf, np.nan)
    values = np.unique(x)
    for threshold in (values[1:] + values[:-1]) / 2:
        cost = 0.0
        for side in (x <= threshold, x > threshold):
            part = labels[np.flatnonzero(side)]
            mean = MassFunctions(part.masses.mean(axis=0)[None], part.focal_sets)
            cost += (part.distance(mean) ** 2).sum()
        best = min(best, (cost, threshold))
    return best[1]


@pytest.mark.parametrize("seed", range(5))
def test_tree_splits_on_the_distance_of_jousselme(seed):
    labels = random_labels(seed=seed)
    x = np.random.default_rng(seed).normal(size=60)
    model = SoftLabelClassifier(DecisionTreeRegressor(max_depth=1)).fit(
        x[:, None], labels
    )
    threshold = model.estimator_.tree_.threshold[0]
    np.testing.assert_allclose(threshold, naive_split(x, labels), atol=1e-6)
    # A leaf predicts the mean of the mass functions of its objects.
    left = labels.masses[x <= threshold].mean(axis=0)
    np.testing.assert_allclose(
        model.predict_mass([[x.min()]]).masses[0], left, atol=1e-12
    )


def test_neighbors_predict_the_mean_of_their_labels():
    labels = random_labels()
    model = SoftLabelClassifier(KNeighborsRegressor(1)).fit(
        X[:60] + np.arange(60)[:, None], labels
    )
    found = model.predict_mass(X[:60] + np.arange(60)[:, None])
    np.testing.assert_allclose(found.masses, labels.masses, atol=1e-12)
    assert found.focal_sets == labels.focal_sets


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestRegressor(random_state=0),
        make_pipeline(StandardScaler(), MLPRegressor(max_iter=2000, random_state=0)),
        GridSearchCV(KNeighborsRegressor(), {"n_neighbors": [3, 9]}),
        MultiOutputRegressor(SVR()),
    ],
    ids=lambda one: type(one).__name__,
)
def test_any_regressor(estimator):
    soft = 0.8 * np.eye(3)[Y] + 0.2 / 3
    model = SoftLabelClassifier(estimator).fit(X[::2], soft[::2])
    assert model.score(X[1::2], Y[1::2]) > 0.9
    # Far from the data the masses are still valid.
    masses = model.predict_mass(100 * X[:5]).masses
    np.testing.assert_allclose(masses.sum(axis=1), 1)
    assert (masses >= 0).all()


def test_prediction_without_positive_mass():
    class Minus(LinearRegression):
        def predict(self, X):
            return -super().predict(X)

    model = SoftLabelClassifier(Minus()).fit(X, Y)
    masses = model.predict_mass(X).masses
    assert np.isfinite(masses).all()
    np.testing.assert_allclose(masses.sum(axis=1), 1)


def test_kinds_of_labels():
    names = np.array(["a", "b", "c"])
    model = SoftLabelClassifier()
    probabilities = np.eye(3)[Y]
    expected = model.fit(X, Y).predict_mass(X).masses
    for labels, classes in (
        (names[Y], names),
        (probabilities, np.arange(3)),
        (probabilities.tolist(), np.arange(3)),
        (pd.DataFrame(probabilities, columns=names), names),
        (
            MassFunctions(
                probabilities,
                FocalSets.simple(3, empty=False, omega=False),
                frame=names,
            ),
            names,
        ),
    ):
        found = model.fit(X, labels)
        np.testing.assert_array_equal(found.classes_, classes)
        np.testing.assert_allclose(found.predict_mass(X).masses, expected, atol=1e-12)
        np.testing.assert_array_equal(
            found.predict(X), classes[expected.argmax(axis=1)]
        )


def test_rows_of_tables_are_matched_by_name():
    index = [f"object {i}" for i in range(150)]
    table = pd.DataFrame(X, columns=list("abcd"), index=index)
    labels = pd.DataFrame(np.eye(3)[Y], index=index)
    order = np.random.default_rng(0).permutation(150)
    expected = SoftLabelClassifier().fit(table, labels).predict(table)
    found = SoftLabelClassifier().fit(table, labels.iloc[order]).predict(table)
    np.testing.assert_array_equal(found, expected)


def test_soft_labels_gain_over_the_most_probable_class():
    """Simulated annotators: half of them confuse two classes, and say so by a set."""
    gains = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        labels = np.zeros((150, 4))  # three classes, and the last two together
        labels[np.arange(150), Y] = 1
        doubt = (Y > 0) & (rng.random(150) < 0.7)
        other = np.where(Y == 1, 2, 1)
        labels[doubt] = 0
        wrong = doubt & (rng.random(150) < 0.5)
        labels[doubt, 3] = 0.8
        labels[np.flatnonzero(doubt), np.where(wrong, other, Y)[doubt]] += 0.2
        family = FocalSets.from_sets(3, [(0,), (1,), (2,), (1, 2)])
        soft = MassFunctions(labels, family)
        crisp = soft.pignistic().argmax(axis=1)
        train = rng.permutation(150)[:75]
        test = np.setdiff1d(np.arange(150), train)
        forest = RandomForestRegressor(50, random_state=seed)
        scores = [
            SoftLabelClassifier(forest).fit(X[train], y).score(X[test], Y[test])
            for y in (soft[train], crisp[train])
        ]
        gains.append(scores[0] - scores[1])
    assert np.mean(gains) > 0.05


def test_invalid_input():
    with pytest.raises(ValueError, match="estimator must be a regressor"):
        SoftLabelClassifier(EKNNClassifier()).fit(X, Y)
    with pytest.raises(ValueError, match="estimator must be .*MultiOutputRegressor"):
        SoftLabelClassifier(SVR()).fit(X, Y)
    for wrong in (np.full((150, 3), 0.5), -np.eye(3)[Y], np.full((150, 2), np.nan)):
        with pytest.raises(ValueError, match="^y "):
            SoftLabelClassifier().fit(X, wrong)
    with pytest.raises(ValueError, match="^y "):
        SoftLabelClassifier().fit(X, np.eye(3)[Y[:-1]])
