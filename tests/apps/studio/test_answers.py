"""Computations of the studio: packing, rules, answers, expected gain, planes."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dempster.apps.studio
from dempster import CredalPartition, FocalSets
from dempster._text import to_plain
from dempster.apps.map import STATIC_FOLDER, pack
from dempster.apps.studio.errors import describe_error
from dempster.apps.studio.planes import compute_distortion
from dempster.apps.studio.selection import Condition, Rule, fit_rule
from dempster.apps.studio.sessions import PairAnswers, to_constraints
from dempster.plot.palette import PALETTE
from tests.apps.report.cases import unpack

# ---- arrays --------------------------------------------------------------------------------------


def test_packed_arrays_round_trip():
    arrays = {
        "a": np.arange(5, dtype=np.float32),
        "b": np.array([1, 2, 3], dtype=np.uint8),
        "c": np.arange(6, dtype=np.int32).reshape(3, 2),
    }
    found = unpack(pack(arrays, words="größer", nothing=float("nan")))
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array.ravel())
    assert found["words"] == "größer"
    assert found["nothing"] is None


def test_to_plain():
    assert to_plain(
        {
            1: np.float64("inf"),
            "k": [np.int64(2), np.bool_(True), pd.Timestamp("2020-01-01")],
        }
    ) == {
        "1": None,
        "k": [2, True, "2020-01-01 00:00:00"],
    }


# ---- rules ---------------------------------------------------------------------------------------


def test_rule_recovers_a_rectangle():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 4)), columns=list("abcd"))
    chosen = (
        table["b"].between(-0.5, 0.7).to_numpy() & table["d"].between(0, 3).to_numpy()
    )
    rule = fit_rule(table, chosen)
    assert {condition.column for condition in rule.conditions} == {"b", "d"}
    np.testing.assert_array_equal(rule.holds(table), chosen)
    assert len(rule.describe()["text"]) < 60  # few digits


def test_rule_validation_and_round_trip():
    table = pd.DataFrame({"x": [1.0, 2.0, np.nan, 4.0], "name": list("abcd")})
    rule = Rule.from_json([{"column": "x", "low": 1.5, "high": 4}])
    assert rule.holds(table).tolist() == [False, True, False, True]
    assert rule.describe()["text"] == "x from 1.5 to 4"
    assert Rule.from_json(rule.describe()["conditions"]) == rule
    with pytest.raises(ValueError, match="conditions must"):
        Rule.from_json([{"column": "x", "low": 2, "high": 1}])
    with pytest.raises(ValueError, match="name"):
        Condition("name", 0, 1).holds(table)
    with pytest.raises(ValueError, match="nothing is selected"):
        fit_rule(table, np.zeros(4, dtype=bool))


# ---- teaching ------------------------------------------------------------------------------------


def test_pair_answers():
    answers = PairAnswers()
    answers.add(0, 1, "same")
    answers.add(1, 2, "same")
    answers.add(2, 0, "different")
    answers.add(3, 4, "unknown")
    about = answers.describe(None, list("abcde"))
    assert about["n"] == 3
    assert [one["chain"] for one in about["contradictions"]] in (
        [["a", "b", "c"]],
        [["c", "b", "a"]],
    )
    answers.add(0, 2, "same")
    assert answers.describe(None, list("abcde"))["contradictions"] == []
    del answers.answers[-1:]
    assert len(answers) == 2
    # a run without rows 0 and 3
    constraints = to_constraints(answers.select(np.array([1, 2, 4])), 3)
    assert constraints.must_link.tolist() == [[0, 1]]
    assert len(constraints.cannot_link) == 0
    with pytest.raises(ValueError, match="answer must be"):
        answers.add(0, 1, "maybe")


def test_expected_gain_follows_from_conditioning():
    from dempster.apps.studio.teaching import expected_gain

    sets = FocalSets.full(3)
    masses = np.zeros((2, len(sets)))
    names = sets.names()
    masses[0, names.index("Ω")] = 1  # vacuous: log2(3) bits
    masses[1, names.index("{0}")] = 1

    class Run:
        partition = CredalPartition(masses, sets)

    probability, gain, doubt = expected_gain(Run, 0, 1)
    assert probability == pytest.approx(1 / 3)
    assert doubt == pytest.approx(np.log2(3))
    # one bit remains after "different"
    assert gain == pytest.approx(np.log2(3) - 2 / 3)


def test_messages_leave_out_the_temporary_folder():
    error = ValueError("cannot open '/tmp/dempster-studio-x1/0f/1/table.csv'")
    assert describe_error(error) == (422, "cannot open 'table.csv'")


# ---- planes --------------------------------------------------------------------------------------


def test_two_attributes_are_not_distorted():
    data = np.random.default_rng(0).normal(size=(200, 2))
    found = compute_distortion(data, data)
    assert (found["kept"], found["grade"]) == (1.0, "faithful")


def test_noise_in_many_dimensions_is_distorted():
    data = np.random.default_rng(0).normal(size=(300, 40))
    assert compute_distortion(data[:, :2], data)["grade"] == "distorted"
    assert compute_distortion(data[:3, :2], data[:3]) is None


# ---- static files --------------------------------------------------------------------------------

STATIC = Path(dempster.apps.studio.__file__).parent / "static"


def test_page_uses_the_palette_of_the_plots():
    assert tuple(
        re.findall(
            r"#[0-9A-F]{6}", (STATIC_FOLDER / "scatter.js").read_text(encoding="utf-8")
        )
    ) == tuple(PALETTE)


def test_page_fetches_nothing_and_parses_no_markup():
    for file in [*STATIC.rglob("*.*"), *STATIC_FOLDER.rglob("*.*")]:
        text = file.read_text(encoding="utf-8")
        addresses = set(re.findall(r"https?://[^\s\"')]+", text)) - {
            "http://www.w3.org/2000/svg"
        }
        assert not addresses, file
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
        ):
            assert word not in text, file
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"\bon[a-z]+=|style=", page)
