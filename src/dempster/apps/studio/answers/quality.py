"""What doubt is worth: how good the partition is for the objects that are kept when the doubtful are put aside."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.apps.studio.packing import plain
from dempster.apps.studio.runs import Run
from dempster.dissimilarity.partial import filled
from dempster.explain import credal_silhouette, kept_curve

__all__ = ["curve"]

_SAMPLE = 2000
_SHARES = np.arange(10, 101, 5) / 100


def curve(run: Run, classes: str | None = None) -> dict[str, Any]:
    """Quality against the share of the objects that is kept, the surest first.

    Against a column of known classes it is the adjusted Rand index; without one, the mean silhouette of the labels.
    """
    question = f"curve {classes}"
    with run.lock:
        if question not in run.kept:
            run.kept[question] = _against(run, classes) if classes else _silhouettes(run)
        return run.kept[question]


def _against(run: Run, classes: str) -> dict[str, Any]:
    if classes not in run.table.columns:
        raise InvalidInputError(f"there is no column '{classes}'")
    known = run.table[classes].notna().to_numpy()
    if known.sum() < 2:
        raise InvalidInputError(f"the column '{classes}' has no classes")
    found = kept_curve(_bare(run.partition, known), run.table[classes][known].astype(str).to_numpy(), shares=_SHARES)
    return plain(
        {
            "share": found.share,
            "quality": found.quality,
            "measure": f"agreement with {classes} (adjusted Rand index)",
            "low": min(0.0, float(found.quality.min())),
        }
    )


def _bare(partition: Any, chosen: np.ndarray) -> Any:
    """Some objects, without names: they need not differ."""
    from dempster.partition import CredalPartition

    return CredalPartition(partition.masses[chosen], partition.focal_sets)


def _silhouettes(run: Run) -> dict[str, Any]:
    if run.partition.n_clusters < 2 or len(run) < 4:
        return {"share": [], "quality": [], "measure": "silhouette", "low": 0.0}
    everyone = np.ones(len(run), dtype=bool)
    size = _SAMPLE if len(run) > _SAMPLE else None
    found = credal_silhouette(_bare(run.partition, everyone), filled(run.numbers), sample_size=size, random_state=0)
    surest = np.argsort(run.doubt[found.objects], kind="stable")
    values = found.label_values[surest]
    good = np.isfinite(values)
    means = np.cumsum(np.where(good, values, 0)) / np.maximum(np.cumsum(good), 1)
    numbers = np.maximum((_SHARES * len(values) + 1e-9).astype(int), 1)
    quality = means[numbers - 1]
    return plain(
        {
            "share": _SHARES,
            "quality": quality,
            "measure": "mean silhouette" + (f" of {len(values):,} sampled objects" if found.is_sampled else ""),
            "low": min(0.0, float(quality.min())),
        }
    )
