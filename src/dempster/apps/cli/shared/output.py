"""What the program shows, and where it writes."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dempster._errors import InvalidInputError
from dempster._validation import printable
from dempster.apps.cli.shared.errors import UserError, WrongUse
from dempster.apps.recipe.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from dempster.partition import CredalPartition

__all__ = [
    "ANSWERS",
    "DECISIONS",
    "PAGE",
    "PARTITION",
    "Screen",
    "all_or_none",
    "beside",
    "check_extensions",
    "check_outputs",
    "check_partition_kind",
    "further_outputs",
    "headline",
    "keep_files_of_others",
    "partition_document",
    "plain",
    "write_table",
]

_PATIENCE = 1.0  # seconds after which people want to see that something happens
_OBJECTIVES = {"EVCLUS": "stress", "NNEVCLUS": "stress"}
# what is at the beginning of files that the program writes
PARTITION, DECISIONS, ANSWERS = ",label_with_outliers,", ",decision,", "object,other,answer"
PAGE = '<meta name="generator" content="dempster"'
_HEAD = 1 << 16  # bytes that tell who wrote a file
_MOST_NAMED = 1000  # outliers in a JSON document


class Screen:
    """Results on stdout, remarks and progress on stderr; nothing but a document where ``--json`` is given.

    Attributes
    ----------
    notes : list of str
        All remarks so far.
    """

    def __init__(self, *, quiet: bool = False, as_json: bool = False):
        self.quiet, self.as_json = quiet, as_json
        self.notes: list[str] = []
        self._status: Any = None

    def result(self, text: str = "", style: str = "") -> None:
        """Part of the result; ``style`` is seen on a terminal only."""
        if self.quiet or self.as_json:
            return
        from rich.console import Console
        from rich.text import Text

        lines = "\n".join(map(printable, text.split("\n")))
        # people read lines that break between words, programs those that do not break
        console = Console(highlight=False)
        console.print(Text(lines, style=style), soft_wrap=not console.is_terminal)

    def table(self, frame: Any, **options: Any) -> None:
        """A table, aligned."""
        self.result(frame.to_string(**options))

    def note(self, text: str) -> None:
        """Something the user should know but that is not the result."""
        self.notes.append(text)
        if self.quiet or self.as_json:
            return
        line = f"note: {printable(text)}"
        if self._status is not None:
            self._status.console.print(line, markup=False, highlight=False)
        elif sys.stderr.isatty():
            from rich.console import Console

            Console(stderr=True).print(line, markup=False, highlight=False)
        else:
            click.echo(line, err=True)

    def document(self, command: str, **content: Any) -> None:
        """The one JSON document, where it is asked for."""
        if self.as_json:
            from dempster import __version__

            told = {"command": command, "dempster": __version__, **content, "notes": self.notes}
            click.echo(json.dumps(plain(told), ensure_ascii=False, indent=2, allow_nan=False))

    def partition(self, head: str, partition: CredalPartition) -> None:
        """The first line and the table."""
        self.result(head, style="bold")
        self.result()
        self.result(str(partition.summary()))

    def wrote(self, outputs: Sequence[Path]) -> None:
        """The last line: which files are there now."""
        if outputs:
            self.result(f"wrote {', '.join(map(str, outputs))}", style="green")

    # ---- progress ---------------------------------------------------------------------------------------------------

    @contextmanager
    def working(self, text: str) -> Iterator[Any]:
        """What is being done, on a terminal, when it takes longer than a second; gives a function that is told how far
        it is, as `dempster.apps.recipe.Recipe.run` takes it."""
        if self.quiet or self.as_json or not sys.stderr.isatty():
            yield _nobody
            return
        from rich.console import Console
        from rich.status import Status
        from rich.text import Text  # in which no bracket of a name means anything

        status = Status(Text(printable(text)), console=Console(stderr=True, highlight=False))

        def show() -> None:
            self._status = status
            status.start()

        def told(name: str, done: int, total: int | None, unit: str, state: str) -> None:
            of = "" if total is None else f" of {total:,}"
            status.update(Text(f"{printable(name)}: {done:,}{of} {unit}{', ' + state if state else ''}"))

        timer = threading.Timer(_PATIENCE, show)
        timer.daemon = True
        timer.start()
        try:
            yield told
        finally:
            timer.cancel()
            timer.join()
            self._status = None
            status.stop()


def _nobody(*told: Any) -> None:
    """Progress that nobody looks at."""


def headline(estimator: Any, what: str, *, seconds: float, objects: str = "object") -> str:
    """Method, clusters, objects, attributes, objective, starts and time in a line."""
    partition = estimator.credal_partition_
    name = type(estimator).__name__
    parts = [
        f"{name}, {counted(partition.n_clusters, 'cluster')}: {counted(len(partition), objects)}",
        what,
        f"{_OBJECTIVES.get(name, 'objective')} {estimator.objective_:.4g}",
    ]
    n_init = getattr(estimator, "n_init", None)
    if n_init is not None:
        parts.append(f"best of {n_init} starts" if n_init > 1 else "1 start")
    return ", ".join(part for part in (*parts, f"{seconds:.1f} s") if part)


def partition_document(partition: Any) -> dict[str, Any]:
    """A partition in numbers, for machines."""
    summary = partition.summary()
    frame = getattr(partition, "frame", range(len(summary.names)))  # clusters of objects in blocks have no names
    return {
        "n_objects": summary.n_objects,
        "n_clusters": len(summary.names),
        "clusters": [
            {"name": name, "certain": certain, "possible": possible, "typical": typical}
            for name, certain, possible, typical in zip(
                frame, summary.certain, summary.possible, summary.typical, strict=True
            )
        ],
        "ambiguous": [{"between": [frame[k] for k in which], "objects": count} for which, count in summary.ambiguous],
        "n_outliers": summary.n_outliers or len(summary.outliers),
        "outliers": list(summary.outliers)[:_MOST_NAMED],
        "nonspecificity": summary.nonspecificity,
        "choices": dict(summary.choices),
    }


def plain(value: Any) -> Any:
    """A value as JSON knows it; what is not a number is null."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(inner) for inner in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def beside(file: Path, ending: str) -> Path:
    """Where a result goes unless the user says it: ``data.partition.csv`` beside ``data.csv`` (and ``data.csv.gz``)."""
    stem = Path(file.stem).stem if file.suffix.lower() == ".gz" else file.stem
    if not stem.strip("."):
        raise UserError(f"{file} is a folder, it must be a file")
    return file.with_name(stem + ending)


