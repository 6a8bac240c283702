import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score

torch = pytest.importorskip("torch")

from evidentia import FocalSets  # noqa: E402
from evidentia.cluster import NNEVCLUS, BeliefPeaks  # noqa: E402
from evidentia.cluster.evclus._conflict_problems import link_form  # noqa: E402
from evidentia.cluster.evclus.network import losses as losses  # noqa: E402
from evidentia.cluster.evclus.network.model import MassNetwork, weight_penalty  # noqa: E402
from evidentia.cluster.evclus.network.training import Progress, train_adaptive_steps  # noqa: E402
from evidentia.constraints import Constraints  # noqa: E402
from evidentia.datasets import make_fourclass  # noqa: E402

LOSS_CASES = [
    "nn1_loss_all",
    "nn1_loss_constraints",
    "nn1_loss_fhat_lambda",
    "nn1_loss_labelled",
    "nn1_loss_plain",
    "nn2_loss_all",
    "nn2_loss_fhat_labelled",
    "nn2_loss_plain",
]


def tensor(values, dtype=torch.float64):
    return torch.as_tensor(np.asarray(values), dtype=dtype)


def network_of(matrices, empty, beta=None):
    """A network with given weight matrices, biases in their first columns."""
    layers = []
    for k, weights in enumerate(matrices):
        layer = torch.nn.Linear(weights.shape[1] - 1, weights.shape[0], dtype=torch.float64)
        with torch.no_grad():
            layer.bias.copy_(tensor(weights[:, 0]))
            layer.weight.copy_(tensor(weights[:, 1:]))
        layers.append(layer)
        if k < len(matrices) - 1:
            layers.append(torch.nn.ReLU())
    network = MassNetwork(torch.nn.Sequential(*layers), empty, detector=beta is not None)
    if beta is not None:
        with torch.no_grad():
            network.coefficients.copy_(tensor(beta))
    return network


def with_bias(layer):
    return np.column_stack([layer.bias.grad.numpy(), layer.weight.grad.numpy()])


