"""The example method of docs/adding_a_method.md runs and fulfills the contract of clusterers."""

import doctest
import importlib.util
import itertools
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from tools.methods import describe_method

from dempster import _validation as rule
from dempster import cluster, persistence
from dempster.apps import methods
from dempster.apps.recipe import recipe
from dempster.data import rows, sampling
from dempster.persistence import schema
from tests.apps import test_methods
from tests.cluster import test_contract
from tests.cluster.contract import POINTS, Subject

PAGE = Path(__file__).resolve().parents[1] / "docs" / "adding_a_method.md"
MAX_LINES = 130
X = np.random.default_rng(0).normal(size=(600, 3)) + np.repeat(
    [[0, 0, 0], [7, 0, 0], [0, 9, 5]], 200, axis=0
)


def blocks_of_code():
    """Return the blocks of the page: model, method, estimator, export, tests.

    The site runs blocks marked as ``python``; the others are lines to add to existing files.
    """
    blocks = re.findall(
        r"```py(?:thon)?\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    assert len(blocks) == 5
    return blocks


@pytest.fixture(scope="module")
def noise(tmp_path_factory):
    """Load the module of the page, with its entry in the table of methods."""
    *code, export, tests = blocks_of_code()
    file = tmp_path_factory.mktemp("docs") / "noise.py"
    file.write_text("\n".join([*code, tests]), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("dempster.cluster.noise", file)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "dempster.cluster.noise", module)
        spec.loader.exec_module(module)
        exported = {}
        exec(export, exported)
        patch.setattr(cluster, "NoiseCMeans", exported["NoiseCMeans"], raising=False)
        patch.setattr(cluster, "__all__", [*cluster.__all__, "NoiseCMeans"])
        entry = describe_method(exported["NoiseCMeans"])
        patch.setitem(
            methods.METHODS,
            "noisecmeans",
            methods.MethodInfo.from_dict("noisecmeans", entry),
        )
        names = rule.choice("auto", *methods.METHODS)
        patch.setitem(recipe._RULES, "method", names)
        schema.schemas_by_name.cache_clear()
        yield module
    schema.schemas_by_name.cache_clear()


def test_method_is_short():
    *code, _ = blocks_of_code()
    assert (
        sum(bool(line.strip()) for block in code for line in block.splitlines())
        <= MAX_LINES
    )


# ---- contract of clusterers ----------------------------------------------------------------------


def arguments(check):
    """Return the arguments of a test of the contract besides the clusterer."""
    choices = []
    for mark in getattr(check, "pytestmark", []):
        if mark.name == "parametrize":
            names, values = mark.args
            if isinstance(names, str):
                names = [names]
            choices.append(
                [
                    dict(zip(names, v if len(names) > 1 else [v], strict=True))
                    for v in values
                ]
            )
    return [
        {k: v for part in parts for k, v in part.items()}
        for parts in itertools.product(*choices)
    ]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [name for name in vars(test_contract) if name.startswith("test_")]
)
def test_method_fulfills_contract(noise, name):
    check = getattr(test_contract, name)
    for more in arguments(check):
        check(Subject(noise.NoiseCMeans), **more)


def test_description_agrees_with_class(noise):
    assert methods.METHODS["noisecmeans"].load() is noise.NoiseCMeans
    test_methods.test_texts("noisecmeans")
    test_methods.test_words_agree_with_the_rules("noisecmeans")
    for capability in test_methods.TRIALS:
        test_methods.test_capabilities_agree_with_fit("noisecmeans", capability)


def test_recipe_accepts_method(noise):
    from dempster.apps.recipe import Recipe

    assert (
        Recipe("data.csv", method="noisecmeans", parameters={"delta": 2.0}).method
        == "noisecmeans"
    )


# ---- blocks, missing values, files ---------------------------------------------------------------


def blocks_of(table):
    return [table[:150], table[150:151], table[151:]]


def same_model(found, expected):
    np.testing.assert_allclose(
        found.cluster_centers_, expected.cluster_centers_, atol=1e-9
    )
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-9)
    masses = np.asarray(found.credal_partition_.masses)
    np.testing.assert_allclose(masses, expected.credal_partition_.masses, atol=1e-8)


@pytest.mark.parametrize("missing", ["refuse", "partial"])
def test_blocks_give_the_same_model(noise, missing):
    table = X.copy()
    if missing == "partial":
        table[::7, 1] = np.nan
    clusterer = noise.NoiseCMeans(3, missing=missing, n_init=2, random_state=0)
    expected = clusterer.fit(table)
    same_model(
        noise.NoiseCMeans(**clusterer.get_params()).fit(blocks_of(table)), expected
    )
    weights = np.arange(600) % 3 + 0.5
    expected = clusterer.fit(table, sample_weight=weights)
    same_model(
        noise.NoiseCMeans(**clusterer.get_params()).fit(
            blocks_of(table), sample_weight=blocks_of(weights)
        ),
        expected,
    )


def test_passes_over_blocks_use_all_rows(noise, monkeypatch):
    """Starts are compared on a sample; the following iterations sum over all blocks."""
    monkeypatch.setattr(rows, "SAMPLE_SIZE", 200)
    monkeypatch.setattr(sampling, "SAMPLE_SIZE", 200)
    model = noise.NoiseCMeans(3, delta=4.0, n_init=2, tol=1e-12, random_state=0).fit(
        blocks_of(X)
    )
    assert len(model.sample_indices_) == 200
    powers = np.asarray(model.credal_partition_.masses)[:, 1:] ** 2
    centers = powers.T @ X / powers.sum(axis=0)[:, None]
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-5)


def test_missing_values_keep_the_clusters(noise):
    table = X.copy()
    table[::5, 0] = np.nan
    table[::9, 2] = np.nan
    model = noise.NoiseCMeans(3, missing="partial", random_state=0).fit(table)
    complete = ~np.isnan(table).any(axis=1)
    assert (
        adjusted_rand_score(
            np.repeat([0, 1, 2], 200)[complete], model.labels_[complete]
        )
        > 0.95
    )
    clusters = noise.NoiseCMeans(3, random_state=0).fit(X).cluster_centers_
    np.testing.assert_allclose(
        np.sort(model.cluster_centers_, axis=0), np.sort(clusters, axis=0), atol=0.3
    )
    np.testing.assert_allclose(
        model.predict_mass(table).masses, model.credal_partition_.masses, atol=1e-12
    )
    with pytest.raises(ValueError, match="missing='partial'"):
        noise.NoiseCMeans(3).fit(table)


def test_saved_model_gives_the_same_masses(noise, tmp_path):
    table = X.copy()
    table[::7, 1] = np.nan
    model = noise.NoiseCMeans(3, missing="partial", random_state=0).fit(table)
    persistence.save(model, tmp_path / "noise.dempster")
    loaded = persistence.load(tmp_path / "noise.dempster")
    assert type(loaded) is noise.NoiseCMeans
    np.testing.assert_array_equal(
        loaded.predict_mass(table).masses, model.predict_mass(table).masses
    )


# ---- code of the page ----------------------------------------------------------------------------


def test_tests_of_the_page(noise):
    names = [name for name in vars(noise) if name.startswith("test_")]
    assert len(names) == 2
    for name in names:
        getattr(noise, name)()


def test_docstring_example(noise):
    found = doctest.testmod(noise)
    assert found.failed == 0
    assert found.attempted >= 2


def test_method_can_be_explained(noise):
    from dempster.explain import explain_object

    model = noise.NoiseCMeans(3, n_init=2, random_state=0).fit(POINTS)
    assert "cluster" in str(explain_object(model, POINTS, 0))
