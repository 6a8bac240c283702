"""Whether the units of attributes differ: one rule for scaling and for the warning."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA

from dempster.cluster import ECM, EVCLUS
from dempster.dissimilarity.input import find_spreads, find_unit, spreads_differ


def table(spreads, n=200):
    """Return groups of rows whose columns have the given spreads exactly."""
    values = np.random.default_rng(0).normal(size=(n, len(spreads)))
    return values / find_spreads(values) * spreads


@pytest.mark.parametrize("ratio", [7.0, 13.0])
@pytest.mark.parametrize("which", ["largest", "smallest", "half"])
def test_units_differ_tenfold(ratio, which):
    """A column is odd if its spread is ten times larger or smaller, or half of the columns are."""
    spreads = np.array([1.0, 1.2, 0.9, 1.1])
    if which == "largest":
        spreads[2] = ratio
    elif which == "smallest":
        spreads[2] = 1 / ratio
    else:
        spreads[:2] *= ratio
    assert spreads_differ(spreads) == (ratio > 10)


def test_gradual_differences():
    assert not spreads_differ(find_spreads(load_iris().data))
    assert not spreads_differ(find_spreads(load_digits().data))
    components = PCA().fit_transform(load_digits().data)  # the last ones are zero
    assert not spreads_differ(find_spreads(components))
    assert spreads_differ(find_spreads(load_wine().data))
    assert spreads_differ(find_spreads(load_breast_cancer().data))
    assert not spreads_differ(np.array([0.0, 1.0]))
    assert not spreads_differ(np.zeros(3))


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 1, 0, 2]])
@pytest.mark.parametrize(
    "spreads", [[1, 1, 1, 2e4], [2e4, 2e4, 2e4, 1], [0.2, 0.2, 4e3, 4e3], [1, 2, 2, 3]]
)
def test_scaling_and_warning_agree(spreads, order):
    X = table(np.array(spreads)[order])
    X[:100] += 5 * X.std(axis=0)
    differ = max(spreads) > 10
    assert (find_unit(X, only_if_clear=True) is not None) == differ
    for model in (ECM(2, random_state=0), EVCLUS(2, random_state=0)):
        with warnings.catch_warnings(record=True) as messages:
            warnings.simplefilter("always")
            model.fit(X)
        assert any("standardize X" in str(m.message) for m in messages) == differ
