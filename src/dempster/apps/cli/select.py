"""``dempster select``: compare numbers of clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from dempster._text import format_count
from dempster.apps.cli.shared import (
    Outputs,
    RecipeCommand,
    Screen,
    UserError,
    WholeNumber,
    WrongUse,
    build_recipe,
    list_input_files,
    output_option,
    plot_option,
    screen_options,
    table_options,
)
from dempster.apps.cli.shared.drawing import draw_picture


@click.command(
    cls=RecipeCommand,
    examples=(
        "dempster select flowers.csv --plot candidates.png",
        "dempster select flowers.csv --from 2 --to 6 --curve --method ecm",
    ),
)
@table_options
@click.option(
    "--from", "low", type=WholeNumber(2), help="Smallest number. [default: 2]"
)
@click.option(
    "--to",
    "high",
    type=WholeNumber(2),
    help="Largest number. [default: as for -c auto]",
)
@click.option(
    "--curve",
    is_flag=True,
    help="Also fit the method with each number: objective and nonspecificity (slower).",
)
@plot_option()
@output_option("Write the table: .csv.")
@screen_options
@click.pass_context
def select(ctx: click.Context, screen: Screen, **options: Any) -> None:
    """Compare numbers of clusters for the rows of FILE by several criteria.

    Four criteria are computed on a sample of the rows: the silhouette, two likelihoods, and the
    belief peaks. The support of a number is the mean of the four criteria. The table is read and
    prepared in the same way as by "dempster cluster".
    """
    low = options["low"]
    high = options["high"]
    if low is not None and high is None:
        raise WrongUse("--from needs the option --to")
    if low is not None and low > high:
        raise WrongUse(f"--from must be at most --to {high}, got {low}")
    has_method = ctx.get_parameter_source("method") is ParameterSource.COMMANDLINE
    if has_method and not options["curve"]:
        raise WrongUse("--method has an effect only with --curve")
    recipe = build_recipe(ctx, options)
    outputs = Outputs(list_input_files(recipe))
    outputs.add_options(options)
    outputs.add("table", options["output"], [".csv"])
    with screen.progress(f"reading {Path(recipe.files[0]).name}") as progress:
        numbers, table = _compare_numbers(recipe, options, screen, progress)
        outputs.write(
            {
                "plot": lambda path: draw_picture(lambda ax: numbers.plot(ax=ax), path),
                "table": table.to_csv,
                "config": lambda path: path.write_text(
                    recipe.to_toml(), encoding="utf-8"
                ),
            }
        )
    n_objects = format_count(numbers.n_objects, "object")
    screen.print(
        f"{n_objects} examined; best number of clusters: {numbers.best}", "bold"
    )
    screen.print(f"\n{table.round(3).to_string()}\n\nchosen: {numbers.reasons()}")
    screen.finish(
        "select",
        list(outputs.values()),
        best=numbers.best,
        reasons=numbers.reasons(),
        candidates=table.reset_index().to_dict("records"),
    )


def _compare_numbers(
    recipe: Any, options: dict[str, Any], screen: Screen, progress: Any
) -> tuple[Any, Any]:
    """Return the criteria for each number of clusters, and a table of them and of the curve."""
    import pandas as pd

    from dempster._progress import report_progress_to
    from dempster.apps.recipe import prepare
    from dempster.model_selection import n_clusters_curve, number_of_clusters

    if recipe.kind == "image" or len(recipe.files) > 1:
        raise UserError(
            "dempster select needs one table or one matrix of dissimilarities"
        )
    prepared = prepare(recipe, screen.note)
    X = prepared.X
    if recipe.missing == "partial" and hasattr(X, "fillna"):
        X = X.fillna(X.mean(numeric_only=True))
    metric = recipe.settings().get("metric")
    if metric not in ("precomputed", "gower"):
        metric = "euclidean"
    candidates = None
    if options["high"] is not None:
        candidates = range(options["low"] or 2, options["high"] + 1)
    numbers = number_of_clusters(
        X, metric=metric, candidates=candidates, random_state=recipe.seed
    )
    table = numbers.to_frame()
    if options["curve"]:
        with report_progress_to(progress):
            values = list(map(int, numbers.n_clusters))
            curve = n_clusters_curve(recipe.estimator(), prepared.X, values)
        columns = {"objective": curve.objective, "nonspecificity": curve.nonspecificity}
        index = pd.Index(curve.n_clusters, name="n_clusters")
        table = table.join(pd.DataFrame(columns, index=index))
    return numbers, table
