"""``dempster example``: write an example table."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dempster._text import join_words
from dempster.apps.cli.shared import (
    PATH,
    Command,
    Outputs,
    Screen,
    UserError,
    WrongUse,
    screen_options,
)

if TYPE_CHECKING:
    import pandas as pd

_TABLES = {
    "flowers.csv": "150 irises: four measurements and the species",
    "new-flowers.csv": "15 of these irises, without the species",
    "wines.csv": "178 wines: thirteen measurements and the grape variety",
}


@click.command(
    cls=Command, examples=("dempster example flowers.csv", "dempster example wines.csv")
)
@click.argument("files", type=PATH, nargs=-1, required=True)
@screen_options
def example(files: tuple[Path, ...], screen: Screen) -> None:
    """Write example tables to try the other commands: flowers.csv, new-flowers.csv or wines.csv.

    Existing files are not overwritten.
    """
    outputs = Outputs()
    for path in files:
        if path.name not in _TABLES:
            raise WrongUse(
                f"{path}: the example tables are {join_words(list(_TABLES))}"
            )
        if path.exists():
            raise UserError(f"{path} exists and is not overwritten")
        outputs.add(str(path), path, [path.suffix], "FILES")
    tables = {str(path): _load_table(path.name) for path in files}
    outputs.write(
        {name: partial(table.to_csv, index=False) for name, table in tables.items()}
    )
    for path in files:
        screen.print(f"{path.name}: {_TABLES[path.name]}")
    screen.finish(outputs)


def _load_table(name: str) -> pd.DataFrame:
    import numpy as np

    from dempster.datasets import load_iris, load_wine

    if name == "wines.csv":
        wines = load_wine(as_frame=True)
        table = wines.data.rename(
            columns=lambda column: column.removesuffix("_of_diluted_wines").replace(
                "_", " "
            )
        )
        table.insert(0, "wine", [f"wine {i + 1}" for i in range(len(table))])
        return table.assign(
            grape=np.array(["Barolo", "Grignolino", "Barbera"])[wines.target]
        )
    iris = load_iris(as_frame=True)
    table = iris.data.rename(columns=lambda column: column.removesuffix(" (cm)"))
    table.insert(0, "flower", [f"iris {i + 1}" for i in range(len(table))])
    if name == "new-flowers.csv":
        return table.iloc[::10]
    return table.assign(species=np.asarray(iris.target_names)[iris.target])
