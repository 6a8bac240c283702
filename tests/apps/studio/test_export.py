"""Exported code, command and files repeat the run exactly."""

import shlex

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dempster.apps.cli import program
from dempster.io import read_partition
from dempster.persistence import load
from tests.apps.report.cases import unpack


def export_partition(tab, run, folder):
    path = folder / "expected.parquet"
    path.write_bytes(tab.get(f"/runs/{run['id']}/partition.parquet").content)
    return read_partition(path)


def export_recipe(tab, run, folder):
    """Return the exported recipe and write the files that it needs."""
    found = tab.get(f"/runs/{run['id']}/recipe").json()
    (folder / found["file"]).write_bytes(tab.get(f"/runs/{run['id']}/data").content)
    if found["answers"]:
        (folder / "answers.csv").write_bytes(
            tab.get(f"/runs/{run['id']}/answers").content
        )
    return found


def run_code(code):
    names = {}
    exec(compile(code, "exported", "exec"), names)
    return names["partition"].masses


def run_command(command, folder):
    done = CliRunner().invoke(program, [*shlex.split(command)[1:], "--quiet"])
    assert done.exit_code == 0, done.output
    return read_partition(next(folder.glob("*.partition.csv"))).masses


@pytest.fixture(scope="module")
def runs(studio):
    """Return a tab and runs: plain, with answers, started from peaks, of a selection, and with defaults."""
    from tests.apps.studio.live import Client

    tab = Client(studio)
    tab.open()
    source = tab.load("iris")
    first = tab.cluster(
        source, clusters=3, method="ecm", parameters={"delta": "4.5"}, seed="7"
    )
    tab.post("/answers", {"first": 70, "second": 120, "answer": "different"})
    tab.post("/answers", {"first": 0, "second": 1, "answer": "same"})
    taught = tab.cluster(source, clusters=3, learn=True)
    columns = [column["name"] for column in source["columns"] if column["suggested"]]
    tab.done(tab.post("/peaks", {"columns": columns}))
    chosen = unpack(tab.get("/peaks").content)["chosen"]
    peaks = tab.done(tab.post("/runs", {"method": "bpec", "start": chosen}))
    mask = np.zeros(150, dtype=np.uint8)
    mask[40:120] = 1
    tab.ask("PUT", f"/runs/{first['id']}/selection", content=mask.tobytes())
    part = tab.cluster(source, only="selection", clusters=2)
    default = tab.cluster(source)
    return tab, {
        "first": first,
        "taught": taught,
        "peaks": peaks,
        "part": part,
        "default": default,
    }


