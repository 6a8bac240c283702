"""Join the scripts of the map, and pack its data as a JSON header and binary arrays."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dempster._text import format_group, to_plain
from dempster.explain import doubt_scores
from dempster.partition import CredalPartition

MEDIA_TYPE = "application/octet-stream"
STATIC_FOLDER = Path(__file__).parent / "static"
_ALIGNMENT_BYTES = 8  # required by typed arrays in JavaScript


def join_modules(files: Iterable[Path]) -> str:
    """Join JavaScript modules, in the order of their dependencies, to one without imports."""
    lines = (
        line
        for file in files
        for line in file.read_text(encoding="utf-8").splitlines(keepends=True)
    )
    return "".join(line for line in lines if not line.startswith("import "))


def pack(arrays: Mapping[str, np.ndarray], **about: Any) -> bytes:
    """Pack arrays of float32, int32, uint16 or uint8, and further values, which are stored as JSON.

    The function ``unpack`` in scatter.js reads this format.
    """
    pieces = []
    fields = {}
    at = 0
    for name, array in arrays.items():
        content = array.tobytes()
        fields[name] = {"kind": array.dtype.name, "at": at, "length": array.size}
        padding = -len(content) % _ALIGNMENT_BYTES
        pieces += [content, bytes(padding)]
        at += len(content) + padding
    head = json.dumps(
        {"arrays": fields, **to_plain(about)}, ensure_ascii=False, allow_nan=False
    ).encode()
    head += b" " * (-(len(head) + 8) % _ALIGNMENT_BYTES)
    return b"".join([len(head).to_bytes(8, "little"), head, *pieces])


def pack_objects(
    partition: CredalPartition,
    rows: np.ndarray,
    arrays: Mapping[str, np.ndarray],
    **about: Any,
) -> bytes:
    """Pack the set of clusters, the doubt and the row of each object, and further values."""
    common = {
        "best": partition.best_set.astype(np.int32),
        "doubt": doubt_scores(partition).astype(np.float32),
        "rows": rows.astype(np.int32),
    }
    sets = list(partition.focal_sets)
    about = {"sets": sets, "set_names": name_sets(partition), **about}
    return pack({**common, **arrays}, n=len(partition), **about)


def name_sets(partition: CredalPartition) -> list[str]:
    """Return the names of the sets, such as "cluster 2", "between 2 and 3" or "outlier"."""
    frame = partition.frame
    sets = [list(clusters) for clusters in partition.focal_sets]
    if all(isinstance(name, int) for name in frame):
        sets = [sorted(clusters, key=frame.__getitem__) for clusters in sets]
    return [
        format_group(clusters, frame) if clusters else "outlier" for clusters in sets
    ]
