"""``dempster select``: compare numbers of clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dempster._text import format_count
from dempster.apps.cli.shared import (
    Command,
    Outputs,
    Screen,
    UserError,
    build_recipe,
    list_input_files,
    plot_option,
    screen_options,
    table_options,
)
from dempster.apps.cli.shared.drawing import draw_picture


@click.command(
    cls=Command,
    examples=(
        "dempster select flowers.csv --plot candidates.png",
        "dempster select flowers.csv --to 6",
    ),
)
@table_options
@click.option(
    "--to",
    type=click.IntRange(2),
    help="Largest number. [default: as for -c auto]",
)
@plot_option()
@screen_options
@click.pass_context
def select(ctx: click.Context, screen: Screen, **options: Any) -> None:
    """Compare numbers of clusters for the rows of FILE.

    Partitions by several families of methods are compared on a sample of the rows. The best number
    has the partition with the largest expected agreement with the true clusters. The table is read
    and prepared in the same way as by "dempster cluster".
    """
    from dempster.apps.recipe import prepare
    from dempster.model_selection import number_of_clusters

    recipe = build_recipe(ctx, options)
    outputs = Outputs(list_input_files(recipe))
    outputs.add_options(options)
    if recipe.kind == "image" or len(recipe.files) > 1:
        raise UserError(
            "dempster select needs one table or one matrix of dissimilarities"
        )
    with screen.progress(f"reading {Path(recipe.files[0]).name}"):
        prepared = prepare(recipe, screen.note)
        X = prepared.X
        if recipe.missing == "partial" and hasattr(X, "fillna"):
            X = X.fillna(X.mean(numeric_only=True))
        metric = recipe.settings().get("metric")
        if metric not in ("precomputed", "gower"):
            metric = "euclidean"
        largest = options["to"]
        candidates = None
        if largest is not None:
            candidates = range(2, largest + 1)
        numbers = number_of_clusters(
            X, metric=metric, candidates=candidates, random_state=recipe.seed
        )
        outputs.write(
            {"plot": lambda path: draw_picture(lambda ax: numbers.plot(ax=ax), path)},
            recipe,
        )
    table = numbers.to_frame()
    n_objects = format_count(numbers.n_objects, "object")
    screen.print(
        f"{n_objects} examined; best number of clusters: {numbers.best}", bold=True
    )
    if prepared.attributes is not None:
        screen.print_columns(prepared.attributes.columns)
    screen.print(f"\n{table.round(3).to_string()}\n\nchosen: {numbers.reasons()}")
    screen.finish(
        outputs,
        best=numbers.best,
        reasons=numbers.reasons(),
        candidates=table.reset_index().to_dict("records"),
    )
