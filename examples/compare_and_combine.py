"""
Compare and combine partitions
==============================

Cluster the same objects by one attribute each, combine the partitions, and compare them with the truth.
"""

import numpy as np

from dempster.cluster import ECM
from dempster.datasets import make_fourclass
from dempster.partition import (
    combine_partitions,
    consistency_index,
    embed_partitions,
    pairwise_nonspecificity,
)
from dempster.plot import PartitionMapDisplay

X, truth = make_fourclass(200, random_state=0)
# Use only the first attribute.
first = ECM(2, random_state=0).fit(X[:, :1]).credal_partition_
second = ECM(2, random_state=0).fit(X[:, 1:]).credal_partition_  # uses only the second
both = combine_partitions([first, second], "dempster", n_clusters=4, random_state=0)
everything = ECM(4, random_state=0).fit(X).credal_partition_

# %%
# The combined partition is far more specific than the two that it combines, and about as consistent
# with the truth. The partition by both attributes is more consistent, and leaves more open.
partitions = {
    "first attribute": first,
    "second attribute": second,
    "combined": both,
    "both attributes": everything,
}
print(f"{'':18}consistency with the truth   nonspecificity")
for name, partition in partitions.items():
    print(
        f"{name:18}{consistency_index(partition, truth):26.2f}{pairwise_nonspecificity(partition):17.2f}"
    )

# %%
# Map with a point for each partition and for the truth. The combined partition is the closest to
# the truth; the partitions by one attribute are the farthest.
shown = {**partitions, "truth": np.asarray(truth)}
embedding = embed_partitions(list(shown.values()), list(shown))
display = PartitionMapDisplay.from_map(embedding)
display.figure_.savefig("partitions.png", dpi=120, bbox_inches="tight")
print("wrote partitions.png")
