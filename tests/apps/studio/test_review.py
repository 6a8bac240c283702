"""The review of single objects in the studio."""

import io
import os

import numpy as np
import pandas as pd
import pytest

from dempster.apps.studio import reviewing
from dempster.datasets import load_iris
from tests.apps.report.cases import unpack
from tests.apps.studio.browser import open_page, wait_for_map
from tests.apps.studio.live import Client, running_studio

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63"
    "f8cfc000000301010018dd8db00000000049454e44ae426082"
)


def flowers(folder):
    """Write a table with pictures and texts, and return its path."""
    table = load_iris(as_frame=True).data
    table.columns = ["a", "b", "c", "d"]
    table.insert(0, "flower", [f"iris {i + 1}" for i in range(len(table))])
    table["picture"] = [f"pictures/{i % 3}.png" for i in range(len(table))]
    table["story"] = ["It has\nleaves. " * 10] * len(table)
    table["formula"] = "=1+1"
    (folder / "pictures").mkdir()
    for k in range(3):
        (folder / "pictures" / f"{k}.png").write_bytes(PIXEL)
    path = folder / "flowers.csv"
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def flower_studio(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flowers")
    with running_studio(flowers(folder), folder / "sessions") as guard:
        yield guard


@pytest.fixture
def reviewed(flower_studio):
    """Return a tab, a run and the positions of the doubtful objects."""
    tab = Client(flower_studio)
    tab.wait(tab.open()["job"])
    run = tab.done(
        tab.post("/runs", {"columns": list("abcd"), "clusters": 3, "method": "ecm"})
    )
    objects = unpack(tab.get(f"/runs/{run['id']}/objects").content)
    size = np.array([len(one) for one in objects["sets"]])[objects["best"]]
    return tab, run, np.flatnonzero(size != 1)


def decide(tab, run, position, kind="cluster", **more):
    values = {"object": int(position), "kind": kind, **more}
    return tab.post(f"/runs/{run['id']}/decisions", values)


def corrected(tab, run):
    content = tab.get(f"/runs/{run['id']}/corrected").content
    return pd.read_csv(io.BytesIO(content), keep_default_na=False)


# ---- objects -------------------------------------------------------------------------------------


def test_object_with_its_row_picture_and_text(reviewed):
    tab, run, _ = reviewed
    found = tab.get(f"/runs/{run['id']}/object?object=70").json()
    assert found["name"] == "iris 71"
    assert found["cells"][0] == ["a", 5.9]
    assert [one["kind"] for one in found["media"]] == ["picture", "text"]
    assert found["media"][1]["text"].startswith("It has\nleaves. It has")
    assert "story" not in [name for name, _ in found["cells"]]
    plausible = [one["plausibility"] for one in found["clusters"]]
    assert plausible == sorted(plausible, reverse=True)
    picture = tab.get(f"/runs/{run['id']}/picture?object=70&column=picture")
    assert picture.content == PIXEL
    assert picture.headers["content-type"] == "image/png"


def test_only_files_in_the_folder_of_the_table_are_shown(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.png").write_bytes(PIXEL)
    (inside / "own.png").write_bytes(PIXEL)
    (inside / "script.svg").write_text("<svg onload='alert(1)'/>")
    (inside / "note.txt").write_text("a note")
    os.symlink(tmp_path / "secret.png", inside / "link.png")
    os.symlink(tmp_path, inside / "up")
    shown = [
        "own.png",
        "./own.png",
        (inside / "own.png").as_uri(),
        str(inside / "own.png"),
    ]
    hidden = [
        "../secret.png",
        str(tmp_path / "secret.png"),
        (tmp_path / "secret.png").as_uri(),
        "link.png",
        "up/secret.png",
        "http://127.0.0.1/own.png",
        "//127.0.0.1/own.png",
        "http://[::1/own.png",
        "script.svg",
        "missing.png",
        "own.png\0.png",
        "x" * 5000 + ".png",
        "note.txt",
    ]
    cells = [*shown, *hidden]
    table = pd.DataFrame({"x": np.arange(len(cells)) % 2, "file": cells})
    table["x"] += 0.1 * np.arange(len(cells))
    path = inside / "table.parquet"
    table.to_parquet(path)
    with running_studio(path, tmp_path / "sessions") as guard:
        tab = Client(guard)
        tab.wait(tab.open()["job"])
        tab.done(tab.post("/names", {"index_col": ""}))
        run = tab.done(
            tab.post("/runs", {"columns": ["x"], "clusters": 2, "method": "ecm"})
        )
        for i, cell in enumerate(cells):
            media = tab.get(f"/runs/{run['id']}/object?object={i}").json()["media"]
            picture = tab.get(f"/runs/{run['id']}/picture?object={i}&column=file")
            if cell in shown:
                assert [one["kind"] for one in media] == ["picture"], cell
                assert picture.content == PIXEL
            else:
                assert picture.status == 404, cell
                kinds = {"note.txt": "text", "x" * 5000 + ".png": None}
                assert [one["kind"] for one in media] == [
                    kind for kind in [kinds.get(cell)] if kind
                ], cell
        assert tab.get(f"/runs/{run['id']}/picture?object=0&column=y").status == 422


def test_pictures_of_uploads_are_not_shown(tab):
    table = pd.DataFrame({"x": [0.0, 1, 5, 6], "file": "/etc/passwd.png"})
    tab.upload("t.csv", table.to_csv(index=False).encode())
    run = tab.done(
        tab.post("/runs", {"columns": ["x"], "clusters": 2, "method": "ecm"})
    )
    assert tab.get(f"/runs/{run['id']}/object?object=0").json()["media"] == []


# ---- decisions -----------------------------------------------------------------------------------


def test_corrected_table_says_who_decided(reviewed):
    tab, run, doubtful = reviewed
    first, second, third = (int(i) for i in doubtful[:3])
    decide(tab, run, first, cluster=2, note=' sure, "yes" ')
    decide(tab, run, second, "outlier")
    decide(tab, run, third, "skip", note="=cannot tell")
    table = corrected(tab, run)
    assert len(table) == 150
    rows = table.set_index("flower").loc[
        [f"iris {i + 1}" for i in (first, second, third)]
    ]
    assert rows["decided by"].tolist() == ["person", "person", "model"]
    assert rows["cluster"].tolist()[:2] == ["2", "outlier"]
    assert rows["note"].tolist() == ['sure, "yes"', "", "'=cannot tell"]
    assert (table["formula"] == "'=1+1").all()
    assert (table["decided by"] == "person").sum() == 2
    assert rows["possible clusters"].str.contains(" or |outlier").all()
    tab.post(f"/runs/{run['id']}/names", {"labels": [{"number": 2, "name": "big"}]})
    assert corrected(tab, run)["cluster"][first] == "big"
    # A later decision replaces the earlier one.
    decide(tab, run, first, cluster=0)
    assert corrected(tab, run)["cluster"][first] == "0"
    assert len(tab.get("/decisions").json()["decisions"]) == 3


def test_wrong_decisions_are_rejected(reviewed):
    tab, run, doubtful = reviewed
    for kind, more in (("guess", {}), ("cluster", {"cluster": 9}), ("cluster", {})):
        assert decide(tab, run, doubtful[0], kind, **more).status == 422
    assert decide(tab, run, 150, "skip").status == 422
    assert tab.get("/decisions").json()["decisions"] == []


def test_decisions_are_constraints_of_the_next_run(reviewed):
    tab, run, doubtful = reviewed
    for i in doubtful[:6]:
        found = tab.get(f"/runs/{run['id']}/object?object={i}").json()
        decide(tab, run, i, cluster=found["clusters"][1]["number"])
    session = tab.get("").json()
    assert session["n_decisions"] == 6
    assert sorted(session["decided"]) == doubtful[:6].tolist()
    again = tab.done(
        tab.post("/runs", {"columns": list("abcd"), "clusters": 3, "learn": True})
    )
    answers = pd.read_csv(io.BytesIO(tab.get(f"/runs/{again['id']}/answers").content))
    assert set(answers["object"]) == {f"iris {i + 1}" for i in doubtful[:6]}
    assert sorted(answers["answer"].unique()) == ["different", "same"]
    assert not set(answers["object"]) & set(answers["other"])
    assert "6 answers" not in again["origin"]
    table = corrected(tab, again)
    agreed = table["cluster"][doubtful[:6]]
    assert (table["decided by"][doubtful[:6]] == "person").all()
    assert len(agreed) == 6


def test_decisions_can_be_removed_and_outlive_the_studio(tmp_path):
    path = flowers(tmp_path)
    with running_studio(path, tmp_path / "sessions") as guard:
        tab = Client(guard)
        tab.wait(tab.open()["job"])
        run = tab.done(
            tab.post("/runs", {"columns": list("abcd"), "clusters": 3, "method": "ecm"})
        )
        for i in (50, 77, 100):
            decide(tab, run, i, cluster=1, note=f"note {i}")
        tab.post("/decisions/remove", {"row": 77})
        expected = tab.get("/decisions").json()
        assert [one["row"] for one in expected["decisions"]] == [50, 100]
    with running_studio(path, tmp_path / "sessions") as guard:
        other = Client(guard)
        other.open(open=tab.number)
        assert other.get("/decisions").json() == expected
        assert other.get("/api/sessions").json()["sessions"][0]["decisions"] == 2
        assert other.get("").json()["deleted"] == "deleted a decision"
        other.post("/undo")
        rows = [one["row"] for one in other.get("/decisions").json()["decisions"]]
        assert sorted(rows) == [50, 77, 100]
        packed = other.get("/saved").content
        opened = other.ask("PUT", "/api/session-file", content=packed).json()
        third = Client(guard)
        third.open(open=opened["id"])
        assert len(third.get("/decisions").json()["decisions"]) == 3


def test_typical_objects_are_not_decided_themselves(reviewed):
    tab, run, _ = reviewed
    model = tab.get(f"/runs/{run['id']}/object?object=0").json()
    number = model["clusters"][0]["number"]
    for i in range(50):  # one of the clusters
        assert decide(tab, run, i, cluster=number).status == 200
    assert tab.get("").json()["n_decisions"] < 50
    assert reviewing.KINDS == ("cluster", "outlier", "skip")


# ---- in the browser ------------------------------------------------------------------------------


def done(page):
    return page.locator("#review-done").inner_text()


def press(page, key, expected):
    page.keyboard.press(key)
    page.wait_for_selector(f"#review-done:has-text('{expected}')")


def test_review_by_keyboard(chromium, flower_studio):
    with open_page(chromium, flower_studio) as page:
        page.wait_for_selector("#run:visible")
        page.fill("#clusters", "3")
        page.select_option("#method", "ecm")
        page.click("#run")
        wait_for_map(page)
        page.click("#tab-review")
        page.wait_for_selector(".media img")
        n = int(done(page).split()[2])
        first = page.locator(".reviewed h3").get_attribute("title")
        press(page, "a", f"1 of {n} done")
        page.wait_for_function(
            "old => document.querySelector('.reviewed h3').title !== old", arg=first
        )
        press(page, "2", f"2 of {n} done")
        press(page, "o", f"3 of {n} done")
        page.fill("#review-note", "unclear <b>")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"#review-done:has-text('4 of {n} done')")
        press(page, "x", f"4 of {n} done")
        page.keyboard.press("b")
        page.wait_for_selector("#review-note")
        page.reload()
        wait_for_map(page)
        page.click("#tab-review")
        page.wait_for_selector(f"#review-done:has-text('4 of {n} done')")
        assert page.locator(".said-list li").count() == 4
        assert "unclear <b>" in page.locator(".said-list").inner_text()
        page.wait_for_selector(".grid-row span[title=reviewed]")
        with page.expect_download() as started:
            page.click("#corrected")
        table = pd.read_csv(started.value.path())
        assert (table["decided by"] == "person").sum() == 3
        page.click("[aria-label='Remove the decision about " + first + "']")
        page.wait_for_selector(f"#review-done:has-text('3 of {n} done')")
        page.click("#undo-button")
        page.wait_for_selector(".said-list li >> nth=3")
        page.click("#refit-decisions")
        page.wait_for_selector(".run-list li >> nth=1")
