"""The process in which long work is done: it waits for a task, tells how far it is, hands over the result and ends.

Run as ``python -m evidentia.studio.worker``. Messages are pickles through the standard streams of two processes of the
same program, which trust each other.
"""

from __future__ import annotations

import os
import pickle
import sys
import time
import traceback
import warnings
from typing import Any, BinaryIO

__all__ = ["main"]

_BETWEEN = 0.1  # seconds between two messages on progress


class _Channel:
    """Messages to the studio: (kind, content)."""

    def __init__(self, stream: BinaryIO):
        self._stream, self._last = stream, 0.0

    def send(self, kind: str, content: Any) -> None:
        pickle.dump((kind, content), self._stream, protocol=5)
        self._stream.flush()

    def tell(self, words: str, share: float | None = None) -> None:
        """How far the work is; not more often than a person can read."""
        now = time.monotonic()
        if now - self._last >= _BETWEEN or share == 1:
            self._last = now
            self.send("progress", {"words": words, "share": share})


def main() -> None:
    """Take one task, do it, end."""
    channel = _Channel(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)  # whatever is printed must not get between the messages
    from evidentia.studio import tasks  # imports what the tasks need while nobody waits

    tasks.warm_up()
    try:
        name, arguments = pickle.load(sys.stdin.buffer)
    except EOFError:
        return  # the studio ended without a task
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            result = tasks.TASKS[name](channel.tell, **arguments)
        except (ValueError, ImportError, OSError) as error:
            channel.send("failed", " ".join(str(error).split()))
            return
        except MemoryError:
            channel.send("failed", "there is not enough memory for this")
            return
        except Exception:
            traceback.print_exc()
            channel.send("failed", "something went wrong inside; the terminal of the studio shows where")
            return
    said = dict.fromkeys(" ".join(str(one.message).split()) for one in caught if issubclass(one.category, UserWarning))
    channel.send("done", {"result": result, "warnings": list(said)})


if __name__ == "__main__":
    main()
