"""
Save and load models
====================

Save (serialize) a model, describe the file, and load it again; pass the partition to R.

A file of `dempster.persistence.save` contains numbers and text, but no executable code, unlike a
pickle. `load` restores the model exactly, and raises an error for other files.
"""

import pickle
from pathlib import Path

import numpy as np

from dempster.cluster import EVCLUS
from dempster.datasets import load_iris
from dempster.io import write_r
from dempster.persistence import describe, load, save

X = load_iris().data
model = EVCLUS(3, random_state=0).fit(X)

# %%
# Save the model. `describe` reads the header of a file without loading the model.
save(model, "iris.dempster")
info = describe("iris.dempster")
print(
    f"{info['kind']}, {info['bytes'] / 1000:.0f} kB, written by dempster {info['library']}"
)

# %%
# The loaded model gives the same masses for new objects.
again = load("iris.dempster")
same = np.array_equal(
    again.predict_mass(X[:5] + 0.1).masses, model.predict_mass(X[:5] + 0.1).masses
)
print("same masses for new objects:", same)

# %%
# A pickle can execute code when it is loaded, so that `load` does not accept it.
Path("model.pkl").write_bytes(pickle.dumps(model))
try:
    load("model.pkl")
except ValueError as error:
    print("error:", str(error).split(",")[0])

# %%
# In R, `clus <- readRDS("iris.rds")` gives a credpart object of the package evclust.
# `dempster.io.read_r` reads such a file (both need the extra `r`).
partition = model.credal_partition_
write_r(partition, "iris.rds")
print(partition.summary())

# %%
# The partition that was written for R: three groups of irises with filled hulls, and two-
# colored points between two of them.
partition.plot(X).figure_.savefig("models_in_files.png", dpi=120)
print("wrote iris.dempster, model.pkl, iris.rds and models_in_files.png")
