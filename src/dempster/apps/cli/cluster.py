"""``dempster cluster``: from a table to a credal partition."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dempster.apps.cli.shared.blocks import cluster_blocks, reads_blocks
from dempster.apps.cli.shared.errors import UserError, WrongUse, readable_warnings, user_errors
from dempster.apps.cli.shared.kinds import PATH
from dempster.apps.cli.shared.options import RecipeCommand, common, recipe_from, recipe_options
from dempster.apps.cli.shared.output import (
    PARTITION,
    Screen,
    all_or_none,
    beside,
    check_extensions,
    check_outputs,
    check_partition_kind,
    further_outputs,
    headline,
    keep_files_of_others,
    partition_document,
)
from dempster.apps.cli.shared.passes import DASK_OPTION
from dempster.apps.cli.shared.pictures import check_picture, draw_partition
from dempster.apps.cli.shared.subjects import files_read
from dempster.apps.recipe.words import counted

if TYPE_CHECKING:
    from dempster.apps.recipe import Outcome, Recipe

__all__ = ["cluster"]


@click.command(cls=RecipeCommand, short_help="Cluster the rows of a table.")
@recipe_options
@click.option(
    "-o",
    "--output",
    type=PATH,
    metavar="PATH",
    help="Where to write the partition: .csv, .tsv, .parquet or .npz. A name without extension is a new folder, and a "
    "Parquet FILE is then read in blocks. A file that is there is replaced. [default: FILE.partition.csv, which is "
    "replaced if it is a partition]",
)
@click.option("--plot", type=PATH, metavar="PATH", help="Also draw it: .png, .svg or .pdf.")
@click.option("--report", type=PATH, metavar="PATH", help="Also write a page for people: .html.")
@click.option("--save-model", type=PATH, metavar="PATH", help="Also keep the model for dempster predict: .dempster.")
@common
@DASK_OPTION
@click.option("-v", "--verbose", is_flag=True, help="Also show the columns used and the iterations.")
@click.pass_context
def cluster(ctx: click.Context, **options: Any) -> None:
    """Cluster the rows of FILE, say how certain each is, and write the masses.

    FILE is a table: CSV, TSV, Excel, Parquet, Feather or a NumPy array. Its numeric columns are standardised and
    clustered. The result tells for each row which cluster it belongs to, between which clusters the data cannot
    decide, or that it is an outlier. Several FILEs are views of the same rows (--method wmvec); a picture is clustered
    by --method secm.

    \b
    dempster cluster flowers.csv
    dempster cluster flowers.csv -c 3 --index name --plot flowers.png --report flowers.html
    dempster cluster flowers.csv -c 3 --method ecm --columns length,width --delta 5
    dempster cluster distances.mtx --dissimilarities -c 4
    dempster cluster more-than-memory.parquet -c 3 --method ecm -o masses
    """
    screen = Screen(quiet=options["quiet"], as_json=options["as_json"])
    recipe = recipe_from(ctx, options)
    file = Path(recipe.files[0])
    if options["output"] is not None and reads_blocks(recipe, options["output"]):
        cluster_blocks(recipe, options["output"], options, screen)
        return
    if options["dask"] is not None:
        raise WrongUse("--dask is for Parquet files that are read in blocks: give --output a name without extension")
    if file.is_dir():
        raise UserError(f"{file} is a folder, it must be a table; for a folder of Parquet files, --output is one too")
    outputs = _outputs(file, options)
    _check_kinds(outputs)
    check_outputs(list(outputs.values()), files_read(recipe))
    with readable_warnings():
        outcome = run_recipe(recipe, screen)
        head = headline_of(outcome)
        with user_errors():
            _write(outputs, outcome, screen)
    if options["verbose"]:
        _tell_more(outcome, screen)
    screen.partition(head, outcome.partition)
    scores = _scores(outcome)
    if scores is not None:
        screen.result(f"\ncompared with {recipe.truth}:\n{scores.to_text()}\n")
    screen.wrote(list(outputs.values()))
    screen.document(
        "cluster",
        recipe=recipe.to_dict(),
        run=recipe.to_command(),
        method=type(outcome.estimator).__name__,
        objective=outcome.estimator.objective_,
        converged=outcome.estimator.converged_,
        seconds=outcome.seconds,
        partition=partition_document(outcome.partition),
        agreement=None if scores is None else {name: getattr(scores, name) for name in ("accuracy", "held")},
        files={name: str(path) for name, path in outputs.items()},
    )


def run_recipe(recipe: Recipe, screen: Screen) -> Outcome:
    """Run a recipe; what is wrong is told in words of the shell."""
    from dempster.apps.recipe import method_parameters

    names = tuple(parameter.name for parameter in method_parameters(recipe.method))
    with screen.working(f"reading and clustering {Path(recipe.files[0]).name}") as told, user_errors(parameters=names):
        return recipe.run(progress=told, note=screen.note)


def headline_of(outcome: Outcome) -> str:
    """The first line of a result."""
    attributes = outcome.attributes
    what, objects = "", "object"
    if attributes is not None:
        what = counted(len(attributes.columns), "attribute")
        if attributes.preparation.categories:
            what += f" ({counted(len(attributes.preparation.categories), 'column')} of categories)"
        elif attributes.is_scaled:
            what += " (standardised)"
    elif outcome.recipe.kind == "dissimilarities":
        what = "dissimilarities"
    else:
        objects = "pixel"
    return headline(outcome.estimator, what, seconds=outcome.seconds, objects=objects)


def _outputs(file: Path, options: dict[str, Any]) -> dict[str, Path]:
    """The files to write, by what they hold."""
    partition = options["output"] or keep_files_of_others(beside(file, ".partition.csv"), PARTITION)
    return {"partition": partition, **further_outputs(options)}


def _check_kinds(outputs: dict[str, Path]) -> None:
    check_partition_kind(outputs["partition"])
    if "plot" in outputs:
        check_picture(outputs["plot"])
    check_extensions(outputs)


def _write(outputs: dict[str, Path], outcome: Outcome, screen: Screen) -> None:
    """All files or none."""
    from dempster.io import write_partition
    from dempster.persistence import save

    title = f"{type(outcome.estimator).__name__}, {Path(outcome.recipe.files[0]).name}"
    with screen.working("writing"), all_or_none(list(outputs.values())) as temporaries:
        for name, path in zip(outputs, temporaries, strict=True):
            match name:
                case "partition":
                    write_partition(outcome.partition, path)
                case "plot":
                    draw_partition(outcome, path, title)
                case "report":
                    from dempster.apps.report import make_report

                    make_report(outcome).save(path)
                case "model":
                    save(outcome.model, path)
                case "config":
                    path.write_text(outcome.recipe.to_toml(), encoding="utf-8")


def _tell_more(outcome: Outcome, screen: Screen) -> None:
    if outcome.attributes is not None:
        screen.note(f"clustered by {', '.join(outcome.attributes.columns)}")
    ended = "converged" if outcome.estimator.converged_ else "stopped"
    screen.note(f"{ended} after {outcome.estimator.n_iter_} iterations")


def _scores(outcome: Outcome) -> Any:
    """How well the result agrees with known classes, if there are some."""
    if outcome.truth is None:
        return None
    from dempster.explain import set_scores

    known = outcome.truth.notna().to_numpy()
    return set_scores(outcome.partition[known], outcome.truth[known].astype(str).to_numpy())
