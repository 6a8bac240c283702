"""Kernels: C functions, compiled at installation and called through ctypes without the GIL."""

from dempster._native.binding import Kernel, interruptible, kernel

__all__ = ["Kernel", "kernel", "interruptible"]
