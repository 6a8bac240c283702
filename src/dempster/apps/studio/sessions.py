"""Store the table, runs, selection and answers about pairs of each browser tab."""

from __future__ import annotations

import copy
import re
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
import pandas as pd

from dempster import _validation as validation
from dempster._arrays import row_argmax, row_max
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster._text import format_count
from dempster.apps.map import name_sets, pack_objects
from dempster.apps.recipe import Recipe, choose_attributes
from dempster.apps.studio.errors import GoneError, rewrite_for_page
from dempster.apps.studio.jobs import Finish, Job, Json, Workers
from dempster.constraints import Constraints
from dempster.dissimilarity.partial import impute_missing
from dempster.explain import doubt_scores
from dempster.explain.scores import count_pairs, match_one_to_one
from dempster.io.atomic import compute_digest
from dempster.partition import CredalPartition
from dempster.partition.layers import select_numbers

MAX_JOINED_NAMES = 3  # number of names in the name of a merged cluster
MAX_RUNS = 30
MAX_ENDED_JOBS = 20
MAX_CATEGORIES = 50
MAX_COLUMNS = 2000
MAX_COUNTED_ROWS = 100_000
MAX_DELETIONS_IN_MEMORY = 50
MAX_BIN_SECONDS = 30 * 24 * 3600
# attributes of a session that are saved, and attributes that can be computed again
SAVED_STATE = (
    "source",
    "runs",
    "pair_answers",
    "decisions",
    "rules",
    "selection",
    "settings",
)
_COMPUTED_STATE = ("peaks", "number")


@dataclass(eq=False)
class Source:
    """Table loaded in a session."""

    # the copy in the folder of the session, or the file itself if it is too large
    path: Path
    name: str  # name of the file in exported code and commands
    options: Json  # arguments of `dempster.io.read_table`
    table: pd.DataFrame
    # warnings raised while reading the file
    notes: list[str] = field(default_factory=list)
    digest: str = ""  # SHA-256 of the content of the file
    # the file that the user opened by its path; None for uploads and examples
    origin: Path | None = None
    copy_error: str | None = None  # reason why the file could not be copied
    # time and size of the compared file, and whether its content is different
    _stamp: tuple[int, int] | None = field(default=None, init=False)
    _is_changed: bool = field(default=False, init=False)

    def compare_with_origin(self) -> str:
        """Return "same", "changed" or "missing", the state of the file that the user opened."""
        if self.origin is None:
            return "same"
        try:
            status = self.origin.stat()
            stamp = (status.st_mtime_ns, status.st_size)
            if stamp != self._stamp:  # Reading a large file takes seconds.
                self._is_changed = compute_digest(self.origin) != self.digest
                self._stamp = stamp
        except OSError:
            return "missing"
        return "changed" if self._is_changed else "same"

    def check_unchanged(self) -> None:
        """Raise an error if the file that a run would read has changed since it was loaded."""
        if self.path == self.origin and self.compare_with_origin() == "changed":
            raise InvalidInputError(
                f"{self.name} has changed since it was loaded; load it again"
            )

    @cached_property
    def names(self) -> list[str]:
        return [str(name) for name in self.table.index]

    @cached_property
    def description(self) -> Json:
        """Description of the table and its columns for the page."""
        try:
            attributes = choose_attributes(
                self.table, missing="partial", index_col=False
            )
            suggested = set(attributes.columns)
            notes = attributes.column_notes
        except ValueError as error:
            suggested = set()
            notes = [str(error)]
        notes = list(map(rewrite_for_page, notes))
        return {
            "name": self.name,
            "digest": self.digest,
            "rows": len(self.table),
            "columns": [
                {
                    "name": name,
                    "suggested": name in suggested,
                    **_describe_column(self.table[name]),
                }
                for name in self.table.columns[:MAX_COLUMNS]
            ],
            "options": self.options,
            "index": self.table.index.name,
            "notes": [*self.notes, *notes],
            "missing": self.table.isna().to_numpy().any(),
        }


