"""The kernels: C compiled when the package is installed, seen through ctypes, which releases the GIL.

A module declares the kernels it needs and wraps them in plain functions; `dempster._native.binding` says how a
declaration reads and what is checked before a kernel runs.
"""

from dempster._native.binding import Kernel, kernel
from dempster._native.interrupts import interruptible

__all__ = ["Kernel", "kernel", "interruptible"]
