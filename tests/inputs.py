"""Unusual inputs for estimators of all packages, and fast versions of the estimators."""

import decimal
import inspect

import numpy as np
import pandas as pd
import polars as pl
import torch
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_iris

from dempster import classify, metric
from dempster.dissimilarity.gower import GowerEncoder, gower_block

IRIS, Y = load_iris(return_X_y=True)
IRIS = IRIS[::3]
Y = Y[::3]
SHIFTED = IRIS - 2.0  # Rounding does not decide ties, and some cells are zero.
CLASSIFIERS = [
    kind
    for kind in (getattr(classify, name) for name in classify.__all__)
    if inspect.isclass(kind) and issubclass(kind, ClassifierMixin)
]
LEARNERS = [getattr(metric, name) for name in metric.__all__]


def fitted_encoder(table, **parameters):
    encoder = GowerEncoder(**parameters)
    encoder.fit_transform(table)
    return encoder


def gower_matrix(table, incomparable="raise", **parameters):
    """Return the matrix of Gower's dissimilarities between the rows of a table."""
    data = GowerEncoder(**parameters).fit_transform(table)
    matrix = gower_block(data, data, incomparable=incomparable)
    np.fill_diagonal(matrix, 0)
    return matrix


def quick(kind):
    """Return a classifier, metric learner or mixture that runs fast."""
    wanted = {"n_init": 1, "max_iter": 50, "random_state": 0, "n_neighbors": 1}
    return kind(
        **{k: v for k, v in wanted.items() if k in inspect.signature(kind).parameters}
    )


def quick_make(subject, **changes):
    """Return a clusterer that runs fast on any input."""
    quick = {"n_init": 1, "max_iter": 10, "n_bootstraps": 10}
    if str(subject) == "NNEVCLUS":
        quick |= {"network": 3, "max_iter": 2}
    few = {name: value for name, value in quick.items() if name in subject.parameters}
    return subject.make(**{**few, **changes})


def cell(value, dtype=float):
    X = IRIS.astype(dtype)
    X[3, 2] = value
    return X


