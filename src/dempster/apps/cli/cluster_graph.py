"""``dempster cluster edges.csv --graph``: find communities in a graph."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dempster._text import format_count
from dempster.apps.cli.cluster import run_document
from dempster.apps.cli.shared import (
    Outputs,
    Screen,
    UserError,
    WrongUse,
    default_path,
    format_headline,
    reject_options,
)
from dempster.apps.cli.shared.drawing import draw_picture
from dempster.io import read_table, write_partition
from dempster.partition import CredalPartition

if TYPE_CHECKING:
    from scipy import sparse

    from dempster.apps.recipe import Recipe

# Options for tables that a graph does not have.
_NEED_TABLE = (
    *("columns", "exclude", "categories", "index", "constraints", "labels", "truth"),
    *("confidence", "outlier_weight", "ambiguity_weight"),
    *("append", "report", "save_model", "save_config"),
)


def cluster_graph(
    recipe: Recipe, outputs: Outputs, options: dict[str, Any], screen: Screen
) -> None:
    """Find communities in the graph whose edges are the rows of a table."""
    if recipe.method != "eknnclus" or recipe.kind != "table" or len(recipe.files) > 1:
        raise WrongUse("--graph needs one table of edges and --method eknnclus")
    reject_options(recipe, options, _NEED_TABLE, "--graph")
    file = Path(recipe.files[0])
    outputs.add("partition", options["output"] or default_path(file, ".partition.csv"))
    outputs.add_options(options)
    table = read_table(file, **recipe.reading_options())
    names, adjacency = read_edges(table)
    heading = [str(name) for name in table.columns[:2]]
    if set(heading) <= set(names):
        edge = " and ".join(heading)
        screen.note(
            f"the first row, {edge}, is the heading; if it is an edge, set --no-header"
        )
    estimator = recipe.estimator()
    started = time.perf_counter()
    with screen.progress(f"clustering {file.name}"):
        estimator.fit(adjacency)
    seconds = time.perf_counter() - started
    found = estimator.credal_partition_
    if not isinstance(found, CredalPartition):
        problem = f"{found.n_clusters:,} clusters of {len(names):,} nodes"
        raise UserError(
            f"--graph: {problem} are too many for a table; use a smaller --resolution"
        )
    partition = CredalPartition.unchecked(
        found.stored_masses, found.focal_sets, names, metadata=found.metadata
    )
    estimator.credal_partition_ = partition
    title = f"EKNNClus, {file.name}"
    with screen.progress("writing"):
        outputs.write(
            {
                "partition": lambda path: write_partition(partition, path),
                "plot": lambda path: draw_picture(
                    lambda ax: partition.plot(
                        adjacency, ax=ax, legend="outside", title=title
                    ),
                    path,
                    (8, 5.2),
                ),
            }
        )
    data = format_count(adjacency.nnz // 2, "edge")
    head = format_headline(estimator, data, seconds=seconds, objects="node")
    screen.print_partition(head, partition, options["verbose"])
    screen.finish(outputs, **run_document(recipe, estimator, seconds))


def read_edges(table: pd.DataFrame) -> tuple[list[str], sparse.csr_array]:
    """Return the names of the nodes and the sums of the weights of their edges."""
    from scipy import sparse

    if table.shape[1] not in (2, 3):
        columns = "two or three columns (two nodes and a weight)"
        raise UserError(f"--graph: FILE must have {columns}, got {table.shape[1]}")
    ends = table.iloc[:, :2]
    if ends.isna().any(axis=None):
        row = int(ends.isna().any(axis=1).argmax()) + 1
        raise UserError(f"--graph: a node is missing in row {row} of FILE")
    codes, names = pd.factorize(ends.astype(str).to_numpy().ravel(), sort=False)
    weights = np.ones(len(table))
    if table.shape[1] == 3:
        weights = pd.to_numeric(table.iloc[:, 2], errors="coerce").to_numpy(float)
        is_wrong = ~np.isfinite(weights)
        if is_wrong.any():
            row = int(is_wrong.argmax())
            cell = str(table.iloc[row, 2])
            problem = f"got '{cell}' in row {row + 1}"
            raise UserError(
                f"--graph: the third column of FILE must contain weights (numbers), {problem}"
            )
    pairs = codes.reshape(-1, 2).T
    edges = sparse.coo_array((weights, tuple(pairs)), shape=(len(names),) * 2)
    return names.tolist(), (edges + edges.T).tocsr()
