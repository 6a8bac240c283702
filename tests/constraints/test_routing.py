"""Constraints of a selection of rows, and in cross-validation by scikit-learn."""

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.datasets import make_blobs
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing

from dempster import cluster
from dempster.constraints import Constraints
from dempster.metric import PCCA

X, y = make_blobs(60, centers=[[0, 0], [9, 9]], cluster_std=0.3, random_state=0)
FOLDS = KFold(3, shuffle=True, random_state=0)


def naive_rows(c, rows):
    """Return the constraints among the given positions by a loop over all pairs."""
    kinds = [
        set(map(frozenset, pairs.tolist())) for pairs in (c.must_link, c.cannot_link)
    ]
    places = [(a, b) for a in range(len(rows)) for b in range(a)]
    must, cannot = (
        [(a, b) for a, b in places if frozenset((rows[a], rows[b])) in known]
        for known in kinds
    )
    return Constraints(must, cannot, n_objects=len(rows))


# ---- the constraints among some of the rows ------------------------------------------------------


@given(st.lists(st.integers(0, 8), max_size=14), st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_constraints_among_some_rows(rows, seed):
    """Rows can be permuted, left out and repeated."""
    drawn = np.random.default_rng(seed).integers(0, 9, (12, 2))
    drawn = drawn[drawn[:, 0] != drawn[:, 1]]
    c = Constraints(drawn[:6], drawn[6:], n_objects=9)
    assert c[np.array(rows, dtype=int)] == naive_rows(c, rows)


def test_forms_of_rows():
    c = Constraints([(0, 3), (3, 5)], [(1, 5), (0, 4)], n_objects=6)
    expected = naive_rows(c, [3, 4, 5])
    assert (expected.n_objects, len(expected)) == (3, 1)
    mask = np.arange(6) > 2
    for rows in (
        slice(3, None),
        [3, 4, 5],
        np.array([3, 4, 5]),
        [-3, -2, -1],
        mask,
        mask.tolist(),
        ([3, 4, 5], ...),
    ):
        assert c[rows] == expected
    for rows in ([3, 4, 5], mask, slice(3, 6)):
        assert _safe_indexing(c, rows) == expected
    assert c[:] == c
    assert c[[]] == Constraints(n_objects=0)
    assert c[::-1][::-1] == c
    with pytest.raises(TypeError, match="not iterable"):
        iter(c)


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (0, TypeError, "rows must"),
        ([0.5], TypeError, "rows must"),
        ([[0], [1]], TypeError, "rows must"),
        ("ab", TypeError, "rows must"),
        ([0, 6], IndexError, "rows must"),
        ([-7], IndexError, "rows must"),
        ([True, False], IndexError, "rows must"),
    ],
)
def test_invalid_rows(rows, error, message):
    with pytest.raises(error, match=message):
        Constraints([(0, 3)], n_objects=6)[rows]


def test_number_of_objects_is_required():
    c = Constraints([(0, 3)])
    for ask in (
        lambda: c.shape,
        lambda: c[:2],
        lambda: hasattr(c, "shape"),
        lambda: _safe_indexing(c, [0, 1]),
    ):
        with pytest.raises(TypeError, match="n_objects must"):
            ask()
    assert Constraints([(0, 3)], n_objects=6).shape == (6,)


# ---- on their way through scikit-learn -----------------------------------------------------------


class Witness(ClusterMixin, BaseEstimator):
    """Estimator whose `fit` checks that the constraints are true of the rows."""

    def __init__(self, n_clusters=2):
        self.n_clusters = n_clusters

    def fit(self, X, y=None, *, constraints=None):
        constraints.check(len(X))
        kinds = constraints.must_link, constraints.cannot_link
        must, cannot = (
            np.linalg.norm(np.diff(X[pairs], axis=1), axis=2) for pairs in kinds
        )
        assert (must < 6).all()
        assert (cannot > 6).all()
        Witness.arrived.append(len(constraints))
        return self

    def __sklearn_clone__(self):
        return self


