"""``dempster cluster --graph``."""

import json

import pandas as pd
import pytest
from click.testing import CliRunner

from dempster.apps.cli import program

TRIANGLES = "from,to\na,b\nb,c\na,c\nd,e\ne,f\nd,f\na,g\nd,g\n"


def run(*arguments):
    return CliRunner().invoke(program, ["cluster", *map(str, arguments)])


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text(TRIANGLES, encoding="utf-8")
    return path


def test_communities(edges):
    plot = edges.with_name("network.png")
    result = run(edges, "--graph", "--resolution", 1, "--plot", plot, "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["method"] == "EKNNClus"
    assert found["partition"]["ambiguous"] == [{"between": [0, 1], "objects": 1}]
    table = pd.read_csv(edges.with_name("edges.partition.csv"), index_col="object")
    assert list(table.index) == list("abcdefg")
    assert table.loc["g", "assignment"] == "Ω"
    assert table.loc[list("abc"), "label"].nunique() == 1
    assert plot.stat().st_size > 0


def test_an_edge_in_place_of_the_heading(edges):
    # The names of the first edge occur again, but not in the same column.
    edges.write_text("a,b\nb,c\nc,a\nd,e\ne,f\nf,d\nc,d\n", encoding="utf-8")
    result = run(edges, "--graph")
    assert "the first row, a and b, is the heading; if it is an edge" in result.output
    assert "6 nodes, 6 edges" in result.output
    result = run(edges, "--graph", "--no-header")
    assert "heading" not in result.output
    assert "6 nodes, 7 edges" in result.output


def test_weights_are_used(edges):
    lines = TRIANGLES.splitlines()
    weighted = [f"{line},{20 if line == 'd,g' else 1}" for line in lines[1:]]
    edges.write_text("\n".join(["from,to,weight", *weighted]), encoding="utf-8")
    assert run(edges, "--graph", "--resolution", 1).exit_code == 0
    table = pd.read_csv(edges.with_name("edges.partition.csv"), index_col="object")
    assert table.loc["g", "label"] == table.loc["d", "label"]
    assert table.loc["g", "assignment"] != "Ω"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--method", "ecm"], "--graph needs one table of edges and --method eknnclus"),
        (["--dissimilarities"], "--graph needs one table of edges"),
        (["--report", "page.html"], "--report cannot be used with --graph"),
        (["--index", "from"], "--index cannot be used with --graph"),
        (["--save-model", "a.dempster"], "--save-model cannot be used with --graph"),
    ],
)
def test_unsupported_options(edges, options, message):
    result = run(edges, "--graph", *options)
    assert result.exit_code == 2
    assert message in result.output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\n1\n2\n", "two or three columns (two nodes and a weight), got 1"),
        ("a,b\nx,\ny,z\n", "a node is missing in row 1"),
        ("a,b,w\nx,y,-2\ny,z,1\n", "nonnegative weights of edges, got -2"),
        (
            "a,b,w\nx,y,heavy\ny,z,1\n",
            "must contain weights (numbers), got 'heavy' in row 1",
        ),
        ("a,b\nx,x\n", "an edge between different nodes"),
    ],
)
def test_invalid_edges(edges, content, message):
    edges.write_text(content, encoding="utf-8")
    result = run(edges, "--graph")
    assert result.exit_code != 0
    assert message in result.output
    assert not edges.with_name("edges.partition.csv").exists()
