"""Fits on a device equal those on the CPU. The device "cpu:0" uses torch, "cpu" does not."""

import numpy as np
import pytest

from dempster.cluster import CCM, ECM, EGMM, EVCLUS
from dempster.data.device import order_on_device
from dempster.data.sampling import order_along_line
from dempster.persistence import load, save

torch = pytest.importorskip("torch")

DEVICES = ["cpu:0"] + ["cuda"] * torch.cuda.is_available()


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


def groups(dtype=np.float64, n=400, p=3):
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(4 * k, 1, (n, p)) for k in range(4)]).astype(
        dtype
    )


METHODS = {
    "ecm": (ECM, {}),
    "ecm full, beta 2": (ECM, {"focal_sets": "full", "beta": 2.0, "delta": 5.0}),
    "ecm pairs, beta 3": (ECM, {"focal_sets": "pairs", "beta": 3.0}),
    "ecm adaptive": (ECM, {"metric": "adaptive", "n_init": 2}),
    "ccm": (CCM, {}),
    "ccm pairs": (CCM, {"focal_sets": "pairs", "delta": 4.0}),
    "egmm": (EGMM, {}),
    "egmm own": (EGMM, {"covariance": "own", "reg_covar": 1e-3}),
    "egmm t": (EGMM, {"distribution": "t"}),
    "egmm t own": (
        EGMM,
        {"distribution": "t", "covariance": "own", "reg_covar": 1e-3},
    ),
    "egmm pairs": (EGMM, {"focal_sets": "pairs", "tol": 1e-4}),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("weighted", [False, True])
def test_fit_on_a_device_equals_that_on_the_cpu(name, weighted, device, monkeypatch):
    # so that all objects are gone over
    monkeypatch.setattr("dempster.data.sampling.SAMPLE_SIZE", 500)
    kind, options = METHODS[name]
    X = groups()
    if weighted:
        weights = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    else:
        weights = None
    here, there = (
        kind(4, random_state=0, device=where, **options).fit(X, sample_weight=weights)
        for where in ("cpu", device)
    )
    np.testing.assert_allclose(
        there.cluster_centers_, here.cluster_centers_, rtol=1e-9, atol=1e-9
    )
    np.testing.assert_allclose(there.history_, here.history_, rtol=1e-9)
    np.testing.assert_allclose(
        there.credal_partition_.masses, here.credal_partition_.masses, atol=1e-7
    )
    new = np.concatenate(
        [
            X[:10],
            np.random.default_rng(2).uniform(-9, 20, (50, 3)),
            here.cluster_centers_,
        ]
    )
    np.testing.assert_allclose(
        there.predict_mass(new).masses, here.predict_mass(new).masses, atol=1e-6
    )


@pytest.mark.parametrize("kind", [ECM, CCM, EGMM, EVCLUS])
def test_single_precision_is_kept(kind, device):
    X = groups(np.float32)
    here, there = (
        kind(4, random_state=0, device=where).fit(X) for where in ("cpu", device)
    )
    assert there.credal_partition_.masses.dtype == np.float32
    np.testing.assert_allclose(
        there.credal_partition_.masses, here.credal_partition_.masses, atol=2e-3
    )
    assert np.array_equal(there.labels_, here.labels_)


def test_object_equal_to_a_prototype(device):
    X = np.array([[0.0], [0.0], [1.0], [9.0], [10.0], [10.0]])
    fits = [
        ECM(2, init=[[0.0], [10.0]], beta=2.0, max_iter=3, tol=1, device=where).fit(X)
        for where in ("cpu", device)
    ]
    for model in fits:
        model._model.centers[:] = [[0.0], [10.0]]
    new = np.array([[0.0], [10.0], [5.0]])
    assert np.array_equal(*(model.predict_mass(new).masses for model in fits))


def test_order_of_the_objects(device):
    rng = np.random.default_rng(0)
    plain = rng.normal(size=(300, 4))
    lacking = np.where(rng.random((300, 4)) < 0.1, np.nan, plain)
    for X in (
        plain,
        plain[rng.integers(0, 50, 300)],
        plain.astype(np.float32),
        lacking,
        np.zeros((5, 2)),
    ):
        order, repeated = (
            found.cpu().numpy()
            for found in order_on_device(torch.tensor(X, device=device))
        )
        assert np.array_equal(order, order_along_line(X))
        rows = np.where(np.isnan(X), np.inf, X)[order]
        assert np.array_equal(repeated[1:], (rows[1:] == rows[:-1]).all(axis=1))
        assert not repeated[0]


@pytest.mark.parametrize("kind", [ECM, CCM, EGMM])
def test_unsupported_settings(kind):
    with pytest.raises(ValueError, match="device='cuda:77' is not available"):
        kind(2, device="cuda:77").fit(groups())
    with pytest.raises(ValueError, match="device must"):
        kind(2, device=3).fit(groups())
    if kind is not EGMM:
        with pytest.raises(ValueError, match="missing must.*device='cpu:0'"):
            kind(2, device="cpu:0", missing="partial").fit(groups())


def test_blocks_and_files(tmp_path, device):
    X = groups()
    model = ECM(4, random_state=0, device=device).fit([X[:700], X[700:]])
    alone = ECM(4, random_state=0).fit([X[:700], X[700:]])
    found, wanted = (m.credal_partition_.compute().masses for m in (model, alone))
    np.testing.assert_allclose(found, wanted, atol=1e-7)
    save(ECM(4, random_state=0, device=device).fit(X), tmp_path / "model.dempster")
    again = load(tmp_path / "model.dempster")
    assert again.device == device
    np.testing.assert_allclose(
        again.predict_mass(X).masses, again.credal_partition_.masses, atol=1e-12
    )
