"""Open the rows of a fit, in memory, on a device or in blocks, and make lazy results for blocks.

The functions get the clusterer, whose `Support` declares the forms of X that it accepts.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dempster._arrays import Array, is_tensor, to_device_of, to_host
from dempster._errors import InvalidParameterError
from dempster._progress import progress_bar
from dempster._types import ArrayLike, Index, TableLike
from dempster._validation import (
    check_masses,
    column_names,
    match_names,
    missing_value_advice,
    reorder_like,
)
from dempster.belief import FocalSets
from dempster.cluster._search import Sample
from dempster.cluster._starts import check_different_objects
from dempster.data.blocks import Blocks, comes_in_blocks
from dempster.data.identifiers import warn_about_rows
from dempster.data.in_process import open_blocks
from dempster.data.passes import Journal, PassRunner
from dempster.data.rows import BlockRows
from dempster.optimize.blocks import Apply
from dempster.partition import CredalPartition, LazyCredalPartition

_LOG = logging.getLogger("dempster")
# parameters that do not change the result
_IRRELEVANT_PARAMS = (
    "checkpoint",
    "n_jobs",
    "verbose",
)


def check_enough_rows(
    values: Any, n_clusters: int | None, weights: np.ndarray | None = None
) -> None:
    """Raise an error if a table, or the table of a source, has too few distinct rows.

    Objects of a matrix of dissimilarities are regarded as distinct.
    """
    if n_clusters is None:
        return
    if len(values) < n_clusters:
        message = f"n_samples={len(values)} should be >= n_clusters={n_clusters}"
        raise InvalidParameterError("n_clusters", message=message)
    rows = getattr(values, "objects", values)
    if isinstance(rows, np.ndarray) and rows.ndim == 2:
        check_different_objects(rows, rows[: 4 * n_clusters], n_clusters, weights)


@contextmanager
def open_sample(
    clusterer: Any,
    X: TableLike,
    sample_weight: ArrayLike,
    per_row: dict[str, Any],
    apply: Apply,
    *,
    warn: bool = True,
) -> Iterator[Sample[Any]]:
    """Yield the rows to fit: all rows of X, or a random subset if X comes in blocks.

    ``per_row`` contains further arguments of the fit with one value for each row. ``warn`` is
    False for fits that the user did not call.
    """
    if in_blocks(clusterer, X):
        with _open_block_sample(clusterer, X, sample_weight, per_row, apply) as sample:
            if warn and sample.blocks is not None:
                table = named_rows(sample.blocks.values, sample.blocks.source)
                warn_about_table(clusterer, table)
            yield sample
        return
    if clusterer.checkpoint is not None and clusterer._support.passes:
        expected = "None if X is in memory; pass [X] to fit X as one block"
        raise InvalidParameterError("checkpoint", expected, clusterer.checkpoint)
    sample = read_sample(clusterer, X, sample_weight)
    if warn:
        warn_about_table(clusterer, X)
    yield sample


def read_sample(clusterer: Any, X: TableLike, sample_weight: ArrayLike) -> Sample[Any]:
    """Validate X in memory and the weights of its rows, and return them."""
    values = clusterer._read(X, reset=True)
    names = clusterer._row_names(X)
    aligned = reorder_like(sample_weight, names)
    weights = clusterer._validate_weights(aligned, len(values))
    check_enough_rows(values, clusterer._requested_clusters(), weights)
    device = None
    if clusterer._stays_on_device(X):
        device = X.device
    return Sample(values, weights, names, device=device)


def warn_about_table(clusterer: Any, X: TableLike) -> None:
    """Warn if X, which is valid, looks like a matrix of dissimilarities or has identifiers."""
    if getattr(clusterer, "metric", None) == "precomputed":
        return
    advice = "fit it with metric='precomputed'"
    metric_rule = clusterer._rules.get("metric")
    if metric_rule is None or not metric_rule.test("precomputed"):
        advice = f"{advice} of CredalClustering, EVCLUS or RECM"
    warn_about_rows(type(clusterer).__name__, X, advice)


def align_init(clusterer: Any, index: Index) -> None:
    """Reorder the rows and columns of ``init`` like those of X."""
    init = getattr(clusterer, "init", None)
    if init is None or isinstance(init, str):
        return
    if isinstance(init, CredalPartition):
        try:
            order = match_names(init.index, index)
        except InvalidParameterError as error:
            must = f"be a partition of the rows of X: {error}"
            raise InvalidParameterError("init", must=must) from error
        if order is not None:
            clusterer.init = init[order]
        return
    init = reorder_like(init, index)
    names = list(getattr(clusterer, "feature_names_in_", []))
    columns = column_names(init)
    is_permuted = columns != names and len(columns or []) == len(names)
    if columns is not None and is_permuted and set(columns) == set(names):
        init = init[names]
    clusterer.init = init


def move_results(clusterer: Any, X: Array) -> None:
    """Move the fitted arrays to the device of the tensor X."""
    for name, value in vars(clusterer).items():
        if name.endswith("_") and isinstance(value, np.ndarray):
            setattr(clusterer, name, to_device_of(value, X))


# ---- blocks --------------------------------------------------------------------------------------


def in_blocks(clusterer: Any, X: TableLike, *, new: bool = False) -> bool:
    """Return whether X, training data or new rows, comes in blocks.

    Raise an error if the clusterer does not support blocks.
    """
    support = clusterer._support
    if support.images or not comes_in_blocks(X):
        return False
    if isinstance(X, list | tuple) and not support.blocks:
        return False
    if new:
        return True
    if not support.blocks:
        where = (
            f"in memory for {type(clusterer).__name__}, got blocks ({type(X).__name__})"
        )
        raise InvalidParameterError("X", must=f"be an array or a table {where}")
    if clusterer.metric == "precomputed":
        must = "be in memory, not in blocks, if metric='precomputed'"
        raise InvalidParameterError("X", must=must)
    return True


@contextmanager
def _open_block_sample(
    clusterer: Any,
    X: TableLike,
    sample_weight: ArrayLike,
    per_row: dict[str, Any],
    apply: Apply,
) -> Iterator[Sample[Any]]:
    support = clusterer._support
    if not support.block_weights:
        per_row = {**per_row, "sample_weight": sample_weight}
    for argument, value in per_row.items():
        if value is not None:
            raise InvalidParameterError(argument, must="be None if X comes in blocks")
    if isinstance(getattr(clusterer, "init", None), CredalPartition):
        expected = "prototypes or a name if X comes in blocks, not a partition"
        raise InvalidParameterError("init", expected)
    name = type(clusterer).__name__
    title = f"{name}, passes over X"
    with progress_bar(title, None, " passes", shown=bool(clusterer.verbose)) as advance:
        source = _open_source(clusterer, X)
        journal = _open_journal(clusterer, source, weighted=sample_weight is not None)

        def log(purpose: str) -> None:
            # Log handlers count passes by the attribute ``is_pass``.
            _LOG.info(
                "%s: a pass over X begins, for %s",
                name,
                purpose,
                extra={"is_pass": True},
            )

        rows = BlockRows(
            source,
            clusterer._map_blocks(source),
            sample_weight,
            clusterer.random_state,
            PassRunner(apply, journal, log, advance),
            products=support.products,
            min_sample=clusterer._min_sample(),
        )
        check_enough_rows(rows, clusterer._requested_clusters())
        values = clusterer._read(named_rows(rows.values, source), reset=True)
        yield Sample(values, rows.weights if len(rows.weights) else None, blocks=rows)


def _open_source(clusterer: Any, X: TableLike) -> Blocks:
    accepts_missing = missing_value_advice(clusterer) is None
    return open_blocks(X, clusterer.n_jobs, missing=accepts_missing)


def _open_journal(clusterer: Any, source: Blocks, *, weighted: bool) -> Journal | None:
    """Open the checkpoint file, or return None if the parameter ``checkpoint`` is not set."""
    if clusterer.checkpoint is None or not clusterer._support.passes:
        return None
    if not isinstance(clusterer.random_state, int | np.integer):
        # A resumed fit must draw the same rows as the interrupted fit.
        expected = "an integer if checkpoint is set"
        raise InvalidParameterError("random_state", expected, clusterer.random_state)
    from dempster import __version__  # not yet defined when this module is imported

    about = {
        name: _fingerprint(value)
        for name, value in clusterer.get_params().items()
        if name not in _IRRELEVANT_PARAMS
    }
    about["class"] = type(clusterer).__name__
    about["version"] = __version__
    about["columns"] = (
        f"{source.width} {source.dtype} {source.names} weighted={weighted}"
    )
    return Journal(clusterer.checkpoint, about)


def _fingerprint(value: Any) -> str:
    """Return a text that identifies the value of a parameter."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {value.tolist()}"
    if isinstance(value, FocalSets):
        return repr(list(value))
    return repr(value)


