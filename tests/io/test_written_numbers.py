"""Tables as people's programs write them."""

import gzip

import numpy as np
import pandas as pd
import pytest

from dempster.io import read_dissimilarities, read_table


@pytest.mark.parametrize(
    ("cells", "values", "words"),
    [
        (["12%", "7.5 %", "100%"], [12, 7.5, 100], "without percent signs"),
        (['"1,234"', '"12,345,678"', "999"], [1234, 12345678, 999], "thousands set apart"),
        (["1 234", "22 000.5", "3"], [1234, 22000.5, 3], "thousands set apart"),
        (["$5", "$1000", "-$3"], [5, 1000, -3], "without $"),
        (["5 €", "6 €", "7 €"], [5, 6, 7], "without €"),
        (["€ 5", "€ -6", "€-7.5"], [5, -6, -7.5], "without €"),
        (["1", "?", "2.5"], [1, np.nan, 2.5], "'?' means that a cell is missing"),
        (["−1", "2", "3"], [-1, 2, 3], "written as text"),
    ],
)
def test_numbers_as_people_write_them(tmp_path, cells, values, words):
    (tmp_path / "t.csv").write_text("name,x\n" + "".join(f"n{i},{cell}\n" for i, cell in enumerate(cells)))
    table = read_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(table["x"], values)
    assert words in table.attrs["converted"]["x"]
    assert "name" not in table.attrs["converted"]


@pytest.mark.parametrize(
    "cells",
    [
        ["12%", "7", "8"],
        ["1,23", "4", "5"],
        ["$1", "€2", "3"],
        ["1", "many", "2"],
        ["?", "?", "?"],
        ["1.2.3", "4", "5"],
    ],
)
def test_what_may_mean_something_else_stays_text(tmp_path, cells):
    (tmp_path / "t.csv").write_text("x;y\n" + "".join(f"{cell};1.5\n" for cell in cells))
    table = read_table(tmp_path / "t.csv", delimiter=";", decimal=".")
    assert table["x"].tolist() == cells
    assert "converted" not in table.attrs


def test_decimal_commas_and_points_for_thousands(tmp_path):
    (tmp_path / "t.csv").write_text("x;y\n1.234,5;1,5\n12,25;2,5\n")
    assert read_table(tmp_path / "t.csv").to_dict("list") == {"x": [1234.5, 12.25], "y": [1.5, 2.5]}


@pytest.mark.parametrize(
    ("encoding", "told"), [("utf-8", None), ("utf-8-sig", None), ("utf-16", "UTF-16"), ("cp1252", "Windows-1252")]
)
@pytest.mark.parametrize("packed", [False, True])
def test_encodings(tmp_path, encoding, told, packed):
    text = "Größe;Stadt\n1,5;Köln\n2,5;Bonn\n".encode(encoding)
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(text) if packed else text)
    table = read_table(path)
    assert table.to_dict("list") == {"Größe": [1.5, 2.5], "Stadt": ["Köln", "Bonn"]}
    assert table.attrs.get("encoding") == told


def test_spreadsheets(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    table = pd.DataFrame({"name": ["a", "b"], "x": [1.5, 2.5], "share": ["1,5 %", "2 %"]})
    table.to_excel(tmp_path / "t.xlsx", index=False, startrow=2)
    for header in (None, True):
        assert read_table(tmp_path / "t.xlsx", header=header)["x"].tolist() == [1.5, 2.5]  # below empty rows
    table.to_excel(tmp_path / "t.xlsx", index=False)
    found = read_table(tmp_path / "t.xlsx", index_col="name")
    assert found.to_dict("index") == {"a": {"x": 1.5, "share": 1.5}, "b": {"x": 2.5, "share": 2}}
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"t.xlsx needs openpyxl.*dempster\[excel\]"):
        read_table(tmp_path / "t.xlsx")


def test_a_column_without_heading_names_the_rows(tmp_path):
    pd.DataFrame({"x": [1, 2]}, index=["a", "b"]).to_csv(tmp_path / "t.csv")
    table = read_table(tmp_path / "t.csv")
    assert table.index.tolist() == ["a", "b"]
    assert table.attrs["unnamed_index"]


@pytest.mark.parametrize(
    "text",
    [
        "0,1,2\n1,0,3\n2,3,0\n",
        "a,b,c\n0,1,2\n1,0,3\n2,3,0\n",
        "7,8,9\n0,1,2\n1,0,3\n2,3,0\n",
        ",a,b,c\na,0,1,2\nb,1,0,3\nc,2,3,0\n",
        "town,a,b,c\na,0,1,2\nb,1,0,3\nc,2,3,0\n",
        "a,b,c\na,0,1,2\nb,1,0,3\nc,2,3,0\n",
        "a;0;1,0;2\nb;1;0;3\nc;2;3;0,0\n",
    ],
)
def test_matrices_with_names_or_without(tmp_path, text):
    (tmp_path / "d.csv").write_text(text)
    found = read_dissimilarities(tmp_path / "d.csv")
    np.testing.assert_array_equal(found.to_numpy(), [[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    if "a" in text:
        assert found.index.tolist() == ["a", "b", "c"]


def test_what_is_no_square_matrix_is_refused(tmp_path):
    (tmp_path / "d.csv").write_text("0,1,2\n1,0,3\n")
    with pytest.raises(ValueError, match="must hold a square matrix of dissimilarities, got 2 rows and 3 columns"):
        read_dissimilarities(tmp_path / "d.csv")
    (tmp_path / "d.mtx").write_text("nonsense")
    with pytest.raises(ValueError, match="cannot read d.mtx"):
        read_dissimilarities(tmp_path / "d.mtx")


@pytest.mark.parametrize("delimiter", [",", " "])
def test_columns_that_may_be_thousands_are_columns_under_names(tmp_path, delimiter):
    """34,120 is one number or two; under two names it is two."""
    path = tmp_path / "table.csv"
    lines = ["34 120", "45 180", "23 155"]
    path.write_text("\n".join(["age weight", *lines]).replace(" ", delimiter))
    assert read_table(path).to_numpy().tolist() == [[34, 120], [45, 180], [23, 155]]
    path.write_text("\n".join(lines).replace(" ", delimiter))
    with pytest.raises(ValueError, match="23.155 can be read as .* with delimiter="):
        read_table(path)
