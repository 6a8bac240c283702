"""Names of the rows and of the clusters in the studio."""

import numpy as np
import pandas as pd
import pytest

from dempster.datasets import load_iris
from dempster.persistence import load
from tests.apps.report.cases import unpack
from tests.apps.studio.browser import cluster, load_example, wait_for_map
from tests.apps.studio.live import Client, running_studio
from tests.apps.studio.test_export import (
    export_partition,
    export_recipe,
    run_code,
    run_command,
)


def flowers():
    table = load_iris(as_frame=True).data
    table.insert(2, "flower", [f"iris {i + 1}" for i in range(len(table))])
    return table.assign(code=[f"c{i:03}" for i in range(len(table))])


def upload_flowers(tab):
    job = tab.upload("flowers.csv", flowers().to_csv(index=False).encode())
    assert job["state"] == "done", job["error"]
    return job["answer"]


def answer(tab):
    tab.post("/answers", {"first": 70, "second": 120, "answer": "different"})
    tab.post("/answers", {"first": 0, "second": 1, "answer": "same"})


# ---- rows ----------------------------------------------------------------------------------------


def test_different_texts_name_the_rows(tab):
    source = upload_flowers(tab)
    assert source["index"] == "flower"
    assert "flower" not in [column["name"] for column in source["columns"]]
    run = tab.cluster(source, clusters=3, method="ecm")
    found = tab.get(f"/runs/{run['id']}/why?object=77").json()
    assert found["name"] == "iris 78"
    assert found["sentences"][0].startswith("Object iris 78 ")


