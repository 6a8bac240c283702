"""Doubt and evaluation for sparse matrices of features and for X in blocks."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.preprocessing import normalize

from dempster import doubt, evaluate
from dempster._errors import InvalidParameterError
from dempster.io import read_partition
from dempster.labels import LabeledPartition, LazyLabeledPartition
from dempster.partition import LazyCredalPartition
from dempster.persistence import load, save
from tests.labels.test_doubt import groups
from tests.labels.test_noise import draw_case

NAMES = np.array(["oak", "elm", "ash", "fir", "yew", "box", "bay", "fig"], object)


@pytest.fixture(scope="module")
def case():
    X, _, codes = draw_case(3)
    labels = NAMES[codes]
    labels[codes < 0] = None
    return X, labels


@pytest.fixture(scope="module")
def in_memory(case):
    return doubt(*case, random_state=0)


# ---- blocks --------------------------------------------------------------------------------------


def as_list(X, folder):
    return [X[:100], X[100:101], X[101:]]


def as_function(X, folder):
    return lambda: iter(np.array_split(X, 3))


def as_table(X):
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])


def as_file(X, folder):
    pytest.importorskip("pyarrow")
    path = folder / "x.parquet"
    as_table(X).to_parquet(path)
    return path


def as_dask(X, folder):
    return pytest.importorskip("dask.array").from_array(X, chunks=(250, X.shape[1]))


FORMS = [as_list, as_function, as_file, as_dask]


@pytest.mark.parametrize("form", FORMS)
def test_blocks_give_the_partition_of_a_table(case, in_memory, tmp_path, form):
    X, labels = case
    lazy = doubt(form(X, tmp_path), labels, random_state=0)
    assert isinstance(lazy, LazyLabeledPartition)
    assert isinstance(lazy, LazyCredalPartition)
    assert lazy.frame == in_memory.frame
    np.testing.assert_allclose(lazy.compute().masses, in_memory.masses, atol=1e-12)
    assert lazy.compute().frame == in_memory.frame
    for name in in_memory.frame:
        assert name in str(lazy.summary())
    new = X[:9] + 0.1
    expected = in_memory.predict_mass(new).masses
    if form is as_file:
        new = as_table(new)
    np.testing.assert_allclose(lazy.predict_mass(new).masses, expected, atol=1e-12)
    predicted = lazy.predict_mass([new[:4], new[4:]])
    assert isinstance(predicted, LazyLabeledPartition)
    np.testing.assert_allclose(predicted.compute().masses, expected, atol=1e-12)


def test_blocks_give_the_evaluation_of_a_table(case):
    X, labels = case
    expected = evaluate(X, labels, random_state=0)
    assert str(evaluate(as_list(X, None), labels, random_state=0)) == str(expected)


def test_rows_of_blocks_are_drawn():
    """Of more than 4,000 rows, some determine the estimate, and all get masses."""
    X, y = groups(7, n=2000, apart=6.0)
    lazy = doubt(as_list(X, None), y, random_state=0)
    assert 3900 < len(lazy.model.posterior.references) <= 4000
    in_memory = doubt(X, y, random_state=0)
    difference = lazy.compute().pignistic() - in_memory.pignistic()
    assert np.abs(difference).mean() < 1e-3
    found = evaluate(as_list(X, None), y, random_state=0)
    assert found.expected_agreement > 0.9
    assert [one.size for one in found.clusters] == [2000] * 3
    assert all(one.certain > 0.95 for one in found.clusters)


def test_blocks_are_written_with_the_names_of_the_clusters(case, in_memory, tmp_path):
    X, labels = case
    lazy = doubt(as_list(X, None), labels, random_state=0)
    [path] = lazy.to_parquet(tmp_path / "masses")
    found = read_partition(path)
    assert found.frame == in_memory.frame
    np.testing.assert_allclose(found.masses, in_memory.masses, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"labels": [0, 1]}, "labels must contain one label for each of the 623 rows"),
        ({"metric": "precomputed"}, "X must be in memory, not in blocks"),
        ({"metric": "gower"}, "X must be in memory, not in blocks"),
    ],
)
def test_errors_of_blocks(case, change, text):
    X, labels = case
    arguments = {"labels": labels, **change}
    with pytest.raises(InvalidParameterError, match=text):
        doubt(as_list(X, None), **arguments)


# ---- sparse matrices -----------------------------------------------------------------------------


def documents(seed, n=300, n_words=1500):
    """Return weighted counts of words in documents of three topics, and the topics."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(3), n // 3)
    topics = rng.dirichlet(np.full(n_words, 0.02), 3)
    common = rng.dirichlet(np.full(n_words, 0.1))
    words = np.array([rng.multinomial(80, 0.4 * topics[k] + 0.6 * common) for k in y])
    weighted = np.log1p(words) * np.log(n / (1 + (words > 0).sum(axis=0)).clip(1, n))
    return sparse.csr_matrix(normalize(weighted)), y


def test_sparse_features():
    X, y = documents(5)
    labels = np.where(np.arange(len(y)) % 50 == 7, (y + 1) % 3, y)
    partition = doubt(X, labels, random_state=0)
    assert np.mean(partition.labels == y) > 0.95
    P = partition.pignistic()[np.arange(len(y)), labels]
    assert P[labels != y].max() < np.quantile(P[labels == y], 0.1)
    again = partition.predict_mass(X[:20])
    np.testing.assert_allclose(again.masses, partition.masses[:20], atol=1e-9)
    assert evaluate(X, y, random_state=0).expected_agreement > 0.5


def test_models_of_sparse_features_are_saved(tmp_path):
    X, y = documents(6)
    partition = doubt(sparse.csr_array(X), y, random_state=0)
    save(partition, tmp_path / "p.dempster")
    for other in (load(tmp_path / "p.dempster"), pickle.loads(pickle.dumps(partition))):
        assert isinstance(other, LabeledPartition)
        found = other.predict_mass(X[:5].toarray())
        np.testing.assert_allclose(found.masses, partition.masses[:5], atol=1e-9)


def test_few_sparse_features_are_kept(case):
    """The singular vectors only rotate X if they are as many as the columns.

    The folds, with which the probabilities vary, depend on the order of the coordinates.
    """
    X, labels = case
    partition = doubt(sparse.csr_matrix(X), labels, random_state=0)
    dense = doubt(X, labels, random_state=0)
    assert np.mean(partition.labels == dense.labels) > 0.99
    assert np.abs(partition.pignistic() - dense.pignistic()).mean() < 0.05


@pytest.mark.parametrize(
    ("X", "metric", "text"),
    [
        (sparse.eye(30), "cityblock", 'metric must be "euclidean" if X is a sparse'),
        (sparse.eye(30), "precomputed", "got a sparse matrix of 30 rows"),
        (sparse.csr_matrix((30, 4)) * np.nan, "euclidean", "labels must"),
    ],
)
def test_errors_of_sparse_features(X, metric, text):
    labels = np.repeat([0, 1], 15 if metric != "euclidean" else 9)
    with pytest.raises(InvalidParameterError, match=text):
        doubt(X, labels, metric=metric)


def test_new_sparse_rows_have_the_same_width():
    X, y = documents(8, n=90)
    partition = doubt(X, y, random_state=0)
    with pytest.raises(InvalidParameterError, match="X must have 1500 features"):
        partition.predict_mass(X[:, :9])
