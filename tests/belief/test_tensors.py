"""Mass functions of torch tensors: the same results as with NumPy, and gradients."""

import numpy as np
import pytest

from dempster import CredalPartition, FocalSets, MassFunctions
from dempster.belief import transforms

torch = pytest.importorskip("torch")

FAMILIES = {
    "full": FocalSets.full(4),
    "pairs": FocalSets.pairs(5),
    "no empty set": FocalSets.simple(4, empty=False),
}
RULES = ("dempster", "conjunctive", "disjunctive", "dubois_prade", "yager", "average")


def random_rows(family, seed=0, n=7):
    return np.random.default_rng(seed).dirichlet(np.ones(len(family)), n)


def both(family, seed=0, kind=MassFunctions):
    masses = random_rows(family, seed)
    return kind(masses, family), kind(torch.tensor(masses), family)


def check_same(tensor, array):
    assert isinstance(tensor, torch.Tensor)
    assert tuple(tensor.shape) == array.shape
    np.testing.assert_allclose(tensor.numpy(), array, rtol=0, atol=1e-12)


METHODS = {
    "masses": lambda m: m.masses,
    "belief": lambda m: m.belief(),
    "belief of a set": lambda m: m.belief((0, 1)),
    "normalized belief": lambda m: m.belief(normalized=True),
    "plausibility": lambda m: m.plausibility([(0,), (0, 2)]),
    "commonality": lambda m: m.commonality(),
    "implicability": lambda m: m.implicability(),
    "mass": lambda m: m.mass([(0,), (0, 1, 2)]),
    "contour": lambda m: m.contour,
    "singleton belief": lambda m: m.singleton_belief,
    "pignistic": lambda m: m.pignistic(),
    "plausibility transform": lambda m: m.plausibility_transform(),
    "nonspecificity": lambda m: m.nonspecificity(),
    "empty": lambda m: m.empty,
    "dense": lambda m: m.to_dense(),
    "conflict": lambda m: m.conflict(),
    "discounted": lambda m: m.discount(0.3).masses,
    "discounted by rows": lambda m: m.discount(np.linspace(0, 1, len(m))).masses,
    "contextually discounted": lambda m: m.discount({0: 0.3, (1, 2): 0.1}).masses,
    "conditioned": lambda m: m.condition((0, 1, 2)).masses,
    "normalized": lambda m: m.normalize().masses,
    "normalized by Yager": lambda m: m.normalize("yager").masses,
    "some rows": lambda m: m[[3, 1]].masses,
    "consonant": lambda m: m.is_consonant,
    "logical": lambda m: m.is_logical,
    "bayesian": lambda m: m.is_bayesian,
    "coarsened": lambda m: (
        m.coarsen({"x": (0, 1), "y": tuple(range(2, m.n_clusters))}).masses
    ),
    "extended": lambda m: m.vacuous_extension([m.frame, "ab"], 0).marginalize(0).masses,
    "decided": lambda m: m.decide(),
    "rejected": lambda m: m.decide("hurwicz", reject=0.5),
    "interval dominance": lambda m: m.decide("interval_dominance"),
    "maximality": lambda m: m.decide("maximality"),
    "sets": lambda m: m.decide_sets(),
    "losses": lambda m: m.expected_losses("maximin"),
}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("error")
def test_methods_match_numpy(family, method):
    array, tensor = both(FAMILIES[family])
    check_same(METHODS[method](tensor), METHODS[method](array))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("rule", RULES)
def test_combinations_match_numpy(family, rule):
    (a, ta), (b, tb) = both(FAMILIES[family], 0), both(FAMILIES[family], 1)
    check_same(ta.combine(tb, rule=rule).masses, a.combine(b, rule=rule).masses)
    check_same(ta[2].combine(tb, rule=rule).masses, a[2].combine(b, rule=rule).masses)


def test_distances():
    (a, ta), (b, tb) = both(FAMILIES["full"], 0), both(FAMILIES["full"], 1)
    check_same(ta.distance(tb), a.distance(b))


@pytest.mark.parametrize("rule", ["pcr6", "cautious", "bold"])
def test_rules_on_the_host(rule):
    sources = [both(FAMILIES["full"], seed) for seed in (0, 1)]
    if rule == "pcr6":
        sources = [(a.normalize(), t.normalize()) for a, t in sources]
    (a, ta), (b, tb) = sources
    check_same(ta.combine(tb, rule=rule).masses, a.combine(b, rule=rule).masses)
    with_gradient = MassFunctions.unchecked(
        ta.masses.clone().requires_grad_(), ta.focal_sets
    )
    with pytest.raises(ValueError, match=f"rule='{rule}' has no gradient"):
        with_gradient.combine(tb, rule=rule)


