"""Kernels: C functions, compiled at installation and called through ctypes without the GIL."""

from dempster._native.binding import HAS_THREADS, Kernel, interruptible, kernel

__all__ = ["HAS_THREADS", "Kernel", "kernel", "interruptible"]
