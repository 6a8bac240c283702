"""All commands: output, files and JSON documents."""

import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dempster.apps.cli import COMMANDS, program
from dempster.apps.methods import methods_that
from dempster.apps.recipe import Recipe, TableModel
from dempster.io import read_partition
from dempster.persistence import load, save
from tests.apps.recipe.data import flowers
from tests.apps.recipe.test_recipe import RECIPES, folder, recipe_of  # noqa: F401


def run(*arguments, code=0, **options):
    result = CliRunner().invoke(
        program, [str(a) for a in arguments], prog_name="dempster", **options
    )
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    return result


def document(*arguments, **options):
    found = json.loads(run(*arguments, "--json", **options).stdout)
    assert found["command"] == arguments[0]
    return found


@pytest.fixture
def saved(folder):  # noqa: F811
    """Return a folder with a partition, a model and a recipe."""
    options = "-c", 3, "--index", "name", "--method", "ecm", "--n-init", 2
    run(
        "cluster",
        "flowers.csv",
        *options,
        "-o",
        "ecm.csv",
        "--save-model",
        "ecm.dempster",
        "--save-config",
        "r.toml",
    )
    return folder


# ---- cluster -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECIPES)
def test_command_equals_recipe(folder, name):  # noqa: F811
    recipe = recipe_of(name)
    command = shlex.split(recipe.to_command())
    run(*command[1:], "-q", "-o", "out.parquet")
    expected = recipe.run().partition.masses
    np.testing.assert_array_equal(read_partition("out.parquet").masses, expected)


def test_save_and_repeat_a_run(saved):
    recipe = Recipe.from_toml((saved / "r.toml").read_text())
    assert recipe == Recipe(
        "flowers.csv", index="name", method="ecm", clusters=3, parameters={"n_init": 2}
    )
    found = document("cluster", "--config", "r.toml", "-o", "again.csv")
    assert (saved / "again.csv").read_bytes() == (saved / "ecm.csv").read_bytes()
    assert Recipe.from_dict(found["recipe"]) == recipe
    assert (
        found["run"]
        == "dempster cluster flowers.csv -c 3 --method ecm --index name --n-init 2"
    )
    assert found["partition"]["n_objects"] == 60
    assert sum(cluster["certain"] for cluster in found["partition"]["clusters"]) > 50
    other = document("cluster", "--config", "r.toml", "-c", 2, "-o", "again.csv")
    assert other["recipe"] == found["recipe"] | {"clusters": 2}


def format_set(members):
    return "|".join(map(str, np.flatnonzero(members))) or "∅"


def test_confidence(folder):  # noqa: F811
    options = "-c", 3, "--method", "ecm", "--n-init", 1, "--confidence", 0.8
    shown = run("cluster", "flowers.csv", *options).stdout
    model = "model.dempster"
    found = document("cluster", "flowers.csv", *options, "--save-model", model)["sets"]
    sets = load(model).conformal.sets_
    column = pd.read_csv("flowers.partition.csv", dtype=str)["conformal_set"].tolist()
    assert column == list(map(format_set, sets))
    size = sets.sum(axis=1)
    stability = found.pop("stability")
    one, several, none = (int(rows.sum()) for rows in (size == 1, size > 1, size == 0))
    assert found == {
        "confidence": 0.8,
        "one": one,
        "several": several,
        "none": none,
        "mean_size": size.mean(),
    }
    for words in (
        "sets of clusters at confidence 0.8",
        f"{one} objects with one cluster, {several} with several, {none} with none",
        f"12 refits to bootstrap samples is {stability:.2f}",
        "with a probability of at least 0.8.\nThis is a mean over all objects: those of a small cluster may get less.\n"
        "It contains the true cluster with this probability only if",
    ):
        assert words in shown


def test_saved_model_predicts_sets(folder):  # noqa: F811
    options = (
        "-c",
        3,
        "--method",
        "ecm",
        "--n-init",
        1,
        "--confidence",
        0.8,
        "--save-model",
        "m.dempster",
    )
    run("cluster", "flowers.csv", *options)
    model = load("m.dempster")
    found = document("predict", "m.dempster", "flowers.csv", "-o", "new.parquet")
    sets = model.conformal.predict_set(model.prepare(pd.read_csv("flowers.csv")))
    column = pd.read_parquet("new.parquet")["conformal_set"].tolist()
    assert column == list(map(format_set, sets))
    assert found["sets"]["mean_size"] == sets.sum(axis=1).mean()
    save(model.conformal, "c.dempster")  # without the preparation of the table
    model.prepare(pd.read_csv("flowers.csv")).to_csv("prepared.csv")
    document("predict", "c.dempster", "prepared.csv", "-o", "again.parquet")
    assert pd.read_parquet("again.parquet")["conformal_set"].tolist() == column


