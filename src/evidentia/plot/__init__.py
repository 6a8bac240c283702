"""Pictures of partitions and models: Matplotlib displays that hand over their data.

Each display has class methods that compute (``from_partition``, ``from_estimator``, ...) and a method ``plot`` that
draws; what it drew is kept in public attributes, so that the same data can be drawn another way.
"""

from evidentia.plot.calibration import CalibrationDisplay
from evidentia.plot.convergence import ConvergenceDisplay
from evidentia.plot.credal_partition import CredalPartitionDisplay
from evidentia.plot.delta_bel import DeltaBelDisplay
from evidentia.plot.kept import KeptCurveDisplay
from evidentia.plot.mass_contour import MassContourDisplay
from evidentia.plot.nonspecificity import NonspecificityDisplay
from evidentia.plot.number_of_clusters import NumberOfClustersDisplay
from evidentia.plot.object_explanation import ObjectExplanationDisplay
from evidentia.plot.pair_probability import PairProbabilityDisplay
from evidentia.plot.partition_map import PartitionMapDisplay
from evidentia.plot.rejection import RejectionCurve, RejectionCurveDisplay
from evidentia.plot.shepard import ShepardDisplay
from evidentia.plot.silhouette import SilhouetteDisplay
from evidentia.plot.stability import StabilityDisplay

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
    "PartitionMapDisplay",
    "RejectionCurveDisplay",
    "RejectionCurve",
    "CalibrationDisplay",
    "PairProbabilityDisplay",
]
