"""From a table nobody prepared to what is clustered."""

import numpy as np
import pandas as pd
import pytest

from dempster.apps.recipe import TableModel, choose_attributes
from dempster.persistence import load, save
from tests.recipe.data import flowers


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


def test_what_tells_the_rows_apart_is_taken_and_the_rest_is_told():
    found = choose_attributes(messy())
    assert found.columns == ["size"]
    told = found.notes[0]
    for words in (
        "id (it numbers the rows)",
        "customer_id (it identifies the rows)",
        "size again (the same as 'size')",
        "when (dates)",
        "note (text, different in every row)",
        "kind (text, 2 different values)",
        "nothing (empty)",
        "mostly (1 cell of 40 not a number, such as '?')",
        "flag (true or false)",
    ):
        assert words in told
    assert found.notes[1] == "left out as constant: constant"


def test_what_is_asked_for_is_taken():
    assert choose_attributes(messy(), columns=["id", "flag"]).columns == ["id", "flag"]
    with pytest.raises(ValueError, match="columns: 'kind' is not a column of numbers"):
        choose_attributes(messy(), columns=["kind"])
    with pytest.raises(ValueError, match="exclude: there is no column 'x'; there are 'id'"):
        choose_attributes(messy(), exclude=["x"])


def test_categories_join_the_numbers_which_stay_in_their_units():
    found = choose_attributes(messy(), categories=["kind"])
    assert found.columns == ["size", "constant", "kind"]
    assert not found.is_scaled
    np.testing.assert_array_equal(found.values["size"], messy()["size"])
    every = choose_attributes(messy(), categories=["all"])
    assert every.preparation.categories == ["kind", "mostly", "flag"]


def test_missing_cells():
    table = flowers()
    table.loc[3, "depth"] = np.nan
    table.loc[5, ["length, cm", "width", "depth"]] = np.nan
    with pytest.raises(ValueError, match="2 rows of 60 with missing values .*missing='partial'.*missing='drop'"):
        choose_attributes(table)
    dropped = choose_attributes(table, missing="drop")
    assert len(dropped.values) == 58
    assert dropped.rows.tolist() == [i for i in range(60) if i not in (3, 5)]
    kept = choose_attributes(table, missing="partial")
    assert len(kept.values) == 59
    assert "1 row of 60 without any value" in kept.notes[1]
    assert "1 row of 59 compared by the values that are there" in kept.notes[2]


def test_new_rows_are_treated_as_those_of_the_training_run():
    table = flowers()
    found = choose_attributes(table)
    again = found.preparation.transform(table[table.columns[::-1]].iloc[::-1])
    pd.testing.assert_frame_equal(again.iloc[::-1], found.values)
    with pytest.raises(ValueError, match="the table lacks column 'depth', by which the model was made"):
        found.preparation.transform(table.drop(columns="depth"))


def test_a_model_comes_back_with_its_preparation(tmp_path):
    from dempster.cluster import ECM

    table = flowers()
    found = choose_attributes(table)
    model = TableModel(ECM(3, random_state=0).fit(found.values), found.preparation, "files = ['x']")
    save(model, tmp_path / "m.dempster")
    again = load(tmp_path / "m.dempster", kind=TableModel)
    assert again.recipe == model.recipe
    np.testing.assert_array_equal(again.predict_mass(table).masses, model.estimator.credal_partition_.masses)
