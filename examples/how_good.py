"""How good is a partition? Every measure in one table, beside what comes for nothing.

    python examples/how_good.py

Irises of three species, clustered without looking at the species. Silhouettes ask whether objects are near to the
clusters they are said to be in, resampling asks whether the clusters come back, and the species, here known, whether
the sets hold the truth. The same partition without its doubt, and the same doubt dealt out at random, show what of it
is worth something.
"""

import matplotlib.pyplot as plt

from dempster.cluster import EVCLUS
from dempster.datasets import load_iris
from dempster.explain import credal_silhouette, quality, set_scores, stability

iris = load_iris()
model = EVCLUS(3, random_state=0)
partition = model.fit(iris.data).credal_partition_

again = stability(model, iris.data, 20, random_state=0)
print("What comes back when four fifths of the flowers are drawn again:")
print(again)

silhouette = credal_silhouette(partition, iris.data)
print()
print(silhouette)

print("\nAnswers that are sets, against the species:")
print(set_scores(partition, iris.target))

print("\nAll of it, beside the labels alone and the same masses dealt out at random:")
print(quality(partition, iris.data, iris.target, stability=again, random_state=0))

figure = plt.figure(figsize=(15, 4.4), layout="constrained")
axes = figure.subplots(1, 3)
silhouette.plot(ax=axes[0], title="near to their clusters?")
again.plot(axes=axes[1:], title="do they come back?")
figure.savefig("how_good.png", dpi=120)
print("\nwrote how_good.png")
