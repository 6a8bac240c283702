import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from dempster import FocalSets
from dempster.cluster import ECM, WMVEC
from dempster.cluster.wmvec import learnt_weights, shapeless_dispersion


def blobs(rng, y, n_features, gap=6.0):
    """Clusters whose centers are ``gap`` standard deviations from the next ones."""
    c = y.max() + 1
    if n_features >= c:
        centers = np.linalg.qr(rng.normal(size=(n_features, n_features)))[0][:c] * gap / np.sqrt(2)
    else:  # around a circle
        angles = 2 * np.pi * np.arange(c) / c
        centers = np.zeros((c, n_features))
        centers[:, :2] = np.column_stack([np.cos(angles), np.sin(angles)]) * gap / (2 * np.sin(np.pi / c))
    return centers[y] + rng.normal(size=(len(y), n_features))


@pytest.fixture(scope="module")
def seen():
    """Two views that show three clusters, and one of noise."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    return {"a": blobs(rng, y, 3), "b": 100 + 50 * blobs(rng, y, 4), "noise": rng.normal(size=(120, 3))}, y


def distances(X):
    return np.linalg.norm(X[:, None] - X, axis=2)


# ---- the objective --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("focal_sets", ["simple", "full"])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_objective_by_loops(seen, focal_sets, weighted):
    views, _ = seen
    w = np.random.default_rng(1).uniform(0.5, 2, 120) if weighted else np.ones(120)
    model = WMVEC(
        3, focal_sets=focal_sets, alpha=1.3, beta=1.7, delta=0.9, n_init=2, max_iter=2000, tol=1e-13, random_state=0
    ).fit(views, sample_weight=w)  # fmt: skip
    masses, centers, value = model.credal_partition_.masses, np.hsplit(model.cluster_centers_, [3, 7]), 0.0
    scaled = []
    for X, V in zip(views.values(), centers, strict=True):
        mean = np.average(X, axis=0, weights=w)
        unit = np.sqrt(np.average(((X - mean) ** 2).sum(axis=1), weights=w))
        scaled.append((X / unit, V / unit))
    for i in range(120):
        for m, clusters in zip(masses[i], model.focal_sets_, strict=True):
            if not clusters:
                value += w[i] * 0.9**2 * m**1.7
                continue
            for share, (X, V) in zip(model.view_weights_, scaled, strict=True):
                gap = X[i] - V[list(clusters)].mean(axis=0)
                value += w[i] * len(clusters) ** 1.3 * m**1.7 * share * (gap @ gap)
    prior = np.exp(model.shapeless_dispersion_ / 0.4)
    prior /= prior.sum()
    value += 0.4 * w.sum() * (model.view_weights_ * np.log(model.view_weights_ / prior)).sum()
    assert model.objective_ == pytest.approx(value, rel=1e-9)


def test_the_end_is_a_minimum(seen):
    """Moving the weights, or a prototype, makes the objective larger."""
    views, _ = seen
    options = {"focal_sets": "simple", "delta": 1.0, "beta": 1.5}
    model = WMVEC(3, **options, n_init=1, max_iter=5000, tol=1e-15, random_state=0).fit(views)
    stopped = {**options, "max_iter": 1, "view_weights": model.view_weights_}

    def least(init):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return WMVEC(3, **stopped, init=init).fit(views).objective_

    here = least(model.cluster_centers_)
    for k, d in [(0, 0), (1, 4), (2, 8)]:
        for step in (-0.05, 0.05):
            moved = model.cluster_centers_.copy()
            moved[k, d] += step * np.hstack(list(views.values()))[:, d].std()
            assert least(moved) > here
    rule = learnt_weights(model.shapeless_dispersion_, np.ones(3, dtype=bool), 0.4)
    cost = lambda w: w @ model.view_dispersion_ + rule.penalty(w)  # noqa: E731
    for other in np.random.default_rng(0).dirichlet(30 * model.view_weights_, size=50):
        assert cost(other) >= cost(model.view_weights_) - 1e-6


@pytest.mark.parametrize("focal_sets", ["auto", "simple", "pairs", "full", "selected"])
@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_the_objective_never_rises(seen, metric, focal_sets):
    views, _ = seen
    X = views if metric == "euclidean" else {name: distances(table) for name, table in views.items()}
    for seed in range(3):
        options = {"n_init": 1, "init": "random", "random_state": seed, "alpha": 0.5}
        model = WMVEC(4, metric=metric, focal_sets=focal_sets, **options).fit(X)
        assert (np.diff(model.history_) <= 1e-10 * np.abs(model.history_[:-1])).all()
        assert model.view_weights_.sum() == pytest.approx(1)
        np.testing.assert_allclose(model.predict_mass(X).masses, model.credal_partition_.masses, atol=1e-9)


def test_medoids_of_any_dissimilarities_never_rise():
    """Where no Euclidean space is behind them, costs of sets are cut off at zero."""
    rng = np.random.default_rng(0)
    for _ in range(5):
        D = [rng.uniform(size=(30, 30)) for _ in range(2)]
        D = [np.triu(A, 1) + np.triu(A, 1).T for A in D]
        model = WMVEC(4, metric="precomputed", focal_sets="full", alpha=0.2, n_init=2, random_state=0).fit(D)
        assert (np.diff(model.history_) <= 1e-10 * np.abs(model.history_[:-1])).all()
        assert model.converged_


# ---- what it is when there is one view ------------------------------------------------------------------------------


@pytest.mark.parametrize("focal_sets", ["auto", "full"])
def test_one_view_is_ecm(seen, focal_sets):
    X = seen[0]["b"]
    scale = np.sqrt(X.var(axis=0).sum())
    one = WMVEC(3, focal_sets=focal_sets, random_state=0, tol=1e-12).fit(X)
    ecm = ECM(3, focal_sets=focal_sets, random_state=0, tol=1e-12).fit(X)
    agree = one.labels_[:, None] == one.labels_, ecm.labels_[:, None] == ecm.labels_
    np.testing.assert_array_equal(*agree)
    assert one.delta_ * scale == pytest.approx(ecm.delta_, rel=1e-6)
    assert one.objective_ * scale**2 == pytest.approx(ecm.objective_, rel=1e-6)
    assert one.view_weights_.tolist() == [1.0]
    assert "view_weights" not in one.credal_partition_.metadata["choices"]


def test_fixed_weights_are_ecm_on_a_scaled_table(seen):
    views, _ = seen
    shares = np.array([0.6, 0.3, 0.1])
    joined = np.hstack(
        [X / np.sqrt(X.var(axis=0).sum()) * np.sqrt(w) for X, w in zip(views.values(), shares, strict=True)]
    )
    options = {"focal_sets": "pairs", "delta": 1.0, "beta": 1.4, "tol": 1e-12, "max_iter": 3000}
    start = joined[[0, 40, 80]]
    ecm = ECM(3, init=start, **options).fit(joined)
    init = [table[[0, 40, 80]] for table in views.values()]
    model = WMVEC(3, view_weights=10 * shares, init=init, **options).fit(views)
    np.testing.assert_allclose(model.credal_partition_.masses, ecm.credal_partition_.masses, atol=1e-6)
    np.testing.assert_allclose(model.view_weights_, shares)


# ---- weights --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_features", [2, 10])
@pytest.mark.parametrize("n_noise", [2, 20])
def test_noise_has_little_weight(n_features, n_noise):
    """Whatever its number of attributes: few are explained well by any clusters that follow them."""
    weights, scores = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = np.arange(240) % 4
        views = [blobs(rng, y, n_features, 8), blobs(rng, y, n_features, 8), rng.normal(size=(240, n_noise))]
        model = WMVEC(4, n_init=5, random_state=0).fit(views)
        weights.append(model.view_weights_[2])
        scores.append(adjusted_rand_score(y, model.labels_))
    assert np.mean(weights) < 0.25
    assert np.mean(scores) > 0.9


def test_views_that_separate_different_clusters_complete_each_other():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 4
    views = [blobs(rng, y // 2, 3, 9), blobs(rng, y % 2, 3, 9)]
    model = WMVEC(4, random_state=0).fit(views)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert model.view_weights_.min() > 0.3
    for table in views:
        assert adjusted_rand_score(y, ECM(4, random_state=0).fit(table).labels_) < 0.6


def test_evenness(seen):
    views, _ = seen
    spread = [np.ptp(WMVEC(3, evenness=e, random_state=0, n_init=2).fit(views).view_weights_) for e in (0.2, 0.4, 5)]
    assert spread[0] > spread[1] > spread[2]
    even = WMVEC(3, evenness=1000, random_state=0).fit(views).view_weights_
    np.testing.assert_allclose(even, 1 / 3, atol=1e-3)
    np.testing.assert_array_equal(WMVEC(3, view_weights="equal", random_state=0).fit(views).view_weights_, [1 / 3] * 3)
    two = {"a": views["a"], "noise": views["noise"]}
    with pytest.warns(UserWarning, match=r"'a' has .* of the weight of all views; try a larger evenness, got 0.05"):
        WMVEC(3, evenness=0.05, random_state=0).fit(two)


def test_attributes_as_views():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    X = pd.DataFrame(np.hstack([blobs(rng, y, 3, 9), rng.normal(size=(150, 6))]), columns=list("abcdefghi"))
    model = WMVEC(3, views="attributes", random_state=0).fit(X)
    assert model.view_names_ == list("abcdefghi")
    assert model.attribute_weights_[:3].min() > 1.5 * model.attribute_weights_[3:].max()
    assert adjusted_rand_score(y, model.labels_) > adjusted_rand_score(y, ECM(3, random_state=0).fit(X).labels_) - 0.01
    assert model.predict(X).tolist() == model.labels_.tolist()
    listed = WMVEC(3, random_state=0).fit([X[[name]] for name in X])
    np.testing.assert_allclose(listed.view_weights_, model.view_weights_)


def test_names_of_columns_make_views(seen):
    views, _ = seen
    names = [name for name, table in views.items() for _ in range(table.shape[1])]
    listed = WMVEC(3, random_state=0).fit(views)
    joined = WMVEC(3, views=np.array(names), random_state=0).fit(np.hstack(list(views.values())))
    assert joined.view_names_ == listed.view_names_ == list(views)
    assert joined.credal_partition_.masses.tobytes() == listed.credal_partition_.masses.tobytes()
    np.testing.assert_array_equal(listed.view_of_feature_, [0, 0, 0, 1, 1, 1, 1, 2, 2, 2])
    assert listed.n_features_in_ == 10


def test_a_view_that_does_not_vary_has_no_weight(seen):
    views, _ = seen
    with_constant = {**views, "constant": np.full((120, 2), 7.3)}
    one, other = (WMVEC(3, beta=1.3, random_state=0).fit(X) for X in (views, with_constant))
    assert other.view_weights_[3] == 0
    np.testing.assert_allclose(other.view_weights_[:3], one.view_weights_)
    np.testing.assert_allclose(other.credal_partition_.masses, one.credal_partition_.masses, atol=1e-9)
    matrices = [distances(table) for table in with_constant.values()]
    assert WMVEC(3, metric="precomputed", random_state=0).fit(matrices).view_weights_[3] == 0
    alone = WMVEC(1).fit([np.ones((5, 2)), np.zeros((5, 1))])
    np.testing.assert_array_equal(alone.view_weights_, [0.5, 0.5])


def test_units_and_shifts_of_a_view_change_nothing(seen):
    views, _ = seen
    other = {**views, "a": 1e6 * views["a"] - 3e6, "noise": 1e-9 * views["noise"]}
    one, two = (WMVEC(3, random_state=0).fit(X) for X in (views, other))
    np.testing.assert_allclose(one.credal_partition_.masses, two.credal_partition_.masses, atol=1e-6)
    np.testing.assert_allclose(one.view_weights_, two.view_weights_, atol=1e-7)


def test_what_is_left_of_a_gaussian_cloud():
    assert shapeless_dispersion(np.array([2.0]), 5) == pytest.approx(1 / 25)
    assert shapeless_dispersion(np.ones(10), 5) == pytest.approx(5 ** (-2 / 10))
    assert shapeless_dispersion(np.array([1.0, 1e-9]), 3) == pytest.approx(1 / 9, abs=1e-6)
    assert shapeless_dispersion(np.array([3.0, 1.0, 0.5]), 1) == 1
    assert shapeless_dispersion(np.zeros(3), 4) == 0
    variances = np.array([4.0, 2.0, 1.0, 0.3, 0.01])
    level = np.linspace(0.001, 4, 200_000)  # the level at which log(7) nats are spent, by looking at many
    rates = np.log(np.maximum(variances[:, None] / level, 1)).sum(axis=0) / 2
    found = level[np.abs(rates - np.log(7)).argmin()]
    wanted = np.minimum(variances, found).sum() / variances.sum()
    assert shapeless_dispersion(variances, 7) == pytest.approx(wanted, rel=1e-4)


def test_many_attributes_are_told_by_some_objects():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    views = [blobs(rng, y, 600, 40), rng.normal(size=(90, 3))]
    model = WMVEC(3, random_state=0).fit(views)
    assert 0.5 < model.shapeless_dispersion_[0] < 1
    assert adjusted_rand_score(y, model.labels_) > 0.9


# ---- matrices -------------------------------------------------------------------------------------------------------


def test_matrices_find_what_tables_find(seen):
    views, y = seen
    matrices = {name: distances(table) for name, table in views.items()}
    model = WMVEC(3, metric="precomputed", random_state=0).fit(matrices)
    tables = WMVEC(3, random_state=0).fit(views)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    np.testing.assert_allclose(model.shapeless_dispersion_, tables.shapeless_dispersion_, atol=1e-6)
    assert model.view_weights_.argmin() == 2
    assert model.medoid_indices_.shape == (3, 3)
    for view in (0, 1):  # a medoid of a view that shows the clusters is one of its cluster
        np.testing.assert_array_equal(model.labels_[model.medoid_indices_[view]], [0, 1, 2])
    new = {name: D[:10] for name, D in matrices.items()}
    np.testing.assert_allclose(model.predict_mass(new).masses, model.credal_partition_.masses[:10], atol=1e-12)


def test_medoids_minimise_the_objective_by_loops(seen):
    views, _ = seen
    D = [distances(X[::4]) ** 1.0 for X in views.values()]
    model = WMVEC(3, metric="precomputed", focal_sets="simple", delta=1.0, tol=0.0, random_state=0).fit(D)
    masses, beta = model.credal_partition_.masses, model.beta_
    family = model.focal_sets_
    for v, A in enumerate(D):
        squares = A**2 / ((A**2).mean() / 2)
        omega = masses[:, family.cardinality == 3][:, 0] ** beta * 3**0  # alpha - 1 = 0: the frame counts for each
        for k in range(3):
            pull = masses[:, family.singleton_index[k]] ** beta + omega
            others = [squares[m] for j, m in enumerate(model.medoid_indices_[v]) if j != k]
            scores = pull @ squares - omega.sum() / 3 * np.sum(others, axis=0)
            scores = scores if omega.any() else pull @ squares
            assert scores[model.medoid_indices_[v, k]] <= scores.min() * (1 + 1e-9) + 1e-9


def test_starts_for_matrices(seen):
    views, y = seen
    D = [distances(table) for table in views.values()]
    for init in ([0, 40, 80], "belief-peaks", WMVEC(3, random_state=0).fit(views).credal_partition_):
        assert adjusted_rand_score(y, WMVEC(3, metric="precomputed", init=init).fit(D).labels_) > 0.9
    with pytest.raises(ValueError, match="init must hold the positions of 3 objects"):
        WMVEC(3, metric="precomputed", init=[0, 1]).fit(D)


# ---- tables, names, errors ------------------------------------------------------------------------------------------


def test_lists_dictionaries_and_frames_are_the_same(seen):
    views, _ = seen
    plain = WMVEC(3, random_state=0, n_init=2).fit(views)
    frames = {name: pl.DataFrame(table, schema=list("wxyz")[: table.shape[1]]) for name, table in views.items()}
    for X in (list(views.values()), tuple(views.values()), frames, [table.tolist() for table in views.values()]):
        other = WMVEC(3, random_state=0, n_init=2).fit(X)
        assert other.credal_partition_.masses.tobytes() == plain.credal_partition_.masses.tobytes()
    assert other.view_names_ == ["view 0", "view 1", "view 2"]
    turned = dict(reversed(list(views.items())))
    assert plain.predict(turned).tolist() == plain.labels_.tolist()
    assert plain.predict(list(views.values())).tolist() == plain.labels_.tolist()
    single = WMVEC(3, random_state=0).fit({k: v.astype(np.float32) for k, v in views.items()})
    assert single.credal_partition_.masses.dtype == np.float32


def test_rows_are_matched_by_their_names(seen):
    views, _ = seen
    names = [f"object {i}" for i in range(120)]
    tables = {name: pd.DataFrame(table, index=names).add_prefix("column ") for name, table in views.items()}
    order = np.random.default_rng(0).permutation(120)
    mixed = {**tables, "b": tables["b"].iloc[order], "noise": views["noise"]}
    one, other = (WMVEC(3, random_state=0, n_init=2).fit(X) for X in (tables, mixed))
    assert one.credal_partition_.masses.tobytes() == other.credal_partition_.masses.tobytes()
    assert list(other.credal_partition_.index) == names
    assert list(one.predict_mass({k: t.iloc[3:6] for k, t in tables.items()}).index) == names[3:6]
    strange = {**tables, "b": tables["b"].rename(index={"object 3": "another"})}
    with pytest.raises(ValueError, match="'b' in X: the names of the objects differ: 'object 3'"):
        WMVEC(3).fit(strange)
    with pytest.raises(ValueError, match="'b' in X: .*The feature names should match"):
        one.predict({**tables, "b": tables["b"].rename(columns={"column 0": "other"})})
    D = {name: pd.DataFrame(distances(t), index=names, columns=names) for name, t in views.items()}
    moved = {**D, "b": D["b"].iloc[order]}
    one, other = (WMVEC(3, metric="precomputed", random_state=0, n_init=2).fit(X) for X in (D, moved))
    np.testing.assert_allclose(one.credal_partition_.masses, other.credal_partition_.masses)
    np.testing.assert_allclose(other.predict_mass(moved).masses, other.credal_partition_.masses)


X3 = np.random.default_rng(0).normal(size=(20, 3))
WRONG = {
    "no views": ([], "X must hold at least one table, got none"),
    "an empty dictionary": ({}, "X must hold at least one table, got none"),
    "different lengths": ([X3, X3[:19]], "same objects, but 'view 0' has 20, 'view 1' has 19 of them"),
    "three dimensions": (np.stack([X3, X3]), r"array of shape \(2, 20, 3\); give list\(X\)"),
    "three dimensions in a view": ([X3, X3[None]], "'view 1' in X: .*dim"),
    "one dimension in a view": ({"a": X3, "b": X3[:, 0]}, "'b' in X: .*1D"),
    "NaN": ([X3, np.where(X3 > 1, np.nan, X3)], "'view 1' in X: .*NaN"),
    "infinity": ([np.where(X3 > 1, np.inf, X3)], "'view 0' in X: .*infinity"),
    "text": ({"a": X3, "words": np.full((20, 2), "word")}, "'words' in X: .*convert"),
    "no columns": ([X3, X3[:, :0]], "'view 1' in X: .*0 feature"),
    "no objects": ([X3[:0], X3[:0]], "'view 0' in X: .*0 sample"),
    "too few objects": ([X3[:2], X3[:2]], "n_samples=2 should be >= n_clusters=3"),
    "twins": ([np.repeat(X3[:2], 5, axis=0)], "n_clusters=3 is more than the 2 different objects in X"),
}


@pytest.mark.parametrize("case", WRONG)
def test_views_that_are_refused(case):
    X, words = WRONG[case]
    with pytest.raises(ValueError, match=words):
        WMVEC(3).fit(X)


@pytest.mark.parametrize(
    ("parameters", "X", "words"),
    [
        ({"views": "attributes"}, [X3, X3], "views tells the columns of one table apart, but X is 2 tables"),
        ({"views": ["a", "b"]}, X3, "views must name the view of each of the 3 columns of X, got 2 names"),
        ({"view_weights": [1, 2]}, [X3, X3, X3], r"view_weights must hold 3 numbers .* \(view 0, view 1, view 2\)"),
        ({"view_weights": [1, -2]}, [X3, X3], "view_weights must hold 2 numbers of at least 0"),
        ({"view_weights": [0, 0]}, [X3, X3], "not zeros only, got"),
        ({"evenness": 0.0}, X3, "evenness must be a number of at least 0.01 and at most 1000, got 0.0"),
        ({"init": [X3[:3], X3[:3, :2]]}, [X3, X3], "init must hold a table of 3 rows for each view"),
        ({"metric": "precomputed"}, [X3, X3], "'view 0' in X: X must be a square matrix"),
        ({"metric": "precomputed"}, [np.triu(np.ones((4, 4)), 1)], "'view 0' in X: X must be symmetric"),
        ({"metric": "precomputed", "views": "attributes"}, np.zeros((4, 4)), "views tells attributes apart"),
        ({"metric": "precomputed"}, [np.zeros((4, 4))], "n_clusters=3 is more than the 1 different objects in X"),
    ],
)
def test_parameters_that_are_refused(parameters, X, words):
    with pytest.raises(ValueError, match=words):
        WMVEC(3, **parameters).fit(X)


def test_new_objects_that_are_refused(seen):
    views, _ = seen
    model = WMVEC(3, random_state=0, n_init=1).fit(views)
    with pytest.raises(ValueError, match=r"X must be a list of 3 tables, one a view \(a, b, noise\)"):
        model.predict(views["a"])
    with pytest.raises(ValueError, match="X has 2 views, but there were 3 in fit"):
        model.predict([views["a"], views["b"]])
    with pytest.raises(ValueError, match="the views of X are a, b, c, but those of fit were a, b, noise"):
        model.predict({"a": views["a"], "b": views["b"], "c": views["noise"]})
    with pytest.raises(ValueError, match="'a' in X: .*X has 4 features, but .* is expecting 3 features"):
        model.predict([views["b"], views["a"], views["noise"]])


# ---- options of the house -------------------------------------------------------------------------------------------


def test_neighbors_are_read_off_and_nothing_moves(seen):
    views, _ = seen
    family = FocalSets.simple(3, empty=False, omega=False)
    single = WMVEC(3, focal_sets=family, random_state=0).fit(views)
    auto = WMVEC(3, random_state=0).fit(views)
    np.testing.assert_array_equal(auto.cluster_centers_, single.cluster_centers_)
    assert auto.focal_sets_.empty_index is not None
    assert (auto.focal_sets_.cardinality == 2).any()
    far = {name: np.vstack([table, table.mean(axis=0) + 60 * table.std()]) for name, table in views.items()}
    assert 120 in auto.predict_mass(far).outliers


def test_the_number_of_clusters_is_found():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 4
    views = [blobs(rng, y // 2, 2, 14), blobs(rng, y % 2, 2, 14)]
    for metric in ("euclidean", "precomputed"):
        X = views if metric == "euclidean" else [distances(table[:160]) for table in views]
        model = WMVEC("auto", metric=metric, random_state=0).fit(X)
        assert model.n_clusters_ == model.number_.best == 4


def test_the_summary_tells_the_weights(seen):
    views, _ = seen
    model = WMVEC(3, random_state=0, n_init=2).fit(views)
    order = [list(views)[v] for v in np.argsort(-model.view_weights_)]
    words = ", ".join(f"{name} {model.view_weights_[list(views).index(name)]:.2f}" for name in order)
    assert f"chosen: view_weights = {words}" in str(model.credal_partition_.summary())
    wide = WMVEC(3, views="attributes", random_state=0, n_init=1).fit(np.hstack([*views.values()] * 2))
    assert "and 14 more" in wide.credal_partition_.metadata["choices"]["view_weights"]


def test_starts_and_copies(seen):
    views, y = seen
    model = WMVEC(3, random_state=0).fit(views)
    again = pickle.loads(pickle.dumps(model))
    assert again.predict_mass(views).masses.tobytes() == model.credal_partition_.masses.tobytes()
    assert not hasattr(clone(model), "view_weights_")
    for init in (model.credal_partition_, "belief-peaks", "random"):
        assert adjusted_rand_score(y, WMVEC(3, init=init, random_state=0).fit(views).labels_) > 0.9


@pytest.mark.long
def test_leaves_are_told_apart_better_by_all_views(shared):
    """Mean over three sets of twenty species, one of them of species that are alike. The rows of the three files are
    matched by species, and by their order within them."""
    tables, scores = {}, []
    for name in ("margin", "shape", "texture"):
        stored = np.load(shared / "data" / f"leaves_{name}.npz", allow_pickle=False)
        order = np.argsort(stored["y"], kind="stable")
        tables[name], y = stored["X"][order][-1584:], stored["y"][order][-1584:]  # one leaf of the first species lacks
    for kept in ((y >= 40) & (y < 60), y % 5 == 1, y % 5 == 2):
        views = {name: table[kept] for name, table in tables.items()}
        found = [
            ECM(20, n_init=3, random_state=0).fit(X).labels_ for X in (*views.values(), np.hstack([*views.values()]))
        ]
        found.append(WMVEC(20, n_init=3, random_state=0).fit(views).labels_)
        scores.append([adjusted_rand_score(y[kept], labels) for labels in found])
    *alone, joined, together = np.mean(scores, axis=0)
    # measured: 0.81 with all views, 0.76 with the margins alone (which are better in one of the sets), 0.71 joined
    assert together > max(alone) + 0.02
    assert together > joined + 0.05