@pytest.mark.parametrize("name", ["first", "taught", "peaks", "part", "default"])
def test_code_and_command_repeat_the_run(runs, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tab, found = runs
    expected = export_partition(tab, found[name], tmp_path).masses
    recipe = export_recipe(tab, found[name], tmp_path)
    np.testing.assert_array_equal(run_code(recipe["code"]), expected)
    np.testing.assert_array_equal(run_command(recipe["command"], tmp_path), expected)


@pytest.mark.parametrize("name", ["first", "default"])
def test_model_predicts_new_rows(runs, name, tmp_path):
    tab, found = runs
    path = tmp_path / "iris.dempster"
    path.write_bytes(tab.get(f"/runs/{found[name]['id']}/model").content)
    (tmp_path / "iris.csv").write_bytes(
        tab.get(f"/runs/{found[name]['id']}/data").content
    )
    masses = load(path).predict_mass(pd.read_csv(tmp_path / "iris.csv")).masses
    # CredalClustering: no training row is evidence for itself, but it is for an equal new row.
    atol = 0.2 if name == "default" else 1e-9
    np.testing.assert_allclose(
        masses, export_partition(tab, found[name], tmp_path).masses, atol=atol
    )


@pytest.mark.parametrize(
    "name", ["first", pytest.param("default", marks=pytest.mark.long)]
)
def test_report(runs, name):
    tab, found = runs
    number = found[name]["id"]
    assert tab.get(f"/runs/{number}/report").status == 422
    assert tab.done(tab.post(f"/runs/{number}/report")) == {"ready": True}
    page = tab.get(f"/runs/{number}/report")
    assert "iris.report.html" in page.headers["content-disposition"]
    assert page.content.startswith(b"<!doctype html>") or page.content.startswith(
        b"<!DOCTYPE html>"
    )
    assert b"dempster-studio-" not in page.content  # no temporary path


WEIGHTS = "outlier_weight=0.5&ambiguity_weight=30.5"


def test_exports_have_the_weights_of_the_sliders(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tab, found = runs
    base = f"/runs/{found['first']['id']}"
    plain = export_partition(tab, found["first"], tmp_path)
    path = tmp_path / "weighted.parquet"
    path.write_bytes(tab.get(f"{base}/partition.parquet?{WEIGHTS}").content)
    weighted = read_partition(path)
    # The page decides in this way.
    objects = unpack(tab.get(f"{base}/objects").content)
    products = [0.5 * objects["empty"], objects["single"], 30.5 * objects["several"]]
    sets = [objects["empty_set"], objects["single_set"], objects["several_set"]]
    shown = np.stack(sets)[np.argmax(products, axis=0), np.arange(150)]
    assert (shown != plain.best_set).sum() > 5
    np.testing.assert_array_equal(weighted.best_set, shown)
    export_recipe(tab, found["first"], tmp_path)
    recipe = tab.get(f"{base}/recipe?{WEIGHTS}").json()
    np.testing.assert_array_equal(run_code(recipe["code"]), weighted.masses)
    np.testing.assert_array_equal(
        run_command(recipe["command"], tmp_path), weighted.masses
    )
    tab.done(
        tab.post(f"{base}/report", {"outlier_weight": 0.5, "ambiguity_weight": 30.5})
    )
    page = tab.get(f"{base}/report").content.decode()
    assert f"<strong>{(plain.focal_sets.cardinality[shown] > 1).sum()}</strong>" in page
    model = tmp_path / "weighted.dempster"
    model.write_bytes(tab.get(f"{base}/model?{WEIGHTS}").content)
    predicted = load(model).predict_mass(pd.read_csv("iris.csv"))
    np.testing.assert_array_equal(predicted.best_set, shown)


def test_same_clusters_keep_their_numbers(runs, tmp_path):
    tab, found = runs
    frames = {}
    for name, run in found.items():
        partition = export_partition(tab, run, tmp_path)
        frames[name] = partition.frame
        for other in found.values():
            if other is run:
                continue
            question = f"/compare?before={other['id']}&after={run['id']}"
            compared = tab.get(question).json()
            for flow in compared["flows"]:
                assert flow["from_name"] != flow["to_name"]
    assert frames["first"] == (0, 1, 2)
    full = [
        export_partition(tab, found[name], tmp_path)
        for name in ("first", "taught", "peaks")
    ]
    numbers = [np.asarray(one.frame)[one.labels] for one in full]
    for other in numbers[1:]:
        assert (other == numbers[0]).mean() > 0.75
    # At least one method numbers the clusters in another order.
    assert any(frame != tuple(range(len(frame))) for frame in frames.values())
    renumbered = next(
        name for name, frame in frames.items() if frame != tuple(range(len(frame)))
    )
    run = found[renumbered]
    recipe = tab.get(f"/runs/{run['id']}/recipe").json()
    assert recipe["renamed"] == {
        str(k): f"cluster {number}"
        for k, number in enumerate(frames[renumbered])
        if number != k
    }
    objects = unpack(tab.get(f"/runs/{run['id']}/objects").content)
    singles = [one[0] for one in objects["sets"] if len(one) == 1]
    assert singles == list(frames[renumbered])
    profiles = tab.get(f"/runs/{run['id']}/profiles").json()["groups"]
    assert [one["clusters"][0] for one in profiles[: len(singles)]] == singles
    for group in profiles[: len(singles)]:
        assert group["name"] == f"cluster {group['clusters'][0]}"
    path = tmp_path / "renumbered.dempster"
    path.write_bytes(tab.get(f"/runs/{run['id']}/model").content)
    assert load(path).estimator.credal_partition_.frame == frames[renumbered]
