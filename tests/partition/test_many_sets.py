"""Partitions into many clusters, whose masses are stored as compressed rows."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs

from dempster import CredalPartition, FocalSets, MassFunctions, _arrays
from dempster._errors import InvalidInputError
from dempster.apps.recipe import reweight_sets
from dempster.cluster import CECM, ECM, EGMM, EVCLUS
from dempster.constraints import Constraints
from dempster.explain import doubt_scores
from dempster.io import partitions as partition_files
from dempster.io import read_partition, write_partition, write_top_masses
from dempster.partition import consistency_index
from dempster.persistence import load, save
from dempster.posterior.boundaries import count_boundaries, neighbor_family

C = 60
X, _ = make_blobs(1000, 4, centers=C, center_box=(-9, 9), random_state=0)
ECM_MODEL = ECM(C, n_init=1, random_state=0).fit(X)
PARTITION = ECM_MODEL.credal_partition_


def to_dense(partition):
    return CredalPartition.unchecked(partition.masses, partition.focal_sets)


def with_outliers(partition):
    """Move the whole mass of the first, the last and another object to the empty set."""
    rows = partition.masses.copy()
    rows[[0, 7, -1]] = np.eye(rows.shape[1])[partition.focal_sets.empty_index]
    return CredalPartition(sparse.coo_array(rows), partition.focal_sets)


OUTLYING = with_outliers(PARTITION)
DENSE = to_dense(PARTITION)
WIDER = PARTITION.focal_sets.union(FocalSets.from_sets(C, [(1, 2, 3)]))


def test_masses_are_stored_as_compressed_rows():
    assert sparse.issparse(PARTITION.stored_masses)
    assert isinstance(PARTITION.masses, np.ndarray)
    assert PARTITION.masses.shape == (len(X), len(PARTITION.focal_sets))
    assert PARTITION.dtype == DENSE.dtype
    assert PARTITION.stored_masses.nnz <= 16 * len(X)
    np.testing.assert_allclose(PARTITION.masses.sum(axis=1), 1, rtol=1e-9)


ROW_RESULTS = [
    lambda p: p.labels,
    lambda p: p.labels_with_outliers,
    lambda p: p.best_set,
    lambda p: p.best_mass,
    lambda p: p.ambiguous,
    lambda p: p.outliers,
    lambda p: p.empty,
    lambda p: p.contour,
    lambda p: p.singleton_belief,
    lambda p: p.pignistic(),
    lambda p: p.plausibility_transform(),
    lambda p: p.nonspecificity(),
    lambda p: p.nonspecificity_index(),
    lambda p: p.belief([(0,), (3, 5)]),
    lambda p: p.plausibility((2, 7), normalized=True),
    lambda p: p.mass([(0,), (1, 2, 3)]),
    lambda p: p.assignment("interval_dominance"),
    lambda p: p.lower(4),
    lambda p: p.upper(4),
    lambda p: p.is_normal,
    lambda p: p.is_vacuous,
    lambda p: p.is_bayesian,
    lambda p: p.is_certain,
    lambda p: p.is_consonant,
    lambda p: p.conflict(),
    lambda p: p.conflict(p[::-1]),
    lambda p: p.conflict(p[3]),
    lambda p: p.distance(p[::-1]),
    lambda p: p.distance(p[3]),
    lambda p: p.decide(),
    lambda p: p.decide("maximin", reject=0.5),
    lambda p: p.decide("interval_dominance"),
    lambda p: p.expected_losses("hurwicz"),
    lambda p: p[:9].decide_sets(),
    lambda p: p[:9].decide("maximality"),
    lambda p: p.relational([(0, 1), (5, 8)]).masses,
    lambda p: p[:20].relational().to_dense(),
    lambda p: p.relational().totals(),
    lambda p: consistency_index(p, p[::-1]),
    lambda p: doubt_scores(p),
    lambda p: reweight_sets(p, outlier_weight=3, ambiguity_weight=0.5).best_set,
    lambda p: p.discount(0.5).mass([(0,), (3, 5), range(C)]),
    lambda p: p.discount(np.linspace(0, 1, len(p))).contour,
    lambda p: p.normalize("yager").mass([(), (3,), range(C)]),
    lambda p: normalize(p).mass([(), (3,), range(C)]),
    lambda p: p.to_family(WIDER).contour,
    lambda p: p.to_frame(top=3).to_numpy(),
    lambda p: p.coarsen({0: range(40), 1: range(40, C)}).contour,
    lambda p: p[[5, 3]].labels,
    lambda p: p[p.labels == 3].best_mass,
    lambda p: CredalPartition(MassFunctions(p)).labels,
    lambda p: copy.deepcopy(p).labels,
    lambda p: pickle.loads(pickle.dumps(p)).labels,
    lambda p: str(p.summary()),
    lambda p: repr(p),
]  # fmt: skip


def normalize(partition):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return partition.normalize()


@pytest.fixture
def no_dense_masses(monkeypatch):
    """Raise an error if the masses of more than half of the objects on all sets are computed."""
    convert = sparse.csr_array.toarray

    def toarray(rows):
        assert np.prod(rows.shape) <= len(X) * len(PARTITION.focal_sets) / 2
        return convert(rows)

    monkeypatch.setattr(sparse.csr_array, "toarray", toarray)
    monkeypatch.setattr(_arrays, "_BLOCK_CELLS", 100 * len(PARTITION.focal_sets))


@pytest.mark.parametrize("partition", [PARTITION, OUTLYING], ids=["fit", "outlying"])
@pytest.mark.parametrize("result", ROW_RESULTS)
def test_results_are_those_of_dense_masses(result, partition, request):
    expected = result(to_dense(partition))
    request.getfixturevalue("no_dense_masses")
    check_equal(result(partition), expected)


def check_equal(found, expected):
    if isinstance(expected, str):
        assert found == expected
    elif np.asarray(expected).dtype.kind == "f":
        np.testing.assert_allclose(found, expected, atol=1e-12)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "result",
    [
        lambda p: p.masses,
        lambda p: p.to_frame().to_numpy(),
        lambda p: p[:20].combine(p[20:40], rule="conjunctive").masses,
        lambda p: p[:20].condition((1, 2), normalized=False).masses,
    ],
)
def test_results_that_need_all_sets(result):
    check_equal(result(OUTLYING), result(to_dense(OUTLYING)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows * 2, r"row \d+ sums to 2"),
        (lambda rows: -rows, "not be negative"),
        (lambda rows: rows[:, 1:], "one column per focal set"),
        (lambda rows: rows * np.nan, "finite"),
    ],
)
def test_invalid_sparse_masses(change, message):
    with pytest.raises(ValueError, match=message):
        CredalPartition(change(PARTITION.stored_masses), PARTITION.focal_sets)


@pytest.mark.parametrize("name", ["p.parquet", "p.csv", "p.tsv"])
def test_files(name, tmp_path, no_dense_masses, monkeypatch):
    monkeypatch.setattr(partition_files, "_ROWS_PER_BLOCK", 150)
    frame = [f"topic {k}" for k in range(C)]
    index = [f"text {i}" for i in range(len(X))]
    partition = CredalPartition(OUTLYING, index=index, frame=frame)
    write_partition(partition, tmp_path / name)
    again = read_partition(tmp_path / name)
    assert list(again.index) == index
    assert list(again.frame) == frame
    difference = again.stored_masses - partition.stored_masses
    assert abs(difference).max() == 0


def test_largest_masses_of_a_table():
    table = PARTITION.to_frame(top=2)
    assert list(table) == ["set 1", "mass 1", "set 2", "mass 2"]
    masses = PARTITION.masses
    np.testing.assert_array_equal(table["mass 1"], masses.max(axis=1))
    names = np.array(PARTITION.focal_sets.names())
    np.testing.assert_array_equal(table["set 1"], names[masses.argmax(axis=1)])
    assert (table["mass 2"] <= table["mass 1"]).all()


@pytest.mark.parametrize("beta", [1.1, 1.5, 2.0])
def test_masses_are_close_to_the_formula_of_all_sets(beta):
    """The masses of few sets are those of ECM, divided by their sum."""
    model = ECM(C, beta=beta, n_init=1, random_state=0).fit(X)
    step = model._model.step
    exact = step.masses(model._model.squared_distances(X), np.empty(0), map_blocks)[1]
    found = model.credal_partition_.masses
    kept = found > 0
    scale = (exact * kept).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found[kept], (exact / scale)[kept], rtol=1e-6)
    labels = CredalPartition(exact, model.focal_sets_).labels
    assert (labels == model.labels_).mean() > 0.98


def map_blocks(function, arguments):
    return [function(*a) for a in arguments]


@pytest.mark.parametrize("method", [EGMM, EVCLUS])
def test_other_methods(method):
    model = method(C, n_init=1, random_state=0).fit(X)
    partition = model.credal_partition_
    assert sparse.issparse(partition.stored_masses)
    assert (np.count_nonzero(partition.masses, axis=1) <= 3).all()
    np.testing.assert_array_equal(
        partition.labels, CredalPartition(partition).contour.argmax(axis=1)
    )
    again = model.predict_mass(X[:50])
    assert sparse.issparse(again.stored_masses)
    np.testing.assert_allclose(again.masses, partition[:50].masses, atol=1e-6)


def test_constraints_with_many_clusters():
    model = CECM(C, n_init=1, max_iter=5, random_state=0)
    partition = model.fit(
        X, constraints=Constraints([(0, 1)], [(0, 2)])
    ).credal_partition_
    np.testing.assert_allclose(partition.masses.sum(axis=1), 1, rtol=1e-9)


def test_predictions_and_files(tmp_path):
    new = ECM_MODEL.predict_mass(X[:7])
    assert sparse.issparse(new.stored_masses)
    np.testing.assert_allclose(new.masses, PARTITION[:7].masses, atol=1e-12)
    save(ECM_MODEL, tmp_path / "model.dempster")
    again = load(tmp_path / "model.dempster")
    assert sparse.issparse(again.credal_partition_.stored_masses)
    np.testing.assert_array_equal(again.credal_partition_.masses, PARTITION.masses)
    write_top_masses(PARTITION, tmp_path / "top.parquet", 16)
    np.testing.assert_array_equal(
        read_partition(tmp_path / "top.parquet").labels, PARTITION.labels
    )


def test_too_large_masses_of_all_sets():
    n = 10_000_000_000 // len(PARTITION.focal_sets)
    rows = sparse.csr_array(
        (np.ones(n, np.float32), np.ones(n, np.int32), np.arange(n + 1)),
        shape=(n, len(PARTITION.focal_sets)),
    )
    large = CredalPartition.unchecked(rows, PARTITION.focal_sets)
    assert (large.labels == 0).all()
    with pytest.raises(InvalidInputError, match="fewer objects"):
        large.masses  # noqa: B018
    assert large[:2].masses.shape == (2, len(PARTITION.focal_sets))


def test_blocks_of_rows(no_dense_masses, tmp_path):
    model = ECM(C, n_init=1, random_state=0).fit(lambda: iter(np.array_split(X, 3)))
    lazy = model.credal_partition_
    partition = lazy.compute()
    assert sparse.issparse(partition.stored_masses)
    np.testing.assert_array_equal(lazy.labels.compute(), partition.labels)
    np.testing.assert_array_equal(lazy.outliers.compute(), partition.outliers)
    assert str(lazy.summary()) == str(partition.summary())
    [path] = lazy.to_parquet(tmp_path / "parts")
    difference = read_partition(path).stored_masses - partition.stored_masses
    assert abs(difference).max() == 0


def test_family_of_many_clusters():
    costs = np.random.default_rng(0).random((2000, 150))
    family = neighbor_family(count_boundaries(costs))
    assert len(family) <= 1 + 150 + 8 * 150
