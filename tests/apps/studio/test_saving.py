"""Saved sessions, session files and undone deletions."""

import io
import json
import zipfile

import numpy as np

from tests.apps.report.cases import unpack
from tests.apps.studio.live import Client, running_studio


def open_tab(guard, **params):
    tab = Client(guard)
    answer = tab.post("/api/sessions", params)
    assert answer.status == 200, answer.content
    tab.base = f"/api/sessions/{answer.json()['session']['id']}"
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


def test_table_outside_the_folder_is_part_of_the_file(tmp_path):
    table = tmp_path / "own.csv"
    x = np.random.default_rng(0).normal(size=(30, 2)) + 9 * (np.arange(30) % 2)[:, None]
    np.savetxt(table, x, delimiter=",", header="x,y", comments="")
    with running_studio(table, tmp_path / "sessions") as guard:
        tab = Client(guard)
        opened = tab.post("/api/sessions")
        tab.base = f"/api/sessions/{opened.json()['session']['id']}"
        tab.cluster(tab.done(opened), clusters=2, method="ecm")
        packed = tab.get("/saved").content
    table.write_text("x,y\n1,2\n")
    with running_studio(folder=tmp_path / "sessions") as guard:
        (listed,) = Client(guard).get("/api/sessions").json()["sessions"]
        answer = Client(guard).post("/api/sessions", {"open": listed["id"]})
        assert answer.status == 422
        assert "own.csv has changed" in answer.json()["error"]
        answer = Client(guard).ask("PUT", "/api/session-file", content=packed)
        tab = open_tab(guard, open=answer.json()["id"])
        assert tab.get("").json()["runs"][0]["n"] == 30


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
    tab.done(tab.post("/reload", {"index_col": source["columns"][0]["name"]}))
    assert tab.get("").json()["runs"] == []
    for _ in range(3):
        tab.post("/undo")
    assert views_of_runs(tab)[:2] == expected[:2]
    assert [run["id"] for run in tab.get("").json()["runs"]] == ["1", "2", "3"]
    assert len(tab.get("/answers").json()["answers"]) == 1
    assert tab.get("").json()["deleted"] is None
    assert tab.post("/undo").status == 422


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
