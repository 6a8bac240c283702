"""``dempster select``: how many clusters, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dempster.apps.cli.shared.errors import UserError, WrongUse, readable_warnings, user_errors
from dempster.apps.cli.shared.kinds import PATH, WholeNumber
from dempster.apps.cli.shared.options import RecipeCommand, common, recipe_from, recipe_options
from dempster.apps.cli.shared.output import Screen, all_or_none, check_extensions, check_outputs, further_outputs
from dempster.apps.cli.shared.pictures import check_picture, draw_display
from dempster.apps.cli.shared.subjects import files_read
from dempster.apps.recipe.words import counted

__all__ = ["select"]

_MOST = 100_000  # clusters


@click.command(cls=RecipeCommand, short_help="How many clusters: candidates and reasons.")
@recipe_options
@click.option("--from", "low", type=WholeNumber(2, _MOST), metavar="N", help="Fewest clusters. [default: 2]")
@click.option("--to", "high", type=WholeNumber(2, _MOST), metavar="N", help="Most clusters. [default: as -c auto does]")
@click.option(
    "--curve", is_flag=True, help="Also cluster into each number by the method: objective and nonspecificity (slower)."
)
@click.option("--plot", type=PATH, metavar="PATH", help="Draw it: .png, .svg or .pdf.")
@click.option("-o", "--output", type=PATH, metavar="PATH", help="Write the table: .csv.")
@common
@click.pass_context
def select(ctx: click.Context, **options: Any) -> None:
    """Compare numbers of clusters for the rows of FILE, and say what speaks for each.

    Four witnesses are heard on a sample: silhouette, two likelihoods, belief peaks; support is their mean. The table is
    read and prepared as by "dempster cluster".

    \b
    dempster select flowers.csv --plot candidates.png
    dempster select flowers.csv --from 2 --to 6 --curve --method ecm
    """
    screen = Screen(quiet=options["quiet"], as_json=options["as_json"])
    low, high = options["low"], options["high"]
    if low is not None and high is None:
        raise WrongUse("--from needs --to as well")
    if low is not None and low > high:
        raise WrongUse(f"--from {low} must not be above --to {high}")
    recipe = recipe_from(ctx, options)
    outputs = [path for path in (options["plot"], options["output"], options["save_config"]) if path is not None]
    if options["plot"] is not None:
        check_picture(options["plot"])
    if options["output"] is not None and options["output"].suffix.lower() != ".csv":
        raise WrongUse(f"--output: the extension must be .csv, got {options['output'].suffix or 'none'}")
    check_extensions(further_outputs(options))
    check_outputs(outputs, files_read(recipe))
    with readable_warnings(), user_errors(), screen.working(f"reading {Path(recipe.files[0]).name}") as told:
        numbers, curve = _compared(recipe, options, screen, told)
        table = numbers.to_frame()
        if curve is not None:
            table = table.join(_curve_frame(curve))
        _write(options, numbers, table, recipe)
    screen.result(f"{counted(numbers.n_objects, 'object')} looked at; most speaks for {numbers.best} clusters", "bold")
    screen.result()
    screen.table(table.round(3))
    screen.result()
    screen.result(f"chosen: {numbers.reasons()}")
    screen.wrote(outputs)
    screen.document(
        "select",
        best=numbers.best,
        reasons=numbers.reasons(),
        candidates=table.reset_index().to_dict("records"),
        files=[str(path) for path in outputs],
    )


def _compared(recipe: Any, options: dict[str, Any], screen: Screen, told: Any) -> tuple[Any, Any]:
    """The candidates and, if it is asked for, the method tried with each."""
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
    with heard_by(told):
        return numbers, n_clusters_curve(recipe.estimator(), prepared.X, list(map(int, numbers.n_clusters)))


def _curve_frame(curve: Any) -> Any:
    import pandas as pd

    columns = {"objective": curve.objective, "nonspecificity": curve.nonspecificity}
    return pd.DataFrame(columns, index=pd.Index(curve.n_clusters, name="n_clusters"))


def _write(options: dict[str, Any], numbers: Any, table: Any, recipe: Any) -> None:
    targets = {name: options[name] for name in ("plot", "output", "save_config") if options[name] is not None}
    with all_or_none(list(targets.values())) as temporaries:
        for name, path in zip(targets, temporaries, strict=True):
            if name == "plot":
                draw_display(lambda ax: numbers.plot(ax=ax), path)
            elif name == "output":
                table.to_csv(path)
            else:
                path.write_text(recipe.to_toml(), encoding="utf-8")
