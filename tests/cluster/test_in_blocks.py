"""Rows in blocks give the same results as rows in memory, with a lazy partition if there are many."""

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

from dempster.cluster import CCM, CECM, ECM, EGMM, EVCLUS, BootClus, EKNNClus
from dempster.data import rows as rows_module
from dempster.io import read_partition
from dempster.partition import CredalPartition, LazyCredalPartition

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

CENTERS = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 7.0]])
X, Y = make_blobs(900, centers=CENTERS, cluster_std=1.3, random_state=0)
X[7] = [40.0, 40.0]  # an outlier
FRAME = pd.DataFrame(X, columns=["a", "b"])
SWEPT = [ECM, CCM, EGMM]
START = CENTERS + 0.5
CUTS = {
    "one": [0, 900],
    "some": [0, 100, 450, 900],
    "single rows": [0, 1, 2, 3, 500, 500, 899, 900],
}


def blocks(cuts, table=X):
    return [table[a:b] for a, b in pairwise(CUTS[cuts])]


def lazy_array(cuts):
    return da.concatenate(
        [da.from_array(block, chunks=(max(len(block), 1), 1)) for block in blocks(cuts)]
    )


def fitted(method, data, **more):
    return method(3, random_state=0, **more).fit(data)


@pytest.fixture
def few_drawn(monkeypatch):
    """Compare starts on 200 objects, so that the other objects are used only in blocks."""
    monkeypatch.setattr(rows_module, "SAMPLE_SIZE", 200)


@pytest.mark.parametrize("focal_sets", ["auto", "simple", "selected"])
@pytest.mark.parametrize("method", SWEPT)
def test_blocks_give_the_same_result_as_memory(method, focal_sets):
    settings = {"init": START, "focal_sets": focal_sets}
    expected = fitted(method, X, **settings)
    for data in (blocks("single rows"), lazy_array("some")):
        model = fitted(method, data, **settings)
        np.testing.assert_allclose(
            model.cluster_centers_, expected.cluster_centers_, atol=1e-10
        )
        np.testing.assert_allclose(model.objective_, expected.objective_, rtol=1e-10)
        assert model.focal_sets_ == expected.focal_sets_
        found = model.credal_partition_.compute()
        np.testing.assert_allclose(
            found.masses, expected.credal_partition_.masses, atol=1e-8
        )
        np.testing.assert_array_equal(np.asarray(model.labels_), expected.labels_)
        if method is EGMM:
            np.testing.assert_allclose(
                model.log_likelihood_, expected.log_likelihood_, rtol=1e-10
            )
            np.testing.assert_allclose(model.ebic_, expected.ebic_, rtol=1e-10)


@pytest.mark.parametrize("method", SWEPT)
def test_few_objects_have_the_same_starts_as_in_memory(method):
    expected = fitted(method, X)
    model = fitted(method, blocks("some"))
    np.testing.assert_allclose(
        model.cluster_centers_, expected.cluster_centers_, atol=1e-10
    )
    np.testing.assert_array_equal(model.sample_indices_, np.arange(900))


@pytest.mark.usefixtures("few_drawn")
@pytest.mark.parametrize("method", SWEPT)
def test_starts_are_compared_on_a_sample(method):
    models = [
        fitted(method, kind(cuts), tol=1e-12)
        for cuts in CUTS
        for kind in (blocks, lazy_array)
    ]
    for model in models:
        np.testing.assert_array_equal(model.sample_indices_, models[0].sample_indices_)
        np.testing.assert_allclose(
            model.cluster_centers_, models[0].cluster_centers_, atol=1e-10
        )
    assert len(models[0].sample_indices_) == 200
    # all objects had a say: the end is a fixed point of iterations over all of them
    again = fitted(method, X, init=models[0].cluster_centers_, tol=1e-12)
    np.testing.assert_allclose(
        again.cluster_centers_, models[0].cluster_centers_, atol=1e-4
    )
    # read by this process, the same to the last bit however they come
    np.testing.assert_array_equal(
        models[0].cluster_centers_, models[2].cluster_centers_
    )
    same = fitted(method, lazy_array("some"), tol=1e-12)
    np.testing.assert_array_equal(same.cluster_centers_, models[3].cluster_centers_)


@pytest.mark.usefixtures("few_drawn")
def test_adaptive_metric():
    settings = {"metric": "adaptive", "init": START + 1e5, "tol": 1e-12}
    expected = fitted(ECM, X + 1e5, **settings)
    model = fitted(ECM, [b + 1e5 for b in blocks("some")], **settings)
    np.testing.assert_allclose(
        model.cluster_centers_, expected.cluster_centers_, atol=1e-7
    )
    np.testing.assert_allclose(
        model.metric_matrices_, expected.metric_matrices_, atol=1e-7
    )