CASES = {
    "a witness": lambda: Witness(),
    "EVCLUS": lambda: cluster.EVCLUS(2, random_state=0),
    "CECM": lambda: cluster.CECM(2, n_init=1, random_state=0),
    "PCCA": lambda: PCCA(1, random_state=0),
}


def watched(estimator, monkeypatch):
    """Return the estimator, and check the constraints that `fit` receives."""
    Witness.arrived = []
    if isinstance(estimator, Witness):
        return estimator
    fit = type(estimator).fit

    def look(self, X, y=None, *, constraints=None):
        Witness().fit(X, constraints=constraints)
        return fit(self, X, constraints=constraints)

    monkeypatch.setattr(type(estimator), "fit", look)
    return estimator


@pytest.fixture(params=[True, False], ids=["routing", "no routing"])
def routing(request):
    with sklearn.config_context(enable_metadata_routing=request.param):
        yield request.param


def score(estimator, X, y=None):
    return 0.0


@pytest.mark.parametrize("name", CASES)
def test_constraints_in_cross_validation(name, routing, monkeypatch):
    known = Constraints.from_labels(y, 300, random_state=0)
    model = watched(CASES[name](), monkeypatch)
    if routing:
        model.set_fit_request(constraints=True)
    cross_validate(
        model,
        X,
        params={"constraints": known},
        cv=FOLDS,
        scoring=score,
        error_score="raise",
    )
    inside = [len(known[train]) for train, _ in FOLDS.split(X)]
    assert Witness.arrived == inside
    assert 0 < min(inside) <= max(inside) < 300


def test_constraints_in_a_grid_search(routing, monkeypatch):
    known = Constraints.from_labels(y, 300, random_state=0)
    model = watched(Witness(), monkeypatch)
    if routing:
        model.set_fit_request(constraints=True)
    search = GridSearchCV(
        model, {"n_clusters": [2, 3]}, cv=FOLDS, scoring=score, error_score="raise"
    )
    search.fit(X, constraints=known)
    inside = [len(known[train]) for train, _ in FOLDS.split(X)]
    # each candidate in each fold, then the best with all rows
    assert Witness.arrived == [*inside, *inside, 300]


def test_constraints_in_a_pipeline(monkeypatch):
    known = Constraints.from_labels(y, 300, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        Witness.arrived = []
        model = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False), NearWitness()
        )
        model[-1].set_fit_request(constraints=True)
        cross_validate(
            model,
            X,
            params={"constraints": known},
            cv=FOLDS,
            scoring=score,
            error_score="raise",
        )
    assert Witness.arrived == [len(known[train]) for train, _ in FOLDS.split(X)]


class NearWitness(Witness):
    def fit(self, X, y=None, *, constraints=None):
        # standardised: the clusters are two apart
        return super().fit(X * 6, constraints=constraints)


@pytest.mark.parametrize("name", CASES)
def test_constraints_without_number_of_objects(name, routing, monkeypatch):
    """They would link other rows without an error, because all positions exist in every fold."""
    known = Constraints.from_labels(y[:30], 40, random_state=0)
    known = Constraints(known.must_link, known.cannot_link)
    model = watched(CASES[name](), monkeypatch)
    if routing:
        model.set_fit_request(constraints=True)
    with pytest.raises(TypeError, match="n_objects must"):
        cross_validate(
            model,
            X,
            params={"constraints": known},
            cv=FOLDS,
            scoring=score,
            error_score="raise",
        )
    with pytest.raises(TypeError, match="n_objects must"):
        GridSearchCV(model, {}, cv=FOLDS, scoring=score, error_score="raise").fit(
            X, constraints=known
        )
    assert Witness.arrived == []


@pytest.mark.parametrize("name", ["EVCLUS", "CECM", "PCCA"])
def test_constraints_for_another_number_of_objects(name):
    known = Constraints([(0, 1)], [(2, 3)], n_objects=61)
    with pytest.raises(ValueError, match="constraints must"):
        CASES[name]().fit(X, constraints=known)
    CASES[name]().fit(X, constraints=known[:60])
