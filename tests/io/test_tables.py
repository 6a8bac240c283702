"""Tables and matrices in many layouts: read correctly, or rejected with an error that names the option to set."""

import gzip
import warnings
import zipfile
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from dempster import _validation
from dempster.io import (
    dialect,
    read_dissimilarities,
    read_partition,
    read_table,
    tables,
    text,
)
from tests.limits import limited, refused_or_sensible

# ---- text files ----------------------------------------------------------------------------------

TEXTS = {
    "comma": "name,a,b\nx,1.5,2\ny,3.25,4\n",
    "spaces after commas": "name, a, b\nx, 1.5, 2\ny, 3.25, 4\n",
    "semicolon": "name;a;b\nx;1.5;2\ny;3.25;4\n",
    "semicolon, decimal comma": "name;a;b\nx;1,5;2\ny;3,25;4\n",
    "tab": "name\ta\tb\nx\t1.5\t2\ny\t3.25\t4\n",
    "tab, decimal comma": "name\ta\tb\nx\t1,5\t2\ny\t3,25\t4\n",
    "bar": "name|a|b\nx|1.5|2\ny|3.25|4\n",
    "blanks": "name   a    b\nx     1.5    2\ny    3.25    4\n",
    "quoted": '"name","a","b"\n"x","1.5","2"\n"y","3.25","4"\n',
    "Windows line ends": "name,a,b\r\nx,1.5,2\r\ny,3.25,4\r\n",
    "byte order mark": "\ufeffname,a,b\nx,1.5,2\ny,3.25,4\n",
    "blank lines": "name,a,b\n\nx,1.5,2\ny,3.25,4\n\n",
    "no last line end": "name,a,b\nx,1.5,2\ny,3.25,4",
    "trailing delimiter": "name,a,b\nx,1.5,2,\ny,3.25,4,\n",
}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".txt", ".csv.gz"])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_text_formats(tmp_path, text, suffix):
    path = tmp_path / f"table{suffix}"
    content = text.encode()
    path.write_bytes(
        gzip.compress(content, mtime=0) if suffix.endswith("gz") else content
    )
    table = read_table(path)
    assert table.columns.tolist() == ["name", "a", "b"]
    assert table["name"].tolist() == ["x", "y"]
    assert table["a"].tolist() == [1.5, 3.25]
    assert table["b"].tolist() == [2, 4]


@pytest.mark.parametrize(
    ("text", "rows"),
    [("1,2\n3,4\n", [[1, 2], [3, 4]]), ("1,5;2\n3;4,5\n", [[1.5, 2], [3, 4.5]])],
)
def test_table_without_header(tmp_path, text, rows):
    path = tmp_path / "t.csv"
    path.write_text(text)
    table = read_table(path)
    assert table.columns.tolist() == ["x1", "x2"]
    assert table.to_numpy().tolist() == rows
    assert table.attrs["header"] is False
    assert len(read_table(path, header=True)) == len(rows) - 1


def test_all_formats_contain_the_same_table(tmp_path):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(30, 3)) * 10.0 ** rng.integers(-200, 200, (30, 3))
    table = pd.DataFrame(values, columns=["x1", "x2", "x3"])
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    table.to_csv(tmp_path / "t.csv.gz", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    table.to_feather(tmp_path / "t.feather")
    np.save(tmp_path / "t.npy", values)
    for name in ("t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.feather", "t.npy"):
        pd.testing.assert_frame_equal(
            read_table(tmp_path / name), table, check_exact=True, obj=name
        )


def test_tables_without_columns(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    for table in (pd.DataFrame(), pd.DataFrame(index=[1, 2])):
        table.to_parquet(path)
        assert read_table(path).shape == table.shape


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_columns_and_index(tmp_path, suffix):
    table = pd.DataFrame(
        {"id": ["007", "NA", "x"], "a": [1, 2, 3], "b": [4.0, 5.0, 6.0]}
    )
    path = tmp_path / f"t.{suffix}"
    table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(
        path, index=False
    )
    read = read_table(path, index_col="id")
    assert read.columns.tolist() == ["a", "b"]
    assert read.index.tolist() == ["007", "NA", "x"]
    assert read.index.name == "id"
    with pytest.raises(
        ValueError,
        match=r"index_col: t\.\w+ has no column 'key'; it has 'id', 'a', 'b'",
    ):
        read_table(path, index_col="key")


def test_integer_index(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,a\n12,1\n-3,2\n")
    assert read_table(path, index_col="id").index.dtype == np.int64


GARBAGE = bytes(range(256)) * 20


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("t.csv", b"", "empty"),
        ("t.csv", b"\n\n", "empty"),
        ("t.csv", GARBAGE, "cannot read t.csv"),
        ("t.csv", b"a,b\n1,\xff\x81\n", "UTF-8"),
        ("t.csv", "a,b\n1,2\n".encode("utf-16")[:-1], "cannot read t.csv"),
        ("t.csv", b"a,b\n1,2\n1,2,3,4\n", "line 3"),
        ("t.csv.gz", b"a,b\n1,2\n", "cannot read t.csv.gz"),
        ("t.csv.gz", gzip.compress(GARBAGE, mtime=0)[:50], "cannot read t.csv.gz"),
        ("t.parquet", GARBAGE, "cannot read t.parquet"),
        ("t.parquet", b"", "cannot read t.parquet"),
        ("t.feather", GARBAGE, "cannot read t.feather"),
        ("t.npy", GARBAGE, "cannot read t.npy"),
        ("t.npy", b"", "cannot read t.npy"),
        ("t.xlsx", b"PK", "cannot read t.xlsx"),
        ("t.ods", b"PK", "extension must be one of .csv"),
        ("table", b"a,b\n1,2\n", "got none"),
        ("t.npy.gz", b"", "extension must be"),
    ],
)
def test_invalid_files(tmp_path, name, content, match):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=match) as caught:
        read_table(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(3.0),
        np.zeros((2, 2, 2)),
        np.array([["a", "b"]]),
        np.array([[1j]]),
        np.array([[True]]),
    ],
)
def test_invalid_arrays(tmp_path, array):
    np.save(tmp_path / "t.npy", array)
    with pytest.raises(ValueError, match="numeric and 2-D"):
        read_table(tmp_path / "t.npy")


