"""Selection of columns and rows, and preparation of new rows."""

import numpy as np
import pandas as pd
import pytest

from dempster.apps.recipe import TableModel, choose_attributes
from dempster.apps.recipe.attributes import choose_recorded_attributes
from dempster.io import read_table
from dempster.persistence import load, save
from tests.apps.recipe.data import flowers


def messy(n=40):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": np.arange(100, 100 + n),
            "customer_id": rng.permutation(n) * 7,
            "size": rng.normal(size=n),
            "size again": 0.0,
            "constant": 3,
            "when": pd.date_range("2024-01-01", periods=n).astype(str),
            "note": [f"text {i}" for i in range(n)],
            "other": [f"word {i}" for i in range(n)],
            "kind": ["a", "b"] * (n // 2),
            "nothing": np.nan,
            "mostly": ["1.5"] * (n - 1) + ["much"],
            "flag": [True, False] * (n // 2),
        }
    ).assign(**{"size again": lambda t: t["size"]})


def test_informative_columns_are_selected():
    found = choose_attributes(messy())
    assert found.columns == ["size"]
    assert found.notes[0] == "the rows are named by the column note"
    for words in (
        "id (it numbers the rows and may be the index)",
        "customer_id (it identifies the rows and may be the index)",
        "size again (the same as 'size')",
        "when (dates)",
        "other (text, different in every row; it may be the index)",
        "kind (text, 2 different values)",
        "nothing (empty)",
        "mostly (1 cell of 40 not a number, such as 'much')",
        "flag (true or false)",
    ):
        assert words in found.notes[1]
    assert (
        found.notes[2]
        == "to use 'mostly', correct the cells that are not numbers, or delete "
        "them (na_values=['much'])"
    )
    assert found.notes[-1] == "left out constant columns: constant"


def test_notes_on_codes_and_text():
    values = np.arange(1.0, 9.0)
    table = pd.DataFrame(
        {"a": np.append(values, values.sum()), "b": [5, 4, 3, -999, 4, 2, 1, 4, 5]}
    )
    notes = choose_attributes(table).notes
    assert notes == [
        "-999 in 'b' may mean missing values; if so, delete these cells (na_values=['-999'])",
    ]
    quiet = pd.DataFrame(
        {"a": values, "b": [-99, -5, 3, 2, 8, 1, 4, 5], "c": [0, 0, 0, 0, 0, 0, 1, 1]}
    )
    assert choose_attributes(quiet).notes == []
    text = table.assign(c=list("xyxyxyxyx"), d=list("xxyyxxyyx"), e=list("yyxxxyyyy"))
    assert "categories=['all']" in choose_attributes(text).notes[1]


def test_named_columns_are_selected():
    assert choose_attributes(messy(), columns=["id", "flag"]).columns == ["id", "flag"]
    with pytest.raises(ValueError, match="columns: column 'kind' is not numeric"):
        choose_attributes(messy(), columns=["kind"])
    with pytest.raises(ValueError, match="exclude: the table has no column 'x'"):
        choose_attributes(messy(), exclude=["x"])


def test_categories_are_added_and_numbers_keep_their_units():
    found = choose_attributes(messy(), categories=["kind"])
    assert found.columns == ["size", "constant", "kind"]
    assert not found.is_scaled
    np.testing.assert_array_equal(found.values["size"], messy()["size"])
    every = choose_attributes(messy(), categories=["all"])
    assert every.preparation.categories == ["kind", "mostly", "flag"]


def test_missing_values():
    table = flowers()
    table.loc[3, "depth"] = np.nan
    table.loc[5, ["length, cm", "width", "depth"]] = np.nan
    with pytest.raises(
        ValueError,
        match="2 rows of 60 with missing values .*missing='drop'.*missing='partial'",
    ):
        choose_attributes(table)
    dropped = choose_attributes(table, missing="drop")
    assert len(dropped.values) == 58
    assert dropped.rows.tolist() == [i for i in range(60) if i not in (3, 5)]
    kept = choose_attributes(table, missing="partial")
    assert len(kept.values) == 59
    assert "1 row of 60 without any value" in kept.row_notes[0]
    assert "1 row of 59 compared by the values that are present" in kept.row_notes[1]
    np.testing.assert_allclose(kept.values.mean(), 0, atol=1e-12)
    np.testing.assert_allclose(kept.values.std(ddof=0), 1)
    assert kept.values.isna().sum().sum() == 1


