"""Derive the methods of the applications, `src/dempster/apps/methods.json`, from the classes.

Run ``python -m tools.methods`` after a change of the class, the docstring or the parameters of a
method. A test fails if the file is outdated.
"""

import inspect
import json
import re
from pathlib import Path

from sklearn.base import MetaEstimatorMixin

from dempster import classify, cluster, labels
from dempster.classify._base import EvidentialClassifier
from dempster.cluster._base import EvidentialClusterer, Support
from dempster.labels import LabeledClustering

FILE = (
    Path(__file__).resolve().parents[1] / "src" / "dempster" / "apps" / "methods.json"
)
# Other names are the name of the class in lowercase letters.
SHORT_NAMES = {
    "CredalClustering": "credal",
    "EKNNClassifier": "eknn",
    "EvidentialNeuralNetworkClassifier": "neural-network",
    "EvidentialRBFClassifier": "rbf",
    "LabeledClustering": "doubt",
}


def describe_methods():
    """Return the descriptions of all methods by name."""
    public = [
        getattr(package, name)
        for package in (cluster, classify, labels)
        for name in package.__all__
    ]
    return {
        SHORT_NAMES.get(one.__name__, one.__name__.lower()): describe_method(one)
        for one in public
        if inspect.isclass(one)
        and issubclass(
            one, EvidentialClusterer | EvidentialClassifier | LabeledClustering
        )
        and not issubclass(one, MetaEstimatorMixin)
    }


def describe_method(estimator):
    """Return the package, the name, the summary, the capabilities and the parameters of a class."""
    text = inspect.getdoc(estimator)
    if not estimator.__doc__:
        raise SystemExit(
            f"{estimator.__module__}.{estimator.__name__} has no docstring"
        )
    parameters = describe_parameters(estimator, text)
    return {
        "package": estimator.__module__.split(".")[1],
        "class_name": estimator.__name__,
        "summary": first_sentence(text),
        "capabilities": find_capabilities(estimator, parameters),
        "parameters": parameters,
    }


def describe_parameters(estimator, text):
    """Return the name, default, permitted values and help of each parameter of the constructor."""
    section = re.search(
        r"^Parameters\n-+\n(.*?)\n\n\S+\n-+\n", text, re.DOTALL | re.MULTILINE
    )
    described = {}
    for entry in re.split(r"\n(?=\S)", section[1] if section else ""):
        head, _, description = entry.partition("\n")
        names, _, kind = head.partition(" : ")
        for name in names.split(", "):
            described[name] = {
                "kind": kind.split(", default=")[0].replace("`", ""),
                "help": first_sentence(inspect.cleandoc(description)),
            }
    parameters = inspect.signature(estimator).parameters
    missing = [name for name in parameters if name not in described]
    if missing:
        raise SystemExit(
            f"the docstring of {estimator.__module__}.{estimator.__name__} must describe "
            f"the parameters {', '.join(missing)} in its section Parameters"
        )
    return [
        {"name": name, "default": parameter.default, **described[name]}
        for name, parameter in parameters.items()
    ]


def first_sentence(text):
    """Return the first sentence of a text in one line, without the marks of references and code."""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    return re.split(r"(?<=\.) ", paragraph, maxsplit=1)[0].replace("`", "")


def find_capabilities(estimator, parameters):
    """Return the capabilities of a clusterer on which recipes and options depend."""
    if issubclass(estimator, EvidentialClassifier):
        return []
    kinds = {parameter["name"]: parameter["kind"] for parameter in parameters}
    arguments = inspect.signature(estimator.fit).parameters
    tags = estimator().__sklearn_tags__().input_tags
    found = {
        "auto": '"auto"' in kinds.get("n_clusters", ""),
        "weights": "sample_weight" in arguments,
        "constraints": "constraints" in arguments,
        "labels": arguments["y"].annotation != "None",
        "missing": "missing" in kinds,
        "dissimilarities": '"precomputed"' in kinds.get("metric", ""),
        "mixed": '"gower"' in kinds.get("metric", ""),  # numbers and categories
        "categories": tags.categorical,
        "images": tags.three_d_array,
        "views": "views" in kinds,  # several tables or matrices of the same objects
        "blocks": getattr(estimator(), "_support", Support(blocks=True)).blocks,
        "device": "device" in kinds,
    }
    return [capability for capability, has_it in found.items() if has_it]


def to_json(methods):
    """Return the contents of the file."""
    return json.dumps(methods, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(to_json(describe_methods()), encoding="utf-8")
