"""Pictures of partitions and models: Matplotlib displays that hand over their data.

Each display has class methods that compute (``from_partition``, ``from_estimator``, ...) and a method ``plot`` that
draws; what it drew is kept in public attributes, so that the same data can be drawn another way.
"""

from dempster.plot.calibration import CalibrationDisplay
from dempster.plot.cautious_tree import CautiousTreeDisplay
from dempster.plot.convergence import ConvergenceDisplay
from dempster.plot.credal_partition import CredalPartitionDisplay
from dempster.plot.delta_bel import DeltaBelDisplay
from dempster.plot.kept import KeptCurveDisplay
from dempster.plot.mass_contour import MassContourDisplay
from dempster.plot.nonspecificity import NonspecificityDisplay
from dempster.plot.number_of_clusters import NumberOfClustersDisplay
from dempster.plot.object_explanation import ObjectExplanationDisplay
from dempster.plot.pair_probability import PairProbabilityDisplay
from dempster.plot.partition_map import PartitionMapDisplay
from dempster.plot.profile import ProfileDisplay
from dempster.plot.rejection import RejectionCurve, RejectionCurveDisplay
from dempster.plot.shepard import ShepardDisplay
from dempster.plot.silhouette import SilhouetteDisplay
from dempster.plot.stability import StabilityDisplay

__all__ = [
    "CredalPartitionDisplay",
    "ShepardDisplay",
    "MassContourDisplay",
    "DeltaBelDisplay",
    "ConvergenceDisplay",
    "NumberOfClustersDisplay",
    "NonspecificityDisplay",
    "KeptCurveDisplay",
    "SilhouetteDisplay",
    "StabilityDisplay",
    "ObjectExplanationDisplay",
    "ProfileDisplay",
    "CautiousTreeDisplay",
    "PartitionMapDisplay",
    "RejectionCurveDisplay",
    "RejectionCurve",
    "CalibrationDisplay",
    "PairProbabilityDisplay",
]
