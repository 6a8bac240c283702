"""Saved sessions, session files and undone deletions."""

import io
import json
import os
import shutil
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from dempster.apps.studio import loading, opening
from tests.apps.report.cases import unpack
from tests.apps.studio.live import Client, limited_file_size, running_studio


def open_tab(guard, **params):
    tab = Client(guard)
    tab.open(**params)
    return tab


def views_of(tab):
    """Return the contents of the session and of the views of its runs."""
    session = tab.get("").json()
    found = [session["runs"], session["source"], session["rules"], session["settings"]]
    for run in session["runs"]:
        base = f"/runs/{run['id']}"
        objects = unpack(tab.get(f"{base}/objects").content)
        found += [objects["sets"], objects["best"].tolist(), objects["doubt"].tolist()]
        for path in ("why?object=70", "profiles", "boundaries", "history", "recipe"):
            found.append(tab.get(f"{base}/{path}").json())
        found.append(unpack(tab.get(f"{base}/selection").content)["mask"].tolist())
    found.append(tab.get("/answers").json()["answers"])
    return found


def teach_and_cluster(tab):
    source = tab.load("iris")
    tab.cluster(source, clusters=3, method="ecm")
    tab.post("/answers", {"first": 0, "second": 60, "answer": "different"})
    tab.cluster(source, clusters=3, learn=True)
    conditions = [{"column": "petal width (cm)", "low": 0, "high": 1}]
    tab.post("/rules", {"conditions": conditions})
    mask = (np.arange(150) % 2).astype(np.uint8).tobytes()
    tab.ask("PUT", "/runs/1/selection", content=mask)
    tab.cluster(source, only="selection", clusters=2, method="ecm")
    return source


def test_session_continues_after_a_restart_and_in_a_file(tmp_path):
    with running_studio(folder=tmp_path) as guard:
        tab = open_tab(guard)
        open_tab(guard)
        teach_and_cluster(tab)
        expected = views_of(tab)
        saved = tab.get("/saved")
        assert "iris.studio.zip" in saved.headers["content-disposition"]
    assert len(list(tmp_path.iterdir())) == 1  # The empty session is removed.
    with running_studio(folder=tmp_path) as guard:
        (listed,) = Client(guard).get("/api/sessions").json()["sessions"]
        assert (listed["name"], listed["runs"]) == ("iris.csv", 3)
        tab = open_tab(guard, open=listed["id"])
        assert views_of(tab) == expected
        assert tab.cluster(expected[1], clusters=2, method="ecm")["id"] == "4"
        assert Client(guard).post("/api/sessions", {"open": "../x"}).status == 404
    with running_studio() as guard:
        answer = Client(guard).ask("PUT", "/api/session-file", content=saved.content)
        tab = open_tab(guard, open=answer.json()["id"])
        assert views_of(tab) == expected


# ---- tables that change --------------------------------------------------------------------------


def write_groups(path, *, is_reversed=False, n=30):
    """Write a table with two groups in turns."""
    x = np.random.default_rng(0).normal(size=(n, 2)) + 9 * (np.arange(n) % 2)[:, None]
    table = pd.DataFrame(x, columns=["x", "y"])[:: -1 if is_reversed else 1]
    if path.suffix == ".parquet":
        table.reset_index(drop=True).to_parquet(path)
    else:
        table.to_csv(path, index=False)


def cluster_file(guard):
    """Cluster the table with which a studio was started, and answer a question."""
    tab = Client(guard)
    source = tab.done(opened(tab.open()))
    tab.cluster(source, clusters=2, method="ecm")
    tab.post("/answers", {"first": 0, "second": 1, "answer": "different"})
    return tab


def opened(content):
    """Return the answer of an opened session, which contains the job that loads its table."""
    return SimpleNamespace(status=200, json=lambda: content)


def results(tab):
    runs = tab.get("").json()["runs"]
    masses = [tab.get(f"/runs/{run['id']}/partition.csv").content for run in runs]
    return masses, tab.get("/answers").json()["answers"]


