"""Shared parts of all experiments: seeds, worker processes, a cache of results, tables, figures and progress output.

An experiment is a function with one argument, the `Run`, in a module of a paper's folder::

    @experiment("NN-EVCLUS", "Table 1", "The butterfly by EVCLUS")
    def table_1(run):
        \"\"\"Describe the experiment of the paper; this text appears above the table.\"\"\"
        (result,) = run.each(fit_butterfly, [{}])
        table = run.table("object", "set", paper="mass", ours="mass")
        table.add("1", "{1}", paper=0.89, ours=result["masses"][0])

The computations are *cells*: module-level functions with keyword arguments that JSON can represent,
which return a dictionary of numbers. They run in worker processes with one thread each. Every
result is saved as soon as it is computed, so that an interrupted run can be resumed. A result is
valid as long as the library, the module of the cell and its arguments are unchanged; experiments
with equal arguments share it.
"""

from __future__ import annotations

import hashlib
import importlib
import inspect
import json
import os
import pkgutil
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

__all__ = [
    "experiment",
    "experiments",
    "Experiment",
    "Run",
    "Table",
    "Summary",
    "summary",
]

HOME = Path(__file__).resolve().parent
CACHE = HOME / ".cache"
FIGURES = HOME / "figures"  # of the full page
# difference in the adjusted Rand index from which a score is marked as below or above the paper's
SHORT = 0.03

Cell = Callable[..., dict[str, Any]]


# ---- experiments ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Experiment:
    paper: str
    place: str
    title: str
    function: Callable[[Run], None]

    @property
    def name(self) -> str:
        """Folder and function: ``nn_evclus.table_1``."""
        return f"{self.function.__module__.split('.')[1]}.{self.function.__name__}"

    @property
    def heading(self) -> str:
        return f"{self.place}: {self.title}"

    @property
    def anchor(self) -> str:
        """Anchor of the heading on the results page."""
        kept = "".join(
            letter
            for letter in self.heading.lower()
            if letter.isalnum() or letter in " -_"
        )
        return kept.replace(" ", "-")


def experiment(
    paper: str, place: str, title: str
) -> Callable[[Callable[[Run], None]], Experiment]:
    """Mark a function as the experiment behind a table or figure of a paper."""
    return lambda function: Experiment(paper, place, title, function)


def experiments() -> list[Experiment]:
    """Return all experiments in the order of the papers, of their modules and of their lines."""
    found: list[Experiment] = []
    for folder in sorted(pkgutil.iter_modules([str(HOME)])):
        if not folder.ispkg:
            continue
        package = importlib.import_module(f"reproduce.{folder.name}")
        for module in package.MODULES:
            contents = vars(
                importlib.import_module(f"reproduce.{folder.name}.{module}")
            )
            found += [
                value for value in contents.values() if isinstance(value, Experiment)
            ]
    order = [
        importlib.import_module(f"reproduce.{e.name.split('.')[0]}").ORDER
        for e in found
    ]
    return [
        e for _, e in sorted(zip(order, found, strict=True), key=lambda pair: pair[0])
    ]


# ---- summaries -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Summary:
    """Mean and standard deviation of a number over seeds."""

    mean: float
    spread: float
    count: int

    def __format__(self, spec: str) -> str:
        spec = spec or ".2f"
        if self.count > 1:
            spread = f" ± {format(self.spread, spec)}"
        else:
            spread = ""
        return format(self.mean, spec) + spread


def summary(results: Iterable[dict[str, Any]], key: str) -> Summary:
    """Return the mean and standard deviation of one number over several results."""
    values = [float(result[key]) for result in results]
    return Summary(
        statistics.fmean(values),
        statistics.stdev(values) if len(values) > 1 else 0.0,
        len(values),
    )


# ---- tables --------------------------------------------------------------------------------------


