"""Save, describe and load models.

A file of `dempster.persistence.save` contains numbers and text, but no executable code. `load` restores the model
exactly, and raises an error for other files.
"""

import pickle
import tempfile
from pathlib import Path

import numpy as np

from dempster.cluster import EVCLUS
from dempster.datasets import load_iris
from dempster.io import read_r, write_r
from dempster.persistence import describe, load, save

X = load_iris().data
model = EVCLUS(3, random_state=0).fit(X)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "iris.dempster"
    save(model, path)
    info = describe(path)
    print(f"{info['kind']}, {info['bytes'] / 1000:.0f} kB, written by dempster {info['library']}")

    again = load(path)
    same = np.array_equal(again.predict_mass(X[:5] + 0.1).masses, model.predict_mass(X[:5] + 0.1).masses)
    print("same masses for new objects:", same)

    (Path(folder) / "model.pkl").write_bytes(pickle.dumps(model))
    try:
        load(Path(folder) / "model.pkl")
    except ValueError as error:
        print("error:", str(error).split(",")[0].removeprefix(folder))

    # In R, clus <- readRDS("iris.rds") gives a credpart object of the package evclust.
    write_r(model.credal_partition_, Path(folder) / "iris.rds")
    print(read_r(Path(folder) / "iris.rds").summary())