def test_confidence_of_bootclus(folder):  # noqa: F811
    options = "--method", "bootclus", "--n-bootstraps", 10, "--confidence", 0.8
    run("cluster", "flowers.csv", "-c", 3, *options, "--save-config", "c.toml")
    parameters = Recipe.from_toml(Path("c.toml").read_text()).parameters
    assert parameters == {"n_bootstraps": 10, "confidence": 0.8}


def test_help_shows_options_of_the_method():
    shown = run("cluster", "--method", "ecm", "--help").stdout
    for words in (
        "Parameters of --method ecm",
        "--delta X",
        "--metric euclidean|adaptive",
        "[default: auto]",
    ):
        assert words in shown
    assert "--shape" in run("cluster", "--help").stdout
    assert "--n-prototypes" in run("classify", "--method", "rbf", "--help").stdout


def test_choices_and_truth(folder):  # noqa: F811
    shown = run("cluster", "flowers.csv", "--truth", "color", "-v").stdout
    assert "chosen: n_clusters = 3; expected agreement" in shown
    assert "compared with color" in shown
    assert "1.000" in shown


@pytest.mark.parametrize("name", ["d.csv", "d.npy", "d.parquet", "d.mtx", "d.mat"])
def test_formats_of_dissimilarities(folder, name):  # noqa: F811
    D = np.load("d.npy")
    if name == "d.parquet":
        pd.DataFrame(D, columns=map(str, range(60))).to_parquet(name)
    if name in ("d.mtx", "d.mat"):
        from scipy.io import mmwrite, savemat

        mmwrite(name, D) if name == "d.mtx" else savemat(name, {"D": D})
    run(
        "cluster",
        name,
        "--dissimilarities",
        "-c",
        3,
        "-o",
        "out.parquet",
        "--plot",
        "p.png",
        "-q",
    )
    expected = Recipe("d.npy", kind="dissimilarities", clusters=3).run().partition
    np.testing.assert_allclose(
        read_partition("out.parquet").masses, expected.masses, atol=1e-6
    )


def test_sparse_dissimilarities(folder):  # noqa: F811
    from scipy import sparse
    from scipy.io import mmwrite

    D = np.load("d.npy")
    rng = np.random.default_rng(0)
    kept = np.triu(rng.random(D.shape) < 0.5, 1)
    mmwrite("some.mtx", sparse.coo_matrix(np.where(kept | kept.T, D, 0)))
    run(
        "cluster",
        "some.mtx",
        "--dissimilarities",
        "-c",
        3,
        "--method",
        "evclus",
        "-o",
        "out.parquet",
    )
    labels = read_partition("out.parquet").labels
    assert len({(a, b) for a, b in zip(labels, np.arange(60) % 3, strict=True)}) == 3


def test_example_tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run("example", "flowers.csv", "new-flowers.csv", "wines.csv")
    tables = [
        pd.read_csv(name) for name in ("flowers.csv", "new-flowers.csv", "wines.csv")
    ]
    assert [table.shape for table in tables] == [(150, 6), (15, 5), (178, 15)]
    assert tables[0].groupby("species").size().tolist() == [50, 50, 50]
    assert tables[2].groupby("grape").size().to_dict() == {
        "Barbera": 48,
        "Barolo": 59,
        "Grignolino": 71,
    }
    assert "flowers.csv exists" in run("example", "flowers.csv", code=1).stderr
    assert (
        "the example tables are flowers.csv, new-flowers.csv and wines.csv"
        in run("example", "x", code=2).stderr
    )


# ---- models --------------------------------------------------------------------------------------


