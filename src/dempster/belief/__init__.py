"""Dempster-Shafer calculus: families of sets, mass functions, combination and decisions."""

from dempster.belief.focal_sets import FocalSets
from dempster.belief.mass_functions import MassFunctions
from dempster.belief.p_values import (
    benjamini_hochberg,
    conformal_p_values,
    merge_e_values,
    merge_p_values,
    p_to_e_values,
)

__all__ = [
    "FocalSets",
    "MassFunctions",
    "benjamini_hochberg",
    "conformal_p_values",
    "merge_e_values",
    "merge_p_values",
    "p_to_e_values",
]
