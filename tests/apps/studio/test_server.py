"""Sessions, jobs, uploads and responses of the server."""

import gzip
import socket
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from dempster.apps.studio import loading, routing, server, views
from dempster.apps.studio.sessions import safe_name
from dempster.io import read_partition
from tests.apps.report.cases import unpack
from tests.apps.studio.live import Client, running_studio


def test_table_description(iris):
    _, source, _ = iris
    kinds = {
        column["name"]: (column["kind"], column["suggested"])
        for column in source["columns"]
    }
    assert kinds["species"] == ("category", False)
    assert kinds["petal width (cm)"] == ("number", True)
    assert source["rows"] == 150


def test_columns_without_values_have_no_limits(tab):
    table = pd.DataFrame({"x": np.arange(6.0), "empty": pd.array([None] * 6, "Int64")})
    job = tab.upload("t.parquet", table.to_parquet())
    columns = job["answer"]["columns"]
    assert [(one["low"], one["high"]) for one in columns] == [(0, 5), (None, None)]


def test_objects_match_the_partition(iris):
    tab, _, run = iris
    objects = unpack(tab.get(f"/runs/{run['id']}/objects").content)
    sizes = np.array([len(one) for one in objects["sets"]])[objects["best"]]
    assert [(sizes == k).sum() for k in (0, 1)] == [run["outliers"], run["certain"]]
    largest = np.stack(
        [objects["empty"], objects["single"], objects["several"]]
    ).argmax(axis=0)
    chosen = np.stack(
        [objects["empty_set"], objects["single_set"], objects["several_set"]]
    )[largest, np.arange(150)]
    np.testing.assert_array_equal(chosen, objects["best"])


def test_doubt_about_given_clusters(tab, tmp_path):
    source = tab.load("iris")
    run = tab.cluster(source, method="doubt", given="species")
    assert run["name"] == "species, 3 clusters"
    objects = unpack(tab.get(f"/runs/{run['id']}/objects").content)
    names = ["setosa", "versicolor", "virginica"]
    assert [name for _, name, _ in objects["clusters"]] == names
    assert run["certain"] + run["ambiguous"] + run["outliers"] == 150
    answer = tab.post(
        "/runs", {"columns": ["petal width (cm)"], "method": "doubt", "given": "x"}
    )
    assert "select the column with your clusters" in answer.json()["error"]


def test_layers_of_a_run(tab, tmp_path):
    source = tab.load("iris")
    run = tab.cluster(source, clusters=12, method="ecm")
    address = f"/runs/{run['id']}"
    fine = unpack(tab.get(f"{address}/objects").content)
    n_ambiguous = run["ambiguous"]
    for n_clusters in [*run["layers"], 1]:
        coarse = unpack(tab.get(f"{address}@{n_clusters}/objects").content)
        single = [one for one in coarse["sets"] if len(one) == 1]
        assert len(single) == coarse["n_clusters"] == n_clusters
        # Clusters have the number, and so the color, of one of their parts.
        for [number] in single:
            code = coarse["sets"].index([number])
            parts = fine["single_set"][coarse["best"] == code]
            assert [number] in [fine["sets"][part] for part in parts]
        size = np.array([len(one) for one in coarse["sets"]])[coarse["best"]]
        assert (size > 1).sum() <= n_ambiguous
        n_ambiguous = (size > 1).sum()
    layer = f"{address}@{run['layers'][0]}"
    for path in ("boundaries", "profiles", "curve", "order?by=set", "question"):
        assert tab.get(f"{layer}/{path}").status == 200, path
    why = tab.get(f"{layer}/why?object=0").json()
    assert why["by"] == "attributes"
    assert why["masses"][0]["mass"] == max(one["mass"] for one in why["masses"])
    (tmp_path / "layer.parquet").write_bytes(
        tab.get(f"{layer}/partition.parquet").content
    )
    partition = read_partition(tmp_path / "layer.parquet")
    assert partition.n_clusters == run["layers"][0]
    for number in (0, 13, "x"):
        assert tab.get(f"{address}@{number}/objects").status == 422