def test_predict_prepares_new_rows(saved):
    flowers().iloc[::-1].drop(columns="color").to_csv(
        "new.csv", index=False, sep=";", decimal=","
    )
    found = document("predict", "ecm.dempster", "new.csv")
    assert found["partition"]["n_objects"] == 60
    predicted = read_partition("new.predicted.csv")
    trained = read_partition("ecm.csv")
    assert predicted.index.tolist() == trained.index.tolist()[::-1]
    np.testing.assert_allclose(predicted.masses[::-1], trained.masses, atol=1e-9)
    assert isinstance(load("ecm.dempster"), TableModel)
    flowers().drop(columns="depth").to_csv("less.csv", index=False)
    assert (
        "the table has no column 'depth'"
        in run("predict", "ecm.dempster", "less.csv", code=1).stderr
    )
    assert (
        "contains a partition, not a model"
        in run("predict", "ecm.csv", "new.csv", code=1).stderr
    )


def test_classify(folder):  # noqa: F811
    table = flowers(120)
    table.loc[table.index[90:], "color"] = None
    table.to_csv("part.csv", index=False)
    found = document(
        "classify",
        "part.csv",
        "--target",
        "color",
        "--index",
        "name",
        "--save-model",
        "m.dempster",
    )
    assert found["classes"] == ["blue", "red", "white"]
    assert found["n_training"] == 90
    assert found["cross_validation"]["accuracy"] > 0.95
    assert sum(found["decisions"].values()) == 30
    decided = pd.read_csv("part.decisions.csv")
    assert decided["decision"].tolist() == flowers(120)["color"].tolist()[90:]
    found = document("predict", "m.dempster", "part.csv")
    assert sum(found["decisions"].values()) == 120
    sets = document(
        "classify",
        "part.csv",
        "--target",
        "color",
        "--rule",
        "interval_dominance",
        "--cv",
        0,
    )
    assert sets["cross_validation"] == {}
    rejected = document(
        "classify", "part.csv", "--target", "color", "--reject", 0.0, "--cv", 3
    )
    assert set(rejected["decisions"]) == {"undecided"}
    wrong = run(
        "classify",
        "part.csv",
        "--target",
        "color",
        "--rule",
        "maximality",
        "--reject",
        0.1,
        code=2,
    )
    assert "--reject cannot be used with --rule maximality" in wrong.stderr


def test_classify_with_confidence(folder):  # noqa: F811
    table = flowers(120)
    truth = flowers(120)["color"][90:]
    table.loc[table.index[90:], "color"] = None
    table.to_csv("part.csv", index=False)
    options = (
        "part.csv",
        "--target",
        "color",
        "--index",
        "name",
        "--confidence",
        0.95,
        "--cv",
        0,
    )
    document("classify", *options, "--save-model", "m.dempster")
    decided = pd.read_csv("part.decisions.csv")["decision"]
    assert (
        sum(
            name in text.split(" or ")
            for name, text in zip(truth, decided, strict=True)
        )
        >= 24
    )
    document("predict", "m.dempster", "part.csv", "-o", "all.csv")
    assert pd.read_csv("all.csv")["decision"].tolist()[90:] == decided.tolist()
    wrong = run("classify", *options, "--reject", 0.1, code=2)
    assert "--confidence cannot be used with --reject or --rule" in wrong.stderr


# ---- partitions ----------------------------------------------------------------------------------


def test_compare(saved):
    run("cluster", "flowers.csv", "-c", 2, "--index", "name", "-o", "two.csv", "-q")
    found = document("compare", "ecm.csv", "two.csv", "--plot", "map.png", "-n", 100)
    assert 0.3 < found["indices"][0]["credal Rand"] < 0.95
    moved = found["moved"]["two"]
    assert moved["objects"] == len(moved["first"]) > 15
    assert (saved / "map.png").read_bytes().startswith(b"\x89PNG")
    shown = run("compare", "ecm.csv", "ecm.csv").stdout
    assert "0 objects (0.0%)" in shown
    assert (
        "at least two partitions are needed, got 1 file"
        in run("compare", "ecm.csv", code=2).stderr
    )


def test_select(folder):  # noqa: F811
    found = document(
        "select",
        "flowers.csv",
        "--to",
        6,
        "--plot",
        "s.png",
    )
    assert found["best"] == 3
    assert [row["n_clusters"] for row in found["candidates"]] == [2, 3, 4, 5, 6]
    assert {"plausibility", "expected_agreement"} <= set(found["candidates"][0])
    assert (folder / "s.png").exists()


