"""The example method of docs/adding_a_method.md runs and fulfills the contract of clusterers."""

import doctest
import importlib.util
import itertools
import re
import subprocess
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
def page(tmp_path_factory):
    """Load the module of the page, with its entry in the table of methods."""
    *code, export, tests = blocks_of_code()
    file = tmp_path_factory.mktemp("docs") / "entropy.py"
    file.write_text("\n".join([*code, tests]), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("dempster.cluster.entropy", file)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "dempster.cluster.entropy", module)
        spec.loader.exec_module(module)
        exported = {}
        exec(export, exported)
        patch.setattr(
            cluster, "EntropyCMeans", exported["EntropyCMeans"], raising=False
        )
        patch.setattr(cluster, "__all__", [*cluster.__all__, "EntropyCMeans"])
        entry = describe_method(exported["EntropyCMeans"])
        patch.setitem(
            methods.METHODS,
            "entropycmeans",
            methods.MethodInfo.from_dict("entropycmeans", entry),
        )
        names = rule.choice("auto", *methods.METHODS)
        patch.setitem(recipe._RULES, "method", names)
        schema.schemas_by_name.cache_clear()
        yield module
    schema.schemas_by_name.cache_clear()


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
def test_method_fulfills_contract(page, name):
    check = getattr(test_contract, name)
    for more in arguments(check):
        check(Subject(page.EntropyCMeans), **more)


def test_description_agrees_with_class(page):
    assert methods.METHODS["entropycmeans"].load() is page.EntropyCMeans
    test_methods.test_texts("entropycmeans")
    test_methods.test_words_agree_with_the_rules("entropycmeans")
    for capability in test_methods.TRIALS:
        test_methods.test_capabilities_agree_with_fit("entropycmeans", capability)


def test_recipe_accepts_method(page):
    from dempster.apps.recipe import Recipe

    assert (
        Recipe(
            "data.csv", method="entropycmeans", parameters={"temperature": 2.0}
        ).method
        == "entropycmeans"
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
def test_blocks_give_the_same_model(page, missing):
    table = X.copy()
    if missing == "partial":
        table[::7, 1] = np.nan
    clusterer = page.EntropyCMeans(3, missing=missing, n_init=2, random_state=0)
    expected = clusterer.fit(table)
    same_model(
        page.EntropyCMeans(**clusterer.get_params()).fit(blocks_of(table)), expected
    )
    weights = np.arange(600) % 3 + 0.5
    expected = clusterer.fit(table, sample_weight=weights)
    same_model(
        page.EntropyCMeans(**clusterer.get_params()).fit(
            blocks_of(table), sample_weight=blocks_of(weights)
        ),
        expected,
    )


def test_passes_over_blocks_use_all_rows(page, monkeypatch):
    """Starts are compared on a sample; the following iterations sum over all blocks."""
    monkeypatch.setattr(rows, "SAMPLE_SIZE", 200)
    monkeypatch.setattr(sampling, "SAMPLE_SIZE", 200)
    model = page.EntropyCMeans(3, delta=4.0, n_init=2, tol=1e-12, random_state=0).fit(
        blocks_of(X)
    )
    assert len(model.sample_indices_) == 200
    masses = np.asarray(model.credal_partition_.masses)[:, 1:]
    centers = masses.T @ X / masses.sum(axis=0)[:, None]
    np.testing.assert_allclose(model.cluster_centers_, centers, atol=1e-5)


def test_missing_values_keep_the_clusters(page):
    table = X.copy()
    table[::5, 0] = np.nan
    table[::9, 2] = np.nan
    model = page.EntropyCMeans(3, missing="partial", random_state=0).fit(table)
    complete = ~np.isnan(table).any(axis=1)
    assert (
        adjusted_rand_score(
            np.repeat([0, 1, 2], 200)[complete], model.labels_[complete]
        )
        > 0.95
    )
    clusters = page.EntropyCMeans(3, random_state=0).fit(X).cluster_centers_
    np.testing.assert_allclose(
        np.sort(model.cluster_centers_, axis=0), np.sort(clusters, axis=0), atol=0.3
    )
    np.testing.assert_allclose(
        model.predict_mass(table).masses, model.credal_partition_.masses, atol=1e-12
    )
    with pytest.raises(ValueError, match="missing='partial'"):
        page.EntropyCMeans(3).fit(table)


def test_saved_model_gives_the_same_masses(page, tmp_path):
    table = X.copy()
    table[::7, 1] = np.nan
    model = page.EntropyCMeans(3, missing="partial", random_state=0).fit(table)
    persistence.save(model, tmp_path / "entropy.dempster")
    loaded = persistence.load(tmp_path / "entropy.dempster")
    assert type(loaded) is page.EntropyCMeans
    np.testing.assert_array_equal(
        loaded.predict_mass(table).masses, model.predict_mass(table).masses
    )


# ---- code of the page ----------------------------------------------------------------------------


def test_tests_of_the_page(page):
    names = [name for name in vars(page) if name.startswith("test_")]
    assert len(names) == 3
    for name in names:
        getattr(page, name)()


def test_code_follows_the_rules_of_the_package(tmp_path):
    pytest.importorskip("ruff")
    settings = str(PAGE.parents[1] / "pyproject.toml")
    ruff = [sys.executable, "-m", "ruff", "check", "--no-cache", "--config", settings]
    file = tmp_path / "entropy.py"
    *code, _, _ = blocks_of_code()
    file.write_text("\n".join(code), encoding="utf-8")
    done = subprocess.run([*ruff, file], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_docstring_example(page):
    found = doctest.testmod(page)
    assert found.failed == 0
    assert found.attempted >= 2


def test_method_can_be_explained(page):
    from dempster.explain import explain_object

    model = page.EntropyCMeans(3, n_init=2, random_state=0).fit(POINTS)
    assert "cluster" in str(explain_object(model, POINTS, 0))