def test_planes_have_a_distortion(iris):
    tab, _, run = iris
    plane = unpack(tab.get(f"/runs/{run['id']}/plane?kind=attributes&x=2&y=3").content)
    assert plane["axes"] == ["petal length (cm)", "petal width (cm)"]
    assert plane["points"][:2].tolist() == pytest.approx([1.4, 0.2])
    assert plane["distortion"]["grade"] in ("fair", "distorted")
    plane = unpack(tab.get(f"/runs/{run['id']}/plane?kind=pca").content)
    assert plane["distortion"]["kept"] > 0.5
    assert tab.get(f"/runs/{run['id']}/plane?kind=other").status == 422
    assert tab.get(f"/runs/{run['id']}/plane?kind=attributes&x=9&y=0").status == 422


def test_contours_sum_to_one(iris):
    tab, _, run = iris
    question = f"/runs/{run['id']}/contours?kind=attributes&x=2&y=3&box=1,0,7,2.5"
    found = unpack(tab.get(question).content)
    shades = found["shades"].reshape(len(found["sets"]), -1)
    assert shades.shape[1] == found["width"] * found["height"]
    assert abs(shades.sum(axis=0).astype(int) - 255).max() <= len(found["sets"])


def test_explanation_is_in_the_units_of_the_file(iris):
    tab, _, run = iris
    why = tab.get(f"/runs/{run['id']}/why?object=70").json()
    assert why["values"][2] == pytest.approx(4.8)
    pulled = {row["name"]: row for row in why["attributes"]}
    assert pulled["petal length (cm)"]["value"] == pytest.approx(4.8)
    assert 1 < min(pulled["petal length (cm)"]["usual"]) < 7
    assert sum(one["mass"] for one in why["masses"]) > 0.9
    assert {one["cluster"] for one in why["exemplars"]} <= set(why["clusters"])
    assert tab.get(f"/runs/{run['id']}/why?object=150").status == 422


def test_boundary_is_sorted_from_one_cluster_to_the_other(iris):
    tab, _, run = iris
    first = tab.get(f"/runs/{run['id']}/boundaries").json()["boundaries"][0]
    found = tab.get(f"/runs/{run['id']}/boundary?a={first['a']}&b={first['b']}").json()
    towards = [one["towards"] for one in found["objects"]]
    assert towards == sorted(towards)
    assert towards[0] < 0.5 < towards[-1]
    assert found["apart"][0]["separation"] > 0.5


def test_profiles_curve_history_and_candidates(iris):
    tab, _, run = iris
    profiles = tab.get(f"/runs/{run['id']}/profiles").json()
    assert [group["n"] for group in profiles["groups"]][:3] == pytest.approx(
        [50, 52, 27], abs=12
    )
    curve = tab.get(f"/runs/{run['id']}/curve?classes=species").json()
    assert curve["share"][-1] == 1
    assert curve["quality"][-1] > 0.5
    assert len(tab.get(f"/runs/{run['id']}/curve").json()["quality"]) == len(
        curve["share"]
    )
    assert tab.get(f"/runs/{run['id']}/history").json()["converged"] is True
    found = unpack(tab.get(f"/runs/{run['id']}/candidates").content)
    table = found["candidates"]
    assert {one["shape"] for one in table} >= {"compact", "elongated"}
    labels = found["labels"].reshape(len(found["shown"]), -1)
    assert len(found["points"]) == 2 * labels.shape[1]
    plane = unpack(tab.get(f"/runs/{run['id']}/plane?kind=pca").content)["points"]
    quantiles = [
        np.quantile(np.reshape(points, (-1, 2)), [0.1, 0.3, 0.7, 0.9], axis=0)
        for points in (plane, found["points"])
    ]
    np.testing.assert_allclose(*quantiles, atol=0.2)  # in the orientation of the map
    selected = found["shown"].index([one["selected"] for one in table].index(True))
    for k, shown in enumerate(found["shown"]):
        assert adjusted_rand_score(labels[k], labels[selected]) == pytest.approx(
            table[shown]["with_selected"]
        )
    shape = table[found["shown"][selected]]["shape"]
    assert found["reasons"]["shape"].startswith(f"{shape} clusters")
    assert tab.get(f"/runs/{run['id']}/shepard").status == 422


