"""Metric learning from labels or pairwise constraints.

From labels: `FDA` (linear), `LFDA` (linear, for classes of several clusters), `KFDA` (nonlinear). From must-link and
cannot-link pairs: `PCCA` (few linear features), `KPCCA` (nonlinear), `MMC` and `DMLEig` (a full linear metric).
"""

from dempster.metric.fisher import FDA, KFDA, LFDA
from dempster.metric.full_metric import MMC, DMLEig
from dempster.metric.pcca import KPCCA, PCCA

__all__ = ["PCCA", "KPCCA", "FDA", "KFDA", "LFDA", "MMC", "DMLEig"]
