"""A table with missing cells: what is not known makes doubt, not clusters.

python examples/missing_values.py
"""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import ECM, EVCLUS
from dempster.explain import doubt_scores
from dempster.plot import CredalPartitionDisplay

# Flowers, a fifth of whose measurements got lost.
iris = load_iris(as_frame=True)
flowers, species = iris.data, iris.target
rng = np.random.default_rng(0)
table = flowers.mask(rng.random(flowers.shape) < 0.2)
table = table[table.notna().any(axis=1)]  # of a row without any value nothing can be said
species = species[table.index]
lost = table.isna().sum(axis=1)
print(f"{int(lost.sum())} of {table.size} cells are missing, in {int((lost > 0).sum())} of {len(table)} rows\n")

# By default missing values are refused, and the error says what can be done.
try:
    ECM(3).fit(table)
except ValueError as error:
    print(f"ECM(3).fit(table): {error}\n")

# missing="partial" compares objects by the attributes that they have.
model = ECM(3, missing="partial", random_state=0).fit(table)
complete = ECM(3, random_state=0).fit(flowers)
imputed = ECM(3, random_state=0).fit(SimpleImputer().fit_transform(table))
print("agreement with the species (adjusted Rand index)")
print(f"  nothing missing          {adjusted_rand_score(iris.target, complete.labels_):.2f}")
print(f"  missing='partial'        {adjusted_rand_score(species, model.labels_):.2f}")
print(f"  means in missing cells   {adjusted_rand_score(species, imputed.labels_):.2f}\n")

# The less is known of a flower, the more it is in doubt between clusters.
doubt = np.minimum(doubt_scores(model.credal_partition_), 1)
print("cells missing   flowers   mean doubt")
for k in range(4):
    who = np.asarray(lost == k)
    if who.any():
        print(f"{k:13}{who.sum():10}{doubt[who].mean():13.2f}")

# New objects may lack values, too: the same flower, as more and more of it becomes known.
flower = flowers.iloc[[136]]
print("\none flower, known by       doubt   plausibility of each cluster")
for k in range(1, 5):
    known = model.predict_mass(flower.where(np.arange(4)[None] < k))
    print(f"  its first {k} of 4 values {doubt_scores(known)[0]:7.2f}   {known.contour[0].round(2)}")

# Tables with categories have Gower's dissimilarity.
mixed = table.assign(color=rng.choice(["violet", "blue", None], len(table)))
gower = EVCLUS(3, metric="gower", missing="partial", random_state=0).fit(mixed)
print(f"\nwith a column of colors, by Gower's dissimilarity: {np.bincount(gower.labels_)} flowers a cluster")

display = CredalPartitionDisplay.from_estimator(model, table, title="flowers, a fifth of their values missing")
display.figure_.savefig("missing_values.png", dpi=120)
print("\nwrote missing_values.png")
