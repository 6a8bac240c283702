"""The registry agrees with the classes: parameters, defaults, words and capabilities."""

import importlib
import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

from dempster import registry
from dempster.apps.recipe import Recipe
from dempster.registry import CAPABILITIES, find_method, method_names, methods_that, parse_value

METHODS = [(package, name) for package in ("cluster", "classify") for name in method_names(package)]
CLUSTERERS = method_names()
X = np.random.default_rng(0).normal(size=(24, 2)) + np.repeat([[0, 0], [9, 0]], 12, axis=0)


def classes(package):
    module = importlib.import_module(f"dempster.{package}")
    return {getattr(module, name) for name in module.__all__}


def make_fast(name, **parameters):
    info = find_method(name)
    few = {
        "n_clusters": 2,
        "n_init": 1,
        "n_bootstraps": 5,
        "max_iter": 20,
        "random_state": 0,
        "n_jobs": 1,
    }
    return info.load()(
        **{key: value for key, value in few.items() if info.parameter(key)} | parameters
    )


def test_every_estimator_is_registered():
    found = {find_method(name).load() for name in CLUSTERERS}
    # BeliefPeaks has no credal partition, and the others need another estimator.
    assert {
        cls.__name__ for cls in classes("cluster") - found if issubclass(cls, BaseEstimator)
    } == {
        "BeliefPeaks",
        "ConformalClustering",
        "ConformalNoveltyDetector",
    }
    found = {find_method(name, "classify").load() for name in method_names("classify")}
    # These need another estimator.
    assert {cls.__name__ for cls in classes("classify") - found} == {
        "EvidenceFromClassifier",
        "ConformalClassifier",
        "ContextualDiscounting",
    }


@pytest.mark.parametrize(("package", "name"), METHODS)
def test_parameters_agree_with_the_signature(package, name):
    info = find_method(name, package)
    signature = inspect.signature(info.load()).parameters
    assert {one.name: one.default for one in info.parameters} == {
        key: one.default for key, one in signature.items()
    }
    assert [one.name for one in info.parameters] == list(signature)
    for one in info.parameters:
        assert type(one.default) is type(signature[one.name].default)
        assert one.kind
        assert one.help.endswith(".")
    assert info.summary.endswith(".")


@pytest.mark.parametrize(("package", "name"), METHODS)
def test_words_agree_with_the_rules(package, name):
    """A word of another method is declared if and only if the rule of the parameter accepts it."""
    info = find_method(name, package)
    rules = info.load()._rules
    for one in info.parameters:
        rule = rules.get(one.name)
        if rule is None:
            continue
        assert rule.test(one.default), one.name
        known = {
            word
            for key in method_names(package)
            for other in find_method(key, package).parameters
            if other.name == one.name
            for word in other.words
        }
        takes_any_text = rule.test("another text")
        for word in known if not takes_any_text else one.words:
            assert rule.test(word) == (word in one.words), (one.name, word)
        assert not (one.choices and takes_any_text), one.name
        if one.is_flag:
            assert rule.test(True)
            assert rule.test(False)


@pytest.mark.parametrize("name", CLUSTERERS)
def test_capabilities_agree_with_signatures(name):
    info = find_method(name)
    fit = inspect.signature(info.load().fit).parameters

    def words(parameter):
        found = info.parameter(parameter)
        if found is None:
            return ()
        return found.words

    expected = {
        "auto": "auto" in words("n_clusters"),
        "weights": "sample_weight" in fit,
        "constraints": "constraints" in fit,
        "labels": fit["y"].annotation != "None",
        "missing": info.parameter("missing") is not None,
        "dissimilarities": "precomputed" in words("metric"),
        "mixed": "gower" in words("metric"),
        "views": info.parameter("views") is not None,
        "device": info.parameter("device") is not None,
    }
    assert {key: key in info.capabilities for key in expected} == expected
    assert set(info.capabilities) <= set(CAPABILITIES)


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
    is_declared = capability in find_method(name).capabilities
    try:
        partition = make_fast(name, **parameters).fit(data).credal_partition_
        assert len(partition) == 24
    except (ValueError, TypeError):
        assert not is_declared
    else:
        assert is_declared


def test_lists_by_capability():
    assert methods_that("constraints") == ["cecm", "evclus", "nnevclus"]
    assert registry.methods_with("gamma") == ["ccm", "ecmdd", "mecm"]


def test_parameter_descriptions():
    by_name = {one.name: one for one in find_method("ecm").parameters}
    assert by_name["metric"].choices == ("euclidean", "adaptive")
    assert by_name["metric"].kind == '{"euclidean", "adaptive"}'
    assert by_name["focal_sets"].choices == ()
    assert by_name["focal_sets"].words == ("auto", "simple", "pairs", "full", "selected")
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
        ValueError, match="delta: method credal has no such parameter .*ecm.*it has n_clusters"
    ):
        Recipe("x.csv", parameters={"delta": 1})
    with pytest.raises(ValueError, match="n_clusters is set by clusters"):
        Recipe("x.csv", parameters={"n_clusters": 1})
