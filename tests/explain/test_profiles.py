"""Profiles of clusters compared with SciPy and with loops."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dempster import CredalPartition, FocalSets
from dempster._errors import InvalidInputError
from dempster.cluster import ECM, EVCLUS
from dempster.datasets import load_iris
from dempster.explain import Profile, comparisons, profile
from dempster.explain.profiles import find_groups
from dempster.io import read_partition, write_partition


@pytest.fixture(scope="module")
def iris():
    X = load_iris(as_frame=True).data
    return X, EVCLUS(3, n_init=2, random_state=0).fit(X).credal_partition_


@pytest.fixture(scope="module")
def mixed(iris):
    """Iris with columns of every kind and missing values."""
    X, partition = iris
    rng = np.random.default_rng(0)
    table = X.copy()
    table["species"] = np.array(["setosa", "versicolor", "virginica"])[
        load_iris().target
    ]
    table["tall"] = X.iloc[:, 0] > 5.8
    table["picked"] = pd.Timestamp("2020-03-01") + pd.to_timedelta(
        np.arange(150.0), unit="D"
    )
    table["coin"] = rng.choice(["heads", "tails"], 150)
    table.loc[::10, "sepal width (cm)"] = np.nan
    table.loc[5::20, "species"] = None
    table.loc[7::30, "picked"] = pd.NaT
    return table, partition


def random_partition(n, c, seed=0, sharpness=0.1):
    family = FocalSets.full(c)
    return CredalPartition(
        np.random.default_rng(seed).dirichlet(np.full(len(family), sharpness), n),
        family,
    )


def column(result, statistic, label):
    place = [feature.label for feature in result.features].index(label)
    return result.statistics[statistic][:, place]


# ---- groups --------------------------------------------------------------------------------------


def test_groups_follow_the_decision_rule():
    partition = random_partition(200, 4)
    answers = partition.assignment(keep_outliers=False)
    groups = find_groups(partition)
    assert [group.clusters for group in groups[:4]] == [(0,), (1,), (2,), (3,)]
    np.testing.assert_array_equal(
        np.sort(np.concatenate([group.rows for group in groups])), np.arange(200)
    )
    for group in groups:
        expected = np.zeros(4, dtype=bool)
        expected[list(group.clusters)] = True
        assert (answers[group.rows] == expected).all()
        if group.is_cluster:
            assert group.n_possible == answers[:, group.clusters[0]].sum()
    sizes = [len(group) for group in groups if len(group.clusters) > 1]
    assert sizes == sorted(sizes, reverse=True)


def test_group_names(iris):
    X, partition = iris
    named = CredalPartition(partition, frame=["round", "small", "large"])
    expected = ["round", "small", "large", "between round and large", "outliers"]
    assert profile(named, X).to_frame().index.tolist() == expected
    many = CredalPartition.from_rough(
        np.eye(12, dtype=bool)[np.arange(20) % 12] | (np.arange(20) > 15)[:, None]
    )
    names = profile(many, np.arange(20.0)[:, None]).to_frame().index
    assert names[-1] == "between all 12 clusters"
    assert names.is_unique


def test_typical_objects_have_the_largest_mass(iris):
    X, partition = iris
    names = [f"flower {i}" for i in range(150)]
    result = profile(CredalPartition(partition, index=names), X.set_axis(names))
    for group in result.groups:
        mass = partition.mass(group.clusters)
        typical = [names.index(name) for name in group.typical]
        assert len(typical) == min(3, len(group))
        assert mass[typical].min() >= np.sort(mass[group.rows])[-len(typical)] - 1e-6
    sure = profile(
        np.repeat([0, 1], 5),
        np.array([0, 1, 2, 3, 9, 9, 5, 6, 7, 8.0])[:, None],
    )
    # nearest to the mean
    assert [group.typical[0] for group in sure.groups] == [3, 8]


# ---- statistics ----------------------------------------------------------------------------------


def naive(x, w):
    """Return the statistics of one group by loops over objects."""
    present = ~np.isnan(x)
    x = x[present]
    w = w[present]
    rest = 1 - w
    mean = (w @ x) / w.sum()
    other = (rest @ x) / rest.sum()
    variance = w @ (x - mean) ** 2 / (w.sum() - 1)
    rest_variance = rest @ (x - other) ** 2 / (rest.sum() - 1)
    wins = sum(
        w[i] * rest[j] * np.sign(x[i] - x[j])
        for i in range(len(x))
        for j in range(len(x))
    )
    return {
        "mean": mean,
        "std": np.sqrt(variance),
        "rest": other,
        "rest_std": np.sqrt(rest_variance),
        "delta": wins / (w.sum() * rest.sum()),
        "present": w.sum(),
    }


def test_statistics_agree_with_loops():
    rng = np.random.default_rng(1)
    partition = random_partition(60, 2, sharpness=1)
    X = np.column_stack([1e6 + np.round(rng.normal(size=60), 1), rng.normal(size=60)])
    X[::7, 1] = np.nan
    result = profile(partition, X)
    for g, group in enumerate(result.groups):
        if len(group) < 2:
            continue
        share = np.isin(np.arange(60), group.rows).astype(float)
        for q in range(2):
            for name, value in naive(X[:, q], share).items():
                assert result.statistics[name][g, q] == pytest.approx(
                    value, rel=1e-6
                ), name


def test_quartiles_agree_with_numpy():
    rng = np.random.default_rng(2)
    partition = random_partition(80, 3)
    X = np.round(rng.normal(size=(80, 1)), 1)
    result = profile(partition, X)
    for g, group in enumerate(result.groups):
        if len(group):
            expected = np.quantile(X[group.rows, 0], [0.25, 0.5, 0.75], method="hazen")
            np.testing.assert_allclose(
                [result.statistics[n][g, 0] for n in ("q25", "median", "q75")],
                expected,
                atol=1e-12,
            )


def test_shares_of_categories_and_missing_values(mixed):
    table, partition = mixed
    result = profile(partition, table)
    for g, group in enumerate(result.groups):
        cells = table["species"].iloc[group.rows]
        rest = table["species"].drop(index=group.rows)
        assert column(result, "missing", "species = setosa")[g] == cells.isna().sum()
        if cells.notna().any():
            share = (cells.dropna() == "setosa").mean()
            assert column(result, "mean", "species = setosa")[g] == pytest.approx(share)
            assert column(result, "delta", "species = setosa")[g] == pytest.approx(
                share - (rest.dropna() == "setosa").mean()
            )
        tall = table["tall"].iloc[group.rows]
        assert column(result, "mean", "tall")[g] == pytest.approx(tall.mean())
    assert result.attributes.loc["species", "missing"] == table["species"].isna().sum()
    labels = [feature.label for feature in result.features]
    assert labels.count("tall") == 1
    expected = [f"species = {name}" for name in ("setosa", "versicolor", "virginica")]
    assert [label for label in labels if label.startswith("species")] == expected


def test_dates(mixed):
    table, partition = mixed
    result = profile(partition, table[["picked"]])
    means = result.to_frame()["picked"]
    for g, group in enumerate(result.groups):
        assert abs(
            means.iloc[g] - table["picked"].iloc[group.rows].mean()
        ) < pd.Timedelta("1s")
    assert "picked: 2020-03-2" in result.to_text()
    aware = table[["picked"]].apply(lambda c: c.dt.tz_localize("Asia/Tokyo"))
    np.testing.assert_allclose(
        profile(partition, aware).statistics["mean"], result.statistics["mean"]
    )


def test_rare_categories_are_merged(iris, monkeypatch):
    _, partition = iris
    table = pd.DataFrame(
        {
            "id": [f"n{i}" for i in range(150)],
            "word": ["a"] * 100 + ["b"] * 45 + list("cdefg"),
        }
    )
    monkeypatch.setattr(comparisons, "MAX_CATEGORIES", 4)
    result = profile(partition, table)
    labels = [feature.label for feature in result.features]
    assert labels[4:] == ["word = a", "word = b", "word = c", "word = other (4)"]
    assert labels[3] == "id = other (147)"
    total = sum(column(result, "mean", label) for label in labels[4:])
    np.testing.assert_allclose(total, 1)


# ---- tests ---------------------------------------------------------------------------------------


def test_p_values_agree_with_scipy(mixed):
    table, partition = mixed
    result = profile(partition, table)
    for g, group in enumerate(result.groups):
        inside = np.isin(np.arange(150), group.rows)
        for name in ("petal length (cm)", "sepal width (cm)"):
            a, b = (table.loc[rows, name].dropna() for rows in (inside, ~inside))
            expected = stats.mannwhitneyu(a, b, method="asymptotic").pvalue
            assert column(result, "p", name)[g] == pytest.approx(expected)
        known = table["coin"].notna().to_numpy()
        counts = pd.crosstab(inside[known], table["coin"][known] == "heads").to_numpy()
        expected = stats.chi2_contingency(counts, correction=False)
        if expected.expected_freq.min() >= 5:
            p = expected.pvalue
        else:
            p = stats.fisher_exact(counts).pvalue
        assert column(result, "p", "coin = heads")[g] == pytest.approx(p)


def test_exact_test_for_few_objects():
    X = np.random.default_rng(3).normal(size=(12, 1))
    labels = np.repeat([0, 1], [4, 8])
    expected = stats.mannwhitneyu(X[:4, 0], X[4:, 0], method="exact").pvalue
    np.testing.assert_allclose(profile(labels, X).statistics["p"][:, 0], expected)


def test_tests_of_all_groups_agree_with_scipy(mixed):
    table, partition = mixed
    result = profile(partition, table)
    samples = [
        table["sepal width (cm)"].iloc[group.rows].dropna() for group in result.groups
    ]
    expected = stats.kruskal(*[sample for sample in samples if len(sample)])
    assert result.attributes.loc["sepal width (cm)", "p"] == pytest.approx(
        expected.pvalue
    )
    codes = np.concatenate(
        [np.full(len(group), g) for g, group in enumerate(result.groups)]
    )
    rows = np.concatenate([group.rows for group in result.groups])
    counts = pd.crosstab(codes, table["species"].iloc[rows].to_numpy())
    assert result.attributes.loc["species", "p"] == pytest.approx(
        stats.chi2_contingency(counts, correction=False).pvalue
    )
    assert result.attributes.loc["species", "effect"] == pytest.approx(
        stats.contingency.association(counts.to_numpy(), method="cramer")
    )


def test_p_values_are_adjusted(iris):
    X, partition = iris
    result = profile(partition, X)
    expected = stats.false_discovery_control(result.statistics["p"].ravel())
    np.testing.assert_allclose(result.statistics["p_adjusted"].ravel(), expected)
    assert (result.attributes["p_adjusted"] >= result.attributes["p"]).all()


# ---- discriminating features ---------------------------------------------------------------------


def test_best_threshold_agrees_with_loops():
    rng = np.random.default_rng(5)
    X = np.round(rng.normal(size=(40, 1)) + np.repeat([0, 1], [15, 25])[:, None], 1)
    labels = np.repeat(["low", "high"], [15, 25])
    row = profile(labels, X).discriminating_features("low", "high").iloc[0]
    a = X[:15, 0]
    b = X[15:, 0]
    best = max(abs((a <= t).mean() - (b <= t).mean()) for t in X[:, 0])
    assert row["separation"] == pytest.approx(best)
    assert abs(
        (a <= row["threshold"]).mean() - (b <= row["threshold"]).mean()
    ) == pytest.approx(best)
    assert row["separation"] == pytest.approx(stats.ks_2samp(a, b).statistic)
    assert row["delta"] == pytest.approx(np.sign(a[:, None] - b).mean())
    assert row["p"] == pytest.approx(
        stats.mannwhitneyu(a, b, method="asymptotic").pvalue
    )
    assert row["rule"].startswith("low if attribute 1 <= ")


def test_discriminating_features(mixed):
    table, partition = mixed
    result = profile(partition, table).discriminating_features(0, 1)
    assert result["separation"].dropna().is_monotonic_decreasing
    assert (
        result.loc["petal length (cm)", "rule"]
        == "cluster 1 if petal length (cm) <= 2.5, otherwise cluster 0"
    )
    assert result.loc["species", "rule"].startswith(
        "cluster 0 if species is versicolor"
    )
    assert result.index[-1] == "coin"
    mirrored = profile(partition, table).discriminating_features(1, 0)
    np.testing.assert_allclose(
        mirrored.loc[result.index, "separation"], result["separation"]
    )
    np.testing.assert_allclose(mirrored.loc[result.index, "delta"], -result["delta"])


def test_discriminating_features_of_ambiguous_groups(iris):
    X, partition = iris
    result = profile(partition, X)
    assert (
        result.discriminating_features("between 0 and 2", "cluster 1")[
            "separation"
        ].iloc[0]
        == 1
    )
    for name in ("cluster 9", "cluster 0"):  # unknown, and the same cluster
        with pytest.raises(ValueError, match="^second must"):
            result.discriminating_features(0, name)


def test_empty_cluster():
    masses = np.eye(4)[[1, 1, 3, 0]]  # first, first, between, outlier
    result = profile(
        CredalPartition(masses, FocalSets.full(2)), [[0.0], [1.0], [2.0], [9.0]]
    )
    assert result.to_frame()["objects"].tolist() == [2, 0, 1, 1]
    assert result.to_frame()["possible"].tolist()[:2] == [3, 1]
    assert "cluster 1: no certain object, 1 more possible" in result.to_text()
    with pytest.raises(ValueError, match="'cluster 1'"):
        result.discriminating_features(0, 1)


# ---- which columns were clustered ----------------------------------------------------------------


def test_clustered_columns(iris):
    X, partition = iris
    table = X.assign(other=1.0)
    model = ECM(3, random_state=0).fit(X)
    assert profile(model, table).attributes["clustered"].tolist() == [True] * 4 + [
        False
    ]
    assert (
        profile(model.credal_partition_, table).attributes["clustered"].tolist()
        == [None] * 5
    )
    assert profile(partition, table, clustered=["other"]).attributes[
        "clustered"
    ].tolist() == [False] * 4 + [True]
    assert (
        profile(partition, table, clustered=False).attributes["clustered"].tolist()
        == [False] * 5
    )
    pipeline = make_pipeline(StandardScaler(), ECM(3, random_state=0)).fit(X)
    assert profile(pipeline, table).attributes["clustered"].tolist() == [True] * 4 + [
        False
    ]


def test_note_on_double_dipping(iris):
    X, partition = iris
    assert "double dipping" in profile(partition, X, clustered=True).to_text()
    assert "it is not known which attributes" in profile(partition, X).to_text()
    assert "p-values of" not in profile(partition, X, clustered=False).to_text()


# ---- tables, text, files -------------------------------------------------------------------------


def test_to_frame(mixed):
    table, partition = mixed
    result = profile(partition, table)
    assert len(result) == len(result.to_frame()) == 5
    wide = result.to_frame("delta")
    assert list(wide.columns[:3]) == ["objects", "possible", "typical"]
    assert list(wide.columns[3:]) == [feature.label for feature in result.features]
    with pytest.raises(ValueError, match="^statistic must"):
        result.to_frame("mode")


def test_to_text(iris):
    X, partition = iris
    text = profile(partition, X).to_text()
    assert "cluster 1: 50 objects; typical: " in text
    assert (
        "petal length (cm): 1.462 ± 0.17, rest 4.906 ± 0.83; lower in 100% of pairs (p < 0.001)"
        in text
    )
    assert "narrower range" in text
    assert repr(profile(partition, X)) == text
    assert len(profile(partition, X).to_text(1).splitlines()) < len(text.splitlines())
    with pytest.raises(ValueError, match="^n_features must"):
        profile(partition, X).to_text(-1)


def test_rows_are_matched_by_name(iris, tmp_path):
    X, partition = iris
    names = [f"flower {i}" for i in range(150)]
    write_partition(CredalPartition(partition, index=names), tmp_path / "flowers.csv")
    shuffled = X.set_axis(names).sample(frac=1, random_state=0)
    result = profile(read_partition(tmp_path / "flowers.csv"), shuffled)
    expected = profile(partition, X)
    for name, values in expected.statistics.items():
        np.testing.assert_allclose(result.statistics[name], values, atol=1e-9)
    assert [names.index(name) for name in result.groups[0].typical] == expected.groups[
        0
    ].typical
    with pytest.raises(ValueError, match="names"):
        profile(
            CredalPartition(partition, index=names),
            X.set_axis([f"x{i}" for i in range(150)]),
        )


def test_polars_lists_and_series(mixed):
    table, partition = mixed
    expected = profile(partition, table)
    result = profile(partition, pl.from_pandas(table))
    for name, values in expected.statistics.items():
        np.testing.assert_allclose(result.statistics[name], values, atol=1e-9)
    lists = profile(partition, table.iloc[:, :4].to_numpy().tolist())
    np.testing.assert_allclose(
        lists.statistics["delta"], expected.statistics["delta"][:, :4]
    )
    assert lists.features[0].label == "attribute 1"
    series = profile(partition, table["petal length (cm)"])
    assert [feature.label for feature in series.features] == ["petal length (cm)"]


@pytest.mark.parametrize(
    ("X", "partition"),
    [
        (np.zeros((6, 2)), [0, 1, 0, 1, 0, 1]),
        (np.full((6, 1), np.nan), [0, 1, 0, 1, 0, 1]),
        (np.arange(6.0)[:, None], [3] * 6),
        ([[5.0]], [1]),
        (
            np.arange(6.0)[:, None],
            CredalPartition(np.eye(4)[np.zeros(6, dtype=int)], FocalSets.full(2)),
        ),
        (np.arange(6.0)[:, None] * 1e300, [0, 1, 0, 1, 0, 1]),
        (pd.DataFrame({"a": [None] * 6, "b": [True, None] * 3}), [0, 1, 0, 1, 0, 0]),
    ],
    ids=[
        "constant",
        "nothing",
        "one cluster",
        "one object",
        "only outliers",
        "huge",
        "empty cells",
    ],
)
def test_degenerate_data(X, partition):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = profile(partition, X)
        assert isinstance(result, Profile)
        assert result.to_text()
        assert len(result.to_frame()) >= 1
        assert not np.isinf(result.statistics["mean"]).any()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("clustered", ["z"]),
        ("clustered", 3),
        ("X", [[0.0]]),
        ("X", np.zeros((0, 2))),
    ],
)
def test_invalid_arguments(name, value):
    with pytest.raises(InvalidInputError, match=f"^{name} "):
        profile([0, 1], **{"X": [[0.0], [1.0]], name: value})


def test_infinite_values():
    with pytest.raises(InvalidInputError, match="'attribute 1'"):
        profile([0, 1], [[0.0], [np.inf]])