def test_explain(saved):
    found = document("explain", "ecm.dempster", "flowers.csv", "--object", "f003")
    assert "f003" in found["text"]
    assert sum(found["masses"].values()) == pytest.approx(1)
    values = {row["attribute"]: row["value"] for row in found["contributions"]}
    # in the units of the table
    assert values == pytest.approx(flowers().loc[3, list(values)].to_dict())
    cluster = document(
        "explain", "ecm.csv", "flowers.csv", "--index", "name", "--cluster", 1
    )
    paragraphs = cluster["text"].split("\n\n")
    assert [
        text.split(":")[0] for text in paragraphs if text.startswith("cluster")
    ] == ["cluster 1"]
    assert cluster["profile"]["objects"] > 15
    pair = document("explain", "ecm.dempster", "flowers.csv", "--pair", "0,1")
    assert pair["discriminating_features"][0]["rule"].startswith("cluster ")
    assert len(document("explain", "ecm.dempster", "flowers.csv")["profile"]) >= 3
    assert (
        "unknown object 'nobody'"
        in run(
            "explain",
            "ecm.csv",
            "flowers.csv",
            "--index",
            "name",
            "--object",
            "nobody",
            code=1,
        ).stderr
    )
    assert (
        "there is no cluster '9'"
        in run("explain", "ecm.dempster", "flowers.csv", "--cluster", 9, code=1).stderr
    )


def test_explain_objects_whose_names_are_numbers(folder):  # noqa: F811
    flowers().assign(name=range(1000, 1060)).to_csv("numbered.csv", index=False)
    run(
        "cluster",
        "numbered.csv",
        "--index",
        "name",
        "-c",
        3,
        "--method",
        "ecm",
        "--save-model",
        "n.dempster",
    )
    for subject in ("n.dempster", "numbered.partition.csv"):
        shown = run(
            "explain", subject, "numbered.csv", "--object", 1005, "--index", "name"
        ).stdout
        assert shown.startswith("Object 1005 is")


def test_na_values_and_unknown_classes(folder):  # noqa: F811
    table = flowers().astype({"width": object, "color": object})
    table.loc[table.index[3], "width"] = "below"
    table.loc[table.index[::4], "color"] = None
    table.to_csv("holes.csv", index=False)
    options = (
        "--na-values",
        "below",
        "--missing",
        "drop",
        "--index",
        "name",
        "--truth",
        "color",
    )
    run(
        "cluster",
        "holes.csv",
        "-c",
        3,
        "--method",
        "ecm",
        *options,
        "--save-model",
        "h.dempster",
        "--report",
        "h.html",
    )
    assert "the 44 objects with a known class" in (folder / "h.html").read_text(
        encoding="utf-8"
    )
    # na_values of the model are used
    assert document("predict", "h.dempster", "holes.csv")["n_objects"] == 59
    assert (
        "needs the argument TABLE"
        in run("report", "h.dempster", "--na-values", "x", code=2).stderr
    )


def test_ask_and_use_answers(folder):  # noqa: F811
    found = document("ask", "flowers.csv", "-c", 3, "--index", "name", "-n", 4)
    assert len(found["questions"]) == 4
    assert found["changed"] is None
    table = pd.read_csv("flowers.answers.csv")
    assert table["answer"].isna().all()
    colors = flowers().set_index("name")["color"]
    same = colors[table["object"]].to_numpy() == colors[table["other"]].to_numpy()
    table.assign(answer=np.where(same, "same", "different")).to_csv(
        "answered.csv", index=False
    )
    answered = document(
        "ask",
        "flowers.csv",
        "-c",
        3,
        "--index",
        "name",
        "--answers",
        "answered.csv",
        "--partition",
        "t.csv",
    )
    assert isinstance(answered["changed"], list)
    assert answered["contradictions"] == []
    assert len(read_partition("t.csv")) == 60
    (folder / "odd.csv").write_text(
        "object,other,answer\nf000,f001,same\nf001,f002,same\nf000,f002,different\n"
    )
    shown = run(
        "ask", "flowers.csv", "-c", 3, "--index", "name", "--answers", "odd.csv"
    )
    assert (
        "contradiction: f000 and f002 are in different clusters, but f000 - f001 - f002"
        in shown.stderr
    )
    assert (
        "--method must be one of"
        in run("ask", "flowers.csv", "--method", "ecm", code=2).stderr
    )


def test_report_is_written(saved):
    pytest.importorskip("dempster.apps.report")
    document("report", "ecm.dempster", "flowers.csv", "-o", "page.html")
    text = (saved / "page.html").read_text()
    assert text.lstrip().lower().startswith("<!doctype html")
    run(
        "cluster", "flowers.csv", "-c", 3, "--method", "ecm", "--report", "r.html", "-q"
    )
    assert (saved / "r.html").exists()


