"""Display of the candidates of CredalClustering."""

import numpy as np
import pandas as pd
import pytest

from dempster.cluster import CredalClustering
from dempster.persistence import load, save
from dempster.plot import CandidatesDisplay
from dempster.plot.number_of_clusters import match_labels

rng = np.random.default_rng(0)
Y = np.repeat([0, 1, 2], 20)
X = np.array([[0.0, 0, 0], [6, 0, 3], [0, 7, -3]])[Y] + rng.normal(size=(60, 3))


def test_labels_are_matched():
    reference = np.array([0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(
        match_labels(np.array([2, 2, 0, 0, 1, 0]), reference), [0, 0, 1, 1, 2, 1]
    )
    assert match_labels(np.array([1, 1, 2, 2, 3, 0]), reference).tolist()[:4] == [
        0,
        0,
        1,
        1,
    ]


@pytest.mark.parametrize("metric", ["euclidean", "precomputed"])
def test_candidates(metric, tmp_path):
    D = np.linalg.norm(X[:, None] - X, axis=2)
    model = CredalClustering(3, metric=metric, random_state=0).fit(
        X if metric == "euclidean" else D
    )
    table = model.candidates_
    assert model.candidate_labels_.shape == (len(table), len(X))
    table = table[table["n_clusters"] == 3]
    # Classical scaling of Euclidean distances gives the principal components.
    variances = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:2] ** 2
    found = model.candidate_points_.T @ model.candidate_points_
    np.testing.assert_allclose(
        found / found[0, 0], np.diag(variances) / variances[0], atol=1e-8
    )
    display = CandidatesDisplay.from_estimator(model)
    assert len(display.axes_) == len(table)
    assert display.selected.tolist() == table["selected"].tolist()
    assert all(
        method in name
        for method, name in zip(table["method"], display.names, strict=True)
    )
    save(model, tmp_path / "model.dempster")
    again = CandidatesDisplay.from_estimator(load(tmp_path / "model.dempster"))
    np.testing.assert_array_equal(again.labels, display.labels)
    np.testing.assert_array_equal(again.points, display.points)


def test_candidates_of_two_attributes():
    table = pd.DataFrame(X[:, :2], columns=["u", "v"])
    model = CredalClustering(3, shape="compact", random_state=0).fit(table)
    display = CandidatesDisplay.from_estimator(model)
    assert display.axis_names == ("u", "v")
    np.testing.assert_array_equal(
        np.unique(display.points, axis=0), np.unique(X[:, :2], axis=0)
    )
