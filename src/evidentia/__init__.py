"""Evidential machine learning: clustering and classification that say what the data really support.

The three values that everything returns live here; estimators come from their packages::

    from evidentia import FocalSets, MassFunctions, CredalPartition
    from evidentia.cluster import ECM
"""

from evidentia.belief import FocalSets, MassFunctions
from evidentia.partition import CredalPartition

__version__ = "0.1.0"

__all__ = ["FocalSets", "MassFunctions", "CredalPartition", "__version__"]