@pytest.mark.parametrize("name", LOSS_CASES)
def test_loss_and_gradient_agree_with_the_reference(reference, name):
    case = reference(name)
    p = case.parameters
    family = FocalSets(case["F"])
    names = [k for k in ("U", "V", "W") if k in case]
    h = tensor(case["fhat"]) if p["fhat"] else None
    network = network_of([case[k] for k in names], family.empty_index, case["beta"] if p["fhat"] else None)
    m = network(tensor(case["x"]), h)
    case.assert_equal("mass", m.detach().numpy())
    n, k = case["J"].shape
    i, j = tensor(np.repeat(np.arange(n), k), torch.long), tensor(case["J"].ravel(), torch.long)
    nu = p["nu"]
    value = (1 - nu) * losses.pairs_loss(m, i, j, tensor(case["Dnorm"].ravel()), tensor(family.conflict.copy()))
    value = value + p["lambda"] * weight_penalty(network.body)
    if nu:
        labelled, labels = tensor(case["labelled"], torch.long), tensor(case["labels"], torch.long)
        # the reference also divides by the number of clusters
        value = value + nu * losses.labels_loss(m[labelled], tensor(family.membership), labels) / family.n_clusters
    if p["xi"]:
        must, cannot = tensor(case["ML"], torch.long), tensor(case["CL"], torch.long)
        value = value + p["xi"] * losses.links_loss(m, must, cannot, tensor(link_form(family)))
    value.backward()
    np.testing.assert_allclose(float(value), case["loss"], rtol=1e-6, atol=1e-9)
    layers = [layer for layer in network.body if isinstance(layer, torch.nn.Linear)]
    for key, layer in zip(names, layers, strict=True):
        np.testing.assert_allclose(with_bias(layer), case[f"grad_{key}"], rtol=1e-6, atol=1e-8, err_msg=key)
    if p["fhat"]:
        np.testing.assert_allclose(network.coefficients.grad.numpy(), case["grad_beta"], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", ["nn1_predict", "nn2_predict"])
def test_forward_pass_agrees_with_the_reference(reference, name):
    case = reference(name)
    matrices = [case[k] for k in ("U", "V", "W") if k in case]
    empty = FocalSets(case["F"]).empty_index
    x, h = tensor(case["x"]), tensor(case["fhat"])
    with torch.no_grad():
        case.assert_equal("mass", network_of(matrices, empty)(x).numpy())
        case.assert_equal("mass_fhat", network_of(matrices, empty, case["beta"])(x, h).numpy())


def test_adaptive_steps_follow_the_reference(reference):
    case = reference("nn1_train_fourclass")
    family = FocalSets(case["F"])
    network = network_of([case["V0"], case["W0"]], family.empty_index)
    n, k = case["J"].shape
    i, j = tensor(np.repeat(np.arange(n), k), torch.long), tensor(case["J"].ravel(), torch.long)
    x, delta, conflict = tensor(case["x"]), tensor(case["Dnorm"].ravel()), tensor(family.conflict.copy())
    progress = Progress(network)
    train_adaptive_steps(
        progress,
        lambda: losses.pairs_loss(network(x), i, j, delta, conflict),
        None,
        max_iter=40,
        tol=0.0,
        save=lambda p: None,
        patience=10,
    )
    theirs = np.minimum.accumulate(case["loss_trace"])  # rises are rejected
    np.testing.assert_allclose(progress.history[:25], theirs[:25], rtol=1e-6)
    assert np.all(np.diff(progress.history) <= 0)


def test_the_two_outlier_conventions():
    h = tensor([-5.0, -2, 0, 2, 5])
    for convention, expected in (
        ("program", [0.834, 0.680, 0.409, 0.113, 0.007]),
        ("paper", [0.993, 0.887, 0.591, 0.320, 0.166]),
    ):
        network = MassNetwork(torch.nn.Linear(1, 3, dtype=torch.float64), 0, detector=True, convention=convention)
        np.testing.assert_allclose(network.mass_to_empty(h).detach().numpy(), expected, atol=1e-3)


def quick(c=2, **keywords):
    return NNEVCLUS(c, **{"max_iter": 60, "random_state": 0, **keywords})


@pytest.fixture(scope="module")
def blobs():
    return make_blobs(90, 2, centers=[[0, 0], [6, 0], [0, 6]], random_state=0)


def test_finds_clusters_and_predicts(blobs):
    X, y = blobs
    for init in ("evclus", "random", "belief-peaks"):
        model = quick(3, init=init, n_init=1 if init == "evclus" else 3, max_iter=200).fit(X)
        assert adjusted_rand_score(y, model.labels_) > 0.9, init
    np.testing.assert_allclose(model.predict_mass(X).masses, model.credal_partition_.masses, atol=1e-12)
    np.testing.assert_allclose(model.credal_partition_.masses.sum(axis=1), 1)
    assert (model.predict(X) == model.labels_).all()


@pytest.mark.parametrize("solver", ["lbfgs", "adaptive-steps"])
def test_whole_batch_losses_never_rise(blobs, solver):
    model = quick(3, solver=solver, init="random").fit(blobs[0])
    assert np.all(np.diff(model.history_) <= 0)
    assert model.objective_ == pytest.approx(model.loss_, rel=1e-6)  # no penalties


@pytest.mark.parametrize("solver", ["lbfgs", "adaptive-steps", "mini-batch"])
def test_same_seed_same_bits(blobs, solver):
    a, b = (quick(3, solver=solver, batch_size=32).fit(blobs[0]).credal_partition_.masses for _ in range(2))
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("solver", ["lbfgs", "adaptive-steps", "mini-batch"])
def test_a_killed_fit_goes_on_to_the_same_result(blobs, solver, tmp_path, monkeypatch):
    from evidentia.cluster.evclus.network import checkpoint as _nn_checkpoint

    X = blobs[0]
    settings = {"solver": solver, "batch_size": 32, "n_init": 2, "init": "random", "tol": 0.0}
    whole = quick(3, **settings).fit(X).credal_partition_.masses
    path = tmp_path / "fit.checkpoint"
    write = _nn_checkpoint.Checkpoint.save
    for stop_after in (1, 4, 9):
        path.unlink(missing_ok=True)
        count = 0

        def save_then_die(self, state, stop_after=stop_after):
            nonlocal count
            write(self, state)
            count += 1
            if count == stop_after:
                raise KeyboardInterrupt

        monkeypatch.setattr(_nn_checkpoint.Checkpoint, "save", save_then_die)
        with pytest.raises(KeyboardInterrupt):
            quick(3, checkpoint=path, **settings).fit(X)
        monkeypatch.setattr(_nn_checkpoint.Checkpoint, "save", write)
        resumed = quick(3, checkpoint=path, **settings).fit(X).credal_partition_.masses
        np.testing.assert_array_equal(resumed, whole)


def test_wrong_and_broken_checkpoints_are_refused(blobs, tmp_path):
    X = blobs[0]
    path = tmp_path / "fit.checkpoint"
    quick(3, checkpoint=path).fit(X)
    with pytest.raises(ValueError, match="belongs to another model"):
        quick(3, checkpoint=path, alpha=0.5).fit(X)
    with pytest.raises(ValueError, match="belongs to another model"):
        quick(3, checkpoint=path).fit(X + 1)
    data = path.read_bytes()
    for broken in (data[:-10], data[:20], data[:200], b"something else entirely", b""):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match="checkpoint"):
            quick(3, checkpoint=path).fit(X)
    flipped = bytearray(data)
    flipped[-50] ^= 1
    path.write_bytes(bytes(flipped))
    with pytest.raises(ValueError, match="damaged"):
        quick(3, checkpoint=path).fit(X)


