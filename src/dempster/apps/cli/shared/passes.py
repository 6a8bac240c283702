"""What the program adds to a fit by passes: a cluster of Dask that takes part, and how fast it went."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from dempster.apps.cli.shared.errors import UserError

__all__ = ["DASK_OPTION", "Notes", "passes_told", "workers"]

_PATIENCE = 10  # seconds until a cluster must have answered

DASK_OPTION = click.option(
    "--dask",
    is_flag=False,
    flag_value="",
    metavar="[ADDRESS]",
    help="Read a Parquet FILE by workers of Dask: of the cluster at ADDRESS (tcp://...), or some on this machine.",
)


@contextmanager
def workers(address: str | None) -> Iterator[None]:
    """Workers of Dask for the time of a fit: those at an address, or on this machine for an empty one; None: none."""
    if address is None:
        yield
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise UserError("--dask needs Dask: pip install 'dempster[dask]'") from error
    if not address:
        with LocalCluster(dashboard_address=None) as cluster, Client(cluster):
            yield
        return
    try:
        client = Client(address, timeout=_PATIENCE)
    except (OSError, ValueError, TimeoutError) as error:
        raise UserError(f"--dask: there is no cluster of Dask at {address}: {error}") from error
    with client:
        yield


class Notes(logging.Handler):
    """Counts the passes of a fit, and tells of each as it begins."""

    def __init__(self, note: Callable[[str], None] | None):
        super().__init__(logging.INFO)
        self.note, self.passes = note, 0

    def emit(self, record: logging.LogRecord) -> None:
        if not getattr(record, "is_pass", False):
            return
        self.passes += 1
        if self.note is not None:
            self.note(record.getMessage())

    def summary(self, n_rows: int, seconds: float) -> str:
        """``12 passes over 1,000,000 rows, 9,000,000 rows a second, 310 MB at most``."""
        from dempster.data.passes import peak_memory

        memory = peak_memory()
        told = "" if memory is None else f", {memory / 2**20:,.0f} MB at most"
        several = "pass" if self.passes == 1 else "passes"
        return (
            f"{self.passes} {several} over {n_rows:,} rows, {self.passes * n_rows / seconds:,.0f} rows a second{told}"
        )


@contextmanager
def passes_told(note: Callable[[str], None] | None) -> Iterator[Notes]:
    """Whoever fits inside tells of its passes here."""
    log, notes = logging.getLogger("dempster"), Notes(note)
    level = log.level
    log.addHandler(notes)
    log.setLevel(min(level, logging.INFO) if level else logging.INFO)
    try:
        yield notes
    finally:
        log.removeHandler(notes)
        log.setLevel(level)
