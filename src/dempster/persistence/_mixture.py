"""What files may hold of this package."""

from __future__ import annotations

from dempster.mixture.em import GaussianParameters
from dempster.mixture.gaussian_mixture import ParsimoniousGaussianMixture
from dempster.persistence.schema import Schema

__all__ = ["SAVED"]


SAVED = tuple(map(Schema.of, (ParsimoniousGaussianMixture, GaussianParameters)))