@pytest.mark.parametrize("name", ["own.csv", "a, b;c.parquet"])
def test_a_changed_table_is_announced(tmp_path, name):
    table = tmp_path / name
    write_groups(table)
    before = table.read_bytes()
    with running_studio(table, tmp_path / "sessions") as guard:
        tab = cluster_file(guard)
        expected = results(tab)
        assert tab.get("").json()["file"] is None
        write_groups(table, is_reversed=True)
        assert tab.get("").json()["file"] == {"state": "changed", "has_copy": True}
        # Runs still use the table on the page.
        source = tab.get("").json()["source"]
        tab.cluster(source, clusters=2, method="ecm")
        same = [tab.get(f"/runs/{k}/partition.csv").content for k in (1, 2)]
        assert same[0] == same[1]
        tab.ask("DELETE", "/runs/2")
    with running_studio(folder=tmp_path / "sessions") as guard:
        tab = open_tab(guard, open=tab.number)
        assert tab.get("").json()["file"] == {"state": "changed", "has_copy": True}
        assert results(tab) == expected
        assert tab.get("/runs/1/recipe").json()["file"] == name
        assert tab.get("/runs/1/data").content == before
        tab.done(tab.post("/table/changed"))
        session = tab.get("").json()
        assert (session["file"], session["runs"]) == (None, [])
        tab.cluster(session["source"], clusters=2, method="ecm")
        assert tab.get("/runs/3/data").content == table.read_bytes()
        tab.post("/undo")
        assert results(tab) == expected


def test_a_touched_table_is_not_announced(tmp_path):
    table = tmp_path / "own.csv"
    write_groups(table)
    with running_studio(table, tmp_path / "sessions") as guard:
        tab = cluster_file(guard)
        os.utime(table, (1, 1))
        assert tab.get("").json()["file"] is None


def test_sessions_do_not_need_their_file(tmp_path):
    table = tmp_path / "own.csv"
    write_groups(table)
    with running_studio(table, tmp_path / "sessions") as guard:
        tab = cluster_file(guard)
        expected = results(tab)
        packed = tab.get("/saved").content
    table.rename(tmp_path / "moved.csv")
    with running_studio(folder=tmp_path / "sessions") as guard:
        tab = open_tab(guard, open=tab.number)
        session = tab.get("").json()
        assert session["file"] == {"state": "missing", "has_copy": True}
        assert results(tab) == expected
        tab.cluster(session["source"], clusters=3, method="ecm")
        assert tab.job(tab.post("/table/changed"))["state"] == "failed"
        assert tab.post("/table/copy").json()["file"] is None
        answer = tab.ask("PUT", "/api/session-file", content=packed)
        other = open_tab(guard, open=answer.json()["id"])
        assert other.get("").json()["file"] is None
        assert results(other) == expected
    with running_studio(folder=tmp_path / "sessions") as guard:
        tab = open_tab(guard, open=tab.number)
        assert tab.get("").json()["file"] is None
        assert len(tab.get("").json()["runs"]) == 2


def test_tables_larger_than_uploads_are_not_copied(tmp_path, monkeypatch):
    table = tmp_path / "own.csv"
    write_groups(table)
    before = table.read_bytes()
    monkeypatch.setattr(loading, "MAX_UPLOAD_BYTES", len(before) - 1)
    folder = tmp_path / "sessions"
    with running_studio(table, folder) as guard:
        tab = cluster_file(guard)
        assert not list(folder.rglob("own.csv"))
        write_groups(table, is_reversed=True)
        assert tab.get("").json()["file"] == {"state": "changed", "has_copy": False}
        answers = [
            tab.post("/runs", {"columns": ["x", "y"]}),
            tab.post("/names", {}),
            tab.get("/saved"),
            tab.get("/runs/1/data"),
        ]
        for answer in answers:
            assert answer.status == 422
            assert "own.csv has changed since" in answer.json()["error"]
        assert tab.post("/table/copy").status == 422
    with running_studio(folder=folder) as guard:
        answer = Client(guard).post("/api/sessions", {"open": tab.number})
        assert answer.status == 422
        assert "own.csv has changed since" in answer.json()["error"]
        table.write_bytes(before)
        assert len(open_tab(guard, open=tab.number).get("").json()["runs"]) == 1
    monkeypatch.setattr(loading, "MAX_UPLOAD_BYTES", len(before))
    with running_studio(table, folder) as guard:
        cluster_file(guard)
        assert len(list(folder.rglob("own.csv"))) == 1


# ---- several studios and tabs --------------------------------------------------------------------


def answer_pair(tab, first, second, answer="same"):
    pair = {"first": first, "second": second, "answer": answer}
    return tab.post("/answers", pair)


def answered(tab):
    return [
        (one["first"], one["second"]) for one in tab.get("/answers").json()["answers"]
    ]


