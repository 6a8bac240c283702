"""What is known of a public dataset beforehand: where it is, what it must look like, how papers prepared it."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["ClassGroup", "OpenMLCopy", "Preparation", "DatasetRecord", "size_in_words"]

# Class group: (name of the class, original classes it is made of).
ClassGroup = tuple[str, tuple[str, ...]]


@dataclass(frozen=True)
class OpenMLCopy:
    """A copy on openml.org: its number there, and its labels in the order of ``class_names`` where they differ."""

    data_id: int
    labels: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Preparation:
    """A version of a dataset made from the original one; the steps are applied in the order of the fields.

    ``classes`` keeps and merges classes, ``max_missing`` drops the objects with more missing values than that and then
    every attribute that still has one, ``columns`` keeps attributes, ``per_class`` draws that many objects of each
    class.
    """

    description: str
    shape: tuple[int, int, int]
    classes: tuple[ClassGroup, ...] | None = None
    max_missing: int | None = None
    columns: tuple[int, ...] | None = None
    per_class: int | None = None


@dataclass(frozen=True)
class DatasetRecord:
    """Everything the fetchers know of a dataset. ``n_classes`` 0 means no labels."""

    name: str
    title: str
    n_samples: int
    n_features: int
    n_classes: int
    citation: str
    file: str = ""
    class_names: tuple[str, ...] | None = None
    openml: OpenMLCopy | None = None
    homepage: str = ""
    note: str = ""
    dissimilarities: bool = False
    preparations: dict[str, Preparation] = field(default_factory=dict)

    @property
    def file_name(self) -> str:
        """Name of the local copy in the folder ``data``."""
        return f"{self.file or self.name}.npz"

    @property
    def shape(self) -> tuple[int, int, int]:
        """Numbers of objects, attributes and classes of the original version."""
        return self.n_samples, self.n_features, self.n_classes

    @property
    def versions(self) -> tuple[str, ...]:
        """What ``version`` may be."""
        return ("original", *self.preparations)


def size_in_words(shape: tuple[int, int, int]) -> str:
    """Numbers of objects, attributes (0: dissimilarities) and classes (0: no labels) in a sentence."""
    n_samples, n_features, n_classes = shape
    attributes = f"{n_features} attributes" if n_features else "a matrix of dissimilarities"
    return f"{n_samples} objects, {attributes}, {f'{n_classes} classes' if n_classes else 'no labels'}"
