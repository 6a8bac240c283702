"""Write the report on scaling, with an extrapolation to a billion objects."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.scale.data import CLUSTERS, WIDTH
from benchmarks.scale.plan import LARGEST, PLAN

__all__ = ["write_page"]

_KINDS = {
    "memory": "in memory",
    "parquet": "Parquet, one process",
    "blocks": "generated block by block, one process",
    "dask": "Parquet, two Dask workers",
    "beside": "in memory, all processors of the GPU machine",
    "gpu": "GPU, X in memory",
    "tensor": "GPU, X a tensor on the GPU",
}
_MANY = 10**9
_WORKERS = 100
_PRICE = 0.05  # dollars per processor hour
_READ = 100e6  # bytes per second that a worker reads
_OVERHEAD = 2.0  # seconds per pass for the scheduler


def write_page(known: dict[str, Any], page: Path) -> None:
    """Write the page from the records."""
    rows = sorted(
        known["rows"],
        key=lambda row: (list(_KINDS).index(row["kind"]), row["method"], row["n"]),
    )
    parts = [
        _head(rows),
        _table(rows),
        _lacking(rows),
        _gpu(rows),
        _growth(rows),
        _memory(rows),
        _outside(rows),
        _many(rows),
    ]
    page.write_text("\n\n".join(part for part in parts if part) + "\n")


def _head(rows: list[dict[str, Any]]) -> str:
    machines = sorted({row["machine"] for row in rows})
    loads = [row["load"] for row in rows]
    return f"""# Scaling from ten thousand to a billion objects

Written by `make scale`. `python -m benchmarks.scale --largest` adds the largest number of objects, and `--only gpu` the rows of a
GPU. Other rows keep their earlier measurements (`benchmarks/scale/records.json`).

The data have {CLUSTERS} Gaussian clusters in {WIDTH} columns of single precision, and 0.1 % outliers. Fits use default parameters and
include the labels of all objects; each one runs in a new process. *Elapsed* is wall-clock time, *processor* the total time of all
threads and workers. The machine was shared (load {min(loads):.0f} to {max(loads):.0f}), so the processor time is more reliable. *ARI*
is the agreement with the true clusters in the first block. Machines: {"; ".join(machines)}."""


def _table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| data | method | objects | elapsed | processor | passes | peak memory | ARI |",
        "|:--|:--|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        lines.append(
            f"| {_KINDS[row['kind']]} | {row['method']} | {row['n']:,} | {row['seconds']:.1f} s | "
            f"{row['processors']:.1f} s | {row['passes'] or ''} | {row['peak'] / 2**20:,.0f} MB | {row['ari']:.3f} |"
        )
    notes = (
        "Peak memory is that of the process with all imports (for Dask, of the driver only) and includes data in memory. "
        "MiniBatchKMeans returns labels only."
    )
    return "\n".join(lines) + "\n\n" + notes


def _lacking(rows: list[dict[str, Any]]) -> str:
    """List planned measurements that are missing."""
    known = {(row["kind"], row["method"], row["n"]) for row in rows}
    planned = [*PLAN, ("blocks", "ECM", (LARGEST,))]
    lacking = [
        f"{method}, {_KINDS[kind]} ({', '.join(f'{n:,}' for n in left)})"
        for kind, method, sizes in planned
        if (left := [n for n in sizes if (kind, method, n) not in known])
    ]
    if lacking:
        return f"Planned, but not measured: {'; '.join(lacking)}."
    return ""


def _gpu(rows: list[dict[str, Any]]) -> str:
    """Compare the GPU with the processors of the same machine."""
    seconds = {(row["kind"], row["method"], row["n"]): row["seconds"] for row in rows}
    lines = [
        "| method | objects | processors | GPU, X in memory | speedup | GPU, X a tensor on the GPU | speedup |",
        "|:--|--:|--:|--:|--:|--:|--:|",
    ]
    for method, n in [(method, n) for kind, method, n in seconds if kind == "beside"]:
        row = f"| {method} | {n:,} | {(slow := seconds['beside', method, n]):.1f} s |"
        for kind in ("gpu", "tensor"):
            quick = seconds.get((kind, method, n))
            row += " | |" if quick is None else f" {quick:.2f} s | {slow / quick:.1f} |"
        lines.append(row)
    if len(lines) == 2:
        return ""
    machine = next(row["machine"] for row in rows if row["kind"] == "beside")
    words = (
        f"{machine}. The time includes the masses of all objects, which are copied to main memory if X is there. "
        "The initialization of the GPU, which takes some seconds, is not included."
    )
    return "\n".join(["## Speedup by a GPU", "", words, "", *lines])


def _slope(rows: Iterable[dict[str, Any]]) -> float | None:
    """Return the slope of log time against log number of objects, for at least 100,000 objects."""
    points = [(row["n"], row["processors"]) for row in rows if row["n"] >= 10**5]
    if len(points) < 2:
        return None
    n, seconds = np.log(np.array(points, dtype=float).T)
    return float(np.polyfit(n, seconds, 1)[0])


def _growth(rows: list[dict[str, Any]]) -> str:
    lines = [
        "## Growth",
        "",
        "Slope of log processor time against log number of objects, from 100,000 objects (1 is linear):",
        "",
    ]
    for kind, method in dict.fromkeys((row["kind"], row["method"]) for row in rows):
        slope = _slope(
            row for row in rows if (row["kind"], row["method"]) == (kind, method)
        )
        if slope is not None:
            lines.append(f"- {method}, {_KINDS[kind]}: {slope:.2f}")
    lines += [
        "",
        "Slopes below 1 are due to fixed costs: ten starts are compared on a sample of 20,000 objects.",
    ]
    return "\n".join(lines)


def _memory(rows: list[dict[str, Any]]) -> str:
    flat = [row for row in rows if row["kind"] == "blocks"]
    if len(flat) < 2:
        return ""
    sizes = ", ".join(
        f"{row['n']:,} objects {row['peak'] / 2**20:,.0f} MB" for row in flat
    )
    first = flat[0]
    last = flat[-1]
    change = (last["peak"] - first["peak"]) / 2**20
    return f"""## Memory

