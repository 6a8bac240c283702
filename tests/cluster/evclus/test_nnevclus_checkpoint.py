"""Checkpoints of NN-EVCLUS."""

import io

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from dempster.cluster import NNEVCLUS, Training

torch = pytest.importorskip("torch")

from dempster.cluster.evclus import _network_training as _training  # noqa: E402

X = make_blobs(90, 2, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)[0]


def quick(**keywords):
    return NNEVCLUS(3, **{"max_iter": 60, "random_state": 0, **keywords})


def network_of_torch():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(2, 10),
        torch.nn.BatchNorm1d(10),
        torch.nn.ReLU(),
        torch.nn.Linear(10, 5),
    )


@pytest.mark.parametrize(
    "network", ["auto", pytest.param(network_of_torch, marks=pytest.mark.long)]
)
@pytest.mark.parametrize(
    "solver",
    [
        "lbfgs",
        *(
            pytest.param(name, marks=pytest.mark.long)
            for name in ("adaptive-steps", "mini-batch", "rmsprop")
        ),
    ],
)
def test_interrupted_fit_continues(solver, network, tmp_path, monkeypatch):
    if not isinstance(network, str):
        network = network()
    training = Training(solver, batch_size=32)
    settings = {
        "training": training,
        "n_init": 2,
        "init": "random",
        "tol": 0.0,
        "n_partners": 20,
        "network": network,
    }
    whole = quick(**settings).fit(X)
    path = tmp_path / "fit.checkpoint"
    write = _training.Checkpoint.save
    for stop_after in (1, 9):
        path.unlink(missing_ok=True)
        count = 0

        def save_then_stop(self, *arguments, stop_after=stop_after):
            nonlocal count
            write(self, *arguments)
            count += 1
            if count == stop_after:
                raise KeyboardInterrupt

        monkeypatch.setattr(_training.Checkpoint, "save", save_then_stop)
        with pytest.raises(KeyboardInterrupt):
            quick(checkpoint=path, **settings).fit(X)
        monkeypatch.setattr(_training.Checkpoint, "save", write)
        resumed = quick(checkpoint=path, **settings).fit(X)
        np.testing.assert_array_equal(
            resumed.credal_partition_.masses, whole.credal_partition_.masses
        )
        np.testing.assert_array_equal(resumed.history_, whole.history_)


def test_random_layers_continue(tmp_path, monkeypatch):
    linear = torch.nn.Linear(2, 10), torch.nn.Linear(10, 5)
    network = torch.nn.Sequential(linear[0], torch.nn.Dropout(0.3), linear[1])
    training = Training("mini-batch", batch_size=32)
    settings = {"training": training, "init": "random", "network": network}
    whole = quick(**settings).fit(X)
    path = tmp_path / "fit.checkpoint"
    write = _training.Checkpoint.save

    def save_then_stop(*arguments):
        write(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(_training.Checkpoint, "save", save_then_stop)
    with pytest.raises(KeyboardInterrupt):
        quick(checkpoint=path, **settings).fit(X)
    monkeypatch.setattr(_training.Checkpoint, "save", write)
    resumed = quick(checkpoint=path, **settings).fit(X)
    assert len(whole.history_) > 1
    np.testing.assert_array_equal(resumed.history_, whole.history_)


def test_finished_fit_is_not_repeated(tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    first = quick(checkpoint=path, n_init=2).fit(X)
    monkeypatch.setattr(
        _training.Checkpoint,
        "save",
        lambda *arguments: pytest.fail("trained again"),
    )
    again = quick(checkpoint=path, n_init=2).fit(X)
    np.testing.assert_array_equal(
        again.credal_partition_.masses, first.credal_partition_.masses
    )


def test_other_parameters_or_data(tmp_path):
    path = tmp_path / "fit.checkpoint"
    quick(checkpoint=path, init="random").fit(X)
    other = X.copy()
    other[57, 1] = np.nextafter(other[57, 1], 1)  # one bit
    for change, data in (
        ({"regularization": 0.5}, X),
        ({"random_state": 1}, X),
        ({"d0": 3.0}, X),
        ({"d0_quantile": 0.9}, X),
        ({"init": "evclus"}, X),
        ({"network": 7}, X),
        ({"training": Training(patience=3)}, X),
        ({}, X + 1),
        ({}, other),
    ):
        with pytest.raises(ValueError, match="belongs to another model"):
            quick(checkpoint=path, **{"init": "random", **change}).fit(data)


def test_initial_weights_of_torch_module(tmp_path):
    path = tmp_path / "fit.checkpoint"
    modules = [torch.nn.Linear(2, 5) for _ in range(2)]
    quick(checkpoint=path, network=modules[0], init="random").fit(X)
    quick(checkpoint=path, network=modules[0], init="random").fit(X)
    with pytest.raises(ValueError, match="belongs to another model"):
        quick(checkpoint=path, network=modules[1], init="random").fit(X)


def test_damaged_files(tmp_path):
    path = tmp_path / "fit.checkpoint"
    quick(checkpoint=path, init="random").fit(X)
    data = path.read_bytes()
    for broken in (data[:-10], data[:20], data[:200], b"something else entirely", b""):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match="checkpoint"):
            quick(checkpoint=path, init="random").fit(X)
    content = io.BytesIO(data)
    weights = torch.load(content)["states"][0]["progress"]["best"]["body.0.weight"]
    flipped = bytearray(data)
    flipped[data.index(weights.numpy().tobytes())] ^= 1
    path.write_bytes(bytes(flipped))
    with pytest.raises(ValueError, match="does not contain the state"):
        quick(checkpoint=path, init="random").fit(X)


@pytest.mark.parametrize("solver", ["lbfgs", "adaptive-steps"])
def test_other_contents(solver, tmp_path, monkeypatch):
    path = tmp_path / "fit.checkpoint"
    options = {"training": Training(solver), "init": "random", "checkpoint": path}
    write = _training.Checkpoint.save

    def save_then_stop(*arguments):
        write(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(_training.Checkpoint, "save", save_then_stop)
        with pytest.raises(KeyboardInterrupt):
            quick(**options).fit(X)
    content = torch.load(path, weights_only=True)
    progress = content["states"][0]["progress"]
    for name in progress:
        without = {other: progress[other] for other in progress if other != name}
        changed = [without]
        if not name.startswith("is_"):
            changed.append({**progress, name: "x"})
        for other in changed:
            content["states"][0]["progress"] = other
            torch.save(content, path)
            with pytest.raises(
                ValueError, match="checkpoint .* does not contain the state"
            ):
                quick(**options).fit(X)


def test_files_that_contain_code_are_refused(tmp_path):
    path = tmp_path / "fit.checkpoint"
    torch.save({"fingerprint": print, "states": {}}, path)
    with pytest.raises(ValueError, match="does not contain the state"):
        quick(checkpoint=path, init="random").fit(X)
