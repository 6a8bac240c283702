"""The losses against their formulas, and their gradients."""

import itertools

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck
from torch.nn import functional as F

from dempster import FocalSets, MassFunctions
from dempster.nn import (
    EvidentialLayer,
    ExpectedUtilityLoss,
    contour,
    plausibility_cross_entropy,
    plausibility_squared_error,
)


def random_masses(n=6, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    return torch.tensor(rng.dirichlet(np.ones(n_classes + 1), n), requires_grad=True)


TARGET = torch.tensor([0, 2, 1, 1, 0, 2])


def test_cross_entropy():
    torch.manual_seed(0)
    layer = EvidentialLayer(5, 3, 4).double()
    x = torch.randn(6, 5, dtype=torch.double)
    plausibilities = contour(layer(x))
    loss = plausibility_cross_entropy(plausibilities, TARGET)
    share = plausibilities / plausibilities.sum(dim=1, keepdim=True)
    torch.testing.assert_close(loss, -share[torch.arange(6), TARGET].log().mean())
    torch.testing.assert_close(
        loss, F.cross_entropy(layer.weights_of_evidence(x), TARGET)
    )


def test_squared_error():
    plausibilities = contour(random_masses())
    loss = plausibility_squared_error(plausibilities, TARGET)
    expected = ((plausibilities - torch.eye(3)[TARGET]) ** 2).sum(dim=1).mean()
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize(
    "loss", [plausibility_cross_entropy, plausibility_squared_error]
)
def test_soft_targets_images_and_gradients(loss):
    plausibilities = contour(random_masses())
    indicators = torch.eye(3, dtype=torch.double)[TARGET]
    expected = loss(plausibilities, TARGET)
    torch.testing.assert_close(loss(plausibilities, indicators), expected)
    # Six pixels of an image, with the classes in dimension 1.
    pixels = plausibilities.T.reshape(1, 3, 2, 3)
    torch.testing.assert_close(loss(pixels, TARGET.reshape(1, 2, 3), dim=1), expected)
    assert gradcheck(lambda values: loss(contour(values), TARGET), random_masses())
    certain = torch.eye(3).requires_grad_()
    loss(certain, torch.tensor([1, 0, 2])).backward()
    assert torch.isfinite(certain.grad).all()


@pytest.mark.parametrize("optimism", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("max_size", [1, 2, None])
def test_expected_utility(max_size, optimism):
    """Compare with upper and lower expectations, computed for each set and focal set."""
    masses = random_masses()
    tolerance = 0.7
    sizes = range(1, (max_size or 2) + 1)  # without the frame
    acts = [act for k in sizes for act in itertools.combinations(range(3), k)]
    weights = {1: 1.0, 2: tolerance}
    focal_sets = [(0,), (1,), (2,), (0, 1, 2)]
    expected = torch.zeros(6, dtype=torch.double)
    for act in acts:
        g = weights[len(act)]
        utility = [[g * (k in act) for k in focal] for focal in focal_sets]
        mixed = [optimism * max(u) + (1 - optimism) * min(u) for u in utility]
        mean = masses @ torch.tensor(mixed, dtype=torch.double)
        goal = torch.tensor([g * (k in act) for k in TARGET.tolist()]).double()
        expected -= goal * mean.log() + (1 - goal) * (1 - mean).log()
    loss = ExpectedUtilityLoss(
        3, tolerance=tolerance, optimism=optimism, max_size=max_size
    ).double()
    torch.testing.assert_close(
        loss(masses, TARGET), expected.mean(), rtol=1e-5, atol=1e-5
    )
    assert gradcheck(lambda values: loss(values, TARGET), masses)


def test_utility_of_sets_agrees_with_the_decision():
    """The set of largest expected utility in the loss is the decision of MassFunctions."""
    masses = random_masses(200, 4).detach()
    loss = ExpectedUtilityLoss(4, optimism=0.3).double()
    candidates = FocalSets.max_cardinality(4, 3, empty=False, omega=False)
    best = candidates.membership[(masses @ loss.expected).argmax(dim=1)]
    decided = MassFunctions(
        masses.numpy(), FocalSets.simple(4, empty=False)
    ).decide_sets(rule="hurwicz", optimism=0.3)
    is_frame = decided.all(axis=1)
    assert 0 < is_frame.sum() < 150
    np.testing.assert_array_equal(best[~is_frame], decided[~is_frame])


def test_expected_utility_of_images():
    masses = random_masses()
    loss = ExpectedUtilityLoss(3, dim=1).double()
    pixels = masses.T.reshape(1, 4, 2, 3)
    torch.testing.assert_close(
        loss(pixels, TARGET.reshape(1, 2, 3)),
        ExpectedUtilityLoss(3).double()(masses, TARGET),
    )
    certain = torch.eye(4, requires_grad=True)
    ExpectedUtilityLoss(3)(certain, torch.tensor([1, 1, 1, 1])).backward()
    assert torch.isfinite(certain.grad).all()


def test_invalid_arguments():
    for options in (
        {"n_classes": 1},
        {"tolerance": 0.4},
        {"optimism": 2.0},
        {"max_size": 0},
    ):
        (name,) = options
        with pytest.raises(ValueError, match=name):
            ExpectedUtilityLoss(**({"n_classes": 3} | options))
