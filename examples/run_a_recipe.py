"""
Describe a whole run as a recipe
================================

Describe a run (table, method, parameters) as a recipe: execute it, save it, export it as a command or as code.
"""

import numpy as np

from dempster.apps.recipe import Recipe
from dempster.datasets import load_iris
from dempster.io import read_table
from dempster.persistence import load, save

# %%
# Write a table, as another program would.
iris = load_iris(as_frame=True)
table = iris.data.assign(species=np.asarray(iris.target_names)[iris.target])
table.to_csv("flowers.csv", index=False)

# %%
# A recipe names the file and the settings. `run` reads the table, selects and scales the numeric
# columns, and clusters.
recipe = Recipe(
    "flowers.csv", method="ecm", clusters=3, truth="species", parameters={"delta": 5}
)
result = recipe.run(note=print)
print(result.partition.summary())

# %%
# The same run as a command of the program `dempster`, as Python code, and as a TOML file.
print("As a command:", recipe.to_command(), sep="\n", end="\n\n")
print("As Python code:", recipe.to_code(), sep="\n", end="\n\n")
print("As a TOML file:", recipe.to_toml(), sep="\n")

# %%
# The TOML file gives the same masses.
again = Recipe.from_toml(recipe.to_toml()).run()
print("same masses:", np.array_equal(again.partition.masses, result.partition.masses))

# %%
# The model stores the names of the columns and their scaling, so that it accepts new rows of the
# table.
save(result.model, "flowers.dempster")
model = load("flowers.dempster")
print(
    "labels of the first flowers:",
    model.predict_mass(read_table("flowers.csv").head(3)).labels,
)

# %%
# The irises in the plane of their first two principal components, with filled hulls of three
# clusters and two-colored points between two of them.
result.partition.plot(iris.data).figure_.savefig("run_a_recipe.png", dpi=120)
print("wrote flowers.csv, flowers.dempster and run_a_recipe.png")