# ---- doubt ---------------------------------------------------------------------------------------


def test_doubt(folder):  # noqa: F811
    table = flowers()
    table["kind"] = np.repeat(["oak", "elm", "ash"], 20)
    table.loc[5, "kind"] = None
    table.to_csv("labeled.csv", index=False)
    options = "--labels", "kind", "--index", "name"
    files = "-o", "d.csv", "--plot", "d.png", "--report", "d.html"
    found = document("doubt", "labeled.csv", *options, *files)
    partition = read_partition("d.csv")
    assert partition.frame == ("ash", "elm", "oak")
    assert len(partition) == 60
    assert [one["name"] for one in found["clusters"]] == ["ash", "elm", "oak"]
    assert found["partition"]["n_objects"] == 60
    assert 0 <= found["expected_agreement"] <= 1
    assert (folder / "d.png").stat().st_size > 1000
    assert "elm" in (folder / "d.html").read_text(encoding="utf-8")
    text = run("doubt", "labeled.csv", *options, "-o", "d.csv").stdout
    assert "1 without a label" in text
    assert "kind" not in text.split("columns: ")[1].split("\n")[0]


def test_doubt_about_a_file_and_dissimilarities(folder):  # noqa: F811
    labels = np.repeat(["oak", "elm", "ash"], 20)
    pd.Series(labels, name="kind").to_csv("kinds.csv", index=False)
    run("doubt", "flowers.csv", "--labels", "kinds.csv", "-o", "d.csv")
    assert read_partition("d.csv").n_clusters == 3
    rows = flowers()[["width", "depth"]].to_numpy()
    D = np.linalg.norm(rows[:, None] - rows, axis=2)
    np.save("D.npy", D)
    options = "--dissimilarities", "--labels", "kinds.csv", "--plot", "d.png"
    run("doubt", "D.npy", *options, "--report", "d.html", "-o", "e.csv")
    assert read_partition("e.csv").n_clusters == 3


def test_doubt_names_wrong_options(folder):  # noqa: F811
    result = run("doubt", "flowers.csv", "--labels", "kind", code=2)
    assert "--labels: the table has no column 'kind'" in result.stderr
    assert "--labels" in run("doubt", "flowers.csv", code=2).stderr
    options = "--labels", "color", "--missing", "partial"
    assert "--missing partial" in run("doubt", "flowers.csv", *options, code=2).stderr


# ---- the rest ------------------------------------------------------------------------------------


def test_studio_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "pip install 'dempster[studio]'" in run("studio", code=1).stderr


def test_commands_have_json():
    from click import Context

    for name in set(COMMANDS) - {"studio"}:
        command = program.get_command(Context(program), name)
        assert "--json" in {
            option for parameter in command.params for option in parameter.opts
        }, name


def test_report_uses_numeric_columns_if_none_are_recorded(saved):
    table = pd.read_csv("ecm.csv")
    recorded = [name for name in table if name.startswith("clustered=")]
    assert len(recorded) == 1
    table.drop(columns=recorded).to_csv("foreign.csv", index=False)
    run("report", "foreign.csv", "flowers.csv", "--index", "name", "-o", "foreign.html")
    page = (saved / "foreign.html").read_text(encoding="utf-8")
    assert "does not record which columns were clustered" in page
    assert "color = red" not in page
    run("report", "ecm.csv", "flowers.csv", "--index", "name", "-o", "page.html")
    page = (saved / "page.html").read_text(encoding="utf-8")
    assert "does not record which columns were clustered" not in page
    assert "color = red" in page
    columns = "--columns", "color"
    result = run("report", "ecm.csv", "flowers.csv", *columns, "-o", "x.html", code=2)
    assert "records the clustered columns" in result.output
    run("report", "foreign.csv", "flowers.csv", *columns, "-o", "color.html")
    assert "color = red" in (saved / "color.html").read_text(encoding="utf-8")


def test_explained_pair_has_no_row_names(saved):
    result = run("explain", "ecm.csv", "flowers.csv", "--pair", "0,1")
    assert "if name" not in result.output
    (line,) = [line for line in result.output.splitlines() if "color" in line]
    assert "not clustered" in line