def test_objects_never_seen_go_to_the_empty_set():
    X, _ = make_fourclass(200, random_state=0)
    model = quick(4, outlier_detector="one-class-svm", max_iter=200).fit(X)
    far = model.predict_mass(np.array([[30.0, 30], [-25, 40], [60, -60]]))
    assert far.empty.min() > 0.9
    assert far.outliers.tolist() == [0, 1, 2]
    inside = model.predict_mass(np.array([[0.0, 0], [4, 4], [0, 4], [4, 0]]))
    assert inside.empty.max() < 0.2
    assert len(set(inside.labels)) == 4


def test_detectors_fitted_or_not():
    from sklearn.ensemble import IsolationForest
    from sklearn.preprocessing import scale

    X, _ = make_fourclass(120, random_state=0)
    fitted = IsolationForest(random_state=0).fit(scale(X))
    for detector in (fitted, IsolationForest(random_state=0)):
        model = quick(4, outlier_detector=detector).fit(X)
        assert model.predict_mass([[50.0, 50.0]]).empty[0] > model.predict_mass([[0.0, 0.0]]).empty[0]
    with pytest.raises(ValueError, match="focal_sets lacks"):
        quick(4, outlier_detector=detector, focal_sets=FocalSets.simple(4, empty=False)).fit(X)


def test_labels_name_the_clusters(blobs):
    X, y = blobs
    partial = np.full(len(y), -1)
    partial[[np.flatnonzero(y == k)[0] for k in range(3)]] = [2, 0, 1]  # other numbers than the generator's
    expected = np.array([2, 0, 1])[y]
    for solver in ("lbfgs", "mini-batch"):
        model = quick(3, solver=solver, batch_size=32).fit(X, partial)
        assert (model.labels_ == expected).mean() > 0.9


@pytest.mark.parametrize("solver", ["lbfgs", "mini-batch"])
def test_constraints_are_followed(solver):
    X, y = load_iris(return_X_y=True)
    constraints = Constraints.from_labels(y, 200, random_state=0)
    free = quick(3, solver=solver).fit(X)
    bound = quick(3, solver=solver).fit(X, constraints=constraints)
    assert len(constraints.violations(bound.credal_partition_)) < len(constraints.violations(free.credal_partition_))
    assert adjusted_rand_score(y, bound.labels_) > adjusted_rand_score(y, free.labels_)


