"""The runner of ``make reproduce``: caching, resuming and marks; and the committed page."""

import json
import re
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import chi2
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

pytest.importorskip("torch")

from reproduce import data, runner
from reproduce.displays import (
    draw_constraints,
    draw_feature_boxplots,
    draw_masses,
    draw_mixture,
    draw_outlier_contours,
    draw_pair_matrix,
)
from reproduce.runner import Experiment, Run, Summary, Table, experiments, summary

from dempster import FocalSets
from dempster.cluster import NNEVCLUS
from dempster.constraints import Constraints
from dempster.metric import FDA
from dempster.plot.masses import make_grid_table


def doubled(value, log):
    """Cell that logs each call."""
    with open(log, "a") as file:
        file.write(f"{value}\n")
    if value < 0:
        raise ValueError("negative")
    return {"twice": 2 * value}


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "CACHE", tmp_path / "cache")
    about = Experiment("paper", "Table 0", "nothing", doubled)
    return lambda **keywords: Run(
        about, **{"quick": False, "jobs": 1, "any_version": False, **keywords}
    )


def test_results_are_cached(run, tmp_path):
    log = tmp_path / "log"
    arguments = [{"value": v, "log": str(log)} for v in (1, 2)]
    first = run().each(doubled, arguments)
    assert [result["twice"] for result in first] == [2, 4]
    assert all(result["seconds"] >= 0 for result in first)
    assert run().each(doubled, arguments) == first
    assert log.read_text().split() == ["1", "2"]  # Computed only once.


def test_interrupted_run_is_resumed(run, tmp_path):
    log = tmp_path / "log"
    with pytest.raises(ValueError, match="negative"):
        run().each(doubled, [{"value": v, "log": str(log)} for v in (1, -1)])
    run().each(doubled, [{"value": v, "log": str(log)} for v in (1, 3)])
    assert log.read_text().split() == ["1", "-1", "3"]
    assert not list((tmp_path / "cache").rglob("*.part"))


def test_changed_sources_invalidate_results(run, tmp_path, monkeypatch):
    log = tmp_path / "log"
    arguments = [{"value": 1, "log": str(log)}]
    run().each(doubled, arguments)
    monkeypatch.setattr(runner, "library_fingerprint", lambda: "changed")
    run().each(doubled, arguments)
    assert log.read_text().split() == ["1", "1"]


def test_differences_are_marked_and_explained():
    table = Table(("data", "method"))
    table.add("good", "A", paper=0.8, ours=Summary(0.78, 0.01, 5), seconds=1.0)
    table.add("short", "A", paper=0.8, ours=Summary(0.7, 0.01, 5), why="other data")
    table.add("silent", "A", paper=0.8, ours=0.5)
    table.add("new", "A", paper=None, ours=0.5)
    table.add("short", "B", paper=0.8, ours=0.6, why="other data")
    table.add(
        "better", "A", paper=0.8, ours=0.9, why="not needed", idea="a better start"
    )
    table.add("lucky", "A", paper=0.8, ours=0.9)
    assert table.compared == 6
    assert table.below == {1: "other data", 2: "", 4: "other data"}
    assert table.above == {5: "a better start", 6: ""}
    assert table.unexplained == ["silent, A"]
    page = table.markdown()
    assert "| good | A | 0.80 | 0.78 ± 0.01 | 1 |" in page
    assert "| short | A | 0.80 | 0.70 ± 0.01 ▼ |  |" in page
    assert "| better | A | 0.80 | 0.90 ▲ |  |" in page
    assert "▼ short, A; short, B: other data" in page  # Equal reasons are printed once.
    assert "▲ better, A: a better start" in page
    assert "not needed" not in page
    costs = Table(("data",), quantity="seconds", short=None)
    costs.add("fast", paper=10.0, ours=1.0)
    assert not costs.compared
    assert not costs.below
    assert not costs.above


def test_summaries_over_seeds():
    results = [{"ari": 0.5}, {"ari": 0.7}]
    assert f"{summary(results, 'ari')}" == "0.60 ± 0.14"
    assert f"{summary(results[:1], 'ari')}" == "0.50"