@dataclass
class Table:
    """Table of the results page with the paper's values, our values and the seconds.

    Parameters
    ----------
    columns : names of the leading columns
    quantity : name of the compared quantity; the value columns are named after it
    short : largest accepted difference below the paper; None if smaller is better or if nothing is compared
    form : format specification of the values
    named : number of leading columns that identify a row in the notes below the table; all by default
    """

    columns: Sequence[str]
    quantity: str = "ARI"
    short: float | None = SHORT
    form: str = ".2f"
    named: int | None = None
    rows: list[list[str]] = field(default_factory=list)
    compared: int = 0  # rows with a value of the paper to compare with
    # row below the paper's value: the reason
    below: dict[int, str] = field(default_factory=dict)
    # row above the paper's value: the explanation
    above: dict[int, str] = field(default_factory=dict)

    def add(
        self,
        *cells: Any,
        paper: float | str | None = None,
        ours: Summary | float | str | None = None,
        seconds: float | None = None,
        why: str = "",
        idea: str = "",
    ) -> None:
        """Add a row.

        ``why`` is printed if it is below the paper's value, ``idea`` if it is above.
        """
        row = [str(cell) for cell in cells]
        if len(row) != len(self.columns):
            raise ValueError(
                f"the table has {len(self.columns)} leading columns, the row {len(row)}"
            )
        mark = ""
        value = ours.mean if isinstance(ours, Summary) else ours
        if (
            self.short is not None
            and isinstance(paper, int | float)
            and isinstance(value, int | float)
        ):
            self.compared += 1
            if value < paper - self.short:
                mark = " ▼"
                self.below[len(self.rows)] = why
            elif value > paper + self.short:
                mark = " ▲"
                self.above[len(self.rows)] = idea
        row += [self._figure(paper), self._figure(ours) + mark]
        row.append(
            ""
            if seconds is None
            else f"{seconds:.2g}"
            if seconds < 10
            else f"{seconds:.0f}"
        )
        self.rows.append(row)

    def _figure(self, value: Any) -> str:
        if value is None:
            return "–"
        if isinstance(value, str):
            return value
        return format(value, self.form)

    @property
    def unexplained(self) -> list[str]:
        """Rows below the paper's value without a reason."""
        return [self._place(k) for k, why in self.below.items() if not why]

    def markdown(self) -> str:
        names = [
            *self.columns,
            f"{self.quantity}, paper",
            f"{self.quantity}, ours",
            "seconds",
        ]
        # Omit empty seconds.
        if any(row[-1] for row in self.rows):
            width = len(names)
        else:
            width = len(names) - 1
        rows = [names, ["---"] * len(names), *self.rows]
        lines = ["| " + " | ".join(row[:width]) + " |" for row in rows]
        for why, places in _grouped(self.below).items():
            lines.append(
                f"\n▼ {'; '.join(map(self._place, places))}: {why or 'below the paper, not explained'}"
            )
        for idea, places in _grouped(self.above).items():
            if idea:
                lines.append(f"\n▲ {'; '.join(map(self._place, places))}: {idea}")
        return "\n".join(lines)

    def _place(self, row: int) -> str:
        return ", ".join(
            cell for cell in self.rows[row][: self.named or len(self.columns)] if cell
        )


def _grouped(words: dict[int, str]) -> dict[str, list[int]]:
    """Return the rows of each text."""
    groups: dict[str, list[int]] = {}
    for row, text in words.items():
        groups.setdefault(text, []).append(row)
    return groups


# ---- running -------------------------------------------------------------------------------------


