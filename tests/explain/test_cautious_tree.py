"""CautiousTree: splits, pruning and answers compared with loops and enumeration."""

import itertools
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from dempster import CredalPartition, FocalSets, MassFunctions
from dempster._errors import InvalidInputError
from dempster.cluster import ECM, EVCLUS
from dempster.datasets import load_iris
from dempster.explain import CautiousTree, profile
from dempster.explain.cautious_tree import (
    Bins,
    Node,
    add_costs,
    grow,
    mistakes,
    overlaps,
    prune,
    round_between,
)
from dempster.io import read_partition, write_partition


@pytest.fixture(scope="module")
def iris():
    X = load_iris(as_frame=True).data
    return X, EVCLUS(3, n_init=2, random_state=0).fit(X).credal_partition_


@pytest.fixture(scope="module")
def mixed():
    """Three clusters, separated by a color and a number with missing values."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    table = pd.DataFrame(
        {
            "color": np.where(
                y == 0, "red", np.where(rng.random(300) < 0.5, "green", "blue")
            ),
            "size": np.where(y == 2, 5.0, 1.0) + rng.normal(0, 0.3, 300),
            "flag": rng.random(300) < 0.5,
        }
    )
    table.loc[::25, "size"] = np.nan
    table.loc[3::50, "color"] = None
    return table, y


def random_partition(n, c, rng, family=None):
    if family is None:
        family = FocalSets.full(c)
    return CredalPartition(rng.dirichlet(np.full(len(family), 0.3), n), family)


def list_nodes(root):
    return [root] + [node for child in root.children for node in list_nodes(child)]


# ---- mistakes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("caution", [0, 0.3, 0.5, 1])
def test_mistakes_agree_with_the_formula(caution):
    sets = [set(s) for k in range(4) for s in itertools.combinations(range(3), k)]
    rows = np.array([[k in s for k in range(3)] for s in sets])
    table = mistakes(rows, rows, caution)
    for i, a in enumerate(sets):
        for j, b in enumerate(sets):
            if not a or not b:
                expected = float(a != b)
            else:
                expected = caution * len(b - a) / len(b) + (1 - caution) * len(
                    a - b
                ) / len(a)
            assert table[i, j] == pytest.approx(expected)
            if caution == 0.5:
                assert overlaps(rows[[i]], rows[[j]])[0] == pytest.approx(1 - expected)


# ---- growth --------------------------------------------------------------------------------------


def impurity(z):
    return float(((z - z.mean(axis=0)) ** 2).sum())


def find_best_split(values, z, least):
    best = (0.0, None)
    for j in range(values.shape[1]):
        column = values[:, j]
        missing = np.isnan(column)
        for low in np.unique(column[~missing])[:-1]:
            for to_left in (True, False) if missing.any() else (True,):
                left = np.where(missing, to_left, column <= low)
                if min(left.sum(), (~left).sum()) < least:
                    continue
                gain = impurity(z) - impurity(z[left]) - impurity(z[~left])
                if gain > best[0] * (1 + 1e-9):
                    best = (gain, left)
    return best


@pytest.mark.parametrize("share_missing", [0, 0.2])
def test_first_split_agrees_with_loops(share_missing):
    rng = np.random.default_rng(1)
    for _ in range(10):
        values = np.round(rng.normal(size=(40, 3)), 1)
        values[rng.random(values.shape) < share_missing] = np.nan
        z = rng.normal(size=(40, 2))
        root = grow(values, z, max_leaves=2, min_objects=4)
        gain, left = find_best_split(values, z, 4)
        assert root.gain == pytest.approx(gain)
        np.testing.assert_array_equal(
            np.sort(root.children[0].rows), np.flatnonzero(left)
        )


def test_growth_respects_the_limits():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(200, 3))
    z = rng.normal(size=(200, 2))
    root = grow(values, z, max_leaves=9, min_objects=7)
    leaves = [node for node in list_nodes(root) if not node.children]
    assert len(leaves) == 9
    assert min(len(leaf.rows) for leaf in leaves) >= 7
    np.testing.assert_array_equal(
        np.sort(np.concatenate([leaf.rows for leaf in leaves])), np.arange(200)
    )
    for node in list_nodes(root):
        if node.children:
            parts = [node.children[0].rows, node.children[1].rows]
            lowered = impurity(z[node.rows]) - sum(impurity(z[r]) for r in parts)
            assert node.gain == pytest.approx(lowered)


def test_quantiles_of_many_values():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(20_000, 1))
    bins = Bins(values, 5)
    assert 400 < len(bins.thresholds[0]) <= 512
    inside = np.diff(
        np.sort(np.searchsorted(np.sort(values[:, 0]), bins.thresholds[0]))
    )
    assert inside.max() < 100
    z = np.where(values > 0.7, 1.0, 0.0)
    root = grow(values, z, max_leaves=2, min_objects=1)
    assert abs(root.threshold - 0.7) < 0.02


@pytest.mark.parametrize(
    ("low", "high", "middle"),
    [(1.9, 3.0, 2.5), (0, 1, 0.5), (1e12, 1e12 + 1, 1e12 + 0.5), (-3.3, -1.2, -2)],
)
def test_thresholds_are_round(low, high, middle):
    assert round_between(low, high) == pytest.approx(middle, abs=0.11)
    assert low <= round_between(low, high) < high


def test_thresholds_between_adjacent_floats():
    rng = np.random.default_rng(4)
    for low in rng.normal(size=200) * 10.0 ** rng.integers(-200, 200, 200):
        for high in (
            np.nextafter(low, np.inf),
            low + abs(low) * 1e-9,
            low + abs(low),
            low * 1e3 if low > 0 else 0.0,
        ):
            if high > low:
                assert low <= round_between(float(low), float(high)) < high


# ---- pruning -------------------------------------------------------------------------------------


def subtrees(node):
    """Yield the leaves of every pruned tree."""
    yield [node]
    if node.children:
        for left in subtrees(node.children[0]):
            for right in subtrees(node.children[1]):
                yield left + right


def test_pruning_agrees_with_enumeration():
    rng = np.random.default_rng(5)
    for _ in range(5):
        values = rng.normal(size=(60, 2))
        z = rng.normal(size=(60, 1))
        root = grow(values, z, max_leaves=7, min_objects=2)
        for node in list_nodes(root):
            node.cost = float(rng.random() * len(node.rows))
        add_costs(root, 7)
        every = list(subtrees(root))
        for leaves in range(1, 8):
            best = min(
                sum(leaf.cost for leaf in cut) for cut in every if len(cut) <= leaves
            )
            assert root.costs[leaves - 1] == pytest.approx(best)
        prune(root, 4)
        kept = [node for node in list_nodes(root) if not node.children]
        assert len(kept) <= 4
        assert sum(leaf.cost for leaf in kept) == pytest.approx(root.costs[3])


def test_useless_leaves_are_pruned():
    leaves = Node(np.arange(2), cost=0.5), Node(np.arange(2, 4), cost=0.5)
    root = Node(np.arange(4), column=0, children=leaves, cost=1.0)
    add_costs(root, 2)
    prune(root, 2)
    assert root.children == ()


# ---- the estimator -------------------------------------------------------------------------------


def test_attributes_agree_with_predictions(iris):
    X, partition = iris
    tree = CautiousTree(caution=0.4).fit(X, partition)
    leaf = tree.apply(X)
    own = partition.assignment()
    answers = tree.predict_set(X)
    masses = tree.predict_mass(X)
    total = 0.0
    for node in tree.leaves_:
        rows = np.flatnonzero(leaf == node.number)
        assert node.n_objects == len(rows) > 0
        assert node.share == pytest.approx(len(rows) / 150)
        np.testing.assert_allclose(node.mass, partition.masses[rows].mean(axis=0))
        np.testing.assert_allclose(
            masses.masses[rows], np.tile(node.mass, (len(rows), 1))
        )
        assert node.fidelity == pytest.approx(overlaps(answers[rows], own[rows]).mean())
        sets = FocalSets.full(3).membership
        expected = mistakes(
            sets, partition.focal_sets.membership, 0.4
        ) @ partition.masses[rows].sum(axis=0)
        ours = np.zeros(3, dtype=bool)
        ours[list(node.answer)] = True
        chosen = np.flatnonzero((sets == ours).all(axis=1))[0]
        candidates = partition.focal_sets.union(FocalSets.pairs(3)).find(sets) >= 0
        assert expected[chosen] <= expected[candidates].min() + 1e-6
        total += expected[chosen]
    assert total / 150 == pytest.approx(tree.mistakes_by_leaves_[-1])
    assert tree.fidelity_ == pytest.approx(overlaps(answers, own).mean())
    assert tree.scores_["same_set"] == pytest.approx(
        (answers == own).all(axis=1).mean()
    )
    assert tree.scores_["same_label"] == pytest.approx(
        (tree.predict(X) == partition.labels).mean()
    )
    assert tree.scores_["distance"] == pytest.approx(masses.distance(partition).mean())
    assert (np.diff(tree.mistakes_by_leaves_) <= 0).all()


def test_caution_increases_the_sets(iris):
    X, partition = iris
    sizes = [
        CautiousTree(3, caution=caution)
        .fit(X, partition)
        .predict_set(X)
        .sum(axis=1)
        .mean()
        for caution in (0, 0.5, 0.8, 1)
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] == 1 < sizes[-1]


def test_zero_caution():
    family = FocalSets.full(2)
    masses = np.eye(4)[np.repeat([1, 2, 3], 20)]
    X = np.arange(60.0)[:, None]
    tree = CautiousTree(caution=0).fit(X, CredalPartition(masses, family))
    assert [leaf.answer for leaf in tree.leaves_] == [(0,), (1,), (0, 1)]
    half = CautiousTree(1, caution=0).fit(X[:39], CredalPartition(masses[:39], family))
    assert [leaf.answer for leaf in half.leaves_] == [(0,)]


def test_outliers():
    rng = np.random.default_rng(0)
    X = np.r_[
        rng.normal(0, 1, (50, 2)), rng.normal(9, 1, (50, 2)), rng.normal(50, 1, (10, 2))
    ]
    partition = CredalPartition.from_hard(np.repeat([0, 1, -1], [50, 50, 10]))
    tree = CautiousTree().fit(X, partition)
    assert tree.fidelity_ == 1
    assert tree.predict_set(X)[-10:].sum() == 0
    assert "no cluster (outlier): 10 objects" in tree.export_text()


def test_max_leaves(iris):
    X, partition = iris
    trees = [CautiousTree(k).fit(X, partition) for k in range(1, 6)]
    assert [len(tree.leaves_) for tree in trees] == [1, 2, 3, 4, 5]
    mistakes_made = [tree.mistakes_by_leaves_[-1] for tree in trees]
    assert mistakes_made == sorted(mistakes_made, reverse=True)


def test_categories_booleans_and_missing_values(mixed):
    table, y = mixed
    tree = CautiousTree().fit(table, y)
    assert tree.fidelity_ > 0.95
    assert "color is red" in tree.export_text()
    assert "or missing" in tree.export_text()
    as_polars = pl.from_pandas(table)
    np.testing.assert_array_equal(tree.predict(as_polars), tree.predict(table))
    new = table.head(3).assign(color="never seen")
    assert (tree.predict(new) >= 0).all()
    assert CautiousTree().fit(as_polars, y).export_text() == tree.export_text()


def test_missing_values_only_in_predict(iris):
    X, partition = iris
    tree = CautiousTree(3).fit(X, partition)
    leaf = tree.nodes_[0]
    while not leaf.is_leaf:
        leaf = max(
            (tree.nodes_[child] for child in leaf.children),
            key=lambda node: node.n_objects,
        )
    assert (tree.apply(X * np.nan) == leaf.number).all()


def test_names_in_text(iris):
    X, partition = iris
    named = CredalPartition(partition, frame=["round", "small", "large"])
    text = CautiousTree(5).fit(X, named).export_text()
    assert "petal length (cm) <= 2.5\n    small: 50 objects" in text
    assert "round or large" in text
    assert (
        "attribute 3 <= 2.5" in CautiousTree(5).fit(X.to_numpy(), named).export_text()
    )
    table = CautiousTree(5).fit(X, named).to_frame()
    assert table["objects"].sum() == 150
    assert table["rule"].str.contains(" and petal ", regex=False).any()


def test_rules_select_the_objects_of_the_leaves(iris):
    X, partition = iris
    renamed = X.rename(columns=lambda name: name[:-5].replace(" ", "_"))
    tree = CautiousTree(8).fit(renamed, partition)
    leaf = tree.apply(renamed)
    for number, rule in tree.to_frame()["rule"].items():
        assert set(renamed.query(rule).index) == set(np.flatnonzero(leaf == number))


def test_kinds_of_partitions(iris, tmp_path):
    X, partition = iris
    expected = CautiousTree(4).fit(X, partition).export_text()
    model = EVCLUS(3, n_init=2, random_state=0).fit(X)
    assert CautiousTree(4).fit(X, model).export_text() == expected
    assert CautiousTree(4).fit(X, MassFunctions(partition)).export_text() == expected
    write_partition(partition, tmp_path / "flowers.parquet")
    assert (
        CautiousTree(4)
        .fit(X, read_partition(tmp_path / "flowers.parquet"))
        .export_text()
        == expected
    )
    pipeline = make_pipeline(StandardScaler(), ECM(3, random_state=0)).fit(X)
    assert CautiousTree().fit(X, pipeline).fidelity_ > 0.9
    assert CautiousTree().fit(X, partition.labels).fidelity_ > 0.9
    assert make_pipeline(StandardScaler(), CautiousTree(4)).fit(X, partition).predict(
        X
    ).shape == (150,)


def test_rows_are_matched_by_name(iris):
    X, partition = iris
    names = [f"flower {i}" for i in range(150)]
    named = CredalPartition(partition, index=names)
    shuffled = X.set_axis(names).sample(frac=1, random_state=0)
    tree = CautiousTree().fit(shuffled, named)
    assert tree.export_text() == CautiousTree().fit(X, partition).export_text()
    assert list(tree.predict_mass(shuffled).index) == list(shuffled.index)


@pytest.mark.parametrize("n_clusters", [1, 2, 15])
def test_numbers_of_clusters(n_clusters):
    rng = np.random.default_rng(0)
    family = FocalSets.simple(n_clusters, omega=n_clusters > 1)
    partition = random_partition(80, n_clusters, rng, family)
    tree = CautiousTree().fit(rng.normal(size=(80, 3)), partition)
    masses = tree.predict_mass(rng.normal(size=(10, 3)))
    np.testing.assert_allclose(masses.masses.sum(axis=1), 1)
    assert 0 <= tree.fidelity_ <= 1


@pytest.mark.parametrize(
    "X",
    [
        np.zeros((200, 2)),
        np.full((200, 1), np.nan),
        pd.DataFrame({"id": [f"n{i}" for i in range(200)]}),
    ],
)
def test_uninformative_columns(X):
    tree = CautiousTree().fit(X, np.tile([0, 1], 100))
    assert tree.to_frame()["rule"].tolist() == ["always"]
    assert [leaf.answer for leaf in tree.leaves_] == [(0, 1)]


def test_one_object_and_outliers_only():
    assert (
        CautiousTree()
        .fit([[1.0]], [7])
        .export_text()
        .endswith("cluster 7: 1 object, fidelity 1.00")
    )
    outliers = CredalPartition(np.eye(4)[np.zeros(5, dtype=int)], FocalSets.full(2))
    tree = CautiousTree().fit(np.arange(5.0)[:, None], outliers)
    assert (tree.fidelity_, tree.leaves_[0].answer) == (1, ())


def test_scikit_learn_checks():
    results = check_estimator(CautiousTree(), on_fail=None)
    assert not [
        result["check_name"] for result in results if result["status"] == "failed"
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [("max_leaves", 0), ("caution", 1.5)],
)
def test_invalid_parameters(name, value):
    with pytest.raises(InvalidInputError, match=f"^{name} must"):
        CautiousTree(**{name: value}).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[0.0], [1.0]], [0, 1, 1], "^X must"),
        ([0.0, 1.0], [0, 1], "^X must"),
        ([[0.0], [np.inf]], [0, 1], "'attribute 1'"),
        ([[0.0], [1.0]], [[0, 1], [1, 0]], "^y must"),
        ([[0.0], [1.0]], None, "requires y to be passed"),
        (pd.DataFrame([[0, 1], [1, 0]], columns=["a", "a"]), [0, 1], "^X must"),
    ],
)
def test_invalid_tables(X, y, message):
    with pytest.raises(InvalidInputError, match=message):
        CautiousTree().fit(X, y)


def test_invalid_column_types(mixed):
    table, y = mixed
    tree = CautiousTree().fit(table, y)
    with pytest.raises(InvalidInputError, match="'size'"):
        tree.predict(table.assign(size="large"))
    with pytest.raises(InvalidInputError, match="'day'"):
        CautiousTree().fit(table.assign(day=pd.Timestamp("2020-01-01")), y)


def test_thresholds_are_printed_exactly():
    y = np.repeat([0, 1, 2], 10)
    X = 1e9 + np.arange(30.0)[:, None] / 1000
    table = CautiousTree(3).fit(X, y).to_frame()
    low, high = sorted(
        float(word) for word in re.findall(r"[0-9.]{9,}", table["rule"].iloc[1])
    )
    assert X[9] <= low < X[10] < X[19] <= high < X[20]
    rule = profile(y, X).discriminating_features(0, 1)["rule"].iloc[0]
    assert X[9] <= float(re.search(r"[0-9.]{9,}", rule)[0]) < X[10]
