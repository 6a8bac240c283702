"""Losses, gradients and trainings of NN-EVCLUS, compared with the published program."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dempster import FocalSets
from dempster.cluster.evclus import _network_loss as losses
from dempster.cluster.evclus._network import FeedForward, HostArrays, MassLayer
from dempster.cluster.evclus._pairs import link_form
from dempster.cluster.evclus._training import (
    AdaptiveSteps,
    RMSprop,
    TrainingProgress,
)
from dempster.dissimilarity.transform import to_conflict
from tests.cluster.evclus.helpers import train

DOUBLE = HostArrays(np.dtype(np.float64))

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


def network_of(matrices, empty, beta=None):
    """Return a network with these weight matrices, biases in the first columns."""
    sizes = [matrices[0].shape[1] - 1, *(len(weights) for weights in matrices)]
    layer = MassLayer(empty, detector=beta is not None)
    network = FeedForward(sizes, layer, DOUBLE, np.random.default_rng(0))
    parts = [
        part
        for weights in matrices
        for part in (weights[:, 1:].T.ravel(), weights[:, 0])
    ]
    network.weights = np.concatenate([*parts, [] if beta is None else beta])
    return network


def matrices_of(network, vector=None):
    """Return the weights or their gradients, biases in the first columns."""
    return [
        np.column_stack([biases, weights.T])
        for weights, biases in network.matrices(vector)
    ]


def added(*terms):
    """Return a weighted sum of values and gradients."""
    return tuple(sum(weight * term[k] for weight, term in terms) for k in range(2))


@pytest.mark.parametrize("name", LOSS_CASES)
def test_loss_and_gradient(reference, name):
    case = reference(name)
    p = case.parameters
    family = FocalSets(case["F"])
    names = [k for k in ("U", "V", "W") if k in case]
    if p["fhat"]:
        h = case["fhat"]
    else:
        h = None
    network = network_of(
        [case[k] for k in names],
        family.empty_index,
        case["beta"] if p["fhat"] else None,
    )
    m, back = network.forward_backward(case["x"], h)
    case.assert_equal("mass", m, rtol=1e-12, atol=1e-14)
    n, k = case["J"].shape
    i = np.repeat(np.arange(n), k)
    j = case["J"].ravel()
    nu = p["nu"]
    terms = [
        (
            1 - nu,
            losses.pairs_error(
                m, i, j, case["Dnorm"].ravel(), np.array(family.conflict)
            ),
        )
    ]
    if nu:
        indicators = np.eye(family.n_clusters)[case["labels"]]
        labels = losses.Batch(*[None] * 5, case["labelled"], indicators)
        # The program divides by the number of clusters.
        terms.append(
            (
                nu / family.n_clusters,
                losses.labels_error(m, labels, family.membership.astype(float)),
            )
        )
    if p["xi"]:
        must = case["ML"]
        cannot = case["CL"]
        pairs = np.vstack([must, cannot])
        signs = np.repeat([1.0, -1.0], [len(must), len(cannot)])
        links = losses.Batch(None, None, *pairs.T, signs, None, None)
        terms.append((p["xi"], losses.links_error(m, links, link_form(family))))
    value, of_masses = added(*terms)
    size = losses.weight_penalty(network.weights, network.shares)
    value, gradient = added((1, (value, back(of_masses))), (p["lambda"], size))
    case.assert_equal("loss", float(value), rtol=1e-14, atol=0)
    for key, of_layer in zip(names, matrices_of(network, gradient), strict=True):
        case.assert_equal(f"grad_{key}", of_layer, rtol=1e-11, atol=1e-16)
    if p["fhat"]:
        case.assert_equal("grad_beta", gradient[-2:], rtol=1e-11, atol=1e-16)


@pytest.mark.parametrize("name", ["nn1_predict", "nn2_predict"])
def test_forward_pass(reference, name):
    case = reference(name)
    matrices = [case[k] for k in ("U", "V", "W") if k in case]
    empty = FocalSets(case["F"]).empty_index
    x = case["x"]
    h = case["fhat"]
    case.assert_equal("mass", network_of(matrices, empty)(x), rtol=1e-12, atol=1e-14)
    case.assert_equal(
        "mass_fhat",
        network_of(matrices, empty, case["beta"])(x, h),
        rtol=1e-12,
        atol=1e-14,
    )


@pytest.mark.parametrize("name", ["nn1_train_fourclass", "nn1_train_iris_fhat"])
def test_adaptive_steps(reference, name):
    """The trace of the program includes the start and rejected steps."""
    case = reference(name)
    p = case.parameters
    family = FocalSets(case["F"])
    network = network_of(
        [case["V0"], case["W0"]],
        family.empty_index,
        case["beta0"] if p["fhat"] else None,
    )
    n, k = case["J"].shape
    i = np.repeat(np.arange(n), k)
    j = case["J"].ravel()
    case.assert_equal("Dnorm", to_conflict(case["D"], p["d0"]))
    delta = case["Dnorm"].ravel()
    conflict = np.array(family.conflict)
    if p["fhat"]:
        h = case["fhat"]
    else:
        h = None

    def loss():
        m, back = network.forward_backward(case["x"], h)
        value, of_masses = losses.pairs_error(m, i, j, delta, conflict)
        size = losses.weight_penalty(network.weights, network.shares)
        return added((1, (value, back(of_masses))), (p["lambda"], size))

    progress = TrainingProgress(network)
    solver = AdaptiveSteps(network, DOUBLE, loss, p["maxit"], 0.0)
    train(progress, solver)
    theirs = np.minimum.accumulate(case["loss_trace"])[1:]
    assert len(progress.history) == len(theirs)
    np.testing.assert_allclose(progress.history[:25], theirs[:25], rtol=1e-12)
    np.testing.assert_allclose(progress.history, theirs, rtol=1e-8)
    assert np.all(np.diff(progress.history) <= 0)


@pytest.mark.parametrize("name", ["nnmb_train_batches", "nnmb_train_fullbatch"])
def test_mini_batches(reference, name):
    """Run RMSprop, the optimizer of the program, on our losses."""
    case = reference(name)
    p = case.parameters
    family = FocalSets(case["F"])
    distances = cdist(case["x"], case["x"])
    # with the zero diagonal
    case.assert_equal("d0", np.quantile(distances, p["alpha0"]))
    network = network_of(
        [case["V0"], case["W0"]],
        family.empty_index,
        case["beta0"] if p["fhat"] else None,
    )
    conflict = np.array(family.conflict)

    def batches(epoch):
        for number in range(p["nbatch"]):
            yield np.flatnonzero(case["batch"][epoch] == number)

    def loss(who):
        x = case["x"][who]
        if p["fhat"]:
            h = case["fhat"][who]
        else:
            h = None
        delta = to_conflict(distances[np.ix_(who, who)], float(case["d0"]))
        m, back = network.forward_backward(x, h)
        value, of_masses = losses.all_pairs_error(m, delta, conflict, np.sum(delta**2))
        size = losses.weight_penalty(network.weights, network.shares)
        return added((1, (value, back(of_masses))), (p["lambda"], size))

    trace = []
    kept = network.weights
    solver = RMSprop(network, DOUBLE, batches, loss, len(case["batch"]), p["epsi"])
    for epoch in range(len(case["batch"])):
        trace.append(solver.run_round(epoch).loss)
        if trace[-1] == min(trace):
            kept = network.weights
    case.assert_equal("loss_trace", trace, rtol=1e-11, atol=0)
    case.assert_equal("crit", min(trace), rtol=1e-11, atol=0)
    network.weights = kept
    for key, weights in zip(("final_V", "final_W"), matrices_of(network), strict=True):
        case.assert_equal(key, weights, rtol=1e-9, atol=1e-10)
    case.assert_equal(
        "mass", network(case["x"], case["fhat"] if p["fhat"] else None), atol=1e-10
    )


def test_all_pairs_error_against_loops():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    conflict = np.array(FocalSets.pairs(3).conflict)
    masses = rng.dirichlet(np.ones(len(conflict)), size=40)
    delta = to_conflict(cdist(X, X), 2.0)
    gap = masses @ conflict @ masses.T - delta
    wanted = sum(gap[i, j] ** 2 for i in range(40) for j in range(40) if i != j) / (
        40 * 39
    )
    value, _ = losses.all_pairs_error(masses, delta, conflict, np.sum(delta**2))
    assert float(value) == pytest.approx(wanted, rel=1e-12)


def test_conventions_of_outlier_unit():
    h = np.array([-5.0, -2, 0, 2, 5])
    for convention, expected in (
        ("program", [0.834, 0.680, 0.409, 0.113, 0.007]),
        ("paper", [0.993, 0.887, 0.591, 0.320, 0.166]),
    ):
        layer = MassLayer(0, detector=True, convention=convention)
        # no mass on the empty set without the outlier unit
        scores = np.tile([-1e3, 0.0], (5, 1))
        shares = layer.forward(scores, h, np.array(layer.first_coefficients))[0][:, 0]
        np.testing.assert_allclose(shares, expected, atol=1e-3)
        with pytest.raises(ValueError, match="requires the decision values"):
            layer.forward(h[:, None], None, shares)
