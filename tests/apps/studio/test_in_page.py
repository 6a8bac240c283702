"""The studio without a server, as it runs in a web page."""

import asyncio
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dempster.apps.studio import routing
from dempster.apps.studio.in_page import PageStudio, describe_page


class Page:
    """Requests of a page, one after the other."""

    def __init__(self, folder):
        self.reports = []
        self.studio = PageStudio(Path(folder), self.reports.append)

    def ask(self, method, path, params=None, content=b"", home="/api/sessions/page"):
        if params is not None:
            content = json.dumps(params).encode()
        answer = self.studio.answer(method, home + path, {}, content)
        # In the main thread, a browser of other tests may run its own event loop.
        with ThreadPoolExecutor(1) as pool:
            status, _, body = pool.submit(asyncio.run, answer).result()
        return status, body

    def get(self, path):
        status, body = self.ask("GET", path)
        assert status == 200, body
        return json.loads(body)

    def job(self, *arguments, **keywords):
        status, body = self.ask(*arguments, **keywords)
        assert status == 200, body
        return json.loads(body)["job"]


@pytest.fixture
def page(tmp_path, monkeypatch):
    monkeypatch.setattr(routing, "HAS_THREADS", False)
    return Page(tmp_path / "sessions")


def cluster_iris(page, **settings):
    assert page.job("POST", "/example", {"name": "iris"})["state"] == "done"
    columns = [one["name"] for one in page.get("")["source"]["columns"][:4]]
    job = page.job("POST", "/runs", {"columns": columns, "method": "ecm", **settings})
    assert job["state"] == "done", job["error"]
    return job["answer"]


def test_a_run_ends_before_its_request(page):
    run = cluster_iris(page, clusters=3)
    assert run["n_clusters"] == 3
    kinds = {(report["kind"], report["state"]) for report in page.reports}
    assert kinds == {("load", "running"), ("run", "running")}
    assert page.get("/runs/1/why?object=0")["name"] == "0"
    status, body = page.ask("GET", "/runs/1/partition.csv")
    assert status == 200
    assert len(body.splitlines()) == 151


def test_errors_are_those_of_the_studio(page):
    job = page.job("PUT", "/file?name=a.csv", content=b"\x00\x01\x02")
    assert job["state"] == "failed"
    assert "a.csv" in job["error"]
    status, body = page.ask("GET", "/runs/7/objects")
    assert status == 404
    assert json.loads(body)["error"] == "this run no longer exists"


def test_report_without_matplotlib(page, monkeypatch):
    """The page loads matplotlib for examples of the documentation only."""
    for name in {"matplotlib", *sys.modules}:
        if name.partition(".")[0] == "matplotlib":
            monkeypatch.setitem(sys.modules, name, None)
    cluster_iris(page, method="credal")
    job = page.job("POST", "/runs/1/report", {})
    assert job["state"] == "done", job["error"]


def test_restored_session(page, tmp_path, monkeypatch):
    assert page.studio.save() is None
    cluster_iris(page, clusters=2)
    saved = page.studio.save()
    other = Page(tmp_path / "other")
    other.studio.restore(saved)
    assert [run["name"] for run in other.get("")["runs"]] == ["ECM, 2 clusters"]
    third = Page(tmp_path / "third")
    status, _ = third.ask("PUT", "/api/session-file", content=saved, home="")
    assert status == 200
    assert third.get("")["source"]["name"] == "iris.csv"


def test_no_files_are_written_after_a_run(page, tmp_path):
    cluster_iris(page, clusters=2)
    assert not list(tmp_path.rglob("*.dempster"))
    assert not list(tmp_path.rglob("session.json"))


def test_description(page):
    described = describe_page()
    assert described["session"]["source"] is None
    assert list(described["examples"]) == [
        name for name, _ in described["about"]["examples"]
    ]
    assert ".csv" in described["about"]["table_suffixes"]
    assert ".parquet" not in described["about"]["table_suffixes"]
    assert "nnevclus" not in [one["name"] for one in described["about"]["methods"]]
    table = described["examples"]["iris"]
    job = page.job("PUT", "/file?name=iris.csv", content=table.encode())
    assert job["answer"]["rows"] == 150
