"""``dempster select``: how many clusters, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dempster._text import format_count
from dempster.apps.cli.shared.errors import UserError, WrongUse
from dempster.apps.cli.shared.inputs import list_input_files
from dempster.apps.cli.shared.options import (
    RecipeCommand,
    output_option,
    plot_option,
    recipe_from,
    recipe_options,
    screen_options,
)
from dempster.apps.cli.shared.output import (
    Screen,
    check_extension,
    check_outputs,
    draw_display,
    further_outputs,
    write_files,
    write_text,
)
from dempster.apps.cli.shared.param_types import WholeNumber

MAX_CLUSTERS = 100_000


@click.command(cls=RecipeCommand, short_help="How many clusters: candidates and reasons.")
@recipe_options
@click.option("--from", "low", type=WholeNumber(2, MAX_CLUSTERS), metavar="N", help="Fewest clusters. [default: 2]")
@click.option(
    "--to", "high", type=WholeNumber(2, MAX_CLUSTERS), metavar="N", help="Most clusters. [default: as -c auto does]"
)
@click.option(
    "--curve", is_flag=True, help="Also cluster into each number by the method: objective and nonspecificity (slower)."
)
@plot_option()
@output_option("Write the table: .csv.")
@screen_options
@click.pass_context
def select(ctx: click.Context, screen: Screen, **options: Any) -> None:
    """Compare numbers of clusters for the rows of FILE, and say what speaks for each.

    Four witnesses are heard on a sample: silhouette, two likelihoods, belief peaks; support is their mean. The table is
    read and prepared as by "dempster cluster".

    \b
    dempster select flowers.csv --plot candidates.png
    dempster select flowers.csv --from 2 --to 6 --curve --method ecm
    """
    low, high = options["low"], options["high"]
    if low is not None and high is None:
        raise WrongUse("--from needs --to as well")
    if low is not None and low > high:
        raise WrongUse(f"--from {low} must not be above --to {high}")
    recipe = recipe_from(ctx, options)
    outputs = further_outputs(options) | ({} if options["output"] is None else {"table": options["output"]})
    check_extension("--output", options["output"], [".csv"])
    check_outputs(list(outputs.values()), list_input_files(recipe))
    with screen.working(f"reading {Path(recipe.files[0]).name}") as progress:
        numbers, curve = _compare_numbers(recipe, options, screen, progress)
        table = numbers.to_frame() if curve is None else numbers.to_frame().join(_curve_frame(curve))
        writers = {
            "plot": lambda path: draw_display(lambda ax: numbers.plot(ax=ax), path),
            "table": table.to_csv,
            "config": write_text(recipe.to_toml()),
        }
        write_files({path: writers[name] for name, path in outputs.items()})
    screen.result(
        f"{format_count(numbers.n_objects, 'object')} looked at; most speaks for {numbers.best} clusters", "bold"
    )
    screen.result()
    screen.table(table.round(3))
    screen.result()
    screen.result(f"chosen: {numbers.reasons()}")
    screen.wrote(list(outputs.values()))
    screen.document(
        "select",
        best=numbers.best,
        reasons=numbers.reasons(),
        candidates=table.reset_index().to_dict("records"),
        files=[str(path) for path in outputs.values()],
    )


def _compare_numbers(recipe: Any, options: dict[str, Any], screen: Screen, progress: Any) -> tuple[Any, Any]:
    """Compare numbers of clusters and, with --curve, try the method with each."""
    from dempster._progress import heard_by
    from dempster.apps.recipe import prepare
    from dempster.model_selection import n_clusters_curve, number_of_clusters

    if recipe.kind == "image" or len(recipe.files) > 1:
        raise UserError("dempster select works with one table or one matrix of dissimilarities")
    prepared = prepare(recipe, screen.note)
    metric = recipe.settings().get("metric", "euclidean")
    X = prepared.X
    if recipe.missing == "partial":
        X = X.fillna(X.mean(numeric_only=True)) if hasattr(X, "fillna") else X
    candidates = None if options["high"] is None else range(options["low"] or 2, options["high"] + 1)
    metric = metric if metric in ("precomputed", "gower") else "euclidean"
    numbers = number_of_clusters(X, metric=metric, candidates=candidates, random_state=recipe.seed)
    if not options["curve"]:
        return numbers, None
    with heard_by(progress):
        return numbers, n_clusters_curve(recipe.estimator(), prepared.X, list(map(int, numbers.n_clusters)))


def _curve_frame(curve: Any) -> Any:
    import pandas as pd

    columns = {"objective": curve.objective, "nonspecificity": curve.nonspecificity}
    return pd.DataFrame(columns, index=pd.Index(curve.n_clusters, name="n_clusters"))
