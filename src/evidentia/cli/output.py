"""What the program shows, and where it writes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evidentia._tables import printable
from evidentia.cli.errors import UserError

if TYPE_CHECKING:
    from evidentia.partition import CredalPartition

__all__ = ["Screen", "headline", "counted", "check_outputs", "all_or_none", "quoted"]


class Screen:
    """Results on stdout, remarks on stderr; nothing when quiet."""

    def __init__(self, *, quiet: bool = False):
        self.quiet = quiet

    def result(self, text: str = "", style: str = "") -> None:
        """Part of the result; ``style`` is seen on a terminal only."""
        if self.quiet:
            return
        from rich.console import Console
        from rich.text import Text

        lines = "\n".join(map(printable, text.split("\n")))
        Console(highlight=False, soft_wrap=True).print(Text(lines, style=style))

    def note(self, text: str) -> None:
        """Something the user should know but that is not the result."""
        if not self.quiet:
            click.echo(f"note: {printable(text)}", err=True)

    def partition(self, head: str, partition: CredalPartition) -> None:
        """The first line and the table."""
        self.result(head, style="bold")
        self.result()
        self.result(str(partition.summary()))


def counted(number: int, thing: str) -> str:
    """``1 row``, ``2 rows``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def quoted(names: Iterable[Any], most: int = 8) -> str:
    """Names as people write a list: ``'a', 'b' and 3 more``."""
    texts = [f"'{name}'" for name in names]
    return ", ".join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def headline(name: str, estimator: Any, n_attributes: int, *, scaled: bool, objective: str, seconds: float) -> str:
    """Method, clusters, objects, attributes, objective, starts and time in a line."""
    partition = estimator.credal_partition_
    attributes = counted(n_attributes, "attribute") + (" (standardised)" if scaled else "")
    n_init = getattr(estimator, "n_init", 1)
    starts = f"best of {n_init} starts" if n_init > 1 else "1 start"
    return (
        f"{name}, {counted(partition.n_clusters, 'cluster')}: {counted(len(partition), 'object')}, {attributes}, "
        f"{objective} {estimator.objective_:.4g}, {starts}, {seconds:.1f} s"
    )


def check_outputs(outputs: Sequence[Path], inputs: Sequence[Path] = ()) -> None:
    """Refuse, before any work is done, outputs that could not be written or would destroy something."""
    seen = {os.path.realpath(path): path for path in inputs}
    for path in outputs:
        real = os.path.realpath(path)
        if real in seen:
            what = "the input" if seen[real] in inputs else "another output"
            raise UserError(f"{path}: this output would overwrite {what}")
        seen[real] = path
        folder = Path(real).parent
        if not folder.is_dir():
            raise UserError(f"cannot write {path}: there is no folder {path.parent}")
        if not os.access(folder, os.W_OK):
            raise UserError(
                f"cannot write {path}: the folder {path.parent} is not writable; choose another by --output"
            )
        if Path(real).is_dir():
            raise UserError(f"cannot write {path}: it is a folder")


@contextmanager
def all_or_none(outputs: Sequence[Path]) -> Iterator[list[Path]]:
    """Temporary files that become the outputs together; a failing disk is told in the names the user knows."""
    from evidentia.io import atomic_writes

    try:
        with atomic_writes(outputs) as temporaries:
            yield temporaries
    except OSError as error:
        names = ", ".join(map(str, outputs))
        raise UserError(f"cannot write {names}: {error.strerror or error}; no file was changed") from error
