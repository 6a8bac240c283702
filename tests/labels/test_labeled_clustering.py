"""`doubt` as a clusterer and transformer of scikit-learn."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dempster import doubt
from dempster._errors import InvalidParameterError
from dempster.labels import LabeledClustering
from dempster.persistence import load, save
from tests.labels.test_doubt import groups

X, Y = groups(40, apart=5.0)
NAMES = np.array(["x", "y", "z"])[Y]


@pytest.fixture(scope="module")
def model():
    return LabeledClustering(random_state=0).fit(X, NAMES)


def test_masses_are_those_of_doubt(model):
    expected = doubt(X, NAMES, random_state=0)
    partition = model.credal_partition_
    np.testing.assert_array_equal(partition.masses, expected.masses)
    assert partition.frame == ("x", "y", "z")
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    new = X[:5] + 0.1
    np.testing.assert_array_equal(
        model.transform(new), expected.predict_mass(new).masses
    )
    np.testing.assert_array_equal(
        model.predict_proba(new), expected.predict_mass(new).pignistic()
    )
    assert set(model.predict(new)) <= {0, 1, 2}
    assert (model.n_clusters_, model.n_features_in_) == (3, X.shape[1])


def test_a_clusterer_in_a_pipeline():
    step = LabeledClustering(KMeans(3, random_state=0), random_state=0)
    chain = make_pipeline(StandardScaler(), step, LogisticRegression())
    assert chain.fit(X, Y).score(X, Y) > 0.9
    assert chain[-2].credal_partition_.frame == (0, 1, 2)
    table = clone(step).set_output(transform="pandas").fit_transform(pd.DataFrame(X))
    assert list(table.columns[:3]) == ["mass ∅", "mass {0}", "mass {1}"]


def test_saved_models_predict_the_same(model, tmp_path):
    save(model, tmp_path / "labels.dempster")
    loaded = load(tmp_path / "labels.dempster")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(
        loaded.credal_partition_.masses, model.credal_partition_.masses
    )


def test_nodes_of_a_graph():
    graph = nx.karate_club_graph()
    clubs = [graph.nodes[node]["club"] for node in graph]
    model = LabeledClustering().fit(graph, clubs)
    assert set(model.labels_) == {0, 1}
    assert model.n_features_in_ == 34


def test_errors_leave_the_estimator_unchanged(model):
    with pytest.raises(InvalidParameterError, match="y must contain the labels"):
        LabeledClustering().fit(X)
    with pytest.raises(InvalidParameterError, match="clusterer must be .*an estimator"):
        LabeledClustering("k-means").fit(X)
    before = model.credal_partition_
    with pytest.raises(ValueError, match="one label for each"):
        model.fit(X, NAMES[:-1])
    assert model.credal_partition_ is before
