import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from dempster import CredalPartition, FocalSets
from dempster.cluster import CatECM
from dempster.cluster.catecm import find_distinct_rows
from dempster.data import sampling


def categories(n=200, c=3, p=8, levels=4, keep=0.75, seed=0):
    """Return objects with the categories of their cluster, some of them replaced at random."""
    rng = np.random.default_rng(seed)
    modes = rng.integers(0, levels, (c, p))
    y = rng.integers(0, c, n)
    X = np.where(rng.random((n, p)) < keep, modes[y], rng.integers(0, levels, (n, p)))
    return X, y


def as_table(X):
    names = np.array(["ash", "birch", "cedar", "oak"], dtype=object)
    table = pd.DataFrame({f"tree{d}": names[X[:, d]] for d in range(X.shape[1])})
    table["tree0"] = table["tree0"].astype("category")
    table["tree1"] = X[:, 1] % 2 == 0
    table["tree2"] = X[:, 2]
    return table


def naive_objective(model, X):
    """Return the criterion, computed by loops."""
    total = 0.0
    for i, x in enumerate(np.asarray(X, dtype=object)):
        for clusters, mass in zip(
            model.focal_sets_, model.credal_partition_.masses[i], strict=True
        ):
            if not clusters:
                total += model.delta_**2 * mass**model.beta
                continue
            cost = np.mean([np.sum(x != model.cluster_centers_[k]) for k in clusters])
            total += len(clusters) ** model.alpha * mass**model.beta * cost
    return total


@pytest.mark.parametrize("family", ["simple", "pairs", "full"])
@pytest.mark.parametrize(("alpha", "beta"), [(-0.25, 1.2), (1, 2)])
def test_objective_equals_its_definition(family, alpha, beta):
    X, _ = categories()
    model = CatECM(3, focal_sets=family, alpha=alpha, beta=beta, random_state=0).fit(X)
    assert model.objective_ == pytest.approx(naive_objective(model, X), rel=1e-9)
    smallest = min(1, max(len(s) for s in model.focal_sets_) ** alpha)
    assert model.delta_**2 == pytest.approx(0.9 * 8 * smallest)


