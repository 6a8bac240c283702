"""``dempster predict``: apply a saved model to new rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import click
import numpy as np

from dempster._text import format_count
from dempster._validation import as_floats
from dempster.apps.cli.cluster import print_sets
from dempster.apps.cli.shared import (
    PATH,
    Command,
    Outputs,
    Screen,
    default_path,
    load_result,
    output_option,
    partition_document,
    read_rows,
    reading_options,
    screen_options,
)

UNDECIDED = "undecided"
OR = " or "


@click.command(
    cls=Command,
    examples=(
        "dempster cluster flowers.csv -c 3 --save-model flowers.dempster",
        "dempster predict flowers.dempster new-flowers.csv",
    ),
)
@click.argument("model", type=PATH)
@click.argument("file", type=PATH)
@output_option("File of the predicted masses. [default: FILE.predicted.csv]")
@reading_options
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop"]),
    help="Missing values: raise an error, or drop the rows. [default: as in training]",
)
@screen_options
def predict(
    model: Path, file: Path, output: Path | None, screen: Screen, **options: Any
) -> None:
    """Predict the clusters or classes of the rows of FILE, with their masses.

    MODEL is a file written by "dempster cluster --save-model" or "dempster classify --save-model".
    The columns used in training are selected by name and standardized in the same way. Additional
    columns are ignored. If the model was trained on dissimilarities, FILE contains the
    dissimilarities of each new object to the training objects.
    """
    outputs = Outputs([model, file])
    outputs.add("masses", output or default_path(file, ".predicted.csv"))
    saved = load_result(model).model
    estimator = saved.estimator
    name = type(estimator).__name__
    with screen.progress(f"reading {file.name}"):
        table = read_rows(file, options, saved.recipe)
        if saved.preparation is None:
            table = _select_columns(table, estimator)
        rows = saved.prepare(table, missing=options["missing"], note=screen.note)
        masses = saved.predict_prepared(rows)
        if hasattr(estimator, "classes_"):
            decisions = estimator.predict(rows)
            if hasattr(estimator, "predict_set"):
                names = estimator.classes_.astype(str)
                answers = estimator.predict_set(rows)
                decisions = np.array(
                    [OR.join(names[one]) or UNDECIDED for one in answers]
                )
            outputs.write(
                {"masses": lambda path: write_decisions(masses, decisions, path)}
            )
        else:
            from dempster.io import write_partition

            decisions = None
            sets = None
            if saved.conformal is not None:
                sets = saved.conformal.predict_set(rows)
            outputs.write(
                {"masses": lambda path: write_partition(masses, path, sets=sets)}
            )
    head = format_count(len(masses), "new row")
    content: dict[str, Any]
    if decisions is not None:
        screen.print(f"{name}: {head}\n", bold=True)
        content = {"decisions": print_decisions(decisions, screen)}
    else:
        n_clusters = format_count(masses.n_clusters, "cluster")
        screen.print_partition(f"{name}, {n_clusters}: {head}", masses)
        content = {"partition": partition_document(masses)}
        if sets is not None:
            content["sets"] = print_sets(saved.conformal, sets, screen)
    screen.finish(outputs, method=name, n_objects=len(masses), **content)


def _select_columns(table: Any, estimator: Any) -> Any:
    """Return the columns of a table on which an estimator without a `Preparation` was fitted."""
    from dempster.io.tables import check_columns_exist

    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return as_floats(table, "table")
    check_columns_exist(table, "table", names)
    return table[list(names)]


def print_decisions(decisions: Any, screen: Screen) -> dict[str, int]:
    """Print and return the number of rows for each decision, sorted by decreasing frequency."""
    counts = dict(Counter(sorted(map(str, decisions))).most_common())
    width = max(map(len, counts), default=0) + 2
    for name, count in counts.items():
        screen.print(f"{name:{width}}{count:>8,}")
    return counts


def write_decisions(masses: Any, decisions: Any, path: Path) -> None:
    """Write a table with a column of decisions and a column of masses for each set of classes."""
    from dempster.io.partitions import write_table

    table = masses.to_frame()
    table.insert(0, "decision", np.asarray(decisions))
    if table.index.name is None:
        table.index.name = "object"
    if path.suffix.lower() == ".parquet":
        table.reset_index().to_parquet(path)
    else:
        write_table(table, path)
