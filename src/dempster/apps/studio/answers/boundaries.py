"""The border of two clusters: who lies on it, from one side to the other, and what tells the sides apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster.apps.studio.answers.groups import profile_of
from dempster.apps.studio.packing import plain
from dempster.apps.studio.runs import Run

__all__ = ["boundary", "boundaries"]

_MOST_OBJECTS = 400
_LEAST_SHARE = 0.02  # of the plausibility of the two, that the less plausible one must have
_MOST_ATTRIBUTES = 12


def boundaries(run: Run) -> list[dict[str, Any]]:
    """Pairs of clusters with ambiguous objects between them, the most first; then those that are second best often."""
    first, second, share = _rivals(run)
    ambiguous = run.partition.focal_sets.cardinality[run.partition.best_set] > 1
    near = share >= 0.2
    c = run.partition.n_clusters
    low, high = np.minimum(first, second), np.maximum(first, second)
    code = low * c + high
    torn = np.bincount(code[ambiguous], minlength=c * c)
    close = np.bincount(code[near], minlength=c * c)
    order = [int(k) for k in np.lexsort((-close, -torn)) if torn[k] or close[k]]
    frame = [str(name) for name in run.partition.frame]
    return [
        {"a": k // c, "b": k % c, "names": [frame[k // c], frame[k % c]], "torn": int(torn[k]), "close": int(close[k])}
        for k in order[:60]
    ]


def boundary(run: Run, a: int, b: int) -> dict[str, Any]:
    """Objects whose two most plausible clusters are these, in the order from the first to the second."""
    c = run.partition.n_clusters
    if not (0 <= a < c and 0 <= b < c and a != b):
        raise InvalidInputError(f"a boundary lies between two different clusters from 0 to {c - 1}, got {a} and {b}")
    first, second, share = _rivals(run)
    here = ((first == a) & (second == b)) | ((first == b) & (second == a))
    who = np.flatnonzero(here & (share >= _LEAST_SHARE))
    towards = np.where(first[who] == b, 1 - share[who], share[who])  # 0: all for a, 1: all for b
    if len(who) > _MOST_OBJECTS:  # those nearest to the middle
        nearest = np.sort(np.argsort(np.abs(towards - 0.5), kind="stable")[:_MOST_OBJECTS])
        who, towards = who[nearest], towards[nearest]
    order = np.argsort(towards, kind="stable")
    objects = [
        {
            "position": int(i),
            "name": run.names[i],
            "towards": float(t),
            "set": int(run.partition.best_set[i]),
        }
        for i, t in zip(who[order], towards[order], strict=True)
    ]
    frame = list(run.partition.frame)
    return plain(
        {
            "a": a,
            "b": b,
            "names": [str(frame[a]), str(frame[b])],
            "objects": objects,
            "n": int((here & (share >= _LEAST_SHARE)).sum()),
            "apart": _apart(run, frame[a], frame[b]),
        }
    )


def _rivals(run: Run) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The two most plausible clusters of each object, and the share of the second in their plausibility."""
    contour = np.asarray(run.partition.contour, dtype=float)
    if contour.shape[1] < 2:
        nobody = np.zeros(len(contour), dtype=np.intp)
        return nobody, nobody, np.zeros(len(contour))
    rows = np.arange(len(contour))
    top = np.argpartition(-contour, 1, axis=1)[:, :2]
    swap = contour[rows, top[:, 1]] > contour[rows, top[:, 0]]
    top[swap] = top[swap][:, ::-1]
    first, second = contour[rows, top[:, 0]], contour[rows, top[:, 1]]
    total = first + second
    return top[:, 0], top[:, 1], np.divide(second, total, out=np.zeros(len(total)), where=total > 0)


def _apart(run: Run, a: Any, b: Any) -> list[dict[str, Any]]:
    """The attributes that tell the certain objects of the two apart, the best first."""
    found, _ = profile_of(run)
    try:
        table = found.tells_apart(a, b)
    except ValueError:
        return []  # one of them has no certain object
    rows = []
    for name, row in table.head(_MOST_ATTRIBUTES).iterrows():
        if row["separation"] > 0:
            rows.append(
                {
                    "attribute": str(name),
                    "separation": row["separation"],
                    "rule": row["rule"],
                    "threshold": row["threshold"],
                    "clustered": bool(row["clustered"]),
                }
            )
    return rows
