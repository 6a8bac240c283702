"""The modules against published values, naive combination, and what torch users expect of a module."""

import io
import subprocess
import sys
import warnings
from functools import reduce
from importlib.util import find_spec

import numpy as np
import onnxruntime
import pytest
import torch
from torch.autograd import gradcheck
from torch.nn import functional as F

from dempster import FocalSets, MassFunctions
from dempster.classify import EvidentialNeuralNetworkClassifier
from dempster.datasets import load_iris
from dempster.nn import (
    ContextualDiscounting,
    EvidentialLayer,
    Fusion,
    contour,
    to_masses,
)

X, Y = load_iris(return_X_y=True)


def random_layer(in_features=5, n_classes=3, n_prototypes=4, seed=0, **options):
    torch.manual_seed(seed)
    layer = EvidentialLayer(in_features, n_classes, n_prototypes, **options)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter += 0.5 * torch.randn_like(parameter)
    return layer


def combine_naively(layer, x):
    """Combine the mass functions of the prototypes by Dempster's rule, one after the other."""
    distances = ((x[:, None, :] - layer.prototypes) ** 2).sum(dim=-1)
    s = (layer.reliabilities * torch.exp(-layer.gamma * distances)).detach().numpy()
    u = layer.memberships.detach().numpy()
    family = FocalSets.simple(layer.n_classes, empty=False)
    parts = [
        MassFunctions(np.column_stack([s[:, [i]] * u[i], 1 - s[:, i]]), family)
        for i in range(layer.n_prototypes)
    ]
    return reduce(MassFunctions.combine, parts).to_family(family).masses


# ---- the evidential layer ------------------------------------------------------------------------


def test_published_masses():
    """The golden value of the layer, which a layer that counts m(Omega) several times misses."""
    layer = EvidentialLayer(1, 3, 3).double()
    with torch.no_grad():
        layer.prototypes.zero_()
        layer.reliability_logits.copy_(torch.logit(torch.tensor([0.6, 0.5, 0.3])))
        u = torch.tensor([[0.8, 0.2, 0.0], [0.1, 0.7, 0.2], [0.0, 0.0, 1.0]])
        layer.membership_logits.copy_(u.clamp(min=1e-30).log())
    masses = layer(torch.zeros(1, dtype=torch.double))
    expected = [0.32686616, 0.27852680, 0.16441960, 0.23018744]
    np.testing.assert_allclose(masses.detach(), expected, atol=2e-8)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n_classes", "n_prototypes"), [(2, 1), (3, 4), (7, 12)])
def test_dempsters_rule(n_classes, n_prototypes, seed):
    layer = random_layer(5, n_classes, n_prototypes, seed).double()
    x = torch.randn(9, 5, dtype=torch.double)
    masses = layer(x).detach().numpy()
    np.testing.assert_allclose(masses, combine_naively(layer, x), atol=1e-12)
    weights = layer.weights_of_evidence(x)
    plausibility = contour(layer(x))
    normalized = plausibility / plausibility.sum(dim=-1, keepdim=True)
    torch.testing.assert_close(weights.softmax(dim=-1), normalized)


@pytest.mark.parametrize("n_prototypes", [3, 9])
def test_same_masses_as_the_classifier(n_prototypes):
    # Zero memberships and scales in other units.
    data = 100 * X + 1000
    classifier = EvidentialNeuralNetworkClassifier(
        n_prototypes, n_init=2, random_state=0
    ).fit(data, Y)
    layer = EvidentialLayer.from_classifier(classifier)
    expected = classifier.predict_mass(data).masses
    np.testing.assert_allclose(
        layer(torch.tensor(data)).detach(), expected, rtol=0, atol=1e-6
    )
    # Training continues from there.
    loss = F.cross_entropy(
        layer.weights_of_evidence(torch.tensor(data)), torch.tensor(Y)
    )
    loss.backward()
    assert all(torch.isfinite(p.grad).all() for p in layer.parameters())


def test_any_dimensions():
    layer = random_layer()
    x = torch.randn(2, 6, 4, 5)
    masses = layer(x)
    assert masses.shape == (2, 6, 4, 4)
    torch.testing.assert_close(layer(x[1, 2, 3]), masses[1, 2, 3])
    pixels = random_layer(dim=1)
    torch.testing.assert_close(pixels(x.movedim(-1, 1)), masses.movedim(-1, 1))
    assert layer(torch.empty(0, 5)).shape == (0, 4)


