"""Contents of reports, without a browser."""

import base64
import hashlib
import itertools
import re
import time

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from sklearn.pipeline import make_pipeline

from dempster import CredalPartition, FocalSets
from dempster._errors import InvalidInputError, InvalidParameterError
from dempster.apps.recipe import Recipe
from dempster.apps.report import Report, make_report
from dempster.cluster import ECM, EVCLUS, WMVEC, ConformalClustering, CredalClustering
from dempster.datasets import load_wine
from dempster.explain import RetentionCurve, doubt_scores, stability
from dempster.io import read_partition, write_partition
from tests.apps.report.cases import (
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
from tests.cluster.contract import SUBJECTS

SECTIONS = ["map-section", "clusters", "doubt", "trust", "repeat"]


def report_text(report):
    return " ".join(read(report.to_html()).all("main")[0].text.split())


def map_data(report):
    """Return the data that the script of a page reads."""
    (element,) = [
        script
        for script in read(report.to_html()).all("script")
        if script.attributes.get("id") == "data"
    ]
    return unpack(base64.b64decode(element.text, validate=True))


def summary(report):
    (paragraph,) = [
        one
        for one in read(report.to_html()).all("p")
        if one.attributes.get("id") == "summary"
    ]
    return paragraph.text


def fit_warnings(report):
    return [
        one.text
        for one in read(report.to_html()).all("div")
        if one.attributes.get("class") == "warnings"
    ]


# ---- contents ------------------------------------------------------------------------------------


def test_counts():
    partition = wine_model()[-1].credal_partition_
    page = read(wine_report().to_html())
    shown = [
        int(strong.text.replace(",", "")) for strong in page.all("dl")[0].all("strong")
    ]
    ambiguous = len(partition.ambiguous)
    outliers = len(partition.outliers)
    assert shown == [178 - ambiguous - outliers, ambiguous, outliers]
    rows = next(
        table
        for table in page.all("table")
        if table.attributes.get("id") == "cluster-table"
    ).all("tr")[1:]
    assert [int(row.children[2].text) for row in rows] == [
        len(partition.lower(k)) for k in partition.frame
    ]
    assert [int(row.children[3].text) for row in rows] == [
        len(partition.upper(k)) for k in partition.frame
    ]


def test_layers():
    X = points(600, n_clusters=12, spread=2)
    partition = ECM(12, n_init=1, random_state=0).fit(X).credal_partition_
    names = [f"<{letter}>" for letter in "abcdefghijkl"]
    page = read(make_report(partition, X, names=names).to_html())
    [table] = [
        one for one in page.all("table") if one.attributes.get("id") == "layer-table"
    ]
    rows = [[int(row.children[k].text) for k in (0, 2)] for row in table.all("tr")[1:]]
    layers = [partition, *partition.layers()]
    assert rows == [[layer.n_clusters, len(layer.ambiguous)] for layer in layers]
    assert len(rows) > 1
    [tree] = [
        one for one in page.all("svg") if one.attributes.get("class") == "dendrogram"
    ]
    assert len(tree.all("polyline")) == 11
    assert len(tree.all("line")) == len(rows) - 1
    assert sorted(text.text for text in tree.all("text")) == names


def test_ambiguous_objects_are_sorted_and_explained():
    partition = wine_model()[-1].credal_partition_
    page = read(wine_report().to_html())
    rows = next(
        table
        for table in page.all("table")
        if table.attributes.get("id") == "ambiguous-table"
    ).all("tr")[1:]
    shown = [int(row.children[0].text) for row in rows]
    doubt = doubt_scores(partition)
    assert set(shown) == set(partition.ambiguous.tolist())
    assert np.all(np.diff(doubt[shown]) <= 1e-6)
    first = rows[0].children[4].text
    values = load_wine(as_frame=True).data.iloc[shown[0]]
    assert any(f"{name} ({value:.4g})" in first for name, value in values.items())


def test_reliability():
    text = report_text(wine_report())
    for words in (
        "refitted",
        "Silhouettes",
        "adjusted Rand index",
        "expected agreement with the true clusters",
        "StandardScaler",
        "starting from 0",
    ):
        assert words in text


def test_limitations():
    text = report_text(
        make_report(KMeans(3, n_init=1, random_state=0).fit(points(60)).labels_)
    )
    assert "created without the table" in text
    assert "it needs the method and its table" in text
    frame = pd.DataFrame(points(60), columns=["a", "b"])
    model = EVCLUS(3, missing="partial", random_state=0)
    frame.iloc[::9, 0] = np.nan
    assert "7 values are missing, in 7 rows" in report_text(
        make_report(model.fit(frame), frame, stability=False)
    )
    stopped = ECM(3, max_iter=1, random_state=0)
    with pytest.warns(match="converge"):
        stopped.fit(points(60, spread=4.0))
    assert "did not converge" in report_text(
        make_report(stopped, points(60, spread=4.0), stability=False)
    )


def test_known_classes():
    X = points(80)
    y = np.arange(80) % 3
    model = ECM(3, random_state=0).fit(X)
    with_y = make_report(model, X, y=y, stability=False)
    without = make_report(model, X, stability=False)
    assert "Retention curve" in report_text(with_y)
    np.testing.assert_equal(map_data(with_y), map_data(without))


def test_content_does_not_depend_on_the_clock(monkeypatch):
    X = points(80)
    model = ECM(3, n_init=1, random_state=0).fit(X)
    expected = report_text(make_report(model, X))
    assert "The method was refitted 5 times" in expected
    clock = itertools.count(0, 1000)
    for name in ("perf_counter", "process_time", "monotonic"):
        monkeypatch.setattr(time, name, lambda: float(next(clock)))
    assert report_text(make_report(model, X)) == expected


@pytest.mark.parametrize(
    ("best", "verdict"),
    [
        (0.55, "does not identify errors"),
        (0.61, "few errors"),
        (0.8, "identifies errors"),
    ],
)
def test_size_of_the_effect_of_doubt(monkeypatch, best, verdict):
    X = points(80)
    model = ECM(3, n_init=1, random_state=0).fit(X)
    monkeypatch.setattr(
        RetentionCurve, "at", lambda self, share: 0.57 if share == 1 else best
    )
    text = report_text(make_report(model, X, y=np.arange(80) % 3, stability=False))
    assert verdict in text
    assert ("from 25% on" in text) == (best > 0.57)


def test_the_selected_number_and_shape_are_explained():
    X = make_moons(120, noise=0.04, random_state=0)[0]
    model = CredalClustering(random_state=0).fit(X)
    number = model.number_
    assert number.best == model.n_clusters_
    text = report_text(make_report(model, X, stability=False))
    assert f"{number.best} clusters" in text
    assert f"{number.expected_of(number.best):.2f}" in text
    assert f"below {number.low_agreement:.2f} in one of ten such tables" in text
    assert (
        f"expected agreement with the true clusters {model.expected_agreement_:.2f}"
        in text
    )


def test_means_of_all_clusters():
    frame = pd.DataFrame({"size": np.arange(40.0), "same": np.tile([1.0, 3.0], 20)})
    report = make_report(np.repeat(["small", "large"], 20), frame, stability=False)
    [means] = [
        one
        for one in read(report.to_html()).all("table")
        if one.attributes.get("id") == "mean-table"
    ]
    cells = [
        [(span.text, span.attributes["class"]) for span in cell.all("span")[-1:]]
        for row in means.all("tr")[1:]
        for cell in row.all("td")
    ]
    assert cells == [
        [("29.5", "higher-3")],
        [("2", "lower-0")],
        [("9.5", "lower-3")],
        [("2", "lower-0")],
    ]


def test_cluster_names():
    X = points(90)
    model = ECM(3, random_state=0).fit(X)
    report = make_report(model, X, names={0: "small", 2: "large"}, stability=False)
    assert map_data(report)["clusters"] == ["small", "cluster 1", "large"]
    assert "cluster 0" not in report_text(report)
    assert list(model.credal_partition_.frame) == [0, 1, 2]


def test_rows_are_matched_by_name():
    X = pd.DataFrame(points(60), columns=["a", "b"], index=[f"r{i}" for i in range(60)])
    model = ECM(3, random_state=0).fit(X)
    y = pd.Series(np.arange(60) % 4, index=X.index)
    straight = make_report(model, X, y=y, stability=False).to_html()
    turned = make_report(model, X.iloc[::-1], y=y.iloc[::-1], stability=False).to_html()
    assert straight == turned


# ---- page ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [wine_report, hostile_report, many_report])
def test_page_is_well_formed(make):
    page = make().to_html()
    root = read(page)
    ids = [
        element.attributes["id"]
        for element in list_elements(root)
        if "id" in element.attributes
    ]
    assert len(ids) == len(set(ids))
    expected = SECTIONS
    if make is many_report:
        expected = ["layers", *SECTIONS]
    assert [section.attributes["id"] for section in root.all("section")] == expected
    assert all(link.attributes["href"][1:] in ids for link in root.all("a"))
    assert "http" not in page.replace("http-equiv", "")
    assert not [
        element
        for name in ("img", "link", "iframe", "object", "form")
        for element in root.all(name)
    ]
    assert all(table.all("caption") and table.all("th") for table in root.all("table"))
    assert all("scope" in th.attributes for th in root.all("th"))
    assert all(
        svg.attributes.get("aria-label") or svg.attributes.get("aria-hidden")
        for svg in root.all("svg")
    )
    assert not [
        element for element in list_elements(root) if "style" in element.attributes
    ]
    assert not [
        name
        for element in list_elements(root)
        for name in element.attributes
        if name.startswith("on")
    ]


def list_elements(element):
    return [
        element,
        *(
            descendant
            for child in element.children
            for descendant in list_elements(child)
        ),
    ]


def test_content_security_policy():
    root = read(wine_report().to_html())
    policy = next(
        m.attributes["content"]
        for m in root.all("meta")
        if m.attributes.get("http-equiv")
    )
    script = next(
        element.text for element in root.all("script") if "id" not in element.attributes
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_hostile_names_are_escaped():
    page = hostile_report().to_html()
    root = read(page)
    assert len(root.all("script")) == 2
    assert len(root.all("style")) == 1
    assert root.all("title")[0].text == root.all("h1")[0].text == HOSTILE[1]
    assert "<script>window" not in page
    assert not set("\u202e\u202c\u2028\x00\x1b") & set(page)
    axes = [axis["name"] for axis in map_data(hostile_report())["axes"]]
    assert HOSTILE[0] in axes
    assert max(map(len, axes)) <= 60


def test_map_coordinates():
    X = points(70, p=3)
    model = ECM(3, random_state=0).fit(X)
    data = map_data(make_report(model, X, stability=False))
    levels = data["levels"].reshape(len(data["axes"]), 70)
    for axis, values in zip(data["axes"], levels, strict=True):
        if axis["name"].startswith("attribute"):
            read_back = axis["low"] + values / 65_534 * (axis["high"] - axis["low"])
            np.testing.assert_allclose(
                read_back, X[:, int(axis["name"][-1]) - 1], atol=np.ptp(X) / 60_000
            )
    partition = model.credal_partition_
    family = list(partition.focal_sets)
    assert [tuple(data["sets"][s]) for s in data["best"]] == [
        tuple(family[s]) for s in partition.best_set
    ]


# ---- kinds of input ------------------------------------------------------------------------------


@pytest.mark.parametrize("subject", SUBJECTS, ids=str)
def test_all_clusterers(subject):
    model = subject.fitted()
    report = make_report(model, subject.data, stability=False)
    assert [
        section.attributes["id"] for section in read(report.to_html()).all("section")
    ] == SECTIONS
    assert "could not be" not in report_text(report)


def test_dissimilarities():
    X = points(60)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    model = EVCLUS(3, metric="precomputed", random_state=0).fit(D)
    report = make_report(model, D, stability=False)
    assert "classical scaling (MDS)" in report_text(report)
    data = map_data(report)
    assert data["axes"][0]["name"] == "MDS 1"
    beside = make_report(
        model.credal_partition_,
        D,
        metric="precomputed",
        attributes=pd.DataFrame(X, columns=["a", "b"]),
    )
    assert {"a", "b"} <= {axis["name"] for axis in map_data(beside)["axes"]}


def test_landmark_scaling():
    X = points(900)
    D = np.linalg.norm(X[:, None] - X, axis=2)
    report = make_report((X[:, 0] > 0).astype(int), D, metric="precomputed")
    a, b = (axis["high"] - axis["low"] for axis in map_data(report)["axes"][:2])
    centered = X - X.mean(axis=0)
    extents = np.ptp(
        centered @ np.linalg.svd(centered, full_matrices=False)[2].T, axis=0
    )
    np.testing.assert_allclose([a, b], extents, rtol=0.02)


def test_several_views():
    X = points(60, p=4)
    views = {"left": X[:, :2], "right": X[:, 2:]}
    report = make_report(WMVEC(3, random_state=0).fit(views), views, stability=False)
    assert any(axis["name"].startswith("left: ") for axis in map_data(report)["axes"])


@pytest.mark.parametrize(
    ("n", "c", "p"), [(3, 2, 1), (5, 1, 2), (300, 100, 2), (60, 2, 400), (1, 1, 1)]
)
def test_sizes(n, c, p):
    partition = CredalPartition(masses(n, FocalSets.simple(c)), FocalSets.simple(c))
    X = np.random.default_rng(0).normal(size=(n, p))
    report = make_report(partition, X)
    assert (report.n_objects, report.n_clusters) == (n, c)
    assert len(report.to_html()) < 1_500_000
    assert make_report(partition).n_objects == n


def test_names_and_descriptions_of_clusters():
    partition = CredalPartition.from_hard([0, 0, 1]).name_clusters(
        {1: "oak"}, descriptions={"oak": "grows <slowly>"}
    )
    report = make_report(partition)
    assert map_data(report)["clusters"] == ["cluster 0", "oak"]
    assert "oakgrows <slowly>" in report_text(report)
    renamed = report_text(make_report(partition, names=["ash", "elm"]))
    assert "elmgrows <slowly>" in renamed
    with pytest.raises(InvalidParameterError, match="names must be names of clusters"):
        make_report(partition, names={"x": "y"})


# ---- summary and warnings ------------------------------------------------------------------------


def test_summary_can_be_forwarded():
    X = points(120, spread=0.5)
    model = CredalClustering(random_state=0).fit(X)
    text = summary(make_report(model, X, stability=False))
    number = model.number_
    assert f"grouped into {number.best} clusters by 2 attributes" in text
    assert f"expected agreement of {number.expected_of(number.best):.2f}" in text
    assert f"below {number.low_agreement:.2f} in one of ten" in text
    assert "Do not conclude that the clusters exist outside these data" in text
    single = np.random.default_rng(0).normal(size=(120, 2))
    model = CredalClustering(random_state=0).fit(single)
    assert model.n_clusters_ == 1
    text = summary(make_report(model, single, stability=False))
    assert "The data do not show several clusters" in text
    assert "Do not conclude that there are no groups" in text
    given = summary(
        make_report(CredalClustering(2, random_state=0).fit(X), X, stability=False)
    )
    assert "The number of clusters was given, not estimated." in given
    assert "expected agreement" not in given


def test_summary_names_what_to_look_at_first():
    certain, ambiguous, outlier = [0, 1, 0, 0], [0, 0.1, 0.1, 0.8], [0.9, 0.1, 0, 0]
    family = FocalSets.full(2)
    index = ["ann", "bob", "eve", "joe", "kim", "lea"]
    partition = CredalPartition(
        [certain, ambiguous, ambiguous, ambiguous, ambiguous, outlier], family, index
    )
    text = summary(make_report(partition))
    assert (
        "Of these objects, 1 (17%) is certain (assigned to a single cluster), "
        "4 (67%) are ambiguous between clusters and 1 (17%) is an outlier. "
        "Look first at the 4 objects between cluster 0 and cluster 1 "
        "(such as bob, eve and joe) and the 1 outlier (lea)."
    ) in text
    text = summary(make_report(partition[[0, 1]]))
    assert "the 1 object between cluster 0 and cluster 1 (bob)" in text
    unnamed = CredalPartition([certain, outlier], family)
    assert "(row 1, counted from 0)" in summary(make_report(unnamed))
    text = summary(make_report(unnamed[[0]]))
    assert "All objects are certain" in text
    assert "No object is doubtful" in text


def test_unstable_clusters_are_named_in_the_summary():
    X = np.random.default_rng(1).uniform(size=(60, 3))
    report = make_report(ECM(6, n_init=1, random_state=0).fit(X), X)
    assert "Do not rely on cluster" in summary(report)


def test_warnings_stand_before_the_summary(tmp_path):
    family = FocalSets.simple(3, omega=False)
    partition = CredalPartition(
        [[0, 1, 0, 0], [0, 0, 1, 0]],
        family,
        metadata={"converged": False, "separated": False},
    )
    report = make_report(partition)
    [text] = fit_warnings(report)
    for words in (
        "The clusters are not separated",
        "did not converge",
        "1 of 3 clusters contains no object: cluster 2.",
    ):
        assert words in text
    page = report.to_html()
    assert page.index('class="warnings"') < page.index('id="summary"')
    assert map_data(report)["clusters"] == ["cluster 0", "cluster 1", "cluster 2"]
    legend = read(page).all("fieldset")[0].text
    assert "cluster 1" in legend
    assert "cluster 2" not in legend
    assert fit_warnings(wine_report()) == []
    path = tmp_path / "t.csv"
    pd.DataFrame(points(60), columns=["a", "b"]).to_csv(path, index=False)
    recipe = Recipe(str(path), method="ecm", clusters=3, parameters={"max_iter": 1})
    with pytest.warns(UserWarning, match="did not converge"):
        result = recipe.run()
    assert len(result.warnings) == 1
    [text] = fit_warnings(make_report(result, stability=False))
    assert result.warnings[0].rstrip(".") in text


def test_column_types():
    n = 80
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "empty": np.nan,
            "constant": 4,
            "kind": rng.choice(["red", "green", None], n),
            "yes": rng.random(n) < 0.5,
            "day": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 99, n), "D"),
            "name": [f"N{i}" for i in range(n)],
            "count": np.arange(n),
        }
    )
    report = make_report(rng.integers(0, 3, n), frame)
    text = report_text(report)
    assert "not described: “count”" in text
    assert map_data(report)["names"][:2] == ["N0", "N1"]
    assert all(name in text for name in ("number", "kind = red", "yes", "day"))


