"""Names of objects, columns and clusters as a page can show them: visible, short, and different from each other."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

from dempster._validation import printable

__all__ = ["ObjectNames", "shown", "shortened", "different", "renamed_frame"]

_LONGEST = 60  # characters of a name


def shown(name: Any) -> str:
    """A name as text in one line; characters that would steer the direction of writing, or that nobody sees, are
    written as Python writes them."""
    return printable(" ".join(str(name).split())) or "(no name)"


def shortened(name: Any, longest: int = _LONGEST) -> str:
    """A name of at most so many characters: of a longer one the beginning and the end."""
    text = shown(name if not isinstance(name, str) else name[: 40 * longest])
    if len(text) <= longest:
        return text
    end = longest // 4
    return f"{text[: longest - end - 1]}…{text[-end:]}"


def different(names: Iterable[Any], longest: int = _LONGEST) -> list[str]:
    """Short names, each once: what was shortened to the same text, or was the same, is numbered."""
    taken: dict[str, int] = {}
    out = []
    for name in names:
        short = shortened(name, longest)
        candidate = short
        while candidate in taken:
            taken[short] += 1
            candidate = f"{short} ({taken[short]})"
        taken.setdefault(candidate, 1)
        out.append(candidate)
    return out


class ObjectNames:
    """What the objects are called: by their names, or by their positions."""

    def __init__(self, names: Any, n_objects: int):
        self.names = names
        self._n_objects = n_objects

    @property
    def are_positions(self) -> bool:
        return self.names is None

    def __len__(self) -> int:
        return self._n_objects

    def __getitem__(self, position: int) -> str:
        return str(int(position)) if self.names is None else shortened(self.names[int(position)])


def renamed_frame(frame: Iterable[Hashable]) -> list[Hashable]:
    """Names of clusters: numbers stay numbers, others become short and different."""
    names = list(frame)
    return names if all(isinstance(name, int) for name in names) else list(different(names, 40))
