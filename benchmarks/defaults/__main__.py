"""Command ``python -m benchmarks.defaults``: fit all methods and write the page."""

from __future__ import annotations

import json
from pathlib import Path

import click
from rich.console import Console

from benchmarks.defaults.fitting import measured
from benchmarks.defaults.page import write_page

_PAGE = Path(__file__).resolve().parents[1] / "DEFAULTS.md"


@click.command()
@click.option(
    "--page", type=click.Path(path_type=Path), default=_PAGE, show_default="DEFAULTS.md"
)
@click.option(
    "--records",
    type=click.Path(path_type=Path),
    help="Also write all measures to this file, as JSON.",
)
@click.option(
    "--from-records",
    type=click.Path(path_type=Path, exists=True),
    help="Write the page from such a file.",
)
def main(page: Path, records: Path | None, from_records: Path | None) -> None:
    """Evaluate the defaults of every method on public and generated data, with k-means, Gaussian mixtures and HDBSCAN."""
    if from_records:
        found = json.loads(from_records.read_text())
    else:
        found = measured()
    if records is not None:
        records.parent.mkdir(parents=True, exist_ok=True)
        records.write_text(json.dumps(found) + "\n")
    write_page(found, page)
    Console(stderr=True).print(
        f"{page} written; fitting took {found['minutes']:.1f} minutes"
    )


if __name__ == "__main__":
    main()
