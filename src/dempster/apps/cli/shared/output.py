"""Output of the program: text and JSON on the screen, files that are written whole or not at all, pictures."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dempster._text import format_count, printable
from dempster.apps.cli.shared.errors import UserError, WrongUse

if TYPE_CHECKING:
    import pandas as pd

    from dempster.apps.recipe import Attributes, RecipeResult
    from dempster.partition import CredalPartition


PATIENCE = 1.0  # seconds after which people want to see that something happens
MAX_NAMED_OUTLIERS = 1000  # in a JSON document
MAX_HEAD_BYTES = 1 << 16  # of a file that are searched for a marker

# markers at the beginning of the files that the program writes: columns of tables, the generator of a page
PARTITION, DECISIONS, ANSWERS = ",label_with_outliers,", ",decision,", "object,other,answer"
PAGE = '<meta name="generator" content="dempster"'

EXTENSIONS = {
    "--plot": (".png", ".svg", ".pdf"),
    "--report": (".html", ".htm"),
    "--save-model": (".dempster",),
    "--save-config": (".toml",),
}
_OBJECTIVES = {"EVCLUS": "stress", "NNEVCLUS": "stress"}


class Screen:
    """Results on stdout, remarks and progress on stderr; only a JSON document if ``--json`` is given.

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
        """Show a part of the result; ``style`` is seen on a terminal only."""
        if self.quiet or self.as_json:
            return
        from rich.console import Console
        from rich.text import Text

        lines = "\n".join(map(printable, text.split("\n")))
        # people read lines that break between words, programs those that do not break
        console = Console(highlight=False)
        console.print(Text(lines, style=style), soft_wrap=not console.is_terminal)

    def table(self, frame: Any, **options: Any) -> None:
        """Show a table."""
        self.result(frame.to_string(**options))

    def note(self, text: str) -> None:
        """Show a remark that is not part of the result."""
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
        """Print the JSON document if ``--json`` is given."""
        if self.as_json:
            from dempster import __version__

            content = {"command": command, "dempster": __version__, **content, "notes": self.notes}
            click.echo(json.dumps(_plain(content), ensure_ascii=False, indent=2, allow_nan=False))

    def partition(self, head: str, partition: CredalPartition) -> None:
        """Show the first line and the summary."""
        self.result(head, style="bold")
        self.result()
        self.result(str(partition.summary()))

    def wrote(self, outputs: Sequence[Path]) -> None:
        """Show which files were written."""
        if outputs:
            self.result(f"wrote {', '.join(map(str, outputs))}", style="green")

    # ---- progress ---------------------------------------------------------------------------------------------------

    @contextmanager
    def working(self, text: str) -> Iterator[Any]:
        """Show on a terminal what is being done if it takes longer than a second.

        The value is a listener for progress as `dempster.apps.recipe.Recipe.run` takes it.
        """
        if self.quiet or self.as_json or not sys.stderr.isatty():
            yield lambda *_: None
            return
        from rich.console import Console
        from rich.status import Status
        from rich.text import Text  # in which no bracket of a name means anything

        status = Status(Text(printable(text)), console=Console(stderr=True, highlight=False))

        def show() -> None:
            self._status = status
            status.start()

        def show_progress(name: str, done: int, total: int | None, unit: str, state: str) -> None:
            of = "" if total is None else f" of {total:,}"
            status.update(Text(f"{printable(name)}: {done:,}{of} {unit}{', ' + state if state else ''}"))

        timer = threading.Timer(PATIENCE, show)
        timer.daemon = True
        timer.start()
        try:
            yield show_progress
        finally:
            timer.cancel()
            timer.join()
            self._status = None
            status.stop()


def headline(estimator: Any, what: str, *, seconds: float, objects: str = "object") -> str:
    """Describe a fit in a line: method, clusters, objects, attributes, objective, starts and time."""
    partition = estimator.credal_partition_
    name = type(estimator).__name__
    parts = [
        f"{name}, {format_count(partition.n_clusters, 'cluster')}: {format_count(len(partition), objects)}",
        what,
        f"{_OBJECTIVES.get(name, 'objective')} {estimator.objective_:.4g}",
    ]
    n_init = getattr(estimator, "n_init", None)
    if n_init is not None:
        parts.append(f"best of {n_init} starts" if n_init > 1 else "1 start")
    return ", ".join(part for part in (*parts, f"{seconds:.1f} s") if part)


