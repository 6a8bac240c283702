"""``dempster cluster``: cluster the rows of a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dempster._text import format_count
from dempster.apps.cli.shared import (
    PATH,
    Outputs,
    RecipeCommand,
    Screen,
    UserError,
    WrongUse,
    build_recipe,
    confidence_option,
    default_path,
    format_headline,
    list_input_files,
    output_option,
    partition_document,
    plot_option,
    recipe_options,
    save_model_option,
    screen_options,
    truth_option,
    weight_options,
)
from dempster.apps.cli.shared.drawing import draw_partition

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from dempster.apps.recipe import Recipe, RecipeResult
    from dempster.cluster import ConformalClustering


@click.command(
    cls=RecipeCommand,
    examples=(
        "dempster cluster flowers.csv",
        "dempster cluster flowers.csv -c 3 --plot flowers.png --report page.html",
        "dempster cluster flowers.csv -c 3 --method ecm --columns 'petal length,petal width'",
        "dempster cluster flowers.csv -c 3 --method ecm --confidence 0.95",
        "dempster cluster - -c 3 -o - < flowers.csv > partition.csv",
        "dempster cluster edges.csv --graph --plot network.png",
    ),
)
@recipe_options
@click.option(
    "--graph",
    is_flag=True,
    help="FILE contains the edges of a graph, whose nodes are clustered by --method eknnclus: two "
    "columns of nodes, and optionally a column of weights.",
)
@truth_option
@confidence_option(
    "Also compute a set of clusters for each row that contains its cluster with this probability, "
    "under the conditions that are printed; the method is fitted 13 times."
)
@weight_options
@output_option(
    "File of the partition: .csv, .tsv or .parquet; an existing file is overwritten. "
    "A name without extension is a new folder; a Parquet FILE is then read in blocks. "
    "[default: FILE.partition.csv, overwritten only if dempster created it]"
)
@click.option(
    "--append",
    type=PATH,
    help="Also write the columns of FILE with the cluster, the set of possible clusters and the "
    "doubt of each row (0 certain, 1 ambiguous, above 1 an outlier): .csv or .tsv.",
)
@plot_option()
@click.option("--report", type=PATH, help="Write an HTML report: .html.")
@save_model_option
@screen_options
@click.option(
    "--dask",
    is_flag=False,
    flag_value="",
    metavar="[ADDRESS]",
    help="Read a Parquet FILE with Dask workers at ADDRESS (tcp://...), or on this computer.",
)
@click.option(
    "-v",
    "--verbose",
    is_flag=True,
    help="Also print the iterations and why values were chosen.",
)
@click.pass_context
def cluster(ctx: click.Context, screen: Screen, **options: Any) -> None:
    """Cluster the rows of FILE and write their masses on sets of clusters.

    FILE is a table (CSV, TSV, Excel, Parquet, Feather) or a NumPy array. Its numeric columns are
    clustered, standardized if their spreads differ clearly; methods other than credal always
    standardize them. Each row is certain (it belongs to one cluster), ambiguous between several
    clusters, or an outlier. With --method wmvec, several FILEs are views of the same rows. With
    --method secm, FILE is an image whose pixels are clustered.
    """
    recipe = build_recipe(ctx, options)
    file = Path(recipe.files[0])
    is_parquet = file.is_dir() or (
        file.is_file() and file.suffix.lower() in (".parquet", ".pq")
    )
    outputs = Outputs(list_input_files(recipe))
    if options["graph"]:
        from dempster.apps.cli.cluster_graph import cluster_graph

        cluster_graph(recipe, outputs, options, screen)
        return
    if options["output"] is not None and is_parquet and not options["output"].suffix:
        from dempster.apps.cli.cluster_blocks import cluster_blocks, start_workers

        outputs.add_options(options)
        with start_workers(options["dask"]):
            cluster_blocks(recipe, options["output"], outputs, options, screen)
        return
    if options["dask"] is not None:
        reason = "--output must have no extension"
        raise WrongUse(f"--dask needs a Parquet FILE that is read in blocks: {reason}")
    if file.is_dir():
        reason = "a folder of Parquet files needs an --output without extension"
        raise UserError(f"{file} is a folder; {reason}")
    outputs.add("partition", options["output"] or default_path(file, ".partition.csv"))
    if options["append"] is not None and recipe.kind != "table":
        raise WrongUse("--append needs a table")
    outputs.add_options(options)
    result = run_recipe(recipe, screen)
    with screen.progress("writing"):
        _write(outputs, result)
    if options["verbose"]:
        ended = "converged" if result.estimator.converged_ else "stopped"
        screen.note(f"{ended} after {result.estimator.n_iter_} iterations")
    columns = used_columns(result)
    screen.print_partition(
        describe_result(result), result.partition, options["verbose"], columns
    )
    agreement = None
    truth = result.prepared.truth
    if truth is not None:
        from dempster.explain import set_scores

        is_labeled = truth.notna().to_numpy()
        labels = truth[is_labeled].astype(str).to_numpy()
        scores = set_scores(result.partition[is_labeled], labels)
        screen.print(f"\ncompared with {recipe.truth}:\n{scores.to_text()}\n")
        agreement = {"accuracy": scores.accuracy, "held": scores.held}
    content = run_document(recipe, result.estimator, result.seconds) | {
        "columns": columns,
        "agreement": agreement,
    }
    if result.conformal is not None:
        content["sets"] = print_sets(result.conformal, result.conformal.sets_, screen)
    screen.finish(outputs, **content)


def print_sets(
    conformal: ConformalClustering, sets: np.ndarray, screen: Screen
) -> dict[str, Any]:
    """Print and return a summary of conformal sets of clusters."""
    from dempster.apps.recipe.conformal_sets import (
        describe_guarantee,
        describe_stability,
        summarize_sets,
    )

    summary = summarize_sets(conformal, sets)
    screen.print(
        f"\nsets of clusters at confidence {conformal.confidence:g}", bold=True
    )
    screen.print(
        f"{format_count(summary['one'])} with one cluster, {summary['several']:,} with several, "
        f"{summary['none']:,} with none; {summary['mean_size']:.2f} clusters on average"
    )
    screen.print(f"{describe_stability(conformal)}\n{describe_guarantee(conformal)}\n")
    return summary


def run_recipe(recipe: Recipe, screen: Screen) -> RecipeResult:
    """Run a recipe and show its progress."""
    with screen.progress(
        f"reading and clustering {Path(recipe.files[0]).name}"
    ) as progress:
        return recipe.run(progress=progress, note=screen.note)


def run_document(recipe: Recipe, estimator: Any, seconds: float) -> dict[str, Any]:
    """Return the content of the JSON document about a run."""
    return {
        "recipe": recipe.to_dict(),
        "run": recipe.to_command(),
        "method": type(estimator).__name__,
        "objective": estimator.objective_,
        "converged": estimator.converged_,
        "seconds": seconds,
        "partition": partition_document(estimator.credal_partition_),
    }


def describe_result(result: RecipeResult) -> str:
    """Return a line that describes the result of a run (method, clusters, objects, objective)."""
    attributes = result.attributes
    data = ""
    objects = "object"
    if attributes is not None and result.table is not None:
        n_left_out = len(result.table) - len(attributes.rows)
        if n_left_out:
            data = f"{format_count(n_left_out, 'row')} with missing values left out, "
        data += format_count(len(attributes.columns), "attribute")
        n_categories = len(attributes.preparation.categories)
        if n_categories:
            data += f" ({format_count(n_categories, 'column')} of categories)"
        elif attributes.is_scaled:
            data += " (standardized)"
    elif result.recipe.kind == "dissimilarities":
        data = "dissimilarities"
    else:
        objects = "pixel"
    return format_headline(
        result.estimator, data, seconds=result.seconds, objects=objects
    )


def used_columns(result: RecipeResult) -> list[str]:
    """Return the names of the clustered columns, none for dissimilarities and images."""
    if result.attributes is None:
        return []
    return result.attributes.columns


def append_clusters(result: RecipeResult) -> pd.DataFrame:
    """Return the table of a run with its result, which is empty for rows that were left out."""
    from dempster.explain.review import describe_assignments, join_columns

    assert result.table is not None
    assert result.attributes is not None
    assigned = describe_assignments(result.partition)
    return join_columns(result.table, assigned, result.attributes.rows)


def _write(outputs: Outputs, result: RecipeResult) -> None:
    from dempster.io import write_partition
    from dempster.io.partitions import write_table
    from dempster.persistence import save

    sets = getattr(result.conformal, "sets_", None)
    title = f"{type(result.estimator).__name__}, {Path(result.recipe.files[0]).name}"

    def write_report(path: Path) -> None:
        from dempster.apps.report import make_report

        make_report(result).save(path)

    outputs.write(
        {
            "partition": lambda path: write_partition(
                result.partition, path, sets=sets
            ),
            "append": lambda path: write_table(append_clusters(result), path),
            "plot": lambda path: draw_partition(
                result.recipe, result.prepared, result.partition, path, title
            ),
            "report": write_report,
            "model": lambda path: save(result.model, path),
        },
        result.recipe,
    )
