"""Recipes: runs, exports and errors."""

import os
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from dempster import CredalPartition, FocalSets
from dempster._errors import InvalidParameterError
from dempster.apps.recipe import Recipe, reweight_sets
from dempster.apps.recipe.labels import check_repeated
from dempster.cluster import CredalClustering
from tests.apps.recipe.data import flowers


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table, the distances between its rows, pairs, labels and an image."""
    table = flowers()
    table.to_csv(tmp_path / "flowers.csv", index=False)
    holes = table.assign(depth=table["depth"].where(np.arange(60) != 4))
    holes.to_csv(tmp_path / "holes.csv", index=False, sep=";", decimal=",")
    values = table[["length, cm", "width", "depth"]].to_numpy() / [1, 100, 1]
    D = np.linalg.norm(values[:, None] - values, axis=2)
    np.save(tmp_path / "d.npy", D)
    pd.DataFrame(D, index=table["name"], columns=table["name"]).to_csv(
        tmp_path / "d.csv"
    )
    pairs = "object,other,answer\nf000,f003,same\nf001,f002,different\nf004,f007,same\n"
    (tmp_path / "pairs.csv").write_text(pairs)
    labels = pd.Series(table["color"].to_numpy()).where(np.arange(60) < 9)
    pd.DataFrame({"name": table["name"], "label": labels}).to_csv(
        tmp_path / "labels.csv", index=False
    )
    table[["name", "width"]].to_csv(tmp_path / "other.csv", index=False)
    image = np.zeros((12, 10))
    image[:, 5:] = 1
    np.save(
        tmp_path / "image.npy",
        image + np.random.default_rng(0).normal(scale=0.1, size=image.shape),
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


RECIPES = {
    "weights": {
        "clusters": 3,
        "method": "ecm",
        "outlier_weight": 0.5,
        "ambiguity_weight": 2.5,
    },
    "default": {"clusters": "auto"},
    "columns": {
        "columns": ["length, cm", "width"],
        "clusters": 3,
        "method": "ecm",
        "parameters": {"delta": 4},
    },
    "unscaled": {
        "exclude": ["width"],
        "scale": False,
        "clusters": 3,
        "seed": 5,
        "parameters": {"shape": "compact"},
    },
    "names": {"index": "name", "truth": "color", "clusters": 3, "method": "ccm"},
    "categories": {"index": "name", "categories": ["color"], "clusters": 3},
    "only categories": {"columns": ["color"], "method": "catecm", "clusters": 3},
    "missing": {"files": "holes.csv", "missing": "partial", "clusters": 3},
    "dropped": {
        "files": "holes.csv",
        "missing": "drop",
        "index": "name",
        "constraints": "pairs.csv",
        "clusters": 3,
    },
    "labels": {
        "index": "name",
        "labels": "labels.csv",
        "clusters": 3,
        "method": "cecm",
    },
    "column of labels": {
        "labels": "color",
        "constraints": "pairs.csv",
        "index": "name",
        "clusters": 3,
    },
    "matrix": {
        "files": "d.npy",
        "kind": "dissimilarities",
        "clusters": 3,
        "method": "recm",
    },
    "named matrix": {
        "files": "d.csv",
        "kind": "dissimilarities",
        "clusters": 3,
        "constraints": "pairs.csv",
    },
    "own number": {"method": "eknnclus"},
    "none for auto": {"method": "bpec"},
    "image": {"files": "image.npy", "method": "secm", "clusters": 2},
    "views": {
        "files": ["flowers.csv", "other.csv"],
        "index": "name",
        "method": "wmvec",
        "clusters": 3,
    },
}


def recipe_of(name):
    return Recipe(**{"files": "flowers.csv", **RECIPES[name]})


@pytest.mark.parametrize("name", RECIPES)
def test_code_and_toml_give_the_same_result(folder, name):
    recipe = recipe_of(name)
    expected = recipe.run().partition.masses
    assert Recipe.from_toml(recipe.to_toml()) == recipe
    code = recipe.to_code()
    assert os.fspath(folder) not in code
    variables = {}
    exec(code, variables)
    np.testing.assert_array_equal(variables["partition"].masses, expected)
    np.testing.assert_array_equal(
        Recipe.from_toml(recipe.to_toml()).run().partition.masses, expected
    )


def test_result(folder):
    notes = []
    result = Recipe("flowers.csv", truth="color", clusters="auto").run(
        note=notes.append
    )
    assert notes == ["the rows are named by the column name"]
    assert list(result.partition.index) == flowers()["name"].tolist()
    assert result.prepared.notes[:1] == notes
    assert "standardized" in result.prepared.notes[1]
    assert result.prepared.truth.tolist() == flowers()["color"].tolist()
    assert result.partition.metadata["choices"]["n_clusters"].startswith("3;")
    assert list(result.table.columns) == list(flowers().columns)[1:]
    assert result.attributes.columns == ["length, cm", "width", "depth"]
    assert result.seconds > 0


@pytest.mark.parametrize("factor", [0.01, 1])
def test_default_scaling_is_that_of_the_class(folder, factor):
    table = flowers()
    table["width"] *= factor
    table.to_csv("scaled.csv", index=False)
    result = Recipe("scaled.csv", exclude=["name"]).run()
    assert result.attributes.is_scaled == (factor == 1)
    assert ("the columns were standardized" in result.prepared.notes) == (factor == 1)
    columns = result.attributes.columns
    if factor != 1:
        model = CredalClustering(random_state=0).fit(table[columns])
        np.testing.assert_array_equal(result.partition.labels, model.labels_)
    standardized = Recipe("scaled.csv", exclude=["name"], scale=True)
    assert standardized.to_command().endswith("--scale")
    assert standardized.choosing_options() == {"exclude": ["name"]}


def test_angles_are_those_of_the_table(folder):
    recipe = Recipe("flowers.csv", method="ecm", parameters={"metric": "cosine"})
    assert recipe.choosing_options()["scale"] is False
    assert "scale" not in replace(recipe, scale=True).choosing_options()


def test_confidence_adds_sets_and_keeps_the_partition(folder):
    recipe = Recipe(
        "flowers.csv",
        method="ecm",
        clusters=3,
        seed=1,
        confidence=0.8,
        parameters={"n_init": 1},
    )
    result = recipe.run()
    plain = replace(recipe, confidence=None).run()
    variables = {}
    assert plain.conformal is None
    np.testing.assert_array_equal(result.partition.masses, plain.partition.masses)
    # It fits a ConformalClustering with the same seed.
    exec(recipe.to_code(), variables)
    assert variables["conformal"].n_refits == 12
    np.testing.assert_array_equal(variables["sets"], result.conformal.sets_)
    np.testing.assert_array_equal(variables["partition"].masses, plain.partition.masses)
    assert Recipe.from_toml(recipe.to_toml()) == recipe
    with pytest.warns(match="confidence=0.95 needs at least 80 objects, got 60"):
        assert replace(recipe, confidence=0.95).run().conformal.sets_.all()


def test_progress_is_reported(folder):
    reports = []
    Recipe("flowers.csv", method="ecm", clusters=3).run(
        progress=lambda *report: reports.append(report)
    )
    name, done, total, unit, _ = reports[-1]
    assert name == "ECM"
    assert done == total == len(reports) - 1
    assert unit


def test_invalid_recipes():
    for wrong, words in (
        ({"method": "ecm", "kind": "dissimilarities"}, "kind: method ecm .*evclus"),
        ({"method": "ecm", "categories": ["a"]}, "categories: method ecm .*evclus"),
        ({"method": "ecm", "constraints": "p.csv"}, "constraints: method ecm .*cecm"),
        ({"method": "ecm", "labels": "y"}, "labels: method ecm .*nnevclus"),
        (
            {"method": "egmm", "missing": "partial"},
            "missing: method egmm .*missing='drop'",
        ),
        (
            {"method": "eknnclus", "clusters": 3},
            "clusters: method eknnclus .*clusters='auto'",
        ),
        (
            {"confidence": 1.0},
            "confidence must be None or a number above 0 and below 1, got 1.0",
        ),
        (
            {"confidence": 0.9, "kind": "dissimilarities"},
            "confidence: the files contain dissimilarities",
        ),
        ({"confidence": 0.9, "method": "secm"}, "confidence: the file is an image"),
        ({"confidence": 0.9, "constraints": "p.csv"}, "confidence: .*constraints"),
        ({"confidence": 0.9, "labels": "y"}, "confidence: .*labels"),
        ({"confidence": 0.9, "categories": ["a"]}, "confidence: .*numeric columns"),
        ({"confidence": 0.9, "method": "catecm"}, "confidence: .*numeric columns"),
        ({"confidence": 0.9, "missing": "partial"}, "confidence: .*missing values"),
        (
            {"confidence": 0.9, "method": "bootclus"},
            "confidence: method bootclus has its own parameter",
        ),
        ({"clusters": 0}, "clusters must be 'auto' or an integer of at least 1, got 0"),
        (
            {"missing": "impute"},
            "missing must be 'refuse', 'drop' or 'partial', got 'impute'",
        ),
        ({"files": ["a.csv", "b.csv"]}, "files: .*method='wmvec'"),
        ({"files": []}, "files must name at least one file"),
    ):
        with pytest.raises(ValueError, match=words):
            Recipe(**{"files": "x.csv", **wrong})


def test_invalid_toml():
    with pytest.raises(ValueError, match="a recipe has no field 'cluster'"):
        Recipe.from_toml('files = ["a.csv"]\ncluster = 3\n')
    with pytest.raises(ValueError, match="invalid TOML"):
        Recipe.from_toml("files = [")
    with pytest.raises(ValueError, match=r"\bparameters\b"):
        Recipe.from_toml('files = ["a.csv"]\nparameters = 3\n')


def test_toml_keeps_any_text():
    odd = 'a "b" \\ \t \n \u2028 é'
    parameters = {"d0": 0.1, "n_jobs": None, "symmetrize": True}
    recipe = Recipe([odd], columns=[odd, "-1"], method="evclus", parameters=parameters)
    assert Recipe.from_toml(recipe.to_toml()) == recipe


def test_more_clusters_than_rows(folder):
    with pytest.raises(ValueError, match=r"\bclusters\b"):
        Recipe("flowers.csv", clusters=900).run()


def test_weights_of_sets():
    masses = [[0.1, 0.3, 0.0, 0.6], [0.5, 0.2, 0.3, 0.0], [0.0, 0.0, 0.0, 1.0]]
    partition = CredalPartition(masses, FocalSets.full(2), ["a", "b", "c"])
    weighted = reweight_sets(partition, outlier_weight=0.5, ambiguity_weight=0.25)
    expected = np.array(masses) * [0.5, 1, 1, 0.25]
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(weighted.masses, expected)
    assert weighted.best_set.tolist() == [1, 2, 3]
    assert list(weighted.index) == ["a", "b", "c"]
    assert reweight_sets(partition) is partition
    with pytest.raises(InvalidParameterError, match="ambiguity_weight"):
        reweight_sets(partition, ambiguity_weight=0)
    with pytest.raises(InvalidParameterError, match="outlier_weight"):
        Recipe("x.csv", outlier_weight=-1)


@pytest.mark.parametrize("text", [5, None, b"files = ['x']"])
def test_a_recipe_in_toml_is_text(text):
    with pytest.raises(ValueError, match="text must be a text in TOML"):
        Recipe.from_toml(text)


def test_labels_must_be_repeated():
    few = pd.Series(range(20))
    check_repeated("labels", few)
    with pytest.raises(ValueError, match="labels: 21 of 21 known labels are different"):
        check_repeated("labels", pd.Series(range(21)))
    check_repeated("labels", pd.Series([*range(20)] * 2))
    check_repeated("labels", pd.Series([*"abc"] * 7 + [None] * 30))
