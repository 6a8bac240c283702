"""The page "Published implementations, checked": a test for each of its claims.

The results of the R packages are read from the reference cases. The published layers are restated by
their formulas.
"""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_iris

from dempster import FocalSets, MassFunctions
from dempster.cluster import EVCLUS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "published.md"


def test_the_page_names_all_tests():
    if not PAGE.exists():
        pytest.skip("installed without the documentation")
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text(encoding="utf-8")))
    here = {name for name in globals() if name.startswith("test_")}
    assert named == here - {"test_the_page_names_all_tests"}


# ---- layers of networks --------------------------------------------------------------------------

S = np.array([0.6, 0.5, 0.3])
U = np.array([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.0, 0.0, 1.0]])
PARTS = np.column_stack([U * S[:, None], 1 - S])  # three prototypes, three classes


def test_e_cnn_counts_the_frame_three_times():
    combined = PARTS[0]
    for part in PARTS[1:]:
        # All components, also that of the frame, are m1 m2 + m1 m2(frame) + m1(frame) m2.
        combined = combined * part + combined * part[-1] + combined[-1] * part
        combined /= combined.sum()
    np.testing.assert_allclose(combined, [0.1076, 0.0917, 0.1190, 0.6817], atol=5e-5)
    exact = [0.32686616, 0.27852680, 0.16441960, 0.23018744]
    family = FocalSets.simple(3, empty=False)
    first, second, third = (MassFunctions(part[None], family) for part in PARTS)
    found = first.combine(second).combine(third).to_family(family).masses[0]
    np.testing.assert_allclose(found, exact, atol=1e-8)


def test_e_cnn_divides_by_the_largest_activation():
    """The nearest prototype has nearly full weight, also where all prototypes are far away."""
    s = 0.5 * np.exp(-np.array([3.0, 6.0, 8.0]))
    scaled = s / (s.max() + 1e-4)
    assert scaled[0] > 0.99
    assert np.prod(1 - scaled) < 0.01 < 0.95 < np.prod(1 - s)  # mass of the frame


def layer_and_data():
    torch = pytest.importorskip("torch")
    from dempster.nn import EvidentialLayer

    torch.manual_seed(0)
    layer = EvidentialLayer(3, 4, n_prototypes=20).double()
    torch.nn.init.normal_(layer.membership_logits)
    return layer, torch.randn(8, 3, dtype=torch.double)


def published_gradient(layer, x, loss):
    """Return the gradient with respect to the prototypes of the published backward pass.

    It ignores the derivative with respect to the mass of the frame, differentiates pignistic
    probabilities instead of masses, and multiplies by the number of classes.
    """
    import torch

    masses = layer(x)
    (derivatives,) = torch.autograd.grad(loss(masses), masses, retain_graph=True)
    pignistic = masses[:, :4] + masses[:, 4:] / 4
    total = 4 * (derivatives[:, :4] * pignistic).sum()
    return torch.autograd.grad(total, layer.prototypes)[0]


def test_backward_pass_of_the_multimodal_layer():
    layer, x = layer_and_data()
    import torch

    losses = {
        "pignistic": lambda masses: (masses[:, 0] + masses[:, 4] / 4).sum(),
        "plausibility": lambda masses: (masses[:, 0] + masses[:, 4]).sum(),
        "frame": lambda masses: masses[:, 4].sum(),
    }
    exact = {
        name: torch.autograd.grad(loss(layer(x)), layer.prototypes)[0]
        for name, loss in losses.items()
    }
    found = {name: published_gradient(layer, x, loss) for name, loss in losses.items()}
    torch.testing.assert_close(found["pignistic"], 4 * exact["pignistic"])
    # A loss of plausibilities gets the same gradient; some of its signs are wrong.
    torch.testing.assert_close(found["plausibility"], found["pignistic"])
    assert (found["plausibility"] * exact["plausibility"] < 0).any()
    assert (found["frame"] == 0).all()
    assert (exact["frame"].abs() > 1e-3).any()


# ---- the Python package evclust ------------------------------------------------------------------


