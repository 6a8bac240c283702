"""Methods and parameters are told from the sources: they must be those of the classes."""

import importlib
import inspect

import pytest

from dempster.apps.recipe import Recipe, method_names, method_parameters, method_summary
from dempster.apps.recipe.methods import REQUIRED, load_method, method_takes, parse_value


def classes(package):
    module = importlib.import_module(f"dempster.{package}")
    return [getattr(module, name) for name in module.__all__]


@pytest.mark.parametrize("package", ["cluster", "classify"])
def test_parameters_are_those_of_the_signature(package):
    for name in method_names(package):
        signature = inspect.signature(load_method(name, package)).parameters
        found = method_parameters(name, package)
        assert [parameter.name for parameter in found] == list(signature)
        for parameter in found:
            default = signature[parameter.name].default
            assert parameter.default == (REQUIRED if default is inspect.Parameter.empty else default)
            assert type(parameter.default) is type(default)
            assert parameter.kind, f"{name}: the docstring does not say what {parameter.name} is"
        assert method_summary(name, package)


def test_every_clusterer_is_a_method():
    from sklearn.base import BaseEstimator

    found = {load_method(name) for name in method_names()}
    known = {cls for cls in classes("cluster") if issubclass(cls, BaseEstimator)}
    # it finds centers, but says nothing of sets of clusters; bpec makes a credal partition of them
    assert {cls.__name__ for cls in known - found} == {"BeliefPeaks"}


def test_every_classifier_that_stands_alone_is_a_method():
    found = {load_method(name, "classify").__name__ for name in method_names("classify")}
    assert {cls.__name__ for cls in classes("classify")} - found == {"EvidenceFromClassifier", "ContextualDiscounting"}


def test_what_a_method_learns_from():
    for name in method_names():
        fit = inspect.signature(load_method(name).fit).parameters
        assert method_takes(name, "constraints") == ("constraints" in fit)
        assert method_takes(name, "y") == (fit["y"].annotation != "None")


def test_words_of_a_choice():
    by_name = {parameter.name: parameter for parameter in method_parameters("ecm")}
    assert by_name["metric"].choices == ("euclidean", "adaptive")
    assert by_name["focal_sets"].choices == ()
    assert by_name["focal_sets"].words == ("auto", "simple", "pairs", "full", "selected")


@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5), ("0.5", 0.5), ("1e3", 1000.0), ("true", True), ("None", None), ("[10, 5]", [10, 5]), ("auto", "auto")],
)
def test_values_as_they_are_typed(text, value):
    found = parse_value(text)
    assert found == value
    assert type(found) is type(value)


def test_unknown_methods_and_parameters_are_refused():
    with pytest.raises(ValueError, match="method must be one of 'bootclus'.*got 'kmeans'"):
        Recipe("x.csv", method="kmeans")
    with pytest.raises(ValueError, match="delta: method evclus has no such parameter .*ecm.*it has n_clusters"):
        Recipe("x.csv", parameters={"delta": 1})
    with pytest.raises(ValueError, match="n_clusters is set by clusters"):
        Recipe("x.csv", parameters={"n_clusters": 1})
