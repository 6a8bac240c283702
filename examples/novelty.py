"""A network that recognises what it has never seen: mass on the empty set.

python examples/novelty.py
"""

from sklearn.datasets import make_blobs

from dempster.cluster import NNEVCLUS
from dempster.plot import MassContourDisplay

# Four groups of objects; the network meets three of them.
centers = [(0, 0), (5, 0), (2.5, 4.3), (2.5, -6)]
X, group = make_blobs([80] * 4, centers=centers, cluster_std=0.8, random_state=0)
seen = group < 3

# A one-class SVM learns where the data are. Far outside, by the fence of a box plot of its values, the mass goes to the
# empty set. The tolerance is loose to have a picture soon.
model = NNEVCLUS(3, outlier_detector="one-class-svm", max_iter=100, tol=1e-2, random_state=0).fit(X[seen])

partition = model.predict_mass(X)
outlier = partition.labels_with_outliers == -1
print("                 mass on the empty set   called outliers")
for k in range(4):
    who = group == k
    name = f"group {k}{'' if k < 3 else ', never seen'}"
    print(f"{name:20}{partition.empty[who].mean():15.2f}{outlier[who].sum():13d} of {who.sum()}")

one = int((group == 3).argmax())
print("\none of the objects never seen:")
print(partition[one].to_frame().round(2).to_string(index=False))

display = MassContourDisplay.from_estimator(model, X, layout="together", title="three groups, and one never seen")
display.figure_.savefig("novelty.png", dpi=120)
print("\nwrote novelty.png")
