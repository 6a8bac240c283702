"""
Cluster data larger than memory
===============================

Cluster a folder of Parquet files block by block, without loading all rows into memory.

Needs pyarrow (the extra `parquet`); Dask arrays and DataFrames work in the same way.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from dempster.cluster import ECM
from dempster.io import read_partition
from dempster.plot import CredalPartitionDisplay

# %%
# Write a folder of files, such as a database exports.
folder = Path("measurements")
folder.mkdir(exist_ok=True)
centers = np.array([[0.0, 0.0], [5.0, 0.0], [2.0, 5.0]])
for k in range(5):
    rng = np.random.default_rng(k)
    rows = centers[rng.integers(3, size=20_000)] + rng.normal(size=(20_000, 2))
    pd.DataFrame(rows, columns=["length", "width"]).to_parquet(folder / f"{k}.parquet")

# %%
# Starts are compared on a sample; then every iteration is one pass over all files.
model = ECM(3, n_init=3, random_state=0).fit(folder)
print(
    f"{model.n_iter_} iterations over all files, centers:\n{model.cluster_centers_.round(2)}"
)

# %%
# Results with one row per object are lazy.
partition = model.credal_partition_
print(partition)
print(partition.summary())
print("first labels:", next(iter(partition.labels.blocks()))[:10])

# %%
# Write the masses of all objects to files, block by block.
paths = partition.to_parquet("masses")
print(
    f"wrote {len(paths)} files into masses/; the first contains {read_partition(paths[0])}"
)

# %%
# Plots need rows in memory: predict the rows of one file.
#
# 2,000 rows in the plane of length and width: three clusters with filled hulls, and two-colored
# points between them.
rows = pd.read_parquet(folder / "0.parquet")[:2000]
display = CredalPartitionDisplay.from_partition(model.predict_mass(rows), rows)
display.figure_.savefig("larger_than_memory.png", dpi=120)
print("wrote larger_than_memory.png")
