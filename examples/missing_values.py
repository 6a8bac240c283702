"""
Cluster a table with missing values
===================================

Cluster a table in which a fifth of the values are missing, without imputation: missing values increase the doubt.
"""

import numpy as np
from sklearn.datasets import load_iris
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score

from dempster.cluster import ECM, EVCLUS
from dempster.explain import doubt_scores
from dempster.plot import CredalPartitionDisplay

# %%
# Remove a fifth of the measurements.
iris = load_iris(as_frame=True)
flowers = iris.data
species = iris.target
rng = np.random.default_rng(0)
table = flowers.mask(rng.random(flowers.shape) < 0.2)
table = table[table.notna().any(axis=1)]  # rows without any value cannot be clustered
species = species[table.index]
lost = table.isna().sum(axis=1)
print(
    f"{int(lost.sum())} of {table.size} values are missing, in {int((lost > 0).sum())} of {len(table)} rows\n"
)

# %%
# By default, missing values raise an error, which describes the alternatives.
try:
    ECM(3).fit(table)
except ValueError as error:
    print(f"ECM(3).fit(table): {error}\n")

# %%
# With `missing="partial"`, objects are compared by the attributes that are present.
model = ECM(3, missing="partial", random_state=0).fit(table)
complete = ECM(3, random_state=0).fit(flowers)
imputed = ECM(3, random_state=0).fit(SimpleImputer().fit_transform(table))
print("agreement with the species (adjusted Rand index)")
print(
    f"  nothing missing          {adjusted_rand_score(iris.target, complete.labels_):.2f}"
)
print(f"  missing='partial'        {adjusted_rand_score(species, model.labels_):.2f}")
print(
    f"  mean imputation          {adjusted_rand_score(species, imputed.labels_):.2f}\n"
)

# %%
# The doubt increases with the number of missing values.
doubt = np.minimum(doubt_scores(model.credal_partition_), 1)
print("missing values  flowers   mean doubt")
for k in range(4):
    who = np.asarray(lost == k)
    if who.any():
        print(f"{k:13}{who.sum():10}{doubt[who].mean():13.2f}")

# %%
# New objects may have missing values as well: the same flower with one to four values.
flower = flowers.iloc[[136]]
print("\none flower, given          doubt   plausibility of each cluster")
for k in range(1, 5):
    known = model.predict_mass(flower.where(np.arange(4)[None] < k))
    print(
        f"  its first {k} of 4 values {doubt_scores(known)[0]:7.2f}   {known.contour[0].round(2)}"
    )

# %%
# Use Gower's dissimilarity for tables with categories.
mixed = table.assign(color=rng.choice(["violet", "blue", None], len(table)))
gower = EVCLUS(3, metric="gower", missing="partial", random_state=0).fit(mixed)
print(
    f"\nwith a column of colors, by Gower's dissimilarity: {np.bincount(gower.labels_)} flowers per cluster"
)

# %%
# The irises in the plane of their first two principal components: three clusters with hulls, and
# two-colored points between two of them.
display = CredalPartitionDisplay.from_estimator(
    model, table, title="irises with a fifth of the values missing"
)
display.figure_.savefig("missing_values.png", dpi=120)
print("\nwrote missing_values.png")