def test_new_rows_are_prepared_like_the_training_rows():
    table = flowers()
    found = choose_attributes(table)
    again = found.preparation.transform(table[table.columns[::-1]].iloc[::-1])
    pd.testing.assert_frame_equal(again.iloc[::-1], found.values)
    with pytest.raises(ValueError, match="the table has no column 'depth'"):
        found.preparation.transform(table.drop(columns="depth"))


def test_different_texts_name_the_rows():
    table = flowers()
    names = table["name"].tolist()
    found = choose_attributes(table)
    assert found.notes[0] == "the rows are named by the column name"
    assert found.values.index.tolist() == found.source.index.tolist() == names
    assert found.values.index.name == found.preparation.index_col == "name"
    assert "name" not in found.source
    [other] = choose_attributes(table.assign(code=table["name"].str.upper())).notes[1:2]
    assert "code" in other
    assert choose_attributes(table, index_col="color").values.index.name == "color"
    with pytest.raises(ValueError, match="index_col: the table has no column 'x'"):
        choose_attributes(table, index_col="x")


@pytest.mark.parametrize(
    "change",
    [
        lambda t: (t, {"index_col": False}),
        lambda t: (t, {"exclude": ["name"]}),
        lambda t: (t, {"columns": ["depth", "name"], "categories": ["name"]}),
        lambda t: (t.assign(name=t["color"]), {}),
        lambda t: (t.assign(name=t["name"].where(t.index > 0)), {}),
        lambda t: (t.assign(name=[f"{i} %" for i in range(60)]), {}),
        lambda t: (t.assign(name=t["name"].map(lambda name: 21 * name)), {}),
        lambda t: (t.assign(name=pd.date_range("2025", periods=60).astype(str)), {}),
        lambda t: (t.iloc[::-1], {}),
    ],
    ids=str.split("switched-off excluded used repeated missing units long dates index"),
)
def test_other_columns_do_not_name_the_rows(change):
    table, options = change(flowers())
    found = choose_attributes(table, **options)
    assert found.values.index.tolist() == table.index.tolist()
    assert found.preparation.index_col is None


def test_save_and_load_a_model(tmp_path):
    from dempster.cluster import ECM

    table = flowers()
    found = choose_attributes(table)
    model = TableModel(
        ECM(3, random_state=0).fit(found.values), found.preparation, "files = ['x']"
    )
    save(model, tmp_path / "m.dempster")
    again = load(tmp_path / "m.dempster", kind=TableModel)
    assert again.recipe == model.recipe
    np.testing.assert_array_equal(
        again.predict_mass(table).masses, model.estimator.credal_partition_.masses
    )


# ---- identifiers, codes, identical rows ----------------------------------------------------------


def customers(n=300):
    rng = np.random.default_rng(2)
    table = pd.DataFrame(
        {
            "customerId": rng.permutation(n) + 10_000,
            "age": rng.integers(18, 90, n),
            "income": rng.lognormal(10.5, 0.4, n).round().astype(int),
            "zip": rng.integers(10_000, 99_999, n),
            "rank": rng.permutation(n) + 1,
            "year": rng.integers(2007, 2010, n),
            "since": pd.date_range("2024-01-01", periods=n).astype(str),
        }
    )
    return pd.concat([table, table.iloc[:7]], ignore_index=True)


def test_identifiers_are_left_out():
    found = choose_attributes(customers())
    assert found.columns == ["age", "income", "year"]
    assert "customerId (an identifier or a code: 98% of" in found.notes[0]
    assert "zip (an identifier or a code" in found.notes[0]
    assert "rank (nearly every integer from 1 to 300 occurs once" in found.notes[0]
    assert found.notes[1].startswith("to use 'since', replace the dates by numbers")
    assert found.notes[2].startswith("'year' may contain codes, identifiers or years")
    assert "(exclude=['year'])" in found.notes[2]
    assert found.notes[3] == "7 rows of 307 equal an earlier row in all columns"
    named = choose_attributes(customers(), columns=["zip", "age"])
    assert named.columns == ["zip", "age"]
    assert len(named.notes) == 1


