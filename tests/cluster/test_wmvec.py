import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.decomposition import KernelPCA
from sklearn.metrics import adjusted_rand_score, pairwise_distances

from dempster import FocalSets
from dempster._errors import InvalidInputError
from dempster.cluster import ECM, WMVEC
from dempster.cluster._view_weights import WeightRule, shapeless_dispersion


def blobs(rng, y, n_features, gap=6.0):
    """Draw clusters whose centers are ``gap`` standard deviations from the next ones."""
    c = y.max() + 1
    if n_features >= c:
        centers = (
            np.linalg.qr(rng.normal(size=(n_features, n_features)))[0][:c]
            * gap
            / np.sqrt(2)
        )
    else:  # on a circle
        angles = 2 * np.pi * np.arange(c) / c
        centers = np.zeros((c, n_features))
        centers[:, :2] = (
            np.column_stack([np.cos(angles), np.sin(angles)])
            * gap
            / (2 * np.sin(np.pi / c))
        )
    return centers[y] + rng.normal(size=(len(y), n_features))


def distances(X):
    return np.linalg.norm(X[:, None] - X, axis=2)


def masses(model):
    return model.credal_partition_.masses


@pytest.fixture(scope="module")
def views():
    """Two views with three clusters, and one of noise."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    return {
        "a": blobs(rng, y, 3),
        "b": 100 + 50 * blobs(rng, y, 4),
        "noise": rng.normal(size=(120, 3)),
    }


@pytest.fixture(scope="module")
def fitted(views):
    return WMVEC(3, random_state=0).fit(views)


Y = np.repeat([0, 1, 2], 40)

# ---- the objective -------------------------------------------------------------------------------


@pytest.mark.parametrize("focal_sets", ["simple", "full"])
@pytest.mark.parametrize("weighted", [False, True])
def test_objective_equals_its_definition(views, focal_sets, weighted):
    if weighted:
        w = np.random.default_rng(1).uniform(0.5, 2, 120)
    else:
        w = np.ones(120)
    model = WMVEC(
        3, focal_sets=focal_sets, alpha=1.3, beta=1.7, delta=0.9, n_init=2, max_iter=2000, tol=1e-13, random_state=0
    ).fit(views, sample_weight=w)  # fmt: skip
    centers = np.hsplit(model.cluster_centers_, [3, 7])
    value = 0.0
    scaled = []
    for X, V in zip(views.values(), centers, strict=True):
        mean = np.average(X, axis=0, weights=w)
        unit = np.sqrt(np.average(((X - mean) ** 2).sum(axis=1), weights=w))
        scaled.append((X / unit, V / unit))
    for i in range(120):
        for m, clusters in zip(masses(model)[i], model.focal_sets_, strict=True):
            if not clusters:
                value += w[i] * 0.9**2 * m**1.7
                continue
            for share, (X, V) in zip(model.view_weights_, scaled, strict=True):
                gap = X[i] - V[list(clusters)].mean(axis=0)
                value += w[i] * len(clusters) ** 1.3 * m**1.7 * share * (gap @ gap)
    prior = np.exp(model.shapeless_dispersion_ / 0.4)
    prior /= prior.sum()
    value += (
        0.4
        * w.sum()
        * (model.view_weights_ * np.log(model.view_weights_ / prior)).sum()
    )
    assert model.objective_ == pytest.approx(value, rel=1e-9)


def test_result_is_a_minimum(views):
    """Other weights, or another prototype, increase the objective."""
    options = {"focal_sets": "simple", "delta": 1.0, "beta": 1.5}
    model = WMVEC(3, **options, n_init=1, max_iter=5000, tol=1e-15, random_state=0).fit(
        views
    )
    stopped = {**options, "max_iter": 1, "view_weights": model.view_weights_}

    def objective(init):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return WMVEC(3, **stopped, init=init).fit(views).objective_

    minimum = objective(model.cluster_centers_)
    for k, d in [(0, 0), (1, 4), (2, 8)]:
        for step in (-0.05, 0.05):
            moved = model.cluster_centers_.copy()
            moved[k, d] += step * np.hstack(list(views.values()))[:, d].std()
            assert objective(moved) > minimum
    rule = WeightRule.from_dispersions(
        model.shapeless_dispersion_, np.ones(3, dtype=bool), 0.4
    )
    cost = lambda w: w @ model.view_dispersion_ + rule.penalty(w)  # noqa: E731
    for other in np.random.default_rng(0).dirichlet(30 * model.view_weights_, size=50):
        assert cost(other) >= cost(model.view_weights_) - 1e-6


def assert_never_increases(model):
    assert (np.diff(model.history_) <= 1e-10 * np.abs(model.history_[:-1])).all()


@pytest.mark.parametrize("focal_sets", ["auto", "simple", "pairs", "full", "selected"])
def test_objective_never_increases(views, focal_sets):
    for seed in range(3):
        options = {"n_init": 1, "init": "random", "random_state": seed, "alpha": 0.5}
        model = WMVEC(4, focal_sets=focal_sets, **options).fit(views)
        assert_never_increases(model)
        assert model.view_weights_.sum() == pytest.approx(1)
        np.testing.assert_allclose(
            model.predict_mass(views).masses, masses(model), atol=1e-9
        )


@pytest.mark.parametrize("focal_sets", ["auto", "full"])
def test_one_view_equals_ecm(views, focal_sets):
    X = views["b"]
    scale = np.sqrt(X.var(axis=0).sum())
    one = WMVEC(3, focal_sets=focal_sets, random_state=0, tol=1e-12).fit(X)
    ecm = ECM(3, focal_sets=focal_sets, random_state=0, tol=1e-12).fit(X)
    assert adjusted_rand_score(one.labels_, ecm.labels_) == 1
    assert one.delta_ * scale == pytest.approx(ecm.delta_, rel=1e-6)
    assert one.objective_ * scale**2 == pytest.approx(ecm.objective_, rel=1e-6)
    assert one.view_weights_.tolist() == [1.0]
    assert "view_weights" not in one.credal_partition_.metadata["choices"]


def test_fixed_weights_equal_ecm_on_a_scaled_table(views):
    shares = np.array([0.6, 0.3, 0.1])
    joined = np.hstack(
        [
            X / np.sqrt(X.var(axis=0).sum()) * np.sqrt(w)
            for X, w in zip(views.values(), shares, strict=True)
        ]
    )
    options = {
        "focal_sets": "pairs",
        "delta": 1.0,
        "beta": 1.4,
        "tol": 1e-12,
        "max_iter": 3000,
    }
    ecm = ECM(3, init=joined[[0, 40, 80]], **options).fit(joined)
    init = joined[[0, 40, 80]]
    model = WMVEC(3, view_weights=10 * shares, init=init, **options).fit(views)
    np.testing.assert_allclose(masses(model), masses(ecm), atol=1e-6)
    np.testing.assert_allclose(model.view_weights_, shares)


# ---- weights -------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_features", [2, 10])
@pytest.mark.parametrize("n_noise", [2, 20])
def test_noise_has_little_weight(n_features, n_noise):
    weights = []
    scores = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        y = np.arange(240) % 4
        X = [
            blobs(rng, y, n_features, 8),
            blobs(rng, y, n_features, 8),
            rng.normal(size=(240, n_noise)),
        ]
        model = WMVEC(4, n_init=5, random_state=0).fit(X)
        weights.append(model.view_weights_[2])
        scores.append(adjusted_rand_score(y, model.labels_))
    assert np.mean(weights) < 0.25
    assert np.mean(scores) > 0.9


def test_views_that_separate_different_clusters_complement_each_other():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 4
    X = [blobs(rng, y // 2, 3, 9), blobs(rng, y % 2, 3, 9)]
    model = WMVEC(4, random_state=0).fit(X)
    assert adjusted_rand_score(y, model.labels_) > 0.9
    assert model.view_weights_.min() > 0.3
    for table in X:
        assert adjusted_rand_score(y, ECM(4, random_state=0).fit(table).labels_) < 0.6


def test_evenness(views):
    spread = [
        np.ptp(WMVEC(3, evenness=e, random_state=0, n_init=2).fit(views).view_weights_)
        for e in (0.2, 0.4, 5)
    ]
    assert spread[0] > spread[1] > spread[2]
    even = WMVEC(3, evenness=1000, random_state=0).fit(views).view_weights_
    np.testing.assert_allclose(even, 1 / 3, atol=1e-3)
    np.testing.assert_array_equal(
        WMVEC(3, view_weights="equal", random_state=0).fit(views).view_weights_,
        [1 / 3] * 3,
    )
    with pytest.warns(UserWarning, match="'a' .* evenness"):
        WMVEC(3, evenness=0.05, random_state=0).fit(
            {"a": views["a"], "noise": views["noise"]}
        )


def test_attributes_as_views():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    X = pd.DataFrame(
        np.hstack([blobs(rng, y, 3, 9), rng.normal(size=(150, 6))]),
        columns=list("abcdefghi"),
    )
    model = WMVEC(3, views="attributes", random_state=0).fit(X)
    assert model.view_names_ == list("abcdefghi")
    np.testing.assert_array_equal(model.attribute_weights_, model.view_weights_)
    assert not hasattr(WMVEC(3, random_state=0).fit([X, X]), "attribute_weights_")
    assert model.view_weights_[:3].min() > 1.5 * model.view_weights_[3:].max()
    assert (
        adjusted_rand_score(y, model.labels_)
        > adjusted_rand_score(y, ECM(3, random_state=0).fit(X).labels_) - 0.01
    )
    assert model.predict(X).tolist() == model.labels_.tolist()
    listed = WMVEC(3, random_state=0).fit([X[[name]] for name in X])
    np.testing.assert_allclose(listed.view_weights_, model.view_weights_)


def test_matrices_of_dissimilarities(views, fitted):
    """The coordinates of classical scaling have the same distances as the views."""
    coordinates = {}
    for name, table in views.items():
        D = pairwise_distances(table)
        scaling = KernelPCA(kernel="precomputed")
        coordinates[name] = scaling.fit_transform(-(D**2) / 2)
    model = WMVEC(3, random_state=0).fit(coordinates)
    assert adjusted_rand_score(model.labels_, fitted.labels_) == 1
    np.testing.assert_allclose(model.view_weights_, fitted.view_weights_, atol=1e-3)
    np.testing.assert_allclose(
        model.view_dispersion_, fitted.view_dispersion_, atol=1e-3
    )


def test_groups_of_columns_as_views(views, fitted):
    names = [name for name, table in views.items() for _ in range(table.shape[1])]
    joined = WMVEC(3, views=np.array(names), random_state=0).fit(
        np.hstack(list(views.values()))
    )
    assert joined.view_names_ == fitted.view_names_ == list(views)
    assert masses(joined).tobytes() == masses(fitted).tobytes()
    np.testing.assert_array_equal(
        fitted.view_of_feature_, [0, 0, 0, 1, 1, 1, 1, 2, 2, 2]
    )
    assert fitted.n_features_in_ == 10


def test_constant_view_has_no_weight(views):
    with_constant = {**views, "constant": np.full((120, 2), 7.3)}
    one, other = (
        WMVEC(3, beta=1.3, random_state=0).fit(X) for X in (views, with_constant)
    )
    assert other.view_weights_[3] == 0
    np.testing.assert_allclose(other.view_weights_[:3], one.view_weights_)
    np.testing.assert_allclose(masses(other), masses(one), atol=1e-9)
    alone = WMVEC(1).fit([np.ones((5, 2)), np.zeros((5, 1))])
    np.testing.assert_array_equal(alone.view_weights_, [0.5, 0.5])


def test_units_and_shifts_of_a_view_do_not_matter(views, fitted):
    other = WMVEC(3, random_state=0).fit(
        {**views, "a": 1e6 * views["a"] - 3e6, "noise": 1e-9 * views["noise"]}
    )
    np.testing.assert_allclose(masses(fitted), masses(other), atol=1e-6)
    np.testing.assert_allclose(fitted.view_weights_, other.view_weights_, atol=1e-7)


def test_dispersion_within_a_gaussian_cloud():
    assert shapeless_dispersion(np.array([2.0]), 5) == pytest.approx(1 / 25)
    assert shapeless_dispersion(np.ones(10), 5) == pytest.approx(5 ** (-2 / 10))
    assert shapeless_dispersion(np.array([1.0, 1e-9]), 3) == pytest.approx(
        1 / 9, abs=1e-6
    )
    assert shapeless_dispersion(np.array([3.0, 1.0, 0.5]), 1) == 1
    assert shapeless_dispersion(np.zeros(3), 4) == 0
    variances = np.array([4.0, 2.0, 1.0, 0.3, 0.01])
    levels = np.linspace(0.001, 4, 200_000)  # search the level whose rate is log(7)
    rates = np.log(np.maximum(variances[:, None] / levels, 1)).sum(axis=0) / 2
    level = levels[np.abs(rates - np.log(7)).argmin()]
    expected = np.minimum(variances, level).sum() / variances.sum()
    assert shapeless_dispersion(variances, 7) == pytest.approx(expected, rel=1e-4)


def test_wide_view():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    model = WMVEC(3, random_state=0).fit(
        [blobs(rng, y, 600, 40), rng.normal(size=(90, 3))]
    )
    assert 0.5 < model.shapeless_dispersion_[0] < 1
    assert adjusted_rand_score(y, model.labels_) > 0.9


# ---- tables, names, errors -----------------------------------------------------------------------


def test_lists_dictionaries_and_frames_give_the_same_result(views, fitted):
    plain = WMVEC(3, random_state=0, n_init=2).fit(views)
    frames = {
        name: pl.DataFrame(table, schema=list("wxyz")[: table.shape[1]])
        for name, table in views.items()
    }
    for X in (
        list(views.values()),
        tuple(views.values()),
        frames,
        [table.tolist() for table in views.values()],
    ):
        other = WMVEC(3, random_state=0, n_init=2).fit(X)
        assert masses(other).tobytes() == masses(plain).tobytes()
    assert other.view_names_ == ["view 0", "view 1", "view 2"]
    for X in (dict(reversed(list(views.items()))), list(views.values())):
        assert plain.predict(X).tolist() == plain.labels_.tolist()
    single = WMVEC(3, random_state=0).fit(
        {k: v.astype(np.float32) for k, v in views.items()}
    )
    assert masses(single).dtype == np.float32


def test_rows_are_matched_by_their_names(views):
    names = [f"object {i}" for i in range(120)]
    tables = {
        name: pd.DataFrame(table, index=names).add_prefix("column ")
        for name, table in views.items()
    }
    order = np.random.default_rng(0).permutation(120)
    mixed = {**tables, "b": tables["b"].iloc[order], "noise": views["noise"]}
    one, other = (WMVEC(3, random_state=0, n_init=2).fit(X) for X in (tables, mixed))
    assert masses(one).tobytes() == masses(other).tobytes()
    assert list(other.credal_partition_.index) == names
    assert (
        list(one.predict_mass({k: t.iloc[3:6] for k, t in tables.items()}).index)
        == names[3:6]
    )
    with pytest.raises(InvalidInputError, match="'b' in X: .*'object 3'"):
        WMVEC(3).fit({**tables, "b": tables["b"].rename(index={"object 3": "another"})})
    with pytest.raises(InvalidInputError, match="'b' in X: .*feature names"):
        one.predict({**tables, "b": tables["b"].rename(columns={"column 0": "other"})})


X3 = np.random.default_rng(0).normal(size=(20, 3))


@pytest.mark.parametrize(
    ("X", "match", "parameters"),
    [
        ([], "^X .*2D array", {}),
        ({}, "^X must", {}),
        ({1: X3, "1": X3}, "^X must contain .* different names", {}),
        ([X3, X3[:19]], "^X must .* 19", {}),
        (np.stack([X3, X3]), "^X .*dim 3", {}),
        ([X3, X3[None]], "'view 1' in X: .*dim", {}),
        ({"a": X3, "b": X3[:, 0]}, "'b' in X: .*1D", {}),
        ([X3, np.where(X3 > 1, np.nan, X3)], "'view 1' in X: .*NaN", {}),
        ([np.where(X3 > 1, np.inf, X3)], "'view 0' in X: .*infinity", {}),
        ({"a": X3, "words": np.full((20, 2), "word")}, "'words' in X: .*convert", {}),
        ([X3, X3[:, :0]], "'view 1' in X: .*0 feature", {}),
        ([X3[:0], X3[:0]], "'view 0' in X: .*0 sample", {}),
        ([X3[:2], X3[:2]], "n_clusters=3", {}),
        ([np.repeat(X3[:2], 5, axis=0)], "n_clusters=3", {}),
        ([X3, X3], "^views must", {"views": "attributes"}),
        (X3, "^views must", {"views": ["a", "b"]}),
        (
            [X3, X3, X3],
            r"^view_weights must .* \(view 0, view 1, view 2\)",
            {"view_weights": [1, 2]},
        ),
        ([X3, X3], "^view_weights must", {"view_weights": [1, -2]}),
        ([X3, X3], "^view_weights must", {"view_weights": [0, 0]}),
        (X3, "^evenness must", {"evenness": 0.0}),
        ([X3, X3], "^init must", {"init": [X3[:3], X3[:3, :2]]}),
        ([X3, X3], "^init must have shape", {"init": X3[:3]}),
    ],
)
def test_invalid_input(X, match, parameters):
    with pytest.raises(InvalidInputError, match=match):
        WMVEC(3, **parameters).fit(X)


def test_invalid_new_rows(views, fitted):
    a, b, noise = views.values()
    for X in (a, [a, b], {"a": a, "b": b, "c": noise}):
        with pytest.raises(InvalidInputError, match="^X must"):
            fitted.predict(X)
    with pytest.raises(InvalidInputError, match="'a' in X: .*X has 4 features"):
        fitted.predict([b, a, noise])


# ---- common options ------------------------------------------------------------------------------


def test_neighbor_pairs_do_not_move_the_centers(views, fitted):
    single = WMVEC(
        3, focal_sets=FocalSets.simple(3, empty=False, omega=False), random_state=0
    ).fit(views)
    np.testing.assert_array_equal(fitted.cluster_centers_, single.cluster_centers_)
    assert fitted.focal_sets_.empty_index is not None
    assert (fitted.focal_sets_.cardinality == 2).any()
    far = {
        name: np.vstack([table, table.mean(axis=0) + 60 * table.std()])
        for name, table in views.items()
    }
    assert 120 in fitted.predict_mass(far).outliers


def test_number_of_clusters_is_selected():
    rng = np.random.default_rng(0)
    y = np.arange(400) % 4
    X = [blobs(rng, y // 2, 2, 14), blobs(rng, y % 2, 2, 14)]
    model = WMVEC("auto", random_state=0).fit(X)
    assert model.n_clusters_ == model.number_.best == 4


def test_summary_shows_the_weights(views):
    model = WMVEC(3, random_state=0, n_init=2).fit(views)
    order = np.argsort(-model.view_weights_)
    weights = ", ".join(f"{list(views)[v]} {model.view_weights_[v]:.2f}" for v in order)
    assert weights in str(model.credal_partition_.summary(verbose=True))
    wide = WMVEC(3, views="attributes", random_state=0, n_init=1).fit(
        np.hstack([*views.values()] * 2)
    )
    assert "and 14 more" in wide.credal_partition_.metadata["choices"]["view_weights"]


def test_starts_and_copies(views, fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict_mass(views).masses.tobytes() == masses(fitted).tobytes()
    assert not hasattr(clone(fitted), "view_weights_")
    for init in (fitted.credal_partition_, "belief-peaks", "random"):
        assert (
            adjusted_rand_score(
                Y, WMVEC(3, init=init, random_state=0).fit(views).labels_
            )
            > 0.9
        )


@pytest.mark.long
def test_all_views_separate_leaves_better_than_one(shared):
    """Mean over three sets of twenty species.

    Rows are matched by species, and by their order within them.
    """
    tables = {}
    scores = []
    for name in ("margin", "shape", "texture"):
        stored = np.load(shared / "data" / f"leaves_{name}.npz", allow_pickle=False)
        order = np.argsort(stored["y"], kind="stable")
        # one leaf of the first is missing
        tables[name] = stored["X"][order][-1584:]
        y = stored["y"][order][-1584:]
    for kept in ((y >= 40) & (y < 60), y % 5 == 1, y % 5 == 2):
        views = {name: table[kept] for name, table in tables.items()}
        labels = [
            ECM(20, n_init=3, random_state=0).fit(X).labels_
            for X in (*views.values(), np.hstack([*views.values()]))
        ]
        labels.append(WMVEC(20, n_init=3, random_state=0).fit(views).labels_)
        scores.append([adjusted_rand_score(y[kept], each) for each in labels])
    *alone, joined, together = np.mean(scores, axis=0)
    # Measured: 0.81 with all views, 0.76 with the margins alone (best in one of the sets), 0.71
    # joined.
    assert together > max(alone) + 0.02
    assert together > joined + 0.05
