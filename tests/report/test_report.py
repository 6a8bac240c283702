"""Reports without a browser: what they say, what they are made of, and of what they can be made."""

import base64
import hashlib
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans

from dempster import CredalPartition, FocalSets
from dempster._errors import InvalidInputError
from dempster.apps.recipe import Recipe
from dempster.apps.report import Report, make_report
from dempster.cluster import ECM, EVCLUS, WMVEC
from dempster.datasets import load_wine
from dempster.explain import doubt_scores, stability
from tests.cluster.contract import SUBJECTS
from tests.report.cases import (
    HOSTILE,
    hostile_report,
    many_report,
    masses,
    points,
    read,
    unpack,
    wine_model,
    wine_report,
)

SECTIONS = ["map-section", "clusters", "doubt", "trust", "repeat"]


def text_of(report):
    return " ".join(read(report.to_html()).all("main")[0].text.split())


def data_of(report):
    """What the script of a page reads."""
    (found,) = [script for script in read(report.to_html()).all("script") if script.attributes.get("id") == "data"]
    return unpack(base64.b64decode(found.text, validate=True))


# ---- what it says ---------------------------------------------------------------------------------------------------


def test_the_numbers_are_those_of_the_partition():
    partition = wine_model()[-1].credal_partition_
    page = read(wine_report().to_html())
    shown = [int(strong.text.replace(",", "")) for strong in page.all("dl")[0].all("strong")]
    torn, outliers = len(partition.ambiguous), len(partition.outliers)
    assert shown == [178 - torn - outliers, torn, outliers]
    rows = next(table for table in page.all("table") if table.attributes.get("id") == "cluster-table").all("tr")[1:]
    assert [int(row.children[2].text) for row in rows] == [len(partition.lower(k)) for k in partition.frame]
    assert [int(row.children[3].text) for row in rows] == [len(partition.upper(k)) for k in partition.frame]


def test_torn_objects_come_by_doubt_and_with_reasons_in_their_own_units():
    partition = wine_model()[-1].credal_partition_
    page = read(wine_report().to_html())
    rows = next(table for table in page.all("table") if table.attributes.get("id") == "torn-table").all("tr")[1:]
    shown = [int(row.children[0].text) for row in rows]
    doubt = doubt_scores(partition)
    assert set(shown) == set(partition.ambiguous.tolist())
    assert np.all(np.diff(doubt[shown]) <= 1e-6)
    first = rows[0].children[3].text
    values = load_wine(as_frame=True).data.iloc[shown[0]]
    assert any(f"{name} ({value:.4g})" in first for name, value in values.items())


def test_it_says_how_far_to_trust_it():
    text = text_of(wine_report())
    for words in ("come back", "Silhouettes", "adjusted Rand index", "runner-up", "StandardScaler", "the first is 0"):
        assert words in text


def test_what_is_missing_is_said():
    text = text_of(make_report(KMeans(3, n_init=1, random_state=0).fit(points(60)).labels_))
    assert "without its table" in text
    assert "a partition alone cannot be made again" in text
    frame = pd.DataFrame(points(60), columns=["a", "b"])
    model = EVCLUS(3, missing="partial", random_state=0)
    frame.iloc[::9, 0] = np.nan
    assert "7 cells are missing, in 7 rows" in text_of(make_report(model.fit(frame), frame, stability=False))
    slow = make_report(model, frame, seconds=0.0)
    assert "Stability was left out" in text_of(slow)
    stopped = ECM(3, max_iter=1, random_state=0)
    with pytest.warns(match="converge"):
        stopped.fit(points(60, spread=4.0))
    assert "before it had converged" in text_of(make_report(stopped, points(60, spread=4.0), stability=False))


def test_known_classes_change_nothing_else():
    X, y = points(80), np.arange(80) % 3
    model = ECM(3, random_state=0).fit(X)
    with_y, without = (make_report(model, X, y=y, stability=False), make_report(model, X, stability=False))
    assert "What the doubt is worth" in text_of(with_y)
    np.testing.assert_equal(data_of(with_y), data_of(without))


def test_names_of_clusters_are_used_everywhere():
    X = points(90)
    model = ECM(3, random_state=0).fit(X)
    report = make_report(model, X, names={0: "small", 2: "large"}, stability=False)
    assert data_of(report)["clusters"] == ["small", "cluster 1", "large"]
    assert "cluster 0" not in text_of(report)
    assert model.credal_partition_.frame == (0, 1, 2) or list(model.credal_partition_.frame) == [0, 1, 2]


def test_rows_are_matched_by_their_names():
    X = pd.DataFrame(points(60), columns=["a", "b"], index=[f"r{i}" for i in range(60)])
    model = ECM(3, random_state=0).fit(X)
    y = pd.Series(np.arange(60) % 4, index=X.index)
    straight = make_report(model, X, y=y, stability=False).to_html()
    turned = make_report(model, X.iloc[::-1], y=y.iloc[::-1], stability=False).to_html()
    assert straight == turned


