"""Command ``python -m benchmarks.scale``: measure and write the page."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from benchmarks.scale.page import write_page
from benchmarks.scale.plan import LARGEST, ON_GPU, PLAN

_HERE = Path(__file__).resolve().parent
_PAGE = _HERE.parent / "SCALE.md"
_RECORDS = _HERE / "records.json"
_SECONDS = 1800  # limit of a measurement


@click.command()
@click.option(
    "--page", type=click.Path(path_type=Path), default=_PAGE, show_default="SCALE.md"
)
@click.option(
    "--records",
    type=click.Path(path_type=Path),
    default=_RECORDS,
    show_default="scale/records.json",
    help="Where measurements are kept. What cannot be measured here (a GPU, the largest) stays as it was.",
)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(["memory", "parquet", "dask", "blocks", "gpu"]),
)
@click.option(
    "--most", type=int, default=10**7, show_default=True, help="Objects at most."
)
@click.option(
    "--largest",
    is_flag=True,
    help="Also 10^8 objects, block by block, once (several minutes).",
)
@click.option("--from-records", is_flag=True, help="Measure nothing; write the page.")
def main(
    page: Path,
    records: Path,
    only: tuple[str, ...],
    most: int,
    largest: bool,
    from_records: bool,
) -> None:
    """Measure time, memory and quality against the number of objects and extrapolate to a billion."""
    console = Console(stderr=True)
    if records.exists():
        known = json.loads(records.read_text())
    else:
        known = {"rows": []}
    if not from_records:
        for row in _planned(only, most, largest):
            found = _measured(row, console)
            if found is not None:
                _keep(known, found)
                records.write_text(json.dumps(known, indent=1) + "\n")
    write_page(known, page)
    console.print(f"{page} written")


def _planned(only: tuple[str, ...], most: int, largest: bool) -> list[dict[str, Any]]:
    rows = [
        {"kind": kind, "method": method, "n": n}
        for kind, method, sizes in PLAN
        for n in sizes
        if (not only or (kind if kind not in ON_GPU else "gpu") in only)
        and (n <= most or kind in ON_GPU)
        and (kind not in ON_GPU or _has_gpu())
    ]
    if largest:
        return [*rows, {"kind": "blocks", "method": "ECM", "n": LARGEST}]
    return rows


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def _measured(row: dict[str, Any], console: Console) -> dict[str, Any] | None:
    """Measure in a separate process; return None and print the reason if it fails."""
    folder = Path(tempfile.gettempdir()) / "dempster-scale"
    command = [
        sys.executable,
        "-m",
        "benchmarks.scale.run",
        json.dumps({**row, "folder": str(folder)}),
    ]
    words = f"{row['method']}, {row['n']:,} objects, {row['kind']}"
    started = time.perf_counter()
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        console.print(f"{words}: given up after {_SECONDS} s")
        return None
    if done.returncode:
        console.print(
            f"{words}: not measured, {done.stderr.strip().splitlines()[-1] if done.stderr else 'no words'}"
        )
        return None
    found = json.loads(done.stdout.splitlines()[-1])
    console.print(
        f"{words}: {found['seconds']:.1f} s, {found['processors']:.1f} s of processors "
        f"({time.perf_counter() - started:.0f} s with all else)"
    )
    return {**found, "machine": _machine(row["kind"]), "load": os.getloadavg()[0]}


def _machine(kind: str) -> str:
    if kind not in ON_GPU:
        return f"{os.cpu_count()} processors, {platform.machine()}"
    import torch

    name = torch.cuda.get_device_name()
    if kind == "beside":
        return f"{os.cpu_count()} processors beside {name}"
    return name


def _keep(known: dict[str, Any], row: dict[str, Any]) -> None:
    key = [row[name] for name in ("kind", "method", "n")]
    known["rows"] = [
        old
        for old in known["rows"]
        if [old[name] for name in ("kind", "method", "n")] != key
    ]
    known["rows"].append(row)


if __name__ == "__main__":
    main()
