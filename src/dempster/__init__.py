"""Evidential machine learning: clustering and classification with Dempster-Shafer mass functions.

The three types of results and the functions for labels of other programs can be imported from this
package, and estimators from its subpackages::

    from dempster import FocalSets, MassFunctions, CredalPartition
    from dempster import doubt, evaluate, match_clusters
    from dempster.cluster import ECM

``import dempster`` is fast, because subpackages are imported when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dempster.belief import FocalSets, MassFunctions
    from dempster.labels import doubt, evaluate, match_clusters
    from dempster.partition import CredalPartition

__version__ = "0.1.0"

__all__ = ["FocalSets", "MassFunctions", "CredalPartition", "__version__"]
__all__ += ["doubt", "evaluate", "match_clusters"]

_VALUES = {
    "FocalSets": "belief",
    "MassFunctions": "belief",
    "CredalPartition": "partition",
    "doubt": "labels",
    "evaluate": "labels",
    "match_clusters": "labels",
}
_PACKAGES = (
    "belief",
    "partition",
    "io",
    "datasets",
    "constraints",
    "dissimilarity",
    "metric",
    "mixture",
    "cluster",
    "classify",
    "nn",
    "model_selection",
    "explain",
    "labels",
    "plot",
    "persistence",
    "onnx",
    "apps",
    "integrations",
)


def __getattr__(name: str) -> Any:
    """Import subpackages and result types when they are first used."""
    if name in _PACKAGES:
        return import_module(f"dempster.{name}")
    if name in _VALUES:
        value = getattr(import_module(f"dempster.{_VALUES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'dempster' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
