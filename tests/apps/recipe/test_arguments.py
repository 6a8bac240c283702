"""Errors about arguments of recipes, readers, datasets and belief functions name the argument."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dempster import FocalSets, MassFunctions
from dempster.apps.recipe import (
    Preparation,
    Recipe,
    TableModel,
    choose_attributes,
    constraints_from_labels,
    encode_labels,
    prepare,
    read_image,
    read_labels,
    read_views,
)
from dempster.cluster import ECM
from dempster.constraints import Constraints, read_constraints, write_constraints
from dempster.datasets import fetch_dataset, load_iris, load_wine
from dempster.io import read_dissimilarities
from dempster.persistence import load, save

TABLE = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [3.0, 1.0, 2.0]})
RECIPE = Recipe("table.csv", method="ecm", clusters=2)
PREPARATION = choose_attributes(TABLE).preparation


NOT_COMPARABLE = [
    pd.NA,
    np.ones((3, 2)),
    TABLE,
    pd.Series([1, 2]),
    pd.Categorical(["a"]),
    np.zeros(0),
]


def matrix(**options):
    np.savetxt("d.csv", np.ones((3, 3)) - np.eye(3), delimiter=",")
    try:
        read_dissimilarities("d.csv", **options)
    finally:
        Path("d.csv").unlink()


def load_model(**options):
    save(ECM(2), "m.dempster")
    try:
        load("m.dempster", **options)
    finally:
        Path("m.dempster").unlink()


NAMES = [3, 0.5, 1j, object(), [object()], [0.5], {"a": 1}, np.datetime64("2020")]
PATHS = [3, 0.5, object(), ["a"], b"x"]
WORDS = [3, None, "magic", [], np.ones(2)]
TABLES = [3, None, "text", np.ones((3, 2)), [[1.0]], {"a": [1]}, object()]
INVALID = {
    "files": (lambda v: Recipe(v), [3, 0.5, object(), [3], [b"x"], (), {"a": 1}]),
    "constraints": (lambda v: Recipe("t.csv", constraints=v), PATHS),
    "labels": (lambda v: Recipe("t.csv", labels=v), PATHS),
    "truth": (lambda v: Recipe("t.csv", truth=v), PATHS),
    "parameters": (
        lambda v: Recipe("t.csv", parameters=v),
        [3, "alpha", [1], object()],
    ),
    "delimiter": (lambda v: Recipe("t.csv", delimiter=v), [3, b",", [","], object()]),
    "header": (lambda v: Recipe("t.csv", header=v), ["yes", 3, [], object()]),
    "method": (lambda v: Recipe("t.csv", method=v), WORDS),
    "columns of choose_attributes": (
        lambda v: choose_attributes(TABLE, columns=v),
        ["a", *NAMES],
    ),
    "exclude of choose_attributes": (
        lambda v: choose_attributes(TABLE, exclude=v),
        ["a", *NAMES],
    ),
    "scale": (lambda v: choose_attributes(TABLE, scale=v), ["yes", 3, None, 0.5]),
    "numbers": (lambda v: choose_attributes(TABLE, numbers=v), ["yes", 3, None, 0.5]),
    "table": (choose_attributes, TABLES),
    "table of transform": (PREPARATION.transform, TABLES),
    "center": (
        lambda v: Preparation(["a"], [], v, [1.0]),
        ["x", 1j, [np.nan], object()],
    ),
    "estimator": (TableModel, [3, None, "ecm", object(), ECM]),
    "preparation": (lambda v: TableModel(ECM(), v), [3, "x", object()]),
    "recipe": (prepare, [3, None, "x", {}, np.datetime64("2020")]),
    "note": (lambda v: prepare(RECIPE, v), [3, "x", [], object()]),
    "source": (lambda v: read_labels(v, TABLE), [3, None, "z", [], object()]),
    "labels of encode_labels": (
        encode_labels,
        [3, None, "x", [1, 2], (i for i in range(3))],
    ),
    "y": (constraints_from_labels, [3, None, "x", [None, 1], [[1], [2, 3]], object()]),
    "files of read_views": (read_views, [3, None, (), [3], object()]),
    "path": (read_image, PATHS),
    "delimiter of read_dissimilarities": (
        lambda v: matrix(delimiter=v),
        [3, 0.5, [","], *NOT_COMPARABLE],
    ),
    "decimal of read_dissimilarities": (
        lambda v: matrix(decimal=v),
        [3, ";", *NOT_COMPARABLE],
    ),
    "header of read_dissimilarities": (
        lambda v: matrix(header=v),
        [3, "yes", *NOT_COMPARABLE],
    ),
    "index_col of read_dissimilarities": (
        lambda v: matrix(index_col=v),
        [3, *NOT_COMPARABLE],
    ),
    "network": (
        lambda v: load_model(network=v),
        [3, "x", ECM(2), int, *NOT_COMPARABLE],
    ),
    "data_home": (lambda v: fetch_dataset("ecoli", data_home=v), PATHS),
    "as_frame": (lambda v: load_iris(as_frame=v), ["yes", 3, 0.5, *NOT_COMPARABLE]),
    "return_X_y": (lambda v: load_wine(return_X_y=v), ["yes", 3, 0.5, *NOT_COMPARABLE]),
    "path of read_constraints": (read_constraints, PATHS),
    "path of write_constraints": (
        lambda v: write_constraints(Constraints([(0, 1)]), v),
        PATHS,
    ),
    "values": (
        lambda v: MassFunctions.from_function(v, FocalSets.full(2)),
        [[[0, -1, 2, 1]], [[0, 1, 1, 1]], "x"],
    ),
    "values of implicability": (
        lambda v: MassFunctions.from_function(v, FocalSets.full(2), "implicability"),
        [[[9, 9, 9, 9]]],
    ),
    "values of commonality": (
        lambda v: MassFunctions.from_function(v, FocalSets.full(2), "commonality"),
        [[[0, 0, 0, 0]]],
    ),
}


@pytest.mark.parametrize("which", INVALID)
def test_errors_name_the_argument(which, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call, values = INVALID[which]
    for value in values:
        with pytest.raises(
            (ValueError, TypeError), match=rf"\b{which.split(' ')[0]}\b"
        ):
            call(value)
    assert list(tmp_path.iterdir()) == []
