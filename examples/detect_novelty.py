"""
Detect novel objects and anomalies
==================================

Detect objects that belong to no known cluster (anomalies) by their mass on the empty set.
"""

from sklearn.datasets import make_blobs

from dempster.cluster import NNEVCLUS
from dempster.plot import MassContourDisplay

# %%
# Four groups of objects; the network is trained on three of them.
centers = [(0, 0), (5, 0), (2.5, 4.3), (2.5, -6)]
X, group = make_blobs([80] * 4, centers=centers, cluster_std=0.8, random_state=0)
seen = group < 3

# %%
# A one-class SVM describes the region of the training data. Objects far outside (beyond the fence
# of a box plot of its scores) get mass on the empty set. The large tolerance makes this example
# fast.
model = NNEVCLUS(
    3, outlier_detector="one-class-svm", max_iter=100, tol=1e-2, random_state=0
).fit(X[seen])

# %%
# The model assigns all objects. Those of the fourth group were not in the training data.
partition = model.predict_mass(X)
outlier = partition.labels_with_outliers == -1
print("                       mass on the empty set   outliers")
for k in range(4):
    who = group == k
    name = f"group {k}{'' if k < 3 else ', not in training'}"
    print(
        f"{name:26}{partition.empty[who].mean():15.2f}{outlier[who].sum():13d} of {who.sum()}"
    )

# %%
# Nearly all mass of a novel object is on the empty set.
one = int((group == 3).argmax())
print("\none of the novel objects:")
print(partition[one].to_frame().round(2).to_string(index=False))

# %%
# Three groups of points, each inside the contour lines of its cluster. The fourth group at the
# bottom lies outside, in the region of the empty set.
display = MassContourDisplay.from_estimator(
    model, X, layout="together", title="three known groups and a novel one"
)
display.figure_.savefig("detect_novelty.png", dpi=120)
print("\nwrote detect_novelty.png")
