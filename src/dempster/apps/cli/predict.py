"""``dempster predict``: a saved model on new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from dempster._errors import InvalidInputError
from dempster._text import format_count
from dempster.apps.cli.shared.errors import Command, UserError, WrongUse
from dempster.apps.cli.shared.inputs import read_rows, read_subject
from dempster.apps.cli.shared.options import output_option, reading_options, screen_options
from dempster.apps.cli.shared.output import (
    DECISIONS,
    PARTITION,
    Screen,
    beside,
    check_extension,
    check_outputs,
    check_own_file,
    partition_document,
    write_files,
    write_table,
)
from dempster.apps.cli.shared.param_types import PATH


@click.command(cls=Command, short_help="Apply a saved model to new rows.")
@click.argument("model", type=PATH)
@click.argument("file", type=PATH)
@output_option("Where to write the masses. [default: FILE.predicted.csv]")
@reading_options
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop", "partial"]),
    help="Rows with empty cells. [default: as in the training run]",
)
@screen_options
def predict(model: Path, file: Path, output: Path | None, screen: Screen, **options: Any) -> None:
    """Say of the rows of FILE to which clusters or classes of MODEL they belong, and how certain each is.

    MODEL is what "dempster cluster --save-model" or "dempster classify --save-model" wrote. The columns are found by
    their names and standardised as in the training run; other columns are ignored. Of a model of dissimilarities, FILE
    holds those of each new object to the old ones.

    \b
    dempster cluster flowers.csv -c 3 --save-model flowers.dempster
    dempster predict flowers.dempster new-flowers.csv
    """
    target = output or check_own_file(beside(file, ".predicted.csv"), PARTITION, DECISIONS)
    check_extension("--output", target, (".csv", ".tsv", ".parquet", ".npz"))
    check_outputs([target], [model, file])
    kept = read_subject(model).model
    if kept is None:
        raise UserError(f"{model} holds a partition, not a model: write one by dempster cluster --save-model")
    with screen.working(f"reading {file.name}"):
        table = read_rows(file, options, kept.recipe)
        rows = kept.prepared(_select_columns(table, kept), missing=options["missing"], note=screen.note)
        found = kept.estimator.predict_mass(rows)
        is_classifier = hasattr(kept.estimator, "classes_")
        decisions = kept.estimator.predict(rows) if is_classifier else None
        write_files({target: lambda path: _write(found, decisions, path)})
    name = type(kept.estimator).__name__
    content: dict[str, Any] = {"n_objects": len(found)}
    if decisions is not None:
        screen.result(f"{name}: {format_count(len(found), 'new row')}", style="bold")
        screen.result()
        content["decisions"] = count_decisions(decisions, screen)
    else:
        screen.partition(
            f"{name}, {format_count(found.n_clusters, 'cluster')}: {format_count(len(found), 'new row')}", found
        )
        content["partition"] = partition_document(found)
    screen.wrote([target])
    screen.document("predict", method=name, **content, files={"masses": str(target)})


def _select_columns(table: Any, model: Any) -> Any:
    """Return the table, or the array that an estimator without a preparation takes."""
    if model.preparation is not None:
        return table
    known = getattr(model.estimator, "feature_names_in_", None)
    if known is None:
        odd = [name for name, kind in table.dtypes.items() if kind.kind not in "biuf"]
        if odd:
            raise InvalidInputError(
                f"the column '{odd[0]}' must hold numbers: the model was made of an array, not of a table"
            )
        return table.to_numpy(dtype=float)
    lacking = [name for name in known if name not in table.columns]
    if lacking:
        raise InvalidInputError(f"the table lacks the column '{lacking[0]}', by which the model was made")
    return table[list(known)]


def count_decisions(decisions: Any, screen: Screen) -> dict[str, int]:
    """Count and show how many rows are decided each way, the most frequent first."""
    names, counts = np.unique(np.asarray(decisions).astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    width = max(map(len, names), default=0) + 2
    for k in order:
        screen.result(f"{names[k]:{width}}{counts[k]:>8,}")
    return {str(names[k]): int(counts[k]) for k in order}


def _write(masses: Any, decisions: Any, path: Path) -> None:
    """Write a partition, or a table of decisions and masses on classes."""
    from dempster.io import write_partition

    if decisions is None:
        write_partition(masses, path)
    else:
        write_decisions(masses, decisions, path)


def write_decisions(masses: Any, decisions: Any, path: Path) -> None:
    """Write masses on classes as a table: the decision first, then the masses."""
    table = masses.to_frame()
    table.insert(0, "decision", np.asarray(decisions))
    if table.index.name is None:
        table.index.name = "object"
    if path.suffix.lower() == ".parquet":
        table.reset_index().to_parquet(path)
    elif path.suffix.lower() == ".npz":
        raise WrongUse("--output: masses on classes are written as .csv, .tsv or .parquet")
    else:
        write_table(table, path, index=True)
