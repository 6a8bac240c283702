"""The report on the defaults: its data and its numbers."""

import numpy as np
import pytest
from benchmarks.defaults.advice import by_data, by_purpose
from benchmarks.defaults.data import (
    FAMILIES,
    NOISE,
    DataSet,
    chosen_half,
    generated_sets,
)
from benchmarks.defaults.evidence import Evidence
from benchmarks.defaults.measures import SHARES, of_labels, of_partition
from benchmarks.defaults.methods import FINDERS, GIVEN_NUMBER, run
from benchmarks.defaults.page import write_page
from benchmarks.defaults.promises import promises

from dempster import CredalPartition, FocalSets


def test_families_are_standardized_and_repeatable():
    sets = generated_sets(2)
    again = generated_sets(2)
    assert [one.family for one in sets] == [
        family for family in FAMILIES for _ in range(2)
    ]
    for one, other in zip(sets, again, strict=True):
        np.testing.assert_array_equal(one.X, other.X)
        np.testing.assert_allclose(one.X.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(one.X.std(axis=0), 1)
        assert len(one.X) == len(one.y)
        assert (NOISE in one.y) == (one.family == "noisy")
        assert one.n_classes == one.y.max() + 1 >= 2


def test_rules_use_every_second_set():
    X = np.zeros((4, 1))
    y = np.arange(4) % 2
    names = ("a1", "aggregation", "iris", "wine", "fourclass")
    sets = [DataSet(name, "public", X, y) for name in names]
    assert chosen_half(sets) == {"a1", "fourclass"}


def test_measures_of_a_small_partition():
    family = FocalSets.full(2)
    certain = [0, 1, 0, 0]
    other = [0, 0, 1, 0]
    ambiguous = [0, 0.2, 0.1, 0.7]
    out = [1, 0, 0, 0]
    partition = CredalPartition(
        [certain, certain, other, other, ambiguous, out, out], family
    )
    y = np.array([1, 1, 0, 0, 0, 0, NOISE])
    measures = of_partition(partition, y)
    assert (measures["ambiguous"], measures["outliers"], measures["planted"]) == (
        1 / 6,
        1 / 6,
        1,
    )
    assert measures["certain"] == 1
    # Its label 0 corresponds to class 1; its set contains both.
    assert (measures["held"], measures["hard"]) == (1, 0)
    assert measures["kept"][SHARES.index(0.6)] == 1
    assert of_labels(np.array([0, 0, 1, 1, 1, 1, 5]), y) == {"ari": 1.0}


def test_methods_and_errors():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    data = DataSet("two", "round", rng.normal(size=(40, 2)) + 9 * y[:, None], y)
    for name in ("ECM", "k-means", "Gaussian mixture"):
        assert run(GIVEN_NUMBER[name], data)["ari"] == 1
    assert run(FINDERS["HDBSCAN"], data)["found"] == 2
    broken = DataSet("broken", "round", np.full((40, 2), np.nan), y)
    assert "NaN" in run(GIVEN_NUMBER["ECM"], broken)["error"]
    assert not GIVEN_NUMBER["RECM"].takes(data)  # Only public sets.


def records(n_public):
    """Return random measures with equally good methods except EVCLUS, which is better."""
    rng = np.random.default_rng(0)
    families = {f"set {i}": "public" for i in range(n_public)} | {
        f"{f} 1": f for f in FAMILIES
    }
    sets = {
        name: {
            "family": family,
            "shape": [90, 2 + 8 * (i % 3)],
            "n_classes": 3 + 9 * (i % 2),
            "chosen": i % 2 == 0,
        }
        for i, (name, family) in enumerate(families.items())
    }
    rows = []
    for name, family in families.items():
        for method in GIVEN_NUMBER | FINDERS:
            if method == "EVCLUS":
                ari = 0.9
            else:
                ari = 0.5 + 0.1 * rng.uniform()
            row = {
                "method": method,
                "set": name,
                "ari": ari,
                "seconds": 0.1,
                "seconds_given": 0.05,
            }
            if method in FINDERS:
                row |= {"found": 3}
            else:
                row |= {
                    "kept": [min(1.0, ari + 0.1)] * len(SHARES),
                    "ambiguous": 0.1,
                    "outliers": 0.01,
                }
                row |= {"certain": ari, "held": 0.8, "hard": 0.5} | (
                    {"planted": 0.9} if family == "noisy" else {}
                )
            rows.append(row)
    rows.append({"method": "ECM", "set": "round 1", "error": "ValueError: no"})
    return {
        "minutes": 3.0,
        "where": "in 2 processes",
        "sets": sets,
        "protein": 0.97 if n_public else None,
        "rows": rows,
    }


@pytest.mark.long
@pytest.mark.parametrize("n_public", [6, 0])
def test_page_shows_measurements(tmp_path, n_public):
    found = records(n_public)
    write_page(found, tmp_path / "DEFAULTS.md")
    text = (tmp_path / "DEFAULTS.md").read_text()
    assert "ECM failed on round 1: ValueError: no" in text
    assert ("folder of public sets is absent" in text) == (not n_public)
    assert "nan" not in text
    evidence = Evidence(found)
    kept = {words: seen for words, _, seen in promises(evidence, found["protein"])}
    assert kept["At least 80 % of generated outliers detected"] == "yes"
    if n_public:
        assert kept["EVCLUS: mean ARI over the public sets of at least 0.57"] == "yes"
        assert by_data(evidence)[0][2] == "EVCLUS"
        assert by_purpose(evidence)[0][1] == "EVCLUS"
