"""Sample weights and missing values of rows in blocks."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dempster.cluster import CCM, ECM, EGMM, EVCLUS
from dempster.data import rows as rows_module

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

CENTERS = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 7.0]])
X, Y = make_blobs(900, centers=CENTERS, cluster_std=1.3, random_state=0)
WEIGHTS = np.random.default_rng(1).integers(0, 4, 900).astype(float)
CUTS = [0, 1, 1, 100, 450, 899, 900]
HOLES = X.copy()
HOLES[np.random.default_rng(2).random(X.shape) < 0.15] = np.nan
HOLES = HOLES[~np.isnan(HOLES).all(axis=1)]


def pieces(table):
    return [table[a:b] for a, b in pairwise(CUTS) if a < len(table)]


def lazily(table):
    chunks = [len(part) for part in pieces(table)]
    return da.from_array(
        table, chunks=(tuple(chunks), *((-1,) if table.ndim == 2 else ()))
    )


def fitted(method, data, weights=None, **more):
    return method(3, random_state=0, **more).fit(data, sample_weight=weights)


@pytest.fixture
def few_drawn(monkeypatch):
    monkeypatch.setattr(rows_module, "SAMPLE_SIZE", 200)


FORMS = {
    "arrays": (pieces(X), WEIGHTS),
    "other blocks": (pieces(X), [WEIGHTS[:333], WEIGHTS[333:]]),
    "function": (pieces(X), lambda: iter(pieces(WEIGHTS))),
    "dask": (lazily(X), lazily(WEIGHTS)),
    "dask, other chunks": (lazily(X), da.from_array(WEIGHTS, chunks=70)),
    "dask and memory": (lazily(X), WEIGHTS),
    "unknown chunks": (
        dd.from_array(X, columns=["a", "b"], chunksize=300).to_dask_array(),
        dd.from_array(WEIGHTS, chunksize=300),
    ),
}


@pytest.mark.parametrize("method", [ECM, CCM, EGMM])
def test_weights_in_blocks_equal_those_in_memory(method):
    expected = fitted(method, X, WEIGHTS, init=CENTERS + 0.5)
    for name, (data, weights) in FORMS.items():
        model = fitted(method, data, weights, init=CENTERS + 0.5)
        np.testing.assert_allclose(
            model.cluster_centers_, expected.cluster_centers_, atol=1e-10, err_msg=name
        )
        np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-10)
        assert len(model.labels_.compute()) == 900


@pytest.mark.usefixtures("few_drawn")
@pytest.mark.parametrize("method", [ECM, EGMM])
def test_weights_equal_repetitions(method):
    """Integer weights and repeated rows give the same result for every sample."""
    repeated = np.repeat(X, WEIGHTS.astype(int), axis=0)
    once = fitted(method, pieces(X), WEIGHTS, init=CENTERS, tol=1e-13)
    often = fitted(method, np.array_split(repeated, 4), init=CENTERS, tol=1e-13)
    np.testing.assert_allclose(once.cluster_centers_, often.cluster_centers_, atol=1e-6)
    assert once.objective_ == pytest.approx(often.objective_, rel=1e-9)


@pytest.mark.usefixtures("few_drawn")
def test_sample_is_proportional_to_the_weights():
    weights = np.where(np.arange(900) < 300, 1.0, 0.0)
    weights[5] = 50.0
    for data in (pieces(X), lazily(X)):
        model = fitted(ECM, data, weights, n_init=2)
        assert model.sample_indices_.max() < 300  # none of those that count for nothing
        assert 5 in model.sample_indices_
    a = fitted(ECM, pieces(X), weights, n_init=2)
    b = fitted(ECM, [X], weights, n_init=2)
    np.testing.assert_array_equal(a.cluster_centers_, b.cluster_centers_)


def test_single_precision_and_exact_weights():
    model = fitted(ECM, pieces(X.astype("f4")), WEIGHTS, init=CENTERS)
    assert model.cluster_centers_.dtype == np.float32
    assert fitted(
        ECM, X.astype("f4"), WEIGHTS, init=CENTERS
    ).objective_ == pytest.approx(model.objective_, rel=1e-5)


def test_weights_of_evclus():
    model = fitted(EVCLUS, pieces(X), WEIGHTS)
    expected = fitted(EVCLUS, X, WEIGHTS)
    np.testing.assert_array_equal(model.landmark_indices_, expected.landmark_indices_)
    np.testing.assert_allclose(
        model.credal_partition_.compute().masses,
        expected.predict_mass(X).masses,
        atol=1e-10,
    )


@pytest.mark.parametrize(
    ("data", "weights", "words"),
    [
        (pieces(X), WEIGHTS[:-1], "sample_weight must .* 899"),
        (pieces(X), np.ones(901), "sample_weight must .* 900"),
        (pieces(X), np.zeros(900), "sample_weight must be nonzero"),
        (pieces(X), np.where(np.arange(900) == 7, -1.0, 1.0), "got -1.0"),
        (pieces(X), np.full(900, np.nan), "got nan"),
        (pieces(X), iter([WEIGHTS]), "sample_weight must"),
        (pieces(X), lazily(WEIGHTS), "sample_weight must"),
        (lazily(X), WEIGHTS[:5], "sample_weight must .* 900"),
        (lazily(X), da.ones(5), "sample_weight must .* 900"),
        (
            dd.from_array(X, chunksize=300),
            dd.from_array(WEIGHTS, chunksize=100),
            "sample_weight must .* 3 blocks",
        ),
    ],
)
def test_invalid_weights(data, weights, words):
    with pytest.raises(ValueError, match=words):
        fitted(ECM, data, weights)


# ---- missing values ------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [ECM, CCM])
def test_missing_values_in_blocks_equal_those_in_memory(method):
    settings = {"missing": "partial", "init": CENTERS + 0.5}
    for weights in (None, WEIGHTS[: len(HOLES)]):
        expected = fitted(method, HOLES, weights, **settings)
        for data in (pieces(HOLES), lazily(HOLES)):
            model = fitted(method, data, weights, **settings)
            np.testing.assert_allclose(
                model.cluster_centers_, expected.cluster_centers_, atol=1e-8
            )
            np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-8)
            found = model.credal_partition_.compute()
            np.testing.assert_allclose(
                found.masses, expected.credal_partition_.masses, atol=1e-7
            )


@pytest.mark.usefixtures("few_drawn")
def test_starts_with_missing_values():
    models = [fitted(ECM, kind(HOLES), missing="partial") for kind in (pieces, lazily)]
    np.testing.assert_allclose(
        models[0].cluster_centers_, models[1].cluster_centers_, atol=1e-8
    )
    assert np.isfinite(models[0].cluster_centers_).all()


def test_missing_values_of_evclus():
    model = fitted(EVCLUS, pieces(HOLES), missing="partial")
    assert len(model.labels_.compute()) == len(HOLES)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([X, np.full((2, 2), np.nan)], "row 0 of block 1 of X"),
        ([X, [[np.inf, 1.0]]], "row 0 of block 1 has inf"),
        ([np.column_stack([X, np.full(900, np.nan)])], "column 2"),
    ],
)
def test_rows_without_values(data, words):
    with pytest.raises(ValueError, match=words):
        fitted(ECM, [np.asarray(block) for block in data], missing="partial")
