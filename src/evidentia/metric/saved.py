"""What files may hold of this package."""

from evidentia.io.schema import Schema
from evidentia.metric.dml_eig import DMLEig
from evidentia.metric.fda import FDA
from evidentia.metric.kfda import KFDA
from evidentia.metric.kpcca import KPCCA
from evidentia.metric.lfda import LFDA
from evidentia.metric.mmc import MMC
from evidentia.metric.pcca import PCCA

__all__ = ["SAVED"]

SAVED = tuple(map(Schema.of, (PCCA, KPCCA, FDA, KFDA, LFDA, MMC, DMLEig)))
