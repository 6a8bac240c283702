"""Mass functions: reference values, properties, errors."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dempster import FocalSets, MassFunctions
from dempster.belief import transforms
from tests.strategies import families, mass_functions, random_masses

RULES = [
    "dempster",
    "conjunctive",
    "disjunctive",
    "dubois_prade",
    "yager",
    "pcr6",
    "average",
]


def dense(values):
    """Return mass functions of values in binary order."""
    values = np.atleast_2d(values)
    family = FocalSets.full(int(np.log2(values.shape[1])))
    return MassFunctions(values[:, family.codes], family)


def in_binary_order(values, family):
    out = np.empty_like(values)
    out[:, family.codes] = values
    return out


# ---- reference values ----------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_transforms_match_the_reference(reference, n):
    case = reference(f"belief_transforms_n{n}")
    m = dense(case["m"])
    full = m.focal_sets
    case.assert_equal("b", in_binary_order(m.implicability(), full))
    case.assert_equal("bel", in_binary_order(m.belief(normalized=True), full))
    case.assert_equal("pl", in_binary_order(m.plausibility(), full))
    case.assert_equal("q", in_binary_order(m.commonality(), full))
    case.assert_equal("betp", m.pignistic())
    case.assert_equal("contour", m.contour)
    case.assert_equal("m_normalised", m.normalize().to_dense())
    case.assert_equal("b", transforms.mass_to_implicability(case["m"]))
    case.assert_equal("q", transforms.mass_to_commonality(case["m"]))
    case.assert_equal("m_from_b", transforms.implicability_to_mass(case["b"]))
    case.assert_equal("m_from_pl", transforms.plausibility_to_mass(case["pl"]))
    case.assert_equal("m_from_q", transforms.commonality_to_mass(case["q"]))
    case.assert_equal(
        "w", transforms.mass_to_conjunctive_weights(case["m"][case["w_rows"]])
    )
    case.assert_equal("m_from_w", transforms.conjunctive_weights_to_mass(case["w"]))
    case.assert_equal(
        "v", transforms.mass_to_disjunctive_weights(case["m"][case["v_rows"]])
    )
    case.assert_equal("m_from_v", transforms.disjunctive_weights_to_mass(case["v"]))


@pytest.mark.parametrize(
    "name",
    [
        "combination_n2_s2",
        "combination_n3_s2",
        "combination_n3_s3",
        "combination_n4_s2",
    ],
)
def test_combination_matches_the_reference(reference, name):
    case = reference(name)
    checked = 0
    for key in case.names:
        if key.startswith("m_"):
            continue
        rule, kind = key.rsplit("_", 1)
        sources = [
            dense(case[f"m_{kind}"][:, s]) for s in range(case.parameters["sources"])
        ]
        case.assert_equal(key, sources[0].combine(*sources[1:], rule=rule).to_dense())
        checked += 1
    assert checked >= 16


@pytest.mark.parametrize("name", ["decision_n3", "decision_n4"])
def test_discounting_distance_and_decisions_match_the_reference(reference, name):
    case = reference(name)
    m = dense(case["m"])
    case.assert_equal("discounted", m.discount(1 - case["reliability"]).to_dense())
    distances = np.array(
        [[m[i].distance(m[j])[0] for j in range(len(m))] for i in range(len(m))]
    )
    case.assert_equal("jousselme", distances)
    assert m.decide("maximax").tolist() == case["decision_pl"].tolist()
    assert m.decide("maximin").tolist() == case["decision_bel"].tolist()
    assert m.decide("pignistic").tolist() == case["decision_betp"].tolist()


def test_least_committed_masses_match_the_reference(reference):
    case = reference("isopignistic")
    for n in (2, 3, 4, 5):
        case.assert_equal(
            f"m_n{n}", MassFunctions.from_pignistic(case[f"p_n{n}"]).to_dense()
        )


# Two mass functions on three answers in binary order, with results computed by hand.
M1 = [0, 0.4, 0.1, 0.2, 0.2, 0, 0, 0.1]
M2 = [0, 0.2, 0.3, 0.1, 0.1, 0, 0.2, 0.1]
COMBINED = {
    "conjunctive": [0.41, 0.22, 0.20, 0.05, 0.09, 0, 0.02, 0.01],
    "dempster": [0, 0.372881, 0.338983, 0.084746, 0.152542, 0, 0.033898, 0.016949],
    "disjunctive": [0, 0.08, 0.03, 0.31, 0.02, 0.08, 0.13, 0.35],
    "dubois_prade": [0, 0.22, 0.20, 0.19, 0.09, 0.08, 0.09, 0.13],
    "pcr6": [0, 0.407238, 0.299095, 0.07, 0.167, 0, 0.046667, 0.01],
    "yager": [0, 0.22, 0.20, 0.05, 0.09, 0, 0.02, 0.42],
}


@pytest.mark.parametrize("rule", COMBINED)
def test_combination_by_hand(rule):
    result = dense(M1).combine(dense(M2), rule=rule)
    np.testing.assert_allclose(result.to_dense()[0], COMBINED[rule], atol=1e-6)


def test_combination_lecture_examples():
    """Test examples of Denoeux's lecture on evidential machine learning."""
    first = MassFunctions.from_dict(
        {("T", "O"): 0.9, ("T", "O", "G", "R"): 0.1}, frame="TOGR"
    )
    second = MassFunctions.from_dict(
        {("G", "T"): 0.8, ("T", "O", "G", "R"): 0.2}, frame="TOGR"
    )
    joint = first.combine(second)
    expected = {
        ("T",): 0.72,
        ("T", "O"): 0.18,
        ("T", "G"): 0.08,
        ("T", "O", "G", "R"): 0.02,
    }
    for clusters, mass in expected.items():
        np.testing.assert_allclose(joint.mass(clusters), mass)
    third = MassFunctions.from_dict(
        {("G", "R"): 0.8, ("T", "O", "G", "R"): 0.2}, frame="TOGR"
    )
    joint = first.combine(third)
    for clusters, mass in {
        ("T", "O"): 9 / 14,
        ("G", "R"): 4 / 14,
        ("T", "O", "G", "R"): 1 / 14,
    }.items():
        np.testing.assert_allclose(joint.mass(clusters), mass)