def test_dissimilarities_of_another_source(blobs):
    X, y = blobs
    D = np.abs(y[:, None] - y[None, :]).astype(float)  # the attributes say less than this
    model = quick(3, d0=0.5).fit(X, dissimilarities=D)
    assert adjusted_rand_score(y, model.labels_) == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"shape \(90, 90\)"):
        quick(3).fit(X, dissimilarities=D[:5])


def test_a_network_of_your_own_on_images():
    """A small convolutional network on pictures of vertical and horizontal bars."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 80)
    images = rng.normal(0, 0.1, (80, 1, 8, 8)).astype(np.float32)
    for i, k in enumerate(kind):
        images[(i, 0, slice(None), 3) if k else (i, 0, 3, slice(None))] += 1
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 4, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2), torch.nn.Flatten(), torch.nn.Linear(36, 4)
    )
    before = copy.deepcopy(module.state_dict())
    model = quick(2, module=module).fit(images)
    assert adjusted_rand_score(kind, model.labels_) == pytest.approx(1.0)
    assert model.predict_mass(images[:3]).masses.shape == (3, 4)
    for key, value in before.items():
        assert torch.equal(module.state_dict()[key], value)  # the module given is not touched
    with pytest.raises(ValueError, match="module must give 4 outputs"):
        quick(2, module=torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 3))).fit(images)


def test_early_stopping_holds_out_pairs(blobs):
    model = quick(3, early_stopping=True, patience=2).fit(blobs[0])
    assert len(model.validation_history_) == len(model.history_)


def test_mini_batches_reach_the_clusters():
    X, y = make_blobs(1500, 2, centers=5, random_state=1)
    model = NNEVCLUS(5, max_iter=100, random_state=0).fit(X.astype(np.float32))
    assert model.credal_partition_.masses.dtype == np.float32
    assert adjusted_rand_score(y, model.labels_) > 0.8
    assert len(model.validation_history_) == model.n_iter_


def test_tables_keep_their_index(blobs):
    table = pd.DataFrame(blobs[0], columns=["a", "b"], index=[f"o{i}" for i in range(90)])
    model = quick(3).fit(table)
    assert model.credal_partition_.to_frame().index[0] == "o0"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_layer_sizes": "many"}, "hidden_layer_sizes must be"),
        ({"hidden_layer_sizes": [0]}, "hidden_layer_sizes must hold"),
        ({"device": "cuda:7"}, "device='cuda:7' is not available"),
        ({"nu": 2}, "nu must be"),
        ({"init": "medoids"}, "init must be"),
        ({"focal_sets": "selected", "init": "random"}, "use init='evclus'"),
        ({"outlier_detector": "svm"}, "outlier_detector must be"),
        ({"d0_quantile": 0}, "d0_quantile must be"),
    ],
)
def test_clear_errors(blobs, change, message):
    with pytest.raises(ValueError, match=message):
        quick(3, **change).fit(blobs[0])


def test_bad_labels_and_constraints(blobs):
    X, y = blobs
    for bad in (np.where(y == 0, -1, 5), np.where(y == 0, -1, -2), np.where(y == 0, -1, 0.5), y[:5]):
        with pytest.raises(ValueError, match="y must hold"):
            quick(3).fit(X, bad)
    for target in (np.arange(90), np.full(90, "a")):
        with pytest.warns(UserWarning, match="it is ignored"):
            quick(3).fit(X, target)
    with pytest.raises(ValueError):
        quick(3).fit(X, constraints=Constraints(must_link=[(0, 500)]))
    with pytest.raises(TypeError, match="Constraints object"):
        quick(3).fit(X, constraints=[(0, 1)])


def test_belief_peaks_are_looked_for_in_the_metric_of_the_network(monkeypatch):
    asked = []
    fit = BeliefPeaks.fit
    monkeypatch.setattr(BeliefPeaks, "fit", lambda self, X, y=None: asked.append(self.metric) or fit(self, X, y))
    X = load_iris().data
    NNEVCLUS(3, init="belief-peaks", metric="cityblock", max_iter=5, random_state=0).fit(X)
    assert asked == ["cityblock"]
