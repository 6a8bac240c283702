"""``dempster predict``: a saved model on new rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from dempster._errors import InvalidInputError
from dempster.apps.cli.shared.errors import UserError, WrongUse, readable_warnings, user_errors
from dempster.apps.cli.shared.kinds import PATH
from dempster.apps.cli.shared.options import common, reading
from dempster.apps.cli.shared.output import (
    DECISIONS,
    PARTITION,
    Screen,
    all_or_none,
    beside,
    check_outputs,
    keep_files_of_others,
    partition_document,
    write_table,
)
from dempster.apps.cli.shared.subjects import read_rows, read_subject
from dempster.apps.recipe.words import counted

__all__ = ["predict"]


@click.command(short_help="Apply a saved model to new rows.")
@click.argument("model", type=PATH)
@click.argument("file", type=PATH)
@click.option(
    "-o", "--output", type=PATH, metavar="PATH", help="Where to write the masses. [default: FILE.predicted.csv]"
)
@reading
@click.option(
    "--missing",
    type=click.Choice(["refuse", "drop", "partial"]),
    help="Rows with empty cells. [default: as in the training run]",
)
@common
def predict(model: Path, file: Path, output: Path | None, **options: Any) -> None:
    """Say of the rows of FILE to which clusters or classes of MODEL they belong, and how certain each is.

    MODEL is what "dempster cluster --save-model" or "dempster classify --save-model" wrote. The columns are found by
    their names and standardised as in the training run; other columns are ignored. Of a model of dissimilarities, FILE
    holds those of each new object to the old ones.

    \b
    dempster cluster flowers.csv -c 3 --save-model flowers.dempster
    dempster predict flowers.dempster new-flowers.csv
    """
    screen = Screen(quiet=options["quiet"], as_json=options["as_json"])
    target = output or keep_files_of_others(beside(file, ".predicted.csv"), PARTITION, DECISIONS)
    if target.suffix.lower() not in (".csv", ".tsv", ".parquet", ".npz"):
        raise WrongUse(f"--output: the extension must be .csv, .tsv, .parquet or .npz, got {target.suffix or 'none'}")
    check_outputs([target], [model, file])
    kept = read_subject(model).model
    if kept is None:
        raise UserError(f"{model} holds a partition, not a model: write one by dempster cluster --save-model")
    with readable_warnings(), screen.working(f"reading {file.name}"), user_errors():
        table = read_rows(file, options, kept.recipe)
        rows = kept.prepared(_numbers_of(table, kept), missing=options["missing"], note=screen.note)
        found = kept.estimator.predict_mass(rows)
        is_classifier = hasattr(kept.estimator, "classes_")
        decisions = kept.estimator.predict(rows) if is_classifier else None
        _write(found, decisions, target)
    name = type(kept.estimator).__name__
    told: dict[str, Any] = {"n_objects": len(found)}
    if decisions is not None:
        screen.result(f"{name}: {counted(len(found), 'new row')}", style="bold")
        screen.result()
        told["decisions"] = count_decisions(decisions, screen)
    else:
        screen.partition(f"{name}, {counted(found.n_clusters, 'cluster')}: {counted(len(found), 'new row')}", found)
        told["partition"] = partition_document(found)
    screen.wrote([target])
    screen.document("predict", method=name, **told, files={"masses": str(target)})


def _numbers_of(table: Any, model: Any) -> Any:
    """The table, or the array that an estimator without a preparation knows."""
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
    """How many rows are decided each way, the most frequent first; shown as a table."""
    names, counts = np.unique(np.asarray(decisions).astype(str), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    width = max(map(len, names), default=0) + 2
    for k in order:
        screen.result(f"{names[k]:{width}}{counts[k]:>8,}")
    return {str(names[k]): int(counts[k]) for k in order}


def _write(masses: Any, decisions: Any, path: Path) -> None:
    """A partition as such; masses on classes as a table of decisions and masses."""
    from dempster.io import write_partition

    with all_or_none([path]) as (temporary,):
        if decisions is None:
            write_partition(masses, temporary)
        else:
            write_decisions(masses, decisions, temporary)


def write_decisions(masses: Any, decisions: Any, path: Path) -> None:
    """Masses on classes as a table: the decision first, then the masses."""
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
