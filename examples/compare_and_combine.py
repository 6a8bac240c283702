"""Two views of the same objects: compare what they say, combine them, and draw a map of the opinions.

python examples/compare_and_combine.py
"""

import numpy as np

from dempster.cluster import ECM
from dempster.datasets import make_fourclass
from dempster.partition import combine_partitions, consistency_index, pairwise_nonspecificity
from dempster.plot import PartitionMapDisplay

X, truth = make_fourclass(200, random_state=0)
first = ECM(2, random_state=0).fit(X[:, :1]).credal_partition_  # sees the first attribute only
second = ECM(2, random_state=0).fit(X[:, 1:]).credal_partition_  # sees the second
both = combine_partitions([first, second], "dempster", n_clusters=4, random_state=0)
everything = ECM(4, random_state=0).fit(X).credal_partition_

opinions = {"first attribute": first, "second attribute": second, "combined": both, "both attributes": everything}
print(f"{'':18}consistent with the truth   nonspecific")
for name, partition in opinions.items():
    print(f"{name:18}{consistency_index(partition, truth):25.2f}{pairwise_nonspecificity(partition):14.2f}")

display = PartitionMapDisplay.from_partitions({**opinions, "truth": np.asarray(truth)})
display.figure_.savefig("opinions.png", dpi=120, bbox_inches="tight")
print("wrote opinions.png")