def _describe_column(column: pd.Series) -> Json:
    kind = column.dtype.kind
    n_values = column.head(MAX_COUNTED_ROWS).nunique()
    description: Json = {"missing": column.isna().sum(), "different": n_values}
    if kind in "iuf":
        numbers = column.astype(float)  # NaN instead of the missing value of pandas
        return description | {
            "kind": "number",
            "low": numbers.min(),
            "high": numbers.max(),
        }
    text = "category" if n_values <= MAX_CATEGORIES else "text"
    kinds = {"b": "truth", "M": "date", "m": "date"}
    return description | {"kind": kinds.get(kind, text)}


@dataclass(eq=False)
class Run:
    """Result of a clustering run."""

    id: str
    name: str
    recipe: Recipe  # settings of the run, with files in the folder of the session
    estimator: Any
    table: pd.DataFrame  # the clustered rows, with all columns of the file
    attributes: pd.DataFrame  # the clustered columns in the units of the file
    values: pd.DataFrame  # the clustered columns after the preparation
    preparation: Any  # the transformation from attributes to values
    rows: np.ndarray  # positions of the objects in the table of the session
    notes: list[str]  # notes on omitted rows, automatic choices and warnings
    seconds: float
    n_left_out: int  # number of rows that were left out because of missing values
    origin: str  # clustered objects or initial centers, such as "5 chosen belief peaks"
    # name and description of clusters by their numbers; either may be empty
    labels: dict[int, tuple[str, str]] = field(default_factory=dict)
    is_saved: bool = False  # whether its files are in the folder of the session
    layer: CredalPartition | None = None  # partition with merged clusters
    cache: Json = field(default_factory=dict)  # results that take long to compute
    lock: RLock = field(default_factory=RLock)

    @property
    def partition(self) -> CredalPartition:
        """Partition whose clusters have numbers, which select their colors."""
        if self.layer is not None:
            return self.layer
        return self.estimator.credal_partition_

    @cached_property
    def named_partition(self) -> CredalPartition:
        """Partition whose clusters have the names that the user gave them."""
        names = {k: name for k, (name, _) in self.labels.items() if name}
        texts = {names.get(k, k): text for k, (_, text) in self.labels.items() if text}
        return self.partition.name_clusters(names, descriptions=texts)

    @cached_property
    def named_estimator(self) -> Any:
        """Estimator with `named_partition`."""
        estimator = copy.copy(self.estimator)
        estimator.credal_partition_ = self.named_partition
        return estimator

    def name_clusters(self, labels: dict[int, tuple[str, str]]) -> Run:
        """Return this run with names and descriptions of its clusters."""
        run = replace(self, labels=labels, cache={}, lock=RLock())
        _ = run.named_partition  # raises an error if two clusters have the same name
        return run

    def name_rows(self, table: pd.DataFrame, recipe: Recipe) -> Run:
        """Return this run with its rows and recipe in which the rows have other names."""
        partition = self.estimator.credal_partition_
        estimator = copy.copy(self.estimator)
        estimator.credal_partition_ = CredalPartition.unchecked(
            partition.stored_masses,
            partition.focal_sets,
            validation.row_index(table),
            partition.frame,
            metadata=partition.metadata,
        )
        return replace(
            self,
            recipe=recipe,
            estimator=estimator,
            table=table,
            attributes=self.attributes.set_axis(table.index),
            values=self.values.set_axis(table.index),
            is_saved=False,
            cache={},
            lock=RLock(),
        )

    def get_layer(self, n_clusters: int) -> Run:
        """Return this run with merged clusters, which have the numbers of their largest parts."""
        return self.cached(f"layer {n_clusters}", lambda: self._merge(n_clusters))

    def _merge(self, n_clusters: int) -> Run:
        [layer] = self.partition.layers([n_clusters])
        sizes = np.bincount(self.partition.labels)
        size_of = dict(zip(self.partition.frame, sizes, strict=False))
        parts = layer.metadata["merged"]
        numbers = [max(part, key=lambda k: size_of.get(k, 0)) for part in parts]
        labels = {
            number: self._merge_labels(part)
            for number, part in zip(numbers, parts, strict=True)
            if any(k in self.labels for k in part)
        }
        merged = layer.name_clusters(numbers)
        return replace(self, layer=merged, labels=labels, cache={}, lock=RLock())

    def _merge_labels(self, part: list[int]) -> tuple[str, str]:
        """Return the name and the description of a cluster that consists of several clusters."""
        if len(part) == 1:
            return self.labels[part[0]]
        names = [self.labels.get(k, ("", ""))[0] or str(k) for k in part]
        if len(names) > MAX_JOINED_NAMES:
            n_more = len(names) - MAX_JOINED_NAMES
            names = [*names[:MAX_JOINED_NAMES], f"{n_more} more"]
        return " + ".join(names), ""

    def cached(self, key: str, compute: Callable[[], Any]) -> Any:
        """Return a result that takes long to compute, and store it."""
        with self.lock:
            if key not in self.cache:
                self.cache[key] = compute()
            return self.cache[key]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def numbers(self) -> np.ndarray:
        """Clustered values as a numeric array without missing values, which are imputed.

        A categorical column is encoded by indicator columns such that the distance of two
        categories is 1. If there are categorical columns, numeric columns are divided by their
        standard deviation.
        """
        is_mixed = bool(self.preparation.categories)
        columns = []
        for name in self.values.columns:
            column = self.values[name]
            if column.dtype.kind in "iufb":
                values = column.to_numpy(dtype=float)[:, None]
                if is_mixed and not self.preparation.is_scaled:
                    values = values / (float(np.nanstd(values)) or 1.0)
                columns.append(values)
            else:
                columns.append(
                    pd.get_dummies(column).to_numpy(dtype=float) / np.sqrt(2)
                )
        return impute_missing(np.hstack(columns))

    @cached_property
    def names(self) -> list[str]:
        return [str(name) for name in self.table.index]

    @cached_property
    def set_names(self) -> list[str]:
        return name_sets(self.named_partition)

    @cached_property
    def doubt(self) -> np.ndarray:
        return doubt_scores(self.partition)

    def describe(self) -> Json:
        """Return a description of the run for the list of runs on the page."""
        partition = self.partition
        model = self.estimator
        cardinality = partition.focal_sets.cardinality[partition.best_set]
        return {
            "id": self.id,
            "name": self.name,
            "method": type(model).__name__,
            "origin": self.origin,
            "n": len(self),
            "n_left_out": self.n_left_out,
            "n_clusters": partition.n_clusters,
            "certain": (cardinality == 1).sum(),
            "ambiguous": (cardinality > 1).sum(),
            "outliers": (cardinality == 0).sum(),
            "objective": getattr(model, "objective_", None),
            "converged": getattr(model, "converged_", None),
            "columns": list(self.values.columns),
            "notes": self.notes,
            "seconds": self.seconds,
            "can_predict": hasattr(model, "predict_mass"),
            "can_shepard": hasattr(model, "shepard"),
            "has_candidates": hasattr(model, "candidates_"),
            "categories": list(self.preparation.categories),
            "layers": select_numbers(partition.merge_tree),
        }

    @cached_property
    def objects(self) -> bytes:
        """Packed arrays from which the page draws the map and assigns each object to a set.

        The arrays contain the mass of each object on the empty set, its largest mass on a single
        cluster, its largest mass on several clusters, and the sets with these masses. The page
        multiplies the three masses by the weights of the sliders, and assigns the object to the set
        with the largest product.
        """
        partition = self.partition
        masses = partition.stored_masses
        cardinality = partition.focal_sets.cardinality
        arrays: dict[str, np.ndarray] = {}
        kinds = {
            "empty": cardinality == 0,
            "single": cardinality == 1,
            "several": cardinality > 1,
        }
        # If two sets have equal mass, the smaller set is selected, like in
        # `CredalPartition.best_set`.
        order = np.argsort(cardinality, kind="stable")
        for name, kind in kinds.items():
            columns = order[kind[order]]
            largest = np.zeros(len(partition))
            sets = np.full(len(partition), -1)
            if len(columns):
                sets = columns[row_argmax(masses[:, columns])]
                largest = row_max(masses[:, columns])
            arrays[name] = largest.astype(np.float32)
            arrays[f"{name}_set"] = sets.astype(np.int32)
        numbers = [*map(self.number_clusters, partition.focal_sets)]
        return pack_objects(
            partition,
            self.rows,
            arrays,
            sets=numbers,
            set_names=self.set_names,
            clusters=[
                [number, *self.labels.get(number, ("", ""))]
                for number in partition.frame
            ],
            n_clusters=partition.n_clusters,
            nonspecificity=partition.nonspecificity_index(),
        )

    def number_clusters(self, clusters: Iterable[int]) -> list[int]:
        """Return the numbers of clusters, which are their names and select their colors."""
        return [self.partition.frame[k] for k in clusters]

    def match_clusters(self, others: Iterable[Run]) -> None:
        """Give the clusters the numbers of the same clusters in another run.

        The other run is the latest of those that have the most objects in common. A cluster without
        a match gets an unused number.
        """
        before = max(
            reversed([*others]),
            key=lambda other: len(np.intersect1d(self.rows, other.rows)),
            default=self,
        )
        _, i, j = np.intersect1d(before.rows, self.rows, return_indices=True)
        old = before.partition
        new = self.partition
        counts = count_pairs(
            new.labels[j], old.labels[i], new.n_clusters, old.n_clusters
        )
        match = match_one_to_one(counts)
        names = [
            old.frame[m] if m >= 0 and counts[k, m] else None
            for k, m in enumerate(match)
        ]
        unused = (number for number in count() if number not in names)
        self.labels = {k: v for k, v in before.labels.items() if k in names}
        self.estimator.credal_partition_ = new.name_clusters(
            [next(unused) if name is None else name for name in names]
        )

    def cells(self, position: int) -> list[Any]:
        """Return the attributes of an object in the units of the file."""
        return list(self.attributes.iloc[position])


