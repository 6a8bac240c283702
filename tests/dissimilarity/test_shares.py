"""Shares of attributes in dissimilarities: they add up and are the terms of the sums."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import pairwise_distances

from dempster.dissimilarity.gower import GowerEncoder, gower_block
from dempster.dissimilarity.sources import (
    AttributeSource,
    GowerSource,
    attribute_shares,
)

X = np.random.default_rng(0).normal(size=(12, 4)) + [0, 3, 0, 1]
METRICS = [
    "euclidean",
    "sqeuclidean",
    "cityblock",
    "seuclidean",
    "mahalanobis",
    "canberra",
    "braycurtis",
    "chebyshev",
]


def largest_difference(a, b):
    return float(np.abs(a - b).max())


@pytest.mark.parametrize(
    "metric", [*METRICS, "cosine", "correlation", "hamming", largest_difference]
)
def test_shares_add_up(metric):
    source = AttributeSource(X, metric)
    shares = attribute_shares(source, X[:1], X)
    assert shares.shape == (12, 4)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_allclose(shares[0], 0.25)  # an object does not differ from itself
    if metric != "mahalanobis":
        assert shares.min() >= 0


@pytest.mark.parametrize(
    "metric", ["euclidean", "cityblock", "seuclidean", "mahalanobis", "canberra"]
)
def test_shares_are_terms_of_the_sum(metric):
    """A share times the sum depends on no other attribute.

    A quadratic form is the sum of its terms.
    """
    source = AttributeSource(X, metric)
    whole = pairwise_distances(X[:1], X, metric=metric, **source.parameters)[0]
    if metric in ("euclidean", "seuclidean", "mahalanobis"):
        power = 2
    else:
        power = 1
    terms = attribute_shares(source, X[:1], X) * whole[:, None] ** power
    for j in range(1, 12):
        gap = X[j] - X[0]
        expected = {
            "euclidean": gap**2,
            "cityblock": np.abs(gap),
            "seuclidean": gap**2 / X.var(axis=0, ddof=1),
            "mahalanobis": gap * (np.linalg.inv(np.cov(X.T)) @ gap),
            "canberra": np.abs(gap) / (np.abs(X[j]) + np.abs(X[0])),
        }[metric]
        np.testing.assert_allclose(terms[j], expected)


def test_shares_of_any_function():
    shares = attribute_shares(AttributeSource(X, largest_difference), X[:1], X)
    named = attribute_shares(AttributeSource(X, "chebyshev"), X[:1], X)
    np.testing.assert_allclose(shares, named)
    for j in range(1, 12):
        gap = np.abs(X[j] - X[0])
        losses = [gap.max() - np.delete(gap, d).max() for d in range(4)]
        np.testing.assert_allclose(
            shares[j], np.array(losses) / sum(losses), atol=1e-12
        )


def test_columns_of_mixed_tables():
    table = pd.DataFrame(
        {
            "color": ["r", "b", None, "r"],
            "size": [1.0, 2.0, 5.0, np.nan],
            "age": [10, 20, 40, 10],
        }
    )
    data = GowerEncoder().fit_transform(table)
    shares = attribute_shares(GowerSource(data), data[:1], data)
    apart = gower_block(data[:1], data)[0]
    # numbers first: size, age; then color
    weight = data.weight
    differences = [1 / 4, 10 / 30, weight]
    np.testing.assert_allclose(shares[1] * apart[1] * (2 + weight), differences)
    np.testing.assert_allclose(shares[2] * apart[2] * 2, [1, 1, 0])
    # they agree in all that is known
    np.testing.assert_allclose(shares[3], [0, 1 / 2, 1 / 2])