def test_conflict_of_nn_evclus_example_1():
    """Test Example 1 of Denoeux (2021)."""
    m1 = MassFunctions.from_dict(
        {"1": 0.6, ("1", "2"): 0.3, ("1", "2", "3"): 0.1}, frame="123"
    )
    m2 = MassFunctions.from_dict(
        {("1", "2"): 0.5, "3": 0.2, ("1", "2", "3"): 0.3}, frame="123"
    )
    m3 = MassFunctions.from_dict({"1": 0.1, "2": 0.1, "3": 0.8}, frame="123")
    np.testing.assert_allclose(m1.conflict(m2), 0.18)
    np.testing.assert_allclose(m1.conflict(m3), 0.78)


# ---- properties ----------------------------------------------------------------------------------


@given(mass_functions())
def test_order_of_belief_pignistic_and_plausibility(m):
    belief = m.singleton_belief
    plausible = m.contour
    betp = m.pignistic(normalized=False)
    assert np.all(belief <= betp + 1e-12)
    assert np.all(betp <= plausible + 1e-12)
    possible = m.empty < 1
    singletons = [(k,) for k in range(m.n_clusters)]
    assert np.all(
        (m.belief(singletons, normalized=True) <= m.pignistic() + 1e-12)[possible]
    )
    assert np.all(
        (m.pignistic() <= m.plausibility(singletons, normalized=True) + 1e-12)[possible]
    )
    everything = FocalSets.full(m.n_clusters)
    assert np.all(m.belief(everything) <= m.plausibility(everything) + 1e-12)
    np.testing.assert_allclose(m.pignistic().sum(axis=1), 1)
    np.testing.assert_allclose(m.plausibility_transform().sum(axis=1), 1)


