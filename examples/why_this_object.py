"""Why is this object in doubt, and what would make it certain?

python examples/why_this_object.py
"""

import numpy as np

from dempster.cluster import EVCLUS
from dempster.datasets import load_iris
from dempster.explain import doubt_scores, explain_object

# Three species of flowers; two of them touch.
iris = load_iris()
model = EVCLUS(3, random_state=0).fit(iris.data)
names = [name.removesuffix(" (cm)") for name in iris.feature_names]

# The flower in most doubt, in a few sentences, and as a table.
doubt = doubt_scores(model.credal_partition_)
flower = int(np.where(doubt > 1, 0, doubt).argmax())
why = explain_object(model, iris.data, flower, feature_names=names)
print(why.to_text())
print()
print(why.to_frame().round(2).to_string())

# The bars add up to what the method compares: how alike the flower is with the members of each cluster.
print(f"\nadds up: {np.allclose(why.contributions.sum(axis=0), why.explained)}")

# A flower that nobody has measured yet.
new = explain_object(model, iris.data, [6.0, 2.9, 4.9, 1.7], feature_names=names)
print(f"\n{new.to_text()}")

# What is known without the model: the partition and the attributes.
print(f"\n{explain_object(model.credal_partition_, iris.data, flower, feature_names=names).to_text()}")

why.plot().figure_.savefig("why_this_object.png", dpi=120)
print("\nwrote why_this_object.png")
