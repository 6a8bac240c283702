"""
Measure the quality of a partition
==================================

Measure the quality of a partition, and compare it with trivial partitions.

Irises of three species are clustered without using the species. Silhouettes measure whether objects
are close to their clusters, resampling measures whether the clusters are stable, and the known
species measure whether the sets contain the truth. Two baselines show whether the doubt is
informative: the hard labels of the same partition, and the same masses assigned to objects at
random.
"""

import matplotlib.pyplot as plt

from dempster.cluster import EVCLUS
from dempster.datasets import load_iris
from dempster.explain import credal_silhouette, quality, set_scores, stability

iris = load_iris()
model = EVCLUS(3, random_state=0)
partition = model.fit(iris.data).credal_partition_

# %%
# Resampling shows whether the same clusters are found in parts of the data.
again = stability(model, iris.data, 20, random_state=0)
print("Stability under resampling of four fifths of the flowers:")
print(again)

# %%
# Silhouettes compare the distances of objects to their own cluster and to the next one.
silhouette = credal_silhouette(partition, iris.data)
print()
print(silhouette)

# %%
# If the species are known, `set_scores` measures whether the sets contain them.
print("\nSet-valued predictions compared with the species:")
print(set_scores(partition, iris.target))

# %%
# `quality` computes all measures, also for the hard labels of the partition and for masses assigned
# at random. The doubt is informative if the partition is better than both.
print("\nAll measures, beside the hard labels and randomly assigned masses:")
print(quality(partition, iris.data, iris.target, stability=again, random_state=0))

# %%
# Three panels: the silhouettes of the flowers by cluster, the agreement of clusters between
# resamples, and the stability of each flower.
figure = plt.figure(figsize=(15, 4.4), layout="constrained")
axes = figure.subplots(1, 3)
silhouette.plot(ax=axes[0], title="silhouettes")
again.plot(axes=axes[1:], title="stability")
figure.savefig("measure_quality.png", dpi=120)
print("\nwrote measure_quality.png")
