"""The page of what was measured, and what follows from it for a thousand million objects."""

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
    "blocks": "made block by block, one process",
    "dask": "Parquet, two workers of Dask",
    "beside": "in memory, all processors beside the GPU",
    "gpu": "GPU, X in memory",
    "tensor": "GPU, X a tensor there",
}
_MANY, _WORKERS = 10**9, 100
_PRICE = 0.05  # dollars an hour for a processor
_READ = 100e6  # bytes a second that a worker reads from storage
_OVERHEAD = 2.0  # seconds of a pass for the graph of tasks and the tree of sums


def write_page(known: dict[str, Any], page: Path) -> None:
    """Write the page from the records."""
    rows = sorted(known["rows"], key=lambda row: (list(_KINDS).index(row["kind"]), row["method"], row["n"]))
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
    return f"""# From ten thousand objects to a thousand million

`make scale` measures this and writes the page; `python -m benchmarks.scale --largest` adds the largest number, and
`--only gpu` the rows of a GPU, on a machine that has one. What is not measured again stays as it was
(`benchmarks/scale/records.json`).

{CLUSTERS} Gaussian clusters in {WIDTH} attributes of single precision, one object in a thousand an outlier, defaults,
labels of all objects included; every measurement in a process of its own. *On the clock* are seconds as they passed,
*processors* the seconds that all threads and workers worked: other work went on on the machine (load
{min(loads):.0f} to {max(loads):.0f}), so that the second number is the one to go by. *ARI* is the
agreement with the truth for objects of the first block. Machines: {"; ".join(machines)}."""


def _table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "| objects come | method | number | on the clock | processors | passes | peak memory | ARI |",
        "|:--|:--|--:|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        lines.append(
            f"| {_KINDS[row['kind']]} | {row['method']} | {row['n']:,} | {row['seconds']:.1f} s | "
            f"{row['processors']:.1f} s | {row['passes'] or ''} | {row['peak'] / 2**20:,.0f} MB | {row['ari']:.3f} |"
        )
    notes = (
        "Peak memory is that of the process with everything it imports, for Dask of the driver alone; in memory it "
        "includes the objects. MiniBatchKMeans gives one label an object and no measure of doubt."
    )
    return "\n".join(lines) + "\n\n" + notes


def _lacking(rows: list[dict[str, Any]]) -> str:
    """What is planned and was not measured, so that nobody takes the table for all of it."""
    known = {(row["kind"], row["method"], row["n"]) for row in rows}
    planned = [*PLAN, ("blocks", "ECM", (LARGEST,))]
    lacking = [
        f"{method}, {_KINDS[kind]} ({', '.join(f'{n:,}' for n in left)})"
        for kind, method, sizes in planned
        if (left := [n for n in sizes if (kind, method, n) not in known])
    ]
    return f"Planned, and not measured so far: {'; '.join(lacking)}." if lacking else ""


def _gpu(rows: list[dict[str, Any]]) -> str:
    """How many times faster a GPU is than the processors beside it."""
    seconds = {(row["kind"], row["method"], row["n"]): row["seconds"] for row in rows}
    lines = [
        "| method | number | processors | GPU, X in memory | times | GPU, X a tensor there | times |",
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
        f"{machine}. Masses of all objects are found and checked; where X is in memory, they come back there. "
        "A process needs some seconds for its first work on a GPU, which are not counted."
    )
    return "\n".join(["## What a GPU gains", "", words, "", *lines])


def _slope(rows: Iterable[dict[str, Any]]) -> float | None:
    """Of the logarithm of the seconds of processors over that of the number, where fixed costs no longer count."""
    points = [(row["n"], row["processors"]) for row in rows if row["n"] >= 10**5]
    if len(points) < 2:
        return None
    n, seconds = np.log(np.array(points, dtype=float).T)
    return float(np.polyfit(n, seconds, 1)[0])


def _growth(rows: list[dict[str, Any]]) -> str:
    lines = ["## How cost grows", "", "Slope of the seconds of processors, from 100,000 objects on (1 is linear):", ""]
    for kind, method in dict.fromkeys((row["kind"], row["method"]) for row in rows):
        slope = _slope(row for row in rows if (row["kind"], row["method"]) == (kind, method))
        if slope is not None:
            lines.append(f"- {method}, {_KINDS[kind]}: {slope:.2f}")
    lines += ["", "Below 1, fixed costs still count: ten starts compete on a sample of 20,000 objects."]
    return "\n".join(lines)


def _memory(rows: list[dict[str, Any]]) -> str:
    flat = [row for row in rows if row["kind"] == "blocks"]
    if len(flat) < 2:
        return ""
    told = ", ".join(f"{row['n']:,} objects {row['peak'] / 2**20:,.0f} MB" for row in flat)
    first, last = flat[0], flat[-1]
    change = (last["peak"] - first["peak"]) / 2**20
    return f"""## Memory stays flat

ECM on objects made block by block, one process: {told}. That is a change of {change:,.0f} MB, where the objects
themselves are {4 * WIDTH * (last["n"] - first["n"]) / 2**20:,.0f} MB more. (From Parquet some is added by what PyArrow
keeps at hand.) Nothing in a pass depends on how many objects came before
but their count and a sample of 20,000, so a thousand million take the same memory and {_MANY / last["n"]:,.0f} times
the time of the last row: extrapolated, not measured."""


def _outside(rows: list[dict[str, Any]]) -> str:
    lines = ["## What is not spent in the kernels", "", "Share of the seconds of processors of ECM, by the number:", ""]
    for kind in ("memory", "parquet", "blocks"):
        told = [
            f"{row['n']:,} {row['outside']:.0%}"
            for row in rows
            if row["kind"] == kind and row["method"] == "ECM" and row["outside"] is not None
        ]
        if told:
            lines.append(f"- {_KINDS[kind]}: {', '.join(told)}")
    lines += ["", "Reading, checking, copying, drawing and sorting the sample, Python; for blocks also making them."]
    return "\n".join(lines)


def _many(rows: list[dict[str, Any]]) -> str:
    measured = [row for row in rows if row["kind"] == "parquet" and row["method"] == "ECM"]
    if not measured:
        return ""
    row = measured[-1]
    passes = row["passes"] + 1  # and one for the labels
    rate = passes * row["n"] / row["processors"]
    reading = _READ / (4 * WIDTH)
    slowest = min(rate, reading)
    seconds = passes * (_MANY / _WORKERS / slowest + _OVERHEAD)
    cost = seconds / 3600 * _WORKERS * _PRICE
    decides = "reading" if reading < rate else "computing"
    return f"""## A thousand million objects on a hundred workers, on paper

Nobody measured this. One processor does {rate / 1e6:.1f} million rows a second and pass, reading included ({row["n"]:,}
objects from Parquet, {passes} passes with that for the labels). Each of a hundred workers of one processor has ten
million rows, {4 * WIDTH * _MANY / _WORKERS / 2**20:,.0f} MB. One that reads {_READ / 1e6:.0f} MB a second from storage
reads {reading / 1e6:.1f} million rows a second, so {decides} decides. With {_OVERHEAD:.0f} s a pass for tasks and sums,
the fit with the labels takes {seconds / 60:.1f} minutes, and at {_PRICE} dollars an hour for a processor it costs
{cost:.2f} dollars. With `persist()`, for which all workers together need {4 * WIDTH * _MANY / 2**30:,.0f} GB of memory,
only the first pass reads.

Assumed: as many passes as here (clusters that are harder to tell apart need more), workers that are equally fast, none
that is lost."""
