"""Limits of time and memory for tests of hostile input, which must fail quickly with a clear error."""

import faulthandler
import re
import signal
import sys
import time
from contextlib import contextmanager

import pytest

SECONDS = 10
BYTES = 6 << 30  # Memory beyond what the process already uses.

_OBSCURE = (
    "'NoneType' object",
    "broadcast",
    "unhashable",
    "has no attribute",
    "not subscriptable",
    "out of bounds",
)

# Large sweeps: one third of the cases runs in `make test`, the others in the long suite.
by_thirds = pytest.mark.parametrize(
    "third", [0, *(pytest.param(k, marks=pytest.mark.long) for k in (1, 2))]
)


def third_of(things, number, third):
    """Return every third of the things.

    ``number`` selects which third, so that different tests use different ones.
    """
    return [*things][(number + third) % 3 :: 3]


if sys.platform == "linux":  # Print the traceback of a hang in C, then exit.
    faulthandler.register(signal.SIGVTALRM, all_threads=True, chain=True)


class TookTooLong(Exception):
    pass


@contextmanager
def limited(seconds=SECONDS):
    """Raise `TookTooLong` for a hang and `MemoryError` for an excessive allocation.

    A hang in C ends the process.

    There are no limits on other systems than Linux.
    """
    if sys.platform != "linux":
        yield
        return
    import resource

    start = time.process_time()
    n_alarms = 0

    def give_up(*_):
        nonlocal n_alarms
        n_alarms += 1
        # The machine is busy with other processes.
        if n_alarms < 12 and time.process_time() - start < seconds:
            signal.alarm(seconds)
        else:
            raise TookTooLong

    before = signal.signal(signal.SIGALRM, give_up)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, hard))
    # This timer counts processor time.
    signal.setitimer(signal.ITIMER_VIRTUAL, 5 * seconds)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, before)


def refused_or_sensible(call, check, words=""):
    """Return the message of the error that a call raises, or check its result and return None."""
    with limited():
        try:
            result = call()
        except (ValueError, TypeError, IndexError, OSError) as error:
            message = str(error)
        else:
            check(result)
            return None
    assert len(message) > 10
    assert "internal" not in message.lower()
    for obscure in _OBSCURE:
        assert obscure not in message, message
    if words:
        assert re.search(words, message), f"{message!r} does not match {words!r}"
    return message
