"""The judge of partitions is learned from generated data (benchmarks/choice)."""

from unittest.mock import patch

import numpy as np
import pytest
from benchmarks.choice import learn as learning
from benchmarks.choice.generate import draw
from benchmarks.choice.tables import make_table
from scipy.stats import spearmanr
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

from dempster.cluster.choice.judge import load_judge
from dempster.cluster.choice.measures import NAMES

N_TABLES = 24
FIRST_SEED = 1_000_000
FEW = {"max_iter": 10, "max_leaf_nodes": 8}


@pytest.fixture(scope="module")
def tables():
    """Return the candidates of random data sets of 200 to 450 rows, which are new to the judge."""
    found = []
    seed = FIRST_SEED
    while len(found) < N_TABLES:
        kind, X, y = draw(seed)
        if 200 <= len(X) <= 450:
            found.append(make_table(f"{kind}-{seed}", X, [y]))
        seed += 1
    return found


def test_learning_is_reproducible(tables):
    with (
        patch.dict(learning.AGREEMENT, FEW),
        patch.dict(learning.RIGHT_NUMBER, FEW),
        patch.object(learning, "_LEFT_OUT", 2),
    ):
        first, second = (learning.learn(tables).arrays for _ in range(2))
    assert set(first) == set(load_judge().arrays) == set(second)
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name])


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (HistGradientBoostingRegressor, "predict"),
        (HistGradientBoostingClassifier, "decision_function"),
    ],
)
def test_exported_trees_predict_like_scikit_learn(tables, model, method):
    measures = np.concatenate([table.measures for table in tables])
    is_good = np.concatenate([table.agreement for table in tables]) > 0.5
    fitted = model(**FEW, random_state=0).fit(measures, is_good.astype(int))
    # Thresholds are stored with single precision; no measure is equal to a threshold.
    noise = np.random.default_rng(0).normal(0, 0.01, measures.shape)
    expected = getattr(fitted, method)(measures + noise)
    found = learning.export_trees(fitted).predict(measures + noise)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_judge_orders_candidates_by_their_agreement(tables):
    trees = load_judge().agreement
    silhouette = NAMES.index("silhouette")
    judged = []
    by_silhouette = []
    for table in tables:
        predicted = trees.predict(table.measures)
        judged.append(spearmanr(predicted, table.agreement)[0])
        values = table.measures[:, silhouette]
        by_silhouette.append(spearmanr(values, table.agreement)[0])
    assert np.mean(judged) > 0.7
    assert np.mean(judged) > np.mean(by_silhouette) + 0.2
