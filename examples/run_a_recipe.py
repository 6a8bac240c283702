"""Describe a run as a recipe: execute it, save it, convert it to a command or to code, and predict new rows.

python examples/run_a_recipe.py
"""

import tempfile
from pathlib import Path

import numpy as np

from dempster.apps.recipe import Recipe
from dempster.datasets import load_iris
from dempster.io import read_table
from dempster.persistence import load, save

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "flowers.csv"
    iris = load_iris(as_frame=True)
    table = iris.data.assign(species=np.asarray(iris.target_names)[iris.target])
    table.to_csv(file, index=False)

    recipe = Recipe(file, method="ecm", clusters=3, truth="species", parameters={"delta": 5})
    result = recipe.run(note=print)
    print(result.partition.summary(), "\n")

    print("As a command:", recipe.to_command().replace(folder, "."), sep="\n", end="\n\n")
    print("As Python code:", recipe.to_code().replace(folder, "."), sep="\n", end="\n\n")
    print("As a TOML file:", recipe.to_toml().replace(folder, "."), sep="\n")
    again = Recipe.from_toml(recipe.to_toml()).run()
    print("same masses:", np.array_equal(again.partition.masses, result.partition.masses))

    # The model stores the names of the columns and their scaling.
    save(result.model, Path(folder) / "flowers.dempster")
    model = load(Path(folder) / "flowers.dempster")
    print("labels of the first flowers:", model.predict_mass(read_table(file).head(3)).labels)
