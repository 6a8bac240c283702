"""Dempster-Shafer calculus: families of sets, mass functions, transforms, combination, measures, decisions."""

from evidentia.belief.focal_sets import FocalSets
from evidentia.belief.mass_functions import MassFunctions
from evidentia.belief.opinions import Opinions

__all__ = ["FocalSets", "MassFunctions", "Opinions"]