def test_gradients():
    layer = random_layer().double()
    x = torch.randn(4, 5, dtype=torch.double, requires_grad=True)
    names = [name for name, _ in layer.named_parameters()]

    def masses(x, *parameters):
        arguments = dict(zip(names, parameters, strict=True))
        return torch.func.functional_call(layer, arguments, (x,))

    assert gradcheck(masses, (x, *layer.parameters()))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_low_precision(dtype):
    """Extreme reliabilities, distances and offsets, compared with double precision."""
    layer = random_layer(5, 3, 40)
    with torch.no_grad():
        layer.reliability_logits += torch.linspace(-20, 60, 40)
        layer.prototypes += 3
    layer = layer.to(dtype)
    near = layer.prototypes.detach()
    x = torch.cat([near, near + 0.1, near + 3, near + 1e4]).requires_grad_()
    exact = random_layer(5, 3, 40).double()
    exact.load_state_dict(layer.state_dict())
    masses = layer(x)
    assert masses.dtype == dtype
    tolerance = 2e-5 if dtype == torch.float32 else 5e-3
    torch.testing.assert_close(
        masses.double(), exact(x.double()), rtol=0, atol=tolerance
    )
    assert (masses[-40:, -1] == 1).all()
    F.cross_entropy(
        layer.weights_of_evidence(x).float(), torch.arange(160) % 3
    ).backward()
    masses.square().sum().backward()
    for tensor in (x, *layer.parameters()):
        assert torch.isfinite(tensor.grad).all()


