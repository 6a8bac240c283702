"""Kernels: C compiled when the package is installed, called through ctypes, which releases the GIL."""

from dempster._native.binding import Kernel, interruptible, kernel

__all__ = ["Kernel", "kernel", "interruptible"]