@given(mass_functions())
def test_belief_and_plausibility_are_dual(m):
    everything = FocalSets.full(m.n_clusters)
    complement = FocalSets(~everything.membership)
    np.testing.assert_allclose(
        m.plausibility(everything), 1 - m.implicability(complement), atol=1e-12
    )


@given(mass_functions())
def test_definitions(m):
    sets = [set(s) for s in m.focal_sets]
    asked = [set(s) for s in FocalSets.full(m.n_clusters)]
    for row, got in zip(m.masses, m.belief(FocalSets.full(m.n_clusters)), strict=True):
        expected = [
            sum(v for b, v in zip(sets, row, strict=True) if b and b <= a)
            for a in asked
        ]
        np.testing.assert_allclose(got, expected, atol=1e-12)
    for row, got in zip(
        m.masses, m.commonality(FocalSets.full(m.n_clusters)), strict=True
    ):
        expected = [
            sum(v for b, v in zip(sets, row, strict=True) if b >= a) for a in asked
        ]
        np.testing.assert_allclose(got, expected, atol=1e-12)


@given(families(), st.integers(0, 2**32 - 1))
def test_transforms_invert(family, seed):
    m = MassFunctions(
        random_masses(np.random.default_rng(seed), 3, len(family)), family
    )
    np.testing.assert_allclose(
        MassFunctions.from_function(m.implicability(), family, "implicability").masses,
        m.masses,
        atol=1e-9,
    )
    np.testing.assert_allclose(
        MassFunctions.from_function(m.commonality(), family, "commonality").masses,
        m.masses,
        atol=1e-9,
    )
    if family.omega_index is not None and family.empty_index is not None:
        np.testing.assert_allclose(
            MassFunctions.from_function(m.belief(), family).masses, m.masses, atol=1e-9
        )
    full = MassFunctions(m.to_family(FocalSets.full(family.n_clusters)))
    np.testing.assert_allclose(
        MassFunctions.from_function(
            full.plausibility(), full.focal_sets, "plausibility"
        ).masses,
        full.masses,
        atol=1e-9,
    )