def test_default_method(tab):
    source = tab.load("butterfly")
    about = tab.get("/api/about").json()
    assert about["methods"][0]["name"] == "auto"
    assert {".csv", ".xlsx", ".parquet"} <= set(about["table_suffixes"])
    plain = tab.cluster(source, method="auto", learn=True)
    tab.post("/answers", {"first": 0, "second": 11, "answer": "different"})
    constrained = tab.cluster(source, method="auto", learn=True, clusters=2)
    assert [plain["method"], constrained["method"]] == ["CredalClustering", "EVCLUS"]
    assert tab.get("").json()["settings"]["method"] == "auto"
    few = tab.cluster(source, clusters=10)
    found = unpack(tab.get(f"/runs/{few['id']}/candidates").content)
    selected = [one for one in found["candidates"] if one["selected"]]
    assert [one["n_clusters"] for one in selected] == [10]
    assert found["reasons"]["shape"].startswith(f"{selected[0]['shape']} clusters")
    assert unpack(tab.get(f"/runs/{constrained['id']}/shepard").content)["error"] < 0.3
    assert tab.get(f"/runs/{constrained['id']}/candidates").status == 422


def test_order_by_doubt_and_by_column(iris):
    tab, _, run = iris
    objects = unpack(tab.get(f"/runs/{run['id']}/objects").content)
    order = unpack(tab.get(f"/runs/{run['id']}/order?by=doubt&down=1").content)["order"]
    assert (np.diff(objects["doubt"][order]) <= 1e-6).all()
    by_width = unpack(tab.get(f"/runs/{run['id']}/order?by=column:3&down=0").content)[
        "order"
    ]
    rows = tab.post(
        f"/runs/{run['id']}/rows", {"positions": by_width[:5].tolist()}
    ).json()
    assert [row[3] for row in rows["cells"]] == sorted(row[3] for row in rows["cells"])
    assert sorted(by_width) == list(range(150))


def test_selection(iris):
    tab, source, run = iris
    mask = np.zeros(150, dtype=np.uint8)
    mask[50:] = 1
    about = tab.ask(
        "PUT", f"/runs/{run['id']}/selection", content=mask.tobytes()
    ).json()
    assert about["n"] == 100
    assert about["attributes"][0]["name"].startswith("petal")
    np.testing.assert_array_equal(
        unpack(tab.get(f"/runs/{run['id']}/selection").content)["mask"], mask
    )
    rule = tab.post(f"/runs/{run['id']}/rule").json()
    assert rule["hits"] == rule["holds"] == 100  # setosa is well separated
    assert (
        tab.post("/rules", {"conditions": rule["conditions"]}).json()["rules"][0][
            "text"
        ]
        == rule["text"]
    )
    part = tab.cluster(source, only="selection", method="ecm", clusters=2)
    assert part["n"] == 100
    assert unpack(tab.get(f"/runs/{part['id']}/objects").content)[
        "rows"
    ].tolist() == list(range(50, 150))
    text = tab.get(f"/runs/{run['id']}/selected").content.decode()
    assert len(text.strip().splitlines()) == 101
    assert tab.ask("PUT", f"/runs/{run['id']}/selection", content=b"123").status == 422


def test_answers_apply_to_a_selection(iris):
    tab, source, run = iris
    mask = np.zeros(150, dtype=np.uint8)
    mask[50:] = 1
    tab.ask("PUT", f"/runs/{run['id']}/selection", content=mask.tobytes())
    for first, second in ((0, 1), (60, 61), (52, 149)):
        tab.post("/answers", {"first": first, "second": second, "answer": "different"})
    part = tab.cluster(source, only="selection", learn=True, clusters=2)
    assert part["origin"] == "100 selected objects, 2 answers"
    lines = tab.get(f"/runs/{part['id']}/answers").content.decode().split()
    assert lines == ["object,other,answer", "10,11,different", "2,99,different"]


def test_run_starts_from_peaks(tab):
    source = tab.load("fourclass")
    columns = ["x1", "x2"]
    tab.done(tab.post("/peaks", {"columns": columns}))
    peaks = unpack(tab.get("/peaks").content)
    assert len(peaks["belief"]) == len(peaks["delta"]) == 400
    prominence = peaks["belief"] * peaks["delta"]
    three = np.argsort(-prominence)[:3].tolist()
    run = tab.done(tab.post("/runs", {"method": "bpec", "start": three}))
    assert run["n_clusters"] == 3
    assert run["origin"] == "3 chosen belief peaks"
    assert tab.post("/runs", {"method": "bpec", "start": []}).status == 422
    number = tab.done(tab.post("/number", {"columns": columns}))
    assert number["best"] in number["n_clusters"]
    assert source["rows"] == 400


