"""Tensors of torch as X: the same results as with NumPy, on the device of X."""

import os
import subprocess
import sys

import numpy as np
import pytest

from dempster import MassFunctions
from dempster._arrays import is_followed
from dempster.cluster import CCM, ECM, EGMM, EVCLUS, NNEVCLUS, RECM
from dempster.constraints import Constraints
from dempster.partition import credal_rand_index
from dempster.persistence import load, save

torch = pytest.importorskip("torch")

DEVICES = ["cpu"] + ["cuda"] * torch.cuda.is_available()
LANDMARKS = {"sampling": "landmarks", "n_landmarks": 100}
METHODS = {
    "ecm": (ECM, {}),
    "ecm selected": (ECM, {"focal_sets": "selected", "n_init": 2}),
    "ecm adaptive": (ECM, {"metric": "adaptive", "n_init": 2}),
    "ccm": (CCM, {"focal_sets": "pairs", "delta": 4.0}),
    "egmm": (EGMM, {}),
    "egmm own": (EGMM, {"covariance": "own", "reg_covar": 1e-3}),
    "egmm t": (EGMM, {"distribution": "t"}),
    "egmm t own": (
        EGMM,
        {"distribution": "t", "covariance": "own", "reg_covar": 1e-3},
    ),
    "egmm selected": (EGMM, {"focal_sets": "selected", "n_init": 2, "tol": 1e-4}),
    "evclus": (EVCLUS, {**LANDMARKS, "n_init": 1}),
    "evclus simple": (EVCLUS, {**LANDMARKS, "focal_sets": "simple", "n_init": 1}),
    "evclus all": (EVCLUS, {"sampling": "all", "n_init": 1}),
    "nnevclus": (NNEVCLUS, {"max_iter": 20, "network": 5}),
}


@pytest.fixture(params=DEVICES)
def device(request):
    return request.param


@pytest.fixture(autouse=True)
def followed(monkeypatch):
    """Act as with ``array_api_dispatch``, which needs an environment variable before SciPy is imported."""
    for module in ("cluster._base", "_arrays"):
        monkeypatch.setattr(
            f"dempster.{module}.is_followed", lambda X: isinstance(X, torch.Tensor)
        )


def groups(dtype=np.float64, n=300, p=3):
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(4 * k, 1, (n, p)) for k in range(4)]).astype(
        dtype
    )


def on_host(values):
    assert isinstance(values, torch.Tensor)
    return values.cpu().numpy()


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.filterwarnings("ignore:.*did not converge")
def test_fit_to_a_tensor_equals_that_to_an_array(name, weighted, device, monkeypatch):
    # so that all objects are gone over
    monkeypatch.setattr("dempster.data.sampling.SAMPLE_SIZE", 300)
    kind, options = METHODS[name]
    X = groups(n=60 if name == "evclus all" else 150)
    more = {}
    if weighted:
        if kind is NNEVCLUS:
            pytest.skip("it takes no weights")
        more = {
            "sample_weight": np.random.default_rng(1)
            .integers(0, 4, len(X))
            .astype(float)
        }
    here = kind(4, random_state=0, **options).fit(X, **more)
    T = torch.tensor(X, device=device)
    there = kind(4, random_state=0, **options).fit(
        T, **{k: torch.tensor(v, device=device) for k, v in more.items()}
    )
    for attribute, value in vars(here).items():
        if isinstance(value, np.ndarray):
            found = getattr(there, attribute)
            assert found.device == T.device
            np.testing.assert_allclose(
                on_host(found), value, rtol=1e-8, atol=1e-8, err_msg=attribute
            )
    np.testing.assert_allclose(
        on_host(there.credal_partition_.masses),
        here.credal_partition_.masses,
        atol=1e-6,
    )
    new = np.concatenate([X[:10], np.random.default_rng(2).uniform(-9, 20, (50, 3))])
    found = there.predict_mass(torch.tensor(new, device=device))
    assert found.masses.device == found.labels.device == T.device
    np.testing.assert_allclose(
        on_host(found.masses), here.predict_mass(new).masses, atol=1e-6
    )
    assert np.array_equal(on_host(there.predict(T)), here.predict(X))
    np.testing.assert_allclose(
        on_host(there.transform(T)), here.transform(X), atol=1e-6
    )
    np.testing.assert_allclose(
        on_host(there.predict_proba(T)), here.predict_proba(X), atol=1e-6
    )
    # a model knows no place: arrays are predicted as arrays
    np.testing.assert_allclose(
        there.predict_mass(new).masses, here.predict_mass(new).masses, atol=1e-6
    )


