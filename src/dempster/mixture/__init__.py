"""Gaussian mixtures with parsimonious covariance models."""

from dempster.mixture.em import GaussianParameters
from dempster.mixture.gaussian_mixture import ParsimoniousGaussianMixture

__all__ = ["ParsimoniousGaussianMixture", "GaussianParameters"]
