"""One run described: run it, keep it in a file, tell it as a command and as code, use its model on new rows.

python examples/a_run_as_a_recipe.py
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
    outcome = recipe.run(note=print)
    print(outcome.partition.summary(), "\n")

    print("The same in a shell:", recipe.to_command().replace(folder, "."), sep="\n", end="\n\n")
    print("In Python:", recipe.to_code().replace(folder, "."), sep="\n", end="\n\n")
    print("In a file:", recipe.to_toml().replace(folder, "."), sep="\n")
    again = Recipe.from_toml(recipe.to_toml()).run()
    print("the same masses, bit for bit:", np.array_equal(again.partition.masses, outcome.partition.masses))

    # The model remembers which columns there were and how they were standardised.
    save(outcome.model, Path(folder) / "flowers.dempster")
    model = load(Path(folder) / "flowers.dempster")
    print("the first flowers again:", model.predict_mass(read_table(file).head(3)).labels)