# ---- what it is made of ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [wine_report, hostile_report, many_report])
def test_the_page_is_well_formed_and_complete(make):
    page = make().to_html()
    root = read(page)
    ids = [
        found.attributes["id"]
        for element in root.all("html")
        for found in everything(element)
        if "id" in found.attributes
    ]
    assert len(ids) == len(set(ids))
    assert [section.attributes["id"] for section in root.all("section")] == SECTIONS
    assert all(link.attributes["href"][1:] in ids for link in root.all("a"))
    assert "http" not in page.replace("http-equiv", "")
    assert not [found for name in ("img", "link", "iframe", "object", "form") for found in root.all(name)]
    assert all(table.all("caption") and table.all("th") for table in root.all("table"))
    assert all("scope" in th.attributes for th in root.all("th"))
    assert all(svg.attributes.get("aria-label") or svg.attributes.get("aria-hidden") for svg in root.all("svg"))
    assert not [found for found in everything(root) if "style" in found.attributes]
    assert not [name for found in everything(root) for name in found.attributes if name.startswith("on")]


def everything(element):
    return [element, *(found for child in element.children for found in everything(child))]


def test_the_policy_allows_this_script_and_no_other():
    root = read(wine_report().to_html())
    policy = next(m.attributes["content"] for m in root.all("meta") if m.attributes.get("http-equiv"))
    script = next(found.text for found in root.all("script") if "id" not in found.attributes)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_hostile_names_stay_text():
    page = hostile_report().to_html()
    root = read(page)
    assert len(root.all("script")) == 2  # the data and the program
    assert len(root.all("style")) == 1
    assert root.all("title")[0].text == root.all("h1")[0].text == HOSTILE[1]
    assert "<script>window" not in page
    assert not set("\u202e\u202c\u2028\x00\x1b") & set(page)
    axes = [axis["name"] for axis in data_of(hostile_report())["axes"]]
    assert HOSTILE[0] in axes
    assert max(map(len, axes)) <= 60


def test_the_same_report_twice():
    X = points(40)
    model = ECM(3, n_init=1, random_state=0).fit(X)
    assert make_report(model, X).to_html() == make_report(model, X).to_html()


def test_the_map_has_the_objects_where_they_are():
    X = points(70, p=3)
    model = ECM(3, random_state=0).fit(X)
    found = data_of(make_report(model, X, stability=False))
    levels = found["levels"].reshape(len(found["axes"]), 70)
    for axis, values in zip(found["axes"], levels, strict=True):
        if axis["name"].startswith("attribute"):
            read_back = axis["low"] + values / 65_534 * (axis["high"] - axis["low"])
            np.testing.assert_allclose(read_back, X[:, int(axis["name"][-1]) - 1], atol=np.ptp(X) / 60_000)
    partition = model.credal_partition_
    family = list(partition.focal_sets)
    assert [tuple(found["sets"][s]) for s in found["best"]] == [tuple(family[s]) for s in partition.best_set]


# ---- of what it can be made -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_every_clusterer_has_a_report(subject):
    model = subject.fitted()
    report = make_report(model, subject.data, seconds=0.0, n_explained=1)
    assert [section.attributes["id"] for section in read(report.to_html()).all("section")] == SECTIONS
    assert "could not be" not in text_of(report)


def test_dissimilarities_are_scaled_and_said_to_be():
    X = points(60)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    model = EVCLUS(3, metric="precomputed", random_state=0).fit(D)
    report = make_report(model, D, stability=False)
    assert "classical scaling (MDS)" in text_of(report)
    found = data_of(report)
    assert found["axes"][0]["name"] == "MDS 1"
    beside = make_report(
        model.credal_partition_, D, metric="precomputed", attributes=pd.DataFrame(X, columns=["a", "b"])
    )
    assert {"a", "b"} <= {axis["name"] for axis in data_of(beside)["axes"]}


def test_many_dissimilarities_are_scaled_by_landmarks():
    X = points(900)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    report = make_report((X[:, 0] > 0).astype(int), D, metric="precomputed", n_explained=0)
    a, b = (axis["high"] - axis["low"] for axis in data_of(report)["axes"][:2])
    centered = X - X.mean(axis=0)
    extents = np.ptp(centered @ np.linalg.svd(centered, full_matrices=False)[2].T, axis=0)
    np.testing.assert_allclose([a, b], extents, rtol=0.02)


def test_several_views():
    X = points(60, p=4)
    views = {"left": X[:, :2], "right": X[:, 2:]}
    report = make_report(WMVEC(3, random_state=0).fit(views), views, seconds=0.0)
    assert any(axis["name"].startswith("left: ") for axis in data_of(report)["axes"])