def test_masses_of_kevclus_in_python():
    evclust = pytest.importorskip("evclust.kevclus", reason="evclust is not installed")
    X = load_iris().data[::3]
    np.random.seed(0)  # noqa: NPY002
    masses = np.asarray(evclust.kevclus(x=X, k=10, c=3, disp=False)["mass"])
    assert masses.min() < -0.1
    assert np.abs(masses.sum(axis=1) - 1).max() > 0.1
    ours = EVCLUS(3, focal_sets="simple", random_state=0).fit(X).credal_partition_
    assert ours.masses.min() >= 0
    np.testing.assert_allclose(ours.masses.sum(axis=1), 1)


# ---- the R packages ------------------------------------------------------------------------------


def constraint_penalty(masses, F, must_link, cannot_link):
    """Return the sum of the degrees to which the masses violate the constraints."""
    F = F.astype(bool)
    is_empty = ~F.any(axis=1)
    disjoint = (F[:, None] & F).sum(axis=2) == 0
    single = np.diag(F.sum(axis=1) == 1)
    either_empty = is_empty[:, None] | is_empty
    # plausibility of "different clusters" plus one minus that of "the same cluster"
    Z = 1.0 + disjoint - either_empty - single
    total = 0.0
    for i, j in must_link:
        total += masses[i] @ Z @ masses[j]
    for i, j in cannot_link:
        total += 2 - masses[i] @ Z @ masses[j]
    return total


def test_kcevclus_weights_constraints_four_times(reference):
    case = reference("kcevclus_bananas_full_alldist")
    penalty = constraint_penalty(case["mass"], case["F"], case["ML"], case["CL"])
    n_constraints = len(case["ML"]) + len(case["CL"])
    published = case.parameters["xi"] / (2 * n_constraints)
    used = (case["crit"] - case["stress"]) / penalty
    np.testing.assert_allclose(used / published, 4, rtol=1e-3)


def pair_loss(case):
    return np.mean((case["Kmat"] - case["Dnorm"]) ** 2)


def test_nnevclus_weights_constraints_as_published(reference):
    case = reference("nn1_loss_constraints")
    penalty = constraint_penalty(case["mass"], case["F"], case["ML"], case["CL"])
    n_constraints = len(case["ML"]) + len(case["CL"])
    published = case.parameters["xi"] / (2 * n_constraints)
    np.testing.assert_allclose(
        case["loss"], pair_loss(case) + published * penalty, rtol=1e-9
    )


def test_nnevclus_divides_the_label_error_by_the_number_of_clusters(reference):
    case = reference("nn1_loss_labelled")
    rows = case["labelled"]
    F = case["F"].astype(float)
    errors = case["mass"][rows] @ F - np.eye(F.shape[1])[case["labels"]]
    published = (errors**2).sum(axis=1).mean()
    nu = case.parameters["nu"]
    used = (case["loss"] - (1 - nu) * pair_loss(case)) / nu
    np.testing.assert_allclose(published / used, F.shape[1], rtol=1e-9)


def test_nnevclus_outlier_unit(reference):
    case = reference("nn1_loss_fhat_lambda")
    ones = np.ones((len(case["x"]), 1))
    hidden = np.maximum(np.hstack([ones, case["x"]]) @ case["V"].T, 0)
    masses = softmax(np.hstack([ones, hidden]) @ case["W"].T, axis=1)
    eta = np.log1p(np.exp(case["beta"][0] + case["beta"][1] * case["fhat"]))
    gamma = (eta / (1 + eta))[:, None]
    outlier = (~case["F"].astype(bool).any(axis=1)).astype(float)
    np.testing.assert_allclose(
        case["mass"], (1 - gamma) * masses + gamma * outlier, atol=1e-9
    )
    equation_12 = gamma * masses + (1 - gamma) * outlier
    assert np.abs(case["mass"] - equation_12).max() > 0.1


def test_derivative_of_the_reliabilities_in_evclass(reference):
    case = reference("prods_iris_p2perclass_mu")
    alpha = 0.99 / (1 + np.exp(-case["alpha0"]))
    ratio = 0.99 * (1 - alpha) / (1 - alpha / 0.99)
    np.testing.assert_allclose(
        case["grad_alpha0_R"], ratio * case["grad_alpha0"], rtol=1e-5
    )
    assert np.abs(ratio - 1).max() > 1e-3
