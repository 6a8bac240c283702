"""The process in which long work is done: it waits for a task, tells how far it is, hands over the result.

Run as ``python -m dempster.apps.studio.worker``. Messages are pickles through the standard streams of two processes of
the same program, which trust each other.
"""

from __future__ import annotations

import os
import pickle
import re
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from typing import Any, BinaryIO

FOLDER_PREFIX = "dempster-studio-"
_FOLDER = re.compile(rf"[^\s'\"]*{FOLDER_PREFIX}[^\s/\\'\"]+[/\\](?:[0-9a-f]+[/\\])*")


def without_folders(words: str) -> str:
    """What is said of a file by its name alone.

    Examples
    --------
    >>> from dempster.apps.studio.worker import without_folders
    >>> without_folders("cannot open '/tmp/dempster-studio-x1/0f/1/table.csv'")
    "cannot open 'table.csv'"
    """
    return _FOLDER.sub("", words)


MIN_PROGRESS_SECONDS = 0.1  # seconds between two messages on progress


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
        if now - self._last >= MIN_PROGRESS_SECONDS or share == 1:
            self._last = now
            self.send("progress", {"words": words, "share": share})


def main() -> None:
    """Take tasks and do them, one after the other, until the studio ends."""
    channel = _Channel(os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)  # whatever is printed must not get between the messages
    from dempster.apps.studio import tasks  # imports what the tasks need while nobody waits

    tasks.warm_up()
    while True:
        try:
            name, arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        channel.send(*_done(channel, tasks.TASKS[name], arguments))


def _done(channel: _Channel, task: Callable[..., Any], arguments: dict[str, Any]) -> tuple[str, Any]:
    """The result of a task with the warnings on the way, or why there is none."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            result = task(channel.tell, **arguments)
        except (ValueError, ImportError, OSError) as error:
            return "failed", without_folders(" ".join(str(error).split()))
        except MemoryError:
            return "failed", "there is not enough memory for this"
        except Exception:
            traceback.print_exc()
            return "failed", "something went wrong inside; the terminal of the studio shows where"
    said = dict.fromkeys(" ".join(str(one.message).split()) for one in caught if issubclass(one.category, UserWarning))
    return "done", {"result": result, "warnings": list(said)}


if __name__ == "__main__":
    main()
