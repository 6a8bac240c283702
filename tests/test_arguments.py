"""Invalid arguments of public functions: the error names the argument."""

import datetime
import decimal
import fractions

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dempster import CredalPartition, FocalSets, MassFunctions
from dempster._errors import InvalidParameterError
from dempster.classify import ContextualDiscounting
from dempster.cluster import ECM
from dempster.constraints import Constraints, suggest_pairs
from dempster.dissimilarity import to_conflict
from dempster.explain import (
    CautiousTree,
    explain_object,
    profile,
    retention_curve,
    stability,
)
from dempster.mixture import GaussianParameters
from dempster.model_selection import number_of_clusters
from dempster.partition import (
    RelationalPartition,
    combine_partitions,
    consistency_index,
    credal_rand_index,
    dominates,
    embed_partitions,
    nearest_pairs,
    non_dominated,
)
from tests.limits import limited

FAMILY = FocalSets.full(2)
M = CredalPartition(
    [[0.1, 0.5, 0.2, 0.2], [0.0, 0.3, 0.6, 0.1], [0.2, 0.2, 0.2, 0.4]], FAMILY
)
DATES = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="M8[D]")


def masked(values):
    values = np.asarray(values)
    mask = np.zeros(values.shape, dtype=bool)
    mask.flat[values.size // 2] = True
    return np.ma.masked_array(values, mask)


class Unreadable:
    """An object that cannot be converted to an array."""

    def __array__(self, *_args, **_keywords):
        raise RuntimeError("no array")


FLAGS = {
    "empty": lambda v: FocalSets.simple(3, empty=v),
    "omega": lambda v: FocalSets.full(3, omega=v),
    "normalized": lambda v: M.belief((0,), normalized=v),
    "keep_outliers": lambda v: M.assignment("interval_dominance", keep_outliers=v),
}
CHOICES = {
    "rule of combine": lambda v: M.combine(M, rule=v),
    "rule of decide": lambda v: M.decide(v),
    "rule of decide_sets": lambda v: M.decide_sets(rule=v),
    "rule of expected_losses": lambda v: M.expected_losses(v),
    "rule of normalize": lambda v: M.normalize(v),
    "kind of from_function": lambda v: MassFunctions.from_function(
        np.eye(4), FAMILY, v
    ),
    "rule of assignment": lambda v: M.assignment(v),
    "rule of combine_partitions": lambda v: combine_partitions([M, M], v),
    "distance": lambda v: credal_rand_index(M, M, distance=v),
}
REALS = {
    "optimism of decide": lambda v: M.decide("hurwicz", optimism=v),
    "optimism of expected_losses": lambda v: M.expected_losses("hurwicz", optimism=v),
    "tolerance": lambda v: M.decide_sets(v),
    "reject": lambda v: M.decide(reject=v),
    "d0": lambda v: to_conflict(np.ones(3), v),
}
COUNTS = {
    "n_clusters": lambda v: FocalSets.simple(v),
    "size": lambda v: FocalSets.max_cardinality(3, v),
    "max_size": lambda v: M.decide_sets(max_size=v),
    "n_pairs": lambda v: credal_rand_index(M, M, n_pairs=v),
    "n_neighbors": lambda v: nearest_pairs(M, v),
    "n_constraints": lambda v: Constraints.from_labels([0, 0, 1], v),
    "n of suggest_pairs": lambda v: suggest_pairs(M, v),
    "n of check": lambda v: Constraints([(0, 1)]).check(v),
}
ARRAYS = {
    "membership": FocalSets,
    "membership of find": FAMILY.find,
    "masses": lambda v: MassFunctions(v, FAMILY),
    "values of beliefs": lambda v: MassFunctions.from_function(v, FAMILY),
    "values of plausibilities": lambda v: MassFunctions.from_function(
        v, FAMILY, "plausibility"
    ),
    "contour": MassFunctions.from_contour,
    "counts": MassFunctions.from_counts,
    "probabilities": lambda v: MassFunctions.from_source(
        v, {0: 0, 1: 1, 2: (0, 1)}, range(2)
    ),
    "memberships": CredalPartition.from_fuzzy,
    "upper": CredalPartition.from_rough,
    "losses": lambda v: M.decide(losses=v),
    "rate": lambda v: M.discount(v),
    "doubt": lambda v: retention_curve(M, [0, 1, 1], doubt=v),
    "sample_weight": lambda v: number_of_clusters(
        np.arange(12.0)[:, None], candidates=[2, 3], sample_weight=v
    ),
    "weights of nearest_pairs": lambda v: nearest_pairs(M, 1, v),
    "dissimilarities": lambda v: to_conflict(v, 1.0),
    "pairs": M.relational,
    "pairs of of": M.relational().pair_masses,
    "must_link": Constraints,
    "D": lambda v: Constraints([(0, 1)]).expand(v, 1),
}
OTHERS = {
    "other family": lambda v: FAMILY.union(v),
    "focal_sets of on": lambda v: M.to_family(v),
    "focal_sets of beliefs": lambda v: MassFunctions.from_function(np.eye(4), v),
    "focal_sets of commonalities": lambda v: MassFunctions.from_function(
        np.eye(4), v, "commonality"
    ),
    "frame": lambda v: MassFunctions(M.masses, FAMILY, frame=v),
    "frame of from_dict": lambda v: MassFunctions.from_dict({"a": 1.0}, v),
    "frames": lambda v: M.vacuous_extension(v, 0),
    "component": lambda v: M.vacuous_extension([M.frame, "ab"], v),
    "parts": lambda v: M.coarsen(v),
    "images": lambda v: MassFunctions.from_source([0.5, 0.5], v, "ab"),
    "masses of from_dict": lambda v: MassFunctions.from_dict(v, "ab"),
    "sets": lambda v: FocalSets.from_sets(3, v),
    "pairs": lambda v: FocalSets.with_pairs(3, v),
    "clusters": FAMILY.index,
    "cluster_names": FAMILY.names,
    "partitions": combine_partitions,
    "partitions compared": lambda v: non_dominated(v, M),
    "partitions on a map": embed_partitions,
    "partition": RelationalPartition,
}
TABLES_OF = {
    "two": np.eye(2),
    "three": np.full((3, 4), 0.25),
    "line": np.linspace(0.1, 0.9, 12),
    "few": np.ones(3),
}
NOT_FLAGS = [
    "no",
    "",
    b"x",
    2,
    -1,
    0.5,
    np.nan,
    1j,
    [],
    {},
    None,
    object(),
    DATES[0],
    pd.NA,
    np.array([1, 2]),
]
NOT_WORDS = [
    "magic",
    "",
    b"average",
    3,
    0.5,
    np.nan,
    [],
    ["average"],
    {},
    np.array(["average"]),
    None,
    object(),
    pd.NA,
]
NOT_REALS = [
    "x", b"x", np.nan, -np.inf, -1, 1j, [], [0.5], {}, object(), pd.NA, DATES[0], 10**400,
    fractions.Fraction(1, 3), decimal.Decimal("0.5"), datetime.date(2020, 1, 1), np.ma.masked,
]  # fmt: skip
NOT_OBJECTS = [True, 3, 0.5, 1j, b"x", object(), int, DATES[0], slice(None)]
NOT_COUNTS = [
    "x", b"x", 0.5, 2.0, np.nan, np.inf, -1, 1j, [], [3], {}, object(), pd.NA, DATES[0], True,
    np.array([1, 2]), -(2**70), decimal.Decimal(2),
]  # fmt: skip


INVALID = [
    *((which, call, NOT_FLAGS) for which, call in FLAGS.items()),
    *((which, call, NOT_WORDS) for which, call in CHOICES.items()),
    *((which, call, NOT_REALS) for which, call in REALS.items()),
    *((which, call, NOT_COUNTS) for which, call in COUNTS.items()),
    *((which, call, NOT_OBJECTS) for which, call in OTHERS.items()),
]


def assert_rejected(call, value):
    with limited(), pytest.raises((ValueError, TypeError, IndexError)) as caught:
        call(value)
    message = str(caught.value)
    assert "must" in message or "masked" in message, message
    return message


@pytest.mark.parametrize(
    ("which", "call", "values"), INVALID, ids=[one[0] for one in INVALID]
)
def test_invalid_arguments(which, call, values):
    for value in values:
        assert which.split(" ")[0] in assert_rejected(call, value)


@pytest.mark.parametrize("which", FLAGS)
def test_flags(which):
    for value in (True, np.False_, 0, 1):
        FLAGS[which](value)


@pytest.mark.parametrize("which", ARRAYS)
def test_invalid_arrays(which):
    for table in TABLES_OF.values():
        wrong = [
            masked(table),
            table.astype("M8[D]"),
            table.astype("m8[s]"),
            table.astype(complex),
        ]
        wrong += [
            np.full(table.shape, "word"),
            [[1.0, 2.0], [3.0]],
            [object()],
            Unreadable(),
            {"a": 1},
            "text",
        ]
        for value in wrong:
            assert_rejected(ARRAYS[which], value)


LABELS = {
    "labels": CredalPartition.from_hard,
    "y": lambda v: Constraints.from_labels(v, 1),
    "y of retention_curve": lambda v: retention_curve(M, v),
    "partition": lambda v: consistency_index(M, v),
}


@pytest.mark.parametrize("which", LABELS)
def test_labels(which):
    missing = [
        [0, 1, None],
        [0, 1, pd.NA],
        [0.0, 1.0, np.nan],
        [0.0, 1.0, np.inf],
        masked([0, 1, 1]),
    ]
    for value in [
        *missing,
        pd.Series([0, 1, None], dtype="Int64"),
        np.zeros((3, 2)),
        [[0], [1, 2], [3]],
        Unreadable(),
    ]:
        assert_rejected(LABELS[which], value)
    for value in (
        [0, 1, 1],
        ["a", "b", "b"],
        DATES,
        pd.Series(["a", "b", "b"], dtype="category"),
        np.array([1, 2, 2]),
    ):
        LABELS[which](value)


X = np.repeat([[0.0, 0.0], [6.0, 1.0]], 6, axis=0) + np.linspace(0, 1, 24).reshape(
    12, 2
)
CLUSTERED = CredalPartition.from_hard(np.repeat([0, 1], 6))
TABLES_READ = {
    "profile": lambda v: profile(CLUSTERED, v),
    "CautiousTree": lambda v: CautiousTree(2).fit(v, CLUSTERED),
    "explain_object": lambda v: explain_object(CLUSTERED, v, 0),
    "stability": lambda v: stability(
        ECM(2, n_init=1, random_state=0), v, 2, random_state=0
    ),
    "a block": lambda v: ECM(2, n_init=1, random_state=0).fit(lambda: iter([X, v])),
}


@pytest.mark.parametrize("which", TABLES_READ)
def test_invalid_tables(which):
    import dask.dataframe as dd
    import pyarrow as pa

    lazy = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    arrow = pa.array([1.0, 2.0])
    wrong = [Unreadable(), masked(X), [[1.0, 2.0], [3.0]], pd.Period("2020"), arrow]
    for value in wrong + [lazy] * (
        which != "a block"
    ):  # Blocks are computed one by one.
        with limited(), pytest.raises((ValueError, TypeError), match=r"\bX\b"):
            TABLES_READ[which](value)


def test_lazy_tables_name_the_method_to_call():
    lazy = pl.LazyFrame({"a": X[:, 0], "b": X[:, 1]})
    with pytest.raises(InvalidParameterError, match=r"X .* its collect\(\) method"):
        explain_object(CLUSTERED, lazy, 0)


VALUES = {
    "means": lambda v: GaussianParameters([1.0], v, [[[1.0]]], "EII"),
    "covariances": lambda v: GaussianParameters([1.0], [[0.0]], v, "EII"),
    "weights": lambda v: nearest_pairs(M, 1, weights=[v, v]),
    "reference": lambda v: dominates(M, M, v),
    "feature_names": lambda v: explain_object(
        CLUSTERED, X, 0, feature_names=[v] if isinstance(v, list) else v
    ),
    "clusters": lambda v: explain_object(CLUSTERED, X, 0, clusters=v),
    "attributes": lambda v: explain_object(CLUSTERED, X, 0, attributes=v),
    "contexts": lambda v: ContextualDiscounting(v).fit(M, [0, 1, 1]),
    "event": M.condition,
}


@pytest.mark.parametrize("which", VALUES)
def test_invalid_fields(which):
    for value in (0.5, 1j, b"x", object(), int, [[1.0, 2.0], [3.0]], Unreadable()):
        with limited(), pytest.raises((ValueError, TypeError), match=which):
            VALUES[which](value)


def test_invalid_rows():
    for rows in (
        None,
        [[0, 1]],
        np.zeros((2, 2), int),
        np.array(1),
        0.5,
        [0.5],
        "ab",
        [True],
        [9],
        masked([0, 1, 2]),
    ):
        with pytest.raises((IndexError, TypeError), match="rows"):
            M[rows]
    assert len(M[[]]) == 0
    assert len(M[(0, 2)]) == 2
    assert len(M[pd.Series([True, False, True])]) == 2


def test_huge_families():
    for build in (
        FocalSets.simple,
        FocalSets.pairs,
        lambda c: FocalSets.with_pairs(c, [(0, 1)]),
    ):
        for c in (200_000, 10**6, 2**31, 2**63, 10**400):
            with limited(2), pytest.raises(ValueError, match=r"cluster|sets"):
                build(c)


def test_index_of_pandas_labels():
    y = pd.Series([0, 0, 1, 1, 2], index=list("abcde"))
    partition = CredalPartition.from_hard(y)
    assert list(partition.index) == list("abcde")
    assert credal_rand_index(partition, y[::-1]) == 1
    assert credal_rand_index(partition, y.to_numpy()[::-1]) < 1