def test_transforms():
    masses = random_rows(FocalSets.full(3))
    for name in vars(transforms):
        if "_to_" in name and not name.startswith("_"):
            function = getattr(transforms, name)
            if name.startswith("commonality"):
                values = transforms.mass_to_commonality(masses)
            else:
                values = masses
            check_same(function(torch.tensor(values)), function(values))


def test_partitions():
    array, tensor = both(FocalSets.full(3), kind=CredalPartition)
    for name in ("labels", "labels_with_outliers", "best_set", "outliers", "ambiguous"):
        check_same(getattr(tensor, name), getattr(array, name))
    for rule in ("max_mass", "interval_dominance"):
        check_same(tensor.assignment(rule), array.assignment(rule))
        check_same(tensor.lower(0, rule), array.lower(0, rule))
    check_same(tensor.plausibility_transform(), array.plausibility_transform())
    assert tensor.nonspecificity_index() == pytest.approx(
        array.nonspecificity_index(), abs=1e-12
    )
    assert str(tensor.summary()) == str(array.summary())
    assert repr(tensor) == repr(array)
    assert np.array_equal(tensor.to_frame().to_numpy(), tensor.masses.numpy())
    assert np.array_equal(np.asarray(tensor), tensor.masses.numpy())
    back = tensor.to_numpy()
    assert isinstance(back, CredalPartition)
    assert np.array_equal(back.masses, tensor.masses.numpy())
    assert array.to_numpy() is array


def test_gradients():
    family = FocalSets.full(3)
    first, second = (
        torch.tensor(random_rows(family, seed), requires_grad=True) for seed in (0, 1)
    )
    rate = torch.tensor(0.2, dtype=torch.float64, requires_grad=True)

    def loss(a, b, r):
        m = (
            MassFunctions.unchecked(a, family)
            .combine(MassFunctions.unchecked(b, family))
            .discount(r)
        )
        return (
            m.pignistic()[:, 0].sum()
            + m.contour[:, 1].square().sum()
            + m.distance(m.discount(0.5)).sum()
        )

    assert torch.autograd.gradcheck(loss, (first, second, rate))
    # The constructor keeps gradients as well.
    masses = MassFunctions(first, family)
    masses.combine(
        MassFunctions(second, family), rule="disjunctive"
    ).belief().sum().backward()
    assert float(first.grad.abs().sum()) > 0


def test_precision():
    family = FocalSets.pairs(4)
    single = MassFunctions(
        torch.tensor(random_rows(family), dtype=torch.float32), family
    )
    assert (
        single.masses.dtype
        == single.contour.dtype
        == single.combine(single).masses.dtype
        == torch.float32
    )
    whole = MassFunctions(
        torch.tensor([[1, 0]]), FocalSets.simple(2, empty=False, omega=False)
    )
    assert whole.masses.dtype == torch.float64


def test_invalid_input():
    family = FocalSets.full(2)
    with pytest.raises(ValueError, match=r"\bmasses\b"):
        MassFunctions(torch.full((1, 4), 0.5), family)
    with pytest.raises(ValueError, match=r"\bmasses\b"):
        MassFunctions(torch.tensor([[-0.5, 0.5, 0.5, 0.5]]), family)
    with pytest.raises(ValueError, match=r"\bmasses\b"):
        MassFunctions(torch.tensor([[torch.nan, 0.5, 0.5, 0.5]]), family)
    with pytest.raises(ValueError, match=r"\bmasses\b"):
        MassFunctions(torch.ones((1, 4), dtype=torch.complex64), family)
    array, tensor = both(family)
    with pytest.raises(ValueError, match="same device"):
        array.combine(tensor)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("made", [np.array, torch.tensor], ids=["array", "tensor"])
def test_total_conflict(precision, made):
    rows = np.array([[[0, 1, 0, 0]], [[0, 0, 1, 0]]], dtype=precision)
    first, second = (MassFunctions(made(row), FocalSets.full(2)) for row in rows)
    with pytest.raises(ValueError, match="conflict 1"):
        first.combine(second)
