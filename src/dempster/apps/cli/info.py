"""``dempster info``: show versions, devices, threads, kernels and caches."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from dempster import __version__
from dempster.apps.cli.shared import Command, Screen, screen_options

_NEEDED = ("numpy", "scipy", "scikit-learn", "pandas", "matplotlib", "click", "rich")
_EXTRAS = (
    "torch",
    "safetensors",
    "pyarrow",
    "polars",
    "dask",
    "pynndescent",
    "openpyxl",
    "onnx",
    "starlette",
)
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "DEMPSTER_KERNELS",
)


@click.command(cls=Command, examples=("dempster info --json",))
@screen_options
def info(screen: Screen) -> None:
    """Show versions, devices, threads, compiled kernels and caches, to include in a bug report."""
    with screen.progress("detecting devices"):
        devices = _devices()
    n_processors = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        n_processors = len(os.sched_getaffinity(0))
    variables = {name: os.environ[name] for name in _THREADS if name in os.environ}
    sections: dict[str, dict[str, Any]] = {
        "program": {
            "dempster": __version__,
            "python": platform.python_version(),
            "system": platform.platform(),
        },
        "libraries": {name: _version(name) for name in _NEEDED},
        "extras": {name: _version(name) for name in _EXTRAS},
        "devices": devices,
        "threads": {"processors": n_processors, **variables},
        "kernels": _kernels(),
        "caches": _caches(),
    }
    for title, lines in sections.items():
        screen.print(title, style="bold")
        for name, value in lines.items():
            screen.print(f"  {name:24} {'not installed' if value is None else value}")
    screen.print_document("info", **sections)


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _devices() -> dict[str, str]:
    """Return descriptions of the processor and of the GPUs that torch detects."""
    devices = {"cpu": platform.processor() or platform.machine()}
    if find_spec("torch") is None:
        return devices | {"cuda": "needs torch (pip install 'dempster[nn]')"}
    import torch

    if not torch.cuda.is_available():
        return devices | {"cuda": "none"}
    for k in range(torch.cuda.device_count()):
        memory = torch.cuda.get_device_properties(k).total_memory / 2**30
        devices[f"cuda:{k}"] = f"{torch.cuda.get_device_name(k)}, {memory:.0f} GB"
    return devices


def _kernels() -> dict[str, str]:
    from dempster._native.binding import library_path

    try:
        path = library_path()
    except ImportError as error:
        return {"library": f"not loaded: {error}"}
    return {"library": path.name, "size": f"{path.stat().st_size / 1024:,.0f} KB"}


def _caches() -> dict[str, str]:
    """Return a description of the folder for downloaded datasets, with its size."""
    from sklearn.datasets import get_data_home

    home = Path(get_data_home())
    size = sum(file.stat().st_size for file in home.rglob("*") if file.is_file())
    return {"datasets": f"{home} ({size / 2**20:,.1f} MB)"}