def test_two_studios_do_not_overwrite_each_other(tmp_path):
    with running_studio(folder=tmp_path) as guard, running_studio(folder=tmp_path) as g:
        first = open_tab(guard)
        first.load("butterfly")
        answer_pair(first, 0, 1)
        second = open_tab(g, open=first.number)
        for k in (2, 3, 4):
            assert answer_pair(first, 0, k).status == 200
        refused = [
            answer_pair(second, 5, 6),
            second.post("/settings", {}),
            second.post("/example", {"name": "iris"}),
            second.ask("PUT", "/file?name=a.csv", content=b"x,y\n1,2\n3,4\n"),
            second.ask("DELETE", "/runs/1"),
        ]
        for answer in refused:
            assert answer.status == 409
            assert "opened elsewhere" in answer.json()["error"]
        assert answered(second) == [(0, 1)]
        assert second.get("/saved").status == 200
        second.open(open=first.number)
        assert answered(second) == [(0, k) for k in (1, 2, 3, 4)]
        assert answer_pair(second, 5, 6).status == 200
        assert answer_pair(first, 7, 8).status == 409
        second.cluster(second.get("").json()["source"], clusters=2, method="ecm")
    with running_studio(folder=tmp_path) as guard:
        tab = open_tab(guard, open=first.number)
        assert answered(tab) == [(0, 1), (0, 2), (0, 3), (0, 4), (5, 6)]
        assert [run["id"] for run in tab.get("").json()["runs"]] == ["1"]


def test_one_of_two_simultaneous_answers_is_refused(tmp_path):
    with running_studio(folder=tmp_path) as guard, running_studio(folder=tmp_path) as g:
        tab = open_tab(guard)
        tab.load("iris")
        answer_pair(tab, 0, 1)
        tabs = [tab, open_tab(g, open=tab.number)]
        for k in range(2, 12):
            for one in tabs:
                one.open(open=tab.number)
            with ThreadPoolExecutor() as pool:
                both = pool.map(lambda one, k=k: answer_pair(one, 0, k).status, tabs)
            assert sorted(both) == [200, 409]
        tab.open(open=tab.number)
        assert answered(tab) == [(0, k) for k in range(1, 12)]


def test_a_run_that_ends_after_another_studio_wrote_is_not_saved(tmp_path):
    with running_studio(folder=tmp_path) as guard, running_studio(folder=tmp_path) as g:
        first = open_tab(guard)
        source = first.load("wine")
        answer_pair(first, 0, 1)
        columns = [one["name"] for one in source["columns"] if one["suggested"]]
        slow = {"columns": columns, "method": "evclus", "parameters": {"n_init": 40}}
        second = open_tab(g, open=first.number)
        started = first.post("/runs", {**slow, "clusters": 3})
        second.open(open=first.number)
        answer_pair(second, 0, 2)
        job = first.job(started)
        assert job["state"] == "failed"
        assert "opened elsewhere" in job["error"]
        archive = zipfile.ZipFile(io.BytesIO(first.get("/saved").content))
        assert "run1.npy" in archive.namelist()
        second.cluster(source, clusters=2, method="ecm")
        expected = second.get("/runs/1/objects").content
    with running_studio(folder=tmp_path) as guard:
        tab = open_tab(guard, open=first.number)
        assert tab.get("/runs/1/objects").content == expected


def test_only_the_last_tab_changes_a_session(tab, studio):
    tab.load("butterfly")
    other = open_tab(studio, open=tab.number)
    assert answer_pair(tab, 0, 1).status == 409
    assert answer_pair(other, 0, 2).status == 200
    assert answered(tab) == [(0, 2)]
    tab.open(open=tab.number)
    assert answer_pair(tab, 0, 1).status == 200
    assert answer_pair(other, 0, 3).status == 409
    assert tab.raw("POST", f"{tab.base}/settings", b"{}").status == 403


# ---- sessions that are kept ----------------------------------------------------------------------


def test_sessions_without_work_are_not_kept(tmp_path):
    table = tmp_path / "own.csv"
    write_groups(table)
    folder = tmp_path / "sessions"
    with running_studio(table, folder) as guard:
        worked = cluster_file(guard).number
        for _ in range(3):
            tab = Client(guard)
            tab.done(opened(tab.open()))
            tab.post("/settings", {"columns": ["x"]})
        tab.open(open=tab.number)  # reloaded
        assert tab.get("").json()["settings"] == {"columns": ["x"]}
        (listed,) = Client(guard).get("/api/sessions").json()["sessions"]
        assert (listed["id"], listed["runs"], listed["answers"]) == (worked, 1, 1)
    assert [path.name for path in folder.iterdir()] == [worked]


