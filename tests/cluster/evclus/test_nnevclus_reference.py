"""Losses, gradients and trainings of NN-EVCLUS beside those of the published program, and beside double loops."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

torch = pytest.importorskip("torch")

from evidentia import FocalSets  # noqa: E402
from evidentia.cluster.evclus._conflict_problems import link_form  # noqa: E402
from evidentia.cluster.evclus.network import _losses as losses  # noqa: E402
from evidentia.cluster.evclus.network._model import MassNetwork, weight_penalty  # noqa: E402
from evidentia.cluster.evclus.network._trainers import TrainingProgress, train_adaptive_steps  # noqa: E402
from evidentia.dissimilarity.transform import decay, to_conflict  # noqa: E402

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


def matrices_of(network, gradient=False):
    """Its weights, or their gradients, with biases in the first columns."""
    layers = [layer for layer in network.body if isinstance(layer, torch.nn.Linear)]
    pairs = [(layer.bias.grad, layer.weight.grad) if gradient else (layer.bias, layer.weight) for layer in layers]
    return [np.column_stack([bias.detach().numpy(), weight.detach().numpy()]) for bias, weight in pairs]


@pytest.mark.parametrize("name", LOSS_CASES)
def test_loss_and_gradient_agree(reference, name):
    case = reference(name)
    p = case.parameters
    family = FocalSets(case["F"])
    names = [k for k in ("U", "V", "W") if k in case]
    h = tensor(case["fhat"]) if p["fhat"] else None
    network = network_of([case[k] for k in names], family.empty_index, case["beta"] if p["fhat"] else None)
    m = network(tensor(case["x"]), h)
    case.assert_equal("mass", m.detach().numpy(), rtol=1e-12, atol=1e-14)
    n, k = case["J"].shape
    i, j = tensor(np.repeat(np.arange(n), k), torch.long), tensor(case["J"].ravel(), torch.long)
    nu = p["nu"]
    value = (1 - nu) * losses.pairs_loss(m, i, j, tensor(case["Dnorm"].ravel()), tensor(family.conflict.copy()))
    value = value + p["lambda"] * weight_penalty(network.body)
    if nu:
        labelled, labels = tensor(case["labelled"], torch.long), tensor(case["labels"], torch.long)
        # the program also divides by the number of clusters
        value = value + nu * losses.labels_loss(m[labelled], tensor(family.membership), labels) / family.n_clusters
    if p["xi"]:
        must, cannot = tensor(case["ML"], torch.long), tensor(case["CL"], torch.long)
        value = value + p["xi"] * losses.links_loss(m, must, cannot, tensor(link_form(family)))
    value.backward()
    case.assert_equal("loss", float(value), rtol=1e-14, atol=0)
    for key, gradient in zip(names, matrices_of(network, gradient=True), strict=True):
        case.assert_equal(f"grad_{key}", gradient, rtol=1e-11, atol=1e-16)
    if p["fhat"]:
        case.assert_equal("grad_beta", network.coefficients.grad.numpy(), rtol=1e-11, atol=1e-16)


@pytest.mark.parametrize("name", ["nn1_predict", "nn2_predict"])
def test_forward_pass_agrees(reference, name):
    case = reference(name)
    matrices = [case[k] for k in ("U", "V", "W") if k in case]
    empty = FocalSets(case["F"]).empty_index
    x, h = tensor(case["x"]), tensor(case["fhat"])
    with torch.no_grad():
        case.assert_equal("mass", network_of(matrices, empty)(x).numpy(), rtol=1e-12, atol=1e-14)
        case.assert_equal("mass_fhat", network_of(matrices, empty, case["beta"])(x, h).numpy(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["nn1_train_fourclass", "nn1_train_iris_fhat"])
def test_adaptive_steps_follow_the_program(reference, name):
    """Whose trace begins before the first step and shows rises, which it then rejects."""
    case = reference(name)
    p = case.parameters
    family = FocalSets(case["F"])
    network = network_of([case["V0"], case["W0"]], family.empty_index, case["beta0"] if p["fhat"] else None)
    n, k = case["J"].shape
    i, j = tensor(np.repeat(np.arange(n), k), torch.long), tensor(case["J"].ravel(), torch.long)
    case.assert_equal("Dnorm", to_conflict(case["D"], p["d0"]))
    x, delta, conflict = tensor(case["x"]), tensor(case["Dnorm"].ravel()), tensor(family.conflict.copy())
    h = tensor(case["fhat"]) if p["fhat"] else None
    progress = TrainingProgress(network)
    train_adaptive_steps(
        progress,
        lambda: losses.pairs_loss(network(x, h), i, j, delta, conflict) + p["lambda"] * weight_penalty(network.body),
        None,
        max_iter=p["maxit"],
        tol=0.0,
        save=lambda p: None,
        patience=10,
    )
    theirs = np.minimum.accumulate(case["loss_trace"])[1:]
    assert len(progress.history) == len(theirs)
    np.testing.assert_allclose(progress.history[:25], theirs[:25], rtol=1e-12)
    np.testing.assert_allclose(progress.history, theirs, rtol=1e-8)
    assert np.all(np.diff(progress.history) <= 0)


@pytest.mark.parametrize("name", ["nnmb_train_batches", "nnmb_train_fullbatch"])
def test_losses_of_batches_lead_where_the_program_goes(reference, name):
    """Its optimiser (RMSprop) on our losses of its batches: the same path, the same network."""
    case = reference(name)
    p = case.parameters
    family = FocalSets(case["F"])
    distances = cdist(case["x"], case["x"])
    case.assert_equal("d0", np.quantile(distances, p["alpha0"]))  # zeros of the diagonal included
    network = network_of([case["V0"], case["W0"]], family.empty_index, case["beta0"] if p["fhat"] else None)
    optimizer = torch.optim.RMSprop(network.parameters(), lr=p["epsi"], alpha=p["rho"], eps=p["delta"])
    conflict, trace, kept = tensor(family.conflict.copy()), [], {}
    for batches in case["batch"]:
        of_epoch = []
        for number in range(p["nbatch"]):
            who = np.flatnonzero(batches == number)
            delta = losses.conflicts_wanted(tensor(case["x"][who]), decay(float(case["d0"])))
            m = network(tensor(case["x"][who]), tensor(case["fhat"][who]) if p["fhat"] else None)
            loss = losses.all_pairs_loss(m, delta, conflict, delta.square().sum())
            loss = loss + p["lambda"] * weight_penalty(network.body)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            of_epoch.append(float(loss.detach()))
        trace.append(np.mean(of_epoch))
        if trace[-1] == min(trace):
            kept = {key: value.clone() for key, value in network.state_dict().items()}
    case.assert_equal("loss_trace", trace, rtol=1e-11, atol=0)
    case.assert_equal("crit", min(trace), rtol=1e-11, atol=0)
    network.load_state_dict(kept)
    for key, weights in zip(("final_V", "final_W"), matrices_of(network), strict=True):
        case.assert_equal(key, weights, rtol=1e-9, atol=1e-10)
    with torch.no_grad():
        m = network(tensor(case["x"]), tensor(case["fhat"]) if p["fhat"] else None)
    case.assert_equal("mass", m.numpy(), atol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_pair_losses_are_what_they_say(offset):
    """The loss multiplied out, and distances from products, against double loops; also far from the origin."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3)) + offset
    conflict = np.array(FocalSets.pairs(3).conflict)
    masses = rng.dirichlet(np.ones(len(conflict)), size=40)
    delta = to_conflict(cdist(X, X), 2.0)
    fast = losses.conflicts_wanted(torch.as_tensor(X), decay(2.0))
    np.testing.assert_allclose(fast.numpy(), delta, atol=1e-9)
    single = losses.conflicts_wanted(torch.as_tensor(X, dtype=torch.float32), decay(2.0))
    np.testing.assert_allclose(single.numpy(), delta, atol=2e-4 if offset else 2e-6)
    gap = masses @ conflict @ masses.T - delta
    wanted = sum(gap[i, j] ** 2 for i in range(40) for j in range(40) if i != j) / (40 * 39)
    value = losses.all_pairs_loss(*(torch.as_tensor(v) for v in (masses, delta, conflict, np.sum(delta**2))))
    assert float(value) == pytest.approx(wanted, rel=1e-12)


def test_the_two_conventions_of_the_outlier_unit():
    h = tensor([-5.0, -2, 0, 2, 5])
    for convention, expected in (
        ("program", [0.834, 0.680, 0.409, 0.113, 0.007]),
        ("paper", [0.993, 0.887, 0.591, 0.320, 0.166]),
    ):
        network = MassNetwork(torch.nn.Linear(1, 3, dtype=torch.float64), 0, detector=True, convention=convention)
        np.testing.assert_allclose(network.mass_to_empty(h).detach().numpy(), expected, atol=1e-3)
        with pytest.raises(ValueError, match="needs the decision values"):
            network(h[:, None])