OBJECTS = {
    "NaN": cell(np.nan),
    "infinity": cell(np.inf),
    "minus infinity": cell(-np.inf),
    "code for missing": cell(1.7e308),
    "None": cell(None, object),
    "text in a cell": cell("oops", object),
    "a list in a cell": cell([1, 2], object),
    "huge": IRIS * 1e200,
    "tiny": IRIS * 1e-200,
    "denormal": IRIS * 1e-310,
    "large": IRIS * 1e50,
    "far from the origin": IRIS + 1e12,
    "huge in single precision": (IRIS * 1e20).astype(np.float32),
    "tiny in single precision": (IRIS * 1e-20).astype(np.float32),
    "half precision": IRIS.astype(np.float16),
    "long doubles": IRIS.astype(np.longdouble),
    "integers": (10 * IRIS).astype(int),
    "unsigned": (10 * IRIS).astype(np.uint8),
    "Boolean": IRIS > 3,
    "complex": IRIS.astype(complex),
    "text": IRIS.astype(str),
    "words": np.full((20, 2), "word"),
    "objects that are numbers": IRIS.astype(object),
    "dates": np.full((20, 2), np.datetime64("2020-01-01")),
    "empty": IRIS[:0],
    "no attributes": IRIS[:, :0],
    "one object": IRIS[:1],
    "two objects": IRIS[:2],
    "three objects": IRIS[[0, 20, 40]],
    "one attribute": IRIS[:, :1],
    "one dimension": IRIS[:, 0],
    "three dimensions": IRIS[None],
    "a number": 5.0,
    "nothing": None,
    "a string": "data",
    "a dictionary": {"a": [1, 2]},
    "ragged": [[1.0, 2.0], [3.0]],
    "nested lists": IRIS.tolist(),
    "sparse": sparse.csr_matrix(IRIS),
    "all equal": np.ones((20, 3)),
    "all zero": np.zeros((20, 3)),
    "a constant attribute": np.column_stack([IRIS, np.ones(len(IRIS))]),
    "the same attribute twice": np.column_stack([IRIS, IRIS]),
    "duplicates": np.repeat(IRIS[::10], 7, axis=0),
    "two places": np.repeat([[0.0, 0.0], [1.0, 1.0]], 20, axis=0),
    "more attributes than objects": np.random.default_rng(0).normal(size=(12, 60)),
    "Fortran order": np.asfortranarray(IRIS),
    "strides": np.repeat(IRIS, 2, axis=0)[::2],
    "reversed": IRIS[::-1],
    "read-only": np.frombuffer(IRIS.tobytes()).reshape(IRIS.shape),
    "big-endian": IRIS.astype(">f8"),
    "masked": np.ma.masked_array(IRIS, IRIS > 7),
    "nothing masked": np.ma.masked_array(IRIS),
    "spans of time": (100 * IRIS).astype("m8[s]"),
    "complex columns": pd.DataFrame(IRIS.astype(complex)),
    "dates in a table": pd.DataFrame(
        {"a": pd.date_range("2020", periods=20), "b": range(20)}
    ),
    "pandas NA": cell(pd.NA, object),
    "numbers of Python": np.vectorize(decimal.Decimal, otypes=[object])(IRIS),
    "records": np.zeros(20, dtype=[("a", float), ("b", int)]),
    "a generator": (row for row in IRIS),
    "a set": {1.0, 2.0},
    "a tensor": torch.tensor(IRIS),
    "sparse tensor": torch.tensor(IRIS).to_sparse(),
    "lazy": pl.LazyFrame({"a": [1.0, 2.0, 3.0, 4.0]}),
    "polars": pl.DataFrame(dict(zip("abcd", IRIS.T, strict=True))),
    "arrow": pd.DataFrame(IRIS).convert_dtypes(dtype_backend="pyarrow"),
    "two levels of names": pd.DataFrame(
        IRIS, index=pd.MultiIndex.from_product([range(10), list("vwxyz")])
    ),
    "a matrix": np.asmatrix(IRIS),
    "a table": pd.DataFrame(IRIS, columns=list("abcd")),
    "a table with numbers as names": pd.DataFrame(
        IRIS, columns=range(4), index=range(5, 5 + len(IRIS))
    ),
    "a table with mixed names": pd.DataFrame(IRIS, columns=["a", 1, "b", 2]),
    "a table with names twice": pd.DataFrame(
        IRIS, columns=list("aabb"), index=["x"] * len(IRIS)
    ),
    "a table with categories": pd.DataFrame(
        {"a": pd.Categorical(["u", "v"] * 10), "b": range(20)}
    ),
    "a table with missing values": pd.DataFrame(
        {"a": [1.0, None, 3.0] * 5, "b": range(15)}
    ),
    "nullable integers": pd.DataFrame(
        {"a": pd.array([1, 2, 3] * 5, dtype="Int64"), "b": range(15)}
    ),
    "one far outlier": np.concatenate([IRIS, np.full((1, 4), 1e30)]),
    "ties": np.array(np.meshgrid(range(5), range(5))).reshape(2, -1).T.astype(float),
}

# Inputs that are not numeric or hide missing values; every estimator that needs numbers rejects
# them.
HIDDEN = (
    *(
        "masked",
        "dates",
        "dates in a table",
        "spans of time",
        "complex",
        "complex columns",
        "pandas NA",
    ),
    *("sparse tensor", "lazy"),
)


def askew(X):
    """Return the same numbers at a misaligned memory address."""
    return (
        np.frombuffer(b"x" + X.tobytes(), dtype=np.uint8)[1:]
        .view(X.dtype)
        .reshape(X.shape)
    )


def table(X):
    return pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])


class Picture:
    """Object with an array interface but without a shape, like images of PIL."""

    def __init__(self, X):
        self.kept = X
        self.__array_interface__ = X.__array_interface__


# The same numbers in unusual representations.
FORMS = {
    "askew in memory": askew,
    "numbers of a picture": lambda X: Picture(np.ascontiguousarray(X)),
    "sparse columns": lambda X: table(X).astype(pd.SparseDtype(float, 0.0)),
    "one sparse column": lambda X: table(X).astype({"c0": pd.SparseDtype(float, 0.0)}),
    "sparse columns, NaN left out": lambda X: table(X).astype(
        pd.SparseDtype(float, np.nan)
    ),
    "bytes in another order": lambda X: table(X.astype(">f8")),
    "a tensor that is learnt": lambda X: torch.tensor(X, requires_grad=True),
    "a tensor of signs to be turned": lambda X: torch.tensor(X * -1j).conj().imag,
}
