"""``dempster cluster``: from a table to a credal partition."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    save_model_option,
    screen_options,
)
from dempster.apps.cli.shared.output import (
    PARTITION,
    Screen,
    beside,
    check_outputs,
    check_own_file,
    check_partition_kind,
    draw_partition,
    further_outputs,
    headline,
    partition_document,
    write_files,
    write_text,
)
from dempster.apps.cli.shared.param_types import PATH

if TYPE_CHECKING:
    from dempster.apps.recipe import Recipe, RecipeResult


@click.command(cls=RecipeCommand, short_help="Cluster the rows of a table.")
@recipe_options
@output_option(
    "Where to write the partition: .csv, .tsv, .parquet or .npz. A name without extension is a new folder, and a "
    "Parquet FILE is then read in blocks. A file that is there is replaced. [default: FILE.partition.csv, which is "
    "replaced if it is a partition]"
)
@plot_option("Also draw it: .png, .svg or .pdf.")
@click.option("--report", type=PATH, metavar="PATH", help="Also write a page for people: .html.")
@save_model_option
@screen_options
@click.option(
    "--dask",
    is_flag=False,
    flag_value="",
    metavar="[ADDRESS]",
    help="Read a Parquet FILE by workers of Dask: of the cluster at ADDRESS (tcp://...), or some on this machine.",
)
@click.option("-v", "--verbose", is_flag=True, help="Also show the columns used and the iterations.")
@click.pass_context
def cluster(ctx: click.Context, screen: Screen, **options: Any) -> None:
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
    recipe = recipe_from(ctx, options)
    file = Path(recipe.files[0])
    is_parquet = file.is_dir() or (file.is_file() and file.suffix.lower() in (".parquet", ".pq"))
    further = further_outputs(options)
    if options["output"] is not None and is_parquet and not options["output"].suffix:
        from dempster.apps.cli.cluster_blocks import cluster_blocks

        cluster_blocks(recipe, options["output"], further, options, screen)
        return
    if options["dask"] is not None:
        raise WrongUse("--dask is for Parquet files that are read in blocks: give --output a name without extension")
    if file.is_dir():
        raise UserError(f"{file} is a folder, it must be a table; for a folder of Parquet files, --output is one too")
    output = options["output"] or check_own_file(beside(file, ".partition.csv"), PARTITION)
    check_partition_kind(output)
    outputs = {"partition": output, **further}
    check_outputs(list(outputs.values()), list_input_files(recipe))
    outcome = run_recipe(recipe, screen)
    with screen.working("writing"):
        _write(outputs, outcome)
    if options["verbose"]:
        if outcome.attributes is not None:
            screen.note(f"clustered by {', '.join(outcome.attributes.columns)}")
        ended = "converged" if outcome.estimator.converged_ else "stopped"
        screen.note(f"{ended} after {outcome.estimator.n_iter_} iterations")
    screen.partition(describe_outcome(outcome), outcome.partition)
    scores = _scores(outcome)
    if scores is not None:
        screen.result(f"\ncompared with {recipe.truth}:\n{scores.to_text()}\n")
    screen.wrote(list(outputs.values()))
    screen.document(
        "cluster",
        **run_document(recipe, outcome.estimator, outcome.seconds),
        agreement=None if scores is None else {name: getattr(scores, name) for name in ("accuracy", "held")},
        files={name: str(path) for name, path in outputs.items()},
    )


def run_recipe(recipe: Recipe, screen: Screen) -> RecipeResult:
    """Run a recipe and show its progress."""
    with screen.working(f"reading and clustering {Path(recipe.files[0]).name}") as progress:
        return recipe.run(progress=progress, note=screen.note)


def run_document(recipe: Recipe, estimator: Any, seconds: float) -> dict[str, Any]:
    """Describe a run for the JSON document."""
    return {
        "recipe": recipe.to_dict(),
        "run": recipe.to_command(),
        "method": type(estimator).__name__,
        "objective": estimator.objective_,
        "converged": estimator.converged_,
        "seconds": seconds,
        "partition": partition_document(estimator.credal_partition_),
    }


def describe_outcome(outcome: RecipeResult) -> str:
    """Return the first line of a result."""
    attributes = outcome.attributes
    what, objects = "", "object"
    if attributes is not None:
        what = format_count(len(attributes.columns), "attribute")
        if attributes.preparation.categories:
            what += f" ({format_count(len(attributes.preparation.categories), 'column')} of categories)"
        elif attributes.is_scaled:
            what += " (standardised)"
    elif outcome.recipe.kind == "dissimilarities":
        what = "dissimilarities"
    else:
        objects = "pixel"
    return headline(outcome.estimator, what, seconds=outcome.seconds, objects=objects)


def _write(outputs: dict[str, Path], outcome: RecipeResult) -> None:
    from dempster.io import write_partition
    from dempster.persistence import save

    def write_report(path: Path) -> None:
        from dempster.apps.report import make_report

        make_report(outcome).save(path)

    title = f"{type(outcome.estimator).__name__}, {Path(outcome.recipe.files[0]).name}"
    writers = {
        "partition": lambda path: write_partition(outcome.partition, path),
        "plot": lambda path: draw_partition(outcome, path, title),
        "report": write_report,
        "model": lambda path: save(outcome.model, path),
        "config": write_text(outcome.recipe.to_toml()),
    }
    write_files({path: writers[name] for name, path in outputs.items()})


def _scores(outcome: RecipeResult) -> Any:
    """Compare the result with known classes, if there are some."""
    if outcome.truth is None:
        return None
    from dempster.explain import set_scores

    known = outcome.truth.notna().to_numpy()
    return set_scores(outcome.partition[known], outcome.truth[known].astype(str).to_numpy())