def keep_files_of_others(path: Path, *marks: str) -> Path:
    """A name that the user did not choose, as it is; refused if a file of that name is there which the program did not
    write: none of the ``marks`` is at its beginning."""
    if path.is_file() and path.stat().st_size:
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD)
        except OSError:  # which the user may not even read
            head = b""
        if not any(mark.encode() in head for mark in marks):
            raise UserError(
                f"{path} is there already, and dempster did not write it: choose another name by --output, or this "
                "one to replace it"
            )
    return path


def check_outputs(outputs: Sequence[Path], inputs: Sequence[Path] = ()) -> None:
    """Refuse, before any work is done, outputs that could not be written or would destroy something."""
    seen = {os.path.realpath(path): path for path in inputs}
    for path in outputs:
        real = os.path.realpath(path)
        if real in seen:
            what = "the input" if seen[real] in inputs else "another output"
            raise WrongUse(f"{path}: this output would overwrite {what}")
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


def check_partition_kind(path: Path, option: str = "--output") -> None:
    """Refuse names of partitions that say they are something else, and kinds that cannot be written here."""
    from dempster.io.partitions import PARTITION_KINDS

    if path.suffix.lower() not in PARTITION_KINDS:
        kinds = ", ".join(PARTITION_KINDS)
        raise WrongUse(f"{option}: the extension must be one of {kinds}, got {path.suffix or 'none'}")
    if path.suffix.lower() == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise UserError(f"{option}: .parquet files need pyarrow (pip install 'dempster[parquet]')") from error


def write_table(table: pd.DataFrame, path: Path, *, index: bool = False) -> None:
    """A table as CSV or TSV, in which no name is taken for a formula by a spreadsheet."""
    from dempster.io.partitions import encode_cell

    def written(cell: Any) -> Any:
        return encode_cell(cell) if isinstance(cell, str) else cell

    shown = table.rename(columns=written, index=written)
    for place, kind in enumerate(shown.dtypes):
        if kind.kind not in "biuf":
            shown.isetitem(place, list(map(written, shown.iloc[:, place])))
    shown.to_csv(path, index=index, sep="\t" if path.suffix.lower() == ".tsv" else ",")


def further_outputs(options: Mapping[str, Any]) -> dict[str, Path]:
    """The files to write beside a partition, by what they hold."""
    names = ("plot", "report", "save_model", "save_config")
    return {name.removeprefix("save_"): options[name] for name in names if options.get(name) is not None}


def check_extensions(outputs: Mapping[str, Path]) -> None:
    """Refuse names of reports, models and configurations that say they are something else."""
    for name, option, suffixes in (
        ("report", "--report", (".html", ".htm")),
        ("model", "--save-model", (".dempster",)),
        ("config", "--save-config", (".toml",)),
    ):
        if name in outputs and outputs[name].suffix.lower() not in suffixes:
            raise WrongUse(f"{option}: the extension must be {suffixes[0]}, got {outputs[name].suffix or 'none'}")


@contextmanager
def all_or_none(outputs: Sequence[Path]) -> Iterator[list[Path]]:
    """Temporary files that become the outputs together; a failing disk is told in the names the user knows."""
    from dempster.io import atomic_writes

    temporaries: list[Path] = []
    try:
        with atomic_writes(outputs) as temporaries:
            yield temporaries
    except ValueError as error:
        words = str(error)
        for temporary, path in zip(temporaries, outputs, strict=False):
            words = words.replace(temporary.name, path.name)
        if words == str(error):
            raise
        raise InvalidInputError(words) from error
    except OSError as error:
        names = ", ".join(map(str, outputs))
        raise UserError(f"cannot write {names}: {error.strerror or error}; no file was changed") from error
