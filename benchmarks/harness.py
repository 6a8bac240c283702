"""Shared parts of the benchmarks: rows of the table, fresh processes, peak memory, interleaved timings.

A measurement is defined by a module-level function *prepare* and its arguments. It runs in a fresh
process, generates the data, loads compiled code, and returns a `Task`: the work to measure and a
function that describes the result. In a fresh process no measurement is affected by memory, caches
or threads of another.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import multiprocessing
import os
import pkgutil
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = [
    "Measurement",
    "MeasurementError",
    "Row",
    "Task",
    "Timing",
    "at_least",
    "at_most",
    "apart",
    "benchmark",
    "discover",
    "measured",
    "memory",
    "shared_folder",
    "skipped",
    "timings",
]

SHORTEST_ROUND = 0.2  # seconds; fast tasks are repeated within a round
# of a single measurement: rounds, and seconds after which no further round starts
MAX_ROUNDS = 5
LONG_ENOUGH = 1.0


# ---- rows of the table ---------------------------------------------------------------------------


@dataclass
class Row:
    """One line of the table.

    Attributes
    ----------
    name : str
        Name of the method, operation or other implementation.
    measured : str
        What was measured.
    seconds : float, optional
        Smallest time, which is least disturbed by other processes. A difference of times is a
        median over rounds instead, because two smallest times may have been measured under
        different load of the machine.
    noise : float, optional
        Median divided by minimum, minus 1: disturbance by other processes.
    peak_bytes : int, optional
        Increase of the peak resident memory during the work.
    quality : str
        Description of the quality of the result.
    ratio : float, optional
        Ratio to another implementation or size in the same run, which ``measured`` names.
    target : str
    met : bool, optional
        None if there is no target or the sizes were too small.
    note : str
        Reason for a missing value.
    """

    name: str
    measured: str
    seconds: float | None = None
    noise: float | None = None
    peak_bytes: int | None = None
    quality: str = ""
    ratio: float | None = None
    target: str = ""
    met: bool | None = None
    note: str = ""


def at_most(value: float, limit: float, unit: str = "") -> dict[str, Any]:
    """Return ``target`` and ``met`` of a row whose value must not exceed a limit."""
    return {"target": f"≤ {limit:g}{unit}", "met": bool(value <= limit)}


def at_least(value: float, limit: float, unit: str = "") -> dict[str, Any]:
    """Return ``target`` and ``met`` of a row whose value must reach a limit."""
    return {"target": f"≥ {limit:g}{unit}", "met": bool(value >= limit)}


def skipped(name: str, why: str) -> Row:
    """Return a row that states what could not be measured and why."""
    return Row(name, "skipped", note=why)


# ---- finding benchmarks --------------------------------------------------------------------------

Benchmark = Callable[[bool], list[Row]]


def benchmark(function: Benchmark) -> Benchmark:
    """Mark a function ``(quick) -> rows`` of a module ``bench_<subject>`` as a benchmark."""
    function.is_benchmark = True  # type: ignore[attr-defined]
    return function


def discover() -> dict[str, Benchmark]:
    """Return all benchmarks as ``{"subject.function": function}`` in the order of the files and lines."""
    found: dict[str, Benchmark] = {}
    for module in sorted(
        m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)])
    ):
        if not module.startswith("bench_"):
            continue
        contents = vars(importlib.import_module(f"benchmarks.{module}"))
        for name, value in contents.items():
            if (
                getattr(value, "is_benchmark", False)
                and value.__module__ == f"benchmarks.{module}"
            ):
                found[f"{module.removeprefix('bench_')}.{name}"] = value
    return found


def shared_folder() -> Path | None:
    """Return the folder of data sets next to the checkout (or DEMPSTER_SHARED), or None."""
    default = Path(__file__).resolve().parents[2] / "shared"
    folder = Path(os.environ.get("DEMPSTER_SHARED", default))
    if (folder / "data").is_dir():
        return folder
    return None


# ---- measuring -----------------------------------------------------------------------------------


@dataclass
class Task:
    """Work to measure, and a function that describes its result as a small picklable value."""

    work: Callable[[], Any]
    judge: Callable[[Any], Any] = lambda result: None


Prepare = Callable[..., Task]
Entry = tuple[Any, ...]  # a Prepare function and its arguments


@dataclass
class Timing:
    """Times of one task: the smallest of each round, so that rounds of several tasks can be compared."""

    rounds: list[float]

    @property
    def best(self) -> float:
        return min(self.rounds)

    @property
    def noise(self) -> float:
        return statistics.median(self.rounds) / self.best - 1


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of a module in a fresh process and return its result."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh) as pool:
        return pool.submit(function, *arguments).result()


def memory(prepare: Prepare, *arguments: Any) -> tuple[int | None, Any]:
    """Return the rise of the peak memory in bytes while the task runs once in a fresh process, and its description."""
    return apart(_memory_of, prepare, arguments)


def timings(entries: Sequence[Entry], rounds: int) -> list[Timing]:
    """Return the times of several tasks that alternate in one fresh process, so that disturbances affect all of them."""
    return [Timing(smallest) for smallest in apart(_times_of, list(entries), rounds)]


@dataclass
class Measurement:
    """Times, rise of the peak memory in bytes, and description of the result of one task."""

    timing: Timing
    peak_bytes: int | None
    verdict: Any


class MeasurementError(Exception):
    """Raised if a task failed or took too long."""


def measured(
    prepare: Prepare,
    *arguments: Any,
    limit: float | None = None,
    imports: Sequence[str] = (),
) -> Measurement:
    """Measure times, peak memory and result of one task in one fresh process, within a time limit.

    Meant for tables of many tasks, where two processes each (`memory`, `timings`) would take longer
    than the work. If the system can fork, all processes are forked from one that has only done the
    imports.
    """
    if "forkserver" in multiprocessing.get_all_start_methods():
        method = "forkserver"
    else:
        method = "spawn"
    fresh: Any = multiprocessing.get_context(method)
    fresh.set_forkserver_preload(list(imports))
    receiver, sender = fresh.Pipe(duplex=False)
    process = fresh.Process(target=_measure_and_send, args=(sender, prepare, arguments))
    process.start()
    sender.close()  # Close our end, so that the end of the process is noticed.
    try:
        if not receiver.poll(limit):
            raise MeasurementError(f"did not end within {limit:g} s")
        answer = receiver.recv()
    except EOFError:
        raise MeasurementError("its process died") from None
    finally:
        process.terminate()
        process.join()
        receiver.close()
    if isinstance(answer, str):
        raise MeasurementError(answer)
    return answer


def _measure_and_send(
    sender: Any, prepare: Prepare, arguments: tuple[Any, ...]
) -> None:
    try:
        task = prepare(*arguments)
        gc.collect()
        before = _lowered_peak()
        begin = time.perf_counter()
        result = task.work()
        rounds = [time.perf_counter() - begin]
        after = _peak()
        if before is None or after is None:
            peak = None
        else:
            peak = after - before
        verdict = task.judge(result)
        del result
        while len(rounds) < MAX_ROUNDS and time.perf_counter() - begin < LONG_ENOUGH:
            rounds.append(_smallest_time(task.work))
        sender.send(Measurement(Timing(rounds), peak, verdict))
    except Exception as error:  # Report any error in the table.
        sender.send(f"fails: {type(error).__name__}: {error}")


def _memory_of(prepare: Prepare, arguments: tuple[Any, ...]) -> tuple[int | None, Any]:
    task = prepare(*arguments)
    gc.collect()
    before = _lowered_peak()
    result = task.work()
    after = _peak()
    if before is None or after is None:
        rise = None
    else:
        rise = after - before
    return rise, task.judge(result)


def _times_of(entries: list[Entry], rounds: int) -> list[list[float]]:
    tasks = [prepare(*arguments) for prepare, *arguments in entries]
    turns = [[_smallest_time(task.work) for task in tasks] for _ in range(rounds)]
    return [list(times) for times in zip(*turns, strict=True)]


def _smallest_time(work: Callable[[], Any]) -> float:
    """Repeat the call until the round is long enough; results are freed between calls."""
    smallest = float("inf")
    begin = time.perf_counter()
    while True:
        start = time.perf_counter()
        work()
        now = time.perf_counter()
        smallest = min(smallest, now - start)
        if now - begin >= SHORTEST_ROUND:
            return smallest


_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def _lowered_peak() -> int | None:
    """Free memory of the preparation, reset the peak if the system allows it, and return the peak."""
    # Without glibc there is nothing to do.
    with contextlib.suppress(AttributeError, OSError, TypeError):
        # Pages kept by the allocator would hide the memory of the task.
        ctypes.CDLL(None).malloc_trim(0)
    with contextlib.suppress(OSError):
        if _CLEAR.exists():
            _CLEAR.write_text("5")
    return _peak()


def _peak() -> int | None:
    """Return the peak resident memory of this process in bytes.

    On Linux the value of the kernel for this process is better than getrusage, which includes the
    memory of the parent at the start of the process and cannot be reset.
    """
    if _STATUS.exists():
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (
        1 if sys.platform == "darwin" else 1024
    )