def test_named_rows_are_no_copies():
    table = pd.DataFrame({"a": [1.5, 2, 2, 4]}, index=list("wxyz"))
    assert choose_attributes(table).notes == []
    [note] = choose_attributes(table.reset_index(drop=True)).notes
    assert note == "1 row of 4 equals an earlier row in all columns"


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ([*range(20, 80), 999, 999], "999"),
        ([*range(20, 80), -1, -1], "-1"),
        ([*range(20, 80), 0, -90, -90], "-90"),
        ([*range(20, 80), 138, 138], "138"),
        ([*range(20, 80), -99], "-99"),
        ([*range(20, 80), 999], None),  # once
        ([*range(20, 80), 137, 137], None),  # not isolated
        ([*range(10), 999, 999], "999"),
        ([*range(9), 999, 999], None),  # few values
        ([*range(20, 80), -1], None),
        ([*np.linspace(-5, 30, 60), -999, -999], "-999"),  # beside decimals
        ([*np.linspace(-5, 30, 60), -999.5, -999.5], None),  # not an integer
    ],
)
def test_codes_of_missing_values(values, code):
    table = pd.DataFrame({"age": values, "x": np.sin(np.arange(len(values)))})
    notes = [n for n in choose_attributes(table).notes if "missing values" in n]
    if code is None:
        assert notes == []
    else:
        assert notes[0].startswith(f"{code} in 'age' may mean missing values")


# ---- numbers in text -----------------------------------------------------------------------------


def amounts():
    return pd.DataFrame(
        {
            "price": ["€470.55", "€1,200.00", "€3.10", "€8.00"],
            "share": ["45%", "3.5%", "7%", "?"],
            "weight": [1.0, 2.0, 4.0, 9.0],
            "plot": ["01234", "10000", "00999", "20000"],  # codes
            "size": pd.Categorical(["1", "2", "1", "2"]),
        }
    )


def test_numbers_with_another_decimal_mark_are_no_dates():
    # The decimal mark of the table is a point because of the prices.
    table = amounts().assign(length=["1 234,5", "2 345,6", "3,5", "4,5"])
    [note] = [
        one
        for one in choose_attributes(table, missing="partial").notes
        if "length" in one
    ]
    assert "length (text that looks like numbers, such as '1 234,5')" in note


def test_text_is_read_as_numbers_like_in_a_file(tmp_path):
    table = amounts()
    found = choose_attributes(table, missing="partial")
    assert found.columns == ["price", "share", "weight"]
    assert found.table["price"].tolist() == [470.55, 1200, 3.1, 8]
    assert found.notes[1] == (
        "read 'share' as numbers: without percent signs, '?' is a missing value"
    )
    path = tmp_path / "table.tsv"
    table.drop(columns=["plot", "size"]).to_csv(path, sep="\t", index=False)
    pd.testing.assert_frame_equal(
        found.table, choose_attributes(read_table(path), missing="partial").table
    )
    assert table["price"].tolist() == amounts()["price"].tolist()
    again = found.preparation.transform(table.iloc[:2])
    pd.testing.assert_frame_equal(again, found.values.iloc[:2])


def test_named_text_columns():
    assert choose_attributes(amounts(), columns=["price"]).table["price"][0] == 470.55
    found = choose_attributes(amounts(), columns=["weight"], categories=["share"])
    assert found.preparation.categories == ["share"]
    assert found.table["share"].tolist() == amounts()["share"].tolist()
    unclear = pd.DataFrame({"a": ["1,234", "2,345"], "b": ["5%", "6%"]})
    assert choose_attributes(unclear).columns == ["b"]


def test_names_of_columns_that_are_not_text():
    """Models store names as text, so that new rows with the same names are prepared alike."""
    table = pd.DataFrame(np.random.default_rng(23).normal(size=(30, 3)))
    table[7] = [f"€{value:.2f}" for value in np.linspace(5, 80, 30)]
    found = choose_attributes(table, exclude=[1])
    assert list(found.values) == found.preparation.columns == ["0", "2", "7"]
    pd.testing.assert_frame_equal(found.preparation.transform(table), found.values)
    renamed = table.rename(columns=str)
    pd.testing.assert_frame_equal(found.preparation.transform(renamed), found.values)
    record = found.preparation.describe()
    again = choose_recorded_attributes(table, record)
    pd.testing.assert_frame_equal(again.values, found.values)


def test_names_that_are_equal_as_text():
    table = pd.DataFrame(np.eye(4), columns=["1", 1, 2, 3])
    with pytest.raises(ValueError, match="several columns named '1'"):
        choose_attributes(table)
