"""What files may hold of this package."""

from dempster.io.schema import Schema
from dempster.mixture.em import GaussianParameters
from dempster.mixture.gaussian_mixture import ParsimoniousGaussianMixture

__all__ = ["SAVED"]

SAVED = tuple(map(Schema.of, (ParsimoniousGaussianMixture, GaussianParameters)))
