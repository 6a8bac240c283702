"""Gradients, compared with finite differences and with automatic differentiation by torch."""

from itertools import pairwise

import numpy as np
import pytest

from dempster import FocalSets
from dempster.cluster.evclus import _network_loss as losses
from dempster.cluster.evclus._network import (
    FeedForward,
    HostArrays,
    MassLayer,
    cross_entropy,
)
from dempster.cluster.evclus._pairs import link_form

FAMILY = FocalSets.pairs(3)
N = 12
F = len(FAMILY)
CONFLICT = np.array(FAMILY.conflict)
FORM = link_form(FAMILY)
MEMBERSHIP = FAMILY.membership.astype(float)
RNG = np.random.default_rng(0)
DELTA = RNG.uniform(size=(N, N))
DELTA = np.triu(DELTA, 1) + np.triu(DELTA, 1).T
PAIRS = RNG.integers(0, N, (30, 2))  # with repetitions
BATCH = losses.Batch(
    np.arange(N),
    DELTA,
    PAIRS[:9, 0],
    PAIRS[:9, 1],
    np.repeat([1.0, -1.0], [5, 4]),
    np.array([7, 2, 5]),
    np.eye(3)[[0, 2, 2]],
)
SQUARES = np.sum(DELTA**2)

TERMS = {
    "all pairs": lambda m, a: losses.all_pairs_error(
        m, a(DELTA), a(CONFLICT), a(SQUARES)
    ),
    "some pairs": lambda m, a: losses.pairs_error(
        m, a(PAIRS[:, 0]), a(PAIRS[:, 1]), a(DELTA[*PAIRS.T]), a(CONFLICT)
    ),
    "links": lambda m, a: losses.links_error(m, losses.Batch(*map(a, BATCH)), a(FORM)),
    "labels": lambda m, a: losses.labels_error(
        m, losses.Batch(*map(a, BATCH)), a(MEMBERSHIP)
    ),
    "size": lambda m, a: losses.weight_penalty(m, a(np.full((N, F), 0.3))),
    "cross-entropy": lambda m, a: cross_entropy(m, a(np.full((N, F), 1 / F))),
}


def masses():
    return np.random.default_rng(1).dirichlet(np.ones(F), size=N)


def differences(function, x, step=1e-6):
    """Return the gradient by central differences."""
    gradient = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        up = x.copy()
        down = x.copy()
        up[place] += step
        down[place] -= step
        gradient[place] = (function(up) - function(down)) / (2 * step)
    return gradient


def small_network(sizes=(2, 5, 4, F), **layer):
    rng = np.random.default_rng(2)
    arrays = HostArrays(np.dtype(np.float64))
    network = FeedForward(sizes, MassLayer(0, **layer), arrays, rng)
    network.weights = network.weights + 0.1 * rng.normal(size=len(network.weights))
    return (
        network,
        rng.normal(size=(N, sizes[0])),
        rng.normal(size=N) if layer.get("detector") else None,
    )


