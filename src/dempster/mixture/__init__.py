"""Gaussian mixtures with parsimonious covariance models, and latent class models."""

from dempster.mixture.em import GaussianParameters
from dempster.mixture.gaussian_mixture import ParsimoniousGaussianMixture
from dempster.mixture.latent_class import LatentClassModel

__all__ = ["ParsimoniousGaussianMixture", "GaussianParameters", "LatentClassModel"]