@pytest.mark.long
def test_large_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 10)) + 6 * rng.integers(0, 3, 100_000)[:, None]
    family = FocalSets.simple(3)
    partition = CredalPartition(
        masses(len(X), family),
        family,
        index=[f"customer number {i:07d}" for i in range(len(X))],
    )
    report = make_report(partition, X)
    assert len(report.to_html().encode()) < 5_000_000
    assert re.search(
        "The map shows a sample of (20,000|19,[0-9]{3}) of the 100,000 objects",
        report_text(report),
    )


def test_recipe_result(tmp_path):
    X = points(80)
    file = tmp_path / "stones <b>.csv"
    frame = pd.DataFrame(X, columns=["length", "width"]).assign(place=["a", "b"] * 40)
    frame.to_csv(file, index=False)
    recipe = Recipe(str(file), clusters=3, method="ecm")
    outcome = recipe.run()
    report = make_report(outcome, stability=False)
    root = read(report.to_html())
    code = {element.attributes["id"]: element.text for element in root.all("code")}
    assert code == {"command": recipe.to_command(), "code": recipe.to_code()}
    assert root.all("h1")[0].text == "3 clusters of stones <b>.csv"
    text = report_text(report)
    assert "standardized" in text
    assert "place" in text
    saved = make_report(outcome.model, frame, stability=False)
    assert {
        element.attributes["id"] for element in read(saved.to_html()).all("code")
    } == {
        "command",
        "code",
    }