def test_sessions_with_answers_are_never_deleted(tmp_path):
    with running_studio(folder=tmp_path) as guard:
        tab = open_tab(guard)
        tab.load("butterfly")
        answer_pair(tab, 0, 1)
    for k in range(120):
        shutil.copytree(tmp_path / tab.number, tmp_path / f"{k:016x}")
        os.utime(tmp_path / f"{k:016x}" / "session.json", (k, k))
    with running_studio(folder=tmp_path) as guard:
        other = open_tab(guard)
        other.load("butterfly")
        answer_pair(other, 0, 2)
        listed = other.get("/api/sessions").json()["sessions"]
        assert len(listed) == 122
        for one in listed[:30]:
            assert answered(open_tab(guard, open=one["id"]))
        for number, status in ((tab.number, 200), (tab.number, 404), ("..", 404)):
            answer = other.ask("DELETE", f"/api/sessions/{number}")
            assert answer.status == status
        assert len(other.get("/api/sessions").json()["sessions"]) == 121
    assert len(list(tmp_path.iterdir())) == 121


def age(path, days):
    seconds = time.time() - days * 24 * 3600
    os.utime(path, (seconds, seconds))


def test_folders_of_killed_studios_are_removed(tmp_path):
    for days in (20, 29, 31, 40):
        (tmp_path / f"{days}" / "0f").mkdir(parents=True)
        age(tmp_path / f"{days}", days)
    with running_studio(folder=tmp_path):
        assert {path.name for path in tmp_path.iterdir()} == {"20", "29"}


# ---- disks that are full -------------------------------------------------------------------------


def test_what_cannot_be_saved_is_listed_and_can_be_downloaded(tmp_path):
    with running_studio(folder=tmp_path) as guard:
        tab = open_tab(guard)
        source = tab.load("wine")
        assert tab.get("").json()["unsaved"] == []
        with limited_file_size(8000):
            tab.cluster(source, clusters=3, method="ecm")
            assert tab.get("").json()["unsaved"] == ["run 1 (File too large)"]
            with limited_file_size(100):
                assert answer_pair(tab, 0, 1).status == 200
                expected = views_of(tab)
                assert tab.get("").json()["unsaved"] == [
                    "run 1 (File too large)",
                    "answers, rules and settings (File too large)",
                ]
                packed = tab.get("/saved").content
        with running_studio() as other_guard:
            answer = Client(other_guard).ask("PUT", "/api/session-file", content=packed)
            other = open_tab(other_guard, open=answer.json()["id"])
            assert views_of(other) == expected
        tab.post("/settings", tab.get("").json()["settings"])
        assert tab.get("").json()["unsaved"] == []
    with running_studio(folder=tmp_path) as guard:
        assert views_of(open_tab(guard, open=tab.number)) == expected


def test_a_table_that_cannot_be_copied_is_listed(tmp_path):
    table = tmp_path / "own.csv"
    write_groups(table, n=3000)
    with (
        limited_file_size(20_000),
        running_studio(table, tmp_path / "sessions") as guard,
    ):
        tab = cluster_file(guard)
        unsaved = tab.get("").json()["unsaved"]
        assert "the table (File too large)" in unsaved
        assert not list((tmp_path / "sessions").rglob("own.csv"))
        assert len(tab.get("").json()["runs"]) == 1


def test_sessions_that_cannot_be_saved_remain_open(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(opening, "MAX_OPEN_SESSIONS", 3)
    with running_studio(folder=tmp_path) as guard:
        tabs = [open_tab(guard) for _ in range(3)]
        tabs[0].load("butterfly")
        tabs[1].load("butterfly")
        with limited_file_size(10):
            answer_pair(tabs[0], 0, 1)
            for _ in range(4):
                open_tab(guard)
            assert answered(tabs[0]) == [(0, 1)]
            assert tabs[1].get("").status == 404
            shutil.rmtree(tmp_path / tabs[0].number)
            (tmp_path / tabs[0].number).mkdir()
            (tmp_path / tabs[0].number / "session.json").mkdir()
    assert "butterfly.csv is not saved" in capfd.readouterr().err


def change_archive(packed, change):
    """Return an archive with a changed state."""
    changed = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(packed)) as old,
        zipfile.ZipFile(changed, "w") as new,
    ):
        for name in old.namelist():
            content = old.read(name)
            if name == "session.json":
                state = json.loads(content)
                change(state)
                content = json.dumps(state)
            new.writestr(name, content)
    return changed.getvalue()