@dataclass
class PairAnswers:
    """Answers of the user about pairs of rows of the table, which all runs of a session share."""

    # Tuples (row, row, answer) in the order of answering. The answer is "same", "different" or
    # "unknown".
    answers: list[tuple[int, int, str]] = field(default_factory=list)

    def add(self, first: int, second: int, answer: str) -> None:
        """Add an answer and remove an earlier answer about the same pair."""
        if answer not in ("same", "different", "unknown"):
            raise InvalidParameterError(
                "answer", "'same', 'different' or 'unknown'", answer
            )
        if first == second:
            raise InvalidParameterError("second", "an object other than first", second)
        self.remove(first, second)
        self.answers = [*self.answers, (first, second, answer)]

    def remove(self, first: int, second: int) -> None:
        # The list is replaced instead of changed, because a copy of this object contains it, too.
        self.answers = [
            one for one in self.answers if {one[0], one[1]} != {first, second}
        ]

    def __len__(self) -> int:
        return sum(answer != "unknown" for _, _, answer in self.answers)

    def select(self, rows: np.ndarray) -> list[tuple[int, int, str]]:
        """Return the answers "same" and "different" about given rows, as positions in them."""
        position = {int(row): k for k, row in enumerate(rows)}
        return [
            (position[a], position[b], answer)
            for a, b, answer in self.answers
            if answer != "unknown" and a in position and b in position
        ]

    def describe(
        self, run: Run | None, names: list[str], pairs: PairAnswers | None = None
    ) -> Json:
        """Return all answers, whether a run violates each of them, and contradictions.

        The contradictions are those of ``pairs``, by default of the answers.
        """
        pairs = self if pairs is None else pairs
        labels: dict[int, int] = {}
        if run is not None:
            labels = dict(
                zip(run.rows.tolist(), run.partition.labels.tolist(), strict=True)
            )
        answers = []
        for a, b, answer in self.answers:
            is_violated = False
            if a in labels and b in labels and answer != "unknown":
                is_violated = (labels[a] == labels[b]) != (answer == "same")
            answers.append(
                {
                    "first": a,
                    "second": b,
                    "names": [names[a], names[b]],
                    "answer": answer,
                    "broken": is_violated,
                }
            )
        contradictions = [
            {"chain": [names[k] for k in one.chain]}
            for one in to_constraints(pairs.answers, len(names)).contradictions()
        ]
        return {"answers": answers, "contradictions": contradictions, "n": len(self)}


