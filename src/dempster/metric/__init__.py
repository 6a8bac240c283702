"""Features in which objects known to belong together are close: metrics learnt from labels or from constraints.

From labels: `FDA` (linear), `LFDA` (linear, classes of several pieces), `KFDA` (nonlinear). From must-link and
cannot-link pairs: `PCCA` (few linear features), `KPCCA` (nonlinear), `MMC` and `DMLEig` (a full linear metric).
"""

from dempster.metric.dml_eig import DMLEig
from dempster.metric.fda import FDA
from dempster.metric.kfda import KFDA
from dempster.metric.kpcca import KPCCA
from dempster.metric.lfda import LFDA
from dempster.metric.mmc import MMC
from dempster.metric.pcca import PCCA

__all__ = ["PCCA", "KPCCA", "FDA", "KFDA", "LFDA", "MMC", "DMLEig"]
