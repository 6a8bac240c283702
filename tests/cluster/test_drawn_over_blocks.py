"""Methods that sample objects from all blocks: landmarks, mini-batches, belief peaks, starts."""

from itertools import pairwise

import joblib
import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import (
    BPEC,
    EVCLUS,
    NNEVCLUS,
    BeliefPeaks,
    BootClus,
    EKNNClus,
    Training,
)
from dempster.cluster import belief_peaks as peaks_module
from dempster.cluster.evclus import _network_targets as _targets
from dempster.data import rows as rows_module

da = pytest.importorskip("dask.array")

CENTERS = np.array([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]])
X, Y = make_blobs(3000, centers=CENTERS, cluster_std=1.3, random_state=0)
SORTED = X[np.argsort(Y, kind="stable")]  # a block shows one cluster
CUTS = [0, 1, 900, 1000, 2000, 2000, 3000]


def pieces(table):
    return [table[a:b] for a, b in pairwise(CUTS)]


def lazily(table):
    return da.from_array(table, chunks=(tuple(b - a for a, b in pairwise(CUTS)), -1))


@pytest.fixture
def few_drawn(monkeypatch):
    for module in (rows_module, peaks_module):
        monkeypatch.setattr(module, "SAMPLE_SIZE", 1500)


# ---- EVCLUS --------------------------------------------------------------------------------------


def test_same_landmarks_give_the_same_masses_as_in_memory():
    expected = EVCLUS(3, random_state=0).fit(X)
    assert expected.sampling_ == "landmarks"
    for data in (pieces(X), lazily(X)):
        model = EVCLUS(3, random_state=0).fit(data)
        np.testing.assert_array_equal(
            model.landmark_indices_, expected.landmark_indices_
        )
        np.testing.assert_array_equal(model.history_, expected.history_)
        assert (model.d0_, model.stress_) == (expected.d0_, expected.stress_)
        np.testing.assert_allclose(
            model.credal_partition_.compute().masses,
            expected.credal_partition_.masses,
            atol=1e-12,
        )


