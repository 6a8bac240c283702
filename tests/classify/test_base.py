"""Base class of the classifiers: labels, masses, decisions, soft labels, invalid input."""

import numpy as np
import pandas as pd
import pytest

from dempster import FocalSets, MassFunctions
from dempster._errors import InvalidInputError
from dempster.classify import EKNNClassifier
from dempster.classify._base import EvidentialClassifier


class Identity(EvidentialClassifier):
    """A classifier whose masses are the attributes: the classes, then the frame."""

    def fit(self, X, y):
        self.targets_ = self._validate_training(X, y)[1]
        self.focal_sets_ = FocalSets.simple(len(self.classes_), empty=False)
        return self

    def _compute_masses(self, X):
        return X


MASSES = np.array(
    [[0.9, 0.1, 0.0], [0.4, 0.6, 0.0], [0.1, 0.1, 0.8], [0.05, 0.15, 0.8]]
)


@pytest.fixture
def model():
    return Identity().fit(MASSES, ["no", "yes", "no", "yes"])


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "b", "c"],
        [3, 1, 3, 7],
        np.array([True, False, True, False]),
        np.array([-1, 1, 1, -1]),
        pd.Series(pd.Categorical(["x", "y", "x", "z"])),
    ],
    ids=["strings", "integers", "booleans", "signs", "categories"],
)
def test_labels_are_preserved(labels):
    X = np.random.default_rng(0).normal(size=(4, 2))
    model = EKNNClassifier(1, optimize=False).fit(X, labels)
    assert model.predict(X).tolist() == list(labels)
    assert model.predict_mass(X).frame == tuple(np.unique(np.asarray(labels)).tolist())
    assert model.predict(X).dtype == model.classes_.dtype


def test_masses_probabilities_and_predictions_agree(model):
    masses = model.predict_mass(MASSES)
    assert isinstance(masses, MassFunctions)
    assert masses.frame == ("no", "yes")
    np.testing.assert_allclose(model.predict_proba(MASSES), masses.pignistic())
    assert model.predict(MASSES).tolist() == ["no", "yes", "no", "yes"]


@pytest.mark.parametrize("rule", ["pignistic", "maximax", "maximin", "hurwicz"])
def test_rules_agree_on_single_classes_and_the_frame(model, rule):
    assert model.decide(MASSES, rule).tolist() == model.predict(MASSES).tolist()


def test_rejection(model):
    # An object is rejected if its largest pignistic probability, plausibility or belief is below 1
    # - reject.
    assert model.decide(MASSES, reject=0.42).tolist() == ["no", "yes", -1, -1]
    assert model.decide(MASSES, "maximax", reject=0.3).tolist() == [
        "no",
        -1,
        "no",
        "yes",
    ]
    assert model.decide(MASSES, "maximin", reject=0.3, reject_label=None).tolist() == [
        "no",
        None,
        None,
        None,
    ]
    assert model.decide(MASSES, reject=1.0).tolist() == model.predict(MASSES).tolist()
    integers = Identity().fit(MASSES, [0, 1, 0, 1]).decide(MASSES, reject=0.42)
    assert integers.tolist() == [0, 1, -1, -1]
    assert integers.dtype.kind == "i"
    signs = Identity().fit(MASSES, [-1, 1, -1, 1])
    with pytest.raises(ValueError, match="tolerance must be"):
        signs.decide(MASSES, tolerance=7)
    with pytest.raises(InvalidInputError, match=r"^reject_label\b"):
        signs.decide(MASSES, reject=0.42)
    assert signs.decide(MASSES, reject=0.42, reject_label=0).tolist() == [-1, 1, 0, 0]