def test_answers_change_the_question_and_the_run(tab):
    source = tab.load("fourclass")
    run = tab.cluster(source, clusters=4)
    asked = tab.get(f"/runs/{run['id']}/question").json()["question"]
    assert 0 < asked["gain"] <= asked["doubt"] + 1e-9
    first, second = (one["row"] for one in asked["objects"])
    said = tab.post(
        "/answers",
        {"first": first, "second": second, "answer": "different", "run": run["id"]},
    ).json()
    assert said["n"] == 1
    again = tab.get(f"/runs/{run['id']}/question").json()["question"]
    assert {one["row"] for one in again["objects"]} != {first, second}
    saved = tab.get("/answers/file").content
    taught = tab.cluster(source, clusters=4, learn=True)
    assert taught["origin"] == "all objects, 1 answer"
    compared = tab.get(f"/compare?before={run['id']}&after={taught['id']}").json()
    assert compared["n"] == 400
    assert sum(flow["n"] for flow in compared["flows"]) == compared["moved"]
    assert 0.5 < compared["index"] <= 1
    assert tab.post("/answers/undo").json()["n"] == 0
    loaded = tab.ask("PUT", "/answers/file", content=saved).json()
    assert [one["answer"] for one in loaded["answers"]] == ["different"]


def test_job_can_be_stopped(tab):
    rows = "\n".join(
        ",".join(f"{x:.6f}" for x in row)
        for row in np.random.default_rng(0).normal(size=(4000, 8))
    )
    job = tab.upload("noise.csv", ("a,b,c,d,e,f,g,h\n" + rows).encode())
    source = job["answer"]
    columns = [column["name"] for column in source["columns"]]
    settings = {
        "columns": columns,
        "clusters": 12,
        "method": "ecmdd",
        "parameters": {"n_init": 500},
    }
    started = tab.post("/runs", settings).json()["job"]
    time.sleep(0.5)
    before = time.monotonic()
    assert tab.get("").json()["jobs"][0]["state"] == "running"
    assert time.monotonic() - before < 5
    stopped = tab.ask("DELETE", f"/jobs/{started['id']}").json()
    assert stopped["state"] == "stopped"
    assert tab.get(f"/jobs/{started['id']}").json()["state"] == "stopped"
    assert tab.get("").json()["runs"] == []
    assert tab.cluster(source, method="ecm", clusters=2)["n"] == 4000


def test_invalid_settings(tab):
    assert tab.post("/runs", {"columns": ["a"]}).json()["error"] == "load a table first"
    source = tab.load("butterfly")
    columns = [column["name"] for column in source["columns"]]
    for settings, words in (
        ({"columns": []}, "at least one column"),
        ({"columns": ["<b>"]}, "there is no column '<b>'"),
        ({"columns": columns, "method": "kmeans"}, "method"),
        ({"columns": columns, "clusters": "many"}, "clusters must be"),
        (
            {"columns": columns, "method": "ecm", "parameters": {"nonsense": 1}},
            "nonsense",
        ),
        ({"columns": columns, "only": "selection"}, "nothing is selected"),
    ):
        answer = tab.post("/runs", settings)
        assert answer.status == 422
        assert words in answer.json()["error"]
    job = tab.job(
        tab.post(
            "/runs",
            {
                "columns": columns,
                "method": "ecm",
                "clusters": 2,
                "parameters": {"delta": "-1"},
            },
        )
    )
    assert job["state"] == "failed"
    assert "delta" in job["error"]
    assert "Traceback" not in job["error"]
    assert tab.get("/runs/77/objects").status == 404
    assert tab.get("/api/sessions/nobody").status == 404


def test_internal_errors_are_printed_in_the_terminal_only(
    tab, iris, monkeypatch, capsys
):
    client, _, run = iris
    monkeypatch.setattr(views, "explain_object", lambda *a, **k: 1 / 0)
    answer = client.get(f"/runs/{run['id']}/why?object=1")
    assert answer.status == 500
    assert "division" not in answer.content.decode()
    assert "ZeroDivisionError" in capsys.readouterr().err