def test_rows_left_out_are_in_the_summary(folder):  # noqa: F811
    options = "-c", 3, "--method", "ecm", "--index", "name"
    result = run("cluster", "holes.csv", *options, "--missing", "drop")
    assert "59 objects, 1 row with missing values left out" in result.output
    result = run("cluster", "flowers.csv", *options)
    assert "left out, 3 attributes" not in result.output


def test_default_report_overwrites_nothing(saved):
    run("report", "ecm.csv")
    before = (saved / "ecm.html").read_bytes()
    result = run("report", "ecm.dempster", code=1)
    assert "ecm.html exists; overwrite it with --output ecm.html" in result.output
    assert (saved / "ecm.html").read_bytes() == before
    run("report", "ecm.dempster", "flowers.csv", "-o", "ecm.html")
    assert (saved / "ecm.html").read_bytes() != before


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"studio", "example"}))
def test_examples_of_the_help(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    run("example", "flowers.csv", "new-flowers.csv")
    (tmp_path / "edges.csv").write_text("a,b\nb,c\nc,a\nc,d\nd,e\ne,f\nf,d\n")
    examples = program.get_command(None, name).examples
    assert examples
    for line in examples:
        words = shlex.split(line.split(" < ")[0])
        assert words[0] == "dempster"
        redirected = line.partition(" < ")[2].split(" > ")[0]
        given = (tmp_path / redirected).read_bytes() if redirected else None
        run(*words[1:], input=given)


def test_contradictions_name_the_objects(folder):  # noqa: F811
    (folder / "k.csv").write_text("f000,f001,same\nf000,f001,different\n")
    options = "--index", "name", "-c", 3, "--constraints", "k.csv"
    result = run("cluster", "flowers.csv", *options, code=1)
    assert "f000 and f001 are in different clusters" in result.stderr


def test_constraints_of_each_method(folder):  # noqa: F811
    (folder / "k.csv").write_text("f000,f001,different\n")
    options = "--index", "name", "-c", 3, "--constraints", "k.csv"
    for method in methods_that("constraints"):
        run("cluster", "flowers.csv", *options, "--method", method)
        labels = read_partition("flowers.partition.csv").labels
        assert labels[0] != labels[1]


def test_pipes(folder):  # noqa: F811
    options = "-c", 3, "--method", "ecm", "--n-init", 1
    given = (folder / "flowers.csv").read_bytes()
    result = run("cluster", "-", *options, "-o", "-", input=given)
    (folder / "piped.csv").write_text(result.stdout, encoding="utf-8")
    assert "60 objects" in result.stderr
    run("cluster", "flowers.csv", *options)
    expected = read_partition("flowers.partition.csv").masses
    np.testing.assert_array_equal(read_partition("piped.csv").masses, expected)
    assert "--output" in run("cluster", "-", *options, input=given, code=2).stderr
    assert "--json" in run("cluster", "-", "-o", "-", "--json", code=2).stderr


def test_append(folder):  # noqa: F811
    table = flowers().assign(cluster="mine")
    table.loc[0, "width"] = np.nan
    table.to_csv("t.csv", index=False)
    options = "--index", "name", "-c", 3, "--method", "ecm", "--missing", "drop"
    run("cluster", "t.csv", *options, "--append", "full.csv")
    full = pd.read_csv("full.csv", index_col="name", dtype={"cluster_": str})
    partition = read_partition("t.partition.csv")
    assert full.columns.tolist()[-4:] == [
        "cluster",
        "cluster_",
        "possible clusters",
        "doubt",
    ]
    assert full["cluster"].eq("mine").all()
    assert full.iloc[0, -3:].isna().all()
    assert full["cluster_"].tolist()[1:] == list(map(str, partition.labels))
    assert full.index.tolist()[1:] == partition.index.tolist()


def test_errors_as_json():
    found = json.loads(run("cluster", "no.csv", "--json", code=1).stdout)
    assert found == {"error": "no.csv: No such file or directory", "exit_code": 1}


def test_new_rows_need_no_names(saved):
    flowers().drop(columns="name").to_csv("new.csv", index=False)
    assert document("predict", "ecm.dempster", "new.csv")["n_objects"] == 60


def test_options_without_effect_are_refused(folder):  # noqa: F811
    for option in (("-c", 4), ("--truth", "color"), ("--method", "ecm")):
        assert "no such option" in run("select", "flowers.csv", *option, code=2).stderr