def test_precomputed_stability():
    X = points(60)
    model = ECM(3, random_state=0)
    result = stability(model, X, 3, random_state=0)
    assert "refitted 3 times" in report_text(
        make_report(model.fit(X), X, stability=result)
    )
    with pytest.raises(ValueError, match="^stability "):
        make_report(model, X, stability=stability(model, X[:50], 2, random_state=0))


# ---- conformal sets ------------------------------------------------------------------------------


def test_conformal_sets():
    X = points(120, spread=2.0)
    model = ConformalClustering(
        ECM(3, n_init=1, random_state=0), confidence=0.8, n_refits=2, random_state=0
    ).fit(X)
    report = make_report(model, X, stability=False)
    page = read(report.to_html())
    text = report_text(report)
    assert [section.attributes["id"] for section in page.all("section")] == [
        *SECTIONS[:3],
        "sets",
        *SECTIONS[3:],
    ]
    rows = next(
        table
        for table in page.all("table")
        if table.attributes.get("id") == "set-table"
    ).all("tr")[1:]
    counts = np.bincount(model.sets_.sum(axis=1))
    assert [(row.children[0].text, int(row.children[1].text)) for row in rows] == [
        (str(size) if size else "none", counts[size]) for size in np.flatnonzero(counts)
    ]
    assert f"{model.sets_.sum() / 120:.2f} for this report" in text
    assert "with a probability of at least 0.8" in text
    assert f"2 refits to bootstrap samples is {model.stability_:.2f}" in text
    assert "ConformalClustering(" in next(code.text for code in page.all("code"))
    for value, is_warned in ((0.89, True), (0.9, False)):
        model.stability_ = value
        text = report_text(make_report(model, X, stability=False))
        assert ("Warning: the clustering is not stable" in text) == is_warned
    assert "Sets with a guarantee" not in report_text(
        make_report(model.clusterer_, X, stability=False)
    )