@pytest.mark.usefixtures("few_drawn")
@pytest.mark.parametrize("method", [EVCLUS, EKNNClus, BootClus])
def test_other_methods_are_fitted_to_a_sample(method):
    more = {
        BootClus: {"n_clusters": 3, "n_bootstraps": 10, "mixture": "EII"},
        EVCLUS: {"n_clusters": 3},
        EKNNClus: {},
    }
    for kind in (blocks, lazy_array):
        model = method(random_state=0, **more[method]).fit(kind("some"))
        expected = method(random_state=0, **more[method]).fit(X[model.sample_indices_])
        np.testing.assert_allclose(
            model.credal_partition_.compute().masses,
            expected.predict_mass(X).masses,
            atol=1e-10,
        )
        assert len(model.labels_.compute()) == 900
    if method is EVCLUS:
        assert set(model.landmark_indices_) <= set(model.sample_indices_)


# ---- the lazy partition --------------------------------------------------------------------------


@pytest.fixture(params=["list", "dask", "unknown"])
def lazily(request):
    """Return a lazy partition and the same partition in memory."""
    model = fitted(ECM, X)
    kind = {
        "list": lambda: blocks("single rows"),
        "dask": lambda: lazy_array("single rows"),
        "unknown": lambda: dd.from_pandas(FRAME, npartitions=5).to_dask_array(),
    }[request.param]
    return model.predict_mass(kind()), model.predict_mass(X)


def test_summaries_equal_those_in_memory(lazily):
    lazy, memory = lazily
    assert isinstance(lazy, LazyCredalPartition)
    assert str(lazy.summary()) == str(memory.summary())
    assert lazy.summary().outliers == [7]
    assert lazy.nonspecificity_index() == pytest.approx(memory.nonspecificity_index())
    assert sum(lazy.counts().values()) == len(lazy) == 900
    assert lazy.counts()[()] == 1


@pytest.mark.parametrize(
    "name", ["masses", "labels", "labels_with_outliers", "best_set", "contour"]
)
def test_rows_equal_those_in_memory(lazily, name):
    lazy, memory = lazily
    found = getattr(lazy, name)
    np.testing.assert_allclose(np.asarray(found), getattr(memory, name), atol=1e-12)
    assert found.dtype == getattr(memory, name).dtype


def test_options_of_lazy_methods(lazily):
    lazy, memory = lazily
    np.testing.assert_allclose(np.asarray(lazy.pignistic()), memory.pignistic())
    rule = "interval_dominance"
    for k in range(3):
        np.testing.assert_array_equal(lazy.lower(k).compute(), memory.lower(k))
        np.testing.assert_array_equal(
            lazy.upper(k, rule).compute(), memory.upper(k, rule)
        )
    np.testing.assert_array_equal(np.asarray(lazy.ambiguous), memory.ambiguous)
    np.testing.assert_array_equal(np.asarray(lazy.outliers), memory.outliers)
    with pytest.raises(ValueError, match="cluster must"):
        lazy.lower(3)


def test_files_of_parts(lazily, tmp_path):
    pytest.importorskip("pyarrow")
    lazy, memory = lazily
    paths = lazy.to_parquet(tmp_path / "out" / "parts")
    parts = [read_partition(path) for path in paths]
    np.testing.assert_array_equal(
        np.concatenate([part.masses for part in parts]), memory.masses
    )
    names = [
        name
        for part in parts
        for name in (range(len(part)) if part.index is None else part.index)
    ]
    assert names == list(range(900))
    with pytest.raises(ValueError, match="new or empty"):
        lazy.to_parquet(tmp_path / "out")


def test_iteration_over_parts(lazily):
    lazy, memory = lazily
    parts = list(lazy.partitions())
    assert all(isinstance(part, CredalPartition) for part in parts)
    assert sum(map(len, parts)) == len(memory)


def test_dask_is_lazy():
    touched = []

    def touch(block):
        touched.append(len(block))
        return block

    data = da.map_blocks(
        touch, lazy_array("some").rechunk({1: 2}), dtype=float, meta=X[:0]
    )
    model = fitted(ECM, X)
    partition = model.predict_mass(data)
    assert partition.masses.shape == (900, len(model.focal_sets_))
    assert (
        partition.labels.ndim,
        partition.lower(0).ndim,
        partition.outliers.ndim,
    ) == (1, 1, 1)
    assert "dask" in type(model.predict(data)).__module__
    assert not touched
    partition.summary()
    assert sum(touched) == 900  # one pass


# ---- what a fit says and refuses -----------------------------------------------------------------


