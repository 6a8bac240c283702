"""What files may hold of this package."""

from __future__ import annotations

from dempster.metric.dml_eig import DMLEig
from dempster.metric.fda import FDA
from dempster.metric.kfda import KFDA
from dempster.metric.kpcca import KPCCA
from dempster.metric.lfda import LFDA
from dempster.metric.mmc import MMC
from dempster.metric.pcca import PCCA
from dempster.persistence.schema import Schema

__all__ = ["SAVED"]


SAVED = tuple(map(Schema.of, (PCCA, KPCCA, FDA, KFDA, LFDA, MMC, DMLEig)))
