"""``python -m reproduce``: run the experiments and write RESULTS.md with its figures."""

from __future__ import annotations

import os
import shutil
import time
import traceback
from collections import Counter
from importlib.metadata import version

import click

from reproduce.runner import CACHE, HOME, Experiment, Run, experiments


@click.command()
@click.option("--only", multiple=True, metavar="NAME", help="Experiments whose name holds this; may be repeated.")
@click.option("--quick", is_flag=True, help="Fewer seeds and smaller data: a few minutes.")
@click.option("--fresh", is_flag=True, help="Forget earlier results.")
@click.option("--any-version", is_flag=True, help="Use earlier results even if the library has changed since.")
@click.option("--jobs", default=os.cpu_count() or 1, show_default=True, help="Worker processes.")
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
    sections, failed = [], []
    for number, about in enumerate(chosen, 1):
        run, error = _run(about, number, len(chosen), quick=quick, jobs=jobs, any_version=any_version)
        sections.append((about, run, error))
        failed += [about.name] if error else []
    page = HOME / ("RESULTS.md" if not quick and not only else "RESULTS-part.md")
    unfinished = page.with_suffix(".part")
    unfinished.write_text(_page(sections, quick, time.perf_counter() - began))
    unfinished.replace(page)
    click.echo(f"wrote {page.relative_to(HOME.parent)}")
    if failed:
        raise click.ClickException(f"failed: {', '.join(failed)}")


def _run(about: Experiment, number: int, total: int, **settings: object) -> tuple[Run, str]:
    def progress(words: str) -> None:
        click.echo(f"\r\033[K[{number}/{total}] {words}", nl=False)

    run = Run(about, progress=progress, **settings)  # type: ignore[arg-type]
    began = time.perf_counter()
    error = ""
    try:
        about.function(run)
    except Exception:
        error = traceback.format_exc()
    state = "failed" if error else "done"
    marks = sum(len(table.marked) for table in run.tables)
    note = f", {marks} short of the paper" if marks else ""
    click.echo(f"\r\033[K[{number}/{total}] {about.name} {state} in {time.perf_counter() - began:.0f} s{note}")
    if error:
        click.echo(error, err=True)
    return run, error


def _page(sections: list[tuple[Experiment, Run, str]], quick: bool, seconds: float) -> str:
    marked = sum(len(table.marked) for _, run, _ in sections for table in run.tables)
    compared = sum(len(table.rows) for _, run, _ in sections for table in run.tables)
    busy = sum(run.seconds for _, run, _ in sections)
    lines = [
        "# The papers, reproduced",
        "Written by `make reproduce`: every figure comes from code, data and seeds, through the public interface. "
        "Means ± standard deviations over seeds 0, 1, 2, ... fixed in advance. "
        "▼ marks a figure more than 0.03 below the paper's; the reason stands under the table. "
        "Seconds are for one fit, on one thread unless said.",
        f"{compared} rows, {marked} marked. {busy / 60:.0f} minutes of computation"
        f"{' (quick: few seeds, small data)' if quick else ''}, done by {_machines(sections)}; "
        f"evidentia {version('evidentia')}, NumPy {version('numpy')}, scikit-learn {version('scikit-learn')}.",
    ]
    paper = None
    for about, run, error in sections:
        if about.paper != paper:
            paper = about.paper
            lines.append(f"## {paper}")
        lines.append(run.markdown())
        if error:
            lines.append(f"**Failed:** `{error.strip().splitlines()[-1]}`")
    return "\n\n".join(lines) + "\n"


def _machines(sections: list[tuple[Experiment, Run, str]]) -> str:
    total: Counter[str] = sum((run.machines for _, run, _ in sections), Counter())
    return " and ".join(f"{machine} ({count} cells)" for machine, count in total.most_common())


if __name__ == "__main__":
    main()
