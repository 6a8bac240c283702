"""Explain objects, profile clusters, describe partitions by rules, and measure their quality."""

from dempster.explain.cautious_tree import CautiousTree
from dempster.explain.object_explanation import ObjectExplanation
from dempster.explain.objects import explain_object
from dempster.explain.profiles import Profile, profile
from dempster.explain.quality_table import Quality, quality
from dempster.explain.resamples import Stability, stability
from dempster.explain.scores import (
    RetentionCurve,
    SetScore,
    SetScores,
    doubt_scores,
    retention_curve,
    set_scores,
)
from dempster.explain.silhouette import CredalSilhouette, credal_silhouette

__all__ = [
    "explain_object",
    "ObjectExplanation",
    "profile",
    "Profile",
    "CautiousTree",
    "quality",
    "Quality",
    "credal_silhouette",
    "CredalSilhouette",
    "stability",
    "Stability",
    "set_scores",
    "SetScores",
    "SetScore",
    "doubt_scores",
    "retention_curve",
    "RetentionCurve",
]
