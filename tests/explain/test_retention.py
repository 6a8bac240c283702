"""Doubt scores and retention curves."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from dempster import CredalPartition, FocalSets
from dempster._errors import InvalidInputError
from dempster.cluster import ECM
from dempster.explain import RetentionCurve, doubt_scores, retention_curve


@pytest.fixture(scope="module")
def touching():
    """Return a partition of two overlapping clusters, and their classes."""
    y = np.repeat([0, 1], 100)
    X = np.random.default_rng(0).normal(size=(200, 2)) + np.where(
        y[:, None] == 0, 0, [2.5, 0]
    )
    return ECM(2, random_state=0).fit(X).credal_partition_, y


def test_doubt_agrees_with_the_formula(touching):
    partition, _ = touching
    doubt = doubt_scores(partition)
    for i in np.setdiff1d(np.arange(200), partition.outliers):
        second, first = np.sort(partition.contour[i])[-2:]
        assert doubt[i] == pytest.approx(second / first)


def test_doubt_of_outliers():
    rows = [
        [0, 1, 0, 0],
        [0, 0, 0, 1],
        [0.6, 0.4, 0, 0],
        [1, 0, 0, 0],
        [0.4, 0.6, 0, 0],
    ]
    doubt = doubt_scores(CredalPartition(rows, FocalSets.full(2)))
    np.testing.assert_allclose(doubt, [0, 1, 1.6, 2, 0])


def test_doubt_of_labels_and_of_one_cluster():
    assert doubt_scores([0, 1, -1, 1]).tolist() == [0, 0, 2, 0]
    assert doubt_scores(
        CredalPartition([[1.0], [1.0]], FocalSets.from_sets(1, [[0]]))
    ).tolist() == [0, 0]


def test_curve_agrees_with_loops(touching):
    partition, y = touching
    order = np.argsort(doubt_scores(partition), kind="stable")
    curve = retention_curve(partition, y, shares=[1, 0.5, 0.8])
    assert curve.share.tolist() == [0.5, 0.8, 1]
    for share, quality in zip(curve.share, curve.quality, strict=True):
        kept = order[: round(share * 200)]
        assert quality == pytest.approx(
            adjusted_rand_score(y[kept], partition.labels[kept])
        )
    assert curve.at(0.5) > curve.at(1) + 0.05
    assert curve.at(0.9) == pytest.approx((curve.at(0.8) + curve.at(1)) / 2)
    assert curve.area == pytest.approx(
        0.3 * (curve.at(0.5) + curve.at(0.8)) + 0.2 * (curve.at(0.8) + curve.at(1))
    )


def test_ties_are_broken_at_random():
    y = np.repeat([0, 1], 50)
    curve = retention_curve(np.tile([0, 1], 50), y, shares=[0.5, 1])
    assert abs(curve.at(0.5)) < 0.2
    again = retention_curve(np.tile([0, 1], 50), y, shares=[0.5, 1])
    np.testing.assert_array_equal(curve.quality, again.quality)


def test_area_and_repr(touching):
    curve = RetentionCurve(np.array([0.6, 1.0]), np.array([0.9, 0.7]))
    assert repr(curve) == "RetentionCurve(ari={60%: 0.900, 100%: 0.700})"
    assert curve.area == pytest.approx(0.8)
    assert RetentionCurve(np.array([1.0]), np.array([0.7])).area == 0.7
    assert retention_curve(*touching).share.tolist() == pytest.approx(
        np.arange(20, 101, 5) / 100
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("y", [0, 1]), ("shares", [0, 1]), ("shares", []), ("shares", [np.nan])),
        *(("doubt", [1, 2]), ("doubt", [1, 2, 3, np.nan])),
    ],
)
def test_invalid_arguments(name, value):
    with pytest.raises(InvalidInputError, match=f"^{name} must"):
        retention_curve([0, 0, 1, 1], **{"y": [0, 0, 1, 1], name: value})


def test_share_outside_the_curve():
    with pytest.raises(InvalidInputError, match="^share must"):
        retention_curve([0, 0, 1, 1], [0, 0, 1, 1], shares=[0.5, 1]).at(0.2)
