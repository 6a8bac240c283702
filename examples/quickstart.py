"""
Cluster a table and read the result
===================================

Cluster the iris flowers, list certain and ambiguous flowers and outliers, and assign a new flower.
"""

from dempster.cluster import CredalClustering
from dempster.datasets import load_iris
from dempster.plot import CandidatesDisplay, CredalPartitionDisplay

iris = load_iris(as_frame=True)
model = CredalClustering(3, random_state=0).fit(iris.data)
partition = model.credal_partition_

# %%
# `summary` counts the certain objects of each cluster, the ambiguous objects by their sets of
# clusters, and the outliers.
print(partition.summary())

# %%
# Every flower has a mass function. Mass on the set {0,2} means that the flower is in cluster 0 or
# 2, and that the data do not show which.
ambiguous = partition.ambiguous[0]
print(
    f"\nflower {ambiguous}:",
    partition[int(ambiguous)].to_frame().round(3).to_dict("records")[0],
)
print(
    "belief and plausibility of each cluster:",
    partition.singleton_belief[ambiguous].round(2),
    partition.contour[ambiguous].round(2),
)

# %%
# `predict_mass` assigns new flowers, here the mean of all versicolor and virginica.
new = iris.data[50:].mean().to_frame().T
print("\nmasses of a new flower:")
print(model.predict_mass(new).to_frame().round(3).to_string(index=False))

# %%
# The irises in the plane of their first two principal components: three groups with filled hulls,
# and two-colored points between the two groups that touch.
display = CredalPartitionDisplay.from_estimator(model, iris.data)
display.figure_.savefig("quickstart.png", dpi=120, bbox_inches="tight")

# %%
# `CredalClustering` compared many partitions, and selected the one with the largest expected
# agreement with the true clusters.
#
# Small maps of the irises with the labels of some candidates, and the expected agreement of each.
display = CandidatesDisplay.from_estimator(model)
display.figure_.savefig("candidates.png", dpi=120, bbox_inches="tight")
print("wrote quickstart.png and candidates.png")