# ---- uploads -------------------------------------------------------------------------------------


def test_upload_limit(tab, monkeypatch):
    monkeypatch.setattr(loading, "MAX_UPLOAD_BYTES", 1000)
    answer = tab.ask("PUT", "/file?name=large.csv", content=b"x" * 2000)
    assert answer.status == 413
    assert tab.get("").json()["source"] is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("evil.pkl", b"\x80\x04cos\nsystem\n(S'true'\ntR."),
        (
            "evil.npy",
            b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"
            + b" " * 60
            + b"\n",
        ),
        ("text.csv", b"\x00\xff\xfe\x00"),
        ("empty.csv", b""),
        ("broken.parquet", b"PAR1 nothing"),
        ("broken.csv.gz", gzip.compress(b"a,b\n1,2\n", mtime=0)[:-9]),
    ],
    ids=["pickle", "objects", "text", "empty", "parquet", "gzip"],
)
def test_hostile_files_are_rejected(tab, name, content):
    job = tab.upload(name, content)
    assert job["state"] == "failed"
    assert job["error"]
    assert "Traceback" not in job["error"]
    assert "/tmp" not in job["error"]


def test_safe_names():
    assert safe_name("../../etc/passwd") == "passwd"
    assert safe_name("C:\\windows\\table.csv") == "table.csv"
    assert safe_name("..") == "table.csv"
    assert "/" not in safe_name("a/<script>.csv")


def test_tabs_are_independent(studio):
    one = Client(studio)
    other = Client(studio)
    one.open()
    other.open()
    one.load("butterfly")
    source = other.load("iris")
    run = other.cluster(source, clusters=3, method="ecm")
    assert one.get("").json()["runs"] == []
    assert one.get("").json()["source"]["name"] == "butterfly.csv"
    assert one.get(f"/runs/{run['id']}/objects").status == 404


def test_file_of_the_command_line(tmp_path, capfd):
    path = tmp_path / "points.csv"
    path.write_text("a,b\n" + "\n".join(f"{k},{k * k % 7}" for k in range(30)))
    with running_studio(path) as guard:
        tab = Client(guard)
        opened = tab.open()
        source = tab.done(
            type("Opened", (), {"status": 200, "json": lambda self: opened})()
        )
        assert source["rows"] == 30
        run = tab.cluster(source, clusters=2, method="ecm")
        content = path.read_bytes()
        path.unlink()
        assert tab.get(f"/runs/{run['id']}/data").content == content
        late = Client(guard)
        opened = late.open()
        job = late.get(f"/jobs/{opened['job']['id']}").json()
        while job["state"] == "running":
            job = late.get(f"/jobs/{job['id']}").json()
        assert job["error"] == "points.csv: No such file or directory"
    assert "Traceback" not in capfd.readouterr().err


def test_run_of_a_replaced_table_is_discarded(tab):
    source = tab.load("wine")
    columns = [column["name"] for column in source["columns"] if column["suggested"]]
    asked = {
        "columns": columns,
        "clusters": 3,
        "method": "evclus",
        "parameters": {"n_init": 200},
    }
    started = tab.post("/runs", asked)
    tab.load("iris")
    assert tab.job(started)["state"] == "failed"
    assert tab.get("").json()["runs"] == []


def test_runs_wait_for_the_table(tab):
    source = tab.load("butterfly")
    columns = [column["name"] for column in source["columns"]]
    content = b"x,y\n" + b"1.5,2\n3,4.25\n" * 300_000
    started = tab.ask("PUT", "/file?name=large.csv", content=content)
    answer = tab.post("/runs", {"columns": columns})
    assert answer.status == 422
    assert "a table is being read" in answer.json()["error"]
    assert tab.job(started)["answer"]["name"] == "large.csv"


def test_local_parameters_are_rejected(iris, tmp_path):
    tab, source, _ = iris
    columns = [column["name"] for column in source["columns"] if column["suggested"]]
    for name, value in (
        ("checkpoint", str(tmp_path / "here")),
        ("device", "cuda"),
        ("n_jobs", 64),
    ):
        answer = tab.post(
            "/runs", {"columns": columns, "method": "ecm", "parameters": {name: value}}
        )
        assert answer.status == 422
        assert name.replace("_", " ") in answer.json()["error"]
    assert list(tmp_path.iterdir()) == []


