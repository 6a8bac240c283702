"""``dempster report``: a page from a partition or a model and its table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dempster.apps.cli.shared.errors import UserError, WrongUse, readable_warnings, user_errors
from dempster.apps.cli.shared.kinds import PATH
from dempster.apps.cli.shared.options import common, reading
from dempster.apps.cli.shared.output import (
    PAGE,
    Screen,
    all_or_none,
    beside,
    check_outputs,
    keep_files_of_others,
    partition_document,
)
from dempster.apps.cli.shared.subjects import read_rows, read_subject, rows_of

__all__ = ["report"]


@click.command(short_help="A page for people who must act on the result.")
@click.argument("subject", type=PATH)
@click.argument("table", type=PATH, required=False)
@click.option("-o", "--output", type=PATH, metavar="PATH", help="[default: SUBJECT.html]")
@click.option("--title", metavar="TEXT", help="Heading of the page.")
@click.option("--truth", metavar="COLUMN|PATH", help="Known classes to compare with.")
@reading
@common
def report(subject: Path, table: Path | None, output: Path | None, **options: Any) -> None:
    """Write one HTML page that says what the clusters are, what is doubtful and why, and how far to trust it.

    SUBJECT is a partition, or a model of "dempster cluster --save-model"; TABLE is what was clustered. The page needs
    no network and can be sent by mail.

    \b
    dempster report flowers.dempster flowers.csv
    dempster report flowers.partition.csv flowers.csv -o flowers.html --truth species
    """
    from dempster.apps.recipe import Recipe
    from dempster.apps.recipe.known import labels_of

    screen = Screen(quiet=options["quiet"], as_json=options["as_json"])
    target = output or keep_files_of_others(_page_of(subject), PAGE)
    if target.suffix.lower() not in (".html", ".htm"):
        raise WrongUse(f"--output: the extension must be .html, got {target.suffix or 'none'}")
    for name in ("truth", "index", "header", "delimiter", "decimal"):
        if options[name] is not None and table is None:
            raise WrongUse(f"--{name} needs the TABLE as well")
    check_outputs([target], [subject, *([table] if table is not None else [])])
    found = read_subject(subject)
    if found.partition is None:
        raise UserError(f"{subject} holds a classifier; dempster report is for clusters")
    with readable_warnings(), user_errors(), screen.working("writing the page"):
        from dempster.apps.report import make_report

        more: dict[str, Any] = {}
        rows = None
        if table is not None:
            recipe = found.model.recipe if found.model else ""
            rows = rows_of(read_rows(table, options, recipe), found.partition, table)
            if options["truth"] is not None:
                more["y"] = labels_of("truth", options["truth"], rows)
        if found.model is not None and found.model.recipe:
            more["recipe"] = Recipe.from_toml(found.model.recipe)
        page = make_report(found.model or found.partition, rows, title=options["title"], **more)
        with all_or_none([target]) as (temporary,):
            page.save(temporary)
    screen.wrote([target])
    screen.document("report", partition=partition_document(found.partition), files={"report": str(target)})


def _page_of(subject: Path) -> Path:
    """``flowers.html`` beside ``flowers.dempster`` and ``flowers.partition.csv``."""
    page = beside(subject, ".html")
    return (
        page.with_name(page.name.removesuffix(".partition.html") + ".html")
        if page.stem.endswith(".partition")
        else page
    )