def test_no_other_category_improves_the_result():
    X, _ = categories(30, p=5)
    model = CatECM(3, tol=0, max_iter=100, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    best = naive_objective(model, X)
    centers = model.cluster_centers_
    for k in range(3):
        for d in range(X.shape[1]):
            for level in range(4):
                model.cluster_centers_ = centers.copy()
                model.cluster_centers_[k, d] = level
                assert naive_objective(model, X) >= best - 1e-9


def test_clusters_and_ambiguous_objects():
    X, y = categories(500, c=4, p=12, keep=0.6)
    model = CatECM(4, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.85
    ambiguous = model.credal_partition_.ambiguous
    majority = np.array([np.bincount(y[model.labels_ == k]).argmax() for k in range(4)])
    wrong = majority[model.labels_] != y
    assert 10 < len(ambiguous) < 200
    assert wrong[ambiguous].mean() > 10 * np.delete(wrong, ambiguous).mean()


def test_tables_of_any_kind():
    X, y = categories()
    plain = CatECM(3, random_state=0).fit(X)
    assert adjusted_rand_score(y, plain.labels_) > 0.85
    text = np.array(["ash", "birch", "cedar", "oak"], dtype=object)[X]
    for same in (
        text,
        text.astype(str),
        text.tolist(),
        pd.DataFrame(text),
        pd.DataFrame(text).astype("category"),
    ):
        model = CatECM(3, random_state=0).fit(same)
        np.testing.assert_array_equal(
            model.credal_partition_.masses, plain.credal_partition_.masses
        )
        np.testing.assert_array_equal(model.predict(same), plain.labels_)
    table = as_table(X)
    table.index = [f"object {i}" for i in range(len(X))]
    model = CatECM(3, random_state=0).fit(table)
    assert adjusted_rand_score(y, model.labels_) > 0.85
    assert model.credal_partition_.index[3] == "object 3"
    assert model.predict_mass(table.iloc[:4]).index[3] == "object 3"
    assert list(model.feature_names_in_) == list(table.columns)
    assert {type(v) for v in model.cluster_centers_[:, 3]} == {str}
    assert [len(level) for level in model.categories_] == [4, 2, 4, 4, 4, 4, 4, 4]


def test_polars_tables():
    polars = pytest.importorskip("polars")
    X, _ = categories()
    text = np.array(["ash", "birch", "cedar", "oak"])[X]
    frame = pd.DataFrame(text, columns=[f"t{d}" for d in range(8)])
    a = CatECM(3, random_state=0).fit(frame)
    b = CatECM(3, random_state=0).fit(
        polars.DataFrame({name: list(frame[name]) for name in frame})
    )
    np.testing.assert_array_equal(
        a.credal_partition_.masses, b.credal_partition_.masses
    )


def test_missing_values():
    X, _ = categories()
    table = as_table(X)
    table.loc[5, "tree4"] = None
    with pytest.raises(
        ValueError,
        match=r"missing values \(NaN, None\) in column 'tree4', the first in row 5",
    ):
        CatECM(3).fit(table)
    model = CatECM(3, missing="category", random_state=0).fit(table)
    assert model.categories_[4].tolist() == ["ash", "birch", "cedar", "oak", None]
    np.testing.assert_array_equal(
        model.predict_mass(table).masses, model.credal_partition_.masses
    )
    known = CatECM(3, random_state=0).fit(as_table(X))
    with pytest.raises(ValueError, match="missing values"):
        known.predict(table)
    numbers = X.astype(float)
    numbers[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        CatECM(3).fit(numbers)
    # missing cells that fit has not met are unknown
    complete = CatECM(3, missing="category", random_state=0).fit(as_table(X))
    with pytest.raises(ValueError, match="handle_unknown"):
        complete.predict(table)


def test_unknown_categories():
    X, _ = categories()
    table = as_table(X)
    model = CatECM(3, random_state=0).fit(table)
    new = table.iloc[:3].copy()
    new.loc[1, "tree5"] = "yew"
    with pytest.raises(ValueError, match="column 'tree5'"):
        model.predict(new)
    lenient = CatECM(
        3, focal_sets="pairs", handle_unknown="ignore", random_state=0
    ).fit(table)
    masses = lenient.predict_mass(new).masses
    np.testing.assert_array_equal(
        masses[[0, 2]], lenient.credal_partition_.masses[[0, 2]]
    )
    assert (masses[1] != lenient.credal_partition_.masses[1]).any()
    strange = pd.DataFrame({name: ["yew"] for name in table})
    strange["tree1"] = [True]
    strange["tree2"] = [17]
    assert lenient.predict_mass(strange).outliers.tolist() == [0]
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table.rename(columns={"tree0": "shrub"}))
    # whatever the sets, an object that agrees in nothing is an outlier
    for family in ("auto", "simple", "pairs"):
        lenient = CatECM(
            3, focal_sets=family, handle_unknown="ignore", random_state=0
        ).fit(X)
        assert lenient.predict_mass(np.full((1, X.shape[1]), 99)).outliers.tolist() == [
            0
        ]


def test_object_equal_to_a_prototype():
    X, _ = categories()
    model = CatECM(3, random_state=0).fit(X)
    masses = model.predict_mass(model.cluster_centers_.astype(int))
    np.testing.assert_array_equal(masses.labels, [0, 1, 2])
    np.testing.assert_allclose(masses.singleton_belief, np.eye(3))


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 10_000),
    st.sampled_from(["simple", "pairs", "full", "selected"]),
    st.sampled_from([1.1, 1.5, 2.0]),
    st.sampled_from([-0.5, 0.0, 1.0]),
    st.sampled_from(["k-modes++", "random"]),
)
def test_objective_never_increases_and_masses_are_valid(
    seed, family, beta, alpha, init
):
    X, _ = categories(60, keep=0.4, seed=seed)
    model = CatECM(
        3,
        focal_sets=family,
        beta=beta,
        alpha=alpha,
        init=init,
        n_init=1,
        max_iter=30,
        tol=0,
        random_state=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[:-1])
    masses = model.credal_partition_.masses
    assert masses.min() >= 0
    assert masses.max() <= 1
    np.testing.assert_allclose(masses.sum(axis=1), 1, atol=1e-12)


