"""``dempster doubt``: the doubt about clusters that another program found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from dempster.apps.cli.shared import (
    PATH,
    Command,
    Outputs,
    Screen,
    UserError,
    WrongUse,
    build_recipe,
    default_path,
    list_input_files,
    output_option,
    partition_document,
    plot_option,
    screen_options,
    table_options,
    weight_options,
)
from dempster.apps.cli.shared.drawing import draw_partition


@click.command(
    cls=Command,
    examples=(
        "dempster doubt flowers.csv --labels species",
        "dempster doubt flowers.csv --labels species --plot doubt.png --report doubt.html",
    ),
)
@table_options
# A recipe reads labels that are not used for clustering as true classes.
@click.option(
    "--labels",
    "truth",
    metavar="COLUMN|PATH",
    required=True,
    help="Cluster of each row; an empty cell or -1 means noise.",
)
@weight_options
@output_option(
    "File of the partition: .csv, .tsv or .parquet; an existing file is overwritten. "
    "[default: FILE.partition.csv, overwritten only if dempster created it]"
)
@plot_option()
@click.option("--report", type=PATH, help="Write an HTML report: .html.")
@screen_options
@click.pass_context
def doubt(ctx: click.Context, screen: Screen, **options: Any) -> None:
    """Estimate how certain the cluster of each row of FILE is, for clusters of any program.

    Each row is certain, ambiguous between several clusters, or an outlier; also rows that the other
    program called noise. The agreement with the true clusters that is expected of these clusters,
    clusters that are not separated, and the most doubtful rows are printed. The table is read and
    prepared in the same way as by "dempster cluster".
    """
    from dempster.apps.recipe import prepare, reweight_sets
    from dempster.io import write_partition
    from dempster.labels import LabeledPartition, evaluate

    recipe = build_recipe(ctx, options)
    outputs = Outputs(list_input_files(recipe))
    file = Path(recipe.files[0])
    outputs.add("partition", options["output"] or default_path(file, ".partition.csv"))
    outputs.add_options(options)
    if len(recipe.files) > 1:
        raise UserError(
            "dempster doubt needs one table or one matrix of dissimilarities"
        )
    metric = recipe.settings().get("metric", "euclidean")
    if recipe.missing == "partial" and metric != "gower":
        raise WrongUse("--missing partial needs --categories; use --missing drop")
    with screen.progress(f"reading {file.name}"):
        prepared = prepare(recipe, screen.note)
        found = evaluate(
            prepared.X, prepared.truth, metric=metric, random_state=recipe.seed
        )
        assert isinstance(found.partition, LabeledPartition)
        partition = reweight_sets(
            found.partition,
            outlier_weight=recipe.outlier_weight,
            ambiguity_weight=recipe.ambiguity_weight,
        )
    title = f"{recipe.truth}, {file.name}"

    def write_report(path: Path) -> None:
        from dempster.apps.report import make_report

        attributes = prepared.attributes
        if attributes is None:
            page = make_report(partition, prepared.X, metric=metric, title=title)
        else:
            page = make_report(partition, attributes.table, title=title)
        page.save(path)

    with screen.progress("writing"):
        outputs.write(
            {
                "partition": lambda path: write_partition(partition, path),
                "plot": lambda path: draw_partition(
                    recipe, prepared, partition, path, title
                ),
                "report": write_report,
            },
            recipe,
        )
    columns = [] if prepared.attributes is None else prepared.attributes.columns
    screen.print_partition(f"doubt about {title}", partition, columns=columns)
    screen.print(f"\n{found}\n")
    screen.finish(
        outputs,
        expected_agreement=found.expected_agreement,
        low_agreement=found.low_agreement,
        clusters=[vars(one) for one in found.clusters],
        objects=[vars(one) for one in found.objects],
        best=vars(found.best),
        partition=partition_document(partition),
    )
