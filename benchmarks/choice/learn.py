"""Learn the judge of partitions from generated data.

    python -m benchmarks.choice.learn OUTPUT.npz [--sets 15000] [--jobs 16] [--seconds 1500]

Random data sets are generated (`benchmarks.choice.generate`), all their candidates are measured
(`benchmarks.choice.tables`), and the trees are learned with scikit-learn's gradient boosting. A
tenth of the sets is left out and used for the calibration.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence
from multiprocessing import Pool

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.isotonic import IsotonicRegression

from benchmarks.choice.generate import draw
from benchmarks.choice.tables import Table, make_table
from dempster.cluster.choice.judge import Judge, Trees

AGREEMENT = {"learning_rate": 0.08, "max_iter": 250, "max_leaf_nodes": 63}
RIGHT_NUMBER = {"learning_rate": 0.1, "max_iter": 150, "max_leaf_nodes": 20}
COMMON = {"min_samples_leaf": 200, "l2_regularization": 5.0}
# weight of the single cluster as a candidate; all others of a set have weight 1 together
_WEIGHT_OF_ONE = 0.1
_WEIGHT_OF_SINGLE = (
    0.6  # weight of a set that is one cluster; two clusters have weight 1
)
_LEFT_OUT = 10  # Every tenth set is left out.
_N_KNOTS = 12


def learn(tables: Sequence[Table], columns: Sequence[int] | None = None) -> Judge:
    """Learn the trees, and calibrate them on the tables that are left out."""
    used = [table for place, table in enumerate(tables) if place % _LEFT_OUT]
    left_out = tables[::_LEFT_OUT]
    measures = np.concatenate([table.measures for table in used])
    weights = np.concatenate([_weights(table) for table in used])
    agreement = np.concatenate([table.agreement for table in used])
    is_right = np.concatenate([_is_right(table) for table in used])
    regressor = HistGradientBoostingRegressor(**AGREEMENT, **COMMON, random_state=0)
    regressor.fit(measures, agreement, weights)
    classifier = HistGradientBoostingClassifier(
        **RIGHT_NUMBER, **COMMON, random_state=0
    )
    classifier.fit(measures, is_right, weights)
    trees = export_trees(regressor)
    knots, means, lows = _calibrate(trees, left_out)
    return Judge(trees, export_trees(classifier), knots, means, lows)


def _weights(table: Table) -> np.ndarray:
    """Return the weights of the candidates; a set of few clusters has a larger weight.

    Tables of users have fewer clusters than the generated ones.
    """
    number = min(table.true_numbers)
    weight = _WEIGHT_OF_SINGLE if number == 1 else np.sqrt(2 / number)
    return weight * np.where(
        table.n_clusters == 1, _WEIGHT_OF_ONE, 1 / len(table.agreement)
    )


def _is_right(table: Table) -> np.ndarray:
    return np.isin(table.n_clusters, table.true_numbers)


def export_trees(
    model: HistGradientBoostingRegressor | HistGradientBoostingClassifier,
) -> Trees:
    """Return the trees of a fitted model as arrays."""
    roots = []
    measure = []
    threshold = []
    child = []
    for [predictor] in model._predictors:
        nodes = predictor.nodes
        roots.append(len(measure))
        # Both children of a node get adjacent places.
        queue = [0]
        measure.append(0)
        threshold.append(0.0)
        child.append(0)
        places = {0: roots[-1]}
        for node in queue:
            one = nodes[node]
            place = places[node]
            if one["is_leaf"]:
                measure[place] = -1
                threshold[place] = float(one["value"])
                continue
            measure[place] = int(one["feature_idx"])
            threshold[place] = float(one["num_threshold"])
            child[place] = len(measure)
            for following in (one["left"], one["right"]):
                places[int(following)] = len(measure)
                queue.append(int(following))
                measure.append(0)
                threshold.append(0.0)
                child.append(0)
    return Trees(
        float(np.ravel(model._baseline_prediction)[0]),
        np.array(roots, np.int32),
        np.array(measure, np.int8),
        np.array(threshold, np.float32),
        np.array(child, np.uint16 if len(measure) < 2**16 else np.int32),
    )


def _calibrate(
    trees: Trees, tables: Sequence[Table]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compare the predictions for the chosen candidates with what they reached."""
    predicted = []
    reached = []
    for table in tables:
        values = trees.predict(table.measures)
        best = int(values.argmax())
        predicted.append(values[best])
        reached.append(table.agreement[best])
    order = np.argsort(predicted)
    groups = np.array_split(order, _N_KNOTS)
    predicted = np.array(predicted)
    reached = np.array(reached)
    knots = np.array([predicted[group].mean() for group in groups])
    means = np.array([reached[group].mean() for group in groups])
    lows = np.array([np.quantile(reached[group], 0.1) for group in groups])
    monotone = IsotonicRegression()
    # Candidates that are predicted to be as bad as no candidate are as bad.
    knots = np.append(min(0.0, knots[0] - 1e-3), knots)
    means = np.append(0.0, monotone.fit_transform(np.arange(_N_KNOTS), means))
    lows = np.append(0.0, monotone.fit_transform(np.arange(_N_KNOTS), lows))
    return knots, means, lows


def _make(seed: int) -> Table | None:
    kind, X, y = draw(seed)
    if len(X) < 12:
        return None
    return make_table(f"{kind}-{seed}", X, [y], int(kind == "many" and seed % 2))


def make_tables(n_sets: int, n_jobs: int, seconds: float) -> list[Table]:
    """Generate data sets until there are enough or the time is over."""
    began = time.monotonic()
    tables = []
    with Pool(n_jobs) as pool:
        for table in pool.imap_unordered(_make, range(n_sets)):
            if table is not None:
                tables.append(table)
            if time.monotonic() - began > seconds:
                pool.terminate()
                break
    return sorted(tables, key=lambda table: int(table.name.split("-")[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output")
    parser.add_argument("--sets", type=int, default=15_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=1500)
    options = parser.parse_args()
    tables = make_tables(options.sets, options.jobs, options.seconds)
    print(f"{len(tables)} data sets")
    judge = learn(tables)
    np.savez_compressed(options.output, **judge.arrays)


if __name__ == "__main__":
    main()