def test_order_repetition_and_weights():
    X, _ = categories()
    model = CatECM(3, random_state=0).fit(X)
    order = np.random.default_rng(0).permutation(len(X))
    moved = CatECM(3, random_state=0).fit(X[order])
    np.testing.assert_array_equal(
        moved.credal_partition_.masses, model.credal_partition_.masses[order]
    )
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    a = CatECM(3, random_state=0).fit(X, sample_weight=weights)
    b = CatECM(3, random_state=0).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(a.cluster_centers_, b.cluster_centers_)
    assert a.objective_ == pytest.approx(b.objective_)


def test_renamed_categories_have_no_effect():
    X, _ = categories()
    a = CatECM(3, random_state=0).fit(X)
    b = CatECM(3, random_state=0).fit(10 + 3 * X)
    np.testing.assert_array_equal(
        a.credal_partition_.masses, b.credal_partition_.masses
    )
    np.testing.assert_array_equal(10 + 3 * a.cluster_centers_, b.cluster_centers_)
    constant = np.column_stack([X, np.full(len(X), 7)])
    c = CatECM(3, random_state=0).fit(constant)
    np.testing.assert_array_equal(
        c.credal_partition_.masses, a.credal_partition_.masses
    )


def test_many_objects_start_on_a_sample(monkeypatch):
    monkeypatch.setattr(sampling, "SAMPLE_SIZE", 100)
    X, y = categories(1000)
    assert adjusted_rand_score(y, CatECM(3, random_state=0).fit(X).labels_) > 0.85


def test_both_ways_to_find_distinct_rows():
    rng = np.random.default_rng(0)
    for levels in (3, 2000):  # the second does not fit in one number
        codes = rng.integers(0, levels, (50, 8))[rng.integers(0, 50, 120)]
        offsets = np.arange(9) * levels
        rows, inverse = find_distinct_rows(codes + offsets[:-1], offsets)
        expected, expected_inverse = np.unique(codes, axis=0, return_inverse=True)
        np.testing.assert_array_equal(rows - offsets[:-1], expected)
        np.testing.assert_array_equal(inverse, expected_inverse.reshape(-1))


@pytest.mark.parametrize(
    "family",
    ["auto", "simple", "pairs", "full", "selected", FocalSets.full(3, omega=False)],
)
def test_all_families(family):
    X, y = categories()
    model = CatECM(3, focal_sets=family, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.85
    if isinstance(family, FocalSets):
        assert model.focal_sets_ == family


def test_starts():
    X, y = categories()
    warm = CatECM(3, init=CredalPartition.from_hard(y)).fit(X)
    assert adjusted_rand_score(y, warm.labels_) > 0.85
    np.testing.assert_array_equal(
        warm.labels_, CatECM(3, init=warm.cluster_centers_).fit(X).labels_
    )
    table = as_table(X)
    assert CatECM(3, init=table.iloc[[0, 50, 100]]).fit(table).converged_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_clusters": 201}, "n_samples=200 should be >= n_clusters=201"),
        ({"beta": 1}, "beta must"),
        ({"delta": 0}, "delta must"),
        ({"missing": "drop"}, "missing must"),
        ({"handle_unknown": "guess"}, "handle_unknown must"),
        ({"init": "k-means++"}, "init must"),
        ({"init": np.zeros((2, 3))}, r"init must"),
        ({"init": np.full((2, 8), 9)}, "init must"),
        ({"init": CredalPartition.from_hard([0, 1])}, "init must"),
        ({"focal_sets": FocalSets([[0, 0], [1, 0], [1, 1]])}, "focal_sets"),
    ],
)
def test_invalid_parameters(change, message):
    X, _ = categories()
    with pytest.raises(ValueError, match=message):
        CatECM(**{"n_clusters": 2, **change}).fit(X)


def test_invalid_data():
    with pytest.raises(
        ValueError, match="n_clusters=3 is more than the 2 different objects"
    ):
        CatECM(3).fit([["a", "b"]] * 5 + [["a", "c"]] * 5)
    with pytest.raises(
        ValueError, match="n_clusters=2 is more than the 1 different objects"
    ):
        CatECM(2).fit(pd.DataFrame({"a": ["x"] * 5}))
    with pytest.raises(ValueError, match="at least one row"):
        CatECM(2).fit(pd.DataFrame({"a": []}))
    with pytest.raises(TypeError, match="column 'when'"):
        CatECM(2).fit(pd.DataFrame({"when": pd.date_range("2020", periods=5)}))
    assert (
        CatECM(1, random_state=0).fit(pd.DataFrame({"a": ["x"] * 5})).labels_ == 0
    ).all()
