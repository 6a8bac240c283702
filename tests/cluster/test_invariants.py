"""Properties of all clusterers on small random problems.

The data contain equal rows, constant attributes and outliers. Every problem has at least as many
different objects as clusters, so every error is a failure.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from tests.cluster.contract import (
    EXCEPTIONS,
    PERMUTED,
    SUBJECTS,
    answer,
    categories,
    prediction,
)

pytestmark = pytest.mark.filterwarnings("ignore")

# networks take long, images are no rows
QUICK = [s for s in SUBJECTS if str(s) not in ("NNEVCLUS", "SECM")]
# What represents sets is not derived from the objective, or there is no objective, as their
# docstrings say.
RISES = {"ECMdd", "RoughKMeans", "WECMdd"}

N_CLUSTERS = 3  # those of `Subject.make`
problems = st.integers(0, 2**31 - 1)
each = settings(
    deadline=None,
    max_examples=8,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


def objects(subject, seed):
    """Return 24 to 40 objects in three groups, with equal rows, and possibly a constant attribute and an outlier."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(24, 41))
    X = rng.normal(0, 4, (3, 2))[rng.integers(0, 3, n)] + rng.normal(size=(n, 2))
    if rng.random() < 0.3:
        X[:4] = X[4:8]
    if rng.random() < 0.2:
        X = np.column_stack([X, np.full(len(X), 7.0)])
    if rng.random() < 0.3:
        X[-1, :2] += 40
    if str(subject) == "CatECM":
        X = categories(X[:, :2])
    # objects may share their categories
    assume(len(np.unique(X, axis=0)) >= N_CLUSTERS)
    return X


@pytest.mark.parametrize("subject", QUICK, ids=str)
def test_too_few_different_objects(subject):
    model = subject.make()
    if "n_clusters" not in model.get_params():
        pytest.skip("it finds the number of clusters")
    with pytest.raises(ValueError, match="n_clusters=3 is more than the 2 different"):
        model.set_params(n_clusters=3).fit(np.repeat(subject.data[:2], 12, axis=0))


@pytest.mark.parametrize("subject", QUICK, ids=str)
@given(seed=problems)
@each
def test_masses_labels_objective_predictions_and_seeds(subject, seed):
    X = objects(subject, seed)
    model = subject.make().fit(X)
    masses = answer(model)
    if masses.ndim == 2:
        assert masses.min() >= 0
        np.testing.assert_allclose(masses.sum(axis=1), 1, atol=1e-9)
    if hasattr(model, "history_") and str(subject) not in RISES:
        steps = np.diff(model.history_)
        assert (steps <= 1e-9 * np.abs(model.history_[:-1]) + 1e-11).all()
    np.testing.assert_allclose(prediction(model, X), masses, atol=1e-7)
    again = subject.make(n_jobs=2).fit(X)
    assert answer(again).tobytes() == masses.tobytes()
    equal = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    for group in np.unique(equal[np.bincount(equal)[equal] > 1]):
        twins = masses[equal == group]
        np.testing.assert_allclose(
            twins, np.broadcast_to(twins[0], twins.shape), atol=1e-7
        )


@pytest.mark.parametrize(
    "subject", [s for s in QUICK if (str(s), PERMUTED) not in EXCEPTIONS], ids=str
)
@given(seed=problems)
@each
def test_order_of_rows_has_no_effect(subject, seed):
    """The clusters do not depend on the order, unless two starts are equally good up to rounding."""
    X = objects(subject, seed)
    order = np.random.default_rng(seed).permutation(len(X))
    one = subject.make().fit(X)
    other = subject.make().fit(X[order])
    if hasattr(one, "objective_") and str(subject) not in RISES:
        assert other.objective_ == pytest.approx(one.objective_, rel=1e-4, abs=1e-9)
    else:
        assert (
            adjusted_rand_score(np.ravel(other.labels_), np.ravel(one.labels_)[order])
            > 0.8
        )


@pytest.mark.parametrize(
    "subject", [s for s in QUICK if s.data.dtype.kind == "f"], ids=str
)
@given(seed=problems, exponent=st.integers(-60, 60))
@each
def test_units_have_no_effect(subject, seed, exponent):
    X = objects(subject, seed)
    one = subject.make().fit(X)
    other = subject.make().fit(X * 2.0**exponent)
    np.testing.assert_allclose(
        answer(other), answer(one), atol=1e-5 if str(subject) == "BootClus" else 0
    )