# ---- files and errors ----------------------------------------------------------------------------


def test_save_is_atomic(tmp_path, monkeypatch):
    report = make_report([0, 0, 1, 1], [[1.0], [1.1], [5.0], [5.2]])
    path = report.save(tmp_path / "r.html")
    assert path.read_text(encoding="utf-8") == report.to_html()
    # cannot be encoded as UTF-8
    monkeypatch.setattr(Report, "to_html", lambda self: "\ud800")
    with pytest.raises(UnicodeEncodeError):
        report.save(path)
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    assert [file.name for file in tmp_path.iterdir()] == ["r.html"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1, 1], [[1.0], [2.0]]), "^table "),
        (([0, 1, 1], [1.0, 2.0, 3.0]), "^table "),
        (([[0, 1], [1, 0]],), "^subject "),
        (("iris",), "^subject "),
        ((CredalPartition(np.zeros((0, 4)), FocalSets.simple(2)),), "^subject "),
    ],
)
def test_invalid_subjects_and_tables(arguments, message):
    with pytest.raises(InvalidInputError, match=message):
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
        ("fit_params", 3),
        ("recipe", "dempster cluster"),
        ("random_state", "seed"),
        ("y", [1, 2]),
    ],
)
def test_invalid_arguments(name, value):
    with pytest.raises((ValueError, TypeError), match=name):
        make_report([0, 1, 1], [[1.0], [2.0], [3.0]], **{name: value})


