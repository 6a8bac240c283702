"""Torch networks in NN-EVCLUS."""

import copy
import pickle
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import NNEVCLUS, Training
from dempster.constraints import Constraints
from dempster.datasets import make_fourclass

SOLVERS = ["lbfgs", "adaptive-steps", "mini-batch"]
with_solvers = pytest.mark.parametrize(
    "solver",
    [SOLVERS[0], *(pytest.param(s, marks=pytest.mark.long) for s in SOLVERS[1:])],
)


def quick(c=2, *, solver="auto", **keywords):
    settings = {
        "training": Training(solver, batch_size=32),
        "max_iter": 60,
        "random_state": 0,
    }
    return NNEVCLUS(c, **{**settings, **keywords})


@pytest.fixture(scope="module")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(90, 2, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)


def layers(torch, *sizes, dtype=None):
    torch.manual_seed(0)
    parts = [
        part
        for a, b in pairwise(sizes)
        for part in (torch.nn.Linear(a, b), torch.nn.ReLU())
    ]
    return torch.nn.Sequential(*parts[:-1]).to(dtype or torch.float32)


def test_images(torch):
    """Train a convolutional network on images of vertical and horizontal bars."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 80)
    images = rng.normal(0, 0.1, (80, 1, 8, 8)).astype(np.float32)
    for i, k in enumerate(kind):
        images[(i, 0, slice(None), 3) if k else (i, 0, 3, slice(None))] += 1
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(36, 4),
    )
    before = copy.deepcopy(module.state_dict())
    model = quick(2, network=module).fit(images)
    assert adjusted_rand_score(kind, model.labels_) == pytest.approx(1.0)
    assert model.predict_mass(images[:3]).masses.shape == (3, 4)
    for key, value in before.items():
        assert torch.equal(module.state_dict()[key], value)  # The module is copied.
    with pytest.raises(ValueError, match=r"\bnetwork\b"):
        quick(
            2, network=torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3))
        ).fit(images)


@with_solvers
def test_labels_constraints_and_penalties(torch, blobs, solver):
    X, y = blobs
    partial = np.full(len(y), -1)
    partial[:20] = y[:20]
    known = Constraints.from_labels(y, 20, random_state=0)
    for network in (20, layers(torch, 2, 20, 5)):
        model = quick(
            3, network=network, regularization=1e-3, xi=0.5, solver=solver
        ).fit(X, partial, constraints=known)
        assert (model.labels_ == y).mean() > 0.95
        np.testing.assert_allclose(
            model.predict_mass(X).masses, model.credal_partition_.masses, atol=1e-6
        )


def test_other_device(torch):
    """The model is in main memory, and its results do not depend on the device."""
    X, _ = make_blobs(1200, 2, centers=3, random_state=0)
    settings = {"solver": "mini-batch", "max_iter": 50}
    model, other = (
        quick(3, device=device, **settings).fit(X) for device in ("cpu", "cpu:0")
    )
    np.testing.assert_array_equal(other.history_, model.history_)
    for again in (other, pickle.loads(pickle.dumps(other))):
        assert all(p.device.type == "cpu" for p in again.network_.parameters())
        partition = again.credal_partition_
        assert isinstance(partition.masses, np.ndarray)
        masses = again.set_params(device="cpu").predict_mass(X).masses
        np.testing.assert_allclose(masses, partition.masses, atol=1e-6)
        with pytest.raises(ValueError, match="device='cuda:7' is not available"):
            again.set_params(device="cuda:7").predict_mass(X)


def test_threads_and_random_numbers_are_restored(torch, blobs):
    n_threads = torch.get_num_threads()
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    quick(3, init="random").fit(blobs[0])
    assert torch.rand(1) == expected
    assert torch.get_num_threads() == n_threads


@with_solvers
def test_outlier_detector(torch, solver):
    X, _ = make_fourclass(200, random_state=0)
    network = layers(torch, 2, 20, 6)
    model = quick(
        4,
        network=network,
        outlier_detector="one-class-svm",
        solver=solver,
        max_iter=200,
    ).fit(X)
    assert (
        model.predict_mass(np.array([[30.0, 30], [-25, 40], [60, -60]])).empty.min()
        > 0.9
    )
    assert (
        model.predict_mass(np.array([[0.0, 0], [4, 4], [0, 4], [4, 0]])).empty.max()
        < 0.3
    )


def test_module_has_the_loss_of_layer_sizes(torch, blobs):
    pairs = {"focal_sets": "pairs", "init": "random", "max_iter": 400}
    ours = quick(3, network=20, n_init=3, **pairs).fit(blobs[0])
    double = layers(torch, 2, 20, 8, dtype=torch.float64)
    theirs = quick(3, network=double, **pairs).fit(blobs[0])
    assert theirs.loss_ == pytest.approx(ours.loss_, rel=0.15)


@with_solvers
def test_same_seed(torch, blobs, solver):
    network = torch.nn.Sequential(
        layers(torch, 2, 20), torch.nn.BatchNorm1d(20), torch.nn.Dropout(0.1)
    )
    network.append(torch.nn.Linear(20, 5))
    a, b = (
        quick(3, network=network, solver=solver).fit(blobs[0]).credal_partition_.masses
        for _ in range(2)
    )
    np.testing.assert_array_equal(a, b)


def test_frozen_parameters(torch, blobs):
    network = layers(torch, 2, 20, 5)
    for parameter in network[0].parameters():
        parameter.requires_grad_(False)
    model = quick(3, network=network, max_iter=100, regularization=0.1).fit(blobs[0])
    assert torch.equal(model.network_.body[0].weight, network[0].weight)
    assert not torch.equal(model.network_.body[2].weight, network[2].weight)
    network.requires_grad_(False)
    with pytest.raises(ValueError, match="network must have weights that are trained"):
        quick(3, network=network).fit(blobs[0])


def test_nan_loss(torch, blobs):
    module = torch.nn.Linear(2, 5)
    with torch.no_grad():
        module.weight.fill_(float("nan"))
    for solver in SOLVERS:
        with pytest.raises(ValueError, match="NaN or infinite"):
            quick(3, network=module, solver=solver, init="random").fit(blobs[0])


@pytest.mark.parametrize("device", ["cuda:7", "nonsense"])
def test_invalid_device(torch, blobs, device):
    with pytest.raises(ValueError, match=f"device='{device}' is not available"):
        quick(3, device=device).fit(blobs[0])


def test_without_torch(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('torch is not installed')")
    program = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
from dempster.cluster import NNEVCLUS, Training
from dempster.datasets import load_iris
try:
    NNEVCLUS(3, training=Training("lbfgs"), random_state=0).fit(load_iris().data)
except ImportError as error:
    print(error)
"""
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout
    assert output == "NNEVCLUS needs torch: pip install 'dempster[nn]'\n"
