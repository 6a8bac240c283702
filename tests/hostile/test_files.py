"""Files: tables that can be read in two ways, names of every kind, archives made to fill the memory, the program."""

import gzip
import io
import os
import warnings
import zipfile
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from dempster import CredalPartition, FocalSets
from dempster.apps.cli import program
from dempster.apps.recipe import Recipe, read_image, read_labels
from dempster.constraints import Constraints, read_constraints, write_constraints
from dempster.io import read_dissimilarities, read_partition, read_r, read_table, write_partition, write_r
from dempster.persistence import describe, load, save
from tests.limits import limited, refused_or_sensible

# text of a table, and what it holds or the option that settles it
TABLES = {
    "decimal commas or names": ("a\n1,5\n2,25", "delimiter"),
    "missing word first": ("NA,1.5\n1,2\n3,4", {"x1": [None, 1, 3], "x2": [1.5, 2, 4]}),
    "thousands in tabs": ("a\tb\n1,234\t5\n2,345\t6", "decimal"),
    "decimals in tabs": ("a\tb\n1,5\t5\n2,25\t6", {"a": [1.5, 2.25], "b": [5, 6]}),
    "semicolon in a text column": ("a,b,c\n1,x;y,2\n2,x;z,3", {"a": [1, 2], "b": ["x;y", "x;z"], "c": [2, 3]}),
    "bar in a text column": ("a,b\n1,x|y\n2,x|z", {"a": [1, 2], "b": ["x|y", "x|z"]}),
    "tab in a text column": ("a,b\n1,x\ty\n2,x\tz", {"a": [1, 2], "b": ["x\ty", "x\tz"]}),
    "blanks and decimal commas": ("1,5 2,5\n3,5 4,5", {"x1": [1.5, 3.5], "x2": [2.5, 4.5]}),
    "semicolons and decimal commas": ("1,5;2,5\n3,5;4,5", {"x1": [1.5, 3.5], "x2": [2.5, 4.5]}),
    "names and a number first": ("rose,1.5\ntulip,2.5", "header"),
    "years as names": ("name,2019\nx,1\ny,2", "header"),
    "two delimiters everywhere": ("a,b;c\nx,y;z\nu,v;w", "delimiter"),
    "thousands or decimals": ("a;b\n1.234;12,5\n2.500;3,25", "decimal"),
    "points before commas": ("a;b\n1.234,5;1\n2.500,25;2", {"a": [1234.5, 2500.25], "b": [1, 2]}),
    "the same name but for a blank": ("a ,a\n1,2\n3,4", {"a": [1, 3], "a.1": [2, 4]}),
    "quoted between blanks": ('"1.5" "2"\n"2.5" "4"', {"x1": [1.5, 2.5], "x2": [2, 4]}),
    "prices first": ("$5,-$6\n$7,$8", {"x1": [5, 7], "x2": [-6, 8]}),
    "shares first": ("5 %|6 %\n7 %|8 %", {"x1": [5, 7], "x2": [6, 8]}),
    "thousands first": ("1,168.5;2\n376.5;3", {"x1": [1168.5, 376.5], "x2": [2, 3]}),
    "prices under names of two words": ("x y|b\n1,5 €|2 €\n2,5 €|3 €", {"x y": [1.5, 2.5], "b": [2, 3]}),
    "names and a price first": ("rose,$5\ntulip,$6", "header"),
    "one column of thousands": ("a\n198,465.5\n-163,958.7", {"a": [198465.5, -163958.7]}),
    "one column of thousands between blanks": ("a\n44 349.9\n15 869.7", "delimiter"),
    "one column of prices": ("a\n€7,24\n-€2,46", {"a": [7.24, -2.46]}),
    "a cell missing between blanks": ("a b c\n1 2 3\n4  6\n7 8 9", "between blanks"),
    "quoted decimal commas": ('"a","b"\n"-14,5","8"\n"2,5","9"', {"a": [-14.5, 2.5], "b": [8, 9]}),
    "quoted decimal commas in one column": ('"a"\n"3,5"\n"?"\n"1,250"', {"a": [3.5, None, 1.25]}),
    "quoted commas after points": (
        'a,b\n"1.135,77","3,597"\n"967,5","3,6"',
        {"a": [1135.77, 967.5], "b": [3.597, 3.6]},
    ),
    "quoted powers of ten": ('"a"\n"9,177e-01"\n"1,25e+00"', {"a": [0.9177, 1.25]}),
    "quoted thousands": ('a,b\n"3,500",1\n"1,250",2', {"a": [3500, 1250]}),
    "quoted commas beside points": ('a,b\n"3,5",1.5\n"4,5",2', {"a": ["3,5", "4,5"], "b": [1.5, 2]}),
    "prices without a name": ("19,99\n4,99\n24,50", "decimal"),
    "zeros without a name": ("862000,0\n-288,0\n69,0", "decimal"),
    "powers of ten without a name": ("-5,52E+01\n1,50E+00", "decimal"),
    "points in large numbers only": ("a;b\n1.234;1\n999;2\n2.345;3", "decimal"),
    "commas in large numbers only": ("a;b\n1,234;1\n999;2\n2,345;3", "decimal"),
    "names of rows and a delimiter at the end": ("a;b;\nr1;3;4;\nr2;5;6;", {"a": [3, 5], "b": [4, 6]}),
    "names of rows, and a delimiter at the end below": (
        "a,b\nr1,1,x,\nr2,3,y,",
        {"a": [1, 3], "b": ["x", "y"]},
    ),
    "carriage returns, an empty line and a corner": ("\r,a,b\rr1,1,2\r\rr2,3,4\r", {"a": [1, 3], "b": [2, 4]}),
    "a cell more, and no names of rows": ("Temp. °C\na;b\na;b\na;c", "delimiter"),
    "names of rows under a name with blanks": ("t [s]\nr1; 2.5\nr2; 3.5", {"t [s]": [2.5, 3.5]}),
    "blanks behind words": ("a , b\nu , 1\nu, 2\nv ,3", {"a": ["u", "u", "v"], "b": [1, 2, 3]}),
    "zeros and three decimals": ("a;b\n0;458.211\n548.731;0\n12.500;1.250", {"a": [0, 548.731, 12.5]}),
    "two whole numbers or a fraction": ("1,5\n", "decimal"),
    "categories without names": ("p,x,s\ne,x,s\np,f,y\ne,x,s", "header"),
    "names of rows between blanks, decimal commas": ("y  prix\nr1  2020-01-03  354,0\nr2  2020-01-03  -1,5", "' '"),
    "names of rows or commas": ("a\nr1 10,93\nr2 11,5", "delimiter=' '"),
    "units that occur again": ("a\n3 kg\n3 kg", {"a": ["3 kg", "3 kg"]}),
    "words under a quoted name": ('"a b"\ndark green\nred wine', {"a b": ["dark green", "red wine"]}),
    "names of rows between tabs": ('"a b"\t"c"\nr1\t1\tx\nr2\t2\ty', {"a b": [1, 2], "c": ["x", "y"]}),
    "names of rows and empty cells between tabs": ("a\tc\nr1\t\t5.5\nr2\t\t6.5", {"a": [None, None], "c": [5.5, 6.5]}),
    "one line with a number sign": ("#1\n", {}),
    "remarks over blanks": ("% written by hand\n% x y\n1.5 2.5\n3.5 4.5", "between blanks"),
    "a title and empty cells": ("My data,,\n,,\na,b,c\n1,2,3\n4,5,6", "remarks"),
    "a drawn table": ("| a | b |\n|---|---|\n| 1 | 2 |", "drawn"),
    "a table of a database": (" a | b\n---+---\n 1 | 2\n(1 row)", "drawn"),
    "single quotation marks": ("'a','b'\n'1,5','x'\n'2,5','y'", "quotation marks"),
    "single quotation marks around names": ("'a'\t'b'\n1\t2\n3\t4", {"'a'": [1, 3], "'b'": [2, 4]}),
    "dashes for minus": ("a,b\n–1.5,1\n2.5,2", {"a": [-1.5, 2.5]}),
    "lines in quotation marks": ('"a,b,c"\n"1,2,3"\n"4,5,6"', "as a whole"),
    "names with blanks above columns between more": ("sample id   value\nA1          1.5\nA2          2.5", "blanks"),
    "names with blanks and prices": ("Temp. °C;b\n98.88 €;?\n-33.09 €;M", {"Temp. °C": [98.88, -33.09]}),
    "prices under a name of two words": ("t [s]\n22 €\n4 €", {"t [s]": [22, 4]}),
    "JSON": ('{"a":1,"b":2}\n{"a":3,"b":4}', "JSON"),
    "HTML": ("<html><body>\n<table>\n<tr><td>1</td></tr>", "HTML"),
    "names of rows as in R": ("x,y\nr1,1,2\nr2,3,4", {"x": [1, 3], "y": [2, 4]}),
    "quoted delimiters": ('a,b\n"1,5",2\n"2,5",3', {"b": [2, 3]}),
    "quoted line ends": ('a,b\n"x\ny",2\n"z",3', {"b": [2, 3]}),
    "one column": ("a\n1\n2", {"a": [1, 2]}),
    "one column of decimal commas": ("a\n1,5\nNA\n2,25", {"a": [1.5, None, 2.25]}),
    "one column, a comma below": ("a\n1\n2\n-3,25", {"a": [1, 2, -3.25]}),
    "one column of powers of ten": ("a\n1,5e-05\n,25\n3,0", "decimal"),
    "one column without a name": ("1,5\nNA\n2,25", "delimiter=',' or .* decimal=','"),
    "zeros behind commas without a name": ("1,05\n2,5", "decimal"),
    "whole numbers without names": ("1,5\n2,5", {"x1": [1, 2], "x2": [5, 5]}),
    "one column of two words": ("town\nNew York\nSan Jose", {"town": ["New York", "San Jose"]}),
    "a delimiter in the name alone": ("rate|x\n1\n2", "quotation marks"),
    "line ends between blanks": ('"a" "b"\n"x\ny" 2\n"z" 3', {"b": [2, 3]}),
    "words of programs for missing": ("a;b\n#NULL!;1,5\n3;#NV\n4;#DIV/0!", {"a": [None, 3, 4], "b": [1.5, None, None]}),
    "thousands between blanks of typographers": ("a;b\n1\u202f234,5 %;x\n12,5 %;y", {"a": [1234.5, 12.5]}),
    "two commas": ("a\tb\n1,234,567\tx\n234,567\ty", {"a": [1234567, 234567]}),
    "two points": ("a;b\n1.234.567;x\n2.345.678;y", {"a": [1234567, 2345678]}),
    "two points or one": ("a;b\n1.234.567;x\n345.678;y", "decimal"),
    "a comma in a name": (
        "a;b;last, first\n0,5;x;u\n1,5;y;v",
        {"a": [0.5, 1.5], "b": ["x", "y"], "last, first": ["u", "v"]},
    ),
    "one object between blanks": ('a "b c" d\n-1,5 1/2/20 2/2/20', {"a": [-1.5], "b c": ["1/2/20"]}),
    "one object between tabs": ("a b\tc\n5\t3 kg", {"a b": [5], "c": ["3 kg"]}),
    "a number sign in a name": ("#id|b\n|x\n2|y", {"#id": [None, 2], "b": ["x", "y"]}),
    "a title": ("My data\n\na,b,c\n1,2,3\n4,5,6", "remarks"),
    "a title over two columns": ("My data\na,b\n1,2\n4,5", "header=True"),
    "a title over numbers": ("My data\n1.5,2.5\n4,5", "remark"),
    "a remark over numbers": ("# 12 objects\n1,2.5\n4,5", "remark"),
    "a remark over blanks": ("# x y\n1 234\n5 678", "number sign"),
    "numbers of columns and rows as pandas writes them": (",0,1\n0,1.5,2\n1,3,4", {"0": [1.5, 3], "1": [2, 4]}),
    "years beside an empty corner": (",2019,2020\nA,1.5,2\nB,3,4", "header=True"),
    "an object that begins with an empty cell": (",1.5,2\n3,4,5", {"x1": [None, 3], "x2": [1.5, 4], "x3": [2, 5]}),
    "a remark": ("a,b\n1,2\n# as told; later\n3,4", "remarks"),
    "a rule": ("a,b\n1,2\n--------\n3,4", "remarks"),
    "a cell more in one line": ("a b c\n1 2 3\n1 2 3 4\n5 6 7", "line 3 has 4 cells"),
    "a quotation mark that opens": ('a,b\n1,2\n"3,4', "quotation mark"),
    "Windows line ends": ("a,b\r\n1,2\r\n3,4\r\n", {"a": [1, 3], "b": [2, 4]}),
    "byte order mark": ("\ufeffa,b\n1,2", {"a": [1], "b": [2]}),
    "a blank cell": ("a,b\n1,\n3,4", {"a": [1, 3], "b": [None, 4]}),
    "empty": ("", "empty"),
    "only blanks": ("\n \n", "empty"),
    "zero bytes": ("a,b\n\0,1", "not a text file"),
    "ragged": ("a,b\n1,2,3,4\n1", "cells|fields|read"),
    "a quotation mark that never ends": ('a,b\n"1,2\n3,4', ""),
}