def test_interrupted_upload(studio, tab, capfd):
    with socket.create_connection(("127.0.0.1", studio.port)) as connection:
        head = [
            f"PUT {tab.base}/file?name=t.csv HTTP/1.1",
            f"host: 127.0.0.1:{studio.port}",
            "content-length: 1000000",
        ]
        head += [f"{name}: {value}" for name, value in tab.credentials.items()]
        connection.sendall("\r\n".join([*head, "", "a,b\n1,2\n"]).encode())
        time.sleep(0.3)
    time.sleep(0.3)
    assert tab.get("").json()["source"] is None
    assert "Traceback" not in capfd.readouterr().err


def test_second_header_line_is_refused(tab, tmp_path):
    lines = [
        "Patient,,blood",
        "name,age,Hb",
        "a,41,13.5",
        "b,66,12.1",
        "c,35,15",
        "d,58,14",
    ]
    job = tab.upload("people.csv", "\n".join(lines).encode())
    assert job["state"] == "failed"
    assert "contains headings, too ('age', 'Hb')" in job["error"]


def test_rows_left_out_are_counted(tab):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(40, 2)) + 6 * (np.arange(40) % 2)[:, None]
    lines = [f"{x:.3f},{y:.3f}" for x, y in values]
    lines[5:12] = [line.split(",")[0] + "," for line in lines[5:12]]
    source = tab.upload("holes.csv", "\n".join(["x,y", *lines]).encode())["answer"]
    assert not any("compared" in note for note in source["notes"])
    run = tab.cluster(source, missing="drop", clusters=2, method="ecm")
    assert (run["n"], run["n_left_out"]) == (33, 7)
    assert any("left out 7 rows of 40" in note for note in run["notes"])
    run = tab.cluster(source, missing="partial", clusters=2, method="ecm")
    assert (run["n"], run["n_left_out"]) == (40, 0)


# ---- wrong and slow requests ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("/runs", []),
        ("/runs", {"columns": 5}),
        ("/runs", {"columns": ["x1", 2]}),
        ("/runs", {"columns": ["x1"], "parameters": [1]}),
        ("/runs", {"start": ["a"]}),
        ("/example", {}),
        ("/example", {"name": ["iris"]}),
        ("/example", {"name": "nothing"}),
        ("/rules", {"conditions": [{"column": "x1"}]}),
        ("/rules", {"conditions": "x1"}),
        ("/runs/1/rows", {"positions": ["a"]}),
        ("/runs/1/report", {"outlier_weight": [1]}),
    ],
)
def test_parameters_of_a_wrong_type(tab, path, params, capsys):
    tab.cluster(tab.load("butterfly"), clusters=2, method="ecm")
    answer = tab.post(path, params) if params else tab.ask("POST", path, params)
    assert answer.status == 400, answer.content
    assert answer.json()["error"]
    assert "Traceback" not in capsys.readouterr().err


def test_silent_connections_are_closed(monkeypatch):
    monkeypatch.setattr(server, "MAX_SILENT_SECONDS", 0.2)
    monkeypatch.setattr(routing, "MAX_PAUSE_SECONDS", 0.2)
    with running_studio() as guard:
        tab = Client(guard)
        tab.open()
        head = "".join(
            f"{name}: {value}\r\n" for name, value in tab.credentials.items()
        )
        head += f"host: 127.0.0.1:{guard.port}\r\ncontent-length: 100\r\n\r\n"
        requests = [
            b"",
            b"GET / HTTP/1.1\r\nhost:",
            f"PUT {tab.base}/file?name=x.csv HTTP/1.1\r\n{head}x,y".encode(),
        ]
        for request in requests:
            with socket.create_connection(("127.0.0.1", guard.port)) as connection:
                connection.settimeout(20)
                connection.sendall(request)
                received = b""
                while chunk := connection.recv(1 << 16):  # until the server closes it
                    received += chunk
                assert (b"too slow" in received) == request.startswith(b"PUT")
        assert tab.get("").status == 200