@pytest.mark.usefixtures("few_drawn")
def test_landmarks_do_not_depend_on_the_blocks():
    models = [
        EVCLUS(3, random_state=0).fit(data)
        for data in ([SORTED], pieces(SORTED), lazily(SORTED))
    ]
    first = models[0]
    share = np.bincount(first.landmark_indices_ // 1000) / len(first.landmark_indices_)
    np.testing.assert_allclose(share, 1 / 3, atol=0.06)
    for model in models[1:]:
        np.testing.assert_array_equal(model.landmark_indices_, first.landmark_indices_)
        np.testing.assert_allclose(
            model.credal_partition_.compute().masses,
            first.credal_partition_.compute().masses,
            atol=1e-12,
        )
    assert adjusted_rand_score(np.sort(Y), models[2].labels_.compute()) > 0.97


@pytest.mark.usefixtures("few_drawn")
def test_number_of_landmarks():
    model = EVCLUS(
        3,
        n_landmarks=1600,
        focal_sets="simple",
        d0=8.0,
        n_init=1,
        max_iter=3,
        random_state=0,
    )
    with pytest.warns(match="did not converge"):
        model.fit(pieces(X))
    assert len(model.landmark_indices_) == 1600
    with pytest.raises(ValueError, match="sampling must"):
        EVCLUS(3, sampling="random").fit(pieces(X))


# ---- NNEVCLUS ------------------------------------------------------------------------------------

SHORT = {"n_clusters": 3, "max_iter": 60, "network": 8, "random_state": 0}


def test_network_of_few_objects_equals_that_in_memory():
    expected = NNEVCLUS(**SHORT).fit(X)
    model = NNEVCLUS(**SHORT).fit(pieces(X))
    np.testing.assert_array_equal(model.history_, expected.history_)
    np.testing.assert_allclose(
        model.credal_partition_.compute().masses,
        expected.credal_partition_.masses,
        atol=1e-6,
    )


@pytest.mark.usefixtures("few_drawn")
def test_mini_batches_equal_those_in_memory(monkeypatch):
    """With the same weights and scale, the same objects are used in the same order."""
    # an epoch sees 512 of the 3,000 objects
    monkeypatch.setattr(_targets, "_MAX_STEPS_PER_EPOCH", 2)
    settings = {
        **SHORT,
        "init": "random",
        "d0": 8.0,
        "training": Training(batch_size=256),
    }
    read = []
    monkeypatch.setattr(_targets, "_MAX_CACHED_CELLS", 3000)  # in several passes
    monkeypatch.setattr(
        rows_module.BlockRows,
        "take",
        lambda self, rows, purpose: read.append(purpose) or self.source.take(rows),
    )
    models = [
        NNEVCLUS(**settings).fit(data)
        for data in (SORTED, pieces(SORTED), lazily(SORTED))
    ]
    assert read[0].startswith("the objects of epochs 1 to ")
    assert len(read) > 2
    for model in models[1:]:
        np.testing.assert_allclose(model.history_, models[0].history_, rtol=1e-4)


@pytest.mark.usefixtures("few_drawn")
def test_training_resumes_from_its_checkpoint(tmp_path):
    settings = {**SHORT, "checkpoint": tmp_path / "network"}
    expected = NNEVCLUS(**SHORT).fit(pieces(X))

    class Enough(Exception):
        pass

    broken = NNEVCLUS(**settings)
    broken._open_progress = lambda total, unit: _Breaks(Enough)
    with pytest.raises(Enough):
        broken.fit(pieces(X))
    model = NNEVCLUS(**settings).fit(pieces(X))
    np.testing.assert_array_equal(model.history_, expected.history_)
    assert adjusted_rand_score(Y, model.labels_.compute()) > 0.95
    with pytest.raises(ValueError, match="another model, other data"):
        NNEVCLUS(**settings).fit(pieces(X + 1))
    with pytest.raises(ValueError, match="solver 'mini-batch' or 'auto'"):
        NNEVCLUS(3, training=Training(solver="lbfgs")).fit(pieces(X))
    with pytest.raises(ValueError, match="y must"):
        NNEVCLUS(3).fit(pieces(X), np.zeros(3000))


class _Breaks:
    """Progress bar that raises an exception after three rounds."""

    def __init__(self, error):
        self.error = error
        self.rounds = 0

    def __enter__(self):
        return self

    def __exit__(self, *what):
        return False

    def __call__(self, note):
        self.rounds += 1
        if self.rounds == 3:
            raise self.error


# ---- belief peaks --------------------------------------------------------------------------------


@pytest.mark.usefixtures("few_drawn")
@pytest.mark.parametrize("kind", [pieces, lazily])
def test_belief_peaks_of_a_sample(kind):
    peaks = BeliefPeaks(3, random_state=0).fit(kind(SORTED))
    drawn = SORTED[peaks.sample_indices_]
    assert len(drawn) == 1500
    expected = BeliefPeaks(3).fit(drawn)
    np.testing.assert_array_equal(peaks.peak_indices_, expected.peak_indices_)
    np.testing.assert_array_equal(peaks.labels_.compute(), expected.predict(SORTED))
    np.testing.assert_array_equal(peaks.predict(SORTED), expected.predict(SORTED))
    np.testing.assert_array_equal(peaks.predict(kind(X)).compute(), expected.predict(X))
    model = BPEC(3, random_state=0).fit(kind(SORTED))
    np.testing.assert_array_equal(model.cluster_centers_, drawn[expected.peak_indices_])
    assert adjusted_rand_score(np.sort(Y), model.labels_.compute()) > 0.97


def test_peaks_fitted_in_memory_predict_blocks():
    peaks = BeliefPeaks(3).fit(X)
    np.testing.assert_array_equal(peaks.predict(lazily(X)).compute(), peaks.predict(X))


# ---- starts and samples on other workers ---------------------------------------------------------


def several_starts():
    """Return methods with independent starts or bootstrap samples."""
    return {
        "EKNNClus": lambda: EKNNClus(n_init=3, random_state=0).fit(X[:400]),
        "EVCLUS": lambda: EVCLUS(3, n_init=3, d0=8.0, random_state=0).fit(X[:400]),
        "BootClus": lambda: BootClus(
            3, n_bootstraps=12, mixture="EII", random_state=0
        ).fit(X[:200]),
    }


@pytest.mark.parametrize("name", several_starts())
def test_joblib_threads_give_the_same_result(name):
    """tests/data/test_dask_cluster.py tests processes."""
    fit = several_starts()[name]
    expected = fit().credal_partition_.masses
    with joblib.parallel_config(backend="threading", n_jobs=2):
        np.testing.assert_array_equal(fit().credal_partition_.masses, expected)
