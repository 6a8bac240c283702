"""``python -m reproduce``: run the experiments and write RESULTS.md with its figures."""

from __future__ import annotations

import os
import shutil
import time
import traceback
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from reproduce.data import MissingDataError, folder
from reproduce.findings import FINDINGS, MOVED
from reproduce.runner import CACHE, FIGURES, HOME, Experiment, Run, experiments

Cells = dict[Path, dict[str, Any]]
LEFT_OUT = "Left out"


@click.command()
@click.option("--only", multiple=True, metavar="NAME", help="Experiments whose name holds this; may be repeated.")
@click.option("--quick", is_flag=True, help="Fewer seeds and smaller data: a few minutes.")
@click.option("--fresh", is_flag=True, help="Forget earlier results.")
@click.option("--any-version", is_flag=True, help="Use earlier results even if the library has changed since.")
@click.option(
    "--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default=True, help="Worker processes."
)
@click.option("--list", "only_list", is_flag=True, help="Show the names of the experiments and stop.")
def main(only: tuple[str, ...], quick: bool, fresh: bool, any_version: bool, jobs: int, only_list: bool) -> None:
    """Regenerate the tables and figures of the papers. An interrupted run goes on where it was."""
    chosen = [e for e in experiments() if not only or any(part in e.name for part in only)]
    if not chosen:
        raise click.UsageError(f"no experiment is named like {', '.join(only)}; see --list")
    if only_list:
        for e in chosen:
            click.echo(f"{e.name:40} {e.paper}, {e.place}: {e.title}")
        return
    if fresh and CACHE.exists():
        shutil.rmtree(CACHE)
    began = time.perf_counter()
    whole = not quick and not only and _data_are_here()
    # a run of parts leaves the page of the whole and its figures alone
    page, figures = (HOME / "RESULTS.md", FIGURES) if whole else (HOME / "RESULTS-part.md", HOME / "figures-part")
    settings = {"quick": quick, "jobs": jobs, "any_version": any_version, "figures": figures}
    sections, failed = [], []
    for number, about in enumerate(chosen, 1):
        run, error = _run(about, number, len(chosen), **settings)
        sections.append((about, run, error))
        failed += [about.name] if error and not error.startswith(LEFT_OUT) else []
    if failed:  # nothing good is replaced by half of it
        page = HOME / "RESULTS-part.md"
    unfinished = page.with_suffix(".part")
    unfinished.write_text(_page(sections, quick=quick, whole=whole, seconds=time.perf_counter() - began))
    unfinished.replace(page)
    click.echo(f"wrote {page.relative_to(HOME.parent)}")
    if failed:
        raise click.ClickException(f"failed: {', '.join(failed)}")


def _data_are_here() -> bool:
    try:
        folder()
    except MissingDataError as missing:
        click.echo(f"{missing}; what needs them is left out", err=True)
        return False
    return True


def _run(about: Experiment, number: int, total: int, **settings: object) -> tuple[Run, str]:
    def progress(words: str) -> None:
        click.echo(f"\r\033[K[{number}/{total}] {words}", nl=False)

    run = Run(about, progress=progress, **settings)  # type: ignore[arg-type]
    began = time.perf_counter()
    error = ""
    try:
        about.function(run)
    except MissingDataError as missing:
        error = f"{LEFT_OUT}: {missing}"
    except Exception:
        error = traceback.format_exc()
    state = "left out" if error.startswith(LEFT_OUT) else "failed" if error else "done"
    marks = sum(len(table.below) for table in run.tables)
    note = f", {marks} short of the paper" if marks else ""
    click.echo(f"\r\033[K[{number}/{total}] {about.name} {state} in {time.perf_counter() - began:.0f} s{note}")
    if state == "failed":
        click.echo(error, err=True)
    return run, error


def _page(sections: list[tuple[Experiment, Run, str]], *, quick: bool, whole: bool, seconds: float) -> str:
    cells = {file: result for _, run, _ in sections for file, result in run.cells.items()}
    computed = sum(run.computed for _, run, _ in sections)
    machines = Counter(result["machine"] for result in cells.values())
    by = " and ".join(f"{machine} ({count})" for machine, count in machines.most_common())
    lines = [
        "# The papers, reproduced",
        "Written by `make reproduce`: every figure comes from code, data and seeds, through the public interface. "
        "Means ± standard deviations over seeds 0, 1, 2, ... fixed in advance. "
        "▼ marks a figure more than 0.03 below the paper's, ▲ one as much above it; why stands under the table. "
        "Seconds are for one fit, on one thread unless said.",
        f"{len(cells)} computations{' (quick: few seeds, small data)' if quick else ''} that take "
        f"{_minutes(cells):.0f} minutes on one thread, done by {by}; "
        f"the run that wrote this page did {computed} of them, in {seconds / 60:.0f} minutes. "
        f"dempster {version('dempster')}, NumPy {version('numpy')}, scikit-learn {version('scikit-learn')}.",
        *(["## What was found", FINDINGS, "## What has moved", MOVED, "## What there is"] if whole else []),
        _overview(sections, cells),
    ]
    paper = None
    for about, run, error in sections:
        if about.paper != paper:
            paper = about.paper
            lines.append(f"## {paper}")
        lines.append(run.markdown())
        if error.startswith(LEFT_OUT):
            lines.append(f"**{LEFT_OUT}:** the datasets are not at hand.")
        elif error:
            lines.append(f"**Failed:** `{error.strip().splitlines()[-1]}`")
    return "\n\n".join(lines) + "\n"


def _overview(sections: list[tuple[Experiment, Run, str]], cells: Cells) -> str:
    """A line for each experiment: rows, and how many of them the paper's figures were compared with."""
    lines = [
        "| paper | what | rows | scores compared | within 0.03 | above ▲ | below ▼ | minutes |",
        "| --- | --- | --: | --: | --: | --: | --: | --: |",
    ]
    totals, paper = Counter[str](), None
    for about, run, _ in sections:
        counts = Counter(
            rows=sum(len(table.rows) for table in run.tables),
            compared=sum(table.compared for table in run.tables),
            above=sum(len(table.above) for table in run.tables),
            below=sum(len(table.below) for table in run.tables),
        )
        totals += counts
        first = about.paper.split(" (")[0] if about.paper != paper else ""
        paper = about.paper
        lines.append(_overview_line(f"{first} | [{about.place}](#{about.anchor})", counts, _minutes(run.cells)))
    lines.append(_overview_line("all |", totals, _minutes(cells)))
    return "\n".join(lines)


def _overview_line(title: str, counts: Counter[str], minutes: float) -> str:
    within = counts["compared"] - counts["above"] - counts["below"]
    figures = [counts["compared"], within, counts["above"], counts["below"]] if counts["compared"] else [""] * 4
    return "| " + " | ".join(map(str, [title, counts["rows"], *figures, f"{minutes:.1f}"])) + " |"


def _minutes(cells: Cells) -> float:
    return sum(result["spent"] for result in cells.values()) / 60


if __name__ == "__main__":
    main()
