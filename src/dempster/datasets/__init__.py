"""Generated, bundled and public datasets.

``make_*`` functions draw from a known distribution and return ``(X, y)``. ``load_*`` functions need no internet
connection. ``fetch_*`` functions read a local copy (environment variable ``DEMPSTER_SHARED``) or download from OpenML;
datasets with soft labels are downloaded from their authors.
"""

from dempster.datasets.bundled import load_butterfly, load_digits, load_example, load_iris, load_wine
from dempster.datasets.catalogue import dataset_names
from dempster.datasets.fetchers import (
    DatasetNotAvailableError,
    fetch_birch1,
    fetch_d31,
    fetch_dataset,
    fetch_diabetes_reaven,
    fetch_dry_bean,
    fetch_ecoli,
    fetch_glass,
    fetch_gvhd,
    fetch_heart,
    fetch_ionosphere,
    fetch_leaves,
    fetch_letter,
    fetch_mice_protein,
    fetch_pendigits,
    fetch_protein,
    fetch_s_set,
    fetch_satellite,
    fetch_seeds,
    fetch_segment,
    fetch_shuttle,
    fetch_vehicle,
    fetch_vowel,
)
from dempster.datasets.generators import make_bananas, make_circles, make_fourclass, make_gaussian_mixture
from dempster.datasets.soft_labels import fetch_cifar10h, fetch_credal_bird, fetch_credal_dog

__all__ = ["make_fourclass", "make_bananas", "make_circles", "make_gaussian_mixture"]
__all__ += ["load_butterfly", "load_example", "load_iris", "load_wine", "load_digits"]
__all__ += ["dataset_names", "fetch_dataset", "DatasetNotAvailableError"]
__all__ += ["fetch_birch1", "fetch_d31", "fetch_diabetes_reaven", "fetch_dry_bean", "fetch_ecoli", "fetch_glass"]
__all__ += ["fetch_gvhd", "fetch_heart", "fetch_ionosphere", "fetch_leaves", "fetch_letter", "fetch_mice_protein"]
__all__ += ["fetch_pendigits", "fetch_protein", "fetch_s_set", "fetch_satellite", "fetch_seeds", "fetch_segment"]
__all__ += ["fetch_shuttle", "fetch_vehicle", "fetch_vowel"]
__all__ += ["fetch_credal_dog", "fetch_credal_bird", "fetch_cifar10h"]
