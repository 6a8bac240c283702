"""Where the files of a studio are, which is nobody's business but its own."""

from __future__ import annotations

import re

__all__ = ["PREFIX", "without_folders"]

PREFIX = "dempster-studio-"
_FOLDER = re.compile(rf"[^\s'\"]*{PREFIX}[^\s/\\'\"]+[/\\](?:[0-9a-f]+[/\\])*")


def without_folders(words: str) -> str:
    """What is said of a file by its name alone.

    Examples
    --------
    >>> from dempster.apps.studio.folders import without_folders
    >>> without_folders("cannot open '/tmp/dempster-studio-x1/0f/1/table.csv'")
    "cannot open 'table.csv'"
    """
    return _FOLDER.sub("", words)
