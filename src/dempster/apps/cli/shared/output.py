"""Output of the program as text or JSON on the screen, and as files."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dempster._text import format_count, join_some, join_words, printable, to_plain
from dempster.apps.cli.shared.errors import UserError, WrongUse, name_options

if TYPE_CHECKING:
    from dempster.apps.recipe import Recipe
    from dempster.partition import CredalPartition


PROGRESS_DELAY = 1.0  # seconds until progress is shown
MAX_NAMED_OUTLIERS = 1000  # maximum number of outliers in a JSON document
MAX_NAMED_COLUMNS = 20
MAX_MARKER_BYTES = 1 << 16  # The marker of a file must be within this number of bytes.

# Each file that the program writes under a default name contains a marker near its beginning.
_MARKERS = (
    b",label_with_outliers,",
    b",decision,",
    b"object,other,answer",
    b'<meta name="generator" content="dempster"',
)

STDOUT = Path("-")  # as an output file
_PARTITION_EXTENSIONS = (".csv", ".tsv", ".parquet")
EXTENSIONS = {
    "--append": (".csv", ".tsv"),
    "--partition": _PARTITION_EXTENSIONS,
    "--plot": (".png", ".svg", ".pdf"),
    "--report": (".html", ".htm"),
    "--save-model": (".dempster",),
    "--save-config": (".toml",),
}


class Screen:
    """Print results to stdout, and notes and progress to stderr.

    With ``--json`` print only a JSON document.
    """

    def __init__(
        self, *, quiet: bool = False, as_json: bool = False, to_stderr: bool = False
    ):
        self.is_silent = quiet or as_json
        self.as_json = as_json
        self.to_stderr = to_stderr  # whether stdout is an output file
        self.notes: list[str] = []

    def print(self, text: str = "", **style: Any) -> None:
        """Print a part of the result; ``style`` has an effect only on a terminal."""
        if not self.is_silent:
            lines = "\n".join(map(printable, text.split("\n")))
            click.secho(lines, err=self.to_stderr, **style)

    def print_partition(
        self,
        head: str,
        partition: CredalPartition,
        verbose: bool = False,
        columns: Iterable[str] = (),
    ) -> None:
        """Print a heading, the columns that were used, and the summary of a partition."""
        self.print(head, bold=True)
        self.print_columns(columns)
        self.print()
        self.print(str(partition.summary(verbose=verbose)))

    def print_columns(self, columns: Iterable[str]) -> None:
        """Print the names of the columns that were used, unless there are none."""
        if columns := list(columns):
            self.print(f"columns: {join_some(columns, MAX_NAMED_COLUMNS)}")

    def note(self, text: str) -> None:
        """Print a note that is not part of the result."""
        text = name_options(text, click.get_current_context())
        self.notes.append(text)
        if not self.is_silent:
            click.echo(f"note: {printable(text)}", err=True)

    def finish(self, files: Mapping[str, Path], **content: Any) -> None:
        """Print the names of the written files and, with ``--json``, the JSON document."""
        written = [str(path) for path in files.values() if path != STDOUT]
        if written:
            self.print(f"wrote {', '.join(written)}", fg="green")
        if self.as_json:
            from dempster import __version__

            content = {
                "command": click.get_current_context().info_name,
                "dempster": __version__,
                **content,
                "files": files,
                "notes": self.notes,
            }
            click.echo(
                json.dumps(
                    to_plain(content), ensure_ascii=False, indent=2, allow_nan=False
                )
            )

    @contextmanager
    def progress(self, text: str) -> Iterator[Any]:
        """Show the progress of a long task on a terminal.

        Yield a listener for `dempster.apps.recipe.Recipe.run`.
        """
        if self.is_silent or not sys.stderr.isatty():
            yield lambda *_: None
            return
        from rich.console import Console
        from rich.status import Status
        from rich.text import Text

        # rich would interpret brackets in a plain string as markup.
        status = Status(
            Text(printable(text)), console=Console(stderr=True, highlight=False)
        )

        def update(
            name: str, done: int, total: int | None, unit: str, state: str
        ) -> None:
            of = "" if total is None else f" of {total:,}"
            end = f", {state}" if state else ""
            status.update(Text(f"{printable(name)}: {done:,}{of} {unit}{end}"))

        timer = threading.Timer(PROGRESS_DELAY, status.start)
        timer.daemon = True
        timer.start()
        try:
            yield update
        finally:
            timer.cancel()
            timer.join()
            status.stop()


def format_headline(
    estimator: Any, data: str, *, seconds: float, objects: str = "object"
) -> str:
    """Return a line with the method, its result, ``data`` (a text) and the seconds."""
    partition = estimator.credal_partition_
    name = type(estimator).__name__
    n_objects = format_count(len(partition), objects)
    parts = [
        f"{name}, {format_count(partition.n_clusters, 'cluster')}: {n_objects}",
        data,
        f"objective {estimator.objective_:.4g}",
        f"{seconds:.1f} s",
    ]
    return ", ".join(filter(None, parts))


def partition_document(partition: Any) -> dict[str, Any]:
    """Return a summary of a partition as a dictionary for the JSON document."""
    summary = partition.summary()
    # A lazy partition has no cluster names.
    frame = getattr(partition, "frame", range(len(summary.names)))
    return {
        "n_objects": summary.n_objects,
        "n_clusters": len(summary.names),
        "clusters": [
            dict(zip(("name", "certain", "possible", "typical"), cluster, strict=True))
            for cluster in zip(
                frame, summary.certain, summary.possible, summary.typical, strict=True
            )
        ],
        "ambiguous": [
            {"between": [frame[k] for k in which], "objects": count}
            for which, count in summary.ambiguous
        ],
        "n_outliers": summary.n_outliers or len(summary.outliers),
        "outliers": list(summary.outliers)[:MAX_NAMED_OUTLIERS],
        "nonspecificity": summary.nonspecificity,
        "choices": dict(summary.choices),
    }


# ---- files ---------------------------------------------------------------------------------------


class Outputs(dict[str, Path]):
    """Dictionary of the files that a command writes, which must not overwrite its inputs."""

    def __init__(self, inputs: Iterable[Path | None] = ()):
        super().__init__()
        self._taken: set[str] = set()
        self.protect(*inputs)

    def protect(self, *inputs: Path | None) -> None:
        """Add input files, which outputs added later must not overwrite; None is ignored."""
        self._taken |= {os.path.realpath(path) for path in inputs if path is not None}

    def add(
        self,
        name: str,
        path: Path | None,
        extensions: Sequence[str] = _PARTITION_EXTENSIONS,
        option: str = "--output",
    ) -> None:
        """Add an output file unless ``path`` is None.

        Raise an error if the file cannot be written later.
        """
        if path is None:
            return
        if path == STDOUT:
            if extensions is not _PARTITION_EXTENSIONS:
                reason = "only a partition can be written to stdout (-)"
                raise WrongUse(f"{option}: {reason}")
            self[name] = path
            return
        if path.suffix.lower() not in extensions:
            expected = join_words(extensions, "or")
            got = path.suffix or "none"
            raise WrongUse(f"{option}: the extension must be {expected}, got {got}")
        real = Path(os.path.realpath(path))
        if str(real) in self._taken:
            reason = "this output would overwrite the input or another output"
            raise WrongUse(f"{path}: {reason}")
        if not real.parent.is_dir():
            raise UserError(f"cannot write {path}: there is no folder {path.parent}")
        if not os.access(real.parent, os.W_OK):
            reason = f"the folder {path.parent} is not writable; use another --output"
            raise UserError(f"cannot write {path}: {reason}")
        if real.is_dir():
            raise UserError(f"cannot write {path}: it is a folder")
        if path.suffix.lower() == ".parquet" and find_spec("pyarrow") is None:
            need = "need pyarrow (pip install 'dempster[parquet]')"
            raise UserError(f"{option}: .parquet files {need}")
        self[name] = path
        self.protect(path)

    def add_options(self, options: Mapping[str, Any]) -> None:
        """Add the output files that are given by options."""
        for option, extensions in EXTENSIONS.items():
            name = option.removeprefix("--").replace("-", "_")
            self.add(name.removeprefix("save_"), options.get(name), extensions, option)

    def write(
        self,
        writers: Mapping[str, Callable[[Path], Any]],
        recipe: Recipe | None = None,
    ) -> None:
        """Write all files or none.

        A writer gets a temporary path. The recipe is written to the file of --save-config.
        """
        from dempster.io.atomic import atomic_writes

        if recipe is not None:
            toml = recipe.to_toml()
            writers = {
                **writers,
                "config": lambda path: path.write_text(toml, encoding="utf-8"),
            }
        files = {name: path for name, path in self.items() if path != STDOUT}
        try:
            with (
                tempfile.TemporaryDirectory() as folder,
                atomic_writes(list(files.values())) as temporaries,
            ):
                for name, temporary in zip(files, temporaries, strict=True):
                    writers[name](temporary)
                for name in self.keys() - files:
                    copy = Path(folder, "stdout.csv")
                    writers[name](copy)
                    click.echo(copy.read_bytes(), nl=False)
        except OSError as error:
            names = ", ".join(map(str, self.values()))
            reason = error.strerror or error
            raise UserError(
                f"cannot write {names}: {reason}; no file was changed"
            ) from error


def default_path(file: Path, ending: str) -> Path:
    """Return the default path of a result, such as ``data.partition.csv``.

    Refuse files that dempster did not write.
    """
    if file == STDOUT:
        advice = "name the output with --output (- for standard output)"
        raise WrongUse(f"FILE is the standard input; {advice}")
    stem = file.stem
    if file.suffix.lower() == ".gz":
        stem = Path(stem).stem
    if not stem.strip("."):
        raise UserError(f"{file} is a folder, but must be a file")
    path = file.with_name(stem + ending)
    if path.is_file() and path.stat().st_size:
        with path.open("rb") as opened:
            head = opened.read(MAX_MARKER_BYTES)
        if not any(marker in head for marker in _MARKERS):
            raise UserError(
                f"{path} exists and was not created by dempster; choose another file with "
                f"--output, or overwrite it with --output {path}"
            )
    return path