def test_experiments_are_unique_and_described():
    found = experiments()
    assert len({e.name for e in found}) == len(found) > 10
    assert len({e.anchor for e in found}) == len(found)
    for e in found:
        assert (e.function.__doc__ or "").strip(), e.name


def test_small_experiment(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "CACHE", tmp_path / "cache")
    (about,) = [e for e in experiments() if e.name == "nn_evclus.table_1"]
    run = Run(about, quick=True, jobs=1, any_version=False)
    about.function(run)
    (table,) = run.tables
    assert len(table.rows) == 48
    assert all(abs(float(row[2]) - float(row[3])) < 0.01 for row in table.rows)
    assert json.loads(next((tmp_path / "cache").rglob("*.json")).read_text())["masses"]


def test_bell_numbers():
    from reproduce.workshop.neighbors import bell_numbers

    assert bell_numbers(10) == [1, 2, 5, 15, 52, 203, 877, 4140, 21147, 115975]


def test_committed_page_is_complete():
    page = (runner.HOME / "RESULTS.md").read_text()
    assert "below the paper, not explained" not in page
    assert "**Failed:**" not in page
    anchors = {e.anchor for e in experiments()}
    assert set(re.findall(r"\]\(#([^)]+)\)", page)) == anchors
    assert len(re.findall(r"\]\((figures/[^)]+)\)", page)) > 10
    words = " ".join(page.split())
    for experiment in experiments():
        assert " ".join(experiment.function.__doc__.split()) in words, experiment.name


def test_calibration_of_written_pairs():
    from reproduce.bootclus.written import calibration

    low = [0.1, 0.5]
    high = [0.4, 0.9]
    pairs = {"lower": low, "belief": low, "upper": high, "plausibility": high}
    pairs["probability"] = [0.2, 0.6]
    display = calibration(pairs, confidence=0.9)
    assert display.coverage == 1
    assert display.confidence == 0.9
    plt.close(display.figure_)


def test_failed_run_keeps_the_page(tmp_path, monkeypatch):
    from click.testing import CliRunner
    from reproduce import __main__ as program

    def broken(run):
        """Something."""
        raise ValueError("broken")

    page = tmp_path / "here" / "RESULTS.md"
    page.parent.mkdir()
    page.write_text("good")
    monkeypatch.setattr(program, "HOME", page.parent)
    monkeypatch.setattr(program, "_data_are_here", lambda: True)
    broken.__module__ = "reproduce.some.broken"
    monkeypatch.setattr(
        program,
        "experiments",
        lambda: [Experiment("paper", "Table 0", "nothing", broken)],
    )
    done = CliRunner().invoke(program.main, [])
    assert done.exit_code == 1
    assert "failed: some.broken" in done.output
    assert page.read_text() == "good"
    assert (
        "**Failed:** `ValueError: broken`"
        in (page.parent / "RESULTS-part.md").read_text()
    )
    assert "'--jobs'" in CliRunner().invoke(program.main, ["--jobs", "0"]).output


def test_missing_data_are_named(tmp_path, monkeypatch):
    from click.testing import CliRunner
    from reproduce import __main__ as program

    def table_9(run):
        """Something."""
        data.stored("unknown")

    monkeypatch.setenv("DEMPSTER_SHARED", str(tmp_path))
    monkeypatch.setattr(program, "HOME", tmp_path)
    monkeypatch.setattr(
        program,
        "experiments",
        lambda: [Experiment("paper", "Table 9", "nothing", table_9)],
    )
    done = CliRunner().invoke(program.main, [])
    assert done.exit_code == 0
    assert re.search(
        r"left out in 0 s: the data set unknown is available only as", done.output
    )
    page = (tmp_path / "RESULTS-part.md").read_text()
    assert "**Left out: the data set unknown is available only as" in page


