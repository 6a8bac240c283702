"""Matplotlib displays of partitions and models.

Each display has class methods that compute its data (``from_partition``, ``from_estimator``, ...)
and a method ``plot`` that draws them. The constructor accepts data that are already computed, and
does not check them. The data are public attributes with the same names as the parameters of the
constructor; sequences are stored as arrays, and mappings as dictionaries. Results such as those of
`dempster.explain` have a method ``plot``, too.
"""

from dempster.plot.credal_partition import CredalPartitionDisplay, PartitionMapDisplay
from dempster.plot.dendrogram import DendrogramDisplay
from dempster.plot.masses import MassContourDisplay
from dempster.plot.number_of_clusters import CandidatesDisplay, DeltaBelDisplay
from dempster.plot.pairs import (
    CalibrationDisplay,
    PairProbabilityDisplay,
    ShepardDisplay,
)
from dempster.plot.quality import (
    CoverageDisplay,
    RejectionCurve,
    RejectionCurveDisplay,
    ReliabilityDisplay,
)

__all__ = [
    "CredalPartitionDisplay",
    "ShepardDisplay",
    "MassContourDisplay",
    "DeltaBelDisplay",
    "PartitionMapDisplay",
    "DendrogramDisplay",
    "RejectionCurveDisplay",
    "RejectionCurve",
    "CalibrationDisplay",
    "ReliabilityDisplay",
    "CoverageDisplay",
    "PairProbabilityDisplay",
    "CandidatesDisplay",
]