@given(st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_fast_transforms_invert_on_the_power_set(c, seed):
    m = random_masses(np.random.default_rng(seed), 3, 1 << c)
    for there, back in (
        (transforms.mass_to_commonality, transforms.commonality_to_mass),
        (transforms.mass_to_implicability, transforms.implicability_to_mass),
        (
            lambda m: 1 - transforms.mass_to_implicability(m)[:, ::-1],
            transforms.plausibility_to_mass,
        ),
    ):
        np.testing.assert_allclose(back(there(m)), m, atol=1e-9)


@settings(deadline=None)
@given(
    families(max_clusters=4, empty=st.just(False)),
    st.integers(0, 2**32 - 1),
    st.sampled_from(RULES),
)
def test_rules_are_commutative(family, seed, rule):
    rng = np.random.default_rng(seed)
    a, b = (
        MassFunctions(random_masses(rng, 3, len(family)), family).discount(0.01)
        for _ in range(2)
    )
    one = a.combine(b, rule=rule)
    other = b.combine(a, rule=rule)
    assert one.masses.min() >= 0
    np.testing.assert_allclose(one.masses.sum(axis=1), 1)
    np.testing.assert_allclose(one.to_dense(), other.to_dense(), atol=1e-12)


@settings(deadline=None)
@given(
    families(max_clusters=4),
    st.integers(0, 2**32 - 1),
    st.sampled_from(["conjunctive", "disjunctive"]),
)
def test_associative_rules(family, seed, rule):
    rng = np.random.default_rng(seed)
    a, b, c = (
        MassFunctions(random_masses(rng, 2, len(family)), family) for _ in range(3)
    )
    np.testing.assert_allclose(
        a.combine(b, rule=rule).combine(c, rule=rule).to_dense(),
        a.combine(b, c, rule=rule).to_dense(),
        atol=1e-12,
    )


@given(families(max_clusters=4), st.integers(0, 2**32 - 1))
def test_fast_and_direct_combination_agree(family, seed):
    from dempster.belief.combination import (
        _by_pairs,
        _conjunctive,
        _disjunctive,
    )

    rng = np.random.default_rng(seed)
    full = FocalSets.full(family.n_clusters)
    sources = [(random_masses(rng, 3, len(full)), full) for _ in range(2)]
    for rule, join in ((_conjunctive, np.logical_and), (_disjunctive, np.logical_or)):
        np.testing.assert_allclose(
            transforms.to_dense(*rule(sources)),
            transforms.to_dense(*_by_pairs(sources, join)),
            atol=1e-12,
        )


@given(mass_functions(empty=st.just(False)))
def test_dempster_multiplies_contours(m):
    a = m[:2].discount(0.1)
    b = m[2:].discount(0.2)
    product = a.contour * b.contour
    got = a.combine(b).contour
    np.testing.assert_allclose(
        got / got.sum(axis=1, keepdims=True),
        product / product.sum(axis=1, keepdims=True),
    )


@given(mass_functions())
def test_vacuous_mass_function_is_neutral(m):
    vacuous = MassFunctions([[1.0]], FocalSets([[True] * m.n_clusters]))
    np.testing.assert_allclose(
        m.combine(vacuous, rule="conjunctive").to_dense(), m.to_dense(), atol=1e-15
    )
    np.testing.assert_allclose(
        m.combine(m, rule="average").to_dense(), m.to_dense(), atol=1e-15
    )


@given(mass_functions(n=3))
def test_jousselme_is_a_metric(m):
    a = m[0]
    b = m[1]
    c = m[2]
    assert a.distance(a)[0] <= 1e-7
    assert 0 <= a.distance(b)[0] <= 1 + 1e-12
    np.testing.assert_allclose(a.distance(b), b.distance(a), atol=1e-12)
    assert a.distance(c)[0] <= a.distance(b)[0] + b.distance(c)[0] + 1e-12


@given(mass_functions())
def test_conditioning_and_discounting(m):
    everything = tuple(range(m.n_clusters))
    np.testing.assert_allclose(
        m.condition(everything, normalized=False).to_dense(), m.to_dense(), atol=1e-15
    )
    certain = m.condition((0,), normalized=False)
    np.testing.assert_allclose(certain.mass((0,)), m.plausibility((0,)), atol=1e-12)
    np.testing.assert_allclose(m.discount(1.0).mass(everything), 1)
    np.testing.assert_allclose(m.discount(0.0).to_dense(), m.to_dense())


@given(mass_functions())
def test_nonspecificity_is_bounded(m):
    assert np.all(m.nonspecificity() >= 0)
    assert np.all(m.nonspecificity() <= np.log2(m.n_clusters) + 1e-12)


@given(mass_functions(n=6))
def test_permuted_answers(m):
    order = np.random.default_rng(0).permutation(m.n_clusters)
    renamed = MassFunctions(m.masses, FocalSets(m.focal_sets.membership[:, order]))
    np.testing.assert_allclose(renamed.contour, m.contour[:, order])
    np.testing.assert_allclose(renamed.pignistic(), m.pignistic()[:, order])
    np.testing.assert_allclose(renamed.nonspecificity(), m.nonspecificity())
    np.testing.assert_allclose(renamed[:3].distance(renamed[3:]), m[:3].distance(m[3:]))


@given(st.integers(2, 5), st.integers(0, 2**32 - 1))
def test_consonant_masses_have_the_given_contour(c, seed):
    contour = np.random.default_rng(seed).random((6, c)).round(1)
    m = MassFunctions.from_contour(contour)
    np.testing.assert_allclose(m.contour, contour, atol=1e-12)
    p = np.random.default_rng(seed).dirichlet(np.ones(c), 6)
    np.testing.assert_allclose(
        MassFunctions.from_pignistic(p).pignistic(), p, atol=1e-12
    )


# ---- behavior ------------------------------------------------------------------------------------


def test_from_dict_names_and_queries():
    m = MassFunctions.from_dict({("a",): 0.6, ("a", "b"): 0.3, (): 0.1}, frame="abc")
    assert m.mass("a").tolist() == [0.6]
    assert m.belief(("a", "b")).tolist() == pytest.approx([0.9])
    assert m.plausibility([("a",), ("b",), ("c",)]).tolist() == [
        pytest.approx([0.9, 0.3, 0.0])
    ]
    assert "{a}: 0.6" in repr(m)
    with pytest.raises(ValueError, match=r"\bsets\b"):
        m.belief("d")
    several = MassFunctions.from_dict(
        [{"a": 1}, {("a", "b"): 1}], frame=["a", "b"], index=["x", "y"]
    )
    assert several.to_frame().loc["y", "Ω"] == 1
    assert list(several.to_frame().index) == ["x", "y"]
    assert several[1].to_frame().index.tolist() == ["y"]


@pytest.mark.parametrize(
    "frame", [("a,b", "a", "b"), (1, "1"), ("a", "b,c", "a,b", "c")]
)
def test_names_of_sets_differ(frame):
    m = MassFunctions(np.eye(2 ** len(frame)), FocalSets.full(len(frame)), frame=frame)
    assert m.to_frame().columns.is_unique
    again = MassFunctions(m.to_frame().iloc[:, ::-1], m.focal_sets, frame=frame)
    np.testing.assert_array_equal(again.masses, m.masses)


def test_dense_array_is_limited():
    family = FocalSets.simple(20)
    few, many = (
        MassFunctions(np.eye(22)[np.zeros(n, dtype=int)], family) for n in (2, 2000)
    )
    assert few.to_dense().shape == (2, 2**20)
    with pytest.raises(ValueError, match="15.6 GB of memory; convert fewer rows"):
        many.to_dense()


def test_normalization(reference):
    case = reference("normalize_credpart")
    for name in ("pairs", "pairs_noomega", "full", "simple_noomega"):
        m = MassFunctions(case[f"{name}_mass"], FocalSets(case[f"{name}_F"]))
        for rule in ("dempster", "yager"):
            theirs = MassFunctions(
                case[f"{name}_{rule}_mass"], FocalSets(case[f"{name}_{rule}_F"])
            )
            ours = m.normalize(rule)
            assert ours.focal_sets.empty_index is None
            np.testing.assert_allclose(ours.to_dense(), theirs.to_dense(), atol=1e-12)
            assert m.normalize(rule).nonspecificity().mean() / np.log2(
                m.n_clusters
            ) == pytest.approx(float(case[f"{name}_{rule}_N"]), abs=1e-10)


def test_all_mass_on_the_empty_set():
    m = MassFunctions([[1.0, 0, 0], [0, 1, 0]], FocalSets.simple(2, omega=False))
    with pytest.warns(UserWarning, match="vacuous"):
        normal = m.normalize()
    assert normal.mass((0, 1)).tolist() == [1, 0]
    assert m.pignistic().tolist() == [[0.5, 0.5], [1, 0]]
    assert m.belief([(0,), (0, 1)], normalized=True)[0].tolist() == [0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert m.decide("pignistic").tolist() == [0, 0]


def test_total_conflict():
    a, b = (MassFunctions.from_dict({x: 1}, frame="ab") for x in "ab")
    with pytest.raises(ValueError, match="conflict 1 .*discount"):
        a.combine(b)
    almost = b.discount(1e-13)
    with pytest.warns(UserWarning, match="close to 1"):
        a.combine(almost)


def test_float32_is_kept():
    family = FocalSets.pairs(3)
    m = MassFunctions(
        random_masses(np.random.default_rng(0), 5, len(family)).astype(np.float32),
        family,
    )
    for values in (
        m.masses,
        m.contour,
        m.belief(),
        m.pignistic(),
        m.singleton_belief,
        m.conflict(m),
        m.nonspecificity(),
        m.distance(m[::-1]),
        m.normalize().masses,
        m.discount(0.2).masses,
        m.combine(m, rule="conjunctive").masses,
        m.combine(m, rule="dubois_prade").masses,
        m.plausibility_transform(),
    ):
        assert values.dtype == np.float32


def test_single_mass_function_combines_with_every_row():
    family = FocalSets.full(3)
    many = MassFunctions(random_masses(np.random.default_rng(0), 7, 8), family)
    one = many[2]
    np.testing.assert_allclose(
        many.combine(one, rule="conjunctive")[2].masses,
        one.combine(one, rule="conjunctive").masses,
    )
    assert many.conflict(one).shape == (7,)
    with pytest.raises(ValueError, match="same number"):
        many.combine(many[:3])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda f: MassFunctions([[0.5, 0.6, 0, 0]], f), "row 0 sums to 1.1"),
        (lambda f: MassFunctions([[-0.5, 1.5, 0, 0]], f), "must not be negative"),
        (lambda f: MassFunctions([[np.nan, 1, 0, 0]], f), "must be finite"),
        (lambda f: MassFunctions([[np.inf, 1, 0, 0]], f), "must be finite"),
        (lambda f: MassFunctions([[1, 0]], f), r"shape \(n, 4\)"),
        (lambda f: MassFunctions([[1, 0, 0, 0]], f, index=[1, 2]), "^index must"),
        (lambda f: MassFunctions([[1, 0, 0, 0]], f, frame="aa"), "^frame must"),
        (
            lambda f: MassFunctions([[1, 0, 0, 0]], f).combine(
                MassFunctions([[1, 0, 0, 0]], f), rule="x"
            ),
            "rule must",
        ),
        (lambda f: MassFunctions([[1, 0, 0, 0]], f).discount(2), "rate must lie in"),
        (lambda f: MassFunctions([[1, 0, 0, 0]], f).normalize("x"), "rule must be"),
        (lambda f: MassFunctions([[1, 0, 0, 0]], f).decide("x"), "rule must"),
        (
            lambda f: MassFunctions([[1, 0, 0, 0]], f).decide(losses=[[1, 2]]),
            "^losses must",
        ),
        (
            lambda f: MassFunctions([[1, 0, 0, 0]], f).decide("hurwicz", optimism=3),
            r"\boptimism\b",
        ),
        (lambda f: MassFunctions([[1, 0, 0, 0]], f).decide_sets(0.2), r"\btolerance\b"),
        (
            lambda f: MassFunctions([[1, 0, 0, 0]], f).to_family(
                FocalSets.simple(2, empty=False)
            ),
            "^focal_sets must",
        ),
        (lambda f: MassFunctions.from_contour([[2.0, 0]]), "values in"),
        (lambda f: MassFunctions.from_pignistic([[0.2, 0.2]]), "sum to one"),
    ],
)
def test_invalid_input(build, message):
    with pytest.raises(ValueError, match=message):
        build(FocalSets.full(2))


def test_rounding_errors_are_corrected():
    m = MassFunctions([[-1e-12, 1 + 1e-9, 0, 0]], FocalSets.full(2))
    assert m.masses.min() == 0
    assert m.masses.sum() == 1


def test_normalization_of_rounding_errors_beside_the_empty_set():
    family = FocalSets.simple(3)
    masses = np.zeros((1, len(family)))
    masses[0, [0, 1]] = 1.0, 1e-17
    for rule in ("dempster", "yager"):
        out = MassFunctions(masses, family).normalize(rule).masses
        assert out.sum() == pytest.approx(1.0, abs=1e-12)
        assert out[0, -1] == pytest.approx(1.0, abs=1e-12)


def test_conversion_to_array():
    masses = MassFunctions([[0.2, 0.8], [1, 0]], FocalSets.from_sets(2, [[0], [0, 1]]))
    np.testing.assert_array_equal(np.asarray(masses), masses.masses)
    np.testing.assert_array_equal(
        np.asarray(masses, dtype=np.float32), masses.masses.astype(np.float32)
    )
    changed = np.array(masses)
    changed[0, 0] = 5  # The array is a copy.
    assert masses.masses[0, 0] == 0.2