def named_rows(values: np.ndarray, source: Blocks) -> TableLike:
    """Return the rows as a DataFrame if the blocks have column names, else unchanged."""
    if source.names is None:
        return values
    import pandas as pd

    return pd.DataFrame(values, columns=list(source.names))


# ---- lazy results --------------------------------------------------------------------------------


def set_lazy_result(clusterer: Any, rows: BlockRows, metadata: dict[str, Any]) -> None:
    """Set the lazy partition and labels of all rows."""
    clusterer.credal_partition_ = _lazy_partition(clusterer, rows.source, metadata)
    clusterer.labels_ = clusterer.credal_partition_.labels
    clusterer.sample_indices_ = rows.indices


def predict_lazily(clusterer: Any, X: TableLike) -> LazyCredalPartition:
    """Return the lazy partition of new rows in blocks."""
    source = _open_source(clusterer, X)
    assert source.width is not None
    # One row suffices to check the number and the names of the columns.
    row = np.ones((1, source.width), source.dtype)
    clusterer._read(named_rows(row, source), reset=False)
    return _lazy_partition(clusterer, source, None)


def _lazy_partition(
    clusterer: Any, source: Blocks, metadata: dict[str, Any] | None
) -> LazyCredalPartition:
    family = clusterer.focal_sets_
    light = light_copy(clusterer, clusterer._prediction_state)
    light.init = None  # ``init`` may be a large partition of all rows.
    return LazyCredalPartition(source, family, metadata, (_block_masses, light))


def light_copy(estimator: Any, state: tuple[str, ...]) -> Any:
    """Return a copy with the parameters and some attributes, which is sent to the workers."""
    light = copy.copy(estimator)
    names = {*estimator.get_params(deep=False), *state}
    light.__dict__ = {
        name: value for name, value in vars(estimator).items() if name in names
    }
    return light


def _block_masses(block: np.ndarray, clusterer: Any, apply: Apply) -> Array:
    if len(block) == 0:
        return np.empty((0, len(clusterer.focal_sets_)), block.dtype)
    values = clusterer._read(block, reset=False)
    masses = check_masses(clusterer._compute_masses(values, apply))
    if is_tensor(masses):
        masses = to_host(masses)
    return masses.astype(block.dtype, copy=False)
