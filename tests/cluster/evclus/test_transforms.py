"""Target conflicts of EVCLUS other than the exponential function of the dissimilarity."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import rankdata
from sklearn.datasets import load_iris
from sklearn.metrics import pairwise_distances

from dempster.cluster import EVCLUS
from dempster.cluster.evclus._transforms import LinearTransform, RankTransform
from dempster.dissimilarity import to_conflict

# Rounding errors must not change the order.
D = pairwise_distances(load_iris().data[::3]).round(3)
FAST = {"metric": "precomputed", "random_state": 0, "n_init": 2}
FIRST, SECOND = np.triu_indices(len(D), 1)


def conflicts(model):
    partition = model.credal_partition_
    return (partition.masses @ partition.focal_sets.conflict @ partition.masses.T)[
        FIRST, SECOND
    ]


@pytest.mark.parametrize(
    "function",
    [np.square, np.sqrt, lambda d: np.expm1(3 * d), lambda d: d + np.ceil(d)],
    ids=range(4),
)
@pytest.mark.parametrize("focal_sets", ["auto", "full"])
def test_ordinal_depends_only_on_the_order(function, focal_sets):
    first, second = (
        EVCLUS(3, target_conflict="ordinal", focal_sets=focal_sets, **FAST).fit(M)
        for M in (D, function(D))
    )
    np.testing.assert_array_equal(
        first.credal_partition_.masses, second.credal_partition_.masses
    )
    for model, M in ((first, D), (second, function(D))):
        np.testing.assert_allclose(
            model.predict_mass(M).masses, first.credal_partition_.masses, atol=1e-7
        )


def test_ordinal_is_the_exponential_transformation_of_ranks():
    ranks = np.zeros_like(D)
    ranks[FIRST, SECOND] = ranks[SECOND, FIRST] = (
        rankdata(D[FIRST, SECOND]) - 0.5
    ) / len(FIRST)
    np.testing.assert_allclose(
        RankTransform.from_matrix(D)(D), np.where(D > 0, ranks, 0)
    )
    between = RankTransform.from_matrix(D)(
        np.array([[D[D > 0].min() / 2, D.max() + 1]])
    )
    np.testing.assert_allclose(between, [[(D[FIRST, SECOND] == 0).mean(), 1]])
    expected = EVCLUS(3, focal_sets="full", d0=0.6, **FAST).fit(
        np.where(D > 0, ranks, 0)
    )
    model = EVCLUS(3, focal_sets="full", d0=0.6, target_conflict="ordinal", **FAST).fit(
        D
    )
    np.testing.assert_allclose(
        model.credal_partition_.masses, expected.credal_partition_.masses, atol=1e-5
    )


def test_linear_minimizes_the_stress_with_linear_targets():
    model = EVCLUS(
        3, focal_sets="full", d0=4.0, target_conflict="linear", tol=1e-9, **FAST
    ).fit(D)
    delta = np.minimum(D[FIRST, SECOND] / 4, 1)
    error = np.sum((conflicts(model) - delta) ** 2)
    assert model.stress_ == pytest.approx(error / np.sum(delta**2), rel=1e-5)
    assert model.d0_ == 4
    exponential = EVCLUS(3, focal_sets="full", d0=4.0, tol=1e-9, **FAST).fit(D)
    assert error < np.sum((conflicts(exponential) - delta) ** 2)
    np.testing.assert_allclose(
        to_conflict(LinearTransform(4.0)(D), 1)[FIRST, SECOND], delta, atol=2e-6
    )
    shepard = model.shepard(None)
    np.testing.assert_allclose(
        np.sort(shepard.dissimilarity),
        np.sort(np.minimum(D[FIRST, SECOND], 4)),
        atol=1e-5,
    )


def test_affine_improves_the_criterion_of_the_first_paper():
    """The fitted a and b are near the regression of d on the conflicts, and better than b = 0."""
    linear, affine = (
        EVCLUS(3, focal_sets="full", target_conflict=t, **FAST).fit(D)
        for t in ("linear", "affine")
    )

    def criterion(model):
        a = model._transform.slope
        b = model._transform.offset
        return np.sum((a * conflicts(model) + b - D[FIRST, SECOND]) ** 2) / np.sum(D**2)

    assert criterion(affine) < 0.5 * criterion(linear)
    slope, offset = np.polyfit(conflicts(affine), D[FIRST, SECOND], 1)
    assert affine._transform.slope == pytest.approx(slope, rel=0.1)
    assert affine._transform.offset == pytest.approx(offset, abs=0.1 * slope)
    np.testing.assert_array_equal(affine.predict_mass(D).labels, affine.labels_)
    doubtful = EVCLUS(
        3, target_conflict="affine", sampling="landmarks", n_landmarks=20, **FAST
    ).fit(D)
    np.testing.assert_array_equal(doubtful.predict_mass(D).labels, doubtful.labels_)


@pytest.mark.parametrize(
    ("X", "metric"),
    [(load_iris().data, "euclidean"), (sparse.csr_matrix(D), "precomputed")],
)
def test_other_input_is_refused(X, metric):
    with pytest.raises(
        ValueError,
        match="target_conflict must be 'exponential' unless metric='precomputed'",
    ):
        EVCLUS(3, metric=metric, target_conflict="ordinal").fit(X)


def test_unfitted_attributes_are_reset():
    model = EVCLUS(3, target_conflict="ordinal", **FAST).fit(D)
    expected = EVCLUS(3, **FAST).fit(D)
    np.testing.assert_array_equal(
        model.set_params(target_conflict="exponential").fit(D).credal_partition_.masses,
        expected.credal_partition_.masses,
    )
    np.testing.assert_array_equal(
        model.predict_mass(D).masses, expected.predict_mass(D).masses
    )