def test_soft_labels_by_people(tmp_path, monkeypatch):
    """Available sets are in the table, the others are named in the text."""
    import numpy as np
    from reproduce.lecture import human_labels
    from sklearn.utils import Bunch

    from dempster import FocalSets, MassFunctions
    from dempster.datasets import DatasetNotAvailableError

    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    doubt = rng.uniform(0, 0.9, (60, 1))
    masses = MassFunctions(
        np.hstack([np.eye(3)[y] * (1 - doubt), doubt]), FocalSets.simple(3, empty=False)
    )
    separated = Bunch(
        data=9 * np.eye(3)[y] + rng.normal(size=(60, 3)), target=y, masses=masses
    )

    def absent():
        raise DatasetNotAvailableError("no network")

    monkeypatch.setattr(runner, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(
        human_labels, "SETS", {"near": lambda: separated, "far": absent}
    )
    run = Run(human_labels.human_labels, quick=True, jobs=1, any_version=False)
    human_labels.human_labels.function(run)
    (table,) = run.tables
    assert [row[:4] for row in table.rows] == [
        ["near", "0%", classifier, labels]
        for classifier in human_labels.CLASSIFIERS
        for labels in ("crisp", "soft")
    ]
    # The classes are well separated.
    assert all(float(row[5].split(" ")[0]) < 0.1 for row in table.rows)
    assert run.page[-1].endswith("could not be fetched when this page was made: far.")


def test_identification_of_planted_sets(shared, tmp_path, monkeypatch):
    """A set of proteins is found by its scores; all candidates have the printed size."""
    monkeypatch.setenv("DEMPSTER_SHARED", str(shared))
    monkeypatch.setattr(runner, "CACHE", tmp_path / "cache")
    from reproduce.nn_evclus import identification
    from reproduce.nn_evclus.identification_fits import (
        CANDIDATES,
        leaves,
        letters,
        mice,
        screen,
    )

    shapes = {
        "six letters": (letters()[::800], (4634, 16, 6)),
        "species": (leaves(2)[::100], (320, 64, 20)),
        "proteins": (mice(2)[::10], (507, 22, 3)),
    }
    for sets, (n, d, c) in shapes.values():
        for candidate in sets:
            X, y = candidate.load()
            assert (*X.shape, y.max() + 1) == (n, d, c)
            assert len(set(candidate.names)) == len(candidate.chosen)
    assert len(letters()) == 2 * 1656

    methods = ("ECM", "CCM")
    several = mice(2)[-8:]
    planted = identification.asdict(several[3])
    printed = screen("Mice", [planted], methods)["scores"][0]
    monkeypatch.setitem(CANDIDATES, "Mice", lambda: several)
    monkeypatch.setitem(identification.SCREENING, "Mice", methods)
    monkeypatch.setitem(identification.CONFIRMING, "Mice", ())
    monkeypatch.setattr(
        identification,
        "find_tolerances",
        lambda run, data: dict.fromkeys(methods, 0.03),
    )
    monkeypatch.setattr(identification, "printed_scores", lambda data: printed)
    run = Run(identification.identification, quick=False, jobs=1, any_version=True)
    found = identification.search(run, "Mice")
    assert sum(family["candidates"] for family in found["families"].values()) == 8
    assert found["nearest"][0]["names"] == several[3].names
    assert found["nearest"][0]["distance"] == 0
    assert found["nearest"][-1]["distance"] > 1
    assert several[3].names[0] in identification.describe("Mice", found)


def test_distance_from_printed_scores():
    from reproduce.nn_evclus.identification_fits import distance, nearest

    scores = {"ECM": 0.4, "EVCLUS 0.5": 0.1, "EVCLUS 0.1": 0.52, "CCM": 0.0}
    printed = {"ECM": 0.42, "EVCLUS": 0.5, "CCM": 0.9}
    assert nearest(scores, "EVCLUS", 0.5) == "EVCLUS 0.1"
    # CCM is not usable.
    assert distance(scores, printed, {"ECM": 0.04, "EVCLUS": 0.1}) == pytest.approx(0.5)


def aligned(a, b):
    """Return the dynamic time warping distance by its recursion."""
    if not len(a) or not len(b):
        if not len(a) and not len(b):
            return 0.0
        return np.inf
    rest = min(aligned(a[:-1], b[:-1]), aligned(a[:-1], b), aligned(a, b[:-1]))
    return np.linalg.norm(a[-1] - b[-1]) + rest


def test_distances_of_strokes_and_images():
    from reproduce.nn_evclus.prediction_fits import chamfer_distances, warped_distances

    rng = np.random.default_rng(0)
    strokes = rng.random((6, 4, 2))
    expected = [[aligned(a, b) for b in strokes] for a in strokes]
    np.testing.assert_allclose(warped_distances(strokes), expected)
    images = rng.random((5, 6, 7)) < 0.3
    places = [np.argwhere(image) for image in images]
    directed = np.array(
        [
            [np.mean([np.linalg.norm(q - p, axis=1).min() for p in a]) for q in places]
            for a in places
        ]
    )
    np.testing.assert_allclose(chamfer_distances(images), (directed + directed.T) / 2)


def test_matrices_of_users(tmp_path, monkeypatch):
    from reproduce import data
    from scipy.io import savemat

    monkeypatch.setenv("DEMPSTER_SHARED", str(tmp_path))
    (tmp_path / "data").mkdir()
    with pytest.raises(data.MissingDataError, match=r"zongker\.mat"):
        data.dissimilarity_file("Zongker")
    similarities = [[1, 0.75, 0], [0.19, 1, 1], [0, 1, 1]]
    savemat(
        tmp_path / "data" / "zongker.mat", {"d": similarities, "lab": [[7], [9], [9]]}
    )
    D, y = data.dissimilarity_file("Zongker")
    np.testing.assert_allclose(D, [[0, 0.7, 1], [0.7, 0, 0], [1, 0, 0]])
    assert y.tolist() == [0, 1, 1]
    (tmp_path / "data" / "gestures.txt").write_text("0 1 3\n2 0 1\n3 1 0\n")
    (tmp_path / "data" / "gestures_classes.txt").write_text("wave\npoint\nwave\n")
    D, y = data.dissimilarity_file("Gestures")
    np.testing.assert_allclose(D, [[0, 1.5, 3], [1.5, 0, 1], [3, 1, 0]])
    assert y.tolist() == [1, 0, 1]


# ---- displays ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:NNEVCLUS did not converge")
def test_outlier_contours():
    points = make_blobs(60, centers=3, random_state=0)[0]
    model = NNEVCLUS(
        3, outlier_detector="one-class-svm", max_iter=3, random_state=0
    ).fit(points)
    _, ax = plt.subplots()
    values = draw_outlier_contours(model, points, ax, grid_resolution=20, title="t")
    scaler = StandardScaler().fit(points)
    detector = OneClassSVM(gamma=0.2, nu=0.2).fit(scaler.transform(points))
    _, _, _, grid = make_grid_table(model, points, 20)
    scale = detector.decision_function(scaler.transform(points)).std()
    expected = detector.decision_function(scaler.transform(grid)) / scale
    np.testing.assert_allclose(values.ravel(), expected, atol=1e-6)
    assert ax.get_title() == "t"


def test_feature_boxplots():
    X, y = make_blobs(60, 3, centers=3, random_state=0)
    names = np.array(["c", "a", "b"])[y]
    features = FDA(2).fit(X, y).transform(X)
    figure = draw_feature_boxplots(features, names)
    for ax, values in zip(figure.axes, features.T, strict=True):
        for box, name in zip(ax.patches, ["a", "b", "c"], strict=True):
            height = box.get_path().vertices[:, 1]
            np.testing.assert_allclose(
                [height.min(), height.max()],
                np.percentile(values[names == name], [25, 75]),
            )


def test_ellipses_have_constant_density():
    X = make_blobs(60, 3, centers=3, random_state=0)[0]
    mixture = GaussianMixture(3, random_state=0).fit(X)
    figure = draw_mixture(mixture, X, ["u", "v", "w"])
    labels = [ax.get_xlabel() + ax.get_ylabel() for ax in figure.axes]
    assert labels == ["uv", "uw", "vw"]
    for ax, pair in zip(figure.axes, [[0, 1], [0, 2], [1, 2]], strict=True):
        for i, line in enumerate(ax.lines):
            k = i // 2
            gap = line.get_xydata() - mixture.means_[k, pair]
            inverse = np.linalg.inv(mixture.covariances_[k][np.ix_(pair, pair)])
            squared = np.einsum("ip,pq,iq->i", gap, inverse, gap)
            np.testing.assert_allclose(squared, chi2(2).ppf((0.5, 0.95)[i % 2]))


def test_lines_are_the_masses():
    masses = np.array([[0, 0.2, 0.5, 0.3], [1, 0, 0, 0]])
    (ax,) = draw_masses(masses, FocalSets.full(2), ["a", "b"]).axes
    np.testing.assert_array_equal([line.get_ydata() for line in ax.lines], masses.T)
    assert [line.get_linestyle() for line in ax.lines] == [":", "-", "-", "--"]
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["∅", "{a}", "{b}", "Ω"]


def test_pairs_are_sorted_by_cluster():
    D = np.abs(np.subtract.outer([3.0, 1, 4, 2], [3.0, 1, 4, 2]))
    _, ax = plt.subplots()
    image = draw_pair_matrix(ax, D, ["x", "y", "x", "y"], title="distances")
    order = [0, 2, 1, 3]
    np.testing.assert_array_equal(image.get_array(), D[np.ix_(order, order)])
    assert ax.get_xticks().tolist() == [0.5, 2.5]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["x", "y"]


def test_constraints_are_segments():
    X = np.array([[0.0, 0], [1, 0], [5, 5], [0, 1], [1, 1]])
    links = Constraints([(0, 1)], [(0, 2), (3, 4)])
    _, ax = plt.subplots()
    must, cannot = draw_constraints(ax, X, links, [0, -1, 1, -1, -1], title="t")
    np.testing.assert_array_equal(must.get_segments(), X[links.must_link])
    np.testing.assert_array_equal(cannot.get_segments(), X[links.cannot_link])
    assert [len(points.get_offsets()) for points in ax.collections[:2]] == [3, 2]


def test_public_data_without_the_folder(monkeypatch, tmp_path):
    import sklearn.datasets

    monkeypatch.setenv("DEMPSTER_SHARED", str(tmp_path))
    X, y = data.table("Iris", standardise=False)
    iris = sklearn.datasets.load_iris()
    np.testing.assert_array_equal(X, iris.data)
    np.testing.assert_array_equal(y, iris.target)
    with pytest.raises(data.MissingDataError, match=r"file data/s1\.npz \(source: "):
        data.stored("s1")
    with pytest.raises(data.MissingDataError, match="only as unknown.npz"):
        data.stored("unknown")


def test_data_of_python_packages(monkeypatch, tmp_path):
    monkeypatch.setenv("DEMPSTER_SHARED", str(tmp_path))
    monkeypatch.setattr(data, "find_spec", lambda package: None)
    with pytest.raises(data.MissingDataError, match="pip install --no-deps evclust=="):
        data.stored("fourclass")
    files = tmp_path / "evclust" / "datasets"
    files.mkdir(parents=True)
    (files / "fourclass.csv").write_text('"","x1","x2","y"\n"1",2,3.5,4\n"2",0,1,1\n')
    origin = SimpleNamespace(origin=str(tmp_path / "evclust" / "__init__.py"))
    monkeypatch.setattr(data, "find_spec", lambda package: origin)
    X, y = data.table("fourclass", standardise=False)
    assert X.tolist() == [[2, 3.5], [0, 1]]
    assert y.tolist() == [1, 0]


def test_experiments_use_the_data_sets_that_are_here(monkeypatch, tmp_path):
    from reproduce.nn_evclus import attribute_data

    monkeypatch.setattr(
        data, "is_available", lambda name: name in ("Iris", "Wine", "Seeds")
    )
    assert data.available(["Wine", "S2", "Wine", "Iris"]) == ["Wine", "Iris"]
    run = Run(attribute_data.table_3, quick=False, jobs=1, any_version=False)
    readings = {reading for reading, _, _ in attribute_data.cells(run)}
    assert readings == {"Wine", "Iris", "Iris, raw", "Seeds"}
    assert "not available: Ecoli; Heart;" in attribute_data.describe_missing(run)
