"""Measure the quality of a partition, and compare it with trivial partitions.

    python examples/measure_quality.py

Irises of three species are clustered without using the species. Silhouettes measure whether objects are close to their
clusters, resampling measures whether the clusters are stable, and the known species measure whether the sets contain
the truth. Two baselines show whether the doubt is informative: the hard labels of the same partition, and the same
masses assigned to objects at random.
"""

import matplotlib.pyplot as plt

from dempster.cluster import EVCLUS
from dempster.datasets import load_iris
from dempster.explain import credal_silhouette, quality, set_scores, stability

iris = load_iris()
model = EVCLUS(3, random_state=0)
partition = model.fit(iris.data).credal_partition_

again = stability(model, iris.data, 20, random_state=0)
print("Stability under resampling of four fifths of the flowers:")
print(again)

silhouette = credal_silhouette(partition, iris.data)
print()
print(silhouette)

print("\nSet-valued predictions compared with the species:")
print(set_scores(partition, iris.target))

print("\nAll measures, beside the hard labels and randomly assigned masses:")
print(quality(partition, iris.data, iris.target, stability=again, random_state=0))

figure = plt.figure(figsize=(15, 4.4), layout="constrained")
axes = figure.subplots(1, 3)
silhouette.plot(ax=axes[0], title="silhouettes")
again.plot(axes=axes[1:], title="stability")
figure.savefig("measure_quality.png", dpi=120)
print("\nwrote measure_quality.png")
