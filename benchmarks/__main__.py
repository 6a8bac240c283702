"""Run the benchmarks: ``python -m benchmarks``."""

from __future__ import annotations

import importlib
import json
import os
import platform
import time
import traceback
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.harness import Benchmark, Row, discover, skipped

_PACKAGES = (
    "dempster",
    "numpy",
    "scipy",
    "scikit-learn",
    "torch",
    "evclust",
    "scikit-fuzzy",
    "daqp",
)
_WIDTH_OF_FILES = 170  # columns if the output is not a terminal
_HEADINGS = (
    "benchmark",
    "measured",
    "time",
    "noise",
    "memory",
    "quality",
    "ratio",
    "target",
    "met",
)
_LEGEND = (
    "time: minimum of several repetitions, interleaved with those of the implementation it is compared with, except in "
    "“all” (for an iteration: median difference of two consecutive fits); noise: excess of the median over the minimum; "
    "memory: increase of the peak memory in a new process; ratio: to the implementation named under “measured”."
)


@click.command()
@click.option(
    "--only",
    metavar="NAME",
    multiple=True,
    help="A subject (ecm) or one benchmark (ecm.growth); repeatable.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Use small sizes to check that everything runs; targets are not evaluated.",
)
@click.option(
    "--json",
    "json_path",
    type=click.Path(path_type=Path),
    help="Also write the rows to this file.",
)
@click.option(
    "--markdown",
    type=click.Path(path_type=Path),
    help="Also write the table to this file, as Markdown.",
)
def main(
    only: tuple[str, ...], quick: bool, json_path: Path | None, markdown: Path | None
) -> None:
    """Measure time, peak memory and quality of dempster and of other implementations."""
    chosen = _chosen(discover(), only)
    progress = Console(stderr=True)
    rows: dict[str, list[Row]] = {}
    failed = False
    began = time.perf_counter()
    for number, (name, function) in enumerate(chosen.items(), 1):
        passed = (time.perf_counter() - began) / 60
        progress.print(
            f"[{number}/{len(chosen)}] {name}, after {passed:.1f} minutes",
            highlight=False,
            markup=False,
        )
        try:
            rows[name] = function(quick)
        except Exception as error:  # The other benchmarks can still run.
            traceback.print_exc()
            rows[name] = [skipped(name, f"failed: {type(error).__name__}: {error}")]
            failed = True
        if quick:
            for row in rows[name]:
                row.met = None
    environment = _environment(quick, (time.perf_counter() - began) / 60)
    _show(rows, environment)
    if json_path is not None:
        record = [
            {"benchmark": name, **asdict(row)}
            for name, some in rows.items()
            for row in some
        ]
        json_path.write_text(
            json.dumps({"environment": environment, "rows": record}, indent=1) + "\n"
        )
    if markdown is not None:
        markdown.write_text(_markdown(rows, environment), encoding="utf-8")
    raise SystemExit(1 if failed else 0)


def _chosen(every: dict[str, Benchmark], only: tuple[str, ...]) -> dict[str, Benchmark]:
    for name in only:
        if not any(name in (full, full.split(".")[0]) for full in every):
            raise click.BadParameter(
                f"{name!r} is none of {', '.join(every)}", param_hint="--only"
            )
    return {
        full: function
        for full, function in every.items()
        if not only or {full, full.split(".")[0]} & set(only)
    }


def _environment(quick: bool, minutes: float) -> dict[str, Any]:
    return {
        "minutes": minutes,
        "python": platform.python_version(),
        "processor": platform.machine(),
        "processors": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "quick": quick,
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _show(rows: dict[str, list[Row]], environment: dict[str, Any]) -> None:
    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH_OF_FILES)
    table = Table(
        title="dempster: time, memory and quality"
        + (" (quick: small sizes)" if environment["quick"] else "")
    )
    for heading in _HEADINGS:
        if heading in ("benchmark", "measured", "quality"):
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(
                heading, justify="center" if heading == "met" else "right", no_wrap=True
            )
    for some in rows.values():
        for row in some:
            colour = {"yes": "[green]yes[/]", "NO": "[bold red]NO[/]", "": ""}
            *cells, met = _cells(row)
            table.add_row(*map(escape, cells), colour[met])
        table.add_section()
    console.print(table)
    console.print(
        "; ".join(
            f"{name} {number}" for name, number in environment["packages"].items()
        ),
        highlight=False,
    )
    if environment["load"] is None:
        load = ""
    else:
        load = f", load average {environment['load']:.1f}"
    console.print(
        f"{environment['processors']} processors ({environment['processor']}){load}",
        highlight=False,
    )
    console.print(_LEGEND, style="dim", highlight=False)
    if targets := _targets(rows):
        console.print(targets, style="bold", highlight=False)


def _targets(rows: dict[str, list[Row]]) -> str:
    judged = [row.met for some in rows.values() for row in some if row.met is not None]
    if judged:
        return f"{sum(judged)} of {len(judged)} targets met"
    return ""


def _markdown(rows: dict[str, list[Row]], environment: dict[str, Any]) -> str:
    """Return the report: one table for each module of benchmarks, and a description of the machine."""
    packages = ", ".join(
        f"{name} {number}" for name, number in environment["packages"].items()
    )
    lines = [
        "# Time, memory and quality",
        "",
        "Written by `make benchmark`"
        + (" (quick: small sizes)." if environment["quick"] else ".")
        + f" It took {environment['minutes']:.0f} minutes.",
        "",
        f"Measured on {environment['processors']} processors ({environment['processor']}) with "
        f"Python {environment['python']}, {packages}.",
        "",
        _LEGEND[0].upper() + _LEGEND[1:],
    ]
    if targets := _targets(rows):
        lines += ["", f"**{targets}.**"]
    for subject in dict.fromkeys(name.split(".")[0] for name in rows):
        about = importlib.import_module(f"benchmarks.bench_{subject}").__doc__ or ""
        lines += [
            "",
            f"## {subject}",
            "",
            about.strip().splitlines()[0] if about else "",
            "",
        ]
        lines += [_line(_HEADINGS), "|:--|:--|--:|--:|--:|:--|--:|--:|:-:|"]
        lines += [
            _line(_cells(row))
            for name, some in rows.items()
            if name.split(".")[0] == subject
            for row in some
        ]
    return "\n".join(lines) + "\n"


def _line(cells: tuple[str, ...]) -> str:
    return (
        "| "
        + " | ".join(" ".join(cell.split()).replace("|", "\\|") for cell in cells)
        + " |"
    )


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.name,
        row.measured,
        _duration(row.seconds),
        "" if row.noise is None else f"+{row.noise:.0%}",
        "" if row.peak_bytes is None else f"{row.peak_bytes / 1e6:,.0f} MB",
        "; ".join(filter(None, [row.quality, row.note])),
        ""
        if row.ratio is None
        else f"{row.ratio:,.3g}"
        if row.ratio < 1000
        else f"{row.ratio:,.0f}",
        row.target,
        {True: "yes", False: "NO", None: ""}[row.met],
    )


def _duration(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.3g} ms"


if __name__ == "__main__":
    main()
