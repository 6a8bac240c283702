"""What every evidential classifier does: labels in and out, masses, decisions, soft labels, bad input."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from dempster import FocalSets, MassFunctions
from dempster._errors import InvalidInputError
from dempster.classify import EKNNClassifier, EvidenceFromClassifier
from dempster.classify._base import EvidentialClassifier
from dempster.classify.eknn import adaptive_steps


class Given(EvidentialClassifier):
    """A classifier whose masses are the attributes themselves: classes, then the whole frame."""

    def fit(self, X, y):
        self.targets_ = self._checked_training(X, y)[1]
        self.focal_sets_ = FocalSets.simple(len(self.classes_), empty=False)
        return self

    def _masses(self, X):
        return X


MASSES = np.array([[0.9, 0.1, 0.0], [0.4, 0.6, 0.0], [0.1, 0.1, 0.8], [0.05, 0.15, 0.8]])


@pytest.fixture
def given():
    return Given().fit(MASSES, ["no", "yes", "no", "yes"])


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
def test_labels_come_back_unchanged(labels):
    X = np.random.default_rng(0).normal(size=(4, 2))
    model = EKNNClassifier(1, optimize=False).fit(X, labels)
    assert model.predict(X).tolist() == list(labels)
    assert model.predict_mass(X).frame == tuple(np.unique(np.asarray(labels)).tolist())
    assert model.predict(X).dtype == model.classes_.dtype


def test_masses_probabilities_and_predictions_agree(given):
    masses = given.predict_mass(MASSES)
    assert isinstance(masses, MassFunctions)
    assert masses.frame == ("no", "yes")
    np.testing.assert_allclose(given.predict_proba(MASSES), masses.pignistic())
    assert given.predict(MASSES).tolist() == ["no", "yes", "no", "yes"]  # the first class on ties


@pytest.mark.parametrize("rule", ["pignistic", "maximax", "maximin", "hurwicz"])
def test_rules_agree_on_single_classes_and_the_frame(given, rule):
    assert given.decide(MASSES, rule).tolist() == given.predict(MASSES).tolist()


def test_rejection(given):
    # reject when the largest pignistic probability, plausibility or belief is below 1 - reject
    assert given.decide(MASSES, reject=0.42).tolist() == ["no", "yes", -1, -1]
    assert given.decide(MASSES, "maximax", reject=0.3).tolist() == ["no", -1, "no", "yes"]
    assert given.decide(MASSES, "maximin", reject=0.3, reject_label=None).tolist() == ["no", None, None, None]
    assert given.decide(MASSES, reject=1.0).tolist() == given.predict(MASSES).tolist()
    integers = Given().fit(MASSES, [0, 1, 0, 1]).decide(MASSES, reject=0.42)
    assert integers.tolist() == [0, 1, -1, -1]
    assert integers.dtype.kind == "i"
    signs = Given().fit(MASSES, [-1, 1, -1, 1])
    with pytest.raises(InvalidInputError, match=r"^reject_label\b"):
        signs.decide(MASSES, reject=0.42)
    assert signs.decide(MASSES, reject=0.42, reject_label=0).tolist() == [-1, 1, 0, 0]


def test_utilities(given):
    # two classes, and a third act that is never bad
    utilities = [[1.0, 0.0, 0.8], [0.0, 1.0, 0.8]]
    assert given.decide(MASSES, utilities=utilities).tolist() == [0, 2, 2, 2]
    assert given.decide(MASSES, utilities=utilities, acts=["n", "y", "ask"]).tolist() == ["n", "ask", "ask", "ask"]
    # missing a "yes" is ten times worse
    cautious = given.decide(MASSES, utilities=[[1.0, 0.9], [0.0, 1.0]])
    assert cautious.tolist() == ["yes", "yes", "yes", "yes"]
    assert given.decide(MASSES, utilities=np.eye(2), reject=0.42).tolist() == ["no", "yes", -1, -1]
    # an affine change of utilities changes nothing
    shifted = given.decide(MASSES, "hurwicz", utilities=5 + 3 * np.array(utilities), optimism=0.3)
    assert shifted.tolist() == given.decide(MASSES, "hurwicz", utilities=utilities, optimism=0.3).tolist()


def test_an_unknown_class(given):
    # loss rows no: (0, 1, .2, .25), yes: (1, 0, .2, .25), unknown: (1, 1, .2, 0)
    losses = np.array([[0, 1, 0.2, 0.25], [1, 0, 0.2, 0.25], [1, 1, 0.2, 0]])
    acts = ["no", "yes", "reject", "unknown"]
    pessimistic = given.decide(MASSES[:3], "maximin", utilities=1 - losses, acts=acts)
    assert pessimistic.tolist() == ["no", "reject", "reject"]
    optimistic = given.decide(MASSES[:3], "maximax", utilities=1 - losses, acts=acts)
    assert optimistic.tolist() == ["no", "reject", "unknown"]


def test_decisions_agree_with_the_reference(reference):
    case = reference("decision_eknn_vehicles")
    model = Given().fit(case["m"], np.arange(len(case["m"])) % 4)
    for rule, theirs in {
        "maximin": "upper",
        "maximax": "lower",
        "pignistic": "pignistic",
        "hurwicz": "hurwicz",
    }.items():
        for losses in ("01", "reject", "unknown", "random"):
            table = 1 - case[f"L_{losses}"]
            chosen = model.decide(case["m"], rule, utilities=table, optimism=case.parameters["rho"])
            sure = case[f"{losses}_{theirs}_tied"] == 0
            assert chosen[sure].tolist() == case[f"{losses}_{theirs}"][sure].tolist()


def test_cautious_decisions(given):
    kept = given.decide(MASSES, "interval_dominance")
    assert kept.tolist() == [[True, False], [False, True], [True, True], [True, True]]
    assert given.decide(MASSES, "maximality").tolist() == kept.tolist()  # the same for 0-1 losses
    sets = given.decide(MASSES, "partial_assignment", tolerance=0.8)
    assert sets.tolist() == [[True, False], [True, True], [True, True], [True, True]]
    assert given.decide(MASSES, "partial_assignment", tolerance=0.5).sum(axis=1).tolist() == [1, 1, 1, 1]


def test_maximality_keeps_less_than_interval_dominance():
    rng = np.random.default_rng(0)
    m = MassFunctions(rng.dirichlet(np.full(7, 0.4), 200), FocalSets.full(3, empty=False))
    losses = rng.uniform(size=(3, 5))
    loose, tight = (m.decide(rule, losses=losses) for rule in ("interval_dominance", "maximality"))
    assert (tight <= loose).all()
    assert tight.sum() < loose.sum()
    assert tight.any(axis=1).all()
    for rule in ("pignistic", "maximax", "maximin"):  # what a single-act rule chooses is maximal
        best = m.decide(rule, losses=losses)
        if rule == "pignistic":
            assert tight[np.arange(200), best].all()
        assert loose[np.arange(200), best].all()
    # from its definition: act a is beaten by b when the smallest expectation of the difference is positive
    sets = m.focal_sets.membership
    for i in range(20):
        for a in range(5):
            worst = [
                sum(mass * (losses[s, a] - losses[s, b]).min() for mass, s in zip(m.masses[i], sets, strict=True))
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
        ({"utilities": np.eye(3)[:, :2][:1]}, r"^utilities\b"),
        ({"utilities": [[1.0, np.nan], [0.0, 1.0]]}, r"^utilities\b"),
        ({"acts": ["a"]}, r"^acts\b"),
        ({"reject": -0.1}, r"^reject\b"),
        ({"rule": "partial_assignment", "reject": 0.1}, r"^rule\b"),
        ({"rule": "interval_dominance", "reject": 0.1}, r"^reject\b"),
        ({"rule": "hurwicz", "optimism": 2}, r"^optimism\b"),
    ],
)
def test_bad_decisions_are_refused(given, options, message):
    with pytest.raises(InvalidInputError, match=message):
        given.decide(MASSES, **options)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_mass", "decide"])
@pytest.mark.parametrize("model", [EKNNClassifier(), EvidenceFromClassifier()])
def test_not_fitted(method, model):
    with pytest.raises(NotFittedError):
        getattr(model, method)(MASSES)


# ---- labels ---------------------------------------------------------------------------------------------------------


def test_unseen_labels_are_an_error_in_scoring_not_in_prediction(given):
    assert given.score(MASSES, ["no", "yes", "no", "no"]) == 0.75
    with pytest.raises(InvalidInputError, match=r"^y\b"):
        given.score(MASSES, ["no", "yes", "maybe", "no"])
    with pytest.raises(InvalidInputError, match=r"^y\b"):
        given.score(MASSES, given.predict_mass(MASSES))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, r"\by\b"),
        (["a", "a", "a", "a"], r"^y\b"),
        (["a", "b", "a"], r"^y\b"),
        ([0.0, 1.0, np.nan, 1.0], r"^y\b"),
        ([0.5, 1.7, 2.2, 3.1], r"^y\b"),
        (MassFunctions(np.eye(3), FocalSets.simple(2, empty=False)), r"^y\b"),
        (
            MassFunctions([[1.0, 0, 0]] * 4, FocalSets.from_sets(2, [(), (0,), (1,)])),
            r"^y\b",
        ),
        (
            [MassFunctions.from_dict({"a": 1.0}, frame=frame) for frame in ("ab", "ab", "ac", "ab")],
            r"^y\b",
        ),
    ],
    ids=["none", "one class", "length", "nan", "continuous", "soft length", "empty set", "frames"],
)
def test_bad_labels_are_refused(y, message):
    with pytest.raises(InvalidInputError, match=message):
        Given().fit(MASSES, y)


def test_soft_labels_that_do_not_sum_to_one_cannot_be_made():
    with pytest.raises(InvalidInputError, match=r"^masses\b"):
        MassFunctions([[0.5, 0.2, 0.3], [0.5, 0.2, 0.0]], FocalSets.simple(2, empty=False))


def test_targets_of_soft_labels():
    labels = MassFunctions.from_dict(
        [{"b": 1.0}, {("a", "b"): 0.5, "c": 0.5}, {("a", "b", "c"): 1.0}, {(): 0.5, "a": 0.5}], frame="cab"
    )
    targets = Given().fit(np.ones((4, 3)), labels).targets_
    assert targets.names.tolist() == ["c", "a", "b"]
    assert len(targets) == 4
    np.testing.assert_allclose(targets.indicators, [[0, 0, 1], [0.5, 0.25, 0.25], [1 / 3] * 3, [0, 1, 0]])
    np.testing.assert_allclose(targets.contour, [[0, 0, 1], [0.5, 0.5, 0.5], [1, 1, 1], [0, 1, 0]])
    apart = Given().fit(np.ones((4, 3)), [labels[i] for i in range(4)]).targets_
    np.testing.assert_allclose(apart.indicators, targets.indicators)


def test_certain_soft_labels_are_hard_labels():
    masses = np.eye(2, 3)[[1, 0, 1, 1]]
    targets = Given().fit(MASSES, MassFunctions(masses, FocalSets.simple(2, empty=False), frame="xy")).targets_
    assert targets.soft is None
    assert targets.codes.tolist() == [1, 0, 1, 1]
    assert targets.names.tolist() == ["x", "y"]


def test_names_of_any_kind_survive():
    frame = (1, "one", (2, 3))
    labels = MassFunctions(
        np.eye(3, 4)[[0, 1, 2, 2]] * 0.5 + [0, 0, 0, 0.5], FocalSets.simple(3, empty=False), frame=frame
    )
    model = Given().fit(np.eye(4), labels)
    assert tuple(model.classes_) == frame
    assert model.predict(np.eye(4)[:3]).tolist() == list(frame)


# ---- the optimiser --------------------------------------------------------------------------------------------------


def test_adaptive_steps_find_a_minimum_and_never_rise():
    scale = np.array([1.0, 30.0])

    def bowl(x):
        return float((scale * (x - 2) ** 2).sum()), 2 * scale * (x - 2)

    run = adaptive_steps(bowl, np.zeros(2), max_iter=1000, tol=1e-12)
    assert run.converged
    np.testing.assert_allclose(run.model, 2, atol=1e-5)
    assert (np.diff(run.history) <= 0).all()
    short = adaptive_steps(bowl, np.zeros(2), max_iter=3)
    assert len(short.history) == 4
    assert not short.converged
    assert bowl(short.model)[0] == short.objective
