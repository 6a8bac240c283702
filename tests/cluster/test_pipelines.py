"""Clusterers as steps of scikit-learn's pipelines: their masses are features of other estimators."""

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import StandardScaler

from dempster.cluster import ECM, EGMM

X, Y = load_iris(return_X_y=True)
TABLE = pd.DataFrame(X, columns=list("abcd"), index=[f"iris {i}" for i in range(150)])
NAMES = [
    "mass ∅",
    "mass {0}",
    "mass {1}",
    "mass {2}",
    "mass {0, 1}",
    "mass {0, 2}",
    "mass {1, 2}",
    "mass Ω",
]


def make_ecm():
    return ECM(3, focal_sets="full", n_init=1, random_state=0)


def test_middle_of_a_pipeline():
    chain = make_pipeline(
        StandardScaler(copy=False),
        make_ecm(),
        StandardScaler(copy=False),
        LogisticRegression(),
    )
    assert chain.fit(TABLE.copy(), Y).score(TABLE.copy(), Y) > 0.8
    assert list(chain[:-1].get_feature_names_out()) == NAMES


def test_fit_transform_returns_the_masses_of_fit():
    model = make_ecm().set_output(transform="pandas")
    masses = model.fit_transform(TABLE, sample_weight=np.arange(150))
    np.testing.assert_array_equal(masses, model.credal_partition_.masses)
    assert list(masses.columns) == NAMES
    assert list(masses.index) == list(TABLE.index)


def test_beside_other_transformers():
    united = FeatureUnion(
        [("ecm", make_ecm()), ("scaled", StandardScaler())]
    ).set_output(transform="pandas")
    assert list(united.fit_transform(TABLE).columns) == [
        f"ecm__{name}" for name in NAMES
    ] + [f"scaled__{name}" for name in "abcd"]
    columns = make_column_transformer(
        (make_ecm(), ["a", "b"]), (make_ecm().set_params(n_clusters=2), ["c", "d"])
    )
    found = columns.set_output(transform="polars").fit_transform(TABLE)
    assert found.columns[0] == "ecm-1__mass ∅"
    assert found.shape == (150, 8 + 4)


def test_stacking():
    members = [
        ("masses", make_pipeline(make_ecm(), LogisticRegression())),
        ("linear", LogisticRegression()),
    ]
    scaled = StandardScaler().fit_transform(X)
    assert StackingClassifier(members, cv=2).fit(scaled, Y).score(scaled, Y) > 0.9


def test_grid_search_by_the_likelihood():
    search = GridSearchCV(
        EGMM(random_state=0, n_init=1), {"n_clusters": [1, 3]}, cv=2
    ).fit(np.random.default_rng(0).permutation(X))
    assert search.best_params_ == {"n_clusters": 3}
    assert search.transform(X).shape == (150, len(search.best_estimator_.focal_sets_))


def test_html_shows_the_partition_below_the_diagram():
    model = make_ecm()
    assert (
        "typical object"
        not in model._repr_html_() + model._repr_mimebundle_()["text/html"]
    )
    table = model.fit(TABLE).credal_partition_._repr_html_()
    assert "typical object" in table
    for page in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert page.endswith(table)
        assert "sk-container" in page
    with config_context(display="text"):
        assert model._repr_mimebundle_() == {"text/plain": repr(model)}
        with pytest.raises(AttributeError):
            model._repr_html_()
    # A lazy partition is not computed.
    assert "objects" not in make_ecm().fit([X[:80], X[80:]])._repr_html_()[-200:]


def test_blocks_give_lazy_masses():
    blocks = [X[:80], X[80:]]
    model = make_ecm()
    lazy = model.fit_transform(blocks)
    np.testing.assert_array_equal(lazy.compute(), model.transform(X))
    np.testing.assert_array_equal(model.transform(blocks).compute(), model.transform(X))
    np.testing.assert_array_equal(
        model.predict_proba(blocks).compute(), model.predict_proba(X)
    )