def partition_document(partition: Any) -> dict[str, Any]:
    """Describe a partition for the JSON document."""
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
        "outliers": list(summary.outliers)[:MAX_NAMED_OUTLIERS],
        "nonspecificity": summary.nonspecificity,
        "choices": dict(summary.choices),
    }


def _plain(value: Any) -> Any:
    """Convert a value to what JSON has; NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(inner) for inner in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


# ---- files ----------------------------------------------------------------------------------------------------------


def beside(file: Path, ending: str) -> Path:
    """Return the default name of a result: ``data.partition.csv`` beside ``data.csv`` (and ``data.csv.gz``)."""
    stem = Path(file.stem).stem if file.suffix.lower() == ".gz" else file.stem
    if not stem.strip("."):
        raise UserError(f"{file} is a folder, it must be a file")
    return file.with_name(stem + ending)


def check_own_file(path: Path, *markers: str) -> Path:
    """Return the default name of a result, unless a file of that name has none of the markers of our own files."""
    if path.is_file() and path.stat().st_size:
        try:
            with path.open("rb") as file:
                head = file.read(MAX_HEAD_BYTES)
        except OSError:  # a file that cannot even be read is not ours
            head = b""
        if not any(marker.encode() in head for marker in markers):
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


def check_extension(option: str, path: Path | None, extensions: Sequence[str] = ()) -> None:
    """Refuse a file whose extension says that it is something else; None is no file."""
    extensions = extensions or EXTENSIONS[option]
    if path is None or path.suffix.lower() in extensions:
        return
    several = f"one of {', '.join(extensions)}" if len(extensions) > 2 else extensions[0]
    raise WrongUse(f"{option}: the extension must be {several}, got {path.suffix or 'none'}")


def further_outputs(options: Mapping[str, Any]) -> dict[str, Path]:
    """Return the files to write beside the result, by what they hold, if their extensions are right."""
    found = {}
    for option in EXTENSIONS:
        name = option.removeprefix("--").replace("-", "_")
        check_extension(option, options.get(name))
        if options.get(name) is not None:
            found[name.removeprefix("save_")] = options[name]
    return found


def check_partition_kind(path: Path | None, option: str = "--output") -> None:
    """Refuse names of partitions with other extensions, and kinds that cannot be written here."""
    from dempster.io.partitions import PARTITION_FORMATS

    check_extension(option, path, tuple(PARTITION_FORMATS))
    if path is not None and path.suffix.lower() == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise UserError(f"{option}: .parquet files need pyarrow (pip install 'dempster[parquet]')") from error


def write_files(writers: Mapping[Path, Callable[[Path], Any]], also: Callable[[], Any] | None = None) -> None:
    """Write all files or none; each writer is called with a temporary file of the same extension.

    Calls ``also`` before the temporary files get their names: if it fails, no file is written.
    """
    from dempster.io import atomic_writes

    try:
        with atomic_writes(list(writers)) as temporaries:
            for write, temporary in zip(writers.values(), temporaries, strict=True):
                write(temporary)
            if also is not None:
                also()
    except OSError as error:
        names = ", ".join(map(str, writers))
        raise UserError(f"cannot write {names}: {error.strerror or error}; no file was changed") from error


def write_text(text: str) -> Callable[[Path], Any]:
    """Return a writer of a text."""
    return lambda path: path.write_text(text, encoding="utf-8")


def write_table(table: pd.DataFrame, path: Path, *, index: bool = False) -> None:
    """Write a table as CSV or TSV, in which a spreadsheet takes no name for a formula."""
    from dempster.io.partitions import encode_cell

    def encode(cell: Any) -> Any:
        return encode_cell(cell) if isinstance(cell, str) else cell

    shown = table.rename(columns=encode, index=encode)
    for place, kind in enumerate(shown.dtypes):
        if kind.kind not in "biuf":
            shown.isetitem(place, list(map(encode, shown.iloc[:, place])))
    shown.to_csv(path, index=index, sep="\t" if path.suffix.lower() == ".tsv" else ",")


# ---- pictures, drawn without a window ---------------------------------------------------------------------------


def draw_partition(outcome: RecipeResult, path: Path, title: str) -> None:
    """Draw a partition over its attributes, over coordinates made of dissimilarities, or as an image."""
    if outcome.attributes is not None:
        draw_attributes(outcome.estimator, outcome.attributes, path, title)
    elif outcome.recipe.kind == "image":
        _draw_image(outcome, path, title)
    else:
        _draw_dissimilarities(outcome, path, title)


def draw_attributes(estimator: Any, attributes: Attributes, path: Path, title: str) -> None:
    """Draw one or two attributes in the units of the file, more by principal components."""
    import numpy as np

    from dempster.plot import CredalPartitionDisplay

    numbers = attributes.preparation.numbers
    if not numbers:
        raise UserError("--plot: there is no numeric column to draw; leave out --plot")
    ax = _new_axes((8, 2.6) if len(numbers) == 1 else (8, 5.2))
    options: dict[str, Any] = {"legend": "outside", "title": title}
    shown = attributes.values[numbers]
    if len(numbers) <= 2:
        shown = attributes.table[numbers]
        centers = np.asarray(getattr(estimator, "cluster_centers_", ()))
        if centers.ndim == 2 and centers.shape[1] == shown.shape[1] and centers.dtype.kind == "f":
            options["cluster_centers"] = attributes.preparation.to_original_units(centers)
    CredalPartitionDisplay.from_partition(estimator.credal_partition_, shown.fillna(shown.mean()), ax=ax, **options)
    _save(ax, path)


def _draw_dissimilarities(outcome: RecipeResult, path: Path, title: str) -> None:
    import numpy as np
    from scipy import sparse

    from dempster.dissimilarity import DissimilarityPCA
    from dempster.plot import CredalPartitionDisplay

    D = outcome.prepared.X[0] if isinstance(outcome.prepared.X, list) else outcome.prepared.X
    if sparse.issparse(D):
        raise UserError("--plot: only some pairs are given, which makes no picture; leave out --plot")
    points = DissimilarityPCA(2, whiten=False, symmetrize=True, random_state=0).fit_transform(np.asarray(D))
    ax = _new_axes((8, 5.2))
    CredalPartitionDisplay.from_partition(outcome.partition, points, ax=ax, legend="outside", title=title)
    _save(ax, path)


def _draw_image(outcome: RecipeResult, path: Path, title: str) -> None:
    """Draw the cluster of each pixel, the paler the less certain."""
    import numpy as np
    from matplotlib import colormaps

    shape = outcome.prepared.X.shape[:-1]
    if len(shape) != 2:
        raise UserError("--plot: only images of two dimensions can be drawn; leave out --plot")
    ax = _new_axes((6, 6 * shape[0] / shape[1]))
    partition = outcome.partition
    colors = np.array([colormaps["tab20"](k % 20)[:3] for k in range(partition.n_clusters)])[partition.labels]
    sure = partition.singleton_belief.max(axis=1)[:, None]
    ax.imshow((sure * colors + (1 - sure)).reshape(*shape, 3))
    ax.set(title=title, xticks=[], yticks=[])
    _save(ax, path)


def draw_convergence(estimator: Any, path: Path, title: str) -> None:
    """Draw the objective after every iteration."""
    from dempster.plot import ConvergenceDisplay

    ax = _new_axes((6.4, 4))
    ConvergenceDisplay.from_estimator(estimator, ax=ax, title=title)
    _save(ax, path)


def draw_display(draw: Any, path: Path, size: tuple[float, float] = (7, 4.5)) -> None:
    """Call a function of ``ax`` that draws, and save the picture."""
    ax = _new_axes(size)
    draw(ax)
    _save(ax, path)


def _new_axes(size: tuple[float, float]) -> Any:
    from matplotlib.figure import Figure  # not pyplot: no window, no state to clean up

    return Figure(figsize=size, layout="constrained").add_subplot()


def _save(ax: Any, path: Path) -> None:
    from matplotlib.text import Text

    for text in ax.figure.findobj(Text):  # names of files and columns, in which a $ is a $
        text.set_parse_math(False)
    drawn = BytesIO()  # a writer of pictures that fails half-way says what it failed of in words of its own
    ax.figure.savefig(drawn, dpi=150, format=path.suffix.lower().removeprefix("."))
    path.write_bytes(drawn.getvalue())
