"""Gaussian mixtures with parsimonious covariance models."""

from evidentia.mixture.em import GaussianParameters
from evidentia.mixture.gaussian_mixture import ParsimoniousGaussianMixture

__all__ = ["ParsimoniousGaussianMixture", "GaussianParameters"]
