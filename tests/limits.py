"""Every hostile input must be answered within seconds and without filling the memory."""

import faulthandler
import re
import resource
import signal
from contextlib import contextmanager

import pytest

__all__ = ["by_thirds", "limited", "refused_or_sensible", "third_of"]

SECONDS = 10
BYTES = 6 << 30  # beyond what the process has


_OBSCURE = ("'NoneType' object", "broadcast", "unhashable", "has no attribute", "not subscriptable", "out of bounds")


# A sweep over many things, a third of them in `make test`, the others in the long suite.
by_thirds = pytest.mark.parametrize("third", [0, *(pytest.param(k, marks=pytest.mark.long) for k in (1, 2))])


def third_of(things, number, third):
    """Every third of the things; which ones depends on the number of who is asked, so that some are asked for each."""
    return [*things][(number + third) % 3 :: 3]


faulthandler.register(signal.SIGVTALRM, all_threads=True, chain=True)  # says where, and then the process is ended


class TookTooLong(Exception):
    pass


@contextmanager
def limited(seconds=SECONDS):
    """A hang raises `TookTooLong`, a memory explosion `MemoryError`; a hang inside C ends the tests and says where."""

    def give_up(*_):
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, give_up)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, hard))
    signal.setitimer(signal.ITIMER_VIRTUAL, 5 * seconds)  # of the processor
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGALRM, before)


def refused_or_sensible(call, check, words=""):
    """The call is refused with words, or what it gives is sensible; returns how it was refused, None if it was not."""
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
        assert re.search(words, message), f"{message!r} does not say {words!r}"
    return message
