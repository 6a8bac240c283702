"""What files may hold of this package."""

from evidentia.io.schema import Schema
from evidentia.mixture.em import GaussianParameters
from evidentia.mixture.gaussian_mixture import ParsimoniousGaussianMixture

__all__ = ["SAVED"]

SAVED = tuple(map(Schema.of, (ParsimoniousGaussianMixture, GaussianParameters)))