def test_pickled_arrays_are_not_loaded(tmp_path):
    np.save(tmp_path / "t.npy", np.array([[{}, 1]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="cannot read t.npy"):
        read_table(tmp_path / "t.npy")


def test_missing_files(tmp_path):
    for read in (read_table, read_partition):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "nothing.csv")
        with pytest.raises(IsADirectoryError):
            read(tmp_path)


# Text of a table, and its columns or the option that the error names.
UNREADABLE = "cannot read table.csv"
TABLES = {
    "decimal commas or names": ("a\n1,5\n2,25", "delimiter"),
    "missing word first": ("NA,1.5\n1,2\n3,4", {"x1": [None, 1, 3], "x2": [1.5, 2, 4]}),
    "thousands in tabs": ("a\tb\n1,234\t5\n2,345\t6", "decimal"),
    "decimals in tabs": ("a\tb\n1,5\t5\n2,25\t6", {"a": [1.5, 2.25], "b": [5, 6]}),
    "semicolon in a text column": (
        "a,b,c\n1,x;y,2\n2,x;z,3",
        {"a": [1, 2], "b": ["x;y", "x;z"], "c": [2, 3]},
    ),
    "bar in a text column": ("a,b\n1,x|y\n2,x|z", {"a": [1, 2], "b": ["x|y", "x|z"]}),
    "tab in a text column": (
        "a,b\n1,x\ty\n2,x\tz",
        {"a": [1, 2], "b": ["x\ty", "x\tz"]},
    ),
    "blanks and decimal commas": (
        "1,5 2,5\n3,5 4,5",
        {"x1": [1.5, 3.5], "x2": [2.5, 4.5]},
    ),
    "semicolons and decimal commas": (
        "1,5;2,5\n3,5;4,5",
        {"x1": [1.5, 3.5], "x2": [2.5, 4.5]},
    ),
    "names and a number first": ("rose,1.5\ntulip,2.5", "header"),
    "years as names": ("name,2019\nx,1\ny,2", "header"),
    "two delimiters everywhere": ("a,b;c\nx,y;z\nu,v;w", "delimiter"),
    "thousands or decimals": ("a;b\n1.234;12,5\n2.500;3,25", "decimal"),
    "points before commas": (
        "a;b\n1.234,5;1\n2.500,25;2",
        {"a": [1234.5, 2500.25], "b": [1, 2]},
    ),
    "the same name but for a blank": ("a ,a\n1,2\n3,4", {"a": [1, 3], "a.1": [2, 4]}),
    "quoted between blanks": ('"1.5" "2"\n"2.5" "4"', {"x1": [1.5, 2.5], "x2": [2, 4]}),
    "prices first": ("$5,-$6\n$7,$8", {"x1": [5, 7], "x2": [-6, 8]}),
    "shares first": ("5 %|6 %\n7 %|8 %", {"x1": [5, 7], "x2": [6, 8]}),
    "thousands first": ("1,168.5;2\n376.5;3", {"x1": [1168.5, 376.5], "x2": [2, 3]}),
    "prices under names of two words": (
        "x y|b\n1,5 €|2 €\n2,5 €|3 €",
        {"x y": [1.5, 2.5], "b": [2, 3]},
    ),
    "names and a price first": ("rose,$5\ntulip,$6", "header"),
    "one column of thousands": (
        "a\n198,465.5\n-163,958.7",
        {"a": [198465.5, -163958.7]},
    ),
    "one column of thousands between blanks": ("a\n44 349.9\n15 869.7", "delimiter"),
    "one column of prices": ("a\n€7,24\n-€2,46", {"a": [7.24, -2.46]}),
    "a cell missing between blanks": ("a b c\n1 2 3\n4  6\n7 8 9", UNREADABLE),
    "quoted decimal commas": (
        '"a","b"\n"-14,5","8"\n"2,5","9"',
        {"a": [-14.5, 2.5], "b": [8, 9]},
    ),
    "quoted decimal commas in one column": (
        '"a"\n"3,5"\n"?"\n"1,250"',
        {"a": [3.5, None, 1.25]},
    ),
    "quoted commas after points": (
        'a,b\n"1.135,77","3,597"\n"967,5","3,6"',
        {"a": [1135.77, 967.5], "b": [3.597, 3.6]},
    ),
    "quoted powers of ten": ('"a"\n"9,177e-01"\n"1,25e+00"', {"a": [0.9177, 1.25]}),
    "quoted thousands": ('a,b\n"3,500",1\n"1,250",2', {"a": [3500, 1250]}),
    "quoted commas beside points": (
        'a,b\n"3,5",1.5\n"4,5",2',
        {"a": ["3,5", "4,5"], "b": [1.5, 2]},
    ),
    "prices without a name": ("19,99\n4,99\n24,50", "decimal"),
    "zeros without a name": ("862000,0\n-288,0\n69,0", "decimal"),
    "powers of ten without a name": ("-5,52E+01\n1,50E+00", "decimal"),
    "points in large numbers only": ("a;b\n1.234;1\n999;2\n2.345;3", "decimal"),
    "commas in large numbers only": ("a;b\n1,234;1\n999;2\n2,345;3", "decimal"),
    "names of rows and a delimiter at the end": (
        "a;b;\nr1;3;4;\nr2;5;6;",
        {"a": [3, 5], "b": [4, 6]},
    ),
    "carriage returns, an empty line and a corner": (
        "\r,a,b\rr1,1,2\r\rr2,3,4\r",
        {"a": [1, 3], "b": [2, 4]},
    ),
    "a cell more, and no names of rows": ("Temp. °C\na;b\na;b\na;c", "delimiter"),
    "names of rows under a name with blanks": (
        "t [s]\nr1; 2.5\nr2; 3.5",
        {"t [s]": [2.5, 3.5]},
    ),
    "blanks behind words": (
        "a , b\nu , 1\nu, 2\nv ,3",
        {"a": ["u", "u", "v"], "b": [1, 2, 3]},
    ),
    "zeros and three decimals": (
        "a;b\n0;458.211\n548.731;0\n12.500;1.250",
        {"a": [0, 548.731, 12.5]},
    ),
    "two whole numbers or a fraction": ("1,5\n", "decimal"),
    "categories without names": ("p,x,s\ne,x,s\np,f,y\ne,x,s", "header"),
    "names of rows between blanks, decimal commas": (
        "y  prix\nr1  2020-01-03  354,0\nr2  2020-01-03  -1,5",
        "' '",
    ),
    "names of rows or commas": ("a\nr1 10,93\nr2 11,5", "delimiter=' '"),
    "units that occur again": ("a\n3 kg\n3 kg", {"a": ["3 kg", "3 kg"]}),
    "words under a quoted name": (
        '"a b"\ndark green\nred wine',
        {"a b": ["dark green", "red wine"]},
    ),
    "names of rows between tabs": (
        '"a b"\t"c"\nr1\t1\tx\nr2\t2\ty',
        {"a b": [1, 2], "c": ["x", "y"]},
    ),
    "names of rows and empty cells between tabs": (
        "a\tc\nr1\t\t5.5\nr2\t\t6.5",
        {"a": [None, None], "c": [5.5, 6.5]},
    ),
    "one line with a number sign": ("#1\n", {}),
    "remarks over blanks": ("% written by hand\n% x y\n1.5 2.5\n3.5 4.5", UNREADABLE),
    "a title and empty cells": ("My data,,\n,,\na,b,c\n1,2,3\n4,5,6", UNREADABLE),
    "a drawn table": ("| a | b |\n|---|---|\n| 1 | 2 |", UNREADABLE),
    "empty cells at both ends": (
        "|2|\n3|4|5",
        {"x1": [None, 3], "x2": [2, 4], "x3": [None, 5]},
    ),
    "a table of a database": (" a | b\n---+---\n 1 | 2\n(1 row)", UNREADABLE),
    "single quotation marks around names": (
        "'a'\t'b'\n1\t2\n3\t4",
        {"'a'": [1, 3], "'b'": [2, 4]},
    ),
    "dashes for minus": ("a,b\n–1.5,1\n2.5,2", {"a": [-1.5, 2.5]}),
    "lines in quotation marks": ('"a,b,c"\n"1,2,3"\n"4,5,6"', UNREADABLE),
    "quoted words": ('"last, first"\n"Lee, Ann"', {"last, first": ["Lee, Ann"]}),
    "names with blanks above columns between more": (
        "sample id   value\nA1          1.5\nA2          2.5",
        UNREADABLE,
    ),
    "names with blanks and prices": (
        "Temp. °C;b\n98.88 €;?\n-33.09 €;M",
        {"Temp. °C": [98.88, -33.09]},
    ),
    "prices under a name of two words": ("t [s]\n22 €\n4 €", {"t [s]": [22, 4]}),
    "shares in one column": ("12 %\n7 %", {"x1": [12, 7]}),
    "JSON": ('{"a":1,"b":2}\n{"a":3,"b":4}', UNREADABLE),
    "HTML": ("<html><body>\n<table>\n<tr><td>1</td></tr>", UNREADABLE),
    "names of rows as in R, between blanks": (
        '"a" "b"\n"x" 1.5 2\n"y" 3.25 4',
        {"a": [1.5, 3.25], "b": [2, 4]},
    ),
    "quoted names with delimiters": (
        'name,a\n"Smith, Ann",1\n"Jones; Bob",2',
        {"name": ["Smith, Ann", "Jones; Bob"]},
    ),
    "names of rows as in R": ("x,y\nr1,1,2\nr2,3,4", {"x": [1, 3], "y": [2, 4]}),
    "quoted delimiters": ('a,b\n"1,5",2\n"2,5",3', {"b": [2, 3]}),
    "quoted line ends": ('a,b\n"x\ny",2\n"z",3', {"b": [2, 3]}),
    "one column of decimal commas": ("a\n1,5\nNA\n2,25", {"a": [1.5, None, 2.25]}),
    "one column, a comma below": ("a\n1\n2\n-3,25", {"a": [1, 2, -3.25]}),
    "one column of powers of ten": ("a\n1,5e-05\n,25\n3,0", "decimal"),
    "one column without a name": ("1,5\nNA\n2,25", "delimiter=',.* or .*decimal=','"),
    "zeros behind commas without a name": ("1,05\n2,5", "decimal"),
    "whole numbers without names": ("1,5\n2,5", {"x1": [1, 2], "x2": [5, 5]}),
    "one column of two words": (
        "town\nNew York\nSan Jose",
        {"town": ["New York", "San Jose"]},
    ),
    "a delimiter in the name alone": ("rate|x\n1\n2", UNREADABLE),
    "line ends between blanks": ('"a" "b"\n"x\ny" 2\n"z" 3', {"b": [2, 3]}),
    "words of programs for missing": (
        "a;b\n#NULL!;1,5\n3;#NV\n4;#DIV/0!",
        {"a": [None, 3, 4], "b": [1.5, None, None]},
    ),
    "thousands between blanks of typographers": (
        "a;b\n1\u202f234,5 %;x\n12,5 %;y",
        {"a": [1234.5, 12.5]},
    ),
    "two commas": ("a\tb\n1,234,567\tx\n234,567\ty", {"a": [1234567, 234567]}),
    "two points": ("a;b\n1.234.567;x\n2.345.678;y", {"a": [1234567, 2345678]}),
    "two points or one": ("a;b\n1.234.567;x\n345.678;y", "decimal"),
    "a comma in a name": (
        "a;b;last, first\n0,5;x;u\n1,5;y;v",
        {"a": [0.5, 1.5], "b": ["x", "y"], "last, first": ["u", "v"]},
    ),
    "one object between blanks": (
        'a "b c" d\n-1,5 1/2/20 2/2/20',
        {"a": [-1.5], "b c": ["1/2/20"]},
    ),
    "one object between tabs": ("a b\tc\n5\t3 kg", {"a b": [5], "c": ["3 kg"]}),
    "a number sign in a name": ("#id|b\n|x\n2|y", {"#id": [None, 2], "b": ["x", "y"]}),
    "a title": ("My data\n\na,b,c\n1,2,3\n4,5,6", UNREADABLE),
    "a title over two columns": ("My data\na,b\n1,2\n4,5", "header=True"),
    "a title over numbers": ("My data\n1.5,2.5\n4,5", UNREADABLE),
    "a remark over numbers": ("# 12 objects\n1,2.5\n4,5", UNREADABLE),
    "a remark over blanks": ("# x y\n1 234\n5 678", UNREADABLE),
    "numbers of columns and rows as pandas writes them": (
        ",0,1\n0,1.5,2\n1,3,4",
        {"0": [1.5, 3], "1": [2, 4]},
    ),
    "years beside an empty corner": (",2019,2020\nA,1.5,2\nB,3,4", "header=True"),
    "an object that begins with an empty cell": (
        ",1.5,2\n3,4,5",
        {"x1": [None, 3], "x2": [1.5, 4], "x3": [2, 5]},
    ),
    "a cell more in one line": ("a b c\n1 2 3\n1 2 3 4\n5 6 7", UNREADABLE),
    "a quotation mark that opens": ('a,b\n1,2\n"3,4', UNREADABLE),
    "a blank cell": ("a,b\n1,\n3,4", {"a": [1, 3], "b": [None, 4]}),
    "empty": ("", UNREADABLE),
    "only blanks": ("\n \n", UNREADABLE),
    "zero bytes": ("a,b\n\0,1", UNREADABLE),
    "ragged": ("a,b\n1,2,3,4\n1", UNREADABLE),
    "a quotation mark that never ends": ('a,b\n"1,2\n3,4', ""),
}


@pytest.mark.parametrize("which", TABLES)
def test_table_layouts(which, tmp_path):
    text, expected = TABLES[which]
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    if isinstance(expected, str):
        refused_or_sensible(
            lambda: read_table(path),
            lambda table: None if not expected else 1 / 0,
            expected,
        )
        return
    table = read_table(path)
    for name, values in expected.items():
        assert [None if pd.isna(v) else v for v in table[name].tolist()] == values


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("a\n1,5\n2,25", {"decimal": ","}, {"a": [1.5, 2.25]}),
        ("a\n1,5\n2,25", {"delimiter": ","}, {"a": [5, 25]}),
        ("a\tb\n1,234\t5", {"decimal": ","}, {"a": [1.234], "b": [5]}),
        ("19,99\n4,99\n24,50", {"decimal": ","}, {"x1": [19.99, 4.99, 24.5]}),
        (
            "19,99\n4,99\n24,50",
            {"delimiter": ","},
            {"x1": [19, 4, 24], "x2": [99, 99, 50]},
        ),
        (
            "a;b\n1.234;1\n999;2\n2.345;3",
            {"decimal": ","},
            {"a": [1234, 999, 2345], "b": [1, 2, 3]},
        ),
        ('"a","b"\n"1,5","2,5"', {"decimal": ","}, {"a": [1.5], "b": [2.5]}),
        (
            'a,b\n"1,5",1.234\n"2,5",3.456',
            {"decimal": ","},
            {"a": [1.5, 2.5], "b": [1234, 3456]},
        ),
        ("a^b\n1^2\n3^4", {"delimiter": "^"}, {"a": [1, 3], "b": [2, 4]}),
        (
            "rose,1.5\ntulip,2.5",
            {"header": False},
            {"x1": ["rose", "tulip"], "x2": [1.5, 2.5]},
        ),
        ("name,2019\nx,1", {"header": True}, {"name": ["x"], "2019": [1]}),
    ],
)
def test_options_resolve_ambiguities(text, options, expected, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(text)
    assert read_table(path, **options).to_dict("list") == expected


# Cells of a text column, and the one that the warning names.
SUSPECTS = {
    "a unit under the name": (["kg", "1.5", "2.5", "3"], "kg"),
    "a comment": (["1", "# later", "2", "3"], "# later"),
    "brackets": (['"(1,234.50)"', "(5.00)", "7.25"], "(1,234.50)"),
    "currencies in words": (["CHF 5.50", "CHF 6.50"], "CHF 5.50"),
    "reals": (['"R$ 1.234,50"', '"R$ 12,00"'], "R$ 1.234,50"),
    "units": (["5 kg", "7.5 kg"], "5 kg"),
    "below what can be measured": (["<0.01", "0.5", "0.7"], "<0.01"),
    "lakhs": (['"1,23,456.50"', '"2,34,567"'], "1,23,456.50"),
    "words": (["red", "blue"], None),
    "codes": (["A1", "B2", "C-3"], None),
    "dates": (["2024-01-05", "2024-02-03"], None),
    "days": (["01.02.2024", "03.02.2024"], None),
    "versions": (["1.2.3", "1.10.0"], None),
    "times": (["12:30", "13:45"], None),
}


@pytest.mark.parametrize("which", SUSPECTS)
def test_warning_about_text_that_looks_like_numbers(which, tmp_path):
    cells, suspect = SUSPECTS[which]
    (tmp_path / "table.csv").write_text(
        "a,b\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells))
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_table(tmp_path / "table.csv")
    messages = [
        str(warning.message) for warning in caught if warning.category is UserWarning
    ]
    assert len(messages) == (suspect is not None)
    assert suspect is None or f"'a' (such as '{suspect}')" in messages[0]


def test_decimal_mark_after_the_sample(tmp_path):
    rows = "".join(f"{i};{i}\n" for i in range(150))
    (tmp_path / "table.csv").write_text(f"a;b\n{rows}1,250;2\n")
    assert read_table(tmp_path / "table.csv")["a"].iloc[-1] == 1.25
    (tmp_path / "table.csv").write_text(f"a;b\n{rows}1,250;2.5\n")
    assert read_table(tmp_path / "table.csv").iloc[-1].tolist() == [1250, 2.5]
    (tmp_path / "table.tsv").write_text(f"a;b\n{rows}1,250;2\n".replace(";", "\t"))
    with pytest.raises(ValueError, match="decimal"):
        read_table(tmp_path / "table.tsv")


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("Höhe\n1\n2".encode("cp1252"), "Höhe"),
        ("a;b\n1\xa0234\xa0567;1\xa0234".encode("cp1252"), "a"),
        ("Возраст;b\n1;2\n3;4".encode("cp1251"), None),
        ("Höhe;b\n1;2\n3;".encode() + b"\xe4", None),
        ("Höhe;b\n1;2\n3;".encode() + b"\xe4\n", None),
    ],
)
def test_encoding_is_not_confused(raw, name, tmp_path):
    (tmp_path / "table.csv").write_bytes(raw)
    if name is None:
        with pytest.raises(ValueError, match="UTF-8"):
            read_table(tmp_path / "table.csv")
    else:
        assert read_table(tmp_path / "table.csv").columns[0] == name