@pytest.mark.parametrize("method", [*SWEPT, EVCLUS])
def test_names_of_columns(method, tmp_path):
    pytest.importorskip("pyarrow")
    FRAME.to_parquet(tmp_path / "x.parquet")
    model = fitted(method, str(tmp_path / "x.parquet"))
    assert list(model.feature_names_in_) == ["a", "b"]
    np.testing.assert_allclose(
        model.predict_mass(FRAME).masses,
        np.asarray(model.credal_partition_.masses),
        atol=1e-12,
    )
    with pytest.raises(ValueError, match="feature names"):
        model.predict_mass([FRAME.rename(columns={"a": "z"})])
    pickle.loads(pickle.dumps(model)).predict(FRAME)


def test_dask_frames():
    model = fitted(ECM, dd.from_pandas(FRAME, npartitions=3))
    np.testing.assert_allclose(
        model.cluster_centers_, fitted(ECM, X).cluster_centers_, atol=1e-10
    )
    assert len(model.credal_partition_) == 900


def test_single_precision_is_kept():
    model = fitted(ECM, [block.astype("f4") for block in blocks("some")], init=START)
    assert model.cluster_centers_.dtype == np.float32
    assert model.credal_partition_.masses.dtype == np.float32
    np.testing.assert_allclose(
        model.cluster_centers_, fitted(ECM, X, init=START).cluster_centers_, atol=1e-4
    )


def test_number_of_clusters_is_selected_on_the_sample():
    assert (
        ECM("auto", random_state=0).fit(blocks("some")).n_clusters_
        == ECM("auto", random_state=0).fit(X).n_clusters_
    )


def test_progress_and_messages(capsys, caplog):
    with caplog.at_level("INFO", logger="dempster"):
        fitted(ECM, blocks("some"), init=START, verbose=1)
    assert "a pass over X begins" in caplog.text
    assert "passes over X" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (lambda: CECM(3).fit(lazy_array("some")), "X must"),
        (lambda: ECM(3).fit(iter(blocks("some"))), "X must"),
        (lambda: ECM(3, checkpoint="a").fit(X), "checkpoint must"),
        (
            lambda: ECM(3, checkpoint="a").fit(blocks("some")),
            "random_state must",
        ),
        (
            lambda: ECM(3, init=CredalPartition.from_hard(Y)).fit(blocks("some")),
            "init must",
        ),
        (lambda: EVCLUS(3, metric="precomputed").fit(blocks("some")), "X must"),
        (lambda: ECM(3).fit([X[:1], X[1:2]]), "n_samples=2 should be >= n_clusters=3"),
        (lambda: ECM(3).fit([X[:0]]), "X must"),
        (
            lambda: ECM(3).fit([np.full((9, 2), 4.0)]),
            "n_clusters=3 is more than the 1 different",
        ),
        (lambda: ECM(3).fit([X * 1e-90]), "differ by at least"),
        (
            lambda: ECM(3).fit([X, np.full((2, 2), np.nan)]),
            "row 0 of block 1 has nan in column 0",
        ),
        (lambda: fitted(ECM, X).predict_mass([X[:, :1]]), "1 features"),
        (lambda: fitted(ECM, X).predict_mass([X, X * np.inf]).compute(), "block 1"),
    ],
)
def test_unsupported_settings(act, words):
    with pytest.raises(ValueError, match=words):
        act()


def test_one_cluster_and_one_object():
    assert ECM(1, random_state=0).fit([X[:1]]).labels_.compute().tolist() == [0]
    assert EGMM(1, random_state=0).fit(blocks("some")).credal_partition_.counts() == {
        (0,): 900
    }


def test_failed_fit_does_not_change_the_model():
    model = fitted(ECM, X)
    before = model.cluster_centers_
    with pytest.raises(ValueError, match="finite"):
        model.fit([X, X * np.nan])
    assert model.cluster_centers_ is before


# ---- tables of masses ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["table", "batch", "dask", "parquet", "blocks"])
def test_partitions_have_a_table(kind, tmp_path):
    pa = pytest.importorskip("pyarrow")
    table = pa.Table.from_pandas(FRAME)
    FRAME.to_parquet(tmp_path / "x.parquet")
    data = {
        "table": table,
        "batch": table.to_batches()[0],
        "dask": dd.from_pandas(FRAME, npartitions=3),
        "parquet": tmp_path / "x.parquet",
        "blocks": blocks("some"),
    }[kind]
    partition = fitted(ECM, data, init=START).credal_partition_
    expected = fitted(ECM, X, init=START).credal_partition_
    pd.testing.assert_frame_equal(partition.to_frame(), expected.to_frame())
    pd.testing.assert_frame_equal(partition.to_frame(top=1), expected.to_frame(top=1))


def test_a_table_must_fit_into_memory(monkeypatch):
    partition = fitted(ECM, blocks("some")).credal_partition_
    n_sets = len(partition.focal_sets)
    monkeypatch.setattr("dempster._validation.MAX_BYTES", 8 * 900 * n_sets - 1)
    with pytest.raises(ValueError, match="to_parquet"):
        partition.to_frame()