@pytest.mark.parametrize("kind", [ECM, CCM, EGMM, EVCLUS])
def test_rows_are_not_copied_to_the_host(kind, device, monkeypatch):
    """Only samples, moments and positions are copied to the host."""
    monkeypatch.setattr("dempster.data.sampling.SAMPLE_SIZE", 500)
    # more cells than 50,000 pairs have
    X = torch.tensor(groups(np.float32, n=15_000), device=device)
    to_numpy = torch.Tensor.numpy
    largest = []

    def watched(self, *arguments, **keywords):
        largest.append(self.numel() if self.ndim > 1 else 0)
        return to_numpy(self, *arguments, **keywords)

    monkeypatch.setattr(torch.Tensor, "numpy", watched)
    model = kind(
        4, random_state=0, n_init=1, **(LANDMARKS if kind is EVCLUS else {})
    ).fit(X)
    model.predict(X)
    assert max(largest) < X.numel()
    assert model.credal_partition_.masses.dtype == torch.float32


def test_blocks_are_copied_to_the_device(monkeypatch):
    """Passes over blocks run on the device "cpu:0", which torch always has."""
    monkeypatch.setattr("dempster.data.sampling.SAMPLE_SIZE", 500)
    monkeypatch.setattr("dempster.data.rows.SAMPLE_SIZE", 500)
    X = groups()
    for kind in (ECM, CCM, EGMM):
        options = {"n_init": 2, "random_state": 0}
        here, there = (
            kind(4, device=where, **options).fit([X[:700], X[700:]])
            for where in ("cpu", "cpu:0")
        )
        np.testing.assert_allclose(
            there.cluster_centers_, here.cluster_centers_, rtol=1e-9, atol=1e-9
        )
        np.testing.assert_allclose(there.history_, here.history_, rtol=1e-9)
        masses = (m.credal_partition_.compute().masses for m in (there, here))
        np.testing.assert_allclose(*masses, atol=1e-7)


def test_partial_fit(device):
    X = groups()
    for kind in (ECM, CCM, EGMM):
        here = kind(4, random_state=0, n_init=2)
        there = kind(4, random_state=0, n_init=2)
        for part in (X[::2], X[1::2]):
            here.partial_fit(part)
            there.partial_fit(torch.tensor(part, device=device))
        np.testing.assert_allclose(
            on_host(there.cluster_centers_), here.cluster_centers_, rtol=1e-9, atol=1e-9
        )
        assert there.labels_.device.type == torch.device(device).type


def test_constraints_and_initial_partitions(device):
    X = groups()
    links = Constraints(must_link=[(0, 1)], cannot_link=[(0, 700), (5, 1100)])
    T = torch.tensor(X, device=device)
    here, there = (
        EVCLUS(4, random_state=0, n_init=1, **LANDMARKS).fit(x, constraints=links)
        for x in (X, T)
    )
    np.testing.assert_allclose(
        on_host(there.credal_partition_.masses),
        here.credal_partition_.masses,
        atol=1e-6,
    )
    for kind in (ECM, EGMM, EVCLUS):
        if kind is EVCLUS:
            more = LANDMARKS
        else:
            more = {}
        models = (
            kind(4, init=fit.credal_partition_, random_state=0, **more).fit(x)
            for fit, x in ((here, X), (there, T))
        )
        wanted, found = (model.credal_partition_.masses for model in models)
        np.testing.assert_allclose(on_host(found), wanted, atol=1e-6)