def to_constraints(answers: list[tuple[int, int, str]], n_objects: int) -> Constraints:
    """Convert answers about pairs to constraints."""
    must = [(a, b) for a, b, answer in answers if answer == "same"]
    cannot = [(a, b) for a, b, answer in answers if answer == "different"]
    return Constraints(must, cannot, n_objects=n_objects)


@dataclass(frozen=True)
class Decision:
    """Decision of a person about a row of the table, which all runs of a session share."""

    kind: str  # "cluster", "outlier" or "skip"
    cluster: int | None = None  # number of the cluster
    note: str = ""
    # Rows that are typical of this cluster, and of the other clusters in question. They are
    # constraints for later runs.
    same: tuple[int, ...] = ()
    different: tuple[int, ...] = ()


@dataclass
class Deletion:
    """Deletion that can be undone."""

    words: str  # such as "deleted the run 3"
    time: float
    # What was deleted, by the names of attributes of a session. None if it is only on disk.
    state: Json | None
    saved: Json | None = None  # the same with JSON types, see `saving.encode_state`

    @property
    def is_recent(self) -> bool:
        """Whether the deletion can still be undone."""
        return time.time() - self.time <= MAX_BIN_SECONDS


class Session:
    """Table, runs and answers of one browser tab, stored in a folder that outlives the studio."""

    def __init__(self, folder: Path, workers: Workers):
        self.id = folder.name
        self.folder = folder
        self.lock = RLock()
        self.source: Source | None = None
        self.runs: dict[str, Run] = {}
        self.pair_answers = PairAnswers()
        self.decisions: dict[int, Decision] = {}  # by rows, in the order of deciding
        self.rules: list[Json] = []  # rules in the format of `selection.Rule.describe`
        # boolean mask over the rows of the table
        self.selection: np.ndarray | None = None
        self.peaks: Json | None = None
        self.settings: Json = {}
        self.number: Json | None = None
        self.n_runs = 0  # number of runs that were started, also of deleted ones
        self.deletions: list[Deletion] = []
        # the last page that opened this session, which may change it
        self.page: str | None = None
        # name of the last version of the file `session.json` that this process read or wrote
        self.revision: str | None = None
        self.unsaved: list[str] = []  # what could not be saved, with reasons
        self.is_temporary = False  # whether changes are not saved
        self._jobs: dict[str, Job] = {}
        self._workers = workers

    def new_file(self, name: str) -> Path:
        """Return the path of a new file with the given name, in a new folder of this session."""
        return self.new_folder() / safe_name(name)

    def new_folder(self) -> Path:
        """Return a new folder in the folder of this session."""
        folder = self.folder / secrets.token_hex(4)
        folder.mkdir(parents=True)
        return folder

    @property
    def has_work(self) -> bool:
        """Whether there are runs, answers, decisions, rules, or deletions of them."""
        return bool(
            self.runs
            or self.pair_answers.answers
            or self.decisions
            or self.rules
            or self.deletions
        )

    def all_pairs(self) -> PairAnswers:
        """Return the answers, and the pairs that follow from the decisions about single rows."""
        decided = [
            (row, other, answer)
            for row, one in self.decisions.items()
            for answer, others in (("same", one.same), ("different", one.different))
            for other in others
        ]
        # A later entry about the same pair replaces an earlier one.
        pairs = [*decided, *self.pair_answers.answers]
        return PairAnswers([*{frozenset(pair[:2]): pair for pair in pairs}.values()])

    def set_source(self, source: Source) -> None:
        """Replace the table.

        Delete the runs, selection, rules, answers and settings of the old table.
        """
        with self.lock:
            self._remember_table()
            self.source = source
            self.runs = {}
            self.pair_answers = PairAnswers()
            self.decisions = {}
            self.rules = []
            self.selection = self.peaks = self.number = None
            self.settings = {}

    def name_rows(self, source: Source) -> None:
        """Replace the table by the same table with other names of the rows, which all runs get."""
        with self.lock:
            if source.digest != self.get_source().digest:
                raise InvalidInputError(f"{source.name} has changed; load it again")
            self.source = source
            self.runs = {k: self._name_rows_of(run) for k, run in self.runs.items()}

    def _name_rows_of(self, run: Run) -> Run:
        """Return a run with the names of the rows of the table, also in the file of its answers."""
        source = self.get_source()
        before = run.table.index
        table = source.table.iloc[run.rows]
        if before.equals(table.index):
            return run
        recipe = replace(run.recipe, index=source.options.get("index_col"))
        if recipe.constraints is not None:
            answers = pd.read_csv(recipe.constraints, dtype=str, keep_default_na=False)
            names = dict(zip(map(str, before), map(str, table.index), strict=True))
            for column in answers.columns[:2]:
                answers[column] = answers[column].map(names)
            path = self.new_file("answers.csv")
            answers.to_csv(path, index=False, lineterminator="\n")
            recipe = replace(recipe, constraints=str(path))
        return run.name_rows(table, recipe)

    def remember(self, words: str, state: Json) -> None:
        """Store what a deletion, which ``words`` describe, removes from the session."""
        self.deletions.append(Deletion(words, time.time(), state))

    def undo(self, load: Callable[[Session, Json], Json]) -> None:
        """Undo the last deletion; runs and answers that were added later remain.

        ``load`` reads what was deleted before the last restart.
        """
        with self.lock:
            if not self.deletions:
                raise InvalidInputError("nothing was deleted")
            deletion = self.deletions[-1]
            state = deletion.state
            if state is None:
                assert deletion.saved is not None
                state = load(self, deletion.saved)
            self.deletions.pop()
            if "source" in state:
                self._remember_table()
                state = {**dict.fromkeys(_COMPUTED_STATE), **state}
            elif "runs" in state:
                restored = {k: self._name_rows_of(r) for k, r in state["runs"].items()}
                runs = {**restored, **self.runs}
                state["runs"] = dict(sorted(runs.items(), key=lambda one: int(one[0])))
            elif "pair_answers" in state:
                for answer in self.pair_answers.answers:
                    state["pair_answers"].add(*answer)
            elif "decisions" in state:
                state["decisions"] = {**state["decisions"], **self.decisions}
            for name, value in state.items():
                setattr(self, name, value)

    def _remember_table(self) -> None:
        if self.runs or self.pair_answers.answers or self.decisions or self.rules:
            old = format_count(len(self.runs), "run")
            names = (*SAVED_STATE, *_COMPUTED_STATE)
            state = {name: copy.copy(getattr(self, name)) for name in names}
            self.remember(f"replaced the table, with {old} and all answers", state)

    def delete_run(self, number: str) -> None:
        """Delete a run by its number."""
        with self.lock:
            run = self.get_run(number)
            words = f"deleted the run {number}. {run.name}"
            self.remember(words, {"runs": {number: run}})
            del self.runs[number]

    def get_source(self) -> Source:
        """Return the table; raise an error if no table is loaded."""
        if self.source is None:
            raise InvalidInputError("load a table first")
        return self.source

    def get_selection(self) -> np.ndarray:
        """Return the mask of the selected rows; raise an error if no row is selected."""
        if self.selection is None or not self.selection.any():
            raise InvalidInputError("nothing is selected")
        return self.selection

    def add_run(self, run: Run) -> None:
        """Add a run, with clusters numbered as before; remove the oldest run of too many."""
        with self.lock:
            run.match_clusters(self.runs.values())
            self.runs[run.id] = run
            if len(self.runs) > MAX_RUNS:
                self.delete_run(next(iter(self.runs)))

    def get_run(self, number: str) -> Run:
        """Return a run by its number, or a layer of it, such as "3@12" with twelve clusters.

        Raise an error if the run was deleted.
        """
        number, _, n_clusters = number.partition("@")
        if number not in self.runs:
            raise GoneError("this run no longer exists")
        run = self.runs[number]
        if not n_clusters:
            return run
        return run.get_layer(int(n_clusters))

    def start_job(self, kind: str, task: str, arguments: Json, finish: Finish) -> Json:
        """Start a job and stop any running job of its kind.

        Its result is discarded if another table is loaded.
        """
        source = self.source

        def finish_if_current(result: Any, warnings: list[str]) -> Any:
            with self.lock:
                if self.source is not source and kind != "load":
                    raise GoneError("another table was loaded in the meantime")
                return finish(result, warnings)

        with self.lock:
            for job in self.running_jobs():
                if job.kind == kind:
                    job.stop()
            ended = [key for key, job in self._jobs.items() if job.state != "running"]
            for key in ended[:-MAX_ENDED_JOBS]:
                del self._jobs[key]
            job = self._workers.start(kind, task, arguments, finish_if_current)
            self._jobs[job.id] = job
            return {"job": job.describe()}

    def get_job(self, number: str) -> Job:
        """Return a job by its number; raise an error if it is no longer stored."""
        if number not in self._jobs:
            raise GoneError("this job no longer exists")
        return self._jobs[number]

    def running_jobs(self) -> list[Job]:
        return [job for job in self._jobs.values() if job.state == "running"]

    def describe(self) -> Json:
        """Return the state of the session for a page that is opened or reloaded."""
        with self.lock:
            return {
                "id": self.id,
                "source": None if self.source is None else self.source.description,
                "runs": [run.describe() for run in self.runs.values()],
                "rules": self.rules,
                "n_answers": len(self.pair_answers),
                "decided": list(self.decisions),
                "n_decisions": sum(bool(one.same) for one in self.decisions.values()),
                "settings": self.settings,
                "jobs": [job.describe() for job in self.running_jobs()],
                "number": self.number,
                "has_peaks": self.peaks is not None,
                "deleted": self.deletions[-1].words if self.deletions else None,
                "unsaved": self.unsaved,
                "file": self._describe_file(),
            }

    def _describe_file(self) -> Json | None:
        """Return how the file that the user opened differs from the table, or None."""
        if self.source is None:
            return None
        state = self.source.compare_with_origin()
        if state == "same":
            return None
        return {"state": state, "has_copy": self.source.path != self.source.origin}

    def stop_jobs(self) -> None:
        """Stop all jobs of this session."""
        for job in self.running_jobs():
            job.stop()


def safe_name(name: str) -> str:
    """Return the last part of a path, without special characters of file systems."""
    last = name.replace("\\", "/").rpartition("/")[2]
    cleaned = re.sub(r"[^\w. ()+=-]", "_", last).strip(" .")
    return cleaned[-120:] or "table.csv"
