"""Selection of columns and rows, and preparation of new rows."""

import numpy as np
import pandas as pd
import pytest

from dempster.apps.recipe import TableModel, choose_attributes
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
            "kind": ["a", "b"] * (n // 2),
            "nothing": np.nan,
            "mostly": ["1.5"] * (n - 1) + ["?"],
            "flag": [True, False] * (n // 2),
        }
    ).assign(**{"size again": lambda t: t["size"]})


def test_informative_columns_are_selected():
    found = choose_attributes(messy())
    assert found.columns == ["size"]
    for words in (
        "id (it numbers the rows and may be the index)",
        "customer_id (it identifies the rows and may be the index)",
        "size again (the same as 'size')",
        "when (dates)",
        "note (text, different in every row; it may be the index)",
        "kind (text, 2 different values)",
        "nothing (empty)",
        "mostly (1 cell of 40 not a number, such as '?')",
        "flag (true or false)",
    ):
        assert words in found.notes[0]
    assert (
        found.notes[1]
        == "to use 'mostly', correct the cells that are not numbers, or delete "
        "them (na_values=['?'])"
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
    assert "1 row of 60 without any value" in kept.notes[1]
    assert "1 row of 59 compared by the values that are present" in kept.notes[2]
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