# ---- columns that were clustered -----------------------------------------------------------------


def table_with_classes(n=90, seed=3):
    """Return three groups with columns of different units, and their class as text."""
    rng = np.random.default_rng(seed)
    group = np.repeat([0, 1, 2], n // 3)
    return pd.DataFrame(
        {
            "income": 1e4 * (group + 0.45 * rng.normal(size=n)),
            "age": 30 + 9 * (group == 1) + 3 * rng.normal(size=n),
            "class": np.array(["low", "middle", "high"])[group],
        }
    )


@pytest.mark.parametrize("extension", [".csv", ".parquet"])
def test_partition_file_is_explained_by_its_clustered_columns(tmp_path, extension):
    table = table_with_classes()
    table.to_csv(tmp_path / "people.csv", index=False)
    recipe = Recipe(tmp_path / "people.csv", method="ecm", clusters=3)
    result = recipe.run()
    write_partition(result.partition, tmp_path / f"people{extension}")
    partition = read_partition(tmp_path / f"people{extension}")
    from_file = make_report(partition, table, stability=False)
    from_run = make_report(result, stability=False)
    assert from_file._facts.data.clustered == ["income", "age"]
    assert from_file._facts.trust.metric == "euclidean"
    np.testing.assert_allclose(
        from_file._facts.trust.silhouette.values,
        from_run._facts.trust.silhouette.values,
    )
    objects = [*from_file._facts.ambiguous, *from_file._facts.outliers]
    assert objects
    assert not any("class" in reason for one in objects for reason in one.reasons)
    for report in (from_file, from_run):
        assert not any("class" in pair.rule for pair in report._facts.pairs)


def test_unknown_clustered_columns_are_a_limitation():
    table = table_with_classes()
    text = report_text(make_report(table["class"], table[["income"]], stability=False))
    assert "does not record which columns were clustered" in text
    assert "“income”" in text


def test_pipeline_that_changes_no_column():
    X = np.random.default_rng(0).normal(size=(40, 2))
    pipeline = make_pipeline("passthrough", ECM(2, random_state=0)).fit(X)
    assert "attribute 1" in make_report(pipeline, X, stability=False).to_html()
