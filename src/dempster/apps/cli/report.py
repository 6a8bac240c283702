"""``dempster report``: a page from a partition or a model and its table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dempster.apps.cli.shared.errors import Command, UserError, WrongUse
from dempster.apps.cli.shared.inputs import find_rows, read_rows, read_subject
from dempster.apps.cli.shared.options import output_option, reading_options, screen_options, truth_option
from dempster.apps.cli.shared.output import (
    PAGE,
    Screen,
    beside,
    check_extension,
    check_outputs,
    check_own_file,
    partition_document,
    write_files,
)
from dempster.apps.cli.shared.param_types import PATH


@click.command(cls=Command, short_help="A page for people who must act on the result.")
@click.argument("subject", type=PATH)
@click.argument("table", type=PATH, required=False)
@output_option("[default: SUBJECT.html]")
@click.option("--title", metavar="TEXT", help="Heading of the page.")
@truth_option
@reading_options
@screen_options
def report(subject: Path, table: Path | None, output: Path | None, screen: Screen, **options: Any) -> None:
    """Write one HTML page that says what the clusters are, what is doubtful and why, and how far to trust it.

    SUBJECT is a partition, or a model of "dempster cluster --save-model"; TABLE is what was clustered. The page needs
    no network and can be sent by mail.

    \b
    dempster report flowers.dempster flowers.csv
    dempster report flowers.partition.csv flowers.csv -o flowers.html --truth species
    """
    from dempster.apps.recipe import Recipe
    from dempster.apps.recipe.labels import find_labels

    target = output or check_own_file(_default_page(subject), PAGE)
    check_extension("--output", target, (".html", ".htm"))
    for name in ("truth", "index", "header", "delimiter", "decimal"):
        if options[name] is not None and table is None:
            raise WrongUse(f"--{name} needs the TABLE as well")
    check_outputs([target], [subject, *([table] if table is not None else [])])
    found = read_subject(subject)
    if found.partition is None:
        raise UserError(f"{subject} holds a classifier; dempster report is for clusters")
    with screen.working("writing the page"):
        from dempster.apps.report import make_report

        more: dict[str, Any] = {}
        rows = None
        if table is not None:
            rows = find_rows(read_rows(table, options, found.recipe), found.partition, table)
            if options["truth"] is not None:
                more["y"] = find_labels("truth", options["truth"], rows)
        if found.recipe:
            more["recipe"] = Recipe.from_toml(found.recipe)
        page = make_report(found.model or found.partition, rows, title=options["title"], **more)
        write_files({target: page.save})
    screen.wrote([target])
    screen.document("report", partition=partition_document(found.partition), files={"report": str(target)})


def _default_page(subject: Path) -> Path:
    """Return ``flowers.html`` beside ``flowers.dempster`` and ``flowers.partition.csv``."""
    page = beside(subject, ".html")
    return (
        page.with_name(page.name.removesuffix(".partition.html") + ".html")
        if page.stem.endswith(".partition")
        else page
    )
