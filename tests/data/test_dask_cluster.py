import contextlib
import os
import warnings
from pathlib import Path

import cloudpickle
import joblib
import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dempster.cluster import ECM, EGMM, EVCLUS, BootClus, EKNNClus
from dempster.data import rows as rows_module
from dempster.data.in_process import open_blocks

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
distributed = pytest.importorskip("distributed")

CENTERS = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 7.0]])
X, _ = make_blobs(4000, centers=CENTERS, cluster_std=1.3, random_state=0)
SETTINGS = {
    "n_clusters": 3,
    "init": CENTERS + 0.5,
    "max_iter": 6,
    "tol": 0,
    "random_state": 0,
}

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def client():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # another cluster may use the default port
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None
        )
        with distributed.Client(cluster) as client:
            yield client
        # closing fails if the notice of a killed worker arrives twice
        with contextlib.suppress(KeyError):
            cluster.close()


def lazily(table=X, rows=400):
    return da.from_array(table, chunks=(rows, -1))


class UnpickleCounter:
    """Shared data that count in which process they are unpickled."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return _count_unpickling, (self.folder,)


def _count_unpickling(folder):
    with open(Path(folder) / f"{os.getpid()}", "ab") as file:
        file.write(b".")
    return UnpickleCounter(folder)


def _sum(block, shared, apply):
    return block.sum(axis=0)


def test_shared_data_are_sent_to_a_worker_once(client, tmp_path):
    blocks = open_blocks(lazily(rows=200))  # 20 tasks
    np.testing.assert_allclose(
        blocks.reduce(_sum, UnpickleCounter(tmp_path), None), X.sum(axis=0)
    )
    notes = {int(file.name): len(file.read_bytes()) for file in tmp_path.iterdir()}
    workers = client.run(os.getpid).values()
    assert sum(notes.get(pid, 0) for pid in workers) <= 2 * len(workers)


def test_model_is_in_the_graph_once(client):
    many = np.tile(X, (1, 200))  # centers and landmarks of 400 attributes
    model = EVCLUS(3, n_init=1, max_iter=5, random_state=0).fit(many[:1500])
    size = len(cloudpickle.dumps(model._model))
    graph = dict(
        dask.optimize(
            model.predict_mass(da.zeros((10_000, 400), chunks=(100, 400))).labels
        )[0].dask
    )
    parts = sorted(len(cloudpickle.dumps(node)) for node in graph.values())
    assert parts[-1] > 0.5 * size  # the model itself
    assert sum(parts[:-1]) < size  # 100 tasks that refer to it


@pytest.mark.parametrize(
    "fit",
    [
        lambda: EKNNClus(n_init=3, random_state=0).fit(X[:300]),
        lambda: EVCLUS(3, n_init=3, d0=8.0, random_state=0).fit(X[:300]),
        lambda: BootClus(3, n_bootstraps=16, mixture="EII", random_state=0).fit(
            X[:200]
        ),
    ],
    ids=["EKNNClus", "EVCLUS", "BootClus"],
)
def test_starts_and_bootstraps_use_joblib(client, fit):
    """Sums of EVCLUS may be rounded differently if an array is aligned differently."""
    expected = fit().credal_partition_.masses
    with joblib.parallel_config(backend="dask", n_jobs=2):
        np.testing.assert_allclose(
            fit().credal_partition_.masses, expected, rtol=1e-10, atol=1e-14
        )


@pytest.mark.long
def test_empty_unknown_and_single_rows(client, monkeypatch):
    monkeypatch.setattr(rows_module, "SAMPLE_SIZE", 300)
    expected = EGMM(**SETTINGS).fit([X])
    cuts = da.from_array(X, chunks=((0, 1, 0, 1, 1998, 2000, 0), -1))
    # of unknown sizes
    unknown = cuts[da.from_array(np.ones(4000, dtype=bool), chunks=(cuts.chunks[0],))]
    assert np.isnan(unknown.shape[0])
    for data in (cuts, unknown):
        model = EGMM(**SETTINGS).fit(data)
        np.testing.assert_allclose(model.means_, expected.means_, atol=1e-10)
        assert len(model.labels_.compute()) == 4000


@pytest.mark.long
def test_missing_values_integers_and_categories(client):
    holes = X.copy()
    holes[3210, 1] = np.nan
    with pytest.raises(ValueError, match="row 10 of block 8 .* column 1"):
        ECM(**SETTINGS).fit(lazily(holes))
    whole = np.rint(X * 10).astype(np.int32)
    model = ECM(**{**SETTINGS, "init": CENTERS * 10}).fit(lazily(whole))
    np.testing.assert_allclose(
        model.cluster_centers_,
        ECM(**{**SETTINGS, "init": CENTERS * 10}).fit(whole).cluster_centers_,
        atol=1e-9,
    )
    import pandas as pd

    table = pd.DataFrame(
        {
            "a": X[:, 0],
            "kind": pd.Categorical(np.where(np.arange(4000) < 2000, "x", "y")),
        }
    )
    parts = [table[:2000].assign(kind=pd.Categorical(["x"] * 2000)), table[2000:]]
    for frame in (
        dd.from_pandas(table, npartitions=4),
        dd.concat([dd.from_pandas(p, npartitions=1) for p in parts]),
    ):
        with pytest.raises(ValueError, match="column kind of block 0"):
            ECM(**SETTINGS).fit(frame)


def test_more_than_two_billion_rows():
    model = ECM(**SETTINGS).fit(X)
    n = 2**31 + 5
    partition = model.predict_mass(da.zeros((n, 2), chunks=(2**26, 2)))
    assert partition.masses.shape == (n, len(model.focal_sets_))
    assert partition.masses.size > 2**33
    assert (partition.labels.dtype, partition.ambiguous.dtype) == (np.int64, np.int64)
    assert partition.n_objects == n
    assert "2,147,483,653 objects" in repr(partition)
    last = partition.labels.blocks[-1]
    assert last.compute().shape == (5,)


# ---- workers that die: these tests are the last ones, because new workers have to import everything


def _die_once(block, folder, calls, block_info=None):
    """Return the block; exit the process at the n-th call for the fourth block."""
    if block_info[0]["chunk-location"][0] == 3:
        done = Path(folder) / "done"
        if done.exists():
            count = len(done.read_bytes())
        else:
            count = 0
        with open(done, "ab") as file:
            file.write(b".")
        if count == calls:
            os._exit(1)
    return block


@pytest.mark.long
def test_killed_worker_does_not_change_the_result(client, tmp_path):
    expected = ECM(**SETTINGS).fit(lazily())
    before = set(client.scheduler_info()["workers"])
    mortal = da.map_blocks(
        _die_once, lazily(), str(tmp_path), 4, dtype=float, meta=X[:0]
    )
    model = ECM(**SETTINGS).fit(mortal)
    assert len((tmp_path / "done").read_bytes()) > 4  # the block was computed again
    assert set(client.scheduler_info()["workers"]) != before
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(model.history_, expected.history_)
    np.testing.assert_array_equal(
        model.credal_partition_.masses.compute(),
        expected.credal_partition_.masses.compute(),
    )


def test_worker_without_memory_raises_memory_error(client):
    """A block that kills every worker acts as one that is larger than their memory."""
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}):
        client.run_on_scheduler(_forbid_retries)
        data = da.map_blocks(_kill, lazily(), dtype=float, meta=X[:0])
        with pytest.raises(MemoryError, match="blocks"):
            ECM(**SETTINGS).fit(data)
        client.wait_for_workers(2)


def _forbid_retries(dask_scheduler):
    dask_scheduler.allowed_failures = 0


def _kill(block):
    os._exit(1)
