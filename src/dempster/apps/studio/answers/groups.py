"""What each cluster is, and each group of ambiguous objects: its attributes beside those of the rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster.apps.studio.packing import plain
from dempster.apps.studio.runs import Run
from dempster.explain import Profile, profile

__all__ = ["profile_of", "profiles", "selection_profile"]

_MOST_OBJECTS = 100_000  # beyond, a sample is described
_MOST_FEATURES = 60
_MOST_GROUPS = 40
_MOST_DIFFERENT = 30  # values of a column of text, beyond which it names rather than describes


def profile_of(run: Run) -> tuple[Profile, np.ndarray]:
    """The profile of a run and the positions of the objects that it describes, all or a sample."""
    with run.lock:
        if "profile" not in run.kept:
            some = _some(len(run))
            table = described_columns(run, some)
            partition = run.partition if len(some) == len(run) else run.partition[some]
            clustered = [name for name in table.columns if name in set(run.values.columns)]
            run.kept["profile"] = profile(partition, table, clustered=clustered), some
        return run.kept["profile"]


def described_columns(run: Run, some: np.ndarray) -> Any:
    """The columns that were clustered and others that describe: numbers, dates, and text of a few values."""
    chosen = []
    used = set(run.values.columns)
    for name in run.table.columns:
        column = run.table[name]
        if name in used or column.dtype.kind in "iufbM" or column.iloc[some].nunique() <= _MOST_DIFFERENT:
            chosen.append(name)
    # the partition matches objects by the names that it has
    return run.table[chosen].iloc[some].set_axis(run.values.index[some], axis=0)


def profiles(run: Run) -> dict[str, Any]:
    """A row for each group: how many, typical objects, and how each attribute differs from the rest."""
    found, some = profile_of(run)
    statistics = found.statistics
    names = [feature.label for feature in found.features]
    worth = np.nan_to_num(np.abs(statistics["delta"])).max(axis=0, initial=0)
    kept = np.sort(np.argsort(-worth, kind="stable")[:_MOST_FEATURES])
    groups = []
    for g, group in enumerate(found.groups[:_MOST_GROUPS]):
        groups.append(
            {
                "name": group.name,
                "clusters": list(group.clusters),
                "n": len(group),
                "possible": group.n_possible,
                "typical": [str(name) for name in group.typical],
                "members": some[group.rows[:1]].tolist(),
                "mean": statistics["mean"][g, kept].tolist(),
                "std": statistics["std"][g, kept].tolist(),
                "delta": statistics["delta"][g, kept].tolist(),
            }
        )
    return plain(
        {
            "features": [names[k] for k in kept],
            "groups": groups,
            "sampled": len(some) if len(some) < len(run) else None,
            "more_groups": max(0, len(found.groups) - _MOST_GROUPS),
        }
    )


def selection_profile(run: Run, chosen: np.ndarray) -> list[dict[str, Any]]:
    """How the attributes of the selected objects differ from those of the others, the most different first."""
    inside = chosen[_some(len(run))]
    if not inside.any() or inside.all():
        return []
    some = _some(len(run))
    table = run.attributes.iloc[some]
    rows: list[dict[str, Any]] = []
    for name in table.columns:
        column = table[name]
        if column.dtype.kind not in "iufb":
            continue
        values = column.to_numpy(dtype=float)
        ours, others = values[inside], values[~inside]
        ours, others = ours[np.isfinite(ours)], others[np.isfinite(others)]
        if len(ours) and len(others):
            spread = float(np.concatenate([ours, others]).std()) or 1.0
            rows.append(
                {
                    "name": str(name),
                    "mean": float(ours.mean()),
                    "rest": float(others.mean()),
                    "low": float(ours.min()),
                    "high": float(ours.max()),
                    "difference": float((ours.mean() - others.mean()) / spread),
                }
            )
    rows.sort(key=lambda row: -abs(row["difference"]))
    return plain(rows[:12])


def _some(n: int) -> np.ndarray:
    if n <= _MOST_OBJECTS:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).choice(n, _MOST_OBJECTS, replace=False))
