"""``dempster report``: write an HTML report on a partition or a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dempster.apps.cli.shared import (
    EXTENSIONS,
    PATH,
    Command,
    Outputs,
    Screen,
    UserError,
    WrongUse,
    default_path,
    load_result,
    names_option,
    output_option,
    partition_document,
    read_rows,
    reading_options,
    screen_options,
    select_rows,
    truth_option,
)


@click.command(
    cls=Command,
    examples=(
        "dempster cluster flowers.csv -c 3 --save-model flowers.dempster",
        "dempster report flowers.dempster flowers.csv",
        "dempster report flowers.partition.csv flowers.csv -o page.html --truth species",
    ),
)
@click.argument("subject", type=PATH)
@click.argument("table", type=PATH, required=False)
@output_option("HTML file to write. [default: SUBJECT.html, which is not overwritten]")
@names_option(
    "--columns",
    "Columns of TABLE that were clustered, if SUBJECT does not record them. "
    "[default: all numeric columns]",
)
@truth_option
@reading_options
@screen_options
def report(
    subject: Path,
    table: Path | None,
    output: Path | None,
    screen: Screen,
    **options: Any,
) -> None:
    """Write an HTML report on the clusters, the doubtful objects and the reliability of the result.

    SUBJECT is a partition, or a model written by "dempster cluster --save-model". TABLE is the
    table that was clustered. The report is one file, which can be viewed without a network.
    """
    from dempster.apps.recipe import Recipe
    from dempster.apps.recipe.labels import find_labels
    from dempster.apps.recipe.recipe import FORMAT
    from dempster.io.tables import check_columns_exist

    for name in ("truth", "columns", *FORMAT):
        if options[name] not in (None, []) and table is None:
            raise WrongUse(f"--{name.replace('_', '-')} needs the argument TABLE")
    outputs = Outputs([subject, table])
    # flowers.html is the default for flowers.dempster and for flowers.partition.csv.
    file = subject.parent / subject.name.replace(".partition.", ".")
    target = output or default_path(file, ".html")
    if output is None and target.exists():
        raise UserError(
            f"{target} exists; overwrite it with --output {target}, or choose another file"
        )
    outputs.add("report", target, EXTENSIONS["--report"])
    result = load_result(subject)
    partition = result.partition
    with screen.progress("writing the report"):
        from dempster.apps.report import make_report

        labels = None
        rows = None
        if table is not None:
            rows = select_rows(
                read_rows(table, options, result.recipe), partition, table
            )
            if options["truth"] is not None:
                labels = find_labels("truth", options["truth"], rows)
            if options["columns"] and result.clustered is not None:
                raise WrongUse(f"--columns: {subject} records the clustered columns")
            if result.saved_model is None and result.clustered is None:
                check_columns_exist(rows, "columns", options["columns"])
                numbers = list(rows.select_dtypes("number").columns)
                columns = options["columns"] or numbers or list(rows.columns)
                rows = rows[columns]
        recipe = None
        if result.recipe:
            recipe = Recipe.from_toml(result.recipe)
        page = make_report(
            result.saved_model or partition, rows, y=labels, recipe=recipe
        )
        outputs.write({"report": page.save})
    screen.finish(outputs, partition=partition_document(partition))
