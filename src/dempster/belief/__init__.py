"""Dempster-Shafer calculus: families of sets, mass functions, transforms, combination, measures, decisions."""

from dempster.belief.focal_sets import FocalSets
from dempster.belief.mass_functions import MassFunctions
from dempster.belief.opinions import Opinions

__all__ = ["FocalSets", "MassFunctions", "Opinions"]
