"""What a partition says, in words and numbers: how much its doubt is worth, what its clusters are, and in rules."""

from evidentia.explain.cautious_tree import CautiousTree
from evidentia.explain.doubt import doubt_of
from evidentia.explain.kept import KeptCurve, kept_curve
from evidentia.explain.profiles import Profile, profile

__all__ = ["doubt_of", "kept_curve", "KeptCurve", "profile", "Profile", "CautiousTree"]
