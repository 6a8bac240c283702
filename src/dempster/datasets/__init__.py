"""Generated, bundled and public datasets.

``make_*`` functions draw from a known distribution and return ``(X, y)``. ``load_*`` functions need
no internet connection. `fetch_dataset` reads a local copy (environment variable
``DEMPSTER_SHARED``) or downloads from OpenML.
"""

from typing import Any

from dempster.datasets.bundled import load_butterfly, load_example
from dempster.datasets.catalogue import dataset_names
from dempster.datasets.fetchers import DatasetNotAvailableError, fetch_dataset
from dempster.datasets.generators import (
    make_bananas,
    make_circles,
    make_fourclass,
    make_gaussian_mixture,
)

__all__ = [
    "make_fourclass",
    "make_bananas",
    "make_circles",
    "make_gaussian_mixture",
    "load_butterfly",
    "load_example",
    "dataset_names",
    "fetch_dataset",
    "DatasetNotAvailableError",
]


def __getattr__(name: str) -> Any:
    """Return a loader of scikit-learn, whose import takes a second."""
    if name in ("load_iris", "load_wine", "load_digits"):
        from sklearn import datasets

        return getattr(datasets, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