def test_files_and_comparisons(tmp_path, device):
    X = torch.tensor(groups(), device=device)
    model = ECM(4, random_state=0, n_init=1).fit(X)
    save(model, tmp_path / "model.dempster")
    again = load(tmp_path / "model.dempster")
    assert isinstance(again.cluster_centers_, np.ndarray)
    np.testing.assert_allclose(
        again.predict_mass(X).masses.cpu(),
        model.credal_partition_.masses.cpu(),
        atol=1e-12,
    )
    both = model.credal_partition_, again.credal_partition_
    assert credal_rand_index(*both) == credal_rand_index(both[1], both[1])


def test_unsupported_settings():
    X = torch.tensor(groups())
    with pytest.raises(ValueError, match=r"\bX\b"):
        ECM(2).fit(
            torch.where(torch.arange(X.numel()).reshape(X.shape) == 5, torch.nan, X)
        )
    with pytest.raises(ValueError, match="must be a tensor"):
        ECM(2).fit(X[:, 0])
    with pytest.raises(ValueError, match="at least 1 row"):
        ECM(2).fit(X[:0])
    with pytest.raises(ValueError, match="X must"):
        EVCLUS(2).fit(X.to(torch.complex64))
    with pytest.raises(ValueError, match=r"\bX\b"):
        ECM(2, n_init=1).fit(X).predict(X[:, :2])
    with pytest.raises(ValueError, match="X must"):
        ECM(2).fit(X * 1e80)
    elsewhere = torch.empty((20, 2), device="meta")  # stands for a GPU
    for model in (RECM(2), EVCLUS(2, metric="cityblock"), ECM(2, missing="partial")):
        with pytest.raises(ValueError, match=r"X must .*tensor on meta.*X\.cpu"):
            model.fit(elsewhere)


def test_methods_without_device_support():
    X = groups(n=20)
    for kind in (RECM, ECM):
        if kind is ECM:
            options = {"missing": "partial"}
        else:
            options = {}
        found = kind(4, random_state=0, n_init=1, **options).fit(torch.tensor(X))
        assert isinstance(found.labels_, np.ndarray)
        assert np.array_equal(
            found.labels_, kind(4, random_state=0, n_init=1, **options).fit(X).labels_
        )


def test_tensor_in_memory_without_dispatch(monkeypatch):
    monkeypatch.setattr("dempster.cluster._base.is_followed", is_followed)
    X = groups(n=50)
    found = ECM(4, random_state=0, n_init=1).fit(torch.tensor(X))
    assert isinstance(found.credal_partition_.masses, np.ndarray)
    assert np.array_equal(
        found.labels_, ECM(4, random_state=0, n_init=1).fit(X).labels_
    )
    assert is_followed(torch.empty(1, device="meta"))
    assert not is_followed(X)
    assert isinstance(MassFunctions(found.credal_partition_), MassFunctions)


CHECKS = """
import warnings
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_array_api_input
from dempster.cluster import CCM, ECM, EGMM, EVCLUS, NNEVCLUS
warnings.simplefilter("ignore")
few = {"n_init": 1, "max_iter": 20}
models = [ECM(**few), CCM(**few), EGMM(**few), EVCLUS(**few), EVCLUS(sampling="landmarks", n_landmarks=10, **few)]
for model in [*models, NNEVCLUS(network=5, max_iter=20)]:
    assert get_tags(model).array_api_support
    check_array_api_input(
        type(model).__name__, model, array_namespace="torch", device_name="cpu", dtype_name="float64",
        check_values=not isinstance(model, EGMM), check_sample_weight=not isinstance(model, EVCLUS),
    )
assert not get_tags(ECM(missing="partial")).array_api_support
assert not get_tags(EVCLUS(metric="cityblock")).array_api_support
print("passed")
"""


@pytest.mark.long
def test_array_api_check_of_scikit_learn():
    """The check runs in another process, because SciPy reads the variable when it is imported.

    The data of the check have an almost singular covariance, so the densities of EGMM agree to ten
    digits instead of fourteen.
    """
    pytest.importorskip("sklearn", minversion="1.9")
    done = subprocess.run(
        [sys.executable, "-c", CHECKS],
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == "passed", done.stderr
