"""What a partition says, in words and numbers: why an object is where it is, how much its doubt is worth."""

from evidentia.explain.doubt import doubt_of
from evidentia.explain.kept import KeptCurve, kept_curve
from evidentia.explain.objects.explain import explain_object
from evidentia.explain.objects.explanation import ObjectExplanation

__all__ = ["doubt_of", "kept_curve", "KeptCurve", "explain_object", "ObjectExplanation"]
