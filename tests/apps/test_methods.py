"""The list of methods agrees with the classes: parameters, words and capabilities."""

import re

import numpy as np
import pandas as pd
import pytest
from tools import methods as tool

from dempster import classify, cluster
from dempster.apps.methods import (
    METHODS,
    method_names,
    methods_that,
    methods_with,
    parse_value,
)
from dempster.apps.recipe import Recipe

CLUSTERERS = method_names()
X = np.random.default_rng(0).normal(size=(24, 2)) + np.repeat(
    [[0, 0], [9, 0]], 12, axis=0
)


def make_fast(name, **parameters):
    fast = {
        "n_clusters": 2,
        "n_init": 1,
        "n_bootstraps": 5,
        "max_iter": 20,
        "random_state": 0,
        "n_jobs": 1,
    }
    method = METHODS[name]
    known = {key: value for key, value in fast.items() if method.parameter(key)}
    return method.load()(**known | parameters)


def test_file_is_up_to_date():
    """``python -m tools.methods`` writes the file again."""
    expected = tool.to_json(tool.describe_methods())
    assert tool.FILE.read_text(encoding="utf-8") == expected


def test_incomplete_docstrings_are_named():
    class Undocumented(cluster.ECM):
        def fit(self, X):
            return self

    class HalfDocumented(cluster.ECM):
        """Cluster rows.

        Parameters
        ----------
        n_clusters : int, default=2
            Number of clusters.

        Attributes
        ----------
        labels_ : array
        """

    with pytest.raises(SystemExit, match=r"\bUndocumented has no docstring"):
        tool.describe_method(Undocumented)
    with pytest.raises(
        SystemExit, match=r"HalfDocumented must describe .* alpha, beta,"
    ):
        tool.describe_method(HalfDocumented)


def test_estimators_without_an_entry():
    listed = {method.class_name for method in METHODS.values()}
    estimators = set()
    for package in (cluster, classify):
        estimators |= {
            name for name in package.__all__ if hasattr(getattr(package, name), "fit")
        }
    # BeliefPeaks has no credal partition, and the others need another estimator.
    assert estimators - listed == {
        "BeliefPeaks",
        "ConformalClassifier",
        "ConformalClustering",
        "ConformalNoveltyDetector",
        "ContextualDiscounting",
        "EvidenceFromClassifier",
        "SoftLabelClassifier",
    }


@pytest.mark.parametrize("name", METHODS)
def test_texts(name):
    method = METHODS[name]
    assert method.summary.endswith(".")
    for parameter in method.parameters:
        assert parameter.kind
        assert parameter.help.endswith(".")
        assert len(parameter.help) <= 140


@pytest.mark.parametrize("name", METHODS)
def test_words_agree_with_the_rules(name):
    rules = METHODS[name].load()._rules
    for parameter in METHODS[name].parameters:
        rule = rules[parameter.name]
        assert rule.test(parameter.default), parameter.name
        assert all(map(rule.test, parameter.words)), parameter.name
        if parameter.kind == "bool":
            assert rule.test(True)
            assert rule.test(False)
        if "str" not in re.findall(
            r"\w+", parameter.kind
        ):  # "str" permits further words
            words = {option for option in rule.options if isinstance(option, str)}
            assert set(parameter.words) == words, parameter.name


class Blocks:
    def __iter__(self):
        return iter([X[:12], X[12:]])


TABLE = pd.DataFrame({"a": X[:, 0], "word": np.repeat(["u", "v"], 12)})
DISTANCES = np.linalg.norm(X[:, None] - X, axis=2)
TRIALS = {
    "dissimilarities": ({"metric": "precomputed"}, DISTANCES),
    "mixed": ({"metric": "gower"}, TABLE),
    "categories": ({}, TABLE.astype(str)),
    "blocks": ({}, Blocks()),
    "images": ({}, X.reshape(4, 6, 2)),
}


@pytest.mark.parametrize("capability", TRIALS)
@pytest.mark.parametrize("name", CLUSTERERS)
def test_capabilities_agree_with_fit(name, capability):
    if name == "nnevclus":
        pytest.importorskip("torch")
    parameters, data = TRIALS[capability]
    is_declared = capability in METHODS[name].capabilities
    try:
        partition = make_fast(name, **parameters).fit(data).credal_partition_
        assert len(partition) == 24
    except (ValueError, TypeError):
        assert not is_declared
    else:
        assert is_declared


def test_lists_by_capability():
    assert methods_that("constraints") == ["cecm", "credal", "evclus", "nnevclus"]
    assert methods_with("gamma") == ["ccm", "ecmdd", "mecm"]


def test_parameter_descriptions():
    by_name = {one.name: one for one in METHODS["ecm"].parameters}
    assert by_name["metric"].choices == ["euclidean", "adaptive", "cosine"]
    assert by_name["metric"].kind == '{"euclidean", "adaptive", "cosine"}'
    assert by_name["focal_sets"].choices == []
    assert by_name["focal_sets"].words == [
        "auto",
        "simple",
        "pairs",
        "full",
        "selected",
    ]
    assert by_name["delta"].kind == 'float > 0 or "auto"'


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("5", 5),
        ("0.5", 0.5),
        ("1e3", 1000.0),
        ("true", True),
        ("None", None),
        ("[10, 5]", [10, 5]),
        ("auto", "auto"),
    ],
)
def test_parse_value(text, value):
    found = parse_value(text)
    assert found == value
    assert type(found) is type(value)


def test_unknown_methods_and_parameters():
    with pytest.raises(ValueError, match=r"\bmethod\b"):
        Recipe("x.csv", method="kmeans")
    with pytest.raises(
        ValueError,
        match="delta: method credal has no such parameter; it has n_clusters",
    ):
        Recipe("x.csv", parameters={"delta": 1})
    with pytest.raises(ValueError, match="n_clusters is set by clusters"):
        Recipe("x.csv", parameters={"n_clusters": 1})
