"""Loss of NN-EVCLUS, compared with loops over pairs and with finite differences."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dempster import FocalSets
from dempster.cluster.evclus._pairs import link_form
from dempster.dissimilarity import to_conflict

torch = pytest.importorskip("torch")

from dempster.cluster.evclus import _network_training as training  # noqa: E402
from dempster.nn import MassNetwork  # noqa: E402

FAMILY = FocalSets.pairs(3)
N = 12
F = len(FAMILY)
CONFLICT = np.array(FAMILY.conflict)
RNG = np.random.default_rng(0)
DELTA = RNG.uniform(size=(N, N))
DELTA = np.triu(DELTA, 1) + np.triu(DELTA, 1).T
PAIRS = RNG.integers(0, N, (30, 2))  # with repetitions
SIGNS = np.repeat([1.0, -1.0], [5, 4])
LABELS = np.eye(3)[[0, 2, 2]]
FORM = link_form(FAMILY)


def double(values):
    return torch.as_tensor(np.array(values, float))


def masses():
    return np.random.default_rng(1).dirichlet(np.ones(F), size=N)


def all_pairs(m):
    squares = double(np.sum(DELTA**2))
    return training.all_pairs_error(m, double(DELTA), squares, double(CONFLICT))


def some_pairs(m):
    i, j = torch.as_tensor(PAIRS).T
    return training.some_pairs_error(m, i, j, double(DELTA[*PAIRS.T]), double(CONFLICT))


def links(m):
    return training.links_error(m[:9], m[3:], double(SIGNS), double(FORM))


def labels(m):
    membership = double(FAMILY.membership)
    return training.labels_error(m[:3], double(LABELS), membership)


def test_all_pairs_against_loops():
    m = masses()
    gap = m @ CONFLICT @ m.T - DELTA
    expected = np.mean([gap[i, j] ** 2 for i in range(N) for j in range(N) if i != j])
    assert float(all_pairs(double(m))) == pytest.approx(expected, rel=1e-12)


def test_some_pairs_against_loops():
    m = masses()
    gap = [m[i] @ CONFLICT @ m[j] - DELTA[i, j] for i, j in PAIRS]
    expected = np.mean(np.square(gap))
    assert float(some_pairs(double(m))) == pytest.approx(expected, rel=1e-12)


def test_links_against_loops():
    m = masses()
    forms = [m[k] @ FORM @ m[3 + k] / 2 for k in range(9)]
    violations = forms[:5] + [1 - form for form in forms[5:]]
    assert float(links(double(m))) == pytest.approx(np.mean(violations), rel=1e-12)


def test_labels_against_loops():
    m = masses()
    plausibilities = [
        [m[i][FAMILY.membership[:, k]].sum() for k in range(3)] for i in range(3)
    ]
    expected = np.mean(np.sum((np.array(plausibilities) - LABELS) ** 2, axis=1))
    assert float(labels(double(m))) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("term", [all_pairs, some_pairs, links, labels])
def test_gradients_against_differences(term):
    """The gradient of `all_pairs_error` uses the symmetry of the target conflicts."""
    m = double(masses()).requires_grad_()
    assert torch.autograd.gradcheck(term, (m,))


def test_weight_penalty():
    """Each layer has the mean square of its trained weights and biases."""
    rng = np.random.default_rng(0)
    body = training.build_layers([2, 5, 4], rng)
    first, second = body[0], body[2]
    squares = [
        np.mean(np.concatenate([layer.weight.ravel(), layer.bias]) ** 2)
        for layer in (first.requires_grad_(False), second.requires_grad_(False))
    ]
    body.requires_grad_(True)
    found = float(training.weight_penalty(body).detach())
    assert found == pytest.approx(sum(squares) / 2, rel=1e-12)
    first.requires_grad_(False)
    found = float(training.weight_penalty(body).detach())
    assert found == pytest.approx(squares[1] / 2, rel=1e-12)


def test_initial_weights():
    body = training.build_layers([99, 50, 3], np.random.default_rng(0))
    first = body[0].weight.detach().numpy()
    assert first.shape == (50, 99)
    assert 0.09 < np.abs(first).max() <= 0.1
    assert np.abs(body[2].bias.detach().numpy()).max() <= 1 / np.sqrt(51)
    assert body[0].weight.dtype == torch.float64


@pytest.mark.parametrize("offset", [0.0, 1000.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_conflicts_among_points(offset, dtype):
    X = np.random.default_rng(0).normal(size=(40, 3)) + offset
    found = training.conflicts_among(training.scale_points(X, 2.0, "cpu", dtype))
    expected = to_conflict(cdist(X, X), 2.0)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6)
    assert found.dtype == dtype
    assert float(found.diagonal().abs().max()) == 0


def test_conflicts_among_distant_points():
    """Single precision would lose the differences between near points far from the center."""
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[20:] += 1e4
    points = training.scale_points(X, 2.0, "cpu", torch.float32)
    expected = to_conflict(cdist(X, X), 2.0)
    found = training.conflicts_among(points).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-4)


# ---- optimizers ----------------------------------------------------------------------------------


def test_rejected_steps_are_undone():
    """The first step of 0.1 is too long for a steep loss."""
    weights = torch.nn.Parameter(torch.tensor([1.0, 0.0], dtype=torch.float64))
    optimizer = training.AdaptiveSteps([weights])

    def closure():
        optimizer.zero_grad()
        loss = 100 * weights.square().sum()
        loss.backward()
        return loss.detach()

    values = [optimizer.step(closure) for _ in range(6)]
    assert values[0] == 100
    assert np.all(np.diff(values) <= 0)
    assert 100 * weights.detach().square().sum() == pytest.approx(values[-1])
    assert values[-1] < 100


def test_rate_of_adam_decreases_along_a_cosine():
    weights = torch.nn.Linear(1, 1, bias=False)
    network = MassNetwork(weights)
    optimizer = training.make_optimizer("mini-batch", network, 0.1)
    rates = []

    def loss(batch):
        rates.append(float(optimizer.param_groups[0]["lr"]))
        return weights(batch).square().sum()

    solver = training.Solver(
        network, optimizer, loss, 4, lambda epoch: [torch.ones(1, 1)] * 2
    )
    for epoch in range(4):
        solver.run_round(epoch)
    expected = 0.05 * (1 + np.cos(np.pi * np.arange(4) / 4))
    np.testing.assert_allclose(rates, np.repeat(expected, 2), rtol=1e-6)
    assert solver.has_converged([0.0] * 4, tol=1e-4)
    assert not solver.has_converged([0.0] * 3, tol=1e-4)
