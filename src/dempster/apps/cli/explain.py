"""``dempster explain``: explain an object, a cluster or a pair of clusters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dempster.apps.cli.shared import (
    PATH,
    Command,
    SavedResult,
    Screen,
    UserError,
    WrongUse,
    load_result,
    read_rows,
    reading_options,
    screen_options,
    select_rows,
)

if TYPE_CHECKING:
    import pandas as pd

MAX_PRINTED_COLUMNS = 20


@click.command(
    cls=Command,
    examples=(
        "dempster cluster flowers.csv -c 3 --save-model flowers.dempster",
        "dempster explain flowers.dempster flowers.csv --object 'iris 70'",
        "dempster explain flowers.partition.csv flowers.csv --cluster 2",
        "dempster explain flowers.partition.csv flowers.csv --pair 0,2",
    ),
)
@click.argument("subject", type=PATH)
@click.argument("table", type=PATH)
@click.option(
    "--object",
    metavar="NAME",
    help="Explain this object: its name or, without names, the number of its row, from 0.",
)
@click.option("--cluster", metavar="K", help="Describe this cluster.")
@click.option(
    "--pair", metavar="K,L", help="List the columns that separate two clusters."
)
@reading_options
@screen_options
def explain(subject: Path, table: Path, screen: Screen, **options: Any) -> None:
    """Explain a partition or a model by the columns of its TABLE.

    SUBJECT is a partition, or a model written by "dempster cluster --save-model". A model is
    better, because its explanations use the clustering method. Without --object, --cluster or
    --pair all clusters are described.
    """
    explainers = {
        "object": _explain_object,
        "cluster": _explain_cluster,
        "pair": _explain_pair,
    }
    selected = [name for name in explainers if options[name] is not None]
    if len(selected) > 1:
        raise WrongUse("only one of --object, --cluster and --pair can be used")
    result = load_result(subject)
    with screen.progress(f"reading {table.name}"):
        rows = select_rows(
            read_rows(table, options, result.recipe), result.partition, table
        )
        if selected:
            document = explainers[selected[0]](result, rows, options[selected[0]])
        else:
            profile = _compute_profile(result, rows)
            records = profile.to_frame().reset_index().to_dict("records")
            document = {"text": profile.to_text(), "profile": records}
    screen.print(document["text"])
    screen.finish({}, **document)


def _explain_object(
    result: SavedResult, rows: pd.DataFrame, name: str
) -> dict[str, Any]:
    from dempster.apps.recipe.attributes import choose_recorded_attributes
    from dempster.apps.recipe.model import Units
    from dempster.constraints.files import find_positions
    from dempster.explain import explain_object

    partition = result.partition
    model = result.saved_model
    names = range(len(partition)) if partition.index is None else list(partition.index)
    (position,) = find_positions([name], names, "--object")
    which = names[position]
    if model is not None and model.preparation is not None:
        explanation = explain_object(model.estimator, model.prepare(rows), which)
        explanation = Units.from_preparation(model.preparation).convert_explanation(
            explanation
        )
    else:
        attributes = choose_recorded_attributes(rows, result.clustered or {})
        explanation = explain_object(partition, attributes.table, which)
    sets = partition.focal_sets.names(partition.frame)
    masses = zip(sets, partition[position].masses[0], strict=True)
    return {
        "object": name,
        "text": explanation.to_text(),
        "masses": {clusters: float(mass) for clusters, mass in masses if mass > 0},
        "contributions": explanation.to_frame().reset_index().to_dict("records"),
    }


def _explain_cluster(
    result: SavedResult, rows: pd.DataFrame, name: str
) -> dict[str, Any]:
    profile = _compute_profile(result, rows)
    cluster = _find_cluster(result, name)
    # The first groups are the clusters.
    k = list(result.partition.frame).index(cluster)
    statistics = {
        statistic: values[[k]] for statistic, values in profile.statistics.items()
    }
    text = replace(profile, groups=[profile.groups[k]], statistics=statistics).to_text()
    return {
        "cluster": cluster,
        "text": text,
        "profile": profile.to_frame().iloc[k].to_dict(),
    }


def _explain_pair(
    result: SavedResult, rows: pd.DataFrame, names: str
) -> dict[str, Any]:
    parts = [part.strip() for part in names.split(",")]
    if len(parts) != 2:
        raise WrongUse(f"--pair must name two clusters, such as 0,2, got '{names}'")
    first, second = (_find_cluster(result, part) for part in parts)
    if first == second:
        raise WrongUse(f"--pair must name two different clusters, got '{names}'")
    profile = _compute_profile(result, rows)
    features = profile.discriminating_features(first, second)
    lines = [
        f"Columns that separate cluster {first} from cluster {second}, the best first:"
    ]
    for row in features.head(MAX_PRINTED_COLUMNS).itertuples():
        share = "separates them"
        if row.separation <= 0.995:
            share = f"separates {row.separation:.0%} of them"
        if row.clustered is False:
            share += "; this column was not clustered"
        lines.append(f"  {row.rule} ({share})")
    if len(features) > MAX_PRINTED_COLUMNS:
        lines.append(
            f"  ... and {len(features) - MAX_PRINTED_COLUMNS:,} more columns (see --json)"
        )
    return {
        "pair": [first, second],
        "text": "\n".join(lines),
        "discriminating_features": features.to_dict("records"),
    }


def _compute_profile(result: SavedResult, rows: pd.DataFrame) -> Any:
    from dempster.apps.recipe.attributes import choose_recorded_attributes
    from dempster.apps.report.report_input import find_id_columns
    from dempster.explain import profile

    clustered = None
    if result.clustered is not None:
        clustered = choose_recorded_attributes(rows, result.clustered).columns
    rows = rows.drop(columns=find_id_columns(rows, clustered))
    return profile(result.partition, rows, clustered=clustered)


def _find_cluster(result: SavedResult, name: str) -> Any:
    clusters = {str(cluster): cluster for cluster in result.partition.frame}
    if name not in clusters:
        raise UserError(
            f"there is no cluster '{name}'; the clusters are {', '.join(clusters)}"
        )
    return clusters[name]