# Rows of a sheet, and its columns or the option that the error names.
SHEETS = {
    "no names": ([[1.5, 2], [3, 4]], {"x1": [1.5, 3], "x2": [2, 4]}),
    "years as names": ([["a", 2019], [3, 4]], "header=True"),
    "numbers of columns and rows": (
        [[None, 0, 1], [0, 5.5, 6], [1, 7, 8]],
        {"0": [5.5, 7], "1": [6, 8]},
    ),
    "empty rows before the names": (
        [[None, None], ["a", "b"], [1, 2]],
        {"a": [1], "b": [2]},
    ),
    "titles": (
        [["My data", None], [None, None], ["in m", None], ["a", "b"], [1, 2]],
        {"a": [1], "b": [2]},
    ),
    "a single number in the first row": ([[3, None], [1, 2]], {"x1": [3, 1]}),
    "a column called NA": ([["NA", "b"], [1, 2]], {"NA": [1], "b": [2]}),
    "a column of failures": ([["a", "b"], ["#DIV/0!", 1], ["#N/A", 2]], {"b": [1, 2]}),
    "decimals or thousands": ([["a", "b"], ["1,234", 1], ["2,345", 2]], "decimal"),
    "numbers among text": (
        [["a", "b"], [1.5, 1], ["2,5", 2], ["3", 4]],
        {"a": [1.5, 2.5, 3]},
    ),
    "decimal commas": ([["a", "b"], ["1,5", 1], ["2,345", 2]], {"a": [1.5, 2.345]}),
}


