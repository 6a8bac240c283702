"""Models in files: written, described, read, and what is refused.

A file of `dempster.persistence.save` holds numbers and text. Reading it runs nothing, gives back the same model to the
bit, and refuses what is not such a file.
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
    told = describe(path)
    print(f"{told['kind']}, {told['bytes'] / 1000:.0f} kB, written by dempster {told['library']}")

    again = load(path)
    same = np.array_equal(again.predict_mass(X[:5] + 0.1).masses, model.predict_mass(X[:5] + 0.1).masses)
    print("the same masses for new objects:", same)

    (Path(folder) / "model.pkl").write_bytes(pickle.dumps(model))
    try:
        load(Path(folder) / "model.pkl")
    except ValueError as error:
        print("refused:", str(error).split(",")[0].removeprefix(folder))

    # for R: clus <- readRDS("iris.rds") is a credpart of the package evclust
    write_r(model.credal_partition_, Path(folder) / "iris.rds")
    print(read_r(Path(folder) / "iris.rds").summary())
