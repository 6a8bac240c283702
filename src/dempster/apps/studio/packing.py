"""Arrays for the page: a line of JSON that says what follows, then the numbers as they lie in memory."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

__all__ = ["packed", "plain", "MEDIA_TYPE"]

MEDIA_TYPE = "application/octet-stream"
_ALIGNED = 8  # bytes, so that the page can look at the numbers where they are
_KINDS = {"f4": "float32", "i4": "int32", "u1": "uint8", "u2": "uint16"}


def packed(arrays: dict[str, np.ndarray], **about: Any) -> bytes:
    """Several arrays, of float32, int32, uint16 or uint8, and anything JSON can hold about them."""
    pieces, fields, at = [], {}, 0
    for name, array in arrays.items():
        flat = np.ascontiguousarray(array)
        kind = _KINDS[flat.dtype.newbyteorder("=").str[1:]]
        content = flat.astype(flat.dtype.newbyteorder("<"), copy=False).tobytes()
        fields[name] = {"kind": kind, "at": at, "length": flat.size}
        padding = -len(content) % _ALIGNED
        pieces += [content, bytes(padding)]
        at += len(content) + padding
    head = json.dumps({"arrays": fields, **plain(about)}, ensure_ascii=False, allow_nan=False).encode()
    head += b" " * (-(len(head) + 8) % _ALIGNED)
    return b"".join([len(head).to_bytes(8, "little"), head, *pieces])


def plain(value: Any) -> Any:
    """The same in what JSON has: numbers of NumPy become Python's, what is no finite number becomes null, and names of
    any other kind text."""
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
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return str(value)