def test_losses(model):
    # two classes, and a third act with a small loss for both
    masses = model.predict_mass(MASSES)
    losses = np.array([[0.0, 1.0, 0.2], [1.0, 0.0, 0.2]])
    assert masses.decide(losses=losses).tolist() == [0, 2, 2, 2]
    # A missed "yes" is ten times worse.
    assert masses.decide(losses=[[0.0, 0.1], [1.0, 0.0]]).tolist() == [1, 1, 1, 1]
    # An affine transformation of the losses has no effect.
    shifted = masses.decide("hurwicz", losses=5 + 3 * losses, optimism=0.3)
    assert (
        shifted.tolist()
        == masses.decide("hurwicz", losses=losses, optimism=0.3).tolist()
    )


def test_unknown_class(model):
    masses = model.predict_mass(MASSES[:3])
    losses = np.array([[0, 1, 0.2, 0.25], [1, 0, 0.2, 0.25], [1, 1, 0.2, 0]])
    assert masses.decide("maximin", losses=losses).tolist() == [0, 2, 2]
    assert masses.decide("maximax", losses=losses).tolist() == [0, 2, 3]


def test_decisions_agree_with_the_reference(reference):
    case = reference("decision_eknn_vehicles")
    model = Identity().fit(case["m"], np.arange(len(case["m"])) % 4)
    for rule, theirs in {
        "maximin": "upper",
        "maximax": "lower",
        "pignistic": "pignistic",
        "hurwicz": "hurwicz",
    }.items():
        for losses in ("01", "reject", "unknown", "random"):
            chosen = model.predict_mass(case["m"]).decide(
                rule, losses=case[f"L_{losses}"], optimism=case.parameters["rho"]
            )
            sure = case[f"{losses}_{theirs}_tied"] == 0
            assert chosen[sure].tolist() == case[f"{losses}_{theirs}"][sure].tolist()


def test_cautious_decisions(model):
    kept = model.decide(MASSES, "interval_dominance")
    assert kept.tolist() == [[True, False], [False, True], [True, True], [True, True]]
    # the same for 0-1 losses
    assert model.decide(MASSES, "maximality").tolist() == kept.tolist()
    sets = model.decide(MASSES, "partial_assignment", tolerance=0.8)
    assert sets.tolist() == [[True, False], [True, True], [True, True], [True, True]]
    assert model.decide(MASSES, "partial_assignment", tolerance=0.5).sum(
        axis=1
    ).tolist() == [
        1,
        1,
        1,
        1,
    ]


def test_maximality_selects_less_than_interval_dominance():
    rng = np.random.default_rng(0)
    m = MassFunctions(
        rng.dirichlet(np.full(7, 0.4), 200), FocalSets.full(3, empty=False)
    )
    losses = rng.uniform(size=(3, 5))
    loose, tight = (
        m.decide(rule, losses=losses) for rule in ("interval_dominance", "maximality")
    )
    assert (tight <= loose).all()
    assert tight.sum() < loose.sum()
    assert tight.any(axis=1).all()
    for rule in (
        "pignistic",
        "maximax",
        "maximin",
    ):  # The act of a precise rule is maximal.
        best = m.decide(rule, losses=losses)
        if rule == "pignistic":
            assert tight[np.arange(200), best].all()
        assert loose[np.arange(200), best].all()
    # Act b dominates a if the lower expectation of the difference is positive.
    sets = m.focal_sets.membership
    for i in range(20):
        for a in range(5):
            worst = [
                sum(
                    mass * (losses[s, a] - losses[s, b]).min()
                    for mass, s in zip(m.masses[i], sets, strict=True)
                )
                for b in range(5)
            ]
            assert tight[i, a] == (max(worst) <= 1e-12)


def test_probability_mass_functions_leave_one_maximal_act():
    m = MassFunctions([[0.5, 0.3, 0.2]], FocalSets.simple(3, empty=False, omega=False))
    assert m.decide("maximality").tolist() == [[True, False, False]]
    with pytest.raises(InvalidInputError, match=r"^reject\b"):
        m.decide("maximality", reject=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "best"}, r"^rule\b"),
        ({"reject": -0.1}, r"^reject\b"),
        ({"rule": "partial_assignment", "reject": 0.1}, r"^reject\b"),
        ({"rule": "interval_dominance", "reject": 0.1}, r"^reject\b"),
        ({"rule": "hurwicz", "optimism": 2}, r"^optimism\b"),
    ],
)
def test_invalid_decisions(model, options, message):
    with pytest.raises(InvalidInputError, match=message):
        model.decide(MASSES, **options)