@pytest.mark.parametrize(("n", "c", "p"), [(3, 2, 1), (5, 1, 2), (300, 100, 2), (60, 2, 400), (1, 1, 1)])
def test_any_size(n, c, p):
    partition = CredalPartition(masses(n, FocalSets.simple(c)), FocalSets.simple(c))
    X = np.random.default_rng(0).normal(size=(n, p))
    report = make_report(partition, X, n_explained=1)
    assert (report.n_objects, report.n_clusters) == (n, c)
    assert len(report.to_html()) < 1_500_000
    assert make_report(partition).n_objects == n


def test_columns_of_every_kind():
    n = 80
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "empty": np.nan,
            "constant": 4,
            "kind": rng.choice(["red", "green", None], n),
            "yes": rng.random(n) < 0.5,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 99, n), "D"),
            "name": [f"N{i}" for i in range(n)],
            "count": np.arange(n),
        }
    )
    text = text_of(make_report(rng.integers(0, 3, n), frame))
    assert "“name” and “count”" in text
    assert "kind = red" in text


@pytest.mark.long
def test_100_000_rows_stay_small_and_quick():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 10)) + 6 * rng.integers(0, 3, 100_000)[:, None]
    family = FocalSets.simple(3)
    partition = CredalPartition(
        masses(len(X), family), family, index=[f"customer number {i:07d}" for i in range(len(X))]
    )
    started = time.process_time()
    report = make_report(partition, X)
    size = len(report.to_html().encode())
    assert time.process_time() - started < 15
    assert size < 5_000_000
    assert "sample of 20,000 of the 100,000 objects" in text_of(report) or "The map shows a sample" in text_of(report)


def test_the_outcome_of_a_recipe(tmp_path):
    X = points(80)
    file = tmp_path / "stones <b>.csv"
    frame = pd.DataFrame(X, columns=["length", "width"]).assign(place=["a", "b"] * 40)
    frame.to_csv(file, index=False)
    recipe = Recipe(str(file), clusters=3, method="ecm")
    outcome = recipe.run()
    page = make_report(outcome, stability=False).to_html()
    root = read(page)
    code = {found.attributes["id"]: found.text for found in root.all("code")}
    assert code == {"command": recipe.to_command(), "code": recipe.to_code()}
    assert root.all("h1")[0].text == "3 clusters of stones <b>.csv"
    text = text_of(make_report(outcome, stability=False))
    assert "standardised" in text
    assert "place" in text  # described, though not clustered
    saved = make_report(outcome.model, frame, stability=False)
    assert {found.attributes["id"] for found in read(saved.to_html()).all("code")} == {"command", "code"}


def test_stability_of_ones_own():
    X = points(60)
    model = ECM(3, random_state=0)
    found = stability(model, X, 3, random_state=0)
    assert "run again 3 times" in text_of(make_report(model.fit(X), X, stability=found))
    with pytest.raises(ValueError, match="^stability "):
        make_report(model, X, stability=stability(model, X[:50], 2, random_state=0))


# ---- files and mistakes ---------------------------------------------------------------------------------------------


def test_saved_whole_or_not_at_all(tmp_path, monkeypatch):
    report = make_report([0, 0, 1, 1], [[1.0], [1.1], [5.0], [5.2]])
    path = report.save(tmp_path / "r.html")
    assert path.read_text(encoding="utf-8") == report.to_html()
    monkeypatch.setattr(Report, "to_html", lambda self: "\ud800")  # cannot be written as UTF-8
    with pytest.raises(UnicodeEncodeError):
        report.save(path)
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    assert [file.name for file in tmp_path.iterdir()] == ["r.html"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0, 1, 1], [[1.0], [2.0]]), "^table "),
        (([0, 1, 1], [1.0, 2.0, 3.0]), "^table "),
        (([[0, 1], [1, 0]],), "^subject "),
        (("iris",), "^subject "),
        ((CredalPartition(np.zeros((0, 4)), FocalSets.simple(2)),), "^subject "),
    ],
)
def test_mistakes_are_named(arguments, words):
    with pytest.raises(InvalidInputError, match=words):
        make_report(*arguments)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("metric", "gower"),
        ("title", 3),
        ("names", ["a"]),
        ("names", {"z": "a"}),
        ("stability", "yes"),
        ("seconds", -1),
        ("n_explained", 1.5),
        ("max_points", 0),
        ("fit_params", 3),
        ("recipe", "dempster cluster"),
        ("random_state", "seed"),
        ("y", [1, 2]),
    ],
)
def test_every_argument_is_checked(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        make_report([0, 1, 1], [[1.0], [2.0], [3.0]], **{name: value})


def test_unfitted_models_are_refused():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        make_report(ECM(2), points(20))
