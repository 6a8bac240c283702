"""Number of clusters by expected agreement."""

import numpy as np
import pandas as pd
import pytest

from dempster.cluster import ECM
from dempster.model_selection import NumberOfClusters, number_of_clusters


def corners(n_clusters, n=40, seed=0):
    """Return separated clusters on a circle."""
    angle = 2 * np.pi * np.arange(n_clusters) / n_clusters
    centers = 9 * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.repeat(centers, n, axis=0) + np.random.default_rng(seed).normal(
        size=(n * n_clusters, 2)
    )


@pytest.mark.parametrize("n_clusters", [2, 3, 5])
def test_separated_clusters(n_clusters):
    numbers = number_of_clusters(corners(n_clusters), random_state=0)
    assert numbers.best == n_clusters
    assert numbers.n_clusters[0] == 1
    assert (np.diff(numbers.n_clusters) > 0).all()
    assert numbers.n_objects == 40 * n_clusters
    assert numbers.expected_of(n_clusters) == numbers.expected_agreement.max() > 0.8
    assert numbers.low_agreement < numbers.expected_of(n_clusters)
    assert numbers.reasons().startswith(f"{n_clusters}; expected agreement")
    assert repr(numbers) == f"NumberOfClusters({numbers.reasons()})"


def test_table_of_the_numbers():
    numbers = number_of_clusters(corners(3), candidates=[2, 3, 4, 7], random_state=0)
    table = numbers.to_frame()
    assert table.index.tolist() == [2, 3, 4, 7]
    assert table.index.name == "n_clusters"
    np.testing.assert_array_equal(table["plausibility"], numbers.plausibility)
    np.testing.assert_array_equal(
        table["expected_agreement"], numbers.expected_agreement
    )
    assert table["plausibility"].between(0, 1).all()
    assert table.loc[numbers.best, "plausibility"] == 1
    assert len(numbers) == 4


def numbers_with(plausibility, *, best, expected=None):
    k = np.arange(1, len(plausibility) + 1)
    return NumberOfClusters(
        n_clusters=k,
        plausibility=np.array(plausibility),
        expected_agreement=np.linspace(0.2, 0.5, len(k))
        if expected is None
        else np.array(expected),
        best=best,
        low_agreement=0.123,
        n_objects=90,
    )


def test_plausible_numbers_are_named_in_decreasing_order():
    numbers = numbers_with([0.1, 0.3, 1.0, 0.5, 0.09], best=3)
    assert numbers.plausible == {3: 1.0, 4: 0.5, 2: 0.3, 1: 0.1}
    assert list(numbers.plausible) == [3, 4, 2, 1]
    assert numbers.reasons().endswith("also plausible: 4 (0.50), 2 (0.30), 1 (0.10)")
    assert "below 0.12 in one of ten" in numbers.reasons()
    assert numbers.next_best == 5  # the largest expected agreement
    assert "also" not in numbers_with([0.0, 1.0, 0.05], best=2).reasons()


@pytest.mark.parametrize(("n_plausible", "is_determined"), [(6, True), (7, False)])
def test_more_than_six_plausible_numbers(n_plausible, is_determined):
    numbers = numbers_with([1.0] * n_plausible + [0.0] * 3, best=2)
    assert numbers.is_determined == is_determined
    text = "the number is not determined by these data"
    assert (text in numbers.reasons()) != is_determined
    assert ("also plausible" in numbers.reasons()) == is_determined


def test_best_number_above_one_is_named_after_one_cluster():
    numbers = numbers_with([1.0, 0.05, 0.3], best=1, expected=[0.9, 0.41, 0.22])
    assert numbers.next_best == 2
    assert "2, with an expected agreement of 0.41" in numbers.reasons()
    assert "n_clusters=2" in numbers.reasons()
    alone = numbers_with([1.0], best=1)
    assert alone.next_best is None
    assert alone.reasons() == "1; the objects do not form several clusters"


