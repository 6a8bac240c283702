"""Features in which objects known to belong together are close: metrics learnt from labels or from constraints.

From labels: `FDA` (linear), `LFDA` (linear, classes of several pieces), `KFDA` (nonlinear). From must-link and
cannot-link pairs: `PCCA` (few linear features), `KPCCA` (nonlinear), `MMC` and `DMLEig` (a full linear metric).
"""

from evidentia.metric.dml_eig import DMLEig
from evidentia.metric.fda import FDA
from evidentia.metric.kfda import KFDA
from evidentia.metric.kpcca import KPCCA
from evidentia.metric.lfda import LFDA
from evidentia.metric.mmc import MMC
from evidentia.metric.pcca import PCCA

__all__ = ["PCCA", "KPCCA", "FDA", "KFDA", "LFDA", "MMC", "DMLEig"]