ECM on blocks generated in one process: {sizes}. The peak memory changes by {change:,.0f} MB, while the data grow by
{4 * WIDTH * (last["n"] - first["n"]) / 2**20:,.0f} MB. (With Parquet, PyArrow adds buffers.) A pass stores only counts and a sample of
20,000 objects, so a billion objects should need the same memory and {_MANY / last["n"]:,.0f} times the time of the last row. This is an
extrapolation."""


def _outside(rows: list[dict[str, Any]]) -> str:
    lines = [
        "## Time outside the kernels",
        "",
        "Share of the processor time of ECM, by number of objects:",
        "",
    ]
    for kind in ("memory", "parquet", "blocks"):
        sizes = [
            f"{row['n']:,} {row['outside']:.0%}"
            for row in rows
            if row["kind"] == kind
            and row["method"] == "ECM"
            and row["outside"] is not None
        ]
        if sizes:
            lines.append(f"- {_KINDS[kind]}: {', '.join(sizes)}")
    lines += [
        "",
        "This is the time for reading, validation, copying, sampling and Python code, and for generating blocks.",
    ]
    return "\n".join(lines)


def _many(rows: list[dict[str, Any]]) -> str:
    measured = [
        row for row in rows if row["kind"] == "parquet" and row["method"] == "ECM"
    ]
    if not measured:
        return ""
    row = measured[-1]
    passes = row["passes"] + 1  # one more for the labels
    rate = passes * row["n"] / row["processors"]
    reading = _READ / (4 * WIDTH)
    slowest = min(rate, reading)
    seconds = passes * (_MANY / _WORKERS / slowest + _OVERHEAD)
    cost = seconds / 3600 * _WORKERS * _PRICE
    if reading < rate:
        bottleneck = "reading"
    else:
        bottleneck = "computation"
    return f"""## Estimate for a billion objects on a hundred workers

This is an estimate, not a measurement. One processor handles {rate / 1e6:.1f} million rows per second and pass, including reading
({row["n"]:,} objects from Parquet, {passes} passes including the labels). Each of a hundred single-processor workers has ten
million rows, {4 * WIDTH * _MANY / _WORKERS / 2**20:,.0f} MB. A worker that reads {_READ / 1e6:.0f} MB per second from storage reads
{reading / 1e6:.1f} million rows per second, so {bottleneck} is the bottleneck. With {_OVERHEAD:.0f} s per pass for the scheduler, the fit with
the labels takes {seconds / 60:.1f} minutes and, at {_PRICE} dollars per processor hour, costs {cost:.2f} dollars. With `persist()`, which needs
{4 * WIDTH * _MANY / 2**30:,.0f} GB of memory on all workers together, only the first pass reads.

The estimate assumes the same number of passes (overlapping clusters need more), equally fast workers, and no failures."""
