"""Metric learning from labels or pairwise constraints.

`FDA` (linear), `LFDA` (linear, for classes of several clusters) and `KFDA` (nonlinear) learn from
labels. `PCCA` (few linear features), `KPCCA` (nonlinear), `MMC` and `DMLEig` (a full linear metric)
learn from must-links and cannot-links.
"""

from dempster.metric.fisher import FDA, KFDA, LFDA
from dempster.metric.full_metric import MMC, DMLEig
from dempster.metric.pcca import KPCCA, PCCA

__all__ = ["PCCA", "KPCCA", "FDA", "KFDA", "LFDA", "MMC", "DMLEig"]
