"""What a partition says, in words and numbers: why an object is where it is, how good and how stable it all is."""

from evidentia.explain.doubt import doubt_of
from evidentia.explain.kept import KeptCurve, kept_curve
from evidentia.explain.objects.explain import explain_object
from evidentia.explain.objects.explanation import ObjectExplanation
from evidentia.explain.quality_table import Quality, quality
from evidentia.explain.resamples import Stability, stability
from evidentia.explain.scores import SetScore, SetScores, set_scores
from evidentia.explain.silhouette import CredalSilhouette, credal_silhouette

__all__ = [
    "explain_object",
    "ObjectExplanation",
    "quality",
    "Quality",
    "credal_silhouette",
    "CredalSilhouette",
    "stability",
    "Stability",
    "set_scores",
    "SetScores",
    "SetScore",
    "doubt_of",
    "kept_curve",
    "KeptCurve",
]
