"""Arrays for the map: a line of JSON that says what follows, then the numbers as they lie in memory."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dempster._text import format_group
from dempster.explain import doubt_scores
from dempster.partition import CredalPartition

MEDIA_TYPE = "application/octet-stream"
STATIC_FOLDER = Path(__file__).parent / "static"
_ALIGNMENT_BYTES = 8  # typed arrays of the page need it
_KINDS = {"f4": "float32", "i4": "int32", "u1": "uint8", "u2": "uint16"}


def pack(arrays: Mapping[str, np.ndarray], **about: Any) -> bytes:
    """Pack arrays of float32, int32, uint16 or uint8, and anything JSON can hold about them; ``unpack`` of the script
    reads it."""
    pieces, fields, at = [], {}, 0
    for name, array in arrays.items():
        flat = np.ascontiguousarray(array)
        kind = _KINDS[flat.dtype.newbyteorder("=").str[1:]]
        content = flat.astype(flat.dtype.newbyteorder("<"), copy=False).tobytes()
        fields[name] = {"kind": kind, "at": at, "length": flat.size}
        padding = -len(content) % _ALIGNMENT_BYTES
        pieces += [content, bytes(padding)]
        at += len(content) + padding
    head = json.dumps({"arrays": fields, **to_plain(about)}, ensure_ascii=False, allow_nan=False).encode()
    head += b" " * (-(len(head) + 8) % _ALIGNMENT_BYTES)
    return b"".join([len(head).to_bytes(8, "little"), head, *pieces])


def pack_objects(
    partition: CredalPartition, rows: np.ndarray, arrays: Mapping[str, np.ndarray] | None = None, **about: Any
) -> bytes:
    """Pack what the map needs to know of each object: the set of clusters it is assigned to, its doubt and its row.

    Parameters
    ----------
    partition : CredalPartition
        The objects on the map.
    rows : (n,) array of int
        Positions of the objects in the table.
    arrays, about
        Further arrays and facts.
    """
    every = {
        "best": partition.best_set.astype(np.int32),
        "doubt": doubt_scores(partition).astype(np.float32),
        "rows": rows.astype(np.int32),
    }
    sets = [np.flatnonzero(members).tolist() for members in partition.focal_sets.membership]
    return pack({**every, **(arrays or {})}, n=len(partition), sets=sets, set_names=name_sets(partition), **about)


def name_sets(partition: CredalPartition) -> list[str]:
    """Return what each set of clusters says of an object: ``cluster 2``, ``between 2 and 3``, ``outlier``."""
    sets = [tuple(clusters) for clusters in partition.focal_sets]
    return [format_group(clusters, partition.frame) if clusters else "outlier" for clusters in sets]


def to_plain(value: Any) -> Any:
    """Convert a value to what JSON has: numbers that are not finite become null, objects of other types text."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, float | np.floating):
        number = float(value)
        return number if math.isfinite(number) else None
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, dict):
        return {str(key): to_plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, list | tuple):
        return [to_plain(one) for one in value]
    return str(value)