def test_hostile_session_files(tab, tmp_path):
    tab.cluster(tab.load("butterfly"), clusters=2, method="ecm")
    packed = tab.get("/saved").content
    secret = tmp_path / "secret.csv"
    secret.write_text("x,y\n" + "1,2\n" * 12)

    def name_other_file(state):
        state["source"]["path"] = str(secret)

    def leave_folder(state):
        state["runs"][0]["recipe"]["files"] = ["../../secret.csv"]

    contents = [
        b"PK nothing",
        packed[: len(packed) // 2],
        change_archive(packed, name_other_file),
        change_archive(packed, leave_folder),
        change_archive(packed, lambda state: state.pop("runs")),
        change_archive(packed, lambda state: state.update(answers=3)),
    ]
    before = len(tab.get("/api/sessions").json()["sessions"])
    for content in contents:
        answer = tab.ask("PUT", "/api/session-file", content=content)
        assert answer.status == 422, answer.content
    assert len(tab.get("/api/sessions").json()["sessions"]) == before


# ---- deletions -----------------------------------------------------------------------------------


def test_deletions_can_be_undone(tab):
    source = tab.load("butterfly")
    for clusters in (2, 3):
        tab.cluster(source, clusters=clusters, method="ecm")
    tab.post("/answers", {"first": 0, "second": 11, "answer": "different"})
    expected = views_of_runs(tab)
    tab.ask("DELETE", "/runs/1")
    tab.post("/answers/undo")
    tab.cluster(source, clusters=4, method="ecm")
    assert tab.get("").json()["deleted"] == "deleted the last answer"
    tab.load("wine")
    assert tab.get("").json()["runs"] == []
    for _ in range(3):
        tab.post("/undo")
    assert views_of_runs(tab)[:2] == expected[:2]
    assert [run["id"] for run in tab.get("").json()["runs"]] == ["1", "2", "3"]
    assert len(tab.get("/answers").json()["answers"]) == 1
    assert tab.get("").json()["deleted"] is None
    assert tab.post("/undo").status == 422


def test_deletions_can_be_undone_after_a_restart(tmp_path):
    with running_studio(folder=tmp_path) as guard:
        tab = open_tab(guard)
        teach_and_cluster(tab)
        expected = views_of(tab)
        tab.ask("DELETE", "/runs/2")
        tab.post("/answers/undo")
        tab.ask("DELETE", "/rules/0")
        tab.load("wine")
    with running_studio(folder=tmp_path) as guard:
        tab = open_tab(guard, open=tab.number)
        assert tab.get("").json()["deleted"].startswith("replaced the table")
        for _ in range(2):
            tab.post("/undo")
    with running_studio(folder=tmp_path) as guard:
        tab = open_tab(guard, open=tab.number)
        for _ in range(2):
            tab.post("/undo")
        assert views_of(tab) == expected
        assert tab.get("").json()["deleted"] is None


def test_deletions_are_kept_for_thirty_days(tmp_path):
    with running_studio(folder=tmp_path) as guard:
        tab = open_tab(guard)
        source = tab.load("butterfly")
        for clusters in (2, 3, 4):
            tab.cluster(source, clusters=clusters, method="ecm")
        for number in (1, 2, 3):
            tab.ask("DELETE", f"/runs/{number}")
    state_file = tmp_path / tab.number / "session.json"
    for days, deleted in ((29, [3, 2, 1]), (31, [3, 2])):
        state = json.loads(state_file.read_text())
        state["deletions"][0]["time"] = time.time() - days * 24 * 3600
        state_file.write_text(json.dumps(state))
        with running_studio(folder=tmp_path) as guard:
            tab = open_tab(guard, open=tab.number)
            for number in deleted:
                assert f"deleted the run {number}" in tab.get("").json()["deleted"]
                tab.post("/undo")
            assert tab.get("").json()["deleted"] is None
            assert [run["id"] for run in tab.get("").json()["runs"]] == [
                str(number) for number in sorted(deleted)
            ]
            for number in sorted(deleted):
                tab.ask("DELETE", f"/runs/{number}")
    assert not list(tmp_path.rglob("run1.*"))
    state = json.loads(state_file.read_text())
    for deletion in state["deletions"]:
        deletion["time"] -= 31 * 24 * 3600
    state_file.write_text(json.dumps(state))
    with running_studio(folder=tmp_path):
        assert list(tmp_path.iterdir()) == []


def views_of_runs(tab):
    """Return the objects of the first runs."""
    return [
        tab.get(f"/runs/{run['id']}/objects").content
        for run in tab.get("").json()["runs"]
    ]


def test_undo_of_a_new_table_can_be_undone(tab):
    tab.cluster(tab.load("butterfly"), clusters=2, method="ecm")
    tab.cluster(tab.load("iris"), clusters=3, method="ecm")
    names = []
    for _ in range(3):
        tab.post("/undo")
        session = tab.get("").json()
        names.append((session["source"]["name"], len(session["runs"])))
    assert names == [("butterfly.csv", 1), ("iris.csv", 1), ("butterfly.csv", 1)]