@pytest.mark.parametrize("name", TERMS)
def test_terms_against_differences(name):
    term = TERMS[name]
    found = differences(lambda m: float(term(m, np.asarray)[0]), masses())
    np.testing.assert_allclose(
        term(masses(), np.asarray)[1], found, rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("name", TERMS)
def test_terms_against_torch(name):
    torch = pytest.importorskip("torch")
    value, gradient = TERMS[name](masses(), np.asarray)
    m = torch.tensor(masses(), requires_grad=True)
    of_torch, by_hand = TERMS[name](m, torch.as_tensor)
    of_torch.backward()
    assert float(of_torch.detach()) == pytest.approx(float(value), rel=1e-13)
    np.testing.assert_allclose(m.grad.numpy(), gradient, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(
        by_hand.detach().numpy(), gradient, rtol=1e-11, atol=1e-14
    )


LAYERS = [{}, {"detector": True}, {"detector": True, "convention": "paper"}]


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("sizes", [(2, F), (2, 6, F), (3, 5, 4, F)])
def test_networks_against_differences(layer, sizes):
    network, x, h = small_network(sizes, **layer)
    start = network.weights

    def loss(weights):
        network.weights = weights
        return float(TERMS["all pairs"](network(x, h), np.asarray)[0])

    found = differences(loss, start)
    network.weights = start
    m, back = network.forward_backward(x, h)
    np.testing.assert_allclose(
        back(TERMS["all pairs"](m, np.asarray)[1]), found, rtol=1e-5, atol=1e-9
    )
    targets = masses()
    value, gradient = network.cross_entropy(x, targets)

    def entropy(weights):
        network.weights = weights
        return float(network.cross_entropy(x, targets)[0])

    np.testing.assert_allclose(
        gradient, differences(entropy, start), rtol=1e-5, atol=1e-9
    )
    assert value >= -np.sum(targets * np.log(targets)) / N  # entropy of the targets


@pytest.mark.parametrize("layer", LAYERS)
def test_networks_against_torch(layer):
    """Compare masses, gradients and shares for the same weights."""
    torch = pytest.importorskip("torch")
    from dempster.cluster.evclus._torch_network import DeviceArrays, TorchNetwork

    network, x, h = small_network(**layer)
    arrays = DeviceArrays(torch.float64, "cpu")
    parts = []
    for a, b in pairwise(network.sizes):
        parts += [torch.nn.Linear(a, b), torch.nn.ReLU()]
    body = torch.nn.Sequential(*parts[:-1]).double()
    other = TorchNetwork(body, network.layer)
    with torch.no_grad():
        linear = [part for part in other.body if isinstance(part, torch.nn.Linear)]
        for part, (weights, biases) in zip(linear, network.matrices(), strict=True):
            part.weight.copy_(torch.as_tensor(weights.T.copy()))
            part.bias.copy_(torch.as_tensor(biases))
        if other.coefficients is not None:
            other.coefficients.copy_(torch.as_tensor(network.weights[-2:]))
    tensors = arrays.array(x), None if h is None else arrays.array(h)
    m, back = network.forward_backward(x, h)
    of_torch = other(*tensors)
    np.testing.assert_allclose(of_torch.detach().numpy(), m, rtol=1e-12)
    of_masses = TERMS["all pairs"](m, np.asarray)[1]
    TERMS["all pairs"](of_torch, torch.as_tensor)[0].backward()
    gradient = back(of_masses)
    for part, (of_weights, of_biases) in zip(
        linear, network.matrices(gradient), strict=True
    ):
        np.testing.assert_allclose(
            part.weight.grad.numpy(), of_weights.T, rtol=1e-9, atol=1e-13
        )
        np.testing.assert_allclose(
            part.bias.grad.numpy(), of_biases, rtol=1e-9, atol=1e-13
        )
    if other.coefficients is not None:
        np.testing.assert_allclose(
            other.coefficients.grad.numpy(), gradient[-2:], rtol=1e-9
        )
    on_device = FeedForward(
        network.sizes, network.layer, arrays, np.random.default_rng(0)
    )
    on_device.weights = network.weights
    there, back_there = on_device.forward_backward(*tensors)
    np.testing.assert_allclose(there.numpy(), m, rtol=1e-12)
    np.testing.assert_allclose(
        back_there(torch.as_tensor(of_masses)).numpy(), gradient, rtol=1e-9, atol=1e-13
    )
    np.testing.assert_array_equal(on_device.shares.numpy(), network.shares)
    by_itself = torch.cat([p.grad.reshape(-1) for p in other.parameters()])
    back_in_torch = other.forward_backward(*tensors)[1]
    np.testing.assert_allclose(
        back_in_torch(torch.as_tensor(of_masses)).numpy(), by_itself.numpy(), atol=1e-14
    )
    size, _ = losses.weight_penalty(network.weights, network.shares)
    size_in_torch, _ = losses.weight_penalty(other.weights, other.shares)
    assert float(size_in_torch) == pytest.approx(float(size), rel=1e-12)
    entropy = network.cross_entropy(x, masses())[0]
    entropy_by_torch = other.cross_entropy(tensors[0], arrays.array(masses()))[0]
    assert float(entropy_by_torch) == pytest.approx(float(entropy), rel=1e-12)


def test_conflicts_of_tensors():
    torch = pytest.importorskip("torch")
    from dempster.cluster.evclus._torch_network import DeviceArrays
    from dempster.dissimilarity.transform import conflicts_among

    X = np.random.default_rng(0).normal(size=(40, 3)) + 1000
    arrays = DeviceArrays(torch.float32, "cpu")
    rows = torch.arange(5, 40)
    found = arrays.conflict_function(X, 0.7)(rows)
    np.testing.assert_allclose(found.numpy(), conflicts_among(X[5:], 0.7), atol=1e-6)