def test_dissimilarities_and_tables_with_categories():
    X = corners(3)
    D = np.linalg.norm(X[:, None] - X[None], axis=-1)
    assert number_of_clusters(D, metric="precomputed", random_state=0).best == 3
    assert number_of_clusters(X, metric="manhattan", random_state=0).best == 3
    table = pd.DataFrame(
        {"x": X[:, 0], "y": X[:, 1], "color": np.repeat(["red", "green", "blue"], 40)}
    )
    assert number_of_clusters(table, metric="gower", random_state=0).best == 3


def test_automatic_number_of_a_clusterer():
    X = corners(3)
    model = ECM("auto", random_state=0).fit(X)
    expected = number_of_clusters(X, random_state=0)
    np.testing.assert_allclose(model.number_.plausibility, expected.plausibility)
    np.testing.assert_allclose(
        model.number_.expected_agreement, expected.expected_agreement
    )
    assert isinstance(model.number_, NumberOfClusters)


def test_result_does_not_depend_on_the_threads():
    X = corners(4, n=30)
    alone, together = (
        number_of_clusters(X, random_state=3, n_jobs=n).to_frame() for n in (1, 2)
    )
    pd.testing.assert_frame_equal(alone, together, check_exact=True)


def test_weights():
    X = corners(3)
    weight = np.where(np.arange(120) < 80, 1.0, 0.0)
    assert (
        number_of_clusters(
            X, sample_weight=weight, candidates=range(2, 8), random_state=0
        ).best
        == 2
    )


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"candidates": 3}, TypeError, "candidates must"),
        ({"candidates": [1, 2]}, ValueError, "candidates must"),
        ({"candidates": [50]}, ValueError, "candidates must contain"),
        ({"metric": 3}, ValueError, "metric must be .* got 3"),
        ({"random_state": "one"}, ValueError, "random_state must be"),
        ({"n_jobs": 0}, ValueError, "n_jobs must be"),
        ({"sample_weight": [1, 2]}, ValueError, "sample_weight"),
        ({"metric": "precomputed"}, ValueError, "square"),
    ],
)
def test_invalid_input(options, error, words):
    with pytest.raises(error, match=words):
        number_of_clusters(corners(2), **options)


def test_few_objects():
    with pytest.raises(ValueError, match="X .* got 3"):
        number_of_clusters(np.arange(6.0).reshape(3, 2))
    repeated = np.repeat([[0.0], [0.1], [5], [5.1]], 3, axis=0)
    assert number_of_clusters(repeated, random_state=0).best == 4
    given = number_of_clusters(repeated, candidates=[2, 3], random_state=0)
    assert given.best in (2, 3)
    six = np.arange(6.0)[:, None]
    assert number_of_clusters(six, random_state=0).best == 1
    assert number_of_clusters(np.ones((8, 2)), random_state=0).best == 1


@pytest.mark.long
@pytest.mark.parametrize("p", [20, 30])
def test_many_rows_may_form_many_clusters(p):
    rng = np.random.default_rng(0)
    centers = 4 * rng.normal(size=(70, p))
    X = np.repeat(centers, 100, axis=0) + rng.normal(size=(7000, p))
    numbers = number_of_clusters(X, random_state=0)
    assert abs(numbers.best - 70) <= 5


@pytest.mark.parametrize("p", [2, 20])
def test_many_rows_of_noise_are_one_cluster(p):
    X = np.random.default_rng(0).standard_t(3, size=(6000, p))
    numbers = number_of_clusters(X, random_state=0)
    assert numbers.best == 1
    assert f"n_clusters={numbers.next_best}" in numbers.reasons()


def test_a_grid_of_clusters():
    rng = np.random.default_rng(0)
    centers = 12.0 * np.array([[i, j] for i in range(6) for j in range(6)])
    X = np.repeat(centers, 40, axis=0) + rng.normal(size=(1440, 2))
    assert number_of_clusters(X, random_state=0).best == 36


@pytest.mark.long
def test_hundreds_of_clusters():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 150, 6000)
    X = 1.5 * rng.normal(size=(150, 30))[y] + rng.normal(size=(6000, 30))
    found = number_of_clusters(X, random_state=0)
    assert 135 <= found.best <= 165