@pytest.mark.parametrize("which", SHEETS)
def test_sheet_layouts(which, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    rows, expected = SHEETS[which]
    book = openpyxl.Workbook()
    for place, row in enumerate(rows, 1):
        for column, cell in enumerate(row, 1):
            book.active.cell(place, column, cell)
    book.save(tmp_path / "table.xlsx")
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            read_table(tmp_path / "table.xlsx")
        return
    table = read_table(tmp_path / "table.xlsx")
    assert {name: table[name].tolist() for name in expected} == expected


def test_a_sheet_is_selected(tmp_path):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as writer:
        pd.DataFrame({"a": ["about"]}).to_excel(writer, sheet_name="Cover", index=False)
        pd.DataFrame({"b": [1, -999, 3]}).to_excel(
            writer, sheet_name="Data", index=False
        )
    notes = read_table(tmp_path / "t.xlsx").attrs["notes"]
    assert notes == ["read the sheet 'Cover'; the file also has 'Data'"]
    table = read_table(tmp_path / "t.xlsx", sheet="Data", na_values=["-999"])
    assert table["b"].isna().tolist() == [False, True, False]
    with pytest.raises(ValueError, match="one of 'Cover', 'Data', got 'data'"):
        read_table(tmp_path / "t.xlsx", sheet="data")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_cells_that_mean_missing_values(suffix, tmp_path):
    table = pd.DataFrame(
        {"a": [1, -999, 3], "b": ["x", "none seen", "y"], "c": [1.5, 2.5, -999.0]}
    )
    path = tmp_path / f"t.{suffix}"
    table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path)
    found = read_table(path, na_values=["-999", "none seen"])
    np.testing.assert_array_equal(
        found.isna(), [[False] * 3, [True, True, False], [False, False, True]]
    )
    assert found["a"].dtype.kind == "f"


