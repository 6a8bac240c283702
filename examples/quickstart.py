"""Quick start: cluster the iris data and inspect the result.

python examples/quickstart.py
"""

import matplotlib.pyplot as plt

from dempster.cluster import EVCLUS
from dempster.datasets import load_iris
from dempster.plot import CredalPartitionDisplay, ShepardDisplay

iris = load_iris(as_frame=True)
model = EVCLUS(3, random_state=0).fit(iris.data)
partition = model.credal_partition_

# Numbers of certain and ambiguous objects and of outliers.
print(partition.summary())

# One flower in detail: mass on {0,2} means that the flower is in cluster 0 or 2, but the data do not show which.
ambiguous = partition.ambiguous[0]
print(f"\nflower {ambiguous}:", partition[int(ambiguous)].to_frame().round(3).to_dict("records")[0])
print(
    "belief and plausibility of each cluster:",
    partition.singleton_belief[ambiguous].round(2),
    partition.contour[ambiguous].round(2),
)

# A new flower.
new = iris.data.iloc[[50, 100]].mean().to_frame().T
print("\nhalfway between two flowers of different species:")
print(model.predict_mass(new).to_frame().round(3).to_string(index=False))

figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5))
CredalPartitionDisplay.from_estimator(model, iris.data, ax=left)
ShepardDisplay.from_estimator(model, ax=right)
figure.savefig("quickstart.png", dpi=120, bbox_inches="tight")
print("\nwrote quickstart.png")