class Run:
    """Settings of an experiment (seeds, worker processes, quick or full) and the section that it writes."""

    def __init__(
        self,
        about: Experiment,
        *,
        quick: bool,
        jobs: int,
        any_version: bool,
        progress: Any = None,
        figures: Path = FIGURES,
    ):
        self.about = about
        self.quick = quick
        self.jobs = jobs
        self.any_version = any_version
        self.progress = progress
        self.figures = figures
        self.page: list[str] = []
        self.tables: list[Table] = []
        self.cells: dict[
            Path, dict[str, Any]
        ] = {}  # cache file: result, computed or loaded
        self.computed = 0  # number of results computed in this run

    def choose(self, full: Any, quick: Any) -> Any:
        """Return the setting for a full or a quick run."""
        if self.quick:
            return quick
        return full

    def seeds(self, full: int, quick: int = 1) -> list[int]:
        """Return the fixed seeds 0, 1, 2, ..."""
        return list(range(self.choose(full, quick)))

    def each(
        self, cell: Cell, arguments: Iterable[dict[str, Any]], *, alone: bool = False
    ) -> list[dict[str, Any]]:
        """Return the results of a cell for each set of arguments.

        ``alone`` runs them one at a time.

        Each result has a key ``"seconds"``: the value that the cell returns, otherwise its CPU
        time.
        """
        arguments = list(arguments)
        files = [self._file(cell, keywords) for keywords in arguments]
        results: dict[int, dict[str, Any]] = {}
        for k, file in enumerate(files):
            if file.exists():
                results[k] = json.loads(file.read_text())
                self._advance(cell, len(results), len(files))
        left = [k for k in range(len(files)) if k not in results]
        for k, result in self._compute(
            cell, arguments, left, 1 if alone else self.jobs
        ):
            results[k] = result
            _write(files[k], result)
            self._advance(cell, len(results), len(files))
        self.cells.update((files[k], results[k]) for k in results)
        self.computed += len(left)
        return [results[k] for k in range(len(files))]

    @property
    def seconds(self) -> float:
        """Total CPU time of all cells, including cached ones."""
        return sum(result["spent"] for result in self.cells.values())

    def text(self, words: str) -> None:
        """Append a paragraph to the section."""
        self.page.append(words)

    def table(self, *columns: str, **keywords: Any) -> Table:
        """Append an empty table to the section and return it."""
        table = Table(columns, **keywords)
        self.tables.append(table)
        self.page.append(table)  # type: ignore[arg-type]
        return table

    def figure(self, name: str, figure: Any, caption: str) -> None:
        """Save a Matplotlib figure and append it to the section."""
        import matplotlib.pyplot as plt

        self.figures.mkdir(exist_ok=True)
        path = self.figures / f"{self.about.name.replace('.', '-')}-{name}.png"
        figure.savefig(path, dpi=110, bbox_inches="tight", metadata={"Software": None})
        plt.close(figure)
        self.page.append(
            f"![{caption}]({self.figures.name}/{path.name})\n\n*{caption}*"
        )

    def markdown(self) -> str:
        """Return the section of this experiment as Markdown."""
        intro = inspect.cleandoc(self.about.function.__doc__ or "")
        parts = [f"### {self.about.heading}", intro]
        parts += [
            part.markdown() if isinstance(part, Table) else part for part in self.page
        ]
        if self.cells:
            if len(self.cells) == 1:
                unit = "computation"
            else:
                unit = "computations"
            if self.seconds >= 1:
                spent = f"{self.seconds:,.0f} s"
            else:
                spent = "less than a second"
            parts.append(f"{len(self.cells)} {unit}, {spent} on one thread.")
        return "\n\n".join(part for part in parts if part)

    def _advance(self, cell: Cell, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(f"{self.about.name} · {cell.__name__} {done}/{total}")

    def _file(self, cell: Cell, keywords: dict[str, Any]) -> Path:
        source = Path(inspect.getfile(cell)).read_text()
        if self.any_version:
            version = ""
        else:
            version = library_fingerprint()
        text = json.dumps(
            [cell.__qualname__, source, keywords, version], sort_keys=True
        )
        key = hashlib.sha256(text.encode()).hexdigest()[:24]
        return (
            CACHE
            / cell.__module__.removeprefix("reproduce.")
            / f"{cell.__name__}-{key}.json"
        )

    def _compute(
        self, cell: Cell, arguments: list[dict[str, Any]], which: list[int], jobs: int
    ) -> Any:
        if not which:
            return
        if jobs == 1:
            for k in which:
                yield k, _timed(cell.__module__, cell.__name__, arguments[k])
            return
        pool = _workers(jobs)
        futures = {
            pool.submit(_timed, cell.__module__, cell.__name__, arguments[k]): k
            for k in which
        }
        try:
            while futures:
                finished, _ = wait(futures, return_when=FIRST_COMPLETED)
                for future in finished:
                    yield futures.pop(future), future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            _workers.cache_clear()
            raise


@cache
def _workers(jobs: int) -> ProcessPoolExecutor:
    """Return worker processes that all experiments share, so that modules are imported only once."""
    return ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), initializer=_one_thread
    )


def _one_thread() -> None:
    """Limit a worker process to one thread."""
    from threadpoolctl import threadpool_limits

    os.environ.update(
        dict.fromkeys(
            ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "LOKY_MAX_CPU_COUNT"), "1"
        )
    )
    threadpool_limits(1)
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)


def _timed(module: str, name: str, keywords: dict[str, Any]) -> dict[str, Any]:
    import warnings

    cell = getattr(importlib.import_module(module), name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()  # Other programs on the machine do not count.
        result = dict(cell(**keywords))
    result["spent"] = time.process_time() - began
    result.setdefault("seconds", result["spent"])
    result["machine"] = f"{platform.machine()} with {os.cpu_count()} processors"
    return result


def _write(file: Path, result: dict[str, Any]) -> None:
    """Write the file in one step, so that an interruption cannot leave a part of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".part")
    unfinished.write_text(json.dumps(result))
    unfinished.replace(file)


@cache
def library_fingerprint() -> str:
    """Return a hash of the sources of the library, which invalidates results of other versions."""
    import dempster

    digest = hashlib.sha256()
    root = Path(dempster.__file__).parent
    for file in sorted(root.rglob("*.py")):
        if file.relative_to(root).parts[0] not in (
            "apps",
            "plot",
        ):  # These cannot change a result.
            digest.update(file.read_bytes())
    return digest.hexdigest()