# ---- labels --------------------------------------------------------------------------------------


def test_score(model):
    assert model.score(MASSES, ["no", "yes", "no", "no"]) == 0.75
    assert model.score(MASSES, ["no", "yes", "maybe", "no"]) == 0.5
    with pytest.raises(InvalidInputError, match=r"^y\b"):
        model.score(MASSES, model.predict_mass(MASSES))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, r"\by\b"),
        (["a", "a", "a", "a"], r"^y\b"),
        (["a", "b", "a"], r"^y\b"),
        ([0.5, 1.7, 2.2, 3.1], r"^y\b"),
        (MassFunctions(np.eye(3), FocalSets.simple(2, empty=False)), r"^y\b"),
        (
            MassFunctions([[1.0, 0, 0]] * 4, FocalSets.from_sets(2, [(), (0,), (1,)])),
            r"^y\b",
        ),
        (
            [
                MassFunctions.from_dict({"a": 1.0}, frame=frame)
                for frame in ("ab", "ab", "ac", "ab")
            ],
            r"^y\b",
        ),
    ],
    ids=[
        "none",
        "one class",
        "length",
        "continuous",
        "soft length",
        "empty set",
        "frames",
    ],
)
def test_invalid_labels(y, message):
    with pytest.raises(InvalidInputError, match=message):
        Identity().fit(MASSES, y)


def test_soft_labels_must_sum_to_one():
    with pytest.raises(InvalidInputError, match=r"^masses\b"):
        MassFunctions(
            [[0.5, 0.2, 0.3], [0.5, 0.2, 0.0]], FocalSets.simple(2, empty=False)
        )


def test_targets_of_soft_labels():
    labels = MassFunctions.from_dict(
        [
            {"b": 1.0},
            {("a", "b"): 0.5, "c": 0.5},
            {("a", "b", "c"): 1.0},
            {(): 0.5, "a": 0.5},
        ],
        frame="cab",
    )
    targets = Identity().fit(np.ones((4, 3)), labels).targets_
    assert targets.names.tolist() == ["c", "a", "b"]
    np.testing.assert_allclose(
        targets.indicators, [[0, 0, 1], [0.5, 0.25, 0.25], [1 / 3] * 3, [0, 1, 0]]
    )
    np.testing.assert_allclose(
        targets.contour, [[0, 0, 1], [0.5, 0.5, 0.5], [1, 1, 1], [0, 1, 0]]
    )
    apart = Identity().fit(np.ones((4, 3)), [labels[i] for i in range(4)]).targets_
    np.testing.assert_allclose(apart.indicators, targets.indicators)


def test_certain_soft_labels_are_hard_labels():
    masses = np.eye(2, 3)[[1, 0, 1, 1]]
    targets = (
        Identity()
        .fit(
            MASSES, MassFunctions(masses, FocalSets.simple(2, empty=False), frame="xy")
        )
        .targets_
    )
    assert targets.soft is None
    assert targets.codes.tolist() == [1, 0, 1, 1]
    assert targets.names.tolist() == ["x", "y"]


def test_class_names_of_any_type():
    frame = (1, "one", (2, 3))
    labels = MassFunctions(
        np.eye(3, 4)[[0, 1, 2, 2]] * 0.5 + [0, 0, 0, 0.5],
        FocalSets.simple(3, empty=False),
        frame=frame,
    )
    model = Identity().fit(np.eye(4), labels)
    assert tuple(model.classes_) == frame
    assert model.predict(np.eye(4)[:3]).tolist() == list(frame)
