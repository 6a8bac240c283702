"""Hash of the C sources, which compiled kernels contain.

This module imports only the standard library, because ``build_kernels.py`` loads it before any
dependency is installed.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.c"))


def headers() -> list[Path]:
    return sorted(PACKAGE.rglob("*.h"))


def fingerprint() -> str | None:
    """Return a hash of all C sources, or None if there are none (in an installed wheel)."""
    files = [*sources(), *headers()]
    if files:
        return hash_parts(*(file.read_bytes() for file in files))
    return None


def hash_parts(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]
