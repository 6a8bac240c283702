"""The compiled library: found beside this file, the one that the processor can run fastest, loaded once."""

from __future__ import annotations

import ctypes
import functools
import os

from dempster._native import build

__all__ = ["library"]

_REMEDY = "install dempster again (`pip install .` compiles it) or, in a checkout, run `make kernels`"


@functools.cache
def library() -> ctypes.CDLL:
    """The kernels. The environment variable DEMPSTER_KERNELS names another library to take, as it is."""
    chosen = os.environ.get("DEMPSTER_KERNELS")
    if chosen:
        return _load(chosen)
    names = build.library_names(build.Target.this_machine())
    there = [name for name in names if (build.HERE / name).exists()] or names[:1]
    kernels = _load(str(build.HERE / there[0]))
    if there[-1] != names[0]:  # the faster kind
        if kernels.library_has_avx2():
            kernels = _load(str(build.HERE / there[-1]))
        elif len(there) == 1:
            raise ImportError(f"the kernels of dempster were compiled for another processor than this one: {_REMEDY}")
    _check_age(kernels)
    return kernels


def _load(path: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"the compiled kernels of dempster cannot be loaded ({error}): {_REMEDY}") from error


def _check_age(kernels: ctypes.CDLL) -> None:
    """Refuse a library that was compiled from other C text than stands beside it: its arguments may have changed."""
    present = build.fingerprint()
    if present is None:
        return
    found = ctypes.create_string_buffer(17)
    kernels.library_fingerprint(found)
    if found.value.decode() != present:
        raise ImportError("the C sources of dempster have changed since its kernels were compiled: run `make kernels`")