def test_numbers_with_cells_that_mean_missing_values(tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1,5;2\n<0,3;3\n2,5;4\n")
    assert read_table(tmp_path / "t.csv", na_values=["<0,3"])["a"].tolist()[::2] == [
        1.5,
        2.5,
    ]


def test_the_separator_line_of_spreadsheets_is_skipped(tmp_path):
    for encoding in ("cp1252", "utf-8-sig", "utf-16"):
        (tmp_path / "t.csv").write_bytes(
            "sep=;\r\nGröße;b\r\n1,5;2\r\n3,5;4\r\n".encode(encoding)
        )
        assert read_table(tmp_path / "t.csv").to_dict("list") == {
            "Größe": [1.5, 3.5],
            "b": [2, 4],
        }


def test_formulas_and_hidden_sheets(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / "table.xlsx"
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, 2], [3, "=A2+B2"]):
        book.active.append(row)
    book.save(path)
    with pytest.raises(ValueError, match="cell B3"):
        read_table(path)
    book.active.sheet_state = "hidden"
    other = book.create_sheet("seen")
    for row in (["c", "d"], [5, 6], [7, None]):
        other.append(row)
    book.save(path)
    table = read_table(path)
    assert table.columns.tolist() == ["c", "d"]
    assert table["c"].tolist() == [5, 7]


def test_decimal_type_of_parquet(tmp_path):
    cells = [Decimal("1.50"), None, Decimal("-2.25")]
    pd.DataFrame({"a": [1, 2, 3], "b": cells}).to_parquet(tmp_path / "table.parquet")
    np.testing.assert_array_equal(
        read_table(tmp_path / "table.parquet")["b"], [1.5, np.nan, -2.25]
    )


def test_row_names_of_other_formats(tmp_path):
    pytest.importorskip("openpyxl")
    pd.DataFrame({"id": ["007", "010"], "x": [1, 2]}).to_excel(
        tmp_path / "table.xlsx", index=False
    )
    assert list(read_table(tmp_path / "table.xlsx", index_col="id").index) == [
        "007",
        "010",
    ]
    pd.DataFrame({"x": [1, 2]}, index=pd.Index(["007", "010"], name="id")).to_parquet(
        tmp_path / "table.parquet"
    )
    assert list(read_table(tmp_path / "table.parquet", index_col="id").index) == [
        "007",
        "010",
    ]