def test_new_names_of_the_rows_keep_all_results(tab, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    source = upload_flowers(tab)
    answer(tab)
    run = tab.cluster(source, clusters=3, learn=True)
    mask = np.zeros(150, dtype=np.uint8)
    mask[60:] = 1
    tab.ask("PUT", f"/runs/{run['id']}/selection", content=mask.tobytes())
    part = tab.cluster(source, clusters=2, only="selection", method="ecm")
    before = export_partition(tab, run, tmp_path)
    for column, name, first in (("code", "c077", "c060"), ("", "77", "60")):
        renamed = tab.done(tab.post("/names", {"index_col": column}))
        assert renamed["index"] == (column or None)
        assert len(tab.get("").json()["runs"]) == 2
        assert len(tab.get("/answers").json()["answers"]) == 2
        found = tab.get(f"/runs/{run['id']}/why?object=77").json()
        assert found["name"] == name
        why = tab.get(f"/runs/{part['id']}/why?object=0").json()
        assert why["name"] == first
        after = export_partition(tab, run, tmp_path)
        np.testing.assert_array_equal(after.masses, before.masses)
        assert (after.index is None) == (column == "")
    recipe = export_recipe(tab, run, tmp_path)
    assert "--no-index" in recipe["command"]
    np.testing.assert_array_equal(run_code(recipe["code"]), before.masses)
    np.testing.assert_array_equal(
        run_command(recipe["command"], tmp_path), before.masses
    )
    again = tab.cluster(source, clusters=3, learn=True)
    assert again["ambiguous"] == run["ambiguous"]


def test_clustered_columns_cannot_name_the_rows(tab):
    source = upload_flowers(tab)
    tab.cluster(source, clusters=3, method="ecm")
    refused = tab.post("/names", {"index_col": "petal width (cm)"})
    assert refused.status == 422
    assert "was clustered in the run 1" in refused.json()["error"]


def test_restored_runs_get_the_present_names(tab):
    source = upload_flowers(tab)
    run = tab.cluster(source, clusters=3, method="ecm")
    tab.ask("DELETE", f"/runs/{run['id']}")
    tab.done(tab.post("/names", {"index_col": "code"}))
    tab.post("/undo")
    assert tab.get(f"/runs/{run['id']}/why?object=7").json()["name"] == "c007"


# ---- clusters ------------------------------------------------------------------------------------


def label(number, name, text=""):
    return {"number": number, "name": name, "text": text}


def named_run(tab):
    source = tab.load("iris")
    run = tab.cluster(source, clusters=3, method="ecm")
    labels = [label(0, "  setosa "), label(1, "", "between"), label(2, "x" * 99)]
    assert tab.post(f"/runs/{run['id']}/names", {"labels": labels}).status == 200
    return source, run


def test_names_of_clusters_are_everywhere(tab, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, run = named_run(tab)
    address = f"/runs/{run['id']}"
    long = "x" * 60
    objects = unpack(tab.get(f"{address}/objects").content)
    assert objects["clusters"] == [
        [0, "setosa", ""],
        [1, "", "between"],
        [2, long, ""],
    ]
    assert {"setosa", "cluster 1", long} <= set(objects["set_names"])
    why = tab.get(f"{address}/why?object=0").json()
    number = why["clusters"][0]
    assert why["cluster_names"][0] == ["setosa", "cluster 1", long][number]
    assert why["exemplars"][0]["cluster"] in (0, 1, 2)
    assert why["cluster_names"][0] in why["sentences"][0]
    boundaries = tab.get(f"{address}/boundaries").json()["boundaries"]
    assert {name for one in boundaries for name in one["names"]} <= {
        "setosa",
        "cluster 1",
        long,
    }
    groups = tab.get(f"{address}/profiles").json()["groups"]
    assert groups[0]["name"] == "setosa"
    partition = export_partition(tab, run, tmp_path)
    assert partition.frame == ("setosa", 1, long)
    assert partition.metadata["descriptions"] == {"1": "between"}
    recipe = export_recipe(tab, run, tmp_path)
    assert recipe["renamed"] == {"0": "setosa", "2": long}
    names = {}
    exec(recipe["code"], names)
    assert names["partition"].frame == partition.frame
    path = tmp_path / "model.dempster"
    path.write_bytes(tab.get(f"{address}/model").content)
    model = load(path)
    table = pd.read_csv(recipe["file"])
    assert model.predict_mass(table).frame == partition.frame
    tab.done(tab.post(f"{address}/report", {}))
    report = tab.get(f"{address}/report").content.decode()
    assert "setosa" in report
    assert "between" in report


def test_later_runs_and_layers_keep_the_names(tab):
    source, run = named_run(tab)
    again = tab.cluster(source, clusters=3, method="ecm", seed=1)
    objects = unpack(tab.get(f"/runs/{again['id']}/objects").content)
    named = {number: name for number, name, _ in objects["clusters"]}
    assert named[0] == "setosa"
    layer = unpack(tab.get(f"/runs/{run['id']}@2/objects").content)
    assert {name for _, name, _ in layer["clusters"]} == {"", "setosa + " + "x" * 60}


def test_two_clusters_cannot_have_the_same_name(tab):
    _, run = named_run(tab)
    for other in ("setosa", "1"):
        labels = [label(0, "setosa"), label(2, other)]
        refused = tab.post(f"/runs/{run['id']}/names", {"labels": labels})
        assert refused.status == 422
        assert "different names" in refused.json()["error"]
    refused = tab.post(f"/runs/{run['id']}/names", {"labels": [label(9, "x")]})
    assert refused.status == 422


def test_names_outlive_the_studio(tmp_path):
    with running_studio(folder=tmp_path) as guard:
        tab = Client(guard)
        tab.open()
        _, run = named_run(tab)
        expected = tab.get(f"/runs/{run['id']}/objects").content
    with running_studio(folder=tmp_path) as guard:
        other = Client(guard)
        other.open(open=tab.number)
        assert other.get(f"/runs/{run['id']}/objects").content == expected


# ---- in the browser ------------------------------------------------------------------------------


@pytest.fixture
def named_page(page):
    load_example(page, "iris")
    cluster(page, method="ecm")
    return page


def test_clusters_are_named_on_the_page(named_page):
    page = named_page
    page.click("#name-clusters")
    page.fill("[aria-label='Name of cluster 0']", "small flowers")
    page.fill("[aria-label='Name of cluster 1']", "small flowers")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog.names [role=alert]:has-text('different names')")
    page.fill("[aria-label='Name of cluster 1']", "wide <b>")
    page.click("text=Save the names")
    page.wait_for_selector(".legend button:has-text('wide <b>')")
    page.wait_for_selector(".bars button:has-text('small flowers')")
    page.reload()
    wait_for_map(page)
    page.wait_for_selector(".legend button:has-text('small flowers')")
