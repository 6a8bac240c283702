"""Worker process of the studio, which runs one task after the other.

Run as ``python -m dempster.apps.studio.worker``. The worker reads tasks from standard input and
writes messages to standard output, as pickles. Pickles are safe here, because both processes belong
to the same program. For each task the worker writes any number of messages ``("progress", {"words",
"share"})``, and then one message ``("done", {"result", "warnings"})`` or ``("failed", message)``.
"""

from __future__ import annotations

import os
import pickle
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dempster._errors import InvalidInputError
from dempster._progress import report_progress_to
from dempster._validation import row_index
from dempster.apps.recipe import Attributes, Recipe, prepare
from dempster.apps.recipe.attributes import find_name_column
from dempster.apps.studio.errors import describe_error, rewrite_for_page
from dempster.cluster import BeliefPeaks
from dempster.io.atomic import as_file, compute_digest
from dempster.io.tables import read_quietly
from dempster.model_selection import number_of_clusters
from dempster.partition.credal_partition import NOT_SEPARATED

Progress = Callable[[str, float | None], None]

MAX_PEAK_OBJECTS = 300_000
MIN_PROGRESS_SECONDS = 0.1  # minimum time between two progress messages

# ---- tasks ---------------------------------------------------------------------------------------


def load(
    progress: Progress,
    path: str,
    options: dict[str, Any],
    copy: str | None,
    max_copy_bytes: int,
) -> dict[str, Any]:
    """Read a table from a file, or from a copy of it, without executing code in the file."""
    progress("reading the table", None)
    file = as_file(path)
    copy_error = None
    if copy is not None and file.stat().st_size <= max_copy_bytes:
        try:
            shutil.copyfile(file, copy)
            file = Path(copy)
        except OSError as error:
            Path(copy).unlink(missing_ok=True)
            copy_error = error.strerror or str(error)
    digest = compute_digest(file)
    table = read_quietly(file, **options)
    if len(table) == 0:
        raise InvalidInputError("the table has no rows")
    if "index_col" not in options and row_index(table) is None:
        names = find_name_column(table, ())
        if names is not None:
            options = {**options, "index_col": names}
            table = table.set_index(names)
    return {
        "path": file,
        "digest": digest,
        "options": options,
        "table": table,
        "copy_error": copy_error,
    }


def cluster(progress: Progress, recipe: dict[str, Any]) -> dict[str, Any]:
    """Run a recipe and return its result without the table, which the studio already has."""
    progress("reading and preparing", None)
    outcome = Recipe.from_dict(recipe).run(progress=_to_listener(progress))
    attributes = outcome.attributes
    assert attributes is not None  # The studio clusters only tables.
    metadata = outcome.partition.metadata
    notes = list(outcome.prepared.notes)
    if metadata.get("separated") is False:
        notes.append(NOT_SEPARATED)
    return {
        "estimator": outcome.estimator,
        "attributes": attributes.table,
        "values": attributes.values,
        "preparation": attributes.preparation,
        "rows": np.asarray(attributes.rows),
        "notes": [
            *map(rewrite_for_page, notes),
            *(
                f"{name}: {reason}"
                for name, reason in metadata.get("choices", {}).items()
            ),
        ],
        "seconds": outcome.seconds,
    }


def _to_listener(progress: Progress) -> Callable[..., None]:
    def listen(name: str, done: int, total: int | None, unit: str, state: str) -> None:
        words = f"{name}: {state}" if state else name
        progress(words, done / total if total else None)

    return listen


def peaks(progress: Progress, recipe: dict[str, Any]) -> dict[str, Any]:
    """Compute the belief and delta of each object, which are high for belief peaks."""
    progress("finding belief peaks", None)
    attributes = _prepare_attributes(recipe)
    if attributes.preparation.categories:
        raise InvalidInputError(
            "belief peaks need numeric columns; deselect the categories"
        )
    if len(attributes.values) > MAX_PEAK_OBJECTS:
        raise InvalidInputError(
            f"belief peaks can be computed for up to {MAX_PEAK_OBJECTS:,} objects"
        )
    values = attributes.values.to_numpy(dtype=float)
    model = BeliefPeaks(random_state=0).fit(values)
    return {
        "belief": model.belief_.astype(np.float32),
        "delta": model.delta_.astype(np.float32),
        "chosen": model.peak_indices_.tolist(),
        "n_neighbors": int(model.n_neighbors_),
        "values": values,
        "rows": np.asarray(attributes.rows),
    }


def number(progress: Progress, recipe: dict[str, Any]) -> dict[str, Any]:
    """Compute the plausibility and the expected agreement of each number of clusters."""
    progress("comparing numbers of clusters", None)
    attributes = _prepare_attributes(recipe)
    metric = "gower" if attributes.preparation.categories else "euclidean"
    with report_progress_to(_to_listener(progress)):
        selection = number_of_clusters(attributes.values, metric=metric, random_state=0)
    return {
        "n_clusters": selection.n_clusters,
        "plausibility": selection.plausibility,
        "expected_agreement": selection.expected_agreement,
        "best": selection.best,
        "reasons": selection.reasons(),
        "n_objects": selection.n_objects,
    }


def _prepare_attributes(recipe: dict[str, Any]) -> Attributes:
    attributes = prepare(Recipe.from_dict(recipe)).attributes
    assert attributes is not None  # The studio clusters only tables.
    return attributes


def report(progress: Progress, **arguments: Any) -> str:
    """Return a report as one HTML page."""
    from dempster.apps.report import make_report

    progress("writing the report", None)
    return make_report(**arguments).to_html()


TASKS: dict[str, Callable[..., Any]] = {
    task.__name__: task for task in (load, cluster, peaks, number, report)
}

# ---- the process ---------------------------------------------------------------------------------


def main() -> None:
    """Run tasks until the studio closes standard input."""
    stream = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # Printed text goes to stderr, because stdout is used for messages.

    def send(kind: str, content: Any) -> None:
        pickle.dump((kind, content), stream, protocol=5)
        stream.flush()

    while True:
        try:
            name, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        send(*run_task(name, arguments, send))


def run_task(
    name: str, arguments: dict[str, Any], send: Callable[[str, Any], None]
) -> tuple[str, Any]:
    """Return the last message of a task; send its progress by ``send(kind, content)``."""
    last = 0.0

    def send_progress(words: str, share: float | None = None) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= MIN_PROGRESS_SECONDS or share == 1:
            last = now
            send("progress", {"words": words, "share": share})

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            result = TASKS[name](send_progress, **arguments)
        except Exception as error:
            return "failed", describe_error(error)[1]
    messages = [
        rewrite_for_page(str(one.message))
        for one in caught
        if issubclass(one.category, UserWarning)
    ]
    return "done", {"result": result, "warnings": list(dict.fromkeys(messages))}


if __name__ == "__main__":
    main()
