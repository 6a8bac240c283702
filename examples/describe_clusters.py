"""
Describe clusters by their columns
==================================

Describe clusters of wines by their measurements, and by the grape variety, which was not clustered.
"""

import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dempster.cluster import EVCLUS
from dempster.datasets import load_wine
from dempster.explain import profile

wine = load_wine(as_frame=True)
model = make_pipeline(StandardScaler(), EVCLUS(3, random_state=0)).fit(wine.data)

# %%
# The table contains the clustered columns in their original units, and the grape variety as an
# additional column.
table = wine.data.assign(
    grape=np.array(["Barolo", "Grignolino", "Barbera"])[np.asarray(wine.target)]
)
wines = profile(model, table)
print(wines.to_text(n_features=3))

# %%
# p-values of clustered columns are too small, because the clusters were chosen to differ in them.
print(
    "\n",
    wines.attributes.loc[
        ["alcohol", "grape"], ["clustered", "test", "effect", "p_adjusted"]
    ],
    sep="",
)

# %%
# `discriminating_features` lists the measurements that separate two clusters best, with thresholds.
print(
    "\n",
    wines.discriminating_features(0, 1)[["separation", "rule"]].head(4).to_string(),
    sep="",
)

# %%
# Heat map with a row for each measurement and a column for each of the three clusters; colors show
# whether the mean of the cluster is below or above the mean of all wines.
wines.plot(title="three kinds of wine").figure_.savefig(
    "wines.png", dpi=120, bbox_inches="tight"
)
print("\nwrote wines.png")