@pytest.mark.parametrize(
    "options",
    [
        {"delimiter": ",,"},
        {"delimiter": 5},
        {"decimal": "x"},
        {"header": "yes"},
        {"header": 0},
        {"delimiter": ",", "decimal": ","},
    ],
)
def test_invalid_options(options, tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n1,2")
    with pytest.raises(ValueError, match=next(iter(options))):
        read_table(tmp_path / "table.csv", **options)


def test_long_lines(tmp_path):
    n = 15_000
    rows = [[f"column{j}" for j in range(n)], [f"{j}.123456789" for j in range(n)]]
    (tmp_path / "wide.csv").write_text("\n".join(",".join(row) for row in rows))
    assert read_table(tmp_path / "wide.csv").shape == (1, n)


def test_decompression_bomb(tmp_path):
    with gzip.open(tmp_path / "bomb.csv.gz", "wb") as file:
        file.write(b"a,b\n")
        for _ in range(200):
            file.write(b"0,0\n" * (1 << 18))
    with limited(), pytest.raises(ValueError, match="bomb.csv.gz"):
        read_table(tmp_path / "bomb.csv.gz")


def test_compressed_sheets_must_not_fill_the_memory(tmp_path):
    pytest.importorskip("openpyxl")
    with zipfile.ZipFile(
        tmp_path / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED, compresslevel=1
    ) as file:
        file.writestr("[Content_Types].xml", bytes(150 << 20))
    with pytest.raises(ValueError, match=r"bomb\.xlsx: .* are implausible"):
        read_table(tmp_path / "bomb.xlsx")


def test_lines_are_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(dialect, "MAX_LINE_CHARACTERS", 100)
    (tmp_path / "line.csv").write_text("1," * 80)
    with pytest.raises(ValueError, match="a line has more than 100 characters"):
        read_table(tmp_path / "line.csv")


@pytest.mark.parametrize(
    ("cells", "values", "description"),
    [
        (["12%", "7.5 %", "100%"], [12, 7.5, 100], "without percent signs"),
        (
            ['"1,234"', '"12,345,678"', "999"],
            [1234, 12345678, 999],
            "thousands separators",
        ),
        (["1 234", "22 000.5", "3"], [1234, 22000.5, 3], "thousands separators"),
        (["$5", "$1000", "-$3"], [5, 1000, -3], "without $"),
        (["5 €", "6 €", "7 €"], [5, 6, 7], "without €"),
        (["€ 5", "€ -6", "€-7.5"], [5, -6, -7.5], "without €"),
        (["1", "?", "2.5"], [1, np.nan, 2.5], "'?' is a missing value"),
        (["−1", "2", "3"], [-1, 2, 3], "stored as text"),
    ],
)
def test_numbers_with_units_and_separators(tmp_path, cells, values, description):
    (tmp_path / "t.csv").write_text(
        "name,x\n" + "".join(f"n{i},{cell}\n" for i, cell in enumerate(cells))
    )
    table = read_table(tmp_path / "t.csv")
    np.testing.assert_array_equal(table["x"], values)
    (note,) = table.attrs["notes"]
    assert note.startswith("read 'x' as numbers: ")
    assert description in note


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
def test_ambiguous_cells_remain_text(tmp_path, cells):
    (tmp_path / "t.csv").write_text(
        "x;y\n" + "".join(f"{cell};1.5\n" for cell in cells)
    )
    table = read_table(tmp_path / "t.csv", delimiter=";", decimal=".")
    assert table["x"].tolist() == cells
    assert table.attrs["notes"] == []


def test_decimal_commas_and_points_for_thousands(tmp_path):
    (tmp_path / "t.csv").write_text("x;y\n1.234,5;1,5\n12,25;2,5\n")
    assert read_table(tmp_path / "t.csv").to_dict("list") == {
        "x": [1234.5, 12.25],
        "y": [1.5, 2.5],
    }


@pytest.mark.parametrize(
    ("encoding", "notes"),
    [
        ("utf-8", []),
        ("utf-8-sig", []),
        ("utf-16", ["the file is not UTF-8; it was read as UTF-16"]),
        ("cp1252", ["the file is not UTF-8; it was read as Windows-1252"]),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_encodings(tmp_path, encoding, notes, packed):
    text = "Größe;Stadt\n1,5;Köln\n2,5;Bonn\n".encode(encoding)
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(text) if packed else text)
    table = read_table(path)
    assert table.to_dict("list") == {"Größe": [1.5, 2.5], "Stadt": ["Köln", "Bonn"]}
    assert table.attrs["notes"] == notes


def test_spreadsheets(tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    table = pd.DataFrame(
        {"name": ["a", "b"], "x": [1.5, 2.5], "share": ["1,5 %", "2 %"]}
    )
    table.to_excel(tmp_path / "t.xlsx", index=False, startrow=2)
    for header in (None, True):
        assert read_table(tmp_path / "t.xlsx", header=header)["x"].tolist() == [
            1.5,
            2.5,
        ]
    table.to_excel(tmp_path / "t.xlsx", index=False)
    found = read_table(tmp_path / "t.xlsx", index_col="name")
    assert found.to_dict("index") == {
        "a": {"x": 1.5, "share": 1.5},
        "b": {"x": 2.5, "share": 2},
    }
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"t.xlsx needs openpyxl.*dempster\[excel\]"):
        read_table(tmp_path / "t.xlsx")


def test_unnamed_first_column_is_the_index(tmp_path):
    pd.DataFrame({"x": [1, 2]}, index=["a", "b"]).to_csv(tmp_path / "t.csv")
    table = read_table(tmp_path / "t.csv")
    assert table.index.tolist() == ["a", "b"]
    (note,) = table.attrs["notes"]
    assert "names of the rows" in note


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
def test_matrices_with_and_without_names(tmp_path, text):
    (tmp_path / "d.csv").write_text(text)
    found = read_dissimilarities(tmp_path / "d.csv")
    np.testing.assert_array_equal(found.to_numpy(), [[0, 1, 2], [1, 0, 3], [2, 3, 0]])
    if "a" in text:
        assert found.index.tolist() == ["a", "b", "c"]


def test_matrix_must_be_square(tmp_path):
    (tmp_path / "d.csv").write_text("0,1,2\n1,0,3\n")
    with pytest.raises(ValueError, match="got 2 rows and 3 columns"):
        read_dissimilarities(tmp_path / "d.csv")
    (tmp_path / "d.mtx").write_text("nonsense")
    with pytest.raises(ValueError, match="cannot read d.mtx"):
        read_dissimilarities(tmp_path / "d.mtx")


@pytest.mark.parametrize("ending", ["e", "E", "e+", "e-"])
def test_matrix_market_that_ends_within_a_number(ending, tmp_path):
    """SciPy reads beyond the end of such a file."""
    path = tmp_path / "d.mtx"
    head = "%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n"
    path.write_text(f"{head}2 1 1.5e+00\n3 1 2.5e+00\n3 2 1.5{ending}")
    with pytest.raises(ValueError, match="d.mtx.* ends within a number"):
        read_dissimilarities(path)


@pytest.mark.parametrize("delimiter", [",", " "])
def test_columns_that_look_like_thousands(tmp_path, delimiter):
    path = tmp_path / "table.csv"
    lines = ["34 120", "45 180", "23 155"]
    path.write_text("\n".join(["age weight", *lines]).replace(" ", delimiter))
    assert read_table(path).to_numpy().tolist() == [[34, 120], [45, 180], [23, 155]]
    path.write_text("\n".join(lines).replace(" ", delimiter))
    with pytest.raises(ValueError, match="23.155 can be read as .* .delimiter="):
        read_table(path)


# Text of a matrix, and its values.
WRITTEN_MATRICES = {
    "percent": ("0%,5%\n5%,0%", [[0, 5], [5, 0]]),
    "lower half": ("0,,\n1,0,\n2,3,0", [[0, 1, 2], [1, 0, 3], [2, 3, 0]]),
    "upper half, named": (",a,b\na,0,1.5\nb,,0", [[0, 1.5], [1.5, 0]]),
    "a cell missing": ("0,1,\n1,0,3\n2,3,0", [[0, 1, np.nan], [1, 0, 3], [2, 3, 0]]),
}
_THREE = [[0, 1.5, 2], [1.5, 0, 3], [2, 3, 0]]
WRITTEN_MATRICES["lower triangle of PHYLIP"] = (
    "    3\na\nb   1.5\nc   2.0 3.0\n",
    _THREE,
)


def test_list_of_pairs_is_rejected(tmp_path):
    (tmp_path / "pairs.csv").write_text(
        "i,j,d\na,b,1\na,c,2\na,d,5\nb,c,3\nb,d,4\nc,d,6\n"
    )
    with pytest.raises(ValueError, match="pairs.csv .* square matrix"):
        read_dissimilarities(tmp_path / "pairs.csv")


@pytest.mark.parametrize("which", WRITTEN_MATRICES)
def test_triangles_and_halves(which, tmp_path):
    text, expected = WRITTEN_MATRICES[which]
    (tmp_path / "matrix.csv").write_text(text)
    np.testing.assert_array_equal(
        read_dissimilarities(tmp_path / "matrix.csv"), expected
    )


# A matrix with d(a, b) = 1, d(a, c) = 5 and d(b, c) = 4, and the names of the objects or the error.
MATRICES = {
    "permuted columns": (",c,b,a\na,5,1,0\nb,4,0,1\nc,0,4,5", ["a", "b", "c"]),
    "other names of columns": (",V1,V2,V3\na,0,1,5\nb,1,0,4\nc,5,4,0", ["a", "b", "c"]),
    "names with zeros": (
        "name,01,02,03\n01,0,1,5\n02,1,0,4\n03,5,4,0",
        ["01", "02", "03"],
    ),
    "numbers as names of rows": ("7,0,1,5\n8,1,0,4\n9,5,4,0", [7, 8, 9]),
    "columns of other objects": (",a,b,d\na,0,1,5\nb,1,0,4\nc,5,4,0", "'c'"),
    "a name twice": (",a,a,c\na,0,1,5\na,1,0,4\nc,5,4,0", "square matrix"),
}


@pytest.mark.parametrize("which", MATRICES)
def test_names_of_matrices(which, tmp_path):
    text, expected = MATRICES[which]
    path = tmp_path / "matrix.csv"
    path.write_text(text)
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=rf"matrix.csv.*{expected}"):
            read_dissimilarities(path)
        return
    found = read_dissimilarities(path)
    assert list(found.index) == expected
    assert list(found.columns) == [str(name) for name in expected]
    assert found.to_numpy().tolist() == [[0, 1, 5], [1, 0, 4], [5, 4, 0]]


def write_matlab(path, **variables):
    from scipy.io import savemat
    from scipy.io.matlab import MatlabObject

    # an object of PRTools, which MATLAB saves like a structure with a class name
    if "dataset" in variables:
        data, classes = variables["dataset"]
        fields = np.empty(
            (1, 1), dtype=[("data", object), ("nlab", object), ("name", object)]
        )
        fields[0, 0] = (
            np.array(data, dtype=float),
            np.array(classes)[:, None],
            "towns",
        )
        variables = {"a": MatlabObject(fields, "prdataset")}
    savemat(path, variables)


@pytest.mark.parametrize(
    "variables",
    [
        {"D": _THREE},
        {"D": _THREE, "labels": [[1], [2], [2]]},
        {"d": _THREE, "unrelated": [[1, 2, 3, 4]]},
        {"dataset": (_THREE, [1, 2, 2])},
    ],
)
def test_matlab_files(variables, tmp_path):
    write_matlab(tmp_path / "d.mat", **variables)
    found = read_dissimilarities(tmp_path / "d.mat")
    np.testing.assert_array_equal(found, _THREE)
    if {"labels", "dataset"} & set(variables):
        expected = [1, 2, 2]
    else:
        expected = None
    classes = found.attrs.get("classes")
    assert (None if classes is None else classes.tolist()) == expected


def test_sparse_matlab_file(tmp_path):
    from scipy import sparse

    write_matlab(
        tmp_path / "d.mat", D=sparse.csc_matrix([[0, 1.5, 0], [1.5, 0, 3], [0, 3, 0]])
    )
    found = read_dissimilarities(tmp_path / "d.mat")
    assert sparse.issparse(found)
    assert found.nnz == 4


@pytest.mark.parametrize(
    ("variables", "message"),
    [({"x": [[1, 2]]}, "got none"), ({"a": _THREE, "b": _THREE}, "a, b")],
)
def test_matlab_file_needs_one_square_matrix(variables, message, tmp_path):
    write_matlab(tmp_path / "d.mat", **variables)
    with pytest.raises(ValueError, match=rf"d\.mat: .*one square matrix.*{message}"):
        read_dissimilarities(tmp_path / "d.mat")
    (tmp_path / "d.mat").write_text("nonsense")
    with pytest.raises(ValueError, match=r"cannot read d\.mat"):
        read_dissimilarities(tmp_path / "d.mat")


# ---- second header lines and sizes ---------------------------------------------------------------


def two_headers():
    rows = [("p1", 41, 13.5), ("p2", 66, 12.1), ("p3", 35, 15.0), ("p4", 58, 14.2)]
    return [("Patient", "", "blood"), ("name", "age", "Hb"), *rows]


@pytest.mark.parametrize("extension", [".csv", ".xlsx"])
def test_second_header_line_is_an_error(tmp_path, extension):
    path = tmp_path / f"people{extension}"
    table = pd.DataFrame(two_headers())
    if extension == ".csv":
        table.to_csv(path, index=False, header=False)
    else:
        pytest.importorskip("openpyxl")
        table.replace("", None).to_excel(path, index=False, header=False)
    with pytest.raises(ValueError, match="contains headings, too .'age', 'Hb'"):
        read_table(path)


@pytest.mark.parametrize(
    "lines",
    [
        # one column with a text in its first row, only text, and a numeric column
        ["name,x", "a,many", "b,2", "c,3", "d,4", "e,5"],
        ["name,color", "a,red", "b,blue", "c,red", "d,white", "e,red"],
        ["name,x,y,z", "a,b,c,1", "b,2,2,3", "c,3,1,5", "d,4,4,8", "e,5,3,0"],
    ],
)
def test_first_row_of_texts_is_no_header(tmp_path, lines):
    (tmp_path / "t.csv").write_text("\n".join(lines))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(read_table(tmp_path / "t.csv")) == 5


def test_far_cell_of_a_sheet(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["x", "y"], [1, 2], [3, 4]):
        book.active.append(row)
    book.save(tmp_path / "near.xlsx")
    book.active.cell(1_048_576, 16_384, 1)
    book.save(tmp_path / "far.xlsx")
    assert read_table(tmp_path / "near.xlsx").shape == (2, 2)
    with pytest.raises(ValueError, match=r"far\.xlsx: .* 16,384 columns would take"):
        read_table(tmp_path / "far.xlsx")


def test_limit_of_gzip_files_with_several_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(text, "_MAX_SAFE_BYTES", 1 << 16)
    line = b"1.5,2.5\n"
    parts = [b"x,y\n" + line, line * 500_000, line]
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(b"".join(map(gzip.compress, parts)))
    with pytest.raises(ValueError, match=r"bomb\.csv\.gz: .* are implausible"):
        read_table(path)
    path.write_bytes(b"".join(map(gzip.compress, [parts[0], line, line])))
    assert len(read_table(path)) == 3


@pytest.mark.parametrize("extension", [".parquet", ".feather"])
def test_limit_of_columnar_files(tmp_path, monkeypatch, extension):
    pytest.importorskip("pyarrow")
    path = tmp_path / f"t{extension}"
    table = pd.DataFrame({"x": np.zeros(1000), "y": np.arange(1000)})
    (table.to_parquet if extension == ".parquet" else table.to_feather)(path)
    assert read_table(path).shape == (1000, 2)
    monkeypatch.setattr(_validation, "MAX_BYTES", 15_999)
    with pytest.raises(ValueError, match="the table would take"):
        read_table(path)


# ---- registry of formats -------------------------------------------------------------------------


def test_docstrings_name_all_formats():
    for suffix in tables.table_suffixes():
        assert f"``{suffix}``" in read_table.__doc__
        if suffix != ".xlsx":
            assert f"``{suffix}``" in read_dissimilarities.__doc__


def test_new_format_is_known_everywhere(tmp_path, monkeypatch):
    from dempster.apps.recipe.labels import is_file_name

    def read_bars(path, options):
        cells = [line.split("|") for line in path.read_text().splitlines()]
        return pd.DataFrame(cells[1:], columns=cells[0])

    monkeypatch.setitem(tables.TABLE_READERS, ".bar", read_bars)
    (tmp_path / "towns.BAR").write_text("name|country\nLille|F\nBern|CH\n")
    table = read_table(tmp_path / "towns.BAR", index_col="name")
    assert table["country"].to_dict() == {"Lille": "F", "Bern": "CH"}
    assert is_file_name("towns.bar")
    assert ".bar" in tables.table_suffixes()
    other = tmp_path / "towns.foo"
    other.touch()
    with pytest.raises(ValueError, match=r"must be one of .*\.bar, got \.foo"):
        read_table(other)


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".npy"])
def test_missing_values_of_typed_formats(tmp_path, suffix):
    path = tmp_path / f"table{suffix}"
    table = pd.DataFrame({"x1": [1.0, -9.0], "x2": [-9.0, 2.0]})
    if suffix == ".npy":
        np.save(path, table.to_numpy())
    elif suffix == ".feather":
        table.to_feather(path)
    else:
        table.to_parquet(path)
    read = read_table(path, na_values=["-9"])
    np.testing.assert_array_equal(read, [[1, np.nan], [np.nan, 2]])


def test_decimal_commas_that_may_separate_thousands_are_noted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b\nA;1,234\nB;2,500\n")
    table = read_table(path)
    assert table["b"].tolist() == [1.234, 2.5]
    [note] = table.attrs["notes"]
    assert note.startswith("read 1,234 as 1.234; if the comma separates thousands")
    assert read_table(path, decimal=",").attrs["notes"] == []
    [note] = read_table(path, decimal=".").attrs["notes"]
    assert "thousands separators" in note
    path.write_text("a;b\nA;1,234\nB;2,5\n")
    assert read_table(path).attrs["notes"] == []


def test_repeated_names_are_noted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b,a\n1,2,3\n4,5,6\n")
    table = read_table(path)
    assert list(table) == ["a", "b", "a.1"]
    note = "2 columns are named 'a'; the second one is now 'a.1'"
    assert table.attrs["notes"] == [note]
    path.write_text("a,a.1,b\n1,2,3\n4,5,6\n")
    assert read_table(path).attrs["notes"] == []
