"""Generated, bundled and public datasets.

``make_*`` functions draw from a known distribution and return ``(X, y)``. ``load_*`` functions need
no internet connection. `fetch_dataset` reads a local copy (environment variable
``DEMPSTER_SHARED``) or downloads from OpenML. The other ``fetch_*`` functions download datasets
with soft labels from their authors.
"""

from dempster.datasets.bundled import (
    load_butterfly,
    load_digits,
    load_example,
    load_iris,
    load_wine,
)
from dempster.datasets.catalogue import dataset_names
from dempster.datasets.fetchers import DatasetNotAvailableError, fetch_dataset
from dempster.datasets.generators import (
    make_bananas,
    make_circles,
    make_fourclass,
    make_gaussian_mixture,
)
from dempster.datasets.soft_labels import fetch_cifar10h, fetch_credal_bird, fetch_credal_dog

__all__ = ["make_fourclass", "make_bananas", "make_circles", "make_gaussian_mixture"]
__all__ += ["load_butterfly", "load_example", "load_iris", "load_wine", "load_digits"]
__all__ += ["dataset_names", "fetch_dataset", "DatasetNotAvailableError"]
__all__ += ["fetch_credal_dog", "fetch_credal_bird", "fetch_cifar10h"]
