"""Public datasets of the papers on evidential clustering.

The file ``catalogue.toml`` contains their sources and sizes.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

Shape = tuple[int, int, int]
"""Numbers of objects, attributes (0 for dissimilarities) and classes (0 if there are no labels)."""


@dataclass(frozen=True)
class DatasetRecord:
    """Description of a public dataset.

    If the labels on openml.org differ from ``class_names``, ``openml_labels`` contains them in the
    same order.
    """

    name: str
    title: str
    shape: Shape
    citation: str
    homepage: str = "https://archive.ics.uci.edu"
    file: str = ""
    class_names: Sequence[str] | None = None
    openml_id: int | None = None
    openml_labels: Sequence[str] | None = None
    note: str = ""
    dissimilarities: bool = False

    @property
    def n_classes(self) -> int:
        return self.shape[2]

    @property
    def file_name(self) -> str:
        """File name of the local copy in the folder ``data``."""
        return f"{self.file or self.name}.npz"


def _read_catalogue() -> dict[str, DatasetRecord]:
    text = (
        files("dempster.datasets")
        .joinpath("catalogue.toml")
        .read_text(encoding="utf-8")
    )
    catalogue = tomllib.loads(text)
    shared = catalogue["citations"]
    records = {}
    for name, entry in catalogue["datasets"].items():
        # A citation is the key of a shared reference, or the reference itself.
        citations = [
            shared.get(citation, citation) for citation in entry.pop("citations")
        ]
        entry["shape"] = tuple(entry["shape"])
        records[name] = DatasetRecord(name, citation=" ".join(citations), **entry)
    return records


CATALOGUE = _read_catalogue()


def dataset_names() -> list[str]:
    """Return the names of the datasets that :func:`~dempster.datasets.fetch_dataset` can fetch.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from dempster.datasets import dataset_names
    >>> dataset_names()[:3]
    ['ecoli', 'seeds', 'heart']
    """
    return list(CATALOGUE)


def describe_shape(shape: Shape) -> str:
    """Return a shape as text, such as "150 objects, 4 attributes, 3 classes"."""
    n_samples, n_features, n_classes = shape
    attributes = "a matrix of dissimilarities"
    if n_features:
        attributes = f"{n_features} attributes"
    classes = "no labels"
    if n_classes:
        classes = f"{n_classes} classes"
    return f"{n_samples} objects, {attributes}, {classes}"
