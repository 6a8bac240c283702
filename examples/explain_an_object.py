"""
Why is this object ambiguous?
=============================

Explain why an object is ambiguous, and what would make it certain.
"""

import numpy as np

from dempster.cluster import EVCLUS
from dempster.datasets import load_iris
from dempster.explain import doubt_scores, explain_object

# %%
# Three species of flowers, two of which overlap.
iris = load_iris()
model = EVCLUS(3, random_state=0).fit(iris.data)
names = [name.removesuffix(" (cm)") for name in iris.feature_names]

# %%
# Explain the flower with the largest doubt, as text and as a table.
doubt = doubt_scores(model.credal_partition_)
flower = int(np.where(doubt > 1, 0, doubt).argmax())
why = explain_object(model, iris.data, flower, feature_names=names)
print(why.to_text())
print()
print(why.to_frame().round(2).to_string())

# %%
# The contributions add up to the similarity of the flower to the members of each cluster.
print(
    f"\ncontributions add up: {np.allclose(why.contributions.sum(axis=0), why.explained)}"
)

# %%
# New objects can be explained as well.
new = explain_object(model, iris.data, [6.0, 2.9, 4.9, 1.7], feature_names=names)
print(f"\n{new.to_text()}")

# %%
# The partition alone is sufficient for an explanation without the model.
print(
    f"\n{explain_object(model.credal_partition_, iris.data, flower, feature_names=names).to_text()}"
)

# %%
# Bars of the contributions of the four measurements to the similarity of the flower to each of two
# clusters, beside the masses of the flower.
why.plot().figure_.savefig("explain_an_object.png", dpi=120)
print("\nwrote explain_an_object.png")