@pytest.mark.parametrize("which", TABLES)
def test_tables_are_read_in_one_way_or_refused(which, tmp_path):
    text, expected = TABLES[which]
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode())
    if isinstance(expected, str):
        refused_or_sensible(lambda: read_table(path), lambda table: None if not expected else 1 / 0, expected)
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
        ("19,99\n4,99\n24,50", {"delimiter": ","}, {"x1": [19, 4, 24], "x2": [99, 99, 50]}),
        ("a;b\n1.234;1\n999;2\n2.345;3", {"decimal": ","}, {"a": [1234, 999, 2345], "b": [1, 2, 3]}),
        ('"a","b"\n"1,5","2,5"', {"decimal": ","}, {"a": [1.5], "b": [2.5]}),
        ('a,b\n"1,5",1.234\n"2,5",3.456', {"decimal": ","}, {"a": [1.5, 2.5], "b": [1234, 3456]}),
        ("a^b\n1^2\n3^4", {"delimiter": "^"}, {"a": [1, 3], "b": [2, 4]}),
        ("rose,1.5\ntulip,2.5", {"header": False}, {"x1": ["rose", "tulip"], "x2": [1.5, 2.5]}),
        ("name,2019\nx,1", {"header": True}, {"name": ["x"], "2019": [1]}),
    ],
)
def test_options_settle_it(text, options, expected, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(text)
    assert read_table(path, **options).to_dict("list") == expected


# cells of a column of text, and the one that is told of in a warning
TOLD = {
    "a unit under the name": (["kg", "1.5", "2.5", "3"], "kg"),
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


@pytest.mark.parametrize("which", TOLD)
def test_text_that_may_be_numbers_is_told(which, tmp_path):
    cells, told = TOLD[which]
    (tmp_path / "table.csv").write_text("a,b\n" + "".join(f"{cell},{i}\n" for i, cell in enumerate(cells)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_table(tmp_path / "table.csv")
    words = [str(warning.message) for warning in caught if warning.category is UserWarning]
    assert words == ([] if told is None else words)
    assert told is None or f"'a' (such as '{told}')" in words[0]


def test_the_program_tells_of_text_that_may_be_numbers(tmp_path):
    rows = "".join(f"CHF {i % 4}.50,{i % 3 * 5 + i * 0.1},{'u' if i % 2 else 'v'}\n" for i in range(20))
    (tmp_path / "table.csv").write_text("price,b,kind\n" + rows)
    result = run("cluster", tmp_path / "table.csv", "-c", "2", "--method", "ecm")
    assert "price (text that looks like numbers, such as 'CHF 0.50')" in result.output
    asked = ("--categories", "price,kind", "--method", "evclus")
    result = run("cluster", tmp_path / "table.csv", "-c", "2", *asked)
    assert "taken as categories: price (text that looks like numbers, such as 'CHF 0.50')" in result.output


def test_the_decimal_mark_comes_late(tmp_path):
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
    ],
)
def test_one_alphabet_is_not_taken_for_another(raw, name, tmp_path):
    (tmp_path / "table.csv").write_bytes(raw)
    if name is None:
        with pytest.raises(ValueError, match="UTF-8"):
            read_table(tmp_path / "table.csv")
    else:
        assert read_table(tmp_path / "table.csv").columns[0] == name


# rows of a sheet, and the columns that are read or the option that settles it
SHEETS = {
    "no names": ([[1.5, 2], [3, 4]], {"x1": [1.5, 3], "x2": [2, 4]}),
    "years as names": ([["a", 2019], [3, 4]], "header=True"),
    "numbers of columns and rows": ([[None, 0, 1], [0, 5.5, 6], [1, 7, 8]], {"0": [5.5, 7], "1": [6, 8]}),
    "empty rows before the names": ([[None, None], ["a", "b"], [1, 2]], {"a": [1], "b": [2]}),
    "a title": ([["My data", None], ["a", "b"], [1, 2]], "first row"),
    "a column called NA": ([["NA", "b"], [1, 2]], {"NA": [1], "b": [2]}),
    "a column of failures": ([["a", "b"], ["#DIV/0!", 1], ["#N/A", 2]], {"b": [1, 2]}),
    "decimals or thousands": ([["a", "b"], ["1,234", 1], ["2,345", 2]], "decimal"),
    "numbers among text": ([["a", "b"], [1.5, 1], ["2,5", 2], ["3", 4]], {"a": [1.5, 2.5, 3]}),
    "decimal commas": ([["a", "b"], ["1,5", 1], ["2,345", 2]], {"a": [1.5, 2.345]}),
}


@pytest.mark.parametrize("which", SHEETS)
def test_sheets_are_read_in_one_way_or_refused(which, tmp_path):
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


def test_sheets_that_are_not_what_they_seem(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    path = tmp_path / "table.xlsx"
    book = openpyxl.Workbook()
    for row in (["a", "b"], [1, 2], [3, "=A2+B2"]):
        book.active.append(row)
    book.save(path)
    with pytest.raises(ValueError, match="its cell B3 holds a formula, =A2.B2, without its value"):
        read_table(path)
    book.active.sheet_state = "hidden"
    other = book.create_sheet("seen")
    for row in (["c", "d"], [5, 6], [7, None]):
        other.append(row)
    book.save(path)
    table = read_table(path)
    assert table.columns.tolist() == ["c", "d"]
    assert table["c"].tolist() == [5, 7]


def test_decimals_of_databases_are_numbers(tmp_path):
    cells = [Decimal("1.50"), None, Decimal("-2.25")]
    pd.DataFrame({"a": [1, 2, 3], "b": cells}).to_parquet(tmp_path / "table.parquet")
    np.testing.assert_array_equal(read_table(tmp_path / "table.parquet")["b"], [1.5, np.nan, -2.25])


def test_names_of_rows_in_other_files(tmp_path):
    pytest.importorskip("openpyxl")
    pd.DataFrame({"id": ["007", "010"], "x": [1, 2]}).to_excel(tmp_path / "table.xlsx", index=False)
    assert list(read_table(tmp_path / "table.xlsx", index_col="id").index) == ["007", "010"]
    pd.DataFrame({"x": [1, 2]}, index=pd.Index(["007", "010"], name="id")).to_parquet(tmp_path / "table.parquet")
    assert list(read_table(tmp_path / "table.parquet", index_col="id").index) == ["007", "010"]


@pytest.mark.parametrize(
    "options",
    [{"delimiter": ",,"}, {"delimiter": 5}, {"decimal": "x"}, {"header": "yes"}, {"delimiter": ",", "decimal": ","}],
)
def test_options_are_checked(options, tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n1,2")
    with pytest.raises(ValueError, match=next(iter(options))):
        read_table(tmp_path / "table.csv", **options)


def test_lines_of_any_length(tmp_path):
    n = 15_000
    rows = [[f"column{j}" for j in range(n)], [f"{j}.123456789" for j in range(n)]]
    (tmp_path / "wide.csv").write_text("\n".join(",".join(row) for row in rows))
    assert read_table(tmp_path / "wide.csv").shape == (1, n)


def test_a_compressed_file_made_to_fill_the_memory(tmp_path):
    with gzip.open(tmp_path / "bomb.csv.gz", "wb") as file:
        file.write(b"a,b\n")
        for _ in range(200):
            file.write(b"0,0\n" * (1 << 18))
    with limited(), pytest.raises(ValueError, match="not a table"):
        read_table(tmp_path / "bomb.csv.gz")


NAMES = [
    ["a;b", "c;d"], ["a|b", "c|d"], ["a\tb", "c\td"], ["a\rb", "c\rd"], ["a\nb", "c"], ["a\r\nb", "c"],
    ["x" * 200_000, "y"],
    ["=1+1", "@x"], ["-5", "+3"], ["'quoted", "''=x"], ["\x1b[31m", "b"], ["", "b"], [" a", "b "], ['say "hi"', "b"],
    ["1", "2"], ["01", "2"], ["NA", "nan"], ["True", "None"], ["é", "日本"], ["{0}", "Ω"],
    ["a,b", "c"], ["\ufeffx", "y"],
    [1, 2], [-1, -2], [0.5, 1e-300], [3, 1],
]  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "npz"])
def test_partitions_come_back_whatever_their_names(kind, tmp_path):
    path = tmp_path / f"partition.{kind}"
    for names in NAMES:
        frames = [(0, 1)] if not isinstance(names[0], str) or len(names[0]) > 100 else [(0, 1), tuple(names)]
        frames += [("a\rb", "c")]
        for frame in frames:
            partition = CredalPartition([[0, 1, 0, 0], [0, 0.25, 0.25, 0.5]], FocalSets.full(2), names, frame=frame)
            write_partition(partition, path)
            again = read_partition(path)
            assert list(again.index) == names
            assert again.frame == frame
            np.testing.assert_array_equal(again.masses, partition.masses)


@pytest.mark.parametrize("kind", ["csv", "parquet", "rds"])
def test_names_that_no_file_can_hold(kind, tmp_path):
    partition = CredalPartition([[0, 1, 0, 0]], FocalSets.full(2), ["\ud800"])
    with pytest.raises(ValueError, match=rf"p.{kind}: a name holds a character that UTF-8 lacks, .ud800"):
        (write_r if kind == "rds" else write_partition)(partition, tmp_path / f"p.{kind}")
    assert list(tmp_path.iterdir()) == []


def test_clusters_that_r_could_not_tell_apart(tmp_path):
    with pytest.raises(ValueError, match="written alike"):
        write_r(CredalPartition([[0, 1, 0, 0]], FocalSets.full(2), frame=("0", 0)), tmp_path / "p.rds")


def test_no_cell_of_a_written_table_begins_like_a_formula(tmp_path):
    names = ["=1+1", "+1", "-x", "@y", "\tz"]
    masses = np.eye(2)[[0, 1, 0, 1, 0]]
    frame = ("=cmd", "@other")
    partition = CredalPartition(masses, FocalSets.simple(2, empty=False, omega=False), names, frame=frame)
    write_partition(partition, tmp_path / "partition.csv")
    for row in pd.read_csv(tmp_path / "partition.csv", dtype=str, header=None).to_numpy().ravel():
        assert str(row)[0] not in "=+-@\t\r"


def test_archives_are_not_unpacked_before_they_are_looked_at(tmp_path):
    partition = CredalPartition([[0, 1, 0, 0]], FocalSets.full(2))
    path = tmp_path / "partition.npz"
    write_partition(partition, path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("huge.npy", _npy(np.zeros(1)) + b"\0" * (50 << 20))  # is not needed, and not read
    assert read_partition(path).n_clusters == 2
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in (("membership", FocalSets.full(2).membership), ("frame", np.array(["0", "1"]))):
            archive.writestr(f"{name}.npy", _npy(array))
        archive.writestr("masses.npy", _npy(np.zeros((2, 7))))
    with limited(), pytest.raises(ValueError, match="masses .* do not go with sets"):
        read_partition(tmp_path / "bomb.npz")


OBJECTS = ["007", "NA", "=1+1", "1e5", "True", "x y"]


def test_objects_are_known_by_their_names_as_they_are_written(tmp_path):
    pairs = Constraints([(0, 1), (2, 3)], [(0, 4)], n_objects=6)
    write_constraints(pairs, tmp_path / "pairs.csv", OBJECTS)
    assert "\n=" not in (tmp_path / "pairs.csv").read_text()
    again = read_constraints(tmp_path / "pairs.csv", OBJECTS)
    assert again.must_link.tolist() == [[0, 1], [2, 3]]
    table = pd.DataFrame({"a": range(6)}, index=OBJECTS)
    (tmp_path / "labels.csv").write_text("name,kind\n007,u\nNA,v\n1e5,w\nTrue,w\n")
    found = read_labels(tmp_path / "labels.csv", table)
    assert found[["007", "NA", "1e5", "True"]].tolist() == ["u", "v", "w", "w"]
    assert found.isna().sum() == 2


@pytest.mark.parametrize("text", ["kind\nu\n\nv\nu\n", "\nkind\r\n1\r\n\r\n2\r\n1\r\n\r\n"])
def test_an_empty_line_among_labels_is_one_that_is_not_known(text, tmp_path):
    (tmp_path / "labels.csv").write_bytes(text.encode())
    found = read_labels(tmp_path / "labels.csv", pd.DataFrame({"a": range(4)}))
    assert found.isna().tolist() == [False, True, False, False]
    assert found[0] == found[3]


def test_pairs_between_blanks(tmp_path):
    (tmp_path / "pairs.csv").write_text(" r , s , same \n")
    assert read_constraints(tmp_path / "pairs.csv", ["r", "s"]).must_link.tolist() == [[0, 1]]


def test_names_of_columns_may_be_given_with_blanks_around_them(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(" n , a ,b\nr,1,2\ns,3,4\nt,5,9\n")
    assert read_table(path, columns=[" a "], index_col=" n ").to_dict() == {"a": {"r": 1, "s": 3, "t": 5}}
    found = Recipe(path, method="ecm", clusters=2, index=" n ").run()
    assert list(found.partition.index) == ["r", "s", "t"]


# text of a matrix, and what it holds
WRITTEN_MATRICES = {
    "percent": ("0%,5%\n5%,0%", [[0, 5], [5, 0]]),
    "lower half": ("0,,\n1,0,\n2,3,0", [[0, 1, 2], [1, 0, 3], [2, 3, 0]]),
    "upper half, named": (",a,b\na,0,1.5\nb,,0", [[0, 1.5], [1.5, 0]]),
    "a cell missing": ("0,1,\n1,0,3\n2,3,0", [[0, 1, np.nan], [1, 0, 3], [2, 3, 0]]),
}
_THREE = [[0, 1.5, 2], [1.5, 0, 3], [2, 3, 0]]
WRITTEN_MATRICES |= {
    "lower triangle": ("0\n1.5,0\n2,3,0", _THREE),
    "lower triangle without zeros": ("1.5\n2,3", _THREE),
    "upper triangle": ("0 1,5 2\n0 3\n0", _THREE),
    "upper triangle without zeros": ("a;b;c\n1,5;2\n3", _THREE),
    "lower triangle, rows named": ("a,0\nb,1.5,0\nc,2,3,0", _THREE),
    "upper triangle, all named": (",a,b,c\na,0,1.5,2\nb,0,3\nc,0", _THREE),
    "as R prints distances": ("    1   2\n2 1.5    \n3 2.0 3.0", _THREE),
    "as programs for phylogenies write them": ("3\na\nb 1.5\nc 2 3", _THREE),
}


def test_lists_of_pairs_are_no_matrices(tmp_path):
    (tmp_path / "pairs.csv").write_text("i,j,d\na,b,1\na,c,2\na,d,5\nb,c,3\nb,d,4\nc,d,6\n")
    with pytest.raises(ValueError, match=r"pairs.csv must hold a square matrix .* a list of pairs must be written as"):
        read_dissimilarities(tmp_path / "pairs.csv")


@pytest.mark.parametrize("text", ["1\n2,5\n3,6,7", "b,1\nc,2,3\nd,4,5,6"])
def test_triangles_that_do_not_tell_the_objects(text, tmp_path):
    (tmp_path / "matrix.csv").write_text(text)
    with pytest.raises(ValueError, match=r"matrix.csv: .*a triangle of a square matrix"):
        read_dissimilarities(tmp_path / "matrix.csv")


@pytest.mark.parametrize("which", WRITTEN_MATRICES)
def test_matrices_of_people(which, tmp_path):
    text, expected = WRITTEN_MATRICES[which]
    (tmp_path / "matrix.csv").write_text(text)
    np.testing.assert_array_equal(read_dissimilarities(tmp_path / "matrix.csv"), expected)


@pytest.mark.parametrize("header", ["", "object,other,answer\n"])
def test_pairs_and_labels_without_names_of_columns(header, tmp_path):
    for objects, pairs in ((OBJECTS, "007,NA,same\nTrue,x y,different\n"), (None, "0,1,1\n4,5,0\n")):
        (tmp_path / "pairs.csv").write_text(header + pairs)
        found = read_constraints(tmp_path / "pairs.csv", objects, n_objects=6)
        assert (found.must_link.tolist(), found.cannot_link.tolist()) == ([[0, 1]], [[4, 5]])
    table = pd.DataFrame({"a": range(3)}, index=["r", "s", "t"])
    for text in ("r,u\ns,v\nt,u\n", "u\nv\nu\n"):
        (tmp_path / "labels.csv").write_text(text)
        assert read_labels(tmp_path / "labels.csv", table).tolist() == ["u", "v", "u"]
    (tmp_path / "labels.csv").write_text("kind\nu\nv\n")
    with pytest.raises(ValueError, match="a label for each of the 3 rows, got 2"):
        read_labels(tmp_path / "labels.csv", table)


@pytest.mark.parametrize(("objects", "first"), [(["a", "b", "c"], "a,b"), (None, "0,1")])
@pytest.mark.parametrize("word", ["sane", ""])
def test_a_first_pair_is_not_taken_for_names_of_columns(objects, first, word, tmp_path):
    (tmp_path / "pairs.csv").write_text(f"{first},{word}\n{first},same\n")
    with pytest.raises(ValueError, match="the third column must say 'same' or 'different'"):
        read_constraints(tmp_path / "pairs.csv", objects)


def test_names_of_columns_may_say_same(tmp_path):
    (tmp_path / "pairs.csv").write_text("x,y,same\na,b,1\na,c,0\n")
    found = read_constraints(tmp_path / "pairs.csv", ["a", "b", "c"])
    assert (found.must_link.tolist(), found.cannot_link.tolist()) == ([[0, 1]], [[0, 2]])
    (tmp_path / "pairs.csv").write_text("x,y,same\na,b,same\na,c,different\n")
    with pytest.raises(ValueError, match="there is no object 'x'"):
        read_constraints(tmp_path / "pairs.csv", ["a", "b", "c"])


def test_names_that_do_not_tell_objects_apart(tmp_path):
    (tmp_path / "pairs.csv").write_text("object,other,answer\na,b,same\n")
    with pytest.raises(ValueError, match=r"pairs.csv: there are several objects called 'a'"):
        read_constraints(tmp_path / "pairs.csv", ["a", "b", "a"])
    (tmp_path / "labels.csv").write_text("name,kind\na,u\na,v\n")
    with pytest.raises(ValueError, match=r"labels.csv must name each row once, got 'a'"):
        read_labels(tmp_path / "labels.csv", pd.DataFrame({"x": [1, 2]}, index=["a", "b"]))


# a matrix of three objects in which a and b are 1 apart, a and c 5, b and c 4; and the names of the objects
MATRICES = {
    "permuted columns": (",c,b,a\na,5,1,0\nb,4,0,1\nc,0,4,5", ["a", "b", "c"]),
    "other names of columns": (",V1,V2,V3\na,0,1,5\nb,1,0,4\nc,5,4,0", ["a", "b", "c"]),
    "names with zeros": ("name,01,02,03\n01,0,1,5\n02,1,0,4\n03,5,4,0", ["01", "02", "03"]),
    "numbers as names of rows": ("7,0,1,5\n8,1,0,4\n9,5,4,0", [7, 8, 9]),
    "columns of other objects": (",a,b,d\na,0,1,5\nb,1,0,4\nc,5,4,0", "'c' is among one of the two only"),
    "a name twice": (",a,a,c\na,0,1,5\na,1,0,4\nc,5,4,0", "square matrix"),
}


@pytest.mark.parametrize("which", MATRICES)
def test_rows_and_columns_of_dissimilarities_are_the_same_objects(which, tmp_path):
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


PATHS = [None, 3, 0.5, b"x", True, ["a"], object(), int, "a\0b", "\ud800", "x" * 100_000]


@pytest.mark.parametrize("read", [load, describe, read_r, read_partition, read_table], ids=lambda f: f.__name__)
def test_paths_that_are_none(read):
    for path in PATHS:
        with pytest.raises((TypeError, ValueError), match="^path must"):
            read(path)


@pytest.mark.parametrize("write", [save, write_r, write_partition], ids=lambda f: f.__name__)
def test_paths_that_cannot_be_written(write):
    for path in PATHS:
        with pytest.raises((TypeError, ValueError), match="^path must"):
            write(CredalPartition([[0, 1, 0, 0]], FocalSets.full(2)), path)


def test_altered_files_of_r(tmp_path):
    path = tmp_path / "partition.rds"
    write_r(CredalPartition([[0, 1, 0, 0], [0, 0.5, 0.5, 0]], FocalSets.full(2), ["a", "b"]), path)
    raw, rng = gzip.decompress(path.read_bytes()), np.random.default_rng(0)
    for _ in range(200):
        data = bytearray(raw)
        for place in rng.integers(0, len(data), 3):
            data[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(gzip.compress(bytes(data), 1))
        refused_or_sensible(
            lambda: read_r(path).masses,
            lambda masses: np.testing.assert_allclose(masses.sum(axis=1), 1),
            "partition.rds",
        )


def _npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def test_codes_do_not_reach_the_terminal():
    partition = CredalPartition([[0, 1, 0, 0]], FocalSets.full(2), ["\x1b[31mred\x07"], frame=("\x1b]0;x\x07", "b"))
    for text in (repr(partition), str(partition.summary())):
        assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("text", [",x\n007,1\nNA,2\n1e5,3", "x\n007,1\nNA,2\n1e5,3"])
def test_names_of_rows_stay_as_they_are_written(text, tmp_path):
    (tmp_path / "table.csv").write_text(text)
    assert list(read_table(tmp_path / "table.csv").index) == ["007", "NA", "1e5"]


@pytest.mark.parametrize(
    "read", [load, describe, read_r, read_partition, read_table, read_dissimilarities, read_image, read_constraints]
)
def test_what_never_ends_is_not_opened(read, tmp_path):
    suffix = {"load": "dempster", "describe": "dempster", "read_r": "rds", "read_image": "npy"}.get(
        read.__name__, "csv"
    )
    for name, make in (("pipe", os.mkfifo), ("device", lambda path: os.symlink("/dev/zero", path))):
        path = tmp_path / f"{name}.{suffix}"
        make(path)
        with limited(), pytest.raises(OSError, match=f"not a regular file.*{name}"):
            read(path)


# ---- the program ----------------------------------------------------------------------------------------------------

ROWS = "\n".join(f"{i % 3 * 5 + i * 0.1},{i % 2 + i * 0.01}" for i in range(20))


def run(*arguments):
    return CliRunner().invoke(program, [str(a) for a in arguments], prog_name="dempster")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cluster", "."], "folder"),
        (["cluster", "missing.csv", "-c", "2"], "missing.csv"),
        (["cluster", "table.csv", "-c", "2", "--method", "ecm", "-p", "delta=1e200"], "delta"),
        (["cluster", "table.csv", "-c", "2", "-p", "nonsense=1"], "nonsense"),
        (["cluster", "table.csv", "-c", "0"], "-c|clusters"),
        (["cluster", "table.csv", "-c", "99"], "more than there are rows"),
        (["cluster", "table.csv", "-c", "2", "--output", "table.csv"], "overwrite"),
        (["cluster", "codes.csv", "-c", "2"], "dempster"),
        (["cluster", "table.csv", "-c", "2", "--labels", "labels.csv", "-o", "labels.csv"], "overwrite the input"),
        (["cluster", "table.csv", "-c", "2", "--truth", "labels.csv", "-o", "labels.csv"], "overwrite the input"),
        (["cluster", "table.csv", "-c", "2", "--constraints", "labels.csv", "-o", "labels.csv"], "overwrite the input"),
        (
            ["ask", "table.csv", "-c", "2", "--answers", "labels.csv", "--partition", "labels.csv"],
            "overwrite the input",
        ),
        (["classify", "table.csv", "--target", "labels.csv", "-o", "labels.csv"], "overwrite the input"),
        (["ask", "table.csv", "-c", "2", "--answers", "same.csv"], "two different objects"),
        (["ask", "table.csv", "-c", "2", "--partition", "taught.doc"], "--partition: the extension"),
        (["ask", "table.csv", "-c", "2", "--save-config", "run.doc"], "--save-config: the extension"),
        (["combine", "table.csv", "table.csv", "-o", "both.doc"], "--output: the extension"),
        (["cluster", "table.csv", "-c", "2", "--config", "deep.toml"], "--config deep.toml"),
        (["cluster", "table.csv", "-c", "2", "--config", "codes.bin"], "--config codes.bin"),
        (["cluster", "table.csv", "-c", "2", "--config", "pipe.toml"], "pipe.toml: is not a regular file"),
        (["cluster", "table.csv", "-c", "2", "--method", "ecm", "-p", "delta=" + "[" * 9000], "delta"),
        (["select", "table.csv", "--to", "1000000000"], "--to"),
        (["explain", "twins.csv", "table.csv", "--object", "a"], "2 objects called 'a'"),
        (["explain", "twins.csv", "other.csv", "--index", "name"], "no row 'a'"),
        (["explain", "partition.csv", "table.csv", "--object", "²"], "no object '²'"),
        (["compare", "twins.csv", "mirrored.csv"], "do not tell which is which"),
    ],
)
def test_the_program_says_what_is_wrong(arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table.csv").write_text("a,b\n" + ROWS)
    (tmp_path / "codes.csv").write_text("a\x1b[31m,b\nx,y\nz,u")
    (tmp_path / "codes.bin").write_bytes(b"\xff\x00")
    (tmp_path / "deep.toml").write_text("a = " + "[" * 9000)
    (tmp_path / "same.csv").write_text("object,other,answer\n1,1,different\n")
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "labels.csv").write_text("kind\n" + "x\n" * 20)
    names = ["a", "a", *map(str, range(18))]
    (tmp_path / "other.csv").write_text("name,a,b\n" + "\n".join(f"z{row},{row},{row * row}" for row in range(20)))
    masses, family = np.eye(4)[np.arange(20) % 2 + 1], FocalSets.full(2)
    write_partition(CredalPartition(masses, family), tmp_path / "partition.csv")
    write_partition(CredalPartition(masses, family, names), tmp_path / "twins.csv")
    write_partition(CredalPartition(masses, family, names[::-1]), tmp_path / "mirrored.csv")
    before = {path: path.stat().st_size for path in tmp_path.iterdir()}
    clusters = ("-c", "2") if arguments[0] == "cluster" and "-c" not in arguments else ()
    with limited():
        result = run(*arguments, *clusters)
    assert result.exit_code in (1, 2)
    assert "internal" not in result.output
    assert "\x1b" not in result.output
    assert any(word in result.output for word in words.split("|"))
    assert {path: path.stat().st_size for path in tmp_path.iterdir()} == before


def test_dollars_in_names_of_columns_are_dollars(tmp_path):
    (tmp_path / "prices.csv").write_text("price in $ and $$x^$,b$_\n" + ROWS)
    result = run("cluster", tmp_path / "prices.csv", "-c", "2", "--method", "ecm", "--plot", tmp_path / "picture.png")
    assert result.exit_code == 0, result.output


def test_the_demo_replaces_nothing(tmp_path):
    mine = tmp_path / "partition.csv"
    mine.write_text("mine")
    result = run("demo", "--output", tmp_path)
    assert result.exit_code == 1
    assert "exists already" in result.output
    assert mine.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [mine]


def test_no_table_of_the_program_holds_a_formula(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"=r{i},{i % 2 * 9 + i * 0.1},{i % 3},{'@b' if i % 2 else '+a'}" for i in range(20)]
    (tmp_path / "table.csv").write_text("\n".join(["name,a,b,kind", *rows]))
    assert run("ask", "table.csv", "-c", "2", "--index", "name").exit_code == 0
    answers = (tmp_path / "table.answers.csv").read_text().splitlines()
    (tmp_path / "table.answers.csv").write_text("\n".join([answers[0], *(line + "same" for line in answers[1:2])]))
    taught = run("ask", "table.csv", "-c", "2", "--index", "name", "--answers", "table.answers.csv")
    assert taught.exit_code == 0, taught.output
    decided = ("classify", "table.csv", "--index", "name", "--target", "kind", "--new", "table.csv", "-o", "d.csv")
    assert run(*decided).exit_code == 0
    for name in ("table.answers.csv", "d.csv"):
        cells = pd.read_csv(tmp_path / name, dtype=str, header=None).fillna("").to_numpy().ravel()
        assert not [cell for cell in cells if cell[:1] in "=+@" and cell]