def test_mixed_precision():
    network = torch.nn.Sequential(torch.nn.Linear(5, 5), random_layer())
    x = torch.randn(50, 5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        features = network[0](x)
        masses = network[1](features)
        fused = Fusion(2, 3)([contour(masses), contour(masses)])
    assert features.dtype == torch.bfloat16
    assert masses.dtype == fused.dtype == torch.float32
    # The layer itself adds no error.
    torch.testing.assert_close(masses, network[1](features.float()))
    masses.sum().backward()
    assert network[0].weight.grad is not None


def test_initial_layer_learns():
    torch.manual_seed(0)
    data = torch.tensor((X - X.mean(axis=0)) / X.std(axis=0), dtype=torch.float32)
    layer = EvidentialLayer(4, 3, n_prototypes=6)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    for _ in range(100):
        optimizer.zero_grad()
        F.cross_entropy(layer.weights_of_evidence(data), torch.tensor(Y)).backward()
        optimizer.step()
    masses = to_masses(layer(data)).to_numpy()
    assert (masses.pignistic().argmax(axis=1) == Y).mean() > 0.9


# ---- discounting and fusion ----------------------------------------------------------------------

FIRST = torch.tensor([0.9, 0.5, 0.2], dtype=torch.double)
SECOND = torch.tensor([0.3, 0.8, 0.4], dtype=torch.double)


def golden_fusion(dim=-1):
    fusion = Fusion(2, 3, dim=dim)
    fusion.discounting[0] = ContextualDiscounting(3, [0.1, 0.2, 0.3], dim=dim)
    fusion.discounting[1] = ContextualDiscounting(3, [0.5, 0.4, 0], dim=dim)
    return fusion.double()


def test_published_fusion():
    fused = golden_fusion()([FIRST, SECOND]).detach()
    np.testing.assert_allclose(fused, [0.45658047, 0.40756465, 0.13585488], atol=1e-6)
    images = [
        plausibility[None, :, None, None].expand(2, 3, 4, 5)
        for plausibility in (FIRST, SECOND)
    ]
    torch.testing.assert_close(golden_fusion(dim=1)(images)[1, :, 2, 3].detach(), fused)


def test_discounting_agrees_with_mass_functions():
    masses = torch.tensor([[0.5, 0.2, 0.0, 0.3]], dtype=torch.double)
    rates = [0.1, 0.2, 0.3]
    expected = to_masses(masses).discount(dict(enumerate(rates))).contour
    found = ContextualDiscounting(3, rates).double()(contour(masses))
    torch.testing.assert_close(found.detach(), expected, rtol=0, atol=1e-6)


def test_missing_sources():
    fusion = golden_fusion()
    alone = fusion([None, SECOND])
    plausibility = fusion.discounting[1](SECOND)
    torch.testing.assert_close(alone, plausibility / plausibility.sum())
    # The first source is missing for one of two objects.
    present = torch.tensor([[True], [False]])
    first = torch.where(present, FIRST, 1.0).requires_grad_()
    fused = fusion([first, SECOND.expand(2, 3)])
    torch.testing.assert_close(fused, torch.stack([fusion([FIRST, SECOND]), alone]))
    with pytest.raises(ValueError, match="at least one tensor"):
        fusion([None, None])


def test_gradients_of_fusion():
    fusion = golden_fusion()
    first, second = (FIRST.clone().requires_grad_(), SECOND.clone().requires_grad_())
    assert gradcheck(lambda *sources: fusion(sources), (first, second))
    F.nll_loss(fusion([first, second]).log(), torch.tensor(0)).backward()
    assert all(torch.isfinite(p.grad).all() for p in fusion.parameters())
    # Plausibilities of zero and rates of zero.
    zero = torch.zeros(3, requires_grad=True)
    fused = Fusion(2, 3, rate=0)([zero, zero])
    fused[0].backward()
    assert torch.isfinite(fused).all()
    assert torch.isfinite(zero.grad).all()


# ---- conversion ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.double])
def test_to_masses(dtype):
    layer = random_layer(dim=1).to(dtype)
    masses = layer(torch.randn(2, 5, 6, 7).to(dtype))
    found = to_masses(masses, dim=1, frame="abc")
    assert found.frame == ("a", "b", "c")
    assert found.masses.shape == (84, 4)
    assert not found.masses.requires_grad
    rows = masses.detach().movedim(1, -1).reshape(84, 4)
    torch.testing.assert_close(
        found.masses, rows.to(found.masses.dtype), rtol=0, atol=5e-3
    )
    assert len(to_masses(torch.tensor([0.5, 0.2, 0.3]))) == 1
    torch.testing.assert_close(found.contour, contour(found.masses), check_dtype=False)


# ---- modules -------------------------------------------------------------------------------------


class Network(torch.nn.Module):
    """Two sources with an evidential layer each."""

    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(random_layer(seed=i) for i in range(2))
        self.fusion = Fusion(2, 3)

    def forward(self, x):
        return self.fusion([contour(layer(x)) for layer in self.layers])


def test_state_dict():
    network = Network()
    other = Network()
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += 0.1
    file = io.BytesIO()
    torch.save(network.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    x = torch.randn(3, 5)
    assert torch.equal(network(x), other(x))
    assert {p.device.type for p in network.to("meta").parameters()} == {"meta"}
    assert "n_prototypes=4" in repr(network)


def check_compiled(backend):
    network = Network()
    compiled = torch.compile(network, backend=backend, fullgraph=True)
    x = torch.randn(6, 5)
    torch.testing.assert_close(compiled(x), network(x))
    gradients = []
    for function in (network, compiled):
        network.zero_grad()
        function(x).square().sum().backward()
        gradients.append([p.grad.clone() for p in network.parameters()])
    torch.testing.assert_close(*gradients)


def test_compile():
    """The graph has no breaks; the backend needs no compiler."""
    check_compiled("aot_eager")


@pytest.mark.long
def test_compile_with_the_default_backend():
    check_compiled("inductor")


@pytest.mark.filterwarnings("ignore")
def test_onnx():
    network = Network().eval()
    with torch.no_grad():
        # Nearly certain evidence, where exp(-x) - 1 without cancellation matters.
        network.layers[0].reliability_logits += 30
    x = torch.randn(6, 5)
    file = io.BytesIO()
    options = {"input_names": ["x"], "output_names": ["plausibility"]}
    if find_spec("onnxscript"):
        shapes = {"dynamic_shapes": ({0: torch.export.Dim("n")},), "dynamo": True}
    else:
        shapes = {"dynamic_axes": {"x": {0: "n"}}, "dynamo": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(network, (x,), file, **options, **shapes)
    session = onnxruntime.InferenceSession(file.getvalue())
    new = torch.cat([torch.randn(11, 5), network.layers[0].prototypes.detach()])
    (found,) = session.run(None, {"x": new.numpy()})
    np.testing.assert_allclose(found, network(new).detach(), atol=1e-5)


def test_missing_torch():
    code = "import sys; sys.modules['torch'] = None; import dempster.nn"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )
    assert "dempster.nn needs torch: pip install 'dempster[nn]'" in result.stderr


def test_invalid_arguments():
    for arguments, name in [
        ((0, 3, 4), "in_features"),
        ((5, 1, 4), "n_classes"),
        ((5, 3, 0), "n_prototypes"),
    ]:
        with pytest.raises(ValueError, match=name):
            EvidentialLayer(*arguments)
    with pytest.raises(
        ValueError, match=r"x must be .*size 5 in dimension -1.*\(7, 6\)"
    ):
        random_layer()(torch.zeros(7, 6))
    with pytest.raises(ValueError, match="n_classes"):
        ContextualDiscounting(1)
    for rate in (1.5, -0.1, [0.1, 0.2], float("nan")):
        with pytest.raises(ValueError, match="rate"):
            ContextualDiscounting(3, rate)
    with pytest.raises(ValueError, match="plausibilities must be .*contour"):
        ContextualDiscounting(3)(torch.zeros(2, 4))
    with pytest.raises(ValueError, match="n_sources"):
        Fusion(0, 3)
    with pytest.raises(ValueError, match="sources must be 2 tensors or None, got 1"):
        Fusion(2, 3)([FIRST])
