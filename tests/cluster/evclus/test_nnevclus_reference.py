"""Losses, gradients and trainings of NN-EVCLUS, compared with the published program."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dempster import FocalSets
from dempster.cluster.evclus._pairs import link_form
from dempster.dissimilarity.transform import to_conflict

torch = pytest.importorskip("torch")

from dempster.cluster.evclus import _network_training as training  # noqa: E402
from dempster.nn import MassNetwork  # noqa: E402

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


def double(values):
    return torch.as_tensor(np.array(values, float))


def network_of(matrices, empty, beta=None):
    """Return a network with these weight matrices, biases in the first columns."""
    sizes = [matrices[0].shape[1] - 1, *(len(weights) for weights in matrices)]
    body = training.build_layers(sizes, np.random.default_rng(0))
    unit = None if beta is None else "program"
    network = MassNetwork(body, empty, unit)
    with torch.no_grad():
        for layer, weights in zip(linear_layers(network), matrices, strict=True):
            layer.weight.copy_(double(weights[:, 1:]))
            layer.bias.copy_(double(weights[:, 0]))
        if beta is not None:
            network.coefficients = torch.nn.Parameter(double(beta))
    return network


def linear_layers(network):
    return [layer for layer in network.body if isinstance(layer, torch.nn.Linear)]


def matrices_of(network, *, gradients=False):
    """Return the weights or their gradients, biases in the first columns."""
    found = []
    for layer in linear_layers(network):
        weight, bias = layer.weight, layer.bias
        if gradients:
            weight, bias = weight.grad, bias.grad
        parts = bias.detach().numpy(), weight.detach().numpy()
        found.append(np.column_stack(parts))
    return found


def decision_values(case):
    if case.parameters["fhat"]:
        return double(case["fhat"])
    return None


def pairs_of(case):
    n, k = case["J"].shape
    return torch.arange(n).repeat_interleave(k), torch.as_tensor(case["J"].ravel())


@pytest.mark.parametrize("name", LOSS_CASES)
def test_loss_and_gradient(reference, name):
    case = reference(name)
    p = case.parameters
    family = FocalSets(case["F"])
    names = [k for k in ("U", "V", "W") if k in case]
    beta = case["beta"] if p["fhat"] else None
    network = network_of([case[k] for k in names], family.empty_index, beta)
    masses = network(double(case["x"]), decision_values(case))
    case.assert_equal("mass", masses.detach().numpy(), rtol=1e-12, atol=1e-14)
    i, j = pairs_of(case)
    delta = double(case["Dnorm"].ravel())
    conflict = double(family.conflict)
    nu = p["nu"]
    loss = (1 - nu) * training.some_pairs_error(masses, i, j, delta, conflict)
    if nu:
        indicators = double(np.eye(family.n_clusters)[case["labels"]])
        labelled = masses[torch.as_tensor(case["labelled"])]
        misfit = training.labels_error(labelled, indicators, double(family.membership))
        # The program divides by the number of clusters.
        loss = loss + nu / family.n_clusters * misfit
    if p["xi"]:
        must = case["ML"]
        cannot = case["CL"]
        first, second = torch.as_tensor(np.vstack([must, cannot])).T
        signs = double(np.repeat([1, -1], [len(must), len(cannot)]))
        form = double(link_form(family))
        violation = training.links_error(masses[first], masses[second], signs, form)
        loss = loss + p["xi"] * violation
    loss = loss + p["lambda"] * training.weight_penalty(network.body)
    loss.backward()
    case.assert_equal("loss", float(loss.detach()), rtol=1e-14, atol=0)
    gradients = matrices_of(network, gradients=True)
    for key, of_layer in zip(names, gradients, strict=True):
        case.assert_equal(f"grad_{key}", of_layer, rtol=1e-11, atol=1e-16)
    if p["fhat"]:
        found = network.coefficients.grad.numpy()
        case.assert_equal("grad_beta", found, rtol=1e-11, atol=1e-16)


@pytest.mark.parametrize("name", ["nn1_predict", "nn2_predict"])
def test_forward_pass(reference, name):
    case = reference(name)
    matrices = [case[k] for k in ("U", "V", "W") if k in case]
    empty = FocalSets(case["F"]).empty_index
    x = double(case["x"])
    plain = network_of(matrices, empty)(x).detach().numpy()
    case.assert_equal("mass", plain, rtol=1e-12, atol=1e-14)
    network = network_of(matrices, empty, case["beta"])
    masses = network(x, double(case["fhat"])).detach().numpy()
    case.assert_equal("mass_fhat", masses, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", ["nn1_train_fourclass", "nn1_train_iris_fhat"])
def test_adaptive_steps(reference, name):
    """The trace of the program includes the start and rejected steps."""
    case = reference(name)
    p = case.parameters
    family = FocalSets(case["F"])
    beta = case["beta0"] if p["fhat"] else None
    network = network_of([case["V0"], case["W0"]], family.empty_index, beta)
    i, j = pairs_of(case)
    case.assert_equal("Dnorm", to_conflict(case["D"], p["d0"]))
    delta = double(case["Dnorm"].ravel())
    conflict = double(family.conflict)

    def loss():
        masses = network(double(case["x"]), decision_values(case))
        error = training.some_pairs_error(masses, i, j, delta, conflict)
        return error + p["lambda"] * training.weight_penalty(network.body)

    optimizer = training.make_optimizer("adaptive-steps", network)
    solver = training.Solver(network, optimizer, loss, p["maxit"])
    history = [solver.run_round(number) for number in range(p["maxit"])]
    theirs = np.minimum.accumulate(case["loss_trace"])[1:]
    assert len(history) == len(theirs)
    np.testing.assert_allclose(history[:25], theirs[:25], rtol=1e-12)
    np.testing.assert_allclose(history, theirs, rtol=1e-8)
    assert np.all(np.diff(history) <= 0)


@pytest.mark.parametrize("name", ["nnmb_train_batches", "nnmb_train_fullbatch"])
def test_mini_batches(reference, name):
    """Run RMSprop, the optimizer of the program, on our losses."""
    case = reference(name)
    p = case.parameters
    family = FocalSets(case["F"])
    distances = cdist(case["x"], case["x"])
    # with the zero diagonal
    case.assert_equal("d0", np.quantile(distances, p["alpha0"]))
    beta = case["beta0"] if p["fhat"] else None
    network = network_of([case["V0"], case["W0"]], family.empty_index, beta)
    conflict = double(family.conflict)

    def batches(epoch):
        for number in range(p["nbatch"]):
            yield np.flatnonzero(case["batch"][epoch] == number)

    def loss(who):
        h = double(case["fhat"][who]) if p["fhat"] else None
        masses = network(double(case["x"][who]), h)
        d0 = float(case["d0"])
        delta = double(to_conflict(distances[np.ix_(who, who)], d0))
        squares = delta.square().sum()
        error = training.all_pairs_error(masses, delta, squares, conflict)
        return error + p["lambda"] * training.weight_penalty(network.body)

    trace = []
    kept = network.state_dict()
    n_epochs = len(case["batch"])
    optimizer = training.make_optimizer("rmsprop", network, p["epsi"])
    solver = training.Solver(network, optimizer, loss, n_epochs, batches)
    for epoch in range(n_epochs):
        trace.append(solver.run_round(epoch))
        if trace[-1] == min(trace):
            kept = {key: value.clone() for key, value in network.state_dict().items()}
    case.assert_equal("loss_trace", trace, rtol=1e-11, atol=0)
    case.assert_equal("crit", min(trace), rtol=1e-11, atol=0)
    network.load_state_dict(kept)
    for key, weights in zip(("final_V", "final_W"), matrices_of(network), strict=True):
        case.assert_equal(key, weights, rtol=1e-9, atol=1e-10)
    masses = network(double(case["x"]), decision_values(case)).detach().numpy()
    case.assert_equal("mass", masses, atol=1e-10)


def test_conventions_of_outlier_unit():
    h = double([-5.0, -2, 0, 2, 5])
    for convention, expected in (
        ("program", [0.834, 0.680, 0.409, 0.113, 0.007]),
        ("paper", [0.993, 0.887, 0.591, 0.320, 0.166]),
    ):
        network = MassNetwork(torch.nn.Identity(), 0, convention)
        # no mass on the empty set without the outlier unit
        scores = double(np.tile([-1e3, 0.0], (5, 1)))
        shares = network(scores, h)[:, 0].detach().numpy()
        np.testing.assert_allclose(shares, expected, atol=1e-3)
        with pytest.raises(ValueError, match="requires the decision values"):
            network(scores)
